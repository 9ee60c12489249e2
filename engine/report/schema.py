"""One report of a position for text, the page in the browser and programs: what the engine says of it, as plain data.

All of it is from White's view: what is good for Black is negative, whoever is to move and whoever owns the piece. Each
key is a field below, with its meaning; `docs/report-schema.md` is made from them by `tools/report_schema.py`. A change
of what a key means, or of its name, makes a new VERSION; a new key does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated

VERSION = 1


@dataclass(frozen=True)
class TermReport:
    """A term of the evaluation. `weight` times the difference of the two counts is `net_cp`."""

    number: Annotated[int, "its place in the order of the terms, from 1"]
    name: Annotated[str, "its name, as in weights files"]
    group: Annotated[str, "the group it belongs to"]
    multiplier: Annotated[float, "that of its group, included in the counts"]
    phase: Annotated[str, "when it counts: always, middlegame or endgame"]
    weight: Annotated[float, "its weight in centipawns, at the stage of the position where it has two values"]
    weight_mg: Annotated[float, "its weight in the middlegame; the same as that of the endgame where it has one value"]
    weight_eg: Annotated[float, "its weight in the endgame"]
    white_count: Annotated[float, "how much of it White has, by multiplier and share of the phase"]
    black_count: Annotated[float, "how much of it Black has, likewise"]
    white_cp: Annotated[float, "White's count in centipawns"]
    black_cp: Annotated[float, "Black's count in centipawns, as Black sees it: less it is `net_cp`"]
    net_cp: Annotated[float, "what it adds to the score"]


@dataclass(frozen=True)
class GroupReport:
    """A group of terms and their sums."""

    name: Annotated[str, "its name"]
    multiplier: Annotated[float, "by which the counts of its terms are multiplied"]
    white_cp: Annotated[float, "the sum of `white_cp` of its terms"]
    black_cp: Annotated[float, "the sum of their `black_cp`"]
    net_cp: Annotated[float, "what it adds to the score"]


@dataclass(frozen=True)
class StaticReport:
    """The evaluation without a search. `sum_cp`, `rule_cp` and `rounding_cp` add up to `score_cp`."""

    score_cp: Annotated[int, "the score in centipawns"]
    sum_cp: Annotated[float, "the sum of `net_cp` of all terms, and `untold_cp`"]
    untold_cp: Annotated[float, "what no term tells: all of it where the evaluation has no terms, else 0"]
    rule: Annotated[str | None, "the draw rule that changes the sum, in words"]
    rule_cp: Annotated[float, "what it adds to the sum"]
    rounding_cp: Annotated[float, "what rounding to whole centipawns adds"]
    expected_score: Annotated[float, "the share of the points that White may expect, 0 to 1"]
    white_middlegame: Annotated[float, "how much White's middlegame terms count, 0 to 1; the endgame has the rest"]
    black_middlegame: Annotated[float, "the same of Black's"]
    stage: Annotated[float, "1 with all pieces on the board to 0 without: the middlegame's share of each weight"]


@dataclass(frozen=True)
class TermChangeReport:
    """A term that changes."""

    name: Annotated[str, "its name"]
    group: Annotated[str, "the group it belongs to"]
    change_cp: Annotated[float, "how much more it adds to the score"]


@dataclass(frozen=True)
class ChangeReport:
    """What moves change in the evaluation. Terms, `untold_cp`, `rule_cp` and `rounding_cp` add up to `change_cp`."""

    before_cp: Annotated[int, "the score without a search before the moves"]
    after_cp: Annotated[int, "the score without a search after them"]
    change_cp: Annotated[int, "the difference"]
    untold_cp: Annotated[float, "what of it no term tells: all but rule and rounding where an evaluation has no terms"]
    rule_cp: Annotated[float, "what of it is the work of draw rules"]
    rounding_cp: Annotated[float, "what of it is rounding"]
    rule: Annotated[str | None, "the draw rule in force after the moves, in words"]
    terms: Annotated[tuple[TermChangeReport, ...], "the terms that change, the largest change first"]


@dataclass(frozen=True)
class ScoreReport:
    """A score that a search found: centipawns, or a mate."""

    cp: Annotated[int | None, "centipawns; null for a mate"]
    mate: Annotated[int | None, "moves to mate, negative where Black mates; null if none is seen"]
    text: Annotated[str, 'the score as people write it: "+0.35", "-M3"']
    expected_score: Annotated[float, "the share of the points that White may expect, 0 to 1"]


@dataclass(frozen=True)
class PieceChangeReport:
    """What a move makes of a piece. What is after the move is null for a piece that it takes."""

    piece: Annotated[str, "its letter before the move"]
    square: Annotated[str, "where it stands before the move"]
    piece_after: Annotated[str | None, "its letter after the move: another for a pawn that promotes"]
    square_after: Annotated[str | None, "where it stands after the move"]
    removal_before_cp: Annotated[int | None, "its `removal_cp` before the move"]
    removal_after_cp: Annotated[int | None, "the same after the move"]
    removal_change_cp: Annotated[int | None, "the difference; all is lost of a piece that is taken; null for kings"]
    attributed_before_cp: Annotated[float | None, "its `attributed_cp` before the move"]
    attributed_after_cp: Annotated[float | None, "the same after the move"]
    attributed_change_cp: Annotated[float | None, "the difference"]


@dataclass(frozen=True)
class MoveReport:
    """A legal move."""

    rank: Annotated[int, "its rank for the side to move, from 1: by search, else by evaluation; equal ones share it"]
    san: Annotated[str, "the move in short notation"]
    uci: Annotated[str, "the move as UCI writes it"]
    score: Annotated[ScoreReport | None, "what the search says of it; null without a search"]
    expected_score: Annotated[float, "the share of the points that White may expect after it, without a search"]
    change: Annotated[ChangeReport, "what it changes at once"]
    pv: Annotated[str, "the principal variation in short notation with move numbers; empty without a search"]
    pieces: Annotated[tuple[PieceChangeReport, ...] | None, "what it makes of each piece; null if not asked for"]


@dataclass(frozen=True)
class LineReport:
    """A line that the search expects, of one of the best moves, up to the last position of it that is quiet."""

    rank: Annotated[int, "the rank of its first move"]
    depth: Annotated[int, "the depth of its search in plies"]
    text: Annotated[str, "its moves in short notation with move numbers"]
    moves: Annotated[tuple[str, ...], "its moves as UCI writes them"]
    score: Annotated[ScoreReport, "its score"]
    change: Annotated[ChangeReport, "what has changed at its end"]


@dataclass(frozen=True)
class SearchReport:
    """What a search says of the position."""

    depth: Annotated[int, "plies"]
    nodes: Annotated[int, "positions searched"]
    score: Annotated[ScoreReport, "the score of the best move"]
    lines: Annotated[tuple[LineReport, ...], "the lines of the best moves, best first"]


@dataclass(frozen=True)
class PieceReport:
    """A piece on the board. What Black's pieces are worth is negative."""

    square: Annotated[str, 'where it stands, as "e4"']
    piece: Annotated[str, 'its letter, "N" for a white knight, "n" for a black one']
    removal_cp: Annotated[int | None, "how much the score falls when it is taken off the board; null for kings"]
    relative_pawns: Annotated[float | None, "the same in pawns; null for kings, and where a pawn weighs nothing"]
    attributed_cp: Annotated[
        float | None,
        "what it adds to the score: the terms that it brings its side, or the value that a net gives it",
    ]
    terms: Annotated[Mapping[str, float], "these terms by name, in centipawns"]


@dataclass(frozen=True)
class BesidePieceReport:
    """A piece by the evaluation beside. What Black's pieces are worth is negative."""

    square: Annotated[str, 'where it stands, as "e4"']
    removal_cp: Annotated[int | None, "how much that score falls when it is taken off the board; null for kings"]
    attributed_cp: Annotated[float | None, "what it adds to that score; null where the evaluation does not tell"]


@dataclass(frozen=True)
class BesideReport:
    """What another evaluation says of the position."""

    evaluation: Annotated[str, "its name"]
    score_cp: Annotated[int, "its score in centipawns"]
    expected_score: Annotated[float, "the share of the points that White may expect by it, 0 to 1"]
    shared_cp: Annotated[float | None, "with `attributed_cp` of all pieces the sum; null where it does not tell these"]
    pieces: Annotated[tuple[BesidePieceReport, ...], "the pieces, from a1 to h8"]


@dataclass(frozen=True)
class PositionReport:
    """The whole report. `attributed_cp` of all pieces and `shared_cp` add up to `sum_cp`.

    An evaluation without terms, such as a net, has none in `terms`, and `without_terms` says so.
    """

    version: Annotated[int, "of this schema"]
    fen: Annotated[str, "the position"]
    to_move: Annotated[str, "white or black"]
    fault: Annotated[str | None, "why the rules do not allow the position, so that it has no moves; null where they do"]
    ending: Annotated[str | None, "why the game is over; null while it goes on"]
    evaluation: Annotated[str, "by what it was evaluated: the name of the weights file or the net"]
    k: Annotated[float, "the scale of the expected score in centipawns"]
    static: Annotated[StaticReport, "the evaluation without a search"]
    search: Annotated[SearchReport | None, "what a search says; null where none was asked for, or no move is legal"]
    terms: Annotated[tuple[TermReport, ...], "the terms of the evaluation"]
    without_terms: Annotated[str | None, "why there are no terms; null where there are"]
    groups: Annotated[tuple[GroupReport, ...], "the groups of the terms, in the order in which they are shown"]
    pieces: Annotated[tuple[PieceReport, ...], "the pieces, from a1 to h8; none if they were not asked for"]
    shared_cp: Annotated[
        float | None, "what pieces bring together, less what is counted twice; null where no piece tells what it adds"
    ]
    shared_terms: Annotated[Mapping[str, float], "the same by term"]
    moves: Annotated[tuple[MoveReport, ...], "the legal moves, best first; or those asked for, in their order"]
    summary: Annotated[tuple[str, ...], "the evaluation in a few English sentences"]
    beside: Annotated[BesideReport | None, "what another evaluation says; null where none was asked for"] = None

    def line_of(self, move: MoveReport) -> LineReport | None:
        """The line of the search that begins with this move, None where there is none."""
        lines = self.search.lines if self.search else ()
        return next((line for line in lines if line.moves[0] == move.uci), None)

    def to_dict(self) -> dict[str, object]:
        """The report as data for `json.dumps`: objects, lists, texts, numbers and null, by the keys above."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value
