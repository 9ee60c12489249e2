"""`Position`, the board for Python code: moves and their notation, history, and how games end."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import chess
import pytest

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.game import IllegalMoveError, Position, Termination
from merino.core.board.move import Move
from tests.boards import random_game

CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"


def state(position: Position) -> tuple:
    """All that a `Position` knows."""
    return position.record.tobytes(), position.moves.copy(), position.keys.copy(), position.chess960


def uci_moves(seed: int, plies: int, fen: str = chess.STARTING_FEN) -> list[str]:
    """A random game."""
    board = chess.Board(fen)
    for _ in random_game(random.Random(seed), board, plies):
        pass
    return [move.uci() for move in board.move_stack]


def test_a_new_position_is_the_start_of_a_game():
    position = Position()
    assert position.fen() == position.start_fen() == chess.STARTING_FEN
    assert position.side == WHITE and position.fullmove_number == 1 and position.halfmove_clock == 0
    assert len(position.legal_moves) == 20 and position.moves == [] and len(position.keys) == 1
    assert position.piece_at(chess.E1) == "K" and position.piece_at(chess.E4) is None
    assert str(position) == str(chess.Board()) and repr(position) == f"Position({chess.STARTING_FEN!r})"


def test_every_position_of_random_games_is_that_of_python_chess():
    for seed in range(6):
        board, position = chess.Board(), Position()
        for move in random_game(random.Random(seed), board, 200):
            assert {position.uci(legal) for legal in position.legal_moves} == {m.uci() for m in board.legal_moves}
            assert position.is_check() == board.is_check()
            assert position.side == (WHITE if board.turn else BLACK)
            position.push_uci(move.uci())
            board.push(move)
            assert position.fen() == board.fen()
            board.pop()
        assert [move.uci() for move in position.moves] == [move.uci() for move in board.move_stack]
        assert position.is_checkmate() == board.is_checkmate()
        assert position.is_stalemate() == board.is_stalemate()


def test_pop_goes_back_move_by_move():
    position, states, texts = Position(), [], uci_moves(7, 60)
    for text in texts:
        states.append(state(position))
        position.push_uci(text)
    for text, before in zip(reversed(texts), reversed(states), strict=True):
        assert position.pop().uci() == text and state(position) == before


def test_push_all_plays_as_push_does():
    texts, one, other = uci_moves(8, 80), Position(), Position()
    moves = one.push_all(texts)
    for text in texts:
        other.push(other.parse_uci(text))
    assert state(one) == state(other)
    assert moves == one.moves and all(isinstance(move, Move) for move in one.moves)


def test_a_copy_shares_nothing_that_changes():
    position = Position()
    position.push_uci("e2e4")
    copy, before = position.copy(), state(position)
    copy.push_uci("e7e5")
    copy.pop()
    copy.pop()
    assert state(position) == before and copy.fen() == chess.STARTING_FEN


NO_MOVES = ["", "e2", "e2e9", "i2i4", "e2e4x", "e7e8k", "0000", "Nf3", "e2 e4", "e" * 200]
ILLEGAL = ["e2e5", "e7e5", "e3e4", "e1g1", "e2e4q", "a1a1", "g1e2", "e1c1n"]


@contextmanager
def refused(position: Position, error: type[Exception], said: str | None = None) -> Iterator[pytest.ExceptionInfo]:
    """What is done raises this error and changes nothing."""
    before = state(position)
    with pytest.raises(error, match=said) as caught:
        yield caught
    assert state(position) == before


@pytest.mark.parametrize("text", [*NO_MOVES, *ILLEGAL])
def test_text_that_is_no_legal_move_is_refused_and_changes_nothing(text):
    said = f"^{text} is not legal in {chess.STARTING_FEN}$" if text in ILLEGAL else "is no move like e2e4 or e7e8q"
    with refused(position := Position(), IllegalMoveError, said):
        position.push_uci(text)


@pytest.mark.parametrize(("texts", "index"), [(["e2e4", "e7e5", "e1e3"], 2), (["e2e5", "e7e5"], 0), (["e2e4", "?"], 1)])
def test_push_all_shows_which_move_was_wrong_and_changes_nothing(texts, index):
    with refused(position := Position(), IllegalMoveError) as caught:
        position.push_all(texts)
    assert caught.value.index == index


def test_push_refuses_a_move_that_is_not_legal_and_pop_one_before_the_start():
    for move in (0, Position("4k3/8/8/8/8/8/8/4K3 w - -").legal_moves[0], 65535):
        with refused(position := Position(), IllegalMoveError):
            position.push(move)
    for text in ("e1g1q", "e1c1n", "e1h1q"):  # castling names no piece
        for chess960 in (False, True):
            with refused(position := Position(CASTLES, chess960), IllegalMoveError):
                position.push_uci(text)
    with refused(position := Position(CASTLES), IndexError):
        position.pop()


def test_a_promotion_needs_its_piece():
    position = Position("8/4P1k1/8/8/8/8/8/4K3 w - - 0 1")
    with pytest.raises(IllegalMoveError):
        position.push_uci("e7e8")
    assert position.push_uci("e7e8N").uci() == "e7e8n" and position.piece_at(chess.E8) == "N"


CASTLINGS = [
    (("e1g1", "e1h1"), "e1g1", "e1h1", "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1"),
    (("e1c1", "e1a1"), "e1c1", "e1a1", "r3k2r/8/8/8/8/8/8/2KR3R b kq - 1 1"),
]


@pytest.mark.parametrize("chess960", [False, True], ids=["standard", "chess960"])
@pytest.mark.parametrize(("texts", "standard", "king_takes_rook", "fen"), CASTLINGS)
def test_castling_is_read_in_both_notations(texts, standard, king_takes_rook, fen, chess960):
    for text in texts:
        position = Position(CASTLES, chess960)
        move = position.push_uci(text)
        assert position.fen() == fen
        assert position.uci(move) == (king_takes_rook if chess960 else standard)
        assert (move.uci(), move.uci(chess960=True)) == (standard, king_takes_rook)


def test_a_king_step_is_not_taken_for_castling():
    fen = "k7/8/8/8/8/8/8/4RK1R w K - 0 1"
    step, castling = Position(fen, chess960=True), Position(fen, chess960=True)
    assert not step.push_uci("f1g1").is_castling and castling.push_uci("f1h1").is_castling
    assert castling.fen() == "k7/8/8/8/8/8/8/4RRK1 b - - 1 1"


def test_castling_lands_on_c_and_g_from_everywhere_in_chess960():
    for index in range(0, 960, 7):
        board = chess.Board.from_chess960_pos(index)
        for square in chess.SquareSet(board.occupied_co[chess.WHITE] & (board.knights | board.bishops | board.queens)):
            board.remove_piece_at(square)
        for move in [move for move in board.legal_moves if board.is_castling(move)]:
            position, after = Position(board.fen(), chess960=True), board.copy()
            position.push_uci(move.uci())
            after.push(move)
            assert position.fen() == after.fen()


def test_a_move_reads_in_words():
    move = Position("8/4P1k1/8/8/8/8/8/4K3 w - - 0 1").parse_uci("e7e8q")
    assert (move.from_square, move.to_square, move.promotion) == (chess.E7, chess.E8, chess.QUEEN - 1)
    assert repr(move) == "Move('e7e8q')" and Move(0).uci() == "0000"
    assert Position().parse_uci("e2e4").promotion is None


def test_a_game_of_2000_plies_is_played_and_taken_back_at_once():
    texts = uci_moves(3, 2000)
    assert len(texts) == 2000
    position = Position()
    position.push_all(texts[:1])  # compiled before the clock starts
    position.pop()
    started = time.thread_time()
    position.push_all(texts)
    position.pop()
    assert time.thread_time() - started < 0.5
    board = chess.Board()
    for text in texts[:-1]:
        board.push_uci(text)
    assert position.fen() == board.fen()


def shuffling_game(draw: random.Random, board: chess.Board, plies: int) -> Iterator[chess.Move]:
    """Play random moves, most of them straight back again."""
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            return
        move = draw.choice(moves)
        if len(board.move_stack) > 1 and draw.random() < 0.7:
            last = board.move_stack[-2]
            back = chess.Move(last.to_square, last.from_square)
            move = back if back in moves else move
        yield move
        board.push(move)


@pytest.mark.parametrize(
    "fen", ["k7/p7/P7/8/8/p7/P7/K7 w - - 0 1", "k7/8/8/8/8/8/8/K6R b - - 60 80", CASTLES, chess.STARTING_FEN]
)
@pytest.mark.parametrize("seed", range(3))
def test_repetition_and_fifty_moves_are_seen_when_python_chess_sees_them(fen, seed):
    board, position = chess.Board(fen), Position(fen)
    threefold = fifty = 0
    for move in shuffling_game(random.Random(seed), board, 220):
        position.push_uci(move.uci())
        board.push(move)
        assert [position.is_repetition(n) for n in (1, 2, 3, 4)] == [board.is_repetition(n) for n in (1, 2, 3, 4)]
        assert position.is_fifty_moves() == board.is_fifty_moves()
        assert position.is_insufficient_material() == board.is_insufficient_material()
        threefold, fifty = threefold + board.is_repetition(), fifty + board.is_fifty_moves()
        board.pop()
    assert threefold > 20
    if fen.startswith("k7/p7"):
        assert fifty > 20


def test_positions_that_differ_in_castling_rights_do_not_repeat():
    position = Position(CASTLES)
    position.push_all(["h1g1", "h8g8", "g1h1", "g8h8"])
    assert not position.is_repetition(2)
    position.push_all(["h1g1", "h8g8", "g1h1", "g8h8"])
    assert position.is_repetition(2) and not position.is_repetition(3)


ENDS = [
    (chess.STARTING_FEN, "", None, None),
    (chess.STARTING_FEN, "f2f3 e7e5 g2g4 d8h4", Termination.CHECKMATE, "0-1"),
    ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "a1a8", Termination.CHECKMATE, "1-0"),
    ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 99 90", "a1a8", Termination.CHECKMATE, "1-0"),
    ("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "g6f7", Termination.STALEMATE, "1/2-1/2"),
    ("7k/8/5KQ1/8/8/8/8/8 w - - 99 90", "g6f7", Termination.STALEMATE, "1/2-1/2"),
    ("4k3/8/8/8/8/8/4p3/4K2B w - - 0 1", "e1e2", Termination.INSUFFICIENT_MATERIAL, "1/2-1/2"),
    ("4k3/8/8/8/8/8/8/R3K3 w Q - 99 90", "a1b1", Termination.FIFTY_MOVES, "1/2-1/2"),
    ("4k3/8/8/8/8/8/8/R3K3 w Q - 98 90", "a1b1", None, None),
    ("4k3/8/8/8/8/8/4P3/R3K3 w Q - 99 90", "e2e4", None, None),
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8", None, None),
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8", Termination.THREEFOLD_REPETITION, "1/2-1/2"),
]


@pytest.mark.parametrize(("fen", "moves", "termination", "result"), ENDS)
def test_a_game_ends_for_the_reason_the_laws_give(fen, moves, termination, result):
    position = Position(fen)
    for text in moves.split():
        assert position.outcome() is None
        position.push_uci(text)
    outcome = position.outcome()
    assert (outcome and outcome.termination) == termination and (outcome and outcome.result) == result
