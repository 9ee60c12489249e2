"""The compile cache: where it lies, what names it, and that nothing about it can stop the engine or make it wrong."""

import os
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from merino.core.board.move import Move
from merino.core.common.files import user_folder
from merino.core.compiled import cache, code_files, jit
from merino.core.compiled.compiling import reachable
from merino.core.compiled.jit import ENTRIES

ROOT = Path(__file__).resolve().parent.parent

TINY_ENTRY = """
import sys
from merino.core.compiled.jit import entry

@entry
def double(number):
    return number + number

print(double(21), int("numba" not in sys.modules))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of the user's own, empty."""
    monkeypatch.setenv("MERINO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    """A program with one tiny entry; it prints the result, and whether the cache had it."""
    path = tmp_path_factory.mktemp("script") / "tiny.py"
    path.write_text(TINY_ENTRY, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def compiled(script, tmp_path_factory):
    """A home with the code of this program."""
    home = tmp_path_factory.mktemp("compiled")
    assert answer(start(script, home)) == (42, 0)
    return home


@pytest.fixture
def filled(compiled, tmp_path):
    """A copy of that home."""
    return Path(shutil.copytree(compiled, tmp_path / "home"))


def start(script, home, **environment):
    variables = os.environ | {"MERINO_HOME": str(home), "PYTHONPATH": str(ROOT)} | environment
    return subprocess.Popen(
        [sys.executable, str(script)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer(process):
    """The result and the hits that a tiny program prints."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    result, hits = out.split()
    return int(result), int(hits)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG folders are for Linux and the like")
def test_xdg_folders_are_used(monkeypatch, tmp_path):
    monkeypatch.delenv("MERINO_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert user_folder("cache") == tmp_path / "c" / "merino"
    assert user_folder("data") == Path.home() / ".local" / "share" / "merino"
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert user_folder("data") == Path.home() / ".local" / "share" / "merino"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A package of a few modules in place of Merino: a function that writes one of them and gives the fingerprint."""

    def write(name, text, place="here"):
        root = tmp_path / place / "merino"
        monkeypatch.setattr(cache, "_ROOT", root)
        monkeypatch.setattr(cache, "_COMPILER", root / "core" / "compiled")
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for each in (cache._source, cache.fingerprint):
            each.cache_clear()
        return cache.fingerprint("merino.learn.top")

    write("core/board/square", "A = 1\n")
    write("core/compiled/jit", "from merino.core.common.errors import Error\n")
    write("core/common/errors", "class Error(Exception): pass\n")
    write("lab/methods/__init__", "for each in modules: load(each)\n")
    write("lab/methods/spsa", "A = 1\n")
    write("study/other", "A = 1\n")
    write("eval/__init__", "K = 1\n")
    write("learn/top", "from merino.engine import (\n    search,\n)\nimport merino.lab.methods\n")
    write("engine/search", "from merino.core.board import square as s\nfrom merino.eval import K, terms  # and more\n")
    write("eval/terms", "A = 1\n")
    return write


@pytest.mark.parametrize(
    ("name", "is_of_it"),
    [
        ("learn/top", True),
        ("engine/search", True),
        ("core/board/square", True),
        ("core/compiled/jit", True),
        ("core/compiled/program", True),
        ("lab/methods/spsa", True),
        ("lab/methods/another", True),
        ("eval/__init__", True),
        ("eval/terms", True),
        ("study/other", False),
        ("core/common/errors", False),
        ("core/compiled/cache", False),
    ],
)
def test_the_fingerprint_is_of_all_that_a_module_imports_and_of_nothing_else(checkout, name, is_of_it):
    before = checkout("core/board/unused", "")
    assert (checkout(name, "A = 2\n") != before) == is_of_it


def test_the_fingerprint_does_not_depend_on_the_place(checkout, tmp_path):
    here = checkout("core/board/unused", "")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    assert checkout("core/board/unused", "", place="there") == here


def test_code_is_made_only_from_sources_that_its_fingerprint_sees():
    for group in cache.CACHE_GROUPS[1:]:
        import_module(f"merino.{group}.warmup")
    for each in ENTRIES:
        if each.is_ours:
            names = {function.py_func.__module__ for function in reachable(each)} - {"builtins", None}
            assert set(filter(None, map(cache._path_of, names))) <= cache.sources_of(each.modules), each.name


@pytest.fixture
def own(home, monkeypatch):
    """The folder of that user for compiled code."""
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    for each in (cache.places, cache.keeps_code):
        monkeypatch.setattr(cache, each.__name__, each.__wrapped__)
    return cache.places()[0]


def test_where_nothing_can_be_written_nothing_is_kept_and_the_log_says_so(own, home, caplog):
    assert cache.keeps_code()
    shutil.rmtree(home)
    home.touch()  # a file where the folder should be
    assert not cache.keeps_code()
    assert "compiles at each start" in caplog.text


def test_only_code_that_nobody_has_used_for_a_month_is_removed(own):
    old, recent, foreign = (own.with_name(name) for name in ("0" * 16, "1" * 16, "notes"))
    for folder in (own, old, recent, foreign):
        folder.mkdir(parents=True)
    kept, stale, read = (own / f"{name}.code" for name in ("kept", "stale", "read"))
    for path in (kept, stale, read):
        code_files.write_code(path, b"code")
    long_ago = time.time() - (cache.STALE_AFTER_DAYS + 1) * 86400
    for path in (old, foreign, own, stale, read):
        os.utime(path, (long_ago, long_ago))
    assert code_files.read_code(read) == b"code"
    assert cache.remove_stale() == 2
    assert sorted(own.parent.iterdir()) == sorted([own, recent, foreign])
    assert sorted(own.iterdir()) == [kept, read]


def test_a_cache_that_another_process_deletes_meanwhile_is_no_fault(own, monkeypatch):
    monkeypatch.setattr(cache, "names_in", lambda _: ["1" * 16])
    assert cache.remove_stale() == 0
    assert list(cache.remove_all()) == [own.with_name("1" * 16)]


@pytest.mark.parametrize(
    ("features", "level"),
    [("avx2 bmi bmi2 f16c fma lzcnt movbe popcnt sse4.2 avx512f", "x86-64-v3"), ("popcnt sse4.2 avx2", "x86-64-v2")],
)
def test_code_travels_for_the_highest_level_that_the_processor_has(monkeypatch, features, level):
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: dict.fromkeys(features.split(), True))
    assert cache.level() == level


def test_code_for_the_processor_itself_goes_before_code_for_its_level(own, monkeypatch):
    assert [folder.name for folder in cache.places()] == [own.name, *[cache.made_for(cache.level(), "")] * 2]
    assert own.name == cache.made_for(*cache.target()) != cache.places()[1].name
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert cache.places() == (own.with_name(cache.made_for("generic", "")),)


def test_arrays_of_one_layout_have_one_version_whatever_their_lengths():
    square, row = np.zeros((3, 3)), np.zeros((1, 3))
    assert jit._kind_of(square) == jit._kind_of(row) != jit._kind_of(square[:, :2])
    assert len({jit._kind_of(each) for each in (square.T, square[::2, ::2], square.view(np.int64))}) == 3
    assert jit._kind_of(np.int64(1)) == jit._kind_of(1) == jit._kind_of(Move(1)) != jit._kind_of(True)


def test_two_starts_at_once_over_an_empty_cache_and_a_third_finds_it(script, tmp_path):
    both = [start(script, tmp_path / "home") for _ in range(2)]
    assert [answer(process)[0] for process in both] == [42, 42]
    assert answer(start(script, tmp_path / "home")) == (42, 1)


def test_code_for_another_processor_or_version_of_numba_is_not_used(script, filled, tmp_path):
    numba = tmp_path / "numba"
    numba.mkdir()
    (numba / "__init__.py").write_text("raise ImportError('it compiles')")
    (numba / "_version.py").write_text('"version": "0.67.1"')
    for other in ({"NUMBA_CPU_NAME": "generic"}, {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}):
        process = start(script, filled, **other)
        out, errors = process.communicate(timeout=120)
        assert out == "42 0\n" or "it compiles" in errors
    (numba / "_version.py").write_text('"version": "0.68.7"')  # calls are as in 0.68.1
    others = {"NUMBA_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_ENABLE_CUDASIM": "1"}
    assert answer(start(script, filled, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}", **others)) == (42, 1)


def test_on_windows_compiled_code_is_found_without_a_question_to_wmi(script, filled, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import platform\nfrom merino.core.compiled import code_files\n"
        "platform.uname, code_files.IN_ONE_PIECE = None, False\n"  # from Python 3.12 on it asks, for seconds
    )
    assert answer(start(script, filled, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")) == (42, 1)


def test_code_for_a_level_is_found_from_another_place_and_in_the_package_itself(script, tmp_path):
    filled = tmp_path / "filled"
    assert answer(start(script, filled, NUMBA_CPU_NAME=cache.level(), NUMBA_CPU_FEATURES="")) == (42, 0)
    there = tmp_path / "there" / "merino"
    shutil.copytree(ROOT / "merino", there, ignore=shutil.ignore_patterns("page", "__pycache__"))
    (there.parent / "weights").symlink_to(ROOT / "weights")
    script = shutil.copy(script, tmp_path / "moved.py")
    assert answer(start(script, filled, PYTHONPATH=str(there.parent))) == (42, 1)
    shutil.move(filled, there / "code")
    assert answer(start(script, tmp_path / "empty", PYTHONPATH=str(there.parent))) == (42, 1)
    assert not list((tmp_path / "empty").rglob("*.code"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_code_of_another_user_is_not_run(script, filled):
    (file,) = filled.rglob("*.code")
    os.chown(file, 12345, 12345)
    out, errors = start(script, filled).communicate(timeout=120)
    assert out.split()[:2] == ["42", "0"] and f"{file} belongs to another user" in errors


@pytest.mark.parametrize("change", ["del part.fix_integer_index", "part.fix_integer_index = lambda context: context"])
def test_a_numba_that_lacks_what_is_replaced_is_named(script, tmp_path, change):
    (tmp_path / "sitecustomize.py").write_text(f"from numba.np import arrayobj as part\n{change}\n")
    process = start(script, tmp_path / "home", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "cannot compile with numba 0." in errors and "has no numba.np.arrayobj.fix_integer_index" in errors


def test_compiled_code_is_found_on_a_disk_that_is_full(script, filled, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, tempfile\n"
        "def create(*words, **named):\n    raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "tempfile.TemporaryFile = tempfile.NamedTemporaryFile = create\n"
    )
    assert answer(start(script, filled, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")) == (42, 1)
