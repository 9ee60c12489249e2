"""`merino epd`: what it solves, and what it makes of lines that are wrong."""

import re

import pytest

from merino.app.shell.cli import main
from merino.core.board.move import Move
from merino.formats.openings import FileOpenings, read_task
from merino.formats.sources import LeftOut

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -"


@pytest.mark.parametrize(
    ("operations", "solved"),
    [
        ("bm Rd8+;", "ok"),
        ("bm Kf1;", "--"),
        ("am Kf1;", "ok"),
        ("am Rd8;", "--"),
        ("dm 1;", "ok"),
        ("bm Rd8; dm 1;", "ok"),
    ],
)
def test_a_task_is_solved_by_the_right_move_or_mate(operations, solved, tmp_path, shell):
    file = tmp_path / "one.epd"
    file.write_text(f'# a comment\n\n{MATE_IN_ONE} {operations} id "mate";\n{MATE_IN_ONE} c0 "asks nothing";\n')
    row, total = shell("epd", file, "--depth", "3").splitlines()
    assert row.split()[:3] == ["1", solved, "mate"]
    assert total.startswith(f"{int(solved == 'ok')} of 1 solved")


@pytest.mark.parametrize(
    ("line", "best", "castles"),
    [
        ("4k3/8/8/8/8/8/8/4K2R w K - bm O-O;", "e1g1", True),
        ("4k3/8/8/8/8/8/8/4K2R w K - bm e1g1;", "e1g1", True),
        ("4k3/8/8/8/8/8/8/5KR1 w G - bm O-O;", "f1g1", True),
        ("4k3/8/8/8/8/8/8/R2K3R w KQ - bm O-O-O;", "d1a1", True),
        ("4k3/8/8/8/8/8/8/5K1R w H - bm O-O;", "f1h1", True),
        ("4k3/8/8/8/8/8/8/5K1R w H - bm Kg1;", "f1g1", False),
        ("4k3/8/8/8/8/8/8/4K2R w K - 3 20 bm O-O;", "e1g1", True),
        ('4k3/8/8/8/8/8/8/4K2R w K -;bm "0-0";', "e1g1", True),
        ("4k3/8/8/8/8/8/8/4K2R w K - bm Kf1; id 1", "e1f1", False),
    ],
)
def test_a_task_keeps_its_castling_rights_and_castles_by_them(line, best, castles):
    task = read_task(line, "a")
    assert task is not None and task.best == (best,)
    (move,) = (move for move in task.position.legal_moves if task.position.uci(move) == best)
    assert Move(move).is_castling == castles


@pytest.mark.parametrize(
    "text", ["", f'# nothing\n{MATE_IN_ONE} c0 "asks; nothing";\n', MATE_IN_ONE, f"{MATE_IN_ONE} 12 13\n", "nonsense\n"]
)
def test_a_file_without_a_task_is_called_that(text, tmp_path, capsys):
    file = tmp_path / "none.epd"
    file.write_text(text)
    assert main(["epd", str(file)]) == 1
    reported = capsys.readouterr()
    assert reported.err.endswith(f"merino: epd: '{file}' sets no task: no line with a position has bm, am or dm\n")
    why = "unreadable" if text == "nonsense\n" else "without bm, am or dm"
    assert not reported.out and (f"none.epd: 1 line left out, {why}: line " in reported.err) == bool(text)


@pytest.mark.parametrize("rights", ["HFhf", "KQkq"])
def test_a_task_of_chess960_keeps_its_castling_rights(rights):
    task = read_task(f"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w {rights} - bm Nf3;", "a")
    assert task.position.chess960 and task.position.fen().split()[2] != "-"


def test_a_task_of_chess960_is_solved_by_castling(tmp_path, shell):
    file = tmp_path / "960.epd"
    file.write_text("4rkr1/4p1p1/4P1P1/8/8/8/8/5K1R w H - bm O-O#;\n")
    row, total = shell("epd", file, "--depth", "3").splitlines()
    assert total.startswith("1 of 1 solved"), row
    assert "f1h1" in row


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("nonsense", "a FEN has 4 to 6 fields"),
        (f"{MATE_IN_ONE} bm Qd8;", "Qd8: "),
        (f"{MATE_IN_ONE} bm --;", "'--' is not a move"),
        (f"{MATE_IN_ONE} bm 0-0;", "0-0: White has no right to castle kingside: king or rook has moved\n"),
        (f"{MATE_IN_ONE} bm Ra6; id 1", "Ra6: the rook on d1 cannot reach a6; legal moves: Ra1, "),
        (f"{MATE_IN_ONE} bm Rd8 id x;", "'id' is not a move"),
        (f"{MATE_IN_ONE} dm 1.5;", "dm takes a number of moves, not '1.5'"),
        (f"{MATE_IN_ONE} 0 bm Rd8;", "no operation of EPD that ends with ';': '0 '"),
        (f'{MATE_IN_ONE} id "x", bm Rd8;', "no operation of EPD that ends with ';': 'id \"x\", '"),
        ("8/8/8/8/8/8/8/3RK3 w - - bm Rd8;", "0 kings"),
        ("3k4/8/8/8/8/8/8/3RK3 w - - bm Rxd8;", ""),  # Black, who has moved, is in check
    ],
)
def test_a_wrong_line_is_named_and_the_others_are_solved(line, fault, tmp_path, capsys):
    file = tmp_path / "two.epd"
    file.write_text(f"{MATE_IN_ONE} bm Rd8;\n\n{line}\n{MATE_IN_ONE} bm Rd8;\n")
    assert main(["epd", str(file), "--depth", "2"]) == 1
    said = capsys.readouterr()
    assert re.search(r"^ *1 +ok +line 1 .*\n *2 +ok +line 4 .*\n2 of 2 solved", said.out)
    assert said.err.startswith("two.epd: 1 line left out, unreadable: line 3: ") and said.err.count("\n") == 1
    assert fault in said.err


def test_an_opening_with_a_counter_that_is_no_number_is_left_out(tmp_path):
    path, left_out = tmp_path / "some.epd", LeftOut()
    path.write_text("4k3/8/8/8/8/8/8/4K2R w K - hmvc 3; fmvn 7/;\n4k3/8/8/8/8/8/8/4K2R w K - hmvc 3; fmvn 7;\n")
    assert [FileOpenings(path, 1, left_out=left_out).opening(number).fen for number in range(2)] == [
        "4k3/8/8/8/8/8/8/4K2R w K - 3 7"
    ] * 2
    assert "move number '7/'" in "".join(left_out.lines())
