"""The stage that installs: new weights are tried in a match and put in use, or left beside; old files are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.files import write_together, write_whole
from merino.core.common.sealed import as_json
from merino.core.common.user_files import WEIGHTS, is_there, read_user_file
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.weights import LEARNED, SHIPPED, as_mapping, note_of_k, render, rewrite
from merino.formats.sources import name_of
from merino.learn.errors import standing
from merino.learn.judging import Judged
from merino.learn.report import Summary
from merino.learn.request import LearnRequest, Say
from merino.learn.run import LearnRun, RunFiles, WeightsPaths, file_at, text_of
from merino.learn.tables import as_csv
from merino.match.players import OwnPlayer
from merino.match.prove import STRONGER, Proof, offer, prove

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


def text_with(source: Path, weights: np.ndarray, header: Iterable[str], terms: TermSet = TERMS) -> str:
    """The text of the file of new weights: that of `source` with its comments, the new values, and `header` on top.

    The comments of a file that comes with Merino describe its own values and are left out, as is an older header.
    """
    if file_at(source).parent == SHIPPED:
        return render(as_mapping(weights, terms), header, terms)
    text = _OUR_COMMENTS.sub("", text_of(source))
    return rewrite(text, weights, [*header, EARLIER] if "#" in text else header, terms)


def replace_weights(paths: WeightsPaths, content: bytes, say: Say, report: Mapping[Path, bytes] | None = None) -> None:
    """Replace the weights, keep the old file and write the report; raises OSError, and then changes nothing.

    The weights come last: once they are new, all is done, and until then the same command does it again. If they are
    new already, the old file that is kept stays: it has the values from before them.
    """
    replaced = paths.target if is_there(paths.target) else paths.source
    kept: dict[Path, bytes] = {}
    if paths.takes_effect or is_there(paths.target):
        old = read_user_file(replaced, WEIGHTS)
        if old != content:
            kept[paths.old] = old
    write_together({**kept, **(report or {}), paths.target: content})
    for path in kept:
        say(f"Old values saved in file '{path}'")
    say(f"New values in file '{paths.target}'")


def install(judged: Judged, run: LearnRun) -> InstallOutcome:
    """Put new weights in use if they pass their match, or at once if none is wanted; else leave them beside.

    If the fit was interrupted, no match is played. Raises OSError, and LearnError once a file has been written.
    """
    paths = run.files.weights
    if not judged.learned.accepted or run.files.is_dry:
        return _change_nothing(judged, run.events.say)
    header = _header(judged, paths.source)
    text = text_with(paths.source, judged.learned.end.weights, header, judged.task.terms)
    new = _Installing(judged, run, text.encode())
    if not run.files.compares:
        return new.install_at_once()
    write_whole(paths.beside, new.content)
    with standing(f"the new weights are in '{paths.beside}', and not in use"):
        return new.leave_beside(Verdict.STOPPED) if judged.learned.interrupted else new.install_if_they_pass()


def _change_nothing(judged: Judged, say: Say) -> InstallOutcome:
    """Write no new weights, and say why."""
    if judged.learned.accepted:
        say("Better, but this is a dry run: no weights are written, and no match is played.")
        return InstallOutcome(Verdict.DRY_RUN)
    if judged.summary.is_worse:
        say("Not accepted: on games not learned from, the error got worse. The weights stay as they were.")
    else:
        say("Not accepted: on games not learned from, the gain is not beyond doubt. The weights stay as they were.")
    say(
        f"What may help: more games than these {judged.summary.games}, best Merino's own (merino selfplay 5000 writes "
        "some), fewer terms, or a stronger pull to the old weights (--prior 0.1)."
    )
    return InstallOutcome(Verdict.NOT_BETTER)


def _header(judged: Judged, source: Path) -> list[str]:
    """The origin of the weights, which were learned from those in `source`, for the top of their file."""
    request, summary = judged.task.request, judged.summary
    settings, names = request.settings, ", ".join(name_of(Path(name)) for name in request.files)
    return [
        f"{LEARNED} {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}, starting at {source.name}",
        f"terms {settings.moving}, {settings.method}, decay {settings.decay or 'off'}, "
        f"target {settings.target.name}, seed {settings.seed}, {note_of_k(judged.learned.end.k)}",
        f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
        f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
    ]


def summary_with(judged: Judged, outcome: InstallOutcome) -> Summary:
    """The summary with the verdict on the new weights."""
    written = None if outcome.written is None else str(outcome.written)
    verdict, match = str(outcome.verdict), outcome.match
    return replace(judged.summary, verdict=verdict, written=written, in_use=outcome.in_use, match=match)


def reports(judged: Judged, outcome: InstallOutcome, files: RunFiles) -> dict[Path, bytes]:
    """Record and table, as far as they are wanted, once it is known what becomes of the new weights."""
    summary, found = summary_with(judged, outcome), dict[Path, bytes]()
    if files.record is not None and judged.record is not None:
        found[files.record] = as_json(judged.record | {"summary": summary.as_json()})
    if files.csv is not None:
        found[files.csv] = as_csv(summary).encode()
    return found


@dataclass(frozen=True)
class _Installing:
    """New weights before the decision whether to use them, and the content of their file."""

    judged: Judged
    run: LearnRun
    content: bytes

    @property
    def say(self) -> Say:
        return self.run.events.say

    @property
    def paths(self) -> WeightsPaths:
        return self.run.files.weights

    @property
    def request(self) -> LearnRequest:
        return self.judged.task.request

    def install_if_they_pass(self) -> InstallOutcome:
        """Put the weights, which are in the file `beside`, in use if they pass their match."""
        beside = self.paths.beside
        proof = self._play(beside)
        verdict, match = _verdict_of(proof), proof.as_json((beside.name, self.paths.source.name))
        if verdict is not Verdict.PASSED:
            return self.leave_beside(verdict, match)
        outcome = InstallOutcome(verdict, self.paths.target, True, match)
        replace_weights(self.paths, self.content, self.say, reports(self.judged, outcome, self.run.files))
        with standing(outcome.state):
            beside.unlink(missing_ok=True)
            if self.run.trial is not STRONGER:
                self._offer(self.paths.target)
        return outcome

    def install_at_once(self) -> InstallOutcome:
        """Write them without a match, or with one that decides nothing because the weights in use do not change."""
        target, in_use = self.paths.target, self.paths.takes_effect
        outcome = InstallOutcome(Verdict.NO_MATCH, target, in_use)
        replace_weights(self.paths, self.content, self.say, reports(self.judged, outcome, self.run.files))
        with standing(outcome.state):
            if not in_use:
                self.say("Nothing in use changes.")
            if self.request.prove:
                proof = self._play(target)
                match = proof.as_json((target.name, self.paths.source.name))
                return replace(outcome, verdict=_verdict_of(proof), match=match)
            self._offer(target)
        return outcome

    def leave_beside(self, verdict: Verdict, match: dict[str, Any] | None = None) -> InstallOutcome:
        """Leave them in the file `beside`, and say why and how to use them; `match` is the result of their match."""
        beside, target = self.paths.beside, self.paths.target
        why = {
            Verdict.STOPPED: "learning was interrupted, and no match has shown what they are worth",
            Verdict.FAILED: "the match does not show that they gain on the old ones, although their error is lower",
            Verdict.UNDECIDED: "so many games do not decide whether they gain on the old ones",
            Verdict.INTERRUPTED: "the match was interrupted before it was settled",
        }[verdict]
        self.say(f"Not installed: {why}.")
        self.say(f"The new weights are in file '{beside}'; those in use stay as they were.")
        self.say("To use the new ones at once:")
        where = f" --weights '{target}'" if self.request.weights or self.request.out else ""
        self.say(f"    {self.run.command} --use '{beside}'{where}")
        if verdict is Verdict.FAILED:
            self.say("Merino's own games may teach it more: merino selfplay 5000 writes some to learn from.")
        else:
            self.say("The match that goes on until it is settled:")
            self.say(f"    {offer(beside, self.paths.source)}")
        return InstallOutcome(verdict, beside, False, match)

    def _play(self, new: Path) -> Proof:
        trial, terms, learned = self.run.trial, self.judged.task.terms, self.judged.learned
        time_control, most = trial.time_control, trial.most_games
        self.say("A lower error is not yet more strength: a match of the new weights against the old decides.")
        self.say(
            f"It takes {most} games at most, {time_control} a move: {trial.takes}. Ctrl-C ends it, --no-match skips it."
        )
        players = (
            OwnPlayer(new.name, LinearEvaluation(learned.end.weights, terms=terms)),
            OwnPlayer(self.paths.source.name, LinearEvaluation(learned.start.weights, terms=terms)),
        )
        return prove(*players, trial, self.say, self.run.events.match_state, self.request.concurrency)

    def _offer(self, new: Path) -> None:
        """Suggest the match that would show more strength."""
        old = self.paths.old if self.paths.target.samefile(self.paths.source) else self.paths.source
        self.say("A lower error is not yet more strength; this match proves it, or not:")
        self.say(f"    {offer(new, old)}")


def _verdict_of(proof: Proof) -> Verdict:
    if proof.verdict:
        return Verdict.PASSED if proof.verdict == "H1" else Verdict.FAILED
    return Verdict.INTERRUPTED if proof.interrupted else Verdict.UNDECIDED
