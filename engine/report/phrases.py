"""What the terms are called in sentences."""

from __future__ import annotations

import re
from functools import cache

from merino.inner.eval.linear.registry import Group, Term
from merino.inner.eval.linear.sets import names_of_sets, set_named

_PHRASES = {
    "PawnDoubled": "doubled pawns",
    "PawnIsolated": "isolated pawns",
    "PawnBackwards": "backward pawns",
    "PawnCenter": "pawns in or near the centre",
    "PawnPassedFreeMax": "free passed pawn",
    "PawnPassedBlockedMax": "blocked passed pawn",
    "PawnPassedKingDist": "passed pawn far from the enemy king",
    "PawnPassedSquare": "passed pawn that the enemy king cannot catch",
    "KnightCenter": "central knights",
    "KnightOutpost": "knight outpost",
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
    "PawnAdvance": "advanced pawns",
    "PawnFile": "pawns on central files",
    "PassedFree": "passed pawn that can step ahead",
    "PassedSafe": "passed pawn with a safe square ahead",
    "PassedPath": "passed pawn whose way is free",
    "PassedConnected": "connected passed pawns",
    "PassedEnemyKing": "passed pawn far from the enemy king",
    "PassedOwnKing": "passed pawn far from its own king",
    "PassedRook": "passed pawn with a rook behind it",
    "PassedSquare": "passed pawn that the enemy king cannot catch",
    "KnightRank": "advanced knights",
    "KnightReach": "outposts that a knight reaches",
    "BishopRank": "advanced bishops",
    "BishopOutpost": "bishop outpost",
    "MinorBehindPawn": "pieces right behind pawns",
    "MinorFromKing": "pieces far from their king",
    "RookRank": "advanced rooks",
    "RookHalfOpen": "rook on a half-open file",
    "RookTrapped": "rook with few squares",
    "QueenCenter": "central queen",
    "QueenRank": "advanced queen",
    "ThreatByPawn": "pieces attacked by pawns",
    "ThreatByPush": "pieces that a pawn could attack",
    "ThreatByMinor": "rook or queen attacked by a minor piece",
    "ThreatOnMinor": "minor pieces under attack",
    "ThreatByRook": "queen attacked by a rook",
    "ThreatByKing": "pieces attacked by the king",
    "Hanging": "attacked pieces that nobody guards",
    "WeakPawns": "pawns under attack that no pawn guards",
    "Contested": "squares that both sides attack",
    "Controlled": "squares under control",
    "Space": "space in the centre",
    "Tempo": "the right to move",
    "KingRing": "attacks on squares beside the king",
    "KingRingWeak": "weak squares beside the king",
    "KingAttack": "attack on the king",
    "QueenTropism": "queen near the enemy king",
    "KingShelter": "pawns before the king",
    "KingOpenFiles": "open files at the king",
    "KingStorm": "enemy pawns near the king",
    "KingFlank": "king on a wing without pawns",
    "KingRank": "advanced king",
    "KingCenter": "central king",
}
# A count below zero means the opposite.
_OPPOSITES = {
    "KnightCenter": "knights far from the centre",
    "KnightMobility": "immobile knights",
    "BishopCenter": "bishops far from the centre",
    "BishopMobility": "immobile bishops",
    "RookMobility": "immobile rooks",
    "KingCenterEnd": "king far from the centre",
}
_COUNTED_BELOW_ZERO = {"KingPawnShield"}  # what its phrase says is counted so, and its weight is above zero
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def phrase(name: str, count: float = 1.0) -> str:
    """What a term is called in a sentence where a side has this count of it.

    One without a phrase of its own is called by the words of its name.
    """
    own = _PHRASES.get(name) or " ".join(_WORD.findall(name)).lower()
    return _OPPOSITES.get(name, own) if count < 0 else own


def change_phrase(name: str, cp: float) -> str:
    """What a change of a term is called where it is worth so much to its side.

    What counts against a side may count less, be it that there is less of it or that it matters less now.
    """
    is_fault = _term(name).sign < 0 or name in _COUNTED_BELOW_ZERO
    return f"less lost by {phrase(name)}" if cp > 0 and is_fault else phrase(name)


def is_usual(name: str, weight: float) -> bool:
    """Whether a weight of a term has the sign that chess players expect; a sentence with another one would mislead."""
    return weight * _term(name).sign > 0


def group_of(name: str) -> Group:
    """The group of a term; raises KeyError for the name of none."""
    return _term(name).group


def is_material(name: str) -> bool:
    """Whether a term is the value of a kind of piece."""
    return group_of(name) is Group.MATERIAL


@cache
def _term(name: str) -> Term:
    """The term of this name, in whichever set; raises KeyError."""
    for each in names_of_sets():
        for term in set_named(each):
            if term.name == name:
                return term
    raise KeyError(name)
