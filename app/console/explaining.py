"""Carries out `explain`, `compare` and `moves`; the same at the console and in a shell."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import chess
import numpy as np

from merino.inner.app.console.explain_options import asked_error
from merino.inner.app.console.positions import take_setup
from merino.inner.core.board.game import Position
from merino.inner.core.common.command import CommandError, UsageError
from merino.inner.engine.notation.san import read_move
from merino.inner.engine.report.older_json import explanation_json, move_json, moves_json
from merino.inner.engine.report.schema import PositionReport
from merino.inner.engine.report.static import with_beside
from merino.inner.engine.report.text import render, render_beside, render_pieces, render_shapley
from merino.inner.engine.search.limits import Limits
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.analyser import Analyser
from merino.inner.study.explain.text import render_move, render_ranking, render_two_moves, render_two_weights
from merino.inner.study.explain.two_weights import compare_weights
from merino.inner.study.reasons.why import why
from merino.inner.study.reasons.winning import threat_in
from merino.inner.study.reporting import (
    report_alone,
    report_moves,
    report_position,
    report_setup,
    with_shapley,
    with_words,
)
from merino.inner.study.setups import Setup

NO_THREAT = "There is no threat."
IN_CHECK = "In check no threat is looked for."


def no_threat(position: Position) -> str:
    """What is said where `Explainer.threat` finds none."""
    return IN_CHECK if position.is_check() else NO_THREAT


@dataclass(frozen=True)
class Explainer:
    """Says what a command line of `explain`, `compare` or `moves` asks, as text or JSON."""

    args: argparse.Namespace
    evaluation: Evaluation
    beside: Evaluation | None  # a second evaluation that `explain` shows
    searching: Callable[[], Analyser]  # called before the search of a position
    limits: Limits  # of that search
    is_limited: bool  # the user set them
    unicode: bool
    width: int  # columns
    say: Callable[[str], object]

    def explain_positions(self, positions: Sequence[Position], is_list: bool, with_board: bool = True) -> None:
        """Explain each position; JSON is a list if `is_list`. With `with_board` FEN and board come before the text."""
        args = self.args
        reports = [self._deepened(self._report(position), position.record) for position in positions]
        if args.report:
            self._say_json([report.to_dict() for report in reports], is_list)
            return
        threats = [self.threat(position) if args.threat else None for position in positions]
        if args.json:
            found = [
                {**explanation_json(report), **({"threat": threat} if args.threat else {})}
                for report, threat in zip(reports, threats, strict=True)
            ]
            self._say_json(found, is_list)
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
        found = report.to_dict() if self.args.report else explanation_json(report)
        self._say(found, self._text(report, f"{board}\n\n{fault}\n", with_pieces=True))

    def explain_move(self, position: Position, text: str) -> None:
        """Say what a move changes, at once and at the end of its line; raises MoveRejected.

        An evaluation without terms tells the change by the pieces.
        """
        report = self._report_moves(position, [text], self.args.pieces or not self.evaluation.has_terms)
        (move,) = report.moves
        found = report.to_dict() if self.args.report else {"fen": report.fen, **move_json(report, move)}
        self._say(found, render_move(report, move, self.width))

    def compare_moves(self, position: Position, texts: Sequence[str]) -> None:
        """Compare two moves, and say why one is better; raises MoveRejected, and UsageError for one move twice."""
        if len({read_move(position, text) for text in texts}) < len(texts):
            raise UsageError(f"compare: expected two moves that differ, not '{' '.join(texts)}'")
        report = self._report_moves(position, texts)
        reasons = why(report, position, self.evaluation).sentences
        found = {"fen": report.fen, "moves": [move_json(report, move) for move in report.moves], "why": list(reasons)}
        self._say(found, render_two_moves(report, self.width, reasons))

    def compare_evaluations(self, position: Position, evaluations: Sequence[Evaluation], names: Sequence[str]) -> None:
        """Compare two evaluations: a position, its pieces and its moves under each."""
        first, second = evaluations
        compared = compare_weights(position, first, second)
        text = render_two_weights(compared, (names[0], names[1]), self.width)
        self._say({"fen": position.fen(), **compared.to_dict()}, text)

    def rank_moves(self, position: Position, is_static: bool) -> None:
        """List the legal moves in order, by search or by evaluation; raises StudyError."""
        searches = None if is_static else self.searching()
        report = report_position(position, self.evaluation, searches, self.limits, asked_error(self.args))
        self._say({"fen": report.fen, "moves": moves_json(report)}, render_ranking(report, self.width))

    def threat(self, position: Position) -> str | None:
        """What the other side threatens, as a sentence; None if nothing."""
        found = threat_in(position, self.searching(), self.limits)
        return found.sentence if found else None

    def _report(self, position: Position) -> PositionReport:
        """The report of a position; with --report that of all moves, searched if a limit is given."""
        if not self.args.report:
            return report_alone(position, self.evaluation)
        if self.args.static or not self.is_limited:
            return report_position(position, self.evaluation)
        return report_position(position, self.evaluation, self.searching(), self.limits)

    def _report_moves(self, position: Position, texts: Sequence[str], with_pieces: bool = False) -> PositionReport:
        """The report of the moves of these texts; raises MoveRejected."""
        moves = [read_move(position, text) for text in texts]
        error = asked_error(self.args)
        return report_moves(position, moves, self.evaluation, self._analyser(), self.limits, with_pieces, error)

    def _analyser(self) -> Analyser | None:
        return None if self.args.static else self.searching()

    def _deepened(self, report: PositionReport, record: np.ndarray) -> PositionReport:
        """The report with a net's score told in the terms, with --shapley the Shapley values, and the other score."""
        report = with_words(report, record, self.evaluation)
        if self.args.shapley:
            report = with_shapley(report, record, self.evaluation, self.args.error)
        return with_beside(report, record, self.beside)

    def _text(self, report: PositionReport, board: str | None, with_pieces: bool) -> str:
        """The terms of a report, after FEN and board if there is one; if asked for also the value of each piece."""
        args = self.args
        parts = [] if board is None else [report.fen, board]
        parts += [render(report, self.unicode, self.width, args.sort, args.hide_zero, args.groups)]
        parts += ["", render_pieces(report)] if with_pieces else []
        parts += ["", render_shapley(report)] if report.shapley else []
        return "\n".join([*parts, *(["", render_beside(report)] if report.beside else [])])

    def _say(self, found: Mapping[str, object], text: str) -> None:
        is_json = self.args.json or getattr(self.args, "report", False)
        self.say(json.dumps(found) if is_json else text)

    def _say_json(self, found: Sequence[Mapping[str, object]], is_list: bool) -> None:
        self.say(json.dumps(found if is_list else found[0]))


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


def exactly(rest: Sequence[str], count: int, command: str) -> Sequence[str]:
    """The words after a FEN; raises UsageError unless there are `count`."""
    if len(rest) != count:
        wanted = ("nothing", "one move", "two moves")[count]
        raise UsageError(f"{command}: expected {wanted} after the FEN, not '{' '.join(rest)[:60]}'")
    return rest
