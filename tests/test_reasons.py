"""Reasons: motifs as players name them, and the kind of each mistake."""

import re
from dataclasses import replace
from pathlib import Path

import chess
import pytest

from merino.core.board.game import Position
from merino.engine.notation.san import read_move
from merino.engine.search.limits import Limits, Score
from merino.engine.search.searcher import Searcher
from merino.eval.families import default, load
from merino.eval.linear.weights import SHIPPED
from merino.study.analyser import analyser
from merino.study.lines import LineEnd, PieceDifference, differences, end_of, named_first, outcome, why
from merino.study.mistakes import Cost, Costs, MistakeKind, ScoredLine, ThreeEnds, mistake_in, mistake_of
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
    assert discovered_by(board, chess.Move.from_uci("e4c5")) == [chess.E8]
    assert discovered_by(board, chess.Move.from_uci("g1h1")) == []
    board = chess.Board("6k1/8/8/5n2/8/8/8/4K2R w K - 0 1")
    assert discovered_by(board, board.parse_san("O-O")) == []


def test_a_rook_mates_on_the_back_rank() -> None:
    assert is_back_rank_mate(chess.Board("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1"))
    assert not is_back_rank_mate(chess.Board("6k1/5ppp/8/8/8/8/8/R3K3 b - - 0 1"))
    assert not is_back_rank_mate(chess.Board("6k1/6Q1/6K1/8/8/8/8/8 b - - 0 1"))


START = chess.STARTING_FEN


@pytest.mark.parametrize(("score", "kind"), [(0, MistakeKind.DRAW_MISSED), (3000, MistakeKind.PAWN_HANGING)])
def test_a_line_that_wins_is_no_draw_though_its_last_moves_play_on_to_one(score: int, kind: MistakeKind) -> None:
    position = Position("8/1K6/8/k7/8/4p3/2p2R2/8 b - - 0 1")
    winning = position.copy().push_all(["e3f2", "b7b8", "f2f1q", "b8a8", "f1a6", "a8b8", "c2c1q"])
    played, *reply = position.copy().push_all(["a5b4", "f2c2"])
    better, after = ScoredLine(winning, Score(score)), ScoredLine(reply, Score(200))
    assert mistake_in(position, played, better, after, default()).kind is kind


def test_mates_come_first_and_terms_last() -> None:
    quiet = chess.Move.from_uci("a2a3")
    after = chess.Board()
    after.push(quiet)
    better, reply = line(START, "e4 e5", 3), line(after.fen(), "e5 e4")
    costs = Costs((), [Cost(40.0, True, "0.40 by White's rook mobility")])
    missed = mistake_of(quiet, better, reply, costs)
    assert missed.kind is MistakeKind.MATE_MISSED and "mate in 3" in missed.sentence
    positional = mistake_of(quiet, line(START, "e4 e5"), reply, costs)
    assert positional.kind is MistakeKind.POSITION
    assert positional.text == "position given away: the move costs 0.40 by White's rook mobility (1...e5 2. e4)"


GAMES = """[White "A"]

1. e4 c5 2. Nf3 Nc6 3. d4 cxd4 4. Nxd4 e5 5. Nf5 Nge7 6. Nd6# 1-0

[White "B"]

1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. cxd5 exd5 5. Bg5 Nbd7 6. Nxd5 Nxd5 7. Bxd8 Bb4+ 8. Qd2 Bxd2+ 9. Kxd2 Kxd8 0-1
"""


def test_annotated_games_name_the_kind(tmp_path: Path, shell) -> None:
    (games := tmp_path / "games.pgn").write_text(GAMES)
    text = " ".join(shell("annotate", str(games), "--nodes", "4000", "--quiet").split())
    assert "mate allowed: the reply mates in 1 (6. Nd6#)" in text
    assert "hanging piece: the knight on d5 stands where it can be taken (6...Nxd5" in text


def searched(fen: str, *moves: str) -> tuple[str, ...]:
    """Why a search prefers one of these moves, in sentences."""
    position = Position(fen)
    found = [read_move(position, move) for move in moves]
    report = report_moves(position, found, default(), analyser(Searcher(hash_mb=1)), Limits(nodes=20_000))
    return why(report, position, default()).sentences


def test_why_names_the_better_move_what_is_exchanged_and_pieces() -> None:
    first, exchanged, *pieces = searched(MIDDLEGAME, "Bxh6", "Be3")
    assert first.startswith("The search prefers Be3: ")
    assert exchanged.startswith("In the line of Be3 ") and "in that of Bxh6 Black has a bishop for" in exchanged
    assert pieces and all(re.match(r"With Be3, (White|Black)'s \w+ on [a-h][1-8]", sentence) for sentence in pieces)


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


def test_the_outcome_of_a_line_names_pieces_as_a_comparison_does() -> None:
    found = outcome(Position(MIDDLEGAME), ["e1e6", "f7e6", "d3e4", "a8c8"], default())
    words = "Black's rook on c8 (from a8) is worth 0.37 more: rooks on files without friendly pawns"
    assert found.sentences[2].startswith(words)
    heard = found.pieces[1].as_json()
    assert (heard["name"], heard["there"]) == ("Black's rook on c8", "a8") and round(heard["total_cp"]) == 37
    assert abs(sum(heard["terms_cp"].values()) - heard["total_cp"]) < 0.5 and "RookOpen" in heard["terms_cp"]


def test_no_reason_is_a_term_whose_weight_has_the_wrong_sign() -> None:
    king = chess.Piece.from_symbol("K")
    terms = {"KingCenterEnd": 29.0, "KingPawnShield": 12.0, "RookOpen": 2.0}
    found = PieceDifference(king, chess.H1, chess.G1, terms, {"KingCenterEnd"})
    assert found.worth == "is worth 0.43 more: less lost by gaps before the king +0.12"
    nameless = PieceDifference(king, chess.H1, chess.G1, {"KingCenterEnd": 29.0}, {"KingCenterEnd"})
    assert named_first([nameless, found], 2) == [found]


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


GUARDED = "rnbqkb1r/pppp1ppp/5n2/4p3/4P3/3P4/PPP2PPP/RNBQKBNR w KQkq - 0 3"


def mistake(fen: str, played: str, better: str, reply: str, costs: Costs | None = None) -> str:
    """The text of the mistake."""
    board = chess.Board(fen)
    move = board.parse_san(played)
    board.push(move)
    return mistake_of(move, line(fen, better), line(board.fen(), reply), costs).text


LEFT = "r3k2r/{}ppp/4p3/1N6/8/8/PPP2PPP/R3K2R b KQkq - 0 10"
RECAPTURE = "2r1k2r/1b2b1pp/p3pp2/qp6/3PN3/nP1Q1Nn1/P1B2PPP/2R1R1K1 w k - 0 20"
EXCHANGED = "Nxc2 Rxc2 Rxc2 Qxc2 O-O"
FIFTY = "8/8/8/8/1p2k3/1P6/P7/K6R w - - {} 120"
CHASED, CHECKS = "7k/8/8/5Q2/8/8/1q6/5K2 w - - 0 1", "Qf8+ Kh7 Qf7+ Kh8 Qf8+"  # White can check without end
ROOK, SHUFFLED = "6k1/8/8/8/8/8/r7/6KR w - - 0 1", "Rh3 Rb2 Rh1 Ra2"
PAWN = "4k3/8/8/3p4/8/8/8/3RK3 {} - - 0 1"
MINOR = "4k3/1p6/2n5/8/8/5B2/1P6/4K3 w - - 0 1"
PAWNS = "4k3/1p6/2n4p/6p1/7P/5B2/1P6/4K3 w - - 0 1"  # pawns are exchanged, and the better line is about to do so
# A position, the move played, the better line and the reply, and how the mistake is described.
MISTAKES = (
    (GUARDED, "Qg4", "Nf3", "Nxg4 Nf3", "hanging piece: the queen on g4 stands where it can be taken (3...Nxg4"),
    (LEFT.format("ppp2"), "a6", "O-O", "Nxc7+ Kd7 Nxa8", "fork allowed: Nxc7+ attacks the king on e8 and the rook"),
    (LEFT.format("pp3"), "a6", "O-O", "Nc7+ Kd7 Nxa8 Rxa8", "fork allowed: Nc7+ attacks the king on e8 and the rook"),
    ("8/8/8/1k6/8/P7/8/K6n w - - 0 1", "Kb2", "a4+", "Ng3", "no single reason: the lines end during an exchange"),
    ("8/8/8/8/7k/8/6p1/K2R4 w - - 0 1", "Rd7", "Rg1", "g1=Q+ Ka2 Kg4", "passed pawn let through: a pawn promotes ("),
    (RECAPTURE, "fxg3", f"hxg3 {EXCHANGED}", f"{EXCHANGED} h3", "no single reason: no piece and no term "),
    (RECAPTURE, "h3", f"hxg3 {EXCHANGED}", "Nxe4 Qxe4 Nxc2 Rxc2", "free piece left: the knight on g3"),
    ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "Qf7", "Qf8#", "", "draw allowed: the move stalemates (1. Qf8#)"),
    ("8/8/8/8/8/2k5/1p6/1KN5 b - - 0 1", "bxc1=N+", "Kd2", "", "draw allowed: the move leaves too little material to"),
    (FIFTY.format(99), "Rh5", "a3 bxa3", "", "draw allowed: the move draws by the fifty-move rule (120. a3 bxa3)"),
    (FIFTY.format(99), "Rh5", "a3 bxa3", "Kd4", "draw allowed: the move draws by the fifty-move rule (120. a3 bxa3)"),
    (FIFTY.format(97), "Rh5", "a3 bxa3", "Kd4 Kb2", "draw allowed: the reply draws by the fifty-move"),
    (FIFTY.format(97), "Rh4+", "Rh5 Kd4 Kb2", "Kf3 Rxb4 Ke3", "draw missed: the better move draws by the fifty-move"),
    (FIFTY.format(0), "Rh5", "Kb2 Kd4", "", "no single reason"),  # no reply was found
    (CHASED, "Qg4", CHECKS, "Qb1+ Kf2 Qb2+", f"draw missed: the better move draws by perpetual check (1. {CHECKS[:5]}"),
    ("7k/8/8/5Q2/8/8/q7/5K2 b - - 0 1", "Qb2", "Qg8 Kf2", CHECKS, "draw allowed: the reply draws by perpetual check"),
    (CHASED, "Qg4", "Ke1 Kg7 Kf1 Kh8 Ke1", "Qb1+ Kf2 Qb2+", "draw missed: the better move draws by repe"),
    (ROOK, "Rh7", SHUFFLED, "Kxh7 Kf1", "hanging piece: the rook on h7 stands where it can be"),
    (ROOK, "Rh6", SHUFFLED, "Kg7 Rh3", "draw missed: the better move draws by repetition"),
    (PAWN.format("b"), "Kf8", "d4 Ke2", "Rxd5 Ke7", "hanging pawn: the pawn on d5 can be taken (2. Rxd5 Ke7)"),
    (PAWN.format("w"), "Ke2", "Rxd5 Ke7", "Ke7 Ke3", "free pawn left: the pawn on d5 could be taken (1. Rxd5 Ke7)"),
    (MINOR, "Bxc6+", "Be2 Ke7", "bxc6 Kd2", "bad exchange: the move gives a bishop for a knight (1...bxc6 2. Kd2)"),
    (PAWNS, "Bxc6+", "Be4 Ke7 hxg5", "bxc6 hxg5 hxg5 Kd2", "no single reason"),
)


@pytest.mark.parametrize(("fen", "played", "better", "reply", "text"), MISTAKES)
def test_a_mistake_has_the_kind_of_its_lines(fen: str, played: str, better: str, reply: str, text: str) -> None:
    costs = Costs((), [] if text.startswith("no single reason") else [Cost(50.0, True, "0.50 by something")])
    found = mistake(fen, played, better, reply, None if "during" in text else costs)
    assert found.startswith(text)


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


def end(fen: str, values: dict[str, tuple[float, float]], squares: dict[str, str] | None = None) -> LineEnd:
    """The end of a line with these terms of White and of Black; `squares` are of pieces that have moved, by the first.

    Each piece has the terms that are named as it is.
    """
    board = chess.Board(fen)
    began = {now: first for first, now in (squares or {}).items()}
    pieces = {}
    for square, piece in board.piece_map().items():
        name, place = chess.piece_name(piece.piece_type).capitalize(), chess.square_name(square)
        sign, side = (1, 0) if piece.color else (-1, 1)
        own = {term: sign * pair[side] for term, pair in values.items() if term.startswith(name)}
        pieces[chess.parse_square(began.get(place, place))] = (square, own)
    sides = {name: {chess.WHITE: white, chess.BLACK: black} for name, (white, black) in values.items()}
    return LineEnd(Position(), board, {}, {}, {}, pieces, sides, ())


def test_terms_of_pieces_that_only_one_line_exchanges_are_no_reasons() -> None:
    knights, none = "4k3/8/2n5/8/3N4/8/1P6/4K3 w - - 0 1", "4k3/8/8/8/8/8/1P6/4K3 w - - 0 1"
    before, lost = {"KnightCenter": (90.0, 0.0), "KingCenterEnd": (30.0, 0.0)}, {"KnightCenter": (0.0, 0.0)}
    played = end(none, lost | {"KingCenterEnd": (0.0, 0.0)})
    costs = ThreeEnds(end(knights, before), played, end(knights, before), chess.WHITE).costs()
    king = "0.30 with less from White's central king"
    assert [cost.words for cost in costs.terms] == [king]
    played = end(knights, lost | {"KingCenterEnd": (0.0, 0.0)})
    costs = ThreeEnds(end(knights, before), played, end(knights, before), chess.WHITE).costs()
    assert [cost.words for cost in costs.terms] == ["0.90 with less from White's central knights", king]


QUIET = ("4k3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1", "a3", "Kf2", "Kf7 Kf2")


def test_small_terms_are_no_reason_for_a_mistake() -> None:
    small, less = Cost(19.0, True, "0.19 by one thing"), Cost(12.0, True, "0.12 by another")
    assert mistake(*QUIET, Costs((), (small, less))) == (
        "no single reason: no piece and no term makes much of it where the lines end, the largest 0.19 by one thing "
        "(1...Kf7 2. Kf2)"
    )
    large = Cost(21.0, True, "0.21 by one thing")
    assert mistake(*QUIET, Costs((), (large, less, Cost(9.0, True, "0.09 by a third")))).startswith(
        "position given away: the move costs 0.21 by one thing and 0.12 by another ("
    )


def test_what_stood_so_before_the_move_is_missed_and_not_given_away() -> None:
    fen, after = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "4k3/8/8/8/8/8/8/3RK3 w - - 0 1"
    poor, good = {"RookMobility": (5.0, 0.0)}, {"RookMobility": (45.0, 0.0)}
    missed = ThreeEnds(end(fen, poor), end(fen, poor), end(after, good, {"a1": "d1"}), chess.WHITE).costs()
    words = "White's rook would go from a1 to d1 and be worth 0.40 more by rook mobility"
    assert missed.pieces == [Cost(40.0, False, words)]
    assert mistake(*QUIET, missed) == f"improvement missed: {words} (1. Kf2)"
    given = ThreeEnds(end(fen, good), end(fen, poor), end(after, good, {"a1": "d1"}), chess.WHITE).costs()
    assert given.pieces == [Cost(40.0, True, "White's rook on a1 is worth 0.40 less by rook mobility")]
    # What was there is partly lost, and the better line would have brought a little more.
    both = ThreeEnds(end(fen, good), end(fen, poor), end(after, {"RookMobility": (60.0, 0.0)}, {"a1": "d1"}), True)
    assert [(cost.cp, cost.is_given) for cost in both.costs().pieces] == [(40.0, True), (15.0, False)]


def test_what_the_other_side_gains_or_would_lose_names_its_piece() -> None:
    fen = "4k2r/8/8/8/8/8/8/4K3 b k - 0 1"
    poor, good = {"RookMobility": (0.0, 5.0)}, {"RookMobility": (0.0, 45.0)}
    given = ThreeEnds(end(fen, poor), end(fen, good), end(fen, poor), chess.WHITE).costs()
    assert [cost.words for cost in given.pieces] == ["Black's rook on h8 is worth 0.40 more by rook mobility"]
    missed = ThreeEnds(end(fen, good), end(fen, good), end(fen, poor), chess.WHITE).costs()
    assert [cost.words for cost in missed.pieces] == ["Black's rook on h8 would be worth 0.40 less by rook mobility"]
    assert [cost.words for cost in missed.terms] == ["0.40 with less from Black's rook mobility"]
    tempo = [end(fen, {"Tempo": (0.0, cp)}) for cp in (0.0, 35.0, 0.0)]
    assert ThreeEnds(*tempo, chess.WHITE).costs().terms == [], "who is to move at the end of a line is chance"
    lighter = [end("4k3/3p4/8/8/8/8/8/4K3 b - - 0 1", {"PawnIsolated": (0.0, cp)}) for cp in (-40.0, -15.0, -40.0)]
    assert [cost.words for cost in ThreeEnds(*lighter, chess.WHITE).costs().pieces] == [
        "Black's pawn on d7 is worth 0.25 more, with less lost by isolated pawns"
    ]


MORE_OR_LESS = [
    ("PawnPassedFreeMax", 0.0, 31.0, "with less from Black's free passed pawns", "by Black's free passed pawns"),
    ("PawnIsolated", -31.0, 0.0, "by Black's isolated pawns", "with less lost by Black's isolated pawns"),
]


@pytest.mark.parametrize(("term", "few", "many", "brings", "costs"), MORE_OR_LESS)
def test_a_term_is_named_as_more_or_less(term: str, few: float, many: float, brings: str, costs: str) -> None:
    fen = "4k3/3p4/8/8/8/8/8/4K3 w - - 0 1"
    poor, rich = (end(fen, {term: (0.0, cp)}) for cp in (few, many))  # for Black
    missed = ThreeEnds(rich, rich, poor, chess.WHITE).costs()
    assert [(cost.is_given, cost.words) for cost in missed.terms] == [(False, f"0.31 {brings}")]
    given = ThreeEnds(poor, rich, poor, chess.WHITE).costs()
    assert [(cost.is_given, cost.words) for cost in given.terms] == [(True, f"0.31 {costs}")]


def test_no_mistake_is_explained_by_a_term_whose_weight_has_the_wrong_sign() -> None:
    fen = "4k3/8/8/8/8/8/8/4K3 b - - 0 1"
    ends = [end(fen, {"KingCenterEnd": (cp, 0.0)}) for cp in (0.0, 34.0, 0.0)]
    assert len(ThreeEnds(*ends, chess.BLACK).costs().terms) == 1
    unusual = [replace(each, unusual={"KingCenterEnd"}) for each in ends]
    assert ThreeEnds(*unusual, chess.BLACK).costs().terms == []


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
