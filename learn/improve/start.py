"""The start of a run of `improve`: in a new folder from given weights, or where the last run stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merino.inner.eval.linear.sets import set_named
from merino.inner.eval.linear.weights import active_file, load_any
from merino.inner.learn.errors import LearnError
from merino.inner.learn.improve.learner import TermsLearner
from merino.inner.learn.improve.state import Folder, ImproveState, Plan
from merino.inner.learn.request import Events, start_of
from merino.inner.learn.rounds.loop import Finished, Loop, Until
from merino.inner.learn.rounds.state import pieces_alone
from merino.inner.learn.run_files import weights_paths


def begin(
    path: Path,
    weights: str | None,
    given: Mapping[str, Any],
    until: Until,
    events: Events,
    threads: int | None = None,
    of_set: str | None = None,
) -> Finished[ImproveState]:
    """Run in the folder `path`, from the file `weights`, None for those in use; `given` are settings of the Plan.

    With `of_set`, the name of a set of terms, it runs from the values of the pieces alone, and `weights` is None.
    An existing folder keeps its settings, and `given` must agree with them. Weights are put in use only if the run
    began with those in use. Raises LearnError, WeightsError, MatchError and OSError.
    """
    with Folder(path) as folder:
        state = folder.load()
        if state is None:
            state = _new(weights, given, of_set)
        else:
            _check_same(path, state, weights, given, of_set)
            events.say(f"Continuing in '{path}' after {len(state.rounds)} rounds")
        paths = weights_paths(None) if state.changes_use else None
        if paths is not None:
            paths.check_writable()
        return Loop(folder, state, TermsLearner(folder, events.say, paths), until, events, threads).run()


def _new(weights: str | None, given: Mapping[str, Any], of_set: str | None) -> ImproveState:
    """The state of a new folder; raises LearnError and WeightsError."""
    if of_set is None:
        terms, start = load_any(active_file(weights))
    else:
        terms = set_named(of_set)
        start = pieces_alone(terms)
    plan = Plan(**given, set=terms.name).check()
    start = start_of(start, plan.phases, len(terms))
    return ImproveState(
        plan=plan,
        start_name=_name_of(weights, of_set),
        changes_use=weights is None and of_set is None,
        weights=tuple(start.tolist()),
    )


def _name_of(weights: str | None, of_set: str | None) -> str:
    """What a run begins with, as its state keeps it."""
    return str(active_file(weights).absolute()) if of_set is None else f"the pieces alone, set {of_set}"


def _check_same(
    path: Path, state: ImproveState, weights: str | None, given: Mapping[str, Any], of_set: str | None
) -> None:
    """Raise LearnError if `given` or the start differs from that of the folder."""
    state.plan.check_same(given, path)
    asked = _name_of(weights, of_set)
    if (weights is not None or of_set is not None) and asked != state.start_name:
        raise LearnError(f"'{path}' began with '{state.start_name}', not '{weights or asked}'; give a new folder")
