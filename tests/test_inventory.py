"""The inventory of compiled code: whether a start is warm is known before numba is loaded, and true."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from merino.core.compiled import cache, jit
from merino.core.compiled.cache import PLAY, is_play_compiled, is_whole, write_inventory
from merino.engine.search.warmup import warm_up
from tests.uci_process import ROOT, UciProcess, bestmove, field, infos

ASK = """
import sys
from merino.core.compiled.cache import is_play_compiled
print(is_play_compiled(), "numba" in sys.modules)
"""
SLOW_NUMBA = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            time.sleep(1.2)
sys.meta_path.insert(0, Slow())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache with two files of code and the inventory of both."""
    for name in ("a/one.code", "b/two.code"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"code")
    write_inventory(tmp_path, PLAY, tmp_path.rglob("*.code"))
    return tmp_path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the user's with what play needs, compiled."""
    warm_up()
    assert jit.CACHE is not None
    home = tmp_path_factory.mktemp("home")
    (own,) = jit.CACHE.glob(cache._inventory(jit.CACHE, PLAY).name)
    for path in (own, *(jit.CACHE / name for name in json.loads(own.read_bytes()))):
        copy = home / "cache" / path.relative_to(jit.CACHE.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return home


def test_a_cache_that_is_half_filled_is_not_whole_until_it_is_filled(folder: Path) -> None:
    assert is_whole(folder, PLAY) and not is_whole(folder, "learn")
    (folder / "b/two.code").unlink()
    assert not is_whole(folder, PLAY)
    (folder / "b/two.code").write_bytes(b"code")
    assert is_whole(folder, PLAY)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'["a/one.code"]', b"\xff"])
def test_a_damaged_inventory_is_none_and_is_replaced(folder: Path, content: bytes) -> None:
    (own,) = folder.glob("*.inventory")
    own.write_bytes(content)
    assert not is_whole(folder, PLAY)
    write_inventory(folder, PLAY, folder.rglob("*.code"))
    assert is_whole(folder, PLAY)


def test_code_for_another_processor_does_not_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as there:
        there.setattr(cache, "_processor", lambda: ["another one"])
        assert not is_whole(folder, PLAY)
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert not is_whole(folder, PLAY)


def test_code_for_a_named_processor_counts_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = re.findall("^ENV (NUMBA_.*)", (ROOT / "packaging" / "Dockerfile").read_text(), re.MULTILINE)
    assert len(images) == 2
    for settings in images:
        found = set()
        for features in ("avx2", "avx2 avx512f"):
            facts = tmp_path / features
            facts.write_text(f"flags: {features}\n")
            with monkeypatch.context() as there:
                there.setattr(cache, "Path", lambda name, facts=facts: facts if "cpuinfo" in name else Path(name))
                for name, value in re.findall(r"(NUMBA_\w+)=(\S+)", settings):
                    there.setenv(name, value.strip('"'))
                found.add(cache._inventory(tmp_path, PLAY))
        assert len(found) == 1


def test_without_the_compiler_nothing_has_to_be_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERINO_HOME", str(tmp_path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert is_play_compiled()


def test_what_is_compiled_is_known_without_numba(home: Path, tmp_path: Path) -> None:
    for place, expected in ((home, "True False"), (tmp_path, "False False")):
        environment = os.environ | {"MERINO_HOME": str(place), "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def test_code_that_could_not_be_kept_makes_no_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up()
    assert jit.code_in_use()
    used = next(each for each in jit.ENTRIES if each.signatures and Path(each._cache.cache_path).parent == jit.CACHE)
    monkeypatch.setattr(used._cache._cache_file, "in_use", [])
    assert jit.code_in_use() is None


def test_a_warm_start_searches_its_first_move_although_it_takes_long(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_NUMBA)
    environment = {"MERINO_HOME": str(home), "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    with UciProcess("uci", environment=environment) as engine:
        said = engine.ask("position startpos", "go wtime 90000 btime 1000 depth 4", until="bestmove")
    assert not any("compiling" in line for line in said)
    assert int(field(infos(said)[-1], "nodes")) > 0


def test_a_start_over_a_half_filled_cache_is_cold(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home")
    max(
        (tmp_path / "home").rglob("*.code"), key=lambda path: path.stat().st_size
    ).unlink()  # which takes long to compile
    with UciProcess("uci", environment={"MERINO_HOME": str(tmp_path / "home")}) as engine:
        said = engine.ask("position startpos", "go wtime 9000 btime 1000", until="bestmove")
        assert any("compiling" in line for line in said)
        assert bestmove(engine, "position startpos moves e2e4 e7e5 d1h5 e8e7", "go wtime 100 btime 100") == "h5e5"
