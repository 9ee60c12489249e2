"""The answers to the page's requests: plain functions from requests to plain data, each based on a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine import NAME, __version__
from engine.board.bitboard import WHITE
from engine.explorer.asked import Asked
from engine.explorer.keeping import Kept
from engine.explorer.reading import course_of, read_pgn, read_text
from engine.explorer.shelf import IN_USE, changed, terms, text_of
from engine.notation.positions import position_of
from engine.notation.san import read_move, san
from engine.report.older_json import change_json, move_json
from engine.report.schema import PositionReport
from engine.report.static import difference, with_beside
from engine.report.summary import summarise_change
from engine.search.strength import FULL_LEVEL
from learn.record import RECORD_NAME, load_record
from study.explain.two_weights import compare_reports
from study.reporting import report_moves, report_position, report_setup
from study.setups import set_up

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Start:
    """What the page requests first. `text` is that of the command line, treated as if typed."""

    name: str
    version: str
    text: str | None
    file: str | None  # the source of the text
    free: bool  # whether it is a position that breaks the rules
    highest_level: int


def start(_: Asked, kept: Kept) -> Answer:
    """GET /api/start."""
    return asdict(Start(NAME, __version__, kept.first_text, kept.first_file, kept.first_is_free, FULL_LEVEL))


def explain(asked: Asked, kept: Kept) -> Answer:
    """GET and POST /api/explain: the report of a position; with `free` also of one that breaks the rules."""
    evaluation, beside = asked.evaluation(kept.shelf), asked.beside(kept.shelf)
    if asked.flag("free") and not asked.texts("moves"):
        setup = set_up(asked.text("fen"))
        return _told(with_beside(report_setup(setup, evaluation), setup.record, beside))
    position = asked.position()
    return _told(with_beside(report_position(position, evaluation), position.record, beside))


def move(asked: Asked, kept: Kept) -> Answer:
    """POST /api/move: play a move as a person writes it; the move and the report of the new position."""
    evaluation, position = asked.evaluation(kept.shelf), asked.position()
    played = read_move(position, asked.text("move"))
    name = san(position, played)
    position.push(played)
    moves = [position.uci(each) for each in position.moves]
    report = _told(with_beside(report_position(position, evaluation), position.record, asked.beside(kept.shelf)))
    return {"san": name, "uci": moves[-1], "moves": moves, "fen": position.fen(), "report": report}


def read(asked: Asked, _: Kept) -> Answer:
    """POST /api/read: read a text, which may be a FEN, an EPD, moves or PGN."""
    free = asked.flag("free")
    position = asked.position() if asked.has("fen") else None
    return asdict(read_text(asked.text("text"), position, free))


def pgn(asked: Asked, _: Kept) -> Answer:
    """POST /api/pgn: the games of a PGN text."""
    return asdict(read_pgn(asked.text("text")))


def course(asked: Asked, kept: Kept) -> Answer:
    """POST /api/course: the evaluation of each position of a game."""
    points = course_of(position_of(asked.text("fen")), asked.texts("moves"), asked.evaluation(kept.shelf))
    return {"points": [asdict(point) for point in points]}


def compare(asked: Asked, kept: Kept) -> Answer:
    """POST /api/compare: a position under two evaluations, or two moves in it."""
    if asked.has("first_move"):
        return _two_moves(asked, kept)
    chosen = (asked.part(name).evaluation(kept.shelf) for name in ("first", "second"))
    position = asked.position()
    first, second = (report_position(position, evaluation) for evaluation in chosen)
    compared = compare_reports(first, second)
    return {
        "first": _told(replace(first, moves=())),
        "second": _told(replace(second, moves=())),
        **compared.to_dict(),
        "summary": summarise_change(compared.change, "B instead of A", WHITE),
    }


def _two_moves(asked: Asked, kept: Kept) -> Answer:
    evaluation, position = asked.evaluation(kept.shelf), asked.position()
    moves = [read_move(position, asked.text(name)) for name in ("first_move", "second_move")]
    report = report_moves(position, moves, evaluation)
    first, second = report.moves
    change = difference(first.change, second.change)
    return {
        "moves": [move_json(report, move) for move in report.moves],
        "change": change_json(change),
        "summaries": [summarise_change(move.change, move.san, position.turn) for move in report.moves],
        "summary": summarise_change(change, f"{second.san} instead of {first.san}", position.turn),
    }


def weights(asked: Asked, kept: Kept) -> Answer:
    """GET /api/weights: the weights to choose from, the terms, and the values of the chosen or used weights."""
    wanted = asked.text("weights", IN_USE) or IN_USE
    evaluation = asked.evaluation(kept.shelf)
    numbers = evaluation.numbers
    own = {name: number for name, number in numbers.items() if number.part_of not in numbers}
    return {
        "weights": [asdict(entry) for entry in kept.shelf.entries()],
        "chosen": wanted,
        "k": evaluation.k,
        "has_terms": evaluation.has_terms,
        "about": "" if evaluation.has_terms else evaluation.describe(),
        "values": {name: number.value for name, number in own.items()},
        "bounds": {name: [number.low, number.high] for name, number in own.items()},
        "terms": terms(),
    }


def add_weights(asked: Asked, kept: Kept) -> Answer:
    """POST /api/weights: keep a weights file or a net that the page has opened."""
    return asdict(kept.shelf.read(asked.text("name")[:80], asked.content()))


def weights_text(asked: Asked, kept: Kept) -> Answer:
    """POST /api/weights/text: the weights file of an evaluation, which the page saves where the user chooses."""
    found = changed(kept.shelf.find(asked.text("weights", IN_USE) or IN_USE), asked.numbers("changes"))
    return {"text": text_of(found, f"Made with the explorer of {NAME} {__version__}")}


def learning(_: Asked, kept: Kept) -> Answer:
    """GET /api/learning: the record of the last run of `learn`, on this page or on disk; null if there is none."""
    if kept.record is not None:
        return {"record": kept.record}
    for entry in kept.shelf.entries():
        if entry.id == IN_USE and entry.file is not None:
            path = kept.record_beside(entry.file, RECORD_NAME)
            return {"record": load_record(path) if path else None}
    return {"record": None}


def _told(report: PositionReport) -> Answer:
    """A report as data, with its score also at the top level."""
    return {"score_cp": report.static.score_cp, **report.to_dict()}


ANSWERS: tuple[tuple[str, str, Callable[[Asked, Kept], Answer]], ...] = (
    ("GET", "/api/start", start),
    ("GET", "/api/explain", explain),
    ("POST", "/api/explain", explain),
    ("POST", "/api/move", move),
    ("POST", "/api/read", read),
    ("POST", "/api/pgn", pgn),
    ("POST", "/api/course", course),
    ("POST", "/api/compare", compare),
    ("GET", "/api/weights", weights),
    ("POST", "/api/weights", add_weights),
    ("POST", "/api/weights/text", weights_text),
    ("GET", "/api/learning", learning),
)
