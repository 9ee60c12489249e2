"""The start of the engine: the answers to a GUI while it is loaded, and on the first start on a machine compiled.

Compiling takes longer than a GUI waits for `readyok`, and longer than some clocks allow. So `readyok` comes after some
seconds in any case, and a `go` whose clock cannot wait is answered by a search of two plies with python-chess. Once it
is compiled, the code is in the cache and later starts are warm: on those every move is searched by the engine, however
slow the machine is. The cache decides which start this is, never the time that it takes.

Later an evaluation that an option names may have to be compiled, too: a `go` waits for that as long as its clock
allows, and is then searched with the evaluation in use. A `go` waits on a thread of its own, so that the GUI is heard
meanwhile. Imports nothing heavy.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from merino.core.common.threads import until_ended
from merino.engine.uci.go import parse_go
from merino.engine.uci.output import Output

if TYPE_CHECKING:
    import chess

    from merino.engine.search.limits import Limits

READY_SECONDS = 7.0  # from a cold start to `readyok` at the latest; GUIs wait ten to fifteen
WARM_READY_SECONDS = 8.0  # from `isready` to `readyok` at the latest, if loading compiled code takes so long
CLOCK_SHARE = 0.1  # share of the time left that may be spent waiting for the compiler
FAST_CLOCK_SECONDS = 10.0  # left on a clock that does not last until all is compiled: waiting would only lose it
QUICK_SECONDS = 0.3  # for a move without the engine, if the clock allows that
QUICK_SHARE = 1 / 40  # of the time left, at most
_POLL_SECONDS = 0.02  # between two looks at what may end a wait for the engine
_NEWS = "compiling for this machine (once, about half a minute)"

_VALUES = (0, 100, 320, 330, 500, 950, 0)  # by chess.PieceType
_KING = 6
_MATE = 30000
_MAX_SCORE = 9999  # a score that is reported; mates are not counted here
_CENTRE = [6 - abs(2 * (square & 7) - 7) // 2 - abs(2 * (square >> 3) - 7) // 2 for square in range(64)]


class WaitingGo:
    """A `go` that waits for the engine. `position` is the text of a position that the engine has not received yet."""

    def __init__(self, text: str, position: str | None) -> None:
        self.text, self.position = text, position
        self.limits = parse_go(text.split(), lambda move: None).limits
        self.began = time.perf_counter()
        self.stopped = threading.Event()  # by `stop`, or because it may not wait any longer
        self.is_ponder_hit = False  # the move that it ponders on was played
        self.is_waiting = True
        self.thread: threading.Thread | None = None


class ColdStart:
    """Answers `isready`, `position` and `go` until `loaded` is set.

    The thread that loads the engine calls `judge` before, and again as soon as something is compiled. `is_prepared`
    says whether the evaluation that options name is ready, too, now or before so many seconds are over.
    """

    def __init__(
        self, output: Output, loaded: threading.Event, is_prepared: Callable[[float], bool] = lambda seconds: True
    ) -> None:
        self._output, self._loaded, self._is_prepared = output, loaded, is_prepared
        self.is_cold: bool | None = None  # None until the cache has been looked at
        self._news = _NEWS  # to say once
        self._began = time.perf_counter()
        self._position, self._chess960 = "startpos", False
        self._is_new = False  # whether the engine has not received that position
        self._go: WaitingGo | None = None  # the last one

    def judge(self, is_compiled: bool) -> None:
        """Say whether all the code that play needs is in the cache; once it is not, this start is cold for good."""
        self.is_cold = self.is_cold or not is_compiled

    @property
    def is_ready(self) -> bool:
        """Whether the engine is loaded with the evaluation that options name."""
        return self._is_ready(0)

    def _is_ready(self, seconds: float) -> bool:
        return self._loaded.wait(seconds) and self._is_prepared(seconds)

    def wait_until_ready(self) -> None:
        """Wait until the engine is loaded, or for as long as a GUI can be made to wait."""
        deadline = time.perf_counter() + WARM_READY_SECONDS
        while not self.is_cold and not self._is_ready(_POLL_SECONDS):
            if time.perf_counter() > deadline:
                return
        if self.is_cold and not self.is_ready:
            self._say_what_takes_long()
            self._loaded.wait(max(0.0, self._began + READY_SECONDS - time.perf_counter()))

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
        asked = go, self._position, hand_over
        go.thread = threading.Thread(target=self._play, args=asked, name="cold start", daemon=True)
        go.thread.start()

    @property
    def is_waiting(self) -> bool:
        """Whether a `go` waits for the engine."""
        return self._go is not None and self._go.is_waiting

    def stop(self) -> None:
        """Answer the current `go` now, and wait until that is done."""
        self.stop_waiting()
        self.wait()

    def stop_waiting(self) -> None:
        """Answer the current `go` now; as soon as the engine is loaded, where nothing has to be compiled."""
        if self._go is not None:
            self._go.stopped.set()

    def ponder_hit(self) -> None:
        """Note that the move was played that the current `go` ponders on; answer it now if something is compiled."""
        if self._go is not None:
            self._go.is_ponder_hit = True
            if self.is_cold:
                self._go.stopped.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the current `go`, if any, is answered or handed over, but not longer than this."""
        thread = self._go.thread if self._go else None
        if thread is not None and thread is not threading.current_thread():
            until_ended(thread, seconds)

    def _play(self, go: WaitingGo, position: str, hand_over: Callable[[WaitingGo], None]) -> None:
        """Answer a `go` in this position."""
        while not self.is_cold and not self._is_ready(_POLL_SECONDS):
            if self._loaded.is_set() and go.stopped.is_set():
                break
        board = None
        if self.is_cold and not self.is_ready:
            self._say_what_takes_long()
            is_loaded = self._loaded.is_set()  # then only an evaluation is compiled, and the engine has the position
            board = None if is_loaded else self._read_board(position)
            seconds = _longest_wait(go.limits, board) if is_loaded or board is not None else 0.0
            while not go.stopped.is_set() and (seconds is None or time.perf_counter() < go.began + seconds):
                if self._is_ready(_POLL_SECONDS):
                    break
        go.is_waiting = False
        if self._loaded.is_set():
            hand_over(go)
            return
        self._is_new = self._is_new or go.position is not None
        if go.limits.infinite or go.limits.ponder:
            go.stopped.wait()
        self._output.say(*_quick_answer(board, go))

    def _read_board(self, position: str) -> chess.Board | None:
        """The position for python-chess, or None if it is not valid."""
        import chess  # noqa: PLC0415 (needed on a cold start only)

        words = position.split()
        moves_at = words.index("moves") if "moves" in words else len(words)
        fen = " ".join(words[1:moves_at]) if words[:1] == ["fen"] else chess.STARTING_FEN
        try:
            board = chess.Board(fen, chess960=self._chess960)
            board.castling_rights = board.clean_castling_rights()  # as the engine reads a FEN, which drops what is moot
            if not board.has_legal_en_passant():
                board.ep_square = None
            for move in words[moves_at + 1 :]:
                if not board.push_uci(_small_promotion(move)):
                    raise ValueError(f"'{move}' is no move like e2e4 or e7e8q")
            if not board.is_valid():
                raise ValueError("it is not legal")
        except ValueError as error:
            self._output.error(f"position: {error}")
            return None
        return board

    def _say_what_takes_long(self) -> None:
        if self._news:
            self._output.info(self._news)
            self._news = ""


def _quick_answer(board: chess.Board | None, go: WaitingGo) -> tuple[str, str]:
    """The lines that answer a `go` without the engine."""
    began = time.perf_counter()
    if board is not None:
        words = set(map(_small_promotion, go.text.split()))
        allowed = [move for move in board.legal_moves if board.uci(move) in words]
        left, movetime = _time_left(go.limits, board), go.limits.movetime
        bounds = [QUICK_SECONDS]
        bounds += [] if left is None else [QUICK_SHARE * left]
        bounds += [] if movetime is None else [movetime / 1000 / 2]
        found = quick_move(board, began + min(bounds), allowed)
        if found is not None:
            move, spent = board.uci(found.move), int(1000 * (time.perf_counter() - began))
            return f"info depth {found.depth} score cp {found.score} time {spent} pv {move}", f"bestmove {move}"
    in_check = board is not None and board.is_check()
    return f"info depth 0 score {'mate 0' if in_check else 'cp 0'}", "bestmove (none)"


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


def _time_left(limits: Limits, board: chess.Board | None) -> float | None:
    """The seconds on the clock, None without one; without a board, whose turn is not known, on the shorter."""
    clocks = [clock for clock in limits.time if clock is not None]
    if board is not None and clocks:
        clocks = clocks[:1] if board.turn else clocks[-1:]
    return min(clocks) / 1000 if clocks else None


def _small_promotion(move: str) -> str:
    """A move with the small letter of a promotion, which some GUIs send as a capital."""
    return move[:4] + move[4:].lower()


class QuickMove(NamedTuple):
    """A move, its score in centipawns for the side to move, and the depth of the search in plies."""

    move: chess.Move
    score: int
    depth: int


class _OutOfTimeError(Exception):
    """The deadline has passed inside the search."""


def quick_move(board: chess.Board, deadline: float, allowed: list[chess.Move] | None = None) -> QuickMove | None:
    """A legal move, of those `allowed` if any, found before `deadline` (time.perf_counter); None if there is none.

    It looks two plies ahead and at captures, by material and centre, and sees a mate in one however little time it has.
    """
    moves = sorted(allowed or board.legal_moves, key=lambda move: -_promise(board, move))
    if not moves:
        return None
    for move in moves:
        board.push(move)
        is_mate = board.is_checkmate()
        board.pop()
        if is_mate:
            return QuickMove(move, _MAX_SCORE, 1)
    found = QuickMove(moves[0], 0, 1)
    try:
        for depth in (0, 1, 2):
            alpha = -2 * _MATE
            for move in tuple(moves):
                score = _score_of(board, move, (-2 * _MATE, -alpha), depth, deadline)
                if score > alpha:
                    best, alpha = move, score
            found = QuickMove(best, max(-_MAX_SCORE, min(alpha, _MAX_SCORE)), depth + 1)
            moves.sort(key=lambda move: move != best)  # the best comes first
    except _OutOfTimeError:
        pass  # this search ends by its deadline; `found` is from the last complete depth
    return found


def _score_of(board: chess.Board, move: chess.Move, window: tuple[int, int], depth: int, deadline: float) -> int:
    board.push(move)
    try:
        return -_search(board, *window, depth, deadline)
    finally:
        board.pop()


def _search(board: chess.Board, alpha: int, beta: int, depth: int, deadline: float) -> int:
    if time.perf_counter() > deadline:
        raise _OutOfTimeError
    if board.is_repetition(2) or board.is_insufficient_material() or board.halfmove_clock >= 100:
        return 0
    in_check = board.is_check()
    quiet = depth <= 0 and not in_check
    if quiet:
        alpha = max(alpha, _evaluate(board))
        if alpha >= beta or depth < -4:
            return alpha
    moves = list(board.generate_legal_captures() if quiet else board.legal_moves)
    if not moves and not quiet:
        return -_MATE - depth if in_check else 0
    for move in sorted(moves, key=lambda move: -_promise(board, move)):
        alpha = max(alpha, _score_of(board, move, (-beta, -alpha), depth - 1, deadline))
        if alpha >= beta:
            break
    return alpha


def _promise(board: chess.Board, move: chess.Move) -> int:
    """The immediate gain of a move."""
    victim, attacker = board.piece_type_at(move.to_square), board.piece_type_at(move.from_square)
    gain = 10 * _VALUES[victim] - _VALUES[attacker] // 10 if victim and attacker else 0
    return gain + (10 * _VALUES[move.promotion] if move.promotion else 0)


def _evaluate(board: chess.Board) -> int:
    """Material and centre for the side to move, centipawns."""
    score = 0
    for square, piece in board.piece_map().items():
        value = _VALUES[piece.piece_type] + (0 if piece.piece_type == _KING else 3 * _CENTRE[square])
        score += value if piece.color == board.turn else -value
    return score
