"""Moves, lines, scores and positions as people write them: SAN, coordinates, figurines or words.

The rules are python-chess's.

`san(position, move)` is "Nf3"; `read_move(position, "g1f3")` is that move, or raises MoveRejected, which says why not.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import chess

from merino.core.board.bitboard import BLACK, WHITE
from merino.core.board.game import START_NAME, IllegalMoveError, Position, as_position
from merino.core.board.move import CASTLING, DOUBLE_PUSH, EN_PASSANT, NORMAL, PROMOTION, Move
from merino.core.common.errors import MerinoError, instance, whole_number
from merino.engine.notation.refusals import MoveRequest, Refusal, why_not
from merino.engine.search.limits import Line, Score, pawns

_FEN_SLASHES = 7
COUNT_WIDTH = 5  # of a number of nodes
_BOUND_MARKS = {"": "", "lowerbound": "!", "upperbound": "?"}
_NOTATION = re.compile(
    r"(?P<piece>[PNBRQKnrqk])?(?P<file>[a-h])?(?P<rank>[1-8])?(?:-|(?P<takes>[x:]))?(?P<to>[a-h][1-8])"
    r"(?:[=/(]?(?P<promotion>[NBRQnbrq])\)?)?"
)
_CAPITAL_COORDINATES = re.compile(r"[A-H][1-8]-?[A-H][1-8][NBRQ]?")
_CASTLING = re.compile(r"[0Oo]-?[0Oo](?P<queenside>-?[0Oo])?")
_OFF_BOARD = re.compile(r"[PNBRQKnrqk]?[a-h]?[1-8]?[-x:]?(?P<to>[a-z][0-9])")
DOUBLE_PUSH_SQUARES = 16
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
_DESCRIPTIVE = re.compile(
    r"(?P<piece>P|N|Kt|B|R|Q|K)(?:-(?P<wing>[QK])?(?P<file>R|N|Kt|B|Q|K)(?P<rank>[1-8])|x(?:P|N|Kt|B|R|Q|K))",
    re.IGNORECASE,
)
_DESCRIPTIVE_FILES = {"QR": "a", "QN": "b", "QB": "c", "Q": "d", "K": "e", "KB": "f", "KN": "g", "KR": "h"}
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


def board_of(position: Position) -> chess.Board:
    """The present position for python-chess, without its history."""
    return chess.Board(position.fen(), chess960=position.chess960)


def start_board_of(position: Position) -> chess.Board:
    """The position the game began with, for python-chess."""
    return chess.Board(position.start_fen(), chess960=position.chess960)


def as_chess_move(move: int, chess960: bool) -> chess.Move:
    """One of our moves as a move of python-chess."""
    return chess.Move.from_uci(Move(move).uci(chess960))


def as_move(board: chess.Board, move: chess.Move) -> Move:
    """A legal move of python-chess as one of ours."""
    origin, destination, kind = move.from_square, move.to_square, NORMAL
    if board.is_castling(move):
        kind = CASTLING
        if not board.chess960:  # python-chess names the king's destination, ours the rook
            destination = chess.square(7 if board.is_kingside_castling(move) else 0, chess.square_rank(origin))
    elif board.is_en_passant(move):
        kind = EN_PASSANT
    elif move.promotion:
        kind = PROMOTION + move.promotion - chess.KNIGHT
    elif board.piece_type_at(origin) == chess.PAWN and abs(origin - destination) == DOUBLE_PUSH_SQUARES:
        kind = DOUBLE_PUSH
    return Move(origin | destination << 6 | kind << 12)


def san(position: Position | str, move: int) -> str:
    """A legal move in short notation: "Nbd2", "exd8=Q+", "O-O".

    `position` may be a FEN or "startpos". Raises IllegalMoveError, FenError, TypeError.
    """
    position = as_position(position)
    whole_number("the move (parse_uci makes one of a text)", move, 0, 0xFFFF)
    if move not in position.legal_moves:
        raise IllegalMoveError(f"{Move(move).uci()} is not legal in {position.fen()}")
    return board_of(position).san(as_chess_move(move, position.chess960))


def move_number(position: Position) -> str:
    """The number of the next move, as before a move in short notation: "23." or "23..."."""
    return f"{position.fullmove_number}{'.' if position.turn == WHITE else '...'}"


def san_moves(position: Position, moves: Iterable[int]) -> list[str]:
    """Alternative moves of one position in short notation, in the same order."""
    board = board_of(position)
    return [board.san(as_chess_move(move, position.chess960)) for move in moves]


def named_moves(position: Position, moves: Iterable[int]) -> Iterator[tuple[str, str]]:
    """Consecutive legal moves from a position, each in short notation and in coordinates."""
    board = board_of(position)
    for move in moves:
        coordinates = Move(move).uci(position.chess960)
        yield board.san(chess.Move.from_uci(coordinates)), coordinates
        board.push_uci(coordinates)


def san_line(board: chess.Board, moves: Iterable[int]) -> str:
    """Consecutive legal moves from `board` with move numbers: "3...Nf6 4. Bg5"."""
    return board.variation_san(as_chess_move(move, board.chess960) for move in moves)


def san_paragraph(position: Position, width: int = 78) -> str:
    """The game so far as lines of at most `width` columns, each move on the line of its number."""
    moves = san_line(start_board_of(position), position.moves)
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
        if _is_castle(text):
            raise MoveRejected(text.strip(), Refusal(_CASTLE_HOW))
        raise MoveRejected(text.strip(), _off_board(text))
    return request


def requested_move(position: Position, request: MoveRequest) -> Move:
    """The one legal move that a request means; raises MoveRejected with the reason."""
    board = board_of(position)
    candidates = request.candidates(board)
    if len(candidates) != 1 or (candidates[0].promotion and not request.promotion):
        board.ep_square = _passed_square(position, board)
        raise MoveRejected(request.text, why_not(board, request, candidates))
    return as_move(board, candidates[0])


def _passed_square(position: Position, board: chess.Board) -> chess.Square | None:
    """The square that a pawn has just passed; a FEN names it only where a pawn may take there."""
    last = Move(position.moves[-1]) if position.moves else None
    if last is None or last.kind != DOUBLE_PUSH:
        return board.ep_square
    return (last.from_square + last.to_square) // 2


def read_move(position: Position | str, text: str) -> Move:
    """The legal move that a person means by `text`; raises MoveRejected with the reason.

    `position` may be a FEN or "startpos". Raises FenError and TypeError, too.
    """
    instance("the move", text, str, "a text such as 'Nf3' or 'g1f3'")
    position = as_position(position)
    try:
        request = read_request(text)
    except MoveRejected:
        hint = descriptive_hint(position, text)
        if hint is None:
            raise
        raise MoveRejected(text.strip(), hint) from None
    return requested_move(position, request)


def descriptive_hint(position: Position, text: str) -> Refusal | None:
    """What to write instead of a move in descriptive notation, such as N-KB3; None if the text is none."""
    meant = _of_descriptive(_bare(text), position.turn)
    if meant is None:
        return None
    legal = [move.rstrip("+#") for move in san_moves(position, position.legal_moves)]
    shown = [move for move in meant if move in legal] or meant or ["exd5"]
    return Refusal(f"descriptive notation is not read; name the square, as in {' or '.join(shown)}")


def _off_board(text: str) -> Refusal | None:
    """The refusal of a move to a square outside the board."""
    found = _OFF_BOARD.fullmatch(_bare(text))
    return Refusal(f"there is no square {found['to']}") if found else None


def _bare(text: str) -> str:
    """A text without the move number before it and the signs after it."""
    return _ANNOTATION.sub("", without_move_number(text.strip()))


def _read_request(text: str) -> MoveRequest | None:
    """The move a text describes, or None if it does not have the form of a move."""
    written = _in_letters(_bare(text))
    castling = _CASTLING.fullmatch(written)
    if castling:
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


def _in_letters(text: str) -> str:
    """A move in figurines or words as in short notation: "♘f3" and "knight to f3" are "Nf3"; others as they are."""
    text = text.translate(_FIGURINES)
    words = " ".join(text.lower().split())
    castle = _CASTLE.fullmatch(words)
    if castle and castle["side"]:
        return "O-O" if castle["side"][0] in "ks" else "O-O-O"
    found = _WORDS.fullmatch(words)
    if found is None:
        return text
    takes = "x" if found["how"] in ("takes", "captures", "x") else ""
    return f"{_PIECE_NAMES[found['piece']]}{found['origin'] or ''}{takes}{found['to']}"


def _is_castle(text: str) -> bool:
    """Whether a text is the word `castle` without the side."""
    found = _CASTLE.fullmatch(" ".join(text.lower().split()))
    return found is not None and not found["side"]


def _of_descriptive(text: str, turn: int) -> list[str] | None:
    """What a move in descriptive notation may mean for the side to move: "N-KB3" is ["Nf3"]; empty for "PxP".

    None if the text is none.
    """
    found = _DESCRIPTIVE.fullmatch(text)
    if found is None or (found["rank"] is None and "x" not in text.lower()):
        return None
    if found["rank"] is None:
        return []
    piece, file = (_one_letter(found[name]) for name in ("piece", "file"))
    rank = 9 - int(found["rank"]) if turn == BLACK else int(found["rank"])
    wings = [found["wing"].upper()] if found["wing"] else ["Q", "K"]
    names = [file] if file in "QK" else [wing + file for wing in wings]
    letter = "" if piece == "P" else piece
    return [f"{letter}{_DESCRIPTIVE_FILES[name]}{rank}" for name in names]


def _one_letter(piece: str) -> str:
    """The letter of a piece; old books write a knight as Kt."""
    return "N" if piece.upper() in ("N", "KT") else piece.upper()


def looks_like_fen(text: str) -> bool:
    """Whether a text begins with the board of a FEN, and not with a path in as many folders."""
    board = (text.split(maxsplit=1) or [""])[0]
    return board.count("/") == _FEN_SLASHES and not board.startswith(("/", "~")) and "." not in board


def names_position(text: str) -> bool:
    """Whether a text begins with the board of a FEN, or is the name of the usual start."""
    return text == START_NAME or looks_like_fen(text)


def completed(board: str) -> str:
    """The FEN of a board that is given alone: White to move, castling as kings and rooks stand; raises ValueError."""
    placed = chess.Board(None)
    placed.set_board_fen(board)
    placed.castling_rights = chess.BB_CORNERS
    placed.castling_rights = placed.clean_castling_rights()
    return placed.fen()


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
    forms = ((1e6, ".1f", "M"), (1e6, ".0f", "M"), (1e9, ".1f", "G"))
    texts = [f"{nodes / unit:{form}}{letter}" for unit, form, letter in forms]
    return next((text for text in texts if len(text) <= COUNT_WIDTH), f"{nodes / 1e9:.0f}G")
