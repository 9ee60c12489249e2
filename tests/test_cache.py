"""The compile cache: where it lies, what names it, and that nothing about it can stop the engine or make it wrong."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from merino.core.common.files import user_folder
from merino.core.compiled import cache

ROOT = Path(__file__).resolve().parent.parent
GROUPS = cache.CACHE_GROUPS
ALL = GROUPS[-1]  # the group whose code may come from anywhere

TINY_ENTRY = """
from merino.core.compiled.jit import CACHE, entry

@entry
def double(number):
    return number + number

print(double(21), sum(double.stats.cache_hits.values()), CACHE)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of the user's own, empty."""
    monkeypatch.setenv("MERINO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    """A program with one tiny entry; it prints the result, the cache hits and the cache folder."""
    path = tmp_path_factory.mktemp("script") / "tiny.py"
    path.write_text(TINY_ENTRY, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def compiled(script, tmp_path_factory):
    """A home with the code of this program."""
    home = tmp_path_factory.mktemp("compiled")
    assert answer(start(script, home))[:2] == (42, 0)
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
    """The result and the cache hits a tiny program prints, and its cache folder."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    result, hits, folder = out.split(maxsplit=2)
    return int(result), int(hits), folder.strip()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG folders are for Linux and the like")
def test_xdg_folders_are_used(monkeypatch, tmp_path):
    monkeypatch.delenv("MERINO_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert user_folder("cache") == tmp_path / "c" / "merino"
    assert user_folder("data") == Path.home() / ".local" / "share" / "merino"
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    assert user_folder("data") == Path.home() / ".local" / "share" / "merino"


def test_fingerprint_changes_with_every_source_and_version(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "core" / "compiled" / "cache.py"))
    seen = set()
    folders = ["engine/search", *" ".join(GROUPS).split()]
    for folder in folders:
        source = tmp_path / folder / "source.py"
        source.parent.mkdir(parents=True, exist_ok=True)
        for text in ("A = 1\n", "A = 2\n"):
            source.write_text(text, encoding="utf-8")
            seen.add(cache.fingerprint(ALL, "1.0"))
    assert len(seen) == 2 * len(folders)
    assert cache.fingerprint(ALL, "1.1") not in seen
    assert cache.fingerprint(ALL, "1.0") in seen


@pytest.mark.parametrize(
    ("folder", "changed"), [("learn", GROUPS[GROUPS.index("learn") :]), ("engine", GROUPS), ("lab", [ALL])]
)
def test_an_edit_changes_the_fingerprint_of_its_group_and_those_above_it(monkeypatch, tmp_path, folder, changed):
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "core" / "compiled" / "cache.py"))
    before = {group: cache.fingerprint(group, "1.0") for group in GROUPS}
    source = tmp_path / folder / "source.py"
    source.parent.mkdir(parents=True)
    source.write_text("A = 1\n", encoding="utf-8")
    assert [group for group in GROUPS if cache.fingerprint(group, "1.0") != before[group]] == list(changed)


@pytest.mark.parametrize("folder", cache.WITHOUT_COMPILED_CODE)
def test_fingerprint_leaves_out_the_folders_without_compiled_code(monkeypatch, tmp_path, folder):
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "core" / "compiled" / "cache.py"))
    before = cache.fingerprint(ALL, "1.0")
    source = tmp_path / folder / "source.py"
    source.parent.mkdir(parents=True)
    source.write_text("A = 1\n", encoding="utf-8")
    assert cache.fingerprint(ALL, "1.0") == before
    source.rename(tmp_path / f"{folder}.py")  # a module whose name only begins like that
    assert cache.fingerprint(ALL, "1.0") != before


def test_fingerprint_does_not_depend_on_the_place(monkeypatch, tmp_path):
    prints = set()
    for copy in ("a", "b"):
        source = tmp_path / copy / "core" / "compiled" / "cache.py"
        source.parent.mkdir(parents=True)
        source.write_text("A = 1\n", encoding="utf-8")
        monkeypatch.setattr(cache, "__file__", str(source))
        prints.add(cache.fingerprint(ALL, "1.0"))
    assert len(prints) == 1


def test_without_any_folder_there_is_no_cache_and_the_log_says_so(home, caplog):
    home.touch()  # a file where the folder should be
    assert cache.compile_cache(ALL, "1.0") is None
    assert "compiles at each start" in caplog.text


def test_only_old_caches_are_removed(home):
    now = cache.compile_cache(ALL, "1.0")
    old, recent, foreign = now.parent / ("0" * 16), now.parent / ("1" * 16), now.parent / "notes"
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign, now):
        make_old(folder)
    assert cache.remove_stale(now) == 1
    assert sorted(now.parent.iterdir()) == sorted([now, recent, foreign])


def make_old(folder):
    long_ago = time.time() - (cache.STALE_AFTER_DAYS + 1) * 86400
    os.utime(folder, (long_ago, long_ago))


def test_a_cache_that_is_only_read_is_in_use_all_the_same(home):
    used, other = cache.compile_cache(ALL, "1.0"), cache.compile_cache(ALL, "1.1")
    (used / "f.code").write_bytes(b"code")
    make_old(used)
    assert cache.compile_cache(ALL, "1.0") == used
    assert cache.remove_stale(other) == 0
    assert cache.holds_code(used)


def test_a_cache_that_another_process_deletes_meanwhile_is_no_fault(home, monkeypatch):
    monkeypatch.setattr(cache, "names_in", lambda _: ["1" * 16])
    monkeypatch.setattr(cache, "is_folder", lambda _: True)
    assert cache.remove_stale(home / "cache" / ("0" * 16)) == 0
    assert list(cache.remove_all()) == [home / "cache" / ("1" * 16)]


def test_a_home_that_may_not_be_entered_holds_no_code(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "f.code").write_bytes(b"code")
    assert cache.holds_code(tmp_path)
    monkeypatch.setattr(Path, "rglob", refuse)
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert not cache.holds_code(tmp_path)
    assert cache.remove_stale(tmp_path) == 0


@pytest.mark.parametrize("text", ["", "flags: a b\n", "x: 1\nflags: a b\n\nprocessor: 1\nflags: c\n"])
def test_the_first_processor_is_read_whatever_the_system_shows_of_it(tmp_path, monkeypatch, text):
    facts = tmp_path / "cpuinfo"
    facts.write_text(text)
    monkeypatch.setattr(cache, "Path", lambda _: facts)
    assert cache._processor() == (["flags: a b\n"] if text else [])


def test_two_starts_at_once_over_an_empty_cache_and_a_third_finds_it(script, tmp_path):
    both = [start(script, tmp_path / "home") for _ in range(2)]
    assert [answer(process)[0] for process in both] == [42, 42]
    result, hits, folder = answer(start(script, tmp_path / "home"))
    assert (result, hits) == (42, 1)
    assert Path(folder).parent == tmp_path / "home" / "cache"


def test_code_for_another_processor_is_not_used(script, filled):
    assert answer(start(script, filled, NUMBA_CPU_NAME="generic"))[:2] == (42, 0)
    assert answer(start(script, filled, NUMBA_CPU_NAME="generic"))[:2] == (42, 1)


def test_compiled_code_is_found_on_a_disk_that_is_full(script, filled, tmp_path):
    (folder,) = (filled / "cache").iterdir()
    full = tmp_path / "full"
    full.mkdir()
    (full / "sitecustomize.py").write_text(
        "import errno, tempfile\n"
        "def create(*words, **named):\n    raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "tempfile.TemporaryFile = tempfile.NamedTemporaryFile = create\n",
        encoding="utf-8",
    )
    path = f"{full}{os.pathsep}{ROOT}"
    assert answer(start(script, filled, PYTHONPATH=path)) == (42, 1, str(folder))


def test_engine_runs_where_nothing_can_be_written(script, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    assert answer(start(script, blocked)) == (42, 0, "None")
