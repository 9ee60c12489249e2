"""What all benchmarks share besides `core.common.timing`: the CPU time of child processes, and a row of a report."""

import os
from collections.abc import Callable


def children_cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time of the child processes that `work` starts and waits for; 0 on Windows, which does not tell."""
    before = os.times()
    work()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def line(what: str, value: float, unit: str, remark: str = "") -> None:
    """Print one row of a report."""
    print(f"  {what:<44} {value:>10.2f} {unit:<9} {remark}".rstrip(), flush=True)
