"""Lines with the boards along them: where the pieces get to, what falls, what is won and kept, and how a line ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile
from typing import Self

import chess

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.engine.report import phrases, schema, static, text
from merino.engine.search.limits import Limits, Score
from merino.eval.evaluation import Evaluation
from merino.study import tactics
from merino.study.judge import Judge, strongest

LATEST = 7  # plies within which material must be won
FOLLOWED = 12  # plies of a line that must not give it back
PLAYED_ON = 8  # plies after a move, each of which the judge searches, to see what comes of it
SPARED = 3  # pawns from which on a defence may save one
OF_MUCH = 4  # where so many pawns are won, one may still be taken


def least_of(pawns: int) -> int:
    """What a defence must leave of so many pawns."""
    return pawns - (pawns >= SPARED)


@dataclass(frozen=True)
class Course:
    """A line from a position, with the boards along it."""

    start: Position
    moves: Sequence[int]
    score: Score  # of the side that begins it

    @property
    def side(self) -> chess.Color:
        """Who begins it."""
        return self.boards[0].turn

    @cached_property
    def made(self) -> tuple[chess.Move, ...]:
        """Its moves for python-chess."""
        return tuple(Move(move).to_chess(self.start.chess960) for move in self.moves)

    @cached_property
    def boards(self) -> list[chess.Board]:
        """The board before the first move and after each."""
        boards = [self.start.to_chess(stack=False)]
        for move in self.made:
            boards.append(boards[-1].copy(stack=False))
            boards[-1].push(move)
        return boards

    @cached_property
    def origins(self) -> list[dict[chess.Square, chess.Square]]:
        """The first square of each man by where he stands, before the first move and after each."""
        found = [{square: square for square in self.boards[0].piece_map()}]
        for board, move in zip(self.boards, self.made, strict=False):
            found.append(tactics.carried(found[-1], board, move))
        return found

    @cached_property
    def falls(self) -> list[tuple[int, chess.Square, chess.PieceType]]:
        """The men of the other side that are taken: the ply, the square where each stood at first, and its kind."""
        found = []
        for ply, (board, move) in enumerate(zip(self.boards, self.made, strict=False), start=1):
            taken = tactics.taken_on(board, move)
            if taken is not None and board.turn == self.side:
                origin = self.origins[ply - 1][taken]
                found.append((ply, origin, tactics.kind_at(self.boards[0], origin)))
        return found

    @cached_property
    def gains(self) -> list[schema.GainReport]:
        """What the side that begins it has by `LATEST` where nothing can be taken back, and keeps later, most first."""
        kept, nearly, least = dict[int, int](), dict[int, int](), 1000
        for ply, pawns in reversed(self._settled.items()):
            if pawns >= tactics.MIN_GAIN and ply <= LATEST and least_of(pawns) <= least:
                (kept if pawns <= least else nearly)[pawns] = ply
            least = min(least, pawns)
        found = kept or nearly
        return [schema.GainReport(pawns, found[pawns]) for pawns in sorted(found, reverse=True)]

    @property
    def kept(self) -> int:
        """What the side that begins it has won at last."""
        return next(reversed(self._settled.values()), 0)

    def keeps(self, pawns: int) -> bool:
        """Whether the side that begins it wins so many pawns, sooner or later, and does not give them back."""
        later = list(dropwhile(lambda won: won < pawns, self._settled.values()))
        return bool(later) and min(later) >= pawns

    @cached_property
    def _settled(self) -> dict[int, int]:
        """What the side that begins it has won, by the plies after which nothing can be taken.

        Where there is none by `LATEST`, those count after which little of much can be taken.
        """
        leads = {ply: self.lead(ply) for ply in range(1, min(len(self.moves), FOLLOWED) + 1)}
        stakes = {ply: self._at_stake(ply) for ply in leads}
        is_quiet = not all(stakes[ply] for ply in leads if ply <= LATEST)
        return {ply: lead for ply, lead in leads.items() if stakes[ply] <= (0 if is_quiet else max(0, lead) // OF_MUCH)}

    def with_tail(self, plies: int, moves: Sequence[int]) -> Self:
        """The course of so many of its moves, followed by others."""
        return replace(self, moves=(*self.moves[:plies], *moves[: FOLLOWED - plies]))

    def _at_stake(self, ply: int) -> int:
        """The pawns that can be taken at a profit after so many plies, by promotion as well.

        If it is the turn of the side that begins, it can save one man: only the second largest capture counts.
        """
        board = self.boards[ply]
        own = tactics.second_threat(board) if board.turn == self.side else 0
        return max(tactics.best_capture(board), own, tactics.QUEENED * tactics.can_promote(board))

    def ahead(self, ply: int) -> int:
        """The pawns by which the side that begins it is ahead after so many plies."""
        return tactics.balance(self.boards[ply], self.side)

    def lead(self, ply: int) -> int:
        """The pawns that the side that begins it has won after so many plies."""
        return self.ahead(ply) - self.ahead(0)

    def quiet(self, last: int) -> list[int]:
        """The plies, `last` at most, after which nothing can be taken at a profit."""
        return [ply for ply in range(1, min(len(self.moves), last) + 1) if tactics.is_quiet(self.boards[ply])]

    @property
    def shown(self) -> int:
        """The plies to the last quiet board of its first moves, 1 if there is none."""
        return max(self.quiet(LATEST), default=1)

    @property
    def draw(self) -> str | None:
        """The kind of draw, by the rules, that it ends in; None if it does not: a repetition only by checks."""
        last, *earlier = (board.epd() for board in reversed(self.boards))
        between = self.boards[-1 - earlier.index(last) :] if last in earlier else []
        checks = [board.is_check() for board in between if board.turn != self.side]
        return tactics.drawing(self.boards[-1]) or ("repetition" if checks and all(checks) else None)

    def text(self, plies: int) -> str:
        """So many of its moves with their numbers."""
        return self.boards[0].variation_san(list(self.made[:plies]))

    @property
    def opening(self) -> str:
        """Its first move with its number: "12...Nc2+"."""
        return self.numbered(1)

    def numbered(self, ply: int) -> str:
        """The move at this ply, from 1, with its number."""
        text = self.boards[ply - 1].variation_san([self.made[ply - 1]])
        return text.replace(". ", ".", 1).replace("... ", "...", 1)

    def uci(self, plies: int) -> tuple[str, ...]:
        """So many of its moves as UCI writes them."""
        return tuple(self.start.uci(move) for move in self.moves[:plies])

    def after(self, plies: int) -> Position:
        """The position after so many of its moves."""
        return after_move(self.start, *self.moves[:plies])


@dataclass(frozen=True)
class LineEnd:
    """The board at the end of a line, with the square of each man by his first, and what terms and pieces are worth.

    `terms` are White's lead by each whose weight has the sign that chess players expect. `worths` are what pieces other
    than kings are worth to their owners, by first squares: what the strongest net makes of the board without each.
    `others` are the board before the line, and those on which it is quiet later.
    """

    board: chess.Board
    others: Sequence[chess.Board]
    squares: Mapping[chess.Square, chess.Square]
    terms: Mapping[str, float]  # centipawns
    worths: Mapping[chess.Square, int]  # centipawns


def end_of(course: Course, plies: int, by_terms: Evaluation) -> LineEnd:
    """What so many moves of a line lead to; `by_terms` has terms."""
    record, origins = course.after(plies).record, course.origins[plies]
    report, by_net = (static.report_evaluation(record, "", evaluation) for evaluation in (by_terms, strongest()))
    usual = {term.name: term.net_cp for term in report.terms if phrases.is_usual(term.name, term.weight)}
    worths = {
        origins[chess.parse_square(piece.square)]: round(text.owners(piece.piece, piece.removal_cp))
        for piece in by_net.pieces
        if piece.removal_cp is not None
    }
    others = [course.boards[ply] for ply in (0, *course.quiet(FOLLOWED)) if not 0 < ply <= plies]
    return LineEnd(course.boards[plies], others, {origin: square for square, origin in origins.items()}, usual, worths)


def after_move(position: Position, *moves: int) -> Position:
    """A copy of the position after a legal move, or several."""
    after = position.copy()
    for move in moves:
        after.push(move)
    return after


def played_on(position: Position, moves: Sequence[int], judge: Judge, limits: Limits, plies: int) -> Course:
    """The line that begins with a move and the reply, and goes on as the judge plays, which searches at each turn.

    The score is that of its last search, for who is to move in the position.
    """
    made, at = list(moves[:2]), after_move(position, *moves[:2])
    for _ in range(plies - 1):
        found = judge.line(at, limits).pv[:1]
        made, at = [*made, *found], after_move(at, *found)
    line = judge.line(at, limits)
    return Course(position, (*made, *line.pv), line.score if at.side == position.side else Score(-line.score))


def seen_after(score: Score, plies: int = 1) -> Score:
    """A score as the other side sees it a ply later, or with -1 a ply before: a mate is nearer, or farther."""
    return Score(-(score + plies * (0 if score.mate is None else 1 if score > 0 else -1)))
