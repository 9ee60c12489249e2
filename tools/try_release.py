"""Try a release as a stranger would: `python3.13 tools/try_release.py dist [--tests]`, with each Python there is.

`dist` holds the wheel and the sdist, as `python -m build` writes them. The wheel goes into an empty environment, run
with an empty folder for Merino's files, and each step of the README is taken and timed. With --tests the sdist is
unpacked, installed with all extras, and its tests are run. Imports nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable
from pathlib import Path

GUI = """
import chess, chess.engine, sys
board, engine = chess.Board(), chess.engine.SimpleEngine.popen_uci(sys.argv[1])
for _ in range(6):
    board.push(engine.play(board, chess.engine.Limit(white_clock=10, black_clock=10)).move)
engine.quit()
assert len(board.move_stack) == 6
print(chess.Board().variation_san(board.move_stack))
"""
LIBRARY = """
import merino
position = merino.Position()
result = merino.Searcher().search(position, merino.Limits(depth=8))
assert result.line.depth == 8 and merino.load_evaluation("gen1").name
print(merino.san(position, result.best), merino.explain(position).summary[0])
"""
WEIGHTS = "greko2015-before-training.txt"


class Trial:
    """An empty environment, an empty home, and the steps taken in it."""

    def __init__(self, folder: Path, dist: Path) -> None:
        self.folder = folder
        (self.wheel,), (self.sdist,) = dist.resolve().glob("*.whl"), dist.resolve().glob("*.tar.gz")
        self.bin = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MERINO", "PYTHON"))}
        self.environment = kept | {"MERINO_HOME": str(folder / "home")}
        (folder / "work").mkdir()

    def step(self, what: str, act: Callable[[], str]) -> None:
        """Take a step, and tell how long it took, by the clock and of the processor, and the end of what it said."""
        began, before = time.monotonic(), os.times()
        said = act().strip().splitlines()
        after, seconds = os.times(), time.monotonic() - began
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"{what:<34}{seconds:7.1f} s {used:7.1f} s CPU   {said[-1][:80] if said else ''}", flush=True)

    def run(self, *command: object, cwd: Path | None = None) -> str:
        """What a program of the environment prints; raises CalledProcessError after showing why it failed."""
        words = [str(self.bin / str(command[0])), *map(str, command[1:])]
        done = subprocess.run(
            words, cwd=cwd or self.folder / "work", env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
            done.check_returncode()
        return done.stdout

    def install(self, *what: object) -> str:
        """Install packages."""
        return self.run("python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *what)

    def make(self) -> str:
        """Make the environment and install the wheel."""
        venv.create(self.folder / "env", with_pip=True)
        return self.install(self.wheel)

    def learn(self) -> str:
        """Learn from the games of the sdist, as the README has it."""
        with tarfile.open(self.sdist) as archive:
            archive.extractall(self.folder, filter="data")
        (root,) = self.folder.glob("merino_chess-*")
        start = (root / "weights" / WEIGHTS).read_bytes()
        mine = self.folder / "work" / "my-weights.txt"
        mine.write_bytes(start)
        said = self.run("merino", "learn", root / "games" / "selfplay.pgn", "--weights", mine)
        assert mine.read_bytes() != start, said
        return said

    def explore(self) -> str:
        """Start the explorer and ask it for its page and for a position."""
        command = [str(self.bin / "merino"), "explorer", "--port", "0", "--no-browser"]
        process = subprocess.Popen(
            command, cwd=self.folder / "work", env=self.environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip().removeprefix("Explorer at ")
            with urllib.request.urlopen(address, timeout=60) as page:
                text = page.read().decode()
        finally:
            process.terminate()
            process.wait(timeout=60)
        assert "<title>" in text
        return f"{address}: {len(text)} characters"

    def test(self) -> str:
        """Run the tests of the sdist."""
        (root,) = self.folder.glob("merino_chess-*")
        self.install("--editable", f"{root}[dev]")
        self.run("merino", "warmup")
        return self.run(
            "python", "-m", "pytest", "-n", "auto", "--dist", "loadfile", "-p", "no:cacheprovider", cwd=root
        )


def main() -> None:
    """Take the steps."""
    print(f"Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), Path(sys.argv[1]))
        trial.step("install the wheel", trial.make)
        trial.step("merino --version", lambda: trial.run("merino", "--version"))
        trial.step("first start: compile for play", lambda: trial.run("merino", "warmup", "play"))
        trial.step("six moves with python-chess as GUI", lambda: trial.run("python", "-c", GUI, trial.bin / "merino"))
        trial.step("import merino: search, explain", lambda: trial.run("python", "-c", LIBRARY))
        trial.step("first learned weights", trial.learn)
        trial.step("install the extra web", lambda: trial.install(f"{trial.wheel}[web]"))
        trial.step("the explorer answers", trial.explore)
        packages = trial.run("python", "-m", "pip", "list", "--format", "json")
        names = {package["name"]: package["version"] for package in json.loads(packages)}
        print(", ".join(f"{name} {names[name]}" for name in ("numba", "llvmlite", "numpy", "chess")))
        if "--tests" in sys.argv[2:]:
            trial.step("the tests of the sdist", trial.test)


if __name__ == "__main__":
    main()
