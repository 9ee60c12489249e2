"""A profile as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from merino.core.board.fen import COLOUR_NAMES
from merino.core.common.quoting import counted, rounded
from merino.lab.people.profile.groups import Interval, MoveGroup, OverTime
from merino.lab.people.profile.mistakes import Example, Temptation
from merino.lab.people.profile.openings import OpeningRecord
from merino.lab.people.profile.profile import Profile
from merino.lab.people.profile.tastes import Habit, TermTaste

SHOWN = 6  # rows of a part, at most
NOT_ENOUGH = "not enough games"
_HEADS = {  # by whether it is a fault, and whether it counts more than for Merino
    (False, True): "What you value more than Merino: what one is worth",
    (False, False): "What you value less than Merino: what one is worth",
    (True, True): "What you mind more than Merino: what one costs",
    (True, False): "What you mind less than Merino: what one costs",
}
_NAME = 28  # columns of a row's name


def render(profile: Profile) -> str:
    """The profile as lines of text."""
    rating = "" if profile.rating is None else f", rating {profile.rating:.0f}"
    amount = f"{counted(profile.games, 'game')}, {counted(profile.moves, 'move')} after the opening"
    lines = [f"{profile.player}{rating}: {amount}"]
    if profile.faulty:
        lines.append(profile.left_out)
    others = others_of(profile)
    parts: list[tuple[str, Iterable[str]]] = [
        ("What your moves lose: of a point a move; a mistake loses a tenth or more", _group_lines(profile.parts)),
        (f"Over time, by {profile.over_time.by}", _time_lines(profile.over_time)),
        *((f"Your openings with {colour}", _opening_lines(profile, colour)) for colour in COLOUR_NAMES),
        ("Your most frequent mistakes", _kind_lines(profile)),
        ("How far you look", _sight_lines(profile)),
        *taste_parts(profile.terms),
        ("What draws you, where moves are as good as others", _habit_lines(profile.habits)),
        ("How well your moves are foretold, in games kept apart", _foretold_lines(profile)),
    ]
    for title, told in parts:
        lines += ["", title, *(f"  {line}".rstrip() for line in told)]
    lines += ["", f"In brackets: where it lies with 95%. Others: {others}."]
    return "\n".join([*lines, *_more(profile)])


def _more(profile: Profile) -> list[str]:
    """A word about the moves that were not looked at."""
    if profile.plies < 2 * profile.moves:
        return []
    return [f"Your games have {profile.plies} moves after the opening: with more of them (--positions) more is sure."]


def others_of(profile: Profile) -> str:
    """Who the other players are, in words."""
    low, high = profile.peers
    if profile.rating is not None and low <= profile.rating <= high:
        return "players of your rating"
    return f"strong players ({low:.0f} to {high:.0f}); weaker ones are not known"


def _percents(interval: Interval) -> str:
    """A share with its interval: "3.0% (2.1 to 4.0)"."""
    return f"{interval.value:.1%} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def _named(examples: Sequence[Example]) -> str:
    return "; ".join(f"game {example.game}, {example.move}" for example in examples)


def _group_lines(groups: Sequence[MoveGroup]) -> list[str]:
    """A row for each group of moves."""
    lines = [f"{'':<{_NAME}}{'moves':>7}  {'lost a move':<22}mistakes"]
    for group in groups:
        told = f"{_percents(group.loss):<22}{_percents(group.mistakes)}" if group.is_enough else NOT_ENOUGH
        lines.append(f"{group.name:<{_NAME}}{group.moves:>7}  {told}")
    return lines


def _time_lines(found: OverTime) -> list[str]:
    lines = _group_lines(found.periods)
    if found.change is None:
        return [*lines, f"Whether you lose less later: {NOT_ENOUGH}."]
    how_much = f"{100 * abs(found.change.value):.1f}% of a point a move"
    if found.direction:
        return [*lines, f"In the later half you lose {how_much} {'less' if found.direction > 0 else 'more'}."]
    less, more = 100 * max(0.0, -found.change.low), 100 * max(0.0, found.change.high)
    told = f"between {less:.1f}% of a point less and {more:.1f}% more"
    return [*lines, f"No change is sure: in the later half a move loses {told}."]


def _opening_lines(profile: Profile, colour: str) -> list[str]:
    own = [opening for opening in profile.openings if opening.colour == colour]
    lines = [line for opening in own[:SHOWN] for line in _opening(opening)]
    if len(own) > SHOWN:
        games = sum(opening.games for opening in own[SHOWN:])
        others = counted(len(own) - SHOWN, "other opening")
        lines.append(f"and {counted(games, 'game')} with {others}; --json has them all")
    return lines or ["no games"]


def _opening(opening: OpeningRecord) -> list[str]:
    codes = f" ({opening.eco[0]}{f' to {opening.eco[-1]}' if len(opening.eco) > 1 else ''})" if opening.eco else ""
    score = _percents(opening.score) if opening.score and opening.is_enough else NOT_ENOUGH
    moves = opening.moves
    lost = f"{_percents(moves.loss)} lost a move" if moves and moves.is_enough else ""
    results = f"{counted(opening.games, 'game'):>11}  +{opening.won} ={opening.drawn} -{opening.lost}"
    lines = [f"{opening.name}{codes}", f"{results:<28} points {score}{'; ' if lost else ''}{lost}"]
    most = opening.kinds[0] if opening.kinds else None
    if most and most.count > 1:
        lines.append(f"{'':<12} most often: {most.kind}, {most.count} ({_named(most.examples)})")
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def _kind_lines(profile: Profile) -> list[str]:
    if not profile.kinds:
        return ["No mistakes found."]
    lines = []
    for kind in profile.kinds[:SHOWN]:
        seen = "seen far on" if kind.plies is None else f"seen {_plies(kind.plies)} on"
        lines.append(f"{kind.kind:<{_NAME}}{kind.count:>5}, {_percents(kind.share)} of all; {seen}")
        lines.append(f"  such as {_named(kind.examples)}")
    return lines


def _sight_lines(profile: Profile) -> list[str]:
    told = profile.mistakes.by_plies
    if not told:
        return ["No mistakes found."]
    total, lines, sum_of = len(profile.mistakes.found), [], 0
    lines.append(f"Of {total} mistakes you would have seen, by looking beyond your move:")
    for depth, count in told.items():
        sum_of += count
        how_far = "farther" if depth is None else _plies(depth)
        lines.append(f"  {how_far:<14}{count:>4}   all so far {sum_of / total:>4.0%}")
    return [*lines, *(line for found in profile.temptations if found.is_enough for line in _temptation(found))]


def _plies(count: float) -> str:
    """So many, in words: "2 plies"."""
    return f"{count:g} {'ply' if count == 1 else 'plies'}"


def _temptation(found: Temptation) -> list[str]:
    fallen = round(found.fallen.value * found.positions)
    return [
        f"Where the move that a search of {found.nodes} nodes likes best is a mistake, as one of {found.sees} sees,",
        f"  you played it in {fallen} of {found.positions} positions, {_percents(found.fallen)}; "
        f"others would in {found.others:.1%}.",
    ]


def taste_parts(terms: Sequence[TermTaste]) -> list[tuple[str, list[str]]]:
    """What is valued and minded more and less than by Merino."""
    clear = [taste for taste in terms if taste.is_clear]
    if not clear:
        why = f"{NOT_ENOUGH}: you may value everything as Merino does."
        return [("What you value more or less than Merino", [why])]
    parts = []
    for (is_fault, is_more), title in _HEADS.items():
        chosen = [taste for taste in clear if (taste.is_fault, taste.is_more) == (is_fault, is_more)][:SHOWN]
        if chosen:
            parts.append((f"{title}, in pawns", [line for taste in chosen for line in _taste(taste)]))
    rest = len(terms) - len(clear)
    parts[-1][1].append(f"Of {rest} other terms nothing is sure: {NOT_ENOUGH}.")
    return parts


def _taste(taste: TermTaste) -> list[str]:
    ends = " to ".join(_pawns(end) for end in taste.worth_range)
    own = f"{_pawns(taste.worth(taste.value))} ({ends})"
    beside = "unlike others" if taste.is_special else "as others"
    lines = [
        f"{taste.words:<44} to you {own:<22} to Merino {_pawns(taste.worth(0))}, {beside} "
        f"{_pawns(taste.worth(taste.others))}"
    ]
    return [*lines, f"  such as {_named(taste.examples)}"] if taste.examples else lines


def _pawns(centipawns: float) -> str:
    return rounded(centipawns / 100, digits=2)


def _habit_lines(habits: Sequence[Habit]) -> list[str]:
    lines = []
    for habit in habits:
        sure = "" if habit.low > 1 or habit.high < 1 else "; not sure"
        lines.append(
            f"{habit.words:<{_NAME}}{habit.factor:5.2f} times as likely as another move "
            f"({habit.low:.2f} to {habit.high:.2f}); others {habit.others:.2f}{sure}"
        )
    return lines


def _foretold_lines(profile: Profile) -> list[str]:
    rows = {"your profile": profile.foretold, **profile.baselines}
    return [
        f"{'by':<18}{'at once':>10}{'in three':>10}{'log-loss':>10}",
        *(f"{name:<18}{told.top1:>10.1%}{told.top3:>10.1%}{told.log_loss:>10.3f}" for name, told in rows.items()),
    ]
