"""`merino spsa tune`, `resume` and `replay`: tuning by games that are played."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from merino.app.console.shared_options import cluster_executor, progress_stream
from merino.app.shell.output_files import (
    check_apart,
    check_output,
    check_picture,
    ending_of,
    holding_output,
    write_picture,
)
from merino.core.board.fen import FenError
from merino.core.common.about import NAME
from merino.core.common.command import CommandError, UsageError
from merino.core.common.files import writing
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.terminal import LivePrinter
from merino.core.common.text import as_word, counted
from merino.core.common.user_files import is_there, real_path
from merino.core.common.work import Needs, RemoteExecutor, WorkError, cores
from merino.eval.families import load_chosen
from merino.formats.openings import OpeningError
from merino.lab.tune.methods import METHODS
from merino.lab.tune.parameters import (
    TuneError,
    check_known,
    check_scale,
    own_parameters,
    read_file,
    rounding_warnings,
)
from merino.lab.tune.playing import (
    PROOF,
    as_player,
    check_openings,
    check_options,
    check_own,
    engine_options,
    needs_file,
    play_tune,
    proof_terms,
    tuned_players,
    tuned_values,
    tunes_file,
)
from merino.lab.tune.report import TuneProgress, draw, result_lines, tune_json, value_table
from merino.lab.tune.tuning import Configuration, Tune, load_tune, path_of_openings, replay
from merino.match.config import DEFAULT_MARGIN_MS, TimeControl
from merino.match.games import MatchError
from merino.match.players import OwnPlayer, Player, command_of
from merino.match.report import live_line
from merino.match.runner import MatchOutput, run_match

SAVE_EVERY = 30.0  # seconds
DEFAULT_AHEAD = 32  # pairs under way, whoever plays them, so that a tune depends on its seed alone


def tune_new(args: argparse.Namespace) -> int:
    """Begin a tune and play it, or continue it if the same command was interrupted."""
    path = args.state or args.file.parent / f"{args.file.stem}.tune.npz"
    configuration = _configuration(args)
    with holding_output(path, "spsa"):
        return _begin(configuration, path, args)


def _begin(configuration: Configuration, path: Path, args: argparse.Namespace) -> int:
    if is_there(path):
        return _continue(load_tune(path, configuration), path, args)
    file = _evaluation_file(path, configuration)
    if needs_file(configuration) and is_there(file):
        raise UsageError(f"spsa tune: the tuned evaluation would replace '{file}'; name another --state")
    check_openings(configuration)  # or its file would refuse the tune with the right ones
    return _play(Tune.new(configuration), path, args)


def _configuration(args: argparse.Namespace) -> Configuration:
    """The configuration asked for; raises UsageError, TuneError and EvaluationError."""
    engine = engine_asked_for(args, "tune") if args.engine else ()
    evaluation = None if engine else load_chosen(args.weights, args.evalfile)
    known = own_parameters(evaluation) if evaluation else engine_options(engine)
    parameters = tuple(read_file(args.file, known))
    check_known(parameters, known, f"the engine '{args.engine}'" if engine else NAME)
    (check_options if engine else check_own)(parameters)
    check_scale(parameters)
    for sentence in rounding_warnings(parameters, METHODS[args.method].always_differ):
        _remark(args, f"Warning: {sentence}")
    return Configuration(
        parameters=parameters,
        method=args.method,
        pairs=args.pairs,
        seed=args.seed,
        ahead=args.ahead,
        time_control=TimeControl(args.nodes, args.depth, args.movetime, args.tc).or_default(),
        openings=_openings(args.openings),
        plies=args.plies,
        margin=DEFAULT_MARGIN_MS,
        identity=evaluation.identity if evaluation else {},
        engine=engine,
    )


def _openings(name: str | None) -> str | None:
    """The absolute path of the file of openings; raises UsageError."""
    try:
        return None if name is None else path_of_openings(name)
    except OSError as error:
        raise UsageError(f"spsa tune: cannot read openings '{name}': {error.strerror}") from error


def engine_asked_for(args: argparse.Namespace, command: str) -> tuple[str, ...]:
    """The command line of --engine; raises UsageError, also beside an evaluation, which is Merino's."""
    if args.weights or args.evalfile:
        raise UsageError(f"spsa {command}: --weights and --evalfile are for Merino, not for another --engine")
    return engine_command(args.engine, command)


def engine_command(text: str, command: str) -> tuple[str, ...]:
    """The command line of an engine, its program by its full path; raises UsageError."""
    try:
        words = command_of(text)
    except ValueError as error:
        raise UsageError(f"spsa {command}: '{text}': {error}") from error
    if not words:
        raise UsageError(f"spsa {command}: there is no program '{text}'")
    return words


def tune_on(args: argparse.Namespace) -> int:
    """Continue an interrupted tune, whose file says all about it."""
    with holding_output(args.state, "spsa"):
        return _continue(load_tune(args.state), args.state, args)


def _continue(tune: Tune, path: Path, args: argparse.Namespace) -> int:
    _remark(args, f"Continuing after {len(tune.done)} of {counted(tune.configuration.pairs, 'pair')}.")
    return _play(tune, path, args)


def replay_games(args: argparse.Namespace) -> int:
    """Print the result of each method on the games of a tune."""
    tune = load_tune(args.state)
    check_apart([args.plot], [args.state], "spsa")
    check_picture(args.plot, "spsa")
    for method in args.methods:
        settings = tune.configuration.settings(method)
        _, state = deque(replay(tune, settings), maxlen=1)[0]  # the last one
        _tell(f"{method.name.lower()} after {counted(len(tune.done) - tune.lost, 'pair')}:")
        for line in value_table(tune.configuration.parameters, settings, state):
            _tell(line)
    if args.plot:
        write_picture(args.plot, draw(tune, args.methods[0], ending_of(args.plot)), "spsa")
    return 0


def _play(tune: Tune, path: Path, args: argparse.Namespace) -> int:
    """Play to the end or until Ctrl-C, and print the result so far, however the games ended; 130 after Ctrl-C."""
    _check_targets(tune, path, args.plot)
    _write_state(tune, path)
    needs = Needs(programs=tune.configuration.engine[:1])
    with cluster_executor(args.cluster, "spsa", lambda line: _remark(args, line), needs) as executor:
        return _play_on(tune, path, args, executor)


def _play_on(tune: Tune, path: Path, args: argparse.Namespace, executor: RemoteExecutor | None) -> int:
    """The same with this executor, None for threads of this process."""
    _tell_of_staleness(tune, args, executor)
    interrupted, fault = play_pairs(tune, path, _concurrency(args), lambda line: _remark(args, line), executor)
    if interrupted and not fault:
        _remark(args, f"Interrupted after {counted(len(tune.done), 'pair')}; to continue: {_resume(path)}")
    method = METHODS[tune.configuration.method]
    for line in result_lines(tune, method, tune.settings, tune.state):
        _say(args, line)
    if fault:
        raise fault
    tuned = None if interrupted else _conclude(tune, path, args)
    if args.plot:
        write_picture(args.plot, draw(tune, method, ending_of(args.plot)), "spsa")
    proved = None
    if tuned and args.prove:
        interrupted, proved = _prove(tuned, tune.configuration, args, executor)
    if args.json:
        _tell(json.dumps(tune_json(tune, proved)))
    return INTERRUPTED if interrupted else 0


def _tell_of_staleness(tune: Tune, args: argparse.Namespace, executor: RemoteExecutor | None) -> None:
    """Say how old the estimates are that pairs are made from, and whether there is enough work for all."""
    ahead = tune.configuration.ahead
    _remark(args, f"Up to {ahead} pairs are under way: each is made without the results of the {ahead - 1} before it.")
    at_a_time = _concurrency(args) if executor is None else executor.slots
    if at_a_time > ahead:
        _remark(args, f"{at_a_time} could be played at a time; --ahead {2 * at_a_time} lets a new tune do so.")


def _concurrency(args: argparse.Namespace) -> int:
    return args.concurrency or cores()


def play_pairs(
    tune: Tune, path: Path, concurrency: int, remark: Callable[[str], object], executor: RemoteExecutor | None
) -> tuple[bool, CommandError | None]:
    """Play, and keep the file up to date; whether it was interrupted, and the error that ended it, if any."""
    progress, saved = TuneProgress(remark), [time.monotonic()]

    def note(now: Tune) -> None:
        progress(now)
        if time.monotonic() - saved[0] >= SAVE_EVERY:
            _write_state(now, path)
            saved[0] = time.monotonic()

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
        is_tuned = tunes_file(configuration)
        notes = [f"Tuned by {configuration.method} in {counted(len(tune.done), 'pair')} of games"] if is_tuned else []
        with writing(CommandError, file, "spsa: "):
            tuned.evaluation.save(file, notes)
        what = "tuned evaluation" if is_tuned else "evaluation"
        _say(args, f"The {what} is in '{file}'")
    player = as_player(configuration, tuned_values(tune).tolist(), file)
    _say(args, f"As a player of 'merino match': {shlex.quote(player)}")
    _remark(args, f"To confirm it by {PROOF} against the values at the start: {_resume(path)} --prove")
    return tuned, start


def _resume(path: Path) -> str:
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
    with LivePrinter(progress_stream(args.quiet)) as show:
        result = run_match(terms, _concurrency(args), PROOF, MatchOutput(show), executor)
    counts = result.tally.counts
    _say(args, live_line(result.tally, terms.games, None, PROOF))
    said = {
        "H0": "no change proved: keep the values at the start",
        "H1": "confirmed: the tuned values are stronger",
        "": "not decided",
    }
    verdict = PROOF.verdict(counts)
    _say(args, f"{PROOF}: {said[verdict]}")
    return result.interrupted, {"H0": False, "H1": True}.get(verdict)


def _remark(args: argparse.Namespace, line: str) -> None:
    """Print a remark."""
    if not args.quiet:
        _say(args, line)


def _say(args: argparse.Namespace, line: str) -> None:
    """Print a line for people: with --json on standard error."""
    print(line, flush=True, file=sys.stderr if args.json else sys.stdout)


def _tell(line: str) -> None:
    print(line, flush=True)


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
