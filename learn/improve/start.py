"""The start of a run of `improve`: in a new folder from given weights, or where the last run stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merino.inner.eval.linear.weights import active_file, load_any
from merino.inner.learn.errors import LearnError
from merino.inner.learn.improve.learner import TermsLearner
from merino.inner.learn.improve.plan import Plan
from merino.inner.learn.improve.state import Folder, ImproveState
from merino.inner.learn.installing import weights_paths
from merino.inner.learn.learning import start_of
from merino.inner.learn.request import Events
from merino.inner.learn.rounds.loop import Finished, Loop, Until


def begin(
    path: Path,
    weights: str | None,
    given: Mapping[str, Any],
    until: Until,
    events: Events,
    threads: int | None = None,
) -> Finished[ImproveState]:
    """Run in the folder `path`, from the file `weights`, None for those in use; `given` are settings of the Plan.

    An existing folder keeps its settings, and `given` must agree with them. Weights are put in use only if the run
    began with those in use. Raises LearnError, WeightsError, MatchError and OSError.
    """
    with Folder(path) as folder:
        state = folder.load()
        if state is None:
            state = _new(weights, given)
        else:
            _check_same(path, state, weights, given)
            events.say(f"Continuing in '{path}' after {len(state.rounds)} rounds")
        paths = weights_paths(None) if state.changes_use else None
        if paths is not None:
            paths.check_writable()
        return Loop(folder, state, TermsLearner(folder, events.say, paths), until, events, threads).run()


def _new(weights: str | None, given: Mapping[str, Any]) -> ImproveState:
    """The state of a new folder; raises LearnError and WeightsError."""
    source = active_file(weights)
    terms, start = load_any(source)
    plan = Plan(**given, set=terms.name).check()
    start = start_of(start, plan.phases, len(terms))
    return ImproveState(
        plan=plan, start_name=str(source.absolute()), changes_use=weights is None, weights=tuple(start.tolist())
    )


def _check_same(path: Path, state: ImproveState, weights: str | None, given: Mapping[str, Any]) -> None:
    """Raise LearnError if `given` or the start differs from that of the folder."""
    state.plan.check_same(given, path)
    if weights is not None and active_file(weights).absolute() != Path(state.start_name).absolute():
        raise LearnError(f"'{path}' began with '{state.start_name}', not '{weights}'; give a new folder")
