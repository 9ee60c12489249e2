"""Scores of positions by Merino's own search, and how well an evaluation ranks moves by them.

Each position is searched separately to a number of nodes, on all cores. The scores are appended in batches to a file
next to the games, which is put in order at the end. They are used again as long as games, choice of positions, nodes
and weights are the same, and an interrupted run continues after the last of them.

An evaluation helps a search by telling the moves of a position apart. So moves are ranked: how near to the top does it
put the one that a teacher finds best? This figure predicts Elo better than the error about the result of a game does
(docs/lab/learning.md), and takes a second.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import IO, Any

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.movegen import MAX_MOVES, make_each
from merino.core.board.position import POSITION
from merino.core.common.files import STATE, held_or, is_there, read_user_file, write_whole, writing
from merino.core.common.sealed import as_json, checksum, warn_unsealed
from merino.core.common.work import in_order
from merino.core.compiled.jit import entry
from merino.engine.search.choice import search_all
from merino.engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, MAX_PLY
from merino.engine.search.transposition import TranspositionTable
from merino.engine.search.worker import Worker
from merino.eval.evaluation import Evaluation
from merino.eval.linear.family import LinearEvaluation
from merino.formats.pgn_tokens import MATE, MAX_SCORE
from merino.learn.errors import LearnError

ENDING = ".scores"
RANK_NODES = 1  # of the search after each move: of its first iteration, the answers, each to the end of its captures
ROOM = 64  # positions whose moves are written at once
BATCH = 256  # positions that are searched with one table and written together
_MARK, _OLD_MARK = "merino-scores 2", "merino-scores 1"
_NAME = [("first", "<i8"), ("offset", "<i8"), ("count", "<i8"), ("keys", "<u8")]
_OLD_HEAD = np.dtype(_NAME)  # of a batch in files of Merino 1.0
_HEAD = np.dtype([*_NAME, ("checksum", "S8")])
log = logging.getLogger(__name__)
NO_PAST = np.zeros(0, dtype=np.uint64)  # of a position that is searched for itself
_local = threading.local()  # a search record belongs to one thread


class RescoringStoppedError(Exception):
    """The searches were asked to stop."""


@dataclass(frozen=True)
class Rescore:
    """How positions are scored: by a search with this evaluation, of this number of nodes each."""

    nodes: int
    evaluation: Evaluation

    def describe(self) -> str:
        """The settings that decide the scores, as text."""
        return f"{self.nodes} nodes, {described_scorer(self.evaluation)}"

    def scores_of(self, positions: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """White's scores of POSITION[n], int16[n], encoded as in `formats.pgn_tokens`. Runs long, and without the GIL.

        `stop` is uint64[1]; RescoringStoppedError is raised soon after it is set.
        """
        if getattr(_local, "stop", None) is not stop:
            _local.table, _local.stop = TranspositionTable(1), stop
            _local.worker = Worker(_local.table, stop, self.evaluation)
        _local.worker.set_evaluation(self.evaluation)
        _local.worker.forget()
        _local.table.clear()
        found = np.zeros(len(positions), dtype=np.int64)
        search_all(_local.worker.record, positions, NO_PAST, self.nodes, MAX_PLY - 1, found)
        if stop[0]:
            raise RescoringStoppedError
        return _encoded(np.where(positions["side"] == WHITE, found, -found))


def described_scorer(evaluation: Evaluation) -> str:
    """The identity of an evaluation that gives scores, as text."""
    if isinstance(evaluation, LinearEvaluation):
        kind, content = "weights", evaluation.weights.tobytes() + evaluation.terms.version.encode()
    else:
        kind, content = "evaluation", as_json(evaluation.identity)
    return f"{kind} {hashlib.blake2b(content, digest_size=8).hexdigest()}"


def _encoded(scores: np.ndarray) -> np.ndarray:
    """Scores of the engine, encoded as in `formats.pgn_tokens`, int16[n]."""
    encoded = np.clip(scores, -MAX_SCORE, MAX_SCORE)
    mates = np.abs(scores) >= MATE_IN_MAX_PLY
    encoded[mates] = (np.sign(scores) * (MATE - (MATE_SCORE - np.abs(scores) + 1) // 2))[mates]
    return encoded.astype(np.int16)


class ScoreFile:
    """The file with the scores of a file of games; several threads may use it at once.

    A context manager, which at its end stops the searches and closes the file.
    """

    def __init__(self, path: Path, rescore: Rescore, made_from: str) -> None:
        """`made_from` identifies the games and the choice of positions. Scores of an earlier run are used.

        Raises LearnError if the file cannot be read or written, or is not a file of scores.
        """
        self.path, self._rescore = path, rescore
        self.known = self.made = 0  # scores found in the file, and added since
        self._pieces: dict[tuple[int, ...], np.ndarray] = {}
        self._lock, self._stop = threading.Lock(), np.zeros(1, dtype=np.uint64)
        self._head = f"; {made_from}; {rescore.describe()}\n".encode()
        with ExitStack() as stack:
            stack.enter_context(held_or(LearnError, path))  # against other runs
            self._open_file()
            stack.callback(self._close_file)
            self._open = stack.pop_all()

    def tell(self, say: Callable[[str], object]) -> None:
        """Say what becomes of the scores."""
        if self.known:
            say(f"Using {self.known} scores from file '{self.path}'")
        else:
            nodes = self._rescore.nodes
            say(f"Searching {nodes} nodes a position; the scores are kept in file '{self.path}'")

    def _open_file(self) -> None:
        """Read what is known, and open the file to add to it; raises LearnError."""
        path = self.path
        with writing(LearnError, path):
            end = self._read() if is_there(path) else 0
            if not end:
                self._write()
            self._file: IO[bytes] = path.open("r+b")
            if end:
                self._file.truncate(end)
            self._file.seek(0, os.SEEK_END)

    def _write(self) -> None:
        """Write all known batches, in the order of the games; raises OSError."""
        batches = starmap(_batch, sorted(self._pieces.items()))
        write_whole(self.path, _MARK.encode() + self._head + b"".join(batches))

    def scores_of(self, first: int, positions: np.ndarray) -> np.ndarray:
        """White's scores of POSITION[n], int16[n]: the positions of the piece at `first` of the games' file.

        Raises LearnError if they cannot be written, and RescoringStoppedError after the end of the context.
        """
        parts = [np.zeros(0, dtype=np.int16)]
        batches = [positions[offset : offset + BATCH] for offset in range(0, len(positions), BATCH)]
        names = [
            (first, number * BATCH, len(batch), int(np.bitwise_xor.reduce(batch["key"])))
            for number, batch in enumerate(batches)
        ]
        for name, batch in zip(names, batches, strict=True):
            if name in self._pieces:
                parts.append(self._pieces[name])
                continue
            parts.append(self._rescore.scores_of(batch, self._stop))
            self._keep(name, parts[-1])
        return np.concatenate(parts)

    def __enter__(self) -> ScoreFile:
        return self

    def stop(self) -> None:
        """End the searches that are under way, soon; from another thread, too."""
        self._stop[0] = 1

    def __exit__(self, error: object, *_: object) -> None:
        self.stop()
        with self._open:
            if error is None and list(self._pieces) != sorted(self._pieces):
                self._put_in_order()

    def _put_in_order(self) -> None:
        """Let the file be the same whichever thread was quicker, in this run or one before; raises LearnError."""
        self._close_file()
        with writing(LearnError, self.path):
            self._write()

    def _close_file(self) -> None:
        with self._lock:
            self._file.close()

    def _keep(self, name: tuple[int, ...], scores: np.ndarray) -> None:
        with self._lock:
            if self._file.closed:
                raise RescoringStoppedError
            with writing(LearnError, self.path):
                self._file.write(_batch(name, scores))
                self._file.flush()
            self._pieces[name] = scores
            self.made += len(scores)

    def _read(self) -> int:
        """Read the whole batches of the file; returns where they end, 0 if the file must be written again.

        That is so with other settings, and with batches that have no checksum yet.
        """
        content, head = read_user_file(self.path, STATE), self._head
        if not content.startswith((_MARK.encode(), _OLD_MARK.encode())):
            raise LearnError(f"'{self.path}' is in the way: learn did not write it; move it away")
        if content.startswith(_OLD_MARK.encode() + head):
            warn_unsealed(str(self.path))
            self._read_batches(content, len(_OLD_MARK) + len(head), _OLD_HEAD)
            return 0
        if not content.startswith(_MARK.encode() + head):
            return 0
        return self._read_batches(content, len(_MARK) + len(head), _HEAD)

    def _read_batches(self, content: bytes, at: int, head: np.dtype[Any]) -> int:
        """Read batches from this offset on; returns the offset of the first that is cut off or damaged, or the end."""
        while at + head.itemsize <= len(content):
            *name, written = (*np.frombuffer(content, head, 1, at)[0].tolist(), None)[:5]
            end = at + head.itemsize + 2 * name[2]
            if not 0 < name[2] <= BATCH or end > len(content):
                break
            scores = np.frombuffer(content, "<i2", name[2], at + head.itemsize).astype(np.int16)
            if written is not None and _checksum(tuple(name), scores) != written:
                break
            self._pieces[tuple(name)] = scores
            self.known += name[2]
            at = end
        if at < len(content):
            log.warning("'%s' is cut off or damaged after %d bytes: what follows is searched again", self.path, at)
        return at


def _batch(name: tuple[int, ...], scores: np.ndarray) -> bytes:
    """A batch as the file has it."""
    return np.array([(*name, _checksum(name, scores))], dtype=_HEAD).tobytes() + scores.astype("<i2").tobytes()


def _checksum(name: tuple[int, ...], scores: np.ndarray) -> bytes:
    return checksum(np.array([name], dtype=_OLD_HEAD).tobytes(), scores.astype("<i2").tobytes()).encode()


@dataclass(frozen=True)
class Moves:
    """All legal moves of some positions: POSITION[n] after each, and int64[n], the number of the position before it.

    `best`, bool[n], marks the moves that the teacher finds best.
    """

    after: np.ndarray
    parent: np.ndarray
    best: np.ndarray

    @property
    def positions(self) -> int:
        """How many positions they are of."""
        return len(np.unique(self.parent))


@dataclass(frozen=True)
class RankFigure:
    """Over all positions: the mean of 1 / the rank of the teacher's move, and how often it is first."""

    reciprocal_rank: float
    first: float


def moves_of(positions: np.ndarray, teacher: Evaluation) -> Moves:
    """The moves of POSITION[m], and those that the teacher finds best."""
    room, parent = np.empty(ROOM * MAX_MOVES, dtype=POSITION), np.empty(ROOM * MAX_MOVES, dtype=np.int64)
    parts = [(room[:0], parent[:0])]
    for first in range(0, len(positions), ROOM):
        count = _write_moves(positions[first : first + ROOM], room, parent)
        parts.append((room[:count].copy(), first + parent[:count]))
    after, parent = (np.concatenate(column) for column in zip(*parts, strict=True))
    value = _for_mover(after, teacher)
    return Moves(after, parent, value == _largest(value, parent)[parent])


def rank_figure(moves: Moves, evaluation: Evaluation) -> RankFigure:
    """How the evaluation ranks them; of moves with equal scores half count as before."""
    value = _for_mover(moves.after, evaluation)
    chosen = _largest(np.where(moves.best, value, -np.inf), moves.parent)[moves.parent]
    ahead = (value > chosen) + 0.5 * ((value == chosen) & ~moves.best)
    seen = np.unique(moves.parent)
    rank = 1 + np.bincount(moves.parent, ahead)[seen]
    return RankFigure(float(np.mean(1 / rank)), float(np.mean(rank < 1.5)))


def _for_mover(after: np.ndarray, evaluation: Evaluation) -> np.ndarray:
    """The scores of moves for who makes them, float64[n], from a search after each."""
    search, stop = Rescore(RANK_NODES, evaluation), np.zeros(1, dtype=np.uint64)
    batches = (after[first : first + BATCH] for first in range(0, len(after), BATCH))
    scores = [np.zeros(0, dtype=np.int16), *in_order(lambda batch: search.scores_of(batch, stop), batches)]
    white = np.concatenate(scores)
    return np.where(after["side"] == WHITE, -white.astype(np.float64), white)


def _largest(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The largest value of each group, by its number."""
    found = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(found, group, values)
    return found


@entry
def _write_moves(positions, after, parent):
    """Fill in the position after each legal move, and the number of that before; returns how many there are."""
    moves, found = np.empty(MAX_MOVES, dtype=np.int32), 0
    for index in range(len(positions)):
        count = make_each(positions[index], moves, after, found)
        parent[found:count] = index
        found = count
    return found
