"""A move as PGN writes it, resolved on the board by the engine's own generator."""

import numpy as np

from merino.core.board.bitboard import BISHOP, FILES, KING, KNIGHT, PAWN, QUEEN, RANKS, ROOK, ZERO, bit, type_of
from merino.core.board.makemove import castling_destinations
from merino.core.board.move import CASTLING, NORMAL, PROMOTION, destination_of, kind_of, origin_of
from merino.core.board.movegen import ALL, generate
from merino.core.board.position import attacks_of, king_square, occupied_squares, piece_on, side_to_move
from merino.core.compiled.jit import kernel
from merino.formats.pgn_tokens import codes, matches

ILLEGAL, AMBIGUOUS, NULL = 0, -1, -2

_FILE_SETS, _RANK_SETS = np.array(FILES), np.array(RANKS)
_UNKNOWN = -1


def _letters(**kinds):
    """Table, int64[256]: the piece type of a letter, or -1."""
    table = np.full(256, _UNKNOWN, dtype=np.int64)
    for letter, kind in kinds.items():
        table[ord(letter)] = kind
    return table


_PIECES = _letters(N=KNIGHT, B=BISHOP, R=ROOK, Q=QUEEN, K=KING, P=PAWN)
_PROMOTED = _letters(N=KNIGHT, B=BISHOP, R=ROOK, Q=QUEEN, n=KNIGHT, b=BISHOP, r=ROOK, q=QUEEN)
_BETWEEN_SQUARES = codes("-x:X")
_BEFORE_PROMOTION = codes("=/(")
_MARKS = codes("+#=-/.:~^_|<>'`)") | (np.arange(256) >= 128)
_CASTLING_SIGN = codes("Oo0")
_REMARKS = tuple(np.frombuffer(text, dtype=np.uint8) for text in (b"e.p", b"ep", b"mate", b"ch"))


@kernel
def resolve(position, scratch, data, start, stop):
    """The legal move that the word data[start:stop] means here, int64; or ILLEGAL, AMBIGUOUS or NULL.

    `scratch` is int32[MAX_MOVES]. Check marks and capture signs are optional; full squares (e2-e4, Ng1f3) are read as
    well as SAN. The rest of the word must be marks, not letters or digits that could mean a move.
    """
    if _is_null(data, start, stop):
        return NULL
    if _CASTLING_SIGN[data[start]]:
        return _resolve_castling(position, scratch, data, start, stop)
    kind = _PIECES[data[start]]
    named = kind != _UNKNOWN
    at, from_file, from_rank, square = _read_squares(data, start + 1 if named else start, stop)
    if square == _UNKNOWN:
        return ILLEGAL
    at, promotion = _read_promotion(data, at, stop)
    if not _is_remark(data, at, stop):
        return ILLEGAL
    in_full = from_file != _UNKNOWN and from_rank != _UNKNOWN
    candidates = position.colours[side_to_move(position)]
    if from_file != _UNKNOWN:
        candidates &= _FILE_SETS[from_file]
    if from_rank != _UNKNOWN:
        candidates &= _RANK_SETS[from_rank]
    if not named:
        kind = type_of(piece_on(position, from_rank << 3 | from_file)) if in_full else PAWN
        if kind > KING:
            return ILLEGAL  # coordinates need no letter, only a piece
    candidates &= position.pieces[kind]
    if kind == PAWN and from_file == _UNKNOWN:
        candidates &= _FILE_SETS[square & 7]  # without a file of origin a pawn moves straight
    elif kind != PAWN and kind != KING:
        candidates &= attacks_of(kind, 0, square, occupied_squares(position))
    return _only_match(position, scratch, candidates, square, promotion, in_full)


@kernel
def _is_null(data, start, stop):
    """Whether a word is a null move: --, Z0 or 0000."""
    if stop - start == 2:
        first, second = data[start], data[start + 1]
        return first == second == ord("-") or first == ord("Z") and second == ord("0")
    if stop - start != 4:
        return False
    return data[start] == data[start + 1] == data[start + 2] == data[start + 3] == ord("0")


@kernel
def _read_squares(data, at, stop):
    """The squares that a word names at `at`: (offset behind, file and rank of origin, destination), -1 if missing."""
    file, rank = _UNKNOWN, _UNKNOWN
    if at < stop and ord("a") <= data[at] <= ord("h"):
        file = np.int64(data[at]) - ord("a")
        at += 1
    if at < stop and ord("1") <= data[at] <= ord("8"):
        rank = np.int64(data[at]) - ord("1")
        at += 1
    second = at + 1 if at < stop and _BETWEEN_SQUARES[data[at]] else at
    if second + 1 < stop and ord("a") <= data[second] <= ord("h") and ord("1") <= data[second + 1] <= ord("8"):
        square = (np.int64(data[second + 1]) - ord("1")) << 3 | (np.int64(data[second]) - ord("a"))
        return second + 2, file, rank, square
    if file == _UNKNOWN or rank == _UNKNOWN:
        return at, _UNKNOWN, _UNKNOWN, _UNKNOWN
    return at, _UNKNOWN, _UNKNOWN, rank << 3 | file


@kernel
def _read_promotion(data, at, stop):
    """The promotion that a word names at `at`: (offset behind, piece type or -1)."""
    letter = at + 1 if at < stop and _BEFORE_PROMOTION[data[at]] else at
    if letter < stop and _PROMOTED[data[letter]] != _UNKNOWN:
        return letter + 1, _PROMOTED[data[letter]]
    return at, _UNKNOWN


@kernel
def _is_remark(data, at, stop):
    """Whether the rest of a word, from `at`, does not affect the move: marks, "e.p.", "mate"."""
    while at < stop and _MARKS[data[at]]:
        at += 1
    for index in range(len(_REMARKS)):
        if matches(data, at, stop, _REMARKS[index]):
            at += len(_REMARKS[index])
            break
    while at < stop and _MARKS[data[at]]:
        at += 1
    return at == stop


@kernel
def _only_match(position, scratch, candidates, square, promotion, in_full):
    """The one legal move of a candidate to `square` with this promotion.

    With both squares given, the word may mean castling (e1g1, or king takes rook), unless an ordinary move fits.
    """
    found, castling = ILLEGAL, ILLEGAL
    if candidates == ZERO:
        return found
    wanted = NORMAL if promotion == _UNKNOWN else PROMOTION + promotion - KNIGHT
    for index in range(generate(position, scratch, ALL, candidates)):
        move = int(scratch[index])
        kind, arrives = kind_of(move), destination_of(move)
        if kind == CASTLING:
            if square == arrives or square == castling_destinations(origin_of(move), arrives)[0]:
                castling = move
        elif arrives == square and (kind if kind >= PROMOTION else NORMAL) == wanted:
            if found != ILLEGAL:
                return AMBIGUOUS
            found = move
    return castling if found == ILLEGAL and in_full and wanted == NORMAL else found


@kernel
def _resolve_castling(position, scratch, data, start, stop):
    """O-O or O-O-O, with letters or zeros, with or without hyphens."""
    at, circles = start, 0
    while at < stop and circles < 3 and _CASTLING_SIGN[data[at]]:
        circles += 1
        at += 1
        if at + 1 < stop and data[at] == ord("-") and _CASTLING_SIGN[data[at + 1]]:
            at += 1
    if circles < 2 or not _is_remark(data, at, stop):
        return ILLEGAL
    king = king_square(position, side_to_move(position))
    for index in range(generate(position, scratch, ALL, bit(king))):
        move = int(scratch[index])
        if kind_of(move) == CASTLING and (destination_of(move) > king) == (circles == 2):
            return move
    return ILLEGAL
