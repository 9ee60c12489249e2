"""`merino explain`, `merino compare` and `merino moves`: positions, moves and weights explained in a shell."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Mapping, Sequence

import chess

from engine.board.game import Position
from engine.common.command import CommandError, UsageError
from engine.console import shared_options as shared
from engine.console.command_line import Parser, file_path
from engine.notation.positions import looks_like_fen
from engine.notation.san import read_move
from engine.search.limits import Limits
from engine.shell.positions import read_positions, take_position, take_setup
from engine.shell.search_options import (
    SearchRequest,
    add_search_options,
    add_weights_options,
    evaluation_of,
    searcher_of,
)
from eval.evaluation import Evaluation
from eval.linear.table import render, render_pieces
from study.explain.lookahead import Prospect, Seeker, prospect, seeker
from study.explain.pieces import piece_changes
from study.explain.ranking import rank_moves
from study.explain.text import (
    render_piece_changes,
    render_prospect,
    render_ranking,
    render_two_moves,
    render_two_weights,
)
from study.explain.two_weights import compare_weights
from study.reporting import report_position, report_setup
from study.setups import Setup

MOVE_MS, RANKING_MS = 1000, 5000  # without another limit
WIDEST = 100  # columns


def run_explain(arguments: Sequence[str]) -> int:
    """Explain a FEN, each position of a file, or a move; raises CommandError."""
    parser = Parser(
        prog="merino explain",
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
    add("--sort", action="store_true", help="largest terms first instead of by group")
    add("--hide-zero", action="store_true", help="leave out terms that make no difference")
    add("--report", action="store_true", help="print everything as JSON, moves too; with a limit, after a search")
    _add_options(parser, MOVE_MS)
    order = parser.parse_intermixed_args(arguments)
    evaluation = evaluation_of(order.weights, order.k)
    if not looks_like_fen(order.words[0]):
        if len(order.words) > 1:
            raise UsageError(f"explain: expected a FEN or one file, not '{' '.join(order.words)[:60]}'")
        positions = read_positions(file_path(order.words[0]), "explain")
        _say_positions(order, positions, evaluation, is_list=True)
        return 0
    setup, rest = take_setup(order.words, "explain")
    position = setup.position
    if position is None:
        _exactly_nothing(rest, setup)
        _say_setup(order, setup, evaluation)
        return 0
    if not rest or order.report:
        _exactly(rest, 0, "explain")
        _say_positions(order, [position], evaluation, is_list=False)
        return 0
    (told,) = _prospects(order, position, _exactly(rest, 1, "explain"), evaluation)
    known, text = {"fen": position.fen(), **told.as_json()}, render_prospect(told, _width())
    if order.pieces:
        changes = piece_changes(position, read_move(position, rest[0]), evaluation)
        known["pieces"] = [change.as_json() for change in changes]
        text += f"\n\n{render_piece_changes(changes, told.san)}"
    _say(order, known, text)
    return 0


def _say_positions(
    order: argparse.Namespace, positions: Sequence[Position], evaluation: Evaluation, is_list: bool
) -> None:
    if order.report:
        reports = _reports(order, positions, evaluation)
        print(json.dumps(reports if is_list else reports[0]))
        return
    values = [evaluation.value_pieces(position.record) for position in positions]
    if order.json:
        told = [
            {"fen": position.fen(), **value.explanation.as_json(), **value.as_json()}
            for position, value in zip(positions, values, strict=True)
        ]
        print(json.dumps(told if is_list else told[0]))
        return
    for position, value in zip(positions, values, strict=True):
        print(f"{position.fen()}\n{position}\n")
        print(render(value.explanation, not order.ascii, _width(), order.sort, order.hide_zero))
        if order.pieces:
            print(f"\n{render_pieces(value)}")
        if position is not positions[-1]:
            print(f"\n{'-' * 79}\n")


def _say_setup(order: argparse.Namespace, setup: Setup, evaluation: Evaluation) -> None:
    """A position against the rules: its value and that of each piece, by the evaluation alone."""
    if order.report:
        print(json.dumps(report_setup(setup, evaluation).to_dict()))
        return
    value = evaluation.value_pieces(setup.record)
    if order.json:
        print(json.dumps({"fen": setup.fen, "fault": setup.fault, **value.explanation.as_json(), **value.as_json()}))
        return
    print(f"{setup.fen}\n{chess.BaseBoard(setup.fen.split(maxsplit=1)[0])}\n")
    print(textwrap.fill(f"{_against_rules(setup)} What follows is the evaluation alone.", _width()) + "\n")
    print(render(value.explanation, not order.ascii, _width(), order.sort, order.hide_zero))
    print(f"\n{render_pieces(value)}")


def _against_rules(setup: Setup) -> str:
    return f"The rules do not allow this position, so nothing can be moved or searched in it: {setup.fault}."


def _exactly_nothing(rest: Sequence[str], setup: Setup) -> None:
    """Raise CommandError for a move in a position that has none."""
    if rest:
        raise CommandError(f"explain: {_against_rules(setup)}")


def _reports(
    order: argparse.Namespace, positions: Sequence[Position], evaluation: Evaluation
) -> list[dict[str, object]]:
    """The whole report of each position, searched if a limit is given."""
    search = SearchRequest.of(order, Limits())
    if order.static or not search.is_limited:
        return [report_position(position, evaluation).to_dict() for position in positions]
    searcher, reports = searcher_of(search, evaluation), []
    for position in positions:
        searcher.clear()  # a position is reported alike whatever stands before it
        reports.append(report_position(position, evaluation, seeker(searcher), search.limits).to_dict())
    return reports


def run_compare(arguments: Sequence[str]) -> int:
    """Compare two moves in a position, or two files of weights; raises CommandError."""
    parser = Parser(
        prog="merino compare",
        description="Compare two moves in a position, or two weights files.",
        examples=(
            "merino compare '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' e4 Kd2",
            "merino compare weights/default.txt my-weights.txt",
        ),
    )
    parser.add_argument("words", nargs="+", metavar="FEN MOVE1 MOVE2 | A.txt B.txt [FEN]", help="what to compare")
    _add_options(parser, MOVE_MS)
    order = parser.parse_intermixed_args(arguments)
    if looks_like_fen(order.words[0]):
        position, rest = take_position(order.words, "compare")
        evaluation = evaluation_of(order.weights, order.k)
        first, second = _prospects(order, position, _exactly(rest, 2, "compare"), evaluation)
        told = {"fen": position.fen(), "moves": [first.as_json(), second.as_json()]}
        _say(order, told, render_two_moves(first, second, _width()))
        return 0
    if len(order.words) < 2:
        raise UsageError("compare: expected a FEN and two moves, or two weights files")
    first_file, second_file, *fen = order.words
    both = [evaluation_of(name, order.k) for name in (first_file, second_file)]
    position, rest = take_position(fen, "compare") if fen else (Position(), [])
    _exactly(rest, 0, "compare")
    compared = compare_weights(position, *both)
    text = render_two_weights(compared, (first_file, second_file), _width())
    _say(order, {"fen": position.fen(), **compared.as_json()}, text)
    return 0


def run_moves(arguments: Sequence[str]) -> int:
    """Rank the legal moves of a FEN; raises CommandError."""
    parser = Parser(
        prog="merino moves",
        description="Rank the legal moves of a position by search or, with --static, by evaluation.",
        examples=("merino moves '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --static",),
    )
    parser.add_argument("words", nargs="+", metavar="FEN", help="the position")
    _add_options(parser, RANKING_MS)
    order = parser.parse_intermixed_args(arguments)
    position, rest = take_position(order.words, "moves")
    _exactly(rest, 0, "moves")
    evaluation = evaluation_of(order.weights, order.k)
    search = SearchRequest.of(order, Limits(movetime=RANKING_MS))
    ranking = rank_moves(position, evaluation, _seeker(order, search, evaluation), search.limits)
    told = {"fen": position.fen(), "moves": [entry.as_json() for entry in ranking]}
    _say(order, told, render_ranking(ranking, _width()))
    return 0


def _add_options(parser: Parser, milliseconds: int) -> None:
    add_weights_options(parser)
    add_search_options(parser, movetime=milliseconds)
    parser.group(shared.SEARCH).add_argument("--static", action="store_true", help="evaluate only, do not search")
    shared.add_ascii(parser)
    shared.add_json(parser)


def _prospects(
    order: argparse.Namespace, position: Position, texts: Sequence[str], evaluation: Evaluation
) -> list[Prospect]:
    """What the moves of these texts come to; raises MoveRejected."""
    moves = [read_move(position, text) for text in texts]
    search = SearchRequest.of(order, Limits(movetime=MOVE_MS))
    seek = _seeker(order, search, evaluation)
    return [prospect(position, move, evaluation, seek, search.limits) for move in moves]


def _seeker(order: argparse.Namespace, search: SearchRequest, evaluation: Evaluation) -> Seeker | None:
    return None if order.static else seeker(searcher_of(search, evaluation))


def _exactly(rest: Sequence[str], count: int, command: str) -> Sequence[str]:
    """The words after a FEN; raises UsageError unless there are so many."""
    if len(rest) != count:
        wanted = ("nothing", "one move", "two moves")[count]
        raise UsageError(f"{command}: expected {wanted} after the FEN, not '{' '.join(rest)[:60]}'")
    return rest


def _say(order: argparse.Namespace, told: Mapping[str, object], text: str) -> None:
    print(json.dumps(told) if order.json else text)


def _width() -> int:
    return min(WIDEST, shutil.get_terminal_size().columns)
