"""What a cluster of 1, 10, 100 and 1,000 workers does by measured costs: `python -m benchmarks.cluster_scale`.

A model of a few numbers, all of them measured (`--measure` does it anew, on two processes of this machine, and prints
them): what a worker does in a second, what a piece of work costs the scheduler and the client, and how many
bytes it takes. Workers are of one core, games of 1,000 nodes a move. The tables stand in docs/lab/clusters.md, where
`tools/doc_tables.py` puts them, too.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.markdown import markdown_table
from merino.core.common.timing import cpu_seconds
from merino.core.common.work import ordered
from merino.eval.linear.weights import defaults
from merino.formats.pgn_games import read_games
from merino.lab.cluster.address import ClusterAddress, Needs
from merino.lab.cluster.connection import ClusterSession, session
from merino.learn.inputs import split
from merino.learn.loss_and_gradient import Detail, gather
from merino.learn.positions import Selection, block_of_games
from merino.learn.rows import rows_of_block
from merino.learn.sample import FitParameters
from merino.learn.settings import Settings
from merino.match.config import MatchConfig
from merino.match.games import Game, Tally
from merino.match.pgn import write_game
from merino.match.players import OwnPlayer
from merino.match.runner import BLOCK_SECONDS, MAX_PAIRS, play_match
from merino.match.time_control import TimeControl

ROOT = Path(__file__).resolve().parent.parent
WORKERS = (1, 10, 100, 1000)
NETWORK = 125e6  # bytes a second that the client's network takes, 1 Gbit/s
SUMS = 28 * 28 * 8  # bytes of the sums of a share of rows: 27 x 27 and 27, and the losses
SHARES = 256
ROWS_OF_A_GAME = 60
PIECES, GAMES = 2000, 60


@dataclass(frozen=True)
class Costs:
    """What was measured: seconds, and bytes."""

    game: float  # of a worker
    block: float  # of the client and the scheduler together, for a block there and back
    counting: float  # of the client, for a game: unpacking it, the tally
    writing: float  # of the client, for a game that goes into a PGN file
    game_bytes: float  # as it comes back
    row: float  # of a worker, for a row in a pass
    bundle: float  # of the client and the scheduler, for a bundle in a pass


MEASURED = Costs(game=0.118, block=0.0038, counting=0.0003, writing=0.0057, game_bytes=3008, row=4.24e-7, bundle=0.0043)


def match_row(costs: Costs, workers: int, with_pgn: bool) -> tuple[str, ...]:
    """Games and bytes a second of a match, and what is the bottleneck."""
    pairs = max(1, min(MAX_PAIRS, round(BLOCK_SECONDS / (2 * costs.game))))
    by_workers = workers / costs.game
    by_client = 1 / (costs.counting + costs.writing * with_pgn + costs.block / (2 * pairs))
    by_network = NETWORK / costs.game_bytes
    rate, name = min((by_workers, "workers"), (by_client, "client and scheduler"), (by_network, "network"))
    return f"{workers:,}", f"{rate:,.0f}", _bytes(rate * costs.game_bytes), f"{rate / by_workers:.0%}", name


def pass_row(costs: Costs, workers: int, games: int) -> tuple[str, ...]:
    """Seconds of a pass over so many games, and what is the bottleneck."""
    busy = min(workers, SHARES)
    by_workers = games * ROWS_OF_A_GAME * costs.row / busy
    by_client = busy * costs.bundle
    by_network = SHARES * SUMS / NETWORK
    total = by_workers + by_client + by_network
    _, name = max((by_workers, "workers"), (by_client, "client and scheduler"), (by_network, "network"))
    alone = games * ROWS_OF_A_GAME * costs.row
    return f"{workers:,}", f"{total:.2f} s", _bytes(SHARES * SUMS / total), f"{alone / total:.0f} times", name


def _bytes(rate: float) -> str:
    return f"{rate / 1e6:,.2f} MB/s" if rate < 1e7 else f"{rate / 1e6:,.0f} MB/s"


def measured() -> Costs:
    """The costs on this machine."""
    player = OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(nodes=1000))
    games = list(play_match(config, GAMES, 1))
    game = cpu_seconds(lambda: list(play_match(config, GAMES, 1))) / GAMES
    size = len(pickle.dumps(tuple(games))) / GAMES
    with session(ClusterAddress(processes=2), Needs(("match",)), print) as found:
        block, bundle = _of_pieces(found, _nothing, PIECES), _of_pieces(found, _sums, PIECES // 4)
    return Costs(game, block, *_of_counting(games), size, _of_a_row(), bundle)


def _of_pieces(found: ClusterSession, work: Callable[[int], object], count: int) -> float:
    """Processor time of this process, in which both scheduler and client run, for a piece of work."""
    list(ordered(found.executor, work, iter(range(count // 10)), 64))
    return cpu_seconds(lambda: list(ordered(found.executor, work, iter(range(count)), 64))) / count


def _nothing(number: int) -> int:
    return number


def _sums(number: int) -> bytes:
    """What comes back of a bundle of four shares."""
    return pickle.dumps([(np.full(9, number), np.full((28, 28), number)) for _ in range(4)])


def _of_counting(games: list[Game]) -> tuple[float, float]:
    """Unpacking and counting a game, and writing it as PGN."""
    content, tally = pickle.dumps(tuple(games)), Tally()

    def count() -> None:
        for game in pickle.loads(content):
            tally.add(game)

    def write() -> None:
        for game in games:
            write_game(game, ("one", "other"), "match", date(2000, 1, 1))

    return cpu_seconds(count) / len(games), cpu_seconds(write) / len(games)


def _of_a_row() -> float:
    rows = rows_of_block(block_of_games(read_games((ROOT / "games" / "selfplay.pgn").read_bytes()), Selection()))
    sample, point = split(rows, Settings()), FitParameters(defaults(), 1 / 200)
    gather(sample, point, detail=Detail.PRODUCTS)
    return cpu_seconds(lambda: [gather(sample, point, detail=Detail.PRODUCTS) for _ in range(20)]) / 20 / sample.size


def games_table(with_pgn: bool) -> str:
    """Games a second by number of workers, as Markdown."""
    head = ("Workers", "Games/s" + " with `--pgn`" * with_pgn, "Traffic", "Of the ideal", "First bottleneck")
    rows = [match_row(MEASURED, workers, with_pgn) for workers in WORKERS]
    return markdown_table(head, rows, right_aligned=range(len(head) - 1))


def passes_table() -> str:
    """Seconds of a pass over a million games by number of workers, as Markdown."""
    head = ("Workers", "A pass over a million games", "Traffic", "Speed-up", "First bottleneck")
    rows = [pass_row(MEASURED, workers, 1_000_000) for workers in WORKERS]
    return markdown_table(head, rows, right_aligned=range(len(head) - 1))


def main() -> None:
    """Print the tables, or measure the costs anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--measure", action="store_true")
    if parser.parse_args().measure:
        print(measured())
        return
    print(games_table(with_pgn=False), games_table(with_pgn=True), passes_table(), sep="\n\n")


if __name__ == "__main__":
    main()
