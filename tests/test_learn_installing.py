"""What becomes of learned weights: tried in a match, put in use or kept apart; no file of a user loses anything."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import learn_weights
from merino.app.shell.learn import run_learn
from merino.core.common.command import CommandError, UsageError
from merino.core.common.sealed import writable
from merino.core.common.text import in_one_line
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import (
    DEFAULT_FILE,
    ENVIRONMENT_VARIABLE,
    LEARNED,
    as_mapping,
    learned_k,
    load,
    parse,
    render,
    rewrite,
    save,
)
from merino.learn import fitting, procedure
from merino.learn.procedure import EARLIER, text_with, weights_paths
from merino.learn.report import load_record
from merino.match.config import TimeControl
from merino.match.games import Tally
from merino.match.prove import GAIN, STRONGER, Proof, StrengthTest
from merino.match.statistics import Model, Sprt, likeliest_with_mean, llr, score_of
from tests.rows import few_games
from tests.shipped import one_phase

TINY = replace(GAIN, time_control=TimeControl(nodes=20), most_games=2, heats=None)
COMMENTS = ("# Grandmother's weights", "VAL_Q   100  # she never took mine", "# the end")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file in which a queen is worth a pawn, so that whatever is learned is better; its owner has written into it."""
    values = one_phase()
    values[:5] = 100.0
    lines = render(as_mapping(values)).splitlines()
    kept = [line for line in reversed(lines) if not line.startswith("VAL_Q")]
    path = tmp_path / "weights.txt"
    path.write_bytes("\r\n".join([COMMENTS[0], "", *kept, COMMENTS[1], COMMENTS[2], ""]).encode())
    return path


@pytest.fixture
def heard() -> list[str]:
    return []


def learned(weights: Path, heard: list[str], *more: str, trial: StrengthTest = TINY) -> Path | None:
    """What `learn` leaves in use after it has learned the values of the pieces from some of our games."""
    words = [str(few_games(weights.parent)), "1", "5", "--phases", "1", "--no-cache", "--weights", str(weights), *more]
    return learn_weights(words, heard.append, trial)


def match_that_ends(monkeypatch: pytest.MonkeyPatch, verdict: str, interrupted: bool = False) -> list[StrengthTest]:
    """Let every match end so without being played; the trials that are asked for."""
    asked: list[StrengthTest] = []

    def prove(new: object, old: object, trial: StrengthTest, *_: object) -> Proof:
        asked.append(trial)
        return Proof(trial, verdict, Tally(), 1.0, interrupted)

    monkeypatch.setattr(procedure, "prove", prove)
    return asked


@pytest.mark.parametrize(
    ("verdict", "interrupted", "reason"),
    [("H0", False, "the match does not show that they gain"), ("", False, "do not decide"), ("", True, "interrupted")],
)
def test_weights_that_pass_no_match_are_kept_apart_and_not_used(
    weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch, verdict: str, interrupted: bool, reason: str
) -> None:
    before = weights.read_bytes()
    assert match_that_ends(monkeypatch, verdict, interrupted) == []
    assert learned(weights, heard) is None
    assert weights.read_bytes() == before and not weights.with_suffix(".old").exists()
    apart = weights.with_name("weights.new.txt")
    assert (load(apart) != load(weights)).any()
    text = " ".join(heard)
    assert "Not installed: " in text and reason in text
    assert f"    learn --use '{apart}' --weights '{weights}'" in heard


def test_weights_that_pass_are_used(weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = weights.read_bytes()
    assert match_that_ends(monkeypatch, "H1") == []
    assert learned(weights, heard) == weights
    assert load(weights)[4] > 500
    assert weights.with_suffix(".old").read_bytes() == before
    assert not weights.with_name("weights.new.txt").exists()


def test_a_real_match_that_is_too_short_decides_nothing(weights: Path, heard: list[str]) -> None:
    assert learned(weights, heard) is None
    assert any(line.startswith("2 games in ") for line in heard)
    assert any("do not decide" in line for line in heard)


def test_a_real_match_lets_weights_pass_that_know_what_a_queen_is_worth(weights: Path, heard: list[str]) -> None:
    trial = replace(TINY, test=Sprt(-300, 0, model=Model.LOGISTIC), most_games=200)
    assert learned(weights, heard, "--concurrency", "1", trial=trial) == weights


def test_weights_that_the_engine_plays_with_are_in_use(data_folder: Path, weights: Path) -> None:
    active, other = data_folder / "weights.txt", data_folder / "other.txt"
    active.write_bytes(weights.read_bytes())
    assert weights_paths(str(weights), str(active)).takes_effect
    assert not weights_paths(str(weights), str(other)).takes_effect


@pytest.mark.parametrize(("name", "words"), [("mine.old", ["--no-match"]), ("mine.new.txt", [])])
def test_weights_learned_from_are_refused_where_other_files_of_the_run_would_lie(
    weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch, name: str, words: list[str]
) -> None:
    source, target = weights.rename(weights.with_name(name)), weights.with_name("mine.txt")
    source.write_bytes(f"# {LEARNED} before\n".encode() + source.read_bytes())
    save(target, one_phase())
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(target))
    before = source.read_bytes(), target.read_bytes()
    with pytest.raises(CommandError, match=f"{name}' is also an input; name another output file"):
        learned(source, heard, *words, "--out", str(target))
    assert (source.read_bytes(), target.read_bytes()) == before


def test_weights_that_come_with_merino_are_learned_from_and_never_replaced(data_folder: Path) -> None:
    full = DEFAULT_FILE.with_name("full.txt")
    paths = weights_paths(str(full))
    assert paths.source == full and paths.target == data_folder / "weights.txt" and paths.takes_effect
    assert weights_paths("full") == paths


@pytest.mark.parametrize("words", [["--no-match"], ["--out"]])
def test_no_match_is_played_where_none_is_wanted_or_nothing_in_use_changes(
    weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    asked, before = match_that_ends(monkeypatch, "H0"), weights.read_bytes()
    other = weights.with_name("other.txt")
    used = learned(weights, heard, *words, *([str(other)] if words == ["--out"] else []))
    assert asked == []
    assert (used == weights) == (words == ["--no-match"]) == (weights.read_bytes() != before)
    assert other.exists() == (words == ["--out"])


def test_more_strength_is_another_match(weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = match_that_ends(monkeypatch, "H1")
    monkeypatch.setattr(procedure, "GAIN", replace(GAIN, heats=None))
    assert learned(weights, heard, "--prove") == weights
    assert asked == [STRONGER]
    with pytest.raises(UsageError, match="--no-match"):
        read_arguments(["a.pgn", "--prove", "--no-match"])


def test_who_stops_the_fit_waits_for_no_match(weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked, before = match_that_ends(monkeypatch, "H1"), weights.read_bytes()
    whole = fitting.gauss_newton

    def stopped(*arguments: object) -> None:
        whole(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "gauss_newton", stopped)
    assert learned(weights, heard) is None
    assert asked == [] and weights.read_bytes() == before
    assert weights.with_name("weights.new.txt").exists()
    assert "Interrupted: the best so far is kept." in heard
    assert any(line.startswith("Not installed: learning was interrupted") for line in heard)


@pytest.mark.parametrize("at", ["read", "judge_fit"])
def test_ctrl_c_says_that_learning_stopped_and_what_was_kept(
    weights: Path, heard: list[str], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(procedure, at, interrupt)
    before = weights.read_bytes()
    with pytest.raises(CommandError, match="stopped by Ctrl-C; the weights are as they were") as caught:
        learned(weights, heard)
    assert caught.value.exit_code == 130 and weights.read_bytes() == before


def test_weights_that_wait_are_used_by_one_command(weights: Path, heard: list[str]) -> None:
    before = weights.read_bytes()
    learned(weights, heard)
    apart = weights.with_name("weights.new.txt")
    assert learn_weights(["--use", str(apart), "--weights", str(weights)], heard.append) == weights
    assert weights.read_bytes() == apart.read_bytes()
    assert weights.with_suffix(".old").read_bytes() == before
    learn_weights(["--use", str(apart), "--weights", str(weights)], heard.append)
    assert weights.with_suffix(".old").read_bytes() == before  # which the same weights once more do not replace


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--use", "missing.txt"], "cannot read weights file"),
        (["--use", "{weights}", "--weights", "{weights}"], "is the file in use"),
        (["games.pgn", "--use", "a.txt"], "learns nothing"),
        (["--use", "a.txt", "--seed", "1"], "learns nothing"),
        (["--use"], "expected one argument"),
    ],
)
def test_what_cannot_be_put_in_use_is_refused(weights: Path, heard: list[str], words: list[str], reason: str) -> None:
    before = weights.read_bytes()
    with pytest.raises(CommandError, match=reason):
        learn_weights([word.format(weights=weights) for word in words], heard.append)
    assert weights.read_bytes() == before


def test_a_file_in_the_place_of_new_weights_is_not_overwritten(weights: Path, heard: list[str]) -> None:
    apart = weights.with_name("weights.new.txt")
    apart.write_text("my diary\n")
    with pytest.raises(CommandError, match=r"weights\.new\.txt' is in the way"):
        learned(weights, heard)
    assert apart.read_text() == "my diary\n"


def test_json_states_the_verdict(weights: Path, heard: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    learned(weights, heard, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["in_use"], found["match"]["games"]) == ("undecided", False, 2)
    assert found["written"] == str(weights.with_name("weights.new.txt"))
    words = [str(few_games(weights.parent)), "1", "5", "--no-cache", "--weights", str(weights), "--json", "--no-match"]
    assert run_learn(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["in_use"], found["match"]) == ("no match", True, None)


def test_the_old_file_is_kept_to_the_byte_and_comments_stay(weights: Path, heard: list[str]) -> None:
    before = weights.read_bytes()
    learned(weights, heard, "--no-match")
    assert weights.with_suffix(".old").read_bytes() == before
    lines = weights.read_bytes().decode().split("\r\n")
    assert lines[0].startswith(f"# {LEARNED} ") and lines[3] == f"# {EARLIER}"
    assert lines[4:6] == [COMMENTS[0], ""] and lines[-2:] == [COMMENTS[2], ""]
    assert [line.split()[0] for line in lines[6:-2]] == [
        line.split()[0] for line in before.decode().split("\r\n")[2:-2]
    ]
    queen = next(line for line in lines if line.startswith("VAL_Q"))
    assert queen == f"VAL_Q   {load(weights)[4]:g}  # she never took mine"
    assert any(f"K = {learned_k(weights):.1f}" in line or f", {learned_k(weights):.1f} on" in line for line in heard)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there files cannot have such names")
@pytest.mark.parametrize("name", [b"a\nb 5.pgn", b"games K 12 of.pgn", b"K\xf6ln.pgn"])
def test_games_may_have_any_name_that_a_file_can_have(weights: Path, heard: list[str], name: bytes) -> None:
    path = few_games(weights.parent).rename(weights.parent / os.fsdecode(name))
    before, start = load(weights), weights.rename(weights.with_name(f"w K 13 {path.name}.txt"))
    words = [str(path), "1", "5", "--phases", "1", "--no-cache", "--weights", str(start), "--no-match"]
    assert learn_weights(words, heard.append) == start
    assert (load(start) != before).any()
    text = start.read_text()
    assert text.startswith(f"# {LEARNED} ") and f" of {in_one_line(path.name)}, starting at w K 13 " in text
    assert re.search(rf"K = {learned_k(start):.1f}|, {learned_k(start):.1f} on", "\n".join(heard))
    assert in_one_line(path.name).split("\\")[0] in (weights.parent / "learning.log").read_text()
    assert load_record(weights.parent / "learning.json")["files"] == [str(writable(str(path)))]


def test_where_weights_come_from_is_stated_once_however_often_they_are_learned(weights: Path) -> None:
    values = load(weights)
    for number, end in enumerate(("\r\n", "\n")):
        weights.write_bytes(weights.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", end.encode()))
        header = [f"{LEARNED} 2026-01-0{number + 1} 10:00 from 9 games of a.pgn", f"terms 1..5, K {number + 150}.0"]
        for _ in range(2):
            text = text_with(weights, values, [*header, "validation error 0.1 -> 0.0"])
            weights.write_bytes(text.encode())
        assert text.count(LEARNED) == text.count("# terms 1..5") == text.count("validation") == text.count(EARLIER) == 1
        assert learned_k(weights) == number + 150
        assert COMMENTS[0] in text


def test_the_comments_on_shipped_values_are_not_kept_for_new_values() -> None:
    text = text_with(DEFAULT_FILE, one_phase() + 1, [f"{LEARNED} now"])
    assert [line for line in text.splitlines() if line.startswith("#")] == [f"# {LEARNED} now"]


def test_only_values_that_change_are_rewritten() -> None:
    values = {term.name: float(max(term.bounds[0], 7)) if term.bounds[1] > 7 else -7.0 for term in TERMS}
    text = "\ufeff\n  # top\n" + "".join(f" {name}\t{value:.3f}  #{name}\n" for name, value in values.items())
    new = np.array(list(values.values()))
    assert rewrite(text, new, []) == text
    new[3] += 0.5
    new[5] = -0.0
    changed = rewrite(text, new, ["K 5"])
    assert changed.startswith("\ufeff# K 5\n\n  # top\n")
    assert (parse(changed.removeprefix("\ufeff"), "") == new).all()
    assert f" {TERMS[3].name}\t{new[3]:g}  #{TERMS[3].name}\n" in changed
    assert f" {TERMS[5].name}\t0  #" in changed
    assert changed.count(".000") == len(TERMS) - 2


def test_the_old_weights_are_kept_where_the_file_has_their_ending(tmp_path: Path, heard: list[str]) -> None:
    values = one_phase()
    values[:5] = 100.0
    save(tmp_path / "w.old", values)
    before = (tmp_path / "w.old").read_bytes()
    assert learned(tmp_path / "w.old", heard, "--no-match") == tmp_path / "w.old"
    assert (tmp_path / "w.old.old").read_bytes() == before


def passed(elo: float, times: int, rng: np.random.Generator) -> tuple[float, float]:
    """The share of simulated matches of this strength that GAIN lets pass, and that it refuses."""
    seen = np.array([21, 44, 84, 44, 21]) / 214  # the pairs of a match at these nodes, made even
    pairs = rng.choice(5, (times, GAIN.most_games // 2), p=likeliest_with_mean(seen, score_of(elo)))
    test, verdict = GAIN.test, np.zeros(times)
    for played in range(10, pairs.shape[1] + 1, 10):
        counts = np.array([np.bincount(row[:played], minlength=5) for row in pairs])
        ratio = llr(counts, test.elo0, test.elo1, test.model)
        settled = np.sign(ratio) * ((ratio <= test.bounds[0]) | (ratio >= test.bounds[1]))
        verdict = np.where(verdict == 0, settled, verdict)
    return float(np.mean(verdict > 0)), float(np.mean(verdict < 0))


@pytest.fixture(scope="module")
def rng() -> Iterator[np.random.Generator]:
    yield np.random.default_rng(4)


@pytest.mark.parametrize(("elo", "least", "most"), [(-30, 0, 0.01), (-5, 0, 0.08), (25, 0.9, 1), (60, 0.99, 1)])
def test_mostly_stronger_weights_pass(rng: np.random.Generator, elo: float, least: float, most: float) -> None:
    share, refused = passed(elo, 300, rng)
    assert least <= share <= most
    assert refused >= 0.8 or elo > -5
