"""Reasons: motifs as players name them, and the kind of each mistake."""

from dataclasses import replace

import chess
import pytest

from merino.core.board.game import Position
from merino.engine.notation.san import read_move
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.families import default, load
from merino.eval.linear.weights import SHIPPED
from merino.study.analyser import analyser
from merino.study.lines import differences, end_of, facts_between, outcome, why
from merino.study.reporting import report_moves
from merino.study.tactics import (
    FoundLine,
    Means,
    discovered_by,
    exchange,
    fork_targets,
    is_back_rank_mate,
    is_hanging,
    pins_by,
    skewers_by,
    threat_in,
    win_by,
)

MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"


def line(fen: str, moves: str, mate: int | None = None) -> FoundLine:
    """The line of these moves in short notation."""
    board, found = chess.Board(fen), []
    for text in moves.split():
        found.append(board.parse_san(text))
        board.push(found[-1])
    return FoundLine(chess.Board(fen), tuple(found), mate)


EXCHANGES = [
    ("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", "d5", 3),  # nothing guards it
    ("4k3/8/4p3/3n4/8/8/8/3RK3 w - - 0 1", "d5", 0),  # a rook for a knight
    ("4k3/8/4p3/3r4/8/2N5/8/4K3 w - - 0 1", "d5", 2),  # a rook for a knight, the other way round
    ("4k3/8/8/3np3/3K4/8/8/8 w - - 0 1", "e5", 0),  # the king may not be taken in turn
]


@pytest.mark.parametrize(("fen", "square", "pawns"), EXCHANGES)
def test_an_exchange_wins_what_a_player_counts(fen: str, square: str, pawns: int) -> None:
    board = chess.Board(fen)
    if square == "e5":
        board.set_piece_at(chess.F7, chess.Piece(chess.KNIGHT, chess.BLACK))
    assert exchange(board, chess.parse_square(square), chess.WHITE) == pawns
    assert is_hanging(board, chess.parse_square(square)) == bool(pawns)


def test_a_knight_forks_king_and_rook_but_not_if_it_is_taken() -> None:
    board = chess.Board("r3k3/2N5/8/8/8/8/8/4K3 b - - 0 1")
    assert {chess.square_name(each) for each in fork_targets(board, chess.C7)} == {"a8", "e8"}
    board.set_piece_at(chess.D7, chess.Piece(chess.QUEEN, chess.BLACK))
    assert fork_targets(board, chess.C7) == []
    board = chess.Board("4k3/2p2p2/1n3n2/3N4/8/8/8/4K3 b - - 0 1")  # guarded pieces that are not worth more
    assert fork_targets(board, chess.D5) == []


def test_a_bishop_pins_a_knight_to_the_king_and_a_rook_skewers_king_and_queen() -> None:
    board = chess.Board("4k3/3n4/8/1B6/8/8/8/4K3 b - - 0 1")
    assert list(pins_by(board, chess.B5)) == [(chess.D7, chess.E8)]
    board = chess.Board("q7/8/k7/8/8/8/8/R3K3 b - - 0 1")
    assert list(skewers_by(board, chess.A1)) == [(chess.A6, chess.A8)] and list(pins_by(board, chess.A1)) == []


def test_a_move_out_of_the_way_uncovers_an_attack() -> None:
    board = chess.Board("4q1k1/8/8/8/4N3/8/8/4R1K1 w - - 0 1")
    assert discovered_by(board, chess.Move.from_uci("e4c5")) == [(chess.E1, chess.E8)]
    assert discovered_by(board, chess.Move.from_uci("g1h1")) == []
    board = chess.Board("6k1/8/8/5n2/8/8/8/4K2R w K - 0 1")
    assert discovered_by(board, board.parse_san("O-O")) == []


def test_a_rook_mates_on_the_back_rank() -> None:
    assert is_back_rank_mate(chess.Board("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1"))
    assert not is_back_rank_mate(chess.Board("6k1/5ppp/8/8/8/8/8/R3K3 b - - 0 1"))
    assert not is_back_rank_mate(chess.Board("6k1/6Q1/6K1/8/8/8/8/8 b - - 0 1"))


def searched(fen: str, *moves: str) -> tuple[str, ...]:
    """Why a search prefers one of these moves, in sentences."""
    position = Position(fen)
    found = [read_move(position, move) for move in moves]
    report = report_moves(position, found, default(), analyser(Searcher(hash_mb=1)), Limits(nodes=20_000))
    return why(report, position, default()).sentences


def test_why_names_the_better_move_and_what_is_exchanged() -> None:
    first, exchanged, *facts = searched(MIDDLEGAME, "Bxh6", "Be3")
    assert first.startswith("The search prefers Be3: ") and not facts, "with unequal material nothing else counts"
    assert exchanged.startswith("In the line of Be3 ") and "in that of Bxh6 Black has a bishop for" in exchanged


def test_ends_of_lines_differ_in_facts_of_the_board() -> None:
    position = Position("4k3/pp3ppp/8/8/8/8/PP3PPP/R3K3 w Q - 0 1")
    ends = [end_of(position, [move], default()) for move in ("a1d1", "a1b1")]
    said = dict(facts_between(*ends, is_choice=True))
    assert said["White's rook stands on the open d-file"] > 15
    assert dict(facts_between(*ends[::-1], is_choice=True))["White's rook does not stand on the open d-file"] < -15
    unusual = [replace(each, unusual={"RookOpen"}) for each in ends]
    assert not any("d-file" in text for text, _ in facts_between(*unusual, is_choice=True))


STALEMATE = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"
LAST_PAWN = "8/8/8/8/3kP3/8/8/2K5 b - - 0 1"


WHOLE_REASONS = [
    (STALEMATE, "Qf7 Qf8", "Qf8# is mate. Qf7 stalemates."),
    (LAST_PAWN, "Kxe4 Kd3", "Kxe4 leaves too little material to win."),
    ("7k/8/8/8/8/8/PP6/K7 w - - 99 90", "Kb1 a4", "Kb1 draws by the fifty-move rule."),
    ("3k4/4P3/5K2/8/8/8/8/8 b - - 0 1", "Ke8 Kd7", "The line of Ke8 stalemates."),
    ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "h3 Rd8#", "Rd8# is mate."),
    ("k7/8/2K5/8/8/8/1Q6/8 w - - 0 1", "Qb3 Qh2", "Qb3 mates in 2. Qh2 mates in 3."),  # with the move compared
    ("8/8/8/p7/P7/1P6/q4k2/7K w - - 0 1", "b4 Kh2", "After b4 Black mates in 2. After Kh2 Black mates in 2."),
]


@pytest.mark.parametrize(("fen", "moves", "said"), WHOLE_REASONS)
def test_a_mate_or_a_draw_is_the_whole_reason_for_a_move(fen: str, moves: str, said: str) -> None:
    assert " ".join(searched(fen, *moves.split())[1:]) == said


OUTCOMES = [
    (STALEMATE, "f1f7", "1. Qf7 stalemates."),
    (LAST_PAWN, "d4e4", "1...Kxe4 leaves too little material to win."),
    ("6k1/5ppp/8/8/8/8/8/4R1K1 w - - 0 1", "e1e8", "1. Re8# is mate."),
    ("8/P3k3/8/8/8/8/4K3/8 w - - 0 1", "a7a8q", "White promotes to a queen by 1. a8=Q."),
    (MIDDLEGAME, "e1e6 f7e6 d3e4", "After 13. Rxe6 fxe6 Black has a rook for a pawn."),
    (MIDDLEGAME, "c1e3 a8c8 h2h3 g4f3 d1f3 c6d4 f3d1", "By 15...Nxd4 Black has a knight and a pawn for a bishop."),
    (MIDDLEGAME, "h2h3", "Nothing is taken."),
    (MIDDLEGAME, "h2h3 g4f3", "Nothing is taken."),  # the bishop is about to be taken back
]


@pytest.mark.parametrize(("fen", "moves", "said"), OUTCOMES)
def test_the_outcome_of_a_line_is_its_end_or_what_it_has_exchanged(fen: str, moves: str, said: str) -> None:
    assert outcome(Position(fen), moves.split(), default()).sentences[0] == said


def test_without_a_search_there_is_no_why() -> None:
    position = Position(MIDDLEGAME)
    report = report_moves(position, [read_move(position, move) for move in ("Bxh6", "Be3")], default())
    assert why(report, position, default()).sentences == ()


def test_pieces_are_followed_through_castling_captures_and_promotion() -> None:
    for move, changed in (("e1g1", {"e1": "g1", "h1": "f1"}), ("a7a8q", {"a7": "a8"})):
        end = end_of(Position("4k3/P6p/8/8/8/8/8/4K2R w K - 0 1"), [move], default())
        kept = {chess.square_name(origin): chess.square_name(at) for origin, (at, _) in end.pieces.items()}
        assert kept == {square: square for square in ("e1", "h1", "a7", "h7", "e8")} | changed


THREATS = [
    ("6k1/5ppp/8/8/8/8/5PPP/4R1K1 b - - 0 1", "White threatens mate in 1: 2. Re8#."),
    ("4k3/8/8/3n4/8/2P5/8/3RK3 b - - 0 1", "White threatens Rxd5: the knight on d5 can be taken (2. Rxd5"),
    ("4k3/8/8/3n4/8/2P5/8/3RK3 b - - 0 100000", "White threatens Rxd5: the knight on d5 can be taken (100001. R"),
    ("4k3/8/8/3n4/8/2P5/8/3RK3 b - - 100000 1", "White threatens Rxd5: the knight on d5 can be taken (2. Rxd5"),
    (chess.STARTING_FEN, None),
    ("rnb1kbnr/pppp1ppp/8/4p3/4P2q/8/PPPP1PPP/RNBQKBNR w KQkq - 2 3", "Black threatens Qxe4+: the pawn on e4"),
    ("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1", None),  # in check
]


@pytest.mark.parametrize(("fen", "said"), THREATS)
def test_a_threat_is_what_the_other_side_would_win(fen: str, said: str | None) -> None:
    found = threat_in(Position(fen), analyser(Searcher(hash_mb=1)), Limits(nodes=5_000))
    assert found is None if said is None else found is not None and found.sentence.startswith(said)
    assert found is None or (found.score[0] == "+") == (said or "").startswith("White") and found.depth > 0


def test_the_outcome_of_a_line_names_the_facts_that_it_changes() -> None:
    found = outcome(Position(MIDDLEGAME), ["e1e6", "f7e6", "d3e4", "a8c8"], default())
    assert found.sentences[1:] == (
        "Black's rook now stands on the open c-file and Black's rook now stands on the half-open f-file (0.98).",
        "Black's e-pawn becomes isolated (0.27).",
    )
    heard = found.pieces[1].as_json()
    assert (heard["name"], heard["there"]) == ("Black's rook on c8", "a8") and round(heard["total_cp"]) == 37
    assert abs(sum(heard["terms_cp"].values()) - heard["total_cp"]) < 0.5 and "RookOpen" in heard["terms_cp"]


def test_terms_of_a_whole_side_are_not_divided_among_its_pieces() -> None:
    full = load(SHIPPED / "full.txt")
    end = end_of(Position(MIDDLEGAME), ["e1e6", "f7e6", "d3e4"], full)
    heard = {name for origin in end.pieces for name, cp in end.own_terms(origin).items() if cp}
    assert {"KnightSquare", "PawnSupported", "RookMobility"} <= heard
    assert not {name for name in heard if name.startswith(("Contested", "Controlled", "PawnIslands", "Space", "Tempo"))}


def test_compare_and_explain_say_why_and_what_is_threatened(shell) -> None:
    found = shell("compare", MIDDLEGAME, "Be3", "Bxh6", "--nodes", "20000", "--json")
    assert "The search prefers Be3" in found["why"][0]
    found = shell("explain", MIDDLEGAME, "--threat", "--nodes", "20000", "--json")
    assert found["threat"].startswith("Black threatens")
    kingless = shell("explain", "8/8/8/3q4/8/8/8/4K3 w - - 0 1", "--threat", "--json")
    assert kingless["threat"] is None, "a king is missing"


STAUNTON = "7k/bp4rP/p1pnB3/5Pp1/PP2q2P/2P4K/4Q3/4R3 b - - 0 46"  # Staunton - Anderssen, London 1851
LOST = "5r1k/p5p1/7p/4P2P/3q4/4Q3/P4rP1/1R2R1K1 b - - 5 35", "Rf1+ Kh2 Qxe3 Rxe3 Rxb1 a4 Ra1"
FOR_ANOTHER = "2b3k1/6pp/2q2p2/ppN5/1b1Pp3/PP3NP1/6PP/2Q4K w - - 0 31"
PINNED = "3r2k1/PK6/6n1/7R/4P3/1N6/8/8 w - - 0 61"
RACE = "r7/8/p1P2k2/3K1p1p/5P2/P7/1P6/5B2 w - - 5 54"
LATE = "Bd2 Kg7 Bxf4 Kf6 a5 Ke7 Kf2 Kd7 Ke3 Kc6 Kd4 Kb5 Be5 Ka4 a6 Kb4 a7 Kb3 a8=Q"
# A position, a line, what it wins in pawns if not what it gains, by what means, and in which words.
WINS = (
    (*LOST, 4, Means.MATERIAL, "the reply wins material worth 4 pawns, first the queen on e3"),
    (*LOST, 5, Means.MATERIAL, "the reply wins the rook on b1"),
    (FOR_ANOTHER, "axb4 exf3 bxa5 Bg4 Kg1 f2+ Kxf2 Kf8", 0, Means.MATERIAL, "wins a bishop and two pawns for a knight"),
    (STAUNTON, "Qxh4+ Kg2 Ne4 Rh1 Qxh1+ Kxh1 Ng3+ Kg2 Nxe2", 0, Means.MATERIAL, ""),  # not by its first pawn alone
    (PINNED, "a8=Q Rxa8 Kxa8 Kg7 Nd4 Ne7", 0, Means.PROMOTION, ""),  # what can be taken pins nothing
    ("7k/8/8/8/P4n2/8/8/2B3K1 w - - 0 1", LATE, 0, Means.MATERIAL, ""),  # it comes after the plies that count
    # The rook is taken for nothing, on the board or by the next move; something else is won.
    (RACE, "c7 Ke7 Bxa6 Kd7 c8=R Rxc8 Bd3 Ra8 Bxf5+", 0, Means.MATERIAL, ""),
    ("r5k1/2P5/8/7n/8/5B2/8/7K w - - 0 1", "Kg2 Kf8 Bxh5 Kg7 c8=R", 0, Means.MATERIAL, ""),
    (RACE, "c7 a5 Kc6 Rh8 Ba6 h4 c8=Q Rxc8+ Bxc8", 0, Means.PROMOTION, ""),  # what takes it is taken
    ("r1n3k1/1P6/8/8/8/8/8/7K w - - 0 1", "Kg2 Kg7 bxc8=Q Rxc8 Kg3", 0, Means.PROMOTION, ""),  # it takes, and is taken
    ("8/P7/8/8/8/7k/8/7K w - - 0 1", "a8=Q Kg4 Qe4+", 0, Means.PROMOTION, ""),
)


@pytest.mark.parametrize(("fen", "moves", "gain", "means", "words"), WINS)
def test_a_line_wins_by_what_counts_most(fen: str, moves: str, gain: int, means: Means, words: str) -> None:
    found = line(fen, moves)
    won = win_by(found, gain or max(found.gain, 1), "the reply")
    assert won.sentence.endswith(words)
    assert won.means is means or (fen == STAUNTON and won.means is not Means.HANGING)


def test_a_pawn_that_is_about_to_be_won_back_is_not_won() -> None:
    start = chess.Board()
    start.push_san("a4")
    assert line(start.fen(), "e5 d4 exd4").gain == 0  # Qxd4
    assert line(start.fen(), "e5 d4 exd4 Nf3 c5 h3").gain == 1
    assert line("4k3/8/8/8/8/8/p2P4/2K5 b - - 0 1", "a1=Q+ Kc2").gain == 8


def test_a_line_is_shown_to_its_last_capture_and_its_promotion() -> None:
    assert line(MIDDLEGAME, "h3 Bh5 g4 Bg6 Be3 Rc8 Qd2 a6 Bxg6 fxg6").text.endswith("17. Bxg6 fxg6")
    assert line("8/8/8/8/P7/7k/8/7K w - - 0 2", "a5 Kg4 a6 Kf5 a7 Ke6 a8=Q Kd6").text.endswith("5. a8=Q")


MATERIAL = [
    ("8/P7/8/8/8/6k1/8/6K1 w - - 0 1", "a7a8q", "White promotes to a queen"),
    ("8/P7/8/8/8/6k1/8/6K1 w - - 0 1", "a7a8r", "White promotes to a rook"),
    ("1k6/8/8/8/8/8/4pPPP/3B1RK1 b - - 0 1", "e2f1q g1f1", "Black has a rook for a pawn"),
    ("3qk3/8/8/8/8/8/8/R2QK3 w - - 0 1", "d1d8 e8d8", "each side has taken a queen"),
    ("3qk3/8/8/8/8/8/8/R2QK3 w - - 0 1", "a1a2", "nothing is taken"),  # though a rook ahead
]


@pytest.mark.parametrize(("fen", "moves", "material"), MATERIAL)
def test_material_is_what_a_line_takes_and_promotes(fen: str, moves: str, material: str) -> None:
    assert end_of(Position(fen), moves.split(), default()).material == material


def test_a_promoted_piece_is_not_compared_with_another() -> None:
    ends = [end_of(Position("8/P7/8/8/8/6k1/8/6K1 w - - 0 1"), [move], default()) for move in ("a7a8q", "a7a8r")]
    assert chess.A8 not in {piece.here for piece in differences(*ends)}


def test_a_move_is_not_compared_with_itself(shell) -> None:
    said = shell("compare", chess.STARTING_FEN, "Nf3", "g1f3", "--static", status=2)
    assert said.splitlines()[0].endswith("expected two moves that differ, not 'Nf3 g1f3'")
