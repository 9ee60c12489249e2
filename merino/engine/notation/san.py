"""Moves, lines and scores as people write them: SAN, coordinates, figurines or words.

The rules are python-chess's.

`san(position, move)` is "Nf3"; `read_move(position, "g1f3")` is that move, or raises MoveRejected, which says why not.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import chess

from merino.core.board import game
from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.move import DOUBLE_PUSH, Move
from merino.core.common.errors import MerinoError, instance
from merino.engine.notation.refusals import MoveRequest, Refusal, why_not
from merino.engine.search.limits import Line, Score, pawns

COUNT_WIDTH = 5  # of a number of nodes
_BOUND_MARKS = {"": "", "lowerbound": "!", "upperbound": "?"}
_NOTATION = re.compile(
    r"(?P<piece>[PNBRQKnrqk])?(?P<file>[a-h])?(?P<rank>[1-8])?(?:-|(?P<takes>[x:]))?(?P<to>[a-h][1-8])"
    r"(?:[=/(]?(?P<promotion>[NBRQnbrq])\)?)?"
)
_CAPITAL_COORDINATES = re.compile(r"[A-H][1-8]-?[A-H][1-8][NBRQ]?")
_CASTLING = re.compile(r"[0Oo]-?[0Oo](?P<queenside>-?[0Oo])?")
_OFF_BOARD = re.compile(r"[PNBRQKnrqk]?[a-h]?[1-8]?[-x:]?(?P<to>[a-z][0-9])")
_ANNOTATION = re.compile(r"(?:\s*e\.p\.)?[+#!?]*$")
# At the beginning of a word. Six digits are enough for the last number of a FEN, and never too long for `int`.
_NUMBER = re.compile(r"(?<!\S)(?P<number>[0-9]{1,6})(?P<dots>[.\u2026]+)\s*")
_BLACKS = {"..", "...", "\u2026"}
_RESULTS = {"1-0", "0-1", "1/2-1/2", "*"}
_PIECE_NAMES = {"king": "K", "queen": "Q", "rook": "R", "bishop": "B", "knight": "N", "pawn": ""}
_FIGURINES = str.maketrans("♔♕♖♗♘♙♚♛♜♝♞♟", "KQRBNPKQRBNP")
_WORDS = re.compile(
    rf"(?P<piece>{'|'.join(_PIECE_NAMES)})(?: (?:from )?(?P<origin>[a-h][1-8]?))?(?: (?P<how>to|takes|captures|x))? "
    r"(?:on )?(?P<to>[a-h][1-8])"
)
_CASTLE = re.compile(r"castles?(?: (?P<side>king ?side|short|queen ?side|long))?")
_CASTLE_HOW = "say O-O to castle on the king's side, O-O-O on the queen's side"


class MoveList(NamedTuple):
    """The moves of a list as they are written, without numbers, commas, and a result at the end.

    `number` is the one before the first move, None without one; `is_blacks` says that its dots are Black's: "1...".
    """

    moves: list[str]
    number: int | None
    is_blacks: bool


class MoveRejected(MerinoError):
    """A text that is not a legal move here; `refusal` is the reason, None if the text is not a move at all."""

    def __init__(self, text: str, refusal: Refusal | None) -> None:
        self.refusal = refusal
        super().__init__(f"{text}: {refusal}" if refusal else f"'{text}' is not a move")


def san(position: game.Position | chess.Board | str, move: int | chess.Move) -> str:
    """A legal move in short notation: "Nbd2", "exd8=Q+", "O-O".

    `position` may be a board of python-chess, a FEN or "startpos". Raises IllegalMoveError, FenError, TypeError.
    """
    return game.as_position(position).san(move)


def move_number(position: game.Position) -> str:
    """The number of the next move, as before a move in short notation: "23." or "23..."."""
    return f"{position.fullmove_number}{'.' if position.side == WHITE else '...'}"


def san_moves(position: game.Position, moves: Iterable[int]) -> list[str]:
    """Alternative moves of one position in short notation, in the same order."""
    board = position.to_chess(stack=False)
    return [board.san(Move(move).to_chess(position.chess960)) for move in moves]


def named_moves(position: game.Position, moves: Iterable[int]) -> Iterator[tuple[str, str]]:
    """Consecutive legal moves from a position, each in short notation and in coordinates."""
    board = position.to_chess(stack=False)
    for move in moves:
        coordinates = Move(move).uci(position.chess960)
        yield board.san(chess.Move.from_uci(coordinates)), coordinates
        board.push_uci(coordinates)


def san_line(board: chess.Board, moves: Iterable[int]) -> str:
    """Consecutive legal moves from `board` with move numbers: "3...Nf6 4. Bg5"."""
    return board.variation_san(Move(move).to_chess(board.chess960) for move in moves)


def san_paragraph(position: game.Position, width: int = 78) -> str:
    """The game so far as lines of at most `width` columns, each move on the line of its number."""
    moves = position.to_chess().root().variation_san(move.to_chess(position.chess960) for move in position.moves)
    return textwrap.fill(moves.replace(". ", ".\u00a0"), width).replace("\u00a0", " ")


def looks_like_move(text: str) -> bool:
    """Whether a text has the form of a move, legal or not."""
    return _read_request(text) is not None


def read_request(text: str) -> MoveRequest:
    """The move a text describes, legal or not; raises MoveRejected if it does not have the form of a move.

    Takes short and long notation and coordinates, castling with letters or zeros, promotion with or without "=",
    figurines, and words such as "knight to f3" and "castle kingside"; a move number before it and "+#!?" after it are
    ignored.
    """
    request = _read_request(text)
    if request is None:
        castle, off_board = _CASTLE.fullmatch(_in_words(text)), _OFF_BOARD.fullmatch(_bare(text))
        reason = _CASTLE_HOW if castle else f"there is no square {off_board['to']}" if off_board else ""
        raise MoveRejected(text.strip(), Refusal(reason) if reason else None)
    return request


def requested_move(position: game.Position, request: MoveRequest) -> Move:
    """The one legal move that a request means; raises MoveRejected with the reason."""
    board = position.to_chess(stack=False)
    candidates = request.candidates(board)
    if len(candidates) != 1 or (candidates[0].promotion and not request.promotion):
        last = Move(position.moves[-1]) if position.moves else None
        if last is not None and last.kind == DOUBLE_PUSH:  # a FEN names the square only where a pawn may take there
            board.ep_square = (last.from_square + last.to_square) // 2
        raise MoveRejected(request.text, why_not(board, request, candidates))
    return position.legal(candidates[0])


def read_move(position: game.Position | chess.Board | str, text: str) -> Move:
    """The legal move that a person means by `text`; raises MoveRejected with the reason.

    `position` may be a board of python-chess, a FEN or "startpos". Raises FenError and TypeError, too.
    """
    instance("the move", text, str, "a text such as 'Nf3' or 'g1f3'")
    return requested_move(game.as_position(position), read_request(text))


def _bare(text: str) -> str:
    """A text without the move number before it and the signs after it."""
    return _ANNOTATION.sub("", without_move_number(text.strip()))


def _read_request(text: str) -> MoveRequest | None:
    """The move a text describes, or None if it does not have the form of a move."""
    written = _in_letters(_bare(text))
    if castling := _CASTLING.fullmatch(written):
        return MoveRequest(written, castling="queenside" if castling["queenside"] else "kingside")
    plain = written.lower() if _CAPITAL_COORDINATES.fullmatch(written) else written
    found = _NOTATION.fullmatch(plain)
    if not found:
        return None
    is_coordinates = not found["piece"] and found["file"] and found["rank"]
    return MoveRequest(
        text=written,
        piece=None if is_coordinates else chess.PIECE_SYMBOLS.index((found["piece"] or "p").lower()),
        file=None if found["file"] is None else chess.FILE_NAMES.index(found["file"]),
        rank=None if found["rank"] is None else chess.RANK_NAMES.index(found["rank"]),
        target=chess.parse_square(found["to"]),
        takes=found["takes"] is not None,
        promotion=chess.PIECE_SYMBOLS.index(found["promotion"].lower()) if found["promotion"] else None,
    )


def move_list(text: str) -> MoveList:
    """The list that is in a text, whether its words are moves or not."""
    first, words = _NUMBER.match(text.lstrip()), _NUMBER.sub("", text).replace(",", " ").split()
    moves = words[:-1] if words and words[-1] in _RESULTS else words
    return MoveList(moves, int(first["number"]) if first else None, first is not None and first["dots"] in _BLACKS)


def without_move_number(text: str) -> str:
    """A text without the move number before it: "1. e4" is "e4"; a number alone stays."""
    first = _NUMBER.match(text)
    return (text[first.end() :] if first else text) or text


def _in_words(text: str) -> str:
    return " ".join(text.lower().split())


def _in_letters(text: str) -> str:
    """A move in figurines or words as in short notation: "♘f3" and "knight to f3" are "Nf3"; others as they are."""
    text = text.translate(_FIGURINES)
    castle, found = _CASTLE.fullmatch(_in_words(text)), _WORDS.fullmatch(_in_words(text))
    if castle and castle["side"]:
        return "O-O" if castle["side"][0] in "ks" else "O-O-O"
    if found is None:
        return text
    takes = "x" if found["how"] in ("takes", "captures", "x") else ""
    return f"{_PIECE_NAMES[found['piece']]}{found['origin'] or ''}{takes}{found['to']}"


def score_text(score: Score, turn: int) -> str:
    """A score for the side `turn` as seen from White: "+0.35" in pawns, "+M3" for a mate in three by White."""
    mate = score.mate
    if mate is None:
        return pawns(score if turn == WHITE else -score)
    is_for_white = (mate > 0) == (turn == WHITE)
    return f"{'+' if is_for_white else '-'}M{abs(mate)}"


def line_text(line: Line, board: chess.Board, is_narrow: bool = False) -> str:
    """Depth, score from White's side, time, nodes and the moves expected; "!" and "?" mark a rise and a fall."""
    score = score_text(line.score, WHITE if board.turn else BLACK) + _BOUND_MARKS[line.bound]
    moves, seconds, nodes = san_line(board, line.pv), line.time_ms / 1000, _count(line.nodes)
    if is_narrow:
        return f"{line.depth:2} {score:>7} {seconds:5.1f} s {nodes:>5}  {moves}"
    return f"depth {line.depth:2}  {score:>7}  {seconds:5.1f} s  {nodes:>6} nodes  {moves}"


def _count(nodes: int) -> str:
    """A number of nodes in at most COUNT_WIDTH characters."""
    if nodes < 10_000:
        return str(nodes)
    if nodes < 1_000_000:
        return f"{nodes / 1000:.0f}k"
    texts = (f"{nodes / 1e6:.1f}M", f"{nodes / 1e6:.0f}M", f"{nodes / 1e9:.1f}G", f"{nodes / 1e9:.0f}G")
    return next(text for text in texts if len(text) <= COUNT_WIDTH)
