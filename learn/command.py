"""`learn FILE [first last]`: at the console and in a shell."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from engine.cache import user_folder
from engine.command import CommandError
from engine.files import write_together, write_whole
from eval.weights import ENVIRONMENT_VARIABLE, WeightsError, active_file, as_mapping, load, note_of_k
from eval.weights import render as render_weights
from learn.games import Fault
from learn.inputs import Reading, read_rows
from learn.learning import Learned, learn, split
from learn.options import HELP, Order, help_text, read_order
from learn.record import RECORD_NAME, record_of, save_record
from learn.report import Summary, summarise
from learn.sample import Point, Sample
from learn.sources import LearnError, find_files
from learn.tables import as_csv, render
from learn.telling import Diary, StepTeller
from match.prove import offer, prove

SHOWN_FAULTS = 5


def run_learn(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it ran, whether or not the new weights were better; raises CommandError."""
    if HELP & set(arguments):
        print(help_text())
    else:
        learn_weights(arguments)
    return 0


def learn_weights(arguments: Sequence[str], say: Callable[[str], object] | None = None) -> Path | None:
    """Carry out a `learn` command; the file of better weights it wrote, if it did. Raises CommandError.

    Each line goes to `say` (to standard output if None) and, unless nothing may be written, to `learning.log`.
    """
    order = read_order(arguments)

    def show(line: str) -> None:
        print(line, file=sys.stderr if order.quiet_output else sys.stdout, flush=True)

    diary = Diary(say or show)
    try:
        return _learn(order, diary)
    except (LearnError, WeightsError) as error:
        raise CommandError(f"learn: {error}") from error
    except BrokenPipeError:
        raise  # nobody listens any more
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        raise CommandError(f"learn: cannot write{where}: {error.strerror}; the weights are as they were") from error
    finally:
        diary.close()


def target_of(order: Order) -> Path:
    """The file to write: the one asked for, else the user's own active file; never the one that is shipped."""
    asked = order.out or order.weights or os.environ.get(ENVIRONMENT_VARIABLE)
    return (Path(asked).expanduser() if asked else user_folder("data") / "weights.txt").absolute()


def _learn(order: Order, tell: Diary) -> Path | None:
    """Learn; the file written, or None where nothing was."""
    began = time.perf_counter()
    source, target = active_file(order.weights).absolute(), target_of(order)
    weights = load(source)
    if not order.dry_run:
        _check_writable(target)
    faults: list[tuple[Path, Fault]] = []
    reading = Reading(order.selection, weights, keep_fen=order.keep_fen and not order.dry_run)
    rows, games = read_rows(find_files(order.files), reading, tell, faults)
    tell(f"Games: {games}")
    _tell_faults(faults, tell)
    sample = split(rows, order.settings)
    _tell_start(order, sample, source, tell)
    if not order.dry_run:
        tell.open(target.parent / "learning.log")
    teller = StepTeller(tell, order.settings)
    learned = learn(sample, weights, order.settings, teller)
    teller.wipe()
    if learned.interrupted:
        tell("Interrupted: the best so far is kept.")
    summary = summarise(sample, learned, order.settings, games, time.perf_counter() - began)
    for line in render(summary, order.settings.root_of_sum):
        tell(line)
    written = _decide(order, source, target, weights, learned, summary, tell)
    if written is not None:
        summary = summary.told_where(str(written))
    _leave_behind(order, target, sample, learned, summary, tell)
    if written is not None and order.prove:
        prove(written, written.with_suffix(".old"), tell)
    return written


def _tell_start(order: Order, sample: Sample, source: Path, tell: Diary) -> None:
    held, settings = int(np.count_nonzero(sample.held)), order.settings
    tell(f"Training set: {sample.size - held}")
    tell(f"Validation set: {held}")
    by = "position" if settings.split_by_position else "game"
    tell(f"Weights: '{source}'; terms {settings.first} to {settings.last} may move")
    tell(f"Method: {settings.method}, {settings.loss} error; split by {by}, seed {settings.seed}")
    tell("Start optimization...")


def _decide(
    order: Order, source: Path, target: Path, old: np.ndarray, learned: Learned, summary: Summary, tell: Diary
) -> Path | None:
    """Write the new weights if they are better; the file, or None."""
    if not learned.accepted:
        tell("Not accepted: on games not learned from, the gain is not beyond doubt. The weights stay as they were.")
        return None
    if order.dry_run:
        tell("Better, but this is a dry run: nothing is written.")
        return None
    saved = target.with_suffix(".old")
    write_together(
        {
            saved: _file_of(old, [f"The weights before learning on {datetime.now():%Y-%m-%d %H:%M}, from {source}"]),
            target: _file_of(learned.end.weights, _header(order, learned.end, summary)),
        }
    )
    tell(f"Old values saved in file '{saved}'")
    tell(f"New values in file '{target}'")
    tell("A lower error is not yet more strength; only a match proves that:")
    tell(f"  {offer(target, saved)}")
    return target


def _file_of(weights: np.ndarray, header: list[str]) -> bytes:
    return render_weights(as_mapping(weights), header).encode()


def _header(order: Order, end: Point, summary: Summary) -> list[str]:
    """Where weights come from, for the top of their file."""
    settings = order.settings
    names = ", ".join(Path(name).name for name in order.files)
    return [
        f"Learned by Merino on {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}",
        f"terms {settings.first}..{settings.last}, {settings.method}, lambda {settings.lam or 'off'}, "
        f"seed {settings.seed}, {note_of_k(end.k)}",
        f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
        f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
    ]


def _leave_behind(order: Order, target: Path, sample: Sample, learned: Learned, summary: Summary, tell: Diary) -> None:
    """The record of the run, and the summary for machines."""
    record = Path(order.record).expanduser() if order.record else target.parent / RECORD_NAME
    if order.record or not order.dry_run:
        save_record(record, record_of(sample, learned, order.settings, summary, order.files))
        tell(f"Record in '{record}': merino plot '{record}' draws it.")
    if order.csv == "-":
        print(as_csv(summary), end="")
    elif order.csv:
        write_whole(Path(order.csv).expanduser(), as_csv(summary).encode())
    if order.as_json:
        print(json.dumps(summary.as_json()))


def _tell_faults(faults: list[tuple[Path, Fault]], tell: Callable[[str], object]) -> None:
    if faults:
        tell(f"{len(faults)} games could not be read and are left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            tell(f"  {path.name}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            tell(f"  and {len(faults) - SHOWN_FAULTS} more")


def _check_writable(target: Path) -> None:
    """Fail before the work rather than after it."""
    if target.is_dir():
        raise LearnError(f"'{target}' is a folder, not a weights file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        reason = "it is no folder" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise LearnError(f"nothing can be written into '{target.parent}': {reason}") from error
