"""Explanations of an evaluation: the library interface of all that need no search.

    from merino.inner.eval.linear.explain import explain, value_pieces, Change

    explanation = explain(position.record, weights)        the terms, which sum to the engine's own score
    value_pieces(position.record, weights)                 what each piece is worth, three ways
    Change(explanation, explain(after.record, weights))    what a move, a line or other weights change

All are frozen dataclasses. `engine.report` makes a report of them, and of that text and JSON; what needs moves or a
search builds on it in `study`.
"""

from merino.inner.eval.draws import CANNOT_WIN, KNOWN_DRAW, OPPOSITE_BISHOPS
from merino.inner.eval.explanation import Change, Credit, Explanation, PieceValue, PieceValues, TermChange, TermLine
from merino.inner.eval.linear.breakdown import explain
from merino.inner.eval.linear.pieces import value_pieces

__all__ = [
    "CANNOT_WIN",
    "KNOWN_DRAW",
    "OPPOSITE_BISHOPS",
    "Change",
    "Credit",
    "Explanation",
    "PieceValue",
    "PieceValues",
    "TermChange",
    "TermLine",
    "explain",
    "value_pieces",
]
