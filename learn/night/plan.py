"""The plan of a run of `night`: the settings of its generations, the same throughout the life of its folder."""

from __future__ import annotations

from dataclasses import dataclass

from merino.inner.learn.rounds.plan import RoundPlan

MIN_VALIDATION_GAMES = 20


@dataclass(frozen=True)
class NightPlan(RoundPlan):
    """The settings of a run; see RoundPlan."""

    games: int = 8000
    window: int = 12
    share: float = 0.4

    def recipe(self, start: str, generations: int) -> str:
        """The command that plays and learns all generations up to one again, from a net of this name or nothing."""
        return (
            f"merino night --from {start} --generations {generations} --games {self.games} --nodes {self.nodes} "
            f"--window {self.window} --blend {self.share:g} --match-games {self.match_games} "
            f"--match-nodes {self.match_nodes} --sprt {self.elo0:g} {self.elo1:g} --gauge {self.gauge} "
            f"--seed {self.seed}"
        )


def validation_share(games: int, usual: float) -> float:
    """The share of the games kept for validation: the usual one, or more to have some of few games."""
    return min(0.5, max(usual, MIN_VALIDATION_GAMES / max(1, games)))
