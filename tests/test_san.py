"""Moves as people write them, and the reasons they read when a move cannot be played."""

import math
import random

import chess
import pytest

from merino.app.explorer.games import read_text
from merino.app.explorer.state import RequestError
from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.fen import START_FEN
from merino.core.board.game import Position
from merino.engine.notation import san as notation
from merino.engine.search.limits import MATE_SCORE, Line, Score
from merino.eval.outlook import expected_score
from tests.talk import Talk

ITALIAN = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 0 1"
CHECK = "rnbqk1nr/pppp1ppp/8/4p3/1b1PP3/8/PPP2PPP/RNBQKBNR w KQkq - 1 3"
PIN = "rnbqk1nr/pppp1ppp/8/4p3/1b1PP3/2N5/PPP2PPP/R1BQKBNR w KQkq - 1 3"
PROMOTION = "8/P6k/8/3pP3/8/8/1R3R2/4K3 w - d6 0 1"
CASTLING = "4k3/8/8/8/{}/8/8/R3K2R w {} - 0 1"
LETTER = "4k3/8/8/8/8/2p5/1P6/4KB2 w - - 0 1"  # where b is a file and not a bishop
ROOKS960 = "4k3/8/8/8/8/8/8/1RK2R2 w FB - 0 1"
CHESS960 = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"

ACCEPTED = [
    (START_FEN, "Nf3 nf3 g1f3 G1F3 g1-f3 Ng1f3 Ng1-f3 Ngf3 1.Nf3 1...Nf3 Nf3! Nf3?!", "g1f3"),
    (START_FEN, "e4 e2e4 E2E4 e2-e4 Pe4 ee4 e4!? e4+", "e2e4"),
    (ITALIAN, "O-O 0-0 o-o OO e1g1 e1h1 E1H1 O-O!", "e1g1"),
    (CASTLING.format("8", "Q"), "O-O-O e1c1 e1-a1", "e1c1"),
    (ITALIAN, "Bxf7+ Bxf7 Bf7 c4f7 c4xf7 Bc4xf7# B:f7", "c4f7"),
    (PROMOTION, "a8=Q a8Q a8q a8=q a8(Q) a7a8q a7-a8=Q a8/Q", "a7a8q"),
    (PROMOTION, "a8N a8=n a7a8n", "a7a8n"),
    (PROMOTION, "exd6 e5d6 ed6 exd6e.p.", "e5d6"),
    (PROMOTION, "Rbd2 b2d2 Rb2d2", "b2d2"),
    (LETTER, "bc3", "b2c3"),
    (ROOKS960, "O-O 0-0 c1f1 c1g1", "c1f1"),
    (ROOKS960, "O-O-O c1b1", "c1b1"),
    (ROOKS960, "Kd1", "c1d1"),
]

REJECTED = [
    (START_FEN, "Nf6", "it is White's turn, and this is a move for Black"),
    (START_FEN, "e7e5", "it is White's turn, and the pawn on e7 is Black's"),
    (START_FEN, "e3e4", "there is no piece on e3"),
    (START_FEN, "Ra3", "the pawn on a2 blocks the way of the rook on a1"),
    (ITALIAN, "e5", "the pawn on e5 blocks the way of the pawn on e4"),
    (START_FEN, "Ke2", "White's own pawn is on e2"),
    (START_FEN, "e2e5", "the pawn on e2 cannot reach e5; legal moves: e3, e4"),
    (ITALIAN, "e4e6", "the pawn on e4 cannot reach e6; legal moves: Be6"),
    ("4k3/8/8/8/8/4P3/8/4K3 w - - 0 1", "e3e5", "the pawn on e3 cannot reach e5; legal moves: e4"),
    (START_FEN, "Ng1e5", "the knight on g1 cannot reach e5; legal moves: Nf3, Nh3"),
    (START_FEN, "Nd5", "no knight of White's can reach d5; legal moves: Na3, Nc3, Nf3, Nh3"),
    (START_FEN, "exd3", "there is nothing to capture on d3"),
    (START_FEN, "Nxf3", "there is nothing to capture on f3; try Nf3"),
    (PROMOTION, "Rxd2", "there is nothing to capture on d2; try Rbd2, Rfd2"),
    (PROMOTION, "a:a8=N", "there is nothing to capture on a8; try a8=N"),
    (CASTLING.format("8", "KQ"), "e1xg1", "there is nothing to capture on g1"),
    ("4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1", "exd6", "there is nothing to capture on d6"),
    (START_FEN, "Qg1e4", "on g1 there is a knight"),
    (PROMOTION, "Qd8", "White has no queen"),
    (START_FEN, "Nce5", "White has no knight on the c-file"),
    (CHECK, "Nf3", "it leaves the king in check from the bishop on b4; legal moves: Nc3, Nd2"),
    (CHECK, "a4", "it leaves the king in check from the bishop on b4; legal moves: "),
    (PIN, "Nd5", "the knight on c3 is pinned: without it the king is in check from the bishop on b4"),
    (CHECK, "Kd2", "the king would stand in check from the bishop on b4"),
    (PROMOTION, "Rd2", "more than one piece can go there; say Rbd2, Rfd2"),
    (PROMOTION, "a8", "name the piece that the pawn becomes; try a8=Q, a8=R, a8=B, a8=N"),
    (PROMOTION, "e6=Q", "only a pawn that reaches the last rank becomes another piece"),
    (START_FEN, "O-O", "the bishop on f1 stands in the way"),
    (CASTLING.format("2b5", "KQ"), "O-O", "the bishop on c4 attacks f1, which the king would cross"),
    (CASTLING.format("3b4", "KQ"), "O-O", "the bishop on d4 attacks g1, which the king would cross"),
    (CASTLING.format("1b6", "KQ"), "O-O-O", "a king in check cannot castle, and the bishop on b4 gives check"),
    (CASTLING.format("8", "-"), "O-O", "White has no right to castle kingside: king or rook has moved"),
    (CASTLING.format("8", "-"), "e1g1", "the king on e1 cannot reach g1"),
    (START_FEN, "Nf9", "there is no square f9"),
    ("7k/5QQ1/8/8/8/8/8/K7 b - - 0 1", "Kh7", "there is no legal move: it is checkmate"),
    ("7k/5Q2/8/8/8/8/8/K7 b - - 0 1", "Kh7", "there is no legal move: it is stalemate"),
    (LETTER, "bd3", ""),
    (CHESS960, "O-O-O", "the knight on e1 stands in the way"),
]


@pytest.mark.parametrize(("fen", "texts", "uci"), ACCEPTED)
def test_a_move_is_read_in_every_usual_spelling(fen: str, texts: str, uci: str) -> None:
    position = Position(fen, chess960=fen == ROOKS960)
    for text in texts.split():
        assert position.uci(notation.read_move(position, text)) == uci, text


@pytest.mark.parametrize(("fen", "text", "reason"), REJECTED)
def test_a_move_is_refused_with_the_reason(fen: str, text: str, reason: str) -> None:
    with pytest.raises(notation.MoveRejected) as caught:
        notation.read_move(Position(fen, chess960=fen == CHESS960), text)
    assert str(caught.value).startswith(f"{text}: ") and reason in str(caught.value)


@pytest.mark.parametrize("text", ["", "hello", "board", "e", "4", "e44", "O-O-O-O", "é4", "e4 e5", "e2e4e5"])
def test_what_has_not_the_form_of_a_move_is_not_taken_for_one(text: str) -> None:
    assert not notation.looks_like_move(text)
    with pytest.raises(notation.MoveRejected) as caught:
        notation.read_move(Position(), text)
    assert caught.value.refusal is None


def test_a_move_may_have_any_number_that_a_fen_may_have() -> None:
    position = Position("4k3/8/8/8/8/8/4P3/4K3 b - - 0 99999")
    position.push(notation.read_move(position, "99999...Kd7"))
    assert (
        notation.move_number(position) == "100000."
        and notation.san(position, notation.read_move(position, "100000. e4")) == "e4"
    )


def test_taking_en_passant_out_of_a_pin_is_refused_with_the_pin() -> None:
    position = Position("4k3/3p4/8/K3P2r/8/8/8/8 b - - 0 1")
    position.push_uci("d7d5")
    for text in ("exd6", "e5d6"):
        with pytest.raises(
            notation.MoveRejected, match="the pawn on e5 is pinned: without it the king is in check from the ro"
        ):
            notation.read_move(position, text)


def test_every_legal_move_is_read_back_from_its_short_notation() -> None:
    draw = random.Random(3)
    board = chess.Board()
    for _ in range(120):
        position = Position(board.fen())
        for move in position.legal_moves:
            assert notation.read_move(position, notation.san(position, move)) == move
            assert notation.read_move(position, move.uci()) == move
        board = board if any(board.legal_moves) else chess.Board()
        board.push(draw.choice(list(board.legal_moves)))


def test_no_text_that_is_refused_lacks_a_reason() -> None:
    draw = random.Random(4)
    pieces, files, ranks = ["", *"NBRQK"], "abcdefgh", "12345678"
    for fen in (START_FEN, ITALIAN, CHECK, PIN, PROMOTION, CASTLING.format("2b5", "KQ")):
        position = Position(fen)
        for _ in range(150):
            origin = draw.choice(["", draw.choice(files), draw.choice(ranks), draw.choice(files) + draw.choice(ranks)])
            text = draw.choice(pieces) + origin + draw.choice(files) + draw.choice(ranks) + draw.choice(["", "", "=Q"])
            try:
                notation.read_move(position, text)
            except notation.MoveRejected as rejection:
                assert rejection.refusal.reason


def test_a_paragraph_of_moves_keeps_each_number_with_its_move() -> None:
    position = Position()
    for _ in range(40):
        position.push(position.legal_moves[0])
    for width in range(20, 60):
        lines = notation.san_paragraph(position, width).splitlines()
        assert max(len(line) for line in lines) <= width
        assert not [line for line in lines if line.endswith(".")]


# Scores and lines of a search as people read them.


SCORES = [
    (Score(35), ("+0.35", "-0.35")),
    (Score(0), ("0.00", "0.00")),
    (Score(MATE_SCORE - 3), ("+M2", "-M2")),
    (Score(-MATE_SCORE + 2), ("-M1", "+M1")),
]


@pytest.mark.parametrize(("score", "texts"), SCORES)
def test_a_score_is_stated_as_white_sees_it(score: Score, texts: tuple[str, str]) -> None:
    assert (notation.score_text(score, WHITE), notation.score_text(score, BLACK)) == texts


def test_a_line_shows_depth_score_time_nodes_and_moves() -> None:
    board = chess.Board()
    board.push_san("e4")
    position = Position(board.fen())
    line = Line(9, 12, 1, Score(-20), "lowerbound", 1_234_567, 1000, 0, 1500, (position.parse_uci("e7e5"),))
    assert notation.line_text(line, board) == "depth  9   +0.20!    1.5 s    1.2M nodes  1...e5"
    assert notation.line_text(line, board, is_narrow=True) == " 9  +0.20!   1.5 s  1.2M  1...e5"
    assert "?" in notation.line_text(line._replace(bound="upperbound"), board)


NODES = (9_999, 999_999, 99_940_000, 99_999_999, 1_234_567_890, 12_345_678_901, 1_234_567_890_123)
NODES_AS_SHOWN = ("9999", "1000k", "99.9M", "100M", "1235M", "12.3G", "1235G")


@pytest.mark.parametrize(("nodes", "text"), list(zip(NODES, NODES_AS_SHOWN, strict=True)))
def test_a_number_of_nodes_keeps_its_columns(nodes: int, text: str) -> None:
    line = Line(9, 12, 1, Score(0), "", nodes, 1000, 0, 1500, ())
    assert notation.line_text(line, chess.Board(), is_narrow=True) == f" 9    0.00   1.5 s {text:>5}  "


def test_what_one_side_expects_the_other_does_not() -> None:
    assert expected_score(200, 200) == pytest.approx(1 / (1 + math.exp(-1)))
    for centipawns in (0, 1, 35, 200, 3000, 30_000):
        assert expected_score(-centipawns, 200) == pytest.approx(1 - expected_score(centipawns, 200))
    assert expected_score(100, 50) == expected_score(200, 100) > expected_score(100, 100)


# Lists of moves as people type and paste them: one definition for the console and for the page.

LISTS = [
    ("1. e4 e5 2. Nf3", notation.MoveList(["e4", "e5", "Nf3"], 1, False)),
    ("1.e4 e5 2.Nf3 1/2-1/2", notation.MoveList(["e4", "e5", "Nf3"], 1, False)),
    ("1... e5 2. Nf3", notation.MoveList(["e5", "Nf3"], 1, True)),
    ("1\u2026e5", notation.MoveList(["e5"], 1, True)),
    ("e4 e5\n2. Nf3\tNc6 *", notation.MoveList(["e4", "e5", "Nf3", "Nc6"], None, False)),
    (" 12. O-O 0-0", notation.MoveList(["O-O", "0-0"], 12, False)),
    ("e42. Nf3", notation.MoveList(["e42.", "Nf3"], None, False)),  # a number begins a word
    ("* e4 1-0", notation.MoveList(["*", "e4"], None, False)),  # only what ends the list is its result
    ("1234567. e4", notation.MoveList(["1234567.", "e4"], None, False)),
    (f"{'9' * 5000}. e4", notation.MoveList([f"{'9' * 5000}.", "e4"], None, False)),
    ("1.", notation.MoveList([], 1, False)),
    ("", notation.MoveList([], None, False)),
]


@pytest.mark.parametrize(("text", "found"), LISTS)
def test_a_list_of_moves_is_split_into_numbers_moves_and_result(text: str, found: notation.MoveList) -> None:
    assert notation.move_list(text) == found


@pytest.mark.parametrize(
    ("text", "move"),
    [("1. e4", "e4"), ("3...Nf6", "Nf6"), ("7\u2026 d5", "d5"), ("1.", "1."), ("e4 2. d4", "e4 2. d4")],
)
def test_a_number_before_a_single_move_is_left_out(text: str, move: str) -> None:
    assert notation.without_move_number(text) == move


TYPED = ["1. e4 e5 2. Nf3 Nc6", "1.e4 e5 2.Nf3 Nc6 *", "e4\u2003e5 2. Nf3 2\u2026 Nc6", "1. e4 1... e5", "1. e4, e5"]


@pytest.mark.parametrize("text", TYPED)
def test_the_console_and_the_page_read_the_same_moves_in_a_list(talk: Talk, text: str) -> None:
    talk.say(text)
    assert [move["uci"] for move in read_text(text, None)["games"][0]["moves"]] == talk.moves != []


@pytest.mark.parametrize("text", ["e42. Nf3", "1234567. e4 e5", "* e4 e5"])
def test_the_console_and_the_page_refuse_what_is_no_list(talk: Talk, text: str) -> None:
    talk.say(text)
    assert not talk.moves
    with pytest.raises(RequestError, match="is none of what is read here"):
        read_text(text, None)
