"""Training a net from packed positions: batches, a schedule, validation games, checkpoints; returns the best net."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from merino.app.console import shared
from merino.core.common import errors, files, sealed, work
from merino.core.common.options import Option
from merino.eval.net import file, network
from merino.formats import packed, packed_files
from merino.lab import arrays
from merino.lab.nets import gpu, gradient, position_blocks, quantising, starting
from merino.learn.request import TrainingError

# The order in which training goes through positions, some of which are in memory at a time. Positions stay together
# in blocks as they are in the files. Each epoch puts the blocks in an order by chance, reads so many of them as make
# a portion, and shuffles the positions of that. So a batch has positions of hundreds of blocks from anywhere in the
# files, and memory does not grow with the number of positions.
BLOCK, PORTION = 4096, 256  # positions of a block, and blocks of a portion
_BYTES = np.dtype(("V", packed.PACKED.itemsize))  # a record as one thing, copied ten times as fast as its fields
MAX_VALIDATION = 1 << 20  # positions that validate; of more, some are taken


class Portion(NamedTuple):
    """Positions to train on next, in memory; which comes when; what decides which are mirrored, 0 for none."""

    records: np.ndarray  # PACKED[n]
    order: np.ndarray  # int64[n]
    mirror: int


class TrainingOrder:
    """What is learned from and what validates; and in which order, by a seed, whatever the number of threads."""

    def __init__(self, positions: position_blocks.PackedBlocks, share: float, seed: int, mirrors: bool) -> None:
        """A `share` of the games validates."""
        self._positions, self._share, self._seed, self._mirrors = positions, share, seed, mirrors
        held = sum(int(self._is_held_out(first, some).sum()) for first, some in self._blocks())
        self.count = len(positions) - held  # to learn from in an epoch
        step, seen, kept = max(1, -(-held // MAX_VALIDATION)), 0, [np.zeros(0, dtype=packed.PACKED)]
        for first, some in self._blocks():
            found = np.flatnonzero(self._is_held_out(first, some))
            kept.append(some[found[-seen % step :: step]])
            seen += len(found)
        self.validation = np.concatenate(kept)  # PACKED[n]: all that validates, or evenly MAX_VALIDATION at most

    def portions(self, epoch: int) -> Iterator[Portion]:
        """The portions of an epoch, from 0 on; each has something to learn from."""
        blocks = -(-len(self._positions) // BLOCK)
        order = np.random.default_rng((self._seed, epoch)).permutation(blocks)
        for number, first in enumerate(range(0, blocks, PORTION)):
            draw, kept = np.random.default_rng((self._seed, epoch, number)), []
            for place in (BLOCK * order[first : first + PORTION]).tolist():
                some = self._positions.read(place, min(place + BLOCK, len(self._positions)))
                kept.append(some.view(_BYTES).take(np.flatnonzero(~self._is_held_out(place, some))))
            records = np.concatenate(kept).view(packed.PACKED)
            found = Portion(
                records, draw.permutation(len(records)), int(draw.integers(1, 1 << 62)) if self._mirrors else 0
            )
            if len(records):
                yield found

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        size = PORTION * BLOCK
        yield from zip(range(0, len(self._positions), size), self._positions.blocks(size), strict=True)

    def _is_held_out(self, first: int, some: np.ndarray) -> np.ndarray:
        """Which of these validate, bool[n]; the first of them is at the place `first`."""
        return packed_files.is_held_out(some["game"], self._share, first)


BETAS, EPSILON = (0.9, 0.999), 1e-8
LAST_RATE = 0.01  # of the first, at the end
FURTHER_RATE, FURTHER_EPOCHS = 0.0002, 4  # for a net that has learned: more takes from it what it knows
REPORT_SECONDS = 0.5
FITTED = 200_000  # positions that K is fitted to
MAX_LEARNED = 10**15  # positions that a card may name, far beyond any useful number
ROUNDED = 256  # positions at which the error of rounding is measured
EPOCHS, RATE = 10, 0.004
training = partial(Option, group="training")
above_zero = partial(training, high=np.inf, read=shared.number_above_zero)
ShareOfResult = Annotated[
    float | None,
    "weight of the result in the target; the score has the rest",
    training("X", 0, 1, flag="--blend", default="what the positions support"),
]
Power = Annotated[float, "exponent of the error; 2 is the squared error", above_zero("X")]
OnCard = Annotated[
    bool, "train on an NVIDIA graphics card: one layer, pieces on squares, by the friendly king or not", training()
]
_EPOCHS = training("N", 1, default=f"{EPOCHS}, more if they are few; {FURTHER_EPOCHS} with --start")


@dataclass(frozen=True)
class TrainingSettings:
    """How a net is trained; `decay` is that of a weight in a step, times the rate."""

    shape: network.Shape = field(default_factory=network.Shape)
    objective: gradient.Objective = field(default_factory=gradient.Objective)
    epochs: Annotated[int, "passes over all positions", _EPOCHS] = EPOCHS
    batch: Annotated[int, "positions per step", training("N", 1)] = 4096
    rate: Annotated[
        float, "learning rate at the start", above_zero("X", default=f"{RATE}, {FURTHER_RATE} with --start")
    ] = RATE
    decay: float = 0.01
    mirror: Annotated[bool, "do not mirror positions left to right", training()] = True
    validation: Annotated[
        float, "share of the games kept for validation", training("X", read=shared.share_above_zero)
    ] = 0.02
    seed: Annotated[int, "seed of the random weights and the order", Option("N")] = 1
    gpu: OnCard = False

    def as_json(self) -> dict[str, Any]:
        """Plain data, by the names in net files, which are older than some: the share for validation is `apart`."""
        found: dict[str, Any] = asdict(self)
        found["apart"] = found.pop("validation")
        score_k = found["objective"].pop("score_k")
        found["objective"] |= {"pqr": False} if score_k is None else {"pqr": False, "score_k": score_k}
        for table, name, usual in ((found, "gpu", False), (found["shape"], "outputs", 1)):
            if table[name] == usual:
                del table[name]
        return found


@dataclass(frozen=True)
class TrainingState:
    """The progress of training, reported several times a second and after each epoch."""

    epoch: int  # from 1
    epochs: int
    done: float  # of all, 0..1
    error: float  # so far in this epoch, over the training positions
    validation_error: float | None  # after the last epoch
    best: float | None
    speed: float  # positions a second
    seconds: float  # of the epochs so far in this run
    seconds_left: float
    is_epoch: bool  # whether an epoch has just ended


@dataclass(frozen=True)
class Trained:
    """The result of training."""

    network: network.Network
    error: float  # of the last epoch, over the training positions
    validation_error: float  # the best
    start_error: float | None  # of the net it began with, over the validation positions; None for random weights
    even_error: float  # of an even score for every position, over the same
    epochs: int
    seconds: float  # of this run, without compiling
    interrupted: bool


def fit_k(records: np.ndarray | position_blocks.PackedBlocks) -> float:
    """The scale at which the scores of positions predict their results best: least log loss, 20 to 2000."""
    chosen = position_blocks.blocks_of(records).every(max(1, len(records) // FITTED))
    scores, results = chosen["score"].astype(np.float64), chosen["result"] / 2

    def loss(log_k: float) -> float:
        x = scores / np.exp(log_k)
        return float(np.mean(np.logaddexp(0, x) - results * x))

    low, high = np.log(20.0), np.log(2000.0)
    golden = (np.sqrt(5) - 1) / 2
    while high - low > 1e-3:
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if loss(first) < loss(second) else (first, high)
    return float(np.exp((low + high) / 2))


def recipe_of(records: np.ndarray | position_blocks.PackedBlocks) -> dict[str, Any]:
    """The data in the header of a net: the number of positions, and a hash of them."""
    found = hashlib.blake2b(digest_size=16)
    for block in position_blocks.blocks_of(records).blocks():
        found.update(packed.without_checks(block).tobytes())
    return {"positions": len(records), "hash": found.hexdigest()}


def learned_by(net: network.Network) -> int | None:
    """The positions that a net and those it was trained on from have learned from; None if its card does not say."""
    data = net.about.get("data")
    if not isinstance(data, dict):
        return None
    numbers = data.get("positions"), data.get("before", 0)  # its own, and those of its start: 1.0.0 did not say
    return sum(numbers) if all(type(each) is int and 0 <= each <= MAX_LEARNED for each in numbers) else None


class Trainer:
    """A run of training. `records` are read again in each epoch, in blocks; the caller closes them.

    It writes a `checkpoint` file, if one is named, after each epoch, and continues from it.
    """

    def __init__(
        self,
        records: np.ndarray | position_blocks.PackedBlocks,
        settings: TrainingSettings,
        about: Mapping[str, Any] | None = None,
        checkpoint: Path | None = None,
        threads: int | None = None,
        start: network.Network | None = None,
    ) -> None:
        """`start` is a net to continue from instead of random weights; its numbers of the search stay.

        Raises TrainingError, also for a checkpoint of another training.
        """
        self._positions, self._settings, self._checkpoint = position_blocks.blocks_of(records), settings, checkpoint
        self._layout, self._threads = gradient.Layout(settings.shape), threads or work.cores()
        before = {} if start is None else {"before": learned_by(start)}
        data = {**recipe_of(self._positions), **before, **(about or {})}
        self._about: dict[str, Any] = {"data": data, "settings": settings.as_json()}
        self._search = start.search if start is not None else {}
        if start is not None:
            self._about["start"] = file.digest(start)
        self._order = TrainingOrder(self._positions, settings.validation, settings.seed, settings.mirror)
        if not len(self._order.validation):
            raise TrainingError(f"{len(records)} positions are too few to keep some games for validation")
        if not self._order.count:
            raise TrainingError(f"all {len(records)} positions are kept for validation, and none is left to learn from")
        self._weights = np.zeros(self._layout.size, dtype=np.float32)
        self._moments = np.zeros((2, self._layout.size), dtype=np.float32)
        self._step = self._epoch = 0
        self._best, self._best_weights, self._error = np.inf, self._weights.copy(), np.nan
        self._last: float | None = None  # error over the validation positions in this run
        self._seconds = 0.0
        shape, seed = settings.shape, settings.seed
        layers = starting.random_layers(shape, seed) if start is None else starting.layers_of(start, shape, seed)
        self._layout.fill(self._weights, layers)
        self._start = None if start is None else self._weights.copy()
        self._load()

    def run(self, report: Callable[[TrainingState], object] | None = None) -> Trained:
        """Train to the end or to Ctrl-C, which is passed on if no epoch has ended.

        Raises OSError if the checkpoint cannot be written, and TrainingError if training diverges: the error is no
        number, or the weights are too large for play.
        """
        interrupted, settings = False, self._settings
        with ThreadPoolExecutor(self._threads, thread_name_prefix="train") as pool:
            found: gradient.Gradient | gpu.GpuGradient
            if settings.gpu:
                found = gpu.GpuGradient(self._layout, settings.batch)
            else:
                found = gradient.Gradient(self._layout, pool, self._threads, settings.batch)
            try:
                self._compile(found)
                while self._epoch < settings.epochs:
                    self._run_epoch(found, pool, report)
                    self._save()
            except KeyboardInterrupt:
                interrupted = True
                if not np.isfinite(self._best):
                    raise
            before = None if self._start is None else self._error_apart(found, self._start)
            even = self._error_apart(found, np.zeros_like(self._weights))
        return Trained(self._network(), self._error, self._best, before, even, self._epoch, self._seconds, interrupted)

    def _compile(self, found: gradient.Gradient | gpu.GpuGradient) -> None:
        """Compile what an epoch needs, by one position: compiling is not to count as training."""
        options = self._layout.options(self._settings.objective)
        found.add_up(self._weights, self._positions.read(0, 1), np.zeros(1, dtype=np.int64), options)
        found.whole()
        found.errors(clears=True)

    def _portions(self, pool: ThreadPoolExecutor) -> Iterator[Portion]:
        """The portions of the present epoch; the next is made while one is learned from."""
        portions = self._order.portions(self._epoch)
        ahead = pool.submit(next, portions, None)
        while portion := ahead.result():
            ahead = pool.submit(next, portions, None)
            yield portion

    def _run_epoch(
        self,
        found: gradient.Gradient | gpu.GpuGradient,
        pool: ThreadPoolExecutor,
        report: Callable[[TrainingState], object] | None,
    ) -> None:
        settings, seen, began, shown = self._settings, 0, time.monotonic(), 0.0
        for portion in self._portions(pool):
            options = self._layout.options(settings.objective, portion.mirror)
            for chosen in np.array_split(portion.order, -(-len(portion.order) // settings.batch)):
                found.add_up(self._weights, portion.records, chosen, options)
                found.step(self._weights, self._moments, self._rates(seen, len(chosen)))
                seen += len(chosen)
                now = time.monotonic() - began
                if report and now - shown > REPORT_SECONDS:
                    shown = now
                    report(self._state(found.errors() / seen, seen, seen / now, is_epoch=False))
        found.fetch(self._weights, self._moments)
        self._seconds += time.monotonic() - began
        self._epoch += 1
        self._error, self._last = found.errors(clears=True) / seen, self._error_apart(found, self._weights)
        fault: object = "" if np.isfinite((self._error, self._last)).all() else "its error is no number"
        if not fault and self._last < self._best:
            self._best, self._best_weights = self._last, self._weights.copy()
            try:
                self._quantised()  # better refused now than after the last epoch
            except network.NetError as error:
                fault = error
        if fault:
            raise TrainingError(
                f"training diverged in epoch {self._epoch}: {fault}; try a rate below {settings.rate:g}"
            )
        if report:
            report(self._state(self._error, 0, seen / max(1e-9, time.monotonic() - began), is_epoch=True))

    def _error_apart(self, found: gradient.Gradient | gpu.GpuGradient, weights: np.ndarray) -> float:
        """The mean error of a net with these weights over the validation positions."""
        return found.error(weights, self._order.validation, self._layout.options(self._settings.objective))

    def _state(self, error: float, seen: int, speed: float, is_epoch: bool) -> TrainingState:
        epochs, count = self._settings.epochs, self._order.count
        done = (self._epoch + seen / count) / epochs
        left = (1 - done) * epochs * count / speed
        best = self._best if np.isfinite(self._best) else None
        last = best if self._last is None else self._last
        number, seconds = self._epoch + (not is_epoch), self._seconds + seen / speed
        return TrainingState(number, epochs, done, error, last, best, speed, seconds, left, is_epoch)

    def _rates(self, seen: int, positions: int) -> np.ndarray:
        """The rates for `Gradient.step`, after so many in this epoch: the learning rate falls along half a cosine."""
        settings = self._settings
        share = min(1.0, (self._epoch + seen / self._order.count) / settings.epochs)
        rate = settings.rate * (LAST_RATE + (1 - LAST_RATE) * (1 + np.cos(np.pi * share)) / 2)
        self._step += 1
        first, second = (1 - beta**self._step for beta in BETAS)
        corrected = rate * np.sqrt(second) / first
        return np.array([corrected, *BETAS, EPSILON, 1 / positions, settings.decay * rate, network.MAX_WEIGHT])

    def _quantised(self) -> tuple[Mapping[str, np.ndarray], network.Network]:
        """The layers of the best weights, and the net of them; raises NetError."""
        layers = self._layout.cut(self._best_weights)
        return layers, quantising.quantised(self._settings.shape, layers, self._settings.objective.k, {})

    def _network(self) -> network.Network:
        layers, rounded = self._quantised()
        apart = self._order.validation
        some = packed.unpack(apart[:: max(1, len(apart) // ROUNDED)][:ROUNDED])
        off = np.abs(quantising.exact_scores(rounded.shape, layers, some) - quantising.plain_scores(rounded, some))
        errors = {"epochs": self._epoch, "error": self._error, "error_apart": self._best}
        errors["rounding_cp"] = round(float(off.mean()), 2)
        return replace(rounded, about={**self._about, "training": errors}, search=self._search)

    def _arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps; `numbers` are those of `_load`."""
        return {
            "weights": self._weights,
            "moments": self._moments,
            "best_weights": self._best_weights,
            "identity": np.array(json.dumps(self._about, sort_keys=True)),
            "numbers": np.array([self._step, self._epoch, self._best, self._error]),
        }

    def _save(self) -> None:
        if self._checkpoint is not None:
            files.write_whole(self._checkpoint, arrays.as_npz(self._arrays()))

    def _load(self) -> None:
        path, own = self._checkpoint, self._arrays()
        if path is None or not files.is_there(path):
            return
        with errors.turning(
            (OSError, sealed.DamageError), TrainingError, f"'{path}' is not a checkpoint of training (", ")"
        ):
            found = arrays.from_npz(files.read_user_file(path, files.STATE))
            if "identity" in found and str(found["identity"]) != str(own["identity"]):
                raise TrainingError(
                    f"'{path}' belongs to other data or settings: remove it to train from the beginning"
                )
            found["numbers"] = np.ravel(found.get("numbers", ()))[:4]  # Merino 1.0 has a fifth, its time
            arrays.check_arrays(found, own)
            if not np.isfinite(found["numbers"][:2]).all():
                raise sealed.DamageError("its numbers are not finite")
        self._weights, self._moments, self._best_weights = (found[name] for name in list(own)[:3])
        self._step, self._epoch = (int(number) for number in found["numbers"][:2])
        self._best, self._error = found["numbers"][2:].tolist()
