"""A move as PGN writes it, resolved on the board by the engine's own generator."""

import numpy as np

from engine.bitboard import BISHOP, FILES, KING, KNIGHT, PAWN, QUEEN, RANKS, ROOK, ZERO, bit, type_of
from engine.jit import kernel
from engine.makemove import castling_destinations
from engine.move import CASTLING, NORMAL, PROMOTION, destination_of, kind_of, origin_of
from engine.movegen import ALL, generate
from engine.position import attacks_of, king_square, occupied_squares, piece_on, pieces_of, side_to_move

ILLEGAL, AMBIGUOUS = 0, -1

_FILE_SETS, _RANK_SETS = np.array(FILES), np.array(RANKS)
_UNKNOWN = -1


def _letters(**kinds):
    """Table, int64[256]: the piece type of a letter, or -1."""
    table = np.full(256, _UNKNOWN, dtype=np.int64)
    for letter, kind in kinds.items():
        table[ord(letter)] = kind
    return table


_PIECES = _letters(N=KNIGHT, B=BISHOP, R=ROOK, Q=QUEEN, K=KING, P=PAWN)
_PROMOTED = _letters(N=KNIGHT, B=BISHOP, R=ROOK, Q=QUEEN, n=KNIGHT, r=ROOK, q=QUEEN)


@kernel
def resolve(position, scratch, data, start, stop):
    """The legal move that the word data[start:stop] means here, int64; or ILLEGAL or AMBIGUOUS.

    `scratch` is int32[MAX_MOVES]. Check marks, annotations and capture signs may be there or not; squares in full
    (e2-e4, Ng1f3) are as good as SAN.
    """
    if data[start] == ord("O") or data[start] == ord("o") or data[start] == ord("0"):
        return _resolve_castling(position, scratch, data, start, stop)
    kind = _PIECES[data[start]]
    named = kind != _UNKNOWN
    if named:
        start += 1
    from_file, from_rank, file, rank, promotion = _read_squares(data, start, stop)
    if file == _UNKNOWN or rank == _UNKNOWN:
        return ILLEGAL
    square = rank << 3 | file
    candidates = position.colours[side_to_move(position)]
    if from_file != _UNKNOWN:
        candidates &= _FILE_SETS[from_file]
    if from_rank != _UNKNOWN:
        candidates &= _RANK_SETS[from_rank]
    if not named:
        kind = PAWN
        if from_file != _UNKNOWN and from_rank != _UNKNOWN:
            kind = type_of(piece_on(position, from_rank << 3 | from_file))  # coordinates need no letter
            if kind > KING:
                return ILLEGAL
    candidates &= position.pieces[kind]
    if kind == PAWN and from_file == _UNKNOWN:
        candidates &= _FILE_SETS[file]  # without a file of origin a pawn goes straight on
    elif kind != PAWN and kind != KING:
        candidates &= attacks_of(kind, 0, square, occupied_squares(position))
    return _only_match(position, scratch, candidates, square, promotion)


@kernel
def _read_squares(data, at, stop):
    """The squares a word names: (file and rank of origin, of destination, promoted type), each -1 if not there."""
    from_file, from_rank, file, rank, promotion = _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN
    while at < stop:
        character = data[at]
        at += 1
        if rank != _UNKNOWN and (
            _PROMOTED[character] != _UNKNOWN or character == ord("b") and data[at - 2] == ord("=")
        ):
            promotion = _PROMOTED[character] if _PROMOTED[character] != _UNKNOWN else BISHOP
        elif ord("a") <= character <= ord("h"):
            if file != _UNKNOWN:
                from_file, from_rank = file, rank if rank != _UNKNOWN else from_rank
            file, rank = np.int64(character) - ord("a"), _UNKNOWN
        elif ord("1") <= character <= ord("8"):
            if file == _UNKNOWN:
                from_rank = np.int64(character) - ord("1")
            else:
                rank = np.int64(character) - ord("1")
    return from_file, from_rank, file, rank, promotion


@kernel
def _only_match(position, scratch, candidates, square, promotion):
    """The one legal move of a candidate to `square` with this promotion."""
    found = ILLEGAL
    if candidates == ZERO:
        return found
    wanted = NORMAL if promotion == _UNKNOWN else PROMOTION + promotion - KNIGHT
    for index in range(generate(position, scratch, ALL, candidates)):
        move = int(scratch[index])
        kind = kind_of(move)
        arrives = destination_of(move)
        if kind == CASTLING:
            arrives = castling_destinations(origin_of(move), arrives)[0]  # e1g1
        if arrives == square and (kind if kind >= PROMOTION else NORMAL) == wanted:
            if found != ILLEGAL:
                return AMBIGUOUS
            found = move
    return found


@kernel
def _resolve_castling(position, scratch, data, start, stop):
    """O-O or O-O-O, with letters or zeros."""
    circles = 0
    for at in range(start, stop):
        circles += data[at] == ord("O") or data[at] == ord("o") or data[at] == ord("0")
    king = king_square(position, side_to_move(position))
    if not pieces_of(position, side_to_move(position), KING):
        return ILLEGAL
    for index in range(generate(position, scratch, ALL, bit(king))):
        move = int(scratch[index])
        if kind_of(move) == CASTLING and (destination_of(move) > king) == (circles == 2) and 2 <= circles <= 3:
            return move
    return ILLEGAL
