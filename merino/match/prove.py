"""The matches that show whether new weights gain on the old ones, and by more games whether they are stronger.

In heats several new players are compared by short matches against the old one. After each round of games the better
half stays (successive halving). All players of a round have the same openings, and each round has others, so that a
player is judged by all of its games so far. Where players are akin, as candidate step sizes are, the games of each say
something of the others (see `expected_gains`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common import text, work
from merino.match import report, statistics
from merino.match.config import CLEAR_WIN, Adjudication, MatchConfig, TimeControl
from merino.match.games import Game, Tally
from merino.match.players import OwnPlayer

PAIR_VARIANCE = 0.1  # of the mean score of a pair, in points a game; it varies little


@dataclass(frozen=True)
class Heats:
    """How heats are played: the games of each player in each round, nodes per move, and the seed of the openings."""

    rounds: tuple[int, ...] = (128, 256)
    time_control: TimeControl = field(default_factory=lambda: TimeControl(nodes=1000))
    adjudication: Adjudication = CLEAR_WIN
    seed: int = 1000

    def games(self, players: int) -> int:
        """The number of games that so many players play."""
        games = 0
        for number in self.rounds:
            if players > 1:
                games, players = games + number * players, staying(players)
        return games


@dataclass(frozen=True)
class Belief:
    """What is believed of the gains of players before any game, in points a game.

    `gains`, float64[n], are the expected ones, and `kinship`, float64[n, n], is their covariance: how far the games of
    one speak for another.
    """

    gains: np.ndarray
    kinship: np.ndarray


@dataclass(frozen=True)
class Standings:
    """The results of heats: for each player the pairs by half points, int64[5], against the old one.

    `best` is the index of the best of those who played to the end.
    """

    best: int
    pairs: tuple[np.ndarray, ...]
    interrupted: bool


def staying(players: int) -> int:
    """How many of so many players stay after a round."""
    return (players + 1) // 2


def play_heats(
    players: Sequence[OwnPlayer],
    old: OwnPlayer,
    heats: Heats,
    belief: Belief | None = None,
    show: Callable[[str], object] | None = None,
    threads: int | None = None,
) -> Standings:
    """Play heats of `players` against `old`, or until Ctrl-C; the same players give the same standings everywhere.

    `belief` is as for `expected_gains`. `show` gets the state of a match several times a second. Raises MatchError.
    """
    from merino.match.runner import MatchOutput, run_match  # noqa: PLC0415 (with chess.engine, which a fit need not load)

    pairs = [np.zeros(5, dtype=np.int64) for _ in players]
    inside = list(range(len(players)))
    for number, games in enumerate(heats.rounds):
        for index in inside if len(inside) > 1 else ():
            config = MatchConfig(
                (players[index], old),
                heats.time_control,
                games=games,
                seed=heats.seed + number,
                adjudication=heats.adjudication,
            )
            live = None if show is None else partial(_show_of, show, players[index].label)
            result = run_match(config, threads or work.cores(), None, MatchOutput(live))
            pairs[index] += result.tally.pairs
            if result.interrupted:
                return Standings(_ranked(inside, pairs, belief)[0], tuple(pairs), True)
        inside = _ranked(inside, pairs, belief)[: staying(len(inside))]
    return Standings(inside[0], tuple(pairs), False)


def _show_of(show: Callable[[str], object], label: str, line: str) -> None:
    show(f"{label}: {line}")


def expected_gains(pairs: Sequence[np.ndarray], belief: Belief | None = None) -> np.ndarray:
    """What each player is expected to gain on the old one after these pairs, float64[n] in points a game.

    With a `belief` about more players than the first n, which have played, the gains are float64[belief], one for each
    of its players: those of a Gaussian process at its points (C. Rasmussen and C. Williams, "Gaussian Processes for
    Machine Learning", 2006, chapter 2).
    """
    number, mean, _ = statistics.moments(np.array(pairs))
    gains = np.where(number > 0, mean - 0.5, 0.0)
    if belief is None:
        return gains
    played, certainty = len(gains), number / PAIR_VARIANCE
    known, kinship = belief.gains[:played], belief.kinship[:played, :played]
    news = np.linalg.solve(np.eye(played) + certainty[:, None] * kinship, certainty * (gains - known))
    return np.asarray(belief.gains + belief.kinship[:, :played] @ news)


def _ranked(players: Sequence[int], pairs: Sequence[np.ndarray], belief: Belief | None) -> list[int]:
    """The players by their expected gain, best first; of equals the earlier."""
    gains = expected_gains(pairs, belief)
    return sorted(players, key=lambda index: (-gains[index], index))


Say = Callable[[str], object]


@dataclass(frozen=True)
class StrengthTest:
    """A match of a new player against the old one: what it tests, how it is played, and how many games it may take.

    `held` and `refuted` say what H1 and H0 mean, as `{new}` and `{old}`. `takes` says how long it may take. `heats`
    choose the new player, if there are several; without them the first plays.
    """

    test: statistics.Sprt
    time_control: TimeControl
    most_games: int
    held: str = ""
    refuted: str = ""
    takes: str = ""
    adjudication: Adjudication = field(default_factory=Adjudication)
    seed: int = 2
    heats: Heats | None = None

    def match(self, new: OwnPlayer, old: OwnPlayer) -> MatchConfig:
        """What is played."""
        games, adjudication = self.most_games, self.adjudication
        return MatchConfig((new, old), self.time_control, games=games, seed=self.seed, adjudication=adjudication)


GAIN = StrengthTest(
    statistics.Sprt(-5.0, 20.0, model=statistics.Model.LOGISTIC),
    TimeControl(nodes=2000),
    1400,
    "{new} gains on {old}.",
    "{new} does not gain 20 Elo over {old}, and may lose.",
    "usually one minute on two idle cores, at most two and a half",
    CLEAR_WIN,
    heats=Heats(),
)
STRONGER = StrengthTest(
    statistics.Sprt(0.0, 10.0),
    TimeControl(nodes=2000),
    40_000,
    "Proved: {new} is stronger than {old}.",
    "Not proved: {new} does not gain 10 Elo over {old}.",
    "at most an hour or two on two cores, usually much less",
)


@dataclass(frozen=True)
class Proof:
    """The result of a trial: "H1" if the new player passed, "H0" if not, "" if undecided."""

    trial: StrengthTest
    verdict: str
    tally: Tally
    seconds: float
    interrupted: bool

    def as_json(self, names: tuple[str, str]) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        found = report.as_json(names, self.tally, self.trial.test)
        return found | {"seconds": round(self.seconds, 1), "interrupted": self.interrupted}


def offer(new: Path, old: Path) -> str:
    """The command that plays the match for more strength."""
    test = f"--sprt {STRONGER.test.elo0:g} {STRONGER.test.elo1:g} --games {STRONGER.most_games}"
    players, nodes = f"{text.as_word(new)} {text.as_word(old)}", STRONGER.time_control.nodes
    return f"merino match {players} {test} --nodes {nodes} --seed {STRONGER.seed}"


def prove(
    new: OwnPlayer,
    old: OwnPlayer,
    trial: StrengthTest,
    say: Say,
    show: Callable[[str], object] | None = None,
    threads: int | None = None,
    played: Callable[[Game], object] | None = None,
) -> Proof:
    """Play new against old until the test is decided, all games are played, or Ctrl-C; `threads` games at a time.

    The same players and trial give the same verdict on every machine. `say` gets the result, `show` the state of the
    match several times a second, `played` each game in order. Raises MatchError.
    """
    from merino.match.runner import MatchOutput, run_match  # noqa: PLC0415 (with chess.engine, which a fit need not load)

    result = run_match(trial.match(new, old), threads or work.cores(), trial.test, MatchOutput(show, played=played))
    proof = Proof(trial, trial.test.verdict(result.tally.counts), result.tally, result.seconds, result.interrupted)
    for line in _lines_of(proof, new.label, old.label):
        say(line)
    return proof


def _lines_of(proof: Proof, new: str, old: str) -> list[str]:
    tally, test, found = proof.tally, proof.trial.test, statistics.estimate(proof.tally.counts)
    losses, draws, wins = tally.points
    low, high = test.bounds
    words = {"H1": proof.trial.held, "H0": proof.trial.refuted, "": "Not settled."}
    if not tally.games:
        return ["No game was finished."]
    return [
        f"{tally.games} games in {report.duration(proof.seconds)}: {wins} won, {draws} drawn, {losses} lost by {new}; "
        f"Elo {report.signed(found.elo, found.elo_error)} (95%).",
        f"{test}: LLR {text.rounded(test.llr(tally.counts), digits=2)}, decided at {low:.2f} or {high:.2f}. "
        + words[proof.verdict].format(new=new, old=old),
    ]
