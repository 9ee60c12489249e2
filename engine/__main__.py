"""The command `merino`, also as `python -m engine`. It handles Ctrl-C from the first import on."""

import sys


def main() -> int:
    """Run the command line; the exit code."""
    # ruff: noqa: PLC0415 (imports that Ctrl-C may interrupt)
    try:
        from engine.common.interrupt import EndingAtOnce, end_at_once_from_here

        with EndingAtOnce():
            from engine.shell.cli import main as run
        code = run()
        end_at_once_from_here()
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
