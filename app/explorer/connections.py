"""HTTP connections that wait for no client for ever, and of which only so many are open."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 15.0  # for a client to send a whole request, and to read the answer
MAX_CONNECTIONS = 200  # below what a process may open, 256 on some systems


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
