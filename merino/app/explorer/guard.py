"""The guard of the server: it answers only who has its token, and only from this machine, and limits requests.

Another user of this machine could send requests to this port: they lack the token. Another website could send them, or
let its own name point to 127.0.0.1 (DNS rebinding). The first shows in `Origin` and `Sec-Fetch-Site`, which must name
the page itself if given, the second in `Host`, which must name this machine.
"""

import json
import re
import secrets

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MAX_BYTES = 4 << 20  # of the body of a request
MAX_NET_BYTES = 64 << 20  # of one that brings a net, in base64
BRINGS_NETS = "/api/weights"
MAX_ADDRESS_BYTES = 16 << 10  # of path and query

_LENGTH = re.compile(r"[0-9]{1,20}")  # Python refuses to read numbers of thousands of digits
_OWN_SITES = {"same-origin", "none"}  # values of Sec-Fetch-Site; "none": the user has typed the address
_CLOSED = 1008  # the code of a WebSocket that breaks the policy


class TooLargeError(Exception):
    """A body of more bytes than a request to its address may have."""


class Guard:
    """Refuses requests that are not the page's own, lack the token or are too large; adds headers to every answer.

    The token is in the address of a request, as `?token=`, in its `Authorization: Bearer`, or in a cookie, which who
    comes with the address gets.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._cookie = f"merino-{port}"  # as all ports of a machine share their cookies
        self._hosts = {f"{name}:{port}" for name in LOOPBACK} | (set(LOOPBACK) if port == 80 else set())
        sockets = " ".join(f"ws://{host}" for host in sorted(self._hosts) if not host.startswith("["))
        self._headers = [
            (b"content-security-policy", _policy(sockets).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if scope["type"] != "http" and not refusal:
            await self._app(scope, receive, send)
            return
        if scope["type"] == "websocket" and refusal:
            await receive()
            await send({"type": "websocket.close", "code": _CLOSED, "reason": refusal[1][:100]})
            return
        send = self._with_headers(send, scope)
        if refusal:
            await _refuse(send, *refusal)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, _bounded(receive, _most_of(scope)), watched)
        except TooLargeError:
            if begun:
                raise
            await _refuse(send, 413, _too_large(scope))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason of a refusal, or None."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "this server answers only to 127.0.0.1 and localhost"
        is_own = all(origin.lower() == f"http://{hosts[0].lower()}" for origin in headers.getlist("origin"))
        if not is_own or not (_OWN_SITES.issuperset(headers.getlist("sec-fetch-site")) or _is_visit(scope, headers)):
            return 403, "this server answers only its own page"
        if not any(secrets.compare_digest(each.encode(), self._token.encode()) for each in self._offered(scope)):
            return 403, "the token is missing or old: open the link that 'merino explorer' has printed"
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > MAX_ADDRESS_BYTES:
            return 414, "the address of the request is too long"
        length = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length) or int(length) > _most_of(scope):
            return 413, _too_large(scope)
        return None

    def _offered(self, scope: Scope) -> tuple[str, str, str]:
        """What a request brings as the token, in its address and elsewhere; "" for nothing."""
        asked = HTTPConnection(scope)
        bearer = asked.headers.get("authorization", "").removeprefix("Bearer ")
        return asked.query_params.get("token", ""), bearer, asked.cookies.get(self._cookie, "")

    def _with_headers(self, send: Send, scope: Scope) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
                if self._offered(scope)[0] == self._token:
                    cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
                    message["headers"].append((b"set-cookie", cookie.encode()))
            await send(message)

        return sending


def _policy(sockets: str) -> str:
    """The content security policy: only content from this server, and never inside a frame."""
    return (
        f"default-src 'self'; connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; object-src 'none'"
    )


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows a link to the page, which may be on any other page."""
    is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/"
    return is_page and headers.getlist("sec-fetch-mode") == ["navigate"]


def _most_of(scope: Scope) -> int:
    """The most bytes that the body of a request may have."""
    return MAX_NET_BYTES if scope["path"] == BRINGS_NETS else MAX_BYTES


def _too_large(scope: Scope) -> str:
    return f"the request is larger than {_most_of(scope) >> 20} MiB"


def _bounded(receive: Receive, most: int) -> Receive:
    """`receive` that raises TooLargeError if a body exceeds its limit, whatever its headers say."""
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise TooLargeError
        return message

    return receiving


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
