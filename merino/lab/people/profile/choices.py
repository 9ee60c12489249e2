"""The choices of a player, positions with all their legal moves, and the model of choice that is fitted to them.

What each move shows is told by `engine.search.choice`. The chance of a move is proportional to exp(its columns times
the coefficients), a conditional logit (D. McFadden, Conditional logit analysis of qualitative choice behavior, 1974).
The coefficients are fitted by Newton's method to the moves of one player, with a normal prior from other players, and
their uncertainty is that of the normal distribution at the optimum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.position import POSITION
from merino.core.common.work import in_order
from merino.engine.search.choice import FIRST_HABIT, SIGHTS, count_moves, expected_scores, shown_by
from merino.engine.search.people import Prior
from merino.eval.linear.evaluate import stages_of
from merino.eval.linear.family import LinearEvaluation
from merino.lab.people.profile.players import PlayerGames
from merino.learn.rescoring import Rescore

MAX_CHOICES = 1000
_TOGETHER = 8  # positions whose moves are searched with one table
MAX_STEPS = 40
_SMALL = 1e-8  # relative gain of a step that ends the fit


@dataclass(frozen=True)
class Choices:
    """Positions with at least two legal moves, and the move that was played in each."""

    games: np.ndarray  # int64[n], the place of each one's game in `PlayerGames`
    plies: np.ndarray  # int64[n], of the game
    firsts: np.ndarray  # int64[n + 1]: the rows of its moves
    played: np.ndarray  # int64[n], the row of the move played
    moves: np.ndarray  # int32[m]
    columns: np.ndarray  # float64[m, COLUMNS]
    expected: np.ndarray  # float64[n], the share of the points with the best move, by the deepest search
    stages: np.ndarray  # int64[n], units of pieces left, as `eval.material.stage_of`

    def __len__(self) -> int:
        return len(self.played)

    def chosen(self, wanted: np.ndarray) -> Choices:
        """Those of the positions that bool[n] names."""
        lengths = np.diff(self.firsts)
        rows = np.repeat(wanted, lengths)
        firsts = np.concatenate([[0], np.cumsum(lengths[wanted])])
        return Choices(
            self.games[wanted],
            self.plies[wanted],
            firsts,
            firsts[:-1] + (self.played - self.firsts[:-1])[wanted],
            self.moves[rows],
            self.columns[rows],
            self.expected[wanted],
            self.stages[wanted],
        )

    @property
    def losses(self) -> np.ndarray:
        """The chances that the moves played lost, by each search, float64[n, SIGHTS]."""
        return -self.columns[self.played, :FIRST_HABIT]


def choices_of(
    player: PlayerGames,
    evaluation: LinearEvaluation,
    most: int = MAX_CHOICES,
    report: Callable[[float], object] = lambda _: None,
) -> Choices:
    """The choices of a player in at most so many positions, always the same ones; `report` gets the share done."""
    positions, games, plies, played, before = _chosen(player, most)
    firsts, moves, children, columns = shown_by(positions, before)
    owner = np.repeat(np.arange(len(positions)), np.diff(firsts))
    signs = np.where(positions["side"] == WHITE, 1.0, -1.0)
    best = np.zeros(len(positions))
    for depth, nodes in enumerate(SIGHTS):
        scores = np.zeros(len(children))
        for spans, found in _searched(children, firsts, Rescore(nodes, evaluation)):
            scores[spans] = found
            report((sum(SIGHTS[:depth]) + nodes * spans.stop / len(children)) / sum(SIGHTS))
        chances = expected_scores(signs[owner] * scores, evaluation.k)
        best = np.maximum.reduceat(chances, firsts[:-1]) if len(positions) else best
        columns[:, depth] = chances - best[owner]
    rows = np.flatnonzero(moves == played[owner])
    return Choices(games, plies, firsts, rows, moves, columns, best, stages_of(positions))


def _chosen(player: PlayerGames, most: int) -> tuple[np.ndarray, ...]:
    """Positions, games, plies, moves played, and the two moves before each; by chance, but the same each time."""
    parts: list[tuple[np.ndarray, ...]] = []
    for index, game in enumerate(player.games):
        plies = game.own_plies()
        mine = game.positions[plies]
        earlier = np.concatenate([np.zeros(2, dtype=np.int64), game.moves])
        before = np.stack([earlier[plies], earlier[plies + 1]], axis=1)  # the player's own, then the opponent's
        parts.append((mine, np.full(len(plies), index), plies, game.moves[plies].astype(np.int64), before))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return np.zeros(0, dtype=POSITION), none, none, none, np.zeros((0, 2), dtype=np.int64)
    positions, games, plies, played, before = (np.concatenate(part) for part in zip(*parts, strict=True))
    counts = np.zeros(len(positions) + 1, dtype=np.int64)
    count_moves(positions, counts)
    open_choice = np.flatnonzero(np.diff(counts) > 1)
    if len(open_choice) > most:
        seed = int.from_bytes(hashlib.blake2b(player.name.encode(), digest_size=8).digest(), "little")
        open_choice = np.sort(np.random.default_rng(seed).choice(open_choice, most, replace=False))
    return positions[open_choice], games[open_choice], plies[open_choice], played[open_choice], before[open_choice]


def _searched(children: np.ndarray, firsts: np.ndarray, rescore: Rescore) -> Sequence[tuple[slice, np.ndarray]]:
    """White's scores after some moves at a time, in order."""
    stop = np.zeros(1, dtype=np.uint64)
    edges = [*firsts[:-1:_TOGETHER].tolist(), int(firsts[-1])]
    spans = [slice(first, last) for first, last in pairwise(edges) if last > first]
    return in_order(lambda span: (span, rescore.scores_of(children[span], stop)), spans)  # type: ignore[return-value]


@dataclass(frozen=True)
class FittedChoice:
    """Coefficients by column, and their covariance."""

    coefficients: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Foretold:
    """How well moves are foretold. Moves with the same chance are taken as ordered by lot."""

    top1: float  # share of the moves that were thought the likeliest
    top3: float  # or one of the three likeliest
    log_loss: float  # mean of -log of the chance given to the move played, in nats

    def as_json(self) -> dict[str, float]:
        """The same, rounded, by name."""
        return {"top1": round(self.top1, 4), "top3": round(self.top3, 4), "log_loss": round(self.log_loss, 4)}


def fit(choices: Choices, prior: Prior) -> FittedChoice:
    """The likeliest coefficients of a player with these choices."""
    precision = np.diag(prior.deviations**-2.0)
    at = prior.means.astype(np.float64).copy()
    value, gradient, curvature = _at(choices, prior, precision, at)
    for _ in range(MAX_STEPS):
        step, share = np.linalg.solve(curvature, gradient), 1.0
        while True:
            trial = _at(choices, prior, precision, at + share * step)
            if trial[0] >= value or share < 1e-3:
                break
            share /= 2
        gain = trial[0] - value
        if gain <= 0:
            break
        at = at + share * step
        value, gradient, curvature = trial
        if gain < _SMALL * (1 + abs(value)):
            break
    return FittedChoice(at, np.linalg.inv(curvature))


def _at(choices: Choices, prior: Prior, precision: np.ndarray, at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The logarithm of the posterior, its gradient and its negative curvature."""
    away = at - prior.means
    value, gradient = -0.5 * float(away @ precision @ away), -precision @ away
    curvature = precision.copy()
    if len(choices):
        chances = likelihoods(choices, at)
        weighted = chances[:, None] * choices.columns
        means = np.add.reduceat(weighted, choices.firsts[:-1])
        value += float(np.log(chances[choices.played]).sum())
        gradient += (choices.columns[choices.played] - means).sum(axis=0)
        curvature += choices.columns.T @ weighted - means.T @ means
    return value, gradient, curvature


def likelihoods(choices: Choices, coefficients: np.ndarray) -> np.ndarray:
    """The chance of each move, float64[m]; those of a position add up to 1."""
    if not len(choices):
        return np.zeros(0)
    firsts, lengths = choices.firsts[:-1], np.diff(choices.firsts)
    strengths = choices.columns @ coefficients
    strengths -= np.repeat(np.maximum.reduceat(strengths, firsts), lengths)
    shares = np.exp(strengths)
    return np.maximum(shares / np.repeat(np.add.reduceat(shares, firsts), lengths), 1e-300)


def judged(choices: Choices, chances: np.ndarray) -> Foretold:
    """How well chances of moves, float64[m], foretell the choices."""
    own = chances[choices.played]
    lengths = np.diff(choices.firsts)
    likelier = np.add.reduceat(chances > np.repeat(own, lengths), choices.firsts[:-1])
    equal = np.add.reduceat(chances == np.repeat(own, lengths), choices.firsts[:-1]) - 1
    first, in_three = (np.clip((places - likelier) / (equal + 1), 0, 1) for places in (1, 3))
    return Foretold(float(first.mean()), float(in_three.mean()), float(-np.log(own).mean()))
