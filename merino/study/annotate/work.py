"""Annotates the games of a file one after the other; each is kept as soon as it is finished.

Until all are, they are in a file beside the target. It is PGN; lines that begin with % do not belong to the games. The
first identifies the work and its settings, so that only the same command continues it. A line before each game has its
length and its checksum, so that an incomplete or damaged game is found.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from merino.core.common.about import NAME, __version__
from merino.core.common.files import write_whole, writing
from merino.core.common.sealed import checksum, tell_unsealed
from merino.core.common.text import in_one_line
from merino.core.common.user_files import STATE, is_there, read_user_file
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.evaluation import Evaluation
from merino.formats.sources import as_named
from merino.study.analyser import Analyser, analyser
from merino.study.annotate.analysis import GRADES, AnnotatedMove, annotate_moves
from merino.study.annotate.pgn import GameSource, Sources, write_comments
from merino.study.annotate.picture import draw
from merino.study.errors import StudyError

SIGNS = ", ".join(f"{grade.name} ${grade.nag} from {grade.least_loss:.0%}" for grade in reversed(GRADES))

_BY_PIECE = (
    ". By piece: how much more its owner has from it, in centipawns, at the end of the line after the move than at "
    "that of the better line, by Shapley values"
)

OnProgress = Callable[[GameSource, int], object]  # called with a game and the number of its annotated plies
_GAME = re.compile(rb"% game (\d{1,9}), (\d{1,9}) bytes(?:, checksum (\w{8}))?\n")
_GAP = b"\n\n"

log = logging.getLogger(__name__)


class AnnotationKeeper(Protocol):
    """Receives the annotated games. All methods raise OSError."""

    games: list[bytes]

    def add(self, game: bytes) -> None:
        """Take a finished game."""

    def add_unfinished(self, game: bytes) -> None:
        """Take an unfinished game."""

    def finish(self) -> None:
        """Called after the last game."""


@dataclass(frozen=True)
class AnnotationRequest:
    """The games of a file to annotate, and how. Comments are kept in `encoding`; `picture` names that of each game."""

    sources: Sources
    evaluation: Evaluation
    limits: Limits  # of the search of a position
    hash_mb: int
    threads: int
    encoding: str = "utf-8"
    picture: Path | None = None
    shapley: float | None = None  # the standard error, in centipawns, of what mistakes make of pieces; None: not asked

    @property
    def identity(self) -> str:
        """The identity of this work: the content of the file, all settings of the comments, and where pictures go."""
        weights = hashlib.sha256(json.dumps(self.evaluation.identity).encode()).hexdigest()[:16]
        limits = f"{_words(self.limits)}, K {self.evaluation.k:g}, weights {weights}"
        engine = f"hash {self.hash_mb}, threads {self.threads}"
        engine += "" if self.shapley is None else f", pieces to {self.shapley:g} cp"
        engine += "" if self.picture is None else f", pictures {in_one_line(str(self.picture.absolute()))}"
        return f"{self.sources.digest} with {NAME} {__version__}, {limits}, {engine}"

    @property
    def how(self) -> str:
        """The settings that a reader of the comments must know."""
        return (
            f"{_words(self.limits)} a position, K {self.evaluation.k:g}. After each move: evaluation and depth, "
            f"White's expected score, and the terms it changes most, in centipawns for White. By expected score lost: "
            f"{SIGNS}{'' if self.shapley is None else _BY_PIECE}"
        )


@dataclass(frozen=True)
class AnnotatedGame:
    """A game that was annotated, or copied if it is faulty; incomplete after Ctrl-C."""

    source: GameSource
    moves: Sequence[AnnotatedMove]
    is_whole: bool = True


def annotate_games(
    request: AnnotationRequest, searcher: Searcher, keeper: AnnotationKeeper, watch: OnProgress
) -> Iterator[AnnotatedGame]:
    """Annotate the games that the keeper does not have yet; each is yielded after the keeper has it. Ctrl-C ends this.

    Raises the OSErrors of the keeper, and StudyError if a picture cannot be written or drawn.
    """
    searching = analyser(searcher, gives_up=True)
    for source in request.sources.games[len(keeper.games) :]:
        if source.fault:
            keeper.add(source.text.encode(request.encoding))
            yield AnnotatedGame(source, ())
            continue
        searcher.clear()  # so that the annotation of a game does not depend on the games before it
        moves, is_whole = _annotated(source, request, searching, watch)
        text = write_comments(source, moves, request.how).encode(request.encoding)
        if not is_whole:
            keeper.add_unfinished(text)
            yield AnnotatedGame(source, moves, is_whole)
            return
        if request.picture and moves:
            _draw(request, request.picture, source, moves)
        keeper.add(text)
        yield AnnotatedGame(source, moves)
    keeper.finish()


def _annotated(
    source: GameSource, request: AnnotationRequest, searching: Analyser, watch: OnProgress
) -> tuple[list[AnnotatedMove], bool]:
    """The moves of a game annotated, and whether these are all: Ctrl-C keeps those before it."""
    done: list[AnnotatedMove] = []
    try:
        for annotated in annotate_moves(
            source.start, source.moves, request.evaluation, searching, request.limits, request.shapley
        ):
            done.append(annotated)
            watch(source, len(done))
    except KeyboardInterrupt:
        return done, False
    return done, True


def _draw(request: AnnotationRequest, path: Path, source: GameSource, moves: Sequence[AnnotatedMove]) -> None:
    if len(request.sources.games) > 1:
        path = path.with_stem(f"{path.stem}-{source.number}")
    first_ply = 2 * source.start.fullmove_number - 2 + source.start.turn
    picture = draw(source.label, first_ply, moves, path.suffix.lower())
    with writing(StudyError, path, after="; it is as it was"):
        write_whole(path, picture)


def _words(limits: Limits) -> str:
    """The limits in words: "depth 12, 50000 nodes"."""
    words = ((limits.depth, "depth {}"), (limits.nodes, "{} nodes"), (limits.movetime, "{} ms"))
    return ", ".join(text.format(value) for value, text in words if value is not None)


class Partial:
    """The finished games, each as bytes; a context manager, which closes the file."""

    def __init__(self, target: Path, identity: str) -> None:
        """Continue the file beside `target`, or begin one; raises StudyError if it has another identity."""
        self.path = target.with_name(f"{target.name}.partial")
        self._target = target
        self._first = f"% Merino annotates {identity}; the same command continues this file\n".encode()
        self.games: list[bytes] = []
        with writing(StudyError, self.path):
            end = self._read() if is_there(self.path) else 0
            self._file = self.path.open("r+b" if end else "wb")
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                self._write(self._first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, game: bytes) -> None:
        """Add a finished game to the file; raises OSError."""
        head = f"% game {len(self.games) + 1}, {len(game)} bytes, checksum {checksum(game)}\n"
        self._write(head.encode() + game + _GAP)
        self.games.append(game)

    def add_unfinished(self, game: bytes) -> None:
        """Add an unfinished game, for the user to look at; the next run annotates it again. Raises OSError."""
        self._write(b"% unfinished\n" + game + _GAP)

    def finish(self) -> None:
        """Replace the target, compressed if its name ends so, by all games, and remove the file; raises OSError."""
        write_whole(self._target, as_named(self._target, _GAP.join(self.games) + b"\n"))
        self._file.close()
        self.path.unlink()

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> int:
        """Read the complete games of the file; returns where the last one ends, 0 if there is not even a first line.

        They end before the first one that is damaged: from there on games are annotated again.
        """
        content = read_user_file(self.path, STATE)
        if self._first.startswith(content):
            return len(content) if content == self._first else 0
        if not content.startswith(self._first):
            raise StudyError(
                f"'{self.path}' is what another file, other options or another version left unfinished; "
                "finish that, or delete or rename it"
            )
        end = len(self._first)
        while head := _GAME.match(content, end):
            game = content[head.end() : head.end() + int(head[2])]
            after = head.end() + len(game) + len(_GAP)
            number = len(self.games) + 1
            if int(head[1]) != number or content[after - len(_GAP) : after] != _GAP:
                break
            if head[3] is None:
                tell_unsealed(str(self.path))
            elif head[3].decode() != checksum(game):
                log.warning("game %d of '%s' is damaged: it and those after it are annotated again", number, self.path)
                break
            self.games.append(game)
            end = after
        return end
