"""How compiled code is put together: whole programs, and indices that do not count from the end."""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import NullCache

from merino.core.compiled import cache, jit
from merino.engine.search.warmup import parts
from tests.mutants import link
from tests.test_cache import compiled, filled, script, start


@jit.kernel
def _twice(number):
    return 2 * number


@jit.kernel
def _four_times(number):
    return _twice(_twice(number))


@jit.entry
def _eight_times(number):
    return _twice(_four_times(number))


_eight_times._cache = NullCache()  # what comes from the disk has no library to look at


@jit.entry
def _at(values, index):
    return values[index]


@jit.entry
def _last(values):
    return values[-1]


def _library(function):
    return next(iter(function.overloads.values())).library


def test_an_entry_is_one_program_with_all_the_kernels_it_reaches():
    assert _eight_times(5) == 40
    library = _library(_eight_times)
    assert isinstance(library, jit.ProgramLibrary)
    assert library._finalized and not _library(_twice)._finalized and not _library(_four_times)._finalized


def test_only_the_functions_of_the_entry_itself_can_be_seen_from_outside_its_program():
    assert _eight_times(1) == 8
    functions = [each for each in _library(_eight_times)._final_module.functions if not each.is_declaration]
    seen = [each.name for each in functions if each.linkage.name != "internal"]
    assert seen and all("_eight_times" in name for name in seen)


@pytest.mark.skipif(jit.CHECKS_BOUNDS, reason="with bounds checks it is an error, see below")
def test_a_negative_index_is_no_index_from_the_end_unless_it_is_a_constant():
    values = np.arange(10)
    tail = values[5:]
    assert _at(tail, -1) == 4, "the number before the first of the tail, which the whole array has"
    assert _last(tail) == 9


def test_with_bounds_checks_a_negative_index_is_an_error(tmp_path):
    code = "import numpy; from tests.test_jit import _at; _at(numpy.arange(3), -1)"
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "MERINO_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1 and "IndexError" in done.stderr


# Compiled code on the disk: damage is seen before it is used, mended, and the same for every part of Merino.

ROOT = Path(__file__).resolve().parent.parent
GAMES = '[Result "1-0"]\n\n1. e4 d5 2. exd5 Nf6 3. Nc3 Nxd5 4. a3 a6 5. h3 h6 1-0\n\n'

__all__ = ["compiled", "filled", "script"]  # fixtures

ENTRIES_BY_DAMAGE = """
from merino.core.compiled.jit import entry

@entry
def cut(number): return number + number

@entry
def empty(number): return number + number

@entry
def overwrite(number): return number + number

@entry
def replace(number): return number + number

for double in (cut, empty, overwrite, replace):
    print(double(21), sum(double.stats.cache_hits.values()))
"""  # each is damaged by the function below that has its name


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    """Change the machine code in the middle of the file, which no reader of its frame would see."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64 * [0xCC])
    path.write_bytes(content)


def replace(path: Path) -> None:
    path.write_bytes(os.urandom(5000))


def test_damaged_code_is_reported_compiled_again_and_mended(tmp_path):
    home, script, damages = tmp_path / "home", tmp_path / "tiny.py", (cut, empty, overwrite, replace)
    script.write_text(ENTRIES_BY_DAMAGE, encoding="utf-8")
    answers = ["42 0" for _ in damages]
    assert answers_of(start(script, home)) == (answers, "")
    files = [file for damage in damages for file in home.rglob(f"*.{damage.__name__}*.code")]
    sizes = [file.stat().st_size for file in files]
    for damage, file in zip(damages, files, strict=True):
        damage(file)
    found, errors = answers_of(start(script, home))
    assert found == answers and "Traceback" not in errors
    for file, size in zip(files, sizes, strict=True):
        assert f"{file} is damaged" in errors
        assert file.stat().st_size == pytest.approx(size, rel=0.01)
    assert answers_of(start(script, home)) == (["42 1" for _ in damages], "")


def answers_of(process):
    """The lines that a program has printed, and what it complained of; it has ended well."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return out.splitlines(), errors


@pytest.mark.parametrize("blocked", ["file", "folder"])
def test_code_that_cannot_be_kept_stops_nothing_and_is_kept_nowhere_else(script, filled, blocked):
    (file,) = filled.rglob("*.code")
    if blocked == "file":
        file.unlink()
        file.mkdir()
    else:
        shutil.rmtree(file.parent)
        file.parent.write_text("in the way")
    process = start(script, filled)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and out.split()[:2] == ["42", "0"]
    said = {
        "file": ("cannot read the compiled code", "cannot keep compiled code"),
        "folder": ("compiled at each start",),
    }
    assert all(words in errors for words in said[blocked])
    assert not list(script.parent.rglob("*.nbi")) and not list(script.parent.rglob("__pycache__"))


def test_every_entry_of_every_part_keeps_its_code_so():
    for group in cache.CACHE_GROUPS[1:]:
        import_module(f"merino.{group}.warmup")
    assert parts().keys() - set(cache.CACHE_GROUPS) and jit.cache_of(cache.CACHE_GROUPS[0]) is not None
    ours = [each for each in jit.ENTRIES if each.py_func.__module__.startswith("merino.")]
    assert {cache.group_of(each.py_func.__module__) for each in ours} == set(cache.CACHE_GROUPS)
    for each in ours:
        assert isinstance(each._cache, jit.CodeCache) and isinstance(each._cache._cache_file, jit.CodeFiles)
        assert Path(each._cache.cache_path).parent == jit.cache_of(cache.group_of(each.py_func.__module__))


def test_a_study_over_a_damaged_cache_goes_on_and_mends_it(tmp_path):
    games = tmp_path / "games.pgn"
    games.write_text(GAMES + GAMES.replace("1-0", "0-1"))
    environment = os.environ | {"MERINO_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "merino", "points", str(games)]
    parts()["lab"]()  # what is damaged now was whole
    for group in cache.CACHE_GROUPS:
        copied = tmp_path / "home" / "cache" / jit.cache_of(group).name
        shutil.copytree(jit.cache_of(group), copied, copy_function=link)
    # A small one, so that this takes seconds; another checkout of the same sources has its own next to it.
    tallies = {path: path.read_bytes() for path in (tmp_path / "home").rglob("values._tally*.code")}
    for tally, content in tallies.items():
        tally.unlink()  # it is damaged in place, and its other name is that of the code in use
        tally.write_bytes(content)
    for tally in tallies:
        overwrite(tally)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (tally,) = (path for path in tallies if f"{path} is damaged" in done.stderr)
    assert len(tally.read_bytes()) == pytest.approx(len(tallies[tally]), rel=0.01)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "damaged" not in done.stderr
