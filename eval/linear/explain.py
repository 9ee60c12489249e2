"""The score of a position taken apart into its terms."""

from __future__ import annotations

import math

import numpy as np

from merino.inner.core.board.bitboard import BLACK
from merino.inner.eval.draws import after_rules, rule_of
from merino.inner.eval.explanation import Explanation, TermLine
from merino.inner.eval.linear.evaluate import counts_of, scores_of, stages_of
from merino.inner.eval.linear.phases import by_stage, halves
from merino.inner.eval.linear.registry import TERMS, Phase, TermSet, TermTable
from merino.inner.eval.material import game_stage
from merino.inner.eval.outlook import DEFAULT_K


def explain(record: np.ndarray, weights: np.ndarray, k: float = DEFAULT_K, terms: TermSet = TERMS) -> Explanation:
    """Break down the score of `record`, POSITION[1], under weights of one phase or two for a set of terms.

    `k` scales the expected score.
    """
    counts = counts_of(record, terms)[0]
    numbers = by_stage(weights, len(terms))[int(stages_of(record)[0])]
    lines = _lines(terms, counts, numbers, np.transpose(halves(weights, len(terms))))
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


def _lines(terms: TermSet, counts: np.ndarray, numbers: np.ndarray, values: np.ndarray) -> tuple[TermLine, ...]:
    """A line for each term that stands alone and for each table.

    `counts` is float64[2, terms], `numbers` the weights at the stage, `values` their two values, float64[terms, 2]. A
    table has a weight of 1, so its counts are the centipawns that its cells come to.
    """
    lines = []
    for each, at in terms.to_read():
        number, first = at.start + 1, at.start
        if isinstance(each, TermTable):
            white, black = (counts[:, at] @ numbers[at]).tolist()
            cells = len(each.cells)
            lines.append(TermLine(number, each.name, each.group, Phase.ALWAYS, 1.0, white, black, (1.0, 1.0), cells))
            continue
        (white, black), (middlegame, endgame) = counts[:, first].tolist(), values[first].tolist()
        weight = float(numbers[first])
        lines.append(TermLine(number, each.name, each.group, each.phase, weight, white, black, (middlegame, endgame)))
    return tuple(lines)
