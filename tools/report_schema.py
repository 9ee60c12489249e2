"""The tables of a report for docs/library.md, from `engine.report.schema`; `tools/doc_tables.py` puts them there."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import getdoc
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from merino.engine.report.schema import VERSION, PositionReport
from tools.markdown import markdown_table

SIMPLE = {int: "integer", float: "number", str: "text", NoneType: "null"}


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


def schema() -> str:
    """The version and a section for each kind of object."""
    return "\n\n".join([f"This is version {VERSION}.", *map(_section, objects())])


def _section(kind: type[Any]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    described = ((field.name, *get_args(hints[field.name])) for field in fields(kind))
    rows = [(f"`{name}`", _name(plain), sentence) for name, plain, sentence in described]
    return f"### {_title(kind)}\n\n{getdoc(kind)}\n\n{markdown_table(('Key', 'Value', 'Meaning'), rows)}"


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
        value = get_args(hint)[1]
        return f"object of {'numbers' if value is float else _name(value)}"
    return " or ".join(map(_name, get_args(hint)))
