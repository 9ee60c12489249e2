"""The report in the morning: a line for each generation, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from merino.core.common.sealed import finite
from merino.core.common.tables import aligned
from merino.core.common.text import counted
from merino.lab.nets.night.state import Generation, NightState
from merino.match.report import duration, signed

_WORK = ("generation", "at", "neurons", "positions", "error", "nodes a second", "time")
_STRENGTH = ("generation", "Elo against the best", "", "from the start", "from the terms")
_VERDICTS = {"H1": "kept", "H0": "dropped"}


def summary(state: NightState) -> list[str]:
    """The generations as lines of text: the work, the strength, the ladder if there is one, and a sentence."""
    if not state.rounds:
        return ["No generation is finished yet."]
    proven, hours = len(state.kept), state.hours[-1]
    played = sum(each.data.positions for each in state.rounds)
    speed = sum(each.nodes_a_second * each.play_seconds for each in state.rounds)
    speed /= max(1e-9, sum(each.play_seconds for each in state.rounds))
    last = (
        f"{counted(len(state.rounds), 'generation')} in {duration(hours * 3600)}, {proven} kept; {played:,} positions "
        f"played at {speed:,.0f} nodes a second"
    )
    work = [_work(found, after) for found, after in zip(state.rounds, state.hours, strict=True)]
    strength = [_strength(found) for found in state.rounds]
    return [*aligned([_WORK, *work]), "", *aligned([_STRENGTH, *strength]), *_ladder(state), last]


def _work(found: Generation, hours: float) -> tuple[str, ...]:
    return (
        str(found.number),
        duration(hours * 3600),
        f"{found.neurons}{' (continued)' if found.continued else ''}",
        f"{found.positions:,}",
        f"{found.error:.5f}",
        f"{found.nodes_a_second:,.0f}",
        duration(found.seconds),
    )


def _strength(found: Generation) -> tuple[str, ...]:
    return (
        str(found.number),
        f"{_elo(found.elo, found.elo_error)} ({found.match_games} games)",
        _VERDICTS.get(found.verdict, "not settled"),
        _elo(found.from_start, found.from_start_error),
        _elo(found.from_terms, found.from_terms_error),
    )


def _ladder(state: NightState) -> Iterator[str]:
    """A line for each net that has met the ladder."""
    names = ladder_of(state)
    rows = []
    for found in state.rounds:
        met = {rung.name: _elo(rung.elo, rung.elo_error) for rung in found.ladder}
        if met:
            rows.append((str(found.number), *(met.get(name, "") for name in names)))
    if rows:
        yield ""
        yield from aligned([("generation", *(f"from {name}" for name in names)), *rows])
        plan = state.plan
        yield f"Ladder: {plan.ladder} games against each of these older nets, at {plan.match_nodes} nodes a move"
    yield ""


def ladder_of(state: NightState) -> list[str]:
    """The names of the nets on the ladder, as far as one has met them, in the order of the ladder."""
    return list(dict.fromkeys(rung.name for found in state.rounds for rung in found.ladder))


def as_plain(state: NightState) -> list[dict[str, Any]]:
    """The generations as plain data, with the `hours` at the end of each; an Elo without bounds is None."""
    return [_plain(found, hours) for found, hours in zip(state.rounds, state.hours, strict=True)]


def _plain(found: Generation, hours: float) -> dict[str, Any]:
    data = asdict(found) | {"kept": found.is_proven, "hours": round(hours, 4)}
    for each in (data, *data["ladder"]):
        each |= {name: finite(each[name]) for name in _ELOS & each.keys()}
    return data


_ELOS = {"elo", "elo_error", "from_start", "from_start_error", "from_terms", "from_terms_error"}


def _elo(value: float | None, error: float | None) -> str:
    return "" if value is None or error is None else signed(value, error)
