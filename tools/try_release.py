"""Try a release as a new user would: `python3.13 tools/try_release.py dist [--games N]`, once per Python.

The wheel in `dist` is installed in an empty environment, with an empty folder for Merino's files. A bundle (.zip) in
place of `dist` is unpacked to a folder whose name has a blank, and runs without variables of the environment and
without a home. A first start gives a row of a table: when `uciok`, `readyok` and the first move came, and the bench.
Then the steps of the README are taken in their order; each line shows the time of the step, its CPU time, and the time
since the start. Only imports the standard library.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

DIALOGUE = (("uci", "uciok"), ("isready", "readyok"), ("go movetime 200", "bestmove"))
HEAD = "| System | Way | Size | `uciok` | `readyok` | First move | CPU | Memory | Bench |"
LIBRARY = """
import merino
position = merino.Position()
result = merino.Searcher().search(position, merino.Limits(depth=8))
assert result.line.depth == 8 and merino.load_evaluation("gen1").name
print(merino.san(position, result.best), merino.explain(position).summary[0])
"""
ROOT = Path(__file__).resolve().parent.parent
STEP, TIMES = 38, "{:7.1f} s {:7.1f} s CPU {:7.1f} s"


def cpu_of_children() -> float:
    """The seconds of processor time of all programs that have ended."""
    return sum(os.times()[2:4])


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a bundle; the path of its command."""
    with zipfile.ZipFile(archive) as packed:
        for each in packed.infolist():
            path = Path(packed.extract(each, folder))
            if mode := each.external_attr >> 16 & 0o777:
                path.chmod(mode)
    return next((folder / "merino").glob("merino*"))


class Trial:
    """An installed Merino, and the steps taken with it."""

    def __init__(self, folder: Path, release: Path) -> None:
        """`release` is a bundle, or a folder with a wheel."""
        self.folder, self.total = folder, 0.0  # seconds of all steps so far
        (folder / "work").mkdir()
        self.is_bundle = release.is_file()
        if self.is_bundle:
            self.archive, self.environment = release, dict[str, str]()
            if sys.platform == "win32":
                self.environment |= {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "USERPROFILE")}
            self.command = unpack(release, folder)
        else:
            (self.archive,) = release.resolve().glob("*.whl")
            kept = {name: value for name, value in os.environ.items() if not name.startswith(("MERINO", "PYTHON"))}
            self.environment = kept | {"MERINO_HOME": str(folder / "home")}
            venv.create(folder / "env", with_pip=True)
            self.command = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "merino"
            self.step("install the wheel", lambda: self.install(self.archive))

    def step(self, what: str, act: Callable[[], str]) -> None:
        """Take a step; print its time, its CPU time, the time of all steps so far, and the end of its output."""
        began, before = time.monotonic(), cpu_of_children()
        output = act().strip().splitlines()
        seconds = time.monotonic() - began
        self.total += seconds
        used = cpu_of_children() - before
        print(f"{what:<{STEP}}{TIMES.format(seconds, used, self.total)}   {(output or [''])[-1][:70]}", flush=True)

    def run(self, *words: object, program: Path | None = None, typed: str = "") -> str:
        """The output of Merino, or of a program; raises CalledProcessError after showing why it failed."""
        command, place = [str(program or self.command), *map(str, words)], self.folder / "work"
        done = subprocess.run(
            command, cwd=place, env=self.environment, input=typed, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
            done.check_returncode()
        return done.stdout

    def python(self, *words: object) -> str:
        """The output of the environment's Python."""
        return self.run(*words, program=self.command.with_name("python"))

    def install(self, *what: object) -> str:
        """Install packages."""
        return self.python("-m", "pip", "--quiet", "--disable-pip-version-check", "install", *what)

    def first_start(self) -> str:
        """A row of the table; raises ValueError where no search has found the first move."""
        began, before, answers = time.monotonic(), cpu_of_children(), list[str]()
        with subprocess.Popen(
            [self.command, "uci"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment, text=True
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            line = earlier = ""
            for word, end in DIALOGUE:
                print(word, file=process.stdin, flush=True)
                while not line.startswith(end):
                    earlier, line = line, process.stdout.readline()
                    if not line:
                        raise ValueError(f"no {end}")
                answers.append(f"{time.monotonic() - began:.2f} s")
            if " nodes " not in earlier or " depth 1 " in earlier:
                raise ValueError(f"no search has found the first move: {earlier}")
            status = Path(f"/proc/{process.pid}/status")  # which Linux has
            peak = re.search(r"VmHWM:\s*(\d+)", status.read_text()) if status.exists() else None
            print("quit", file=process.stdin, flush=True)
        answers.append(f"{cpu_of_children() - before:.2f} s | {int(peak[1]) / 1024 if peak else 0:.0f} MB")
        way = "bundle" if self.is_bundle else f"wheel, Python {platform.python_version()}"
        size = f"{self.archive.stat().st_size / 1e6:.1f} MB"
        nodes = self.run("bench").split()[-4]
        return f"| {platform.system()} {platform.machine()} | {way} | {size} | {' | '.join(answers)} | {nodes} |"

    def play(self) -> str:
        """Type a move at the console; the answer of the engine."""
        shown = self.run("console", typed="e4\nquit\n").splitlines()
        (answer,) = (line for line in shown if line.startswith("move: "))
        return answer

    def learn(self) -> str:
        """Learn from games, as in the README."""
        start = (ROOT / "weights" / "greko2015-before-training.txt").read_bytes()
        mine = self.folder / "work" / "my-weights.txt"
        mine.write_bytes(start)
        output = self.run("learn", ROOT / "games" / "selfplay.pgn", "--weights", mine)
        assert mine.read_bytes() != start, output
        return output

    def explore(self) -> str:
        """Start the explorer and ask it for its page and for a position."""
        command, errors = [str(self.command), "explorer", "--port", "0", "--no-browser"], self.folder / "explorer.log"
        with (
            errors.open("w") as log,  # the progress of the compiler goes there, too
            subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True) as process,
        ):
            try:
                assert process.stdout is not None
                greeting = process.stdout.readline().strip()
                assert greeting.startswith("Explorer at "), errors.read_text()
                with urllib.request.urlopen(greeting.removeprefix("Explorer at "), timeout=60) as page:
                    text = page.read().decode()
            finally:
                process.terminate()
        assert "<title>" in text
        return f"{greeting}: {len(text)} characters"


def main() -> None:
    """Take the steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("release", type=Path, help="a bundle (.zip), or a folder with a wheel")
    parser.add_argument("--games", default="20", help="games to play (default: %(default)s)")
    args = parser.parse_args()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{platform.platform()}, {os.cpu_count()} cores{load}")
    with tempfile.TemporaryDirectory(prefix="another place ") as folder:
        trial = Trial(Path(folder), args.release)
        print(HEAD, "|".join(["", *[" --- "] * 9, ""]), trial.first_start(), sep="\n")
        trial.step("first move at the console", trial.play)
        trial.step("first learned weights in use", trial.learn)
        trial.step("games", lambda: trial.run("match", "default", "gen13", "--games", args.games))
        if not trial.is_bundle:
            trial.step("import merino: search and explain", lambda: trial.python("-c", LIBRARY))
            trial.step("install the extra web", lambda: trial.install(f"{trial.archive}[web]"))
            trial.step("the explorer shows its page", trial.explore)
            print(trial.python("-m", "pip", "list"))


if __name__ == "__main__":
    main()
