"""Check the types of everything: `python -m tools.check_types`, of which the options of mypy are in pyproject.toml.

Type checkers look for `engine` in a folder of that name. They get one of links, in `build/types`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.wheel_layout import INNER, TOP

ROOT = Path(__file__).resolve().parent.parent
LINKS = ROOT / "build" / "types"
BESIDE = ("benchmarks", "tools")  # packages that are not installed


def link() -> None:
    """Make the folder of links anew: as the wheel is laid out."""
    links = {Path(TOP, path.name): path for path in (ROOT / TOP).glob("*.py")}
    links[Path(INNER, "__init__.py")] = ROOT / INNER / "__init__.py"
    links |= {Path(INNER, path.parent.name): path.parent for path in ROOT.glob("*/__init__.py")}
    for old in sorted(LINKS.rglob("*")):
        if old.is_symlink():
            old.unlink()
    for name, target in links.items():
        if target.name not in (TOP, "tests", *BESIDE):
            (LINKS / name).parent.mkdir(parents=True, exist_ok=True)
            (LINKS / name).symlink_to(target)


def main() -> int:
    """Link, and run mypy, whose exit code it returns; its messages name the files of the checkout."""
    link()
    names = [word for package in (TOP, *BESIDE) for word in ("-p", package)]
    mypy = subprocess.run([sys.executable, "-m", "mypy", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    for found in (f"{LINKS.relative_to(ROOT) / INNER}/", f"{LINKS.relative_to(ROOT)}/"):
        mypy.stdout = mypy.stdout.replace(found, "")
    print(mypy.stdout + mypy.stderr, end="")
    return mypy.returncode


if __name__ == "__main__":
    sys.exit(main())
