"""`merino epd FILE`: solve the positions of an EPD file that name best moves, moves to avoid, or mates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.board.game import Position
from engine.board.move import Move
from engine.common.command import CommandError
from engine.console.command_line import Parser, above_zero
from engine.search.limits import Limits, Line, Result
from engine.search.searcher import Searcher
from eval.evaluation import EvaluationError
from eval.families import active_file, load
from formats.epd import Task, read_tasks

MOVE_MS = 1000  # for a position, where no limit is given
HASH_MB = 64


class _Watch:
    """Follows the lines of one search and notes since when its move has been the right one."""

    def __init__(self, task: Task, position: Position) -> None:
        self.task, self.position = task, position
        self.since: Line | None = None

    def __call__(self, line: Line) -> None:
        solved = self.task.is_solved_by(self.position.uci(line.pv[0]), line.score.mate) if line.pv else False
        if not solved:
            self.since = None
        elif self.since is None:
            self.since = line


def solve(searcher: Searcher, task: Task, limits: Limits) -> tuple[Result, Line | None]:
    """Search a task; the result, and the report since which the answer was right to the end, if it was."""
    searcher.clear()
    watch = _Watch(task, task.position)
    result = searcher.search(task.position, limits, watch)
    mate = result.line.score.mate if result.line else None
    answered = result.best is not None and task.is_solved_by(Move(result.best).uci(), mate)
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
