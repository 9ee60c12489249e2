"""Options of all commands that evaluate or search, for weights and limits, and what is made of them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from engine.common.command import CommandError
from engine.console.command_line import Parser, above_zero
from engine.search.limits import Limits
from engine.search.searcher import Searcher
from engine.search.warmup import warm_up
from eval.evaluation import Evaluation, EvaluationError
from eval.families import active_file, load

HASH_MB = 64


@dataclass(frozen=True)
class SearchRequest:
    """With what to search; `is_limited` says that the limits were asked for, and are not those of the command."""

    limits: Limits
    threads: int
    hash_mb: int
    is_limited: bool

    @classmethod
    def of(cls, order: argparse.Namespace, default: Limits) -> SearchRequest:
        """What a command line asks for, `default` where it names no limit."""
        limits = Limits(depth=order.depth, nodes=order.nodes, movetime=order.movetime)
        is_limited = limits != Limits()
        return cls(limits if is_limited else default, order.threads, order.hash, is_limited)


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


def evaluation_of(name: str | None, k: float | None = None) -> Evaluation:
    """The evaluation in the file of this name, or that in use, with the K asked for or else its own.

    Raises CommandError.
    """
    try:
        found = load(active_file(name))
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    return found if k is None else found.with_k(k)


def searcher_of(request: SearchRequest, evaluation: Evaluation) -> Searcher:
    """A searcher with the evaluation, the threads and the table asked for; raises CommandError where memory lacks."""
    warm_up()  # compiling is not to count as thinking
    try:
        searcher = Searcher(request.hash_mb, request.threads, evaluation)
    except MemoryError as error:
        raise CommandError(f"there is no memory for a table of {request.hash_mb} MB") from error
    searcher.move_overhead = 0  # nobody's clock is running
    return searcher


def path_of(name: str) -> Path:
    """A file as named, `~` being the home folder."""
    return Path(name).expanduser()
