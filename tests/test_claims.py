"""Claims: what passes its rule on the board and the second search is said, and nothing else.

The judge is scripted here: it knows the score, and the line if one matters, of the positions that a claim ends in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import chess
import pytest

from merino.core.board.game import Position
from merino.engine.search.limits import KNOWN_WIN, MATE_SCORE, Limits, Line, Score
from merino.eval import families, outlook
from merino.study import claims, lines, tactics, winning
from merino.study.judge import Judge
from merino.study.lines import Course, after_move

LIMITS = Limits(nodes=1000)


@pytest.fixture(autouse=True)
def no_only_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no move be the only good one: a scripted judge finds some moves worse than any one."""
    monkeypatch.setattr(claims, "LEAST_APART", 2.0)


def line_of(position: Position, moves: str, score: int) -> Line:
    """A line of moves in short notation, with its score for the side to move."""
    board, pv, at = position.to_chess(stack=False), list[int](), position.copy()
    for text in moves.split():
        pv.append(at.push_uci(as_uci(board.push_san(text), at)))
    return Line(10, 10, 1, Score(score), "", 1000, 1000, 0, 1, tuple(pv))


def as_uci(move: chess.Move, position: Position) -> str:
    """A move as the position reads it."""
    return next(position.uci(each) for each in position.legal_moves if each.to_chess(position.chess960) == move)


def judge(found: Mapping[str, tuple[str, int]] | None = None, otherwise: int = 0) -> Judge:
    """A judge that finds these lines and scores by placement and turn, else nothing and one score for White.

    Some of the moves alone are worth a pawn less.
    """

    def analyse(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        key = " ".join(position.fen().split()[:2])
        sign = 1 if key.endswith("w") else -1
        moves, score = (found or {}).get(key, ("", sign * otherwise))
        line = line_of(position, moves, score - 100 * (len(limits.search_moves) > 1))
        if limits.search_moves and line.pv[0:1] != tuple(limits.search_moves[:1]):
            line = line._replace(pv=tuple(limits.search_moves[:1]))
        return [line]

    share = partial(outlook.expected_score, k=200.0)
    return Judge("script", analyse, share, families.default(), "", "", ())


def along(fen: str, moves: str, score: int = 300) -> dict[str, tuple[str, int]]:
    """What a judge that holds to this line finds before each of its later moves."""
    board, texts, found = chess.Board(fen), moves.split(), dict[str, tuple[str, int]]()
    for index, text in enumerate(texts):
        if index:
            key = " ".join(board.fen().split()[:2])
            found[key] = " ".join(texts[index:]), score if index % 2 == 0 else -score
        board.push_san(text)
    return found


def course(fen: str, moves: str, score: int = 300) -> Course:
    """A line of moves in short notation."""
    position = Position(fen)
    return Course(position, line_of(position, moves, score).pv, Score(score))


def claimed(fen: str, moves: str, score: int = 300, found: Mapping[str, tuple[str, int]] | None = None):
    """What is claimed of a line: the kind, the pieces named, the pawns and the ply; None for nothing."""
    white = score if Position(fen).side == 0 else -score
    prover = claims.Prover(judge(along(fen, moves, score) | (found or {}), otherwise=white), LIMITS)
    claim = prover.of_line(course(fen, moves, score))
    if claim is None:
        return None
    named = " ".join(piece.piece + piece.square for piece in claim.pieces)
    return claim.kind, named, None if claim.wins is None else (claim.wins.pawns, claim.wins.ply)


@pytest.mark.parametrize(
    ("fen", "moves", "found"),
    [
        ("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", "Rxd5 Ke7", ("takes", "nd5", (3, 1))),
        ("4k3/8/3p4/4r3/8/5N2/8/4K3 w - - 0 1", "Nxe5 dxe5 Ke2", ("takes", "re5", (2, 2))),
        ("4k3/2p5/3p4/4n3/8/5N2/8/4K3 w - - 0 1", "Nxe5 dxe5 Ke2", None),  # a knight for a knight
        ("r3k3/8/8/3n4/8/8/7P/3RK3 w - - 0 1", "Rxd5 Ra2 Rd4 Rxh2", ("wins material", "nd5", (2, 4))),  # h2 is lost
        ("r3k3/8/8/1N6/8/8/7P/4K3 w - - 0 1", "Nc7+ Kd7 Nxa8 Kc6", ("fork", "Nb5 ke8 ra8", (5, 3))),
        ("q7/8/k7/8/8/8/7P/3RK3 w - - 0 1", "Ra1+ Kb6 Rxa8", ("skewer", "Rd1 ka6 qa8", (9, 3))),
        ("4k3/3n4/8/8/8/3B4/3R4/4K3 w - - 0 1", "Bb5 Kf7 Bxd7", ("pin", "Bd3 nd7 ke8", (3, 3))),
        ("4q1k1/8/8/8/4N3/8/8/4R1K1 w - - 0 1", "Nc5 Qf8 Kg2", None),  # nothing falls
        ("4q1k1/5ppp/8/8/4N3/8/8/4R1K1 w - - 0 1", "Nf6+ gxf6 Rxe8+ Kg7", ("discovered attack", "Ne4 Re1 qe8", (6, 3))),
        ("r5k1/3q1ppp/8/8/P2Q4/4P3/5PPP/6K1 b - - 0 1", "Qxd4 exd4 Rxa4 Kf1", ("wins material", "Pa4", (1, 3))),
        ("r3k3/1pp5/p2p4/8/2p5/1B6/PPP5/4K3 w - - 0 1", "Bxc4 b5 Bd5", ("takes", "pc4", (1, 1))),
        ("4k3/1pp5/p2p4/8/B7/1P6/2P5/4K3 b - - 0 1", "b5 Kd2 bxa4 bxa4", ("trapped", "Ba4", (2, 4))),
        ("7k/8/8/8/P7/8/8/K7 w - - 0 1", "a5 Kg7 a6 Kf7 a7 Ke7 a8=Q Kf6", ("promotion", "Pa4", (8, 7))),
        ("8/p3k2p/2Rr4/3p1PP1/2pK4/8/P7/8 w - - 0 1", "f6+ Kd7 f7 Rxc6 f8=Q c3", ("promotion", "Pf5", (3, 5))),
        ("4k3/8/8/q2p4/8/8/3R4/R3K3 w - - 0 1", "Rxa5 Ke7 Raxd5 Ke6", ("takes", "qa5", (9, 1))),  # the pawn is little
        ("r3k3/8/8/8/2p5/8/8/4KB1R w - - 0 1", "Bxc4 Rd8", None),  # a count of material finds Ra1+
        ("5r1n/1k6/8/7P/8/2B5/8/5RK1 w - - 0 1", "Rxf8 Kc7 Bxh8 Kd7", ("wins material", "rf8", (8, 3))),  # no trap
        ("6k1/8/8/8/8/8/1r6/R5K1 w - - 0 1", "Ra8+ Kf7 Ra7+ Kg6 Ra6+ Kf5 Ra5+ Ke4 Ra4+ Kf3 Rf4+ Kxf4", None),
    ],
)  # fmt: skip
def test_the_first_rule_that_holds_names_how_material_is_won(fen, moves, found):
    assert claimed(fen, moves) == found


@pytest.mark.parametrize(
    ("fen", "moves", "gains"),
    [
        ("4k3/2p5/3p4/4n3/8/5N2/8/4K3 w - - 0 1", "Nxe5", []),  # it can be taken back
        ("r3k3/8/8/3p4/8/8/7P/3RK3 w - - 0 1", "Rxd5 Ra2 Rd4 Rxh2", []),  # a pawn for a pawn
        ("r3k3/8/8/3n4/8/8/7P/3RK3 w - - 0 1", "Rxd5 Ra2 Rd4 Rxh2", [(2, 4)]),
        ("r3k3/8/8/3n4/8/8/7P/3RK3 w - - 0 1", "Rxd5 Ra2 Rd4 Rb2 Ra4 Rc2 Rb4 Rxh2", [(3, 1)]),  # nearly all is kept
        ("4k2r/8/8/q7/4b3/8/6PP/R3K3 w - - 0 1", "Rxa5 Kd7 Rb5 Kc7 Ra5 Kd7 Rb5 Rg8", [(9, 1)]),  # a pawn matters little
        ("4k3/8/1p6/q7/8/8/8/R3K3 w - - 0 1", "Rxa5 bxa5", [(4, 2)]),
        ("7k/8/8/8/P7/8/8/K7 w - - 0 1", "a5 Kg7 a6 Kf7 a7 Ke7 a8=Q Kf6", [(8, 7)]),
        ("7k/8/8/8/8/P7/8/K7 w - - 0 1", "a4 Kg7 a5 Kf7 a6 Ke7 a7 Kd7 a8=Q Kc7", []),  # by the ninth ply
    ],
)
def test_what_a_line_gains_is_settled_and_kept(fen, moves, gains):
    assert [(gain.pawns, gain.ply) for gain in course(fen, moves).gains] == gains


@pytest.mark.parametrize(
    ("taken", "before", "after", "is_claimed"),
    [
        ("n", 150, 100, True),
        ("n", 151, 100, False),
        ("n", -150, -150, True),  # a piece may not be enough
        ("n", 150, 250, True),
        ("n", 150, 251, False),  # the line is not that of the best defence
        ("n", 600, 900, True),
        ("n", 1200, 600, True),  # a winner may win more slowly
        ("n", 1200, 599, False),
        ("p", 110, 60, True),
        ("p", 111, 60, False),
        ("p", 60, 110, True),
        ("p", 60, 111, False),
        ("p", 10, 0, True),
        ("p", 10, -1, False),
    ],
)
def test_a_search_that_does_not_agree_leaves_nothing_to_say(taken, before, after, is_claimed):
    prover = claims.Prover(judge(otherwise=after), LIMITS)
    claim = prover.of_line(course(f"4k3/8/8/3{taken}4/8/8/8/3RK3 w - - 0 1", "Rxd5 Ke7", before))
    assert (claim is not None) == is_claimed


def test_a_first_move_worse_in_a_longer_search_or_than_another_proves_nothing():
    def analyse(position: Position, limits: Limits, count: int = 1, *, longer: int, others: int) -> Sequence[Line]:
        (line,) = script.analyse(position, limits, count)
        by = others if limits.search_moves else longer if limits.nodes > LIMITS.nodes else 0
        return [line._replace(score=Score(line.score + by))]

    cases = (("p", 0, 0, 1), ("p", 100, 0, 0), ("p", 0, 150, 0), ("n", 100, 0, 1), ("n", 0, 150, 0))
    for taken, longer, others, is_claimed in cases:
        fen, moves = f"4k3/8/8/3{taken}4/8/8/8/3RK3 w - - 0 1", "Rxd5 Ke7"
        script = judge(along(fen, moves), otherwise=300)
        searched = replace(script, analyse=partial(analyse, longer=longer, others=others))
        assert (claims.Prover(searched, LIMITS).of_line(course(fen, moves)) is not None) == is_claimed


def test_a_single_pawn_is_won_by_a_line_only_where_a_side_is_clearly_better():
    fen, moves = "r5k1/3q1ppp/8/8/P2Q4/4P3/5PPP/6K1 b - - 0 1", "Qxd4 exd4 Rxa4 Kf1"
    assert [bool(claimed(fen, moves, score)) for score in (169, 170)] == [False, True]


def test_what_the_second_search_takes_back_is_not_claimed():
    fen, end = "r3k3/8/8/8/2p4R/8/6P1/4KB2 w - - 0 1", "r3k3/8/8/8/2B4R/8/6P1/4K3 b"
    assert claimed(fen, "Bxc4 Rd8", found={end: ("Rd8 Be2", -300)}) == ("takes", "pc4", (1, 1))
    assert claimed(fen, "Bxc4 Rd8", found={end: ("Ra1+ Kd2 Rg1 Kc2 Rxg2+ Kb1", -300)}) is None
    fen, end = "r3k3/8/8/3n4/8/8/7P/3RK3 w - - 0 1", "r3k3/8/8/3R4/8/8/7P/4K3 b"
    assert claimed(fen, "Rxd5 Ke7") == ("takes", "nd5", (3, 1))
    # Of what is given back, the rest is claimed.
    assert claimed(fen, "Rxd5 Ke7", found={end: ("Ra2 Rd4 Rxh2", -300)}) == ("wins material", "nd5", (2, 4))


def test_material_is_claimed_only_if_no_defence_saves_it():
    fen, moves = "r3k3/8/8/1N6/8/8/7P/4K3 w - - 0 1", "Nc7+ Kd7 Nxa8 Kc6"
    check = "r3k3/2N5/8/8/8/8/7P/4K3 b"
    assert claimed(fen, moves) == ("fork", "Nb5 ke8 ra8", (5, 3))
    assert claimed(fen, moves, found={check: ("Kd8 Nxa8 Kc8", -300)}) == ("fork", "Nb5 ke8 ra8", (5, 3))
    assert claimed(fen, moves, found={check: ("Kd8 Kd2 Kxc7", -300)}) is None
    fen, moves, pinned = "4k3/3n4/8/8/8/3B4/3R4/4K3 w - - 0 1", "Bb5 Kf7 Bxd7", "4k3/3n4/8/1B6/8/8/3R4/4K3 b"
    later = "Ke7 Kf2 Kd8 Kf3 Ke7 Kf4 Kd8 Kf5 Ke7 Bxd7"  # the defence only delays it
    assert claimed(fen, moves, found={pinned: (later, -300)}) == ("pin", "Bd3 nd7 ke8", (3, 3))


def test_a_defence_as_good_as_the_best_may_save_material():
    fen, moves = "r3k3/8/8/1N6/8/8/7P/4K3 w - - 0 1", "Nc7+ Kd7 Nxa8 Kc6"
    script, check = judge(along(fen, moves), otherwise=300), Position("r3k3/2N5/8/8/8/8/7P/4K3 b - - 0 1")
    for second, kind in ((-350, None), (-351, "fork"), (-300, None)):

        def analyse(position: Position, limits: Limits, count: int = 1, second: int = second) -> Sequence[Line]:
            (line,) = script.analyse(position, limits, count)
            if count == 1 or position.fen().split()[0] != check.fen().split()[0]:
                return [line]
            return [line, line_of(check, "Kd8 Kd2 Kxc7", second)]

        claim = claims.Prover(replace(script, analyse=analyse), LIMITS).of_line(course(fen, moves))
        assert (claim and claim.kind) == kind


def test_a_reply_or_a_move_is_the_only_one_where_most_of_the_loss_hangs_on_it(monkeypatch):
    fen, better, reply = "4k3/8/8/2n5/8/8/5PPP/R5K1 w - - 0 1", ("Kf1 Nb3", 0), ("Nb3 Kf1", 100)
    for least, kind in ((0.5, None), (0.05, "only move")):
        monkeypatch.setattr(claims, "LEAST_APART", least)
        found = mistake(fen, "Ra2", better, reply)
        assert (found.claims[0].kind if found.claims else None) == kind
    assert found.sentence == "Ra2 allows 1...Nb3, which is better than any other reply by 1.00"
    assert claims.Prover(judge(), LIMITS)._only(*[course(fen, "Kf1 Nb3", KNOWN_WIN)] * 3) is None
    monkeypatch.setattr(winning, "COVERED", 9.0)
    assert mistake(fen, "Ra2", better, reply).kind == claims.UNPROVED


def test_an_only_move_must_stand_in_a_longer_search_of_itself(monkeypatch):
    monkeypatch.setattr(claims, "LEAST_APART", 0.05)
    script, fen = judge(), "4k3/8/8/2n5/8/8/5PPP/R5K1 w - - 0 1"
    courses = course(fen, "Kf1 Nb3", 0), course("4k3/8/8/2n5/8/8/R4PPP/6K1 b - - 1 1", "Nb3 Kf1", 100)
    for alone, kind in ((100, "reply overlooked"), (-90, claims.UNPROVED)):

        def analyse(position: Position, limits: Limits, count: int = 1, alone: int = alone) -> Sequence[Line]:
            (line,) = script.analyse(position, limits, count)
            is_it = len(limits.search_moves) == 1 and limits.nodes > LIMITS.nodes
            return [line._replace(score=Score(alone))] if is_it else [line]

        prover = claims.Prover(replace(script, analyse=analyse), LIMITS)
        assert prover.of_mistake(Position(fen).parse_uci("a1a2"), *courses).kind == kind


EXCHANGING = "3rk3/8/4p3/3n4/8/2N5/6PP/6K1 w - - 0 1"


def test_an_exchange_may_be_the_only_move_but_not_taking_back(monkeypatch):
    monkeypatch.setattr(claims, "LEAST_APART", 0.05)
    black, does = EXCHANGING.replace(" w ", " b "), "exchanges knights and is better than any other"
    for fen, played, better, reply, said in (
        (EXCHANGING, "Kf1", ("Nxd5 exd5", 100), ("", 0), f"1.Nxd5 {does} move by 1.00"),
        (black, "Kf7", ("Kf8 Kf1", 0), ("Nxd5 exd5", 100), f"Kf7 allows 2.Nxd5, which {does} reply by 1.00"),
        (black, "Kf7", ("Kf8 Nxd5", 0), ("Nxd5 exd5", 100), "1...Kf8 is better than any other move by 1.00"),
        ("3r2k1/3r4/8/8/8/8/p2R2PP/3R2K1 w - - 0 1", "Rxd7", ("Rxa2 Kf8", 100), ("Rxd7 Rxd7", 0), None),
    ):
        found = mistake(fen, played, better, reply)
        assert (found.sentence if found.kind in (claims.REPLY_ALLOWED, claims.ONLY_MISSED) else None) == said


def test_an_only_move_does_not_lose_where_all_others_do(monkeypatch):
    monkeypatch.setattr(claims, "LEAST_APART", 0.05)
    number = "better than any other move by 1.00"
    for held, lost, by in ((0.5, 0.4, "the only move that does not lose"), (0.51, 0.4, number), (0.5, 0.3, number)):
        monkeypatch.setattr(claims, "HELD", held)
        monkeypatch.setattr(claims, "LOST", lost)
        found = mistake(EXCHANGING.replace(" w ", " b "), "Kf7", ("Kf8 Nxd5", 0), ("Nxd5 exd5", 100))
        assert found.sentence == f"1...Kf8 is {by}"


def test_an_exchange_is_of_men_of_the_same_worth_on_one_square():
    made = [course(EXCHANGING, moves) for moves in ("Nxd5 exd5", "Nxd5 Kf7", "Nxd5")]
    made.append(course("3rk3/8/8/8/8/8/3Q2PP/6K1 w - - 0 1", "Qxd8+ Kxd8"))
    assert [tactics.is_exchange(line.boards[0], line.made) for line in made] == [True, False, False, False]


def test_what_a_move_does_is_said_and_no_more():
    for fen, moves, does in (
        (EXCHANGING, "Nxd5 exd5", "exchanges knights"),
        (EXCHANGING, "Kf1", ""),
        ("r3k3/6pp/8/3N4/8/8/6PP/6K1 w q - 0 1", "Nc7+", "attacks the rook on a8"),
        (chess.STARTING_FEN, "e4", "occupies the centre"),
        (chess.STARTING_FEN, "Nf3", "develops the knight"),
        ("4k3/8/8/8/8/8/4P3/4K2R w K - 0 1", "O-O", "castles"),
    ):
        line = course(fen, moves)
        assert tactics.deeds(line.boards[0], line.made) == does


def test_a_repetition_is_a_draw_only_where_all_its_moves_give_check():
    perpetual = course("7k/8/8/8/8/8/q7/5R1K w - - 0 1", "Rf8+ Kg7 Rf7+ Kh8 Rf8+ Kg7")
    assert perpetual.draw == "repetition"
    assert course("6k1/8/8/8/8/8/8/R5K1 w - - 0 1", "Rb1 Kf7 Ra1 Kg8").draw is None


THREATENED = "4k3/8/8/3n4/8/8/5PPP/R5K1 w - - 0 1"
THREATENING = "r5k1/5ppp/8/8/3N4/7P/5PP1/6K1 w - - 0 1"
TAKES = {
    "4k3/8/8/3n4/8/8/5PPP/3R2K1 w": ("Rxd5 Ke7", 300),
    "4k3/8/8/3n4/8/8/3R1PPP/6K1 w": ("Rxd5 Ke7", 300),
    "4k3/8/8/3n4/8/8/3R1PPP/6K1 b": ("Nf6 Kf1", -300),  # so much better than before that the pawn is not claimed
    "4k3/8/8/3R4/8/8/5PPP/6K1 b": ("Ke7 Kf1", -300),
    "4k3/8/8/3n4/2B5/8/5PPP/3R2K1 w": ("Rxd5 Ke7", 300),
    "4k3/8/8/3R4/2B5/8/5PPP/6K1 b": ("Ke7 Kf1", -300),
    "3r2k1/5ppp/8/8/3N4/7P/5PPK/8 b": ("Rxd4 Kg1", 300),
    "6k1/5ppp/8/8/3r4/7P/5PPK/8 w": ("Kg1 Kf8", -300),
}


@pytest.mark.parametrize(
    ("fen", "played", "better", "reply", "text"),
    [
        (
            THREATENED, "h3", ("Rd1 Nf6", 100), ("Nf6 Kf1", 0),
            "threat missed: Rd1 threatens 2.Rxd5, which takes the knight on d5 for nothing (2. Rxd5)",
        ),
        (
            THREATENING, "Kh2", ("Nf3 Kf8", 100), ("Rd8 Nf3", 0),
            "threat allowed: Kh2 allows Rd8 and the threat of 2...Rxd4, which takes the knight on d4 for nothing "
            "(2...Rxd4)",
        ),
        (THREATENED, "h3", ("Rd1 Nf6", 601), ("Nf6 Kf1", 0), None),  # it is not half of what is lost
        (THREATENED, "Ra5", ("Rd1 Nf6", 100), ("Nf6 Kf1", 0), None),  # which threatens as much
        (THREATENING, "Kh2", ("Kf1 Kf8", 100), ("Rd8 Nf3", 0), None),  # as it does after the better move
        (THREATENED.replace("8/8/5PPP", "8/8/3p1PPP").replace("R5K1", "3R2K1"), "h3", ("Rxd2 Nf6", 100),
         ("Nf6 Kf1", 0), None),  # it takes something
    ],
)  # fmt: skip
def test_a_threat_that_is_new_and_makes_half_of_the_loss_is_a_reason(fen, played, better, reply, text):
    found = mistake(fen, played, better, reply, TAKES)
    assert (found.text if found.kind.startswith("threat") else None) == text


def test_a_threat_to_what_the_move_takes_is_not_missed(monkeypatch):
    monkeypatch.setattr(claims.Prover, "_wins", lambda *_: 0)
    fen = THREATENED.replace("8/8/5PPP", "2B5/8/5PPP")
    for played, kind in (("h3", claims.THREAT_MISSED), ("Bxd5", claims.UNPROVED)):
        assert mistake(fen, played, ("Rd1 Nf6", 100), ("Ke7 Kf1", 0), TAKES).kind == kind


def test_a_threat_that_a_search_finds_without_the_move_as_well_is_none():
    anyway = {"4k3/8/8/3n4/8/7P/5PP1/R5K1 w": ("Rd1 Ke7 Rxd5 Kf7", 300)}
    assert mistake(THREATENED, "h3", ("Rd1 Nf6", 100), ("Nf6 Kf1", 0), TAKES | anyway).kind == claims.UNPROVED


DEVELOPED = "4k3/8/8/8/8/5N2/5PPP/R3K3 w Q - 0 1"


def test_a_move_that_is_no_better_than_a_pass_gains_nothing_or_does_harm():
    nothing = "gains nothing, where O-O-O castles: a pass would be at least as good"
    for played, own, idle, text in (
        ("Ng1", -50, -49, f"wasted move: Ng1 {nothing}"),
        ("h3", -50, 49, f"wasted move: h3 {nothing}"),
        ("Ne5", -50, 50, "harmful move: Ne5 does harm: a pass would be better by 1.00"),
        ("Ne5", -750, -600, f"wasted move: Ne5 {nothing}"),  # all is lost anyway
        ("Ng1", -50, -50, None),
        ("Ng1", -50, 101, None),  # it would be better than the move that is recommended
    ):
        after = chess.Board(DEVELOPED)
        after.push_san(played)
        found = {" ".join(after.fen().split()[:2]): ("", -own), "4k3/8/8/8/8/5N2/5PPP/R3K3 b": ("", -idle)}
        made = mistake(DEVELOPED, played, ("O-O-O Ke7", 100), ("", -own), found)
        assert (made.text.partition(" (")[0] if made.claims else None) == text
        assert not made.claims or (made.claims[0].kind, made.claims[0].side) == ("tempo", "black")


def test_a_reply_that_a_pass_would_not_allow_is_named():
    fen, after = "5r1k/8/8/8/8/5N2/5PPP/R3K3 w Q - 0 1", "5r1k/8/8/8/3N4/8/5PPP/R3K3 b"
    script = {after: ("Rxf2 Kxf2", 50), fen.replace(" w Q - 0 1", " b"): ("", -50)}
    for reply, does in (("Rxf2 Kxf2", "allows 1...Rxf2"), ("Kg7 Kd2", "does harm")):
        found = mistake(fen, "Nd4", ("Kd2 Kg7", 100), (reply, 50), script)
        assert found.sentence == f"Nd4 {does}: a pass would be better by 1.00"


def test_what_takes_something_or_is_as_good_in_a_longer_search_is_not_wasted():
    fen, after = "4k3/8/8/4p3/8/5N2/5PPP/R3K3 w Q - 0 1", "4k3/8/8/4p3/8/5N1P/5PP1/R3K3 b"
    script = judge({"4k3/8/8/4N3/8/8/5PPP/R3K3 b": ("", 50), after: ("", 50)})
    courses = course(fen, "Kd2 Kd7", 100), Course(Position(f"{after} Q - 0 1"), (), Score(50))

    def longer(at: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        found = script.analyse(at, limits, count)
        return found if limits.nodes <= LIMITS.nodes else [line._replace(score=Score(0)) for line in found]

    for asked, kind in ((script.analyse, claims.WASTED), (longer, claims.UNPROVED)):
        prover = claims.Prover(replace(script, analyse=asked), LIMITS)
        assert prover.of_mistake(Position(fen).parse_uci("h2h3"), *courses).kind == kind
    taken = {"4k3/8/8/4N3/8/8/5PPP/R3K3 b": ("", 50)}
    assert mistake(fen, "Nxe5", ("Kd2 Kd7", 100), ("", 50), taken).kind == claims.UNPROVED


def test_longer_searches_are_asked_where_the_lines_found_prove_nothing():
    fen, after = "r3k3/8/8/1N6/8/8/7P/4K3 w - - 0 1", "r3k3/8/8/1N6/8/8/4K2P/8 b"
    script = judge(along(fen, "Nc7+ Kd7 Nxa8 Kc6") | {after: ("Kd7 Kd2", 0)}, otherwise=300)
    courses = course(fen, "Nc7+", 150), course(f"{after} - - 1 1", "Kd7 Kd2", 0)
    found = claims.Prover(script, LIMITS).of_mistake(Position(fen).parse_uci("e1e2"), *courses)
    assert found.kind == "fork missed"


def test_the_judge_plays_on_where_longer_searches_prove_nothing_either():
    fen, forked, after = "r3k3/8/8/1N6/8/8/7P/4K3 w - - 0 1", "r3k3/2N5/8", "r3k3/8/8/1N6/8/8/4K2P/8 b"
    script = judge(along(fen, "Nc7+ Kd7 Nxa8 Kc6") | {after: ("Kd7 Kd2", 0)}, otherwise=300)

    def analyse(at: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        is_deep = limits.nodes > LIMITS.nodes and at.fen().startswith(forked)
        return [line_of(at, "", -150)] if is_deep else script.analyse(at, limits, count)

    prover, move = claims.Prover(replace(script, analyse=analyse), LIMITS), Position(fen).parse_uci("e1e2")
    _, _, found, _ = prover._lines(move, course(fen, "Nc7+", 150), course(f"{after} - - 1 1", "Kd7 Kd2", 0))
    assert [line.text(9) for line in found] == ["1. Nc7+ Kd7 2. Nxa8 Kc6", "1...Kd7"]
    assert [line.score for line in found] == [150, 0]


def test_material_is_counted_in_full_where_a_draw_by_fifty_moves_makes_it_count_less():
    assert winning.Winning(judge(), LIMITS).count(Position("4k3/8/8/3R4/8/8/8/4K3 b - - 0 1")).pawns == 0


@pytest.mark.parametrize(
    ("fen", "moves", "mate", "found"),
    [
        ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "Ra8#", 1, "1.Ra8# is mate"),
        ("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", "Kf7 Kh7 Qh1#", 2, "1.Kf7 mates in 2"),
        ("7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", "Kf7", 2, None),  # its end is not shown, and the script does not know it
    ],
)
def test_a_mate_is_claimed_where_it_is_shown_to_its_end(fen, moves, mate, found):
    score = MATE_SCORE - (2 * mate - 1)
    line = course(fen, moves, score)
    replies = {" ".join(line.after(1).fen().split()[:2]): ("", -(score + 1))}
    claim = claims.Prover(judge(replies, otherwise=score), LIMITS).of_line(line)
    assert (claim and claim.text) == found
    assert claim is None or (claim.proof.score_after.text, len(claim.line)) == ("mate", 2 * mate - 1)


def test_the_rest_of_a_mate_is_searched_for():
    fen, score = "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", MATE_SCORE - 3
    rest = {"7k/5K2/8/8/8/8/8/6Q1 b": ("Kh7 Qh1#", -(MATE_SCORE - 2))}
    claim = claims.Prover(judge(rest), LIMITS).of_line(course(fen, "Kf7", score))
    assert claim is not None and claim.line == ("f6f7", "h8h7", "g1h1")


def mistake(fen: str, played: str, better: tuple[str, int], reply: tuple[str, int], found=None, otherwise: int = 0):
    """The mistake that a move is, by the lines and scores of the better move and of the reply."""
    position = Position(fen)
    best = line_of(position, *better)
    move = line_of(position, played, 0).pv[0]
    after = after_move(position, move)
    script = along(fen, *better) | along(after.fen(), *reply) | (found or {})
    prover = claims.Prover(judge(script, otherwise), LIMITS)
    own = line_of(after, *reply)
    return prover.of_mistake(move, Course(position, best.pv, best.score), Course(after, own.pv, own.score))


# The line that was searched, and the one that is shown: a count of material may find another, as good.
@pytest.mark.parametrize(("reply", "takes"), [("Nxa6 d4", "Nxa6"), ("d5", "bxa6")])
def test_a_move_that_loses_the_piece_it_moves_says_so_first(reply, takes):
    fen = "rnbqkbnr/1ppppppp/8/p7/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    other = {"rnbqkbnr/1ppppppp/B7/p7/4P3/8/PPPP1PPP/RNBQK1NR b": ("bxa6", 300)} if takes == "bxa6" else {}
    found = mistake(fen, "Ba6", ("Nf3 d5", 50), (reply, 300), other, otherwise=-300)
    assert found.text == f"hanging piece: Ba6 loses the bishop: 2...{takes} (2...{takes})"
    (claim,) = found.claims
    assert (claim.kind, claim.side, claim.wins.pawns, claim.wins.ply) == ("takes", "black", 3, 1)
    assert claim.line == ({"Nxa6": "b8a6", "bxa6": "b7a6"}[takes],) and claim.fen.split()[1] == "b"
    assert (claim.proof.score_before.cp, claim.proof.score_after.cp) == (-300, -300)


EXCHANGED = [
    ("r5k1/3q1ppp/8/8/P7/4P3/5PPP/3Q2K1 w - - 0 1", "Qd4", "Qxd4 exd4 Rxa4"),
    ("r5k1/5ppp/4p3/3q4/P7/8/3Q1PPP/6K1 w - - 0 1", "Qxd5", "exd5 h3 Rxa4"),
]


@pytest.mark.parametrize(("fen", "played", "reply"), EXCHANGED)
def test_what_is_lost_is_named_and_not_what_is_exchanged(fen, played, reply):
    found, first = mistake(fen, played, ("h3 h6", 50), (f"{reply} Kf1", 300), otherwise=-300), reply.split()[0]
    said = f"material lost: {played} exchanges queens and loses a pawn: 1...{first} (1...{first} 2"
    assert found.text.startswith(said)


def test_what_the_reply_wins_is_said_of_a_move_that_takes_little():
    fen = "r5k1/3q1ppp/8/8/N2Q4/4P1p1/1P3PPP/6K1 w - - 0 1"
    assert mistake(fen, "hxg3", ("h3 h6", 50), ("Qxd4 exd4 Rxa4 Kf1", 300), otherwise=-300).kind == "material lost"


@pytest.mark.parametrize(
    ("before", "said"),
    [(-195, "hanging piece: Ba6"), (-196, "no proved reason: Nf3 is better by 1.04; no reason in words could be")],
)
def test_a_loss_too_small_for_the_material_is_not_explained_by_it(before, said):
    fen = "rnbqkbnr/1ppppppp/8/p7/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    found = mistake(fen, "Ba6", ("Nf3 d5", before), ("Nxa6 d4", 300), otherwise=-300)
    assert found.text.startswith(said)


def test_what_the_better_move_would_win_is_said_where_the_reply_wins_nothing():
    fen = "r3k3/8/8/1N6/8/8/7P/4K3 w - - 0 1"
    found = mistake(fen, "Nc3", ("Nc7+ Kd7 Nxa8 Kc6", 300), ("Kd7 Kd2", 0), otherwise=300)
    assert found.kind == "fork missed"
    assert found.sentence == "1.Nc7+ forks the king on e8 and the rook on a8 and wins the rook on a8"


def test_a_draw_by_a_long_line_is_no_proof_and_by_a_short_one_is():
    fen = "7k/8/8/8/8/8/q7/5R1K w - - 0 1"
    short = ("Rf8+ Kg7 Rf7+ Kh8 Rf8+ Kg7", 0)
    found = mistake(fen, "Rb1", short, ("Qd5+ Kg1", 900))
    assert (found.kind, found.claims[0].kind) == ("draw missed", "repetition")
    long = ("Rf8+ Kg7 Rf7+ Kh8 Rf8+ Kg7 Rf7+ Kh8 Rf8+ Kg7", 0)
    assert mistake(fen, "Rb1", long, ("Qd5+ Kg1", 900)).kind == claims.UNPROVED


KNIGHT = "r3k3/5ppp/8/3n4/8/8/5PPP/3RK3 w q - 0 1"


def test_what_a_move_comes_out_worse_by_is_said_where_no_single_line_proves_it():
    fen, taken = KNIGHT, "r3k3/5ppp/8/3R4/8/8/5PPP/4K3 b"
    better, reply = ("Rxd5 Ke7 Ke2 Ke6", 300), ("Nf6 Ke2 Ke7", 300)
    unsure = {taken: ("Ke7 Ke2 Ke6", -200)}  # so much less than 300 that the line alone is no proof
    found = mistake(fen, "h3", better, reply, found=unsure, otherwise=-300)
    assert found.text == "material lost: h3 comes out worse than Rxd5 by a knight (1. Rxd5)"
    (claim,) = found.claims
    assert (claim.kind, claim.side, claim.line, claim.other_line) == ("material", "black", ("h2h3",), ("d1d5",))
    assert (claim.wins.pawns, claim.wins.ply, claim.proof.score_before.cp) == (3, 1, 200)
    back = "Rxd5 Rc8 Ke2 Rb8 Kd3 Ra8 Kc4 Rb8 Kc5 Rd8 Kb4 Rxd5", 300
    gives_back = {taken: (back[0].partition(" ")[2], -200)}
    assert mistake(fen, "h3", back, reply, found=gives_back, otherwise=-300).kind == claims.UNPROVED
    no_worse = unsure | {"r3k3/5ppp/8/3n4/8/7P/5PP1/3RK3 b": ("Nf6 Ke2 Ke7", -150)}
    for score in (-150, 300):
        worse = ("Nf6 Ke2 Ke7", score)
        assert mistake(fen, "h3", better, worse, found=no_worse, otherwise=-300).kind == claims.UNPROVED
    given_back = {taken: ("Rd8 Kf1 Rxd5 Ke2", -200)}
    assert mistake(fen, "h3", better, reply, found=given_back, otherwise=-300).kind == claims.UNPROVED


def test_what_the_better_move_loses_as_well_is_no_reason():
    fen, reply = "4k3/r7/8/3n4/8/8/5PPP/3RK3 b - - 0 1", ("Rxd5 Ke7", 450)
    for better, kind in (("Nf6 Ke2", "hanging piece"), ("Kf7 Rxd5 Ke6 Rd2", claims.UNPROVED)):
        assert mistake(fen, "Ra6", (better, -300), reply, otherwise=450).kind == kind


def counted(monkeypatch: pytest.MonkeyPatch, *counts: int, line: str = "", fen: str = "") -> None:
    """Let counts of material find these pawns, one after the other, the first by a line."""
    found, lines = iter(counts), iter([course(fen, line).moves] if line else [])
    monkeypatch.setattr(winning.Winning, "count", lambda *_: winning.Counted(next(lines, ()), next(found, counts[-1])))


@pytest.mark.parametrize(
    ("best", "score", "by_first", "taken_back", "is_won"),
    [
        (200, 180, 2, 1, True),
        (200, 179, 2, 1, False),
        (700, 650, 2, 1, True),  # which costs no points
        (700, 649, 2, 1, False),
        (300, 280, 1, 1, False),
        (300, 280, 2, 2, False),
    ],
)
def test_another_line_wins_if_hardly_worse_and_counted(best, score, by_first, taken_back, is_won, monkeypatch):
    fen = "4k3/8/8/3n4/8/8/7P/3RK3 w - - 0 1"
    counted(monkeypatch, 3, by_first, taken_back, line="Rxd5 Ke7", fen=fen)
    won = winning.Winning(judge(otherwise=score), LIMITS).of(course(fen, "h3 Nf6", best))
    assert (won is not None) == is_won


FALLS_SHORT = [
    ("n", 180, (0, 300), 0, True),
    ("n", 179, (0, 300), 0, False),  # less than 60 centipawns a pawn
    ("p", 60, (0, 300), 0, True),
    ("p", 59, (0, 300), 0, False),
    ("n", 400, (0, 300), -1, True),  # of three pawns a count may take one back
    ("n", 400, (0, 300), -2, False),
    ("p", 400, (0, 300), -1, False),
    ("p", 400, (0, 599), 0, True),
    ("p", 400, (0, 600), 0, False),  # a pawn decides no game
    ("p", 400, (-600, 0), 0, False),
    ("n", 400, (0, 600), 0, True),
    ("n", 400, (0, 200), 0, True),
    ("n", 400, (0, 199), 0, False),  # less than half of the loss
    ("early", 60, (0, 300), 0, False),  # a pawn less as soon as the move is made
    ("swap", 60, (0, 300), 0, False),  # a knight and a pawn for a bishop
]


@pytest.mark.parametrize(("taken", "loss", "ends", "taken_back", "is_said"), FALLS_SHORT)
def test_a_line_comes_out_worse_by_what_covers_its_loss(taken, loss, ends, taken_back, is_said, monkeypatch):
    fen, reply = (KNIGHT, "Nf6") if taken == "n" else ("r3k3/2p2ppp/8/3p4/8/8/5PPP/3RK3 w q - 0 1", "c6")
    monkeypatch.setattr(winning, "SIMPLE", 3 if taken == "early" else 1)
    if taken == "swap":
        monkeypatch.setattr(winning, "_worse_by", lambda *_: ({chess.KNIGHT: 1, chess.PAWN: 1}, {chess.BISHOP: 1}))
    counted(monkeypatch, taken_back, 0)
    farther = zip(ends, ([0], [3 if taken == "n" else 1]), strict=True)
    monkeypatch.setattr(winning.Winning, "farther", lambda *_: next(farther))
    lines = course(fen, f"h3 {reply} Ke2 Ke7", 300 - loss), course(fen, "Rxd5 Ke7 Ke2 f6", 300)
    assert (winning.Winning(judge(), LIMITS).difference(*lines) is not None) == is_said


PAWNS = "r3k2r/ppp2ppp/8/3p4/3P4/2P5/PP3PPP/R3K2R w KQkq - 0 1"


def test_a_place_is_a_reason_where_it_covers_half_of_the_loss_and_two_searches_agree():
    better, reply = ("O-O O-O Rfe1 Rfd8", 40), ("O-O Rd1 Rfd8", 20)
    ends = {
        "r2r2k1/ppp2ppp/8/3p4/3P4/P1P5/1P3PPP/3RK2R w": ("", -40),
        "r2r2k1/ppp2ppp/8/3p4/3P4/2P5/PP3PPP/R3R1K1 w": ("", 80),
        PAWNS.replace(" w KQkq - 0 1", " b"): ("", 50),  # a pass is worse than any move
    }
    found = mistake(PAWNS, "a3", better, reply, found=ends)
    assert found.text == (
        "improvement missed: White's rook would stand on the open e-file (0.42) (1. O-O O-O 2. Rfe1 Rfd8)"
    )
    (claim,) = found.claims
    assert (claim.kind, claim.side, claim.line[0], claim.other_line[0]) == ("open file", "white", "e1g1", "a2a3")
    assert (claim.proof.score_before.cp, claim.proof.score_after.cp) == (-40, 80)
    no_better = along(PAWNS, better[0], -30) | {"r2r2k1/ppp2ppp/8/3p4/3P4/2P5/PP3PPP/R3R1K1 w": ("", -30)}
    assert mistake(PAWNS, "a3", better, reply, found=ends | no_better).kind == claims.UNPROVED
    agreeing_more = ends | {"r2r2k1/ppp2ppp/8/3p4/3P4/2P5/PP3PPP/R3R1K1 w": ("", 260)}
    assert mistake(PAWNS, "a3", (better[0], 260), reply, found=agreeing_more).kind == claims.UNPROVED  # 0.42 of 2.80


def test_a_place_that_was_there_or_comes_in_the_other_line_as_well_is_no_reason():
    better, ends = (
        ("O-O O-O Rfe1 Rfd8", 40),
        {
            "r2r2k1/ppp2ppp/8/3p4/3P4/2P5/PP3PPP/R3R1K1 w": ("", 80),
            "r2r2k1/ppp2ppp/8/3p4/3P4/P1P5/1P3PPP/3RK2R w": ("", -40),
        },
    )
    later = "O-O Rd1 Rfd8 Ke2 Rd7 Rhe1"  # after which a rook stands there
    prover = claims.Prover(judge(ends), LIMITS)
    for reply, found in (("O-O Rd1 Rfd8", ["open file"]), (later, [])):
        whole, best = course(PAWNS, f"a3 {reply}", -20), course(PAWNS, *better)
        here, there = (lines.end_of(line, 4, prover.judge.narrator) for line in (whole, best))
        assert [each.kind for each in claims._place_candidates(here, there, chess.WHITE)] == found
    assert here.others[0] == whole.boards[0] and len(here.others) == 4


def test_a_threat_is_claimed_for_the_side_that_is_not_to_move():
    position = Position("r3k3/8/8/1N6/8/8/7P/4K3 b - - 0 1")
    passed = "r3k3/8/8/1N6/8/8/7P/4K3 w"
    script = {passed: ("Nc7+ Kd7 Nxa8", 300)} | along(f"{passed} - - 0 1", "Nc7+ Kd7 Nxa8")
    prover = claims.Prover(judge(script, otherwise=300), LIMITS)
    claim, line, _ = prover.threat(position)
    assert claims.threat_text(claim, line) == (
        "White threatens Nc7+: it forks the king on e8 and the rook on a8 and wins the rook on a8 "
        "(2. Nc7+ Kd7 3. Nxa8)."
    )
    assert prover.threat(Position("4k3/8/8/8/8/8/4r3/4K3 w - - 0 1")) is None  # in check


def test_the_rules_that_docs_print_have_the_numbers_of_the_proofs() -> None:
    rules = claims.rules()
    assert f"within {winning.LATEST} plies" in rules["material"]
    assert f"within {claims.LONGEST_DRAW} plies" in rules["repetition"] and winning.COVERED == 0.5
