"""`make load`: the explorer under load. Clients of this machine flood it, go slow, lie and send what is no text.

After each trial the server must still answer, and have said nothing on its error output. The table that it prints is
the one in docs/lab/reliability.md.
"""

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from merino.app.explorer.serving import MAX_CONNECTIONS, REQUEST_SECONDS
from tools.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 0 9"
PATIENCE = 120.0  # seconds for an answer on a busy machine
MIB = 1 << 20
MAX_GROWTH = 24 * MIB  # of memory, after which something is kept that should not be
MAX_KEPT = 30  # threads that wait for the next request or search
ODD_TEXTS = (
    "\0",
    "\ud800",
    "a\udfffb",
    "\u202e<script>alert(1)</script>",
    "[" * 5000,
    "1. e4 " + "(" * 100_000,
    "(" * 50_000 + ")" * 50_000,
    '[White "' + "x" * 100_000,
    "{" * 100_000,
    "1. e4 $" + "9" * 5000,
    '[FEN "\0"]\n\n1. e4 *',
    "e4 " * 3000,
    "\ufeff",
    "8/8/8/8/8/8/8/8 w - - " + "9" * 5000,
)
ODD_VALUES: tuple[Any, ...] = (*ODD_TEXTS, None, True, -1, 10**400, 1e308, [], {}, [[]], {"a": {}}, ["\ud800"])


@dataclass(frozen=True)
class Size:
    """How large the trials are."""

    at_once: int = 200
    in_a_row: int = 2000
    slow: int = 150
    half_open: int = 1000
    messages: int = 20_000
    searches: int = 100
    odd: int = 1  # a field gets one of so many odd values


SHORT = Size(at_once=30, in_a_row=72, slow=20, half_open=250, messages=600, searches=10, odd=10)


class Refused(AssertionError):
    """The server did what it must not; the message says what."""


class Server:
    """`merino explorer` as a process, for a user who has kept nothing so far, and what a client of it does."""

    def __init__(self, *arguments: str) -> None:
        self._data = tempfile.TemporaryDirectory()
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (open as long as the process)
        command = [sys.executable, "-m", "merino", "explorer", "--port", "0", "--no-browser", *arguments]
        known = os.environ | {"XDG_DATA_HOME": self._data.name}
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=self._errors, text=True, env=known
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith("Explorer at http://127.0.0.1:"), line
        self.link = line.removeprefix("Explorer at ")
        self.address, self.token = self.link.split("?token=")
        self.bearer = f"Authorization: Bearer {self.token}"
        self.port = int(self.address.rpartition(":")[2].rstrip("/"))
        self.of_system = psutil.Process(self.process.pid)
        self._seen = len(self._said())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self._data.cleanup()

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def new_errors(self) -> str:
        """What the process has said on its error output since the last question."""
        said = self._said()
        new, self._seen = said[self._seen :], len(said)
        return "\n".join(line for line in new.splitlines() if line and not line.startswith("Compiling "))

    @property
    def memory(self) -> int:
        """Bytes of memory that the process holds."""
        return int(self.of_system.memory_info().rss)

    @property
    def connections(self) -> int:
        """How many connections it holds."""
        return len(self.of_system.net_connections("tcp"))

    def ask(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Status and body of the answer; a body that is not bytes is sent as JSON."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request(method, path, content, {**dict([self.bearer.split(": ")]), **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def answer_seconds(self) -> float:
        """How long a report takes now; raises Refused without one."""
        began = time.perf_counter()
        status, body = self.ask("/api/explain", {"fen": MIDDLEGAME, "weights": "default"})
        if status != 200 or len(json.loads(body)["moves"]) != 40:
            raise Refused(f"a report is answered with {status}")
        return time.perf_counter() - began

    def socket(self) -> socket.socket:
        """A connection on which nothing has been sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def websocket(self, name: str, **more: Any) -> Any:
        """An open WebSocket."""
        return connect(
            f"ws://127.0.0.1:{self.port}/ws/{name}?token={self.token}", open_timeout=PATIENCE, max_size=None, **more
        )


Trial = Callable[[Server, Size], str]  # what was found, in words; raises Refused


def requests_at_once(server: Server, size: Size) -> str:
    """Many different reports at the same moment: all are answered."""
    start = threading.Barrier(size.at_once)

    def one(number: int) -> float:
        start.wait()
        began = time.perf_counter()
        body = {"fen": MIDDLEGAME, "weights": "default", "changes": {"VAL_P": 90 + number / 10}}
        status, _ = server.ask("/api/explain", body)
        _expect(status, 200)
        return time.perf_counter() - began

    with ThreadPoolExecutor(size.at_once) as pool:
        seconds = sorted(pool.map(one, range(size.at_once)))
    return f"{size.at_once:,} answered, median {seconds[len(seconds) // 2]:.1f} s, last {seconds[-1]:.1f} s"


def requests_in_a_row(server: Server, size: Size) -> str:
    """Requests of all kinds one after the other: memory stays flat."""
    games = (ROOT / "games" / "selfplay.pgn").read_text(encoding="utf-8")[: 100 * 1024]
    kinds: tuple[tuple[str, Callable[[int], Any]], ...] = (
        ("/api/explain", lambda n: {"fen": MIDDLEGAME, "weights": "default", "changes": {"VAL_P": 90 + n / 1000}}),
        ("/api/explain", lambda n: {"fen": MIDDLEGAME.replace("0 9", f"0 {9 + n}"), "weights": "default"}),
        ("/api/read", lambda n: {"fen": MIDDLEGAME, "text": "e4"}),
        ("/api/read", lambda n: {"text": f'[White "Anna {n}"]\n\n1. e4 e5 *\n\n' + games}),
        ("/api/weights", lambda n: {"name": f"{n}.txt", "text": f"VAL_P {50 + n % 100}\n"}),
    )
    half = size.in_a_row // 2
    before, began = 0, 0.0
    for number in range(2 * half):
        if number == half:
            before, began = server.memory, time.perf_counter()
        path, body = kinds[number % len(kinds)]
        _expect(server.ask(path, body(number))[0], 200)
    each = (time.perf_counter() - began) / half
    return f"{2 * half:,} answered, {1000 * each:.0f} ms each; {_growth(server, before)} over the second half"


def slow_clients(server: Server, size: Size) -> str:
    """Clients that send a header or a body letter by letter are let go; others are answered meanwhile."""
    line = f"HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{server.bearer}\r\n"
    heads = (f"GET / {line}X: ", f"POST /api/read {line}Content-Length: 100000\r\n\r\n")
    with ExitStack() as stack:
        clients = [stack.enter_context(server.socket()) for _ in range(size.slow)]
        for number, client in enumerate(clients):
            client.sendall(heads[number % 2].encode())
        began, open_ones = time.perf_counter(), list(clients)
        slowest = 0.0
        while open_ones and time.perf_counter() - began < REQUEST_SECONDS + PATIENCE:
            open_ones = [client for client in open_ones if _still_takes(client)]
            slowest = max(slowest, server.answer_seconds())
            time.sleep(0.5)
        if open_ones:
            raise Refused(f"{len(open_ones)} slow clients still hold their connections")
        return f"{size.slow} let go after {time.perf_counter() - began:.0f} s; meanwhile a report in {slowest:.2f} s"


def _still_takes(client: socket.socket) -> bool:
    try:
        client.sendall(b"x")
        return client.recv(1000, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def half_open(server: Server, size: Size) -> str:
    """Connections on which nothing ever comes keep nobody out."""
    with ExitStack() as stack:
        for _ in range(size.half_open):
            stack.enter_context(server.socket())
        seconds = max(server.answer_seconds() for _ in range(5))
        held = server.connections
        if held > MAX_CONNECTIONS + 20:
            raise Refused(f"the server holds {held} connections")
        return f"{size.half_open:,} opened, {held} held; meanwhile a report in {seconds:.2f} s"


def clients_that_do_not_read(server: Server, size: Size) -> str:
    """Clients that ask for long answers and read none of them are let go."""
    asked = f"GET /moves.js HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{server.bearer}\r\n\r\n".encode() * 1000
    slowest, count = 0.0, size.slow // 5
    before, memory = server.connections, server.memory
    with ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(PATIENCE)
            client.connect(("127.0.0.1", server.port))
            client.sendall(asked)
        began = time.perf_counter()
        server.answer_seconds()  # after which all are accepted
        if server.connections < before + count:
            raise Refused("clients were let go before they were slow")
        while server.connections > before + 2:
            if time.perf_counter() - began > 3 * REQUEST_SECONDS + PATIENCE:
                raise Refused("the server still holds connections of clients that do not read")
            slowest = max(slowest, server.answer_seconds())
            time.sleep(0.5)
        seconds = time.perf_counter() - began
    return f"{count} let go after {seconds:.0f} s; meanwhile a report in {slowest:.2f} s; {_growth(server, memory)}"


def oversized(server: Server, _: Size) -> str:
    """Bodies and messages beyond their limits are refused, whatever their headers say."""
    before, cases = server.memory, 0
    for headers in ({}, {"Content-Length": "9" * 5000}, {"Content-Length": "-1"}):
        try:
            status = server.ask("/api/read", b"x" * (5 * MIB), headers)[0]
        except (ConnectionError, http.client.HTTPException):  # closed before all of it was sent
            status = 413
        _expect(status, 413, 400)
        cases += 1
    for name, length in (("search", 5 * MIB), ("learn", 81 * MIB)):
        with server.websocket(name) as client:
            try:
                client.send("x" * length)
                answer = json.loads(client.recv(timeout=PATIENCE))[-1]
                if answer["type"] != "error":
                    raise Refused(f"{length >> 20} MiB for {name} is answered with {answer['type']}")
            except ConnectionClosed:
                pass
        cases += 1
    return f"{cases} refused; {_growth(server, before, 5 * MAX_GROWTH)}"


def odd_requests(server: Server, size: Size) -> str:
    """NUL, halves of characters, deep brackets and other values that no page sends: a reason, never a failure."""
    cases = 0
    bodies: dict[str, dict[str, Any]] = {
        "/api/explain": {"fen": MIDDLEGAME, "moves": [], "weights": "default", "changes": {}, "beside": "usual"},
        "/api/read": {"text": "e4", "fen": MIDDLEGAME},
        "/api/games": {"text": "1. e4 *", "content": None, "at": 0, "more": False},
        "/api/game": {"text": "1. e4 *", "content": None, "number": 1},
        "/api/compare": {"fen": MIDDLEGAME, "first_move": "e4", "second_move": "Ne5", "first": {}, "second": {}},
        "/api/weights": {"name": "a.txt", "text": "VAL_P 100"},
        "/api/weights/text": {"weights": "default", "changes": {}},
    }
    for path, body in bodies.items():
        for name in body:
            values = ODD_VALUES if name != "changes" else (*ODD_VALUES, *({"VAL_P": odd} for odd in ODD_VALUES[-9:]))
            for value in values[cases % size.odd :: size.odd]:
                began = time.perf_counter()
                status, answer = server.ask(path, {**body, name: value})
                seconds = time.perf_counter() - began
                if status not in (200, 400) or seconds > 20:
                    raise Refused(f"{path} with {name} = {str(value)[:30]!r} answers {status} in {seconds:.0f} s")
                json.loads(answer)
                cases += 1
    for name in ("search", "play", "annotate", "learn", "points"):
        with server.websocket(name) as client:
            for value in ODD_VALUES[cases % size.odd :: size.odd]:
                client.send(json.dumps({"fen": value, "text": value, "name": value, "depth": 1, "moves": value}))
                while json.loads(client.recv(timeout=PATIENCE))[-1]["type"] not in ("error", "done"):
                    pass
                cases += 1
    return f"{cases} answered with a result or a reason"


def websocket_floods(server: Server, size: Size) -> str:
    """Messages without end, from clients that read no answer: memory stays flat from a flood to the next like it."""
    texts = ("{", json.dumps({"fen": MIDDLEGAME, "depth": 1, "all_moves": True}))
    for text in 2 * texts:  # until there are as many searchers as work at once
        _flood(server, text, size.messages)
    before = server.memory
    sent = [_flood(server, text, size.messages) for text in texts]
    with ExitStack() as stack:
        refused = 0
        for _ in range(size.slow):
            try:
                stack.enter_context(server.websocket("search"))
            except InvalidStatus:
                refused += 1
        server.answer_seconds()
    taken, grown = " and ".join(f"{count:,}" for count in sent), _growth(server, before)
    return f"{taken} messages taken in at most 10 s each; of {size.slow} sockets {refused} refused; {grown}"


def _flood(server: Server, text: str, count: int) -> int:
    """Send a message again and again for ten seconds, while others are answered; how many were taken."""
    taken = 0

    def send_all() -> None:
        nonlocal taken
        try:
            for _ in range(count):
                client.send(text)
                taken += 1
        except ConnectionClosed:
            pass

    with server.websocket("search", close_timeout=1) as client:  # which sees no end behind answers that are not read
        sender = threading.Thread(target=send_all, daemon=True)
        sender.start()
        sender.join(timeout=10)
        server.answer_seconds()
        return taken


def searches_begun_and_left(server: Server, size: Size) -> str:
    """Searches without end whose tabs are closed at once leave no thread and no memory behind."""
    threads, before = server.of_system.num_threads, 0
    most = threads() + MAX_KEPT
    for number in range(2 * size.searches):
        before = server.memory if number == size.searches else before
        with server.websocket("search") as client:
            client.send(json.dumps({"fen": MIDDLEGAME}))
            client.recv(timeout=PATIENCE)
    end = time.perf_counter() + PATIENCE
    while threads() > most and time.perf_counter() < end:
        time.sleep(0.1)
    if threads() > most:
        raise Refused(f"{threads()} threads are left")
    return f"{2 * size.searches} ended; {_growth(server, before)} over the second half"


TRIALS: tuple[Trial, ...] = (
    requests_at_once,
    requests_in_a_row,
    slow_clients,
    half_open,
    clients_that_do_not_read,
    oversized,
    odd_requests,
    websocket_floods,
    searches_begun_and_left,
)


def run_trial(server: Server, trial: Trial, size: Size) -> str:
    """What a trial found; raises Refused if the server failed it, said something, or no longer answers."""
    found = trial(server, size)
    server.answer_seconds()
    said = server.new_errors()
    if said:
        raise Refused(f"the server says: {said[-2000:]}")
    return found


def _expect(status: int, *wanted: int) -> None:
    if status not in wanted:
        raise Refused(f"the status is {status}, not {wanted[0]}")


def _growth(server: Server, before: int, most: int = MAX_GROWTH) -> str:
    """The growth of memory in words; raises Refused if it is more than `most`."""
    grown = server.memory - before
    if grown > most:
        raise Refused(f"memory has grown by {grown / MIB:.0f} MiB")
    return f"memory {grown / MIB:+.1f} MiB"


def main() -> int:
    """Run the trials, and print them as a table; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="smaller trials")
    parser.add_argument("trials", nargs="*", help="their names (default: all)")
    args = parser.parse_args()
    rows, failed = [], False
    for trial in TRIALS:
        if args.trials and trial.__name__ not in args.trials:
            continue
        with Server() as server:
            server.answer_seconds()
            try:
                found = run_trial(server, trial, SHORT if args.short else Size())
            except (Refused, OSError) as fault:
                found, failed = f"FAILED: {fault}", True
        print(f"{trial.__name__}: {found}", file=sys.stderr, flush=True)
        rows.append((trial.__doc__ or "", found))
    print(markdown_table(("Trial", "Found"), rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
