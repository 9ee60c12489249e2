"""The report in the morning: a line for each generation."""

from __future__ import annotations

from merino.inner.core.common.tables import aligned
from merino.inner.learn.night.state import Generation, NightState
from merino.inner.match.report import duration, signed

_HEADS = ("", "neurons", "positions", "error", "Elo against the best", "", "from the start", "from the terms", "time")
_VERDICTS = {"H1": "kept", "H0": "dropped"}


def summary(state: NightState) -> list[str]:
    """The generations as lines of text."""
    if not state.rounds:
        return ["No generation is finished yet."]
    rows = [_row(found) for found in state.rounds]
    proven, hours = sum(each.is_proven for each in state.rounds), state.hours[-1]
    played = sum(each.data.positions for each in state.rounds)
    speed = sum(each.nodes_a_second * each.play_seconds for each in state.rounds)
    speed /= max(1e-9, sum(each.play_seconds for each in state.rounds))
    last = (
        f"{len(rows)} generations in {duration(hours * 3600)}, {proven} kept; {played:,} positions played at "
        f"{speed:,.0f} nodes a second"
    )
    return [*aligned([_HEADS, *rows]), last]


def _row(found: Generation) -> tuple[str, ...]:
    return (
        str(found.number),
        f"{found.neurons}{' (continued)' if found.continued else ''}",
        f"{found.positions:,}",
        f"{found.error:.5f}",
        f"{_elo(found.elo, found.elo_error)} ({found.match_games} games)",
        _VERDICTS.get(found.verdict, "not settled"),
        _elo(found.from_start, found.from_start_error),
        _elo(found.from_terms, found.from_terms_error),
        duration(found.seconds),
    )


def _elo(value: float | None, error: float | None) -> str:
    return "" if value is None or error is None else signed(value, error)
