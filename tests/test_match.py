"""Games between our own players: python-chess replays them and agrees, and the same seed gives the same games."""

import pickle
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from types import SimpleNamespace

import chess
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.bitboard import BLACK, WHITE
from merino.core.common import command
from merino.core.common import work as runs
from merino.engine.search import parameters, searcher
from merino.engine.search.limits import Limits
from merino.eval.families import default
from merino.match import engines, report, runner
from merino.match.config import Adjudication, Clock, MatchConfig, TimeControl
from merino.match.games import FAULTS, Game, MatchError, PlayerError, RandomOpenings, Reason, Tally
from merino.match.players import OtherPlayer, OwnPlayer, read_player
from merino.match.runner import play_match

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


def test_games_come_in_pairs_from_one_opening_with_colours_reversed():
    games = played(1)
    assert [game.number for game in games] == list(range(GAMES))
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert first.opening == second.opening
        assert (first.first_is_white, second.first_is_white) == (True, False)
    assert len({game.opening for game in games}) == GAMES // 2


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


def test_longer_searches_are_the_same_games_on_any_number_of_threads():
    assert played(4, nodes=600, games=8) == played(1, nodes=600, games=8)


def test_a_board_that_has_played_plays_a_game_as_a_fresh_one_does():
    config, flag = terms_of(600), np.zeros(1, dtype=np.uint64)
    opening = config.source().opening(3)
    for number in (6, 7):
        fresh = engines.board_of(config, flag).play(number, opening, number % 2 == 0)
        assert fresh == played(1, nodes=600, games=8)[number]


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


def test_a_game_that_both_sides_see_won_is_ended_on_request():
    games = played(1, win_score=300, win_moves=2)
    ended = [game for game in games if game.reason is Reason.WIN_BY_SCORE]
    assert ended
    for game in ended:
        mover = [move.score if number % 2 else -move.score for number, move in enumerate(game.moves[-4:])]
        assert all(score >= 300 for score in mover) or all(score <= -300 for score in mover)
        last_is_white = (len(game.opening.moves) + len(game.moves)) % 2 == 1
        assert (game.winner == chess.WHITE) != ((mover[-1] > 0) == last_is_white)  # our WHITE is 0, theirs True


def test_a_game_that_both_sides_see_drawn_is_ended_on_request():
    games = played(1, draw_score=40, draw_moves=3, draw_from=10)
    ended = [game for game in games if game.reason is Reason.DRAW_BY_SCORE]
    assert ended
    for game in ended:
        assert game.winner is None
        assert all(abs(move.score) <= 40 for move in game.moves[-6:])
        assert opening_board(game).fullmove_number + len(game.moves) / 2 >= 10


def test_the_openings_are_even_and_distinct_by_number_and_seed():
    first, again, other = RandomOpenings(1), RandomOpenings(1), RandomOpenings(2)
    again.opening(3)
    assert first.opening(0) == again.opening(0)
    assert len({source.opening(number) for source in (first, other) for number in range(5)}) == 10
    judge = searcher.Searcher(hash_mb=1)
    scores = [judge.search(first.opening(number).position(), Limits(depth=6)).line.score for number in range(5)]
    assert max(map(abs, scores)) < 200


@pytest.mark.parametrize(
    ("player", "complaint"),
    [
        ("no-such-file.txt", "'no-such-file.txt' is neither a weights file nor a program; 'merino match -h' shows"),
        ("aspiration_window=9999", "aspiration_window = 9999 is outside"),
        ("no_parameter=3", "there is no search parameter or weight 'no_parameter'"),
        ("VAL_N=99999", "VAL_N = 99999 is outside"),
        ("VAL_K=1", "there is no search parameter or weight 'VAL_K'; did you mean"),
        ("razor_depth=deep", "razor_depth = 'deep' is not a whole number"),
        ("default,Threads=2", "'Threads'; did you mean 'threads'?"),
        ("evalfile=gen12", "'evalfile'; did you mean 'EvalFile'?"),
        ("default,razor_depth=2,razor_depth=3", "'razor_depth' is set twice"),
        ("default,option.Hash=5", "'option.Hash'; did you mean 'hash'?"),
    ],
)
def test_a_player_that_cannot_be_is_refused(player, complaint, capsys):
    assert main(["match", "default", player]) == 2
    assert complaint in capsys.readouterr().err


def test_a_mistyped_player_is_answered_with_the_nearest_file_of_its_folder(tmp_path):
    for name in ("mine.txt", "mnie.txt.lock"):
        (tmp_path / name).touch()
    with pytest.raises(PlayerError, match=r"neither a weights file nor a program; did you mean 'mine\.txt'\?"):
        read_player(str(tmp_path / "mnie.txt"))


def test_a_player_may_be_an_evaluation_that_comes_with_merino():
    full, net = read_player("full,nodestime=500"), read_player("gen12")
    assert isinstance(full, OwnPlayer) and full.evaluation.identity["terms"] == "full"
    assert isinstance(net, OwnPlayer) and not net.evaluation.has_terms


def test_a_program_named_by_its_whole_path_is_an_engine_and_no_weights_file():
    player = read_player(f"{sys.executable},option.Skill Level=5,name=other")
    assert isinstance(player, OtherPlayer)
    assert player.command == (sys.executable,) and player.options == {"Skill Level": "5"}


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


def test_equal_players_draw_a_match(capsys):
    assert main(["match", "default", "default", "--games", "4", "--nodes", "100", "--concurrency", "1"]) == 0
    assert "Penta | [0, 0, 2, 0, 0]" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("number", "winner", "points"),
    [(0, WHITE, 2), (0, BLACK, 0), (0, None, 1), (1, WHITE, 0), (1, BLACK, 2), (1, None, 1)],
)
def test_the_first_player_wins_what_his_colour_wins(number, winner, points):
    assert game(number, winner).points == points


def test_the_two_games_of_one_opening_make_a_pair():
    tally = Tally()
    for number, winner in enumerate([WHITE, BLACK, WHITE, WHITE, BLACK, None, None]):
        tally.add(game(number, winner))
    assert tally.points.tolist() == [2, 2, 3]
    assert tally.pairs.tolist() == [0, 1, 1, 0, 1], "two wins; a win and a loss; a loss and a draw; one to come"


@pytest.mark.parametrize("reason", FAULTS)
def test_a_fault_is_that_of_the_player_who_lost_by_it(reason):
    tally = Tally()
    for number, winner in enumerate([WHITE, WHITE, WHITE, WHITE, BLACK, WHITE]):
        tally.add(game(number, winner, reason))
    assert tally.faults[reason] == [4, 2], "the first player lost the games 1, 3, 4 and 5"


def test_the_two_games_of_a_pair_are_played_with_both_colours(monkeypatch):
    played: list[tuple[int, bool]] = []

    def play(number: int, _: object, first_is_white: bool) -> int:
        played.append((number, first_is_white))
        return number

    monkeypatch.setattr("merino.match.engines.board_of", lambda *_: SimpleNamespace(play=play, stop=str, close=str))
    player = OwnPlayer("Merino")
    config = MatchConfig((player, player), TimeControl(nodes=1), plies=0)
    assert list(runner.play_match(config, 4, 1, first=2)) == [2, 3]  # type: ignore[comparison-overlap]
    assert played == [(2, True), (3, False)]


def test_a_test_is_decided_by_whole_pairs_only():
    match = object.__new__(runner._Match)
    match._config, match._sprt = SimpleNamespace(games=4), SimpleNamespace(verdict=lambda _: "H1")  # type: ignore[assignment]
    match._result = runner.MatchResult(Tally())
    over = []
    for number in range(3):
        match._result.tally.add(game(number, WHITE))
        over.append(match._is_over())
    assert over == [False, True, False]
