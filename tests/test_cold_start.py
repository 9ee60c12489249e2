"""The start: a GUI gets its answers while the engine still compiles, and real ones if it only loads, however slowly."""

from __future__ import annotations

import io
import threading
import time
import unittest.mock
from collections.abc import Callable, Iterator

import chess
import pytest

from merino.core.board.fen import parse_fen
from merino.core.board.game import Position
from merino.core.compiled import cache
from merino.core.compiled.compiling import WATCH
from merino.engine.search import warmup
from merino.engine.uci import cold_start
from merino.engine.uci.cold_start import ColdStart, QuickMove, WaitingGo, quick_move
from merino.engine.uci.commands import COMMANDS, run
from merino.engine.uci.options import OPTIONS, find
from merino.engine.uci.output import Output
from merino.engine.uci.session import OptionSetting, UciSession
from merino.eval.evaluation import Evaluation

AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


class Session:
    """A cold start on a buffer, with an engine that is loaded when `loaded` is set."""

    def __init__(self) -> None:
        self.stream = io.BytesIO()
        self.loaded = threading.Event()
        self.handed: list[str] = []
        self.cold = ColdStart(Output(self.stream), self.loaded)

    def go(self, text: str) -> str:
        """What a `go` that ends by itself says."""
        self.begin(text)
        self.cold.wait()
        return self.stream.getvalue().decode()

    def begin(self, text: str) -> None:
        """Begin a `go`."""
        self.cold.go(text, lambda go: self.handed.append(go.text))


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(cold_start, "READY_SECONDS", 0.2)
    cold = Session()
    cold.cold.judge(is_compiled=False)
    return cold


@pytest.fixture
def warm() -> Session:
    """A warm start whose engine is loaded only when a test says so: on a machine as slow as can be."""
    session = Session()
    session.cold.judge(is_compiled=True)
    return session


def test_readyok_does_not_wait_for_the_compiler_longer_than_a_gui_allows(session: Session) -> None:
    began = time.perf_counter()
    session.cold.wait_until_ready()
    assert 0.1 < time.perf_counter() - began < 1.0
    assert b"compiling" in session.stream.getvalue()


def test_a_warm_start_says_nothing(warm: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "WARM_READY_SECONDS", 0.1)
    warm.cold.wait_until_ready()  # and gives up, as a GUI waits no longer
    assert not warm.cold.is_ready
    warm.loaded.set()
    warm.cold.wait_until_ready()
    assert warm.cold.is_ready
    assert warm.stream.getvalue() == b""


def test_a_start_that_is_not_judged_yet_is_waited_for() -> None:
    session = Session()
    ready = threading.Thread(target=session.cold.wait_until_ready, daemon=True)
    ready.start()
    ready.join(0.3)
    assert ready.is_alive() and session.stream.getvalue() == b""
    session.cold.judge(is_compiled=True)
    session.loaded.set()
    ready.join(10)
    assert not ready.is_alive() and session.stream.getvalue() == b""


def test_a_warm_start_is_cold_once_code_is_compiled(warm: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "READY_SECONDS", 0.2)
    waiting = threading.Thread(target=warm.cold.wait_until_ready, daemon=True)
    waiting.start()
    warm.cold.judge(is_compiled=False)
    waiting.join(5)
    assert not waiting.is_alive() and not warm.cold.is_ready
    warm.cold.position("startpos moves e2e4 e7e5 d1h5 e8e7")
    assert "bestmove h5e5" in warm.go("wtime 1000 btime 1000")


def test_the_time_until_the_search_begins_is_taken_from_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    session = UciSession(Output(io.BytesIO()))
    session._runtime = fake = unittest.mock.MagicMock()
    fake.book_move.return_value = None
    fake.advice.return_value = None
    fake.searcher.nodestime = 0
    session.position = Position()
    session.cold.judge(is_compiled=True)
    monkeypatch.setattr(session, "_load", lambda: (time.sleep(0.5), session._loaded.set()))
    run(session, COMMANDS["go"], "wtime 10000 btime 20000 movetime 3000")
    session.cold.wait()
    (_, limits, *_), _ = fake.searcher.start.call_args
    white, black = limits.time
    assert white is not None and black is not None and limits.movetime is not None
    assert white <= 9500 and white == black - 10_000 == limits.movetime + 7000


class Loading:
    """A compiled engine that is loaded when a test says so; what is said to it meanwhile must wait for nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loaded = threading.Event()
        self.stream = io.BytesIO()
        self.session = UciSession(Output(self.stream))
        monkeypatch.setattr(cache, "is_play_compiled", lambda: True)
        monkeypatch.setattr(warmup, "warm_up", self.loaded.wait)

    def say(self, *lines: str) -> str:
        """What the engine has said so far."""
        for line in lines:
            name, _, text = line.partition(" ")
            self.do(lambda name=name, text=text: run(self.session, COMMANDS[name], text))  # type: ignore[misc]
        return self.stream.getvalue().decode()

    def do(self, call: Callable[[], object]) -> None:
        """Do this at once."""
        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()

    def load(self) -> str:
        """What the engine has said when it is loaded and has given its move."""
        self.loaded.set()
        self.session.wait()
        return self.stream.getvalue().decode()


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loading]:
    found = Loading(monkeypatch)
    yield found
    found.loaded.set()


@pytest.mark.parametrize("go", ["movetime 1000", "wtime 1000 btime 1000", "depth 1"])
def test_a_compiled_engine_never_plays_a_fallback_move(go: str, loading: Loading) -> None:
    loading.say("position startpos moves e2e4", f"go {go}")
    time.sleep(0.5)
    assert loading.stream.getvalue() == b""
    said = loading.load()
    assert "compiling" not in said and " nodes " in said and " pv " in said
    assert chess.Move.from_uci(said.split("bestmove ")[1].split()[0]) in chess.Board(AFTER_E4).legal_moves


def test_stop_and_isready_are_heard_while_a_go_waits_until_the_engine_is_loaded(loading: Loading) -> None:
    assert loading.say("position startpos moves e2e4", "go infinite", "isready", "stop") == "readyok\n"
    said = loading.load()
    assert "compiling" not in said and " nodes " in said and said.count("bestmove") == 1
    assert chess.Move.from_uci(said.split("bestmove ")[1].split()[0]) in chess.Board(AFTER_E4).legal_moves


def test_quit_ends_at_once_while_a_go_waits_until_the_engine_is_loaded(loading: Loading) -> None:
    loading.say("go depth 3")
    loading.do(lambda: loading.session.close(1000))  # as long as it might wait
    assert loading.stream.getvalue() == b""


def test_the_end_of_input_while_the_engine_is_loaded_still_gets_a_move(loading: Loading) -> None:
    loading.say("position startpos moves e2e4", "go infinite")
    ending = threading.Thread(target=loading.session.finish, daemon=True)
    ending.start()
    ending.join(0.3)
    assert ending.is_alive()
    assert loading.load().count("bestmove") == 1
    ending.join(10)
    assert not ending.is_alive()


def test_each_go_is_searched_in_the_position_before_it_however_late_it_is_loaded(loading: Loading) -> None:
    mate, mated = "6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1", "3R2k1/5ppp/8/8/8/8/q4PPP/6K1 b - - 1 1"
    loading.say(f"position fen {mate}", "go depth 2", f"position fen {mated}")
    assert "bestmove d1d8" in loading.load()
    loading.say("go depth 2")
    assert loading.load().endswith("bestmove (none)\n")


def test_after_quick_moves_the_new_position_is_searched(loading: Loading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "is_play_compiled", lambda: False)
    loading.say("position startpos", "go wtime 100 btime 100")
    loading.session.wait()
    assert b"bestmove" in loading.stream.getvalue()
    loading.loaded.set()
    loading.session.ready()
    loading.say("position fen 6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1", "go depth 2")
    assert "bestmove d1d8" in loading.load()


def test_a_ponderhit_while_the_engine_is_loaded_starts_the_clock_and_stops_nothing(loading: Loading) -> None:
    loading.say("go ponder depth 4", "ponderhit")
    said = loading.load()
    assert "info depth 4 " in said and said.count("bestmove") == 1


def test_a_warm_isready_sets_up_the_position_received_before_it(loading: Loading) -> None:
    assert loading.say("position fen rubbish") == ""
    loading.loaded.set()
    loading.session.ready()
    said = loading.say("isready")
    assert "error: position" in said and said.splitlines()[-1] == "readyok"


def test_a_clock_that_cannot_wait_gets_a_quick_legal_move(session: Session) -> None:
    session.cold.position("startpos moves e2e4 e7e5 d1h5 e8e7")
    said = session.go("wtime 1000 btime 1000")
    assert "bestmove h5e5" in said
    assert said.count("bestmove") == 1
    assert " score cp " in said
    assert not session.handed


def test_a_game_on_a_fast_clock_is_not_lost_while_all_is_compiled(session: Session) -> None:
    board, left = chess.Board(), {chess.WHITE: 2.0, chess.BLACK: 2.0}
    while len(board.move_stack) < 60 and not board.is_game_over():
        session.cold.position(" ".join(["startpos moves", *map(chess.Move.uci, board.move_stack)]))
        clocks, began = (int(1000 * left[side]) for side in (chess.WHITE, chess.BLACK)), time.perf_counter()
        said = session.go("wtime {} btime {} winc 20 binc 20".format(*clocks))
        left[board.turn] -= time.perf_counter() - began
        assert left[board.turn] > 0, f"lost on time with move {board.fullmove_number}"
        left[board.turn] += 0.02
        board.push_uci(said.rsplit("bestmove ", 1)[1].split()[0])


@pytest.mark.parametrize(("go", "seconds"), [("movetime 60", 0.03), ("movetime 5000", 0.3), ("movetime 1", 0.0005)])
def test_a_short_time_for_a_move_is_kept_while_all_is_compiled(
    go: str, seconds: float, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[float] = []

    def noted(board: chess.Board, deadline: float, moves: list[chess.Move]) -> QuickMove:
        allowed.append(deadline - asked)
        return QuickMove(next(iter(board.legal_moves)), 0, 1)

    monkeypatch.setattr("merino.engine.uci.cold_start.quick_move", noted)
    monkeypatch.setattr(cold_start, "_longest_wait", lambda *_: 0.0)
    session.cold.position("startpos moves e2e4 e7e5 g1f3")
    asked = time.perf_counter()
    assert "bestmove " in session.go(go)
    assert len(allowed) == 1 and seconds <= allowed[0] <= seconds + time.perf_counter() - asked


def test_a_slow_clock_waits_for_the_engine(session: Session) -> None:
    session.cold.position("startpos moves e2e4")
    threading.Timer(0.5, session.loaded.set).start()
    assert "bestmove" not in session.go("wtime 9000 btime 60000")
    assert session.handed == ["wtime 9000 btime 60000"]


def test_stop_gets_a_move_at_once(session: Session) -> None:
    session.begin("infinite")
    session.cold.stop()
    said = session.stream.getvalue().decode()
    assert chess.Move.from_uci(said.split("bestmove ")[1].strip()) in chess.Board().legal_moves


@pytest.mark.parametrize(
    "text", ["fen rubbish", "startpos moves e2e5", "startpos moves e2e4 0000", "fen 8/8/8/8/8/8/8/8 w - - 0 1"]
)
def test_a_position_that_is_not_legal_gets_no_move(session: Session, text: str) -> None:
    session.cold.position(text)
    said = session.go("wtime 100 btime 100")
    assert "info string error: position" in said
    assert said.rstrip().endswith("bestmove (none)")


@pytest.mark.parametrize(
    "fen", ["4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", "4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1", "4k3/8/8/8/8/8/8/R3K3 w Q e3 0 1"]
)
def test_rights_and_squares_that_change_nothing_make_no_position_illegal(session: Session, fen: str) -> None:
    parse_fen(fen)
    session.cold.position(f"fen {fen}")
    said = session.go("wtime 100 btime 100")
    assert "error" not in said and "(none)" not in said


def test_a_promotion_may_have_a_capital_letter(session: Session) -> None:
    session.cold.position("fen 7k/P7/8/8/8/8/8/K7 w - - 0 1 moves a7a8Q")
    said = session.go("wtime 100 btime 100")
    assert "error" not in said and "(none)" not in said
    session.cold.position("fen 7k/P7/8/8/8/8/8/K7 w - - 0 1")
    assert "bestmove a7a8n" in session.go("wtime 100 btime 100 searchmoves a7a8N")


def test_a_mated_side_has_no_move(session: Session) -> None:
    session.cold.position("fen 7k/6Q1/5K2/8/8/8/8/8 b - - 0 1")
    said = session.go("wtime 100 btime 100")
    assert "info depth 0 score mate 0" in said
    assert said.rstrip().endswith("bestmove (none)")


def test_the_fallback_mates_in_one_and_keeps_its_deadline() -> None:
    board = chess.Board("6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1")
    found = quick_move(board, time.perf_counter() + 1)
    assert found is not None
    assert found.move == chess.Move.from_uci("d1d8")
    began = time.perf_counter()
    assert quick_move(board, began) == found._replace(depth=1)
    assert quick_move(chess.Board(), began) is not None
    assert time.perf_counter() - began < 0.2


def test_perft_waits_for_the_engine_and_is_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    session = UciSession(Output(stream))
    session.cold.judge(is_compiled=False)

    def load() -> None:
        time.sleep(0.3)
        session.position, session._runtime = Position(), unittest.mock.MagicMock()
        session._loaded.set()

    monkeypatch.setattr(session, "_load", load)
    for line in ("position startpos moves e2e4", "go perft 2"):
        name, _, text = line.partition(" ")
        run(session, COMMANDS[name], text)
    session.wait()
    said = stream.getvalue().decode()
    assert "Nodes searched: 600" in said and "bestmove" not in said


@pytest.mark.parametrize("line", ["setoption", "ucinewgame", "isready"])
def test_nothing_waits_for_the_bestmove_of_an_endless_go_that_is_just_handed_over(line: str) -> None:
    session = UciSession(Output(io.BytesIO()))
    session._runtime = unittest.mock.MagicMock()
    session._pending["Clear Hash"] = OptionSetting(find("Clear Hash"), None)

    def search(go: WaitingGo) -> None:
        time.sleep(0.2)
        if not go.stopped.is_set():  # else it would be stopped at once
            session._is_searching = True
            session._bestmove_said.clear()

    session._loaded.set()
    session.cold.go("infinite", search)
    act = {
        "setoption": lambda: session.set_option("Clear Hash", ""),
        "ucinewgame": session.new_game,
        "isready": session.ready,
    }[line]
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


class Compiling:
    """A loaded engine, and a net that is ready once a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_compiled: bool) -> None:
        self.is_read, self.done = threading.Event(), threading.Event()
        self.stream = io.BytesIO()
        self.session = UciSession(Output(self.stream))
        self._is_compiled = is_compiled
        slow = OPTIONS["evalfile"]._replace(prepares=self._prepare)
        monkeypatch.setitem(OPTIONS, "evalfile", slow)
        monkeypatch.setattr("merino.engine.uci.session.FILE_SECONDS", 0.4)
        self.say("isready")

    def _prepare(self, net: Evaluation) -> Evaluation:
        if not self._is_compiled:
            WATCH.on_begin()
        self.is_read.set()
        assert self.done.wait(300)
        return net

    def name_the_net(self) -> None:
        self.say("setoption name EvalFile value gen1")
        assert self.is_read.wait(60)

    def say(self, line: str) -> str:
        """What is said while a line is carried out, which waits for nothing that a test holds."""
        before, (name, _, text) = len(self.stream.getvalue()), line.partition(" ")
        thread = threading.Thread(target=run, args=(self.session, COMMANDS[name], text), daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), line
        return self.stream.getvalue()[before:].decode()

    def until_bestmove(self) -> str:
        """All that was said when the last search has ended."""
        self.session.wait()
        return self.stream.getvalue().decode()


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiling]:
    found = Compiling(monkeypatch, is_compiled=False)
    yield found
    found.done.set()


def test_the_dialogue_goes_on_while_a_net_is_compiled(compiling: Compiling) -> None:
    compiling.name_the_net()
    said = compiling.say("isready")
    assert "'gen1' is still being made ready; until then it stays unchanged" in said and said.endswith("readyok\n")
    compiling.say("position startpos moves e2e4")
    compiling.say("go infinite")
    assert compiling.say("isready").endswith("readyok\n") and not compiling.session._is_searching
    compiling.say("stop")
    assert "weights: " in compiling.until_bestmove() and "bestmove" in compiling.until_bestmove()
    compiling.session.close(1)


def test_a_go_waits_for_a_net_that_is_compiled_as_long_as_its_clock_allows(compiling: Compiling) -> None:
    compiling.name_the_net()
    compiling.say("go wtime 1000 btime 1000")
    said = compiling.until_bestmove()
    assert "info string weights: " in said and "compiling for this machine" in said and said.count("bestmove") == 1
    compiling.say("go depth 1")
    time.sleep(0.6)
    assert compiling.stream.getvalue().count(b"bestmove") == 1
    compiling.done.set()
    said = compiling.until_bestmove()
    assert said.count("bestmove") == 2 and said.index("info string net: ") > said.index("bestmove")


def test_the_evaluation_is_shown_by_the_net_that_was_asked_for(compiling: Compiling) -> None:
    compiling.name_the_net()
    threading.Timer(0.6, compiling.done.set).start()
    compiling.say("eval")
    assert str(compiling.session.ready().net_file).endswith("gen1.net")


def test_a_go_waits_for_a_net_whose_code_only_needs_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    loading = Compiling(monkeypatch, is_compiled=True)
    loading.name_the_net()
    threading.Timer(0.6, loading.done.set).start()
    loading.say("go wtime 1000 btime 1000")
    said = loading.until_bestmove()
    assert "net: " in said and "compiling" not in said
