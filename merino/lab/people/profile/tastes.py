"""What a player values and what draws them, from the coefficients of the model of choice, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from merino.engine.report.phrases import counts_against, phrase
from merino.engine.search.choice import COLUMNS, FIRST_HABIT, FIRST_TERM, HABITS
from merino.engine.search.people import Prior
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import halves
from merino.eval.linear.registry import TERMS
from merino.lab.people.profile.choices import Choices, FittedChoice
from merino.lab.people.profile.mistakes import EXAMPLES, Example, example_of
from merino.lab.people.profile.players import PlayerGames
from merino.match.statistics import Z_95

_SEARCH = slice(0, FIRST_HABIT)
_PHASES = {  # by how the name of a term ends
    "Midgame": "in the middlegame",
    "Mid": "in the middlegame",
    "Endgame": "in the endgame",
    "End": "in the endgame",
}
_SIGNS = {term.name: term.sign for term in TERMS}
_HABIT_WORDS = {  # where they are other words than its name
    "capture": "a capture",
    "capture of what just moved": "taking what has just moved",
    "check": "a check",
    "retreat": "a move backwards",
    "same piece again": "the piece that moved last",
}


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

    @property
    def is_special(self) -> bool:
        """Whether the interval tells the player from the others."""
        return not self.low <= self.others <= self.high

    @property
    def words(self) -> str:
        """What the term is called: "bishop pair in the endgame"."""
        phase = next((words for ending, words in _PHASES.items() if self.name.endswith(ending)), "")
        return f"{phrase(self.name)} {phase}".rstrip()

    @property
    def is_fault(self) -> bool:
        """Whether what the words name counts against its side: it costs something."""
        return counts_against(self.name)

    def worth(self, more: float) -> float:
        """What one is worth to somebody who values it by so much more than Merino; what it costs, if it is a fault."""
        return (self.weight + more) * _SIGNS[self.name]

    @property
    def is_more(self) -> bool:
        """Whether it is worth more to the player than to Merino, or costs more."""
        return self.worth(self.value) > self.worth(0)

    @property
    def worth_range(self) -> tuple[float, float]:
        """The interval of what it is worth to the player."""
        low, high = sorted((self.worth(self.low), self.worth(self.high)))
        return low, high


@dataclass(frozen=True)
class Habit:
    """How many times likelier a move is if it is of this kind, and searches see no difference."""

    name: str
    factor: float
    low: float
    high: float
    others: float

    @property
    def words(self) -> str:
        """What the habit is called: "taking what has just moved"."""
        return _HABIT_WORDS.get(self.name, self.name)


def tastes_of(
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
    return tuple(example_of(player, choices, int(index)) for index in best if worth[index] > 0)


def habits_of(found: FittedChoice, prior: Prior) -> tuple[Habit, ...]:
    """What draws the player."""
    habits = []
    for index, name in enumerate(HABITS):
        column = FIRST_HABIT + index
        value, error = float(found.coefficients[column]), Z_95 * math.sqrt(found.covariance[column, column])
        numbers = (value, value - error, value + error, float(prior.means[column]))
        habits.append(Habit(name, *map(math.exp, numbers)))
    return tuple(habits)
