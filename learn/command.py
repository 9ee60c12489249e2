"""`learn FILE [first last]`: at the console and in a shell."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from engine.cache import user_folder
from engine.command import CommandError, UsageError
from eval.registry import TERMS
from eval.weights import ENVIRONMENT_VARIABLE, WeightsError, active_file, load, save
from learn.fit import Point
from learn.games import Fault
from learn.inputs import LearnError, find_files, read_rows
from learn.learning import Settings, learn, split
from learn.positions import Selection
from learn.report import render, summarise

USAGE = (
    "usage: merino learn FILE... [first last] [--weights W] [--out F] [--dry-run] [--lambda N|off] [--k N] "
    "[--seed N] [--split game|position] [--skip-first N] [--skip-last N] [--json]"
)
SHOWN_FAULTS = 5


@dataclass(frozen=True)
class Order:
    """A `learn` command as read."""

    files: list[str]
    settings: Settings = field(default_factory=Settings)
    selection: Selection = field(default_factory=Selection)
    weights: str | None = None
    out: str | None = None
    dry_run: bool = False
    as_json: bool = False


def run_learn(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 if it ran, whether or not the new weights were better; raises CommandError."""
    learn_weights(arguments)
    return 0


def learn_weights(arguments: Sequence[str], say: Callable[[str], object] | None = None) -> Path | None:
    """Carry out a `learn` command; the file of better weights it wrote, if it did. Raises CommandError.

    Each line goes to `say` (to standard output if None) and, unless nothing may be written, to `learning.log`.
    """
    order = read_order(arguments)
    log: list[str] = []

    def tell(line: str) -> None:
        log.append(line)
        if say is not None:
            say(line)
        else:
            print(line, file=sys.stderr if order.as_json else sys.stdout, flush=True)

    try:
        written = _learn(order, tell)
    except (LearnError, WeightsError) as error:
        raise CommandError(f"learn: {error}") from error
    except OSError as error:
        raise CommandError(f"learn: cannot write '{error.filename}': {error.strerror}; all is as it was") from error
    if not order.dry_run:
        _keep_log(_target(order).parent / "learning.log", log)
    return written


def read_order(arguments: Sequence[str]) -> Order:
    """Read the command line; raises UsageError."""
    files: list[str] = []
    numbers: list[int] = []
    given: dict[str, str | bool] = {}
    words = iter(arguments)
    for word in words:
        if word in ("--dry-run", "--json"):
            given[word] = True
        elif word.startswith("--"):
            if word not in _OPTIONS:
                raise UsageError(f"learn: there is no option {word}; {USAGE}")
            value = next(words, None)
            if value is None:
                raise UsageError(f"learn: {word} needs a value; {USAGE}")
            given[word] = value
        elif files and word.lstrip("-").isdigit():
            numbers.append(int(word))
        else:
            files.append(word)
    if not files or len(numbers) not in (0, 2):
        raise UsageError(USAGE)
    settings = Settings()
    if numbers:
        first, last = numbers
        if not 1 <= first <= last <= len(TERMS):
            raise UsageError(f"learn: terms are numbered 1..{len(TERMS)}, first before last; not {first} {last}")
        settings = replace(settings, first=first, last=last)
    return _apply(Order(files, settings), given)


def _number(name: str, text: str, low: float) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"learn: {name} needs a number, not {text!r}") from error
    if not low <= value < 1e9:
        raise UsageError(f"learn: {name} = {text} is not at least {low:g}")
    return value


def _lambda(text: str) -> float | None:
    return None if text == "off" else _number("--lambda", text, 0.1)


def _split(text: str) -> bool:
    if text not in ("game", "position"):
        raise UsageError(f"learn: --split is by 'game' or by 'position', not {text!r}")
    return text == "position"


_OPTIONS: dict[str, Callable[[Order, str], Order]] = {
    "--weights": lambda order, text: replace(order, weights=text),
    "--out": lambda order, text: replace(order, out=text),
    "--lambda": lambda order, text: replace(order, settings=replace(order.settings, lam=_lambda(text))),
    "--k": lambda order, text: replace(order, settings=replace(order.settings, k=_number("--k", text, 1))),
    "--seed": lambda order, text: replace(
        order, settings=replace(order.settings, seed=int(_number("--seed", text, 0)))
    ),
    "--split": lambda order, text: replace(order, settings=replace(order.settings, split_by_position=_split(text))),
    "--skip-first": lambda order, text: replace(
        order, selection=replace(order.selection, skip_first=int(_number("--skip-first", text, 0)))
    ),
    "--skip-last": lambda order, text: replace(
        order, selection=replace(order.selection, skip_last=int(_number("--skip-last", text, 0)))
    ),
}


def _apply(order: Order, given: dict[str, str | bool]) -> Order:
    for name, value in given.items():
        if name == "--dry-run":
            order = replace(order, dry_run=True)
        elif name == "--json":
            order = replace(order, as_json=True)
        else:
            order = _OPTIONS[name](order, str(value))
    return order


def _target(order: Order) -> Path:
    """The file to write: the one asked for, else the user's own active file; never the one that is shipped."""
    asked = order.out or order.weights or os.environ.get(ENVIRONMENT_VARIABLE)
    return (Path(asked).expanduser() if asked else user_folder("data") / "weights.txt").absolute()


def _learn(order: Order, tell: Callable[[str], object]) -> Path | None:
    """Learn; the file written, or None where nothing was."""
    began = time.perf_counter()
    source, target = active_file(order.weights).absolute(), _target(order)
    weights = load(source)
    if not order.dry_run:
        _check_writable(target)
    paths = find_files(order.files)
    faults: list[tuple[Path, Fault]] = []
    rows, games = read_rows(paths, order.selection, tell, faults)
    tell(f"Games: {games}")
    _tell_faults(faults, tell)
    parts = split(rows, order.settings)
    tell(f"Training set: {len(parts.train)}")
    tell(f"Validation set: {len(parts.valid)}")
    settings = order.settings
    tell(f"Weights: '{source}'; terms {settings.first} to {settings.last} may move; seed {settings.seed}")
    tell("Start optimization...")
    learned = learn(parts, weights, order.settings, _StepTeller(tell, order.settings.first))
    if learned.interrupted:
        tell("Interrupted: the best so far is kept.")
    summary = summarise(parts, learned, games, time.perf_counter() - began)
    tell(render(summary))
    if order.as_json:
        print(json.dumps(summary.as_json()))
    if not learned.accepted:
        tell("Not accepted: on games not learned from, the gain is not beyond doubt. The weights stay as they were.")
        return None
    if order.dry_run:
        tell("A dry run: nothing is written.")
        return None
    _write(target, weights, learned.end, order, games)
    tell(f"Old values saved in file '{target.with_suffix('.old')}'")
    tell(f"New values in file '{target}'. Lower error is not yet more strength: only a match proves that.")
    return target


def _keep_log(path: Path, lines: list[str]) -> None:
    """Add the lines of a run to the log beside the weights."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    except OSError as error:
        raise CommandError(
            f"learn: the run is over, but its log '{path}' cannot be written: {error.strerror}"
        ) from error


class _StepTeller:
    """A line for each step: its number, both errors, the time, and what moved most."""

    def __init__(self, tell: Callable[[str], object], first: int) -> None:
        self._tell = tell
        self._last: Point | None = None
        self._first = first

    def __call__(self, number: int, point: Point, train: float, valid: float) -> None:
        moved = ""
        if self._last is not None:
            change = np.abs(point.weights - self._last.weights)
            index = int(np.argmax(change))
            moved = f" [{index + 1}] {TERMS[index].name} = {point.weights[index]:.1f}" if change[index] > 0 else ""
        else:
            moved = f" K = {point.k:.1f}"
        self._last = point
        self._tell(f"{number} {train:.12f} {valid:.12f} {datetime.now():%Y-%m-%d %H:%M:%S}{moved}")


def _tell_faults(faults: list[tuple[Path, Fault]], tell: Callable[[str], object]) -> None:
    if faults:
        tell(f"{len(faults)} games could not be read and are left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            tell(f"  {path.name}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            tell(f"  and {len(faults) - SHOWN_FAULTS} more")


def _check_writable(target: Path) -> None:
    """Fail before the work rather than after it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        raise LearnError(f"'{target}' is a folder, not a weights file")
    with tempfile.NamedTemporaryFile(dir=target.parent):
        pass


def _write(target: Path, old: np.ndarray, end: Point, order: Order, games: int) -> None:
    """Keep the old values beside the new ones, both files whole or not at all."""
    save(target.with_suffix(".old"), old, [f"The weights before learning on {datetime.now():%Y-%m-%d %H:%M}"])
    names = ", ".join(Path(name).name for name in order.files)
    settings = order.settings
    header = [
        f"Learned by Merino on {datetime.now():%Y-%m-%d %H:%M} from {games} games of {names}",
        f"terms {settings.first}..{settings.last}, lambda {settings.lam or 'off'}, seed {settings.seed}, K {end.k:.1f}",
    ]
    save(target, end.weights, header)
