"""Games whose moves carry the scores of the searches that chose them: what packed positions are taken from.

Files of such games are *viriformat*, which trainers of nets read, with about 4 bytes a position. A game is a board of
32 bytes, then 4 bytes a move, its code and White's score of its search in centipawns, then four zero bytes. The board
has, in order, the occupied squares; a nibble for each of them from a1 on, type + 8 for Black's, 6 for a rook that may
castle; the en-passant square, or 64, + 128 with Black to move; plies since a capture or pawn move; the number of the
move; a score; White's result, 0..2; a free byte. A move has its origin, its destination (for castling the rook's
square), the promotion and the kind. Eight zero bytes begin a record for other programs, with an identifier and a length
of two bytes each. All numbers are little-endian. Source: the specification in the repository cosmobobak/viriformat.

Merino writes a checksum of the game, 1 to 255, into the free byte. A move without a score gets UNSCORED, which lies
beyond what trainers take. Games of a file are numbered from 0.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from merino.core.board import bitboard, fen, makemove, movegen
from merino.core.board.move import CASTLING, EN_PASSANT, NO_MOVE, PROMOTION, SQUARES, Move, kind_of
from merino.core.board.position import NO_SQUARE, POSITION, side_to_move
from merino.core.common import errors
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.formats import pgn_games, pgn_tokens, sources
from merino.formats.packed import PACKED, Filter, PackedError, is_taken, scored, write_packed
from merino.formats.pgn_tokens import MAX_SCORE as MAX_EVALUATION


@dataclass(frozen=True)
class ScoredGames:
    """Finished games. The moves of game i are those from `firsts[i]` to `firsts[i + 1]`."""

    starts: np.ndarray  # POSITION[n]
    firsts: np.ndarray  # int64[n + 1]
    moves: np.ndarray  # int16, of all games; as `core.board.move`
    scores: np.ndarray  # int16, White's, of the position before each move, as `formats.pgn_tokens`; or NO_SCORE
    results: np.ndarray  # int8[n], White's, 0..2
    numbers: np.ndarray  # int64[n], of the games in their file

    def __len__(self) -> int:
        return len(self.results)

    def chosen(self, wanted: np.ndarray) -> ScoredGames:
        """Those of the games that bool[n] names."""
        lengths = np.diff(self.firsts)
        of_them = np.repeat(wanted, lengths)
        return ScoredGames(
            self.starts[wanted],
            ends(lengths[wanted]),
            self.moves[of_them],
            self.scores[of_them],
            self.results[wanted],
            self.numbers[wanted],
        )


def ends(lengths: np.ndarray) -> np.ndarray:
    """Where each of some rows laid end to end begins, and where the last ends: int64[n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def scaled(scores: np.ndarray, factor: float) -> np.ndarray:
    """Scores, int16[n], times a factor; those of mates and what is no score stay as they are."""
    stays = (scores == pgn_tokens.NO_SCORE) | (np.abs(scores.astype(np.int64)) > MAX_EVALUATION)
    changed = np.clip(np.rint(scores * float(factor)), -MAX_EVALUATION, MAX_EVALUATION)
    return np.where(stays, scores, changed).astype(np.int16)


_EVAL = re.compile(rb"\[%eval\s+[+-]?(\d+)([.,]\d*)?")
_COMMENT = re.compile(rb"\{[^{}]*\d[^{}]*\}")
_NO_SCORE = re.compile(rb"\{(\s|\[%(?!eval)[^]]*\])*\}")  # clocks, arrows and the like
MIN_CENTIPAWNS = 8  # a smaller median of whole numbers is one of pawns
LOOKED_AT = 1 << 24  # bytes of a file, for its unit
_ENOUGH = 1000  # scores, for the same


class ScoreUnit:
    """What scores without a fraction are worth in a file of games, and which comments are not understood as scores."""

    def __init__(self, source: sources.Source) -> None:
        """Look at the beginning of a source, before its first read."""
        self.head = source.look_ahead(LOOKED_AT)
        found = list(islice(_EVAL.finditer(self.head), _ENOUGH))
        fractions = {match[2][:1] for match in found if match[2]}
        median = float(np.median([float(match[1]) for match in found])) if found else 0.0
        # A depth behind a comma has no zero before it; and who writes 0.35 means 3 pawns by 3.
        is_comma = any(re.fullmatch(rb",0\d+", match[2] or b"") for match in found)
        is_pawns = b"." in fractions or median < MIN_CENTIPAWNS
        self.whole = 0 if is_comma else pgn_tokens.IN_PAWNS if is_pawns else pgn_tokens.IN_CENTIPAWNS
        self.remark = ""
        if self.whole == pgn_tokens.IN_CENTIPAWNS:
            shown = sources.decoded(found[0][0])
            self.remark = f"{source.name}: '{shown}]' is in centipawns, as the median of such scores is {median:g}"

    def note(self, path: Path, unscored: int, moves: int, left_out: sources.LeftOut) -> None:
        """Note so many of the moves of a file that have no score, and what was assumed of the others."""
        left_out.count(path, unscored, sources.NO_SCORE, "move")
        unread = self._unread() if 2 * unscored > moves else ""
        left_out.remarks += [self.remark] * bool(self.remark)
        if unread:
            left_out.remarks.append(f"{sources.name_of(path)}: not understood as a score: {unread}")

    def _unread(self) -> str:
        """The first comment with a number that is not understood as a score, and its line; "" if there is none."""
        for match in islice(_COMMENT.finditer(self.head), _ENOUGH):
            if not _NO_SCORE.fullmatch(match[0]) and not has_score(np.frombuffer(match[0], dtype=np.uint8), self.whole):
                line = sources.count_lines(self.head[: match.start()]) + 1
                return f"line {line}: {errors.abridged(' '.join(sources.decoded(match[0]).split()))}"
        return ""


@entry
def has_score(text, whole):
    """Whether the text between two moves has a score, as `pgn_tokens.score_between` finds it."""
    return pgn_tokens.score_between(text, 0, len(text), whole)[0] != pgn_tokens.NOTHING


def scored_games(games: pgn_games.Games, games_before: int = 0, whole: int = pgn_tokens.IN_PAWNS) -> ScoredGames:
    """The finished games of a PGN with the scores in their comments, numbered from `games_before` on.

    `whole` is for `pgn_tokens.score_between`. A score behind a move is that of the search that chose it, as engines
    write it, so it belongs to the position before the move.
    """
    table = games.table
    finished = (
        (table["fault"] == pgn_games.NO_FAULT) & (table["result"] != pgn_tokens.UNFINISHED) & (table["plies"] > 0)
    )
    numbers = np.flatnonzero(finished)
    table = table[numbers]
    firsts = ends(table["plies"])
    moves = np.zeros(firsts[-1], dtype=np.int16)
    scores = np.full(firsts[-1], pgn_tokens.NO_SCORE, dtype=np.int16)
    starts = games.starts[table["position"]]
    _read_games(games.data, table, games.moves, starts, firsts, moves, scores, whole)
    return ScoredGames(starts, firsts, moves, scores, table["result"].astype(np.int8), games_before + numbers)


def packed_of(games: ScoredGames, chosen: Filter, with_colours: bool = False) -> np.ndarray:
    """The positions of games that have a score and pass a filter, PACKED[n], or SCORED[n] `with_colours`."""
    packed = np.zeros(len(games.moves), dtype=PACKED)
    positions = np.zeros(len(games.moves) * with_colours, dtype=POSITION)
    columns = (games.moves, games.scores, games.results, games.numbers)
    count = _pack_games(games.starts, games.firsts, *columns, chosen.most, chosen.noisy, packed, positions)
    return scored(positions[:count], packed[:count]) if with_colours else packed[:count]


@entry
def _read_games(data, table, moves, starts, firsts, own_moves, scores, whole):
    """Copy the moves of each game of a PGN and note their scores."""
    for number in range(len(table)):
        game, first = table[number], firsts[number]
        own_moves[first : firsts[number + 1]] = moves[game.first : game.first + game.plies]
        _read_scores(data, game, side_to_move(starts[number]), scores[first : firsts[number + 1]], whole)


@kernel
def _read_scores(data, game, side, scores, whole):
    """Fill int16[plies] with White's score behind each move of a game; `side` makes the first."""
    kind, _, at, _ = pgn_tokens.next_token(data, game.text, game.end)
    for ply in range(game.plies):
        kind, start, stop, _ = pgn_tokens.next_token(data, at, game.end)
        score_kind, value = pgn_tokens.score_between(data, at, start, whole)
        is_white = side ^ (ply & 1) == bitboard.WHITE
        if score_kind != pgn_tokens.NOTHING:
            scores[ply] = -value if score_kind == pgn_tokens.OF_MOVER and not is_white else value
        at = stop
        if kind != pgn_tokens.MOVE:
            break


@entry
def _pack_games(starts, firsts, moves, scores, results, numbers, most, noisy, packed, positions):
    """Fill PACKED[n], and POSITION[n] or [0], with the positions that pass the filter; returns their number."""
    stack = np.zeros(2, dtype=POSITION)
    count = 0
    for game in range(len(starts)):
        memory.copy_record(stack[0], starts[game])
        first = firsts[game]
        for index in range(first, firsts[game + 1]):
            before, after = stack[index - first & 1], stack[index - first + 1 & 1]
            is_white = side_to_move(before) == bitboard.WHITE
            move, score, result = np.int64(moves[index]), np.int64(scores[index]), np.int64(results[game])
            if score != pgn_tokens.NO_SCORE and is_taken(before, move, score, most, noisy):
                own_score, own_result = (score, result) if is_white else (-score, 2 - result)
                write_packed(before, own_score, own_result, numbers[game], packed[count])
                if len(positions):
                    memory.copy_record(positions[count], before)
                count += 1
            makemove.make(after, before, move)
    return count


ENDING = ".vf"
UNSCORED = 32767  # in place of NO_SCORE
BOARD_BYTES, MOVE_BYTES = 32, 4
MAX_GAME_BYTES = 1 << 18  # of 65,000 plies: a game that ends by the rule of 75 moves has at most 17,697
CHUNK = 1 << 20  # bytes read at a time: some thousand games
_POSITION_BYTES = 28  # of a board: what comes before its score
UNMOVED_ROOK, NO_TYPE, NO_EN_PASSANT, BLACK_TO_MOVE = 6, 7, 64, 128

BOARD = memory.record_dtype(
    [
        ("occupied", np.uint64),
        ("pieces", np.uint8, 16),  # two nibbles each, the lower first
        ("side", np.uint8),
        ("halfmove", np.uint8),
        ("fullmove", np.uint16),
        ("score", np.int16),  # not used
        ("result", np.uint8),
        ("check", np.uint8),  # 1..255, or 0
    ]
)
assert BOARD.itemsize == BOARD_BYTES
SCORED_MOVE = np.dtype([("move", "<u2"), ("score", "<i2")])
_LETTERS = "PNBRQKR?pnbrqkr?"  # by nibble
_KINDS = np.zeros(8, dtype=np.int64)  # what each kind of move is in a file
_KINDS[EN_PASSANT], _KINDS[CASTLING] = 1 << 14, 2 << 14
_KINDS[PROMOTION:] = 3 << 14 | np.arange(4) << 12


def is_games_file(path: Path) -> bool:
    """Whether a file with this name is written in viriformat."""
    return sources.plain_name(path).suffix.lower() == ENDING


def holds_viriformat(source: sources.Source) -> bool:
    """Whether a source begins with a game in viriformat, or should by its name; only before the first read."""
    return is_games_file(source.path) or bool(_legal_games(source.head))


def read_viriformat(source: sources.Source) -> Iterator[ScoredGames]:
    """The games of a source, some at a time; raises PackedError, which names the source and the game."""
    rest, before = b"", 0
    while piece := source.read(CHUNK):
        data = np.frombuffer(rest + piece, dtype=np.uint8)
        with errors.turning(PackedError, PackedError, f"{source.name} holds no games in viriformat: "):
            games, end = _whole_games(data, before)
        rest, before = data[end:].tobytes(), before + len(games)
        yield games
    if rest or not before:
        why = f"the end of game {before + 1} is missing" if rest else "it is empty"
        raise PackedError(f"{source.name} holds no games in viriformat: {why}")


def games_in(content: bytes) -> ScoredGames:
    """The whole games that a file's content begins with; raises PackedError."""
    return _whole_games(np.frombuffer(content, dtype=np.uint8), 0)[0]


def end_of_games(file: IO[bytes], start: int = 0) -> int:
    """Where the whole games end that an open file has from byte `start` on, which must be 0 or a former such end.

    Only the ends of games are looked for, but at the beginning of the file the games must be legal.
    """
    rest, end = b"", start
    file.seek(start)
    while piece := file.read(CHUNK):
        if not end and not rest and _legal_games(piece[:MAX_GAME_BYTES]) is None:
            return start
        data = np.frombuffer(rest + piece, dtype=np.uint8)
        _, whole = _bounds_of_games(data)
        rest, end = data[whole:].tobytes(), end + whole
        if len(rest) > MAX_GAME_BYTES:
            break
    return end


def _legal_games(content: bytes) -> ScoredGames | None:
    """The whole games that a file's content begins with; None where one cannot be read."""
    try:
        return games_in(content)
    except PackedError:
        return None


def as_viriformat(games: ScoredGames) -> bytes:
    """The bytes of games, as a file has them; raises PackedError if one is longer than what can be read."""
    sizes = BOARD_BYTES + MOVE_BYTES * (np.diff(games.firsts) + 1)
    if (sizes > MAX_GAME_BYTES).any():
        number = int(games.numbers[np.argmax(sizes)]) + 1
        raise PackedError(f"game {number} is longer than games in viriformat are")
    boards = _as_boards(games.starts)
    boards["result"] = games.results
    moves = np.zeros(len(games.moves), dtype=SCORED_MOVE)
    codes = games.moves.astype(np.int64)
    moves["move"] = codes & SQUARES | _KINDS[codes >> 12]
    moves["score"] = np.where(games.scores == pgn_tokens.NO_SCORE, UNSCORED, games.scores)
    content = moves.tobytes()
    parts = []
    for board, first, last in zip(boards, games.firsts[:-1].tolist(), games.firsts[1:].tolist(), strict=True):
        own = content[MOVE_BYTES * first : MOVE_BYTES * last]
        board["check"] = _check(board.tobytes(), own)
        parts += [board.tobytes(), own, bytes(MOVE_BYTES)]
    return b"".join(parts)


def _whole_games(data: np.ndarray, before: int) -> tuple[ScoredGames, int]:
    """The whole games that uint8[n] begins with, of a file with so many before them, and where the next begins.

    Raises PackedError.
    """
    bounds, end = _bounds_of_games(data)
    count = len(bounds)
    if len(data) - end > MAX_GAME_BYTES:
        raise PackedError(f"game {before + count + 1} is longer than games are")
    boards = data[bounds[:, :1] + np.arange(BOARD_BYTES)].reshape(-1).view(BOARD)
    lengths = (bounds[:, 1] - bounds[:, 0] - BOARD_BYTES) // MOVE_BYTES
    is_move = np.zeros(end, dtype=bool)
    for first, last in bounds.tolist():
        is_move[first + BOARD_BYTES : last] = True
    pairs = data[:end][is_move].view(SCORED_MOVE)
    starts = _starts_of(boards, before)
    firsts, moves = ends(lengths), np.zeros(len(pairs), dtype=np.int16)
    game, ply = _resolve(starts, firsts, pairs["move"].astype(np.int64), moves)
    if game < count:
        code = int(pairs["move"][firsts[game] + ply])
        raise PackedError(f"game {before + game + 1}: move {ply + 1}, {Move(code & SQUARES).uci(True)}, is not legal")
    _compare(data, boards, bounds, before)
    scores = np.where(pairs["score"] == UNSCORED, pgn_tokens.NO_SCORE, pairs["score"]).astype(np.int16)
    return ScoredGames(starts, firsts, moves, scores, boards["result"].astype(np.int8), before + np.arange(count)), end


def _bounds_of_games(data: np.ndarray) -> tuple[np.ndarray, int]:
    """The beginning and the end of the moves of each whole game, int64[n, 2], and the end of the last."""
    bounds = np.zeros((len(data) // (BOARD_BYTES + MOVE_BYTES) + 1, 2), dtype=np.int64)
    count, end = _find_games(data, bounds)
    return bounds[:count], end


@entry
def _find_games(data, bounds):
    """Fill `bounds` for `_bounds_of_games`; returns the number of games and the end of the last."""
    count, at = 0, 0
    while True:
        if at + 12 <= len(data) and not data[at : at + 8].any():  # a record for other programs
            after = at + 16 + np.int64(data[at + 10]) + 256 * np.int64(data[at + 11])
            if after > len(data):
                return count, at
            at = after
            continue
        last = at + BOARD_BYTES
        while last + MOVE_BYTES <= len(data) and data[last : last + MOVE_BYTES].any():
            last += MOVE_BYTES
        if last + MOVE_BYTES > len(data):
            return count, at
        bounds[count] = at, last
        count, at = count + 1, last + MOVE_BYTES


def _compare(data: np.ndarray, boards: np.ndarray, bounds: np.ndarray, before: int) -> None:
    """Raise PackedError if a game has another checksum than it should, and most of them have the right one."""
    marked = np.flatnonzero(boards["check"])
    games = [data[first:last].tobytes() for first, last in bounds[marked]]
    found = np.array([_check(game[:BOARD_BYTES], game[BOARD_BYTES:]) for game in games])
    wrong = marked[found != boards["check"][marked]]
    if 0 < len(wrong) <= len(marked) // 2:  # were it more, the bytes would be those of another program
        raise PackedError(f"game {before + wrong[0] + 1} was damaged after it was written: its checksum is wrong")


def _check(board: bytes, moves: bytes) -> int:
    """The checksum of a game, 1..255; the last byte of its board is left out."""
    return 1 + zlib.crc32(moves, zlib.crc32(board[:-1])) % 255


def _as_boards(positions: np.ndarray) -> np.ndarray:
    """POSITION[n] as BOARD[n], without results."""
    boards = np.zeros(len(positions), dtype=BOARD)
    occupied = positions["colours"][:, 0] | positions["colours"][:, 1]
    is_there, may_castle = _squares(occupied), _squares(positions["castling"])
    types = np.where(may_castle, positions["board"] & bitboard.BLACK << 3 | UNMOVED_ROOK, positions["board"])
    nibbles = np.zeros((len(positions), 32), dtype=np.uint8)
    rows, _ = np.nonzero(is_there)
    nibbles[rows, (np.cumsum(is_there, axis=1) - 1)[is_there]] = types[is_there]
    boards["occupied"], boards["pieces"] = occupied, nibbles[:, ::2] | nibbles[:, 1::2] << 4
    en_passant = np.where(positions["en_passant"] == NO_SQUARE, NO_EN_PASSANT, positions["en_passant"])
    boards["side"] = en_passant | np.where(positions["side"] == bitboard.BLACK, BLACK_TO_MOVE, 0)
    boards["halfmove"] = np.minimum(positions["halfmove"], 255)
    boards["fullmove"] = np.minimum(positions["fullmove"], 65535)
    return boards


def _squares(sets: np.ndarray) -> np.ndarray:
    """Sets of squares, uint64[n], as bool[n, 64]."""
    return np.unpackbits(sets.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little").astype(bool)


def _starts_of(boards: np.ndarray, before: int) -> np.ndarray:
    """BOARD[n] as POSITION[n]; raises PackedError."""
    places: dict[bytes, int] = {}
    positions, index = [np.zeros(0, dtype=POSITION)], np.zeros(len(boards), dtype=np.int64)
    for number, board in enumerate(boards):
        key = board.tobytes()[:_POSITION_BYTES]
        if key not in places:
            with errors.turning(fen.FenError, PackedError, f"game {before + number + 1}: "):
                positions.append(fen.parse_fen(_fen_of(board)))
            places[key] = len(places)
        index[number] = places[key]
    if (boards["result"] > 2).any():
        number = int(np.argmax(boards["result"] > 2))
        raise PackedError(f"game {before + number + 1}: its result is not 0, 1 or 2")
    return np.concatenate(positions)[index]


def _fen_of(board: np.void) -> str:
    """The FEN of a BOARD record; raises FenError where it has none."""
    occupied, nibbles = int(board["occupied"]), []
    for pair in board["pieces"].tolist():
        nibbles += [pair & 15, pair >> 4]
    if occupied.bit_count() > len(nibbles):
        raise fen.FenError("it has more than 32 pieces")
    rows, castling, left = [["1"] * 8 for _ in range(8)], "", iter(nibbles)
    for square in range(64):
        if occupied >> square & 1:
            nibble = next(left)
            if nibble & 7 == NO_TYPE:
                raise fen.FenError("it has an unknown piece")
            letter = _LETTERS[nibble]
            rows[7 - (square >> 3)][square & 7] = letter
            if nibble & 7 == UNMOVED_ROOK:
                castling += "ABCDEFGH"[square & 7] if letter.isupper() else "abcdefgh"[square & 7]
    en_passant = int(board["side"]) & ~BLACK_TO_MOVE
    if en_passant > NO_EN_PASSANT:
        raise fen.FenError(f"its en-passant square, {en_passant}, is none")
    passed = "-" if en_passant == NO_EN_PASSANT else "abcdefgh"[en_passant & 7] + str((en_passant >> 3) + 1)
    side = "b" if int(board["side"]) & BLACK_TO_MOVE else "w"
    ranks = "/".join("".join(row) for row in rows)
    return f"{ranks} {side} {castling or '-'} {passed} {board['halfmove']} {board['fullmove']}"


@entry
def _resolve(starts, firsts, codes, moves):
    """Fill `moves` with the legal moves that the codes of a file mean; returns (games, 0), or game and ply at fault."""
    stack, scratch = np.zeros(2, dtype=POSITION), np.zeros(movegen.MAX_MOVES, dtype=np.int32)
    for game in range(len(starts)):
        memory.copy_record(stack[0], starts[game])
        for ply in range(firsts[game + 1] - firsts[game]):
            before, after = stack[ply & 1], stack[ply + 1 & 1]
            move = _legal_move(before, scratch, codes[firsts[game] + ply])
            if move == NO_MOVE:
                return game, ply
            moves[firsts[game] + ply] = move
            makemove.make(after, before, move)
    return len(starts), 0


@kernel
def _legal_move(position, scratch, code):
    """The legal move that has this code in a file, or NO_MOVE."""
    for index in range(movegen.generate(position, scratch, movegen.ALL, bitboard.FULL)):
        move = np.int64(scratch[index])
        if move & SQUARES | _KINDS[kind_of(move)] == code:
            return move
    return NO_MOVE
