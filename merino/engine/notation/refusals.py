"""Why a move cannot be played, in words for the person who typed it. The rules are python-chess's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import chess

MAX_SUGGESTIONS = 10

# How well a reason shows what the person overlooked; of several, the one with the lowest rank is given.
_KING_IN_CHECK, _BLOCKED, _WRONG_TURN, _OUT_OF_REACH = range(4)


@dataclass(frozen=True)
class Refusal:
    """The reason, and what might have been meant: legal moves in short notation."""

    reason: str
    suggestions: tuple[str, ...] = ()
    lead: str = "try"  # the words before the suggestions

    def __str__(self) -> str:
        shown = ", ".join(self.suggestions[:MAX_SUGGESTIONS])
        more = ", ..." if len(self.suggestions) > MAX_SUGGESTIONS else ""
        return f"{self.reason}; {self.lead} {shown}{more}" if shown else self.reason


@dataclass(frozen=True)
class MoveRequest:
    """A move as it was written; None means unspecified. `piece` None means coordinates, whatever the piece there."""

    text: str
    piece: int | None = None
    file: int | None = None
    rank: int | None = None
    target: int = 0
    promotion: int | None = None
    takes: bool = False  # written as a capture: "x"
    castling: str = ""  # "kingside" or "queenside"; then the rest is ignored

    @property
    def origin(self) -> int | None:
        """The square of origin, if the text names it fully."""
        return None if self.file is None or self.rank is None else chess.square(self.file, self.rank)

    def candidates(self, board: chess.Board) -> list[chess.Move]:
        """The legal moves it can mean. A promotion without its piece means all of them."""
        legal = list(board.legal_moves)
        if self.castling:
            is_wanted = board.is_kingside_castling if self.castling == "kingside" else board.is_queenside_castling
            return [move for move in legal if is_wanted(move)]
        plain = [move for move in legal if self._fits(board, move) and not board.is_castling(move)]
        if plain or self.piece is not None or self.takes or self.promotion:
            return plain
        return [move for move in legal if board.is_castling(move) and self._is_castling_by_coordinates(board, move)]

    def starts_from(self, square: int) -> bool:
        """Whether it may mean the piece on `square`."""
        return self.file in (None, chess.square_file(square)) and self.rank in (
            None,
            chess.square_rank(square),
        )

    def _fits(self, board: chess.Board, move: chess.Move) -> bool:
        kind = board.piece_type_at(move.from_square)
        if move.to_square != self.target or self.piece not in (None, kind) or not self.starts_from(move.from_square):
            return False
        if self.takes and not board.is_capture(move):
            return False
        if (
            kind == chess.PAWN
            and self.file is None
            and chess.square_file(move.from_square) != chess.square_file(self.target)
        ):
            return False  # a pawn capture is written with its file: exd5
        return self.promotion in (None, move.promotion)

    def _is_castling_by_coordinates(self, board: chess.Board, move: chess.Move) -> bool:
        """Castling may also be written by the king's destination, or by the rook he takes."""
        is_kingside = board.is_kingside_castling(move)
        end = chess.square(6 if is_kingside else 2, chess.square_rank(move.from_square))
        return move.from_square == self.origin and self.target in (end, _castling_rook(board, is_kingside))


def why_not(board: chess.Board, request: MoveRequest, candidates: Sequence[chess.Move]) -> Refusal:
    """The refusal of a request; `candidates` are its legal readings, none or several."""
    if candidates:
        choices = tuple(board.san(move) for move in candidates)
        if all(move.promotion for move in candidates):
            return Refusal("name the piece that the pawn becomes", choices)
        return Refusal("more than one piece can go there", tuple(sorted(choices)), "say")
    if not any(board.legal_moves):
        return Refusal("there is no legal move: it is " + ("checkmate" if board.is_check() else "stalemate"))
    if request.castling:
        return Refusal(_why_not_castling(board, request.castling == "kingside"))
    quiet = replace(request, takes=False).candidates(board)
    if quiet:
        there = chess.square_name(request.target)
        return Refusal(f"there is nothing to capture on {there}", tuple(sorted(board.san(move) for move in quiet)))
    rank, reason = _reason(board, request)
    return Refusal(reason) if rank == _WRONG_TURN else Refusal(reason, *_suggestions(board, request))


def _reason(board: chess.Board, request: MoveRequest) -> tuple[int, str]:
    """The most helpful reason, with its rank."""
    if request.origin is not None:
        return _why_not_there(board, request, request.origin)
    origins = [
        square for square in board.pieces(request.piece or chess.PAWN, board.turn) if request.starts_from(square)
    ]
    if request.piece == chess.PAWN and request.file is None:
        origins = [square for square in origins if chess.square_file(square) == chess.square_file(request.target)]
    reasons = sorted(_why_not_from(board, square, request) for square in origins)
    if reasons and reasons[0][0] < _OUT_OF_REACH:
        return reasons[0]
    other = board.copy(stack=False)
    other.turn, other.ep_square = not board.turn, None
    if request.candidates(other):
        return _WRONG_TURN, f"it is {_name(board.turn)}'s turn, and this is a move for {_name(not board.turn)}"
    return reasons[0] if len(reasons) == 1 else (_OUT_OF_REACH, _no_such_piece(board, request, bool(reasons)))


def _why_not_there(board: chess.Board, request: MoveRequest, origin: int) -> tuple[int, str]:
    """Why the piece on the square named by the text cannot move."""
    piece = board.piece_at(origin)
    if piece is None:
        return _OUT_OF_REACH, f"there is no piece on {chess.square_name(origin)}"
    if piece.color != board.turn:
        return _WRONG_TURN, f"it is {_name(board.turn)}'s turn, and {_the(board, origin)} is {_name(piece.color)}'s"
    if request.piece not in (None, piece.piece_type):
        return _OUT_OF_REACH, f"on {chess.square_name(origin)} there is a {chess.piece_name(piece.piece_type)}"
    return _why_not_from(board, origin, request)


def _no_such_piece(board: chess.Board, request: MoveRequest, any_exists: bool) -> str:
    kind = chess.piece_name(request.piece or chess.PAWN)
    if any_exists:
        return f"no {kind} of {_name(board.turn)}'s can reach {chess.square_name(request.target)}"
    where = ""
    if request.file is not None:
        where = f" on the {chess.FILE_NAMES[request.file]}-file"
    elif request.rank is not None:
        where = f" on rank {request.rank + 1}"
    elif request.piece == chess.PAWN:
        where = f" on the {chess.FILE_NAMES[chess.square_file(request.target)]}-file"
    return f"{_name(board.turn)} has no {kind}{where}"


def _why_not_from(board: chess.Board, origin: int, request: MoveRequest) -> tuple[int, str]:
    """Why the piece on `origin` cannot go to the target, and the rank of the reason."""
    target, kind = request.target, board.piece_type_at(origin)
    if board.color_at(target) == board.turn:
        return _BLOCKED, f"{_name(board.turn)}'s own {_kind(board, target)} is on {chess.square_name(target)}"
    if request.promotion and (kind != chess.PAWN or chess.square_rank(target) not in (0, 7)):
        return _OUT_OF_REACH, "only a pawn that reaches the last rank becomes another piece"
    if kind == chess.PAWN:
        obstacle = _pawn_obstacle(board, origin, target)
        if obstacle:
            return obstacle
    elif not board.attacks_mask(origin) & chess.BB_SQUARES[target]:
        return _piece_obstacle(board, origin, target)
    return _KING_IN_CHECK, _king_danger(board, origin, target)


def _piece_obstacle(board: chess.Board, origin: int, target: int) -> tuple[int, str]:
    alone = chess.Board(None)
    alone.set_piece_at(origin, board.piece_at(origin))
    if alone.attacks_mask(origin) & chess.BB_SQUARES[target]:
        blockers = chess.SquareSet(chess.between(origin, target)) & chess.SquareSet(board.occupied)
        nearest = min(blockers, key=lambda square: chess.square_distance(origin, square))
        return _BLOCKED, f"{_the(board, nearest)} blocks the way of {_the(board, origin)}"
    if board.piece_type_at(origin) == chess.KING and abs(target - origin) == 2:
        return _OUT_OF_REACH, "a king moves one step; castling is written O-O or O-O-O"
    return _OUT_OF_REACH, f"{_the(board, origin)} cannot reach {chess.square_name(target)}"


def _pawn_obstacle(board: chess.Board, origin: int, target: int) -> tuple[int, str] | None:
    """What keeps a pawn from a square; None if it is only the safety of its king."""
    forward = 1 if board.turn == chess.WHITE else -1
    steps = (chess.square_rank(target) - chess.square_rank(origin)) * forward
    sideways = abs(chess.square_file(target) - chess.square_file(origin))
    is_home = chess.square_rank(origin) == (1 if board.turn == chess.WHITE else 6)
    if sideways == 1 and steps == 1:
        if board.piece_at(target) or target == board.ep_square:
            return None
        behind = board.piece_at(target - 8 * forward)
        is_passed = chess.square_rank(target) == (5 if board.turn == chess.WHITE else 2)
        is_late = is_passed and behind == chess.Piece(chess.PAWN, not board.turn)
        remark = " (en passant only directly after the double step)" if is_late else ""
        return _BLOCKED, f"there is nothing to capture on {chess.square_name(target)}{remark}"
    if sideways or not 1 <= steps <= 2:
        return _OUT_OF_REACH, f"{_the(board, origin)} cannot reach {chess.square_name(target)}"
    for step in range(1, steps + 1):
        square = origin + 8 * forward * step
        if board.piece_at(square):
            return _BLOCKED, f"{_the(board, square)} blocks the way of {_the(board, origin)}"
    if steps == 2 and not is_home:
        return _OUT_OF_REACH, f"{_the(board, origin)} is not on its first square and moves only one step"
    return None


def _king_danger(board: chess.Board, origin: int, target: int) -> str:
    """How an otherwise legal move leaves the king in check."""
    after = board.copy(stack=False)
    after.push(chess.Move(origin, target))
    king = after.king(board.turn)
    attacker = min(after.attackers(not board.turn, king)) if king is not None else None
    if attacker is None:
        return "it is not legal"
    by = _the(after, attacker)
    if board.piece_type_at(origin) == chess.KING:
        return f"the king would stand in check from {by}"
    if board.is_check():
        return f"it leaves the king in check from {by}"
    return f"{_the(board, origin)} is pinned: without it the king is in check from {by}"


def _why_not_castling(board: chess.Board, kingside: bool) -> str:
    wing = "kingside" if kingside else "queenside"
    king, rook = board.king(board.turn), _castling_rook(board, kingside)
    if rook is None or king is None:
        return f"{_name(board.turn)} has no right to castle {wing}: king or rook has moved"
    if board.is_check():
        return f"a king in check cannot castle, and {_the(board, min(board.checkers()))} gives check"
    rank = 8 * chess.square_rank(king)
    king_end, rook_end = rank + (6 if kingside else 2), rank + (5 if kingside else 3)
    path = chess.SquareSet(chess.between(king, king_end) | chess.between(rook, rook_end))
    path |= chess.SquareSet([king_end, rook_end])
    standing = (path - chess.SquareSet([king, rook])) & chess.SquareSet(board.occupied)
    if standing:
        verb = "stands" if len(standing) == 1 else "stand"
        return f"{' and '.join(_the(board, square) for square in standing)} {verb} in the way"
    for square in chess.SquareSet(chess.between(king, king_end) | chess.BB_SQUARES[king_end]):
        attackers = board.attackers(not board.turn, square)
        if attackers:
            meets = "end" if square == king_end else "pass"
            return f"the king would {meets} on {chess.square_name(square)}, which {_the(board, min(attackers))} attacks"
    return "the rook shields the king from a check"  # Chess960: a rook pinned along the first rank


def _castling_rook(board: chess.Board, kingside: bool) -> int | None:
    king = board.king(board.turn)
    home = chess.BB_RANK_1 if board.turn == chess.WHITE else chess.BB_RANK_8
    rooks = chess.SquareSet(board.clean_castling_rights() & home)
    on_wing = [rook for rook in rooks if king is not None and (rook > king) == kingside]
    return on_wing[0] if on_wing else None


def _suggestions(board: chess.Board, request: MoveRequest) -> tuple[tuple[str, ...], str]:
    """Legal moves similar to the request, and the words that introduce them."""
    legal = list(board.legal_moves)
    origin = request.origin
    if origin is not None and board.color_at(origin) == board.turn:
        kind, near = board.piece_type_at(origin), [move for move in legal if move.from_square == origin]
        words = f"legal moves of that {chess.piece_name(kind or chess.PAWN)}:"
    else:
        near = [move for move in legal if board.piece_type_at(move.from_square) == request.piece]
        if request.piece == chess.PAWN:
            file = chess.square_file(request.target) if request.file is None else request.file
            near = [
                move for move in near if chess.square_file(move.from_square) == file or move.to_square == request.target
            ]
        words = f"legal {chess.piece_name(request.piece or chess.PAWN)} moves:"
    if not near:
        near, words = [move for move in legal if move.to_square == request.target], "you can go there by"
    if not near and board.is_check():
        near, words = legal, "legal moves:"
    return tuple(sorted(board.san(move) for move in near)), words


def _name(colour: chess.Color) -> str:
    return "White" if colour else "Black"


def _the(board: chess.Board, square: int) -> str:
    return f"the {_kind(board, square)} on {chess.square_name(square)}"


def _kind(board: chess.Board, square: int) -> str:
    """The name of the piece on a square that is not empty."""
    return chess.piece_name(board.piece_type_at(square) or chess.PAWN)
