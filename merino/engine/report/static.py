"""The part of a report that needs no search: terms, pieces, and the difference of two evaluations."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from merino.core.board.bitboard import SQUARE_NAMES, WHITE
from merino.engine.notation.san import score_text
from merino.engine.report import phrases, schema
from merino.engine.search.limits import Score
from merino.eval.evaluation import Evaluation
from merino.eval.explanation import Explanation, PieceValue, PieceValues, TermLine
from merino.eval.linear.registry import Group

NOISE = 1e-9  # centipawns; rounding error of a sum
NOTHING = 0.0  # added to a number, so that it is never -0.0


def report_evaluation(
    record: np.ndarray, fen: str, evaluation: Evaluation, with_pieces: bool = True
) -> schema.PositionReport:
    """The report without search and moves of `record`, POSITION[1], whose FEN is `fen`."""
    values = evaluation.value_pieces(record) if with_pieces else PieceValues(evaluation.explain(record), (), ())
    explanation = values.explanation
    return schema.PositionReport(
        version=schema.VERSION,
        fen=fen,
        to_move="white" if explanation.turn == WHITE else "black",
        fault=None,
        ending=None,
        evaluation=evaluation.name,
        k=evaluation.k,
        static=_static(explanation),
        search=None,
        terms=tuple(map(_term, explanation.lines)),
        without_terms=explanation.without_terms,
        groups=tuple(_group(group, explanation.of_group(group)) for group in Group if explanation.lines),
        pieces=tuple(map(_piece, values.pieces)),
        shared_cp=values.shared_cp,
        shared_terms={credit.name: credit.cp for credit in values.shared},
        moves=(),
        summary=phrases.summarise(explanation, record),
    )


def with_beside(
    report: schema.PositionReport, record: np.ndarray, evaluation: Evaluation | None
) -> schema.PositionReport:
    """The report of POSITION[1], with a second evaluation of it added; unchanged for None."""
    if evaluation is None:
        return report
    values = evaluation.value_pieces(record)
    beside = schema.BesideReport(
        evaluation=evaluation.name,
        score_cp=values.explanation.score_white,
        expected_score=values.explanation.expected_score,
        shared_cp=values.shared_cp,
        pieces=tuple(
            schema.BesidePieceReport(piece.square, piece.removal_cp, piece.attributed_cp)
            for piece in map(_piece, values.pieces)
        ),
    )
    return replace(report, beside=beside)


def report_change(before: Explanation, after: Explanation) -> schema.ChangeReport:
    """The change from one explanation to another, after moves or by another evaluation.

    Terms, `non_term_cp`, rule and rounding add up to it; where one of the two has no terms, `non_term_cp` has all of
    them. A term that only one of two sets has counts as 0 in the other.
    """
    has_terms = bool(before.lines and after.lines)
    sides = [{line.name: line for line in each.lines} if has_terms else {} for each in (before, after)]
    groups = {name: line.group.title for side in sides for name, line in side.items()}
    own, other = ({name: line.net for name, line in side.items()} for side in sides)
    return schema.ChangeReport(
        before_cp=before.score_white,
        after_cp=after.score_white,
        change_cp=after.score_white - before.score_white,
        non_term_cp=after.non_term - before.non_term if has_terms else after.sum - before.sum,
        rule_cp=after.rule_cp - before.rule_cp,
        rounding_cp=after.rounding - before.rounding,
        rule=after.rule,
        terms=_term_changes(groups, own, other),
    )


def report_score(score: Score, turn: int, expected: Callable[[Score], float]) -> schema.ScoreReport:
    """A score for the side `turn`, from White's view; `expected` gives the expected score of that side."""
    sign, text = (1 if turn == WHITE else -1), score_text(score, turn)
    share = expected(score) if turn == WHITE else 1 - expected(score)
    if score.mate == 0:  # at the end of a line
        return schema.ScoreReport(None, 0, "mate", float((score > 0) == (turn == WHITE)))
    if score.mate is not None:
        return schema.ScoreReport(None, sign * score.mate, text, share)
    return schema.ScoreReport(sign * int(score), None, text, share)


def report_piece_change(before: schema.PieceReport, after: schema.PieceReport | None) -> schema.PieceChangeReport:
    """The change of a piece by a move; without `after` it was captured."""
    values: dict[str, Any] = {}
    for way in ("removal", "attributed", "shapley"):
        old, new = (None if piece is None else getattr(piece, f"{way}_cp") for piece in (before, after))
        change = None if old is None else (new or 0) - old
        values |= {f"{way}_before_cp": old, f"{way}_after_cp": new, f"{way}_change_cp": change}
    return schema.PieceChangeReport(
        piece=before.piece,
        square=before.square,
        piece_after=after.piece if after else None,
        square_after=after.square if after else None,
        **values,
    )


def difference(first: schema.ChangeReport, second: schema.ChangeReport) -> schema.ChangeReport:
    """The difference of two changes of the same position: the second minus the first."""
    groups = {term.name: term.group for term in (*first.terms, *second.terms)}
    own, other = ({term.name: term.change_cp for term in change.terms} for change in (first, second))
    return schema.ChangeReport(
        before_cp=first.after_cp,
        after_cp=second.after_cp,
        change_cp=second.after_cp - first.after_cp,
        non_term_cp=second.non_term_cp - first.non_term_cp,
        rule_cp=second.rule_cp - first.rule_cp,
        rounding_cp=second.rounding_cp - first.rounding_cp,
        rule=second.rule,
        terms=_term_changes(groups, own, other, NOISE),
    )


def _term_changes(
    groups: Mapping[str, str], first: Mapping[str, float], second: Mapping[str, float], least: float = 0.0
) -> tuple[schema.TermChangeReport, ...]:
    """The terms that differ by more than `least`, the most first; one that a side lacks counts as 0 there."""
    changes = {name: second.get(name, 0.0) - first.get(name, 0.0) for name in groups}
    terms = [schema.TermChangeReport(name, groups[name], cp) for name, cp in changes.items() if abs(cp) > least]
    return tuple(sorted(terms, key=lambda term: (-abs(term.change_cp), term.name)))


def _static(explanation: Explanation) -> schema.StaticReport:
    return schema.StaticReport(
        score_cp=explanation.score_white,
        sum_cp=explanation.sum,
        non_term_cp=explanation.non_term,
        rule=explanation.rule,
        rule_cp=explanation.rule_cp,
        rounding_cp=explanation.rounding,
        expected_score=explanation.expected_score,
        white_middlegame=explanation.middlegame[0],
        black_middlegame=explanation.middlegame[1],
        stage=explanation.stage,
    )


def _term(line: TermLine) -> schema.TermReport:
    return schema.TermReport(
        number=line.number,
        name=line.name,
        group=line.group.title,
        multiplier=line.group.multiplier,
        phase=line.phase.name.lower(),
        weight=line.weight,
        weight_mg=line.values[0],
        weight_eg=line.values[1],
        white_count=line.white_count + NOTHING,
        black_count=line.black_count + NOTHING,
        white_cp=line.white_cp + NOTHING,
        black_cp=line.black_cp + NOTHING,
        net_cp=line.net + NOTHING,
        cells=line.cells,
    )


def _group(group: Group, lines: Sequence[TermLine]) -> schema.GroupReport:
    return schema.GroupReport(
        name=group.title,
        multiplier=group.multiplier,
        white_cp=math.fsum(line.white_cp for line in lines) + NOTHING,
        black_cp=math.fsum(line.black_cp for line in lines) + NOTHING,
        net_cp=math.fsum(line.net for line in lines) + NOTHING,
    )


def _piece(piece: PieceValue) -> schema.PieceReport:
    sign = 1 if piece.colour == WHITE else -1
    return schema.PieceReport(
        square=SQUARE_NAMES[piece.square],
        piece=piece.letter,
        removal_cp=None if piece.removal is None else sign * piece.removal,
        relative_pawns=None if piece.relative is None else sign * float(piece.relative) + NOTHING,
        attributed_cp=None if piece.attributed is None else sign * piece.attributed + NOTHING,
        terms={credit.name: sign * credit.cp + NOTHING for credit in piece.credits},
    )
