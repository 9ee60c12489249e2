"""The commands `explain`, `compare` and `moves`, in a shell and at the console: their options, and what they say.

In a shell, a command line names the position: a FEN, in one word or several, or a file of FENs.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import chess
import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser
from merino.app.console.registry import evaluation_in, file_name, words_in
from merino.app.console.session import Session
from merino.app.console.terminal import ThinkingLine
from merino.core.board.fen import START_FEN, FenError
from merino.core.board.game import START_NAME, Position
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.files import text_of
from merino.engine.notation.san import looks_like_fen, looks_like_move, names_position, read_move
from merino.engine.report.schema import PositionReport
from merino.engine.report.static import with_beside
from merino.engine.report.text import render, render_beside, render_pieces, render_shapley
from merino.engine.search.limits import Limits, Line
from merino.eval.evaluation import Evaluation
from merino.formats.sources import SourceError, read_text
from merino.study.analyser import Analyser, analyser
from merino.study.lines import why
from merino.study.reporting import (
    Setup,
    compare_weights,
    ending_after,
    report_alone,
    report_moves,
    report_position,
    report_setup,
    set_up,
    with_shapley,
    with_words,
)
from merino.study.shapley import DEFAULT_ERROR, MOVE_ERROR
from merino.study.tactics import threat_in
from merino.study.text import render_move, render_ranking, render_two_moves, render_two_weights

DEFAULT_RANKING_MS = 5000  # of `moves`, without another limit
_OF_POSITIONS = ("threat", "sort", "groups", "hide_zero", "beside")  # options that say nothing about a move
NO_THREAT = "There is no threat."
IN_CHECK = "In check no threat is looked for."
BY_EVALUATION, BY_SEARCH = "eval", "search"  # ways of ranking the moves at the console
_T = TypeVar("_T")
_FIELDS = ("[wb]", "-|[A-Ha-hKQkq]{1,4}", "-|[a-h][36]", r"\d+", r"\d+")  # of a FEN, after the board


def take_position(words: Sequence[str], command: str) -> tuple[Position, list[str]]:
    """The position of the FEN that the words begin with, quoted or not, and the words after it.

    Raises CommandError where there is none or it is faulty.
    """
    return _take(words, command, Position)


def take_setup(words: Sequence[str], command: str) -> tuple[Setup, list[str]]:
    """The same, also for positions that the rules do not allow; raises CommandError if the FEN cannot be read."""
    return _take(words, command, set_up)


def _take(words: Sequence[str], command: str, read: Callable[[str], _T]) -> tuple[_T, list[str]]:
    fen, rest = _take_fen(words, command)
    with errors_named(command, FenError):
        return read(fen), rest


def _take_fen(words: Sequence[str], command: str) -> tuple[str, list[str]]:
    """The FEN that the words begin with, and the words after it; raises CommandError where there is none."""
    if words and words[0] == START_NAME:
        return START_FEN, list(words[1:])
    if not words or not looks_like_fen(words[0]):
        raise CommandError(f"{command}: {words[0][:60]!r} is not a FEN" if words else f"{command}: the FEN is missing")
    first, *rest = words
    fields = first.split()
    while rest and len(fields) <= len(_FIELDS) and re.fullmatch(_FIELDS[len(fields) - 1], rest[0]):
        fields.append(rest.pop(0))
    return " ".join(fields), rest


def read_positions(path: Path, command: str) -> list[Position]:
    """The positions of a file of FENs or EPDs, a line each; raises CommandError with file, line and fault."""
    try:
        lines = text_of(read_text(path), path).splitlines()
    except (OSError, SourceError) as error:
        reason = getattr(error if isinstance(error, OSError) else error.__cause__, "strerror", None)
        fault = f"'{path}' is not a FEN, and cannot be read as a file: {reason}" if reason else str(error)
        raise CommandError(f"{command}: {fault}") from error
    positions = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            if line.startswith("["):
                raise CommandError(f"{command}: '{path}' holds games; 'merino annotate' explains them move by move")
            try:
                positions.append(take_position(line.split(), command)[0])
            except CommandError as error:
                raise CommandError(f"{str(error).replace(command, f'{command}: {path}:{number}', 1)}") from error
    if not positions:
        raise CommandError(f"{command}: '{path}' holds no position")
    return positions


def explain_parser(at_console: bool = False) -> Parser:
    """The parser of `explain`."""
    parser = _parser(
        "explain",
        at_console,
        ("[MOVE | FEN|startpos [MOVE]]",) if at_console else ("FEN [MOVE]", "FILE"),
        "Explain a position, or what a move changes in it, term by term.",
        ("Nf3 --shapley", "--threat")
        if at_console
        else (
            "'r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3' Bb5",
            "positions.fen --pieces --sort",
        ),
    )
    if at_console:
        sentence = "a move, or another position and a move there (default: the position on the board)"
        parser.add_argument("words", nargs="*", metavar="MOVE | FEN|startpos [MOVE]", help=sentence)
    else:
        sentence = "a position and a move, or a file of FENs"
        parser.add_argument("words", nargs="+", metavar="FEN [MOVE] | FILE", help=sentence)
    add = parser.group(shared.OUTPUT).add_argument
    add("--pieces", action="store_true", help="also print the value of each piece, computed in three ways")
    add("--threat", action="store_true", help="also say what the other side would win if it were to move")
    add("--sort", action="store_true", help="largest terms first instead of by group")
    add("--groups", action="store_true", help="the groups of terms only, without their terms")
    add("--hide-zero", action="store_true", help="leave out terms that make no difference")
    sentence = "also show score and piece values of these weights or this net (default for a net: the terms)"
    add("--beside", metavar="FILE", help=sentence)
    _add_options(parser, shared.DEFAULT_POSITION_MS, DEFAULT_ERROR, at_console)
    return parser


def compare_parser(at_console: bool = False) -> Parser:
    """The parser of `compare`."""
    parser = _parser(
        "compare",
        at_console,
        ("MOVE MOVE", "A.txt B.txt") if at_console else ("FEN MOVE MOVE", "A.txt B.txt [FEN]"),
        "Compare two moves in a position, or two weights files.",
        ("e4 d4 --nodes 20000",)
        if at_console
        else ("'4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' e4 Kd2", "weights/default.txt my-weights.txt"),
    )
    what = "MOVE1 MOVE2 | A.txt B.txt" if at_console else "FEN MOVE1 MOVE2 | A.txt B.txt [FEN]"
    parser.add_argument("words", nargs="+", metavar=what, help="what to compare")
    _add_options(parser, shared.DEFAULT_POSITION_MS, MOVE_ERROR, at_console)
    return parser


def moves_parser(at_console: bool = False) -> Parser:
    """The parser of `moves`, which ranks them."""
    parser = _parser(
        "moves",
        at_console,
        ("[eval | search]",) if at_console else ("FEN",),
        "Rank the legal moves of a position by search or, with --static, by evaluation.",
        ("eval --shapley",) if at_console else ("'4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --static",),
    )
    if at_console:
        sentence = "by the evaluation at once, as --static, or by search"
        parser.add_argument("words", nargs="*", metavar="eval | search", help=sentence)
    else:
        parser.add_argument("words", nargs="+", metavar="FEN", help="the position")
    _add_options(parser, DEFAULT_RANKING_MS, MOVE_ERROR, at_console)
    return parser


def _parser(command: str, at_console: bool, forms: Sequence[str], description: str, examples: Sequence[str]) -> Parser:
    """A parser with a line of usage for each form of the command; `examples` are without the command."""
    line = command if at_console else f"merino {command}"
    usage = f"\n{' ' * len('usage: ')}".join(f"{line} {form} [options]" for form in forms)
    lines = [f"{line} {example}" for example in examples]
    return Parser(prog=line, usage=usage, description=description, examples=lines)


def _add_options(parser: Parser, milliseconds: int, error: float, at_console: bool) -> None:
    """Those of all three; at the console the session has evaluation, threads and table."""
    if at_console:
        shared.add_limits(parser, "per position", movetime=milliseconds)
    else:
        shared.add_evaluation(parser)
        shared.add_k(parser)
        shared.add_search(parser, movetime=milliseconds)
        shared.add_ascii(parser)
    parser.group(shared.SEARCH).add_argument("--static", action="store_true", help="evaluate only, do not search")
    shared.add_json(parser)
    shared.add_shapley(parser, error, "also print the Shapley value of each piece; these add up to the score")


def no_threat(position: Position) -> str:
    """What is said where `Explainer.threat` finds none."""
    return IN_CHECK if position.is_check() else NO_THREAT


@dataclass(frozen=True)
class Explainer:
    """Says what a command line of `explain`, `compare` or `moves` asks, as text or JSON."""

    args: argparse.Namespace
    evaluation: Evaluation
    second: Evaluation | None  # that `explain` shows, too
    searching: Callable[[], Analyser]  # called before the search of a position, and of each move of two
    limits: Limits  # of that search
    is_limited: bool  # the user set them
    unicode: bool
    width: int  # columns
    say: Callable[[str], object]

    def explain_positions(self, positions: Sequence[Position], is_list: bool, with_board: bool = True) -> None:
        """Explain each position; JSON is a list if `is_list`. With `with_board` FEN and board come before the text."""
        args = self.args
        reports = [self._deepened(self._report(position), position.record) for position in positions]
        threats = [self.threat(position) if args.threat else None for position in positions]
        if args.json:
            found = [self._explained(report, threat) for report, threat in zip(reports, threats, strict=True)]
            self.say(json.dumps(found if is_list else found[0]))
            return
        texts = (
            self._text(report, f"{position}\n" if with_board else None, args.pieces)
            + (f"\n\n{threat or no_threat(position)}" if args.threat else "")
            for report, position, threat in zip(reports, positions, threats, strict=True)
        )
        self.say(f"\n\n{'-' * 79}\n\n".join(texts))

    def explain_setup(self, setup: Setup) -> None:
        """A position that the rules do not allow: its value and that of each piece, by the evaluation alone."""
        report = self._deepened(report_setup(setup, self.evaluation), setup.record)
        board = chess.BaseBoard(setup.fen.split(maxsplit=1)[0])
        fault = textwrap.fill(f"{_against_rules(setup)} The rest is the evaluation alone.", self.width)
        self._say(self._explained(report, None), self._text(report, f"{board}\n\n{fault}\n", with_pieces=True))

    def explain_move(self, position: Position, text: str) -> None:
        """Say what a move changes, at once and at the end of its line; raises MoveRejected and UsageError.

        Without terms, the change is shown by the pieces.
        """
        _check_suits_move(self.args)
        report = self._report_moves(position, [text], self.args.pieces or not self.evaluation.has_terms)
        (move,) = report.moves
        ending = ending_after(position, read_move(position, text))
        self._say(report.to_dict(), render_move(report, move, self.width, ending))

    def compare_moves(self, position: Position, texts: Sequence[str]) -> None:
        """Compare two moves, and say why one is better; raises MoveRejected, and UsageError for one move twice."""
        if len({read_move(position, text) for text in texts}) < len(texts):
            raise UsageError(f"compare: expected two moves that differ, not '{' '.join(texts)}'")
        report = self._report_moves(position, texts)
        reasons = why(report, position, self.evaluation).sentences
        self._say({**report.to_dict(), "why": list(reasons)}, render_two_moves(report, self.width, reasons))

    def compare_evaluations(self, position: Position, evaluations: Sequence[Evaluation], names: Sequence[str]) -> None:
        """Compare two evaluations: a position, its pieces and its moves under each."""
        first, second = evaluations
        compared = compare_weights(position, first, second)
        text = render_two_weights(compared, (names[0], names[1]), self.width)
        self._say({"fen": position.fen(), **compared.to_dict()}, text)

    def rank_moves(self, position: Position, is_static: bool) -> None:
        """List the legal moves in order, by search or by evaluation; raises StudyError."""
        searches = None if is_static else self.searching()
        report = report_position(position, self.evaluation, searches, self.limits, shared.asked_error(self.args))
        self._say(report.to_dict(), render_ranking(report, self.width))

    def threat(self, position: Position) -> str | None:
        """What the other side threatens, as a sentence; None if nothing."""
        found = threat_in(position, self.searching(), self.limits)
        return found.sentence if found else None

    def _report(self, position: Position) -> PositionReport:
        """The report of a position; with --json also of all moves, searched if a limit is given."""
        if not self.args.json:
            return report_alone(position, self.evaluation)
        if self.args.static or not self.is_limited:
            return report_position(position, self.evaluation)
        return report_position(position, self.evaluation, self.searching(), self.limits)

    def _report_moves(self, position: Position, texts: Sequence[str], with_pieces: bool = False) -> PositionReport:
        """The report of the moves of these texts; raises MoveRejected."""
        moves = [read_move(position, text) for text in texts]
        error = shared.asked_error(self.args)
        return report_moves(position, moves, self.evaluation, self._analyser(), self.limits, with_pieces, error)

    def _analyser(self) -> Analyser | None:
        """What searches each move by itself, so that their order does not count; None with --static.

        At the console the searches share what they know, as those of the game do.
        """

        def analyse(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
            return self.searching()(position, limits, count)

        return None if self.args.static else analyse

    def _deepened(self, report: PositionReport, record: np.ndarray) -> PositionReport:
        """The report with a net's score in words, with --shapley the Shapley values, and the other score."""
        report = with_words(report, record, self.evaluation)
        if self.args.shapley:
            report = with_shapley(report, record, self.evaluation, self.args.error)
        return with_beside(report, record, self.second)

    def _explained(self, report: PositionReport, threat: str | None) -> dict[str, object]:
        """The JSON of a position, with --threat also what is threatened."""
        return report.to_dict() | ({"threat": threat} if self.args.threat else {})

    def _text(self, report: PositionReport, board: str | None, with_pieces: bool) -> str:
        """The terms of a report, after FEN and board if there is one; if asked for also the value of each piece."""
        args = self.args
        parts = [] if board is None else [report.fen, board]
        parts += [render(report, self.unicode, self.width, args.sort, args.hide_zero, args.groups)]
        parts += ["", render_pieces(report)] if with_pieces else []
        parts += ["", render_shapley(report)] if report.shapley else []
        return "\n".join([*parts, *(["", render_beside(report)] if report.beside else [])])

    def _say(self, found: Mapping[str, object], text: str) -> None:
        self.say(json.dumps(found) if self.args.json else text)


def _against_rules(setup: Setup) -> str:
    return f"The rules do not allow this position, so it has no moves and cannot be searched: {setup.fault}."


def explain_words(explainer: Explainer, words: Sequence[str]) -> None:
    """Explain the position of the FEN that the words begin with, or the move after it; raises CommandError."""
    setup, rest = take_setup(words, "explain")
    if setup.position is None:
        if rest:
            raise CommandError(f"explain: {_against_rules(setup)}")
        explainer.explain_setup(setup)
    elif rest:
        explainer.explain_move(setup.position, *exactly(rest, 1, "explain"))
    else:
        explainer.explain_positions([setup.position], is_list=False)


def _check_suits_move(args: argparse.Namespace) -> None:
    """Raise UsageError if an option was given that `explain` has for positions only."""
    for name in _OF_POSITIONS:
        if getattr(args, name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"explain: {option} is for a position, not for a move in it; leave it out")


def exactly(rest: Sequence[str], count: int, command: str) -> Sequence[str]:
    """The words after a FEN; raises UsageError unless there are `count`."""
    if len(rest) != count:
        wanted = ("nothing", "one move", "two moves")[count]
        raise UsageError(f"{command}: expected {wanted} after the FEN, not '{' '.join(rest)[:60]}'")
    return rest


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
    second = None if evaluation.has_terms else session.runtime.terms
    return Explainer(
        args,
        evaluation,
        evaluation_in(args.beside) if getattr(args, "beside", None) else second,
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
