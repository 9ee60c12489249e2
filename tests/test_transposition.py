"""The transposition table: what comes back is what was stored, and what must give way to what."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from merino.core.compiled.jit import entry
from merino.core.compiled.memory import CACHE_LINE
from merino.engine.search import transposition as tt
from merino.engine.search.limits import KNOWN_WIN, MATE_SCORE
from merino.engine.search.pruning import transposition_table_cutoff, tt_adjusted_eval
from merino.engine.search.state import NO_SCORE
from merino.engine.search.worker import Worker
from tests.material_family import MaterialEvaluation

IN_A_BUCKET = CACHE_LINE // 16  # two words each
KEY = 0x123456789ABCDEF0
BOUNDS = (tt.UPPER_BOUND, tt.LOWER_BOUND, tt.EXACT)


class Stored(NamedTuple):
    """A result as a node stores it and gets it back."""

    move: int = 1234
    score: int = 35
    static: int = -20
    depth: int = 7
    bound: int = tt.EXACT
    tt_pv: bool = False


@entry
def _store(records, ply, key, move, score, static, depth, bound, tt_pv):
    records[0].positions[ply].key = key
    tt.store(records[0], ply, move, score, static, depth, bound, tt_pv)


@entry
def _probe(records, ply, key):
    records[0].positions[ply].key = key
    data = tt.probe(records[0], ply)
    return (
        tt.entry_move(data),
        tt.entry_score(data, ply),
        tt.entry_static_eval(data),
        tt.entry_depth(data),
        tt.entry_bound(data),
        tt.entry_is_pv(data),
    )


@entry
def _bound_of(score, alpha, beta):
    return tt.bound_of(score, alpha, beta)


@entry
def _decides(records, key, score, beta, depth):
    records[0].positions[0].key = key
    return transposition_table_cutoff(tt.probe(records[0], 0), score, beta, depth)


@entry
def _adjusted(records, key, static_eval):
    records[0].positions[0].key = key
    return tt_adjusted_eval(tt.probe(records[0], 0), static_eval, 0)


class Table:
    """A table as one thread sees it."""

    def __init__(self) -> None:
        self.table = tt.TranspositionTable(1)
        self._worker = Worker(self.table, np.zeros(1, dtype=np.uint64), MaterialEvaluation())

    @property
    def record(self) -> np.ndarray:
        """The record of the thread, which knows the age of the table."""
        self._worker.record[0]["age"] = self.table.age
        return self._worker.record

    def store(self, stored: Stored, key: int = KEY, ply: int = 0) -> None:
        _store(self.record, ply, np.uint64(key), *stored)

    def probe(self, key: int = KEY, ply: int = 0) -> Stored | None:
        found = Stored(*_probe(self.record, ply, np.uint64(key)))
        return None if found.bound == tt.NO_BOUND else found


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.mark.parametrize(("bound", "tt_pv"), list(itertools.product(BOUNDS, (False, True))))
@pytest.mark.parametrize(("score", "static"), [(0, 0), (35, NO_SCORE), (-2999, 2999), (31000, -31000)])
def test_what_is_stored_comes_back(table: Table, bound: int, tt_pv: bool, score: int, static: int) -> None:
    stored = Stored(score=score, static=static, depth=127, bound=bound, tt_pv=tt_pv)
    table.store(stored, ply=9)
    assert table.probe(ply=3) == stored and table.probe(KEY ^ 1) is None
    assert table.probe(KEY ^ 1 << 60) is None


@pytest.mark.parametrize(("plies", "stored_at", "found_at"), [(2, 5, 3), (2, 3, 5), (1, 0, 9), (0, 100, 4)])
def test_a_mate_keeps_its_distance_from_the_position(table: Table, plies: int, stored_at: int, found_at: int) -> None:
    for key, sign in ((KEY, 1), (KEY + 1, -1)):
        table.store(Stored(score=sign * (MATE_SCORE - stored_at - plies)), key, ply=stored_at)
        assert table.probe(key, ply=found_at).score == sign * (MATE_SCORE - found_at - plies)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("stored_at", [0, 4])
def test_the_longest_mate_counts_as_a_mate_and_one_centipawn_less_as_none(table: Table, sign, stored_at) -> None:
    table.store(Stored(score=sign * KNOWN_WIN), KEY, ply=stored_at)
    table.store(Stored(score=sign * (KNOWN_WIN - 1)), KEY + 1, ply=stored_at)
    assert table.probe(KEY, ply=1).score == sign * (KNOWN_WIN + stored_at - 1)
    assert table.probe(KEY + 1, ply=1).score == sign * (KNOWN_WIN - 1)


@pytest.mark.parametrize(
    ("score", "bound"),
    [
        (9, tt.UPPER_BOUND),
        (10, tt.UPPER_BOUND),
        (11, tt.EXACT),
        (19, tt.EXACT),
        (20, tt.LOWER_BOUND),
        (21, tt.LOWER_BOUND),
    ],
)
def test_a_score_inside_the_window_is_exact_and_one_on_its_edge_a_bound(score: int, bound: int) -> None:
    assert _bound_of(score, 10, 20) == bound


@pytest.mark.parametrize(
    ("bound", "decisions"),
    [(tt.EXACT, (True, True, True)), (tt.LOWER_BOUND, (False, True, True)), (tt.UPPER_BOUND, (True, False, False))],
)
def test_an_entry_decides_a_node_by_its_bound(table: Table, bound: int, decisions: tuple[bool, ...]) -> None:
    for score, decides in zip((19, 20, 21), decisions, strict=True):
        table.store(Stored(score=score, bound=bound, depth=7))
        for depth, expected in ((6, decides), (7, decides), (8, False)):  # at last it is not deep enough
            assert bool(_decides(table.record, np.uint64(KEY), score, 20, depth)) is expected
    assert not _decides(table.record, np.uint64(KEY + 1), 0, 20, 0), "there is no entry"


@pytest.mark.parametrize(
    ("bound", "adjusted"), [(tt.EXACT, (40, -40)), (tt.LOWER_BOUND, (40, 0)), (tt.UPPER_BOUND, (0, -40))]
)
def test_a_bound_corrects_only_towards_itself(table: Table, bound: int, adjusted: tuple[int, int]) -> None:
    for score, expected in zip((40, -40), adjusted, strict=True):
        table.store(Stored(score=score, bound=bound))
        assert _adjusted(table.record, np.uint64(KEY), 0) == expected
    assert _adjusted(table.record, np.uint64(KEY + 1), 7) == 7


def test_a_result_without_a_move_keeps_the_move_that_was_known(table: Table) -> None:
    table.store(Stored(move=77, bound=tt.LOWER_BOUND))
    table.store(Stored(move=0, bound=tt.UPPER_BOUND))
    assert table.probe() == Stored(move=77, bound=tt.UPPER_BOUND)
    table.store(Stored(move=78, bound=tt.UPPER_BOUND))
    assert table.probe() == Stored(move=78, bound=tt.UPPER_BOUND)


@pytest.mark.parametrize(
    ("depth", "bound", "searches", "replaces"),
    [(6, tt.LOWER_BOUND, 0, False), (7, tt.LOWER_BOUND, 0, True), (6, tt.EXACT, 0, True), (6, tt.LOWER_BOUND, 1, True)],
)
def test_a_shallower_bound_replaces_nothing(
    table: Table, depth: int, bound: int, searches: int, replaces: bool
) -> None:
    deep = Stored(depth=10)
    table.store(deep)
    for _ in range(searches):
        table.table.begin_search()
    shallow = Stored(depth=depth, bound=bound, score=1)
    table.store(shallow)
    assert table.probe() == (shallow if replaces else deep)


def test_a_full_bucket_gives_up_its_shallowest_entry(table: Table) -> None:
    for number, depth in enumerate((9, 4, 12, 7)):
        table.store(Stored(depth=depth), KEY + number)
    table.store(Stored(depth=5), KEY + 4)
    assert [number for number in range(IN_A_BUCKET + 1) if table.probe(KEY + number) is None] == [1]


def fill(table: Table, depth: int) -> None:
    """Fill the bucket after its first entry, and store another."""
    for number in range(1, IN_A_BUCKET):
        table.store(Stored(depth=depth), KEY + number)
    table.store(Stored(depth=1), KEY + IN_A_BUCKET)


@pytest.mark.parametrize(("depth_of_old", "gives_way"), [(11, True), (13, False)])
def test_each_search_makes_entries_eight_plies_shallower(table: Table, depth_of_old: int, gives_way: bool) -> None:
    table.store(Stored(depth=depth_of_old), KEY)
    table.table.begin_search()
    fill(table, 4)
    assert (table.probe(KEY) is None) is gives_way and table.probe(KEY + IN_A_BUCKET) is not None


def test_the_age_of_an_entry_is_right_when_the_ages_begin_again(table: Table) -> None:
    table.table.age = tt.AGES - 1
    table.store(Stored(depth=10), KEY)
    table.table.begin_search()
    assert table.table.age == 0
    fill(table, 5)
    assert table.probe(KEY) is None


def test_an_entry_mixed_by_two_writers_is_not_found(table: Table) -> None:
    table.store(Stored(score=1), KEY)
    words = table.table.words
    words[np.flatnonzero(words)[1]] ^= np.uint64(1 << 20)
    assert table.probe() is None


def test_hashfull_counts_the_entries_of_this_search_in_thousandths() -> None:
    table = tt.TranspositionTable(1)
    assert table.hashfull() == 0
    table.begin_search()
    age = np.uint64(table.age) << np.uint64(59)
    table.words[1:1001:2] = age | np.uint64(1)  # the data of 500 of the first thousand entries
    assert table.hashfull() == 500
    table.begin_search()
    assert table.hashfull() == 0
