"""The start of the engine: the answers to a GUI while it is loaded, and on the first start on a machine compiled.

Compiling takes longer than a GUI waits for `readyok`, and longer than some clocks allow. So `readyok` comes after some
seconds in any case, and a `go` whose clock cannot wait is answered by a look two plies ahead with python-chess. Once it
is compiled, the code is in the cache and later starts are warm: on those a move is searched by the engine unless the
clock would fall first, as on a machine with far too much to do. The cache decides which start this is, never the time
that it takes.

Later an evaluation that an option names may have to be compiled, too: a `go` waits for that as long as its clock
allows, and is then searched with the evaluation in use. A `go` waits on a thread of its own, so that the GUI is heard
meanwhile. Imports nothing heavy.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from merino.core.common.threads import OneThread
from merino.engine.search.limits import Limits
from merino.engine.uci.go import parse_go
from merino.engine.uci.output import Output

if TYPE_CHECKING:
    import chess

READY_SECONDS = 7.0  # from a cold start to `readyok` at the latest; GUIs wait ten to fifteen
WARM_READY_SECONDS = 8.0  # from `isready` to `readyok` at the latest, if loading compiled code takes so long
CLOCK_SHARE = 0.1  # of the time left, that may be spent waiting for the compiler, or is kept where code is only loaded
FAST_CLOCK_SECONDS = 10.0  # left on a clock that does not last until all is compiled: waiting would only lose it
STOPPED_SECONDS = 4.0  # that a `go` still waits after `stop` where code is only loaded
QUICK_SECONDS = 0.3  # for a move without the engine, if the clock allows that
QUICK_SHARE = 1 / 40  # of the time left, at most
_SPARE = 2 * QUICK_SECONDS  # kept for a move without the engine
_READING_SHARE = 0.25  # of a wait, after which python-chess gets ready: on a slow machine that takes seconds, too
_POLL_SECONDS = 0.02  # between two looks at what may end a wait for the engine
_NEWS = "compiling for this machine (once, about half a minute)"

_VALUES = (0, 100, 320, 330, 500, 950, 0)  # by chess.PieceType
_KING = 6
_MAX_SCORE = 9999  # of a mate; the others are less
_CENTRE = [6 - abs(2 * (square & 7) - 7) // 2 - abs(2 * (square >> 3) - 7) // 2 for square in range(64)]


class WaitingGo:
    """A `go` that waits for the engine. `position` is the text of a position that the engine has not received yet."""

    def __init__(self, text: str, position: str | None) -> None:
        self.text, self.position = text, position
        self.limits = parse_go(text.split(), lambda move: None).limits
        self.began = time.perf_counter()  # from then on its clock runs
        self.stopped = threading.Event()  # by `stop`, or because it may not wait any longer
        self.is_ponder_hit = False  # the move that it ponders on was played
        self.is_waiting = True

    def stop(self) -> None:
        """Let it be answered soon."""
        if not self.stopped.is_set():
            self.limits, self.began = Limits(movetime=int(1000 * (STOPPED_SECONDS + _SPARE))), time.perf_counter()
            self.stopped.set()

    def ponder_hit(self) -> None:
        """Note that the move was played that it ponders on: it is a `go` without `ponder` that comes now."""
        if self.limits.ponder:
            self.is_ponder_hit, self.began = True, time.perf_counter()
            self.text = " ".join(word for word in self.text.split() if word.lower() != "ponder")
            self.limits = replace(self.limits, ponder=False)


class ColdStart:
    """Answers `isready`, `position` and `go` until `loaded` is set.

    The thread that loads the engine calls `begin` as soon as something must be compiled. `is_prepared` says whether the
    evaluation that options name is ready, too, now or before so many seconds are over.
    """

    def __init__(
        self, output: Output, loaded: threading.Event, is_prepared: Callable[[float], bool] = lambda seconds: True
    ) -> None:
        self._output, self._loaded, self._is_prepared = output, loaded, is_prepared
        self.is_cold = False
        self._news = _NEWS  # to say once
        self._began = time.perf_counter()
        self._position, self._chess960 = "startpos", False
        self._is_new = False  # whether the engine has not received that position
        self._go: WaitingGo | None = None  # the last one
        self._answers = OneThread("cold start")

    def begin(self) -> None:
        """Say that something that play needs must be compiled: this start is cold for good."""
        self.is_cold = True

    def is_ready(self, seconds: float = 0) -> bool:
        """Whether the engine is loaded with the evaluation that options name, now or before this time is over."""
        return self._loaded.wait(seconds) and self._is_prepared(seconds)

    def wait_until_ready(self) -> None:
        """Wait until the engine is loaded, or for as long as a GUI can be made to wait."""
        deadline = time.perf_counter() + WARM_READY_SECONDS
        while not self.is_ready(_POLL_SECONDS) and time.perf_counter() < deadline:
            if self.is_cold:
                self._say_what_takes_long()
                deadline = self._began + READY_SECONDS

    def position(self, text: str, chess960: bool = False) -> None:
        """Note a position for `go`, or for the engine when it is loaded."""
        self._position, self._chess960, self._is_new = text, chess960, True

    def take_position(self) -> str | None:
        """The position that the engine has not received yet."""
        text = self._position if self._is_new else None
        self._is_new = False
        return text

    def go(self, text: str, hand_over: Callable[[WaitingGo], None]) -> None:
        """Hand a `go` over once the engine is ready.

        If something is compiled and it is not ready in time, the `go` is handed over with the evaluation that is in
        use, or answered by a quick move if there is no engine.
        """
        self.stop()
        go = self._go = WaitingGo(text, self.take_position())
        self._answers.run(partial(self._play, go, self._position, hand_over))

    @property
    def is_waiting(self) -> bool:
        """Whether a `go` waits for the engine."""
        return self._go is not None and self._go.is_waiting

    def stop(self) -> None:
        """Answer the current `go` now, and wait until that is done."""
        self.stop_waiting()
        self.wait()

    def stop_waiting(self) -> None:
        """Answer the current `go` now; where code is only loaded, let the engine do so if it is soon there."""
        if self._go is not None:
            self._go.stop()

    def ponder_hit(self) -> None:
        """Note that the move was played that the current `go` ponders on: its clock runs from now on."""
        if self._go is not None:
            self._go.ponder_hit()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the current `go`, if any, is answered or handed over, but not longer than this."""
        self._answers.wait(seconds)

    def _play(self, go: WaitingGo, position: str, hand_over: Callable[[WaitingGo], None]) -> None:
        """Answer a `go` in this position."""
        board: chess.Board | ValueError | None = None
        reading = 0.0  # seconds that it took to read the position
        while not self.is_ready():
            self._say_what_takes_long()
            longest = _longest_wait(go, position, self.is_cold, self._loaded.is_set())
            now = time.perf_counter()
            if board is None and not self._loaded.is_set() and now - go.began >= _READING_SHARE * longest:
                board = _read_board(position, self._chess960)
                reading = time.perf_counter() - now
            elif now - go.began >= longest - reading:
                break
            else:
                self.is_ready(_POLL_SECONDS)
        go.is_waiting = False
        if self._loaded.is_set():
            hand_over(go)
            return
        self._is_new = self._is_new or go.position is not None
        if isinstance(board, ValueError):
            self._output.error(f"position: {board}")
            self._output.say("bestmove (none)")
        elif board is not None:
            self._output.say(*_quick_answer(board, position, go))

    def _say_what_takes_long(self) -> None:
        if self.is_cold and self._news:
            self._output.info(self._news)
            self._news = ""


def _read_board(position: str, chess960: bool) -> chess.Board | ValueError:
    """The position for python-chess, with castling in the style of the engine, or what is wrong with it."""
    import chess  # noqa: PLC0415 (needed only while no engine is loaded)

    words = position.split()
    moves_at = words.index("moves") if "moves" in words else len(words)
    fen = " ".join(words[1:moves_at]) if words[:1] == ["fen"] else chess.STARTING_FEN
    try:
        board = chess.Board(fen, chess960=True)
        board.castling_rights = board.clean_castling_rights()  # as the engine reads a FEN, which drops what is moot
        board.chess960 = chess960 or board.has_chess960_castling_rights()
        if not board.has_legal_en_passant():
            board.ep_square = None
        for move in words[moves_at + 1 :]:
            if not board.push_uci(_small_promotion(move)):
                raise ValueError(f"'{move}' is no move like e2e4 or e7e8q")
        if not board.is_valid():
            raise ValueError("it is not legal")
    except ValueError as error:
        return error
    return board


def _quick_answer(board: chess.Board, position: str, go: WaitingGo) -> list[str]:
    """The lines that answer a `go` without the engine."""
    began = time.perf_counter()
    words = set(map(_small_promotion, go.text.split()))
    allowed = [move for move in board.legal_moves if board.uci(move) in words]
    left = _time_left(go.limits, position)
    share = QUICK_SHARE if go.limits.movetime is None else 1 / 2
    found = quick_move(board, began + min(QUICK_SECONDS, share * left), allowed)
    if found is None:
        return [f"info depth 0 score {'mate 0' if board.is_check() else 'cp 0'}", "bestmove (none)"]
    move, spent = board.uci(found.move), int(1000 * (time.perf_counter() - began))
    return [f"info depth {found.depth} score cp {found.score} time {spent} pv {move}", f"bestmove {move}"]


def _longest_wait(go: WaitingGo, position: str, is_cold: bool, is_loaded: bool) -> float:
    """The seconds from its beginning on that a `go` may wait for the engine."""
    if go.stopped.is_set() and (is_cold or is_loaded):
        return 0.0
    left = _time_left(go.limits, position)
    if is_cold and go.limits.movetime is None and left < math.inf:
        return CLOCK_SHARE * left if left >= FAST_CLOCK_SECONDS else 0.0
    return left - max(_SPARE, CLOCK_SHARE * left) if left < math.inf else left


def _time_left(limits: Limits, position: str) -> float:
    """The seconds that the side to move has when the clock of its `go` starts; for ever without one."""
    words = position.split()
    moves = len(words) - words.index("moves") - 1 if "moves" in words else 0
    clock = limits.time[(moves + (words[2:3] == ["b"])) % 2]
    milliseconds = clock if limits.movetime is None else limits.movetime
    return math.inf if milliseconds is None or limits.ponder or limits.infinite else milliseconds / 1000


def _small_promotion(move: str) -> str:
    """A move with the small letter of a promotion, which some GUIs send as a capital."""
    return move[:4] + move[4:].lower()


class QuickMove(NamedTuple):
    """A move, its score in centipawns for the side to move, and the depth of the search in plies."""

    move: chess.Move
    score: int
    depth: int


def quick_move(board: chess.Board, deadline: float, allowed: list[chess.Move] | None = None) -> QuickMove | None:
    """The best of the legal moves, or of those `allowed` if any; None if there is none.

    By material and centre after the best capture in reply, of as many moves as it can look at before `deadline`
    (time.perf_counter), the most promising first. It sees a mate in one however little time it has.
    """
    moves = sorted(allowed or board.legal_moves, key=lambda move: (board.san(move)[-1] != "#", -_gain(board, move)))
    pieces = board.piece_map().values()
    material = sum(_VALUES[each.piece_type] * (1 if each.color == board.turn else -1) for each in pieces)
    if not moves:
        return None
    found = QuickMove(moves[0], material, 0)
    for move in moves:
        if time.perf_counter() > deadline:
            break
        score = material + _gain(board, move)
        board.push(move)
        if board.is_checkmate():
            score = _MAX_SCORE
        elif board.is_game_over() or board.is_repetition(2):
            score = 0
        else:
            replies = board.generate_legal_captures()
            score -= max([0, *(_gain(board, reply) - _risk(board, reply) for reply in replies)])  # or no capture
        board.pop()
        if not found.depth or score > found.score:
            found = QuickMove(move, score, 2)
    return found


def _gain(board: chess.Board, move: chess.Move) -> int:
    """What a move wins at once for who makes it, in centipawns."""
    victim, moved = board.piece_type_at(move.to_square), board.piece_type_at(move.from_square)
    gain = _VALUES[victim or 0] + _VALUES[move.promotion or 0]
    return gain if moved == _KING else gain + 3 * (_CENTRE[move.to_square] - _CENTRE[move.from_square])


def _risk(board: chess.Board, move: chess.Move) -> int:
    """The value of the piece that moves, if it may be taken there."""
    return _VALUES[board.piece_type_at(move.from_square) or 0] * board.is_attacked_by(not board.turn, move.to_square)
