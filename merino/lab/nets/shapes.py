"""What some positions support: the shape of a net, the share of the result, the epochs.

Wider nets overfit few positions. The shapes are those that predicted other games best, or played best at equal
time, of nets trained on so many positions of Merino's games (docs/lab/nets.md). That the share of the result changes
from epoch to epoch, or a second layer, has not been seen to gain, so no row has either.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from merino.eval.families import default
from merino.eval.net.features import is_by_piece_and_king
from merino.eval.net.network import Network, Shape, parse_shape
from merino.lab.nets.position_blocks import PackedBlocks
from merino.lab.nets.training import FURTHER_EPOCHS, FURTHER_RATE, TrainingSettings, fit_k


class Supported(NamedTuple):
    """What positions support, from `least` of them on.

    `shape` is that of a net that begins with random weights. A net that is trained further gets its outputs, and the
    features `grown`, if it has what they are made of. `share` is that of the result in the target.
    """

    least: int
    shape: Shape
    share: float
    reason: str
    grown: str = ""


_SHARE, _LARGE_SHARE = 0.1, 0.05
_OVERFIT, _BEST = "more neurons overfit so few", "the lowest error on games kept apart"
_GROWN = "MIRRORED(KING[33333333/33333333/33333333/33333333/33333333/22222222/22222222/00111100]*ALL)"  # as gen13
SUPPORTED = (
    Supported(0, parse_shape("ALL -> 16 -> 1"), _SHARE, _OVERFIT),
    Supported(50_000, parse_shape("ALL -> 32 -> 1"), _SHARE, _OVERFIT),
    Supported(120_000, parse_shape("ALL -> 64 -> 1"), _SHARE, _OVERFIT),
    Supported(300_000, parse_shape("ALL -> 128 -> 1"), _SHARE, _BEST),
    Supported(1_500_000, parse_shape("ALL -> 256 -> 1"), _SHARE, f"{_BEST}, +59 +- 20 Elo over 64 neurons"),
    Supported(
        20_000_000,
        parse_shape("ALL mirrored -> 256 -> 1 x 8"),
        _LARGE_SHARE,
        "+35 +- 19 Elo at equal time with 24 million over a board that is not mirrored and one output",
    ),
    Supported(
        130_000_000,
        parse_shape("ALL mirrored -> 384 -> 1 x 8"),
        _LARGE_SHARE,
        "as good as 512 neurons with 182 million, and faster; a net trained further gains 20 +- 13 Elo by four groups "
        "of squares of the friendly king",
        _GROWN,
    ),
    Supported(500_000_000, parse_shape("ALL mirrored -> 512 -> 1 x 8"), _LARGE_SHARE, "as other engines", _GROWN),
)
MIN_STEPS = 200  # of training, however few positions there are
MIN_GAMES, MAX_GAMES = 8_000, 100_000  # of a generation of `night`, where no number is asked for
POSITIONS_A_GAME = 77  # that games of a net at 600 nodes a move have for learning
EPOCHS = TrainingSettings().epochs  # where these are steps enough


def supported_by(positions: int) -> Supported:
    """What so many positions support."""
    return next(row for row in reversed(SUPPORTED) if positions >= row.least)


def grown(shape: Shape, positions: int) -> Shape:
    """The shape of a net that is trained further on so many positions: its own, and what more they support.

    That is what begins with its scores: outputs, and weights for groups of squares of the friendly king.
    """
    row = supported_by(positions)
    if shape.second or shape.piece_values or not is_by_piece_and_king(shape.feature_set):
        return shape
    features = row.grown if row.grown and shape.features == row.shape.features else shape.features
    return replace(shape, features=features, outputs=max(shape.outputs, row.shape.outputs))


def games_to_teach(learned: int | None) -> int:
    """The games of a generation of `night` whose start has learned from so many positions, None if it does not say.

    A net that knows much learns from many games only: a quarter of what it has learned from, MAX_GAMES at most.
    `gen12`, which has learned from 28.6 million, lost by 8,000 games and gained by 85,000 (docs/lab/nets.md).
    """
    return min(MAX_GAMES, max(MIN_GAMES, round((learned or 0) / 4 / POSITIONS_A_GAME)))


def renewed(shape: Shape, positions: int) -> Shape:
    """The shape of a net that begins with random weights after one of this shape, on so many positions.

    As wide as before if the positions support half of that; else they say how many neurons. It sees the board mirrored
    and has more outputs where they support that, and loses nothing that it had.
    """
    row = supported_by(positions)
    hidden = shape.hidden if row.shape.hidden < shape.hidden <= 2 * row.shape.hidden else row.shape.hidden
    features = row.shape.features if shape.features == Shape.features else shape.features
    if shape.second or shape.piece_values:
        return replace(shape, hidden=hidden)
    return replace(shape, hidden=hidden, features=features, outputs=max(shape.outputs, row.shape.outputs))


class TrainingCourse(NamedTuple):
    """How a net learns where nothing else is said: its scale, that of the scores, the passes over them, the rate."""

    k: float
    score_k: float
    epochs: int
    rate: float


def course_for(
    records: np.ndarray | PackedBlocks, batch: int, start: Network | None, validation: float
) -> TrainingCourse:
    """The course over these positions, `batch` to a step, from a net to train further, or from random weights.

    A share of the positions is kept for `validation`.

    A new net gets the scale of the terms, so that a centipawn of both promises the same. Where scores seem to promise
    less, it is the players who lose what they have won, as with few nodes a move: the scores keep that scale too.
    """
    if start is not None:
        return TrainingCourse(start.k, start.k, FURTHER_EPOCHS, FURTHER_RATE)
    k = default().k
    steps = max(1, -(-round((1 - validation) * len(records)) // batch))
    epochs = max(EPOCHS, -(-MIN_STEPS // steps))  # more if positions are few
    return TrainingCourse(k, round(min(k, fit_k(records)), 1), epochs, TrainingSettings().rate)


def caution(shape: Shape, positions: int) -> str:
    """What to say of a net that is too wide for so many positions; empty if it is not."""
    row = supported_by(positions)
    if shape.hidden <= 2 * (neurons := row.shape.hidden):
        return ""
    wanted = next(each.least for each in SUPPORTED if shape.hidden <= 2 * each.shape.hidden)
    return (
        f"{positions:,} positions support about {neurons} neurons; {shape.hidden} would overfit and play worse. "
        f"They need about {wanted:,} positions; or give the net {neurons} neurons. "
        f"What they support: {row.shape} ({row.reason})."
    )
