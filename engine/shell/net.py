"""`merino net FILE`: all that a net tells about itself, and what pieces are worth to it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import numpy as np

from engine.board.fen import parse_fen
from engine.console import shared_options as shared
from engine.console.command_line import Parser, file_path
from engine.search.bench import POSITIONS
from engine.shell.naming import errors_named
from eval.evaluation import EvaluationError
from eval.families import find_net, load_net
from formats.packed import Filter, PackedError, unpack
from formats.packed_files import packed_positions
from formats.sources import SourceError
from learn.net.piece_values import PieceMean, piece_means

MOST = 2000  # positions


def run_net(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    parser = Parser(
        prog="merino net",
        description="Show what a net consists of, how it was trained, and what pieces are worth to it by removal.",
        examples=("merino net my.net", "merino net my.net --positions games.pgn"),
    )
    parser.add_argument("file", metavar="FILE", help="a net, or the name of one in weights/")
    sentence = "positions for the values of pieces (default: those of the bench)"
    parser.add_argument("--positions", type=file_path, metavar="FILE", help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    with errors_named("net", EvaluationError, PackedError, SourceError):
        path = find_net(args.file)
        net = load_net(args.file)
        means = piece_means(net, _positions(args))
    if args.json:
        told = {"file": str(path), "text": net.describe(1000).splitlines(), "pieces": [mean.__dict__ for mean in means]}
        print(json.dumps(told))
        return 0
    print(f"{path}\n{net.describe()}\n\nvalue of pieces by removal, in pawns: mean and standard deviation")
    _print_means(means)
    return 0


def _positions(args: argparse.Namespace) -> np.ndarray:
    if args.positions is None:
        return np.concatenate([parse_fen(fen) for fen in POSITIONS])
    records = np.concatenate(list(packed_positions(args.positions, Filter())))
    if not len(records):
        raise PackedError(f"'{args.positions}' holds no position with a score and a result")
    return unpack(records[:: max(1, len(records) // MOST)][:MOST])


def _print_means(means: Sequence[PieceMean]) -> None:
    phases = list(dict.fromkeys(mean.phase for mean in means))
    by_place = {(mean.piece, mean.phase): mean for mean in means}
    print(f"{'':<8}" + "".join(f"{phase:>16}" for phase in phases))
    for piece in dict.fromkeys(mean.piece for mean in means):
        cells = [by_place.get((piece, phase)) for phase in phases]
        texts = [f"{cell.mean / 100:.2f} +- {cell.deviation / 100:.2f}" if cell else "" for cell in cells]
        print(f"{piece:<8}" + "".join(f"{text:>16}" for text in texts))
