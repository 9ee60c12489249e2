"""Endgame tables in the search: which positions it asks about, what it makes of the answers, and of faults."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from merino.inner.core.board.bitboard import popcount
from merino.inner.core.board.fen import parse_fen
from merino.inner.engine.search.limits import KNOWN_WIN, TABLEBASE_WIN, Limits, Line, Score
from merino.inner.engine.search.searcher import Searcher
from merino.inner.engine.search.tablebase_probe import DRAW, LOSS, UNKNOWN, WIN, TablebaseProbe
from merino.inner.engine.tables.tablebase import BLESSED_LOSS, CURSED_WIN, probe_of
from tests.fake_tables import FakeTables

ROOK_TO_TAKE = "3r3k/8/8/8/8/8/8/K2Q4 w - - 0 1"  # d1d8 leaves a queen against a king
PAWNS = "4k3/2p3p1/8/1P5P/1p5p/8/2P3P1/R3K3 w Q - 0 1"


def searched(fen: str, tablebases: TablebaseProbe | None, depth: int = 8, threads: int = 1) -> Line:
    searcher = Searcher(1, threads)
    searcher.tablebases = tablebases
    line = searcher.search(fen, Limits(depth=depth)).line
    assert line is not None
    return line


@pytest.mark.parametrize("threads", [1, 2])
def test_a_capture_into_a_won_ending_is_a_known_win(threads: int) -> None:
    tablebases = probe_of(FakeTables(), depth=1)
    line = searched(ROOK_TO_TAKE, tablebases, threads=threads)
    assert line.pv[0].uci() == "d1d8" and line.score == TABLEBASE_WIN - 1
    assert line.score.mate is None and line.score.words() == "a win by the tablebases"
    assert tablebases.hits > 0 and tablebases.fault is None
    assert searched(ROOK_TO_TAKE, None, depth=4).score < KNOWN_WIN


def test_a_search_for_a_mate_asks_no_tables() -> None:
    """In this position they know of the capture only that it wins."""
    searcher, tablebases = Searcher(1), probe_of(FakeTables(), depth=1)
    searcher.tablebases = tablebases
    line = searcher.search("6k1/8/5K2/8/8/3Q2r1/8/8 w - - 0 1", Limits(mate=2)).line
    assert line is not None and line.score.mate == 2
    assert tablebases.hits == 0


def test_a_side_does_not_take_what_the_tables_say_loses() -> None:
    line = searched(ROOK_TO_TAKE, TablebaseProbe(3, lambda position: WIN, depth=1))
    assert line.pv[0].uci() != "d1d8"
    assert -KNOWN_WIN < line.score < KNOWN_WIN


def test_a_lost_side_makes_for_the_draw_that_the_tables_know() -> None:
    lost = "3r3k/3q4/8/8/8/8/8/K2Q4 w - - 0 1"  # without tables the exchange of queens loses too
    tablebases = TablebaseProbe(4, lambda position: DRAW if position[0]["side"] == 1 else UNKNOWN, depth=1)
    assert searched(lost, None).score < -300
    assert searched(lost, tablebases).score >= 0


def test_only_positions_after_a_capture_or_pawn_move_with_few_pieces_are_asked_about() -> None:
    asked: list[np.ndarray] = []

    def result_of(position: np.ndarray) -> int:
        asked.append(position.copy())
        return UNKNOWN

    tablebases = TablebaseProbe(10, result_of, depth=3)
    plain, told = searched(PAWNS, None), searched(PAWNS, tablebases)
    assert told._replace(nps=0, time_ms=0) == plain._replace(nps=0, time_ms=0), "no answer changes nothing"
    assert len(asked) > 10 and tablebases.hits == 0
    for record in asked:
        assert record[0]["halfmove"] == 0 and record[0]["castling"] == 0
        assert popcount(record[0]["colours"][0] | record[0]["colours"][1]) <= 10
    assert not any(record[0]["side"] == 0 and record[0]["fullmove"] == 1 for record in asked), "the root"


def test_shallow_nodes_do_not_ask() -> None:
    asked: list[int] = []
    searched(PAWNS, TablebaseProbe(10, lambda position: asked.append(1) or UNKNOWN, depth=20), depth=7)
    assert not asked


def test_a_broken_table_is_asked_once_and_the_search_goes_on() -> None:
    asked: list[int] = []

    def broken(position: np.ndarray) -> int:
        asked.append(1)
        raise OSError("no disk")

    tablebases = TablebaseProbe(10, broken, depth=3)
    assert searched(PAWNS, tablebases).score == searched(PAWNS, None).score
    assert str(tablebases.fault) == "no disk" and len(asked) == 1


@pytest.mark.parametrize(("said", "known"), [(2, WIN), (CURSED_WIN, DRAW), (0, DRAW), (BLESSED_LOSS, DRAW), (-2, LOSS)])
def test_wins_that_the_fifty_moves_forbid_are_draws(said: int, known: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    tables = FakeTables()
    monkeypatch.setattr(tables, "probe_wdl", lambda board: seen.append(board.epd()) or said)
    fen = "8/8/8/2k5/3Pp3/8/8/K7 b - d3 0 1"
    asked = ask(probe_of(tables, 1), fen)
    assert asked == known and seen == [chess.Board(fen).epd()]


def ask(tablebases: TablebaseProbe, fen: str) -> int:
    return tablebases._answer(parse_fen(fen))


def test_a_missing_table_says_nothing() -> None:
    tablebases = probe_of(FakeTables(fault=lambda: KeyError("KRvK")), 1)
    assert ask(tablebases, "8/8/8/2k5/8/8/8/KR6 w - - 0 1") == UNKNOWN
    assert tablebases.fault is None and tablebases.hits == 0


def test_a_known_loss_is_told_in_words() -> None:
    assert Score(-TABLEBASE_WIN).words() == "a loss by the tablebases"
    assert Score(1 - KNOWN_WIN).words() != Score(-KNOWN_WIN).words() == "a loss by the tablebases"
