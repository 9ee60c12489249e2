"""Tuning by games: what is kept, continued and replayed, and what a crash costs."""

import itertools
import json
import math
import pickle
import re
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from merino.core.board.fen import START_FEN
from merino.core.common import errors, work
from merino.core.common.command import UsageError
from merino.engine.search.parameters import PARAMETERS, parameters_for
from merino.eval import evaluation, families
from merino.eval.linear.weights import defaults
from merino.formats.openings import Opening, OpeningError
from merino.lab import arrays
from merino.lab.tune import parameters, rules, tuning
from merino.lab.tune.command import run_spsa
from merino.lab.tune.methods import METHODS, method_of
from merino.match import config, runner
from merino.match.games import Reason, Tally
from merino.match.players import OtherPlayer, OwnPlayer, Player, read_player
from tests.full_disk import no_room

ROWS = (
    parameters.TunedParameter("RookOpen_mg", 17, -200, 200, 30),
    parameters.TunedParameter("razor_margin", 200, 50, 800, 40, elo=3, dist=80),
)


def configuration(pairs: int = 40, method: str = "bspsa", **other) -> tuning.Configuration:
    identity = {"weights": defaults().tolist()}
    return tuning.Configuration(
        ROWS, method, pairs, seed=3, ahead=4, time_control=config.TimeControl(nodes=30), identity=identity, **other
    )


def test_results_are_taken_in_the_order_in_which_pairs_were_handed_out() -> None:
    tune = tuning.Tune.new(configuration(pairs=6))
    assert [pair.number for pair in iter(tune.ask, None)] == [1, 2, 3, 4], "no more than four are under way"
    tune.tell(2.0)
    tune.tell(math.nan)
    assert [pair.number for pair in iter(tune.ask, None)] == [5, 6], "and no more than there are"
    for y in (-2.0, 1.0, 0.0, 0.5):
        tune.tell(y)
    assert [(result.number, result.y) for result in tune.done if result.number != 2] == [
        *((1, 2.0), (3, -2.0), (4, 1.0), (5, 0.0), (6, 0.5))
    ]
    assert (tune.is_over, tune.lost) == (True, 1)


def judge(lose: int = 0) -> tuning.PlayPair:
    """Plays no games: the player with more RookOpen_mg wins, unless a pair is to be lost."""

    def judged(_: tuning.Configuration, __: work.RunName, task: tuning.TunePair) -> tuning.PairOutcome:
        pair = task.pair
        if pair.number == lose:
            return tuning.PairOutcome(math.nan, "the engine died")
        return tuning.PairOutcome(2.0 * float(np.sign(pair.plus[0] - pair.minus[0])))

    return judged


def play(tune: tuning.Tune, threads: int = 2, **broken) -> tuning.Tune:
    tuning.play_tune(tune, threads, lambda now: None, judge(**broken))
    return tune


@pytest.mark.parametrize("method", list(METHODS))
def test_a_tune_goes_where_the_games_are_won(method):
    tune = play(tuning.Tune.new(configuration(method=method)))
    assert tune.is_over
    assert tune.estimate()[0] > ROWS[0].start
    lines = tuning.result_lines(tune)
    assert lines[0] == f"{method} after 40 pairs:"
    assert "# OpenBench" in lines
    assert any("Expected against the start" in line for line in lines) == (METHODS[method].deviations is not None)


def test_the_course_of_a_tune_does_not_depend_on_the_number_of_threads():
    one, three = (play(tuning.Tune.new(configuration()), threads) for threads in (1, 3))
    assert np.array_equal(one.estimate(), three.estimate())


@pytest.mark.parametrize("method", list(METHODS))
def test_an_integer_stays_one_at_bounds_that_are_none(method: str):
    rows = (
        parameters.TunedParameter("razor_depth", 2, 0.5, 3.5, 2),
        parameters.TunedParameter("RookOpen_mg", 0.5, 0.5, 7.5, 30),
    )
    tune = play(tuning.Tune.new(replace(configuration(method=method), parameters=rows)))
    played = np.array([[pair.plus, pair.minus] for pair in tune.done])
    assert set(played[..., 0].ravel()) <= {1, 2, 3} and set(played[..., 1].ravel()) <= set(range(1, 8))
    assert all(row.low <= value <= row.high for row, value in zip(rows, tuning.tuned_values(tune), strict=True))


@pytest.mark.parametrize("step", ["next_pair", "after"])
def test_ctrl_c_while_a_tune_counts_leaves_it_as_it_was(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tune, count = tuning.Tune.new(configuration()), getattr(tuning, step)
    tune.ask()
    tune.save(tmp_path / "before.npz")

    def broken_off(*given: object) -> None:
        count(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, step, broken_off)
    with pytest.raises(KeyboardInterrupt):
        _ = tune.ask() if step == "next_pair" else tune.tell(2.0)
    tune.save(tmp_path / "after.npz")
    assert (tmp_path / "after.npz").read_bytes() == (tmp_path / "before.npz").read_bytes()


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_replay_is_the_tune_itself_for_its_method_and_another_for_others(method):
    tune = play(tuning.Tune.new(configuration()), lose=5)
    assert tune.is_over and tune.lost == 1 and math.isnan(tune.done[4].y)
    assert tune.state.moments[0] == 39, "a crash costs one pair"
    settings = tune.configuration.settings(method)
    way = list(tuning.replay(tune, settings))
    assert np.array_equal(way[-1][1].mean[0], tune.state.mean[0]) == (method is METHODS["bspsa"])
    assert method_of(settings) is method
    assert [number for number, _ in way] == list(range(41))
    assert way[5][1] is way[4][1]  # of the pair that was lost


def saved(path: Path, **changes: np.ndarray) -> Path:
    """A file of a new tune, with other arrays."""
    tuning.Tune.new(configuration()).save(path)
    path.write_bytes(arrays.as_npz(arrays.from_npz(path.read_bytes()) | changes))
    return path


def test_a_file_with_another_configuration_is_refused(tmp_path: Path):
    path = saved(tmp_path / "tune.npz", configuration=np.array(replace(configuration(), seed=4).text()))
    with pytest.raises(parameters.TuneError, match="its configuration has been changed"):
        tuning.load_tune(path)
    path.write_bytes(b"nothing")
    with pytest.raises(parameters.TuneError, match="is not a tune"):
        tuning.load_tune(path)
    with pytest.raises(parameters.TuneError, match="No such file"):
        tuning.load_tune(tmp_path / "missing.npz")


@pytest.mark.parametrize(
    ("name", "array"),
    [("mean", np.zeros(3)), ("mean", np.zeros((1, 9))), ("random", np.zeros(1)), ("plus", np.zeros((3, 1)))],
)
def test_a_file_whose_arrays_do_not_fit_the_tune_is_refused(tmp_path: Path, name: str, array: np.ndarray):
    with pytest.raises(parameters.TuneError, match=rf"tune\.npz' is not a tune: '{name}' is float64"):
        tuning.load_tune(saved(tmp_path / "tune.npz", **{name: array}))


def test_a_file_without_a_later_setting_is_continued(tmp_path: Path):
    older = json.loads(configuration().text())
    del older["plies"], older["effort"]["hash"]
    text = json.dumps(older)
    path = saved(tmp_path / "tune.npz", configuration=np.array(text), hash=np.array(tuning.configuration_hash(text)))
    assert tuning.load_tune(path).configuration == configuration()


def test_players_get_the_values_of_their_side():
    player = tuning.own_player("a", ROWS, np.array([33.0, 250.0]), families.default())
    weights = np.array(player.evaluation.identity["weights"])
    names = [row.name for row in PARAMETERS]
    assert player.parameters[names.index("razor_margin")] == 250
    assert (weights != defaults()).sum() == 1
    assert 33 in weights
    own, other = (
        tuning.players_of(configuration(engine=command), np.array([33.0, 250.0]), np.array([9.0, 150.0]))
        for command in ((), ("x",))
    )
    assert [each.parameters[names.index("razor_margin")] for each in own] == [250, 150]
    assert [each.options["razor_margin"] for each in other] == ["250", "150"]
    with pytest.raises(parameters.TuneError, match="razor_margin is an integer"):
        parameters.check_tunable((replace(ROWS[1], whole=False),), parameters.own_parameters(families.default()))


def test_the_player_who_gives_his_pieces_away_loses_the_pair():
    names = ("VAL_Q_mg", "VAL_Q_eg", "VAL_R_mg", "VAL_R_eg")
    rows = tuple(parameters.TunedParameter(name, 600, 0, 2000, 100) for name in names)
    settings = replace(configuration(), parameters=rows, time_control=config.TimeControl(nodes=300))
    sane, mad = np.array([1200.0, 1200.0, 600.0, 600.0]), np.zeros(4)
    with work.begun() as run:
        results = [
            tuning.play_pair(settings, run, tuning.TunePair(rules.PairResult(number, sane, mad, math.nan)))
            for number in (1, 2, 3)
        ]
    assert sum(result.y for result in results) >= 4


def opening_of(pair: int) -> Opening:
    return Opening(moves=(str(pair),))


@pytest.mark.parametrize("points", list(itertools.product((0, 1, 2), repeat=2)))
def test_the_two_games_of_a_pair_have_its_opening_and_both_colours(points: tuple[int, int], monkeypatch):
    played: list[tuple[object, ...]] = []

    def game(*given: object) -> SimpleNamespace:
        played.append(given)
        return SimpleNamespace(reason=Reason.CHECKMATE, points=points[given[0]])

    monkeypatch.setattr(tuning, "board_of", lambda *_: SimpleNamespace(play=game, stop=str, close=str))
    monkeypatch.setattr(config.MatchConfig, "source", lambda *_: SimpleNamespace(opening=opening_of))
    task = tuning.TunePair(rules.PairResult(7, *(np.array([17.0, 200.0]),) * 2, math.nan))
    with work.begun() as run:
        assert tuning.play_pair(configuration(), run, task).y == sum(points) - 2
    assert played == [(0, opening_of(7), True), (1, opening_of(7), False)]


@pytest.mark.parametrize("done", [0, 1, 3])
@pytest.mark.parametrize("openings", [None, "o.epd"])
def test_a_tune_goes_on_with_the_pairs_that_were_handed_out_and_their_openings(done, openings, tmp_path, monkeypatch):
    monkeypatch.setattr(config.MatchConfig, "source", lambda *_: SimpleNamespace(opening=opening_of))
    tune, played = tuning.Tune.new(configuration(9, openings=openings)), []
    asked = [pair.number for pair in iter(tune.ask, None)]
    for _ in range(done):
        tune.tell(1.0)
    tune.save(tmp_path / "tune.npz")

    def note(_: tuning.Configuration, __: work.RunName, task: tuning.TunePair) -> tuning.PairOutcome:
        played.append((task.pair.number, task.opening))
        return tuning.PairOutcome(0.0)

    tuning.play_tune(tuning.load_tune(tmp_path / "tune.npz"), 1, lambda _: None, note)
    numbers = range(done + 1, 10)
    assert asked == [1, 2, 3, 4]
    assert played == [(number, opening_of(number) if openings else None) for number in numbers]


def test_a_pair_is_a_plain_function_of_data_that_can_be_sent_elsewhere():
    with work.begun() as run:
        pair = rules.PairResult(1, np.array([90.0, 100.0]), np.array([-90.0, 300.0]), math.nan)
        task = configuration(), run, tuning.TunePair(pair)
        assert tuning.play_pair(*pickle.loads(pickle.dumps(task))) == tuning.play_pair(*task)
    assert math.isnan(tuning.play_pair(*task).y)  # its run is over


OPTIONS = "option name Bold type spin default 5 min 0 max 10\noption name Style type combo default calm var wild"


@pytest.fixture
def engine() -> tuple[str, ...]:
    """The command line of an engine that dies when it is too bold."""
    return sys.executable, str(Path(__file__).with_name("fake_engine.py")), OPTIONS


def test_an_engine_that_dies_costs_its_pair_and_not_the_tune(engine: tuple[str, ...], caplog):
    rows = (parameters.TunedParameter("Bold", 7, 0, 10, 1.5),)
    tune = tuning.Tune.new(replace(configuration(pairs=4), parameters=rows, engine=engine, identity={}))
    tuning.play_tune(tune, 2, lambda now: None)
    lost = [pair for pair in tune.done if math.isnan(pair.y)]
    assert [max(pair.plus[0], pair.minus[0]) >= 9 for pair in tune.done] == [math.isnan(pair.y) for pair in tune.done]
    assert 0 < len(lost) < 4
    assert re.search(r"is lost, Bold \d+ against \d+: engine failed", caplog.text)


def test_an_engine_that_always_dies_ends_the_tune(engine: tuple[str, ...]):
    rows = (parameters.TunedParameter("Bold", 9.9, 9, 10, 1),)
    settings = replace(configuration(pairs=100), parameters=rows, engine=(*engine[:1], "-c", "pass"), identity={})
    tune = tuning.Tune.new(settings)
    with pytest.raises(parameters.TuneError, match="10 pairs in a row could not be played"):
        tuning.play_tune(tune, 2, lambda now: None)


def test_the_numbers_of_an_engine_are_those_it_names(engine: tuple[str, ...], tmp_path: Path):
    numbers = {"Bold": evaluation.Number(5, 0, 10), "Contempt": evaluation.Number(0, -9, 9)}
    assert tuning.engine_options(engine) == numbers
    with pytest.raises(parameters.TuneError, match="does not start"):
        tuning.engine_options((sys.executable, "-c", "pass"))
    file = tmp_path / "file.txt"
    file.write_text("Bald, 5, 0, 10, 1, 0.002\n")
    order = ["tune", str(file), "--engine", shlex.join(engine), "--pairs", "2"]
    with pytest.raises(errors.MerinoError, match=r"has no number named 'Bald'; did you mean 'Bold'\?"):
        run_spsa(order)
    with pytest.raises(UsageError, match="there is no program 'no-such-engine'"):
        run_spsa([*order[:2], "--engine", "no-such-engine"])
    file.write_text("Bold, float, 3, 0, 8, 1, 0.002\n")
    for command in ("tune", "plan"):
        with pytest.raises(errors.MerinoError, match="Bold is an integer; its type must not be float"):
            run_spsa([command, str(file), "--engine", shlex.join(engine)])
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize("command", ["tune", "plan"])
@pytest.mark.parametrize("option", ["--weights", "--evalfile"])
def test_an_engine_of_somebody_else_has_no_evaluation_of_merino(command: str, option: str, tmp_path: Path):
    with pytest.raises(UsageError, match=f"spsa {command}: --weights and --evalfile are for Merino"):
        run_spsa([command, str(tmp_path / "x.txt"), "--engine", sys.executable, option, "/nonexist"])


def test_the_options_of_an_engine_are_tuned_at_a_clock(engine: tuple[str, ...], tmp_path: Path, capsys):
    file = tmp_path / "bold.txt"
    file.write_text("Bold, 3, 0, 8, 1, 0.002\n")
    order = ["tune", str(file), "--engine", shlex.join(engine), "--pairs", "1", "--tc", "20+0.1", "--concurrency", "1"]
    assert run_spsa(order) == 0
    said = capsys.readouterr().out
    assert "adaptive after 1 pairs:" in said
    assert "tuned evaluation" not in said
    player = player_named(said)
    assert isinstance(player, OtherPlayer)
    assert player.command == engine
    assert 0 <= int(player.options["Bold"]) <= 8
    assert tuning.load_tune(tmp_path / "bold.tune.npz").configuration.time_control.clock == config.Clock(20000, 100)


OTHER = {"openings": "book.epd", "plies": 4, "margin": 20, "engine": ("a", "b")}
OTHER |= {"time_control": config.TimeControl(movetime=5, clock=config.Clock(1000, 100))}


@pytest.mark.parametrize(
    "changes", [OTHER, {"identity": {"tree": "0123"}}, {"identity": {"weights": [1], "buckets": 8}}]
)
def test_a_configuration_is_read_as_it_was_written(changes: dict[str, object]):
    written = replace(configuration(), **changes)
    assert tuning.configuration_from(written.text()) == written
    if "identity" in changes:
        with pytest.raises(evaluation.EvaluationError, match="unknown family of evaluations"):
            _ = written.evaluation


def test_a_configuration_of_the_terms_has_the_text_and_the_hash_that_it_always_had():
    own = tuning.Configuration(
        (replace(ROWS[0], name="RookOpen"),),
        "bspsa",
        10,
        3,
        4,
        config.TimeControl(nodes=30),
        identity={"weights": [100.0, -2.5, 0.0]},
    )
    assert json.loads(own.text())["weights"] == [100.0, -2.5, 0.0]
    assert tuning.configuration_hash(own.text()) == "11dfe4a17bd0cd61"
    assert tuning.configuration_from(own.text()) == own
    bold = (parameters.TunedParameter("Bold", 5, 0, 10, 1),)
    other = tuning.Configuration(bold, "bspsa", 10, 3, 4, config.TimeControl(nodes=30), engine=("a", "b"))
    assert tuning.configuration_hash(other.text()) == "c27114c09e9db882"


@pytest.fixture
def rook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with one parameter in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rook.txt").write_text("RookOpen_mg, 17, -200, 200, 40, 0.002\n")
    return tmp_path / "rook.txt"


def player_named(said: str) -> Player:
    """The player for `merino match` that the end of a tune names."""
    return read_player(shlex.split(said.split("As a player of 'merino match': ")[1])[0])


def test_a_tune_by_games_is_played_continued_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file, picture = tmp_path / "rook.txt", tmp_path / "rook.svg"
    file.write_text("RookOpen_mg, 17, -200, 200, 0.4, 0.002\nrazor_margin, 200, 50, 800, 40, 0.0025\n")
    assert run_spsa(["tune", str(file), "--pairs", "6", "--nodes", "20"]) == 0
    said = capsys.readouterr().out
    assert "adaptive after 6 pairs:" in said
    assert "To confirm it by SPRT" in said
    player = player_named(said)
    assert isinstance(player, OwnPlayer)
    tuned = tuning.load_tune(tmp_path / "rook.tune.npz").estimate().round()
    assert player.evaluation.numbers["RookOpen_mg"].value == tuned[0]
    assert player.parameters == parameters_for(player.evaluation, {"razor_margin": int(tuned[1])})
    assert (tmp_path / "rook.tune.txt").read_text().count("RookOpen") == 1
    assert run_spsa(["tune", str(tmp_path / "rook.tune.npz")]) == 0
    assert "Continuing after 6 of 6 pairs" in capsys.readouterr().out
    assert run_spsa(["replay", str(tmp_path / "rook.tune.npz"), "--methods", "spsa,bspsas"]) == 0
    (tmp_path / "rook.svg").write_bytes((tmp_path / "rook.tune.npz").read_bytes())
    with pytest.raises(UsageError, match=r"rook\.svg' is also an input"):
        run_spsa(["replay", str(picture), "--plot", str(picture)])
    said = capsys.readouterr().out
    assert "spsa after 6 pairs:" in said
    assert "bspsas after 6 pairs:" in said


@pytest.mark.parametrize(
    ("method", "proof", "proved"), [("bspsa", ["--prove"], True), ("bspsa", ["--prove"], False), ("spsa", [], None)]
)
def test_a_tune_as_data_has_intervals_and_says_whether_it_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, method, proof, proved
):
    file = tmp_path / "rook.txt"
    file.write_text("RookOpen_mg, 17, -200, 200, 40, 0.002\nrazor_margin, 200, 50, 800, 40, 0.0025\n")

    def won(*_: object) -> runner.MatchResult:
        result = runner.MatchResult(Tally(), 1.0)
        result.tally.pairs[:] = (1, 10, 50, 400, 900) if proved else (900, 400, 50, 10, 1)
        return result

    monkeypatch.setattr(runner, "run_match", won)
    assert run_spsa(["tune", str(file), "--pairs", "6", "--nodes", "20", "--method", method, "--json", *proof]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["games"] == 12 and found["proved"] is proved
    assert [row["name"] for row in found["parameters"]] == ["RookOpen_mg", "razor_margin"]
    for row, (start, low, high) in zip(found["parameters"], ((17, -200, 200), (200, 50, 800)), strict=True):
        assert row["start"] == start and low <= row["value"] <= high
        if method == "spsa":
            assert row["low"] is row["high"] is None
        else:
            assert low <= row["low"] < row["value"] < row["high"] <= high


def test_a_tune_finds_its_openings_from_another_folder_and_needs_none_when_over(rook: Path, capsys):
    book, state = rook.parent / "book.epd", Path("a tune's.npz")
    book.write_text("rnbqkbnr/pppp1ppp/4p3/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n")
    order = ["tune", "rook.txt", "--pairs", "2", "--nodes", "20", "--openings", "book.epd", "--state", str(state)]
    assert run_spsa(order) == 0
    tune = tuning.load_tune(state)
    assert tune.configuration.openings == str(book)
    replace(tune, configuration=replace(tune.configuration, openings="book.epd")).save(state)
    capsys.readouterr()
    assert run_spsa(order) == 0
    assert "Continuing after 2 of 2 pairs" in capsys.readouterr().out
    with pytest.raises(parameters.TuneError, match="a tune with other openings"):
        tuning.load_tune(state, replace(tune.configuration, openings=str(rook.parent / "other.epd")))
    book.unlink()
    assert run_spsa(["tune", str(state)]) == 0


@pytest.mark.parametrize(
    ("method", "openings", "games"),
    [({}, "a.epd", 6), ({}, "b.bin", 100_000), ({}, None, 100_000), ({"engine": ("x",)}, "a.epd", 100_000)],
)
def test_the_proof_of_a_tune_plays_no_game_twice(method, openings, games, tmp_path) -> None:
    (tmp_path / "a.epd").write_text(f"{START_FEN}\n" * 3)
    (tmp_path / "b.bin").write_bytes(bytes(16))
    tune = configuration(openings=None if openings is None else str(tmp_path / openings), **method)
    players = tuning.players_of(tune, tune.start, tune.start)
    assert tuning.proof_terms(tune, players).games == games
    if openings == "a.epd" and not method:
        (tmp_path / "a.epd").unlink()
        with pytest.raises(OpeningError, match="cannot read openings"):
            tuning.proof_terms(tune, players)


def test_the_steepest_curve_that_is_taken_leaves_all_numbers_finite():
    row = parameters.check(
        parameters.TunedParameter("a", 50, 0, 100, c_end=5, elo=1e5, dist=5 * (1e5 / parameters.MAX_COST) ** 0.5),
        "file",
    )
    tune = tuning.Tune.new(replace(configuration(400, "adaptive"), parameters=(row,)))
    while tune.ask() is not None:
        tune.tell(2.0 if len(tune.done) % 2 else -2.0)
    assert tune.is_over and all(np.isfinite(array).all() for array in tune.state)


def test_values_in_a_small_range_are_shown_to_their_digits():
    row = parameters.TunedParameter("Scale", 0.0000234, 0.0, 0.0001, 0.00002, 0.002, whole=False)
    lines = tuning.result_lines(tuning.Tune.new(replace(configuration(), parameters=(row,))))
    assert lines[2].split()[:3] == ["Scale", "2.34e-05", "2.34e-05"]
    assert parameters.read_lines(lines[-1], "report") == [row]
    assert (row.shown(0.00002345678), row.shown(0.0001), ROWS[0].shown(1.23456)) == (0.00002346, 0.0001, 1.2346)
    assert replace(row, high=0.123456789).shown(0.123456789) == 0.123456789  # rounded up it would be out of bounds


def interrupted_at(number: int) -> tuning.PlayPair:
    """Plays the pairs, up to this one."""

    def play(configuration: tuning.Configuration, run: work.RunName, task: tuning.TunePair) -> tuning.PairOutcome:
        if task.pair.number == number:
            raise KeyboardInterrupt
        return tuning.play_pair(configuration, run, task)

    return play


def test_a_repeated_tune_goes_on_and_ends_as_if_it_had_not_been_interrupted(rook: Path, monkeypatch, capsys):
    order = ["tune", str(rook), "--pairs", "8", "--nodes", "20", "--concurrency", "1", "--state"]
    whole, broken = rook.parent / "whole.npz", rook.parent / "broken.npz"
    assert run_spsa([*order, str(whole)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr("merino.lab.tune.tuning.play_tune", partial(tuning.play_tune, play=interrupted_at(5)))
        assert run_spsa([*order, str(broken)]) == 130
    assert 0 < len(tuning.load_tune(broken).done) < 8
    capsys.readouterr()
    for already in (len(tuning.load_tune(broken).done), 8):  # and once more when it is over
        assert run_spsa([*order, str(broken)]) == 0
        assert f"Continuing after {already} of 8 pairs" in capsys.readouterr().out
        assert broken.read_bytes() == whole.read_bytes()
        assert broken.with_suffix(".txt").read_bytes() == whole.with_suffix(".txt").read_bytes()


def test_a_tune_with_other_settings_says_which_and_leaves_the_file_as_it_is(rook: Path):
    order, state = ["tune", str(rook), "--quiet", "--pairs"], rook.with_suffix(".tune.npz")
    assert run_spsa([*order, "2", "--nodes", "20"]) == 0
    before = state.read_bytes()
    with pytest.raises(errors.MerinoError, match="belongs to a tune with other pairs, time control; use another file"):
        run_spsa([*order, "4", "--depth", "1"])
    with pytest.raises(errors.MerinoError, match="belongs to a tune with other evaluation; use"):
        run_spsa([*order, "2", "--nodes", "20", "--weights", "tuned.txt"])
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("RookOpn, 17, 0, 60, 5, 0.002", [], "Merino has no number named 'RookOpn'; did you mean 'RookOpen_mg'"),
        ("razor_margin, 60, 0, 800, 5, 0.002", [], "reach beyond those of Merino, 50..800"),
        ("razor_margin, float, 60, 50, 800, 5, 0.002", [], "razor_margin is an integer"),
        ("RookOpen_mg, 17, 0, 60, 5, 0.002", ["--openings", "/no/a.epd"], "cannot read openings '/no/a.epd'"),
    ],
)
def test_a_tune_that_cannot_be_says_why_and_plays_nothing(tmp_path: Path, text, options, said):
    file = tmp_path / "file.txt"
    file.write_text(text)
    with pytest.raises(errors.MerinoError) as caught:
        run_spsa(["tune", str(file), "--pairs", "2", "--nodes", "20", *options])
    assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == [file]


def test_a_picture_shows_deviations_only_where_the_method_has_them():
    pytest.importorskip("matplotlib")
    for name in ("spsa", "adaptive"):
        shown = b"change in units of c, and two standard deviations" in tuning.draw(
            tuning.Tune.new(configuration()), METHODS[name], ".svg"
        )
        assert shown is (name != "spsa")


def refuse_to_play(*_: object) -> None:
    raise AssertionError("games are played")


@pytest.mark.parametrize("lacking", ["folder", "matplotlib", "ending"])
def test_a_picture_is_checked_before_the_replay(lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    state = tmp_path / "rook.tune.npz"
    picture, said = {
        "folder": (tmp_path / "plots" / "rook.svg", "rook.svg': there is no such folder"),
        "matplotlib": (tmp_path / "rook.svg", "extra 'plots'"),
        "ending": (tmp_path / "rook.txt", "--plot writes .png or .svg"),
    }[lacking]
    if lacking == "matplotlib":
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    play(tuning.Tune.new(configuration(pairs=4))).save(state)
    monkeypatch.setattr(tuning, "replay", refuse_to_play)
    with pytest.raises(errors.MerinoError, match=re.escape(said)):
        run_spsa(["replay", str(state), "--plot", str(picture)])
    assert list(tmp_path.iterdir()) == [state]


def test_where_the_tuned_weights_go_is_looked_at_before_the_games(rook: Path, monkeypatch):
    play(tuning.Tune.new(configuration(pairs=4))).save(tune := rook.parent / "other.tune.npz")
    monkeypatch.setattr("merino.lab.tune.tuning.play_tune", refuse_to_play)
    before = rook.read_text()
    with pytest.raises(UsageError, match="the tuned evaluation would replace"):
        run_spsa(["tune", str(rook), "--state", str(rook.with_suffix(".npz"))])
    assert rook.read_text() == before
    tune.with_suffix(".txt").mkdir()
    with pytest.raises(errors.MerinoError, match=r"cannot write '.*other.tune.txt': it is a folder"):
        run_spsa(["tune", str(tune)])


@pytest.mark.parametrize("is_new", [True, False])
def test_a_tune_is_never_replaced_by_its_result(is_new: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("rook.txt").write_text("RookOpen_mg, 17, -200, 200, 5, 0.002\n")
    words = ["tune", "rook.txt", "--state", "kept.txt", "--nodes", "30"]
    if not is_new:
        wanted = replace(configuration(pairs=4), identity=families.default().identity)
        play(tuning.Tune.new(wanted)).save(Path("kept.npz"))
        monkeypatch.setattr("merino.lab.tune.command._evaluation_file", lambda path, _: path)
        words = ["tune", "kept.npz"]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(tuning, "play_tune", refuse_to_play)
    with pytest.raises(UsageError, match=r"kept\.\w+' is an output twice"):
        run_spsa(words)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_on_a_full_disk_the_values_so_far_are_shown_and_the_file_named(tmp_path, monkeypatch, capsys):
    state = tmp_path / "rook.tune.npz"
    tuning.Tune.new(configuration(pairs=4)).save(state)
    real, calls = tuning.Tune.save, iter(range(100))

    monkeypatch.setattr(tuning.Tune, "save", lambda *given: no_room() if next(calls) else real(*given))
    monkeypatch.setattr("merino.lab.tune.tuning.play_tune", partial(tuning.play_tune, play=judge()))
    with pytest.raises(errors.MerinoError, match=re.escape(f"cannot write '{state}': No space left on device")):
        run_spsa(["tune", str(state)])
    assert "bspsa after 4 pairs:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 3', '"version": 2', "another version of Merino"),
        ('"method": "adaptive"', '"method": "auto"', "its method 'auto' is not one of adaptive, bspsa, bspsas, spsa"),
    ],
)
def test_a_tune_by_a_method_of_an_earlier_version_is_refused(old: str, new: str, said: str):
    written = replace(configuration(), method="adaptive").text()
    assert tuning.configuration_from(written).method == "adaptive" and old in written
    with pytest.raises(ValueError, match=said):
        tuning.configuration_from(written.replace(old, new))
