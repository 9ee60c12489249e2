"""The server as a process: its socket, its start and its end; its connections wait for no client for ever."""

import asyncio
import logging
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from merino.app.explorer.app import MAX_MESSAGE, create_app
from merino.app.explorer.state import ServerState
from merino.core.board.game import Position
from merino.core.common.errors import MerinoError
from merino.engine.search.warmup import warm_up
from merino.eval.families import active_file, load
from merino.formats.pgn_games import list_games
from merino.study import accounts, shapley

HOST = "127.0.0.1"
GRACE_SECONDS = 1
OPENING_SECONDS = 30  # that a browser may take to start
REQUEST_SECONDS = 15.0  # for a client to send a whole request, and to read the answer
MAX_CONNECTIONS = 200  # below what a process may open, 256 on some systems


class ServerError(MerinoError):
    """The server cannot run; the message says why."""


def serve(state: ServerState, port: int, opens_browser: bool, say: Callable[[str], object]) -> None:
    """Serve on this port, 0 for any free one, until Ctrl-C; `say` gets its address. Raises ServerError."""
    listener = listen(port)
    with listener:
        port = listener.getsockname()[1]
        warm_up()
        list_games(b"")
        in_use = load(active_file())
        in_use.value_pieces(Position().record)
        accounts.account_around(Position().record, in_use)  # compiles what describes a net in words
        shapley.shapley_values(Position().record, in_use, shapley.MAX_ERROR)
        app = create_app(state, port)
        server = uvicorn.Server(config_of(app, port))
        try:
            asyncio.run(_run(server, listener, f"http://{HOST}:{port}/?token={state.token}", opens_browser, say))
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            for stop in list(state.running):
                stop.set()
            for end in state.at_end:
                end()


def config_of(app: Starlette, port: int) -> uvicorn.Config:
    """How the application is served."""
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
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


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether it may be a fault of ours: a message that is not UTF-8, which closes its WebSocket, is the client's."""
    return not (record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError) and "client" in record.msg)


async def _run(
    server: uvicorn.Server, listener: socket.socket, link: str, opens_browser: bool, say: Callable[[str], object]
) -> None:
    serving = asyncio.create_task(server.serve([listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        say(f"Explorer at {link}")
        if opens_browser:
            await _open(link, serving, say)
    await serving


async def _open(link: str, serving: asyncio.Task[None], say: Callable[[str], object]) -> None:
    """Open the browser by a file that leads to the link, as every user sees the words of a browser's command.

    It lies in the home folder, as some browsers may read no other, and is removed after a while.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="merino-", dir=Path.home()) as folder:
            page = Path(folder) / "explorer.html"
            page.write_text(f'<meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Merino Explorer</a>')
            await asyncio.to_thread(webbrowser.open, page.as_uri())
            await asyncio.wait([serving], timeout=OPENING_SECONDS)
    except (OSError, RuntimeError) as error:  # there is no home folder, or it cannot be written
        say(f"No browser is opened ({error}): open the link yourself.")


def listen(port: int) -> socket.socket:
    """The socket that listens on this port of this machine, 0 for any; raises ServerError."""
    # asyncio sends at once (TCP_NODELAY) only where the protocol is named; else each answer waits 40 ms for an
    # acknowledgement of its headers.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform == "win32":  # where SO_REUSEADDR lets two servers listen on one port
        option = socket.SO_EXCLUSIVEADDRUSE
    else:
        option = socket.SO_REUSEADDR  # even where connections of a server that has ended are still open
    try:
        listener.setsockopt(socket.SOL_SOCKET, option, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ServerError(f"cannot listen on port {port}: {error.strerror}") from error
    return listener


class BoundedProtocol(H11Protocol):
    """HTTP of uvicorn with limits. Where too many connections are open, the one that has waited longest is dropped."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._expect_client()
        if len(self.connections) > MAX_CONNECTIONS:
            self._drop_oldest()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._expect_nothing()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        """See H11Protocol."""
        self._expect_nothing()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """See H11Protocol."""
        super().on_response_complete()
        self._expect_client()

    @property
    def waits_for_client(self) -> bool:
        """Whether it is the client's turn: to send the rest of a request, or the next one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    @property
    def waits_since(self) -> float:
        """When it began to wait, by the clock of the loop."""
        return self._deadline.when() if self._deadline else 0.0

    def _expect_client(self) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Drop a client that is too slow; wait on if it is not its turn, or if it has read something."""
        unread = self.transport.get_write_buffer_size()
        if self.waits_for_client or unread and unread == self._unread:
            self.transport.abort()
            return
        self._unread = unread
        self._expect_client()

    def _drop_oldest(self) -> None:
        waiting = [
            each
            for each in self.connections
            if isinstance(each, BoundedProtocol) and each.waits_for_client and not each.transport.is_closing()
        ]
        if waiting and waiting != [self]:
            min(waiting, key=lambda each: each.waits_since).transport.abort()
