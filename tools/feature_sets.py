"""The comparison of feature sets of M. E. Lombardo's thesis at our scale, as a table in Markdown.

`python -m tools.feature_sets POSITIONS [--epochs N] [--hidden N] [--seeds N] [--games N] [--out FOLDER]`

Each of the twelve sets of the thesis is trained on the same positions with several seeds. The table shows both errors
and the nodes a second relative to ALL next to the thesis' figures; with --games also Elo against ALL at equal nodes,
with --movetime at equal time, where the nets of each seed meet. What the thesis says of a set, that it plays worse than
ALL, gets a verdict by the interval of the last match. Nets and matches are kept in the folder, and a second run
continues from there, even within a match. Errors on other data and with other labels cannot be compared with the
thesis' in size, only in order.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

from merino.core.board.game import Position
from merino.core.common.files import write_whole
from merino.engine.search.bench import HASH_MB, POSITIONS
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import load_net, save_net
from merino.eval.net.network import Network, Shape
from merino.lab.nets.feature_costs import BASE, cpu_seconds, medians_in_turns
from merino.lab.nets.gradient import Objective
from merino.lab.nets.position_blocks import open_blocks
from merino.lab.nets.training import Trainer, TrainingSettings, TrainingState, fit_k
from merino.match.config import MatchConfig, TimeControl
from merino.match.players import OwnPlayer
from merino.match.runner import MatchOutput, run_match
from merino.match.statistics import Estimate, estimate
from tools.markdown import markdown_table


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
BLEND, POWER = 0.25, 2.6  # of training: those of the tables in docs/lab/nets.md, so that new rows compare
NO_MATCH = Estimate(0.0, 0.0, 0.0, 0.0, 0.5)  # of ALL against itself


class Row(NamedTuple):
    """Our figures for a shape: errors by seed, in thousandths, speed relative to ALL, matches against it."""

    shape: Shape
    learnt: list[float]
    apart: list[float]
    speed: float
    matches: list[Estimate]  # at equal nodes, and at equal time


class Experiment(NamedTuple):
    """What all shapes have in common: the options, the positions, PACKED[n], and their K."""

    args: argparse.Namespace
    records: np.ndarray
    k: float

    @property
    def controls(self) -> list[TimeControl]:
        """Those of the matches: equal nodes and, where it is asked for, equal time; none without games."""
        by_nodes = [TimeControl(self.args.nodes)] if self.args.games else []
        return by_nodes + ([TimeControl(movetime=self.args.movetime)] if by_nodes and self.args.movetime else [])

    def stem(self, shape: Shape, seed: int) -> str:
        """What the paths of the files of a net begin with."""
        name = re.sub(r"[^A-Z0-9]+", "-", shape.features)
        return str(self.args.out / f"{name}-{shape.hidden}-{self.args.epochs}-{len(self.records)}-{seed}")


def main(words: list[str] | None = None) -> None:
    """Train, play, and print the table after each shape."""
    args = _parser().parse_args(words)
    args.out.mkdir(parents=True, exist_ok=True)
    with open_blocks(args.positions) as positions:
        records = positions.read(0, len(positions))
    began, rows = time.monotonic(), []
    for row in _rows(Experiment(args, records, round(fit_k(records), 1))):
        rows.append(row)
        text = render(rows, len(records), args)
        write_whole(args.out / "table.md", text.encode())
        print(text, f"{(time.monotonic() - began) / 3600:.2f} hours so far", sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.feature_sets", description=__doc__.splitlines()[0])
    parser.add_argument("positions", type=Path, help="packed positions, shuffled")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--games", type=int, default=0, help="against ALL, of all seeds, for each kind of match (0)")
    parser.add_argument("--nodes", type=int, default=2000, help="a move (2000)")
    parser.add_argument("--movetime", type=int, metavar="MS", help="also play with this time a move")
    parser.add_argument("--out", type=Path, default=Path("feature-sets"), help="folder for nets, matches and table")
    return parser


def _rows(experiment: Experiment) -> Iterator[Row]:
    """Our figures, shape by shape."""
    args = experiment.args
    base = Shape(BASE, args.hidden)
    base_nets = _nets(base, experiment)
    for shape in [Shape(name, args.hidden) for name in SETS]:
        if shape == base:
            nets, speed, matches = base_nets, 1.0, [NO_MATCH for _ in experiment.controls]
        else:
            nets = _nets(shape, experiment)
            speed = _relative_speed(nets[0], base_nets[0])
            matches = [_played(shape, nets, base_nets, control, experiment) for control in experiment.controls]
        errors = [net.about["training"] for net in nets]
        learnt, apart = ([1000 * error[name] for error in errors] for name in ("error", "error_apart"))
        yield Row(shape, learnt, apart, speed, matches)


def _nets(shape: Shape, experiment: Experiment) -> list[Network]:
    """The nets of a shape, one for each seed, trained or found in the folder."""
    found, args = [], experiment.args
    for seed in range(1, args.seeds + 1):
        path = Path(f"{experiment.stem(shape, seed)}.net")
        if not path.exists():
            settings = TrainingSettings(shape, Objective(BLEND, experiment.k, POWER), epochs=args.epochs, seed=seed)

            def show(state: TrainingState, name: str = path.stem) -> None:
                if state.is_epoch:
                    line = f"{name} epoch {state.epoch}: {state.error:.6f} {state.validation_error:.6f}"
                    print(line, file=sys.stderr, flush=True)

            trainer = Trainer(experiment.records, settings, checkpoint=path.with_suffix(".state"))
            trained = trainer.run(show)
            if trained.interrupted:
                raise KeyboardInterrupt
            save_net(trained.network, path)
            path.with_suffix(".state").unlink(missing_ok=True)
        found.append(load_net(path))
    return found


def _played(
    shape: Shape, nets: list[Network], base: list[Network], control: TimeControl, experiment: Experiment
) -> Estimate:
    """The strength against ALL, where the nets of each seed play a share of the games, with openings of their own."""
    counts = np.zeros(5, dtype=np.int64)
    games = 2 * -(-experiment.args.games // (2 * len(nets)))
    limit = f"{control.movetime}ms" if control.is_timed else f"{control.nodes}"
    for seed, (net, other) in enumerate(zip(nets, base, strict=True), start=1):
        players = OwnPlayer("net", NetEvaluation(net, "net")), OwnPlayer(BASE, NetEvaluation(other, BASE))
        config = MatchConfig(players, control, games=games, seed=seed, margin=PATIENCE)
        output = MatchOutput(state=Path(f"{experiment.stem(shape, seed)}-{limit}.match"))
        result = run_match(config, 1, output=output)
        if result.interrupted:
            raise KeyboardInterrupt
        counts += result.tally.pairs
    return estimate(counts)


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
    heads = ["Set", "Features", "Error apart", "spread", "Error learnt", "Nodes/s"]
    heads += ["Elo at equal nodes", "Elo at equal time"][: len(rows[0].matches)]
    heads += ["thesis: error", "thesis: Elo", "weaker than ALL"]
    lines = [
        f"{positions} positions, {args.hidden} neurons, {args.epochs} epochs, {args.seeds} seeds; errors x 1000",
        "",
        markdown_table(heads, [_cells(row) for row in rows], right_aligned=range(1, len(heads))),
    ]
    if len(rows) > 2:
        theirs = [SETS[row.shape.features].error for row in rows]
        for what, ours in (("apart", [row.apart for row in rows]), ("learnt", [row.learnt for row in rows])):
            means = [float(np.mean(errors)) for errors in ours]
            lines.append(f"\nrank correlation of the error {what} with the thesis: {_spearman(means, theirs):+.2f}")
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> list[str]:
    """The cells of a row."""
    name, thesis = row.shape.features, SETS[row.shape.features]
    cells = [name, str(row.shape.feature_set.size), f"{np.mean(row.apart):.3f}"]
    cells += [f"{max(row.apart) - min(row.apart):.3f}", f"{np.mean(row.learnt):.3f}", f"{row.speed:.2f}"]
    cells += [*map(_elo, row.matches), f"{thesis.error:.3f}", f"{thesis.elo:+.1f}"]
    return [*cells, verdict(row.matches[-1]) if row.matches else ""]


def _elo(match: Estimate) -> str:
    """The Elo of a match with half of its interval; only which side had all points where one had; 0 for no match."""
    if not match.elo_error:
        return "0"
    return f"{match.elo:+.0f} +- {match.elo_error:.0f}" if isfinite(match.elo) else f"{match.elo:+}"


def verdict(match: Estimate) -> str:
    """Whether a match agrees that its first player is the weaker one; empty for a set against itself."""
    if not match.elo_error:
        return ""
    if abs(match.elo) <= match.elo_error:
        return "undecided"
    return "agrees" if match.elo < 0 else "does not"


def _spearman(first: list[float], second: list[float]) -> float:
    ranks = [np.argsort(np.argsort(values)).astype(np.float64) for values in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


if __name__ == "__main__":
    main()
