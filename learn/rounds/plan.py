"""The settings that both kinds of rounds have: games, the deciding match, the matches that measure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from merino.inner.learn.errors import LearnError
from merino.inner.match.prove import StrengthTest
from merino.inner.match.statistics import Sprt
from merino.inner.match.time_control import Adjudication, RandomMoves, TimeControl

_SEEDS_A_ROUND = 10  # seeds of a round; each of its steps has its own
WIN = Adjudication(win_score=1000, win_moves=4)  # a position so clearly won teaches nothing


@dataclass(frozen=True)
class RoundPlan:
    """The settings of a run, the same throughout the life of its folder.

    A round plays `games` games of the best against itself at `nodes` a move, learns from those of the last `window`
    rounds, and tests what it has learned against the best: at `match_nodes` a move, in at most `match_games` games, by
    an SPRT of normalised Elo between `elo0` and `elo1`. `share` is that of the result in the target. After each proof,
    `gauge` games measure the Elo of the best; 0 for none.
    """

    nodes: int = 1500
    games: int = 2000
    window: int = 4
    share: float = 0.5
    match_nodes: int = 2000
    match_games: int = 4000
    elo0: float = 0.0
    elo1: float = 10.0
    gauge: int = 200
    seed: int = 1

    def as_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The plan that `as_json` wrote, with defaults for what a former version did not know.

        Raises TypeError or ValueError for anything else.
        """
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

    def check(self) -> Self:
        """The plan, if its numbers make sense together; raises LearnError."""
        if not 0 <= self.share <= 1:
            raise LearnError(f"the share of the result is from 0 to 1, not {self.share:g}")
        if self.elo0 >= self.elo1:
            raise LearnError(f"the test needs elo0 below elo1, not {self.elo0:g} and {self.elo1:g}")
        return self

    def check_same(self, given: Mapping[str, Any], where: object) -> None:
        """Raise LearnError if `given` differs from the settings in the folder `where`."""
        mine = self.as_json()
        other = [name for name, value in given.items() if mine[name] != value]
        if other:
            differing = ", ".join(f"{name} {_shown(mine[name])}, not {_shown(given[name])}" for name in other)
            raise LearnError(f"'{where}' has other settings: {differing}; leave them out, or give a new folder")

    def seed_of(self, number: int, step: int) -> int:
        """A seed that no other step of any round has."""
        return self.seed * 1_000_003 + number * _SEEDS_A_ROUND + step

    def random_moves(self, number: int) -> RandomMoves:
        """The random moves that make the games of a round differ."""
        return RandomMoves(early=6, early_loss=100, seed=self.seed_of(number, 0))

    def learns_from(self, number: int) -> range:
        """The rounds whose games a round learns from."""
        return range(max(1, number - self.window + 1), number + 1)

    def trial(self, number: int) -> StrengthTest:
        """The match that decides on what a round has learned."""
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

    def gauge_trial(self, number: int, step: int = 3) -> StrengthTest:
        """A match that decides nothing; `step` is that of its seed."""
        return replace(self.trial(number), most_games=self.gauge, seed=self.seed_of(number, step))


def _shown(value: float | str | None) -> str:
    """A setting in an error."""
    return f"{value:g}" if isinstance(value, int | float) else str(value or "unlimited")
