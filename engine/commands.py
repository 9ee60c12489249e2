"""What the commands of `merino` do that need numba. Each takes the arguments after its name; returns the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from engine.bench import run_bench
from engine.command import CommandError, UsageError
from engine.divide import print_divide
from engine.fen import START_FEN, FenError, parse_fen
from engine.game import Position
from engine.jit import CACHE
from engine.perft import MAX_DEPTH
from engine.position import POSITION
from engine.warmup import parts
from eval.evaluate import scores_of
from eval.table import render_terms
from eval.weights import WeightsError, active_file, load

_BATCH = 4096  # positions evaluated in one call


def perft(arguments: list[str]) -> int:
    """Print the divide of a position, the starting position if none is given."""
    _expect(arguments, 1, 7, "perft N [FEN]")
    depth, *fields = arguments
    if not depth.isdecimal() or not 1 <= int(depth[:9]) <= MAX_DEPTH:
        raise UsageError(f"perft: the depth is a number from 1 to {MAX_DEPTH}, not '{depth[:40]}'")
    try:
        position = Position(" ".join(fields) or START_FEN)
    except FenError as error:
        raise CommandError(f"perft: {error}") from error
    print_divide(position, int(depth), print)
    return 0


def evaluate(arguments: list[str]) -> int:
    """Print `centipawns<tab>FEN` for every position of a file; faulty lines are named, the others still printed."""
    usage = "evaluate FILE [--weights W]"
    weights = _load_weights(_take_option(arguments, "--weights", usage))[1]
    _expect(arguments, 1, 1, usage)
    name = arguments[0]
    number_of_faults = 0
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            for fens, positions, faults in _batches(file):
                scores = scores_of(positions, weights).tolist()
                sys.stdout.write("".join(f"{score}\t{fen}\n" for score, fen in zip(scores, fens, strict=True)))
                for number, fault in faults:
                    print(f"{name}:{number}: {fault}", file=sys.stderr)
                number_of_faults += len(faults)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise CommandError(f"cannot read '{name}': {error.strerror}") from error
    return 1 if number_of_faults else 0


def bench(arguments: list[str]) -> int:
    """Search the fixed positions."""
    _expect(arguments, 0, 0, "bench")
    run_bench(print)
    return 0


def weights(arguments: list[str]) -> int:
    """Print which weights file is in use, or how the one given reads, and the table of terms."""
    _expect(arguments, 0, 1, "weights [FILE]")
    file, values = _load_weights(*arguments)
    print(f"{file}\n\n{render_terms(values)}")
    return 0


def warmup(arguments: list[str]) -> int:
    """Compile every part of Merino into the cache, or only those named, and print the seconds each took."""
    known = parts()
    unknown = [name for name in arguments if name not in known]
    if unknown:
        raise UsageError(f"warmup: there is no part '{unknown[0][:40]}'; the parts are {', '.join(known)}")
    chosen = {name: known[name] for name in arguments} or known
    for name, warm_up in chosen.items():
        began = time.perf_counter()
        warm_up()
        print(f"{name:<7}{time.perf_counter() - began:7.1f} s", flush=True)
    print(f"ready; the compiled code is in {CACHE.parent if CACHE else 'memory only'}")
    return 0


def _load_weights(name: str | None = None) -> tuple[Path, np.ndarray]:
    """The weights file of this name, or the active one, and what it holds."""
    file = active_file(name).absolute()
    try:
        return file, load(file)
    except WeightsError as error:
        raise CommandError(str(error)) from error


def _batches(lines: Iterable[bytes]) -> Iterator[tuple[list[str], np.ndarray, list[tuple[int, str]]]]:
    """The FENs of a file in batches: texts, POSITION[n], and (line, fault) for what is none.

    Blank lines and lines that begin with `#` are skipped.
    """
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, _BATCH)):
        fens: list[str] = []
        faults: list[tuple[int, str]] = []
        positions = np.zeros(len(batch), dtype=POSITION)
        for number, line in batch:
            fen = line.decode("utf-8", "replace").strip().lstrip("\ufeff")
            if not fen or fen.startswith("#"):
                continue
            try:
                positions[len(fens)] = parse_fen(fen)[0]
                fens.append(fen)
            except FenError as error:
                faults.append((number, str(error)))
        yield fens, positions[: len(fens)], faults


def _expect(arguments: Sequence[str], least: int, most: int, usage: str) -> None:
    """Raises UsageError unless there are `least` to `most` arguments."""
    if not least <= len(arguments) <= most:
        raise UsageError(f"usage: merino {usage}")


def _take_option(arguments: list[str], name: str, usage: str) -> str | None:
    """Remove `name VALUE` from the arguments and return the value, None where it is not given."""
    if name not in arguments:
        return None
    at = arguments.index(name)
    if at + 1 == len(arguments):
        raise UsageError(f"usage: merino {usage}")
    value = arguments[at + 1]
    del arguments[at : at + 2]
    return value
