"""`import merino`: one small name for Python, whose examples run."""

import asyncio
import builtins
import doctest
import inspect
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import chess
import chess.pgn
import chess.variant
import numpy as np
import pytest

import merino
import merino.eval.families
import merino.library
from merino.engine.search.parameters import PARAMETERS
from merino.match.config import DEFAULT_MARGIN_MS

ROOT = Path(__file__).resolve().parent.parent
OFFERED = sorted(merino._names().keys() - {"__version__"})


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """A folder to work in, with none of the user's weights."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERINO_WEIGHTS", str(ROOT / "weights" / "default.txt"))
    return tmp_path


@pytest.mark.parametrize("name", OFFERED)
def test_each_name_is_had_from_its_module_and_documented(name):
    found = getattr(merino, name)
    assert found is getattr(chess, name, None) or found.__name__ == name
    assert inspect.getdoc(found)
    assert name in dir(merino)


@pytest.mark.parametrize(
    "call",
    [
        lambda: merino.read_move("startpos", "Bb6"),
        lambda: merino.read_move("startpos", "hello"),
        lambda: merino.Position().push_all(["e2e4", "e2e4"]),
        lambda: merino.Position("8/8/8/8/8/8/8/8 w - - 0 1"),
        lambda: merino.load_evaluation("nosuch"),
        lambda: merino.play_match("default", openings="nosuch.epd"),
    ],
    ids=["rejected", "no move", "illegal", "fen", "evaluation", "broken off"],
)
def test_errors_come_from_other_processes_as_they_were_raised(call):
    with pytest.raises((merino.MerinoError, merino.IllegalMoveError)) as raised:
        call()
    copied = pickle.loads(pickle.dumps(raised.value))
    assert type(copied) is raised.type and str(copied) == str(raised.value)
    assert vars(copied).keys() == vars(raised.value).keys()


def test_an_unknown_name_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match="module 'merino' has no attribute 'Sercher'"):
        merino.Sercher  # noqa: B018


def test_importing_loads_nothing_until_a_name_is_used():
    code = (
        "import sys; before = set(sys.modules); import merino; "
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('merino')))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert loaded.split() == []


def test_no_module_of_the_library_is_in_the_way_of_a_name():
    assert not {path.stem for path in (ROOT / "merino").glob("*.py")} & set(OFFERED)


def test_the_examples_in_the_docstrings_are_true(empty_folder):
    results = [doctest.testmod(sys.modules[name]) for name in ("merino.library", "merino.eval.families")]
    assert [result.attempted > 0 for result in results] == [True, True]
    assert not any(result.failed for result in results)


def test_the_examples_of_the_page_are_true(empty_folder):
    result = doctest.testfile(str(ROOT / "docs" / "library.md"), module_relative=False)
    assert result.attempted > 20
    assert not result.failed


def test_evaluations_are_from_whites_view_whoever_is_to_move():
    fens = [f"4k3/8/8/8/8/8/8/Q3K3 {side} - - 0 1" for side in "wb"]
    white, black = map(merino.evaluate, fens)
    assert white > 500 and black > 500
    assert merino.evaluate(merino.Position(fens[1])) == black


def test_a_fen_that_needs_chess960_is_one_of_chess960():
    fen = "4k3/8/8/8/8/8/8/1RK2R2 w FB - 0 1"
    for position in (fen, merino.Position(fen)):
        castled = merino.read_move(position, "O-O")
        assert castled.uci(chess960=True) == "c1f1" and merino.san(position, castled) == "O-O"
        report = merino.explain(position, limits=merino.Limits(depth=2))
        assert {"c1b1", "c1f1"} <= {move.uci for move in report.moves}
    usual = merino.Position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert not usual.chess960 and "e1g1" in {move.uci for move in merino.explain(usual).moves}
    elsewhere = "1k2r3/8/8/8/8/8/8/R3K2R w"
    assert not merino.Position(f"{elsewhere} KQ -").chess960 and merino.Position(f"{elsewhere} k -").chess960


def test_a_position_against_the_rules_is_explained_and_not_searched():
    without_king = "8/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert "king" in str(merino.explain(without_king).fault)
    with pytest.raises(merino.FenError):
        merino.explain(without_king, limits=merino.Limits(depth=2))


USELESS = [
    ("Limits(depth='8')", "depth must be a whole number from 1 on, not '8'"),
    ("Limits(nodes=10**30)", "nodes must be a whole number from 1 to 1000000000000000, not 1000"),
    ("Limits(movetime=nan)", "movetime (in milliseconds) must be a whole number from 1 to"),
    ("Limits(time=(-1, 5))", "time (in milliseconds) must be a whole number from 0 to"),
    ("Limits(time=5)", "time must be two values, White's and Black's, not 5"),
    ("Limits(search_moves=['e2e4'])", "each of search_moves (parse_uci makes one of a text) must be"),
    ("Searcher(evaluation=12)", "evaluation must be an Evaluation, as load_evaluation returns it, not 12"),
    ("evaluate('startpos', 12)", "evaluation must be an Evaluation, the name of one such as 'gen12', or None, not 12"),
    ("Searcher(parameters=(1, 2))", "parameters must be "),
    ("searcher.set_threads(None)", "threads must be a whole number from 1"),
    ("searcher.search(3, depth=1)", "position must be a Position, a chess.Board, a FEN or 'startpos', not 3"),
    ("searcher.search('startpos', 8)", "limits must be Limits, such as Limits(depth=8), or None, not 8"),
    ("searcher.search('startpos')", "a search needs a limit, such as depth=8"),
    ("searcher.search('startpos', Limits(moves_to_go=3))", "a search needs a limit"),
    ("next(searcher.lines('startpos'))", "a search needs a limit"),
    ("explain('startpos', limits=Limits())", "a search needs a limit"),
    ("searcher.search('startpos', Limits(depth=1), depth=2)", "limits are given as Limits or by name, not both"),
    ("searcher.search('startpos', Limits(depth=1, search_moves=[chess.Move(1, 2)]))", "search_moves: b1c1 is not"),
    ("Position(chess.variant.AtomicBoard())", "a board of atomic is not one of chess or Chess960"),
    ("Position().push(chess.Move.from_uci('e2e5'))", "e2e5 is not legal"),
    ("Position().push_san('Ke2')", "illegal san: 'Ke2'"),
    ("counts(['startpos'], 'gen12')", "has no terms to count"),
    ("annotate('games.pgn', 3)", "limits must be Limits"),
    ("annotate(3)", "games must be the path of a file, or games of read_games or python-chess, not 3"),
    ("annotate(['games.pgn'])", "each of games must be a game of read_games or of python-chess, not 'games.pgn'"),
    ("profile('games.pgn', 3)", "player must be the name of a player, or a part of it, not 3"),
    ("evaluate(3)", "position must be a Position, a chess.Board, a FEN or 'startpos', not 3"),
    ("explain('startpos', limits=3)", "limits must be Limits"),
    ("explain('startpos', limits=Limits(depth=1), searcher=4)", "searcher must be a Searcher or None, not 4"),
    ("load_evaluation('nosuch')", "Merino comes with default, full, gen1, gen12,"),
    ("load_evaluation(3)", "the name of an evaluation must be a path or a name such as 'gen12', not 3"),
    ("Position(None)", "fen must be a Position, a chess.Board, a FEN or 'startpos', not None"),
    ("Position().push('e4')", "the move (push_uci takes a text) must be"),
    ("Position().push_uci(5)", "each move must be a text like 'e2e4', not 5"),
    ("Position().push_all('e2e4')", "push_all takes a sequence of moves, not the text 'e2e4', which push_uci plays"),
    ("Position().piece_at(-1)", "square must be a whole number from 0 to 63, not -1"),
    ("san('startpos', 5)", "f1a1 is not legal in "),
    ("san('startpos', 'e4')", "the move (parse_uci makes one of a text) must be"),
    ("read_move('startpos', 5)", "the move must be a text such as 'Nf3' or 'g1f3', not 5"),
    ("TimeControl(nodes=1, hash=10**9)", "hash must be a whole number from 1 to 65536, not 1000"),
    ("TimeControl(clock=5)", "clock must be a Clock, not 5"),
    ("Clock(-1)", "base of a clock must be a whole number from 0 to 1000000000, not -1"),
    ("Sprt(5, 0)", "elo0 must be below elo1, not 5 and 0"),
    ("Sprt(nan, 5)", "elo0 must be a number from -200 to 200, not nan"),
    (
        "Clock(10**5000)",
        "base of a clock must be a whole number from 0 to 1000000000, not what has thousands of digits",
    ),
    ("Sprt(0, 5, model='x')", "model must be one of normalized, logistic, not 'x'"),
    ("Sprt(0, 5, 0.5, 0.5)", "one of alpha and beta must be below 0.5, or nothing is tested, not both 0.5"),
    ("Selection(positions='x')", "positions must be one of all, quiet, qsearch, not 'x'"),
    ("Settings(first=0)", "first must be a whole number from 1 on, not 0"),
    ("Settings(k=nan)", "k must be a number from 1 to 1e+09, not nan"),
    ("Settings(target='x')", "'x' is not one of result, search and blend=X"),
    ("Settings(target=0.5)", "target must be a Target, or its name: result, search or blend=X, not 0.5"),
    ("Settings(names='VAL_N')", "names must be a sequence of names of terms, not the text 'VAL_N'"),
    ("Settings(method='x')", "method must be one of gauss-newton, descent, not 'x'"),
    ("learn_weights(3)", "files must be the path of a file or a sequence of them, not 3"),
    ("learn_weights('games.pgn', settings=3)", "settings must be Settings or None, not 3"),
    ("learn_weights('games.pgn', concurrency=0)", "concurrency must be a whole number from 1 to 1024, not 0"),
    ("play_match('nobody.txt')", "'nobody.txt' is neither a weights file nor a program"),
    ("play_match(3)", "each player must be a text as for 'merino match', or a player, not 3"),
    ("play_match('default', games=0)", "games must be a whole number from 1 to 1000000000, not 0"),
    ("searcher.search('startpos', Limits(depth=1), 3)", "on_line must be a function that takes a Line, or None, not 3"),
    ("learn_weights('games.pgn', say=3)", "say must be a function that takes a text, or Events, not 3"),
    ("play_match('default', sprt=3)", "sprt must be an Sprt or None, not 3"),
    ("play_match('default', time_control=5)", "time_control must be a TimeControl or None, not 5"),
    ("play_match('default', openings=3)", "openings must be the path of a file or None, not 3"),
    ("OwnPlayer('x', parameters='abc')", "parameters must be a tuple of whole numbers"),
    ("OwnPlayer('x', parameters=(-5,) * numbers)", "exchange_pawn must be a whole number from 1 to 2000, not -5"),
    ("OwnPlayer('x', options=['elo'])", "options must be a mapping from words to whole numbers, not ['elo']"),
    ("OtherPlayer('x', ())", "command must name a program"),
    ("OtherPlayer('x', 'stockfish')", "command must be a tuple of words, such as ('stockfish',), not 'stockfish'"),
    ("load_evaluation('default').with_k(0)", "k must be a number from 0.001 to 1e+09, not 0"),
    ("load_evaluation('default').with_numbers(3)", "values must be a mapping from names to numbers, not 3"),
    ("load_evaluation('default').with_numbers({'VAL_Q': 'x'})", "VAL_Q must be a number, not 'x'"),
    ("load_evaluation('default').with_numbers({'VAL_Q': nan})", "VAL_Q = nan is outside"),
]


@pytest.mark.parametrize(("call", "said"), USELESS, ids=[call for call, _ in USELESS])
def test_an_argument_that_cannot_be_used_is_refused_with_what_is_wanted(call, said):
    names = {name: getattr(merino, name) for name in OFFERED} | {"nan": float("nan"), "numbers": len(PARAMETERS)}
    names |= {"chess": chess}
    if "searcher." in call:
        names["searcher"] = merino.Searcher(hash_mb=1)
    with pytest.raises((TypeError, ValueError, merino.MerinoError)) as caught:
        builtins.eval(call, names)  # the calls of the list above
    assert said in str(caught.value)


def test_a_position_may_be_a_fen_startpos_or_a_board_wherever_one_is_wanted():
    fen = "4k3/8/8/8/8/8/8/Q3K3 w - - 0 1"
    searcher = merino.Searcher(hash_mb=1)
    for text, position in (("startpos", merino.Position()), (fen, merino.Position(fen))):
        found = []
        for place in (text, position, position.to_chess()):
            searcher.clear()
            found.append(searcher.search(place, depth=2).best)
            assert merino.evaluate(place) == merino.evaluate(position)
            assert merino.explain(place).summary == merino.explain(position).summary
            assert merino.Position(text) == position and hash(merino.Position(text)) == hash(position)
        assert len(set(found)) == 1
    assert merino.san("startpos", merino.read_move(chess.Board(), "Nf3")) == "Nf3"


@pytest.mark.parametrize(("home", "chess960"), [("r3k2r", False), ("rk2r3", True)])
def test_games_of_python_chess_come_back_as_they_went(home, chess960):
    board = chess.Board(f"{home}/8/8/8/8/8/8/{home.upper()} w KQkq - 0 1", chess960=chess960)
    for _ in range(2):
        before, move = merino.Position(board), next(move for move in board.legal_moves if board.is_castling(move))
        assert before.legal(move).to_chess(chess960) == move and before.san(move) == board.san(move)
        assert before.turn is board.turn is (merino.WHITE if before.side == 0 else merino.BLACK)
        limits = merino.Limits(depth=1, search_moves=[move])
        assert merino.Searcher(hash_mb=1).search(board, limits).best == before.legal(move)
        board.push(move)
        after = merino.Position(board)
        assert after != before and after.to_chess() == board and after.to_chess().move_stack == board.move_stack


def test_a_searcher_streams_awaits_and_leaves_no_search_running():
    endless = merino.Limits(infinite=True)
    with merino.Searcher(hash_mb=1) as searcher:
        seen = [line.depth for line in searcher.lines("startpos", depth=5)]
        assert seen[-1] == 5 and sorted(seen) == seen
        for line in searcher.lines("startpos", endless):
            if line.depth == 3:
                break
        searcher.wait()  # the loop that was left has stopped it

        async def cancelled():
            task = asyncio.create_task(searcher.search_async("startpos", endless))
            while not searcher.searching:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await searcher.search_async("startpos", nodes=100)

        assert asyncio.run(cancelled()).line.nodes >= 100
        searcher.start("startpos", endless, lambda line: None, lambda result: None)
    assert not searcher.searching


def test_what_python_shows_of_results_is_short(tmp_path):
    result = merino.Searcher(hash_mb=1).search("startpos", depth=1)
    match = merino.play_match(
        "default", games=2, time_control=merino.TimeControl(nodes=20), pgn=(pgn := tmp_path / "g.pgn")
    )
    player, nodes = next(merino.read_games(pgn)).tags["White"], merino.Limits(nodes=100)
    of_games = [*merino.read_games(pgn), *merino.annotate(pgn, nodes, judge="terms")]
    of_games += [of_games[-1].moves[0], merino.profile(pgn, player, judge="terms")]
    board = merino.explain("startpos"), merino.load_evaluation(), merino.Position(), merino.counts(["startpos"] * 50)
    for shown in (*of_games, *board, result, match):
        assert len(repr(shown)) < 500 and " object at " not in repr(shown)


def test_games_are_annotated_from_a_file_as_read_and_as_python_chess_has_them(tmp_path) -> None:
    pgn, nodes = tmp_path / "g.pgn", merino.Limits(nodes=500)
    pgn.write_text('[White "A"]\n\n1. e4 e5 2. Qh5 Ke7 3. Qxe5# 1-0\n\n1. f3 e5 2. g4 Qh4# 0-1\n', encoding="utf-8")
    with pgn.open(encoding="utf-8") as file:
        boards = [chess.pgn.read_game(file) for _ in range(2)]
    read = list(merino.read_games(pgn))
    by_file, *others = (list(merino.annotate(games, nodes, judge="terms")) for games in (pgn, iter(read), boards))
    moves = [each.moves for each in by_file]
    assert [[move.grade.name for move in each if move.grade] for each in moves] == [["blunder"], ["blunder"]]
    assert all([each.moves for each in other] == moves for other in others)
    assert [each.moves for each in merino.annotate(read[1], nodes, judge="terms")] == moves[1:]


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_notebooks_run(notebook, empty_folder):
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # what the reader would run
    assert merino is names["merino"]


def test_the_games_of_a_match_go_to_a_file_that_is_looked_at_before(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    control = merino.TimeControl(nodes=20)
    assert merino.play_match("default", time_control=control, games=2, pgn="~/games.pgn").tally.games == 2
    odd = merino.OwnPlayer("caf\udce9")  # with a byte that is no character
    assert merino.play_match(odd, "default", control, games=2, pgn="~/games.pgn").tally.games == 2
    written = (tmp_path / "games.pgn").read_text()
    assert written.count("[Event ") == 4 and '[White "caf\\\\udce9"]' in written
    with pytest.raises(merino.MerinoError, match="there is no such folder") as raised:
        merino.play_match("default", time_control=control, games=2, pgn=tmp_path / "nowhere" / "games.pgn")
    assert not hasattr(raised.value, "result")  # of games that were played in vain


EXAMPLES = doctest.DocTestParser().get_examples((ROOT / "docs" / "library.md").read_text(encoding="utf-8"))
USERS_PROGRAM = """
import merino

searcher = merino.Searcher(hash_mb=1, threads=1, evaluation=merino.load_evaluation("gen12"))
result: merino.SearchResult = searcher.search("startpos", merino.Limits(depth=3))
score: int = merino.evaluate("startpos")
report: merino.PositionReport = merino.explain("startpos", limits=merino.Limits(nodes=10))
if result.best is not None:
    name: str = merino.san("startpos", result.best)
move: merino.Move = merino.read_move(merino.Position(), "e4")
searcher.search(3, merino.Limits(depth=3))
merino.evaluate(3)
merino.Limits(depth="8")
"""


def test_strict_type_checking_of_a_users_program_knows_what_is_taken(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(USERS_PROGRAM + "".join(example.source for example in EXAMPLES))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"]
    kept = ROOT / "build" / "types-of-programs"  # what mypy knows of our modules, until they change
    config = ["--config-file", os.devnull, "--cache-dir", str(kept), str(program)]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    done = subprocess.run([*command, *config], env=environment, capture_output=True, text=True, check=False)
    wrong = [index for index, line in enumerate(USERS_PROGRAM.splitlines(), start=1) if "(3" in line or '"8"' in line]
    assert [int(line.split(":")[1]) for line in done.stdout.splitlines()] == wrong, done.stdout


def ours_in(hint: object) -> set[str]:
    """The classes of Merino that a type is made of, by name."""
    found = set().union(*map(ours_in, get_args(hint)))
    return found | ({hint.__name__} if getattr(hint, "__module__", "").startswith("merino.") else set())


@pytest.mark.parametrize(
    "name",
    ["evaluate", "explain", "learn_weights", "play_match", "Searcher", "Settings", "Selection", "Sprt", "TimeControl"],
)
def test_what_is_taken_can_be_made_by_the_names_that_are_offered(name):
    taker = getattr(merino, name)
    hints = get_type_hints(taker.__init__ if isinstance(taker, type) else taker)
    hints.pop("return", None)
    assert hints and set().union(*map(ours_in, hints.values())) <= set(OFFERED)


def test_choices_may_be_given_as_texts():
    counts = np.array([10, 20, 50, 30, 15])
    assert merino.Sprt(0, 5, model="logistic").llr(counts) == merino.Sprt(0, 5, model=merino.Model.LOGISTIC).llr(counts)
    assert merino.Settings(target="blend=0.5").target == merino.Target(0.5)
    assert merino.Selection(positions="qsearch").positions is merino.Quiet.RESOLVED


def test_a_match_by_default_has_a_limit_and_a_margin_and_takes_numbers_of_numpy(monkeypatch):
    played = []
    monkeypatch.setattr("merino.match.runner.run_match", lambda config, *_: played.append(config))
    for control in (None, merino.TimeControl(hash=2), merino.TimeControl(movetime=np.int64(50))):
        merino.play_match("default", time_control=control, games=np.int64(2), seed=np.int32(3))
    assert [config.time_control.nodes for config in played] == [1000, 1000, None]
    assert [config.time_control.hash for config in played] == [None, 2, None]
    assert {config.margin for config in played} == {DEFAULT_MARGIN_MS}
    assert [config.identity()["effort"]["movetime"] for config in played] == [None, None, 50]
    assert played[0].identity()["seed"] == 3
