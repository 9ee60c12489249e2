"""Why one move and not another: the lines of both compared at their ends, by what is exchanged, by piece and by term.

And threats: what the other side would win if it were to move now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import chess

from merino.inner.core.board.game import Position
from merino.inner.engine.notation.san import as_chess_move, board_of
from merino.inner.engine.report.phrases import group_of, phrase
from merino.inner.engine.report.schema import MoveReport, PositionReport
from merino.inner.engine.report.static import report_evaluation
from merino.inner.engine.search.limits import Limits
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.linear.registry import Group
from merino.inner.study.analyser import Analyser
from merino.inner.study.reasons.motifs import WORTH
from merino.inner.study.reasons.winning import FoundLine, win_by
from merino.inner.study.words.telling import in_terms

MIN_PIECE = 8.0  # centipawns by which a piece must differ to be named
NAMED_PIECES, NAMED_TERMS = 3, 2
_COUNTS = {1: "a", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
_OF_PAWNS = (Group.PAWN_STRUCTURE, Group.PASSED_PAWNS)
_OF_PIECES = (Group.BOARD_CONTROL, Group.MOBILITY, Group.KING_SAFETY)


@dataclass(frozen=True)
class _End:
    """The end of a line: what each side has taken, and each piece by the square it began on, with its terms."""

    san: str  # of the first move
    board: chess.Board
    taken: Mapping[chess.Color, Sequence[chess.PieceType]]
    pieces: Mapping[chess.Square, tuple[chess.Square, Mapping[str, float]]]  # terms in centipawns for White


def why(report: PositionReport, position: Position, evaluation: Evaluation) -> tuple[str, ...]:
    """Sentences on why one of the two searched moves of a report of the legal `position` is better than the other.

    Empty unless both have lines. The terms are those of the evaluation, or of its account around the position.
    """
    first, second = report.moves
    if first.score is None or second.score is None:
        return ()
    better, other = (first, second) if first.rank <= second.rank else (second, first)
    by_terms = in_terms(position.record, evaluation)
    ends = [_end(report, move, position, by_terms) for move in (better, other)]
    return (_verdict(better, other), *_exchanges(*ends), *_pieces(*ends))


def _verdict(better: MoveReport, other: MoveReport) -> str:
    assert better.score and other.score
    if better.score.text == other.score.text:
        return f"The search finds {better.san} and {other.san} equally good ({better.score.text})."
    return f"The search prefers {better.san}: {better.score.text} against {other.score.text} after {other.san}."


def _end(report: PositionReport, move: MoveReport, position: Position, by_terms: Evaluation) -> _End:
    line = report.line_of(move)
    texts = line.moves if line else (move.uci,)
    after, board = position.copy(), board_of(position)
    at = {square: square for square in board.piece_map()}
    taken: dict[chess.Color, list[chess.PieceType]] = {chess.WHITE: [], chess.BLACK: []}
    for made in after.push_all(texts):
        _follow(board, as_chess_move(made, position.chess960), at, taken)
    values = report_evaluation(after.record, "", by_terms).pieces
    terms = {chess.parse_square(piece.square): piece.terms for piece in values}
    pieces = {origin: (square, terms[square]) for square, origin in at.items()}
    return _End(move.san, board, taken, pieces)


def _follow(
    board: chess.Board,
    move: chess.Move,
    at: dict[chess.Square, chess.Square],
    taken: dict[chess.Color, list[chess.PieceType]],
) -> None:
    """Make a move, keeping where each piece began (`at`, by its square) and what each side has taken."""
    before = dict(board.piece_map())
    side, victim = board.turn, None
    if board.is_en_passant(move):
        victim = chess.square(chess.square_file(move.to_square), chess.square_rank(move.from_square))
    elif board.is_capture(move):
        victim = move.to_square
    if victim is not None:
        taken[side].append(before[victim].piece_type)
        del at[victim]
    rook = _castling_rook(board, move)
    board.push(move)
    if rook is None:
        at[move.to_square] = at.pop(move.from_square)
        return
    origins = at.pop(rook[0]), at.pop(move.from_square)
    king = board.king(side)
    assert king is not None
    at[rook[1]], at[king] = origins


def _castling_rook(board: chess.Board, move: chess.Move) -> tuple[chess.Square, chess.Square] | None:
    """Where the rook of a castling move stands and where it goes; None for other moves."""
    if not board.is_castling(move):
        return None
    rank = chess.square_rank(move.from_square)
    is_short = chess.square_file(move.to_square) > chess.square_file(move.from_square)
    rooks = chess.SquareSet(board.clean_castling_rights()) & chess.BB_RANKS[rank]
    ours = [square for square in rooks if (square > move.from_square) == is_short]
    return ours[0], chess.square(5 if is_short else 3, rank)


def _exchanges(better: _End, other: _End) -> Iterator[str]:
    """What the two lines exchange: "In the line of Rc1 White has a knight for a bishop, in that of Bc4 ..."."""
    first, second = _balance(better), _balance(other)
    if first == second:
        yield f"In both lines {first}."
    else:
        yield f"In the line of {better.san} {first}; in that of {other.san} {second}."


def _balance(end: _End) -> str:
    """What one side has for what, once like has been set against like: "White has a rook for a bishop and a pawn"."""
    white, black = (Counter(end.taken[colour]) for colour in (chess.WHITE, chess.BLACK))
    white, black = white - black, black - white
    if not white and not black:
        return "material stays level"
    is_white = _pawns(white) >= _pawns(black)
    side, won, given = ("White", white, black) if is_white else ("Black", black, white)
    return f"{side} has {_listed(won)} for {_listed(given)}" if given else f"{side} wins {_listed(won)}"


def _pawns(kinds: Counter[chess.PieceType]) -> int:
    return sum(WORTH[kind] * count for kind, count in kinds.items())


def _listed(kinds: Counter[chess.PieceType]) -> str:
    """Pieces in words, the most valuable first: "a rook, a knight and two pawns"."""
    names = [
        f"{_COUNTS.get(count, str(count))} {chess.piece_name(kind)}{'s' * (count > 1)}"
        for kind, count in sorted(kinds.items(), key=lambda pair: -WORTH[pair[0]])
    ]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _of_piece(terms: Mapping[str, float], kind: chess.PieceType) -> dict[str, float]:
    """Those of a piece's terms that players would call its own: pawns bring no open files, pieces no pawn structure."""
    groups = _OF_PAWNS if kind == chess.PAWN else _OF_PIECES
    return {name: cp for name, cp in terms.items() if group_of(name) in groups}


def _pieces(better: _End, other: _End) -> Iterator[str]:
    """The pieces on the board at both ends that differ most in value, with where they stand and by which terms."""
    differences = []
    for origin in better.pieces.keys() & other.pieces.keys():
        (here, mine), (there, theirs) = better.pieces[origin], other.pieces[origin]
        kind = better.board.piece_type_at(here)
        assert kind
        differing = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in (*mine, *theirs)}
        terms = _of_piece(differing, kind)
        differences.append((sum(terms.values()), here, there, terms))
    differences.sort(key=lambda each: (-abs(each[0]), each[1]))
    for total, here, there, terms in differences[:NAMED_PIECES]:
        if abs(total) < MIN_PIECE:
            return
        piece = better.board.piece_at(here)
        assert piece
        sign = 1 if piece.color == chess.WHITE else -1
        named = sorted(terms.items(), key=lambda pair: -abs(pair[1]))[:NAMED_TERMS]
        said = ", ".join(f"{phrase(name)} {sign * cp / 100:+.2f}" for name, cp in named if abs(cp) >= MIN_PIECE / 2)
        side, name = "White" if piece.color else "Black", chess.piece_name(piece.piece_type)
        where = chess.square_name(here)
        elsewhere = f" (on {chess.square_name(there)} with {other.san})" if here != there else ""
        more = "more" if sign * total > 0 else "less"
        yield (
            f"With {better.san}, {side}'s {name} on {where}{elsewhere} is worth {abs(total) / 100:.2f} {more}"
            f"{f': {said}' if said else ''}."
        )


def threat_in(position: Position, analyser: Analyser, limits: Limits) -> str | None:
    """What the other side would win if it were to move: a sentence with its line; None if nothing, or in check."""
    board = board_of(position)
    if board.is_check() or not position.legal_moves:
        return None
    board.push(chess.Move.null())
    passed = Position(board.fen(), position.chess960)
    if not passed.legal_moves:
        return None
    for found in analyser(passed, limits):
        moves = tuple(as_chess_move(move, position.chess960) for move in found.pv)
        mate = found.score.mate
        line = FoundLine(board_of(passed), moves, mate if mate and mate > 0 else None)
        side = "White" if passed.turn == 0 else "Black"
        if line.mate:
            return f"{side} threatens mate in {line.mate}: {line.text}."
        win = win_by(line, line.gain)
        return f"{side} threatens {line.board.san(moves[0])}: {win.sentence} ({line.text})." if win else None
    return None
