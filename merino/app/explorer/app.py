"""The server as an ASGI application: the page's files, the answers and the WebSockets, behind the guard.

The addresses of the page's files change with what they hold, so that a browser need not ask for them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import chess.svg
from starlette import applications, concurrency, middleware, requests, responses, routing, websockets

from merino.app.explorer import channel, guard, tasks
from merino.app.explorer.routes import ROUTES
from merino.app.explorer.state import Fields, ServerState
from merino.core.common import command

MAX_MESSAGE = 80 << 20  # characters of games that the page may send at once
MEDIA = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SOCKETS: tuple[tuple[str, channel.Work, int], ...] = (  # path, work, characters of a message
    ("/ws/search", tasks.search, guard.MAX_BYTES),
    ("/ws/play", tasks.play, guard.MAX_BYTES),
    ("/ws/annotate", tasks.annotate, guard.MAX_BYTES),
    ("/ws/learn", tasks.learn, MAX_MESSAGE),
    ("/ws/match", tasks.match, guard.MAX_BYTES),
)
FOLDER = Path(__file__).parent / "page"
HOME, MAIN = "index.html", "main.js"
IN_HOME = '="/page/'  # how HOME begins the address of another file
FOR_EVER = "max-age=31536000, immutable"
NUMBERS = {"at", "start", "size", "number"}  # fields of an address
_TRY_AGAIN = 1013  # the code of a WebSocket for which there is no room
_WHOLE = re.compile(r"[0-9]{1,16}")
_IMPORTED = re.compile(r'^(?:import|export)\b[^;]*?"(\.[\w./]+)";', re.MULTILINE)
_PIECES = {f"{'w' if letter.isupper() else 'b'}{letter.upper()}": letter for letter in "PNBRQKpnbrqk"}


def create_app(state: ServerState, port: int) -> applications.Starlette:
    """The application that serves this port."""
    opened: set[websockets.WebSocket] = set()
    answers = [*ROUTES, *((method, path, _in_lab(target)) for method, path, target in command.LAB_ROUTES)]
    works = [*SOCKETS, *((path, _in_lab(target), MAX_MESSAGE) for path, target in command.LAB_SOCKETS)]
    routes: list[routing.BaseRoute] = [
        *(routing.Route(path, _endpoint(answer, state), methods=[method]) for method, path, answer in answers),
        *(routing.WebSocketRoute(path, _channel(work, longest, state, opened)) for path, work, longest in works),
        routing.Route("/pieces/{name}.svg", _piece),
        *_page_routes(),
    ]
    return applications.Starlette(
        routes=routes,
        middleware=[middleware.Middleware(guard.Guard, port=port)],
        exception_handlers={404: _not_found, 405: _not_found, 500: _failed},
    )


def _in_lab(target: str) -> Callable[..., Any]:
    """What the lab answers, imported when it is first asked."""
    return lambda *asked: command.loaded(target)(*asked)


def _endpoint(answer: Callable[[Fields, ServerState], channel.Message], state: ServerState) -> Callable[..., Any]:
    async def respond(request: requests.Request) -> responses.Response:
        try:
            fields = _of_query(request) if request.method in ("GET", "HEAD") else Fields.read(await request.body())
            found = await concurrency.run_in_threadpool(answer, fields, state)
        except channel.FAULTS as error:
            return responses.JSONResponse({"error": channel.reason_of(error)}, status_code=400)
        except requests.ClientDisconnect:
            return responses.Response(status_code=400)  # which nobody is there to read
        return responses.JSONResponse(found, headers={"cache-control": "no-store"})

    return respond


def _of_query(request: requests.Request) -> Fields:
    """The request in an address: texts and whole numbers, the moves separated by blanks or commas, and `free=1`."""
    fields: dict[str, Any] = dict(request.query_params)
    for name, text in request.query_params.items():
        if name == "moves":
            fields[name] = text.replace(",", " ").split()
        elif name == "free":
            fields[name] = text in ("1", "true")
        elif name in NUMBERS and _WHOLE.fullmatch(text):
            fields[name] = int(text)
    return Fields(fields)


def _channel(
    work: channel.Work, longest: int, state: ServerState, opened: set[websockets.WebSocket]
) -> Callable[..., Any]:
    async def serve(socket: websockets.WebSocket) -> None:
        if len(opened) >= channel.MAX_SOCKETS:
            await socket.close(_TRY_AGAIN, f"{channel.MAX_SOCKETS} are already open")
            return
        opened.add(socket)
        try:
            await channel.Channel(socket, state, work, longest).serve()
        finally:
            opened.discard(socket)

    return serve


def _page_routes() -> list[routing.Route]:
    """The page, and its files by version and path."""
    kept: dict[str, PageFiles] = {}

    async def home(_: requests.Request) -> responses.Response:
        read = PageFiles.read()
        now = kept.setdefault(read.version, read)
        return responses.HTMLResponse(now.home, headers={"cache-control": "no-cache"})

    async def file(request: requests.Request) -> responses.Response:
        found, name = kept.get(request.path_params["version"]), request.path_params["name"]
        if found is None or name not in found.contents:
            return await _not_found(request, None)
        kind = MEDIA.get(name.rpartition(".")[2], "application/octet-stream")
        return responses.Response(found.contents[name], media_type=kind, headers={"cache-control": FOR_EVER})

    return [routing.Route("/", home), routing.Route("/page/{version}/{name:path}", file)]


async def _piece(request: requests.Request) -> responses.Response:
    """The drawing of a piece: wK, bN and so on."""
    letter = _PIECES.get(request.path_params["name"])
    if letter is None:
        return await _not_found(request, None)
    drawing = chess.svg.piece(chess.Piece.from_symbol(letter))
    return responses.Response(drawing, media_type=MEDIA["svg"], headers={"cache-control": "max-age=86400"})


async def _failed(_: requests.Request, __: Any) -> responses.Response:
    """The answer where something has gone wrong that should not; the error is printed, too."""
    return responses.JSONResponse({"error": channel.INTERNAL_ERROR}, status_code=500)


async def _not_found(request: requests.Request, _: Any) -> responses.Response:
    sentence = f"there is no {request.method} {request.url.path[:60]} here"
    return responses.JSONResponse({"error": sentence}, status_code=404)


@dataclass(frozen=True)
class PageFiles:
    """The content of each file of the page, by its path in the folder, such as `base/dom.js`."""

    contents: dict[str, bytes]

    @classmethod
    def read(cls) -> PageFiles:
        """The files as they are now: who edits them has only to load the page again."""
        paths = sorted(FOLDER.rglob("*.*"))
        return cls({path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths})

    @cached_property
    def version(self) -> str:
        """A word that is another one when any file is."""
        return blake2b(repr(self.contents).encode(), digest_size=6).hexdigest()

    @cached_property
    def first_modules(self) -> list[str]:
        """The modules that the page begins with; others are loaded when a panel is opened."""
        found, waiting = set[str](), [MAIN]
        while waiting:
            module = waiting.pop()
            found.add(module)
            named = _IMPORTED.findall(self.contents[module].decode())
            waiting += {normpath(join(dirname(module), name)) for name in named} - found
        return sorted(found)

    @cached_property
    def home(self) -> str:
        """The page itself; its first modules are asked for at once, not one after another as they import each other."""
        text = self.contents[HOME].decode().replace(IN_HOME, f"{IN_HOME}{self.version}/")
        links = (f'<link rel="modulepreload" href="/page/{self.version}/{name}">\n' for name in self.first_modules)
        return text.replace("</head>", f"{''.join(links)}</head>")
