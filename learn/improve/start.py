"""The start of a run of `improve`: in a new folder from given weights, or where the last run stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merino.inner.eval.linear.weights import active_file, load_any
from merino.inner.learn.errors import LearnError
from merino.inner.learn.improve.loop import Improvement, Improver, Until
from merino.inner.learn.improve.plan import Plan
from merino.inner.learn.improve.state import Folder, LoopState
from merino.inner.learn.installing import weights_paths
from merino.inner.learn.learning import start_of
from merino.inner.learn.request import Events


def begin(
    path: Path,
    weights: str | None,
    given: Mapping[str, Any],
    until: Until,
    events: Events,
    threads: int | None = None,
) -> Improvement:
    """Run in the folder `path`, from the file `weights`, None for those in use; `given` are settings of the Plan.

    An existing folder keeps its settings, and `given` must agree with them. Weights are put in use only if the run
    began with those in use. Raises LearnError, WeightsError, MatchError and OSError.
    """
    with Folder(path) as folder:
        state = folder.load()
        if state is None:
            source = active_file(weights)
            terms, start = load_any(source)
            plan = check(Plan(**given, set=terms.name))
            start = start_of(start, plan.phases, len(terms))
            state = LoopState(plan, str(source.absolute()), weights is None, tuple(start.tolist()))
        else:
            _check_same(path, state, weights, given)
            events.say(f"Continuing in '{path}' after {len(state.rounds)} rounds")
        paths = weights_paths(None) if state.changes_use else None
        if paths is not None:
            paths.check_writable()
        return Improver(folder, state, until, events, threads, paths).run()


def check(plan: Plan) -> Plan:
    """The plan, if its numbers make sense together; raises LearnError."""
    last, terms = plan.last or len(plan.terms), len(plan.terms)
    if not 1 <= plan.first <= last <= terms:
        raise LearnError(f"terms are numbered 1..{terms}, first before last; not {plan.first} {last}")
    if plan.phases not in (1, 2):
        raise LearnError(f"a weight has one value or two, not {plan.phases}")
    if not 0 <= plan.share <= 1:
        raise LearnError(f"the share of the result is from 0 to 1, not {plan.share:g}")
    if plan.elo0 >= plan.elo1:
        raise LearnError(f"the test needs elo0 below elo1, not {plan.elo0:g} and {plan.elo1:g}")
    return plan


def _check_same(path: Path, state: LoopState, weights: str | None, given: Mapping[str, Any]) -> None:
    """Raise LearnError if `given` differs from the settings of the folder."""
    mine = state.plan.as_json()
    other = [name for name, value in given.items() if mine[name] != value]
    if other:
        differing = ", ".join(f"{name} {_shown(mine[name])}, not {_shown(given[name])}" for name in other)
        raise LearnError(f"'{path}' has other settings: {differing}; leave them out, or give a new folder")
    if weights is not None and active_file(weights).absolute() != Path(state.start_name).absolute():
        raise LearnError(f"'{path}' began with '{state.start_name}', not '{weights}'; give a new folder")


def _shown(value: float | str | None) -> str:
    """A setting in an error."""
    return f"{value:g}" if isinstance(value, int | float) else str(value or "unlimited")
