"""Installation of new weights: written beside the old ones, tried in a match, and put in use; old files are kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from merino.inner.core.common.files import check_writable, write_together, write_whole
from merino.inner.core.common.folders import user_folder
from merino.inner.core.common.user_files import WEIGHTS, is_folder, is_there, read_user_file, real_path, user_path
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.eval.linear.weights import (
    ENVIRONMENT_VARIABLE,
    SHIPPED,
    active_file,
    as_mapping,
    load_any,
    render,
    rewrite,
)
from merino.inner.learn.errors import LearnError, standing
from merino.inner.learn.request import Events, LearnRequest, Say
from merino.inner.match.players import OwnPlayer
from merino.inner.match.prove import STRONGER, Proof, StrengthTest, offer, prove

LEARNED = "Learned by Merino on"  # begins the comments on the origin of learned weights
EARLIER = "The comments below are older than these values."
_OUR_COMMENTS = re.compile(
    rf"^# {LEARNED} \d{{4}}-\d\d-\d\d \d\d:\d\d from \d+ games of .*\n(?:# terms .*\n)?"
    rf"(?:# validation error \d.*\n)?(?:# {re.escape(EARLIER)}\r?\n)?",
    re.MULTILINE,
)


class Verdict(StrEnum):
    """The decision about new weights, and its reason."""

    NOT_BETTER = "not better"  # the error did not fall significantly
    DRY_RUN = "dry run"
    STOPPED = "stopped"  # the fit was interrupted, so no match was played
    NO_MATCH = "no match"  # not wanted, or the weights in use do not change
    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    INTERRUPTED = "interrupted"  # the match


@dataclass(frozen=True)
class InstallOutcome:
    """The result for new weights: their file, if they were written, and whether they are in use now."""

    verdict: Verdict
    written: Path | None = None
    in_use: bool = False
    match: dict[str, Any] | None = None  # see `Proof.as_json`

    @property
    def state(self) -> str:
        """Where the new weights are, in words; "" if they were not written."""
        return f"the new weights are in '{self.written}'" if self.written else ""


@dataclass(frozen=True)
class WeightsPaths:
    """The file that weights come from, and the one for new weights. `takes_effect`: the file `target` is in use."""

    source: Path
    target: Path
    takes_effect: bool

    @property
    def old(self) -> Path:
        """The file that keeps the old weights."""
        return _with_ending(self.target, ".old")

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
        if is_there(self.beside) and LEARNED not in _text_of(self.beside):
            raise LearnError(f"'{self.beside}' is in the way: learn did not write it; give it another name")


def weights_paths(weights: str | None, out: str | None = None) -> WeightsPaths:
    """The files for learning from `weights`, None for the active file of the user; shipped files are never written.

    New weights go to `out`, or replace the old ones.
    """
    usual = Path(weights or os.environ.get(ENVIRONMENT_VARIABLE) or user_folder("data") / "weights.txt")
    usual, source = named_path(usual).absolute(), active_file(weights).absolute()
    target = named_path(out).absolute() if out else usual
    in_use = {_file_of(path) for path in (usual, source, active_file())}
    return WeightsPaths(source, target, _file_of(target) in in_use)


def _file_of(path: Path) -> Path:
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


def text_with(source: Path, weights: np.ndarray, header: Iterable[str], terms: TermSet = TERMS) -> str:
    """The text of the file of new weights: that of `source` with its comments, the new values, and `header` on top.

    The comments of a file that comes with Merino describe its own values and are left out, as is an older header.
    """
    if _file_of(source).parent == SHIPPED:
        return render(as_mapping(weights, terms), header, terms)
    text = _OUR_COMMENTS.sub("", _text_of(source))
    return rewrite(text, weights, [*header, EARLIER] if "#" in text else header, terms)


def install(paths: WeightsPaths, content: bytes, say: Say, report: Mapping[Path, bytes] | None = None) -> None:
    """Replace the weights, keep the old file and write the report; raises OSError, and then changes nothing.

    The weights come last: once they are new, all is done, and until then the same command does it again.
    """
    replaced = paths.target if is_there(paths.target) else paths.source
    kept: dict[Path, bytes] = {}
    if paths.takes_effect or is_there(paths.target):
        kept[paths.old] = read_user_file(replaced, WEIGHTS)
    write_together({**kept, **(report or {}), paths.target: content})
    for path in kept:
        say(f"Old values saved in file '{path}'")
    say(f"New values in file '{paths.target}'")


def use(asked: Path, paths: WeightsPaths, say: Say) -> Path:
    """Put the weights of the file `asked` in use; returns their file. Raises LearnError, WeightsError and OSError."""
    load_any(asked)
    paths.check_writable()
    if _file_of(asked) == _file_of(paths.target):
        raise LearnError(f"'{asked}' is the file in use")
    install(paths, read_user_file(asked, WEIGHTS), say)
    return paths.target


@dataclass(frozen=True)
class Candidate:
    """New weights before the decision whether to use them: old and new values, and the new file's content."""

    request: LearnRequest
    paths: WeightsPaths
    old: np.ndarray
    new: np.ndarray
    content: bytes
    terms: TermSet = TERMS

    def try_and_install(
        self,
        trial: StrengthTest,
        command: str,
        events: Events,
        report: Callable[[InstallOutcome], Mapping[Path, bytes]],
        was_stopped: bool = False,
        executor: Executor | None = None,
    ) -> InstallOutcome:
        """Put them in use if they pass the match, or at once if none is wanted; else leave them in the file `beside`.

        `trial` is the match, unless the request asks for another. `command` is the name of `learn` in hints. `report`
        gives the files to write together with the weights. If the fit was interrupted (`was_stopped`), no match is
        played. `executor` plays the match, None for threads of this process. Raises OSError, and LearnError once a
        file has been written.
        """
        run = _Installing(self, STRONGER if self.request.prove else trial, command, events, report, executor)
        if not self.request.plays_match or not self.paths.takes_effect:
            return run.install_at_once()
        write_whole(self.paths.beside, self.content)
        with standing(f"the new weights are in '{self.paths.beside}', and not in use"):
            if was_stopped:
                return run.leave_beside(Verdict.STOPPED)
            return run.install_if_they_pass()


@dataclass(frozen=True)
class _Installing:
    """The installation of a candidate, and what it needs at each step."""

    candidate: Candidate
    trial: StrengthTest
    command: str
    events: Events
    report: Callable[[InstallOutcome], Mapping[Path, bytes]]
    executor: Executor | None

    @property
    def paths(self) -> WeightsPaths:
        return self.candidate.paths

    def install_if_they_pass(self) -> InstallOutcome:
        """Put the weights, which are in the file `beside`, in use if they pass their match."""
        beside = self.paths.beside
        proof = self._play(beside)
        verdict, match = _verdict_of(proof), proof.as_json((beside.name, self.paths.source.name))
        if verdict is not Verdict.PASSED:
            return self.leave_beside(verdict, match)
        outcome = InstallOutcome(verdict, self.paths.target, True, match)
        install(self.paths, self.candidate.content, self.events.say, self.report(outcome))
        with standing(outcome.state):
            beside.unlink(missing_ok=True)
            if self.trial is not STRONGER:
                self._offer(self.paths.target)
        return outcome

    def install_at_once(self) -> InstallOutcome:
        """Write them without a match, or with one that decides nothing because the weights in use do not change."""
        target, in_use = self.paths.target, self.paths.takes_effect
        outcome = InstallOutcome(Verdict.NO_MATCH, target, in_use)
        install(self.paths, self.candidate.content, self.events.say, self.report(outcome))
        with standing(outcome.state):
            if not in_use:
                self.events.say("Nothing in use changes.")
            if self.candidate.request.prove:
                proof = self._play(target)
                match = proof.as_json((target.name, self.paths.source.name))
                return replace(outcome, verdict=_verdict_of(proof), match=match)
            self._offer(target)
        return outcome

    def leave_beside(self, verdict: Verdict, match: dict[str, Any] | None = None) -> InstallOutcome:
        """Leave them in the file `beside`, and say why and how to use them; `match` is the result of their match."""
        beside, target, request = self.paths.beside, self.paths.target, self.candidate.request
        why = {
            Verdict.STOPPED: "learning was interrupted, and no match has shown what they are worth",
            Verdict.FAILED: "the match does not find them as good as the old ones, although their error is lower",
            Verdict.UNDECIDED: "so many games do not decide whether they are as good as the old ones",
            Verdict.INTERRUPTED: "the match was interrupted before it was settled",
        }[verdict]
        self.events.say(f"Not installed: {why}.")
        self.events.say(f"The new weights are in file '{beside}'; those in use stay as they were.")
        self.events.say("To use the new ones at once:")
        where = f" --weights '{target}'" if request.weights or request.out else ""
        self.events.say(f"    {self.command} --use '{beside}'{where}")
        if verdict is Verdict.FAILED:
            self.events.say("Merino's own games may teach it more: merino selfplay 5000 writes some to learn from.")
        else:
            self.events.say("The match that goes on until it is settled:")
            self.events.say(f"    {offer(beside, self.paths.source)}")
        return InstallOutcome(verdict, beside, False, match)

    def _play(self, new: Path) -> Proof:
        trial, request = self.trial, self.candidate.request
        time_control, most = trial.time_control, trial.most_games
        self.events.say("A lower error is not yet more strength: a match of the new weights against the old decides.")
        self.events.say(
            f"It takes {most} games at most, {time_control} a move: {trial.takes}. Ctrl-C ends it, --no-match skips it."
        )
        players = (
            OwnPlayer(new.name, LinearEvaluation(self.candidate.new, terms=self.candidate.terms)),
            OwnPlayer(self.paths.source.name, LinearEvaluation(self.candidate.old, terms=self.candidate.terms)),
        )
        return prove(*players, trial, self.events.say, self.events.match_state, request.concurrency, self.executor)

    def _offer(self, new: Path) -> None:
        """Suggest the match that would show more strength."""
        old = self.paths.old if self.paths.target.samefile(self.paths.source) else self.paths.source
        self.events.say("A lower error is not yet more strength; this match proves it, or not:")
        self.events.say(f"    {offer(new, old)}")


def _verdict_of(proof: Proof) -> Verdict:
    if proof.verdict:
        return Verdict.PASSED if proof.verdict == "H1" else Verdict.FAILED
    return Verdict.INTERRUPTED if proof.interrupted else Verdict.UNDECIDED


def _with_ending(path: Path, ending: str) -> Path:
    """The path with this ending instead of its own, or added if it has it already."""
    return path.with_name(path.name + ending) if path.suffix == ending else path.with_suffix(ending)


def _text_of(path: Path) -> str:
    """The text of a weights file with its own line ends."""
    return read_user_file(path, WEIGHTS).decode(errors="replace")
