"""Scores of positions by Merino's own search.

Each position is searched separately to a number of nodes, on all cores. The scores are appended in batches to a file
next to the games. They are used again as long as games, choice of positions, nodes and weights are the same, and an
interrupted run continues after the last of them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from merino.core.board import bitboard
from merino.core.common import files, sealed, work
from merino.engine.search import choice, iterative_deepening, limits, transposition, worker
from merino.eval.evaluation import Evaluation
from merino.eval.families import default
from merino.eval.linear import family
from merino.formats import packed, pgn_games, pgn_tokens, sources
from merino.learn import positions as chosen
from merino.learn import request

ENDING = ".train.scores"  # as `merino train` names them
BATCH = 256  # positions that are searched with one table and written together
_MARK, _ANY_MARK = b"merino-scores 2", b"merino-scores "
_NAME = np.dtype([("first", "<i8"), ("offset", "<i8"), ("count", "<i8"), ("keys", "<u8")])  # of a batch
_HEAD = np.dtype([*_NAME.descr, ("checksum", "S8")])
log = logging.getLogger(__name__)
NO_PAST = np.zeros(0, dtype=np.uint64)  # of a position that is searched for itself
_local = threading.local()  # a search record belongs to one thread
SELECTION = request.Selection(positions=request.Quiet.RESOLVED, per_game=10)  # a search takes a millisecond
# As files of Merino 1.0 have it, with the weights that resolve positions behind it.
SELECTED = "skip-first 0, skip-last 0, per-game 10, skip-decided None, quiet qsearch, halfmove clock ignored"


def described_scorer(evaluation: Evaluation) -> str:
    """The identity of an evaluation that gives scores, as text."""
    if isinstance(evaluation, family.LinearEvaluation):
        return f"weights {_short_hash(evaluation.weights.tobytes() + evaluation.terms.version.encode())}"
    return f"evaluation {_short_hash(sealed.as_json(evaluation.identity))}"


def _short_hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


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
            _local.table, _local.stop = transposition.TranspositionTable(1), stop
            _local.worker = worker.Worker(_local.table, stop, self.evaluation)
        _local.worker.set_evaluation(self.evaluation)
        _local.worker.forget()
        _local.table.clear()
        found, record = np.zeros(len(positions), dtype=np.int64), _local.worker.record
        first, deepest = iterative_deepening.MIN_NODES, limits.MAX_PLY - 1
        choice.search_all(record, positions, NO_PAST, self.nodes, deepest, first, found)
        if stop[0]:
            raise RescoringStoppedError
        return _encoded(np.where(positions["side"] == bitboard.WHITE, found, -found))


def _encoded(scores: np.ndarray) -> np.ndarray:
    """Scores of the engine, encoded as in `formats.pgn_tokens`, int16[n]."""
    encoded = np.clip(scores, -pgn_tokens.MAX_SCORE, pgn_tokens.MAX_SCORE)
    mates = np.abs(scores) >= limits.MATE_IN_MAX_PLY
    encoded[mates] = (np.sign(scores) * (pgn_tokens.MATE - (limits.MATE_SCORE - np.abs(scores) + 1) // 2))[mates]
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
        self.known = 0  # scores found in the file
        self._pieces: dict[tuple[int, ...], np.ndarray] = {}
        self._lock, self._stop = threading.Lock(), np.zeros(1, dtype=np.uint64)
        self._head = _MARK + f"; {made_from}; {rescore.describe()}\n".encode()
        with ExitStack() as stack:
            stack.enter_context(files.held_or(request.LearnError, path))  # against other runs
            with files.writing(request.LearnError, path):
                end = self._read() if files.is_there(path) else 0
                if not end:
                    files.write_whole(path, self._head)
                self._file: IO[bytes] = path.open("r+b")
                self._file.truncate(end or len(self._head))
                self._file.seek(0, os.SEEK_END)
            stack.callback(self._close)
            self._open = stack.pop_all()

    def scores_of(self, first: int, positions: np.ndarray) -> np.ndarray:
        """White's scores of POSITION[n], int16[n]: the positions of the piece at `first` of the games' file.

        Raises LearnError if they cannot be written, and RescoringStoppedError after the end of the context.
        """
        parts = [np.zeros(0, dtype=np.int16)]
        for offset in range(0, len(positions), BATCH):
            batch = positions[offset : offset + BATCH]
            name = first, offset, len(batch), int(np.bitwise_xor.reduce(batch["key"]))
            if name not in self._pieces:
                self._keep(name, self._rescore.scores_of(batch, self._stop))
            parts.append(self._pieces[name])
        return np.concatenate(parts)

    def __enter__(self) -> ScoreFile:
        return self

    def stop(self) -> None:
        """End the searches that are under way, soon; from another thread, too."""
        self._stop[0] = 1

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._open.close()

    def _close(self) -> None:
        with self._lock:
            self._file.close()

    def _keep(self, name: tuple[int, ...], scores: np.ndarray) -> None:
        content = scores.astype("<i2").tobytes()
        with self._lock:
            if self._file.closed:
                raise RescoringStoppedError
            with files.writing(request.LearnError, self.path):
                self._file.write(np.array([(*name, _checksum(name, content))], dtype=_HEAD).tobytes() + content)
                self._file.flush()
            self._pieces[name] = scores

    def _read(self) -> int:
        """Read the batches of the file; where the last whole one ends, 0 if the file must be written again."""
        content, at = files.read_user_file(self.path, files.STATE), len(self._head)
        if not content.startswith(_ANY_MARK):
            raise request.LearnError(f"'{self.path}' is in the way: learn did not write it; move it away")
        if not content.startswith(self._head):
            return 0
        while at + _HEAD.itemsize <= len(content):
            *name, written = np.frombuffer(content, _HEAD, 1, at)[0].tolist()
            start, end = at + _HEAD.itemsize, at + _HEAD.itemsize + 2 * name[2]
            if not 0 < name[2] <= BATCH or end > len(content) or _checksum(name, content[start:end]) != written:
                break
            self._pieces[tuple(name)] = np.frombuffer(content, "<i2", name[2], start).astype(np.int16)
            self.known += name[2]
            at = end
        if at < len(content):
            log.warning("'%s' is cut off or damaged after %d bytes: what follows is searched again", self.path, at)
        return at


def _checksum(name: Sequence[int], scores: bytes) -> bytes:
    return sealed.checksum(np.array([tuple(name)], dtype=_NAME).tobytes(), scores).encode()


def searched_positions(
    paths: Sequence[Path], rescore: Rescore, events: request.Events, left_out: sources.LeftOut
) -> Iterator[np.ndarray]:
    """Ten resolved positions of each game of PGN files with the scores of searches, SCORED[n] at a time.

    The scores are kept in a file next to the games, so that a stopped run continues. Raises LearnError.
    """
    games_before = found = 0
    for path in paths:  # what cannot be read is found before the searches
        with sources.open_source(path) as source:
            if source.is_passing or source.holds_positions():
                raise request.LearnError(f"--rescore searches games: '{source.name}' is no file of PGN")
            for _ in source.lines():
                pass
    for path in paths:
        with sources.open_source(path) as source:
            made_from = f"source {sources.digest(path)}; {SELECTED}, {described_scorer(default())}"
            with ScoreFile(Path(f"{path}{ENDING}"), rescore, made_from) as scores:

                def searched(
                    piece: pgn_games.GamesText, file: ScoreFile = scores
                ) -> tuple[chosen.PositionBlock, pgn_games.Games]:
                    games = pgn_games.play_games(piece.data, piece.table, 1, piece.lines_before)
                    block = chosen.refined(chosen.block_of_games(games), SELECTION, default().weights)
                    return replace(block, scores=file.scores_of(piece.games_before, block.positions)), games

                if scores.known:
                    events.say(f"Using {scores.known} scores from file '{scores.path}'")
                else:
                    events.say(f"Searching {rescore.nodes} nodes a position; the scores are kept in '{scores.path}'")
                for block, games in work.in_order(searched, pgn_games.games_of(source), scores.stop):
                    events.progressed(f"Searching {source.name}", source.done)
                    taken = block.chosen(np.abs(block.scores.astype(np.int64)) <= packed.MAX_SCORE)
                    of, results = games_before + taken.game.astype(np.int64), np.rint(2 * taken.results[taken.game])
                    yield packed.scored(taken.positions, packed.pack(taken.positions, taken.scores, results, of))
                    left_out.add(path, games.faults(needs_result=True))
                    found, games_before = found + len(block), games_before + len(games)
    if not found:
        names = ", ".join(sources.name_of(path, True) for path in paths)
        raise request.LearnError(f"no finished game with a usable position in {names}")
