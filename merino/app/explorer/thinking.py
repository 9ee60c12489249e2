"""Searches shown on the page: of a position, for a move to play, and of each move of a game."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Any

from merino.app.console.shared_options import DEFAULT_POSITION_MS
from merino.app.explorer.fields import MAX_MOVES, Fields
from merino.app.explorer.server_state import ServerState
from merino.app.explorer.stopping import Message, Say, Stop
from merino.core.board.game import Position
from merino.engine.notation.san import board_of, named_moves, san, san_line
from merino.engine.report.static import report_score
from merino.engine.search.limits import Limits, Line, SearchResult
from merino.engine.search.searcher import Searcher
from merino.engine.search.strength import FULL_LEVEL, at_level
from merino.eval.evaluation import Evaluation
from merino.study.analyser import analyser
from merino.study.annotate.analysis import AnnotatedMove, annotate_moves
from merino.study.annotate.as_json import annotated_json
from merino.study.annotate.pgn import account
from merino.study.shapley import MOVE_ERROR

MAX_LINES = 256
MAX_MS = 3_600_000
MAX_NODES = 10**9
DEFAULT_NODES = 20_000  # in a game, without another limit


def search(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Search a position and report each line found, without end unless a limit is given."""
    position, evaluation = fields.position(), fields.evaluation(state.evaluations)
    limits = _limits(fields, Limits(infinite=True))
    legal = len(position.legal_moves)
    lines = legal if fields.flag("all_moves") else fields.number("lines", 1, MAX_LINES) or 1
    if not legal:
        return {"type": "done", "best": None}

    def show(line: Line) -> None:
        if not line.bound and line.pv:
            say({"type": "line", **_line(position, line, evaluation)})

    with state.searchers.borrowed(evaluation) as searcher:
        searcher.is_analysing = True
        searcher.multipv = lines
        best = _searched(searcher, position, limits, stop, show).best
    return {"type": "done", "best": None if best is None else position.uci(best)}


def play(fields: Fields, state: ServerState, _: Say, stop: Stop) -> Message:
    """Search for a move to play, at a level."""
    position, evaluation = fields.position(), fields.evaluation(state.evaluations)
    limits = _limits(fields, Limits(movetime=DEFAULT_POSITION_MS))
    level = fields.number("level", 0, FULL_LEVEL)
    with state.searchers.borrowed(evaluation) as searcher:
        searcher.strength = None if level is None else at_level(level)
        best = _searched(searcher, position, limits, stop).best
    if best is None:
        return {"type": "done", "best": None, "san": None}
    return {"type": "done", "best": position.uci(best), "san": san(position, best)}


def annotate(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Report for each move of a game what it loses, as `merino annotate` does; from the ply `first` on, if given."""
    start, evaluation = Position(fields.text("fen")), fields.evaluation(state.evaluations)
    before = (fields.number("first", 1, MAX_MOVES + 1) or 1) - 1
    limits = _limits(fields, Limits(nodes=DEFAULT_NODES))
    moves, is_whole = fields.texts("moves"), True
    start.push_all(moves[:before])
    current, done = start.copy(), list[AnnotatedMove]()
    with state.searchers.borrowed(evaluation) as searcher:
        searching = analyser(searcher, is_stop_requested=lambda: stop.is_set, gives_up=True)
        try:
            for annotated in annotate_moves(start, moves[before:], evaluation, searching, limits, MOVE_ERROR):
                done.append(annotated)
                say({"type": "move", "ply": before + len(done), **annotated_json(current, annotated)})
                current.push(annotated.move)
        except KeyboardInterrupt:
            is_whole = False
    return {"type": "done", "is_whole": is_whole, "account": list(account(done))}


def _limits(fields: Fields, otherwise: Limits) -> Limits:
    """The limits that a request names; `otherwise` if it names none."""
    found = Limits(
        depth=fields.number("depth", 1, 100),
        nodes=fields.number("nodes", 1, MAX_NODES),
        movetime=fields.number("movetime", 1, MAX_MS),
    )
    return otherwise if found == Limits() else found


def _searched(searcher: Searcher, position: Position, limits: Limits, stop: Stop, show: Any = None) -> SearchResult:
    """The result of a search, which `stop` ends."""
    done, results = threading.Event(), list[SearchResult]()

    def finish(result: SearchResult) -> None:
        results.append(result)
        done.set()

    searcher.start(position, limits, show or (lambda _: None), finish)
    with stop.calling(searcher.stop):
        done.wait()
    return results[0]


def _line(position: Position, line: Line, evaluation: Evaluation) -> dict[str, Any]:
    named = list(named_moves(position, line.pv))
    return {
        **{name: getattr(line, name) for name in ("depth", "nodes", "nps", "time_ms")},
        "number": line.multipv,
        "score": asdict(report_score(line.score, position.turn, evaluation)),
        "moves": [move for _, move in named],
        "names": [name for name, _ in named],
        "text": san_line(board_of(position), line.pv),
    }
