"""`merino net FILE`: a net's shape and training, and the values of the pieces in it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from merino.app.console import shared
from merino.core.board.bitboard import EMPTY, KING
from merino.core.board.fen import parse_fen
from merino.core.common.sealed import finite
from merino.engine.search import bench
from merino.eval import families
from merino.eval.evaluation import Evaluation
from merino.formats import packed, packed_files, sources
from merino.lab.points import games, values

NAMES = ("pawn", "knight", "bishop", "rook", "queen")
ALL = "all"  # phases together
PHASES = {"opening": (21, 99), "middlegame": (9, 21), "endgame": (0, 9)}  # units of pieces, from and below
MAX_POSITIONS = 2000  # positions
MAX_WIDTH = 1000  # characters of a line of a net's card
LETTERS = "PNBRQ"
TEAM_44 = (1.00, 2.94, 3.13, 4.96, 9.87)  # the table of their report on a net that gives each piece a value


class PieceMean(NamedTuple):
    """The value of a kind of piece in centipawns for its owner, over all such pieces on the boards of a phase."""

    piece: str
    phase: str  # "all", or one of PHASES
    pieces: int
    mean: float
    deviation: float


def piece_means(evaluation: Evaluation, positions: np.ndarray, own: bool = False) -> list[PieceMean]:
    """By removal over POSITION[n], or with `own` by the evaluation's attributed values.

    Raises EvaluationError for `own` unless the evaluation `has_attributed`.
    """
    pieces = positions["board"]
    found = evaluation.attributed(positions) if own else evaluation.removals(positions)
    counted = (pieces != EMPTY) & (pieces & 7 != KING)
    kinds, flat = pieces[counted] & 7, found[counted]
    units = np.repeat(np.bitwise_count(positions["pieces"]) @ packed_files.UNITS, counted.sum(axis=1))
    means = []
    for phase, (low, high) in {ALL: (0, 99), **PHASES}.items():
        for kind, name in enumerate(NAMES):
            chosen = flat[(kinds == kind) & (units >= low) & (units < high)]
            if len(chosen):
                means.append(PieceMean(name, phase, len(chosen), float(chosen.mean()), float(chosen.std())))
    return means


def run_net(arguments: Sequence[str]) -> int:
    """The command in a shell; raises MerinoError."""
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
    path, net, positions = families.find_net(args.file), families.load_net(args.file), positions_of(args.positions)
    means, own = piece_means(net, positions), piece_means(net, positions, own=True) if net.has_attributed else []
    regression = _by_regression(args.stats) if args.stats else None
    if args.json:
        found = {
            "file": str(path),
            "search": dict(net.search_numbers),
            "text": net.describe(MAX_WIDTH).splitlines(),
            "pieces": [mean._asdict() for mean in means],
            "own_values": [mean._asdict() for mean in own],
            "regression": regression,
        }
        print(json.dumps(found))
        return 0
    print(f"{path}\n{net.describe(MAX_WIDTH)}\n\nvalue of pieces by removal, in pawns: mean and standard deviation")
    _print_means(means)
    rows = {"by removal": _in_pawns(means)}
    if own:
        print("\nvalue that the net gives each piece, in pawns: mean and standard deviation")
        _print_means(own)
        rows |= {"as the net gives it": _in_pawns(own), "Team 44": list(TEAM_44)}
    if regression:
        rows["regression"] = list(regression.values())
    print(f"\nin units of the mean pawn\n{'':<22}" + "".join(f"{letter:>8}" for letter in LETTERS))
    for name, cells in rows.items():
        print(f"{name:<22}" + "".join(f"{'-' if value is None else f'{value:.2f}':>8}" for value in cells))
    return 0


def positions_of(path: Path | None) -> np.ndarray:
    """The positions to describe a net by, POSITION[n]: some of a file, or the usual ones."""
    if path is None:
        return np.concatenate([parse_fen(fen) for fen in bench.POSITIONS])
    records = packed_files.all_positions(path, left_out := sources.LeftOut())
    for line in left_out.lines():
        print(line, file=sys.stderr)
    return packed.unpack(packed_files.evenly(records, MAX_POSITIONS))


def _by_regression(path: Path) -> dict[str, float | None]:
    """The values of the pieces in the games of a file, a pawn being 1, by the letters of the pieces."""
    request = games.PointsRequest()
    source = games.read_source(path, request, lambda *_: None, sources.LeftOut())
    found, _ = values.values_of(games.sets_of([source], request)[0], request)
    if not found:
        raise sources.SourceError(f"'{path}' holds too few decided games for a regression")
    return {letter: finite(value / 100) for letter, value in zip(LETTERS, found[0].fit.values.tolist(), strict=True)}


def _in_pawns(means: Sequence[PieceMean]) -> list[float | None]:
    """The means over all phases in units of the pawn's, None for a piece that was on no board."""
    found = {mean.piece: mean.mean for mean in means if mean.phase == ALL}
    pawn = found.get(NAMES[0])
    return [found[name] / pawn if pawn and name in found else None for name in NAMES]


def _print_means(means: Sequence[PieceMean]) -> None:
    phases = list(dict.fromkeys(mean.phase for mean in means))
    texts = {(mean.piece, mean.phase): f"{mean.mean / 100:.2f} +- {mean.deviation / 100:.2f}" for mean in means}
    print(f"{'':<8}" + "".join(f"{phase:>16}" for phase in phases))
    for piece in dict.fromkeys(mean.piece for mean in means):
        print(f"{piece:<8}" + "".join(f"{texts.get((piece, phase), ''):>16}" for phase in phases))
