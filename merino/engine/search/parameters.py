"""Every tunable number of the search: name, default, bounds and what it does.

The rows become fields of the search record (`s.parameters.name`), not constants of the compiled code.
Margins, bonuses and values are centipawns unless a row says otherwise, depths are plies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from merino.core.compiled.memory import record_dtype
from merino.eval.evaluation import Evaluation, EvaluationError


@dataclass(frozen=True)
class Parameter:
    """A tunable number of the search; `was` is an older name, still accepted from users."""

    name: str
    default: int
    bounds: tuple[int, int]
    sentence: str
    was: str = ""


_Row = tuple[str, int, tuple[int, int], str] | tuple[str, int, tuple[int, int], str, str]  # of a Parameter


def _of(technique: str, *rows: _Row) -> Iterator[Parameter]:
    """The numbers of a technique, whose name comes before each sentence but for those that go on with three dots."""
    for name, default, bounds, text, *was in rows:
        yield Parameter(name, default, bounds, text if text.startswith("...") else f"{technique}: {text}", *was)


PARAMETERS = (
    Parameter("exchange_pawn", 100, (1, 2000), "Value of a pawn in static exchange evaluation (SEE)."),
    Parameter("exchange_knight", 373, (1, 2000), "Value of a knight in static exchange evaluation."),
    Parameter("exchange_bishop", 407, (1, 2000), "Value of a bishop in static exchange evaluation."),
    Parameter("exchange_rook", 624, (1, 2000), "Value of a rook in static exchange evaluation."),
    Parameter("exchange_queen", 1241, (1, 4000), "Value of a queen in static exchange evaluation."),
    Parameter("aspiration_window", 20, (5, 200), "Half-width of the first aspiration window around the last score."),
    *_of(
        "Razoring",
        ("razor_margin", 230, (50, 800), "smallest distance below alpha, times (1 + depth squared)."),
        ("razor_depth", 3, (0, 6), "maximum depth."),
    ),
    *_of(
        "Reverse futility pruning",
        ("reverse_futility_margin", 119, (20, 250), "smallest distance above beta, per ply."),
        ("reverse_futility_depth", 9, (1, 12), "maximum depth."),
        (
            "reverse_futility_blend",
            56,
            (0, 100),
            "percent of (eval - beta) subtracted from the returned score.",
            "soft_beta",
        ),
    ),
    *_of(
        "Null move pruning",
        ("null_move_base", 4, (2, 6), "reduction of the search after the pass."),
        ("null_move_divisor", 4, (2, 10), "reduce by one ply more per this many plies of depth."),
        ("null_move_margin", 273, (50, 500), "reduce by one ply more per this much above beta ..."),
        ("null_move_margin_max", 3, (0, 8), "... but by at most this many plies."),
        ("null_move_depth", 3, (1, 6), "minimum depth."),
        ("null_move_verify_depth", 12, (6, 99), "minimum depth at which a fail high is verified."),
    ),
    *_of(
        "Probcut",
        ("probcut_depth", 5, (3, 99), "minimum depth."),
        ("probcut_margin", 184, (50, 500), "margin above beta for the shallower search of a capture."),
        ("probcut_reduction", 4, (2, 6), "reduction of the search of a capture."),
    ),
    *_of(
        "Singular extension",
        ("singular_depth", 6, (4, 99), "minimum depth."),
        ("singular_margin", 19, (4, 80), "margin below the score of the hash move, per ply, in 1/16 centipawns."),
        ("singular_double_margin", 14, (0, 100), "further margin for an extension by two plies."),
        ("singular_entry_plies", 3, (0, 8), "by how much the depth of the table entry may fall short."),
        ("negative_extension", 2, (0, 4), "plies less for a hash move at a cut node that others match."),
    ),
    Parameter("internal_iterative_reduction_depth", 4, (2, 99), "Internal iterative reduction: minimum depth."),
    Parameter("correction_pawns", 30, (0, 160), "Correction history by pawn structure: maximum correction."),
    Parameter("correction_pieces", 98, (0, 160), "Correction history by the pieces of one side: maximum correction."),
    Parameter("correction_move", 54, (0, 160), "Correction history by the last move: maximum correction."),
    Parameter(
        "noisy_futility_margin", 79, (20, 500), "Futility margin for captures, per ply, on top of the captured piece."
    ),
    Parameter("noisy_futility_depth", 6, (0, 12), "Futility pruning of captures: maximum depth."),
    Parameter("futility_base", 0, (0, 400), "Futility margin for quiet moves, at depth 0."),
    Parameter("futility_margin", 25, (20, 300), "Futility margin for quiet moves, per ply."),
    Parameter(
        "futility_history", 500, (50, 10000), "Futility margin for quiet moves: history divided by this is added."
    ),
    Parameter("futility_depth", 7, (1, 12), "Futility pruning of quiet moves: maximum depth."),
    *_of(
        "Late move pruning",
        ("late_move_pruning_base", 5, (1, 12), "number of quiet moves tried at depth 0.", "late_move_base"),
        ("late_move_pruning_depth", 8, (1, 12), "maximum depth.", "late_move_depth"),
    ),
    *_of(
        "SEE pruning",
        ("see_quiet_margin", 41, (10, 200), "how much a quiet move may lose, per ply."),
        ("see_noisy_margin", 120, (10, 300), "how much a capture or a check may lose, per ply."),
        ("see_depth", 8, (1, 12), "maximum depth."),
    ),
    *_of(
        "History pruning",
        (
            "history_pruning_margin",
            4523,
            (500, 10000),
            "a quiet move with history below minus this, per ply, is skipped.",
            "history_prune_margin",
        ),
        ("history_pruning_depth", 5, (1, 10), "maximum depth.", "history_prune_depth"),
    ),
    *_of(
        "Late move reduction",
        ("reduction_depth", 3, (2, 8), "minimum depth."),
        ("reduction_moves", 1, (1, 8), "number of first moves not reduced; one more at the root."),
        ("reduction_base", 830, (0, 2048), "the constant, 1/1024 plies."),
        ("reduction_factor", 495, (100, 1000), "factor of ln(depth) ln(move), 1/1024 plies."),
        ("reduction_history", 13, (2, 64), "less by history divided by this, 1/1024 plies."),
        ("reduction_killer", 800, (0, 3072), "less for a killer move, 1/1024 plies."),
        ("reduction_noisy", 1024, (0, 3072), "less for a capture or promotion, 1/1024 plies."),
        ("reduction_captures", 1880, (0, 9000), "less again if it loses nothing, 1/1024 plies."),
        ("reduction_pv_node", 1024, (0, 3072), "less at a PV node, 1/1024 plies."),
        ("reduction_cut_node", 906, (0, 3072), "more at an expected cut node, 1/1024 plies."),
        ("reduction_cutoffs", 659, (0, 2048), "more after many fail highs of children ..."),
        ("reduction_cutoff_count", 4, (1, 16), "... where this number is many."),
        ("reduction_not_improving", 512, (0, 2048), "more if not improving, 1/1024 plies."),
        ("reduction_in_check", 1024, (0, 3072), "less in check, 1/1024 plies."),
        ("reduction_corrected", 6, (0, 40), "less per centipawn corrected, 1/1024 plies."),
    ),
    *_of(
        "Hindsight extension",
        ("hindsight_plies", 3, (2, 10), "minimum reduction of a move that is extended by a ply if it did good."),
        (
            "hindsight_margin",
            260,
            (0, 1000),
            "a ply less if the reduced move lowered its side's static eval by this much.",
        ),
    ),
    Parameter(
        "deeper_margin", 48, (5, 200), "A reduced move this far above the best is searched again one ply deeper."
    ),
    Parameter(
        "shallower_margin",
        8,
        (0, 60),
        "A reduced move less than this above the best is searched again one ply less deeply.",
    ),
    Parameter("delta_margin", 154, (50, 400), "Delta pruning in quiescence: margin on top of the captured piece."),
    *_of(
        "Move order",
        ("threat_bonus", 8600, (0, 20000), "bonus for a quiet move out of a lesser piece's attack, malus into it."),
        ("check_bonus", 7400, (0, 20000), "bonus for a quiet check ..."),
        ("check_see_margin", 75, (0, 500), "... that loses at most this much by exchange."),
    ),
    *_of(
        "History",
        ("history_bonus", 280, (50, 400), "bonus of the best move per ply of depth."),
        ("history_bonus_max", 2500, (400, 4000), "largest bonus."),
        ("history_prior_bonus", 56, (0, 200), "percent of the bonus for the move before an all-node.", "prior_bonus"),
        ("history_prior_noisy_bonus", 50, (0, 200), "the same where that move is a capture or promotion."),
        ("history_malus", 80, (0, 200), "malus of the quiet moves tried before the best, percent of its bonus."),
        ("history_eval", 10, (0, 64), "bonus per centipawn that a quiet move gains in static evaluation ..."),
        ("history_eval_max", 1200, (0, 4000), "... and the largest such bonus or malus."),
    ),
    *_of(
        "Time management",
        ("clock_moves", 25, (5, 80), "expected number of moves to come, unless the time control says it."),
        ("clock_increment", 80, (0, 100), "percent of the increment in the soft limit."),
        ("clock_hard_limit", 400, (100, 1000), "hard limit, percent of the soft limit.", "clock_stretch"),
        ("clock_stability", 80, (0, 150), "percent less for a stable best move than for a new one."),
        ("clock_falling_score", 100, (0, 300), "percent more after a falling score.", "clock_trouble"),
        ("clock_node_share", 120, (0, 200), "percent from the best move's share of the nodes.", "clock_doubt"),
    ),
)

EXCHANGE_VALUES = tuple(parameter.name for parameter in PARAMETERS if parameter.name.startswith("exchange_"))  # P..Q
OLD_NAMES = {parameter.was: parameter.name for parameter in PARAMETERS if parameter.was}
PARAMETER_DTYPE = record_dtype([(parameter.name, np.int64) for parameter in PARAMETERS])


class ParameterError(ValueError):
    """An unknown parameter, or a value outside its bounds."""


def parameter_values(changes: Mapping[str, int] | None = None, start: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The values in `start`, None for the defaults, with `changes` by name, old or new, in the order of the registry.

    Raises ParameterError.
    """
    values = by_name(start or tuple(parameter.default for parameter in PARAMETERS))
    bounds = {parameter.name: parameter.bounds for parameter in PARAMETERS}
    changed: dict[str, int] = {}
    for given, value in (changes or {}).items():
        name = current_name(given)
        if name not in values:
            raise ParameterError(f"there is no search parameter {given!r}")
        if name in changed:
            raise ParameterError(f"{name} is given twice, once by its old name")
        changed[name] = value
        low, high = bounds[name]
        if not low <= value <= high:
            raise ParameterError(f"{name} = {value} is outside {low}..{high}")
        values[name] = value
    return tuple(values.values())


def parameters_for(evaluation: Evaluation, changes: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """The values for searching with this evaluation: the defaults, what was tuned for it, and then `changes`.

    Raises ParameterError for the changes, EvaluationError for a number of the evaluation that the search does not know.
    """
    try:
        own = parameter_values(evaluation.search_numbers)
    except ParameterError as error:
        raise EvaluationError(f"{evaluation.name} was tuned for another search: {error}") from error
    return parameter_values(changes, own)


def tuned_for(evaluation: Evaluation, values: Mapping[str, int]) -> Evaluation:
    """The evaluation that keeps these numbers of the search in addition to its own, under their present names.

    Raises EvaluationError if it cannot keep them.
    """
    both = (*evaluation.search_numbers.items(), *values.items())
    return evaluation.with_search_numbers({current_name(name): value for name, value in both})


def current_name(name: str) -> str:
    """The present name of a parameter, if this is its old name; else the name itself."""
    return OLD_NAMES.get(name, name)


def by_name(values: tuple[int, ...]) -> dict[str, int]:
    """The values, in the order of the registry, by name."""
    return dict(zip((parameter.name for parameter in PARAMETERS), values, strict=True))
