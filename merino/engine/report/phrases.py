"""What the terms are called in sentences."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import chess

from merino.eval.linear.registry import Group, Term, TermTable
from merino.eval.linear.sets import SETS, names_of_sets, set_named

_PHRASES = {
    "VAL_P": "pawns",
    "VAL_N": "knights",
    "VAL_B": "bishops",
    "VAL_R": "rooks",
    "VAL_Q": "queens",
    "PawnDoubled": "doubled pawns",
    "PawnIsolated": "isolated pawns",
    "PawnBackwards": "pawns left behind",
    "PawnCenter": "pawns in or near the centre",
    "PawnPassedFreeMax": "free passed pawn",
    "PawnPassedBlockedMax": "blocked passed pawn",
    "PawnPassedKingDist": "passed pawn far from the enemy king",
    "PawnPassedSquare": "passed pawn that the enemy king cannot catch",
    "KnightCenter": "central knights",
    "KnightOutpost": "advanced knight guarded by a pawn",
    "KnightMobility": "knight mobility",
    "BishopPairMidgame": "bishop pair",
    "BishopPairEndgame": "bishop pair",
    "BishopCenter": "central bishops",
    "BishopMobility": "bishop mobility",
    "Rook7th": "rook on the seventh rank",
    "RookOpen": "rook on a file without own pawns",
    "RookMobility": "rook mobility",
    "QueenKingTropism": "queen near the enemy king",
    "KingCenterMid": "misplaced king",
    "KingCenterEnd": "central king",
    "KingPawnShield": "gaps before the king",
    # Terms of the set full only.
    "PawnIsolatedOpen": "isolated pawns on half-open files",
    "PawnBackward": "backward pawns",
    "PawnPhalanx": "pawns side by side",
    "PawnSupported": "guarded pawns",
    "PawnIslands": "pawn islands",
    "PawnCandidate": "candidate passed pawns",
    "PassedFree": "passed pawn that can step ahead",
    "PassedSafe": "passed pawn with a safe square ahead",
    "PassedPath": "passed pawn whose way is free",
    "PassedConnected": "connected passed pawns",
    "PassedRook": "passed pawn with a rook behind it",
    "PassedSquare": "passed pawn that the enemy king cannot catch",
    "KnightReach": "outposts that a knight reaches",
    "BishopOutpost": "bishop outpost",
    "MinorBehindPawn": "pieces right behind pawns",
    "RookHalfOpen": "rook on a half-open file",
    "ThreatByPush": "pieces that a pawn could attack",
    "Hanging": "attacked pieces that nobody guards",
    "Contested": "squares that both sides attack",
    "Controlled": "squares under control",
    "Space": "space in the centre",
    "Tempo": "the right to move",
    "KingRing": "attacks on squares beside the king",
    "KingRingWeak": "weak squares beside the king",
    "KingAttack": "attack on the king",
    "QueenTropism": "queen near the enemy king",
    "KingFlank": "king on a wing without pawns",
    # Tables: where they come to less than zero, the opposite.
    "PassedEnemyKing": "passed pawn that the enemy king is far from",
    "PassedOwnKing": "passed pawn with its king near",
    "QueenMobility": "queen mobility",
    "PawnSquare": "well-placed pawns",
    "KnightSquare": "well-placed knights",
    "BishopSquare": "well-placed bishops",
    "RookSquare": "well-placed rooks",
    "QueenSquare": "well-placed queen",
    "KingSquare": "well-placed king",
    "PawnFromKing": "pawns well placed for their king",
    "KnightFromKing": "knights near their king",
    "BishopFromKing": "bishops near their king",
    "RookFromKing": "rooks well placed for their king",
    "QueenFromKing": "queen near her king",
    "PawnThreat": "attacks by pawns",
    "KnightThreat": "attacks by knights",
    "BishopThreat": "attacks by bishops",
    "RookThreat": "attacks by rooks",
    "QueenThreat": "attacks by the queen",
    "KingThreat": "attacks by the king",
    "KingShelter": "pawns before the king",
    "KingStorm": "enemy pawns held off from the king",
}
# A count below zero means the opposite.
_OPPOSITES = {
    "KnightCenter": "knights far from the centre",
    "KnightMobility": "immobile knights",
    "BishopCenter": "bishops far from the centre",
    "BishopMobility": "immobile bishops",
    "RookMobility": "immobile rooks",
    "KingCenterEnd": "king far from the centre",
    "QueenMobility": "immobile queen",
    "PassedEnemyKing": "passed pawn that the enemy king is near",
    "PassedOwnKing": "passed pawn far from its own king",
    "PawnSquare": "badly placed pawns",
    "KnightSquare": "badly placed knights",
    "BishopSquare": "badly placed bishops",
    "RookSquare": "badly placed rooks",
    "QueenSquare": "badly placed queen",
    "KingSquare": "badly placed king",
    "PawnFromKing": "pawns badly placed for their king",
    "KnightFromKing": "knights far from their king",
    "BishopFromKing": "bishops far from their king",
    "RookFromKing": "rooks badly placed for their king",
    "QueenFromKing": "queen far from her king",
    "KingShelter": "gaps before the king",
    "KingStorm": "enemy pawns near the king",
}
_MANY = ("pawn", "knight", "bishop", "rook")  # kinds of pieces of which a side usually has several
# The same of one piece and of several, where they differ.
_NUMBERS = (
    ("isolated pawn", "isolated pawns"),
    ("pawn left behind", "pawns left behind"),
    ("backward pawn", "backward pawns"),
    ("pawn in or near the centre", "pawns in or near the centre"),
    ("free passed pawn", "free passed pawns"),
    ("blocked passed pawn", "blocked passed pawns"),
    ("passed pawn far from the enemy king", "passed pawns far from the enemy king"),
    ("passed pawn that the enemy king cannot catch", "passed pawns that the enemy king cannot catch"),
    ("central knight", "central knights"),
    ("knight far from the centre", "knights far from the centre"),
    ("immobile knight", "immobile knights"),
    ("advanced knight guarded by a pawn", "advanced knights guarded by pawns"),
    ("central bishop", "central bishops"),
    ("bishop far from the centre", "bishops far from the centre"),
    ("immobile bishop", "immobile bishops"),
    ("rook on the seventh rank", "rooks on the seventh rank"),
    ("rook on a file without own pawns", "rooks on files without own pawns"),
    ("immobile rook", "immobile rooks"),
    ("isolated pawn on a half-open file", "isolated pawns on half-open files"),
    ("guarded pawn", "guarded pawns"),
    ("candidate passed pawn", "candidate passed pawns"),
    ("passed pawn that can step ahead", "passed pawns that can step ahead"),
    ("passed pawn with a safe square ahead", "passed pawns with a safe square ahead"),
    ("passed pawn whose way is free", "passed pawns whose way is free"),
    ("passed pawn with a rook behind it", "passed pawns with a rook behind them"),
    ("bishop outpost", "bishop outposts"),
    ("piece right behind a pawn", "pieces right behind pawns"),
    ("rook on a half-open file", "rooks on half-open files"),
    ("passed pawn", "passed pawns"),
    ("attacked piece that nobody guards", "attacked pieces that nobody guards"),
    ("passed pawn that the enemy king is far from", "passed pawns that the enemy king is far from"),
    ("passed pawn that the enemy king is near", "passed pawns that the enemy king is near"),
    ("passed pawn with its king near", "passed pawns with their king near"),
    ("passed pawn far from its own king", "passed pawns far from their own king"),
    *((f"{how} {kind}", f"{how} {kind}s") for how in ("well-placed", "badly placed") for kind in _MANY),
    *(
        (f"{kind} {where} its king", f"{kind}s {where} their king")
        for kinds, places in (
            (("knight", "bishop"), ("near", "far from")),
            (("pawn", "rook"), ("well placed for", "badly placed for")),
        )
        for where in places
        for kind in kinds
    ),
    *((f"attack by a {kind}", f"attacks by {kind}s") for kind in _MANY),
    *((f"attack by the {kind}", f"attacks by the {kind}") for kind in ("queen", "king")),
)
_OF_ONE = {many: one for one, many in _NUMBERS}
_OF_SEVERAL = dict(_NUMBERS)
_AT_OWN_KING = ("KingPawnShield", "KingShelter", "KingStorm")  # what these count is at the own king
_COUNTS = {1: "a", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
_COUNTED_BELOW_ZERO = {"KingPawnShield"}  # what its phrase says is counted so, and its weight is above zero
_BY_SQUARE, _BY_DISTANCE = "Square", "FromKing"  # how the names of tables end that ask where a piece stands
_LESS_LOST = "less lost by"
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def phrase(name: str, count: float = 1.0, pieces: int = 0, owner: str = "") -> str:
    """What a term is called in a sentence where a side has this count of it.

    With the number of `pieces` that bring it, 0 where that is not known, it is called so of one or of several. An
    `owner` such as "Black" is named: "Black's isolated pawn". A term without a phrase of its own is called by the words
    of its name.
    """
    said = _PHRASES.get(name) or " ".join(_WORD.findall(name)).lower()
    if count < 0:
        said = _OPPOSITES.get(name, said)
    if pieces:
        said = (_OF_ONE if pieces == 1 else _OF_SEVERAL).get(said, said)
    if not owner:
        return said
    return said.replace("the king", f"{owner}'s king") if name in _AT_OWN_KING else f"{owner}'s {said}"


def phrases_of(name: str) -> tuple[str, ...]:
    """All that sentences may call a term, apart from whose it is in front."""
    counted = [phrase(name, count, pieces) for count in (1.0, -1.0) for pieces in (0, 1, 2)]
    kings = [phrase(name, owner=owner) for owner in ("White", "Black")] if name in _AT_OWN_KING else []
    return tuple(dict.fromkeys([*counted, *kings]))


def listed(kinds: Counter[chess.PieceType]) -> str:
    """Pieces in words, the most valuable first: "a rook, a knight and two pawns"."""
    names = [
        f"{_COUNTS.get(count, str(count))} {chess.piece_name(kind)}{'s' * (count > 1)}"
        for kind, count in sorted(kinds.items(), reverse=True)
    ]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def change_phrase(name: str, cp: float) -> str:
    """What a change of a term is called that is worth so much to a piece: of a table, what it asks of the piece.

    What counts against a side may count less, be it that there is less of it or that it matters less now.
    """
    if isinstance(_term(name), TermTable):
        asked = {_BY_SQUARE: "its square", _BY_DISTANCE: "its distance from the king"}
        return next((said for ending, said in asked.items() if name.endswith(ending)), phrase(name))
    return f"{_LESS_LOST} {phrase(name)}" if cp > 0 and counts_against(name) else phrase(name)


def net_phrase(name: str) -> str:
    """What the difference of both sides in a term is called, whoever is ahead: "squares of knights"."""
    kind = name.removesuffix(_BY_SQUARE).removesuffix(_BY_DISTANCE)
    if kind == name or not isinstance(_term(name), TermTable):
        return phrase(name)
    pieces = f"{kind.lower()}s" if kind.lower() in _MANY else f"the {kind.lower()}"
    return f"squares of {pieces}" if name.endswith(_BY_SQUARE) else f"distance of {pieces} from the king"


def cause(name: str, cp: float) -> str:
    """A term as what makes a change of `cp` centipawns: " by rook mobility", ", with less lost by isolated pawns"."""
    said = change_phrase(name, cp)
    return f", with {said}" if said.startswith(_LESS_LOST) else f" by {said}"


def counts_against(name: str) -> bool:
    """Whether what the phrase of a term says counts against its side."""
    return _sign(name) < 0 or name in _COUNTED_BELOW_ZERO


def is_usual(name: str, weight: float) -> bool:
    """Whether a weight of a term has the sign that chess players expect; a sentence with another one would mislead."""
    return isinstance(_term(name), TermTable) or weight * _sign(name) > 0


def group_of(name: str) -> Group:
    """The group of a term; raises KeyError for the name of none."""
    return _term(name).group


def is_material(name: str) -> bool:
    """Whether a term is the value of a kind of piece."""
    return group_of(name) is Group.MATERIAL


def _sign(name: str) -> int:
    """The expected sign of the weight of a term; 0 for a table, whose cells may have either."""
    found = _term(name)
    return 0 if isinstance(found, TermTable) else found.sign


@cache
def _term(name: str) -> Term | TermTable:
    """The term or table of this name, in whichever set, first the user's own; raises KeyError."""
    for each in sorted(names_of_sets(), key=SETS.__contains__):
        for term, _ in set_named(each).to_read():
            if term.name == name:
                return term
    raise KeyError(name)
