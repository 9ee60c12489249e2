"""The comparison of feature sets of M. E. Lombardo's thesis at our scale, as a table in Markdown.

`python -m tools.feature_sets POSITIONS [--epochs N] [--hidden N] [--seeds N] [--games N] [--out FOLDER]`

Each of the twelve sets of the thesis is trained on the same positions with several seeds. The table shows both errors
and the nodes a second relative to ALL next to the thesis' figures; with --games also Elo against ALL at equal nodes,
with --movetime at equal time, where the nets of each seed meet. Nets and matches are kept in the folder, and a second
run continues from there, even within a match. Errors on other data and with other labels cannot be compared with the
thesis' in size, only in order.
"""

import argparse
import re
import sys
import time
from functools import partial
from math import isfinite
from pathlib import Path

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
from merino.match.statistics import estimate
from tools.markdown import markdown_table

# The figures of the thesis for a set: error of the net that played, in thousandths, and Elo against ALL.
SETS = {
    "ALL": (3.134, 0.0),
    "H+V": (5.810, -384.3),
    "D1+D2": (6.707, -444.1),
    "H+V+D1+D2": (3.907, -183.5),
    "ALL+H+V": (3.082, -27.1),
    "ALL+D1+D2": (3.087, -26.1),
    "ALL+H+V+D1+D2": (3.067, -58.7),
    "ALL+PH": (3.033, -38.2),
    "ALL+PV": (2.946, -8.4),
    "ALL+PH+PV": (2.868, -37.6),
    "ALL+MB": (2.824, -260.9),
    "ALL+MC": (3.032, -280.9),
}
PATIENCE = 1000  # milliseconds: at a few for each move nobody loses on time because the machine was busy
TURNS, SEARCHED, NODES = 5, 10, 10_000  # of a measurement of speed, its positions, and the nodes of each
BLEND, POWER = 0.25, 2.6  # of training: those of the tables in docs/lab/nets.md, so that new rows compare
HEADS = ("Set", "Features", "Error apart", "spread", "Error learnt", "Nodes/s")
MATCHES, THESIS = ("Elo at equal nodes", "Elo at equal time"), ("thesis: error", "thesis: Elo")


def main(words: list[str] | None = None) -> None:
    """Train, play, and print the table after each set."""
    args = _parser().parse_args(words)
    args.out.mkdir(parents=True, exist_ok=True)
    with open_blocks(args.positions) as positions:
        records = positions.read(0, len(positions))
    controls = [TimeControl(args.nodes)] if args.games else []
    controls += [TimeControl(movetime=args.movetime)] if args.games and args.movetime else []
    k, began, rows, base = round(fit_k(records), 1), time.monotonic(), list[list[str]](), list[Network]()
    heads = [*HEADS, *MATCHES[: len(controls)], *THESIS]
    for name in (BASE, *(name for name in SETS if name != BASE)):
        shape = Shape(name, args.hidden)
        stems = [f"{_stem(shape, args, len(records))}-{seed}" for seed in range(1, args.seeds + 1)]
        nets = [_trained(shape, seed, stem, records, k, args.epochs) for seed, stem in enumerate(stems, start=1)]
        base = base or nets
        apart, learnt = ([1000 * net.about["training"][which] for net in nets] for which in ("error_apart", "error"))
        cells = [name, str(shape.feature_set.size), f"{np.mean(apart):.3f}", f"{max(apart) - min(apart):.3f}"]
        cells += [f"{np.mean(learnt):.3f}", "1.00" if name == BASE else f"{_relative_speed(nets[0], base[0]):.2f}"]
        cells += ["0" if name == BASE else _elo(nets, base, stems, control, args.games) for control in controls]
        rows.append([*cells, f"{SETS[name][0]:.3f}", f"{SETS[name][1]:+.1f}"])
        title = f"{len(records)} positions, {args.hidden} neurons, {args.epochs} epochs, {args.seeds} seeds; x 1000"
        text = f"{title}\n\n{markdown_table(heads, rows, right_aligned=range(1, len(heads)))}\n"
        write_whole(args.out / "table.md", text.encode())
        print(text, f"{(time.monotonic() - began) / 3600:.2f} hours so far", sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.feature_sets", description="Compare feature sets.")
    parser.add_argument("positions", type=Path, help="packed positions, shuffled")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--games", type=int, default=0, help="against ALL, of all seeds, for each kind of match (0)")
    parser.add_argument("--nodes", type=int, default=2000, help="a move (2000)")
    parser.add_argument("--movetime", type=int, metavar="MS", help="also play with this time a move")
    parser.add_argument("--out", type=Path, default=Path("feature-sets"), help="folder for nets, matches and table")
    return parser


def _stem(shape: Shape, args: argparse.Namespace, positions: int) -> str:
    """What the paths of the files of a set begin with."""
    name = re.sub(r"[^A-Z0-9]+", "-", shape.features)
    return str(args.out / f"{name}-{shape.hidden}-{args.epochs}-{positions}")


def _trained(shape: Shape, seed: int, stem: str, records: np.ndarray, k: float, epochs: int) -> Network:
    """The net of a seed, trained or found in the folder."""
    path = Path(f"{stem}.net")
    if path.exists():
        return load_net(path)

    def show(state: TrainingState) -> None:
        if state.is_epoch:
            line = f"{path.stem} epoch {state.epoch}: {state.error:.6f} {state.validation_error:.6f}"
            print(line, file=sys.stderr, flush=True)

    settings = TrainingSettings(shape, Objective(BLEND, k, POWER), epochs=epochs, seed=seed)
    trained = Trainer(records, settings, checkpoint=path.with_suffix(".state")).run(show)
    if trained.interrupted:
        raise KeyboardInterrupt
    save_net(trained.network, path)
    path.with_suffix(".state").unlink(missing_ok=True)
    return load_net(path)


def _elo(nets: list[Network], base: list[Network], stems: list[str], control: TimeControl, games: int) -> str:
    """The Elo against ALL; the nets of each seed play a share of the games, with openings of their own."""
    counts, limit = np.zeros(5, dtype=np.int64), f"{control.movetime}ms" if control.is_timed else f"{control.nodes}"
    for seed, (net, other) in enumerate(zip(nets, base, strict=True), start=1):
        players = OwnPlayer("net", NetEvaluation(net, "net")), OwnPlayer(BASE, NetEvaluation(other, BASE))
        share = 2 * -(-games // (2 * len(nets)))
        config = MatchConfig(players, control, games=share, seed=seed, margin=PATIENCE)
        result = run_match(config, 1, output=MatchOutput(state=Path(f"{stems[seed - 1]}-{limit}.match")))
        if result.interrupted:
            raise KeyboardInterrupt
        counts += result.tally.pairs
    found = estimate(counts)
    return f"{found.elo:+.0f} +- {found.elo_error:.0f}" if isfinite(found.elo) else f"{found.elo:+}"


def _relative_speed(net: Network, base: Network) -> float:
    """The nodes that a search with one net makes in the CPU time of one with the other."""
    searchers = [Searcher(HASH_MB, evaluation=NetEvaluation(each, "net")) for each in (net, base)]
    own, other = medians_in_turns([partial(cpu_seconds, partial(think, each)) for each in searchers], TURNS)
    return other / own


def think(searcher: Searcher, nodes: int = NODES, positions: int = SEARCHED) -> None:
    """Search so many positions of the bench, a fixed number of nodes each."""
    searcher.clear()
    for fen in POSITIONS[:positions]:
        searcher.search(Position(fen), Limits(nodes=nodes))


if __name__ == "__main__":
    main()
