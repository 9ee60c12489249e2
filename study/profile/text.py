"""A profile as text for people, and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from merino.inner.study.profile.profile import Profile, TermTaste

SHOWN = 6  # tastes in the text, at most


def as_object(profile: Profile) -> dict[str, Any]:
    """The profile as JSON data. Values are in centipawns, losses in shares of the points."""
    return {
        "player": profile.player,
        "rating": None if profile.rating is None else round(profile.rating),
        "games": profile.games,
        "moves": profile.moves,
        **profile.foretold.as_json(),
        "baselines": {name: told.as_json() for name, told in profile.baselines.items()},
        "terms": [_taste_object(taste) for taste in profile.terms],
        "habits": [asdict(habit) for habit in profile.habits],
        "parts": [asdict(part) for part in profile.parts],
        "sights": [asdict(sight) for sight in profile.sights],
        "coefficients": {name: round(value, 4) for name, value in profile.coefficients.items()},
        "faulty": profile.faulty,
    }


def _taste_object(taste: TermTaste) -> dict[str, Any]:
    return {
        "name": taste.name,
        "weight": round(taste.weight, 2),
        "value": round(taste.value, 2),
        "low": round(taste.low, 2),
        "high": round(taste.high, 2),
        "others": round(taste.others, 2),
        "examples": [asdict(example) for example in taste.examples],
    }


def render(profile: Profile) -> str:
    """The profile as lines of text."""
    rating = "" if profile.rating is None else f", rating {profile.rating:.0f}"
    lines = [f"{profile.player}{rating}: {profile.games} games, {profile.moves} moves after the opening"]
    if profile.faulty:
        lines.append(profile.left_out)
    lines += ["", "How well your moves are foretold, in games kept apart", *_foretold_lines(profile)]
    lines += ["", "What you value more or less than Merino, in centipawns for one more of it", *_taste_lines(profile)]
    lines += ["", "What draws you, if searches see no difference"]
    lines += [
        f"  {habit.name:<27} {habit.factor:5.2f} times as likely ({habit.low:.2f} to {habit.high:.2f}); "
        f"others {habit.others:.2f}"
        for habit in profile.habits
    ]
    lines += ["", "What your moves lose"]
    lines += [
        f"  {part.name:<24}{part.moves:6} moves lose {100 * part.loss:5.1f}% of a point a move, "
        f"{100 * part.mistakes:4.1f}% mistakes"
        for part in profile.parts
    ]
    return "\n".join([*lines, "", *_sight_lines(profile)])


def _foretold_lines(profile: Profile) -> list[str]:
    rows = {"your profile": profile.foretold, **profile.baselines}
    head = f"  {'':<18}{'first':>8}{'in three':>10}{'log-loss':>10}"
    return [
        head,
        *(f"  {name:<18}{told.top1:>8.1%}{told.top3:>10.1%}{told.log_loss:>10.3f}" for name, told in rows.items()),
    ]


def _taste_lines(profile: Profile) -> list[str]:
    clear = [taste for taste in profile.terms if taste.is_clear][:SHOWN]
    if not clear:
        return ["  Not enough games: every interval holds 0, so you may value all terms as Merino does."]
    lines = []
    for taste in clear:
        which = "more" if taste.value > 0 else "less"
        lines.append(
            f"  {taste.name:<22}{abs(taste.value):6.1f} {which} ({taste.low:+.1f} to {taste.high:+.1f}); Merino "
            f"{taste.weight:.1f}, others {taste.others:+.1f}"
        )
        if taste.examples:
            told = "; ".join(f"game {example.game}, {example.move}" for example in taste.examples)
            lines.append(f"  {'':<22}such as {told}")
    rest = len(profile.terms) - len(clear)
    lines.append(f"  Of the other {rest} terms nothing is sure, or less than of these; --json has them all.")
    return lines


def _sight_lines(profile: Profile) -> list[str]:
    total = sum(sight.mistakes for sight in profile.sights)
    if not total:
        return ["No mistakes found."]
    told = ", ".join(f"{sight.mistakes} of {sight.nodes} nodes" for sight in profile.sights)
    return [f"Of {total} mistakes, this many are first seen by a search: {told}."]
