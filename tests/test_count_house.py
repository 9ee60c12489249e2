"""The counts of a checkout are those worked out by hand for a small one."""

from pathlib import Path

import pytest

from tools.count_house import counts, walk

SOURCES = {
    "merino/__main__.py": "import sys\nfrom merino.upper.first import run\nrun(sys.argv[1:])\n",
    "merino/upper/first.py": '"""What runs."""\n\nfrom merino.lower import kernels, second\n\n\ndef run(words):\n'
    "    second.begin()\n    prepare()\n    kernels.fast()\n    second.end()\n    second.begin()\n\n\n"
    "def prepare():\n    pass\n",
    "merino/lower/second.py": "def begin():\n    pass\n\n\ndef end():  # at last\n    pass\n",
    "merino/lower/kernels.py": "def kernel(function):\n    return function\n\n\n@kernel\ndef fast():\n    pass\n",
    "merino/lab/study.py": "from merino.upper import first\n",
    "merino/app/explorer/page/main.js": "// a comment\n/* another\nof two lines */\nrun();  // now\n\n",
    "tests/test_first.py": "x = 1\n",
    "weights/default.txt": "",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
    return tmp_path


def test_modules_and_lines_are_counted(house: Path) -> None:
    modules, without_lab, imports, page, tests = counts(house).values()
    assert (modules, without_lab) == ("5 / 22", "4 / 21")
    assert imports == "17.4%"  # 4 of 23 lines that are not blank
    assert (page, tests) == ("1", "1")


def test_a_walk_counts_modules_stays_and_returns_but_no_compiled_function(house: Path) -> None:
    assert walk(house, ["play"], "") == "2, 4, 2"  # run, begin, prepare, end; begin again is known
