"""The tuner: pairs a second that the simulation plays with each method, which is what its rules cost."""

from functools import partial

from benchmarks.clock import cpu_seconds, line, medians_in_turns
from tune.simulator import CONTENDERS, SETTINGS, Contender, simulate

PAIRS, SIZE, ROUNDS = 20_000, 16, 5


def report() -> None:
    """Print millions of simulated pairs a second for each method."""
    print(f"tuning {SIZE} parameters in the simulator, one core; CPU time, medians of {ROUNDS} rounds in turns")
    _simulate(CONTENDERS["spsa"])  # compiled before the clock runs; the methods share their code
    seconds = medians_in_turns([partial(cpu_seconds, partial(_simulate, each)) for each in CONTENDERS.values()], ROUNDS)
    for name, each in zip(CONTENDERS, seconds, strict=True):
        line(name, 2 * PAIRS / each / 1e6, "M pairs/s")


def _simulate(contender: Contender) -> None:
    simulate(contender, SETTINGS["S0"], SIZE, PAIRS, runs=2, seed=1, at_a_time=1)
