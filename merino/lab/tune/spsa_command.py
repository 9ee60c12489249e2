"""`merino spsa ...`: tune parameters by games, simulate tunes, plan one."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, number_above_zero, positive, share
from merino.app.shell.match_options import add_time_control
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.text import counted, did_you_mean
from merino.eval.evaluation import EvaluationError
from merino.eval.families import load_chosen
from merino.lab.tune import paper
from merino.lab.tune.arena_command import add_arena
from merino.lab.tune.curves import SETTINGS
from merino.lab.tune.methods import DEFAULT, METHODS
from merino.lab.tune.parameters import (
    TunedParameter,
    TuneError,
    best_step,
    check_known,
    fishtest_lines,
    openbench_lines,
    own_parameters,
    read_file,
    rounding_warnings,
)
from merino.lab.tune.plan import advice, loss_left, pairs_needed
from merino.lab.tune.playing import check_options, engine_options
from merino.lab.tune.report import simulation_json, simulation_table
from merino.lab.tune.rules import FIRST_TAU2
from merino.lab.tune.scan_command import add_scan
from merino.lab.tune.simulator import CONTENDERS, DEFAULT_CONTENDERS, Cell, simulate
from merino.lab.tune.tune_command import DEFAULT_AHEAD, engine_asked_for, replay_games, tune_new, tune_on
from merino.match.games import PLIES, MatchError

_GROUPS = {"S1": ("S1x4", "S1/4", "S1h"), "all": tuple(SETTINGS)}


def run_spsa(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it ran; raises CommandError."""
    parser = _parser()
    args = parser.parse_args(list(arguments))
    if "cluster" in args:
        shared.check_cluster(parser, args)
    with errors_named("spsa", TuneError, EvaluationError, MatchError):
        code: int = args.run(args)
    return code


def _parser() -> Parser:
    parser = Parser(
        prog="merino spsa",
        description="Tune parameters by games (SPSA and Bayesian variants), scan one, simulate or plan a tune.",
        notes="'merino spsa COMMAND -h' explains a command.",
        examples=("merino spsa plan mine.toml --target 1", "merino spsa tune mine.toml --pairs 5000 --prove"),
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_simulate(commands)
    _add_games(commands)
    _add_replay(commands)
    scan = _command(
        commands,
        "scan",
        "Play many values of one weight or search parameter against a fixed one: Elo by value, and its optima.",
        "merino spsa scan RookOpen_mg --from -40 --to 80 --points 7 --games 400 --state rook --plot rook.svg",
        "merino spsa scan razor_margin --values 100,200,400,800",
    )
    add_scan(scan)
    add_arena(
        _command(
            commands,
            "arena",
            "Compare the methods on real engines whose numbers were set wrong on purpose: the Elo left, by games.",
            "merino spsa arena cases.toml --state run",
        )
    )
    _add_files(commands)
    return parser


def _command(commands: argparse._SubParsersAction[Parser], name: str, sentence: str, *examples: str) -> Parser:
    return commands.add_parser(
        name, help=sentence[:1].lower() + sentence[1:-1], description=sentence, examples=examples
    )


def _add_simulate(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "simulate",
        "Compare the tuning methods on simulated strength curves.",
        "merino spsa simulate",
        "merino spsa simulate S2 --parameters 4,16 --methods bspsa,auto --pairs 20000",
    )
    add = parser.add_argument
    known = ", ".join([*SETTINGS, *_GROUPS])
    add("settings", nargs="*", default=["S0"], metavar="SETTING", help=f"{known} (default: S0)")
    _add_names(parser, CONTENDERS, DEFAULT_CONTENDERS)
    sentence = "numbers of parameters, such as 4,16"
    add("--parameters", type=_sizes, metavar="N,N", default=list(paper.SIZES), help=sentence)
    add("--pairs", type=positive, metavar="N", default=paper.PAIRS, help="game pairs per run (default: %(default)s)")
    sentence = "runs per cell, at least 2 (default: %(default)s)"
    add("--runs", type=positive, metavar="N", default=paper.RUNS, help=sentence)
    sentence = "pairs under way; each is made without the results of the N - 1 before it (default: %(default)s)"
    add("--ahead", type=positive, metavar="N", default=1, help=sentence)
    shared.add_seed(parser, "all random numbers")
    shared.add_concurrency(parser, "runs")
    shared.add_json(parser, "print a list of JSON objects, one per cell")
    shared.add_quiet(parser)
    parser.set_defaults(run=_simulate)


def _add_files(commands: argparse._SubParsersAction[Parser]) -> None:
    """The commands that read a file of parameters and play nothing."""
    parser = _command(
        commands,
        "plan",
        "Compute how many game pairs a tune needs.",
        "merino spsa plan mine.toml --target 1",
        "merino spsa plan mine.toml --pairs 20000 --draw-ratio 0.6",
    )
    add = parser.add_argument
    _add_parameter_file(parser)
    sentence = "Elo that may still be missing at the end (default: half of what is missing at the start)"
    add("--target", type=number_above_zero, metavar="ELO", help=sentence)
    add("--pairs", type=positive, metavar="N", help="instead, compute the Elo still missing after N pairs")
    draws = add("--draw-ratio", type=share, metavar="P", help="share of drawn games, 0 to 1 (default: 0.45)")
    parser.also_accept("--draws", draws)
    add("--constant", action="store_true", help="keep the size of the perturbations constant")
    add("--engine", metavar="COMMAND", help="plan for the UCI options of this engine instead of Merino")
    shared.add_evaluation(parser)
    parser.set_defaults(run=_plan)
    parser = _command(
        commands,
        "convert",
        "Print a file of parameters in the formats of fishtest and OpenBench.",
        "merino spsa convert mine.toml",
    )
    _add_parameter_file(parser)
    sentence = "game pairs for computing r_end if the file gives none (default: %(default)s)"
    parser.add_argument("--pairs", type=positive, metavar="N", default=25_000, help=sentence)
    shared.add_evaluation(parser)
    parser.set_defaults(run=_convert)


def _add_games(commands: argparse._SubParsersAction[Parser]) -> None:
    """The commands that play games."""
    tune = _command(
        commands,
        "tune",
        "Tune the parameters of a file by games of Merino against itself.",
        "merino spsa tune mine.toml --pairs 5000 --nodes 1000 --plot course.svg",
        "merino spsa tune options.txt --engine stash-bot --tc 8+0.08",
    )
    _add_parameter_file(tune)
    add = tune.add_argument
    add("--pairs", type=positive, metavar="N", default=1000, help="game pairs to play (default: %(default)s)")
    add("--method", choices=list(METHODS), default=DEFAULT, help="tuning method (default: %(default)s)")
    add("--engine", metavar="COMMAND", help="tune the UCI options of this engine instead of Merino")
    shared.add_evaluation(tune)
    add_time_control(tune)
    shared.add_openings(tune, f"{PLIES} if random")
    sentence = "pairs under way; each is made without the results of the N - 1 before it (default: %(default)s)"
    add("--ahead", type=positive, metavar="N", default=DEFAULT_AHEAD, help=sentence)
    sentence = "keep the tune in this file, from which the same command continues (default: FILE.tune.npz)"
    tune.group(shared.OUTPUT).add_argument("--state", type=file_path, metavar="FILE", help=sentence)
    tune.set_defaults(run=tune_new)
    resume = _command(commands, "resume", "Continue an interrupted tune.", "merino spsa resume mine.tune.npz --prove")
    resume.add_argument("state", type=file_path, metavar="STATE", help="the file of the tune")
    resume.set_defaults(run=tune_on)
    for parser in (tune, resume):
        parser.add_argument("--prove", action="store_true", help="then play the match that confirms the result")
        shared.add_concurrency(parser, "game pairs")
        shared.add_cluster(parser, "play")
        shared.add_plot(parser, "the course of the tune")
        shared.add_json(parser, "at the end print one JSON object: parameters, games, and whether --prove proved them")
        shared.add_quiet(parser)


def _add_replay(commands: argparse._SubParsersAction[Parser]) -> None:
    """The command that reads the games of a tune."""
    replay = _command(
        commands,
        "replay",
        "Apply each method to the games of a tune.",
        "merino spsa replay mine.tune.npz --methods spsa,bspsa --plot course.svg",
    )
    replay.add_argument("state", type=file_path, metavar="STATE", help="the file of the tune")
    _add_names(replay, METHODS)
    shared.add_plot(replay, "the course of the first method")
    shared.add_quiet(replay)
    replay.set_defaults(run=replay_games)


def _add_parameter_file(parser: Parser) -> None:
    sentence = "parameters as fishtest or OpenBench lines, or TOML"
    parser.add_argument("file", type=file_path, metavar="FILE", help=sentence)


def _add_names(parser: Parser, known: Mapping[str, Any], usual: Sequence[str] | None = None) -> None:
    """`--methods`: names among `known`; the default is `usual`, or all of them for None."""

    def chosen(text: str) -> list[Any]:
        unknown = [name for name in text.split(",") if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"there is no method '{unknown[0]}' among {', '.join(known)}{did_you_mean(unknown[0], known)}"
            )
        return [known[name] for name in text.split(",")]

    sentence = f"some of {', '.join(known)} (default: {','.join(usual) if usual else 'all'})"
    default = [known[name] for name in usual or known]
    parser.add_argument("--methods", type=chosen, metavar="NAME,NAME", default=default, help=sentence)


def _sizes(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def _simulate(args: argparse.Namespace) -> int:
    settings = [name for asked in args.settings for name in _GROUPS.get(asked, (asked,))]
    for name in settings:
        if name not in SETTINGS:
            raise UsageError(
                f"spsa simulate: there is no setting '{name}' among {', '.join(SETTINGS)}{did_you_mean(name, SETTINGS)}"
            )
    if args.runs < 2:
        raise UsageError("spsa simulate: --runs must be at least 2, since one run has no standard error")
    if args.pairs < 2 and (twice := [method.name for method in args.methods if method.second]):
        raise UsageError(f"spsa simulate: --pairs must be at least 2 for {twice[0]}, which tunes twice")
    cells: list[Cell] = []
    for number, name in enumerate(dict.fromkeys(settings)):
        block = _cells(args, name)
        cells += block
        if not args.json:  # show the results so far, also after Ctrl-C or on a full disk
            print("\n".join([*([""] if number else []), *simulation_table(block)]), flush=True)
    if args.json:
        print(json.dumps(simulation_json(cells), indent=1))
    return 0


def _cells(args: argparse.Namespace, name: str) -> list[Cell]:
    """The results of each method in one setting."""
    cells = []
    for size in args.parameters:
        for method in args.methods:
            _progress(args, f"{name}, {size} parameters, {method.name.lower()}")
            setting, at_a_time = SETTINGS[name], args.concurrency
            try:
                cell = simulate(method, setting, size, args.pairs, args.runs, args.seed, at_a_time, ahead=args.ahead)
            except MemoryError as error:
                raise CommandError(f"spsa simulate: not enough memory for {size} parameters") from error
            cells.append(cell)
    _progress(args, "")
    return cells


def _progress(args: argparse.Namespace, text: str) -> None:
    """Show the current setting, on a terminal only."""
    if sys.stderr.isatty() and not args.quiet:
        print(f"\r{text:<60}", end="" if text else "\r", file=sys.stderr, flush=True)


def _own_file(args: argparse.Namespace) -> list[TunedParameter]:
    """The parameters in the file, those of the evaluation as in the weights file."""
    return read_file(args.file, own_parameters(load_chosen(args.weights, args.evalfile)))


def _engine_file(args: argparse.Namespace) -> list[TunedParameter]:
    """The parameters in the file, which are options of the engine."""
    known = engine_options(engine_asked_for(args, "plan"))
    parameters = read_file(args.file, known)
    check_known(parameters, known, f"the engine '{args.engine}'")
    check_options(tuple(parameters))
    return parameters


def _plan(args: argparse.Namespace) -> int:
    if args.target and args.pairs:
        raise UsageError("spsa plan: --target finds the pairs, --pairs the Elo still missing: give one of them")
    parameters = _engine_file(args) if args.engine else _own_file(args)
    tau = math.sqrt(2 * (1 - args.draw_ratio)) if args.draw_ratio is not None else math.sqrt(FIRST_TAU2)
    gamma = {"gamma": 0.0} if args.constant else {}
    starts, at_c = np.array([row.elo for row in parameters]), np.array([row.elo_at_c for row in parameters])
    for sentence in rounding_warnings(parameters, METHODS[DEFAULT].always_differ):
        print(f"Warning: {sentence}", file=sys.stderr)
    print(
        f"{counted(len(parameters), 'parameter')}; {starts.sum():.4g} Elo to gain, {at_c.sum():.4g} Elo lost by a "
        f"player with all of them displaced by c_end; deviation of a pair's result {tau:.3f}"
    )
    if args.pairs:
        left = loss_left(args.pairs, starts, at_c, tau, **gamma)
        print(f"{counted(args.pairs, 'pair')} leave {left:.3g} Elo to gain")
        print(advice(left / starts.sum()))
        return 0
    target = args.target or starts.sum() / 2
    if target >= starts.sum():
        print(f"No games are needed: the start is expected to lose no more than {starts.sum():.3g} Elo")
        return 0
    try:
        pairs = pairs_needed(target, starts, at_c, tau, **gamma)
    except OverflowError as error:
        raise CommandError("spsa plan: no number of pairs is enough: these perturbations cost no Elo") from error
    print(f"{pairs} pairs of games ({2 * pairs} games) leave {target:.3g} Elo to gain")
    print(advice(target / starts.sum()))
    return 0


def _convert(args: argparse.Namespace) -> int:
    parameters = _own_file(args)
    starts = [row.start for row in parameters]
    steps = [row.r_end or best_step(row, parameters, args.pairs) for row in parameters]
    print("\n".join(["# fishtest", *fishtest_lines(parameters, starts, steps)]))
    print("\n".join(["# OpenBench", *openbench_lines(parameters, starts, steps)]))
    return 0
