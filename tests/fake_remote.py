"""A `RemoteExecutor` without a cluster: what is sent is pickled, as for another process, and done by threads here."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from merino.core.common.work import RemoteExecutor, RunName


class Kept:
    """What stands for a result that stays where it was made."""

    def __init__(self, future: Future[Any]) -> None:
        self.future = future


class FakeRemote(RemoteExecutor):
    """So many slots; `sent` counts the bytes of what is submitted, `stopped` what was told to stop."""

    def __init__(self, slots: int) -> None:
        self._slots, self._pool = slots, ThreadPoolExecutor(slots)
        self.sent, self.stopped = 0, list[RunName]()

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, work: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        parts = [arg if isinstance(arg, Kept) else pickle.dumps(arg) for arg in args]
        self.sent += sum(len(part) for part in parts if isinstance(part, bytes))
        return self._pool.submit(_do, pickle.dumps(work), parts)

    def keep(self, work: Callable[..., Any], *args: Any) -> Kept:
        kept = Kept(self.submit(work, *args))
        kept.future.exception()  # so that nothing waits for what waits behind it
        return kept

    def stop(self, run: RunName) -> None:
        self.stopped.append(run)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _do(work: bytes, parts: list[Any]) -> Any:
    args = [part.future.result() if isinstance(part, Kept) else pickle.loads(part) for part in parts]
    return pickle.loads(work)(*args)
