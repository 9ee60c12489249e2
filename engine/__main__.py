"""The command `merino`, also as `python -m engine`. It handles Ctrl-C from the first import on."""

import gc
import os
import sys


def main() -> int:
    """Run the command line; the exit code."""
    # ruff: noqa: PLC0415 (imports that Ctrl-C may interrupt)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's threads would wait for ours, which multiply, too
    try:
        from engine.common.interrupt import EndingAtOnce, end_at_once_from_here

        with EndingAtOnce():
            from engine.shell.cli import main as run
        code = run()
        end_at_once_from_here()
        gc.freeze()  # the last collection would go through all objects of numba, for a tenth of a second
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
