"""A profile as plain data: for scripts, for the page, and for a file of a style."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from merino.inner.study.profile.groups import MoveGroup, OverTime
from merino.inner.study.profile.intervals import Interval
from merino.inner.study.profile.mistakes import KindCount, Temptation
from merino.inner.study.profile.openings import OpeningRecord
from merino.inner.study.profile.profile import Profile
from merino.inner.study.profile.tastes import Habit, TermTaste


def as_object(profile: Profile) -> dict[str, Any]:
    """The profile as JSON data. Values are in centipawns, losses in shares of the points."""
    return {
        "player": profile.player,
        "rating": None if profile.rating is None else round(profile.rating),
        "peers": list(profile.peers),
        "games": profile.games,
        "moves": profile.moves,
        "plies": profile.plies,
        **profile.foretold.as_json(),
        "baselines": {name: told.as_json() for name, told in profile.baselines.items()},
        "terms": [_taste_object(taste) for taste in profile.terms],
        "habits": [_habit_object(habit) for habit in profile.habits],
        "parts": [_group_object(part) for part in profile.parts],
        "over_time": _over_time_object(profile.over_time),
        "openings": [_opening_object(opening) for opening in profile.openings],
        "mistakes": {
            "count": len(profile.mistakes.found),
            "kinds": [_kind_object(kind) for kind in profile.kinds],
            "plies": [{"plies": depth, "mistakes": count} for depth, count in profile.mistakes.by_plies.items()],
        },
        "sights": [asdict(sight) for sight in profile.sights],
        "temptations": [_temptation_object(each) for each in profile.temptations],
        "coefficients": {name: round(value, 4) for name, value in profile.coefficients.items()},
        "faulty": profile.faulty,
        "left_out": profile.left_out,
    }


def _taste_object(taste: TermTaste) -> dict[str, Any]:
    worth, (worth_low, worth_high) = taste.worth(taste.value), taste.worth_range
    return {
        "name": taste.name,
        "words": taste.words,
        "is_fault": taste.is_fault,
        "is_more": taste.is_more,
        "is_clear": taste.is_clear,
        "is_special": taste.is_special,
        "weight": round(taste.weight, 2),
        "value": round(taste.value, 2),
        "low": round(taste.low, 2),
        "high": round(taste.high, 2),
        "others": round(taste.others, 2),
        "worth": {
            "player": round(worth, 2),
            "low": round(worth_low, 2),
            "high": round(worth_high, 2),
            "merino": round(taste.worth(0), 2),
            "others": round(taste.worth(taste.others), 2),
        },
        "examples": [asdict(example) for example in taste.examples],
    }


def _habit_object(habit: Habit) -> dict[str, Any]:
    numbers = {name: round(value, 4) for name, value in asdict(habit).items() if name != "name"}
    return {"name": habit.name, "words": habit.words, **numbers}


def _interval(name: str, interval: Interval | None) -> dict[str, float | None]:
    """The mean by a name, and the ends of its interval; None where there is none."""
    values = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return {
        key: None if value is None else round(value, 4)
        for key, value in zip((name, f"{name}_low", f"{name}_high"), values, strict=True)
    }


def _group_object(group: MoveGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "games": group.games,
        "moves": group.moves,
        **_interval("loss", group.loss),
        **_interval("mistakes", group.mistakes),
        "is_enough": group.is_enough,
    }


def _over_time_object(found: OverTime) -> dict[str, Any]:
    return {
        "by": found.by,
        "periods": [_group_object(period) for period in found.periods],
        **_interval("change", found.change),
        "direction": found.direction,
    }


def _opening_object(opening: OpeningRecord) -> dict[str, Any]:
    return {
        "name": opening.name,
        "eco": list(opening.eco),
        "colour": opening.colour,
        "games": opening.games,
        "won": opening.won,
        "drawn": opening.drawn,
        "lost": opening.lost,
        **_interval("score", opening.score),
        "is_enough": opening.is_enough,
        "moves": None if opening.moves is None else _group_object(opening.moves),
        "kinds": [_kind_object(kind) for kind in opening.kinds],
    }


def _kind_object(kind: KindCount) -> dict[str, Any]:
    return {
        "kind": kind.kind,
        "count": kind.count,
        **_interval("share", kind.share),
        "loss": round(kind.loss, 4),
        "plies": kind.plies,
        "examples": [asdict(example) for example in kind.examples],
    }


def _temptation_object(found: Temptation) -> dict[str, Any]:
    return {
        "nodes": found.nodes,
        "sees": found.sees,
        "positions": found.positions,
        **_interval("fallen", found.fallen),
        "others": round(found.others, 4),
        "is_enough": found.is_enough,
    }
