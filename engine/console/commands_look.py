"""Console commands that show or set up the position, and say what the engine sees in it."""

from __future__ import annotations

import dataclasses

from engine.bench import run_bench
from engine.command import CommandError, UsageError
from engine.console.arguments import choice, no_argument, whole_number
from engine.console.chess960 import needs_chess960
from engine.console.registry import Section, command
from engine.console.session import Session
from engine.divide import print_divide
from engine.fen import FenError
from engine.game import Position
from eval.explain import explain
from eval.table import render, render_terms

DEEPEST_PERFT = 10


@command("board", Section.POSITION, aliases=("d", "bd"))
def board(session: Session, arguments: str) -> None:
    """Show the board."""
    no_argument(arguments)
    session.show_board()


@command("fen", Section.POSITION)
def fen(session: Session, arguments: str) -> None:
    """Print the FEN of the position."""
    no_argument(arguments)
    session.say(session.position.fen())


@command("setboard", Section.POSITION, "FEN")
def set_board(session: Session, arguments: str) -> None:
    """Set up the position of a FEN.

    Castling rights of Chess960 are understood, and then castling is written O-O or as king takes rook.
    """
    if not arguments:
        raise UsageError("the FEN is missing")
    text = arguments.strip("\"'")
    try:
        plain = Position(text, chess960=True).fen()
        session.new_game(text, chess960=needs_chess960(plain))
    except FenError as error:
        raise CommandError(f"{error}") from error
    session.report_if_over()


@command("flip", Section.POSITION)
def flip(session: Session, arguments: str) -> None:
    """Turn the board round."""
    no_argument(arguments)
    session.is_flipped = not session.is_flipped
    session.show_board()


@command("pieces", Section.POSITION, "unicode|ascii")
def pieces(session: Session, arguments: str) -> None:
    """Draw the pieces as chess symbols or as letters.

    Letters are for fonts that lack the symbols.
    """
    wanted = choice(arguments, ("unicode", "ascii"))
    session.terminal = dataclasses.replace(session.terminal, unicode=wanted == "unicode")
    session.show_board()


@command("eval", Section.EXPLAIN)
def evaluation(session: Session, arguments: str) -> None:
    """Show what each term gives each side, and the total.

    No search is made: it is what the engine thinks of the position at first sight.
    """
    no_argument(arguments)
    explanation = explain(session.position.record, session.runtime.weights)
    session.say(render(explanation, session.terminal.unicode))


@command("terms", Section.EXPLAIN)
def terms(session: Session, arguments: str) -> None:
    """Explain the terms of the evaluation."""
    no_argument(arguments)
    session.say(render_terms(session.runtime.weights))


@command("perft", Section.EXPLAIN, "DEPTH")
def count_leaves(session: Session, arguments: str) -> None:
    """Count the positions so many half-moves ahead.

    The count under each move and their sum: the test of the move generator.
    """
    depth = whole_number(arguments, "the depth", 1, DEEPEST_PERFT)
    print_divide(session.position, depth, session.say)


@command("bench", Section.EXPLAIN)
def bench(session: Session, arguments: str) -> None:
    """Search a fixed set of positions and show the speed.

    The number of nodes is the same on every machine and identifies the version.
    """
    no_argument(arguments)
    run_bench(session.say)
