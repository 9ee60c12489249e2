"""The report of a position as plain data: the same for text, for the page in the browser and for programs.

Everything is from White's view: what is good for Black is negative, no matter who is to move or owns the piece. Each
key is a field below, with its meaning; `tools/report_schema.py` makes the tables in docs/library.md from them. A new
name or meaning of a key needs a new VERSION; a new key does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated

from merino.engine.search.limits import pawns

VERSION = 2


@dataclass(frozen=True)
class TermReport:
    """A term of the evaluation. `weight` times the difference of the two counts is `net_cp`."""

    number: Annotated[int, "its number in the order of the terms, from 1"]
    name: Annotated[str, "its name, as in weights files"]
    group: Annotated[str, "the group it belongs to"]
    multiplier: Annotated[float, "the multiplier of its group, included in the counts"]
    phase: Annotated[str, "when it counts: always, middlegame or endgame"]
    weight: Annotated[float, "its weight in centipawns; if it has two values, at the stage of the position"]
    weight_mg: Annotated[float, "its weight in the middlegame; equal to that of the endgame if it has one value"]
    weight_eg: Annotated[float, "its weight in the endgame"]
    white_count: Annotated[float, "how much of it White has, by multiplier and share of the phase"]
    black_count: Annotated[float, "how much of it Black has, likewise"]
    white_cp: Annotated[float, "White's count in centipawns"]
    black_cp: Annotated[float, "Black's count in centipawns, from Black's view; `white_cp` minus this is `net_cp`"]
    net_cp: Annotated[float, "what it adds to the score"]
    cells: Annotated[int, "how many weights it has as a table, with counts in centipawns and a weight of 1; else 0"]


@dataclass(frozen=True)
class GroupReport:
    """A group of terms and their sums."""

    name: Annotated[str, "its name"]
    multiplier: Annotated[float, "factor on the counts of its terms"]
    white_cp: Annotated[float, "the sum of `white_cp` of its terms"]
    black_cp: Annotated[float, "the sum of their `black_cp`"]
    net_cp: Annotated[float, "what it adds to the score"]


@dataclass(frozen=True)
class StaticReport:
    """The evaluation without a search. `sum_cp`, `rule_cp` and `rounding_cp` add up to `score_cp`."""

    score_cp: Annotated[int, "the score in centipawns"]
    sum_cp: Annotated[float, "the sum of `net_cp` of all terms, and `non_term_cp`"]
    non_term_cp: Annotated[float, "the part of it that comes from no term: all of it without terms, else 0"]
    rule: Annotated[str | None, "the draw rule that changes the sum, in words"]
    rule_cp: Annotated[float, "what it adds to the sum"]
    rounding_cp: Annotated[float, "what rounding to whole centipawns adds"]
    expected_score: Annotated[float, "the share of the points that White may expect, 0 to 1"]
    white_middlegame: Annotated[
        float, "how much White's middlegame terms count, above 1 against promoted queens; the endgame has 1 minus that"
    ]
    black_middlegame: Annotated[float, "the same of Black's"]
    stage: Annotated[float, "from 1, all pieces on the board, to 0: the middlegame's share of each weight"]


@dataclass(frozen=True)
class TermChangeReport:
    """A term that changes."""

    name: Annotated[str, "its name"]
    group: Annotated[str, "the group it belongs to"]
    change_cp: Annotated[float, "how much more it adds to the score"]


@dataclass(frozen=True)
class ChangeReport:
    """What moves change in the evaluation. Terms, `non_term_cp`, `rule_cp` and `rounding_cp` add up to `change_cp`."""

    before_cp: Annotated[int, "the score without a search before the moves"]
    after_cp: Annotated[int, "the score without a search after them"]
    change_cp: Annotated[int, "the difference"]
    non_term_cp: Annotated[float, "the part that comes from no term: all but rule and rounding without terms"]
    rule_cp: Annotated[float, "the part that comes from draw rules"]
    rounding_cp: Annotated[float, "the part that comes from rounding"]
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
class NamedPieceReport:
    """A piece that a claim names."""

    piece: Annotated[str, 'its letter, "N" for a white knight, "n" for a black one']
    square: Annotated[str, "its square in `fen`; for a claim about a place, at the end of `line`"]


@dataclass(frozen=True)
class GainReport:
    """Material that a line wins."""

    pawns: Annotated[int, "what `side` wins, less what it loses: a pawn 1, knight and bishop 3, rook 5, queen 9"]
    ply: Annotated[int, "the plies of `line` after which it has that and nothing can be taken at a profit"]


@dataclass(frozen=True)
class ProofReport:
    """The searches that confirm a claim."""

    judge: Annotated[str, "which evaluation or engine searched"]
    nodes: Annotated[int, "positions searched in each of the two searches"]
    score_before: Annotated[ScoreReport, "of `fen`; of a place, at the end of `other_line`; of `tempo`, after a pass"]
    score_after: Annotated[ScoreReport, "the score at the end of `line`, by a search of its own"]


@dataclass(frozen=True)
class ClaimReport:
    """Something said of a position, with what proves it: a rule on the board, and a search that confirms it."""

    kind: Annotated[str, "what is claimed, one of the kinds in [Explaining](explaining.md#claims)"]
    side: Annotated[str, "whom it favours: white or black"]
    fen: Annotated[str, "the position in which `line` begins"]
    pieces: Annotated[tuple[NamedPieceReport, ...], "the pieces that the sentence names"]
    line: Annotated[tuple[str, ...], "the moves that show it, as UCI writes them"]
    other_line: Annotated[tuple[str, ...], "the line from `fen` at whose end it does not hold; empty if none"]
    wins: Annotated[GainReport | None, "the material won; null if the claim is about something else"]
    proof: Annotated[ProofReport | None, "the searches; null for what the rules of chess alone prove"]
    text: Annotated[str, "the sentence, without a full stop"]


@dataclass(frozen=True)
class PieceChangeReport:
    """How a move changes a piece. For a captured piece, the fields of the position after the move are null."""

    piece: Annotated[str, "its letter before the move"]
    square: Annotated[str, "its square before the move"]
    piece_after: Annotated[str | None, "its letter after the move: another for a pawn that promotes"]
    square_after: Annotated[str | None, "its square after the move"]
    removal_before_cp: Annotated[int | None, "its `removal_cp` before the move"]
    removal_after_cp: Annotated[int | None, "the same after the move"]
    removal_change_cp: Annotated[
        int | None, "the difference; for a captured piece, the loss of all of it; null for kings"
    ]
    attributed_before_cp: Annotated[float | None, "its `attributed_cp` before the move"]
    attributed_after_cp: Annotated[float | None, "the same after the move"]
    attributed_change_cp: Annotated[float | None, "the difference"]
    shapley_before_cp: Annotated[float | None, "its `shapley_cp` before the move; null if not requested"] = None
    shapley_after_cp: Annotated[float | None, "the same after the move"] = None
    shapley_change_cp: Annotated[float | None, "the difference; for a captured piece, the loss of all of it"] = None


@dataclass(frozen=True)
class ShapleyReport:
    """The Shapley value of a piece: what it adds to the score, on average over all orders of the pieces."""

    value: Annotated[float, "the value in centipawns"]
    error: Annotated[float, "its standard error; 0 if it is exact"]


@dataclass(frozen=True)
class WordTermReport:
    """A term in the account of a score."""

    name: Annotated[str, "its name, as in weights files"]
    cp: Annotated[float, "what it adds to the score by the account"]


@dataclass(frozen=True)
class WordsReport:
    """The account of a score that has no terms by the terms: `terms` and `rest` add up to it before draw rules."""

    terms: Annotated[tuple[WordTermReport, ...], "the terms"]
    rest: Annotated[float, "what the score has beyond the terms, in centipawns"]
    r2: Annotated[float, "the share of how moves change the score that the account explains, up to 1"]
    rest_by_piece: Annotated[Mapping[str, float], "how much `rest` falls without the piece on each square"]
    sentences: Annotated[tuple[str, ...], "the account in a few English sentences"]


@dataclass(frozen=True)
class MoveReport:
    """A legal move."""

    rank: Annotated[int, "its rank for the side to move, from 1: by search, else by evaluation; equal ones share it"]
    san: Annotated[str, "the move in short notation"]
    uci: Annotated[str, "the move as UCI writes it"]
    score: Annotated[ScoreReport | None, "its score by the search; null without a search"]
    expected_score: Annotated[float, "the share of the points that White may expect after it, without a search"]
    change: Annotated[ChangeReport, "the changes right after the move"]
    pv: Annotated[str, "the principal variation in short notation with move numbers; empty without a search"]
    pieces: Annotated[tuple[PieceChangeReport, ...] | None, "its changes to each piece; null if not requested"]


@dataclass(frozen=True)
class LineReport:
    """The expected line of one of the best moves, up to its last quiet position."""

    rank: Annotated[int, "the rank of its first move"]
    depth: Annotated[int, "the depth of its search in plies"]
    text: Annotated[str, "its moves in short notation with move numbers"]
    moves: Annotated[tuple[str, ...], "its moves as UCI writes them"]
    score: Annotated[ScoreReport, "its score"]
    change: Annotated[ChangeReport, "the changes at its end"]


@dataclass(frozen=True)
class SearchReport:
    """The result of a search of the position."""

    depth: Annotated[int, "plies"]
    nodes: Annotated[int, "positions searched"]
    score: Annotated[ScoreReport, "the score of the best move"]
    lines: Annotated[tuple[LineReport, ...], "the lines of the best moves, best first"]


@dataclass(frozen=True)
class PieceReport:
    """A piece on the board. The values of Black's pieces are negative."""

    square: Annotated[str, 'its square, such as "e4"']
    piece: Annotated[str, 'its letter, "N" for a white knight, "n" for a black one']
    removal_cp: Annotated[int | None, "how much the score falls without it; null for kings"]
    relative_pawns: Annotated[float | None, "the same in pawns; null for kings, and if a pawn has no value"]
    attributed_cp: Annotated[
        float | None, "what it adds to the score: by its terms, or as the value that a net gives it"
    ]
    terms: Annotated[Mapping[str, float], "these terms by name, in centipawns"]
    shapley_cp: Annotated[float | None, "its Shapley value, what it adds to the score; null if not requested"] = None


@dataclass(frozen=True)
class BesidePieceReport:
    """A piece by the second evaluation. The values of Black's pieces are negative."""

    square: Annotated[str, 'its square, such as "e4"']
    removal_cp: Annotated[int | None, "how much that score falls when it is taken off the board; null for kings"]
    attributed_cp: Annotated[float | None, "what it adds to that score; null if the evaluation gives no such value"]


@dataclass(frozen=True)
class BesideReport:
    """The position by a second evaluation."""

    evaluation: Annotated[str, "its name"]
    score_cp: Annotated[int, "its score in centipawns"]
    expected_score: Annotated[float, "the share of the points that White may expect, 0 to 1"]
    shared_cp: Annotated[float | None, "with `attributed_cp` of all pieces, it gives the sum; null without those"]
    pieces: Annotated[tuple[BesidePieceReport, ...], "the pieces, from a1 to h8"]


@dataclass(frozen=True)
class PositionReport:
    """The whole report. `attributed_cp` of all pieces and `shared_cp` add up to `sum_cp`.

    For an evaluation without terms, such as a net, `terms` is empty and `without_terms` says why.
    """

    version: Annotated[int, "of this schema"]
    fen: Annotated[str, "the position"]
    to_move: Annotated[str, "white or black"]
    fault: Annotated[str | None, "why the rules do not allow the position; it then has no moves; null if they do"]
    ending: Annotated[str | None, "why the game is over; null while it goes on"]
    evaluation: Annotated[str, "the name of the weights file or the net"]
    k: Annotated[float, "the scale of the expected score in centipawns"]
    static: Annotated[StaticReport, "the evaluation without a search"]
    search: Annotated[SearchReport | None, "the result of a search; null without a search, or if no move is legal"]
    terms: Annotated[tuple[TermReport, ...], "the terms of the evaluation"]
    without_terms: Annotated[str | None, "why there are no terms; null if there are"]
    groups: Annotated[tuple[GroupReport, ...], "the groups of the terms, in the order in which they are shown"]
    pieces: Annotated[tuple[PieceReport, ...], "the pieces, from a1 to h8; empty if not requested"]
    shared_cp: Annotated[
        float | None, "what pieces add together, minus what is counted twice; null without attributed values"
    ]
    shared_terms: Annotated[Mapping[str, float], "the same by term"]
    moves: Annotated[tuple[MoveReport, ...], "the legal moves, best first; or the requested ones, in their order"]
    summary: Annotated[tuple[str, ...], "the evaluation in a few English sentences"]
    beside: Annotated[BesideReport | None, "the position by a second evaluation; null if not requested"] = None
    shapley: Annotated[
        Mapping[str, ShapleyReport] | None,
        "the Shapley values by square; they and `baseline` add up to `score`; null if not requested",
    ] = None
    baseline: Annotated[float | None, "the score of the two kings at home; null without Shapley values"] = None
    score: Annotated[float | None, "the score in centipawns; null without Shapley values"] = None
    words: Annotated[WordsReport | None, "the score by an account in the terms; null if not requested"] = None
    verdict: Annotated[str | None, "what the search says of the position or the move; null without a search"] = None
    threat: Annotated[str | None, "what the other side threatens, if that is proved; null if not"] = None
    claims: Annotated[tuple[ClaimReport, ...], "what `verdict` and `threat` claim, each with what proves it"] = ()

    def __repr__(self) -> str:
        return f"PositionReport({self.fen!r}, {self.evaluation!r}, score_cp={self.static.score_cp})"

    def line_of(self, move: MoveReport) -> LineReport | None:
        """The line of the search that begins with this move, None if there is none."""
        lines = self.search.lines if self.search else ()
        return next((line for line in lines if line.moves[0] == move.uci), None)

    def to_dict(self) -> dict[str, object]:
        """The report as data for `json.dumps`: objects, lists, texts, numbers and null, by the keys above."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        from merino.engine.search.drawing import report_as_html  # noqa: PLC0415 (it needs what draws boards)

        terms = [(term.name, term.white_cp, term.black_cp, term.net_cp) for term in self.terms]
        return report_as_html(self.fen, pawns(self.static.score_cp), self.summary, terms)


def plain(value: object) -> object:
    """A part of a report, or several, as data for `json.dumps`."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
