"""What commands share: files that they write at their end, and the evaluation and the search that is asked for.

Files are checked before the work that leads to them, so that none is lost.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.files import FileInUseError, check_writable, held, overwritten, write_whole, writing
from merino.core.common.text import ENDINGS, PictureError, load_matplotlib
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.warmup import warm_up
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import default, load_chosen
from merino.formats.sources import SourceError, as_named
from merino.study.analyser import Analyser, analyser


def check_output(path: Path, command: str) -> None:
    """Raise CommandError if a file cannot be written; what is there stays as it is."""
    with errors_named(command, SourceError), writing(CommandError, path, f"{command}: "):
        as_named(path, b"")
        check_writable(path)


def check_apart(outputs: Iterable[Path | None], inputs: Iterable[Path | None], command: str) -> None:
    """Raise UsageError if an output is an input or another output, CommandError if that cannot be told."""
    with writing(CommandError, before=f"{command}: "):
        fault = overwritten(filter(None, outputs), filter(None, inputs))
    if fault is not None:
        raise UsageError(f"{command}: {fault}")


@contextmanager
def holding_output(path: Path, command: str) -> Iterator[None]:
    """Keep other runs from a file for this block; raises CommandError if one has it, or if it cannot be written."""
    check_output(path, command)
    with ExitStack() as stack:
        with errors_named(command, FileInUseError), writing(CommandError, path, f"{command}: "):
            stack.enter_context(held(path))
        yield


def write_output(path: Path, content: bytes, command: str) -> None:
    """Write a file as a whole, compressed if its name ends so; raises CommandError."""
    with errors_named(command, SourceError), writing(CommandError, path, f"{command}: "):
        write_whole(path, as_named(path, content))


def write_picture(path: Path, content: bytes, command: str) -> None:
    """Write a picture, and say where it is; raises CommandError."""
    write_output(path, content, command)
    print(f"The picture is in '{path}'", file=sys.stderr)


def make_folder(folder: Path, command: str) -> None:
    """Make a folder where there is none yet; raises CommandError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{command}: cannot make folder '{folder}': {error.strerror}") from error


def check_picture(path: Path | None, command: str) -> None:
    """Raise UsageError or CommandError if a picture cannot be drawn or written; None is no picture."""
    if path is not None and (fault := picture_fault(path, command)) is not None:
        raise CommandError(f"{command}: nothing is done: {fault}, or leave out --plot") from fault


def picture_fault(path: Path, command: str) -> PictureError | None:
    """Why no picture can be drawn, if so; raises UsageError or CommandError if it cannot be written to this file."""
    if ending_of(path) not in ENDINGS:
        raise UsageError(f"{command}: --plot writes {' or '.join(ENDINGS)}, not '{path}'")
    try:
        load_matplotlib()
    except PictureError as error:
        return error
    check_output(path, command)
    return None


def ending_of(path: Path) -> str:
    """The ending that says in which format a picture is written."""
    return path.suffix.lower()


@dataclass(frozen=True)
class SearchRequest:
    """Limits and resources of a search; `is_limited`: the user set the limits, they are not the command's default."""

    limits: Limits
    threads: int
    hash_mb: int
    is_limited: bool

    @classmethod
    def of(cls, args: argparse.Namespace, default: Limits) -> SearchRequest:
        """The request of a command line, with `default` if it names no limit."""
        limits = shared.asked_limits(args)
        is_limited = limits != Limits()
        return cls(limits if is_limited else default, args.threads, args.hash, is_limited)


def evaluation_of(name: str | None, k: float | None = None, net: str | None = None) -> Evaluation:
    """The evaluation in the file of this name, or that in use, with the K asked for or else its own; or a net.

    Raises CommandError.
    """
    try:
        found = load_chosen(name, net)
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    return found if k is None else found.with_k(k)


def searcher_of(request: SearchRequest, evaluation: Evaluation) -> Searcher:
    """A searcher with this evaluation, threads and table; raises CommandError if there is not enough memory."""
    warm_up()  # so that compiling does not count as thinking
    try:
        searcher = Searcher(request.hash_mb, request.threads, evaluation)
    except MemoryError as error:
        raise CommandError(f"not enough memory for a transposition table of {request.hash_mb} MiB") from error
    searcher.move_overhead = 0  # no clock is running
    return searcher


@cache
def default_analyser() -> Analyser:
    """Searches for studies with the evaluation in use, one thread and a small table; raises CommandError.

    What each finds does not depend on those before it.
    """
    searcher = searcher_of(SearchRequest(Limits(), 1, DEFAULT_HASH_MB, is_limited=True), default())
    return analyser(searcher, gives_up=True, is_forgetful=True)
