"""Whether a claim holds on the board, by python-chess alone: its rule in plain chess, and what its sentence says."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import chess

from tools.truth import places, tactics
from tools.truth.board import COLOURS, WORTH, Claim, RefusedError, balance, claim_of, is_quiet, need, said


class Kind(NamedTuple):
    """The rule of a kind, and the words of which its sentence has one."""

    check: Callable[[Claim], None]
    words: str


TACTICS = {
    "mate": Kind(tactics.mate, "mate"),
    "takes": Kind(tactics.takes, ""),
    "wins material": Kind(tactics.wins_material, ""),
    "fork": Kind(tactics.fork, "fork"),
    "pin": Kind(tactics.pin, "pin"),
    "skewer": Kind(tactics.skewer, "skewer"),
    "discovered attack": Kind(tactics.discovered_attack, "cover"),
    "promotion": Kind(tactics.promotion, "promot|queen"),
    "trapped": Kind(tactics.trapped, "trap"),
    "only move": Kind(tactics.only_move, "better than any other|the only"),
}
DRAWS = {
    "repetition": Kind(tactics.repetition, "repe|perpetual"),
    "stalemate": Kind(tactics.ends_by(chess.Board.is_stalemate), "stalemate"),
    "fifty moves": Kind(tactics.ends_by(chess.Board.is_fifty_moves), "fifty"),
    "too little material": Kind(tactics.ends_by(chess.Board.is_insufficient_material), "material"),
}
PLACES = {kind: Kind(places.place, fact.words) for kind, fact in places.FACTS.items()}
MATERIAL = {"material": Kind(tactics.comes_out_worse, "comes out worse than")}
TEMPO = {"tempo": Kind(tactics.tempo, "a pass would be")}
KINDS = {**TACTICS, **MATERIAL, **TEMPO, **DRAWS, **PLACES}


def refusal(found: Mapping[str, Any]) -> str | None:
    """Why a claim of the JSON does not hold on the board; None if it does."""
    try:
        claim = claim_of(found)
        need(claim.kind in KINDS, f"there is no kind '{claim.kind}'")
        need(claim.line, "it has no line")
        at = claim.boards[-1] if claim.kind in PLACES else claim.boards[0]
        for named in claim.pieces:
            need(at.piece_at(named.square) == named.piece, f"{said(named)} does not stand there")
        if claim.kind in PLACES:
            need(claim.pieces, "it names no piece")
            level = {balance(boards[-1], chess.WHITE) for boards in (claim.boards, claim.others)}
            need(len(level) == 1, "material is not equal at the ends of the lines")
            need(all(is_quiet(boards[-1]) for boards in (claim.boards, claim.others)), "a line ends in an exchange")
        elif claim.kind not in MATERIAL | TEMPO:
            need(claim.boards[0].turn == claim.side, "the side it favours is not to move")
        KINDS[claim.kind].check(claim)
        check_text(claim)
    except RefusedError as error:
        return str(error)
    return None


# The headline of a position

STANDING = re.compile(
    r"(White|Black) (?:is better by \d+\.\d\d and may expect (\d+)% of the points|is winning|mates in \d+)"
    r"|Neither side is better"
)


def headline_of(text: str, board: chess.Board) -> tuple[float, chess.Move]:
    """White's share of the points, 0..1, and the best move, as the first sentences on a position state them.

    Raises RefusedError where they do not.
    """
    found, named = STANDING.match(text), NUMBERED.search(text)
    if found is None or named is None:
        raise RefusedError("it does not say who is better, or by which move")
    leader, share = found[1], int(found[2] or 100) / 100 if found[1] else 0.5
    need(share >= 0.5, f"{leader} is said to be better with {share:.0%} of the points")
    need((int(named[1]), not named[2]) == (board.fullmove_number, board.turn), f"{named[0]} is not the next move")
    try:
        best = board.parse_san(named[3])
    except ValueError as error:
        raise RefusedError(f"{named[0]} is not legal") from error
    return (1 - share if leader == "Black" else share), best


# The sentence

NAME = "pawn|knight|bishop|rook|queen|king"
ON_SQUARE = re.compile(rf"(?:\b({NAME}) )?(?:\bon |\((?=..\)))([a-h][1-8])\b")
HAS = re.compile(r"\b(White|Black)(?: alone)? (?:has|would have) ")
OWNED = re.compile(rf"(White|Black)'s (?:([a-h])-)?({NAME})s?\b")
NUMBERED = re.compile(r"(\d+)\.(\.\.)? ?([A-Za-z][\w+#=-]+)")
MATE_IN = re.compile(r"mate in (\d+)|mates in (\d+)")
SPOILS = r"material worth \d+ pawns|(?:an?|the|two|three|four) [a-z ,]+?"
WON = re.compile(rf"\bwins ({SPOILS})(?: on [a-h][1-8])?(?: for ([a-z ,]+?))?(?=$|[:;.(])")
WORSE_BY = re.compile(r"\bcomes out worse than \S+ by (.+?)(?: for (.+?))?$")
FOR_NOTHING = re.compile(rf"takes the ({NAME})(?: on ..)? for nothing")
COUNTS = {"a": 1, "an": 1, "the": 1, "two": 2, "three": 3, "four": 4}
AMOUNTS = {**{chess.piece_name(kind): worth for kind, worth in WORTH.items()}, "piece": 3, "exchange": 2}


def check_text(claim: Claim) -> None:
    """Hold the sentence to the claim: its kind, its pieces with their squares, its moves, and the material won."""
    text = claim.text
    need(re.search(KINDS[claim.kind].words, text, re.IGNORECASE), f"the sentence does not speak of its kind: {text}")
    moves = {
        (board.fullmove_number, board.turn, san(board, move))
        for line, along in ((claim.line, claim.boards), (claim.other_line, claim.others))
        for board, move in zip(along, line, strict=False)
    }
    for number, dots, move in NUMBERED.findall(text):
        need((int(number), not dots, move.rstrip("+#")) in moves, f"{number}.{dots}{move} is not in its lines")
    if claim.kind in MATERIAL:
        names = (claim.boards[0].san(line[0]) for line in (claim.line, claim.other_line))
        need(text.startswith(" comes out worse than ".join(names)), f"it compares other moves: {text}")
    named = {(chess.piece_name(each.piece.piece_type), chess.square_name(each.square)) for each in claim.pieces}
    standing = claim.boards[-1 if claim.kind in PLACES else 1 if claim.kind in TEMPO else 0]
    for kind, square in ON_SQUARE.findall(text):
        there = standing.piece_type_at(chess.parse_square(square))
        is_so = there and chess.piece_name(there) == kind if kind else square in {square for _, square in named}
        need(is_so, f"no {kind or 'named piece'} stands on {square}")
    for owner in HAS.findall(text):
        need(claim.pieces[0].piece.color == COLOURS[owner.lower()], f"it is not about {owner}")
    for owner, file, kind in OWNED.findall(text):
        piece = chess.Piece(chess.PIECE_NAMES.index(kind), COLOURS[owner.lower()])
        own = [each for each in claim.pieces if each.piece == piece]
        of_file = [each for each in own if not file or chess.FILE_NAMES[chess.square_file(each.square)] == file]
        need(of_file, f"it is not about {owner}'s {file}{'-' if file else ''}{kind}")
    is_named = any(kind in text for kind, _ in named) or san(claim.boards[0], claim.line[0]) in text
    need(is_named or not named, f"the sentence names none of its pieces: {text}")
    for numbers in MATE_IN.findall(text):
        need(int("".join(numbers)) == (len(claim.line) + 1) // 2, f"the line does not mate in {''.join(numbers)}")
    behind = WORSE_BY.findall(text)
    for won, given in [*WON.findall(text), *behind, *((f"the {name}", "") for name in FOR_NOTHING.findall(text))]:
        taken, lost = worth_of(won), worth_of(given)
        if claim.wins and taken is not None and lost is not None:
            need(taken - lost == claim.wins["pawns"], f"the sentence does not name {claim.wins['pawns']} pawns: {text}")


def san(board: chess.Board, move: chess.Move) -> str:
    """A move in short notation, without the sign of check or mate."""
    return board.san(move).rstrip("+#")


def worth_of(listed: str) -> int | None:
    """The pawns that a list such as "a knight and two pawns" is worth; None where it is no such list, 0 where empty."""
    if listed.startswith("material worth "):
        return int(listed.split()[2])
    total = 0
    for part in re.split(r", (?:and )?| and ", listed) if listed else []:
        count, _, name = part.partition(" ")
        if count not in COUNTS or name.removesuffix("s") not in AMOUNTS:
            return None
        total += COUNTS[count] * AMOUNTS[name.removesuffix("s")]
    return total
