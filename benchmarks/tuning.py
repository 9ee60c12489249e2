"""The tuner: pairs a second that the simulation plays with each method, and what the paper's whole table takes."""

from functools import partial

from benchmarks.clock import line
from merino.core.common.timing import cpu_seconds, medians_in_turns
from merino.lab.tune import paper
from merino.lab.tune.curves import SETTINGS
from merino.lab.tune.simulator import CONTENDERS, DEFAULT_CONTENDERS, Contender, simulate

PAIRS, SHOWN, ROUNDS = 10_000, 16, 5  # SHOWN parameters, for which the speed of each method is printed


def report() -> None:
    """Print millions of simulated pairs a second for each method, and the minutes of `merino spsa simulate`."""
    print(f"tuning in the simulator, one core; CPU time, medians of {ROUNDS} rounds in turns")
    _simulate(CONTENDERS["spsa"], 1)  # compiled before the clock runs; the methods share their code
    cells = [(name, size) for name in DEFAULT_CONTENDERS for size in paper.SIZES]
    works = [partial(_simulate, CONTENDERS[name], size) for name, size in cells]
    seconds = dict(zip(cells, medians_in_turns([partial(cpu_seconds, work) for work in works], ROUNDS), strict=True))
    for name in DEFAULT_CONTENDERS:
        line(f"{name}, {SHOWN} parameters", PAIRS / seconds[name, SHOWN] / 1e6, "M pairs/s")
    share = PAIRS / (paper.PAIRS * paper.RUNS)
    line("merino spsa simulate, the whole table", sum(seconds.values()) / share / 60, "minutes", "from 1/1000 of it")


def _simulate(contender: Contender, size: int) -> None:
    simulate(contender, SETTINGS[paper.SETTING], size, PAIRS, runs=1, seed=1, at_a_time=1)
