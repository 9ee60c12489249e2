"""The report of a position: its sums, White's view, its schema, and the command that prints it."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import chess
import pytest

from merino.app.console.explaining import run_explain
from merino.core.board.game import Position
from merino.engine.notation.san import read_move, san_line
from merino.engine.report.schema import VERSION, PositionReport
from merino.engine.search.limits import Limits, Line, Score, SearchResult
from merino.engine.search.searcher import Searcher
from merino.eval.families import default, load
from merino.eval.linear.family import LinearEvaluation
from merino.learn.judging import Summary, WeightLine
from merino.learn.procedure import InstallOutcome, LearnResult, Verdict
from merino.match.games import Tally
from merino.match.runner import MatchResult
from merino.study import reporting
from merino.study.judge import by_search
from merino.study.reporting import report_moves, report_position
from tools.report_schema import schema

ROOT = Path(__file__).resolve().parent.parent
MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
BLACK_TO_MOVE = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P4/P1NB1N1b/1P3PPP/R1BQR1K1 b - - 0 13"
OPPOSITE_BISHOPS = "8/5pk1/6p1/8/1P6/4B1P1/5PK1/2b5 b - - 0 50"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"
MATED = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
POSITIONS = [MIDDLEGAME, BLACK_TO_MOVE, OPPOSITE_BISHOPS, MATE_IN_ONE, MATED]

# What programs rely on. A key that goes, or gets another meaning, needs a new VERSION.
KEYS = {
    "": (
        "version fen to_move fault ending evaluation k static search terms without_terms groups pieces shared_cp"
        " shared_terms moves summary beside shapley baseline score words verdict"
        " threat claims"
    ),
    "static": (
        "score_cp sum_cp non_term_cp rule rule_cp rounding_cp expected_score white_middlegame black_middlegame stage"
    ),
    "terms": (
        "number name group multiplier phase weight weight_mg weight_eg white_count black_count white_cp black_cp net_cp"
        " cells"
    ),
    "pieces": "square piece removal_cp relative_pawns attributed_cp terms shapley_cp",
    "groups": "name multiplier white_cp black_cp net_cp",
    "moves": "rank san uci score expected_score change pv pieces",
    "moves.change": "before_cp after_cp change_cp non_term_cp rule_cp rounding_cp rule terms",
    "moves.change.terms": "name group change_cp",
    "search": "depth nodes score lines",
    "search.score": "cp mate text expected_score",
    "search.lines": "rank depth text moves score change",
}


def mirrored(fen: str) -> str:
    """The position with colours changed."""
    return chess.Board(fen).mirror().fen()


def report(fen: str) -> PositionReport:
    return report_position(Position(fen), default())


@pytest.fixture(scope="module")
def searched() -> PositionReport:
    return searched_report(BLACK_TO_MOVE)


def searched_report(fen: str) -> PositionReport:
    return report_position(Position(fen), default(), by_search(Searcher(hash_mb=1), default()), Limits(nodes=20_000))


@pytest.mark.parametrize("fen", POSITIONS)
def test_the_pieces_and_what_they_share_are_the_sum_of_the_terms(fen: str) -> None:
    found = report(fen)
    static = found.static
    assert static.sum_cp + static.rule_cp + static.rounding_cp == pytest.approx(static.score_cp)
    assert sum(piece.attributed_cp for piece in found.pieces) + found.shared_cp == pytest.approx(found.static.sum_cp)
    assert sum(found.shared_terms.values()) == pytest.approx(found.shared_cp)
    for piece in found.pieces:
        assert sum(piece.terms.values()) == pytest.approx(piece.attributed_cp)


@pytest.mark.parametrize("fen", POSITIONS)
def test_what_a_move_changes_adds_up_to_the_evaluation_after_it(fen: str) -> None:
    found = report(fen)
    assert sorted(move.uci for move in found.moves) == sorted(move.uci() for move in chess.Board(fen).legal_moves)
    for move in found.moves:
        after, change = Position(fen), move.change
        after.push_uci(move.uci)
        assert change.after_cp == report_position(after, default()).static.score_cp
        assert change.before_cp == found.static.score_cp and change.after_cp - change.before_cp == change.change_cp
        parts = sum(term.change_cp for term in change.terms) + change.rule_cp + change.rounding_cp
        assert parts == pytest.approx(change.change_cp)


@pytest.mark.parametrize("fen", POSITIONS)
def test_with_colours_changed_every_number_of_white_has_the_other_sign(fen: str) -> None:
    found, other = report(fen), report(mirrored(fen))
    assert other.static.score_cp == -found.static.score_cp
    assert other.static.expected_score == pytest.approx(1 - found.static.expected_score)
    assert [term.net_cp for term in other.terms] == pytest.approx([-term.net_cp for term in found.terms])
    assert other.shared_cp == pytest.approx(-found.shared_cp)
    values = {(p.square[0], 9 - int(p.square[1]), p.piece.swapcase()): p for p in other.pieces}
    for piece in found.pieces:
        twin = values[piece.square[0], int(piece.square[1]), piece.piece]
        assert twin.attributed_cp == pytest.approx(-piece.attributed_cp)
        assert (twin.removal_cp is None) == (piece.removal_cp is None)
        assert twin.removal_cp is None or piece.removal_cp is None or twin.removal_cp == -piece.removal_cp
    changes = sorted(move.change.change_cp for move in found.moves)
    assert sorted(-move.change.change_cp for move in other.moves) == changes


def test_no_number_is_a_zero_below_zero() -> None:
    weights = -load(ROOT / "weights" / "greko2015-after-training.txt").weights
    report = report_position(Position("4k3/p7/8/8/8/8/8/2B1K3 w - - 0 1"), LinearEvaluation(weights, 200.0, "opposite"))
    assert not re.search(r"-0\.0\b", json.dumps(report.to_dict()))


def test_moves_come_in_the_order_of_the_side_to_move() -> None:
    for fen, sign in ((MIDDLEGAME, 1), (BLACK_TO_MOVE, -1)):
        scores = [sign * move.change.after_cp for move in report(fen).moves]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) > 1


def test_a_search_is_reported_from_the_view_of_white(searched: PositionReport) -> None:
    assert searched.to_move == "black" and searched.search is not None
    best = searched.search
    scores = [move.score.cp for move in searched.moves if move.score is not None and move.score.cp is not None]
    assert len(scores) == len(searched.moves) and scores == sorted(scores), "the best for Black first"
    assert best.score.cp == scores[0] and best.depth > 0 and best.nodes > 0
    assert best.score.text == f"{scores[0] / 100:+.2f}"
    assert best.score.expected_score == pytest.approx(default().expected_score(scores[0]))


def test_lines_end_where_their_change_is_counted(searched: PositionReport) -> None:
    assert searched.search is not None and len(searched.search.lines) == 3
    for line, move in zip(searched.search.lines, searched.moves, strict=False):
        after = Position(BLACK_TO_MOVE)
        after.push_all(line.moves)
        assert line.moves[0] == move.uci and move.san in line.text
        assert line.change.after_cp == report_position(after, default()).static.score_cp


@pytest.mark.parametrize(("fen", "mate", "text"), [(MATE_IN_ONE, 1, "+M1"), (mirrored(MATE_IN_ONE), -1, "-M1")])
def test_a_mate_is_that_of_white_and_certain(fen: str, mate: int, text: str) -> None:
    best = searched_report(fen).search
    assert best is not None
    assert (best.score.cp, best.score.mate, best.score.text) == (None, mate, text)
    assert best.score.expected_score == (1.0 if mate > 0 else 0.0)


def test_the_report_has_the_keys_of_its_version(searched: PositionReport) -> None:
    printed = json.loads(json.dumps(searched.to_dict()))
    assert printed == searched.to_dict(), "plain data"
    assert printed["version"] == VERSION == 2
    for path, keys in KEYS.items():
        value: Any = printed
        for name in filter(None, path.split(".")):
            value = value[name]
            value = value[0] if isinstance(value, list) else value
        assert list(value) == keys.split(), path


def test_the_page_on_the_schema_is_up_to_date() -> None:
    assert schema() in (ROOT / "docs" / "library.md").read_text(encoding="utf-8"), "run python tools/doc_tables.py"
    assert all(f"| `{key}` |" in schema() for keys in KEYS.values() for key in keys.split())


def test_explain_prints_reports_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*arguments: str) -> Any:
        assert run_explain([*arguments, "--json", "--hash", "1"]) == 0
        return json.loads(capsys.readouterr().out)

    assert printed(MIDDLEGAME, "--static") == report(MIDDLEGAME).to_dict()
    path = tmp_path / "positions.epd"
    path.write_text(f"{MIDDLEGAME}\n{MATE_IN_ONE}\n")
    assert printed(str(path), "--static") == [report(MIDDLEGAME).to_dict(), report(MATE_IN_ONE).to_dict()]
    assert printed(MATE_IN_ONE, "--nodes", "3000")["search"]["score"]["mate"] == 1
    assert printed(MATE_IN_ONE, "--nodes", "3000", "--static")["search"] is None
    moves = [read_move(Position(MIDDLEGAME), "h3")]
    assert printed(MIDDLEGAME, "h3", "--static") == report_moves(Position(MIDDLEGAME), moves, default()).to_dict()


def doctored(found: PositionReport) -> PositionReport:
    """The report with numbers and names in it that no evaluation gives."""
    first, *others = found.terms
    changes = [replace(move, san="Xz9", change=replace(move.change, after_cp=54321)) for move in found.moves]
    return replace(
        found,
        terms=(replace(first, name="Courage", net_cp=-4321.5, white_cp=-4321.5), *others),
        pieces=tuple(replace(piece, removal_cp=1234) for piece in found.pieces if piece.piece.isupper()),
        moves=tuple(changes),
        summary=("A sentence that nobody makes.",),
    )


DOCTORED = ("Courage", "-4321.5", "A sentence that nobody makes.")


@pytest.mark.parametrize(
    ("words", "marks"),
    [
        (["explain", MIDDLEGAME, "--static", "--pieces"], {*DOCTORED, "1234"}),
        (["explain", MIDDLEGAME, "--static", "--json"], {*DOCTORED, "1234", "Xz9"}),
        (["explain", MIDDLEGAME, "h3", "--static"], {"Xz9", "+543.21"}),
        (["explain", MIDDLEGAME, "h3", "--static", "--json"], {"Xz9", "54321"}),
        (["compare", MIDDLEGAME, "h3", "d5", "--static"], {"Xz9", "+543.21"}),
        (["compare", MIDDLEGAME, "h3", "d5", "--static", "--json"], {"Xz9", "54321"}),
        (["moves", MIDDLEGAME, "--static"], {"Xz9", "+543.21"}),
        (["moves", MIDDLEGAME, "--static", "--json"], {"Xz9", "54321"}),
    ],
)
def test_text_and_json_print_what_the_report_holds(
    words: list[str], marks: set[str], monkeypatch: pytest.MonkeyPatch, shell
) -> None:
    for name in ("report_alone", "report_moves", "report_position"):
        make = getattr(reporting, name)
        monkeypatch.setattr(reporting, name, lambda *given, make=make, **named: doctored(make(*given, **named)))
    printed = str(shell(*words))
    assert not {mark for mark in marks if mark not in printed}


def test_jupyter_shows_a_position_as_a_board_and_a_match_as_a_table() -> None:
    position = Position("5k2/8/8/8/8/8/1Q6/4K2R w K - 0 1")
    assert position._repr_svg_().count("<use ") == 4 and "lastmove" not in position._repr_svg_()
    position.push_uci("e1g1")
    shown = position._repr_svg_()
    assert shown.count("<use ") == 4 and "lastmove" in shown and "check_gradient" in shown
    tally = Tally()
    tally.points[:], tally.pairs[:] = (1, 2, 3), (0, 1, 0, 2, 0)
    table = MatchResult(tally)._repr_html_()
    assert "<td>6</td><td>3</td><td>2</td><td>1</td>" in table and "Elo" in table


def test_a_game_that_is_over_says_how_it_has_ended_and_is_not_searched() -> None:
    found = searched_report(MATED)
    assert (found.ending, found.search, found.moves) == ("checkmate", None, ())
    for fen, said in (
        (MATED, "White has won by checkmate."),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "The game is drawn: stalemate."),
        ("7k/8/6K1/8/8/8/8/8 b - - 0 1", "The game is drawn: insufficient material."),
    ):
        assert report_position(Position(fen), default()).summary == (said,)


def test_jupyter_shows_a_search_as_the_board_with_its_move_and_line() -> None:
    searcher = Searcher()
    shown = searcher.search("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1", Limits(depth=4))._repr_html_()
    assert "<td>mate in 1</td>" in shown and "<td>1. Re8#</td>" in shown
    assert shown.count("<use ") == 6 and 'class="arrow"' in shown
    longer = searcher.search("startpos", Limits(depth=4))
    assert longer.line is not None and san_line(Position().to_chess(), longer.line.pv) in longer._repr_html_()
    mated = searcher.search("4R1k1/5ppp/8/8/8/8/8/K7 b - - 0 1", Limits(depth=4))._repr_html_()
    assert "no legal move" in mated and "checkmate" in mated and 'class="arrow"' not in mated
    position = Position("4k3/8/8/8/8/8/5PPP/4K2R w K - 0 1")
    castles = read_move(position, "O-O")
    castled = SearchResult(castles, None, Line(1, 1, 1, Score(9), "", 1, 1, 0, 0, (castles,)))
    assert "e1g1" in castled._repr_html_() and "1. O-O" in replace(castled, position=position)._repr_html_()


def test_jupyter_shows_what_was_learned_and_what_evaluates() -> None:
    weight = WeightLine("RookOpen", 20.0, 33.0, 25.0, 41.0, 900, 90, True, ())
    same = replace(weight, name="Rook7th", new=20.0, clear=None)
    numbers = dict.fromkeys((each.name for each in fields(Summary)), 0) | {"weights": (weight, same), "games": 1200}
    shown = LearnResult(InstallOutcome(Verdict.NO_MATCH), Summary(**numbers))._repr_html_()  # type: ignore[arg-type]
    assert "1,200 games" in shown and "<td>RookOpen</td><td>20</td><td>33</td><td>yes</td>" in shown
    assert "Rook7th" not in shown and "no match" in LearnResult(InstallOutcome(Verdict.NO_MATCH))._repr_html_()
    assert "RookOpen" in default()._repr_html_() and "screlu" in load(ROOT / "weights" / "gen1.net")._repr_html_()


def test_jupyter_shows_a_report_as_board_sentences_and_terms() -> None:
    report = report_position(Position(MIDDLEGAME), default())
    shown = report._repr_html_()
    assert shown.count("<use ") == len(chess.Board(MIDDLEGAME).piece_map()) and "+0.60" in shown
    assert shown.count("<tr>") == 1 + sum(abs(term.net_cp) >= 0.05 for term in report.terms)
    assert "<script" not in replace(report, summary=("<script>",))._repr_html_()
