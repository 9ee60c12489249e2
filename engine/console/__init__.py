"""The console: play, set up positions and look into the engine by typing.

This module imports nothing heavy, so that a person is greeted before the engine is loaded.
"""

from __future__ import annotations

import argparse
import sys

from engine import NAME, __version__
from engine.console.command_line import Parser, above_zero
from engine.console.loading import patience

HASH_MB = 64


def run_console(argv: list[str]) -> int:
    """Run the console on the standard streams until quit or the end of input; the exit code.

    After the command `uci` it hands over to the UCI loop, which does not return.
    """
    options = _parse(argv)
    print(f"{NAME} {__version__}, a chess engine whose evaluation you can read.", flush=True)
    with patience(sys.stdout):
        from engine.console.start import converse, open_session  # noqa: PLC0415 (slow: loads the engine)

        session = open_session(options.hash, options.threads, options.weights, options.ascii)
    code = converse(session)
    if session.goes_on_in_uci:
        from engine.uci import serve  # noqa: PLC0415 (seldom needed)

        serve(first_line="uci")
    return code


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="merino console", description="Play against Merino by typing moves.")
    parser.add_argument("--ascii", action="store_true", help="draw the pieces as letters")
    parser.add_argument("--weights", metavar="FILE", help="evaluate with the weights in this file")
    parser.add_argument("--hash", metavar="MB", type=above_zero, default=HASH_MB, help="size of the table of positions")
    parser.add_argument("--threads", metavar="N", type=above_zero, default=1, help="search with so many threads")
    return parser.parse_args(argv)
