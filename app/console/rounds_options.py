"""What `improve` and `night` share on the command line: options, and what is told of a full disk."""

from __future__ import annotations

import argparse

from merino.inner.app.console import shared_options as shared
from merino.inner.app.console.command_line import KeyValues, Parser, any_number, hours, natural, positive
from merino.inner.core.common.command import CommandError
from merino.inner.core.common.files import write_fault
from merino.inner.learn.rounds.state import RoundPlan


def add_when_to_stop(parser: Parser, unit: str) -> None:
    """--hours and --rounds, or what else a round is called."""
    add = parser.group("when to stop").add_argument
    add("--hours", type=hours, metavar="H", help="stop after H hours")
    add(f"--{unit}", type=positive, metavar="N", help=f"stop after N {unit}, those of earlier runs included")


def add_games(parser: Parser, usual: RoundPlan, unit: str) -> None:
    """--nodes, --games, --window and --concurrency."""
    add = parser.group("training games").add_argument
    add("--nodes", type=positive, metavar="N", help=f"nodes per move (default: {usual.nodes})")
    add("--games", type=positive, metavar="N", help=f"games per {unit} (default: {usual.games})")
    sentence = f"learn from the games of the last N {unit}s (default: {usual.window})"
    add("--window", type=positive, metavar="N", help=sentence)
    shared.add_concurrency(parser, "games")


def add_deciding_match(parser: Parser, usual: RoundPlan, opponents: str) -> None:
    """--match-nodes, --match-games, --sprt and --gauge; `opponents` are those of the matches that measure."""
    add = parser.group("deciding match").add_argument
    add("--match-nodes", type=positive, metavar="N", help=f"nodes per move (default: {usual.match_nodes})")
    add("--match-games", type=positive, metavar="N", help=f"maximum number of games (default: {usual.match_games})")
    sentence = f"bounds in normalised Elo (default: {usual.elo0:g} {usual.elo1:g})"
    keys = ("elo0", "elo1")
    add("--sprt", action=KeyValues, keys=keys, plain=keys, kind=any_number, metavar=("ELO0", "ELO1"), help=sentence)
    sentence = f"games against {opponents} after each success, to show progress; 0 for none (default: {usual.gauge})"
    add("--gauge", type=natural, metavar="N", help=sentence)


def add_round_seed(parser: Parser, usual: RoundPlan) -> None:
    """--seed."""
    sentence = f"seed of all random choices (default: {usual.seed})"
    parser.add_argument("--seed", type=natural, metavar="N", help=sentence)


def check_will_end(parser: Parser, args: argparse.Namespace, unit: str) -> None:
    """Raise UsageError if nothing says when to stop."""
    if args.hours is None and getattr(args, unit) is None:
        parser.error(f"give --hours H or --{unit} N; without them it would never end")


def work_kept(command: str, fault: OSError) -> CommandError:
    """What to tell of a run that could not write, as on a full disk."""
    kept = "the work so far is kept: make room on the disk and start the same command again"
    return CommandError(f"{command}: {write_fault(fault)}; {kept}")
