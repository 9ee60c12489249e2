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

import math
from dataclasses import replace

import numpy as np

from merino.core.board.bitboard import BLACK_PIECE, EMPTY, ONE, ZERO, bit, lsb
from merino.core.board.position import king_square
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.eval import material
from merino.eval.explanation import Credit, PieceValues, TermLine
from merino.eval.linear import compiled, phases, registry, view


def lines_of(record: np.ndarray, weights: np.ndarray, terms: registry.TermSet) -> tuple[TermLine, ...]:
    """What the score of POSITION[1] comes from, under weights of one phase or two: a line a term or table.

    A table has a weight of 1, so its counts are the centipawns that its cells come to.
    """
    counts, values = compiled.counts_of(record, terms)[0], np.transpose(phases.halves(weights, len(terms)))
    numbers = phases.by_stage(weights, len(terms))[int(compiled.stages_of(record)[0])]
    lines = []
    for each, at in terms.to_read():
        named, first = (at.start + 1, each.name, each.group), at.start
        if isinstance(each, registry.TermTable):
            white, black = (counts[:, at] @ numbers[at]).tolist()
            lines.append(TermLine(*named, registry.Phase.ALWAYS, 1.0, white, black, (1.0, 1.0), len(each.cells)))
            continue
        (white, black), (middlegame, endgame) = counts[:, first].tolist(), values[first].tolist()
        lines.append(TermLine(*named, each.phase, float(numbers[first]), white, black, (middlegame, endgame)))
    return tuple(lines)


@kernel
def _credit(address, position, credited, whole, partial):
    """Fill float64[64, terms] with what the piece on each square adds to each count of its side.

    `address` is that of the set's `side_counts`. Squares without a piece stay as they are; `whole` and `partial` are
    scratch, float64[terms].
    """
    for colour in range(2):
        memory.call_counts(address, position, colour, ZERO, whole)
        own = position.colours[colour]
        king = king_square(position, colour)
        pieces = own
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            left_out = own if square == king else bit(square)
            memory.call_counts(address, position, colour, view.seen_by(colour, left_out), partial)
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
        stage = material.stage_of(position)
        for square in range(64):
            total = 0.0
            if position.board[square] != EMPTY:
                for term in range(terms):
                    total += weights[stage, term] * credited[square, term]
            values[index, square] = total


def attributed_of(positions: np.ndarray, weights: np.ndarray, terms: registry.TermSet = registry.TERMS) -> np.ndarray:
    """The attributed values of all pieces of POSITION[n], float64[n, 64] in centipawns for the owner.

    `weights` is float64[STAGES, terms], those of each stage of the game.
    """
    values = np.zeros((len(positions), 64))
    _attribute(compiled.addresses_of(terms).side_counts, positions, weights, values)
    return values


def with_credits(values: PieceValues, record: np.ndarray, weights: np.ndarray, terms: registry.TermSet) -> PieceValues:
    """The values of pieces of POSITION[1] with the terms that each adds to, and in units of the pawn of the terms.

    `weights` is float64[STAGES, terms].
    """
    numbers, credited = weights[int(compiled.stages_of(record)[0])], np.zeros((64, len(terms)))
    _credit_pieces(compiled.addresses_of(terms).side_counts, record, credited)
    pieces, pawn = [], numbers[registry.PAWN_VALUE]
    for piece in values.pieces:
        own = _credits(credited[piece.square], numbers, terms)
        relative = None if piece.removal is None or not pawn else piece.removal / pawn
        pieces.append(replace(piece, relative=relative, attributed=math.fsum(credit.cp for credit in own), credits=own))
    net = compiled.features_of(record, terms)[0] - np.where(record[0]["board"] >= BLACK_PIECE, -1.0, 1.0) @ credited
    return PieceValues(values.explanation, tuple(pieces), _credits(net, numbers, terms))


def _credits(counts: np.ndarray, weights: np.ndarray, terms: registry.TermSet) -> tuple[Credit, ...]:
    """The terms and tables whose counts, float64[terms], are not zero; what a table counts is centipawns."""
    found = []
    for each, at in terms.to_read():
        if np.abs(counts[at]).max() > 1e-12:
            cp = float(weights[at] @ counts[at])
            count = cp if isinstance(each, registry.TermTable) else float(counts[at.start])
            found.append(Credit(at.start + 1, each.name, count, cp))
    return tuple(found)
