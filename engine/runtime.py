"""What a session needs of the engine once numba is loaded: a searcher, its weights, the style of castling."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.game import Position
from engine.search.searcher import Searcher
from engine.warmup import warm_up
from eval.weights import DEFAULT_FILE, WeightsError, active_file, load

__all__ = ["Position", "Runtime"]


class Runtime:
    """A searcher, warmed up, and the weights file in use."""

    def __init__(self, hash_mb: int) -> None:
        """Takes the active weights file, or the shipped one and a `weights_error` where that cannot be used."""
        warm_up()
        self.weights_error = ""
        self.weights_file = active_file().absolute()
        try:
            self.weights: np.ndarray = load(self.weights_file)
        except WeightsError as error:
            self.weights_error = str(error)
            self.weights_file = DEFAULT_FILE
            self.weights = load(DEFAULT_FILE)
        self.chess960 = False
        self.searcher = Searcher(hash_mb, weights=self.weights)
        self.searcher.clear()

    def set_hash(self, megabytes: int) -> None:
        """A new table of this size, touched to its end so that no search pays for it; raises MemoryError.

        What the system promises but does not have would end the process when used, so that is refused too.
        """
        free = _free_megabytes()
        if free is not None and megabytes > free:
            raise MemoryError(f"{megabytes} MiB are more than the {free} MiB of memory that are free")
        self.searcher.set_hash(megabytes)
        self.searcher.clear()

    def use_weights(self, name: str) -> Path:
        """Take the weights from the file `name`, the active one if empty; raises WeightsError and keeps the old."""
        file = active_file(name or None).absolute()
        weights = load(file)
        self.searcher.set_weights(weights)
        self.weights, self.weights_file, self.weights_error = weights, file, ""
        return file


def _free_megabytes() -> int | None:
    """Memory free for us, where Linux says so; else None."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return None
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
    free = int(fields["MemAvailable"].split()[0]) >> 10
    group = Path("/sys/fs/cgroup")
    limit, used = group / "memory.max", group / "memory.current"
    if limit.exists() and used.exists() and limit.read_text().strip().isdigit():
        free = min(free, (int(limit.read_text()) - int(used.read_text())) >> 20)
    return free
