"""`merino explorer`: the explorer in the browser, served until Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from merino.app.console.command_line import Parser, file_path, whole
from merino.app.console.positions import take_setup
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.errors import MerinoError
from merino.engine.notation.positions import names_position
from merino.formats.sources import decoded

DEFAULT_PORT = 8765


def run_explorer(arguments: Sequence[str]) -> int:
    """Serve the page; 0 after Ctrl-C. Raises CommandError."""
    parser = Parser(
        prog="merino explorer",
        usage="merino explorer [FEN | FILE.pgn] [options]",
        description="Open a page in the browser that shows a position and its reasons.",
        examples=("merino explorer", "merino explorer games.pgn --port 0 --no-browser"),
    )
    sentence = "position or games to begin with (default: the starting position)"
    parser.add_argument("words", nargs="*", default=[], metavar="FEN | FILE.pgn", help=sentence)
    sentence = "port to listen on, 0 for any free one (default: %(default)s)"
    parser.add_argument("--port", type=whole(0, 65535), default=DEFAULT_PORT, metavar="N", help=sentence)
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    args = parser.parse_args(arguments)
    typed, path = _first(args.words)
    try:
        import starlette  # noqa: F401, PLC0415 (an extra)
        import uvicorn  # noqa: F401, PLC0415
        import websockets  # noqa: F401, PLC0415
    except ImportError as error:
        raise CommandError(
            f"explorer: it needs {error.name}; install Merino with the extra 'web', as in pip install '.[web]'"
        ) from error
    from merino.app.explorer.serving import serve  # noqa: PLC0415
    from merino.app.explorer.state import MAX_TEXT, GamesFile, ServerState  # noqa: PLC0415 (what they serve)

    with errors_named("explorer", MerinoError), GamesFile(path) if path else nullcontext() as games:
        state = ServerState(typed.text, typed.is_free, games)
        if games and games.holds_positions:
            state = ServerState(decoded(games.text(0, MAX_TEXT)))
        elif games:
            games.check()
        serve(state, args.port, not args.no_browser, _say)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


class _Typed(NamedTuple):
    """What the page treats as if typed, and whether it is a position that the rules do not allow."""

    text: str | None = None
    is_free: bool = False


def _first(words: Sequence[str]) -> tuple[_Typed, Path | None]:
    """What the page begins with: a text, or a file of games. Raises CommandError."""
    if not words:
        return _Typed(), None
    if names_position(words[0]):
        setup, rest = take_setup(words, "explorer")
        if rest:
            raise UsageError(f"explorer: expected nothing after the FEN, not '{' '.join(rest)[:60]}'")
        return _Typed(setup.fen, setup.position is None), None
    if len(words) > 1:
        raise UsageError(f"explorer: expected a FEN or one file, not '{' '.join(words)[:60]}'")
    return _Typed(), file_path(words[0])
