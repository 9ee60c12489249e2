"""`merino explain`, `merino compare` and `merino moves`: positions, moves and weights explained in a shell."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence

from merino.app.console import shared_options as shared
from merino.app.console.command_line import file_path
from merino.app.console.explaining import (
    DEFAULT_RANKING_MS,
    Explainer,
    compare_parser,
    exactly,
    explain_parser,
    explain_words,
    moves_parser,
    read_positions,
    take_position,
)
from merino.app.console.terminal import detect
from merino.app.shell.shared import SearchRequest, evaluation_of, searcher_of
from merino.core.board.game import Position
from merino.core.common.command import UsageError
from merino.engine.notation.san import names_position
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.evaluation import Evaluation
from merino.study.analyser import Analyser, analyser

MAX_COLUMNS = 100  # columns


def run_explain(arguments: Sequence[str]) -> int:
    """Explain a FEN, each position of a file, or a move; raises CommandError."""
    args = explain_parser().parse_intermixed_args(arguments)
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    beside = None
    if args.beside or not evaluation.has_terms:
        beside = evaluation_of(args.beside or args.weights)
    explainer = _explainer(args, evaluation, shared.DEFAULT_POSITION_MS, beside)
    if names_position(args.words[0]):
        explain_words(explainer, args.words)
        return 0
    if len(args.words) > 1:
        raise UsageError(f"explain: expected a FEN or one file, not '{' '.join(args.words)[:60]}'")
    explainer.explain_positions(read_positions(file_path(args.words[0]), "explain"), is_list=True)
    return 0


def run_compare(arguments: Sequence[str]) -> int:
    """Compare two moves in a position, or two files of weights; raises CommandError."""
    args = compare_parser().parse_intermixed_args(arguments)
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    explainer = _explainer(args, evaluation, shared.DEFAULT_POSITION_MS)
    if names_position(args.words[0]):
        position, rest = take_position(args.words, "compare")
        explainer.compare_moves(position, exactly(rest, 2, "compare"))
        return 0
    if len(args.words) < 2:
        raise UsageError("compare: expected a FEN and two moves, or two weights files")
    if args.weights or args.evalfile:
        raise UsageError("compare: two weights files are compared without --weights and --evalfile")
    first, second, *fen = args.words
    both = [evaluation_of(name, args.k) for name in (first, second)]
    position, rest = take_position(fen, "compare") if fen else (Position(), [])
    exactly(rest, 0, "compare")
    explainer.compare_evaluations(position, both, (first, second))
    return 0


def run_moves(arguments: Sequence[str]) -> int:
    """Rank the legal moves of a FEN; raises CommandError."""
    args = moves_parser().parse_intermixed_args(arguments)
    position, rest = take_position(args.words, "moves")
    exactly(rest, 0, "moves")
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    _explainer(args, evaluation, DEFAULT_RANKING_MS).rank_moves(position, args.static)
    return 0


def _explainer(
    args: argparse.Namespace, evaluation: Evaluation, milliseconds: int, beside: Evaluation | None = None
) -> Explainer:
    search = SearchRequest.of(args, Limits(movetime=milliseconds))
    return Explainer(
        args,
        evaluation,
        beside,
        searching=_fresh_searches(search, evaluation),
        limits=search.limits,
        is_limited=search.is_limited,
        unicode=detect(sys.stdout, ascii_only=args.ascii).unicode,
        width=min(MAX_COLUMNS, shutil.get_terminal_size().columns),
        say=print,
    )


def _fresh_searches(search: SearchRequest, evaluation: Evaluation) -> Callable[[], Analyser]:
    """Searches with one searcher; what each finds does not depend on those before it."""
    made: list[Searcher] = []

    def fresh() -> Analyser:
        if not made:
            made.append(searcher_of(search, evaluation))
        made[0].clear()
        return analyser(made[0])

    return fresh
