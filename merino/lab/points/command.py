"""`merino points FILE ...`: what the pieces are worth in the games of PGN files."""

import json
import sys
from collections.abc import Sequence

from merino.app.console import shared
from merino.core.common import command, options, terminal
from merino.formats.sources import LeftOut, find_files, plain_name
from merino.lab import pictures
from merino.lab.points import games, report
from merino.lab.points.games import Draws, PointsRequest, Wanted
from merino.lab.points.values import values_of


def run_points(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if there was something to estimate; raises CommandError."""
    args = points_parser().parse_args(arguments)
    request, stream = PointsRequest(**options.given(vars(args), PointsRequest)), shared.progress_stream(args.quiet)
    if request.result in (Wanted.WON, Wanted.LOST) and not request.player:
        raise command.UsageError(f"--result {request.result} needs --player")
    if args.matrix and (request.features or request.by is games.By.PHASE):
        raise command.UsageError("--matrix writes the five differences alone; leave out --features and --by phase")
    pictures.check_picture(args.plot)
    if args.matrix:
        shared.check_output(args.matrix)
    left_out = LeftOut()
    files = find_files(args.files)
    shared.check_apart([args.matrix, args.plot], files)
    with terminal.Progress(stream) as show:
        sources = [games.read_source(path, request, show, left_out) for path in files]
    shared.say_left_out(left_out, args.quiet)
    sets, smaller = games.sets_of(sources, request)
    if smaller and not args.quiet:
        print(f"smaller sets, not shown (--min-games, --top): {smaller}", file=sys.stderr)
    if args.plot and len(sets) > report.MAX_SETS:
        raise command.CommandError(f"a picture shows at most {report.MAX_SETS} sets, not {len(sets)}; see --top")
    if args.matrix:
        if len(sets) > 1:
            raise command.CommandError(f"--matrix writes one set of games, but there are {len(sets)}; choose one")
        matrix = games.render_matrix(sets[0][1], plain_name(args.matrix).suffix.lower())
        shared.write_output(args.matrix, matrix.encode())
    values, too_small = values_of(sets, request)
    for label, count in too_small:
        print(f"{label}: left out, too few games to fit: {count}", file=sys.stderr)
    if not values:
        kind = "decided " if request.draws is Draws.SKIP else ""
        raise command.CommandError(f"needs two {kind}games, one of them with more pawns on one side")
    if args.plot:
        shared.write_output(args.plot, report.draw(values, pictures.ending_of(args.plot)))
    if args.json:
        objects = [report.as_object(points) | left_out.as_json() for points in values]
        print(json.dumps(objects if request.by or len(sources) > 1 else objects[0]))
    else:
        print(report.render(values))
    return 0


def points_parser() -> shared.Parser:
    """The parser of `points`."""
    parser = shared.Parser(
        prog="merino points",
        description="Estimate what the pieces are worth in these games: logistic regression of the result on material.",
        examples=(
            "merino points games.pgn --plot scores.png",
            "merino points lichess.pgn.zst --min-elo 2000 --by elo --json",
        ),
    )
    sentence = "PGN, plain or compressed, or a file that --matrix wrote"
    parser.add_argument("files", nargs="+", metavar="FILE", help=sentence)
    options.add_options(parser, PointsRequest)
    sentence = "write the material vectors: plain text or .csv, compressed or not"
    parser.group(shared.OUTPUT).add_argument("--matrix", type=shared.file_path, metavar="FILE", help=sentence)
    pictures.add_plot(parser, "the score graph")
    shared.add_report(parser, "print one JSON object, or a list of them for several sets")
    return parser
