"""The command `merino`, also as `python -m merino`. It handles Ctrl-C from the first import on."""

# ruff: noqa: E402 (before anything else is loaded, Ctrl-C is to end the process without a word)
from merino.core.common.interrupt import INTERRUPTED, EndingAtOnce, end_at_once_from_here

end_at_once_from_here()

import gc
import os
import sys

OBJECTS = 50_000  # made between two searches for garbage: with 700 a sixth of a start went into searches that find none


def main() -> int:
    """Run the command line; the exit code."""
    gc.set_threshold(OBJECTS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads would wait for ours, which multiply, too
    try:
        with EndingAtOnce():
            from merino.app.shell.cli import main as run  # noqa: PLC0415 (an import that Ctrl-C may interrupt)
        code = run()
        end_at_once_from_here()
        gc.freeze()  # the last collection would go through all objects of numba, for a tenth of a second
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main())
