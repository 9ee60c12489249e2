"""The reports of a match: a line while it runs, a summary at its end, and the same for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from merino.core.common.json_text import finite
from merino.core.common.quoting import rounded
from merino.match.games import Tally
from merino.match.statistics import Sprt, estimate

GAMES_OF_A_BOARD = 2  # a pair, because its two games are handed out together
VERDICTS = {"H0": "H0 is accepted", "H1": "H1 is accepted", "": "not decided"}


def signed(value: float, error: float) -> str:
    """A value with the half-width of its interval, in words where that has no end: few games, or a lopsided result."""
    if math.isinf(value):
        return f"{value:+.0f}"
    if math.isinf(error):
        return f"{value:+.0f} or far {'more' if value > 0 else 'less'}" if value else "not known"
    return f"{rounded(value, '+')} +- {error:.1f}"


def counts_text(tally: Tally) -> str:
    """Games, wins, draws, losses, and the pairs by points."""
    losses, draws, wins = tally.points
    return f"+{wins} ={draws} -{losses}  {tally.pairs.tolist()}"


def points_text(points: float) -> str:
    """Points with the half, if there is one, however many they are."""
    return f"{points:.1f}".removesuffix(".0")


class GameRate:
    """How fast games come.

    It stays unknown until each board has finished some games: compiling before the first game, and how many boards
    happen to finish at first, say nothing about later games.
    """

    def __init__(self, boards: int) -> None:
        self._enough = GAMES_OF_A_BOARD * boards
        self._games = 0
        self._first: tuple[int, float] | None = None  # games and time when measuring began
        self._last = 0.0

    def note(self, now: float) -> None:
        """Note that a game has ended; `now` is in seconds of any clock."""
        self._games += 1
        self._last = now
        if self._first is None and self._games >= self._enough:
            self._first = self._games, now

    @property
    def speed(self) -> float | None:
        """Games a second; None while unknown."""
        if self._first is None:
            return None
        games, seconds = self._games - self._first[0], self._last - self._first[1]
        return games / seconds if games >= self._enough and seconds > 0 else None


def live_line(tally: Tally, games: int, speed: float | None, sprt: Sprt | None = None) -> str:
    """The state of a match of at most so many games; `speed` is in games a second, None if unknown."""
    found = estimate(tally.counts)
    words = [
        f"{tally.games}/{games}",
        counts_text(tally),
        f"Elo {signed(found.elo, found.elo_error)}",
        f"LOS {found.los:.1%}",
    ]
    if sprt is not None:
        low, high = sprt.bounds
        words.append(f"LLR {rounded(sprt.llr(tally.counts), digits=2)} ({low:.2f}, {high:.2f})")
    return "  ".join([*words, *_pace_words(tally, games, speed, " at most" if sprt else "")])


def count_line(tally: Tally, games: int, speed: float | None, _: Sprt | None = None) -> str:
    """The same for self-play, where nobody wins."""
    return "  ".join([f"{tally.games}/{games}", f"{tally.points[1]} drawn", *_pace_words(tally, games, speed, "")])


def _pace_words(tally: Tally, games: int, speed: float | None, at_most: str) -> list[str]:
    if not speed:
        return []
    return [f"{speed:.3g} games/s, {duration((games - tally.games) / speed)} left{at_most}"]


def duration(seconds: float) -> str:
    """A duration: "5 s", "12 min", "3.2 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def summary(names: Sequence[str], config: str, conditions: str, tally: Tally, sprt: Sprt | None, seconds: float) -> str:
    """The result at the end of a match, and the block of evidence; `config` and `conditions` say how it was played."""
    found = estimate(tally.counts)
    points = tally.points[2] + tally.points[1] / 2
    share = f" ({points / tally.games:.1%})" if tally.games else ""
    rows = [
        ("Match", f"{names[0]} against {names[1]}, {config}"),
        ("Points", f"{points_text(points)} of {tally.games}{share}"),
        ("nElo", f"{signed(found.normalized, found.normalized_error)} (95%)"),
        ("LOS", f"{found.los:.1%} that {names[0]} is the stronger"),
    ]
    if sprt is not None:
        verdict = VERDICTS[sprt.verdict(tally.counts)]
        rows.append(("Test", f"{sprt}, alpha {sprt.alpha:g}, beta {sprt.beta:g}: {verdict}"))
    rows.append(("Faults", faults_text(names, tally)))
    rows.append(("Time", f"{duration(seconds)}, {tally.games / max(seconds, 1e-9):.3g} games/s"))
    return "\n".join([*(f"{name:<7} {text}" for name, text in rows), "", *evidence(conditions, tally, sprt)])


def evidence(conditions: str, tally: Tally, sprt: Sprt | None) -> list[str]:
    """The lines by which engine programmers report a test, in the format of OpenBench.

    `conditions` are the time control, threads and hash. Without a sequential test, Conf stands for SPRT and LLR.
    """
    found = estimate(tally.counts)
    losses, draws, wins = tally.points
    lines = [f"Elo   | {rounded(found.elo, digits=2)} +- {found.elo_error:.2f} (95%)"]
    if sprt is None:
        lines.append(f"Conf  | {conditions}")
    else:
        low, high = sprt.bounds
        lines.append(f"SPRT  | {conditions}")
        llr = rounded(sprt.llr(tally.counts), digits=2)
        lines.append(f"LLR   | {llr} ({low:.2f}, {high:.2f}) [{sprt.elo0:.2f}, {sprt.elo1:.2f}]")
    lines.append(f"Games | N: {tally.games} W: {wins} L: {losses} D: {draws}")
    return [*lines, f"Penta | {tally.pairs.tolist()}"]


def faults(tally: Tally) -> dict[str, list[int]]:
    """How many games ended by a fault of the first player, and of the second."""
    words = {"ILLEGAL": "illegal moves", "CRASH": "crashes", "TIME": "time losses"}
    return {words[reason.name]: counts for reason, counts in tally.faults.items()}


def faults_text(names: Sequence[str], tally: Tally) -> str:
    """The faults of each player: "none", or "B 3 time losses"."""
    words = [
        f"{name} {counts[side]} {what}"
        for side, name in enumerate(names)
        for what, counts in faults(tally).items()
        if counts[side]
    ]
    return ", ".join(words) or "none"


def as_json(names: Sequence[str], tally: Tally, sprt: Sprt | None) -> dict[str, Any]:
    """The result as one object; infinite or unrequested values are null.

    `illegal`, `crashes` and `time_losses` count both players together; `faults` holds each player's.
    """
    found = estimate(tally.counts)
    losses, draws, wins = (int(count) for count in tally.points)
    result: dict[str, Any] = {
        "players": list(names),
        "games": tally.games,
        "wins": wins,
        "draws": draws,
        "losses": losses,
    }
    result |= {"pentanomial": tally.pairs.tolist(), "elo": finite(found.elo), "elo_error": finite(found.elo_error)}
    result |= {"normalized_elo": finite(found.normalized), "normalized_elo_error": finite(found.normalized_error)}
    result |= {"los": found.los, "llr": None, "verdict": ""}
    if sprt is not None:
        result |= {"llr": sprt.llr(tally.counts), "verdict": sprt.verdict(tally.counts)}
        result["sprt"] = {"elo0": sprt.elo0, "elo1": sprt.elo1, "alpha": sprt.alpha, "beta": sprt.beta}
        result["sprt"] |= {"model": str(sprt.model), "bounds": list(sprt.bounds)}
    counted = {what.replace(" moves", "").replace(" ", "_"): counts for what, counts in faults(tally).items()}
    result |= {what: sum(counts) for what, counts in counted.items()}
    return result | {"faults": [{what: counts[side] for what, counts in counted.items()} for side in (0, 1)]}
