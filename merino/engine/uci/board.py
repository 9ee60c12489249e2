"""The UCI commands about a position: setting it up, searching it, showing it. Needs numba."""

import functools
from collections.abc import Callable, Iterator

from merino.core.board.bitboard import SQUARE_NAMES, WHITE
from merino.core.board.game import IllegalMoveError, Position
from merino.core.board.perft import print_divide
from merino.engine.search.bench import run_bench
from merino.engine.uci.go import parse_go
from merino.engine.uci.session import UciSession

_RULER = " " + "+---" * 8 + "+"


def set_position(session: UciSession, text: str) -> None:
    """Read `startpos` or `fen ...`, and `moves ...`."""
    session.position = None
    try:
        session.position = _read_position(text.split(), session.chess960)
    except ValueError as error:
        session.output.error(f"position: {error}")


def _with_position(command: Callable[[UciSession, str, Position], None]) -> Callable[[UciSession, str], None]:
    """Turn a function into a command about the position, which reports an error if there is no valid one."""

    @functools.wraps(command)
    def run(session: UciSession, text: str) -> None:
        if session.position is None:
            session.output.error("there is no valid position")
        else:
            command(session, text, session.position)

    return run


def go(session: UciSession, text: str) -> None:
    """Search, or count for `perft`."""
    parsed = parse_go(text.split(), lambda move: _find_move(session.position, move))
    for remark in parsed.remarks:
        session.output.info(remark)
    if parsed.perft is None:
        session.search(parsed.limits)
    else:
        _divide(session, str(parsed.perft))


def perft(session: UciSession, text: str) -> None:
    """The same as `go perft N`."""
    go(session, f"perft {text}")


@_with_position
def _divide(session: UciSession, depth: str, position: Position) -> None:
    session.run_in_background(lambda is_stopped: print_divide(position, int(depth), session.output.say, is_stopped))


@_with_position
def show(session: UciSession, _: str, position: Position) -> None:
    """The board as Stockfish draws it, with FEN, key and checkers."""
    session.output.say(*_board(position))


@_with_position
def evaluate(session: UciSession, _: str, position: Position) -> None:
    """The score of the position by evaluation alone, term by term."""
    # These load python-chess, which takes 0.2 s: not before the first `go`, when a clock is running.
    from merino.engine.report.static import report_evaluation, with_beside  # noqa: PLC0415
    from merino.engine.report.text import render  # noqa: PLC0415
    from merino.engine.search.limits import pawns  # noqa: PLC0415

    runtime = session.ready()
    by_pieces = not runtime.evaluation.has_terms
    report = report_evaluation(position.record, position.fen(), runtime.evaluation, with_pieces=by_pieces)
    if runtime.evaluation is not runtime.terms:
        report = with_beside(report, position.record, runtime.terms)
    score = report.static.score_cp
    session.output.say(
        *render(report, unicode=False).splitlines(),
        f"Evaluation: {score if position.side == WHITE else -score:+d} cp for the mover, {pawns(score)} for White",
    )


def bench(session: UciSession, _: str) -> None:
    """The same as `merino bench`."""
    session.run_in_background(lambda is_stopped: run_bench(session.output.say, is_stopped=is_stopped))


def _read_position(words: list[str], chess960: bool) -> Position:
    """The position described by the words after `position`; raises ValueError.

    Castling is written in the GUI's style, or in that of Chess960 where the FEN needs it.
    """
    moves_at = words.index("moves") if "moves" in words else len(words)
    if words[:1] == ["startpos"]:
        position = Position(chess960=chess960)
    elif words[:1] == ["fen"]:
        position = Position(" ".join(words[1:moves_at]), chess960)
    else:
        raise ValueError("expected 'startpos' or 'fen'")
    try:
        position.push_all(words[moves_at + 1 :])
    except IllegalMoveError as error:
        raise ValueError(f"ply {error.index + 1}: {error}") from error
    return position


def _find_move(position: Position | None, text: str) -> int | None:
    """The legal move a text means, or None."""
    try:
        return None if position is None else position.parse_uci(text)
    except IllegalMoveError:
        return None


def _board(position: Position) -> Iterator[str]:
    yield ""
    yield _RULER
    for rank in range(7, -1, -1):
        pieces = (position.piece_at(8 * rank + file) or " " for file in range(8))
        yield f" | {' | '.join(pieces)} | {rank + 1}"
        yield _RULER
    yield "   a   b   c   d   e   f   g   h"
    yield ""
    checkers = int(position.record[0]["checkers"])
    yield f"Fen: {position.fen()}"
    yield f"Key: {position.keys[-1]:016X}"
    yield " ".join(["Checkers:", *(name for square, name in enumerate(SQUARE_NAMES) if checkers >> square & 1)])
