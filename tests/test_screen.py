"""Measuring many changes at once: what each is worth comes out of blocks in which all were mixed."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.match.config import TimeControl
from tools import screen
from tools.screen import Block, Subject, deals, effects, kept_blocks, play, read, round_of, table

SIXTY_NODES = TimeControl(nodes=60)
TRUE_ELO = np.array([30.0, -20.0, 0.0, 10.0])


def made_up_blocks(count: int, pairs: int) -> list[Block]:
    """Blocks of games without draws in which each second value is worth TRUE_ELO."""
    random = np.random.default_rng(4)
    blocks = []
    for second in islice(deals(len(TRUE_ELO)), count):
        share = 1 / (1 + 10 ** (-np.where(second, TRUE_ELO, -TRUE_ELO).sum() / 400))
        wins = random.binomial(2, share, pairs)
        blocks.append(Block(second, np.bincount(2 * wins, minlength=5).tolist()))
    return blocks


@pytest.mark.parametrize("numbers", [1, 2, 3, 4, 63])
def test_in_a_round_every_number_meets_every_other_as_often_with_as_against_it(numbers: int):
    signs = 1 - 2 * np.array(list(islice(deals(numbers), 2 * round_of(numbers))))
    for half in (signs[: len(signs) // 2], signs[len(signs) // 2 :]):
        assert np.array_equal(half.T @ half, round_of(numbers) * np.eye(numbers))


def test_the_effects_are_found_and_their_errors_are_those_of_all_games_for_each():
    elo, error = effects(made_up_blocks(400, 24))
    assert np.abs(elo - TRUE_ELO).max() < 4 * error.max()
    alone = 1600 / np.log(10) * 0.5 / np.sqrt(2 * 400 * 24)  # a match of so many games without draws
    assert error == pytest.approx(np.full(4, alone), rel=0.03)


def test_too_few_blocks_show_nothing():
    elo, error = effects(made_up_blocks(2, 24))
    assert np.isnan(elo).all() and np.isnan(error).all()


def test_the_table_begins_with_the_surest_gain():
    rows = table({f"n{number}": (0, 1) for number in range(4)}, made_up_blocks(400, 24)).splitlines()
    assert rows[2].startswith("| `n0` | 0 | 1 | +") and rows[-1].startswith("| `n1` | 0 | 1 | -")


@pytest.mark.parametrize(
    "text", ["razor_depth = [2]", "razor_depth = [2, 2]", "razor_depth = 2", 'razor_depth = "2"', ""]
)
def test_what_compares_nothing_is_refused(text: str):
    with pytest.raises(ValueError, match=r"wanted \[first, second\]|nothing to compare"):
        read(text)


def test_a_block_is_the_match_of_the_command(capsys: pytest.CaptureFixture[str]):
    players = ("default,razor_depth=1,name=A", "default,name=B")
    block = play(players, [True], 3, games=6, control=SIXTY_NODES)
    assert main(["match", *players, "--games", "6", "--nodes", "60", "--seed", "3", "--json"]) == 0
    assert block == Block([True], json.loads(capsys.readouterr().out)["pentanomial"])


def test_blocks_played_with_other_numbers_are_refused(tmp_path: Path):
    file = tmp_path / "x.blocks.jsonl"
    text = "razor_depth = [2, 3]\nsee_depth = [7, 8]\nsingular_depth = 7\n"
    about = Subject(*read(text), TimeControl(nodes=1000)).as_json()
    assert kept_blocks(file, about) == []
    block = Block([True, False], [0, 1, 2, 1, 0])
    with file.open("a") as lines:
        lines.write(json.dumps(block._asdict()) + "\n")
    before = file.read_text()
    assert kept_blocks(file, Subject(*read(text + "# a remark\n"), TimeControl(nodes=1000)).as_json()) == [block]
    for other, nodes, changed in (
        (text.replace("3]", "4]"), 1000, "compared"),
        ("see_depth = [7, 8]\nrazor_depth = [2, 3]\nsingular_depth = 7\n", 1000, "compared"),
        (text.replace("= 7\n", "= 6\n"), 1000, "fixed"),
        (text, 2000, "nodes"),
    ):
        with pytest.raises(ValueError, match=rf"played with other numbers \({changed}\).* move that file away"):
            kept_blocks(file, Subject(*read(other), TimeControl(nodes=nodes)).as_json())
    assert file.read_text() == before
    file.write_text(json.dumps(block._asdict()) + "\n")  # without a line that says what it is about
    with pytest.raises(ValueError, match="compared, fixed, nodes"):
        kept_blocks(file, about)


def test_blocks_on_clocks_in_nodes_are_the_same_again_and_mix_with_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "clock.toml"
    file.write_text("clock_moves = [25, 60]\n")
    kept = file.with_suffix(".blocks.jsonl")
    words = [str(file), "--tc", "0.005+0.001", "--evalfile", "gen1", "--games", "2", "--rounds", "1"]
    monkeypatch.setattr("sys.argv", ["screen", *words])
    screen.main()
    assert capsys.readouterr().out.startswith("4 games")
    first = kept.read_text()
    assert '"clock": "0.005+0.001 s", "players": ["EvalFile=gen1", "nodestime=400"]' in first
    kept.unlink()
    screen.main()
    assert kept.read_text() == first
    for other in (words[:1], [*words[:3]], [*words[:2], "0.01", *words[3:]]):
        monkeypatch.setattr("sys.argv", ["screen", *other])
        with pytest.raises(SystemExit):
            screen.main()
        assert "were played with other numbers" in capsys.readouterr().err
