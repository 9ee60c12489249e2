"""Playing at less than full strength: one scale, moves drawn by what they give away, and full strength untouched."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

from merino.inner.core.board.game import Position
from merino.inner.engine.search.bench import POSITIONS
from merino.inner.engine.search.limits import Limits, Line
from merino.inner.engine.search.searcher import Searcher
from merino.inner.engine.search.strength import FULL_LEVEL, LADDER, MAX_ELO, MIN_ELO, Strength, at_elo, at_level

QUIET = POSITIONS[4]


class Scored(NamedTuple):
    score: int


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    return Searcher(hash_mb=1)


@pytest.fixture(autouse=True)
def _fresh(searcher: Searcher) -> None:
    searcher.clear()
    searcher.strength, searcher.is_analysing, searcher.multipv, searcher.random = None, False, 1, Random(1)
    searcher.set_threads(1)


# The scale


def test_more_elo_is_more_nodes_and_fewer_slips() -> None:
    strengths = [at_elo(elo) for elo in range(MIN_ELO, MAX_ELO + 1, 10)]
    assert all(weaker.nodes <= stronger.nodes for weaker, stronger in pairwise(strengths))
    assert all(weaker.temperature > stronger.temperature for weaker, stronger in pairwise(strengths))


@pytest.mark.parametrize("rung", LADDER)
def test_a_rung_of_the_ladder_is_as_measured(rung) -> None:
    strength = at_elo(rung.elo)
    assert (strength.nodes, strength.temperature) == (rung.nodes, pytest.approx(rung.temperature))


def test_beyond_the_ladder_its_ends_are_taken() -> None:
    assert at_elo(0) == at_elo(MIN_ELO)
    assert at_elo(9999) == at_elo(MAX_ELO)


def test_levels_span_the_ladder_and_the_last_is_full_strength() -> None:
    assert at_level(0) == at_elo(MIN_ELO)
    assert at_level(FULL_LEVEL - 1) == at_elo(MAX_ELO)
    assert at_level(FULL_LEVEL) is None
    elos = [strength.elo for strength in map(at_level, range(FULL_LEVEL)) if strength]
    assert elos == sorted(set(elos))


# The draw


def test_a_move_is_drawn_by_what_it_gives_away() -> None:
    lines, random = [Scored(50), Scored(0), Scored(-50)], Random(2)
    drawn = Counter(Strength(1500, 100, 50.0).choose(lines, random) for _ in range(3000))
    assert drawn[lines[0]] / drawn[lines[1]] == pytest.approx(2.718, rel=0.15)
    assert drawn[lines[1]] / drawn[lines[2]] == pytest.approx(2.718, rel=0.15)


def test_a_mate_in_sight_is_not_given_away() -> None:
    lines, random = [Scored(300), Scored(31999), Scored(900)], Random(3)
    assert {at_elo(MIN_ELO).choose(lines, random) for _ in range(100)} == {lines[1]}


# The search


def drawn_moves(searcher: Searcher, limits: Limits, count: int) -> Counter[int | None]:
    return Counter(searcher.search(Position(QUIET), limits).best for _ in range(count))


def test_weak_play_varies_and_the_same_seed_repeats_it(searcher: Searcher) -> None:
    def moves() -> list[int | None]:
        searcher.clear()
        searcher.random = Random(7)
        return [searcher.search(Position(QUIET), Limits(movetime=5000)).best for _ in range(20)]

    searcher.strength = at_elo(MIN_ELO)
    first = moves()
    assert len(set(first)) > 2
    assert moves() == first


def test_nodes_are_what_weak_play_is_allowed_and_not_time(searcher: Searcher) -> None:
    searcher.strength = at_elo(1500)
    line = searcher.search(Position(QUIET), Limits(movetime=60_000)).line
    assert line is not None
    assert line.nodes < searcher.strength.nodes + 1024
    assert line.time_ms < 5000


def test_fewer_nodes_asked_for_are_fewer_nodes(searcher: Searcher) -> None:
    searcher.strength = at_elo(MAX_ELO)
    line = searcher.search(Position(QUIET), Limits(nodes=2000)).line
    assert line is not None
    assert line.nodes < 3024


def test_the_move_is_the_first_of_the_last_line(searcher: Searcher) -> None:
    searcher.strength = at_elo(MIN_ELO)
    for _ in range(20):
        lines: list[Line] = []
        result = searcher.search(Position(QUIET), Limits(depth=30), lines.append)
        assert {line.multipv for line in lines} == {1}
        assert lines[-1].pv[0] == result.best


def test_only_as_many_lines_are_shown_as_were_asked_for(searcher: Searcher) -> None:
    searcher.strength, searcher.multipv = at_elo(1500), 2
    lines: list[Line] = []
    searcher.search(Position(QUIET), Limits(depth=3), lines.append)
    assert {line.multipv for line in lines} == {1, 2}


def test_weak_play_keeps_to_the_moves_asked_for(searcher: Searcher) -> None:
    searcher.strength = at_elo(MIN_ELO)
    wanted = Position(QUIET).legal_moves[:2]
    assert set(drawn_moves(searcher, Limits(depth=2, search_moves=wanted), 20)) <= set(wanted)


def test_a_single_legal_move_is_played(searcher: Searcher) -> None:
    searcher.strength = at_elo(MIN_ELO)
    position = Position("7k/8/8/8/8/8/1r6/K7 w - - 0 1")
    assert searcher.search(position, Limits(time=(60_000, 60_000))).best == position.legal_moves[0]


def test_helper_threads_do_not_make_weak_play_stronger(searcher: Searcher) -> None:
    searcher.set_threads(2)
    searcher.strength = at_elo(1500)
    line = searcher.search(Position(QUIET), Limits(movetime=60_000)).line
    assert line is not None
    assert line.nodes < searcher.strength.nodes + 1024


@pytest.mark.parametrize("why", ["analysing", "mate"])
def test_analysis_is_never_weakened(searcher: Searcher, why: str) -> None:
    limits = Limits(depth=6) if why == "analysing" else Limits(mate=3)
    searcher.is_analysing = why == "analysing"
    full = searcher.search(Position(QUIET), limits).line
    searcher.clear()
    searcher.strength = at_elo(MIN_ELO)
    weak = searcher.search(Position(QUIET), limits).line
    assert full is not None
    assert weak is not None
    assert (weak.nodes, weak.pv) == (full.nodes, full.pv)


def test_full_strength_is_back_when_the_limit_is_gone(searcher: Searcher) -> None:
    before = searcher.search(Position(QUIET), Limits(depth=6)).line
    searcher.strength = at_elo(MIN_ELO)
    searcher.search(Position(QUIET), Limits(depth=6))
    searcher.strength = None
    searcher.clear()
    after = searcher.search(Position(QUIET), Limits(depth=6)).line
    assert before is not None
    assert after is not None
    assert (after.nodes, after.pv) == (before.nodes, before.pv)
