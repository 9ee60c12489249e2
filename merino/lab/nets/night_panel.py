"""The panel of nets that are made by themselves: a run that the server carries out, and reports of runs."""

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from merino.app.explorer.channel import FAULTS, Message, reason_of
from merino.app.explorer.state import Fields, RequestError, ServerState
from merino.core.common import files, work
from merino.lab.nets import night as nights
from merino.learn import request
from merino.learn.improve.rounds import Until

NIGHT = "night"  # the run in `ServerState.kept`
MAX_HOURS = 24
PATIENCE = 5.0  # seconds for a run to keep its work where the server ends; one that is cut off loses little


def night(_: Fields, state: ServerState) -> Message:
    """GET /api/night: the report of the run in the user's folder, null where there is none; `run` at work, or null."""
    path = nights.NightState.place(usual_folder())
    found = report(nights.NightState.load(path), str(path.parent)) if files.is_there(path) else None
    return {"night": found, "run": _run_of(state), "place": str(path.parent)}


def _run_of(state: ServerState) -> Message | None:
    return state.kept[NIGHT].as_json() if NIGHT in state.kept else None


def start_night(fields: Fields, state: ServerState) -> Message:
    """POST /api/night/start: a run of so many `hours`; there is one at a time."""
    hours = fields.number("hours", 1, MAX_HOURS)
    if hours is None:
        raise RequestError("a night needs its 'hours'")
    with state.beginning:
        if NIGHT in state.kept and state.kept[NIGHT].is_alive():
            raise RequestError("a night is already at work: stop it first")
        run = state.kept[NIGHT] = ServerNight(hours)
        run.start()
        state.at_end.append(run.end)
    return {"run": run.as_json()}


def stop_night(_: Fields, state: ServerState) -> Message:
    """POST /api/night/stop: end the run, which keeps its work."""
    if NIGHT in state.kept:
        state.kept[NIGHT].is_stopped = True
    return {"run": _run_of(state)}


def report(state: nights.NightState, place: str) -> dict[str, Any]:
    """The generations as plain data, and how it went in a sentence."""
    return {
        "place": place,
        "start": state.start_name,
        "plan": asdict(state.plan),
        "generations": nights.as_plain(state),
        "ladder": nights.ladder_of(state),
        "best": state.last_proven,
        "summary": nights.summary(state)[-1],
    }


def usual_folder() -> Path:
    """Where `merino night` keeps its work."""
    return files.user_folder("data") / nights.DEFAULT_FOLDER


class ServerNight(threading.Thread):
    """A run in the usual folder until its hours are over or it is stopped; it resumes, and keeps, the work so far."""

    def __init__(self, hours: int) -> None:
        super().__init__(name="night", daemon=True)
        self._hours, self._doing, self._error = hours, "Starting; this part is compiled first, once", ""
        self.is_stopped = False

    def end(self) -> None:
        """End it, and wait a moment for it to keep its work."""
        self.is_stopped = True
        self.join(PATIENCE)

    def as_json(self) -> dict[str, Any]:
        """What it does, in words, and what has gone wrong, empty for nothing."""
        return {"running": self.is_alive(), "hours": self._hours, "doing": self._doing, "error": self._error}

    def run(self) -> None:
        """See Thread."""
        events = request.Events(say=self._progress, progressed=self._progressed, match_state=self._progress)
        threads = max(1, work.cores() - 1)  # so that the page is answered meanwhile
        try:
            nights.begin(usual_folder(), None, {}, Until(hours=self._hours), events, threads)
        except KeyboardInterrupt:
            pass  # stopped before or after the loop, which has kept its work
        except FAULTS as error:
            self._error = reason_of(error)

    def _progress(self, line: str) -> None:
        self._doing = line.strip()
        if self.is_stopped:
            raise KeyboardInterrupt  # as the loop expects it, which keeps what was done

    def _progressed(self, what: str, done: float | None) -> None:
        self._progress(what if done is None else f"{what} {done:.0%}")
