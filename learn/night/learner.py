"""What a round of `night` does: a generation of nets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.families import default
from merino.inner.eval.net.file import digest
from merino.inner.eval.net.network import Network
from merino.inner.eval.net.piece_family import net_evaluation
from merino.inner.learn.night import steps
from merino.inner.learn.night.state import GAMES, NOTHING, Generation, GenerationData, NightFolder, NightState, nothing
from merino.inner.learn.night.steps import NightFit
from merino.inner.learn.rounds.state import OPEN
from merino.inner.learn.rounds.steps import OUTCOMES, StepContext, announce, elo_of, outcome_words
from merino.inner.match.games import Tally
from merino.inner.match.report import signed

GAUGE_START, GAUGE_TERMS = 3, 4  # steps of seeds
Elo = tuple[float | None, float | None]


@dataclass(frozen=True)
class NetLearner:
    """Trains nets in `folder`."""

    folder: NightFolder

    def best(self, state: NightState) -> Path:
        """See Learner."""
        return self.folder.best(state)

    def in_use(self, _: NightState) -> Path | None:
        """See Learner: nothing outside the folder is touched."""
        return None

    def adopt(self, state: NightState) -> NightState:
        """See Learner."""
        return state

    def round(self, state: NightState, context: StepContext) -> Generation:
        """See Learner."""
        number, plan = len(state.rounds) + 1, state.plan
        best, folder = self.folder.best_net(state), self.folder.of_round(number)
        player = _evaluation(best)
        context.events.say(
            f"Generation {number}: {plan.games} games of {steps.best_name(best)} at {plan.nodes} nodes a move"
        )
        seconds = steps.play(plan, number, player, folder, context)
        data = self._data(state, steps.data_of(folder, steps.best_name(best)))
        about = steps.card_of(plan, _name_of(state), number, data)
        games = [self.folder.of_round(each) / GAMES for each in data]
        fitted = steps.fit_generation(plan, number, best, games, about, folder, context)
        context.events.say(
            f"  learned from {sum(each.games for each in data.values()):,} games; error on validation games "
            f"{fitted.error:.6f}"
        )
        trial = plan.trial(number)
        announce(trial, context)
        tally = steps.play_trial(net_evaluation(fitted.network), player, trial, folder / "match.state", context)
        verdict = trial.test.verdict(tally.counts) or OPEN
        gauges = self._gauges(state, number, verdict, fitted.network, folder, context)
        return _generation(state, verdict, tally, data, fitted, seconds, gauges)

    def _data(self, state: NightState, played: GenerationData) -> dict[int, GenerationData]:
        """The data that the present generation learns from, by generation; raises LearnError."""
        number = len(state.rounds) + 1
        found = {}
        for each in state.plan.learns_from(number):
            if each < number:
                found[each] = state.rounds[each - 1].data
                steps.check_data(self.folder.of_round(each), found[each])
        return found | {number: played}

    def _gauges(
        self, state: NightState, number: int, verdict: str, network: Network, folder: Path, context: StepContext
    ) -> tuple[Elo, Elo]:
        """The Elo of the best against the start and against the terms, by matches of their own after a proof."""
        if verdict != "H1":
            last = state.rounds[-1] if state.rounds else None
            if last is None:
                return (None, None), (None, None)
            return (last.from_start, last.from_start_error), (last.from_terms, last.from_terms_error)
        if not state.plan.gauge:
            return (None, None), (None, None)
        new, start = net_evaluation(network), self.folder.start(state)
        opponents: dict[int, Evaluation] = {
            GAUGE_START: net_evaluation(start) if isinstance(start, Network) else start,
            GAUGE_TERMS: default(),
        }
        first, second = (
            steps.play_trial(
                new, old, state.plan.gauge_trial(number, step), folder / f"gauge-{step}.state", context, decides=False
            )
            for step, old in opponents.items()
        )
        return elo_of(first), elo_of(second)

    def line(self, found: Generation) -> str:
        """See Learner."""
        words = f"Generation {found.number}, {found.neurons} neurons: {OUTCOMES[found.verdict]}"
        *parts, time = outcome_words(found, words)
        if found.from_terms is not None and found.from_terms_error is not None:
            parts.append(f"{signed(found.from_terms, found.from_terms_error)} from the terms")
        return "; ".join([*parts, time])


def _evaluation(best: Network | None) -> Evaluation:
    return nothing() if best is None else net_evaluation(best)


def _name_of(state: NightState) -> str:
    """What a recipe calls the start: a path means nothing elsewhere, so it is the name of the file."""
    return NOTHING if state.is_from_nothing else Path(state.start_name).name


def _generation(
    state: NightState,
    verdict: str,
    tally: Tally,
    data: dict[int, GenerationData],
    fitted: NightFit,
    seconds: float,
    gauges: tuple[Elo, Elo],
) -> Generation:
    """The record of a generation."""
    number = len(state.rounds) + 1
    elo, elo_error = elo_of(tally)
    (from_start, from_start_error), (from_terms, from_terms_error) = gauges
    return Generation(
        number=number,
        verdict=verdict,
        games=sum(each.games for each in data.values()),
        positions=fitted.positions,
        neurons=fitted.network.shape.hidden,
        continued=fitted.continued,
        error=fitted.error,
        net=digest(fitted.network),
        data=data[number],
        match_games=tally.games,
        elo=elo,
        elo_error=elo_error,
        from_start=from_start,
        from_start_error=from_start_error,
        from_terms=from_terms,
        from_terms_error=from_terms_error,
        play_seconds=seconds,
        train_seconds=fitted.seconds,
        nodes_a_second=data[number].positions * state.plan.nodes / max(seconds, 1e-9),
    )
