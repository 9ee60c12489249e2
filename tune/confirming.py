"""The outcome of a tune: the tuned player, its text for `merino match`, and the match that would confirm it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from merino.inner.eval.families import default
from merino.inner.match.config import MatchConfig
from merino.inner.match.players import Player
from merino.inner.match.statistics import Sprt
from merino.inner.tune.parameters import playable
from merino.inner.tune.playing import players_of, terms_of
from merino.inner.tune.tuning import Configuration, Tune

PROOF = Sprt(0.0, 5.0)
MAX_PROOF_GAMES = 100_000


def tuned_values(tune: Tune) -> np.ndarray:
    """The best estimate so far in playable form, float64[d]: integers are rounded."""
    return playable(tune.configuration.parameters, tune.estimate())


def tuned_players(tune: Tune) -> tuple[Player, Player]:
    """The tuned player, and the one at the start."""
    configuration = tune.configuration
    start = np.array([row.start for row in configuration.parameters])
    tuned, first = players_of(configuration, tuned_values(tune), start)
    return replace(tuned, label="tuned"), replace(first, label="start")


def proof_terms(configuration: Configuration, players: tuple[Player, Player]) -> MatchConfig:
    """The configuration of the match of tuned values against the initial ones, from openings not used in the tune."""
    return replace(terms_of(configuration, players), seed=configuration.seed + 1, games=MAX_PROOF_GAMES)


def tunes_file(configuration: Configuration) -> bool:
    """Whether the file of the tuned evaluation differs from that of the first one."""
    return bool(_kept(configuration))


def needs_file(configuration: Configuration) -> bool:
    """Whether the tuned player needs a file of its evaluation: that is tuned, or not the default one."""
    if configuration.engine:
        return False
    return tunes_file(configuration) or configuration.identity != default().identity


def _kept(configuration: Configuration) -> list[str]:
    """The names of tuned numbers that the file of the evaluation keeps."""
    if configuration.engine:
        return []
    evaluation = configuration.evaluation
    names = [row.name for row in configuration.parameters]
    return [name for name in names if evaluation.keeps_search_numbers or name in evaluation.numbers]


def as_player(configuration: Configuration, values: Sequence[float], evaluation_file: Path) -> str:
    """The text for `merino match` of the player with these values and the evaluation in `evaluation_file`."""
    names = [row.name for row in configuration.parameters]
    numbers = {name: f"{value:.10g}" for name, value in zip(names, values, strict=True)}
    if configuration.engine:
        options = (f"option.{name}={value}" for name, value in numbers.items())
        return ",".join([shlex.join(configuration.engine), *options])
    file, kept = [str(evaluation_file)] if needs_file(configuration) else [], _kept(configuration)
    return ",".join([*file, *(f"{name}={value}" for name, value in numbers.items() if name not in kept)])
