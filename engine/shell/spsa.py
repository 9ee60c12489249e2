"""`merino spsa ...`: tune by games, and know beforehand what that takes."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.common.command import CommandError, UsageError
from engine.common.work import cores
from engine.console.command_line import Parser
from engine.shell.match_options import NODES, add_concurrency, clock
from engine.shell.tune_games import replay_games, tune_new, tune_on
from eval.evaluation import EvaluationError
from match.errors import MatchError
from match.openings import PLIES
from tune import paper
from tune.formats import fishtest_lines, openbench_lines, read_file
from tune.parameters import (
    TuneError,
    best_step,
    own_parameters,
    rounding_warnings,
)
from tune.plan import loss_left, pairs_needed
from tune.report import simulation_json, simulation_table
from tune.rules import FIRST_TAU2, Method
from tune.simulator import SETTINGS, Cell, simulate

METHODS = {method.name.lower(): method for method in Method}
_GROUPS = {"S1": ("S1x4", "S1/4", "S1h"), "all": tuple(SETTINGS)}


def run_spsa(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it ran; raises CommandError."""
    order = _parser().parse_args(list(arguments))
    try:
        code: int = order.run(order)
    except (TuneError, EvaluationError, MatchError) as error:
        raise CommandError(f"spsa: {error}") from error
    return code


def _parser() -> Parser:
    parser = Parser(prog="merino spsa", description="Tune numbers by games, or in a simulation of them.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add = commands.add_parser("simulate", help="the methods side by side on strength curves that are known")
    add.add_argument("settings", nargs="*", default=["S0"], help=f"{', '.join([*SETTINGS, *_GROUPS])}; S0 if none")
    add.add_argument("--methods", type=_methods, default=list(Method), help=f"some of {','.join(METHODS)}")
    add.add_argument("--parameters", type=_sizes, default=list(paper.SIZES), help="how many parameters, as 4,16")
    add.add_argument("--pairs", type=_count, default=paper.PAIRS, help="pairs of games a run")
    add.add_argument("--runs", type=_count, default=paper.RUNS, help="runs a cell, at least 2")
    add.add_argument("--seed", type=_count, default=1, help="of all random numbers")
    add_concurrency(add, _count, "runs at a time; one a core")
    add.add_argument("--json", action="store_true", help="print a list of objects, one a cell")
    add.set_defaults(run=_simulate)
    _add_games(commands)
    add = commands.add_parser("plan", help="how many pairs of games a tune needs")
    add.add_argument("file", type=Path, help="parameters: fishtest or OpenBench lines, or TOML")
    add.add_argument("--target", type=_positive, help="Elo that may still be lost in the end; half of it all if none")
    add.add_argument("--pairs", type=_count, help="say what these many pairs would leave instead")
    add.add_argument("--draws", type=_share, help="share of drawn games, 0 to 1; 0.45 if not said")
    add.add_argument("--constant", action="store_true", help="perturbations do not shrink")
    add.set_defaults(run=_plan)
    add = commands.add_parser("convert", help="print a file of parameters in the formats of fishtest and OpenBench")
    add.add_argument("file", type=Path)
    add.add_argument("--pairs", type=_count, default=25_000, help="for r_end where the file has none")
    add.set_defaults(run=_convert)
    return parser


def _add_games(commands: argparse._SubParsersAction[Parser]) -> None:
    """The commands that play or read real games."""
    add = commands.add_parser("tune", help="tune the numbers of a file by games of Merino against itself")
    add.add_argument("file", type=Path, help="parameters: fishtest or OpenBench lines, or TOML")
    add.add_argument("--pairs", type=_count, default=1000, help="pairs of games to play; 1000")
    add.add_argument("--method", choices=list(METHODS), default="bspsa")
    add.add_argument("--nodes", type=_count, help=f"a move; {NODES}")
    add.add_argument("--depth", type=_count, help="a move, in half-moves")
    add.add_argument("--movetime", type=_count, metavar="MS", help="a move, in milliseconds")
    add.add_argument("--tc", type=clock, metavar="S+S", help="a clock: seconds for the game + for each move")
    add.add_argument("--engine", metavar="COMMAND", help="tune the UCI options of this engine instead")
    add.add_argument("--openings", metavar="FILE", help="EPD, FEN, PGN or Polyglot (.bin); else random and even")
    add.add_argument("--weights", help="the weights file; that in use if none")
    add.add_argument("--seed", type=_count, default=1, help="of openings and perturbations")
    add.add_argument("--plies", type=_count, help=f"half-moves of an opening; {PLIES} if random")
    add.add_argument("--state", type=Path, help="where the games are kept; FILE.tune.npz")
    add.set_defaults(run=tune_new)
    again = commands.add_parser("resume", help="go on with a tune that was broken off")
    again.add_argument("state", type=Path, help="the file of the tune")
    again.set_defaults(run=tune_on)
    for each in (add, again):
        add_concurrency(each, _count, "pairs at a time; one a core", cores())
        each.add_argument("--plot", type=Path, metavar="FILE", help="draw its course, .png or .svg")
        each.add_argument("--prove", action="store_true", help="play the match that confirms the result")
    add = commands.add_parser("replay", help="what each method makes of the games of a tune")
    add.add_argument("state", type=Path)
    add.add_argument("--methods", type=_methods, default=list(Method), help=f"some of {','.join(METHODS)}")
    add.add_argument("--plot", type=Path, metavar="FILE", help="draw the course of the first of them, .png or .svg")
    add.set_defaults(run=replay_games)


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 1000000000")
    return int(text)


def _positive(text: str) -> float:
    value = _float(text)
    if not value > 0 or math.isinf(value):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def _share(text: str) -> float:
    value = _float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to below 1")
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error


def _sizes(text: str) -> list[int]:
    return [_count(part) for part in text.split(",")]


def _methods(text: str) -> list[Method]:
    unknown = [name for name in text.split(",") if name not in METHODS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no method is called {unknown[0]!r}; there are {', '.join(METHODS)}")
    return [METHODS[name] for name in text.split(",")]


def _simulate(order: argparse.Namespace) -> int:
    settings = [name for asked in order.settings for name in _GROUPS.get(asked, (asked,))]
    for name in settings:
        if name not in SETTINGS:
            raise UsageError(f"spsa simulate: no setting is called {name!r}; there are {', '.join(SETTINGS)}")
    if order.runs < 2:
        raise UsageError("spsa simulate: one run has no standard error; ask for at least 2")
    cells: list[Cell] = []
    for number, name in enumerate(dict.fromkeys(settings)):
        block = _cells(order, name)
        cells += block
        if not order.json:  # what is done is shown: Ctrl-C or a full disk does not take it away
            print("\n".join([*([""] if number else []), *simulation_table(block)]), flush=True)
    if order.json:
        print(json.dumps(simulation_json(cells), indent=1))
    return 0


def _cells(order: argparse.Namespace, name: str) -> list[Cell]:
    """What one setting brings each method."""
    cells = []
    for size in order.parameters:
        for method in order.methods:
            _progress(f"{name}, {size} parameters, {method.name.lower()}")
            cells.append(simulate(method, SETTINGS[name], size, order.pairs, order.runs, order.seed, order.concurrency))
    _progress("")
    return cells


def _progress(text: str) -> None:
    """Show what is being worked on, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r{text:<60}", end="" if text else "\r", file=sys.stderr, flush=True)


def _plan(order: argparse.Namespace) -> int:
    known = own_parameters()
    parameters = read_file(order.file, known)
    tau = math.sqrt(2 * (1 - order.draws)) if order.draws is not None else math.sqrt(FIRST_TAU2)
    gamma = {"gamma": 0.0} if order.constant else {}
    starts, at_c = np.array([row.elo for row in parameters]), np.array([row.elo_at_c for row in parameters])
    for sentence in rounding_warnings(parameters):
        print(f"Warning: {sentence}", file=sys.stderr)
    print(
        f"{len(parameters)} parameters; {starts.sum():.4g} Elo to gain, {at_c.sum():.4g} Elo lost by a player with "
        f"all of them displaced by c_end; deviation of a pair's result {tau:.3f}"
    )
    if order.pairs:
        print(f"{order.pairs} pairs leave {loss_left(order.pairs, starts, at_c, tau, **gamma):.3g} Elo to gain")
        return 0
    target = order.target or starts.sum() / 2
    if target >= starts.sum():
        print(f"No game is needed: no more than {starts.sum():.3g} Elo is thought to be lost at the start")
        return 0
    pairs = pairs_needed(target, starts, at_c, tau, **gamma)
    print(f"{pairs} pairs of games ({2 * pairs} games) leave {target:.3g} Elo to gain")
    return 0


def _convert(order: argparse.Namespace) -> int:
    parameters = read_file(order.file, own_parameters())
    starts = [row.start for row in parameters]
    steps = [row.r_end or best_step(row, parameters, order.pairs) for row in parameters]
    print("\n".join(["# fishtest", *fishtest_lines(parameters, starts, steps)]))
    print("\n".join(["# OpenBench", *openbench_lines(parameters, starts, steps)]))
    return 0
