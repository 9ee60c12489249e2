"""The ends of lines: what each side has taken and promoted there, and where each piece has got to, with its terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import chess

from merino.core.board.game import Position
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.report.phrases import change_phrase, group_of, is_usual, listed
from merino.engine.report.static import report_evaluation
from merino.engine.search.limits import pawns
from merino.eval.evaluation import Evaluation
from merino.eval.linear.registry import Group
from merino.study.reasons.motifs import boards_along, drawing, kind_at, pawns_of, settled_plies, taken_on

NAMED_TERMS = 2
MIN_PIECE = 8.0  # centipawns by which a piece must differ to be named
MIN_TERM = 0.05  # centipawns by which a term must differ to be listed
_OF_PAWNS = (Group.PAWN_STRUCTURE, Group.PASSED_PAWNS)
_OF_NOBODY = ("Contested", "Controlled", "PawnIslands", "Space", "Tempo")  # how the names of terms of a side begin
_OF_PIECES = (Group.BOARD_CONTROL, Group.MOBILITY, Group.KING_SAFETY)


@dataclass(frozen=True)
class LineEnd:
    """The end of a line: what each side has taken and promoted, its terms, and each piece by its first square."""

    board: chess.Board
    taken: Mapping[chess.Color, Sequence[chess.PieceType]]
    promoted: Mapping[chess.Color, Sequence[chess.PieceType]]
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
        own = {name: cp for name, cp in terms.items() if group_of(name) in groups and not name.startswith(_OF_NOBODY)}
        return {name: sign * cp for name, cp in own.items()}

    @property
    def balance(self) -> str:
        """What one side has taken for what, without what each has: "White has a rook for a bishop"."""
        white, black = (Counter(self.taken[colour]) for colour in (chess.WHITE, chess.BLACK))
        both, white, black = white & black, white - black, black - white
        if not white and not black:
            return f"each side has taken {listed(both)}" if both else "nothing is taken"
        is_white = pawns_of(white) >= pawns_of(black)
        side, won, given = ("White", white, black) if is_white else ("Black", black, white)
        return f"{side} has {listed(won)} for {listed(given)}" if given else f"{side} wins {listed(won)}"

    @property
    def material(self) -> str:
        """The balance with the promotions: "White promotes to a queen", "White wins a pawn; Black promotes to ..."."""
        promotions = [
            f"{'White' if side else 'Black'} promotes to {listed(Counter(self.promoted[side]))}"
            for side in (chess.WHITE, chess.BLACK)
            if self.promoted[side]
        ]
        is_silent = bool(promotions) and not self.taken[chess.WHITE] and not self.taken[chess.BLACK]
        return "; ".join(promotions if is_silent else [self.balance, *promotions])


@dataclass(frozen=True)
class PieceDifference:
    """How much more a piece is worth at one end than at another, in centipawns for its owner, and by which terms.

    Sentences do not name `unusual` terms, whose weight has another sign than players expect.
    """

    piece: chess.Piece
    here: chess.Square
    there: chess.Square  # at the other end
    terms: Mapping[str, float]
    unusual: Collection[str] = ()

    @property
    def total(self) -> float:
        """The sum of its terms."""
        return sum(self.terms.values())

    @property
    def name(self) -> str:
        """Whose piece it is, and where: "White's knight on d5"."""
        side = "White" if self.piece.color else "Black"
        return f"{side}'s {chess.piece_name(self.piece.piece_type)} on {chess.square_name(self.here)}"

    @property
    def named(self) -> list[tuple[str, float]]:
        """The terms that sentences name, the largest first."""
        usual = [pair for pair in self.terms.items() if pair[0] not in self.unusual and abs(pair[1]) >= MIN_PIECE / 2]
        return sorted(usual, key=lambda pair: -abs(pair[1]))[:NAMED_TERMS]

    @property
    def worth(self) -> str:
        """The difference in words: "is worth 0.30 more: central knights +0.21, knight mobility +0.09"."""
        said = ", ".join(f"{change_phrase(name, cp)} {pawns(cp)}" for name, cp in self.named)
        more = "more" if self.total > 0 else "less"
        return f"is worth {abs(self.total) / 100:.2f} {more}{f': {said}' if said else ''}"

    def as_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`: the piece, its squares, and its terms in centipawns for its owner."""
        return {
            "name": self.name,
            "here": chess.square_name(self.here),
            "there": chess.square_name(self.there),
            "total_cp": self.total,
            "terms_cp": {name: cp for name, cp in self.terms.items() if abs(cp) >= MIN_TERM},
        }


class Reasons(NamedTuple):
    """Sentences, and the numbers that they are made from: all pieces that differ, the largest difference first."""

    sentences: tuple[str, ...]
    pieces: tuple[PieceDifference, ...] = ()


@dataclass(frozen=True)
class Followed:
    """Where a line leads: the position there, what each side has taken, and each piece's first square by its last.

    A piece that a pawn has become counts as that pawn when it is taken; `promoted` has those that are still there.
    """

    after: Position
    board: chess.Board
    taken: Mapping[chess.Color, Sequence[chess.PieceType]]
    origins: Mapping[chess.Square, chess.Square]
    promoted: Mapping[chess.Color, Sequence[chess.PieceType]]


def follow(position: Position, moves: Sequence[int]) -> Followed:
    """Make the moves of a line, all legal, on a copy of the position."""
    after, board = position.copy(), board_of(position)
    began = board.copy(stack=False)
    at = {square: square for square in board.piece_map()}
    taken: dict[chess.Color, list[chess.PieceType]] = {chess.WHITE: [], chess.BLACK: []}
    for move in moves:
        after.push(move)
        side, victim = _follow(board, as_chess_move(move, position.chess960), at)
        if victim is not None:
            taken[side].append(kind_at(began, victim))
    promoted: dict[chess.Color, list[chess.PieceType]] = {chess.WHITE: [], chess.BLACK: []}
    for square, origin in at.items():
        if kind_at(board, square) != kind_at(began, origin):
            promoted[board.color_at(square) == chess.WHITE].append(kind_at(board, square))
    return Followed(after, board, taken, at, promoted)


def along(position: Position, moves: Sequence[str]) -> tuple[list[chess.Move], list[chess.Board]]:
    """A line of legal moves, coordinates, for python-chess: its moves, the board before the first and after each."""
    made = [as_chess_move(move, position.chess960) for move in position.copy().push_all(moves)]
    return made, boards_along(board_of(position), made)


def told_plies(boards: Sequence[chess.Board]) -> int:
    """The plies of a line that sentences tell, by the boards along it: to mate or a draw, or where it settles; or 0."""
    is_over = boards[-1].is_checkmate() or drawing(boards[-1])
    return len(boards) - 1 if is_over else settled_plies(boards) or 0


def end_of(position: Position, moves: Sequence[str], by_terms: Evaluation) -> LineEnd:
    """The end of a line of legal moves, coordinates; `by_terms` has terms."""
    return end_after(position, position.copy().push_all(moves), by_terms)


def end_after(position: Position, moves: Sequence[int], by_terms: Evaluation) -> LineEnd:
    """The same of moves as a search finds them."""
    end = follow(position, moves)
    report = report_evaluation(end.after.record, "", by_terms)
    terms = {chess.parse_square(piece.square): piece.terms for piece in report.pieces}
    pieces = {origin: (square, terms[square]) for square, origin in end.origins.items()}
    unusual = {term.name for term in report.terms if term.weight and not is_usual(term.name, term.weight)}
    sides = {term.name: {chess.WHITE: term.white_cp, chess.BLACK: term.black_cp} for term in report.terms}
    return LineEnd(end.board, end.taken, end.promoted, pieces, sides, unusual)


def differences(end: LineEnd, other: LineEnd) -> list[PieceDifference]:
    """The pieces, the same at both ends, whose own terms differ enough to be named, the largest difference first."""
    found = []
    for origin in end.pieces.keys() & other.pieces.keys():
        piece = end.piece_at(origin)
        assert piece
        if piece != other.piece_at(origin):
            continue  # a pawn that has promoted in one of them
        mine, theirs = end.own_terms(origin), other.own_terms(origin)
        differing = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in (*mine, *theirs)}
        here, there = end.pieces[origin][0], other.pieces[origin][0]
        found.append(PieceDifference(piece, here, there, differing, end.unusual))
    found.sort(key=lambda each: (-abs(each.total), each.here))
    return [each for each in found if abs(each.total) >= MIN_PIECE]


def told(differing: Sequence[PieceDifference], most: int) -> list[PieceDifference]:
    """Those that sentences are about: at most so many, each with a reason that can be named."""
    return [each for each in differing if each.named][:most]


def _follow(
    board: chess.Board, move: chess.Move, at: dict[chess.Square, chess.Square]
) -> tuple[chess.Color, chess.Square | None]:
    """Make a move, keeping where each piece began (`at`, by its square); who made it, and where its victim began."""
    side, victim = board.turn, taken_on(board, move)
    origin = None if victim is None else at.pop(victim)
    rook = _castling_rook(board, move)
    board.push(move)
    if rook is None:
        at[move.to_square] = at.pop(move.from_square)
        return side, origin
    origins = at.pop(rook[0]), at.pop(move.from_square)
    king = board.king(side)
    assert king is not None
    at[rook[1]], at[king] = origins
    return side, origin


def _castling_rook(board: chess.Board, move: chess.Move) -> tuple[chess.Square, chess.Square] | None:
    """Where the rook of a castling move stands and where it goes; None for other moves."""
    if not board.is_castling(move):
        return None
    rank = chess.square_rank(move.from_square)
    is_short = chess.square_file(move.to_square) > chess.square_file(move.from_square)
    rooks = chess.SquareSet(board.clean_castling_rights()) & chess.BB_RANKS[rank]
    ours = [square for square in rooks if (square > move.from_square) == is_short]
    return ours[0], chess.square(5 if is_short else 3, rank)
