"""Why a move cannot be played, in words for the person who typed it. The rules are python-chess's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import chess

MAX_SUGGESTIONS = 10


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

    def candidates(self, board: chess.Board, moves: Iterable[chess.Move] | None = None) -> list[chess.Move]:
        """The moves it can mean, of the legal ones or of these. A promotion without its piece means all of them."""
        legal = list(board.legal_moves if moves is None else moves)
        if self.castling:
            is_wanted = board.is_kingside_castling if self.castling == "kingside" else board.is_queenside_castling
            return [move for move in legal if is_wanted(move)]
        plain = [move for move in legal if self._fits(board, move) and not board.is_castling(move)]
        if plain or self.piece is not None or self.takes or self.promotion:
            return plain
        return [move for move in legal if board.is_castling(move) and self._is_castling_by_coordinates(board, move)]

    def starts_from(self, square: int) -> bool:
        """Whether it may mean the piece on `square`."""
        return self.file in (None, square & 7) and self.rank in (None, square >> 3)

    def _fits(self, board: chess.Board, move: chess.Move) -> bool:
        kind = board.piece_type_at(move.from_square)
        if move.to_square != self.target or self.piece not in (None, kind) or not self.starts_from(move.from_square):
            return False
        if self.takes and not board.is_capture(move):
            return False
        if kind == chess.PAWN and self.file is None and move.from_square & 7 != self.target & 7:
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
        is_of_pawn = all(move.promotion for move in candidates)
        how = Refusal("more than one piece can go there", tuple(sorted(choices)), "say")
        return Refusal("name the piece that the pawn becomes", choices) if is_of_pawn else how
    if not any(board.legal_moves):
        return Refusal("there is no legal move: it is " + ("checkmate" if board.is_check() else "stalemate"))
    if request.castling:
        return Refusal(_why_not_castling(board, request.castling == "kingside"))
    if quiet := replace(request, takes=False).candidates(board):
        there = chess.square_name(request.target)
        return Refusal(f"there is nothing to capture on {there}", tuple(sorted(board.san(move) for move in quiet)))
    is_promotion, request = request.promotion is not None, replace(request, takes=False, promotion=None)
    leaving = request.candidates(board, board.pseudo_legal_moves)
    if is_promotion and leaving and not leaving[0].promotion:
        return Refusal("only a pawn that reaches the last rank becomes another piece")
    origin, others_turn = request.origin, f"it is {_name(board.turn)}'s turn, and"
    if origin is not None and board.color_at(origin) == (not board.turn):
        return Refusal(f"{others_turn} {_the(board, origin)} is {_name(not board.turn)}'s")
    reason = _mismatch(board, request) or (_king_danger(board, leaving[0]) if leaving else _obstacle(board, request))
    if not reason:
        turned = board.copy(stack=False)
        turned.turn, turned.ep_square = not board.turn, None
        if origin is None and request.candidates(turned):
            return Refusal(f"{others_turn} this is a move for {_name(not board.turn)}")
        reason = _out_of_reach(board, request)
    return Refusal(reason, _suggestions(board, request), "legal moves:")


def _mismatch(board: chess.Board, request: MoveRequest) -> str:
    """What is wrong with the square of origin that a request names; "" for nothing."""
    if request.origin is None:
        return ""
    there, kind = chess.square_name(request.origin), board.piece_type_at(request.origin)
    if kind is None:
        return f"there is no piece on {there}"
    return "" if request.piece in (None, kind) else f"on {there} there is a {chess.piece_name(kind)}"


def _origins(board: chess.Board, request: MoveRequest) -> list[int]:
    """The squares of the pieces that may be meant. A pawn that is written without its file stays on that file."""
    if request.origin is not None:
        return [request.origin]
    found = [square for square in board.pieces(request.piece or chess.PAWN, board.turn) if request.starts_from(square)]
    if request.piece == chess.PAWN and request.file is None:
        found = [square for square in found if chess.square_file(square) == chess.square_file(request.target)]
    return found


def _obstacle(board: chess.Board, request: MoveRequest) -> str:
    """What keeps a piece that could go there otherwise from doing so: what stands in the way; or ""."""
    target, origins = request.target, _origins(board, request)
    if origins and board.color_at(target) == board.turn:
        return f"{_name(board.turn)}'s own {_kind(board, target)} is on {chess.square_name(target)}"
    for origin in origins:
        if board.piece_type_at(origin) == chess.PAWN and board.attacks_mask(origin) & chess.BB_SQUARES[target]:
            return f"there is nothing to capture on {chess.square_name(target)}"
        alone = chess.Board(None)
        alone.turn = board.turn
        alone.set_piece_at(origin, board.piece_at(origin))
        if any(move.to_square == target for move in alone.pseudo_legal_moves):
            way = chess.SquareSet(chess.between(origin, target) | chess.BB_SQUARES[target])
            nearest = min(way & board.occupied, key=lambda square: chess.square_distance(origin, square))
            return f"{_the(board, nearest)} blocks the way of {_the(board, origin)}"
    return ""


def _out_of_reach(board: chess.Board, request: MoveRequest) -> str:
    origins, there = _origins(board, request), chess.square_name(request.target)
    if len(origins) == 1:
        return f"{_the(board, origins[0])} cannot reach {there}"
    kind = chess.piece_name(request.piece or chess.PAWN)
    if origins:
        return f"no {kind} of {_name(board.turn)}'s can reach {there}"
    where, file = "" if request.rank is None else f" on rank {request.rank + 1}", request.file
    if file is None and request.piece == chess.PAWN:
        file = chess.square_file(request.target)
    return f"{_name(board.turn)} has no {kind}" + (where if file is None else f" on the {chess.FILE_NAMES[file]}-file")


def _king_danger(board: chess.Board, move: chess.Move) -> str:
    """How an otherwise legal move leaves the king in check."""
    after = board.copy(stack=False)
    after.push(move)
    by = _the(after, min(after.attackers(not board.turn, after.king(board.turn) or 0)))
    if board.piece_type_at(move.from_square) == chess.KING:
        return f"the king would stand in check from {by}"
    if board.is_check():
        return f"it leaves the king in check from {by}"
    return f"{_the(board, move.from_square)} is pinned: without it the king is in check from {by}"


def _why_not_castling(board: chess.Board, kingside: bool) -> str:
    king, rook = board.king(board.turn), _castling_rook(board, kingside)
    if rook is None or king is None:
        wing = "kingside" if kingside else "queenside"
        return f"{_name(board.turn)} has no right to castle {wing}: king or rook has moved"
    if board.is_check():
        return f"a king in check cannot castle, and {_the(board, min(board.checkers()))} gives check"
    rank = 8 * chess.square_rank(king)
    king_end, rook_end = rank + (6 if kingside else 2), rank + (5 if kingside else 3)
    kings_way = chess.SquareSet(chess.between(king, king_end) | chess.BB_SQUARES[king_end])
    way = kings_way | chess.between(rook, rook_end) | chess.BB_SQUARES[rook_end]
    if standing := (way - chess.SquareSet([king, rook])) & board.occupied:
        nearest = min(standing, key=lambda square: chess.square_distance(king, square))
        return f"{_the(board, nearest)} stands in the way"
    for square in kings_way:
        if attackers := board.attackers(not board.turn, square):
            return f"{_the(board, min(attackers))} attacks {chess.square_name(square)}, which the king would cross"
    return "the rook shields the king from a check"  # Chess960: a rook pinned along the first rank


def _castling_rook(board: chess.Board, kingside: bool) -> int | None:
    king = board.king(board.turn)
    home = chess.BB_RANK_1 if board.turn == chess.WHITE else chess.BB_RANK_8
    rooks = chess.SquareSet(board.clean_castling_rights() & home)
    on_wing = [rook for rook in rooks if king is not None and (rook > king) == kingside]
    return on_wing[0] if on_wing else None


def _suggestions(board: chess.Board, request: MoveRequest) -> tuple[str, ...]:
    """Legal moves similar to the request."""
    legal, origin, target = list(board.legal_moves), request.origin, request.target
    if origin is not None and board.color_at(origin) == board.turn:
        near = [move for move in legal if move.from_square == origin]
    else:
        near = [move for move in legal if board.piece_type_at(move.from_square) == request.piece]
        if request.piece == chess.PAWN:
            file = chess.square_file(target) if request.file is None else request.file
            near = [move for move in near if chess.square_file(move.from_square) == file or move.to_square == target]
    near = near or [move for move in legal if move.to_square == target] or (legal if board.is_check() else [])
    return tuple(sorted(board.san(move) for move in near))


def _name(colour: chess.Color) -> str:
    return "White" if colour else "Black"


def _the(board: chess.Board, square: int) -> str:
    return f"the {_kind(board, square)} on {chess.square_name(square)}"


def _kind(board: chess.Board, square: int) -> str:
    """The name of the piece on a square that is not empty."""
    return chess.piece_name(board.piece_type_at(square) or chess.PAWN)
