"""Moves, rankings and two sets of weights as text that fits a terminal, from the report of a position."""

import textwrap
from collections.abc import Iterable, Sequence

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.common.text import rounded
from merino.engine.report import phrases, schema
from merino.engine.report.static import difference
from merino.engine.report.text import MIN_CHANGE, largest_terms, leftovers, number, owners, render_change
from merino.engine.search.limits import pawns
from merino.study.reporting import KindComparison, WeightsComparison

MAX_MOVES = 15  # shown of those whose rank changes
MAX_TERMS = 3  # shown of those that a move changes most
_NAME = 22  # columns of a term's name
_SAN = 8  # columns of a move
_PIECE = 12  # columns of a piece and its squares
_WAYS = ("removal", "attributed", "shapley")  # of valuing a piece, as fields of a report begin
_TIMES = ("before", "after", "change")  # of the values, as they go on
MIN_GAIN = 1.0  # centipawns; smaller changes of a piece are not listed


def render_move(report: schema.PositionReport, move: schema.MoveReport, width: int, ending: str | None = None) -> str:
    """The verdict on a move of the report, then what its line changes by the terms, or it at once, and the pieces.

    Of one that ends the game, `ending` says how, in place of what it changes.
    """
    colour, line = _colour(report), report.line_of(move)
    rows = [*_wrapped(report.verdict, width), ""] if report.verdict else []
    now, after = phrases.boards_after(report.fen, [], [move.uci])
    if ending:
        rows += _wrapped(ending, width)
    elif line:
        rows += _wrapped(f"{move.san}: {_searched(line)}", width)
        rows.append(f"At the end of this line {render_change(line.change)}")
        end = next(phrases.boards_after(report.fen, line.moves))
        rows += _wrapped(" ".join(phrases.summarise_change(line.change, "The line", colour, now, end)), width)
    else:
        rows.append(f"{move.san}: {render_change(move.change)}")
        rows += _wrapped(" ".join(phrases.summarise_change(move.change, move.san, colour, now, after)), width)
    if move.pieces is not None:
        rows += ["", *_rows_of_pieces(move.pieces, move.san)]
    return "\n".join(rows)


def _rows_of_pieces(changes: Sequence[schema.PieceChangeReport], san: str) -> Iterable[str]:
    """The change of each piece by a move, the largest change of removal first; unchanged pieces are only counted."""
    shown = [change for change in changes if _is_something(change)]
    ways = [way for way in _WAYS if any(getattr(each, f"{way}_change_cp") is not None for each in changes)]
    columns = "".join(f"{name:>8}" for name in _TIMES)
    yield f"What {san} makes of each piece, in centipawns for its owner"
    yield (f"{'':{_PIECE}}" + "  ".join(f"{way:^24}" for way in ways)).rstrip()
    yield f"{'':{_PIECE}}{'  '.join(columns for _ in ways)}"
    for change in sorted(shown, key=lambda change: -_size(change)):
        cells = ("".join(_cell(change, way, when) for when in _TIMES) for way in ways)
        yield f"{_name_of(change):<{_PIECE}}{'  '.join(cells)}".rstrip()
    if len(shown) < len(changes):
        yield f"Pieces whose values it does not change: {len(changes) - len(shown)}"


def _cell(change: schema.PieceChangeReport, way: str, when: str) -> str:
    """The value of a piece in one of _WAYS before or after a move, or the difference, for its owner."""
    value, sign = getattr(change, f"{way}_{when}_cp"), "+" if when == "change" else "-"
    return f"{'-' if value is None else rounded(owners(change.piece, value), sign, 0):>8}"


def _size(change: schema.PieceChangeReport) -> float:
    """How much a move makes of a piece: by Shapley values if they are known, else by removal."""
    return abs(change.shapley_change_cp if change.shapley_change_cp is not None else change.removal_change_cp or 0)


def gains(changes: Sequence[schema.PieceChangeReport], most: int, least: float) -> str:
    """The pieces that gain or lose most by a move in Shapley values, for their owner: "N g1-f3 +24, p d5 taken -88"."""
    shown = [change for change in changes if abs(change.shapley_change_cp or 0.0) >= least]
    return ", ".join(
        f"{_name_of(change)} {owners(change.piece, change.shapley_change_cp or 0.0):+.0f}"
        for change in sorted(shown, key=lambda change: -_size(change))[:most]
    )


def _name_of(change: schema.PieceChangeReport) -> str:
    """The piece and where it goes: "N g1-f3", "P e7-e8=Q", "p d5 taken", "R a1"."""
    if change.piece_after is None:
        return f"{change.piece} {change.square} taken"
    if change.square_after == change.square:
        return f"{change.piece} {change.square}"
    became = f"={change.piece_after}" if change.piece_after != change.piece else ""
    return f"{change.piece} {change.square}-{change.square_after}{became}"


def _is_something(change: schema.PieceChangeReport) -> bool:
    """Whether the move makes anything of the piece: moves it, takes it, or changes a value of it."""
    values = [getattr(change, f"{way}_change_cp") or 0.0 for way in _WAYS]
    return change.square_after != change.square or any(abs(value) >= MIN_CHANGE for value in values)


def _searched(line: schema.LineReport) -> str:
    return f"{line.score.text} for White at depth {line.depth}, {line.text}"


def render_two_moves(report: schema.PositionReport, width: int) -> str:
    """The verdict on the two moves of a report, then their lines, and side by side what they change by each term."""
    first, second = report.moves
    lines = [line for move in report.moves if (line := report.line_of(move))]
    pairs = [(first.change, second.change)]
    titles = ["at once"]
    if len(lines) == len(report.moves):
        pairs.append((lines[0].change, lines[1].change))
        titles.append("at the end of the line")
    rows = [*_wrapped(report.verdict, width), ""] if report.verdict else []
    for move in report.moves:
        if line := report.line_of(move):
            rows += _wrapped(f"{move.san}: {_searched(line)}", width)
    names = f"{first.san[:_SAN]:>9}{second.san[:_SAN]:>9}{'differ':>9}"
    rows += ["", "What changes by the terms, in centipawns for White"]
    rows += [" " * _NAME + "".join(f"{title:^27}" for title in titles), " " * _NAME + names * len(pairs)]
    rows += _rows_of_two([term.name for term in report.terms], pairs)
    rows += [] if report.verdict else _wrapped(" ".join(instead_of(report)), width)
    for move in report.moves:
        rows += ["", *_rows_of_pieces(move.pieces, move.san)] if move.pieces is not None else []
    return "\n".join(row.rstrip() for row in rows).lstrip()


def instead_of(report: schema.PositionReport) -> tuple[str, ...]:
    """Sentences on what the second move of a report changes at once in comparison with the first."""
    first, second = report.moves
    one, other = phrases.boards_after(report.fen, [first.uci], [second.uci])
    what = f"{second.san} instead of {first.san}"
    return phrases.summarise_change(
        difference(first.change, second.change), what, _colour(report), one, other, is_choice=True
    )


def _rows_of_two(
    names: Sequence[str], pairs: Sequence[tuple[schema.ChangeReport, schema.ChangeReport]]
) -> Iterable[str]:
    """A row for each term of these names, that of the largest difference first; draw rule, rounding, and the score."""
    sides = [tuple(map(_parts, pair)) for pair in pairs]
    table = {
        name: [value for a, b in sides for value in (a.get(name, 0.0), b.get(name, 0.0))]
        for name in (*names, *dict(pair for change in pairs[0] for pair in leftovers(change)))
    }
    terms = []
    for name, values in table.items():
        cells = [cell for a, b in zip(values[::2], values[1::2], strict=True) for cell in (a, b, b - a)]
        if any(abs(cell) >= MIN_CHANGE for cell in cells):
            terms.append((name, cells))
    terms.sort(key=lambda row: (row[0].startswith("("), -max(abs(cell) for cell in row[1][2::3])))
    for name, cells in terms:
        yield f"{name:<{_NAME}}" + "".join(number(cell, "+", 9) for cell in cells)
    changes = [value for a, b in pairs for value in (a.change_cp, b.change_cp, b.change_cp - a.change_cp)]
    yield f"{'Change of the score':<{_NAME}}" + "".join(f"{value:+9d}" for value in changes)
    scores = [text for a, b in pairs for text in (pawns(a.after_cp), pawns(b.after_cp), "")]
    yield f"{'Score for White':<{_NAME}}" + "".join(f"{score:>9}" for score in scores)


def _parts(change: schema.ChangeReport) -> dict[str, float]:
    return {**{term.name: term.change_cp for term in change.terms}, **dict(leftovers(change))}


def render_ranking(report: schema.PositionReport, width: int) -> str:
    """The moves in order, with the terms that each changes most, or the line that the search expects."""
    if not report.moves:
        return "There is no legal move."
    has_pieces = any(move.pieces for move in report.moves)
    score = f"{'search':>8}" if report.search else ""
    rows = [f"rank {'move':<{_SAN}}{score}{'at once':>8}{_what_is_shown(report, has_pieces)}"]
    for move in report.moves:
        searched = f"{move.score.text if move.score else '':>8}" if report.search else ""
        changes = gains(move.pieces or (), MAX_TERMS, MIN_GAIN) if has_pieces else _line_or_terms(report, move)
        rows.append(f"{move.rank:4} {move.san:<{_SAN}}{searched}{pawns(move.change.after_cp):>8}  {changes}")
    return "\n".join(_cut(row.rstrip(), width) for row in rows)


def _what_is_shown(report: schema.PositionReport, has_pieces: bool) -> str:
    """The title of what a ranking shows of each move in addition to its scores."""
    if has_pieces:
        return "  what pieces gain at once, in centipawns for their owner"
    if report.search:
        return "  line expected, scores for White"
    return "" if report.without_terms else "  what it changes most, in centipawns for White"


def _line_or_terms(report: schema.PositionReport, move: schema.MoveReport) -> str:
    if report.search:
        return move.pv
    return largest_terms(move.change, MAX_TERMS, MIN_CHANGE) or ("" if report.without_terms else "nothing")


def render_two_weights(compared: WeightsComparison, names: tuple[str, str], width: int) -> str:
    """The differences of the second weights from the first: terms, pieces, moves."""
    change = compared.change
    head = f"{'weight A':>9}{'weight B':>9}{'net A':>9}{'net B':>9}{'change':>9}"
    if not (compared.first.terms and compared.second.terms):
        rows = [*_rows_of_one_side(compared.first, compared.second)]
    else:
        rows = ["Terms: net in centipawns for White", f"{'term':<{_NAME}}{head}", *_rows_of_terms(compared)]
    for name, value in leftovers(change):
        if abs(value) >= MIN_CHANGE:
            rows.append(f"{name:<{_NAME}}{' ' * 36}{number(value, '+', 9)}")
    rows.append(f"{'Score':<{_NAME}}{' ' * 18}{change.before_cp:+9d}{change.after_cp:+9d}{change.change_cp:+9d}")
    rows += _wrapped(" ".join(phrases.summarise_change(change, "B instead of A", 0)), width)
    rows += ["", *_rows_of_kinds(compared.kinds), "", *_rows_of_moves(compared)]
    return "\n".join([f"A: {names[0]}", f"B: {names[1]}", "", *(_cut(row.rstrip(), width) for row in rows)])


def _rows_of_terms(compared: WeightsComparison) -> Iterable[str]:
    """The terms that differ, the most first; one that only one of two sets has counts as 0 in the other."""
    first, second = (
        {term.name: (term.weight, term.net_cp) for term in report.terms} for report in (compared.first, compared.second)
    )
    both = {name: (first.get(name, (0.0, 0.0)), second.get(name, (0.0, 0.0))) for name in first | second}
    for name, (a, b) in sorted(both.items(), key=lambda item: (-abs(item[1][1][1] - item[1][0][1]), item[0])):
        net = b[1] - a[1]
        if abs(net) >= MIN_CHANGE or a[0] != b[0]:
            nets = "".join(number(value, "+", 9) for value in (a[1], b[1], net))
            yield f"{name:<{_NAME}}{a[0]:9.5g}{b[0]:9.5g}{nets}"


def _rows_of_one_side(first: schema.PositionReport, second: schema.PositionReport) -> Iterable[str]:
    """The terms of the evaluation that has terms, the largest first, and the reason why the other has none."""
    for name, report in (("A", first), ("B", second)):
        if report.without_terms:
            yield f"{name}: {report.without_terms}."
            continue
        yield f"Terms of {name}: net in centipawns for White"
        shown = (term for term in report.terms if abs(term.net_cp) >= MIN_CHANGE)
        for term in sorted(shown, key=lambda term: (-abs(term.net_cp), term.name)):
            yield f"{term.name:<{_NAME}}{term.weight:9.5g}{number(term.net_cp, '+', 9)}"
    yield ""


def _rows_of_kinds(kinds: Iterable[KindComparison]) -> Iterable[str]:
    yield "Pieces: mean centipawns for their owner"
    yield f"kind  on board   removal A{'B':>9}{'change':>9}   attributed A{'B':>9}{'change':>9}"
    for kind in kinds:
        removal = _three(kind.removal_cp) if kind.removal_cp else f"{'none':>12}{'':18}"
        a, b = kind.attributed_cp
        if a is not None and b is not None:
            attributed = _three((a, b), 15)
        else:
            attributed = "".join(f"{'none' if v is None else rounded(v):>{w}}" for v, w in ((a, 15), (b, 9)))
        yield f"{kind.kind:<5}{kind.count:9}{removal}{attributed}"


def _three(pair: tuple[float, ...], first: int = 12) -> str:
    return f"{rounded(pair[0]):>{first}}{rounded(pair[1]):>9}{rounded(pair[1] - pair[0], '+'):>9}"


def _rows_of_moves(compared: WeightsComparison) -> Iterable[str]:
    moved = sorted(compared.moved, key=lambda move: (min(move.ranks), move.move))
    yield f"Moves whose rank by evaluation at once changes: {len(moved)} of {len(compared.moves)}"
    if moved:
        yield f"{'move':<{_SAN}}{'rank A':>8}{'rank B':>8}{'A':>9}{'B':>9}   cp for the mover"
    for move in moved[:MAX_MOVES]:
        (rank_a, rank_b), (a, b) = move.ranks, move.evaluations_cp
        yield f"{move.move:<{_SAN}}{rank_a:8}{rank_b:8}{a:+9d}{b:+9d}"
    if len(moved) > MAX_MOVES:
        yield f"and {len(moved) - MAX_MOVES} more that neither puts higher"


def _colour(report: schema.PositionReport) -> int:
    return WHITE if report.to_move == "white" else BLACK


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False)


def _cut(row: str, width: int) -> str:
    """A row that ends with a whole word within the width."""
    return row if len(row) <= width else row[: width + 1].rpartition(" ")[0].rstrip(" ,")
