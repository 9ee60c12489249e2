"""What a round of `night` does: games of the best, a net from them, the deciding match, matches that measure.

An interrupted step continues: games and matches from their own states, training from its last epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.core.common.files import is_there, write_whole
from merino.core.common.sealed import as_json, writable
from merino.core.common.text import counted
from merino.eval.evaluation import Evaluation
from merino.eval.families import EvaluationFile, default, read_net
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import digest, load_net, net_in, save_net
from merino.eval.net.network import Network, Shape
from merino.formats.packed import Filter, PackedBlocks, open_blocks
from merino.formats.packed_files import games_with_scores, packed_positions, rescaled, write_packed_file
from merino.formats.sources import digest as digest_of_file
from merino.lab.nets.gpu import check_gpu
from merino.lab.nets.gradient import Objective
from merino.lab.nets.night.ladder import gauges_of
from merino.lab.nets.night.state import (
    CANDIDATE,
    GAMES,
    NOTHING,
    START_NET,
    START_TERMS,
    Generation,
    GenerationData,
    NightFolder,
    NightPlan,
    NightState,
    nothing,
    nothing_text,
    validation_share,
)
from merino.lab.nets.shapes import course_for, games_to_teach, grown, renewed, supported_by
from merino.lab.nets.starting import fault_of_part
from merino.lab.nets.training import (
    Trained,
    Trainer,
    TrainingSettings,
    TrainingState,
    learned_by,
)
from merino.learn.errors import LearnError
from merino.learn.improve.rounds import (
    OPEN,
    OUTCOMES,
    Finished,
    Loop,
    StepContext,
    StepStoppedError,
    Until,
    announce,
    elo_of,
    kept_fit,
    outcome_words,
    play_games,
    play_match,
)
from merino.learn.request import Events
from merino.match.report import signed

POSITIONS, FIT = "positions.bin", "fit.json"


@dataclass(frozen=True)
class NightFit:
    """A trained net: how it was made, and how long that took.

    `start_error` is that of the best, where its training was continued, over the same validation games.
    """

    network: Network
    positions: int
    continued: bool
    error: float
    seconds: float
    start_error: float | None = None


@dataclass(frozen=True)
class Lesson:
    """What a generation learns from.

    `best` is the best net so far, None for nothing; `learned` from how many positions the start of the run has learned,
    None if it does not say.
    `games` has the files of games, each with the factor that brings its scores to the scale of the terms; `about` is
    for the card of the net.
    """

    plan: NightPlan
    number: int
    best: Network | None
    learned: int | None
    games: Mapping[Path, float]
    about: dict[str, Any]


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
        number, plan = len(state.rounds) + 1, state.plan_now
        best, folder = self.folder.best_net(state), self.folder.of_round(number)
        player = nothing() if best is None else NetEvaluation(best)
        earlier, name = self._earlier_data(state), NOTHING if best is None else digest(best)
        context.events.say(f"Generation {number}: {plan.games} games of {name} at {plan.nodes} nodes a move")
        seconds = play_games(plan, number, player, folder, context, positions=folder / GAMES).seconds
        data = earlier | {number: data_of(folder, name)}
        # A path means nothing elsewhere, so the recipe has the name of the file.
        start = NOTHING if state.is_from_nothing else Path(state.start_name).name
        generations = [{"generation": each, **asdict(played)} for each, played in data.items()]
        about = {"recipe": state.plan.recipe(start, number), "generations": generations}
        games = {self.folder.of_round(each) / GAMES: self._scale_of(state, each) for each in data}
        lesson = Lesson(plan, number, best, learned_before(self.folder.start(state)), games, about)
        fitted = fit_generation(lesson, folder, context)
        before = "" if fitted.start_error is None else f", of the best {fitted.start_error:.6f}"
        context.events.say(
            f"  learned from {sum(each.games for each in data.values()):,} games; error on validation games "
            f"{fitted.error:.6f}{before}"
        )
        trial = plan.trial(number)
        announce(trial, context)
        tally = play_match(NetEvaluation(fitted.network), player, trial, folder / "match.state", context)
        verdict = trial.test.verdict(tally.counts) or OPEN
        gauges = gauges_of(self.folder, state, verdict, fitted.network, context)
        elo, elo_error = elo_of(tally)
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
            play_seconds=seconds,
            train_seconds=fitted.seconds,
            nodes_a_second=data[number].positions * plan.nodes / max(seconds, 1e-9),
            **gauges,
        )

    def _scale_of(self, state: NightState, number: int) -> float:
        """What brings the scores of the games of a generation to the scale of the terms.

        It is that of the net that played them; those of nothing are on the scale of the terms.
        """
        player = self.folder.best_net(state.before(number))
        return 1.0 if player is None else default().k / player.k

    def _earlier_data(self, state: NightState) -> dict[int, GenerationData]:
        """The data of earlier generations that the present one learns from too; raises LearnError if any is gone."""
        number = len(state.rounds) + 1
        found = {}
        for each in state.plan.learns_from(number):
            if each < number:
                found[each] = state.rounds[each - 1].data
                check_data(self.folder.of_round(each), found[each])
        return found

    def line(self, found: Generation) -> str:
        """See Learner."""
        words = f"Generation {found.number}, {found.neurons} neurons: {OUTCOMES[found.verdict]}"
        *parts, time = outcome_words(found, words)
        if found.from_terms is not None and found.from_terms_error is not None:
            parts.append(f"{signed(found.from_terms, found.from_terms_error)} from the terms")
        return "; ".join([*parts, time])


def data_of(folder: Path, player: str) -> GenerationData:
    """What a generation has played; raises PackedError and SourceError."""
    path, games, positions = folder / GAMES, 0, 0
    for some in games_with_scores(path):
        games, positions = games + len(some), positions + len(some.moves)
    return GenerationData(games, positions, path.stat().st_size, digest_of_file(path), player)


def check_data(folder: Path, known: GenerationData) -> None:
    """Raise LearnError unless the games of a finished generation are those that it has played."""
    path = folder / GAMES
    if not is_there(path):
        raise LearnError(f"'{path}' is missing: later generations learn from it; put it back, or give a new folder")
    if digest_of_file(path) != known.hash:
        raise LearnError(f"'{path}' has changed since it was played: put it back as it was, or give a new folder")


def learned_before(start: Network | Evaluation) -> int | None:
    """The positions that the start of a run has learned from; None if it does not say."""
    return learned_by(start) if isinstance(start, Network) else 0


class ShapeChoice(NamedTuple):
    """The shape of the next net, whether its training begins with the best net, and why, in words."""

    shape: Shape
    continued: bool
    reason: str


def shape_for(positions: int, best: Network | None, learned: int | None, asked: Shape | None = None) -> ShapeChoice:
    """What net to train on so many positions.

    The best net is trained further until the run has as many positions as its start had `learned` from, and always if
    that is not known. Then, and if the run began with nothing, training begins with random weights, and the shape is
    what the positions support. A shape that was `asked` for is kept; the best is trained further if it is part of it.
    """
    row, further = supported_by(positions), "training the best further"
    why_so = f"so many positions support {row.shape} ({row.reason})"
    if asked is not None:
        why_so = "it was asked for"
    if best is None:
        return ShapeChoice(asked or row.shape, False, f"from random weights: {why_so}")
    wanted = asked or grown(best.shape, positions)
    more = "" if wanted == best.shape else f", which was {best.shape}: {why_so}"
    if asked is not None and fault_of_part(best.shape, asked):
        return ShapeChoice(asked, False, f"from random weights: {why_so}, and the best, {best.shape}, is no part of it")
    if learned is None:
        why = "its start does not say how many positions it learned from"
        return ShapeChoice(wanted, True, f"{further}{more}: {why}")
    if positions < learned:
        why = f"its start learned from {learned:,} positions, which are more"
        return ShapeChoice(wanted, True, f"{further}{more}: {why}")
    shape = asked or renewed(best.shape, positions)
    width = ", as wide as the best" if shape.hidden == best.shape.hidden > row.shape.hidden and not asked else ""
    return ShapeChoice(shape, False, f"from random weights{width}: {why_so}")


def fit_generation(lesson: Lesson, folder: Path, context: StepContext) -> NightFit:
    """Train a net and write it to the folder; raises LearnError, TrainingError and StepStoppedError."""
    scratch = folder / POSITIONS  # so that memory does not bound what can be learned from
    if not is_there(folder / FIT):
        _fit(lesson, scratch, folder, context)
    for path in (scratch, _checkpoint(folder)):  # also those of a run that was killed after the fit
        path.unlink(missing_ok=True)
    return _kept_fit(folder)


def _fit(lesson: Lesson, scratch: Path, folder: Path, context: StepContext) -> None:
    if not write_packed_file(scratch, _positions_of(lesson, context)):
        raise LearnError(f"the games in '{folder}' have no position to learn from: more games are needed")
    with open_blocks(scratch) as records:
        choice = shape_for(len(records), lesson.best, lesson.learned, lesson.plan.asked_shape)
        context.events.say(f"  {len(records):,} positions: {choice.shape}, {choice.reason}")
        found = _trained(lesson, choice, records, folder, context)
    save_net(found.network, folder / CANDIDATE)
    fitted: dict[str, Any] = {"positions": len(records), "continued": choice.continued, "net": digest(found.network)}
    fitted |= {"error": found.validation_error, "start_error": found.start_error, "seconds": found.seconds}
    write_whole(folder / FIT, as_json(fitted))


def _positions_of(lesson: Lesson, context: StepContext) -> Iterator[np.ndarray]:
    chosen = Filter(ahead=lesson.plan.ahead)
    for path, factor in lesson.games.items():
        for part in packed_positions(path, chosen, lambda done: context.events.progressed("Reading games", done)):
            context.poll()
            yield rescaled(part, factor)


def _checkpoint(folder: Path) -> Path:
    return folder / f"{CANDIDATE}.state"


def _trained(lesson: Lesson, choice: ShapeChoice, records: PackedBlocks, folder: Path, context: StepContext) -> Trained:
    """The net trained from the best, or from random weights; raises TrainingError and StepStoppedError.

    A net that is trained further keeps its scale; the scores have that of the terms.
    """
    start = lesson.best if choice.continued else None
    plan, usual = lesson.plan, TrainingSettings()
    validation = validation_share(plan.games, usual.validation)
    course = course_for(records, usual.batch, start, validation)
    share = supported_by(len(records)).share if plan.share is None else plan.share
    settings = TrainingSettings(
        choice.shape,
        Objective(share, course.k, plan.power, score_k=default().k if start else course.score_k),
        epochs=course.epochs,
        rate=course.rate,
        validation=validation,
        seed=plan.seed_of(lesson.number, 1),
        gpu=plan.gpu,
    )
    about = lesson.about if start is None else lesson.about | {"before": lesson.learned}
    trainer = Trainer(records, settings, about, _checkpoint(folder), context.threads, start)

    def report(state: TrainingState) -> None:
        context.events.progressed(f"Training, error {state.error:.6f}", state.done)
        context.poll()

    found = trainer.run(report)
    if found.interrupted:
        raise StepStoppedError
    return found


def _kept_fit(folder: Path) -> NightFit:
    """The fit that the folder of a generation holds; raises LearnError and NetError."""
    path = folder / FIT
    with kept_fit(path, "a generation") as found:
        numbers = int(found["positions"]), bool(found["continued"]), float(found["error"]), float(found["seconds"])
        known, before = str(found["net"]), found.get("start_error")  # which the first runs did not keep
        start_error = None if before is None else float(before)
    network = load_net(folder / CANDIDATE)
    if digest(network) != known:
        raise LearnError(f"'{folder / CANDIDATE}' is another net than '{path}' says: remove both to train again")
    return NightFit(network, *numbers, start_error)


DEFAULT_START = "gen13"  # the strongest net that comes with Merino


def begin(
    path: Path,
    start: str | None,
    given: Mapping[str, Any],
    until: Until,
    events: Events,
    threads: int | None = None,
    executor: Executor | None = None,
) -> Finished[NightState]:
    """Run in the folder `path`, from a net or "nothing"; `given` are settings of the NightPlan.

    `start` is a file or the name of a net that comes with Merino, None for DEFAULT_START or that of the folder. An
    existing folder keeps its settings and start, and what is given must agree with them. `executor` plays the games.
    Raises LearnError, TrainingError, EvaluationError, PackedError, MatchError and OSError.
    """
    with NightFolder(path) as folder:
        state = folder.load()
        if state is None:
            source = None if start == NOTHING else read_net(start or DEFAULT_START)
            state = _new(source, given)
        else:
            state.plan.check_same(given, path)
            source = _source_of(path, state, start)
            events.say(f"Continuing in '{path}' after {counted(len(state.rounds), 'generation')}")
        if state.plan.gpu:
            usual = Shape() if source is None else net_in(source.content, source.path).shape
            check_gpu(state.plan.asked_shape or usual)  # of all that it trains
        folder.save(state)
        _keep_start(path, state, source)
        return Loop(folder, state, NetLearner(folder), until, events, threads, executor).run()


def _new(source: EvaluationFile | None, given: Mapping[str, Any]) -> NightState:
    """The state of a new folder; raises LearnError and EvaluationError."""
    if source is None:
        return NightState(plan=NightPlan(**given).check(), start_name=NOTHING)
    net = net_in(source.content, source.path)
    plan = NightPlan(**{"games": games_to_teach(learned_by(net)), **given}).check()
    return NightState(plan=plan, start_name=str(writable(str(source.path))), start_hash=digest(net))


def _source_of(path: Path, state: NightState, start: str | None) -> EvaluationFile | None:
    """The file that the run began with, if it is needed or given again; raises LearnError and EvaluationError."""
    if start == NOTHING or start is None and state.is_from_nothing:
        source, found = None, ""
    elif start is None and is_there(path / START_NET):
        return None
    else:
        source = read_net(start or state.start_name)
        found = digest(net_in(source.content, source.path))
    if found != state.start_hash and start is None:
        raise LearnError(
            f"'{path / START_NET}' is missing, and '{state.start_name}' is another net than this run began with: "
            "put one of them back, or give a new folder"
        )
    if found != state.start_hash:
        raise LearnError(f"'{path}' began with '{state.start_name}', and not '{start}'; give a new folder")
    return source


def _keep_start(path: Path, state: NightState, source: EvaluationFile | None) -> None:
    """Put the start into the folder, unless it is there; raises OSError."""
    if state.is_from_nothing:
        if not is_there(path / START_TERMS):
            write_whole(path / START_TERMS, nothing_text().encode())
    elif source is not None and not is_there(path / START_NET):
        write_whole(path / START_NET, source.content)
