"""The shape and the epochs that some positions bear: wider nets learn few positions by heart.

The widths are those that predicted other games best, or played best, of nets trained on so many positions of Merino's
games (docs/lab/nets.md); the last two are other engines'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from merino.inner.eval.families import default
from merino.inner.eval.net.network import Network, Shape
from merino.inner.learn.net.training import FURTHER_EPOCHS, FURTHER_RATE, TrainingSettings, fit_k

# From how many positions on so many neurons pay.
BORNE = (
    (0, 16),
    (50_000, 32),
    (120_000, 64),
    (300_000, 128),
    (1_500_000, 256),
    (150_000_000, 384),
    (500_000_000, 512),
)
MIN_STEPS = 200  # of training, however few positions there are
EPOCHS = TrainingSettings().epochs  # where these are steps enough


def neurons_for(positions: int) -> int:
    """The neurons that so many positions bear."""
    return max(neurons for least, neurons in BORNE if positions >= least)


def epochs_for(positions: int, batch: int) -> int:
    """The passes over so many positions, `batch` to a step."""
    steps = max(1, -(-positions // batch))
    return max(EPOCHS, -(-MIN_STEPS // steps))


class Course(NamedTuple):
    """How a net learns where nothing else is said: its scale, that of the scores, the passes over them, the rate."""

    k: float
    score_k: float
    epochs: int
    rate: float


def course_for(records: np.ndarray, batch: int, start: Network | None) -> Course:
    """The course over PACKED[n], `batch` to a step, from a net to train further, or from random weights.

    A new net gets the scale of the terms, so that a centipawn of both promises the same. Where scores seem to promise
    less, it is the players who lose what they have won, as with few nodes a move: the scores keep that scale too.
    """
    if start is not None:
        return Course(start.k, start.k, FURTHER_EPOCHS, FURTHER_RATE)
    k = default().k
    return Course(k, round(min(k, fit_k(records)), 1), epochs_for(len(records), batch), TrainingSettings().rate)


def caution(shape: Shape, positions: int) -> str:
    """What to say of a net that is too wide for so many positions; empty if it is not."""
    neurons = neurons_for(positions)
    if shape.hidden <= 2 * neurons:
        return ""
    wanted = next(least for least, borne in BORNE if shape.hidden <= 2 * borne)
    return (
        f"{positions:,} positions bear about {neurons} neurons; {shape.hidden} learn them by heart and play worse. "
        f"They need about {wanted:,} positions; or give --hidden {neurons}."
    )
