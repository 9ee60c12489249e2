"""The JSON of `explain`, `compare` and `moves` with --json, made from the report but older than its schema.

It differs from the report in shape and point of view: values of pieces are from their owner's view, scores of a ranking
from the mover's; `mate` is positive if the mover mates. Programs rely on it, so its keys stay.
"""

from __future__ import annotations

from typing import Any

from merino.engine.report.schema import (
    BesideReport,
    ChangeReport,
    LineReport,
    MoveReport,
    PieceChangeReport,
    PieceReport,
    PositionReport,
    WordsReport,
)
from merino.engine.report.text import owners


def evaluation_json(report: PositionReport) -> dict[str, Any]:
    """The position and its evaluation by terms, from White's view."""
    static = report.static
    return {
        "fen": report.fen,
        **({"fault": report.fault} if report.fault else {}),
        "score_cp": static.score_cp,
        "sum_cp": static.sum_cp,
        "non_term_cp": static.non_term_cp,
        "rule": static.rule,
        "rule_cp": static.rule_cp,
        "rounding_cp": static.rounding_cp,
        "to_move": report.to_move,
        "expected_score": static.expected_score,
        "k": report.k,
        "middlegame_share": {"white": static.white_middlegame, "black": static.black_middlegame},
        "stage": static.stage,
        "terms": [vars(term) for term in report.terms],
        "without_terms": report.without_terms,
        **({"beside": _beside(report.beside)} if report.beside else {}),
    }


def explanation_json(report: PositionReport) -> dict[str, Any]:
    """The same with the value of each piece for its owner."""
    return {
        **evaluation_json(report),
        "pieces": [_piece(piece) for piece in report.pieces],
        "shared_cp": report.shared_cp,
        "shared_terms": dict(report.shared_terms),
        **shapley_json(report),
        **({"words": words_json(report, report.words)} if report.words else {}),
    }


def shapley_json(report: PositionReport) -> dict[str, Any]:
    """The Shapley values by square, from White's view; `baseline` and they add up to `score`. Nothing without them."""
    if report.shapley is None:
        return {}
    values = {piece.square: {"value": piece.shapley_cp, "error": piece.shapley_error_cp} for piece in report.pieces}
    return {"shapley": values, "baseline": report.shapley.baseline_cp, "score": report.shapley.score_cp}


def words_json(report: PositionReport, words: WordsReport) -> dict[str, Any]:
    """The account of the report in the terms, White's: terms and `rest` add up to the score before draw rules."""
    return {
        "terms": [vars(term) for term in words.terms],
        "rest": words.rest_cp,
        "r2": words.r2,
        "rest_by_piece": {piece.square: piece.rest_cp for piece in report.pieces},
        "sentences": list(words.sentences),
    }


def change_json(change: ChangeReport) -> dict[str, Any]:
    """The change by moves or by other weights."""
    return {
        "before_cp": change.before_cp,
        "after_cp": change.after_cp,
        "change_cp": change.change_cp,
        "non_term_cp": change.non_term_cp,
        "rule_cp": change.rule_cp,
        "rounding_cp": change.rounding_cp,
        "terms_cp": {term.name: term.change_cp for term in change.terms},
    }


def move_json(report: PositionReport, move: MoveReport) -> dict[str, Any]:
    """The changes by a move, at once and at the end of its line; with pieces if the report has them."""
    line = report.line_of(move)
    found: dict[str, Any] = {
        "move": move.san,
        "at_once": change_json(move.change),
        "ahead": line and _ahead(report, line),
    }
    if move.pieces is not None:
        found["pieces"] = [_piece_change(piece) for piece in move.pieces]
    return found


def moves_json(report: PositionReport) -> list[dict[str, Any]]:
    """The moves in order."""
    sign = _sign(report)
    return [
        {
            "rank": move.rank,
            "move": move.san,
            "evaluation_cp": sign * move.change.after_cp,
            "change": change_json(move.change),
            "score_cp": None if move.score is None or move.score.cp is None else sign * move.score.cp,
            "mate": None if move.score is None or move.score.mate is None else sign * move.score.mate,
            "line": move.pv,
            **({"pieces": list(map(_piece_change, move.pieces))} if move.pieces is not None else {}),
        }
        for move in report.moves
    ]


def _ahead(report: PositionReport, line: LineReport) -> dict[str, Any]:
    mate = line.score.mate
    return {
        "depth": line.depth,
        "score_cp": line.score.cp,
        "mate": None if mate is None else _sign(report) * mate,
        "line": line.text,
        "change": change_json(line.change),
    }


def _sign(report: PositionReport) -> int:
    return 1 if report.to_move == "white" else -1


def _beside(beside: BesideReport) -> dict[str, Any]:
    """The position by a second evaluation; pieces as in the report, from White's view."""
    return {**vars(beside), "pieces": [vars(piece) for piece in beside.pieces]}


def _piece(piece: PieceReport) -> dict[str, Any]:
    return {
        "square": piece.square,
        "piece": piece.piece,
        "removal_cp": None if piece.removal_cp is None else int(owners(piece.piece, piece.removal_cp)),
        "relative_pawns": None if piece.relative_pawns is None else owners(piece.piece, piece.relative_pawns),
        "attributed_cp": None if piece.attributed_cp is None else owners(piece.piece, piece.attributed_cp),
        "terms": {name: owners(piece.piece, cp) for name, cp in piece.terms.items()},
    }


def _piece_change(change: PieceChangeReport) -> dict[str, Any]:
    removal = (change.removal_before_cp, change.removal_after_cp, change.removal_change_cp)
    attributed = (change.attributed_before_cp, change.attributed_after_cp, change.attributed_change_cp)
    shapley = (change.shapley_before_cp, change.shapley_after_cp, change.shapley_change_cp)
    return {
        "piece": change.piece,
        "square": change.square,
        "piece_after": change.piece_after,
        "square_after": change.square_after,
        "removal_cp": _before_and_after(change.piece, removal),
        "attributed_cp": _before_and_after(change.piece, attributed),
        **({} if change.shapley_before_cp is None else {"shapley_cp": _before_and_after(change.piece, shapley)}),
    }


def _before_and_after(letter: str, values: tuple[float | None, ...]) -> dict[str, float | None]:
    """Before, after and the difference, for the owner of the piece."""
    own = (None if value is None else owners(letter, value) for value in values)
    return dict(zip(("before", "after", "change"), own, strict=True))
