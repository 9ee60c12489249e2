"""What a profile says besides tastes: losses with intervals, over time and by opening, and the kinds of mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.app.shell.search_request import default_analyser
from merino.core.board.game import Position
from merino.engine.search.choice import COLUMNS, FIRST_HABIT
from merino.engine.search.limits import Limits
from merino.eval.families import default
from merino.eval.material import FULL_BOARD
from merino.lab.people.profile.choices import Choices, choices_of
from merino.lab.people.profile.groups import (
    Interval,
    JudgedMoves,
    difference,
    mean_of,
    mean_score,
    over_time,
    parts_of,
    share_by_game,
    share_of,
)
from merino.lab.people.profile.mistakes import Mistakes, losses_of, mistakes_of, sights_of, temptations_of
from merino.lab.people.profile.openings import openings_of
from merino.lab.people.profile.players import PlayerGames, games_of_player
from merino.lab.people.profile.tastes import TermTaste
from merino.lab.people.profile.text import taste_parts
from merino.match.statistics import t_95
from tests.test_profile import made_up, pgn

# After five moves White leaves the queen to a pawn, and Black does not take it.
BLUNDER = """[White "{white}"]
[Black "{black}"]
[Date "{date}"]
[Result "0-1"]
[FEN "4k3/8/2p5/8/8/8/8/3QK3 w - - 0 1"]

1. Kf1 Kf8 2. Ke1 Ke8 3. Kf1 Kf8 4. Ke1 Ke8 5. Kf1 Kf8 6. Qd5 Ke8 0-1

"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(text)
    return path


def judged(choices: Choices, losses: Sequence[float] | np.ndarray) -> JudgedMoves:
    lost = np.asarray(losses, dtype=np.float64)
    return JudgedMoves(choices, lost, lost >= 0.1)


def dated(tmp_path: Path, *dates: str) -> PlayerGames:
    """Games of A on these days, with a choice each."""
    return games_of_player(
        written(tmp_path, "".join(BLUNDER.format(white="A", black="B", date=day) for day in dates)), "A"
    )


def one_choice_in_each(player: PlayerGames) -> Choices:
    choices = made_up(np.zeros(len(COLUMNS)), len(player.games))
    return replace(choices, games=np.arange(len(choices)))


def test_moves_of_one_game_count_together_in_an_interval() -> None:
    values = np.tile([0.0, 0.4], 50)
    alone = mean_of(values, np.arange(100))
    together = mean_of(values, np.repeat(np.arange(50), 2)[np.argsort(np.tile([0, 1], 50), kind="stable")])
    assert alone.value == together.value == pytest.approx(0.2)
    assert together.high - together.low == pytest.approx(2**0.5 * (alone.high - alone.low), rel=0.02)
    assert mean_of(values, np.arange(100) % 4) == Interval(alone.value, -1.0, 1.0) and not alone.is_wide


def test_quantiles_for_a_few_games_are_those_of_the_tables() -> None:
    assert [t_95(freedom) for freedom in (4, 5, 10, 30)] == pytest.approx([2.776, 2.571, 2.228, 2.042], rel=3e-3)


def test_halves_that_are_alike_rarely_differ_for_sure_also_around_zero() -> None:
    rng, games = np.random.default_rng(1), np.repeat(np.arange(6), 10)
    losses = 0.002 * rng.normal(size=(1000, 2, 60)) + 0.002 * np.repeat(rng.normal(size=(1000, 2, 6)), 10, axis=2)
    changes = [difference(mean_of(first, games), mean_of(second, games)) for first, second in losses]
    assert 0.02 < np.mean([change.low > 0 or change.high < 0 for change in changes]) < 0.08
    below = mean_of(np.full(60, -0.003) + losses[0, 0] / 10, games)
    assert below.low < below.value < below.high < 0


def test_a_few_equal_results_of_an_opening_are_not_certain() -> None:
    won = mean_score(np.ones(5))
    assert won.value == won.high == 1 and won.low < 0.75
    assert mean_score(np.full(20, 0.5)).low < 0.48 and mean_score(np.ones(4)) == Interval(1.0, 0.0, 1.0)
    rng = np.random.default_rng(2)
    found = [mean_score(rng.choice([0, 0.5, 1], 15, p=[0.2, 0.3, 0.5])) for _ in range(1000)]
    assert 0.93 < np.mean([each.low <= 0.65 <= each.high for each in found]) < 0.99


def test_mistakes_that_come_together_in_some_games_count_as_fewer() -> None:
    games, alone = np.repeat(np.arange(40), 25), np.arange(1000) % 25 == 0
    together = np.repeat(np.arange(40) < 8, 25) & (np.arange(1000) % 5 == 0)  # five in each of eight games
    spread, heaped = share_by_game(alone, games), share_by_game(together, games)
    assert spread == share_of(40, 1000) and heaped.value == spread.value == 0.04
    assert heaped.high - heaped.low > 1.5 * (spread.high - spread.low)
    assert share_by_game(np.zeros(10, dtype=bool), np.arange(10)) == share_of(0, 10)


def test_shares_and_their_differences_have_95_percent_intervals() -> None:
    assert share_of(0, 10).low == 0 and share_of(0, 10).high == pytest.approx(0.2775, abs=1e-3)
    half = share_of(50, 100)
    assert (half.low, half.high) == pytest.approx((0.4038, 0.5962), abs=1e-3)
    change = difference(Interval(0.3, 0.27, 0.33), Interval(0.2, 0.16, 0.24))
    assert (change.low, change.high) == pytest.approx((-0.15, -0.05))


def test_every_move_belongs_to_a_part_of_the_game_to_a_colour_and_to_a_clock(tmp_path: Path) -> None:
    player = games_of_player(pgn(tmp_path, ("A", "B"), ("C", "A"), ("A", "D")), "A")
    choices = replace(choices_of(player, default()), stages=np.full(12, FULL_BOARD // 2))
    parts = parts_of(player, judged(choices, np.full(12, 0.2)))
    assert {part.mistakes.value for part in parts} == {1.0} and not any(part.is_enough for part in parts)
    assert {part.name: part.moves for part in parts} == {
        "all moves": 12,
        "endgame": 12,
        "with White": 8,
        "with Black": 4,
        "a minute or more left": 9,
        "less than a minute left": 3,
    }


def test_a_mistake_is_counted_where_a_search_sees_it_first() -> None:
    choices = made_up(np.zeros(len(COLUMNS)), 4)
    losses = [[0, 0, 0.3], [0, 0.3, 0.3], [0.3, 0.3, 0.3], [0.3, 0, 0]]
    choices.columns[choices.played, :FIRST_HABIT] = -np.array(losses)
    assert [sight.mistakes for sight in sights_of(choices)] == [1, 1, 1]


def test_time_is_told_by_dates_or_else_by_the_place_in_the_file(tmp_path: Path) -> None:
    days = [f"{year}.01.??" for year in range(2020, 1900, -1)]
    player = dated(tmp_path, *days)
    losses = np.linspace(0.0, 0.2, len(days))  # the file begins with the latest games
    found = over_time(player, judged(one_choice_in_each(player), losses))
    assert found.by == "date" and found.direction == 1 and found.change is not None and found.change.value < -0.05
    assert [period.name for period in found.periods] == ["1901.01 to 1960.01", "1961.01 to 2020.01"]
    player = dated(tmp_path, *days[:-1], "????.??.??")
    found = over_time(player, judged(one_choice_in_each(player), losses))
    assert found.by == "place in the file" and found.direction == -1
    assert [period.name for period in found.periods] == ["games 1 to 60", "games 61 to 120"]
    assert over_time(player, judged(one_choice_in_each(player), np.full(len(days), 0.1))).direction == 0


def test_periods_of_one_day_are_told_apart_by_their_games(tmp_path: Path) -> None:
    player = dated(tmp_path, *("2024.05.01" for _ in range(120)))
    found = over_time(player, judged(one_choice_in_each(player), np.zeros(120)))
    assert [period.name for period in found.periods] == ["2024.05.01, games 1 to 60", "2024.05.01, games 61 to 120"]
    assert sum(period.moves for period in found.periods) == 120


def test_periods_of_a_single_day_or_game_are_called_by_it(tmp_path: Path) -> None:
    names = {"2024.05.01": "2024.05.01", "?": "game 1"}
    for day, name in names.items():
        player = dated(tmp_path, day)
        found = over_time(player, judged(one_choice_in_each(player), np.zeros(1)))
        assert [period.name for period in found.periods] == [name]


def test_a_few_games_tell_no_change(tmp_path: Path) -> None:
    player = dated(tmp_path, "2020.01.01", "2020.01.02")
    found = over_time(player, judged(one_choice_in_each(player), [0.1, 0.0]))
    assert found.change is None and found.direction == 0 and len(found.periods) == 1


def test_openings_are_named_by_their_positions_with_results_by_colour(tmp_path: Path) -> None:
    games = [
        ("A", "B", "1-0", "1. e4 c5 2. Nf3 d6"),
        ("A", "B", "1/2-1/2", "1. Nf3 c5 2. e4 e6"),  # by another order of moves
        ("B", "A", "1-0", "1. e4 c5 2. c3"),
        ("A", "B", "0-1", "1. a3 e5"),
        ("A", "B", "*", "1. e4 c5 2. Nf3 Nc6"),
    ]
    text = "".join(f'[White "{one}"]\n[Black "{two}"]\n\n{moves} {end}\n\n' for one, two, end, moves in games)
    player = games_of_player(written(tmp_path, text + BLUNDER.format(white="A", black="B", date="?")), "A")
    found = openings_of(player, judged(choices_of(player, default()), np.zeros(1)), Mistakes(()))
    told = {(one.name, one.colour): (one.games, one.won, one.drawn, one.lost) for one in found}
    assert told == {
        ("Sicilian Defence", "White"): (3, 1, 1, 0),
        ("Sicilian Defence", "Black"): (1, 0, 0, 1),
        ("other openings, 1.a3", "White"): (1, 0, 0, 1),
        ("set-up positions", "White"): (1, 0, 0, 1),
    }
    first = found[0]
    assert first.eco == ("B27", "B30", "B40") and first.score is not None and first.score.value == 0.75
    assert not first.is_enough and first.moves is None


@pytest.mark.parametrize("colour", [chess.WHITE, chess.BLACK])
def test_a_mistake_has_its_kind_its_depth_and_its_game(tmp_path: Path, colour: chess.Color) -> None:
    text = BLUNDER.format(white="A", black="B", date="2020.01.01")
    player = games_of_player(written(tmp_path, text if colour else mirrored(text)), "A")
    choices = choices_of(player, default())
    losses = losses_of(player, choices, default())
    assert losses[0] > 0.3
    mistakes = mistakes_of(player, choices, losses, default(), default_analyser())
    (kind,) = mistakes.kinds(np.ones(len(choices), dtype=bool))
    assert (kind.kind, kind.count, kind.plies) == ("hanging piece", 1, 1) and kind.share.value == 1
    assert kind.examples[0].game == 1 and kind.examples[0].move == ("6.Qd5" if colour else "6...Qd4")
    assert mistakes.by_plies == {1: 1} and mistakes.kinds(np.zeros(len(choices), dtype=bool)) == ()


def test_what_a_search_sees_does_not_depend_on_those_before_it() -> None:
    analyse, position = (
        default_analyser(),
        Position("r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R b KQkq -"),
    )
    first, _, again = (
        analyse(position, limits)[0] for limits in (Limits(depth=2), Limits(nodes=9000), Limits(depth=2))
    )
    assert (first.score, first.pv, first.nodes) == (again.score, again.pv, again.nodes)


def mirrored(text: str) -> str:
    """The game with colours and board turned round, and A as Black."""
    flip = str.maketrans("12345678", "87654321")
    white = ["Kf1", "Ke1", "Kf1", "Ke1", "Kf1", "Qd5"]
    black = ["Kf8", "Ke8", "Kf8", "Ke8", "Kf8", "Ke8"]
    moves = " ".join(f"{own.translate(flip)} {other.translate(flip)}" for own, other in zip(white, black, strict=True))
    return f'[White "B"]\n[Black "A"]\n[FEN "3qk3/8/8/8/8/2P5/8/4K3 b - - 0 1"]\n\n1... {moves} *\n'


def test_a_temptation_is_what_a_short_search_likes_and_a_longer_one_does_not() -> None:
    choices = made_up(np.zeros(len(COLUMNS)), 10)
    choices.columns[:, :FIRST_HABIT] = -0.05
    first = choices.firsts[:-1]
    choices.columns[first[:4], :FIRST_HABIT] = 0, -0.3, -0.3  # a trap in four positions
    choices.columns[first[4:6], :FIRST_HABIT] = 0, -0.3, 0  # in two the longest search sees that it is none
    played = np.where(np.arange(10) < 1, first, first + 1)  # the first is fallen for
    usual = np.full(len(choices.moves), 0.25)
    (found,) = temptations_of(replace(choices, played=played), usual)
    assert (found.nodes, found.sees, found.positions) == (16, 128, 4)
    assert found.fallen.value == 0.25 and found.others == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("name", "weight", "value", "own", "merino", "is_more"),
    [
        ("KnightMobility", 40, 20, 60, 40, True),
        ("PawnDoubled", -10, -5, 15, 10, True),  # what costs more is minded more
        ("KingPawnShield", 80, -20, 60, 80, False),  # counts below zero what its words name
    ],
)
def test_a_taste_is_told_by_what_one_is_worth_or_costs(
    name: str, weight: float, value: float, own: float, merino: float, is_more: bool
) -> None:
    taste = TermTaste(name, weight, value, value - 1, value + 1, 0, ())
    assert (taste.worth(taste.value), taste.worth(0), taste.is_more) == (own, merino, is_more)
    assert taste.worth_range == (own - 1, own + 1) and taste.is_fault == (name != "KnightMobility")


def test_what_one_is_worth_has_no_minus_where_it_rounds_to_nothing() -> None:
    ((_, lines),) = taste_parts([TermTaste("KnightMobility", 40, -42, -44, -40.2, -40.1, ())])
    said = " ".join(lines[0].split())
    assert said.endswith("to you -0.02 (-0.04 to 0.00) to Merino 0.40, unlike others 0.00")
