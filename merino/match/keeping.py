"""The files of a match: its games at the end of a PGN, their positions, and the state from which it can be resumed.

The state is written before the games. It holds what is about to be added to each file and the offset where it will be.
Wherever a run is ended, the next one knows which games are in the files and adds the others, so that each game is
there once, even where others add to the same files. Nothing is ever removed from them except what a failed write has
just added.

The file of positions holds packed positions or, by its name, whole games in viriformat.
"""

import base64
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.common import files, sealed
from merino.formats import packed, pgn_text, pgn_tokens, scored_games, sources
from merino.formats.scored_games import end_of_games, is_games_file
from merino.match.games import Game, MatchError, MatchUsageError, Tally

_RESULTS = {WHITE: 2, None: 1, BLACK: 0}


class Journal(NamedTuple):
    """Games that belong into a file from byte `at` on, in the form of the file."""

    at: int
    games: tuple[bytes, ...]

    @property
    def end(self) -> int:
        """Where they end."""
        return self.at + sum(map(len, self.games))

    def as_json(self, is_text: bool) -> dict[str, Any]:
        """What a state has: the text of each game, or the bytes of all and the size of each."""
        if is_text:
            return {"at": self.at, "games": [game.decode() for game in self.games]}
        more = base64.b64encode(b"".join(self.games)).decode()
        return {"at": self.at, "more": more, "sizes": [len(game) for game in self.games]}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Self:
        """What `as_json` wrote; raises KeyError, TypeError, ValueError or OverflowError for anything else."""
        at = int(state["at"])
        if at < 0:
            raise ValueError("the offset of its games is below 0")
        if "games" in state:
            return cls(at, tuple(str(game).encode() for game in state["games"]))
        more = base64.b64decode(state["more"], validate=True)
        sizes = [int(size) for size in state.get("sizes", [len(more)])]  # older states have none
        if sum(sizes) != len(more) or any(size < 0 or size % scored_games.MOVE_BYTES for size in sizes):
            raise ValueError("its positions are not whole")
        return cls(at, tuple(more[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)))


class GrowingFile:
    """A file at whose end games are added, each once: here as PGN.

    While it is `opened`, `prepare` makes the `plan`; write that into the state, then `settle`. Each step may be broken
    off, and all begun again with `prepare`.
    """

    def __init__(self, path: Path) -> None:
        """Raises MatchUsageError."""
        if sources.is_compressed(path):
            raise MatchUsageError(f"'{path}' is compressed, and nothing can be appended to it")
        self.path = path
        self.plan = Journal(0, ())
        self._waiting: list[bytes] = []
        self._is_resumed = False  # by a state that knows what is in the file
        self._kept: Journal | None = None  # a plan that the state has and that is not finished yet
        self._file: IO[bytes]  # while it is open

    def add_bytes(self, game: bytes) -> None:
        """Take the next game."""
        self._waiting.append(game)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep others from the file for this block; raises MatchError. What is no regular file is only written."""
        with ExitStack() as stack:
            with files.writing(MatchError, self.path):
                self._file = (files.open_stream if files.is_stream(self.path) else files.open_to_extend)(self.path)
                stack.enter_context(self._file)
                files.lock(self._file)
            yield

    def prepare(self) -> None:
        """Journal to add what is waiting to the file as it is now; raises MatchError."""
        with files.writing(MatchError, self.path):
            self._finish()
            gap, games = self.check_whole(self._file), (*self._left(), *self._waiting)
            self.plan = Journal(_size(self._file), (gap, *games) if gap and games else games)

    def settle(self) -> None:
        """Add what was planned, which the state has, or nothing; raises MatchError."""
        self._waiting, self._kept = [], self.plan
        with files.writing(MatchError, self.path):
            self._finish()
            self.plan = Journal(_size(self._file), ())

    def take_up(self, plan: Journal) -> None:
        """Add what a plan of the state has and the file lacks; raises MatchError."""
        size = self.path.stat().st_size if files.is_there(self.path) else 0
        if size < plan.at:
            raise MatchError(f"'{self.path}' is shorter than the state of the match says; use other files")
        self._kept, self._is_resumed = plan, True
        if plan.games:
            with self.opened(), files.writing(MatchError, self.path):
                self._finish()

    def check(self) -> None:
        """Raise MatchError or MisreadError if the file holds anything else."""
        if files.is_there(self.path):
            with self.opened():
                self.check_whole(self._file, first=True)

    def check_whole(self, file: IO[bytes], first: bool = False) -> bytes:
        """What has to part the next game from the end of the open file: an empty line, as far as it is not there.

        Raises MatchError if nothing may be added to it; before the `first` game MisreadError, too.
        """
        most = 2 * pgn_text.LOOKED_AT if first else 4
        end = _read(file, max(0, _size(file) - most), most)
        if first:
            pgn_text.check_end(end, self.path)
        return pgn_text.joint(end)

    def _finish(self) -> None:
        """Add what is missing of the plan kept, from the middle of a game on if need be; raises OSError.

        Where others have written at its place, its games are left for the next plan: a kill after they were added
        behind would leave a state by which they are missing.
        """
        if self._kept is not None:
            content = b"".join(self._kept.games)
            there = _read(self._file, self._kept.at, len(content))
            if content.startswith(there):
                files.append_whole(self._file, content[len(there) :])
                self._kept = None

    def _left(self) -> tuple[bytes, ...]:
        """The games of the plan kept that are not whole at their place; raises OSError."""
        if self._kept is None:
            return ()
        at, games = self._kept
        there = _read(self._file, at, self._kept.end - at)
        ends = accumulate(map(len, games))
        whole = [there[:end].endswith(game) and len(there) >= end for game, end in zip(games, ends, strict=True)]
        return games[[*whole, False].index(False) :]


class PositionFile(GrowingFile):
    """The positions of games, packed or as games in viriformat, by the name of the file."""

    def __init__(self, path: Path, skip: int) -> None:
        """`skip`: the number of positions after the opening to leave out, where moves are random."""
        super().__init__(path)
        self._skip, self._has_games = skip, is_games_file(path)
        self._end = 0  # of the whole games that were found in the file when it was last looked at

    def check_whole(self, file: IO[bytes], first: bool = False) -> bytes:
        """See GrowingFile; nothing parts positions."""
        size, itemsize = _size(file), packed.PACKED.itemsize
        if self._has_games:
            self._end = end_of_games(file, self._end if self._end <= size else 0)
            is_whole = size == self._end
        else:
            is_known = not size or self._is_resumed
            is_whole = size % itemsize == 0 and (is_known or packed.begins_packed(_read(file, 0, itemsize)))
        if not is_whole:
            kind = "games in viriformat" if self._has_games else "packed positions"
            raise MatchError(f"'{self.path}' holds no {kind}, or its end is missing: name another file")
        return b""

    def bytes_of(self, game: Game) -> bytes:
        """The positions of a finished game in the form of the file."""
        scored = _scored(game, self._skip)
        if self._has_games:
            return scored_games.as_viriformat(scored) if len(scored.moves) else b""
        return packed.with_checks(scored_games.packed_of(scored, packed.Filter())).tobytes()


class MatchKeeper:
    """Saves the games and the state of one match to their files; each may be None."""

    def __init__(
        self, pgn: Path | None, state: Path | None, config: dict[str, Any], positions: PositionFile | None = None
    ) -> None:
        """`config` must be the same whenever the match is resumed, and serialisable as JSON. Raises MatchUsageError."""
        self._state, self._config = state, config
        self._files = {"positions": positions, "pgn": None if pgn is None else GrowingFile(pgn)}
        self._plans: dict[str, Journal] = {}  # as the state has them, until `catch_up`

    def load(self) -> tuple[Tally, float]:
        """The results so far, and the seconds they took; raises MatchError."""
        path = self._state
        if path is None or not files.is_there(path):
            return Tally(), 0.0
        with files.faults_named(path, "the state of a match", MatchError):
            state = sealed.from_json(files.read_user_file(path, files.STATE), str(path))
            tally, seconds, config = Tally.from_json(state["tally"]), float(state["seconds"]), dict(state["terms"])
            self._plans = {name: Journal.from_json(state[name]) for name in self._files if state.get(name)}
        changed = [name for name in self._config if config.get(name) != self._config[name]]
        if changed:
            raise MatchError(f"'{path}' belongs to a match with other {', '.join(changed)}; use another file")
        return tally, seconds

    def catch_up(self, is_over: bool) -> None:
        """Add the games that the state has and the files lack, after `load`; raises MatchError if they do not match."""
        for name, file in self._files.items():
            plan = self._plans.pop(name, None)
            if plan is not None and (plan.games or not is_over):
                if file is not None:
                    file.take_up(plan)
                elif plan.games:
                    raise MatchError(f"'{self._state}' holds games that a file may lack; name it with --{name}")
            if file is not None:
                file.check()

    def add(self, game: str, positions: bytes = b"") -> None:
        """Take the text of the next game, and its positions as `PositionFile.bytes_of` has them."""
        for name, content in (("pgn", game.encode()), ("positions", positions)):
            file = self._files[name]
            if file is not None:
                file.add_bytes(content)

    def save(self, tally: Tally, seconds: float) -> None:
        """Write the games taken, and the state; raises MatchError and may then be called again."""
        present = [file for file in self._files.values() if file is not None]
        with ExitStack() as stack:
            for file in present:
                stack.enter_context(file.opened())
                file.prepare()
            self._write_state(tally, seconds)
            for file in reversed(present):
                file.settle()
            self._write_state(tally, seconds)

    def _write_state(self, tally: Tally, seconds: float) -> None:
        if self._state is not None:
            state = {"terms": self._config, "tally": tally.as_json(), "seconds": seconds}
            state |= {name: file and file.plan.as_json(name == "pgn") for name, file in self._files.items()}
            with files.writing(MatchError, self._state):
                files.write_whole(self._state, sealed.as_json(state, indent=1))


def holding(state: Path | None) -> AbstractContextManager[None]:
    """Keep other matches from the state, and with it from the games, for a block; raises MatchError."""
    return nullcontext() if state is None else files.held_or(MatchError, state)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _read(file: IO[bytes], at: int, most: int) -> bytes:
    """The content of the file from this offset, at most so many bytes; empty for a pipe, which cannot be read again."""
    found = b""
    if files.is_on_disk(file):
        file.seek(at)
        while part := file.read(most - len(found)):
            found += part
    return found


def _scored(game: Game, skip: int) -> scored_games.ScoredGames:
    """A game without its first `skip` moves."""
    position = game.opening.position()
    for played in game.moves[:skip]:
        position.push(played.move)
    rest = game.moves[skip:]
    signs = [1 if (position.side == WHITE) == (ply % 2 == 0) else -1 for ply in range(len(rest))]
    scores = [
        pgn_tokens.NO_SCORE if own.score is None else sign * own.score for sign, own in zip(signs, rest, strict=True)
    ]
    return scored_games.ScoredGames(
        position.record.copy(),
        np.array([0, len(rest)]),
        np.array([played.move for played in rest], dtype=np.int16),
        np.array(scores, dtype=np.int16),
        np.array([_RESULTS[game.winner]], dtype=np.int8),
        np.array([game.number]),
    )
