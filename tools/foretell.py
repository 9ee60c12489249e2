"""Which figure foretells Elo? `python -m tools.foretell FILE.toml --state FOLDER [--source NAME=FILE ...]`.

FILE names ways to learn as for `merino recipes`, and the games to measure figures on, under `tests`. Each way learns
and plays its match against the start, as `merino recipes` has it: everything is kept in FOLDER, and the same command
goes on there. Then it prints the figures of each beside its Elo, and how they correlate with it, also by their order
(Spearman). Matches of 300 nodes a move and 1,000 games take half a minute each; 25 ways say something.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from merino.core.common.errors import MerinoError
from merino.core.common.progress import LivePrinter
from merino.eval.families import load_net
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.weights import load_any
from merino.lab.article.command import read_comparison, source
from merino.lab.article.recipe_matches import ComparisonStoppedError
from merino.lab.article.recipes import Comparing, Comparison, Recipe, RecipeResult
from merino.learn.positions import one_of_each_game
from merino.learn.ranking import Moves, moves_of, rank_figure
from merino.learn.reading import MAX_PLIES
from merino.learn.request import DEFAULT_TEACHER, Events
from merino.match.statistics import estimate

ELO, ERROR, RANK, FIRST = "Elo", "error", "1 / rank", "first"
FIGURES = (ERROR, RANK, FIRST)


def figures_of(found: RecipeResult, weights: Path, moves: Moves) -> dict[str, float]:
    """The figures of a way that has played: its error against the results of the tests, and how it ranks moves."""
    assert found.tally is not None and found.errors is not None
    terms, values = load_any(weights)
    ranks = rank_figure(moves, LinearEvaluation(values, terms=terms))
    error = float(np.mean(list(found.errors.values())))
    return {ELO: estimate(found.tally.counts).elo, ERROR: error, RANK: ranks.reciprocal_rank, FIRST: ranks.first}


def correlations(rows: Sequence[dict[str, float]]) -> dict[str, tuple[float, float]]:
    """How each figure correlates with Elo over these ways, at least two: by its values, and by their order."""
    elo = np.array([row[ELO] for row in rows])
    values = {name: np.array([row[name] for row in rows]) for name in FIGURES}
    return {name: (_correlation(each, elo), _correlation(_order(each), _order(elo))) for name, each in values.items()}


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """NaN where one of them is the same everywhere, or infinite, as Elo is after games that were all won."""
    if not (np.isfinite([one, other]).all() and np.ptp(one) and np.ptp(other)):
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _order(values: np.ndarray) -> np.ndarray:
    """The places of the values in their order; equal ones share the mean of theirs."""
    below, same = (values[:, None] > values).sum(axis=1), (values[:, None] == values).sum(axis=1)
    return np.asarray(below + (same - 1) / 2)


def moves_of_tests(comparison: Comparison, folder: Path, most: int) -> Moves:
    """The moves to rank, in at most so many positions of the test games."""
    sources = {name: comparison.sources[name] for name in comparison.tests}
    paths = [file if isinstance(file, Path) else folder / f"{name}.pgn" for name, file in sources.items()]
    return moves_of(one_of_each_game(paths, 0, MAX_PLIES)[:most], load_net(DEFAULT_TEACHER))


def measure(comparison: Comparison, folder: Path, positions: int, events: Events) -> dict[str, dict[str, float]]:
    """The figures of each way by its name, after learning and matches that are still to be done; raises MerinoError."""
    ways = {way.name: way for way in comparison.recipes}
    found = Comparing(comparison, folder, events).outcomes()
    played = [each for each in found if each.tally is not None and each.tally.games]
    moves = moves_of_tests(comparison, folder, positions)
    return {each.name: figures_of(each, _weights(ways[each.name], folder), moves) for each in played}


def _weights(way: Recipe, folder: Path) -> Path:
    return way.weights or folder / f"{way.name}.txt"


def table(rows: dict[str, dict[str, float]]) -> list[str]:
    """The figures as a table in Markdown, the weakest first, and their correlations with Elo."""
    lines = [f"| Way | {ELO} | {' | '.join(FIGURES)} |", f"| --- | {' | '.join(['---:'] * (len(FIGURES) + 1))} |"]
    for name, row in sorted(rows.items(), key=lambda item: item[1][ELO]):
        figures = " | ".join(f"{row[each]:.4f}" for each in FIGURES)
        lines.append(f"| {name} | {row[ELO]:+.0f} | {figures} |")
    if len(rows) > 1:
        found = correlations(list(rows.values())).items()
        lines += ["", "| Figure | Correlation with Elo | of the order |", "| --- | ---: | ---: |"]
        lines += [f"| {name} | {by_value:+.2f} | {by_order:+.2f} |" for name, (by_value, by_order) in found]
    return lines


def main(words: Sequence[str]) -> int:
    """The command: 0, or 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tools.foretell", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--state", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--source", type=source, action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--positions", type=int, default=1000, metavar="N", help="positions to rank moves in")
    args = parser.parse_args(words)
    try:
        with LivePrinter() as show:
            comparison = read_comparison(args.file, dict(args.source))
            if not comparison.tests:
                parser.error("FILE names no games under 'tests', on which figures could be measured")
            rows = measure(comparison, args.state, args.positions, Events(print, match_state=show))
    except (ComparisonStoppedError, KeyboardInterrupt):
        print(f"Stopped; the same command goes on in '{args.state}'.", file=sys.stderr)
        return 130
    except MerinoError as error:
        print(f"foretell: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
