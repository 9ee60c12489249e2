"""The match that proves whether new weights are stronger than old ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eval.weights import load
from match.contest import Outlets, Terms, hold
from match.effort import Effort
from match.players import OwnPlayer
from match.report import summary
from match.statistics import Sprt

TEST = Sprt(0.0, 10.0)
NODES = 2000
MOST_GAMES = 40_000
SEED = 2


def offer(new: Path, old: Path) -> str:
    """The command that plays the match, in words."""
    test = f"--sprt {TEST.elo0:g} {TEST.elo1:g} --games {MOST_GAMES} --nodes {NODES} --seed {SEED}"
    return f"merino match '{new}' '{old}' {test}"


def prove(
    new: Path, old: Path, threads: int, say: Callable[[str], object], show: Callable[[str], object] | None = None
) -> str:
    """Play weights against weights until the test is settled: "H1" if the new are stronger, "H0" if not.

    "" where neither is settled, by Ctrl-C or after very many games. The result goes to `say`, the live line to `show`.
    Raises WeightsError and CommandError.
    """
    return prove_players(OwnPlayer(new.name, load(new)), OwnPlayer(old.name, load(old)), threads, say, show)


def prove_players(
    new: OwnPlayer,
    old: OwnPlayer,
    threads: int,
    say: Callable[[str], object],
    show: Callable[[str], object] | None = None,
    effort: Effort | None = None,
    test: Sprt = TEST,
) -> str:
    """The same for any two players of our own."""
    terms = Terms((new, old), effort or Effort(NODES), MOST_GAMES, SEED)
    result = hold(terms, threads, test, Outlets(show))
    say(summary((new.label, old.label), str(terms), result.tally, test, result.seconds))
    verdict = test.verdict(result.tally.counts)
    words = {
        "H1": f"Proved: {new.label} is stronger than {old.label}.",
        "H0": f"Not proved: {new.label} does not gain {test.elo1:g} Elo over {old.label}.",
        "": "Not settled.",
    }
    say(words[verdict])
    return verdict
