"""Rounds of play, learning and proof: kept, gone on with, refused; only what is proved changes the best."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merino.app.console.learning import run_improve as run
from merino.core.common import command, errors, sealed
from merino.eval.linear import phases, registry, sets
from merino.eval.linear.weights import defaults, load, save
from merino.lab import plots
from merino.learn import request
from merino.learn.improve import learner, rounds
from merino.learn.improve.learner import Folder, ImproveState, Plan, RoundFit, begin
from merino.learn.procedure import earlier_weights
from merino.learn.sample import Sample, split
from merino.match.games import MatchError
from tests.runs import dies_at, proving, settled

pytestmark = pytest.mark.usefixtures("data_folder")

TINY: dict[str, Any] = {
    "nodes": 40, "games": 12, "window": 2, "match_nodes": 40, "match_games": 8, "gauge": 4, "share": 0.0, "elo0": 0.0,
    "elo1": 40.0,
}  # fmt: skip
STEPS = {"play_games": 2, "fit_round": 2, "play_match": 1}  # at which call a run is killed


@pytest.fixture
def poor(tmp_path: Path) -> str:
    """Weights that know the pieces alone, and these badly."""
    weights = np.zeros(len(registry.TERMS))
    weights[:5] = 100, 100, 100, 100, 100
    save(tmp_path / "poor.txt", weights)
    return str(tmp_path / "poor.txt")


def improved(folder: Path, weights: str | None, number: int = 2, **changes: object) -> rounds.Finished[ImproveState]:
    return begin(folder, weights, TINY | changes, rounds.Until(rounds=number), request.Events(), threads=2)


def test_rounds_are_played_learned_from_and_reported(tmp_path, poor):
    found = improved(tmp_path / "run", poor)
    assert [each.number for each in found.state.rounds] == [1, 2]
    assert not found.interrupted
    first, second = found.state.rounds
    assert first.games == 12 and second.games == 24  # the window holds both
    assert 0 < first.positions < second.positions
    rows = (tmp_path / "run" / "table.csv").read_text().splitlines()
    assert rows == found.state.table().splitlines() and len(rows) == 3
    assert len((tmp_path / "run" / "log.txt").read_text().splitlines()) >= 2
    assert np.array_equal(load(found.best), load(tmp_path / "run" / "best.txt"))


def test_a_round_learns_from_the_positions_that_are_asked_for(tmp_path, poor):
    words = ["--rounds", "1", "--weights", poor, "--nodes", "40", "--games", "12", "--match-nodes", "40"]
    words += ["--match-games", "8", "--gauge", "4", "--window", "2", "--target", "search", "--sprt", "0", "40"]

    def state(name: str, *more: str) -> ImproveState:
        assert run([*words, "--state", str(tmp_path / name), *more]) == 0
        return ImproveState.load(tmp_path / name / "improve.json")

    everything = state("all").rounds[0].positions
    few, calm = state("few", "--per-game", "3"), state("calm", "--positions", "quiet")
    assert few.rounds[0].positions <= 12 * 3 < everything
    assert 0 < calm.rounds[0].positions < everything
    again = state("calm", "--positions", "quiet")
    assert settled(again) == settled(calm) and again.plan == Plan(**TINY | {"positions": request.Quiet.ONLY})
    with pytest.raises(errors.MerinoError, match="other settings: per_game 3, not 4"):
        state("few", "--per-game", "4")
    with pytest.raises(errors.MerinoError, match="other settings: positions quiet, not qsearch, per_game unset, not 4"):
        state("calm", "--positions", "qsearch", "--per-game", "4")


def test_a_run_is_refused_where_its_terms_have_changed_since(tmp_path):
    plan = Plan(**TINY)
    state = ImproveState(plan=plan, start_name="any", changes_use=False, weights=tuple(defaults().tolist()))
    with Folder(tmp_path / "run") as folder:
        folder.save(replace(state, plan=replace(plan, terms_version="0123")))
    with pytest.raises(request.LearnError, match=r"the terms of 'greko2015' have changed since '.*run' was begun"):
        improved(tmp_path / "run", None)
    path = tmp_path / "run" / "improve.json"
    data = sealed.from_json(path.read_bytes(), "it")
    del data["plan"]["terms_version"]
    path.write_bytes(sealed.as_json(data))
    assert ImproveState.load(path).plan == plan, "as a run of before has it"


def test_new_weights_are_judged_by_new_games(tmp_path, poor, monkeypatch):
    held: list[set[int]] = []

    def watched(*args: Any) -> Sample:
        sample = split(*args)
        held.append(set(sample.game[sample.is_validation].tolist()))
        return sample

    monkeypatch.setattr(learner, "split", watched)
    improved(tmp_path / "run", poor)
    first, second = held
    assert first and first < set(range(12))
    assert second and second < set(range(12, 24))


def test_games_of_an_earlier_round_that_are_gone_are_missed_before_others_are_played(tmp_path, poor, monkeypatch):
    improved(tmp_path / "run", poor, number=1)
    (tmp_path / "run" / "round-0001" / "games.pgn").unlink()
    monkeypatch.delattr(learner, "play_games")
    with pytest.raises(request.LearnError, match=r"'.*games.pgn' is missing, and round 2 learns from"):
        improved(tmp_path / "run", poor)


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_run_is_resumed(tmp_path, poor, monkeypatch, step):
    fitting = {"nodes": 100}  # at which a round of so few games brings weights worth a trial
    whole = improved(tmp_path / "whole", poor, **fitting)
    module = rounds if step == "play_match" else learner
    with monkeypatch.context() as patch:
        patch.setattr(module, step, dies_at(STEPS[step], getattr(module, step)))
        with pytest.raises(RuntimeError, match="killed"):
            improved(tmp_path / "killed", poor, **fitting)
    assert settled(improved(tmp_path / "killed", poor, **fitting).state) == settled(whole.state)
    assert (tmp_path / "killed" / "best.txt").read_bytes() == (tmp_path / "whole" / "best.txt").read_bytes()
    games = [path.read_text().count("[Result ") for path in sorted((tmp_path / "killed").glob("round-*/games.pgn"))]
    assert games == [12, 12]


def test_ctrl_c_ends_with_the_best_so_far_and_the_next_run_resumes(tmp_path, poor, monkeypatch):
    real = learner.fit_round

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(learner, "fit_round", interrupted)
    found = improved(tmp_path / "run", poor)
    assert found.interrupted and not found.state.rounds
    assert np.array_equal(load(found.best), load(Path(poor)))
    monkeypatch.setattr(learner, "fit_round", real)
    assert len(improved(tmp_path / "run", poor).state.rounds) == 2


def teaching(*arguments: Any) -> RoundFit:
    """A fit that finds something new."""
    best = np.array(arguments[2])
    best[0] += 1
    return RoundFit(best, 12, 600, error_before=0.2, error_after=0.1)


@pytest.mark.parametrize(("is_proven", "is_named"), [(True, False), (False, False), (True, True)])
def test_only_what_is_proved_is_put_in_use_unless_weights_were_named(
    tmp_path, data_folder, poor, monkeypatch, is_proven, is_named
):
    before, used = Path(poor).read_bytes(), data_folder / "weights.txt"
    used.write_bytes(before)
    monkeypatch.setattr(learner, "fit_round", teaching)
    monkeypatch.setattr(rounds, "play_match", proving(is_proven))
    found = improved(tmp_path / "run", poor if is_named else None, number=1)
    assert found.state.rounds[0].is_proven == is_proven and found.state.in_use == (is_proven and not is_named)
    if not is_proven:
        assert found.state.rounds[0].verdict == "H0" and np.array_equal(found.state.best, np.tile(load(Path(poor)), 2))
    if is_proven and not is_named:
        assert used.read_bytes() == found.best.read_bytes() and np.array_equal(load(used), found.state.best)
        assert earlier_weights(used)[0][1].read_bytes() == before
    else:
        assert used.read_bytes() == before


def test_a_run_replaces_no_other_weights(tmp_path, poor, monkeypatch):
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    for path in (one, other):
        path.write_bytes(Path(poor).read_bytes())
    monkeypatch.setattr(learner, "fit_round", teaching)
    monkeypatch.setattr(rounds, "play_match", proving(True))
    monkeypatch.setenv("MERINO_WEIGHTS", str(one))
    improved(tmp_path / "run", None, number=0)
    monkeypatch.setenv("MERINO_WEIGHTS", str(other))
    with pytest.raises(
        request.LearnError, match=r"improves the weights in '.*one.txt', and now those in '.*other.txt' are in"
    ):
        improved(tmp_path / "run", None, number=1)
    assert other.read_bytes() == Path(poor).read_bytes()
    monkeypatch.setenv("MERINO_WEIGHTS", str(one))
    assert improved(tmp_path / "run", None, number=1).state.in_use == 1
    assert one.read_bytes() == (tmp_path / "run" / "best.txt").read_bytes()


def test_a_second_run_on_the_same_folder_is_refused(tmp_path, poor):
    with Folder(tmp_path / "run"), pytest.raises(request.LearnError, match="another improve is running"):
        improved(tmp_path / "run", poor)


def test_other_settings_weights_or_versions_are_refused(tmp_path, poor):
    improved(tmp_path / "run", poor, number=0)
    with pytest.raises(request.LearnError, match="other settings: nodes 40, not 50"):
        improved(tmp_path / "run", poor, nodes=50)
    save(tmp_path / "other.txt", defaults())
    with pytest.raises(request.LearnError, match="began with"):
        improved(tmp_path / "run", str(tmp_path / "other.txt"))
    path, state = tmp_path / "run" / "improve.json", ImproveState.load(tmp_path / "run" / "improve.json")
    path.write_bytes(sealed.as_json(state.as_json() | {"version": "1.0.0"}))
    assert ImproveState.load(path) == state
    path.write_bytes(sealed.as_json(state.as_json() | {"version": "9.1"}))
    with pytest.raises(request.LearnError, match="another version"):
        improved(tmp_path / "run", poor)


@pytest.mark.parametrize(
    ("text", "fault"),
    [("{", "it is not JSON"), ("[]", "not a JSON object"), ("rounds", "is not the state .*: it lacks 'number'")],
)
def test_a_state_that_cannot_be_read_is_refused(tmp_path, poor, text, fault):
    path = improved(tmp_path / "run", poor, number=0).best.parent / "improve.json"
    if text == "rounds":
        text = sealed.as_json(sealed.from_json(path.read_bytes(), "it") | {"rounds": [{}]}).decode()
    path.write_text(text)
    with pytest.raises(request.LearnError, match=fault):
        ImproveState.load(path)


def test_a_folder_with_other_files_is_refused(tmp_path, poor):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "letter.txt").write_text("mine")
    with pytest.raises(request.LearnError, match=r"holds other files \(letter.txt\)"):
        improved(tmp_path / "run", poor)


@pytest.mark.parametrize("replaced", range(5))
def test_a_folder_whose_first_run_was_killed_at_once_is_resumed(tmp_path, poor, monkeypatch, replaced):
    real, calls = Path.replace, iter(range(100))

    def killed(path: Path, target: Path) -> Path:
        if next(calls) == replaced:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda *_, **__: None)  # what a kill leaves stays
        with pytest.raises(KeyboardInterrupt):
            improved(tmp_path / "run", poor, number=0)
    improved(tmp_path / "run", poor, number=0)
    names = {"best.txt", "improve.json", "start.txt", "table.csv"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == names


def test_a_full_disk_ends_in_one_sentence_and_loses_nothing(tmp_path, poor, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "games.pgn")

    words = ["--rounds", "1", "--weights", poor, "--state", str(tmp_path / "run"), "--concurrency", "2"]
    words += ["--nodes", "40", "--games", "12", "--match-nodes", "40", "--match-games", "8", "--target", "search"]
    with monkeypatch.context() as patch:
        patch.setattr(learner, "play_games", full)
        with pytest.raises(errors.MerinoError, match=r"cannot write 'games\.pgn': No space left"):
            run(words)
    with monkeypatch.context() as patch:
        patch.setattr(learner, "play_games", lambda *_, **__: (_ for _ in ()).throw(MatchError("the match broke off")))
        with pytest.raises(errors.MerinoError, match="the match broke off"):
            run(words)
    assert run(words) == 0 and len(ImproveState.load(tmp_path / "run" / "improve.json").rounds) == 1


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "give --hours H or --rounds N"),
        (["--hours", "0"], "not a number of hours above 0"),
        (["--rounds", "1", "--games", "0"], "--games"),
        (["--rounds", "1", "--phases", "3"], "--phases"),
        (["--rounds", "1", "--target", "blend=2"], "from 0 to 1"),
        (["--rounds", "1", "--terms", "9-3"], "terms are numbered 1 to"),
        (["--rounds", "1", "--terms", "VAL_P"], "one range"),
        (["--rounds", "1", "--sprt", "5", "0"], "elo0 below elo1"),
        (["--rounds", "1", "--weights", "nowhere.txt"], "^cannot read weights file"),
        (["--rounds", "1", "--weights", "nowhere.txt", "--terms", "1-5"], "^cannot read weights file"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, words, fault):
    with pytest.raises(errors.MerinoError, match=fault):
        run([*words, "--state", str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()


def test_a_set_is_learned_from_the_pieces_alone_and_only_so_resumed(tmp_path):
    given = (tmp_path / "run", None, TINY, rounds.Until(rounds=0), request.Events())
    start = begin(*given, of_set="full").state
    terms = sets.set_named("full")
    assert start.plan.set == "full" and not start.changes_use
    middlegame, endgame = phases.halves(np.array(start.weights), len(terms))
    assert middlegame.tolist() == endgame.tolist() == [100, 300, 300, 500, 900] + [0] * (len(terms) - 5)
    with pytest.raises(
        request.LearnError, match="began with 'the pieces alone, set full', not 'the pieces alone, set greko"
    ):
        begin(*given, of_set="greko2015")
    with pytest.raises(command.UsageError, match="leave out --weights"):
        run(["--rounds", "1", "--set", "full", "--weights", "x.txt", "--state", str(tmp_path / "x")])


def test_every_step_of_every_round_has_a_seed_of_its_own():
    seeds = [Plan(seed=seed).seed_of(number, step) for seed in (1, 2) for number in range(99) for step in range(4)]
    assert len(set(seeds)) == len(seeds)


def test_pictures_of_a_run_are_drawn(tmp_path, poor):
    pytest.importorskip("matplotlib")
    state = improved(tmp_path / "run", poor, number=1).state
    proven = replace(state.rounds[0], number=2, verdict="H1", elo=30.0, elo_error=9.0)
    for picture in plots.IMPROVE_PICTURES.values():
        for played in ((state.rounds[0], proven), ()):
            drawn = plots.draw(replace(state, rounds=played), picture, ".svg")
            assert drawn.lstrip().startswith(b"<?xml")
