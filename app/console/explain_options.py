"""The command lines of `explain`, `compare` and `moves`, in a shell and at the console."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from merino.inner.app.console import shared_options as shared
from merino.inner.app.console.command_line import Parser, number
from merino.inner.engine.search.limits import Limits
from merino.inner.study.shapley import DEFAULT_ERROR, MAX_ERROR, MIN_ERROR, MOVE_ERROR

MOVE_MS, RANKING_MS = 1000, 5000  # without another limit


def explain_parser(at_console: bool = False) -> Parser:
    """The parser of `explain`."""
    parser = _parser(
        _name("explain", at_console),
        ("[MOVE | FEN [MOVE] | startpos]",) if at_console else ("FEN [MOVE]", "FILE"),
        "Explain a position, or what a move changes in it, term by term.",
        ("explain Nf3 --shapley", "explain --threat")
        if at_console
        else (
            "merino explain 'r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3' Bb5",
            "merino explain positions.fen --pieces --sort",
        ),
    )
    if at_console:
        sentence = "a move, or another position and a move there (default: the position on the board)"
        parser.add_argument("words", nargs="*", metavar="MOVE | FEN [MOVE] | startpos", help=sentence)
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
    sentence = "print the whole report as JSON, with all moves; given a limit, with a search"
    add("--report", action="store_true", help=sentence)
    _add_options(parser, MOVE_MS, DEFAULT_ERROR, at_console)
    return parser


def compare_parser(at_console: bool = False) -> Parser:
    """The parser of `compare`."""
    parser = _parser(
        _name("compare", at_console),
        ("MOVE MOVE", "A.txt B.txt") if at_console else ("FEN MOVE MOVE", "A.txt B.txt [FEN]"),
        "Compare two moves in a position, or two weights files.",
        ("compare e4 d4 --nodes 20000",)
        if at_console
        else (
            "merino compare '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' e4 Kd2",
            "merino compare weights/default.txt my-weights.txt",
        ),
    )
    what = "MOVE1 MOVE2 | A.txt B.txt" if at_console else "FEN MOVE1 MOVE2 | A.txt B.txt [FEN]"
    parser.add_argument("words", nargs="+", metavar=what, help="what to compare")
    _add_options(parser, MOVE_MS, MOVE_ERROR, at_console)
    return parser


def moves_parser(at_console: bool = False) -> Parser:
    """The parser of `moves`, which ranks them."""
    parser = _parser(
        _name("moves", at_console),
        ("[eval | search]",) if at_console else ("FEN",),
        "Rank the legal moves of a position by search or, with --static, by evaluation.",
        ("moves eval --shapley",) if at_console else ("merino moves '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1' --static",),
    )
    if at_console:
        sentence = "by the evaluation at once, as --static, or by search"
        parser.add_argument("words", nargs="*", metavar="eval | search", help=sentence)
    else:
        parser.add_argument("words", nargs="+", metavar="FEN", help="the position")
    _add_options(parser, RANKING_MS, MOVE_ERROR, at_console)
    return parser


def asked_limits(args: argparse.Namespace) -> Limits:
    """The limits of a search that a command line names."""
    return Limits(depth=args.depth, nodes=args.nodes, movetime=args.movetime)


def asked_error(args: argparse.Namespace) -> float | None:
    """The standard error of the Shapley values that are asked for, None if none are."""
    return float(args.error) if args.shapley else None


def _name(command: str, at_console: bool) -> str:
    return command if at_console else f"merino {command}"


def _parser(command: str, forms: Sequence[str], description: str, examples: Sequence[str]) -> Parser:
    """A parser with a line of usage for each form of the command."""
    usage = f"\n{' ' * len('usage: ')}".join(f"{command} {form} [options]" for form in forms)
    return Parser(prog=command, usage=usage, description=description, examples=examples)


def _add_options(parser: Parser, milliseconds: int, error: float, at_console: bool) -> None:
    """Those of all three; at the console the session has evaluation, threads and table."""
    if not at_console:
        shared.add_evaluation(parser)
        shared.add_k(parser)
    shared.add_limits(parser, "per position", movetime=milliseconds)
    if not at_console:
        shared.add_threads(parser)
        shared.add_hash(parser)
        shared.add_ascii(parser)
    parser.group(shared.SEARCH).add_argument("--static", action="store_true", help="evaluate only, do not search")
    shared.add_json(parser)
    add_shapley(parser, error, "also print the Shapley value of each piece; these add up to the score")


def add_shapley(parser: Parser, error: float, sentence: str) -> None:
    """--shapley and --error."""
    add = parser.group(shared.OUTPUT).add_argument
    add("--shapley", action="store_true", help=sentence)
    kind, sentence = number(MIN_ERROR, MAX_ERROR, "centipawns"), "their standard error (default: %(default)g)"
    add("--error", type=kind, default=error, metavar="CP", help=sentence)
