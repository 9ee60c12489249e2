"""The start of the engine: the answers to a GUI while it is loaded, and on the first start on a machine compiled.

Compiling takes longer than a GUI waits for `readyok`, and longer than some clocks allow. So `readyok` comes after some
seconds in any case, and `engine.uci.fallback` answers a `go` whose clock cannot wait. Once it is compiled, the code is
in the cache and later starts are warm: on those every move is searched, however slow the machine is. The cache tells
which start this is, never the time that it takes.

Later an evaluation that an option names may have to be compiled, too: a `go` waits for that as long as its clock bears,
and is then searched with the evaluation in use. A `go` waits on a thread of its own, so that the GUI is heard
meanwhile. Imports nothing heavy.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from merino.core.common.threads import until_ended, until_set
from merino.engine.uci.go import parse_go
from merino.engine.uci.output import Output

if TYPE_CHECKING:
    import chess

    from merino.engine.search.limits import Limits

READY_SECONDS = 7.0  # from a cold start to `readyok` at the latest; GUIs wait ten to fifteen
WARM_READY_SECONDS = 8.0  # from `isready` to `readyok` at the latest, if loading compiled code takes so long
CLOCK_SHARE = 0.1  # share of the time left that may be spent waiting for the compiler
FAST_CLOCK_SECONDS = 10.0  # left on a clock that does not last until all is compiled: waiting would only lose it
QUICK_SECONDS = 0.3  # for a move by the fallback, if the clock allows that
QUICK_SHARE = 1 / 40  # of the time left, at most
_POLL_SECONDS = 0.02  # between two looks at what may end a wait for the engine
_NEWS = "compiling for this machine, which is done once and takes about half a minute"


class ColdStart:
    """Answers `isready`, `position` and `go` until `loaded` is set.

    The thread that loads the engine calls `judge` before, and `note_compiler` as soon as something is compiled.
    """

    def __init__(self, output: Output, loaded: threading.Event) -> None:
        self._output = output
        self._loaded = loaded
        self._judged = threading.Event()
        self._is_cold = False
        self._began = time.perf_counter()
        self._position = "startpos"
        self._has_position = False
        self._stop_requested = threading.Event()
        self._ponder_hit = threading.Event()
        self._thread: threading.Thread | None = None
        self._news = threading.Lock()  # taken for good by who tells them
        self._is_waiting = False
        self.chess960 = False
        # Whether the evaluation that options name is ready, too, now or before so many seconds are over.
        self.is_prepared: Callable[[float], bool] = lambda seconds: True

    def judge(self, is_compiled: bool) -> None:
        """Say whether all the code that play needs is in the cache."""
        self._is_cold = self._is_cold or not is_compiled
        self._judged.set()

    def note_compiler(self) -> None:
        """Say that something is compiled, so that this start is cold whatever the cache seemed to hold."""
        self._is_cold = True

    def wait_until_ready(self) -> None:
        """Wait until the engine is loaded, or for as long as a GUI can be made to wait."""
        if not self.wait_if_warm(WARM_READY_SECONDS) and self._is_cold:
            self._tell()
            self._loaded.wait(max(0.0, self._began + READY_SECONDS - time.perf_counter()))

    def wait_if_warm(self, seconds: float | None = None) -> bool:
        """Wait until the engine `is_ready`, or not longer than this, unless something is compiled; whether it is."""
        deadline = None if seconds is None else time.perf_counter() + seconds
        until_set(self._judged)
        while not self._is_cold:
            left = _POLL_SECONDS if deadline is None else deadline - time.perf_counter()
            if left <= 0 or self._is_ready(min(left, _POLL_SECONDS)):
                break
        return self._is_ready(0)

    @property
    def is_ready(self) -> bool:
        """Whether the engine is loaded with the evaluation that options name."""
        return self._is_ready(0)

    def _is_ready(self, seconds: float) -> bool:
        return self._loaded.wait(seconds) and self.is_prepared(seconds)

    def position(self, text: str) -> None:
        """Note a position for `go`, or for the engine when it is loaded."""
        self._position, self._has_position = text, True

    def take_position(self) -> str | None:
        """The position that the engine has not received yet."""
        text = self._position if self._has_position else None
        self._has_position = False
        return text

    def go(self, text: str, hand_over: Callable[[str, str | None], None]) -> None:
        """Answer a `go` by `hand_over(text, position)` once the engine is ready; `position` is from `take_position`.

        If something is compiled and it is not ready in time, the `go` is handed over with the evaluation that is in
        use, or answered by a quick move if there is no engine.
        """
        self.stop()
        self._stop_requested.clear()
        self._ponder_hit.clear()
        self._is_waiting = True
        asked = text, self._position, self.take_position(), hand_over
        self._thread = threading.Thread(target=self._play, args=asked, name="cold start", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer the current `go` now, and wait until that is done."""
        self.stop_waiting()
        self.wait()

    def make_way(self) -> None:
        """Wait until the current `go` is answered, which is now if something is compiled, or handed over."""
        if self._is_cold:
            self.stop_waiting()
        self.wait()

    def wait_for_answer(self, seconds: float) -> None:
        """Wait for the answer to a stopped `go`, not longer than this, nor for one that has to wait for the engine."""
        if self._is_cold or self._loaded.is_set():
            self.wait(seconds)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the current `go`, if any, is answered or handed over, but not longer than this."""
        if self._thread is not None and self._thread is not threading.current_thread():
            until_ended(self._thread, seconds)

    @property
    def is_waiting(self) -> bool:
        """Whether a `go` waits for the engine."""
        return self._is_waiting

    @property
    def is_stop_requested(self) -> bool:
        """Whether the last `go` has been stopped."""
        return self._stop_requested.is_set()

    @property
    def is_ponder_hit(self) -> bool:
        """Whether the move that the last `go` ponders on has been played."""
        return self._ponder_hit.is_set()

    def stop_waiting(self) -> None:
        """Answer the current `go` now; as soon as the engine is loaded, where nothing has to be compiled."""
        self._stop_requested.set()

    def ponder_hit(self) -> None:
        """Note that the move was played that the current `go` ponders on; answer it now if something is compiled."""
        self._ponder_hit.set()
        if self._is_cold:
            self.stop_waiting()

    def _play(self, text: str, position: str, taken: str | None, hand_over: Callable[[str, str | None], None]) -> None:
        """Answer a `go` in this position, which has been `taken` for the engine unless that has it."""
        limits, began = parse_go(text.split(), lambda move: None).limits, time.perf_counter()
        self._wait_while_warm()
        board = None
        if self._is_cold and not self._is_ready(0):
            self._tell()
            is_loaded = self._loaded.is_set()  # then only an evaluation is compiled, and the engine has the position
            board = None if is_loaded else self._read_board(position)
            seconds = _longest_wait(limits, board) if is_loaded or board is not None else 0.0
            self._wait_for_engine(None if seconds is None else began + seconds)
        self._is_waiting = False
        if self._loaded.is_set():
            hand_over(text, taken)
            return
        self._has_position = self._has_position or taken is not None
        if limits.infinite or limits.ponder:
            self._stop_requested.wait()
        self._answer(board, text, limits)

    def _wait_while_warm(self) -> None:
        """Wait until the engine is ready, or after a `stop` until it is loaded, unless something is compiled."""
        while not self._is_cold and not self._is_ready(_POLL_SECONDS):
            if self._loaded.is_set() and self._stop_requested.is_set():
                return

    def _wait_for_engine(self, deadline: float | None) -> None:
        """Wait until the engine is ready, but only until the time is up and until `stop`."""
        while not self._stop_requested.is_set() and (deadline is None or time.perf_counter() < deadline):
            if self._is_ready(_POLL_SECONDS):
                return

    def _answer(self, board: chess.Board | None, text: str, limits: Limits) -> None:
        from merino.engine.uci.fallback import quick_move  # noqa: PLC0415 (python-chess is needed in a cold start only)

        began = time.perf_counter()
        deadline = began + _quick_seconds(limits, board)
        found = None if board is None else quick_move(board, deadline, _search_moves(board, text))
        if board is None or found is None:
            in_check = board is not None and board.is_check()
            self._output.say(f"info depth 0 score {'mate 0' if in_check else 'cp 0'}", "bestmove (none)")
            return
        move, spent = board.uci(found.move), int(1000 * (time.perf_counter() - began))
        self._output.say(f"info depth {found.depth} score cp {found.score} time {spent} pv {move}", f"bestmove {move}")

    def _read_board(self, position: str) -> chess.Board | None:
        """The position for python-chess, or None if it is not valid."""
        import chess  # noqa: PLC0415

        words = position.split()
        moves_at = words.index("moves") if "moves" in words else len(words)
        fen = " ".join(words[1:moves_at]) if words[:1] == ["fen"] else chess.STARTING_FEN
        try:
            board = chess.Board(fen, chess960=self.chess960)
            board.castling_rights = board.clean_castling_rights()  # as the engine reads a FEN, which drops what is moot
            if not board.has_legal_en_passant():
                board.ep_square = None
            for move in words[moves_at + 1 :]:
                if not board.push_uci(_small_promotion(move)):
                    raise ValueError(f"'{move}' is no move like e2e4 or e7e8q")
        except ValueError as error:
            self._output.error(f"position: {error}")
            return None
        if not board.is_valid():
            self._output.error("position: it is not legal")
            return None
        return board

    def _tell(self) -> None:
        if self._news.acquire(blocking=False):
            self._output.info(_NEWS)


def _longest_wait(limits: Limits, board: chess.Board | None) -> float | None:
    """How long a search may wait for the compiler, in seconds; None without a clock: for ever."""
    if limits.ponder or limits.infinite:
        return None
    if limits.movetime is not None:
        return max(0.0, limits.movetime / 1000 - 2 * QUICK_SECONDS)
    left = _time_left(limits, board)
    if left is None:
        return None
    return CLOCK_SHARE * left if left >= FAST_CLOCK_SECONDS else 0.0


def _quick_seconds(limits: Limits, board: chess.Board | None) -> float:
    """How long the fallback may search."""
    left = _time_left(limits, board)
    bounds = [QUICK_SECONDS]
    if left is not None:
        bounds.append(QUICK_SHARE * left)
    if limits.movetime is not None:
        bounds.append(limits.movetime / 1000 / 2)
    return min(bounds)


def _time_left(limits: Limits, board: chess.Board | None) -> float | None:
    """The seconds on the clock, None without one; without a board, whose turn is not known, on the shorter."""
    clocks = [clock for clock in limits.time if clock is not None]
    if board is not None and clocks:
        clocks = clocks[:1] if board.turn else clocks[-1:]
    return min(clocks) / 1000 if clocks else None


def _small_promotion(move: str) -> str:
    """A move with the small letter of a promotion, which some GUIs send as a capital."""
    return move[:4] + move[4:].lower()


def _search_moves(board: chess.Board, text: str) -> list[chess.Move]:
    words = set(map(_small_promotion, text.split()))
    return [move for move in board.legal_moves if board.uci(move) in words]
