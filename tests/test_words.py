"""A net explained by the terms: the account adds up, recovers the terms where they are all there is, and has its R2."""

from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from merino.core.board.fen import START_FEN, to_fen
from merino.core.board.game import Position
from merino.core.board.position import POSITION
from merino.engine.report import phrases, places
from merino.eval.families import default, load_evaluation
from merino.eval.linear import compiled, registry, sets
from merino.eval.linear.weights import SHIPPED
from merino.eval.net import family, file
from merino.formats.packed import pack, unpack
from merino.study import accounts, errors, reporting
from merino.study.accounts import (
    account_around,
    account_for,
    account_of,
    columns_of,
    content_of,
    in_words,
    load_account,
    neighbours,
    r2_of,
    whole_account,
    without_pieces,
)

MIDDLEGAME = "r1bq1rk1/pp3ppp/2n1p3/3n4/1b1P4/2N1BN2/PP3PPP/R2QKB1R w KQ - 0 10"
ENDGAME = "8/5pk1/6p1/8/1P6/4B1P1/5PK1/2b5 b - - 0 50"
IN_CHECK = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"
POSITIONS = [MIDDLEGAME, ENDGAME, chess.STARTING_FEN]


def walked(count: int) -> np.ndarray:
    """Positions of random games, POSITION[count]."""
    draw, found = np.random.default_rng(3), np.zeros(count, dtype=POSITION)
    position = Position()
    for index in range(count):
        moves = position.legal_moves
        if not moves or len(position.moves) > 80:
            position, moves = Position(), Position().legal_moves
        position.push(moves[draw.integers(len(moves))])
        found[index] = position.record[0]
    return found


@pytest.mark.parametrize("fen", POSITIONS)
def test_terms_and_rest_are_the_score(fen: str) -> None:
    evaluation, position = load_evaluation("gen12"), Position(fen)
    words = in_words(position.record, evaluation)
    score = int(evaluation.scores(position.record)[0]) * (-1 if position.side else 1)
    assert sum(term.cp for term in words.terms) + words.rest == pytest.approx(score)
    assert [term.name for term in words.terms] == [term.name for term in registry.TERMS]
    assert 0 < words.r2 < 1


def test_the_draw_rules_are_no_part_of_what_a_net_sees_beyond_the_terms() -> None:
    evaluation, position = load_evaluation("gen12"), Position("4k3/5p2/8/3b4/8/P3B3/5P2/4K3 w - - 0 90")
    report = reporting.with_words(reporting.report_alone(position, evaluation), position.record, evaluation)
    assert report.words and report.static.rule and abs(report.static.rule_cp) > 2
    result = sum(term.cp for term in report.words.terms) + report.words.rest
    assert result == pytest.approx(report.static.sum_cp, abs=0.5)
    assert result + report.static.rule_cp == pytest.approx(report.static.score_cp, abs=1)
    account = account_around(position.record, evaluation, account_for(evaluation).vector()).evaluation(200.0, "account")
    bare = Position("4k3/5p2/8/8/8/P3B3/5P2/4K3 w - - 0 90").record  # without Black's bishop no rule holds
    rest = evaluation.white_scores(bare)[0] - account.white_scores(bare)[0]
    assert report.words.rest_by_piece["d5"] == pytest.approx(report.words.rest - rest, abs=2)


def test_an_account_that_explains_nothing_says_so() -> None:
    for ended in ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "R5k1/5ppp/8/8/8/8/8/K7 b - - 0 1"):
        words = in_words(Position(ended).record, load_evaluation("gen12"))
        assert words.r2 <= 0 and words.sentences[-1].endswith("the terms do not explain how moves change the score.")


@pytest.mark.parametrize("fen", POSITIONS)
def test_scores_of_the_terms_give_back_what_each_term_adds(fen: str) -> None:
    record = Position(fen).record
    account = account_around(record, default())
    assert account.r2 == pytest.approx(1, abs=1e-4)
    by_account = account.evaluation(200.0, "account").explain(record)
    for found, true in zip(by_account.lines, default().explain(record).lines, strict=True):
        assert found.net == pytest.approx(true.net, abs=1.0), true.name


def test_many_scores_of_the_terms_give_back_all_weights() -> None:
    positions = walked(4000)
    account = account_of(columns_of(positions), default().white_scores(positions))
    assert account.r2 == pytest.approx(1, abs=1e-9)
    seen = np.abs(columns_of(positions)[:, : 2 * compiled.NUMBER_OF_TERMS]).sum(axis=0) > 1
    weights = np.concatenate(
        [default().weights[: compiled.NUMBER_OF_TERMS], default().weights[-compiled.NUMBER_OF_TERMS :]]
    )
    assert account.weights[seen] == pytest.approx(weights[seen], abs=0.5) and seen.sum() > 40


def test_constant_and_side_to_move_are_found_among_strong_noise() -> None:
    columns = columns_of(walked(1500))
    scores = 900.0 + 700.0 * columns[:, -2] + np.random.default_rng(2).normal(0, 1500, len(columns))
    account = account_of(columns, scores)
    assert (account.constant, account.to_move) == pytest.approx((900, 700), abs=150)


def test_an_account_of_shuffled_scores_explains_less() -> None:
    positions, draw = walked(2000), np.random.default_rng(1)
    scores = load_evaluation("gen12").white_scores(positions)
    assert account_of(columns_of(positions), scores).r2 > 0.5
    assert account_of(columns_of(positions), draw.permutation(scores)).r2 < 0.2


def coefficients(account) -> np.ndarray:
    return np.concatenate([account.weights, [account.to_move, account.constant]])


def test_an_account_is_judged_by_positions_that_it_does_not_know() -> None:
    columns, draw = columns_of(walked(300)), np.random.default_rng(3)
    chance = draw.normal(0, 100, len(columns))
    account = account_of(columns, chance)
    known = r2_of(chance, columns @ coefficients(account))
    assert known > 0.04 and account.r2 < 0.02, "chance is not predicted, however well it is fitted"
    scores = columns @ draw.normal(0, 30, columns.shape[1]) + chance
    of_others = np.zeros(len(scores))
    for index in range(len(scores)):
        others = np.arange(len(scores)) != index
        of_others[index] = columns[index] @ coefficients(account_of(columns[others], scores[others]))
    assert account_of(columns, scores).r2 == pytest.approx(r2_of(scores, of_others), abs=0.02)


def test_the_part_of_a_piece_in_the_rest_is_what_goes_without_it() -> None:
    evaluation, record = load_evaluation("gen12"), Position(MIDDLEGAME).record
    words = in_words(record, evaluation)
    account = account_around(record, evaluation, account_for(evaluation).vector()).evaluation(200.0, "account")
    board = chess.Board(MIDDLEGAME)
    board.remove_piece_at(chess.D5)
    without = Position(board.fen()).record
    rest = evaluation.scores(record)[0] - account.scores(record)[0]
    rest -= evaluation.scores(without)[0] - account.scores(without)[0]
    assert words.rest_by_piece["d5"] == rest


def test_sentences_name_sides_facts_and_pieces() -> None:
    said = " ".join(in_words(Position(MIDDLEGAME).record, load_evaluation("gen12")).sentences)
    assert "Black is ahead by" in said and "White's d-pawn is isolated (" in said
    assert "The net rates" in said and "of how moves change" in said


RESTS = [
    (25.0, {"d5": 17.0, "g7": 9.0}, "Without Black's knight on d5 that would be 0.17 less."),
    (25.0, {"d5": 12.0, "g7": 9.0}, None),  # no piece makes most of it
    (25.0, {"d5": 42.0, "g7": 33.0}, None),  # more than all of it
    (-5.0, {"d5": -74.0, "g7": -3.0}, "Without Black's pawn on g7 that would be 0.03 less."),
    (-25.0, {"g8": -20.0}, "With Black's king at home that would be 0.20 less."),
    (-25.0, {"d5": 20.0}, None),
    (2.0, {"d5": 1.5}, None),
]


@pytest.mark.parametrize(("rest", "parts", "said"), RESTS)
def test_a_piece_is_named_only_if_its_part_is_most_of_the_rest_and_not_all(
    rest: float, parts: dict[str, float], said: str | None
) -> None:
    first, *more = accounts._of_rest(rest, parts, Position(MIDDLEGAME).record[0]["board"])
    assert more == ([said] if said else [])
    above = f"The net rates {'White' if rest > 0 else 'Black'} {abs(rest) / 100:.2f} above what the terms explain."
    assert first == (above if abs(rest) >= 3 else "The terms explain the whole score.")


def test_neighbours_are_the_legal_moves_of_both_sides_and_the_replies() -> None:
    board = chess.Board(MIDDLEGAME)
    expected = 1 + board.legal_moves.count()
    for move in list(board.legal_moves):
        board.push(move)
        expected += board.legal_moves.count()
        board.pop()
    board.push(chess.Move.null())
    assert len(neighbours(Position(MIDDLEGAME).record)) == expected + 1 + board.legal_moves.count()
    assert neighbours(Position(IN_CHECK).record)["side"].tolist() == [0], "in check nobody passes; this is a mate"


def test_positions_without_one_or_two_pieces() -> None:
    found = without_pieces(Position("4k3/8/8/8/8/8/3PP3/R3K3 w - - 0 1").record)
    assert sorted(int((each["board"] != 6).sum()) for each in found) == [3, 3, 3, 4, 4, 4]


def test_the_account_of_gen12_comes_with_it_and_names_known_terms() -> None:
    account = account_for(load_evaluation("gen12"))
    assert set(account.weights) <= {term.name for term in registry.TERMS}
    assert account.all.r2 > 0.85 and account_for(load_evaluation("gen1")) is None and account_for(default()) is None


def test_the_account_of_a_net_is_shown_and_written(tmp_path: Path, shell) -> None:
    assert "KingPawnShield" in shell("account", "gen12") and "--positions" in shell("account", "gen1", status=1)
    out, positions = tmp_path / "own.account.json", tmp_path / "positions.txt"
    positions.write_text("".join(f"{to_fen(position[None])} | 0 | 0.5\n" for position in walked(3000)))
    shown = shell("account", "gen12", "--positions", str(positions), "--out", str(out), "--json")
    assert load_account(out).all.r2 == shown["all"]["r2"] > 0.5


def test_all_that_a_net_adds_on_both_sides_alike_is_due_to_who_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    positions, none = walked(1500), np.zeros(1500)
    seen = unpack(pack(positions, none, none, none))  # with White to move, as in files
    monkeypatch.setattr(family.NetEvaluation, "white_scores", lambda _, found: default().white_scores(found) / 4 + 20.0)
    account = whole_account(load_evaluation("gen1"), seen, "a test")
    assert account.constant == 0.0 and account.to_move == pytest.approx(20, abs=0.5) and account.all.r2 > 0.99


def test_an_account_needs_positions() -> None:
    with pytest.raises(errors.StudyError, match="1000 positions"):
        whole_account(load_evaluation("gen12"), walked(20), "a test")


def test_an_account_is_shown_in_characters_that_print(shell, monkeypatch) -> None:
    strange = replace(account_for(load_evaluation("gen12")), source="a\x1b[2Jb\nc")
    monkeypatch.setattr(accounts, "account_for", lambda _: strange)
    head, blank, _ = shell("account", "gen12").split("\n", 2)
    assert (head, blank) == (r"gen12 in the terms, from positions of a\x1b[2Jb\nc", "")


def test_a_damaged_account_of_a_net_is_reported_and_one_of_another_is_no_hindrance(tmp_path: Path, shell) -> None:
    net, account = tmp_path / "my.net", tmp_path / "my.account.json"
    net.write_bytes((SHIPPED / "gen1.net").read_bytes())
    account.write_text("{}")
    assert shell("account", str(net), status=1).startswith(f"merino: account: '{account}' is not the account of a net")
    account.rename(tmp_path / "other.account.json")
    renamed = tmp_path / "renamed.account.json"
    renamed.write_bytes(content_of(replace(account_for(load_evaluation("gen12")), net=file.digest(file.load_net(net)))))
    assert account_for(load_evaluation(str(net))) == load_account(renamed)
    assert shell("explain", START_FEN, "--evalfile", str(net), "--static")


@pytest.mark.parametrize("name", sets.SETS)
def test_the_summary_knows_the_terms_of_every_set(name: str) -> None:
    terms = [each for each, _ in sets.set_named(name).to_read()]
    assert terms and all(phrases.group_of(each.name) is each.group for each in terms)


def test_every_fact_is_counted_by_a_term() -> None:
    names = {each.name for name in sets.SETS for each, _ in sets.set_named(name).to_read()}
    for fact in places.STATED.values():
        assert all(any(name.startswith(start) for name in names) for start in fact.terms)
    assert phrases.phrases_of("PawnIsolated") == ("isolated",) and phrases.phrases_of("Tempo") == ()
