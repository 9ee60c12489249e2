"""Positions with results, one per line: EPD and FEN in the forms that tuners use, and Merino's own `.fen` files.

A line is a FEN of four to six fields and then the result for White: `c9 "1-0";`, `[0.5]`, `;1-0`, `"1/2-1/2"`, `1-0`
or, behind a bar, `| 1.0`. GreKo's `1 FEN`, `0 FEN` and `= FEN` are read too. `c7` names the game of a position and `c8`
the plies to its end. `ce` is a score in centipawns for the side to move, and so is a number behind brackets, as in
Ethereal's `[0.5] 35`; the first of two numbers behind bars is one for White: `| 35 | 1.0`. Numbers are read whole: a
line with `[0,5]` or `ce 35cp` is at fault. Lines that begin with # are skipped.

A FEN that compiled code does not find plainly correct is left to `core.board.fen.parse_fen`, which words the error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from merino.core.board import bitboard, fen
from merino.core.board.position import POSITION
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.formats import pgn_tokens, sources

READ, IN_CHECK, BAD_FEN, BAD_VALUE = range(4)
NO_GAME, NO_END = np.uint64(0), -1
MAX_TO_END = int(np.iinfo(np.int16).max)  # plies to the end of a game; more count as these

LINE = memory.record_dtype(
    [
        ("start", np.int64),  # offset of the line
        ("stop", np.int64),
        ("number", np.int64),  # of the line, from 0
        ("state", np.int32),  # READ, or what is wrong with it
        ("result", np.float64),  # White's, 0..1; NaN if none was found
        ("game", np.uint64),  # a hash of the game's name, or NO_GAME
        ("to_end", np.int32),  # plies, or NO_END
        ("score", np.int32),  # centipawns, or NO_SCORE
        ("by_mover", np.int32),  # whether it is for the side to move, not for White
        ("bad_result", np.int64),  # offset of the first that cannot be read, or -1
        ("bad_score", np.int64),
    ]
)
_BETWEEN, _IN_WORD, _OPENS, _IN_VALUE = 1, 2, 4, 8  # of words; what may come before a value; commas too belong to it
_KINDS = np.full(256, _IN_WORD | _IN_VALUE, dtype=np.uint8)
_KINDS[pgn_tokens.codes(" \t\r\n,;|=[]()\"'")] ^= _BETWEEN | _IN_WORD
_KINDS[pgn_tokens.codes(" \t\"'(")] |= _OPENS
_KINDS[pgn_tokens.codes(" \t\r\n\"')];|")] ^= _IN_VALUE
_BLANK = pgn_tokens.codes(" \t")
_VALUE = re.compile(rb"[^\s\"')\];|]*")


def _bytes(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


_GAME, _TO_END, _RESULT, _SCORE, _OTHER_HALF = map(_bytes, ("c7", "c8", "c9", "ce", "-1/2"))
_MAX_REMARK = 80
_RESULT_REMARKS = tuple(_bytes(f' c9 "{result}";') for result in ("0-1", "1/2-1/2", "1-0"))
_TO_END_REMARK, _GAME_REMARK, _REMARK_END = _bytes(' c8 "'), _bytes(' c7 "'), _bytes('";')
_SCORE_REMARKS = (_bytes(" ce "), _bytes(" ce -"))
_HASH_START, _HASH_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a


@dataclass(frozen=True)
class Labelled:
    """The lines of a text: POSITION[n], float32[n] results for White, uint64[n] games, int16[n] plies to the end.

    `scores`, int16[n], are White's in centipawns, as `formats.pgn_tokens` has them. NO_GAME, NO_END and NO_SCORE mark
    what a line does not give. `lines`, int64[n], are the numbers of the lines.
    """

    positions: np.ndarray
    results: np.ndarray
    games: np.ndarray
    to_end: np.ndarray
    scores: np.ndarray
    lines: np.ndarray
    faults: tuple[sources.Fault, ...]

    def only(self, which: np.ndarray) -> Labelled:
        """The positions for which `which`, bool[n], is true."""
        if which.all():
            return self  # the usual case, without the time for copies
        columns = ("positions", "results", "games", "to_end", "scores", "lines")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})


def read_labelled(text: bytes, lines_before: int = 0, in_check: bool = False) -> Labelled:
    """All lines of a text that begins after this many lines of its file; those with a king in check if `in_check`."""
    data = np.frombuffer(text, dtype=np.uint8)
    capacity = text.count(b"\n") + text.count(b"\r") + 1
    lines, positions = np.zeros(capacity, dtype=LINE), np.zeros(capacity, dtype=POSITION)
    count = int(_read_lines(data, lines, positions))
    lines, positions = lines[:count], positions[:count]
    faults: list[sources.Fault] = []
    for index in np.flatnonzero(lines["state"] >= BAD_FEN):
        reason = _settle(data, lines[index], positions[index : index + 1])
        if reason:
            faults.append(sources.Fault(int(lines["number"][index]) + 1 + lines_before, reason))
    good = lines["state"] <= (IN_CHECK if in_check else READ)
    kept = lines[good]
    is_turned = (
        (kept["by_mover"] == 1) & (positions["side"][good] != bitboard.WHITE) & (kept["score"] != pgn_tokens.NO_SCORE)
    )
    return Labelled(
        positions if good.all() else positions[good],
        kept["result"].astype(np.float32),
        kept["game"],
        kept["to_end"].astype(np.int16),
        np.where(is_turned, -kept["score"], kept["score"]).astype(np.int16),
        kept["number"] + 1 + lines_before,
        tuple(faults),
    )


def _settle(data: np.ndarray, line: np.void, positions: np.ndarray) -> str:
    """Decide on a line that is not plainly correct: fill in its position, or say what is wrong with it."""
    words = bytes(data[line["start"] : line["stop"]]).decode("latin-1").split()
    if words and words[0] in ("1", "0", "="):
        words = words[1:]
    counters = [word.isdigit() for word in words[4:6]]
    count = 4 + (counters.index(False) if False in counters else len(counters))
    if line["state"] == BAD_FEN:
        try:
            positions[0] = fen.parse_fen(" ".join(words[:count]).replace(";", " "))[0]
        except fen.FenError as error:
            return str(error)
        line["state"] = IN_CHECK if positions["checkers"][0] else READ
    wanted = "no result"
    at = int(line["bad_result"]) if np.isnan(line["result"]) else -1
    if at < 0 <= line["bad_score"]:
        at, wanted = int(line["bad_score"]), "no score in whole centipawns"
    if at >= 0:
        line["state"] = BAD_VALUE
        value = _VALUE.match(bytes(data[at : line["stop"]]))
        return f"{sources.decoded(value[0] if value else b'')[:40]!r} is {wanted}"
    if np.isnan(line["result"]):
        line["state"] = BAD_VALUE
        return 'no result: neither c9 "1-0" nor [1.0] nor 1-0'
    return ""


@entry
def _read_lines(data, lines, positions):
    """Fill LINE[n] and POSITION[n] from the lines of a text; returns their number."""
    at, found, number = 0, 0, 0
    while at < len(data):
        stop = at
        while stop < len(data) and data[stop] != ord("\n") and data[stop] != ord("\r"):
            stop += 1
        start = at
        while start < stop and _BLANK[data[start]]:
            start += 1
        if start < stop and data[start] != ord("#"):
            line = lines[found]
            line.start, line.stop, line.number = start, stop, number
            _read_line(data, line, positions[found])
            found += 1
        number += 1
        at = stop + 2 if stop + 1 < len(data) and data[stop] == ord("\r") and data[stop + 1] == ord("\n") else stop + 1
    return found


@kernel
def _read_line(data, line, position):
    at, stop = line.start, line.stop
    line.state, line.result, line.game, line.to_end = READ, np.nan, NO_GAME, NO_END
    line.score, line.by_mover = pgn_tokens.NO_SCORE, 0
    line.bad_result = line.bad_score = -1
    if at + 1 < stop and data[at + 1] == ord(" "):
        result = _greko_result(data[at])
        if result >= 0:
            line.result = result
            at += 2
    after = fen.read_fen(data, at, stop, position)
    if after == fen.NOT_PLAIN:
        line.state = BAD_FEN
        after = at
        for _ in range(4):  # fields, whatever they contain
            while after < stop and not _BLANK[data[after]]:
                after += 1
            while after < stop and _BLANK[data[after]]:
                after += 1
    elif position.checkers != bitboard.ZERO:
        line.state = IN_CHECK
    _read_remarks(data, after, line)
    if line.state != BAD_FEN and (np.isnan(line.result) or line.bad_score >= 0):
        line.state = BAD_VALUE


@kernel
def _greko_result(letter):
    """The result that GreKo writes before a FEN, 1, 0 or =; -1 for anything else."""
    if letter == ord("="):
        return 0.5
    if letter == ord("0") or letter == ord("1"):
        return float(letter - ord("0"))
    return -1.0


@kernel
def _read_remarks(data, at, line):
    """Read result, game, plies to the end and score from what follows the FEN."""
    named = False  # whether the result is from c9, which no other word replaces
    bars = 0
    while at < line.stop:
        sign = data[at]
        if _KINDS[sign] & _BETWEEN:
            at += 1
            bars += int(sign == ord("|"))
            if sign == ord("|") and bars == 1 and _has_bar(data, at, line.stop):
                at = _read_score(data, at, line)
            elif sign == ord("[") or sign == ord("|") and bars <= 2:
                at = _read_result(data, at, line, named)
                if sign == ord("[") and _is_score(data, at, line.stop):
                    line.by_mover, at = 1, _read_score(data, at + 1, line)
            continue
        word, at = at, _behind(_IN_WORD, data, at, line.stop)
        is_code = at - word == 2
        if is_code and pgn_tokens.matches(data, word, at, _GAME):
            line.game, at = _hash_of_value(data, _behind(_BETWEEN, data, at, line.stop), line.stop)
        elif is_code and pgn_tokens.matches(data, word, at, _TO_END):
            word = _behind(_BETWEEN, data, at, line.stop)
            line.to_end, at = _plies_at(data, word, line.stop), _behind(_IN_WORD, data, word, line.stop)
        elif is_code and pgn_tokens.matches(data, word, at, _SCORE):
            line.by_mover, at = 1, _read_score(data, at, line)
        elif is_code and pgn_tokens.matches(data, word, at, _RESULT):
            line.result = np.nan
            at, named = _read_result(data, at, line, False), True
        elif not named and pgn_tokens.result_at(data, word, at) != pgn_tokens.UNFINISHED:
            result = _result_of(data, word, at)
            line.result = line.result if np.isnan(result) else result


@kernel
def _read_result(data, at, line, named):
    """Read the result from `at` on, unless one is `named`, or note where it is at fault; returns the offset behind."""
    at = _behind(_OPENS, data, at, line.stop)
    end = _behind(_IN_VALUE, data, at, line.stop)
    result = _result_of(data, at, end)
    if np.isnan(result):
        line.bad_result = at if line.bad_result < 0 and end > at else line.bad_result
    elif not named:
        line.result = result
    return end


@kernel
def _read_score(data, at, line):
    """Read the score from `at` on, or note where it is at fault; returns the offset behind."""
    at = _behind(_OPENS, data, at, line.stop)
    end = _behind(_IN_VALUE, data, at, line.stop)
    after, number, unit = pgn_tokens.number_at(data, at, end)
    if after == end and unit == 1:
        line.score = max(-pgn_tokens.MATE, min(number, pgn_tokens.MATE))
    else:
        line.bad_score = at
    return end


@kernel
def _is_score(data, at, stop):
    """Whether a number, and not a result, follows the bracket at `at`."""
    if at == stop or data[at] != ord("]"):
        return False
    at = _behind(_OPENS, data, at + 1, stop)
    is_number = at < stop and (data[at] == ord("-") or data[at] == ord("+") or ord("0") <= data[at] <= ord("9"))
    return is_number and pgn_tokens.result_at(data, at, stop) == pgn_tokens.UNFINISHED


@kernel
def _plies_at(data, at, stop):
    """The whole number at `at`; NO_END if there is none."""
    after, number, unit = pgn_tokens.number_at(data, at, stop)
    return (
        min(number, MAX_TO_END) if number >= 0 and unit == 1 and after == _behind(_IN_WORD, data, at, stop) else NO_END
    )


@kernel
def _has_bar(data, at, stop):
    """Whether another bar follows."""
    while at < stop and data[at] != ord("|"):
        at += 1
    return at < stop


@kernel
def _behind(kind, data, at, stop):
    """The first offset from `at` on with a sign of another kind."""
    while at < stop and _KINDS[data[at]] & kind:
        at += 1
    return at


@kernel
def _hash_of_value(data, at, stop):
    """(hash of the text from `at` to its quote or semicolon, offset behind); never NO_GAME."""
    end = at
    while end < stop and data[end] != ord('"') and data[end] != ord(";"):
        end += 1
    return hash_of_text(data, at, end), end


@kernel
def hash_of_text(data, start, stop):
    """A hash of a text, uint64; never 0."""
    code = _HASH_START
    for at in range(start, stop):
        code = (code ^ np.uint64(data[at])) * _HASH_FACTOR
    return max(code, np.uint64(1))


@kernel
def _result_of(data, at, end):
    """White's result that data[at:end] is, written 1-0 or 1.0; NaN if it is none."""
    result = pgn_tokens.result_at(data, at, end)
    if result != pgn_tokens.UNFINISHED:
        after = at + 3
        if result == pgn_tokens.DRAWN and pgn_tokens.matches(data, after, end, _OTHER_HALF):
            after += len(_OTHER_HALF)
        return float(result) / pgn_tokens.WHITE_WON if after == end or data[after] == ord(",") else np.nan
    after, number, unit = pgn_tokens.number_at(data, at, end)
    return number / unit if after == end and 0 <= number <= unit else np.nan


def write_labelled(
    positions: np.ndarray, results: np.ndarray, games: np.ndarray, to_end: np.ndarray, scores: np.ndarray | None = None
) -> bytes:
    """The lines of POSITION[n], each with its result, the plies to the end of its game, and the number of the game.

    `results`, float[n], are White's 0, 0.5 or 1; `games` are 0 and `to_end` NO_END where unknown. `scores`, int16[n],
    are White's, NO_SCORE where missing; None if there are none at all.
    """
    text = np.empty(len(positions) * (fen.MAX_FEN_BYTES + _MAX_REMARK), dtype=np.uint8)
    columns = (np.rint(2 * results).astype(np.int64), games.astype(np.int64), to_end.astype(np.int64))
    white_scores = np.full(len(positions), pgn_tokens.NO_SCORE) if scores is None else scores.astype(np.int64)
    return text[: _write_lines(positions, *columns, white_scores, text)].tobytes()


@entry
def _write_lines(positions, results, games, to_end, scores, text):
    at = 0
    for index in range(len(positions)):
        position, score = positions[index], scores[index]
        at = _write(_RESULT_REMARKS[results[index]], text, fen.write_fen(position, text, at))
        if to_end[index] >= 0:
            at = _write(_REMARK_END, text, fen.write_number(to_end[index], text, _write(_TO_END_REMARK, text, at)))
        if games[index] > 0:
            at = _write(_REMARK_END, text, fen.write_number(games[index], text, _write(_GAME_REMARK, text, at)))
        if score != pgn_tokens.NO_SCORE:
            own = score if position.side == bitboard.WHITE else -score
            at = _write(_SCORE_REMARKS[int(own < 0)], text, at)
            at = _write(_REMARK_END[1:], text, fen.write_number(abs(own), text, at))
        text[at] = ord("\n")
        at += 1
    return at


@kernel
def _write(remark, text, at):
    """Put a remark, uint8[n], into the text; the offset behind it."""
    for index in range(len(remark)):
        text[at + index] = remark[index]
    return at + len(remark)
