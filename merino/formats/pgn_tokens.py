"""The tokens of PGN text: splits bytes into tags, moves and results, and skips everything else.

Positions in the text are int64 offsets into a uint8 array. Lines end with LF, CR or both. Bytes above 127 (Latin-1,
UTF-8) may stand wherever text may. Every loop goes forward, and none looks ahead further than a line or to the end of
what it skips, so that the time is linear in the length of any text, PGN or not.
"""

import numpy as np

from merino.core.compiled.jit import kernel

END, TAG, MOVE, RESULT, OPEN_COMMENT = range(5)
BLACK_WON, DRAWN, WHITE_WON, UNFINISHED = range(4)
GOES_ON, NUMBER_ONE, AFTER_GAP = range(3)  # signs of a new game at a token


def codes(text):
    """A table, bool[256], of the codes of `text`."""
    table = np.zeros(256, dtype=np.bool_)
    table[[ord(character) for character in text]] = True
    return table


def _bytes(text):
    return np.frombuffer(text, dtype=np.uint8)


_SPACE = codes(" \t\r\n\v\f")
_DIGIT = codes("0123456789")
_SYMBOL_LEAD = 0xC2  # the first byte of no-break space and signs like the half in UTF-8, never of a letter
_WORD_END = codes(' \t\r\n\v\f{}();$!?*[],"' + chr(_SYMBOL_LEAD))
_SKIPPED = codes("!#$%&'()+,./:;<=>?[\\]^_`|}~\"" + chr(_SYMBOL_LEAD) + chr(0xEF))
_RESULT_TEXTS = tuple(_bytes(text) for text in (b"0-1", b"1/2", b"1-0"))  # BLACK_WON, DRAWN, WHITE_WON
_CASTLING, _NULL = _bytes(b"0-0"), _bytes(b"0000")
_QUOTE = _bytes(b'"')
_PROMOTED = codes("NBRQ")
_BYTE_ORDER_MARK = _bytes(b"\xef\xbb\xbf")
_MAX_LINE = 255  # of PGN; also the limit of a bracket that is not a tag


@kernel
def next_token(data, at, end):
    """The next token from `at`: (kind, start, stop, fresh); the search for the one after it begins at `stop`.

    `fresh` is AFTER_GAP where an empty line comes before and no move number above 1, NUMBER_ONE where White's move 1
    is announced, and else GOES_ON.
    """
    fresh, empty_line = GOES_ON, False
    while at < end:
        character = data[at]
        if _SPACE[character]:
            if ends_line(data, at, end):
                fresh = AFTER_GAP if empty_line else fresh
                empty_line = True
            at += 1
            continue
        empty_line = False
        if character == ord("{"):
            start, at = at, comment_end(data, at, end)
            if at < 0:
                return OPEN_COMMENT, start, -at, fresh
        elif character == ord("[") and is_tag(data, at, end):
            return TAG, at, tag_end(data, at, end), fresh
        elif character == ord("*"):
            return RESULT, at, at + 1, fresh
        elif _DIGIT[character]:
            kind, stop = _numeric_token(data, at, end)
            if kind != END:
                return kind, at, stop, fresh
            fresh = _after_number(data, at, stop, fresh)
            at = stop
        elif _SKIPPED[character]:
            at = _skip(data, at, end)
        else:
            stop = word_end(data, at, end)
            if _may_be_move(data, at, stop):
                return MOVE, at, _with_promotion(data, at, stop, end), fresh
            at = stop
    return END, end, end, fresh


@kernel
def _skip(data, at, end):
    """The offset behind what is not a word: a line comment, a variation, a bracket that is not a tag, a sign."""
    character = data[at]
    if character == ord(";") or character == ord("%") and is_line_start(data, at):
        return line_end(data, at, end)
    if character == ord("("):
        return skip_variation(data, at, end)
    if character == ord("["):
        return _skip_bracket(data, at, end)
    if character == _BYTE_ORDER_MARK[0]:
        return at + 3 if matches(data, at, end, _BYTE_ORDER_MARK) else word_end(data, at, end)
    return min(at + 2, end) if character == _SYMBOL_LEAD else at + 1


@kernel
def ends_line(data, at, end):
    """Whether the character at `at` ends a line; CR LF does so once, with LF."""
    if data[at] == ord("\n"):
        return True
    return data[at] == ord("\r") and (at + 1 == end or data[at + 1] != ord("\n"))


@kernel
def line_end(data, at, end):
    """The offset of the next CR or LF, or `end`."""
    while at < end and data[at] != ord("\n") and data[at] != ord("\r"):
        at += 1
    return at


@kernel
def word_end(data, at, end):
    """The offset behind the word at `at`."""
    while at < end and not _WORD_END[data[at]]:
        at += 1
    return at


@kernel
def matches(data, at, end, text):
    """Whether the bytes from `at` are those of `text`, uint8[n]."""
    if at + len(text) > end:
        return False
    for index in range(len(text)):
        if data[at + index] != text[index]:
            return False
    return True


@kernel
def is_line_start(data, at):
    """Whether `at` is the first character of a line."""
    if at == 0 or data[at - 1] == ord("\n") or data[at - 1] == ord("\r"):
        return True
    return at == 3 and matches(data, 0, 3, _BYTE_ORDER_MARK)


@kernel
def is_tag(data, at, end):
    """Whether a tag pair opens at `at`: a bracket, a name, a quote."""
    at = _skip_blanks(data, at + 1, end)
    name = at
    while at < end and not _WORD_END[data[at]]:
        at += 1
    return at > name and matches(data, _skip_blanks(data, at, end), end, _QUOTE)


@kernel
def _skip_blanks(data, at, end):
    while at < end and (data[at] == ord(" ") or data[at] == ord("\t")):
        at += 1
    return at


@kernel
def tag_end(data, at, end):
    """The offset behind the tag pair that opens at `at`: its bracket, or the end of its line."""
    quoted, stop = False, line_end(data, at, end)
    while at < stop:
        if data[at] == ord("\\") and quoted:
            at += 1
        elif data[at] == ord('"'):
            quoted = not quoted
        elif data[at] == ord("]") and not quoted:
            return at + 1
        at += 1
    return stop


@kernel
def _skip_bracket(data, at, end):
    """The offset behind a bracket that is not a tag: behind its end on the same line, or else one further."""
    for other in range(at, min(at + _MAX_LINE, end)):
        if data[other] == ord("]"):
            return other + 1
        if data[other] == ord("\n") or data[other] == ord("\r"):
            break
    return at + 1


@kernel
def comment_end(data, at, end):
    """The offset behind the comment that opens at `at`; negative if nothing closes it.

    Then it is minus the offset where reading continues: the first tag on a line of its own, or `end`. A comment that
    includes such a tag and then another comment counts as unclosed, too; otherwise one lost brace would swallow a good
    game.
    """
    tag = 0
    at += 1
    while at < end:
        character = data[at]
        if character == ord("}"):
            return at + 1
        if character == ord("{") and tag:
            return -tag
        if character == ord("[") and not tag and is_line_start(data, at) and is_tag(data, at, end):
            tag = at
        at += 1
    return -tag if tag else -end


@kernel
def skip_variation(data, at, end):
    """The offset behind the variation that opens at `at`, its comments and inner variations included.

    An unclosed one ends where a new game begins: at a tag on a line of its own, or at a first move after an empty
    line.
    """
    depth, empty_from = 0, -1
    while at < end:
        character = data[at]
        if _SPACE[character]:
            if ends_line(data, at, end):
                if empty_from >= 0 and at + 2 < end and data[at + 1] == ord("1") and data[at + 2] == ord("."):
                    return empty_from
                empty_from = at
            at += 1
            continue
        empty_from = -1
        if character == ord("{"):
            after = comment_end(data, at, end)
            if after < 0:
                return at  # left for the caller
            at = after
            continue
        if character == ord(";") or character == ord("%") and is_line_start(data, at):
            at = line_end(data, at, end)
            continue
        if character == ord("(") or character == ord(")"):
            depth += 1 if character == ord("(") else -1
            if depth == 0:
                return at + 1
        elif character == ord("[") and is_line_start(data, at) and is_tag(data, at, end):
            return at
        at += 1
    return end


@kernel
def _numeric_token(data, at, end):
    """The token at a digit: (RESULT or MOVE, stop), or (END, offset behind) for a move number and its dots."""
    if matches(data, at, end, _CASTLING) or matches(data, at, end, _NULL):
        return MOVE, word_end(data, at, end)
    if result_at(data, at, end) != UNFINISHED:
        return RESULT, word_end(data, at, end)
    while at < end and _DIGIT[data[at]]:
        at += 1
    while at < end and data[at] == ord("."):
        at += 1
    return END, at


@kernel
def _after_number(data, start, stop, fresh):
    """The sign of a new game after the move number data[start:stop]."""
    if data[start] != ord("1") or stop - start > 1 and _DIGIT[data[start + 1]]:
        return GOES_ON
    if fresh == GOES_ON and stop - start == 2:  # "1." and not "1..."
        return NUMBER_ONE
    return fresh


@kernel
def result_at(data, at, end):
    """BLACK_WON, DRAWN or WHITE_WON where such a result stands at `at`, else UNFINISHED."""
    for result in range(UNFINISHED):
        if matches(data, at, end, _RESULT_TEXTS[result]):
            return result
    return UNFINISHED


@kernel
def _may_be_move(data, start, stop):
    """Whether a word counts as a move: it names a square, castles, or is a null move."""
    first, second = data[start], data[min(start + 1, stop - 1)]
    if first == ord("O") or first == ord("o"):
        return stop - start > 1 and (second == ord("-") or second == first == ord("O"))
    if stop - start == 2 and (first == second == ord("-") or first == ord("Z") and second == ord("0")):
        return True
    for at in range(start, stop - 1):
        if ord("a") <= data[at] <= ord("h") and ord("1") <= data[at + 1] <= ord("8"):
            return True
    return False


@kernel
def _with_promotion(data, start, stop, end):
    """Where the move data[start:stop] ends with its promotion, if that is written a8(Q)."""
    if not (ord("a") <= data[start] <= ord("h") and (data[stop - 1] == ord("1") or data[stop - 1] == ord("8"))):
        return stop
    if stop + 2 < end and data[stop] == ord("(") and _PROMOTED[data[stop + 1]] and data[stop + 2] == ord(")"):
        return stop + 3
    return stop
