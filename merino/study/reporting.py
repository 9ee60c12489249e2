"""Makes the report of a position: with its moves, with or without a search, with Shapley values, in words, or compared.

Positions may be set up against the rules: the evaluation needs a board with one king a side and no pawn on a first or
last rank. So a king that is missing is taken to stand at home, or on the nearest empty square; pawns on those ranks do
not count; and of several kings of a side, the first one counting from a1 is the king. Each assumption is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

import chess
import numpy as np

from merino.core.board import game
from merino.core.board.bitboard import BLACK, BLACK_PIECE, EMPTY, SQUARE_NAMES, U64, WHITE
from merino.core.board.fen import FenError
from merino.core.board.move import Move
from merino.core.board.position import NO_SQUARE, POSITION
from merino.core.compiled.memory import aligned_record
from merino.engine.notation.san import named_moves, san_line, san_moves
from merino.engine.report import phrases, schema, static, text
from merino.engine.search.limits import Limits, Line, Score
from merino.eval.evaluation import Evaluation
from merino.eval.explanation import Explanation
from merino.study import accounts, errors
from merino.study.analyser import expected_of
from merino.study.judge import Judge
from merino.study.lines import Course, after_move
from merino.study.shapley import DEFAULT_ERROR, shapley_values

LINES = 3  # of the best moves
TAIL = 6  # plies at the end of a line among which its last quiet position is looked for


def report_position(
    position: game.Position,
    evaluation: Evaluation,
    judge: Judge | None = None,
    limits: Limits | None = None,
    shapley: float | None = None,
) -> schema.PositionReport:
    """The report of a position and all its legal moves: by the evaluation, or by a judge's search within `limits`.

    With `shapley`, a standard error in centipawns, it has the Shapley values of the pieces before and after each move.
    Raises StudyError where the search was too short for all moves.
    """
    moves = position.legal_moves
    found = dict[int, Line]()
    if judge and moves:
        found = {line.pv[0]: line for line in judge.analyse(position, limits or Limits(), len(moves))}
        if len(found) < len(moves):
            raise errors.StudyError(f"the search was too short for all {len(moves)} moves")
    report = _with_moves(position, moves, evaluation, found, judge)
    if shapley is not None:
        report = _with_pieces(report, position, moves, evaluation, shapley)
    return replace(report, moves=tuple(sorted(report.moves, key=lambda move: (move.rank, move.san))))


def report_alone(position: game.Position, evaluation: Evaluation) -> schema.PositionReport:
    """The report of a position without its moves; where the game is over, the summary says how it ended."""
    report = static.report_evaluation(position.record, position.fen(), evaluation)
    outcome = position.outcome()
    if outcome is None:
        return report
    return replace(report, ending=outcome.termination.value, summary=(phrases.ending_sentence(outcome),))


def ending_after(position: game.Position, move: Move) -> str | None:
    """A sentence on how a legal move ends the game, None if it goes on."""
    outcome = after_move(position, move).outcome()
    return None if outcome is None else phrases.ending_sentence(outcome)


def report_moves(
    position: game.Position,
    moves: Sequence[Move],
    evaluation: Evaluation,
    found: Mapping[int, Line] | None = None,
    judge: Judge | None = None,
    with_pieces: bool = False,
    shapley: float | None = None,
) -> schema.PositionReport:
    """The report of a position and of some of its legal moves, in their order, with the lines that a judge has found.

    With `with_pieces` each move has its changes of the pieces, with `shapley` also those of their Shapley values, of
    this standard error in centipawns.
    """
    report = _with_moves(position, moves, evaluation, found or {}, judge)
    if not with_pieces and shapley is None:
        return report
    return _with_pieces(report, position, moves, evaluation, shapley)


def _with_pieces(
    report: schema.PositionReport,
    position: game.Position,
    moves: Sequence[Move],
    evaluation: Evaluation,
    shapley: float | None,
) -> schema.PositionReport:
    """The report with what each of its moves, in this order, changes of the pieces."""
    if shapley is not None:
        report = with_shapley(report, position.record, evaluation, shapley)
    changed = []
    for move, reported in zip(moves, report.moves, strict=True):
        course = Course(position, (move,), Score(0))
        after, first = course.after(1).record, course.origins[1]
        then = static.report_evaluation(after, "", evaluation)
        if shapley is not None:
            then = with_shapley(then, after, evaluation, shapley, first)
        origins = {SQUARE_NAMES[square]: SQUARE_NAMES[origin] for square, origin in first.items()}
        now = {origins[piece.square]: piece for piece in then.pieces}
        pieces = tuple(static.report_piece_change(piece, now.get(piece.square)) for piece in report.pieces)
        changed.append(replace(reported, pieces=pieces))
    return replace(report, moves=tuple(changed))


def report_setup(setup: Setup, evaluation: Evaluation) -> schema.PositionReport:
    """The report of a position as set up, by the evaluation alone; without moves where the rules do not allow it."""
    if setup.position is not None:
        return report_position(setup.position, evaluation)
    return replace(static.report_evaluation(setup.record, setup.fen, evaluation), fault=setup.fault)


def with_shapley(
    report: schema.PositionReport,
    record: np.ndarray,
    evaluation: Evaluation,
    error: float = DEFAULT_ERROR,
    origins: Mapping[int, int] | None = None,
) -> schema.PositionReport:
    """The report of POSITION[1] with the Shapley values of its pieces; `error` and `origins` as of `shapley_values`."""
    values = shapley_values(record, evaluation, error, origins)
    pieces = tuple(replace(piece, shapley_cp=values.pieces[piece.square].value) for piece in report.pieces)
    return replace(report, pieces=pieces, shapley=values.pieces, baseline=values.baseline, score=values.score)


def with_words(report: schema.PositionReport, record: np.ndarray, evaluation: Evaluation) -> schema.PositionReport:
    """The report of POSITION[1] with its score in words, if the evaluation has none and the position is legal.

    The summary then has these sentences in place of the one that there are no terms.
    """
    if evaluation.has_terms or report.fault is not None:
        return report
    words = accounts.in_words(record, evaluation)
    summary = list[str]()
    for sentence in report.summary:
        summary += words.sentences if sentence == f"{report.without_terms}." else (sentence,)
    return replace(report, words=words, summary=tuple(summary))


def _with_moves(
    position: game.Position,
    moves: Sequence[Move],
    evaluation: Evaluation,
    found: Mapping[int, Line],
    judge: Judge | None,
) -> schema.PositionReport:
    """The report with these moves and what has been found of them, ranked by search if all were searched."""
    report = report_alone(position, evaluation)
    expected = partial(expected_of, evaluation=evaluation) if judge is None else judge.expected
    before, board = evaluation.explain(position.record), position.to_chess(stack=False)
    sign = 1 if position.side == WHITE else -1
    ends = [evaluation.explain(after_move(position, move).record) for move in moves]
    by_search = len(found) == len(moves)
    values = [
        int(found[move].score) if by_search else sign * end.score_white for move, end in zip(moves, ends, strict=True)
    ]
    ordered = sorted(values, reverse=True)
    ranks = [ordered.index(value) + 1 for value in values]  # equal values share one
    reports = [
        schema.MoveReport(
            rank=rank,
            san=name,
            uci=position.uci(move),
            score=static.report_score(found[move].score, position.side, expected) if move in found else None,
            expected_score=end.expected_score,
            change=static.report_change(before, end),
            pv=san_line(board, found[move].pv) if move in found else "",
            pieces=None,
        )
        for move, name, rank, end in zip(moves, san_moves(position, moves), ranks, ends, strict=True)
    ]
    searched = [(found[move], each) for move, each in zip(moves, reports, strict=True) if move in found]
    searched.sort(key=lambda pair: (pair[1].rank, pair[1].san))
    return replace(
        report, search=_search(position, evaluation, before, searched[:LINES], expected), moves=tuple(reports)
    )


def _search(
    position: game.Position,
    evaluation: Evaluation,
    before: Explanation,
    searched: Sequence[tuple[Line, schema.MoveReport]],
    expected: Callable[[Score], float],
) -> schema.SearchReport | None:
    """The result of the search with its best lines; None if there is none."""
    if not searched:
        return None
    lines = []
    for line, move in searched:
        moves, end = quiet_end(position, line.pv, line.score, position.side, evaluation)
        lines.append(
            schema.LineReport(
                rank=move.rank,
                depth=line.depth,
                text=san_line(position.to_chess(stack=False), moves),
                moves=tuple(move for _, move in named_moves(position, moves)),
                score=static.report_score(line.score, position.side, expected),
                change=static.report_change(before, end),
            )
        )
    best = searched[0][0]
    return schema.SearchReport(best.depth, best.nodes, lines[0].score, tuple(lines))


def quiet_end(
    position: game.Position, moves: Sequence[int], score: Score, turn: int, evaluation: Evaluation
) -> tuple[tuple[int, ...], Explanation]:
    """The moves of a line to the position whose evaluation a search reports, and that evaluation.

    `score` is that of the search, as the side `turn` sees it. A line ends before the exchanges that follow, or in the
    middle of one. So the position is chosen from the last ones as the one whose evaluation is nearest to the score of
    the search, the later of equals. A line that mates, or that draws by ending the game, is taken as a whole.
    """
    sign = 1 if turn == WHITE else -1
    lengths = range(len(moves), max(0, len(moves) - TAIL), -1)
    ends = [(length, evaluation.explain(after_move(position, *moves[:length]).record)) for length in lengths]
    if score.mate is not None or (score == 0 and after_move(position, *moves).outcome() is not None):
        return tuple(moves), ends[0][1]
    length, end = min(ends, key=lambda pair: abs(pair[1].score_white - sign * score))
    return tuple(moves[:length]), end


# One position under two evaluations


@dataclass(frozen=True)
class KindComparison:
    """The mean value of the pieces of one kind for their owners, both sides together, under each of the weights."""

    kind: str  # "N"
    count: int
    removal_cp: tuple[float, ...] | None  # None for kings
    attributed_cp: tuple[float | None, ...]  # None if an evaluation has no such value


@dataclass(frozen=True)
class MoveComparison:
    """A move with its rank among the legal moves and its evaluation, for the mover, under each of the weights."""

    move: str  # in short notation
    ranks: tuple[int, int]
    evaluations_cp: tuple[int, int]


@dataclass(frozen=True)
class WeightsComparison:
    """The reports under both weights, and what changes from the first to the second."""

    first: schema.PositionReport
    second: schema.PositionReport
    change: schema.ChangeReport
    kinds: tuple[KindComparison, ...]  # from pawn to king, those on the board
    moves: tuple[MoveComparison, ...]  # all legal moves, in the order of the first weights

    @property
    def moved(self) -> tuple[MoveComparison, ...]:
        """The moves whose rank changes."""
        return tuple(move for move in self.moves if move.ranks[0] != move.ranks[1])

    def to_dict(self) -> dict[str, object]:
        """What changes as plain data for `json.dumps`, without the two reports."""
        return {
            "change": schema.plain(self.change),
            "pieces": schema.plain(self.kinds),
            "moves": schema.plain(self.moves),
        }


def compare_weights(position: game.Position, *evaluations: Evaluation) -> WeightsComparison:
    """`position` under two evaluations; without attributed values if one of them has no terms."""
    first, second = (report_position(position, evaluation) for evaluation in evaluations)
    change = static.report_change(*(evaluation.explain(position.record) for evaluation in evaluations))
    sign = 1 if first.to_move == "white" else -1
    others, kinds = {move.uci: move for move in second.moves}, []
    for kind in "PNBRQK":
        pairs = [(a, b) for a, b in zip(first.pieces, second.pieces, strict=True) if a.piece.upper() == kind]
        sides = list(zip(*pairs, strict=True))
        removal, attributed = (tuple(_mean(side, way) for side in sides) for way in ("removal_cp", "attributed_cp"))
        if pairs:
            known = tuple(value for value in removal if value is not None) or None
            kinds.append(KindComparison(kind, len(pairs), known, attributed))
    moves = tuple(
        MoveComparison(
            move.san,
            (move.rank, others[move.uci].rank),
            (sign * move.change.after_cp, sign * others[move.uci].change.after_cp),
        )
        for move in first.moves
    )
    return WeightsComparison(first, second, change, tuple(kinds), moves)


def _mean(pieces: Sequence[schema.PieceReport], way: str) -> float | None:
    """The mean of this field of pieces for their owners, None where it is None for one."""
    values = [getattr(piece, way) for piece in pieces]
    if None in values:
        return None
    return fmean(text.owners(piece.piece, value) for piece, value in zip(pieces, values, strict=True))


# Positions as people set them up


@dataclass(frozen=True)
class Setup:
    """A position that was set up. `position` is None where the rules do not allow it, and then `fault` says why.

    `record` is POSITION[1] for evaluations; of a position that cannot be it has no keys and no castling rights.
    """

    fen: str
    record: np.ndarray
    turn: int  # WHITE or BLACK
    position: game.Position | None
    fault: str | None


def set_up(fen: str) -> Setup:
    """The setup of a FEN, whose board must be one but may be against the rules; raises FenError."""
    try:
        position = game.Position(fen)
    except FenError as error:
        return _against_rules(fen, error)
    return Setup(position.fen(), position.record, position.side, position, None)


def _against_rules(fen: str, error: FenError) -> Setup:
    fields = fen.split()
    try:
        board = chess.BaseBoard(fields[0] if fields else "")
    except ValueError:
        raise error from None
    if len(fields) < 2 or fields[1] not in ("w", "b"):
        raise error from None
    remarks = [str(error)]
    if wrong := chess.SquareSet(board.pawns & (chess.BB_RANK_1 | chess.BB_RANK_8)):
        remarks.append(f"what stands as a pawn on {', '.join(map(chess.square_name, wrong))} is not counted")
    for square in wrong:
        board.remove_piece_at(square)
    for side, colour, home in (("White", chess.WHITE, chess.E1), ("Black", chess.BLACK, chess.E8)):
        if not board.pieces(chess.KING, colour):
            free = chess.SquareSet(chess.BB_ALL & ~board.occupied)
            if not free:
                raise FenError(f"{side} has no king, and no square is free for one")
            square = min(free, key=lambda square: (chess.square_distance(square, home), square))
            board.set_piece_at(square, chess.Piece(chess.KING, colour))
            remarks.append(f"valued as if {side}'s king stood on {chess.square_name(square)}")
    turn, record = WHITE if fields[1] == "w" else BLACK, aligned_record(POSITION)
    position = record[0]
    position["board"], position["side"], position["en_passant"], position["fullmove"] = (EMPTY, turn, NO_SQUARE, 1)
    for square, piece in board.piece_map().items():
        position["board"][square] = piece.piece_type - 1 + (0 if piece.color else BLACK_PIECE)
        position["pieces"][piece.piece_type - 1] |= U64(1 << square)
        position["colours"][WHITE if piece.color else BLACK] |= U64(1 << square)
    return Setup(fen, record, turn, None, "; ".join(dict.fromkeys(remarks)))
