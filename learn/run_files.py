"""What a run of `learn` works with: its files, which are checked before the work, and what all its stages share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from merino.inner.core.common.files import check_writable
from merino.inner.core.common.user_files import (
    WEIGHTS,
    is_folder,
    is_there,
    read_user_file,
    real_path,
    user_folder,
    user_path,
)
from merino.inner.core.common.work import RemoteExecutor
from merino.inner.eval.linear.weights import ENVIRONMENT_VARIABLE, active_file
from merino.inner.learn.errors import LearnError
from merino.inner.learn.request import Events, LearnRequest
from merino.inner.match.heats import Heats
from merino.inner.match.prove import GAIN, STRONGER, StrengthTest

RECORD_NAME = "learning.json"
LEARNED = "Learned by Merino on"  # begins the comments on the origin of learned weights


@dataclass(frozen=True)
class WeightsPaths:
    """The file that weights come from, and the one for new weights. `takes_effect`: the file `target` is in use."""

    source: Path
    target: Path
    takes_effect: bool

    @property
    def old(self) -> Path:
        """The file that keeps the old weights: `target` with the ending .old, added if it has that already."""
        path = self.target
        return path.with_name(path.name + ".old") if path.suffix == ".old" else path.with_suffix(".old")

    @property
    def beside(self) -> Path:
        """The file of new weights during their match, and after it if they do not pass."""
        return self.target.with_name(f"{self.target.stem}.new{self.target.suffix}")

    def check_writable(self) -> None:
        """Check before the work that the weights can be written after it; raises LearnError."""
        if is_folder(self.target):
            raise LearnError(f"'{self.target}' is a folder, not a weights file")
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            check_writable(self.target)
        except OSError as error:
            raise _no_place(self.target, error) from error

    def check_beside(self) -> None:
        """Raise LearnError if the file `beside` exists and was not written by `learn`."""
        if is_there(self.beside) and LEARNED not in text_of(self.beside):
            raise LearnError(f"'{self.beside}' is in the way: learn did not write it; give it another name")


@dataclass(frozen=True)
class RunFiles:
    """The files of a run: the weights, and record and table, None if they are not wanted.

    `compares` tells whether a match decides about new weights before they are written. A run that `is_dry` writes none.
    """

    weights: WeightsPaths
    record: Path | None
    csv: Path | None
    compares: bool
    is_dry: bool

    def check(self) -> None:
        """Raise LearnError or OSError if one of them could not be written after the work."""
        if not self.is_dry:
            self.weights.check_writable()
        if self.compares:
            self.weights.check_beside()
        for path in (self.record, self.csv):
            if path is not None:
                check_writable(path)


@dataclass(frozen=True)
class LearnRun:
    """What the stages of a run share, beside what each hands to the next.

    `trial` is the match that decides about new weights, `heats` are the matches before it that choose among candidates,
    None where none are wanted. `command` is the name of `learn` in hints. `executor` has the workers that keep the rows
    and play the matches, None for this process.
    """

    files: RunFiles
    events: Events
    trial: StrengthTest
    heats: Heats | None
    command: str
    executor: RemoteExecutor | None

    @classmethod
    def of(
        cls,
        request: LearnRequest,
        events: Events,
        trial: StrengthTest,
        command: str,
        executor: RemoteExecutor | None,
    ) -> LearnRun:
        """The run of a request, by `trial` unless the request asks for another match; raises LearnError."""
        files = files_of(request)
        heats = (GAIN if request.prove else trial).heats if files.compares else None
        return cls(files, events, STRONGER if request.prove else trial, heats, command, executor)


def files_of(request: LearnRequest) -> RunFiles:
    """The files that a request names, or that it leaves to their usual places; raises LearnError."""
    paths = weights_paths(request.weights, request.out)
    record = None if request.dry_run else paths.target.parent / RECORD_NAME
    if request.record:
        record = named_path(request.record)
    compares = request.plays_match and paths.takes_effect and not request.dry_run
    return RunFiles(paths, record, named_path(request.csv) if request.csv else None, compares, request.dry_run)


def weights_paths(weights: str | None, out: str | None = None) -> WeightsPaths:
    """The files for learning from `weights`, None for the active file of the user; shipped files are never written.

    New weights go to `out`, or replace the old ones.
    """
    usual = Path(weights or os.environ.get(ENVIRONMENT_VARIABLE) or user_folder("data") / "weights.txt")
    usual, source = named_path(usual).absolute(), active_file(weights).absolute()
    target = named_path(out).absolute() if out else usual
    in_use = {file_at(path) for path in (usual, source, active_file())}
    return WeightsPaths(source, target, file_at(target) in in_use)


def file_at(path: Path) -> Path:
    """The file that a path leads to, through links; raises LearnError."""
    try:
        return real_path(path)
    except NotADirectoryError as error:
        raise _no_place(path, error) from error
    except OSError as error:
        raise LearnError(f"'{path}': {error.strerror}") from error


def _no_place(path: Path, error: OSError) -> LearnError:
    """That a file cannot lie where it should."""
    reason = "it is no folder" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
    return LearnError(f"nothing can be written into '{path.parent}': {reason}")


def named_path(name: str | Path) -> Path:
    """The path that a user means; raises LearnError."""
    try:
        return user_path(name)
    except OSError as error:
        raise LearnError(f"'{name}': {error.strerror}") from error


def text_of(path: Path) -> str:
    """The text of a weights file with its own line ends."""
    return read_user_file(path, WEIGHTS).decode(errors="replace")
