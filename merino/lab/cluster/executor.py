"""The workers of a cluster by their events, and the executor over them, which turns Dask's errors into sentences."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from distributed import Client, KilledWorker, get_worker
from distributed import Future as DaskFuture

from merino.core.common.errors import MerinoError
from merino.core.common.quoting import counted
from merino.core.common.runs import RunName, stop_here
from merino.core.common.work import RemoteExecutor, WorkError

Say = Callable[[str], object]
STOP_SECONDS = 5.0  # the time to wait for an answer of busy workers
MAX_SENT = 64  # callables that workers keep; an older one is sent again


class Workers:
    """The workers of a session. Events come in one thread, questions from any."""

    def __init__(self, name: str, say: Say) -> None:
        """`name` is that of the resource and topic of the session; `say` gets sentences for the user."""
        self.name, self.is_lost = name, False
        self.ready: dict[str, dict[str, Any]] = {}  # the reports of ready workers, by address
        self.refused: dict[str, str] = {}  # why, by address
        self._say, self._changed = say, threading.Condition()
        self._compiling: set[str] = set()
        self._remarks: set[str] = set()  # said already: all workers of a machine make the same
        self._own: dict[str, list[Future[Any]]] = {}  # work that only this worker can do, by address
        self._has_begun = self._is_closing = False

    @property
    def threads_by_address(self) -> dict[str, int]:
        """The threads of each ready worker."""
        return {address: int(report["threads"]) for address, report in list(self.ready.items())}

    @property
    def threads(self) -> int:
        """The threads of all ready workers."""
        return sum(self.threads_by_address.values())

    @property
    def size(self) -> str:
        """The numbers of ready workers and of their threads, in words."""
        return f"{counted(len(self.ready), 'worker')}, {counted(self.threads, 'thread')}"

    def heard(self, event: tuple[float, Any]) -> None:
        """Take the report of a worker."""
        report = event[1]
        address, state = report["worker"], report["state"]
        if state == "remark":
            if report["text"] not in self._remarks:
                self._remarks.add(report["text"])
                self._say(f"{report['text']}.")
            return
        with self._changed:
            if state == "compiling":
                self._compiling.add(address)
            elif state == "ready":
                self.ready[address] = report
            else:
                self.refused[address] = report["fault"]
            self._changed.notify_all()
        if state == "refused":
            self._say(f"Worker {address} {report['fault']}; it gets no work.")
        elif state == "ready":
            if report["remark"]:
                self._say(f"Worker {address} {report['remark']}.")
            if self._has_begun:
                self._say(f"Worker {address} has joined: {counted(self.threads, 'thread')} now.")

    def scheduler_reported(self, address: str, event: tuple[float, Any]) -> None:
        """Take the report of the scheduler on a worker: only that it has gone."""
        if event[1].get("action") != "remove-worker" or self._is_closing:
            return
        with self._changed:
            was_ready = self.ready.pop(address, None) is not None
            self._compiling.discard(address)
            own = self._own.pop(address, [])
            self._changed.notify_all()
        for future in own:
            future.cancel()
        if was_ready:
            verb = "is" if self.threads == 1 else "are"
            threads = f"{counted(self.threads, 'thread')} {verb} left"
            left = threads if self.ready else "no worker is left, waiting for a new one"
            self._say(f"Worker {address} is gone; others repeat its unfinished work: {left}.")

    def note_own(self, address: str, future: Future[Any]) -> None:
        """Cancel this work, which only the worker at `address` can do, if that goes or has gone."""
        with self._changed:
            if is_there := address in self.ready:
                self._own.setdefault(address, []).append(future)
        if not is_there:
            future.cancel()

    def scheduler_is_gone(self) -> None:
        """The connection to the scheduler has ended."""
        with self._changed:
            self.is_lost = True
            self._changed.notify_all()

    def wait(self, known: set[str], patience: float, seconds: float) -> bool:
        """Wait until all of `known` have told what they are, or for `patience` once one is ready; at most `seconds`.

        Returns whether that is the case.
        """

        def is_enough() -> bool:
            return self.is_lost or known <= self.ready.keys() | self.refused.keys()

        with self._changed:
            if not self._changed.wait_for(lambda: is_enough() or bool(self.ready), seconds):
                return False
            self._changed.wait_for(is_enough, patience)
            return is_enough() or bool(self.ready)  # the one that was ready may have gone

    def compiling(self, known: set[str]) -> int:
        """The number of workers among `known` that are still compiling."""
        return len(self._compiling & known - self.ready.keys() - self.refused.keys())

    def begin(self) -> None:
        """From now on, report to the user when a worker joins."""
        self._has_begun = True

    def close(self) -> None:
        """From now on, do not report to the user when a worker goes."""
        self._is_closing = True


class ClusterExecutor(RemoteExecutor):
    """Work for the ready workers of a Dask cluster."""

    def __init__(self, client: Client, workers: Workers, address: str) -> None:
        """`address` names the cluster in sentences."""
        self.client, self._workers, self._address = client, workers, address
        # By `id`: the callable, and the future for it on the workers.
        self._sent: OrderedDict[int, tuple[Any, DaskFuture]] = OrderedDict()
        self.under_way: dict[Future[Any], DaskFuture] = {}  # futures given to callers
        self._lock, self._is_shut = threading.Lock(), False
        self._link = self._hand_out(_same, (None,))  # which Dask cancels, as all that it keeps, with the connection

    @property
    def slots(self) -> int:
        """See RemoteExecutor."""
        return max(1, self._workers.threads)

    def submit(self, work: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """See Executor."""
        return self._as_future(self.keep(work, *args))

    def keep(self, work: Callable[..., Any], *args: Any) -> DaskFuture:
        """See RemoteExecutor."""
        self._check()
        return self._hand_out(work, args)

    def stop(self, run: RunName) -> None:
        """See RemoteExecutor."""
        if self._workers.is_lost:
            return
        stopping = self.client._run(_stop, run, on_error="ignore")  # on all workers, those being prepared too
        waiting = asyncio.run_coroutine_threadsafe(stopping, self.client.loop.asyncio_loop)
        with suppress(TimeoutError, OSError):  # a worker that does not hear this has its tasks cancelled
            waiting.result(STOP_SECONDS)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all work at once: waiting for a result raises WorkError. Only the runs of `stop` end on workers."""
        self._is_shut = True
        with suppress(TimeoutError, OSError):
            self.client.cancel(list(self.under_way.values()), force=True)

    def each(self, work: Callable[..., Any], *args: Any) -> dict[str, list[Future[Any]]]:
        """Let every thread of every worker do the same: the futures by address, cancelled where the worker goes."""
        self._check()
        found = {
            address: [self._as_future(self._hand_out(work, args, address)) for _ in range(threads)]
            for address, threads in self._workers.threads_by_address.items()
        }
        for address, futures in found.items():
            for future in futures:
                self._workers.note_own(address, future)
        return found

    def _hand_out(self, work: Callable[..., Any], args: tuple[Any, ...], worker: str | None = None) -> DaskFuture:
        only: dict[str, Any] = {} if worker is None else {"workers": [worker], "allow_other_workers": False}
        return self.client.submit(
            _do, self._stand_in(work), *args, pure=False, resources={self._workers.name: 1}, **only
        )

    def _stand_in(self, work: Callable[..., Any]) -> DaskFuture | Callable[..., Any]:
        """The form of `work` in a message: itself if it is a function, which is sent by name."""
        if hasattr(work, "__qualname__"):
            return work
        with self._lock:
            if id(work) not in self._sent:
                future = self.client.submit(_same, work, pure=False, resources={self._workers.name: 1})
                self._sent[id(work)] = work, future
                if len(self._sent) > MAX_SENT:
                    self._sent.popitem(last=False)
            return self._sent[id(work)][1]

    def _check(self) -> None:
        """Raise WorkError if no work is taken any more; another scheduler at the same address knows nothing of ours."""
        if self._link.cancelled():
            self._workers.scheduler_is_gone()
        if self._workers.is_lost or self._is_shut:
            raise self._ended()

    def _ended(self) -> WorkError:
        return WorkError(
            "the work was stopped" if self._is_shut else f"the scheduler of the cluster {self._address} is gone"
        )

    def _as_future(self, future: DaskFuture) -> Future[Any]:
        """The future as one of `concurrent.futures`; cancelled there, it is dropped here."""
        found: Future[Any] = Future()
        self.under_way[found] = future
        found.add_done_callback(self._close)
        self.client.loop.add_callback(self._pass_on, future, found)
        return found

    def _close(self, done: Future[Any]) -> None:
        future = self.under_way.pop(done)
        if done.cancelled():
            future.release()

    async def _pass_on(self, future: DaskFuture, to: Future[Any]) -> None:
        try:
            result = await future._result(raiseit=False)
        except asyncio.CancelledError:
            result = None
        if not to.set_running_or_notify_cancel():
            return
        if future.status == "finished":
            to.set_result(result)
        elif future.status == "error":
            to.set_exception(self._in_words(result[1]))
        else:  # cancelled: by `shutdown`, or by Dask where the scheduler is gone
            if not self._is_shut:
                self._workers.scheduler_is_gone()
            to.set_exception(self._ended())

    def _in_words(self, error: BaseException) -> BaseException:
        if isinstance(error, KilledWorker):
            return WorkError(
                f"a piece of work has brought down several workers of the cluster {self._address}, "
                f"the last of them {error.last_worker.address}; its log says more"
            )
        return error


def _same(work: Callable[..., Any]) -> Callable[..., Any]:
    return work


def _do(work: Callable[..., Any], *args: Any) -> Any:
    """Work on a worker; an error for the user names the worker."""
    try:
        return work(*args)
    except MerinoError as error:
        error.args = (f"{error} (worker {get_worker().address})",)
        raise


def _stop(run: RunName) -> None:
    """Runs beside the work of a worker, in its event loop, which must not wait."""
    threading.Thread(target=stop_here, args=(run,), daemon=True).start()
