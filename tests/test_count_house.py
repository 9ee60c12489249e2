"""The counts of a checkout are those worked out by hand for a small one."""

from pathlib import Path

import pytest

from tools.count_house import House, import_lines, lines_of_code

SOURCES = {
    "merino/__main__.py": "import sys\nfrom merino.upper.first import run\nrun(sys.argv[1:])\n",
    "merino/upper/first.py": '"""What runs."""\n\nfrom merino.lower import kernels, second\n\n\ndef run(words):\n'
    "    second.begin()\n    prepare()\n    kernels.fast()\n    second.end()\n    second.begin()\n\n\n"
    "def prepare():\n    pass\n",
    "merino/lower/second.py": "def begin():\n    pass\n\n\ndef end():  # at last\n    pass\n",
    "merino/lower/kernels.py": "def kernel(function):\n    return function\n\n\n@kernel\ndef fast():\n    pass\n",
    "merino/lab/study.py": "from merino.upper import first\n",
    "weights/default.txt": "",
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
    return House(tmp_path)


def test_modules_are_found(house: House) -> None:
    assert len(house.modules(lab=True)) == 5 and len(house.modules(lab=False)) == 4


def test_lines_of_code_and_of_imports_are_counted(house: House) -> None:
    assert len(lines_of_code(house.sources["merino.upper.first"])) == 9
    assert import_lines(SOURCES["merino/__main__.py"]) == 2


def test_a_walk_counts_modules_stays_and_returns_but_no_compiled_function(house: House) -> None:
    assert house.walk(["play"], "") == "2, 4, 2"  # run, begin, prepare, end; begin again is known
