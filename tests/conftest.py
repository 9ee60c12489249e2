"""What every test run needs, and what tests share: a UCI process, and a browser with the explorer."""

from __future__ import annotations

import gc
import json
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `merino` does: NumPy's threads would wait for ours in vain

import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from merino.core.common import files, work
from merino.engine.uci.options import OPTIONS
from tests import interpreted
from tests.talk import Talk
from tests.uci_process import UciProcess

if TYPE_CHECKING:
    from tests.browser import Page
    from tests.load_explorer import Server

OBJECTS = 50_000  # made between two searches for garbage, as in `merino`: with 700 a fifth of all time went into them


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long a test may take where kernels run as plain Python."""
    sentence = "processor time of a test without compiling (%(default)s)"
    parser.addoption("--seconds", type=float, default=interpreted.SECONDS, help=sentence)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: a quarter of the time a test waits, for a process, a page or a lock."""
    return work.cores() + 1


def pytest_configure(config: pytest.Config) -> None:
    """Repeat the filter of `core.compiled.jit`: pytest puts its own filters in place of those it finds.

    And let Ctrl-C be heard: a shell starts what ends in & without it, and processes of tests would inherit that. And
    let no test find the weights and games of who runs it, where the system lets their folder be chosen by itself.
    """
    data = tempfile.TemporaryDirectory(prefix="merino-tests-")
    config.add_cleanup(data.cleanup)
    os.environ["XDG_DATA_HOME"] = data.name
    os.environ.pop("MERINO_WEIGHTS", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("filterwarnings", "ignore::numba.core.errors.NumbaExperimentalFeatureWarning")
    if interpreted.INTERPRETED:
        interpreted.set_up(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while thousands of tests are found, nor ever search them for some: half the time of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(OBJECTS)
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _simulated_card() -> None:
    """Whichever test asks for a graphics card first finds numba's simulator: it is chosen once in a process."""
    import numba  # noqa: PLC0415 (the tests are found faster without)

    numba.config.ENABLE_CUDASIM = 1


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run `merino` with these words in this process: what it prints, read if that is JSON, or its error."""

    def run(*words: object, status: int = 0) -> Any:
        from merino.app.shell.cli import main  # noqa: PLC0415 (the tests are found faster without)

        capsys.readouterr()
        assert main([*map(str, words)]) == status
        heard = capsys.readouterr()
        return heard.err if status else json.loads(heard.out) if "--json" in words else heard.out

    return run


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data folder, empty and of this test alone, with no weights asked for."""
    monkeypatch.setenv("MERINO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MERINO_WEIGHTS", raising=False)
    files.user_folder("data").mkdir(parents=True)
    return files.user_folder("data")


@pytest.fixture(scope="session")
def uci() -> Iterator[UciProcess]:
    """A process for all tests; it may be searching, with any position and options."""
    with UciProcess() as running:
        running.ask("uci", until="uciok")
        running.ask("go depth 1", until="bestmove")  # loaded, however long that takes
        yield running


@pytest.fixture
def engine(uci: UciProcess) -> Iterator[UciProcess]:
    """The shared process, idle, on the starting position, with the options as at the start; idle again at the end."""
    at_start = {option.name: option.default for option in OPTIONS.values() if option.kind != "button"}
    uci.send("stop", "ucinewgame")  # which waits for the move of the search that is stopped
    uci.send("debug off", *(f"setoption name {name} value {value}" for name, value in at_start.items()))
    uci.send("position startpos")
    uci.sync()
    yield uci
    uci.send("stop")


@pytest.fixture(scope="session")
def explorer() -> Iterator[Server]:
    """The server of the explorer for all tests of its page."""
    from tests.load_explorer import Server  # noqa: PLC0415 (only its tests need it)

    with Server() as running:
        yield running


@pytest.fixture(scope="session")
def browser(explorer: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The browser for all tests of the page."""
    from tests.browser import Page  # noqa: PLC0415

    with Page(explorer.link, tmp_path_factory.mktemp("downloads")) as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """The page on the starting position, without analysis; at the end the browser has nothing to complain of."""
    from tests.browser import HEIGHT, WIDTH  # noqa: PLC0415

    browser.set_out(analysis=False)
    browser.open_when_needed()
    yield browser
    assert browser.complaints() == []
    browser.leave()
    browser.resize(WIDTH, HEIGHT)
