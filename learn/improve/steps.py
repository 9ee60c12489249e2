"""The steps of a round: games, learning from them, the deciding match, the match against the start.

An interrupted step continues: games and matches from their own states; learning takes seconds and is repeated with the
same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from merino.inner.core.common.files import write_whole
from merino.inner.core.common.sealed import as_json
from merino.inner.core.common.user_files import is_there
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.phases import in_two_phases
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.eval.linear.weights import load
from merino.inner.learn.fit import FitCallback
from merino.inner.learn.improve.plan import Plan
from merino.inner.learn.improve.state import weights_text
from merino.inner.learn.inputs import ReadOptions, read_rows
from merino.inner.learn.learning import learn, split
from merino.inner.learn.request import Events
from merino.inner.learn.rounds.steps import StepContext, StepStoppedError, kept_fit, play_games, play_match
from merino.inner.match.games import Tally
from merino.inner.match.players import OwnPlayer
from merino.inner.match.prove import StrengthTest

GAMES, CANDIDATE, FIT = "games.pgn", "candidate.txt", "fit.json"


@dataclass(frozen=True)
class RoundFit:
    """The result of a fit: the weights, the number of games and positions, and the error on validation games."""

    weights: np.ndarray
    games: int
    positions: int
    error_before: float
    error_after: float


def player(name: str, weights: np.ndarray, terms: TermSet) -> OwnPlayer:
    """Merino with these weights of a set."""
    return OwnPlayer(name, LinearEvaluation(weights, terms=terms))


def play(plan: Plan, number: int, best: np.ndarray, folder: Path, context: StepContext) -> None:
    """Play the games of a round; raises StepStoppedError and MatchError."""
    play_games(plan, number, player("Merino", best, plan.terms), folder, context, pgn=folder / GAMES)


def fit_round(
    plan: Plan, number: int, best: np.ndarray, games: list[Path], folder: Path, context: StepContext
) -> RoundFit:
    """Learn from the games of these files and write the candidate to the folder. Raises LearnError.

    Validation games are of the newest file only: the best weights have learned from the others.
    """
    if is_there(folder / FIT):
        return _kept_fit(folder, plan.terms)
    settings, terms = plan.settings(number), plan.terms
    start = in_two_phases(best, len(terms)) if plan.phases == 2 else best
    options = ReadOptions(plan.selection, best, needs_scores=settings.target.needs_scores, terms=terms)
    found = read_rows(games, options, Events(progressed=context.events.progressed))
    sample = split(found.rows, settings, found.games - plan.games)
    learned = learn(sample, start, settings, FitCallback(), terms)
    if learned.interrupted:
        raise StepStoppedError
    fitted = {
        "games": found.games,
        "positions": len(found),
        "error_before": learned.before.valid,
        "error_after": learned.after.valid,
    }
    origin = f"round {number}, from {found.games} games, {len(found)} positions"
    text = weights_text(learned.end.weights, [origin], terms)
    write_whole(folder / CANDIDATE, text.encode())
    write_whole(folder / FIT, as_json(fitted))
    return _kept_fit(folder, terms)


def _kept_fit(folder: Path, terms: TermSet) -> RoundFit:
    """The fit that the folder of a round holds; raises LearnError."""
    path = folder / FIT
    with kept_fit(path, "a round") as found:
        errors = float(found["error_before"]), float(found["error_after"])
        return RoundFit(load(folder / CANDIDATE, terms), int(found["games"]), int(found["positions"]), *errors)


def play_trial(
    new: np.ndarray,
    old: np.ndarray,
    trial: StrengthTest,
    state: Path,
    context: StepContext,
    decides: bool = True,
    terms: TermSet = TERMS,
) -> Tally:
    """Play a match, until its test is settled if it decides; raises StepStoppedError and MatchError."""
    return play_match(player("new", new, terms), player("old", old, terms), trial, state, context, decides)
