"""What pieces are worth on the board, as tables, JSON and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from merino.inner.study.points.board import QUANTILES, TEAM_44, TEAM_44_PREDICTED, WAYS, BoardValues, Prediction, Spread
from merino.inner.study.points.values import PointValues
from merino.inner.study.points.vectors import PHASES, PIECE_NAMES, PIECES

_TITLES = {
    "removal": "Removal: what its owner loses when the piece is taken off the board",
    "attributed": "Attributed: the terms that the piece brings its owner",
}
_PHASES = (None, *PHASES)


def render_board(board: BoardValues, points: PointValues | None) -> str:
    """Everything as text; `points` are the values of the same games by regression, None where they cannot be fitted."""
    pawns = ", ".join(f"{board.pawns[way]:.0f} centipawns by {way}" for way in WAYS)
    rows = [
        f"{board.label}: {board.games:,} games, {board.positions:,} positions, valued by {board.evaluation}",
        f"A pawn is 1: the mean pawn of these positions, {pawns}.",
        "",
        f"{'mean value':<24}" + "".join(f"{name:>8}" for name in PIECE_NAMES),
    ]
    for way in WAYS:
        means = [board.spreads[way, piece, None].mean for piece in PIECES]
        rows.append(f"{f'by {way}':<24}" + "".join(_number(mean, 8) for mean in means))
    if points is not None:
        rows.append(f"{'by regression':<24}" + "".join(_number(value / 100, 8) for value in points.values))
    rows.append(f"{'Team 44, by a network':<24}" + "".join(_number(value, 8) for value in TEAM_44))
    for way in WAYS:
        rows += ["", *_spreads(board, way)]
    rows += ["", *_predictions(board)]
    return "\n".join(row.rstrip() for row in rows)


def _spreads(board: BoardValues, way: str) -> list[str]:
    shares = "".join(f"{f'{share:.0%}':>7}" for share in QUANTILES)
    rows = [_TITLES[way], f"{'piece':<8}{'phase':<12}{'number':>12}{'mean':>8}{'spread':>8}  {shares}"]
    for piece, name in zip(PIECES, PIECE_NAMES, strict=True):
        for phase in _PHASES:
            found = board.spreads[way, piece, phase]
            figures = f"{_number(found.mean, 8)}{_number(found.deviation, 8)}  "
            figures += "".join(_number(value, 7) for value in found.quantiles)
            rows.append(f"{'' if phase else name:<8}{phase or 'all':<12}{found.number:12,}{figures}")
    return rows


def _predictions(board: BoardValues) -> list[str]:
    rows = ["How often the side with an expected score above one half has won in the end"]
    for phase in _PHASES:
        found = board.predictions[phase]
        share = "-" if math.isnan(found.share) else f"{found.share:.1%} +- {found.error:.1%}"
        rows.append(f"{phase or 'all':<12}{share:>16} of {found.positions:,} positions of decided games")
    return [*rows, f"{'Team 44':<12}{TEAM_44_PREDICTED:>16.0%}"]


def _number(value: float, width: int) -> str:
    return f"{'-' if math.isnan(value) else f'{value:.2f}':>{width}}"


def board_as_object(board: BoardValues, points: PointValues | None) -> dict[str, object]:
    """Plain data for `json.dumps`; values in pawns, what is not known is None."""
    return {
        "label": board.label,
        "evaluation": board.evaluation,
        "games": board.games,
        "positions": board.positions,
        "pawn_cp": board.pawns,
        "values": [
            {"way": way, "piece": piece, "phase": phase, **_spread_object(found)}
            for (way, piece, phase), found in board.spreads.items()
        ],
        "regression": None
        if points is None
        else {piece: _finite(value / 100) for piece, value in zip(PIECES, points.values.tolist(), strict=True)},
        "team_44": dict(zip(PIECES, TEAM_44, strict=True)),
        "foretold": [{"phase": phase, **_prediction_object(board.predictions[phase])} for phase in _PHASES],
        "team_44_foretold": TEAM_44_PREDICTED,
    }


def _spread_object(found: Spread) -> dict[str, object]:
    quantiles = {f"{share:g}": _finite(value) for share, value in zip(QUANTILES, found.quantiles, strict=True)}
    spread = {"mean": _finite(found.mean), "deviation": _finite(found.deviation)}
    return {"number": found.number, **spread, "quantiles": quantiles}


def _prediction_object(found: Prediction) -> dict[str, object]:
    return {"positions": found.positions, "share": _finite(found.share), "error": _finite(found.error)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def board_as_csv(boards: Sequence[BoardValues]) -> str:
    """A row for each file, way, piece and phase, with a line of names above; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["label", "way", "piece", "phase", "number", "mean", "deviation", *map("q{:g}".format, QUANTILES)])
    for board in boards:
        for (way, piece, phase), found in board.spreads.items():
            numbers = [found.mean, found.deviation, *found.quantiles]
            cells = ["" if math.isnan(number) else f"{number:.6g}" for number in numbers]
            writer.writerow([board.label, way, piece, phase or "all", found.number, *cells])
    return text.getvalue()
