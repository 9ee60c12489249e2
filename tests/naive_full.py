"""The terms of the set `full` spelled out with python-chess: slow, obvious, and written from their sentences alone.

A term is a function of a board and a colour that says how much of the term that side has, before the group multiplier;
a table is one that lists the cells that it finds, each as often as it counts. Ranks run from 0 to 7 and are seen from
the side in question. `TERMS` lists them in the order of the set.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import chess

from tests import naive
from tests.naive import Term, name_for, rank_for, squares_of, step_ahead

MINORS = (chess.KNIGHT, chess.BISHOP)
PIECES = (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
ATTACK = {chess.KNIGHT: 2, chess.BISHOP: 2, chess.ROOK: 3, chess.QUEEN: 5}

Side = chess.Color
Square = chess.Square


class Table(NamedTuple):
    """A table: the multiplier of its group, and the names of the cells that a side has."""

    multiplier: float
    cells: Callable[[chess.Board, Side], Iterable[str]]


@lru_cache(maxsize=4)
def _attackers(placement: str, colour: Side) -> Counter[Square]:
    """How many pieces of a side attack each square."""
    board = chess.BaseBoard(placement)
    return Counter(to for origin in chess.SquareSet(board.occupied_co[colour]) for to in board.attacks(origin))


def attackers(board: chess.Board, colour: Side) -> Counter[Square]:
    """How many pieces of a side attack each square."""
    return _attackers(board.board_fen(), colour)


def attacked_by(board: chess.Board, colour: Side, *kinds: chess.PieceType) -> set[Square]:
    """The squares that a side's pieces of these types attack."""
    return {to for kind in kinds for origin in board.pieces(kind, colour) for to in board.attacks(origin)}


def squares_with(board: chess.Board, colour: Side, *kinds: chess.PieceType) -> set[Square]:
    """Where a side's pieces of these types stand."""
    return {square for kind in kinds for square in board.pieces(kind, colour)}


def ahead(colour: Side, square: Square) -> list[Square]:
    """The squares in front of one on its file."""
    file, rank = chess.square_file(square), chess.square_rank(square)
    return [chess.square(file, other) for other in (range(rank + 1, 8) if colour == chess.WHITE else range(rank))]


def behind(colour: Side, square: Square) -> list[Square]:
    """The squares behind one on its file."""
    return ahead(not colour, square)


def adjacent(square: Square) -> list[Square]:
    """The one or two squares left and right of one."""
    file = chess.square_file(square)
    return [square + step for step in (-1, 1) if 0 <= file + step <= 7]


def files_of(board: chess.Board, *colours: Side) -> set[int]:
    """The files with a pawn of these sides."""
    return {chess.square_file(pawn) for colour in colours for pawn in board.pieces(chess.PAWN, colour)}


def by_rank(colour: Side, pawns: Iterable[Square]) -> float:
    """The square of the rank over 7, summed over pawns."""
    return sum((rank_for(colour, pawn) / 7) ** 2 for pawn in pawns)


def pawns_of(board: chess.Board, colour: Side) -> list[Square]:
    """A side's pawns."""
    return squares_of(board, colour, chess.PAWN)


def guarded_by_pawn(board: chess.Board, colour: Side, square: Square) -> bool:
    """Whether a friendly pawn guards a square."""
    return square in attacked_by(board, colour, chess.PAWN)


def rank_name(colour: Side, square: Square) -> str:
    """The rank of a square as its side sees it, in the words of a cell."""
    return f"rank{rank_for(colour, square) + 1}"


def ranks(colour: Side, pawns: Iterable[Square]) -> list[str]:
    """The ranks of pawns, in the words of cells."""
    return [rank_name(colour, pawn) for pawn in pawns]


def edge_file(square: Square) -> str:
    """The file of a square; e to h are called as the one opposite."""
    file = chess.square_file(square)
    return "abcd"[min(file, 7 - file)]


# Squares


def by_square(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[str]:
    return [f"{edge_file(square)}{rank_for(colour, square) + 1}" for square in board.pieces(kind, colour)]


def from_king(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[str]:
    return [str(chess.square_distance(square, board.king(colour))) for square in board.pieces(kind, colour)]


# Material


def bishop_pair(board: chess.Board, colour: Side) -> float:
    return len({naive.is_light(bishop) for bishop in board.pieces(chess.BISHOP, colour)}) == 2


def knight_pawns(board: chess.Board, colour: Side) -> float:
    return len(board.pieces(chess.KNIGHT, colour)) * (len(pawns_of(board, colour)) - 5)


def rook_pawns(board: chess.Board, colour: Side) -> float:
    return len(board.pieces(chess.ROOK, colour)) * (len(pawns_of(board, colour)) - 5)


def tempo(board: chess.Board, colour: Side) -> float:
    return board.turn == colour


# Pawns


def isolated(board: chess.Board, colour: Side) -> list[Square]:
    files = files_of(board, colour)
    return [p for p in pawns_of(board, colour) if not {chess.square_file(p) - 1, chess.square_file(p) + 1} & files]


def open_ahead(board: chess.Board, colour: Side, pawns: Iterable[Square]) -> list[Square]:
    """The pawns with no enemy pawn ahead on their file."""
    enemies = set(pawns_of(board, not colour))
    return [pawn for pawn in pawns if not enemies.intersection(ahead(colour, pawn))]


def backward(board: chess.Board, colour: Side) -> list[Square]:
    own, found = set(pawns_of(board, colour)), []
    for pawn in set(own).difference(isolated(board, colour)):
        supporters = {square for near in adjacent(pawn) for square in (near, *behind(colour, near))}
        stopped = guarded_by_pawn(board, not colour, step_ahead(colour, pawn))
        if not own & supporters and stopped:
            found.append(pawn)
    return found


def pawn_isolated_open(board: chess.Board, colour: Side) -> float:
    return len(open_ahead(board, colour, isolated(board, colour)))


def phalanx(board: chess.Board, colour: Side) -> list[Square]:
    own = set(pawns_of(board, colour))
    return [pawn for pawn in own if own.intersection(adjacent(pawn))]


def supported(board: chess.Board, colour: Side) -> list[Square]:
    return [pawn for pawn in pawns_of(board, colour) if guarded_by_pawn(board, colour, pawn)]


def pawn_islands(board: chess.Board, colour: Side) -> float:
    files = files_of(board, colour)
    return sum(file - 1 not in files for file in files)


def pawn_candidate(board: chess.Board, colour: Side) -> float:
    near = {*phalanx(board, colour), *supported(board, colour)} - set(passed(board, colour))
    return by_rank(colour, open_ahead(board, colour, near))


# Passed pawns


def passed(board: chess.Board, colour: Side) -> list[Square]:
    enemies, own = set(pawns_of(board, not colour)), pawns_of(board, colour)
    ways = [{square for start in (pawn, *adjacent(pawn)) for square in ahead(colour, start)} for pawn in own]
    return [pawn for pawn, way in zip(own, ways, strict=True) if not way & enemies]


def passed_where(
    board: chess.Board, colour: Side, holds: Callable[[Square], bool]
) -> float:  # the square ahead of the pawn, as argument
    return by_rank(colour, [p for p in passed(board, colour) if holds(step_ahead(colour, p))])


def passed_free(board: chess.Board, colour: Side) -> float:
    return passed_where(board, colour, lambda square: board.piece_at(square) is None)


def passed_safe(board: chess.Board, colour: Side) -> float:
    return passed_where(board, colour, lambda square: not attackers(board, not colour)[square])


def passed_path(board: chess.Board, colour: Side) -> float:
    enemies = squares_with(board, not colour, chess.PAWN, *PIECES)

    def is_clear(square: Square) -> bool:
        way = [square, *ahead(colour, square)]
        return not enemies.intersection(way) and not any(attackers(board, not colour)[step] for step in way)

    return passed_where(board, colour, is_clear)


def passed_connected(board: chess.Board, colour: Side) -> float:
    pawns = passed(board, colour)

    def is_near(one: Square, other: Square) -> bool:
        files = abs(chess.square_file(one) - chess.square_file(other))
        return files == 1 and abs(chess.square_rank(one) - chess.square_rank(other)) <= 1

    return by_rank(colour, [one for one in pawns if any(is_near(one, other) for other in pawns)])


def by_steps(board: chess.Board, colour: Side, whose: Side) -> list[str]:
    """For each passed pawn its rank, 4 at least, and the steps of a king to the square ahead, 5 at most."""
    found = []
    for pawn in passed(board, colour):
        steps = chess.square_distance(step_ahead(colour, pawn), board.king(whose))
        found.append(f"rank{max(4, rank_for(colour, pawn) + 1)}_steps{min(5, steps)}")
    return found


def passed_rook(board: chess.Board, colour: Side) -> float:
    rooks = squares_with(board, colour, chess.ROOK)
    return sum(bool(rooks.intersection(behind(colour, pawn))) for pawn in passed(board, colour))


# Pieces


def outposts(board: chess.Board, colour: Side) -> set[Square]:
    """Squares on ranks 4 to 6 that a friendly pawn guards and no enemy pawn can ever attack."""
    own, enemies = attacked_by(board, colour, chess.PAWN), pawns_of(board, not colour)
    ever = {square for pawn in enemies for near in adjacent(pawn) for square in behind(colour, near)}
    return {square for square in own - ever if 3 <= rank_for(colour, square) <= 5}


def knight_outpost(board: chess.Board, colour: Side) -> float:
    return len(outposts(board, colour) & squares_with(board, colour, chess.KNIGHT))


def bishop_outpost(board: chess.Board, colour: Side) -> float:
    return len(outposts(board, colour) & squares_with(board, colour, chess.BISHOP))


def knight_reach(board: chess.Board, colour: Side) -> float:
    reached = outposts(board, colour) & attacked_by(board, colour, chess.KNIGHT)
    return sum(board.piece_at(square) is None for square in reached)


def minor_behind_pawn(board: chess.Board, colour: Side) -> float:
    pawns = squares_with(board, chess.WHITE, chess.PAWN) | squares_with(board, chess.BLACK, chess.PAWN)
    return sum(step_ahead(colour, minor) in pawns for minor in inner(colour, squares_with(board, colour, *MINORS)))


def inner(colour: Side, squares: Iterable[Square]) -> list[Square]:
    """The squares that are not on the last rank, which has none ahead."""
    return [square for square in squares if rank_for(colour, square) < 7]


def rook_open(board: chess.Board, colour: Side) -> float:
    files = files_of(board, *chess.COLORS)
    return sum(chess.square_file(rook) not in files for rook in board.pieces(chess.ROOK, colour))


def rook_half_open(board: chess.Board, colour: Side) -> float:
    files = files_of(board, not colour) - files_of(board, colour)
    return sum(chess.square_file(rook) in files for rook in board.pieces(chess.ROOK, colour))


def safe_squares(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[int]:
    """How many safe squares each piece of a type attacks: no friendly pawn or king there, no attack by enemy pawns."""
    closed = squares_with(board, colour, chess.PAWN, chess.KING) | attacked_by(board, not colour, chess.PAWN)
    return [len(set(board.attacks(square)) - closed) for square in board.pieces(kind, colour)]


def reach(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[str]:
    return [str(count) for count in safe_squares(board, colour, kind)]


def space_squares(board: chess.Board, colour: Side) -> set[Square]:
    """Squares on ranks 2 to 4 of files c to f without a friendly pawn."""
    names = {file + rank for file in "cdef" for rank in "234"}
    own = set(pawns_of(board, colour))
    return {square for square in chess.SQUARES if name_for(colour, square) in names} - own


def space(board: chess.Board, colour: Side) -> float:
    shielded = {square for pawn in pawns_of(board, colour) for square in behind(colour, pawn)}
    return sum(not attackers(board, not colour)[square] for square in space_squares(board, colour) & shielded)


# Threats


def threats(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[str]:
    """What pieces of a type attack: the enemy's kind, and whether a pawn guards it, another piece, or nobody."""
    found = []
    for square in attacked_by(board, colour, kind) & squares_with(board, not colour, chess.PAWN, *PIECES):
        target = board.piece_type_at(square)
        name = "minor" if target in MINORS else chess.piece_name(target)
        guard = "guarded" if attackers(board, not colour)[square] else "loose"
        guard = "by_pawn" if guarded_by_pawn(board, not colour, square) else guard
        if target != chess.PAWN or guard == "loose":
            found.append(f"{name}_{guard}")
    return found


def loose_targets(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[str]:
    """What pieces of a type attack and nobody guards."""
    return [name.removesuffix("_loose") for name in threats(board, colour, kind) if name.endswith("_loose")]


def threat_by_push(board: chess.Board, colour: Side) -> float:
    steps = [step_ahead(colour, pawn) for pawn in pawns_of(board, colour)]
    steps = [s for s in steps if board.piece_at(s) is None and not guarded_by_pawn(board, not colour, s)]
    reached = {to for step in steps for to in adjacent(step_ahead(colour, step)) if rank_for(colour, step) < 7}
    return len(reached & squares_with(board, not colour, *PIECES))


def hanging(board: chess.Board, colour: Side) -> float:
    pieces = squares_with(board, not colour, *PIECES)
    return sum(attackers(board, colour)[s] > 0 and attackers(board, not colour)[s] == 0 for s in pieces)


def contested(board: chess.Board, colour: Side) -> float:
    both = set(attackers(board, colour)) & set(attackers(board, not colour))
    return len(both - attacked_by(board, not colour, chess.PAWN))


def controlled(board: chess.Board, colour: Side) -> float:
    return len(set(attackers(board, colour)) - set(attackers(board, not colour)))


# Kings


def ring(board: chess.Board, colour: Side) -> set[Square]:
    """The squares next to the king of a side."""
    return set(board.attacks(board.king(colour)))


def ring_attacks(board: chess.Board, colour: Side) -> list[tuple[chess.PieceType, int]]:
    """The pieces that attack squares next to the enemy king: the type of each, and how many it attacks."""
    found = [
        (kind, len(set(board.attacks(square)) & ring(board, not colour)))
        for kind in PIECES
        for square in board.pieces(kind, colour)
    ]
    return [(kind, count) for kind, count in found if count]


def king_ring(board: chess.Board, colour: Side) -> float:
    return sum(count for _, count in ring_attacks(board, colour))


def king_ring_weak(board: chess.Board, colour: Side) -> float:
    near = ring(board, not colour) & set(attackers(board, colour))
    return sum(attackers(board, not colour)[square] < 2 for square in near)


def safe_checks(board: chess.Board, colour: Side, kind: chess.PieceType) -> float:
    """Squares where a piece of this type could go and give check, without an own piece and not attacked."""
    bare = board.copy(stack=False)
    bare.set_piece_at(board.king(not colour), chess.Piece(kind, not colour))
    lines = set(bare.attacks(board.king(not colour)))
    found = lines & attacked_by(board, colour, kind) - set(attackers(board, not colour))
    return sum(board.color_at(square) != colour for square in found)


def king_attack(board: chess.Board, colour: Side) -> list[str]:
    found = ring_attacks(board, colour)
    if len(found) < 2:
        return []
    checks = sum(safe_checks(board, colour, kind) for kind in PIECES)
    units = sum(ATTACK[kind] + count for kind, count in found) + king_ring_weak(board, colour) + 3 * checks
    return [str(min(30, int(units)) // 3 * 3)]


def near_files(board: chess.Board, colour: Side) -> list[int]:
    """The files of a king and the adjacent files."""
    file = chess.square_file(board.king(colour))
    return [other for other in (file - 1, file, file + 1) if 0 <= other <= 7]


def nearest(board: chess.Board, colour: Side, whose: Side, file: int) -> Square | None:
    """The first pawn of a side on a file as seen from the own back rank, of those not behind the own king."""
    king = rank_for(colour, board.king(colour))
    found = [p for p in pawns_of(board, whose) if chess.square_file(p) == file and rank_for(colour, p) >= king]
    return min(found, key=lambda pawn: rank_for(colour, pawn), default=None)


def king_shelter(board: chess.Board, colour: Side) -> list[str]:
    found = []
    for file in near_files(board, colour):
        pawn = nearest(board, colour, colour, file)
        found.append(f"{edge_file(file)}_{'none' if pawn is None else rank_name(colour, pawn)}")
    return found


def king_storm(board: chess.Board, colour: Side) -> list[str]:
    found = []
    for file in near_files(board, colour):
        enemy, own = nearest(board, colour, not colour, file), nearest(board, colour, colour, file)
        is_blocked = enemy is not None and own is not None and step_ahead(colour, own) == enemy
        rank = "none" if enemy is None else rank_name(colour, enemy)
        found.append(f"{'blocked' if is_blocked else edge_file(file)}_{rank}")
    return found


def king_flank(board: chess.Board, colour: Side) -> float:
    is_queenside = chess.square_file(board.king(colour)) < 4
    return all((file < 4) != is_queenside for file in files_of(board, *chess.COLORS))


def of_kind(count: Callable[..., Any], kind: chess.PieceType) -> Callable[[chess.Board, Side], Any]:
    """A count, or cells, of one type of piece."""
    return lambda board, colour: count(board, colour, kind)


_MATERIAL, _STRUCTURE, _PASSED, _CONTROL, _MOBILITY, _SAFETY, _THREATS = 1.0, 0.8, 1.2, 1.2, 0.8, 1.0, 1.0


def _terms(multiplier: float, **counts: Callable[[chess.Board, Side], float]) -> dict[str, Term | Table]:
    return {name: Term(multiplier, "always", count) for name, count in counts.items()}


def _tables(multiplier: float, **cells: Callable[[chess.Board, Side], Iterable[str]]) -> dict[str, Term | Table]:
    return {name: Table(multiplier, found) for name, found in cells.items()}


def _of_each(found: Callable[..., Any], ending: str, *kinds: chess.PieceType) -> dict[str, Any]:
    """The same for several types of pieces, by the name of the piece and this ending."""
    return {chess.piece_name(kind).capitalize() + ending: of_kind(found, kind) for kind in kinds}


TERMS: dict[str, Term | Table] = {
    **_terms(
        _MATERIAL,
        PawnValue=naive.pawn_value,
        KnightValue=naive.knight_value,
        BishopValue=naive.bishop_value,
        RookValue=naive.rook_value,
        QueenValue=naive.queen_value,
        BishopPair=bishop_pair,
        KnightPawns=knight_pawns,
        RookPawns=rook_pawns,
    ),
    **_terms(_CONTROL, Tempo=tempo),
    **_terms(
        _STRUCTURE,
        PawnDoubled=naive.pawn_doubled,
        PawnIsolated=lambda board, colour: len(isolated(board, colour)),
        PawnIsolatedOpen=pawn_isolated_open,
        PawnBackward=lambda board, colour: len(backward(board, colour)),
    ),
    **_tables(
        _STRUCTURE,
        PawnPhalanx=lambda board, colour: ranks(colour, phalanx(board, colour)),
        PawnSupported=lambda board, colour: ranks(colour, supported(board, colour)),
    ),
    **_terms(_STRUCTURE, PawnIslands=pawn_islands),
    **_terms(_PASSED, PawnCandidate=pawn_candidate),
    **_tables(_PASSED, PassedPawn=lambda board, colour: ranks(colour, passed(board, colour))),
    **_terms(
        _PASSED,
        PassedFree=passed_free,
        PassedSafe=passed_safe,
        PassedPath=passed_path,
        PassedConnected=passed_connected,
    ),
    **_tables(
        _PASSED,
        PassedEnemyKing=lambda board, colour: by_steps(board, colour, not colour),
        PassedOwnKing=lambda board, colour: by_steps(board, colour, colour),
    ),
    **_terms(_PASSED, PassedRook=passed_rook, PassedSquare=partial(naive.pawn_passed_square, passed=passed)),
    **_terms(
        _CONTROL,
        KnightOutpost=knight_outpost,
        KnightReach=knight_reach,
        BishopOutpost=bishop_outpost,
        MinorBehindPawn=minor_behind_pawn,
        Rook7th=naive.rook_seventh,
        RookOpen=rook_open,
        RookHalfOpen=rook_half_open,
    ),
    **_tables(_MOBILITY, **_of_each(reach, "Mobility", *PIECES)),
    **_terms(_CONTROL, Space=space),
    **_tables(_STRUCTURE, **_of_each(by_square, "Square", chess.PAWN)),
    **_tables(_CONTROL, **_of_each(by_square, "Square", *PIECES)),
    **_tables(
        _SAFETY, **_of_each(by_square, "Square", chess.KING), **_of_each(from_king, "FromKing", chess.PAWN, *PIECES)
    ),
    **_tables(_THREATS, **_of_each(threats, "Threat", chess.PAWN, *MINORS, chess.ROOK)),
    **_tables(_THREATS, **_of_each(loose_targets, "Threat", chess.QUEEN, chess.KING)),
    **_terms(_THREATS, ThreatByPush=threat_by_push, Hanging=hanging),
    **_terms(_CONTROL, Contested=contested, Controlled=controlled),
    **_terms(
        _SAFETY,
        KingRing=king_ring,
        KingRingWeak=king_ring_weak,
        SafeKnightCheck=of_kind(safe_checks, chess.KNIGHT),
        SafeBishopCheck=of_kind(safe_checks, chess.BISHOP),
        SafeRookCheck=of_kind(safe_checks, chess.ROOK),
        SafeQueenCheck=of_kind(safe_checks, chess.QUEEN),
    ),
    **_tables(_SAFETY, KingAttack=king_attack),
    **_terms(_SAFETY, QueenTropism=partial(naive.queen_king_tropism, near=1)),
    **_tables(_SAFETY, KingShelter=king_shelter, KingStorm=king_storm),
    **_terms(_SAFETY, KingFlank=king_flank),
}
