"""`merino epd FILE`: solve the positions of an EPD file that name best moves, moves to avoid, or mates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path
from merino.app.shell.search_request import SearchRequest
from merino.core.board.game import Position
from merino.core.common.command import CommandError, errors_named
from merino.engine.search.limits import Limits, Line, SearchResult
from merino.engine.search.searcher import Searcher
from merino.eval.evaluation import EvaluationError
from merino.eval.families import load_chosen
from merino.formats.openings import EpdTest, read_tasks
from merino.formats.sources import SourceError


class _SolutionWatch:
    """Watches the lines of one search and notes from which on its move has been right."""

    def __init__(self, task: EpdTest, position: Position) -> None:
        self.task, self.position = task, position
        self.since: Line | None = None

    def __call__(self, line: Line) -> None:
        solved = self.task.is_solved_by(self.position.uci(line.pv[0]), line.score.mate) if line.pv else False
        if not solved:
            self.since = None
        elif self.since is None:
            self.since = line


def solve(searcher: Searcher, task: EpdTest, limits: Limits) -> tuple[SearchResult, Line | None]:
    """Search a task: the result, and the report from which on the answer was right, None if it was wrong."""
    searcher.clear()
    watch = _SolutionWatch(task, task.position)
    result = searcher.search(task.position, limits, watch)
    mate = result.line.score.mate if result.line else None
    answered = result.best is not None and task.is_solved_by(task.position.uci(result.best), mate)
    return result, (watch.since or result.line) if answered else None


def run_epd(arguments: Sequence[str]) -> int:
    """The command: one row per position, then the number solved. 0, or 1 for faulty lines; raises CommandError."""
    args = _parser().parse_args(arguments)
    limits = SearchRequest.of(args, Limits(movetime=shared.DEFAULT_POSITION_MS)).limits
    with errors_named("epd", SourceError):
        tasks, faults = read_tasks(args.file)
    for fault in faults:
        print(fault, file=sys.stderr)
    searcher = _searcher(args)
    if not tasks:
        raise CommandError(f"epd: '{args.file}' sets no task: no line with a position has bm, am or dm")
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
        description="Search each position of an EPD file that gives best moves (bm), moves to avoid (am) or a mate "
        "distance (dm), and print which are solved, at what depth and after how long.",
        examples=("merino epd wac.epd --movetime 200", "merino epd mates.epd --nodes 100000 --threads 2"),
    )
    parser.add_argument("file", metavar="FILE", type=file_path, help="EPD, one position per line, compressed or not")
    shared.add_evaluation(parser)
    shared.add_search(parser, movetime=shared.DEFAULT_POSITION_MS)
    return parser


def _searcher(args: argparse.Namespace) -> Searcher:
    """The searcher; raises CommandError."""
    try:
        searcher = Searcher(args.hash, args.threads, load_chosen(args.weights, args.evalfile))
    except (EvaluationError, MemoryError) as error:
        raise CommandError(f"epd: {str(error) or 'there is not enough memory'}") from error
    searcher.move_overhead = 0
    return searcher


def _row(number: int, task: EpdTest, result: SearchResult, since: Line | None) -> str:
    line = result.line
    move = task.position.uci(result.best) if result.best is not None else "none"
    score = line.score.uci() if line else ""
    when = f"depth {since.depth:2} {since.time_ms:6} ms" if since else "-" * 18
    mark = "ok" if since else "--"
    return f"{number:4} {mark} {task.name[:20]:20} {move:6} {score:>10}  {when}  {task.question}"
