"""Renew docs/report-schema.md from `engine.report.schema`: `python tools/report_schema.py [--check]`."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import getdoc
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from merino.inner.engine.report.schema import VERSION, PositionReport

TARGET = Path(__file__).resolve().parent.parent / "docs" / "report-schema.md"
SIMPLE = {int: "integer", float: "number", str: "text", NoneType: "null"}
HEAD = f"""# The report of a position, version {VERSION}

For programmers whose programs read reports. `merino explain FEN --report` prints one as JSON;
`study.reporting.report_position` returns it as an object, and its `to_dict` gives the same data. With `--depth`,
`--nodes` or `--movetime` the position is searched too. For a file of positions the JSON is a list.

Everything is from White's view: what is good for Black is negative, no matter who is to move or owns the piece.
Keys that end in `_cp` are centipawns. The version changes when a key changes its meaning or its name, but not when a
key is added. `tools/report_schema.py` makes this page.
"""


def objects() -> list[type[Any]]:
    """The report and every kind of object in it, in the order in which they are met."""
    met: list[type[Any]] = [PositionReport]
    for kind in met:  # which grows meanwhile
        for hint in get_type_hints(kind).values():
            met += [part for part in _objects_in(hint) if part not in met]
    return met


def _objects_in(hint: Any) -> list[type[Any]]:
    """The kinds of objects that a value of this type can hold."""
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [found for part in get_args(hint) for found in _objects_in(part)]


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *map(_section, objects())])


def _section(kind: type[Any]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    rows = []
    for field in fields(kind):
        plain, sentence = get_args(hints[field.name])
        rows.append(f"| `{field.name}` | {_name(plain)} | {sentence} |")
    table = "\n".join(["| Key | Value | Meaning |", "| --- | --- | --- |", *rows])
    return f"## {_title(kind)}\n\n{getdoc(kind)}\n\n{table}\n"


def _title(kind: type[Any]) -> str:
    """What the page calls an object: "Term change" for TermChangeReport."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.__name__).split()
    return " ".join(words[:-1]).capitalize()


def _name(hint: Any) -> str:
    """A type as a reader of JSON calls it."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    if is_dataclass(hint):
        title = _title(hint)  # type: ignore[arg-type]
        return f"[{title}](#{title.lower().replace(' ', '-')})"
    if get_origin(hint) is tuple:
        return f"list of {_name(get_args(hint)[0])}"
    if get_origin(hint) is Mapping:
        return "object of numbers"
    return " or ".join(map(_name, get_args(hint)))


def main() -> None:
    """Write the page, or with --check say whether it is up to date."""
    if "--check" in sys.argv[1:]:
        is_current = TARGET.read_text(encoding="utf-8") == page()
        sys.exit(None if is_current else f"{TARGET} is not up to date")
    TARGET.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
