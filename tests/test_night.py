"""Generations of nets: played, trained and proved, resumed, refused, reported; only a net that has won is the best."""

import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any
from unittest.mock import Mock

import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.common import command, errors, files, sealed
from merino.eval import evaluation, families
from merino.eval.net import file as net_files
from merino.eval.net.file import digest, load_net, save_net
from merino.eval.net.network import NetError, Network, Shape, parse_shape
from merino.formats import packed_files
from merino.lab import plots
from merino.lab.nets import gpu, gradient, night, night_command, shapes, starting, training
from merino.lab.nets.quantising import quantised
from merino.lab.nets.shapes import SUPPORTED, caution, games_to_teach, supported_by
from merino.lab.nets.training import FURTHER_EPOCHS, FURTHER_RATE
from merino.lab.plots import draw
from merino.learn.improve import rounds
from merino.learn.request import Events, LearnError, TrainingError
from tests.fake_remote import FakeRemote
from tests.nights import night_of
from tests.runs import dies_at, proving, settled

pytestmark = pytest.mark.usefixtures("data_folder")

TINY: dict[str, Any] = {
    "nodes": 40, "games": 12, "window": 2, "match_nodes": 40, "match_games": 8, "gauge": 4, "elo0": 0.0, "elo1": 60.0,
    "ladder": 2,
}  # fmt: skip
WORDS = ["--games", "12", "--nodes", "40", "--match-games", "8", "--match-nodes", "40", "--gauge", "4"]
WORDS += ["--ladder", "2", "--quiet"]
STEPS = {"play_games": 2, "fit_generation": 2, "play_match": 1}  # at which call a run is killed


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training of a few epochs."""
    monkeypatch.setattr(shapes, "EPOCHS", 4)
    monkeypatch.setattr(shapes, "MIN_STEPS", 1)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A net of a few neurons."""
    path, shape = tmp_path / "small.net", Shape(hidden=16)
    save_net(quantised(shape, starting.random_layers(shape, 1), 200.0, {}), path)
    return path


def ran(
    folder: Path, start: str | None = "nothing", generations: int = 2, **changes: object
) -> rounds.Finished[night.NightState]:
    return night.begin(folder, start, TINY | changes, rounds.Until(rounds=generations), Events(), threads=2)


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> tuple[Path, night.NightState]:
    """The folder of a run of two generations, which tests leave as it is, and its state."""
    folder = tmp_path_factory.mktemp("night")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MERINO_HOME", str(folder / "home"))
        patch.setattr(shapes, "EPOCHS", 4)
        patch.setattr(shapes, "MIN_STEPS", 1)
        found = ran(folder / "run")
    assert not found.interrupted and not (folder / "home").exists(), "nothing of the user's is touched"
    return folder / "run", found.state


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    executor = FakeRemote(2)
    yield executor
    executor.shutdown()


@pytest.fixture
def winning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every net wins its deciding match."""
    monkeypatch.setattr(rounds, "play_match", proving(True))


def test_generations_are_played_trained_and_reported(played) -> None:
    run, state = played
    first, second = state.rounds
    assert [first.number, second.number] == [1, 2]
    assert first.games == 12 and second.games == 24  # the window holds both
    assert 0 < first.positions < second.positions and first.neurons == 16
    for each in state.rounds:
        folder = run / f"generation-{each.number:04}"
        games = list(packed_files.games_with_scores(folder / "games.vf"))
        assert sum(map(len, games)) == each.data.games == 12
        assert sum(len(some.moves) for some in games) == each.data.positions
        assert each.data.bytes == (folder / "games.vf").stat().st_size
        assert digest(load_net(folder / "candidate.net")) == each.net
        left = {path.name for path in folder.iterdir() if not path.name.startswith(("gauge-", "ladder-"))}
        assert left == {"games.vf", "games.state", "candidate.net", "fit.json", "match.state"}
    rows = (run / "table.csv").read_text().splitlines()
    assert rows == state.table().splitlines() and len(rows) == 3
    assert len((run / "log.txt").read_text().splitlines()) == 2
    text = "\n".join(night.summary(state))
    assert f"{second.positions:,}" in text and "2 generations in" in text


def test_the_card_of_a_net_says_how_to_play_its_data_again(tmp_path: Path, played) -> None:
    data = load_net(played[0] / "generation-0002" / "candidate.net").about["data"]
    words = data["recipe"].split()[1:]
    assert words[:5] == ["night", "--from", "nothing", "--generations", "2"]
    assert main([*words, "--state", str(tmp_path / "again"), "--quiet"]) == 0
    again = night.NightState.load(tmp_path / "again" / "night.json")
    assert [each["generation"] for each in data["generations"]] == [1, 2]
    for card, found in zip(data["generations"], again.rounds, strict=True):
        assert card["hash"] == found.data.hash and card["bytes"] == found.data.bytes


def test_the_card_of_a_net_names_a_start_with_blanks_and_numbers_as_they_were_given() -> None:
    words = shlex.split(night.NightPlan(power=1.23456789, share=0.1234567).recipe("my first.net", 3))
    assert words[:6] == ["merino", "night", "--from", "my first.net", "--generations", "3"]
    given = dict(pairwise(words))
    assert given["--power"] == "1.23456789" and given["--blend"] == "0.1234567"


def test_an_older_night_goes_on_as_it_was_unless_it_looks_ahead() -> None:
    older = asdict(night.NightPlan()) | {"ahead": 0.0}
    del older["power"]
    assert night.NightPlan.from_json(older).power == 2.6
    with pytest.raises(LearnError, match="begin another run"):
        night.NightPlan.from_json(older | {"ahead": 0.8})


def test_a_night_trains_on_a_card_if_asked_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_a_processor(layout: gradient.Layout, batch: int) -> gradient.Gradient:
        return gradient.Gradient(layout, ThreadPoolExecutor(2), 2, batch)

    monkeypatch.setattr(gpu, "GpuGradient", on_a_processor)
    monkeypatch.setattr(gpu, "check_gpu", lambda shape: None)
    ran(tmp_path / "run", generations=1, gpu=True)
    about = load_net(tmp_path / "run" / "generation-0001" / "candidate.net").about
    assert about["settings"]["gpu"] is True and about["data"]["recipe"].endswith(" --gpu")
    assert night.NightState.load(tmp_path / "run" / "night.json").plan.gpu
    older = {name: value for name, value in asdict(night.NightPlan()).items() if name != "gpu"}
    assert night.NightPlan.from_json(older).gpu is False
    monkeypatch.undo()
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    path = tmp_path / "h.net"
    save_net(quantised(Shape("H", 8), starting.random_layers(Shape("H", 8), 1), 200.0, {}), path)
    for start, shape, fault in (
        ("nothing", "", "no NVIDIA graphics card"),
        (str(path), "", r"see pieces on squares.*not H -> 8 -> 1"),
        ("gen1", "V -> 8 -> 1", r"see pieces on squares.*not V -> 8 -> 1"),
        (str(path), "ALL -> 8 -> 1", "no NVIDIA graphics card"),  # a shape that it could train
    ):
        with pytest.raises(TrainingError, match=fault):
            ran(tmp_path / "other", start, generations=1, gpu=True, shape=shape)
    assert not (tmp_path / "other" / "night.json").exists()


def test_games_have_fewer_nodes_and_are_more_with_each_net_that_has_won() -> None:
    plan = night.NightPlan(games=1000)
    assert [plan.after(wins).nodes for wins in (0, 1, 2, 7, 8, 99)] == [600, 420, 294, 49, 40, 40]
    assert [plan.after(wins).games for wins in (0, 1, 8)] == [1000, 660_000 // 480, 6600]
    assert night.NightPlan(nodes=30).after(5) == night.NightPlan(nodes=30)
    older = asdict(plan)
    del older["fewest_nodes"]
    assert night.NightPlan.from_json(older).after(5).nodes == 600


def test_nets_that_are_trained_further_take_no_nodes_away() -> None:
    state = night_of(3)
    assert state.plan_now.nodes == 600 * 7**3 // 10**3
    first, *others = state.rounds
    further = replace(state, rounds=(first, *(replace(found, continued=True) for found in others)))
    assert (len(further.kept), further.plan_now.nodes) == (3, 420)


def test_a_net_that_has_learned_much_gets_many_games() -> None:
    learned = (0, None, 2_000_000, 28_586_425, 140_000_000)
    assert [games_to_teach(many) for many in learned] == [8_000, 8_000, 8_000, 92_813, 100_000]


@pytest.mark.parametrize(("asked", "games"), [({}, 14), ({"games": 12}, 12)])
def test_games_follow_the_start_unless_they_are_asked_for(tmp_path, small, monkeypatch, asked, games) -> None:
    monkeypatch.setattr(shapes, "games_to_teach", lambda learned: 14)
    monkeypatch.setattr(rounds, "play_match", proving(False))
    given = {name: value for name, value in TINY.items() if name != "games"} | asked
    found = night.begin(tmp_path / "run", str(small), given, rounds.Until(rounds=1), Events(), threads=2)
    assert (found.state.plan.games, found.state.rounds[0].data.games) == (games, games)


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_night_is_resumed_to_the_same_end(tmp_path: Path, monkeypatch, step: str, played) -> None:
    module = night if step == "fit_generation" else rounds
    with monkeypatch.context() as patch:
        patch.setattr(module, step, dies_at(STEPS[step], getattr(module, step)))
        with pytest.raises(RuntimeError, match="killed"):
            ran(tmp_path / "run")
    assert settled(ran(tmp_path / "run").state) == settled(played[1])
    for name in ("generation-0001/games.vf", "generation-0002/games.vf", "generation-0002/candidate.net"):
        assert (tmp_path / "run" / name).read_bytes() == (played[0] / name).read_bytes()


def test_a_net_that_has_won_plays_the_next_games(tmp_path: Path, monkeypatch, winning: None) -> None:
    found = ran(tmp_path / "run", fewest_nodes=10)
    first, second = found.state.rounds
    assert first.is_proven and second.is_proven
    assert (first.data.games, second.data.games) == (12, 12 * (40 + 60) // (28 + 60))
    assert (first.data.player, second.data.player) == ("nothing", first.net)
    assert digest(load_net(found.best)) == second.net and found.best == tmp_path / "run" / "best.net"
    assert found.in_use is None
    assert second.from_start is not None and second.from_terms is not None
    content = found.best.read_bytes()
    monkeypatch.setattr(rounds, "play_match", proving(False))
    third = ran(tmp_path / "run", generations=3)
    assert third.state.rounds[2].verdict == "H0" and third.best.read_bytes() == content
    assert third.state.rounds[2].from_terms == second.from_terms  # the best is still that of the second


def test_a_net_that_has_not_won_leaves_the_start_the_best(tmp_path, small, monkeypatch) -> None:
    monkeypatch.setattr(rounds, "play_match", proving(False))
    content, said = small.read_bytes(), list[str]()
    found = night.begin(tmp_path / "run", str(small), TINY, rounds.Until(rounds=1), Events(said.append), threads=2)
    assert re.search(r"error on validation games [\d.]+, of the best [\d.]+$", said[2])
    assert found.best.read_bytes() == content == small.read_bytes() and found.best.name == "start.net"
    assert found.state.rounds[0].continued and found.state.rounds[0].neurons == 16
    card = load_net(tmp_path / "run" / "generation-0001" / "candidate.net").about["settings"]
    assert (card["rate"], card["epochs"], card["objective"]["k"]) == (FURTHER_RATE, FURTHER_EPOCHS, 200.0)
    assert card["objective"]["score_k"] == families.default().k
    assert not (tmp_path / "run" / "best.net").exists()


def test_scores_of_all_players_are_brought_to_the_scale_of_the_terms(tmp_path, small, monkeypatch) -> None:
    noting = Mock(wraps=packed_files.rescaled)
    monkeypatch.setattr(rounds, "play_match", proving(True))
    monkeypatch.setattr(packed_files, "rescaled", noting)
    monkeypatch.setattr(night, "learned_before", lambda _: 0)  # so that training begins with random weights
    ran(tmp_path / "run", str(small))
    factor = families.default().k / 200.0
    assert [call.args[1] for call in noting.call_args_list] == [factor, factor, 1.0]


def test_ctrl_c_ends_with_the_best_so_far_and_the_next_run_resumes(tmp_path, monkeypatch) -> None:
    interrupted = Mock(side_effect=KeyboardInterrupt)
    with monkeypatch.context() as patch:
        patch.setattr(night, "fit_generation", interrupted)
        found = ran(tmp_path / "run")
    assert found.interrupted and not found.state.rounds and found.best.name == "start.txt"
    with monkeypatch.context() as patch:
        patch.setattr(training.Trainer, "_run_epoch", interrupted)  # before the first epoch has ended
        assert ran(tmp_path / "run").interrupted
    assert len(ran(tmp_path / "run").state.rounds) == 2


@pytest.mark.parametrize(
    ("positions", "best", "learned", "hidden", "continued"),
    [
        (10_000, None, 0, 16, False),
        (2_000_000, None, 0, 256, False),
        (2_000_000, 64, 0, 256, False),
        (2_000_000, 64, 2_000_000, 256, False),
        (2_000_000, 64, 2_000_001, 64, True),
        (2_000_000, 512, None, 512, True),
        (600_000_000, 256, 28_000_000, 512, False),
        (140_000_000, 512, 139_000_000, 512, False),
        (1_000_000, 512, 900_000, 128, False),
    ],
)
def test_positions_say_the_shape(positions, best, learned, hidden, continued) -> None:
    shape = None if best is None else Shape("ALL+H", best, 0, "crelu")
    found, goes_on, reason = night.shape_for(positions, None if shape is None else Network(shape, {}, 200.0), learned)
    assert (found.hidden, goes_on) == (hidden, continued)
    assert ("further" if continued else "so many positions support") in reason
    assert shape is None or (found.features, found.activation) == (shape.features, shape.activation)


@pytest.mark.parametrize(
    ("positions", "best", "learned", "wanted"),
    [
        (24_000_000, None, 0, "ALL mirrored -> 256 -> 1 x 8"),
        (24_000_000, "ALL -> 256 -> 1", 0, "ALL mirrored -> 256 -> 1 x 8"),
        (24_000_000, "ALL -> 512 -> 1, crelu", 0, "ALL mirrored -> 512 -> 1 x 8, crelu"),
        (24_000_000, "ALL -> 256 -> 1", 30_000_000, "ALL -> 256 -> 1 x 8"),  # what begins with its scores
        (24_000_000, "KING8*ALL mirrored -> 256 -> 1 x 16", 0, "KING8*ALL mirrored -> 256 -> 1 x 16"),
        (24_000_000, "ALL -> 256 -> 16 -> 1", 30_000_000, "ALL -> 256 -> 16 -> 1"),
        (24_000_000, "ALL -> 256 -> values", 0, "ALL -> 256 -> values"),
        (2_000_000, "ALL -> 256 -> 1", 30_000_000, "ALL -> 256 -> 1"),
    ],
)
def test_more_positions_support_mirrored_boards_and_outputs(positions, best, learned, wanted) -> None:
    network = None if best is None else Network(parse_shape(best), {}, 200.0)
    assert str(night.shape_for(positions, network, learned).shape) == wanted


def test_a_net_trained_further_gets_groups_of_the_own_king_if_positions_support_them() -> None:
    start = Network(parse_shape("ALL mirrored -> 512 -> 1 x 8"), {}, 200.0)
    found, goes_on, reason = night.shape_for(140_000_000, start, 150_000_000)
    assert goes_on and found.features.startswith("MIRRORED(KING[") and (found.hidden, found.outputs) == (512, 8)
    assert "groups of squares of the friendly king" in reason and not starting.fault_of_part(start.shape, found)
    gen13 = load_net(families.find_net("gen13"))
    assert night.shape_for(140_000_000, gen13, 150_000_000)[:2] == (gen13.shape, True)


def test_a_shape_that_was_asked_for_is_kept() -> None:
    asked, part = parse_shape("ALL -> 64 -> 1 x 8"), Network(parse_shape("ALL -> 32 -> 1"), {}, 200.0)
    assert night.shape_for(2_000_000, None, 0, asked)[:2] == (asked, False)
    assert night.shape_for(2_000_000, part, 3_000_000, asked)[:2] == (asked, True)
    assert night.shape_for(2_000_000, part, 1_000_000, asked)[:2] == (asked, False)
    assert night.shape_for(2_000_000, Network(Shape(hidden=128), {}, 200.0), None, asked)[:2] == (asked, False)
    plan = night.NightPlan(shape="all -> 64 -> 1 x 8")
    assert plan.asked_shape == asked and "--shape 'all -> 64 -> 1 x 8'" in plan.recipe("gen1", 1)
    assert "--blend" not in plan.recipe("gen1", 1) and "--blend 0.2" in replace(plan, share=0.2).recipe("gen1", 1)
    with pytest.raises(NetError, match="is no shape of a net"):
        night.NightPlan(shape="64").check()


def test_few_positions_support_few_neurons_and_many_epochs() -> None:
    widths = [row.shape.hidden for row in SUPPORTED]
    assert widths == sorted(widths) == [supported_by(row.least).shape.hidden for row in SUPPORTED]
    assert all(row.least < other.least and row.reason for row, other in pairwise(SUPPORTED))
    assert supported_by(49_999).shape.hidden < supported_by(50_000).shape.hidden
    assert "68,000 positions support about 32 neurons; 128 would overfit" in caution(Shape(hidden=128), 68_000)
    assert "about 120,000 positions" in caution(Shape(hidden=128), 68_000)
    assert "or give the net 32 neurons. What they support" in caution(Shape(hidden=128), 68_000)  # by whatever option
    assert not caution(Shape(hidden=64), 68_000) and not caution(Shape(hidden=128), 120_000)


def test_a_start_says_how_much_it_has_learned(small: Path) -> None:
    assert night.learned_before(load_net(small)) is None  # it has no card
    assert night.learned_before(load_net(families.find_net("gen12"))) == 28_586_425 and night.learned_before(None) == 0


def test_other_settings_starts_and_versions_are_refused(tmp_path: Path, small: Path) -> None:
    ran(tmp_path / "run", generations=0)
    for start, changes, fault in (
        ("nothing", {"nodes": 50}, "other settings: nodes 40, not 50"),
        ("nothing", {"share": 0.3, "gpu": True}, "share unset, not 0.3, gpu False, not True;"),
        ("nothing", {"seed": 12345678}, "seed 1, not 12345678;"),
        ("nothing", {"shape": "ALL -> 8 -> 1"}, "shape unset, not ALL -> 8 -> 1;"),
        (str(small), {}, r"began with 'nothing' as it was, not with '.*small.net'"),
    ):
        with pytest.raises(LearnError, match=fault):
            ran(tmp_path / "run", start, **changes)
    assert ran(tmp_path / "run", None, generations=0).state.is_from_nothing  # it keeps its start


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="all names of files are text there")
def test_a_start_whose_name_is_no_text_is_named_as_its_state_has_it(tmp_path: Path, small: Path) -> None:
    odd = small.rename(tmp_path / "odd\udcff.net")  # as Python has the byte FF of a name
    found = ran(tmp_path / "run", str(odd), generations=1)  # whose net is named after it
    assert (
        found.state.start_name
        == str(tmp_path / r"odd\udcff.net")
        == night.NightState.load(tmp_path / "run/night.json").start_name
    )


def test_another_net_in_place_of_the_start_is_refused(tmp_path: Path, small: Path) -> None:
    ran(tmp_path / "run", str(small), generations=0)
    with pytest.raises(LearnError, match="not with 'gen1'"):
        ran(tmp_path / "run", "gen1")
    (tmp_path / "run" / "start.net").write_bytes(families.find_net("gen1").read_bytes())
    with pytest.raises(LearnError, match=r"start.net' is another net than this run left there"):
        ran(tmp_path / "run", generations=1, start=None)
    (tmp_path / "run" / "start.net").write_bytes(b"Merino net 1\n{")
    with pytest.raises(evaluation.EvaluationError, match=r"start.net' is not a usable net"):
        ran(tmp_path / "run", generations=1, start=None)
    (tmp_path / "run" / "start.net").unlink()
    assert ran(tmp_path / "run", None, generations=0).best.read_bytes() == small.read_bytes()  # it is taken again
    (tmp_path / "run" / "start.net").unlink()
    small.write_bytes(families.find_net("gen1").read_bytes())
    with pytest.raises(LearnError, match=r"began with '.*small.net' as it was, not with '.*small.net' as it is"):
        ran(tmp_path / "run", None, generations=0)


def test_another_file_of_a_generation_than_the_run_left_is_refused(tmp_path, small, winning, monkeypatch) -> None:
    run = tmp_path / "run"
    ran(run, generations=1)
    games, net = (run / "generation-0001" / name for name in ("games.vf", "candidate.net"))
    content = games.read_bytes()
    changed = content[:40] + bytes([content[40] ^ 1]) + content[41:]
    for path, another, faults in (
        (games, changed, ("has changed since", "is missing")),
        (net, small.read_bytes(), ("is another net than this run left there", "is missing: a run of night needs it")),
    ):
        kept = path.read_bytes()
        path.write_bytes(another)
        for fault in faults:
            with monkeypatch.context() as patch:
                if path == games:
                    patch.delattr(rounds, "play_games")  # which takes hours
                with pytest.raises(LearnError, match=fault):
                    ran(run)
            path.unlink(missing_ok=True)
        path.write_bytes(kept)
    assert len(ran(run).state.rounds) == 2


def test_kept_bounds_that_are_no_longer_allowed_are_refused_before_a_game(tmp_path: Path) -> None:
    ran(tmp_path / "run", generations=0)
    path = tmp_path / "run" / "night.json"
    state = sealed.from_json(path.read_bytes(), "it")
    path.write_bytes(sealed.as_json(state | {"plan": state["plan"] | {"elo1": 300.0}}))
    with pytest.raises(LearnError, match=r"run' was begun .* elo1 must be a number from -200 to 200, not 300"):
        night.begin(tmp_path / "run", None, {}, rounds.Until(rounds=1), Events())
    with pytest.raises(LearnError, match="elo1 must be a number from -200 to 200"):
        ran(tmp_path / "new", elo1=300.0)


@pytest.mark.parametrize("words", [["--shape", "foo"], ["--from", "nowhere.net"], ["--games", "0"]], ids=" ".join)
@pytest.mark.parametrize("is_there", [True, False], ids=["old folder", "new folder"])
def test_nothing_is_left_of_a_run_that_is_refused(tmp_path: Path, words: list[str], is_there: bool) -> None:
    folder = tmp_path / "runs" / "new"
    if is_there:
        folder.mkdir(parents=True)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(errors.MerinoError):
        night_command.run_night([*words, "--generations", "1", "--state", str(folder)])
    assert set(tmp_path.rglob("*")) == before


def test_a_lock_that_its_holder_has_removed_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = night.NightFolder(tmp_path / "run")
    real = files.lock

    def refused_first(file: IO[bytes], seconds: float) -> bool:
        monkeypatch.setattr(files, "lock", real)
        holder.__exit__()
        (tmp_path / "run").mkdir()  # as the second run made it
        return real(file, seconds)

    monkeypatch.setattr(files, "lock", refused_first)
    with night.NightFolder(tmp_path / "run"), pytest.raises(LearnError, match="another night is running"):
        night.NightFolder(tmp_path / "run")


def test_a_full_disk_ends_in_one_sentence_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Mock(side_effect=OSError(28, "No space left on device", "positions.bin"))
    words = [*WORDS, "--from", "nothing", "--generations", "1", "--state", str(tmp_path / "run")]
    for module, step in ((packed_files, "write_packed_file"), (net_files, "save_net")):
        with monkeypatch.context() as patch:
            patch.setattr(module, step, full)
            with pytest.raises(
                command.CommandError, match=r"cannot write 'positions\.bin': No space.*work so far is kept"
            ):
                night_command.run_night(words)
    assert night_command.run_night(words) == 0


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "give --hours H or --generations N"),
        (["--generations", "1", "--blend", "2"], "from 0 to 1"),
        (["--generations", "1", "--sprt", "0", "300"], "'300' is not a number from -200 to 200"),
        (["--generations", "1", "--from", "nowhere.net"], "there is no net 'nowhere.net'"),
        (["--generations", "1", "--cluster", "local:2", "--concurrency", "2"], "not allowed with argument"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, words: list[str], fault: str) -> None:
    with pytest.raises(errors.MerinoError, match=fault):
        night_command.run_night([*words, "--state", str(tmp_path / "run")])


def test_pictures_of_a_night_are_drawn(played, shell) -> None:
    pytest.importorskip("matplotlib")
    run, state = played
    endless = replace(state.rounds[0], elo=np.inf, elo_error=np.inf, from_start=np.inf, from_start_error=np.inf)
    for picture in plots.NIGHT_PICTURES.values():
        for some in ((endless, state.rounds[1]), ()):
            assert draw(replace(state, rounds=some), picture, ".svg").lstrip().startswith(b"<?xml")
    assert len(shell("plot", run, "--out", run.parent / "drawn").splitlines()) == len(plots.NIGHT_PICTURES)


def test_the_shape_of_a_run_may_be_spelled_in_another_way() -> None:
    plan = night.NightPlan(shape="ALL->16->1")
    plan.check_same({"shape": "all -> 16 -> 1"}, "folder")
    with pytest.raises(LearnError, match="shape ALL->16->1, not ALL -> 32 -> 1"):
        plan.check_same({"shape": "ALL -> 32 -> 1"}, "folder")
    with pytest.raises(LearnError, match="shape unset, not ALL -> 32 -> 1"):
        night.NightPlan().check_same({"shape": "ALL -> 32 -> 1"}, "folder")


def test_what_a_run_that_was_killed_after_a_fit_has_left_is_removed(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "generation-0001"
    folder.mkdir()
    (folder / night.CANDIDATE).write_bytes(small.read_bytes())
    kept = {"positions": 5, "continued": False, "error": 0.1, "seconds": 1.0, "net": digest(load_net(small))}
    (folder / night.FIT).write_bytes(sealed.as_json(kept))
    for name in (night.POSITIONS, f"{night.CANDIDATE}.state"):
        (folder / name).write_bytes(b"half")
    state, context = (
        night.NightState(plan=night.NightPlan(), start_name="nothing"),
        rounds.StepContext(1, Events(), lambda: None),
    )
    with night.NightFolder(tmp_path) as run:
        assert night.fit_generation(run, state, {1: night_of(1).rounds[0].data}, context).positions == 5
    assert {path.name for path in folder.iterdir()} == {night.CANDIDATE, night.FIT}


def long_run(kept: int, start_hash: str = "") -> night.NightState:
    """A run in which so many nets have won, every second one."""
    state = night_of(2 * kept)
    found = tuple(replace(each, verdict="H1" if each.number % 2 else "H0") for each in state.rounds)
    return replace(state, rounds=found, start_hash=start_hash)


def test_a_night_over_an_executor_is_that_of_this_machine(tmp_path: Path, remote: FakeRemote, winning: None) -> None:
    here = ran(tmp_path / "here").state
    there = night.begin(tmp_path / "there", "nothing", TINY, rounds.Until(rounds=2), Events(), 2, remote).state
    assert settled(here) == settled(there) and remote.sent > 0
    for path in sorted((tmp_path / "here").rglob("*.vf")) + sorted((tmp_path / "here").rglob("*.net")):
        assert path.read_bytes() == (tmp_path / "there" / path.relative_to(tmp_path / "here")).read_bytes()


def test_each_net_that_wins_meets_a_ladder_of_older_nets_that_stays(tmp_path: Path, winning: None) -> None:
    first, second, third = ran(tmp_path / "run", generations=3).state.rounds
    shipped = [(name, digest(load_net(families.find_net(name)))) for name in ("gen1", "gen12")]
    own = [("generation 1", first.net), ("generation 2", second.net)]
    for found, rungs in ((first, shipped), (second, shipped + own[:1]), (third, shipped + own)):
        assert [(rung.name, rung.net) for rung in found.ladder] == rungs
        assert all(rung.games == 2 and rung.elo is not None for rung in found.ladder)
    assert night.NightState.load(tmp_path / "run" / "night.json").rounds[2].ladder == third.ladder
    lines = night.summary(night.NightState.load(tmp_path / "run" / "night.json"))
    (heads,) = (line for line in lines if "from gen12" in line)
    assert heads.split("  ")[-1] == "from generation 2" and "Ladder: 2 games" in "\n".join(lines)


def test_a_long_run_has_few_rungs_and_a_start_that_is_no_rung(tmp_path: Path) -> None:
    assert night.rungs_of(long_run(9)) == [1, 3, 7, 15]
    with night.NightFolder(tmp_path / "run") as folder:
        start = digest(load_net(families.find_net("gen12")))
        assert list(folder._rungs(long_run(0, start))) == []
        assert [name for name, _ in folder._rungs(long_run(0, "another"))] == ["gen12"]
        state = long_run(0, start)
        assert [name for name, _ in folder._rungs(replace(state, plan=replace(state.plan, gauge=0)))] == ["gen12"]


def test_a_night_killed_on_the_ladder_is_resumed_to_the_same_end(tmp_path: Path, monkeypatch, winning: None) -> None:
    whole = ran(tmp_path / "whole", generations=1).state
    for call in (2, 4):  # after the deciding match
        with monkeypatch.context() as patch:
            patch.setattr(rounds, "play_match", dies_at(call, rounds.play_match))
            with pytest.raises(RuntimeError, match="killed"):
                ran(tmp_path / str(call), generations=1)
        assert settled(ran(tmp_path / str(call), generations=1).state) == settled(whole)


def test_a_run_that_is_older_than_the_ladder_goes_on_without(tmp_path: Path, winning: None) -> None:
    ran(tmp_path / "run", generations=1)
    path = tmp_path / "run" / "night.json"
    data = sealed.from_json(path.read_bytes(), "it")
    del data["plan"]["ladder"], data["rounds"][0]["ladder"]
    path.write_bytes(sealed.as_json(data))
    state = night.NightState.load(path)
    assert state.plan.ladder == 0 and state.rounds[0].ladder == ()
    known = {name: value for name, value in TINY.items() if name != "ladder"}
    found = night.begin(tmp_path / "run", None, known, rounds.Until(rounds=2), Events(), 2).state
    assert found.rounds[1].ladder == () and not any("Ladder" in line for line in night.summary(found))


def test_the_value_for_a_gui_is_a_path_that_holds_wherever_it_starts(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    found = rounds.Finished(night_of(1), Path("run", "best.net"), interrupted=False, in_use=None)
    monkeypatch.setattr(night, "begin", lambda *_: found)
    night_command.run_night(["--generations", "1"])
    assert f"option EvalFile, value '{tmp_path / 'run' / 'best.net'}'." in capsys.readouterr().out


def test_every_net_of_a_long_ladder_is_drawn() -> None:
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    rungs = tuple(night.LadderMatch(f"generation {number}", "net", 50, 10.0 * number, 20.0) for number in range(11))
    state = night_of(2)
    figure = figure_class()
    plots._nets_ladder(figure, replace(state, rounds=tuple(replace(each, ladder=rungs) for each in state.rounds)))
    lines, names = figure.axes[0].get_legend_handles_labels()
    assert names == [f"against {rung.name}" for rung in rungs]
    assert len({(line[0].get_color(), line[0].get_linestyle()) for line in lines}) == len(rungs)


def test_a_night_is_reported_as_text_and_as_one_object(tmp_path, winning: None, shell) -> None:
    words = ["night", *WORDS, "--from", "nothing", "--generations", "1", "--state", str(tmp_path / "run")]
    text = shell(*words)
    assert "nodes a second" in text and "from gen12" in text
    found = shell(*words, "--json")
    assert set(found) == {"best", "generations"} and Path(found["best"]).exists()
    (generation,) = found["generations"]
    assert set(generation) >= {"positions", "elo", "elo_error", "hours"}
    assert generation["neurons"] == 16 and generation["kept"] is True
    assert [rung["name"] for rung in generation["ladder"]] == ["gen1", "gen12"]
