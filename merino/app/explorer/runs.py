"""The runs of the server on the page, which one tab begins and any may follow: the match and the night."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from merino.app.explorer.fields import Fields, RequestError
from merino.app.explorer.server_runs import MAX_HOURS, SIDES, ServerMatch, ServerNight, usual_folder
from merino.app.explorer.server_state import ServerState
from merino.app.explorer.stopping import Message, Say, Stop
from merino.core.common.user_files import is_there
from merino.eval.evaluation import Evaluation
from merino.lab.nets.night.report import as_plain, ladder_of, summary
from merino.lab.nets.night.state import STATE_NAME, NightState, load_state
from merino.learn.errors import LearnError
from merino.match.prove import GAIN, StrengthTest

MAX_NODES = 100_000  # a move

_BEGINNING = threading.Lock()


def match(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Let the evaluation `new` play `old` by the test of `merino learn`, or `follow` that which is played already.

    Each game is reported. A match goes on where nobody follows it; asked to stop, it ends. One is played at a time.
    """
    if not fields.flag("follow"):
        players = {side: fields.part(side).evaluation(state.evaluations) for side in SIDES}
        asked = {side: _described(fields.part(side), players[side]) for side in SIDES}
        trial = _trial(fields)
        with _BEGINNING:
            if state.match is not None and state.match.is_running:
                raise RequestError("a match is already being played, by this tab or by another: stop it first")
            state.match = ServerMatch(players, asked, trial)
    if state.match is None:
        raise RequestError("no match has been played since the explorer was started")
    return state.match.follow(say, stop)


def match_so_far(_: Fields, state: ServerState) -> Message:
    """GET /api/match: the `match` that is or was played, null for none; `usual`, nodes a move and the most games."""
    usual = {"nodes": GAIN.time_control.nodes, "most": GAIN.most_games}
    return {"match": None if state.match is None else state.match.as_json(), "usual": usual}


def _described(side: Fields, evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as the page asks for it, and its name."""
    asked = {"weights": side.weights(), "changes": side.numbers("changes")}
    return {**asked, "name": evaluation.name}


def _trial(fields: Fields) -> StrengthTest:
    """The usual test, or one of at most so many `games` at so many `nodes` a move."""
    nodes = fields.number("nodes", 1, MAX_NODES)
    control = GAIN.time_control if nodes is None else replace(GAIN.time_control, nodes=nodes)
    return replace(GAIN, time_control=control, most_games=fields.number("games", 2, GAIN.most_games) or GAIN.most_games)


def night(_: Fields, state: ServerState) -> Message:
    """GET /api/night: the report of the run in the user's folder, null where there is none; `run` at work, or null."""
    path = usual_folder() / STATE_NAME
    found = None
    if is_there(path):
        found = report(load_state(path), str(path.parent))
    return {"night": found, "run": state.night and state.night.as_json(), "place": str(path.parent)}


def start_night(fields: Fields, state: ServerState) -> Message:
    """POST /api/night/start: a run of so many `hours`; there is one at a time."""
    hours = fields.number("hours", 1, MAX_HOURS)
    if hours is None:
        raise RequestError("a night needs its 'hours'")
    with _BEGINNING:
        if state.night is not None and state.night.is_running:
            raise RequestError("a night is already at work: stop it first")
        state.night = ServerNight(hours)
    return {"run": state.night.as_json()}


def stop_night(_: Fields, state: ServerState) -> Message:
    """POST /api/night/stop: end the run, which keeps its work."""
    if state.night is not None:
        state.night.stop()
    return {"run": state.night and state.night.as_json()}


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
