"""A profile: what a player's moves say, each statement with its interval and the games that it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from merino.inner.core.board.bitboard import WHITE
from merino.inner.core.board.fen import to_fen
from merino.inner.core.board.game import as_position
from merino.inner.engine.notation.san import move_number, san
from merino.inner.engine.search.choice import COLUMNS, FIRST_HABIT, FIRST_TERM, HABITS, SIGHTS
from merino.inner.engine.search.people import People, Prior
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.phases import halves
from merino.inner.eval.linear.registry import TERMS
from merino.inner.eval.material import FULL_BOARD
from merino.inner.match.statistics import Z_95
from merino.inner.study.annotate.analysis import MISTAKE
from merino.inner.study.errors import StudyError
from merino.inner.study.profile.choices import Choices, choices_of
from merino.inner.study.profile.model import FittedChoice, Foretold, fit, judged, likelihoods
from merino.inner.study.profile.players import PlayerGame, PlayerGames

FOLDS = 4  # parts of the games, each of which is foretold from the others
MIN_CHOICES = 60  # fewer say nothing about anybody
EXAMPLES = 3  # moves that a statement comes from
_SEARCH = slice(0, FIRST_HABIT)


@dataclass(frozen=True)
class Example:
    """A move that a statement comes from."""

    game: int  # its number in the file
    title: str
    move: str  # "23.Rxe6"
    fen: str  # before it


@dataclass(frozen=True)
class TermTaste:
    """How much more a player values one more of a term than Merino does, in centipawns, with a 95% interval."""

    name: str
    weight: float  # Merino's, the mean of both phases
    value: float
    low: float
    high: float
    others: float  # the same of players with this rating
    examples: tuple[Example, ...]

    @property
    def is_clear(self) -> bool:
        """Whether the interval tells the player from Merino."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Habit:
    """How many times likelier a move is if it is of this kind, and searches see no difference."""

    name: str
    factor: float
    low: float
    high: float
    others: float


@dataclass(frozen=True)
class MoveGroup:
    """Some of the moves: their number, what they lose on average, and the share of mistakes."""

    name: str
    moves: int
    loss: float  # of the expected score, 0..1
    mistakes: float


@dataclass(frozen=True)
class Sight:
    """The mistakes by the search that first sees them, from the shallowest on, and those of the deepest alone."""

    nodes: int
    mistakes: int


@dataclass(frozen=True)
class Profile:
    """All that is said of a player."""

    player: str
    rating: float | None
    games: int
    moves: int  # that it is based on
    foretold: Foretold  # of games kept apart
    baselines: dict[str, Foretold]
    terms: tuple[TermTaste, ...]
    habits: tuple[Habit, ...]
    parts: tuple[MoveGroup, ...]
    sights: tuple[Sight, ...]
    coefficients: dict[str, float]  # of the model, by column
    faulty: int  # games that could not be read
    left_out: str  # a sentence about them, "" if there are none


def profile_of(
    player: PlayerGames,
    evaluation: LinearEvaluation,
    people: People,
    most: int,
    report: Callable[[float], object] | None = None,
) -> Profile:
    """The profile of a player; raises StudyError if there are too few moves."""
    choices = choices_of(player, evaluation, most, report)
    if len(choices) < MIN_CHOICES or len(set(choices.games.tolist())) < 2:
        left_out = f"; {player.left_out}" if player.faulty else ""
        raise StudyError(
            f"not enough games: {player.count} of '{player.name}' have {len(choices)} positions with a choice "
            f"after the opening; {MIN_CHOICES} from two games or more are needed, and some hundred say something"
            f"{left_out}"
        )
    prior = people.prior(player.rating)
    found = fit(choices, prior)
    told, baselines = cross_validated(choices, prior)
    return Profile(
        player.name,
        player.rating,
        player.count,
        len(choices),
        told,
        baselines,
        _tastes(player, choices, found, prior, evaluation),
        _habits(found, prior),
        tuple(_parts(player, choices)),
        _sights(choices),
        dict(zip(COLUMNS, found.coefficients.tolist(), strict=True)),
        player.faulty,
        player.left_out,
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


def _tastes(
    player: PlayerGames, choices: Choices, found: FittedChoice, prior: Prior, evaluation: LinearEvaluation
) -> tuple[TermTaste, ...]:
    """The tastes, the clearest first: a coefficient beside that of a centipawn of search is a value in centipawns."""
    unit = 4 * evaluation.k  # a centipawn is worth a share of 1 / unit of the points, where both sides are equal
    weights = np.mean(halves(evaluation.weights, len(TERMS)), axis=0)
    search, others = float(found.coefficients[_SEARCH].sum()), float(prior.means[_SEARCH].sum())
    tastes = []
    for index, term in enumerate(TERMS):
        column = FIRST_TERM + index
        value = unit * float(found.coefficients[column]) / search
        direction = np.zeros(len(COLUMNS))  # the derivatives of the value
        direction[column], direction[_SEARCH] = unit / search, -value / search
        error = Z_95 * math.sqrt(float(direction @ found.covariance @ direction))
        usual = unit * float(prior.means[column]) / others
        examples = _examples(player, choices, column, 1 if value > 0 else -1)
        tastes.append(TermTaste(term.name, float(weights[index]), value, value - error, value + error, usual, examples))
    return tuple(sorted(tastes, key=lambda taste: -abs(taste.value) / max(taste.high - taste.value, 1e-9)))


def _examples(player: PlayerGames, choices: Choices, column: int, sign: int) -> tuple[Example, ...]:
    """The moves that changed a term the most in this direction although they lost chances."""
    changes = sign * choices.columns[choices.played, column]
    worth = np.where(choices.losses[:, -1] > 0.01, changes, 0)
    best = np.argsort(-worth, kind="stable")[:EXAMPLES]
    return tuple(_example(player, choices, int(index)) for index in best if worth[index] > 0)


def _example(player: PlayerGames, choices: Choices, index: int) -> Example:
    game, ply = player.games[int(choices.games[index])], int(choices.plies[index])
    fen, move = to_fen(game.positions[ply : ply + 1]), int(choices.moves[choices.played[index]])
    return Example(game.number, game.title, f"{move_number(as_position(fen))}{san(fen, move)}", fen)


def _habits(found: FittedChoice, prior: Prior) -> tuple[Habit, ...]:
    habits = []
    for index, name in enumerate(HABITS):
        column = FIRST_HABIT + index
        value, error = float(found.coefficients[column]), Z_95 * math.sqrt(found.covariance[column, column])
        numbers = (value, value - error, value + error, float(prior.means[column]))
        habits.append(Habit(name, *map(math.exp, numbers)))
    return tuple(habits)


def _parts(player: PlayerGames, choices: Choices) -> list[MoveGroup]:
    """The moves by phase, colour and clock; parts without moves are left out."""
    losses = choices.losses[:, -1]
    colours = np.array([game.colour for game in player.games])[choices.games]
    named = {
        "all moves": np.ones(len(choices), dtype=bool),
        "opening and middlegame": choices.stages > FULL_BOARD // 2,
        "endgame": choices.stages <= FULL_BOARD // 2,
        "with White": colours == WHITE,
        "with Black": colours != WHITE,
    }
    places = zip(choices.games.tolist(), choices.plies.tolist(), strict=True)
    left = np.array([_seconds_left(player.games[game], ply) for game, ply in places])
    if not np.isnan(left).all():
        named |= {"a minute or more left": left >= 60, "less than a minute left": left < 60}
    return [
        MoveGroup(name, int(of_it.sum()), float(losses[of_it].mean()), float((losses[of_it] >= MISTAKE).mean()))
        for name, of_it in named.items()
        if of_it.any()
    ]


def _seconds_left(game: PlayerGame, ply: int) -> float:
    """What the player's clock showed before a move; nan if that is not told."""
    return float(game.clocks[ply - 2]) if len(game.clocks) else math.nan


def _sights(choices: Choices) -> tuple[Sight, ...]:
    """The mistakes by the shallowest search that finds them so."""
    are_seen = choices.losses >= MISTAKE
    mistakes = are_seen[:, -1]
    first = np.argmax(are_seen, axis=1)
    return tuple(Sight(nodes, int((mistakes & (first == depth)).sum())) for depth, nodes in enumerate(SIGHTS))
