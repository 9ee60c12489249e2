"""The board as one side sees it, with what both sides attack: what a term of the set `full` may look at.

The attacks of each side are found once, on the board as that side sees it; mobility, threats and the attack on the king
all count with them.
"""

from typing import NamedTuple

import numpy as np

from merino.core.board.attacks import KING_ATTACKS, KNIGHT_ATTACKS, bishop_attacks, queen_attacks, rook_attacks
from merino.core.board.bitboard import (
    BISHOP,
    BLACK,
    KNIGHT,
    NOT_A,
    NOT_H,
    ONE,
    QUEEN,
    ROOK,
    U64,
    WHITE,
    adjacent,
    bit,
    lsb,
    mirror,
    popcount,
    south_fill,
)
from merino.core.board.position import pieces_of
from merino.core.compiled.jit import kernel
from merino.eval.linear.registry import TermSet
from merino.eval.linear.view import not_counting, seen_by, view

REACH_BITS = U64(5)  # of a number of safe squares, at most 27; so twelve pieces of a kind fit into 64 bits
LAST_REACH = U64(31)
# How much each piece adds to the attack on a king whose ring it reaches.
KNIGHT_ATTACK, BISHOP_ATTACK, ROOK_ATTACK, QUEEN_ATTACK = 2, 2, 3, 5


class Attacks(NamedTuple):
    """What one side attacks, as it sees the board: sets uint64, numbers int64.

    The reach of pieces of a kind are the numbers of safe squares that each attacks, REACH_BITS a piece from the
    lowest bits on: squares without a friendly pawn or king, and not attacked by an enemy pawn. The ring of a king
    are the squares next to him.
    """

    by_pawns: np.uint64
    by_knights: np.uint64
    by_bishops: np.uint64
    by_rooks: np.uint64
    by_queens: np.uint64
    attacked: np.uint64  # by any piece, the king too
    attacked_twice: np.uint64
    knight_reach: np.uint64
    bishop_reach: np.uint64
    rook_reach: np.uint64
    queen_reach: np.uint64
    ring_attackers: np.int64
    ring_units: np.int64  # the attackers of the ring by their kind
    ring_hits: np.int64  # squares of the ring, counted for each attacker


class FullView(NamedTuple):
    """One side's board: sets are uint64 with the own first rank as rank 1; see `Attacks`."""

    pawns: np.uint64
    knights: np.uint64
    bishops: np.uint64
    rooks: np.uint64
    queens: np.uint64
    king: np.int64  # square
    enemy_pawns: np.uint64
    enemy_minors: np.uint64
    enemy_rooks: np.uint64
    enemy_queens: np.uint64
    enemy_king: np.int64  # square
    occupied: np.uint64
    enemy_units: np.int64
    to_move: np.bool_
    own: Attacks
    passed: np.uint64  # friendly pawns with no enemy pawn ahead on their file or an adjacent one
    enemy_by_pawns: np.uint64
    enemy_attacked: np.uint64
    enemy_attacked_twice: np.uint64


@kernel
def _passed_pawns(pawns, enemy_pawns):
    """Pawns with no enemy pawn ahead on their file or an adjacent one."""
    return pawns & ~south_fill((enemy_pawns | adjacent(enemy_pawns)) >> U64(8))


class _Reach(NamedTuple):
    """What the pieces of one side counted so far reach; fields as in `Attacks`."""

    attacked: np.uint64
    attacked_twice: np.uint64
    ring_attackers: np.int64
    ring_units: np.int64
    ring_hits: np.int64


@kernel
def _and(reach, found, ring, units):
    """What is reached by one piece more, which attacks `found` and weighs so many units in an attack on the king."""
    hits = popcount(found & ring)
    hit = min(hits, 1)
    return _Reach(
        reach.attacked | found,
        reach.attacked_twice | reach.attacked & found,
        reach.ring_attackers + hit,
        reach.ring_units + units * hit,
        reach.ring_hits + hits,
    )


@kernel
def _by_pawns_and_king(side):
    """What the pawns and the king of a side attack: that of the pawns alone, and all of it."""
    east, west = (side.pawns & NOT_H) << U64(9), (side.pawns & NOT_A) << U64(7)
    by_king, by_pawns = KING_ATTACKS[side.king], east | west
    return by_pawns, _Reach(by_pawns | by_king, east & west | by_pawns & by_king, 0, 0, 0)


@kernel
def _with_reach(reach, squares):
    """The reach of the pieces counted so far and of one more."""
    return reach << REACH_BITS | U64(popcount(squares))


@kernel
def attacks_of_side(side):
    """The `Attacks` of a side with this plain view."""
    by_pawns, reach = _by_pawns_and_king(side)
    by_enemy_pawns = (side.enemy_pawns & NOT_H) >> U64(7) | (side.enemy_pawns & NOT_A) >> U64(9)
    safe, ring = ~(side.pawns | bit(side.king) | by_enemy_pawns), KING_ATTACKS[side.enemy_king]

    by_knights, knight_reach, pieces = U64(0), U64(0), side.knights
    while pieces:
        found, pieces = KNIGHT_ATTACKS[lsb(pieces)], pieces & (pieces - ONE)
        by_knights, reach = by_knights | found, _and(reach, found, ring, KNIGHT_ATTACK)
        knight_reach = _with_reach(knight_reach, found & safe)

    by_bishops, bishop_reach, pieces = U64(0), U64(0), side.bishops
    while pieces:
        found, pieces = bishop_attacks(lsb(pieces), side.occupied), pieces & (pieces - ONE)
        by_bishops, reach = by_bishops | found, _and(reach, found, ring, BISHOP_ATTACK)
        bishop_reach = _with_reach(bishop_reach, found & safe)

    by_rooks, rook_reach, pieces = U64(0), U64(0), side.rooks
    while pieces:
        found, pieces = rook_attacks(lsb(pieces), side.occupied), pieces & (pieces - ONE)
        by_rooks, reach = by_rooks | found, _and(reach, found, ring, ROOK_ATTACK)
        rook_reach = _with_reach(rook_reach, found & safe)

    by_queens, queen_reach, pieces = U64(0), U64(0), side.queens
    while pieces:
        found, pieces = queen_attacks(lsb(pieces), side.occupied), pieces & (pieces - ONE)
        by_queens, reach = by_queens | found, _and(reach, found, ring, QUEEN_ATTACK)
        queen_reach = _with_reach(queen_reach, found & safe)

    return Attacks(
        by_pawns, by_knights, by_bishops, by_rooks, by_queens, reach.attacked, reach.attacked_twice,
        knight_reach, bishop_reach, rook_reach, queen_reach,
        reach.ring_attackers, reach.ring_units, reach.ring_hits,
    )  # fmt: skip


@kernel
def _joined(position, colour, side, own, enemy):
    """The `FullView` of `colour` from its plain view, its own attacks, and the enemy's as he sees them."""
    foe = 1 - colour
    return FullView(
        pawns=side.pawns,
        knights=side.knights,
        bishops=side.bishops,
        rooks=side.rooks,
        queens=side.queens,
        king=side.king,
        enemy_pawns=side.enemy_pawns,
        enemy_minors=seen_by(colour, pieces_of(position, foe, KNIGHT) | pieces_of(position, foe, BISHOP)),
        enemy_rooks=seen_by(colour, pieces_of(position, foe, ROOK)),
        enemy_queens=seen_by(colour, pieces_of(position, foe, QUEEN)),
        enemy_king=side.enemy_king,
        occupied=side.occupied,
        enemy_units=side.enemy_units,
        to_move=side.to_move,
        own=own,
        passed=_passed_pawns(side.pawns, side.enemy_pawns),
        enemy_by_pawns=mirror(enemy.by_pawns),
        enemy_attacked=mirror(enemy.attacked),
        enemy_attacked_twice=mirror(enemy.attacked_twice),
    )


@kernel
def enemy_pieces(view):
    """The enemy's knights, bishops, rooks and queens."""
    return view.enemy_minors | view.enemy_rooks | view.enemy_queens


@kernel
def enemies(view):
    """The squares of the enemy's pieces and pawns, without the king."""
    return view.enemy_pawns | enemy_pieces(view)


@kernel
def full_views(position):
    """The views of White and of Black."""
    white, black = view(position, WHITE), view(position, BLACK)
    by_white, by_black = attacks_of_side(white), attacks_of_side(black)
    return (_joined(position, WHITE, white, by_white, by_black), _joined(position, BLACK, black, by_black, by_white))


@kernel
def full_view_without(position, colour, squares):
    """The view of `colour` with its own pieces on `squares`, as it sees them, out of the count."""
    side = not_counting(view(position, colour), squares)
    enemy = attacks_of_side(view(position, 1 - colour))
    return _joined(position, colour, side, attacks_of_side(side), enemy)


# The set `full` itself, and the bounds of its weights; the other modules of this folder fill it (`eval.linear.sets`).

WORTH = (0, 3000)  # bounds of a piece value
EITHER = (-200, 200)
UNLIMITED = (-400, 400)  # of what is seldom there and then says much
TERMS = TermSet("full", full_views, full_view_without)
