"""Games in and out of PGN for annotation; python-chess reads and writes it."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import chess
import chess.engine
import chess.pgn

from engine import NAME, __version__
from engine.bitboard import WHITE
from engine.command import CommandError
from engine.console.archive import FaultKeeper, loaded
from engine.fen import FenError
from engine.game import IllegalMoveError, Position
from engine.san import as_chess_move
from eval.summary import SIDES
from learn.sources import LearnError, read_text
from study.annotate.analysis import GRADES, AnnotatedMove, Verdict
from study.explain.text import largest_terms

LINE = 8  # half-moves shown of a better line
MOST_TERMS, LEAST_TERM = 3, 1.0  # named after a move: so many, changed by so many centipawns
_COLUMNS = 80  # of the PGN
_UNBROKEN = re.compile(r"\[%\w+ |\d\.+ |[({] | (?=[$%)}])")  # no line ends at these blanks; a line from % on is no text


@dataclass(frozen=True)
class Source:
    """A game as read, its starting position and its moves as coordinates."""

    game: chess.pgn.Game
    start: Position
    moves: tuple[str, ...]

    @property
    def label(self) -> str:
        """Who plays whom: "Morphy - Anderssen"."""
        return "{} - {}".format(*(self.game.headers.get(side, "?") for side in SIDES))


def read_sources(path: Path) -> list[Source]:
    """All games of a PGN file, plain or compressed; raises CommandError, naming the first that is faulty."""
    try:
        content = read_text(path)
    except LearnError as error:
        raise CommandError(f"annotate: {error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # as older files are
    sources = [_source(game, number, path) for number, game in enumerate(_games(text), start=1)]
    if not any(source.moves for source in sources):
        raise CommandError(f"annotate: '{path}' holds no game with a move")
    return sources


def _games(text: str) -> Iterator[chess.pgn.Game]:
    file = io.StringIO(text)
    while game := chess.pgn.read_game(file, Visitor=FaultKeeper):
        yield game


def _source(game: chess.pgn.Game, number: int, path: Path) -> Source:
    where = f"annotate: game {number} of '{path}'"
    if game.errors:
        raise CommandError(f"{where}: {game.errors[0]}")
    try:
        position = loaded(game, number).position
    except (FenError, IllegalMoveError, CommandError) as error:
        raise CommandError(f"{where}: {error}") from error
    start = Position(position.start_fen(), position.chess960)
    return Source(game, start, tuple(position.uci(move) for move in position.moves))


def write_comments(source: Source, moves: Sequence[AnnotatedMove], how: str) -> str:
    """The PGN of a game with these annotations added to what it had; `how` says with what it was searched."""
    game = source.game
    game.headers["Annotator"] = f"{NAME} {__version__}"
    game.comment = _joined(game.comment, f"{NAME} {__version__}, {how}. {' '.join(account(moves))}")
    for node, told in zip(list(game.mainline()), moves, strict=False):
        _comment(node, told, source.start.chess960)
    tags, _, text = game.accept(chess.pgn.StringExporter(columns=None)).partition("\n\n")
    return f"{tags}\n\n{_filled(text)}"


def _filled(text: str) -> str:
    """The moves in lines, which python-chess does not break within a comment."""
    text = _UNBROKEN.sub(lambda found: found[0].replace(" ", "\0"), text)
    return textwrap.fill(text, _COLUMNS, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def account(moves: Sequence[AnnotatedMove]) -> Iterator[str]:
    """For each side a sentence: its mistakes, and what it lost in the mean."""
    for colour, side in enumerate(SIDES):
        own = [told for told in moves if told.turn == colour]
        kinds = ", ".join(_plural(sum(told.grade is grade for told in own), grade.name) for grade in reversed(GRADES))
        mean = sum(told.loss for told in own) / max(1, len(own))
        yield f"{side}: {kinds}; {mean:.1%} of the point lost a move."


def _plural(count: int, name: str) -> str:
    if count == 1:
        return f"1 {name}"
    return f"{count} {name.removesuffix('y')}ies" if name.endswith("y") else f"{count} {name}s"


def _comment(node: chess.pgn.ChildNode, told: AnnotatedMove, chess960: bool) -> None:
    after = told.after
    node.set_eval(_pov_score(after), after.depth)
    parts = [f"{after.expected:.1%}"]
    terms = largest_terms(told.change, MOST_TERMS, LEAST_TERM)
    if terms:
        parts.append(terms)
    grade, best = told.grade, [as_chess_move(move, chess960) for move in told.better.best[:LINE]]
    if grade is not None:
        node.nags.add(grade.nag)
        parts.append(f"{grade.name}, {told.loss:.1%} lost")
        if best and not node.parent.has_variation(best[0]):
            parts[-1] += f": {told.better.score_text} was {node.parent.board().san(best[0])}"
            node.parent.add_line(best)
    node.comment = _joined(node.comment, "; ".join(parts))


def _pov_score(verdict: Verdict) -> chess.engine.PovScore:
    mate = verdict.score.mate
    score = chess.engine.Cp(int(verdict.score)) if mate is None else chess.engine.Mate(mate)
    return chess.engine.PovScore(score, verdict.turn == WHITE)


def _joined(old: str, new: str) -> str:
    return f"{old} {new}".strip()
