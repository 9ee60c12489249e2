"""The start of a run of `night`: in a new folder from a net or from nothing, or where the last run stopped."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from merino.core.common.files import write_whole
from merino.core.common.sealed import writable
from merino.core.common.text import counted
from merino.core.common.user_files import is_there
from merino.eval.families import EvaluationFile, read_net
from merino.eval.net.file import digest, net_in
from merino.eval.net.network import Shape
from merino.lab.nets.bearing import games_to_teach
from merino.lab.nets.gpu import check_gpu
from merino.lab.nets.night.learner import NetLearner
from merino.lab.nets.night.state import (
    NOTHING,
    START_NET,
    START_TERMS,
    NightFolder,
    NightPlan,
    NightState,
    nothing_text,
)
from merino.lab.nets.training import learned_by
from merino.learn.errors import LearnError
from merino.learn.request import Events
from merino.learn.rounds.loop import Finished, Loop, Until

DEFAULT_START = "gen13"  # the strongest net that comes with Merino


def begin(
    path: Path,
    start: str | None,
    given: Mapping[str, Any],
    until: Until,
    events: Events,
    threads: int | None = None,
    executor: Executor | None = None,
) -> Finished[NightState]:
    """Run in the folder `path`, from a net or "nothing"; `given` are settings of the NightPlan.

    `start` is a file or the name of a net that comes with Merino, None for DEFAULT_START or that of the folder. An
    existing folder keeps its settings and start, and what is given must agree with them. `executor` plays the games.
    Raises LearnError, TrainingError, EvaluationError, PackedError, MatchError and OSError.
    """
    with NightFolder(path) as folder:
        state = folder.load()
        if state is None:
            source = None if start == NOTHING else read_net(start or DEFAULT_START)
            state = _new(source, given)
        else:
            state.plan.check_same(given, path)
            source = _source_of(path, state, start)
            events.say(f"Continuing in '{path}' after {counted(len(state.rounds), 'generation')}")
        if state.plan.gpu:
            usual = Shape() if source is None else net_in(source.content, source.path).shape
            check_gpu(state.plan.asked_shape or usual, pqr=False)  # of all that it trains
        folder.save(state)
        _keep_start(path, state, source)
        return Loop(folder, state, NetLearner(folder), until, events, threads, executor).run()


def _new(source: EvaluationFile | None, given: Mapping[str, Any]) -> NightState:
    """The state of a new folder; raises LearnError and EvaluationError."""
    if source is None:
        return NightState(plan=NightPlan(**given).check(), start_name=NOTHING)
    net = net_in(source.content, source.path)
    plan = NightPlan(**{"games": games_to_teach(learned_by(net)), **given}).check()
    return NightState(plan=plan, start_name=str(writable(str(source.path))), start_hash=digest(net))


def _source_of(path: Path, state: NightState, start: str | None) -> EvaluationFile | None:
    """The file that the run began with, if it is needed or given again; raises LearnError and EvaluationError."""
    if start == NOTHING or start is None and state.is_from_nothing:
        source, found = None, ""
    elif start is None and is_there(path / START_NET):
        return None
    else:
        source = read_net(start or state.start_name)
        found = digest(net_in(source.content, source.path))
    if found != state.start_hash and start is None:
        raise LearnError(
            f"'{path / START_NET}' is missing, and '{state.start_name}' is another net than this run began with: "
            "put one of them back, or give a new folder"
        )
    if found != state.start_hash:
        raise LearnError(f"'{path}' began with '{state.start_name}', and not '{start}'; give a new folder")
    return source


def _keep_start(path: Path, state: NightState, source: EvaluationFile | None) -> None:
    """Put the start into the folder, unless it is there; raises OSError."""
    if state.is_from_nothing:
        if not is_there(path / START_TERMS):
            write_whole(path / START_TERMS, nothing_text().encode())
    elif source is not None and not is_there(path / START_NET):
        write_whole(path / START_NET, source.content)
