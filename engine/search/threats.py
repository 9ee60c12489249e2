"""Quiet moves by what they threaten or escape: away from the attack of a lesser piece, into one, or giving check."""

from engine.board.bitboard import BISHOP, KING, KNIGHT, ONE, PAWN, ROOK, bit, lsb, pawn_attacks, type_of
from engine.board.move import destination_of, origin_of
from engine.board.position import attacks_of, gives_check, occupied_squares, piece_on, pieces_of, side_to_move
from engine.compiled.jit import kernel
from engine.search.see import see_at_least


@kernel
def attacked_by_lesser(position):
    """What the opponent's pawns attack, and what they and his minor pieces attack: two sets."""
    foe, occupied = 1 - side_to_move(position), occupied_squares(position)
    by_pawns = by_minors = pawn_attacks(pieces_of(position, foe, PAWN), foe)
    minors = pieces_of(position, foe, KNIGHT) | pieces_of(position, foe, BISHOP)
    while minors:
        square = lsb(minors)
        by_minors |= attacks_of(type_of(piece_on(position, square)), foe, square, occupied)
        minors &= minors - ONE
    return by_pawns, by_minors


@kernel
def threat_score(s, ply, move, by_pawns, by_minors):
    """How much earlier to try a quiet move for what it escapes or threatens, or later for what it walks into."""
    position = s.positions[ply]
    kind, score = type_of(piece_on(position, origin_of(move))), 0
    if kind != PAWN and kind != KING:
        attacked = by_pawns if kind < ROOK else by_minors
        if attacked & bit(origin_of(move)):
            score += s.parameters.threat_bonus
        if attacked & bit(destination_of(move)):
            score -= s.parameters.threat_bonus
    margin = -s.parameters.check_see_margin
    if gives_check(position, move, s.plies[ply].check_squares) and see_at_least(s, position, move, margin):
        score += s.parameters.check_bonus
    return score
