"""Training on a graphics card, in numba's simulator of one: errors, gradients and steps are the processor's.

The simulator needs no card: its threads are Python's. It takes a third of a second for a position.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from merino.eval.net.network import Shape
from merino.lab.nets import gpu, gradient, training
from merino.learn.request import TrainingError
from tests.test_net_training import sample, weights_of

OBJECTIVE = gradient.Objective(0.3, 200.0, 1.6, score_k=150.0)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # hashes are meant to


def both(shape: Shape) -> tuple[gradient.Gradient, gpu.GpuGradient, gradient.Layout]:
    layout = gradient.Layout(shape)
    return gradient.Gradient(layout, ThreadPoolExecutor(1), 1, 64), gpu.GpuGradient(layout, 64), layout


@pytest.mark.parametrize(
    "shape",
    [Shape("ALL", 20), Shape("MIRRORED(KING8*ALL+ALL)", 16, activation="crelu", outputs=8)],
    ids=["one view", "by the friendly king"],
)
def test_a_card_finds_the_errors_and_the_gradient_of_the_processor(shape: Shape) -> None:
    by_processor, by_card, layout = both(shape)
    weights, places, options = weights_of(layout), np.arange(40, 44), layout.options(OBJECTIVE, mirror=77)
    for each in (by_processor, by_card):
        each.add_up(weights, sample(), places, options)
    expected = by_processor.whole()
    assert np.linalg.norm(by_card.whole() - expected) < 1e-5 * np.linalg.norm(expected)
    assert not by_card.whole().any()
    assert by_card.errors(clears=True) == pytest.approx(by_processor.errors(), rel=1e-5)
    assert by_card.errors() == 0
    few = sample()[:2]
    assert by_card.error(weights, few, options) == pytest.approx(by_processor.error(weights, few, options), rel=1e-5)
    assert not by_card.whole().any()


def test_a_step_on_a_card_is_that_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    by_processor, by_card, _ = both(Shape("ALL", 4))
    monkeypatch.setattr(gpu, "STEP_THREADS", 32)
    draw = np.random.default_rng(8)
    slopes = draw.normal(0, 1, 50).astype(np.float32)
    by_processor._gradients = np.stack([slopes, np.zeros_like(slopes)])
    by_card._gradient = by_card._copied(np.rint(slopes * by_card._kernels.GRADIENT_UNIT).astype(np.int64))
    weights = draw.uniform(-0.33, 0.33, 50).astype(np.float32)
    moments = np.abs(draw.normal(0, 0.01, (2, 50))).astype(np.float32)
    rates = np.array([0.01, 0.9, 0.99, 1e-8, 1 / 40, 0.002, 0.3])
    by_card._weights = by_card._copied(weights.copy())
    by_card.step(weights, moments, rates)
    found = np.zeros_like(weights), np.zeros_like(moments)
    by_card.fetch(*found)
    by_processor.step(weights, moments, rates)
    assert found[0] == pytest.approx(weights, abs=1e-6) and found[1] == pytest.approx(moments, abs=1e-8)
    assert not by_card._gradient.copy_to_host().any()


def test_training_on_a_card_goes_the_way_of_training_without(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = training.TrainingSettings(Shape("ALL", 16), epochs=3, batch=64)
    plain = training.Trainer(sample(), settings, threads=2).run().network
    made: list[tuple[Any, ...]] = []

    def in_place_of_a_card(*arguments: Any) -> gradient.Gradient:
        made.append(arguments)
        return gradient.Gradient(arguments[0], ThreadPoolExecutor(2), 2, arguments[1])

    monkeypatch.setattr(gpu, "GpuGradient", in_place_of_a_card)
    found = training.Trainer(sample(), replace(settings, gpu=True), threads=2).run().network
    assert [arguments[1:] for arguments in made] == [(64,)]
    assert all(np.array_equal(array, plain.weights[name]) for name, array in found.weights.items())
    assert found.about["settings"] == plain.about["settings"] | {"gpu": True}


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        (Shape("ALL+H", 8), r"not ALL\+H -> 8 -> 1"),
        (Shape("ALL", 8, 4), "-> 8 -> 4 -> 1"),
        (Shape("ALL", 8, piece_values=True), "-> 8 -> values"),
    ],
)
def test_what_a_card_cannot_train_is_refused(shape: Shape, named: str) -> None:
    with pytest.raises(TrainingError, match=f"a graphics card trains nets of one layer .*{named}"):
        gpu.GpuGradient(gradient.Layout(shape), 64)


def test_more_summands_than_a_card_has_memory_for_are_refused() -> None:
    with pytest.raises(TrainingError, match=r"feature sets of at most 4 summands: .* has 5"):
        gpu.GpuGradient(gradient.Layout(Shape("ALL+KING8*ALL+KING*ALL+MIRRORED(ALL+KING8*ALL)", 8)), 64)
    gpu.GpuGradient(gradient.Layout(Shape("ALL+KING8*ALL+MIRRORED(ALL+KING8*ALL)", 8)), 64)


def test_without_a_card_the_command_says_what_it_needs(tmp_path, monkeypatch, shell) -> None:
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    out = tmp_path / "n.net"
    printed = shell("train", "not/read.bin", "--gpu", "--hidden", "8", "--out", out, status=1)
    assert "train: no NVIDIA graphics card can be used" in printed and "[gpu]" in printed
    assert not out.exists()
