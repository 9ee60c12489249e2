"""Learning: the fit finds what made the results, bounds and frozen weights hold, and nothing is written in vain."""

import errno
import io
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from merino.app.console.learning import learn_weights, read_arguments
from merino.app.shell.cli import main
from merino.core.board.fen import parse_fen
from merino.core.common import command, errors, sealed
from merino.core.common.text import in_one_line
from merino.eval.linear import compiled, registry
from merino.eval.linear import weights as weights_files
from merino.eval.linear.weights import (
    DEFAULT_FILE,
    ENVIRONMENT_VARIABLE,
    LEARNED,
    as_mapping,
    k_in,
    load,
    own_file,
    parse,
    render,
    rewrite,
    save,
)
from merino.formats.pgn_games import read_games
from merino.learn import fitting, judging, procedure, reading
from merino.learn.positions import FEATURE_SCALE, Rows
from merino.learn.request import Events, LearnError, LearnRequest, LearnStoppedError, Selection, Settings, Target
from merino.learn.sample import split
from merino.match import config, statistics
from merino.match.games import Tally
from merino.match.prove import GAIN, STRONGER, Proof, StrengthTest
from tests import simulated_matches
from tests.rows import FEW, SELFPLAY, few_games, made_up_rows, rows_of
from tests.shipped import ARTICLE, article_weights, one_phase

BOUNDS = np.array([term.bounds for term in registry.TERMS], dtype=np.float64)
POSITIONAL = np.arange(5, len(registry.TERMS))


def learned_k(path: Path) -> float:
    """The K in a comment of a weights file."""
    return k_in(path.read_text(encoding="utf-8"), str(path))


@pytest.fixture(scope="module")
def pgn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return few_games(tmp_path_factory.mktemp("games"))


def test_a_row_times_the_weights_is_the_score_before_the_rules(pgn):
    rows = rows_of(read_games(pgn.read_bytes()))
    positions = []
    for text in pgn.read_text().split("[Event")[1:4]:
        game = chess.pgn.read_game(io.StringIO("[Event" + text))
        assert game is not None
        board = game.board()
        for move in game.mainline_moves():
            quiet = not board.is_capture(move) and move.promotion is None
            board.push(move)
            if quiet and not board.is_check():
                positions.append(parse_fen(board.fen()))
    expected = compiled.features_of(np.concatenate(positions))
    found = rows.features[rows.game < 3] / FEATURE_SCALE
    assert len(found) == len(expected) > 100
    assert np.abs(found - expected).max() <= 0.5 / FEATURE_SCALE + 1e-9
    assert np.abs((found - expected) @ one_phase()).max() < 2


def test_no_game_lies_in_both_parts(pgn):
    sample = split(rows_of(read_games(pgn.read_bytes())), Settings())
    train, valid = (set(sample.games(is_validation)) for is_validation in (False, True))
    assert not train & valid
    assert 0.1 < len(valid) / FEW < 0.3


def test_noise_teaches_nothing_and_is_not_accepted():
    rng = np.random.default_rng(6)
    features = (FEATURE_SCALE * rng.normal(0, 1, (4000, len(ARTICLE)))).astype(np.int16)
    game = np.repeat(np.arange(100), 40).astype(np.int32)
    results = (rng.integers(0, 3, 100) / 2).astype(np.float32)
    none = np.zeros(4000, dtype=np.uint8)
    rows = Rows(features, none, game, none.astype(np.int16), results, none.astype(np.int16))
    flat = np.where(np.arange(len(ARTICLE)) < 5, article_weights(), np.clip(0.0, *BOUNDS[: len(ARTICLE)].T))
    assert not judging.learn(split(rows, Settings()), flat, Settings(k=1e6), ARTICLE).accepted


DRAWN = b'[Result "1/2-1/2"]\n\n1. e4 e5 2. Nf3 Nc6 1/2-1/2\n\n'


def test_a_game_that_cannot_be_read_is_reported_and_the_rest_used(pgn, tmp_path):
    path = tmp_path / "mixed.pgn"
    path.write_text('[Event "bad"]\n\n1. e4 e5 2. Qxe5 1-0\n\n' + pgn.read_text())
    save(tmp_path / "weights.txt", one_phase())
    lines: list[str] = []
    words = [str(path), "--weights", str(tmp_path / "weights.txt"), "--out", str(tmp_path / "out.txt")]
    learn_weights(words, lines.append)
    for said in (
        "mixed.pgn: 1 game left out, unreadable: line 3: 'Qxe5' is not a legal move here",
        f"What {FEW} games",
    ):
        assert said in "\n".join(lines)


COMMENTS = ("# Grandmother's weights", "VAL_Q   100  # she never took mine", "# the end")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file in which a queen is worth a pawn, so that whatever is learned is better; its owner has written into it."""
    values = one_phase()
    values[:5] = 100.0
    lines = render(as_mapping(values)).splitlines()
    kept = [line for line in reversed(lines) if not line.startswith("VAL_Q")]
    path = tmp_path / "w" / "weights.txt"
    path.parent.mkdir()
    path.write_bytes("\r\n".join([COMMENTS[0], "", *kept, COMMENTS[1], COMMENTS[2], ""]).encode())
    return path


def words_for(weights: Path, *more: str) -> list[str]:
    return [str(few_games(weights.parent.parent)), "1", "5", "--no-match", "--weights", str(weights), *more]


def refuse_to_read(*_: object) -> None:
    raise AssertionError("games are read")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_request_gets_a_result_and_prints_nothing(weights, capsys):
    settings = Settings(first=1, last=5)
    more = {"weights": str(weights), "plays_match": False}
    request = LearnRequest((str(SELFPLAY),), settings, Selection(), **more)
    lines: list[str] = []
    shares: list[float | None] = []
    result = procedure.learn_from_files(request, Events(lines.append, lambda _, done: shares.append(done)))
    outcome = result.outcome
    assert (outcome.verdict, outcome.written, outcome.in_use) == (procedure.Verdict.NO_MATCH, weights, True)
    assert result.record == weights.parent / "learning.json" and result.record.exists()
    assert result.summary is not None and result.summary.written == str(weights)
    assert [line.new for line in result.summary.weights] == load(weights).tolist()
    assert lines[0].startswith("selfplay.pgn: 710 games") and shares[-1] == 1
    said = capsys.readouterr()
    assert said.out == "" and all(line.startswith("Compiling ") for line in said.err.splitlines())


def test_a_folder_in_place_of_the_record_is_found_first(weights, monkeypatch):
    monkeypatch.setattr(reading, "read_rows", refuse_to_read)
    (weights.parent / "learning.json").mkdir()
    with pytest.raises(errors.MerinoError, match=r"cannot write '.*learning\.json'.*; the weights are as they were$"):
        learn_weights(words_for(weights), lambda line: None)


def test_only_the_users_folder_is_made(weights, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "read_rows", refuse_to_read)
    none = tmp_path / "none"
    said = f"cannot write '{none / 'w.txt'}': there is no such folder; the weights are as they were"
    with pytest.raises(errors.MerinoError, match=re.escape(said)):
        learn_weights(words_for(weights, "--out", str(none / "w.txt")), lambda line: None)
    assert not none.exists()
    monkeypatch.setenv("MERINO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MERINO_WEIGHTS", raising=False)
    with pytest.raises(AssertionError, match="games are read"):
        learn_weights([str(few_games(tmp_path)), "1", "5", "--no-match"], lambda line: None)
    assert own_file().parent.is_dir()


@pytest.mark.parametrize("name", ["learning.json", "weights.txt"])
def test_a_full_disk_leaves_the_weights_as_they_were(weights, monkeypatch, name):
    real = Path.replace

    def full(path: Path, target: Path) -> Path:
        if target.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, target)

    monkeypatch.setattr(Path, "replace", full)
    before, said = weights.read_bytes(), rf"{name}': No space left on device; the weights are as they were$"
    with pytest.raises(errors.MerinoError, match=said):
        learn_weights(words_for(weights), lambda line: None)
    assert weights.read_bytes() == before and not list(weights.parent.glob("*.new"))


def test_a_fen_file_that_finds_no_room_is_reported_with_the_way_to_do_without(weights):
    resource = pytest.importorskip("resource")
    words, (soft, hard) = words_for(weights, "--preset", "greko2015"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(errors.MerinoError, match=r"few\.fen': File too large; --no-cache learns without it"):
            learn_weights(words, lambda line: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def kept_of(weights: Path) -> list[Path]:
    """The files with the weights that were in this one, the last first."""
    return [path for _, path in procedure.earlier_weights(weights)]


def test_the_weights_are_replaced_last(weights, monkeypatch):
    replaced: list[str] = []
    real = Path.replace

    def note(path: Path, target: Path) -> Path:
        replaced.append(target.name)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", note)
    learn_weights(words_for(weights), lambda line: None)
    assert replaced[: replaced.index("weights.txt") + 1] == [kept_of(weights)[0].name, "learning.json", "weights.txt"]


def test_of_blocks_that_break_off_the_innermost_says_how_things_stand():
    with (
        pytest.raises(LearnStoppedError, match=r"^stopped by Ctrl-C; inside$"),
        procedure.standing("outside"),
        procedure.standing("inside"),
    ):
        raise KeyboardInterrupt
    with pytest.raises(LearnError, match=r"^cannot write: Input/output error; outside$"), procedure.standing("outside"):
        with procedure.standing("inside"):
            pass
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(BrokenPipeError), procedure.standing("nobody listens"):
        raise BrokenPipeError


FEN = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -"
ROOT = Path(__file__).resolve().parent.parent


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.pgn", None, "there is no file"),
        ("", None, "is a folder"),
        ("empty.pgn", b"", "no finished game with a usable position"),
        ("rubbish.pgn", b"\x00\xff" * 1000, "no finished game with a usable position"),
        ("broken.pgn.gz", b"\x1f\x8b\x08\x00", "cannot read"),
        ("check.epd", b"4k3/8/8/8/8/8/4r3/4K3 w - - [1.0]\n", "no finished game with a usable position"),
        ("unfinished.pgn", b"1. e4 e5 2. Nf3 Nc6 *\n", "no finished game"),
        ("drawn.pgn", DRAWN * 5, "drawn"),
        ("won.pgn", DRAWN.replace(b"1/2-1/2", b"1-0") * 5, "won for White"),
        ("one.pgn", DRAWN, "one game"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(tmp_path, weights, name, content, reason):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = files_of(tmp_path), files_of(weights.parent)
    words = [str(tmp_path / name), "--weights", str(weights), "--target", "result"]
    with pytest.raises(errors.MerinoError, match=reason):
        learn_weights(words, lambda line: None)
    assert (files_of(tmp_path), files_of(weights.parent)) == before


def test_games_whose_positions_weigh_nothing_are_refused(tmp_path, weights):
    words = ["--weights", str(weights), "--decay", "0.1", "--target", "result"]
    few = tmp_path / "late.epd"
    few.write_text("".join(f'{FEN} c9 "{r}"; c8 "20"; c7 "{g}";\n' for g, r in enumerate(("1-0", "0-1") * 20)))
    with pytest.raises(errors.MerinoError, match=r"with --decay 0\.1 the positions learned from weigh nothing"):
        learn_weights([str(few), *words], lambda line: None)


@pytest.mark.parametrize("target", [Target(1.0), Target(0.25, k=200.0), Target(0.0)])
def test_games_of_one_result_are_refused_only_where_results_count(target):
    rows = made_up_rows(np.full(5, 50.0), 200.0, 100, seed=1)
    rows = replace(rows, results=np.full_like(rows.results, 0.5))
    with pytest.raises(LearnError, match="all 20 games are drawn, so there is nothing to learn from"):
        split(rows, Settings(target=target))
    assert split(rows, Settings(target=Target(0.0, k=200.0))).size == 100


TINY = replace(GAIN, time_control=config.TimeControl(nodes=20), most_games=2, heats=None)


@pytest.fixture
def heard() -> list[str]:
    return []


def learned(weights: Path, heard: list[str], *more: str, trial: StrengthTest = TINY) -> Path | None:
    """What `learn` leaves in use after it has learned the values of the pieces from some of our games."""
    words = [str(few_games(weights.parent)), "1", "5", "--phases", "1", "--weights", str(weights), *more]
    return learn_weights(words, heard.append, trial)


def match_that_ends(monkeypatch: pytest.MonkeyPatch, verdict: str, interrupted: bool = False) -> list[StrengthTest]:
    """Let every match end so without being played; the trials that are asked for."""
    asked: list[StrengthTest] = []

    def prove(new: object, old: object, trial: StrengthTest, *_: object) -> Proof:
        asked.append(trial)
        return Proof(trial, verdict, Tally(), 1.0, interrupted)

    monkeypatch.setattr("merino.match.prove.prove", prove)
    return asked


@pytest.mark.parametrize(
    ("verdict", "interrupted", "reason"),
    [("H0", False, "the match shows no gain"), ("", False, "do not decide"), ("", True, "interrupted")],
)
def test_weights_that_pass_no_match_are_kept_apart_and_not_used(
    weights, heard, monkeypatch, verdict, interrupted, reason
):
    before = weights.read_bytes()
    assert match_that_ends(monkeypatch, verdict, interrupted) == []
    assert learned(weights, heard) is None
    assert weights.read_bytes() == before and not kept_of(weights)
    apart = weights.with_name("weights.new.txt")
    assert (load(apart) != load(weights)).any()
    text = " ".join(heard)
    assert "The weights stay as they were: " in text and reason in text
    assert f"    learn --use '{apart}' --weights '{weights}'" in heard


def test_weights_that_pass_are_used(weights, heard, monkeypatch):
    before = weights.read_bytes()
    assert match_that_ends(monkeypatch, "H1") == []
    assert learned(weights, heard) == weights
    assert load(weights)[4] > 500
    assert kept_of(weights)[0].read_bytes() == before
    assert not weights.with_name("weights.new.txt").exists()


def test_weights_that_the_engine_plays_with_are_in_use(data_folder, weights):
    active, other = data_folder / "weights.txt", data_folder / "other.txt"
    active.write_bytes(weights.read_bytes())
    assert procedure.weights_paths(str(weights), str(active)).takes_effect
    assert not procedure.weights_paths(str(weights), str(other)).takes_effect


def test_weights_learned_from_are_refused_where_other_files_of_the_run_would_lie(weights, heard, monkeypatch):
    source, target = weights.rename(weights.with_name("mine.new.txt")), weights.with_name("mine.txt")
    source.write_bytes(f"# {LEARNED} before\n".encode() + source.read_bytes())
    save(target, one_phase())
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(target))
    before = source.read_bytes(), target.read_bytes()
    with pytest.raises(errors.MerinoError, match=r"mine\.new\.txt' is also an input; name another output file"):
        learned(source, heard, "--out", str(target))
    assert (source.read_bytes(), target.read_bytes()) == before


def test_weights_that_come_with_merino_are_learned_from_and_never_replaced(data_folder):
    full = DEFAULT_FILE.with_name("full.txt")
    paths = procedure.weights_paths(str(full))
    assert paths.source == full and paths.target == data_folder / "weights.txt" and paths.takes_effect
    assert procedure.weights_paths("full") == paths


def test_no_match_is_played_where_nothing_in_use_changes(weights, heard, monkeypatch):
    asked, before = match_that_ends(monkeypatch, "H0"), weights.read_bytes()
    other = weights.with_name("other.txt")
    assert learned(weights, heard, "--out", str(other)) is None
    assert asked == [] and weights.read_bytes() == before and other.exists()


def test_more_strength_is_another_match(weights, heard, monkeypatch):
    asked = match_that_ends(monkeypatch, "H1")
    monkeypatch.setattr("merino.match.prove.GAIN", replace(GAIN, heats=None))
    assert learned(weights, heard, "--prove") == weights
    assert asked == [STRONGER]
    with pytest.raises(command.UsageError, match="--no-match"):
        read_arguments(["a.pgn", "--prove", "--no-match"])


def test_who_stops_the_fit_waits_for_no_match(weights, heard, monkeypatch):
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
    assert any(line.startswith("The weights stay as they were: learning was interrupted") for line in heard)


@pytest.mark.parametrize("at", ["reading.read", "judging.judge_fit"])
def test_ctrl_c_says_that_learning_stopped_and_what_was_kept(weights, heard, monkeypatch, at):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"merino.learn.{at}", interrupt)
    before = weights.read_bytes()
    with pytest.raises(errors.MerinoError, match="stopped by Ctrl-C; the weights are as they were") as caught:
        learned(weights, heard)
    assert caught.value.exit_code == 130 and weights.read_bytes() == before


def test_weights_that_wait_are_used_by_one_command(weights, heard):
    before = weights.read_bytes()
    learned(weights, heard)
    apart = weights.with_name("weights.new.txt")
    assert learn_weights(["--use", str(apart), "--weights", str(weights)], heard.append) == weights
    assert weights.read_bytes() == apart.read_bytes()
    (old,) = kept_of(weights)
    assert old.read_bytes() == before
    learn_weights(["--use", str(apart), "--weights", str(weights)], heard.append)
    assert kept_of(weights) == [old]  # the same weights once more replace nothing


@pytest.mark.parametrize("name", ["weights.txt", "weights.old", "100%d, [mine].txt"])
def test_all_weights_that_were_ever_replaced_are_kept_listed_and_brought_back(weights, monkeypatch, capsys, name):
    file, new, contents = weights.rename(weights.with_name(name)), weights.with_name("new.txt"), list[bytes]()
    undated = file.with_suffix(".old")
    if undated != file:
        save(undated, one_phase() * 0.5)  # as an older Merino kept them
        os.utime(undated, (1e9, 1e9))
        contents.append(undated.read_bytes())
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(file))
    file.chmod(0o600)
    for step in (3, 4, 5):  # within a second
        contents.append(file.read_bytes())
        save(new, one_phase() / step)
        assert learn_weights(["--use", str(new)], lambda line: None) == file
    kept = kept_of(file)
    assert {path.stat().st_mode for path in kept[:3]} == {file.stat().st_mode}, "nobody else may read them now"
    assert [path.read_bytes() for path in reversed(kept)] == contents and len(set(contents)) == len(contents)
    assert main(["weights"]) == 0
    listed = re.findall(r"^  (\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d  (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert [Path(path) for _, path in listed] == kept
    assert len({day for day, _ in listed}) <= 3 and (undated == file or listed[-1][0] == "2001-09-09")
    before = file.read_bytes()
    for path, content in zip(kept, reversed(contents), strict=True):
        assert learn_weights(["--use", str(path)], lambda line: None) == file and file.read_bytes() == content
    assert kept_of(file)[len(contents) - 1].read_bytes() == before and kept_of(file)[-len(kept) :] == kept


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
def test_what_cannot_be_put_in_use_is_refused(weights, heard, words, reason):
    before = weights.read_bytes()
    with pytest.raises(errors.MerinoError, match=reason):
        learn_weights([word.format(weights=weights) for word in words], heard.append)
    assert weights.read_bytes() == before


def test_a_file_in_the_place_of_new_weights_is_not_overwritten(weights, heard):
    apart = weights.with_name("weights.new.txt")
    apart.write_text("my diary\n")
    with pytest.raises(errors.MerinoError, match=r"weights\.new\.txt' is in the way"):
        learned(weights, heard)
    assert apart.read_text() == "my diary\n"


def test_json_states_the_verdict(weights, heard, capsys):
    learned(weights, heard, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["in_use"], found["match"]["games"]) == ("undecided", False, 2)
    assert found["written"] == str(weights.with_name("weights.new.txt"))


def test_the_old_file_is_kept_to_the_byte_and_comments_stay(weights, heard):
    before = weights.read_bytes()
    learned(weights, heard, "--no-match", "--verbose")
    assert kept_of(weights)[0].read_bytes() == before
    lines = weights.read_bytes().decode().split("\r\n")
    assert lines[0].startswith(f"# {LEARNED} ") and lines[3] == f"# {weights_files.EARLIER}"
    assert lines[4:6] == [COMMENTS[0], ""] and lines[-2:] == [COMMENTS[2], ""]
    names = [line.split()[0] for line in before.decode().split("\r\n")[2:-2]]
    assert [line.split()[0] for line in lines[6:-2]] == names
    queen = next(line for line in lines if line.startswith("VAL_Q"))
    assert queen == f"VAL_Q   {load(weights)[4]:g}  # she never took mine"
    assert any(f"K = {learned_k(weights):.1f}" in line or f", {learned_k(weights):.1f} on" in line for line in heard)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there files cannot have such names")
@pytest.mark.parametrize("name", [b"a\nb 5.pgn", b"games K 12 of.pgn", b"K\xf6ln.pgn"])
def test_games_may_have_any_name_that_a_file_can_have(weights, heard, name):
    path = few_games(weights.parent).rename(weights.parent / os.fsdecode(name))
    before, start = load(weights), weights.rename(weights.with_name(f"w K 13 {path.name}.txt"))
    words = [str(path), "1", "5", "--phases", "1", "--weights", str(start), "--no-match", "--verbose"]
    assert learn_weights(words, heard.append) == start
    assert (load(start) != before).any()
    text = start.read_text()
    assert text.startswith(f"# {LEARNED} ") and f" of {in_one_line(path.name)}, starting at w K 13 " in text
    assert re.search(rf"K = {learned_k(start):.1f}|, {learned_k(start):.1f} on", "\n".join(heard))
    assert in_one_line(path.name).split("\\")[0] in (weights.parent / "learning.log").read_text()
    assert judging.load_record(weights.parent / "learning.json")["files"] == [str(sealed.writable(str(path)))]


def test_where_weights_come_from_is_stated_once_however_often_they_are_learned(weights):
    values = load(weights)
    for number, end in enumerate(("\r\n", "\n")):
        weights.write_bytes(weights.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", end.encode()))
        header = [f"{LEARNED} 2026-01-0{number + 1} 10:00 from 9 games of a.pgn", f"terms 1..5, K {number + 150}.0"]
        for _ in range(2):
            text = weights_files.learned_text(weights, values, [*header, "validation error 0.1 -> 0.0"])
            weights.write_bytes(text.encode())
        assert [text.count(each) for each in (LEARNED, "# terms 1..5", "validation", weights_files.EARLIER)] == [1] * 4
        assert learned_k(weights) == number + 150
        assert COMMENTS[0] in text


def test_the_comments_on_shipped_values_are_not_kept_for_new_values():
    text = weights_files.learned_text(DEFAULT_FILE, one_phase() + 1, [f"{LEARNED} now"])
    assert [line for line in text.splitlines() if line.startswith("#")] == [f"# {LEARNED} now"]


def test_only_values_that_change_are_rewritten():
    values = {term.name: float(max(term.bounds[0], 7)) if term.bounds[1] > 7 else -7.0 for term in registry.TERMS}
    text = "\ufeff\n  # top\n" + "".join(f" {name}\t{value:.3f}  #{name}\n" for name, value in values.items())
    new = np.array(list(values.values()))
    assert rewrite(text, new, []) == text
    new[3] += 0.5
    new[5] = -0.0
    changed = rewrite(text, new, ["K 5"])
    assert changed.startswith("\ufeff# K 5\n\n  # top\n")
    assert (parse(changed.removeprefix("\ufeff"), "") == new).all()
    assert f" {registry.TERMS[3].name}\t{new[3]:g}  #{registry.TERMS[3].name}\n" in changed
    assert f" {registry.TERMS[5].name}\t0  #" in changed
    assert changed.count(".000") == len(registry.TERMS) - 2


@pytest.mark.parametrize(("elo", "least", "most"), [(-30, 0, 0.01), (-5, 0, 0.08), (25, 0.9, 1), (60, 0.99, 1)])
def test_mostly_stronger_weights_pass(monkeypatch, elo, least, most):
    monkeypatch.setattr(simulated_matches, "MAX_PAIRS", GAIN.most_games // 2)
    pairs = simulated_matches.shares_for((21, 44, 84, 44, 21), elo, statistics.Model.LOGISTIC)  # at these nodes
    found = simulated_matches.simulate_test(GAIN.test, pairs, 300, np.random.default_rng(4))
    assert least <= found.accepted / 300 <= most
    assert elo > -5 or 1 - (found.accepted + found.undecided) / 300 >= 0.8
