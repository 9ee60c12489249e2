"""`merino net` and `merino account`: a net's shape, training and values of the pieces, and the terms nearest to it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from merino.app.console import shared
from merino.core.board.bitboard import EMPTY, KING
from merino.core.board.fen import parse_fen
from merino.core.common.command import CommandError, UsageError
from merino.core.common.sealed import finite
from merino.core.common.text import in_one_line
from merino.engine.search import bench
from merino.eval import families
from merino.eval.evaluation import Evaluation
from merino.eval.net.family import NetEvaluation
from merino.formats import packed, packed_files, sources
from merino.lab.points import games, values
from merino.study import accounts

ALL = "all"  # phases together
PHASES = {"opening": (21, 99), "middlegame": (9, 21), "endgame": (0, 9)}  # units of pieces, from and below
MAX_POSITIONS = 2000  # positions
MAX_FITTED = 200_000  # positions that an account is fitted to, evenly from a file
MAX_WIDTH = 1000  # characters of a line of a net's card
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
        for kind, name in enumerate(games.PIECE_NAMES):
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
    path, net, left_out = families.find_net(args.file), families.load_net(args.file), sources.LeftOut()
    positions = positions_of(args.positions, left_out)
    means, own = piece_means(net, positions), piece_means(net, positions, own=True) if net.has_attributed else []
    regression = _by_regression(args.stats, left_out) if args.stats else None
    shared.say_left_out(left_out)
    if args.json:
        found = {
            "file": str(path),
            "search": dict(net.search_numbers),
            "text": net.describe(MAX_WIDTH).splitlines(),
            "pieces": [mean._asdict() for mean in means],
            "own_values": [mean._asdict() for mean in own],
            "regression": regression,
        }
        print(json.dumps(found | left_out.as_json()))
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
    print(f"\nin units of the mean pawn\n{'':<22}" + "".join(f"{letter:>8}" for letter in games.PIECES))
    for name, cells in rows.items():
        print(f"{name:<22}" + "".join(f"{'-' if value is None else f'{value:.2f}':>8}" for value in cells))
    return 0


def positions_of(path: Path | None, left_out: sources.LeftOut) -> np.ndarray:
    """The positions to describe a net by, POSITION[n]: some of a file, or the usual ones."""
    if path is None:
        return np.concatenate([parse_fen(fen) for fen in bench.POSITIONS])
    return packed.unpack(packed_files.evenly(packed_files.all_positions(path, left_out), MAX_POSITIONS))


def _by_regression(path: Path, left_out: sources.LeftOut) -> dict[str, float | None]:
    """The values of the pieces in the games of a file, a pawn being 1, by the letters of the pieces."""
    request = games.PointsRequest()
    source = games.read_source(path, request, lambda *_: None, left_out)
    found, _ = values.values_of(games.sets_of([source], request)[0], request)
    if not found:
        raise sources.SourceError(f"'{path}' holds too few decided games for a regression")
    worth = zip(games.PIECES, found[0].fit.values.tolist(), strict=True)
    return {letter: finite(value / 100) for letter, value in worth}


def _in_pawns(means: Sequence[PieceMean]) -> list[float | None]:
    """The means over all phases in units of the pawn's, None for a piece that was on no board."""
    found = {mean.piece: mean.mean for mean in means if mean.phase == ALL}
    pawn = found.get(games.PIECE_NAMES[0])
    return [found[name] / pawn if pawn and name in found else None for name in games.PIECE_NAMES]


def _print_means(means: Sequence[PieceMean]) -> None:
    phases = list(dict.fromkeys(mean.phase for mean in means))
    texts = {(mean.piece, mean.phase): f"{mean.mean / 100:.2f} +- {mean.deviation / 100:.2f}" for mean in means}
    print(f"{'':<8}" + "".join(f"{phase:>16}" for phase in phases))
    for piece in dict.fromkeys(mean.piece for mean in means):
        print(f"{piece:<8}" + "".join(f"{texts.get((piece, phase), ''):>16}" for phase in phases))


def run_account(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError, EvaluationError, PackedError, SourceError and StudyError."""
    parser = shared.Parser(
        prog="merino account",
        description="Show the weights of the terms that come nearest to a net, what share of its scores they explain, "
        "and where they fail; or fit them to positions.",
        examples=("merino account gen12", "merino account my.net --positions games.bin --out my.account.json"),
    )
    parser.add_argument("net", metavar="NET", help="a net, or the name of one in weights/")
    sentence = f"fit the account to up to {MAX_FITTED} positions of this file (default: show that of the net)"
    parser.add_argument("--positions", type=shared.file_path, metavar="FILE", help=sentence)
    sentence = f"write it to this file; 'explain' finds it next to the net if its name ends with {accounts.ENDING}"
    parser.add_argument("--out", type=shared.file_path, metavar="FILE", help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    if args.out and not args.positions:
        raise UsageError("--out needs --positions, to which the account is fitted")
    if args.out:
        shared.check_output(args.out)
        shared.check_apart([args.out], [args.positions, families.find_net(args.net)])
    net = families.load_net(args.net)
    assert isinstance(net, NetEvaluation)
    left_out = sources.LeftOut()
    if args.positions:
        records = packed_files.all_positions(args.positions, left_out)
        shared.say_left_out(left_out)
        step = -(-len(records) // MAX_FITTED)
        account = accounts.whole_account(net, packed.unpack(records[::step]), args.positions.name)
    elif (found := accounts.account_for(net)) is not None:
        account = found
    else:
        raise CommandError(f"'{args.net}' has no account yet: fit one with --positions FILE --out FILE")
    if args.out:
        shared.write_output(args.out, accounts.content_of(account))
    plain = asdict(account) | left_out.as_json()
    print(json.dumps(plain) if args.json else "\n".join(map(in_one_line, _account_rows(account))))
    return 0


def _account_rows(account: accounts.WholeAccount) -> Iterator[str]:
    yield f"{account.name} in the terms, from positions of {account.source}"
    yield from ("", f"{'term':<24}{'middlegame':>11}{'endgame':>9}")
    for name, (middlegame, endgame) in {**account.weights, "(side to move)": (account.to_move,) * 2}.items():
        yield f"{name:<24}{round(middlegame):11}{round(endgame):9}"
    yield from ("", f"{'positions kept apart':<26}{'number':>8}{'R2':>7}{'mean error, cp':>16}")
    for name, share in {"all": account.all, **account.kinds}.items():
        yield f"{name:<26}{share.positions:8}{share.r2:7.2f}{share.mean_error_cp:16.0f}"
