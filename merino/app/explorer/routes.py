"""The routes of the server, ROUTES: what answers each request of the page, functions from requests to plain data."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import chess.engine
import numpy as np

from merino.app.explorer import guard, tasks, tree
from merino.app.explorer.channel import Message
from merino.app.explorer.games import SIGNS, pgn_of, read_game, read_text
from merino.app.explorer.state import JUDGE, MAX_OFFSET, MAX_TEXT, Fields, RequestError, ServerState
from merino.core.board.bitboard import WHITE
from merino.core.board.game import Position
from merino.core.common import about, files
from merino.core.compiled.compiling import WATCH
from merino.engine.notation import san
from merino.engine.report import phrases, schema, static
from merino.engine.search import known_openings, limits, strength
from merino.engine.tables.tablebase import in_words
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.linear import family, registry
from merino.eval.linear.weights import active_file
from merino.formats.pgn_games import headers_of, list_games
from merino.learn.judging import load_record
from merino.learn.procedure import RECORD_NAME, use_weights
from merino.match import engines
from merino.study import annotation, claims, judge, reporting, text, verdicts
from merino.study.shapley import DEFAULT_ERROR, MAX_ERROR, shapley_values

MAX_NODES, THREAT_NODES = 10**6, 20_000  # of a search whose end is waited for
MAX_SCORE = 10**6  # of a line that is sent: centipawns, moves to mate or plies of depth

_LEVELS = [level and level.elo for level in map(strength.at_level, range(strength.FULL_LEVEL + 1))]


def start(_: Fields, state: ServerState) -> Message:
    """GET /api/start: what the page requests first. `text` is that of the command line, treated as if typed."""
    return {
        "name": about.NAME,
        "version": about.__version__,
        "text": state.first_text,
        "file": None if state.games is None else state.games.name,  # of games, listed by GET /api/games
        "free": state.first_is_free,  # whether it is a position that breaks the rules
        "signs": SIGNS,  # of moves, by their numbers
        "levels": _LEVELS,  # the Elo of each level to play at, None for full strength
    }


def explain(fields: Fields, state: ServerState) -> Message:
    """GET and POST /api/explain: the report of a position; with `free` also of one that breaks the rules."""
    evaluation, second = fields.evaluation(state.evaluations), fields.second_evaluation(state.evaluations)
    if fields.flag("free") and not fields.take("moves", list[str]):
        setup = reporting.set_up(fields.text("fen"))
        return _described(reporting.report_setup(setup, evaluation), setup.record, evaluation, second)
    position = fields.position()
    report = _described(reporting.report_position(position, evaluation), position.record, evaluation, second)
    opening = known_openings.opening_of(position)
    report = {**report, "opening": opening and {"eco": opening.eco, "name": opening.name}}
    return {**report, "tables": in_words(state.tables, position)} if state.tables else report


def _described(
    report: schema.PositionReport, record: np.ndarray, evaluation: Evaluation, second: Evaluation | None
) -> Message:
    """A report with the score of a net in words, and with a second evaluation."""
    return _as_answer(static.with_beside(reporting.with_words(report, record, evaluation), record, second))


def shapley(fields: Fields, state: ServerState) -> Message:
    """POST /api/shapley: the Shapley values of the pieces, to a standard error in whole centipawns."""
    evaluation, error = fields.evaluation(state.evaluations), fields.number("error", 1, int(MAX_ERROR))
    is_free = fields.flag("free") and not fields.take("moves", list[str])
    placed = reporting.set_up(fields.text("fen")) if is_free else fields.position()
    found = shapley_values(placed.record, evaluation, DEFAULT_ERROR if error is None else error)
    values = schema.plain(found.pieces)
    return {"values": values, "baseline": found.baseline, "score": found.score, "error": found.error}


def read(fields: Fields, _: ServerState) -> Message:
    """POST /api/read: read a text, which may be a FEN, an EPD, moves or PGN."""
    free = fields.flag("free")
    return read_text(fields.text("text"), fields.position() if fields.has("fen") else None, free)


def pgn_text(fields: Fields, _: ServerState) -> Message:
    """POST /api/pgn/text: a game as PGN: `tags`, `comment`, `commands`, and `moves` as `POST /api/read` gives them."""
    fen = Position(fields.text("fen")).fen()
    tags, commands = (fields.take(name, dict[str, str]) for name in ("tags", "commands"))
    return {"text": pgn_of(fen, tags, fields.parts("moves"), fields.text("comment", ""), commands)}


def list_file(fields: Fields, state: ServerState) -> Message:
    """GET /api/games: some games of the file on the command line, from the offset `at`."""
    at = fields.number("at", 0, MAX_OFFSET) or 0
    piece = state.games_file().piece(at)
    games = headers_of(piece.text, piece.table, at)
    return {"games": [vars(game) for game in games], "next": piece.next, "done": piece.done}


def list_text(fields: Fields, _: ServerState) -> Message:
    """POST /api/games: the games of a piece of a file that begins at its offset `at`; with `more` the file goes on."""
    at, more, content = fields.number("at", 0, MAX_OFFSET) or 0, fields.flag("more"), fields.content()
    if at == 0 and (reason := files.strange(content)):
        raise RequestError(f"the file {reason}")
    games, after = list_games(content, at, goes_on=more)
    return {"games": [vars(game) for game in games], "next": after if more else None}


def game(fields: Fields, state: ServerState) -> Message:
    """GET /api/game: a game of the file on the command line, by its `start` and `size` in the list; POST: of a text."""
    if fields.has("size"):
        start, size = fields.number("start", 0, MAX_OFFSET) or 0, fields.number("size", 0, MAX_TEXT) or 0
        content = state.games_file().text(start, size)
    else:
        content = fields.content()
    return read_game(content, fields.number("number", 1, MAX_OFFSET) or 1)


def compare(fields: Fields, state: ServerState) -> Message:
    """POST /api/compare: a position under two evaluations, or two moves in it."""
    if fields.has("first_move"):
        return _two_moves(fields, state)
    chosen = (fields.part(name).evaluation(state.evaluations) for name in ("first", "second"))
    compared = reporting.compare_weights(fields.position(), *chosen)
    return {
        "first": _as_answer(replace(compared.first, moves=())),
        "second": _as_answer(replace(compared.second, moves=())),
        **compared.to_dict(),
        "summary": phrases.summarise_change(compared.change, "B instead of A", WHITE),
    }


def _two_moves(fields: Fields, state: ServerState) -> Message:
    evaluation, position = fields.evaluation(state.evaluations), fields.position()
    one, other = (san.read_move(position, fields.text(name)) for name in ("first_move", "second_move"))
    nodes = fields.number("nodes", 1, MAX_NODES)
    known = [_line_in(position, part) for part in fields.parts("lines")]
    if known and [line.pv[0] for line in known] != [one, other]:
        raise RequestError("'lines' are not those of the two moves")
    found = verdicts.Judgement(())
    with state.judging(fields, is_forgetful=True) as judging:
        if nodes:
            found = verdicts.of_two(position, one, other, judging, limits.Limits(nodes=nodes), known)
        report = reporting.report_moves(position, [one, other], evaluation, found.lines, judging)
    first, second = report.moves
    change = static.difference(first.change, second.change)
    return {
        "moves": schema.plain(report.moves),
        "change": schema.plain(change),
        "summary": text.instead_of(report),
        "why": list(found.sentences),
        "claims": schema.plain(found.claims),
    }


def _line_in(position: Position, fields: Fields) -> limits.Line:
    """A line of a position that a search of the page has found: `moves`, `depth` and the `score` of /ws/search."""
    moves, score = position.copy().push_all(fields.take("moves", list[str])), fields.part("score")
    cp, mate = (score.number(name, -MAX_SCORE, MAX_SCORE) for name in ("cp", "mate"))
    if not moves or (cp is None) == (not mate):
        raise RequestError("a line needs 'moves', and a 'score' with 'cp' or 'mate'")
    sign = 1 if position.side == WHITE else -1
    given = chess.engine.Mate(sign * mate) if mate else chess.engine.Cp(sign * (cp or 0))
    found = limits.Score(engines.centipawns(given))
    return limits.Line(fields.number("depth", 0, MAX_SCORE) or 0, 0, 1, found, "", 0, 0, 0, 0, tuple(moves))


def loss(fields: Fields, state: ServerState) -> Message:
    """POST /api/loss: what the last of the moves gives away, by lines of a search: `before` it and `after` it."""
    after = fields.position()
    if not after.moves:
        raise RequestError("there is no move that could give something away")
    before = after.copy()
    move = before.pop()
    with state.judging(fields) as judging:
        better = _verdict_in(before, fields.part("before"), judging)
        own = _verdict_in(after, fields.part("after"), judging)
        lost = annotation.loss_of(before, move, better, own, judging)
    grade = annotation.grade_of(lost)
    return {"loss": lost, "grade": grade and asdict(grade)}


def _verdict_in(position: Position, fields: Fields, judging: judge.Judge) -> annotation.MoveVerdict:
    """The verdict on a position by such a line; the expected score as sent where the judge alone knows it."""
    line, turn = _line_in(position, fields), position.side
    expected = judging.expected(line.score) if turn == WHITE else 1 - judging.expected(line.score)
    if judging.knows_chances:
        expected = fields.part("score").take("expected_score", float)
    return annotation.MoveVerdict(expected, line.score, turn, line.depth, line.pv)


def threat(fields: Fields, state: ServerState) -> Message:
    """POST /api/threat: what the other side would win if it were to move, a move and a sentence; nulls for nothing."""
    wanted = limits.Limits(nodes=fields.number("nodes", 1, MAX_NODES) or THREAT_NODES)
    with state.judging(fields) as judging:
        found = claims.Prover(judging, wanted).threat(fields.position())
    if found is None:
        return {**dict.fromkeys(("threat", "move", "score", "depth")), "claims": []}
    claim, course, depth = found
    score, said = san.score_text(course.score, course.start.side), claims.threat_text(claim, course)
    return {"threat": said, "move": claim.line[0], "score": score, "depth": depth, "claims": [schema.plain(claim)]}


def line(fields: Fields, _: ServerState) -> Message:
    """POST /api/line: the moves of a `line`, coordinates, with the position after each, and what the line leads to."""
    position, moves = fields.position(), fields.take("line", list[str])
    after, steps = position.copy(), []
    for move in moves:
        name = san.san(after, after.parse_uci(move))
        after.push_uci(move)
        steps.append({"san": name, "uci": move, "fen": after.fen()})
    return {"steps": steps, "reasons": list(verdicts.outcome(position, moves))}


def weights(fields: Fields, state: ServerState) -> Message:
    """GET /api/weights: the weights to choose from, the terms, and the values of the chosen or used weights."""
    evaluation = fields.evaluation(state.evaluations)
    numbers = evaluation.numbers
    own = {name: number for name, number in numbers.items() if number.part_of not in numbers}
    return {
        "weights": [asdict(entry) for entry in state.evaluations.entries()],
        "chosen": fields.weights(),
        "judge": state.judges[JUDGE],
        "judges": list(state.judges.items()),
        "engines": list(state.judges.items()) if state.named_judges else [],  # to play against
        "k": evaluation.k,
        "has_terms": evaluation.has_terms,
        "about": "" if evaluation.has_terms else evaluation.describe(),
        "values": {name: number.value for name, number in own.items()},
        "bounds": {name: [number.low, number.high] for name, number in own.items()},
        "terms": _terms(evaluation),
    }


def _terms(evaluation: Evaluation) -> list[dict[str, object]]:
    """The terms and tables of an evaluation, as plain data; those of the default set if it has none."""
    of = evaluation.terms if isinstance(evaluation, family.LinearEvaluation) else registry.TERMS
    return [
        {
            "name": each.name,
            "group": each.group.title,
            "multiplier": each.group.multiplier,
            "worth": of.worth.get(each.name),  # Elo, and half of its 95% interval
            "group_worth": of.worth.get(each.group),
            "sentence": each.sentence,
            "phrases": phrases.phrases_of(each.name),  # in sentences
            "cells": [term.name for term in of[at]] if isinstance(each, registry.TermTable) else [],  # its weights
        }
        for each, at in of.to_read()
    ]


def add_weights(fields: Fields, state: ServerState) -> Message:
    """POST /api/weights: keep a weights file or a net that the page has opened."""
    return asdict(state.evaluations.read(fields.text("name")[:80], fields.content(guard.MAX_NET_BYTES)))


@contextmanager
def _weights_file(fields: Fields, state: ServerState) -> Iterator[Path]:
    """The weights file of an evaluation, for a while."""
    evaluation = fields.evaluation(state.evaluations)
    if not evaluation.has_terms:
        raise EvaluationError(f"{evaluation.name} has no weights that could be saved as a file")
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        path = Path(folder) / "weights.txt"
        evaluation.save(path, [f"Made with the explorer of {about.NAME} {about.__version__}"])
        yield path


def weights_text(fields: Fields, state: ServerState) -> Message:
    """POST /api/weights/text: the weights file of an evaluation, which the page saves where the user chooses."""
    with _weights_file(fields, state) as path:
        return {"text": path.read_text(encoding="utf-8")}


def use_in_play(fields: Fields, state: ServerState) -> Message:
    """POST /api/weights/use: put weights in use, as `merino learn --use` does; the old file is kept next to it."""
    said = list[str]()
    with _weights_file(fields, state) as path:
        return {"file": str(use_weights(str(path), None, said.append).outcome.written), "lines": said}


def learning(_: Fields, state: ServerState) -> Message:
    """GET /api/learning: the `record` of the last run of `learn`, on this page or on disk; null if there is none.

    `weights` is the entry of those that a run on this page has made, and `old` of those that it began with.
    """
    if state.learned is not None:
        return state.learned
    path = files.first_there([active_file().with_name(RECORD_NAME)])
    return {"record": load_record(path) if path else None, "weights": None, "old": None}


def drop_learned(_: Fields, state: ServerState) -> Message:
    """POST /api/learning/drop: forget what was learned on the page, and stop and forget its match."""
    if tasks.MATCH in state.kept:
        state.kept.pop(tasks.MATCH).stop()
    state.learned = None
    return {}


def _as_answer(report: schema.PositionReport) -> Message:
    """A report as data, with its score also at the top level, without the threat, for which the page asks by itself."""
    found = report.to_dict()
    del found["threat"]
    return {"score_cp": report.static.score_cp, **found}


def compiling(_: Fields, __: ServerState) -> Message:
    """GET /api/compiling: how far the compiler is, null while it has nothing to do."""
    return {"compiling": WATCH.progress}


ROUTES: tuple[tuple[str, str, Callable[[Fields, ServerState], Message]], ...] = (
    ("GET", "/api/start", start),
    ("GET", "/api/compiling", compiling),
    ("GET", "/api/explain", explain),
    ("POST", "/api/explain", explain),
    ("POST", "/api/shapley", shapley),
    ("POST", "/api/read", read),
    ("POST", "/api/pgn/text", pgn_text),
    ("GET", "/api/games", list_file),
    ("POST", "/api/games", list_text),
    ("GET", "/api/game", game),
    ("POST", "/api/game", game),
    ("POST", "/api/compare", compare),
    ("POST", "/api/loss", loss),
    ("POST", "/api/threat", threat),
    ("POST", "/api/line", line),
    ("GET", guard.BRINGS_NETS, weights),
    ("POST", guard.BRINGS_NETS, add_weights),
    ("POST", "/api/weights/text", weights_text),
    ("POST", "/api/weights/use", use_in_play),
    ("GET", "/api/learning", learning),
    ("POST", "/api/learning/drop", drop_learned),
    ("GET", "/api/match", tasks.match_so_far),
    ("POST", "/api/tree", tree.moves_played),
    ("POST", "/api/tree/read", tree.read_piece),
)
