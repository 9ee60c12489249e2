"""Games between our own players: python-chess replays them and agrees, and the same seed gives the same games."""

import json
import pickle
import random
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from types import SimpleNamespace

import chess
import numpy as np
import pytest

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.common import command
from merino.core.common import work as runs
from merino.engine.search import parameters, searcher
from merino.engine.search.limits import Limits
from merino.eval.families import default
from merino.formats.openings import Opening, OpeningError
from merino.match import engines, games, report, runner
from merino.match.config import Adjudication, Clock, MatchConfig, RandomMoves, TimeControl
from merino.match.games import FAULTS, Game, MatchError, Played, PlayerError, RandomOpenings, Reason, Tally
from merino.match.players import OtherPlayer, OwnPlayer, read_player
from merino.match.runner import play_match
from tests.material_family import MaterialEvaluation

NODES = 200
GAMES = 16
OPENING = RandomOpenings(seed=1, plies=0).opening(0)
BY_RULE = {
    chess.Termination.CHECKMATE: Reason.CHECKMATE,
    chess.Termination.STALEMATE: Reason.STALEMATE,
    chess.Termination.INSUFFICIENT_MATERIAL: Reason.MATERIAL,
    chess.Termination.FIFTY_MOVES: Reason.FIFTY,
    chess.Termination.THREEFOLD_REPETITION: Reason.REPETITION,
}


def terms_of(nodes: int, **adjudication: int) -> MatchConfig:
    players = read_player("default"), read_player("aspiration_window=40,late_move_pruning_base=2")
    return MatchConfig(players, TimeControl(nodes), seed=5, adjudication=Adjudication(**adjudication))


@cache
def played(threads: int, nodes: int = NODES, games: int = GAMES, **adjudication: int) -> list[Game]:
    return list(play_match(terms_of(nodes, **adjudication), games, threads))


def opening_board(game: Game) -> chess.Board:
    board = chess.Board(game.opening.fen)
    for move in game.opening.moves:
        board.push_uci(move)
    return board


def test_python_chess_agrees_on_every_move_and_every_end():
    for game in played(1):
        board = opening_board(game)
        for move in game.moves:
            assert board.outcome(claim_draw=False) is None or not board.outcome().termination.value < 4
            assert not board.is_fifty_moves() and not board.is_repetition(3)
            board.push(chess.Move.from_uci(move.move.uci()))
            assert board.is_valid()
        outcome = board.outcome(claim_draw=True)
        assert outcome is not None, game
        assert (BY_RULE[outcome.termination], outcome.result()) == (game.reason, game.result)


def test_the_number_of_threads_changes_no_game():
    assert played(1) == played(3)


def test_another_process_plays_the_same_games():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        games = list(play_match(terms_of(NODES), 5, 1, 1, executor))
    assert games == played(1)[1:5]


def test_a_player_that_plays_itself_keeps_what_both_sides_learn_wherever_it_plays():
    def games_of(players: tuple[OwnPlayer, OwnPlayer]) -> list[Game]:
        here = MatchConfig(players, TimeControl(NODES), seed=5)
        games = list(play_match(here, 4, 2))
        assert games == list(play_match(pickle.loads(pickle.dumps(here)), 4, 1))
        return games

    own = OwnPlayer("a")
    assert games_of((own, own)) != games_of((own, OwnPlayer("a")))


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="a thread cannot be sent a Ctrl-C")
def test_ctrl_c_ends_the_games_under_way_and_closes_the_boards(monkeypatch):
    closed: list[engines.CompiledBoard] = []
    monkeypatch.setattr(engines.CompiledBoard, "close", lambda board: closed.append(board))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
    threading.Timer(0.4, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(play_match(terms_of(10**12), 4, 2))  # whose first move would take weeks
    assert len(set(closed)) == 2


def test_an_error_of_a_board_is_raised_and_the_match_over(monkeypatch):
    def fail(*_: object) -> None:
        raise MatchError("the board is broken")

    monkeypatch.setattr(engines.CompiledBoard, "play", fail)
    with pytest.raises(MatchError, match="the board is broken"):
        next(play_match(terms_of(NODES), 4, 2))
    assert not runs._here.runs


def test_games_from_any_number_on_are_those_of_the_whole_match():
    config = terms_of(NODES)
    for first in (1, 2, 5):
        assert list(play_match(config, GAMES, 2, first)) == played(1)[first:]


def test_a_move_is_the_one_that_the_search_of_the_engine_finds():
    game = played(1, nodes=1500, games=2)[0]
    searchers = [searcher.Searcher(hash_mb=1), None]
    position = game.opening.position()
    for number, move in enumerate(game.moves[:40]):
        if number % 2 == 0:
            result = searchers[0].search(position, Limits(nodes=1500))
            assert (result.best, int(result.line.score)) == (move.move, move.score)
        position.push(move.move)


def test_the_openings_are_even_and_distinct_by_number_and_seed():
    first, again, other = RandomOpenings(1), RandomOpenings(1), RandomOpenings(2)
    again.opening(3)
    assert first.opening(0) == again.opening(0)
    assert len({source.opening(number) for source in (first, other) for number in range(5)}) == 10
    judge = searcher.Searcher(hash_mb=1)
    scores = [judge.search(first.opening(number).position(), Limits(depth=6)).line.score for number in range(5)]
    assert max(map(abs, scores)) < 200


def test_an_opening_that_no_try_makes_ends_no_match(monkeypatch):
    even, said = RandomOpenings(1).opening(3), list[str]()
    monkeypatch.setattr(games, "EVEN", -1)  # centipawns, less than any
    monkeypatch.setattr(games, "TRIES", 2)
    assert RandomOpenings(1).opening(3).uneven >= 1 and not even.uneven
    player = OwnPlayer("a")
    config = MatchConfig((player, player), TimeControl(nodes=10), games=4)
    result = runner.run_match(config, 1, output=runner.MatchOutput(say=said.append))
    assert said == ["4 games began less evenly than wanted, as no try did"] == result.left_out.remarks
    walks = iter([-1, -1, 7])
    monkeypatch.setattr(games, "_even_walk", lambda *_: next(walks))
    assert RandomOpenings(1).opening(5).uneven == 8  # that of number 3
    monkeypatch.setattr(games, "_even_walk", lambda *_: -1)
    with pytest.raises(OpeningError, match="in 2 tries no game went on for 8 random plies"):
        RandomOpenings(1).opening(5)


@pytest.mark.parametrize(
    ("player", "complaint"),
    [
        ("no-such-file.txt", "'no-such-file.txt' is neither a weights file nor a program; 'merino match -h' shows"),
        ("aspiration_window=9999", "aspiration_window = 9999 is outside"),
        ("VAL_N=99999", "VAL_N = 99999 is outside"),
        ("VAL_K=1", "there is no search parameter or weight 'VAL_K'; did you mean"),
        ("razor_depth=deep", "razor_depth = 'deep' is not a whole number"),
        ("evalfile=gen12", "'evalfile'; did you mean 'EvalFile'?"),
        ("default,razor_depth=2,razor_depth=3", "'razor_depth' is set twice"),
        ("default,option.Hash=5", "'option.Hash'; did you mean 'hash'?"),
    ],
)
def test_a_player_that_cannot_be_is_refused(player, complaint, shell):
    assert complaint in shell("match", "default", player, status=2)


def test_a_mistyped_player_is_answered_with_the_nearest_file_of_its_folder(tmp_path):
    for name in ("mine.txt", "mnie.txt.lock"):
        (tmp_path / name).touch()
    with pytest.raises(PlayerError, match=r"neither a weights file nor a program; did you mean 'mine\.txt'\?"):
        read_player(str(tmp_path / "mnie.txt"))


def test_a_player_may_be_an_evaluation_that_comes_with_merino():
    full, net = read_player("full,nodestime=500"), read_player("gen12")
    assert isinstance(full, OwnPlayer) and full.evaluation.identity["terms"] == "full"
    assert isinstance(net, OwnPlayer) and not net.evaluation.has_terms


def test_a_player_takes_weights_and_search_parameters_inline():
    player = read_player("default,VAL_N=300,PawnIsolated_eg=-5,razor_depth=1")
    assert isinstance(player, OwnPlayer)
    numbers = player.evaluation.numbers
    before = default().numbers
    assert numbers["VAL_N"].value == 300
    assert (numbers["PawnIsolated_mg"], numbers["PawnIsolated_eg"].value) == (before["PawnIsolated_mg"], -5)
    assert player.parameters == parameters.parameters_for(player.evaluation, {"razor_depth": 1})


def test_the_text_of_a_player_is_refused_below_the_command_line_too():
    with pytest.raises(PlayerError, match="must be a whole number from 1"):
        read_player("default,threads=0")
    for quoted in ("it's", "engine:'it"):
        with pytest.raises(PlayerError, match="No closing quotation"):
            read_player(quoted)
    assert issubclass(PlayerError, MatchError) and not issubclass(PlayerError, command.CommandError)


@pytest.mark.parametrize(
    ("limits", "nodes"), [({}, 1000), ({"nodes": 7}, 7), ({"depth": 3}, None), ({"depth": 3, "nodes": 7}, 7)]
)
def test_a_move_costs_the_usual_nodes_where_no_limit_is_named(limits, nodes):
    assert TimeControl(**limits).or_default() == TimeControl(nodes, limits.get("depth"))


def test_the_conditions_are_those_that_each_player_has():
    own, other = OwnPlayer("a"), OtherPlayer("b", ("b",))
    wide = OtherPlayer("c", ("c",), {"number of Threads": "4", "hash": "64"})
    for players, control, said in (
        ((own, own), TimeControl(nodes=1000), "N=1000 Threads=1 Hash=1MB"),
        ((other, other), TimeControl(nodes=1000), "N=1000 Threads=1 Hash=16MB"),
        ((other, wide), TimeControl(nodes=1000), "N=1000 Threads=1/4 Hash=16/64MB"),
        ((replace(wide, hash_mb=8), wide), TimeControl(nodes=1000, hash=2), "N=1000 Threads=4 Hash=64MB"),
        ((own, other), TimeControl(nodes=1000), "N=1000 Threads=1 Hash=1/16MB"),
        ((own, other), TimeControl(nodes=1000, hash=4), "N=1000 Threads=1 Hash=4MB"),
        ((own, own), TimeControl(clock=Clock(60_000, 500, 40)), "40/60.0+0.50s Threads=1 Hash=16MB"),
        ((own, own), TimeControl(clock=Clock(250, 5)), "0.25+0.005s Threads=1 Hash=16MB"),
    ):
        assert MatchConfig(players, control).conditions == said


def test_the_time_of_a_move_never_has_sixty_seconds():
    assert report.remark(True, 10, 3, 59.9996) == "[%eval 0.10,3] [%emt 0:01:00.000]"
    assert report.remark(False, 10, None, 3723.25) == "[%eval -0.10] [%emt 1:02:03.250]"


def game(number: int, winner: int | None, reason: Reason = Reason.CHECKMATE) -> Game:
    """A game of a match; in even ones the first player has White."""
    return Game(number, number % 2 == 0, OPENING, (), reason, winner)


def test_the_two_games_of_one_opening_make_a_pair():
    tally = Tally()
    for number, winner in enumerate([WHITE, BLACK, WHITE, WHITE, BLACK, None, None]):
        tally.add(game(number, winner))
    assert tally.points.tolist() == [2, 2, 3]
    assert tally.pairs.tolist() == [0, 1, 1, 0, 1], "two wins; a win and a loss; a loss and a draw; one to come"
    one = Tally()
    for number in range(3):
        assert len(one.counts) == (3 if number < 2 else 5), "games until there is a pair"
        one.add(game(number, WHITE))
    for within in (Tally(), Tally.from_json(Tally().as_json())):
        within.add(game(1, BLACK))
        assert within.pairs.sum() == 0 and within.games == 1, "a second game without its first"


@pytest.mark.parametrize("reason", FAULTS)
def test_a_fault_is_that_of_the_player_who_lost_by_it(reason):
    tally = Tally()
    for number, winner in enumerate([WHITE, WHITE, WHITE, WHITE, BLACK, WHITE]):
        tally.add(game(number, winner, reason))
    assert tally.faults[reason] == [4, 2], "the first player lost the games 1, 3, 4 and 5"


def opening_of(pair: int) -> Opening:
    return Opening(moves=(str(pair),))


@pytest.fixture
def noted(monkeypatch) -> list[tuple[int, Opening, bool]]:
    """The games that were asked of boards, which are their numbers. All matches end within pair 20."""
    played, is_over = [], []
    run = runs.Run.is_stopped.fget

    def play(*given: object) -> object:
        played.append(given)
        is_over.extend([True] * (given[0] == 40))
        return given[0]

    monkeypatch.setattr(runs.Run, "is_stopped", property(lambda self: bool(is_over) or run(self)))
    monkeypatch.setattr("merino.match.engines.board_of", lambda *_: SimpleNamespace(play=play, stop=str, close=str))
    monkeypatch.setattr(MatchConfig, "source", lambda *_: SimpleNamespace(opening=opening_of))
    return played


@pytest.mark.parametrize("openings", [None, "o.epd"])
@pytest.mark.parametrize(("first", "games"), [(0, 1), (0, 4), (1, 4), (2, 5), (3, 7), (5, 6), (37, 44)])
def test_every_pair_has_its_opening_and_both_colours_wherever_a_match_goes_on(first, games, openings, noted):
    config = MatchConfig((OwnPlayer("a"), OwnPlayer("b")), TimeControl(nodes=1), openings=openings)
    assert list(play_match(config, games, 1, first)) == list(range(first, min(games, 40)))
    last = min(games, 41)
    assert sorted(noted) == [(number, opening_of(number // 2), number % 2 == 0) for number in range(first, last)]


def test_a_tally_that_was_put_away_after_any_game_goes_on_as_if_it_had_not_been():
    draw, found = random.Random(5), []
    reasons = (Reason.CHECKMATE, *FAULTS)
    games = [game(number, draw.choice((WHITE, BLACK, None)), draw.choice(reasons)) for number in range(9)]
    for cut in range(9):
        tally = Tally()
        for each in games:
            tally = Tally.from_json(json.loads(json.dumps(tally.as_json()))) if each.number == cut else tally
            tally.add(each)
        found.append(tally.as_json())
    assert found == [found[0]] * 9 and (sum(found[0]["pairs"]), sum(found[0]["points"])) == (4, 9)


# Boards of both kinds: whose colours are whose, and at which move a game ends.

AHEAD = Opening("4k3/pp6/8/8/8/8/6PP/3QK3 w - - 0 30")  # White has a queen more
BLOCKED = Opening("4k3/8/p7/P7/8/8/7P/4K3 w - - 0 30")
SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")
FOOLS_MATE = ("f2f3", "e7e5", "g2g4", "d8h4")
OVER = [
    (Opening("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), Reason.STALEMATE, None),
    (Opening("R3k3/8/4K3/8/8/8/8/8 b - - 0 1"), Reason.CHECKMATE, WHITE),
    (Opening("4k3/8/8/8/8/8/8/4K2r w - - 0 1", ("e1d2", "h1d1", "d2d1")), Reason.MATERIAL, None),
    (Opening("4k3/8/8/8/8/8/8/4K2R w - - 98 90", ("h1h2", "e8e7")), Reason.FIFTY, None),
    (Opening(moves=SHUFFLE * 2), Reason.REPETITION, None),
]


def scripted(moves: tuple[str, ...], scores: Sequence[int | None], is_first_white: bool, fault: str = "", **rules: int):
    """A game of two players who know the moves and scores; one may fail at its first move. Who was asked, too."""
    asked = []

    def side(name: str) -> SimpleNamespace:
        def choose(situation: engines.Situation) -> Played:
            asked.append(name)
            if name == fault:
                raise engines.EngineFault(Reason.CRASH, "")
            ply = len(asked) - 1
            return Played(situation.position.parse_uci(moves[ply % len(moves)]), scores[ply % len(scores)])

        return SimpleNamespace(choose=choose, new_game=lambda _: None)

    board = engines.PythonBoard((), TimeControl(depth=1), Adjudication(**rules), np.zeros(1, dtype=np.uint64))
    board._sides = [side("first"), side("second")]
    return board.play(0, Opening(), is_first_white), asked


@pytest.mark.parametrize("is_first_white", [True, False])
def test_the_players_of_a_board_have_their_colours_and_who_fails_loses(is_first_white):
    played, asked = scripted(FOOLS_MATE, [None], is_first_white)
    assert asked == (["first", "second"] if is_first_white else ["second", "first"]) * 2
    assert (played.reason, played.winner, played.points) == (Reason.CHECKMATE, BLACK, 0 if is_first_white else 2)
    for fault, points in (("first", 0), ("second", 2)):
        played = scripted(FOOLS_MATE, [None], is_first_white, fault)[0]
        assert (played.reason, played.points) == (Reason.CRASH, points)
        assert played.winner == (BLACK if (fault == "first") == is_first_white else WHITE)


def own_board(early: tuple[int, int] = (0, 0), is_mad: bool = True, **rules: int) -> engines.CompiledBoard:
    """A compiled board of two players who count pieces; to the second they are a burden where it `is_mad`."""
    values = (100, 300, 300, 500, 900)
    second = tuple(-value for value in values) if is_mad else values
    sides = OwnPlayer("a", MaterialEvaluation(values)), OwnPlayer("b", MaterialEvaluation(second))
    adjudication, random_moves = Adjudication(**{"longest": 6, **rules}), RandomMoves(*early, seed=4)
    flag = np.zeros(1, dtype=np.uint64)
    return engines.CompiledBoard(sides, TimeControl(depth=1, hash=1), adjudication, flag, random_moves)


@pytest.mark.parametrize("is_first_white", [True, False])
def test_the_players_of_a_compiled_board_have_their_colours(is_first_white):
    assert (own_board().play(0, AHEAD, is_first_white).moves[0].score > 0) is is_first_white


@pytest.mark.parametrize(("opening", "reason", "winner"), OVER)
def test_a_game_that_its_opening_ends_has_no_move_on_boards_of_both_kinds(opening, reason, winner):
    python_board = engines.PythonBoard((), TimeControl(depth=1), Adjudication(), np.zeros(1, dtype=np.uint64))
    python_board._sides = [SimpleNamespace(new_game=str)] * 2
    for board in (own_board(), python_board):
        played = board.play(0, opening, True)
        assert (played.moves, played.reason, played.winner) == ((), reason, winner)


def naive_end(scores: Sequence[int | None], number: int, rules: dict[str, int]) -> tuple[int, Reason]:
    """After how many plies and why a game from move `number` of White is adjudicated, by looking at each score."""
    whites = np.array(scores, dtype=float)[:6] * ([1, -1] * 3)[: len(scores)]  # NaN, which is no score, fits no rule
    win, draw = 2 * rules.get("win_moves", 0), 2 * rules.get("draw_moves", 0)
    for count in range(7):
        seen, is_late = whites[:count], number + count // 2 >= rules.get("draw_from", 0)
        if 0 < win <= count and any((side * seen[-win:] >= rules["win_score"]).all() for side in (1, -1)):
            return count, Reason.WIN_BY_SCORE
        if is_late and 0 < draw <= count and (np.abs(seen[-draw:]) <= rules["draw_score"]).all():
            return count, Reason.DRAW_BY_SCORE
        if count >= rules.get("longest", 6):
            return count, Reason.TOO_LONG
    raise AssertionError


RULES = [{"longest": plies} for plies in (0, 1, 4)]
RULES += [{"win_score": score, "win_moves": moves} for score in (1, 10, 860, 870) for moves in (1, 2)]
RULES += [{"draw_score": 10, "draw_moves": moves, "draw_from": start} for moves in (1, 2) for start in (0, 2, 3)]
SCORES = "10 -10|-10 10|9 -10 10|11 -10 10 -11|10 10 -10|10 - 10 -10|- - 10 -10|0 11|0 - 0"


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_game_is_adjudicated_at_the_first_move_at_which_its_rule_holds(rules):
    """Between players who are driven, with scores as said, and compiled."""
    for line in SCORES.split("|"):
        scores = ([None if word == "-" else int(word) for word in line.split()] * 6)[:6]
        count, reason = naive_end(scores, 1, rules)
        played = scripted(SHUFFLE, scores, True, **{"longest": 6, **rules})[0]
        is_whites = (count % 2 == 1) == ((scores[count - 1] or 0) > 0)
        winner = (WHITE if is_whites else BLACK) if reason is Reason.WIN_BY_SCORE else None
        assert (len(played.moves), played.reason, played.winner) == (count, reason, winner), line
    late = rules | {"draw_from": 28 + rules["draw_from"], "draw_score": 2000} if "draw_from" in rules else rules
    whole, ended = (own_board(is_mad=False, **each).play(0, AHEAD, True) for each in ({}, late))
    count, reason = naive_end([move.score for move in whole.moves], 30, late)
    winner = WHITE if reason is Reason.WIN_BY_SCORE else None
    assert (ended.moves, ended.reason, ended.winner) == (whole.moves[:count], reason, winner)


def test_only_the_early_moves_are_random_and_none_is_worse_than_allowed():
    games = [own_board(early=(1, 0), longest=2).play(number, BLOCKED, True) for number in range(8)]
    firsts = [played.moves[0] for played in games]
    assert len(set(firsts)) > 3 and len({move.score for move in firsts}) == 1, "others as good, and no worse ones"
    assert firsts[::2] != firsts[1::2], "also within a pair"
    assert games[3] == own_board(early=(1, 0), longest=2).play(3, BLOCKED, True)
    for played in games[:4]:
        follows = Opening(BLOCKED.fen, (played.moves[0].move.uci(),))
        assert own_board(longest=1).play(0, follows, True).moves[0].move == played.moves[1].move


def test_a_test_is_decided_by_whole_pairs_only():
    match = object.__new__(runner._Match)
    match._config, match._sprt = SimpleNamespace(games=4), SimpleNamespace(verdict=lambda _: "H1")  # type: ignore[assignment]
    match._result = runner.MatchResult(Tally())
    over = []
    for number in range(3):
        match._result.tally.add(game(number, WHITE))
        over.append(match._is_over())
    assert over == [False, True, False]
