"""Packed positions: each as python-chess says, files of all forms read and written, and what is none refused."""

import codecs
import gzip
import random
import tracemalloc
from functools import cache
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.board.bitboard import BLACK
from merino.core.board.fen import parse_fen
from merino.core.board.game import Position
from merino.formats import openings, packed_files, pgn_games, sources
from merino.formats import packed as packs
from merino.formats.packed import PACKED, Filter, PackedError, pack, unpack, with_checks, without_checks
from merino.formats.packed_files import all_positions, is_held_out, packed_positions, shuffled, write_packed_file
from merino.formats.scored_games import scored_games
from merino.match.games import Game, Played, Reason
from merino.match.keeping import PositionFile
from tests.boards import records
from tests.test_features import boards
from tests.test_words import walked

GAME = """[Result "1-0"]

1. e4 { [%eval 0.30,9] } e5 { [%eval 0.25,9] } 2. Nf3 { +0.31/12 0.1s } Nf6 { -0.20/11 }
3. Nxe5 { [%eval 1.30,9] } Nc6 4. Nxc6 { [%eval 1.10,9] } dxc6 { [%eval 1.00,9] } 5. d3 { [%eval 31.0,9] }
Bc5 { [%eval #5,9] } 6. Qe2 { [%eval 0.90,9] } O-O { [%eval 1.00,9] } 7. h3 { [%eval -0.07,9] } 1-0

"""


def naive(board: chess.Board, score: int, result: int, game: int) -> bytes:
    """The 32 bytes of a position; score and result are White's."""
    if board.turn == chess.BLACK:
        board, score, result = board.mirror(), -score, 2 - result
    occupied, nibbles = 0, []
    for square in chess.SQUARES:
        piece = board.piece_at(square)
        if piece:
            occupied |= 1 << square
            nibbles.append(piece.piece_type - 1 + (0 if piece.color == chess.WHITE else 8))
    nibbles += [0] * (32 - len(nibbles))
    return (
        occupied.to_bytes(8, "little")
        + bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))
        + score.to_bytes(2, "little", signed=True)
        + bytes([result, board.king(chess.WHITE), board.king(chess.BLACK) ^ 56, 0])
        + game.to_bytes(2, "little")
    )


@cache
def some(count: int) -> np.ndarray:
    chosen, rng = walked(count), random.Random(3)
    scores = [rng.randrange(-3000, 3000) for _ in chosen]
    return pack(chosen, np.array(scores), np.array([rng.randrange(3) for _ in chosen]), np.arange(count) // 10)


GAME_NUMBERS = [-1, 0, 1, 254, 255, 65_533, 65_534, 65_535, 65_536, 131_069, 131_070, 131_071, 10**9]
FULL_BOARDS = [chess.STARTING_FEN, "qqqqkqqq/qq6/8/8/8/8/QQ6/QQQQKQQQ b - - 0 1"]  # more queens than the phase counts


def test_a_position_is_packed_as_the_format_says():
    for number, board in enumerate([*map(chess.Board, FULL_BOARDS), *boards(120)]):
        score, result, game = (-32_767, 32_767, 256, -257, 35)[number % 5], number % 3, GAME_NUMBERS[number % 13]
        packed = pack(parse_fen(board.fen()), np.array([score]), np.array([result]), np.array([game]))
        assert packed.tobytes() == naive(board, score, result, 0 if game < 0 else game % 65_535 + 1), board.fen()
        assert len([*packs.checked_blocks([with_checks(packed)], "p")]) == 1
        units = sum((0, 0, 1, 1, 2, 4, 0)[piece.piece_type] for piece in board.piece_map().values())
        assert packed_files.count_positions([[packed]]).phases[min(units, 24)] == 1


def test_the_numbers_of_games_begin_again_behind_their_last():
    """1 to 65535, then from 1 on; 0 for a game that is not known."""
    none = np.zeros(len(GAME_NUMBERS))
    packed = pack(np.repeat(walked(1), len(none)), none, none, np.array(GAME_NUMBERS))
    assert packed["game"].tolist() == [0 if number < 0 else number % 65_535 + 1 for number in GAME_NUMBERS]
    assert packs.as_packed(packs.as_scored(packed))["game"].tolist() == packed["game"].tolist()
    packed["game"] = range(65_535, 65_535 - len(packed), -1)
    assert packed_files.count_positions([[packed]]).games == len(packed)


def test_a_checksum_is_never_that_of_none_and_a_fault_in_a_later_block_has_its_place():
    marked = with_checks(some(2000))
    assert marked["check"].min() == 1 and marked["check"].max() == 255
    blocks = [marked[:1500].copy(), marked[1500:].copy()]
    blocks[1]["result"][7] = 3
    with pytest.raises(PackedError, match=r"\(number 1508, from byte 48224 on\)"):
        list(packs.checked_blocks(blocks, "p"))


def test_an_unpacked_position_has_its_pieces_where_they_were():
    chosen = boards(150)
    none = np.zeros(len(chosen))
    for board, record in zip(chosen, unpack(pack(records(chosen), none, none, none)), strict=True):
        seen = board if board.turn == chess.WHITE else board.mirror()
        plain = parse_fen(f"{seen.board_fen()} w - - 0 1")[0]
        for name in ("pieces", "colours", "board", "side", "key", "pawn_key", "checkers", "pinned"):
            assert np.array_equal(record[name], plain[name]), (name, board.fen())


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    path = tmp_path / "g.pgn"
    path.write_text(GAME)
    return path


def positions_file(tmp_path: Path, records_: np.ndarray) -> Path:
    path = tmp_path / "p.bin"
    path.write_bytes(records_.tobytes())
    return path


def test_of_a_game_only_quiet_positions_with_scores_are_taken(pgn):
    taken = all_positions(pgn)
    board, expected = chess.Board(), []
    scores = {0: 30, 1: 25, 2: 31, 3: 20, 10: 90, 11: 100, 12: -7}  # White's, before each of these plies
    for ply, san in enumerate(
        ["e4", "e5", "Nf3", "Nf6", "Nxe5", "Nc6", "Nxc6", "dxc6", "d3", "Bc5", "Qe2", "O-O", "h3"]
    ):
        if ply in scores:
            expected.append(naive(board, scores[ply], 2, 1))
        board.push_san(san)
    assert [record.tobytes() for record in taken] == expected
    for chosen, count in ((Filter(noisy=True), len(taken) + 3), (Filter(most=50), 5)):  # three captures have a score
        assert sum(map(len, packed_positions(pgn, chosen))) == count


@pytest.mark.parametrize("comment", ["% a program made this\n", "; some games\n\n", "{ some games }\n"])
def test_games_that_begin_with_a_comment_are_read_as_games(pgn, comment):
    plain = all_positions(pgn)
    pgn.write_text(comment + GAME)
    assert all_positions(pgn).tobytes() == plain.tobytes() != b""


def test_a_game_played_here_gives_the_positions_of_its_moves(tmp_path):
    board, moves, scores, rng = chess.Board(), [], [], random.Random(4)
    position, expected = Position(), []
    for ply in range(80):
        legal = position.legal_moves
        if not legal:
            break
        move = rng.choice(legal)
        score = rng.randrange(-4000, 4000)
        uci = chess.Move.from_uci(position.uci(move))
        is_quiet = not (board.is_check() or board.is_capture(uci) or uci.promotion)
        if ply >= 4 and abs(score) <= 3000 and is_quiet:
            expected.append(naive(board, score if board.turn else -score, 0, 8))
        moves.append(int(move))
        scores.append(score)
        position.push(move)
        board.push(uci)
    played = tuple(Played(move, score) for move, score in zip(moves, scores, strict=True))
    path = tmp_path / "g.bin"
    file = PositionFile(path, 4)
    file.add_bytes(file.bytes_of(Game(7, True, openings.Opening(), played, Reason.CHECKMATE, BLACK)))
    with file.opened():
        file.prepare()
        file.settle()
    assert [record.tobytes() for record in without_checks(all_positions(path))] == expected
    assert len(expected) > 10


@pytest.mark.parametrize("ending", [".txt", ".epd", ".bin"])
def test_what_is_written_in_any_form_is_read_again(tmp_path, ending):
    records_ = some(120)
    path = tmp_path / f"p{ending}"
    assert write_packed_file(path, [records_[:50], records_[50:]]) == 120
    read = all_positions(path)
    for name in ("occupied", "pieces", "score", "result", "king", "other_king"):
        assert np.array_equal(read[name], records_[name]), name
    if ending == ".txt":
        fen, score, result = path.read_text().splitlines()[0].split(" | ")
        assert chess.Board(fen).is_valid()
        assert (int(score), float(result)) == (records_["score"][0], records_["result"][0] / 2)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: content[:-5], "no multiple of 32"),
        (lambda content: content[:320] + bytes(32) + content[352:], "number 11, from byte 320"),
        (lambda content: content[:8] + b"\x77" + content[9:], "an unknown piece"),
        (lambda content: content[:26] + b"\x03" + content[27:], "its result is not 0, 1 or 2"),
        (lambda content: content[:27] + bytes([content[27] ^ 1]) + content[28:], "king squares"),
        (lambda content: b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(54)) * 4 + b"x" * 6, "holds no packed positions"),
    ],
)
def test_what_is_no_file_of_positions_is_refused_with_the_place(tmp_path, spoil, said):
    path = tmp_path / "p.bin"
    path.write_bytes(spoil(some(30).tobytes()))
    with pytest.raises(PackedError, match=r"p\.bin") as refused:
        list(packed_positions(path, Filter()))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("8/8/8/8/8/8/8/8 w - - 0 1 | 3 | 1.0", "White has 0 kings"),
        (f"{chess.STARTING_FEN} | x | 1.0", "no score"),
        (f"{chess.STARTING_FEN} | 9 | 0.7", "the result is not 0, 0.5 or 1"),
        (f"{chess.STARTING_FEN} | 9 | 2.0", "no result"),
        (f"{chess.STARTING_FEN} 1-0", "without a score"),
    ],
)
def test_a_faulty_line_is_left_out_and_named(tmp_path, line, said):
    path, left_out = tmp_path / "p.txt", sources.LeftOut()
    path.write_text(f"{chess.STARTING_FEN} | 35 | 0.5\n{line}\n{chess.STARTING_FEN} [0.5] 40\n")
    (found,) = packed_positions(path, Filter(), left_out=left_out)
    assert found["score"].tolist() == [35, 40]
    (row,) = left_out.as_json()["left_out"]
    assert (row["file"], row["what"], row["count"]) == ("p.txt", "line", 1)
    assert row["first"][0].startswith("line 2: ") and said in f"{row['why']} {row['first'][0]}"


def test_text_has_the_colours_of_its_games(pgn, tmp_path):
    epd, again = tmp_path / "p.epd", tmp_path / "again.txt"
    assert main(["positions", str(pgn), "--out", str(epd), "--quiet"]) == 0
    lines = epd.read_text().splitlines()
    assert {line.split()[1] for line in lines} == {"w", "b"} and all('c9 "1-0"; c7 "1"; ce' in line for line in lines)
    assert lines[1].startswith("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1 ") and "ce -25;" in lines[1]
    assert main(["positions", str(epd), "--out", str(again), "--quiet"]) == 0
    assert [line.split(" | ")[1:] for line in again.read_text().splitlines()][:2] == [["30", "1.0"], ["25", "1.0"]]
    for name in ("occupied", "pieces", "score", "result"):
        assert all(np.array_equal(all_positions(path)[name], all_positions(pgn)[name]) for path in (epd, again))


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE], ids=["no mark", "LE", "BE"])
@pytest.mark.parametrize("text", [GAME, "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 | 10 | 1.0\n" * 4], ids=["PGN", "lines"])
def test_utf_16_is_not_taken_for_packed_positions(tmp_path, shell, text, mark):
    path, net = tmp_path / "p.txt", tmp_path / "n.net"
    path.write_bytes(mark + text.encode("utf-16-be" if mark == codecs.BOM_UTF16_BE else "utf-16-le"))
    for words in (["positions", str(path)], ["train", str(path), "--out", str(net)], ["learn", str(path)]):
        assert f"merino: {words[0]}: '{path}' is UTF-16 text: save it as UTF-8" in shell(*words, status=1)


def test_packed_positions_may_begin_with_the_mark_of_utf_16(tmp_path):
    path, position = tmp_path / "p.bin", parse_fen("rnbqkbnr/1ppppppp/8/p7/P7/8/1PPPPPPP/RNBQKBNR w KQkq - 0 2")
    write_packed_file(path, [pack(position, np.array([5]), np.array([1]), np.array([0]))])
    assert path.read_bytes().startswith(codecs.BOM_UTF16_LE)
    assert len(all_positions(path)) == 1


@pytest.mark.parametrize("bucket", [10_000, 150, 40])
def test_shuffling_loses_nothing_and_is_the_same_for_a_seed(tmp_path, bucket):
    whole = some(400)
    chunks = [whole[:120], whole[120:]]
    mixed = np.concatenate(list(shuffled(chunks, tmp_path, 5, bucket)))
    assert mixed.tobytes() == np.concatenate(list(shuffled(chunks, tmp_path, 5, bucket))).tobytes() != whole.tobytes()
    assert sorted(record.tobytes() for record in mixed) == sorted(record.tobytes() for record in whole)
    assert not list(tmp_path.iterdir())


def test_games_are_kept_apart_whole():
    games = np.repeat(np.arange(1, 2001, dtype=np.uint16), 5)
    apart = is_held_out(games, 0.1)
    assert 0.05 < apart.mean() < 0.15
    assert all(len(set(apart[games == number])) == 1 for number in range(1, 200))
    assert 0.05 < is_held_out(np.zeros(1000, dtype=np.uint16), 0.1).mean() < 0.15


def test_each_part_of_a_split_has_its_share_of_games_to_validate(tmp_path):
    most, rest, parts = tmp_path / "m.bin", tmp_path / "r.bin", []
    records_ = np.repeat(some(1), 60_000)
    records_["game"] = np.arange(1, 60_001)
    path = positions_file(tmp_path, records_)
    for seed in ("1", "2"):
        words = ["positions", str(path), "--out", str(most), "--split", "0.1", str(rest), "--quiet", "--seed", seed]
        assert main(words) == 0
        parts += [np.fromfile(name, dtype=PACKED)["game"] for name in (most, rest)]
        path.write_bytes(most.read_bytes())
    sizes = [60_000, 60_000, 54_000, 54_000]
    shares = [len(part) / size for part, size in zip(parts, sizes, strict=True)]
    assert shares == pytest.approx([0.9, 0.1, 0.9, 0.1], abs=0.01)
    assert [is_held_out(part, 0.02).mean() for part in parts] == pytest.approx([0.02] * 4, abs=0.006)


def test_positions_without_games_are_split_by_their_places_in_all_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(packed_files, "AT_ONCE", 1)
    records_ = np.repeat(some(1), 400)
    records_["game"] = 0
    path, most, rest = positions_file(tmp_path, records_), tmp_path / "m.bin", tmp_path / "r.bin"
    assert main(["positions", str(path), "--out", str(most), "--split", "0.1", str(rest), "--quiet"]) == 0
    assert 20 < rest.stat().st_size // PACKED.itemsize < 60


def test_compressed_positions_are_read_and_checked_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(packed_files, "AT_ONCE", 4096)
    sizes, read = [], sources.Source.read

    def counted(source: sources.Source, size: int) -> bytes:
        sizes.append(len(found := read(source, size)))
        return found

    monkeypatch.setattr(sources.Source, "read", counted)
    whole, path = with_checks(np.repeat(some(100), 100)), tmp_path / "p.bin.gz"
    path.write_bytes(gzip.compress(whole.tobytes()))
    stream = packed_positions(path, Filter())
    first = next(stream)
    assert len(first) == 4096 and sum(sizes) == first.nbytes
    assert np.array_equal(np.concatenate([first, *stream]), whole)
    whole["score"][9000] += 1
    path.write_bytes(gzip.compress(whole.tobytes()))
    with pytest.raises(PackedError, match=r"was damaged after it was written.*number 9001,"):
        list(packed_positions(path, Filter()))
    path.write_bytes(gzip.compress(whole.tobytes()[:-5]))
    with pytest.raises(PackedError, match="end is missing: 319995 bytes"):
        list(packed_positions(path, Filter()))


def test_games_are_counted_by_their_order_or_stated_to_be_more(tmp_path, capsys):
    def reported(*numbers: list[int]) -> str:
        paths = [tmp_path / f"{index}.bin" for index in range(len(numbers))]
        for path, found in zip(paths, numbers, strict=True):
            records_ = np.repeat(some(1), len(found))
            records_["game"] = found
            path.write_bytes(records_.tobytes())
        assert main(["positions", *map(str, paths), "--quiet"]) == 0
        return capsys.readouterr().out.splitlines()[0].partition(" positions")[2].partition(",")[0]

    ten = np.repeat(np.arange(1, 11), 8).tolist()
    assert reported(ten) == " of 10 games" and reported([0] * 10) == ""
    assert reported([*ten, *ten]) == " of 20 games"  # one file behind another
    assert reported([65534, 65535, 1, 2, 2, 3, 65535, 1]) == " of at least 5 games"
    assert reported([*range(60_000, 65_536), *range(1, 60_010)]) == " of 65545 games"
    assert reported(random.Random(1).sample(ten * 10, 800)) == " of at least 10 games"
    assert reported([1] * 5, [1] * 5) == reported([1] * 5, [0] * 5, [1] * 5) == " of 2 games"


def test_the_command_shows_what_a_file_holds(tmp_path, shell):
    records_ = some(100)
    path = positions_file(tmp_path, np.concatenate([records_, records_[:7]]))
    reported = shell("positions", path, "--json")
    unique = len({record.tobytes()[:24] for record in records_})
    assert reported["positions"] == 107 and reported["games"] == 11 and reported["in_order"]
    assert reported["duplicates"] == 107 - unique
    assert reported["results"]["won"] == int((records_["result"] == 2).sum() + (records_["result"][:7] == 2).sum())
    assert sum(reported["scores"]) == sum(reported["phases"]) == sum(reported["king_squares"]) == 107
    assert "107 positions of 11 games" in shell("positions", path)


def test_the_command_brings_scores_to_another_scale(tmp_path):
    out, half = tmp_path / "o.bin", some(1000).copy()
    half["score"][:2] = 31998, -31998  # a mate stays one
    words = ["positions", str(positions_file(tmp_path, half)), "--out", str(out), "--quiet", "--scale"]
    assert main([*words, "0.5"]) == 0
    scaled = all_positions(out)
    assert scaled["score"][:2].tolist() == [31998, -31998] and scaled["score"][2:].any()
    assert np.array_equal(scaled["score"][2:], np.rint(half["score"][2:] * 0.5))
    assert np.array_equal(scaled["occupied"], half["occupied"])
    assert main([*words, "10000"]) == 0
    assert set(np.abs(all_positions(out)["score"][2:][half["score"][2:] != 0]).tolist()) <= {10000, 20000, 30000}
    assert main([*words, "0"]) == 2


@pytest.mark.parametrize("ending", ["bin", "vf"])
def test_memory_for_a_split_does_not_grow_with_the_file(tmp_path, monkeypatch, ending):
    packed = np.tile(pack(parse_fen(Position().fen()), np.array([5]), np.array([1]), np.array([0])), 10_000)
    packed["game"] = 1 + np.arange(len(packed)) // 10
    games = scored_games(pgn_games.read_games(GAME.encode() * 200))
    every, source = np.ones(len(games), dtype=bool), tmp_path / "source.pgn"
    source.write_text(GAME)
    words = ["positions", str(source), "--out", str(tmp_path / f"one.{ending}"), "--quiet"]
    words += ["--split", "0.5", str(tmp_path / f"two.{ending}")]

    def peak(chunks: int) -> int:
        monkeypatch.setattr(packed_files, "packed_positions", lambda *_, **__: (packed.copy() for _ in range(chunks)))
        monkeypatch.setattr(packed_files, "games_with_scores", lambda *_, **__: map(games.chosen, [every] * chunks))
        tracemalloc.start()
        try:
            assert main(words) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)  # which compiles
    assert peak(50) < 1.3 * peak(5)


def test_of_a_split_that_fails_neither_part_is_written(tmp_path, monkeypatch, capsys):
    lines = tmp_path / "p.txt.gz"
    lines.write_bytes(gzip.compress(b"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 | 10 | 1.0\n" * 4000)[:-9])
    monkeypatch.setattr("merino.formats.sources.CHUNK", 1000)
    one, two = tmp_path / "one.bin", tmp_path / "two.bin"
    two.write_bytes(b"before")
    assert main(["positions", str(lines), "--out", str(one), "--split", "0.5", str(two), "--quiet"]) == 1
    assert "p.txt.gz': Compressed file ended" in capsys.readouterr().err
    assert two.read_bytes() == b"before" and {path.name for path in tmp_path.iterdir()} == {"p.txt.gz", "two.bin"}


def test_the_command_converts_shuffles_and_divides(tmp_path, capsys, shell):
    records_, out, apart = some(1000), tmp_path / "o.bin", tmp_path / "a.bin"
    path = positions_file(tmp_path, records_)
    assert main(["positions", str(path), "--out", str(out), "--shuffle", "--split", "0.2", str(apart)]) == 0
    most, rest = (np.fromfile(name, dtype=PACKED) for name in (out, apart))
    assert len(most) + len(rest) == 1000
    assert not set(most["game"]) & set(rest["game"])
    assert 10 < len(set(rest["game"])) < 35
    capsys.readouterr()
    assert main(["positions", str(path), "--out", str(path)]) == 2
    assert main(["positions", str(path), "--shuffle"]) == 2
    assert "Traceback" not in shell("positions", path, "--out", out, "--split", "2", apart, status=2)
    assert path.read_bytes() == records_.tobytes()
    empty = tmp_path / "e.pgn"
    empty.write_text('[Result "1-0"]\n\n1. e4 1-0\n')
    assert "holds no position with a score" in shell("positions", empty, "--out", out, status=1)
    assert len(np.fromfile(out, dtype=PACKED)) == len(most)  # what was there is left
