"""`merino points FILE ...`: what the pieces are worth in somebody's games."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.common.command import CommandError, UsageError
from engine.common.files import check_writable, write_whole
from engine.common.pictures import ENDINGS, load_matplotlib
from engine.common.progress import Progress
from engine.console.command_line import Parser
from engine.shell.naming import errors_named
from engine.shell.search_options import path_of
from formats.sources import SourceError, find_files
from study.errors import StudyError
from study.points.matrix import render_matrix
from study.points.picture import MOST_SETS, draw
from study.points.reading import Oddities, read_source
from study.points.report import as_csv, as_object, render
from study.points.sets import BY, DRAWN, LOST, RESULTS, WON, Filters
from study.points.values import HALF, SEED, SKIP, PointValues
from study.points.vectors import Vectors
from study.points.work import LEAST_GAMES, MOST_SETS_SHOWN, PointsRequest, sets_of, values_of


def run_points(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it told something; raises CommandError."""
    order = _parser().parse_args(arguments)
    request = _request(order)
    _check(order)
    with errors_named("points", SourceError, StudyError):
        sources = [read_source(p, request.needs_tags, Progress, _tell_oddities) for p in find_files(order.files)]
        found = sets_of(sources, request)
    if found.left_out:
        print(f"smaller sets that are not shown (--min-games, --top): {found.left_out}", file=sys.stderr)
    if order.plot and len(found.sets) > MOST_SETS:
        raise CommandError(
            f"points: {len(found.sets)} sets in one picture cannot be told apart; {MOST_SETS} can (--top)"
        )
    if order.matrix:
        _write_matrix(path_of(order.matrix), found.sets)
    values = _values(found.sets, request)
    if order.plot:
        _write(path_of(order.plot), draw(values, Path(order.plot).suffix.lower()))
    if order.json:
        objects = [as_object(points) for points in values]
        print(json.dumps(objects if order.by or len(sources) > 1 else objects[0]))
    else:
        print(as_csv(values) if order.csv else render(values), end="" if order.csv else "\n")
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="merino points",
        description="What the pieces are worth in these games: logistic regression of the result on material alone.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="PGN, plain or compressed, or a matrix that --matrix wrote")
    add("--draws", choices=(SKIP, HALF), default=SKIP, help="drawn games: left out (Medvedev's way), or half a point")
    add("--player", metavar="NAME", help="only games of this player, with either colour")
    results = (*RESULTS, WON, LOST, DRAWN)
    add("--result", choices=results, help=f"only games with this result; {WON} and {LOST} are --player's")
    add("--min-elo", type=_natural, metavar="N", help="only games with both players rated N or more")
    add("--max-elo", type=_natural, metavar="N", help="only games with both players rated N or less")
    add("--max-elo-gap", type=_natural, metavar="N", help="only games whose players' ratings differ by N or less")
    add("--eco", default="", metavar="CODE", help="only openings whose code begins so: B, B9, B90")
    add("--by", choices=tuple(BY), help="put the games into sets and compare them")
    add("--min-games", type=_natural, default=LEAST_GAMES, metavar="N", help="games a set of --by needs (%(default)s)")
    add("--top", type=_natural, default=MOST_SETS_SHOWN, metavar="N", help="show the N largest sets (%(default)s)")
    add("--matrix", metavar="FILE", help="write the vectors: plain text, or .csv or .json with names and games")
    add("--plot", metavar="FILE", help="draw the score graph: .png or .svg (needs the extra 'plots')")
    add(
        "--seed",
        type=_natural,
        default=SEED,
        metavar="N",
        help="of the drawn samples behind the intervals (%(default)s)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print an object, or a list of them for several sets")
    form.add_argument("--csv", action="store_true", help="print a row for each set")
    return parser


def _natural(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"a whole number is needed, not '{text[:40]}'")
    return int(text)


def _request(order: argparse.Namespace) -> PointsRequest:
    if order.result in (WON, LOST) and not order.player:
        raise UsageError(f"points: --result {order.result} needs --player: whose games are they?")
    filters = Filters(order.player, order.result, order.min_elo, order.max_elo, order.max_elo_gap, order.eco)
    return PointsRequest(filters, order.by, order.min_games, order.top, order.draws, order.seed)


def _check(order: argparse.Namespace) -> None:
    """Say what cannot be done before the work rather than after it."""
    if order.plot and Path(order.plot).suffix.lower() not in ENDINGS:
        raise UsageError(f"points: --plot writes {' or '.join(ENDINGS)} files, not '{order.plot}'")
    if order.plot:
        load_matplotlib()
    for name in filter(None, (order.plot, order.matrix)):
        try:
            check_writable(path_of(name))
        except OSError as error:
            raise CommandError(f"points: cannot write '{name}': {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such folder"
    return "it is a folder" if isinstance(error, IsADirectoryError) else str(error.strerror)


def _tell_oddities(odd: Oddities) -> None:
    if odd.faults:
        print(f"{odd.label}: games left out: {len(odd.faults)}, the first at {odd.faults[0]}", file=sys.stderr)
    if odd.unfinished:
        print(f"{odd.label}: games without a result, which count as drawn: {odd.unfinished}", file=sys.stderr)


def _values(sets: Sequence[tuple[str, Vectors]], request: PointsRequest) -> Sequence[PointValues]:
    """The values of each set that can have some; raises CommandError where none can."""
    findings = values_of(sets, request)
    for label, games in findings.too_small:
        print(f"{label}: left out, too few games to fit: {games}", file=sys.stderr)
    if not findings.values:
        kind = "decided " if request.draws == SKIP else ""
        raise CommandError(f"points: two {kind}games are needed, and a pawn more on a side in one of them")
    return findings.values


def _write_matrix(path: Path, sets: Sequence[tuple[str, Vectors]]) -> None:
    if len(sets) > 1:
        raise CommandError(f"points: --matrix writes one set of games, and there are {len(sets)}; ask for one")
    _write(path, render_matrix(sets[0][1], path.suffix.lower()).encode())


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise CommandError(f"points: cannot write '{path}': {error.strerror}") from error
