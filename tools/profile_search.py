"""Profile the search: the time per node of the bench, sampled, by step of the search and by function.

A timer interrupts the search every few milliseconds of its CPU time and notes where it is, in the code that is played
with. What LLVM has inlined counts for the function around it. Needs Linux on x86-64 and nm of the GNU binutils.

    python tools/profile_search.py [--rounds 40] [--functions 40] [--evalfile gen12]
"""

from __future__ import annotations

import argparse
import ctypes
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.codegen import CodeLibrary
from numba.extending import intrinsic

PERIOD = 0.001  # seconds of CPU time between samples, where the system is that fine
MAX_SAMPLES = 1 << 20
INSTRUCTION_POINTER = 40 + 16 * 8  # where it is in the ucontext_t of Linux on x86-64
STEPS = {  # the first pattern that fits a function, with its module, decides
    r"board\.movegen\.": "move generation",
    r"makemove\.|look_at_king|tree\.make_": "making moves",
    r"search\.see\.|attackers_to": "static exchange evaluation",
    r"move_picker\.|threats\.|(quiet|noisy)_history|check_squares": "scoring and picking moves",
    r"search\.history\.": "updating histories",
    r"correction_history\.": "static evaluation: correction history, rule of fifty moves",
    r"\beval\.|static_eval\.|in_turn": "evaluation",
    r"transposition\.": "transposition table",
    r"search\.tree\.": "nodes, draws, principal variation",
    r"search\.(pruning|reductions)\.": "pruning and reductions",
    r"search\.": "alpha-beta and quiescence",
}


def keep_objects() -> None:
    """Let numba keep the object code of what it loads or compiles, as `kept_object` of its library."""
    take = CodeLibrary._set_compiled_object

    def keep_and_take(self: Any, code: bytes) -> None:
        self.kept_object = code
        take(self, code)

    CodeLibrary._set_compiled_object = keep_and_take


keep_objects()

from merino.core.board.game import Position  # noqa: E402
from merino.core.compiled.jit import ENTRIES  # noqa: E402
from merino.engine.search.bench import DEPTH, HASH_MB, POSITIONS  # noqa: E402
from merino.engine.search.limits import Limits  # noqa: E402
from merino.engine.search.searcher import Searcher  # noqa: E402
from merino.eval.evaluation import Evaluation  # noqa: E402
from merino.eval.families import load_evaluation  # noqa: E402


@intrinsic
def _word(typing: Any, address: Any) -> Any:
    """The uint64 at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.uint64(types.uint64), generate


@intrinsic
def _set_word(typing: Any, address: Any, word: Any) -> Any:
    """Write the uint64 `word` at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


class Sampler:
    """Notes where this process is, every PERIOD of its CPU time."""

    def __init__(self) -> None:
        self._samples = np.zeros(MAX_SAMPLES + 1, dtype=np.uint64)  # how many, and the instruction pointers
        start, eight, most = np.uint64(self._samples.ctypes.data), np.uint64(8), np.uint64(MAX_SAMPLES)
        one, offset = np.uint64(1), np.uint64(INSTRUCTION_POINTER)

        def note(number, info, context):
            count = _word(start)
            if count < most:
                _set_word(start + eight * (count + one), _word(context + offset))
                _set_word(start, count + one)

        self._handler = numba.cfunc(types.void(types.int32, types.uint64, types.uint64))(note)

    def __enter__(self) -> Sampler:
        class Action(ctypes.Structure):
            _fields_ = (
                ("handler", ctypes.c_void_p),
                ("mask", ctypes.c_ulong * 16),
                ("flags", ctypes.c_int),
                ("restorer", ctypes.c_void_p),
            )

        action = Action(handler=self._handler.address, flags=0x4 | 0x10000000)  # SA_SIGINFO, SA_RESTART
        if ctypes.CDLL(None).sigaction(signal.SIGPROF, ctypes.byref(action), None) != 0:
            raise OSError("the system takes no handler for SIGPROF")
        signal.setitimer(signal.ITIMER_PROF, PERIOD, PERIOD)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    @property
    def addresses(self) -> Counter[int]:
        """How often each instruction was come upon."""
        return Counter(self._samples[1 : int(self._samples[0]) + 1].tolist())


def run_bench(evaluation: Evaluation, rounds: int, sampler: Sampler) -> tuple[int, float]:
    """Search the positions of the bench so often under the sampler; nodes, and seconds of CPU time."""
    searcher = Searcher(hash_mb=HASH_MB, evaluation=evaluation)
    searcher.search(Position(), Limits(depth=2))
    nodes, seconds = 0, 0.0
    for _ in range(rounds):
        for fen in POSITIONS:
            searcher.clear()
            began = time.process_time()
            with sampler:
                result = searcher.search(Position(fen), Limits(depth=DEPTH))
            seconds += time.process_time() - began
            nodes += result.line.nodes if result.line else 0
    return nodes, seconds


def functions_in(compiled: Any, addresses: Counter[int]) -> Counter[str]:
    """How often the functions of a compiled entry's program were come upon, by module and name."""
    library = compiled.library
    code = getattr(library, "kept_object", None) or library._get_compiled_object()  # numba drops what it has loaded
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code)
        file.flush()
        symbols = subprocess.run(["nm", "-S", file.name], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in symbols.splitlines()]
    places = [words for words in lines if len(words) == 4 and words[2] in "tTwW"]
    name = compiled.fndesc.llvm_func_name
    base = library.get_pointer_to_function(name) - next(int(each[0], 16) for each in places if each[3] == name)
    found = Counter[str]()
    for start, size, _, symbol in places:
        first = base + int(start, 16)
        last = first + int(size, 16)
        found[plain_name(symbol)] += sum(count for address, count in addresses.items() if first <= address < last)
    return found


def plain_name(symbol: str) -> str:
    """`module.function` of the name that numba gives compiled code: each part after its length."""
    parts, rest = [], symbol.removeprefix("_ZN")
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found[0])
        parts.append(rest[found.end() : end])
        rest = rest[end:]
    return ".".join(parts) or symbol


def main() -> int:
    """Print nanoseconds a node by step and by function."""
    parser = argparse.ArgumentParser(
        prog="profile_search.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40, help="how often the bench is searched (default 40)")
    parser.add_argument("--functions", type=int, default=40, help="how many functions are listed (default 40)")
    parser.add_argument("--evalfile", default="default", help="weights or a net (default: the default weights)")
    options = parser.parse_args()
    evaluation, sampler = load_evaluation(options.evalfile), Sampler()
    nodes, seconds = run_bench(evaluation, options.rounds, sampler)
    addresses = sampler.addresses
    programs = [compiled for entry in ENTRIES for compiled in entry.overloads.values()]
    functions = sum((functions_in(program, addresses) for program in programs), Counter[str]())
    functions["outside the compiled search"] = sum(addresses.values()) - sum(functions.values())
    steps = Counter[str]()
    for name, count in functions.items():
        steps[step_of(name)] += count
    nanoseconds = 1e9 * seconds / nodes / sum(addresses.values())
    print(f"{nodes} nodes, {1e9 * seconds / nodes:.0f} ns each, {sum(addresses.values())} samples")
    for title, table in (("step", steps), ("function", functions)):
        print(f"\n{'ns a node':>10}  {'share':>6}  {title}")
        for name, count in table.most_common(options.functions):
            print(f"{count * nanoseconds:10.1f}  {count / sum(addresses.values()):6.1%}  {name}")
    return 0


def step_of(name: str) -> str:
    """The step of the search that a function belongs to."""
    return next((step for pattern, step in STEPS.items() if re.search(pattern, name)), name)


if __name__ == "__main__":
    sys.exit(main())
