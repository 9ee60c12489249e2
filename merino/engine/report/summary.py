"""An evaluation, or its change, in a few English sentences that say no more than the table of terms.

They name the largest terms for each side, with the squares of the pieces that bring them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import chess

from merino.core.board.bitboard import BLACK, PIECE_LETTERS, SQUARE_NAMES, WHITE
from merino.core.board.fen import COLOUR_NAMES
from merino.core.common.text import rounded
from merino.engine.report.phrases import is_material, is_usual, listed, net_phrase, phrase
from merino.engine.report.schema import ChangeReport
from merino.eval.explanation import Explanation, PieceValue, PieceValues, TermLine
from merino.eval.linear.registry import Group

MIN_AHEAD = 3  # centipawns; less is no lead
MIN_VALUE = 0.5  # centipawns; less is no material
MIN_CHANGE = 1.0  # centipawns; smaller changes are not mentioned
MIN_TOLD = 3.0  # centipawns; smaller parts are not put into words
MAX_NAMED_TERMS = 3  # of a side
MAX_NAMED_IN_GROUP = 2  # terms of a group
MANY_TERMS = 40  # of a set: with more, groups are named first
NAMED_SQUARES = 2  # of a term
# The pieces that a term is about, by how its name begins: others may bring it, as a pawn that guards an outpost does.
_OF_SQUARES = ("Threat", "Hanging", "PawnIslands", "Safe", "Contested", "Controlled", "Space", "Tempo")
_ABOUT = dict.fromkeys((*_OF_SQUARES, "KingRing"), "")  # no piece is named, but for those under a threat
_ABOUT |= {"Pawn": "P", "Passed": "P", "Knight": "N", "Bishop": "B", "Minor": "NB", "Rook": "R", "Queen": "Q"}
_BACKWARD = "PawnBackward"  # how the names of backward pawns begin
_PIECES = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)
_ALL = (*_PIECES, chess.PAWN)


def summarise(values: PieceValues) -> tuple[str, ...]:
    """Sentences: who is ahead, and by which terms of which pieces; without values of pieces the terms alone."""
    explanation = values.explanation
    score = explanation.score_white
    leader = BLACK if score < 0 else WHITE
    expected = explanation.expected_score if leader == WHITE else 1 - explanation.expected_score
    sentences = [
        f"{COLOUR_NAMES[leader]} is ahead by {abs(score) / 100:.2f} pawns and may expect {expected:.0%} of the points."
        if abs(score) >= MIN_AHEAD
        else "Neither side is ahead."
    ]
    if explanation.without_terms:
        return (*sentences, f"{explanation.without_terms}.", *_rule_sentence(explanation))
    if abs(explanation.group_net(Group.MATERIAL)) < MIN_VALUE:
        sentences.append(f"{Group.MATERIAL.title} is level.")
    if said := largest_for_each_side(values):
        sentences.append(said)
    return (*sentences, *_rule_sentence(explanation))


def ending_sentence(ending: str, winner: int | None) -> str:
    """How a game has ended, in place of what its last position would be worth."""
    return f"The game is drawn: {ending}." if winner is None else f"{COLOUR_NAMES[winner]} has won by {ending}."


def _rule_sentence(explanation: Explanation) -> Iterable[str]:
    if explanation.rule:
        change = rounded(explanation.rule_cp, "+", 0)
        yield f"A draw rule changes the sum by {change} centipawns: {explanation.rule}."


def summarise_change(change: ChangeReport, what: str, colour: int) -> tuple[str, ...]:
    """Sentences on how much `what`, such as "Nf3", gains or costs the side `colour`, and by which terms."""
    sign = -1 if colour == BLACK else 1
    total = sign * change.change_cp
    if total:
        sentences = [f"{what} {'gains' if total > 0 else 'costs'} {COLOUR_NAMES[colour]} {abs(total) / 100:.2f}."]
    else:
        sentences = [f"{what} leaves the score as it is."]
    terms = [(net_phrase(term.name), sign * term.change_cp) for term in change.terms if not is_material(term.name)]
    material = sign * math.fsum(term.change_cp for term in change.terms if is_material(term.name))
    return (*sentences, *_for_and_against(colour, [(Group.MATERIAL.title.lower(), material), *terms]))


def _for_and_against(colour: int, values: Sequence[tuple[str, float]]) -> Iterable[str]:
    """The largest positive values, which are for the side `colour`, and the largest negative ones."""
    for side, sign in ((colour, 1), (1 - colour, -1)):
        if said := _largest(values, sign, MIN_CHANGE):
            yield f"In {COLOUR_NAMES[side]}'s favour: {said}."


def largest_for_each_side(values: PieceValues) -> str:
    """The largest terms: "In White's favour: material (a pawn) 1.00, rook mobility (e1) 0.20. In Black's favour: ...".

    Material comes as one. Of a set of many terms it is the groups, each with the terms that make most of it: "king
    safety (pawns before the king: g2, f2; safe rook check) 0.41". Empty where nothing is large enough.
    """
    explanation = values.explanation
    parts_of = _groups if len(explanation.lines) > MANY_TERMS else _terms
    material = explanation.group_net(Group.MATERIAL)
    return " ".join(
        f"In {side}'s favour: {text}."
        for colour, side in enumerate(COLOUR_NAMES)
        if (text := _largest([(_material(values, colour), material), *parts_of(values, colour)], 1 - 2 * colour))
    )


def _material(values: PieceValues, colour: int) -> str:
    """Material with what a side has more and less of: "material (a bishop for a knight)"."""
    own, other = (
        Counter(
            chess.PIECE_SYMBOLS.index(piece.letter.lower())
            for piece in values.pieces
            if piece.colour == side and piece.letter not in "Kk"
        )
        for side in (colour, 1 - colour)
    )
    more, less = own - other, other - own
    if not more:
        return "material"
    return f"material ({listed(more)} for {listed(less)})" if less else f"material ({listed(more)} more)"


def _largest(parts: Sequence[tuple[str, float]], sign: int, least: float = MIN_TOLD) -> str:
    chosen = sorted((part for part in parts if sign * part[1] >= least), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {abs(cp) / 100:.2f}" for name, cp in chosen[:MAX_NAMED_TERMS])


def _terms(values: PieceValues, colour: int) -> Iterator[tuple[str, float]]:
    """The terms other than material that are good for a side: "Black's isolated pawns (d5)", and their centipawns."""
    for name, squares, cp in _named(values.explanation.lines, values, colour):
        yield f"{name} ({squares})" if squares else name, cp


def _groups(values: PieceValues, colour: int) -> Iterator[tuple[str, float]]:
    """The groups other than material that are good for a side, each with the terms that make most of it."""
    explanation, sign = values.explanation, 1 if colour == WHITE else -1
    for group in Group:
        net = explanation.group_net(group)
        if group is Group.MATERIAL or sign * net < MIN_TOLD:
            continue
        lines = [line for line in explanation.lines if line.group is group]
        named = sorted(_named(lines, values, colour), key=lambda part: -abs(part[2]))
        large = [part for part in named[:MAX_NAMED_IN_GROUP] if abs(part[2]) >= MIN_TOLD]
        told = [f"{name}: {squares}" if squares else name for name, squares, _ in large]
        yield group.title.lower() + (f" ({'; '.join(told)})" if told else ""), net


def _named(lines: Sequence[TermLine], values: PieceValues, colour: int) -> Iterator[tuple[str, str, float]]:
    """The terms of these, but material, that are good for a side, each with the squares of what brings most of it.

    Those whose weight has an unusual sign are left out. A term that the other side brings says so: "Black's isolated
    pawns".
    """
    for line in lines:
        if is_material(line.name) or not is_usual(line.name, line.weight) or (line.net > 0) != (colour == WHITE):
            continue
        owner = WHITE if abs(line.white_cp) >= abs(line.black_cp) else 1 - WHITE
        whose = "" if owner == colour else COLOUR_NAMES[owner]
        count = line.white_count if owner == WHITE else line.black_count
        about = threatened(line.name, values.pieces, owner)
        squares = _bringing(line, values, owner) if about is None else about
        yield phrase(line.name, count, len(squares), whose), ", ".join(squares[:NAMED_SQUARES]), line.net


def _bringing(line: TermLine, values: PieceValues, owner: int) -> list[str]:
    """The squares of the owner's pieces that the term is about, of those that bring most of it first."""
    own = line.white_cp if owner == WHITE else line.black_cp
    kinds = next((kinds for start, kinds in _ABOUT.items() if line.name.startswith(start)), PIECE_LETTERS.upper())
    brought = [
        (-abs(credit.cp), piece.square)
        for piece in values.pieces
        if piece.colour == owner and piece.letter.upper() in kinds
        for credit in piece.credits
        if credit.name == line.name and credit.cp * own > 0
    ]
    if line.name.startswith(_BACKWARD):
        brought = [each for each in brought if not _has_support(each[1], values, owner)]
    return [SQUARE_NAMES[square] for _, square in sorted(brought)]


def _has_support(square: int, values: PieceValues, owner: int) -> bool:
    """Whether an own pawn stands beside a pawn or behind it, on a file next to it: then it is not backward.

    What it has gone ahead of is backward because of it, but so it is only the cause.
    """
    up = 1 if owner == WHITE else -1
    return any(
        piece.colour == owner
        and piece.letter in "Pp"
        and abs(piece.square % 8 - square % 8) == 1
        and up * (square // 8 - piece.square // 8) >= 0
        for piece in values.pieces
    )


def _is_free(board: chess.Board, square: chess.Square) -> bool:
    """Whether nobody guards the piece on a square."""
    colour = board.color_at(square)
    return colour is not None and not board.attackers(colour, square)


def _is_target(board: chess.Board, square: chess.Square) -> bool:
    """Whether a piece, or a pawn that nobody guards, stands on a square."""
    return board.piece_type_at(square) != chess.PAWN or _is_free(board, square)


_Kinds = Sequence[chess.PieceType]
# What each term counts: pieces of these kinds, attacked by those, of which this is so.
_COUNTED: dict[str, tuple[_Kinds, _Kinds, Callable[[chess.Board, chess.Square], bool]]] = {
    f"{chess.piece_name(kind).capitalize()}Threat": (_ALL, (kind,), holds)
    for holds, kinds in (
        (_is_target, (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK)),
        (_is_free, (chess.QUEEN, chess.KING)),
    )
    for kind in kinds
}
_COUNTED["Hanging"] = (_PIECES, chess.PIECE_TYPES, _is_free)


def threatened(name: str, pieces: Sequence[PieceValue], side: int) -> list[str] | None:
    """The squares of the pieces that a term counts for a side, the most valuable first; None for another term."""
    if name not in _COUNTED:
        return None
    kinds, by, holds = _COUNTED[name]
    board = chess.Board(None)
    for piece in pieces:
        board.set_piece_at(piece.square, chess.Piece.from_symbol(piece.letter))
    own = side == WHITE
    found = [
        square
        for kind in kinds
        for square in board.pieces(kind, not own)
        if any(board.piece_type_at(each) in by for each in board.attackers(own, square)) and holds(board, square)
    ]
    return [SQUARE_NAMES[square] for square in found]
