"""The server as an ASGI application: the page's files, the answers and the WebSockets, behind the guard."""

import hashlib
import mimetypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess.svg
from starlette import applications, concurrency, middleware, requests, responses, routing, staticfiles, websockets

from merino.app.explorer import channel, guard, tasks
from merino.app.explorer.routes import ROUTES
from merino.app.explorer.state import Fields, ServerState
from merino.core.common import command

MAX_MESSAGE = 80 << 20  # characters of games that the page may send at once
SOCKETS: tuple[tuple[str, channel.Work, int], ...] = (  # path, work, characters of a message
    ("/ws/search", tasks.search, guard.MAX_BYTES),
    ("/ws/play", tasks.play, guard.MAX_BYTES),
    ("/ws/annotate", tasks.annotate, guard.MAX_BYTES),
    ("/ws/learn", tasks.learn, MAX_MESSAGE),
    ("/ws/match", tasks.match, guard.MAX_BYTES),
)
FOLDER = Path(__file__).parent / "page"
mimetypes.add_type("text/javascript", ".js")  # in some registries of Windows it is plain text, which no browser runs
NUMBERS = {"at", "start", "size", "number"}  # fields of an address
_TRY_AGAIN = 1013  # the code of a WebSocket for which there is no room
_WHOLE = re.compile(r"[0-9]{1,16}")
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
        routing.Route("/", _home),
        routing.Mount("/page/{version}", _PageFiles(directory=FOLDER)),
    ]
    return applications.Starlette(
        routes=routes,
        middleware=[middleware.Middleware(guard.Guard, port=port, token=state.token)],
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


def version_of(folder: Path) -> str:
    """A part of the addresses of a folder's files that is another one when a file has changed."""
    times = sorted((str(path.relative_to(folder)), path.stat().st_mtime_ns) for path in folder.rglob("*.*"))
    return hashlib.sha256(repr(times).encode()).hexdigest()[:12]


class _PageFiles(staticfiles.StaticFiles):
    """The files of the page, which a browser keeps: each version of them has addresses of its own."""

    def file_response(self, *args: Any, **more: Any) -> responses.Response:
        """See StaticFiles."""
        response = super().file_response(*args, **more)
        response.headers["cache-control"] = "max-age=31536000, immutable"
        return response


async def _home(_: requests.Request) -> responses.Response:
    text = (FOLDER / "index.html").read_text(encoding="utf-8").replace("/page/", f"/page/{version_of(FOLDER)}/")
    return responses.HTMLResponse(text, headers={"cache-control": "no-cache"})


async def _piece(request: requests.Request) -> responses.Response:
    """The drawing of a piece: wK, bN and so on."""
    letter = _PIECES.get(request.path_params["name"])
    if letter is None:
        return await _not_found(request, None)
    drawing = chess.svg.piece(chess.Piece.from_symbol(letter))
    return responses.Response(drawing, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})


async def _failed(_: requests.Request, __: Any) -> responses.Response:
    """The answer where something has gone wrong that should not; the error is printed, too."""
    return responses.JSONResponse({"error": channel.INTERNAL_ERROR}, status_code=500)


async def _not_found(request: requests.Request, _: Any) -> responses.Response:
    sentence = f"there is no {request.method} {request.url.path[:60]} here"
    return responses.JSONResponse({"error": sentence}, status_code=404)
