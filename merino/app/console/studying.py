"""The console's `explain`, `compare`, `moves` and `threat`: the commands of the shell, for the game on the board.

The commands import this only when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser
from merino.app.console.explaining import (
    DEFAULT_RANKING_MS,
    Explainer,
    compare_parser,
    explain_parser,
    explain_words,
    moves_parser,
    no_threat,
)
from merino.app.console.registry import evaluation_in, file_name, words_in
from merino.app.console.session import Session
from merino.app.console.terminal import ThinkingLine
from merino.core.board.game import Position
from merino.core.common.command import UsageError
from merino.engine.notation.san import looks_like_move, names_position
from merino.engine.search.limits import Limits
from merino.study.analyser import Analyser, analyser

BY_EVALUATION, BY_SEARCH = "eval", "search"  # ways of ranking the moves


def explain(session: Session, arguments: str) -> None:
    """Explain the position, a move, or another position; raises UsageError, MoveRejected or CommandError."""
    explainer = _explainer(session, explain_parser, arguments, shared.DEFAULT_POSITION_MS)
    words = explainer.args.words
    if not words:
        explainer.explain_positions([session.position], is_list=False, with_board=False)
    elif names_position(words[0]):
        explain_words(explainer, words)
    elif len(words) == 1 or looks_like_move(" ".join(words)):
        explainer.explain_move(session.position, " ".join(words))
    else:
        raise UsageError("expected a move, a FEN or startpos")


def compare(session: Session, arguments: str) -> None:
    """Compare two moves, or two files of weights; raises UsageError, MoveRejected or CommandError."""
    explainer = _explainer(session, compare_parser, arguments, shared.DEFAULT_POSITION_MS)
    words = explainer.args.words
    if len(words) != 2:
        raise UsageError("expected two moves, or two weights files")
    if any(looks_like_move(word) for word in words):
        explainer.compare_moves(session.position, words)
        return
    names = [str(Path(file_name(word))) for word in words]
    explainer.compare_evaluations(session.position, [evaluation_in(word) for word in words], names)


def rank(session: Session, arguments: str) -> None:
    """List all legal moves in order, by search or by evaluation at once; raises UsageError or StudyError."""
    explainer = _explainer(session, moves_parser, arguments, DEFAULT_RANKING_MS)
    words = explainer.args.words
    if words not in ([], [BY_EVALUATION], [BY_SEARCH]):
        raise UsageError(f"expected {BY_EVALUATION} or {BY_SEARCH}")
    explainer.rank_moves(session.position, explainer.args.static or words == [BY_EVALUATION])


def threat(session: Session) -> None:
    """Say what the other side would win if it were to move."""
    explainer = _explainer(session, explain_parser, "", shared.DEFAULT_POSITION_MS)
    session.say_wrapped(explainer.threat(session.position) or no_threat(session.position))


def _explainer(session: Session, parser_of: Callable[[bool], Parser], arguments: str, milliseconds: int) -> Explainer:
    """What carries a command out, with the session's evaluation and search; raises SystemExit after the help."""
    parser, words = parser_of(True), words_in(arguments)
    if {"-h", "--help"} & set(words):
        session.say(parser.format_help().rstrip())
        parser.exit()
    args = parser.parse_intermixed_args(words)
    asked, evaluation = shared.asked_limits(args), session.runtime.evaluation
    is_limited = asked != Limits()
    beside = None if evaluation.has_terms else session.runtime.terms
    return Explainer(
        args,
        evaluation,
        evaluation_in(args.beside) if getattr(args, "beside", None) else beside,
        lambda: _analyser(session),
        asked if is_limited else _limits(session, milliseconds),
        is_limited,
        session.terminal.unicode,
        session.text_width,
        session.say,
    )


def _analyser(session: Session) -> Analyser:
    def display(position: Position) -> ThinkingLine:
        return ThinkingLine(position, session.terminal, session.out)

    return analyser(session.runtime.searcher, display, session.is_stop_requested)


def _limits(session: Session, milliseconds: int) -> Limits:
    """The depth or nodes of the pace, if it limits those; else this many milliseconds."""
    limits = session.game.pace.limits(session.position.turn)
    return limits if limits.depth or limits.nodes else Limits(movetime=milliseconds)
