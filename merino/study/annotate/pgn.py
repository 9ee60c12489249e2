"""The games to annotate, read from PGN by python-chess, and their PGN with annotations, which can be taken out again.

What is taken out is text of exactly the form that is written here, from a game whose first comment is Merino's. All
else belongs to the user, including a sign that was there before ("as marked") and a variation that was commented later.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import chess
import chess.engine
import chess.pgn

from merino.core.board.bitboard import WHITE
from merino.core.board.fen import COLOUR_NAMES, FenError
from merino.core.board.game import IllegalMoveError, Position
from merino.core.common.about import NAME, __version__
from merino.core.common.text import counted, without_controls
from merino.engine.notation.games import PgnLines, VariantError, loaded, read_game
from merino.engine.notation.san import as_chess_move
from merino.engine.report.text import largest_terms
from merino.formats.pgn_text import tree_text
from merino.formats.sources import SourceError, read_text
from merino.study.annotate.analysis import GRADES, AnnotatedMove, MoveVerdict
from merino.study.annotate.pieces import largest_outcomes
from merino.study.errors import StudyError
from merino.study.reasons.mistakes import MistakeKind

LINE = 8  # plies shown of a better line
MAX_TERMS, MIN_TERM = 3, 1.0  # of the terms named after a move: their number, and their change in centipawns

AS_MARKED = " as marked"  # said of a mistake that had its sign before
BY_PIECE = "by piece: "  # begins what a mistake makes of the pieces
LOST = "of a point a move."  # ends what is said of each side's mistakes
_OLDER_LOST = "of the point lost a move."  # as Merino 1.0 wrote it
_NAGS = {grade.name: grade.nag for grade in GRADES}
_ACCOUNT = " ".join(rf"{side}: [^.]*\.\d% (?:{re.escape(LOST)}|{re.escape(_OLDER_LOST)})" for side in COLOUR_NAMES)
_HEAD = re.compile(rf"(?:^| ){NAME} \d\S*, .*? {_ACCOUNT}")
_TERM = r"\w+ [+-]\d+"
_GRADE = rf"(?P<grade>{'|'.join(_NAGS)})(?P<marked>{AS_MARKED})?, \d+\.\d% lost(?:: \S+ was (?P<better>[^\s;]+))?"
_KIND = rf"(?:{'|'.join(re.escape(kind.value) for kind in MistakeKind)}): [^;()]* \([^()]*\)"
_PIECE = r"[A-Za-z] [a-h][1-8](?:-[a-h][1-8]| taken| kept)? [+-]\d+"
_PIECES = rf"{BY_PIECE}{_PIECE}(?:, {_PIECE})*"
_TAIL = rf"\d+\.\d%(?:; {_TERM}(?:, {_TERM})*)?(?:; {_GRADE}(?:; {_KIND})?(?:; {_PIECES})?)?"
_TAILS = (re.compile(rf"(?P<kept>\[%eval [^]]*\]) {_TAIL}(?= |$)"), re.compile(rf"(?P<kept>^|.* ){_TAIL}$"))
_UNPRINTED = re.compile(rb"[\x01-\x08\x0e-\x19\x1c-\x1f]")


@dataclass(frozen=True)
class GameSource:
    """A game as read: its text in the file, and its moves as coordinates from its starting position.

    `fault` says what is wrong with it, "" if nothing; `moves` end where it could not be read.
    """

    number: int
    line: int  # of the file, from 1, at which it begins
    text: str
    game: chess.pgn.Game
    start: Position
    moves: tuple[str, ...]
    fault: str = ""

    @property
    def label(self) -> str:
        """Who plays whom: "Morphy - Anderssen"."""
        return without_controls("{} - {}".format(*(self.game.headers.get(side, "?") for side in COLOUR_NAMES)))


@dataclass(frozen=True)
class Sources:
    """The games of a file, the `encoding` of its text, and the `digest` that identifies its content."""

    games: Sequence[GameSource]
    encoding: str
    digest: str


def read_sources(path: Path) -> Sources:
    """All games of a PGN file, plain or compressed; raises StudyError if it is not one."""
    try:
        content = read_text(path)
    except SourceError as error:
        raise StudyError(str(error)) from error
    if content.count(b"\0") or 100 * len(_UNPRINTED.findall(content)) > len(content):
        raise StudyError(f"'{path}' is not a PGN file: it has bytes that no text has")
    encoding = "utf-8"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        encoding = "latin-1"  # as older files are
        text = content.decode(encoding)
    games = list(games_of(text))
    if not any(source.moves or source.fault for source in games):
        raise StudyError(f"'{path}' holds no game with a move")
    return Sources(games, encoding, hashlib.sha256(content).hexdigest()[:16])


def games_of(text: str) -> Iterator[GameSource]:
    """The games of a PGN text, each as it is read."""
    if "\n" not in text:
        text = text.replace("\r", "\n")  # as a Macintosh once ended lines
    file, start, line = PgnLines(io.StringIO(text)), 0, 1
    for number in count(1):
        game = read_game(file)
        if game is None:
            return
        end = file.tell()
        own = text[start:end].lstrip("\r\n")
        line += text.count("\n", start, end - len(own))
        yield _source(game, number, line, own.rstrip("\r\n"))
        start, line = end, line + own.count("\n")


def _source(game: chess.pgn.Game, number: int, line: int, text: str) -> GameSource:
    if game.errors:
        return GameSource(number, line, text, game, Position(), (), str(game.errors[0]))
    try:
        position = loaded(game, number).position
    except (FenError, IllegalMoveError, VariantError) as error:
        return GameSource(number, line, text, game, Position(), (), str(error).removeprefix(f"game {number} is "))
    start = Position(position.start_fen(), position.chess960)
    return GameSource(number, line, text, game, start, tuple(position.uci(move) for move in position.moves))


def write_comments(source: GameSource, moves: Sequence[AnnotatedMove], how: str) -> str:
    """The PGN of a game with these annotations added; `how` describes the searches.

    Annotations that Merino made earlier are replaced.
    """
    game = source.game
    remove_own(game)
    others = [name for name in game.headers.get("Annotator", "").split(", ") if name and not name.startswith(NAME)]
    game.headers["Annotator"] = ", ".join([*others, f"{NAME} {__version__}"])
    game.comment = _joined(game.comment, f"{NAME} {__version__}, {how}. {' '.join(account(moves))}")
    for node, annotated in zip(list(game.mainline()), moves, strict=False):
        _comment(node, annotated, source.start.chess960)
    return tree_text(game).rstrip("\n")


def account(moves: Sequence[AnnotatedMove]) -> Iterator[str]:
    """A sentence for each side: its mistakes, and its mean loss."""
    for colour, side in enumerate(COLOUR_NAMES):
        own = [annotated for annotated in moves if annotated.turn == colour]
        kinds = ", ".join(
            counted(sum(annotated.grade is grade for annotated in own), grade.name) for grade in reversed(GRADES)
        )
        mean = sum(annotated.loss for annotated in own) / max(1, len(own))
        yield f"{side}: {kinds}; loses {mean:.1%} {LOST}"


def _comment(node: chess.pgn.ChildNode, annotated: AnnotatedMove, chess960: bool) -> None:
    after = annotated.after
    node.set_eval(_pov_score(after), after.depth)
    parts = [f"{after.expected:.1%}"]
    terms = largest_terms(annotated.change, MAX_TERMS, MIN_TERM)
    if terms:
        parts.append(terms)
    grade, best = annotated.grade, [as_chess_move(move, chess960) for move in annotated.better.best[:LINE]]
    if grade is not None:
        parts.append(f"{grade.name}{AS_MARKED * (grade.nag in node.nags)}, {annotated.loss:.1%} lost")
        node.nags.add(grade.nag)
        if best and not node.parent.has_variation(best[0]):
            parts[-1] += f": {annotated.better.score_text} was {node.parent.board().san(best[0])}"
            node.parent.add_line(best)
        if annotated.mistake is not None:
            parts.append(annotated.mistake.text)
        if by_piece := largest_outcomes(annotated.pieces):
            parts.append(f"{BY_PIECE}{by_piece}")
    node.comment = _joined(node.comment, "; ".join(parts))


def _pov_score(verdict: MoveVerdict) -> chess.engine.PovScore:
    mate = verdict.score.mate
    score = chess.engine.Cp(int(verdict.score)) if mate is None else chess.engine.Mate(mate)
    return chess.engine.PovScore(score, verdict.turn == WHITE)


def _joined(old: str, new: str) -> str:
    return f"{old} {new}".strip()


def remove_own(game: chess.pgn.Game) -> None:
    """Take out of a game the comments, signs and variations that Merino added; evaluations stay to be replaced."""
    head, found = _HEAD.subn("", " ".join(game.comment.split()), count=1)
    if not found:
        return
    game.comment = head.strip()
    for node in list(game.mainline()):
        _remove_from_move(node)


def _remove_from_move(node: chess.pgn.ChildNode) -> None:
    comment = " ".join(node.comment.split())
    match = next(filter(None, (tail.search(comment) for tail in _TAILS)), None)
    if match is None:
        return
    node.comment = f"{comment[: match.start()]}{match['kept']}{comment[match.end() :]}".strip()
    if match["grade"] and not match["marked"]:
        node.nags.discard(_NAGS[match["grade"]])
    for variation in [other for other in node.parent.variations if other is not node]:
        if match["better"] == variation.san() and _is_bare(variation):
            node.parent.remove_variation(variation)


def _is_bare(node: chess.pgn.ChildNode) -> bool:
    """Whether a line is as Merino wrote it, without additions."""
    nodes = [node, *node.mainline()]
    return not any(each.comment or each.starting_comment or each.nags or len(each.variations) > 1 for each in nodes)
