"""What kind of mistake a move is, from the search: what the reply to it wins, or what the better move would have won.

The kinds are tried in their order, and the first that holds is named. What wins is seen in the lines of the search: a
motif counts only where its line wins material, or mates. Where nothing is won, the mistake is one of position, and the
terms that it costs most are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import chess

from merino.inner.engine.report.phrases import is_material, phrase
from merino.inner.study.reasons.motifs import (
    WORTH,
    discovered_by,
    exchange,
    fork_targets,
    is_back_rank_mate,
    is_hanging,
    piece_name,
    pins_by,
    skewers_by,
    worth_at,
)

MIN_GAIN = 1  # pawns that a line must win to count as winning something
MIN_TERM = 5.0  # centipawns that a term must lose to be named
SHOWN = 6  # plies of a line


class MistakeKind(Enum):
    """The kinds of mistakes."""

    MATE_MISSED = "mate missed"
    BACK_RANK = "back-rank mate allowed"
    MATE_ALLOWED = "mate allowed"
    HANGING = "hanging piece"
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
    PROMOTION_MISSED = "promotion missed"
    GAIN_MISSED = "material not won"
    POSITION = "position given away"


@dataclass(frozen=True)
class FoundLine:
    """A line of the search from a board, and the moves to mate for the side that begins it, None without a mate."""

    board: chess.Board
    moves: tuple[chess.Move, ...]
    mate: int | None

    def after(self, plies: int) -> chess.Board:
        """The board after so many of its moves."""
        board = self.board.copy(stack=False)
        for move in self.moves[:plies]:
            board.push(move)
        return board

    @property
    def text(self) -> str:
        """Its first moves with their numbers."""
        return self.board.variation_san(list(self.moves[:SHOWN]))

    @property
    def gain(self) -> int:
        """The pawns that the side that begins it has won at its end, less what the other side can take there.

        If it is the side's turn there, it can save one piece: only the second largest capture counts.
        """
        side, last = self.board.turn, self.after(len(self.moves))
        targets = chess.SquareSet(last.occupied_co[side] & ~last.kings)
        captures = sorted((exchange(last, square, not side) for square in targets), reverse=True)
        lost = captures[1:2] if last.turn == side else captures[:1]
        return _balance(last, side) - _balance(self.board, side) - sum(lost)

    @property
    def promotes(self) -> bool:
        """Whether the side that begins it promotes in it."""
        return any(move.promotion for move in self.moves[::2])


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


def mistake_of(played: chess.Move, better: FoundLine, reply: FoundLine, terms: Mapping[str, float]) -> Mistake | None:
    """The kind of mistake that `played` is.

    `better` begins with the better move, `reply` with the best reply to the move played. `terms` are the centipawns
    that the mover has less by each term at the end of `reply` than at the end of `better`. None where nothing is seen.
    """
    return (
        _mates(better, reply)
        or _lost(played, reply, better)
        or _missed(better, reply)
        or _position(terms, better if not reply.moves else reply)
    )


def _mates(better: FoundLine, reply: FoundLine) -> Mistake | None:
    if reply.mate is not None and reply.mate > 0:
        last = reply.after(len(reply.moves))
        kind = MistakeKind.BACK_RANK if is_back_rank_mate(last) else MistakeKind.MATE_ALLOWED
        return Mistake(kind, f"the reply mates in {reply.mate}", reply.text)
    if better.mate is not None and better.mate > 0:
        return Mistake(MistakeKind.MATE_MISSED, f"there was a mate in {better.mate}", better.text)
    return None


def _lost(played: chess.Move, reply: FoundLine, better: FoundLine) -> Mistake | None:
    """What the reply wins of the mover, beyond what the move itself has taken."""
    mover = better.board.turn
    loss = reply.gain - (_balance(reply.board, mover) - _balance(better.board, mover))
    if not reply.moves or loss < MIN_GAIN or loss + better.gain < MIN_GAIN:
        return None
    move, board = reply.moves[0], reply.board
    taken = _taken_on(board, move)
    if taken is not None and is_hanging(board, taken):
        placed = "stands where it can be taken" if taken == played.to_square else "can be taken"
        return Mistake(MistakeKind.HANGING, f"the {piece_name(board, taken)} {placed}", reply.text)
    motif = _motif(
        reply,
        (MistakeKind.FORK_ALLOWED, MistakeKind.SKEWER_ALLOWED, MistakeKind.PIN_ALLOWED, MistakeKind.DISCOVERY_ALLOWED),
    )
    if motif:
        return motif
    if reply.promotes:
        return Mistake(MistakeKind.PAWN_THROUGH, "a pawn promotes", reply.text)
    return Mistake(MistakeKind.MATERIAL_LOST, f"the reply wins {_pawns(loss)}", reply.text)


def _missed(better: FoundLine, reply: FoundLine) -> Mistake | None:
    """What the better move would have won."""
    if not better.moves or better.gain < MIN_GAIN or better.gain + reply.gain < MIN_GAIN:
        return None
    move, board = better.moves[0], better.board
    taken = _taken_on(board, move)
    if taken is not None and is_hanging(board, taken):
        return Mistake(MistakeKind.CAPTURE_MISSED, f"the {piece_name(board, taken)} could be taken", better.text)
    motif = _motif(
        better,
        (MistakeKind.FORK_MISSED, MistakeKind.SKEWER_MISSED, MistakeKind.PIN_MISSED, MistakeKind.DISCOVERY_MISSED),
    )
    if motif:
        return motif
    if better.promotes:
        return Mistake(MistakeKind.PROMOTION_MISSED, "a pawn could promote", better.text)
    return Mistake(MistakeKind.GAIN_MISSED, f"the better move wins {_pawns(better.gain)}", better.text)


def gain_by(line: FoundLine, kinds: Sequence[MistakeKind]) -> str | None:
    """How a line wins material for the side that begins it, in words; None if it does not."""
    if not line.moves:
        return None
    taken = _taken_on(line.board, line.moves[0])
    if taken is not None and is_hanging(line.board, taken):
        return f"the {piece_name(line.board, taken)} can be taken"
    if line.gain < MIN_GAIN:
        return None
    motif = _motif(line, kinds)
    if motif:
        return motif.sentence
    return "a pawn promotes" if line.promotes else f"it wins {_pawns(line.gain)}"


def _motif(line: FoundLine, kinds: Sequence[MistakeKind]) -> Mistake | None:
    """The motif of the first move of a line that wins by it: one of these kinds, fork, skewer, pin, discovery."""
    fork, skewer, pin, discovery = kinds
    move, board, name = line.moves[0], line.after(1), line.board.san(line.moves[0])
    targets = fork_targets(board, move.to_square)
    if targets and _takes(line, targets):
        said = " and ".join(piece_name(board, target) for target in sorted(targets, key=_by_worth(board))[:2])
        return Mistake(fork, f"{name} attacks the {said}", line.text)
    for kind, verb, found in (
        (skewer, "drives away", skewers_by(board, move.to_square)),
        (pin, "pins", pins_by(board, move.to_square)),
    ):
        for front, behind in found:
            if _takes(line, [front, behind]):
                said = f"{name} {verb} the {piece_name(board, front)} before the {piece_name(board, behind)}"
                return Mistake(kind, said, line.text)
    targets = discovered_by(line.board, move)
    if targets and _takes(line, targets):
        return Mistake(discovery, f"{name} uncovers an attack on the {piece_name(board, targets[0])}", line.text)
    return None


def _takes(line: FoundLine, targets: Iterable[chess.Square]) -> bool:
    """Whether the second or third move of the side that begins the line takes one of these pieces, moved or not."""
    wanted = set(targets)
    board = line.after(1)
    for index, move in enumerate(line.moves[1:6], start=1):
        if index % 2 and move.from_square in wanted and board.piece_type_at(move.from_square) != chess.KING:
            wanted.discard(move.from_square)
            wanted.add(move.to_square)
        elif not index % 2 and _taken_on(board, move) in wanted:
            return True
        board.push(move)
    return False


def _position(terms: Mapping[str, float], line: FoundLine) -> Mistake | None:
    """The terms that the move costs most."""
    lost = sorted((pair for pair in terms.items() if not is_material(pair[0])), key=lambda pair: -pair[1])
    named = [f"{phrase(name)} {cp / 100:.2f}" for name, cp in lost[:2] if cp >= MIN_TERM]
    return Mistake(MistakeKind.POSITION, ", ".join(named), line.text) if named and line.moves else None


def _taken_on(board: chess.Board, move: chess.Move) -> chess.Square | None:
    """The square of the piece that a move takes, None if it takes none."""
    if board.is_en_passant(move):
        return chess.square(chess.square_file(move.to_square), chess.square_rank(move.from_square))
    return move.to_square if board.is_capture(move) else None


def _balance(board: chess.Board, side: chess.Color) -> int:
    """The pawns by which a side is ahead in material."""
    return sum(
        WORTH[piece.piece_type] * (1 if piece.color == side else -1)
        for piece in board.piece_map().values()
        if piece.piece_type != chess.KING
    )


def _by_worth(board: chess.Board) -> Callable[[chess.Square], int]:
    return lambda square: -worth_at(board, square)


def _pawns(count: int) -> str:
    """Pawns in words, as what they are worth."""
    return "a pawn" if count == 1 else f"material worth {count} pawns"
