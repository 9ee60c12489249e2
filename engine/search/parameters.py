"""Every number the search can be tuned by: name, default, bounds and what it does.

The rows become fields of the search record (`s.parameters.name`), never compiled-in constants.
Centipawns unless a row says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Parameter:
    """One tunable number of the search."""

    name: str
    default: int
    bounds: tuple[int, int]
    sentence: str


PARAMETERS = (
    Parameter("exchange_pawn", 100, (1, 2000), "What a pawn is worth in exchanges."),
    Parameter("exchange_knight", 373, (1, 2000), "What a knight is worth in exchanges."),
    Parameter("exchange_bishop", 407, (1, 2000), "What a bishop is worth in exchanges."),
    Parameter("exchange_rook", 624, (1, 2000), "What a rook is worth in exchanges."),
    Parameter("exchange_queen", 1241, (1, 4000), "What a queen is worth in exchanges."),
    Parameter("aspiration_window", 20, (5, 200), "Half-width of the first window around the last score."),
    Parameter("razor_margin", 230, (50, 800), "Times 1 + depth squared, how far below alpha a score is razored."),
    Parameter("razor_depth", 3, (0, 6), "Deepest node that is razored, plies."),
    Parameter(
        "reverse_futility_margin", 119, (20, 250), "Per ply of depth the score must exceed beta by to fail high."
    ),
    Parameter("reverse_futility_depth", 8, (1, 12), "Deepest node of reverse futility pruning, plies."),
    Parameter("null_move_base", 4, (2, 6), "Plies a null move reduces by."),
    Parameter("null_move_divisor", 4, (2, 10), "Depth by which the null move's reduction grows a ply."),
    Parameter("null_move_margin", 273, (50, 500), "Score above beta for which a null move reduces a ply more."),
    Parameter("null_move_depth", 3, (1, 6), "Least depth of a null move, plies."),
    Parameter("null_move_verify_depth", 12, (6, 99), "Least depth at which a null move is verified, plies."),
    Parameter("probcut_depth", 5, (3, 99), "Least depth of probcut, plies."),
    Parameter("probcut_margin", 184, (50, 500), "What a capture must beat beta by in probcut."),
    Parameter("probcut_reduction", 4, (2, 6), "Plies that probcut searches less."),
    Parameter("singular_depth", 6, (4, 99), "Least depth of the singular extension, plies."),
    Parameter("singular_margin", 23, (4, 80), "Sixteenths per ply of depth that other moves must stay below."),
    Parameter("singular_double_margin", 14, (0, 100), "Further below that, a singular move is extended by two plies."),
    Parameter("correction_pawns", 30, (0, 160), "Weight of the correction by pawns: at most so many centipawns."),
    Parameter("correction_pieces", 98, (0, 160), "Weight of the correction by either side's pieces."),
    Parameter("correction_move", 54, (0, 160), "Weight of the correction by the last move."),
    Parameter("noisy_futility_margin", 79, (20, 500), "Hope a capture gains with each ply, beyond the piece taken."),
    Parameter("noisy_futility_depth", 6, (0, 12), "Deepest node of futility pruning of captures, plies."),
    Parameter("futility_base", 0, (0, 400), "Hope left to a quiet move at depth 0."),
    Parameter("futility_margin", 25, (20, 300), "Hope a quiet move gains with each ply of depth."),
    Parameter("futility_history", 500, (50, 10000), "History divided by this is hope as well."),
    Parameter("futility_depth", 7, (1, 12), "Deepest node of futility pruning, plies."),
    Parameter("late_move_base", 5, (1, 12), "Quiet moves tried at depth 0 before the rest is skipped."),
    Parameter("late_move_depth", 8, (1, 12), "Deepest node where late quiet moves are skipped, plies."),
    Parameter("see_quiet_margin", 41, (10, 200), "Material per ply of depth a quiet move may put at risk."),
    Parameter("see_noisy_margin", 120, (10, 300), "Material per ply of depth a capture or a check may lose."),
    Parameter("see_depth", 8, (1, 12), "Deepest node where losing moves are skipped, plies."),
    Parameter("history_prune_margin", 4523, (500, 10000), "History per ply of depth below which a quiet is skipped."),
    Parameter("history_prune_depth", 5, (1, 10), "Deepest node where quiets are skipped by history, plies."),
    Parameter("reduction_base", 830, (0, 2048), "Late move reduction: the constant, 1/1024 plies."),
    Parameter("reduction_factor", 495, (100, 1000), "Late move reduction: factor of ln(depth) ln(move), 1/1024 plies."),
    Parameter("reduction_history", 13, (2, 64), "History divided by this reduces a late quiet less, 1/1024 plies."),
    Parameter("reduction_captures", 1880, (0, 9000), "Reduced so much less where a capture loses nothing."),
    Parameter("reduction_cut_node", 906, (0, 3072), "Reduced so much more where a fail high is expected."),
    Parameter("reduction_cutoffs", 659, (0, 2048), "Reduced so much more where the answers kept failing high."),
    Parameter(
        "reduction_corrected", 6, (0, 40), "Reduced so much less per centipawn that the static score is corrected by."
    ),
    Parameter(
        "hindsight_plies", 3, (2, 10), "A move reduced by so much that did good after all is searched a ply deeper."
    ),
    Parameter(
        "hindsight_margin", 322, (0, 1000), "A reduced move that did so much harm is searched a ply less deeply."
    ),
    Parameter("deeper_margin", 48, (5, 200), "So far above the best, a reduced move is searched a ply deeper again."),
    Parameter("shallower_margin", 8, (0, 60), "Less above the best than this, a ply less deeply."),
    Parameter("delta_margin", 154, (50, 400), "What a capture in quiescence may bring beyond the piece taken."),
    Parameter("soft_beta", 56, (0, 100), "Percent of a static score's distance above beta that are not believed."),
    Parameter("threat_bonus", 8600, (0, 20000), "Order of a quiet move away from a lesser piece's attack, or into it."),
    Parameter("check_bonus", 7400, (0, 20000), "Order of a quiet check that loses little."),
    Parameter("history_bonus", 280, (50, 400), "History bonus per ply of depth."),
    Parameter("history_bonus_max", 2500, (400, 4000), "Largest history bonus."),
    Parameter("prior_bonus", 56, (0, 200), "Percent of the bonus, for the quiet move before a node that fails low."),
    Parameter("clock_moves", 25, (5, 80), "Moves to come that a clock is divided by, unless it says how many."),
    Parameter("clock_increment", 80, (0, 100), "Percent of the increment that a move may use on top."),
    Parameter("clock_stretch", 400, (100, 1000), "Percent of its budget after which a move is broken off."),
    Parameter("clock_stability", 80, (0, 150), "Percent less for a move long settled than for one just found."),
    Parameter("clock_trouble", 100, (0, 300), "Percent more after the score has fallen by much."),
    Parameter("clock_doubt", 120, (0, 200), "Percent more for a move that took no nodes than for one that took all."),
)

EXCHANGE_VALUES = tuple(parameter.name for parameter in PARAMETERS if parameter.name.startswith("exchange_"))  # P..Q
PARAMETER_DTYPE = np.dtype([(parameter.name, np.int64) for parameter in PARAMETERS], align=True)


class ParameterError(ValueError):
    """A parameter that does not exist or a value outside its bounds."""


def parameter_values(changes: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """The defaults with `changes` by name, in the order of the registry; raises ParameterError."""
    values = {parameter.name: parameter.default for parameter in PARAMETERS}
    bounds = {parameter.name: parameter.bounds for parameter in PARAMETERS}
    for name, value in (changes or {}).items():
        if name not in values:
            raise ParameterError(f"no search parameter is called {name!r}")
        low, high = bounds[name]
        if not low <= value <= high:
            raise ParameterError(f"{name} = {value} is outside {low}..{high}")
        values[name] = value
    return tuple(values.values())


def by_name(values: tuple[int, ...]) -> dict[str, int]:
    """The values, in the order of the registry, by name."""
    return dict(zip((parameter.name for parameter in PARAMETERS), values, strict=True))
