"""The order in which training goes through positions, and the blocks that it reads them in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merino.eval.net.network import Shape
from merino.formats.packed import (
    Filter,
    PackedBlocks,
    PackedError,
    blocks_of,
    joined,
    open_blocks,
    spooled,
    with_checks,
    without_checks,
)
from merino.formats.packed_files import is_held_out, training_positions
from merino.lab.nets import training
from merino.lab.nets.training import Trainer, TrainingOrder, TrainingSettings, recipe_of
from tests.test_net_training import sample

SHARE = 0.1


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven blocks of 60 positions, two of them in memory at a time."""
    monkeypatch.setattr(training, "BLOCK", 60)
    monkeypatch.setattr(training, "PORTION", 2)


def numbered() -> np.ndarray:
    """Positions whose scores are their places."""
    records = sample().copy()
    records["score"] = np.arange(len(records))
    return records


def order_of(records: np.ndarray, together: int = 1, seed: int = 1) -> TrainingOrder:
    return TrainingOrder(blocks_of(records), SHARE, together, seed, mirrors=True)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("games_are_known", [True, False])
def test_an_epoch_goes_through_each_position_once(games_are_known: bool) -> None:
    records = numbered()
    records["game"] *= games_are_known
    apart = is_held_out(records["game"], SHARE)
    found, epochs = order_of(records), []
    assert found.count == (~apart).sum() and np.array_equal(found.validation, records[apart])
    for epoch in range(2):
        portions = list(found.portions(epoch))
        assert len(portions) == 4 and len({portion.mirror for portion in portions}) == 4
        found_in = [portion.records["score"][portion.order] for portion in portions]
        places = np.concatenate(found_in)
        assert sorted(places.tolist()) == np.flatnonzero(~apart).tolist()
        assert all(np.array_equal(portion.records, records[portion.records["score"]]) for portion in portions)
        assert all(len(set((some // 60).tolist())) <= 2 and (np.diff(some) < 0).any() for some in found_in)
        epochs.append(places.tolist())
    assert epochs[0] != epochs[1]
    again, other = (
        np.concatenate([some.records["score"][some.order] for some in order_of(records, 1, seed).portions(0)])
        for seed in (1, 2)
    )
    assert again.tolist() == epochs[0] != other.tolist()


@pytest.mark.usefixtures("small")
def test_records_that_are_learned_together_stay_together() -> None:
    records = numbered()[:399]
    found = order_of(records, together=3)
    firsts = np.concatenate([some.records["score"][some.order] for some in found.portions(0)])
    assert (firsts % 3 == 0).all() and len(set(firsts.tolist())) == len(firsts) == found.count
    assert 3 * found.count + len(found.validation) == 399
    for portion in found.portions(0):
        places = portion.records["score"]
        assert np.array_equal(portion.records, records[places])
        assert (np.diff(places.reshape(-1, 3), axis=1) == 1).all()


def test_of_many_positions_that_validate_some_are_taken_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "MAX_VALIDATION", 10)
    apart = np.flatnonzero(is_held_out(sample()["game"], SHARE))
    step = -(-len(apart) // 10)
    found = order_of(sample())
    assert step > 1 and np.array_equal(found.validation, sample()[apart[::step]])
    assert found.count == len(sample()) - len(apart)


@pytest.mark.usefixtures("small")
def test_no_more_than_a_portion_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, read = [], PackedBlocks.read

    def counted(self: PackedBlocks, first: int, last: int) -> np.ndarray:
        sizes.append(last - first)
        return read(self, first, last)

    monkeypatch.setattr(PackedBlocks, "read", counted)
    list(order_of(sample()).portions(0))
    assert max(sizes) == 120 and sizes.count(60) >= 6


@pytest.mark.usefixtures("small")
def test_files_teach_as_the_same_positions_in_memory_do(tmp_path: Path) -> None:
    paths = tmp_path / "a.bin", tmp_path / "b.txt", tmp_path / "c.bin"
    paths[0].write_bytes(with_checks(sample()[:100]).tobytes())
    paths[2].write_bytes(sample()[100:].tobytes())
    settings = TrainingSettings(Shape("ALL", 16), epochs=2, batch=64)
    nets = [Trainer(sample(), settings, threads=threads).run().network for threads in (1, 2)]
    with training_positions([paths[0], paths[2]], Filter(), tmp_path) as found:
        assert len(found) == 400 and recipe_of(found) == recipe_of(sample())
        assert np.array_equal(without_checks(found.read(90, 110)), sample()[90:110])
        assert np.array_equal(without_checks(found.every(7)), sample()[::7])
        nets.append(Trainer(found, settings).run().network)
    for net in nets[1:]:
        assert all(np.array_equal(array, net.weights[name]) for name, array in nets[0].weights.items())


def test_what_is_no_packed_file_is_kept_in_a_file_without_a_name(tmp_path: Path) -> None:
    packed, text = tmp_path / "a.bin", tmp_path / "b.txt"
    packed.write_bytes(sample()[:100].tobytes())
    text.write_text("4k3/8/8/8/8/8/8/R3K3 w - - 0 1 | 500 | 1.0\n" * 30)
    with training_positions([text, packed], Filter(), tmp_path) as found:
        assert len(found) == 130 and (found.read(0, 30)["score"] == 500).all()
        assert np.array_equal(found.read(25, 40)[5:], sample()[:10])
        assert sorted(tmp_path.iterdir()) == [packed, text]
    with joined([spooled([sample()[:5], sample()[:0], sample()[5:9]], tmp_path)]) as found:
        assert np.array_equal(found.read(0, 9), sample()[:9]) and not len(found.read(4, 4))


def test_a_file_that_is_cut_off_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(sample().tobytes())
    with open_blocks(path) as found:
        path.write_bytes(sample()[:10].tobytes())
        with pytest.raises(PackedError, match=r"a\.bin' was cut off"):
            found.read(300, 400)
