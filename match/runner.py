"""Plays a match on several threads and hands its games out in their order, the same whatever the number of threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from formats.openings import Opening
from match.games import Game

AHEAD = 4  # pairs per thread that may be finished before an earlier one is


class Board(Protocol):
    """Where two players meet, one game at a time."""

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped."""

    def stop(self) -> None:
        """End the game under way soon, the stop flag being set; called from another thread."""

    def close(self) -> None:
        """Let go of what is open; no game follows."""


class OpeningSource(Protocol):
    """Openings by number."""

    def opening(self, number: int) -> Opening:
        """The opening of this number, always the same."""


@dataclass(frozen=True)
class Setup:
    """What a thread needs: made anew for each, with the flag that stops its games."""

    board: Callable[[np.ndarray], Board]
    openings: Callable[[], OpeningSource]


class _Crew:
    """The threads of a match, and the pairs that they have still to play."""

    def __init__(self, setup: Setup, first: int, games: int, threads: int) -> None:
        self._setup = setup
        self._first, self._games = first, games
        self._next = first // 2
        self._lock = threading.Lock()
        self._boards: list[Board] = []
        self._room = threading.Semaphore(AHEAD * threads)
        self.stop_flag = np.zeros(1, dtype=np.uint64)
        self.results: queue.Queue[tuple[int, list[Game]] | BaseException] = queue.Queue()
        self._threads = [threading.Thread(target=self._work, name=f"games {n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def taken(self) -> None:
        """A pair has been handed out: another may be begun."""
        self._room.release()

    def stop(self) -> None:
        """End all games and threads."""
        self.stop_flag[0] = 1
        for board in self._boards:
            board.stop()
        for _ in self._threads:
            self._room.release()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        try:
            openings, board = self._setup.openings(), self._setup.board(self.stop_flag)
            self._boards.append(board)
            try:
                while (pair := self._take()) is not None and (games := self._play_pair(board, openings, pair)):
                    self.results.put((pair, games))
            finally:
                board.close()
        except BaseException as error:  # noqa: BLE001 (raised again by the thread that asked for the match)
            self.results.put(error)

    def _play_pair(self, board: Board, openings: OpeningSource, pair: int) -> list[Game]:
        """The games of a pair that are wanted; none if they were stopped."""
        opening = openings.opening(pair)
        games = []
        for number in range(max(2 * pair, self._first), min(2 * pair + 2, self._games)):
            game = board.play(number, opening, number % 2 == 0)
            if game is None:
                return []
            games.append(game)
        return games

    def _take(self) -> int | None:
        """The next pair to play; waits while too many are ahead of an unfinished one."""
        self._room.acquire()
        with self._lock:
            pair, self._next = self._next, self._next + 1
        return pair if 2 * pair < self._games and not self.stop_flag[0] else None


def play_match(setup: Setup, games: int, threads: int, first: int = 0) -> Generator[Game, None, None]:
    """The games of a match from number `first` on, in their order. Closing the iterator stops the match.

    Raises what a board or an opening raises.
    """
    pairs = range(first // 2, (games + 1) // 2)
    crew = _Crew(setup, first, games, min(threads, len(pairs)))
    waiting: dict[int, list[Game]] = {}
    try:
        for pair in pairs:
            while pair not in waiting:
                result = crew.results.get()
                if isinstance(result, BaseException):
                    raise result
                waiting[result[0]] = result[1]
            yield from waiting.pop(pair)
            crew.taken()
    finally:
        crew.stop()
