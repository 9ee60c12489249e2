"""What the terms are called in sentences."""

from __future__ import annotations

import re

from merino.inner.eval.linear.registry import TERMS, Group

_PHRASES = {
    "PawnDoubled": "doubled pawns",
    "PawnIsolated": "isolated pawns",
    "PawnBackwards": "backward pawns",
    "PawnCenter": "pawns in the centre",
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
    "KingCenterMid": "king off the first rank",
    "KingCenterEnd": "central king",
    "KingPawnShield": "gaps before the king",
}
_GROUPS = {term.name: term.group for term in TERMS}
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def phrase(name: str) -> str:
    """What a term is called in a sentence; one without a phrase of its own by the words of its name."""
    return _PHRASES.get(name) or " ".join(_WORD.findall(name)).lower()


def group_of(name: str) -> Group:
    """The group of a term; raises KeyError for the name of none."""
    return _GROUPS[name]


def is_material(name: str) -> bool:
    """Whether a term is the value of a kind of piece."""
    return group_of(name) is Group.MATERIAL
