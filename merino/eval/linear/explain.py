"""The score of a position taken apart, into its terms and into the values of its pieces.

Each piece on the board has a value in three ways, which answer three questions.

removal     how much the evaluation falls for its owner when it is taken off the board: lines open, phases shift, draw
            rules begin to apply. The king cannot be taken off.
relative    the same in pawns: removal over the weight of a pawn.
attributed  what this piece adds to the terms of its own side: how much less each counts when this piece is left
            out of the count and everything else stays, the piece still standing in the way. A king brings the whole of
            the terms that a bare king has (his place, his missing shield).

What two pieces earn only together, such as the bishop pair or a guarded outpost, is attributed to each of them in
full. The shared remainder corrects for that, term by term, so that it and the attributed values add up to the
evaluation. All counts are those of the term definitions; there is no second list of terms here.
"""

from __future__ import annotations

import math

import numpy as np

from merino.core.board.bitboard import (
    BLACK,
    BLACK_PIECE,
    EMPTY,
    KING,
    ONE,
    PIECE_LETTERS,
    SQUARES,
    ZERO,
    bit,
    lsb,
)
from merino.core.board.position import king_square
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import call_counts
from merino.eval.explanation import Credit, Explanation, PieceValue, PieceValues, TermLine, removals
from merino.eval.linear.compiled import addresses_of, counts_of, features_of, scores_of, stages_of
from merino.eval.linear.phases import by_stage, halves
from merino.eval.linear.registry import PAWN_VALUE, TERMS, Phase, TermSet, TermTable
from merino.eval.linear.view import seen_by
from merino.eval.material import after_rules, game_stage, rule_of, stage_of
from merino.eval.outlook import DEFAULT_K


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


@kernel
def _credit(address, position, credited, whole, partial):
    """Fill float64[64, terms] with what the piece on each square adds to each count of its side.

    `address` is that of the set's `side_counts`. Squares without a piece stay as they are; `whole` and `partial` are
    scratch, float64[terms].
    """
    for colour in range(2):
        call_counts(address, position, colour, ZERO, whole)
        own = position.colours[colour]
        king = king_square(position, colour)
        pieces = own
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            left_out = own if square == king else bit(square)
            call_counts(address, position, colour, seen_by(colour, left_out), partial)
            for index in range(len(whole)):
                if square != king:
                    credited[square, index] = whole[index] - partial[index]
                else:
                    credited[square, index] = whole[index] if partial[index] != 0 else 0.0


@entry
def _credit_pieces(address, positions, credited):
    whole, partial = np.zeros(credited.shape[1]), np.zeros(credited.shape[1])
    _credit(address, positions[0], credited, whole, partial)


@entry
def _attribute(address, positions, weights, values):
    """Fill float64[n, 64] with what each piece adds to the terms of its side in centipawns, 0 for empty squares."""
    terms = weights.shape[1]
    whole, partial, credited = np.zeros(terms), np.zeros(terms), np.zeros((64, terms))
    for index in range(len(positions)):
        position = positions[index]
        _credit(address, position, credited, whole, partial)
        stage = stage_of(position)
        for square in range(64):
            total = 0.0
            if position.board[square] != EMPTY:
                for term in range(terms):
                    total += weights[stage, term] * credited[square, term]
            values[index, square] = total


def attributed_of(positions: np.ndarray, weights: np.ndarray, terms: TermSet = TERMS) -> np.ndarray:
    """The attributed values of all pieces of POSITION[n], float64[n, 64] in centipawns for the owner.

    `weights` is float64[STAGES, terms], those of each stage of the game.
    """
    values = np.zeros((len(positions), 64))
    _attribute(addresses_of(terms).side_counts, positions, weights, values)
    return values


def value_pieces(record: np.ndarray, weights: np.ndarray, k: float = DEFAULT_K, terms: TermSet = TERMS) -> PieceValues:
    """The values of all pieces of `record`, POSITION[1]; `weights`, `k` and `terms` are those of `explain`."""
    explanation = explain(record, weights, k, terms)
    numbers = by_stage(weights, len(terms))[int(stages_of(record)[0])]
    credited = np.zeros((64, len(terms)))
    _credit_pieces(addresses_of(terms).side_counts, record, credited)
    board = record[0]["board"]
    occupied = [square for square in SQUARES if board[square] != EMPTY]
    worth = removals(record, lambda positions: scores_of(positions, weights, terms))[0]
    removal = {square: int(worth[square]) for square in occupied if board[square] % BLACK_PIECE != KING}
    brought = {square: _credits(credited[square], numbers, terms) for square in occupied}
    pieces = tuple(
        PieceValue(
            square=square,
            letter=PIECE_LETTERS[board[square]],
            removal=removal.get(square),
            relative=removal[square] / numbers[PAWN_VALUE] if square in removal and numbers[PAWN_VALUE] else None,
            attributed=math.fsum(credit.cp for credit in brought[square]),
            credits=brought[square],
        )
        for square in occupied
    )
    sign = np.where(board >= BLACK_PIECE, -1.0, 1.0)
    net = features_of(record, terms)[0]
    return PieceValues(explanation, pieces, _credits(net - sign @ credited, numbers, terms))


def _credits(counts: np.ndarray, weights: np.ndarray, terms: TermSet) -> tuple[Credit, ...]:
    """The terms and tables whose counts, float64[terms], are not zero; what a table counts is centipawns."""
    found = []
    for each, at in terms.to_read():
        if np.abs(counts[at]).max() > 1e-12:
            cp = float(weights[at] @ counts[at])
            count = cp if isinstance(each, TermTable) else float(counts[at.start])
            found.append(Credit(at.start + 1, each.name, count, cp))
    return tuple(found)
