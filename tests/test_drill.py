"""Practice: mistakes become exercises only where one move is clearly best, their kinds, and when they come again."""

import html
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common import about
from merino.core.common.sealed import from_json
from merino.engine.search.limits import Limits, Line, Score
from merino.eval.families import default
from merino.lab.people import drill, games
from merino.study.errors import StudyError
from tests.boards import games_in
from tests.judges import judge_from
from tests.pipes import pipe_with

# After five moves White, far behind, overlooks a mate on the back rank.
GAME = """[White "Me"]
[Black "You"]
[Date "2024.01.02"]
[Result "0-1"]
[FEN "5k2/5ppp/6r1/7n/7n/8/5PPP/R5K1 w - - 0 1"]

1. Kf1 Kg8 2. Kg1 Kf8 3. Kf1 Kg8 4. Kg1 Kf8 5. Kf1 Kg8 6. Rb1 h6 0-1

"""
PAWN_MOVED = "rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR b KQkq - 0 1"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def exercise(fen: str = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", solution: str = "Ra8#") -> drill.Exercise:
    answers = ("h6", solution.replace("#", "+"))
    return drill.Exercise(
        fen, "h3", solution, "mate missed", "there was a mate in 1", 0.4, 3, "Me - You", "1.", (solution,), answers
    )


def test_games_become_exercises_that_are_kept(tmp_path: Path, shell) -> None:
    path = tmp_path / "mine.pgn"
    path.write_text(GAME)
    listed = shell("drill", path, "--player", "me", "--list", "--json", "--quiet")
    assert listed and {"fen", "played", "solution", "kind", "loss"} <= set(listed[0])
    for one in listed:
        board = chess.Board(one["fen"])
        assert board.turn == chess.WHITE and board.parse_san(one["solution"]) != board.parse_san(one["played"])
        assert one["loss"] >= 0.1 and one["game"] == 1
    assert [one["kind"] for one in listed] == ["mate missed"]
    kept = (tmp_path / "mine.pgn.drill.json").read_bytes()
    assert listed[0]["solution"] in shell("drill", path, "--player", "me", "--list", "--quiet")
    assert (tmp_path / "mine.pgn.drill.json").read_bytes() == kept
    assert "no exercises: 1 game of 'You'" in shell(
        "drill", path, "--player", "You", "--list", "--quiet", "--progress", tmp_path / "y", status=1
    )


@pytest.fixture
def quick_look(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[int]], None]:
    """Lets the quick look for mistakes see these scores for White, the first before the sixth move."""

    def see(scores: list[int]) -> None:
        seen = np.array(10 * [scores[0]] + scores)
        monkeypatch.setattr(drill, "Rescore", lambda *_: SimpleNamespace(scores_of=lambda *_: seen))

    return see


def games_with(folder: Path, player: str, moves: str = "6. Rb1 h6") -> games.PlayerGames:
    """The game, with these moves from the sixth on."""
    path = folder / "mine.pgn"
    path.write_text(GAME.replace("6. Rb1 h6", moves))
    return games.games_of_player(path, player)


@pytest.mark.parametrize(("player", "scores", "ply"), [("Me", [0, -300, -300], 10), ("You", [0, 0, 300], 11)])
def test_a_move_loses_what_its_player_has_less_after_it(tmp_path, quick_look, player, scores, ply) -> None:
    played, judged = games_with(tmp_path, player), []
    quick_look(scores)

    def analyse(position: Position, *_: object) -> list[Line]:
        judged.append(position.fen())
        return []

    assert drill.exercises_of(played, default(), judge_from(analyse)) == []
    assert judged == [to_fen(played.games[0].positions[ply : ply + 1])]


@pytest.mark.parametrize(("second", "is_asked"), [(-300, True), (250, False)])
def test_a_position_with_two_good_moves_is_no_exercise(tmp_path, quick_look, monkeypatch, second, is_asked) -> None:
    monkeypatch.setattr(drill.claims.Prover, "threat", lambda *_: None)  # whose positions no scripted judge knows
    quick_look([0, -300, -300])

    def analyse(position: Position, limits: Limits, lines: int = 1) -> list[Line]:
        return lines_of(position, limits, {"a1a8": 300, "g2g3": second}, {"h7h6": 300, "g8f8": 300})[:lines]

    found = drill.exercises_of(games_with(tmp_path, "Me"), default(), judge_from(analyse))
    assert [one.solution for one in found] == ["Ra8#"] * is_asked


@pytest.fixture
def in_64ths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected scores are scores in 64ths, and so are the limits of the choice, which floats then meet exactly."""
    monkeypatch.setattr(drill.claims.Prover, "threat", lambda *_: None)  # whose positions no scripted judge knows
    for name, least in (("MIN_EXPECTED", 24), ("MIN_LEAD", 8), ("_SCAN_LOSS", 4)):
        monkeypatch.setattr(drill, name, least / 64)
    monkeypatch.setattr(drill.annotation, "MISTAKE", 4 / 64)
    monkeypatch.setattr(drill.choice, "expected_scores", lambda scores, _: scores / 64)


@pytest.mark.parametrize(("best", "second", "played", "is_asked"), [(24, 16, 20, True), (23, 10, 10, False)])
@pytest.mark.parametrize("less", [(0, 0), (1, 0), (0, 1)])  # of the lead, of the loss
def test_a_mistake_is_asked_for_from_the_least_loss_and_lead_on(
    tmp_path, quick_look, in_64ths, best, second, played, is_asked, less
) -> None:
    quick_look([300, -300, -300])

    def analyse(position: Position, limits: Limits, lines: int = 1) -> list[Line]:
        white = {"a1a8": best, "g2g3": second + less[0]}
        black = dict.fromkeys(("h7h6", "g8f8"), 64 - played - less[1])
        return lines_of(position, limits, white, black)[:lines]

    judge = replace(judge_from(analyse), expected=lambda score: int(score) / 64)
    found = drill.exercises_of(games_with(tmp_path, "Me"), default(), judge)
    assert len(found) == (is_asked and less == (0, 0))
    assert [(one.loss, one.solution) for one in found] in ([], [(4 / 64, "Ra8#")])


@pytest.mark.parametrize(("before", "after", "is_judged"), [(20, 16, True), (19, 10, False), (20, 17, False)])
@pytest.mark.parametrize(("player", "sign"), [("Me", 1), ("You", -1)])
def test_a_quick_look_finds_mistakes_from_the_least_loss_and_chance_on(
    tmp_path, quick_look, in_64ths, player, sign, before, after, is_judged
) -> None:
    judged = list[str]()
    quick_look([sign * before, sign * (after if player == "Me" else before), sign * after])
    judge = judge_from(lambda position, *_: judged.append(position.fen()) or [])
    assert drill.exercises_of(games_with(tmp_path, player), default(), judge) == []
    assert len(judged) == is_judged


def line_of(score: int, move: int) -> Line:
    return Line(9, 9, 1, Score(score), "", 1, 1, 0, 1, (move,))


def lines_of(position: Position, limits: Limits, *by_side: dict[str, int]) -> list[Line]:
    """The lines that a judge finds, best first: the scores of White's and of Black's moves, of those to be searched."""
    found = [(score, position.parse_uci(text)) for text, score in by_side[position.side].items()]
    return [line_of(score, move) for score, move in found if move in (limits.search_moves or [move])]


def test_the_costliest_mistakes_come_first(tmp_path, quick_look, monkeypatch) -> None:
    monkeypatch.setattr(drill.claims.Prover, "threat", lambda *_: None)
    played = games_with(tmp_path, "Me", "6. Rb1 Kf8 7. Ra1 Kg8 8. Rb1 h6")
    quick_look([300, 0, 300, 0, 300, 0, 0])
    answers = {6: -100, 7: 200, 8: 0}  # by the number of the move, for Black

    def analyse(position: Position, _: Limits, lines: int = 1) -> list[Line]:
        if lines == 2:
            return [line_of(300, position.parse_uci("g2g3")), line_of(-300, position.parse_uci("h2h3"))]
        return [line_of(answers.get(int(position.fen().split()[-1]), 0), position.legal_moves[0])]

    found = drill.exercises_of(played, default(), judge_from(analyse))
    assert [one.number for one in found] == ["7.", "8.", "6."]
    assert [one.loss for one in found] == sorted((one.loss for one in found), reverse=True)


def practise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> tuple[Path, int]:
    """A session with one exercise, in which these lines are typed."""
    path, place = tmp_path / "mine.pgn", tmp_path / "mine.pgn.drill.json"
    path.write_text(GAME)
    if not place.exists():
        progress = drill.Practice("", (exercise(),))
        monkeypatch.setattr("merino.lab.people.drill.exercises_of", lambda *_: list(progress.exercises))
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    return place, main(["drill", str(path), "--player", "Me", "--quiet"])


def test_one_file_keeps_the_practice_of_one_player(tmp_path, monkeypatch, capsys) -> None:
    place, _ = practise(tmp_path, monkeypatch, "Ra8")
    kept = place.read_bytes()
    capsys.readouterr()
    assert main(["drill", str(tmp_path / "mine.pgn"), "--player", "You", "--list", "--quiet"]) == 1
    assert f"'{place}' keeps the practice of 'Me'; 'You' needs another file: --progress FILE" in capsys.readouterr().err
    assert place.read_bytes() == kept


def test_a_player_spelt_with_other_capitals_goes_on_with_the_practice(tmp_path, monkeypatch, capsys) -> None:
    place, _ = practise(tmp_path, monkeypatch, "Ra8")
    first = drill.load_progress(place)
    (tmp_path / "mine.pgn").write_text(GAME.replace('"Me"', '"  mE "'))
    capsys.readouterr()
    assert main(["drill", str(tmp_path / "mine.pgn"), "--player", "Me", "--list", "--quiet"]) == 0
    again = drill.load_progress(place)
    assert first is not None and again is not None and again.cards == first.cards and again.cards


def test_exports_report_how_many_exercises_they_have(tmp_path: Path, capsys: pytest.CaptureFixture[str], shell) -> None:
    (path := tmp_path / "mine.pgn").write_text(GAME)
    study, cards = tmp_path / "study.pgn", tmp_path / "cards.txt"
    command = ["drill", str(path), "--player", "Me", "--pgn", str(study), "--anki", str(cards)]
    assert shell(*command) == f"Exercises: 1, in '{study}'.\nExercises: 1, in '{cards}'.\n"
    assert study.read_text().count("[FEN ") == 1 and "mate missed" in cards.read_text()
    assert main([*command, "--quiet"]) == 0 and capsys.readouterr().out == ""


def test_a_move_found_is_asked_later_than_one_missed(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    found, code = practise(tmp_path / "a", monkeypatch, "Ra8")
    printed = capsys.readouterr().out
    assert code == 0 and "White to move. You played 1.h3; what is better?" in printed and "Right." in printed
    assert [line[:2] for line in printed.splitlines()[3:11]] == [f" {rank}" for rank in range(8, 0, -1)]
    assert "(mate missed: there was a mate in 1); Ra8# was right" in printed and "Found: 1." in printed
    missed, code = practise(tmp_path / "b", monkeypatch, "xyz", "h3", "hint", "Ra2")
    printed = capsys.readouterr().out
    assert "That is what you played: h6 answers it. Try again." in printed and "the piece on a1" in printed
    assert re.search(r"Ra2 is not the best: \S+ answers it, and leaves you \d+% of the points\.\n", printed)
    assert "The move is 1.Ra8#." in printed and "Found: 0." in printed
    dues = [next(iter(drill.load_progress(place).cards.values()))["due"] for place in (found, missed)]  # type: ignore[union-attr]
    assert dues[0] > dues[1]
    practise(tmp_path / "a", monkeypatch, "Ra8")
    assert "Nothing is due." in capsys.readouterr().out
    assert main(["drill", str(tmp_path / "b" / "mine.pgn"), "--player", "Me", "--kind", "fork missed"]) == 0
    assert "No exercise of the kind 'fork missed' is due." in capsys.readouterr().out


def test_the_end_of_the_input_ends_the_session(tmp_path, monkeypatch, capsys) -> None:
    place, code = practise(tmp_path, monkeypatch)
    assert code == 0 and drill.load_progress(place).cards == {}  # type: ignore[union-attr]


def test_drill_without_its_extra_asks_nothing_and_says_what_to_install(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "fsrs", None)
    place, code = practise(tmp_path, monkeypatch, "Ra8")
    printed = capsys.readouterr()
    assert code == 1 and "what is better?" not in printed.out and about.needs("drill", "practice") in printed.err
    assert drill.load_progress(place).cards == {}  # type: ignore[union-attr]


def test_what_is_due_comes_before_what_is_new() -> None:
    old, new = exercise(), exercise("6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1", "Rb8#")
    progress = drill.Practice("", (new, old))
    due = progress.review(old, False, NOW)
    assert progress.due(due - timedelta(seconds=1)) == [new] and progress.due(due) == [old, new]


def test_practice_survives_new_games(tmp_path: Path) -> None:
    old = drill.Practice("one", (exercise(),))
    old.review(exercise(), True, NOW)
    other = exercise("6k1/5ppp/8/8/8/8/5PPP/1R4K1 w - - 0 1", "Rb8#")
    progress = drill.renewed(old, "two", [other])
    assert progress.exercises == (other, exercise()) and progress.cards == old.cards
    progress.save(tmp_path / "p.json")
    assert drill.load_progress(tmp_path / "p.json") == progress
    assert drill.renewed(progress, "three", [exercise()]).exercises == (exercise(),)  # known before, and asked once


@pytest.mark.parametrize(
    ("cards", "exercises"),
    [
        ({"state": 9}, {}),
        ({"state": 2, "step": 0}, {}),
        ({"stability": 0.0}, {}),
        ({"difficulty": 10**400}, {}),
        ({"last_review": "2026-01-01"}, {}),
        ({"due": None}, {}),
        ({"due": ""}, {}),
        ({}, {"fen": "8/8/8/8/8/8/8/8 w - - 0 1"}),
        ({}, {"line": ["a4", "Rxa9"]}),
        ({}, {"refutation": ["e4"]}),
        ({}, {"loss": -1}),
        ({}, {"title": "\ud800"}),
    ],
)
def test_unusable_progress_is_refused(cards: dict[str, Any], exercises: dict[str, Any], tmp_path: Path) -> None:
    progress, path = drill.Practice("", (exercise(),)), tmp_path / "p.json"
    progress.review(exercise(), True, NOW)
    progress.save(path)
    data = from_json(path.read_bytes(), "it")
    data["exercises"][0] |= exercises
    next(iter(data["cards"].values())).update(cards)
    path.write_text(json.dumps(data), encoding="utf-8")  # as of 1.0, without a checksum
    with pytest.raises(StudyError, match=r"p\.json' is not the progress of practice"):
        drill.load_progress(path)


def test_an_exercise_may_castle_as_only_chess960_does() -> None:
    one = replace(exercise("4k3/8/8/8/8/8/5PPP/4K1R1 w K - 0 1", "O-O"), refutation=("Kd7",))
    assert drill.Exercise.from_json(one.as_json()) == one
    assert drill.hint_for(one) == "It moves the piece on e1."
    (game,) = games_in(drill.as_pgn([one]))
    assert [node.san() for node in game.variations] == ["O-O", "h3"]


def test_what_a_player_of_black_missed_is_exported_whole() -> None:
    fen, reason = "r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", 'a {pin} & <b>"two"</b>\tx'
    one = replace(exercise(fen, "Ra1#"), played="h6", number="1...", reason=reason, refutation=("Kf1",))
    head, *_, last = drill.as_anki([exercise(), one]).splitlines()
    question, answer, tags = last.split("\t")
    assert head == "#separator:tab"
    assert html.unescape(answer) == one.why.replace("\t", " ") and tags == "merino mate-missed"
    assert fen in question and question.endswith("<br>Black to move; you played h6.")
    assert set(re.findall("<.*?>", question + answer)) == {"<pre>", "</pre>", "<br>"}
    (game,) = games_in(drill.as_pgn([one]))
    assert game.comment == "You played 1...h6. What is better?"
    assert [game.headers[name] for name in ("Event", "Site", "White")] == [
        "Exercise 1: mate missed",
        "game 3",
        "Me - You",
    ]
    right, wrong = game.variations
    assert (right.san(), right.nags, wrong.san(), wrong.nags) == ("Ra1#", set(), "h6", {chess.pgn.NAG_MISTAKE})
    assert right.comment == one.why.replace("}", ")").replace("\t", " ") and wrong.variations[0].san() == "Kf1"


@pytest.mark.parametrize(("fen", "move"), [(chess.STARTING_FEN, "a3"), (PAWN_MOVED, "a6")])
def test_what_a_move_leaves_is_that_of_its_player(fen: str, move: str) -> None:
    one = replace(exercise(fen, "Nc6" if " b " in fen else "Nc3"), played="h5")
    judge = judge_from(lambda position, *_: [line_of(-400, position.legal_moves[0])])  # for the other side
    left = 1 - judge.expected(Score(-400))
    assert left > 0.6 and drill.reply_to(one, move, judge).sentence.endswith(f"leaves you {left:.0%} of the points.")


def test_names_with_quotes_stay_one_value_in_a_study() -> None:
    one = replace(exercise(), title='William "Bill" L. - B\\')
    assert drill.as_pgn([one, one]).count('\n[White "William \\"Bill\\" L. - B\\\\"]\n') == 2


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no pipes with names here")
def test_games_through_a_pipe_make_no_exercises(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("merino.lab.people.drill.exercises_of", lambda *_: [exercise()])
    place = tmp_path / "p.json"
    (played := tmp_path / "games.pgn").write_text(GAME)
    player = games.games_of_player(played, "Me")
    with (
        pipe_with(GAME.encode()) as pipe,
        pytest.raises(StudyError, match=rf"'/dev/fd/{pipe}' can be read only once: exercises need a file"),
    ):
        drill.practice_from(Path(f"/dev/fd/{pipe}"), player, place, 1, lambda: fail)
    assert drill.practice_from(played, player, place, 1, lambda: fail).exercises == (exercise(),)


def test_what_was_practised_stays_where_new_games_have_no_mistake(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("merino.lab.people.drill.exercises_of", lambda *_: [])
    (played := tmp_path / "games.pgn").write_text(GAME)
    player = games.games_of_player(played, "Me")
    with pytest.raises(StudyError, match="no exercises: 1 game of 'Me' without a mistake"):
        drill.practice_from(played, player, tmp_path / "p.json", 1, lambda: fail)
    old = drill.Practice("other Me 1", (exercise(),))
    old.review(exercise(), True, NOW)
    old.save(tmp_path / "p.json")
    assert drill.practice_from(played, player, tmp_path / "p.json", 1, lambda: fail).exercises == (exercise(),)


def fail(*_: object) -> list[Line]:
    raise AssertionError("nothing is searched")
