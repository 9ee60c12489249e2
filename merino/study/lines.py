"""Lines and their ends: what each side takes and promotes, where pieces get to, and why one line is better.

Ends of lines are compared by exchanges, by piece and by term.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import chess

from merino.core.board import game
from merino.core.board.bitboard import WHITE
from merino.core.board.move import Move
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.report import phrases, schema, static
from merino.eval.evaluation import Evaluation
from merino.eval.linear.registry import Group
from merino.study import accounts, tactics

MIN_PIECE = 8.0  # centipawns by which a piece must differ to be listed
MIN_TERM = 0.05  # centipawns by which a term must differ to be listed
_OF_PAWNS = (Group.PAWN_STRUCTURE, Group.PASSED_PAWNS)
_OF_NOBODY = ("Contested", "Controlled", "PawnIslands", "Space", "Tempo")  # how the names of terms of a side begin
_OF_PIECES = (Group.BOARD_CONTROL, Group.MOBILITY, Group.KING_SAFETY)


@dataclass(frozen=True)
class Followed:
    """Where a line leads: the position there, what each side has taken, and each piece's first square by its last.

    A piece that a pawn has become counts as that pawn when it is taken; `promoted` has those that are still there.
    """

    after: game.Position
    board: chess.Board
    taken: Mapping[chess.Color, Sequence[chess.PieceType]]
    origins: Mapping[chess.Square, chess.Square]
    promoted: Mapping[chess.Color, Sequence[chess.PieceType]]


@dataclass(frozen=True)
class LineEnd(Followed):
    """The end of a line with its terms, and each piece by its first square."""

    pieces: Mapping[chess.Square, tuple[chess.Square, Mapping[str, float]]]  # terms in centipawns for White
    terms: Mapping[str, Mapping[chess.Color, float]]  # what each side has by them, in centipawns for itself
    unusual: Collection[str]  # terms whose weight has a sign that chess players do not expect

    def piece_at(self, origin: chess.Square) -> chess.Piece | None:
        """The piece that began on a square and is still on the board; it may have promoted. None for none."""
        return self.board.piece_at(self.pieces[origin][0]) if origin in self.pieces else None

    def lead(self, term: str, side: chess.Color) -> float:
        """The centipawns by which a side is ahead in a term."""
        return self.terms[term][side] - self.terms[term][not side]

    def own_terms(self, origin: chess.Square) -> dict[str, float]:
        """The terms of that piece, centipawns for its owner, that players would call its own.

        Pawns bring no open files, pieces no pawn structure, and what a side has as a whole is nobody's.
        """
        square, terms = self.pieces[origin]
        piece = self.board.piece_at(square)
        assert piece
        sign = 1 if piece.color == chess.WHITE else -1
        groups = _OF_PAWNS if piece.piece_type == chess.PAWN else _OF_PIECES
        own = {
            name: cp
            for name, cp in terms.items()
            if phrases.group_of(name) in groups and not name.startswith(_OF_NOBODY)
        }
        return {name: sign * cp for name, cp in own.items()}

    @property
    def balance(self) -> str:
        """What one side has taken for what, without what each has: "White has a rook for a bishop"."""
        white, black = (Counter(self.taken[colour]) for colour in (chess.WHITE, chess.BLACK))
        both, white, black = white & black, white - black, black - white
        if not white and not black:
            return f"each side has taken {phrases.listed(both)}" if both else "nothing is taken"
        is_white = tactics.pawns_of(white) >= tactics.pawns_of(black)
        side, won, given = ("White", white, black) if is_white else ("Black", black, white)
        return (
            f"{side} has {phrases.listed(won)} for {phrases.listed(given)}"
            if given
            else f"{side} wins {phrases.listed(won)}"
        )

    @property
    def material(self) -> str:
        """The balance with the promotions: "White promotes to a queen", "White wins a pawn; Black promotes to ..."."""
        promotions = [
            f"{'White' if side else 'Black'} promotes to {phrases.listed(Counter(self.promoted[side]))}"
            for side in (chess.WHITE, chess.BLACK)
            if self.promoted[side]
        ]
        is_silent = bool(promotions) and not self.taken[chess.WHITE] and not self.taken[chess.BLACK]
        return "; ".join(promotions if is_silent else [self.balance, *promotions])


@dataclass(frozen=True)
class PieceDifference:
    """How much more a piece adds at one end than at another, in centipawns for its owner, and by which terms."""

    piece: chess.Piece
    here: chess.Square
    there: chess.Square  # at the other end
    terms: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of its terms."""
        return sum(self.terms.values())

    @property
    def name(self) -> str:
        """Whose piece it is, and where: "White's knight on d5"."""
        side = "White" if self.piece.color else "Black"
        return f"{side}'s {chess.piece_name(self.piece.piece_type)} on {chess.square_name(self.here)}"

    def as_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`: the piece, its squares, and its terms in centipawns for its owner."""
        return {
            "name": self.name,
            "here": chess.square_name(self.here),
            "there": chess.square_name(self.there),
            "total_cp": self.total,
            "terms_cp": {name: cp for name, cp in self.terms.items() if abs(cp) >= MIN_TERM},
        }


class Reasons(NamedTuple):
    """Sentences, and the numbers that they are made from: all pieces that differ, the largest difference first."""

    sentences: tuple[str, ...]
    pieces: tuple[PieceDifference, ...] = ()


def follow(position: game.Position, moves: Sequence[int]) -> Followed:
    """Make the moves of a line, all legal, on a copy of the position."""
    after, board = position.copy(), board_of(position)
    began = board.copy(stack=False)
    at = {square: square for square in board.piece_map()}
    taken: dict[chess.Color, list[chess.PieceType]] = {chess.WHITE: [], chess.BLACK: []}
    for move in moves:
        after.push(move)
        own, made = Move(move), as_chess_move(move, position.chess960)
        if (victim := tactics.taken_on(board, made)) is not None:
            taken[board.turn].append(tactics.kind_at(began, at.pop(victim)))
        board.push(made)
        if own.is_castling:  # ours names the square of the rook
            king, rook = at.pop(own.from_square), at.pop(own.to_square)
            rank, is_short = own.from_square & 56, own.to_square > own.from_square
            at[rank + (6 if is_short else 2)], at[rank + (5 if is_short else 3)] = king, rook
        else:
            at[own.to_square] = at.pop(own.from_square)
    promoted: dict[chess.Color, list[chess.PieceType]] = {chess.WHITE: [], chess.BLACK: []}
    for square, origin in at.items():
        if tactics.kind_at(board, square) != tactics.kind_at(began, origin):
            promoted[board.color_at(square) == chess.WHITE].append(tactics.kind_at(board, square))
    return Followed(after, board, taken, at, promoted)


def along(position: game.Position, moves: Sequence[str]) -> tuple[list[chess.Move], list[chess.Board]]:
    """A line of legal moves, coordinates, for python-chess: its moves, the board before the first and after each."""
    made = [as_chess_move(move, position.chess960) for move in position.copy().push_all(moves)]
    return made, tactics.boards_along(board_of(position), made)


def shown_plies(boards: Sequence[chess.Board]) -> int:
    """The plies that sentences are about, by the boards of a line: to mate or a draw, or where it settles; or 0."""
    is_over = boards[-1].is_checkmate() or tactics.drawing(boards[-1])
    return len(boards) - 1 if is_over else tactics.settled_plies(boards) or 0


def end_of(position: game.Position, moves: Sequence[str], by_terms: Evaluation) -> LineEnd:
    """The end of a line of legal moves, coordinates; `by_terms` has terms."""
    return end_after(position, position.copy().push_all(moves), by_terms)


def end_after(position: game.Position, moves: Sequence[int], by_terms: Evaluation) -> LineEnd:
    """The same of moves as a search finds them."""
    end = follow(position, moves)
    report = static.report_evaluation(end.after.record, "", by_terms)
    terms = {chess.parse_square(piece.square): piece.terms for piece in report.pieces}
    pieces = {origin: (square, terms[square]) for square, origin in end.origins.items()}
    unusual = {term.name for term in report.terms if term.weight and not phrases.is_usual(term.name, term.weight)}
    sides = {term.name: {chess.WHITE: term.white_cp, chess.BLACK: term.black_cp} for term in report.terms}
    return LineEnd(**vars(end), pieces=pieces, terms=sides, unusual=unusual)


def differences(end: LineEnd, other: LineEnd) -> list[PieceDifference]:
    """The pieces, the same at both ends, whose own terms differ enough to be named, the largest difference first."""
    found = []
    for origin in end.pieces.keys() & other.pieces.keys():
        piece = end.piece_at(origin)
        assert piece
        if piece != other.piece_at(origin):
            continue  # a pawn that has promoted in one of them
        mine, theirs = end.own_terms(origin), other.own_terms(origin)
        differing = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in (*mine, *theirs)}
        here, there = end.pieces[origin][0], other.pieces[origin][0]
        found.append(PieceDifference(piece, here, there, differing))
    found.sort(key=lambda each: (-abs(each.total), each.here))
    return [each for each in found if abs(each.total) >= MIN_PIECE]


def facts_between(end: LineEnd, other: LineEnd, is_choice: bool) -> list[tuple[str, float]]:
    """The facts of the board that differ at the first end from the other, with centipawns for White, the largest first.

    They are those of the end of one of two lines where it `is_choice`, else those that come or go.
    """
    terms = {
        name: end.lead(name, chess.WHITE) - other.lead(name, chess.WHITE)
        for name in end.terms
        if name not in end.unusual
    }
    return [
        (text, cp)
        for text, cp in phrases.facts_between(terms, other.board, end.board, is_choice)
        if abs(cp) >= MIN_FACT
    ]


# Why one move and not another, and what a line leads to

NAMED_FACTS = 2
MIN_FACT = 10.0  # centipawns of a fact that is named
MAX_NAMED_PLIES = 2  # of a line whose moves are named; of a longer one only the last


def why(report: schema.PositionReport, position: game.Position, evaluation: Evaluation) -> Reasons:
    """Sentences on why one of the two searched moves of a report of the legal `position` is better than the other.

    Empty unless both have lines. Each line is followed to its last position in which no piece can be won at once; what
    a line that mates or ends in a draw makes of the pieces is no reason. The terms are those of the evaluation, or of
    its account around the position.
    """
    first, second = report.moves
    if first.score is None or second.score is None:
        return Reasons(())
    better, other = (first, second) if first.rank <= second.rank else (second, first)
    mates = _mates(better, other, position.turn == WHITE)
    if ends_of_game := (*mates, *_draws(report, position, (better, other))):
        return Reasons((_verdict(better, other), *ends_of_game))
    lines = [_line_of(report, move) for move in (better, other)]
    lines = [moves[: shown_plies(along(position, moves)[1])] for moves in lines]
    if not all(lines):
        return Reasons((_verdict(better, other),))
    by_terms = accounts.in_terms(position.record, evaluation)
    ends = [end_of(position, line, by_terms) for line in lines]
    pieces = tuple(differences(*ends))
    sentences, (best, next_best) = [_verdict(better, other)], (end.material for end in ends)
    apart = f"In the line of {better.san} {best}; in that of {other.san} {next_best}."
    sentences.append(f"In both lines {best}." if best == next_best else apart)
    if phrases.balance(ends[0].board) == phrases.balance(ends[1].board):
        differing, is_white = facts_between(ends[0], ends[1], is_choice=True), position.turn == WHITE
        facts = ((text, cp) for text, cp in differing if (cp > 0) == is_white)
        sentences += [f"With {better.san}, {text} ({abs(cp) / 100:.2f})." for text, cp in islice(facts, NAMED_FACTS)]
    return Reasons(tuple(sentences), pieces)


def _line_of(report: schema.PositionReport, move: schema.MoveReport) -> tuple[str, ...]:
    """The moves of a line, coordinates, of which the move itself is the first."""
    line = report.line_of(move)
    return line.moves if line else (move.uci,)


def _verdict(better: schema.MoveReport, other: schema.MoveReport) -> str:
    assert better.score and other.score
    if better.score.text == other.score.text:
        return f"The search finds {better.san} and {other.san} equally good ({better.score.text})."
    return f"The search prefers {better.san}: {better.score.text} against {other.score.text} after {other.san}."


def _mates(better: schema.MoveReport, other: schema.MoveReport, is_white: bool) -> Iterator[str]:
    """What mates of the moves, or who mates after them: "a8=Q mates in 9.", "After Kh1 Black mates in 2."."""
    for move in (better, other):
        assert move.score
        if move.san.endswith("#"):
            yield f"{move.san} is mate."
        elif move.score.mate is not None:
            is_own = (move.score.mate > 0) == is_white
            who = move.san if is_own else f"After {move.san} {'Black' if is_white else 'White'}"
            yield f"{who} mates in {abs(move.score.mate)}."


def _draws(report: schema.PositionReport, position: game.Position, moves: Sequence[schema.MoveReport]) -> Iterator[str]:
    """How moves, or the lines after them, end the game in a draw: "Qf7 stalemates."."""
    for move in moves:
        line = _line_of(report, move)
        how = tactics.drawing(along(position, line)[1][-1])
        if how and move.score and move.score.cp == 0:  # the last moves of another may be played on after a win
            yield f"{move.san if len(line) == 1 else f'The line of {move.san}'} {how}."


def outcome(position: game.Position, moves: Sequence[str], evaluation: Evaluation) -> Reasons:
    """Sentences on the end of a line of legal moves, coordinates, against the `position` now.

    They name what the line exchanges and its promotions, and the facts that it changes. The line is followed to its
    last position in which no piece can be won at once; if there is none, there are no sentences. Of one that mates or
    ends in a draw they name only that. The terms are as in `why`.
    """
    made, boards = along(position, moves)
    plies = shown_plies(boards)
    if not plies:
        return Reasons(())
    by_terms = accounts.in_terms(position.record, evaluation)
    end = end_of(position, moves[:plies], by_terms)
    if end.board.is_checkmate():
        return Reasons((f"{_named(boards, made, plies)} is mate.",))
    if how := tactics.drawing(end.board):
        return Reasons((f"{_named(boards, made, plies)} {how}.",))
    now = end_of(position, (), by_terms)
    facts = facts_between(end, now, is_choice=False)[:NAMED_FACTS]
    said = (f"{text[0].upper()}{text[1:]} ({abs(cp) / 100:.2f})." for text, cp in facts)
    return Reasons((*_material(end, boards, made[:plies]), *said), tuple(differences(end, now)))


def _named(boards: Sequence[chess.Board], moves: Sequence[chess.Move], plies: int) -> str:
    """The last of so many moves by number, or all of them if they are few: "13. Rxe6 fxe6"."""
    first = 0 if plies <= MAX_NAMED_PLIES else plies - 1
    return boards[first].variation_san(moves[first:plies])


def _material(end: LineEnd, boards: Sequence[chess.Board], moves: Sequence[chess.Move]) -> Iterator[str]:
    captures = [ply for ply, move in enumerate(moves, start=1) if boards[ply - 1].is_capture(move)]
    if captures:
        word = "After" if captures[-1] <= MAX_NAMED_PLIES else "By"
        yield f"{word} {_named(boards, moves, captures[-1])} {end.balance}."
    for ply, move in enumerate(moves, start=1):
        if move.promotion:
            side = "White" if boards[ply - 1].turn else "Black"
            made = boards[ply - 1].variation_san([move])
            yield f"{side} promotes to a {chess.piece_name(move.promotion)} by {made}."
    if not captures and not any(move.promotion for move in moves):
        yield "Nothing is taken."
