"""The evaluation, the searcher and the limits that a command line asks for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache

from merino.app.console import shared_options as shared
from merino.core.common.command import CommandError
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.warmup import warm_up
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import default, load_chosen
from merino.study.analyser import Analyser, analyser


@dataclass(frozen=True)
class SearchRequest:
    """Limits and resources of a search; `is_limited`: the user set the limits, they are not the command's default."""

    limits: Limits
    threads: int
    hash_mb: int
    is_limited: bool

    @classmethod
    def of(cls, args: argparse.Namespace, default: Limits) -> SearchRequest:
        """The request of a command line, with `default` if it names no limit."""
        limits = shared.asked_limits(args)
        is_limited = limits != Limits()
        return cls(limits if is_limited else default, args.threads, args.hash, is_limited)


def evaluation_of(name: str | None, k: float | None = None, net: str | None = None) -> Evaluation:
    """The evaluation in the file of this name, or that in use, with the K asked for or else its own; or a net.

    Raises CommandError.
    """
    try:
        found = load_chosen(name, net)
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    return found if k is None else found.with_k(k)


def searcher_of(request: SearchRequest, evaluation: Evaluation) -> Searcher:
    """A searcher with this evaluation, threads and table; raises CommandError if there is not enough memory."""
    warm_up()  # so that compiling does not count as thinking
    try:
        searcher = Searcher(request.hash_mb, request.threads, evaluation)
    except MemoryError as error:
        raise CommandError(f"not enough memory for a transposition table of {request.hash_mb} MiB") from error
    searcher.move_overhead = 0  # no clock is running
    return searcher


@cache
def default_analyser() -> Analyser:
    """Searches for studies with the evaluation in use, one thread and a small table; raises CommandError.

    What each finds does not depend on those before it.
    """
    searcher = searcher_of(SearchRequest(Limits(), 1, DEFAULT_HASH_MB, is_limited=True), default())
    return analyser(searcher, gives_up=True, is_forgetful=True)
