"""Checks of the arguments of a `Searcher`; each raises TypeError or ValueError with what is wanted."""

from __future__ import annotations

from types import NoneType

from merino.inner.core.common.checks import instance, whole_number
from merino.inner.engine.search.limits import MAX_HASH_MB
from merino.inner.engine.search.parameters import PARAMETERS
from merino.inner.engine.search.transposition import TranspositionTable
from merino.inner.eval.evaluation import Evaluation


def table_of(megabytes: int) -> TranspositionTable:
    """A new table of this size; raises MemoryError, too."""
    return TranspositionTable(whole_number("hash_mb (in MiB)", megabytes, 1, MAX_HASH_MB))


def check_evaluation(evaluation: Evaluation | None, is_optional: bool = False) -> None:
    """An evaluation, or if `is_optional` also None."""
    kinds = (Evaluation, NoneType) if is_optional else Evaluation
    instance("evaluation", evaluation, kinds, "an Evaluation, as load_evaluation returns it")


def check_parameters(parameters: tuple[int, ...] | None) -> None:
    """As many whole numbers as there are parameters, or None."""
    if parameters is not None:
        instance("parameters", parameters, tuple, "a tuple of whole numbers in the order of their registry")
        if len(parameters) != len(PARAMETERS):
            raise ValueError(f"parameters must be {len(PARAMETERS)} numbers, not {len(parameters)}")
