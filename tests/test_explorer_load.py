"""The explorer under load, in short: `make load` has the long trials."""

import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import url2pathname, urlopen

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed

from merino.app.explorer import serving as serving_module
from merino.app.explorer.app import create_app
from merino.app.explorer.serving import config_of
from merino.app.explorer.state import ServerState
from merino.core.common.files import user_folder
from tests.load_explorer import SHORT, TRIALS, Server, run_trial

WAIT_FOR_THEIR_CLIENTS = ("slow_clients", "clients_that_do_not_read")  # for REQUEST_SECONDS: tested below
QUICK = tuple(trial for trial in TRIALS if trial.__name__ not in WAIT_FOR_THEIR_CLIENTS)
SECONDS = 0.4


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        running.answer_seconds()
        yield running


@pytest.mark.parametrize("trial", QUICK, ids=lambda trial: trial.__name__)
def test_the_server_stands(server: Server, trial) -> None:
    assert run_trial(server, trial, SHORT)


class Serving:
    """The server in a thread of this process, on a free port."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        state = ServerState()
        self.token = state.token
        self.server = uvicorn.Server(config_of(create_app(state, self.port), self.port))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def client(self, sent: bytes = b"") -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        found.sendall(sent)
        return found

    def request(self, body: bytes = b"", length: int | None = None, path: str = "/api/start") -> bytes:
        method, host = "POST" if length else "GET", f"Host: 127.0.0.1:{self.port}"
        head = f"{method} {path}?token={self.token} HTTP/1.1\r\n{host}\r\nContent-Length: {length or 0}\r\n\r\n"
        return head.encode() + body


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving_module, "REQUEST_SECONDS", SECONDS)
        running = Serving()
        yield running
        running.server.should_exit = True
        running.thread.join(timeout=20)
        running.listener.close()


def seconds_until_dropped(client: socket.socket, letter: bytes = b"") -> float:
    """How long the server keeps a client that sends this letter again and again."""
    began = time.monotonic()
    client.settimeout(0.05)
    while time.monotonic() - began < 20:
        try:
            client.sendall(letter)
            if client.recv(1000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


@pytest.mark.parametrize(("sent", "letter"), [("", b""), ("GET / HTTP/1.1\r\nX: ", b"x"), ("body", b"x")])
def test_a_client_that_is_too_slow_is_dropped(serving: Serving, sent: str, letter: bytes) -> None:
    with serving.client(serving.request(b"{", 100_000, "/api/read") if sent == "body" else sent.encode()) as client:
        assert SECONDS / 2 < seconds_until_dropped(client, letter) < 15


def test_a_client_that_leaves_causes_no_traceback(capfd: pytest.CaptureFixture[str], serving: Serving) -> None:
    with serving.client(serving.request(b"{", 100_000, "/api/read")):
        while not serving.server.server_state.tasks:
            time.sleep(0.01)
    end = time.monotonic() + 20
    while serving.server.server_state.tasks and time.monotonic() < end:
        time.sleep(0.01)
    assert capfd.readouterr().err == ""


def test_a_message_that_is_no_text_closes_its_socket_without_a_word(server: Server) -> None:
    for message in ("\xff", "\xed\xa0\x80"):
        with server.websocket("search") as client, pytest.raises(ConnectionClosed) as caught:
            client.send(message.encode("latin-1"), text=True)
            client.recv(timeout=20)
        assert caught.value.rcvd is not None and caught.value.rcvd.code == 1007
    server.answer_seconds()
    assert server.new_errors() == ""


def test_the_link_with_the_token_is_opened_by_a_file_that_nobody_else_may_read(tmp_path, monkeypatch, capfd) -> None:
    opened = list[str]()

    def look(address: str) -> None:
        path = Path(url2pathname(address.removeprefix("file:")))
        try:
            opened.extend(re.findall(r'href="(.*?)"', path.read_text()))
            assert path.is_relative_to(tmp_path) and not path.parent.stat().st_mode & 0o077
            assert urlopen(opened[0]).status == 200
        finally:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setenv("XDG_CACHE_HOME", str(user_folder("cache").parent))  # of compiled code
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(serving_module.webbrowser, "open", look)
    said, state = list[str](), ServerState()
    serving_module.serve(state, 0, opens_browser=True, say=said.append)
    assert said == [f"Explorer at {opened[0]}"] and opened[0].endswith(f"/?token={state.token}")
    assert list(tmp_path.iterdir()) == []


def test_each_request_on_a_connection_has_time_of_its_own(serving: Serving) -> None:
    with serving.client() as client:
        began = time.monotonic()
        while time.monotonic() - began < 2 * SECONDS:
            client.sendall(serving.request())
            answer = b""
            while not answer.endswith(b"}"):
                answer += client.recv(10_000)
            assert answer.startswith(b"HTTP/1.1 200")
        client.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert SECONDS / 2 < seconds_until_dropped(client, b"x") < 15


def test_a_client_that_does_not_read_its_answers_is_dropped(serving: Serving) -> None:
    opened = serving.server.server_state.connections
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", serving.port))
        client.sendall(serving.request(path="/moves.js") * 1000)
        for is_over in (lambda: opened, lambda: not opened):
            end = time.monotonic() + 20
            while not is_over() and time.monotonic() < end:
                time.sleep(0.01)
            assert is_over()


def test_work_longer_than_a_client_may_take_is_waited_for(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*_: object) -> dict[str, object]:
        time.sleep(3 * SECONDS)
        return {}

    monkeypatch.setattr("merino.app.explorer.routes.read_text", slowly)
    with serving.client() as client:
        body = b'{"text": "1. e4 *"}'
        client.sendall(serving.request(body, len(body), "/api/read"))
        assert client.recv(100).startswith(b"HTTP/1.1 200")
