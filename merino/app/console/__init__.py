"""The console: play, set up positions and look into the engine by typing.

This module imports nothing heavy, so that a person is greeted before the engine is loaded.
"""

from merino.app.console import shared
from merino.core.common.about import NAME, __version__


def run_console(argv: list[str]) -> int:
    """Run the console on the standard streams until quit or the end of input; the exit code.

    After the command `uci` it hands over to the UCI loop, which does not return.
    """
    parser = shared.Parser(
        prog="merino console",
        description="Play against Merino, analyse and explain positions at a prompt; 'help' there lists the commands.",
        examples=("merino console", "merino console --threads 2 --hash 256 --ascii"),
    )
    shared.add_weights(parser)
    shared.add_engine(parser)
    shared.add_ascii(parser)
    options = parser.parse_args(argv)
    print(f"{NAME} {__version__}, a chess engine whose evaluation you can read.", flush=True)
    from merino.app.console.loop import converse, open_session  # noqa: PLC0415 (slow: loads the engine)

    session = open_session(options.hash, options.threads, options.weights, options.ascii)
    code = converse(session)
    if session.goes_on_in_uci:
        from merino.engine.uci import serve  # noqa: PLC0415 (seldom needed)

        serve(first_line="uci")
    return code
