"""Numbers of the search that were tuned for the terms; the search has its defaults for all others.

They were found by `merino spsa tune` with the 27 terms, and proved by games against the defaults. The set `full` gains
by them, too, and nets lose: they have the defaults, or their own (docs/lab/experiments.md).
"""

from __future__ import annotations

from collections.abc import Mapping

WITH_TERMS: Mapping[str, int] = {
    "exchange_pawn": 62,
    "exchange_knight": 379,
    "exchange_bishop": 535,
    "exchange_rook": 905,
    "exchange_queen": 1570,
    "razor_margin": 309,
    "reverse_futility_margin": 122,
    "reverse_futility_blend": 47,
    "null_move_margin": 191,
    "null_move_margin_max": 4,
    "probcut_margin": 186,
    "singular_margin": 21,
    "negative_extension": 3,
    "correction_pawns": 34,
    "correction_pieces": 72,
    "correction_move": 70,
    "noisy_futility_margin": 74,
    "futility_margin": 23,
    "futility_history": 614,
    "late_move_pruning_base": 4,
    "see_quiet_margin": 32,
    "see_noisy_margin": 210,
    "history_pruning_margin": 3182,
    "reduction_moves": 3,
    "reduction_base": 815,
    "reduction_factor": 435,
    "reduction_killer": 1038,
    "reduction_noisy": 1099,
    "reduction_captures": 1780,
    "reduction_pv_node": 907,
    "reduction_cut_node": 1122,
    "reduction_cutoffs": 614,
    "reduction_not_improving": 372,
    "reduction_in_check": 1203,
    "reduction_corrected": 8,
    "hindsight_margin": 251,
    "deeper_margin": 49,
    "shallower_margin": 7,
    "delta_margin": 208,
    "threat_bonus": 7994,
    "check_bonus": 8776,
    "check_see_margin": 96,
    "history_bonus": 375,
    "history_bonus_max": 2344,
    "history_prior_bonus": 73,
    "history_malus": 87,
    "history_eval": 7,
    "history_eval_max": 1226,
}
