"""The command line of `learn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.command import UsageError
from eval.registry import TERMS
from learn.learning import ARTICLE, METHODS, Settings
from learn.positions import Quiet, Selection
from learn.sample import Loss

USAGE = (
    "usage: merino learn FILE... [first last] [--weights W] [--out F] [--dry-run] [--json] [--csv F|-] [--record F] "
    f"[--method {'|'.join(METHODS)}] [--article] [--loss {'|'.join(Loss)}] [--lambda N|off] [--k N|fit] "
    "[--prior N|off] [--bootstrap N] [--seed N] [--split game|position] [--skip-first N] [--skip-last N] "
    "[--skip-decided CP] "
    f"[--quiet {'|'.join(Quiet)}] [--unique] [--no-fen] [--prove]"
)


@dataclass(frozen=True)
class Order:
    """A `learn` command as read."""

    files: list[str]
    settings: Settings = field(default_factory=Settings)
    selection: Selection = field(default_factory=Selection)
    weights: str | None = None
    out: str | None = None
    dry_run: bool = False
    as_json: bool = False
    csv: str | None = None
    record: str | None = None
    keep_fen: bool = True
    prove: bool = False  # by a match of the new weights against the old

    @property
    def quiet_output(self) -> bool:
        """Whether standard output is for machines alone."""
        return self.as_json or self.csv == "-"


def read_order(arguments: Sequence[str]) -> Order:
    """Read the command line; raises UsageError."""
    files: list[str] = []
    numbers: list[int] = []
    given: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        if word.startswith("--"):
            if word not in FLAGS and word not in VALUES:
                raise UsageError(f"learn: there is no option {word}; {USAGE}")
            value = next(words, None) if word in VALUES else ""
            if value is None:
                raise UsageError(f"learn: {word} needs a value; {USAGE}")
            given[word] = value
        elif files and word.lstrip("-").isdigit():
            numbers.append(int(word))
        else:
            files.append(word)
    if not files or len(numbers) not in (0, 2):
        raise UsageError(USAGE)
    order = Order(files)
    for name, change in FLAGS.items():  # first, so that what is asked for by itself holds whatever comes with --article
        if name in given:
            order = change(order)
    for name, value in given.items():
        if name in VALUES:
            order = VALUES[name](order, value)
    if order.as_json and order.csv == "-":
        raise UsageError("learn: --json and --csv - both want standard output; give --csv a file")
    return _range(order, numbers)


def _range(order: Order, numbers: list[int]) -> Order:
    if not numbers:
        return order
    first, last = numbers
    if not 1 <= first <= last <= len(TERMS):
        raise UsageError(f"learn: terms are numbered 1..{len(TERMS)}, first before last; not {first} {last}")
    return _set(order, first=first, last=last)


def _set(order: Order, **changes: object) -> Order:
    return replace(order, settings=replace(order.settings, **changes))  # type: ignore[arg-type]


def _number(name: str, text: str, low: float, word: str | None = None) -> float | None:
    """The number `text` is, or None where it is `word`; raises UsageError."""
    if word is not None and text == word:
        return None
    try:
        value = float(text)
    except ValueError as error:
        also = f" or {word!r}" if word else ""
        raise UsageError(f"learn: {name} needs a number{also}, not {text!r}") from error
    if not low <= value < 1e9:
        raise UsageError(f"learn: {name} = {text} is not at least {low:g}")
    return value


def _whole(name: str, text: str) -> int:
    """The natural number `text` is; raises UsageError."""
    if not text.isdecimal() or int(text) > 10**9:
        raise UsageError(f"learn: {name} needs a whole number that is not negative, not {text!r}")
    return int(text)


def _one_of(name: str, text: str, choices: Sequence[str]) -> str:
    if text not in choices:
        raise UsageError(f"learn: {name} is one of {', '.join(choices)}; not {text!r}")
    return text


FLAGS: dict[str, Callable[[Order], Order]] = {
    "--article": lambda order: replace(order, settings=ARTICLE),
    "--dry-run": lambda order: replace(order, dry_run=True),
    "--json": lambda order: replace(order, as_json=True),
    "--prove": lambda order: replace(order, prove=True),
    "--no-fen": lambda order: replace(order, keep_fen=False),
    "--unique": lambda order: replace(order, selection=replace(order.selection, unique=True)),
}
VALUES: dict[str, Callable[[Order, str], Order]] = {
    "--weights": lambda order, text: replace(order, weights=text),
    "--out": lambda order, text: replace(order, out=text),
    "--csv": lambda order, text: replace(order, csv=text),
    "--record": lambda order, text: replace(order, record=text),
    "--method": lambda order, text: _set(order, method=_one_of("--method", text, list(METHODS))),
    "--loss": lambda order, text: _set(order, loss=Loss(_one_of("--loss", text, list(Loss)))),
    "--lambda": lambda order, text: _set(order, lam=_number("--lambda", text, 0.1, "off")),
    "--k": lambda order, text: _set(order, k=_number("--k", text, 1, "fit")),
    "--prior": lambda order, text: _set(order, prior=_number("--prior", text, 0.001, "off") or 0.0),
    "--bootstrap": lambda order, text: _set(order, resamplings=_resamplings(text)),
    "--seed": lambda order, text: _set(order, seed=_whole("--seed", text)),
    "--split": lambda order, text: _set(
        order, split_by_position=_one_of("--split", text, ["game", "position"]) == "position"
    ),
    "--skip-first": lambda order, text: replace(
        order, selection=replace(order.selection, skip_first=_whole("--skip-first", text))
    ),
    "--skip-decided": lambda order, text: replace(
        order, selection=replace(order.selection, skip_decided=_whole("--skip-decided", text))
    ),
    "--quiet": lambda order, text: replace(
        order, selection=replace(order.selection, quiet=Quiet(_one_of("--quiet", text, list(Quiet))))
    ),
    "--skip-last": lambda order, text: replace(
        order, selection=replace(order.selection, skip_last=_whole("--skip-last", text))
    ),
}


def _resamplings(text: str) -> int:
    times = _whole("--bootstrap", text)
    if times < 2:
        raise UsageError(f"learn: --bootstrap needs at least 2 resamplings to see how they differ, not {text}")
    return times
