"""The command line of `learn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from eval.linear.registry import TERMS
from learn.errors import CommandLineError
from learn.folding import fold
from learn.learning import ARTICLE, METHODS, Settings
from learn.positions import Quiet, Selection
from learn.request import LearnRequest
from learn.sample import Loss

HELP = {"-h", "--help"}


@dataclass(frozen=True)
class Order:
    """A `learn` command as read: what is to be learned, or else a file of weights to use, and what to print of it."""

    request: LearnRequest
    use: str | None = None  # a file of weights to put in use, instead of learning
    as_json: bool = False
    as_csv: bool = False

    @property
    def quiet_output(self) -> bool:
        """Whether standard output is for machines alone."""
        return self.as_json or self.as_csv


class Option(NamedTuple):
    """An option: what follows its name (nothing after a flag), what it changes in an order, what it is for."""

    value: str
    change: Callable[[Order, str], Order]
    sentence: str


def read_order(arguments: Sequence[str]) -> Order:
    """Read the command line; raises CommandLineError."""
    files: list[str] = []
    numbers: list[int] = []
    given: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        if word.startswith("-") and not word.lstrip("-").isdigit() and word != "-":
            name = ALIASES.get(word, word)
            if name not in OPTIONS:
                raise CommandLineError(f"learn: there is no option {word}; 'merino learn -h' lists them")
            value = next(words, None) if OPTIONS[name].value else ""
            if value is None:
                raise CommandLineError(f"learn: {word} needs a value; {USAGE}")
            given[name] = value
        elif files and word.lstrip("-").isdigit():
            numbers.append(int(word))
        else:
            files.append(word)
    if "--use" in given:
        if files or numbers or given.keys() - {"--use", "--weights"}:
            raise CommandLineError(f"learn: --use FILE learns nothing; it goes with --weights alone; {USAGE}")
    elif not files or len(numbers) not in (0, 2):
        raise CommandLineError(USAGE)
    order = Order(LearnRequest(tuple(files)))
    for name, option in OPTIONS.items():  # --article first, so that what is asked for by itself holds
        if name in given:
            order = option.change(order, given[name])
    if order.as_json and order.as_csv:
        raise CommandLineError("learn: --json and --csv - both want standard output; give --csv a file")
    if order.request.prove and not order.request.plays_match:
        raise CommandLineError("learn: --prove plays the match that --no-match leaves out; give one of them")
    return _range(order, numbers)


def _range(order: Order, numbers: list[int]) -> Order:
    if not numbers:
        return order
    first, last = numbers
    if not 1 <= first <= last <= len(TERMS):
        raise CommandLineError(f"learn: terms are numbered 1..{len(TERMS)}, first before last; not {first} {last}")
    return _set(order, first=first, last=last)


def _ask(order: Order, **changes: object) -> Order:
    return replace(order, request=replace(order.request, **changes))  # type: ignore[arg-type]


def _set(order: Order, **changes: object) -> Order:
    return _ask(order, settings=replace(order.request.settings, **changes))  # type: ignore[arg-type]


def _select(order: Order, **changes: object) -> Order:
    return _ask(order, selection=replace(order.request.selection, **changes))  # type: ignore[arg-type]


def _table(order: Order, text: str) -> Order:
    """A table in a file, or on standard output for "-"."""
    return replace(order, as_csv=True) if text == "-" else _ask(order, csv=text)


def _number(name: str, text: str, low: float, word: str | None = None) -> float | None:
    """The number `text` is, or None where it is `word`; raises CommandLineError."""
    if word is not None and text == word:
        return None
    try:
        value = float(text)
    except ValueError as error:
        also = f" or {word!r}" if word else ""
        raise CommandLineError(f"learn: {name} needs a number{also}, not {text!r}") from error
    if not low <= value < 1e9:
        raise CommandLineError(f"learn: {name} = {text} is not at least {low:g}")
    return value


def _whole(name: str, text: str) -> int:
    """The natural number `text` is; raises CommandLineError."""
    if not text.isdecimal() or int(text) > 10**9:
        raise CommandLineError(f"learn: {name} needs a whole number that is not negative, not {text!r}")
    return int(text)


def _one_of(name: str, text: str, choices: Sequence[str]) -> str:
    if text not in choices:
        raise CommandLineError(f"learn: {name} is one of {', '.join(choices)}; not {text!r}")
    return text


# In the order in which they are applied.
OPTIONS: dict[str, Option] = {
    "--article": Option(
        "",
        lambda order, _: _ask(order, settings=ARTICLE),
        "all as GreKo 2015 ML had it: descent, K 150, lambda 20, split by position",
    ),
    "--weights": Option(
        "FILE",
        lambda order, text: _ask(order, weights=text),
        "start from this file and rewrite it, not the one in use",
    ),
    "--out": Option("FILE", lambda order, text: _ask(order, out=text), "write the new weights here instead"),
    "--dry-run": Option("", lambda order, _: _ask(order, dry_run=True), "write nothing"),
    "--method": Option(
        "|".join(METHODS),
        lambda order, text: _set(order, method=_one_of("--method", text, list(METHODS))),
        f"how to fit ({Settings.method})",
    ),
    "--loss": Option(
        "|".join(Loss),
        lambda order, text: _set(order, loss=Loss(_one_of("--loss", text, list(Loss)))),
        f"what to make small ({Settings.loss})",
    ),
    "--lambda": Option(
        "N|off",
        lambda order, text: _set(order, lam=_number("--lambda", text, 0.1, "off")),
        f"n half-moves before the end of its game a position counts e^(-n/N) ({Settings.lam:g})",
    ),
    "--k": Option(
        "N|fit",
        lambda order, text: _set(order, k=_number("--k", text, 1, "fit")),
        "a score of s centipawns predicts 1 / (1 + e^(-s/N)) points (fit)",
    ),
    "--prior": Option(
        "N|off",
        lambda order, text: _set(order, prior=_number("--prior", text, 0.001, "off") or 0.0),
        "pull to the old weights: standard deviation in units of their size (what suits the number of games)",
    ),
    "--bootstrap": Option(
        "N",
        lambda order, text: _set(order, resamplings=_resamplings(text)),
        "intervals from N fits to games drawn anew",
    ),
    "--split": Option(
        "game|position",
        lambda order, text: _set(order, split_by_position=_one_of("--split", text, ["game", "position"]) == "position"),
        "what is kept aside to judge by, a fifth (game)",
    ),
    "--seed": Option(
        "N", lambda order, text: _set(order, seed=_whole("--seed", text)), f"which fifth that is ({Settings.seed})"
    ),
    "--skip-first": Option(
        "N",
        lambda order, text: _select(order, skip_first=_whole("--skip-first", text)),
        "leave out the first N half-moves of each game",
    ),
    "--skip-last": Option(
        "N",
        lambda order, text: _select(order, skip_last=_whole("--skip-last", text)),
        "leave out the last N half-moves of each game",
    ),
    "--skip-decided": Option(
        "CP",
        lambda order, text: _select(order, skip_decided=_whole("--skip-decided", text)),
        "leave out the end of a game from where the score stays beyond CP centipawns",
    ),
    "--quiet": Option(
        "|".join(Quiet),
        lambda order, text: _select(order, quiet=Quiet(_one_of("--quiet", text, list(Quiet)))),
        f"where a capture changes the score: use as it is, leave out, or play it out first ({Selection.quiet})",
    ),
    "--unique": Option("", lambda order, _: _select(order, unique=True), "use a position that comes again once"),
    "--json": Option("", lambda order, _: replace(order, as_json=True), "print the report as one JSON object"),
    "--csv": Option("FILE|-", _table, "write the weights and intervals as CSV"),
    "--record": Option("FILE", lambda order, text: _ask(order, record=text), "where to keep what 'merino plot' draws"),
    "--no-fen": Option("", lambda order, _: _ask(order, keep_fen=False), "leave no .fen file beside the games"),
    "--no-match": Option(
        "",
        lambda order, _: _ask(order, plays_match=False),
        "use the new weights at once, without the match that shows whether they are weaker",
    ),
    "--prove": Option(
        "",
        lambda order, _: _ask(order, prove=True),
        "let the match go on until it shows whether they are stronger, and use them only then",
    ),
    "--concurrency": Option(
        "N",
        lambda order, text: _ask(order, concurrency=_concurrency(text)),
        "games of the match at a time (one a core)",
    ),
    "--use": Option(
        "FILE",
        lambda order, text: replace(order, use=text),
        "learn nothing; put these weights in the place of those in use, or of those that --weights names",
    ),
}
ALIASES = {"--threads": "--concurrency"}

USAGE = "usage: merino learn FILE... [first last] [options]; 'merino learn -h' lists the options"
HELP_COLUMN = 24


def help_text() -> str:
    """What `learn -h` shows."""
    lines = ["usage: merino learn FILE... [first last] [options]", "       merino learn --use FILE", ""]
    lines += fold(
        "Learn the weights of the evaluation from games (.pgn, also compressed; - for standard input), labelled "
        f"positions (.epd, .fen), or the .fen that an earlier run left. Of the {len(TERMS)} terms those from 'first' "
        f"to 'last' may move: {Settings.first} to {Settings.last} unless given, which leaves the pieces their values."
    )
    lines += ["", "options:"]
    for name, option in OPTIONS.items():
        head = f"  {name} {option.value}".rstrip()
        if len(head) > HELP_COLUMN - 2:
            lines.append(head)
            head = " "
        lines += fold(f"{head:<{HELP_COLUMN}}{option.sentence}", hang=HELP_COLUMN)
    return "\n".join(lines)


def _concurrency(text: str) -> int:
    games = _whole("--concurrency", text)
    if not games:
        raise CommandLineError("learn: --concurrency needs a whole number above 0, not '0'")
    return games


def _resamplings(text: str) -> int:
    times = _whole("--bootstrap", text)
    if times < 2:
        raise CommandLineError(f"learn: --bootstrap needs at least 2 resamplings to see how they differ, not {text}")
    return times
