"""What `learn` reads: streams of games and labelled positions, compressed or not, and the `.fen` files it keeps."""

import bz2
import gzip
import io
import lzma
import mmap
import os
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merino.app.console.learning import carry_out, read_arguments, shown
from merino.core.board.fen import parse_fen, to_fen
from merino.core.common import sealed, terminal
from merino.eval.linear import compiled, weights
from merino.formats import labelled, pgn_games, sources
from merino.formats.sources import SourceError, count_lines, find_files, open_source
from merino.learn import reading, request
from merino.learn.positions import PositionBlock, Rows, RowStore, block_of_games, select_quiet
from tests.full_disk import FullDisk
from tests.pipes import pipe_with
from tests.rows import SELFPLAY, copied_selfplay, labels_of, made_up_rows, rows_of, some_games

READING = reading.ReadOptions(request.Selection(), weights.defaults())
KEEPING = replace(READING, keep_fen=True)
ZST = b"\x28\xb5\x2f\xfd" + bytes(60)  # what Zstandard begins with
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"


def read(*paths: Path, options: reading.ReadOptions = READING) -> tuple[Rows, int, list[str], dict[str, list[str]]]:
    lines: list[str] = []
    found = reading.read_rows(paths, options, request.Events(lines.append))
    left_out = {row["why"]: [row["count"], *row["first"]] for row in found.left_out.as_json()["left_out"]}
    return found.rows, found.games, lines, left_out


def assert_equal(found: Rows, expected: Rows) -> None:
    assert (found.features == expected.features).all()
    assert (found.to_end == expected.to_end).all()
    assert (labels_of(found) == labels_of(expected)).all()


def is_mapped(array: np.ndarray) -> bool:
    """Whether the rows lie in a file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(getattr(base, "obj", base), mmap.mmap)


def test_rows_for_which_the_disk_has_no_room_are_an_error_that_names_the_folder(monkeypatch):
    rows = made_up_rows(weights.defaults()[: compiled.NUMBER_OF_TERMS], 200.0, 5000, seed=1)
    monkeypatch.setattr(sealed.tempfile, "TemporaryFile", lambda **_: FullDisk(100_000))
    store = RowStore(most_in_memory=1500)
    with pytest.raises(OSError, match="No space left on device: '/"):
        for first in range(0, 5000, 1000):
            store.add(some_games(rows, np.arange(first // 5, first // 5 + 200)))


@pytest.fixture(scope="module")
def expected() -> Rows:
    return rows_of(pgn_games.read_games(SELFPLAY.read_bytes()))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK", 3000)
    monkeypatch.setattr(sources, "_SNIFFED", 500)


def test_a_file_read_in_pieces_gives_the_rows_of_the_whole(small_pieces, expected, tmp_path):
    rows, games, lines, faults = read(copied_selfplay(tmp_path))
    assert_equal(rows, expected)
    assert (rows.game == expected.game).all()
    assert games == 710 and not faults
    assert lines[-1] == f"selfplay.pgn: 710 games, {len(expected)} positions"


NASTY = (
    ['1. e4 {a comment\n[Event "in it"]\nthat goes on} e5 2. Nf3 1-0'] * 3
    + ["1. e4 {never closed 1-0"]
    + ["1. d4 (1. e4 {never} e5 d5 1/2-1/2", "1. e4 e5 2. Qxe5 0-1", "1. e4 ; {no comment\n e5 *", "1. c4 c5 {x} 0-1"]
)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("chunk", [40, 300])
def test_pieces_never_change_what_is_read(tmp_path, monkeypatch, newline, chunk):
    monkeypatch.setattr(sources, "CHUNK", chunk)
    monkeypatch.setattr(sources, "_SNIFFED", 10)
    draw = random.Random(chunk)
    text = "\n\n".join(f'[Event "{number}"]\n\n{draw.choice(NASTY)}' for number in range(120)) + "\n"
    data = text.replace("\n", newline).encode()
    (tmp_path / "nasty.pgn").write_bytes(data)
    whole = pgn_games.read_games(data)
    rows, games, lines, left_out = read(tmp_path / "nasty.pgn")
    assert_equal(rows, rows_of(whole))
    faults = [str(fault) for fault in whole.faults()]
    assert left_out[sources.UNREADABLE] == [len(faults), *faults[: sources.SHOWN_PLACES]]
    unused = {name: row[0] for name, row in left_out.items()}
    assert lines[0].startswith(f"nasty.pgn: {len(whole) + unused.get(sources.NO_MOVES, 0)} games")
    assert len(faults) > 10 and games == len(whole) - len(faults) - unused[sources.NO_RESULT]


def quick_xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


def zstandard(data: bytes) -> bytes:
    return bytes(pytest.importorskip("backports.zstd").compress(data))


@pytest.mark.parametrize(
    ("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", quick_xz), ("zst", zstandard)]
)
def test_compressed_files_are_read(tmp_path, ending, compress, expected):
    path = tmp_path / f"games.pgn.{ending}"
    data = compress(SELFPLAY.read_bytes())
    path.write_bytes(data)
    assert_equal(read(path)[0], expected)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(SourceError, match=f"cannot read .*games.pgn.{ending}"):
        read(path)
    path.write_bytes(b"not compressed at all")
    with pytest.raises(SourceError, match=f"cannot read .*games.pgn.{ending}"):
        read(path)


@pytest.mark.parametrize(
    ("kind", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", quick_xz), ("zst", lambda _: ZST)]
)
def test_a_compressed_file_is_called_that(tmp_path, kind, compress):
    path = tmp_path / "games.pgn"
    path.write_bytes(compress(SELFPLAY.read_bytes()))
    with pytest.raises(SourceError, match=rf"games\.pgn' is compressed: let its name end in \.{kind}"):
        read(path)
    path.write_bytes(compress(b"")[:4] + bytes(range(60)))  # packed positions may begin so
    if kind != "zst":
        with open_source(path) as source:
            assert len(source.head) == len(path.read_bytes())


def test_zstandard_without_its_module_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_zstd", lambda: None)
    (tmp_path / "games.pgn.zst").write_bytes(b"whatever")
    with pytest.raises(SourceError, match=r"games.pgn.zst' needs the extra 'zstd': .*\[zstd\]'"):
        read(tmp_path / "games.pgn.zst")
    out = tmp_path / "positions.bin.zst"
    with (
        pytest.raises(SourceError, match=f"^'{re.escape(str(out))}' needs the extra 'zstd'"),
        sources.writing_source(out),
    ):
        pass
    assert not out.exists()


def test_files_are_found_by_name_by_pattern_and_without_ending(tmp_path):
    for name in ("a.pgn", "b.pgn", "b.2.pgn"):
        (tmp_path / name).touch()
    found = find_files([f"{tmp_path}/*.pgn", f"{tmp_path}/a.pgn"])
    assert [path.name for path in found] == ["a.pgn", "b.2.pgn", "b.pgn"]
    assert [path.name for path in find_files([f"{tmp_path}/a", f"{tmp_path}/b.2"])] == ["a.pgn", "b.2.pgn"]
    with pytest.raises(SourceError, match="there is no file"):
        find_files([f"{tmp_path}/c"])


def test_a_file_that_is_named_in_several_ways_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.pgn").write_bytes(b"")
    Path("link.pgn").symlink_to("a.pgn")
    assert find_files(["a.pgn", f"{tmp_path}/a.pgn", "../" + tmp_path.name + "/a.pgn", "*.pgn"]) == [Path("a.pgn")]


def test_a_fen_file_holds_the_rows_of_its_games(tmp_path, expected):
    pgn = tmp_path / "games.pgn"
    pgn.write_bytes(SELFPLAY.read_bytes() + b"\n1. e4 e5 2. Ke3 1-0\n")
    rows, games, lines, left_out = read(pgn, options=KEEPING)
    assert lines[0] == f"Creating file '{tmp_path / 'games.fen'}'" and left_out[sources.UNREADABLE][0] == 1
    first, *written, last = (tmp_path / "games.fen").read_text().splitlines()
    assert first.startswith("#") and last.startswith("#") and len(written) == len(rows) == len(expected)
    assert re.fullmatch(r'\S+ [wb] .* \d+ \d+ c9 "(1-0|0-1|1/2-1/2)"; c8 "\d+"; c7 "710";', written[-1])
    again, games_again, lines, _ = read(pgn, options=KEEPING)
    assert lines[0].startswith("Using file") and games == games_again == 710
    assert_equal(again, expected)
    assert_equal(read(tmp_path / "games.fen")[0], expected)


@pytest.mark.parametrize("change", ["file", "settings", "weights", "cut short", "another program's"])
def test_a_fen_file_of_something_else_is_not_used(tmp_path, change):
    pgn, fen, keep = tmp_path / "games.pgn", tmp_path / "games.fen", KEEPING
    pgn.write_bytes(SELFPLAY.read_bytes()[:50_000])
    keep = replace(KEEPING, selection=request.Selection(request.Quiet.ONLY)) if change == "weights" else KEEPING
    read(pgn, options=keep)
    if change == "file":
        pgn.write_bytes(SELFPLAY.read_bytes()[:40_000])
    elif change == "weights":
        keep = replace(keep, weights=weights.defaults() * 0.9)
    elif change == "settings":
        keep = replace(keep, selection=request.Selection(per_game=8))
    elif change == "cut short":
        fen.write_bytes(fen.read_bytes()[:-20])
    else:
        fen.write_text(f"{START} [0.5]\n")
        with pytest.raises(request.LearnError, match=r"games\.fen' is in the way.*--no-cache learns without it"):
            read(pgn, options=keep)
        return
    before = fen.read_bytes()
    rows, _, lines, _ = read(pgn, options=keep)
    assert fen.read_bytes() != before and lines[0] == f"Creating file '{fen}' again"
    assert_equal(rows, read(pgn, options=replace(keep, keep_fen=False))[0])


def test_a_fen_file_keeps_positions_that_end_in_check(tmp_path):
    path, check = tmp_path / "kept.fen", "4k3/8/8/8/8/8/4r3/4K3 w - - 0 1"
    path.write_text(
        f'# merino-positions 2; made from something\n{START} c9 "1-0"; c7 "1";\n{check} c9 "0-1"; c7 "2";\n'
    )
    assert len(read(path)[0]) == 2
    path.write_text(path.read_text().split("\n", 1)[1])
    assert len(read(path)[0]) == 1


@pytest.mark.parametrize("words", [["--preset", "greko2015"], ["--teacher", "off"], []])
def test_a_run_by_the_fen_file_learns_the_same_weights(tmp_path, words):
    said, start = list[str](), str(weights.SHIPPED / "greko2015-before-training.txt")
    more = ["--no-match", "--weights", start, "--out", str(tmp_path / "w.txt")]
    args = read_arguments([str(copied_selfplay(tmp_path)), *more, *words])
    wanted = replace(args.request, keep_fen=True, selection=replace(args.request.selection, per_game=3))
    one, two = (carry_out(replace(args, request=wanted), said.append).summary for _ in range(2))
    assert sum(line.startswith(("Creating file", "Using file")) for line in said) == 2
    assert one and two and one.weights == two.weights and one.games == two.games


def test_a_game_of_tens_of_thousands_of_plies_is_read(tmp_path):
    shuffling, path = "Nf3 Nf6 Ng1 Ng8 ", tmp_path / "long.pgn"
    path.write_text(f'[Result "1-0"]\n\n{shuffling * 9000} 1-0\n\n')
    rows, *_ = read(path)
    assert len(rows) == 36_000 and (rows.to_end.min(), rows.to_end.max()) == (0, 32_767)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (f'{START} c9 "1-0";', 1),
        (f'{START} c9 "1/2-1/2"; c8 "7"; c7 "a:1";', 0.5),
        (f'{START} c7 "1-0:3"; c9 "0-1";', 0),
        (f'{START} c9 "0.5";', 0.5),
        (f"{START} 0 1 [1.0]", 1),
        (f"{START} 0 1 [0.5] 33", 0.5),
        (f"{START} 0 1 [0.0]", 0),
        (f"{START} 0 1;1-0", 1),
        (f"{START};0-1", 0),
        (f'{START} 0 1 "1/2-1/2"', 0.5),
        (f"{START} 0 1 0-1", 0),
        (f"{START} 0 1 | 1.0", 1),
        (f"{START} 0 1 | 35 | 0.5", 0.5),
        (f"1 {START} 0 1", 1),
        (f"= {START} 0 1", 0.5),
        (f"0 {START} 0 1", 0),
        (f"{START} 0 1 [0.73]", 0.73),
    ],
)
def test_results_are_read_in_the_usual_forms(line, result):
    read = labelled.read_labelled(line.encode())
    assert not read.faults and read.results.tolist() == pytest.approx([result])
    assert (read.games[0] != 0) == ("c7" in line)
    assert read.to_end[0] == (7 if "c8" in line else -1)


UNREAD = [
    ("[0,5]", "0,5", "result"),
    ('c9 "0,5";', "0,5", "result"),
    ("| 35 | 0,5", "0,5", "result"),
    ("| 0.5e0", "0.5e0", "result"),
    ("[50%]", "50%", "result"),
    ("[\u00bd]", "\u00bd", "result"),
    ("[.]", ".", "result"),
    ("[1.0] 3,5", "3,5", "score"),
    ("[1.0] +0.35", "+0.35", "score"),
    ("| 35cp | 1.0", "35cp", "score"),
    ("| 0.35 | 1.0", "0.35", "score"),
    ('ce 1e2; c9 "1-0";', "1e2", "score"),
]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{START} 0 1", "no result"),
        *((f"{START} 0 1 {text}", f"'{value}' is no {kind}") for text, value, kind in UNREAD),
        (f"{START} 0 1 [35]", "no result"),
        (f'{START} bm e4; id "x";', "no result"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN w KQkq - [1.0]", "rank 1 has 7 squares"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR w KQkq - [1.0]", "0 kings"),
        (f"{START.replace(' w ', ' x ')} [1.0]", "side to move 'x'"),
        ("what is this", "4 to 6 fields"),
    ],
)
def test_a_faulty_line_is_left_out_and_reported(tmp_path, line, reason):
    path = tmp_path / "set.epd"
    path.write_text(f"# a set\n\n{START} [1.0]\r\n{line}\n4k3/8/8/8/8/8/4P3/4K3 w - - [0.5]\n")
    rows, _, lines, left_out = read(path)
    assert len(rows) == 2
    ((count, first),) = left_out.values()
    assert count == 1 and first.startswith("line 4: ") and reason in first
    assert f"set.epd: 1 line left out, unreadable: {first}" in lines


def lines_of(block: PositionBlock) -> bytes:
    return labelled.write_labelled(block.positions, block.results[block.game], block.game + 1, block.to_end)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("quiet", [request.Quiet.ANY, request.Quiet.RESOLVED])
def test_of_labelled_games_as_many_positions_are_used_however_lines_are_sorted(tmp_path, monkeypatch, quiet, in_file):
    games = pgn_games.read_games(b"[Event ".join(SELFPLAY.read_bytes().split(b"[Event ")[:151]))
    lines = lines_of(block_of_games(games)).splitlines(keepends=True)
    assert len(b"".join(lines)) > 2 * sources.CHUNK
    one, other = tmp_path / "sorted.epd", tmp_path / "shuffled.epd"
    one.write_bytes(b"".join(lines))
    random.Random(1).shuffle(lines)
    other.write_bytes(b"".join(lines))
    if in_file:
        monkeypatch.setattr("merino.learn.positions.MAX_IN_MEMORY", 20_000)
    options = reading.ReadOptions(request.Selection(positions=quiet, per_game=5), weights.defaults())
    rows, count, _, _ = read(other, one, options=options)
    assert 280 <= count <= 300 and is_mapped(rows.features) == in_file
    assert np.bincount(rows.game).max() == 5 and len(rows) > 2 * count
    halves = [np.flatnonzero((rows.game < count // 2) == first) for first in (True, False)]
    of_one, of_other = (sorted(map(bytes, rows.features[half])) for half in halves)
    assert of_one == of_other


def test_positions_without_a_game_count_as_one_each(tmp_path):
    path = tmp_path / "set.fen"
    path.write_text(f"{START} [1.0]\n{START} [1.0]\n8/8/4k3/8/8/8/4P3/4K3 w - - [0.5]\n")
    rows, games, lines, _ = read(path)
    assert games == 3 and rows.game.tolist() == [0, 1, 2] and rows.to_end.tolist() == [0, 0, 0]
    assert "name no game (c7)" in lines[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


WIPED = "\r" + " " * 23 + "\r"


@pytest.mark.parametrize(
    ("stream", "steps", "seen"),
    [
        (Terminal, [(0, 0.1), (2, 0.25), (2, 0.3)], "\rReading: 25%, 10 s left" + WIPED),
        (Terminal, [(0, None), (2, None)], "\rReading ...\r           \r"),
        (io.StringIO, [(0, 0.0), (10, 0.1), (60, 0.2)], "Reading: 20%, 4 min 00 s left\n"),
    ],
)
def test_progress_is_shown_after_a_while_and_wiped(stream, steps, seen):
    now, shown = [0.0], stream()
    with terminal.Progress(shown, lambda: now[0]) as progress:
        for now[0], done in steps:
            progress("Reading", done)
    assert shown.getvalue() == seen


def test_each_piece_of_work_begins_a_progress_of_its_own():
    now, stream = [0.0], Terminal()
    progress = terminal.Progress(stream, lambda: now[0])
    for what in ("one", "one", "other"):  # the second comes from the start again
        for done in (0.1, 0.5):
            progress(what, done)
            now[0] += 1.5
    progress.wipe()
    assert re.findall(r"(\w+): (\d+)%", stream.getvalue()) == [("one", "50"), ("one", "50"), ("other", "50")]
    assert stream.getvalue().endswith("\r")


def test_a_line_of_progress_is_wiped_before_the_next_text(tmp_path):
    now, stream = iter(range(0, 10**6, 10)), Terminal()
    (tmp_path / "a.pgn").write_bytes(SELFPLAY.read_bytes())
    with shown(lambda line: stream.write(f"{line}\n"), False, stream, lambda: float(next(now))) as events:
        reading.read_rows([tmp_path / "a.pgn"], READING, events)
    seen = stream.getvalue()
    assert "Reading a.pgn: " in seen
    assert all(seen[: found.start()].endswith(("\r", "\n")) for found in re.finditer(r"(?<!Reading )a.pgn: ", seen))


def test_a_line_that_is_rewritten_is_no_longer_than_the_terminal():
    stream = Terminal()
    line = terminal.LiveLine(stream)
    line.show("x" * 200)
    assert stream.getvalue() == "\r" + "x" * (terminal.DEFAULT_COLUMNS - 1)
    line.wipe()
    line.wipe()
    assert stream.getvalue().count("\r") == 3


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="pipes have no names here")
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, quick_xz])
def test_games_are_read_from_a_pipe(expected, pack):
    with pipe_with(pack(SELFPLAY.read_bytes())) as out:
        lines: list[str] = []
        found = reading.read_rows(find_files([f"/dev/fd/{out}"]), READING, request.Events(lines.append))
    assert found.games == 710
    assert_equal(found.rows, expected)
    assert lines == [f"{out}: 710 games, {len(found.rows)} positions"]


def test_a_hyphen_is_standard_input(monkeypatch):
    with pipe_with(SELFPLAY.read_bytes()) as out, os.fdopen(os.dup(out), encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        lines: list[str] = []
        games = reading.read_rows(find_files(["-"]), READING, request.Events(lines.append)).games
    assert games == 710
    assert lines[0].startswith("standard input: 710 games, ")


def test_standard_input_that_gives_nothing_is_refused_in_a_sentence(monkeypatch):
    for stdin, reason in ((None, "is closed"), (Terminal(), "is the keyboard here")):
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(SourceError, match=reason):
            reading.read_rows(find_files(["-"]), READING, request.Events(print))
    with pipe_with(b"") as out, os.fdopen(os.dup(out), encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        with pytest.raises(SourceError, match="no finished game with a usable position in standard input"):
            reading.read_rows(find_files(["-"]), READING, request.Events(print))


def test_lines_are_counted_however_they_end():
    assert [count_lines(text) for text in (b"a\nb\n", b"a\rb\r", b"a\r\nb\r\n", b"")] == [2, 2, 2, 0]


def block_of(*fens: str) -> PositionBlock:
    count = len(fens)
    positions = np.concatenate([parse_fen(fen) for fen in fens])
    none = np.zeros(count, np.int16)
    return PositionBlock(positions, none.astype(np.int32), none, np.array([1.0], np.float32), none)


HANGING = "4k3/8/8/3q4/8/4N3/4P3/4K3 w - - 0 1"  # the knight takes the queen
PENDING = "4k3/8/2p5/3q4/8/4N3/4P3/4K3 w - - 0 1"  # and is taken by the pawn


def test_positions_where_something_hangs_are_left_out_or_played_out():
    block = block_of(HANGING, PENDING, f"{START} 0 1")
    assert select_quiet(block.positions, weights.defaults(), request.Quiet.ANY).tolist() == [True, True, True]
    assert select_quiet(block.positions, weights.defaults(), request.Quiet.ONLY).tolist() == [False, False, True]
    assert to_fen(block.positions[:1]) == HANGING
    assert select_quiet(block.positions, weights.defaults(), request.Quiet.RESOLVED).tolist() == [True, True, True]
    ends = [to_fen(block.positions[index : index + 1]).split()[0] for index in range(3)]
    assert ends == ["4k3/8/8/3N4/8/8/4P3/4K3", "4k3/8/8/3p4/8/8/4P3/4K3", START.split(maxsplit=1)[0]]


@pytest.mark.parametrize("clock", [1, 40, 99])
def test_moves_without_capture_or_pawn_move_leave_a_position_as_quiet_as_it_is(clock):
    ahead, hanging = "4k3/8/8/8/8/4N3/4P3/4K3 b - -", HANGING.removesuffix(" 0 1")
    block = block_of(f"{ahead} {clock} 80", f"{hanging} {clock} 80")
    assert select_quiet(block.positions, weights.defaults(), request.Quiet.ONLY).tolist() == [True, False]
    assert select_quiet(block.positions, weights.defaults(), request.Quiet.RESOLVED).tolist() == [True, True]
    assert to_fen(block.positions[:1]) == f"{ahead} {clock} 80"
