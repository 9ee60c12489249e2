"""What the commands of `merino` do that need numba. Each takes the arguments after its name; returns the exit code."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from engine.board.divide import print_divide
from engine.board.fen import START_FEN, FenError, parse_fen
from engine.board.game import Position
from engine.board.perft import MAX_DEPTH
from engine.board.position import POSITION
from engine.common.command import CommandError
from engine.compiled.jit import CACHE
from engine.console.command_line import Parser
from engine.search.bench import run_bench
from engine.search.warmup import parts
from eval.evaluation import Evaluation, EvaluationError
from eval.families import active_file, load

_BATCH = 4096  # positions evaluated in one call


def perft(arguments: list[str]) -> int:
    """Print the divide of a position, the starting position if none is given."""
    parser = Parser(prog="merino perft", description="Count the positions N half-moves ahead, under each move and all.")
    parser.add_argument("depth", metavar="N", type=_depth, help=f"half-moves, 1 to {MAX_DEPTH}")
    parser.add_argument("fen", nargs="*", metavar="FEN", help="the position (the starting position)")
    wish = parser.parse_args(arguments)
    try:
        position = Position(" ".join(wish.fen) or START_FEN)
    except FenError as error:
        raise CommandError(f"perft: {error}") from error
    print_divide(position, wish.depth, print)
    return 0


def evaluate(arguments: list[str]) -> int:
    """Print `centipawns<tab>FEN` for every position of a file; faulty lines are named, the others still printed."""
    parser = Parser(
        prog="merino evaluate",
        description="Print centipawns for the side to move, a tab and the FEN, for each FEN of a file.",
    )
    parser.add_argument("file", metavar="FILE", help="FENs, one a line; - is standard input")
    parser.add_argument("--weights", metavar="W", help="evaluate with the weights in this file (those in use)")
    wish = parser.parse_args(arguments)
    name, evaluation = wish.file, _load_evaluation(wish.weights)[1]
    number_of_faults = 0
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            for fens, positions, faults in _batches(file):
                scores = evaluation.scores(positions).tolist()
                sys.stdout.write("".join(f"{score}\t{fen}\n" for score, fen in zip(scores, fens, strict=True)))
                for number, fault in faults:
                    print(f"{name}:{number}: {fault}", file=sys.stderr)
                number_of_faults += len(faults)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise CommandError(f"cannot read '{name}': {error.strerror}") from error
    return 1 if number_of_faults else 0


def bench(_: list[str]) -> int:
    """Search the fixed positions."""
    run_bench(print)
    return 0


def weights(arguments: list[str]) -> int:
    """Print which weights file is in use, or how the one given reads, and the table of terms."""
    parser = Parser(prog="merino weights", description="Show the weights of the 27 terms, and what these are.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="a weights file (the one in use)")
    file, evaluation = _load_evaluation(parser.parse_args(arguments).file)
    print(f"{file}\n\n{evaluation.describe()}")
    return 0


def warmup(arguments: list[str]) -> int:
    """Compile every part of Merino into the cache, or only those named, and print the seconds each took."""
    known = parts()
    parser = Parser(prog="merino warmup", description="Compile every part ahead, or only those named.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(known)} (all of them)")
    wanted = parser.parse_args(arguments).parts
    unknown = [name for name in wanted if name not in known]
    if unknown:
        parser.error(f"there is no part '{unknown[0][:40]}'; the parts are {', '.join(known)}")
    chosen = {name: known[name] for name in wanted} or known
    for name, warm_up in chosen.items():
        began = time.perf_counter()
        warm_up()
        print(f"{name:<7}{time.perf_counter() - began:7.1f} s", flush=True)
    print(f"ready; the compiled code is in {CACHE.parent if CACHE else 'memory only'}")
    return 0


def _load_evaluation(name: str | None = None) -> tuple[Path, Evaluation]:
    """The weights file of this name, or the active one, and what it holds."""
    file = active_file(name).absolute()
    try:
        return file, load(file)
    except EvaluationError as error:
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


def _depth(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MAX_DEPTH:
        raise argparse.ArgumentTypeError(f"the depth is a number from 1 to {MAX_DEPTH}, not '{text[:40]}'")
    return int(text)
