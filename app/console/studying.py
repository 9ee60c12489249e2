"""The console's `explain`, `compare` and `moves` for moves, searches and other weights.

The commands import this only when it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from merino.inner.app.console.arguments import evaluation_in, file_name
from merino.inner.app.console.session import Session
from merino.inner.app.console.thinking import ThinkingLine
from merino.inner.core.board.game import Position
from merino.inner.core.common.command import UsageError
from merino.inner.engine.notation.san import looks_like_move, read_move
from merino.inner.engine.report.schema import PositionReport
from merino.inner.engine.search.limits import Limits
from merino.inner.study.analyser import Analyser, analyser
from merino.inner.study.explain.text import render_move, render_ranking, render_two_moves, render_two_weights
from merino.inner.study.explain.two_weights import compare_weights
from merino.inner.study.reasons.why import why
from merino.inner.study.reporting import report_moves, report_position

MOVE_MS, RANKING_MS = 1000, 5000  # if the pace is a time, which is meant for playing


def explain_move(session: Session, text: str) -> None:
    """Say what a move changes, at once and at the end of its line; raises MoveRejected."""
    report = _report(session, [text])
    session.say(render_move(report, report.moves[0], session.text_width))


def compare(session: Session, arguments: str) -> None:
    """Compare two moves, or two files of weights; raises UsageError, MoveRejected or CommandError."""
    words = arguments.split()
    if len(words) != 2:
        raise UsageError("expected two moves, or two weights files")
    if all(looks_like_move(word) for word in words):
        report = _report(session, words)
        reasons = why(report, session.position, session.runtime.evaluation)
        session.say(render_two_moves(report, session.text_width, reasons))
        return
    first_file, second_file = (file_name(word) for word in words)
    compared = compare_weights(session.position, evaluation_in(first_file), evaluation_in(second_file))
    names = (str(Path(first_file)), str(Path(second_file)))
    session.say(render_two_weights(compared, names, session.text_width))


def rank(session: Session, by_search: bool) -> None:
    """List all legal moves in order, by search or by evaluation at once; raises StudyError."""
    searching, limits = (_analyser(session), _limits(session, RANKING_MS)) if by_search else (None, None)
    report = report_position(session.position, session.runtime.evaluation, searching, limits)
    session.say(render_ranking(report, session.text_width))


def _report(session: Session, texts: Sequence[str]) -> PositionReport:
    """The report of the moves of these texts, each after a short search; raises MoveRejected."""
    moves = [read_move(session.position, text) for text in texts]
    limits = _limits(session, MOVE_MS)
    return report_moves(session.position, moves, session.runtime.evaluation, _analyser(session), limits)


def _analyser(session: Session) -> Analyser:
    def display(position: Position) -> ThinkingLine:
        return ThinkingLine(position, session.terminal, session.out)

    return analyser(session.runtime.searcher, display, session.is_stop_requested)


def _limits(session: Session, milliseconds: int) -> Limits:
    """The depth or nodes of the pace, if it limits those; else this many milliseconds."""
    limits = session.pace.limits(session.position.turn)
    return limits if limits.depth or limits.nodes else Limits(movetime=milliseconds)
