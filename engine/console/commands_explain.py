"""Console commands that say what the engine sees in a position or a move."""

from __future__ import annotations

from pathlib import Path

from engine.bench import run_bench
from engine.command import CommandError, UsageError
from engine.console.arguments import file_name, no_argument, whole_number
from engine.console.registry import Section, command
from engine.console.session import Session
from engine.divide import print_divide
from engine.move import Move
from engine.san import read_move, san
from engine.search.limits import Limits
from eval.explain import explain
from eval.table import render, render_change, render_terms
from eval.weights import WeightsError, load

DEEPEST_PERFT = 10


@command("eval", Section.EXPLAIN, "[FILE]")
def evaluation(session: Session, arguments: str) -> None:
    """Show what each term gives each side, and the total.

    No search is made: it is what the engine thinks of the position at first sight. With a weights file it is what
    it would think with those.
    """
    weights = session.runtime.weights
    if arguments:
        try:
            weights = load(Path(file_name(arguments)).expanduser())
        except WeightsError as error:
            raise CommandError(str(error)) from error
    session.say(render(explain(session.position.record, weights), session.terminal.unicode, session.terminal.width))


@command("explain", Section.EXPLAIN, "MOVE")
def explain_move(session: Session, arguments: str) -> None:
    """Show which terms a move changes, without playing it.

    No search is made: `analyze` tells whether the move is good.
    """
    move = _move(session, arguments)
    after = session.position.copy()
    after.push(move)
    weights = session.runtime.weights
    change = render_change(explain(session.position.record, weights), explain(after.record, weights))
    session.say(f"{san(session.position, move)}: {change}")


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
    session.say(render_terms(session.runtime.weights, width=session.text_width))


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
