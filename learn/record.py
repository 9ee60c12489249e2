"""The record of a run: a JSON file that `learn` leaves beside its log and `merino plot` draws from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from merino.inner.core.common.sealed import from_json
from merino.inner.core.common.user_files import STATE, faults_named, read_user_file
from merino.inner.eval.linear.phases import column_names, phases_of
from merino.inner.eval.linear.registry import TERMS, Term
from merino.inner.learn.calibration import calibration
from merino.inner.learn.errors import LearnError
from merino.inner.learn.gain import Learned
from merino.inner.learn.loss_and_gradient import Samples
from merino.inner.learn.report import Summary
from merino.inner.learn.settings import Settings

FORMAT = "merino learning record 1"
RECORD_NAME = "learning.json"


def record_of(
    sample: Samples,
    learned: Learned,
    settings: Settings,
    summary: Summary,
    files: Sequence[str],
    terms: Sequence[Term] = TERMS,
) -> dict[str, Any]:
    """All that there is to draw of a run, as plain data."""
    began, phases = learned.steps[0].at, phases_of(learned.end.weights, len(terms))
    groups = [term.group.title for term in terms] * phases
    steps = []
    for step in learned.steps:
        train, valid = settings.errors(step.sums)
        weights = [round(float(weight), 3) for weight in step.parameters.weights]
        steps.append(
            {
                "seconds": round(step.at - began, 3),
                "train": train,
                "valid": valid,
                "k": step.parameters.k,
                "weights": weights,
            }
        )
    return {
        "format": FORMAT,
        "files": list(files),
        "settings": asdict(settings),
        "summary": summary.as_json(),
        "terms": [{"name": name, "group": g} for name, g in zip(column_names(terms, phases), groups, strict=True)],
        "free": [int(index) for index in learned.problem.free],
        "steps": steps,
        "calibration": {
            "before": [asdict(each) for each in calibration(sample, learned.start)],
            "after": [asdict(each) for each in calibration(sample, learned.end)],
        },
    }


def load_record(path: Path) -> dict[str, Any]:
    """Read a record; raises LearnError."""
    with faults_named(path, "a record of a run of learn", LearnError):
        record = from_json(read_user_file(path, STATE), str(path))
        if record.get("format") != FORMAT:
            raise ValueError(f'its "format" is not {FORMAT!r}')
    return record
