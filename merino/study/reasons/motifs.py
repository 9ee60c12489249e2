"""Motifs of tactics on a board of python-chess: what a move attacks, pins or mates by, as players call it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import chess

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 100}
MIN_PIECE_WON = 2  # pawns that an exchange wins where it wins a piece
PIECES = (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)
SLIDERS = (chess.BISHOP, chess.ROOK, chess.QUEEN)


def placed(kind: chess.PieceType, square: chess.Square) -> str:
    """A piece by its kind and place: "knight on d5"."""
    return f"{chess.piece_name(kind)} on {chess.square_name(square)}"


def piece_name(board: chess.Board, square: chess.Square) -> str:
    """The piece on a square, as `placed` names it."""
    return placed(kind_at(board, square), square)


def kind_at(board: chess.Board, square: chess.Square) -> chess.PieceType:
    """The kind of the piece on a square that is not empty."""
    kind = board.piece_type_at(square)
    assert kind
    return kind


def boards_along(start: chess.Board, moves: Sequence[chess.Move]) -> list[chess.Board]:
    """The board before the first move and after each."""
    boards = [start]
    for move in moves:
        boards.append(boards[-1].copy(stack=False))
        boards[-1].push(move)
    return boards


def men(board: chess.Board, side: chess.Color) -> Counter[chess.PieceType]:
    """How many of each kind a side has, the king included."""
    return Counter(piece.piece_type for piece in board.piece_map().values() if piece.color == side)


def exchanged(
    before: chess.Board, after: chess.Board, side: chess.Color
) -> tuple[Counter[chess.PieceType], Counter[chess.PieceType]]:
    """What `side` has less on the second board, and what the other side has; like for like is left out."""
    own, other = (men(before, colour) - men(after, colour) for colour in (side, not side))
    return own - other, other - own


def pawns_of(kinds: Counter[chess.PieceType]) -> int:
    """What pieces are worth together, in pawns."""
    return sum(WORTH[kind] * count for kind, count in kinds.items())


def worth_at(board: chess.Board, square: chess.Square) -> int:
    """The worth of the piece on a square in pawns, 0 for none; a king is worth more than all."""
    return WORTH[kind] if (kind := board.piece_type_at(square)) else 0


def taken_on(board: chess.Board, move: chess.Move) -> chess.Square | None:
    """The square of the piece that a move takes, None if it takes none."""
    if board.is_en_passant(move):
        return chess.square(chess.square_file(move.to_square), chess.square_rank(move.from_square))
    return move.to_square if board.is_capture(move) else None


def exchange(board: chess.Board, square: chess.Square, side: chess.Color) -> int:
    """The pawns that `side` wins by capturing on a square as long as it pays, 0 if it does not: pins do not count."""
    target = worth_at(board, square)
    attackers = board.attackers(side, square)
    if not attackers or not target:
        return 0
    least = min(attackers, key=lambda attacker: worth_at(board, attacker))
    after = board.copy(stack=False)
    piece = after.remove_piece_at(least)
    assert piece
    after.set_piece_at(square, piece)
    return max(0, target - exchange(after, square, not side))


def wins_piece(board: chess.Board) -> bool:
    """Whether the side to move wins more than a pawn by an exchange."""
    targets = chess.SquareSet(board.occupied_co[not board.turn] & ~board.kings)
    return any(exchange(board, square, board.turn) >= MIN_PIECE_WON for square in targets)


def settled_plies(boards: Sequence[chess.Board]) -> int | None:
    """The plies of a line, by the boards along it, to the last on which no piece can be won at once; None without."""
    return next((plies for plies in range(len(boards) - 1, -1, -1) if not wins_piece(boards[plies])), None)


def is_hanging(board: chess.Board, square: chess.Square) -> bool:
    """Whether the piece on a square can be taken with a profit."""
    colour = board.color_at(square)
    return colour is not None and exchange(board, square, not colour) > 0


def fork_targets(board: chess.Board, square: chess.Square) -> list[chess.Square]:
    """The pieces that a piece attacks after its move, if there are two or more and it cannot be taken with a profit.

    They are the king, pieces worth more than it, and pieces that nothing guards; pawns do not count.
    """
    piece = board.piece_at(square)
    if piece is None or is_hanging(board, square):
        return []
    own = WORTH[piece.piece_type]
    found = [
        target
        for target in board.attacks(square)
        if board.color_at(target) == (not piece.color)
        and board.piece_type_at(target) != chess.PAWN
        and (worth_at(board, target) > own or not board.attackers(not piece.color, target))
    ]
    return found if len(found) > 1 else []


def pins_by(board: chess.Board, square: chess.Square) -> Iterator[tuple[chess.Square, chess.Square]]:
    """The pieces that the slider on a square pins, each with what stands behind it: the king, or a piece worth more.

    A pawn is not worth pinning, except to the king.
    """
    for front, behind in _in_line(board, square):
        if worth_at(board, behind) > max(worth_at(board, front), worth_at(board, square)):
            yield front, behind


def skewers_by(board: chess.Board, square: chess.Square) -> Iterator[tuple[chess.Square, chess.Square]]:
    """The pieces that the slider on a square drives away, worth more than it, each with one behind that it wins."""
    for front, behind in _in_line(board, square):
        own, first, second = (worth_at(board, each) for each in (square, front, behind))
        guards = board.attackers(not board.color_at(square), behind)
        if first > own and first >= second and (second > own or not guards):
            yield front, behind


def _in_line(board: chess.Board, square: chess.Square) -> Iterator[tuple[chess.Square, chess.Square]]:
    """The enemy pieces that the slider on a square attacks, each with the next enemy piece behind it; no pawns."""
    piece = board.piece_at(square)
    if piece is None or piece.piece_type not in SLIDERS:
        return
    for front in board.attacks(square):
        if board.color_at(front) != (not piece.color) or board.piece_type_at(front) == chess.PAWN:
            continue
        beyond = board.copy(stack=False)
        beyond.remove_piece_at(front)
        ray = chess.SquareSet.ray(square, front) & beyond.attacks(square)
        for behind in ray - board.attacks(square):
            is_piece = board.piece_type_at(behind) not in (None, chess.PAWN)
            if is_piece and board.color_at(behind) == (not piece.color):
                yield front, behind


def discovered_by(before: chess.Board, move: chess.Move) -> list[chess.Square]:
    """The enemy pieces that a legal move makes another piece attack by getting out of its way, kings first.

    Pieces count that are worth more than the attacker, or that nothing guards.
    """
    after, side = before.copy(stack=False), before.turn
    after.push(move)
    found = []
    for slider in _sliders(before, after, move):
        for target in after.attacks(slider) - before.attacks(slider):
            is_piece = after.color_at(target) == (not side) and after.piece_type_at(target) != chess.PAWN
            if is_piece and (
                worth_at(after, target) > worth_at(after, slider) or not after.attackers(not side, target)
            ):
                found.append(target)
    return sorted(found, key=lambda target: -worth_at(after, target))


def _sliders(before: chess.Board, after: chess.Board, move: chess.Move) -> Iterator[chess.Square]:
    """The sliders of the side that makes a move which stand where they stood: a rook that has castled does not."""
    for kind in SLIDERS:
        stayed = before.pieces(kind, before.turn) & after.pieces(kind, before.turn)
        yield from stayed - chess.SquareSet([move.to_square])


def is_back_rank_mate(board: chess.Board) -> bool:
    """Whether a rook or queen has mated a king on his first rank behind his own pawns."""
    king = board.king(board.turn)
    if king is None or not board.is_checkmate():
        return False
    home = 0 if board.turn == chess.WHITE else 7
    in_front = chess.SquareSet(chess.BB_KING_ATTACKS[king]) & chess.BB_RANKS[1 if home == 0 else 6]
    by_line = all(
        chess.square_rank(checker) == home and board.piece_type_at(checker) in (chess.ROOK, chess.QUEEN)
        for checker in board.checkers()
    )
    own_pawns = sum(board.piece_at(square) == chess.Piece(chess.PAWN, board.turn) for square in in_front)
    return chess.square_rank(king) == home and by_line and own_pawns >= 2


def drawing(board: chess.Board) -> str | None:
    """How the move to this position draws at once, as what it does; None if it does not."""
    if board.is_stalemate():
        return "stalemates"
    if board.is_insufficient_material():
        return "leaves too little material to win"
    return "draws by the fifty-move rule" if board.is_fifty_moves() else None
