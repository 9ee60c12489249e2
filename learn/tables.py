"""A summary as a table to read, and as comma-separated values."""

from __future__ import annotations

import csv
import io

from learn.learning import DOUBT, FEW_GAMES
from learn.report import FROZEN, Summary, WeightLine


def render(summary: Summary, root_of_sum: bool = False) -> list[str]:
    """The summary as lines of text."""
    head = f"{'term':22} {'before':>6} {'after':>6} {'change':>6}  {'95% interval':>14} {'positions':>10} {'games':>7}"
    lines = ["", f"{head}  remarks", *(_row(line) for line in summary.weights), ""]
    if summary.resamplings:
        lines.append(
            f"Intervals: from {summary.resamplings} fits to games drawn anew. Positions and games: training set."
        )
    else:
        lines.append("Intervals: a game counts as one observation. Positions and games: of the training set.")
    lines += ["", *_errors(summary, root_of_sum), "", *_verdict(summary)]
    return lines


def _row(line: WeightLine) -> str:
    counts = f"{line.positions:10} {line.games:7}"
    if FROZEN in line.flags:
        return f"{line.name:22} {line.old:6g} {line.new:6g} {'':6}  {'':14} {counts}  {FROZEN}"
    change = f"{line.new - line.old:+g}" if line.new != line.old else "."
    interval = f"{line.low:.0f} .. {line.high:.0f}"
    row = f"{line.name:22} {line.old:6g} {line.new:6g} {change:>6}  {interval:>14} {counts}"
    return f"{row}  {', '.join(line.flags)}".rstrip()


def _errors(summary: Summary, root_of_sum: bool) -> list[str]:
    kind = "root of the weighted sum over positions" if root_of_sum else "mean"
    return [
        f"{'error, ' + kind:48} {'games':>7} {'positions':>10} {'before':>9} {'after':>9}",
        f"{'Training set':48} {summary.train_games:7} {summary.train_positions:10} "
        f"{summary.train_before:9.6f} {summary.train_after:9.6f}",
        f"{'Validation set':48} {summary.valid_games:7} {summary.valid_positions:10} "
        f"{summary.valid_before:9.6f} {summary.valid_after:9.6f}",
    ]


def _verdict(summary: Summary) -> list[str]:
    fell = "fell" if summary.gain >= 0 else "rose"
    times = abs(summary.gain) / summary.gain_error if summary.gain_error else 0.0
    aside = "the validation set"
    if summary.folds > 1:
        aside = f"games kept aside, each of {summary.folds} parts in turn (the validation set alone leaves a doubt),"
    lines = [
        f"On {aside} the mean error {fell} by {abs(summary.gain):.6f} +- {summary.gain_error:.6f}: "
        f"{times:.1f} standard errors (paired by game; {DOUBT:g} are asked for).",
        f"K = {summary.k_before:.1f} centipawns on the old weights, {summary.k:.1f} on the new ones. "
        f"{summary.seconds:.1f} s in all.",
    ]
    if summary.games < FEW_GAMES:
        lines.append(f"{summary.games} games are few: take what they teach with caution below {FEW_GAMES}.")
    return lines


def as_csv(summary: Summary) -> str:
    """The weights of a summary, a line each under a header; flags are joined by semicolons."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "old", "new", "low", "high", "positions", "games", "flags"])
    for line in summary.weights:
        numbers = [f"{value:g}" for value in (line.old, line.new)] + [f"{value:.2f}" for value in (line.low, line.high)]
        writer.writerow([line.name, *numbers, line.positions, line.games, "; ".join(line.flags)])
    return text.getvalue()
