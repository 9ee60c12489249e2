"""The family of the terms: a sum of weights times counts, kept in a weights file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.compiled.memory import aligned_bytes
from merino.eval import evaluation, explanation, outlook
from merino.eval.linear import compiled, phases, registry
from merino.eval.linear.explain import attributed_of, lines_of, with_credits
from merino.eval.linear.weights import as_mapping, k_in, note_of_k, parse, save, set_in

# Parameters of the search tuned for the terms; the search has its defaults for all others. They were found by
# `merino spsa tune` with the 27 terms, and proved by games against the defaults. The set `full` gains by them, too,
# and nets lose: they have the defaults, or their own (docs/lab/experiments.md).

WITH_TERMS: Mapping[str, int] = {
    "exchange_pawn": 62,
    "exchange_knight": 379,
    "exchange_bishop": 535,
    "exchange_rook": 905,
    "exchange_queen": 1570,
    "razor_margin": 309,
    "reverse_futility_margin": 122,
    "reverse_futility_blend": 47,
    "null_move_margin": 191,
    "null_move_margin_max": 4,
    "probcut_margin": 186,
    "singular_margin": 21,
    "negative_extension": 3,
    "correction_pawns": 34,
    "correction_pieces": 72,
    "correction_move": 70,
    "noisy_futility_margin": 74,
    "futility_margin": 23,
    "futility_history": 614,
    "late_move_pruning_base": 4,
    "see_quiet_margin": 32,
    "see_noisy_margin": 210,
    "history_pruning_margin": 3182,
    "reduction_moves": 3,
    "reduction_base": 815,
    "reduction_factor": 435,
    "reduction_killer": 1038,
    "reduction_noisy": 1099,
    "reduction_captures": 1780,
    "reduction_pv_node": 907,
    "reduction_cut_node": 1122,
    "reduction_cutoffs": 614,
    "reduction_not_improving": 372,
    "reduction_in_check": 1203,
    "reduction_corrected": 8,
    "hindsight_margin": 251,
    "deeper_margin": 49,
    "shallower_margin": 7,
    "delta_margin": 208,
    "threat_bonus": 7994,
    "check_bonus": 8776,
    "check_see_margin": 96,
    "history_bonus": 375,
    "history_bonus_max": 2344,
    "history_prior_bonus": 73,
    "history_malus": 87,
    "history_eval": 7,
    "history_eval_max": 1226,
}


_PHASE_NAMES = {registry.Phase.ALWAYS: "", registry.Phase.MIDDLEGAME: "middlegame", registry.Phase.ENDGAME: "endgame"}
_SQUARE = re.compile(r"[a-h][1-8]")
_INDENT, _ROW_WIDTH, _CELL, MAX_COLUMNS = " " * 6, 10, 5, 10  # characters, and cells in a line


class LinearEvaluation(evaluation.Evaluation):
    """A set of terms under these weights in centipawns: float64[terms] in the order of the set, or two phases of it."""

    has_terms = has_attributed = True

    def __init__(
        self,
        weights: np.ndarray,
        k: float = outlook.DEFAULT_K,
        name: str = "terms",
        terms: registry.TermSet = registry.TERMS,
    ) -> None:
        self.terms = terms
        self.weights = phases.simplest(np.asarray(weights, dtype=np.float64), len(terms))
        self._table = phases.by_stage(self.weights, len(terms))
        self._summed = compiled.weights_of(terms, self.weights)
        self.weights.setflags(write=False)
        self.k, self.name = k, name

    @classmethod
    def of_text(cls, text: str, source: str) -> LinearEvaluation:
        """The weights in a file's text, and the K fitted with them; `source` names the file. Raises WeightsError."""
        terms = set_in(text, source)
        return cls(parse(text, source, terms), k_in(text, source), source, terms)

    @property
    def identity(self) -> dict[str, Any]:
        """The weights, the set that they are for unless it is the default, and its version if it is the user's own."""
        of = {} if self.terms is registry.TERMS else {"terms": self.terms.name}
        version = {"version": self.terms.version} if self.terms.version else {}
        return {"weights": self.weights.tolist(), **of, **version}

    def install(self, record: np.ndarray) -> object:
        """See Evaluation."""
        tables = aligned_bytes(compiled.BYTES)
        compiled.install(self.terms, record)  # may raise, while the record is as it was
        record[0]["evaluation_data"], record[0]["accumulators"] = self._summed.ctypes.data, tables.ctypes.data
        return self._summed, tables

    def white_scores(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation."""
        return compiled.white_scores_of(positions, self.weights, self.terms)

    def scores(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation; one pass, so that it adds up in the same order as the search."""
        return compiled.scores_of(positions, self.weights, self.terms)

    @property
    def numbers(self) -> Mapping[str, evaluation.Number]:
        """The weights by term, if both phases share one, and those of each phase: `KnightOutpost_mg`, `_eg`."""
        found = dict[str, evaluation.Number]()
        for term, *pair in zip(self.terms, *phases.halves(self.weights, len(self.terms)), strict=True):
            low, high = map(float, term.bounds)
            if pair[0] == pair[1]:
                found[term.name] = evaluation.Number(float(pair[0]), low, high)
            for suffix, value in zip(phases.SUFFIXES, pair, strict=True):
                found[term.name + suffix] = evaluation.Number(float(value), low, high, part_of=term.name)
        return found

    def with_numbers(self, values: Mapping[str, float]) -> LinearEvaluation:
        """See Evaluation."""
        super().with_numbers(values)
        return LinearEvaluation(phases.with_values(self.weights, values, self.terms), self.k, self.name, self.terms)

    @property
    def search_numbers(self) -> Mapping[str, int]:
        """See Evaluation; those of all sets of terms."""
        return WITH_TERMS

    def save(self, path: Path, header: Iterable[str] = ()) -> None:
        """Write a weights file."""
        save(path, self.weights, [*header, note_of_k(self.k)] if self.k != outlook.DEFAULT_K else header, self.terms)

    def describe(self, width: int = evaluation.WIDTH) -> str:
        """The table of terms: number, name, weight, bounds, when it counts, Elo if measured, and the chess in words.

        A weight with two values shows that of the middlegame and that of the endgame; a table shows those of its cells.
        """
        terms, rows, pairs = self.terms, [], np.transpose(phases.halves(self.weights, len(self.terms)))
        is_split = bool((pairs[:, 0] != pairs[:, 1]).any())
        if is_split:
            rows.append(f"{'two values: middlegame, endgame':>37}")
        for group in (group for group in registry.Group if any(term.group is group for term in terms)):
            rows.append(f"{group.title} (times {group.multiplier:g}){terms.worth_of(group)}")
            for each, at in terms.to_read():
                if each.group is group:
                    rows.append(_head(each, at, pairs[at], is_split) + terms.worth_of(each.name))
                    rows.append(textwrap.fill(each.sentence, width, initial_indent=_INDENT, subsequent_indent=_INDENT))
                    rows += picture(each, pairs[at]) if isinstance(each, registry.TermTable) else []
        return "\n".join(rows)

    def explain(self, record: np.ndarray) -> explanation.Explanation:
        """The score by terms, which sum to it."""
        lines = lines_of(record, self.weights, self.terms)
        return explanation.explained(record, int(self.scores(record)[0]), self.k, lines)

    def value_pieces(self, record: np.ndarray) -> explanation.PieceValues:
        """What each piece is worth, three ways."""
        return with_credits(super().value_pieces(record), record, self._table, self.terms)

    def attributed(self, positions: np.ndarray) -> np.ndarray:
        """See Evaluation."""
        return attributed_of(positions, self._table, self.terms)

    def named(self) -> dict[str, float]:
        """The weights by name."""
        return as_mapping(self.weights, self.terms)


def _head(each: registry.Term | registry.TermTable, at: slice, pairs: np.ndarray, is_split: bool) -> str:
    """The line that begins the description of a term or table: number, name, weight, bounds, and when it counts."""
    if isinstance(each, registry.TermTable):
        return f"{at.start + 1:3} {each.name}, a table of {len(each.cells)} (numbers {at.start + 1} to {at.stop})"
    low, high = each.bounds
    first, last = pairs[0]
    value = f"{first + 0.0:6.6g}" + (f"{last + 0.0:6.6g}" if first != last else " " * 6 * is_split)
    return f"{at.start + 1:3} {each.name:<21}{value}  {f'{low}..{high}':<10} {_PHASE_NAMES[each.phase]}".rstrip()


def picture(table: registry.TermTable, values: np.ndarray) -> list[str]:
    """The cells of a table, middlegame and endgame below each other where they differ; `values` is float64[cells, 2].

    A cell that the table lacks is a dot.
    """
    same = bool((values[:, 0] == values[:, 1]).all())
    rows, columns, places = _shape(table.cells)
    found: list[str] = []
    for phase, title in ((0, ""),) if same else ((0, "middlegame"), (1, "endgame")):
        for first in range(0, len(columns), MAX_COLUMNS):
            shown = columns[first : first + MAX_COLUMNS]
            head = title if first == 0 else ""
            found.append(f"{_INDENT}{head:{_ROW_WIDTH}}" + "".join(f"{name:>{_width(shown)}}" for name in shown))
            for row in rows:
                cells = (places.get((row, column)) for column in shown)
                texts = ("." if place is None else f"{round(values[place, phase]) + 0}" for place in cells)
                found.append(f"{_INDENT}{row:{_ROW_WIDTH}}" + "".join(f"{text:>{_width(shown)}}" for text in texts))
    return found


def _width(columns: Sequence[str]) -> int:
    """The characters of a column."""
    return max(_CELL, *(len(name) + 1 for name in columns))


def _shape(cells: Sequence[str]) -> tuple[list[str], list[str], dict[tuple[str, str], int]]:
    """The names of rows and columns as they are drawn, and which cell stands where."""
    parts = [_parts(cell) for cell in cells]
    places = {part: index for index, part in enumerate(parts)}
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*parts, strict=True))
    if all(_SQUARE.fullmatch(cell) for cell in cells):
        rows.reverse()  # the side's back rank is below
    return rows, columns, places


def _parts(cell: str) -> tuple[str, str]:
    """The row and the column of a cell."""
    if _SQUARE.fullmatch(cell):
        return cell[1], cell[0]
    row, _, column = cell.partition("_")
    return (row, column) if column else ("", row)
