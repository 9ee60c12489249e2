"""The match that proves whether new weights are stronger than old ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from eval.weights import load
from match.contest import Outlets, Terms, cores, hold
from match.effort import Effort
from match.players import OwnPlayer
from match.report import summary
from match.statistics import Sprt

TEST = Sprt(0.0, 10.0)
EFFORT = Effort(nodes=2000)
MOST_GAMES = 40_000
SEED = 2
TELL_EVERY = 30.0  # seconds

Say = Callable[[str], object]


def offer(new: Path, old: Path) -> str:
    """The command that plays the match, in words."""
    test = f"--sprt {TEST.elo0:g} {TEST.elo1:g} --games {MOST_GAMES} --nodes {EFFORT.nodes} --seed {SEED}"
    return f"merino match '{new}' '{old}' {test}"


def prove(new: Path, old: Path, say: Say, most_games: int = MOST_GAMES) -> str:
    """Play weights against weights until the test is settled: "H1" if the new are stronger, "H0" if not.

    "" where neither is settled, by Ctrl-C or after so many games. Lines go to `say`, the state of the match now and
    then. Raises WeightsError and CommandError.
    """
    return prove_players(OwnPlayer(new.name, load(new)), OwnPlayer(old.name, load(old)), say, most_games=most_games)


def prove_players(
    new: OwnPlayer,
    old: OwnPlayer,
    say: Say,
    effort: Effort = EFFORT,
    test: Sprt = TEST,
    most_games: int = MOST_GAMES,
    seed: int = SEED,
) -> str:
    """The same for any two players of our own."""
    terms = Terms((new, old), effort, most_games, seed)
    result = hold(terms, cores(), test, Outlets(_NowAndThen(say)))
    say(summary((new.label, old.label), str(terms), result.tally, test, result.seconds))
    verdict = test.verdict(result.tally.counts)
    words = {
        "H1": f"Proved: {new.label} is stronger than {old.label}.",
        "H0": f"Not proved: {new.label} does not gain {test.elo1:g} Elo over {old.label}.",
        "": "Not settled.",
    }
    say(words[verdict])
    return verdict


class _NowAndThen:
    """Lets a line through twice a minute."""

    def __init__(self, say: Say) -> None:
        self._say, self._last = say, time.monotonic()

    def __call__(self, line: str) -> None:
        if time.monotonic() - self._last >= TELL_EVERY:
            self._last = time.monotonic()
            self._say(line)
