"""Apply each addition to a copy of the checkout and run its tests there: `python -m tests.additions [NAME ...]`."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from merino.core.common.files import user_folder
from tests.additions import AdditionError, read_additions
from tests.mutants import NICENESS


def main() -> int:
    """Print a line for each addition; return 1 where one fails, 2 where something stands in the way."""
    parser = argparse.ArgumentParser(prog="python -m tests.additions", description="Try the additions of CONTRIBUTING.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these additions")
    names = parser.parse_args().names
    os.nice(NICENESS)
    failed = 0
    try:
        additions = read_additions()
        if unknown := set(names) - {addition.name for addition in additions}:
            raise AdditionError(f"there is no addition {', '.join(sorted(unknown))}")
    except AdditionError as error:
        print(error, file=sys.stderr)
        return 2
    for addition in additions:
        if names and addition.name not in names:
            continue
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="merino-addition-") as folder:
            try:
                said = addition.prove(Path(folder), user_folder("cache"))
            except AdditionError as error:
                failed, said = 1, str(error)
        print(f"{addition.name}: {len(addition.files)} files, {time.perf_counter() - began:.0f} s: {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
