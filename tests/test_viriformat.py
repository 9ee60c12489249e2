"""Games in viriformat: the specification's example byte by byte, every legal game there and back, and faults named."""

import bz2
import dataclasses
import gzip
import json
import lzma
import random
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.formats import packed_files, pgn_games, pgn_tokens
from merino.formats.packed import PACKED, Filter, PackedError
from merino.formats.scored_games import ScoredGames, as_viriformat, games_in, packed_of, scaled, scored_games
from tests import boards

# the example of the specification, without the checksum that Merino adds
EXAMPLE = bytes.fromhex(
    "ffff00000000ffff"
    "16422561000000008888 88889ecaade9"
    "40000100000002"
    "00"
    "0c070a00"
    "34091400"
    "c309e2ff"
    "3c0dff7f"
    "2709ff7f"
    "00000000".replace(" ", "")
)
MATE = """[Result "1-0"]

1. e4 { +0.10/9 } e5 { -0.20/9 } 2. Qh5 { -0.30/9 } Ke7 3. Qxe5# 1-0

"""
ODD = """[Result "0-1"]
[Variant "Chess960"]
[FEN "1rk2rn1/pppppPpp/8/8/3p4/8/PPP1P1PP/1RK2R2 w FBfb - 7 20"]

20. O-O { +0.10/9 } O-O-O { +0.40/9 } 21. e4 { [%eval -1.5] } dxe3 { +0.7/9 } 22. fxg8=N { +1/3 } Rxg8 { -M5/9 } 0-1

"""


def games_of(text: str) -> ScoredGames:
    return scored_games(pgn_games.read_games(text.encode()))


def random_game(seed: int) -> chess.pgn.Game:
    """A finished game of random moves with random scores."""
    rng, game = random.Random(seed), chess.pgn.Game()
    board, node = game.board(), game
    for move in boards.random_game(rng, board, rng.randrange(1, 160)):
        scored = rng.random() < 0.9
        node = node.add_variation(move, comment=f"{rng.randrange(-3000, 3000) / 100:+.2f}/5" if scored else "")
    game.headers["Result"] = rng.choice(["1-0", "0-1", "1/2-1/2"])
    return game


def random_text(count: int) -> str:
    return "\n\n".join(str(random_game(seed)) for seed in range(count)) + "\n"


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    """A PGN of some random games."""
    path = tmp_path / "g.pgn"
    path.write_text(random_text(20))
    return path


def test_the_example_of_the_specification_is_written_and_read():
    written = bytearray(as_viriformat(games_of(MATE)))
    assert 1 <= written[31] <= 255
    written[31] = 0
    assert bytes(written) == EXAMPLE
    games, none = games_in(EXAMPLE), pgn_tokens.NO_SCORE
    assert (games.scores.tolist(), games.results.tolist()) == ([10, 20, -30, none, none], [2])


SAME_MEN = '[Result "1-0"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 {}"]\n\n{} 1-0\n\n'


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("", 120, id="random"),
        pytest.param(ODD, 1, id="castling, en passant and promotion of Chess960"),
        pytest.param(
            SAME_MEN.format("w - - 0 1", "1. e4 { +0.10/9 } Kd7")
            + SAME_MEN.format("b - - 5 9", "9... Kd7 { +0.10/9 } 10. e4"),
            2,
            id="the same men with other sides to move and clocks",
        ),
    ],
)
def test_games_come_back_as_they_were_written(text, count):
    games = games_of(text or random_text(count))
    again = games_in(as_viriformat(games))
    assert len(games) == count
    for field in dataclasses.fields(ScoredGames):
        assert np.array_equal(getattr(games, field.name), getattr(again, field.name)), field.name


def test_records_of_other_programs_are_skipped():
    extension = bytes(8) + b"\7\0" + b"\5\0" + b"abcde" + bytes(4)
    long = bytes(8) + b"\7\0" + (300).to_bytes(2, "little") + b"x" * 300 + bytes(4)
    games = games_of(MATE)
    content = extension + as_viriformat(games) + long + as_viriformat(games) + extension
    assert games_in(content).numbers.tolist() == [0, 1]


@pytest.mark.parametrize("clocks", [(0, 1), (255, 255), (256, 65_535), (300, 65_536), (1000, 99_999)])
def test_clocks_beyond_their_field_are_its_last_value(clocks):
    games = games_of(SAME_MEN.format(f"b - - {min(clocks[0], 99)} 9", "9... Kd7 { +0.10/9 } 10. e4"))
    games.starts["halfmove"], games.starts["fullmove"] = clocks
    start = games_in(as_viriformat(games)).starts[0]
    assert (int(start["halfmove"]), int(start["fullmove"])) == (min(clocks[0], 255), min(clocks[1], 65_535))


def test_damage_of_one_game_of_two_is_reported():
    content = as_viriformat(games_of(MATE + MATE))
    with pytest.raises(PackedError, match="game 1 was damaged after it was written"):
        games_in(content[:34] + b"\x0b" + content[35:])


def test_positions_of_a_file_of_games_are_those_of_its_pgn(tmp_path):
    pgn, games = tmp_path / "g.pgn", tmp_path / "g.vf"
    pgn.write_text(random_text(40) + ODD)
    assert main(["positions", str(pgn), "--out", str(games), "--quiet"]) == 0
    assert games.stat().st_size < pgn.stat().st_size / 3
    for chosen in (Filter(), Filter(noisy=True), Filter(most=500)):
        ours, theirs = (np.concatenate(list(packed_files.packed_positions(path, chosen))) for path in (games, pgn))
        assert len(ours) and ours.tobytes() == theirs.tobytes()


def test_files_are_recognised_by_content_and_not_by_name(tmp_path, shell):
    pgn, games, renamed = tmp_path / "g.pgn", tmp_path / "g.vf", tmp_path / "games.bin"
    pgn.write_text(MATE + ODD)
    assert "2 games with 11 positions are in" in shell("positions", pgn, "--out", games)
    renamed.write_bytes(games.read_bytes())
    assert shell("positions", renamed, "--json", "--noisy")["positions"] == 8


def test_large_files_are_read_piece_by_piece(tmp_path, monkeypatch):
    games, path = games_of(random_text(60)), tmp_path / "g.vf"
    with packed_files.writing_positions(path) as written:
        written.add(games)
    monkeypatch.setattr("merino.formats.scored_games.CHUNK", 997)
    parts = list(packed_files.games_with_scores(path))
    assert len(parts) > 5 and np.concatenate([part.numbers for part in parts]).tolist() == list(range(len(games)))
    whole = np.concatenate([packed_of(part, Filter()) for part in parts])
    assert whole.tobytes() == packed_of(games, Filter()).tobytes()


def test_the_longest_games_of_the_rules_are_read_in_pieces(tmp_path, monkeypatch):
    moves = games_of('[Result "1/2-1/2"]\n\n1. Nf3 Nf6 2. Ng1 Ng8 1/2-1/2\n').moves

    def game(plies: int) -> ScoredGames:
        one = games_of('[Result "1/2-1/2"]\n\n1. Nf3 1/2-1/2\n')
        firsts, scores = np.array([0, plies]), np.zeros(plies, dtype=np.int16)
        return dataclasses.replace(one, firsts=firsts, moves=np.resize(moves, plies), scores=scores)

    path = tmp_path / "long.vf"
    with packed_files.writing_positions(path) as written:
        written.add(game(17_697))
    monkeypatch.setattr("merino.formats.scored_games.CHUNK", 40_000)
    assert sum(len(part.moves) for part in packed_files.games_with_scores(path)) == 17_697
    longer = pytest.raises(PackedError, match="game 1 is longer than games in viriformat are")
    with longer, packed_files.writing_positions(path) as written:
        written.add(game(65_530))
    assert sum(len(part.moves) for part in packed_files.games_with_scores(path)) == 17_697


def test_the_longest_record_of_another_program_may_lie_in_two_parts():
    record = bytes(8) + b"\1\0\xff\xff" + bytes(4) + b"x" * 65_535
    assert len(games_in(record[:-1])) == 0
    assert len(games_in(record + EXAMPLE)) == 1


def test_games_kept_apart_are_other_games(tmp_path):
    pgn, one, other = tmp_path / "g.pgn", tmp_path / "a.vf", tmp_path / "b.vf"
    pgn.write_text(random_text(60))
    assert main(["positions", str(pgn), "--out", str(one), "--split", "0.3", str(other), "--quiet"]) == 0
    counts = [len(games_in(path.read_bytes())) for path in (one, other)]
    games = games_of(pgn.read_text())
    scored = [(own != pgn_tokens.NO_SCORE).any() for own in np.split(games.scores, games.firsts[1:-1])]
    assert min(counts) > 5 and sum(counts) == sum(scored)


def test_games_and_positions_are_not_made_of_each_other(tmp_path, pgn, shell):
    one, other = tmp_path / "a.vf", tmp_path / "b.bin"
    for first, second in ((one, other), (other, one)):
        assert main(["positions", str(pgn), "--out", str(first), "--split", "0.3", str(second), "--quiet"]) == 2
    assert not one.exists() and not other.exists()
    unscored, packed = tmp_path / "unscored.pgn", tmp_path / "g.bin"
    unscored.write_text('[Result "1-0"]\n\n1. e4 e5 2. Nf3 1-0\n\n', encoding="utf-8")
    assert main(["positions", str(pgn), "--out", str(packed), "--quiet"]) == 0
    for source, fault in ((unscored, "holds no game with scores and a result"), (packed, "no games can be made")):
        assert fault in shell("positions", source, "--out", one, "--quiet", status=1) and not one.exists()


def test_what_was_written_is_reported_as_json(tmp_path, pgn, capsys):
    one, other, all_ = (tmp_path / name for name in ("a.vf", "b.vf", "c.bin"))
    words = ["positions", str(pgn), "--quiet", "--json", "--out"]
    assert main([*words, str(one), "--split", "0.3", str(other)]) == main([*words, str(all_)]) == 0
    games, positions = map(json.loads, capsys.readouterr().out.splitlines())
    kept = [games_in(path.read_bytes()) for path in (one, other)]
    wanted = [
        {"file": str(path), "positions": len(found.moves), "games": len(found)}
        for path, found in zip((one, other), kept, strict=True)
    ]
    assert games.pop("left_out")[-1]["why"] == "without a score" and games.pop("remarks") == []
    assert games == {"files": wanted}
    del positions["left_out"], positions["remarks"]
    assert positions == {"files": [{"file": str(all_), "positions": all_.stat().st_size // PACKED.itemsize}]}


@pytest.mark.parametrize(("factor", "of_forty"), [(2, 80), (0.5, 20), (-1000, -pgn_tokens.MAX_SCORE)])
def test_a_score_on_another_scale_is_still_a_score_and_a_mate_the_same_mate(factor, of_forty):
    most = pgn_tokens.MAX_SCORE
    stay = [pgn_tokens.NO_SCORE, most + 1, -most - 1, 32_767, -32_767]
    found = scaled(np.array([*stay, most, 40], dtype=np.int16), factor)
    assert found.tolist() == [*stay, round(max(-most, min(factor * most, most))), of_forty]


def test_scores_of_games_are_brought_to_another_scale(tmp_path, pgn):
    one, other = tmp_path / "a.vf", tmp_path / "b.vf"
    assert main(["positions", str(pgn), "--out", str(one), "--quiet"]) == 0
    assert main(["positions", str(one), "--out", str(other), "--scale", "2", "--quiet"]) == 0
    before, after = (games_in(path.read_bytes()) for path in (one, other))
    unscored = before.scores == pgn_tokens.NO_SCORE
    doubled = 2 * before.scores.astype(np.int32)
    assert unscored.any() and np.array_equal(after.scores, np.where(unscored, pgn_tokens.NO_SCORE, doubled))
    assert np.array_equal(after.moves, before.moves)


def test_games_learned_from_themselves_are_what_selfplay_writes(tmp_path):
    order = ["selfplay", "6", "--nodes", "200", "--seed", "3", "--pgn", str(tmp_path / "g.pgn"), "--quiet"]
    path = tmp_path / "g.vf"
    assert main([*order, "--positions", str(path)]) == 0
    games = games_in(path.read_bytes())
    lengths = np.array([game.end().ply() for game in boards.games_in(tmp_path / "g.pgn")])
    assert len(games) == 6 and (np.diff(games.firsts) > 0).all()
    assert set(lengths - np.diff(games.firsts)) <= set(range(17))  # without the random moves of the opening
    assert (games.scores != pgn_tokens.NO_SCORE).all()
    path.write_bytes(path.read_bytes()[:-4])
    assert main([*order, "--positions", str(path)]) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content[:-6], "the end of game 3 is missing"),
        (lambda content: content[:88] + b"\x0c\x02" + content[90:], "game 2: move 1, e2a2, is not legal"),
        (lambda content: content[: 56 + 30] + b"\3" + content[56 + 31 :], "game 2: its result is not 0, 1 or 2"),
        (lambda content: content[: 56 + 8] + b"\x77" + content[56 + 9 :], "game 2: it has an unknown piece"),
        (lambda content: b"", "is empty"),
        (lambda content: b"\1" * 300_000, "game 1 is longer than games are"),
    ],
)
def test_a_damaged_file_is_refused_with_the_game(change, words, tmp_path):
    content = as_viriformat(games_of(MATE + MATE + MATE))
    assert len(content) == 3 * 56
    path = tmp_path / "faulty.vf"
    path.write_bytes(change(content))
    with pytest.raises(PackedError, match=words) as caught:
        list(packed_files.packed_positions(path, Filter()))
    assert "faulty.vf" in str(caught.value)


@pytest.mark.parametrize("option", [["--shuffle"], ["--noisy"], ["--max-score", "100"]])
def test_options_that_choose_positions_are_refused_for_whole_games(option, tmp_path, pgn):
    assert main(["positions", str(pgn), "--out", str(tmp_path / "g.vf"), *option]) == 2
    assert not (tmp_path / "g.vf").exists()


@pytest.mark.parametrize("ending", [".vf.gz", ".vf.bz2", ".vf.xz", ".bin.gz", ".txt.xz"])
def test_a_compressed_file_is_written_compressed_and_read_back(ending, tmp_path):
    games, plain = tmp_path / "games.pgn", tmp_path / f"plain{Path(ending).stem}"
    games.write_text((MATE + ODD) * 20, encoding="utf-8")
    written = [tmp_path / f"one{ending}", tmp_path / f"two{ending}", plain]
    for path in written:
        assert main(["positions", str(games), "--out", str(path), "--quiet"]) == 0
    first, second, uncompressed = (path.read_bytes() for path in written)
    assert first == second and len(first) < len(uncompressed)
    assert {".gz": gzip, ".bz2": bz2, ".xz": lzma}[written[0].suffix].decompress(first) == uncompressed
    read, known = (
        np.concatenate(list(packed_files.packed_positions(path, Filter(noisy=True)))) for path in (written[0], plain)
    )
    assert len(read) > 20 and read.tobytes() == known.tobytes()
