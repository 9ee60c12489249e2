"""What a net that has won is measured by: the start, the terms, and a ladder of older nets that stays the same.

Its rungs are nets that come with Merino, and of the nets of the run that have won the first, second, fourth, eighth
and so on: a long run has few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from merino.eval.evaluation import Evaluation
from merino.eval.families import default, read_net
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import digest, net_in
from merino.eval.net.network import Network
from merino.lab.nets.night.state import LadderMatch, NightFolder, NightState, net_of
from merino.learn.improve.rounds import StepContext, elo_of, play_match

GAUGE_START, GAUGE_TERMS, LADDER = 3, 4, 5  # steps of seeds
FROM_NOTHING, FROM_A_NET = ("gen1", "gen12"), ("gen12",)  # nets of Merino on the ladder; a net is far above the first


def gauges_of(
    folder: NightFolder, state: NightState, verdict: str, network: Network, context: StepContext
) -> dict[str, Any]:
    """Measure the net of the present generation if it has won; else the best is as strong as it was.

    These are fields of a Generation: the Elo of the best from the start and from the terms, each with half the width
    of its interval, and the ladder of a new best. Raises LearnError, EvaluationError, MatchError and StepStoppedError.
    """
    names = ("from_start", "from_start_error"), ("from_terms", "from_terms_error")
    if verdict != "H1":
        last = state.rounds[-1] if state.rounds else None
        return {name: getattr(last, name, None) for pair in names for name in pair}
    new, start = NetEvaluation(network), folder.start(state)
    old = NetEvaluation(start) if isinstance(start, Network) else start
    number, found = len(state.rounds) + 1, dict[str, Any]()
    for pair, opponent, step in zip(names, (old, default()), (GAUGE_START, GAUGE_TERMS), strict=True):
        elo: tuple[float | None, float | None] = (None, None)
        if state.plan.gauge:
            trial, path = state.plan.gauge_trial(number, step), folder.of_round(number) / f"gauge-{step}.state"
            elo = elo_of(play_match(new, opponent, trial, path, context, decides=False))
        found |= zip(pair, elo, strict=True)
    return found | {"ladder": tuple(_climbed(folder, state, new, context)) if state.plan.ladder else ()}


def rungs_of(state: NightState) -> list[int]:
    """The generations of a run that are on its ladder."""
    return [number for place, number in enumerate(state.kept, 1) if place & (place - 1) == 0]


def _rungs(folder: NightFolder, state: NightState) -> Iterator[tuple[str, Network]]:
    """The nets of the ladder by name; without the start where a gauge meets it anyway."""
    for name in FROM_NOTHING if state.is_from_nothing else FROM_A_NET:
        file = read_net(name)
        network = net_in(file.content, file.path)
        if not state.plan.gauge or digest(network) != state.start_hash:
            yield name, network
    for number in rungs_of(state):
        yield f"generation {number}", net_of(folder.path, state, number)


def _climbed(folder: NightFolder, state: NightState, new: Evaluation, context: StepContext) -> Iterator[LadderMatch]:
    number = len(state.rounds) + 1
    trial = replace(state.plan.gauge_trial(number, LADDER), most_games=state.plan.ladder)
    for name, network in _rungs(folder, state):
        path = folder.of_round(number) / f"ladder-{name.replace(' ', '-')}.state"
        tally = play_match(new, NetEvaluation(network), trial, path, context, decides=False)
        yield LadderMatch(name, digest(network), tally.games, *elo_of(tally))
