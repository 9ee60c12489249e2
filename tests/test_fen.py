"""FEN in and out: what is read, what is written back, and what each fault is called."""

import random

import chess
import numpy as np
import pytest

from merino.core.board.fen import START_FEN, FenError, parse_fen, to_fen
from merino.core.board.game import Position
from merino.core.board.position import POSITION
from merino.engine.notation.positions import looks_like_fen, take_position
from tests.boards import playouts, sparse

CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R"


def read(fen: str) -> str:
    """The FEN as Merino writes it after reading it."""
    return to_fen(parse_fen(fen))


def test_a_position_of_python_chess_comes_back_as_it_was():
    chess960 = playouts(103, 100, chess960=True, plies=60)
    fens = [board.fen() for board in (*chess960, *playouts(101, 100), *sparse(102, 100))]
    assert [read(fen) for fen in fens] == fens
    assert [read(board.shredder_fen()) for board in chess960] == fens[:100]


@pytest.mark.parametrize("number", range(50))
def test_the_record_holds_the_pieces_of_python_chess(number):
    board = playouts(104, 50)[number]
    position = parse_fen(board.fen())[0]
    for kind in chess.PIECE_TYPES:
        assert int(position["pieces"][kind - 1]) == board.pieces_mask(kind, True) | board.pieces_mask(kind, False)
    assert position["colours"].tolist() == [board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]]
    assert int(position["checkers"]) == board.checkers_mask()
    assert int(position["castling"]) == board.clean_castling_rights()
    letters = [board.piece_at(square) for square in chess.SQUARES]
    assert [Position(board.fen()).piece_at(s) for s in chess.SQUARES] == [p and p.symbol() for p in letters]


def test_a_fen_has_one_record_to_the_last_byte_whatever_memory_held_before():
    found = set()
    for litter in range(9):
        blocks = [np.full(POSITION.itemsize, litter, dtype=np.uint8) for _ in range(99)]
        del blocks  # numpy hands such memory out again as it is
        found.add(parse_fen(START_FEN).tobytes())
    assert len(found) == 1


def test_counters_may_be_left_out_or_begin_with_zeros():
    assert read("4k3/8/8/8/8/8/8/4K3 b - -") == "4k3/8/8/8/8/8/8/4K3 b - - 0 1"
    assert read("4k3/8/8/8/8/8/8/4K3 b - - 12") == "4k3/8/8/8/8/8/8/4K3 b - - 12 1"
    assert read(" ".join(START_FEN.split()[:4])) == START_FEN
    assert read("  4k3/8/8/8/8/8/8/4K3   w  -  -  3  0 ") == "4k3/8/8/8/8/8/8/4K3 w - - 3 1"  # extra blanks, move 0
    assert read("4k3/8/8/8/8/8/8/4K3 w - - 0000000012 000") == "4k3/8/8/8/8/8/8/4K3 w - - 12 1"


@pytest.mark.parametrize(
    ("right", "rook"),
    [("K", chess.H1), ("Q", chess.A1), ("G", chess.G1), ("B", chess.B1), ("k", chess.H8), ("q", chess.A8)],
)
def test_of_two_rooks_on_a_side_the_outer_one_castles_unless_a_file_is_named(right, rook):
    assert int(parse_fen(f"rr2k1rr/8/8/8/8/8/8/RR2K1RR w {right} - 0 1")[0]["castling"]) == 1 << rook


RIGHTS = [
    *((CASTLES, given, "KQkq") for given in ("KQkq", "qkQK", "HAha", "KQBkq")),  # no rook on b1
    (CASTLES, "Hq", "Kq"),
    (CASTLES, "-", "-"),
    ("r3k2r/8/8/8/8/8/8/R4K1R", "KQkq", "KQkq"),  # a king anywhere on its first rank may castle in Chess960
    ("r3k3/8/8/8/8/8/8/R3K2R", "KQkq", "KQq"),  # no rook left on h8
    ("r3k2r/8/8/8/8/8/4K3/R6R", "KQkq", "kq"),  # the king has left its rank
    ("r3k2r/8/8/8/8/8/8/B3K2N", "KQkq", "kq"),  # bishop and knight in the corners
    ("r3k2r/8/8/8/8/8/8/R3K1RR", "G", "G"),  # K would mean the rook on h1
    ("r3k2r/8/8/8/8/8/8/R3K1RR", "K", "K"),
    ("r3k2r/8/8/8/8/8/8/RR2K2R", "Bq", "Bq"),  # Q would mean the rook on a1
]


@pytest.mark.parametrize(("board", "given", "kept"), RIGHTS)
def test_castling_rights_are_written_in_one_way_or_dropped(board, given, kept):
    assert read(f"{board} w {given} - 0 1") == f"{board} w {kept} - 0 1"


EN_PASSANT = [
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "d6"),  # exd6 is legal
    ("4k3/8/8/3p4/8/8/8/4K3 w - d6 0 1", "-"),  # nobody can take
    ("4r1k1/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "-"),  # the pawn is pinned on the file
    ("7k/8/8/K2pP2r/8/8/8/8 w - d6 0 1", "-"),  # both pawns would leave the king's rank
    ("4k3/8/3p4/4P3/8/8/8/4K3 w - d6 0 1", "-"),  # a pawn stands on the square
    ("4k3/3p4/8/3pP3/8/8/8/4K3 w - d6 0 1", "-"),  # the pawn cannot have come from d7
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d3 0 1", "-"),  # the wrong side's rank
    ("4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1", "d3"),
]


@pytest.mark.parametrize(("fen", "kept"), EN_PASSANT)
def test_an_en_passant_square_is_kept_only_for_a_legal_capture(fen, kept):
    assert read(fen).split()[3] == kept
    assert kept != "-" or Position(fen).keys == Position(f"{fen.rsplit(' ', 3)[0]} - 0 1").keys


FAULTS = [
    ("", "a FEN has 4 to 6 fields, this has 0"),
    ("4k3/8/8/8/8/8/8/4K3 w -", "a FEN has 4 to 6 fields, this has 3"),
    ("4k3/8/8/8/8/8/8/4K3 w - - 0 1 1", "a FEN has 4 to 6 fields, this has 7"),
    ("4k3/8/8/8/8/8/4K3 w - -", "the board has 7 ranks, not 8"),
    ("4k3/8/8/8/8/8/8/4X3 w - -", "'X' on rank 1 is no piece"),
    ("4k3/8/8/8/9/8/8/4K3 w - -", "'9' on rank 4 is no piece"),
    ("4k3/8/8/8/0/8/8/4K3 w - -", "'0' on rank 4 is no piece"),
    ("4k3/7/8/8/8/8/8/4K3 w - -", "rank 7 has 7 squares, not 8"),
    ("4k3/8/8/8/8/8/8/4K3P w - -", "rank 1 has 9 squares, not 8"),
    ("4k3/8/8/8/8/8/8/" + "p" * 500 + " w - -", "rank 1 has 500 squares, not 8"),
    ("P3k3/8/8/8/8/8/8/4K3 w - -", "a pawn cannot stand on a8"),
    ("4k3/8/8/8/8/8/8/4K2p w - -", "a pawn cannot stand on h1"),
    ("8/8/8/8/8/8/8/4K3 w - -", "Black has 0 kings, not 1"),
    ("4k3/8/8/8/8/8/8/K3K3 w - -", "White has 2 kings, not 1"),
    ("4k3/8/8/8/P7/P7/PPPPPPP1/4K3 w - -", "White has 9 pawns, more than 8"),
    ("4k3/8/8/8/8/8/PPPPPPPP/QQ2K3 w - -", "White has more queens than its pawns could become"),
    ("nnnk4/pppppppp/8/8/8/8/8/4K3 w - -", "Black has more knights than its pawns could become"),
    ("4k3/8/8/8/8/8/8/4K3 x - -", "side to move 'x' is neither 'w' nor 'b'"),
    ("4k3/8/8/8/8/8/8/4K3 W - -", "side to move 'W' is neither 'w' nor 'b'"),
    ("4k3/8/8/8/8/8/8/4K3 w KX -", "castling right 'X' in 'KX' is unknown"),
    ("4k3/8/8/8/8/8/8/4K3 w - e4", "en-passant square 'e4' is neither '-' nor on rank 3 or 6"),
    ("4k3/8/8/8/8/8/8/4K3 w - ee", "en-passant square 'ee' is neither '-' nor on rank 3 or 6"),
    ("4k3/8/8/8/8/8/8/4K3 w - - -1", "half-move clock '-1' is no number from 0 to 100000"),
    ("4k3/8/8/8/8/8/8/4K3 w - - 0;1", "half-move clock '0;1' is no number from 0 to 100000"),
    ("4k3/8/8/8/8/8/8/4K3 w - - x 1", "half-move clock 'x' is no number from 0 to 100000"),
    ("4k3/8/8/8/8/8/8/4K3 w - - 0 1000000", "move number '1000000' is no number from 0 to 100000"),
    ("4k3/8/8/8/8/8/8/4K3 w - - 0 000000000100900000000", "move number '000000000100900000000' is no number from"),
    ("4k3/8/8/8/8/8/8/4K3 w - - 0 \u00b2", "move number '\u00b2' is no number from 0 to 100000"),
    ("4k3/8/8/8/8/8/8/4RK2 w - -", "White is to move and could take the king"),
    ("4k3/8/8/8/8/8/3p4/4K3 b - -", "Black is to move and could take the king"),
    ("8/8/8/8/8/8/4k3/4K3 w - -", "White is to move and could take the king"),
]


@pytest.mark.parametrize(("fen", "fault"), FAULTS)
def test_a_faulty_fen_is_refused_with_the_name_of_its_fault(fen, fault):
    with pytest.raises(FenError) as caught:
        parse_fen(fen)
    assert str(caught.value).startswith(fault) and len(str(caught.value)) < 160


def test_random_damage_to_a_fen_is_refused_with_a_fen_error_or_read():
    draw = random.Random(13)
    for _ in range(500):
        letters = list(playouts(104, 50)[draw.randrange(50)].fen())
        for _ in range(draw.randrange(1, 4)):
            letters[draw.randrange(len(letters))] = draw.choice("pPkKqQ18/ -wbhaHA3e6.\u00e9")
        try:
            record = parse_fen("".join(letters))
        except FenError:
            continue
        assert read(to_fen(record)) == to_fen(record)


PATHS = [
    (chess.STARTING_FEN, True),
    ("8/8/8/8/8/8/8/x w - - 0 1", True),  # a fault to be named
    ("/home/ann/chess/engines/merino/weights/mine", False),
    ("~/chess/engines/merino/weights/old/a/mine", False),
    ("chess/engines/merino/weights/old/a/b/mine.txt", False),
    ("", False),
]


@pytest.mark.parametrize(("text", "is_fen"), PATHS)
def test_a_path_of_eight_names_is_no_fen(text: str, is_fen: bool) -> None:
    assert looks_like_fen(text) == is_fen


PAWN_UP = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
LICHESS = "https://lichess.org/analysis"
GIVEN = [
    (PAWN_UP, PAWN_UP, ""),
    (f"{PAWN_UP} Kd2", PAWN_UP, "Kd2"),
    ("4k3/8/8/8/8/8/4P3/4K3 w - - bm Kd2; id 5", PAWN_UP, "bm Kd2; id 5"),
    ("startpos", chess.STARTING_FEN, ""),
    ("position startpos", chess.STARTING_FEN, ""),
    ("position startpos moves e2e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", ""),
    (f"position fen {PAWN_UP} moves e2e4 e8e7 e4", "8/4k3/8/8/4P3/8/8/4K3 w - - 1 2", "e4"),
    (f"fen {PAWN_UP}", PAWN_UP, ""),
    (f"FEN: '{PAWN_UP}'", PAWN_UP, ""),
    (f"fen={PAWN_UP}", PAWN_UP, ""),
    (f"{LICHESS}/4k3/8/8/8/8/8/4P3/4K3_w_-_-_0_1", PAWN_UP, ""),
    (f"{LICHESS}/standard/4k3/8/8/8/8/8/4P3/4K3_w_-_-_0_1#4", PAWN_UP, ""),
    (f"{LICHESS}/fromPosition/4k3/8/8/8/8/8/4P3/4K3_w_-_-?color=black", PAWN_UP, ""),
    ("https://lichess.org/editor/4k3/8/8/8/8/8/4P3/4K3%20w%20-%20-%200%201", PAWN_UP, ""),
    ("https://www.chess.com/analysis?fen=4k3%2F8%2F8%2F8%2F8%2F8%2F4P3%2F4K3+w+-+-+0+1&flip=true", PAWN_UP, ""),
    (
        "http://127.0.0.1:8765/#fen=4k3/8/8/8/8/8/4P3/4K3%20w%20-%20-%200%201&moves=e2e4%20e8e7",
        "8/4k3/8/8/4P3/8/8/4K3 w - - 1 2",
        "",
    ),
]
NOT_GIVEN = ["", "position", "fen", "e4", "moves e2e4", "https://lichess.org/abcdefgh", f"{LICHESS}/pgn/e4_e5"]
POCKETS = [f"{LICHESS}/crazyhouse/rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR{end}_w_KQkq_-_0_1" for end in ("/", "[]")]


@pytest.mark.parametrize(("text", "fen", "rest"), GIVEN)
def test_a_position_is_read_however_it_is_given(text: str, fen: str, rest: str) -> None:
    for words in ([text], text.split()):
        given = take_position(words)
        assert given is not None and given.position().fen() == fen and " ".join(given.rest) == rest
    given = take_position([text, "knight to f3"])
    assert given is not None and given.rest == [*rest.split(), "knight to f3"]


@pytest.mark.parametrize("text", [*NOT_GIVEN, *POCKETS])
def test_what_names_no_position_of_chess_is_none(text: str) -> None:
    assert take_position([text] if text else []) is None


def test_a_game_that_counts_beyond_all_bounds_has_fens_that_can_be_read() -> None:
    game = Position("4k3/8/8/8/8/8/8/4K3 b - - 100000 100000")
    game.push_uci("e8e7")
    assert game.fen() == "8/4k3/8/8/8/8/8/4K3 w - - 100000 100000" and Position(game.fen()).fen() == game.fen()
