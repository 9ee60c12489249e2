"""Verdicts: the search comes first, then what is proved; in the library, in a shell and at the console."""

from collections.abc import Sequence

import chess
import pytest

from merino.core.board.game import Position
from merino.engine.notation.san import read_move
from merino.engine.search.limits import Limits, Line, Score
from merino.study import claims, verdicts
from merino.study.judge import Judge, judge_of
from tests.judges import judge_from
from tests.talk import Talk

LIMITS, TIME = Limits(nodes=20_000), Limits(movetime=9)
MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
STALEMATE = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"
LAST_PAWN = "8/8/8/8/3kP3/8/8/2K5 b - - 0 1"
MATE_IN_TWO = "4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 0 16"
MATE_OR_CHECK = "r2Q1b1r/1k4p1/1p5p/1Pp1p3/p3n1pP/1PP1P3/1B3P1K/3R1R2 w - - 2 27"
BISHOP_EN_PRISE = "rnbqkbnr/1ppppppp/8/p7/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
TRAP = "rnbqkb1r/ppp2ppp/5n2/3P4/4p3/2N2N2/PPPP1PPP/R1BQKB1R w KQkq - 0 5"
ROOK_FALLS = "r3k3/p1p2p2/2p1r3/P1b1p2p/2B3pP/1P2P3/2QB1PP1/2R1K1NR b Kq - 0 22"
SACRIFICE = "2rq1k2/5pn1/6p1/1p2n2r/2p3pP/P1Q5/R1PN1PK1/1R3N2 w - - 1 31"


@pytest.fixture(scope="module")
def gen13() -> Judge:
    return judge_of(None, 1, 1, is_forgetful=True)


POSITIONS = [
    (MATE_IN_TWO, "White mates in 2 by 16.Qb8+ (16. Qb8+ Nxb8 17. Rd8#)."),
    ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "White mates in 1 by 1.Ra8#."),
    ("8/8/8/p7/P7/1P6/q4k2/7K w - - 0 1", "Black mates in 2; 1.Kh2 holds out longest."),
    (LAST_PAWN, "Neither side is better; best is 1...Kxe4 (gen13, depth "),
    ("4k3/8/8/3q4/8/2N5/8/3RK3 w - - 0 1", "White is better by "),
]


@pytest.mark.parametrize(("fen", "said"), POSITIONS)
def test_a_position_is_judged_by_the_search(fen: str, said: str, gen13: Judge) -> None:
    assert verdicts.of_position(Position(fen), claims.Prover(gen13, LIMITS)).text.startswith(said)


@pytest.mark.parametrize(
    ("score", "move", "said"),
    [
        (205, "e1d1", "White is better by 2.00 and may expect 64% of the points; best is 1.Kd1 "),  # it is an ending
        (300, "e1d1", "White is better by 1.20 and may expect 53% of the points; best is 1.Kd1 "),  # again
        (-300, "e1d1", "White is better by 1.20 and may expect 53% of the points; best is 1.Kd1 "),
        (200, "e1e2", "White is better by 2.00 and may expect 64% of the points; best is 1.Ke2 "),
    ],
)
def test_a_verdict_on_a_position_stands_only_if_a_deeper_search_agrees(score: int, move: str, said: str) -> None:
    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        name, found = ("e1d1", 200) if limits.nodes == 10 or limits.movetime else (move, score)
        found = 120 if limits.nodes == 240 else found  # the third search
        return [Line(1, 1, 1, Score(found), "", 1, 1, 0, 1, (position.parse_uci(name),))]

    judge = judge_from(seek)
    ending = Position("4k3/pp5p/8/8/8/8/PP5P/4KN2 w - - 0 1")
    assert verdicts.of_position(ending, claims.Prover(judge, Limits(nodes=10))).text.startswith(said)
    timed = verdicts.of_position(ending, claims.Prover(judge, Limits(movetime=10))).text
    assert "2.00 and may expect 64% of the points; best is 1.Kd1" in timed


MOVES = [
    (BISHOP_EN_PRISE, "Ba6", "Ba6 loses the bishop: 2..."),
    (MIDDLEGAME, "Bxh6", "Bxh6 loses the bishop for a pawn: 13...gxh6. Better is "),
    (MATE_OR_CHECK, "Rd7#", "Rd7 is mate."),
    (MATE_OR_CHECK, "Qb8+", "Qb8+ is a blunder: 27.Rd7# is mate. Better is Rd7 (+M1 against "),
    (STALEMATE, "Qf2", "Qf2 is as good as the best, Qf8: +M3 and +M1."),
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "h3", ""),
    ("6k1/8/8/8/8/8/1r6/K7 w - - 0 1", "Kxb2", "Kxb2 is the only move: 0.00."),
    (ROOK_FALLS, "O-O-O", "O-O-O is not the best: 23.Bxe6+ "),  # where everything loses
]


@pytest.mark.parametrize(("fen", "move", "said"), MOVES)
def test_a_move_is_judged_by_the_search_and_one_that_loses_a_piece_begins_with_it(
    fen: str, move: str, said: str, gen13: Judge
) -> None:
    found = verdicts.of_move(Position(fen), read_move(fen, move), gen13, LIMITS)
    assert found.text.startswith(said) and list(found.lines) == [read_move(fen, move)]
    assert all(claim.proof is not None and claim.line for claim in found.claims)


def test_a_lost_piece_is_not_told_as_position(gen13: Judge) -> None:
    found = verdicts.of_move(Position(SACRIFICE), read_move(SACRIFICE, "Rxb5"), gen13, LIMITS)
    assert {claim.kind for claim in found.claims} <= {*claims.TACTICS}
    assert found.claims or found.text.endswith("; no reason in words could be proved.")


def test_two_moves_are_compared_by_deeper_searches_unless_the_limit_is_a_time() -> None:
    position = Position("8/8/8/8/8/2k5/P7/1K6 w - - 0 1")
    first, second = position.parse_uci("a2a3"), position.parse_uci("b1c1")

    def seek(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        move = (*limits.search_moves, *position.legal_moves)[0]
        gained = 140 if limits.nodes == 80 else -10  # by the deeper search
        return [Line(1, 1, 1, Score(gained if move == first else 0), "", 1, 1, 0, 1, (move,))]

    found = [verdicts.of_two(position, first, second, judge_from(seek), limits) for limits in (Limits(nodes=10), TIME)]
    assert found[0].text.startswith("a3 is better than Kc1: +1.40 against 0.00")
    assert found[1].text == "Kc1 and a3 are about equally good: 0.00 and -0.10."


PAIRS = [
    (MATE_OR_CHECK, "Qb8+ Rd7#", "Rd7 is mate."),
    (MIDDLEGAME, "Bxh6 Be3", "Be3 is better than Bxh6: -"),
    (STALEMATE, "Qf7 Qf8", "Qf8 is mate."),
    ("7k/8/8/8/8/8/PP6/K7 w - - 99 90", "Kb1 a4", "a4 is better than Kb1: +"),
    ("k7/8/2K5/8/8/8/1Q6/8 w - - 0 1", "Qb3 Qh2", "Qb3 is better than Qh2: +M2 against +M3. 1.Qb3 mates in 2 (1. Qb3 "),
    ("8/8/8/p7/P7/1P6/q4k2/7K w - - 0 1", "b4 Kh2", "The search finds b4 and Kh2 equally good (-M2)."),
]


@pytest.mark.parametrize(("fen", "moves", "said"), PAIRS)
def test_of_two_moves_the_better_is_named_and_then_why(fen: str, moves: str, said: str, gen13: Judge) -> None:
    first, second = (read_move(fen, move) for move in moves.split())
    orders = [verdicts.of_two(Position(fen), *pair, gen13, LIMITS) for pair in ((first, second), (second, first))]
    assert orders[0].text.startswith(said) and set(orders[0].lines) == {first, second}
    assert said.startswith("The search finds") or orders[0].text == orders[1].text


def test_a_move_that_draws_is_the_reason_against_it(gen13: Judge) -> None:
    fen = "7k/8/8/8/8/8/PP6/K7 w - - 99 90"
    found = verdicts.of_two(Position(fen), read_move(fen, "Kb1"), read_move(fen, "a4"), gen13, LIMITS)
    assert found.sentences[1] == "90.Kb1 draws by the fifty-move rule (90. Kb1)."
    assert [(claim.kind, claim.line) for claim in found.claims] == [("fifty moves", ("a1b1",))]


THREATS = [
    ("6k1/5ppp/8/8/8/8/5PPP/4R1K1 b - - 0 1", "White threatens mate in 1: 2. Re8#."),
    ("4k3/8/8/3n4/8/2P5/8/3RK3 b - - 0 1", "White threatens Rxd5: it takes the knight on d5 for nothing (2. Rxd5)."),
    ("4k3/8/8/3n4/8/2P5/8/3RK3 b - - 0 100000", "White threatens Rxd5: it takes the knight on d5 for nothing (100000"),
    ("4k3/8/8/3n4/8/2P5/8/3RK3 b - - 100000 1", "White threatens Rxd5: it takes the knight on d5 for nothing (2. R"),
    (chess.STARTING_FEN, None),
    (TRAP, "Black threatens exf3: it wins the knight on f3 for a pawn (5...exf3 6. Qxf3)."),
    ("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1", None),  # in check
]


@pytest.mark.parametrize(("fen", "said"), THREATS)
def test_a_threat_is_what_the_other_side_would_win(fen: str, said: str | None, gen13: Judge) -> None:
    for nodes in (10_000, 20_000):
        found = claims.Prover(gen13, Limits(nodes=nodes)).threat(Position(fen))
        assert found is None if said is None else claims.threat_text(*found[:2]).startswith(said)


OUTCOMES = [
    (STALEMATE, "f1f7", "1.Qf7 stalemates."),
    (LAST_PAWN, "d4e4", "1...Kxe4 leaves too little material to win."),
    ("6k1/5ppp/8/8/8/8/8/4R1K1 w - - 0 1", "e1e8", "1.Re8 is mate."),
    ("8/P3k3/8/8/8/8/4K3/8 w - - 0 1", "a7a8q", "By 1.a8=Q White promotes."),
    (MIDDLEGAME, "e1e6 f7e6 d3e4", "By 13...fxe6 Black wins a rook for a pawn."),
    (MIDDLEGAME, "h2h3", None),
    (MIDDLEGAME, "h2h3 g4f3", None),  # the bishop is about to be taken back
    (MIDDLEGAME, "d4d5 c6e5 d5e6", None),  # during an exchange
]


@pytest.mark.parametrize(("fen", "moves", "said"), OUTCOMES)
def test_the_outcome_of_a_line_is_its_end_or_what_is_won_and_kept(fen: str, moves: str, said: str | None) -> None:
    assert verdicts.outcome(Position(fen), moves.split()) == (() if said is None else (said,))


def test_the_shell_begins_with_the_verdict_and_gives_claims(shell) -> None:
    before, after = shell("explain", MATE_IN_TWO, "--nodes", "5000").split("Before any move, by the terms:")
    assert "White mates in 2 by 16.Qb8+" in before and "is ahead" not in before and "Black is ahead by 0.51" in after
    found = shell("explain", MATE_IN_TWO, "--nodes", "5000", "--json")
    assert found["verdict"].startswith("White mates in 2") and found["claims"][0]["kind"] == "mate"
    said = shell("compare", MATE_OR_CHECK, "Qb8+", "Rd7#", "--nodes", "5000")
    assert said.startswith("Rd7 is mate.\n") and "costs White" not in said
    found = shell("compare", MATE_OR_CHECK, "Qb8+", "Rd7#", "--nodes", "5000", "--json")
    assert (found["why"], found["claims"][0]["line"]) == (["Rd7 is mate."], ["d1d7"])
    said = shell("explain", BISHOP_EN_PRISE, "Ba6", "--nodes", "100000")
    assert said.startswith("Ba6 loses the bishop: 2...") and "Ba6 gains" not in said
    found = shell("explain", MATE_IN_TWO, "--judge", "terms", "--nodes", "5000", "--json")
    assert found["claims"][0]["proof"]["judge"] == "terms" and found["threat"] is None
    kingless = shell("explain", "8/8/8/3q4/8/8/8/4K3 w - - 0 1", "--json")
    assert (kingless["verdict"], kingless["threat"], kingless["claims"]) == (None, None, []), "a king is missing"


def test_the_console_begins_with_the_verdict() -> None:
    talk = Talk()
    talk.say(f"setboard {MATE_IN_TWO}", "sn 5000")
    for typed in ("eval", "explain", "explain Qb8+"):
        assert talk.say(typed).split("\n")[0].startswith(("White mates in 2 by 16.Qb8+", "Qb8+ is best: +M2."))
    assert "mates" not in talk.say("eval static")


def test_a_move_is_not_compared_with_itself(shell) -> None:
    said = shell("compare", chess.STARTING_FEN, "Nf3", "g1f3", "--static", status=2)
    assert said.splitlines()[0].endswith("expected two moves that differ, not 'Nf3 g1f3'")
