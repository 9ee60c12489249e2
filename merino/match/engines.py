"""The two kinds of players on a board driven by Python: our own search in this process, and another engine."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol, cast

import chess
import chess.engine
import numpy as np

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import START_FEN
from merino.core.board.game import IllegalMoveError, Position
from merino.core.common.checks import abridged
from merino.core.common.quoting import in_one_line
from merino.engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, MAX_PLY, Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.strength import DEFAULT_ELO
from merino.engine.search.warmup import warm_up
from merino.match.errors import MatchError
from merino.match.games import Played, Reason
from merino.match.players import (
    HASH_OPTIONS,
    SETTINGS,
    SHARED,
    THREAD_OPTIONS,
    OtherPlayer,
    OwnPlayer,
    Player,
)
from merino.match.programs import Program, TimedUci, TimedXBoard
from merino.match.time_control import TimeControl

GRACE_SECONDS = 20.0  # after its time and margin have run out, until an engine that does not move counts as dead
UNTIMED_SECONDS = 600.0  # for a move at fixed nodes or depth
QUIT_SECONDS = 5.0  # to end when it is asked to
BOOK_OPTION = "OwnBook"

log = logging.getLogger(__name__)


class EngineFault(Exception):
    """Why a player loses its game: ILLEGAL, CRASH or RESIGNATION."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Situation(NamedTuple):
    """What a player is asked to move in."""

    position: Position
    board: chess.Board  # the same, with its history
    clocks: tuple[int, int] | None  # milliseconds left to White and Black
    moves_to_go: int | None = None  # of the side to move until time is added; None for the rest of the game


class EnginePlayer(Protocol):
    """A player of a game."""

    def new_game(self, number: int) -> None:
        """Forget the last game; the next has this number in its match. Raises EngineFault."""

    def choose(self, situation: Situation) -> Played:
        """A move for the side to move, with the time it took; raises EngineFault."""

    def stop(self) -> None:
        """Let `choose` return soon; called from another thread."""

    def close(self) -> None:
        """Leave the board."""


def start_engine(player: Player, time_control: TimeControl, stop_flag: np.ndarray, margin: int = 0) -> EnginePlayer:
    """Start a player, ready to play, whose moves may be late by `margin` milliseconds.

    Raises MatchError if it does not start, or if `stop_flag`, uint64[1], is set.
    """
    if isinstance(player, OwnPlayer):
        return OwnEngine(player, time_control)
    return OtherEngine(player, time_control, stop_flag, margin)


@dataclass
class Settable:
    """What the options of a player act on: its search, whose strength is limited where an Elo is given."""

    searcher: Searcher
    is_limited: bool = True
    elo: int = DEFAULT_ELO


class OwnEngine:
    """Our own search, on threads of this process."""

    def __init__(self, player: OwnPlayer, time_control: TimeControl) -> None:
        """Raises MatchError if there is not enough memory."""
        warm_up()  # so that no clock runs while code is loaded or compiled
        try:
            self.searcher = Searcher(
                player.hash_mb or time_control.hash_mb, player.threads, player.evaluation, player.parameters
            )
        except MemoryError as error:
            raise MatchError(f"not enough memory for the hash table of '{player.label}'") from error
        self.searcher.style = player.style
        settable = Settable(self.searcher)
        for word, value in player.settings.items():
            if word not in SHARED:  # which it has from the beginning
                SETTINGS[word].apply_to(settable, value)
        self._time_control = time_control

    def new_game(self, number: int) -> None:
        """Forget the last game. What is drawn by chance depends on the seed and the number of the game alone."""
        self.searcher.clear()
        if self.searcher.seed:
            self.searcher.random.seed(f"{self.searcher.seed} {number}")

    def choose(self, situation: Situation) -> Played:
        """The best move of a search."""
        time_control = self._time_control
        increment = time_control.clock.increment if time_control.clock else 0
        limits = Limits(
            depth=time_control.depth,
            nodes=time_control.nodes,
            movetime=time_control.movetime,
            time=situation.clocks or (None, None),
            increment=(increment, increment),
            moves_to_go=situation.moves_to_go,
        )
        began = time.perf_counter()
        result = self.searcher.search(situation.position, limits)
        seconds = time.perf_counter() - began
        if self.searcher.nodestime:
            seconds = self.searcher.planned / 1000
        if result.best is None or result.line is None:
            raise RuntimeError(f"the search finds no move in {situation.position.fen()}")
        return Played(result.best, int(result.line.score), result.line.depth, seconds)

    def stop(self) -> None:
        """End the search."""
        self.searcher.stop()

    def close(self) -> None:
        """End the search."""
        self.searcher.stop()


class OtherEngine:
    """Another engine, driven through python-chess. If it fails, it is restarted for the next game."""

    def __init__(self, player: OtherPlayer, time_control: TimeControl, stop_flag: np.ndarray, margin: int = 0) -> None:
        """Start it; raises MatchError if that fails. Once `stop_flag`, uint64[1], is set, it is not waited for.

        `margin` are milliseconds by which a move may be late.
        """
        self._player, self._time_control, self._stop_flag, self._margin = player, time_control, stop_flag, margin
        self._game = object()
        self._is_stopped = False
        self._program: Program | None = None
        try:
            self._engine: chess.engine.SimpleEngine | None = self._start()
        except EngineFault as fault:
            raise MatchError(f"'{player.label}' does not start: {fault}") from fault
        protocol = self._engine.protocol
        if time_control.nodes is not None and isinstance(protocol, TimedXBoard):
            hint = ""
            if not protocol.features.get("nps"):
                hint = "; use --tc, --movetime or --depth"
            elif time_control.is_timed:
                hint = " and by time at once; use one"
            if hint:
                self.close()
                raise MatchError(f"'{player.label}' cannot limit its search by nodes{hint}")

    def new_game(self, number: int) -> None:
        """Start another game, with a new process if the last one failed."""
        self._game = object()
        if self._engine is None:
            self._engine = self._start()
            if self._stop_flag[0]:  # `stop` may have come before there was an engine
                self._drop()
                raise EngineFault(Reason.CRASH, "the match is over")

    def choose(self, situation: Situation) -> Played:
        """Its move, checked for legality; raises EngineFault."""
        if self._engine is None or self._program is None:
            raise EngineFault(Reason.CRASH, "the engine does not run")
        protocol = cast(TimedUci | TimedXBoard, self._engine.protocol)
        self._check_start(protocol, situation.position)
        limit, seconds = self._limit(situation)
        watchdog = threading.Timer(seconds, self._program.end)  # its event loop then ends by itself
        watchdog.start()
        began = time.perf_counter()
        try:
            result = self._engine.play(
                situation.board, limit, game=self._game, info=chess.engine.INFO_SCORE | chess.engine.INFO_BASIC
            )
        except chess.engine.EngineTerminatedError as error:
            self._engine = None
            is_late = time.perf_counter() - began >= seconds
            reason = "no answer" if is_late else f"the engine ended: {self._program.fault or error}"
            raise EngineFault(Reason.CRASH, reason) from error
        except (chess.engine.EngineError, TimeoutError) as error:
            self._drop()  # it may have lost track of the game
            if error.args and isinstance(error.args[0], ValueError):
                raise EngineFault(Reason.ILLEGAL, str(error)) from error
            raise EngineFault(Reason.CRASH, str(error) or "no answer") from error
        finally:
            watchdog.cancel()
        return _played(situation, result, protocol.seconds)

    def _check_start(self, protocol: TimedUci | TimedXBoard, position: Position) -> None:
        """Raise MatchError if the engine cannot play games that begin so."""
        if isinstance(protocol, TimedXBoard) and not protocol.sets_up and position.start_fen() != START_FEN:
            raise MatchError(f"'{self._player.label}' cannot set up a position; omit --openings")
        if position.chess960 and not protocol.plays_chess960:
            raise MatchError(f"'{self._player.label}' does not play Chess960, as the openings ask for; use others")

    def stop(self) -> None:
        """End the process: the game is no longer wanted."""
        self._is_stopped = True
        if self._program is not None:
            self._program.end()

    def close(self) -> None:
        """Ask it to quit, and end it if it does not, at once where it was stopped."""
        if self._engine is None:
            return
        try:
            if not self._is_stopped:
                self._engine.timeout = QUIT_SECONDS
                self._engine.quit()
        except (chess.engine.EngineError, TimeoutError):
            pass  # it is ended in any case
        finally:
            self._engine.close()

    def _drop(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _start(self) -> chess.engine.SimpleEngine:
        player = self._player
        self._program = program = Program(TimedXBoard if player.speaks_xboard else TimedUci)
        # No engine ponders here; python-chess does not let that be said.
        asked = {name: value for name, value in player.options.items() if (name.lower(), value) != ("ponder", "false")}
        with program.ended_by(self._stop_flag):
            try:
                engine = program.start(player.command)
                _say_what_is_ignored(player.label, engine.protocol)
                engine.configure(engine_options(engine, player, self._time_control.other_hash_mb) | asked)
                engine.ping()
                engine.timeout = None  # python-chess would end a move a minute late, whatever its margin
            except (OSError, chess.engine.EngineError, TimeoutError) as error:
                program.end()
                raise EngineFault(Reason.CRASH, program.fault or str(error) or "no answer") from error
        return engine

    def _limit(self, situation: Situation) -> tuple[chess.engine.Limit, float]:
        """The limit for python-chess, and the seconds after which the engine counts as dead."""
        time_control = self._time_control
        limit = chess.engine.Limit(nodes=time_control.nodes, depth=time_control.depth, clock_id=self._game)
        seconds, grace = UNTIMED_SECONDS, self._margin / 1000 + GRACE_SECONDS
        if time_control.movetime is not None:
            limit.time = time_control.movetime / 1000
            seconds = limit.time + grace
        if time_control.clock is not None and situation.clocks is not None:
            limit.white_clock, limit.black_clock = (left / 1000 for left in situation.clocks)
            limit.white_inc = limit.black_inc = time_control.clock.increment / 1000
            limit.remaining_moves = situation.moves_to_go
            seconds = situation.clocks[situation.position.turn] / 1000 + grace
        return limit, seconds


def _played(situation: Situation, result: chess.engine.PlayResult, seconds: float) -> Played:
    if result.resigned:
        raise EngineFault(Reason.RESIGNATION, "the engine resigns")
    if result.move is None:
        raise EngineFault(Reason.ILLEGAL, "the engine gives no move")
    try:
        move = situation.position.parse_uci(situation.board.uci(result.move))
    except IllegalMoveError as error:
        raise EngineFault(Reason.ILLEGAL, str(error)) from error
    score = result.info.get("score")
    return Played(move, None if score is None else centipawns(score.relative), result.info.get("depth"), seconds)


def centipawns(score: chess.engine.Score) -> int:
    """The score on our scale: mates count in plies below MATE_SCORE, and nothing else is as high."""
    mate = 1 if score == chess.engine.MateGiven else score.mate()  # whose 0 moves are those of a side that is mated
    if mate is None:
        highest = MATE_IN_MAX_PLY - 1
        return max(-highest, min(score.score(mate_score=MATE_SCORE), highest))
    plies = min(2 * mate - 1 if mate > 0 else -2 * mate, MAX_PLY)
    return MATE_SCORE - plies if mate > 0 else plies - MATE_SCORE


def other(colour: int) -> int:
    """The opponent of WHITE or BLACK."""
    return BLACK if colour == WHITE else WHITE


def engine_options(
    engine: chess.engine.SimpleEngine, player: OtherPlayer, usual_hash: int
) -> dict[str, chess.engine.ConfigValue]:
    """The options that give an engine its hash and threads, and no book of its own.

    Where the player names none, the engine gets `usual_hash` or one thread, provided it has an option for it; what is
    beyond the bounds of the option is brought within them, with a warning. Raises EngineError if it lacks an option
    that was asked for.
    """
    found: dict[str, chess.engine.ConfigValue] = {}
    options, set_by_name = engine.options, {name.lower() for name in player.options}
    for what, names, asked, usual in (
        ("hash", HASH_OPTIONS, player.hash_mb, usual_hash),
        ("threads", THREAD_OPTIONS, player.threads, 1),
    ):
        known = [name for name in names if name in options]
        if asked is not None and not known:
            raise chess.engine.EngineError(f"it has no option for {what}")
        for name in known:
            if asked is not None:
                found[name] = asked
            elif name.lower() not in set_by_name:
                found[name] = _within_bounds(player.label, options[name], usual)
    return found | ({BOOK_OPTION: False} if BOOK_OPTION in options else {})


def _within_bounds(label: str, option: chess.engine.Option, usual: int) -> int:
    """The usual value of an option, or the nearest that it takes; that is said."""
    value = usual if option.min is None else max(option.min, usual)
    value = value if option.max is None else min(option.max, value)
    if value != usual:
        _say_once(f"'{label}' plays with {option.name} = {value}, since it does not take {usual}")
    return value


def _say_what_is_ignored(label: str, protocol: chess.engine.Protocol) -> None:
    lines = protocol.ignored if isinstance(protocol, TimedUci | TimedXBoard) else []
    if lines:
        first, more = in_one_line(abridged(lines[0])), f" and {len(lines) - 1} more" if lines[1:] else ""
        _say_once(f"'{label}' announces options that are none and are ignored: '{first}'{more}")


@cache
def _say_once(sentence: str) -> None:
    """Warn, however many boards start the same engine."""
    log.warning(sentence)
