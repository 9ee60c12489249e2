"""Profiles of players: who is meant, what their choices show, and whether a made-up taste is found again."""

from __future__ import annotations

import io
import json
import re
import tomllib
from contextlib import redirect_stdout
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common.command import CommandError
from merino.engine.search.choice import COLUMNS, FIRST_HABIT, FIRST_TERM, HABITS, expected_scores, shown_by
from merino.engine.search.people import Prior, as_toml, from_toml, people
from merino.eval.families import default
from merino.eval.linear.registry import TERMS
from merino.lab.people.profile.choices import Choices, FittedChoice, choices_of, fit, judged, likelihoods
from merino.lab.people.profile.players import games_of_player
from merino.lab.people.profile.profile import cross_validated
from merino.lab.people.profile.tastes import tastes_of
from merino.lab.people.profile_command import run_profile
from merino.study.errors import StudyError

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


def made_up(coefficients: np.ndarray, positions: int, seed: int = 1) -> Choices:
    """Choices drawn from the model."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(5, 40, positions)
    firsts = np.concatenate([[0], np.cumsum(lengths)])
    columns = rng.normal(size=(firsts[-1], len(COLUMNS)))
    columns[:, :FIRST_HABIT] = -np.abs(columns[:, :FIRST_HABIT]) / 10
    zeros = np.zeros(positions, dtype=np.int64)
    games, moves = np.arange(positions) // 10, np.zeros(firsts[-1], dtype=np.int32)
    choices = Choices(games, zeros, firsts, firsts[:-1], moves, columns, zeros / 1.0, zeros)
    chances = likelihoods(choices, coefficients)
    played = [first + rng.choice(last - first, p=chances[first:last]) for first, last in pairwise(firsts)]
    return Choices(games, zeros, firsts, np.array(played), moves, columns, zeros / 1.0, zeros)


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
        ("Doe", r"'Doe' is said of more than one player in .*'Doe, Jane' \(2\), 'Doe, John' \(1\); write one in full$"),
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
    assert re.fullmatch(
        r"1 game cannot be read and is left out \(line \d+: 'Ke3' is not a legal move.*\)", found.left_out
    )


def test_clocks_and_ratings_beyond_all_bounds_are_read(tmp_path: Path) -> None:
    path = pgn(tmp_path, ("A", "B"))
    text = path.read_text().replace("clk 0:03:00", f"clk {'9' * 5000}:03:00")
    path.write_text(text.replace('"1800"', f'"{"0018000" + "0" * 5000}"'))
    (game,) = games_of_player(path, "A").games
    assert game.rating is None and game.clocks[0] > 1e18 and game.clocks[2] == 178


def test_a_player_of_variants_alone_is_told_what_is_wrong(tmp_path: Path) -> None:
    games = [
        f'[White "A"]\n[Black "B"]\n[Variant "{name}"]\n\n1. e4 e5 *\n\n'
        for name in ("Chess960", "Atomic", "Antichess")
    ]
    (path := tmp_path / "variants.pgn").write_text("".join(games[1:]))
    with pytest.raises(
        StudyError, match=r"no game of 'A' can be read; line 3: 'Atomic' is a variant that Merino does not play"
    ):
        games_of_player(path, "A")
    path.write_text("".join(games))
    found = games_of_player(path, "A")
    assert len(found.games) == 1 and found.left_out.startswith(
        "2 games cannot be read and are left out (line 9: 'Atomic'"
    )


def test_a_game_of_two_players_of_one_name_counts_once(tmp_path: Path) -> None:
    found = games_of_player(pgn(tmp_path, ("A", "A"), ("A", "B")), "A")
    assert [game.colour for game in found.games] == [0, 1, 0] and found.count == 2


def test_a_file_without_moves_has_no_games_of_anybody(tmp_path: Path) -> None:
    (path := tmp_path / "results.pgn").write_text('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1-0\n')
    with pytest.raises(StudyError, match="has no games with moves and with players in the tags White and Black"):
        games_of_player(path, "A")


def test_a_profile_of_too_few_moves_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(pgn(tmp_path, ("A", "B"))), "--player", "A"]) == 1
    assert "not enough games: 1 of 'A' have 4 positions" in capsys.readouterr().err
    assert main(["profile", "no-such.pgn", "--player", "A", "--positions", "59"]) == 2
    assert "--positions: '59' is not a whole number from 60 on" in capsys.readouterr().err


def test_the_columns_of_a_move_are_what_the_board_shows(tmp_path: Path) -> None:
    player = games_of_player(pgn(tmp_path, ("A", "B")), "B")
    choices = choices_of(player, default())
    game = player.games[0]
    positions = game.positions
    assert choices.plies.tolist() == [11, 13, 15, 17]
    for index, ply in enumerate(choices.plies.tolist()):
        board = chess.Board(to_fen(positions[ply : ply + 1]))
        rows = range(choices.firsts[index], choices.firsts[index + 1])
        assert len(rows) == board.legal_moves.count()
        habits = dict(zip(HABITS, choices.columns[choices.played[index], FIRST_HABIT:FIRST_TERM], strict=True))
        assert habits["capture"] == (ply in (11, 15)) and habits["capture of what just moved"] == (ply == 11)
        assert habits["retreat"] == 0 and habits["check"] == 0
    losses = choices.columns[:, :FIRST_HABIT]
    assert (losses <= 0).all() and (np.maximum.reduceat(losses, choices.firsts[:-1]) == 0).all()
    pawns = choices.columns[:, FIRST_TERM]
    assert pawns[choices.played].tolist()[0] == pytest.approx(pawns[choices.played].max()) and (pawns >= 0).all()


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
    before = np.array([[0, 0, *position.moves][-2:]], dtype=np.int64)
    _, moves, _, columns = shown_by(position.record, before)
    row = columns[moves.tolist().index(position.parse_uci(move)), FIRST_HABIT:FIRST_TERM]
    assert {name for name, follows in zip(HABITS, row, strict=True) if follows} == habits


def test_examples_of_a_taste_are_moves_that_show_it(tmp_path: Path) -> None:
    player = games_of_player(pgn(tmp_path, ("A", "B")), "A")
    choices = choices_of(player, default())
    choices.columns[choices.played, :FIRST_HABIT] = -0.5
    choices.columns[:, FIRST_TERM:] = 0
    choices.columns[choices.played[1:3], FIRST_TERM] = 1, -1
    for liking, index in ((0.1, 1), (-0.1, 2)):
        coefficients = np.zeros(len(COLUMNS))
        coefficients[:FIRST_HABIT], coefficients[FIRST_TERM] = 1, liking
        found = FittedChoice(coefficients, np.eye(len(COLUMNS)))
        tastes = tastes_of(player, choices, found, people().prior(None), default())
        (example,) = next(taste.examples for taste in tastes if taste.name == TERMS[0].name)
        ply = int(choices.plies[index])
        assert example.fen == to_fen(player.games[0].positions[ply : ply + 1])


def test_a_number_added_to_all_moves_of_a_position_does_not_change_the_fit() -> None:
    choices, prior = made_up(np.zeros(len(COLUMNS)), 60), Prior(np.zeros(len(COLUMNS)), np.ones(len(COLUMNS)))
    plain, shifted = fit(choices, prior), fit(replace(choices, columns=choices.columns + 3), prior)
    assert shifted.coefficients == pytest.approx(plain.coefficients, abs=1e-4)
    assert shifted.covariance == pytest.approx(plain.covariance, abs=1e-6)


def test_games_are_foretold_from_others_and_not_from_themselves() -> None:
    choices = made_up(np.zeros(len(COLUMNS)), 120)  # moves by chance alone, which nothing foretells
    told, baselines = cross_validated(choices, Prior(np.zeros(len(COLUMNS)), np.full(len(COLUMNS), 10.0)))
    assert told.log_loss > baselines["any move"].log_loss


def test_the_same_games_give_the_same_choices(tmp_path: Path) -> None:
    player = games_of_player(pgn(tmp_path, *[("A", f"B{number}") for number in range(6)]), "A")
    one, other = choices_of(player, default(), 9), choices_of(player, default(), 9)
    assert len(one) == 9 and (one.columns == other.columns).all() and (one.plies == other.plies).all()


def test_a_made_up_taste_is_found_again_within_its_interval() -> None:
    true = np.zeros(len(COLUMNS))
    true[:FIRST_HABIT] = 5, 5, 10
    true[FIRST_TERM + 3], true[FIRST_TERM + 8] = 0.5, -0.4
    wide = Prior(np.zeros(len(COLUMNS)), np.full(len(COLUMNS), 30.0))
    found = fit(made_up(true, 1500), wide)
    errors = (found.coefficients - true) / np.sqrt(np.diag(found.covariance))
    assert np.abs(errors).max() < 4 and np.sqrt((errors**2).mean()) < 1.5


def test_with_no_moves_a_player_is_like_the_others() -> None:
    prior = people().prior(None)
    found = fit(made_up(prior.means, 1).chosen(np.zeros(1, dtype=bool)), prior)
    assert np.allclose(found.coefficients, prior.means)
    assert np.allclose(np.sqrt(np.diag(found.covariance)), prior.deviations)


def test_moves_are_judged_by_rank_and_chance() -> None:
    choices = made_up(np.zeros(len(COLUMNS)), 40)
    chances = np.zeros(len(choices.moves))
    chances[choices.played] = 0.5
    told = judged(choices, chances)
    assert told.top1 == told.top3 == 1 and told.log_loss == pytest.approx(np.log(2))


def test_of_moves_that_are_equally_likely_each_is_the_first_as_often() -> None:
    choices = made_up(np.zeros(len(COLUMNS)), 40)
    counts = np.diff(choices.firsts)
    equal = judged(choices, likelihoods(choices, np.zeros(len(COLUMNS))))
    assert equal.top1 == pytest.approx((1 / counts).mean()) and equal.top3 == pytest.approx((3 / counts).mean())
    assert equal.log_loss == pytest.approx(np.log(counts).mean())
    chances, firsts = np.full(len(choices.moves), 0.1), choices.firsts[:-1]
    chances[firsts + (choices.played == firsts)] = 0.2  # another move is likelier, all the rest are alike
    second = judged(choices, chances)
    assert second.top1 == 0 and second.top3 == pytest.approx((2 / (counts - 1)).mean())


def test_the_numbers_of_people_are_written_as_they_are_read() -> None:
    own = people()
    again = from_toml(tomllib.loads(as_toml(own, ["A header."])))
    assert np.allclose(own.means, again.means, rtol=1e-4) and np.allclose(own.spreads, again.spreads, rtol=1e-4)
    assert (own.spreads > 0).all() and own.means[:FIRST_HABIT].sum() > 0
    seen, weaker, unknown = own.prior(own.low), own.prior(own.low - 1000), own.prior(None)
    assert weaker.means.tolist() == seen.means.tolist() and np.allclose(weaker.deviations, 11 * seen.deviations)
    assert (seen.deviations < unknown.deviations).all()


def test_tastes_follow_the_rating_between_those_that_were_seen() -> None:
    column = {"mean": 1.0, "slope": 0.5, "spread": 0.2}
    found = from_toml({"rating": 1500, "ratings": [1000, 2000], "columns": {"check": column}})
    at = COLUMNS.index("check")
    for rating, mean, deviation in ((1500, 1.0, 0.2), (1600, 1.5, 0.2), (1400, 0.5, 0.2), (2100, 3.5, 0.4)):
        prior = found.prior(rating)
        assert (prior.means[at], prior.deviations[at]) == pytest.approx((mean, deviation))


@pytest.fixture(scope="module")
def of_twenty_games(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What the command tells of twenty games, as text and as data."""
    path = pgn(tmp_path_factory.mktemp("games"), *[("A", f"B{number}") for number in range(20)])
    told = []
    for words in ([], ["--json"]):
        with redirect_stdout(io.StringIO()) as out:
            assert main(["profile", str(path), "--player", "A", "--quiet", *words]) == 0
        told.append(out.getvalue())
    return told[0], told[1]


def test_a_profile_as_data_has_what_scripts_ask_for(of_twenty_games: tuple[str, str]) -> None:
    text, told = of_twenty_games[0], json.loads(of_twenty_games[1])
    assert told["player"] == "A" and told["games"] == 20 and told["moves"] == 80 and told["rating"] == 1800
    assert 0 <= told["top1"] <= told["top3"] <= 1 and told["log_loss"] > 0
    assert set(told["baselines"]) == {"best move", "average player", "any move"}
    assert {term["name"] for term in told["terms"]} == {term.name for term in TERMS}
    assert all(term["low"] <= term["value"] <= term["high"] for term in told["terms"])
    share = float(np.diff(expected_scores(np.array([-0.5, 0.5]), default().k))[0])  # that a centipawn is worth
    search = sum(told["coefficients"][column] for column in COLUMNS[:FIRST_HABIT])
    for term in told["terms"]:
        assert term["value"] * share * search == pytest.approx(told["coefficients"][term["name"]], rel=0.01, abs=0.01)
    assert told["top1"] > told["baselines"]["any move"]["top1"]  # the moves are the same in every game
    names = {part["name"]: part["moves"] for part in told["parts"]}
    assert names["all moves"] == 80 and names["less than a minute left"] == 20
    assert text.startswith("A, rating 1800: 20 games, 80 moves after the opening\n") and "your profile" in text


def test_the_report_speaks_in_words_and_says_where_games_are_too_few(of_twenty_games: tuple[str, str]) -> None:
    text, told = of_twenty_games[0], json.loads(of_twenty_games[1])
    assert not [term.name for term in TERMS if term.name in text] and max(map(len, text.splitlines())) <= 120
    assert "Ruy Lopez (C68)" in text and "+20 =0 -0" in text and "Over time, by date" in text
    assert "weaker ones are not known" in text
    assert [opening["name"] for opening in told["openings"]] == ["Ruy Lopez"] and told["openings"][0]["score"] == 1
    assert sum(row["mistakes"] for row in told["mistakes"]["plies"]) == told["mistakes"]["count"]
    assert sum(kind["count"] for kind in told["mistakes"]["kinds"]) == told["mistakes"]["count"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.pgn"):
        run_profile([str(tmp_path / "none.pgn"), "--player", "A"])
