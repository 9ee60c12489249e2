"""Syzygy's tables of results, read by compiled code: the same as python-chess reads in them, and no harm from bad ones.

python-chess is the other reader: its probes of files made up by lot must agree, whatever the material.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random

import chess
import chess.syzygy
import numpy as np
import pytest

from merino.core.board.fen import parse_fen
from merino.core.compiled.jit import entry
from merino.engine.search.state import new_search_record
from merino.engine.syzygy import probing, table_files
from tests.boards import placed
from tests.syzygy_files import BLESSED, CURSED, DRAWN, LOST, WON, constant_file, random_file

MATERIALS = ("KQvK", "KRvKR", "KBNvK", "KPvKP", "KBBBvK", "KPPPvK")
POSITIONS = 300


@entry
def _ask(records, positions, results, is_searched):
    for index in range(len(positions)):
        records[0].positions[0] = positions[index]
        if is_searched:
            results[index] = probing.known_result(records[0], 0, probing.LOSS, probing.WIN, 0)
        else:
            results[index] = probing.kept_result(records[0], 0)


def opened(folder: Path, **files: bytes) -> tuple[np.ndarray, table_files.ResultTables]:
    """A search record that asks these tables."""
    for name, content in files.items():
        (folder / f"{name}.rtbw").write_bytes(content)
    tables, record = table_files.ResultTables({name: folder / f"{name}.rtbw" for name in files}), new_search_record()
    tables.attach(record)
    return record, tables


def asked(record: np.ndarray, boards: list[chess.Board], is_searched: bool = True) -> list[int]:
    """What compiled code answers, with or without a search of captures."""
    results = np.zeros(len(boards), dtype=np.int64)
    _ask(record, np.concatenate([parse_fen(board.fen()) for board in boards]), results, is_searched)
    return results.tolist()


def drawn_by_lot(name: str, count: int, seed: int) -> list[chess.Board]:
    """Legal positions of this material, each second one with the colours changed."""
    draw, sides = Random(seed), name.split("v")
    return [placed(draw, *(sides if number % 2 else sides[::-1])) for number in range(count)]


@pytest.mark.parametrize("name", MATERIALS)
def test_each_position_of_a_table_has_the_value_that_python_chess_reads(name: str, tmp_path: Path) -> None:
    record, tables = opened(tmp_path, **{name: random_file(name, seed=7)})
    boards = drawn_by_lot(name, POSITIONS, seed=1)
    with chess.syzygy.open_tablebase(str(tmp_path)) as theirs:
        expected = [theirs.probe_wdl_table(board) for board in boards]
    assert asked(record, boards, is_searched=False) == expected
    assert len(set(expected)) == probing.WIN - probing.LOSS + 1 and tables.fault is None


@pytest.mark.parametrize(
    ("fen", "result"),
    [
        ("7k/8/8/8/8/8/8/K2Q3r w - - 0 1", 2),  # the queen takes
        ("7k/8/8/8/8/8/8/K2Q2r1 w - - 0 1", 2),
        ("7k/8/8/8/8/8/K2Q4/6r1 b - - 0 1", 0),  # nothing can be taken, so the table says
        ("8/8/8/8/8/7k/8/K5Qr b - - 0 1", 1),  # a cursed win is better than a draw
        ("7k/8/8/8/8/8/8/K6r w - - 0 1", -1),
        ("7k/8/8/8/8/8/8/K6R b - - 0 1", -1),
        ("8/8/8/8/8/8/8/K1k5 w - - 0 1", 0),  # bare kings are in no table
        ("7k/8/8/8/8/8/8/K5B1 w - - 0 1", 3),  # a table that is not there
    ],
)
def test_a_capture_that_does_better_than_the_table_counts(fen: str, result: int, tmp_path: Path) -> None:
    values = {"KQvK": (WON, LOST), "KQvKR": (DRAWN, DRAWN), "KRvK": (CURSED, BLESSED)}
    record, _ = opened(tmp_path, **{name: constant_file(name, *each) for name, each in values.items()})
    assert asked(record, [chess.Board(fen)]) == [result]


@pytest.mark.parametrize(
    ("fen", "result"),
    [
        ("2K5/8/8/8/1pP5/1Q6/8/k7 b - c3 0 1", -2),  # the only legal move, though the table keeps a draw
        ("2K5/8/8/8/1pP5/1Q6/8/k7 b - - 0 1", 0),
        ("7k/8/8/8/1pP5/8/Q7/2K5 b - c3 0 1", 0),  # there are others
        ("7k/8/8/8/1pP5/8/8/K7 b - c3 0 1", 1),  # it does better than the table
        ("7k/8/8/8/1pP5/8/8/K7 b - - 0 1", 0),
        ("7k/8/8/1Pp5/8/8/8/K7 w - c6 0 1", 1),
    ],
)
def test_captures_en_passant_count_though_no_table_knows_them(fen: str, result: int, tmp_path: Path) -> None:
    values = dict.fromkeys(("KQPvKP", "KPvKP"), (DRAWN, DRAWN)) | {"KPvK": (CURSED, BLESSED)}
    values |= dict.fromkeys(("KQPvK", "KQvKP", "KQvK"), (WON, LOST))
    record, _ = opened(tmp_path, **{name: constant_file(name, *each) for name, each in values.items()})
    board = chess.Board(fen)
    assert asked(record, [board]) == [result]
    with chess.syzygy.open_tablebase(str(tmp_path)) as theirs:
        assert theirs.probe_wdl(board) == result


def test_a_file_that_is_damaged_is_refused_or_answers_and_ends(tmp_path: Path) -> None:
    draw, name = Random(3), "KPvKP"
    sound = random_file(name, seed=7)
    boards = drawn_by_lot(name, 40, seed=2)
    refused = 0
    for _ in range(60):
        content = bytearray(sound)
        for _ in range(draw.choice((1, 3, 30))):
            place = draw.randrange(5, draw.choice((20, 300, len(content))))
            content[place] = draw.choice((0, 255, draw.randrange(256)))
        record, tables = opened(tmp_path, **{name: bytes(content)})
        answers = asked(record, boards, is_searched=False)
        assert all(probing.LOSS <= answer <= probing.UNKNOWN for answer in answers)
        assert (tables.fault is None) == (probing.UNKNOWN not in answers)
        refused += tables.fault is not None
    assert 10 < refused < 60


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda content: content[:-64], "its end is missing"),
        (lambda content: content[:-1], "it is no Syzygy table of results, or its end is missing"),
        (lambda content: b"\x00" + content[1:], "it is no Syzygy table of results, or its end is missing"),
        (lambda content: content[:4] + b"\x00" + content[5:], "it is a table of other material"),
        (lambda content: content[:6] + b"\x66" + content[7:], "it is a table of other material"),
        (lambda content: content[:12] + b"\x00" + content[13:], "its head makes no sense"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(change: Callable[[bytes], bytes], fault: str) -> None:
    table, material = np.zeros(1, probing.TABLE)[0], table_files.Material("KQ", "K")
    table_files.describe(table, material)
    content = np.frombuffer(change(random_file("KQvK", seed=7)), dtype=np.uint8)
    with pytest.raises(table_files.BrokenTableError) as found:
        table_files.read_table(table, material, content)
    assert str(found.value) == fault
