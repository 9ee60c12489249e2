"""Damage in a file of Merino's is seen, what has no checksum is read with a word, and equal work gives equal files."""

import json
import os
import random
import re
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from merino.core.common import sealed
from merino.engine.uci import output, runtime
from merino.eval.linear.weights import SHIPPED
from merino.eval.net.file import as_bytes, as_text, as_unsealed_bytes, digest, load_net, network_of, save_net
from merino.eval.net.network import NetError, Shape
from merino.formats import packed, packed_files
from merino.lab.arrays import as_npz, from_npz
from merino.lab.nets import position_blocks, training
from merino.learn.request import TrainingError
from merino.match import games, keeping
from merino.study.annotated_files import Partial
from tests.test_net_training import sample

VALUES = {"name": "naïve", "numbers": [1, -2.5, 1e-300], "inner": {"2": None, "1": True}}
NETS = sorted(SHIPPED.glob("*.net"))
WORD = "has no checksum"


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_warned", set())


def inverted(content: bytes, first: int, count: int) -> bytes:
    return content[:first] + bytes(255 - byte for byte in content[first : first + count]) + content[first + count :]


def one_byte_changed(content: bytes) -> Iterator[bytes]:
    draw = random.Random(1)
    for place in range(len(content)):
        yield content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def test_a_change_of_any_byte_of_a_sealed_object_is_seen_or_changes_nothing():
    seen = 0
    for content in one_byte_changed(sealed.as_json(VALUES, indent=1)):
        try:
            found = sealed.from_json(content, "it")
            assert {name: found[name] for name in VALUES} == VALUES  # with a word, if the checksum has lost its name
        except sealed.DamageError:
            seen += 1
    assert seen > 100  # of 135 bytes; the others are blanks


def test_a_change_of_any_byte_of_an_archive_changes_no_array_unseen():
    arrays = {"first": np.arange(20.0), "text": np.array("some text"), "none": np.zeros((0, 3), dtype=np.int16)}
    content, seen = as_npz(arrays), 0
    for changed in one_byte_changed(content):
        try:
            found = from_npz(changed)
        except sealed.DamageError:
            seen += 1
        else:
            assert all(found[name].tobytes() == arrays[name].tobytes() for name in found)
    assert seen > len(content) // 2


def test_an_archive_whose_arrays_claim_more_than_they_have_is_refused():
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        member = BytesIO()
        np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
        archive.writestr("huge.npy", member.getvalue())
    with pytest.raises(sealed.DamageError, match="it is no whole archive of arrays"):
        from_npz(content.getvalue())


@pytest.mark.parametrize("path", NETS, ids=lambda path: path.name)
def test_nets_that_come_with_merino_have_a_checksum_that_sees_fifty_inverted_bytes(path, tmp_path, caplog):
    assert load_net(path).weights and not caplog.records
    content, file = path.read_bytes(), tmp_path / "hurt.net"
    for place in (100, len(content) // 2, len(content) - 50):
        file.write_bytes(inverted(content, place, 50))
        with pytest.raises(NetError, match=r"hurt\.net.*(damaged after it was written|header cannot be read)"):
            load_net(file)


def test_a_net_without_a_checksum_is_noted_once(tmp_path, caplog):
    network = load_net(NETS[0])
    file = tmp_path / "old.net"
    file.write_bytes(as_unsealed_bytes(network))
    assert [digest(load_net(file)), digest(load_net(file))] == [digest(network)] * 2
    (word,) = caplog.messages
    assert str(file) in word and WORD in word


def test_a_checksum_changes_no_identity_of_a_net(tmp_path, caplog):
    network = load_net(NETS[0])
    assert as_bytes(network_of(as_text(network))) == as_bytes(network) == NETS[0].read_bytes()
    assert not caplog.records  # an identity is no file


def test_the_name_of_a_file_that_is_no_text_is_written_so_that_it_can_be_read():
    name = os.fsdecode(b"K\xf6ln \xf0\x9f\x98\x80.pgn")
    assert sealed.from_json(sealed.as_json({"files": [name], "n": 1}), "it") == {"files": [r"K\udcf6ln 😀.pgn"], "n": 1}


def test_a_gui_is_warned_of_a_net_without_a_checksum():
    stream = BytesIO()
    handler = runtime.InfoLog(output.Output(stream))
    sealed.log.addHandler(handler)
    try:
        sealed.check(VALUES, "old.net")
    finally:
        sealed.log.removeHandler(handler)
    assert stream.getvalue().startswith(b"info string 'old.net' has no checksum")


def test_each_changed_byte_of_packed_positions_is_seen(tmp_path):
    file, missed = tmp_path / "p.bin", 0
    content = packed.with_checks(sample()[:40]).tobytes()
    for changed in one_byte_changed(content):
        file.write_bytes(changed)
        try:
            with position_blocks.open_blocks(file):
                missed += 1
        except packed.PackedError as error:
            assert "from byte " in str(error)
    assert missed <= 0.01 * len(content)  # one change of 256 fits its checksum


def test_packed_positions_of_other_programs_are_read(tmp_path, caplog):
    file = tmp_path / "p.bin"
    file.write_bytes(packed.without_checks(sample()).tobytes())
    assert len(packed_files.all_positions(file)) == len(sample()) and WORD in caplog.text
    theirs = packed.without_checks(sample())
    theirs["check"] = 7  # bytes that they use for something else
    file.write_bytes(theirs.tobytes())
    assert len(packed_files.all_positions(file)) == len(sample())


def test_the_data_of_a_net_has_the_same_hash_with_and_without_checksums():
    for checked in (packed.with_checks(sample()), packed.without_checks(sample())):
        assert training.recipe_of(checked) == training.recipe_of(sample())


def test_a_damaged_state_of_a_match_is_refused(tmp_path, caplog):
    state = tmp_path / "match.state"
    keeping.MatchKeeper(None, state, {"seed": 1}).save(games.Tally(), 2.5)
    content = state.read_bytes()
    state.write_bytes(content.replace(b"2.5", b"3.5"))
    with pytest.raises(games.MatchError, match=r"match\.state.*damaged after it was written"):
        keeping.MatchKeeper(None, state, {"seed": 1}).load()
    assert not caplog.records
    values = json.loads(content)
    del values[sealed.KEY]
    state.write_text(json.dumps(values))
    assert keeping.MatchKeeper(None, state, {"seed": 1}).load()[1] == 2.5
    assert WORD in caplog.text


def test_games_annotated_before_a_damaged_one_are_kept(tmp_path, caplog):
    target = tmp_path / "out.pgn"
    with Partial(target, "it") as partial:
        for game in (b"1. e4 *", b"1. d4 *", b"1. c4 *"):
            partial.add(game)
    content = partial.path.read_bytes()
    partial.path.write_bytes(content.replace(b"1. d4", b"1. d5"))
    with Partial(target, "it") as again:
        assert again.games == [b"1. e4 *"]
    assert "game 2" in caplog.text
    partial.path.write_bytes(content)
    with Partial(target, "it") as again:
        assert len(again.games) == 3


def trainer(checkpoint: Path) -> training.Trainer:
    settings = training.TrainingSettings(Shape("ALL", 8), epochs=2, batch=64, validation=0.2)
    return training.Trainer(sample(), settings, {"files": ["p.bin"]}, checkpoint, threads=2)


def train(folder: Path, name: str) -> tuple[bytes, bytes]:
    """The net and the state of a training."""
    checkpoint, net = folder / f"{name}.state", folder / f"{name}.net"
    save_net(trainer(checkpoint).run().network, net)
    return net.read_bytes(), checkpoint.read_bytes()


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("weights", np.zeros(5, dtype=np.float32), "'weights' is float32 (5,)"),
        ("moments", np.zeros(0), "'moments' is float64 (0,)"),
        ("numbers", np.full(4, np.nan), "its numbers are not finite"),
        ("numbers", np.zeros(2), "'numbers' is float64 (2,)"),
    ],
)
def test_a_state_whose_arrays_do_not_fit_is_refused(tmp_path, name, array, said):
    _, content = train(tmp_path, "first")
    checkpoint = tmp_path / "first.state"
    checkpoint.write_bytes(as_npz(from_npz(content) | {name: array}))
    with pytest.raises(TrainingError, match=re.escape(said)) as refused:
        trainer(checkpoint)
    assert str(checkpoint) in str(refused.value)


def test_a_state_of_a_training_of_merino_1_0_goes_on(tmp_path):
    net, content = train(tmp_path, "first")
    arrays = from_npz(content)
    (tmp_path / "second.state").write_bytes(as_npz(arrays | {"numbers": np.append(arrays["numbers"], 3.5)}))
    assert train(tmp_path, "second")[0] == net


def test_two_equal_trainings_give_equal_files(tmp_path, monkeypatch):
    first = train(tmp_path, "first")
    monkeypatch.setattr("merino.lab.nets.training.time.monotonic", iter(range(1 << 20)).__next__)  # a slower machine
    assert train(tmp_path, "second") == first


def test_equal_positions_give_equal_files_however_they_come(tmp_path):
    first, second = tmp_path / "1.bin", tmp_path / "2.bin"
    packed_files.write_packed_file(first, [sample()])
    packed_files.write_packed_file(second, [packed.with_checks(sample()[:7]), sample()[7:]])
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    "text", [b'"\\ud800"', b'"\xed\xa0\x80"', '"\\udfff"', '"\ud800"', '"\ud800"'.encode("utf-16", "surrogatepass")]
)
def test_json_with_half_of_a_character_is_an_error_however_it_is_written(text):
    with pytest.raises(ValueError, match="half of a character"):
        sealed.parsed(text)


def test_json_of_any_encoding_is_read_with_its_whole_characters():
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32-le"):
        assert sealed.parsed('{"a\u00e9": "\U0001f40e \\ud83d\\udc0e"}'.encode(encoding)) == {
            "a\u00e9": "\U0001f40e \U0001f40e"
        }


def test_a_sealed_object_that_can_just_be_read_is_an_error_with_the_reason():
    said = set()
    for depth in range(sys.getrecursionlimit() - 300, sys.getrecursionlimit() + 1):
        with pytest.raises(sealed.DamageError) as caught:
            sealed.from_json(b'{"checksum": "0", "x": ' + b"[" * depth + b"]" * depth + b"}", "a file")
        said.add(re.sub(r"\w{8}$", "...", str(caught.value)))
    assert "it was damaged after it was written: its checksum is 0, not ..." in said


DEEP = b"[" * 100_000


def test_json_that_is_nested_too_deep_is_an_error_with_the_reason(tmp_path):
    with pytest.raises(ValueError, match="nested too deep"):
        sealed.parsed(DEEP)
    with pytest.raises(sealed.DamageError, match="it is not JSON: it is nested too deep"):
        sealed.from_json(DEEP, "a file")
    net = tmp_path / "deep.net"
    first, _, rest = as_bytes(load_net(SHIPPED / "gen1.net")).partition(b"\n")
    net.write_bytes(first + b"\n" + DEEP + b"\n" + rest.partition(b"\n")[2])
    with pytest.raises(NetError, match=r"header cannot be read .*nested too deep"):
        load_net(net)


# Arrays in files without a name: their contents, their memory, and a disk without room.

ROWS = np.arange(30_000, dtype=np.int16).reshape(10_000, 3)


def test_rows_of_a_file_are_those_that_were_added():
    assert sealed.RowFile(ROWS[:0]).array().shape == (0, 3)
    file = sealed.RowFile(ROWS[:10])
    assert np.array_equal(file.array(), ROWS[:10])
    for more in (ROWS[10:], ROWS[:0]):
        file.add(more)
    found = file.array()
    assert np.array_equal(found, ROWS)
    assert found.dtype == ROWS.dtype and found.flags.c_contiguous and found.flags.writeable


def test_what_is_changed_in_place_stays_changed_when_rows_are_added():
    file = sealed.RowFile(ROWS)
    file.array()[5] = -1
    file.add(ROWS[:1])
    assert (file.array()[5] == -1).all() and np.array_equal(file.array()[6:-1], ROWS[6:])
