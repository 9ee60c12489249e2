"""The match on the page: new weights against old ones, each game told when it has been played."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from merino.inner.app.explorer.fields import Fields
from merino.inner.app.explorer.server_state import ServerState
from merino.inner.app.explorer.sockets import Message, Say, Stop
from merino.inner.core.common.json_text import finite
from merino.inner.core.common.work import cores
from merino.inner.match.games import Game, Tally
from merino.inner.match.players import OwnPlayer
from merino.inner.match.prove import GAIN, StrengthTest, prove
from merino.inner.match.statistics import estimate

SIDES = ("new", "old")
MAX_NODES = 100_000  # a move


def match(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Let the evaluation `new` play `old` by the test of `merino learn`, and report each game."""
    players = [OwnPlayer(side, fields.part(side).evaluation(state.evaluations)) for side in SIDES]
    trial = _trial(fields)
    tally = Tally()

    def heed() -> None:
        if stop.is_set:
            raise KeyboardInterrupt  # as a match expects it, which keeps what was played

    def played(game: Game) -> None:
        tally.add(game)
        say({"type": "game", **_game(game), "standing": standing(tally, trial)})
        heed()

    say({"type": "trial", "test": str(trial.test), "most": trial.most_games, "bounds": trial.test.bounds})
    threads = max(1, cores() - 1)  # so that the page is answered meanwhile
    proof = prove(players[0], players[1], trial, lambda _: None, lambda _: heed(), threads, played=played)
    return {
        "type": "done",
        "verdict": proof.verdict,
        "interrupted": proof.interrupted,
        "standing": standing(proof.tally, trial),
    }


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
