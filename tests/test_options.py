"""What the UCI options do: strength, win-draw-loss, analysis, log, book and endgame tables."""

import os
import re
import shutil
import struct
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random

import chess
import chess.polyglot
import pytest

from merino.core.board import bitboard, game
from merino.engine.search.limits import TABLEBASE_WIN, Limits
from merino.engine.search.strength import DEFAULT_ELO, at_elo, at_level
from merino.engine.tables.book import Book, BookError
from merino.engine.tables.tablebase import advise
from merino.engine.uci import execute, options, output, session
from merino.engine.uci import go as clocks
from merino.engine.uci.runtime import Runtime, free_megabytes
from merino.eval import families
from merino.eval.linear.weights import SHIPPED
from merino.eval.outlook import expected_score, win_draw_loss
from tests.boards import KIWIPETE, MATE_IN_ONE
from tests.fake_tables import FakeTables
from tests.syzygy_files import LOST, WON, constant_file
from tests.uci_process import UciProcess, bestmove, field, infos, line_of

MATED = "6k1/5ppp/8/8/8/8/r4PPP/1r4K1 w - - 0 1"
ROOK_TO_TAKE = "3r3k/8/8/8/8/8/8/K2Q4 w - - 0 1"  # d1d8 leaves a queen against a king
QUEEN_ENDING = "8/8/8/3k4/8/8/4Q3/K7 w - - 0 1"


class Talk:
    """A session in this process: lines in, lines out."""

    def __init__(self) -> None:
        self._stream = BytesIO()
        self.session = session.UciSession(output.Output(self._stream))
        self.session.waits_for_compiler = True

    def say(self, *lines: str) -> list[str]:
        """What the engine answers to these lines; searches are waited for."""
        self._stream.seek(0)
        self._stream.truncate()
        for line in lines:
            self.session.output.heard(line)
            execute(self.session, line)
            self.session.wait()
        return self._stream.getvalue().decode().splitlines()

    @property
    def runtime(self) -> Runtime:
        """The engine behind it."""
        return self.session.ready()


@pytest.fixture(scope="module")
def shared_talk() -> Talk:
    talk = Talk()
    talk.say("position startpos", "go depth 1")
    return talk


@pytest.fixture
def talk(shared_talk: Talk) -> Iterator[Talk]:
    """The shared session on the starting position; afterwards every option is set back."""
    shared_talk.say("position startpos")
    yield shared_talk
    shared_talk.runtime.tables = None
    for option in options.OPTIONS.values():
        numbers = "MultiPV", "UCI_Elo", "Skill Level", "SyzygyProbeDepth"
        if option.kind == "check" or option.name in (*numbers, "BookFile", "Debug Log File"):
            shared_talk.say(f"setoption name {option.name} value {str(option.default).lower()}")
    shared_talk.say("debug off")


# Strength: three options, one value


@pytest.mark.parametrize(
    ("settings", "strength"),
    [
        ([], None),
        (["UCI_Elo=1200"], None),
        (["UCI_LimitStrength=true"], at_elo(DEFAULT_ELO)),
        (["UCI_LimitStrength=true", "UCI_Elo=1200"], at_elo(1200)),
        (["UCI_Elo=1200", "UCI_LimitStrength=true"], at_elo(1200)),
        (["UCI_LimitStrength=true", "UCI_Elo=1200", "UCI_LimitStrength=false"], None),
        (["Skill Level=3"], at_level(3)),
        (["Skill Level=3", "Skill Level=20"], None),
        (["Skill Level=3", "UCI_LimitStrength=false"], None),
        (["Skill Level=3", "UCI_Elo=1200"], at_level(3)),
        (["UCI_LimitStrength=true", "UCI_Elo=1200", "Skill Level=3"], at_level(3)),
        (["Skill Level=3", "UCI_LimitStrength=true", "UCI_Elo=1200"], at_elo(1200)),
        (["UCI_LimitStrength=true", "UCI_Elo=1200", "Skill Level=20"], at_elo(1200)),
        (["UCI_LimitStrength=false", "UCI_Elo=1200", "Skill Level=3"], at_level(3)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_last_one_set_holds(talk, settings, strength):
    for name, _, value in (setting.partition("=") for setting in settings):
        assert talk.say(f"setoption name {name} value {value}") == []
    assert talk.runtime.searcher.strength == strength


def test_the_last_one_set_holds_also_before_the_engine_is_loaded():
    fresh = Talk()
    for setting in ("Skill Level value 3", "UCI_LimitStrength value true", "Skill Level value 5"):
        fresh.session.set_option(*setting.split(" value "))
    assert fresh.runtime.searcher.strength == at_level(5)


def test_in_analyse_mode_strength_is_full(talk):
    talk.say("setoption name Skill Level value 0", "setoption name UCI_AnalyseMode value true")
    depths = [re.findall(r"^info depth (\d+)", line) for line in talk.say("go depth 7")]
    assert ["7"] in depths


# Win, draw and loss


@pytest.mark.parametrize("centipawns", [-40_000, -900, -137, -1, 0, 1, 137, 900, 40_000])
def test_wins_draws_and_losses_sum_to_a_thousand_and_mean_the_expected_score(centipawns):
    wins, draws, losses = win_draw_loss(expected_score(centipawns))
    assert min(wins, draws, losses) >= 0
    assert wins + draws + losses == 1000
    assert (wins + draws / 2) / 1000 == pytest.approx(expected_score(centipawns), abs=0.001)
    assert win_draw_loss(expected_score(-centipawns)) == (losses, draws, wins)


def test_wdl_follows_the_score_when_asked_for(talk):
    assert not any(" wdl " in line for line in talk.say("go depth 3"))
    *infos, _ = talk.say("setoption name UCI_ShowWDL value true", "go depth 3")
    for line in infos:
        cp, *wdl = map(int, re.findall(r"score cp (-?\d+) wdl (\d+) (\d+) (\d+) nodes", line)[0])
        assert tuple(wdl) == win_draw_loss(expected_score(cp, families.default().k))


@pytest.mark.parametrize(("fen", "wdl"), [(MATE_IN_ONE, "1000 0 0"), (MATED, "0 0 1000")])
def test_a_mate_is_certain(talk, fen, wdl):
    said = talk.say("setoption name UCI_ShowWDL value true", f"position fen {fen}", "go depth 3")
    assert re.search(rf"score mate -?\d wdl {wdl} ", said[-2])


def test_a_stalemate_is_a_certain_draw(talk):
    stalemate = "position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
    info, best = talk.say("setoption name UCI_ShowWDL value true", stalemate, "go depth 3")
    assert info.startswith("info depth 0 ") and " score cp 0 wdl 0 1000 0 " in info and best == "bestmove (none)"


# Log


def test_the_log_has_all_that_was_said_and_heard_with_the_time(talk, tmp_path):
    log = tmp_path / "two  blanks.log"
    log.write_text("kept\n")
    assert talk.say(f"setoption name Debug Log File value {log}") == []
    said = talk.say("isready", "go depth 1")
    talk.say("setoption name Debug Log File value <empty>", "isready")
    kept, *lines = log.read_text().splitlines()
    assert kept == "kept"
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (>>|<<) ", line) for line in lines)
    logged = [line[24:] for line in lines]
    assert logged[0] == ">> isready"
    assert [line for line in logged if line.startswith("<<")] == [f"<< {line}" for line in said]
    assert logged[-1].startswith(">> setoption")


# Book


def write_book(file: Path, *entries: tuple[str, str, int]) -> Path:
    """A Polyglot book with (FEN, move as king takes rook, weight) entries."""
    keyed = [(chess.polyglot.zobrist_hash(chess.Board(fen)), _packed(move), weight, 0) for fen, move, weight in entries]
    file.write_bytes(b"".join(struct.pack(">QHHI", *entry) for entry in sorted(keyed)))
    return file


def _packed(text: str) -> int:
    move = chess.Move.from_uci(text)
    return move.to_square | move.from_square << 6 | (move.promotion or 1) - 1 << 12


@pytest.fixture
def book(tmp_path: Path) -> Path:
    start = chess.STARTING_FEN
    return write_book(tmp_path / "a book.bin", (start, "b1a3", 1), (start, "h2h3", 3), (start, "a2a3", 0))


def test_book_moves_are_drawn_by_weight(book):
    random, moves = Random(1), []
    for _ in range(400):
        move = Book(book).move(game.Position(), random)
        moves.append(move.uci() if move else "")
    assert set(moves) == {"b1a3", "h2h3"}
    assert moves.count("h2h3") == pytest.approx(300, abs=40)


def test_castling_in_a_book_is_understood(tmp_path):
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    book = Book(write_book(tmp_path / "castle.bin", (fen, "e1h1", 1)))
    assert book.move(game.Position(fen), Random(1)) == game.Position(fen).parse_uci("e1g1")
    assert book.move(game.Position(fen, chess960=True), Random(1)) == game.Position(fen).parse_uci("e1g1")


def test_what_is_no_book_is_refused(tmp_path):
    for content in (b"", b"1" * 15, b"joho" * 5, b"".join(struct.pack(">QHHI", key, 0, 1, 0) for key in (5, 7, 6))):
        (file := tmp_path / "no book.bin").write_bytes(content)
        with pytest.raises(BookError, match=r"not a Polyglot book|is empty"):
            Book(file)


@pytest.mark.parametrize("move", [_packed("e2e5"), _packed("e2e4") | 1 << 15, _packed("e2e4") | 7 << 12, 0])
def test_an_illegal_move_of_a_book_is_not_played(tmp_path, move):
    key = chess.polyglot.zobrist_hash(chess.Board())
    (file := tmp_path / "broken.bin").write_bytes(struct.pack(">QHHI", key, move, 1, 0))
    found = Book(file).move(game.Position(), Random(1))
    assert found is None or found in game.Position().legal_moves


def test_what_books_of_other_programs_have_is_no_fault(tmp_path):
    castles = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4"
    entries = [(chess.STARTING_FEN, "e2e4", 0), (castles, "e1h1", 65535), (castles, "e1g1", 1), (KIWIPETE, "0000", 0)]
    file = write_book(tmp_path / "other.bin", *entries, (chess.STARTING_FEN, "e2e4", 3))
    assert Book(file).move(game.Position(), Random(1)) is not None
    assert Book(file).move(game.Position(castles), Random(1)) is not None
    assert Book(file).move(game.Position(KIWIPETE), Random(1)) is None


def test_a_game_begins_in_the_book_and_goes_on_without(talk, book):
    talk.say("setoption name OwnBook value true", f"setoption name BookFile value {book}")
    info, best = talk.say("go wtime 1000 btime 1000")
    assert re.fullmatch(r"info depth 1 .* score cp -?\d+ nodes \d+ .* pv (b1a3|h2h3)", info)
    assert best in ("bestmove b1a3", "bestmove h2h3")
    assert len(talk.say("position startpos moves e2e4", "go depth 4")) > 2


@pytest.mark.parametrize("setting", ["setoption name OwnBook value false", "setoption name UCI_AnalyseMode value true"])
def test_the_book_stays_closed_unless_it_is_wanted(talk, book, setting):
    talk.say("setoption name OwnBook value true", f"setoption name BookFile value {book}", setting)
    assert len(talk.say("go depth 3")) > 2


@pytest.mark.parametrize(
    "limits", [Limits(infinite=True), Limits(ponder=True), Limits(search_moves=(1,)), Limits(mate=2)]
)
def test_the_book_is_for_playing(talk, book, limits):
    talk.say("setoption name OwnBook value true", f"setoption name BookFile value {book}")
    assert talk.runtime.book_move(game.Position(), Limits(depth=3)) is not None
    assert talk.runtime.book_move(game.Position(), limits) is None


# Endgame tables


def kept(fen: str, tables: FakeTables) -> set[str]:
    advice = advise(tables, game.Position(fen))
    assert advice is not None
    assert advice.hits == chess.Board(fen).legal_moves.count()
    return {move.uci() for move in advice.moves}


@pytest.mark.parametrize(
    ("fen", "tables", "move"),
    [
        (QUEEN_ENDING, FakeTables(), "a1b2"),  # of winning moves the quickest
        ("4k3/8/8/8/8/8/1q6/K7 w - - 0 1", FakeTables(), "a1b2"),  # it draws, and the others lose
        ("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", FakeTables(distance=lambda steps: 0), "g6g7"),  # mate before any distance
    ],
)
def test_the_best_move_of_the_tables_is_kept(fen, tables, move):
    assert kept(fen, tables) == {move}


def test_a_loss_that_comes_too_late_for_the_fifty_moves_is_preferred():
    tables = FakeTables(distance=lambda steps: 9 if steps > 6 else 1)
    early, late = (QUEEN_ENDING.replace(" w ", " b ").replace(" 0 1", f" {clock} 90") for clock in (0, 97))
    assert {"d5d4", "d5d6", "d5c6"} <= kept(early, tables)
    assert kept(late, tables) == {"d5d6", "d5c6"}


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, "4k3/8/8/8/8/8/8/4K2R w K - 0 1"])
def test_tables_are_not_asked_what_they_cannot_know(fen):
    assert advise(FakeTables(fault=AssertionError), game.Position(fen)) is None


def test_a_missing_table_restricts_nothing(talk):
    talk.runtime.tables = FakeTables(fault=KeyError)
    assert talk.runtime.advice(game.Position(QUEEN_ENDING)) is None


def test_the_search_keeps_to_the_tables_and_counts_them(talk):
    talk.runtime.tables = FakeTables()
    said = talk.say(f"position fen {QUEEN_ENDING}", "go depth 6")
    assert said[-1].startswith("bestmove a1b2")
    assert f" tbhits {chess.Board(QUEEN_ENDING).legal_moves.count()} " in said[-2]
    said = talk.say("go depth 2 searchmoves a1a2")  # which counts more
    assert said[-1].startswith("bestmove a1a2")


@pytest.mark.parametrize("setting", ["MultiPV value 2", "Skill Level value 0"])
def test_tables_are_left_aside_where_other_moves_are_wanted(talk, setting):
    talk.runtime.tables = FakeTables()
    talk.say(f"setoption name {setting}")
    assert talk.runtime.advice(game.Position(QUEEN_ENDING)) is None


@pytest.mark.parametrize("fen", ["8/8/8/3Q4/8/1K6/8/2k5 w - - 0 1", "6k1/8/5K2/8/8/3Q2r1/8/8 w - - 0 1"])
def test_a_search_for_a_mate_leaves_tables_aside(talk, fen):
    """In the first position they advise another move; in the second they know of the capture only that it wins."""
    talk.runtime.tables = FakeTables()
    said = talk.say(f"position fen {fen}", "go mate 2")
    assert " score mate 2 " in said[-2] and " tbhits 0 " in said[-2]


def test_a_broken_table_is_said_once_and_the_others_are_used(talk, tmp_path):
    (file := tmp_path / "KQvK.rtbw").write_bytes(b"no table" * 10)
    (tmp_path / "KRvK.rtbw").write_bytes(constant_file("KRvK", WON, LOST))
    talk.say(f"setoption name SyzygyPath value {tmp_path}", f"position fen {QUEEN_ENDING}")
    first = talk.say("go depth 2")
    assert first[0].startswith(f"info string error: SyzygyPath: a broken table: '{file}': invalid magic header")
    assert first[0].endswith("; the others are used") and first[-1].startswith("bestmove")
    assert not any("error" in line for line in talk.say("go depth 2"))
    other = talk.say("position fen 3q3k/8/8/8/8/8/8/K2R4 w - - 0 1", "go depth 6")
    assert int(next(line for line in reversed(other) if " tbhits " in line).split(" tbhits ")[1].split()[0]) > 0


def test_the_engine_counts_what_the_search_found_in_tables(talk, tmp_path):
    (tmp_path / "KQvK.rtbw").write_bytes(constant_file("KQvK", WON, LOST))
    assert talk.say(f"setoption name SyzygyPath value {tmp_path}") == []
    lines = talk.say(f"position fen {ROOK_TO_TAKE}", "go depth 8")
    last = next(line for line in reversed(lines) if " tbhits " in line)
    assert int(last.split(" tbhits ")[1].split()[0]) > 0
    assert f"score cp {TABLEBASE_WIN - 1}" in last and lines[-1].startswith("bestmove d1d8")


def test_good_folders_of_tables_are_used_and_bad_ones_named(talk, tmp_path):
    (tmp_path / "good").mkdir()
    (tmp_path / "bare").mkdir()
    (tmp_path / "good" / "KQvK.rtbw").write_bytes(constant_file("KQvK", WON, LOST))
    bad = [f"no tables in '{tmp_path / 'bare'}'", f"cannot read '{tmp_path / 'gone'}': No such file or directory"]
    path = os.pathsep.join(str(tmp_path / name) for name in ("bare", "good", "gone"))
    faults = [f"info string error: SyzygyPath: {fault}; the others are used" for fault in bad]
    assert talk.say(f"setoption name SyzygyPath value {path}") == faults
    assert talk.runtime.tables.path == path and len(talk.runtime.tables.wdl) == 2
    said = talk.say(f"setoption name SyzygyPath value {tmp_path / 'bare'}{os.pathsep}{tmp_path / 'gone'}")
    assert said == [f"info string error: SyzygyPath: {'; '.join(bad)}; it stays unchanged"]
    assert talk.runtime.tables.path == path


def test_a_table_that_breaks_in_the_search_is_said_before_the_move(talk, tmp_path):
    file = tmp_path / "KQvK.rtbw"
    file.write_bytes(b"no table" * 10)
    go = [f"position fen {ROOK_TO_TAKE}", "go depth 8"]
    lines = talk.say(f"setoption name SyzygyPath value {tmp_path}", *go)
    fault = f"a broken table: '{file}': it is no Syzygy table of results, or its end is missing"
    error = f"info string error: SyzygyPath: {fault}; the others are used"
    assert lines.count(error) == 1 and lines[-1].startswith("bestmove")
    assert error not in talk.say(*go)


def test_a_move_does_not_wait_for_tables_on_a_slow_disk(talk, monkeypatch):
    monkeypatch.setattr(clocks, "MAX_TABLES_SECONDS", 0.05)
    disk = threading.Event()
    talk.runtime.tables = FakeTables(fault=lambda: KeyError(disk.wait(20)))
    first = talk.say(f"position fen {QUEEN_ENDING}", "go depth 2")
    monkeypatch.setattr(clocks, "MAX_TABLES_SECONDS", 20.0)
    second = talk.say("go depth 2")  # which does not ask them again
    disk.set()
    assert first[0] == "info string SyzygyPath: the disk of the tablebases is slow; this move is searched without them"
    assert first[-1].startswith("bestmove") and second[-1].startswith("bestmove")
    assert not any("SyzygyPath" in line for line in second)
    assert talk.runtime.searcher.tablebases is None
    assert not any("SyzygyPath" in line for line in talk.say("go depth 2"))


def test_tables_are_waited_for_no_longer_than_a_part_of_the_time():
    assert clocks.tables_seconds(Limits(time=(400, 60_000)), bitboard.WHITE) == 0.04
    assert clocks.tables_seconds(Limits(movetime=100), bitboard.WHITE) == 0.05
    assert clocks.tables_seconds(Limits(time=(400, 60_000)), bitboard.BLACK) == 1.0
    assert clocks.tables_seconds(Limits(), bitboard.WHITE) == 1.0


def test_each_option_that_shows_its_value_shows_what_was_set():
    runtime = Runtime(1)
    shown = [each for each in options.OPTIONS.values() if not each.is_about_dialogue and each.present(runtime)]
    named = {"Hash", "Threads", "MultiPV", "Skill Level", "Seed", "OwnBook", "SyzygyPath", "WeightsFile"}
    assert named <= {each.name for each in shown}
    for option in shown:
        assert option.present(runtime), option.name
        if option.kind == "check":
            values: tuple[bool | int, ...] = (True, False)
        else:
            values = (2, 3) if option.bounds and option.bounds[0] < 2 else option.bounds or ()
        for value in values:
            option.apply_to(runtime, value)
            assert option.present(runtime) == {True: "on", False: "off"}.get(value, str(value)), option.name
    options.find("SyzygyPath").apply_to(runtime, FakeTables())
    assert options.find("SyzygyPath").present(runtime) == "tables"


# `setoption` over a pipe against the real process.


def test_an_option_is_found_in_any_case_and_its_value_clamped(engine):
    for given, taken in ((99999, 5000), (-1, 0)):
        engine.send(f"setoption name mOVE   oVERHEAD value {given}")
        assert engine.sync() == [f"info string Move Overhead {given} is out of range; {taken} is used"]
    engine.send("setoption name Move Overhead value 50")


@pytest.mark.parametrize(
    "option", [option for option in options.OPTIONS.values() if option.bounds], ids=lambda option: option.name
)
def test_a_value_below_the_least_or_above_the_greatest_becomes_that_one(option):
    low, high = option.bounds
    given = (low - 1, low, low + 1, high - 1, high, high + 1, -(10**18), 10**18, -0)
    taken = (low, low, low + 1, high - 1, high, high, low, high, low)
    assert tuple(option.clamp(option.read(str(value))) for value in given) == taken


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("setoption name Joho value 3", "info string error: there is no option 'Joho'"),
        ("setoption", "info string error: there is no option ''"),
        ("setoption name Hash", "info string error: Hash needs a value and stays unchanged"),
        ("setoption name Hash value", "info string error: Hash needs a value and stays unchanged"),
        ("setoption name Hash value big", "info string error: Hash must be a number, not 'big'"),
        ("setoption name Hash value 1_6", "info string error: Hash must be a number, not '1_6'"),
        ("setoption name Hash value 0", "info string Hash 0 is out of range; 1 is used"),
        ("setoption name Skill Level value +20", None),
        ("setoption name Ponder value maybe", "info string error: Ponder must be true or false, not 'maybe'"),
        ("setoption name UCI_EngineAbout value x", None),
        ("setoption name Clear Hash", None),
        ("setoption name ponder value TRUE", None),
    ],
)
def test_a_faulty_setoption_is_explained(engine, line, answer):
    engine.send(line)
    assert engine.sync() == ([answer] if answer else [])
    assert bestmove(engine, "go depth 1") != "(none)"


def test_a_hash_beyond_memory_is_refused(engine):
    engine.send("setoption name Hash value 999999999")
    assert engine.sync()[0] == "info string Hash 999999999 is out of range; 65536 is used"
    assert bestmove(engine, "setoption name Hash value 1", "go depth 3") != "(none)"


def test_hash_and_threads_set_during_a_search_wait_for_its_end(engine):
    engine.send("go infinite", "setoption name Threads value 2", "setoption name Hash value 4", "isready")
    notes = [line.text for line in engine.read_until("readyok") if "info string" in line.text]
    assert notes[-2:] == [f"info string {name} takes effect when the search ends" for name in ("Threads", "Hash")]
    engine.ask("stop", until="bestmove")
    assert bestmove(engine, "go depth 4") != "(none)"
    engine.send("setoption name Threads value 1")


def test_several_lines_set_during_a_search_are_for_the_next_one(engine):
    said = engine.ask("go infinite", "setoption name MultiPV value 3", "isready", "stop", until="bestmove")
    assert {field(line, "multipv") for line in infos(said)} == {"1"}
    said = engine.ask("go depth 3", until="bestmove")
    assert {field(line, "multipv") for line in infos(said)} == {"1", "2", "3"}


@pytest.mark.parametrize(("style", "castling"), [("true", "e1h1"), ("false", "e1g1")])
def test_castling_is_written_in_the_style_asked_for(engine, style, castling):
    fen = "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    for given in ("e1h1", "e1g1"):
        lines = (f"setoption name UCI_Chess960 value {style}", fen, f"go depth 2 searchmoves {given}")
        assert bestmove(engine, *lines) == castling
    engine.send(f"{fen[:-1]}1 moves {castling}")
    assert engine.sync() == []


@pytest.mark.parametrize("style", ["true", "false"])
@pytest.mark.parametrize(
    "position",
    [
        "4k3/8/8/8/8/8/8/1RK5 w B - 0 1",
        "4rkr1/4p1p1/8/8/8/8/8/5K1R w K - 0 1",
        "nrkbqrbn/pppppppp/8/8/8/8/PPPPPPPP/NRKBQRBN w KQkq - 0 1 moves c1b1 c8b8",
    ],
)
def test_lines_of_a_position_that_needs_chess960_can_be_played_in_that_style(engine, position, style):
    said = engine.ask(f"setoption name UCI_Chess960 value {style}", f"position fen {position}", "go depth 7", until="b")
    engine.send("setoption name UCI_Chess960 value false")
    fen, _, moves = position.partition(" moves ")
    for info in infos(said):
        board = chess.Board(fen, chess960=True)
        for move in [*moves.split(), *line_of(info)]:
            assert chess.Move.from_uci(move) in board.legal_moves, (info, move)
            board.push_uci(move)
        assert board.is_checkmate() or " mate " not in info


def test_the_weights_in_use_are_said_at_the_first_search_only():
    with UciProcess() as fresh:
        assert not any("weights" in line for line in fresh.ask("uci", "isready", until="readyok"))
        assert fresh.ask("go depth 1", until="bestmove")[0].startswith("info string weights: /")
        assert not any("weights" in line for line in fresh.ask("go depth 1", until="bestmove"))


def test_a_weights_file_is_taken_and_a_faulty_one_leaves_the_old(engine, tmp_path):
    before = engine.ask("eval", until="Evaluation")
    good, bad = tmp_path / "two  blanks.txt", tmp_path / "bad.txt"
    shutil.copy(families.active_file(), good)
    bad.write_text("VAL_P 100\nVAL_X 3\n")
    engine.send(f"setoption name WeightsFile value {bad}")
    (error,) = engine.sync()
    assert error.startswith(f"info string error: WeightsFile: {bad}:2:")
    assert engine.ask("eval", until="Evaluation") == before
    engine.send(f"setoption name weightsfile value {good}")
    assert engine.sync() == [f"info string weights: {good}"]
    assert engine.ask("eval", until="Evaluation") == before
    engine.send("setoption name WeightsFile value learnd")
    (error,) = engine.sync()
    assert "Merino comes with default" in error and "did you mean 'learned'" in error
    engine.send("setoption name WeightsFile value learned")
    assert engine.sync() == [f"info string weights: {SHIPPED / 'learned.txt'}"]


def test_memory_that_only_files_fill_is_free_for_the_hash_table(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       8388608 kB\nMemAvailable:    4194304 kB\n")
    assert free_megabytes(meminfo, tmp_path) == 4096
    for name, content in (("max", 1 << 30), ("current", (1 << 30) - (1 << 20))):
        (tmp_path / f"memory.{name}").write_text(f"{content}\n")
    assert free_megabytes(meminfo, tmp_path) == 1
    (tmp_path / "memory.stat").write_text(f"anon {50 << 20}\ninactive_file {900 << 20}\nactive_file {70 << 20}\n")
    assert free_megabytes(meminfo, tmp_path) == 901
    (tmp_path / "memory.max").write_text("max\n")
    assert free_megabytes(meminfo, tmp_path) == 4096
