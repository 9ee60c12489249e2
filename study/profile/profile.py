"""A profile: what a player's moves say, each statement with its interval and the games that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from merino.inner.engine.search.choice import COLUMNS, FIRST_HABIT
from merino.inner.engine.search.people import People, Prior
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.study.analyser import Analyser
from merino.inner.study.errors import StudyError
from merino.inner.study.profile.choices import Choices, choices_of
from merino.inner.study.profile.groups import JudgedMoves, MoveGroup, OverTime, over_time, parts_of
from merino.inner.study.profile.mistakes import (
    KindCount,
    Mistakes,
    Sight,
    Temptation,
    losses_of,
    mistakes_of,
    sights_of,
    temptations_of,
)
from merino.inner.study.profile.model import Foretold, fit, judged, likelihoods
from merino.inner.study.profile.openings import OpeningRecord, openings_of
from merino.inner.study.profile.players import PlayerGames
from merino.inner.study.profile.tastes import Habit, TermTaste, habits_of, tastes_of

FOLDS = 4  # parts of the games, each of which is foretold from the others
MIN_CHOICES = 60  # fewer say nothing about anybody


@dataclass(frozen=True)
class Profile:
    """All that is said of a player."""

    player: str
    rating: float | None
    peers: tuple[float, float]  # ratings of the players whom "others" are
    games: int
    moves: int  # that it is based on
    plies: int  # moves of the player after the opening, in all games
    foretold: Foretold  # of games kept apart
    baselines: dict[str, Foretold]
    terms: tuple[TermTaste, ...]
    habits: tuple[Habit, ...]
    parts: tuple[MoveGroup, ...]
    over_time: OverTime
    openings: tuple[OpeningRecord, ...]
    mistakes: Mistakes
    kinds: tuple[KindCount, ...]  # of the mistakes, the most frequent first
    sights: tuple[Sight, ...]
    temptations: tuple[Temptation, ...]
    coefficients: dict[str, float]  # of the model, by column
    faulty: int  # games that could not be read
    left_out: str  # a sentence about them, "" if there are none


def profile_of(
    player: PlayerGames,
    evaluation: LinearEvaluation,
    people: People,
    most: int,
    analyse: Callable[[], Analyser],
    report: Callable[[str, float], object] | None = None,
) -> Profile:
    """The profile of a player; raises StudyError if there are too few moves.

    `analyse` makes what searches mistakes; `report` gets what is done, and the share.
    """
    tell = report or (lambda what, done: None)
    choices = choices_of(player, evaluation, most, partial(tell, "Searching"))
    _check(player, choices)
    prior = people.prior(player.rating)
    found = fit(choices, prior)
    told, baselines = cross_validated(choices, prior)
    losses = losses_of(player, choices, evaluation, partial(tell, "Judging moves"))
    mistakes = mistakes_of(player, choices, losses, evaluation, analyse(), partial(tell, "Looking into mistakes"))
    are_mistakes = np.isin(np.arange(len(choices)), [mistake.index for mistake in mistakes.found])
    moves = JudgedMoves(choices, losses, are_mistakes)
    return Profile(
        player=player.name,
        rating=player.rating,
        peers=(people.low, people.high),
        games=player.count,
        moves=len(choices),
        plies=player.plies,
        foretold=told,
        baselines=baselines,
        terms=tastes_of(player, choices, found, prior, evaluation),
        habits=habits_of(found, prior),
        parts=parts_of(player, moves),
        over_time=over_time(player, moves),
        openings=openings_of(player, moves, mistakes),
        mistakes=mistakes,
        kinds=mistakes.kinds(np.ones(len(choices), dtype=bool)),
        sights=sights_of(choices),
        temptations=temptations_of(choices, likelihoods(choices, prior.means)),
        coefficients=dict(zip(COLUMNS, found.coefficients.tolist(), strict=True)),
        faulty=player.faulty,
        left_out=player.left_out,
    )


def _check(player: PlayerGames, choices: Choices) -> None:
    """Raise StudyError if the choices say nothing."""
    if len(choices) < MIN_CHOICES or len(set(choices.games.tolist())) < 2:
        raise StudyError(
            f"not enough games: {player.count} of '{player.name}' have {len(choices)} positions with a choice "
            f"after the opening; {MIN_CHOICES} from two games or more are needed, and some hundred say something"
            f"{player.left_out_too}"
        )


def cross_validated(choices: Choices, prior: Prior) -> tuple[Foretold, dict[str, Foretold]]:
    """How well each part of the games is foretold from the others, and by other means.

    These are the search alone, where a better move is likelier the more it is better, and the average player.
    """
    fold = choices.games % FOLDS
    kinds = {"best move": np.zeros(len(choices.moves)), "average player": np.zeros(len(choices.moves))}
    own = np.zeros(len(choices.moves))
    rows = np.repeat(fold, np.diff(choices.firsts))
    only_search = Prior(np.zeros(len(COLUMNS)), np.where(np.arange(len(COLUMNS)) == FIRST_HABIT - 1, 1e3, 1e-6))
    for number in range(FOLDS):
        apart, rest = choices.chosen(fold == number), choices.chosen(fold != number)
        if len(apart):
            own[rows == number] = likelihoods(apart, fit(rest, prior).coefficients)
            kinds["best move"][rows == number] = likelihoods(apart, fit(rest, only_search).coefficients)
            kinds["average player"][rows == number] = likelihoods(apart, prior.means)
    kinds["any move"] = np.repeat(1 / np.diff(choices.firsts), np.diff(choices.firsts))
    return judged(choices, own), {name: judged(choices, chances) for name, chances in kinds.items()}
