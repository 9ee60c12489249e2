"""What `learn` tells at the end: each weight before and after, how sure it is, and what is odd about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from eval.registry import TERMS
from learn.learning import FEW_GAMES, Learned, Split

CONFIDENCE = 1.96  # standard errors on each side of a 95% interval
RARE_GAMES = 100  # a term that fewer games carry is flagged
ALIKE = 0.8  # correlation above which two terms cannot be told apart well


@dataclass(frozen=True)
class WeightLine:
    """One weight: before, after, its 95% interval, what carries it and what is odd about it."""

    name: str
    old: float
    new: float
    low: float
    high: float
    positions: int
    games: int
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """All that a run found out, for people and for machines."""

    games: int
    positions: int
    k: float
    train_before: float
    train_after: float
    valid_before: float
    valid_after: float
    gain: float
    gain_error: float
    accepted: bool
    seconds: float
    weights: tuple[WeightLine, ...]

    def as_json(self) -> dict[str, object]:
        """Plain data for `json.dumps`."""
        return asdict(self)


def summarise(parts: Split, learned: Learned, games: int, seconds: float) -> Summary:
    """The summary of a run over `games` games."""
    return Summary(
        games,
        len(parts.train) + len(parts.valid),
        learned.end.k,
        *learned.train_errors,
        *learned.valid_errors,
        learned.gain,
        learned.gain_error,
        learned.accepted,
        seconds,
        _lines(parts, learned),
    )


def _lines(parts: Split, learned: Learned) -> tuple[WeightLine, ...]:
    twins = _twins(parts, learned)
    lines = []
    for index, term in enumerate(TERMS):
        carries = parts.train.features[:, index] != 0
        games = len(np.unique(parts.train_games[carries]))
        old, new = float(learned.start.weights[index]), float(learned.end.weights[index])
        width = CONFIDENCE * float(learned.spread[index])
        flags: list[str] = []
        if index not in learned.task.free:
            flags.append("frozen")
        else:
            if new in term.bounds:
                flags.append("at its bound")
            if games < RARE_GAMES:
                flags.append(f"rare: {games} games")
            if new != old and abs(new - old) < width:
                flags.append("change within its noise")
            if term.default * new < 0:
                flags.append("sign against its meaning")
            flags += [f"hard to tell from {name}" for name in twins.get(index, ())]
        lines.append(WeightLine(term.name, old, new, new - width, new + width, int(carries.sum()), games, tuple(flags)))
    return tuple(lines)


def _twins(parts: Split, learned: Learned) -> dict[int, list[str]]:
    """Pairs of terms that vary together, each under the index of its second."""
    sample = parts.train.features[:: max(1, len(parts.train) // 100_000)].astype(np.float32)
    deviation = sample.std(axis=0)
    seen = [index for index in learned.task.free if deviation[index] > 0]
    correlation = np.corrcoef(sample[:, seen].T) if len(seen) > 1 else np.eye(len(seen))
    twins: dict[int, list[str]] = {}
    for row, column in zip(*np.nonzero(np.triu(np.abs(correlation) > ALIKE, 1)), strict=True):
        twins.setdefault(int(seen[column]), []).append(TERMS[seen[row]].name)
    return twins


def render(summary: Summary) -> str:
    """The summary as text."""
    rows = [f"{'term':22} {'before':>7} {'after':>7}   {'95% interval':>16} {'positions':>10} {'games':>7}  remarks"]
    for line in summary.weights:
        interval = "" if "frozen" in line.flags else f"{line.low:7.0f} ..{line.high:6.0f}"
        counts = f"{line.positions:10} {line.games:7}"
        rows.append(f"{line.name:22} {line.old:7g} {line.new:7g}   {interval:>16} {counts}  {', '.join(line.flags)}")
    rows += [
        "",
        f"Training error:   {summary.train_before:.6f} -> {summary.train_after:.6f}",
        f"Validation error: {summary.valid_before:.6f} -> {summary.valid_after:.6f}",
        f"Gain on games not learned from: {summary.gain:.6f} +- {summary.gain_error:.6f} (one standard error)",
        f"K = {summary.k:.1f} centipawns, {summary.seconds:.1f} s",
    ]
    if summary.games < FEW_GAMES:
        rows.append(f"{summary.games} games are few: below {FEW_GAMES} the validation itself is not to be trusted.")
    return "\n".join(rows)
