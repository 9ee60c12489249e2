"""`merino points FILE ...`: what the pieces are worth in the games of PGN files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path
from merino.app.shell.shared import (
    check_apart,
    check_output,
    check_picture,
    ending_of,
    evaluation_of,
    picture_fault,
    write_output,
)
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.options import add_options, given
from merino.core.common.terminal import Progress
from merino.core.common.text import PictureError
from merino.eval.evaluation import EvaluationError
from merino.formats.sources import SourceError, find_files, plain_name
from merino.lab.points.board import board_values
from merino.lab.points.games import (
    By,
    Draws,
    Notice,
    PointsRequest,
    ProgressOf,
    SourceFaults,
    Wanted,
    read_source,
    render_matrix,
    sets_of,
)
from merino.lab.points.report import MAX_SETS, as_object, board_as_object, draw, render, render_board
from merino.lab.points.values import PointValues, values_of
from merino.study.errors import StudyError


def run_points(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if there was something to estimate; raises CommandError."""
    args = points_parser().parse_args(arguments)
    request = PointsRequest(**given(vars(args), PointsRequest))
    undrawn = _check(args, request)
    stream = shared.progress_stream(args.quiet)
    notice: Notice = _ignore if args.quiet else _print_faults

    @contextmanager
    def progress_of(what: str) -> Iterator[Callable[[float | None], None]]:
        with Progress(stream) as show:
            yield partial(show, what)

    with errors_named("points", SourceError, StudyError, EvaluationError):
        files = find_files(args.files)
        if args.board:
            return _run_board(args, request, files, progress_of, notice)
        sources = [read_source(path, request, progress_of, notice) for path in files]
        sets, left_out = sets_of(sources, request)
    if left_out and not args.quiet:
        print(f"smaller sets, not shown (--min-games, --top): {left_out}", file=sys.stderr)
    if args.plot and len(sets) > MAX_SETS:
        raise CommandError(f"points: a picture shows at most {MAX_SETS} sets, not {len(sets)}; see --top")
    if args.matrix:
        if len(sets) > 1:
            count = len(sets)
            raise CommandError(f"points: --matrix writes one set of games, but there are {count}; choose one")
        text = render_matrix(sets[0][1], plain_name(args.matrix).suffix.lower())
        write_output(args.matrix, text.encode(), "points")
    values, too_small = values_of(sets, request)
    for label, games in too_small:
        print(f"{label}: left out, too few games to fit: {games}", file=sys.stderr)
    if not values:
        kind = "decided " if request.draws is Draws.SKIP else ""
        raise CommandError(f"points: needs two {kind}games, one of them with more pawns on one side")
    if args.plot and undrawn is None:
        write_output(args.plot, draw(values, ending_of(args.plot)), "points")
    if args.json:
        _print_json([as_object(points) for points in values], bool(request.by) or len(sources) > 1)
    else:
        print(render(values))
    if undrawn is not None:
        raise CommandError(f"points: the matrix is in '{args.matrix}', but nothing in '{args.plot}': {undrawn}")
    return 0


def _run_board(
    args: argparse.Namespace, request: PointsRequest, files: Sequence[Path], progress_of: ProgressOf, notice: Notice
) -> int:
    """The values of the pieces on the board in each file."""
    evaluation = evaluation_of(args.weights)
    boards = [board_values(path, evaluation, request, progress_of, notice) for path in files]
    fits: list[PointValues | None] = []
    for board in boards:
        fits += values_of([(board.label, board.vectors)], request)[0] or [None]
    pairs = list(zip(boards, fits, strict=True))
    if args.json:
        _print_json([board_as_object(board, points) for board, points in pairs], len(boards) > 1)
    else:
        print("\n\n".join(render_board(board, points) for board, points in pairs))
    return 0


def _print_json(objects: Sequence[dict[str, Any]], are_many: bool) -> None:
    print(json.dumps(objects if are_many else objects[0]))


def points_parser() -> Parser:
    """The parser of `points`."""
    parser = Parser(
        prog="merino points",
        description="Estimate what the pieces are worth in these games: logistic regression of the result on material.",
        examples=(
            "merino points games.pgn --plot scores.png",
            "merino points lichess.pgn.zst --min-elo 2000 --by elo --json",
        ),
    )
    sentence = "PGN, plain or compressed, or a file that --matrix wrote"
    parser.add_argument("files", nargs="+", metavar="FILE", help=sentence)
    add_options(parser, PointsRequest)
    sentence = "instead, average the evaluation's values of the pieces on the board"
    parser.add_argument("--board", action="store_true", help=sentence)
    shared.add_weights(parser, "weights file of --board (default: the weights in use)")
    sentence = "write the material vectors: plain text, .csv or .json, compressed or not"
    parser.group(shared.OUTPUT).add_argument("--matrix", type=file_path, metavar="FILE", help=sentence)
    shared.add_plot(parser, "the score graph")
    shared.add_json(parser, "print one JSON object, or a list of them for several sets")
    shared.add_quiet(parser)
    return parser


def _check(args: argparse.Namespace, request: PointsRequest) -> PictureError | None:
    """Raise an error before the work for what cannot be done.

    A picture that cannot be drawn does not prevent a matrix: then the reason is returned.
    """
    if request.result in (Wanted.WON, Wanted.LOST) and not request.player:
        raise UsageError(f"points: --result {request.result} needs --player")
    if args.weights and not args.board:
        raise UsageError("points: --weights needs --board")
    others = {"by": request.by, "features": request.features, "plot": args.plot, "matrix": args.matrix}
    for option, is_given in others.items():
        if args.board and is_given:
            raise UsageError(f"points: --board does not go with --{option}")
    if args.matrix and (request.features or request.by is By.PHASE):
        raise UsageError("points: --matrix writes the five differences alone; leave out --features and --by phase")
    if not args.matrix:
        check_picture(args.plot, "points")
        return None
    check_output(args.matrix, "points")
    with errors_named("points", SourceError):
        check_apart([args.matrix, args.plot], find_files(args.files), "points")
    return picture_fault(args.plot, "points") if args.plot else None


def _ignore(_: SourceFaults) -> None:
    """Say nothing."""


def _print_faults(source: SourceFaults) -> None:
    if source.faults:
        print(f"{source.label}: games left out: {len(source.faults)}, the first at {source.faults[0]}", file=sys.stderr)
    if source.unfinished:
        print(f"{source.label}: games without a result, which count as drawn: {source.unfinished}", file=sys.stderr)
