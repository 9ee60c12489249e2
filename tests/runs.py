"""For tests of runs in rounds: steps that are killed, matches that end as the test wants, states without times."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from merino.learn.improve import rounds
from merino.match.games import Tally

TIMES = "seconds", "play_seconds", "train_seconds", "nodes_a_second"
StateT = TypeVar("StateT", bound=rounds.LoopState)


def dies_at(call: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """`real`, which at this call, counted from 1, does its work and is killed before anybody has it."""
    calls = count(1)

    def dies(*arguments: Any, **others: Any) -> Any:
        done = real(*arguments, **others)
        if next(calls) == call:
            raise RuntimeError("killed")
        return done

    return dies


def proving(verdict: bool) -> Callable[..., Any]:
    """A deciding match in which what is new wins nearly all games, or loses them; those that measure are played."""
    play = rounds.play_match

    def play_trial(*match: Any, decides: bool = True) -> Tally:
        if not decides:
            return play(*match, decides=False)
        tally, step = Tally(), 1 if verdict else -1
        tally.points[::step], tally.pairs[::step] = (8, 0, 392), (2, 0, 4, 0, 194)
        return tally

    return play_trial


def settled(state: StateT) -> StateT:
    """The state without its times."""
    timeless = ({name: 0.0 for name in TIMES if hasattr(found, name)} for found in state.rounds)
    rounds = tuple(replace(found, **zeros) for found, zeros in zip(state.rounds, timeless, strict=True))
    return replace(state, seconds=0.0, rounds=rounds)
