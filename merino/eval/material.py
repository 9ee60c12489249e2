"""How much material a side has, on which phases of the game depend, and the draws and dead ends that follow from it."""

import numpy as np

from merino.core.board.bitboard import (
    BISHOP,
    BLACK,
    DARK_SQUARES,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    WHITE,
    ZERO,
    bit,
    lsb,
    popcount,
)
from merino.core.board.position import king_square, occupied_squares, pieces_of
from merino.core.compiled.jit import entry, kernel

FULL_SET = 32  # the units of a full set of pieces
FULL_BOARD = 2 * FULL_SET  # the units of both sides at the start


@kernel
def units(position, colour):
    """The weight of a side's pieces without pawns: N = B = 3, R = 5, Q = 10; a full set is 32."""
    minors = pieces_of(position, colour, KNIGHT) | pieces_of(position, colour, BISHOP)
    return (
        3 * popcount(minors)
        + 5 * popcount(pieces_of(position, colour, ROOK))
        + 10 * popcount(pieces_of(position, colour, QUEEN))
    )


@kernel
def stage_of(position):
    """The stage of a position, int64: 0 for the endgame to FULL_BOARD."""
    return min(units(position, WHITE) + units(position, BLACK), FULL_BOARD)


@kernel
def middlegame_share(enemy_units):
    """How much a side's middlegame terms count, by the pieces its opponent has left; the endgame has the rest.

    As in GreKo it goes beyond 1, and that of the endgame below 0, against promoted queens.
    """
    return enemy_units / FULL_SET


@entry
def _game_stage(positions, found):
    position = positions[0]
    for colour in range(2):
        found[colour] = middlegame_share(units(position, 1 - colour))
    found[2] = stage_of(position) / FULL_BOARD


def game_stage(record: np.ndarray) -> tuple[tuple[float, float], float]:
    """`middlegame_share` of White and of Black in POSITION[1], and its stage as a share, 0..1."""
    found = np.zeros(3)
    _game_stage(record, found)
    white, black, stage = found.tolist()
    return (white, black), stage


# Draw knowledge shared by all evaluations: drawn positions, and scores that are too high for the material.

ROOK_UNITS = 5  # less than this cannot win without pawns
BISHOP_UNITS = KNIGHT_UNITS = 3

# The rules in the words of `rule_of`.
KNOWN_DRAW = "a known draw: neither side can force a win"
CANNOT_WIN = "the side ahead has no pawns and less than a rook, or two knights alone: it cannot win"
OPPOSITE_BISHOPS = "bishops of opposite colours are the only pieces: half the sum"


@kernel
def is_known_draw(position):
    """Known draws: at most one minor piece each without pawns, and the rook pawn with the wrong bishop."""
    white, black = units(position, WHITE), units(position, BLACK)
    if position.pieces[PAWN] == ZERO:
        return white < ROOK_UNITS and black < ROOK_UNITS
    return _is_wrong_bishop(position, WHITE, white, black) or _is_wrong_bishop(position, BLACK, black, white)


@kernel
def _is_wrong_bishop(position, strong, own_units, enemy_units):
    """King, rook pawn and a bishop that does not guard the corner, against a bare king in that corner."""
    pawns = pieces_of(position, strong, PAWN)
    bishops = pieces_of(position, strong, BISHOP)
    if own_units != BISHOP_UNITS or bishops == ZERO or enemy_units != 0 or popcount(position.pieces[PAWN]) != 1:
        return False
    if pawns == ZERO:
        return False
    file = lsb(pawns) & 7
    if file != 0 and file != 7:
        return False
    corner = file + (56 if strong == WHITE else 0)
    if (bishops & DARK_SQUARES != ZERO) == (bit(corner) & DARK_SQUARES != ZERO):
        return False
    king = king_square(position, 1 - strong)
    return abs((king & 7) - file) <= 1 and abs((king >> 3) - (corner >> 3)) <= 1


@kernel
def cannot_win(position, colour):
    """Whether a side has no pawns and less than a rook, or two knights that cannot force mate."""
    if pieces_of(position, colour, PAWN) != ZERO:
        return False
    return units(position, colour) < ROOK_UNITS or _are_two_knights(position, colour)


@kernel
def _are_two_knights(position, colour):
    """Whether a side has two knights alone, and the enemy no pawn whose moves would save it from stalemate."""
    if position.pieces[PAWN] != ZERO or units(position, colour) != 2 * KNIGHT_UNITS:
        return False
    return popcount(pieces_of(position, colour, KNIGHT)) == 2


@kernel
def are_opposite_bishops(position):
    """Whether each side has one bishop as its only piece, on squares of different colour."""
    bishops = position.pieces[BISHOP]
    if units(position, WHITE) != BISHOP_UNITS or units(position, BLACK) != BISHOP_UNITS:
        return False
    return popcount(bishops) == 2 and popcount(bishops & DARK_SQUARES) == 1


@kernel
def rules_may_apply(position):
    """Whether a side has no pawns or both have few pieces, which every rule requires: a quick test, mostly false."""
    pawns = position.pieces[PAWN]
    if pawns & position.colours[WHITE] == ZERO or pawns & position.colours[BLACK] == ZERO:
        return True
    return popcount(occupied_squares(position) ^ pawns) <= 4


@kernel
def is_material_draw(position):
    """`is_known_draw`, with a quick test first."""
    return rules_may_apply(position) and is_known_draw(position)


@kernel
def apply_rules(position, score):
    """White's score, a real number, after the draw rules: 0 for known draws, capped or halved if a win is unlikely."""
    if not rules_may_apply(position):
        return score
    if is_known_draw(position):
        return 0.0
    if score > 0 and cannot_win(position, WHITE) or score < 0 and cannot_win(position, BLACK):
        return 0.0
    return score / 2 if are_opposite_bishops(position) else score


@kernel
def final_score(position, score):
    """White's `score`, a real number, turned to the side to move after the draw rules and rounded: int64 centipawns."""
    whole = np.int64(np.rint(apply_rules(position, score)))
    return whole if position.side == WHITE else -whole


@entry
def _fill_final_scores(positions, white_scores, scores):
    for index in range(len(positions)):
        scores[index] = final_score(positions[index], white_scores[index])


@entry
def _apply_rules(positions, score):
    return apply_rules(positions[0], score)


def final_scores(positions: np.ndarray, white_scores: np.ndarray) -> np.ndarray:
    """White's real scores of POSITION[n] as those of the side to move, int64[n]: rules, rounding and turn applied."""
    scores = np.zeros(len(positions), dtype=np.int64)
    _fill_final_scores(positions, white_scores, scores)
    return scores


def after_rules(position: np.ndarray, score: float) -> float:
    """White's `score` of POSITION[1] after the draw rules, not yet rounded."""
    return float(_apply_rules(position, score))


def rule_of(record: np.ndarray, score: float) -> str | None:
    """Which draw rule changes White's `score` of POSITION[1], None where none does."""
    # Derived from what the rules make of a pawn more and of a pawn less.
    ahead, behind = after_rules(record, 100.0), after_rules(record, -100.0)
    if ahead == behind == 0.0:
        return KNOWN_DRAW
    leader = ahead if score > 0 else behind
    if score == 0 or abs(leader) == 100.0:
        return None
    return CANNOT_WIN if leader == 0.0 else OPPOSITE_BISHOPS
