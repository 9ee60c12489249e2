"""What a request asks for before the fit: who scores positions, on which scale, which are read, which moves ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.phases import simplest
from merino.inner.eval.linear.registry import TermSet
from merino.inner.formats.sources import is_passing
from merino.inner.learn.drawing import one_of_each_game
from merino.inner.learn.inputs import ReadOptions
from merino.inner.learn.ranking import Moves, moves_of
from merino.inner.learn.request import LearnRequest
from merino.inner.learn.rescoring import Rescore
from merino.inner.learn.teaching import DEFAULT_TEACHER, find_teacher

MAX_PLIES = 10_000  # of a game
ENOUGH = 4  # times as many games as positions to rank moves in, to draw these from


def own_evaluation(weights: np.ndarray, terms: TermSet) -> LinearEvaluation:
    """The evaluation by these weights of a set, of one phase if they need no more."""
    return LinearEvaluation(simplest(weights, len(terms)), terms=terms)


def read_options(request: LearnRequest, weights: np.ndarray, terms: TermSet) -> ReadOptions:
    """How to read, with these weights at the start; raises EvaluationError if the teacher cannot be read."""
    teacher = find_teacher(request.teacher) if request.teacher and request.needs_scores else None
    rescore = None
    if request.rescore is not None:
        rescore = Rescore(request.rescore, teacher or own_evaluation(weights, terms))
    return ReadOptions(
        replace(request.selection, strays=request.has_strays),
        weights,
        keep_fen=request.keep_fen and not request.dry_run,
        needs_scores=request.needs_scores,
        rescore=rescore,
        teacher=teacher if rescore is None else None,
        ratings=request.settings.ratings,
        terms=terms,
    )


def on_scale_of(request: LearnRequest, options: ReadOptions) -> LearnRequest:
    """The request with the K of its teacher where it learns from strays, of which results cannot tell it."""
    if not options.selection.strays or options.teacher is None:
        return request
    target = replace(request.settings.target, k=options.teacher.k)
    return replace(request, settings=replace(request.settings, target=target))


def moves_to_rank(request: LearnRequest, paths: Sequence[Path]) -> Moves | None:
    """The moves that the weights shall rank, as the teacher of the request or the usual one sees them.

    None if none are wanted, or the games of these files are too few or cannot be read again.
    """
    wanted = request.choice.ranked
    if not wanted or any(map(is_passing, paths)):
        return None
    positions = one_of_each_game(paths, 0, MAX_PLIES, ENOUGH * wanted)[:wanted]
    return moves_of(positions, find_teacher(request.teacher or DEFAULT_TEACHER)) if len(positions) == wanted else None
