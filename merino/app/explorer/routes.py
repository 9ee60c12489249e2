"""The routes of the server, ROUTES: what answers each request of the page, functions from requests to plain data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from merino.app.explorer.games import course_of, pgn_of, read_game, read_pgn, read_text
from merino.app.explorer.guard import BRINGS_NETS, MAX_NET_BYTES
from merino.app.explorer.state import IN_USE, MAX_TEXT, Fields, RequestError, ServerState
from merino.app.explorer.tasks import MATCH, match_so_far
from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.common.about import NAME, __version__
from merino.core.common.files import IN_UTF_16, first_there, is_utf_16
from merino.core.compiled.compiling import WATCH
from merino.engine.notation.san import read_move, san
from merino.engine.report.phrases import is_material, phrases_of, summarise_change
from merino.engine.report.schema import PositionReport, plain
from merino.engine.report.static import difference, with_beside
from merino.engine.search.known_openings import opening_of
from merino.engine.search.limits import Limits
from merino.engine.search.strength import FULL_LEVEL, at_level
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, TermTable
from merino.formats.pgn_games import list_games
from merino.learn.procedure import RECORD_NAME, use_weights
from merino.learn.report import load_record
from merino.study.analyser import analyser
from merino.study.lines import outcome, why
from merino.study.reporting import compare_reports, report_moves, report_position, report_setup, set_up, with_words
from merino.study.shapley import DEFAULT_ERROR, MAX_ERROR, shapley_values
from merino.study.tactics import threat_in

MAX_NODES, THREAT_NODES = 10**6, 20_000  # of a search whose end is waited for
MAX_OFFSET = 1 << 53  # bytes of a file; the largest whole number of JavaScript

Answer = Mapping[str, Any]

_LEVELS = tuple(None if strength is None else strength.elo for strength in map(at_level, range(FULL_LEVEL + 1)))


def start(_: Fields, state: ServerState) -> Answer:
    """GET /api/start: what the page requests first. `text` is that of the command line, treated as if typed."""
    return {
        "name": NAME,
        "version": __version__,
        "text": state.first_text,
        "file": None if state.games is None else state.games.name,  # of games, listed by GET /api/games
        "free": state.first_is_free,  # whether it is a position that breaks the rules
        "levels": _LEVELS,  # the Elo of each level to play at, None for full strength
    }


def explain(fields: Fields, state: ServerState) -> Answer:
    """GET and POST /api/explain: the report of a position; with `free` also of one that breaks the rules."""
    evaluation, second = fields.evaluation(state.evaluations), fields.second_evaluation(state.evaluations)
    if fields.flag("free") and not fields.texts("moves"):
        setup = set_up(fields.text("fen"))
        return _described(report_setup(setup, evaluation), setup.record, evaluation, second)
    position = fields.position()
    return _described(report_position(position, evaluation), position.record, evaluation, second)


def _described(report: PositionReport, record: np.ndarray, evaluation: Evaluation, second: Evaluation | None) -> Answer:
    """A report with the score of a net in words, and with a second evaluation."""
    return _as_answer(with_beside(with_words(report, record, evaluation), record, second))


def shapley(fields: Fields, state: ServerState) -> Answer:
    """POST /api/shapley: the Shapley values of the pieces, to a standard error in whole centipawns."""
    evaluation, error = fields.evaluation(state.evaluations), fields.number("error", 1, int(MAX_ERROR))
    if fields.flag("free") and not fields.texts("moves"):
        record = set_up(fields.text("fen")).record
    else:
        record = fields.position().record
    found = shapley_values(record, evaluation, DEFAULT_ERROR if error is None else error)
    values = {piece.name: {"value": piece.value, "error": piece.error} for piece in found.pieces}
    return {"values": values, "baseline": found.baseline, "score": found.score, "error": found.error}


def move(fields: Fields, state: ServerState) -> Answer:
    """POST /api/move: play a move as a person writes it; the move and the report of the new position."""
    evaluation, position = fields.evaluation(state.evaluations), fields.position()
    played = read_move(position, fields.text("move"))
    name = san(position, played)
    position.push(played)
    moves = [position.uci(each) for each in position.moves]
    second = fields.second_evaluation(state.evaluations)
    report = _described(report_position(position, evaluation), position.record, evaluation, second)
    return {"san": name, "uci": moves[-1], "moves": moves, "fen": position.fen(), "report": report}


def read(fields: Fields, _: ServerState) -> Answer:
    """POST /api/read: read a text, which may be a FEN, an EPD, moves or PGN."""
    free = fields.flag("free")
    position = fields.position() if fields.has("fen") else None
    return asdict(read_text(fields.text("text"), position, free))


def pgn(fields: Fields, _: ServerState) -> Answer:
    """POST /api/pgn: the games of a PGN text."""
    return asdict(read_pgn(fields.text("text")))


def pgn_text(fields: Fields, _: ServerState) -> Answer:
    """POST /api/pgn/text: a game as PGN: `tags`, `comment`, and `moves` with their comments, signs and variations."""
    fen, tags = Position(fields.text("fen")).fen(), fields.labels("tags")
    return {"text": pgn_of(fen, tags, fields.parts("moves"), fields.text("comment", ""))}


def opening(fields: Fields, _: ServerState) -> Answer:
    """POST /api/opening: the name of the opening of a game; nulls if it has none."""
    found = opening_of(fields.position())
    return {"eco": found and found.eco, "name": found and found.name}


def list_file(fields: Fields, state: ServerState) -> Answer:
    """GET /api/games: some games of the file on the command line, from the offset `at`."""
    piece = state.games_file().piece(fields.number("at", 0, MAX_OFFSET) or 0)
    return {"games": [vars(game) for game in piece.games], "next": piece.next, "done": piece.done}


def list_text(fields: Fields, _: ServerState) -> Answer:
    """POST /api/games: the games of a piece of a file that begins at its offset `at`; with `more` the file goes on."""
    at, more, content = fields.number("at", 0, MAX_OFFSET) or 0, fields.flag("more"), fields.content()
    if at == 0 and is_utf_16(content):
        raise RequestError(f"the file {IN_UTF_16}")
    games, after = list_games(content, at, goes_on=more)
    return {"games": [vars(game) for game in games], "next": after if more else None}


def file_game(fields: Fields, state: ServerState) -> Answer:
    """GET /api/game: a game of the file on the command line, by its `start` and `size` in the list."""
    start, size = (fields.number(name, 0, most) or 0 for name, most in (("start", MAX_OFFSET), ("size", MAX_TEXT)))
    return asdict(read_game(state.games_file().text(start, size), fields.number("number", 1, MAX_OFFSET) or 1))


def text_game(fields: Fields, _: ServerState) -> Answer:
    """POST /api/game: the game that is a text."""
    return asdict(read_game(fields.content(), fields.number("number", 1, MAX_OFFSET) or 1))


def course(fields: Fields, state: ServerState) -> Answer:
    """POST /api/course: the evaluation of each position of a game."""
    points = course_of(Position(fields.text("fen")), fields.texts("moves"), fields.evaluation(state.evaluations))
    return {"points": [asdict(point) for point in points]}


def compare(fields: Fields, state: ServerState) -> Answer:
    """POST /api/compare: a position under two evaluations, or two moves in it."""
    if fields.has("first_move"):
        return _two_moves(fields, state)
    chosen = (fields.part(name).evaluation(state.evaluations) for name in ("first", "second"))
    position = fields.position()
    first, second = (report_position(position, evaluation) for evaluation in chosen)
    compared = compare_reports(first, second)
    return {
        "first": _as_answer(replace(first, moves=())),
        "second": _as_answer(replace(second, moves=())),
        **compared.to_dict(),
        "summary": summarise_change(compared.change, "B instead of A", WHITE),
    }


def _two_moves(fields: Fields, state: ServerState) -> Answer:
    evaluation, position = fields.evaluation(state.evaluations), fields.position()
    moves = [read_move(position, fields.text(name)) for name in ("first_move", "second_move")]
    nodes = fields.number("nodes", 1, MAX_NODES)
    with state.searchers.borrowed(evaluation) as searcher:
        searching = analyser(searcher, is_forgetful=True) if nodes else None
        report = report_moves(position, moves, evaluation, searching, Limits(nodes=nodes))
    first, second = report.moves
    change = difference(first.change, second.change)
    reasons = why(report, position, evaluation)
    return {
        "moves": plain(report.moves),
        "change": plain(change),
        "summaries": [summarise_change(move.change, move.san, position.turn) for move in report.moves],
        "summary": summarise_change(change, f"{second.san} instead of {first.san}", position.turn),
        "why": list(reasons.sentences),
        "why_pieces": [each.as_json() for each in reasons.pieces],
    }


def threat(fields: Fields, state: ServerState) -> Answer:
    """POST /api/threat: what the other side would win if it were to move, a move and a sentence; nulls for nothing."""
    evaluation, position = fields.evaluation(state.evaluations), fields.position()
    limits = Limits(nodes=fields.number("nodes", 1, MAX_NODES) or THREAT_NODES)
    with state.searchers.borrowed(evaluation) as searcher:
        found = threat_in(position, analyser(searcher), limits)
    if found is None:
        return dict.fromkeys(("threat", "move", "score", "depth"))
    return {"threat": found.sentence, "move": found.move, "score": found.score, "depth": found.depth}


def line(fields: Fields, state: ServerState) -> Answer:
    """POST /api/line: the moves of a `line`, coordinates, with the position after each, and what the line leads to."""
    evaluation, position, moves = fields.evaluation(state.evaluations), fields.position(), fields.texts("line")
    after, steps = position.copy(), []
    for text in moves:
        name = san(after, after.parse_uci(text))
        after.push_uci(text)
        steps.append({"san": name, "uci": text, "fen": after.fen()})
    found = outcome(position, moves, evaluation)
    pieces = [each.as_json() for each in found.pieces]
    return {"steps": steps, "reasons": list(found.sentences), "pieces": pieces}


def weights(fields: Fields, state: ServerState) -> Answer:
    """GET /api/weights: the weights to choose from, the terms, and the values of the chosen or used weights."""
    evaluation = fields.evaluation(state.evaluations)
    numbers = evaluation.numbers
    own = {name: number for name, number in numbers.items() if number.part_of not in numbers}
    return {
        "weights": [asdict(entry) for entry in state.evaluations.entries()],
        "chosen": fields.weights(),
        "k": evaluation.k,
        "has_terms": evaluation.has_terms,
        "about": "" if evaluation.has_terms else evaluation.describe(),
        "values": {name: number.value for name, number in own.items()},
        "bounds": {name: [number.low, number.high] for name, number in own.items()},
        "terms": _terms(evaluation),
    }


def _terms(evaluation: Evaluation) -> list[dict[str, object]]:
    """The terms and tables of an evaluation, as plain data; those of the default set if it has none."""
    of = evaluation.terms if isinstance(evaluation, LinearEvaluation) else TERMS
    return [
        {
            "number": at.start + 1,  # from 1; that of its first weight for a table
            "name": each.name,
            "group": each.group.title,
            "multiplier": each.group.multiplier,
            "phase": of[at.start].phase.name.lower(),
            "low": float(of[at.start].bounds[0]),
            "high": float(of[at.start].bounds[1]),
            "sentence": each.sentence,
            "phrases": () if is_material(each.name) else phrases_of(each.name),  # what sentences call it
            "cells": [term.name for term in of[at]] if isinstance(each, TermTable) else [],  # its weights
        }
        for each, at in of.to_read()
    ]


def add_weights(fields: Fields, state: ServerState) -> Answer:
    """POST /api/weights: keep a weights file or a net that the page has opened."""
    return asdict(state.evaluations.read(fields.text("name")[:80], fields.content(MAX_NET_BYTES)))


def weights_text(fields: Fields, state: ServerState) -> Answer:
    """POST /api/weights/text: the weights file of an evaluation, which the page saves where the user chooses."""
    evaluation = fields.evaluation(state.evaluations)
    if not evaluation.has_terms:
        raise EvaluationError(f"{evaluation.name} has no weights that could be saved as a file")
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        path = Path(folder) / "weights.txt"
        evaluation.save(path, [f"Made with the explorer of {NAME} {__version__}"])
        return {"text": path.read_text(encoding="utf-8")}


def use_in_play(fields: Fields, state: ServerState) -> Answer:
    """POST /api/weights/use: put weights in use, as `merino learn --use` does; the old file is kept next to it."""
    found, said = weights_text(fields, state)["text"], list[str]()
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        path = Path(folder) / "weights.txt"
        path.write_text(found, encoding="utf-8")
        written = use_weights(str(path), None, said.append).outcome.written
    return {"file": str(written), "lines": said}


def learning(_: Fields, state: ServerState) -> Answer:
    """GET /api/learning: the record of the last run of `learn`, on this page or on disk; null if there is none.

    `weights` is the entry of those that it has made, while the server has them.
    """
    if state.record is not None:
        made = (entry for entry in state.evaluations.entries() if entry.id == state.learned)
        return {"record": state.record, "weights": next((asdict(entry) for entry in made), None)}
    for entry in state.evaluations.entries():
        if entry.id == IN_USE and entry.file is not None:
            path = first_there([Path(entry.file).with_name(RECORD_NAME)])
            return {"record": load_record(path) if path else None, "weights": None}
    return {"record": None, "weights": None}


def drop_learned(_: Fields, state: ServerState) -> Answer:
    """POST /api/learning/drop: forget what was learned on the page, and stop and forget its match."""
    if MATCH in state.kept:
        state.kept.pop(MATCH).stop()
    state.record = state.learned = None
    return {}


def _as_answer(report: PositionReport) -> Answer:
    """A report as data, with its score also at the top level."""
    return {"score_cp": report.static.score_cp, **report.to_dict()}


def compiling(_: Fields, __: ServerState) -> Answer:
    """GET /api/compiling: how far the compiler is, null while it has nothing to do."""
    progress = WATCH.progress
    return {"compiling": None if progress is None else asdict(progress)}


ROUTES: tuple[tuple[str, str, Callable[[Fields, ServerState], Answer]], ...] = (
    ("GET", "/api/start", start),
    ("GET", "/api/compiling", compiling),
    ("GET", "/api/explain", explain),
    ("POST", "/api/explain", explain),
    ("POST", "/api/shapley", shapley),
    ("POST", "/api/move", move),
    ("POST", "/api/read", read),
    ("POST", "/api/pgn", pgn),
    ("POST", "/api/pgn/text", pgn_text),
    ("POST", "/api/opening", opening),
    ("GET", "/api/games", list_file),
    ("POST", "/api/games", list_text),
    ("GET", "/api/game", file_game),
    ("POST", "/api/game", text_game),
    ("POST", "/api/course", course),
    ("POST", "/api/compare", compare),
    ("POST", "/api/threat", threat),
    ("POST", "/api/line", line),
    ("GET", BRINGS_NETS, weights),
    ("POST", BRINGS_NETS, add_weights),
    ("POST", "/api/weights/text", weights_text),
    ("POST", "/api/weights/use", use_in_play),
    ("GET", "/api/learning", learning),
    ("POST", "/api/learning/drop", drop_learned),
    ("GET", "/api/match", match_so_far),
)
