"""A profile: what a player's moves say, each statement with its interval and the games that it comes from.

As plain data it goes to scripts, to the page, and to the file of a style.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from merino.engine.search.choice import COLUMNS, FIRST_HABIT
from merino.engine.search.people import People, Prior
from merino.eval.linear.family import LinearEvaluation
from merino.lab.people.profile.choices import Choices, Foretold, choices_of, fit, judged, likelihoods
from merino.lab.people.profile.groups import Interval, JudgedMoves, MoveGroup, OverTime, over_time, parts_of
from merino.lab.people.profile.mistakes import (
    KindCount,
    Mistakes,
    Sight,
    Temptation,
    losses_of,
    mistakes_of,
    sights_of,
    temptations_of,
)
from merino.lab.people.profile.openings import OpeningRecord, openings_of
from merino.lab.people.profile.players import PlayerGames
from merino.lab.people.profile.tastes import Habit, TermTaste, habits_of, tastes_of
from merino.study.analyser import Analyser
from merino.study.errors import StudyError

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
    report: Callable[[str, float], object] = lambda what, done: None,
) -> Profile:
    """The profile of a player; raises StudyError if there are too few moves.

    `analyse` makes what searches mistakes; `report` gets what is done, and the share.
    """
    choices = choices_of(player, evaluation, most, partial(report, "Searching"))
    _check(player, choices)
    prior = people.prior(player.rating)
    found = fit(choices, prior)
    told, baselines = cross_validated(choices, prior)
    losses = losses_of(player, choices, evaluation, partial(report, "Judging moves"))
    mistakes = mistakes_of(player, choices, losses, evaluation, analyse(), partial(report, "Looking into mistakes"))
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


def as_object(profile: Profile) -> dict[str, Any]:
    """The profile as JSON data. Values are in centipawns, losses in shares of the points."""
    return {
        "player": profile.player,
        "rating": None if profile.rating is None else round(profile.rating),
        "peers": list(profile.peers),
        "games": profile.games,
        "moves": profile.moves,
        "plies": profile.plies,
        **profile.foretold.as_json(),
        "baselines": {name: told.as_json() for name, told in profile.baselines.items()},
        "terms": [_taste_object(taste) for taste in profile.terms],
        "habits": [_habit_object(habit) for habit in profile.habits],
        "parts": [_group_object(part) for part in profile.parts],
        "over_time": _over_time_object(profile.over_time),
        "openings": [_opening_object(opening) for opening in profile.openings],
        "mistakes": {
            "count": len(profile.mistakes.found),
            "kinds": [_kind_object(kind) for kind in profile.kinds],
            "plies": [{"plies": depth, "mistakes": count} for depth, count in profile.mistakes.by_plies.items()],
        },
        "sights": [asdict(sight) for sight in profile.sights],
        "temptations": [_temptation_object(each) for each in profile.temptations],
        "coefficients": {name: round(value, 4) for name, value in profile.coefficients.items()},
        "faulty": profile.faulty,
        "left_out": profile.left_out,
    }


def _taste_object(taste: TermTaste) -> dict[str, Any]:
    worth, (worth_low, worth_high) = taste.worth(taste.value), taste.worth_range
    return {
        "name": taste.name,
        "words": taste.words,
        "is_fault": taste.is_fault,
        "is_more": taste.is_more,
        "is_clear": taste.is_clear,
        "is_special": taste.is_special,
        "weight": round(taste.weight, 2),
        "value": round(taste.value, 2),
        "low": round(taste.low, 2),
        "high": round(taste.high, 2),
        "others": round(taste.others, 2),
        "worth": {
            "player": round(worth, 2),
            "low": round(worth_low, 2),
            "high": round(worth_high, 2),
            "merino": round(taste.worth(0), 2),
            "others": round(taste.worth(taste.others), 2),
        },
        "examples": [asdict(example) for example in taste.examples],
    }


def _habit_object(habit: Habit) -> dict[str, Any]:
    numbers = {name: round(value, 4) for name, value in asdict(habit).items() if name != "name"}
    return {"name": habit.name, "words": habit.words, **numbers}


def _interval(name: str, interval: Interval | None) -> dict[str, float | None]:
    """The mean by a name, and the ends of its interval; None where there is none."""
    values = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return {
        key: None if value is None else round(value, 4)
        for key, value in zip((name, f"{name}_low", f"{name}_high"), values, strict=True)
    }


def _group_object(group: MoveGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "games": group.games,
        "moves": group.moves,
        **_interval("loss", group.loss),
        **_interval("mistakes", group.mistakes),
        "is_enough": group.is_enough,
    }


def _over_time_object(found: OverTime) -> dict[str, Any]:
    return {
        "by": found.by,
        "periods": [_group_object(period) for period in found.periods],
        **_interval("change", found.change),
        "direction": found.direction,
    }


def _opening_object(opening: OpeningRecord) -> dict[str, Any]:
    return {
        "name": opening.name,
        "eco": list(opening.eco),
        "colour": opening.colour,
        "games": opening.games,
        "won": opening.won,
        "drawn": opening.drawn,
        "lost": opening.lost,
        **_interval("score", opening.score),
        "is_enough": opening.is_enough,
        "moves": None if opening.moves is None else _group_object(opening.moves),
        "kinds": [_kind_object(kind) for kind in opening.kinds],
    }


def _kind_object(kind: KindCount) -> dict[str, Any]:
    return {
        "kind": kind.kind,
        "count": kind.count,
        **_interval("share", kind.share),
        "loss": round(kind.loss, 4),
        "plies": kind.plies,
        "examples": [asdict(example) for example in kind.examples],
    }


def _temptation_object(found: Temptation) -> dict[str, Any]:
    return {
        "nodes": found.nodes,
        "sees": found.sees,
        "positions": found.positions,
        **_interval("fallen", found.fallen),
        "others": round(found.others, 4),
        "is_enough": found.is_enough,
    }
