"""Endgame tables in the search: which positions it asks about, what it makes of the answers, and of faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merino.core.board.bitboard import popcount
from merino.core.board.position import POSITION
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import address_of, array_at
from merino.engine.search.limits import KNOWN_WIN, TABLEBASE_WIN, Limits, Line, Score
from merino.engine.search.searcher import Searcher
from merino.engine.search.tablebase_probe import TablebaseProbe
from merino.engine.syzygy.probing import UNKNOWN
from merino.engine.syzygy.table_files import ResultTables
from tests.syzygy_files import BLESSED, CURSED, DRAWN, LOST, WON, constant_file

ROOK_TO_TAKE = "3r3k/8/8/8/8/8/8/K2Q4 w - - 0 1"  # d1d8 leaves a queen against a king
PAWNS = "4k3/2p3p1/8/1P5P/1p5p/8/2P3P1/R3K3 w Q - 0 1"
MOST_ASKED = 4096


def tables_of(folder: Path, **values: tuple[int, int]) -> ResultTables:
    """Tables with one value for White to move, and one for Black."""
    for name, each in values.items():
        (folder / f"{name}.rtbw").write_bytes(constant_file(name, *each))
    return ResultTables({name: folder / f"{name}.rtbw" for name in values})


def searched(fen: str, tablebases: TablebaseProbe | None, depth: int = 8, threads: int = 1) -> Line:
    searcher = Searcher(1, threads)
    searcher.tablebases = tablebases
    line = searcher.search(fen, Limits(depth=depth)).line
    assert line is not None
    return line


@pytest.mark.parametrize("threads", [1, 2])
def test_a_capture_into_a_won_ending_is_a_known_win(threads: int, tmp_path: Path) -> None:
    tablebases = TablebaseProbe(tables_of(tmp_path, KQvK=(WON, LOST)), depth=1)
    line = searched(ROOK_TO_TAKE, tablebases, threads=threads)
    assert line.pv[0].uci() == "d1d8" and line.score == TABLEBASE_WIN - 1
    assert line.score.mate is None and line.score.words() == "a win by the tablebases"
    assert tablebases.hits > 0 and tablebases.fault is None
    assert searched(ROOK_TO_TAKE, None, depth=4).score < KNOWN_WIN


def test_a_search_for_a_mate_asks_no_tables(tmp_path: Path) -> None:
    """In this position they know of the capture only that it wins."""
    searcher, tablebases = Searcher(1), TablebaseProbe(tables_of(tmp_path, KQvK=(WON, LOST)), depth=1)
    searcher.tablebases = tablebases
    line = searcher.search("6k1/8/5K2/8/8/3Q2r1/8/8 w - - 0 1", Limits(mate=2)).line
    assert line is not None and line.score.mate == 2
    assert tablebases.hits == 0


def test_a_side_does_not_take_what_the_tables_say_loses(tmp_path: Path) -> None:
    line = searched(ROOK_TO_TAKE, TablebaseProbe(tables_of(tmp_path, KQvK=(LOST, WON)), depth=1))
    assert line.pv[0].uci() != "d1d8"
    assert -KNOWN_WIN < line.score < KNOWN_WIN


@pytest.mark.parametrize(("white", "black"), [(DRAWN, DRAWN), (CURSED, BLESSED), (BLESSED, CURSED)])
def test_what_the_fifty_moves_make_a_draw_is_one_for_the_search(white: int, black: int, tmp_path: Path) -> None:
    """The lost side goes for it: without tables the exchange of queens loses, too."""
    lost = "3r3k/3q4/8/8/8/8/8/K2Q4 w - - 0 1"
    assert searched(lost, None).score < -300
    line = searched(lost, TablebaseProbe(tables_of(tmp_path, KRvK=(white, black)), depth=1))
    assert line.pv[0].uci() == "d1d7" and line.score == 0


@kernel
def note_what_is_asked(s, ply, alpha, beta, _):
    """Keep the positions that are asked about, and know nothing."""
    count = array_at(s.tablebase_data, np.int64, 1)
    array_at(s.tablebase_data + np.uint64(8), POSITION, MOST_ASKED)[count[0] % MOST_ASKED] = s.positions[ply]
    count[0] += 1
    return UNKNOWN


@entry
def _link(records):
    records[0].tablebase = address_of(note_what_is_asked, records[0])


class NotingTables(ResultTables):
    """Tables that know nothing, and keep what they are asked."""

    def __init__(self, men: int) -> None:
        super().__init__({})
        self._men, self._memory = men, np.zeros(8 + MOST_ASKED * POSITION.itemsize, dtype=np.uint8)

    @property
    def men(self) -> int:
        return self._men

    def attach(self, record: np.ndarray) -> None:
        _link(record)
        record[0]["tablebase_data"] = self._memory.ctypes.data

    @property
    def asked(self) -> np.ndarray:
        count = int(self._memory[:8].view(np.int64)[0])
        assert count <= MOST_ASKED
        return self._memory[8:].view(POSITION)[:count]


def test_only_positions_after_a_capture_or_pawn_move_with_few_pieces_are_asked_about() -> None:
    tables = NotingTables(10)
    tablebases = TablebaseProbe(tables, depth=3)
    plain, heard = searched(PAWNS, None), searched(PAWNS, tablebases)
    assert heard._replace(nps=0, time_ms=0) == plain._replace(nps=0, time_ms=0), "no answer changes nothing"
    assert len(tables.asked) > 10 and tablebases.hits == 0
    assert not tables.asked["halfmove"].any() and not tables.asked["castling"].any()
    assert all(popcount(white | black) <= 10 for white, black in tables.asked["colours"])
    assert not ((tables.asked["side"] == 0) & (tables.asked["fullmove"] == 1)).any(), "the root"


def test_no_position_is_asked_about_after_a_null_move_which_sets_the_count_back() -> None:
    tables = NotingTables(10)
    searched("8/8/4k3/2r5/8/3Q4/8/4K3 w - - 30 60", TablebaseProbe(tables, depth=1))
    assert len(tables.asked) > 10
    assert all(popcount(white | black) < 4 for white, black in tables.asked["colours"]), "only captures end the count"


def test_shallow_nodes_do_not_ask() -> None:
    tables = NotingTables(10)
    searched(PAWNS, TablebaseProbe(tables, depth=20), depth=7)
    assert not len(tables.asked)


def test_a_broken_table_is_read_once_and_the_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "KQvK.rtbw").write_bytes(b"no table" * 10)
    tables = ResultTables({"KQvK": tmp_path / "KQvK.rtbw"})
    tablebases = TablebaseProbe(tables, depth=1)
    assert searched(ROOK_TO_TAKE, tablebases).score == searched(ROOK_TO_TAKE, None).score
    fault = f"a broken table: '{tmp_path / 'KQvK.rtbw'}': it is no Syzygy table of results, or its end is missing"
    assert tablebases.fault == fault and tablebases.hits == 0
    (tmp_path / "KQvK.rtbw").write_bytes(constant_file("KQvK", WON, LOST))
    searched(ROOK_TO_TAKE, tablebases)
    assert tablebases.hits == 0


def test_a_missing_table_says_nothing(tmp_path: Path) -> None:
    tablebases = TablebaseProbe(tables_of(tmp_path, KRvK=(WON, LOST)), depth=1)
    searched(ROOK_TO_TAKE, tablebases)
    assert tablebases.fault is None
    (tmp_path / "KRvK.rtbw").unlink()
    tablebases = TablebaseProbe(ResultTables({"KRvK": tmp_path / "KRvK.rtbw"}), depth=1)
    searched("3q3k/8/8/8/8/8/8/K2R4 w - - 0 1", tablebases)
    assert "No such file" in str(tablebases.fault), "one that was there when its folder was read"


def test_a_known_loss_is_stated_in_words() -> None:
    assert Score(-TABLEBASE_WIN).words() == "a loss by the tablebases"
    assert Score(1 - KNOWN_WIN).words() != Score(-KNOWN_WIN).words() == "a loss by the tablebases"
