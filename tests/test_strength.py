"""Playing at less than full strength: one scale, moves drawn as a person chooses, and full strength untouched."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.engine.search import choice as chooser
from merino.engine.search import known_openings
from merino.engine.search import strength as levels
from merino.engine.search.bench import POSITIONS
from merino.engine.search.choice import COLUMNS, DEEP_SIGHTS, People
from merino.engine.search.limits import Limits, Line
from merino.engine.search.searcher import Searcher
from merino.engine.search.warmup import warm_up
from merino.eval.families import default, load, load_net
from tools.calibrate_strength import NET, digest

QUIET = POSITIONS[4]
QUEENS = "1q2B2q/2q1B1q1/3qkq2/1r1nr1RQ/3QKQ2/2Q3Q1/1Q2n2Q/Q3n3 w - - 0 10"  # where exchanges have no end
HANGING_QUEEN = "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1"


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    return Searcher(hash_mb=1)


@pytest.fixture(autouse=True)
def _fresh(searcher: Searcher) -> None:
    searcher.clear()
    searcher.strength, searcher.is_analysing, searcher.multipv = None, False, 1
    searcher.random = Random(1)
    searcher.set_threads(1)


# The scale


@pytest.mark.parametrize("kind", [levels.TERMS, levels.NETS])
def test_a_stronger_player_sees_no_less_sharply_and_a_rung_as_measured(kind: str) -> None:
    sights = [levels.Strength(elo).sights(kind) for elo in range(levels.MIN_ELO, levels.MAX_ELO + 1, 10)]
    assert all(low <= high for weaker, stronger in pairwise(sights) for low, high in zip(weaker, stronger, strict=True))
    assert all(sum(weaker) < sum(stronger) for weaker, stronger in pairwise(sights))
    for rung in levels.LADDERS[kind].rungs:
        assert levels.Strength(rung.elo).sights(kind) == pytest.approx(rung.sights)


def test_the_ladders_were_measured_with_what_is_shipped() -> None:
    """If it fails: python -m tools.calibrate_strength; then docs/gui.md."""
    assert levels.LADDERS[levels.TERMS].measured_with == digest(default())
    assert levels.LADDERS[levels.NETS].measured_with == digest(load_net(NET))


def test_levels_span_the_ladder_and_the_last_is_full_strength() -> None:
    assert levels.at_level(0) == levels.at_elo(levels.MIN_ELO)
    assert levels.at_level(levels.FULL_LEVEL - 1) == levels.at_elo(levels.MAX_ELO)
    assert levels.at_level(levels.FULL_LEVEL) is None and (levels.at_elo(0), levels.at_elo(9999)) == (
        levels.at_elo(levels.MIN_ELO),
        levels.at_elo(levels.MAX_ELO),
    )
    elos = [strength.elo for strength in map(levels.at_level, range(levels.FULL_LEVEL)) if strength]
    assert elos == sorted(set(elos))


# The choice


def drawn_moves(
    searcher: Searcher, limits: Limits, count: int, position: Position | str = QUIET, elo: int = levels.MIN_ELO
) -> Counter[str]:
    searcher.strength = levels.at_elo(elo)
    position = Position(position) if isinstance(position, str) else position
    return Counter(position.uci(searcher.search(position, limits).best) for _ in range(count))


def test_weak_play_varies_and_the_same_seed_repeats_it_whatever_was_searched_before(searcher: Searcher) -> None:
    def moves() -> list[str]:
        searcher.random = Random(7)
        return list(drawn_moves(searcher, Limits(depth=4), 12).elements())

    first = moves()
    assert len(set(first)) > 2
    searcher.strength = None
    searcher.search(Position(QUIET), Limits(nodes=3000))
    assert moves() == first


def test_a_strong_player_sees_what_a_weak_one_may_miss(searcher: Searcher) -> None:
    assert drawn_moves(searcher, Limits(), 10, HANGING_QUEEN, levels.MAX_ELO)["e4d5"] == 10
    assert drawn_moves(searcher, Limits(), 40, HANGING_QUEEN)["e4d5"] > 20


def test_a_mate_in_sight_is_not_given_away(searcher: Searcher) -> None:
    assert set(drawn_moves(searcher, Limits(), 10, "6k1/5ppp/8/8/8/7q/5PPP/R5K1 w - - 0 1")) == {"a1a8"}


@pytest.mark.parametrize("fen", ["8/8/8/4k3/8/8/8/KQ6 w - - 0 1", "8/8/8/3k4/8/8/8/R3K3 w - - 0 1"])
def test_even_the_weakest_level_mates_with_queen_or_rook(searcher: Searcher, fen: str) -> None:
    position = Position(fen)
    while position.outcome() is None:
        searcher.strength = levels.at_elo(levels.MIN_ELO) if len(position.moves) % 2 == 0 else None
        position.push(searcher.search(position, Limits(nodes=30_000 if searcher.strength else 500)).best)
    assert position.is_check() and len(position.moves) < 80


def test_a_pawn_becomes_no_rook_or_bishop(searcher: Searcher) -> None:
    moves = drawn_moves(searcher, Limits(), 30, "3q2k1/1P3ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1")  # no mate is in sight
    assert moves["b7b8q"] > 15 and not {"b7b8r", "b7b8b"} & set(moves)


def test_in_the_first_moves_every_level_mostly_follows_a_known_opening(searcher: Searcher) -> None:
    moves = drawn_moves(searcher, Limits(), 100, Position())
    assert moves["e2e4"] > 30 and moves["d2d4"] > 15
    assert sum(moves[move] for move in ("e2e4", "d2d4", "c2c4", "g1f3", "f2f4", "b2b3", "b2b4", "g2g3", "g2g4")) > 85


def test_openings_are_read_for_as_many_men_as_they_leave_and_not_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert min(len(board.piece_map()) for _, board in known_openings.opening_lines()) == known_openings.MIN_MEN
    monkeypatch.setattr(known_openings, "_known", lambda: 1 / 0)
    assert known_openings.known_moves(Position("rnbqkbnr/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")) == {}
    with pytest.raises(ZeroDivisionError):
        known_openings.known_moves(Position())
    warm_up()


def test_who_is_winning_does_not_repeat_the_position(searcher: Searcher) -> None:
    position = Position("6k1/5ppp/8/8/8/8/PPP2PPP/1Q4K1 w - - 0 1")
    for move in ("b1d1", "g8f8", "d1b1", "f8g8"):
        position.push_uci(move)
    assert "b1d1" not in drawn_moves(searcher, Limits(), 4, position, levels.MAX_ELO)


# The search


@pytest.mark.parametrize(
    ("elo", "limits", "most"),
    [
        (1500, Limits(movetime=60_000), len(Position(QUIET).legal_moves) * DEEP_SIGHTS[-1]),
        (levels.MAX_ELO, Limits(nodes=8000), 9024),
    ],
)
def test_nodes_are_what_weak_play_is_allowed_and_not_time(
    searcher: Searcher, elo: int, limits: Limits, most: int
) -> None:
    searcher.strength = levels.at_elo(elo)
    line = searcher.search(Position(QUIET), limits).line
    assert line.nodes < most and line.time_ms < 5000


def test_a_search_too_short_for_any_move_is_worth_the_evaluation(searcher: Searcher) -> None:
    position, scores = Position(QUEENS), np.zeros(1, dtype=np.int64)
    record, past = searcher._workers[0].record, np.zeros(0, dtype=np.uint64)
    searcher._stop_flag[0] = 0
    chooser.search_all(record, position.record, past, 16, 9, 100, scores)
    assert scores[0] == default().scores(position.record)[0] != 0


def test_a_choice_that_is_stopped_at_once_is_a_legal_move(searcher: Searcher) -> None:
    searcher.strength = levels.at_elo(levels.MAX_ELO)
    position = Position(QUIET)
    assert searcher.search(position, Limits(movetime=1)).best in position.legal_moves


def test_the_move_is_the_first_of_the_last_line_and_the_only_one_shown(searcher: Searcher) -> None:
    searcher.strength, searcher.multipv = levels.at_elo(levels.MIN_ELO), 2
    for _ in range(10):
        lines: list[Line] = []
        result = searcher.search(Position(QUIET), Limits(depth=30), lines.append)
        assert {line.multipv for line in lines} == {1}
        assert {line.pv[0] for line in lines} == {result.best}


def test_weak_play_keeps_to_the_moves_asked_for(searcher: Searcher) -> None:
    position = Position(QUIET)
    wanted = position.legal_moves[:2]
    assert set(drawn_moves(searcher, Limits(depth=2, search_moves=wanted), 20)) <= set(map(position.uci, wanted))
    assert set(drawn_moves(searcher, Limits(search_moves=[Position().parse_uci("a2a3")]), 3, Position())) == {"a2a3"}


def test_a_single_legal_move_is_played(searcher: Searcher) -> None:
    searcher.strength = levels.at_elo(levels.MIN_ELO)
    position = Position("7k/8/8/8/8/8/1r6/K7 w - - 0 1")
    assert searcher.search(position, Limits(time=(60_000, 60_000))).best == position.legal_moves[0]


def test_helper_threads_do_not_make_weak_play_stronger(searcher: Searcher) -> None:
    searcher.strength = levels.at_elo(1500)
    alone = searcher.search(Position(QUIET), Limits(movetime=60_000)).line
    searcher.set_threads(2)
    searcher.random = Random(1)
    together = searcher.search(Position(QUIET), Limits(movetime=60_000)).line
    assert together.nodes < alone.nodes + 1000 and alone.pv[0] == together.pv[0]


@pytest.mark.parametrize("evaluation", [NET, "full.txt"])
def test_levels_play_with_every_kind_of_evaluation(searcher: Searcher, evaluation: str) -> None:
    searcher.set_evaluation(load_net(evaluation) if evaluation == NET else load(levels.FILE.with_name(evaluation)))
    try:
        assert len(drawn_moves(searcher, Limits(), 12, elo=1200)) > 1
    finally:
        searcher.set_evaluation(default())


def test_a_habit_of_going_on_with_a_piece_sees_the_last_moves(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    likings = np.zeros(len(COLUMNS))
    likings[COLUMNS.index("same piece again")] = 19.0
    monkeypatch.setattr(chooser, "people", lambda: People(0.0, 0.0, 0.0, likings, 0 * likings))
    position = Position(QUIET)
    first = position.legal_moves[0]
    position.push(first)
    position.push(position.legal_moves[0])
    assert {move[:2] for move in drawn_moves(searcher, Limits(), 10, position)} == {Position(QUIET).uci(first)[2:4]}


def test_levels_castle_rather_than_step_out_with_the_king(searcher: Searcher) -> None:
    position = "r1bqkb1r/ppp2ppp/2np1n2/4p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R w KQkq - 0 6"
    moves = drawn_moves(searcher, Limits(), 100, position)
    assert moves["e1g1"] > 8 and moves["e1g1"] > moves["e1d2"] + moves["e1e2"] + moves["e1f1"]


# Full strength


@pytest.mark.parametrize("why", ["analysing", "mate", "no limit"])
def test_analysis_is_never_weakened_and_full_strength_comes_back(searcher: Searcher, why: str) -> None:
    limits = Limits(mate=3) if why == "mate" else Limits(depth=6)
    searcher.is_analysing = why == "analysing"
    full = searcher.search(Position(QUIET), limits).line
    searcher.strength = levels.at_elo(levels.MIN_ELO)
    if why == "no limit":
        searcher.search(Position(QUIET), limits)
        searcher.strength = None
    searcher.clear()
    other = searcher.search(Position(QUIET), limits).line
    assert (other.nodes, other.pv) == (full.nodes, full.pv)
