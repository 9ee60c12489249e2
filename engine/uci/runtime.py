"""The loaded engine of a session: a searcher and its weights, a book, endgame tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.board.game import Position
from engine.search.limits import Limits
from engine.search.searcher import Searcher
from engine.search.strength import DEFAULT_ELO
from engine.search.warmup import warm_up
from eval.evaluation import Evaluation, EvaluationError
from eval.families import DEFAULT_FILE, active_file, default, find_net, load, load_net

if TYPE_CHECKING:
    from engine.board.move import Move
    from engine.tables.book import Book
    from engine.tables.tablebase import Tables

__all__ = ["Position", "Runtime"]


class Runtime:
    """A searcher, warmed up, and the files in use: weights, book and endgame tables."""

    def __init__(self, hash_mb: int) -> None:
        """Uses the active weights file; if that fails, the shipped one, with a `weights_error`."""
        warm_up()
        self.weights_error = ""
        self.weights_file = active_file().absolute()
        try:
            self.evaluation = load(self.weights_file)
            self.searcher = Searcher(hash_mb, evaluation=self.evaluation)
        except EvaluationError as error:
            self.weights_error = str(error)
            self.weights_file = DEFAULT_FILE
            self.evaluation = default()
            self.searcher = Searcher(hash_mb, evaluation=self.evaluation)
        self.terms = self.evaluation  # by the weights file, even while a net evaluates
        self.net_file: Path | None = None
        self.own_book = False
        self.book: Book | None = None
        self.tables: Tables | None = None
        self.is_limited = False  # to the strength of `elo`
        self.elo = DEFAULT_ELO
        self.searcher.clear()

    def set_hash(self, megabytes: int) -> None:
        """Make a table of this size and touch all of it, so that no search pays for that; raises MemoryError.

        Memory that the system promises but does not have would end the process when used, so it is refused too.
        """
        free = _free_megabytes()
        if free is not None and megabytes > free:
            raise MemoryError(f"{megabytes} MiB are more than the {free} MiB of free memory")
        self.searcher.set_hash(megabytes)
        self.searcher.clear()

    def use_weights(self, name: str) -> Path:
        """Use the weights of the file `name`, the active one if empty; raises EvaluationError and keeps the old."""
        file = active_file(name or None).absolute()
        self.terms = load(file)
        if self.net_file is None:
            self._evaluate_by(self.terms)
        self.weights_file, self.weights_error = file, ""
        return file

    def use_net(self, name: str) -> None:
        """Evaluate with the net `name`, with the terms if empty; raises EvaluationError and keeps the old one."""
        file = find_net(name) if name else None
        self._evaluate_by(self.terms if file is None else load_net(str(file)))
        self.net_file = file

    def _evaluate_by(self, evaluation: Evaluation) -> None:
        self.searcher.set_evaluation(evaluation)
        self.evaluation = evaluation

    def use_book(self, name: str) -> None:
        """Use the book `name`, none if empty; raises BookError and keeps the old one."""
        book = None
        if name:
            from engine.tables.book import Book  # noqa: PLC0415 (few play with a book of the engine)

            book = Book(Path(name).expanduser())
        if self.book is not None:
            self.book.close()
        self.book = book

    def use_tables(self, path: str) -> None:
        """Use the endgame tables in `path`, none if empty; raises TablebaseError and keeps the old ones."""
        tables = None
        if path:
            from engine.tables.tablebase import open_tables  # noqa: PLC0415 (few have the tables)

            tables = open_tables(path)
        self.tables = tables

    def book_move(self, position: Position, limits: Limits) -> Move | None:
        """The book move for a search with these limits; None if there is none or the book is not used."""
        is_play = not (limits.infinite or limits.ponder or limits.search_moves or limits.mate)
        if self.book is None or not self.own_book or not is_play or self.searcher.is_analysing:
            return None
        return self.book.move(position, self.searcher.random)

    def keep_result(self, position: Position, limits: Limits) -> tuple[Limits, int]:
        """The limits restricted to moves that keep the result in the endgame tables, and the number of positions found.

        Unchanged with MultiPV, which shows the other moves too, and in weakened play.
        Raises TablebaseError.
        """
        searcher = self.searcher
        if self.tables is None or searcher.multipv > 1 or (searcher.strength and not searcher.is_analysing):
            return limits, 0
        from engine.tables.tablebase import advise  # noqa: PLC0415 (few have the tables)

        advice = advise(self.tables, position)
        if advice is None:
            return limits, 0
        wanted = limits.search_moves or advice.moves
        kept = [move for move in advice.moves if move in wanted]
        return replace(limits, search_moves=kept or wanted), advice.hits


def _free_megabytes() -> int | None:
    """The free memory, if Linux reports it; else None."""
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
