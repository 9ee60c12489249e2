"""A summary as text with a table, and as comma-separated values."""

from __future__ import annotations

from collections.abc import Sequence

from merino.core.common.tables import csv_text
from merino.eval.linear.phases import SUFFIXES
from merino.learn.gain import ACCEPTED_Z, FEW_GAMES
from merino.learn.report import HELD, Summary, WeightLine

ENDGAME = "in the endgame"


def render(summary: Summary, root_of_sum: bool = False) -> list[str]:
    """The summary as lines of text; rows of tables have at most COLUMNS characters, other lines are for `fold`."""
    alone = [line for line in summary.weights if line.table is None]
    lines = ["", _head("term", "95% interval"), *(_row(line) for line in _pairs(alone)), *_tables(summary.weights), ""]
    if any(line.name.endswith(SUFFIXES[1]) for line in summary.weights):
        lines.append("The first value of a term is that of the middlegame; positions count for the nearer phase.")
    if summary.resamplings:
        lines.append(f"95% interval: from {summary.resamplings} fits to resampled games.")
    else:
        lines.append("95% interval: a game counts as one observation.")
    lines.append("Clear: whether the change is larger than its noise. Positions and games: training set.")
    remarks = [(line.name, [flag for flag in line.flags if flag not in HELD]) for line in alone]
    lines += [f"  {name}: {', '.join(flags)}" for name, flags in remarks if flags]
    return [*lines, "", *_errors(summary, root_of_sum), "", *_findings(summary)]


def _pairs(weights: Sequence[WeightLine]) -> list[WeightLine]:
    """The weights in the order of the terms, with both values of a weight together."""
    places = {line.name.removesuffix(SUFFIXES[0]): place for place, line in enumerate(weights)}
    return sorted(weights, key=lambda line: places[line.name.removesuffix(SUFFIXES[0]).removesuffix(SUFFIXES[1])])


def _row(line: WeightLine) -> str:
    held = next((flag for flag in line.flags if flag in HELD), None)
    interval = held or f"{round(line.low)} .. {round(line.high)}"
    change = f"{line.new - line.old:+g}" if line.new != line.old else ""
    name = f"  {ENDGAME}" if line.name.endswith(SUFFIXES[1]) else line.name.removesuffix(SUFFIXES[0])
    return (
        f"{name:20} {line.old + 0.0:6g} {line.new + 0.0:6g} {change:>6} {interval:>14} {line.clear_word:>5} "
        f"{line.positions:9} {line.games:6}"
    )


def _head(name: str, middle: str) -> str:
    """The head of a table of weights; its first column and the fifth are called so."""
    return f"{name:20} {'before':>6} {'after':>6} {'change':>6} {middle:>14} {'clear':>5} {'positions':>9} {'games':>6}"


def _tables(weights: Sequence[WeightLine]) -> list[str]:
    """A row for each table and phase, if there are any: means over its cells without their signs."""
    cells = dict[tuple[str, str], list[WeightLine]]()
    for line in _pairs(weights):
        if line.table is not None:
            phase = ENDGAME if line.name.endswith(SUFFIXES[1]) else ""
            cells.setdefault((line.table, phase), []).append(line)
    if not cells:
        return []
    return ["", _head("table, mean size", "cells"), *(_table_row(*of, lines) for of, lines in cells.items())]


def _table_row(table: str, phase: str, cells: Sequence[WeightLine]) -> str:
    """The row of the cells of a table in a phase; positions and games are those of the cell that is seen most."""
    before, after, change = (
        sum(abs(value) for value in values) / len(cells)
        for values in zip(*((line.old, line.new, line.new - line.old) for line in cells), strict=True)
    )
    clear = sum(line.clear is True for line in cells)
    positions, games = max(line.positions for line in cells), max(line.games for line in cells)
    return (
        f"{f'  {phase}' if phase else table:20} {before:6.1f} {after:6.1f} {change:6.1f} {len(cells):14} {clear:5} "
        f"{positions:9} {games:6}"
    )


def _errors(summary: Summary, root_of_sum: bool) -> list[str]:
    kind = "root of the weighted sum over positions" if root_of_sum else "mean"
    train = summary.train_games, summary.train_positions, summary.train_before, summary.train_after
    valid = summary.valid_games, summary.valid_positions, summary.valid_before, summary.valid_after
    return [
        f"Error, {kind}: White's points predicted against {summary.target}.",
        f"{'':20} {'games':>7} {'positions':>10} {'before':>10} {'after':>10} {'fall':>10}",
        _error_row("Training set", *train),
        _error_row("Validation set", *valid),
    ]


def _error_row(name: str, games: int, positions: int, before: float, after: float) -> str:
    return f"{name:20} {games:7} {positions:10} {before:10.6f} {after:10.6f} {before - after + 0.0:10.6f}"


def _findings(summary: Summary) -> list[str]:
    fell = "fell" if summary.gain >= 0 else "rose"
    times = abs(summary.gain) / summary.gain_error if summary.gain_error else 0.0
    aside = "the validation set"
    if summary.folds > 1:
        aside = f"games kept aside, each of {summary.folds} parts in turn (the validation set alone leaves a doubt),"
    lines = [
        f"On {aside} the error {fell} by {abs(summary.gain):.6f} +- {summary.gain_error:.6f}: "
        f"{times:.1f} standard errors (paired by game; {ACCEPTED_Z:g} are asked for).",
        f"K = {summary.k_before:.1f} centipawns on the old weights, {summary.k:.1f} on the new ones. "
        f"{summary.reading_seconds:.1f} s to read, {summary.seconds - summary.reading_seconds:.1f} s to fit and judge.",
    ]
    if summary.rated_games is not None:
        lines.append(_strength(summary))
    if summary.ranks is not None:
        old, new = summary.ranks.old, summary.ranks.new
        lines.append(
            f"Moves ranked in {summary.ranks.positions} positions of the games: the one that a net finds best is first "
            f"in {100 * new.first:.1f}% (old weights {100 * old.first:.1f}%), the mean of 1 / rank is "
            f"{new.reciprocal_rank:.3f} (old {old.reciprocal_rank:.3f}). It foretells strength better "
            "than the error against results."
        )
    if summary.dropped:
        told = ", ".join(f"{term.name} ({term.evidence:.1f} of {term.needed:.1f})" for term in summary.dropped)
        lines.append(
            f"Left out, with weights of 0, as for all that these games tell they mean nothing: {told}. In brackets the "
            "evidence of the fit with all terms, and what chance alone exceeds one time in twenty."
        )
    if summary.games < FEW_GAMES:
        lines.append(f"{summary.games} games are few: take what they teach with caution below {FEW_GAMES}.")
    return lines


def _strength(summary: Summary) -> str:
    """How the strength of the players was taken into account."""
    if not summary.rated_games:
        return "Players' strength: not taken into account, as no game tells who played, or how strong they are."
    return (
        f"Players' strength: known in {summary.rated_games} of {summary.games} games, by ratings or by results in "
        f"other games; 100 points more promise as much as {summary.hundred_points:.0f} centipawns."
    )


def as_csv(summary: Summary) -> str:
    """The weights of a summary, a line each under a header; flags are joined by semicolons."""
    rows = [["name", "old", "new", "low", "high", "positions", "games", "clear", "flags"]]
    for line in summary.weights:
        numbers = [f"{value + 0.0:g}" for value in (line.old, line.new)]
        numbers += [f"{round(value, 2) + 0.0:.2f}" for value in (line.low, line.high)]
        rows.append([line.name, *numbers, str(line.positions), str(line.games), line.clear_word, "; ".join(line.flags)])
    return csv_text(rows)
