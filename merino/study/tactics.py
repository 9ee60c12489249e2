"""Tactics on a board of python-chess, as players call them: what a move attacks, pins, traps or mates by."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import chess

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 100}
MIN_PIECE_WON = 2  # pawns that an exchange wins where it wins a piece
MIN_GAIN = 1  # pawns that count as winning something
QUEENED = 8  # pawns that a promotion wins
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
    """The pawns that `side` wins by capturing on a square as long as it pays, 0 if it does not; pinned men may not."""
    target = worth_at(board, square)
    attackers = [each for each in board.attackers(side, square) if square in board.pin(side, each)]
    if not attackers or not target:
        return 0
    least = min(attackers, key=lambda attacker: worth_at(board, attacker))
    after = board.copy(stack=False)
    piece = after.remove_piece_at(least)
    assert piece
    after.set_piece_at(square, piece)
    return max(0, target - exchange(after, square, not side))


def best_capture(board: chess.Board) -> int:
    """The pawns that the side to move wins by its best exchange."""
    targets = chess.SquareSet(board.occupied_co[not board.turn] & ~board.kings)
    return max((exchange(board, square, board.turn) for square in targets), default=0)


def second_threat(board: chess.Board) -> int:
    """The pawns that the other side wins by an exchange if the side to move saves one man, which in check it cannot."""
    side = board.turn
    targets = chess.SquareSet(board.occupied_co[side] & ~board.kings)
    threats = sorted((exchange(board, square, not side) for square in targets), reverse=True)
    saved = 0 if board.is_check() else 1
    return (threats[saved:] or [0])[0]


def can_promote(board: chess.Board) -> bool:
    """Whether a pawn of the side to move can step to its last rank."""
    rank, step = (chess.BB_RANK_7, 8) if board.turn else (chess.BB_RANK_2, -8)
    return any(board.piece_type_at(square + step) is None for square in board.pieces(chess.PAWN, board.turn) & rank)


def is_quiet(board: chess.Board) -> bool:
    """Whether neither side can take anything at a profit, nor the side to move promote."""
    return not (can_promote(board) or best_capture(board) or second_threat(board))


def carried(
    at: Mapping[chess.Square, chess.Square], board: chess.Board, move: chess.Move
) -> dict[chess.Square, chess.Square]:
    """The first squares of men, by the square where each stands, after a move on the board."""
    now = dict(at)
    if not board.is_castling(move):
        if (taken := taken_on(board, move)) is not None:
            now.pop(taken)
        now[move.to_square] = now.pop(move.from_square)
        return now
    rank, is_short = move.from_square & 56, board.is_kingside_castling(move)
    corner = move.to_square if board.chess960 else rank + (7 if is_short else 0)
    king, rook = now.pop(move.from_square), now.pop(corner)
    return now | {rank + (6 if is_short else 2): king, rank + (5 if is_short else 3): rook}


def trapped(board: chess.Board) -> Iterator[chess.Square]:
    """The pieces of the side to move that are attacked and lost wherever they go, the most valuable first.

    None in check, and none that are lost only because something else must be saved.
    """
    if board.is_check():
        return
    side = board.turn
    pieces = (square for kind in reversed(PIECES) for square in board.pieces(kind, side))
    for square in pieces:
        if exchange(board, square, not side) < MIN_PIECE_WON:
            continue
        if all(_loses(board, move) for move in board.legal_moves if move.from_square == square):
            yield square


def _loses(board: chess.Board, move: chess.Move) -> bool:
    """Whether a piece that moves is taken for more than it takes."""
    taken = taken_on(board, move)
    gained = 0 if taken is None else worth_at(board, taken)
    after = board.copy(stack=False)
    after.push(move)
    return exchange(after, move.to_square, after.turn) - gained >= MIN_PIECE_WON


def is_hanging(board: chess.Board, square: chess.Square) -> bool:
    """Whether the piece on a square can be taken with a profit."""
    colour = board.color_at(square)
    return colour is not None and exchange(board, square, not colour) > 0


def worth_attacking(board: chess.Board, square: chess.Square) -> list[chess.Square]:
    """The pieces worth attacking that a piece attacks after its move; none if it can be taken with a profit.

    They are the king, pieces worth more than it, and pieces that nothing guards; pawns do not count.
    """
    piece = board.piece_at(square)
    if piece is None or is_hanging(board, square):
        return []
    own, others = WORTH[piece.piece_type], board.occupied & ~chess.BB_SQUARES[square]  # a guard may stand behind it
    return [
        target
        for target in board.attacks(square)
        if board.color_at(target) == (not piece.color)
        and board.piece_type_at(target) != chess.PAWN
        and (worth_at(board, target) > own or not board.attackers(not piece.color, target, others))
    ]


def deeds(board: chess.Board, line: Sequence[chess.Move]) -> str:
    """Two things at most that the first move of a line does, the most forcing first: "attacks the queen on d8"."""
    return " and ".join(islice(_deeds(board, line), 2))


def _deeds(board: chess.Board, line: Sequence[chess.Move]) -> Iterator[str]:
    move, after = line[0], board.copy(stack=False)
    own, at = kind_at(board, move.from_square), move.to_square
    after.push(move)
    if board.is_castling(move):
        yield "castles"
        return
    if is_exchange(board, line):
        names = chess.piece_name(own), chess.piece_name(kind_at(board, at))
        yield f"exchanges {names[0]}s" if names[0] == names[1] else f"exchanges a {names[0]} for a {names[1]}"
    if targets := attacked(after, at):
        yield f"attacks the {' and the '.join(piece_name(after, target) for target in targets)}"
    is_central = own == chess.PAWN and chess.BB_SQUARES[at] & chess.BB_CENTER
    if is_central and not (board.is_capture(move) or after.is_check()):
        yield "occupies the centre"
    home = chess.square_rank(move.from_square) == (0 if board.turn else 7) != chess.square_rank(at)
    if home and own in (chess.KNIGHT, chess.BISHOP):
        yield f"develops the {chess.piece_name(own)}"


def is_exchange(board: chess.Board, line: Sequence[chess.Move]) -> bool:
    """Whether the first move of a line takes a man and loses one of the same worth on its square."""
    if len(line) < 2 or not (taken := board.piece_type_at(line[0].to_square)):
        return False
    return line[1].to_square == line[0].to_square and WORTH[taken] == worth_at(board, line[0].from_square)


def attacked(board: chess.Board, square: chess.Square) -> list[chess.Square]:
    """Two pieces at most, no kings, that are worth attacking by a piece."""
    return [each for each in worth_attacking(board, square) if board.piece_type_at(each) != chess.KING][:2]


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


def discovered_by(before: chess.Board, move: chess.Move) -> list[tuple[chess.Square, chess.Square]]:
    """The enemy pieces that a legal move makes another piece attack by getting out of its way, kings first.

    Each comes behind the piece that attacks it. Pieces count that are worth more than the attacker, or that nothing
    guards.
    """
    after, side = before.copy(stack=False), before.turn
    after.push(move)
    found, stayed = [], before.occupied_co[side] & after.occupied_co[side] & ~chess.BB_SQUARES[move.to_square]
    sliders = before.bishops & after.bishops | before.rooks & after.rooks | before.queens & after.queens
    for slider in chess.SquareSet(stayed & sliders):  # a rook that has castled does not stand where it stood
        for target in after.attacks(slider) - before.attacks(slider):
            is_piece = after.color_at(target) == (not side) and after.piece_type_at(target) != chess.PAWN
            if is_piece and (
                worth_at(after, target) > worth_at(after, slider) or not after.attackers(not side, target)
            ):
                found.append((slider, target))
    return sorted(found, key=lambda pair: -worth_at(after, pair[1]))


# How games are drawn by the rules, each with what the last move does.
DRAWS = {
    "repetition": "draws by perpetual check",
    "stalemate": "stalemates",
    "too little material": "leaves too little material to win",
    "fifty moves": "draws by the fifty-move rule",
}


def drawing(board: chess.Board) -> str | None:
    """Which of the draws, but for a repetition, a position is; None if it is none."""
    if board.is_stalemate():
        return "stalemate"
    if board.is_insufficient_material():
        return "too little material"
    return "fifty moves" if board.is_fifty_moves() else None


def balance(board: chess.Board, side: chess.Color) -> int:
    """The pawns by which a side is ahead in material."""
    return pawns_of(men(board, side)) - pawns_of(men(board, not side))
