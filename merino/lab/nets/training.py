"""Training a net from packed positions: batches, a schedule, validation games, checkpoints; returns the best net."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from merino.app.console.command_line import number_above_zero
from merino.app.console.command_line import share as share_below_1
from merino.core.common.files import STATE, is_there, read_user_file, write_whole
from merino.core.common.options import Option
from merino.core.common.sealed import DamageError, as_npz, check_arrays, from_npz
from merino.core.common.work import cores
from merino.eval.net.file import digest
from merino.eval.net.network import MAX_WEIGHT, NetError, Network, Shape, exact_scores, quantised
from merino.formats.packed import PACKED, PackedBlocks, blocks_of, unpack, without_checks
from merino.formats.packed_files import is_held_out
from merino.lab.nets.gpu import GpuGradient
from merino.lab.nets.gradient import Gradient, Layout, Objective
from merino.lab.nets.starting import extended, factorised, folded, layers_of, random_layers
from merino.learn.errors import TrainingError

# The order in which training goes through positions, some of which are in memory at a time. Positions stay together
# in blocks as they are in the files. Each epoch puts the blocks in an order by chance, reads so many of them as make
# a portion, and shuffles the positions of that. So a batch has positions of hundreds of blocks from anywhere in the
# files, and memory does not grow with the number of positions.
BLOCK, PORTION = 4096, 256  # positions (or triples) of a block, and blocks of a portion
_BYTES = np.dtype(("V", PACKED.itemsize))  # a record as one thing, which numpy copies ten times as fast as its fields
MAX_VALIDATION = 1 << 20  # positions (or triples) that validate; of more, some are taken


@dataclass(frozen=True)
class Portion:
    """Positions to train on next, in memory.

    `order` says which comes when: of triples, the first record of each. `mirror` decides which are mirrored, if not 0.
    """

    records: np.ndarray  # PACKED[n]
    order: np.ndarray  # int64[n / together]
    mirror: int


class TrainingOrder:
    """What is learned from and what validates; and in which order, by a seed, whatever the number of threads."""

    def __init__(self, positions: PackedBlocks, share: float, together: int, seed: int, mirrors: bool) -> None:
        """A `share` of the games validates; `together` records are one thing to learn from."""
        self._positions, self._share, self._together = positions, share, together
        self._seed, self._mirrors, self._block = seed, mirrors, BLOCK * together
        held = sum(int(self._is_held_out(first, some).sum()) for first, some in self._blocks())
        self.validation = self._validation(held)
        self.count = len(positions) // together - held  # to learn from in an epoch

    def portions(self, epoch: int) -> Iterator[Portion]:
        """The portions of an epoch, from 0 on; each has something to learn from."""
        blocks = -(-len(self._positions) // self._block)
        order = np.random.default_rng((self._seed, epoch)).permutation(blocks)
        for number, first in enumerate(range(0, blocks, PORTION)):
            found = self._portion(order[first : first + PORTION], np.random.default_rng((self._seed, epoch, number)))
            if len(found.order):
                yield found

    def _portion(self, blocks: np.ndarray, draw: np.random.Generator) -> Portion:
        kept = []
        for first in (self._block * blocks).tolist():
            some = self._positions.read(first, min(first + self._block, len(self._positions)))
            wanted = np.repeat(~self._is_held_out(first, some), self._together)
            kept.append(some.view(_BYTES).take(np.flatnonzero(wanted)))
        records = np.concatenate(kept).view(PACKED)
        order = self._together * draw.permutation(len(records) // self._together)
        return Portion(records, order, int(draw.integers(1, 1 << 62)) if self._mirrors else 0)

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        size = PORTION * self._block
        yield from zip(range(0, len(self._positions), size), self._positions.blocks(size), strict=True)

    def _is_held_out(self, first: int, some: np.ndarray) -> np.ndarray:
        """Which of these validate, bool[n / together]; the first of them is at the place `first`."""
        return is_held_out(some["game"][:: self._together], self._share, first // self._together)

    def _validation(self, held: int) -> np.ndarray:
        """What validates, PACKED[n]: all of it, or evenly MAX_VALIDATION at most."""
        step, seen, kept = max(1, -(-held // MAX_VALIDATION)), 0, [np.zeros(0, dtype=PACKED)]
        for first, some in self._blocks():
            found = np.flatnonzero(self._is_held_out(first, some))
            chosen = found[-seen % step :: step]
            seen += len(found)
            kept.append(some.reshape(-1, self._together)[chosen].ravel())
        return np.concatenate(kept)


BETAS, EPSILON = (0.9, 0.999), 1e-8
LAST_RATE = 0.01  # of the first, at the end
FURTHER_RATE, FURTHER_EPOCHS = 0.0002, 4  # for a net that has learned: more takes from it what it knows
REPORT_SECONDS = 0.5
FITTED = 200_000  # positions that K is fitted to
MAX_LEARNED = 10**15  # positions that a card may name, far beyond any useful number
ROUNDED = 256  # positions at which the error of rounding is measured
training = partial(Option, group="training")
above_zero = partial(training, high=np.inf, read=number_above_zero)
ShareOfResult = Annotated[
    float | None,
    "weight of the result in the target; the score has the rest",
    training("X", 0, 1, flag="--blend", default="what the positions support"),
]
Power = Annotated[float, "exponent of the error; 2 is the squared error", above_zero("X")]
Ahead = Annotated[
    float,
    "share of each score that is made of the scores after it in the game, TD(lambda)",
    training("X", read=share_below_1, flag="--lambda", default="0"),
]
OnCard = Annotated[
    bool, "train on an NVIDIA graphics card: one layer, pieces on squares, by the own king or not", training()
]


class StoppedEarlyError(TrainingError):
    """Ctrl-C before the first epoch had ended."""


class OtherTrainingError(TrainingError):
    """The checkpoint is that of another training."""


@dataclass(frozen=True)
class TrainingSettings:
    """How a net is trained."""

    shape: Shape = field(default_factory=Shape)
    objective: Objective = field(default_factory=Objective)
    epochs: int = 10
    batch: int = 4096
    rate: float = 0.004
    decay: float = 0.01  # of a weight in a step, times the rate
    mirror: bool = True
    validation: float = 0.02  # share of the games kept for validation
    seed: int = 1
    factorised: bool = False  # learn what is by the own king for all its squares at once as well
    gpu: bool = False  # on a graphics card
    blend_from: float | None = None  # the share of the result in the first epoch; in the last it is the objective's

    def objective_of(self, epoch: int) -> Objective:
        """What is learned in an epoch, from 0 on."""
        if self.blend_from is None or self.epochs == 1:
            return self.objective
        share, last = epoch / (self.epochs - 1), self.objective.blend
        return replace(self.objective, blend=self.blend_from + share * (last - self.blend_from))

    @property
    def trained_shape(self) -> Shape:
        """The shape that is trained: that of the net, or `factorised`; raises TrainingError."""
        return factorised(self.shape) if self.factorised else self.shape

    def as_json(self) -> dict[str, Any]:
        """Plain data, by the names in net files: the share for validation is `apart` there."""
        found: dict[str, Any] = asdict(self)
        found["apart"] = found.pop("validation")
        usual = {"factorised": False, "gpu": False, "blend_from": None, "outputs": 1, "score_k": None}
        for table in (found, found["shape"], found["objective"]):
            for name, value in usual.items():
                if name in table and table[name] == value:
                    del table[name]  # as in files that are older than it
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

    network: Network
    error: float  # of the last epoch, over the training positions
    validation_error: float  # the best
    start_error: float | None  # of the net it began with, over the validation positions; None for random weights
    even_error: float  # of an even score for every position, over the same
    epochs: int
    seconds: float  # of this run, without compiling
    interrupted: bool


Report = Callable[[TrainingState], object]


def fit_k(records: np.ndarray | PackedBlocks) -> float:
    """The scale at which the scores of positions predict their results best: least log loss, 20 to 2000."""
    chosen = blocks_of(records).every(max(1, len(records) // FITTED))
    scores, results = chosen["score"].astype(np.float64), chosen["result"] / 2

    def loss(k: float) -> float:
        x = scores / k
        return float(np.mean(np.logaddexp(0, x) - results * x))

    low, high = np.log(20.0), np.log(2000.0)
    golden = (np.sqrt(5) - 1) / 2
    while high - low > 1e-3:
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if loss(np.exp(first)) < loss(np.exp(second)) else (first, high)
    return float(np.exp((low + high) / 2))


def recipe_of(records: np.ndarray | PackedBlocks) -> dict[str, Any]:
    """The data in the header of a net: the number of positions, and a hash of them."""
    digest = hashlib.blake2b(digest_size=16)
    for block in blocks_of(records).blocks():
        digest.update(without_checks(block).tobytes())
    return {"positions": len(records), "hash": digest.hexdigest()}


def learned_by(network: Network) -> int | None:
    """The positions that a net and those it was trained on from have learned from; None if its card does not say."""
    data = network.about.get("data")
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
        records: np.ndarray | PackedBlocks,
        settings: TrainingSettings,
        about: Mapping[str, Any] | None = None,
        checkpoint: Path | None = None,
        threads: int | None = None,
        start: Network | None = None,
    ) -> None:
        """`start` is a net to continue from instead of random weights (`layers_of`); its numbers of the search stay.

        Raises TrainingError, and OtherTrainingError for a checkpoint of another training.
        """
        self._positions, self._settings, self._checkpoint = blocks_of(records), settings, checkpoint
        self._layout = Layout(settings.trained_shape)
        self._threads = threads or cores()
        recipe = recipe_of(self._positions)
        before = {} if start is None else {"before": learned_by(start)}
        self._about: dict[str, Any] = {"data": {**recipe, **before, **(about or {})}, "settings": settings.as_json()}
        self._search = start.search if start is not None else {}
        if start is not None:
            self._about["start"] = digest(start)
        together = settings.objective.together
        if len(records) % together:
            raise TrainingError(f"PQR learns from {together} positions together, and {len(records)} are no multiple")
        self._order = TrainingOrder(self._positions, settings.validation, together, settings.seed, settings.mirror)
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
        if start is None:
            layers = random_layers(settings.trained_shape, settings.seed)
        else:
            layers = extended(layers_of(start, settings.shape, settings.seed), settings.trained_shape)
        self._layout.fill(self._weights, layers)
        self._start = None if start is None else self._weights.copy()
        self._load()

    def run(self, report: Report | None = None) -> Trained:
        """Train to the end or to Ctrl-C.

        Raises OSError if the checkpoint cannot be written, and TrainingError if training diverges: the error is no
        number, or the weights are too large for play.
        """
        interrupted = False
        with ThreadPoolExecutor(self._threads, thread_name_prefix="train") as pool:
            layout, settings = self._layout, self._settings
            if settings.gpu:
                gradient: Gradient | GpuGradient = GpuGradient(layout, settings.objective, settings.batch)
            else:
                gradient = Gradient(layout, pool, self._threads, settings.batch)
            try:
                self._compile(gradient)
                while self._epoch < self._settings.epochs:
                    self._run_epoch(gradient, pool, report)
                    self._save()
            except KeyboardInterrupt:
                interrupted = True
            if interrupted and not np.isfinite(self._best):
                raise StoppedEarlyError("stopped before the first epoch ended: nothing is kept")
            before = None if self._start is None else self._error_apart(gradient, self._start)
            even = self._error_apart(gradient, np.zeros_like(self._weights))
        return Trained(self._network(), self._error, self._best, before, even, self._epoch, self._seconds, interrupted)

    def _compile(self, gradient: Gradient | GpuGradient) -> None:
        """Compile what an epoch needs, by one position: compiling is not to count as training."""
        objective, first = self._settings.objective, np.zeros(1, dtype=np.int64)
        records = self._positions.read(0, objective.together)
        gradient.add_up(self._weights, records, first, self._layout.options(objective))
        gradient.whole()
        gradient.errors(clears=True)

    def _portions(self, pool: ThreadPoolExecutor) -> Iterator[Portion]:
        """The portions of the present epoch; the next is made while one is learned from."""
        portions = self._order.portions(self._epoch)
        ahead = pool.submit(next, portions, None)
        while portion := ahead.result():
            ahead = pool.submit(next, portions, None)
            yield portion

    def _run_epoch(self, gradient: Gradient | GpuGradient, pool: ThreadPoolExecutor, report: Report | None) -> None:
        settings = self._settings
        seen, began, shown = 0, time.monotonic(), 0.0
        for portion in self._portions(pool):
            options = self._layout.options(settings.objective_of(self._epoch), portion.mirror)
            for chosen in np.array_split(portion.order, -(-len(portion.order) // settings.batch)):
                gradient.add_up(self._weights, portion.records, chosen, options)
                gradient.step(self._weights, self._moments, self._rates(seen, len(chosen)))
                seen += len(chosen)
                now = time.monotonic() - began
                if report and now - shown > REPORT_SECONDS:
                    shown = now
                    report(self._state(gradient.errors() / seen, seen, seen / now, is_epoch=False))
        gradient.fetch(self._weights, self._moments)
        self._seconds += time.monotonic() - began
        self._epoch += 1
        self._error = gradient.errors(clears=True) / seen
        error = self._error_apart(gradient, self._weights)
        if not np.isfinite((self._error, error)).all():
            raise TrainingError(
                f"training diverged in epoch {self._epoch}: its error is no number; try a rate below {settings.rate:g}"
            )
        if error < self._best:
            self._best, self._best_weights = error, self._weights.copy()
            self._check_best()
        self._last = error
        if report:
            speed = seen / max(1e-9, time.monotonic() - began)
            report(self._state(self._error, 0, speed, is_epoch=True))

    def _check_best(self) -> None:
        """Raise TrainingError if the best weights are too large for a net: better now than after the last epoch."""
        try:
            self._quantised()
        except NetError as error:
            raise TrainingError(
                f"training diverged in epoch {self._epoch}: {error}; try a rate below {self._settings.rate:g}"
            ) from error

    def _error_apart(self, gradient: Gradient | GpuGradient, weights: np.ndarray) -> float:
        """The mean error of a net with these weights over the validation positions."""
        return gradient.error(weights, self._order.validation, self._layout.options(self._settings.objective))

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
        return np.array([corrected, *BETAS, EPSILON, 1 / positions, settings.decay * rate, MAX_WEIGHT])

    def _quantised(self) -> tuple[Mapping[str, np.ndarray], Network]:
        """The layers of the best weights, and the net of them; raises NetError."""
        shape, layers = self._settings.shape, self._layout.cut(self._best_weights)
        if self._settings.factorised:
            layers = folded(layers, shape)
        return layers, quantised(shape, layers, self._settings.objective.k, {})

    def _network(self) -> Network:
        layers, rounded = self._quantised()
        apart = self._order.validation
        some = unpack(apart[:: max(1, len(apart) // ROUNDED)][:ROUNDED])
        rounding = float(np.abs(exact_scores(rounded.shape, layers, some) - rounded.plain_scores(some)).mean())
        errors = {"epochs": self._epoch, "error": self._error, "error_apart": self._best}
        errors["rounding_cp"] = round(rounding, 2)
        return replace(rounded, about={**self._about, "training": errors}, search=self._search)

    def _identity(self) -> str:
        return json.dumps(self._about, sort_keys=True)

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        arrays = {"weights": self._weights, "moments": self._moments, "best_weights": self._best_weights}
        arrays["identity"] = np.array(self._identity())
        arrays["numbers"] = np.array([self._step, self._epoch, self._best, self._error])
        write_whole(self._checkpoint, as_npz(arrays))

    def _load(self) -> None:
        path = self._checkpoint
        if path is None or not is_there(path):
            return
        try:
            found = from_npz(read_user_file(path, STATE))
            if "identity" not in found:
                raise DamageError("it lacks 'identity'")
            if str(found["identity"]) != self._identity():
                raise OtherTrainingError(
                    f"'{path}' belongs to training with other data or settings; remove it to train from the beginning"
                )
            own = {"weights": self._weights, "moments": self._moments, "best_weights": self._best_weights}
            numbers = np.ravel(found.get("numbers", ()))[:4]  # Merino 1.0 has a fifth, its time
            check_arrays(found | {"numbers": numbers}, {**own, "numbers": np.zeros(4)})
            if not np.isfinite(numbers[:2]).all():
                raise DamageError("its numbers are not finite")
        except (OSError, DamageError) as error:
            raise TrainingError(f"'{path}' is not a checkpoint of training ({error})") from error
        self._weights, self._moments, self._best_weights = (found[name] for name in own)
        self._step, self._epoch = int(numbers[0]), int(numbers[1])
        self._best, self._error = map(float, numbers[2:4])
