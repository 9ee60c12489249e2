"""The evaluation spelled out with python-chess: slow, obvious, and written from GreKo's definitions alone.

A term is a function of a board and a colour that says how much of the term that side has, before phase share and
group multiplier. Ranks run from 0 to 7 and are seen from the side in question. `TERMS` lists them in the article's
order.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import chess

FULL_SET = 32
Passed = Callable[[chess.Board, chess.Color], list[chess.Square]]  # which pawns are passed
UNITS = {chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 10}

FULL_CENTER = {"d4", "e4", "d5", "e5", "d6", "e6"}
HALF_CENTER = {"c3", "d3", "e3", "f3", "c4", "f4", "c5", "f5"}
OUTPOSTS = {"d6", "e6", "c5", "d5", "e5", "f5", "b4", "c4", "d4", "e4", "f4", "g4"}


def parabola(x: float, vertex: tuple[float, float], point: tuple[float, float]) -> float:
    """The parabola with its vertex at one point, through another."""
    (x0, v0), (x1, v1) = vertex, point
    return v0 + (v1 - v0) * ((x - x0) / (x1 - x0)) ** 2


def rank_for(colour: chess.Color, square: chess.Square) -> int:
    """The rank of a square, 0 being the side's own first rank."""
    rank = chess.square_rank(square)
    return rank if colour == chess.WHITE else 7 - rank


def name_for(colour: chess.Color, square: chess.Square) -> str:
    """What the square would be called if the side were White."""
    return chess.square_name(square if colour == chess.WHITE else chess.square_mirror(square))


def step_ahead(colour: chess.Color, square: chess.Square) -> chess.Square:
    """The square in front of a pawn."""
    return square + 8 if colour == chess.WHITE else square - 8


def squares_of(board: chess.Board, colour: chess.Color, kind: chess.PieceType) -> list[chess.Square]:
    """Where a side's pieces of one type stand."""
    return list(board.pieces(kind, colour))


def pawn_ranks(board: chess.Board, colour: chess.Color, file: int, viewer: chess.Color) -> list[int]:
    """The ranks, seen by `viewer`, of the pawns of `colour` on a file; none on a file off the board."""
    pawns = squares_of(board, colour, chess.PAWN)
    return sorted(rank_for(viewer, pawn) for pawn in pawns if chess.square_file(pawn) == file)


def center(square: chess.Square) -> int:
    """3 on the four squares in the middle, down to -3 in a corner."""
    file, rank = chess.square_file(square), chess.square_rank(square)
    return 3 - min(abs(file - 3), abs(file - 4)) - min(abs(rank - 3), abs(rank - 4))


def units(board: chess.Board, colour: chess.Color) -> int:
    """A side's pieces without pawns: N = B = 3, R = 5, Q = 10."""
    return sum(worth * len(squares_of(board, colour, kind)) for kind, worth in UNITS.items())


def number_of(kind: chess.PieceType) -> Callable[[chess.Board, chess.Color], float]:
    """The number of a side's pieces of one type."""
    return lambda board, colour: len(squares_of(board, colour, kind))


pawn_value, knight_value, bishop_value, rook_value, queen_value = map(number_of, range(chess.PAWN, chess.KING))


def pawn_doubled(board: chess.Board, colour: chess.Color) -> float:
    """Each pawn that is not the rearmost friendly pawn of its file."""
    return sum(max(0, len(pawn_ranks(board, colour, file, colour)) - 1) for file in range(8))


def pawn_isolated(board: chess.Board, colour: chess.Color) -> float:
    """Each pawn without a friendly pawn on either adjacent file."""
    count = 0
    for pawn in squares_of(board, colour, chess.PAWN):
        file = chess.square_file(pawn)
        count += not pawn_ranks(board, colour, file - 1, colour) and not pawn_ranks(board, colour, file + 1, colour)
    return count


def pawn_backwards(board: chess.Board, colour: chess.Color) -> float:
    """Each pawn that has neighbours, the rearmost on each file of which is strictly ahead of it."""
    count = 0
    for pawn in squares_of(board, colour, chess.PAWN):
        file = chess.square_file(pawn)
        adjacent = [pawn_ranks(board, colour, neighbour, colour) for neighbour in (file - 1, file + 1)]
        rearmost = [ranks[0] for ranks in adjacent if ranks]
        count += bool(rearmost) and all(rank > rank_for(colour, pawn) for rank in rearmost)
    return count


def pawn_center(board: chess.Board, colour: chess.Color) -> float:
    """One for each pawn in the centre, a half for each next to it."""
    names = [name_for(colour, pawn) for pawn in squares_of(board, colour, chess.PAWN)]
    return sum(1.0 if name in FULL_CENTER else 0.5 if name in HALF_CENTER else 0.0 for name in names)


def passed_pawns(board: chess.Board, colour: chess.Color) -> list[chess.Square]:
    """Pawns with no enemy pawn anywhere on their file and none strictly ahead on the adjacent files."""
    passed = []
    for pawn in squares_of(board, colour, chess.PAWN):
        file, rank = chess.square_file(pawn), rank_for(colour, pawn)
        ahead = [
            enemy_rank
            for neighbour in (file - 1, file + 1)
            for enemy_rank in pawn_ranks(board, not colour, neighbour, colour)
            if enemy_rank > rank
        ]
        if not pawn_ranks(board, not colour, file, colour) and not ahead:
            passed.append(pawn)
    return passed


def pawn_passed(board: chess.Board, colour: chess.Color, is_free: bool) -> float:
    """The curve of the rank of each passed pawn that can step forward, or that has anything in front of it."""
    passed = passed_pawns(board, colour)
    pawns = [pawn for pawn in passed if (board.piece_at(step_ahead(colour, pawn)) is None) == is_free]
    return sum(parabola(rank_for(colour, pawn), (0, 0), (7, 1)) for pawn in pawns)


def pawn_passed_king_distance(board: chess.Board, colour: chess.Color) -> float:
    """The enemy king's steps to the square in front of each passed pawn, while the enemy has few pieces."""
    if not 0 < units(board, not colour) < 10:
        return 0
    king = board.king(not colour)
    return sum(chess.square_distance(step_ahead(colour, pawn), king) for pawn in passed_pawns(board, colour))


def pawn_passed_square(board: chess.Board, colour: chess.Color, passed: Passed = passed_pawns) -> float:
    """The sixths of its rank of each passed pawn that the enemy king, who has no pieces left, cannot catch."""
    if units(board, not colour) != 0:
        return 0
    king = board.king(not colour)
    total = 0.0
    for pawn in passed(board, colour):
        rank = rank_for(colour, pawn) - (0 if board.turn == colour else 1)
        files_apart = abs(chess.square_file(pawn) - chess.square_file(king))
        is_inside = files_apart <= 7 - rank and rank <= rank_for(colour, king) <= 7
        if not is_inside:
            total += rank / 6
    return total


def knight_center(board: chess.Board, colour: chess.Color) -> float:
    return sum(center(knight) / 3 for knight in squares_of(board, colour, chess.KNIGHT))


def knight_outpost(board: chess.Board, colour: chess.Color) -> float:
    """Knights on the outpost squares that a friendly pawn defends."""
    count = 0
    for knight in squares_of(board, colour, chess.KNIGHT):
        defenders = [board.piece_type_at(square) for square in board.attackers(colour, knight)]
        count += name_for(colour, knight) in OUTPOSTS and chess.PAWN in defenders
    return count


def knight_mobility(board: chess.Board, colour: chess.Color) -> float:
    """The curve of the number of squares each knight would have on an empty board."""
    total = 0.0
    for knight in squares_of(board, colour, chess.KNIGHT):
        alone = chess.Board(None)
        alone.set_piece_at(knight, chess.Piece(chess.KNIGHT, colour))
        total += parabola(len(alone.attacks(knight)), (8, 1), (2, -1))
    return total


def bishop_pair(board: chess.Board, colour: chess.Color) -> float:
    return 1 if len(squares_of(board, colour, chess.BISHOP)) == 2 else 0


def bishop_center(board: chess.Board, colour: chess.Color) -> float:
    return sum(center(bishop) / 3 for bishop in squares_of(board, colour, chess.BISHOP))


def bishop_mobility(board: chess.Board, colour: chess.Color) -> float:
    """The curve of the number of squares each bishop attacks."""
    bishops = squares_of(board, colour, chess.BISHOP)
    return sum(parabola(len(board.attacks(bishop)), (13, 1), (1, -1)) for bishop in bishops)


def rook_seventh(board: chess.Board, colour: chess.Color) -> float:
    return sum(1 for rook in squares_of(board, colour, chess.ROOK) if rank_for(colour, rook) == 6)


def rook_open(board: chess.Board, colour: chess.Color) -> float:
    rooks = squares_of(board, colour, chess.ROOK)
    return sum(1 for rook in rooks if not pawn_ranks(board, colour, chess.square_file(rook), colour))


def rook_mobility(board: chess.Board, colour: chess.Color) -> float:
    """The curve of the number of squares each rook attacks when the side's other rooks are taken off the board."""
    total = 0.0
    for rook in squares_of(board, colour, chess.ROOK):
        without = board.copy(stack=False)
        for other in squares_of(board, colour, chess.ROOK):
            if other != rook:
                without.remove_piece_at(other)
        total += parabola(len(without.attacks(rook)), (14, 1), (2, -1))
    return total


def queen_king_tropism(board: chess.Board, colour: chess.Color, near: int = 2) -> float:
    """The curve of each queen's distance to the enemy king, from 7 steps to `near`."""
    king, queens = board.king(not colour), squares_of(board, colour, chess.QUEEN)
    return sum(parabola(chess.square_distance(queen, king), (7, 0), (near, 1)) for queen in queens)


def king_exposed(board: chess.Board, colour: chess.Color) -> float:
    """A quarter on a1, d1, f1, h1, nothing on b1, c1, e1, g1, a half on the second rank, else one."""
    name = name_for(colour, board.king(colour))
    if name in {"b1", "c1", "e1", "g1"}:
        return 0
    if name in {"a1", "d1", "f1", "h1"}:
        return 1 / 4
    return 2 / 4 if name[1] == "2" else 4 / 4


def king_center(board: chess.Board, colour: chess.Color) -> float:
    return center(board.king(colour)) / 3


def king_shield(board: chess.Board, colour: chess.Color) -> float:
    """Minus the curve of how far the rearmost pawns of the three files around the king have left him."""
    file = chess.square_file(board.king(colour))
    missing = 0
    for near in (file - 1, file, file + 1):
        ranks = pawn_ranks(board, colour, near, colour)
        missing += {1: 0, 2: 1, 3: 2}.get(ranks[0] if ranks else 7, 3)
    return -parabola(missing, (0, 0), (9, 1))


class Term(NamedTuple):
    """How a count becomes centipawns: its group's multiplier, its phase, the count itself."""

    multiplier: float
    phase: str
    count: Callable[[chess.Board, chess.Color], float]


MATERIAL, CONTROL, MOBILITY, STRUCTURE, PASSED, SAFETY = 50 / 50, 60 / 50, 40 / 50, 40 / 50, 60 / 50, 50 / 50

TERMS = {
    "VAL_P": Term(MATERIAL, "always", pawn_value),
    "VAL_N": Term(MATERIAL, "always", knight_value),
    "VAL_B": Term(MATERIAL, "always", bishop_value),
    "VAL_R": Term(MATERIAL, "always", rook_value),
    "VAL_Q": Term(MATERIAL, "always", queen_value),
    "PawnDoubled": Term(STRUCTURE, "always", pawn_doubled),
    "PawnIsolated": Term(STRUCTURE, "always", pawn_isolated),
    "PawnBackwards": Term(STRUCTURE, "always", pawn_backwards),
    "PawnCenter": Term(STRUCTURE, "always", pawn_center),
    "PawnPassedFreeMax": Term(PASSED, "always", partial(pawn_passed, is_free=True)),
    "PawnPassedBlockedMax": Term(PASSED, "always", partial(pawn_passed, is_free=False)),
    "PawnPassedKingDist": Term(PASSED, "always", pawn_passed_king_distance),
    "PawnPassedSquare": Term(PASSED, "always", pawn_passed_square),
    "KnightCenter": Term(CONTROL, "always", knight_center),
    "KnightOutpost": Term(CONTROL, "always", knight_outpost),
    "KnightMobility": Term(MOBILITY, "always", knight_mobility),
    "BishopPairMidgame": Term(MATERIAL, "middlegame", bishop_pair),
    "BishopPairEndgame": Term(MATERIAL, "endgame", bishop_pair),
    "BishopCenter": Term(CONTROL, "always", bishop_center),
    "BishopMobility": Term(MOBILITY, "always", bishop_mobility),
    "Rook7th": Term(CONTROL, "always", rook_seventh),
    "RookOpen": Term(CONTROL, "always", rook_open),
    "RookMobility": Term(MOBILITY, "always", rook_mobility),
    "QueenKingTropism": Term(SAFETY, "always", queen_king_tropism),
    "KingCenterMid": Term(SAFETY, "middlegame", king_exposed),
    "KingCenterEnd": Term(CONTROL, "endgame", king_center),
    "KingPawnShield": Term(SAFETY, "middlegame", king_shield),
}


def share(board: chess.Board, colour: chess.Color, phase: str) -> float:
    """How much a term of this phase counts for a side, by the pieces its opponent has."""
    middlegame = units(board, not colour) / FULL_SET
    return {"always": 1.0, "middlegame": middlegame, "endgame": 1.0 - middlegame}[phase]


def feature(board: chess.Board, colour: chess.Color, name: str) -> float:
    """A side's count of a term with phase share and group multiplier: what its weight is multiplied by."""
    term = TERMS[name]
    return term.multiplier * share(board, colour, term.phase) * term.count(board, colour)


def material(board: chess.Board, colour: chess.Color) -> str:
    """A side's men in letters, "KBP"."""
    return "".join(
        letter * len(squares_of(board, colour, kind)) for letter, kind in zip("KQRBNP", range(6, 0, -1), strict=True)
    )


def is_light(square: chess.Square) -> bool:
    """Whether a square is light."""
    return (chess.square_file(square) + chess.square_rank(square)) % 2 == 1


def is_wrong_bishop(board: chess.Board, strong: chess.Color) -> bool:
    """King, bishop and rook pawn against a king on one of the corner squares that the bishop does not guard."""
    if material(board, strong) != "KBP" or material(board, not strong) != "K":
        return False
    (pawn,), (bishop,) = squares_of(board, strong, chess.PAWN), squares_of(board, strong, chess.BISHOP)
    file = chess.square_file(pawn)
    corner = chess.square(file, 7 if strong == chess.WHITE else 0)
    is_near = chess.square_distance(board.king(not strong), corner) <= 1
    return file in (0, 7) and is_near and is_light(bishop) != is_light(corner)


def is_known_draw(board: chess.Board) -> bool:
    """A lone minor, minor against minor, or the wrong bishop."""
    if any(is_wrong_bishop(board, colour) for colour in chess.COLORS):
        return True
    has_pawns = any(squares_of(board, colour, chess.PAWN) for colour in chess.COLORS)
    return not has_pawns and all(units(board, colour) < 5 for colour in chess.COLORS)


def cannot_win(board: chess.Board, colour: chess.Color) -> bool:
    """No pawns and less than a rook, or two knights on a board without pawns."""
    are_two_knights = material(board, colour) == "KNN" and not board.pawns
    return are_two_knights or (not squares_of(board, colour, chess.PAWN) and units(board, colour) < 5)


def are_opposite_bishops(board: chess.Board) -> bool:
    """One bishop each and no other pieces, on squares of different colour."""
    if any(material(board, colour).rstrip("P") != "KB" for colour in chess.COLORS):
        return False
    (one,), (other,) = (squares_of(board, colour, chess.BISHOP) for colour in chess.COLORS)
    return is_light(one) != is_light(other)


def after_rules(board: chess.Board, score: float) -> float:
    """White's score after the draw rules."""
    if is_known_draw(board):
        return 0.0
    if (score > 0 and cannot_win(board, chess.WHITE)) or (score < 0 and cannot_win(board, chess.BLACK)):
        return 0.0
    return score / 2 if are_opposite_bishops(board) else score


def evaluate(board: chess.Board, weights: Mapping[str, float]) -> float:
    """The score for the side to move, not rounded."""
    score = sum(
        weights[name] * (feature(board, chess.WHITE, name) - feature(board, chess.BLACK, name)) for name in TERMS
    )
    score = after_rules(board, score)
    return score if board.turn == chess.WHITE else -score
