"""Comments, signs and better lines of Merino's in the text of a game.

What is added stands between the words of the game, or at the end of a comment. All else stays byte for byte, except an
`[%eval]` that was there, which is replaced. Later annotations replace earlier ones: text of exactly the form that is
written here, in a game whose first comment is Merino's. All else belongs to the user, also a sign that was there before
("as marked") and a variation that was commented later.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from merino.core.board import fen
from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common import about
from merino.core.common.text import counted
from merino.engine.notation.san import move_number, san
from merino.engine.report.text import largest_terms
from merino.formats import pgn_text, pgn_tokens
from merino.formats.pgn_parts import GameSource, PgnPart
from merino.study import annotation, claims

LINE = 8  # plies shown of a better line
MAX_TERMS, MIN_TERM = 3, 1.0  # of the terms named after a move: their number, and their change in centipawns

AS_MARKED = " as marked"  # said of a mistake that had its sign before
LOST = "of a point a move."  # ends what is said of each side's mistakes
_OLDER_LOST = "of the point lost a move."  # as Merino 1.0 wrote it
_NAGS = {grade.name: grade.nag for grade in annotation.GRADES}
_LOST = "|".join(text.replace(".", r"\.") for text in (LOST, _OLDER_LOST))
_ACCOUNT = " ".join(rf"{side}: [^.]*\.\d% (?:{_LOST})" for side in fen.COLOUR_NAMES)
_TERM = r"\w+ [+-]\d+"
_GRADE = rf"(?P<grade>{'|'.join(_NAGS)})(?P<marked>{AS_MARKED})?, \d+\.\d% lost(?:: \S+ was (?P<better>[^\s;]+))?"
_OLDER_KINDS = (  # in annotations before version 3.0
    "back-rank mate allowed",
    "bad exchange",
    "free pawn left",
    "hanging pawn",
    "no single reason",
    "time to castle",
)
_KINDS = "|".join({*claims.MISTAKES, *_OLDER_KINDS})
_KIND = rf"(?:{_KINDS}): [^()]*(?:\(\d+\.\d\d\)[^()]*)* \([^()]*\)"
_PIECE = r"[A-Za-z] [a-h][1-8](?:-[a-h][1-8]| taken| kept)? [+-]\d+"
_PIECES = rf"by piece: {_PIECE}(?:, {_PIECE})*"  # as Merino 1.0 could write
_TAIL = rf"\d+\.\d%(?:; {_TERM}(?:, {_TERM})*)?(?:; {_GRADE}(?:; {_KIND})?(?:; {_PIECES})?)?"


def _written(pattern: str) -> re.Pattern[bytes]:
    """A pattern for text as it is written: a line may break at any blank."""
    return re.compile(pattern.replace(" ", r"\s+").encode(), re.DOTALL)


_HEAD = _written(rf"(?:^|(?<=\s)){about.NAME} \d\S*, .*? {_ACCOUNT}")
_TAILS = (_written(rf"\[%eval [^]]*\](?P<own> {_TAIL})(?=\s|$)"), _written(rf"(?P<own>(?:^| ){_TAIL})\s*$"))
_EVAL = _written(r"\[%eval [^]]*\]")
_LINE_END = re.compile(rb"[\r\n]")
_BY = f"{about.NAME} {about.__version__}"


def write_comments(
    source: GameSource, moves: Sequence[annotation.AnnotatedMove], how: str, encoding: str = "utf-8"
) -> bytes:
    """The text of a game with these annotations; `how` describes the searches.

    Annotations that Merino made earlier are replaced. What `encoding` does not have is written as a question mark.
    """
    edited, (head, *groups) = _Edited(source, encoding), _by_move(source.parts)
    _name_annotator(edited)
    is_own = _comment_game(edited, head, groups[0][0], f"{_BY}, {how}. {' '.join(account(moves))}")
    position = source.start.copy()
    for number, annotated in enumerate(moves):
        _comment_move(edited, groups[number], annotated, position, is_own)
        position.push(annotated.move)
        has_number = any(part.kind == pgn_tokens.NUMBER and not part.depth for part in groups[number])
        if number + 1 < len(groups) and position.side != WHITE and not has_number:
            at = groups[number + 1][0].start
            edited.put(at, at, [f"{move_number(position)} "])
    return edited.text()


def account(moves: Sequence[annotation.AnnotatedMove]) -> Iterator[str]:
    """A sentence for each side: its mistakes, and its mean loss."""
    for colour, side in enumerate(fen.COLOUR_NAMES):
        own = [annotated for annotated in moves if annotated.turn == colour]
        kinds = ", ".join(
            counted(sum(annotated.grade is grade for annotated in own), grade.name)
            for grade in reversed(annotation.GRADES)
        )
        mean = sum(annotated.loss for annotated in own) / max(1, len(own))
        yield f"{side}: {kinds}; loses {mean:.1%} {LOST}"


class _Edited:
    """The text of a game, and what changes in it: words of Merino's, in lines of at most `pgn_text.WIDTH` columns.

    Before the words of a change stands a space of theirs, which may end the line, if `is_apart`.
    """

    def __init__(self, source: GameSource, encoding: str) -> None:
        self.source, self.content, self._encoding = source, source.content, encoding
        self._changes: list[tuple[int, int, list[bytes], bool]] = []
        ends = re.search(rb"\r?\n|\r", self.content.strip())
        self.line_end = ends[0] if ends else b"\n"

    def put(self, start: int, stop: int, words: Sequence[str], is_apart: bool = False) -> None:
        """Write words in the place of content[start:stop]."""
        self._changes.append((start, stop, [word.encode(self._encoding, "replace") for word in words], is_apart))

    def add(self, at: int, words: Sequence[str]) -> None:
        """Write words behind what ends at an offset."""
        self.put(at, at, words, is_apart=True)
        if self.content[at : at + 1].strip():
            self.put(at, at, [""], is_apart=True)

    def exchange(self, start: int, stop: int, words: Sequence[str]) -> None:
        """Write words in the place of earlier ones, and of the space before those."""
        space = 2 if self.content.endswith(b"\r\n", 0, start) else self.content[start - 1 : start].isspace()
        self.put(start - space, stop, words, is_apart=True)

    def text(self) -> bytes:
        """The whole text."""
        at, pieces = 0, list[tuple[bytes, bool]]()
        for start, stop, words, is_apart in sorted(self._changes, key=lambda change: change[:2]):
            pieces.append((self.content[at:start], False))
            pieces += [(word, is_apart or number > 0) for number, word in enumerate(words)]
            at = stop
        return _laid_out([*pieces, (self.content[at:], False)], self.line_end)


def _laid_out(pieces: Sequence[tuple[bytes, bool]], line_end: bytes) -> bytes:
    """Pieces as one text, each with whether a space is due before it."""
    widths, width = list[int](), 0  # of each piece and what cannot be parted from it, up to the end of a line
    for text, is_apart in reversed(pieces):
        line = _LINE_END.split(text, maxsplit=1)[0]
        widths.append(len(line) + (width if line == text else 0))
        width = 0 if is_apart else widths[-1]
    found, column = list[bytes](), 0
    for (text, is_apart), width in zip(pieces, reversed(widths), strict=True):
        if is_apart:
            fits = column + 1 + width <= pgn_text.WIDTH
            found.append(b" " if fits else line_end)
            column = column + 1 if fits else 0
        found.append(text)
        *before, last = _LINE_END.split(text)
        column = len(last) + (0 if before else column)
    return b"".join(found)


def _by_move(parts: Sequence[PgnPart]) -> list[list[PgnPart]]:
    """What stands before the first move, and each move with what stands behind it."""
    groups: list[list[PgnPart]] = [[]]
    for part in parts:
        if part.kind == pgn_tokens.MOVE and not part.depth:
            groups.append([])
        groups[-1].append(part)
    return groups


def _in_braces(words: Sequence[str]) -> list[str]:
    return list(pgn_text.kept_together(["{", *words, "}"]))


def _name_annotator(edited: _Edited) -> None:
    """Add Merino to the tag, in a game that has tags."""
    source = edited.source
    if found := re.search(rb'\[\s*Annotator\s*"([^"\r\n]*)"', source.content[: source.text]):
        names = [name for name in found[1].split(b", ") if name and not name.startswith(about.NAME.encode())]
        start = found.start(1) + len(b", ".join(names)) if found[1].startswith(b", ".join(names)) else found.start(1)
        edited.put(start, found.end(1), [f", {_BY}" if names else _BY])
    elif source.tags:
        edited.put(source.text, source.text, [edited.line_end.decode() + pgn_text.tag_pair("Annotator", _BY)])


def _comment_game(edited: _Edited, group: Sequence[PgnPart], first: PgnPart, text: str) -> bool:
    """Put a text into the comment before the first move; returns whether an earlier one of Merino's was there."""
    comments = [part for part in group if part.kind == pgn_tokens.COMMENT and not part.depth]
    for part in comments:
        if own := _HEAD.search(edited.content[part.start + 1 : part.stop - 1]):
            _into_comment(edited, part, own.span(), text.split(), is_own=False)
            return True
    if comments:
        _into_comment(edited, comments[-1], None, text.split(), is_own=False)
    else:
        at = (group[-1] if group and group[-1].kind == pgn_tokens.NUMBER else first).start
        edited.put(at, at, _in_braces(text.split()))
        edited.put(at, at, [""], is_apart=True)
    return False


def _into_comment(
    edited: _Edited, part: PgnPart, earlier: tuple[int, int] | None, words: Sequence[str], is_own: bool
) -> None:
    """Write words into a comment, in the place of `earlier` ones or at its end; nothing else, and it is replaced."""
    begin, inner = part.start + 1, edited.content[part.start + 1 : part.stop - 1]
    start, stop = earlier or (len(inner.rstrip()), len(inner.rstrip()))
    before, behind = inner[:start].rstrip(), inner[stop:]
    if not _EVAL.sub(b"", before + behind).strip():
        (edited.exchange if is_own else edited.put)(part.start, part.stop, _in_braces(words))
        return
    kept = list(pgn_text.kept_together(words))
    if kept[0].startswith("[%eval") and (found := _EVAL.search(before)):
        edited.put(begin + found.start(), begin + found.end(), kept[:1])
        del kept[0]
    edited.put(begin + len(before), begin + stop, kept, is_apart=bool(before))


def _comment_move(
    edited: _Edited, group: Sequence[PgnPart], annotated: annotation.AnnotatedMove, position: Position, is_own: bool
) -> None:
    """Add its comment, its sign and the better line to a move of `position`, which begins the group."""
    source, grade = edited.source, annotated.grade
    own_comment, own = next(_own_comments(source, group), (None, None)) if is_own else (None, None)
    variations = _variations(group)
    own_line = next((each for each in variations if own and _is_own_line(source, each, position, own)), None)
    best = annotated.better.best[:LINE] if grade is not None else ()
    if best and any(_first_move(source, each, position) == best[0] for each in variations if each is not own_line):
        best = ()  # the line is there
    elif variations and variations[-1][-1].kind != pgn_tokens.CLOSING:
        best = ()  # it would be part of a line that nothing closes
    is_marked = _put_sign(edited, group, annotated, own)
    words = _words(annotated, is_marked, san(position, best[0]) if best else "").split()
    anchor = group[len(list(takewhile(lambda part: part.kind in (pgn_tokens.SIGN, pgn_tokens.OTHER), group[1:])))]
    if own_comment and own:
        _into_comment(edited, own_comment, own.span("own"), words, is_own=True)
        anchor = own_comment
    elif comments := [part for part in takewhile(_is_about_move, group[1:]) if part.kind == pgn_tokens.COMMENT]:
        _into_comment(edited, comments[-1], None, words, is_own=False)
    else:
        edited.add(anchor.stop, _in_braces(words))
    line = _line(position, best)
    if own_line:
        edited.exchange(own_line[0].start, own_line[-1].stop, line)
    elif line:
        edited.add((variations[-1][-1] if variations else anchor).stop, line)


def _is_about_move(part: PgnPart) -> bool:
    """Whether a part stands before the variations and numbers behind a move."""
    return part.kind in (pgn_tokens.SIGN, pgn_tokens.OTHER, pgn_tokens.COMMENT, pgn_tokens.LINE)


def _own_comments(source: GameSource, group: Sequence[PgnPart]) -> Iterator[tuple[PgnPart, re.Match[bytes]]]:
    """The comments of a move that hold words of Merino's, and those."""
    for part in group:
        if part.kind == pgn_tokens.COMMENT and not part.depth:
            inner = source.content[part.start + 1 : part.stop - 1]
            if found := next(filter(None, (tail.search(inner) for tail in _TAILS)), None):
                yield part, found


def _variations(group: Sequence[PgnPart]) -> list[list[PgnPart]]:
    """The variations behind a move, brackets included."""
    found = list[list[PgnPart]]()
    for part in group:
        if part.depth == 1 and part.kind == pgn_tokens.OPENING:
            found.append([])
        if part.depth:
            found[-1].append(part)
    return found


def _first_move(source: GameSource, variation: Sequence[PgnPart], position: Position) -> int:
    """The move that a variation begins with, 0 or less if it has none."""
    first = next((part for part in variation if part.kind == pgn_tokens.MOVE and part.depth == 1), None)
    return source.move_in(position, first) if first else pgn_tokens.ILLEGAL


def _is_own_line(source: GameSource, variation: Sequence[PgnPart], position: Position, own: re.Match[bytes]) -> bool:
    """Whether a variation is the better line of an earlier comment, without additions."""
    bare = (pgn_tokens.OPENING, pgn_tokens.NUMBER, pgn_tokens.MOVE, pgn_tokens.CLOSING)
    if own["better"] is None or any(part.depth > 1 or part.kind not in bare for part in variation):
        return False
    move = _first_move(source, variation, position)
    return move > 0 and san(position, move) == own["better"].decode()


def _put_sign(
    edited: _Edited, group: Sequence[PgnPart], annotated: annotation.AnnotatedMove, own: re.Match[bytes] | None
) -> bool:
    """Give a move the sign of its grade, in the place of an earlier one of Merino's; returns whether it was there."""
    signs = {edited.source.sign(part): part for part in group if part.kind == pgn_tokens.SIGN and not part.depth}
    earlier = signs.pop(_NAGS[own["grade"].decode()], None) if own and own["grade"] and not own["marked"] else None
    nag = annotated.grade.nag if annotated.grade else None
    text = [f" ${nag}"] if nag is not None and nag not in signs else []
    if earlier:
        is_apart = edited.content[earlier.start - 1 : earlier.start].isspace()
        edited.put(earlier.start - is_apart, earlier.stop, text)
    elif text:
        at = group[len(list(takewhile(lambda part: part.kind == pgn_tokens.SIGN, group[1:])))].stop
        edited.put(at, at, text)
    return nag in signs


def _words(annotated: annotation.AnnotatedMove, is_marked: bool, better: str) -> str:
    """What is said of a move; `better` is the first move of the better line, "" if none is added."""
    after, grade, mate = annotated.after, annotated.grade, annotated.after.score.mate
    sign = 1 if after.turn == WHITE else -1
    value = f"{sign * int(after.score) / 100:.2f}" if mate is None else f"#{sign * mate}" if mate else ""
    parts = [f"[%eval {value},{max(after.depth, 0)}] {after.expected:.1%}" if value else f"{after.expected:.1%}"]
    if terms := largest_terms(annotated.change, MAX_TERMS, MIN_TERM):
        parts.append(terms)
    if grade is not None:
        was = f": {annotated.better.score_text} was {better}" if better else ""
        parts.append(f"{grade.name}{AS_MARKED * is_marked}, {annotated.loss:.1%} lost{was}")
        if annotated.mistake is not None:
            parts.append(annotated.mistake.text)
    return "; ".join(parts)


def _line(position: Position, moves: Sequence[int]) -> list[str]:
    """A variation, none without moves."""
    board, words = position.to_chess(stack=False), list[str]()
    for move in moves:
        words += pgn_text.push_move(board, Move(move).to_chess(position.chess960), follows_move=bool(words))
    return list(pgn_text.kept_together(["(", *words, ")"])) if words else []
