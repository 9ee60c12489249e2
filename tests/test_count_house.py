"""The counts of a checkout are those worked out by hand for a small one."""

from pathlib import Path

from tools.count_house import counts

SOURCES = {
    "merino/__main__.py": "import sys\nfrom merino.upper.first import run\n\nrun(sys.argv[1:])\n",
    "merino/upper/first.py": '"""What runs."""\n\n\ndef run(words):\n    """Run."""\n    # at last\n    return words\n',
    "merino/lab/study.py": "from merino.upper import first\n",
    "merino/lab/__init__.py": "",
    "merino/app/explorer/page/main.js": "// a comment\n/* another\nof two lines */\nrun();  // now\n\n",
    "tests/test_first.py": "x = 1\n",
}


def test_modules_and_lines_are_counted(tmp_path: Path) -> None:
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    modules, without_lab, imports, page, tests = counts(tmp_path).values()
    assert (modules, without_lab) == ("3 / 6", "2 / 5")
    assert imports == "33.3%"  # 3 of 9 lines that are not blank
    assert (page, tests) == ("1", "1")
