"""`merino demo`: a short game of Merino against itself, printed move by move; what `make run` shows in a pipe."""

from __future__ import annotations

import sys

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, positive
from merino.app.console.loading import wait_message
from merino.app.console.loop import open_session
from merino.app.console.scoresheet import side_name
from merino.app.console.session import Session
from merino.core.board.bitboard import WHITE
from merino.core.board.move import Move
from merino.core.common.about import NAME, __version__
from merino.engine.notation.san import san, san_paragraph
from merino.engine.notation.scores import score_text
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits, Line

DEFAULT_PLIES = 60
DEFAULT_MOVE_MS = 100
BOARD_EVERY = 10  # plies
_STOP = f"stop after N full moves (default: {DEFAULT_PLIES // 2})"


def play_game(argv: list[str]) -> int:
    """Play a game against ourselves and print it; the exit code."""
    parser = Parser(
        prog="merino demo",
        description="Show a short game of Merino against itself, with a board every ten plies.",
        examples=("merino demo", "merino demo --maxmoves 20 --movetime 500"),
    )
    add = parser.group(shared.SEARCH).add_argument
    plies = add("--maxmoves", dest="plies", type=_full_moves, default=DEFAULT_PLIES, metavar="N", help=_STOP)
    parser.also_accept_form("--plies", plies, type=positive)
    sentence = "milliseconds per move (default: %(default)s)"
    add("--movetime", metavar="MS", type=positive, default=DEFAULT_MOVE_MS, help=sentence)
    options = parser.parse_args(argv)
    print(f"{NAME} {__version__} plays a short game against itself, {options.movetime} ms per move.", flush=True)
    with wait_message(sys.stdout):
        session = open_session(DEFAULT_HASH_MB, threads=1)
    session.say(f"Weights: {session.runtime.weights_file}")
    play(session, options.plies, Limits(movetime=options.movetime))
    return 0


def _full_moves(text: str) -> int:
    return 2 * positive(text)


def play(session: Session, plies: int, limits: Limits) -> None:
    """Play until the game ends, but at most this number of plies, and print which it was."""
    session.show_board()
    line: Line | None = None
    while session.position.outcome() is None and len(session.position.moves) < plies:
        line = _play_move(session, limits)
        if len(session.position.moves) % BOARD_EVERY == 0:
            session.show_board()
    if len(session.position.moves) % BOARD_EVERY:
        session.show_board()
    session.say(f"\n{san_paragraph(session.position)}")
    if session.ending is not None:
        session.say(f"\nThe game is over: {session.ending}.")
        return
    score = f" White's score is {score_text(line.score, 1 - session.position.turn)}." if line else ""
    session.say(f"\nStopped after {len(session.position.moves)} plies.{score}")


def _play_move(session: Session, limits: Limits) -> Line | None:
    """Let the engine play one move and print it with its score, depth and nodes; the last line of its search."""
    position = session.position
    result = session.runtime.searcher.search(position, limits)
    move = Move(position.legal_moves[0] if result.best is None else result.best)
    dots = "." if position.turn == WHITE else "..."
    text = f"{position.fullmove_number:3}{dots:<3} {san(position, move):<8}"
    if result.line is not None:
        score = score_text(result.line.score, position.turn)
        text += f" {score:>7}  depth {result.line.depth:2}  {result.line.nodes:>9,} nodes"
    session.say(f"{text}  {side_name(position.turn)}")
    position.push(move)
    return result.line
