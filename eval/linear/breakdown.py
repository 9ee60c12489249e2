"""The score of a position taken apart into its terms, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.board.bitboard import BLACK, WHITE
from engine.compiled.jit import entry
from eval.draws import after_rules
from eval.linear.evaluate import NUMBER_OF_TERMS, counts_of, phase_shares, scores_of, stages_of
from eval.linear.phases import FULL_BOARD, by_stage, halves
from eval.linear.registry import TERMS, Group, Phase
from eval.linear.view import view
from eval.outlook import DEFAULT_K, expected_score

KNOWN_DRAW = "a known draw: neither side can force a win"
CANNOT_WIN = "the side ahead has no pawns and less than a rook: it cannot win"
OPPOSITE_BISHOPS = "bishops of opposite colours are the only pieces: half the sum"


@dataclass(frozen=True)
class TermLine:
    """What one term adds for each side.

    Counts include phase share and group multiplier, so `weight` times count is centipawns. `weight` is what its two
    values, those of middlegame and endgame, come to at the stage of the position.
    """

    number: int  # from 1, in the order of the registry
    name: str
    group: Group
    phase: Phase
    weight: float
    white_count: float
    black_count: float
    values: tuple[float, float]

    @property
    def white_cp(self) -> float:
        """White's centipawns."""
        return self.weight * self.white_count

    @property
    def black_cp(self) -> float:
        """Black's centipawns, as Black counts them: good for Black if positive."""
        return self.weight * self.black_count

    @property
    def net(self) -> float:
        """Centipawns for White."""
        return self.white_cp - self.black_cp


@dataclass(frozen=True)
class Explanation:
    """A score and where it comes from. Everything is in centipawns."""

    lines: tuple[TermLine, ...]
    score_white: int  # the engine's own number, after the draw rules, from White's side
    after_rule: float  # the sum after the draw rules, not yet rounded
    turn: int  # WHITE or BLACK
    rule: str | None  # the draw rule that changed the sum, if any
    middlegame: tuple[float, float]  # how much White's and Black's middlegame terms count; the endgame has the rest
    k: float  # the scale of the expected score
    stage: float  # 1 with all pieces on the board to 0 without: the share of the first of a weight's two values

    @property
    def has_two_phases(self) -> bool:
        """Whether any weight has two values."""
        return any(line.values[0] != line.values[1] for line in self.lines)

    @property
    def sum(self) -> float:
        """White's score before draw rules and rounding: the sum of the lines."""
        return math.fsum(line.net for line in self.lines)

    @property
    def rule_cp(self) -> float:
        """What the draw rules add to the sum."""
        return self.after_rule - self.sum

    @property
    def rounding(self) -> float:
        """What rounding to whole centipawns adds: sum, rule and this are the score."""
        return self.score_white - self.after_rule

    @property
    def score_to_move(self) -> int:
        """The score from the side to move's view, as the search sees it."""
        return self.score_white if self.turn == WHITE else -self.score_white

    @property
    def expected_score(self) -> float:
        """The share of the points White may expect, wins plus half the draws, 0..1."""
        return expected_score(self.score_white, self.k)

    def of_group(self, group: Group) -> tuple[TermLine, ...]:
        """The lines of one group."""
        return tuple(line for line in self.lines if line.group is group)

    def group_net(self, group: Group) -> float:
        """Centipawns for White of one group."""
        return math.fsum(line.net for line in self.of_group(group))


@entry
def _middlegame_shares(positions, shares):
    for colour in range(2):
        shares[colour] = phase_shares(view(positions[0], colour))[1]


def explain(record: np.ndarray, weights: np.ndarray, k: float = DEFAULT_K) -> Explanation:
    """Take the score of `record`, POSITION[1], under weights of one phase or two apart.

    `k` scales the expected score.
    """
    white, black = counts_of(record)[0].tolist()
    stage = int(stages_of(record)[0])
    numbers = by_stage(weights, NUMBER_OF_TERMS)[stage].tolist()
    values = np.transpose(halves(weights, NUMBER_OF_TERMS)).tolist()
    lines = tuple(
        TermLine(number, term.name, term.group, term.phase, weight, white_count, black_count, (pair[0], pair[1]))
        for number, (term, pair, weight, white_count, black_count) in enumerate(
            zip(TERMS, values, numbers, white, black, strict=True), start=1
        )
    )
    turn = int(record[0]["side"])
    score = int(scores_of(record, weights)[0])
    shares = np.zeros(2)
    _middlegame_shares(record, shares)
    total = math.fsum(line.net for line in lines)
    return Explanation(
        lines=lines,
        score_white=-score if turn == BLACK else score,
        after_rule=after_rules(record, total),
        turn=turn,
        rule=_rule(record, total),
        middlegame=(float(shares[0]), float(shares[1])),
        k=k,
        stage=stage / FULL_BOARD,
    )


def _rule(record: np.ndarray, score: float) -> str | None:
    """Which draw rule changes `score`: told from what the rules make of a pawn more and of a pawn less."""
    ahead, behind = after_rules(record, 100.0), after_rules(record, -100.0)
    if ahead == behind == 0.0:
        return KNOWN_DRAW
    leader = ahead if score > 0 else behind
    if score == 0 or abs(leader) == 100.0:
        return None
    return CANNOT_WIN if leader == 0.0 else OPPOSITE_BISHOPS
