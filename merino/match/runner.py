"""Runs a match: plays its pairs as an ordered map of work; counts, shows, tests and saves its games.

The games and their order are the same for every executor and number of threads.
"""

import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple

from merino.core.board.fen import FenError
from merino.core.common import files, interrupt
from merino.core.common.text import counted, html_table
from merino.core.common.work import RemoteExecutor, Run, RunName, WorkError, at_work, begun, ordered, threads
from merino.formats.openings import Opening, OpeningError
from merino.formats.pgn_text import MisreadError
from merino.formats.sources import LeftOut
from merino.match import engines, keeping, report, statistics
from merino.match.config import MatchConfig, OpeningSource
from merino.match.games import Game, MatchError, Tally

AHEAD = 4  # blocks under way for each thread or slot; the finished ones among them wait for an earlier one
AT_ONCE = 2  # blocks handed out for each slot: while one is played the next one travels, and no slot has long to do
BLOCK_SECONDS = 1.0  # that a remote worker needs for a block, so that sending it costs next to nothing
MAX_PAIRS = 256  # of a block
SHOW_EVERY = 0.5  # seconds
SAVE_EVERY = 2.0


@dataclass(frozen=True)
class MatchOutput:
    """What a match writes in addition to its result."""

    show: Callable[[str], object] | None = None  # called with the live line several times a second
    pgn: Path | None = None  # games are appended to it
    state: Path | None = None  # the match is resumed from it after an interruption
    event: str = "Merino match"
    line: Callable[[Tally, int, float | None, statistics.Sprt | None], str] = report.live_line  # what is shown
    say: Callable[[str], object] | None = None  # called with remarks, in sentences
    positions: Path | None = None  # packed positions are appended to it
    played: Callable[[Game], object] | None = None  # called with each game, in order


@dataclass
class MatchResult:
    """A match, or the part of it that was played."""

    tally: Tally
    seconds: float = 0.0
    interrupted: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)  # of the openings

    @property
    def estimate(self) -> statistics.Estimate:
        """The strength of the first player against the second, with its error."""
        return statistics.estimate(self.tally.counts)

    def __repr__(self) -> str:
        lost, drawn, won = self.tally.points
        return f"MatchResult(games={self.tally.games}, won={won}, drawn={drawn}, lost={lost})"

    def _repr_html_(self) -> str:
        """What Jupyter shows: the points of the first player and its strength."""
        losses, draws, wins = self.tally.points
        strength = report.signed(self.estimate.elo, self.estimate.elo_error) if self.tally.games else ""
        cells = {"Games": self.tally.games, "Won": wins, "Drawn": draws, "Lost": losses, "Elo (95%)": strength}
        return html_table(list(cells), [list(cells.values())])


class BrokenOffError(MatchError):
    """A match that cannot continue; `result` is the part that was played."""

    def __init__(self, reason: str, result: MatchResult) -> None:
        super().__init__(reason)
        self.result = result


def run_match(
    config: MatchConfig,
    threads: int,
    sprt: statistics.Sprt | None = None,
    output: MatchOutput | None = None,
    executor: Executor | None = None,
) -> MatchResult:
    """Play until all games are played, the test is decided, or Ctrl-C; `threads` pairs at a time.

    `executor` plays them, a `RemoteExecutor` as many at a time as it has slots; None for threads of this process.
    Resumes from the state file, if there is one, and holds it meanwhile. Raises MatchError, or BrokenOffError once
    games have been played.
    """
    output = output or MatchOutput()
    with keeping.holding(output.state):
        return _Match(config, sprt, output).run(threads, executor)


class _Match:
    """A match in progress."""

    def __init__(self, config: MatchConfig, sprt: statistics.Sprt | None, output: MatchOutput) -> None:
        self._config, self._sprt, self._output = config, sprt, output
        _check_apart(config, output)
        skip, path = config.random_moves.early, output.positions
        self._positions = None if path is None else keeping.PositionFile(path, skip)
        self._keeper = keeping.MatchKeeper(output.pgn, output.state, config.identity(), self._positions)
        self._result = MatchResult(*self._keeper.load())
        self._first, self._uneven = self._result.tally.games, 0
        self._keeper.catch_up(self._is_over())
        if self._first and not self._is_over():
            self._say(f"{self._first} of {config.games} games are already played; continuing.")
        self._saved = self._shown = time.monotonic()
        self._began = self._saved - self._result.seconds

    def run(self, threads: int, executor: Executor | None) -> MatchResult:
        """Play."""
        games = play_match(
            self._config, self._config.games, threads, self._first, executor, self._say, self._result.left_out
        )
        boards = executor.slots if isinstance(executor, RemoteExecutor) else threads
        try:
            self._play(games, 2 * boards)
        except KeyboardInterrupt:
            self._result.interrupted = True
        except (OpeningError, FenError, MatchError, WorkError) as error:
            raise BrokenOffError(str(error), self._result) from error
        finally:
            if self._uneven:
                self._remark(f"{counted(self._uneven, 'game')} began less evenly than wanted, as no try did")
            try:
                self._save()
            finally:
                games.close()
        return self._result

    def _play(self, games: Generator[Game, None, None], enough: int) -> None:
        """Count the games, and from time to time save and show the state, with a speed.

        It is shown after twice so many games as are `enough`, which are not counted in: compiling before the first
        game, and how many boards happen to finish at first, say nothing about later games.
        """
        measured, speed = 0, None
        while not self._is_over():
            game = next(games)
            now, measured = time.monotonic(), measured + 1
            if measured == enough:
                began = now
            elif measured >= 2 * enough and now > began:
                speed = (measured - enough) / (now - began)
            self._take(game)
            if now - self._saved >= SAVE_EVERY:
                self._save()
            if self._output.show is not None and now - self._shown >= SHOW_EVERY:
                self._shown = now
                self._output.show(self._output.line(self._result.tally, self._config.games, speed, self._sprt))

    def _is_over(self) -> bool:
        """Whether all games are played, or the test is decided; the test is checked after whole pairs."""
        tally = self._result.tally
        if tally.games >= self._config.games:
            return True
        return self._sprt is not None and tally.games % 2 == 0 and bool(self._sprt.verdict(tally.counts))

    def _take(self, game: Game) -> None:
        """Take a game whole: into the files and the tally, or into none of them."""
        first, second = self._config.players
        text, positions = "", b""
        if self._output.pgn is not None:
            try:
                text = report.write_game(game, (first.label, second.label), self._output.event, date.today())
            except MisreadError as error:  # never the end of a match
                self._remark(f"game {game.number + 1} is not in '{self._output.pgn}': {error}")
        if self._positions is not None:
            positions = self._positions.bytes_of(game)
        with interrupt.Postponed():
            self._keeper.add(text, positions)
            self._result.tally.add(game)
        self._uneven += game.opening.uneven > 0
        if self._output.played is not None:
            self._output.played(game)

    def _save(self) -> None:
        """Write the games and the state; raises BrokenOffError."""
        self._saved = time.monotonic()
        self._result.seconds = self._saved - self._began
        try:
            self._keeper.save(self._result.tally, self._result.seconds)
        except MatchError as error:
            raise BrokenOffError(str(error), self._result) from error

    def _remark(self, sentence: str) -> None:
        """Say what went otherwise than meant, and keep it for the end."""
        self._result.left_out.remarks.append(sentence)
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        if sentence and self._output.say is not None:
            self._output.say(sentence)


def _check_apart(config: MatchConfig, output: MatchOutput) -> None:
    """Raise MatchError if games would be written into a file that the match reads, or two outputs into one file."""
    with files.writing(MatchError):
        fault = files.overwritten(filter(None, (output.pgn, output.positions, output.state)), config.files)
    if fault is not None:
        raise MatchError(fault)


@dataclass(frozen=True)
class PairBlock:
    """Some pairs of a match that are to be played together, by number: plain data, for any process."""

    pairs: tuple[tuple[int, ...], ...]  # the games of each, the even number for the first player's White
    openings: tuple[Opening, ...] = ()  # of each; none where the seed says them


class PlayedPairs(NamedTuple):
    """The games of a block, and the seconds that a pair took."""

    games: tuple[Game, ...]
    seconds: float


@dataclass(frozen=True)
class BlockPlayer:
    """What plays the blocks of a match, here or in another process."""

    config: MatchConfig
    run: RunName

    def __call__(self, block: PairBlock) -> PlayedPairs:
        """The games of a block; none of its last if its run has ended. Raises what a board or an opening raises."""
        began, found = time.perf_counter(), list[Game]()
        with at_work(self.run) as run:
            if run is not None:
                board, source = run.kept(lambda: self._set_up(run))
                for index, numbers in enumerate(block.pairs):
                    opening = source.opening(numbers[0] // 2) if source is not None else block.openings[index]
                    pair = list[Game]()
                    for number in numbers:
                        game = None if run.is_stopped else board.play(number, opening, number % 2 == 0)
                        pair += [] if game is None else [game]
                    found += pair if len(pair) == len(numbers) else []
        return PlayedPairs(tuple(found), (time.perf_counter() - began) / len(block.pairs))

    def _set_up(self, run: Run) -> tuple[engines.Board, OpeningSource | None]:
        """What a thread keeps from block to block."""
        source = None if self.config.openings else self.config.source()
        board = engines.board_of(self.config, run.stop_flag)
        run.watch(board)
        return board, source


def play_match(
    config: MatchConfig,
    games: int,
    at_a_time: int,
    first: int = 0,
    executor: Executor | None = None,
    say: Callable[[str], object] | None = None,
    left_out: LeftOut | None = None,
) -> Generator[Game, None, None]:
    """Yield the games of a match from number `first` on, in order. Closing the iterator stops the match.

    `executor` plays `at_a_time` pairs at a time, a `RemoteExecutor` as many as it has slots; None for threads of
    this process. Games under way end at once when the match is stopped, in this process and on the workers of a
    `RemoteExecutor`; what others still play is dropped. `say` gets remarks, or "". All openings of a file are read
    before the first game; the faulty ones are noted in `left_out`. Raises what a board or an opening raises, and
    WorkError.
    """
    remote = executor if isinstance(executor, RemoteExecutor) else None
    left_out = LeftOut() if left_out is None else left_out
    source = config.source(left_out) if config.openings else None
    end, seconds = (games + 1) // 2, 0.0  # that a pair takes, once one has been played

    def blocks() -> Iterator[PairBlock]:
        """The blocks, as they are asked for. Which pairs are in which block decides nothing.

        A remote worker gets enough pairs for BLOCK_SECONDS; towards the end fewer, so that all have something to do.
        """
        pair = first // 2
        while pair < end:
            count = 1
            if remote is not None and seconds:
                most = -(-(end - pair) // (2 * remote.slots))
                count = max(1, min(round(BLOCK_SECONDS / max(seconds, 1e-3)), most, MAX_PAIRS))
            pairs = range(pair, pair + count)
            numbers = tuple(tuple(range(max(2 * p, first), min(2 * p + 2, games))) for p in pairs)
            yield PairBlock(numbers, () if source is None else tuple(map(source.opening, pairs)))
            pair = pairs.stop

    with ExitStack() as stack:
        count = max(1, min(at_a_time, end - first // 2))
        workers = executor or stack.enter_context(threads(count))
        run = stack.enter_context(begun())
        if say is not None:
            for line in (*left_out.lines(), _repeats(config, games, source)):
                say(line)
        play = BlockPlayer(config, run)
        if remote is None:
            results = ordered(workers, play, blocks(), AHEAD * count)
        else:
            results = ordered(remote, play, blocks(), lambda: AHEAD * remote.slots, lambda: AT_ONCE * remote.slots)
        stack.enter_context(closing(results))
        if remote is not None:
            stack.callback(remote.stop, run)
        for played in results:
            seconds += (played.seconds - seconds) / (4 if seconds else 1)
            yield from played.games


def _repeats(config: MatchConfig, games: int, source: OpeningSource | None) -> str:
    """What to say of games that are the same as earlier ones, since their openings come again; "" if none are."""
    different = config.different_games(source)
    if different is None or different >= games:
        return ""
    has = f"'{config.openings}' has {counted(different // 2, 'opening')}"
    return f"{has}: the games from number {different + 1} on are those before once more, and prove nothing."
