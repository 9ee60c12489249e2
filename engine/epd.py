"""`merino epd FILE`: solve the positions of an EPD file that name best moves, moves to avoid, or mates."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import chess

from engine.fen import FenError
from engine.game import Position
from engine.move import Move
from engine.search.limits import Limits, Line, Result
from engine.search.searcher import Searcher
from eval.weights import active_file, load

USAGE = "usage: merino epd FILE [--movetime MS] [--depth N] [--nodes N] [--hash MB] [--threads N] [--weights FILE]"


@dataclass(frozen=True)
class Task:
    """One position and what is asked of it; moves as coordinates (castling as king's step)."""

    name: str
    fen: str
    best: tuple[str, ...]
    avoid: tuple[str, ...]
    mate: int | None

    def is_solved_by(self, move: str, line: Line | None) -> bool:
        """Whether `move`, with the line it came with, answers the task."""
        if self.mate is not None and (line is None or line.score.mate is None or not 0 < line.score.mate <= self.mate):
            return False
        return move not in self.avoid and (not self.best or move in self.best)

    @property
    def question(self) -> str:
        """The task in EPD's words."""
        parts = [("bm", " ".join(self.best)), ("am", " ".join(self.avoid)), ("dm", str(self.mate or ""))]
        return " ".join(f"{code} {text}" for code, text in parts if text)


class EpdError(ValueError):
    """An EPD line that cannot be used; the message names file, line and fault."""


def read_tasks(path: Path) -> Iterator[Task]:
    """The positions of an EPD file that ask for something; raises EpdError, or OSError for the file itself."""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        board = chess.Board()
        try:
            operations = board.set_epd(line.strip())
        except (ValueError, AssertionError) as error:
            raise EpdError(f"{path}:{number}: {error}") from error
        best, avoid = (tuple(m.uci() for m in _moves(operations.get(code))) for code in ("bm", "am"))
        mate = operations.get("dm")
        if best or avoid or mate:
            name = str(operations.get("id", f"line {number}"))
            yield Task(name, board.fen(), best, avoid, int(mate) if isinstance(mate, int | float | str) else None)


def _moves(operand: object) -> list[chess.Move]:
    return [move for move in operand if isinstance(move, chess.Move)] if isinstance(operand, list) else []


class _Watch:
    """Follows the lines of one search and notes since when its move has been the right one."""

    def __init__(self, task: Task, position: Position) -> None:
        self.task, self.position = task, position
        self.since: Line | None = None

    def __call__(self, line: Line) -> None:
        solved = self.task.is_solved_by(self.position.uci(line.pv[0]), line) if line.pv else False
        if not solved:
            self.since = None
        elif self.since is None:
            self.since = line


def solve(searcher: Searcher, task: Task, limits: Limits) -> tuple[Result, Line | None]:
    """Search a task; the result, and the report since which the answer was right to the end, if it was."""
    searcher.clear()
    position = Position(task.fen)
    watch = _Watch(task, position)
    result = searcher.search(position, limits, watch)
    answered = result.best is not None and task.is_solved_by(Move(result.best).uci(), result.line)
    return result, (watch.since or result.line) if answered else None


def run_epd(arguments: list[str]) -> int:
    """The command: a row a position, then how many were solved. Exit code 0, or 2 for a wrong command line or file."""
    try:
        path, options = _read_arguments(arguments)
        tasks = list(read_tasks(path))
        searcher = Searcher(options.get("hash", 64), options.get("threads", 1), load(active_file(_weights(arguments))))
    except (ValueError, OSError, MemoryError) as error:
        print(f"merino epd: {error}", file=sys.stderr)
        return 2
    limits = Limits(depth=options.get("depth"), nodes=options.get("nodes"), movetime=options.get("movetime"))
    if limits == Limits():
        limits = Limits(movetime=1000)
    searcher.move_overhead = 0
    solved, at_depth = 0, 0
    for number, task in enumerate(tasks, start=1):
        try:
            result, since = solve(searcher, task, limits)
        except FenError as error:
            print(f"merino epd: {path}: {task.name}: {error}", file=sys.stderr)
            return 2
        solved += since is not None
        at_depth += since.depth if since else 0
        print(_row(number, task, result, since), flush=True)
    mean = f", mean depth of the solution {at_depth / solved:.1f}" if solved else ""
    print(f"{solved} of {len(tasks)} solved{mean}")
    return 0


def _row(number: int, task: Task, result: Result, since: Line | None) -> str:
    line = result.line
    move = Move(result.best).uci() if result.best is not None else "none"
    score = line.score.uci() if line else ""
    when = f"depth {since.depth:2} {since.time_ms:6} ms" if since else "-" * 18
    mark = "ok" if since else "--"
    return f"{number:4} {mark} {task.name[:20]:20} {move:6} {score:>10}  {when}  {task.question}"


def _weights(arguments: list[str]) -> str | None:
    return arguments[arguments.index("--weights") + 1] if "--weights" in arguments[:-1] else None


def _read_arguments(arguments: list[str]) -> tuple[Path, dict[str, int]]:
    """The file and the options by name; raises ValueError with what is wrong."""
    names = ("movetime", "depth", "nodes", "hash", "threads")
    files: list[str] = []
    options: dict[str, int] = {}
    words = iter(arguments)
    for word in words:
        if word == "--weights":
            next(words, None)
        elif word.removeprefix("--") in names and word.startswith("--"):
            value = next(words, "")
            if not value.isdigit() or int(value) < 1:
                raise ValueError(f"{word} needs a whole number above 0, not {value!r}; {USAGE}")
            options[word.removeprefix("--")] = int(value)
        elif word.startswith("-"):
            raise ValueError(f"unknown option {word}; {USAGE}")
        else:
            files.append(word)
    if len(files) != 1:
        raise ValueError(USAGE)
    return Path(files[0]), options
