"""Moves, rankings and two sets of weights as text that fits a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from eval.linear.explain import Change, summarise_change
from eval.linear.table import LEAST_CHANGE, leftovers, number, pawns, render_change
from study.explain.lookahead import Ahead, Prospect
from study.explain.pieces import PieceChange
from study.explain.ranking import RankedMove
from study.explain.two_weights import KindValue, MoveUnderBoth, TwoWeights

MOST_MOVES = 15  # shown of those whose rank changes
_NAME = 22  # columns of a term's name
_SAN = 8  # columns of a move
_PIECE = 12  # columns of a piece and its squares


def render_prospect(prospect: Prospect, width: int) -> str:
    """What a move changes at once and at the end of its line."""
    rows = [f"{prospect.san}: {render_change(prospect.at_once)}"]
    rows += _wrapped(" ".join(summarise_change(prospect.at_once, prospect.san, prospect.turn)), width)
    if prospect.ahead:
        ahead = prospect.ahead
        rows += ["", *_wrapped(f"Searched: {_told(prospect, ahead)}", width)]
        rows.append(f"At the end of this line {render_change(ahead.change)}")
        rows += _wrapped(" ".join(summarise_change(ahead.change, "The line", prospect.turn)), width)
    return "\n".join(rows)


def render_piece_changes(changes: Sequence[PieceChange], san: str) -> str:
    """What a move makes of each piece, the largest change of removal first; pieces that it leaves alone are counted."""
    shown = [change for change in changes if change.is_something]
    columns = "".join(f"{name:>8}" for name in ("before", "after", "change"))
    rows = [
        f"What {san} makes of each piece, in centipawns for its owner",
        f"{'':{_PIECE}}{'removal':^24}  {'attributed':^24}",
        f"{'':{_PIECE}}{columns}  {columns}",
    ]
    for change in sorted(shown, key=lambda change: -abs(change.removal or 0.0)):
        before, after = change.before, change.after
        removal = _before_and_after(before.removal, after.removal if after else None, change.removal)
        attributed = _before_and_after(before.attributed, after.attributed if after else None, change.attributed)
        rows.append(f"{change.name:<{_PIECE}}{removal}  {attributed}")
    if len(shown) < len(changes):
        rows.append(f"Pieces whose values it does not change: {len(changes) - len(shown)}")
    return "\n".join(row.rstrip() for row in rows)


def _before_and_after(before: float | None, after: float | None, change: float | None) -> str:
    cells = [f"{'-' if value is None else f'{value:.0f}':>8}" for value in (before, after)]
    return "".join([*cells, f"{'-' if change is None else f'{change:+.0f}':>8}"])


def _told(prospect: Prospect, ahead: Ahead) -> str:
    return f"{prospect.score_text} for White at depth {ahead.depth}, {ahead.line}"


def render_two_moves(first: Prospect, second: Prospect, width: int) -> str:
    """Two moves side by side: what each changes, term by term, and how the second differs from the first."""
    pairs = [(first.at_once, second.at_once)]
    titles = ["at once"]
    if first.ahead and second.ahead:
        pairs.append((first.ahead.change, second.ahead.change))
        titles.append("at the end of the line")
    names = f"{first.san[:_SAN]:>9}{second.san[:_SAN]:>9}{'differ':>9}"
    rows = ["What changes, in centipawns for White", " " * _NAME + "".join(f"{title:^27}" for title in titles)]
    rows += [" " * _NAME + names * len(pairs), *_rows_of_two(pairs)]
    for told in (first, second):
        if told.ahead:
            rows += _wrapped(f"{told.san}: {_told(told, told.ahead)}", width)
    rows += _wrapped(" ".join(_sentences_of_two(first, second)), width)
    return "\n".join(row.rstrip() for row in rows)


def _rows_of_two(pairs: Sequence[tuple[Change, Change]]) -> Iterable[str]:
    """A row a term, that of the largest difference first, then what is no term, and the score."""
    table: dict[str, list[float]] = {}
    for first, second in pairs:
        for a, b in zip(_parts(first), _parts(second), strict=True):
            table.setdefault(a[0], []).extend((a[1], b[1], b[1] - a[1]))
    terms = [(name, values) for name, values in table.items() if any(abs(value) >= LEAST_CHANGE for value in values)]
    terms.sort(key=lambda row: (row[0].startswith("("), -max(abs(value) for value in row[1][2::3])))
    for name, values in terms:
        yield f"{name:<{_NAME}}" + "".join(number(value, "+", 9) for value in values)
    changes = [value for a, b in pairs for value in (a.score, b.score, b.score - a.score)]
    yield f"{'Change of the score':<{_NAME}}" + "".join(f"{value:+9d}" for value in changes)
    scores = [pawns(change.after.score_white) if change else "" for a, b in pairs for change in (a, b, None)]
    yield f"{'Score for White':<{_NAME}}" + "".join(f"{score:>9}" for score in scores)


def _parts(change: Change) -> list[tuple[str, float]]:
    return [*((term.name, term.net) for term in change.terms), *leftovers(change)]


def _sentences_of_two(first: Prospect, second: Prospect) -> Iterable[str]:
    instead = f"{second.san} instead of {first.san}"
    yield from summarise_change(Change(first.at_once.after, second.at_once.after), instead, first.turn)
    if not (first.ahead and second.ahead):
        return
    ends = Change(first.ahead.change.after, second.ahead.change.after)
    yield "At the ends of the lines:"
    yield from summarise_change(ends, instead, first.turn)
    scores = (first.ahead.score, second.ahead.score)
    if scores[0] == scores[1]:
        yield f"The search finds both equally good ({first.score_text})."
    else:
        better, other = (first, second) if scores[0] > scores[1] else (second, first)
        yield f"The search prefers {better.san}: {better.score_text} against {other.score_text}."


def render_ranking(ranking: Sequence[RankedMove], width: int) -> str:
    """The moves in order, with the terms that each changes most, or the line that the search expects."""
    if not ranking:
        return "There is no legal move."
    if ranking[0].score is None:
        rows = [f"rank {'move':<{_SAN}}{'at once':>8}  what it changes most, in centipawns for White"]
        rows += [
            f"{entry.rank:4} {entry.san:<{_SAN}}{_at_once(entry):>8}  {_largest(entry.change)}" for entry in ranking
        ]
    else:
        rows = [f"rank {'move':<{_SAN}}{'search':>8}{'at once':>9}  line expected, scores for White"]
        rows += [
            f"{entry.rank:4} {entry.san:<{_SAN}}{entry.score_text:>8}{_at_once(entry):>9}  {entry.line}"
            for entry in ranking
        ]
    return "\n".join(_cut(row.rstrip(), width) for row in rows)


def _at_once(entry: RankedMove) -> str:
    return pawns(entry.change.after.score_white)


def _largest(change: Change, most: int = 3) -> str:
    return largest_terms(change, most, LEAST_CHANGE) or "nothing"


def largest_terms(change: Change, most: int, least: float) -> str:
    """The terms that change most, at least by `least` centipawns for White: "RookOpen +20, PawnCenter -4"."""
    told = [f"{term.name} {term.net:+.0f}" for term in change.by_size[:most] if abs(term.net) >= least]
    return ", ".join(told)


def render_two_weights(compared: TwoWeights, names: tuple[str, str], width: int) -> str:
    """What the second weights say that the first do not: terms, pieces, moves."""
    change = compared.change
    head = f"{'weight A':>9}{'weight B':>9}{'net A':>9}{'net B':>9}{'change':>9}"
    rows = [f"A: {names[0]}", f"B: {names[1]}", "", "Terms: net in centipawns for White", f"{'term':<{_NAME}}{head}"]
    for term in change.by_size:
        if abs(term.net) >= LEAST_CHANGE or term.before.weight != term.after.weight:
            weights = f"{term.before.weight:9.5g}{term.after.weight:9.5g}"
            nets = f"{number(term.before.net, '+', 9)}{number(term.after.net, '+', 9)}{number(term.net, '+', 9)}"
            rows.append(f"{term.name:<{_NAME}}{weights}{nets}")
    for name, value in leftovers(change):
        if abs(value) >= LEAST_CHANGE:
            rows.append(f"{name:<{_NAME}}{' ' * 36}{number(value, '+', 9)}")
    before, after = change.before.score_white, change.after.score_white
    rows.append(f"{'Score':<{_NAME}}{' ' * 18}{before:+9d}{after:+9d}{change.score:+9d}")
    rows += _wrapped(" ".join(summarise_change(change, "B instead of A", 0)), width)
    rows += ["", *_rows_of_kinds(compared.kinds), "", *_rows_of_moves(compared)]
    return "\n".join(_cut(row.rstrip(), width) for row in rows)


def _rows_of_kinds(kinds: Iterable[KindValue]) -> Iterable[str]:
    yield "Pieces: mean centipawns for their owner"
    yield f"kind  on board   removal A{'B':>9}{'change':>9}   attributed A{'B':>9}{'change':>9}"
    for kind in kinds:
        removal = _three(kind.removal) if kind.removal else f"{'none':>12}{'':18}"
        yield f"{kind.kind:<5}{kind.count:9}{removal}{_three(kind.attributed, 15)}"


def _three(pair: tuple[float, float], first: int = 12) -> str:
    return f"{pair[0]:{first}.1f}{pair[1]:9.1f}{pair[1] - pair[0]:+9.1f}"


def _rows_of_moves(compared: TwoWeights) -> Iterable[str]:
    moved = sorted(compared.moved, key=lambda move: (min(move.ranks), move.san))
    yield f"Moves whose rank by evaluation at once changes: {len(moved)} of {len(compared.moves)}"
    if moved:
        yield f"{'move':<{_SAN}}{'rank A':>8}{'rank B':>8}{'A':>9}{'B':>9}   cp for the mover"
    yield from map(_row_of_move, moved[:MOST_MOVES])
    if len(moved) > MOST_MOVES:
        yield f"and {len(moved) - MOST_MOVES} more that neither puts higher"


def _row_of_move(move: MoveUnderBoth) -> str:
    return f"{move.san:<{_SAN}}{move.ranks[0]:8}{move.ranks[1]:8}{move.evaluations[0]:+9d}{move.evaluations[1]:+9d}"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False)


def _cut(row: str, width: int) -> str:
    """A row that ends with a whole word within the width."""
    return row if len(row) <= width else row[: width + 1].rpartition(" ")[0].rstrip(" ,")
