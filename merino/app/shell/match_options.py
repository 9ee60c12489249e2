"""The options that the match commands share, and what they print alike."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from merino.app.console import shared_options as shared
from merino.app.console.command_line import KeyValues, Parser, any_number, natural, positive, whole
from merino.core.common.command import CommandError, UsageError
from merino.core.common.errors import MerinoError
from merino.core.common.files import check_writable, writing
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.terminal import LivePrinter
from merino.core.common.user_files import HEAD_BYTES, PACKED, is_there, open_user_file
from merino.core.common.work import cores
from merino.engine.search.limits import MAX_HASH_MB
from merino.formats.packed import begins_packed
from merino.formats.scored_games import is_games_file
from merino.match.config import DEFAULT_MARGIN_MS, DEFAULT_NODES, Adjudication, Clock, MatchConfig, TimeControl
from merino.match.games import MAX_PLIES, PLIES, GamesFileError, MatchError, PlayerError, Tally
from merino.match.players import FORMS, Player
from merino.match.report import live_line
from merino.match.runner import BrokenOffError, MatchOutput, MatchResult, run_match
from merino.match.statistics import MAX_ELO, Model, Sprt

DEFAULT_GAMES = 1000
PLIES_OF_A_MOVE = 2
LIMITS, ADJUDICATION, TEST = "time control", "adjudication", "sequential test"  # titles of groups


class OptionValueError(MerinoError):
    """An option that cannot have its value; the message says which and why."""


def clock(text: str) -> Clock:
    """A clock as cutechess writes it: `10+0.1`, `40/300`, `40/5:00+2`."""
    try:
        return Clock.read(text)
    except ValueError as error:
        wanted = "a time control looks like 10+0.1, 40/300 or 40/5:00+2"
        raise argparse.ArgumentTypeError(f"{error}; {wanted}") from error


def full_moves(text: str) -> int:
    """The plies of a number of full moves, not more than a game may have."""
    return PLIES_OF_A_MOVE * whole(1, MAX_PLIES // PLIES_OF_A_MOVE)(text)


def add_time_control(parser: Parser) -> None:
    """--nodes, --depth, --movetime and --tc."""
    shared.add_limits(parser, "per move", DEFAULT_NODES, group=LIMITS)
    sentence = "clock, [moves/][minutes:]seconds[+increment]: 10+0.1, 40/5:00+2"
    parser.group(LIMITS).add_argument("--tc", type=clock, metavar="TC", help=sentence)


def add_game_options(parser: Parser, games: int, per: str) -> None:
    """The options of play and output; `per` says to what the number of games applies."""
    parser.add_argument("--games", type=positive, metavar="N", default=games, help=f"games {per} (default: {games})")
    add_time_control(parser)
    add = parser.group(LIMITS).add_argument
    sentence = "milliseconds by which a move may exceed its time (default: %(default)s)"
    margin = add("--timemargin", type=natural, default=DEFAULT_MARGIN_MS, metavar="MS", help=sentence)
    parser.also_accept("--margin", margin)
    sentence = "transposition table of each player in MiB (default: by the nodes)"
    add("--hash", metavar="MB", type=whole(1, MAX_HASH_MB), help=sentence)
    shared.add_openings(parser, f"{PLIES} if random")
    add_resign(parser)
    add = parser.group(ADJUDICATION).add_argument
    add(
        "--draw",
        action=KeyValues,
        keys=("movenumber", "movecount", "score"),
        plain=("score", "movecount", "movenumber"),
        kind=natural,
        metavar=("movenumber=N", "movecount=N", "score=CP"),
        help="draw once, after move movenumber, both sides have reported at most CP for movecount moves",
    )
    sentence = f"draw N full moves after the opening (default: {MAX_PLIES // PLIES_OF_A_MOVE})"
    longest = add("--maxmoves", type=full_moves, dest="longest", default=MAX_PLIES, metavar="N", help=sentence)
    parser.also_accept_form("--longest", longest, type=whole(1, MAX_PLIES))  # in plies
    shared.add_concurrency(parser, "games", shown="one per core; 1 with --tc or --movetime")
    shared.add_cluster(parser, "play")
    shared.add_pgn(parser)


def add_resign(parser: Parser, default: dict[str, int] | None = None) -> None:
    """--resign."""
    shown = " ".join(f"{key}={value}" for key, value in (default or {}).items()) or "never"
    parser.group(ADJUDICATION).add_argument(
        "--resign",
        action=KeyValues,
        keys=("movecount", "score"),
        plain=("score", "movecount"),
        kind=natural,
        default=default,
        metavar=("movecount=N", "score=CP"),
        help=f"win once both sides have reported at least CP for it, for movecount moves (default: {shown})",
    )


def add_test(parser: Parser) -> None:
    """The sequential test."""
    sentence = (
        "stop as soon as the test accepts one of two Elo differences of A over B, "
        f"each within +-{MAX_ELO[Model.NORMALIZED]:g} (logistic: {MAX_ELO[Model.LOGISTIC]:g})"
    )
    shared.add_sprt(parser, TEST, sentence)
    add = parser.group(TEST).add_argument
    for option, bound in (("--alpha", "ELO1"), ("--beta", "ELO0")):
        sentence = f"probability of wrongly accepting {bound} (default: 0.05)"
        add(option, type=any_number, default=0.05, metavar="P", help=sentence)
    models = tuple(map(str, Model))
    add("--model", choices=models, default=str(Model.NORMALIZED), help="kind of Elo (default: %(default)s)")


def player_forms() -> str:
    """The forms of a player, for the help."""
    return f"A player is {FORMS}."


def read_config(args: argparse.Namespace, players: tuple[Player, Player]) -> MatchConfig:
    """The configuration of a match; raises OptionValueError."""
    return MatchConfig(
        players,
        TimeControl(args.nodes, args.depth, args.movetime, args.tc, args.hash).or_default(),
        args.games,
        args.seed,
        args.openings,
        args.plies,
        adjudication(args.resign, args.draw, args.longest),
        margin=args.timemargin,
    )


def adjudication(
    resign: dict[str, Any] | None, draw: dict[str, Any] | None = None, longest: int = MAX_PLIES
) -> Adjudication:
    """The rules by which games end early; `longest` is in plies. Raises OptionValueError."""
    win = resign or {"score": 0, "movecount": 0}
    drawn = draw or {"score": 0, "movecount": 0, "movenumber": 0}
    try:
        return Adjudication(
            win["score"], win["movecount"], drawn["score"], drawn["movecount"], drawn["movenumber"], longest
        )
    except ValueError as error:
        raise OptionValueError(f"--resign: {error}") from error


def read_test(args: argparse.Namespace) -> Sprt | None:
    """The sequential test of `match`, if there is to be one; raises UsageError."""
    if args.sprt is None:
        return None
    elo0, elo1 = args.sprt["elo0"], args.sprt["elo1"]
    if not elo0 < elo1:
        raise UsageError(f"match: --sprt takes the lower Elo first, not {elo0:g} {elo1:g}")
    if not (0 < args.alpha < 0.5 and 0 < args.beta < 0.5):
        raise UsageError("match: --alpha and --beta must lie between 0 and 0.5")
    try:
        return Sprt(elo0, elo1, args.alpha, args.beta, Model(args.model))
    except ValueError as error:
        raise UsageError(f"match: --sprt: {error}") from error


def concurrency(args: argparse.Namespace, config: MatchConfig) -> int:
    """Games at the same time."""
    if args.concurrency is not None:
        return int(args.concurrency)
    if config.time_control.is_timed:
        return 1  # a clock is fair only where each game has its core
    return cores()


def output(
    args: argparse.Namespace,
    event: str,
    pgn: Path | None,
    state: Path | None,
    show: Callable[[str], object],
    line: Callable[[Tally, int, float | None, Sprt | None], str] = live_line,
    positions: Path | None = None,
) -> MatchOutput:
    """The outputs of the games; before any is played, raises MatchError if they cannot be written."""
    files = {"--pgn": pgn, "--positions": positions, "--state": state}
    for option, path in files.items():
        if path is not None:
            with writing(MatchError, path):
                check_writable(path, whole=option == "--state")
    if positions is not None:
        _check_positions(positions)
    return MatchOutput(show, pgn, state, event, line, remarks(args), positions)


def _check_positions(path: Path) -> None:
    """Raise MatchError if what is there is something else than packed positions, to which they are not to be added.

    Files of games are looked at when they are opened.
    """
    if not is_there(path) or is_games_file(path):
        return
    with writing(MatchError, path), open_user_file(path, PACKED) as file:
        head = file.read(HEAD_BYTES)
    if head and not begins_packed(head):
        raise MatchError(f"'{path}' holds no packed positions, or its end is missing: name another file")


def run_and_catch(
    config: MatchConfig,
    args: argparse.Namespace,
    goes_to: MatchOutput,
    sprt: Sprt | None,
    executor: Executor | None,
) -> tuple[MatchResult, MatchError | None]:
    """The match as far as it was played, and the error that ended it: raise that after the result has been shown."""
    try:
        return run_match(config, concurrency(args, config), sprt, goes_to, executor), None
    except BrokenOffError as error:
        return error.result, error
    except MatchError as error:
        return MatchResult(Tally()), error


def play_titled(
    config: MatchConfig, args: argparse.Namespace, event: str, title: str, state: str, executor: Executor | None
) -> tuple[MatchResult, MatchError | None]:
    """One of several matches, told under a `title` and kept in the file `state` of their folder; as `run_and_catch`."""
    path = None if args.state is None else args.state / f"{state}.json"
    with LivePrinter(shared.progress_stream(args.quiet)) as show:
        goes_to = output(args, event, args.pgn, path, lambda line: show(f"{title}  {line}"))
        return run_and_catch(config, args, goes_to, None, executor)


@contextmanager
def errors_of(command: str) -> Iterator[None]:
    """Put the name of the command before errors of a match; a bad player, file or option is a usage error."""
    try:
        yield
    except (PlayerError, GamesFileError, OptionValueError) as error:
        raise UsageError(f"{command}: {error}") from error
    except MatchError as error:
        raise CommandError(f"{command}: {error}") from error


def ended(args: argparse.Namespace, interrupted: bool, fault: MatchError | None) -> int:
    """The exit code after games, with a remark after Ctrl-C; raises the fault that has ended them."""
    if fault:
        raise fault
    if interrupted:
        kept = f"; the same command continues from '{args.state}'" if args.state else ""
        remarks(args)(f"Interrupted{kept}.")
    return INTERRUPTED if interrupted else 0


def remarks(args: argparse.Namespace) -> Callable[[str], object]:
    """The output of remarks: standard error, or none after --quiet."""
    return shared.unless_quiet(say, args.quiet)


def say(sentence: str) -> None:
    """Print a remark on standard error."""
    print(sentence, file=sys.stderr, flush=True)


def names(players: Sequence[Player]) -> list[str]:
    """Their names."""
    return [player.label for player in players]
