"""The report of a position as text: its terms, its pieces, and changes by moves."""

import math
import textwrap
from collections.abc import Iterable, Sequence

from merino.core.common.text import rounded
from merino.engine.report.schema import ChangeReport, GroupReport, PieceReport, PositionReport, TermReport
from merino.engine.search.limits import pawns
from merino.eval.evaluation import WIDTH

BAR_CELLS = 5  # on each side of the axis
CELL_CP = 10  # a longer bar is cut off: material would dwarf everything else
MIN_CHANGE = 0.05  # centipawns; smaller values are shown as zero
PIECE_VALUES = ("removal", "attributed", "relative")  # the three ways, in the order of the boards

_PHASE_MARKS = {"always": "", "middlegame": " mg", "endgame": " eg"}
_COLUMNS = "                               counts      centipawns"
_HEADER = " # term                weight White Black   White   Black     net  Black|White"
_NARROW_HEADER = "   term                 White   Black     net  Black|White"
_TITLE, _NARROW_TITLE = 42, 21  # columns before the centipawns


def render(
    report: PositionReport,
    unicode: bool = True,
    width: int = WIDTH,
    by_size: bool = False,
    hide_zero: bool = False,
    groups_only: bool = False,
) -> str:
    """The full table: each group with its terms, each side's share, the net as number and bar, and the total.

    If `width` is too small for the table, weights and counts are left out. `by_size` sorts the terms by their net
    instead of by group; `hide_zero` leaves out those whose net is zero, `groups_only` all of them. For an evaluation
    without terms, the table shows the value of each piece instead, and that of a second evaluation.
    """
    if report.without_terms:
        return _render_whole(report, width)
    is_narrow = width < WIDTH - 1
    title = _NARROW_TITLE if is_narrow else _TITLE

    def row(name: str, white: float, black: float, net: float, dots: bool = True) -> str:
        return f"{name:<{title}}{number(white, dots=dots)}{number(black, dots=dots)}{number(net, '+', dots=dots)}"

    def of_group(group: GroupReport) -> str:
        times = "" if group.multiplier == 1 or is_narrow else f" (times {group.multiplier:g})"
        return row(f"   {group.name}{times}", group.white_cp, group.black_cp, group.net_cp)

    def of_term(term: TermReport) -> str:
        name = term.name if is_narrow else _with_counts(term)
        return f"{row(name, term.white_cp, term.black_cp, term.net_cp)}  {_bar(term.net_cp, unicode)}"

    rows = [*_summary(report, min(width, WIDTH)), "", *([_NARROW_HEADER] if is_narrow else [_COLUMNS, _HEADER])]
    shown = [term for term in report.terms if not hide_zero or abs(term.net_cp) >= MIN_CHANGE]
    if by_size and not groups_only:
        rows += map(of_term, sorted(shown, key=lambda term: -abs(term.net_cp)))
    for group in () if by_size and not groups_only else report.groups:
        terms = [term for term in shown if term.group == group.name]
        if terms or groups_only:
            rows.append(of_group(group))
            rows += () if groups_only else map(of_term, terms)
    static = report.static
    white, black = (math.fsum(sides) for sides in zip(*((g.white_cp, g.black_cp) for g in report.groups), strict=True))
    rows.append(row("   Sum", white, black, static.sum_cp, dots=False))
    for name, value in (("Draw rule", static.rule_cp), ("Rounding", static.rounding_cp)):
        if abs(value) >= MIN_CHANGE:
            rows.append(f"   {name:<{title + 13}}{number(value, '+')}")
    rows.append(f"   {'Score, centipawns for White':<{title + 13}}{static.score_cp:+6d}")
    rows += [f"   Rule: {static.rule}"] if static.rule else []
    if not is_narrow and not groups_only:
        rows.append("   Counts include multiplier and phase share (mg, eg): weight x count = cp.")
    return "\n".join(row.rstrip() for row in rows)


def _with_counts(term: TermReport) -> str:
    """A term with its number, its weight and the counts of both sides."""
    counts = f"{number(term.white_count, width=6, digits=2)}{number(term.black_count, width=6, digits=2)}"
    how = f"{'table':>7}" if term.cells else f"{term.weight:7.5g}{counts}"
    return f"{f'{term.number:2} {term.name}{_PHASE_MARKS[term.phase]}':<23}{how}"


def _render_whole(report: PositionReport, width: int) -> str:
    """The score of an evaluation without terms, the value of each piece, and the score of a second evaluation."""
    rows = [*_summary(report, min(width, WIDTH)), ""]
    if report.pieces:
        cells = {piece.square: _in_pawns(piece, piece.removal_cp) for piece in report.pieces}
        rows += ["Value of each piece for its owner by removal, in pawns", *_board(cells).splitlines(), ""]
    if report.pieces and report.shared_cp is not None:
        cells = {
            piece.square: _in_pawns(piece, None if piece.removal_cp is None else piece.attributed_cp)
            for piece in report.pieces
        }
        rows += ["Value of each piece as given by the net itself", *_board(cells).splitlines(), ""]
    static = report.static
    if static.rule:
        rows.append(f"Rule, {rounded(static.rule_cp, '+')} centipawns: {static.rule}")
    score = f"Score for White {pawns(static.score_cp)} by {report.evaluation}"
    rows.append(f"{score}; {pawns(report.beside.score_cp)} by {report.beside.evaluation}" if report.beside else score)
    return "\n".join(row.rstrip() for row in rows)


def render_beside(report: PositionReport) -> str:
    """The score and the piece values by the second evaluation: attributed values if it has them, else by removal."""
    beside = report.beside
    if beside is None:
        return ""
    values = {piece.square: piece for piece in beside.pieces}
    is_own = beside.shared_cp is not None
    cells = {}
    for piece in report.pieces:
        other = values[piece.square]
        is_king = piece.removal_cp is None
        cells[piece.square] = _in_pawns(piece, None if is_king else other.attributed_cp if is_own else other.removal_cp)
    how = "what it says that each piece adds" if is_own else "removal"
    head = f"By {beside.evaluation}: {pawns(beside.score_cp)} for White, expected score {beside.expected_score:.1%}"
    return f"{head}\nIn pawns for the owner, {how}:\n{_board(cells)}"


def _in_pawns(piece: PieceReport, value: float | None) -> str:
    own = None if value is None else rounded(owners(piece.piece, value) / 100, digits=2)
    return f"{piece.piece}     " if own is None else f"{piece.piece} {own:>5}"


def render_change(change: ChangeReport) -> str:
    """The score before and after, and the terms that change, largest first. They sum to the change of the score."""
    rows = [f"{pawns(change.before_cp)} becomes {pawns(change.after_cp)} for White, by evaluation alone"]
    parts = [*((term.name, term.change_cp) for term in change.terms), *leftovers(change)]
    rows += [f"  {name:<21}{number(value, '+')}" for name, value in parts if abs(value) >= MIN_CHANGE]
    if change.rule:
        rows.append(f"  Rule: {change.rule}")
    return "\n".join(rows)


def leftovers(change: ChangeReport) -> tuple[tuple[str, float], ...]:
    """The changes of the score outside the terms, in centipawns for White: non-term part, draw rules, rounding."""
    parts = ("(the net)", change.non_term_cp), ("(draw rule)", change.rule_cp), ("(rounding)", change.rounding_cp)
    return parts if change.non_term_cp else parts[1:]


def largest_terms(change: ChangeReport, most: int, least: float) -> str:
    """The terms that change most, by at least `least` centipawns for White: "RookOpen +20, PawnCenter -4"."""
    shown = (term for term in change.terms[:most] if abs(term.change_cp) >= least)
    return ", ".join(f"{term.name} {rounded(term.change_cp, '+', 0)}" for term in shown)


def render_pieces(report: PositionReport, ways: Sequence[str] = PIECE_VALUES) -> str:
    """The board with the value of each piece, for its owner, in each of the `ways`; and how the sum comes about."""
    titles = {
        "removal": "Removal: centipawns that its owner loses without the piece",
        "attributed": "Attributed: centipawns that the piece adds for its owner by its terms",
        "relative": "Relative: removal in pawns",
    }
    if report.without_terms:
        titles["attributed"] = "Attributed: centipawns that the net gives the piece"
        titles["relative"] = "Relative: removal in units of the mean pawn on the board"
    ways = [way for way in ways if way != "attributed" or report.shared_cp is not None]
    parts = [f"{titles[way]}\n{_board({p.square: _cell(p, way) for p in report.pieces})}" for way in ways]
    if "attributed" in ways and report.shared_cp is not None:
        total = _of_sides(report.pieces, "attributed")
        parts.append(f"{total}, shared {rounded(report.shared_cp, '+')}: sum {rounded(report.static.sum_cp, '+')}")
    return "\n\n".join(parts)


def render_shapley(report: PositionReport) -> str:
    """The board with the Shapley value of each piece for its owner, and how they add up to the score; "" without."""
    if report.shapley is None or report.baseline is None or report.score is None:
        return ""
    cells = {
        piece.square: f"{piece.piece} {rounded(owners(piece.piece, piece.shapley_cp or 0.0), digits=0):>5}"
        for piece in report.pieces
    }
    error = max((value.error for value in report.shapley.values()), default=0.0)
    how = f"standard error up to {error:.1f}" if error else "exact"
    return (
        f"Shapley: centipawns that the piece adds for its owner, on average over all orders of the pieces ({how})\n"
        f"{_board(cells)}\n"
        f"{_of_sides(report.pieces, 'shapley')}, "
        f"without any {rounded(report.baseline, '+')}: score {rounded(report.score, '+', 0)}"
    )


def _of_sides(pieces: Sequence[PieceReport], way: str) -> str:
    """What the pieces of each side are worth together: "White's pieces 8.5, less Black's 7.0"."""
    values = [(piece.piece.isupper(), getattr(piece, f"{way}_cp") or 0.0) for piece in pieces]
    white, black = (sum(value for is_white, value in values if is_white == side) for side in (True, False))
    return f"White's pieces {rounded(white)}, less Black's {rounded(-black)}"


def render_piece(piece: PieceReport) -> str:
    """One piece: its values for its owner, and its terms."""
    removal, relative = piece.removal_cp, piece.relative_pawns
    shown = "cannot be removed" if removal is None else f"{owners(piece.piece, removal):+.0f} centipawns"
    shown += "" if relative is None else f", {rounded(owners(piece.piece, relative), '+', 2)} pawns"
    terms = sorted(piece.terms.items(), key=lambda term: -abs(term[1]))
    rows = [f"{piece.piece} on {piece.square}, as its owner sees it", f"  {'removal':<21}{shown}"]
    if piece.shapley_cp is not None:
        rows.append(f"  {'Shapley':<21}{rounded(owners(piece.piece, piece.shapley_cp), '+')} centipawns")
    if piece.attributed_cp is not None:
        own = owners(piece.piece, piece.attributed_cp)
        rows.append(f"  {'attributed':<21}{rounded(own, '+')} centipawns{':' if terms else ''}")
    return "\n".join([*rows, *(f"    {name:<22}{number(owners(piece.piece, cp), '+')}" for name, cp in terms)])


def owners(letter: str, value: float) -> float:
    """A value from White's view as the owner of the piece with this letter sees it."""
    return value if letter.isupper() else 0 - value  # so that nothing is never "-0"


def number(value: float, sign: str = "-", width: int = 8, digits: int = 1, dots: bool = True) -> str:
    """A number in its column; zero is a dot, so that the eye finds the rest."""
    is_nothing = abs(value) < 0.5 * 10**-digits
    return ".".rjust(width) if is_nothing and dots else rounded(value, sign, digits).rjust(width)


def _board(cells: dict[str, str]) -> str:
    """A board of cells of up to seven characters, by the names of the squares."""
    ranks = (f" {rank} " + "".join(f"{cells.get(file + rank, '.'):>8}" for file in "abcdefgh") for rank in "87654321")
    return "\n".join([*ranks, "   " + "".join(f"{name:>8}" for name in "abcdefgh")])


def _cell(piece: PieceReport, way: str) -> str:
    if piece.removal_cp is None and way != "attributed":
        return f"{piece.piece}     "
    if way == "relative":
        relative = piece.relative_pawns
        own = "   -" if relative is None else f"{rounded(owners(piece.piece, relative), digits=2):>5}"
        return f"{piece.piece} {own}"
    value = piece.removal_cp if way == "removal" else piece.attributed_cp
    return f"{piece.piece} {rounded(owners(piece.piece, value or 0.0), digits=0):>5}"


def _summary(report: PositionReport, width: int) -> Iterable[str]:
    static = report.static
    score = (
        f"{pawns(static.score_cp)} for White ({report.to_move.capitalize()} to move), "
        f"expected score {static.expected_score:.1%} (K = {report.k:g})"
    )
    yield textwrap.fill(score, width, subsequent_indent="  ")
    shares = (f"{share:.0%}/{1 - share:.0%}" for share in (static.white_middlegame, static.black_middlegame))
    phase = "Phase (middlegame/endgame): {} for White's terms, {} for Black's".format(*shares)
    if any(term.weight_mg != term.weight_eg for term in report.terms):
        phase += f"; weights with two values: {static.stage:.0%}/{1 - static.stage:.0%}"
    if report.terms:
        yield textwrap.fill(phase, width, subsequent_indent="  ")
    yield textwrap.fill(" ".join(report.summary), width)


def _bar(net: float, unicode: bool) -> str:
    """A bar from the axis: to the right for White, to the left for Black."""
    full, left_half, right_half, axis = ("█", "▌", "▐", "│") if unicode else ("#", "", "", "|")
    halves = min(2 * BAR_CELLS, round(abs(net) * 2 / CELL_CP))
    cells = full * (halves // 2)
    if net >= 0:
        return " " * BAR_CELLS + axis + cells + left_half * (halves % 2)
    return (right_half * (halves % 2) + cells).rjust(BAR_CELLS) + axis
