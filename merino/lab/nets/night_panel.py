"""The panel of nets that are made by themselves: a run that the server carries out, and reports of runs."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

from merino.app.explorer.channel import FAULTS, Message, reason_of
from merino.app.explorer.state import Fields, RequestError, ServerState
from merino.core.common.files import is_there, user_folder
from merino.core.common.work import cores
from merino.lab.nets.night import (
    DEFAULT_FOLDER,
    STATE_NAME,
    NightState,
    as_plain,
    begin,
    ladder_of,
    load_state,
    summary,
)
from merino.learn.errors import LearnError
from merino.learn.improve.rounds import Until
from merino.learn.request import Events

NIGHT = "night"  # the run in `ServerState.kept`
MAX_HOURS = 24
PATIENCE = 5.0  # seconds for a run to keep its work where the server ends; one that is cut off loses little


def night(_: Fields, state: ServerState) -> Message:
    """GET /api/night: the report of the run in the user's folder, null where there is none; `run` at work, or null."""
    path = usual_folder() / STATE_NAME
    found = None
    if is_there(path):
        found = report(load_state(path), str(path.parent))
    return {"night": found, "run": _run_of(state), "place": str(path.parent)}


def _run_of(state: ServerState) -> Message | None:
    return state.kept[NIGHT].as_json() if NIGHT in state.kept else None


def start_night(fields: Fields, state: ServerState) -> Message:
    """POST /api/night/start: a run of so many `hours`; there is one at a time."""
    hours = fields.number("hours", 1, MAX_HOURS)
    if hours is None:
        raise RequestError("a night needs its 'hours'")
    with state.beginning:
        if NIGHT in state.kept and state.kept[NIGHT].is_running:
            raise RequestError("a night is already at work: stop it first")
        night = state.kept[NIGHT] = ServerNight(hours)
        state.at_end.append(night.end)
    return {"run": night.as_json()}


def stop_night(_: Fields, state: ServerState) -> Message:
    """POST /api/night/stop: end the run, which keeps its work."""
    if NIGHT in state.kept:
        state.kept[NIGHT].stop()
    return {"run": _run_of(state)}


def read_night(fields: Fields, _: ServerState) -> Message:
    """POST /api/night: the report of a state, the `text` of its night.json."""
    name = fields.text("name", STATE_NAME)[:80]
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        path = Path(folder) / STATE_NAME
        path.write_text(fields.text("text"), encoding="utf-8")
        try:
            return {"night": report(load_state(path), name)}
        except LearnError as error:
            raise LearnError(str(error).replace(str(path), name)) from error


def report(state: NightState, place: str) -> dict[str, Any]:
    """The generations as plain data, and how it went in a sentence."""
    return {
        "place": place,
        "start": state.start_name,
        "plan": state.plan.as_json(),
        "generations": as_plain(state),
        "ladder": ladder_of(state),
        "best": state.last_proven,
        "summary": summary(state)[-1],
    }


def usual_folder() -> Path:
    """Where `merino night` keeps its work."""
    return user_folder("data") / DEFAULT_FOLDER


class ServerNight:
    """A run in the usual folder, on a thread, until its hours are over or it is stopped; both keep the work so far."""

    def __init__(self, hours: int) -> None:
        """Begin it, or go on where the last run in the folder has stopped."""
        self._hours, self._doing, self._error = hours, "Starting; this part is compiled first, once", ""
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="night", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it is at work."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End it soon."""
        self._is_stopped = True

    def end(self) -> None:
        """End it, and wait a moment for it to keep its work."""
        self.stop()
        self._thread.join(PATIENCE)

    def as_json(self) -> dict[str, Any]:
        """What it does, in words, and what has gone wrong, empty for nothing."""
        return {"running": self.is_running, "hours": self._hours, "doing": self._doing, "error": self._error}

    def _run(self) -> None:
        events = Events(say=self._progress, progressed=self._progressed, match_state=self._progress)
        threads = max(1, cores() - 1)  # so that the page is answered meanwhile
        try:
            begin(usual_folder(), None, {}, Until(hours=self._hours), events, threads)
        except KeyboardInterrupt:
            pass  # stopped before or after the loop, which has kept its work
        except FAULTS as error:
            self._error = reason_of(error)

    def _progress(self, line: str) -> None:
        self._doing = line.strip()
        if self._is_stopped:
            raise KeyboardInterrupt  # as the loop expects it, which keeps what was done

    def _progressed(self, what: str, done: float | None) -> None:
        self._progress(what if done is None else f"{what} {done:.0%}")
