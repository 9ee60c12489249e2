"""The score of a position taken apart into its terms."""

from __future__ import annotations

import math

import numpy as np

from merino.inner.core.board.bitboard import BLACK
from merino.inner.eval.draws import after_rules, rule_of
from merino.inner.eval.explanation import Explanation, TermLine
from merino.inner.eval.linear.evaluate import counts_of, scores_of, stages_of
from merino.inner.eval.linear.phases import by_stage, halves
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.eval.material import game_stage
from merino.inner.eval.outlook import DEFAULT_K


def explain(record: np.ndarray, weights: np.ndarray, k: float = DEFAULT_K, terms: TermSet = TERMS) -> Explanation:
    """Break down the score of `record`, POSITION[1], under weights of one phase or two for a set of terms.

    `k` scales the expected score.
    """
    white, black = counts_of(record, terms)[0].tolist()
    numbers = by_stage(weights, len(terms))[int(stages_of(record)[0])].tolist()
    values = np.transpose(halves(weights, len(terms))).tolist()
    lines = tuple(
        TermLine(number, term.name, term.group, term.phase, weight, white_count, black_count, (pair[0], pair[1]))
        for number, (term, pair, weight, white_count, black_count) in enumerate(
            zip(terms, values, numbers, white, black, strict=True), start=1
        )
    )
    turn = int(record[0]["side"])
    score = int(scores_of(record, weights, terms)[0])
    shares, stage = game_stage(record)
    total = math.fsum(line.net for line in lines)
    return Explanation(
        lines=lines,
        score_white=-score if turn == BLACK else score,
        after_rule=after_rules(record, total),
        turn=turn,
        rule=rule_of(record, total),
        middlegame=shares,
        k=k,
        stage=stage,
    )
