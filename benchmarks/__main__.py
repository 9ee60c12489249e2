"""`python -m benchmarks [SECTION ...]`: print the measurements asked for, or all of them.

CPU time where nothing waits, as medians of rounds in turns, so that a busy minute hits all works of a section alike.
"""

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import chess.pgn
import numpy as np

from merino.core.board.fen import START_FEN, parse_fen
from merino.core.board.game import Position
from merino.core.board.perft import perft
from merino.core.board.position import POSITION
from merino.engine.search.bench import POSITIONS
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.eval.families import load_evaluation
from merino.eval.linear.compiled import features_of, scores_of
from merino.eval.linear.registry import TERMS
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import DEFAULT_FILE, SHIPPED, load
from merino.eval.net.network import Shape
from merino.formats.packed import pack
from merino.formats.pgn_games import read_games
from merino.lab.nets.feature_costs import BASE, cpu_seconds, medians_in_turns, update_costs
from merino.lab.nets.training import Trainer, TrainingSettings
from merino.lab.points.games import vectors_of_games
from merino.lab.points.values import point_values
from merino.lab.tune.methods import METHODS
from merino.lab.tune.simulator import SETTINGS, simulate
from merino.learn.judging import learn
from merino.learn.positions import block_of_games, rows_of_block
from merino.learn.request import Settings
from merino.learn.sample import split
from merino.match.config import MatchConfig, TimeControl
from merino.match.players import OwnPlayer
from merino.match.runner import play_match
from tests.uci_process import UciProcess
from tools.feature_sets import SETS, think

OWN_GAMES = Path(__file__).resolve().parent.parent / "games" / "selfplay.pgn"
ROUNDS = 5
EVALUATIONS = ("default", "full", "gen12", "gen13")


def line(what: str, value: float, unit: str, remark: str = "") -> None:
    """Print one row of a report."""
    print(f"  {what:<44} {value:>10.2f} {unit:<9} {remark}".rstrip(), flush=True)


class Work(NamedTuple):
    """What is measured, shown as `amount` of a unit each second if the unit ends in "/s", else as units for each."""

    what: str
    run: Callable[[], object]
    amount: float = 1.0
    unit: str = "s"


def measure(title: str, works: Sequence[Work], rounds: int = ROUNDS) -> list[float]:
    """Print a row for each work; the CPU seconds of each.

    They are medians of rounds in turns, after one that is not counted and compiles.
    """
    print(f"{title}; CPU time, medians of {rounds} rounds in turns")
    for work in works:
        work.run()
    found = medians_in_turns([partial(cpu_seconds, work.run) for work in works], rounds)
    for work, seconds in zip(works, found, strict=True):
        is_speed = work.unit.endswith("/s")
        line(work.what, work.amount / seconds if is_speed else seconds / work.amount, work.unit)
    return found


def random_games(plies: int) -> Iterator[Position]:
    """Games of random moves, of at most so many plies, after each move; the same ones each time."""
    draw = random.Random(2015)
    while True:
        game = Position()
        while len(game.moves) < plies and game.outcome() is None:
            game.push(draw.choice(game.legal_moves))
            yield game


def random_positions(count: int) -> np.ndarray:
    """POSITION[count] from games of random moves, every fourth position taken."""
    fourth = (game.record[0].copy() for game in random_games(1000) if len(game.moves) % 4 == 0)
    return np.array(list(islice(fourth, count)), dtype=POSITION)


def random_pgn(count: int, plies: int = 86) -> str:
    """PGN of `count` games of random moves, as long as the games of masters are on average."""
    ended = (game for game in random_games(plies) if len(game.moves) == plies or game.outcome())
    return "".join(f"{chess.pgn.Game.from_board(game.to_chess())}\n\n" for game in islice(ended, count))


def move_generation(depth: int = 6, leaves: int = 119_060_324) -> None:
    """Perft of the start position, next to Stockfish's where it is installed."""
    stockfish = shutil.which("stockfish", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"]))

    def count(bulk: bool) -> None:
        if perft(parse_fen(START_FEN), depth, bulk) != leaves:
            raise RuntimeError(f"perft {depth} is not {leaves}")

    def theirs(commands: str) -> float:
        before = os.times()
        subprocess.run([stockfish or ""], input=f"{commands}\nquit\n", capture_output=True, text=True, check=True)
        return os.times().children_user - before.children_user

    works = [
        Work("Merino, last ply counted", partial(count, True), leaves / 1e6, "M/s"),
        Work("Merino, every move played", partial(count, False), leaves / 1e6, "M/s"),
    ]
    counted, _ = measure(f"perft {depth} from the start position, {leaves:,} leaves", works)
    if stockfish is None:
        print("  (no stockfish on this machine to compare with)")
        return
    theirs_of = [partial(theirs, f"position startpos\ngo perft {depth}"), partial(theirs, "isready")]
    whole, start_up = medians_in_turns(theirs_of, ROUNDS)
    line("Stockfish, start-up taken off", leaves / (whole - start_up) / 1e6, "M/s")
    line("ratio, more than 1 if Merino is faster", (whole - start_up) / counted, "")


def evaluation(count: int = 4096, repeats: int = 20) -> None:
    """The cost of one evaluation, and of one row of features, over positions from random games."""
    positions, weights, total = random_positions(count), load(DEFAULT_FILE), repeats * count / 1e9
    works = [
        Work("score", lambda: [scores_of(positions, weights) for _ in range(repeats)], total, "ns"),
        Work("features (a row for the learner)", lambda: [features_of(positions) for _ in range(repeats)], total, "ns"),
    ]
    measure(f"evaluation of {count} positions from random games", works)


def search(nodes: int = 100_000, movetime: int = 3000) -> None:
    """Nodes per second by evaluation and by threads, and the bench that commits name."""
    size, works = len(POSITIONS), list[Work]()
    for name in EVALUATIONS:
        run = partial(think, Searcher(64, 1, load_evaluation(name)), nodes, size)
        works.append(Work(name, run, nodes * size / 1e6, "M/s"))
    measure(f"search, {nodes:,} nodes for each position of the bench", works)
    speeds = []
    for threads in (1, 2):
        searcher, cpu = Searcher(64, threads, load_evaluation(EVALUATIONS[0])), time.process_time()
        found = searcher.search(Position(), Limits(movetime=movetime)).line
        speeds.append(found.nodes / (time.process_time() - cpu) if found else 0.0)
    line("two threads over one, on two idle cores", 2 * speeds[1] / speeds[0], "", "by CPU time")
    subprocess.run([sys.executable, "-m", "merino", "bench"], check=True)


def reading(games: int = 300, repeats: int = 20) -> None:
    """Games a second of Merino's reader and of python-chess, on one text of random games."""
    text = random_pgn(games)
    data = text.encode()

    def theirs() -> None:
        file = io.StringIO(text)
        while chess.pgn.read_game(file) is not None:
            pass

    def ours() -> None:
        for _ in range(repeats):
            read_games(data, threads=1)

    works = [Work("Merino, one core", ours, games * repeats, "games/s"), Work("python-chess", theirs, games, "games/s")]
    merino, others = measure(f"reading {games} random games", works)
    line("times as fast", others * repeats / merino, "")


def fitting() -> None:
    """The fit of the terms, and of both phases of the set `full` with its intervals, to our own games many times."""
    for name, terms, start, copies in (
        ("terms", TERMS, "greko2015-before-training.txt", 24),
        ("full, two phases", set_named("full"), "full.txt", 4),
    ):
        rows = rows_of_block(block_of_games(read_games(OWN_GAMES.read_bytes() * copies)), terms)
        settings = Settings() if terms is TERMS else Settings(first=1, phases=2, decay=None).of_set(terms)
        fit = partial(learn, split(rows, settings), load(SHIPPED / start, terms), settings, terms)
        measure(f"a fit to {len(rows) / 1e6:.1f} million positions", [Work(name, fit)], rounds=1)


def matches(games: int = 80, nodes: int = 1000) -> None:
    """Games per second of a match."""
    print(f"matches of {games} games at {nodes:,} nodes a move, every game to its end by the rules")
    player = OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(nodes))
    list(play_match(config, 2, 1))  # compiled before the clock runs
    for threads in (1, 2):
        wall, cpu = time.perf_counter(), time.process_time()
        list(play_match(config, games, threads))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        line(f"{threads} threads", games / wall, "games/s", f"by CPU time {threads * games / cpu:.2f} on idle cores")


def points(copies: int = 30) -> None:
    """The point values of many games, from the text to the intervals."""
    text = OWN_GAMES.read_bytes() * copies
    games = read_games(text)
    vectors, _ = vectors_of_games(games)
    works = [
        Work("reading", lambda: read_games(text)),
        Work("vectors", lambda: vectors_of_games(games)),
        Work("fit and intervals", lambda: point_values("", vectors)),
    ]
    measure(f"points of {vectors.games} games, {len(vectors)} vectors", works)


def tuning(pairs: int = 10_000, size: int = 16) -> None:
    """Millions of simulated pairs a second for each method."""
    play = partial(simulate, pairs=pairs, runs=1, seed=1, at_a_time=1)
    of = {name: partial(play, method, SETTINGS["S0"], size) for name, method in METHODS.items()}
    works = [Work(name, run, pairs / 1e6, "M pairs/s") for name, run in of.items()]
    measure(f"tuning {size} parameters in the simulator, one core", works)


def nets(hidden: int = 64, positions: int = 262_144, epochs: int = 4) -> None:
    """The cost of a score in a search, updated from the move before, and how fast a net is trained."""
    print("nets: update and output along moves; CPU time")
    shapes = [*(Shape(BASE, width) for width in (64, 128, 256, 512)), Shape(BASE, 256, outputs=8), Shape(BASE, 256, 16)]
    for shape, cost in zip(shapes, update_costs(shapes), strict=True):
        line(str(shape), cost, "ns")
    names = [BASE, *(name for name in SETS if name != BASE), "KING*ALL"]
    costs = update_costs([Shape(name, hidden) for name in names])
    for name, cost in zip(names, costs, strict=True):
        line(f"{name}, {hidden} neurons", cost, "ns", f"{cost / costs[0]:.2f} times {BASE}")
    draw = np.random.default_rng(1)
    scores, results = draw.integers(-500, 500, positions), draw.integers(0, 3, positions)
    sample = pack(np.resize(random_positions(4096), positions), scores, results, np.arange(positions))
    train = partial(Trainer(sample, TrainingSettings(epochs=epochs)).run)
    Trainer(sample[:4096], TrainingSettings(epochs=1)).run()  # compiled before the clock runs
    line("training, by CPU time of one core", epochs * positions / cpu_seconds(train) / 1e6, "M/s")


def uci(rounds: int = 50) -> None:
    """How long a GUI waits: from the start to `uciok` and `readyok`, in a search, and for a move."""
    print(f"UCI over a pipe; wall clock, medians of {rounds}")
    waits = defaultdict[str, list[float]](list)
    for _ in range(rounds):
        with UciProcess() as engine:
            engine.send("uci", "isready")
            for answer in ("uciok", "readyok"):
                waits[f"start to {answer}"].append(engine.read_until(answer)[-1].at - engine.started)
    with UciProcess() as engine:
        engine.ask("uci", "isready", until="readyok")

        for _ in range(rounds):
            engine.send("go infinite")
            time.sleep(0.05)  # of search, before it is asked for something
            waits["isready in a search"].append(engine.seconds("isready", until="readyok"))
            waits["stop to bestmove"].append(engine.seconds("stop", until="bestmove"))
            go = "go depth 1 wtime 10000 btime 10000 winc 100 binc 100"
            waits["a move without its search"].append(engine.seconds(go, until="bestmove"))
    for what, seconds in waits.items():
        line(what, 1000 * median(seconds), "ms", f"worst {1000 * max(seconds):.1f}")


SECTIONS = {
    "perft": move_generation,
    "eval": evaluation,
    "search": search,
    "read": reading,
    "fit": fitting,
    "match": matches,
    "points": points,
    "tune": tuning,
    "nets": nets,
    "uci": uci,
}


def main() -> None:
    """Run the sections named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Merino's speed.")
    parser.add_argument("section", nargs="*", help=f"what to measure: {', '.join(SECTIONS)} (all of them)")
    sections = parser.parse_args().section or list(SECTIONS)
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"no section is called {', '.join(unknown)}")
    for name in sections:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
