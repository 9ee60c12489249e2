"""`merino net FILE`: a net's shape and training, and the values of the pieces in it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merino.app.console import shared
from merino.core.board.bitboard import EMPTY, KING
from merino.core.board.fen import parse_fen
from merino.core.common.command import errors_named
from merino.core.common.sealed import finite
from merino.engine.search.bench import POSITIONS
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import find_net, load_net
from merino.formats.packed import PackedError, unpack
from merino.formats.packed_files import all_positions, evenly
from merino.formats.sources import SourceError
from merino.lab.points.games import PointsRequest, read_source, sets_of
from merino.lab.points.values import values_of

NAMES = ("pawn", "knight", "bishop", "rook", "queen")
ALL = "all"  # phases together
PHASES = {"opening": (21, 99), "middlegame": (9, 21), "endgame": (0, 9)}  # units of pieces, from and below
_UNITS = (0, 1, 1, 2, 4, 0)
MAX_POSITIONS = 2000  # positions
MAX_WIDTH = 1000  # characters of a line of a net's card
TEAM_44 = (1.00, 2.94, 3.13, 4.96, 9.87)  # the table of their report on a net that gives each piece a value
LETTERS = dict(zip(NAMES, "PNBRQ", strict=True))


@dataclass(frozen=True)
class PieceMean:
    """The value of a kind of piece in centipawns for its owner, over all such pieces on the boards of a phase."""

    piece: str
    phase: str  # "all", or one of PHASES
    pieces: int
    mean: float
    deviation: float


def piece_means(evaluation: Evaluation, positions: np.ndarray, own: bool = False) -> tuple[PieceMean, ...]:
    """By removal over POSITION[n], or with `own` by the evaluation's attributed values.

    Raises EvaluationError for `own` unless the evaluation `has_attributed`.
    """
    board = positions["board"]
    values = evaluation.attributed(positions) if own else evaluation.removals(positions)
    counted = (board != EMPTY) & (board & 7 != KING)
    kinds, flat = board[counted] & 7, values[counted]
    units = np.repeat(np.bitwise_count(positions["pieces"]) @ _UNITS, counted.sum(axis=1))
    found = []
    for phase, (low, high) in {ALL: (0, 99), **PHASES}.items():
        for kind, name in enumerate(NAMES):
            chosen = flat[(kinds == kind) & (units >= low) & (units < high)]
            if len(chosen):
                found.append(PieceMean(name, phase, len(chosen), float(chosen.mean()), float(chosen.std())))
    return tuple(found)


def run_net(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    parser = shared.Parser(
        prog="merino net",
        description="Show the shape of a net, how it was trained, and the values of the pieces in it, by removal.",
        examples=("merino net my.net", "merino net my.net --positions games.pgn"),
    )
    parser.add_argument("file", metavar="FILE", help="a net, or the name of one in weights/")
    sentence = "positions over which to average the values (default: those of the bench)"
    parser.add_argument("--positions", type=shared.file_path, metavar="FILE", help=sentence)
    sentence = "also show the values by regression from these games, as 'merino points' does"
    parser.add_argument("--stats", type=shared.file_path, metavar="FILE.pgn", help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    with errors_named("net", EvaluationError, PackedError, SourceError):
        path = find_net(args.file)
        net = load_net(args.file)
        positions = positions_of(args)
        means = piece_means(net, positions)
        own = piece_means(net, positions, own=True) if net.has_attributed else ()
        regression = _by_regression(args.stats) if args.stats else None
    if args.json:
        found = {
            "file": str(path),
            "search": dict(net.search_numbers),
            "text": net.describe(MAX_WIDTH).splitlines(),
            "pieces": [mean.__dict__ for mean in means],
            "own_values": [mean.__dict__ for mean in own],
            "regression": regression,
        }
        print(json.dumps(found))
        return 0
    print(f"{path}\n{net.describe(MAX_WIDTH)}\n\nvalue of pieces by removal, in pawns: mean and standard deviation")
    _print_means(means)
    if own:
        print("\nvalue that the net gives each piece, in pawns: mean and standard deviation")
        _print_means(own)
    _print_ratios(means, own, regression)
    return 0


def _by_regression(path: Path) -> dict[str, float | None]:
    """The values of the pieces in the games of a file, a pawn being 1, by the letters of the pieces."""
    request = PointsRequest()
    source = read_source(path, request, lambda *_: None)
    found, _ = values_of(sets_of([source], request)[0], request)
    if not found:
        raise SourceError(f"'{path}' holds too few decided games for a regression")
    values = found[0].fit.values.tolist()
    return {letter: finite(value / 100) for letter, value in zip(LETTERS.values(), values, strict=True)}


def _print_ratios(
    means: Sequence[PieceMean], own: Sequence[PieceMean], regression: Mapping[str, float | None] | None
) -> None:
    """The means over all positions in units of the pawn, with values from other sources."""
    rows = [("by removal", _in_pawns(means))]
    rows += [("as the net gives it", _in_pawns(own))] if own else []
    rows += [("Team 44", list(TEAM_44))] if own else []
    rows += [("regression", [regression[letter] for letter in LETTERS.values()])] if regression else []
    print("\nin units of the mean pawn")
    print(f"{'':<22}" + "".join(f"{letter:>8}" for letter in LETTERS.values()))
    for name, values in rows:
        print(f"{name:<22}" + "".join(f"{'-' if value is None else f'{value:.2f}':>8}" for value in values))


def _in_pawns(means: Sequence[PieceMean]) -> list[float | None]:
    found = {mean.piece: mean.mean for mean in means if mean.phase == ALL}
    pawn = found.get(NAMES[0])
    return [found[name] / pawn if pawn and name in found else None for name in NAMES]


def positions_of(args: argparse.Namespace) -> np.ndarray:
    """The positions to describe a net by, POSITION[n]: some of a file, or the usual ones."""
    if args.positions is None:
        return np.concatenate([parse_fen(fen) for fen in POSITIONS])
    return unpack(evenly(all_positions(args.positions), MAX_POSITIONS))


def _print_means(means: Sequence[PieceMean]) -> None:
    phases = list(dict.fromkeys(mean.phase for mean in means))
    by_place = {(mean.piece, mean.phase): mean for mean in means}
    print(f"{'':<8}" + "".join(f"{phase:>16}" for phase in phases))
    for piece in dict.fromkeys(mean.piece for mean in means):
        cells = [by_place.get((piece, phase)) for phase in phases]
        texts = [f"{cell.mean / 100:.2f} +- {cell.deviation / 100:.2f}" if cell else "" for cell in cells]
        print(f"{piece:<8}" + "".join(f"{text:>16}" for text in texts))
