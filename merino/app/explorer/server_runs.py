"""Runs that the server carries out, whether or not a tab looks on: a match, and a `merino night`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merino.app.explorer.stopping import FAULTS, INTERNAL_ERROR, Message, Say, Stop, reason_of
from merino.core.common.json_text import finite
from merino.core.common.user_files import user_folder
from merino.core.common.work import cores
from merino.eval.evaluation import Evaluation
from merino.lab.nets.night.start import begin
from merino.lab.nets.night.state import DEFAULT_FOLDER
from merino.learn.request import Events
from merino.learn.rounds.loop import Until
from merino.match.games import Game, Tally
from merino.match.players import OwnPlayer
from merino.match.prove import StrengthTest, prove
from merino.match.statistics import estimate

SIDES = ("new", "old")
KEPT_GAMES = 100  # that are told to those who come later, the last ones
MAX_HOURS = 24


class ServerMatch:
    """A match that a thread plays until it is decided, until it has its most games, or until it is stopped."""

    def __init__(self, players: Mapping[str, Evaluation], asked: Mapping[str, Any], trial: StrengthTest) -> None:
        """Begin it; `players` are by their sides, and so is what the page has asked for."""
        self._new, self._old = (OwnPlayer(side, players[side]) for side in SIDES)
        self._asked, self._trial, self._tally = asked, trial, Tally()
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
        last: Message = {"type": "error", "error": INTERNAL_ERROR}
        try:
            last = self._played()
        except FAULTS as error:
            last = {"type": "error", "error": reason_of(error)}
        finally:
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
            begin(usual_folder(), None, {}, Until(hours=self._hours), events, threads)
        except KeyboardInterrupt:
            pass  # stopped before or after the loop, which has kept its work
        except FAULTS as error:
            self._error = reason_of(error)

    def _tell(self, line: str) -> None:
        self._doing = line.strip()
        if self._is_stopped:
            raise KeyboardInterrupt  # as the loop expects it, which keeps what was done

    def _progressed(self, what: str, done: float | None) -> None:
        self._tell(what if done is None else f"{what} {done:.0%}")
