"""The rules for facts about places, which hold at the end of `line` and not at the end of `other_line`.

Two facts of a kind differ by where they hold: those of pawns and files by the file, others by the square.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import chess

from tools.truth.board import Claim, need, said

SHADES = (chess.BB_LIGHT_SQUARES, chess.BB_DARK_SQUARES)
CENTRE = chess.SquareSet(chess.square(file, rank) for file in range(2, 6) for rank in (3, 4))  # c4 to f5
Places = Iterator[int]


def pawns_near(board: chess.Board, side: chess.Color, square: chess.Square, files: int, ahead_of: chess.Color) -> bool:
    """Whether a side has a pawn on the files next to a square, or its own file with `files` 0, on the ranks ahead."""
    own, rank = chess.square_file(square), chess.square_rank(square)
    return any(
        abs(chess.square_file(pawn) - own) == files and (chess.square_rank(pawn) > rank) == ahead_of
        for pawn in board.pieces(chess.PAWN, side)
        if chess.square_rank(pawn) != rank
    )


def neighbours(board: chess.Board, pawn: chess.Square) -> list[chess.Square]:
    """The friendly pawns on the files next to a pawn."""
    side = board.color_at(pawn)
    assert side is not None
    pawns = board.pieces(chess.PAWN, side)
    return [each for each in pawns if abs(chess.square_file(each) - chess.square_file(pawn)) == 1]


def isolated(board: chess.Board, owner: chess.Color) -> Places:
    """No friendly pawn stands on a file next to it."""
    return (chess.square_file(pawn) for pawn in board.pieces(chess.PAWN, owner) if not neighbours(board, pawn))


def doubled(board: chess.Board, owner: chess.Color) -> Places:
    """Another friendly pawn stands on its file."""
    files = [chess.square_file(pawn) for pawn in board.pieces(chess.PAWN, owner)]
    return (file for file in set(files) if files.count(file) > 1)


def backward(board: chess.Board, owner: chess.Color) -> Places:
    """Its neighbours are all ahead of it, and an enemy pawn attacks the square in front of it."""
    forward = 1 if owner else -1
    for pawn in board.pieces(chess.PAWN, owner):
        rank, others = chess.square_rank(pawn), neighbours(board, pawn)
        is_last = all((chess.square_rank(each) - rank) * forward > 0 for each in others)
        if others and is_last and board.attackers(not owner, pawn + 8 * forward) & board.pieces(chess.PAWN, not owner):
            yield chess.square_file(pawn)


def passed(board: chess.Board, owner: chess.Color) -> Places:
    """No enemy pawn is ahead of it on its file or next to it, and no friendly one on its file."""
    for pawn in board.pieces(chess.PAWN, owner):
        ahead = [(owner, 0), (not owner, 0), (not owner, 1)]
        if not any(pawns_near(board, side, pawn, files, ahead_of=owner) for side, files in ahead):
            yield chess.square_file(pawn)


def rook_files(board: chess.Board, owner: chess.Color) -> Iterator[tuple[int, set[chess.Color]]]:
    """The files of rooks and queens, each with the sides that have pawns there."""
    for square in board.pieces(chess.ROOK, owner) | board.pieces(chess.QUEEN, owner):
        file = chess.square_file(square)
        yield file, {side for side in chess.COLORS if board.pieces(chess.PAWN, side) & chess.BB_FILES[file]}


def open_file(board: chess.Board, owner: chess.Color) -> Places:
    """A rook or queen stands on a file without pawns."""
    return (file for file, sides in rook_files(board, owner) if not sides)


def half_open_file(board: chess.Board, owner: chess.Color) -> Places:
    """A rook or queen stands on a file with enemy pawns only."""
    return (file for file, sides in rook_files(board, owner) if sides == {not owner})


def seventh_rank(board: chess.Board, owner: chess.Color) -> Places:
    """A rook stands on the seventh rank, and the enemy king on his first or an enemy pawn on the seventh."""
    seventh, home = (6, 7) if owner else (1, 0)
    king, pawns = board.king(not owner), board.pieces(chess.PAWN, not owner)
    assert king is not None
    if chess.square_rank(king) == home or pawns & chess.BB_RANKS[seventh]:
        yield from board.pieces(chess.ROOK, owner) & chess.BB_RANKS[seventh]


def outpost(board: chess.Board, owner: chess.Color) -> Places:
    """A knight or bishop on the ranks 4 to 6 is guarded by a pawn, and no enemy pawn can ever attack it."""
    for square in board.pieces(chess.KNIGHT, owner) | board.pieces(chess.BISHOP, owner):
        rank = chess.square_rank(square) if owner else 7 - chess.square_rank(square)
        is_guarded = board.attackers(owner, square) & board.pieces(chess.PAWN, owner)
        if 3 <= rank <= 5 and is_guarded and not pawns_near(board, not owner, square, 1, ahead_of=owner):
            yield square


def bishop_pair(board: chess.Board, owner: chess.Color) -> Places:
    """The owner has bishops on squares of both colours, and the enemy has not."""
    bishops = {side: board.pieces(chess.BISHOP, side) for side in chess.COLORS}
    pairs = {side: all(own & squares for squares in SHADES) for side, own in bishops.items()}
    if pairs[owner] and not pairs[not owner]:
        yield from bishops[owner]


def king_shield(board: chess.Board, owner: chess.Color) -> Places:
    """A king on his first two ranks has no friendly pawn ahead on his file or one next to it."""
    king = board.king(owner)
    assert king is not None
    file, rank = chess.square_file(king), chess.square_rank(king) if owner else 7 - chess.square_rank(king)
    for each in range(max(0, file - 1), min(7, file + 1) + 1) if rank <= 1 else ():
        if not pawns_near(board, owner, chess.square(each, chess.square_rank(king)), 0, ahead_of=owner):
            yield each


def centre(board: chess.Board, owner: chess.Color) -> Places:
    """A knight or bishop stands on c4 to f5."""
    yield from CENTRE & (board.pieces(chess.KNIGHT, owner) | board.pieces(chess.BISHOP, owner))


def central_king(board: chess.Board, owner: chess.Color) -> Places:
    """A king stands on c4 to f5, and the enemy has no queen."""
    if not board.pieces(chess.QUEEN, not owner):
        yield from CENTRE & board.pieces(chess.KING, owner)


class Fact(NamedTuple):
    """Where a fact holds, of which pieces, and the words of which a sentence about it has one.

    And whether it is good for their owner, and whether files tell two apart.
    """

    places: Callable[[chess.Board, chess.Color], Places]
    kinds: str
    words: str
    is_good: bool
    is_by_file: bool


FACTS = {
    "isolated pawn": Fact(isolated, "P", "isolat", is_good=False, is_by_file=True),
    "doubled pawn": Fact(doubled, "P", "doubled", is_good=False, is_by_file=True),
    "backward pawn": Fact(backward, "P", "backward", is_good=False, is_by_file=True),
    "passed pawn": Fact(passed, "P", "pass", is_good=True, is_by_file=True),
    "open file": Fact(open_file, "RQ", "(?<!half-)open", is_good=True, is_by_file=True),
    "half-open file": Fact(half_open_file, "RQ", "half-open", is_good=True, is_by_file=True),
    "seventh rank": Fact(seventh_rank, "R", "seventh|second", is_good=True, is_by_file=False),
    "outpost": Fact(outpost, "NB", "outpost", is_good=True, is_by_file=False),
    "bishop pair": Fact(bishop_pair, "B", "bishop pair", is_good=True, is_by_file=False),
    "king shield": Fact(king_shield, "K", "king", is_good=False, is_by_file=True),
    "centre": Fact(centre, "NB", "cent", is_good=True, is_by_file=False),
    "central king": Fact(central_king, "K", "cent", is_good=True, is_by_file=False),
}


def place(claim: Claim) -> None:
    """The fact holds at the end of `line` for the pieces named, and not at the end of `other_line`."""
    owner, fact = claim.pieces[0].piece.color, FACTS[claim.kind]
    here, there = (set(fact.places(boards[-1], owner)) for boards in (claim.boards, claim.others))
    need((owner == claim.side) == fact.is_good, "it favours the other side")
    for each in claim.pieces:
        need(each.piece.color == owner and each.piece.symbol().upper() in fact.kinds, f"it is not about {said(each)}")
        if claim.kind != "king shield":
            at = chess.square_file(each.square) if fact.is_by_file else each.square
            need(at in here, f"it does not hold for {said(each)}")
            need(at not in there, f"it holds for {said(each)} in the other line too")
    need(here - there and (fact.is_by_file or len(here) > len(there)), "it holds as much in the other line")
    if fact.is_by_file:
        files = {chess.FILE_NAMES.index(name) for name in re.findall(r"\b([a-h])-file", claim.text)}
        need(files <= here - there, "it is not about that file")
