"""The plan of a run of `improve`: the settings of its rounds, the same throughout the life of its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from merino.inner.eval.linear.registry import SETS, TERMS, TermSet, set_named
from merino.inner.learn.learning import Settings
from merino.inner.learn.positions import Quiet, Selection
from merino.inner.learn.targets import Target
from merino.inner.match.prove import StrengthTest
from merino.inner.match.statistics import Sprt
from merino.inner.match.time_control import Adjudication, RandomMoves, TimeControl

_SEEDS_A_ROUND = 10  # seeds of a round; each of its steps has its own
WIN = Adjudication(win_score=1000, win_moves=4)  # a position so clearly won teaches nothing


@dataclass(frozen=True)
class Plan:
    """The settings of a run.

    A round plays `games` games of the best weights against themselves at `nodes` a move, learns from those of the last
    `window` rounds, and tests the new weights against the best: at `match_nodes` a move, in at most `match_games`
    games, by an SPRT of normalised Elo between `elo0` and `elo1`. `share` is that of the result in the target, `phases`
    the number of values of a weight; terms `first` to `last` of the set named `set` may move, to its end if `last` is
    None. At most `per_game` positions of a game are used,
    None for all; `positions` is the treatment of those where a capture changes the score. After each proof, `gauge`
    games measure the Elo of the best against the start; 0 for none.
    """

    nodes: int = 1500
    games: int = 2000
    window: int = 4
    share: float = 0.5
    phases: int = 2
    first: int = 1
    last: int | None = None
    positions: Quiet = Quiet.ANY
    per_game: int | None = None
    match_nodes: int = 2000
    match_games: int = 4000
    elo0: float = 0.0
    elo1: float = 10.0
    gauge: int = 200
    seed: int = 1
    set: str = TERMS.name

    def as_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """The plan that `as_json` wrote, with defaults for what a former version did not know.

        Raises TypeError or ValueError for anything else.
        """
        plan = cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})
        if plan.set not in SETS:
            raise ValueError(f"there is no set of terms named {plan.set!r}")
        return replace(plan, positions=Quiet(plan.positions))

    def differences(self, other: Plan) -> list[str]:
        """The names of the settings in which the other plan differs."""
        mine, others = self.as_json(), other.as_json()
        return [name for name in mine if mine[name] != others[name]]

    def seed_of(self, number: int, step: int) -> int:
        """A seed that no other step of any round has."""
        return self.seed * 1_000_003 + number * _SEEDS_A_ROUND + step

    def random_moves(self, number: int) -> RandomMoves:
        """The random moves that make the games of a round differ."""
        return RandomMoves(early=6, early_loss=100, seed=self.seed_of(number, 0))

    @property
    def terms(self) -> TermSet:
        """The set of terms that are learned."""
        return set_named(self.set)

    def settings(self, number: int) -> Settings:
        """The settings of learning in a round."""
        return Settings(
            first=self.first,
            last=self.last,
            phases=self.phases,
            target=Target(self.share),
            decay=None,
            seed=self.seed_of(number, 1),
        ).of_set(self.terms)

    @property
    def selection(self) -> Selection:
        """Which positions of the games are learned from."""
        return Selection(quiet=self.positions, per_game=self.per_game)

    def trial(self, number: int) -> StrengthTest:
        """The match that decides on the new weights of a round."""
        return StrengthTest(
            Sprt(self.elo0, self.elo1),
            TimeControl(nodes=self.match_nodes),
            self.match_games,
            "{new} is stronger than {old}.",
            "{new} does not gain so much.",
            "",
            adjudication=WIN,
            seed=self.seed_of(number, 2),
        )

    def gauge_trial(self, number: int) -> StrengthTest:
        """The match against the weights at the start, which decides nothing."""
        return replace(self.trial(number), most_games=self.gauge, seed=self.seed_of(number, 3))
