"""A run of `merino night` that the server carries out, whether or not a tab looks on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from merino.inner.app.explorer.stopping import FAULTS
from merino.inner.core.common.user_files import user_folder
from merino.inner.core.common.work import cores
from merino.inner.learn.night.start import begin
from merino.inner.learn.request import Events
from merino.inner.learn.rounds.loop import Until
from merino.inner.study.probes.nights import keep_probes, probes_of

MAX_HOURS = 24


def usual_folder() -> Path:
    """Where `merino night` keeps its work."""
    return user_folder("data") / "night"


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

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)

    def as_json(self) -> dict[str, Any]:
        """What it does, in words, and what has gone wrong, empty for nothing."""
        return {"running": self.is_running, "hours": self._hours, "doing": self._doing, "error": self._error}

    def _run(self) -> None:
        events = Events(say=self._tell, progressed=self._progressed, match_state=self._tell)
        threads = max(1, cores() - 1)  # so that the page is answered meanwhile
        try:
            state = begin(usual_folder(), None, {}, Until(hours=self._hours), events, threads).state
            self._doing = "Asking the nets what they know"
            keep_probes(usual_folder(), state, probes_of(usual_folder(), state))
        except (*FAULTS, OSError) as error:
            self._error = str(error)

    def _tell(self, line: str) -> None:
        self._doing = line.strip()
        if self._is_stopped:
            raise KeyboardInterrupt  # as the loop expects it, which keeps what was done

    def _progressed(self, what: str, done: float | None) -> None:
        self._tell(what if done is None else f"{what} {done:.0%}")
