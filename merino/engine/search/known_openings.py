"""The openings that have a name, found by moves or by positions, and the moves that players know from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from merino.core.board import bitboard, game

if TYPE_CHECKING:
    import chess

MIN_MEN = 29  # on the board in every named opening
# Code of the Encyclopaedia of Chess Openings, name, and moves.
_LINES = """
A00 Grob Attack: g4
A00 Polish Opening: b4
A00 Hungarian Opening: g3
A01 Nimzowitsch-Larsen Attack: b3
A02 Bird Opening: f4
A04 Réti Opening: Nf3
A07 King's Indian Attack: Nf3 d5 g3
A09 Réti Opening, Réti Gambit: Nf3 d5 c4
A10 English Opening: c4
A15 English Opening, Anglo-Indian Defence: c4 Nf6
A20 English Opening, King's English: c4 e5
A30 English Opening, Symmetrical Variation: c4 c5
A40 Queen's Pawn Game: d4
A40 Modern Defence: d4 g6
A43 Old Benoni Defence: d4 c5
A45 Indian Defence: d4 Nf6
A45 Trompowsky Attack: d4 Nf6 Bg5
A46 Torre Attack: d4 Nf6 Nf3 e6 Bg5
A48 London System: d4 Nf6 Nf3 g6 Bf4
A51 Budapest Defence: d4 Nf6 c4 e5
A56 Benoni Defence: d4 Nf6 c4 c5
A57 Benko Gambit: d4 Nf6 c4 c5 d5 b5
A60 Modern Benoni: d4 Nf6 c4 c5 d5 e6
A80 Dutch Defence: d4 f5
A87 Dutch Defence, Leningrad Variation: d4 f5 c4 Nf6 g3 g6 Bg2 Bg7 Nf3
B00 King's Pawn Game: e4
B00 Nimzowitsch Defence: e4 Nc6
B00 Owen Defence: e4 b6
B01 Scandinavian Defence: e4 d5
B01 Scandinavian Defence, Mieses-Kotroc Variation: e4 d5 exd5 Qxd5
B02 Alekhine Defence: e4 Nf6
B06 Modern Defence: e4 g6
B07 Pirc Defence: e4 d6 d4 Nf6 Nc3 g6
B10 Caro-Kann Defence: e4 c6
B12 Caro-Kann Defence, Advance Variation: e4 c6 d4 d5 e5
B13 Caro-Kann Defence, Exchange Variation: e4 c6 d4 d5 exd5 cxd5
B14 Caro-Kann Defence, Panov Attack: e4 c6 d4 d5 exd5 cxd5 c4
B18 Caro-Kann Defence, Classical Variation: e4 c6 d4 d5 Nc3 dxe4 Nxe4 Bf5
B20 Sicilian Defence: e4 c5
B21 Sicilian Defence, Smith-Morra Gambit: e4 c5 d4 cxd4 c3
B22 Sicilian Defence, Alapin Variation: e4 c5 c3
B23 Sicilian Defence, Closed: e4 c5 Nc3
B27 Sicilian Defence, Open lines: e4 c5 Nf3
B30 Sicilian Defence, Old Sicilian: e4 c5 Nf3 Nc6
B31 Sicilian Defence, Rossolimo Attack: e4 c5 Nf3 Nc6 Bb5
B33 Sicilian Defence, Sveshnikov Variation: e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 Nf6 Nc3 e5
B34 Sicilian Defence, Accelerated Dragon: e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 g6
B40 Sicilian Defence, French Variation: e4 c5 Nf3 e6
B41 Sicilian Defence, Kan Variation: e4 c5 Nf3 e6 d4 cxd4 Nxd4 a6
B44 Sicilian Defence, Taimanov Variation: e4 c5 Nf3 e6 d4 cxd4 Nxd4 Nc6
B51 Sicilian Defence, Moscow Variation: e4 c5 Nf3 d6 Bb5+
B56 Sicilian Defence, Classical Variation: e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 Nc6
B70 Sicilian Defence, Dragon Variation: e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 g6
B80 Sicilian Defence, Scheveningen Variation: e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 e6
B90 Sicilian Defence, Najdorf Variation: e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6
C00 French Defence: e4 e6
C01 French Defence, Exchange Variation: e4 e6 d4 d5 exd5
C02 French Defence, Advance Variation: e4 e6 d4 d5 e5
C03 French Defence, Tarrasch Variation: e4 e6 d4 d5 Nd2
C11 French Defence, Classical Variation: e4 e6 d4 d5 Nc3 Nf6
C15 French Defence, Winawer Variation: e4 e6 d4 d5 Nc3 Bb4
C20 King's Pawn Game: e4 e5
C21 Danish Gambit: e4 e5 d4 exd4 c3
C22 Centre Game: e4 e5 d4 exd4 Qxd4
C23 Bishop's Opening: e4 e5 Bc4
C25 Vienna Game: e4 e5 Nc3
C30 King's Gambit: e4 e5 f4
C31 King's Gambit Declined, Falkbeer Countergambit: e4 e5 f4 d5
C33 King's Gambit Accepted: e4 e5 f4 exf4
C40 Latvian Gambit: e4 e5 Nf3 f5
C41 Philidor Defence: e4 e5 Nf3 d6
C42 Petrov's Defence: e4 e5 Nf3 Nf6
C44 King's Knight Opening: e4 e5 Nf3 Nc6
C44 Ponziani Opening: e4 e5 Nf3 Nc6 c3
C44 Scotch Gambit: e4 e5 Nf3 Nc6 d4 exd4 Bc4
C45 Scotch Game: e4 e5 Nf3 Nc6 d4 exd4 Nxd4
C46 Three Knights Opening: e4 e5 Nf3 Nc6 Nc3
C47 Four Knights Game: e4 e5 Nf3 Nc6 Nc3 Nf6
C50 Italian Game: e4 e5 Nf3 Nc6 Bc4
C50 Giuoco Piano: e4 e5 Nf3 Nc6 Bc4 Bc5
C51 Evans Gambit: e4 e5 Nf3 Nc6 Bc4 Bc5 b4
C55 Two Knights Defence: e4 e5 Nf3 Nc6 Bc4 Nf6
C57 Two Knights Defence, Fried Liver Attack: e4 e5 Nf3 Nc6 Bc4 Nf6 Ng5 d5 exd5 Nxd5 Nxf7
C60 Ruy Lopez: e4 e5 Nf3 Nc6 Bb5
C63 Ruy Lopez, Schliemann Defence: e4 e5 Nf3 Nc6 Bb5 f5
C65 Ruy Lopez, Berlin Defence: e4 e5 Nf3 Nc6 Bb5 Nf6
C68 Ruy Lopez, Exchange Variation: e4 e5 Nf3 Nc6 Bb5 a6 Bxc6
C70 Ruy Lopez, Morphy Defence: e4 e5 Nf3 Nc6 Bb5 a6
C80 Ruy Lopez, Open Variation: e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Nxe4
C84 Ruy Lopez, Closed Variation: e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7
C89 Ruy Lopez, Marshall Attack: e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7 Re1 b5 Bb3 O-O c3 d5
D00 Queen's Pawn Game: d4 d5
D00 London System: d4 d5 Bf4
D00 Blackmar-Diemer Gambit: d4 d5 e4
D02 London System: d4 d5 Nf3 Nf6 Bf4
D04 Colle System: d4 d5 Nf3 Nf6 e3
D06 Queen's Gambit: d4 d5 c4
D07 Chigorin Defence: d4 d5 c4 Nc6
D08 Albin Countergambit: d4 d5 c4 e5
D10 Slav Defence: d4 d5 c4 c6
D15 Slav Defence, Three Knights Variation: d4 d5 c4 c6 Nf3 Nf6 Nc3
D20 Queen's Gambit Accepted: d4 d5 c4 dxc4
D30 Queen's Gambit Declined: d4 d5 c4 e6
D32 Tarrasch Defence: d4 d5 c4 e6 Nc3 c5
D35 Queen's Gambit Declined, Exchange Variation: d4 d5 c4 e6 Nc3 Nf6 cxd5
D37 Queen's Gambit Declined, Three Knights Variation: d4 d5 c4 e6 Nc3 Nf6 Nf3
D43 Semi-Slav Defence: d4 d5 c4 e6 Nc3 Nf6 Nf3 c6
D80 Grünfeld Defence: d4 Nf6 c4 g6 Nc3 d5
D85 Grünfeld Defence, Exchange Variation: d4 Nf6 c4 g6 Nc3 d5 cxd5 Nxd5
E00 Catalan Opening: d4 Nf6 c4 e6 g3
E12 Queen's Indian Defence: d4 Nf6 c4 e6 Nf3 b6
E11 Bogo-Indian Defence: d4 Nf6 c4 e6 Nf3 Bb4+
E20 Nimzo-Indian Defence: d4 Nf6 c4 e6 Nc3 Bb4
E32 Nimzo-Indian Defence, Classical Variation: d4 Nf6 c4 e6 Nc3 Bb4 Qc2
E40 Nimzo-Indian Defence, Rubinstein Variation: d4 Nf6 c4 e6 Nc3 Bb4 e3
E60 King's Indian Defence: d4 Nf6 c4 g6
E70 King's Indian Defence, Normal Variation: d4 Nf6 c4 g6 Nc3 Bg7 e4
E76 King's Indian Defence, Four Pawns Attack: d4 Nf6 c4 g6 Nc3 Bg7 e4 d6 f4
E80 King's Indian Defence, Sämisch Variation: d4 Nf6 c4 g6 Nc3 Bg7 e4 d6 f3
E92 King's Indian Defence, Classical Variation: d4 Nf6 c4 g6 Nc3 Bg7 e4 d6 Nf3 O-O Be2 e5
"""


@dataclass(frozen=True)
class NamedOpening:
    """An opening: its code (ECO) and its name."""

    eco: str
    name: str


def opening_lines() -> Iterator[tuple[NamedOpening, chess.Board]]:
    """Each opening with its moves played on a board."""
    import chess  # noqa: PLC0415 (a start needs no openings)

    boards: dict[tuple[str, ...], chess.Board] = {(): chess.Board()}
    for line in _LINES.strip().splitlines():
        title, moves = line.split(": ")
        played: tuple[str, ...] = ()
        for move in moves.split():
            board, played = boards[played], (*played, move)
            if played not in boards:
                boards[played] = board.copy()
                boards[played].push_san(move)
        yield NamedOpening(*title.split(" ", 1)), boards[played]


def known_moves(position: game.Position) -> Mapping[int, int]:
    """The moves that lead on to named openings, each with the number of openings; empty where none is known."""
    if sum(map(bitboard.popcount, position.record[0]["colours"])) < MIN_MEN:
        return {}  # so that a start, which tries its code on few men, need not read them
    return _known().get(position.keys[-1], {})


@cache
def _known() -> dict[int, Counter[int]]:
    """The known moves of each position by its key."""
    found: dict[int, Counter[int]] = {}
    positions: dict[tuple[chess.Move, ...], game.Position] = {(): game.Position()}
    for _, board in opening_lines():
        played: tuple[chess.Move, ...] = ()
        for move in board.move_stack:
            position, played = positions[played], (*played, move)
            if played not in positions:
                positions[played] = position.copy()
                positions[played].push_uci(move.uci())
            found.setdefault(position.keys[-1], Counter())[positions[played].moves[-1]] += 1
    return found


def opening_of(position: game.Position) -> NamedOpening | None:
    """The opening of a game, by the last of its positions that has a name; None if none has."""
    return opening_by(position.keys)


def opening_by(keys: Iterable[int]) -> NamedOpening | None:
    """The opening of a game whose positions have these Zobrist keys; None if none has a name."""
    known, found = _openings(), None
    for key in keys:
        found = known.get(key, found)
    return found


@cache
def longest_opening() -> int:
    """The plies after which no game comes to another name by the usual moves."""
    return max(len(board.move_stack) for _, board in opening_lines())


@cache
def _openings() -> dict[int, NamedOpening]:
    """Each opening by the key of its position."""
    return {_key(tuple(move.uci() for move in board.move_stack)): opening for opening, board in opening_lines()}


def _key(moves: tuple[str, ...]) -> int:
    position = game.Position()
    position.push_all(moves)
    return position.keys[-1]
