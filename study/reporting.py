"""Makes the report of a position, with or without a search."""

from __future__ import annotations

from engine.board.bitboard import SQUARE_NAMES, WHITE
from engine.board.game import Position
from engine.notation.san import board_of, san_line
from engine.notation.scores import score_text
from engine.search.limits import Limits, Line, Score
from eval.evaluation import Evaluation
from eval.linear.explain import Change, Explanation, PieceValue, TermLine, summarise
from study.explain.lookahead import Seeker, end_of_line
from study.explain.ranking import RankedMove, rank_moves
from study.report import (
    VERSION,
    ChangeReport,
    LineReport,
    MoveReport,
    PieceReport,
    PositionReport,
    ScoreReport,
    SearchReport,
    StaticReport,
    TermChangeReport,
    TermReport,
)
from study.setups import Setup

LINES = 3  # of the best moves


def report_position(
    position: Position, evaluation: Evaluation, seek: Seeker | None = None, limits: Limits | None = None
) -> PositionReport:
    """The report of a position: by the evaluation alone, or with `seek` also by a search within `limits`.

    Raises StudyError where the search was too short for all moves, EvaluationError where the evaluation does not tell
    its score by terms.
    """
    ranking = rank_moves(position, evaluation, seek, limits)
    setup = Setup(position.fen(), position.record, position.turn, position, None)
    return _report(
        setup,
        evaluation,
        _search(position, evaluation, ranking),
        tuple(_move(position, evaluation, ranked) for ranked in ranking),
    )


def report_setup(setup: Setup, evaluation: Evaluation) -> PositionReport:
    """The report of a position as set up, by the evaluation alone; without moves where the rules do not allow it.

    Raises EvaluationError as `report_position` does.
    """
    if setup.position is not None:
        return report_position(setup.position, evaluation)
    return _report(setup, evaluation, None, ())


def _report(
    setup: Setup, evaluation: Evaluation, search: SearchReport | None, moves: tuple[MoveReport, ...]
) -> PositionReport:
    values = evaluation.value_pieces(setup.record)
    explanation = values.explanation
    outcome = setup.position.outcome() if setup.position else None
    return PositionReport(
        version=VERSION,
        fen=setup.fen,
        to_move="white" if setup.turn == WHITE else "black",
        fault=setup.fault,
        ending=outcome.termination.value if outcome else None,
        evaluation=evaluation.name,
        k=evaluation.k,
        static=_static(explanation),
        search=search,
        terms=tuple(map(_term, explanation.lines)),
        pieces=tuple(map(_piece, values.pieces)),
        shared_cp=values.shared_cp,
        shared_terms={credit.name: credit.cp for credit in values.shared},
        moves=moves,
        summary=summarise(explanation),
    )


def _static(explanation: Explanation) -> StaticReport:
    return StaticReport(
        score_cp=explanation.score_white,
        sum_cp=explanation.sum,
        rule=explanation.rule,
        rule_cp=explanation.rule_cp,
        rounding_cp=explanation.rounding,
        expected_score=explanation.expected_score,
        white_middlegame=explanation.middlegame[0],
        black_middlegame=explanation.middlegame[1],
        stage=explanation.stage,
    )


def _term(line: TermLine) -> TermReport:
    return TermReport(
        number=line.number,
        name=line.name,
        group=line.group.title,
        multiplier=line.group.multiplier,
        phase=line.phase.name.lower(),
        weight=line.weight,
        weight_mg=line.values[0],
        weight_eg=line.values[1],
        white_count=line.white_count,
        black_count=line.black_count,
        white_cp=line.white_cp,
        black_cp=line.black_cp,
        net_cp=line.net,
    )


def _piece(piece: PieceValue) -> PieceReport:
    sign = 1 if piece.colour == WHITE else -1
    return PieceReport(
        square=SQUARE_NAMES[piece.square],
        piece=piece.letter,
        removal_cp=None if piece.removal is None else sign * piece.removal,
        relative_pawns=None if piece.relative is None else sign * float(piece.relative),
        attributed_cp=sign * piece.attributed,
        terms={credit.name: sign * credit.cp for credit in piece.credits},
    )


def _change(change: Change) -> ChangeReport:
    return ChangeReport(
        before_cp=change.before.score_white,
        after_cp=change.after.score_white,
        change_cp=change.score,
        rule_cp=change.rule,
        rounding_cp=change.rounding,
        terms=tuple(TermChangeReport(term.name, term.group.title, term.net) for term in change.by_size if term.net),
    )


def report_score(score: Score, turn: int, evaluation: Evaluation) -> ScoreReport:
    """A score for the side `turn`, from White's view."""
    sign = 1 if turn == WHITE else -1
    text = score_text(score, turn)
    if score.mate is not None:
        return ScoreReport(None, sign * score.mate, text, float(sign * score.mate > 0))
    return ScoreReport(sign * int(score), None, text, evaluation.expected_score(sign * int(score)))


def _move(position: Position, evaluation: Evaluation, ranked: RankedMove) -> MoveReport:
    score = None if ranked.score is None else report_score(ranked.score, ranked.turn, evaluation)
    return MoveReport(
        rank=ranked.rank,
        san=ranked.san,
        uci=position.uci(ranked.move),
        score=score,
        expected_score=ranked.change.after.expected_score,
        change=_change(ranked.change),
    )


def _search(position: Position, evaluation: Evaluation, ranking: tuple[RankedMove, ...]) -> SearchReport | None:
    searched = [(ranked, ranked.found) for ranked in ranking[:LINES] if ranked.found]
    if not searched:
        return None
    lines = tuple(_line(position, evaluation, ranked, found) for ranked, found in searched)
    best = searched[0][1]
    return SearchReport(best.depth, best.nodes, lines[0].score, lines)


def _line(position: Position, evaluation: Evaluation, ranked: RankedMove, found: Line) -> LineReport:
    moves, end = end_of_line(position, found, evaluation)
    return LineReport(
        rank=ranked.rank,
        text=san_line(board_of(position), moves),
        moves=tuple(_coordinates(position, moves)),
        score=report_score(found.score, ranked.turn, evaluation),
        change=_change(Change(ranked.change.before, end)),
    )


def _coordinates(position: Position, moves: tuple[int, ...]) -> list[str]:
    after, texts = position.copy(), []
    for move in moves:
        texts.append(after.uci(move))
        after.push(move)
    return texts
