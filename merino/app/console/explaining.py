"""The commands `explain`, `compare` and `moves`, in a shell and at the console: their options, and what they say.

In a shell, a command line names the position: a FEN, in one word or several, or a file of FENs. Also the evaluation
and the search that a command line asks for.
"""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import chess
import numpy as np

from merino.app.console import shared, terminal
from merino.app.console.session import Session
from merino.core.board.game import START_NAME, Position
from merino.core.board.move import Move
from merino.core.common import errors, files
from merino.core.common.command import CommandError, UsageError
from merino.engine.notation import positions, san
from merino.engine.report import schema, static
from merino.engine.report import text as report_text
from merino.engine.search.limits import Limits
from merino.engine.search.searcher import Searcher
from merino.engine.search.warmup import warm_up
from merino.eval.evaluation import Evaluation
from merino.eval.families import load_chosen, load_evaluation
from merino.formats.sources import SourceError, read_text
from merino.study import claims, reporting, shapley, text, verdicts
from merino.study.analyser import analyser
from merino.study.judge import Judge, by_search, judge_of

MAX_COLUMNS = 100  # in a shell
_OF_POSITIONS = ("sort", "groups", "hide_zero", "beside")  # options that say nothing about a move


def evaluation_of(name: str | None, k: float | None = None, net: str | None = None) -> Evaluation:
    """The evaluation in the file of this name, or that in use, or a net; with this K. Raises EvaluationError."""
    found = load_chosen(name, net)
    return found if k is None else found.with_k(k)


def searcher_of(evaluation: Evaluation, hash_mb: int, threads: int) -> Searcher:
    """A searcher without a clock; raises CommandError if there is not enough memory."""
    warm_up()  # so that compiling does not count as thinking
    try:
        searcher = Searcher(hash_mb, threads, evaluation)
    except MemoryError as error:
        raise CommandError(f"not enough memory for a transposition table of {hash_mb} MiB") from error
    searcher.move_overhead = 0
    return searcher


def position_of(words: Sequence[str], number_of_moves: int = 0) -> tuple[Position, Sequence[str]]:
    """The position that the words begin with, quoted or not, and so many moves after it.

    Raises CommandError, UsageError and FenError.
    """
    given = positions.take_position(words)
    if given is None:
        raise CommandError(f"{words[0][:60]!r} is not a FEN" if words else "the FEN is missing")
    return given.position(), exactly(given.rest, number_of_moves)


def read_positions(path: Path) -> list[Position]:
    """The positions of a file of FENs or EPDs, a line each; raises CommandError with file, line and fault."""
    try:
        lines = files.text_of(read_text(path), path).splitlines()
    except (OSError, SourceError) as error:
        reason = getattr(error if isinstance(error, OSError) else error.__cause__, "strerror", None)
        fault = f"'{path}' is not a FEN, and cannot be read as a file: {reason}" if reason else str(error)
        raise CommandError(fault) from error
    found = list[Position]()
    for number, line in enumerate(lines, start=1):
        if line.startswith("["):
            raise CommandError(f"'{path}' holds games; 'merino annotate' explains them move by move")
        if line.strip() and not line.startswith("#"):
            with errors.turning(errors.MerinoError, CommandError, f"{path}:{number}: "):
                found.append(positions.read_position(line).position())
    if not found:
        raise CommandError(f"'{path}' holds no position")
    return found


class _Explaining(NamedTuple):
    """A command with its forms in a shell and at the console, and an example of each."""

    sentence: str
    words: tuple[str, str]  # what its words are
    forms: tuple[tuple[str, ...], tuple[str, ...]]
    examples: tuple[tuple[str, ...], tuple[str, ...]]
    limits: Limits = Limits(nodes=200_000)  # without another
    error: float = shapley.MOVE_ERROR  # of Shapley values


_KING_AND_PAWN = "'4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'"
COMMANDS = {
    "explain": _Explaining(
        "Explain a position or a move: the verdict of a search and what of it is proved, then the terms.",
        ("a position and a move in it, or a file of FENs", "a move here, or a position and a move in it"),
        (("FEN [MOVE]", "FILE"), ("[MOVE | FEN|startpos [MOVE]]",)),
        (
            ("'r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3' Bb5", "positions.fen --pieces --sort"),
            ("Nf3 --shapley", "--static"),
        ),
        error=shapley.DEFAULT_ERROR,
    ),
    "compare": _Explaining(
        "Compare two moves in a position, or two weights files.",
        ("what to compare",) * 2,
        (("FEN MOVE MOVE", "A.txt B.txt [FEN]"), ("MOVE MOVE", "A.txt B.txt")),
        ((f"{_KING_AND_PAWN} e4 Kd2", "weights/default.txt my-weights.txt"), ("e4 d4 --nodes 20000",)),
    ),
    "moves": _Explaining(
        "Rank the legal moves of a position by search or, with --static, by evaluation.",
        ("the position", "how to rank them: eval is --static"),
        (("FEN",), ("[eval | search]",)),
        ((f"{_KING_AND_PAWN} --static",), ("eval --shapley",)),
        limits=Limits(movetime=5000),
    ),
}


def parser_of(name: str, at_console: bool = False) -> shared.Parser:
    """The parser of a command; at the console the session has evaluation, threads and table."""
    command, line = COMMANDS[name], name if at_console else f"merino {name}"
    parser = shared.Parser(
        prog=line,
        usage="\n       ".join(f"{line} {form} [options]" for form in command.forms[at_console]),
        description=command.sentence,
        examples=[f"{line} {example}" for example in command.examples[at_console]],
    )
    words = " | ".join(command.forms[at_console])
    parser.add_argument("words", nargs="*" if at_console else "+", metavar=words, help=command.words[at_console])
    add = parser.group(shared.OUTPUT).add_argument
    if name == "explain":
        add("--pieces", action="store_true", help="also print the value of each piece, computed in three ways")
        add("--sort", action="store_true", help="largest terms first instead of by group")
        add("--groups", action="store_true", help="the groups of terms only, without their terms")
        add("--hide-zero", action="store_true", help="leave out terms that make no difference")
        sentence = "also show score and piece values of these weights or this net (default for a net: the terms)"
        add("--beside", metavar="FILE", help=sentence)
    if not at_console:
        shared.add_evaluation(parser, with_k=True)
        shared.add_ascii(parser)
    if name != "moves":
        shared.add_judge(parser)
    shared.add_search(parser, command.limits.nodes, command.limits.movetime, engine=not at_console)
    parser.group(shared.SEARCH).add_argument("--static", action="store_true", help="evaluate only, do not search")
    shared.add_json(parser)
    sentence = "also print the Shapley value of each piece; these add up to the score"
    shared.add_shapley(parser, command.error, sentence)
    return parser


@dataclass(frozen=True)
class Explainer:
    """Says what a command line of `explain`, `compare` or `moves` asks, as text or JSON."""

    args: argparse.Namespace
    here: Position | None  # the position on the board of the console
    evaluation: Evaluation
    second: Evaluation | None  # that `explain` shows, too
    judge: Callable[[], Judge]  # called only where something is searched
    limits: Limits  # of each search
    unicode: bool
    width: int  # columns
    say: Callable[[str], object]

    def explain_positions(self, positions: Sequence[Position], is_list: bool, with_board: bool = True) -> None:
        """Explain each position; JSON is a list if `is_list`. With `with_board` FEN and board come before the text."""
        found, texts = [], []
        for position in positions:
            report = self._deepened(self._report(position), position.record)
            found.append(report.to_dict())
            head = f"{report.fen}\n{position}\n\n" if with_board else ""
            if not self.args.static and not report.ending:
                by = "the terms" if report.terms else report.evaluation
                said = (textwrap.fill(part, self.width) for part in (report.verdict, report.threat) if part)
                head += "\n".join([*said, "", f"Before any move, by {by}:", ""])
            texts.append(f"{head}{self._text(report, self.args.pieces)}")
        self._say(found if is_list else found[0], f"\n\n{'-' * 79}\n\n".join(texts))

    def explain_given(self, given: positions.Given) -> None:
        """Explain a position, or the move after it; raises CommandError and FenError."""
        setup, rest = reporting.set_up(given.fen), given.rest
        if setup.position is not None and rest:
            self.explain_move(given.position(), *exactly(rest, 1))
        elif setup.position is not None:
            self.explain_positions([given.position()], is_list=False)
        else:
            fault = f"The rules do not allow this position, so it has no moves and cannot be searched: {setup.fault}."
            if rest:
                raise CommandError(fault)
            report = self._deepened(reporting.report_setup(setup, self.evaluation), setup.record)
            board = chess.BaseBoard(setup.fen.split(maxsplit=1)[0])
            fault = textwrap.fill(f"{fault} The rest is the evaluation alone.", self.width)
            shown = f"{report.fen}\n{board}\n\n{fault}\n\n{self._text(report, with_pieces=True)}"
            self._say(report.to_dict(), shown)

    def explain_move(self, position: Position, words: str) -> None:
        """Say how good a move is and why, and what it changes by the terms; raises MoveRejected and UsageError.

        Without terms, the change is shown by the pieces.
        """
        for name in _OF_POSITIONS:
            if getattr(self.args, name):
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} is for a position, not for a move in it; leave it out")
        move = san.read_move(position, words)
        with_pieces = self.args.pieces or not self.evaluation.has_terms
        report = self._report_moves(position, [move], verdicts.of_move, with_pieces)
        ending = reporting.ending_after(position, move)
        self._say(report.to_dict(), text.render_move(report, report.moves[0], self.width, ending))

    def compare_moves(self, position: Position, texts: Sequence[str]) -> None:
        """Compare two moves, and say why one is better; raises MoveRejected, and UsageError for one move twice."""
        moves = [san.read_move(position, each) for each in texts]
        if len(set(moves)) < len(moves):
            raise UsageError(f"expected two moves that differ, not '{' '.join(texts)}'")
        report = self._report_moves(position, moves, verdicts.of_two)
        found = {**report.to_dict(), "why": [report.verdict] if report.verdict else []}
        self._say(found, text.render_two_moves(report, self.width))

    def compare_evaluations(self, position: Position, evaluations: Sequence[Evaluation], names: Sequence[str]) -> None:
        """Compare two evaluations: a position, its pieces and its moves under each."""
        compared = reporting.compare_weights(position, *evaluations)
        shown = text.render_two_weights(compared, (names[0], names[1]), self.width)
        self._say({"fen": position.fen(), **compared.to_dict()}, shown)

    def rank_moves(self, position: Position, is_static: bool) -> None:
        """List the legal moves in order, by search or by evaluation; raises StudyError."""
        judge, error = None if is_static else self.judge(), shared.asked_error(self.args)
        report = reporting.report_position(position, self.evaluation, judge, self.limits, error)
        self._say(report.to_dict(), text.render_ranking(report, self.width))

    def threat(self, position: Position) -> str:
        """What the other side threatens, as a sentence, or that nothing is proved."""
        if position.is_check():
            return "In check no threat is looked for."
        found = claims.Prover(self.judge(), self.limits).threat(position)
        return claims.threat_text(*found[:2]) if found else "No threat could be proved."

    def _report(self, position: Position) -> schema.PositionReport:
        """The report of a position; with --json also of all moves, searched if a limit is given."""
        args = self.args
        judge = None if args.static else self.judge()
        if args.json:
            of_moves = None if shared.asked_limits(args) == Limits() else judge
            report = reporting.report_position(position, self.evaluation, of_moves, self.limits)
        else:
            report = reporting.report_alone(position, self.evaluation)
        return report if judge is None else verdicts.with_verdict(report, position, judge, self.limits)

    def _report_moves(
        self,
        position: Position,
        moves: Sequence[Move],
        verdict_on: Callable[..., verdicts.Judgement],
        with_pieces: bool = False,
    ) -> schema.PositionReport:
        """The report of these moves, with the verdict on them unless nothing is to be searched."""
        error = shared.asked_error(self.args)
        if self.args.static:
            return reporting.report_moves(position, moves, self.evaluation, None, None, with_pieces, error)
        judge = self.judge()
        found = verdict_on(position, *moves, judge, self.limits)
        report = reporting.report_moves(position, moves, self.evaluation, found.lines, judge, with_pieces, error)
        return replace(report, verdict=found.text, claims=found.claims)

    def _deepened(self, report: schema.PositionReport, record: np.ndarray) -> schema.PositionReport:
        """The report with a net's score in words, with --shapley the Shapley values, and the other score."""
        report = reporting.with_words(report, record, self.evaluation)
        if self.args.shapley:
            report = reporting.with_shapley(report, record, self.evaluation, self.args.error)
        return static.with_beside(report, record, self.second)

    def _text(self, report: schema.PositionReport, with_pieces: bool) -> str:
        """The terms of a report; if asked for also the value of each piece."""
        args = self.args
        parts = [report_text.render(report, self.unicode, self.width, args.sort, args.hide_zero, args.groups)]
        parts += [report_text.render_pieces(report)] if with_pieces else []
        parts += [report_text.render_shapley(report)] if report.shapley else []
        return "\n\n".join([*parts, *([report_text.render_beside(report)] if report.beside else [])])

    def _say(self, found: Mapping[str, object] | Sequence[object], shown: str) -> None:
        self.say(json.dumps(found) if self.args.json else shown)


def exactly(rest: Sequence[str], count: int) -> Sequence[str]:
    """The words after a FEN; raises UsageError unless there are `count`."""
    if len(rest) != count:
        wanted = ("nothing", "one move", "two moves")[count]
        raise UsageError(f"expected {wanted} after the FEN, not '{' '.join(rest)[:60]}'")
    return rest


# What a command line asks for; `here` is None in a shell.


def _explain(explainer: Explainer) -> None:
    """Explain a FEN, each position of a file, or a move."""
    words, here = explainer.args.words, explainer.here
    if given := positions.take_position(words):
        explainer.explain_given(given)
    elif here is None:
        if len(words) > 1:
            raise UsageError(f"expected a FEN or one file, not '{' '.join(words)[:60]}'")
        explainer.explain_positions(read_positions(shared.file_path(words[0])), is_list=True)
    elif not words:
        explainer.explain_positions([here], is_list=False, with_board=False)
    elif len(words) == 1 or san.looks_like_move(" ".join(words)):
        explainer.explain_move(here, " ".join(words))
    else:
        raise UsageError("expected a move, a FEN or startpos")


def _compare(explainer: Explainer) -> None:
    """Compare two moves in a position, or two files of weights."""
    args, words, here = explainer.args, explainer.args.words, explainer.here
    if here is None and positions.take_position(words):
        explainer.compare_moves(*position_of(words, 2))
    elif len(words) < 2 or (here is not None and len(words) > 2):
        raise UsageError(f"expected {'a FEN and ' if here is None else ''}two moves, or two weights files")
    elif here is not None and any(map(san.looks_like_move, words)):
        explainer.compare_moves(here, words)
    elif here is None and (args.weights or args.evalfile):
        raise UsageError("two weights files are compared without --weights and --evalfile")
    else:
        both = [evaluation_of(name, getattr(args, "k", None)) for name in words[:2]]
        explainer.compare_evaluations(here or position_of(words[2:] or [START_NAME])[0], both, words[:2])


def _rank(explainer: Explainer) -> None:
    """Rank the legal moves of a FEN, or those of the position."""
    args, here = explainer.args, explainer.here
    if here is not None and args.words not in ([], ["eval"], ["search"]):
        raise UsageError("expected eval or search")
    is_static = args.static or (here is not None and args.words == ["eval"])
    explainer.rank_moves(here or position_of(args.words)[0], is_static)


def _threat(explainer: Explainer) -> None:
    """Say what the other side would win if it were to move."""
    assert explainer.here is not None  # at the console
    explainer.say(explainer.threat(explainer.here))


_ASKED = {"explain": _explain, "compare": _compare, "moves": _rank, "threat": _threat}


def _in_shell(name: str, arguments: Sequence[str]) -> int:
    """Carry a command out: 0, or raises CommandError, EvaluationError and the like.

    What each of its searches finds does not depend on those before it.
    """
    args = parser_of(name).parse_intermixed_args(arguments)
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    beside = getattr(args, "beside", None) or (args.weights if name == "explain" and not evaluation.has_terms else "")

    def judge() -> Judge:
        if name == "moves":
            return by_search(searcher_of(evaluation, args.hash, args.threads), evaluation)
        narrator = evaluation if evaluation.has_terms else None
        found = judge_of(args.judge, args.hash, args.threads, narrator=narrator, k=args.k, is_forgetful=True)
        return held.enter_context(found)

    with ExitStack() as held:
        explainer = Explainer(
            args,
            None,
            evaluation,
            None if beside == "" else evaluation_of(beside),
            cache(judge),
            shared.asked_limits(args, COMMANDS[name].limits),
            unicode=terminal.detect(sys.stdout, ascii_only=args.ascii).unicode,
            width=min(MAX_COLUMNS, shutil.get_terminal_size().columns),
            say=print,
        )
        _ASKED[name](explainer)
    return 0


run_explain, run_compare, run_moves = (partial(_in_shell, name) for name in ("explain", "compare", "moves"))


def at_console(session: Session, asked: str, words: Sequence[str], evaluation: Evaluation | None = None) -> None:
    """Carry out a command, or `threat`, with this evaluation or that of the session.

    Only `moves` searches with the session's engine. Without a limit the depth or nodes of the game hold, if it limits
    those. Raises UsageError, MoveRejected, CommandError, EvaluationError and StudyError, and SystemExit after the help.
    """
    name = "explain" if asked == "threat" else asked
    parser = parser_of(name, at_console=True)
    if {"-h", "--help"} & set(words):
        session.say(parser.format_help().rstrip())
        parser.exit()
    args, evaluation = parser.parse_intermixed_args(words), evaluation or session.runtime.evaluation
    usual = session.game.pace.limits(session.position.side)
    if not (usual.depth or usual.nodes):
        usual = COMMANDS[name].limits
    second, searcher = None if evaluation.has_terms else session.runtime.terms, session.runtime.searcher
    beside = getattr(args, "beside", None)

    def display(position: Position) -> terminal.ThinkingLine:
        return terminal.ThinkingLine(position, session.terminal, session.out)

    def judge() -> Judge:
        stopped = session.is_stop_requested
        if name == "moves":
            shown = analyser(searcher, display, stopped)
            return replace(by_search(searcher, evaluation), analyse=shown)  # which keeps what it has found
        narrator = evaluation if evaluation.has_terms else None
        found = judge_of(args.judge, searcher.hash_mb, searcher.threads, narrator=narrator, is_stop_requested=stopped)
        return held.enter_context(found)

    with ExitStack() as held:
        try:
            explainer = Explainer(
                args,
                session.position,
                evaluation,
                load_evaluation(beside) if beside else second,
                cache(judge),
                shared.asked_limits(args, usual),
                session.terminal.unicode,
                session.text_width,
                session.say_wrapped if asked == "threat" else session.say,
            )
            _ASKED[asked](explainer)
        except KeyboardInterrupt:
            raise CommandError("stopped before there was a verdict") from None
