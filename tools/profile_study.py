"""`python -m tools.profile_study FILE.pgn ...`: how much profiles tell of players, as tables for the documentation.

How well moves are foretold in games kept apart; and whether two halves of a player's games resemble each other more
than those of different players do. What is compared are the coefficients less those that are usual, each divided by
how much players differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from merino.engine.search.people import People, people
from merino.lab.people.profile.choices import MAX_CHOICES, Choices, Foretold, fit
from merino.lab.people.profile.players import PlayerGames
from merino.lab.people.profile.profile import cross_validated
from tools.fit_people import choices_in


def halves_of(player: PlayerGames, choices: Choices, others: People) -> list[np.ndarray]:
    """What is special about a player in every other game, and in the rest."""
    prior = others.prior(player.rating)
    half = choices.games % 2
    return [
        (fit(choices.chosen(half == number), prior).coefficients - prior.means) / prior.deviations for number in (0, 1)
    ]


def resemblance(halves: Sequence[Sequence[np.ndarray]]) -> tuple[float, float, float]:
    """Mean correlation of a player's halves, and of different players'; and how often the own half is the nearest."""
    firsts, seconds = (np.array([pair[number] for pair in halves]) for number in (0, 1))
    correlations = np.corrcoef(firsts, seconds)[: len(firsts), len(firsts) :]
    own = np.diag(correlations)
    other = correlations[~np.eye(len(own), dtype=bool)]
    return float(own.mean()), float(other.mean()), float((own >= correlations.max(axis=1)).mean())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m tools.profile_study", description="Judge profiles.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.pgn")
    parser.add_argument("--players", type=int, default=10, help="of each file, the most frequent ones (10)")
    parser.add_argument("--least", type=int, default=60, help="games that a player must have (60)")
    parser.add_argument("--positions", type=int, default=MAX_CHOICES, help=f"of a player ({MAX_CHOICES})")
    args = parser.parse_args(arguments)
    others = people()
    halves, told = [], dict[str, list[Foretold]]()
    for player, choices in choices_in(args.files, args.players, args.least, args.positions):
        halves.append(halves_of(player, choices, others))
        own, baselines = cross_validated(choices, others.prior(player.rating))
        for way, foretold in {"the player's profile": own, **baselines}.items():
            told.setdefault(way, []).append(foretold)
    print("| Foretold by | First | In three | Log-loss |\n| --- | ---: | ---: | ---: |")
    names = [field.name for field in fields(Foretold)]
    for way, found in told.items():
        means = [float(np.mean([getattr(one, name) for one in found])) for name in names]
        print(f"| {way} | {means[0]:.1%} | {means[1]:.1%} | {means[2]:.3f} |")
    same, other, nearest = resemblance(halves)
    print(f"\nhalves of {len(halves)} players: own {same:.2f}, others' {other:.2f}; nearest is the own: {nearest:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
