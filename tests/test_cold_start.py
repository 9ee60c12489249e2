"""The start: a GUI gets its answers while the engine still compiles, and real ones if it only loads, however slowly."""

import io
import os
import shutil
import threading
import time
import unittest.mock
from collections.abc import Callable, Iterator
from pathlib import Path

import chess
import pytest

from merino.core.board.game import Position
from merino.core.compiled.compiling import WATCH
from merino.engine.search import warmup
from merino.engine.uci import cold_start, commands, options, output
from merino.engine.uci.session import OptionSetting, UciSession
from merino.eval.evaluation import Evaluation
from merino.eval.linear.weights import DEFAULT_FILE
from tests.chaos.laboratory import code_in_use
from tests.uci_process import ROOT, UciProcess, bestmove, field, infos

AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
FOOLS_MATE = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2"  # Black mates


class Session:
    """A cold start on a buffer, with an engine that is loaded when `loaded` is set."""

    def __init__(self) -> None:
        self.stream = io.BytesIO()
        self.loaded = threading.Event()
        self.handed: list[str] = []
        self.cold = cold_start.ColdStart(output.Output(self.stream), self.loaded)

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
    cold.cold.begin()
    return cold


@pytest.fixture
def warm() -> Session:
    """A warm start whose engine is loaded only when a test says so: on a machine as slow as can be."""
    return Session()


def test_readyok_does_not_wait_for_the_compiler_longer_than_a_gui_allows(session):
    began = time.perf_counter()
    session.cold.wait_until_ready()
    assert 0.1 < time.perf_counter() - began < 1.0
    assert b"compiling" in session.stream.getvalue()


def test_a_warm_start_says_nothing(warm, monkeypatch):
    monkeypatch.setattr(cold_start, "WARM_READY_SECONDS", 0.1)
    warm.cold.wait_until_ready()  # and gives up, as a GUI waits no longer
    assert not warm.cold.is_ready()
    warm.loaded.set()
    warm.cold.wait_until_ready()
    assert warm.cold.is_ready()
    assert warm.stream.getvalue() == b""


def test_a_warm_start_is_cold_once_code_is_compiled(warm, monkeypatch):
    monkeypatch.setattr(cold_start, "READY_SECONDS", 0.2)
    waiting = threading.Thread(target=warm.cold.wait_until_ready, daemon=True)
    waiting.start()
    warm.cold.begin()
    waiting.join(5)
    assert not waiting.is_alive() and not warm.cold.is_ready()
    warm.cold.position("startpos moves e2e4 e7e5 d1h5 e8e7")
    assert "bestmove h5e5" in warm.go("wtime 1000 btime 1000")


@pytest.mark.parametrize(("words", "most"), [("", 8500), ("ponder ", 9500)])
def test_the_time_until_the_search_begins_is_taken_from_the_clock(words, most, monkeypatch):
    loaded = threading.Event()
    session = UciSession(output.Output(io.BytesIO()))
    session._runtime = fake = unittest.mock.MagicMock()
    fake.book_move.return_value = None
    fake.advice.return_value = None
    fake.searcher.nodestime = 0
    session.position = Position()
    monkeypatch.setattr(session, "_load", lambda: (loaded.wait(), session._loaded.set()))
    commands.run(session, commands.COMMANDS["go"], f"{words}wtime 10000 btime 20000 movetime 3000")
    time.sleep(1.0)
    session.ponder_hit()  # the clock of a `go ponder` runs from here on
    threading.Timer(0.5, loaded.set).start()
    session.cold.wait()
    (_, limits, *_), _ = fake.searcher.start.call_args
    white, black = limits.time
    assert not limits.ponder
    assert white is not None and black is not None and limits.movetime is not None
    assert most - 900 < white <= most and white == black - 10_000 == limits.movetime + 7000


class Engine:
    """A session to which a test says lines, none of which may wait for what the test holds."""

    def __init__(self) -> None:
        self.stream = io.BytesIO()
        self.session = UciSession(output.Output(self.stream))
        self.loaded = threading.Event()

    def say(self, *lines: str) -> str:
        """What is said while these lines are carried out."""
        before = len(self.stream.getvalue())
        for line in lines:
            name, _, text = line.partition(" ")
            self.do(commands.run, self.session, commands.COMMANDS[name], text)
        return self.stream.getvalue()[before:].decode()

    def do(self, call: Callable[..., object], *arguments: object) -> None:
        """Do this at once."""
        thread = threading.Thread(target=call, args=arguments, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), arguments

    def until_bestmove(self) -> str:
        """All that was said when the last search has ended."""
        self.session.wait()
        return self.stream.getvalue().decode()

    def load(self) -> str:
        """What the engine has said when it is loaded and has given its move."""
        self.loaded.set()
        return self.until_bestmove()


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A compiled engine that is loaded when a test says so."""
    found = Engine()
    monkeypatch.setattr(warmup, "warm_up", found.loaded.wait)
    yield found
    found.loaded.set()


@pytest.mark.parametrize("go", ["movetime 2000", "wtime 1 btime 9000", "wtime 0 btime 0 depth 1 infinite", "depth 1"])
def test_a_compiled_engine_plays_no_fallback_move_while_its_clock_lasts(go, loading):
    loading.say("position startpos moves e2e4", f"go {go}")
    time.sleep(0.5)
    assert loading.stream.getvalue() == b""
    loading.loaded.set()
    loading.session.finish()
    said = loading.until_bestmove()
    assert "compiling" not in said and " nodes " in said and " pv " in said
    assert chess.Move.from_uci(said.split("bestmove ")[1].split()[0]) in chess.Board(AFTER_E4).legal_moves


@pytest.mark.parametrize(
    ("lines", "low", "high"),
    [
        (["go wtime 1 btime 1500"], 0.5, 1.5),
        (
            ["position fen rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "go wtime 1 btime 1500"],
            0.5,
            1.5,
        ),
        (["go wtime 90000 btime 0 winc 9 binc 9"], 0.0, 0.5),
        (["go ponder wtime 90000 btime 1500", "ponderhit"], 0.5, 1.5),
        (["go infinite", "stop"], 1.0, 2.0),
        (["go wtime 90000 btime 90000", "ucinewgame"], 1.0, 2.0),
    ],
)
def test_a_move_comes_before_the_clock_falls_however_slowly_the_engine_is_loaded(
    lines, low, high, loading, monkeypatch
):
    monkeypatch.setattr(cold_start, "STOPPED_SECONDS", 1.0)
    began = time.perf_counter()
    loading.say("position startpos moves f2f3 e7e5 g2g4", *lines)
    loading.session.cold.wait()
    assert low < time.perf_counter() - began < high
    said = loading.stream.getvalue().decode()
    assert said.count("bestmove") == 1 and said.endswith("bestmove d8h4\n")
    loading.say("go depth 1")
    assert "bestmove d8h4" in loading.load().split("\n", 2)[2]  # the engine has the position, too


def test_stop_and_isready_are_heard_while_a_go_waits_until_the_engine_is_loaded(loading):
    assert loading.say("position startpos moves e2e4", "go infinite", "isready", "stop") == "readyok\n"
    said = loading.load()
    assert "compiling" not in said and " nodes " in said and said.count("bestmove") == 1
    assert chess.Move.from_uci(said.split("bestmove ")[1].split()[0]) in chess.Board(AFTER_E4).legal_moves


@pytest.mark.parametrize("is_loaded_in_time", [True, False])
def test_a_go_that_waits_for_the_engine_is_answered_before_quit(is_loaded_in_time, loading, monkeypatch):
    monkeypatch.setattr(cold_start, "STOPPED_SECONDS", 4.0 if is_loaded_in_time else 0.2)
    loading.say("position startpos moves f2f3 e7e5 g2g4", "go depth 3")
    threading.Timer(0.5 if is_loaded_in_time else 20.0, loading.loaded.set).start()
    loading.do(loading.session.close)
    said = loading.stream.getvalue().decode()
    assert said.count("bestmove d8h4") == 1 and (" nodes " in said) == is_loaded_in_time


@pytest.mark.parametrize(
    ("lines", "shown"),
    [(["go infinite"], ""), (["go ponder depth 4"], ""), (["go ponder depth 9", "ponderhit"], "info depth 9 ")],
)
def test_at_the_end_of_input_a_limited_search_is_done_and_any_other_gives_its_move(lines, shown, loading):
    loading.say("position startpos moves e2e4", *lines)
    ending = threading.Thread(target=loading.session.finish, daemon=True)
    ending.start()
    ending.join(0.3)
    assert ending.is_alive()
    loading.loaded.set()
    ending.join(20)
    said = loading.stream.getvalue().decode()
    assert not ending.is_alive() and shown in said and said.count("bestmove") == 1


def test_each_go_is_searched_in_the_position_before_it_however_late_it_is_loaded(loading):
    mate, mated = "6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1", "3R2k1/5ppp/8/8/8/8/q4PPP/6K1 b - - 1 1"
    loading.say(f"position fen {mate}", "go depth 2", f"position fen {mated}")
    assert "bestmove d1d8" in loading.load()
    loading.say("go depth 2")
    assert loading.load().endswith("bestmove (none)\n")


def test_a_ponderhit_while_the_engine_is_loaded_starts_the_clock_and_stops_nothing(loading):
    loading.say("go ponder depth 4", "ponderhit")
    said = loading.load()
    assert "info depth 4 " in said and said.count("bestmove") == 1


def test_a_warm_isready_sets_up_the_position_received_before_it(loading):
    assert loading.say("position fen rubbish") == ""
    loading.loaded.set()
    loading.session.ready()
    said = loading.say("isready")
    assert "error: position" in said and said.splitlines()[-1] == "readyok"


def test_a_clock_that_cannot_wait_gets_a_quick_legal_move(session):
    session.cold.position("startpos moves e2e4 e7e5 d1h5 e8e7")
    said = session.go("wtime 1000 btime 1000")
    assert "bestmove h5e5" in said
    assert said.count("bestmove") == 1
    assert " score cp " in said
    assert not session.handed


def test_a_game_on_a_fast_clock_is_not_lost_while_all_is_compiled(session):
    board, left = chess.Board(), {chess.WHITE: 1.0, chess.BLACK: 1.0}
    while len(board.move_stack) < 40 and not board.is_game_over():
        session.cold.position(" ".join(["startpos moves", *map(chess.Move.uci, board.move_stack)]))
        clocks, began = (int(1000 * left[side]) for side in (chess.WHITE, chess.BLACK)), time.perf_counter()
        said = session.go("wtime {} btime {} winc 20 binc 20".format(*clocks))
        left[board.turn] -= time.perf_counter() - began
        assert left[board.turn] > 0, f"lost on time with move {board.fullmove_number}"
        left[board.turn] += 0.02
        board.push_uci(said.rsplit("bestmove ", 1)[1].split()[0])


@pytest.mark.parametrize(("go", "seconds"), [("movetime 60", 0.03), ("movetime 5000", 0.3), ("movetime 1", 0.0005)])
def test_a_short_time_for_a_move_is_kept_while_all_is_compiled(go, seconds, session, monkeypatch):
    allowed: list[float] = []

    def noted(board: chess.Board, deadline: float, moves: list[chess.Move]) -> cold_start.QuickMove:
        allowed.append(deadline - asked)
        return cold_start.QuickMove(next(iter(board.legal_moves)), 0, 1)

    monkeypatch.setattr("merino.engine.uci.cold_start.quick_move", noted)
    monkeypatch.setattr(cold_start, "_longest_wait", lambda *_: 0.0)
    session.cold.position("startpos moves e2e4 e7e5 g1f3")
    asked = time.perf_counter()
    assert "bestmove " in session.go(go)
    assert len(allowed) == 1 and seconds <= allowed[0] <= seconds + time.perf_counter() - asked


def test_a_slow_clock_waits_for_the_engine(session):
    session.cold.position("startpos moves e2e4")
    threading.Timer(0.5, session.loaded.set).start()
    assert "bestmove" not in session.go("wtime 9000 btime 60000")
    assert session.handed == ["wtime 9000 btime 60000"]


def test_stop_gets_a_move_at_once(session):
    session.begin("infinite")
    session.cold.stop()
    said = session.stream.getvalue().decode()
    assert chess.Move.from_uci(said.split("bestmove ")[1].strip()) in chess.Board().legal_moves


@pytest.mark.parametrize(
    ("position", "more", "said"),
    [
        ("fen rubbish", "", "bestmove (none)"),
        ("startpos moves e2e5", "", "bestmove (none)"),
        ("startpos moves e2e4 0000", "", "bestmove (none)"),
        ("fen 8/8/8/8/8/8/8/8 w - - 0 1", "", "bestmove (none)"),
        ("fen 7k/6Q1/5K2/8/8/8/8/8 b - - 0 1", "", "bestmove (none)"),
        ("fen 4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", "", "bestmove e8"),
        ("fen 4k3/8/8/8/8/8/8/4K2R w KQkq - 0 1", "", "bestmove "),
        ("fen 4k3/8/8/8/8/8/8/R3K3 w Q e3 0 1", "", "bestmove "),
        ("fen 4k3/8/8/8/8/8/8/1RK5 w B - 0 1", " searchmoves c1b1", "bestmove c1b1"),
        ("fen 7k/P7/8/8/8/8/8/K7 w - - 0 1 moves a7a8Q", "", "bestmove h8"),
        ("fen 7k/P7/8/8/8/8/8/K7 w - - 0 1", " searchmoves a7a8N", "bestmove a7a8n"),
    ],
)
def test_a_position_that_is_not_legal_or_over_gets_no_move_and_any_other_one(session, position, more, said):
    session.cold.position(position)
    answer = session.go(f"wtime 100 btime 100{more}")
    is_mate, has_none = "info depth 0 score mate 0" in answer, said.endswith("(none)")
    assert said in answer and ("(none)" in answer) == has_none
    assert ("info string error: position" in answer) == (has_none and not is_mate) and is_mate == ("6Q1" in position)


def test_the_fallback_mates_in_one_and_keeps_its_deadline():
    board = chess.Board("6k1/5ppp/8/8/8/8/q4PPP/3R2K1 w - - 0 1")
    found = cold_start.quick_move(board, time.perf_counter() + 1)
    assert found is not None
    assert found.move == chess.Move.from_uci("d1d8")
    began = time.perf_counter()
    at_once = cold_start.quick_move(board, began)
    assert at_once is not None and at_once.move == found.move
    rook_up = cold_start.quick_move(chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"), began)
    assert rook_up is not None and rook_up.depth == 0 and rook_up.score > 400  # no search has given it
    assert cold_start.quick_move(chess.Board(), began) is not None
    italian = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3")
    quiet = cold_start.quick_move(italian, time.perf_counter() + 9)
    assert quiet is not None and quiet.depth == 2 and abs(quiet.score) < 50, "nobody has to take what is defended"
    assert time.perf_counter() - began < 0.2


def test_perft_waits_for_the_engine_and_is_no_search(loading):
    loading.session.cold.begin()
    threading.Timer(0.3, loading.loaded.set).start()
    loading.say("position startpos moves e2e4", "go perft 2")
    said = loading.until_bestmove()
    assert "Nodes searched: 600" in said and "bestmove" not in said


@pytest.mark.parametrize("line", ["setoption", "ucinewgame", "isready"])
def test_nothing_waits_for_the_bestmove_of_an_endless_go_that_is_just_handed_over(line):
    engine = Engine()
    session = engine.session
    session._runtime = unittest.mock.MagicMock()
    session._pending["Clear Hash"] = OptionSetting(options.find("Clear Hash"), None)

    def search(go: cold_start.WaitingGo) -> None:
        time.sleep(0.2)
        if not go.stopped.is_set():  # else it would be stopped at once
            session._is_searching = True
            session._bestmove_said.clear()

    session._loaded.set()
    session.cold.go("infinite", search)
    words = {"setoption": (session.set_option, "Clear Hash", ""), "ucinewgame": (session.new_game,)}
    engine.do(*words.get(line, (session.ready,)))


class Compiling(Engine):
    """A loaded engine, and a net or the weights in use, which are ready once a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_compiled: bool, option: str = "evalfile") -> None:
        self.is_read, self.done, self._is_compiled = threading.Event(), threading.Event(), is_compiled
        slow = options.OPTIONS[option]._replace(prepares=self._prepare)
        monkeypatch.setitem(options.OPTIONS, option, slow)
        super().__init__()
        monkeypatch.setattr("merino.engine.uci.session.FILE_SECONDS", 0.4)
        monkeypatch.setattr(cold_start, "STOPPED_SECONDS", 1.0)
        monkeypatch.setattr(cold_start, "READY_SECONDS", 0.2)
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


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiling]:
    found = Compiling(monkeypatch, is_compiled=False)
    yield found
    found.done.set()


def test_the_dialogue_goes_on_while_a_net_is_compiled(compiling):
    compiling.name_the_net()
    said = compiling.say("isready")
    assert "'gen1' is still being made ready; until then it stays unchanged" in said and said.endswith("readyok\n")
    compiling.say("position startpos moves e2e4")
    compiling.say("go infinite")
    assert compiling.say("isready").endswith("readyok\n") and not compiling.session._is_searching
    compiling.say("stop")
    assert "weights: " in compiling.until_bestmove() and "bestmove" in compiling.until_bestmove()
    compiling.session.close(1)


def test_a_go_waits_for_a_net_that_is_compiled_as_long_as_its_clock_allows(compiling):
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


def test_weights_that_come_with_merino_play_until_those_in_use_are_compiled(monkeypatch, data_folder):
    shutil.copy(DEFAULT_FILE, data_folder / "weights.txt")
    slow = Compiling(monkeypatch, is_compiled=False, option="weightsfile")
    slow.say("position startpos moves e2e4", "go wtime 1000 btime 1000")
    said = slow.until_bestmove()
    assert "compiling for this machine" in said and " nodes " in said and f"weights: {DEFAULT_FILE}" in said
    slow.done.set()
    slow.session.wait_until_prepared()
    assert f"weights: {data_folder / 'weights.txt'}" in slow.say("go depth 1")


def test_the_evaluation_is_shown_by_the_net_that_was_asked_for(compiling):
    compiling.name_the_net()
    threading.Timer(0.6, compiling.done.set).start()
    compiling.say("eval")
    assert str(compiling.session.ready().net_file).endswith("gen1.net")


def test_a_go_waits_for_a_net_whose_code_only_needs_loading(monkeypatch):
    loading = Compiling(monkeypatch, is_compiled=True)
    loading.name_the_net()
    threading.Timer(0.6, loading.done.set).start()
    loading.say("go wtime 9000 btime 1000")
    said = loading.until_bestmove()
    assert "net: " in said and "compiling" not in said


SLOW_LLVM = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "llvmlite":
            time.sleep(1.2)
sys.meta_path.insert(0, Slow())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the user's with what play needs, compiled."""
    home = tmp_path_factory.mktemp("home")
    for path in code_in_use():
        copy = home / "cache" / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return home


def test_a_warm_start_searches_its_first_move_although_it_takes_long(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_LLVM)
    environment = {"MERINO_HOME": str(home), "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    with UciProcess("uci", environment=environment) as engine:
        said = engine.ask("position startpos", "go wtime 90000 btime 1000 depth 4", until="bestmove")
    assert not any("compiling" in line for line in said)
    assert int(field(infos(said)[-1], "nodes")) > 0


def test_a_start_over_a_half_filled_cache_is_cold(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home")
    next((tmp_path / "home").rglob("engine.search.worker.*.code")).unlink()  # which takes long to compile
    with UciProcess("uci", environment={"MERINO_HOME": str(tmp_path / "home")}) as engine:
        said = engine.ask("position startpos", "go wtime 9000 btime 1000", until="bestmove")
        assert any("compiling" in line for line in said)
        assert bestmove(engine, "position startpos moves e2e4 e7e5 d1h5 e8e7", "go wtime 100 btime 100") == "h5e5"
