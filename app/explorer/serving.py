"""The server as a process: its socket, its start and its end."""

from __future__ import annotations

import asyncio
import socket
import webbrowser
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from merino.inner.app.explorer.app import MAX_MESSAGE, create_app
from merino.inner.app.explorer.connections import BoundedProtocol
from merino.inner.app.explorer.server_state import ServerState
from merino.inner.core.board.game import Position
from merino.inner.core.common.errors import MerinoError
from merino.inner.engine.search.warmup import warm_up
from merino.inner.eval.families import active_file, load
from merino.inner.formats.pgn_headers import list_games
from merino.inner.study.shapley.values import MAX_ERROR, shapley_values
from merino.inner.study.words.account import account_around

HOST = "127.0.0.1"
GRACE_SECONDS = 1


class ServerError(MerinoError):
    """The server cannot run; the message says why."""


def serve(state: ServerState, port: int, opens_browser: bool, say: Callable[[str], object]) -> None:
    """Serve on this port, 0 for any free one, until Ctrl-C; `say` gets its address. Raises ServerError."""
    listener = _listen(port)
    with listener:
        port = listener.getsockname()[1]
        warm_up()
        list_games(b"")
        in_use = load(active_file())
        in_use.value_pieces(Position().record)
        account_around(Position().record, in_use)  # compiles what tells a net in words
        shapley_values(Position().record, in_use, MAX_ERROR)
        app = create_app(state, port)
        server = uvicorn.Server(config_of(app, port))
        try:
            asyncio.run(_run(server, listener, f"http://{HOST}:{port}/", opens_browser, say))
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            for stop in list(app.state.running):
                stop.set()


def config_of(app: Starlette, port: int) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        host=HOST,
        port=port,
        http=BoundedProtocol,
        log_level="error",  # a request that is no HTTP is the fault of who sends it
        access_log=False,
        lifespan="off",
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


async def _run(
    server: uvicorn.Server, listener: socket.socket, address: str, opens_browser: bool, say: Callable[[str], object]
) -> None:
    serving = asyncio.create_task(server.serve([listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        say(f"Explorer at {address}")
        if opens_browser:
            await asyncio.to_thread(webbrowser.open, address)
    await serving


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ServerError(f"cannot listen on port {port}: {error.strerror}") from error
    return listener
