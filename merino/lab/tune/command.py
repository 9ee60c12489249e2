"""`merino spsa ...`: tune parameters by games, simulate tunes, plan one, scan a parameter."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, number_above_zero, positive, share
from merino.app.console.shared_options import cluster_executor
from merino.app.shell.match import time_control
from merino.app.shell.shared import (
    check_apart,
    check_output,
    check_picture,
    ending_of,
    holding_output,
    write_picture,
)
from merino.core.board.fen import FenError
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.files import is_there, real_path, writing
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.options import add_options
from merino.core.common.terminal import LivePrinter
from merino.core.common.text import as_word, counted, did_you_mean
from merino.core.common.work import Needs, RemoteExecutor, WorkError, cores
from merino.eval.evaluation import EvaluationError, Number
from merino.eval.families import load_chosen
from merino.formats.openings import OpeningError
from merino.lab.tune.methods import DEFAULT, METHODS
from merino.lab.tune.parameters import (
    TunedParameter,
    TuneError,
    best_step,
    check_tunable,
    lines_of_both,
    loss_left,
    own_parameters,
    pairs_needed,
    read_file,
    rounding_warnings,
)
from merino.lab.tune.rules import FIRST_TAU2, Method
from merino.lab.tune.scan import add_scan
from merino.lab.tune.simulator import (
    PAIRS,
    PAPER,
    RUNS,
    SETTING,
    SETTINGS,
    SIZES,
    cell_json,
    simulate,
    simulation_table,
)
from merino.lab.tune.tuning import (
    PROOF,
    Configuration,
    Tune,
    as_player,
    check_openings,
    draw,
    engine_options,
    kept,
    load_tune,
    needs_file,
    path_of_openings,
    play_tune,
    progress_of,
    proof_terms,
    replay,
    result_lines,
    tune_json,
    tuned_players,
    tuned_values,
    value_table,
)
from merino.match.config import DEFAULT_MARGIN_MS, MatchConfig, TimeControl
from merino.match.games import MatchError
from merino.match.players import OwnPlayer, Player, command_of
from merino.match.report import live_line
from merino.match.runner import MatchOutput, run_match

SAVE_EVERY = 30.0  # seconds
DEFAULT_AHEAD = 32  # pairs under way, whoever plays them, so that a tune depends on its seed alone
HOPELESS = 0.95  # the share of the Elo to gain that a plan leaves, where hardly any method gains
_GROUPS = {"S1": ("S1x4", "S1/4", "S1h"), "all": tuple(SETTINGS)}


def run_spsa(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it ran; raises CommandError."""
    parser = spsa_parser()
    args = parser.parse_args(list(arguments))
    with errors_named("spsa", TuneError, EvaluationError, MatchError):
        code: int = args.run(args)
    return code


def spsa_parser() -> Parser:
    """The parser of all its commands."""
    parser = Parser(
        prog="merino spsa",
        description="Tune parameters by games (SPSA and Bayesian variants), scan one, simulate or plan a tune.",
        notes="'merino spsa COMMAND -h' explains a command.",
        examples=("merino spsa plan mine.toml --target 1", "merino spsa tune mine.toml --pairs 5000 --prove"),
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, sentence: str, *examples: str) -> Parser:
        line = sentence[:1].lower() + sentence[1:-1]
        return commands.add_parser(name, help=line, description=sentence, examples=examples)

    _add_simulate(
        command(
            "simulate",
            "Compare the tuning methods on simulated strength curves.",
            "merino spsa simulate",
            "merino spsa simulate S2 --parameters 4,16 --methods bspsa,adaptive --pairs 20000",
        )
    )
    tune = command(
        "tune",
        "Tune the parameters of a file by games of Merino against itself.",
        "merino spsa tune mine.toml --pairs 5000 --nodes 1000 --plot course.svg",
        "merino spsa tune options.txt --engine stash-bot --tc 8+0.08",
    )
    resume = command("resume", "Continue an interrupted tune.", "merino spsa resume mine.tune.npz --prove")
    _add_games(tune, resume)
    again = command(
        "replay",
        "Apply each method to the games of a tune.",
        "merino spsa replay mine.tune.npz --methods spsa,bspsa --plot course.svg",
    )
    again.add_argument("state", type=file_path, metavar="STATE", help="the file of the tune")
    _add_methods(again, list(METHODS))
    shared.add_plot(again, "the course of the first method")
    shared.add_quiet(again)
    again.set_defaults(run=_replay)
    add_scan(
        command(
            "scan",
            "Play many values of one weight or search parameter against a fixed one: Elo by value, and its optima.",
            "merino spsa scan RookOpen_mg --from -40 --to 80 --points 7 --games 400 --state rook --plot rook.svg",
            "merino spsa scan razor_margin --values 100,200,400,800",
        )
    )
    plan = command(
        "plan",
        "Compute how many game pairs a tune needs, and print its parameters for fishtest and OpenBench.",
        "merino spsa plan mine.toml --target 1",
    )
    _add_parameter_file(plan)
    sentence = "Elo that may still be missing at the end (default: half of what is missing at the start)"
    plan.add_argument("--target", type=number_above_zero, metavar="ELO", help=sentence)
    plan.add_argument("--draw-ratio", type=share, metavar="P", help="share of drawn games, 0 to 1 (default: 0.45)")
    plan.add_argument("--engine", metavar="COMMAND", help="plan for the UCI options of this engine instead of Merino")
    shared.add_evaluation(plan)
    plan.set_defaults(run=_plan)
    return parser


def _add_simulate(parser: Parser) -> None:
    add = parser.add_argument
    known = ", ".join([*SETTINGS, *_GROUPS])
    add("settings", nargs="*", default=[SETTING], metavar="SETTING", help=f"{known} (default: {SETTING})")
    _add_methods(parser, list(PAPER))
    sentence = "numbers of parameters, such as 4,16"
    add("--parameters", type=_sizes, metavar="N,N", default=list(SIZES), help=sentence)
    add("--pairs", type=positive, metavar="N", default=PAIRS, help="game pairs per run (default: %(default)s)")
    add("--runs", type=positive, metavar="N", default=RUNS, help="runs per cell, at least 2 (default: %(default)s)")
    _add_ahead(parser, 1)
    shared.add_seed(parser, "all random numbers")
    shared.add_concurrency(parser, "runs")
    shared.add_json(parser, "print a list of JSON objects, one per cell")
    shared.add_quiet(parser)
    parser.set_defaults(run=_simulate)


def _add_games(tune: Parser, resume: Parser) -> None:
    """The options of the commands that play games."""
    _add_parameter_file(tune)
    add = tune.add_argument
    add("--pairs", type=positive, metavar="N", default=1000, help="game pairs to play (default: %(default)s)")
    add("--method", choices=list(METHODS), default=DEFAULT, help="tuning method (default: %(default)s)")
    add("--engine", metavar="COMMAND", help="tune the UCI options of this engine instead of Merino")
    shared.add_evaluation(tune)
    add_options(tune, TimeControl, ("nodes", "depth", "movetime", "clock"))
    add_options(tune, MatchConfig, ("openings", "plies", "seed"))
    tune.set_defaults(openings=None, plies=None, seed=1)
    _add_ahead(tune, DEFAULT_AHEAD)
    sentence = "keep the tune in this file, from which the same command continues (default: FILE.tune.npz)"
    tune.group(shared.OUTPUT).add_argument("--state", type=file_path, metavar="FILE", help=sentence)
    tune.set_defaults(run=_tune)
    resume.add_argument("state", type=file_path, metavar="STATE", help="the file of the tune")
    resume.set_defaults(run=_resume)
    for parser in (tune, resume):
        parser.add_argument("--prove", action="store_true", help="then play the match that confirms the result")
        shared.add_concurrency(parser, "game pairs", cluster="play")
        shared.add_plot(parser, "the course of the tune")
        shared.add_json(parser, "at the end print one JSON object: parameters, games, and whether --prove proved them")
        shared.add_quiet(parser)


def _add_ahead(parser: Parser, default: int) -> None:
    sentence = "pairs under way; each is made without the results of the N - 1 before it (default: %(default)s)"
    parser.add_argument("--ahead", type=positive, metavar="N", default=default, help=sentence)


def _add_parameter_file(parser: Parser) -> None:
    sentence = "parameters as fishtest or OpenBench lines, or TOML"
    parser.add_argument("file", type=file_path, metavar="FILE", help=sentence)


def _add_methods(parser: Parser, usual: Sequence[str]) -> None:
    sentence = f"some of {', '.join(METHODS)} (default: {','.join(usual)})"
    default = [METHODS[name] for name in usual]
    parser.add_argument("--methods", type=_methods, metavar="NAME,NAME", default=default, help=sentence)


def _methods(text: str) -> list[Method]:
    for name in text.split(","):
        if name not in METHODS:
            raise argparse.ArgumentTypeError(
                f"there is no method '{name}' among {', '.join(METHODS)}{did_you_mean(name, METHODS)}"
            )
    return [METHODS[name] for name in text.split(",")]


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
    rows: list[dict[str, object]] = []
    for number, name in enumerate(dict.fromkeys(settings)):
        cells = []
        for size in args.parameters:
            for method in args.methods:
                _show_cell(args, f"{name}, {size} parameters, {method.name}")
                how = {"pairs": args.pairs, "runs": args.runs, "seed": args.seed, "ahead": args.ahead}
                try:
                    cells.append(simulate(method, SETTINGS[name], size, **how, at_a_time=args.concurrency))
                except MemoryError as error:
                    raise CommandError(f"spsa simulate: not enough memory for {size} parameters") from error
        _show_cell(args, "")
        rows += map(cell_json, cells)
        if not args.json:  # show the results so far, also after Ctrl-C or on a full disk
            print("\n".join([*([""] if number else []), *simulation_table(cells)]), flush=True)
    if args.json:
        print(json.dumps(rows, indent=1))
    return 0


def _show_cell(args: argparse.Namespace, text: str) -> None:
    """Show the cell that is simulated, on a terminal only."""
    if sys.stderr.isatty() and not args.quiet:
        print(f"\r{text:<60}", end="" if text else "\r", file=sys.stderr, flush=True)


def _plan(args: argparse.Namespace) -> int:
    parameters, _, _ = _parameters(args, "plan")
    tau = math.sqrt(FIRST_TAU2 if args.draw_ratio is None else 2 * (1 - args.draw_ratio))
    starts, at_c = np.array([row.elo for row in parameters]), np.array([row.elo_at_c for row in parameters])
    print(
        f"{counted(len(parameters), 'parameter')}; {starts.sum():.4g} Elo to gain, {at_c.sum():.4g} Elo lost by a "
        f"player with all of them displaced by c_end; deviation of a pair's result {tau:.3f}"
    )
    target = args.target or starts.sum() / 2
    if target >= starts.sum():
        print(f"No games are needed: the start is expected to lose no more than {starts.sum():.3g} Elo")
        return 0
    pairs = pairs_needed(target, starts, at_c, tau)
    print(f"{pairs} pairs of games ({2 * pairs} games) leave {loss_left(pairs, starts, at_c, tau):.3g} Elo to gain")
    if target > HOPELESS * starts.sum():
        print("So few pairs bring hardly any method a gain: play more, or tune fewer parameters")
    steps = [row.r_end or best_step(row, parameters, pairs) for row in parameters]
    print("\n".join(lines_of_both(parameters, [row.start for row in parameters], steps)))
    return 0


def _parameters(
    args: argparse.Namespace, command: str
) -> tuple[tuple[TunedParameter, ...], tuple[str, ...], Mapping[str, Any]]:
    """The parameters in the file, checked; the command line of an --engine; the identity of an evaluation without one.

    Raises UsageError, TuneError and EvaluationError.
    """
    engine: tuple[str, ...] = ()
    identity: Mapping[str, Any] = {}
    if args.engine:
        if args.weights or args.evalfile:
            raise UsageError(f"spsa {command}: --weights and --evalfile are for Merino, not for another --engine")
        engine = engine_command(args.engine, command)
        known: dict[str, Number] = engine_options(engine)
    else:
        evaluation = load_chosen(args.weights, args.evalfile)
        known, identity = own_parameters(evaluation), evaluation.identity
    parameters = tuple(read_file(args.file, known))
    check_tunable(parameters, known, args.engine or "")
    return parameters, engine, identity


def engine_command(text: str, command: str) -> tuple[str, ...]:
    """The command line of an engine, its program by its full path; raises UsageError."""
    try:
        words = command_of(text)
    except ValueError as error:
        raise UsageError(f"spsa {command}: '{text}': {error}") from error
    if not words:
        raise UsageError(f"spsa {command}: there is no program '{text}'")
    return words


def _tune(args: argparse.Namespace) -> int:
    """Begin a tune and play it, or continue it if the same command was interrupted."""
    path = args.state or args.file.parent / f"{args.file.stem}.tune.npz"
    parameters, engine, identity = _parameters(args, "tune")
    if not METHODS[args.method].always_differ:
        for sentence in rounding_warnings(parameters):
            _remark(args, f"Warning: {sentence}")
    try:
        openings = None if args.openings is None else path_of_openings(args.openings)
    except OSError as error:
        raise UsageError(f"spsa tune: cannot read openings '{args.openings}': {error.strerror}") from error
    configuration = Configuration(
        parameters=parameters,
        method=args.method,
        pairs=args.pairs,
        seed=args.seed,
        ahead=args.ahead,
        time_control=time_control(args),
        openings=openings,
        plies=args.plies,
        margin=DEFAULT_MARGIN_MS,
        identity=identity,
        engine=engine,
    )
    with holding_output(path, "spsa"):
        if is_there(path):
            return _continue(load_tune(path, configuration), path, args)
        file = _evaluation_file(path, configuration)
        if needs_file(configuration) and is_there(file):
            raise UsageError(f"spsa tune: the tuned evaluation would replace '{file}'; name another --state")
        check_openings(configuration)  # or its file would refuse the tune with the right ones
        return _play(Tune.new(configuration), path, args)


def _resume(args: argparse.Namespace) -> int:
    """Continue an interrupted tune by its file alone."""
    with holding_output(args.state, "spsa"):
        return _continue(load_tune(args.state), args.state, args)


def _continue(tune: Tune, path: Path, args: argparse.Namespace) -> int:
    _remark(args, f"Continuing after {len(tune.done)} of {counted(tune.configuration.pairs, 'pair')}.")
    return _play(tune, path, args)


def _replay(args: argparse.Namespace) -> int:
    """Print the result of each method on the games of a tune."""
    tune = load_tune(args.state)
    check_apart([args.plot], [args.state], "spsa")
    check_picture(args.plot, "spsa")
    for method in args.methods:
        settings = tune.configuration.settings(method)
        _, state = deque(replay(tune, settings), maxlen=1)[0]  # the last one
        lines = value_table(tune.configuration.parameters, settings, state)
        print("\n".join([f"{method.name} after {counted(len(tune.done) - tune.lost, 'pair')}:", *lines]), flush=True)
    if args.plot:
        write_picture(args.plot, draw(tune, args.methods[0], ending_of(args.plot)), "spsa")
    return 0


def _play(tune: Tune, path: Path, args: argparse.Namespace) -> int:
    """Play to the end or until Ctrl-C, and print the result so far, however the games ended; 130 after Ctrl-C."""
    _check_targets(tune, path, args.plot)
    _write_state(tune, path)
    needs = Needs(programs=tune.configuration.engine[:1])
    with cluster_executor(args.cluster, "spsa", lambda line: _remark(args, line), needs) as executor:
        at_a_time, ahead = args.concurrency or cores(), tune.configuration.ahead
        slots = at_a_time if executor is None else executor.slots
        if slots > ahead:
            _remark(args, f"{slots} pairs could be played at a time; --ahead {2 * slots} lets a new tune do so.")
        interrupted, fault = play_pairs(tune, path, at_a_time, lambda line: _remark(args, line), executor)
        if interrupted and not fault:
            _remark(args, f"Interrupted after {counted(len(tune.done), 'pair')}; to continue: {_resume_words(path)}")
        _say(args, "\n".join(result_lines(tune)))
        if fault:
            raise fault
        tuned = None if interrupted else _conclude(tune, path, args)
        if args.plot:
            write_picture(args.plot, draw(tune, METHODS[tune.configuration.method], ending_of(args.plot)), "spsa")
        proved = None
        if tuned and args.prove:
            interrupted, proved = _prove(tuned, tune.configuration, args, executor)
    if args.json:
        print(json.dumps(tune_json(tune, proved)), flush=True)
    return INTERRUPTED if interrupted else 0


def play_pairs(
    tune: Tune, path: Path, concurrency: int, remark: Callable[[str], object], executor: RemoteExecutor | None
) -> tuple[bool, CommandError | None]:
    """Play, and keep the file up to date; whether it was interrupted, and the error that ended it, if any."""
    progress, saved = progress_of(remark), time.monotonic()

    def note(now: Tune) -> None:
        nonlocal saved
        progress(now)
        if time.monotonic() - saved >= SAVE_EVERY:
            _write_state(now, path)
            saved = time.monotonic()

    interrupted, fault = False, None
    try:
        play_tune(tune, concurrency, note, executor=executor)
    except KeyboardInterrupt:
        interrupted = True
    except (OpeningError, FenError, MatchError, TuneError, WorkError) as error:
        fault = CommandError(f"spsa: {error}")
    except CommandError as error:
        fault = error
    try:
        _write_state(tune, path)
    except CommandError as error:
        fault = fault or error
    return interrupted, fault


def _conclude(tune: Tune, path: Path, args: argparse.Namespace) -> tuple[Player, Player]:
    """Write the tuned evaluation and print how to confirm it by a match; the players of that match."""
    configuration = tune.configuration
    file = _evaluation_file(path, configuration)
    tuned, start = tuned_players(tune)
    if isinstance(tuned, OwnPlayer) and needs_file(configuration):
        is_tuned = bool(kept(configuration))
        notes = [f"Tuned by {configuration.method} in {counted(len(tune.done), 'pair')} of games"] if is_tuned else []
        with writing(CommandError, file, "spsa: "):
            tuned.evaluation.save(file, notes)
        _say(args, f"The {'tuned ' if is_tuned else ''}evaluation is in '{file}'")
    player = as_player(configuration, tuned_values(tune).tolist(), file)
    _say(args, f"As a player of 'merino match': {shlex.quote(player)}")
    _remark(args, f"To confirm it by {PROOF} against the values at the start: {_resume_words(path)} --prove")
    return tuned, start


def _resume_words(path: Path) -> str:
    """The command that continues the tune in this file."""
    return f"merino spsa resume {as_word(path)}"


def _prove(
    players: tuple[Player, Player],
    configuration: Configuration,
    args: argparse.Namespace,
    executor: RemoteExecutor | None,
) -> tuple[bool, bool | None]:
    """Play the tuned values against the start until the test is decided, or no opening is left.

    Whether it was interrupted, and whether the tuned values are stronger, None if that is not decided.
    """
    terms = proof_terms(configuration, players)
    with LivePrinter(shared.progress_stream(args.quiet)) as show:
        result = run_match(terms, args.concurrency or cores(), PROOF, MatchOutput(show), executor)
    _say(args, live_line(result.tally, terms.games, None, PROOF))
    sentence, proved = {
        "H0": ("no change proved: keep the values at the start", False),
        "H1": ("confirmed: the tuned values are stronger", True),
        "": ("not decided", None),
    }[PROOF.verdict(result.tally.counts)]
    _say(args, f"{PROOF}: {sentence}")
    return result.interrupted, proved


def _remark(args: argparse.Namespace, line: str) -> None:
    """Print a remark."""
    if not args.quiet:
        _say(args, line)


def _say(args: argparse.Namespace, line: str) -> None:
    """Print a line for people: with --json on standard error."""
    print(line, flush=True, file=sys.stderr if args.json else sys.stdout)


def _write_state(tune: Tune, path: Path) -> None:
    with writing(CommandError, path, "spsa: ", "; the earlier file is intact"):
        tune.save(path)


def _check_targets(tune: Tune, path: Path, plot: Path | None) -> None:
    """Raise CommandError before the games if the files cannot be written."""
    check_output(path, "spsa")
    results: dict[str, Path] = {"picture": plot} if plot else {}
    if needs_file(tune.configuration):
        results["tuned evaluation"] = file = _evaluation_file(path, tune.configuration)
        check_output(file, "spsa")
    check_picture(plot, "spsa")
    for what, file in results.items():
        if real_path(file) == real_path(path):
            raise UsageError(f"spsa: the {what} would replace the tune in '{path}'; give the tune another ending")


def _evaluation_file(path: Path, configuration: Configuration) -> Path:
    """Where the evaluation of the tuned player of the tune in `path` is written."""
    is_net = not configuration.engine and not configuration.evaluation.has_terms
    return path.with_suffix(".net" if is_net else ".txt")
