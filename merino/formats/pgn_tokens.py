"""The tokens of PGN text, tags, moves and results, the moves they mean, and the scores in comments.

Positions in the text are int64 offsets into a uint8 array. Lines end with LF, CR or both. Bytes above 127 (Latin-1,
UTF-8) may stand wherever text may. Every loop goes forward, and none looks ahead further than a line or to the end of
what it skips, so that the time is linear in the length of any text, PGN or not.

Scores: `[%eval 0.35]`, `[%eval 0.35,12]`, `[%eval #-3]` and TCEC's `wv=0.35` are White's scores of the position that
the move led to. `+0.35/12`, `-M5/20` and OpenBench's `+0.57 17/28 583 363004` at the beginning of a comment are the
scores of the mover's search for the position before the move. All are in pawns, or in moves to mate; ChessBase has
centipawns, `[%eval 35,12]`. If there are several scores behind a move, the last one counts.
"""

import numpy as np

from merino.core.board.bitboard import BISHOP, FILES, KING, KNIGHT, PAWN, QUEEN, RANKS, ROOK, ZERO, bit, type_of
from merino.core.board.makemove import castling_destinations
from merino.core.board.move import CASTLING, NORMAL, PROMOTION, destination_of, kind_of, origin_of
from merino.core.board.movegen import ALL, generate
from merino.core.board.position import attacks_of, king_square, occupied_squares, piece_on, side_to_move
from merino.core.compiled.jit import kernel

END, TAG, MOVE, RESULT, OPEN_COMMENT = range(5)  # tokens
COMMENT, LINE, OPENING, CLOSING, SIGN, NUMBER, OTHER = range(5, 12)  # other parts of the text
BLACK_WON, DRAWN, WHITE_WON, UNFINISHED = range(4)
GOES_ON, NUMBER_ONE, AFTER_GAP = range(3)  # signs of a new game at a token


def codes(text):
    """A table, bool[256], of the codes of `text`."""
    table = np.zeros(256, dtype=np.bool_)
    table[[ord(character) for character in text]] = True
    return table


def _bytes(text):
    return np.frombuffer(text, dtype=np.uint8)


SPACE = codes(" \t\r\n\v\f")
_DIGIT = codes("0123456789")
_SYMBOL_LEAD = 0xC2  # the first byte of no-break space and signs like the half in UTF-8, never of a letter
_NOT_ASCII = 128  # and above
_WORD_END = codes(' \t\r\n\v\f{}();$!?*[],"' + chr(_SYMBOL_LEAD))
_NO_WORD = codes("0123456789!#$%&'()*+,./:;<=>?[\\]^_`{|}~\"" + chr(_SYMBOL_LEAD) + chr(0xEF))  # no word begins so
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
        if SPACE[character]:
            if character != ord(" ") and ends_line(data, at, end):
                fresh = AFTER_GAP if empty_line else fresh
                empty_line = True
            at += 1
            continue
        empty_line = False
        kind, stop = next_part(data, at, end, False)
        if kind <= OPEN_COMMENT:
            return kind, at, stop, fresh
        if kind == NUMBER:
            fresh = _after_number(data, at, stop, fresh)
        at = skip_variation(data, at, end) if kind == OPENING else stop
    return END, end, end, fresh


@kernel
def next_part(data, at, end, in_variation):
    """What stands at `at`, which is no space: (kind, offset behind it). Brackets `in_variation` are no more than signs.

    An OPENING is the bracket alone.
    """
    character = data[at]
    if not _NO_WORD[character]:
        stop = word_end(data, at, end)
        if _may_be_move(data, at, stop):
            return MOVE, _with_promotion(data, at, _before_result(data, at, stop), end)
        return OTHER, stop
    if _DIGIT[character]:
        return _numeric_part(data, at, end)
    if character == ord("{"):
        stop = comment_end(data, at, end)
        return (COMMENT, stop) if stop >= 0 else (OPEN_COMMENT, -stop)
    if character == ord("[") and not in_variation and is_tag(data, at, end):
        return TAG, tag_end(data, at, end)
    if character == ord("*"):
        return RESULT, at + 1
    return _sign_part(data, at, end, in_variation)


@kernel
def _sign_part(data, at, end, in_variation):
    """The part at what is not a word: a line comment, the bracket of a variation, one that is not a tag, a sign."""
    character = data[at]
    if character == ord(";") or character == ord("%") and is_line_start(data, at):
        return LINE, line_end(data, at, end)
    if character == ord("("):
        return OPENING, at + 1
    if character == ord(")"):
        return CLOSING, at + 1
    if character == ord("!") or character == ord("?"):
        return SIGN, at + 2 if at + 1 < end and (data[at + 1] == ord("!") or data[at + 1] == ord("?")) else at + 1
    if character == ord("$"):
        at += 1
        while at < end and _DIGIT[data[at]]:
            at += 1
        return SIGN, at
    if character == ord("[") and not in_variation:
        return OTHER, _skip_bracket(data, at, end)
    if character == _BYTE_ORDER_MARK[0]:
        return OTHER, at + 3 if matches(data, at, end, _BYTE_ORDER_MARK) else word_end(data, at, end)
    is_whole = character == _SYMBOL_LEAD and at + 1 < end and data[at + 1] >= _NOT_ASCII
    return OTHER, at + 2 if is_whole else at + 1


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
    at = skip_blanks(data, at + 1, end)
    name = at
    while at < end and not _WORD_END[data[at]]:
        at += 1
    return at > name and matches(data, skip_blanks(data, at, end), end, _QUOTE)


@kernel
def skip_blanks(data, at, end):
    """The offset of the next character that is no blank and no tab."""
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
        if SPACE[character]:
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
def _numeric_part(data, at, end):
    """The part at a digit: a RESULT, a MOVE, or a NUMBER with its dots."""
    if data[at] == ord("0") and (matches(data, at, end, _CASTLING) or matches(data, at, end, _NULL)):
        return MOVE, _before_result(data, at, word_end(data, at, end))
    if data[at] <= ord("1") and result_at(data, at, end) != UNFINISHED:
        return RESULT, word_end(data, at, end)
    while at < end and _DIGIT[data[at]]:
        at += 1
    while at < end and data[at] == ord("."):
        at += 1
    return NUMBER, at


_SHORTEST_WITH_RESULT = 5  # characters: e41-0


@kernel
def _before_result(data, start, stop):
    """Where the move data[start:stop] ends, if results follow it without a blank: Qh4#0-1."""
    length = 7
    while length and stop - start >= _SHORTEST_WITH_RESULT and ord("0") <= data[stop - 1] <= ord("2"):
        at = stop - length
        if at > start and result_at(data, at, stop) != UNFINISHED and _may_be_move(data, start, at):
            stop, length = at, 7
        else:
            length = 3 if length == 7 else 0
    return stop


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


NO_SCORE = -32768  # int16
MATE = 32000  # less the moves to it, int16
MAX_SCORE = 30000  # centipawns; larger scores are cut off
IN_PAWNS, IN_CENTIPAWNS = 100, 1  # what 1 is worth
NOTHING, OF_POSITION, OF_MOVER = range(3)  # whose score it is, and of which position


_EVAL, _WHITE_VALUE = _bytes(b"[%eval"), _bytes(b"wv=")
_BLANK = codes(" \t\r\n")
_MOST_DIGITS = 10**15  # of a number that is read further


@kernel
def next_comment(data, at, end):
    """(start, stop) of the text of the next comment in data[at:end] that is in no variation; both `end` without one."""
    while at < end:
        character = data[at]
        if character == ord("{"):
            stop = comment_end(data, at, end)
            return at + 1, end if stop < 0 else stop
        if character == ord("("):
            at = max(at + 1, skip_variation(data, at, end))
        elif character == ord(";") or character == ord("%") and is_line_start(data, at):
            at = line_end(data, at, end)
        else:
            at += 1
    return end, end


@kernel
def score_between(data, at, end, whole):
    """The score in the comments of data[at:end], the text between two moves: its kind and value, int64 both.

    The kind is one of NOTHING, OF_POSITION and OF_MOVER; the value is in centipawns, or MATE less moves. `whole` is
    what 1 is worth in an %eval without a fraction, in centipawns, or 0 if such ones say nothing.
    """
    kind, value = NOTHING, NO_SCORE
    at, stop = next_comment(data, at, end)
    while at < end:
        found, score = _score_in(data, at, stop, whole)
        if found != NOTHING:
            kind, value = found, score
        at, stop = next_comment(data, stop, end)
    return kind, value


@kernel
def _score_in(data, at, end, whole):
    """The score in the comment data[at:end], as `score_between` gives it."""
    at = skip_space(data, at, end)
    after, value = read_score(data, at, end, IN_PAWNS)
    if after > at and not _is_bare(data, at, after) and _depth_follows(data, after, end):
        return OF_MOVER, value
    for place in range(at, end):
        if data[place] == ord("[") and matches(data, place, end, _EVAL):
            start = skip_space(data, place + len(_EVAL), end)
            after, value = read_score(data, start, end, whole)
            after = skip_space(data, after, end)
            if start > place + len(_EVAL) and 0 < after < end and (data[after] == ord("]") or data[after] == ord(",")):
                return OF_POSITION, value
        elif data[place] == ord("w") and matches(data, place, end, _WHITE_VALUE):
            after, value = read_score(data, place + len(_WHITE_VALUE), end, IN_PAWNS)
            if after > 0 and not (after + 1 < end and data[after] == ord(",") and _DIGIT[data[after + 1]]):
                return OF_POSITION, value
    return NOTHING, NO_SCORE


@kernel
def skip_space(data, at, end):
    """The offset of the next character that is no blank and no end of a line; a negative one stays."""
    while 0 <= at < end and _BLANK[data[at]]:
        at += 1
    return at


@kernel
def _depth_follows(data, at, end):
    """Whether the depth of a search is at `at`: /12, or as OpenBench has it, 17/28 behind a blank."""
    if at < end and data[at] == ord("/"):
        return True
    start = skip_space(data, at, end)
    after = start
    while after < end and _DIGIT[data[after]]:
        after += 1
    return at < start < after < end and data[after] == ord("/")


@kernel
def _is_bare(data, at, end):
    """Whether data[at:end] has digits alone, as the beginning of 1/2-1/2 or 12/03/2005 has, but no engine's score."""
    while at < end and _DIGIT[data[at]]:
        at += 1
    return at == end


@kernel
def read_score(data, at, end, whole):
    """The score at `at`, "+0.35", "-M5", "#-3": (offset behind, int64 centipawns or mate), or (-1, NO_SCORE).

    `whole` is what 1 is worth without a fraction, as for `score_between`.
    """
    sign, mate = 1, False
    while at < end and (data[at] == ord("+") or data[at] == ord("-") or data[at] == ord("#") or data[at] == ord("M")):
        if data[at] == ord("-"):
            sign = -1
        elif data[at] != ord("+"):
            mate = True
        at += 1
    after, number, unit = number_at(data, at, end)
    if after < 0 or not (mate or whole) and unit == 1:
        return -1, NO_SCORE
    if mate:
        return after, sign * (MATE - min(number // unit, 1000))
    return after, sign * min(number * (whole if unit == 1 else IN_PAWNS) // unit, MAX_SCORE)


@kernel
def number_at(data, at, end):
    """The decimal number at `at`, "35", "-0.35", "+.5": (offset behind, its digits as one number, 10 for each decimal).

    (-1, 0, 1) if there is none. What may follow it is for the caller to say: a number is read whole or not at all.
    """
    sign = -1 if at < end and data[at] == ord("-") else 1
    if at < end and (data[at] == ord("-") or data[at] == ord("+")):
        at += 1
    start, points, number, unit = at, 0, 0, 1
    while at < end and (_DIGIT[data[at]] or data[at] == ord(".") and points == 0):
        if data[at] == ord("."):
            points = 1
        elif number < _MOST_DIGITS and unit < _MOST_DIGITS:
            number = 10 * number + np.int64(data[at]) - ord("0")
            unit *= 10 if points else 1
        at += 1
    return (at, sign * number, unit) if at > start + points else (-1, 0, 1)


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
_PROMOTION_LETTERS = _letters(N=KNIGHT, B=BISHOP, R=ROOK, Q=QUEEN, n=KNIGHT, b=BISHOP, r=ROOK, q=QUEEN)
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
    if letter < stop and _PROMOTION_LETTERS[data[letter]] != _UNKNOWN:
        return letter + 1, _PROMOTION_LETTERS[data[letter]]
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
