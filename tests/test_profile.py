"""Profiles: who is meant, what choices show, losses with intervals, openings, mistakes; and the fit of the model."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.core.board.fen import START_FEN, to_fen
from merino.core.board.game import Position
from merino.engine.search.choice import COLUMNS, FIRST_HABIT, FIRST_TERM, HABITS, from_toml, people, shown_by
from merino.engine.search.limits import Limits
from merino.eval import families, material
from merino.lab.people import profile
from merino.lab.people.games import Choices, PlayerGames, choices_of, games_of_player
from merino.study.errors import StudyError
from merino.study.judge import TERMS, judge_of
from tools.fit_people import Shown, as_toml, fit, shown_to

GAME = """[White "{white}"]
[Black "{black}"]
[WhiteElo "1800"]
[Date "2020.05.??"]
[Result "{result}"]

1. e4 {{ [%clk 0:03:00] }} e5 {{ [%clk 0:03:00] }} 2. Nf3 {{ [%clk 0:02:58] }} Nc6 {{ [%clk 0:02:57] }}
3. Bb5 {{ [%clk 0:02:50] }} a6 {{ [%clk 0:02:50] }} 4. Bxc6 {{ [%clk 0:02:40] }} dxc6 {{ [%clk 0:02:40] }}
5. O-O {{ [%clk 0:02:30] }} f6 {{ [%clk 0:02:30] }} 6. d4 {{ [%clk 0:02:00] }} exd4 {{ [%clk 0:02:00] }}
7. Nxd4 {{ [%clk 0:01:10] }} c5 {{ [%clk 0:01:05] }} 8. Ne2 {{ [%clk 0:00:50] }} Qxd1 {{ [%clk 0:00:40] }}
9. Rxd1 {{ [%clk 0:00:30] }} Bd7 {{ [%clk 0:00:20] }} {result}

"""


CASTLING = "r3k2r/p7/8/8/8/8/P7/R3K2R w KQkq - 0 1"


def pgn(tmp_path: Path, *pairs: tuple[str, str]) -> Path:
    path = tmp_path / "games.pgn"
    games = (GAME.format(white=white, black=black, result="1-0") for white, black in pairs)
    path.write_text("".join(games), encoding="utf-8")
    return path


def made_up(coefficients: np.ndarray, positions: int) -> Shown:
    """Choices drawn from the model."""
    rng = np.random.default_rng(1)
    firsts = np.concatenate([[0], np.cumsum(rng.integers(5, 40, positions))])
    columns = rng.normal(size=(firsts[-1], len(COLUMNS)))
    columns[:, :FIRST_HABIT] = -np.abs(columns[:, :FIRST_HABIT]) / 10
    chances = Shown(firsts, firsts[:-1], columns).chances(coefficients)
    played = [first + rng.choice(last - first, p=chances[first:last]) for first, last in pairwise(firsts)]
    return Shown(firsts, np.array(played), columns)


def test_a_player_may_be_named_in_part(tmp_path: Path) -> None:
    found = games_of_player(pgn(tmp_path, ("Doe, Jane", "Roe, R"), ("X", "Doe, Jane")), "doe")
    assert found.name == "Doe, Jane" and [game.number for game in found.games] == [1, 2]
    assert [game.colour for game in found.games] == [0, 1] and found.rating == 1800
    assert found.games[0].title == "Doe, Jane - Roe, R, 2020.05.??"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("Deo, Jane", r"has no player 'Deo, Jane'; it has .*'Roe' \(1\); did you mean 'Doe, Jane'\?$"),
        ("Nobody", r"games\.pgn' has no player 'Nobody'; it has 'Doe, Jane' \(2\), 'Doe, John' \(1\), 'Roe' \(1\)"),
        ("Doe", r"'Doe' names more than one player in .*'Doe, Jane' \(2\), 'Doe, John' \(1\); write one in full$"),
        ("", "has no player ''"),
    ],
)
def test_an_unclear_name_is_refused_with_the_names_there_are(tmp_path: Path, wanted: str, words: str) -> None:
    path = pgn(tmp_path, ("Doe, Jane", "Doe, John"), ("Roe", "Doe, Jane"))
    with pytest.raises(StudyError, match=words):
        games_of_player(path, wanted)


def test_a_name_spelt_in_full_goes_before_those_that_contain_it(tmp_path: Path) -> None:
    assert games_of_player(pgn(tmp_path, ("Li", "Lindt")), "li").name == "Li"


def test_spellings_that_differ_in_capitals_and_spaces_are_one_player(tmp_path: Path) -> None:
    found = games_of_player(pgn(tmp_path, ("Smith, Anna", "B"), ("smith,  anna", "C"), ("D", " SMITH, Anna ")), "anna")
    assert found.name == "Smith, Anna" and [game.number for game in found.games] == [1, 2, 3]
    hostile = pgn(tmp_path, ("Smith,\x1b[2J Anna\x07", "\u00c9va\u00a0\x9b1m"))
    assert games_of_player(hostile, "smith").games[0].title == "Smith, [2J Anna  - \u00c9va\u00a0 1m, 2020.05.??"
    accents = pgn(tmp_path, ("Mu\u0308ller", "B"), ("C", "M\u00fcller"))  # behind the letter, and within
    assert games_of_player(accents, "m\u00fcller").count == 2


def test_games_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    path = pgn(tmp_path, ("A", "B"))
    path.write_text(
        path.read_text() + '[White "A"]\n[Black "B"]\n\n1. e4 e5 2. Ke3 *\n\n[White "A"]\n[Black "C"]\n\n*\n'
    )
    found = games_of_player(path, "A")
    assert found.faulty == 1 and len(found.games) == 1
    said = r".+\.pgn: 1 game left out, unreadable: line \d+: 'Ke3' is not a legal move here"
    lines = "; ".join(found.left_out.lines())
    assert re.fullmatch(rf"{said}; .+\.pgn: 1 game left out, without moves: line \d+", lines)


def test_clocks_and_ratings_beyond_all_bounds_are_read(tmp_path: Path) -> None:
    path = pgn(tmp_path, ("A", "B"))
    text = path.read_text().replace("clk 0:03:00", f"clk {'9' * 5000}:03:00")
    path.write_text(text.replace('"1800"', f'"{"0018000" + "0" * 5000}"'))
    (game,) = games_of_player(path, "A").games
    assert game.rating is None and game.clocks[0] > 1e18 and game.clocks[2] == 178


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        ("0:09:05", 545),
        ("9:05", 545),
        ("0:9:5", 545),
        ("1:00:00.5", 3600.5),
        ("\n0:00:01", 1),
        ("30", None),
        ("1:x", None),
    ],
)
def test_a_move_without_a_clock_and_one_in_a_variation_leave_those_of_the_others(tmp_path, clock, seconds) -> None:
    text = f"1. e4 {{[%clk 0:10:00]}} e5 2. Nf3 {{[%clk {clock}]}} Nc6 (2... d6 {{[%clk 1:07]}}) 3. d4 {{[%clk 8:0]}} *"
    (path := tmp_path / "g.pgn").write_text(f'[White "A"]\n[Black "B"]\n\n{text}\n')
    (game,) = games_of_player(path, "A").games
    assert game.clocks == pytest.approx([600, np.nan, np.nan if seconds is None else seconds, np.nan, 480], nan_ok=True)


def test_a_player_of_variants_alone_learns_what_is_wrong(tmp_path: Path) -> None:
    games = [
        f'[White "A"]\n[Black "B"]\n[Variant "{name}"]\n\n1. e4 e5 *\n\n'
        for name in ("Chess960", "Atomic", "Antichess")
    ]
    (path := tmp_path / "variants.pgn").write_text("".join(games[1:]))
    with pytest.raises(
        StudyError, match=r"no game of 'A' can be read; .+: line 3: 'Atomic' is a variant that Merino does not play; "
    ):
        games_of_player(path, "A")
    path.write_text("".join(games))
    found = games_of_player(path, "A")
    assert len(found.games) == 1 and "2 games left out, unreadable: line 9: 'Atomic'" in "".join(found.left_out.lines())


def test_a_game_of_two_players_of_one_name_counts_once(tmp_path: Path) -> None:
    found = games_of_player(pgn(tmp_path, ("A", "A"), ("A", "B")), "A")
    assert [game.colour for game in found.games] == [0, 1, 0] and found.count == 2


def test_a_file_without_moves_has_no_games_of_anybody(tmp_path: Path) -> None:
    (path := tmp_path / "results.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n')
    with pytest.raises(StudyError, match="has no games with moves and with players in the tags White and Black"):
        games_of_player(path, "A")


def test_a_profile_of_too_few_moves_is_refused(tmp_path: Path, shell) -> None:
    few = shell("profile", pgn(tmp_path, ("A", "B")), "--player", "A", status=1)
    wrong = shell("profile", "no-such.pgn", "--player", "A", "--positions", "59", status=2)
    assert "not enough games: 1 of 'A' have 4 positions" in few
    assert "--positions: '59' is not a whole number from 60 on" in wrong


def test_the_columns_of_a_move_are_what_the_board_shows(tmp_path: Path) -> None:
    player = games_of_player(pgn(tmp_path, ("A", "B")), "B")
    choices, shown = choices_of(player), shown_to(player, families.default(), 9)
    assert choices.plies.tolist() == [11, 13, 15, 17]
    for index, ply in enumerate(choices.plies.tolist()):
        board = chess.Board(to_fen(choices.positions[index : index + 1]))
        rows = range(shown.firsts[index], shown.firsts[index + 1])
        assert len(rows) == board.legal_moves.count()
        habits = dict(zip(HABITS, shown.columns[shown.played[index], FIRST_HABIT:FIRST_TERM], strict=True))
        assert habits["capture"] == (ply in (11, 15)) and habits["capture of what just moved"] == (ply == 11)
        assert habits["retreat"] == 0 and habits["check"] == 0
    losses = shown.columns[:, :FIRST_HABIT]
    assert (losses <= 0).all() and (np.maximum.reduceat(losses, shown.firsts[:-1]) == 0).all()
    pawns = shown.columns[:, FIRST_TERM]
    assert pawns[shown.played].tolist()[0] == pytest.approx(pawns[shown.played].max()) and (pawns >= 0).all()


@pytest.mark.parametrize(
    ("fen", "played", "move", "habits"),
    [
        ("4k3/8/8/8/8/5N2/8/4K3 w - - 0 1", "", "f3g1", {"retreat"}),
        ("4k3/8/8/8/8/5N2/8/4K3 w - - 0 1", "", "f3g5", set()),
        ("4k3/8/5n2/8/8/8/8/4K3 b - - 0 1", "", "f6g8", {"retreat"}),
        ("4k3/8/5n2/8/8/8/8/4K3 b - - 0 1", "", "f6g4", set()),
        (chess.STARTING_FEN, "g1f3 e7e5", "f3e5", {"capture", "capture of what just moved", "same piece again"}),
        (chess.STARTING_FEN, "g1f3 e7e5", "f3g1", {"retreat", "same piece again"}),
        (chess.STARTING_FEN, "g1f3 e7e5", "b1c3", {"development before castling"}),
        (chess.STARTING_FEN, "e2e4 f7f5 g1f3 f5e4 b1c3 g7g5", "c3e4", {"capture", "same piece again"}),
        (chess.STARTING_FEN, "e2e4 f7f5", "d1h5", {"check"}),
        ("4k3/8/8/8/8/8/8/1N2K2R w - - 0 1", "", "b1c3", set()),
        ("4k3/8/8/8/8/8/8/1N2K2R w K - 0 1", "", "b1c3", {"development before castling"}),
        (CASTLING, "", "e1g1", {"castling"}),
        (CASTLING, "h1h3", "e8c8", {"castling"}),
        (CASTLING, "", "e1e2", {"castling lost by the king"}),
        (CASTLING, "h1h3", "e8d7", {"castling lost by the king"}),
        (CASTLING, "", "a1b1", {"castling lost by a rook"}),
        (CASTLING, "h1h3 h8h7", "h3h4", {"same piece again"}),
        ("3qk3/8/8/8/8/8/8/R3K3 w - - 0 1", "", "e1f2", {"king's move with queens on"}),
        ("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", "", "e1f2", set()),
    ],
)
def test_a_move_follows_the_habits_that_the_board_shows(fen: str, played: str, move: str, habits: set[str]) -> None:
    position = Position(fen)
    for each in played.split():
        position.push_uci(each)
    _, moves, _, columns = shown_by(position.record, np.array([[0, 0, *position.moves][-2:]], dtype=np.int64))
    row = columns[moves.tolist().index(position.parse_uci(move)), FIRST_HABIT:FIRST_TERM]
    assert {name for name, follows in zip(HABITS, row, strict=True) if follows} == habits


def test_the_same_games_give_the_same_choices(tmp_path: Path) -> None:
    player = games_of_player(pgn(tmp_path, *[("A", f"B{number}") for number in range(6)]), "A")
    one, other = choices_of(player, 9), choices_of(player, 9)
    assert len(one) == 9 and (one.games == other.games).all() and (one.plies == other.plies).all()


# After five moves White leaves the queen to a pawn, and Black does not take it.
BLUNDER = """[White "{white}"]
[Black "{black}"]
[Date "{date}"]
[Result "0-1"]
[FEN "4k3/6pp/2p5/8/8/8/6PP/3QK3 w - - 0 1"]

1. Kf1 Kf8 2. Ke1 Ke8 3. Kf1 Kf8 4. Ke1 Ke8 5. Kf1 Kf8 6. Qd5 Ke8 0-1

"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(text)
    return path


def judged(choices: Choices, losses: Sequence[float] | np.ndarray) -> profile.JudgedMoves:
    lost = np.asarray(losses, dtype=np.float64)
    return profile.JudgedMoves(choices, lost, lost >= 0.1)


def dated(tmp_path: Path, *dates: str) -> PlayerGames:
    """Games of A on these days, with a choice each."""
    return games_of_player(
        written(tmp_path, "".join(BLUNDER.format(white="A", black="B", date=day) for day in dates)), "A"
    )


def one_choice_in_each(player: PlayerGames) -> Choices:
    games = np.arange(len(player.games))
    return Choices(games, np.full(len(games), 10), np.concatenate([game.positions[10:11] for game in player.games]))


def test_moves_of_one_game_count_together_in_an_interval() -> None:
    values = np.tile([0.0, 0.4], 50)
    alone = profile.mean_of(values, np.arange(100))
    together = profile.mean_of(values, np.repeat(np.arange(50), 2)[np.argsort(np.tile([0, 1], 50), kind="stable")])
    assert alone.value == together.value == pytest.approx(0.2)
    assert together.high - together.low == pytest.approx(2**0.5 * (alone.high - alone.low), rel=0.02)
    assert profile.mean_of(values, np.arange(100) % 4) == profile.Interval(alone.value, -1.0, 1.0) and not alone.is_wide


def test_halves_that_are_alike_rarely_differ_for_sure_also_around_zero() -> None:
    rng, games = np.random.default_rng(1), np.repeat(np.arange(6), 10)
    losses = 0.002 * rng.normal(size=(1000, 2, 60)) + 0.002 * np.repeat(rng.normal(size=(1000, 2, 6)), 10, axis=2)
    changes = [
        profile.difference(profile.mean_of(first, games), profile.mean_of(second, games)) for first, second in losses
    ]
    assert 0.02 < np.mean([change.low > 0 or change.high < 0 for change in changes]) < 0.08
    below = profile.mean_of(np.full(60, -0.003) + losses[0, 0] / 10, games)
    assert below.low < below.value < below.high < 0


def test_a_few_equal_results_of_an_opening_are_not_certain() -> None:
    won = profile.mean_score(np.ones(5))
    assert won.value == won.high == 1 and won.low < 0.75
    assert profile.mean_score(np.full(20, 0.5)).low < 0.48 and profile.mean_score(np.ones(4)) == profile.Interval(
        1.0, 0.0, 1.0
    )
    rng = np.random.default_rng(2)
    found = [profile.mean_score(rng.choice([0, 0.5, 1], 15, p=[0.2, 0.3, 0.5])) for _ in range(1000)]
    assert 0.93 < np.mean([each.low <= 0.65 <= each.high for each in found]) < 0.99


def test_mistakes_that_come_together_in_some_games_count_as_fewer() -> None:
    games, alone = np.repeat(np.arange(40), 25), np.arange(1000) % 25 == 0
    together = np.repeat(np.arange(40) < 8, 25) & (np.arange(1000) % 5 == 0)  # five in each of eight games
    spread, heaped = profile.share_by_game(alone, games), profile.share_by_game(together, games)
    assert spread == profile.share_of(40, 1000) and heaped.value == spread.value == 0.04
    assert heaped.high - heaped.low > 1.5 * (spread.high - spread.low)
    assert profile.share_by_game(np.zeros(10, dtype=bool), np.arange(10)) == profile.share_of(0, 10)


def test_shares_and_their_differences_have_95_percent_intervals() -> None:
    assert profile.share_of(0, 10).low == 0 and profile.share_of(0, 10).high == pytest.approx(0.2775, abs=1e-3)
    half = profile.share_of(50, 100)
    assert (half.low, half.high) == pytest.approx((0.4038, 0.5962), abs=1e-3)
    change = profile.difference(profile.Interval(0.3, 0.27, 0.33), profile.Interval(0.2, 0.16, 0.24))
    assert (change.low, change.high) == pytest.approx((-0.15, -0.05))


def test_every_move_belongs_to_a_part_of_the_game_to_a_colour_and_to_a_clock(tmp_path, monkeypatch) -> None:
    player = games_of_player(pgn(tmp_path, ("A", "B"), ("C", "A"), ("A", "D")), "A")
    choices = choices_of(player)
    monkeypatch.setattr(profile, "stages_of", lambda positions: np.full(len(positions), material.FULL_BOARD // 2))
    parts = profile.parts_of(player, judged(choices, np.full(12, 0.2)))
    assert {part.mistakes.value for part in parts} == {1.0} and not any(part.is_enough for part in parts)
    moves = {"all moves": 12, "endgame": 12, "with White": 8, "with Black": 4}
    moves |= {"a minute or more left": 9, "less than a minute left": 3}
    assert {part.name: part.moves for part in parts} == moves


def test_time_goes_by_dates_or_else_by_the_place_in_the_file(tmp_path: Path) -> None:
    days = [f"{year}.01.??" for year in range(2020, 1900, -1)]
    player = dated(tmp_path, *days)
    losses = np.linspace(0.0, 0.2, len(days))  # the file begins with the latest games
    found = profile.over_time(player, judged(one_choice_in_each(player), losses))
    assert found.by == "date" and found.direction == 1 and found.change is not None and found.change.value < -0.05
    assert [period.name for period in found.periods] == ["1901.01 to 1960.01", "1961.01 to 2020.01"]
    player = dated(tmp_path, *days[:-1], "????.??.??")
    found = profile.over_time(player, judged(one_choice_in_each(player), losses))
    assert found.by == "place in the file" and found.direction == -1
    assert [period.name for period in found.periods] == ["games 1 to 60", "games 61 to 120"]
    assert profile.over_time(player, judged(one_choice_in_each(player), np.full(len(days), 0.1))).direction == 0


def test_periods_of_one_day_are_named_by_their_games(tmp_path: Path) -> None:
    player = dated(tmp_path, *("2024.05.01" for _ in range(120)))
    found = profile.over_time(player, judged(one_choice_in_each(player), np.zeros(120)))
    assert [period.name for period in found.periods] == ["games 1 to 60", "games 61 to 120"]
    assert sum(period.moves for period in found.periods) == 120
    for day, name in {"2024.05.01": "2024.05.01", "?": "game 1"}.items():
        player = dated(tmp_path, day)
        found = profile.over_time(player, judged(one_choice_in_each(player), np.zeros(1)))
        assert [period.name for period in found.periods] == [name]


def test_a_few_games_show_no_change(tmp_path: Path) -> None:
    player = dated(tmp_path, "2020.01.01", "2020.01.02")
    found = profile.over_time(player, judged(one_choice_in_each(player), [0.1, 0.0]))
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
    found = profile.openings_of(player, judged(choices_of(player), np.zeros(1)), [])
    records = {(one.name, one.colour): (one.games, one.won, one.drawn, one.lost) for one in found}
    assert records == {
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
    choices = choices_of(player)
    judge = judge_of(TERMS, 16, 1)
    losses = profile.losses_of(player, choices, judge)
    assert losses[0] > 0.3
    mistakes = profile.mistakes_of(player, choices, losses, judge)
    (kind,) = profile.kinds_of(mistakes)
    assert (kind.kind, kind.count, kind.plies) == ("hanging piece", 1, 1) and kind.share.value == 1
    assert kind.examples[0].game == 1 and kind.examples[0].move == ("6.Qd5" if colour else "6...Qd4")
    assert [mistake.plies for mistake in mistakes] == [1]


def part(name: str, loss: float, error: float, moves: int = 100, enough: bool = True) -> profile.MoveGroup:
    interval = profile.Interval(loss, loss - error, loss + error)
    return profile.MoveGroup(name, 20, moves, interval, interval, enough)


def test_lessons_are_what_has_cost_most_beyond_chance() -> None:
    examples = (profile.Example(3, "A - B", "23.Rxe6", START_FEN),)
    kinds = [
        profile.KindCount(kind, count, profile.share_of(count, 20), 0.2, 1.0, examples)
        for kind, count in (("no proved reason", 9), ("hanging piece", 5), ("fork missed", 2))
    ]
    parts = [part("with White", 0.02, 0.005), part("with Black", 0.05, 0.01), part("endgame", 0.02, 0.01)]
    parts += [part("opening and middlegame", 0.025, 0.01), part("less than a minute left", 0.2, 0.1, enough=False)]
    colours, hanging = profile.lessons_of(parts, kinds, 20)
    assert colours.sentence == "you lose 3.0% of a point a move more with Black than with White"
    assert hanging.sentence == "hanging piece: 5 of 20 mistakes, half of them seen 1 ply on, 20% of a point each"
    assert (colours.kind, hanging.kind, hanging.examples) == (None, "hanging piece", examples)
    assert (colours.points, hanging.points) == (pytest.approx(3), pytest.approx(1))
    assert profile.lessons_of([part("with White", 0.0201, 0), part("with Black", 0.03, 0)], [], 0) == ()
    assert profile.lessons_of([part("with White", 0.02, 0.02), part("with Black", 0.05, 0.03)], [], 0) == ()


def test_what_a_search_sees_does_not_depend_on_those_before_it() -> None:
    analyse, position = (
        judge_of(TERMS, 16, 1, is_forgetful=True).analyse,
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
    return f'[White "B"]\n[Black "A"]\n[FEN "3qk3/6pp/8/8/8/2P5/6PP/4K3 b - - 0 1"]\n\n1... {moves} *\n'


def test_a_number_added_to_all_moves_of_a_position_does_not_change_the_fit() -> None:
    choices, deviations = made_up(np.zeros(len(COLUMNS)), 60), np.ones(len(COLUMNS))
    plain, shifted = fit(choices, deviations), fit(replace(choices, columns=choices.columns + 3), deviations)
    assert shifted[0] == pytest.approx(plain[0], abs=1e-4)
    assert shifted[1] == pytest.approx(plain[1], abs=1e-6)


def test_made_up_coefficients_are_found_again_within_their_intervals() -> None:
    true = np.zeros(len(COLUMNS))
    true[:FIRST_HABIT] = 5, 5, 10
    true[FIRST_TERM + 3], true[FIRST_TERM + 8] = 0.5, -0.4
    found, covariance = fit(made_up(true, 1500), np.full(len(COLUMNS), 30.0))
    errors = (found - true) / np.sqrt(np.diag(covariance))
    assert np.abs(errors).max() < 4 and np.sqrt((errors**2).mean()) < 1.5


def test_the_coefficients_of_people_are_written_as_they_are_read() -> None:
    own = people()
    again = from_toml(tomllib.loads(as_toml(own, ["A header."])))
    assert np.allclose(own.means, again.means, rtol=1e-4) and own.means[:FIRST_HABIT].sum() > 0


@pytest.mark.parametrize(("rating", "mean"), [(1500, 1.0), (1600, 1.5), (1400, 0.5), (2100, 3.5), (900, -1.5)])
def test_habits_follow_the_rating_between_those_that_were_seen(rating: float, mean: float) -> None:
    found = from_toml({"rating": 1500, "ratings": [1000, 2000], "columns": {"check": {"mean": 1.0, "slope": 0.5}}})
    assert found.usual(rating)[COLUMNS.index("check")] == pytest.approx(mean)


def test_a_profile_of_twenty_games(tmp_path: Path, shell) -> None:
    path = pgn(tmp_path, *[("A", f"B{number}") for number in range(20)])
    words = ("profile", path, "--player", "A", "--quiet")
    text, data = shell(*words), shell(*words, "--json")
    assert text.startswith("A, rating 1800: 20 games, 80 moves after the opening, judged by gen13\n")
    assert "Ruy Lopez (C68)" in text and "+20 =0 -0" in text and max(map(len, text.splitlines())) <= 120
    assert "Over time" not in text, "the games are alike"
    assert data["player"] == "A" and data["games"] == 20 and data["moves"] == 80 and data["rating"] == 1800
    names = {part["name"]: part["moves"] for part in data["parts"]}
    assert names["all moves"] == 80 and names["less than a minute left"] == 20
    assert data["over_time"]["by"] == "date" and data["over_time"]["direction"] == 0
    (opening,) = data["openings"]
    assert opening["name"] == "Ruy Lopez" and opening["score"] == 1 > opening["score_low"]
    mistakes = data["mistakes"]
    assert sum(row["mistakes"] for row in mistakes["plies"]) == mistakes["count"]
    assert sum(kind["count"] for kind in mistakes["kinds"]) == mistakes["count"]
