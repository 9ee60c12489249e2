"""The comparison of feature sets of M. E. Lombardo's thesis at our scale, as a table in Markdown.

`python -m tools.feature_sets POSITIONS [--epochs N] [--hidden N] [--seeds N] [--most N] [--games N] [--out FOLDER]`

Each of the twelve sets of the thesis is trained on the same positions with several seeds. The table shows both errors
and the nodes a second relative to ALL beside the thesis' figures; with --games also Elo against ALL at equal nodes and,
with --movetime, at equal time. The nets are kept in the folder, and a second run goes on from there. Errors on other
data and with other labels cannot be compared with the thesis' in size, only in order. --sizes compares ALL with other
numbers of neurons instead.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.markdown import markdown_table
from merino.inner.core.board.game import Position
from merino.inner.core.common.files import write_whole
from merino.inner.core.common.timing import cpu_seconds, medians_in_turns
from merino.inner.engine.search.bench import HASH_MB, POSITIONS
from merino.inner.engine.search.limits import Limits
from merino.inner.engine.search.searcher import Searcher
from merino.inner.eval.net.family import NetEvaluation
from merino.inner.eval.net.file import load_net, save_net
from merino.inner.eval.net.network import Network, Shape
from merino.inner.formats.packed import open_packed
from merino.inner.learn.net.feature_costs import BASE
from merino.inner.learn.net.gradient import Objective
from merino.inner.learn.net.training import Trainer, TrainingSettings, TrainingState, fit_k
from merino.inner.match.config import MatchConfig
from merino.inner.match.players import OwnPlayer
from merino.inner.match.runner import run_match
from merino.inner.match.statistics import estimate
from merino.inner.match.time_control import TimeControl


class Thesis(NamedTuple):
    """The figures of the thesis for a set: error of the net that played, in thousandths, and Elo against ALL."""

    error: float
    elo: float


SETS = {
    "H+V": Thesis(5.810, -384.3),
    "D1+D2": Thesis(6.707, -444.1),
    "H+V+D1+D2": Thesis(3.907, -183.5),
    "ALL": Thesis(3.134, 0.0),
    "ALL+H+V": Thesis(3.082, -27.1),
    "ALL+D1+D2": Thesis(3.087, -26.1),
    "ALL+H+V+D1+D2": Thesis(3.067, -58.7),
    "ALL+PH": Thesis(3.033, -38.2),
    "ALL+PV": Thesis(2.946, -8.4),
    "ALL+PH+PV": Thesis(2.868, -37.6),
    "ALL+MB": Thesis(2.824, -260.9),
    "ALL+MC": Thesis(3.032, -280.9),
}
PATIENCE = 1000  # milliseconds: at a few for each move nobody loses on time because the machine was busy
TURNS, SEARCHED, NODES = 5, 10, 10_000  # of a measurement of speed, its positions, and the nodes of each

SIZES = [(first, second) for first in (32, 64, 128, 256) for second in (0, 16, 32)]  # neurons of two layers; 0: one


class Row(NamedTuple):
    """Our figures for a shape: errors by seed, in thousandths, speed relative to ALL, and Elo against ALL as text."""

    shape: Shape
    learnt: list[float]
    apart: list[float]
    speed: float
    elo: list[str]


def main(words: list[str] | None = None) -> None:
    """Train, play, and print the table after each shape."""
    args = _parser().parse_args(words)
    args.out.mkdir(parents=True, exist_ok=True)
    records = np.array(open_packed(args.positions)[: args.most])
    rows: list[Row] = []
    base = Shape(BASE, args.hidden)
    shapes = [Shape(BASE, *size) for size in SIZES] if args.sizes else [Shape(name, args.hidden) for name in SETS]
    base_nets = _nets(base, records, args)
    for shape in shapes:
        nets = base_nets if shape == base else _nets(shape, records, args)
        speed, elo = 1.0, []
        if shape != base:
            speed, elo = _relative_speed(nets[0], base_nets[0]), _played(nets[0], base_nets[0], args)
        errors = [net.about["training"] for net in nets]
        learnt, apart = ([1000 * error[name] for error in errors] for name in ("error", "error_apart"))
        rows.append(Row(shape, learnt, apart, speed, elo))
        text = render(rows, len(records), args)
        write_whole(args.out / ("sizes.md" if args.sizes else "table.md"), text.encode())
        print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.feature_sets", description=__doc__.splitlines()[0])
    parser.add_argument("positions", type=Path, help="packed positions, shuffled")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sizes", action="store_true", help="compare numbers of neurons instead of feature sets")
    parser.add_argument("--most", type=int, help="positions (all)")
    parser.add_argument("--games", type=int, default=0, help="against ALL, for each kind of match (0)")
    parser.add_argument("--nodes", type=int, default=2000, help="a move (2000)")
    parser.add_argument("--movetime", type=int, metavar="MS", help="also play with this time a move")
    parser.add_argument("--out", type=Path, default=Path("feature-sets"), help="folder for nets and table")
    return parser


def _nets(shape: Shape, records: np.ndarray, args: argparse.Namespace) -> list[Network]:
    """The nets of a shape, one for each seed, trained or found in the folder."""
    found = []
    k = round(fit_k(records), 1)
    size = f"{shape.hidden}x{shape.second}" if shape.second else str(shape.hidden)
    for seed in range(1, args.seeds + 1):
        name = f"{shape.features.replace('+', '-')}-{size}-{args.epochs}-{len(records)}-{seed}"
        path = args.out / f"{name}.net"
        if not path.exists():
            settings = TrainingSettings(shape, Objective(k=k), epochs=args.epochs, seed=seed)

            def tell(state: TrainingState, name: str = name) -> None:
                if state.is_epoch:
                    line = f"{name} epoch {state.epoch}: {state.error:.6f} {state.validation_error:.6f}"
                    print(line, file=sys.stderr, flush=True)

            save_net(Trainer(records, settings, checkpoint=path.with_suffix(".state")).run(tell).network, path)
            path.with_suffix(".state").unlink(missing_ok=True)
        found.append(load_net(path))
    return found


def _played(net: Network, base: Network, args: argparse.Namespace) -> list[str]:
    """Elo against ALL at equal nodes and, where it is asked for, at equal time."""
    if not args.games:
        return []
    players = OwnPlayer("net", NetEvaluation(net, "net")), OwnPlayer(BASE, NetEvaluation(base, BASE))
    controls = [TimeControl(args.nodes)]
    if args.movetime:
        controls.append(TimeControl(movetime=args.movetime))
    found = []
    for control in controls:
        tally = run_match(MatchConfig(players, control, games=args.games, margin=PATIENCE), 1).tally
        score = estimate(tally.counts)
        found.append(f"{score.elo:+.0f} +- {score.elo_error:.0f}")
    return found


def _relative_speed(net: Network, base: Network) -> float:
    """The nodes that a search with one net makes in the CPU time of one with the other."""
    searchers = [Searcher(HASH_MB, evaluation=NetEvaluation(each, "net")) for each in (net, base)]
    own, other = medians_in_turns([partial(cpu_seconds, partial(_search, each)) for each in searchers], TURNS)
    return other / own


def _search(searcher: Searcher) -> None:
    """Search some positions, a fixed number of nodes each."""
    searcher.clear()
    for fen in POSITIONS[:SEARCHED]:
        searcher.search(Position(fen), Limits(nodes=NODES))


def render(rows: list[Row], positions: int, args: argparse.Namespace) -> str:
    """The table so far."""
    played = ["Elo at equal nodes", "Elo at equal time"][: max(len(row.elo) for row in rows)]
    heads = ["Neurons", "Weights"] if args.sizes else ["Set", "Features"]
    heads += ["Error apart", "spread", "Error learnt", "Nodes/s", *played]
    heads += [] if args.sizes else ["thesis: error", "thesis: Elo"]
    hidden = "" if args.sizes else f"{args.hidden} neurons, "
    table = []
    for shape, learnt, apart, speed, elo in rows:
        cells = _size(shape) if args.sizes else [shape.features, str(shape.feature_set.size)]
        cells += [f"{np.mean(apart):.3f}", f"{max(apart) - min(apart):.3f}", f"{np.mean(learnt):.3f}"]
        cells += [f"{speed:.2f}", *elo, *[""] * (len(played) - len(elo))]
        if not args.sizes:
            thesis = SETS[shape.features]
            cells += [f"{thesis.error:.3f}", f"{thesis.elo:+.1f}"]
        table.append(cells)
    lines = [
        f"{positions} positions, {hidden}{args.epochs} epochs, {args.seeds} seeds; errors x 1000",
        "",
        markdown_table(heads, table, right_aligned=range(1, len(heads))),
    ]
    if len(rows) > 2 and not args.sizes:
        theirs = [SETS[row.shape.features].error for row in rows]
        for what, ours in (("apart", [row.apart for row in rows]), ("learnt", [row.learnt for row in rows])):
            means = [float(np.mean(errors)) for errors in ours]
            lines.append(f"\nrank correlation of the error {what} with the thesis: {_spearman(means, theirs):+.2f}")
    return "\n".join(lines) + "\n"


def _size(shape: Shape) -> list[str]:
    """The neurons of both layers, and the number of all weights."""
    neurons = f"{shape.hidden}, {shape.second}" if shape.second else str(shape.hidden)
    return [neurons, f"{sum(map(prod, shape.layers().values())):,}"]


def _spearman(first: list[float], second: list[float]) -> float:
    ranks = [np.argsort(np.argsort(values)).astype(np.float64) for values in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


if __name__ == "__main__":
    main()
