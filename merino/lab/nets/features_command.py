"""`merino features EXPR [FEN]`: a feature set, its blocks, and what is active on a board."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from merino.app.console import shared
from merino.app.console.explaining import take_fen
from merino.core.board.fen import START_FEN
from merino.core.board.game import Position
from merino.core.common.command import UsageError, errors_named
from merino.core.common.terminal import Progress
from merino.eval.net.blocks import BLOCKS, KINGS
from merino.eval.net.features import MIRRORED, FeatureError, FeatureSet, features
from merino.eval.net.network import NetError, Shape
from merino.eval.net.updates import obstacle
from merino.formats.pgn_games import Games, games_of, play_games
from merino.formats.sources import Source, SourceError, open_source
from merino.lab.nets.feature_costs import BASE, THESIS_SLIP, FeatureChanges, measure_changes, update_costs
from merino.lab.nets.plots import MOBILITY, draw_mobility


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino features",
        description="Show a feature set: blocks, sizes, and which features are active on a board.",
        notes=f"Blocks are {', '.join([*BLOCKS, *KINGS])}, and KING[...] with a map; + joins sets, * multiplies them, "
        f"and {MIRRORED}(...) keeps the own king on the left (docs/nets.md).",
        examples=(
            'merino features "ALL+H+V"',
            "merino features KING*ALL --stats games.pgn --json",
            "merino features ALL+MB --time",
            "merino features 'MIRRORED(KING8*ALL)' --stats games.pgn",
        ),
    )
    parser.add_argument("expression", metavar="EXPR", help='a feature set, such as "ALL+H+V" or "KING*ALL"')
    parser.add_argument("fen", nargs="*", default=[], metavar="FEN", help="default: the starting position")
    sentence = "count the features that the moves of these games change, by block"
    parser.add_argument("--stats", metavar="FILE.pgn", help=sentence)
    parser.add_argument("--time", action="store_true", help=f"measure an update of a net in play, in turns with {BASE}")
    sentence = f"neurons of the nets that are timed (default: {Shape().hidden})"
    parser.add_argument("--hidden", metavar="N", type=int, help=sentence)
    shared.add_plot(parser, f"the mobility of the pieces in these games (with --stats and the block {MOBILITY})")
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser


def run_features(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    args = _parser().parse_args(arguments)
    try:
        wanted = features(args.expression)
    except FeatureError as error:
        raise UsageError(f"features: {error}") from error
    if args.hidden is not None and not args.time:
        raise UsageError("features: --hidden is for --time")
    if sum((args.stats is not None, bool(args.fen), args.time)) > 1:
        raise UsageError("features: give one of --stats, --time and a FEN")
    if args.stats is not None:
        _print_changes(wanted, shared.file_path(args.stats), args)
    elif args.plot:
        raise UsageError("features: --plot needs --stats and games")
    elif args.time:
        _print_costs(wanted, args)
    else:
        _print_active(wanted, args.fen or START_FEN.split(), args.json)
    return 0


def _print_active(wanted: FeatureSet, words: Sequence[str], as_json: bool) -> None:
    fen, rest = take_fen(words)
    position = Position(fen)
    if rest:
        raise UsageError(f"features: expected one FEN, not also '{' '.join(rest)[:40]}'")
    white, black = wanted.active(position.record)[0]
    if as_json:
        blocks = [part._asdict() for part in wanted.parts]
        data = {"features": wanted.name, "size": wanted.size, "blocks": blocks, "by_lists": obstacle(wanted)}
        data["fen"] = position.fen()
        print(json.dumps(data | {"white": white.tolist(), "black": black.tolist()}))
        return
    way = f"not updated piece by piece, as {reason}" if (reason := obstacle(wanted)) else "updated piece by piece"
    print(f"{wanted.name}: {wanted.size} features, {way}\n")
    print(f"{'block':<24}{'size':>8}{'offset':>8}")
    for part in wanted.parts:
        print(f"{part.name:<24}{part.size:>8}{part.offset:>8}")
    for name, active in (("White", white), ("Black", black)):
        print(f"\nactive as {name} sees it, {len(active)}:")
        for index in active.tolist():
            print(f"{index:>8}  {wanted.words(index)}")


def _print_costs(wanted: FeatureSet, args: argparse.Namespace) -> None:
    hidden = Shape().hidden if args.hidden is None else args.hidden
    with errors_named("features", NetError):
        shapes = [Shape(name, hidden) for name in (wanted.name, BASE)]
    own, base = update_costs(shapes)
    if args.json:
        print(json.dumps({"update_output_ns": round(own, 1), "all_ns": round(base, 1)}))
        return
    print(f"{shapes[0]}: {own:.1f} ns for an update and an output, {own / base:.2f} times {BASE} ({base:.1f} ns)")


def _print_changes(wanted: FeatureSet, path: Path, args: argparse.Namespace) -> None:
    names = [part.name for part in wanted.parts]
    if args.plot and MOBILITY not in names:
        raise UsageError(f"features: --plot draws the block {MOBILITY}, which is not part of {wanted.name}")
    shared.check_apart([args.plot], [path], "features")
    shared.check_picture(args.plot, "features")
    progress = Progress(shared.progress_stream(args.quiet))
    with errors_named("features", SourceError), open_source(path) as source, progress:
        found = measure_changes(wanted, _games(source, progress))
    if not found.moves:
        raise UsageError(f"features: '{path}' holds no game with moves")
    if args.plot:
        picture = draw_mobility(found.often[names.index(MOBILITY)], shared.ending_of(args.plot))
        shared.write_output(args.plot, picture, "features")
    if args.json:
        print(json.dumps({"moves": found.moves, "blocks": [change.__dict__ for change in found.blocks]}))
        return
    _print_table(found)


def _print_table(found: FeatureChanges) -> None:
    print(f"{found.moves} moves, means of both sides' views\n")
    print(f"{'block':<20}{'active':>9}{'added':>9}{'removed':>9}{'together':>10}   thesis: added, removed")
    for change in found.blocks:
        text = f"{change.name:<20}{change.active:>9.2f}{change.added:>9.2f}{change.removed:>9.2f}"
        slip = THESIS_SLIP.get(change.name)
        thesis = f"{slip[0]:.2f}, {slip[1]:.2f} (some removals were lost there)" if slip else ""
        print(f"{text}{change.added + change.removed:>10.2f}   {thesis}".rstrip())


def _games(source: Source, progress: Progress) -> Iterator[Games]:
    for piece in games_of(source):
        progress("Reading", source.done)
        if len(piece.table):
            yield play_games(piece.data, np.array(piece.table), 1, piece.lines_before)
