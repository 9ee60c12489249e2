"""The error of a net over packed positions and its gradient, computed by an NVIDIA graphics card.

It takes the place of `lab.nets.gradient.Gradient` for nets of one layer whose features are pieces on squares, by the
place of the friendly king or not. Positions are copied to the card a portion at a time, 32 bytes each. A seed gives
the same net each time; on processor and card, whose sums are rounded otherwise, two nets a little different.
"""

from typing import Any

import numpy as np

from merino.core.common import about
from merino.eval.net import features, network
from merino.lab.nets.gradient import Layout
from merino.learn.request import TrainingError

BLOCKS = 2048  # of threads at most: some positions for each
WARP = 32  # threads that a card runs together
STEP_THREADS, RATES = 256, 7  # of a step


class GpuGradient:
    """Errors and gradients of nets of one layout, and steps along them. Weights and moments live on the card."""

    def __init__(self, layout: Layout, batch: int) -> None:
        """For batches of at most `batch` positions; raises TrainingError where there is no card, or it cannot help."""
        self._cuda = check_gpu(layout.shape)
        from merino.lab.nets import gpu_kernels  # noqa: PLC0415 (it needs CUDA)

        self._kernels = gpu_kernels
        self._layout, self._rows = layout, self._copied(_rows_of(layout))
        self._threads = max(WARP, -(-layout.width // WARP) * WARP)
        self._half = 1 << (layout.width - 1).bit_length() - 1
        self._gradient = self._copied(np.zeros(layout.size, dtype=np.int64))
        self._none = self._copied(np.zeros(0, dtype=np.int64))
        self._error = self._copied(np.zeros(1, dtype=np.int64))
        self._places = self._cuda.device_array(batch, dtype=np.int64)
        self._rates = self._cuda.device_array(RATES, dtype=np.float64)
        self._weights: Any = None
        self._moments: Any = None
        self._records: tuple[np.ndarray, Any] | None = None  # the last ones, and their copy
        self._options: tuple[bytes, Any] = b"", None

    def add_up(self, weights: np.ndarray, records: np.ndarray, places: np.ndarray, options: np.ndarray) -> None:
        """Add up the errors over records[places], for `errors`, and their gradient, for `step`.

        `weights` are those to begin with: after a first call, the card has newer ones.
        """
        if self._weights is None:
            self._weights = self._copied(weights)
        self._places[: len(places)].copy_to_device(places)
        self._learn(self._gradient, self._error, self._on_card(records), self._places[: len(places)], options)

    def errors(self, clears: bool = False) -> float:
        """The sum of the errors that were added up since it was last cleared."""
        found = float(self._error.copy_to_host()[0]) / self._kernels.ERROR_UNIT
        if clears:
            self._error.copy_to_device(np.zeros(1, dtype=np.int64))
        return found

    def error(self, weights: np.ndarray, records: np.ndarray, options: np.ndarray) -> float:
        """The mean error over PACKED[n]."""
        self._weights, total = self._copied(weights), self._copied(np.zeros(1, dtype=np.int64))
        places = self._copied(np.arange(len(records)))
        self._learn(self._none, total, self._on_card(records), places, options)
        return float(total.copy_to_host()[0]) / self._kernels.ERROR_UNIT / max(1, len(records))

    def whole(self) -> np.ndarray:
        """The gradient summed by `add_up`, float64; clears it."""
        found = self._gradient.copy_to_host() / self._kernels.GRADIENT_UNIT
        self._gradient.copy_to_device(np.zeros(self._layout.size, dtype=np.int64))
        return found

    def step(self, weights: np.ndarray, moments: np.ndarray, rates: np.ndarray) -> None:
        """A step of Adam on the card's weights and moments; `moments` are those to begin with."""
        if self._moments is None:
            self._moments = self._copied(moments)
        self._rates.copy_to_device(rates)
        blocks = -(-self._weights.size // STEP_THREADS)
        self._kernels.step[blocks, STEP_THREADS](self._weights, self._moments, self._gradient, self._rates)

    def fetch(self, weights: np.ndarray, moments: np.ndarray) -> None:
        """Copy the card's weights and moments to these arrays."""
        for kept, array in ((self._weights, weights), (self._moments, moments)):
            if kept is not None:
                kept.copy_to_host(array)

    def _learn(self, gradient: Any, error: Any, records: Any, places: Any, options: np.ndarray) -> None:
        blocks, known = min(BLOCKS, max(1, len(places))), options.tobytes()
        if known != self._options[0]:
            self._options = known, self._copied(options)
        learn = self._kernels.learn_scores[blocks, self._threads]
        learn(self._weights, gradient, error, records, places, self._rows, self._options[1], self._half)

    def _on_card(self, records: np.ndarray) -> Any:
        """PACKED[n] on the card, uint64[n, 4]; copied unless they are the same as the last time."""
        if self._records is None or self._records[0] is not records:
            words = np.ascontiguousarray(records).view(np.uint64).reshape(-1, self._kernels.WORDS)
            self._records = records, self._copied(words)
        return self._records[1]

    def _copied(self, array: np.ndarray) -> Any:
        return self._cuda.to_device(array)


def check_gpu(shape: network.Shape) -> Any:
    """What drives a card that can train nets of this shape; raises TrainingError if none can."""
    if shape.second or shape.piece_values or not features.is_by_piece_and_king(shape.feature_set):
        raise TrainingError(
            "a graphics card trains nets of one layer that see pieces on squares, by the friendly king or not (as ALL, "
            f"KING8*ALL, MIRRORED(...)), not {shape}"
        )
    from numba import cuda  # noqa: PLC0415 (it looks for a driver)

    if not cuda.is_available():
        raise TrainingError(
            f"no NVIDIA graphics card can be used: {about.needs('gpu', 'training on one, with its driver,')}"
        )
    from merino.lab.nets.gpu_kernels import MAX_ACTIVE  # noqa: PLC0415 (it needs CUDA)

    if (summands := len(shape.feature_set.terms)) > (most := MAX_ACTIVE // network.MAX_MEN):
        raise TrainingError(f"a graphics card trains feature sets of at most {most} summands: {shape} has {summands}")
    return cuda


def _rows_of(layout: Layout) -> np.ndarray:
    """The features of a piece by its square and that of the friendly king, int32[64, 14, 64, terms].

    They are as the owner sees them, in the order king, piece, square.
    """
    found = []
    for term in layout.feature_set.terms:
        halves = features.piece_features(term)[0].reshape(2, features.PIECES, 64)
        found.append(np.stack([halves[place >> 2 & 1] for place in range(64)]) + term.kings[:, None, None])
    return np.stack(found, axis=-1).astype(np.int32)
