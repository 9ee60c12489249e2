"""WebSockets: work on its own thread that reports its progress until it is done, stopped, or its tab is closed."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from merino.app.explorer.state import Fields, RequestError, ServerState
from merino.core.common.errors import MerinoError

MAX_AT_ONCE = 12  # pieces of work
MAX_IDS = 10**9
MAX_SOCKETS = 64  # open, all tabs together
MAX_UNREAD = 500  # messages that a tab has not read; then its work waits
BREATH_SECONDS = 0.008  # from the first message of a list, in which those that are said with it join it
GATHERING_SECONDS = 0.06  # after a list of messages, in which those of the next list are collected

Message = Mapping[str, Any]
Say = Callable[[Message], None]

# Errors of work that cannot be done; ValueError is that of moves.
FAULTS = (MerinoError, ValueError, OSError, MemoryError)
INTERNAL_ERROR = "an internal error, of which the window of 'merino explorer' says more; please report it"


def reason_of(fault: Exception) -> str:
    """Why work cannot be done, in words; `fault` is one of FAULTS."""
    if isinstance(fault, MemoryError):
        return str(fault) or "there is not enough memory"
    if not isinstance(fault, OSError) or fault.strerror is None:
        return str(fault)
    return f"'{fault.filename}': {fault.strerror}" if fault.filename else fault.strerror


class Stop:
    """Asks work to end. `calling` is for work that does not check by itself.

    `is_left`: nobody will hear the end, for the tab has closed or has asked for other work.
    """

    def __init__(self) -> None:
        self.is_left = False
        self._event = threading.Event()
        self._actions: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def is_set(self) -> bool:
        """Whether the work is to end."""
        return self._event.is_set()

    def leave(self) -> None:
        """Ask the work to end, which nobody hears any more."""
        self.is_left = True
        self.set()

    def set(self) -> None:
        """Ask the work to end."""
        with self._lock:
            self._event.set()
            for action in self._actions:
                action()

    @contextmanager
    def calling(self, action: Callable[[], object]) -> Iterator[None]:
        """Within this block, call `action` when the work is to end, at once if it is already."""
        with self._lock:
            self._actions.append(action)
            if self._event.is_set():
                action()
        try:
            yield
        finally:
            with self._lock:
                self._actions.remove(action)


def progressed(say: Say, stop: Stop, what: str, done: float | None) -> None:
    """Report how far work is, to whoever waits for it; raises RequestError if it is to end."""
    say({"type": "progress", "what": what, "done": done})
    if stop.is_set:
        raise RequestError("stopped")


# Does the work, reports its progress, and returns the last message.
Work = Callable[[Fields, ServerState, Say, Stop], Message]


class Channel:
    """A WebSocket and its work: a message of at most `longest` characters starts new work and ends that before it."""

    def __init__(self, socket: WebSocket, state: ServerState, work: Work, longest: int) -> None:
        self._socket, self._state, self._work, self._longest = socket, state, work, longest
        self._outbox: asyncio.Queue[Message] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_UNREAD)  # in the outbox
        self._is_closed = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._stop = Stop()
        self._thread: threading.Thread | None = None

    async def serve(self) -> None:
        """Handle messages until the tab is closed; then end the work."""
        await self._socket.accept()
        sender = asyncio.create_task(self._send())
        try:
            while not self._is_closed.is_set():
                await self._hear(await self._socket.receive_text())
        except (WebSocketDisconnect, KeyError):  # KeyError for a message that is not text
            pass
        finally:
            self._stop.leave()
            sender.cancel()

    async def _hear(self, text: str) -> None:
        try:
            if len(text) > self._longest:
                raise RequestError(f"the message is longer than {self._longest} characters")
            fields = Fields.read(text)
            is_stop, number = fields.flag("stop"), fields.number("id", 0, MAX_IDS) or 0
            if is_stop:
                self._stop.set()
                return
            self._stop.leave()
            if self._thread is not None:
                await asyncio.to_thread(self._thread.join)
            if len(self._state.running) >= MAX_AT_ONCE:
                raise RequestError(f"{MAX_AT_ONCE} tabs are already working")
        except RequestError as error:
            while not self._room.acquire(blocking=False):  # until the tab has read what was said before
                if self._is_closed.is_set():
                    return
                await asyncio.sleep(GATHERING_SECONDS)
            self._outbox.put_nowait({"type": "error", "error": str(error)})
            return
        self._stop = Stop()
        self._state.running.add(self._stop)
        run = partial(self._run, fields, self._stop, number)
        self._thread = threading.Thread(target=run, name="explorer", daemon=True)
        self._thread.start()

    def _run(self, fields: Fields, stop: Stop, number: int) -> None:
        def say(message: Message) -> None:
            self._say({"id": number, **message})

        last: Message = {"type": "error", "error": INTERNAL_ERROR}
        try:
            last = self._work(fields, self._state, say, stop)
        except FAULTS as error:
            last = {"type": "error", "error": reason_of(error)}
        finally:
            self._state.running.discard(stop)
            say(last)

    def _say(self, message: Message) -> None:
        """Report from the thread of the work, which waits where the tab does not read."""
        while not self._room.acquire(timeout=GATHERING_SECONDS):
            if self._is_closed.is_set():
                return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._outbox.put_nowait, message)

    async def _send(self) -> None:
        """Send the reports: the first and those said with it at once, those that come meanwhile as one list."""
        try:
            while True:
                messages = [await self._outbox.get()]
                await asyncio.sleep(BREATH_SECONDS)
                while not self._outbox.empty():
                    messages.append(self._outbox.get_nowait())
                await self._socket.send_json(messages)
                self._room.release(len(messages))
                await asyncio.sleep(GATHERING_SECONDS)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the tab has been closed meanwhile
        finally:
            self._is_closed.set()
