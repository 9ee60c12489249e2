"""Command lines of the studies that search: their parser, the limits of a search, the weights."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from engine.common.command import CommandError
from engine.common.command_line import Parser, above_zero
from engine.search.limits import Limits
from engine.search.searcher import Searcher
from engine.search.warmup import warm_up
from eval.evaluation import Evaluation, EvaluationError
from eval.families import active_file, load

__all__ = ["Parser", "above_zero"]  # of all commands, for those of the studies

HASH_MB = 64


def steepness(text: str) -> float:
    """A K in centipawns, for `type=` of an option."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 1e6:
        raise argparse.ArgumentTypeError(f"'{text[:20]}' is no number from 1 to 1000000")
    return value


def add_weights_options(parser: Parser) -> None:
    """--weights and --k."""
    parser.add_argument("--weights", metavar="FILE", help="evaluate with the weights in this file")
    parser.add_argument("--k", type=steepness, help="scale of the expected score, that of the weights if not given")


def add_search_options(parser: Parser, default: str) -> None:
    """--depth, --nodes, --movetime, --threads, --hash; `default` says what holds without a limit."""
    parser.add_argument("--depth", metavar="N", type=above_zero, help="search so many half-moves deep")
    parser.add_argument("--nodes", metavar="N", type=above_zero, help="search so many nodes")
    parser.add_argument("--movetime", metavar="MS", type=above_zero, help=f"search so long ({default})")
    parser.add_argument("--threads", metavar="N", type=above_zero, default=1, help="search with so many threads")
    parser.add_argument("--hash", metavar="MB", type=above_zero, default=HASH_MB, help="size of the table of positions")


def limits_of(order: argparse.Namespace, default: Limits) -> Limits:
    """The limits that were asked for, else `default`."""
    limits = Limits(depth=order.depth, nodes=order.nodes, movetime=order.movetime)
    return default if limits == Limits() else limits


def evaluation_of(name: str | None, k: float | None = None) -> Evaluation:
    """The evaluation in the file of this name, or that in use, with the K asked for or else its own.

    Raises CommandError.
    """
    try:
        found = load(active_file(name))
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    return found if k is None else found.with_k(k)


def searcher_of(order: argparse.Namespace, evaluation: Evaluation) -> Searcher:
    """A searcher with the evaluation, the threads and the table asked for; raises CommandError where memory lacks."""
    warm_up()  # compiling is not to count as thinking
    try:
        searcher = Searcher(order.hash, order.threads, evaluation)
    except MemoryError as error:
        raise CommandError(f"there is no memory for a table of {order.hash} MB") from error
    searcher.move_overhead = 0  # nobody's clock is running
    return searcher


def path_of(name: str) -> Path:
    """A file as named, `~` being the home folder."""
    return Path(name).expanduser()


def check_target(path: Path, command: str) -> None:
    """Fail before the work rather than after it; raises CommandError where `path` cannot be written."""
    if not path.parent.is_dir():
        raise CommandError(f"{command}: there is no folder '{path.parent}' to write '{path.name}' in")
    if path.is_dir():
        raise CommandError(f"{command}: cannot write '{path}': it is a folder")
    # The rights are looked at as well, since a file that may not be written can still be replaced by another.
    if path.exists() and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):
        raise CommandError(f"{command}: cannot write '{path}': it is read-only")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise CommandError(f"{command}: cannot write in '{path.parent}': {error.strerror}") from error
