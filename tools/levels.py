"""What the tools share that measure levels of strength: whose levels, how they choose, and the error of a mean."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence

import numpy as np

from merino.engine.search.chooser import Chooser
from merino.engine.search.parameters import parameters_for
from merino.engine.search.strength import LADDERS, NETS, TERMS
from merino.eval.evaluation import Evaluation
from merino.eval.families import default, load_net
from merino.match.statistics import Z_95

NET = "gen12"  # whose levels are measured for all nets


def evaluation_of(net: str) -> Evaluation:
    """The net of this name, or for none the terms that come with Merino."""
    return load_net(net) if net else default()


def chooser_of(net: str, stop_flag: np.ndarray | None = None) -> Chooser:
    """Chooses as levels with this net do, or for none with the terms; `stop_flag` as of Chooser."""
    evaluation = evaluation_of(net)
    stop = np.zeros(1, dtype=np.uint64) if stop_flag is None else stop_flag
    return Chooser(evaluation, parameters_for(evaluation), stop)


def add_levels(parser: argparse.ArgumentParser) -> None:
    """Add the options that `levels_of` reads."""
    parser.add_argument("--kind", choices=(TERMS, NETS), default=TERMS, help="whose levels (terms)")
    parser.add_argument("--levels", nargs="*", type=int, help="the Elos of the levels (all rungs)")


def levels_of(args: argparse.Namespace) -> tuple[Chooser, list[int]]:
    """What chooses, and the Elos of the levels that were asked for."""
    rungs = [rung.elo for rung in LADDERS[args.kind].rungs]
    return chooser_of(NET if args.kind == NETS else ""), rungs if args.levels is None else args.levels


def error_of_mean(values: Sequence[float]) -> float:
    """The half-width of the 95% interval of the mean of two values or more."""
    return Z_95 * statistics.stdev(values) / math.sqrt(len(values))
