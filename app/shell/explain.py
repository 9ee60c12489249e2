"""`merino explain`, `merino compare` and `merino moves`: positions, moves and weights explained in a shell."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence

import chess
import numpy as np

from merino.inner.app.console import shared_options as shared
from merino.inner.app.console.command_line import Parser, file_path
from merino.inner.app.console.terminal import detect
from merino.inner.app.shell.positions import read_positions, take_position, take_setup
from merino.inner.app.shell.search_options import (
    SearchRequest,
    add_search_options,
    add_weights_options,
    evaluation_of,
    searcher_of,
)
from merino.inner.core.board.game import Position
from merino.inner.core.common.command import CommandError, UsageError
from merino.inner.engine.notation.positions import looks_like_fen
from merino.inner.engine.notation.san import read_move
from merino.inner.engine.report.older_json import explanation_json, move_json, moves_json
from merino.inner.engine.report.schema import PositionReport
from merino.inner.engine.report.static import report_evaluation, with_beside
from merino.inner.engine.report.text import render, render_beside, render_pieces, render_shapley
from merino.inner.engine.search.limits import Limits
from merino.inner.eval.evaluation import Evaluation
from merino.inner.study.analyser import Analyser, analyser
from merino.inner.study.explain.text import render_move, render_ranking, render_two_moves, render_two_weights
from merino.inner.study.explain.two_weights import compare_weights
from merino.inner.study.reasons.threats import threat_in
from merino.inner.study.reasons.why import why
from merino.inner.study.reporting import report_moves, report_position, report_setup
from merino.inner.study.setups import Setup
from merino.inner.study.shapley.values import DEFAULT_ERROR, MAX_ERROR, MIN_ERROR
from merino.inner.study.told import with_shapley, with_words

MOVE_MS, RANKING_MS = 1000, 5000  # without another limit
MOVE_ERROR = 5.0  # centipawns, of the Shapley values before and after a move
MAX_COLUMNS = 100  # columns


def run_explain(arguments: Sequence[str]) -> int:
    """Explain a FEN, each position of a file, or a move; raises CommandError."""
    parser = Parser(
        prog="merino explain",
        usage="merino explain FEN [MOVE] [options]\n       merino explain FILE [options]",
        description="Explain a position, or what a move changes in it, term by term.",
        examples=(
            "merino explain 'r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3' Bb5",
            "merino explain positions.fen --pieces --sort",
        ),
    )
    parser.add_argument(
        "words", nargs="+", metavar="FEN [MOVE] | FILE", help="a position and a move, or a file of FENs"
    )
    add = parser.group(shared.OUTPUT).add_argument
    add("--pieces", action="store_true", help="also print the value of each piece, computed in three ways")
    add("--threat", action="store_true", help="also say what the other side would win if it were to move")
    add("--sort", action="store_true", help="largest terms first instead of by group")
    add("--hide-zero", action="store_true", help="leave out terms that make no difference")
    sentence = "also show score and piece values of these weights or this net (default for a net: the terms)"
    add("--beside", metavar="FILE", help=sentence)
    add(
        "--report",
        action="store_true",
        help="print the whole report as JSON, with all moves; given a limit, with a search",
    )
    _add_options(parser, MOVE_MS)
    _add_shapley(parser, DEFAULT_ERROR)
    args = parser.parse_intermixed_args(arguments)
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    beside = None
    if args.beside or not evaluation.has_terms:
        beside = evaluation_of(args.beside or args.weights)
    if not looks_like_fen(args.words[0]):
        if len(args.words) > 1:
            raise UsageError(f"explain: expected a FEN or one file, not '{' '.join(args.words)[:60]}'")
        positions = read_positions(file_path(args.words[0]), "explain")
        _say_positions(args, positions, evaluation, beside, is_list=True)
        return 0
    setup, rest = take_setup(args.words, "explain")
    position = setup.position
    if position is None:
        _exactly_nothing(rest, setup)
        _say_setup(args, setup, evaluation, beside)
        return 0
    if not rest:
        _say_positions(args, [position], evaluation, beside, is_list=False)
        return 0
    report = _report_moves(args, position, _exactly(rest, 1, "explain"), evaluation, args.pieces)
    (move,) = report.moves
    found = report.to_dict() if args.report else {"fen": report.fen, **move_json(report, move)}
    _say(args, found, render_move(report, move, _width()))
    return 0


def _say_positions(
    args: argparse.Namespace,
    positions: Sequence[Position],
    evaluation: Evaluation,
    beside: Evaluation | None,
    is_list: bool,
) -> None:
    if args.report:
        reports = _full_reports(args, positions, evaluation)
    else:
        reports = [report_evaluation(position.record, position.fen(), evaluation) for position in positions]
    threats = _threats(args, positions, evaluation) if args.threat else [None] * len(positions)
    reports = [
        with_beside(_deepened(args, report, each.record, evaluation), each.record, beside)
        for report, each in zip(reports, positions, strict=True)
    ]
    if args.report:
        found = [report.to_dict() for report in reports]
    else:
        if not args.json:
            texts = (
                _text(args, report, f"{position}\n", args.pieces)
                + (f"\n\n{found or 'There is no threat.'}" if args.threat else "")
                for report, position, found in zip(reports, positions, threats, strict=True)
            )
            print(f"\n\n{'-' * 79}\n\n".join(texts))
            return
        found = [
            {**explanation_json(report), **({"threat": threat} if args.threat else {})}
            for report, threat in zip(reports, threats, strict=True)
        ]
    print(json.dumps(found if is_list else found[0]))


def _threats(args: argparse.Namespace, positions: Sequence[Position], evaluation: Evaluation) -> list[str | None]:
    """What the other side threatens in each position."""
    search = SearchRequest.of(args, Limits(movetime=MOVE_MS))
    searcher, found = searcher_of(search, evaluation), []
    for position in positions:
        searcher.clear()  # so that what is found does not depend on the positions before it
        threat = threat_in(position, analyser(searcher), search.limits)
        found.append(threat.sentence if threat else None)
    return found


def _say_setup(args: argparse.Namespace, setup: Setup, evaluation: Evaluation, beside: Evaluation | None) -> None:
    """A position that the rules do not allow: its value and that of each piece, by the evaluation alone."""
    report = _deepened(args, report_setup(setup, evaluation), setup.record, evaluation)
    report = with_beside(report, setup.record, beside)
    board = chess.BaseBoard(setup.fen.split(maxsplit=1)[0])
    fault = textwrap.fill(f"{_against_rules(setup)} The rest is the evaluation alone.", _width())
    found = report.to_dict() if args.report else explanation_json(report)
    _say(args, found, _text(args, report, f"{board}\n\n{fault}\n", with_pieces=True))


def _deepened(
    args: argparse.Namespace, report: PositionReport, record: np.ndarray, evaluation: Evaluation
) -> PositionReport:
    """The report with the score of a net told in the terms, and with --shapley with the Shapley values."""
    report = with_words(report, record, evaluation)
    return with_shapley(report, record, evaluation, args.error) if args.shapley else report


def _text(args: argparse.Namespace, report: PositionReport, board: str, with_pieces: bool) -> str:
    """FEN, board and terms of a report, if asked for also the value of each piece."""
    unicode = detect(sys.stdout, ascii_only=args.ascii).unicode
    parts = [report.fen, board, render(report, unicode, _width(), args.sort, args.hide_zero)]
    parts += ["", render_pieces(report)] if with_pieces else []
    parts += ["", render_shapley(report)] if report.shapley else []
    return "\n".join([*parts, *(["", render_beside(report)] if report.beside else [])])


def _against_rules(setup: Setup) -> str:
    return f"The rules do not allow this position, so it has no moves and cannot be searched: {setup.fault}."


def _exactly_nothing(rest: Sequence[str], setup: Setup) -> None:
    """Raise CommandError for a move in a position that has none."""
    if rest:
        raise CommandError(f"explain: {_against_rules(setup)}")


def _full_reports(
    args: argparse.Namespace, positions: Sequence[Position], evaluation: Evaluation
) -> list[PositionReport]:
    """The whole report of each position, searched if a limit is given."""
    search = SearchRequest.of(args, Limits())
    if args.static or not search.is_limited:
        return [report_position(position, evaluation) for position in positions]
    searcher, reports = searcher_of(search, evaluation), []
    for position in positions:
        searcher.clear()  # so that the report of a position does not depend on the positions before it
        reports.append(report_position(position, evaluation, analyser(searcher), search.limits))
    return reports


def run_compare(arguments: Sequence[str]) -> int:
    """Compare two moves in a position, or two files of weights; raises CommandError."""
    parser = Parser(
        prog="merino compare",
        usage="merino compare FEN MOVE MOVE [options]\n       merino compare A.txt B.txt [FEN] [options]",
        description="Compare two moves in a position, or two weights files.",
        examples=(
            "merino compare '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' e4 Kd2",
            "merino compare weights/default.txt my-weights.txt",
        ),
    )
    parser.add_argument("words", nargs="+", metavar="FEN MOVE1 MOVE2 | A.txt B.txt [FEN]", help="what to compare")
    _add_options(parser, MOVE_MS)
    _add_shapley(parser, MOVE_ERROR)
    args = parser.parse_intermixed_args(arguments)
    if looks_like_fen(args.words[0]):
        position, rest = take_position(args.words, "compare")
        evaluation = evaluation_of(args.weights, args.k, args.evalfile)
        report = _report_moves(args, position, _exactly(rest, 2, "compare"), evaluation)
        reasons = why(report, position, evaluation)
        found = {"fen": report.fen, "moves": [move_json(report, move) for move in report.moves], "why": list(reasons)}
        _say(args, found, render_two_moves(report, _width(), reasons))
        return 0
    if len(args.words) < 2:
        raise UsageError("compare: expected a FEN and two moves, or two weights files")
    first_file, second_file, *fen = args.words
    both = [evaluation_of(name, args.k) for name in (first_file, second_file)]
    position, rest = take_position(fen, "compare") if fen else (Position(), [])
    _exactly(rest, 0, "compare")
    compared = compare_weights(position, *both)
    text = render_two_weights(compared, (first_file, second_file), _width())
    _say(args, {"fen": position.fen(), **compared.to_dict()}, text)
    return 0


def run_moves(arguments: Sequence[str]) -> int:
    """Rank the legal moves of a FEN; raises CommandError."""
    parser = Parser(
        prog="merino moves",
        usage="merino moves FEN [options]",
        description="Rank the legal moves of a position by search or, with --static, by evaluation.",
        examples=("merino moves '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --static",),
    )
    parser.add_argument("words", nargs="+", metavar="FEN", help="the position")
    _add_options(parser, RANKING_MS)
    _add_shapley(parser, MOVE_ERROR)
    args = parser.parse_intermixed_args(arguments)
    position, rest = take_position(args.words, "moves")
    _exactly(rest, 0, "moves")
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    search = SearchRequest.of(args, Limits(movetime=RANKING_MS))
    analysing = _analyser(args, search, evaluation)
    report = report_position(position, evaluation, analysing, search.limits, _error(args))
    _say(args, {"fen": report.fen, "moves": moves_json(report)}, render_ranking(report, _width()))
    return 0


def _add_options(parser: Parser, milliseconds: int) -> None:
    add_weights_options(parser)
    add_search_options(parser, movetime=milliseconds)
    parser.group(shared.SEARCH).add_argument("--static", action="store_true", help="evaluate only, do not search")
    shared.add_ascii(parser)
    shared.add_json(parser)


def _add_shapley(parser: Parser, error: float) -> None:
    add = parser.group(shared.OUTPUT).add_argument
    add("--shapley", action="store_true", help="also print the Shapley value of each piece; these add up to the score")
    add("--error", type=_centipawns, default=error, metavar="CP", help="their standard error (default: %(default)g)")


def _centipawns(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not MIN_ERROR <= value <= MAX_ERROR:
        raise argparse.ArgumentTypeError(f"expected centipawns, {MIN_ERROR:g} to {MAX_ERROR:g}, not '{text[:40]}'")
    return value


def _error(args: argparse.Namespace) -> float | None:
    """The standard error of the Shapley values that are asked for, None if none are."""
    return float(args.error) if args.shapley else None


def _report_moves(
    args: argparse.Namespace,
    position: Position,
    texts: Sequence[str],
    evaluation: Evaluation,
    with_pieces: bool = False,
) -> PositionReport:
    """The report of the moves of these texts; raises MoveRejected."""
    moves = [read_move(position, text) for text in texts]
    search = SearchRequest.of(args, Limits(movetime=MOVE_MS))
    searching = _analyser(args, search, evaluation)
    return report_moves(position, moves, evaluation, searching, search.limits, with_pieces, _error(args))


def _analyser(args: argparse.Namespace, search: SearchRequest, evaluation: Evaluation) -> Analyser | None:
    return None if args.static else analyser(searcher_of(search, evaluation))


def _exactly(rest: Sequence[str], count: int, command: str) -> Sequence[str]:
    """The words after a FEN; raises UsageError unless there are `count`."""
    if len(rest) != count:
        wanted = ("nothing", "one move", "two moves")[count]
        raise UsageError(f"{command}: expected {wanted} after the FEN, not '{' '.join(rest)[:60]}'")
    return rest


def _say(args: argparse.Namespace, found: Mapping[str, object], text: str) -> None:
    is_json = args.json or getattr(args, "report", False)
    print(json.dumps(found) if is_json else text)


def _width() -> int:
    return min(MAX_COLUMNS, shutil.get_terminal_size().columns)
