"""Games annotated: the PGN is sound and keeps what it had, mistakes are graded."""

import errno
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import chess
import chess.pgn
import pytest

from merino.app.shell.annotate import run_annotate
from merino.app.shell.cli import main
from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.common.command import CommandError, UsageError
from merino.engine.search.limits import MATE_SCORE, Limits, Line, Score
from merino.eval.families import DEFAULT_FILE, default
from merino.eval.outlook import expected_score
from merino.formats.pgn_parts import games_of
from merino.study import annotation, claims
from merino.study.annotated_files import read_sources
from merino.study.annotation import AnnotatedMove, annotate_moves
from merino.study.errors import StudyError
from merino.study.judge import BY_RESULT
from tests.judges import judge_from

# Black gives his queen away on move 3; White mates on move 7.
GAME = """[Event "Test"]
[White "A"]
[Black "B"]
[Result "1-0"]

{ Before the game } 1. e4 e5 2. Nf3 { my comment } (2. f4 exf4) 2... Qg5 $1 3. Nxg5 Nc6 4. Bc4 Nh6
5. Qh5 g6 6. Qf3 f6 7. Qxf6 Be7 8. Qxh8+ Bf8 9. Qxh7 Bg7 10. Qxg7 d6 11. Qf7+ Nxf7 12. Bxf7+ Kd8 1-0
"""
FOOLS_MATE = '[Event "Fool"]\n[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
JUDGE = ("--judge", "terms")
K = 100.0


@pytest.fixture
def game_file(tmp_path: Path) -> Path:
    path = tmp_path / "game.pgn"
    path.write_text(f"{GAME}\n{FOOLS_MATE}")
    return path


def annotated(*arguments: str) -> int:
    return run_annotate([*arguments, "--nodes", "1000", "--hash", "1", "--weights", str(DEFAULT_FILE), *JUDGE])


def read_games(text: str) -> list[chess.pgn.Game]:
    file = io.StringIO(text)
    return list(iter(lambda: chess.pgn.read_game(file), None))


def test_the_pgn_keeps_all_and_gains_evaluations(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game_file.write_text(game_file.read_text().replace("my comment", "White scores 51.2%"))  # as Merino has its own
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
    assert " ".join(first.comment.split()).startswith("Before the game Merino")
    nodes = list(first.mainline())
    assert " ".join(nodes[2].comment.split()).startswith("White scores 51.2% [%eval")
    assert nodes[1].variation(chess.Move.from_uci("f2f4")).san() == "f4"
    assert {1, 4} <= nodes[3].nags and "blunder" in nodes[3].comment  # 2...Qg5
    assert len(nodes[2].variations) == 2, "the better line is a variation"
    assert {4} <= list(games[1].mainline())[2].nags  # 2. g4
    assert "100.0%" not in list(games[1].mainline())[3].comment and "0.0%" in list(games[1].mainline())[3].comment


def test_json_has_a_line_for_each_game(game_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game_file.write_text(f"{GAME}\n{GAME.replace('Nxg5', 'Nxg7')}")
    assert annotated(str(game_file), "--json", "--quiet") == 1
    game, faulty = map(json.loads, capsys.readouterr().out.splitlines())
    assert faulty["moves"] == [] and "Nxg7" in faulty["fault"]
    assert [move["uci"] for move in game["moves"][:4]] == ["e2e4", "e7e5", "g1f3", "d8g5"]
    blunder = game["moves"][3]
    assert blunder["grade"]["name"] == "blunder" and blunder["mistake"]["kind"] == "hanging piece"
    assert game["is_whole"] and game["account"][1].startswith("Black: ")
    with pytest.raises(UsageError, match="leave out --out"):
        annotated(str(game_file), "--json", "--out", str(tmp_path / "out.pgn"))


def test_a_faulty_game_is_copied_and_named(
    game_file: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    out = tmp_path / "out.pgn"
    faulty = GAME.replace("Nxg5", "Nxg7  {odd   spaces}").replace("\n", "\r\n").replace('"A"', '"M\xfcller"')
    game_file.write_bytes(f"\n{FOOLS_MATE}\n\n{faulty}\n{FOOLS_MATE}".encode("latin-1"))
    assert annotated(str(game_file), "--out", str(out)) == 1
    found = capsysbinary.readouterr().err.decode()
    assert "game 2 of 3, M\xfcller - B, line 13: 'Nxg7' is not a legal move here; copied" in found
    assert "1 of 3 games, number 2" in found and faulty.strip().encode("latin-1") in out.read_bytes()
    first, copied, last = read_games(out.read_text("latin-1"))
    assert all("%" in node.comment for game in (first, last) for node in game.mainline())
    assert "Annotator" not in copied.headers and not list(tmp_path.glob("*.partial"))
    assert annotated(str(game_file)) == 1 and capsysbinary.readouterr().out == out.read_bytes()


def test_what_cannot_be_written_is_said_before_the_work(game_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pgn"
    out.write_text("mine")
    out.chmod(0o444)
    game_file.unlink()  # it is not even looked for
    with pytest.raises(CommandError, match="read-only"):
        annotated(str(game_file), "--out", str(out))
    with pytest.raises(CommandError, match="it is a folder"):
        annotated(str(game_file), "--out", str(tmp_path))
    assert out.read_text() == "mine"


@pytest.mark.parametrize("content", [bytes(range(256)) * 40, b"\x7fELF\x02\x01" + bytes(500), b"\x01\x02\x03" * 99])
def test_a_binary_file_is_refused_in_a_sentence(content: bytes, game_file: Path) -> None:
    game_file.write_bytes(content)
    with pytest.raises(StudyError, match="is not a PGN file"):
        annotated(str(game_file))


def killed_after(games: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process seem to be killed as it begins the game after so many."""
    done = []

    def annotate_some(*arguments: object) -> object:
        if len(done) == games:
            raise SystemExit("killed")
        done.append(arguments)
        return annotate_moves(*arguments)

    monkeypatch.setattr(annotation, "annotate_moves", annotate_some)


def test_the_same_command_goes_on_where_a_killed_one_stopped(
    game_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, whole = tmp_path / "out.pgn", tmp_path / "whole.pgn"
    game_file.write_text(f"{FOOLS_MATE}\n{GAME}\n{FOOLS_MATE}")
    annotated(str(game_file), "--out", str(whole))
    out.write_text("an older file")
    with monkeypatch.context() as context:
        killed_after(2, context)
        with pytest.raises(SystemExit):
            annotated(str(game_file), "--out", str(out))
    partial = tmp_path / "out.pgn.partial"
    assert len(read_games(partial.read_text())) == 2 and out.read_text() == "an older file"
    with partial.open("ab") as file:
        file.write(b"% game 3, 500 bytes\n[Event")  # killed while writing
    capsys.readouterr()
    with monkeypatch.context() as context:
        killed_after(1, context)  # only one game is left to do
        assert annotated(str(game_file), "--out", str(out)) == 0
    assert "Continuing after game 2 of 3" in capsys.readouterr().err
    assert out.read_bytes() == whole.read_bytes() and not partial.exists()


def test_a_partial_file_of_another_run_stays(game_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, partial = tmp_path / "out.pgn", tmp_path / "out.pgn.partial"
    with monkeypatch.context() as context:
        killed_after(1, context)
        with pytest.raises(SystemExit):
            annotated(str(game_file), "--out", str(out))
    left = partial.read_bytes()
    with pytest.raises(StudyError, match="other options"):
        annotated(str(game_file), "--out", str(out), "--depth", "3")
    game_file.write_text(FOOLS_MATE)
    with pytest.raises(StudyError, match="another file"):
        annotated(str(game_file), "--out", str(out))
    assert partial.read_bytes() == left and not out.exists()


def test_a_full_disk_keeps_what_is_done(game_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("merino.core.common.files.write_whole", fail)
    with pytest.raises(CommandError, match=r"out\.pgn'.*No space left.*finished games are in '.*out\.pgn\.partial'"):
        annotated(str(game_file), "--out", str(tmp_path / "out.pgn"))
    assert len(read_games((tmp_path / "out.pgn.partial").read_text())) == 2


def test_a_game_that_finds_no_room_is_not_begun(game_file: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(CommandError, match=r"out\.pgn': File too large; the finished games are in"):
            annotated(str(game_file), "--out", str(tmp_path / "out.pgn"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "out.pgn.partial").read_text().count("\n") == 1


@pytest.mark.parametrize("ending", ["gz", "xz"])
def test_games_in_a_compressed_file_can_be_read_again(tmp_path: Path, ending: str) -> None:
    plain, out = tmp_path / "fool.pgn", tmp_path / f"out.pgn.{ending}"
    plain.write_text(FOOLS_MATE)
    assert annotated(str(plain), "--out", str(out)) == 0
    [source] = read_sources(out).games
    assert source.label == "? - ?" and len(source.moves) == 4 and not out.read_bytes().startswith(b"[")


def test_annotating_again_changes_nothing_and_keeps_what_users_added(game_file: Path, tmp_path: Path) -> None:
    once, twice, thrice = (tmp_path / f"{name}.pgn" for name in ("once", "twice", "thrice"))
    marked = GAME.replace("Nf3 {", "Nf3 $6 {").replace("2... Qg5 $1", "2... Qg5 $4 $1")
    game_file.write_text(f'[Annotator "Somebody"]\n{marked}\n{FOOLS_MATE}')
    annotated(str(game_file), "--out", str(once))
    annotated(str(once), "--out", str(twice))
    assert twice.read_text() == once.read_text()
    first, _ = read_games(once.read_text())
    assert first.headers["Annotator"].startswith("Somebody, Merino")
    nodes = list(first.mainline())
    assert "blunder as marked" in " ".join(nodes[3].comment.split())
    nodes[3].comment += " I was tired"
    nodes[4].nags.add(2)
    nodes[2].variations[1].comment = "seen too late"
    once.write_text(str(first))
    run_annotate([str(once), "--nodes", "300", "--out", str(thrice), *JUDGE])
    (again,) = read_games(thrice.read_text())
    nodes = list(again.mainline())
    assert {1, 4} <= nodes[3].nags and 6 in nodes[2].nags and 2 in nodes[4].nags
    assert "I was tired" in nodes[3].comment and nodes[3].comment.count("% lost") <= 1
    assert again.comment.count("By expected score lost") == 1 and "300 nodes" in " ".join(again.comment.split())
    assert "seen too late" in [" ".join(variation.comment.split()) for variation in nodes[2].variations]
    assert nodes[1].variation(chess.Move.from_uci("f2f4")).san() == "f4"
    assert all(node.comment.count("[%eval") <= 1 for node in nodes)


UNKNOWN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1"  # no opening begins without castling


def fixed_analyser(scores: dict[str, int], calls: list[str], stop_after: int = 1000):
    """A search that finds the first legal move, and the score given for the side to move after one of the first moves.

    Later it keeps to that score. Without one it finds 0.
    """

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        calls.append(position.fen())
        if len(calls) > stop_after:
            raise KeyboardInterrupt
        made = [position.uci(move) for move in position.moves]
        known = [index for index, name in enumerate(made[:2]) if name in scores]
        found = (-1) ** (len(made) - 1 - known[-1]) * scores[made[known[-1]]] if known else 0
        found = found if made else scores.get("", 0)
        best = (*limits.search_moves, *position.legal_moves)[0]
        return [Line(1, 1, 1, Score(found), "", 1, 1, 0, 1, (best,))]

    return seek


def moves_of(
    scores: dict[str, int], moves: Sequence[str], calls: list[str] | None = None, start: Position | None = None
) -> list[AnnotatedMove]:
    judge = judge_from(fixed_analyser(scores, [] if calls is None else calls), default().with_k(K))
    return list(annotate_moves(start or Position(UNKNOWN), moves, judge, lambda _: Limits(nodes=1)))


@pytest.mark.parametrize(
    ("centipawns", "sign"), [(-300, ""), (0, ""), (19, ""), (21, "?!"), (39, "?!"), (42, "?"), (84, "?"), (86, "??")]
)
def test_the_loss_of_expected_score_makes_the_sign(centipawns: int, sign: str) -> None:
    for moves in (["g1f3"], ["g1f3", "g8f6"]):  # the opponent, who is to move, has this score after the last one
        found = moves_of({moves[-1]: centipawns}, moves)[-1]
        assert found.loss == pytest.approx(max(0.0, expected_score(centipawns, K) - 0.5))
        assert (found.grade.sign if found.grade else "") == sign


BEST, SECOND = (Position().uci(move) for move in Position().legal_moves[:2])
PLAYED = "g1f3"


@pytest.mark.parametrize(
    ("deep", "grade", "better"),
    [
        ({"": (0, BEST), PLAYED: 300, BEST: 0}, "blunder", BEST),  # as it looked
        ({"": (0, BEST), PLAYED: 10, BEST: 0}, None, PLAYED),  # the trap of a shallow search: the reply wins nothing
        ({"": (-200, BEST), PLAYED: 200, BEST: 200}, None, PLAYED),  # all is as bad
        ({"": (0, PLAYED), PLAYED: 300, BEST: 0}, None, PLAYED),  # it is the best move
        ({"": (0, BEST), PLAYED: 300, BEST: 290}, None, BEST),  # the better move does not do better
        ({"": (0, SECOND), PLAYED: 300, BEST: 290, SECOND: -10}, "blunder", SECOND),  # another one does
        ({"": (0, SECOND), PLAYED: 300, BEST: -40, SECOND: -10}, "blunder", BEST),
        ({"": (0, BEST), PLAYED: 300, BEST: 0, "longer": {PLAYED: 10}}, None, BEST),  # a still longer search sees none
        ({"": (0, BEST), PLAYED: 300, BEST: 0, "longer": {PLAYED: 50}}, "inaccuracy", BEST),  # or sees less
        ({"": (0, BEST), PLAYED: 300, BEST: 0, "longer": {PLAYED: 50}, "later": 10}, None, PLAYED),  # but not for long
        ({"": (0, BEST), PLAYED: 300, BEST: 0, "later": 10}, "blunder", BEST),
    ],
)
def test_what_looks_like_a_mistake_is_graded_by_a_deeper_search(deep: dict, grade: str | None, better: str) -> None:
    shallow = {"": (0, BEST), PLAYED: 300, BEST: 0}

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        longer = deep.get("longer", {}) if limits.nodes > annotation.CONFIRMING else {}
        scores = shallow if limits.nodes == 1 else deep | longer
        if position.moves or position.start_fen() != Position(UNKNOWN).start_fen():  # or a pass, to see a threat
            score = scores[position.uci(position.moves[0])] if position.moves else 0
            score = (-1) ** (len(position.moves) - 1) * (deep.get("later", score) if len(position.moves) > 8 else score)
            return [Line(1, 1, 1, Score(score), "", 1, 1, 0, 1, (position.legal_moves[0],))]
        return [Line(1, 1, 1, Score(scores[""][0]), "", 1, 1, 0, 1, (position.parse_uci(scores[""][1]),))]

    (found,) = annotate_moves(Position(UNKNOWN), [PLAYED], judge_from(seek), lambda _: Limits(nodes=1))
    assert (found.grade.name if found.grade else None) == grade and (found.mistake is None) == (grade is None)
    assert Position().uci(found.better.best[0]) == better


def test_a_game_full_of_mistakes_takes_a_bounded_time_but_no_reason_rests_on_less(monkeypatch) -> None:
    nodes, proved = list[int](), set[int | None]()

    def of_mistake(prover: claims.Prover, *_: object) -> claims.Mistake:
        proved.add(prover.limits.nodes)
        return claims.Mistake(claims.UNPROVED, "", "")

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        nodes.append(limits.nodes or 0)
        is_played = not position.moves or position.uci(position.moves[-1]) in moves
        score = 150 if is_played else -150  # who is to move is better, but after another move than those played
        return [Line(1, 1, 1, Score(score), "", 1, 1, 0, 1, (position.legal_moves[0],))]

    monkeypatch.setattr(claims.Prover, "of_mistake", of_mistake)
    most, moves = list[int](), ["f1e3", "e8e7", "e3f1", "e7e8"] * 11
    for _ in annotate_moves(Position(ENDING), moves, judge_from(seek), lambda _: Limits(nodes=10)):
        most.append(max(nodes))
        nodes.clear()
    assert most == [80] * 6 + [40] * 6 + [20] * 6 + [10] * 26 and proved == {80}
    assert annotation.deeper(Limits(depth=9), 1).depth == 12 and annotation.deeper(Limits(depth=9), 9).depth == 9


ENDING = "4k3/pp5p/8/8/8/8/PP5P/4KN2 w - - 0 1"


@pytest.mark.parametrize(
    ("start", "level", "by_k", "name"),
    [
        (UNKNOWN, 0, "blunder", "blunder"),
        (UNKNOWN, 600, "mistake", None),
        (UNKNOWN, -300, "mistake", None),
        (ENDING, 450, "blunder", "blunder"),
        (ENDING, 150, "blunder", None),  # drawn before and after it
        (ENDING, 540, "mistake", None),  # it may be won after it, too
    ],
)
def test_what_is_won_lost_or_drawn_anyway_has_no_grade(start: str, level: int, by_k: str, name: str | None) -> None:
    played = PLAYED if start == UNKNOWN else "h2h3"

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        made = position.uci(position.moves[-1]) if position.moves else ""
        score = {"": level, played: 300 - level}.get(made, -level)
        return [Line(1, 1, 1, Score(score), "", 1, 1, 0, 1, (position.legal_moves[0],))]

    for scales, expected in (((), by_k), (BY_RESULT, name)):
        judge = judge_from(seek, default().with_k(224), scales)
        (found,) = annotate_moves(Position(start), [played], judge, lambda _: Limits(nodes=1))
        assert (found.grade.name if found.grade else None) == expected


def test_a_judge_is_careful_until_a_player_has_made_a_mistake() -> None:
    game = ["a2a3", "a7a6", "h2h3", "h7h6", "b2b3"]
    leads = {"a2a3": -90, "h2h3": -600, "b2b3": -90}  # White's after each of the moves, later that after the first

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        made = [position.uci(move) for move in position.moves] or [""]
        lead = leads.get(made[0 if len(made) > len(game) else -1], 0)
        score = lead if position.side == WHITE else -lead
        return [Line(1, 1, 1, Score(score), "", 1, 1, 0, 1, (position.legal_moves[0],))]

    for scales, names in ((BY_RESULT, [None, "blunder", "inaccuracy"]), ((), ["inaccuracy", "blunder", "inaccuracy"])):
        judge = judge_from(seek, default().with_k(224), scales)
        found = list(annotate_moves(Position(UNKNOWN), game, judge, lambda _: Limits(nodes=1)))
        assert [move.grade and move.grade.name for move in found[::2]] == names
        assert not any(move.grade for move in found[1::2])


def test_who_is_mated_has_lost_only_where_all_was_lost_before() -> None:
    def graded(score: int) -> str | None:
        seek = fixed_analyser({"": score, BEST: -score, PLAYED: MATE_SCORE - 2}, [])
        judge = judge_from(seek, default().with_k(224), BY_RESULT)
        (found,) = annotate_moves(Position(UNKNOWN), [PLAYED], judge, lambda _: Limits(nodes=1))
        return found.grade and found.grade.name

    assert [graded(score) for score in (-100, -140, -300)] == ["blunder", "blunder", None]


def test_a_move_of_a_known_opening_is_not_graded() -> None:
    calls: list[str] = []
    (known,) = moves_of({"g2g4": 300}, ["g2g4"], calls, Position())  # the Grob Attack
    assert known.grade is None and known.loss == 0 and len(calls) == 2
    (unknown,) = moves_of({"g2g4": 300}, ["g2g4"])
    assert unknown.grade is not None and unknown.grade.name == "blunder"


def test_a_mate_seen_after_the_best_move_is_counted_from_before_it() -> None:
    (found,) = moves_of({BEST: 4 - MATE_SCORE, "g1f3": 300}, ["g1f3"])
    assert found.grade is not None and found.grade.name == "blunder"
    assert found.better.score_text == "+M3" and found.better.expected == 1


def test_only_what_seems_a_mistake_is_searched_again() -> None:
    for scores, moves, searches in (
        ({}, ["g1f3", "g8f6"], 3),
        ({BEST: 15}, [BEST], 2),  # a fall too small to look into
        # The move, the position, the best move; longer both; the others of each; and once more what lines are there.
        ({"g1f3": 100}, ["g1f3"], 14),
        ({"g1f3": 300}, ["g1f3"], 13),  # where it is plain only lines and a pass are
        ({BEST: 300}, [BEST], 4),  # the move and the position, where it is the best
    ):
        calls: list[str] = []
        moves_of(scores, moves, calls)
        assert len(calls) == searches


def test_the_pgn_keeps_words_within_80_columns(game_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comment = "half of them, 50 % of all, as [%clk 0:10:00] says " * 8
    game_file.write_text(GAME.replace("my comment", comment.strip()))
    assert annotated(str(game_file)) == 0
    text = capsys.readouterr().out
    users = f"{{ {comment.strip()}"  # stays on the line that it had
    assert max(map(len, text.replace(users, "").splitlines())) <= 80
    assert not any(line.startswith("%") for line in text.splitlines()), "which begins a line that is no PGN"
    assert users in text and "[%eval\n" not in text
    (game,) = read_games(text)
    assert comment.split() == list(game.mainline())[2].comment.split()[: len(comment.split())]


def test_mate_and_stalemate_are_certain() -> None:
    calls: list[str] = []
    mate = moves_of({}, ["f2f3", "e7e5", "g2g4", "d8h4"], calls)[-1]
    assert (mate.after.expected, mate.after.score_text) == (0.0, "-M0")
    assert len(calls) == 4, "the mate is not searched"
    (found,) = moves_of({}, ["f1f7"], start=Position("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"))
    assert found.after.expected == 0.5
    (found,) = moves_of({"a1a2": 900}, ["a1a2"], start=Position("k7/8/8/8/8/8/r7/K7 w - - 0 1"))
    assert found.loss == 0, "an only move is no mistake"


MOVES = "1. e4 e5 2. Nf3 Nc6"
LAYOUTS = {  # a file, and the games in it: White's name, the plies, the result
    "a comment and an empty line before the moves": (f'[White "A"]\n\n{{ c }}\n\n{MOVES} 1-0\n', [("A", 4, "1-0")]),
    "empty lines behind the tags": (f'[White "A"]\n\n\n{MOVES} *\n', [("A", 4, "*")]),
    "empty lines among the moves": ('[White "A"]\n\n1. e4 e5\n\n2. Nf3\n\n\n2... Nc6 0-1', [("A", 4, "0-1")]),
    "indented tags": (f'  [White "A"]\n\t[Black "B"]\n\n{MOVES} 1-0\n', [("A", 4, "1-0")]),
    "tags on one line": (f'[White "Anna"] [Black "Bert"]\n{MOVES} *\n', [("Anna", 4, "*")]),
    "no line between games": (f'[White "A"]\n{MOVES}\n[White "B"]\n{MOVES} *\n', [("A", 4, "*"), ("B", 4, "*")]),
    "signs of others": (f"{MOVES} += 3. Bb5 \xb1 a6 $16 \u221e N (3... d6 D) RR 1/2-1/2\r\n", [("?", 6, "1/2-1/2")]),
    "text between games": (
        f'; preface\n% escape\n{MOVES} 1-0\nWell played!\n\n[White "B"]\n\n{MOVES} *\n\n% end',
        [("?", 4, "1-0"), ("B", 4, "*")],
    ),
    "a result without a blank": ("\ufeff1. f3 e5 2. g4 Qh4#0-1", [("?", 4, "0-1")]),
    "the end of a line with CR": (f'[White "A"]\r\r{MOVES} ; last {{\r% x\r*', [("A", 4, "*")]),
    "a tag and a text that differ": (f'[White "A"]\n[Result "1-0"]\n\n{MOVES} 0-1\n', [("A", 4, "0-1")]),
    "one byte of Latin-1": ('[White "\xdc"]\n\n1. e4 { \udcfc } e5 { x } *\n', [("\xdc", 2, "*")]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_nobody_asked_to_change_stays_byte_for_byte(layout: str, tmp_path: Path) -> None:
    text, expected = LAYOUTS[layout]
    path, once, twice = (tmp_path / f"{name}.pgn" for name in ("games", "once", "twice"))
    path.write_bytes(text.encode(errors="surrogateescape"))
    for source, out in ((path, once), (once, twice)):
        assert annotated(str(source), "--out", str(out)) == ("differ" in layout)
        games = games_of(out.read_bytes())
        assert [(game.tags.get("White", "?"), len(game.moves), game.result) for game in games] == expected
    found = once.read_bytes()
    left = iter(found)
    assert all(byte in left for byte in path.read_bytes()) and twice.read_bytes() == found
    assert len(re.findall(rb"judged\s+by", found)) == (0 if "differ" in layout else len(expected))


def test_a_game_that_would_read_otherwise_is_copied_and_named(game_file: Path, monkeypatch, capsys) -> None:
    text = game_file.read_text()
    game_file.write_text("1. g4 (1. d4 d5\n\n1. c4 e5 *\n")
    assert annotated(str(game_file)) == 1
    assert "game 2 of 2, ? - ?, line 3: with comments it would be read as 1 game, not 2" in capsys.readouterr().err
    game_file.write_text(text)
    monkeypatch.setattr("merino.study.annotated_files.write_comments", lambda source, *_: source.content + b" Nf6 *")
    assert annotated(str(game_file)) == 1
    found = capsys.readouterr()
    assert (
        found.out == game_file.read_text() and "with comments it would be read as 3 games, not 2; copied" in found.err
    )


REST_OF_LINE = """; before the games; {
[Event "a;b {c"]
; among tags
[White "x"]

; first word
1. e4 e5 ; both {pawns}
2. Nf3 { a ; b } Nc6 (2... d6 ; Philidor
) 3. Bb5 $11111111111 ;
; own line
3... a6 1-0 ; end

; between
[Event "2"]

1. d4 { ; * } *
"""


def test_comments_that_end_with_their_line_are_read_and_huge_signs_are_not() -> None:
    first, second = games_of(REST_OF_LINE.replace("1" * 11, "9" * 5000).encode())
    assert not first.fault and first.tags == {"Event": "a;b {c", "White": "x"} and first.label == "x - ?"
    comments = [(first.comment(part), part.depth) for part in first.parts if first.comment(part)]
    assert comments == [("first word", 0), ("both (pawns)", 0), ("a ; b", 0), ("Philidor", 1), ("own line", 0)]
    assert {first.sign(part) for part in first.parts} == {None} and len(first.moves) == 6
    assert (second.tags, second.line, second.result) == ({"Event": "2"}, 14, "*")
    assert [second.comment(part) for part in second.parts if second.comment(part)] == ["; *"]
    assert first.content + second.content == REST_OF_LINE.replace("1" * 11, "9" * 5000).encode()
    assert first.content.endswith(b"1-0"), "what follows stands before the next game"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_machine(end: str, tmp_path: Path) -> None:
    (path := tmp_path / "games.pgn").write_bytes(f"{GAME}\n{FOOLS_MATE}".replace("\n", end).encode())
    first, second = read_sources(path).games
    assert (len(first.moves), len(second.moves), second.line) == (24, 4, 9) and not first.fault + second.fault
    assert b"my comment" in first.content


def test_ctrl_c_keeps_what_is_annotated(game_file: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    judge = judge_from(fixed_analyser({}, [], stop_after=3))
    monkeypatch.setattr("merino.app.shell.annotate.judge_of", lambda *_, **__: judge)
    out, partial = tmp_path / "out.pgn", tmp_path / "out.pgn.partial"
    assert annotated(str(game_file), "--out", str(out)) == 130
    assert f"in '{partial}', from where the same command continues" in capsys.readouterr().err and not out.exists()
    (game,) = read_games(partial.read_text())
    assert [bool(node.eval()) for node in game.mainline()][:4] == [True, True, False, False]


def test_a_faulty_command_says_what_is_wrong(game_file: Path, tmp_path: Path, capsys) -> None:
    with pytest.raises(StudyError, match="cannot read"):
        annotated(str(tmp_path / "nowhere.pgn"))
    game_file.write_text("no game here\n")
    assert main(["annotate", str(game_file)]) == 1
    assert "holds no game with a move" in capsys.readouterr().err
    game_file.write_text('[Variant "Atomic"]\n[FEN "8/8/8/8/8/8/8/Kk6 w - - 0 1"]\n\n1. Kb2 *\n')
    assert main(["annotate", str(game_file)]) == 1


def test_a_chess960_game_and_one_in_latin_1_are_read(tmp_path: Path) -> None:
    path = tmp_path / "game.pgn"
    tags = '[White "M\xfcller"]\n[Variant "Chess960"]\n[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1"]\n'
    path.write_bytes(f"{tags}\n1. O-O Kd7 *\n".encode("latin-1"))
    assert annotated(str(path), "--out", str(path)) == 0
    (game,) = read_games(path.read_text("latin-1"))
    assert game.headers["White"] == "M\xfcller"
    assert [node.san() for node in game.mainline()] == ["O-O", "Kd7"] and not game.errors
