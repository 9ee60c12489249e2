"""The tokens of PGN text: bytes to tags, moves and results, everything else skipped.

Positions in the text are int64 offsets into a uint8 array; CR, LF, tabs and blanks are all white space, and bytes
above 127 (Latin-1, UTF-8) may stand wherever text may.
"""

import numpy as np

from engine.jit import kernel

END, TAG, MOVE, RESULT = range(4)
BLACK_WON, DRAWN, WHITE_WON, UNFINISHED = range(4)


def _codes(text):
    """A table, bool[256], of the characters in `text`."""
    table = np.zeros(256, dtype=np.bool_)
    table[[ord(character) for character in text]] = True
    return table


_SPACE = _codes(" \t\r\n\v\f")
_DIGIT = _codes("0123456789")
_MOVE_START = _codes("abcdefghKQRBNPOo-Z")
_WORD_END = _codes(" \t\r\n\v\f{}();$!?*[]")
_NEWLINE, _CARRIAGE, _QUOTE, _BACKSLASH = ord("\n"), ord("\r"), ord('"'), ord("\\")


@kernel
def skip_past(data, at, end, character):
    """The offset behind the next `character`, or `end`."""
    while at < end and data[at] != character:
        at += 1
    return min(at + 1, end)


@kernel
def is_line_start(data, at):
    """Whether only blanks stand before `at` on its line."""
    at -= 1
    while at >= 0 and (data[at] == ord(" ") or data[at] == ord("\t")):
        at -= 1
    return at < 0 or data[at] == _NEWLINE or data[at] == _CARRIAGE


@kernel
def skip_variation(data, at, end):
    """The offset behind the variation that opens at `at`, its comments and inner variations included."""
    depth = 0
    while at < end:
        character = data[at]
        if character == ord("{"):
            at = skip_past(data, at, end, ord("}"))
            continue
        if character == ord(";"):
            at = skip_past(data, at, end, _NEWLINE)
            continue
        if character == ord("("):
            depth += 1
        elif character == ord(")"):
            depth -= 1
            if depth == 0:
                return at + 1
        elif character == ord("[") and is_tag(data, at, end):
            return at  # the variation was never closed: do not swallow the next game
        at += 1
    return end


@kernel
def is_tag(data, at, end):
    """Whether a tag pair opens at `at`: a bracket at the start of a line, a name, a quote."""
    if not is_line_start(data, at):
        return False
    at += 1
    while at < end and _SPACE[data[at]]:
        at += 1
    letters = 0
    while at < end and not _WORD_END[data[at]] and data[at] != _QUOTE:
        at += 1
        letters += 1
    while at < end and (data[at] == ord(" ") or data[at] == ord("\t")):
        at += 1
    return letters > 0 and at < end and data[at] == _QUOTE


@kernel
def tag_end(data, at, end):
    """The offset behind the tag pair that opens at `at`: its bracket, or the end of its line."""
    quoted = False
    while at < end and data[at] != _NEWLINE:
        if data[at] == _BACKSLASH and quoted:
            at += 1
        elif data[at] == _QUOTE:
            quoted = not quoted
        elif data[at] == ord("]") and not quoted:
            return at + 1
        at += 1
    return min(at, end)


@kernel
def next_token(data, at, end):
    """The next token from `at`: (kind, start, stop); the token after it is looked for from `stop`."""
    while at < end:
        character = data[at]
        if _SPACE[character]:
            at += 1
        elif character == ord("{"):
            at = skip_past(data, at, end, ord("}"))
        elif character == ord(";") or character == ord("%") and is_line_start(data, at):
            at = skip_past(data, at, end, _NEWLINE)
        elif character == ord("("):
            at = skip_variation(data, at, end)
        elif character == ord("[") and is_tag(data, at, end):
            return TAG, at, tag_end(data, at, end)
        elif character == ord("*"):
            return RESULT, at, at + 1
        elif _DIGIT[character]:
            kind, stop = _numeric_token(data, at, end)
            if kind != END:
                return kind, at, stop
            at = stop
        elif _MOVE_START[character]:
            stop = word_end(data, at, end)
            if not _is_note(data, at, stop):
                return MOVE, at, stop
            at = stop
        else:
            at += 1  # dots, glyphs, stray brackets, foreign letters
            if character == ord("$") or character >= 128:
                at = word_end(data, at, end)
    return END, end, end


@kernel
def word_end(data, at, end):
    """The offset behind the word at `at`."""
    while at < end and not _WORD_END[data[at]]:
        at += 1
    return at


@kernel
def _matches(data, at, end, text):
    """Whether the bytes from `at` are those of `text`, uint8[n]."""
    if at + len(text) > end:
        return False
    for index in range(len(text)):
        if data[at + index] != text[index]:
            return False
    return True


_RESULT_TEXTS = tuple(np.frombuffer(text, dtype=np.uint8) for text in (b"0-1", b"1/2-1/2", b"1-0", b"1/2"))
_LONG_CASTLING, _CASTLING = (np.frombuffer(text, dtype=np.uint8) for text in (b"0-0-0", b"0-0"))


@kernel
def _numeric_token(data, at, end):
    """What a digit begins: (RESULT or MOVE, stop), or (END, offset behind) for a move number."""
    if _matches(data, at, end, _LONG_CASTLING) or _matches(data, at, end, _CASTLING):
        return MOVE, word_end(data, at, end)
    if result_at(data, at, end) != UNFINISHED:
        return RESULT, word_end(data, at, end)
    while at < end and (_DIGIT[data[at]] or data[at] == ord(".")):
        at += 1
    return END, at


@kernel
def result_at(data, at, end):
    """BLACK_WON, DRAWN or WHITE_WON where such a result stands at `at`, else UNFINISHED."""
    if _matches(data, at, end, _RESULT_TEXTS[0]):
        return BLACK_WON
    if _matches(data, at, end, _RESULT_TEXTS[2]):
        return WHITE_WON
    if _matches(data, at, end, _RESULT_TEXTS[1]):
        return DRAWN
    # "1/2" alone is written for a draw, but 1/2 also begins nothing else
    return DRAWN if _matches(data, at, end, _RESULT_TEXTS[3]) else UNFINISHED


@kernel
def _is_note(data, at, stop):
    """Whether a word is "e.p." or "ep", which says nothing the move does not."""
    if data[at] != ord("e"):
        return False
    if stop - at == 2:
        return data[at + 1] == ord("p")
    return stop - at >= 3 and data[at + 1] == ord(".") and data[at + 2] == ord("p")
