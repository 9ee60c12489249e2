"""Endgame tables in the search: which positions it asks about, what it makes of the answers, and of faults."""

from pathlib import Path

import pytest

from merino.core.board.game import Position
from merino.core.board.move import NO_MOVE
from merino.core.compiled.jit import entry
from merino.core.compiled.memory import copy_record
from merino.engine.search.limits import KNOWN_WIN, MAX_PLY, TABLEBASE_WIN, Limits, Line, Score, SearchResult
from merino.engine.search.pruning import NO_CUTOFF
from merino.engine.search.searcher import Searcher
from merino.engine.search.tablebase_probe import TablebaseProbe, tablebase_cutoff
from merino.engine.syzygy.probing import MAX_MEN
from merino.engine.syzygy.table_files import ResultTables
from tests.material_family import MaterialEvaluation
from tests.syzygy_files import BLESSED, CURSED, DRAWN, LOST, WON, constant_file
from tests.workers import worker_at

ROOK_TO_TAKE = "3r3k/8/8/8/8/8/8/K2Q4 w - - 0 1"  # d1d8 leaves a queen against a king


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


@entry
def _known(records, ply, depth, move):
    """What the tables know of the root's position as a node at `ply`, to which `move` has led."""
    s = records[0]
    copy_record(s.positions[ply], s.positions[0])
    s.plies[max(0, ply - 1)].move = move
    return tablebase_cutoff(s, ply, depth)


QUEEN = "7k/8/8/8/8/8/8/K2Q4 w - - 0 1"


@pytest.mark.parametrize(("value", "sign"), [(WON, 1), (CURSED, 0), (DRAWN, 0), (BLESSED, 0), (LOST, -1)])
@pytest.mark.parametrize(
    ("fen", "ply", "depth", "move", "is_asked"),
    [
        (QUEEN, 1, 3, 1, True),
        (QUEEN, MAX_PLY - MAX_MEN, 3, 1, True),
        (QUEEN, MAX_PLY - MAX_MEN + 1, 9, 1, False),  # whose captures would go beyond the last ply
        (QUEEN, 0, 3, 1, False),
        (QUEEN, 1, 2, 1, False),
        (QUEEN, 1, 3, NO_MOVE, False),  # which sets the count of the fifty moves back
        (QUEEN.replace("0 1", "1 1"), 1, 3, 1, False),
        ("4k3/8/8/8/8/8/8/Q3K2R w K - 0 1", 1, 3, 1, False),
        ("7k/8/8/8/8/8/8/K2QQ3 w - - 0 1", 1, 3, 1, False),
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", 1, 3, 1, False),
    ],
)
def test_only_positions_after_a_capture_or_pawn_move_with_few_pieces_are_asked_about(
    value: int, sign: int, fen: str, ply: int, depth: int, move: int, is_asked: bool, tmp_path: Path
) -> None:
    """The score counts the plies to them."""
    tablebases = TablebaseProbe(tables_of(tmp_path, KQvK=(value, WON), KRvK=(WON, WON)), depth=3)
    worker = worker_at(Position(fen), MaterialEvaluation())
    worker.set_tablebases(tablebases)
    assert _known(worker.record, ply, depth, move) == (sign * (TABLEBASE_WIN - ply) if is_asked else NO_CUTOFF)
    assert tablebases.hits == is_asked


@pytest.mark.parametrize(
    ("fen", "limits", "advised", "best", "hits"),
    [
        (ROOK_TO_TAKE, Limits(depth=2), ("d1d8",), "d1d8", False),  # advice knows more than the tables
        (ROOK_TO_TAKE, Limits(depth=2), (), "d1d8", True),
        ("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", Limits(mate=1), ("f6f7",), "g1g7", False),  # a mate may be another move
        ("6k1/8/5K2/8/8/3Q2r1/8/8 w - - 0 1", Limits(mate=2), (), None, False),  # of a capture they know that it wins
    ],
)
def test_a_search_with_advice_asks_no_tables_and_one_for_a_mate_takes_none(
    fen: str, limits: Limits, advised: tuple[str, ...], best: str | None, hits: bool, tmp_path: Path
) -> None:
    searcher, tablebases = Searcher(1), TablebaseProbe(tables_of(tmp_path, KQvK=(WON, LOST)), depth=1)
    searcher.tablebases, results, position = tablebases, list[SearchResult](), Position(fen)
    moves = [int(position.parse_uci(text)) for text in advised]
    searcher.start(position, limits, lambda _: None, results.append, advised=moves)
    searcher.wait()
    line = results[0].line
    assert line is not None and (position.uci(line.pv[0]) == best if best else line.score.mate == 2)
    assert (tablebases.hits > 0) is hits


def test_a_broken_table_is_read_once_and_the_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "KQvK.rtbw").write_bytes(b"no table" * 10)
    tablebases = TablebaseProbe(ResultTables({"KQvK": tmp_path / "KQvK.rtbw"}), depth=1)
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
