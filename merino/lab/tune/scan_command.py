"""`merino spsa scan NAME`: Elo against the value of a weight or a number of the search, by matches."""

from __future__ import annotations

import argparse
import json
from concurrent.futures import Executor
from dataclasses import replace

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, whole
from merino.app.console.shared_options import cluster_executor
from merino.app.shell import match_options as options
from merino.app.shell.output_files import check_picture, ending_of, make_folder, write_picture
from merino.core.common.command import UsageError
from merino.eval.families import load_chosen
from merino.lab.tune.scan import (
    ScanRequest,
    draw_scan,
    find_number,
    make_request,
    run_scan,
    scan_csv,
    scan_json,
    scan_table,
    values_between,
    verdict,
)
from merino.match.games import MatchError
from merino.match.players import needs_of
from merino.match.report import counts_text
from merino.match.runner import MatchResult

DEFAULT_GAMES, DEFAULT_POINTS = 400, 9


def add_scan(parser: Parser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("name", metavar="NAME", help="a weight, or a parameter of the search")
    add("--from", dest="low", type=_whole, metavar="V", help="smallest value (default: its lower bound)")
    add("--to", dest="high", type=_whole, metavar="V", help="largest value (default: its upper bound)")
    add("--points", type=whole(2), metavar="N", help=f"number of values, evenly spaced (default: {DEFAULT_POINTS})")
    add("--values", type=_wholes, metavar="V,V", help="these values instead")
    add("--against", type=_whole, metavar="V", help="value that all others play against (default: the one in use)")
    options.add_game_options(parser, DEFAULT_GAMES, "of each value")
    shared.add_evaluation(parser)
    shared.add_state(parser, "FOLDER")
    form = parser.group(shared.OUTPUT).add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--csv", action="store_true", help="print CSV, one row per value")
    shared.add_plot(parser, "Elo against value")
    shared.add_quiet(parser)
    parser.set_defaults(run=scan)


def scan(args: argparse.Namespace) -> int:
    """Scan, and show the result so far, however the games ended: 0, or 130 after Ctrl-C. Raises CommandError."""
    request = _request(args)
    _check(args)
    players = request.players(request.against)
    with cluster_executor(args.cluster, "spsa scan", options.remarks(args), needs_of(players)) as executor:
        found = run_scan(request, lambda value: _play(args, request, value, executor))
    if found.fault and len(found.points) == 1:
        raise found.fault
    if args.json:
        print(json.dumps(scan_json(found, str(options.read_config(args, request.players(request.against))))))
    elif args.csv:
        print(scan_csv(found), end="")
    else:
        print("\n".join([*scan_table(found), verdict(found)]))
    if args.plot:
        write_picture(args.plot, draw_scan(found, ending_of(args.plot)), "spsa scan")
    return options.ended(args, found.interrupted, found.fault)


def _request(args: argparse.Namespace) -> ScanRequest:
    evaluation = load_chosen(args.weights, args.evalfile)
    name, number = find_number(args.name, evaluation)
    ends = (args.low, args.high, args.points)
    if args.values is not None:
        if any(end is not None for end in ends):
            raise UsageError("spsa scan: --values does not go with --from, --to and --points")
        return make_request(name, args.values, args.against, evaluation)
    low = round(number.low) if args.low is None else args.low
    high = round(number.high) if args.high is None else args.high
    if not low < high:
        raise UsageError(f"spsa scan: --from {low} is not below --to {high}")
    request = make_request(name, (low, high), args.against, evaluation)  # before all that lies between is listed
    return replace(request, values=values_between(low, high, args.points or DEFAULT_POINTS))


def _check(args: argparse.Namespace) -> None:
    """Raise the errors of the command line before the games are played."""
    with options.errors_of("spsa scan"):
        options.adjudication(args.resign, args.draw, args.longest)
    check_picture(args.plot, "spsa scan")
    if args.state is not None:
        make_folder(args.state, "spsa")


def _play(
    args: argparse.Namespace, request: ScanRequest, value: int, executor: Executor | None
) -> tuple[MatchResult, MatchError | None]:
    """The match of one value, and the error that ended it."""
    config = options.read_config(args, request.players(value))
    title = config.players[0].label
    result, fault = options.play_titled(config, args, "Merino scan", title, str(value), executor)
    if result.tally.games:
        options.remarks(args)(f"{title}: {counts_text(result.tally)}")
    return result, fault


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number") from error


def _wholes(text: str) -> list[int]:
    return [_whole(part) for part in text.split(",")]
