"""`learn` and `improve`, in a shell and at the console: command lines, what is carried out, and what is shown."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

from merino.app.console import shared
from merino.core.common import errors, files, interrupt, options, terminal
from merino.core.common.command import CommandError
from merino.core.common.text import as_word, did_you_mean
from merino.eval.linear import registry, sets
from merino.eval.linear.weights import active_file, set_of
from merino.formats.sources import STANDARD_INPUT
from merino.learn import procedure, request
from merino.learn.improve import learner, rounds
from merino.learn.procedure import LearnResult, Verdict
from merino.learn.request import DEFAULT_SELECTION, FIT, Events, LearnRequest, Say, Selection, Settings, Target
from merino.match import prove

ARTICLE_PRESET = "greko2015"


@dataclass(frozen=True)
class LearnArguments:
    """A `learn` command as read: what to learn, or a weights file to put in use, and what to print."""

    request: LearnRequest
    use: Annotated[str | None, "learn nothing: put these weights in use", request.of_weights("FILE")] = None
    as_json: bool = False
    is_quiet: bool = False


def read_arguments(arguments: Sequence[str], command: str = "merino learn") -> LearnArguments:
    """Read what follows `command`; raises UsageError, SystemExit after -h."""
    parser = learn_parser(command)
    args = parser.parse_intermixed_args(list(arguments))
    files = [word for word in args.words or () if not word.lstrip("-").isdecimal()]
    numbers = [errors.number_of(word) for word in args.words or () if word.lstrip("-").isdecimal()]
    weights = getattr(args, "weights", None)
    if hasattr(args, "use"):
        nothing = vars(parser.parse_intermixed_args([])) | {"use": args.use, "weights": weights, "quiet": args.quiet}
        if vars(args) | {"weights": weights} != nothing:
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
    terms = "-".join(map(str, numbers)) or args.terms
    chosen = {} if terms is None else _chosen_terms(terms, set_of(active_file(weights)), parser)
    return LearnArguments(_request(args, tuple(files), chosen), None, args.json, args.quiet)


def _request(args: argparse.Namespace, files: tuple[str, ...], terms: dict[str, Any]) -> LearnRequest:
    """What is to be learned; `terms` are the settings that say which terms are fitted.

    With a target the scores in the files teach, unless a teacher is named; without a teacher results alone.
    """
    base, asked = LearnRequest(files), vars(args)
    if args.preset:
        base = LearnRequest(files, request.ARTICLE, Selection(), request.NO_CHOICE, teacher=None, verbose=True)
        base = replace(base, keep_fen=not args.no_cache)
    found = replace(base, **options.given(asked, LearnRequest))
    settings, selection = found.settings, found.selection
    if "target" in asked and "teacher" not in asked:
        found = replace(found, teacher=None)
    elif "target" not in asked and "teacher" in asked:
        settings = replace(settings, target=Target(1.0 if found.teacher is None else 0.0))
    if not args.preset and found.teacher is None:
        selection = replace(selection, per_game=request.FEW_OF_A_GAME)
    if "per_game" in asked:
        selection = replace(selection, later=None)
    return replace(
        found,
        selection=replace(selection, **options.given(asked, Selection)),
        settings=replace(settings, **options.given(asked, Settings), **terms),
    )


def learn_parser(command: str = "merino learn") -> shared.Parser:
    """The parser of `learn`."""
    parser = shared.Parser(
        prog=command,
        usage=f"{command} FILE... [FIRST LAST] [options]\n       {command} --use FILE [--weights FILE]",
        description="Learn the weights of the evaluation from games, validate them on other games, and put them in "
        "use if a match shows that they gain.",
        notes="FILE is a PGN, plain or compressed ('-' for standard input), or labelled positions (.epd, .fen). The "
        f"terms FIRST to LAST are fitted, all by default; 'merino weights' lists them. The net "
        f"{request.DEFAULT_TEACHER} teaches, and short matches find how far to go from the old weights to the new.",
        examples=(
            "merino learn games.pgn",
            "merino learn games.pgn 6 27 --weights my-weights.txt --no-match",
            "merino learn selfplay.pgn --target blend=0.5",
        ),
    )
    parser.add_argument("words", nargs="*", metavar="FILE", help=argparse.SUPPRESS)
    parser.group(FIT).add_argument("--terms", metavar="LIST", help="terms to fit: 6-27, or names separated by commas")
    usual = request.DEFAULT_SETTINGS
    options.add_options(parser, Settings, phases=usual.phases, target=request.SEARCH, decay=usual.decay)
    options.add_options(parser, LearnRequest)
    sentence = "as GreKo 2015 ML: one phase, descent, K 150, decay 20, all positions, split by position"
    parser.group(FIT).add_argument("--preset", choices=[ARTICLE_PRESET], help=sentence)
    few = f"{request.FEW_OF_A_GAME} without a teacher and behind the first {request.EARLY_GAMES} games"
    per_game = f"{DEFAULT_SELECTION.per_game}, {few}"
    options.add_options(parser, Selection, positions=DEFAULT_SELECTION.positions, per_game=per_game)
    options.add_options(parser, LearnArguments)
    sentence = "with --preset: keep no .fen file of positions next to the games"
    parser.group(shared.OUTPUT).add_argument("--no-cache", action="store_true", help=sentence)
    shared.add_report(parser, "print the report as one JSON object")
    return parser


def improve_parser() -> shared.Parser:
    """The parser of `improve`."""
    usual = learner.Plan()
    parser = shared.Parser(
        prog="merino improve",
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
    options.add_options(parser, learner.Plan)
    shared.add_concurrency(parser, "games")
    parser.group(FIT).add_argument("--terms", metavar="LIST", help="terms to fit, such as 6-27 (default: all)")
    target = f"{request.BLEND}={usual.share:g}"
    options.add_options(parser, Settings, ("phases", "target"), phases=usual.phases, target=target)
    options.add_options(parser, Selection)
    shared.add_deciding_test(parser, usual)
    sentence = "start from this file and leave the weights in use alone (default: the weights in use)"
    parser.group(shared.EVALUATION).add_argument("--weights", metavar="FILE", help=sentence)
    sentence = "start from the values of the pieces alone, with all other terms of this set at 0"
    parser.group(shared.EVALUATION).add_argument("--set", dest="of_set", metavar="SET", help=sentence)
    shared.add_state_of_runs(parser, learner.DEFAULT_FOLDER)
    shared.add_quiet(parser)
    return parser


def _chosen_terms(text: str, terms: registry.TermSet, parser: shared.Parser) -> dict[str, Any]:
    """The settings that fit the terms of a list: a range, or names and ranges separated by commas.

    The name of a table stands for all its cells. A term that the set lacks ends in an error of the parser.
    """
    known = [term.name for term in terms]
    named = {name.lower(): [name] for name in known} | {each.name.lower(): known[at] for each, at in terms.to_read()}
    chosen: list[str] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            low, high = errors.number_of(first), errors.number_of(last or first)
            if not 1 <= low <= high <= len(known):
                parser.error(f"terms are numbered 1 to {len(known)}, the first before the last; not {part[:40]}")
            if part == text:
                return {"first": low, "last": high}
            chosen += known[low - 1 : high]
        elif part.lower() in named:
            chosen += named[part.lower()]
        else:
            hint = did_you_mean(part, [*(each.name for each, _ in terms.to_read()), *known])
            parser.error(f"argument --terms: there is no term '{part[:40]}'{hint}")
    return {"names": tuple(name for name in known if name in chosen)}


def run_learn(arguments: Sequence[str]) -> int:
    """The command `learn`: 0 whatever the verdict on the new weights, 130 after Ctrl-C; raises MerinoError."""
    args = read_arguments(arguments)
    result = carry_out(args, partial(print, file=sys.stderr if args.as_json else sys.stdout, flush=True))
    return interrupt.INTERRUPTED if result.outcome.verdict in (Verdict.STOPPED, Verdict.INTERRUPTED) else 0


def learn_weights(arguments: Sequence[str], say: Say, trial: prove.StrengthTest = prove.GAIN) -> Path | None:
    """Carry out a `learn` command typed at the console; the file of new weights if they are in use now.

    Each line goes to `say`, output for programs to standard output. `trial` is the match that decides whether new
    weights are used, unless the command chooses another. Raises MerinoError.
    """
    if {"-h", "--help"} & set(arguments):
        say(learn_parser("learn").format_help().rstrip())
        return None
    args = read_arguments(arguments, "learn")
    if str(STANDARD_INPUT) in args.request.files:
        raise CommandError("learn: '-' is standard input, which the console reads; name a file")
    result = carry_out(args, say, trial, "learn")
    return result.outcome.written if result.outcome.in_use else None


def carry_out(
    args: LearnArguments, say: Say, trial: prove.StrengthTest = prove.GAIN, command: str = "merino learn"
) -> LearnResult:
    """Learn, or put earlier results in use; lines go to `say`, output for programs to standard output.

    `command` is the name of the command for messages. Raises MerinoError.
    """
    with shown(say, args.is_quiet) as events:
        if args.use is not None:
            result = procedure.use_weights(args.use, args.request.weights, events.say)
        else:
            result = procedure.learn_from_files(args.request, events, trial, command)
    outcome = result.outcome
    if args.as_json and result.summary is not None:
        print(json.dumps(result.summary.as_json()))
    elif args.is_quiet and not args.as_json:
        unused = "" if outcome.in_use else ", not in use"
        say(f"{outcome.verdict}: {outcome.state + unused if outcome.written else 'the weights are unchanged'}")
    return result


@contextmanager
def shown(
    say: Say, is_quiet: bool = False, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Events]:
    """Lines go to `say`; progress and the state of a match to `stream` (standard error if None), until the next line.

    A context manager; when it ends, nothing of them is left on a terminal. With `is_quiet` nothing is shown at all.
    """
    stream = shared.progress_stream(is_quiet) or stream
    progress, match_state = terminal.Progress(stream, clock), terminal.LivePrinter(stream)

    def say_line(line: str) -> None:
        progress.wipe()
        match_state.wipe()
        if not is_quiet:
            say(line)

    try:
        yield Events(say_line, progress, match_state)
    finally:
        progress.wipe()
        match_state.wipe()


def run_improve(words: Sequence[str]) -> int:
    """The command `improve`: 0, or 130 after Ctrl-C; raises MerinoError."""
    parser, say = improve_parser(), partial(print, flush=True)
    args = parser.parse_args(list(words))
    shared.check_will_end(parser, args, "rounds")
    if args.of_set is not None and args.weights is not None:
        parser.error("--set starts from the pieces alone; leave out --weights")
    folder = args.state or files.user_folder("data") / learner.DEFAULT_FOLDER
    asked, until = _asked(args, parser), rounds.Until(args.hours, args.rounds)
    with shared.keeping_work(), shown(say, args.quiet) as events:
        found = learner.begin(folder, args.weights, asked, until, events, args.concurrency, args.of_set)
    say(f"{rounds.described(found.state)}; the best weights are in '{found.best}'.")
    if found.interrupted:
        say("Stopped; 'merino improve' with the same options continues.")
    elif found.state.rounds:
        say(f"To draw it: merino plot {as_word(found.best.parent)}")
    return interrupt.INTERRUPTED if found.interrupted else 0


def _asked(args: argparse.Namespace, parser: shared.Parser) -> dict[str, Any]:
    """The settings of the Plan that were given."""
    asked, given = vars(args), options.given
    found = given(asked, learner.Plan) | given(asked, Selection) | given(asked, Settings, ("phases",))
    found |= zip(("elo0", "elo1"), args.sprt or (), strict=False)
    if "target" in asked:
        found["share"] = args.target.share
    if args.terms is not None:
        terms = set_of(active_file(args.weights)) if args.of_set is None else sets.set_named(args.of_set)
        found |= _chosen_terms(args.terms, terms, parser)
        if "names" in found:
            parser.error("--terms takes one range here, such as 6-27")
    return found
