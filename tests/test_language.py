"""The language of the project: words that no longer occur in it, each with the word to use instead.

To extend it, add a row to WORDS, or a kind of files, or words that a kind may not use, to KINDS.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

TELL = r"tells?|told|telling"
WORDS = {  # a pattern, in upper or lower case, and what to write instead
    r"foretell\w*|foretold": "predict",
    r"anew": "again, or from scratch",
    r"strays?": "random-move positions",
    r"by heart": "overfit",
    r"own pawns?": "friendly pawn",
    r"(?-i:beside)": "next to, with, or in addition to",  # a kind of object in reports is called Beside
    r"besides": "in addition to, or other than",
    TELL: "say, state, show or report",
    r"bears?|bearing": "support",
    r"no more(?! than)": "no longer",
    r"thereby": "so",
    r"whereof|whence|therein|thereof": "a sentence of its own",
    r"of whom": "a sentence of its own",
    r"for want of": "because there is no",
    r"in the midst of": "during",
}
NOT_IN_CODE = {  # a key of reports, a mark in the head of saved positions, a method of files and tunes
    r"(?-i:beside)",
    r"strays?",
    TELL,
}
IN_CODE = {pattern: better for pattern, better in WORDS.items() if pattern not in NOT_IN_CODE} | {
    "tells|told|telling": WORDS[TELL]
}
CODE = re.compile(r"^```.*?^```$|^ {4}.*?$|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL | re.MULTILINE)


def prose_of_page(text: str) -> str:
    """A page of Markdown without listings, code, targets of links and comments; each line stays on its number."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


class Kind(NamedTuple):
    """A kind of files: patterns of their paths, what of their text is checked, and the words it may not use."""

    paths: tuple[str, ...]
    prose_of: Callable[[str], str]
    words: dict[str, str]


KINDS = {
    "pages": Kind(("README.md", "CONTRIBUTING.md", ".github/*.md", "docs/**/*.md"), prose_of_page, WORDS),
    "code": Kind(("merino/**/*.py", "merino/**/*.js", "tools/**/*.py", "benchmarks/*.py"), str, IN_CODE),
    "tests": Kind(  # features are named by whose piece it is, as in "own pawn on a2"
        ("tests/**/*.py",), str, {pattern: better for pattern, better in IN_CODE.items() if pattern != "own pawns?"}
    ),
}


def faults(kind: Kind, name: str, text: str) -> Iterator[str]:
    """Each word of a text that a kind may not use, with its place and the better word."""
    prose = kind.prose_of(text)
    for pattern, better in kind.words.items():
        for found in re.finditer(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), prose, re.IGNORECASE):
            line = prose.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: {' '.join(found[0].split())!r}: write {better}"


@pytest.mark.parametrize("kind", KINDS)
def test_words_to_avoid_do_not_occur(kind: str) -> None:
    files = [path for pattern in KINDS[kind].paths for path in ROOT.glob(pattern) if path != Path(__file__)]
    assert files
    found = [
        fault
        for path in sorted(files)
        for fault in faults(KINDS[kind], path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A net that learns\nthem by\nheart.", ["page.md:2: 'by heart': write overfit"]),
        ("Told twice.", ["page.md:1: 'Told': write say, state, show or report"]),
        ("It waits no more, and no more\nthan that.", ["page.md:1: 'no more': write no longer"]),
        ("`--beside FILE` and\n\n    beside = 1\n\n```\nbeside\n```\n", []),
        ("```\nbeside\n```\n\nbeside", ["page.md:5: 'beside': write next to, with, or in addition to"]),
        ("[Beside](#beside) and astray", []),
    ],
)
def test_a_word_is_found_in_prose_with_its_line_and_the_better_word(text: str, found: list[str]) -> None:
    assert list(faults(KINDS["pages"], "page.md", text)) == found
