"""What kind of mistake a move is, from the search: what the reply to it wins, or what the better move would have won.

The kinds are tried in their order, and the first that holds is named. What wins is seen in the lines of the search.
Where nothing is won, the mistake is one of position, and the pieces or terms that it costs most are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import chess

from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.report.phrases import listed
from merino.engine.search.limits import Line, Score
from merino.eval.evaluation import Evaluation
from merino.study.reasons.ends import end_after
from merino.study.reasons.motifs import PIECES, drawing, exchanged, is_back_rank_mate, pawns_of, piece_name
from merino.study.reasons.placing import Costs, ThreeEnds, left_in_the_centre, reasons
from merino.study.reasons.winning import MIN_GAIN, REPETITION, FoundLine, Means, balance, more_of, win_by
from merino.study.words.telling import in_terms

MAX_UNEVEN = 1  # pawns by which what an exchange gives and takes may differ


class ScoredLine(NamedTuple):
    """A line, and its score as the side that begins it sees it; without moves and 0 where the game is over."""

    moves: Sequence[int]
    score: Score


class MistakeKind(Enum):
    """The kinds of mistakes."""

    MATE_MISSED = "mate missed"
    BACK_RANK = "back-rank mate allowed"
    MATE_ALLOWED = "mate allowed"
    DRAW_ALLOWED = "draw allowed"
    DRAW_MISSED = "draw missed"
    HANGING = "hanging piece"
    PAWN_HANGING = "hanging pawn"
    FORK_ALLOWED = "fork allowed"
    SKEWER_ALLOWED = "skewer allowed"
    PIN_ALLOWED = "pin allowed"
    DISCOVERY_ALLOWED = "discovered attack allowed"
    PAWN_THROUGH = "passed pawn let through"
    CASTLING = "time to castle"
    MATERIAL_LOST = "material lost"
    FORK_MISSED = "fork missed"
    SKEWER_MISSED = "skewer missed"
    PIN_MISSED = "pin missed"
    DISCOVERY_MISSED = "discovered attack missed"
    CAPTURE_MISSED = "free piece left"
    PAWN_MISSED = "free pawn left"
    PROMOTION_MISSED = "promotion missed"
    GAIN_MISSED = "material not won"
    EXCHANGE = "bad exchange"
    POSITION = "position given away"
    IMPROVEMENT = "improvement missed"
    UNTOLD = "no single reason"


# The mistake that allows the other side to win by these means, and the one that misses a win by them.
KINDS = {
    Means.HANGING: (MistakeKind.HANGING, MistakeKind.CAPTURE_MISSED),
    Means.HANGING_PAWN: (MistakeKind.PAWN_HANGING, MistakeKind.PAWN_MISSED),
    Means.FORK: (MistakeKind.FORK_ALLOWED, MistakeKind.FORK_MISSED),
    Means.SKEWER: (MistakeKind.SKEWER_ALLOWED, MistakeKind.SKEWER_MISSED),
    Means.PIN: (MistakeKind.PIN_ALLOWED, MistakeKind.PIN_MISSED),
    Means.DISCOVERY: (MistakeKind.DISCOVERY_ALLOWED, MistakeKind.DISCOVERY_MISSED),
    Means.PROMOTION: (MistakeKind.PAWN_THROUGH, MistakeKind.PROMOTION_MISSED),
    Means.MATERIAL: (MistakeKind.MATERIAL_LOST, MistakeKind.GAIN_MISSED),
}


@dataclass(frozen=True)
class Mistake:
    """What kind of mistake a move is: a sentence without a full stop, and the line that shows it, as text."""

    kind: MistakeKind
    sentence: str
    line: str

    @property
    def text(self) -> str:
        """All of it: "hanging piece: the knight on d5 can be taken (12... Bxd5)"."""
        return f"{self.kind.value}: {self.sentence} ({self.line})"


def as_found(line: Line | None) -> ScoredLine:
    """A line of a search as `mistake_in` takes it; None is that of a game that is over."""
    return ScoredLine((), Score(0)) if line is None else ScoredLine(line.pv, line.score)


def mistake_in(
    position: Position, played: int, better: ScoredLine, reply: ScoredLine, evaluation: Evaluation
) -> Mistake:
    """The kind of mistake that `played` is in `position`, beside the line `better`; `reply` is the line after it.

    The terms are those of the evaluation, or of its account around the position.
    """
    after = position.copy()
    after.push(played)
    best, own = _found(position, better), _found(after, reply)
    move = as_chess_move(played, position.chess960)
    if best.settled is None or own.settled is None:
        return mistake_of(move, best, own, {})
    by_terms = in_terms(position.record, evaluation)
    lines = ((), (played, *reply.moves[: own.settled]), better.moves[: best.settled])
    before, here, there = (end_after(position, moves, by_terms) for moves in lines)
    mover = position.turn == WHITE
    lost = {name: there.lead(name, mover) - here.lead(name, mover) for name in there.terms}
    return mistake_of(move, best, own, lost, ThreeEnds(before, here, there, mover).costs())


def _found(position: Position, line: ScoredLine) -> FoundLine:
    moves = tuple(as_chess_move(move, position.chess960) for move in line.moves)
    return FoundLine(board_of(position), moves, line.score.mate, is_even=line.score == 0)


def mistake_of(
    played: chess.Move,
    better: FoundLine,
    reply: FoundLine,
    terms: Mapping[str, float],
    costs: Costs | None = None,
) -> Mistake:
    """The kind of mistake that `played` is.

    `better` begins with the better move, `reply` with the best reply to the move played. `terms` are the centipawns
    that the mover has less by each term where `reply` is settled than where `better` is, and `costs` is what the move
    costs there: none where one of them is not settled. A line repeats moves wherever the game is level, so a repetition
    missed is told only where the move loses nothing.
    """
    lost = _lost(played, reply, better)
    by_motif = lost if lost is not None and lost.kind is not MistakeKind.MATERIAL_LOST else None
    return (
        _mates(better, reply)
        or _draw_allowed(better, reply)
        or (_draw_missed(better) if better.draw != REPETITION else None)
        or by_motif
        or _castling(played, better, reply, terms)
        or lost
        or _draw_missed(better)
        or _missed(played, better, reply)
        or _exchange(better, reply)
        or _position(costs, better, reply)
        or _untold(costs, better, reply)
    )


def _mates(better: FoundLine, reply: FoundLine) -> Mistake | None:
    if reply.mate is not None and reply.mate > 0:
        last = reply.after(len(reply.moves))
        kind = MistakeKind.BACK_RANK if is_back_rank_mate(last) else MistakeKind.MATE_ALLOWED
        return Mistake(kind, f"the reply mates in {reply.mate}", reply.text)
    if better.mate is not None and better.mate > 0:
        return Mistake(MistakeKind.MATE_MISSED, f"there was a mate in {better.mate}", better.text)
    return None


def _draw_allowed(better: FoundLine, reply: FoundLine) -> Mistake | None:
    """The draw that the move itself or the reply makes."""
    how = drawing(reply.board) if reply.draw or not reply.moves else None
    if how:
        return Mistake(MistakeKind.DRAW_ALLOWED, f"the move {how}", better.text)
    return Mistake(MistakeKind.DRAW_ALLOWED, f"the reply draws by {reply.draw}", reply.whole) if reply.draw else None


def _draw_missed(better: FoundLine) -> Mistake | None:
    """The draw that the better move would have saved."""
    if not better.moves or not better.draw:
        return None
    return Mistake(MistakeKind.DRAW_MISSED, f"the better move draws by {better.draw}", better.whole)


def _lost(played: chess.Move, reply: FoundLine, better: FoundLine) -> Mistake | None:
    """What the reply wins of the mover, beyond what the move itself has taken."""
    loss = _loss(reply, better)
    win = win_by(reply, loss, "the reply") if loss >= MIN_GAIN and loss + better.gain >= MIN_GAIN else None
    if win is None:
        return None
    sentence = win.sentence
    if win.square is not None and win.square == played.to_square:
        sentence = f"the {piece_name(reply.board, win.square)} stands where it can be taken"
    return Mistake(KINDS[win.means][0], sentence, reply.text)


def _castling(played: chess.Move, better: FoundLine, reply: FoundLine, terms: Mapping[str, float]) -> Mistake | None:
    """The king that stays in the centre."""
    sentence = left_in_the_centre(played, better, reply, terms)
    return Mistake(MistakeKind.CASTLING, sentence, reply.text) if sentence and reply.moves else None


def _loss(reply: FoundLine, better: FoundLine) -> int:
    """The pawns that the move and the reply to it cost the mover, below zero if the move takes more."""
    mover = better.board.turn
    return reply.gain - (balance(reply.board, mover) - balance(better.board, mover))


def _missed(played: chess.Move, better: FoundLine, reply: FoundLine) -> Mistake | None:
    """What the better move would have won, beyond what the move played wins."""
    gain, loss = better.gain, _loss(reply, better)
    if gain < MIN_GAIN or gain + loss < MIN_GAIN:
        return None
    win = win_by(better, gain, "the better move")
    if loss < 0 and win is not None and (win.means is Means.MATERIAL or win.square == played.to_square):
        return Mistake(MistakeKind.GAIN_MISSED, f"the better move wins {more_of(gain + loss)} more", better.text)
    if win is None:
        return None
    taken = win.square
    sentence = win.sentence if taken is None else f"the {piece_name(better.board, taken)} could be taken"
    return Mistake(KINDS[win.means][1], sentence, better.text)


def _exchange(better: FoundLine, reply: FoundLine) -> Mistake | None:
    """The pieces that the line after the move gives for others, where the better one does not.

    Only what the line itself shows is told, not what the better one wins or gives elsewhere.
    """
    if reply.settled is None or better.settled is None:
        return None
    here, there = reply.after(reply.settled), better.after(better.settled)
    mover = better.board.turn
    given, taken = exchanged(there, here, mover)
    if exchanged(better.board, here, mover) != (given, taken):
        return None
    is_even = abs(pawns_of(given) - pawns_of(taken)) <= MAX_UNEVEN
    if not given or not taken or not is_even or not any(given[kind] for kind in PIECES):
        return None
    return Mistake(MistakeKind.EXCHANGE, f"the move gives {listed(given)} for {listed(taken)}", reply.text)


def _position(costs: Costs | None, better: FoundLine, reply: FoundLine) -> Mistake | None:
    """The pieces that cost the mover most, each with its square, or the terms that do where no piece stands out."""
    if costs is None or not reply.moves:
        return None
    pieces, terms = reasons(costs.pieces), reasons(costs.terms)
    if pieces is None and terms is None:
        return None
    is_given, words = pieces or terms or (True, [])
    said = " and ".join(words)
    if is_given:
        return Mistake(MistakeKind.POSITION, said if pieces else f"the move costs {said}", reply.text)
    return Mistake(MistakeKind.IMPROVEMENT, said if pieces else f"the better line brings {said}", better.text)


def _untold(costs: Costs | None, better: FoundLine, reply: FoundLine) -> Mistake:
    """What is said where only the search tells that it is a mistake."""
    sentence = "the lines end in the midst of captures"
    if costs is not None:
        largest = f", the largest {costs.terms[0].words}" if costs.terms else ""
        sentence = f"no piece and no term makes much of it where the lines end{largest}"
    return Mistake(MistakeKind.UNTOLD, sentence, (reply if reply.moves else better).text)
