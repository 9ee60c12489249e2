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
from merino.inner.eval.linear.weights import (
    ENVIRONMENT_VARIABLE,
    SHIPPED,
    active_file,
    as_mapping,
    load,
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


def text_with(source: Path, weights: np.ndarray, header: Iterable[str]) -> str:
    """The text of the file of new weights: that of `source` with its comments, the new values, and `header` on top.

    The comments of a file that comes with Merino describe its own values and are left out, as is an older header.
    """
    if _file_of(source).parent == SHIPPED:
        return render(as_mapping(weights), header)
    text = _OUR_COMMENTS.sub("", _text_of(source))
    return rewrite(text, weights, [*header, EARLIER] if "#" in text else header)


def install(paths: WeightsPaths, content: bytes, say: Say, report: Mapping[Path, bytes] | None = None) -> None:
    """Replace the weights, keep the old file and write the report; raises OSError, and then changes nothing.

    The weights come last: once they are new, all is done, and until then the same command does it again.
    """
    replaced = paths.target if is_there(paths.target) else paths.source
    write_together({paths.old: read_user_file(replaced, WEIGHTS), **(report or {}), paths.target: content})
    say(f"Old values saved in file '{paths.old}'")
    say(f"New values in file '{paths.target}'")


def use(asked: Path, paths: WeightsPaths, say: Say) -> Path:
    """Put the weights of the file `asked` in use; returns their file. Raises LearnError, WeightsError and OSError."""
    load(asked)
    paths.check_writable()
    if _file_of(asked) == _file_of(paths.target):
        raise LearnError(f"'{asked}' is the file in use")
    install(paths, read_user_file(asked, WEIGHTS), say)
    return paths.target


class Candidate:
    """New weights before the decision whether to use them."""

    def __init__(
        self,
        request: LearnRequest,
        paths: WeightsPaths,
        old: np.ndarray,
        new: np.ndarray,
        text: str,
        events: Events,
        report: Callable[[InstallOutcome], Mapping[Path, bytes]],
    ) -> None:
        """`report` gives the files to write together with the weights."""
        self._report = report
        self._request, self._paths, self._events, self._say = request, paths, events, events.say
        self._old, self._new, self._content = old, new, text.encode()
        self._executor: Executor | None = None

    def try_and_install(
        self, trial: StrengthTest, command: str, was_stopped: bool = False, executor: Executor | None = None
    ) -> InstallOutcome:
        """Put them in use if they pass the match, or at once if none is wanted; else leave them in the file `beside`.

        `trial` is the match, unless the request asks for another. `command` is the name of `learn` in hints. If the
        fit was interrupted (`was_stopped`), no match is played. `executor` plays the match, None for threads of this
        process. Raises OSError, and LearnError once a file has been written.
        """
        self._executor = executor
        if self._request.prove:
            trial = STRONGER
        if not self._request.plays_match or not self._paths.takes_effect:
            return self._install_at_once(trial)
        write_whole(self._paths.beside, self._content)
        with standing(f"the new weights are in '{self._paths.beside}', and not in use"):
            if was_stopped:
                return self._leave_beside(Verdict.STOPPED, command)
            return self._install_if_they_pass(trial, command)

    def _install_if_they_pass(self, trial: StrengthTest, command: str) -> InstallOutcome:
        beside = self._paths.beside
        proof = self._play(trial, beside)
        verdict, match = _verdict_of(proof), proof.as_json((beside.name, self._paths.source.name))
        if verdict is not Verdict.PASSED:
            return self._leave_beside(verdict, command, match)
        outcome = InstallOutcome(verdict, self._paths.target, True, match)
        install(self._paths, self._content, self._say, self._report(outcome))
        with standing(outcome.state):
            beside.unlink(missing_ok=True)
            if trial is not STRONGER:
                self._offer(self._paths.target)
        return outcome

    def _install_at_once(self, trial: StrengthTest) -> InstallOutcome:
        """Write them without a match, or with one that decides nothing because the weights in use do not change."""
        target, in_use = self._paths.target, self._paths.takes_effect
        outcome = InstallOutcome(Verdict.NO_MATCH, target, in_use)
        install(self._paths, self._content, self._say, self._report(outcome))
        with standing(outcome.state):
            if not in_use:
                self._say("Nothing in use changes.")
            if self._request.prove:
                proof = self._play(trial, target)
                match = proof.as_json((target.name, self._paths.source.name))
                return replace(outcome, verdict=_verdict_of(proof), match=match)
            self._offer(target)
        return outcome

    def _play(self, trial: StrengthTest, new: Path) -> Proof:
        time_control, most = trial.time_control, trial.most_games
        self._say("A lower error is not yet more strength: a match of the new weights against the old decides.")
        self._say(
            f"It takes {most} games at most, {time_control} a move: {trial.takes}. Ctrl-C ends it, --no-match skips it."
        )
        players = (
            OwnPlayer(new.name, LinearEvaluation(self._new)),
            OwnPlayer(self._paths.source.name, LinearEvaluation(self._old)),
        )
        return prove(*players, trial, self._say, self._events.match_state, self._request.concurrency, self._executor)

    def _offer(self, new: Path) -> None:
        """Suggest the match that would show more strength."""
        old = self._paths.old if self._paths.target.samefile(self._paths.source) else self._paths.source
        self._say("A lower error is not yet more strength; this match proves it, or not:")
        self._say(f"    {offer(new, old)}")

    def _leave_beside(self, verdict: Verdict, command: str, match: dict[str, Any] | None = None) -> InstallOutcome:
        """Leave them in the file `beside`, and say why and how to use them; `match` is the result of their match."""
        beside, target = self._paths.beside, self._paths.target
        why = {
            Verdict.STOPPED: "learning was interrupted, and no match has shown what they are worth",
            Verdict.FAILED: "the match does not find them as good as the old ones, although their error is lower",
            Verdict.UNDECIDED: "so many games do not decide whether they are as good as the old ones",
            Verdict.INTERRUPTED: "the match was interrupted before it was settled",
        }[verdict]
        self._say(f"Not installed: {why}.")
        self._say(f"The new weights are in file '{beside}'; those in use stay as they were.")
        self._say("To use the new ones at once:")
        where = f" --weights '{target}'" if self._request.weights or self._request.out else ""
        self._say(f"    {command} --use '{beside}'{where}")
        if verdict is Verdict.FAILED:
            self._say("Merino's own games may teach it more: merino selfplay 5000 writes some to learn from.")
        else:
            self._say("The match that goes on until it is settled:")
            self._say(f"    {offer(beside, self._paths.source)}")
        return InstallOutcome(verdict, beside, False, match)


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
