"""Facts about where pieces and pawns stand, as chess players name them, and which of them two lines leave different.

Each fact is a rule on the board alone, in plain chess, whatever the terms of an evaluation count.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import chess

from merino.core.board.fen import COLOUR_NAMES

CENTRE = chess.SquareSet(0x3C_3C00_0000)  # c4 to f5
LESS_MOBILE = 3  # squares by which the reach of a piece must differ to be named
FILE, GAP, SQUARE, LINE = "file", "gap", "square", "line"  # what makes a fact the same on two boards


class Standing(NamedTuple):
    """Where a fact holds: the square of its piece, and the words that go with it, such as a file."""

    square: chess.Square
    detail: str = ""


@dataclass(frozen=True)
class Fact:
    """A kind of fact: where it holds on a board for a side, and what sentences say of it.

    `words` take the owner, files, squares and a verb. `terms` are those that count it, in any set, by the beginnings
    of their names. `by` is what two boards must share for a fact to be the same on both: the file of a pawn, which
    stays there unless it takes, that of a gap, the square of a piece, or of one on a line also the file of another.
    """

    holds: Callable[[chess.Board, chess.Color], Iterator[Standing]]
    terms: tuple[str, ...]
    is_good: bool
    words: str
    by: str = SQUARE  # or FILE, GAP or LINE


def _ahead(square: chess.Square, side: chess.Color, files: int) -> chess.SquareSet:
    """The squares ahead of a pawn on its own file and so many to each side."""
    rank, file = chess.square_rank(square), chess.square_file(square)
    ranks = range(rank + 1, 8) if side else range(rank)
    across = range(max(0, file - files), min(7, file + files) + 1)
    return chess.SquareSet(chess.square(each, row) for each in across for row in ranks)


def _neighbours(square: chess.Square) -> chess.SquareSet:
    """The adjacent files of a square."""
    file = chess.square_file(square)
    return chess.SquareSet(sum(chess.BB_FILES[each] for each in (file - 1, file + 1) if 0 <= each < 8))


def _pawns(board: chess.Board, side: chess.Color) -> chess.SquareSet:
    return board.pieces(chess.PAWN, side)


def isolated(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Pawns without a friendly pawn on an adjacent file."""
    own = _pawns(board, side)
    return (Standing(square) for square in own if not own & _neighbours(square))


def doubled(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Pawns with a friendly pawn ahead of them on their file."""
    own = _pawns(board, side)
    return (Standing(square) for square in own if own & _ahead(square, side, 0))


def backward(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Pawns that no friendly pawn can guard from an adjacent file, and whose next square an enemy pawn attacks."""
    own = _pawns(board, side)
    for square in own:
        step = square + (8 if side else -8)
        level_or_behind = _neighbours(square) - _ahead(square, side, 1)
        attackers = board.attackers(not side, step) & _pawns(board, not side)
        if not own & level_or_behind and own & _neighbours(square) and attackers:
            yield Standing(square)


def passed(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Pawns without an enemy pawn ahead on their file or an adjacent one, nor a friendly one ahead on their file."""
    own, other = _pawns(board, side), _pawns(board, not side)
    clear = (square for square in own if not other & _ahead(square, side, 1) and not own & _ahead(square, side, 0))
    return map(Standing, clear)


def _on_files(board: chess.Board, side: chess.Color, is_open: bool) -> Iterator[Standing]:
    """Rooks on files without pawns, or without friendly ones only."""
    for square in board.pieces(chess.ROOK, side):
        file = chess.SquareSet(chess.BB_FILES[chess.square_file(square)])
        if not file & _pawns(board, side) and is_open == (not file & _pawns(board, not side)):
            yield Standing(square)


def on_open_files(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Rooks on files without pawns."""
    return _on_files(board, side, is_open=True)


def on_half_open_files(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Rooks on files with enemy pawns only."""
    return _on_files(board, side, is_open=False)


def on_the_seventh(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Rooks on the seventh rank, with the enemy king on his first or enemy pawns on it."""
    seventh, home = (chess.BB_RANK_7, chess.BB_RANK_8) if side else (chess.BB_RANK_2, chess.BB_RANK_1)
    king = board.king(not side)
    if (king is not None and chess.BB_SQUARES[king] & home) or _pawns(board, not side) & seventh:
        yield from map(Standing, board.pieces(chess.ROOK, side) & seventh)


def outposts(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Knights and bishops on the ranks 4 to 6 of their side, guarded by a pawn, that no enemy pawn can ever attack."""
    own, other = _pawns(board, side), _pawns(board, not side)
    for square in board.pieces(chess.KNIGHT, side) | board.pieces(chess.BISHOP, side):
        rank = chess.square_rank(square) if side else 7 - chess.square_rank(square)
        can_be_attacked = other & _neighbours(square) & _ahead(square, side, 1)
        if 3 <= rank <= 5 and board.attackers(side, square) & own and not can_be_attacked:
            yield Standing(square)


def bishop_pairs(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """One of the bishops of a side that has them on both colours, where the other side has not."""

    def pair(colour: chess.Color) -> bool:
        found = board.pieces(chess.BISHOP, colour)
        return bool(found & chess.BB_LIGHT_SQUARES and found & chess.BB_DARK_SQUARES)

    if pair(side) and not pair(not side):
        yield Standing(min(board.pieces(chess.BISHOP, side)))


def unshielded(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """The king on his first two ranks who cannot castle, against a queen: each file at him without a pawn of his."""
    is_safe = board.has_castling_rights(side) or not board.pieces(chess.QUEEN, not side)
    return iter(()) if is_safe else _gaps(board, side)


def _gaps(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Each file at a king on his first two ranks without a pawn of his ahead."""
    king = board.king(side)
    first_two = chess.BB_RANK_1 | chess.BB_RANK_2 if side else chess.BB_RANK_7 | chess.BB_RANK_8
    if king is None or not chess.BB_SQUARES[king] & first_two:
        return
    ahead = _ahead(king, side, 1)
    for file in range(max(0, chess.square_file(king) - 1), min(7, chess.square_file(king) + 1) + 1):
        if not _pawns(board, side) & ahead & chess.BB_FILES[file]:
            yield Standing(king, chess.FILE_NAMES[file])


def in_the_centre(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Knights and bishops on c4 to f5."""
    return map(Standing, (board.pieces(chess.KNIGHT, side) | board.pieces(chess.BISHOP, side)) & CENTRE)


def central_pawns(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """Pawns on c4 to f5."""
    return map(Standing, _pawns(board, side) & CENTRE)


def central_kings(board: chess.Board, side: chess.Color) -> Iterator[Standing]:
    """A king on c4 to f5, where the other side has no queen."""
    return map(Standing, () if board.pieces(chess.QUEEN, not side) else board.pieces(chess.KING, side) & CENTRE)


# The verbs of a sentence where a fact holds, begins to hold, holds no longer, does not hold, and would hold.
HOLDS = {"is": "is", "has": "has", "stands": "stands", "shields": "shields"}
BEGINS = {"is": "becomes", "has": "now has", "stands": "now stands", "shields": "now shields"}
ENDS = {"is": "is no longer", "has": "no longer has", "stands": "no longer stands"}
LACKS = {"is": "is not", "has": "does not have", "stands": "does not stand"}
WOULD = {"is": "would be", "has": "would have", "stands": "would stand", "shields": "would shield"}
_SEVERAL = {"is": "are", "becomes": "become", "has": "have", "stands": "stand", "does": "do"}
FACTS = {
    "isolated pawn": Fact(isolated, ("PawnIsolated",), False, "{owner}'s {file}-pawn{s} {is} isolated", FILE),
    "doubled pawn": Fact(doubled, ("PawnDoubled",), False, "{owner}'s {file}-pawns {are} doubled", FILE),
    "backward pawn": Fact(backward, ("PawnBackward",), False, "{owner}'s {file}-pawn{s} {is} backward", FILE),
    "passed pawn": Fact(passed, ("PawnPassed", "Passed"), True, "{owner}'s {file}-pawn{s} {is} passed", FILE),
    "open file": Fact(
        on_open_files, ("RookOpen",), True, "{owner}'s rook{s} {stands} on the open {file}-file{s}", LINE
    ),
    "half-open file": Fact(
        on_half_open_files,
        ("RookOpen", "RookHalfOpen"),
        True,
        "{owner}'s rook{s} {stands} on the half-open {file}-file{s}",
        LINE,
    ),
    "seventh rank": Fact(on_the_seventh, ("Rook7th",), True, "{owner}'s rook{s} {stands} on the seventh rank"),
    "outpost": Fact(
        outposts, ("KnightOutpost", "BishopOutpost"), True, "{owner}'s {piece}{s} {has} an outpost on {square}"
    ),
    "bishop pair": Fact(bishop_pairs, ("BishopPair",), True, "{owner} {has} the bishop pair"),
    "king shield": Fact(
        unshielded,
        ("KingPawnShield", "KingShelter"),
        False,
        "no pawn {shields} {owner}'s king on the {file}-file{s}",
        GAP,
    ),
    "centre": Fact(
        in_the_centre,
        ("KnightCenter", "BishopCenter", "KnightSquare", "BishopSquare"),
        True,
        "{owner}'s {piece}{s} {stands} in the centre on {square}",
    ),
    "central king": Fact(
        central_kings, ("KingCenterEnd", "KingSquare"), True, "{owner}'s king {stands} in the centre on {square}"
    ),
}
# Facts that sentences may state, but are no reason for a mistake.
STATED = FACTS | {
    "central pawn": Fact(central_pawns, ("PawnCenter",), True, "{owner}'s {file}-pawn{s} {stands} in the centre")
}


def differing(kind: str, here: chess.Board, there: chess.Board, owner: chess.Color) -> list[Standing]:
    """Where a fact holds for a side on the first board and has no counterpart on the second.

    The counterpart of a pawn is one on its file, that of a king at whose side a file is open the same file, queen or
    not, that of a rook on an open file also a queen there; of pieces there must be more on the first board. A passed
    pawn must have left its own third of the board.
    """
    fact = STATED[kind]
    own, other = list(fact.holds(here, owner)), list(fact.holds(there, owner))
    if kind == "passed pawn":
        own = [each for each in own if chess.square_rank(each.square) in (range(3, 7) if owner else range(1, 5))]
    if fact.by == FILE:
        files = {chess.square_file(each.square) for each in other}
        return [each for each in own if chess.square_file(each.square) not in files]
    if fact.by == GAP:
        return [each for each in own if each.detail not in {found.detail for found in _gaps(there, owner)}]
    if fact.by == LINE:
        files = set(map(chess.square_file, there.pieces(chess.ROOK, owner) | there.pieces(chess.QUEEN, owner)))
        own = [each for each in own if chess.square_file(each.square) not in files]
    squares = {each.square for each in other}
    return [each for each in own if each.square not in squares] if len(own) > len(other) else []


def changed(kind: str, before: chess.Board, after: chess.Board, owner: chess.Color) -> tuple[list[Standing], ...]:
    """Where a fact begins to hold for a side, and where it ends, of pieces that are still there.

    Of one that ends where a piece goes away and begins where another comes, as of a pawn that takes, there is neither.
    Nor is there an end of a gap before a king, who may only have gone elsewhere.
    """

    def stays(found: Standing) -> bool:
        return before.piece_at(found.square) == after.piece_at(found.square)

    def is_taken(found: Standing) -> bool:
        kind = before.piece_type_at(found.square) or chess.PAWN
        return not stays(found) and len(after.pieces(kind, owner)) != len(before.pieces(kind, owner))

    said = [{sentence(kind, board, [each]) for each in STATED[kind].holds(board, owner)} for board in (before, after)]
    begins, ends = differing(kind, after, before, owner), differing(kind, before, after, owner)
    ends = [found for found in ends if sentence(kind, before, [found]) not in said[1]]
    begins = [found for found in begins if sentence(kind, after, [found]) not in said[0]]
    if kind != "bishop pair":  # which ends when a bishop is taken
        ends = [found for found in ends if STATED[kind].by != GAP and not is_taken(found)]
    if begins and ends:
        begins, ends = ([found for found in each if stays(found)] for each in (begins, ends))
    return begins, ends


def sentence(kind: str, board: chess.Board, found: Sequence[Standing], verbs: Mapping[str, str] = HOLDS) -> str:
    """What is said of a fact that holds on the board in these places; pieces of different kinds one after the other."""
    kinds = {board.piece_type_at(each.square): None for each in found}
    if len(kinds) > 1:
        of_kinds = ([each for each in found if board.piece_type_at(each.square) == piece] for piece in kinds)
        return joined(sentence(kind, board, each, verbs) for each in of_kinds)
    files = sorted({each.detail or chess.FILE_NAMES[chess.square_file(each.square)] for each in found})
    squares = [chess.square_name(each.square) for each in found]
    is_several = len(files) > 1 or len({each.square for each in found}) > 1
    several = {verb: " ".join(_SEVERAL.get(word, word) for word in said.split()) for verb, said in verbs.items()}
    verbs = {**(several if is_several else verbs), "are": several["is"]}
    return STATED[kind].words.format(
        **verbs,
        s="s" if is_several else "",
        owner=COLOUR_NAMES[0 if board.color_at(found[0].square) else 1],
        file=joined(f"{file}-" for file in files)[:-1],
        square=joined(squares),
        piece=chess.piece_name(board.piece_type_at(found[0].square) or chess.PAWN),
    )


def joined(words: Iterable[str]) -> str:
    """Words as a list: "a, b and c"."""
    *first, last = words
    return " and ".join(filter(None, [", ".join(first), last]))


def reach(board: chess.Board, square: chess.Square) -> int:
    """The squares that a piece attacks and no friendly piece stands on."""
    side = board.color_at(square)
    return 0 if side is None else len(board.attacks(square) - board.occupied_co[side])
