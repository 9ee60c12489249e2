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
MOST_TELLING = 3  # terms named for each side in the summary

_PHASE_NAMES = {Phase.ALWAYS: "", Phase.MIDDLEGAME: "middlegame", Phase.ENDGAME: "endgame"}
_COLUMNS = "                               counts      centipawns"
_HEADER = " # term                weight White Black   White   Black     net  Black|White"
_TITLE_WIDTH = 39


def pawns(centipawns: float) -> str:
    """Centipawns as pawns with a sign: "+0.42"."""
    return f"{centipawns / 100:+.2f}"


def render(explanation: Explanation, unicode: bool = True) -> str:
    """The full table: each group with its terms, each side's share, the net as number and bar, and the total."""
    rows = [*_summary(explanation), "", _COLUMNS, _HEADER]
    for group in Group:
        lines = explanation.of_group(group)
        rows.append(_group_row(group, lines))
        rows += [_term_row(line, unicode) for line in lines]
    rows.append(f"   {'Sum':<{_TITLE_WIDTH}}{_total(explanation.lines, dots=False)}")
    if explanation.rule:
        rows.append(f"   Rule: {explanation.rule}")
    rows.append(f"   Score: {explanation.score_white:+d} centipawns for White")
    rows.append("   Counts include group multiplier and share of the phase: weight x count = cp.")
    return "\n".join(row.rstrip() for row in rows)


def render_terms(weights: np.ndarray, terms: Sequence[Term] = TERMS) -> str:
    """The table of terms: number, name, weight in use, bounds, when it counts, and the chess in a sentence."""
    rows = []
    for group in Group:
        rows.append(f"{group.title} (times {group.multiplier:g})")
        for number, (term, weight) in enumerate(zip(terms, weights, strict=True), start=1):
            if term.group is group:
                low, high = term.bounds
                phase = _PHASE_NAMES[term.phase]
                rows.append(f"{number:3} {term.name:<21}{weight:8.6g}  {f'{low}..{high}':<10} {phase}")
                rows.append(f"      {term.sentence}")
    return "\n".join(row.rstrip() for row in rows)


def _summary(explanation: Explanation) -> Iterable[str]:
    mover = "White" if explanation.turn == 0 else "Black"
    white_share, black_share = explanation.middlegame
    yield (
        f"{pawns(explanation.score_white)} for White ({mover} to move), "
        f"expected score {explanation.expected_score:.1%} (K = {explanation.k:g})"
    )
    yield f"Middlegame share: {white_share:.0%} of White's terms, {black_share:.0%} of Black's"
    for side, sign in (("White", 1), ("Black", -1)):
        best = sorted(explanation.lines, key=lambda line: -sign * line.net)[:MOST_TELLING]
        named = [f"{line.name} {sign * line.net:+.0f}" for line in best if sign * line.net >= 0.5]
        text = f"Most for {side}: {', '.join(named) or 'nothing'}"
        yield textwrap.fill(text, WIDTH, subsequent_indent="  ")


def _group_row(group: Group, lines: Sequence[TermLine]) -> str:
    title = f"{group.title} (times {group.multiplier:g})" if group.multiplier != 1 else group.title
    return f"   {title:<{_TITLE_WIDTH}}{_total(lines)}"


def _total(lines: Sequence[TermLine], dots: bool = True) -> str:
    white, black = sum(line.white_cp for line in lines), sum(line.black_cp for line in lines)
    return f"{_number(white, dots=dots)}{_number(black, dots=dots)}{_number(white - black, '+', dots=dots)}"


def _term_row(line: TermLine, unicode: bool) -> str:
    counts = f"{_number(line.white_count, width=6, digits=2)}{_number(line.black_count, width=6, digits=2)}"
    share = f"{_number(line.white_cp)}{_number(line.black_cp)}{_number(line.net, '+')}"
    return f"{line.number:2} {line.name:<20}{line.weight:7.5g}{counts}{share}  {_bar(line.net, unicode)}"


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
