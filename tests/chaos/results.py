"""What the trials of each command have come to, kept in a file after each, so that a run may be resumed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.kept_results import keep_results, known_results


@dataclass
class Cell:
    """The trials of one case with one harm."""

    trials: int = 0
    faults: int = 0
    not_possible: str = ""

    def __str__(self) -> str:
        if self.not_possible:
            return "-"
        return f"{self.trials}, **{self.faults} faulty**" if self.faults else str(self.trials)


@dataclass
class Row:
    """The trials of a case: a cell for each harm, by its name, the faults in words, and what it is of.

    `writes` is the number of those at which a disk can be full, `tried_writes` of those at which it was.
    """

    commit: str
    seed: int
    kills: int
    cells: dict[str, Cell] = field(default_factory=dict)
    writes: int = 0
    tried_writes: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def serves(self, seed: int, kills: int, harms: Iterable[str]) -> bool:
        """Whether it shows all that such trials would, and has no fault that may be mended by now."""
        return (self.seed, self.kills) == (seed, kills) and self.cells.keys() == set(harms) and not self.faults


class Results:
    """The rows so far, by the name of the case."""

    def __init__(self, path: Path, resume: bool) -> None:
        """Those of an earlier run are read from `path` if it is resumed; else they are forgotten at the first row."""
        self._path = path
        self.rows = {
            name: Row(**{**row, "cells": {harm: Cell(**cell) for harm, cell in row["cells"].items()}})
            for name, row in known_results(path, resume).items()
        }

    def add(self, name: str, row: Row) -> None:
        """Keep a row."""
        self.rows[name] = row
        keep_results(self._path, self.rows)
