"""Annotated moves and games as JSON objects; scores and values from White's view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.engine.notation.san import board_of, san_line
from merino.study.annotate.analysis import AnnotatedMove, MoveVerdict
from merino.study.annotate.pgn import LINE, GameSource, account
from merino.study.annotate.pieces import PieceOutcome, largest_outcomes


def annotated_json(position: Position, annotated: AnnotatedMove) -> dict[str, Any]:
    """A move made in `position`; if it is a mistake, with its kind, the better line, and what it makes of pieces."""
    grade, mistake = annotated.grade, annotated.mistake
    return {
        "san": annotated.san,
        "uci": position.uci(annotated.move),
        "before": _verdict(annotated.before),
        "after": _verdict(annotated.after),
        "terms": {term.name: term.change_cp for term in annotated.change.terms},
        "loss": annotated.loss,
        "grade": None if grade is None else {"name": grade.name, "sign": grade.sign, "nag": grade.nag},
        "better": {
            "text": annotated.better.score_text,
            "line": san_line(board_of(position), annotated.better.best[:LINE]),
        },
        "mistake": mistake
        and {"kind": mistake.kind.value, "sentence": mistake.sentence, "line": mistake.line, "text": mistake.text},
        "pieces": [_piece(each) for each in annotated.pieces],
        "pieces_text": largest_outcomes(annotated.pieces),
    }


def game_json(source: GameSource, moves: Sequence[AnnotatedMove], is_whole: bool) -> dict[str, Any]:
    """A game with its annotated moves, which are all if it `is_whole`; a faulty one has none, but its `fault`."""
    position, found = source.start.copy(), []
    for annotated in moves:
        found.append(annotated_json(position, annotated))
        position.push(annotated.move)
    return {
        "number": source.number,
        "label": source.label,
        "fen": source.start.fen(),
        "fault": source.fault or None,
        "is_whole": is_whole,
        "moves": found,
        "account": list(account(moves)) if moves else [],
    }


def _verdict(verdict: MoveVerdict) -> dict[str, Any]:
    sign, mate = 1 if verdict.turn == WHITE else -1, verdict.score.mate
    return {
        "cp": sign * int(verdict.score) if mate is None else None,
        "mate": None if mate is None else sign * mate,
        "text": verdict.score_text,
        "expected_score": verdict.expected,
        "depth": verdict.depth,
    }


def _piece(outcome: PieceOutcome) -> dict[str, Any]:
    return {
        "piece": outcome.piece,
        "square": outcome.square,
        "better": {"square": outcome.better_square, "value": outcome.better_cp},
        "played": {"square": outcome.played_square, "value": outcome.played_cp},
        "change": outcome.change_cp,
    }
