"""`merino spsa arena`: methods of tuning compared on real engines whose numbers were set wrong on purpose."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path
from merino.app.shell.match_options import remarks
from merino.app.shell.output_files import holding_output, make_folder
from merino.core.common.errors import MerinoError
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.sealed import finite
from merino.core.common.terminal import LivePrinter
from merino.core.common.user_files import is_there
from merino.core.common.work import cores
from merino.eval.evaluation import Number
from merino.eval.families import default
from merino.lab.tune.arena import Arena, Check, arena_table, checks, read_arena, standings, tune_name
from merino.lab.tune.parameters import own_parameters
from merino.lab.tune.playing import engine_options
from merino.lab.tune.tune_command import engine_command, play_pairs
from merino.lab.tune.tuning import Configuration, Tune, load_tune
from merino.match.runner import MatchOutput, run_match


def add_arena(parser: Parser) -> None:
    """The options of the command."""
    parser.add_argument("file", type=file_path, metavar="FILE", help="the cases, in TOML")
    shared.add_state(parser, "FOLDER", "NAME.arena beside a file NAME.toml")
    shared.add_concurrency(parser, "games")
    shared.add_json(parser, "print one JSON object: the Elo left by case, method and games")
    shared.add_quiet(parser)
    parser.set_defaults(run=arena)


def arena(args: argparse.Namespace) -> int:
    """Play what is not yet in the folder, and print the table so far, however it ends: 0, or 130 after Ctrl-C.

    Raises MerinoError.
    """
    folder = args.state or args.file.parent / f"{args.file.stem}.arena"
    found = read_arena(args.file, _known)
    make_folder(folder, "spsa arena")
    results: list[tuple[Check, np.ndarray]] = []
    try:
        played = checks(found, lambda check, wanted: _tuned(args, folder, check, wanted))
        results.extend((check, _played(args, folder, check)) for check in played)  # after Ctrl-C it has those so far
    except KeyboardInterrupt:
        remarks(args)(f"Interrupted; the same command continues from '{folder}'.")
        _show(args, found, results)
        return INTERRUPTED
    except MerinoError:
        if results:
            _show(args, found, results)
        raise
    _show(args, found, results)
    return 0


def _known(engine: str) -> tuple[tuple[str, ...], Mapping[str, Number], Mapping[str, Any]]:
    """The command, numbers and identity of an engine, of Merino for an empty one."""
    if not engine:
        return (), own_parameters(default()), default().identity
    command = engine_command(engine, "arena")
    return command, engine_options(command), {}


def _tuned(args: argparse.Namespace, folder: Path, check: Check, wanted: Configuration) -> Tune:
    """Play a tune to its end."""
    path = folder / f"{tune_name(check)}.npz"
    with holding_output(path, "spsa arena"):
        tune = load_tune(path, wanted) if is_there(path) else Tune.new(wanted)
        if not tune.is_over:
            remarks(args)(f"{tune_name(check)}: {len(tune.done)} of {wanted.pairs} pairs")
            interrupted, fault = play_pairs(tune, path, args.concurrency or cores(), remarks(args), None)
            if fault:
                raise fault
            if interrupted:
                raise KeyboardInterrupt
        return tune


def _played(args: argparse.Namespace, folder: Path, check: Check) -> np.ndarray:
    """The counts of a match, which goes on where it was interrupted."""
    with LivePrinter(shared.progress_stream(args.quiet)) as show:
        output = MatchOutput(lambda line: show(f"{check.name}  {line}"), state=folder / f"{check.name}.json")
        result = run_match(check.config, args.concurrency or cores(), None, output)
    if result.interrupted:
        raise KeyboardInterrupt
    return np.array(result.tally.counts)


def _show(args: argparse.Namespace, arena: Arena, results: Sequence[tuple[Check, np.ndarray]]) -> None:
    found = standings(results)
    if args.json:
        rows = [
            {
                "case": case,
                "method": method or None,
                "games": games,
                "elo_left": finite(0.0 - each.elo),
                "error": finite(each.elo_error),
            }
            for (case, method, games), each in found.items()
        ]
        print(json.dumps({"standings": rows, "checked_by_games": arena.check * arena.seeds}))
    else:
        print("\n".join(arena_table(arena, found)))
