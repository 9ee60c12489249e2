"""What changed between two evaluations, term by term: by a move, by a line of moves, or by other weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from eval.linear.breakdown import Explanation, TermLine
from eval.linear.registry import Group


@dataclass(frozen=True)
class TermChange:
    """One term before and after."""

    before: TermLine
    after: TermLine

    @property
    def name(self) -> str:
        """The name of the term."""
        return self.before.name

    @property
    def group(self) -> Group:
        """Its group."""
        return self.before.group

    @property
    def net(self) -> float:
        """Centipawns that White gained by it."""
        return self.after.net - self.before.net


@dataclass(frozen=True)
class Change:
    """Two evaluations and their difference. Terms, rule and rounding sum to the change of the score."""

    before: Explanation
    after: Explanation

    @property
    def terms(self) -> tuple[TermChange, ...]:
        """All terms in the order of the registry."""
        return tuple(map(TermChange, self.before.lines, self.after.lines))

    @property
    def by_size(self) -> tuple[TermChange, ...]:
        """All terms, the largest change first, equal ones by name."""
        return tuple(sorted(self.terms, key=lambda term: (-abs(term.net), term.name)))

    @property
    def score(self) -> int:
        """Centipawns that White gained in all."""
        return self.after.score_white - self.before.score_white

    @property
    def rule(self) -> float:
        """What of it is the work of draw rules."""
        return self.after.rule_cp - self.before.rule_cp

    @property
    def rounding(self) -> float:
        """What of it is rounding."""
        return self.after.rounding - self.before.rounding

    def of_group(self, group: Group) -> float:
        """Centipawns that White gained by one group."""
        return math.fsum(term.net for term in self.terms if term.group is group)
