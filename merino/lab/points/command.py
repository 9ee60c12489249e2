"""`merino points FILE ...`: what the pieces are worth in the games of PGN files."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, natural, positive
from merino.app.shell.output_files import (
    check_apart,
    check_output,
    check_picture,
    ending_of,
    picture_fault,
    write_output,
)
from merino.app.shell.search_request import evaluation_of
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.tables import PictureError
from merino.core.common.terminal import Progress
from merino.eval.evaluation import EvaluationError
from merino.formats.sources import SourceError, find_files, plain_name
from merino.lab.points.board import board_values
from merino.lab.points.picture import MAX_SETS, draw, draw_steps
from merino.lab.points.reading import (
    BY_PHASE,
    MAX_SETS_SHOWN,
    MIN_GAMES,
    PointsRequest,
    SourceFaults,
    read_source,
    render_matrix,
    sets_of,
    values_of,
)
from merino.lab.points.report import as_csv, as_object, board_as_csv, board_as_object, steps_as_csv
from merino.lab.points.sets import BY, DRAWN, LOST, RESULTS, WON, Filters
from merino.lab.points.text import render, render_board, render_steps
from merino.lab.points.values import HALF, OTHER_ALPHAS, SEED, SKIP, PointValues
from merino.lab.points.vectors import Vectors
from merino.study.errors import StudyError


def run_points(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if there was something to estimate; raises CommandError."""
    args = points_parser().parse_args(arguments)
    request = _request(args)
    undrawn = _check(args)
    stream = shared.progress_stream(args.quiet)

    def progress(what: str) -> Progress:
        return Progress(what, stream)

    notice = _ignore if args.quiet else _print_faults
    if args.board:
        return _run_board(args, request, progress, notice)
    with errors_named("points", SourceError, StudyError):
        sources = [
            read_source(path, request.needs_tags, progress, notice, request.extras) for path in find_files(args.files)
        ]
        found = sets_of(sources, request)
    if found.left_out and not args.quiet:
        print(f"smaller sets, not shown (--min-games, --top): {found.left_out}", file=sys.stderr)
    if args.plot and len(found.sets) > MAX_SETS:
        raise CommandError(f"points: a picture shows at most {MAX_SETS} sets, not {len(found.sets)}; see --top")
    if args.matrix:
        _write_matrix(args.matrix, found.sets)
    values = _values(found.sets, request)
    if args.plot and undrawn is None:
        ending = ending_of(args.plot)
        picture = draw_steps(values, ending) if args.steps else draw(values, ending, args.alphas)
        write_output(args.plot, picture, "points")
    if args.json:
        objects = [as_object(points, args.alphas) for points in values]
        print(json.dumps(objects if args.by or len(sources) > 1 else objects[0]))
    elif args.csv:
        print(steps_as_csv(values) if args.steps else as_csv(values), end="")
    else:
        print(render_steps(values) if args.steps else render(values, args.alphas))
    if undrawn is not None:
        raise CommandError(f"points: the matrix is in '{args.matrix}', but nothing in '{args.plot}': {undrawn}")
    return 0


def _run_board(
    args: argparse.Namespace,
    request: PointsRequest,
    progress: Callable[[str], Progress],
    notice: Callable[[SourceFaults], object],
) -> int:
    """The values of the pieces on the board in each file."""
    evaluation, found = evaluation_of(args.weights), []
    with errors_named("points", SourceError, StudyError, EvaluationError):
        for path in find_files(args.files):
            board = board_values(path, evaluation, request.filters, progress, notice)
            values = values_of([(board.label, board.vectors)], request).values
            found.append((board, values[0] if values else None))
    if args.json:
        objects = [board_as_object(board, points) for board, points in found]
        print(json.dumps(objects if len(found) > 1 else objects[0]))
    elif args.csv:
        print(board_as_csv([board for board, _ in found]), end="")
    else:
        print("\n\n".join(render_board(board, points) for board, points in found))
    return 0


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
    sentence = "drawn games: leave them out (Medvedev's way) or count half a point (default: %(default)s)"
    parser.add_argument("--draws", choices=(SKIP, HALF), default=SKIP, help=sentence)
    shared.add_seed(parser, "the samples behind the intervals", default=SEED)
    _add_games(parser)
    _add_estimates(parser)
    add = parser.group(shared.OUTPUT).add_argument
    sentence = "write the material vectors: plain text, .csv or .json, compressed or not"
    add("--matrix", type=file_path, metavar="FILE", help=sentence)
    shared.add_plot(parser, "the score graph")
    form = parser.group(shared.OUTPUT).add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object, or a list of them for several sets")
    form.add_argument("--csv", action="store_true", help="print CSV, one row per set")
    shared.add_quiet(parser)
    return parser


def _add_games(parser: Parser) -> None:
    """The options that choose games, and that divide them into sets."""
    add = parser.group("games to use").add_argument
    add("--player", metavar="NAME", help="only games of this player, with either colour")
    results = (*RESULTS, WON, LOST, DRAWN)
    add("--result", choices=results, help=f"only games with this result; {WON} and {LOST} need --player")
    add("--min-elo", type=natural, metavar="N", help="only games with both players rated N or more")
    add("--max-elo", type=natural, metavar="N", help="only games with both players rated N or less")
    add("--max-elo-gap", type=natural, metavar="N", help="only games whose players' ratings differ by N or less")
    add("--eco", default="", metavar="CODE", help="only openings whose ECO code begins with CODE: B, B9, B90")
    add = parser.group("sets of games").add_argument
    add("--by", choices=(*BY, BY_PHASE), help="divide the games, or their positions by phase, into sets to compare")
    sentence = "leave out sets with fewer games (default: %(default)s)"
    add("--min-games", type=natural, default=MIN_GAMES, metavar="N", help=sentence)
    sentence = "show the N largest sets (default: %(default)s)"
    add("--top", type=positive, default=MAX_SETS_SHOWN, metavar="N", help=sentence)


def _add_estimates(parser: Parser) -> None:
    """The options that say what is estimated from the games."""
    add = parser.group("what to estimate").add_argument
    sentence = "add features: bishop pair, own pawns, queen with knight, the last pawn"
    add("--features", action="store_true", help=sentence)
    sentence = "'search': also estimate from the scores in the comments"
    add("--target", choices=("result", "search"), default="result", help=sentence)
    add("--steps", action="store_true", help="instead, show how gradient descent converges, step by step")
    add("--board", action="store_true", help="instead, average the evaluation's values of the pieces on the board")
    shared.add_weights(parser, "weights file of --board (default: the weights in use)")
    sentence = "exponents of the other curves of the score graph (default: 0.1,0.2)"
    add("--alphas", type=_alphas, default=OTHER_ALPHAS, metavar="A,B", help=sentence)


def _alphas(text: str) -> tuple[float, ...]:
    """Numbers separated by commas; none for an empty text."""
    try:
        found = tuple(float(word) for word in text.split(",") if word.strip())
    except ValueError:
        found = (math.nan,)
    if not all(0 < alpha < 100 for alpha in found):
        raise argparse.ArgumentTypeError(f"expected numbers above 0, separated by commas, not '{text[:40]}'")
    return found


def _request(args: argparse.Namespace) -> PointsRequest:
    if args.result in (WON, LOST) and not args.player:
        raise UsageError(f"points: --result {args.result} needs --player")
    filters = Filters(args.player, args.result, args.min_elo, args.max_elo, args.max_elo_gap, args.eco)
    return PointsRequest(
        filters,
        args.by,
        args.min_games,
        args.top,
        args.draws,
        args.seed,
        args.features,
        args.steps,
        args.target == "search",
    )


def _check(args: argparse.Namespace) -> PictureError | None:
    """Say what cannot be done before the work rather than after it.

    Where a matrix is wanted too, a picture that cannot be drawn keeps nobody from it: then returns why.
    """
    if args.weights and not args.board:
        raise UsageError("points: --weights needs --board")
    others = {f"--{option}": getattr(args, option) for option in ("by", "features", "steps", "plot", "matrix")}
    others |= {"--target search": args.target == "search", "--alphas": args.alphas != OTHER_ALPHAS}
    for option, is_given in others.items():
        if args.board and is_given:
            raise UsageError(f"points: --board does not go with {option}")
    if args.steps and args.alphas != OTHER_ALPHAS and not args.json:
        raise UsageError("points: --steps shows no curves of --alphas, except with --json")
    if args.matrix and (args.features or args.by == BY_PHASE):
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


def _values(sets: Sequence[tuple[str, Vectors]], request: PointsRequest) -> Sequence[PointValues]:
    """The values of each set that has enough games; raises CommandError if none has."""
    with errors_named("points", StudyError):
        findings = values_of(sets, request)
    for label, games in findings.too_small:
        print(f"{label}: left out, too few games to fit: {games}", file=sys.stderr)
    if not findings.values:
        kind = "decided " if request.draws == SKIP else ""
        raise CommandError(f"points: needs two {kind}games, one of them with more pawns on one side")
    return findings.values


def _write_matrix(path: Path, sets: Sequence[tuple[str, Vectors]]) -> None:
    if len(sets) > 1:
        raise CommandError(f"points: --matrix writes one set of games, but there are {len(sets)}; choose one")
    write_output(path, render_matrix(sets[0][1], plain_name(path).suffix.lower()).encode(), "points")
