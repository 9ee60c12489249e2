"""Console commands that explain a position or a move."""

from __future__ import annotations

import json

from merino.app.console.arguments import evaluation_in, no_argument, square, whole_number
from merino.app.console.registry import Section, command
from merino.app.console.session import Session
from merino.core.board.bitboard import SQUARE_NAMES
from merino.core.board.move import Move
from merino.core.board.perft import print_divide
from merino.core.common.command import CommandError, UsageError
from merino.engine.notation.san import read_move, san
from merino.engine.report.older_json import evaluation_json
from merino.engine.report.schema import PositionReport
from merino.engine.report.static import report_evaluation, with_beside
from merino.engine.report.text import PIECE_VALUES, render, render_piece, render_pieces, render_shapley
from merino.engine.search.bench import run_bench
from merino.engine.search.limits import Limits
from merino.eval.evaluation import Evaluation

MAX_PERFT_DEPTH = 10
EVAL_OPTIONS = ("sort", "groups", "hide-zero", "json")
ATTRIBUTED = "attributed"  # the way that most nets do not have
SHAPLEY = "shapley"  # the way of valuing pieces that takes a moment


@command("eval", Section.EXPLAIN, "[FILE] [HOW ...]")
def evaluation(session: Session, arguments: str) -> None:
    """Show the value of each term for each side, and the total.

    This is the static evaluation, without a search, by the weights in use or by those of a file, which may be named as
    in weights/; a net is told in the terms that come nearest to it. `eval sort` puts the largest terms first, `eval
    groups` shows the groups only, `eval hide-zero` leaves out terms that make no difference, `eval json` prints JSON.
    """
    words = arguments.split()
    wanted = [word for word in words if word in EVAL_OPTIONS]
    name = " ".join(word for word in words if word not in EVAL_OPTIONS)
    chosen = evaluation_in(name) if name else session.runtime.evaluation
    report = _report(session, chosen, with_pieces=True)
    if not chosen.has_terms:
        from merino.study.reporting import with_words  # noqa: PLC0415 (when it is first needed)

        report = with_words(report, session.position.record, chosen)
        report = with_beside(report, session.position.record, session.runtime.terms)
    if "json" in wanted:
        session.say(json.dumps(evaluation_json(report)))
        return
    terminal = session.terminal
    shown = ("sort" in wanted, "hide-zero" in wanted, "groups" in wanted)
    session.say(render(report, terminal.unicode, terminal.width, *shown))


@command("pieces", Section.EXPLAIN, "[SQUARE|WAY]")
def pieces(session: Session, arguments: str) -> None:
    """Show the value of each piece on the board, computed in four ways.

    Removal: how much its owner's evaluation falls without the piece. Attributed: what the piece adds to its owner's
    terms; these values and a shared remainder add up to the evaluation. Relative: removal in pawns. Shapley: what the
    piece adds on average over all orders in which the pieces could come; these values add up to the score. With a
    square, it shows the terms of the piece there.
    """
    report = _report(session, session.runtime.evaluation)
    if arguments in PIECE_VALUES:
        if arguments == ATTRIBUTED and report.shared_cp is None:
            raise CommandError(f"{report.without_terms}, so it attributes nothing to pieces; try pieces {SHAPLEY}")
        session.say(render_pieces(report, (arguments,)))
        return
    from merino.study.reporting import with_shapley  # noqa: PLC0415 (when it is first needed)

    name = SQUARE_NAMES[square(arguments)] if arguments not in ("", SHAPLEY) else None
    report = with_shapley(report, session.position.record, session.runtime.evaluation)
    if name is None:
        shown = [] if arguments else [render_pieces(report)]
        session.say("\n\n".join([*shown, render_shapley(report)]))
        return
    piece = next((piece for piece in report.pieces if piece.square == name), None)
    if piece is None:
        raise CommandError(f"there is no piece on {name}")
    session.say(render_piece(piece))


def _report(session: Session, chosen: Evaluation, with_pieces: bool = True) -> PositionReport:
    return report_evaluation(session.position.record, session.position.fen(), chosen, with_pieces)


@command("explain", Section.EXPLAIN, "[MOVE|FEN] [HOW ...]")
def explain_move(session: Session, arguments: str) -> None:
    """Show which terms a move changes, without playing it; or explain a position.

    It shows them right after the move and at the end of the principal variation of a short search. Enter or Ctrl-C
    ends the search. `explain` alone, or with a FEN or startpos, explains that position. `explain Nf3 --shapley` shows
    what each piece gains and loses; `explain -h` lists all options.
    """
    from merino.app.console import studying  # noqa: PLC0415 (when it is first needed)

    studying.explain(session, arguments)


@command("compare", Section.EXPLAIN, "MOVE MOVE [HOW ...]")
def compare(session: Session, arguments: str) -> None:
    """Compare two moves term by term, at once and at the end of their principal variations, and say why one is better.

    `compare A.txt B.txt` compares two weights files instead: this position, its pieces and its moves under each.
    `compare -h` lists all options.
    """
    from merino.app.console import studying  # noqa: PLC0415 (when it is first needed)

    studying.compare(session, arguments)


@command("threat", Section.EXPLAIN)
def threat(session: Session, arguments: str) -> None:
    """Say what the other side would win if it were to move, by a short search."""
    no_argument(arguments)
    from merino.app.console import studying  # noqa: PLC0415 (when it is first needed)

    studying.threat(session)


@command("see", Section.EXPLAIN, "MOVE")
def see(session: Session, arguments: str) -> None:
    """Show what a move wins or loses by static exchange evaluation (SEE).

    Both sides capture on that square as long as it pays, the least valuable piece first. Pins and the rest of the
    board do not count. The search sorts and prunes captures by this number.
    """
    move = _move(session, arguments)
    gain = session.runtime.searcher.exchange_gain(session.position, move)
    verdict = f"{'wins' if gain > 0 else 'loses'} {abs(gain)} centipawns" if gain else "neither wins nor loses anything"
    session.say(f"{san(session.position, move)} {verdict} by exchange.")


def _move(session: Session, text: str) -> Move:
    if not text:
        raise UsageError("expected a move")
    return read_move(session.position, text)


@command("analyze", Section.EXPLAIN, aliases=("analyse",))
def analyze(session: Session, arguments: str) -> None:
    """Analyse the position until Enter or Ctrl-C.

    Any other command also ends the analysis and is then carried out. In a script the engine thinks as long as for a
    move.
    """
    no_argument(arguments)
    session.require_running()
    limits = Limits(infinite=True) if session.is_live else session.pace.limits(session.position.turn)
    session.judge(limits, is_analysis=True)


@command("terms", Section.EXPLAIN)
def terms(session: Session, arguments: str) -> None:
    """Explain the terms of the evaluation."""
    no_argument(arguments)
    session.say(session.runtime.evaluation.describe(session.text_width))


@command("perft", Section.EXPLAIN, "DEPTH")
def count_leaves(session: Session, arguments: str) -> None:
    """Count the leaf nodes DEPTH plies ahead, for each move and in total.

    This is the usual test of a move generator.
    """
    depth = whole_number(arguments, "the depth", 1, MAX_PERFT_DEPTH)
    print_divide(session.position, depth, session.say)


@command("bench", Section.EXPLAIN)
def bench(session: Session, arguments: str) -> None:
    """Search a fixed set of positions and print node count and speed.

    The node count is the same on every machine and identifies the version.
    """
    no_argument(arguments)
    run_bench(session.say)
