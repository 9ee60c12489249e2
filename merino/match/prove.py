"""The matches that show whether new weights gain on the old ones, and by more games whether they are stronger."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merino.core.common.quoting import as_word, rounded
from merino.core.common.work import cores
from merino.match.games import Game, Tally
from merino.match.heats import Heats
from merino.match.players import OwnPlayer
from merino.match.report import as_json, duration, signed
from merino.match.statistics import Model, Sprt, estimate
from merino.match.time_control import CLEAR_WIN, Adjudication, TimeControl

Say = Callable[[str], object]


@dataclass(frozen=True)
class StrengthTest:
    """A match of a new player against the old one: what it tests, how it is played, and how many games it may take.

    `held` and `refuted` say what H1 and H0 mean, as `{new}` and `{old}`. `takes` says how long it may take. `heats`
    choose the new player, if there are several; without them the first plays.
    """

    test: Sprt
    time_control: TimeControl
    most_games: int
    held: str
    refuted: str
    takes: str
    adjudication: Adjudication = field(default_factory=Adjudication)
    seed: int = 2
    heats: Heats | None = None


GAIN = StrengthTest(
    Sprt(-5.0, 20.0, model=Model.LOGISTIC),
    TimeControl(nodes=2000),
    1400,
    "{new} gains on {old}.",
    "{new} does not gain 20 Elo over {old}, and may lose.",
    "usually one minute on two idle cores, at most two and a half",
    CLEAR_WIN,
    heats=Heats(),
)
STRONGER = StrengthTest(
    Sprt(0.0, 10.0),
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
        found = as_json(names, self.tally, self.trial.test)
        return found | {"seconds": round(self.seconds, 1), "interrupted": self.interrupted}


def offer(new: Path, old: Path) -> str:
    """The command that plays the match for more strength."""
    test = f"--sprt {STRONGER.test.elo0:g} {STRONGER.test.elo1:g} --games {STRONGER.most_games}"
    players, nodes = f"{as_word(new)} {as_word(old)}", STRONGER.time_control.nodes
    return f"merino match {players} {test} --nodes {nodes} --seed {STRONGER.seed}"


def prove(
    new: OwnPlayer,
    old: OwnPlayer,
    trial: StrengthTest,
    say: Say,
    show: Callable[[str], object] | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    played: Callable[[Game], object] | None = None,
) -> Proof:
    """Play new against old until the test is decided, all games are played, or Ctrl-C; `threads` games at a time.

    The same players and trial give the same verdict on every machine. `say` gets the result, `show` the state of the
    match several times a second, `played` each game in order. `executor` plays, None for threads of this process.
    Raises MatchError.
    """
    from merino.match.config import MatchConfig  # noqa: PLC0415 (with python-chess, which those who only fit need not wait for)
    from merino.match.runner import MatchOutput, run_match  # noqa: PLC0415

    config = MatchConfig((new, old), trial.time_control, trial.most_games, trial.seed, adjudication=trial.adjudication)
    result = run_match(config, threads or cores(), trial.test, MatchOutput(show, played=played), executor)
    proof = Proof(trial, trial.test.verdict(result.tally.counts), result.tally, result.seconds, result.interrupted)
    for line in _lines_of(proof, new.label, old.label):
        say(line)
    return proof


def _lines_of(proof: Proof, new: str, old: str) -> list[str]:
    tally, test, found = proof.tally, proof.trial.test, estimate(proof.tally.counts)
    losses, draws, wins = tally.points
    low, high = test.bounds
    words = {"H1": proof.trial.held, "H0": proof.trial.refuted, "": "Not settled."}
    if not tally.games:
        return ["No game was finished."]
    return [
        f"{tally.games} games in {duration(proof.seconds)}: {wins} won, {draws} drawn, {losses} lost by {new}; "
        f"Elo {signed(found.elo, found.elo_error)} (95%).",
        f"{test}: LLR {rounded(test.llr(tally.counts), digits=2)}, decided at {low:.2f} or {high:.2f}. "
        + words[proof.verdict].format(new=new, old=old),
    ]
