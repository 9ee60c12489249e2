"""`merino spsa ...`: tune parameters by games, simulate tunes, plan one, scan a parameter."""

import argparse
import json
import math
import shlex
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from merino.app.console import shared
from merino.app.shell.match import time_control
from merino.core.common import errors, files, interrupt, options, terminal, work
from merino.core.common.command import UsageError, errors_named
from merino.core.common.text import counted
from merino.eval.families import load_chosen
from merino.formats.sources import LeftOut
from merino.lab import pictures
from merino.lab.tune import parameters, rules, simulator, tuning
from merino.lab.tune.methods import METHODS
from merino.lab.tune.parameters import TunedParameter, TuneError
from merino.lab.tune.scan import add_scan
from merino.lab.tune.tuning import Configuration, Tune, load_tune
from merino.match import config, report, runner
from merino.match.players import OwnPlayer, Player, command_of

Say = Callable[[str], object]

SAVE_EVERY = 30.0  # seconds
MAX_PARAMETERS = 1000  # of a simulation
ALL = "all"  # settings


def _methods(text: str) -> tuple[str, ...]:
    return tuple(map(tuning.method_named, text.split(",")))


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(map(errors.whole_in, text.split(",")))
    if not all(0 < size <= MAX_PARAMETERS for size in sizes):
        raise ValueError(f"'{text[:40]}' are not numbers of parameters, each at most {MAX_PARAMETERS}, such as 4,16")
    return sizes


def _setting(text: str) -> str:
    known = (*simulator.SETTINGS, ALL)
    if text not in known:
        raise argparse.ArgumentTypeError(f"there is no setting '{text}' among {', '.join(known)}")
    return text


_SOME = f"some of {', '.join(METHODS)}"


@dataclass(frozen=True)
class Simulation:
    """What `simulate` plays in each setting."""

    methods: Annotated[
        tuple[str, ...], _SOME, options.Option("NAME,NAME", read=_methods, default=",".join(simulator.PAPER))
    ] = tuple(simulator.PAPER)
    parameters: Annotated[
        tuple[int, ...], "numbers of parameters", options.Option("N,N", read=_sizes, default="1,4,16,64")
    ] = simulator.SIZES
    pairs: Annotated[int, "game pairs per run", options.Option("N", 1)] = simulator.PAIRS
    runs: Annotated[int, "runs per cell", options.Option("N", 2)] = simulator.RUNS
    ahead: Annotated[int, tuning.AHEAD_SENTENCE, tuning.AHEAD] = 1
    seed: Annotated[int, "seed of all random numbers", options.Option("N")] = 1


def run_spsa(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it ran; raises MerinoError."""
    args = spsa_parser().parse_args(list(arguments))
    with errors_named(f"spsa {args.command}"):
        code: int = args.run(args)
    return code


def spsa_parser() -> shared.Parser:
    """The parser of all its commands."""
    parser = shared.Parser(
        prog="merino spsa",
        description="Tune parameters by games (SPSA and Bayesian variants), scan one, simulate or plan a tune.",
        notes="'merino spsa COMMAND -h' explains a command.",
        examples=("merino spsa plan mine.toml --target 1", "merino spsa tune mine.toml --pairs 5000 --prove"),
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Callable[..., int] | None, name: str, sentence: str, *examples: str) -> shared.Parser:
        line = sentence[:1].lower() + sentence[1:-1]
        found: shared.Parser = commands.add_parser(name, help=line, description=sentence, examples=examples)
        found.set_defaults(run=run, command=name)
        return found

    simulate = command(
        _simulate,
        "simulate",
        "Compare the tuning methods on simulated strength curves.",
        "merino spsa simulate",
        "merino spsa simulate S2 --parameters 4,16 --methods bspsa,adaptive --pairs 20000",
    )
    sentence = f"{', '.join(simulator.SETTINGS)}, {ALL} (default: {simulator.SETTING})"
    simulate.add_argument(
        "settings", nargs="*", type=_setting, default=[simulator.SETTING], metavar="SETTING", help=sentence
    )
    options.add_options(simulate, Simulation)
    shared.add_concurrency(simulate, "runs")
    shared.add_report(simulate, "print a list of JSON objects, one per cell")

    tune = command(
        _tune,
        "tune",
        "Tune the parameters of a file by games of Merino against itself.",
        "merino spsa tune mine.toml --pairs 5000 --nodes 1000",
        "merino spsa tune options.txt --engine stash-bot --tc 8+0.08",
    )
    _add_parameters(tune, "; or FILE.tune.npz, to continue a tune by its file alone")
    options.add_options(tune, Configuration)
    options.add_options(tune, config.TimeControl, ("nodes", "depth", "movetime", "clock"))
    options.add_options(tune, config.MatchConfig, ("openings", "plies", "seed"))
    sentence = "keep the tune in this file, from which the same command continues (default: FILE.tune.npz)"
    tune.group(shared.OUTPUT).add_argument("--state", type=shared.file_path, metavar="FILE", help=sentence)
    tune.add_argument("--prove", action="store_true", help="then play the match that confirms the result")
    shared.add_concurrency(tune, "game pairs", cluster="play")
    shared.add_report(tune, "at the end print one JSON object: parameters, games, and whether --prove proved them")
    again = command(
        _replay,
        "replay",
        "Apply each method to the games of a tune, and draw its course.",
        "merino spsa replay mine.tune.npz --methods spsa,bspsa --plot course.svg",
    )
    again.add_argument("state", type=shared.file_path, metavar="STATE", help="the file of the tune")
    sentence = f"{_SOME} (default: all)"
    again.add_argument(
        "--methods", type=shared.of(_methods), default=tuple(METHODS), metavar="NAME,NAME", help=sentence
    )
    pictures.add_plot(again, "the course of the first method")

    sentence = "Play many values of one weight or search parameter against a fixed one: Elo by value, and its optima."
    scan = command(
        None, "scan", sentence, "merino spsa scan RookOpen_mg --values -40,-20,0,20,40,60 --games 400 --state rook"
    )
    add_scan(scan)
    plan = command(
        _plan,
        "plan",
        "Compute how many game pairs a tune needs, and print its parameters for fishtest and OpenBench.",
        "merino spsa plan mine.toml --target 1",
    )
    _add_parameters(plan, "")
    sentence = "Elo that may still be missing at the end (default: half of what is missing at the start)"
    plan.add_argument("--target", type=shared.number_above_zero, metavar="ELO", help=sentence)
    return parser


def _add_parameters(parser: shared.Parser, more: str) -> None:
    """The file of parameters, and whose they are."""
    sentence = f"parameters as fishtest or OpenBench lines, or TOML{more}"
    parser.add_argument("file", type=shared.file_path, metavar="FILE", help=sentence)
    parser.add_argument("--engine", metavar="COMMAND", help="tune the UCI options of this engine instead of Merino")
    shared.add_evaluation(parser)


def _simulate(args: argparse.Namespace) -> int:
    asked, rows = Simulation(**options.given(vars(args), Simulation)), list[dict[str, Any]]()
    how = {"pairs": asked.pairs, "runs": asked.runs, "seed": asked.seed, "ahead": asked.ahead}
    settings = simulator.SETTINGS if ALL in args.settings else dict.fromkeys(args.settings)
    with terminal.LivePrinter(shared.progress_stream(args.quiet)) as show:
        for number, name in enumerate(settings):
            cells = []
            for size in asked.parameters:
                for method in asked.methods:
                    show(f"{name}, {counted(size, 'parameter')}, {method}")
                    setting = simulator.SETTINGS[name]
                    cells.append(simulator.simulate(METHODS[method], setting, size, **how, at_a_time=args.concurrency))
            show.wipe()
            rows += map(simulator.cell_json, cells)
            if not args.json:  # show the results so far, also after Ctrl-C or on a full disk
                print("\n".join([*([""] if number else []), *simulator.simulation_table(cells)]), flush=True)
    if args.json:
        print(json.dumps(rows, indent=1))
    return 0


def _plan(args: argparse.Namespace) -> int:
    rows, _, _ = _parameters(args)
    starts, at_c = np.array([row.elo for row in rows]), np.array([row.elo_at_c for row in rows])
    target, tau = args.target or starts.sum() / 2, math.sqrt(rules.FIRST_TAU2)
    print(
        f"{counted(len(rows), 'parameter')}; {starts.sum():.4g} Elo to gain, {at_c.sum():.4g} Elo lost by a player "
        "with all of them displaced by c_end"
    )
    if target >= starts.sum():
        print(f"No games are needed: the start is expected to lose no more than {starts.sum():.3g} Elo")
        return 0
    pairs = parameters.pairs_needed(target, starts, at_c, tau)
    left = parameters.loss_left(pairs, starts, at_c, tau)
    print(f"{pairs} pairs of games ({2 * pairs} games) leave {left:.3g} Elo to gain")
    steps = [row.r_end or parameters.best_step(row, rows, pairs) for row in rows]
    print("\n".join(parameters.lines_of_both(rows, [row.start for row in rows], steps)))
    return 0


def _parameters(args: argparse.Namespace) -> tuple[tuple[TunedParameter, ...], tuple[str, ...], Mapping[str, Any]]:
    """The parameters in the file, checked; the command line of an --engine; the identity of an evaluation without one.

    Raises UsageError, TuneError and EvaluationError.
    """
    engine: tuple[str, ...] = ()
    identity: Mapping[str, Any] = {}
    if args.engine:
        if args.weights or args.evalfile:
            raise UsageError("--weights and --evalfile are for Merino, not for another --engine")
        engine = engine_command(args.engine)
        known = tuning.engine_options(engine)
    else:
        evaluation = load_chosen(args.weights, args.evalfile)
        known, identity = parameters.own_parameters(evaluation), evaluation.identity
    rows = tuple(parameters.read_file(args.file, known))
    parameters.check_tunable(rows, known, args.engine or "")
    return rows, engine, identity


def engine_command(text: str) -> tuple[str, ...]:
    """The command line of an engine, its program by its full path; raises UsageError."""
    with errors.turning(ValueError, UsageError, f"'{text}': "):
        words = command_of(text)
    if not words:
        raise UsageError(f"there is no program '{text}'")
    return words


def _tune(args: argparse.Namespace) -> int:
    """Begin a tune and play it, or continue it if the same command was interrupted, or by its file alone."""
    if args.file.suffix == ".npz":
        with shared.holding_output(args.file):
            return _play(load_tune(args.file), args.file, args, LeftOut())
    path = args.state or args.file.parent / f"{args.file.stem}.tune.npz"
    rows, engine, identity = _parameters(args)
    asked = options.given(vars(args), Configuration) | options.given(
        vars(args), config.MatchConfig, ("openings", "plies", "seed")
    )
    if (name := asked.get("openings")) is not None:
        with files.reading(UsageError, f"openings '{name}'"):
            asked["openings"] = tuning.path_of_openings(name)
    wanted = Configuration(
        rows,
        **asked,
        time_control=time_control(args),
        margin=config.DEFAULT_MARGIN_MS,
        identity=identity,
        engine=engine,
    )
    with shared.holding_output(path):
        if files.is_there(path):
            return _play(load_tune(path, wanted), path, args, LeftOut())
        file = _evaluation_file(path, wanted)
        if wanted.needs_file and files.is_there(file):
            raise UsageError(f"the tuned evaluation would replace '{file}'; name another --state")
        left_out = tuning.check_openings(wanted)  # or its file would refuse the tune with the right ones
        shared.say_left_out(left_out, args.quiet)
        return _play(Tune.new(wanted), path, args, left_out)


def _replay(args: argparse.Namespace) -> int:
    """Print the result of each method on the games of a tune."""
    tune = load_tune(args.state)
    shared.check_apart([args.plot], [args.state])
    pictures.check_picture(args.plot)
    for name in args.methods:
        settings = tune.configuration.settings(METHODS[name])
        _, state = deque(tuning.replay(tune, settings), maxlen=1)[0]  # the last one
        lines = tuning.value_table(tune.configuration.parameters, settings, state)
        print("\n".join([f"{name} after {counted(len(tune.done) - tune.lost, 'pair')}:", *lines]), flush=True)
    if args.plot:
        pictures.write_picture(args.plot, tuning.draw(tune, METHODS[args.methods[0]], pictures.ending_of(args.plot)))
    return 0


def _play(tune: Tune, path: Path, args: argparse.Namespace, left_out: LeftOut) -> int:
    """Play to the end or until Ctrl-C, and print the result so far, however the games ended; 130 after Ctrl-C."""
    say = shared.for_people(args.json)
    remark, done = shared.unless_quiet(say, args.quiet), len(tune.done)
    if done:
        remark(f"Continuing after {done} of {counted(tune.configuration.pairs, 'pair')}.")
    if tune.configuration.needs_file:
        shared.check_output(file := _evaluation_file(path, tune.configuration))
        shared.check_apart([file, path], [])
    _write_state(tune, path)
    needs, proved = work.Needs(programs=tune.configuration.engine[:1]), None
    with shared.cluster_executor(args.cluster, remark, needs) as executor:
        at_a_time, ahead = args.concurrency or work.cores(), tune.configuration.ahead
        slots = at_a_time if executor is None else executor.slots
        if slots > ahead:
            remark(f"{slots} pairs could be played at a time; --ahead {2 * slots} lets a new tune do so.")
        interrupted, fault = play_pairs(tune, path, at_a_time, args.quiet, executor)
        if interrupted and not fault:
            remark(f"Interrupted after {counted(len(tune.done), 'pair')}; the same command continues from '{path}'.")
        say("\n".join(tuning.result_lines(tune)))
        if fault:
            raise fault
        if not interrupted:
            players = _conclude(tune, path, say)
            if args.prove:
                interrupted, proved = _prove(players, tune.configuration, args, executor)
            else:
                remark(f"To confirm it by {tuning.PROOF} against the start: the same command with --prove")
    if args.json:
        print(json.dumps(tuning.tune_json(tune, proved) | left_out.as_json()), flush=True)
    return interrupt.INTERRUPTED if interrupted else 0


def play_pairs(
    tune: Tune, path: Path, concurrency: int, is_quiet: bool, executor: work.RemoteExecutor | None
) -> tuple[bool, errors.MerinoError | None]:
    """Play, and keep the file up to date; whether it was interrupted, and the error that ended it, if any."""
    interrupted, saved = False, time.monotonic()
    fault: errors.MerinoError | None = None

    def note(now: Tune) -> None:
        nonlocal saved
        progress("Tuning", len(now.done) / now.configuration.pairs)
        if time.monotonic() - saved >= SAVE_EVERY:
            _write_state(now, path)
            saved = time.monotonic()

    try:
        with terminal.Progress(shared.progress_stream(is_quiet)) as progress:
            tuning.play_tune(tune, concurrency, note, executor=executor)
    except KeyboardInterrupt:
        interrupted = True
    except errors.MerinoError as error:
        fault = error
    try:
        _write_state(tune, path)
    except TuneError as error:
        fault = fault or error
    return interrupted, fault


def _conclude(tune: Tune, path: Path, say: Say) -> tuple[Player, Player]:
    """Write the tuned evaluation and print it as a player; the players of the match that would confirm it."""
    configuration = tune.configuration
    file = _evaluation_file(path, configuration)
    values = tuning.tuned_values(tune)
    tuned, start = tuning.players_of(configuration, values, configuration.start)
    if isinstance(tuned, OwnPlayer) and configuration.needs_file:
        is_tuned = bool(configuration.kept)
        notes = [f"Tuned by {configuration.method} in {counted(len(tune.done), 'pair')} of games"] if is_tuned else []
        with files.writing(TuneError, file):
            tuned.evaluation.save(file, notes)
        say(f"The {'tuned ' if is_tuned else ''}evaluation is in '{file}'")
    player = tuning.as_player(configuration, values.tolist(), file)
    say(f"As a player of 'merino match': {shlex.quote(player)}")
    return replace(tuned, label="tuned"), replace(start, label="start")


def _prove(
    players: tuple[Player, Player],
    configuration: Configuration,
    args: argparse.Namespace,
    executor: work.RemoteExecutor | None,
) -> tuple[bool, bool | None]:
    """Play the tuned values against the start until the test is decided, or no opening is left.

    Whether it was interrupted, and whether the tuned values are stronger, None if that is not decided.
    """
    terms, say, proof = tuning.proof_terms(configuration, players), shared.for_people(args.json), tuning.PROOF
    with terminal.LivePrinter(shared.progress_stream(args.quiet)) as show:
        result = runner.run_match(terms, args.concurrency or work.cores(), proof, runner.MatchOutput(show), executor)
    say(report.live_line(result.tally, terms.games, None, proof))
    sentence, proved = {
        "H0": ("no change proved: keep the values at the start", False),
        "H1": ("confirmed: the tuned values are stronger", True),
        "": ("not decided", None),
    }[proof.verdict(result.tally.counts)]
    say(f"{proof}: {sentence}")
    return result.interrupted, proved


def _write_state(tune: Tune, path: Path) -> None:
    with files.writing(TuneError, path, after="; the earlier file is intact"):
        tune.save(path)


def _evaluation_file(path: Path, configuration: Configuration) -> Path:
    """Where the evaluation of the tuned player of the tune in `path` is written."""
    is_net = not configuration.engine and not configuration.evaluation.has_terms
    return path.with_suffix(".net" if is_net else ".txt")
