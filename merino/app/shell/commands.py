"""The small commands of `merino` that need numba. Each takes the arguments after its name and returns the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, whole
from merino.core.board.fen import START_FEN, FenError, parse_fen
from merino.core.board.game import Position
from merino.core.board.perft import MAX_DEPTH, print_divide
from merino.core.board.position import POSITION
from merino.core.common.command import CommandError, errors_named
from merino.core.common.terminal import is_lost_output
from merino.core.common.text import did_you_mean
from merino.core.common.user_files import user_path
from merino.core.compiled.jit import CACHE
from merino.engine.search.bench import run_bench
from merino.engine.search.warmup import parts, warm_up_parts
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import find_weights, load
from merino.formats.sources import STANDARD_INPUT, SourceError, open_source

_BATCH = 4096  # positions evaluated in one call


def perft(arguments: list[str]) -> int:
    """Print the divide of a position, the starting position if none is given."""
    parser = Parser(
        prog="merino perft",
        description="Count the leaf nodes N plies ahead, for each root move and in total.",
        examples=(
            "merino perft 5",
            "merino perft 4 'r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -'",
        ),
    )
    parser.add_argument("depth", metavar="N", type=whole(1, MAX_DEPTH), help=f"depth in plies, 1 to {MAX_DEPTH}")
    parser.add_argument("fen", nargs="*", default=[], metavar="FEN", help="default: the starting position")
    args = parser.parse_args(arguments)
    with errors_named("perft", FenError):
        print_divide(Position(" ".join(args.fen) or START_FEN), args.depth, print)
    return 0


def evaluate(arguments: list[str]) -> int:
    """Print `centipawns<tab>FEN` for every position of a file; faulty lines are named, the others still printed."""
    parser = Parser(
        prog="merino evaluate",
        description="Print the static evaluation in centipawns for the side to move, a tab and the FEN, for each FEN "
        "of a file.",
        examples=("merino evaluate positions.fen", "merino evaluate - --weights my-weights.txt"),
    )
    parser.add_argument("file", metavar="FILE", help="FENs, one per line, compressed or not; - for standard input")
    shared.add_weights(parser)
    args = parser.parse_args(arguments)
    name, evaluation = args.file, _load_evaluation(args.weights)[1]
    number_of_faults = 0
    try:
        with errors_named("evaluate", SourceError), _lines_of(name) as lines:
            for fens, positions, faults in _batches(lines):
                scores = evaluation.scores(positions).tolist()
                sys.stdout.write("".join(f"{score}\t{fen}\n" for score, fen in zip(scores, fens, strict=True)))
                for number, fault in faults:
                    print(f"{name}:{number}: {fault}", file=sys.stderr)
                number_of_faults += len(faults)
    except OSError as error:
        if is_lost_output(error):
            raise
        raise CommandError(f"cannot read '{name}': {error.strerror}") from error
    return 1 if number_of_faults else 0


def bench(_: list[str]) -> int:
    """Search the fixed positions."""
    run_bench(print)
    return 0


def weights(arguments: list[str]) -> int:
    """Print which weights file is in use, or how the one given reads, and the table of terms."""
    parser = Parser(
        prog="merino weights",
        description="Show the weight and the meaning of each evaluation term.",
        examples=("merino weights", "merino weights my-weights.txt", "merino weights full"),
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="weights file (default: the weights in use)")
    file, evaluation = _load_evaluation(parser.parse_args(arguments).file)
    print(f"{file}\n\n{evaluation.describe()}")
    return 0


def warmup(arguments: list[str]) -> int:
    """Compile every part of Merino into the cache, or only those named, and print the seconds each took."""
    known = parts()
    parser = Parser(
        prog="merino warmup",
        description="Compile Merino, or some parts of it, ahead of the first use.",
        examples=("merino warmup", "merino warmup play learn"),
    )
    parser.add_argument("parts", nargs="*", default=[], metavar="PART", help=f"{', '.join(known)} (default: all)")
    shared.add_quiet(parser)
    args = parser.parse_args(arguments)
    wanted = args.parts
    unknown = [name for name in wanted if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        parser.error(f"there is no part '{unknown[0][:40]}' among {', '.join(known)}{hint}")
    for name, seconds in warm_up_parts(list(dict.fromkeys(wanted)) or list(known)):
        if not args.quiet:
            print(f"{name:<7}{seconds:7.1f} s", flush=True)
    if not args.quiet:
        print(f"ready; the compiled code is in {CACHE.parent if CACHE else 'memory only'}")
    return 0


def _load_evaluation(name: str | None) -> tuple[Path, Evaluation]:
    """The weights file of this name, one of Merino's own if there is no such file, or the active one; what it holds."""
    try:
        file = find_weights(name)
        return file.absolute(), load(file)
    except EvaluationError as error:
        raise CommandError(str(error)) from error


@contextmanager
def _lines_of(name: str) -> Iterator[Iterable[bytes]]:
    """The lines of a file, or for "-" those of standard input, which may be typed; raises OSError and SourceError."""
    if name == str(STANDARD_INPUT):
        with sys.stdin.buffer as file:
            yield file
        return
    with open_source(user_path(name)) as source:
        yield (line for text in source.lines() for line in text.splitlines())


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
