"""The board as one side sees it, with what both sides attack: what a term of the set `full` may look at.

The attacks of each side are found once, on the board as that side sees it; mobility, threats and the attack on the king
all count with them.
"""

from typing import NamedTuple

import numpy as np

from merino.core.board.attacks import KING_ATTACKS, KNIGHT_ATTACKS, bishop_attacks, queen_attacks, rook_attacks
from merino.core.board.bitboard import (
    BISHOP,
    KNIGHT,
    NOT_A,
    NOT_H,
    ONE,
    QUEEN,
    ROOK,
    U64,
    ZERO,
    adjacent,
    bit,
    lsb,
    mirror,
    popcount,
    south_fill,
)
from merino.core.board.position import pieces_of
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import record_dtype
from merino.eval.linear.registry import TermSet
from merino.eval.linear.view import FIELDS, fill_view, seen_by

# How much each piece adds to the attack on a king whose ring it reaches: an attacker, and its units, above the hits.
KNIGHT_ATTACK, BISHOP_ATTACK, ROOK_ATTACK, QUEEN_ATTACK = (1 << 16 | units << 8 for units in (2, 2, 3, 5))


# What one side attacks, as it sees the board: the ring of a king are the squares next to him.
ATTACKS = record_dtype(
    [
        ("by_pawns", np.uint64),
        ("by_knights", np.uint64),
        ("by_bishops", np.uint64),
        ("by_rooks", np.uint64),
        ("by_queens", np.uint64),
        ("attacked", np.uint64),  # by any piece, the king too
        ("attacked_twice", np.uint64),
        ("ring_attackers", np.int64),
        ("ring_units", np.int64),  # the attackers of the ring by their kind
        ("ring_hits", np.int64),  # squares of the ring, counted for each attacker
    ]
)
FULL_VIEW = record_dtype(
    [
        *FIELDS,
        ("enemy_minors", np.uint64),
        ("enemy_rooks", np.uint64),
        ("enemy_queens", np.uint64),
        ("own", ATTACKS),
        ("targets", np.uint64),  # enemies that pieces or pawns attack, but for pawns that somebody guards
        ("passed", np.uint64),  # friendly pawns with no enemy pawn ahead on their file or an adjacent one
        ("enemy_by_pawns", np.uint64),
        ("enemy_attacked", np.uint64),
        ("enemy_attacked_twice", np.uint64),
    ]
)


class _Reach(NamedTuple):
    """What the pieces of one side counted so far reach: squares, and the three numbers of a ring in one."""

    attacked: np.uint64
    attacked_twice: np.uint64
    ring: np.int64


@kernel
def _and(reach, found, ring, attack):
    """What is reached by one piece more, which attacks `found`, and adds `attack` if the ring is among it."""
    hits = popcount(found & ring)
    return _Reach(
        reach.attacked | found, reach.attacked_twice | reach.attacked & found, reach.ring + hits + attack * min(hits, 1)
    )


@kernel
def attacks_of_side(side, of_pieces, counts):
    """Fill the ATTACKS of a side with a plain view; the amount of all its pieces by the kernels `of_pieces`."""
    east, west = (side.pawns & NOT_H) << U64(9), (side.pawns & NOT_A) << U64(7)
    by_king, by_pawns = KING_ATTACKS[side.king], east | west
    reach = _Reach(by_pawns | by_king, east & west | by_pawns & by_king, 0)
    by_enemy_pawns = (side.enemy_pawns & NOT_H) >> U64(7) | (side.enemy_pawns & NOT_A) >> U64(9)
    safe, ring, total = ~(side.pawns | bit(side.king) | by_enemy_pawns), KING_ATTACKS[side.enemy_king], 0

    by_knights, pieces = ZERO, side.knights
    while pieces:
        square, pieces = lsb(pieces), pieces & (pieces - ONE)
        found = KNIGHT_ATTACKS[square]
        by_knights, reach = by_knights | found, _and(reach, found, ring, KNIGHT_ATTACK)
        total += of_pieces.knights(side, square, popcount(found & safe), counts)

    by_bishops, pieces = ZERO, side.bishops
    while pieces:
        square, pieces = lsb(pieces), pieces & (pieces - ONE)
        found = bishop_attacks(square, side.occupied)
        by_bishops, reach = by_bishops | found, _and(reach, found, ring, BISHOP_ATTACK)
        total += of_pieces.bishops(side, square, popcount(found & safe), counts)

    by_rooks, pieces = ZERO, side.rooks
    while pieces:
        square, pieces = lsb(pieces), pieces & (pieces - ONE)
        found = rook_attacks(square, side.occupied)
        by_rooks, reach = by_rooks | found, _and(reach, found, ring, ROOK_ATTACK)
        total += of_pieces.rooks(side, square, popcount(found & safe), counts)

    by_queens, pieces = ZERO, side.queens
    while pieces:
        square, pieces = lsb(pieces), pieces & (pieces - ONE)
        found = queen_attacks(square, side.occupied)
        by_queens, reach = by_queens | found, _and(reach, found, ring, QUEEN_ATTACK)
        total += of_pieces.queens(side, square, popcount(found & safe), counts)

    own = side.own
    own.by_pawns, own.by_knights, own.by_bishops = by_pawns, by_knights, by_bishops
    own.by_rooks, own.by_queens = by_rooks, by_queens
    own.attacked, own.attacked_twice = reach.attacked, reach.attacked_twice
    own.ring_hits, own.ring_units, own.ring_attackers = reach.ring & 255, reach.ring >> 8 & 255, reach.ring >> 16
    return total


@kernel
def look(position, colour, squares, side, of_pieces, counts):
    """Fill the FULL_VIEW of a side as `fill_view` does, and its attacks; the amount of its pieces by `of_pieces`."""
    fill_view(position, colour, squares, side)
    return attacks_of_side(side, of_pieces, counts)


@kernel
def meet(position, colour, side, enemy):
    """Fill what a side with its attacks sees of an enemy with his."""
    foe, own = 1 - colour, side.own
    side.enemy_minors = seen_by(colour, pieces_of(position, foe, KNIGHT) | pieces_of(position, foe, BISHOP))
    side.enemy_rooks = seen_by(colour, pieces_of(position, foe, ROOK))
    side.enemy_queens = seen_by(colour, pieces_of(position, foe, QUEEN))
    side.enemy_by_pawns = mirror(enemy.own.by_pawns)
    side.enemy_attacked = mirror(enemy.own.attacked)
    side.enemy_attacked_twice = mirror(enemy.own.attacked_twice)
    side.passed = side.pawns & ~south_fill((side.enemy_pawns | adjacent(side.enemy_pawns)) >> U64(8))
    attacked = own.by_pawns | own.by_knights | own.by_bishops | own.by_rooks
    side.targets = attacked & (enemy_pieces(side) | side.enemy_pawns & ~side.enemy_attacked)


@kernel
def enemy_pieces(view):
    """The enemy's knights, bishops, rooks and queens."""
    return view.enemy_minors | view.enemy_rooks | view.enemy_queens


@kernel
def enemies(view):
    """The squares of the enemy's pieces and pawns, without the king."""
    return view.enemy_pawns | enemy_pieces(view)


# The set `full` itself, and the bounds of its weights; the other modules of this folder fill it (`eval.linear.sets`).

WORTH = (0, 3000)  # bounds of a piece value
EITHER = (-200, 200)
UNLIMITED = (-400, 400)  # of what is seldom there and then says much
TERMS = TermSet("full", FULL_VIEW, look, meet, is_whole=True)
