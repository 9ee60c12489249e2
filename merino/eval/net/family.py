"""The family of the nets as an `Evaluation`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.board.bitboard import U64
from merino.core.board.position import POSITION, side_to_move
from merino.core.common.text import in_one_line
from merino.core.compiled import lanes
from merino.core.compiled.jit import entry
from merino.core.compiled.memory import CACHE_LINE, aligned_bytes
from merino.eval.evaluation import WIDTH, Evaluation, EvaluationError
from merino.eval.net import features, file, play, updates
from merino.eval.net.network import FINE_SQUARE, MAX_MEN, MAX_PIECES, QV, SCALE, NetError, Network
from merino.eval.net.play import fill_sums, fill_values, net_at, output_of, sum_of_values
from merino.eval.net.view import VIEW_SIZE


class NetEvaluation(Evaluation):
    """A net. Only piece-value nets have attributed values; their constant for the side to move belongs to no piece."""

    keeps_search_numbers = True

    def __init__(self, network: Network, name: str = "net") -> None:
        self.network, self.name, self.k = network, name, network.k
        self.has_attributed = network.shape.piece_values
        self._numbers, self._arrays = _laid_out(network)

    def __reduce__(self) -> tuple[type[NetEvaluation], tuple[Network, str], dict[str, float]]:
        """Another process lays its arrays out itself: addresses mean nothing there. K may be another than the net's."""
        return type(self), (self.network, self.name), {"k": self.k}

    @property
    def identity(self) -> dict[str, Any]:
        """The file of the net, as text."""
        return {"net": file.as_text(self.network)}

    def install(self, record: np.ndarray) -> object:
        """See Evaluation."""
        plies = record.dtype["plies"].shape[0]
        numbers = self._numbers.copy()
        row = lanes.LANES_SIZE * int(numbers[play.BLOCKS])
        numbers[play.PLIES] = plies
        numbers[play.OTHERS] = 2 * plies * row + -(-8 * plies // CACHE_LINE) * CACHE_LINE  # behind sums and keys
        wanted = self.network.shape.feature_set
        kept = aligned_bytes(int(numbers[play.OTHERS]) + updates.kept_bytes(wanted, plies, row))
        blocks = int(numbers[play.BLOCKS])
        install = updates.install_by_values if self.has_attributed else updates.install_of(wanted, blocks)
        install(record)  # may raise, while the record is as it was
        record[0]["accumulators"], record[0]["evaluation_data"] = kept.ctypes.data, numbers.ctypes.data
        return kept, numbers, self._arrays

    def white_scores(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation; raises EvaluationError for more men than a legal board has."""
        return self._scored(positions, with_values=False)[0]

    def attributed(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation; 0 for kings, which have no value of their own."""
        return self._scored(positions, with_values=True)[1] if self.has_attributed else super().attributed(positions)

    def _scored(self, positions: np.ndarray, with_values: bool) -> tuple[np.ndarray, np.ndarray]:
        """White's scores, and each piece's value to its owner if that is asked for."""
        scores, values = np.zeros(len(positions)), np.zeros((len(positions) if with_values else 0, 64))
        # Compiled code would free an array of its own after taking its address.
        memory = np.zeros(2 * lanes.LANES * int(self._numbers[play.BLOCKS]), dtype=np.int16)
        _score_all(countable(positions), self._numbers, memory, self.has_attributed, scores, values)
        return scores, values

    def save(self, path: Path, header: Iterable[str] = ()) -> None:
        """Write a net file; `header` is added to the description of the net."""
        notes = list(header)
        about = {**self.network.about, "notes": notes} if notes else self.network.about
        file.save_net(replace(self.network, k=self.k, about=about), path)

    @property
    def search_numbers(self) -> Mapping[str, int]:
        """Those in its file."""
        return self.network.search

    def with_search_numbers(self, values: Mapping[str, int]) -> NetEvaluation:
        """See Evaluation."""
        other = copy(self)
        other.network = replace(self.network, search=dict(values))
        return other

    def describe(self, width: int = WIDTH) -> str:
        """Its shape and how it was made."""
        lines = [f"{self.network.shape}; K {self.k:.1f}; {file.digest(self.network)}"]
        lines += _entries({"search": self.network.search} if self.network.search else {})
        lines += _entries(self.network.about)
        return "\n".join(in_one_line(line)[:width] for line in lines)


def countable(positions: np.ndarray) -> np.ndarray:
    """POSITION[n], with so many men that the lists of active features have room for them; raises EvaluationError."""
    found = np.asarray(positions, dtype=POSITION)
    men = int(np.bitwise_count(found["colours"]).sum(axis=1).max(initial=0))
    if men > MAX_MEN:
        raise EvaluationError(f"a net counts {MAX_MEN} men at most, and here are {men}")
    return found


def _entries(about: Mapping[str, Any], indent: str = "") -> list[str]:
    """The entries of a header, one line each."""
    lines = []
    for name, value in about.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{name}:", *_entries(value, indent + "  ")]
        elif isinstance(value, Sequence) and value and all(isinstance(each, Mapping) for each in value):
            lines.append(f"{indent}{name}:")
            lines += [f"{indent}  {', '.join(f'{key} {each[key]}' for key in each)}" for each in value]
        else:
            lines.append(f"{indent}{name}: {value}")
    return lines


def _laid_out(network: Network) -> tuple[np.ndarray, list[np.ndarray]]:
    """The numbers of `eval.net.play`, uint64, and the arrays at their addresses."""
    shape, weights = network.shape, network.weights
    wanted = shape.feature_set
    inputs = _with_values(weights) if shape.piece_values else weights["inputs"]
    blocks = -(-inputs.shape[1] // lanes.LANES)
    width, units, men_shift = lanes.LANES * blocks, _units(network), shape.men_shift
    arrays = {
        play.INPUTS: _widened(inputs, width),
        play.INPUT_BIAS: _widened(weights["input_bias"][None], width),
        play.OUTPUT_BIAS: weights["output_bias"],
        play.UNITS: units,
        play.PROGRAM: wanted.program,
    }
    if features.is_by_piece(wanted):
        arrays[play.PIECE_ROWS] = arrays[play.INPUTS][features.PIECE_FEATURES.reshape(2, -1).T]
    second = -(-shape.second // play.FOUR) * play.FOUR
    if second:
        arrays[play.MIDDLE] = _halves(_widened(weights["middle"], second).T, shape.hidden, width)
        arrays[play.MIDDLE_BIAS] = _widened(weights["middle_bias"][None], second)
        arrays[play.OUTPUT] = _widened(weights["output"], second)
    elif not shape.piece_values:
        arrays[play.OUTPUT] = _halves(weights["output"], shape.hidden, width)
    numbers = np.zeros(play.NUMBERS, dtype=np.uint64)
    kept = []
    for place, array in arrays.items():
        block = aligned_bytes(max(array.nbytes, 1))
        block[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        numbers[place] = block.ctypes.data
        kept.append(block)
    numbers[play.BLOCKS], numbers[play.SECOND], numbers[play.HIDDEN] = blocks, second, shape.hidden
    numbers[play.MEN_SHIFT] = men_shift
    numbers[play.SQUARES], numbers[play.MOST] = shape.activation == "screlu", network.quanta.qa
    numbers[play.FACTOR] = FINE_SQUARE // network.quanta.qa if network.quanta.is_fine else 0
    numbers[play.MAX_ACTIVE], numbers[play.TERMS] = wanted.most, len(wanted.terms)
    return numbers, kept


def _units(network: Network) -> np.ndarray:
    """The content of `play.UNITS`."""
    quanta, found = network.quanta, np.zeros(play.UNITS_SIZE)
    found[play.TO_BIAS] = quanta.qc / (quanta.of_neurons(network.shape.activation) * quanta.qb)
    found[play.OF_BIAS], found[play.ONE] = SCALE / quanta.qc, quanta.qc
    found[play.TO_OUTPUT], found[play.OF_OUTPUT] = quanta.qb / quanta.qc, SCALE / quanta.qb
    return found


def _with_values(weights: Mapping[str, np.ndarray]) -> np.ndarray:
    """The input rows of a piece-value net, each followed by the row and the constant of its piece, int16[features, n].

    Rows of the other side's pieces are followed by zeros. Raises NetError.
    """
    constants = weights["value_constants"]
    largest = int(np.abs(constants.astype(np.int64)).max(initial=0))
    if largest * MAX_PIECES > np.iinfo(np.int16).max:
        raise NetError(f"a constant of {largest} / {QV} is too large: the sum of {MAX_PIECES} overflows 16 bits")
    behind = np.concatenate([weights["values"], constants[:, None]], axis=1)
    rows = np.where((features.ROW_OF_FEATURE == features.NO_ROW)[:, None], 0, behind[features.ROW_OF_FEATURE])
    return np.concatenate([weights["inputs"], rows.astype(np.int16)], axis=1)


def _widened(rows: np.ndarray, width: int) -> np.ndarray:
    """The rows padded with zeros, int16[n, width]."""
    found = np.zeros((len(rows), width), dtype=np.int16)
    found[:, : rows.shape[1]] = rows
    return found


def _halves(rows: np.ndarray, hidden: int, width: int) -> np.ndarray:
    """Rows over both views, each half padded with zeros."""
    return np.concatenate([_widened(rows[:, :hidden], width), _widened(rows[:, hidden:], width)], axis=1)


@entry
def _score_all(positions, numbers, memory, by_values, scores, values):
    """Fill `scores`, float64[n], with White's scores, and `values`, unless it is empty, with each piece's to its owner.

    `values` is float64[n, 64], and of a piece-value net. `memory`, int16[2 * 32 * blocks], is for the sums.
    """
    net, sums = net_at(numbers.ctypes.data), U64(memory.ctypes.data)
    view, scratch = np.zeros(VIEW_SIZE, dtype=np.uint64), np.zeros(features.SCRATCH, dtype=np.int32)
    active = np.zeros(np.int64(numbers[play.MAX_ACTIVE]), dtype=np.int32)
    for index in range(len(positions)):
        position = positions[index]
        side = side_to_move(position)
        fill_sums(net, position, sums, view, scratch, active)
        if by_values:
            scores[index] = sum_of_values(net, sums, side)
        else:
            score = output_of(net, position, sums + U64(side) * net.row, sums + U64(1 - side) * net.row)
            scores[index] = -score if side else score
        if len(values):
            fill_values(net, position, sums, values[index])
