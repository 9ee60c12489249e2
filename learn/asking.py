"""What a request asks of the reader: who scores positions, on which scale, and which of them are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.phases import simplest
from merino.inner.eval.linear.registry import TermSet
from merino.inner.learn.inputs import ReadOptions
from merino.inner.learn.request import LearnRequest
from merino.inner.learn.rescoring import Rescore
from merino.inner.learn.teaching import find_teacher


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
        terms=terms,
    )


def on_scale_of(request: LearnRequest, options: ReadOptions) -> LearnRequest:
    """The request with the K of its teacher where it learns from strays, of which results cannot tell it."""
    if not options.selection.strays or options.teacher is None:
        return request
    target = replace(request.settings.target, k=options.teacher.k)
    return replace(request, settings=replace(request.settings, target=target))
