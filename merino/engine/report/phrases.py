"""What the terms are called, and an evaluation or its change in a few English sentences.

The sentences say no more than the table of terms. They name the largest terms for each side, with the squares of the
pieces that bring them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import chess

from merino.core.board import fen
from merino.core.board.bitboard import BLACK, PIECE_LETTERS, SQUARE_NAMES, WHITE
from merino.core.common.text import rounded
from merino.engine.report.schema import ChangeReport
from merino.eval.explanation import Explanation, PieceValue, PieceValues, TermLine
from merino.eval.linear import registry, sets

# What each term is called, and its opposite where a count below zero means that. Of several pieces `~` is an s, and of
# `[one|several]` that is said which fits.
_PHRASES = {
    "VAL_P": "pawns",
    "VAL_N": "knights",
    "VAL_B": "bishops",
    "VAL_R": "rooks",
    "VAL_Q": "queens",
    "PawnDoubled": "doubled pawns",
    "PawnIsolated": "isolated pawn~",
    "PawnBackwards": "pawn~ left behind",
    "PawnCenter": "pawn~ in or near the centre",
    "PawnPassedFreeMax": "free passed pawn~",
    "PawnPassedBlockedMax": "blocked passed pawn~",
    "PawnPassedKingDist": "passed pawn~ far from the enemy king",
    "PawnPassedSquare": "passed pawn~ that the enemy king cannot catch",
    "KnightOutpost": "advanced knight~ guarded by [a pawn|pawns]",
    "BishopPairMidgame": "bishop pair",
    "BishopPairEndgame": "bishop pair",
    "Rook7th": "rook~ on the seventh rank",
    "RookOpen": "rook~ on [a file|files] without friendly pawns",
    "QueenKingTropism": "queen near the enemy king",
    "KingCenterMid": "misplaced king",
    "KingCenterEnd": "central king",
    "KingPawnShield": "gaps before the king",
    # Terms of the set full only.
    "PawnIsolatedOpen": "isolated pawn~ on [a half-open file|half-open files]",
    "PawnBackward": "backward pawn~",
    "PawnPhalanx": "pawns side by side",
    "PawnSupported": "guarded pawn~",
    "PawnIslands": "pawn islands",
    "PawnCandidate": "candidate passed pawn~",
    "PassedFree": "passed pawn~ that can step ahead",
    "PassedSafe": "passed pawn~ with a safe square ahead",
    "PassedPath": "passed pawn~ whose way is free",
    "PassedConnected": "connected passed pawns",
    "PassedRook": "passed pawn~ with a rook behind [it|them]",
    "PassedSquare": "passed pawn~ that the enemy king cannot catch",
    "KnightReach": "outposts that a knight reaches",
    "BishopOutpost": "bishop outpost~",
    "MinorBehindPawn": "piece~ right behind [a pawn|pawns]",
    "RookHalfOpen": "rook~ on [a half-open file|half-open files]",
    "ThreatByPush": "pieces that a pawn could attack",
    "Hanging": "attacked piece~ that nobody guards",
    "Contested": "squares that both sides attack",
    "Controlled": "squares under control",
    "Space": "space in the centre",
    "Tempo": "the right to move",
    "KingRing": "attacks on squares next to the king",
    "KingRingWeak": "weak squares next to the king",
    "KingAttack": "attack on the king",
    "QueenTropism": "queen near the enemy king",
    "KingFlank": "king on a wing without pawns",
    "PassedEnemyKing": "passed pawn~ that the enemy king is far from",
    "PassedOwnKing": "passed pawn~ with [its|their] king near",
    "PawnFromKing": "pawn~ well placed for [its|their] king",
    "KnightFromKing": "knight~ near [its|their] king",
    "BishopFromKing": "bishop~ near [its|their] king",
    "RookFromKing": "rook~ well placed for [its|their] king",
    "QueenFromKing": "queen near her king",
    "KingShelter": "pawns before the king",
    "KingStorm": "enemy pawns held off from the king",
}
_OPPOSITES = {
    "KingCenterEnd": "king far from the centre",
    "PassedEnemyKing": "passed pawn~ that the enemy king is near",
    "PassedOwnKing": "passed pawn~ far from [its|their] own king",
    "PawnFromKing": "pawn~ badly placed for [its|their] king",
    "KnightFromKing": "knight~ far from [its|their] king",
    "BishopFromKing": "bishop~ far from [its|their] king",
    "RookFromKing": "rook~ badly placed for [its|their] king",
    "QueenFromKing": "queen far from her king",
    "KingShelter": "gaps before the king",
    "KingStorm": "enemy pawns near the king",
}
_MANY = ("pawn", "knight", "bishop", "rook")  # kinds of pieces of which a side usually has several
for _kind in (*_MANY, "queen", "king"):
    _name, _several = _kind.capitalize(), f"{_kind}~" if _kind in _MANY else _kind
    _PHRASES[f"{_name}Square"], _OPPOSITES[f"{_name}Square"] = f"well-placed {_several}", f"badly placed {_several}"
    _PHRASES[f"{_name}Threat"] = f"attack~ by [a {_kind}|{_kind}s]" if _kind in _MANY else f"attack~ by the {_kind}"
    if _kind in ("knight", "bishop"):
        _PHRASES[f"{_name}Center"], _OPPOSITES[f"{_name}Center"] = f"central {_kind}~", f"{_kind}~ far from the centre"
    if _kind not in ("pawn", "king"):
        _PHRASES[f"{_name}Mobility"], _OPPOSITES[f"{_name}Mobility"] = f"{_kind} mobility", f"immobile {_several}"
_NUMBER = re.compile(r"\[(.*?)\|(.*?)\]")
_AT_OWN_KING = ("KingPawnShield", "KingShelter", "KingStorm")  # what these count is at the own king
_COUNTS = ("no", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTED_BELOW_ZERO = "KingPawnShield"  # what its phrase says is counted so, and its weight is above zero
_BY_SQUARE, _BY_DISTANCE = "Square", "FromKing"  # how the names of tables end that ask where a piece stands
_LESS_LOST = "less lost by"
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def phrase(name: str, count: float = 1.0, pieces: int = 0, owner: str = "") -> str:
    """What a term is called in a sentence where a side has this count of it, of one piece or of several.

    An `owner` such as "Black" is named: "Black's isolated pawn". A term without a phrase of its own is called by the
    words of its name.
    """
    said = _PHRASES.get(name) or " ".join(_WORD.findall(name)).lower()
    if count < 0:
        said = _OPPOSITES.get(name, said)
    said = _NUMBER.sub(lambda found: found[1 if pieces == 1 else 2], said).replace("~", "" if pieces == 1 else "s")
    if not owner:
        return said
    return said.replace("the king", f"{owner}'s king") if name in _AT_OWN_KING else f"{owner}'s {said}"


def phrases_of(name: str) -> tuple[str, ...]:
    """All that sentences may call a term, apart from whose it is in front."""
    counted = [phrase(name, count, pieces) for count in (1.0, -1.0) for pieces in (1, 2)]
    kings = [phrase(name, owner=owner) for owner in fen.COLOUR_NAMES] if name in _AT_OWN_KING else []
    return tuple(dict.fromkeys([*counted, *kings]))


def listed(kinds: Counter[chess.PieceType]) -> str:
    """Pieces in words, the most valuable first: "a rook, a knight and two pawns"."""
    names = [
        f"{_COUNTS[count] if count < len(_COUNTS) else count} {chess.piece_name(kind)}{'s' * (count > 1)}"
        for kind, count in sorted(kinds.items(), reverse=True)
    ]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def change_phrase(name: str, cp: float) -> str:
    """What a change of a term is called that is worth so much to a piece: of a table, what it asks of the piece.

    What counts against a side may count less, be it that there is less of it or that it matters less now.
    """
    if isinstance(_term(name), registry.TermTable):
        asked = {_BY_SQUARE: "its square", _BY_DISTANCE: "its distance from the king"}
        return next((said for ending, said in asked.items() if name.endswith(ending)), phrase(name))
    return f"{_LESS_LOST} {phrase(name)}" if cp > 0 and counts_against(name) else phrase(name)


def net_phrase(name: str) -> str:
    """What the difference of both sides in a term is called, whoever is ahead: "squares of knights"."""
    kind = name.removesuffix(_BY_SQUARE).removesuffix(_BY_DISTANCE)
    if kind == name or not isinstance(_term(name), registry.TermTable):
        return phrase(name)
    pieces = f"{kind.lower()}s" if kind.lower() in _MANY else f"the {kind.lower()}"
    return f"squares of {pieces}" if name.endswith(_BY_SQUARE) else f"distance of {pieces} from the king"


def cause(name: str, cp: float) -> str:
    """A term as what makes a change of `cp` centipawns: " by rook mobility", ", with less lost by isolated pawns"."""
    said = change_phrase(name, cp)
    return f", with {said}" if said.startswith(_LESS_LOST) else f" by {said}"


def counts_against(name: str) -> bool:
    """Whether what the phrase of a term says counts against its side."""
    return _sign(name) < 0 or name == _COUNTED_BELOW_ZERO


def is_usual(name: str, weight: float) -> bool:
    """Whether a weight of a term has the sign that chess players expect; a sentence with another one would mislead."""
    return isinstance(_term(name), registry.TermTable) or weight * _sign(name) > 0


def group_of(name: str) -> registry.Group:
    """The group of a term; raises KeyError for the name of none."""
    return _term(name).group


def is_material(name: str) -> bool:
    """Whether a term is the value of a kind of piece."""
    return group_of(name) is registry.Group.MATERIAL


def _sign(name: str) -> int:
    """The expected sign of the weight of a term; 0 for a table, whose cells may have either."""
    found = _term(name)
    return 0 if isinstance(found, registry.TermTable) else found.sign


@cache
def _term(name: str) -> registry.Term | registry.TermTable:
    """The term or table of this name, in whichever set, first the user's own; raises KeyError."""
    for each in sorted(sets.names_of_sets(), key=sets.SETS.__contains__):
        for term, _ in sets.set_named(each).to_read():
            if term.name == name:
                return term
    raise KeyError(name)


# Sentences on an evaluation

MIN_AHEAD = 3  # centipawns; less is no lead
NOT_AHEAD = "Neither side is ahead."
MIN_VALUE = 0.5  # centipawns; less is no material
MIN_CHANGE = 1.0  # centipawns; smaller changes are not mentioned
MIN_STATED = 3.0  # centipawns; smaller parts are not put into words
MAX_NAMED_TERMS = 3  # of a side
MAX_NAMED_IN_GROUP = 2  # terms of a group
MANY_TERMS = 40  # of a set: with more, groups are named first
NAMED_SQUARES = 2  # of a term
# The pieces that a term is about, by how its name begins: others may bring it, as a pawn that guards an outpost does.
_OF_SQUARES = ("Threat", "Hanging", "PawnIslands", "Safe", "Contested", "Controlled", "Space", "Tempo")
_ABOUT = dict.fromkeys((*_OF_SQUARES, "KingRing"), "")  # no piece is named, but for those under a threat
_ABOUT |= {"Pawn": "P", "Passed": "P", "Knight": "N", "Bishop": "B", "Minor": "NB", "Rook": "R", "Queen": "Q"}
_BACKWARD = "PawnBackward"  # how the names of backward pawns begin


def summarise(values: PieceValues) -> tuple[str, ...]:
    """Sentences: who is ahead, and by which terms of which pieces; without values of pieces the terms alone."""
    explanation = values.explanation
    score = explanation.score_white
    leader = BLACK if score < 0 else WHITE
    expected = explanation.expected_score if leader == WHITE else 1 - explanation.expected_score
    ahead = f"{fen.COLOUR_NAMES[leader]} is ahead by {abs(score) / 100:.2f} pawns"
    sentences = [f"{ahead} and may expect {expected:.0%} of the points." if abs(score) >= MIN_AHEAD else NOT_AHEAD]
    if explanation.without_terms:
        return (*sentences, f"{explanation.without_terms}.", *_rule_sentence(explanation))
    if abs(explanation.group_net(registry.Group.MATERIAL)) < MIN_VALUE:
        sentences.append(f"{registry.Group.MATERIAL.title} is level.")
    if said := largest_for_each_side(values):
        sentences.append(said)
    return (*sentences, *_rule_sentence(explanation))


def ending_sentence(ending: str, winner: int | None) -> str:
    """How a game has ended, in place of what its last position would be worth."""
    return f"The game is drawn: {ending}." if winner is None else f"{fen.COLOUR_NAMES[winner]} has won by {ending}."


def _rule_sentence(explanation: Explanation) -> Iterable[str]:
    if explanation.rule:
        change = rounded(explanation.rule_cp, "+", 0)
        yield f"A draw rule changes the sum by {change} centipawns: {explanation.rule}."


def summarise_change(change: ChangeReport, what: str, colour: int) -> tuple[str, ...]:
    """Sentences on how much `what`, such as "Nf3", gains or costs the side `colour`, and by which terms."""
    sign = -1 if colour == BLACK else 1
    total = sign * change.change_cp
    if total:
        sentences = [f"{what} {'gains' if total > 0 else 'costs'} {fen.COLOUR_NAMES[colour]} {abs(total) / 100:.2f}."]
    else:
        sentences = [f"{what} leaves the score as it is."]
    terms = [(net_phrase(term.name), sign * term.change_cp) for term in change.terms if not is_material(term.name)]
    material = sign * math.fsum(term.change_cp for term in change.terms if is_material(term.name))
    for side, side_sign in ((colour, 1), (1 - colour, -1)):
        if said := _largest([(registry.Group.MATERIAL.title.lower(), material), *terms], side_sign, MIN_CHANGE):
            sentences.append(f"In {fen.COLOUR_NAMES[side]}'s favour: {said}.")
    return tuple(sentences)


def largest_for_each_side(values: PieceValues) -> str:
    """The largest terms: "In White's favour: material (a pawn) 1.00, rook mobility (e1) 0.20. In Black's favour: ...".

    Material comes as one. Of a set of many terms it is the groups, each with the terms that make most of it: "king
    safety (pawns before the king: g2, f2; safe rook check) 0.41". Empty where nothing is large enough.
    """
    explanation = values.explanation
    parts_of = _groups if len(explanation.lines) > MANY_TERMS else _terms
    material = explanation.group_net(registry.Group.MATERIAL)
    return " ".join(
        f"In {side}'s favour: {text}."
        for colour, side in enumerate(fen.COLOUR_NAMES)
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


def _largest(parts: Sequence[tuple[str, float]], sign: int, least: float = MIN_STATED) -> str:
    chosen = sorted((part for part in parts if sign * part[1] >= least), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {abs(cp) / 100:.2f}" for name, cp in chosen[:MAX_NAMED_TERMS])


def _terms(values: PieceValues, colour: int) -> Iterator[tuple[str, float]]:
    """The terms other than material that are good for a side: "Black's isolated pawns (d5)", and their centipawns."""
    for name, squares, cp in _named(values.explanation.lines, values, colour):
        yield f"{name} ({squares})" if squares else name, cp


def _groups(values: PieceValues, colour: int) -> Iterator[tuple[str, float]]:
    """The groups other than material that are good for a side, each with the terms that make most of it."""
    explanation, sign = values.explanation, 1 if colour == WHITE else -1
    for group in registry.Group:
        net = explanation.group_net(group)
        if group is registry.Group.MATERIAL or sign * net < MIN_STATED:
            continue
        lines = [line for line in explanation.lines if line.group is group]
        named = sorted(_named(lines, values, colour), key=lambda part: -abs(part[2]))
        large = [part for part in named[:MAX_NAMED_IN_GROUP] if abs(part[2]) >= MIN_STATED]
        named_terms = [f"{name}: {squares}" if squares else name for name, squares, _ in large]
        yield group.title.lower() + (f" ({'; '.join(named_terms)})" if named_terms else ""), net


def _named(lines: Sequence[TermLine], values: PieceValues, colour: int) -> Iterator[tuple[str, str, float]]:
    """The terms of these, but material, that are good for a side, each with the squares of what brings most of it.

    Those whose weight has an unusual sign are left out. A term that the other side brings says so: "Black's isolated
    pawns".
    """
    for line in lines:
        if is_material(line.name) or not is_usual(line.name, line.weight) or (line.net > 0) != (colour == WHITE):
            continue
        owner = WHITE if abs(line.white_cp) >= abs(line.black_cp) else 1 - WHITE
        whose = "" if owner == colour else fen.COLOUR_NAMES[owner]
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
    """Whether a friendly pawn stands next to a pawn or behind it, on an adjacent file: then it is not backward.

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


def threatened(name: str, pieces: Sequence[PieceValue], side: int) -> list[str] | None:
    """The squares of the pieces that a term counts for a side, the most valuable first; None for another term.

    Terms of threats count pieces that are attacked by those of a kind, and pawns that nobody guards; those of queens
    and kings, and what hangs, only what nobody guards.
    """
    by = next((kind for kind in chess.PIECE_TYPES if name == f"{chess.piece_name(kind).capitalize()}Threat"), None)
    if by is None and name != "Hanging":
        return None
    board, own = chess.Board(None), side == WHITE
    for piece in pieces:
        board.set_piece_at(piece.square, chess.Piece.from_symbol(piece.letter))
    found = []
    for kind in (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT, *((chess.PAWN,) if by else ())):
        for square in board.pieces(kind, not own):
            is_attacked = any(by in (None, board.piece_type_at(each)) for each in board.attackers(own, square))
            needs_no_guard = by in (None, chess.QUEEN, chess.KING) or kind == chess.PAWN
            if is_attacked and not (needs_no_guard and board.attackers(not own, square)):
                found.append(SQUARE_NAMES[square])
    return found
