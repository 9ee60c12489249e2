"""The evaluation as text: the table of an `Explanation`, and the table of the terms themselves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from engine.board.bitboard import SQUARE_NAMES, WHITE
from eval.evaluation import WIDTH
from eval.linear.explain import Change, Credit, Explanation, PieceValue, PieceValues, TermLine, summarise
from eval.linear.phases import halves
from eval.linear.registry import TERMS, Group, Phase, Term

BAR_CELLS = 5  # on each side of the axis
CELL_CP = 10  # a longer bar is cut off: material would dwarf everything else
LEAST_CHANGE = 0.05  # centipawns; less is shown as nothing
PIECE_VALUES = ("removal", "attributed", "relative")  # the three ways, in the order of the boards

_PHASE_NAMES = {Phase.ALWAYS: "", Phase.MIDDLEGAME: "middlegame", Phase.ENDGAME: "endgame"}
_PHASE_MARKS = {Phase.ALWAYS: "", Phase.MIDDLEGAME: " mg", Phase.ENDGAME: " eg"}
_COLUMNS = "                               counts      centipawns"
_HEADER = " # term                weight White Black   White   Black     net  Black|White"
_NARROW_HEADER = "   term                 White   Black     net  Black|White"
_INDENT = " " * 6
_TITLE_WIDTH, _NARROW_TITLE_WIDTH = 39, 18


def pawns(centipawns: float) -> str:
    """Centipawns as pawns with a sign: "+0.42"."""
    return f"{centipawns / 100:+.2f}"


def render(
    explanation: Explanation, unicode: bool = True, width: int = WIDTH, by_size: bool = False, hide_zero: bool = False
) -> str:
    """The full table: each group with its terms, each side's share, the net as number and bar, and the total.

    Where `width` is less than the table needs, weights and counts are left out. With `by_size` the terms come by the
    size of their net instead of by group; with `hide_zero` those that add nothing to the net are left out.
    """
    is_narrow = width < WIDTH - 1
    rows = [*_summary(explanation, min(width, WIDTH)), ""]
    rows += [_NARROW_HEADER] if is_narrow else [_COLUMNS, _HEADER]
    row_of = _narrow_row if is_narrow else _term_row
    if by_size:
        lines = sorted(explanation.lines, key=lambda line: -abs(line.net))
        rows += [row_of(line, unicode) for line in lines if not hide_zero or _is_something(line.net)]
    for group in () if by_size else Group:
        lines = [line for line in explanation.of_group(group) if not hide_zero or _is_something(line.net)]
        if lines:
            rows.append(_group_row(group, explanation.of_group(group), is_narrow))
            rows += [row_of(line, unicode) for line in lines]
    rows += _closing_rows(explanation, is_narrow)
    if not is_narrow:
        rows.append("   Counts include multiplier and phase share (mg, eg): weight x count = cp.")
    return "\n".join(row.rstrip() for row in rows)


def render_change(change: Change) -> str:
    """The score before and after, and the terms that change, the most first. They sum to the change of the score."""
    before, after = change.before, change.after
    rows = [f"{pawns(before.score_white)} becomes {pawns(after.score_white)} for White, by evaluation alone"]
    rows += [f"  {term.name:<21}{number(term.net, '+')}" for term in change.by_size if abs(term.net) >= LEAST_CHANGE]
    rows += [f"  {name:<21}{number(value, '+')}" for name, value in leftovers(change) if abs(value) >= LEAST_CHANGE]
    if after.rule:
        rows.append(f"  Rule: {after.rule}")
    return "\n".join(rows)


def leftovers(change: Change) -> tuple[tuple[str, float], tuple[str, float]]:
    """What changes the score beside the terms: draw rules and rounding, in centipawns for White."""
    return ("(draw rule)", change.rule), ("(rounding)", change.rounding)


def render_pieces(values: PieceValues, ways: Sequence[str] = PIECE_VALUES) -> str:
    """The board with the value of each piece, for its owner, in each of the `ways`; and how the sum comes about."""
    titles = {
        "removal": "Removal: centipawns its owner loses when the piece is taken off the board",
        "attributed": "Attributed: centipawns of the terms that the piece brings its owner",
        "relative": "Relative: removal in pawns",
    }
    parts = [f"{titles[way]}\n{_board({p.square: _cell(p, way) for p in values.pieces})}" for way in ways]
    if "attributed" in ways:
        white, black = values.attributed(0), values.attributed(1)
        total = f"White's pieces {white:.1f}, less Black's {black:.1f}, shared {values.shared_cp:+.1f}"
        parts.append(f"{total}: sum {values.explanation.sum:+.1f}")
    return "\n\n".join(parts)


def render_piece(piece: PieceValue) -> str:
    """One piece: its three values, and the terms it brings its owner."""
    removal = "cannot be taken off" if piece.removal is None else f"{piece.removal:+d} centipawns"
    relative = "" if piece.relative is None else f", {piece.relative:+.2f} pawns"
    rows = [
        f"{piece.letter} on {SQUARE_NAMES[piece.square]}, as its owner sees it",
        f"  {'removal':<21}{removal}{relative}",
        f"  {'attributed':<21}{piece.attributed:+.1f} centipawns{':' if piece.credits else ''}",
    ]
    rows += [f"    {credit.name:<22}{number(credit.cp, '+')}" for credit in sorted(piece.credits, key=_size)]
    return "\n".join(rows)


def _size(credit: Credit) -> float:
    return -abs(credit.cp)


def _board(cells: dict[int, str]) -> str:
    """A board of cells of up to seven characters."""
    ranks = (
        f" {rank + 1} " + "".join(f"{cells.get(8 * rank + file, '.'):>8}" for file in range(8))
        for rank in range(7, -1, -1)
    )
    return "\n".join([*ranks, "   " + "".join(f"{name:>8}" for name in "abcdefgh")])


def _cell(piece: PieceValue, way: str) -> str:
    if piece.removal is None and way != "attributed":
        return f"{piece.letter}     "
    if way == "relative":
        return f"{piece.letter} {piece.relative:5.2f}" if piece.relative is not None else f"{piece.letter}    -"
    value = piece.removal if way == "removal" else piece.attributed
    return f"{piece.letter} {value:5.0f}"


def render_terms(weights: np.ndarray, terms: Sequence[Term] = TERMS, width: int = WIDTH) -> str:
    """The table of terms: number, name, weight in use, bounds, when it counts, and the chess in a sentence.

    A weight with two values shows that of the middlegame and that of the endgame.
    """
    rows, pairs = [], np.transpose(halves(weights, len(terms)))
    is_split = bool((pairs[:, 0] != pairs[:, 1]).any())
    if is_split:
        rows.append(f"{'two values: middlegame, endgame':>41}")
    for group in Group:
        rows.append(f"{group.title} (times {group.multiplier:g})")
        for number, (term, pair) in enumerate(zip(terms, pairs, strict=True), start=1):
            if term.group is group:
                low, high = term.bounds
                phase = _PHASE_NAMES[term.phase]
                value = f"{pair[0]:8.6g}" + (f"{pair[1]:8.6g}" if pair[0] != pair[1] else " " * 8 * is_split)
                rows.append(f"{number:3} {term.name:<21}{value}  {f'{low}..{high}':<10} {phase}")
                rows.append(textwrap.fill(term.sentence, width, initial_indent=_INDENT, subsequent_indent=_INDENT))
    return "\n".join(row.rstrip() for row in rows)


def _summary(explanation: Explanation, width: int) -> Iterable[str]:
    mover = "White" if explanation.turn == WHITE else "Black"
    score = (
        f"{pawns(explanation.score_white)} for White ({mover} to move), "
        f"expected score {explanation.expected_score:.1%} (K = {explanation.k:g})"
    )
    yield textwrap.fill(score, width, subsequent_indent="  ")
    shares = (f"{share:.0%}/{1 - share:.0%}" for share in explanation.middlegame)
    phase = "Phase (middlegame/endgame): {} for White's terms, {} for Black's".format(*shares)
    if explanation.has_two_phases:
        phase += f"; weights with two values: {explanation.stage:.0%}/{1 - explanation.stage:.0%}"
    yield textwrap.fill(phase, width, subsequent_indent="  ")
    yield textwrap.fill(" ".join(summarise(explanation)), width)


def _closing_rows(explanation: Explanation, is_narrow: bool) -> Iterable[str]:
    """From the sum of the terms to the engine's own score, so that every centipawn is seen."""
    title_width = _NARROW_TITLE_WIDTH if is_narrow else _TITLE_WIDTH
    yield f"   {'Sum':<{title_width}}{_total(explanation.lines, dots=False)}"
    for title, value in (("Draw rule", explanation.rule_cp), ("Rounding", explanation.rounding)):
        if _is_something(value):
            yield f"   {title:<{title_width + 16}}{number(value, '+')}"
    yield f"   {'Score, centipawns for White':<{title_width + 16}}{explanation.score_white:+6d}"
    if explanation.rule:
        yield f"   Rule: {explanation.rule}"


def _is_something(centipawns: float) -> bool:
    """Whether a number shows as more than a dot."""
    return abs(centipawns) >= LEAST_CHANGE


def _group_row(group: Group, lines: Sequence[TermLine], is_narrow: bool) -> str:
    if is_narrow:
        return f"   {group.title:<{_NARROW_TITLE_WIDTH}}{_total(lines)}"
    title = f"{group.title} (times {group.multiplier:g})" if group.multiplier != 1 else group.title
    return f"   {title:<{_TITLE_WIDTH}}{_total(lines)}"


def _total(lines: Sequence[TermLine], dots: bool = True) -> str:
    white, black = sum(line.white_cp for line in lines), sum(line.black_cp for line in lines)
    return f"{number(white, dots=dots)}{number(black, dots=dots)}{number(white - black, '+', dots=dots)}"


def _term_row(line: TermLine, unicode: bool) -> str:
    counts = f"{number(line.white_count, width=6, digits=2)}{number(line.black_count, width=6, digits=2)}"
    share = f"{number(line.white_cp)}{number(line.black_cp)}{number(line.net, '+')}"
    name = line.name + _PHASE_MARKS[line.phase]
    return f"{line.number:2} {name:<20}{line.weight:7.5g}{counts}{share}  {_bar(line.net, unicode)}"


def _narrow_row(line: TermLine, unicode: bool) -> str:
    share = f"{number(line.white_cp)}{number(line.black_cp)}{number(line.net, '+')}"
    return f"{line.name:<{_NARROW_TITLE_WIDTH + 3}}{share}  {_bar(line.net, unicode)}"


def number(value: float, sign: str = "-", width: int = 8, digits: int = 1, dots: bool = True) -> str:
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
