"""Plays a match as an ordered map of its pairs: the same games in the same order, whoever plays them, and how many."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import NamedTuple

from engine.common.runs import Run, RunName, at_work, begun
from engine.common.work import ordered, threads
from match.games import Game
from match.terms import Board, OpeningSource, Terms

AHEAD = 4  # pairs for each that may be played at a time, that may be finished before an earlier one is


@dataclass(frozen=True)
class PairTask:
    """The games of one pair that are to be played: plain data, for any process."""

    terms: Terms
    pair: int
    numbers: tuple[int, ...]  # of the games, the even one for the first player's White
    run: RunName


class _Seat(NamedTuple):
    """What a thread keeps from pair to pair."""

    openings: OpeningSource
    board: Board


def play_pair(task: PairTask) -> tuple[Game, ...]:
    """The games of a pair; none if its run has ended meanwhile. Raises what a board or an opening raises."""
    with at_work(task.run) as run:
        if run is None:
            return ()
        seat = run.kept(lambda: _sit_down(task.terms, run))
        opening = seat.openings.opening(task.pair)
        games = []
        for number in task.numbers:
            game = None if run.is_stopped else seat.board.play(number, opening, number % 2 == 0)
            if game is None:
                return ()
            games.append(game)
        return tuple(games)


def _sit_down(terms: Terms, run: Run) -> _Seat:
    seat = _Seat(terms.source(), terms.board(run.stop_flag))
    run.watch(seat.board)
    return seat


def play_match(
    terms: Terms, games: int, at_a_time: int, first: int = 0, executor: Executor | None = None
) -> Generator[Game, None, None]:
    """The games of a match from number `first` on, in their order. Closing the iterator stops the match.

    `executor` plays `at_a_time` pairs at a time; None for threads of this process. Games under way in this process end
    at once when the match is stopped; what others still play is dropped. Raises what a board or an opening raises.
    """
    pairs = range(first // 2, (games + 1) // 2)
    hands = max(1, min(at_a_time, len(pairs)))
    with ExitStack() as stack:
        workers = executor or stack.enter_context(threads(hands))
        run = stack.enter_context(begun())
        tasks = (
            PairTask(terms, pair, tuple(range(max(2 * pair, first), min(2 * pair + 2, games))), run) for pair in pairs
        )
        for played in stack.enter_context(closing(ordered(workers, play_pair, tasks, AHEAD * hands))):
            yield from played
