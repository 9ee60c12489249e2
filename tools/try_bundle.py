"""Try a bundle as a player would, and print a row of a table: `python3 tools/try_bundle.py dist/merino-*.zip`.

It is unpacked to a folder whose name has a blank. Merino runs there without variables of the environment and without a
home. The first start says when `uciok`, `readyok` and the first move came; the bench follows, and games of Merino
against itself. With `--command FILE` the same for a command that is installed already, in an empty home. Only imports
the standard library.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

DIALOGUE = (("uci", "uciok"), ("isready", "readyok"), ("go movetime 200", "bestmove"))
HEAD = "| System | Way | Size | `uciok` | `readyok` | First move | CPU | Memory | Bench |"


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a bundle; the path of its command."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for each in packed.infolist():
                path = Path(packed.extract(each, folder))
                if mode := each.external_attr >> 16 & 0o777:
                    path.chmod(mode)
    else:
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder], check=True)
    return next(path for path in (folder / "merino" / "merino", folder / "merino" / "merino.exe") if path.exists())


def talk(command: Path, environment: dict[str, str]) -> tuple[list[float], float, float]:
    """The seconds to each answer, those of processor time, and the most memory in MB; raises ValueError for depth 1."""
    began, before, answers = time.monotonic(), os.times(), []
    with subprocess.Popen(
        [command, "uci"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        line = ""
        for word, end in DIALOGUE:
            print(word, file=process.stdin, flush=True)
            while not line.startswith(end):
                before_it, line = line, process.stdout.readline()
                if not line:
                    raise ValueError(f"no {end}")
            answers.append(time.monotonic() - began)
        if " nodes " not in before_it or " depth 1 " in before_it:
            raise ValueError(f"no search has found the first move: {before_it}")
        memory = _memory(process.pid)
        print("quit", file=process.stdin, flush=True)
    after = os.times()
    return answers, after.children_user + after.children_system - before.children_user - before.children_system, memory


def _memory(process: int) -> float:
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def main() -> None:
    """Try it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("archive", type=Path, nargs="?")
    parser.add_argument("--command", type=Path, help="an installed command instead of a bundle")
    parser.add_argument("--way", default="bundle", help="its name in the table (default: %(default)s)")
    parser.add_argument("--games", type=int, default=0, help="games to play at the end (default: none)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="another place ") as place:
        folder = Path(place)
        command = args.command.absolute() if args.command else unpack(args.archive, folder)
        size = f"{args.archive.stat().st_size / 1e6:.0f} MB" if args.archive else ""
        environment = {"MERINO_HOME": str(folder / "home")} if args.command else {}
        if sys.platform == "win32":
            environment |= {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP")}
        answers, seconds, memory = talk(command, environment)
        run = [command, "bench"]
        bench = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout.split()[-4]
        times = " | ".join(f"{each:.2f} s" for each in (*answers, seconds))
        system = f"{platform.system()} {platform.machine()}"
        print(HEAD, "|".join(["", *[" --- "] * 9, ""]), sep="\n")
        print(f"| {system} | {args.way} | {size} | {times} | {memory:.0f} MB | {bench} |")
        if args.games:
            words = ["match", "default", "gen13", "--games", str(args.games)]
            subprocess.run([command, *words], env=environment, check=True)


if __name__ == "__main__":
    main()
