"""The evaluation as text: the table of an `Explanation`, and the table of the terms themselves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from eval.explain import Explanation, TermLine
from eval.registry import TERMS, Group, Phase, Term

WIDTH = 80
BAR_CELLS = 5  # on each side of the axis
CELL_CP = 10  # a longer bar is cut off: material would dwarf everything else
LEAST_CHANGE = 0.05  # centipawns; less is shown as nothing
MOST_TELLING = 3  # terms named for each side in the summary

_PHASE_NAMES = {Phase.ALWAYS: "", Phase.MIDDLEGAME: "middlegame", Phase.ENDGAME: "endgame"}
_COLUMNS = "                               counts      centipawns"
_HEADER = " # term                weight White Black   White   Black     net  Black|White"
_NARROW_HEADER = "   term                 White   Black     net  Black|White"
_INDENT = " " * 6
_TITLE_WIDTH, _NARROW_TITLE_WIDTH = 39, 18


def pawns(centipawns: float) -> str:
    """Centipawns as pawns with a sign: "+0.42"."""
    return f"{centipawns / 100:+.2f}"


def render(explanation: Explanation, unicode: bool = True, width: int = WIDTH) -> str:
    """The full table: each group with its terms, each side's share, the net as number and bar, and the total.

    Where `width` is less than the table needs, weights and counts are left out.
    """
    is_narrow = width < WIDTH - 1
    rows = [*_summary(explanation, min(width, WIDTH)), ""]
    rows += [_NARROW_HEADER] if is_narrow else [_COLUMNS, _HEADER]
    for group in Group:
        lines = explanation.of_group(group)
        rows.append(_group_row(group, lines, is_narrow))
        rows += [_narrow_row(line, unicode) if is_narrow else _term_row(line, unicode) for line in lines]
    title_width = _NARROW_TITLE_WIDTH if is_narrow else _TITLE_WIDTH
    rows.append(f"   {'Sum':<{title_width}}{_total(explanation.lines, dots=False)}")
    if explanation.rule:
        rows.append(f"   Rule: {explanation.rule}")
    rows.append(f"   Score: {explanation.score_white:+d} centipawns for White")
    if not is_narrow:
        rows.append("   Counts include group multiplier and share of the phase: weight x count = cp.")
    return "\n".join(row.rstrip() for row in rows)


def render_change(before: Explanation, after: Explanation) -> str:
    """What a move does to the evaluation: the score before and after, and the terms that change, the most first."""
    changes = [(new.net - old.net, new.name) for old, new in zip(before.lines, after.lines, strict=True)]
    changes.sort(key=lambda change: (-abs(change[0]), change[1]))
    rows = [f"{pawns(before.score_white)} becomes {pawns(after.score_white)} for White, by evaluation alone"]
    rows += [f"  {name:<21}{_number(change, '+')}" for change, name in changes if abs(change) >= LEAST_CHANGE]
    if after.rule:
        rows.append(f"  Rule: {after.rule}")
    return "\n".join(rows)


def render_terms(weights: np.ndarray, terms: Sequence[Term] = TERMS, width: int = WIDTH) -> str:
    """The table of terms: number, name, weight in use, bounds, when it counts, and the chess in a sentence."""
    rows = []
    for group in Group:
        rows.append(f"{group.title} (times {group.multiplier:g})")
        for number, (term, weight) in enumerate(zip(terms, weights, strict=True), start=1):
            if term.group is group:
                low, high = term.bounds
                phase = _PHASE_NAMES[term.phase]
                rows.append(f"{number:3} {term.name:<21}{weight:8.6g}  {f'{low}..{high}':<10} {phase}")
                rows.append(textwrap.fill(term.sentence, width, initial_indent=_INDENT, subsequent_indent=_INDENT))
    return "\n".join(row.rstrip() for row in rows)


def _summary(explanation: Explanation, width: int) -> Iterable[str]:
    mover = "White" if explanation.turn == 0 else "Black"
    white_share, black_share = explanation.middlegame
    score = (
        f"{pawns(explanation.score_white)} for White ({mover} to move), "
        f"expected score {explanation.expected_score:.1%} (K = {explanation.k:g})"
    )
    yield textwrap.fill(score, width, subsequent_indent="  ")
    share = f"Middlegame share: {white_share:.0%} of White's terms, {black_share:.0%} of Black's"
    yield textwrap.fill(share, width, subsequent_indent="  ")
    for side, sign in (("White", 1), ("Black", -1)):
        best = sorted(explanation.lines, key=lambda line: -sign * line.net)[:MOST_TELLING]
        named = [f"{line.name} {sign * line.net:+.0f}" for line in best if sign * line.net >= 0.5]
        text = f"Most for {side}: {', '.join(named) or 'nothing'}"
        yield textwrap.fill(text, width, subsequent_indent="  ")


def _group_row(group: Group, lines: Sequence[TermLine], is_narrow: bool) -> str:
    if is_narrow:
        return f"   {group.title:<{_NARROW_TITLE_WIDTH}}{_total(lines)}"
    title = f"{group.title} (times {group.multiplier:g})" if group.multiplier != 1 else group.title
    return f"   {title:<{_TITLE_WIDTH}}{_total(lines)}"


def _total(lines: Sequence[TermLine], dots: bool = True) -> str:
    white, black = sum(line.white_cp for line in lines), sum(line.black_cp for line in lines)
    return f"{_number(white, dots=dots)}{_number(black, dots=dots)}{_number(white - black, '+', dots=dots)}"


def _term_row(line: TermLine, unicode: bool) -> str:
    counts = f"{_number(line.white_count, width=6, digits=2)}{_number(line.black_count, width=6, digits=2)}"
    share = f"{_number(line.white_cp)}{_number(line.black_cp)}{_number(line.net, '+')}"
    return f"{line.number:2} {line.name:<20}{line.weight:7.5g}{counts}{share}  {_bar(line.net, unicode)}"


def _narrow_row(line: TermLine, unicode: bool) -> str:
    share = f"{_number(line.white_cp)}{_number(line.black_cp)}{_number(line.net, '+')}"
    return f"{line.name:<{_NARROW_TITLE_WIDTH + 3}}{share}  {_bar(line.net, unicode)}"


def _number(value: float, sign: str = "-", width: int = 8, digits: int = 1, dots: bool = True) -> str:
    """A number in its column; what rounds to nothing is a dot, so that the eye finds the rest."""
    is_nothing = abs(value) < 0.5 * 10**-digits
    return ".".rjust(width) if is_nothing and dots else f"{value:{sign}{width}.{digits}f}"


def _bar(net: float, unicode: bool) -> str:
    """A bar from the axis: to the right for White, to the left for Black."""
    full, left_half, right_half, axis = ("█", "▌", "▐", "│") if unicode else ("#", "", "", "|")
    halves = min(2 * BAR_CELLS, round(abs(net) * 2 / CELL_CP))
    cells = full * (halves // 2)
    if net >= 0:
        return " " * BAR_CELLS + axis + cells + left_half * (halves % 2)
    return (right_half * (halves % 2) + cells).rjust(BAR_CELLS) + axis
