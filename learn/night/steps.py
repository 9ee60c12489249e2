"""The steps of a generation: games of the best, a net from them, the deciding match, matches that measure.

An interrupted step continues: games and matches from their own states, training from its last epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from merino.inner.core.common.files import write_whole
from merino.inner.core.common.sealed import as_json
from merino.inner.core.common.user_files import is_there
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.net.file import digest, load_net, save_net
from merino.inner.eval.net.network import Network, Shape
from merino.inner.formats.packed import Filter, open_packed
from merino.inner.formats.packed_files import games_with_scores, packed_positions, write_packed_file
from merino.inner.formats.sources import digest as digest_of_file
from merino.inner.learn.errors import LearnError
from merino.inner.learn.net.bearing import course_for, neurons_for
from merino.inner.learn.net.gradient import Objective
from merino.inner.learn.net.training import (
    StoppedEarlyError,
    Trained,
    Trainer,
    TrainingSettings,
    TrainingState,
)
from merino.inner.learn.night.plan import NightPlan, validation_share
from merino.inner.learn.night.state import CANDIDATE, GAMES, GenerationData
from merino.inner.learn.rounds.steps import StepContext, StepStoppedError, kept_fit, play_games, play_match
from merino.inner.match.games import Tally
from merino.inner.match.players import OwnPlayer
from merino.inner.match.prove import StrengthTest

POSITIONS, FIT = "positions.bin", "fit.json"


@dataclass(frozen=True)
class NightFit:
    """A trained net: how it was made, and how long that took."""

    network: Network
    positions: int
    continued: bool
    error: float
    seconds: float


def play(plan: NightPlan, number: int, best: Evaluation, folder: Path, context: StepContext) -> float:
    """Play the games of a generation; the seconds they took. Raises StepStoppedError and MatchError."""
    return play_games(plan, number, OwnPlayer("Merino", best), folder, context, positions=folder / GAMES).seconds


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


def shape_for(positions: int, best: Network | None) -> tuple[Shape, bool]:
    """The shape of the next net, and whether its training begins with the best net.

    The positions say how many neurons it has. If the best net has more, which they could not fill, it is trained
    further; otherwise training begins anew, with the features and the activation of the best.
    """
    neurons = neurons_for(positions)
    if best is None:
        return Shape(hidden=neurons), False
    if best.shape.hidden > neurons:
        return best.shape, True
    return replace(best.shape, hidden=neurons), False


def fit_generation(
    plan: NightPlan,
    number: int,
    best: Network | None,
    games: list[Path],
    about: dict[str, Any],
    folder: Path,
    context: StepContext,
) -> NightFit:
    """Train a net on the positions of these files of games and write it to the folder.

    `about` is for its card. Raises LearnError, TrainingError and StepStoppedError.
    """
    if is_there(folder / FIT):
        return _kept_fit(folder)
    scratch = folder / POSITIONS  # mapped, so that memory does not bound what can be learned from
    if not write_packed_file(scratch, _positions_of(games, context)):
        raise LearnError(f"the games in '{folder}' have no position to learn from: more games are needed")
    records = open_packed(scratch)
    found, continued = _trained(plan, number, best, records, about, folder, context)
    save_net(found.network, folder / CANDIDATE)
    fitted = {"positions": len(records), "continued": continued, "error": found.validation_error}
    write_whole(folder / FIT, as_json(fitted | {"seconds": found.seconds, "net": digest(found.network)}))
    del records
    for path in (scratch, _checkpoint(folder)):
        path.unlink(missing_ok=True)
    return _kept_fit(folder)


def _positions_of(games: list[Path], context: StepContext) -> Iterator[np.ndarray]:
    for path in games:
        for part in packed_positions(path, Filter(), lambda done: context.events.progressed("Reading games", done)):
            context.poll()
            yield part


def _checkpoint(folder: Path) -> Path:
    return folder / f"{CANDIDATE}.state"


def _trained(
    plan: NightPlan,
    number: int,
    best: Network | None,
    records: np.ndarray,
    about: dict[str, Any],
    folder: Path,
    context: StepContext,
) -> tuple[Trained, bool]:
    """The trained net, and whether its training began with the best; raises TrainingError and StepStoppedError."""
    shape, continued = shape_for(len(records), best)
    usual, start = TrainingSettings(), best if continued else None
    course = course_for(records, usual.batch, start)
    settings = replace(
        usual,
        shape=shape,
        objective=Objective(plan.share, course.k),
        epochs=course.epochs,
        rate=course.rate,
        validation=validation_share(plan.games, usual.validation),
        seed=plan.seed_of(number, 1),
    )
    manner = f"training {best_name(best)} further" if continued else "from random weights"
    context.events.say(f"  {len(records):,} positions bear {neurons_for(len(records))} neurons: {shape}, {manner}")
    trainer = Trainer(records, settings, about, _checkpoint(folder), context.threads, start)

    def report(state: TrainingState) -> None:
        context.events.progressed(f"Training, error {state.error:.6f}", state.done)
        context.poll()

    try:
        found = trainer.run(report)
    except StoppedEarlyError as error:
        raise StepStoppedError from error
    if found.interrupted:
        raise StepStoppedError
    return found, continued


def best_name(best: Network | None) -> str:
    """What the best is called in remarks: the hash of its net."""
    return "nothing" if best is None else digest(best)


def _kept_fit(folder: Path) -> NightFit:
    """The fit that the folder of a generation holds; raises LearnError and NetError."""
    path = folder / FIT
    with kept_fit(path, "a generation") as found:
        numbers = int(found["positions"]), bool(found["continued"]), float(found["error"]), float(found["seconds"])
        known = str(found["net"])
    network = load_net(folder / CANDIDATE)
    if digest(network) != known:
        raise LearnError(f"'{folder / CANDIDATE}' is another net than '{path}' says: remove both to train again")
    return NightFit(network, *numbers)


def play_trial(
    new: Evaluation, old: Evaluation, trial: StrengthTest, state: Path, context: StepContext, decides: bool = True
) -> Tally:
    """Play a match, until its test is settled if it decides; raises StepStoppedError and MatchError."""
    return play_match(OwnPlayer("new", new), OwnPlayer("old", old), trial, state, context, decides)


def card_of(plan: NightPlan, start: str, number: int, data: dict[int, GenerationData]) -> dict[str, Any]:
    """The recipe of a net for its file: the command, and the data of each generation that it learned from."""
    generations = [{"generation": each, **asdict(played)} for each, played in data.items()]
    return {"recipe": plan.recipe(start, number), "generations": generations}
