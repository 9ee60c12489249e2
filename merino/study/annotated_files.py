"""Annotates the games of a PGN file: writes them with comments or as JSON, and keeps the work.

`comments` writes what is added; all else of the file stays byte for byte. A game that would be read otherwise with its
comments is copied unchanged.

Each game is kept as soon as it is finished. Until all are, they are in a file next to the target. It is PGN; lines that
begin with % do not belong to the games. The first identifies the work and its settings, so that only the same command
continues it. A line before each game has its length and its checksum, so that an incomplete or damaged game is found.
"""

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.common import about, files, sealed
from merino.core.common.text import counted
from merino.engine.notation.san import san_line
from merino.engine.search.limits import MAX_MS, Limits
from merino.formats.pgn_parts import GameSource, games_of, misread, readings
from merino.formats.sources import SourceError, as_named, read_text
from merino.study import annotation, errors
from merino.study.comments import LINE, account, write_comments
from merino.study.judge import Judge

_UNPRINTED = re.compile(rb"[\x01-\x08\x0e-\x19\x1c-\x1f]")


@dataclass(frozen=True)
class Sources:
    """The games of a file, the `encoding` of what is added, and the `digest` that identifies its content."""

    games: Sequence[GameSource]
    encoding: str
    digest: str


def read_sources(path: Path) -> Sources:
    """All games of a PGN file, plain or compressed; raises StudyError if it is not one."""
    try:
        content = read_text(path, with_mark=True)
    except SourceError as error:
        raise errors.StudyError(str(error)) from error
    if content.count(b"\0") or 100 * len(_UNPRINTED.findall(content)) > len(content):
        raise errors.StudyError(f"'{path}' is not a PGN file: it has bytes that no text has")
    games = list(games_of(content))
    if not any(source.moves or source.fault for source in games):
        raise errors.StudyError(f"'{path}' holds no game with a move")
    try:
        content.decode()
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "latin-1"  # as older files are
    return Sources(games, encoding, hashlib.sha256(content).hexdigest()[:16])


# The work on a file

SIGNS = ", ".join(f"{grade.name} ${grade.nag} from {grade.least_loss:.0%}" for grade in reversed(annotation.GRADES))

OnProgress = Callable[[GameSource, int], object]  # called with a game and the number of its annotated plies
_GAME = re.compile(rb"% game (\d{1,9}), (\d{1,9}) bytes(?:, checksum (\w{8}))?\n")
_GAP = b"\n\n"
_MOVE_COSTS = 8.0  # times the search of a position, with what looks like a mistake; for the time of all games

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AnnotationRequest:
    """The games of a file to annotate, and how."""

    sources: Sources
    judge: Judge
    limits: Limits  # of the search of a position
    hash_mb: int
    threads: int
    seconds: float | None = None  # for all games, instead of `limits`

    @property
    def identity(self) -> str:
        """The identity of this work: the content of the file, and all settings of the comments."""
        weights = hashlib.sha256(json.dumps(self.judge.narrator.identity).encode()).hexdigest()[:16]
        settings = f"{self.judging}, judge {self.judge.identity}, weights {weights}"
        settings += f", hash {self.hash_mb}, threads {self.threads}"
        return f"{self.sources.digest} with {about.NAME} {about.__version__}, {settings}"

    @property
    def judging(self) -> str:
        """Who judges, and how long: "gen13, 40000 nodes a position, 320000 nodes for what looks like a mistake ..."."""
        if self.seconds is not None:
            return f"{self.judge.name}, {self.seconds:g} s for {counted(len(self.sources.games), 'game')}"
        limits, longer = _words(self.limits), _words(annotation.deeper(self.limits))
        less = f"less after {annotation.FULLY} such moves of a game"
        return f"{self.judge.name}, {limits} a position, {longer} for what looks like a mistake ({less})"

    @property
    def how(self) -> str:
        """The settings that a reader of the comments must know."""
        return (
            f"judged by {self.judging}; {self.judge.scale}. After each move: evaluation and depth, White's expected "
            f"score, and the terms it changes most, in centipawns for White. By expected score lost: {SIGNS}"
        )


@dataclass(frozen=True)
class AnnotatedGame:
    """A game that was annotated, or copied if it is faulty: its moves, and its PGN; incomplete after Ctrl-C."""

    source: GameSource
    moves: Sequence[annotation.AnnotatedMove]
    text: bytes
    is_whole: bool = True
    judging: str = ""  # who judged it, and how long

    def __repr__(self) -> str:
        return f"AnnotatedGame({self.source!r})"

    def as_json(self) -> dict[str, Any]:
        """The game with its annotated moves; a faulty one has none, but its `fault`."""
        position, found = self.source.start.copy(), []
        for annotated in self.moves:
            found.append(annotated_json(position, annotated))
            position.push(annotated.move)
        return {
            "number": self.source.number,
            "label": self.source.label,
            "fen": self.source.start.fen(),
            "fault": self.source.fault or None,
            "is_whole": self.is_whole,
            "judge": self.judging or None,
            "moves": found,
            "account": list(account(self.moves)) if self.moves else [],
        }


def annotate_games(request: AnnotationRequest, done: int, watch: OnProgress) -> Iterator[AnnotatedGame]:
    """Annotate the games after the first `done`. Ctrl-C ends this, and so does a judge that fails: StudyError."""
    judge, games = request.judge, request.sources.games[done:]
    plies, began = sum(len(source.moves) for source in games), time.monotonic()
    seconds = (request.seconds or 0.0) * plies / max(1, sum(len(source.moves) for source in request.sources.games))

    def pace(left: int) -> Limits:
        if request.seconds is None:
            return request.limits
        rest = 1000 * (seconds - (time.monotonic() - began)) / _MOVE_COSTS / max(1, plies - played + left)
        return Limits(movetime=min(MAX_MS, max(1, int(rest))))

    played = 0  # the plies up to the end of the present game
    for number, source in enumerate(games, start=done):
        played += len(source.moves)
        if source.fault or not source.moves:
            yield AnnotatedGame(source, (), source.content)
            continue
        judge.new_game()  # so that the annotation of a game does not depend on the games before it
        moves, end = list[annotation.AnnotatedMove](), cast(BaseException | None, None)
        try:
            for move in annotation.annotate_moves(source.start, source.moves, judge, pace):
                moves.append(move)
                watch(source, len(moves))
        except (KeyboardInterrupt, errors.StudyError) as error:
            end = error
        text = write_comments(source, moves, request.how, request.sources.encoding)
        if fault := _misread(request.sources.games, number, text):
            yield AnnotatedGame(replace(source, fault=fault), (), source.content, end is None)
        else:
            yield AnnotatedGame(source, moves, text, end is None, request.judging)
        if isinstance(end, errors.StudyError):
            raise end
        if end is not None:
            return


def _misread(games: Sequence[GameSource], number: int, text: bytes) -> str:
    """How a game with this text, between its neighbours, would be read otherwise than it is; "" if not."""
    first, last = (b"".join(each.content for each in part) for part in (games[:number][-1:], games[number + 1 :][:1]))
    how = misread(first + text + last, readings(first + games[number].content + last))
    return how and f"with comments {how}"


def _words(limits: Limits) -> str:
    """The limits in words: "depth 12, 50000 nodes"."""
    words = ((limits.depth, "depth {}"), (limits.nodes, "{} nodes"), (limits.movetime, "{} ms"))
    return ", ".join(text.format(value) for value, text in words if value is not None)


class Partial:
    """The finished games, each as bytes; a context manager, which closes the file."""

    def __init__(self, target: Path, identity: str) -> None:
        """Continue the file next to `target`, or begin one; raises StudyError if it has another identity."""
        self.path = target.with_name(f"{target.name}.partial")
        self._target = target
        self._first = f"% Merino annotates {identity}; the same command continues this file\n".encode()
        self.games: list[bytes] = []
        with files.writing(errors.StudyError, self.path):
            end = self._read() if files.is_there(self.path) else 0
            self._file = self.path.open("r+b" if end else "wb", buffering=0)
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                files.append_whole(self._file, self._first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, game: bytes, is_whole: bool = True) -> None:
        """Add a game to the file, all of it or nothing; raises OSError.

        An unfinished one is for the user to look at: the next run annotates it again.
        """
        about = f"game {len(self.games) + 1}, {len(game)} bytes, checksum {sealed.checksum(game)}"
        files.append_whole(self._file, f"% {about if is_whole else 'unfinished'}\n".encode() + game + _GAP)
        self.games += [game] * is_whole

    def finish(self) -> None:
        """Replace the target, compressed if its name ends so, by all games, and remove the file; raises OSError."""
        files.write_whole(self._target, as_named(self._target, b"".join(self.games)))
        self._file.close()
        self.path.unlink()

    def _read(self) -> int:
        """Read the complete games of the file; returns where the last one ends, 0 if there is not even a first line.

        They end before the first one that is damaged: from there on games are annotated again.
        """
        content = files.read_user_file(self.path, files.STATE)
        if self._first.startswith(content):
            return len(content) if content == self._first else 0
        if not content.startswith(self._first):
            raise errors.StudyError(
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
                sealed.warn_unsealed(str(self.path))
            elif head[3].decode() != sealed.checksum(game):
                log.warning("game %d of '%s' is damaged: it and those after it are annotated again", number, self.path)
                break
            self.games.append(game)
            end = after
        return end


# JSON, from White's view


def annotated_json(position: Position, annotated: annotation.AnnotatedMove) -> dict[str, Any]:
    """A move made in `position`; if it is a mistake, with its kind and the better line."""
    grade, mistake = annotated.grade, annotated.mistake
    return {
        "san": annotated.san,
        "uci": position.uci(annotated.move),
        "before": _verdict_json(annotated.before),
        "after": _verdict_json(annotated.after),
        "terms": {term.name: term.change_cp for term in annotated.change.terms},
        "loss": annotated.loss,
        "grade": grade and {"name": grade.name, "sign": grade.sign, "nag": grade.nag},
        "better": {
            "text": annotated.better.score_text,
            "line": san_line(position.to_chess(stack=False), annotated.better.best[:LINE]),
        },
        "mistake": mistake
        and {"kind": mistake.kind, "sentence": mistake.sentence, "line": mistake.line, "text": mistake.text},
        "claims": [asdict(claim) for claim in mistake.claims] if mistake else [],
    }


def _verdict_json(verdict: annotation.MoveVerdict) -> dict[str, Any]:
    sign, mate = 1 if verdict.turn == WHITE else -1, verdict.score.mate
    return {
        "cp": sign * int(verdict.score) if mate is None else None,
        "mate": None if mate is None else sign * mate,
        "text": verdict.score_text,
        "expected_score": verdict.expected,
        "depth": verdict.depth,
    }
