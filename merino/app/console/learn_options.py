"""The command lines of `learn` and `improve`, in a shell and at the console."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from merino.app.console import shared
from merino.core.common.command import UsageError
from merino.core.common.errors import number_of
from merino.core.common.options import Option, add_options, given
from merino.core.common.text import did_you_mean
from merino.eval.evaluation import EvaluationError
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.weights import active_file, set_of
from merino.learn.improve.learner import DEFAULT_FOLDER, Plan
from merino.learn.positions import Selection
from merino.learn.request import (
    ARTICLE,
    DEFAULT_SELECTION,
    DEFAULT_SETTINGS,
    DEFAULT_TEACHER,
    EVALUATION,
    FEW_OF_A_GAME,
    FIT,
    NO_CHOICE,
    LearnRequest,
    Settings,
)
from merino.learn.sample import BLEND, Target

ARTICLE_PRESET = "greko2015"


@dataclass(frozen=True)
class LearnArguments:
    """A `learn` command as read: what to learn, or a weights file to put in use, and what to print."""

    request: LearnRequest
    use: Annotated[
        str | None,
        "learn nothing: put these weights in use",
        Option("FILE", group=EVALUATION),
    ] = None
    as_json: bool = False
    is_quiet: bool = False


def read_arguments(arguments: Sequence[str], command: str = "merino learn", start: str | None = None) -> LearnArguments:
    """Read what follows `command`, for the weights `start` or those in use; raises UsageError, SystemExit after -h."""
    parser = learn_parser(command)
    args = parser.parse_intermixed_args(list(arguments))
    files = [word for word in args.words if not _is_number(word)] if args.words else []
    numbers = [number_of(word) for word in args.words if _is_number(word)]
    weights = getattr(args, "weights", None)
    if hasattr(args, "use"):
        nothing = vars(parser.parse_intermixed_args([]))
        named = {name for name, value in vars(args).items() if name not in nothing or value != nothing[name]}
        if named - {"use", "weights", "quiet"}:
            parser.error("--use FILE learns nothing and goes with --weights only")
        return LearnArguments(LearnRequest((), weights=weights), args.use, is_quiet=args.quiet)
    if not files:
        parser.error("missing: FILE")
    if len(numbers) not in (0, 2):
        parser.error("give the first and the last term, or neither")
    if numbers and args.terms is not None:
        parser.error("give the terms once, as FIRST LAST or by --terms")
    if hasattr(args, "prove") and hasattr(args, "plays_match"):
        parser.error("--prove needs the match that --no-match leaves out; give only one of them")
    chosen = dict[str, Any]()
    if numbers:
        chosen = _between(set_in_use(weights or start, "learn"), *numbers)
    elif args.terms is not None:
        chosen = chosen_terms(args.terms, set_in_use(weights or start, "learn"), parser)
    request = replace(_request(args, chosen), files=tuple(files))
    return LearnArguments(request, None, args.json, args.quiet)


def _request(args: argparse.Namespace, terms: dict[str, Any]) -> LearnRequest:
    """What is to be learned; `terms` are the settings that say which terms are fitted.

    With a target the scores in the files teach, unless a teacher is named; without a teacher results alone.
    """
    base, asked = LearnRequest(()), vars(args)
    if args.preset:
        base = LearnRequest((), ARTICLE, Selection(), NO_CHOICE, teacher=None)
    request = replace(base, **given(asked, LearnRequest))
    settings = request.settings
    if "target" in asked and "teacher" not in asked:
        request = replace(request, teacher=None)
    elif "target" not in asked and "teacher" in asked:
        settings = replace(settings, target=Target(1.0 if request.teacher is None else 0.0))
    selection = request.selection
    if not args.preset and request.teacher is None:
        selection = replace(selection, per_game=FEW_OF_A_GAME)
    return replace(
        request,
        settings=replace(settings, **given(asked, Settings), **terms),
        selection=replace(selection, **given(asked, Selection)),
        choice=replace(request.choice, pulls=()) if "prior" in asked else request.choice,
    )


def learn_parser(command: str = "merino learn") -> shared.Parser:
    """The parser of `learn`."""
    parser = shared.Parser(
        prog=command,
        usage=f"{command} FILE... [FIRST LAST] [options]\n       {command} --use FILE [--weights FILE]",
        description="Learn the weights of the evaluation from games, validate them on other games, and put them in "
        "use if a match shows that they gain.",
        notes="FILE is a PGN, plain or compressed ('-' for standard input), or labelled positions (.epd, .fen). The "
        f"terms FIRST to LAST are fitted, all {len(TERMS)} by default; 'merino weights' lists them. The net "
        f"{DEFAULT_TEACHER} teaches, and short matches find how far to go from the old weights to the new.",
        examples=(
            "merino learn games.pgn",
            "merino learn games.pgn 6 27 --weights my-weights.txt --no-match",
            "merino learn selfplay.pgn --target blend=0.5",
        ),
    )
    parser.add_argument("words", nargs="*", metavar="FILE", help=argparse.SUPPRESS)
    parser.group(FIT).add_argument("--terms", metavar="LIST", help="terms to fit: 6-27, or names separated by commas")
    usual = DEFAULT_SETTINGS
    add_options(parser, Settings, phases=usual.phases, target=usual.target.name, decay=usual.decay)
    add_options(parser, LearnRequest)
    sentence = "as GreKo 2015 ML: one phase, descent, K 150, decay 20, all positions, split by position"
    parser.group(FIT).add_argument("--preset", choices=[ARTICLE_PRESET], help=sentence)
    per_game = f"{DEFAULT_SELECTION.per_game}, {FEW_OF_A_GAME} without a teacher"
    add_options(parser, Selection, positions=DEFAULT_SELECTION.positions, per_game=per_game)
    add_options(parser, LearnArguments)
    shared.add_json(parser, "print the report as one JSON object")
    shared.add_quiet(parser)
    return parser


def improve_parser(command: str) -> shared.Parser:
    """The parser of `improve`."""
    usual = Plan()
    parser = shared.Parser(
        prog=command,
        description="Learn from games of Merino against itself, round after round: play, learn, and prove by a match. "
        "New weights are used only after their match has proved them stronger.",
        notes="The same command continues where it was stopped or killed. Its folder keeps the settings: other "
        "settings need another folder.",
        examples=(
            "merino improve --hours 3",
            "merino improve --rounds 20 --weights weights/greko2015-before-training.txt --state from-greko",
            "merino plot from-greko",
        ),
    )
    shared.add_when_to_stop(parser, "rounds")
    add_options(parser, Plan)
    shared.add_concurrency(parser, "games")
    parser.group(FIT).add_argument("--terms", metavar="LIST", help="terms to fit, such as 6-27 (default: all)")
    add_options(parser, Settings, ("phases", "target"), phases=usual.phases, target=f"{BLEND}={usual.share:g}")
    add_options(parser, Selection)
    shared.add_deciding_test(parser, usual)
    sentence = "start from this file and leave the weights in use alone (default: the weights in use)"
    parser.group(shared.EVALUATION).add_argument("--weights", metavar="FILE", help=sentence)
    sentence = "start from the values of the pieces alone, with all other terms of this set at 0"
    parser.group(shared.EVALUATION).add_argument("--set", dest="of_set", metavar="SET", help=sentence)
    shared.add_state_of_runs(parser, DEFAULT_FOLDER)
    shared.add_quiet(parser)
    return parser


def _is_number(word: str) -> bool:
    return word.lstrip("-").isdecimal()


def set_in_use(weights: str | None, command: str) -> TermSet:
    """The set of the weights to start from, None for those in use; raises UsageError, which names the command."""
    try:
        return set_of(active_file(weights))
    except EvaluationError as error:
        raise UsageError(f"{command}: {error}") from error


def _between(terms: TermSet, first: int, last: int) -> dict[str, Any]:
    """The settings that fit the terms first..last of a set; raises UsageError."""
    if not 1 <= first <= last <= len(terms):
        raise UsageError(f"learn: terms are numbered 1 to {len(terms)}, the first before the last; not {first} {last}")
    return {"first": first, "last": last}


def chosen_terms(text: str, terms: TermSet, parser: shared.Parser) -> dict[str, Any]:
    """The settings that fit the terms of a list: a range, or names and ranges separated by commas.

    The name of a table stands for all its cells. A term that the set lacks ends in an error of the parser.
    """
    known = [term.name for term in terms]
    tables = {each.name: known[at] for each, at in terms.to_read()}
    named = {name.lower(): [name] for name in known} | {name.lower(): cells for name, cells in tables.items()}
    chosen: list[str] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            low, high = number_of(first), number_of(last or first)
            if not 1 <= low <= high <= len(known):
                parser.error(f"argument --terms: terms are numbered 1 to {len(known)}; there is no '{part[:40]}'")
            if part == text:
                return {"first": low, "last": high}
            chosen += known[low - 1 : high]
        elif part.lower() in named:
            chosen += named[part.lower()]
        else:
            hint = did_you_mean(part, [*tables, *known])
            parser.error(f"argument --terms: there is no term '{part[:40]}'{hint}")
    return {"names": tuple(name for name in known if name in chosen)}


def is_standard_input(args: LearnArguments) -> bool:
    """Whether games are to be read from standard input."""
    return str(Path("-")) in args.request.files
