"""The loaded engine of a session: a searcher and its weights, a book, endgame tables."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from merino.core.board.game import Position
from merino.engine.search import tablebase_probe, warmup
from merino.engine.search.limits import DEFAULT_PROBE_DEPTH, Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.strength import DEFAULT_ELO, FULL_LEVEL, at_level
from merino.engine.uci.output import Output
from merino.eval import families
from merino.eval.evaluation import Evaluation

if TYPE_CHECKING:
    from merino.core.board.move import Move
    from merino.engine.tables.book import Book
    from merino.engine.tables.tablebase import Advice, Tables

__all__ = ["InfoLog", "Position", "Runtime"]


class Runtime:
    """A searcher, warmed up, and the files in use: weights, book and endgame tables."""

    def __init__(self, hash_mb: int) -> None:
        """Uses the weights that come with Merino, whose code does; for others see `use_weights`."""
        warmup.warm_up()
        self.weights_file = families.DEFAULT_FILE
        self.evaluation: Evaluation = families.default()
        self.searcher = Searcher(hash_mb, evaluation=self.evaluation)
        self.terms: Evaluation = self.evaluation  # by the weights file, even while a net evaluates
        self.net_file: Path | None = None
        self.own_book = False
        self.book: Book | None = None
        self.tables: Tables | None = None
        self.probe_depth = DEFAULT_PROBE_DEPTH
        self.is_limited = False  # to the strength of `elo`
        self.elo = DEFAULT_ELO
        self.searcher.clear()

    @property
    def level(self) -> int:
        """The lowest level of strength that is as strong as the present one, at most FULL_LEVEL."""
        strength = self.searcher.strength
        if strength is None:
            return FULL_LEVEL
        ladder = (at_level(level) for level in range(FULL_LEVEL))
        return next((level for level, each in enumerate(ladder) if each and each.elo >= strength.elo), FULL_LEVEL)

    def set_hash(self, megabytes: int) -> None:
        """Make a table of this size and touch all of it, so that no search pays for that; raises MemoryError.

        Memory that the system promises but does not have would end the process when used, so it is refused too.
        """
        if (free := free_megabytes()) is not None and megabytes > free:
            raise MemoryError(f"{megabytes} MiB are more than the {free} MiB of free memory")
        self.searcher.set_hash(megabytes)
        self.searcher.clear()

    def use_weights(self, terms: Evaluation) -> None:
        """Use the evaluation of a weights file, as of `open_weights`; raises EvaluationError and keeps the old."""
        if self.net_file is None:
            self._evaluate_by(terms)
        self.terms, self.weights_file = terms, Path(terms.name)

    def use_net(self, net: Evaluation | None) -> None:
        """Evaluate with a net, as of `open_net`, with the terms if None; raises EvaluationError and keeps the old."""
        self._evaluate_by(net or self.terms)
        self.net_file = None if net is None else Path(net.name)

    def _evaluate_by(self, evaluation: Evaluation) -> None:
        self.searcher.set_evaluation(evaluation)
        self.evaluation = evaluation

    def book_move(self, position: Position, limits: Limits) -> Move | None:
        """The book move for a search with these limits; None if there is none or the book is not used."""
        is_play = not (limits.infinite or limits.ponder or limits.search_moves or limits.mate)
        if self.book is None or not self.own_book or not is_play or self.searcher.is_analysing:
            return None
        return self.book.move(position, self.searcher.random)

    def advice(self, position: Position) -> Advice | None:
        """The moves that keep the result in the endgame tables, None where they say nothing or are not asked.

        Not with MultiPV, which shows the other moves too, nor in weakened play. Raises TablebaseError.
        """
        searcher = self.searcher
        if self.tables is None or searcher.multipv > 1 or (searcher.is_weakened and not searcher.is_analysing):
            return None
        from merino.engine.tables.tablebase import advise  # noqa: PLC0415 (few have the tables)

        return advise(self.tables, position)

    def tablebases(self) -> tablebase_probe.TablebaseProbe | None:
        """The endgame tables for the search, None without any."""
        return None if self.tables is None else tablebase_probe.TablebaseProbe(self.tables.results, self.probe_depth)

    def broken(self, fault: str | None) -> str:
        """What to say of a table that was found to be broken; empty if there is none, or where that was said before."""
        if not fault or self.tables is None or fault in self.tables.faults:
            return ""
        self.tables.faults.append(fault)
        return f"SyzygyPath: {fault}; the others are used"


def free_megabytes(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The free memory, if Linux reports it in `meminfo` and, for a container, in the folder `group`; else None.

    What the kernel keeps of files that nobody reads now counts as free: it is given up as soon as memory is wanted.
    """
    if not meminfo.exists():
        return None
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
    free = int(fields["MemAvailable"].split()[0]) >> 10
    limit, used, parts = (group / f"memory.{name}" for name in ("max", "current", "stat"))
    if limit.exists() and used.exists() and limit.read_text().strip().isdigit():
        kept = dict(line.split() for line in parts.read_text().splitlines()) if parts.exists() else {}
        taken = int(used.read_text()) - int(kept.get("inactive_file", 0))
        free = min(free, (int(limit.read_text()) - taken) >> 20)
    return free


class InfoLog(logging.Handler):
    """Lines of a log as information for the user of a GUI."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        self._output.info(record.getMessage())
