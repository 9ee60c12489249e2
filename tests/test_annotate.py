"""Games annotated: the PGN is sound and keeps what it had, mistakes are told, a picture is drawn."""

import io
from collections.abc import Sequence
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from engine.cli import main
from engine.command import CommandError, UsageError
from engine.game import Position
from engine.search.limits import Limits, Line, Score
from eval.outlook import expected_score
from eval.weights import DEFAULT_FILE, load
from study.annotate import command, picture
from study.annotate.analysis import GRADES, AnnotatedMove, annotate_moves
from study.annotate.command import run_annotate

# Black gives his queen away on move 3; White mates on move 7.
GAME = """[Event "Test"]
[White "A"]
[Black "B"]
[Result "1-0"]

{ Before the game } 1. e4 e5 2. Nf3 { my comment } (2. f4 exf4) 2... Qg5 $1 3. Nxg5 Nc6 4. Bc4 Nh6
5. Qh5 g6 6. Qf3 f6 7. Qxf6 Be7 8. Qxh8+ Bf8 9. Qxh7 Bg7 10. Qxg7 d6 11. Qf7+ Nxf7 12. Bxf7+ Kd8 1-0
"""
FOOLS_MATE = '[Event "Fool"]\n[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
K = 100.0


@pytest.fixture
def game_file(tmp_path: Path) -> Path:
    path = tmp_path / "game.pgn"
    path.write_text(f"{GAME}\n{FOOLS_MATE}")
    return path


def annotated(*arguments: str) -> int:
    return run_annotate([*arguments, "--nodes", "1000", "--hash", "1", "--weights", str(DEFAULT_FILE)])


def read_games(text: str) -> list[chess.pgn.Game]:
    file = io.StringIO(text)
    return list(iter(lambda: chess.pgn.read_game(file), None))


def test_the_pgn_keeps_moves_comments_and_variations_and_gains_evaluations_and_signs(
    game_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotated(str(game_file)) == 0
    games, originals = read_games(capsys.readouterr().out), read_games(game_file.read_text())
    assert len(games) == 2 and not any(game.errors for game in games)
    for game, original in zip(games, originals, strict=True):
        assert [m.uci() for m in game.mainline_moves()] == [m.uci() for m in original.mainline_moves()]
        nodes = list(game.mainline())
        assert all("%" in node.comment for node in nodes)
        assert all(node.eval() is not None or node.board().is_checkmate() for node in nodes)
        assert game.headers["Annotator"].startswith("Merino") and game.headers["Result"] == original.headers["Result"]
    first = games[0]
    assert first.comment.startswith("Before the game Merino")
    nodes = list(first.mainline())
    assert nodes[2].comment.startswith("my comment [%eval")
    assert nodes[1].variation(chess.Move.from_uci("f2f4")).san() == "f4"
    assert {1, 4} <= nodes[3].nags and "blunder" in nodes[3].comment  # 2...Qg5
    assert len(nodes[2].variations) == 2, "the better line is a variation"
    assert {4} <= list(games[1].mainline())[2].nags  # 2. g4
    assert "100.0%" not in list(games[1].mainline())[3].comment and "0.0%" in list(games[1].mainline())[3].comment


def test_out_is_written_whole_and_a_faulty_game_leaves_it_as_it_was(game_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pgn"
    assert annotated(str(game_file), "--out", str(out)) == 0
    before = out.read_text()
    game_file.write_text(f"{FOOLS_MATE}\n{GAME.replace('Nxg5', 'Nxg7')}")
    with pytest.raises(CommandError, match=r"game 2 of '.*game.pgn': illegal san: 'Nxg7'"):
        annotated(str(game_file), "--out", str(out))
    assert out.read_text() == before


def fixed_seeker(scores: dict[str, int], calls: list[str], stop_after: int = 1000):
    """A search that finds the first legal move and the score that is given for the side to move, 0 for none."""

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        calls.append(position.fen())
        if len(calls) > stop_after:
            raise KeyboardInterrupt
        score = Score(scores.get(position.uci(position.moves[-1]) if position.moves else "", 0))
        return [Line(1, 1, 1, score, "", 1, 1, 0, 1, (position.legal_moves[0],))]

    return seek


def moves_of(scores: dict[str, int], moves: Sequence[str]) -> list[AnnotatedMove]:
    calls: list[str] = []
    seek = fixed_seeker(scores, calls)
    told = list(annotate_moves(Position(), moves, load(DEFAULT_FILE), K, seek, Limits(nodes=1)))
    assert len(calls) == len(moves) + 1, "one search a position"
    return told


@pytest.mark.parametrize(
    ("centipawns", "sign"), [(0, ""), (19, ""), (21, "?!"), (39, "?!"), (42, "?"), (84, "?"), (86, "??")]
)
def test_the_loss_of_expected_score_makes_the_sign(centipawns: int, sign: str) -> None:
    for moves in (["g1f3"], ["g1f3", "g8f6"]):  # the opponent, who is to move, has this score after the last one
        told = moves_of({moves[-1]: centipawns}, moves)[-1]
        assert told.loss == pytest.approx(expected_score(centipawns, K) - 0.5)
        assert (told.grade.sign if told.grade else "") == sign


def test_neither_the_searched_best_nor_a_gain_is_a_mistake() -> None:
    best = Position().uci(Position().legal_moves[0])
    assert moves_of({best: 500}, [best])[0].loss == 0
    assert moves_of({"g1f3": -300}, ["g1f3"])[0].loss == 0


def test_mate_and_stalemate_are_certain() -> None:
    calls: list[str] = []
    weights = load(DEFAULT_FILE)
    mate = list(
        annotate_moves(Position(), ["f2f3", "e7e5", "g2g4", "d8h4"], weights, K, fixed_seeker({}, calls), Limits())
    )
    assert (mate[-1].after.expected, mate[-1].after.score_text) == (0.0, "-M0")
    assert len(calls) == 4, "the mate is not searched"
    stalemate = Position("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1")
    (told,) = annotate_moves(stalemate, ["f1f7"], weights, K, fixed_seeker({}, []), Limits())
    assert told.after.expected == 0.5


def test_the_grades_are_the_nags_of_the_standard_worst_first() -> None:
    assert [(grade.nag, grade.sign) for grade in GRADES] == [(4, "??"), (2, "?"), (6, "?!")]
    assert [grade.least_loss for grade in GRADES] == sorted((grade.least_loss for grade in GRADES), reverse=True)


def test_names_in_a_picture_do_not_cover_each_other() -> None:
    worse = dict(zip(("a2a3", "a7a6", "b2b3", "b7b6"), (60, 300, 100, 50), strict=True))
    moves = moves_of(worse, ["a2a3", "a7a6", "b2b3", "b7b6"])
    assert all(told.grade for told in moves)
    assert picture._named(np.array([0.5, 1, 1.5, 2, 2.5]), moves) == [3, 2, 4, 1]
    assert picture._named(np.array([0.5, 1, 1.01, 1.02, 2.5]), moves) == [3, 4]


def test_ctrl_c_keeps_what_is_annotated(
    game_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "seeker", lambda searcher, gives_up: fixed_seeker({}, [], stop_after=3))
    out = tmp_path / "out.pgn"
    assert annotated(str(game_file), "--out", str(out)) == 130
    assert "kept" in capsys.readouterr().err
    (game,) = read_games(out.read_text())
    assert [bool(node.eval()) for node in game.mainline()][:4] == [True, True, False, False]


@pytest.mark.parametrize(("ending", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_each_game_has_its_picture(game_file: Path, tmp_path: Path, ending: str, head: bytes) -> None:
    pytest.importorskip("matplotlib")
    assert annotated(str(game_file), "--plot", str(tmp_path / f"game{ending}"), "--out", str(tmp_path / "out.pgn")) == 0
    pictures = sorted(path.name for path in tmp_path.glob(f"game*{ending}"))
    assert pictures == [f"game-1{ending}", f"game-2{ending}"]
    assert all((tmp_path / name).read_bytes().startswith(head) for name in pictures)


def test_a_faulty_command_says_what_is_wrong(
    game_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="cannot read"):
        annotated(str(tmp_path / "nowhere.pgn"))
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        annotated(str(game_file), "--plot", "picture.gif")
    with pytest.raises(CommandError, match="no folder"):
        annotated(str(game_file), "--out", str(tmp_path / "nowhere" / "out.pgn"))
    game_file.write_text("no game here\n")
    assert main(["annotate", str(game_file)]) == 1
    assert "holds no game with a move" in capsys.readouterr().err
    game_file.write_text('[Variant "Atomic"]\n[FEN "8/8/8/8/8/8/8/Kk6 w - - 0 1"]\n\n1. Kb2 *\n')
    assert main(["annotate", str(game_file)]) == 1


def test_a_chess960_game_and_one_in_latin_1_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.pgn"
    tags = '[White "M\xfcller"]\n[Variant "Chess960"]\n[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1"]\n'
    path.write_bytes(f"{tags}\n1. O-O Kd7 *\n".encode("latin-1"))
    assert annotated(str(path)) == 0
    (game,) = read_games(capsys.readouterr().out)
    assert game.headers["White"] == "M\xfcller"
    assert [node.san() for node in game.mainline()] == ["O-O", "Kd7"] and not game.errors
