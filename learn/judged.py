"""A fit that has been judged: what the stage that judges hands to the stage that installs, and the files of the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merino.inner.core.common.files import check_writable
from merino.inner.core.common.sealed import as_json
from merino.inner.eval.linear.registry import TermSet
from merino.inner.learn.installing import InstallOutcome, WeightsPaths, named_path, weights_paths
from merino.inner.learn.learning import Learned
from merino.inner.learn.record import RECORD_NAME
from merino.inner.learn.report import Summary
from merino.inner.learn.request import LearnRequest, Say
from merino.inner.learn.tables import as_csv, render


@dataclass(frozen=True)
class RunFiles:
    """The files of a run: the weights, and record and table, None if they are not wanted."""

    weights: WeightsPaths
    record: Path | None
    csv: Path | None

    def plays_match(self, request: LearnRequest) -> bool:
        """Whether a match decides about new weights before they are written."""
        return request.plays_match and self.weights.takes_effect and not request.dry_run

    def check(self, request: LearnRequest) -> None:
        """Raise LearnError or OSError if one of them could not be written after the work."""
        if not request.dry_run:
            self.weights.check_writable()
            if self.plays_match(request):
                self.weights.check_beside()
        for path in (self.record, self.csv):
            if path is not None:
                check_writable(path)


def files_of(request: LearnRequest) -> RunFiles:
    """The files that a request names, or that it leaves to their usual places; raises LearnError."""
    paths = weights_paths(request.weights, request.out)
    record = None if request.dry_run else paths.target.parent / RECORD_NAME
    if request.record:
        record = named_path(request.record)
    return RunFiles(paths, record, named_path(request.csv) if request.csv else None)


@dataclass(frozen=True)
class Judged:
    """A request with the fit of this set that answers it, its summary, and its record, plain data, if one is wanted."""

    request: LearnRequest
    terms: TermSet
    files: RunFiles
    learned: Learned
    summary: Summary
    record: dict[str, Any] | None

    def tell(self, say: Say) -> None:
        """Report the result."""
        if self.learned.interrupted:
            say("Interrupted: the best so far is kept.")
        for line in render(self.summary, self.request.settings.root_of_sum):
            say(line)

    def summary_with(self, outcome: InstallOutcome) -> Summary:
        """The summary with the verdict on the new weights."""
        written = None if outcome.written is None else str(outcome.written)
        verdict, match = str(outcome.verdict), outcome.match
        return replace(self.summary, verdict=verdict, written=written, in_use=outcome.in_use, match=match)

    def report(self, outcome: InstallOutcome) -> dict[Path, bytes]:
        """Record and table, once it is known what becomes of the new weights."""
        summary, found = self.summary_with(outcome), dict[Path, bytes]()
        if self.files.record is not None and self.record is not None:
            found[self.files.record] = as_json(self.record | {"summary": summary.as_json()})
        if self.files.csv is not None:
            found[self.files.csv] = as_csv(summary).encode()
        return found
