"""The check of what Merino says, itself checked: true claims of every kind, and what becomes false by one change."""

import ast
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

from tools.truth import __main__ as program
from tools.truth.board import RefusedError, claim_of
from tools.truth.engine import Judge, doubt, headline_doubts
from tools.truth.rules import DRAWS, KINDS, PLACES, headline_of, refusal

ROOT = Path(__file__).resolve().parent.parent
ENGINE = shutil.which("stockfish") or shutil.which("/usr/games/stockfish")


def claim(kind, fen, line, pieces, text, wins="", other="", side=""):
    """A claim as the JSON has it; `pieces` as "Nd5 kg8", `wins` as "3 by 1"."""
    pawns, _, ply = wins.partition(" by ")
    return {
        "kind": kind,
        "side": side or ("white" if " w " in fen else "black"),
        "fen": fen,
        "pieces": [{"piece": each[0], "square": each[1:]} for each in pieces.split()],
        "line": line.split(),
        "other_line": other.split(),
        "wins": {"pawns": int(pawns), "ply": int(ply)} if wins else None,
        "proof": None,
        "text": text,
    }


def parts(**given):
    """What `claim` takes but for the kind."""
    return given


def made(kind, **changes):
    """The true claim of a kind with these changes."""
    return claim(kind, **{**TRUE[kind], **changes})


TRUE = {
    "mate": parts(
        fen="6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", line="a1a8", pieces="Ra1", text="Ra8 is mate"
    ),
    "takes": parts(
        fen="4k3/8/8/3n4/8/8/7P/3RK3 w - - 0 1", line="d1d5", pieces="nd5",
        text="1.Rxd5 takes the knight on d5 for nothing", wins="3 by 1"
    ),
    "wins material": parts(
        fen="6k1/6pp/5n2/3b2B1/8/8/5PPP/3R2K1 w - - 0 1", line="g5f6 g7f6 d1d5", pieces="bd5",
        text="1.Bxf6 wins a piece: the bishop on d5 falls", wins="3 by 3"
    ),
    "material": parts(
        fen="r3k3/5ppp/8/3n4/8/8/5PPP/3RK3 w q - 0 1", line="h2h3 d5f6", other="d1d5 e8e7", pieces="", side="black",
        text="h3 comes out worse than Rxd5 by a knight", wins="3 by 2"
    ),
    "fork": parts(
        fen="2r3k1/5ppp/8/3N4/8/8/5PPP/6K1 w - - 0 1", line="d5e7 g8f8 e7c8", pieces="Nd5 kg8 rc8",
        text="1.Ne7 forks the king on g8 and the rook on c8", wins="5 by 3"
    ),
    "pin": parts(
        fen="6k1/6pp/4r3/8/8/8/5PPP/5BK1 w - - 0 1", line="f1c4 g8f7 c4e6 f7e6", pieces="Bf1 re6 kg8",
        text="1.Bc4 pins the rook on e6 to the king and wins the exchange", wins="2 by 4"
    ),
    "skewer": parts(
        fen="8/8/8/3k3q/8/8/6PP/R5K1 w - - 0 1", line="a1a5 d5d4 a5h5", pieces="Ra1 kd5 qh5",
        text="1.Ra5 skewers Black's king on d5 and his queen on h5", wins="9 by 3"
    ),
    "discovered attack": parts(
        fen="7q/4k3/8/8/3N4/8/1B4PP/6K1 w - - 0 1", line="d4f5 e7d7 b2h8", pieces="Nd4 Bb2 qh8",
        text="1.Nf5 is a discovered attack on the queen on h8", wins="9 by 3"
    ),
    "promotion": parts(
        fen="8/P4k2/8/8/8/8/6K1/8 w - - 0 1", line="a7a8q", pieces="Pa7", text="1.a8=Q promotes the pawn on a7",
        wins="8 by 1"
    ),
    "trapped": parts(
        fen="4k3/5ppp/8/8/8/8/bPP2PPP/2K5 w - - 0 1", line="b2b3 e8d7 c1b2 a2b3 c2b3", pieces="ba2",
        text="1.b3 traps the bishop on a2", wins="2 by 5"
    ),
    "only move": parts(
        fen="r3k3/6pp/8/3N4/8/8/6PP/6K1 w q - 0 1", line="d5c7 e8d7", pieces="Nd5 ra8", other="g1f1",
        text="1.Nc7+ attacks the rook on a8 and is better than any other move by 4.10"
    ),
    "tempo": parts(
        fen="rnbqkb1r/pppp1ppp/5n2/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3", line="f3g1", pieces="", side="black",
        text="Ng1 gains nothing: a pass would be at least as good"
    ),
    "repetition": parts(
        fen="6k1/6p1/8/7Q/8/8/1q4r1/7K w - - 0 1", line="h5e8 g8h7 e8h5 h7g8", pieces="Qh5",
        text="White's queen draws by perpetual check: 1.Qe8 Kh7 2.Qh5 Kg8"
    ),
    "stalemate": parts(
        fen="8/8/8/8/8/4k3/5p2/5K2 b - - 0 1", line="e3f3", pieces="ke3", text="1...Kf3 draws by stalemate"
    ),
    "fifty moves": parts(
        fen="8/8/3k4/8/8/3K4/r7/8 w - - 99 80", line="d3e4", pieces="Kd3", text="80.Ke4 draws by the fifty-move rule"
    ),
    "too little material": parts(
        fen="8/8/3k4/8/8/3K4/4p3/8 w - - 0 1", line="d3e2", pieces="pe2",
        text="1.Kxe2 takes the last pawn and leaves too little material"
    ),
    "isolated pawn": parts(
        fen="4k3/pp4p1/8/2p5/3P4/4P3/PP6/4K3 b - - 0 1", line="c5d4 e3d4", pieces="Pd4",
        text="White's d-pawn is isolated", other="c5c4"
    ),
    "doubled pawn": parts(
        fen="4k3/pppp4/8/8/1b6/2N5/PPPP4/4K3 b - - 0 1", line="b4c3 b2c3", pieces="Pc3",
        text="White's pawns are doubled on the c-file", other="b4d6"
    ),
    "backward pawn": parts(
        fen="4k3/8/8/2p5/2P5/3P4/4P3/4K3 w - - 0 1", line="e2e4", pieces="Pd3", text="White's d-pawn is backward",
        other="e2e3", side="black"
    ),
    "passed pawn": parts(
        fen="4k3/8/8/3p4/4P3/2N5/8/4K3 w - - 0 1", line="e4e5", pieces="Pe5", text="White has a passed pawn on e5",
        other="e1e2"
    ),
    "open file": parts(
        fen="4k3/p6p/8/8/8/8/P6P/R3K3 w Q - 0 1", line="a1d1", pieces="Rd1",
        text="White's rook stands on the open d-file", other="e1e2"
    ),
    "half-open file": parts(
        fen="4k3/p2p3p/8/8/8/8/PP5P/R3K3 w Q - 0 1", line="e1c1", pieces="Rd1",
        text="White's rook stands on the half-open d-file", other="e1e2"
    ),
    "seventh rank": parts(
        fen="6k1/pp4pp/8/8/8/8/PP4PP/3R2K1 w - - 0 1", line="d1d7", pieces="Rd7",
        text="White's rook gets to the seventh rank", other="d1d2"
    ),
    "outpost": parts(
        fen="4k3/pp3ppp/3p4/8/4P3/2N5/PPP2PPP/4K3 w - - 0 1", line="c3d5", pieces="Nd5",
        text="White's knight has an outpost on d5", other="c3e2"
    ),
    "bishop pair": parts(
        fen="4kb2/6p1/5n2/6B1/8/8/6P1/4KB2 w - - 0 1", line="g5h4", pieces="Bf1 Bh4",
        text="White alone has the bishop pair", other="g5f6 g7f6"
    ),
    "king shield": parts(
        fen="6k1/8/8/8/4b3/5N2/5PPP/6K1 b - - 0 1", line="e4f3 g2f3", pieces="Kg1",
        text="no pawn is left on the g-file in front of White's king", other="e4d5"
    ),
    "centre": parts(
        fen="4k3/8/8/8/8/5N2/P7/4K3 w - - 0 1", line="f3e5", pieces="Ne5",
        text="White's knight stands in the centre on e5", other="f3h4"
    ),
    "central king": parts(
        fen="4k3/p7/8/8/8/3K4/P7/8 w - - 0 1", line="d3d4", pieces="Kd4", text="White's king gets to the centre (d4)",
        other="d3c2"
    ),
}  # fmt: skip

OPENED = TRUE["tempo"]["fen"]


def idle(does, line="f3g1", fen=OPENED, other=""):
    """A move that does this, than which a pass would be no worse."""
    return made("tempo", fen=fen, line=line, other=other, text=f"{does}: a pass would be at least as good")


MORE = [
    made(
        "mate", fen="7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", line="a2a7 h8g8 b1b8", pieces="Rb1",
        text="mate in 2: 1.Ra7 Kg8 2.Rb8#",
    ),
    made(
        "takes", fen="4k3/8/8/8/3pP3/8/8/4K2R b - e3 0 1", line="d4e3", pieces="Pe4",
        text="1...dxe3 takes the pawn on e4", wins="1 by 1",
    ),
    made("tempo", line="e1e2", text="Ke2 does harm: a pass would be better by 0.82"),
    made(
        "tempo", fen="r1bqkb1r/pppp1ppp/2n2n2/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3", line="f3e5 c6e5",
        text="Nxe5 allows 3...Nxe5: a pass would be better by 2.40"
    ),
    idle("Ng1 gains nothing, where Nc3 develops the knight", other="b1c3"),
    idle("Ng1 gains nothing, where d4 occupies the centre", other="d2d4"),
    idle("Ng1 gains nothing, where O-O castles", fen=OPENED.replace("B1R w", "2R w"), other="e1g1"),
]  # fmt: skip

# False by chess, however well they are put together.
EXCHANGE = "3rk3/8/8/3n4/8/2N5/6PP/3R2K1 w - - 0 1"


def only(does, line="c3d5 d8d5"):
    """An only move, no worse than a move of the king, that does what is said."""
    text = f"{does} and is better than any other move by 1.00"
    return made("only move", fen=EXCHANGE, line=line, pieces="Nc3", other="g1f1", text=text)


FALSE = {
    "nothing takes back": only("1.Nxd5 exchanges knights", "c3d5 e8f7"),
    "it exchanges for another man": only("1.Nxd5 exchanges a knight for a bishop"),
    "it exchanges other men": only("1.Nxd5 exchanges rooks"),
    "it does what has no rule": only("1.Nxd5 exchanges knights and wins the day"),
    "it attacks what is not named": only("1.Nxd5 exchanges knights and attacks the rook on d8"),
    "two lines with another difference": made("material", other="d1d5 e8e7 d5d7 e7d7"),
    "one move compared with itself": made(
        "material", line="d1d5 e8e7", text="Rxd5 comes out worse than Rxd5 by a rook"
    ),
    "a line that ends while a piece hangs": made("material", line="h2h3 h7h6", wins="3 by 2"),
    "worse by another piece": made("material", text="h3 comes out worse than Rxd5 by a rook"),
    "worse by a piece for one": made("material", text="h3 comes out worse than Rxd5 by a knight for a pawn"),
    "other moves in the sentence": made("material", text="h4 comes out worse than Rxd5 by a knight"),
    "worse for the other side": made("material", side="white"),
    "what takes can be taken": made(
        "takes", fen="4k3/8/2p5/3n4/8/8/7P/3RK3 w - - 0 1", text="1.Rxd5 takes the knight on d5"
    ),
    "the line is cut off before it is taken back": made(
        "wins material", fen="4k3/8/2p5/3n4/3P4/8/6B1/4K3 w - - 0 1", line="g2d5", pieces="nd5",
        text="1.Bxd5 wins a piece: the knight on d5", wins="3 by 1"
    ),
    "taken back at the eighth ply": made(
        "takes", line="d1d5 e8e7 d5d1 e7e8 d1d5 e8e7 d5d1 e7e8", text="1.Rxd5 takes the knight on d5",
        wins="3 by 8"
    ),
    "the end of the line has lost it again": made(
        "takes", line="d1d5 e8e7 d5d7 e7d7", text="1.Rxd5 takes the knight on d5"
    ),
    "the mate can be parried": made("mate", fen="6k1/5pp1/8/8/8/8/5PPP/R5K1 w - - 0 1"),
    "mate to the other side": made(
        "mate", fen="6k1/5ppp/8/8/8/r7/5PPP/R5K1 b - - 0 1", line="a3a1", pieces="ra3", text="Rxa1 is mate",
        side="white"
    ),
    "a fork of one": made(
        "fork", fen="6k1/5ppp/2r5/3N4/8/8/5PPP/6K1 w - - 0 1", line="d5e7 g8f8 e7c6", pieces="Nd5 kg8",
        text="1.Ne7 forks the king on g8"
    ),
    "a fork that attacks one of two": made(
        "fork", fen="1r4k1/5ppp/2r5/3N4/8/8/5PPP/6K1 w - - 0 1", line="d5e7 g8f8 e7c6", pieces="Nd5 rb8 rc6",
        text="1.Ne7 forks the rook on b8 and the rook on c6"
    ),
    "a fork of a guarded pawn": made(
        "fork", fen="2r3k1/6pp/1p6/2p5/8/1N6/5PPP/6K1 w - - 0 1", line="b3c5 b6c5", pieces="Nb3 pc5 rc8",
        text="1.Nxc5 forks the pawn on c5", wins="1 by 1"
    ),
    "a fork whose targets stay": made(
        "fork", fen="2r3k1/p4ppp/8/3N4/8/8/5PPP/6K1 w - - 0 1", line="d5e7 g8f8 e7c6 c8c6", wins="1 by 3"
    ),
    "not in a row": made(
        "pin", fen="7k/6pp/4r3/8/8/8/5PPP/5BK1 w - - 0 1", line="f1c4 h8g8 c4e6", pieces="Bf1 re6 kh8",
        text="1.Bc4 pins the rook on e6 to the king and wins a rook", wins="5 by 3"
    ),
    "a pawn between": made("pin", fen="6k1/5ppp/4r3/8/8/8/5PPP/5BK1 w - - 0 1", line="f1c4 g8f8 c4e6 f7e6"),
    "pinned to less": made(
        "pin", fen="1n4k1/2q3pp/8/8/7B/8/5PPP/6K1 w - - 0 1", line="h4g3 c7g3 h2g3", pieces="Bh4 qc7 nb8",
        text="1.Bg3 pins the queen on c7 to the knight", wins="6 by 3"
    ),
    "a skewer of less": made(
        "skewer", fen="6k1/6pp/4r3/8/8/8/5PPP/5BK1 w - - 0 1", line="f1c4 g8f7 c4e6 f7e6", pieces="Bf1 re6 kg8",
        text="1.Bc4 skewers the rook on e6 and the king", wins="2 by 4"
    ),
    "no line is opened": made(
        "discovered attack", fen="7q/4k3/8/8/4N3/8/1B4PP/6K1 w - - 0 1", line="e4g5 e7d7 b2h8",
        pieces="Ne4 Bb2 qh8", text="1.Ng5 is a discovered attack on the queen on h8"
    ),
    "another piece promotes": made(
        "promotion", fen="8/P4k2/8/7P/8/8/6K1/8 w - - 0 1", pieces="Ph5", text="1.a8=Q: the pawn on h5 promotes"
    ),
    "the new queen is taken": made("promotion", fen="1r6/P4k2/8/8/8/8/6K1/8 w - - 0 1"),
    "not trapped at all": made(
        "trapped", fen="4k3/5ppp/8/8/8/p7/bPP2PPP/2K5 w - - 0 1", line="b2a3 e8d7 c1b2 d7d6 b2a2",
        text="1.bxa3 traps the bishop on a2", wins="4 by 5"
    ),
    "a pawn trapped": made(
        "trapped", fen="4k3/8/8/8/p7/8/1P6/R3K3 w - - 0 1", line="a1a3 e8e7 a3a4", pieces="pa4",
        text="1.Ra3 traps the pawn on a4", wins="1 by 3"
    ),
    "an only move that takes": made(
        "only move", fen="r3k3/2p3pp/8/3N4/8/8/6PP/6K1 w q - 0 1", line="d5c7 e8d7",
        text="1.Nxc7+ attacks the rook on a8 and is better than any other move by 4.10"
    ),
    "an only move that attacks nothing": made(
        "only move", line="d5b6", text="1.Nb6 attacks the king on e8", pieces="Nd5 ke8"
    ),
    "an only move by another piece": made("only move", pieces="Pg2 ra8"),
    "an only move compared with itself": made("only move", other="d5c7"),
    "another reply": made("tempo", line="h2h3 f6e4", text="h3 allows 3...Nc6: a pass would be better by 0.90"),
    "the reply takes nothing": made(
        "tempo", line="h2h3 b8c6", text="h3 allows 3...Nc6, which exchanges knights: a pass would be better by 0.90"
    ),
    "another move does it": idle("Ng1 gains nothing, where d4 occupies the centre", other="b1c3"),
    "the other move develops nothing": idle("Ng1 gains nothing, where d4 develops the knight", other="d2d4"),
    "the other move stays away": idle("Ng1 gains nothing, where c4 occupies the centre", other="c2c4"),
    "the other move attacks nothing": idle("Ng1 gains nothing, where d4 attacks the knight on f6", other="d2d4"),
    "a taker gains something": idle("Nxe5 gains nothing", "f3e5"),
    "it is said of another move": idle("Nh4 gains nothing"),
    "no pass in check": idle("Kf1 gains nothing", "e1f1", "4k3/8/8/8/8/8/4r3/4K3 w - - 0 1"),
    "nothing is repeated": made("repetition", line="h5e8 g8h7 e8h5", text="the queen draws by perpetual check"),
    "repeated without a check": made(
        "repetition", fen="6k1/8/8/8/8/8/8/R5K1 w - - 0 1", line="a1b1 g8f7 b1a1 f7g8", pieces="Ra1",
        text="1.Rb1 draws by repetition"
    ),
    "repeated before the end": made(
        "repetition", line="h5e8 g8h7 e8h5 h7g8 h5d5", text="the queen draws by perpetual check"
    ),
    "not stalemate": made("stalemate", fen="8/8/8/8/8/4k3/4p3/5K2 b - - 0 1"),
    "a move too early": made("fifty moves", fen="8/8/3k4/8/8/3K4/r7/8 w - - 98 80"),
    "enough material": made(
        "too little material", fen="8/8/3k4/7p/8/3K4/4p3/8 w - - 0 1",
        text="1.Kxe2 leaves too little material to the pawn"
    ),
    "isolated with a neighbour": made(
        "isolated pawn", fen="4k3/pp4p1/8/2p5/3P4/4P3/PP3P2/4K3 b - - 0 1", pieces="Pb2",
        text="White's b-pawn is isolated"
    ),
    "doubled with one pawn": made("doubled pawn", fen="4k3/pppp4/8/8/1b6/2N5/PP1P4/4K3 b - - 0 1"),
    "another file is doubled": made("doubled pawn", text="White's pawns are doubled on the d-file"),
    "backward, but guarded from behind": made("backward pawn", fen="4k3/8/8/2p5/8/3P4/2P1P3/4K3 w - - 0 1"),
    "backward, but free to advance": made("backward pawn", fen="4k3/8/8/8/2P5/3P4/4P3/4K3 w - - 0 1"),
    "backward without neighbours": made(
        "backward pawn", fen="4k3/8/2p5/8/8/3P4/8/4K3 w - - 0 1", line="d3d4 c6c5 e1e2 c5c4", pieces="Pd4",
        other="e1e2"
    ),
    "passed, with an enemy pawn next to its way": made("passed pawn", fen="4k3/5p2/8/3p4/4P3/2N5/8/4K3 w - - 0 1"),
    "passed behind a friendly pawn": made("passed pawn", fen="4k3/8/4P3/3p4/4P3/2N5/8/4K3 w - - 0 1"),
    "open, with a pawn": made("open file", fen="4k3/p2p3p/8/8/8/8/P6P/R3K3 w Q - 0 1"),
    "half-open, with a friendly pawn": made("half-open file", fen="4k3/p2p3p/8/8/8/8/PP1P3P/R3K3 w Q - 0 1"),
    "half-open, without any pawn": made("half-open file", fen="4k3/p6p/8/8/8/8/PP5P/R3K3 w Q - 0 1"),
    "the seventh rank is empty": made("seventh rank", fen="8/8/6k1/pp6/6pp/8/PP4PP/3R2K1 w - - 0 1"),
    "an outpost that a pawn can attack": made("outpost", fen="4k3/ppp2ppp/3p4/8/4P3/2N5/PPP2PPP/4K3 w - - 0 1"),
    "an outpost that no pawn guards": made("outpost", fen="4k3/pp3ppp/3p4/8/8/2N5/PPP2PPP/4K3 w - - 0 1"),
    "an outpost at home": made(
        "outpost", fen="4k3/pp4pp/8/8/8/2N5/PPP2PPP/4K3 w - - 0 1", line="c3e2 e8e7 e2g3", pieces="Ng3",
        text="White's knight has an outpost on g3", other="c3a4"
    ),
    "both sides have the pair": made("bishop pair", fen="2b1kb2/6p1/5n2/6B1/8/8/6P1/4KB2 w - - 0 1"),
    "two bishops of one colour": made("bishop pair", fen="4kb2/6p1/5n2/6B1/8/8/6P1/2B1K3 w - - 0 1", pieces="Bc1 Bh4"),
    "the other file is bare": made("king shield", text="no pawn is left on the h-file in front of White's king"),
    "the king has left his rank": made("king shield", fen="6k1/8/8/8/4b3/5NK1/5PPP/8 b - - 0 1", pieces="Kg3"),
    "not in the centre": made("centre", line="f3g5", pieces="Ng5", text="White's knight stands in the centre on g5"),
    "central before a queen": made(
        "central king", fen="3qk3/p7/8/8/8/4K3/P7/Q7 w - - 0 1", line="e3e4", pieces="Ke4",
        text="White's king gets to the centre (e4)", other="e3f2"
    ),
    "one knight more is in the centre in both lines": made("centre", other="f3d4"),
    "the file is open in the other line too": made("open file", other="e1c1"),
    "a pawn less at the end of one line": made("centre", fen="4k3/8/8/6p1/8/5N2/P7/4K3 w - - 0 1", other="f3g5"),
    "the line ends where a piece can be taken": made("centre", fen="4k3/8/3p4/8/8/5N2/P7/4K3 w - - 0 1"),
}  # fmt: skip

# True on the board, but the enemy has better, or the other move is no worse.
FALSE_BY_SEARCH = {
    "the enemy blunders in the better line": made(
        "material", other="g2g3 e8e7 d1d5 e7e6", text="h3 comes out worse than g3 by a knight"
    ),
    "the forking piece can be taken": made("fork", fen="2r3k1/5ppp/3b4/3N4/8/8/5PPP/6K1 w - - 0 1"),
    "the taking rook leaves the back rank": made(
        "takes", fen="3r2k1/5ppp/8/n7/8/8/5PPP/R5K1 w - - 0 1", line="a1a5 h7h6", pieces="na5",
        text="1.Rxa5 takes the knight on a5"
    ),
    "no need to walk into the mate": made(
        "mate", fen="6k1/5ppp/8/8/8/8/R4PPP/6K1 w - - 0 1", line="g1f1 g8h8 a2a8", pieces="Ra2",
        text="mate in 2: 1.Kf1 Kh8 2.Ra8"
    ),
    "a pawn instead of a mate": made(
        "takes", fen="6k1/5ppp/8/p7/8/8/5PPP/RR4K1 w - - 0 1", line="a1a5 h7h6", pieces="pa5",
        text="1.Rxa5 takes the pawn on a5", wins="1 by 1"
    ),
    "a pass loses a rook": idle("Rc1 gains nothing", "d1c1", "4k3/5ppp/8/8/8/1b6/5PPP/3RK3 w - - 0 1"),
    "the reply is as good after a pass": made(
        "tempo", line="e1e2 f6e4", text="Ke2 allows 3...Nxe4: a pass would be better by 0.82"
    ),
    "a pass is no better": made("tempo", line="d2d3", text="d3 does harm: a pass would be better by 0.95"),
    "another move is as good": made(
        "only move", fen="6k1/6pp/8/8/8/8/5PPP/3R2K1 w - - 0 1", line="d1d7", pieces="Rd1", other="g1f1",
        text="1.Rd7 is better than any other move by 2.00"
    ),
    "another move draws": made(
        "only move", fen="r3k3/6pp/8/3N4/8/7P/5PP1/6K1 w q - 0 1", line="d5c7 e8d7",
        text="1.Nc7+ attacks the rook on a8 and is the only move that does not lose"
    ),
    "the attacked piece can go": made(
        "wins material", fen="4k3/5ppp/8/3n4/8/8/5PPP/R3K3 w - - 0 1", line="a1a5 e8d7 a5d5", pieces="nd5",
        text="1.Ra5 wins a knight: the knight on d5"
    ),
    "the perpetual can be declined": made(
        "repetition", fen="6k1/6p1/r7/7Q/8/8/1q4r1/7K w - - 0 1"
    ),
    "a pin that is lifted": made(
        "pin", fen="6k1/6pp/4r3/8/8/8/5PPP/5BK1 b - - 0 1", line="e6e1 g1h1 e1f1", pieces="re6 Bf1 Kg1",
        text="1...Re1 pins the bishop on f1 to the king", wins="3 by 3"
    ),
    "nothing is lost by it": made("centre", fen="4k3/8/8/8/8/5N2/8/4K3 w - - 0 1"),
}  # fmt: skip

CLAIMS = [*map(made, TRUE), *MORE]


def changed(true, **keys):
    return {**true, **keys}


def falsified(true) -> Iterator[tuple[str, dict]]:
    """What is false by one change of a true claim, whatever its kind; then by that of its kind."""
    board = chess.Board(true["fen"])
    yield "the wrong side", changed(true, side={"white": "black", "black": "white"}[true["side"]])
    yield "an illegal line", changed(true, line=[true["line"][0], *true["line"]])
    yield "no line", changed(true, line=[])
    yield "an unknown kind", changed(true, kind="initiative")
    yield (
        "the sentence of another kind",
        changed(true, text=f"{next((each['square'] for each in true['pieces']), 'e4')} is weak"),
    )
    board.turn = not board.turn
    yield "the other side to move", changed(true, fen=board.fen())
    board.remove_piece_at(board.king(chess.WHITE))
    yield "no king", changed(true, fen=board.fen())
    empty = chess.square_name(next(square for square in chess.SQUARES[17:] if not board.piece_at(square)))
    for at, named in enumerate(true["pieces"]):
        elsewhere = [{**each, "square": empty} if each is named else each for each in true["pieces"]]
        yield "a piece on the wrong square", changed(true, pieces=elsewhere)
        for name, letter in (
            ("colour", named["piece"].swapcase()),
            ("kind", {"n": "b", "N": "B"}.get(named["piece"], "n")),
        ):
            pieces = [{**each, "piece": letter} if number == at else each for number, each in enumerate(true["pieces"])]
            yield f"a piece of the wrong {name}", changed(true, pieces=pieces)
    if "1." in true["text"]:
        yield "the number of another move", changed(true, text=true["text"].replace("1.", "3.", 1))
    for named in true["pieces"]:
        if f"on {named['square']}" in true["text"]:
            yield "a sentence with the wrong square", changed(true, text=true["text"].replace(named["square"], empty))
    for side, other in (("White", "Black"), ("Black", "White")):
        if re.search(rf"{side}('s| alone| has)", true["text"]):
            yield "a sentence with the wrong owner", changed(true, text=true["text"].replace(side, other))
    yield from _with_wins(true) if true["wins"] else ()
    if true["kind"] in PLACES:
        yield "it holds in the other line too", changed(true, other_line=true["line"])
        for file in "bh":
            text = re.sub(r"\b[a-h]-(file|pawn)", rf"{file}-\1", true["text"])
            if text != true["text"]:
                yield "a sentence with the wrong file", changed(true, text=text)
    if true["kind"] in ("mate", *DRAWS) and len(true["line"]) > 1:
        yield "the line ends too early", changed(true, line=true["line"][:-1])


def _with_wins(true) -> Iterator[tuple[str, dict]]:
    pawns, ply = true["wins"]["pawns"], true["wins"]["ply"]
    for wins in (None, *({"pawns": other, "ply": ply} for other in (0, pawns + 1, pawns - 1, -pawns))):
        yield "not what it wins", changed(true, wins=wins)
    for other in (0, -1, ply - 1, ply + 20):
        yield "not by which ply", changed(true, wins={"pawns": pawns, "ply": other})
    yield "the line ends too early", changed(true, line=true["line"][: ply - 1])
    for amount in ("wins a piece", "wins the exchange", "takes the knight on d5 for nothing"):
        if amount in true["text"]:
            yield "a sentence with the wrong amount", changed(true, text=true["text"].replace(amount, "wins a queen"))


def test_true_claims_of_every_kind_are_accepted():
    assert set(TRUE) == set(KINDS)
    assert [(true["kind"], why) for true in (*CLAIMS, only("1.Nxd5 exchanges knights")) if (why := refusal(true))] == []


def test_planted_false_claims_are_refused():
    false = [*FALSE.items(), *(pair for true in CLAIMS for pair in falsified(true))]
    missed = [(name, each) for name, each in false if refusal(each) is None]
    print(f"{len(false) - len(missed)} of {len(false)} false claims are refused by the rules")
    assert len(false) >= 300
    assert missed == []


def test_what_only_a_search_refutes_passes_the_rules():
    assert [(name, why) for name, each in FALSE_BY_SEARCH.items() if (why := refusal(each))] == []


@pytest.mark.skipif(ENGINE is None, reason="needs stockfish")
def test_an_engine_confirms_true_claims_and_refuses_what_the_enemy_refutes(tmp_path):
    with Judge(str(ENGINE), 10, tmp_path / "answers") as judge:
        doubts = [(true["kind"], doubt(claim_of(true), judge)) for true in CLAIMS if true["kind"] not in PLACES]
    with Judge(str(ENGINE), 6, tmp_path / "answers") as judge:
        missed = [name for name, each in FALSE_BY_SEARCH.items() if doubt(claim_of(each), judge) is None]
    print(f"{len(FALSE_BY_SEARCH) - len(missed)} of {len(FALSE_BY_SEARCH)} false claims are refused by the engine")
    assert [each for each in doubts if each[1]] == []
    assert missed == []
    with Judge(str(ENGINE), 10, tmp_path / "answers") as judge:
        judge._search = None  # all is kept
        assert doubt(claim_of(CLAIMS[0]), judge) is None


# Positions and what is said of them; then what is false by a change, and by the engine alone.
HEADLINES = {
    "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1": "White mates in 1 by 1.Ra8.",
    "7k/8/8/8/8/8/R7/1R4K1 b - - 0 1": "White mates in 2; 1...Kg8 holds out longest.",
    "4k3/5ppp/8/3n4/8/8/5PPP/3RK3 w - - 0 1": (
        "White is better by 7.81 and may expect 99% of the points; best is 1.Rxd5 (gen13, depth 20). It takes the "
        "knight on d5 for nothing."
    ),
    "4k3/8/8/3r4/8/8/8/3R1K2 b - - 0 9": "Black is winning; best is 9...Rxd1+ (gen13, depth 20).",
    "4k3/5ppp/8/8/8/8/5PPP/4K3 w - - 0 1": "Neither side is better; best is 1.Kd2 (gen13, depth 30).",
}
FALSE_HEADLINES = {
    "no verdict": ("White is better by 7.81 and may expect 99% of the points", "White has good chances"),
    "no share": (" and may expect 99% of the points", ""),
    "a worse share for who is better": ("99%", "45%"),
    "no best move": ("; best is 1.Rxd5 (gen13, depth 20)", ""),
    "a move of the other side": ("1.Rxd5", "1...Nc3"),
    "another move's number": ("1.Rxd5", "2.Rxd5"),
    "an illegal move": ("1.Rxd5", "1.Rxd6"),
    "a king that jumps": ("9...Rxd1+", "9...Kd6"),
}
DOUBTFUL_HEADLINES = {
    "the wrong side": ("White", "Black"),
    "the wrong side is winning": ("Black is winning", "White is winning"),
    "not that level": ("White is better by 7.81 and may expect 99% of the points", "Neither side is better"),
    "off by 25 points": ("99%", "74%"),
    "not that good": ("Neither side is better", "Black is better by 0.66 and may expect 72% of the points"),
    "not the move that wins": ("9...Rxd1+", "9...Rd7"),
}


def headlines(changes) -> Iterator[tuple[str, str, chess.Board]]:
    """Each headline in which there is something to change, changed."""
    for name, (old, new) in changes.items():
        yield from ((name, said.replace(old, new), chess.Board(fen)) for fen, said in HEADLINES.items() if old in said)


def test_who_is_better_and_by_which_move_is_read_from_the_sentences():
    shares = [headline_of(said, chess.Board(fen))[0] for fen, said in HEADLINES.items()]
    assert shares == [1.0, 1.0, 0.99, 0.0, 0.5]
    for name, said, board in headlines(FALSE_HEADLINES):
        with pytest.raises(RefusedError):
            print(name, headline_of(said, board))


@pytest.mark.skipif(ENGINE is None, reason="needs stockfish")
def test_an_engine_confirms_headlines_and_refuses_false_ones(tmp_path):
    with Judge(str(ENGINE), 10, tmp_path / "answers") as judge:
        for fen, said in HEADLINES.items():
            board = chess.Board(fen)
            assert headline_doubts(*headline_of(said, board), board, judge) == (None, None)
        doubts = {
            (name, board.fen()): headline_doubts(*headline_of(said, board), board, judge)
            for name, said, board in headlines(DOUBTFUL_HEADLINES)
        }
    assert len(doubts) == 8 and [each for each, found in doubts.items() if found == (None, None)] == []


GAME = {
    "label": "A - B",
    "fen": "2r3k1/pp3ppp/8/3N4/8/8/5PPP/6K1 b - - 0 1",
    "moves": [
        {
            "san": "a6",
            "uci": "a7a6",
            "grade": {"name": "blunder"},
            "better": {"line": "1...Kf8 2. Nc3"},
            "claims": [
                claim(
                    "fork", "2r3k1/1p3ppp/p7/3N4/8/8/5PPP/6K1 w - - 0 2", "d5e7 g8f8 e7c8", "Nd5 kg8 rc8",
                    "2.Ne7+ forks the king on g8 and the rook on c8 and wins a rook", "5 by 3",
                ),
                changed(CLAIMS[0], text="1.Ra8# is mate"),
            ],
        },
        {"san": "Nc3", "uci": "d5c3", "grade": {"name": "mistake"}, "better": {"line": "2. Ne7+"}, "claims": []},
    ],
}  # fmt: skip


def test_the_table_counts_by_kind_and_lists_what_is_refused(tmp_path, capsys, monkeypatch):
    position = {"fen": CLAIMS[0]["fen"], "claims": [CLAIMS[0], changed(CLAIMS[0], line=["a1a7"])]}
    position["verdict"] = "White mates in 1 by 1.Ra8. Nothing else does."
    path = tmp_path / "said.json"
    path.write_text(json.dumps(GAME) + "\n" + json.dumps([position]) + "\n", encoding="utf-8")
    options = ["--engine", ENGINE, "--depth", "8", "--kept", str(tmp_path / "answers")] if ENGINE else []
    monkeypatch.setattr(sys, "argv", ["truth", str(path), *options])
    program.main()
    shown = " ".join(capsys.readouterr().out.split())
    assert "| all claims | 2 | 4 | 50.0% (15.0% to 85.0%) |" in shown
    assert "| fork | 1 | 1 | 100.0% (20.7% to 100.0%) |" in shown
    assert "| expected scores of positions | 1 | 1 | 100.0% (20.7% to 100.0%) |" in shown
    assert "| graded moves with a reason | 1 | 2 | 50.0% (9.5% to 90.5%) |" in shown
    assert "it begins neither before nor after the move" in shown and "the line does not end in checkmate" in shown
    if ENGINE:
        assert "| grades confirmed | 2 | 2 |" in shown and "| better moves not worse | 2 | 2 |" in shown


THREATS = {
    "Rd1 threatens 2.Rxd5, which takes the knight on d5 for nothing": (
        "4k3/8/8/3n4/8/8/5PPP/R5K1 w - - 0 1", "h2h3", "1. Rd1 Nf6",
        claim(
            "takes", "4k3/8/8/3n4/8/8/5PPP/3R2K1 w - - 2 2", "d1d5", "nd5", "", "3 by 1"
        ),
    ),
    "Kh2 allows Rd8 and the threat of 2...Rxd4, which takes the knight on d4 for nothing": (
        "r5k1/5ppp/8/8/3N4/7P/5PP1/6K1 w - - 0 1", "g1h2", "1. Nf3 Kf8",
        claim(
            "takes", "3r2k1/5ppp/8/8/3N4/7P/5PPK/8 b - - 3 2", "d8d4", "Nd4", "", "3 by 1"
        ),
    ),
}  # fmt: skip
FALSE_THREATS = {
    "another move makes it": ("Rd1", "Rf1"),
    "another move allows it": ("Kh2 allows", "h4 allows"),
    "another reply": ("Rd8", "Rb8"),
    "an illegal reply": ("Rd8", "Rd1"),
    "it follows from another position": ("R2K1 w", "R1K1 w"),
}
THREATS_ANYWAY = {"h2h3": "a1a5", "1. Nf3 Kf8": "1. Kf1 Kf8"}  # the other move threatens as much, or allows as much


def threatening(text, fen, played, better, found, judge=None):
    """What is found of a claim that a move makes a threat."""
    move = {"uci": played, "better": {"line": better}, "grade": {"name": "mistake"}}
    said = program.Said("", [changed(found, text=text)], chess.Board(fen), move)
    return next(each for each in program.check(said, judge) if each.row == "threat")


def test_a_threat_is_made_by_the_move_that_is_said_to_make_it():
    false = 0
    for text, (*rest, found) in THREATS.items():
        assert threatening(text, *rest, found).reason is None
        for name, change in FALSE_THREATS.items():
            at = found["fen"].replace(*change).replace("3R1K1", "3R1K2")
            if (text.replace(*change), at) != (text, found["fen"]):
                false += 1
                assert threatening(text.replace(*change), *rest, changed(found, fen=at)).reason, name
    fen, played, _, found = THREATS["Rd1 threatens 2.Rxd5, which takes the knight on d5 for nothing"]
    taking = fen.replace("R5K1", "R2p2K1")
    assert "takes" in threatening("Rxd1 threatens 2.Rxd5, which", taking, played, "1. Rxd1", found).reason
    assert false == 5


@pytest.mark.skipif(ENGINE is None, reason="needs stockfish")
def test_a_threat_that_is_there_without_the_move_is_refused(tmp_path):
    with Judge(str(ENGINE), 8, tmp_path / "answers") as judge:
        for text, (fen, *moves, found) in THREATS.items():
            assert threatening(text, fen, *moves, found, judge).reason is None
            others = [THREATS_ANYWAY.get(move, move) for move in moves]
            assert "are threatened" in threatening(text, fen, *others, found, judge).reason


def test_the_check_knows_nothing_of_merino():
    allowed = {"chess", "tools", *sys.stdlib_module_names}
    for path in [*(ROOT / "tools" / "truth").glob("*.py"), ROOT / "tools" / "markdown.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, path
            assert all(name.startswith(("tools.truth", "tools.markdown")) for name in names if name.startswith("tools"))
