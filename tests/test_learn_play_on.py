"""`learn --play-on`: games that Merino plays on from the user's, and learns from."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import chess.pgn
import numpy as np
import pytest

from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import learn_weights
from merino.core.board.fen import parse_fen
from merino.core.common.command import UsageError
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.weights import as_mapping, defaults, render
from merino.learn import procedure
from merino.learn.errors import LearnError, LearnStoppedError
from merino.learn.procedure import MAX_LEAD, MAX_PLY, MIN_PLY, PLAYED, STARTS, play_on
from merino.learn.request import PLAYED_ON, Events
from merino.learn.rounds.state import RoundPlan
from tests.rows import copied_selfplay

COUNT = 6


@pytest.fixture(autouse=True)
def few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedure, "RoundPlan", partial(RoundPlan, nodes=20))


def folders(place: Path) -> list[Path]:
    return sorted(place.glob("selfplay.played-on-*"))


def played(games: Path, events: Events | None = None) -> Path:
    """The games that Merino plays on from these."""
    request = read_arguments([str(games), "--play-on", str(COUNT)]).request
    return Path(play_on(request, LinearEvaluation(defaults()), events or Events()).files[0])


def test_games_are_played_on_from_even_positions_early_in_the_games_given(tmp_path: Path) -> None:
    pgn = played(copied_selfplay(tmp_path))
    starts = (pgn.parent / STARTS).read_text().splitlines()
    assert len(starts) == COUNT // 2, "each is played with both colours"
    records = np.concatenate([parse_fen(fen) for fen in starts])
    assert (np.abs(LinearEvaluation(defaults()).white_scores(records)) <= MAX_LEAD).all()
    ply = 2 * (records["fullmove"].astype(int) - 1) + records["side"]
    assert ply.min() >= MIN_PLY and ply.max() <= MAX_PLY
    with pgn.open() as file:
        found = [game.headers["FEN"] for game in iter(lambda: chess.pgn.read_game(file), None)]
    assert len(found) == COUNT and set(found) == set(starts)


def test_the_same_command_finds_its_games_and_other_weights_play_others(tmp_path: Path) -> None:
    games = copied_selfplay(tmp_path)
    first = played(games)
    content = first.read_bytes()
    assert played(games) == first and first.read_bytes() == content
    other = LinearEvaluation(defaults() + 1)
    request = read_arguments([str(games), "--play-on", str(COUNT)]).request
    assert play_on(request, other, Events()).files != (str(first),)
    assert len(folders(tmp_path)) == 2


def test_games_that_ctrl_c_stopped_are_played_to_the_end_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games, calls = copied_selfplay(tmp_path), list[str]()
    monkeypatch.setattr("merino.match.runner.SHOW_EVERY", 0.0)

    def interrupted(line: str) -> None:
        calls.append(line)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(LearnStoppedError, match="the same command goes on"):
        played(games, Events(match_state=interrupted))
    [folder] = folders(tmp_path)
    assert 0 < (folder / PLAYED).read_text().count("[Event ") < COUNT
    assert played(games).read_text().count("[Event ") == COUNT


def test_the_command_learns_from_the_scores_of_the_games_it_played_on(tmp_path: Path) -> None:
    weights, told = tmp_path / "weights.txt", list[str]()
    weights.write_text(render(as_mapping(defaults())))
    words = ["--play-on", str(COUNT), "--weights", str(weights), "--no-match"]
    learn_weights([str(copied_selfplay(tmp_path)), *words], told.append)
    text = "\n".join(told)
    assert f"Playing {COUNT} games on from these" in text and f"Games: {COUNT}" in text
    assert f"Target: {PLAYED_ON.describe()}" in text
    assert [each.name for each in folders(tmp_path)[0].glob("*.fen")] == [], "no cache of games that are at hand"


@pytest.mark.parametrize("words", [["--rescore", "9"], ["--dry-run"]])
def test_playing_on_is_refused_where_it_has_no_place(words: list[str]) -> None:
    with pytest.raises((UsageError, SystemExit)):
        read_arguments(["a.pgn", "--play-on", "9", *words])


def test_games_without_an_even_position_cannot_be_played_on(tmp_path: Path) -> None:
    lost = tmp_path / "lost.epd"
    lost.write_text('4k3/8/8/8/8/8/8/QQ2K3 w - - c9 "1-0";\n')
    request = read_arguments([str(lost), "--play-on", "2"]).request
    with pytest.raises(LearnError, match="an even position"):
        play_on(request, LinearEvaluation(defaults()), Events())
