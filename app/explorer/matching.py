"""The match on the page: new weights against old ones. The server plays it, whether or not a tab follows it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from merino.inner.app.explorer.evaluations import IN_USE
from merino.inner.app.explorer.fields import Fields, RequestError
from merino.inner.app.explorer.server_state import ServerState
from merino.inner.app.explorer.sockets import FAULTS, Message, Say, Stop
from merino.inner.core.common.json_text import finite
from merino.inner.core.common.work import cores
from merino.inner.eval.evaluation import Evaluation
from merino.inner.match.games import Game, Tally
from merino.inner.match.players import OwnPlayer
from merino.inner.match.prove import GAIN, StrengthTest, prove
from merino.inner.match.statistics import estimate

SIDES = ("new", "old")
MAX_NODES = 100_000  # a move
KEPT_GAMES = 100  # that are told to those who come later, the last ones

_BEGINNING = threading.Lock()


def match(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Let the evaluation `new` play `old` by the test of `merino learn`, or `follow` that which is played already.

    Each game is reported. A match goes on where nobody follows it; asked to stop, it ends. One is played at a time.
    """
    if not fields.flag("follow"):
        with _BEGINNING:
            if state.match is not None and state.match.is_running:
                raise RequestError("a match is already being played, by this tab or by another: stop it first")
            state.match = ServerMatch(fields, state)
    if state.match is None:
        raise RequestError("no match has been played since the explorer was started")
    return state.match.follow(say, stop)


def match_so_far(_: Fields, state: ServerState) -> Message:
    """GET /api/match: the `match` that is or was played, null for none; `usual`, nodes a move and the most games."""
    usual = {"nodes": GAIN.time_control.nodes, "most": GAIN.most_games}
    return {"match": None if state.match is None else state.match.as_json(), "usual": usual}


class ServerMatch:
    """A match that a thread plays until it is decided, until it has its most games, or until it is stopped."""

    def __init__(self, fields: Fields, state: ServerState) -> None:
        """Begin it, as a page asks; raises RequestError and the errors of Evaluations."""
        found = {side: fields.part(side).evaluation(state.evaluations) for side in SIDES}
        self._asked = {side: _described(fields.part(side), found[side]) for side in SIDES}
        self._new, self._old = (OwnPlayer(side, found[side]) for side in SIDES)
        self._trial, self._tally = _trial(fields), Tally()
        self._is_stopped = False
        self._games: deque[Message] = deque(maxlen=KEPT_GAMES)
        self._count = 0  # of the games told
        self._last: Message | None = None  # what is told at the end
        self._changed = threading.Condition()
        threading.Thread(target=self._play, name="match", daemon=True).start()

    @property
    def is_running(self) -> bool:
        """Whether it is being played."""
        return self._last is None

    def as_json(self) -> Mapping[str, Any]:
        """What is played, as it was asked for, and how it stands."""
        return {**self._asked, "running": self.is_running, "standing": standing(self._tally, self._trial)}

    def stop(self) -> None:
        """End it after the games that are being played; it keeps what was played."""
        self._is_stopped = True

    def follow(self, say: Say, stop: Stop) -> Message:
        """Tell what has been played, then each game as it comes; the last message, which tells the verdict."""
        say(self._opening())
        over, told = self._count, 0  # games: those played before, of which only the last is watched, and those told
        with stop.calling(lambda: self._heed_follower(stop)):
            while True:
                games, told, last = self._news(told, stop)
                for game in games:
                    say({**game, "fens": []} if game["number"] < over else game)
                if stop.is_left or last is not None:
                    return last or {"type": "done"}

    def _heed_follower(self, stop: Stop) -> None:
        if not stop.is_left:
            self.stop()
        with self._changed:
            self._changed.notify_all()

    def _news(self, told: int, stop: Stop) -> tuple[list[Message], int, Message | None]:
        """The games after so many, as far as they are kept, the number of all, and what is told at the end.

        It waits until there is something new, or until nobody follows.
        """
        with self._changed:
            self._changed.wait_for(lambda: stop.is_left or self._last is not None or self._count > told)
            new = min(self._count - told, len(self._games))
            return list(self._games)[len(self._games) - new :], self._count, self._last

    def _opening(self) -> Message:
        trial = self._trial
        told = {"test": str(trial.test), "most": trial.most_games, "bounds": trial.test.bounds}
        return {"type": "trial", **told, "nodes": trial.time_control.nodes}

    def _play(self) -> None:
        try:
            last = self._played()
        except FAULTS as error:
            last = {"type": "error", "error": str(error)}
        with self._changed:
            self._last = last
            self._changed.notify_all()

    def _played(self) -> Message:
        trial, threads = self._trial, max(1, cores() - 1)  # so that the page is answered meanwhile
        proof = prove(self._new, self._old, trial, lambda _: None, lambda _: self._heed(), threads, played=self._add)
        told = {"verdict": proof.verdict, "interrupted": proof.interrupted}
        return {"type": "done", **told, "standing": standing(proof.tally, trial)}

    def _heed(self) -> None:
        if self._is_stopped:
            raise KeyboardInterrupt  # as a match expects it, which keeps what was played

    def _add(self, game: Game) -> None:
        with self._changed:
            self._tally.add(game)
            self._games.append({"type": "game", **_game(game), "standing": standing(self._tally, self._trial)})
            self._count += 1
            self._changed.notify_all()
        self._heed()


def _described(side: Fields, evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as the page asks for it, and its name."""
    asked = {"weights": side.text("weights", IN_USE) or IN_USE, "changes": side.numbers("changes")}
    return {**asked, "name": evaluation.name}


def standing(tally: Tally, trial: StrengthTest) -> dict[str, Any]:
    """The result so far, from the view of the new one; Elo is null where it is without bounds."""
    losses, draws, wins = tally.points.tolist()
    found = estimate(tally.counts)
    return {
        "games": tally.games,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "elo": finite(found.elo),
        "elo_error": finite(found.elo_error),
        "llr": trial.test.llr(tally.counts),
    }


def _trial(fields: Fields) -> StrengthTest:
    """The usual test, or one of at most so many `games` at so many `nodes` a move."""
    nodes = fields.number("nodes", 1, MAX_NODES)
    control = GAIN.time_control if nodes is None else replace(GAIN.time_control, nodes=nodes)
    return replace(GAIN, time_control=control, most_games=fields.number("games", 2, GAIN.most_games) or GAIN.most_games)


def _game(game: Game) -> dict[str, Any]:
    """A game with the position after each of its moves, those of the opening too."""
    position = game.opening.position()
    opening = [position.uci(move) for move in position.moves]
    start = position.start_fen()
    fens, moves = list[str](), list[str](opening)
    after = position.copy()
    for played in game.moves:
        moves.append(after.uci(played.move))
        after.push(played.move)
        fens.append(after.fen())
    return {
        "number": game.number + 1,
        "white": "new" if game.first_is_white else "old",
        "result": game.result,
        "points": game.points / 2,
        "reason": game.reason.value,
        "fen": start,
        "moves": moves,
        "fens": fens,
    }
