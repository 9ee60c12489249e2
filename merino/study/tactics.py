"""Tactics on a board of python-chess, as players call them: what a move attacks, pins, traps or mates by."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import chess

from merino.core.board.game import FIFTY_MOVES, Position
from merino.engine.notation.san import as_chess_move, board_of, score_text
from merino.engine.report.phrases import listed
from merino.engine.search.limits import Limits
from merino.study.analyser import Analyser

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 100}
MIN_PIECE_WON = 2  # pawns that an exchange wins where it wins a piece
MIN_GAIN = 1  # pawns that count as winning something
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
    pawns = board.pieces(chess.PAWN, board.turn) & rank
    return any(board.piece_type_at(square + step) is None for square in pawns)


def is_quiet(board: chess.Board) -> bool:
    """Whether neither side can take anything at a profit, nor the side to move promote."""
    return not (can_promote(board) or best_capture(board) or second_threat(board))


def carry(at: dict[chess.Square, chess.Square], board: chess.Board, move: chess.Move) -> None:
    """Move the first squares of men, by the square where each stands, as a move on the board moves them."""
    if not board.is_castling(move):
        at[move.to_square] = at.pop(move.from_square)
        return
    rank, is_short = move.from_square & 56, board.is_kingside_castling(move)
    to = move.to_square
    corner = to if board.chess960 else rank + (7 if is_short else 0)
    king, rook = at.pop(move.from_square), at.pop(corner)
    at[rank + (6 if is_short else 2)], at[rank + (5 if is_short else 3)] = king, rook


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
        flights = [move for move in board.legal_moves if move.from_square == square]
        if all(_loses(board, move) for move in flights):
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


def is_back_rank_mate(board: chess.Board) -> bool:
    """Whether a rook or queen has mated a king on his first rank behind friendly pawns."""
    king = board.king(board.turn)
    if king is None or not board.is_checkmate():
        return False
    home = 0 if board.turn == chess.WHITE else 7
    in_front = chess.SquareSet(chess.BB_KING_ATTACKS[king]) & chess.BB_RANKS[1 if home == 0 else 6]
    by_line = all(
        chess.square_rank(checker) == home and board.piece_type_at(checker) in (chess.ROOK, chess.QUEEN)
        for checker in board.checkers()
    )
    friendly = sum(board.piece_at(square) == chess.Piece(chess.PAWN, board.turn) for square in in_front)
    return chess.square_rank(king) == home and by_line and friendly >= 2


def drawing(board: chess.Board) -> str | None:
    """How the move to this position draws at once, as what it does; None if it does not."""
    if board.is_stalemate():
        return "stalemates"
    if board.is_insufficient_material():
        return "leaves too little material to win"
    return "draws by the fifty-move rule" if board.is_fifty_moves() else None


def balance(board: chess.Board, side: chess.Color) -> int:
    """The pawns by which a side is ahead in material."""
    return pawns_of(men(board, side)) - pawns_of(men(board, not side))


# How a line wins

SHOWN = 6  # plies of a line
MAX_MORE = 2  # times what the first capture wins that a line may win, for that capture to be what is stated
COUNTED = 12  # plies of a line in which something must be won to count, and that are shown if it is
REPETITION = "repetition"


@dataclass(frozen=True)
class FoundLine:
    """A line of the search from a board, and the moves to mate for the side that begins it, None without a mate.

    `is_even` says whether it has the score of a draw: the last moves of another may be played on after a win.
    """

    board: chess.Board
    moves: tuple[chess.Move, ...]
    mate: int | None
    is_even: bool = True

    @cached_property
    def _boards(self) -> list[chess.Board]:
        return boards_along(self.board, self.moves)

    def after(self, plies: int) -> chess.Board:
        """The board after so many of its moves, for the caller to change."""
        return self._boards[plies].copy(stack=False)

    @property
    def text(self) -> str:
        """Its first moves with their numbers, as far as it is shown."""
        return self.board.variation_san(list(self.moves[: self.shown]))

    @property
    def whole(self) -> str:
        """All of its moves with their numbers."""
        return self.board.variation_san(list(self.moves))

    @property
    def shown(self) -> int:
        """The plies that are shown of it: a few, and up to the last capture or promotion that counts."""
        pairs = zip(self._boards, self.moves[: self._counted], strict=False)
        counting = [ply for ply, (board, move) in enumerate(pairs, start=1) if board.is_capture(move) or move.promotion]
        return max(SHOWN, *counting, 0)

    @cached_property
    def settled(self) -> int | None:
        """The plies up to the last position, of those that count, where no piece can be won at once; None without."""
        return settled_plies(self._boards[: COUNTED + 1])

    @cached_property
    def gain(self) -> int:
        """The pawns that the side that begins it has won by it, less what the other side can take there.

        If it is the side's turn there, it can save one piece: only the second largest capture counts.
        """
        side, last = self.board.turn, self._boards[self._counted]
        targets = chess.SquareSet(last.occupied_co[side] & ~last.kings)
        captures = sorted((exchange(last, square, not side) for square in targets), reverse=True)
        lost = captures[1:2] if last.turn == side else captures[:1]
        return balance(last, side) - balance(self.board, side) - sum(lost)

    @cached_property
    def _counted(self) -> int:
        """The plies after which its gain is counted: not where the side that begins it is about to win a piece back."""
        side, plies = self.board.turn, range(min(len(self.moves), COUNTED), -1, -1)
        boards = self._boards
        return next((count for count in plies if boards[count].turn != side or not wins_piece(boards[count])), 0)

    @cached_property
    def won(self) -> tuple[Counter[chess.PieceType], Counter[chess.PieceType]]:
        """What each side takes where the gain is counted, the side that begins first; like for like is left out."""
        given, taken = exchanged(self.board, self._boards[self._counted], self.board.turn)
        return taken, given

    @cached_property
    def captures(self) -> list[tuple[chess.PieceType, chess.Square]]:
        """The pieces that the side that begins it takes, each with its square then, where the gain is counted."""
        pairs = zip(self._boards[: self._counted : 2], self.moves[::2], strict=False)
        taken = ((board, taken_on(board, move)) for board, move in pairs)
        return [(kind_at(board, square), square) for board, square in taken if square is not None]

    @cached_property
    def draw(self) -> str | None:
        """How it ends in a draw: "perpetual check", "repetition", "stalemate", "the fifty-move rule"; None if not."""
        if not self.is_even:
            return None
        last = self._boards[-1]
        if last.is_stalemate():
            return "stalemate"
        keys = [board.epd() for board in self._boards]
        if keys[-1] not in keys[:-1]:
            return "the fifty-move rule" if last.is_fifty_moves() else None
        cycle = self._boards[keys.index(keys[-1]) + 1 :]
        is_chased = any(all(board.is_check() for board in cycle if board.turn == side) for side in chess.COLORS)
        return "perpetual check" if is_chased else REPETITION

    @property
    def promotes(self) -> bool:
        """Whether the side that begins it has a promoted piece where its gain is counted, or has got something for it.

        It gets something by what the piece takes, or by taking what has taken it.
        """
        side, last, lost_on = self.board.turn, self._boards[self._counted], None
        if any(_is_kept(last, square) for square in chess.SquareSet(last.promoted & last.occupied_co[side])):
            return True
        for board, move in zip(self._boards, self.moves[: self._counted], strict=False):
            taken, promoted = taken_on(board, move), chess.SquareSet(board.promoted & board.occupied_co[side])
            if board.turn != side:
                lost_on = taken if taken is not None and taken in promoted else None
            elif taken is not None and (move.promotion or move.from_square in promoted or taken == lost_on):
                return True
        return False


class Means(Enum):
    """What wins material: the mistake that allows it, and the one that misses it."""

    HANGING = "hanging piece", "free piece left"
    HANGING_PAWN = "hanging pawn", "free pawn left"
    FORK = "fork allowed", "fork missed"
    SKEWER = "skewer allowed", "skewer missed"
    PIN = "pin allowed", "pin missed"
    DISCOVERY = "discovered attack allowed", "discovered attack missed"
    PROMOTION = "passed pawn let through", "promotion missed"
    MATERIAL = "material lost", "material not won"


@dataclass(frozen=True)
class Win:
    """How a line wins material: a sentence without a full stop, and the square of the piece that hangs, if one does."""

    means: Means
    sentence: str
    square: chess.Square | None = None


def win_by(line: FoundLine, gain: int, mover: str = "it") -> Win | None:
    """How a line wins so many pawns for the side that begins it; None if it does not. `mover` names its first move."""
    if not line.moves:
        return None
    taken = taken_on(line.board, line.moves[0])
    worth = 0 if taken is None else exchange(line.board, taken, line.board.turn)
    if taken is not None and line.gain / MAX_MORE <= worth <= line.gain and worth and not _is_answered(line):
        means = Means.HANGING_PAWN if line.board.piece_type_at(taken) == chess.PAWN else Means.HANGING
        return Win(means, f"the {piece_name(line.board, taken)} can be taken", taken)
    if gain < MIN_GAIN:
        return None
    if line.promotes:
        return _motif(line) or Win(Means.PROMOTION, "a pawn promotes")
    return _motif(line) or Win(Means.MATERIAL, f"{mover} wins {_spoils(line, gain)}")


def more_of(gain: int) -> str:
    """So many pawns in words: "a pawn"."""
    return "a pawn" if gain == 1 else f"material worth {gain} pawns"


def _spoils(line: FoundLine, gain: int) -> str:
    """What a line wins in words: "a rook for a bishop" where it takes just so much, else its worth."""
    taken, given = line.won
    if not taken or pawns_of(taken) - pawns_of(given) != gain:
        begins = f", first the {placed(*line.captures[0])}" if line.captures and gain > 1 else ""
        return more_of(gain) + begins
    won = listed(taken)
    if taken.total() == 1:
        (kind,) = taken
        places = [square for each, square in line.captures if each == kind]
        won = f"the {placed(kind, places[0])}" if len(places) == 1 else won
    return f"{won} for {listed(given)}" if given else won


def _is_kept(board: chess.Board, promoted: chess.Square) -> bool:
    """Whether a promoted piece is still worth more than a pawn if the other side, where it is to move, takes it."""
    piece = board.piece_at(promoted)
    assert piece
    lost = 0 if board.turn == piece.color else exchange(board, promoted, board.turn)
    return worth_at(board, promoted) - lost > WORTH[chess.PAWN]


def _is_answered(line: FoundLine) -> bool:
    """Whether the first move, a capture, is answered by winning a piece elsewhere."""
    board = line.after(1)
    square = taken_on(board, line.moves[1]) if len(line.moves) > 1 else None
    if square is None or square == line.moves[0].to_square:
        return False
    return exchange(board, square, board.turn) >= MIN_PIECE_WON


def _motif(line: FoundLine) -> Win | None:
    """The motif of the first move of a line that wins by it.

    What can be taken with a profit neither pins nor drives away.
    """
    move, board, name = line.moves[0], line.after(1), line.board.san(line.moves[0])
    targets = fork_targets(board, move.to_square)
    if targets and _takes(line, targets):
        largest = sorted(targets, key=lambda target: -worth_at(board, target))[:2]
        said = " and the ".join(piece_name(board, target) for target in largest)
        return Win(Means.FORK, f"{name} attacks the {said}")
    for means, verb, found in (
        (Means.SKEWER, "drives away", skewers_by(board, move.to_square)),
        (Means.PIN, "pins", pins_by(board, move.to_square)),
    ):
        for front, behind in () if is_hanging(board, move.to_square) else found:
            if _takes(line, [front, behind]):
                said = f"{name} {verb} the {piece_name(board, front)} before the {piece_name(board, behind)}"
                return Win(means, said)
    targets = discovered_by(line.board, move)
    if targets and _takes(line, [target for _, target in targets]):
        return Win(Means.DISCOVERY, f"{name} uncovers an attack on the {piece_name(board, targets[0][1])}")
    return None


def _takes(line: FoundLine, targets: Iterable[chess.Square]) -> bool:
    """Whether the second or third move of the side that begins the line takes one of these pieces, moved or not."""
    wanted = set(targets)
    board = line.after(1)
    for index, move in enumerate(line.moves[1:6], start=1):
        if index % 2 and move.from_square in wanted and board.piece_type_at(move.from_square) != chess.KING:
            wanted.discard(move.from_square)
            wanted.add(move.to_square)
        elif not index % 2 and taken_on(board, move) in wanted:
            return True
        board.push(move)
    return False


@dataclass(frozen=True)
class Threat:
    """What the other side threatens: its move, coordinates, and a sentence with the line.

    `score`, White's, and `depth` are those of the search in which it was its turn.
    """

    move: str
    sentence: str
    score: str
    depth: int


def threat_in(position: Position, analyser: Analyser, limits: Limits) -> Threat | None:
    """What the other side would win if it were to move; None if nothing, or in check."""
    board = board_of(position)
    if board.is_check() or not position.legal_moves:
        return None
    board.push(chess.Move.null())  # its counters may get beyond those that a FEN may have
    passed = Position(f"{board.epd()} {min(board.halfmove_clock, FIFTY_MOVES)}", position.chess960)
    if not passed.legal_moves:
        return None
    for found in analyser(passed, limits):
        moves = tuple(as_chess_move(move, position.chess960) for move in found.pv)
        mate = found.score.mate
        line = FoundLine(board.copy(stack=False), moves, mate if mate and mate > 0 else None)
        said = _sentence(line, "White" if passed.turn == 0 else "Black")
        return Threat(moves[0].uci(), said, score_text(found.score, passed.turn), found.depth) if said else None
    return None


def _sentence(line: FoundLine, side: str) -> str | None:
    if line.mate:
        return f"{side} threatens mate in {line.mate}: {line.text}."
    win = win_by(line, line.gain)
    return f"{side} threatens {line.board.san(line.moves[0])}: {win.sentence} ({line.text})." if win else None
