"""What a mistake costs by the places of pieces and by terms: given away, or not gained as the better line does.

Three positions are compared: that before the move, the end of the line after it, and the end of the better line. What
is worth less for the mover at the end of the first line than in both other positions has been given away. What is worth
more for the mover at the end of the better line than in both others is an improvement missed.

The king left in the centre is one such reason: castling was called for, and the line after the move makes use of where
he stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import chess

from merino.engine.report.phrases import cause, counts_against, group_of, is_material, phrase
from merino.eval.linear.registry import Group
from merino.study.reasons.ends import MIN_PIECE, LineEnd
from merino.study.reasons.motifs import PIECES
from merino.study.reasons.winning import FoundLine

MIN_TERM = 10.0  # centipawns that a piece or a term must cost to be named
MIN_LARGEST = 20.0  # and the first of them: less is no reason for a mistake
NAMED = 2
_TO_MOVE = "Tempo"  # which side has it at the end of a line is chance
CASTLES_BY = 2  # the move of its side by which the better line castles
MIN_SAFETY = 15.0  # centipawns of the king's safety that must be lost to be named


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
        return Costs(_sorted(pieces), _sorted(terms))

    @cached_property
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
                found.append(Cost(cp, is_given, _told(piece, origin, square, is_given, more) + cause(name, more)))
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
        kind = next((kind for kind in PIECES if term.startswith(chess.piece_name(kind).capitalize())), None)
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


def _sorted(costs: Sequence[Cost]) -> list[Cost]:
    return sorted(costs, key=lambda cost: -cost.cp)


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


def _told(piece: chess.Piece, origin: chess.Square, square: chess.Square, is_given: bool, more: float) -> str:
    """A piece, where it goes, and how much `more` it is worth: "White's rook goes from a1 to d1 and is worth ..."."""
    name = f"{'White' if piece.color else 'Black'}'s {chess.piece_name(piece.piece_type)}"
    start = chess.square_name(origin)
    worth = f"worth {abs(more) / 100:.2f} {'more' if more > 0 else 'less'}"
    if square == origin:
        return f"{name} on {start} {'is' if is_given else 'would be'} {worth}"
    go, be = ("goes", "is") if is_given else ("would go", "be")
    return f"{name} {go} from {start} to {chess.square_name(square)} and {be} {worth}"


def left_in_the_centre(
    played: chess.Move, better: FoundLine, reply: FoundLine, terms: Mapping[str, float]
) -> str | None:
    """Why it was time to castle instead of `played`, as a sentence without a full stop; None if it was not.

    The better line castles soon, the one after the move does not. There, with queens on the board, a check drives the
    king from his place; or he can no longer castle at its end, and his safety is what the move loses most, by `terms`
    as of `mistake_of`. That he could castle later is no mistake.
    """
    mover = better.board.turn
    castling = next(_castlings(better, mover), None)
    if castling is None or castling[0] >= 2 * CASTLES_BY or better.board.is_castling(played):
        return None
    if any(_castlings(reply, mover)):
        return None
    use = _driven(reply, mover) or _unsafe(reply, mover, terms)
    if use is None:
        return None
    ply, name = castling
    first = better.board.san(better.moves[0])
    return f"{name} was possible, and {use}" if ply == 0 else f"{first} and {name} came in time, and {use}"


def _castlings(line: FoundLine, side: chess.Color) -> Iterator[tuple[int, str]]:
    """The plies of a line, from 0, with which a side castles, and the name of each."""
    board = line.after(0)
    for ply, move in enumerate(line.moves):
        if board.turn == side and board.is_castling(move):
            yield ply, board.san(move)
        board.push(move)


def _driven(reply: FoundLine, mover: chess.Color) -> str | None:
    """The first check that drives the king of the mover from his place, in the moves that are shown of the line."""
    board, shown = reply.after(0), reply.moves[: reply.shown]
    for check, answer in zip(shown[::2], shown[1::2], strict=False):
        name = board.san(check)
        board.push(check)
        has_queen = bool(board.pieces(chess.QUEEN, not mover))
        if board.is_check() and has_queen and board.king(mover) == answer.from_square and not board.is_capture(answer):
            return f"{name} drives the king from {chess.square_name(answer.from_square)}"
        board.push(answer)
    return None


def _unsafe(reply: FoundLine, mover: chess.Color, terms: Mapping[str, float]) -> str | None:
    """How much less safe a king is that can no longer castle, if no group of terms but material loses more."""
    lost = dict.fromkeys(Group, 0.0)
    for name, cp in terms.items():
        lost[group_of(name)] += cp
    safety, last = lost[Group.KING_SAFETY], reply.after(len(reply.moves))
    king = last.king(mover)
    if king is None or last.has_castling_rights(mover) or not last.pieces(chess.QUEEN, not mover):
        return None
    if safety < MIN_SAFETY or safety < max(cp for group, cp in lost.items() if group is not Group.MATERIAL):
        return None
    return f"the king on {chess.square_name(king)} can no longer castle and is less safe by {safety / 100:.2f}"
