"""The server as an ASGI application: the page's files, the answers and the WebSockets, behind the guard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from merino.app.explorer import learning, runs, studying, thinking
from merino.app.explorer.fields import Fields
from merino.app.explorer.guard import MAX_BYTES, Guard
from merino.app.explorer.page_files import PageFiles, drawing
from merino.app.explorer.routes import ROUTES, Answer
from merino.app.explorer.server_state import ServerState
from merino.app.explorer.sockets import MAX_SOCKETS, Channel, Work
from merino.app.explorer.stopping import FAULTS, INTERNAL_ERROR, Stop, reason_of

MAX_MESSAGE = 80 << 20  # characters of games that the page may send at once
MEDIA = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SOCKETS: tuple[tuple[str, Work, int], ...] = (  # path, work, characters of a message
    ("/ws/search", thinking.search, MAX_BYTES),
    ("/ws/play", thinking.play, MAX_BYTES),
    ("/ws/annotate", thinking.annotate, MAX_BYTES),
    ("/ws/learn", learning.learn, MAX_MESSAGE),
    ("/ws/points", learning.points, MAX_MESSAGE),
    ("/ws/match", runs.match, MAX_BYTES),
    ("/ws/profile", studying.profile, MAX_MESSAGE),
    ("/ws/drill", studying.drill, MAX_MESSAGE),
)
FOR_EVER = "max-age=31536000, immutable"
NUMBERS = {"at", "start", "size", "number"}  # fields of an address
_TRY_AGAIN = 1013  # the code of a WebSocket for which there is no room
_WHOLE = re.compile(r"[0-9]{1,16}")


def create_app(state: ServerState, port: int) -> Starlette:
    """The application that serves this port."""
    running: set[Stop] = set()
    routes: list[BaseRoute] = [
        Route(path, _endpoint(answer, state), methods=[method]) for method, path, answer in ROUTES
    ]
    opened: set[WebSocket] = set()
    routes += [WebSocketRoute(path, _channel(work, longest, state, running, opened)) for path, work, longest in SOCKETS]
    routes += [
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
    """The answer where something has gone wrong that should not; the error is printed besides."""
    return JSONResponse({"error": INTERNAL_ERROR}, status_code=500)


async def _not_found(request: Request, _: Any) -> Response:
    return JSONResponse({"error": f"there is no {request.method} {request.url.path[:60]} here"}, status_code=404)
