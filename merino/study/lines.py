"""Lines and their ends: where the pieces get to, and what they and the sides have there by each term."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import chess

from merino.core.board import game
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.report import phrases, static
from merino.eval.evaluation import Evaluation
from merino.eval.linear.registry import Group
from merino.study import tactics

_OF_PAWNS = (Group.PAWN_STRUCTURE, Group.PASSED_PAWNS)
_OF_NOBODY = ("Contested", "Controlled", "PawnIslands", "Space", "Tempo")  # how the names of terms of a side begin
_OF_PIECES = (Group.BOARD_CONTROL, Group.MOBILITY, Group.KING_SAFETY)


@dataclass(frozen=True)
class Followed:
    """Where a line leads: the position there, and each piece's first square by its last."""

    after: game.Position
    board: chess.Board
    origins: Mapping[chess.Square, chess.Square]


@dataclass(frozen=True)
class LineEnd(Followed):
    """The end of a line with its terms, and each piece by its first square."""

    pieces: Mapping[chess.Square, tuple[chess.Square, Mapping[str, float]]]  # terms in centipawns for White
    terms: Mapping[str, Mapping[chess.Color, float]]  # what each side has by them, in centipawns for itself
    unusual: Collection[str]  # terms whose weight has a sign that chess players do not expect

    def piece_at(self, origin: chess.Square) -> chess.Piece | None:
        """The piece that began on a square and is still on the board; it may have promoted. None for none."""
        return self.board.piece_at(self.pieces[origin][0]) if origin in self.pieces else None

    def lead(self, term: str, side: chess.Color) -> float:
        """The centipawns by which a side is ahead in a term."""
        return self.terms[term][side] - self.terms[term][not side]

    def own_terms(self, origin: chess.Square) -> dict[str, float]:
        """The terms of that piece, centipawns for its owner, that players would call its own.

        Pawns bring no open files, pieces no pawn structure, and what a side has as a whole is nobody's.
        """
        square, terms = self.pieces[origin]
        piece = self.board.piece_at(square)
        assert piece
        sign = 1 if piece.color == chess.WHITE else -1
        groups = _OF_PAWNS if piece.piece_type == chess.PAWN else _OF_PIECES
        own = {
            name: cp
            for name, cp in terms.items()
            if phrases.group_of(name) in groups and not name.startswith(_OF_NOBODY)
        }
        return {name: sign * cp for name, cp in own.items()}


def follow(position: game.Position, moves: Sequence[int]) -> Followed:
    """Make the moves of a line, all legal, on a copy of the position."""
    after, board = position.copy(), board_of(position)
    at = {square: square for square in board.piece_map()}
    for move in moves:
        after.push(move)
        made = as_chess_move(move, position.chess960)
        if (taken := tactics.taken_on(board, made)) is not None:
            at.pop(taken)
        tactics.carry(at, board, made)
        board.push(made)
    return Followed(after, board, at)


def end_after(position: game.Position, moves: Sequence[int], by_terms: Evaluation) -> LineEnd:
    """The end of a line of legal moves; `by_terms` has terms."""
    end = follow(position, moves)
    report = static.report_evaluation(end.after.record, "", by_terms)
    terms = {chess.parse_square(piece.square): piece.terms for piece in report.pieces}
    pieces = {origin: (square, terms[square]) for square, origin in end.origins.items()}
    unusual = {term.name for term in report.terms if term.weight and not phrases.is_usual(term.name, term.weight)}
    sides = {term.name: {chess.WHITE: term.white_cp, chess.BLACK: term.black_cp} for term in report.terms}
    return LineEnd(**vars(end), pieces=pieces, terms=sides, unusual=unusual)
