"""Options of a command as fields of a dataclass: parser, help, docs, checks and the page's form all read them there.

    @dataclass(frozen=True)
    class Drawing:
        per_game: Annotated[int | None, "positions of each game", Option("N", 1, none="all")] = 30

`add_options` makes `--per-game N` of it, whose default the help shows; `given` has the fields that a command line or a
request of the page names; `check` keeps types and bounds in `__post_init__`. A field without an `Option` is none. A
flag that is true by default is named `--no-NAME`.
"""

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from merino.core.common.errors import choice, instance, number_in, real_number, whole_in, whole_number

MOST = 10**9  # of a number without another bound


@dataclass(frozen=True)
class Option:
    """How a field is named, read and shown; `Option()` is enough for text, flags and choices of a StrEnum."""

    metavar: str | None = None
    low: float = 0
    high: float = MOST
    none: str = ""  # the word for None
    read: Callable[[str], Any] | None = None  # of a text, for types other than these and numbers; raises ValueError
    group: str = ""  # title of its group in the help
    flag: str = ""  # its name, where it is not that of the field, as in "--per-game"
    default: str = ""  # in words, where the value of the field does not say it


class OptionField(NamedTuple):
    """A field that is an option: `kind` is its type without None, which `is_optional` allows."""

    name: str
    kind: type
    is_optional: bool
    sentence: str
    option: Option
    default: Any

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        off = "no-" if self.default is True else ""
        return self.option.flag or f"--{off}{self.name.replace('_', '-')}"

    @property
    def help(self) -> str:
        """Its sentence, with the default."""
        usual = "" if self.kind is bool else self.option.none if self.default is None else str(self.default)
        shown = self.option.default or usual
        return (self.sentence + (f" (default: {shown})" if shown else "")).replace("%", "%%")

    def of_text(self, text: str) -> Any:
        """The value that a text stands for; raises ArgumentTypeError."""
        option, is_whole = self.option, self.kind is int
        if option.none and text == option.none:
            return None
        try:
            if option.read is not None or self.kind is str:
                return option.read(text) if option.read is not None else text
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        try:
            value = whole_in(text) if is_whole else number_in(text)
        except ValueError:
            value = float("nan")
        if is_whole and value > option.high >= MOST:
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is more than {MOST}")
        if not option.low <= value <= option.high:
            low, high = f"{option.low:.15g}", f"{option.high:.15g}"
            bounds = f"from {low} to {high}" if option.high < MOST else "above 0" if low == "1" else f"from {low} on"
            other = f" or '{option.none}'" if option.none else ""
            wanted = f"{'a whole number' if is_whole else 'a number'} {bounds}{other}"
            raise argparse.ArgumentTypeError(f"'{text[:40]}' is not {wanted}")
        return value

    def check(self, value: Any) -> Any:
        """The value, a text of a choice as that choice; raises TypeError or ValueError unless the field can have it."""
        if value is None and self.is_optional:
            return None
        if issubclass(self.kind, StrEnum):
            return choice(self.name, value, self.kind)
        if self.kind is int:
            most = int(self.option.high) if self.option.high < MOST else None
            return whole_number(self.name, value, int(self.option.low), most)
        if self.kind is float:
            return real_number(self.name, value, self.option.low, self.option.high)
        instance(self.name, value, self.kind, f"a {self.kind.__name__}")
        return value


@cache
def options_of(kind: type) -> tuple[OptionField, ...]:
    """The fields of a dataclass that are options, in their order."""
    hints, found = get_type_hints(kind, include_extras=True), []
    for each in fields(kind):
        of, *notes = get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else (None,)
        for option in (note for note in notes if isinstance(note, Option)):
            kinds = get_args(of) if isinstance(of, UnionType) else (of,)
            plain = next(part for part in kinds if part is not NoneType)
            known = get_origin(plain) or plain, NoneType in kinds
            found.append(OptionField(each.name, *known, str(notes[0]), option, each.default))
    return tuple(found)


def add_options(parser: Any, kind: type, names: Collection[str] = (), **defaults: Any) -> None:
    """Add the options of a dataclass, or only these, to a Parser; `defaults` are other values than the fields' own."""
    for each in options_of(kind):
        if names and each.name not in names:
            continue
        field = each._replace(default=defaults.get(each.name, each.default))
        settings: dict[str, Any] = {"dest": each.name, "default": argparse.SUPPRESS, "help": field.help}
        if each.kind is bool:
            settings["action"] = "store_false" if field.default is True else "store_true"
        elif issubclass(each.kind, StrEnum):
            settings |= {"choices": list(map(str, each.kind)), "metavar": each.option.metavar}
        else:
            names_none = f"|{each.option.none}" if each.option.none else ""
            metavar = each.option.metavar and each.option.metavar + names_none
            settings |= {"type": field.of_text, "metavar": metavar}
        (parser.group(each.option.group) if each.option.group else parser).add_argument(field.flag, **settings)


def given(asked: Mapping[str, Any], kind: type, names: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass, or of these, that a command line (`vars(args)`) or an object of JSON names.

    Raises TypeError or ValueError, which name the field.
    """
    wanted = (each for each in options_of(kind) if each.name in asked and (not names or each.name in names))
    return {each.name: each.check(asked[each.name]) for each in wanted}


def check(of: object) -> None:
    """Raise TypeError or ValueError unless the options of a dataclass, even a frozen one, have values of their kind.

    A text that names a choice becomes that choice.
    """
    kind: type = type(of)
    for each in options_of(kind):
        object.__setattr__(of, each.name, each.check(getattr(of, each.name)))
