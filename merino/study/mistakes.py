"""What kind of mistake a move is: what the reply wins, what the better move would have won, or what its place costs.

The kinds are tried in their order, and the first that holds is named. What wins is seen in the lines of the search.
Where nothing is won, the mistake is one of position. Three positions are compared: the one before the move, the end of
the line after it, and the end of the better line. What is worth less for the mover at the end of the first line than in
both others has been given away. What is worth more at the end of the better line than in both others is an improvement
missed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import chess

from merino.core.board import game
from merino.core.board.bitboard import WHITE
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.report.phrases import cause, counts_against, is_material, listed, phrase
from merino.engine.search.limits import Line, Score
from merino.eval.evaluation import Evaluation
from merino.study import accounts, tactics
from merino.study.lines import MIN_PIECE, LineEnd, end_after

# What a mistake costs by place

MIN_TERM = 10.0  # centipawns that a piece or a term must cost to be named
MIN_LARGEST = 20.0  # and the first of them: less is no reason for a mistake
NAMED = 2
_TO_MOVE = "Tempo"  # which side has it at the end of a line is chance


@dataclass(frozen=True)
class Cost:
    """The centipawns that the mover loses by a piece or a term, and that in words.

    It is the smaller difference from the two other positions: given away by the move, or else not gained by it.
    """

    cp: float
    is_given: bool
    words: str


@dataclass(frozen=True)
class Costs:
    """What a mistake costs, the largest cost first: by the pieces that are on the board in all positions, by terms."""

    pieces: Sequence[Cost]
    terms: Sequence[Cost]


@dataclass(frozen=True)
class ThreeEnds:
    """The position before a move, the end of the line after it, and that of the better line."""

    before: LineEnd
    played: LineEnd
    better: LineEnd
    mover: chess.Color

    def costs(self) -> Costs:
        """What the move costs."""
        kept = self.before.pieces.keys() & self.played.pieces.keys() & self.better.pieces.keys()
        pieces = [cost for origin in sorted(kept) for cost in self._of_piece(origin)]
        terms = [cost for name in self.before.terms for cost in self._of_term(name)]
        return Costs(*(sorted(costs, key=lambda cost: -cost.cp) for costs in (pieces, terms)))

    @property
    def _ends(self) -> tuple[LineEnd, LineEnd, LineEnd]:
        return self.before, self.played, self.better

    def _of_term(self, name: str) -> list[Cost]:
        """What a term costs.

        Nothing where it is material, the move, of pieces that only one line exchanges, or of an unusual sign.
        """
        if is_material(name) or name == _TO_MOVE or name in self.before.unusual or self._is_of_exchanged(name):
            return []
        amounts = _amounts(*(end.lead(name, self.mover) for end in self._ends))
        here, there = self.played.terms[name], self.better.terms[name]
        changed = max(chess.COLORS, key=lambda side: abs(here[side] - there[side]))
        more = here[changed] - there[changed]
        said = {is_given: _by_term(name, more if is_given else -more, changed) for is_given in amounts}
        return [Cost(cp, is_given, f"{cp / 100:.2f} {said[is_given]}") for is_given, cp in amounts.items()]

    def _of_piece(self, origin: chess.Square) -> list[Cost]:
        """What the piece that stands on a square costs; nothing where it is a pawn that promotes."""
        piece = self.before.piece_at(origin)
        if piece is None or not self.played.piece_at(origin) == self.better.piece_at(origin) == piece:
            return []
        sign = 1 if piece.color == self.mover else -1
        terms = [end.own_terms(origin) for end in self._ends]
        totals = (sign * sum(own.values()) for own in terms)
        found = []
        for is_given, cp in _amounts(*totals).items():
            name = self._largest(terms, sign, is_given)
            if name is not None and cp >= MIN_PIECE:
                square = (self.played if is_given else self.better).pieces[origin][0]
                more = sign * (-cp if is_given else cp)
                found.append(Cost(cp, is_given, _placed(piece, origin, square, is_given, more) + cause(name, more)))
        return found

    def _largest(self, terms: Sequence[Mapping[str, float]], sign: int, is_given: bool) -> str | None:
        """The term that makes most of what a piece costs; None where none can be named."""
        found = {
            name: _amounts(*(sign * own.get(name, 0.0) for own in terms)).get(is_given, 0.0)
            for name in dict.fromkeys(name for own in terms for name in own)
            if name not in self.before.unusual
        }
        largest = max(found, key=lambda name: found[name], default=None)
        return largest if largest is not None and found[largest] >= MIN_PIECE / 2 else None

    def _is_of_exchanged(self, term: str) -> bool:
        """Whether a term is about a kind of piece of which the two lines leave other numbers."""
        kind = next((kind for kind in tactics.PIECES if term.startswith(chess.piece_name(kind).capitalize())), None)
        if kind is None:
            return False
        here, there = self.played.board, self.better.board
        return any(len(here.pieces(kind, side)) != len(there.pieces(kind, side)) for side in chess.COLORS)


def reasons(costs: Sequence[Cost]) -> tuple[bool, list[str]] | None:
    """Whether the largest costs are given away, and their words; None where none is large enough to be a reason."""
    if not costs or costs[0].cp < MIN_LARGEST:
        return None
    is_given = costs[0].is_given
    return is_given, [cost.words for cost in costs if cost.is_given == is_given and cost.cp >= MIN_TERM][:NAMED]


def _amounts(before: float, played: float, better: float) -> dict[bool, float]:
    """What is given away (True) and what is not gained (False), where it is something; all for the mover."""
    amounts = {True: min(before, better) - played, False: better - max(before, played)}
    return {is_given: cp for is_given, cp in amounts.items() if cp > 0}


def _by_term(name: str, more: float, owner: chess.Color) -> str:
    """A term as the reason of a cost, where its owner has so many centipawns `more` by it: "by Black's isolated pawns".

    What is named comes to less where the owner loses by what counts for him, or gains by what counts against him.
    """
    said = phrase(name, owner="White" if owner else "Black")
    if counts_against(name):
        return f"with less lost by {said}" if more > 0 else f"by {said}"
    return f"by {said}" if more > 0 else f"with less from {said}"


def _placed(piece: chess.Piece, origin: chess.Square, square: chess.Square, is_given: bool, more: float) -> str:
    """A piece, where it goes, and how much `more` it is worth: "White's rook goes from a1 to d1 and is worth ..."."""
    name = f"{'White' if piece.color else 'Black'}'s {chess.piece_name(piece.piece_type)}"
    start = chess.square_name(origin)
    worth = f"worth {abs(more) / 100:.2f} {'more' if more > 0 else 'less'}"
    if square == origin:
        return f"{name} on {start} {'is' if is_given else 'would be'} {worth}"
    go, be = ("goes", "is") if is_given else ("would go", "be")
    return f"{name} {go} from {start} to {chess.square_name(square)} and {be} {worth}"


MAX_UNEVEN = 1  # pawns by which what an exchange gives and takes may differ


class ScoredLine(NamedTuple):
    """A line, and its score as the side that begins it sees it; without moves and 0 where the game is over."""

    moves: Sequence[int]
    score: Score


class MistakeKind(StrEnum):
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
    UNEXPLAINED = "no single reason"


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
    position: game.Position, played: int, better: ScoredLine, reply: ScoredLine, evaluation: Evaluation
) -> Mistake:
    """The kind of mistake that `played` is in `position`, instead of the line `better`; `reply` is the line after it.

    The terms are those of the evaluation, or of its account around the position.
    """
    after = position.copy()
    after.push(played)
    best, own = _found(position, better), _found(after, reply)
    move = as_chess_move(played, position.chess960)
    if best.settled is None or own.settled is None:
        return mistake_of(move, best, own)
    by_terms = accounts.in_terms(position.record, evaluation)
    lines = ((), (played, *reply.moves[: own.settled]), better.moves[: best.settled])
    before, here, there = (end_after(position, moves, by_terms) for moves in lines)
    return mistake_of(move, best, own, ThreeEnds(before, here, there, position.turn == WHITE).costs())


def _found(position: game.Position, line: ScoredLine) -> tactics.FoundLine:
    moves = tuple(as_chess_move(move, position.chess960) for move in line.moves)
    return tactics.FoundLine(board_of(position), moves, line.score.mate, is_even=line.score == 0)


def mistake_of(
    played: chess.Move, better: tactics.FoundLine, reply: tactics.FoundLine, costs: Costs | None = None
) -> Mistake:
    """The kind of mistake that `played` is.

    `better` begins with the better move, `reply` with the best reply to the move played. `costs` is what the move costs
    where both lines are settled: None where one is not. A line repeats moves wherever the game is level, so a
    repetition missed is stated only where the move loses nothing.
    """
    return (
        _mates(better, reply)
        or _draw_allowed(better, reply)
        or (_draw_missed(better) if better.draw != tactics.REPETITION else None)
        or _lost(played, reply, better)
        or _draw_missed(better)
        or _missed(played, better, reply)
        or _exchange(better, reply)
        or _position(costs, better, reply)
        or _unexplained(costs, better, reply)
    )


def _mates(better: tactics.FoundLine, reply: tactics.FoundLine) -> Mistake | None:
    if reply.mate is not None and reply.mate > 0:
        last = reply.after(len(reply.moves))
        kind = MistakeKind.BACK_RANK if tactics.is_back_rank_mate(last) else MistakeKind.MATE_ALLOWED
        return Mistake(kind, f"the reply mates in {reply.mate}", reply.text)
    if better.mate is not None and better.mate > 0:
        return Mistake(MistakeKind.MATE_MISSED, f"there was a mate in {better.mate}", better.text)
    return None


def _draw_allowed(better: tactics.FoundLine, reply: tactics.FoundLine) -> Mistake | None:
    """The draw that the move itself or the reply makes."""
    how = tactics.drawing(reply.board) if reply.draw or not reply.moves else None
    if how:
        return Mistake(MistakeKind.DRAW_ALLOWED, f"the move {how}", better.text)
    return Mistake(MistakeKind.DRAW_ALLOWED, f"the reply draws by {reply.draw}", reply.whole) if reply.draw else None


def _draw_missed(better: tactics.FoundLine) -> Mistake | None:
    """The draw that the better move would have saved."""
    if not better.moves or not better.draw:
        return None
    return Mistake(MistakeKind.DRAW_MISSED, f"the better move draws by {better.draw}", better.whole)


def _lost(played: chess.Move, reply: tactics.FoundLine, better: tactics.FoundLine) -> Mistake | None:
    """What the reply wins of the mover, beyond what the move itself has taken."""
    loss = _loss(reply, better)
    win = (
        tactics.win_by(reply, loss, "the reply")
        if loss >= tactics.MIN_GAIN and loss + better.gain >= tactics.MIN_GAIN
        else None
    )
    if win is None:
        return None
    sentence = win.sentence
    if win.square is not None and win.square == played.to_square:
        sentence = f"the {tactics.piece_name(reply.board, win.square)} stands where it can be taken"
    return Mistake(MistakeKind(win.means.value[0]), sentence, reply.text)


def _loss(reply: tactics.FoundLine, better: tactics.FoundLine) -> int:
    """The pawns that the move and the reply to it cost the mover, below zero if the move takes more."""
    mover = better.board.turn
    return reply.gain - (tactics.balance(reply.board, mover) - tactics.balance(better.board, mover))


def _missed(played: chess.Move, better: tactics.FoundLine, reply: tactics.FoundLine) -> Mistake | None:
    """What the better move would have won, beyond what the move played wins."""
    gain, loss = better.gain, _loss(reply, better)
    if gain < tactics.MIN_GAIN or gain + loss < tactics.MIN_GAIN:
        return None
    win = tactics.win_by(better, gain, "the better move")
    if loss < 0 and win is not None and (win.means is tactics.Means.MATERIAL or win.square == played.to_square):
        return Mistake(
            MistakeKind.GAIN_MISSED, f"the better move wins {tactics.more_of(gain + loss)} more", better.text
        )
    if win is None:
        return None
    taken = win.square
    sentence = win.sentence if taken is None else f"the {tactics.piece_name(better.board, taken)} could be taken"
    return Mistake(MistakeKind(win.means.value[1]), sentence, better.text)


def _exchange(better: tactics.FoundLine, reply: tactics.FoundLine) -> Mistake | None:
    """The pieces that the line after the move gives for others, where the better one does not.

    Only what the line itself shows is stated, not what the better one wins or gives elsewhere.
    """
    if reply.settled is None or better.settled is None:
        return None
    here, there = reply.after(reply.settled), better.after(better.settled)
    mover = better.board.turn
    given, taken = tactics.exchanged(there, here, mover)
    if tactics.exchanged(better.board, here, mover) != (given, taken):
        return None
    is_even = abs(tactics.pawns_of(given) - tactics.pawns_of(taken)) <= MAX_UNEVEN
    if not given or not taken or not is_even or not any(given[kind] for kind in tactics.PIECES):
        return None
    return Mistake(MistakeKind.EXCHANGE, f"the move gives {listed(given)} for {listed(taken)}", reply.text)


def _position(costs: Costs | None, better: tactics.FoundLine, reply: tactics.FoundLine) -> Mistake | None:
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


def _unexplained(costs: Costs | None, better: tactics.FoundLine, reply: tactics.FoundLine) -> Mistake:
    """What is said where only the search shows that it is a mistake."""
    sentence = "the lines end during an exchange"
    if costs is not None:
        largest = f", the largest {costs.terms[0].words}" if costs.terms else ""
        sentence = f"no piece and no term makes much of it where the lines end{largest}"
    return Mistake(MistakeKind.UNEXPLAINED, sentence, (reply if reply.moves else better).text)
