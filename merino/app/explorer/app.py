"""The server as an ASGI application: the page's files, the answers and the WebSockets, behind the guard.

The pieces are python-chess's, and two sets of Merino's own. The addresses of the page's files change with what they
hold, so that a browser need not ask for them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath
from typing import Any

import chess
import chess.svg
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from merino.app.explorer import tasks
from merino.app.explorer.channel import FAULTS, INTERNAL_ERROR, MAX_SOCKETS, Channel, Stop, Work, reason_of
from merino.app.explorer.guard import MAX_BYTES, Guard
from merino.app.explorer.routes import ROUTES, Answer
from merino.app.explorer.state import Fields, ServerState
from merino.core.common.command import LAB_ROUTES, LAB_SOCKETS, loaded

MAX_MESSAGE = 80 << 20  # characters of games that the page may send at once
MEDIA = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SOCKETS: tuple[tuple[str, Work, int], ...] = (  # path, work, characters of a message
    ("/ws/search", tasks.search, MAX_BYTES),
    ("/ws/play", tasks.play, MAX_BYTES),
    ("/ws/annotate", tasks.annotate, MAX_BYTES),
    ("/ws/learn", tasks.learn, MAX_MESSAGE),
    ("/ws/match", tasks.match, MAX_BYTES),
)
FOLDER = files(__name__.rpartition(".")[0]) / "page"
HOME, MAIN = "index.html", "main.js"
IN_HOME = '="/page/'  # how HOME begins the address of another file

_IMPORTED = re.compile(r'^(?:import|export)\b[^;]*?"(\.[\w./]+)";', re.MULTILINE)
_NAMES = {f"{'w' if letter.isupper() else 'b'}{letter.upper()}": letter for letter in "PNBRQKpnbrqk"}
_FOOT = "M11 39h23v-3.2c0-1.6-1.2-2.8-2.8-2.8H13.8c-1.6 0-2.8 1.2-2.8 2.8z"
# What stands on the foot, and the lines inside, in the other colour.
_SHAPES = {
    "P": (
        "M22.5 9.5a5.3 5.3 0 0 1 3.5 9.3c2.7 3.4 3.6 8.4 4.3 14.2H14.7c.7-5.8 1.6-10.8 4.3-14.2a5.3 5.3 0 0 1 3.5-9.3z",
        "",
    ),
    "N": (
        "M14 33c0-6.5 2.8-10 7-13-3 .4-5 1.8-6.6 3.4-1.6 1.1-3.9-.1-4.2-2 2-4.6 4-8.6 8.1-10.6l1-4.3 3.6 3.2"
        "c7 1 10.6 7 10.6 14.3 0 3-.4 6-1 9z",
        "M19.2 14.4h.1",
    ),
    "B": (
        "M22.5 5.5a2.7 2.7 0 0 1 2 4.5c4 3.2 6.5 7.2 6.5 11.5 0 4-2.2 6.6-4.4 8l.9 3.5h-10l.9-3.5"
        "c-2.2-1.4-4.4-4-4.4-8 0-4.3 2.5-8.3 6.5-11.5a2.7 2.7 0 0 1 2-4.5z",
        "M22.5 15.5v8M18.5 19.5h8",
    ),
    "R": ("M12 9h5v3.6h3V9h5v3.6h3V9h5v8.2l-3 3V28l2 5H13l2-5v-7.8l-3-3z", "M15.5 20.5h14M15.5 28h14"),
    "Q": (
        "M8.5 12.5a2 2 0 1 1 2.3 2l4 7.5 1.3-10.6a2 2 0 1 1 2.4-.2l4 9.8 4-9.8a2 2 0 1 1 2.4.2L30.2 22l4-7.5"
        "a2 2 0 1 1 2.3-2L33 33H12z",
        "M13.5 28.5h18",
    ),
    "K": (
        "M21 4.5h3v3h3v3h-3v3.6c6.2-1.6 11 1.7 11 6.9 0 4-2.8 7.4-5.5 12h-14c-2.7-4.6-5.5-8-5.5-12 "
        "0-5.2 4.8-8.5 11-6.9v-3.6h-3v-3h3z",
        "M22.5 19v9M15.5 28.5h14",
    ),
}  # fmt: skip
SETS = ("classic", "plain", "letters")
FOR_EVER = "max-age=31536000, immutable"
NUMBERS = {"at", "start", "size", "number"}  # fields of an address
_TRY_AGAIN = 1013  # the code of a WebSocket for which there is no room
_WHOLE = re.compile(r"[0-9]{1,16}")


def create_app(state: ServerState, port: int) -> Starlette:
    """The application that serves this port."""
    running: set[Stop] = set()
    opened: set[WebSocket] = set()
    answers = [*ROUTES, *((method, path, _in_lab(target)) for method, path, target in LAB_ROUTES)]
    works = [*SOCKETS, *((path, _in_lab(target), MAX_MESSAGE) for path, target in LAB_SOCKETS)]
    routes: list[BaseRoute] = [
        *(Route(path, _endpoint(answer, state), methods=[method]) for method, path, answer in answers),
        *(WebSocketRoute(path, _channel(work, longest, state, running, opened)) for path, work, longest in works),
        Route("/pieces/{name}.svg", _piece),
        Route("/pieces/{set}/{name}.svg", _piece),
        *_page_routes(),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, port=port)],
        exception_handlers={404: _not_found, 405: _not_found, 500: _failed},
    )
    app.state.running = running
    return app


def _in_lab(target: str) -> Callable[..., Any]:
    """What the lab answers, imported when it is first asked."""
    return lambda *asked: loaded(target)(*asked)


def _endpoint(answer: Callable[[Fields, ServerState], Answer], state: ServerState) -> Callable[[Request], Any]:
    async def respond(request: Request) -> Response:
        try:
            fields = _of_query(request) if request.method in ("GET", "HEAD") else Fields.read(await request.body())
            found = await run_in_threadpool(answer, fields, state)
        except FAULTS as error:
            return JSONResponse({"error": reason_of(error)}, status_code=400)
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody is there to read
        return JSONResponse(found, headers={"cache-control": "no-store"})

    return respond


def _of_query(request: Request) -> Fields:
    """The request in an address: texts and whole numbers, the moves separated by blanks or commas, and `free=1`."""
    fields: dict[str, Any] = dict(request.query_params)
    if "moves" in fields:
        fields["moves"] = fields["moves"].replace(",", " ").split()
        if not fields["moves"]:
            del fields["moves"]
    if "free" in fields:
        fields["free"] = fields["free"] in ("1", "true")
    for name in NUMBERS & fields.keys():
        if _WHOLE.fullmatch(fields[name]):
            fields[name] = int(fields[name])
    return Fields(fields)


def _channel(
    work: Work, longest: int, state: ServerState, running: set[Stop], opened: set[WebSocket]
) -> Callable[[WebSocket], Any]:
    async def serve(socket: WebSocket) -> None:
        if len(opened) >= MAX_SOCKETS:
            await socket.close(_TRY_AGAIN, f"{MAX_SOCKETS} are already open")
            return
        opened.add(socket)
        try:
            await Channel(socket, state, work, longest, running).serve()
        finally:
            opened.discard(socket)

    return serve


def _page_routes() -> list[Route]:
    """The page, and its files by version and path."""
    kept: dict[str, PageFiles] = {}

    async def home(_: Request) -> Response:
        read = PageFiles.read()
        now = kept.setdefault(read.version, read)
        return HTMLResponse(now.home, headers={"cache-control": "no-cache"})

    async def file(request: Request) -> Response:
        found, name = kept.get(request.path_params["version"]), request.path_params["name"]
        if found is None or name not in found.contents:
            return await _not_found(request, None)
        kind = MEDIA.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(found.contents[name], media_type=kind, headers={"cache-control": FOR_EVER})

    return [Route("/", home), Route("/page/{version}/{name:path}", file)]


async def _piece(request: Request) -> Response:
    """The drawing of a piece: wK, bN and so on, of a set if one is named."""
    found = drawing(request.path_params["name"], request.path_params.get("set", "classic"))
    if found is None:
        return await _not_found(request, None)
    return Response(found, media_type=MEDIA["svg"], headers={"cache-control": "max-age=86400"})


async def _failed(_: Request, __: Any) -> Response:
    """The answer where something has gone wrong that should not; the error is printed, too."""
    return JSONResponse({"error": INTERNAL_ERROR}, status_code=500)


async def _not_found(request: Request, _: Any) -> Response:
    return JSONResponse({"error": f"there is no {request.method} {request.url.path[:60]} here"}, status_code=404)


@dataclass(frozen=True)
class PageFiles:
    """The content of each file of the page, by its path in the folder, such as `base/dom.js`."""

    contents: dict[str, bytes]

    @classmethod
    def read(cls) -> PageFiles:
        """The files as they are now: who edits them has only to load the page again."""
        return cls(dict(sorted(_files_in(FOLDER))))

    @cached_property
    def version(self) -> str:
        """A word that is another one when any file is."""
        digest = blake2b(digest_size=6)
        for name, content in self.contents.items():
            digest.update(f"{name} {len(content)} ".encode() + content)
        return digest.hexdigest()

    @cached_property
    def first_modules(self) -> list[str]:
        """The modules that the page begins with; others are loaded when a panel is opened."""
        found = {MAIN}
        waiting = [MAIN]
        while waiting:
            module = waiting.pop()
            named = _IMPORTED.findall(self.contents[module].decode())
            imported = {normpath(join(dirname(module), name)) for name in named} - found
            found |= imported
            waiting += imported
        return sorted(found)

    @cached_property
    def home(self) -> str:
        """The page itself; its first modules are asked for at once, not one after another as they import each other."""
        text = self.contents[HOME].decode().replace(IN_HOME, f"{IN_HOME}{self.version}/")
        modules = self.first_modules
        links = (f'<link rel="modulepreload" href="/page/{self.version}/{name}">\n' for name in modules)
        return text.replace("</head>", f"{''.join(links)}</head>")


def _files_in(folder: Traversable, inside: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        name = f"{inside}{entry.name}"
        if entry.is_file():
            yield name, entry.read_bytes()
        else:
            yield from _files_in(entry, f"{name}/")


def drawing(name: str, of: str = "classic") -> str | None:
    """The SVG of a piece of a set, such as "wK" or "bN"; None if there is none."""
    letter = _NAMES.get(name)
    if letter is None or of not in SETS:
        return None
    if of == "classic":
        return chess.svg.piece(chess.Piece.from_symbol(letter))
    own, other = ("#fdfcf9", "#1b1e22") if letter.isupper() else ("#2a2e35", "#f4f1ea")
    edge = "#1b1e22" if letter.isupper() else "#0b0d10"
    inside = _letter(letter.upper(), own, other, edge) if of == "letters" else _shape(letter.upper(), own, other, edge)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 45 45" width="45" height="45">{inside}</svg>'


def _shape(kind: str, own: str, other: str, edge: str) -> str:
    shape, lines = _SHAPES[kind]
    outline = f'<path d="{shape}{_FOOT}" fill="{own}" stroke="{edge}" stroke-width="1.5" stroke-linejoin="round"/>'
    if not lines:
        return outline
    return f'{outline}<path d="{lines}" fill="none" stroke="{other}" stroke-width="1.6" stroke-linecap="round"/>'


def _letter(kind: str, own: str, other: str, edge: str) -> str:
    return (
        f'<circle cx="22.5" cy="22.5" r="18" fill="{own}" stroke="{edge}" stroke-width="1.5"/>'
        f'<text x="22.5" y="30.5" font-family="sans-serif" font-size="23" font-weight="700" text-anchor="middle" '
        f'fill="{other}">{kind}</text>'
    )
