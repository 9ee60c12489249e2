"""Adds to the report of a position the Shapley values of its pieces, and its score told in the terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from merino.inner.core.board.bitboard import SQUARE_NAMES
from merino.inner.engine.report.schema import PositionReport, ShapleyReport, WordsReport, WordTermReport
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.shapley.values import DEFAULT_ERROR, shapley_values
from merino.inner.study.words.telling import tell


def with_shapley(
    report: PositionReport,
    record: np.ndarray,
    evaluation: Evaluation,
    error: float = DEFAULT_ERROR,
    origins: Mapping[int, int] | None = None,
) -> PositionReport:
    """The report of POSITION[1] with the Shapley values of its pieces; `error` and `origins` as of `shapley_values`."""
    values = shapley_values(record, evaluation, error, origins)
    known = {SQUARE_NAMES[value.square]: value for value in values.pieces}
    pieces = tuple(
        replace(piece, shapley_cp=known[piece.square].value, shapley_error_cp=known[piece.square].error)
        for piece in report.pieces
    )
    about = ShapleyReport(values.baseline, values.score, values.error, values.orders)
    return replace(report, pieces=pieces, shapley=about)


def with_words(report: PositionReport, record: np.ndarray, evaluation: Evaluation) -> PositionReport:
    """The report of POSITION[1] with its score told in the terms, if the evaluation has none and the position is legal.

    The summary then has these sentences in place of the one that there are no terms.
    """
    if evaluation.has_terms or report.fault is not None:
        return report
    told = tell(record, evaluation)
    rest = {SQUARE_NAMES[part.square]: part.cp for part in told.parts}
    terms = tuple(WordTermReport(term.name, term.cp) for term in told.terms)
    return replace(
        report,
        pieces=tuple(replace(piece, rest_cp=rest[piece.square]) for piece in report.pieces),
        words=WordsReport(terms, told.rest, told.r2, told.sentences),
        summary=tuple(
            said
            for sentence in report.summary
            for said in (told.sentences if sentence == f"{report.without_terms}." else (sentence,))
        ),
    )
