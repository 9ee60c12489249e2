"""How compiled code is put together: whole programs, and indices that do not count from the end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from merino.core.common.files import is_draft
from merino.core.compiled import cache, jit
from tests.test_cache import compiled, filled, script, start


@jit.entry
def _at(values, index):
    return values[index]


@jit.entry
def _last(values):
    return values[-1]


@pytest.mark.skipif(cache.CHECKS_BOUNDS, reason="with bounds checks it is an error, see below")
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
    (code,) = tmp_path.rglob("*_at.*.code")
    assert b"index %lld is out of bounds for size %lld" in code.read_bytes()  # %ld is of 32 bits on Windows


# Compiled code on the disk: damage is seen before it is used, mended, and the same for every part of Merino.

ROOT = Path(__file__).resolve().parent.parent

__all__ = ["compiled", "filled", "script"]  # fixtures

ENTRIES_BY_DAMAGE = """
import sys
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
    print(double(21), int("numba" not in sys.modules))
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


KILLED = """
import os
from merino.core.common import files
die, write = (lambda *_: os.kill(os.getpid(), 9)), files._NamedFile.write
"""


@pytest.mark.parametrize(
    "moment",
    ["files._NamedFile.write = lambda file, code: (write(file, code[: len(code) // 2]), die())", "os.replace = die"],
)
def test_a_start_killed_while_it_writes_code_costs_the_next_only_time(script, tmp_path, moment):
    home, folder = tmp_path / "home", tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(KILLED + moment)
    process = start(script, home, PYTHONPATH=f"{folder}{os.pathsep}{ROOT}")
    process.communicate(timeout=120)
    (left,) = (home / "cache").glob("*/*")
    assert process.returncode and is_draft(left)
    assert answers_of(start(script, home)) == (["42 0"], "")
    assert answers_of(start(script, home)) == (["42 1"], "")
    (file,) = (home / "cache").glob("*/*")
    assert file.suffix == ".code"


def answers_of(process):
    """The lines that a program has printed, and what it complained of; it has ended well."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return out.splitlines(), errors


@pytest.mark.parametrize(
    ("blocked", "said"), [("file", "cannot keep compiled code"), ("folder", "no writable folder for compiled code")]
)
def test_code_that_cannot_be_kept_stops_nothing_and_is_kept_nowhere_else(script, filled, blocked, said):
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
    assert said in errors
    assert not list(script.parent.rglob("*.nbi")) and not list(script.parent.rglob("__pycache__"))
