"""The terms of the set `full` spelled out with python-chess: slow, obvious, and written from their sentences alone.

A term is a function of a board and a colour that says how much of the term that side has, before the group multiplier.
Ranks run from 0 to 7 and are seen from the side in question. `TERMS` lists them in the order of the set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

import chess

from tests import naive
from tests.naive import Term, center, name_for, parabola, rank_for, squares_of, step_ahead, units

MINORS = (chess.KNIGHT, chess.BISHOP)
PIECES = (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
ATTACK = {chess.KNIGHT: 2, chess.BISHOP: 2, chess.ROOK: 3, chess.QUEEN: 5}
MOST_SAFE = {chess.KNIGHT: 8, chess.BISHOP: 13, chess.ROOK: 14, chess.QUEEN: 27}

Side = chess.Color
Square = chess.Square


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
    ranks = range(rank + 1, 8) if colour == chess.WHITE else range(rank)
    return [chess.square(file, other) for other in ranks]


def behind(colour: Side, square: Square) -> list[Square]:
    """The squares behind one on its file."""
    return ahead(not colour, square)


def beside(square: Square) -> list[Square]:
    """The one or two squares left and right of one."""
    file = chess.square_file(square)
    return [square + step for step in (-1, 1) if 0 <= file + step <= 7]


def files_of(board: chess.Board, *colours: Side) -> set[int]:
    """The files with a pawn of these sides."""
    return {chess.square_file(pawn) for colour in colours for pawn in board.pieces(chess.PAWN, colour)}


def by_rank(colour: Side, pawns: Iterable[Square]) -> float:
    """The square of the rank over 7, summed over pawns."""
    return sum((rank_for(colour, pawn) / 7) ** 2 for pawn in pawns)


def file_share(square: Square) -> float:
    """0 on the edge files, 1 on the two in the middle."""
    file = chess.square_file(square)
    return min(file, 7 - file) / 3


def rank_sum(board: chess.Board, colour: Side, kind: chess.PieceType) -> float:
    """The ranks of a side's pieces of a type over 7, summed."""
    return sum(rank_for(colour, square) / 7 for square in board.pieces(kind, colour))


def center_sum(board: chess.Board, colour: Side, kind: chess.PieceType) -> float:
    """How near the centre a side's pieces of a type stand, summed."""
    return sum(center(square) / 3 for square in board.pieces(kind, colour))


def pawns_of(board: chess.Board, colour: Side) -> list[Square]:
    """A side's pawns."""
    return squares_of(board, colour, chess.PAWN)


def guarded_by_pawn(board: chess.Board, colour: Side, square: Square) -> bool:
    """Whether an own pawn guards a square."""
    return square in attacked_by(board, colour, chess.PAWN)


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
        supporters = {square for near in beside(pawn) for square in (near, *behind(colour, near))}
        stopped = guarded_by_pawn(board, not colour, step_ahead(colour, pawn))
        if not own & supporters and stopped:
            found.append(pawn)
    return found


def pawn_isolated_open(board: chess.Board, colour: Side) -> float:
    return len(open_ahead(board, colour, isolated(board, colour)))


def phalanx(board: chess.Board, colour: Side) -> list[Square]:
    own = set(pawns_of(board, colour))
    return [pawn for pawn in own if own.intersection(beside(pawn))]


def supported(board: chess.Board, colour: Side) -> list[Square]:
    return [pawn for pawn in pawns_of(board, colour) if guarded_by_pawn(board, colour, pawn)]


def pawn_islands(board: chess.Board, colour: Side) -> float:
    files = files_of(board, colour)
    return sum(file - 1 not in files for file in files)


def pawn_candidate(board: chess.Board, colour: Side) -> float:
    near = {*phalanx(board, colour), *supported(board, colour)} - set(passed(board, colour))
    return by_rank(colour, open_ahead(board, colour, near))


def pawn_advance(board: chess.Board, colour: Side) -> float:
    return sum((rank_for(colour, pawn) - 1) / 5 for pawn in pawns_of(board, colour))


def pawn_file(board: chess.Board, colour: Side) -> float:
    return sum(file_share(pawn) for pawn in pawns_of(board, colour))


# Passed pawns


def passed(board: chess.Board, colour: Side) -> list[Square]:
    enemies, found = set(pawns_of(board, not colour)), []
    for pawn in pawns_of(board, colour):
        way = {square for start in (pawn, *beside(pawn)) for square in ahead(colour, start)}
        if not way & enemies:
            found.append(pawn)
    return found


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


def passed_king(board: chess.Board, colour: Side, whose: Side) -> float:
    king = board.king(whose)
    return sum(
        (rank_for(colour, pawn) / 7) ** 2 * chess.square_distance(step_ahead(colour, pawn), king) / 7
        for pawn in passed(board, colour)
    )


def passed_enemy_king(board: chess.Board, colour: Side) -> float:
    return passed_king(board, colour, not colour)


def passed_own_king(board: chess.Board, colour: Side) -> float:
    return passed_king(board, colour, colour)


def passed_rook(board: chess.Board, colour: Side) -> float:
    rooks = squares_with(board, colour, chess.ROOK)
    return sum(bool(rooks.intersection(behind(colour, pawn))) for pawn in passed(board, colour))


def passed_square(board: chess.Board, colour: Side) -> float:
    if units(board, not colour):
        return 0.0
    total, king = 0.0, board.king(not colour)
    for pawn in passed(board, colour):
        rank = rank_for(colour, pawn) - (board.turn != colour)
        files = abs(chess.square_file(pawn) - chess.square_file(king))
        if files > 7 - rank or rank_for(colour, king) < rank:
            total += rank / 6
    return total


# Pieces


def outposts(board: chess.Board, colour: Side) -> set[Square]:
    """Squares on ranks 4 to 6 that an own pawn guards and no enemy pawn can ever attack."""
    own, enemies = attacked_by(board, colour, chess.PAWN), pawns_of(board, not colour)
    ever = {square for pawn in enemies for near in beside(pawn) for square in behind(colour, near)}
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


def minor_from_king(board: chess.Board, colour: Side) -> float:
    king = board.king(colour)
    return sum(chess.square_distance(minor, king) / 7 for minor in squares_with(board, colour, *MINORS))


def rook_on_seventh(board: chess.Board, colour: Side) -> float:
    return sum(rank_for(colour, rook) == 6 for rook in board.pieces(chess.ROOK, colour))


def rook_open(board: chess.Board, colour: Side) -> float:
    files = files_of(board, *chess.COLORS)
    return sum(chess.square_file(rook) not in files for rook in board.pieces(chess.ROOK, colour))


def rook_half_open(board: chess.Board, colour: Side) -> float:
    files = files_of(board, not colour) - files_of(board, colour)
    return sum(chess.square_file(rook) in files for rook in board.pieces(chess.ROOK, colour))


def safe_squares(board: chess.Board, colour: Side, kind: chess.PieceType) -> list[int]:
    """How many safe squares each piece of a type attacks: no own pawn or king there, no enemy pawn attacks them."""
    closed = squares_with(board, colour, chess.PAWN, chess.KING) | attacked_by(board, not colour, chess.PAWN)
    return [len(set(board.attacks(square)) - closed) for square in board.pieces(kind, colour)]


def mobility(board: chess.Board, colour: Side, kind: chess.PieceType) -> float:
    return sum(parabola(count, (MOST_SAFE[kind], 1), (0, -1)) for count in safe_squares(board, colour, kind))


def rook_trapped(board: chess.Board, colour: Side) -> float:
    return sum(count <= 3 for count in safe_squares(board, colour, chess.ROOK))


def space_squares(board: chess.Board, colour: Side) -> set[Square]:
    """Squares on ranks 2 to 4 of files c to f without an own pawn."""
    names = {file + rank for file in "cdef" for rank in "234"}
    own = set(pawns_of(board, colour))
    return {square for square in chess.SQUARES if name_for(colour, square) in names} - own


def space(board: chess.Board, colour: Side) -> float:
    shielded = {square for pawn in pawns_of(board, colour) for square in behind(colour, pawn)}
    return sum(not attackers(board, not colour)[square] for square in space_squares(board, colour) & shielded)


# Threats


def threat_by_pawn(board: chess.Board, colour: Side) -> float:
    return len(attacked_by(board, colour, chess.PAWN) & squares_with(board, not colour, *PIECES))


def threat_by_push(board: chess.Board, colour: Side) -> float:
    steps = [step_ahead(colour, pawn) for pawn in pawns_of(board, colour)]
    steps = [s for s in steps if board.piece_at(s) is None and not guarded_by_pawn(board, not colour, s)]
    reached = {to for step in steps for to in beside(step_ahead(colour, step)) if rank_for(colour, step) < 7}
    return len(reached & squares_with(board, not colour, *PIECES))


def threat_by_minor(board: chess.Board, colour: Side) -> float:
    return len(attacked_by(board, colour, *MINORS) & squares_with(board, not colour, chess.ROOK, chess.QUEEN))


def threat_on_minor(board: chess.Board, colour: Side) -> float:
    found = attacked_by(board, colour, *MINORS, chess.ROOK) & squares_with(board, not colour, *MINORS)
    return len(found - attacked_by(board, not colour, chess.PAWN))


def threat_by_rook(board: chess.Board, colour: Side) -> float:
    return len(attacked_by(board, colour, chess.ROOK) & squares_with(board, not colour, chess.QUEEN))


def threat_by_king(board: chess.Board, colour: Side) -> float:
    found = attacked_by(board, colour, chess.KING) & squares_with(board, not colour, chess.PAWN, *PIECES)
    return sum(not attackers(board, not colour)[square] for square in found)


def hanging(board: chess.Board, colour: Side) -> float:
    pieces = squares_with(board, not colour, *PIECES)
    return sum(attackers(board, colour)[s] > 0 and attackers(board, not colour)[s] == 0 for s in pieces)


def weak_pawns(board: chess.Board, colour: Side) -> float:
    pawns = squares_with(board, not colour, chess.PAWN) - attacked_by(board, not colour, chess.PAWN)
    return sum(attackers(board, colour)[pawn] > 0 for pawn in pawns)


def contested(board: chess.Board, colour: Side) -> float:
    both = set(attackers(board, colour)) & set(attackers(board, not colour))
    return len(both - attacked_by(board, not colour, chess.PAWN))


def controlled(board: chess.Board, colour: Side) -> float:
    return len(set(attackers(board, colour)) - set(attackers(board, not colour)))


# Kings


def ring(board: chess.Board, colour: Side) -> set[Square]:
    """The squares beside the king of a side."""
    return set(board.attacks(board.king(colour)))


def ring_attacks(board: chess.Board, colour: Side) -> list[tuple[chess.PieceType, int]]:
    """The pieces that attack squares beside the enemy king: the type of each, and how many it attacks."""
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


def king_attack(board: chess.Board, colour: Side) -> float:
    found = ring_attacks(board, colour)
    if len(found) < 2:
        return 0.0
    checks = sum(safe_checks(board, colour, kind) for kind in PIECES)
    units = sum(ATTACK[kind] + count for kind, count in found) + king_ring_weak(board, colour) + 3 * checks
    return (min(40, units) / 40) ** 2


def queen_tropism(board: chess.Board, colour: Side) -> float:
    king = board.king(not colour)
    return sum(
        parabola(chess.square_distance(queen, king), (7, 0), (1, 1)) for queen in board.pieces(chess.QUEEN, colour)
    )


def king_files(board: chess.Board, colour: Side) -> set[int]:
    """The files of a king and beside him."""
    file = chess.square_file(board.king(colour))
    return {other for other in (file - 1, file, file + 1) if 0 <= other <= 7}


def king_shelter(board: chess.Board, colour: Side) -> float:
    worth = {1: 1.0, 2: 0.5}
    near = [pawn for pawn in pawns_of(board, colour) if chess.square_file(pawn) in king_files(board, colour)]
    return sum(worth.get(rank_for(colour, pawn), 0.0) for pawn in near)


def king_open_files(board: chess.Board, colour: Side) -> float:
    return len(king_files(board, colour) - files_of(board, colour))


def king_storm(board: chess.Board, colour: Side) -> float:
    near = [pawn for pawn in pawns_of(board, not colour) if chess.square_file(pawn) in king_files(board, colour)]
    ranks = [rank_for(colour, pawn) for pawn in near]
    return sum(2 if rank <= 3 else 1 for rank in ranks if rank <= 5)


def king_flank(board: chess.Board, colour: Side) -> float:
    is_queenside = chess.square_file(board.king(colour)) < 4
    return all((file < 4) != is_queenside for file in files_of(board, *chess.COLORS))


def king_rank(board: chess.Board, colour: Side) -> float:
    return rank_for(colour, board.king(colour)) / 7


def king_center(board: chess.Board, colour: Side) -> float:
    return center(board.king(colour)) / 3


def of_kind(count: Callable[..., float], kind: chess.PieceType) -> Callable[[chess.Board, Side], float]:
    """A count of one type of piece."""
    return lambda board, colour: count(board, colour, kind)


_MATERIAL, _STRUCTURE, _PASSED, _CONTROL, _MOBILITY, _SAFETY, _THREATS = 1.0, 0.8, 1.2, 1.2, 0.8, 1.0, 1.0


def _terms(multiplier: float, **counts: Callable[[chess.Board, Side], float]) -> dict[str, Term]:
    return {name: Term(multiplier, "always", count) for name, count in counts.items()}


TERMS = {
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
        PawnPhalanx=lambda board, colour: by_rank(colour, phalanx(board, colour)),
        PawnSupported=lambda board, colour: by_rank(colour, supported(board, colour)),
        PawnIslands=pawn_islands,
    ),
    **_terms(_PASSED, PawnCandidate=pawn_candidate),
    **_terms(_STRUCTURE, PawnCenter=naive.pawn_center, PawnAdvance=pawn_advance, PawnFile=pawn_file),
    **_terms(
        _PASSED,
        PassedPawn=lambda board, colour: by_rank(colour, passed(board, colour)),
        PassedFree=passed_free,
        PassedSafe=passed_safe,
        PassedPath=passed_path,
        PassedConnected=passed_connected,
        PassedEnemyKing=passed_enemy_king,
        PassedOwnKing=passed_own_king,
        PassedRook=passed_rook,
        PassedSquare=passed_square,
    ),
    **_terms(
        _CONTROL,
        KnightCenter=of_kind(center_sum, chess.KNIGHT),
        KnightRank=of_kind(rank_sum, chess.KNIGHT),
        KnightOutpost=knight_outpost,
        KnightReach=knight_reach,
        BishopCenter=of_kind(center_sum, chess.BISHOP),
        BishopRank=of_kind(rank_sum, chess.BISHOP),
        BishopOutpost=bishop_outpost,
        MinorBehindPawn=minor_behind_pawn,
    ),
    **_terms(_SAFETY, MinorFromKing=minor_from_king),
    **_terms(
        _CONTROL,
        RookRank=of_kind(rank_sum, chess.ROOK),
        Rook7th=rook_on_seventh,
        RookOpen=rook_open,
        RookHalfOpen=rook_half_open,
        RookTrapped=rook_trapped,
        QueenCenter=of_kind(center_sum, chess.QUEEN),
        QueenRank=of_kind(rank_sum, chess.QUEEN),
    ),
    **_terms(
        _MOBILITY,
        KnightMobility=of_kind(mobility, chess.KNIGHT),
        BishopMobility=of_kind(mobility, chess.BISHOP),
        RookMobility=of_kind(mobility, chess.ROOK),
        QueenMobility=of_kind(mobility, chess.QUEEN),
    ),
    **_terms(_CONTROL, Space=space),
    **_terms(
        _THREATS,
        ThreatByPawn=threat_by_pawn,
        ThreatByPush=threat_by_push,
        ThreatByMinor=threat_by_minor,
        ThreatOnMinor=threat_on_minor,
        ThreatByRook=threat_by_rook,
        ThreatByKing=threat_by_king,
        Hanging=hanging,
        WeakPawns=weak_pawns,
    ),
    **_terms(_CONTROL, Contested=contested, Controlled=controlled),
    **_terms(
        _SAFETY,
        KingRing=king_ring,
        KingRingWeak=king_ring_weak,
        SafeKnightCheck=of_kind(safe_checks, chess.KNIGHT),
        SafeBishopCheck=of_kind(safe_checks, chess.BISHOP),
        SafeRookCheck=of_kind(safe_checks, chess.ROOK),
        SafeQueenCheck=of_kind(safe_checks, chess.QUEEN),
        KingAttack=king_attack,
        QueenTropism=queen_tropism,
        KingShelter=king_shelter,
        KingOpenFiles=king_open_files,
        KingStorm=king_storm,
        KingFlank=king_flank,
    ),
    **_terms(_CONTROL, KingRank=king_rank, KingCenter=king_center),
}
