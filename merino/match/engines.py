"""The players of games and the boards that they play on.

Two players of our own play compiled games in this process. For other engines, driven through python-chess, and for
games on a clock, a board is driven by Python move by move.
"""

import logging
import math
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, cast

import chess
import chess.engine
import numpy as np

from merino.core.board import bitboard, fen
from merino.core.board.game import IllegalMoveError, Position
from merino.core.board.move import Move
from merino.engine.search import iterative_deepening, limits, strength, transposition, warmup
from merino.engine.search.searcher import Searcher
from merino.engine.search.worker import Worker
from merino.formats.openings import Opening
from merino.match import config, games, players
from merino.match.games import Game, MatchError, Played, Reason

# Engines print much; what matters becomes a fault with its reason, and the live line stays intact.
logging.getLogger("chess.engine").setLevel(logging.CRITICAL)
logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of a program that ends after its event loop

START_SECONDS = 60.0  # for another engine to answer when it starts
GRACE_SECONDS = 20.0  # after its time and margin have run out, until an engine that does not move counts as dead
UNTIMED_SECONDS = 600.0  # for a move at fixed nodes or depth
QUIT_SECONDS = 5.0  # to end when it is asked to
NO_ANSWER = "no answer; perhaps it speaks UCI only with an option, such as --uci, or XBoard (xboard:COMMAND)"
# Commands of XBoard without which an engine plays all the same, and how it says that it does not know one.
NOT_NEEDED = ("accepted", "rejected", "random", "computer", "post", "nopost", "easy", "hard", "time", "otim")
_UNKNOWN = re.compile(r"\s*Error\s*\([^()]*\)\s*:\s*(\w+)")
GUESSED = ("memory", "cores")  # options of XBoard whose value is not announced; python-chess takes one for theirs


class Program:
    """The program of an engine, which can be ended at any time, also while it starts."""

    def __init__(self, kind: type[chess.engine.Protocol]) -> None:
        self._kind = kind
        self._protocol: chess.engine.Protocol | None = None
        self._has_ended = False

    def start(self, command: Sequence[str]) -> chess.engine.SimpleEngine:
        """The engine, once it has answered; raises OSError, EngineError and TimeoutError.

        It has a process group of its own, so that a Ctrl-C meant for the match does not end the engine first.
        """
        kind = cast(type[chess.engine.Protocol], self)  # python-chess asks it for `popen` alone
        try:
            return chess.engine.SimpleEngine.popen(kind, list(command), timeout=START_SECONDS, setpgrp=True)
        except BaseException:
            self.end()
            raise

    async def popen(self, command: list[str], **settings: Any) -> tuple[Any, chess.engine.Protocol]:
        """What the class of the protocol does, with a note of it for `end`."""
        transport, protocol = await self._kind.popen(command, **settings)
        self._protocol = protocol
        if self._has_ended:
            self.end()
        return transport, protocol

    def quit(self, engine: chess.engine.SimpleEngine) -> None:
        """Ask the engine that was started to quit, and end it in any case."""
        with suppress(chess.engine.EngineError, TimeoutError):
            engine.timeout = QUIT_SECONDS
            engine.quit()
        self.end()
        engine.close()

    def end(self) -> None:
        """End it and what it has started, now or as soon as it runs; from any thread, and more than once."""
        self._has_ended = True
        protocol, self._protocol = self._protocol, None  # later its number may be another program's
        if protocol is not None and protocol.transport is not None:
            if sys.platform != "win32":
                with suppress(ProcessLookupError, PermissionError):  # nobody of its group runs any more
                    os.killpg(protocol.transport.get_pid(), signal.SIGKILL)
            with suppress(RuntimeError):  # its event loop is closed, and so is the program
                protocol.loop.call_soon_threadsafe(protocol.transport.close)


class _Engine(chess.engine.Protocol):
    """What both protocols have in common here.

    The time of each move is measured from the line `go` to the line with the move. That excludes what comes before,
    such as `ucinewgame` and clearing the hash, and the time until this process learns of an answer on another thread.

    What an engine announces when it starts and python-chess does not take as an option or feature is ignored, as GUIs
    do; python-chess would reject the engine for it.
    """

    began = ended = 0.0
    announces, answer = "option", "bestmove"

    @property
    def seconds(self) -> float:
        """The time of the last move."""
        return self.ended - self.began

    def send_line(self, line: str) -> None:
        """Send a line; `go` starts the watch."""
        if line.partition(" ")[0] == "go":
            self.began = time.perf_counter()
        super().send_line(line)

    def _line_received(self, line: str) -> None:
        """Receive a line; a move stops the watch, and options are learned while the protocol is agreed on."""
        word = line.split(None, 1)[:1]
        if word == [self.answer]:
            self.ended = time.perf_counter()
        if word == [self.announces] and not self.initialized and self.command is not None:
            for announced in self.announcements(line):
                with suppress(chess.engine.EngineError, ValueError, LookupError):
                    self.command.line_received(announced)
        else:
            super()._line_received(line)

    def announcements(self, line: str) -> list[str]:
        """What a line announces, each in a line of its own."""
        return [line]


class TimedUci(_Engine, chess.engine.UciProtocol):
    """UCI."""

    @property
    def plays_chess960(self) -> bool:
        """Whether it says so."""
        return "UCI_Chess960" in self.options


class TimedXBoard(_Engine, chess.engine.XBoardProtocol):
    """The XBoard protocol, version 2; an engine without `setboard` can play from the first position."""

    announces, answer = "feature", "move"
    sets_up = True

    @property
    def counts_nodes(self) -> bool:
        """Whether it says that it can limit its search by nodes."""
        return bool(self.features.get("nps"))

    @property
    def plays_chess960(self) -> bool:
        """Whether it says so."""
        return "fischerandom" in str(self.features.get("variants", "")).split(",")

    async def initialize(self) -> None:
        """Agree on the protocol; raises EngineError. Options whose value is not known are sent, whatever it is."""
        await super().initialize()
        for name in GUESSED:
            self.config.pop(name, None)

    def _line_received(self, line: str) -> None:
        unknown = _UNKNOWN.match(line)
        if not unknown or unknown[1] not in NOT_NEEDED:
            super()._line_received(line)

    def announcements(self, line: str) -> list[str]:
        """See `_Engine`; an engine that cannot set up a position is to python-chess like one that can."""
        try:
            features = shlex.split(line)[1:]
        except ValueError:  # quotation marks without an end
            return []
        self.sets_up &= "setboard=0" not in features
        return [f"feature {shlex.quote(feature.replace('setboard=0', 'setboard=1'))}" for feature in features]


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


@dataclass
class Settable:
    """What the options of a player act on: its search, whose strength is limited where an Elo is given."""

    searcher: Searcher
    is_limited: bool = True
    elo: int = strength.DEFAULT_ELO


class OwnEngine:
    """Our own search, on threads of this process."""

    def __init__(self, player: players.OwnPlayer, time_control: config.TimeControl) -> None:
        """Raises MatchError if there is not enough memory."""
        warmup.warm_up()  # so that no clock runs while code is loaded or compiled
        self._time_control, hash_mb = time_control, player.hash_mb or time_control.hash_mb
        try:
            self.searcher = Searcher(hash_mb, player.threads, player.evaluation, player.parameters)
        except MemoryError as error:
            raise MatchError(f"not enough memory for the hash table of '{player.label}'") from error
        settable = Settable(self.searcher)
        for word, value in player.settings.items():
            if word not in players.SHARED:  # which it has from the beginning
                players.SETTINGS[word].apply_to(settable, value)

    def new_game(self, number: int) -> None:
        """Forget the last game. What is drawn by chance depends on the seed and the number of the game alone."""
        self.searcher.clear()
        if self.searcher.seed:
            self.searcher.random.seed(f"{self.searcher.seed} {number}")

    def choose(self, situation: Situation) -> Played:
        """The best move of a search."""
        control, clocks = self._time_control, situation.clocks or (None, None)
        increment = (control.clock.increment if control.clock else 0,) * 2
        limit = limits.Limits(
            depth=control.depth,
            nodes=control.nodes,
            movetime=control.movetime,
            time=clocks,
            increment=increment,
            moves_to_go=situation.moves_to_go,
        )
        began = time.perf_counter()
        result = self.searcher.search(situation.position, limit)
        seconds = self.searcher.planned / 1000 if self.searcher.nodestime else time.perf_counter() - began
        if result.best is None or result.line is None:
            raise RuntimeError(f"the search finds no move in {situation.position.fen()}")
        return Played(result.best, int(result.line.score), result.line.depth, seconds)

    def stop(self) -> None:
        """End the search."""
        self.searcher.stop()

    close = stop


class OtherEngine:
    """Another engine, driven through python-chess. It starts with its first game, and again after it has failed."""

    def __init__(self, player: players.OtherPlayer, time_control: config.TimeControl, margin: int = 0) -> None:
        """`margin` are milliseconds by which a move may be late."""
        self._player, self._time_control, self._margin = player, time_control, margin
        self._game = object()
        self._has_played = self._is_stopped = False
        self._program = self._new_program()
        self._engine: chess.engine.SimpleEngine | None = None

    def new_game(self, number: int) -> None:
        """Begin another game, with a new process if the last one failed.

        Raises EngineFault, and MatchError if the engine cannot play its first game.
        """
        self._game = object()
        if self._engine is None:
            try:
                self._engine = self._start()
            except EngineFault as fault:
                if self._has_played or self._is_stopped:
                    raise
                raise MatchError(f"'{self._player.label}' does not start: {fault}") from fault
        self._has_played = True

    def choose(self, situation: Situation) -> Played:
        """Its move, checked for legality; raises EngineFault."""
        if self._engine is None:
            raise EngineFault(Reason.CRASH, "the engine does not run")
        protocol = cast(TimedUci | TimedXBoard, self._engine.protocol)
        self._check_start(protocol, situation.position)
        limit, seconds = self._limit(situation)
        watchdog = threading.Timer(seconds, self._program.end)  # its event loop then ends by itself
        watchdog.start()
        began, info = time.perf_counter(), chess.engine.INFO_SCORE | chess.engine.INFO_BASIC
        try:
            result = self._engine.play(situation.board, limit, game=self._game, info=info)
        except (chess.engine.EngineError, TimeoutError) as error:
            self._engine = None  # it may have lost track of the game
            self._program.end()
            if isinstance(error, chess.engine.EngineTerminatedError):
                is_late = time.perf_counter() - began >= seconds
                raise EngineFault(Reason.CRASH, "no answer" if is_late else f"the engine ended: {error}") from error
            is_illegal = bool(error.args) and isinstance(error.args[0], ValueError)
            raise EngineFault(Reason.ILLEGAL if is_illegal else Reason.CRASH, str(error) or "no answer") from error
        finally:
            watchdog.cancel()
        return _played(situation, result, protocol.seconds)

    def _check_start(self, protocol: TimedUci | TimedXBoard, position: Position) -> None:
        """Raise MatchError if the engine cannot play games that begin so."""
        if isinstance(protocol, TimedXBoard) and not protocol.sets_up and position.start_fen() != fen.START_FEN:
            raise MatchError(f"'{self._player.label}' cannot set up a position; omit --openings")
        if position.chess960 and not protocol.plays_chess960:
            raise MatchError(f"'{self._player.label}' does not play Chess960, as the openings ask for; use others")

    def stop(self) -> None:
        """End the process, also while it starts: the game is no longer wanted. From any thread."""
        self._is_stopped = True
        self._program.end()

    def close(self) -> None:
        """Ask it to quit, and end it if it does not; one that was stopped is ended already."""
        if self._engine is not None:
            self._program.quit(self._engine)

    def _new_program(self) -> Program:
        return Program(TimedXBoard if self._player.speaks_xboard else TimedUci)

    def _start(self) -> chess.engine.SimpleEngine:
        """The engine, ready to play; raises EngineFault, and MatchError where it cannot play as asked."""
        player = self._player
        self._program = program = self._new_program()
        if self._is_stopped:  # maybe before there was this program
            program.end()
        engine = start(program, player, self._time_control.other_hash_mb)
        control, protocol = self._time_control, engine.protocol
        if control.nodes and isinstance(protocol, TimedXBoard) and (control.is_timed or not protocol.counts_nodes):
            engine.close()
            raise MatchError(f"'{player.label}' cannot limit its search so; use --tc, --movetime or --depth alone")
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
            seconds = situation.clocks[situation.position.side] / 1000 + grace
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
        highest = limits.MATE_IN_MAX_PLY - 1
        return max(-highest, min(score.score(mate_score=limits.MATE_SCORE), highest))
    plies = min(2 * mate - 1 if mate > 0 else -2 * mate, limits.MAX_PLY)
    return limits.MATE_SCORE - plies if mate > 0 else plies - limits.MATE_SCORE


def start(program: Program, player: players.OtherPlayer, usual_hash: int) -> chess.engine.SimpleEngine:
    """The engine of a player, started and ready, with its options; raises EngineFault."""
    try:
        engine = program.start(player.command)
        # No engine ponders here; python-chess does not let that be said. It keeps a default over another spelling.
        names = {name.lower(): name for name in engine.options}
        asked = {names.get(name.lower(), name): value for name, value in player.options.items()}
        if str(asked.get("Ponder", "")).lower() == "false":
            del asked["Ponder"]
        engine.configure(engine_options(engine, player, usual_hash) | asked)
        engine.ping()
    except (OSError, chess.engine.EngineError, TimeoutError) as error:
        program.end()
        raise EngineFault(Reason.CRASH, str(error) or NO_ANSWER) from error
    engine.timeout = None  # python-chess would end a move a minute late, whatever its margin
    return engine


def engine_options(
    engine: chess.engine.SimpleEngine, player: players.OtherPlayer, usual_hash: int
) -> dict[str, chess.engine.ConfigValue]:
    """The options that give an engine its hash and threads, and no book of its own.

    Where the player names none, the engine gets `usual_hash` or one thread as far as it has an option that takes it.
    Raises EngineError if it lacks an option that was asked for.
    """
    options, set_by_name = engine.options, {name.lower() for name in player.options}
    found: dict[str, chess.engine.ConfigValue] = {"OwnBook": False} if "OwnBook" in options else {}
    for what, names, asked, usual in (
        ("hash", players.HASH_OPTIONS, player.hash_mb, usual_hash),
        ("threads", players.THREAD_OPTIONS, player.threads, 1),
    ):
        known = [name for name in names if name in options]
        if asked is not None and not known:
            raise chess.engine.EngineError(f"it has no option for {what}")
        for name in known:
            if asked is not None:
                found[name] = asked
            elif name.lower() not in set_by_name:
                found[name] = min(max(usual, options[name].min or 0), options[name].max or usual)
    return found


class CompiledBoard:
    """Two search records that play each other; one for both sides if a player plays itself: it clears half the memory.

    One thread at a time may use it.
    """

    def __init__(
        self,
        sides: tuple[players.OwnPlayer, players.OwnPlayer],
        time_control: config.TimeControl,
        adjudication: config.Adjudication,
        stop_flag: np.ndarray,
        random_moves: config.RandomMoves = config.NO_RANDOM_MOVES,
    ) -> None:
        """`stop_flag`, uint64[1], ends a game soon after it is set. Raises MatchError if there is not enough memory."""
        self._seed, self._rules = random_moves.seed, rules_record(time_control, adjudication, random_moves)
        self._sides: list[tuple[transposition.TranspositionTable, Worker]] = []
        for player in sides[:1] if sides[0] is sides[1] else sides:
            try:
                table = transposition.TranspositionTable(player.hash_mb or time_control.hash_mb)
            except MemoryError as error:
                raise MatchError("not enough memory for the hash tables of a match") from error
            self._sides.append((table, Worker(table, stop_flag, player.evaluation, player.parameters)))

    def stop(self) -> None:
        """The stop flag is all that is needed."""

    close = stop

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped. Nothing is kept from earlier games."""
        for table, worker in self._sides:
            worker.forget()
            table.clear()
        records = [worker.record for _, worker in (self._sides[0], self._sides[-1])]
        white, black = records if first_is_white else records[::-1]
        start = opening.position()
        known = len(start.keys)
        keys = np.zeros(known + games.MAX_PLIES, dtype=np.uint64)
        keys[:known] = start.keys
        moves, scores, depths = np.zeros((3, games.MAX_PLIES), dtype=np.int32)
        positions, state = np.repeat(start.record, 2), games.seed_state(self._seed, number)
        count, code = games.play_game(white, black, positions, self._rules, state, keys, known, moves, scores, depths)
        if code not in games.BY_NUMBER:
            return None
        reason = games.BY_NUMBER[code]
        played = tuple(Played(Move(moves[i]), int(scores[i]), int(depths[i])) for i in range(count))
        winner = winner_of(reason, int(positions[0]["side"]), int(scores[count - 1]) if count else 0)
        return Game(number, first_is_white, opening, played, reason, winner)


def rules_record(
    time_control: config.TimeControl,
    adjudication: config.Adjudication,
    random_moves: config.RandomMoves = config.NO_RANDOM_MOVES,
) -> np.ndarray:
    """The rules of a game for compiled code, GAME_RULES[1]."""
    rules = np.zeros(1, dtype=games.GAME_RULES)
    rules[0]["nodes"] = iterative_deepening.NO_LIMIT if time_control.nodes is None else time_control.nodes
    rules[0]["depth"] = min(limits.MAX_PLY - 1, time_control.depth or limits.MAX_PLY)
    rules[0]["early"], rules[0]["early_loss"] = random_moves.early, random_moves.early_loss
    for name, value in asdict(adjudication).items():
        rules[0][name] = value
    return rules


def winner_of(reason: Reason, to_move: int, last_score: int) -> int | None:
    """The winner of a game; `last_score` is the score of the side that moved last."""
    if reason is Reason.CHECKMATE or reason is Reason.WIN_BY_SCORE and last_score > 0:
        return 1 - to_move
    return to_move if reason is Reason.WIN_BY_SCORE else None


def engine_of(player: players.Player, time_control: config.TimeControl, margin: int) -> OwnEngine | OtherEngine:
    """What plays for a player, whose moves may be late by `margin` milliseconds; raises MatchError."""
    if isinstance(player, players.OwnPlayer):
        return OwnEngine(player, time_control)
    return OtherEngine(player, time_control, margin)


class PythonBoard:
    """Two players of any kind. Only one thread at a time may use it, except for `stop`."""

    def __init__(
        self,
        sides: Sequence[players.Player],
        time_control: config.TimeControl,
        adjudication: config.Adjudication,
        stop_flag: np.ndarray,
        margin: int = 0,
    ) -> None:
        """`margin`: milliseconds by which a move may be late. Raises MatchError."""
        self.time_control, self.longest, self.margin = time_control, adjudication.longest, margin
        self.rules, self.stop_flag = rules_record(time_control, adjudication), stop_flag
        self._sides = [engine_of(player, time_control, margin) for player in sides]

    def play(self, number: int, opening: Opening, first_is_white: bool) -> Game | None:
        """Play a game; None if it was stopped. Raises MatchError for an engine that cannot play as asked."""
        game = _GameInPlay(self, opening, self._sides if first_is_white else self._sides[::-1])
        try:
            end = game.run(number)
        except MatchError:
            if not self.stop_flag[0]:
                raise
        if self.stop_flag[0]:
            return None
        return Game(number, first_is_white, opening, tuple(game.played), *end)

    def stop(self) -> None:
        """End the current game soon; the stop flag is already set. Called from another thread."""
        for side in self._sides:
            side.stop()

    def close(self) -> None:
        """Close the players; no game follows."""
        for side in self._sides:
            side.close()


class _GameInPlay:
    """A game in progress on a board. `sides` are White's and Black's players."""

    def __init__(self, on: PythonBoard, opening: Opening, sides: list[OwnEngine | OtherEngine]) -> None:
        self._on, self._clock, self._sides = on, on.time_control.clock, sides
        self._position = opening.position()
        self._board = self._position.to_chess()
        self._left = [float(self._clock.base if self._clock else 0)] * 2  # milliseconds of each side
        self._made = [0, 0]  # moves by each side since the opening
        self.played: list[Played] = []

    def run(self, number: int) -> tuple[Reason, int | None, str]:
        """Play the game of this number; returns the reason of its end, the winner, and any fault.

        Where the stop flag is set, what it returns means nothing.
        """
        turn = bitboard.WHITE
        try:
            for turn in (bitboard.WHITE, bitboard.BLACK):
                self._sides[turn].new_game(number)
            while (reason := self._end()) is None:
                turn = self._position.side
                late = self._move(turn)
                if late or self._on.stop_flag[0]:
                    return Reason.TIME, 1 - turn, f"{math.ceil(late)} ms late"
        except EngineFault as fault:
            return fault.reason, 1 - turn, str(fault)
        last_score = self.played[-1].score if self.played else None
        return reason, winner_of(reason, self._position.side, last_score or 0), ""

    def _move(self, turn: int) -> float:
        """Let the side to move play; returns by how many milliseconds it was late, 0 within the margin."""
        clock, movetime = self._clock, self._on.time_control.movetime
        clocks, moves_to_go, allowed = None, None, math.inf if movetime is None else movetime
        if clock is not None:
            self._left[turn] = allowed = min(self._left[turn] + clock.increment, limits.MAX_MS)
            clocks, moves_to_go = (int(self._left[0]), int(self._left[1])), clock.moves_to_go(self._made[turn])
        played = self._sides[turn].choose(Situation(self._position, self._board, clocks, moves_to_go))
        used = 1000 * (played.seconds or 0.0)
        self._made[turn] += 1
        if used - allowed > self._on.margin:
            return used - allowed
        if clock is not None:
            self._left[turn] = min(max(0.0, allowed - used) + clock.added_after(self._made[turn]), limits.MAX_MS)
        self.played.append(played)
        self._position.push(played.move)
        self._board.push(Move(played.move).to_chess(self._position.chess960))
        return 0.0

    def _end(self) -> Reason | None:
        """Why the game is over: by the rules, by the scores, or by its length."""
        outcome = self._position.outcome()
        if outcome is not None:
            return Reason(outcome.termination.value)
        unscored = [number for number, move in enumerate(self.played) if move.score is None]
        scores = [move.score for move in self.played[unscored[-1] + 1 if unscored else 0 :]]
        code = games.judge_scores(self._on.rules, np.array(scores, dtype=np.int32), self._position.fullmove_number)
        if code != games.UNFINISHED:
            return games.BY_NUMBER[code]
        return Reason.TOO_LONG if len(self.played) >= self._on.longest else None


Board = CompiledBoard | PythonBoard


def board_of(match: config.MatchConfig, stop_flag: np.ndarray) -> Board:
    """A board with the players of a match at it; `stop_flag`, uint64[1], ends its games. Raises MatchError."""
    first, second = match.players
    if match.is_compiled and isinstance(first, players.OwnPlayer) and isinstance(second, players.OwnPlayer):
        return CompiledBoard((first, second), match.time_control, match.adjudication, stop_flag, match.random_moves)
    return PythonBoard(match.players, match.time_control, match.adjudication, stop_flag, match.margin)
