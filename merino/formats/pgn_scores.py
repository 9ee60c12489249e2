"""The scores in comments behind moves, as engines and servers write them.

`[%eval 0.35]`, `[%eval 0.35,12]`, `[%eval #-3]` and TCEC's `wv=0.35` are White's scores of the position that the move
led to. `+0.35/12`, `-M5/20` at the beginning of a comment are the scores of the mover's search for the position before
the move. All are in pawns, or in moves to mate. If there are several scores behind a move, the last one counts.
"""

import numpy as np

from merino.core.compiled.jit import kernel
from merino.formats.pgn_tokens import codes, comment_end, is_line_start, line_end, matches, skip_variation

NO_SCORE = -32768  # int16
MATE = 32000  # less the moves to it, int16
MAX_SCORE = 30000  # centipawns; larger scores are cut off
NOTHING, OF_POSITION, OF_MOVER = range(3)  # whose score it is, and of which position

_DIGIT = codes("0123456789")
_EVAL = np.frombuffer(b"[%eval ", dtype=np.uint8)
_WHITE_VALUE = np.frombuffer(b"wv=", dtype=np.uint8)
_BLANK = codes(" \t\r\n")


@kernel
def score_between(data, at, end):
    """The score in the comments of data[at:end], the text between two moves: its kind and value, int64 both.

    The kind is one of NOTHING, OF_POSITION and OF_MOVER; the value is in centipawns, or MATE less moves.
    """
    kind, value = NOTHING, NO_SCORE
    while at < end:
        character = data[at]
        if character == ord("{"):
            stop = comment_end(data, at, end)
            stop = end if stop < 0 else stop
            found, score = _score_in(data, at + 1, stop)
            if found != NOTHING:
                kind, value = found, score
            at = stop
        elif character == ord("("):
            at = max(at + 1, skip_variation(data, at, end))
        elif character == ord(";") or character == ord("%") and is_line_start(data, at):
            at = line_end(data, at, end)
        else:
            at += 1
    return kind, value


@kernel
def _score_in(data, at, end):
    """The score in the comment data[at:end], as `score_between` gives it."""
    while at < end and _BLANK[data[at]]:
        at += 1
    after, value = read_score(data, at, end)
    if after > at and after < end and data[after] == ord("/") and not _is_bare(data, at, after):
        return OF_MOVER, value
    for place in range(at, end):
        if data[place] == ord("[") and matches(data, place, end, _EVAL):
            after, value = read_score(data, place + len(_EVAL), end)
            if after > 0 and after < end and (data[after] == ord("]") or data[after] == ord(",")):
                return OF_POSITION, value
        elif data[place] == ord("w") and matches(data, place, end, _WHITE_VALUE):
            after, value = read_score(data, place + len(_WHITE_VALUE), end)
            if after > 0:
                return OF_POSITION, value
    return NOTHING, NO_SCORE


@kernel
def _is_bare(data, at, end):
    """Whether data[at:end] has digits alone, as the beginning of 1/2-1/2 or 12/03/2005 has, but no engine's score."""
    while at < end and _DIGIT[data[at]]:
        at += 1
    return at == end


@kernel
def read_score(data, at, end):
    """The score at `at`, "+0.35", "-M5", "#-3": (offset behind, int64 centipawns or mate), or (-1, NO_SCORE)."""
    sign, mate = 1, False
    while at < end and (data[at] == ord("+") or data[at] == ord("-") or data[at] == ord("#") or data[at] == ord("M")):
        if data[at] == ord("-"):
            sign = -1
        elif data[at] != ord("+"):
            mate = True
        at += 1
    start, pawns, part, unit = at, 0, 0, 100
    while at < end and _DIGIT[data[at]]:
        pawns = min(10 * pawns + np.int64(data[at]) - ord("0"), MAX_SCORE)
        at += 1
    if at == start:
        return -1, NO_SCORE
    if mate:
        return at, sign * (MATE - min(pawns, 1000))
    if at + 1 < end and data[at] == ord(".") and _DIGIT[data[at + 1]]:
        at += 1
        while at < end and _DIGIT[data[at]]:
            unit //= 10
            part += unit * (np.int64(data[at]) - ord("0"))
            at += 1
    return at, sign * min(100 * pawns + part, MAX_SCORE)
