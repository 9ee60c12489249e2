"""Try a release as a new user would: `python3.13 tools/try_release.py dist [--make] [--tests]`, once per Python.

`dist` holds the wheel and the sdist, as `python -m build` writes them. The wheel is installed in an empty environment,
with an empty folder for Merino's files. Then the steps of the README are taken in their order, and each line shows the
time of the step, its CPU time, and the time since the start. With --make, the same starts from the unpacked sdist by
`make run` instead of the wheel. With --tests, the tests of the sdist are run. Only imports the standard library.
"""

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
STEP, TIMES = 38, "{:7.1f} s {:7.1f} s CPU {:7.1f} s"


class Trial:
    """An empty environment, an empty home, and the steps taken in it."""

    def __init__(self, folder: Path, dist: Path) -> None:
        self.folder = folder
        (self.wheel,), (self.sdist,) = dist.resolve().glob("*.whl"), dist.resolve().glob("*.tar.gz")
        self.bin = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MERINO", "PYTHON"))}
        self.environment = kept | {"MERINO_HOME": str(folder / "home")}
        (folder / "work").mkdir()
        with tarfile.open(self.sdist) as archive:
            archive.extractall(folder, filter="data")
        (self.root,) = folder.glob("merino_chess-*")
        self.total = 0.0  # seconds of all steps so far

    def step(self, what: str, act: Callable[[], str]) -> None:
        """Take a step; print its time, its CPU time, the time of all steps so far, and the end of its output."""
        began, before = time.monotonic(), os.times()
        output = act().strip().splitlines()
        after, seconds = os.times(), time.monotonic() - began
        self.total += seconds
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"{what:<{STEP}}{TIMES.format(seconds, used, self.total)}   {(output or [''])[-1][:70]}", flush=True)

    def run(self, *command: object, cwd: Path | None = None, typed: str = "") -> str:
        """The output of a program of the environment; raises CalledProcessError after showing why it failed."""
        program = self.bin / str(command[0])
        words = [str(program if program.exists() else command[0]), *map(str, command[1:])]
        done = subprocess.run(
            words,
            cwd=cwd or self.folder / "work",
            env=self.environment,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
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

    def make_run(self) -> str:
        """`make run` in the unpacked sdist, up to the end of a game of four moves; its environment is then in use."""
        output = self.run("make", "run", f"PYTHON={sys.executable}", "ARGS=--maxmoves 4", cwd=self.root)
        self.bin = self.root / ".venv" / self.bin.name
        return output

    def play(self) -> str:
        """Type a move at the console; the answer of the engine."""
        output = self.run("merino", "console", typed="e4\nquit\n")
        (answer,) = (line for line in output.splitlines() if line.startswith("move: "))
        return answer

    def learn(self) -> str:
        """Learn from the games of the sdist, as in the README."""
        start = (self.root / "weights" / WEIGHTS).read_bytes()
        mine = self.folder / "work" / "my-weights.txt"
        mine.write_bytes(start)
        output = self.run("merino", "learn", self.root / "games" / "selfplay.pgn", "--weights", mine)
        assert mine.read_bytes() != start, output
        return output

    def explore(self) -> str:
        """Start the explorer and ask it for its page and for a position."""
        command = [str(self.bin / "merino"), "explorer", "--port", "0", "--no-browser"]
        errors = self.folder / "explorer.log"  # the progress of the compiler goes there, too
        with errors.open("w") as log:
            process = subprocess.Popen(
                command, cwd=self.folder / "work", env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        try:
            assert process.stdout is not None
            greeting = process.stdout.readline().strip()
            assert greeting.startswith("Explorer at "), errors.read_text()
            with urllib.request.urlopen(greeting.removeprefix("Explorer at "), timeout=60) as page:
                text = page.read().decode()
        finally:
            process.terminate()
            process.wait(timeout=60)
        assert "<title>" in text
        return f"{greeting}: {len(text)} characters"

    def test(self) -> str:
        """Run the tests of the sdist."""
        self.install("--editable", f"{self.root}[dev]")
        self.run("merino", "warmup")
        return self.run(
            "python", "-m", "pytest", "-n", "auto", "--dist", "loadfile", "-p", "no:cacheprovider", cwd=self.root
        )


def main() -> None:
    """Take the steps."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores{load}")
    print(f"{'':<{STEP}}{'time':>9}{'':>2}{'':>12}{'total':>9}")
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), Path(sys.argv[1]))
        if "--make" in sys.argv[2:]:
            trial.step("make run: install, compile, play", trial.make_run)
        else:
            trial.step("install the wheel", trial.make)
        trial.step("first move at the console", trial.play)
        trial.step("six moves in a GUI (python-chess)", lambda: trial.run("python", "-c", GUI, trial.bin / "merino"))
        package = ("--editable", f"{trial.root}[web]") if "--make" in sys.argv[2:] else (f"{trial.wheel}[web]",)
        trial.step("install the extra web", lambda: trial.install(*package))
        trial.step("the explorer shows its page", trial.explore)
        trial.step("first learned weights in use", trial.learn)
        trial.step("import merino: search and explain", lambda: trial.run("python", "-c", LIBRARY))
        packages = trial.run("python", "-m", "pip", "list", "--format", "json")
        names = {package["name"]: package["version"] for package in json.loads(packages)}
        print(", ".join(f"{name} {names[name]}" for name in ("numba", "llvmlite", "numpy", "chess")))
        if "--tests" in sys.argv[2:]:
            trial.step("the tests of the sdist", trial.test)


if __name__ == "__main__":
    main()
