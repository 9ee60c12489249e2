"""What somebody who waits for the compiler sees: that it works, on what, and how far it is."""

import gc
import io
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest

from merino.core.common.terminal import IN_FILES
from merino.core.compiled.compiling import PATIENCE_OF_FILES, Watch, reachable

ROOT = Path(__file__).resolve().parent.parent


class Compiled:
    """As much of a dispatcher of numba as a watch looks at."""

    def __init__(self, source: str, **callees: object) -> None:
        scope: dict[str, object] = {"__name__": "group.module", **callees}
        exec(source, scope)
        self.py_func = next(each for each in scope.values() if isinstance(each, FunctionType))


LEAF = Compiled("def leaf(x):\n    return x + 1")
OTHER = Compiled("def other(x):\n    return x * x - x")
BRANCH = Compiled("def branch(x):\n    return leaf(x) + leaf(2 * x)", leaf=LEAF)
ROOT_FUNCTION = Compiled("def root(x):\n    return branch(x) + table[0](x)", branch=BRANCH, table=(OTHER,))


class Screen(io.StringIO):
    """A stream that is a terminal, or is not."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def run(stream: io.StringIO, seconds: float, *functions: Compiled, silent: bool = False) -> Watch:
    """A watch that has seen these functions compiled, nested in ROOT_FUNCTION, each in so many seconds."""
    now = 0.0
    watch = Watch(stream, lambda: now)
    watch.is_silent = silent
    for function in (ROOT_FUNCTION, *functions):
        watch.notify(SimpleNamespace(is_start=True, is_end=False, data={"dispatcher": function}))
        now += seconds
        if function is not ROOT_FUNCTION:
            watch.notify(SimpleNamespace(is_start=False, is_end=True, data={"dispatcher": function}))
    watch.notify(SimpleNamespace(is_start=False, is_end=True, data={"dispatcher": ROOT_FUNCTION}))
    return watch


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_all_that_a_function_calls_is_found_in_tuples_and_modules_too() -> None:
    assert reachable(ROOT_FUNCTION) == {ROOT_FUNCTION, BRANCH, LEAF, OTHER}
    module = type(os)("module")
    module.leaf = LEAF
    assert reachable(Compiled("def f(x):\n    return module.leaf(x)", module=module)) >= {LEAF}


def test_the_share_grows_from_none_to_all_with_every_function() -> None:
    watch, shares = Watch(Screen(False)), []
    watch.notify(SimpleNamespace(is_start=True, is_end=False, data={"dispatcher": ROOT_FUNCTION}))
    for function in (LEAF, BRANCH, LEAF, OTHER, ROOT_FUNCTION):
        shares.append(watch.share)
        watch.notify(SimpleNamespace(is_start=False, is_end=True, data={"dispatcher": function}))
    assert shares == sorted(shares) and shares[0] == 0 < shares[1] < shares[2] == shares[3] < shares[4]
    assert watch.share == 1


def test_how_far_the_compiler_is_can_be_asked_while_it_works() -> None:
    now = 0.0
    watch = Watch(Screen(False), lambda: now)
    watch.is_silent = True
    assert watch.progress is None
    watch.notify(SimpleNamespace(is_start=True, is_end=False, data={"dispatcher": ROOT_FUNCTION}))
    assert watch.progress == {"share": 0.0, "seconds_left": None}
    now = 4.0
    watch.notify(SimpleNamespace(is_start=False, is_end=True, data={"dispatcher": BRANCH}))
    share = watch.share
    assert 0 < share < 1
    assert watch.progress == {"share": share, "seconds_left": round(4 * (1 - share) / share)}
    watch.notify(SimpleNamespace(is_start=False, is_end=True, data={"dispatcher": ROOT_FUNCTION}))
    assert watch.progress is None


def test_a_terminal_gets_one_line_which_is_wiped() -> None:
    screen = Screen(True)
    run(screen, 2.0, LEAF, BRANCH, OTHER)
    *shown, wiped, rest = screen.getvalue().split("\r")[1:]
    assert len(shown) > 2 and all("Compiling group.module, once: " in line for line in shown)
    assert "s left" in shown[-1] and "\n" not in screen.getvalue()
    assert max(map(len, shown)) <= len(wiped) < 80 and not wiped.strip() and not rest


def test_elsewhere_a_line_is_added_every_some_seconds() -> None:
    stream = Screen(False)
    run(stream, PATIENCE_OF_FILES / 4, LEAF)
    assert not stream.getvalue(), "what is over soon needs no word"
    run(stream, PATIENCE_OF_FILES, LEAF, BRANCH)
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("Compiling group.module, once: ") and "\r" not in stream.getvalue()
    run(stream, IN_FILES, LEAF, BRANCH, OTHER)
    assert len(stream.getvalue().splitlines()) > 3


def test_what_is_compiled_together_has_one_bar_that_never_goes_back() -> None:
    now, screen, shares = 0.0, Screen(True), list[float]()
    watch = Watch(screen, lambda: now)
    unforeseen = Compiled("def more(x):\n    return x - 1 - x * x")
    with watch.together([ROOT_FUNCTION, found := Compiled("def found(x):\n    return x + x + x")]), watch.together([]):
        for outermost, inner in ((ROOT_FUNCTION, LEAF), (unforeseen, BRANCH)):
            for is_start, function in ((True, outermost), (True, inner), (False, inner), (False, outermost)):
                watch.notify(SimpleNamespace(is_start=is_start, is_end=not is_start, data={"dispatcher": function}))
                shares.append(watch.share)
                now += 2
            found.signatures = ["of a file"]
    assert shares == sorted(shares) and 0 == shares[0] < shares[3] < shares[-1] <= 1
    assert {line.partition(":")[0] for line in screen.getvalue().split("\r") if line.strip()} == {
        "Compiling Merino, once"
    }


def test_a_watch_that_is_silent_or_whose_stream_is_gone_shows_nothing() -> None:
    screen = Screen(True)
    run(screen, 5.0, LEAF, silent=True)
    assert not screen.getvalue()
    screen.close()
    run(screen, 5.0, LEAF)


def test_a_dialogue_with_a_gui_shows_no_progress_of_the_compiler() -> None:
    imports = "from engine import uci; from merino.core.compiled import compiling"
    code = f"{imports}; uci._new_session(); print(compiling.WATCH.is_silent)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_numba_notifies_the_watch_of_what_it_compiles(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from merino.core.compiled import compiling\n"
        "compiling.PATIENCE_OF_FILES = 0.0\n"
        "from merino.core.compiled.jit import entry, kernel\n"
        "@kernel\ndef inner(x):\n    return x + 1\n"
        "@entry\ndef outer(x):\n    return inner(x) + inner(x)\n"
        "print(outer(20))\n"
    )
    environment = os.environ | {"MERINO_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(program)]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert first.stdout == second.stdout == "42\n"
    assert "Compiling __main__, once: 0%" in first.stderr
    assert not second.stderr, "loading from the cache is no compiling"


@pytest.mark.parametrize("were_on", [True, False])
def test_no_garbage_is_collected_until_the_outermost_function_is_compiled(were_on: bool) -> None:
    watch, seen = Watch(Screen(False)), []
    (gc.enable if were_on else gc.disable)()
    try:
        for is_start, function in ((True, ROOT_FUNCTION), (True, LEAF), (False, LEAF), (False, ROOT_FUNCTION)):
            watch.notify(SimpleNamespace(is_start=is_start, is_end=not is_start, data={"dispatcher": function}))
            seen.append(gc.isenabled())
    finally:
        gc.enable()
    assert seen == [False, False, False, were_on]
