"""The workers of a cluster: their preparation, their events, and the executor over them, with errors in sentences.

A worker is checked before it gets work, and its code is compiled if its machine has none. A worker that is ready offers
a resource, in Dask's sense, which all work of the session asks for. So work goes to no worker of another version, and
to one that joins late as soon as it is ready; all this is Dask's own scheduling. The version is that of all code: only
then does the same seed give the same games.
"""

import asyncio
import hashlib
import os
import shutil
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from socket import gethostname
from typing import Any

import numba
import numpy as np
from distributed import Client, KilledWorker, Worker, WorkerPlugin, get_worker
from distributed import Future as DaskFuture
from distributed.core import Status

from merino.core.common import about, errors
from merino.core.common.text import counted
from merino.core.common.work import Needs, RemoteExecutor, RunName, WorkError, stop_here
from merino.core.compiled.cache import CACHE_GROUPS, keeps_code, places
from merino.eval.linear import sets, weights

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
        self._has_begun = self._is_closing = False

    @property
    def threads(self) -> int:
        """The threads of all ready workers."""
        return sum(int(report["threads"]) for report in list(self.ready.values()))

    @property
    def size(self) -> str:
        """The numbers of ready workers and of their threads, in words."""
        return f"{counted(len(self.ready), 'worker')}, {counted(self.threads, 'thread')}"

    def heard(self, event: tuple[float, Any]) -> None:
        """Take the report of a worker."""
        report = event[1]
        address, state = report["worker"], report["state"]
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
            self._changed.notify_all()
        if was_ready:
            threads = f"{counted(self.threads, 'thread')} {'is' if self.threads == 1 else 'are'} left"
            left = threads if self.ready else "no worker is left, waiting for a new one"
            self._say(f"Worker {address} is gone; others repeat its unfinished work: {left}.")

    def scheduler_is_gone(self) -> None:
        """The connection to the scheduler has ended."""
        with self._changed:
            self.is_lost = True
            self._changed.notify_all()

    def wait(self, known: set[str], patience: float, seconds: float) -> bool:
        """Wait until all of `known` have reported, or for `patience` once one is ready; at most `seconds`.

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
        self._check()
        return self._as_future(self._hand_out(work, args))

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

    def _hand_out(self, work: Callable[..., Any], args: tuple[Any, ...]) -> DaskFuture:
        return self.client.submit(_do, self._stand_in(work), *args, pure=False, resources={self._workers.name: 1})

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
    except errors.MerinoError as error:
        error.args = (f"{error} (worker {get_worker().address})",)
        raise


def _stop(run: RunName) -> None:
    """Runs in the event loop of a worker, which must not wait."""
    threading.Thread(target=stop_here, args=(run,), daemon=True).start()


NONE = "none"  # no terms of one's own


@cache
def identity() -> dict[str, str]:
    """Version, digests of all code, the default weights and own terms, and the versions of Python, numba and NumPy."""
    root, digest = Path(__file__).resolve().parents[2], hashlib.sha256()
    for folder in " ".join(CACHE_GROUPS).split():
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return {
        "Merino": about.__version__,
        "code": digest.hexdigest()[:12],
        "weights": hashlib.sha256(weights.DEFAULT_FILE.read_bytes()).hexdigest()[:12],
        "own terms": _own_terms(),
        "Python": ".".join(map(str, sys.version_info[:2])),
        "numba": numba.__version__,
        "NumPy": np.__version__,
    }


def _own_terms() -> str:
    """The version of the user's set of terms, which other processes know by its file's name alone; NONE without one."""
    try:
        return sets.version_of_own_set() or NONE
    except sets.TermSetError as error:
        return f"that are faulty ({error})"  # reported where they are needed


def difference(here: dict[str, str], there: dict[str, str]) -> str:
    """The difference between there and here in words; "" if there is none. Own terms that are only there do no harm."""
    names = [name for name in here if here[name] not in (NONE, there.get(name))]
    return ", ".join(f"{name} {there.get(name, 'unknown')} instead of {here[name]}" for name in names)


class Preparation(WorkerPlugin):
    """Prepares each worker, also one that joins late, and reports to the client by events."""

    def __init__(self, name: str, wanted: dict[str, str], needs: Needs, is_private: bool) -> None:
        """`name` is that of the resource and of the topic; `wanted` the identity of the client.

        `is_private`: the worker shows nothing of itself to a browser.
        """
        self.name, self._wanted, self._needs, self._is_private = name, wanted, needs, is_private

    def setup(self, worker: Worker) -> None:
        """Begin; Dask calls this on each worker."""
        if self._is_private:
            worker.http_server.stop()
        threading.Thread(target=self._prepare, args=(worker,), daemon=True, name="merino-preparation").start()

    def _prepare(self, worker: Worker) -> None:
        """Check the worker and compile, in a separate thread; takes minutes if nothing is compiled yet."""
        tell: Callable[..., object] = lambda **facts: worker.log_event(self.name, {"worker": worker.address, **facts})  # noqa: E731
        try:
            found = inspect(self._wanted, self._needs)
            if not found["fault"]:
                tell(state="compiling", host=gethostname())
                found["seconds"] = warm_up(self._needs.parts)
        except Exception as error:  # noqa: BLE001  # whatever it is, the user must know
            found = {"fault": f"cannot be made ready: {type(error).__name__}: {error}"}
        threads = int(worker.state.nthreads)
        if found["fault"]:
            tell(state="refused", **found)
        else:
            worker.loop.add_callback(self._open, worker, threads, lambda: tell(state="ready", threads=threads, **found))

    async def _open(self, worker: Worker, threads: int, tell: Callable[[], object]) -> None:
        """Offer the resource, and let the scheduler check the work that waits for it again."""
        await worker.set_resources(**{self.name: threads})
        if worker.status == Status.running:
            worker.status = Status.paused
            worker.status = Status.running
        tell()


def inspect(wanted: dict[str, str], needs: Needs) -> dict[str, Any]:
    """Facts about this process: `fault` says why it gets no work, "" if it does; `remark` is for the user."""
    fault = difference(wanted, identity())
    missing = [program for program in needs.programs if shutil.which(program) is None]
    if fault:
        fault = f"is of another version: {fault}"
    elif missing:
        fault = f"has no program '{missing[0]}'"
    return {"fault": fault, "host": gethostname(), "pid": os.getpid(), "cache": str(places()[0]), "remark": _remark()}


def warm_up(parts: tuple[str, ...]) -> float:
    """Get the code of these parts, from the cache or by compiling; the seconds it took.

    Several processes of a machine may compile the same at once: files of the cache are replaced whole.
    """
    began = time.monotonic()
    for part in parts:
        import_module(f"merino.{part}.warmup").warm_up()
    return round(time.monotonic() - began, 1)


def _remark() -> str:
    """A sentence about a problem of a working worker."""
    return "" if keeps_code() else f"cannot keep compiled code in '{places()[0]}', and compiles at each start"
