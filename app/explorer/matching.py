"""The match on the page: new weights against old ones, which one tab begins and any may follow."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from merino.inner.app.explorer.fields import Fields, RequestError
from merino.inner.app.explorer.server_match import SIDES, ServerMatch
from merino.inner.app.explorer.server_state import ServerState
from merino.inner.app.explorer.stopping import Message, Say, Stop
from merino.inner.eval.evaluation import Evaluation
from merino.inner.match.prove import GAIN, StrengthTest

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
