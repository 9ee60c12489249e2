"""`merino epd FILE`: solve the positions of an EPD file that name best moves, moves to avoid, or mates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import chess

from engine.board.game import Position
from engine.board.move import Move
from engine.common.command import CommandError
from engine.common.command_line import Parser, above_zero
from engine.search.limits import Limits, Line, Result
from engine.search.searcher import Searcher
from eval.evaluation import EvaluationError
from eval.families import active_file, load

MOVE_MS = 1000  # for a position, where no limit is given
HASH_MB = 64


@dataclass(frozen=True)
class Task:
    """One position and what is asked of it; moves as coordinates (castling as king's step)."""

    name: str
    position: Position
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


def read_task(line: str, name: str) -> Task | None:
    """The task of a line of EPD, called `name` if it has no `id`; None if it asks for nothing. Raises ValueError."""
    board = chess.Board()
    try:
        operations = board.set_epd(line.strip())
    except AssertionError as error:  # of an operand that is no move
        raise ValueError("an operation cannot be read") from error
    best, avoid = (tuple(move.uci() for move in _moves(operations.get(code))) for code in ("bm", "am"))
    mate = operations.get("dm")
    if mate is not None and not (isinstance(mate, int) and mate > 0):
        raise ValueError(f"dm takes a number of moves, not {mate!r}")
    if not (best or avoid or mate):
        return None
    return Task(str(operations.get("id", name)), Position(board.fen()), best, avoid, mate)


def read_tasks(path: Path) -> tuple[list[Task], list[str]]:
    """The positions of an EPD file that ask for something, and what is wrong with other lines; raises OSError."""
    tasks, faults = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            task = read_task(line, f"line {number}")
        except ValueError as error:
            faults.append(f"{path}:{number}: {error}")
        else:
            tasks += [] if task is None else [task]
    return tasks, faults


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
    watch = _Watch(task, task.position)
    result = searcher.search(task.position, limits, watch)
    answered = result.best is not None and task.is_solved_by(Move(result.best).uci(), result.line)
    return result, (watch.since or result.line) if answered else None


def run_epd(arguments: Sequence[str]) -> int:
    """The command: a row a position, then how many were solved. 0, or 1 if lines were wrong; raises CommandError."""
    wish = _parser().parse_args(arguments)
    limits = Limits(depth=wish.depth, nodes=wish.nodes, movetime=wish.movetime)
    if limits == Limits():
        limits = Limits(movetime=MOVE_MS)
    try:
        tasks, faults = read_tasks(wish.file)
    except OSError as error:
        raise CommandError(f"epd: cannot read '{wish.file}': {error.strerror}") from error
    for fault in faults:
        print(fault, file=sys.stderr)
    searcher = _searcher(wish)
    solved, at_depth = 0, 0
    for number, task in enumerate(tasks, start=1):
        result, since = solve(searcher, task, limits)
        solved += since is not None
        at_depth += since.depth if since else 0
        print(_row(number, task, result, since), flush=True)
    mean = f", mean depth of the solution {at_depth / solved:.1f}" if solved else ""
    print(f"{solved} of {len(tasks)} solved{mean}")
    return 1 if faults else 0


def _parser() -> Parser:
    parser = Parser(
        prog="merino epd",
        description="Search the positions of an EPD file that name best moves (bm), moves to avoid (am) or mates (dm), "
        "and tell which are solved, at which depth and after which time.",
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="EPD, one position a line")
    parser.add_argument("--movetime", metavar="MS", type=above_zero, help=f"({MOVE_MS}, if there is no other limit)")
    parser.add_argument("--depth", metavar="N", type=above_zero, help="search so many half-moves deep")
    parser.add_argument("--nodes", metavar="N", type=above_zero, help="search so many nodes")
    parser.add_argument("--hash", metavar="MB", type=above_zero, default=HASH_MB, help="size of the table of positions")
    parser.add_argument("--threads", metavar="N", type=above_zero, default=1, help="search with so many threads")
    parser.add_argument("--weights", metavar="FILE", help="evaluate with the weights in this file")
    return parser


def _searcher(wish: argparse.Namespace) -> Searcher:
    """What solves; raises CommandError."""
    try:
        searcher = Searcher(wish.hash, wish.threads, load(active_file(wish.weights)))
    except (EvaluationError, MemoryError) as error:
        raise CommandError(f"epd: {str(error) or 'there is not enough memory'}") from error
    searcher.move_overhead = 0
    return searcher


def _row(number: int, task: Task, result: Result, since: Line | None) -> str:
    line = result.line
    move = Move(result.best).uci() if result.best is not None else "none"
    score = line.score.uci() if line else ""
    when = f"depth {since.depth:2} {since.time_ms:6} ms" if since else "-" * 18
    mark = "ok" if since else "--"
    return f"{number:4} {mark} {task.name[:20]:20} {move:6} {score:>10}  {when}  {task.question}"
