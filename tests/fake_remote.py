"""A `RemoteExecutor` without a cluster: what is sent is pickled, as for another process, and done by threads here."""

import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from merino.core.common.work import RemoteExecutor, RunName


class FakeRemote(RemoteExecutor):
    """So many slots; `sent` counts what is submitted, `stopped` are the runs that were stopped."""

    def __init__(self, slots: int) -> None:
        self._slots, self._pool = slots, ThreadPoolExecutor(slots)
        self.sent, self.stopped = 0, list[RunName]()

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, work: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        self.sent += 1
        return self._pool.submit(_do, pickle.dumps((work, args)))

    def stop(self, run: RunName) -> None:
        self.stopped.append(run)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _do(content: bytes) -> Any:
    work, args = pickle.loads(content)
    return work(*args)
