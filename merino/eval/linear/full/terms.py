"""The terms of the set `full`, in the order of their weights; `view` has what they look at."""

import numpy as np

from merino.core.board.attacks import KING_ATTACKS, KNIGHT_ATTACKS, bishop_attacks, queen_attacks, rook_attacks
from merino.core.board.bitboard import (
    DARK_SQUARES,
    FILES,
    ONE,
    RANKS,
    SQUARES,
    U64,
    WHITE,
    ZERO,
    adjacent,
    bit,
    lsb,
    north_fill,
    pawn_attacks,
    popcount,
    south_fill,
)
from merino.core.compiled.jit import kernel
from merino.eval.linear.full.view import EITHER, TERMS, UNLIMITED, WORTH, enemies, enemy_pieces
from merino.eval.linear.registry import Group
from merino.eval.linear.view import DISTANCES

term, table = TERMS.term, TERMS.table

TERMS.worth = {  # 1,000 games at 8,000 nodes a move each, the other terms fitted again; docs/lab/full.md
    Group.MATERIAL: (22, 17),  # but for the values of the pieces
    Group.PAWN_STRUCTURE: (33, 18),
    Group.PASSED_PAWNS: (58, 19),
    Group.BOARD_CONTROL: (94, 18),
    Group.MOBILITY: (36, 17),
    Group.KING_SAFETY: (175, 21),
    Group.THREATS: (101, 18),
    "Tempo": (25, 18),
    "KnightSquare": (21, 18),
    "PawnThreat": (20, 17),
    "RookMobility": (14, 17),
    "BishopMobility": (13, 17),
    "RookSquare": (10, 18),
    "BishopSquare": (6, 18),
    "PassedEnemyKing": (7, 17),
    "BishopThreat": (-2, 17),
    "PawnSquare": (2, 17),
    "KingSquare": (12, 18),
    "KingAttack": (17, 17),
}

# Terms that count pieces.

NEUTRAL_PAWNS = 5  # with more pawns knights gain, with fewer rooks


@term("PawnValue", Group.MATERIAL, WORTH, pawns_and_kings=True)
def pawn_value(view):
    """A pawn."""
    return popcount(view.pawns)


@term("KnightValue", Group.MATERIAL, WORTH)
def knight_value(view):
    """A knight."""
    return popcount(view.knights)


@term("BishopValue", Group.MATERIAL, WORTH)
def bishop_value(view):
    """A bishop."""
    return popcount(view.bishops)


@term("RookValue", Group.MATERIAL, WORTH)
def rook_value(view):
    """A rook."""
    return popcount(view.rooks)


@term("QueenValue", Group.MATERIAL, WORTH)
def queen_value(view):
    """A queen."""
    return popcount(view.queens)


@term("BishopPair", Group.MATERIAL, EITHER)
def bishop_pair(view):
    """Bishops on squares of both colours."""
    return 1 if view.bishops & DARK_SQUARES != ZERO and view.bishops & ~DARK_SQUARES != ZERO else 0


@term("KnightPawns", Group.MATERIAL, EITHER)
def knight_pawns(view):
    """A knight, for each friendly pawn beyond five; with fewer pawns it counts against its side."""
    return popcount(view.knights) * (popcount(view.pawns) - NEUTRAL_PAWNS)


@term("RookPawns", Group.MATERIAL, EITHER, sign=-1)
def rook_pawns(view):
    """A rook, for each friendly pawn beyond five; with fewer pawns it counts for its side."""
    return popcount(view.rooks) * (popcount(view.pawns) - NEUTRAL_PAWNS)


@term("Tempo", Group.BOARD_CONTROL, EITHER)
def tempo(view):
    """The right to move."""
    return 1 if view.to_move else 0


# Terms that count pawns which are not passed: their chains and their weaknesses.

SQUARED_RANKS = 49  # parts: a pawn on the second rank counts 1 of them, one on the last would count all
RANKS_OF_PAWNS = tuple(f"rank{rank}" for rank in range(2, 8))


@kernel
def _open_ahead(pawns, enemy_pawns):
    """Those of the pawns with no enemy pawn ahead on their file."""
    return pawns & ~south_fill(enemy_pawns >> U64(8))


@kernel
def _files(pawns):
    """The whole files of these pawns."""
    return (south_fill(pawns) & RANKS[0]) * FILES[0]


@kernel
def _isolated(pawns):
    """Pawns with no friendly pawn on the adjacent files."""
    return pawns & ~adjacent(_files(pawns))


@kernel
def _is_in(squares, square):
    """1 if the square belongs to the set, else 0."""
    return np.int64(squares >> U64(square) & ONE)


@kernel
def _squared_rank(pawn, counted):
    """The square of the rank of a pawn, 0 if its square does not belong to the set `counted`."""
    return (pawn >> 3) ** 2 * _is_in(counted, pawn)


@term("PawnDoubled", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_doubled(view):
    """A pawn with a friendly pawn behind it on its file."""
    return popcount(view.pawns & north_fill(view.pawns << U64(8)))


@term("PawnIsolated", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_isolated(view):
    """A pawn with no friendly pawn on the adjacent files."""
    return popcount(_isolated(view.pawns))


@term("PawnIsolatedOpen", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_isolated_open(view):
    """An isolated pawn with no enemy pawn ahead on its file, so that rooks can attack it."""
    return popcount(_open_ahead(_isolated(view.pawns), view.enemy_pawns))


@term("PawnBackward", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_backward(view):
    """A pawn that no friendly pawn can support and that an enemy pawn hinders from a step."""
    has_support = adjacent(north_fill(view.pawns))
    return popcount(view.pawns & ~_isolated(view.pawns) & ~has_support & (view.enemy_by_pawns >> U64(8)))


@table("PawnPhalanx", Group.PAWN_STRUCTURE, EITHER, RANKS_OF_PAWNS, pawns_and_kings=True, of="pawns")
def pawn_phalanx(view, pawn, _):
    """A pawn with a friendly pawn next to it, by its rank."""
    return (pawn >> 3) - 1, _is_in(adjacent(view.pawns), pawn)


@table("PawnSupported", Group.PAWN_STRUCTURE, EITHER, RANKS_OF_PAWNS[1:], pawns_and_kings=True, of="pawns")
def pawn_supported(view, pawn, _):
    """A pawn guarded by a friendly pawn, by its rank."""
    return max(pawn >> 3, 2) - 2, _is_in(view.own.by_pawns, pawn)


@term("PawnIslands", Group.PAWN_STRUCTURE, EITHER, sign=-1, pawns_and_kings=True)
def pawn_islands(view):
    """A group of friendly pawns on neighbouring files."""
    files = south_fill(view.pawns) & U64(0xFF)
    return popcount(files & ~(files << ONE))


@term("PawnCandidate", Group.PASSED_PAWNS, EITHER, pawns_and_kings=True, parts=SQUARED_RANKS, of="pawns")
def pawn_candidate(view, pawn, _):
    """A pawn, not passed, no enemy pawn ahead on its file, a friendly pawn next to or guarding it, by its rank."""
    near = view.own.by_pawns | adjacent(view.pawns)
    return _squared_rank(pawn, _open_ahead(~view.passed & near, view.enemy_pawns))


# Terms that count passed pawns: no enemy pawn is ahead on their file or an adjacent one.

PASSED = "PassedPawn"
FIRST_RANK, FAR = 3, 5  # pawns on lower ranks count as on this one, here from 0, and more steps as so many
STEPS = tuple(f"rank{rank + 1}_steps{steps}" for rank in range(FIRST_RANK, 7) for steps in range(FAR + 1))


@kernel
def _by_steps(pawn, king):
    """The cell of a pawn by its rank, and by how far the king is from the square ahead of it."""
    rank, steps = max(pawn >> 3, FIRST_RANK), min(DISTANCES[pawn + 8, king], FAR)
    return (FAR + 1) * (rank - FIRST_RANK) + steps


@table(PASSED, Group.PASSED_PAWNS, (-300, 300), RANKS_OF_PAWNS, pawns_and_kings=True, of="passed")
def passed_pawn(_, pawn, __):
    """A passed pawn, by its rank."""
    return (pawn >> 3) - 1, 1


@term("PassedFree", Group.PASSED_PAWNS, (-300, 300), parts=SQUARED_RANKS, of="passed")
def passed_free(view, pawn, _):
    """A passed pawn whose next square is empty, by the square of its rank."""
    return _squared_rank(pawn, ~(view.occupied >> U64(8)))


@term("PassedSafe", Group.PASSED_PAWNS, (-300, 300), parts=SQUARED_RANKS, of="passed")
def passed_safe(view, pawn, _):
    """A passed pawn whose next square the enemy does not attack, by the square of its rank."""
    return _squared_rank(pawn, ~(view.enemy_attacked >> U64(8)))


@term("PassedPath", Group.PASSED_PAWNS, (-300, 300), parts=SQUARED_RANKS, of="passed")
def passed_path(view, pawn, _):
    """A passed pawn whose whole way is free of enemies and of their attacks, by the square of its rank."""
    return _squared_rank(pawn, ~south_fill((view.enemy_attacked | enemies(view)) >> U64(8)))


@term("PassedConnected", Group.PASSED_PAWNS, (-300, 300), pawns_and_kings=True, parts=SQUARED_RANKS, of="passed")
def passed_connected(view, pawn, _):
    """A passed pawn with another on an adjacent file and at most one rank away, by the square of its rank."""
    near = view.passed | view.passed << U64(8) | view.passed >> U64(8)
    return _squared_rank(pawn, adjacent(near))


@table("PassedEnemyKing", Group.PASSED_PAWNS, (-300, 300), STEPS, pawns_and_kings=True, counts=PASSED, of="passed")
def passed_enemy_king(view, pawn, _):
    """A passed pawn by its rank, 4 and lower as one, and by how many steps the enemy king is from the square ahead."""
    return _by_steps(pawn, view.enemy_king), 1


@table("PassedOwnKing", Group.PASSED_PAWNS, (-300, 300), STEPS, pawns_and_kings=True, counts=PASSED, of="passed")
def passed_own_king(view, pawn, _):
    """A passed pawn by its rank, 4 and lower as one, and by how many steps its own king is from the square ahead."""
    return _by_steps(pawn, view.king), 1


@term("PassedRook", Group.PASSED_PAWNS, EITHER)
def passed_rook(view):
    """A passed pawn with a friendly rook behind it on its file."""
    return popcount(view.passed & north_fill(view.rooks << U64(8)))


@term("PassedSquare", Group.PASSED_PAWNS, (-300, 300), parts=6, of="passed")
def passed_square(view, pawn, _):
    """A passed pawn that the bare enemy king cannot catch, by its rank: the rule of the square."""
    if view.enemy_units > 0:
        return 0
    rank = (pawn >> 3) - (0 if view.to_move else 1)
    files_apart = abs((pawn & 7) - (view.enemy_king & 7))
    return rank if files_apart > 7 - rank or (view.enemy_king >> 3) < rank else 0


# Terms that count good places of pieces and how far they reach.

OUTPOST_RANKS = RANKS[3] | RANKS[4] | RANKS[5]
SPACE = (RANKS[1] | RANKS[2] | RANKS[3]) & (FILES[2] | FILES[3] | FILES[4] | FILES[5])


@kernel
def _outposts(view):
    """Squares on ranks 4 to 6 that a friendly pawn guards and that no enemy pawn can ever attack."""
    return OUTPOST_RANKS & view.own.by_pawns & ~south_fill(view.enemy_by_pawns)


@term("KnightOutpost", Group.BOARD_CONTROL, EITHER)
def knight_outpost(view):
    """A knight on ranks 4 to 6 that a friendly pawn guards and no enemy pawn can ever attack."""
    return popcount(view.knights & _outposts(view))


@term("KnightReach", Group.BOARD_CONTROL, EITHER)
def knight_reach(view):
    """An outpost, not occupied, that a knight attacks."""
    return popcount(view.own.by_knights & _outposts(view) & ~view.occupied)


@term("BishopOutpost", Group.BOARD_CONTROL, EITHER)
def bishop_outpost(view):
    """A bishop on ranks 4 to 6 that a friendly pawn guards and no enemy pawn can ever attack."""
    return popcount(view.bishops & _outposts(view))


@term("MinorBehindPawn", Group.BOARD_CONTROL, EITHER)
def minor_behind_pawn(view):
    """A knight or bishop right behind a pawn of either side."""
    return popcount((view.knights | view.bishops) & ((view.pawns | view.enemy_pawns) >> U64(8)))


@term("Rook7th", Group.BOARD_CONTROL, EITHER)
def rook_on_seventh(view):
    """A rook on the seventh rank."""
    return popcount(view.rooks & RANKS[6])


@term("RookOpen", Group.BOARD_CONTROL, EITHER)
def rook_open(view):
    """A rook on a file without pawns."""
    return popcount(view.rooks & ~(_files(view.pawns) | _files(view.enemy_pawns)))


@term("RookHalfOpen", Group.BOARD_CONTROL, EITHER)
def rook_half_open(view):
    """A rook on a file with enemy pawns and without friendly ones."""
    return popcount(view.rooks & ~_files(view.pawns) & _files(view.enemy_pawns))


@table("KnightMobility", Group.MOBILITY, EITHER, map(str, range(9)), counts="KnightValue", of="knights")
def knight_mobility(_, __, reach):
    """A knight by how many safe squares it attacks."""
    return reach, 1


@table("BishopMobility", Group.MOBILITY, EITHER, map(str, range(14)), counts="BishopValue", of="bishops")
def bishop_mobility(_, __, reach):
    """A bishop by how many safe squares it attacks."""
    return reach, 1


@table("RookMobility", Group.MOBILITY, EITHER, map(str, range(15)), counts="RookValue", of="rooks")
def rook_mobility(_, __, reach):
    """A rook by how many safe squares it attacks."""
    return reach, 1


@table("QueenMobility", Group.MOBILITY, EITHER, map(str, range(28)), counts="QueenValue", of="queens")
def queen_mobility(_, __, reach):
    """A queen by how many safe squares it attacks."""
    return reach, 1


@term("Space", Group.BOARD_CONTROL, EITHER)
def space(view):
    """A square on ranks 2 to 4 of files c to f, behind a friendly pawn, that the enemy does not attack."""
    return popcount(SPACE & south_fill(view.pawns >> U64(8)) & ~view.pawns & ~view.enemy_attacked)


# Tables by square: where each kind of piece stands well. The wings are alike: a square of files e to h
# counts as that opposite on files d to a.

FOLDED = np.array([4 * (square >> 3) + min(square & 7, 7 - (square & 7)) for square in SQUARES], dtype=np.int16)
HALF = tuple(f"{file}{rank}" for rank in range(1, 9) for file in "abcd")  # the names of the squares that FOLDED counts
STEPS_TO_KING = tuple(map(str, range(1, 8)))  # of a king to a square
PAWN_RANKS, PAWN_FOLDED = HALF[4:-4], FOLDED - 4  # without the first rank and the last


@table("PawnSquare", Group.PAWN_STRUCTURE, EITHER, PAWN_RANKS, pawns_and_kings=True, counts="PawnValue", of="pawns")
def pawn_square(_, pawn, __):
    """A pawn by its square."""
    return PAWN_FOLDED[pawn], 1


@table("KnightSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="KnightValue", of="knights")
def knight_square(_, knight, __):
    """A knight by its square."""
    return FOLDED[knight], 1


@table("BishopSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="BishopValue", of="bishops")
def bishop_square(_, bishop, __):
    """A bishop by its square."""
    return FOLDED[bishop], 1


@table("RookSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="RookValue", of="rooks")
def rook_square(_, rook, __):
    """A rook by its square."""
    return FOLDED[rook], 1


@table("QueenSquare", Group.BOARD_CONTROL, EITHER, HALF, counts="QueenValue", of="queens")
def queen_square(_, queen, __):
    """A queen by its square."""
    return FOLDED[queen], 1


@table("KingSquare", Group.KING_SAFETY, UNLIMITED, HALF, pawns_and_kings=True, counts="")
def king_square(view, at, cells):
    """The king by his square."""
    return at(cells, FOLDED[view.king], 1)


@table("PawnFromKing", Group.KING_SAFETY, EITHER, STEPS_TO_KING, pawns_and_kings=True, counts="PawnValue", of="pawns")
def pawn_from_king(view, pawn, _):
    """A pawn by its steps from the friendly king."""
    return DISTANCES[pawn, view.king] - 1, 1


@table("KnightFromKing", Group.KING_SAFETY, EITHER, STEPS_TO_KING, counts="KnightValue", of="knights")
def knight_from_king(view, knight, _):
    """A knight by its steps from the friendly king."""
    return DISTANCES[knight, view.king] - 1, 1


@table("BishopFromKing", Group.KING_SAFETY, EITHER, STEPS_TO_KING, counts="BishopValue", of="bishops")
def bishop_from_king(view, bishop, _):
    """A bishop by its steps from the friendly king."""
    return DISTANCES[bishop, view.king] - 1, 1


@table("RookFromKing", Group.KING_SAFETY, EITHER, STEPS_TO_KING, counts="RookValue", of="rooks")
def rook_from_king(view, rook, _):
    """A rook by its steps from the friendly king."""
    return DISTANCES[rook, view.king] - 1, 1


@table("QueenFromKing", Group.KING_SAFETY, EITHER, STEPS_TO_KING, counts="QueenValue", of="queens")
def queen_from_king(view, queen, _):
    """A queen by its steps from the friendly king."""
    return DISTANCES[queen, view.king] - 1, 1


# Terms that count what may be taken, and which squares are contested.

GUARDS = ("loose", "guarded", "by_pawn")  # of a target: nobody, a piece or king but no pawn, or a pawn
TARGETS = (*(f"{kind}_{guard}" for kind in ("minor", "rook", "queen") for guard in GUARDS), "pawn_loose")
LOOSE_PAWN = len(TARGETS) - 1
LOOSE = ("pawn", "minor", "rook", "queen")


@kernel
def _target(view, square):
    """The cell of a target by its kind and by what guards it, in the order of TARGETS."""
    target = bit(square)
    kind = 0 if target & view.enemy_minors else 1 if target & view.enemy_rooks else 2
    guard = 1 if target & view.enemy_attacked else 0
    guard = 2 if target & view.enemy_by_pawns else guard
    return LOOSE_PAWN if target & view.enemy_pawns else 3 * kind + guard


@table("PawnThreat", Group.THREATS, EITHER, TARGETS, of="targets")
def pawn_threat(view, square, _):
    """What a pawn attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _target(view, square), _is_in(view.own.by_pawns, square)


@table("KnightThreat", Group.THREATS, EITHER, TARGETS, of="targets")
def knight_threat(view, square, _):
    """What a knight attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _target(view, square), _is_in(view.own.by_knights, square)


@table("BishopThreat", Group.THREATS, EITHER, TARGETS, of="targets")
def bishop_threat(view, square, _):
    """What a bishop attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _target(view, square), _is_in(view.own.by_bishops, square)


@table("RookThreat", Group.THREATS, EITHER, TARGETS, of="targets")
def rook_threat(view, square, _):
    """What a rook attacks, by its kind and by what guards it; of pawns those that nobody guards."""
    return _target(view, square), _is_in(view.own.by_rooks, square)


@kernel
def _by_loose(attacks, view, at, cells):
    """The total of a table by what of the enemy's is attacked and nobody guards, in the order of LOOSE."""
    total, found = 0, attacks & ~view.enemy_attacked
    if found & enemies(view):
        total += at(cells, 0, popcount(found & view.enemy_pawns))
        total += at(cells, 1, popcount(found & view.enemy_minors))
        total += at(cells, 2, popcount(found & view.enemy_rooks))
        total += at(cells, 3, popcount(found & view.enemy_queens))
    return total


@table("QueenThreat", Group.THREATS, EITHER, LOOSE)
def queen_threat(view, at, cells):
    """What a queen attacks and nobody guards, by its kind."""
    return _by_loose(view.own.by_queens, view, at, cells)


@table("KingThreat", Group.THREATS, EITHER, LOOSE)
def king_threat(view, at, cells):
    """What the king attacks and nobody guards, by its kind."""
    return _by_loose(KING_ATTACKS[view.king], view, at, cells)


@term("ThreatByPush", Group.THREATS, EITHER)
def threat_by_push(view):
    """An enemy piece that a pawn would attack after a step to a square that no enemy pawn attacks."""
    steps = (view.pawns << U64(8)) & ~view.occupied & ~view.enemy_by_pawns
    return popcount(pawn_attacks(steps, WHITE) & enemy_pieces(view))


@term("Hanging", Group.THREATS, EITHER)
def hanging(view):
    """An enemy piece that is attacked and that nobody guards."""
    return popcount(view.own.attacked & enemy_pieces(view) & ~view.enemy_attacked)


@term("Contested", Group.BOARD_CONTROL, EITHER)
def contested(view):
    """A square that both sides attack, and no enemy pawn."""
    return popcount(view.own.attacked & view.enemy_attacked & ~view.enemy_by_pawns)


@term("Controlled", Group.BOARD_CONTROL, EITHER)
def controlled(view):
    """A square that its side attacks and the enemy does not."""
    return popcount(view.own.attacked & ~view.enemy_attacked)


# Terms that count the safety of the friendly king and the attack on the enemy's.

MIN_UNITS, MAX_UNITS, UNITS_A_CELL = 6, 30, 3  # of an attack on the king; more count as so many
CHECK = 3  # units that a safe check adds
UNITS = tuple(map(str, range(MIN_UNITS, MAX_UNITS + 1, UNITS_A_CELL)))
RANK_NAMES = ("none", *(f"rank{rank}" for rank in range(2, 8)))
OF_FILE = len(RANK_NAMES)
SHELTER = tuple(f"{file}_{rank}" for file in "abcd" for rank in RANK_NAMES)
STORM = (*SHELTER, *(f"blocked_{rank}" for rank in RANK_NAMES[2:]))
QUEENSIDE = FILES[0] | FILES[1] | FILES[2] | FILES[3]


@kernel
def _nearest(pawns, king, file):
    """The rank, from 0, of the nearest of these pawns on a file that is not behind the king; 0 without one."""
    found = pawns & FILES[file] & ~(bit(king & 56) - ONE)
    return lsb(found) >> 3 if found else 0


@kernel
def _files_of(king):
    """The first and the last of the files of a king and the adjacent files."""
    return max((king & 7) - 1, 0), min((king & 7) + 1, 7)


@kernel
def _place(file, rank):
    """The cell of SHELTER for a file and the rank of the nearest pawn on it."""
    return OF_FILE * min(file, 7 - file) + rank


@kernel
def _unguarded(view):
    """Squares from which a check is safe: the enemy does not attack them and no own piece is there."""
    own = view.pawns | view.knights | view.bishops | view.rooks | view.queens | bit(view.king)
    return ~(view.enemy_attacked | own)


@term("KingRing", Group.KING_SAFETY, EITHER)
def king_ring(view):
    """A square next to the enemy king, for each piece that attacks it."""
    return view.own.ring_hits


@term("KingRingWeak", Group.KING_SAFETY, EITHER)
def king_ring_weak(view):
    """A square next to the enemy king that is attacked and that only the king guards."""
    return popcount(KING_ATTACKS[view.enemy_king] & view.own.attacked & ~view.enemy_attacked_twice)


@term("SafeKnightCheck", Group.KING_SAFETY, EITHER)
def safe_knight_check(view):
    """A square from which a knight could give check and where the enemy attacks nothing."""
    return popcount(KNIGHT_ATTACKS[view.enemy_king] & view.own.by_knights & _unguarded(view))


@term("SafeBishopCheck", Group.KING_SAFETY, EITHER)
def safe_bishop_check(view):
    """A square from which a bishop could give check and where the enemy attacks nothing."""
    return popcount(bishop_attacks(view.enemy_king, view.occupied) & view.own.by_bishops & _unguarded(view))


@term("SafeRookCheck", Group.KING_SAFETY, EITHER)
def safe_rook_check(view):
    """A square from which a rook could give check and where the enemy attacks nothing."""
    return popcount(rook_attacks(view.enemy_king, view.occupied) & view.own.by_rooks & _unguarded(view))


@term("SafeQueenCheck", Group.KING_SAFETY, EITHER)
def safe_queen_check(view):
    """A square from which a queen could give check and where the enemy attacks nothing."""
    lines = queen_attacks(view.enemy_king, view.occupied)
    return popcount(lines & view.own.by_queens & _unguarded(view))


@table("KingAttack", Group.KING_SAFETY, UNLIMITED, UNITS)
def king_attack(view, at, cells):
    """An attack on the enemy king by two pieces or more, by a sum of attackers, squares and checks."""
    if view.own.ring_attackers < 2:
        return 0
    checks = safe_knight_check(view) + safe_bishop_check(view) + safe_rook_check(view) + safe_queen_check(view)
    units = view.own.ring_units + view.own.ring_hits + king_ring_weak(view) + CHECK * checks
    return at(cells, (min(units, MAX_UNITS) - MIN_UNITS) // UNITS_A_CELL, 1)


@term("QueenTropism", Group.KING_SAFETY, EITHER, parts=36, of="queens")
def queen_tropism(view, queen, _):
    """A queen near the enemy king: 1 next to him, 0 at seven steps."""
    return (7 - DISTANCES[queen, view.enemy_king]) ** 2


@table("KingShelter", Group.KING_SAFETY, EITHER, SHELTER, pawns_and_kings=True)
def king_shelter(view, at, cells):
    """The nearest friendly pawn ahead of or level with the king, on his and each adjacent file, by file and rank."""
    total, (first, last) = 0, _files_of(view.king)
    for file in range(first, last + 1):
        total += at(cells, _place(file, _nearest(view.pawns, view.king, file)), 1)
    return total


@table("KingStorm", Group.KING_SAFETY, EITHER, STORM, pawns_and_kings=True)
def king_storm(view, at, cells):
    """The nearest enemy pawn ahead of the king on his and each adjacent file, by file and rank; by rank if blocked."""
    total, (first, last) = 0, _files_of(view.king)
    for file in range(first, last + 1):
        own, enemy = _nearest(view.pawns, view.king, file), _nearest(view.enemy_pawns, view.king, file)
        is_blocked = own > 0 and own == enemy - 1
        place = enemy - 2 + len(SHELTER) if is_blocked else _place(file, enemy)
        total += at(cells, place, 1)
    return total


@term("KingFlank", Group.KING_SAFETY, EITHER, sign=-1, pawns_and_kings=True)
def king_flank(view):
    """No pawn of either side on the king's half of the board."""
    half = QUEENSIDE if bit(view.king) & QUEENSIDE != ZERO else ~QUEENSIDE
    return 1 if (view.pawns | view.enemy_pawns) & half == ZERO else 0
