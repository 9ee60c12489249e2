"""The counts of a checkout are those worked out by hand for a small one."""

from pathlib import Path

import pytest

from tools.count_house import House

SOURCES = {
    "merino/__main__.py": "import sys\nfrom upper.first import run\nrun(sys.argv[1:])\n",
    "upper/first.py": '"""What runs."""\n\nfrom lower import kernels, second\n\n\ndef run(words):\n    second.begin()\n'
    "    prepare()\n    kernels.fast()\n    second.end()\n    second.begin()\n\n\ndef prepare():\n    pass\n",
    "lower/second.py": "def begin():\n    pass\n\n\ndef end():  # at last\n    pass\n",
    "lower/kernels.py": "def kernel(function):\n    return function\n\n\n@kernel\ndef fast():\n    pass\n",
    "weights/default.txt": "",
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
    return House.read(tmp_path)


def test_modules_importers_and_lines_are_counted(house: House) -> None:
    counts = house.counts()
    assert counts["modules"] == "4"
    assert counts["of these with one importer"] == "3"
    assert counts["lines of code, without blanks, comments and docstrings"] == str(3 + 9 + 4 + 5)
    assert counts["folders at the top that import each other"] == "0 pairs"


def test_two_folders_that_import_each_other_are_a_pair(house: House) -> None:
    with (house.folder / "lower" / "second.py").open("a") as second:
        second.write("from upper import first\n")
    assert House.read(house.folder).counts()["folders at the top that import each other"] == "1 pairs"


def test_a_journey_counts_modules_stays_and_returns_but_no_compiled_function(house: House) -> None:
    assert house.journey(["play"], "") == "2, 4, 2"  # run, begin, prepare, end; begin again is known
