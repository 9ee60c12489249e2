"""Moves in other forms than letters and squares: figurines, words, and the descriptive notation of old books."""

from __future__ import annotations

import re

from merino.inner.core.board.bitboard import BLACK

PIECES = {"king": "K", "queen": "Q", "rook": "R", "bishop": "B", "knight": "N", "pawn": ""}
_FIGURINES = str.maketrans("♔♕♖♗♘♙♚♛♜♝♞♟", "KQRBNPKQRBNP")
_WORDS = re.compile(
    rf"(?P<piece>{'|'.join(PIECES)})(?: (?:from )?(?P<origin>[a-h][1-8]?))?(?: (?P<how>to|takes|captures|x))? "
    r"(?:on )?(?P<to>[a-h][1-8])"
)
_CASTLE = re.compile(r"castles?(?: (?P<side>king ?side|short|queen ?side|long))?")
_DESCRIPTIVE = re.compile(
    r"(?P<piece>P|N|Kt|B|R|Q|K)(?:-(?P<wing>[QK])?(?P<file>R|N|Kt|B|Q|K)(?P<rank>[1-8])|x(?:P|N|Kt|B|R|Q|K))",
    re.IGNORECASE,
)
_FILES = {"QR": "a", "QN": "b", "QB": "c", "Q": "d", "K": "e", "KB": "f", "KN": "g", "KR": "h"}
CASTLE_HOW = "say O-O to castle on the king's side, O-O-O on the queen's side"


def in_letters(text: str) -> str:
    """A move in figurines or words as in short notation: "♘f3" and "knight to f3" are "Nf3"; others as they are."""
    text = text.translate(_FIGURINES)
    words = " ".join(text.lower().split())
    castle = _CASTLE.fullmatch(words)
    if castle and castle["side"]:
        return "O-O" if castle["side"][0] in "ks" else "O-O-O"
    found = _WORDS.fullmatch(words)
    if found is None:
        return text
    takes = "x" if found["how"] in ("takes", "captures", "x") else ""
    return f"{PIECES[found['piece']]}{found['origin'] or ''}{takes}{found['to']}"


def is_castle(text: str) -> bool:
    """Whether a text is the word `castle` without the side."""
    found = _CASTLE.fullmatch(" ".join(text.lower().split()))
    return found is not None and not found["side"]


def of_descriptive(text: str, turn: int) -> list[str] | None:
    """What a move in descriptive notation may mean for the side to move: "N-KB3" is ["Nf3"]; empty for "PxP".

    None if the text is none.
    """
    found = _DESCRIPTIVE.fullmatch(text)
    if found is None or (found["rank"] is None and "x" not in text.lower()):
        return None
    if found["rank"] is None:
        return []
    piece, file = (_one_letter(found[name]) for name in ("piece", "file"))
    rank = 9 - int(found["rank"]) if turn == BLACK else int(found["rank"])
    wings = [found["wing"].upper()] if found["wing"] else ["Q", "K"]
    names = [file] if file in "QK" else [wing + file for wing in wings]
    letter = "" if piece == "P" else piece
    return [f"{letter}{_FILES[name]}{rank}" for name in names]


def _one_letter(piece: str) -> str:
    """The letter of a piece; old books write a knight as Kt."""
    return "N" if piece.upper() in ("N", "KT") else piece.upper()
