"""Console commands that say what the engine sees in a position or a move."""

from __future__ import annotations

import json

from engine.board.divide import print_divide
from engine.board.move import Move
from engine.common.command import CommandError, UsageError
from engine.console.arguments import evaluation_in, no_argument, square, whole_number
from engine.console.registry import Section, command
from engine.console.session import Session
from engine.notation.san import read_move, san
from engine.search.bench import run_bench
from engine.search.limits import Limits
from eval.linear.table import PIECE_VALUES, render, render_piece, render_pieces

DEEPEST_PERFT = 10
EVAL_OPTIONS = ("sort", "hide-zero", "json")


@command("eval", Section.EXPLAIN, "[FILE] [HOW ...]")
def evaluation(session: Session, arguments: str) -> None:
    """Show what each term gives each side, and the total.

    No search is made: it is what the engine thinks of the position at first sight. With a weights file it is what
    it would think with those. `eval sort` puts the largest terms first, `eval hide-zero` leaves out those that make no
    difference, `eval json` is for programs.
    """
    words = arguments.split()
    wanted = [word for word in words if word in EVAL_OPTIONS]
    name = " ".join(word for word in words if word not in EVAL_OPTIONS)
    chosen = evaluation_in(name) if name else session.runtime.evaluation
    explanation = chosen.explain(session.position.record)
    if "json" in wanted:
        session.say(json.dumps({"fen": session.position.fen(), **explanation.as_json()}))
        return
    terminal = session.terminal
    session.say(render(explanation, terminal.unicode, terminal.width, "sort" in wanted, "hide-zero" in wanted))


@command("pieces", Section.EXPLAIN, "[SQUARE|WAY]")
def pieces(session: Session, arguments: str) -> None:
    """Show what each piece on the board is worth, three ways.

    Removal: how much the evaluation falls for its owner without it. Attributed: the terms it brings its owner; with
    what pieces share they are the sum of the evaluation. Relative: removal in pawns. With a square, the terms of the
    piece there.
    """
    values = session.runtime.evaluation.value_pieces(session.position.record)
    if not arguments or arguments in PIECE_VALUES:
        session.say(render_pieces(values, (arguments,) if arguments else PIECE_VALUES))
        return
    piece = values.at(square(arguments))
    if piece is None:
        raise CommandError(f"there is no piece on {arguments.lower()}")
    session.say(render_piece(piece))


@command("explain", Section.EXPLAIN, "MOVE")
def explain_move(session: Session, arguments: str) -> None:
    """Show which terms a move changes, without playing it.

    First at once, then at the end of the line that a short search expects. Enter or Ctrl-C ends the search.
    """
    if not arguments:
        raise UsageError("the move is missing")
    from engine.console import studying  # noqa: PLC0415 (when it is first needed)

    studying.explain_move(session, arguments)


@command("compare", Section.EXPLAIN, "MOVE MOVE")
def compare(session: Session, arguments: str) -> None:
    """Compare two moves term by term, at once and at the end of their lines.

    `compare A.txt B.txt` compares two files of weights instead: what they say of this position, its pieces and its
    moves.
    """
    from engine.console import studying  # noqa: PLC0415 (when it is first needed)

    studying.compare(session, arguments)


@command("see", Section.EXPLAIN, "MOVE")
def see(session: Session, arguments: str) -> None:
    """Say what the exchange that a move starts wins or loses.

    Both sides go on taking on that square as long as it pays, the least piece first. Pins and everything else on
    the board are left out: so the search sorts captures.
    """
    move = _move(session, arguments)
    gain = session.runtime.searcher.exchange_gain(session.position, move)
    verdict = f"{'wins' if gain > 0 else 'loses'} {abs(gain)} centipawns" if gain else "neither wins nor loses anything"
    session.say(f"{san(session.position, move)} {verdict} by exchange.")


def _move(session: Session, text: str) -> Move:
    if not text:
        raise UsageError("the move is missing")
    return read_move(session.position, text)


@command("analyze", Section.EXPLAIN, aliases=("analyse",))
def analyze(session: Session, arguments: str) -> None:
    """Think about the position until Enter or Ctrl-C.

    Whatever else you type ends it too, and is then obeyed. In a script, where nobody can end it, the engine thinks as
    long as for a move.
    """
    no_argument(arguments)
    session.require_running()
    limits = Limits(infinite=True) if session.is_live else session.pace.limits(session.position.turn)
    session.think(limits, is_analysis=True)


@command("terms", Section.EXPLAIN)
def terms(session: Session, arguments: str) -> None:
    """Explain the terms of the evaluation."""
    no_argument(arguments)
    session.say(session.runtime.evaluation.describe(session.text_width))


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
