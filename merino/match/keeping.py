"""The files of a match: its games at the end of a PGN, their positions, and the state from which it can be resumed.

The state is written before the games. It holds the text of the games about to be added and the offset where they will
be. Wherever a run is ended, the next one can tell which of them are in the PGN and adds the others, so that each game
is there once, even where others add to the same PGN. Nothing is ever removed from it except what a failed write has
just added.

The file of positions holds packed positions or, by its name, whole games in viriformat. Each is there once, too.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.common.files import (
    STATE,
    append_whole,
    faults_named,
    held_or,
    is_on_disk,
    is_stream,
    is_there,
    lock,
    open_stream,
    open_to_extend,
    read_user_file,
    write_whole,
    writing,
)
from merino.core.common.sealed import as_json, from_json
from merino.formats.packed import PACKED, Filter, begins_packed, with_checks
from merino.formats.pgn_tokens import NO_SCORE
from merino.formats.scored_games import MOVE_BYTES, ScoredGames, as_viriformat, end_of_games, is_games_file, packed_of
from merino.formats.sources import is_compressed
from merino.match.games import Game, MatchError, MatchUsageError, Tally

_RESULTS = {WHITE: 2, None: 1, BLACK: 0}


class Journal(NamedTuple):
    """Games that belong into a file from byte `at` on, in the form of the file."""

    at: int
    games: tuple[bytes, ...]


class _Additions:
    """Games to be added at the end of a file, each once.

    `plan` them, write the plan into the state, `keep` it and `finish` it. Each step may be broken off, and all begun
    again with `plan`.
    """

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._kept: Journal | None = None  # a plan that the state has and that is not finished yet

    def add(self, game: bytes) -> None:
        """Take the next game."""
        self._waiting.append(game)

    def plan(self, file: IO[bytes]) -> Journal:
        """What is to be added to the file as it is now, which must be locked; raises OSError."""
        self.finish(file)
        return Journal(_size(file), (*self._left(file), *self._waiting))

    def keep(self, plan: Journal) -> None:
        """The state has this plan now."""
        self._waiting, self._kept = [], plan

    def finish(self, file: IO[bytes]) -> None:
        """Add what is missing of the plan kept, from the middle of a game on if need be; raises OSError.

        Where others have written at its place, its games are left for the next plan: a kill after they were added
        behind would leave a state by which they are missing.
        """
        if self._kept is None:
            return
        text = b"".join(self._kept.games)
        there = _read(file, self._kept.at, len(text))
        if text.startswith(there):
            append_whole(file, text[len(there) :])
            self._kept = None

    def _left(self, file: IO[bytes]) -> tuple[bytes, ...]:
        """The games of the plan kept that are not whole at their place; raises OSError."""
        if self._kept is None:
            return ()
        at, games = self._kept
        there = _read(file, at, sum(map(len, games)))
        whole = end = 0
        for game in games:
            if there[end : end + len(game)] != game:
                break
            whole, end = whole + 1, end + len(game)
        return games[whole:]


class MatchKeeper:
    """Saves the games and the state of one match to their files; either may be None."""

    def __init__(
        self,
        pgn: Path | None,
        state: Path | None,
        config: dict[str, Any],
        positions: PositionFile | None = None,
    ) -> None:
        """`config` must be the same whenever the match is resumed, and serialisable as JSON. Raises MatchUsageError."""
        for path in (pgn, None if positions is None else positions.path):
            if path is not None and is_compressed(path):
                raise MatchUsageError(f"'{path}' is compressed, and nothing can be appended to it")
        self._pgn, self._state, self._config, self._positions = pgn, state, config, positions
        self._positions_before: dict[str, Any] | None = None  # as the state has it
        self._games = _Additions()
        self._journal: Journal | None = None  # as the state has it, until `catch_up`

    def load(self) -> tuple[Tally, float]:
        """The results so far, and the seconds they took; raises MatchError."""
        path = self._state
        if path is None or not is_there(path):
            return Tally(), 0.0
        with faults_named(path, "the state of a match", MatchError):
            state = from_json(read_user_file(path, STATE), str(path))
            tally, seconds, config = Tally.from_json(state["tally"]), float(state["seconds"]), dict(state["terms"])
            self._positions_before = state.get("positions")
            journal = state["pgn"] and _journal_of(state["pgn"])
        changed = [name for name in self._config if config.get(name) != self._config[name]]
        if changed:
            raise MatchError(f"'{path}' belongs to a match with other {', '.join(changed)}; use another file")
        self._journal = journal or None
        return tally, seconds

    def catch_up(self, is_over: bool) -> str:
        """Add the games that the state has and the PGN lacks; returns a remark if others have written there, or "".

        Call it after `load`. Raises MatchError if the files do not belong together.
        """
        self._take_up_positions()
        journal, self._journal = self._journal, None
        if journal is None or (is_over and not journal.games):
            return ""
        if self._pgn is None:
            if journal.games:
                raise MatchError(f"'{self._state}' holds games that its PGN may lack; name the PGN with --pgn")
            return ""
        size = self._pgn.stat().st_size if is_there(self._pgn) else 0
        if size < journal.at:
            raise MatchError(f"'{self._pgn}' is shorter than '{self._state}' says; use other files")
        self._games.keep(journal)
        with writing(MatchError, self._pgn), _opened(self._pgn) as file:
            self._games.finish(file)
        if size <= journal.at + sum(map(len, journal.games)):
            return ""
        return f"'{self._pgn}' has grown since '{self._state}' was saved; nothing is removed from it."

    def add(self, game: str, positions: bytes = b"") -> None:
        """Take the text of the next game, and its positions as `PositionFile.bytes_of` has them."""
        if self._pgn is not None:
            self._games.add(game.encode())
        if self._positions is not None:
            self._positions.add_bytes(positions)

    def save(self, tally: Tally, seconds: float) -> None:
        """Write the games taken, and the state; raises MatchError and may then be called again."""
        with self._opened_positions():
            if self._pgn is None:
                self._write_state(tally, seconds, None)
                self._settle_positions()
                self._write_state(tally, seconds, None)
                return
            with writing(MatchError, self._pgn), _opened(self._pgn) as file:
                journal = self._games.plan(file)
                self._write_state(tally, seconds, journal)
                self._games.keep(journal)
                self._games.finish(file)
                self._settle_positions()
                self._write_state(tally, seconds, Journal(_size(file), ()))

    def _take_up_positions(self) -> None:
        """Add the positions that the state has and their file lacks; raises MatchError if it holds anything else."""
        if self._positions is None:
            if self._positions_before and self._positions_before.get("more"):
                raise MatchError(f"'{self._state}' holds positions that their file may lack; name it with --positions")
            return
        try:
            with writing(MatchError, self._positions.path):
                if self._positions_before is not None:
                    self._positions.take_up(self._positions_before)
                self._positions.check()
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise MatchError(f"'{self._state}' is not the state of a match ({error!r})") from error

    @contextmanager
    def _opened_positions(self) -> Iterator[None]:
        """Keep others from the file of positions for this block, in which those taken are to be added."""
        with ExitStack() as stack:
            if self._positions is not None:
                with writing(MatchError, self._positions.path):
                    stack.enter_context(self._positions.opened())
                    self._positions.prepare()
            yield

    def _settle_positions(self) -> None:
        if self._positions is not None:
            with writing(MatchError, self._positions.path):
                self._positions.settle()

    def _write_state(self, tally: Tally, seconds: float, journal: Journal | None) -> None:
        if self._state is None:
            return
        state = {"terms": self._config, "tally": tally.as_json(), "seconds": seconds}
        state["positions"] = None if self._positions is None else self._positions.as_json()
        games = [] if journal is None else [game.decode() for game in journal.games]
        state["pgn"] = None if journal is None else {"at": journal.at, "games": games}
        with writing(MatchError, self._state):
            write_whole(self._state, as_json(state, indent=1))


def holding(state: Path | None) -> AbstractContextManager[None]:
    """Keep other matches from the state, and with it from the games, for a block; raises MatchError."""
    return nullcontext() if state is None else held_or(MatchError, state)


def _journal_of(state: dict[str, Any]) -> Journal:
    """The journal of a PGN, as a state has it; raises KeyError, TypeError, ValueError or OverflowError."""
    if (at := int(state["at"])) < 0:
        raise ValueError("the offset of its games is below 0")
    return Journal(at, tuple(str(game).encode() for game in state["games"]))


@contextmanager
def _opened(pgn: Path) -> Iterator[IO[bytes]]:
    """Open the PGN for reading and appending, what is no regular file for writing; locked against other matches."""
    with open_stream(pgn) if is_stream(pgn) else open_to_extend(pgn) as file:
        lock(file)
        yield file


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _read(file: IO[bytes], at: int, most: int) -> bytes:
    """The content of the file from this offset, at most so many bytes; empty for a pipe, which cannot be read again."""
    found = b""
    if is_on_disk(file):
        file.seek(at)
        while part := file.read(most - len(found)):
            found += part
    return found


def check_holds_packed(path: Path) -> None:
    """Raise MatchError if a file of positions, not of games, begins with something else; raises OSError."""
    if is_there(path) and not is_games_file(path):
        with open_to_extend(path) as file:
            head = _read(file, 0, PACKED.itemsize)
        if head and not begins_packed(head):
            raise MatchError(f"'{path}' holds no packed positions, or its end is missing: name another file")


class PositionFile:
    """Appends positions to a file. What is about to be added is first saved in the state of the match."""

    def __init__(self, path: Path, skip: int) -> None:
        """`skip`: the number of positions after the opening to leave out, where moves are random."""
        self.path, self._skip = path, skip
        self._has_games = is_games_file(path)
        self._unit = MOVE_BYTES if self._has_games else PACKED.itemsize  # what is added is a multiple of so many bytes
        self._end = 0  # of the whole games that were found in the file when it was last looked at
        self._games = _Additions()  # the positions of each
        self._plan = Journal(0, ())
        self._file: IO[bytes]  # while it is open

    def check(self) -> None:
        """Raise MatchError if the file does not hold whole positions alone, or OSError."""
        if not is_there(self.path):
            return
        with open_to_extend(self.path) as file:
            self._check_whole(file)

    def _check_whole(self, file: IO[bytes]) -> None:
        if not self._is_whole(file):
            kind = "games in viriformat" if self._has_games else "packed positions"
            raise MatchError(f"'{self.path}' holds no {kind}, or its end is missing: name another file")

    def _is_whole(self, file: IO[bytes]) -> bool:
        size = _size(file)
        if not self._has_games:
            return size % self._unit == 0
        self._end = end_of_games(file, self._end if self._end <= size else 0)
        return self._end == size

    def bytes_of(self, game: Game) -> bytes:
        """The positions of a finished game in the form of the file."""
        scored = _scored(game, self._skip)
        if self._has_games:
            return as_viriformat(scored) if len(scored.moves) else b""
        return bytes(with_checks(packed_of(scored, Filter())).tobytes())

    def add_bytes(self, content: bytes) -> None:
        """Take the positions of a game, in the form of the file."""
        self._games.add(content)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep others from the file for this block, in which `prepare` and `settle` may be called; raises OSError."""
        with open_to_extend(self.path) as self._file:
            lock(self._file)
            yield

    def prepare(self) -> None:
        """Plan to append the waiting positions to the file as it is now; raises OSError.

        Raises MatchError if another run was killed while it wrote there, until that run has gone on.
        """
        self._plan = self._games.plan(self._file)
        self._check_whole(self._file)

    def settle(self) -> None:
        """Append all that was planned, which the state has, or nothing; raises OSError."""
        self._games.keep(self._plan)
        self._games.finish(self._file)
        self._plan = Journal(_size(self._file), ())

    def as_json(self) -> dict[str, Any]:
        """What will be appended, of how many bytes for each game, and where."""
        at, games = self._plan
        more = base64.b64encode(b"".join(games)).decode()
        return {"at": at, "more": more, "sizes": [len(game) for game in games]}

    def take_up(self, state: dict[str, Any]) -> None:
        """Resume from what `as_json` wrote; raises MatchError, KeyError, ValueError or OSError."""
        at, more = int(state["at"]), base64.b64decode(state["more"], validate=True)
        sizes = [int(size) for size in state.get("sizes", [len(more)])]  # older states have none
        wholes = sizes if self._has_games else (at, *sizes)  # games may follow a record of another program, of any size
        if at < 0 or any(size < 0 or size % self._unit for size in wholes) or sum(sizes) != len(more):
            raise ValueError("its positions are not whole")
        size = self.path.stat().st_size if is_there(self.path) else 0
        if size < at:
            raise MatchError(f"'{self.path}' is shorter than the state of the match says; name another file")
        ends = accumulate(sizes)
        self._games.keep(Journal(at, tuple(more[end - size : end] for size, end in zip(sizes, ends, strict=True))))
        if more:
            with self.opened():
                self._games.finish(self._file)


def _scored(game: Game, skip: int) -> ScoredGames:
    """A game without its first `skip` moves."""
    position = game.opening.position()
    for played in game.moves[:skip]:
        position.push(played.move)
    rest = game.moves[skip:]
    signs = [1 if (position.turn == WHITE) == (ply % 2 == 0) else -1 for ply in range(len(rest))]
    scores = [NO_SCORE if own.score is None else sign * own.score for sign, own in zip(signs, rest, strict=True)]
    return ScoredGames(
        position.record.copy(),
        np.array([0, len(rest)]),
        np.array([played.move for played in rest], dtype=np.int16),
        np.array(scores, dtype=np.int16),
        np.array([_RESULTS[game.winner]], dtype=np.int8),
        np.array([game.number]),
    )
