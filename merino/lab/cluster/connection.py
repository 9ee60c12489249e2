"""A session with a cluster: starts processes or finds a scheduler, prepares workers, and offers an executor."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from merino.core.common import about
from merino.core.common.work import Needs, WorkError

if TYPE_CHECKING:
    from merino.lab.cluster.workers import ClusterExecutor, Workers

Say = Callable[[str], object]

CONNECT_SECONDS = 20.0
JOIN_SECONDS = 60.0  # for the first worker of a scheduler
TRIES = 5  # to reach all workers
PATIENCE, PATIENCE_HERE = 5.0, 30.0  # seconds for workers that are not ready, once one is; for those of this machine
TELL_EVERY = 30.0  # seconds, while all compile
FORGET_SECONDS = 5.0  # for workers at the end of a session
ASK_EVERY = 0.05  # seconds, until the scheduler passes on events
HERE = {  # settings of Dask where all is on this machine: no dashboard, and no measurements for it
    "distributed.scheduler.worker-ttl": "60s",  # without a sign of life, until another worker repeats the work
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
}


FORMS = "tcp://HOST:PORT of a Dask scheduler, or local:N for N processes of this machine"
_LOCAL = re.compile(r"local:(\d{1,4})", re.ASCII)
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|ws|wss)://)?(?:\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})", re.ASCII)


@dataclass(frozen=True)
class ClusterAddress:
    """A scheduler, as tcp://HOST:PORT, or a number of `processes` on this machine."""

    scheduler: str = ""
    processes: int = 0

    @classmethod
    def read(cls, text: str) -> ClusterAddress:
        """The address in one of FORMS; raises ValueError."""
        local = _LOCAL.fullmatch(text)
        if local and int(local[1]):
            return cls(processes=int(local[1]))
        found = _ADDRESS.fullmatch(text)
        if local or found is None or text.startswith("local:") or not 0 < int(found[1]) < 1 << 16:
            raise ValueError(f"'{text[:60]}' is not {FORMS}")
        return cls(text if "://" in text else f"tcp://{text}")

    @property
    def is_open(self) -> bool:
        """Whether everybody who reaches its ports may use it, as there are no certificates."""
        return not self.processes and not self.scheduler.startswith(("tls://", "wss://"))

    def __str__(self) -> str:
        return self.scheduler or f"local:{self.processes}"


@dataclass(frozen=True)
class ClusterSession:
    """A running cluster: `identity` is shared by all its workers, `dashboard` is the address of Dask's page or ""."""

    executor: ClusterExecutor
    workers: Workers
    identity: dict[str, str]
    dashboard: str


@contextmanager
def session(address: ClusterAddress, needs: Needs, say: Say) -> Iterator[ClusterSession]:
    """A cluster, with an executor over those of its workers that have our version and meet the needs.

    Sentences for the user go to `say`. Raises WorkError.
    """
    distributed = _distributed()
    _silence_dask()
    with ExitStack() as stack:
        client = stack.enter_context(_client(distributed, address))
        executors = import_module("merino.lab.cluster.workers")
        workers = executors.Workers(f"merino-{uuid.uuid4().hex[:12]}", say)
        stack.callback(_forget, client, workers.name, address)
        stack.callback(workers.close)
        try:
            identity = _make_ready(client, workers, address, needs, say)
        except OSError as error:
            raise WorkError(f"the scheduler of the cluster {address} does not answer any more") from error
        executor = executors.ClusterExecutor(client, workers, str(address))
        yield ClusterSession(executor, workers, identity, "" if address.processes else client.dashboard_link)


def _forget(client: Any, name: str, address: ClusterAddress) -> None:
    """Let workers that join after the session not prepare for it, one session after the other, before they have work.

    Processes of this machine end with it; where the scheduler is gone, or does not answer soon, nothing is to be done.
    """
    if not address.processes and client.status == "running":
        with suppress(OSError, ValueError, TimeoutError):
            client.sync(client.scheduler.unregister_worker_plugin, name=name, callback_timeout=FORGET_SECONDS)


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ModuleNotFoundError as error:
        raise WorkError(about.needs("cluster", "--cluster")) from error


def _silence_dask() -> None:
    """Silence Dask's log, which is for administrators of a cluster; the user gets sentences instead.

    Its loggers have levels of their own. They stay silent to the end, as some write after the session is closed.
    """
    warnings.filterwarnings("ignore", module="distributed")
    for name in ("distributed", "asyncio", "tornado", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "asyncio", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _client(distributed: Any, address: ClusterAddress) -> Iterator[Any]:
    with ExitStack() as stack:
        target: Any = address.scheduler
        if address.processes:
            target = stack.enter_context(_local(distributed, address.processes))
        else:
            _check_answer(distributed, address)
        try:
            client = distributed.Client(target, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise _no_scheduler(address) from error
        with client:
            yield client


def _check_answer(distributed: Any, address: ClusterAddress) -> None:
    """Raise WorkError unless a Dask scheduler answers: a client waits for ever for anything else."""

    async def ask() -> None:
        connection = distributed.Security().get_connection_args("client")
        async with distributed.rpc(address.scheduler, CONNECT_SECONDS, connection_args=connection) as scheduler:
            await scheduler.identity(n_workers=0)

    try:
        asyncio.run(asyncio.wait_for(ask(), CONNECT_SECONDS))
    except (OSError, ValueError, TimeoutError) as error:
        raise _no_scheduler(address) from error
    except Exception as error:  # whatever it is, such as no certificate for tls://, the user must know
        raise WorkError(f"no connection to the cluster {address} is possible: {error}") from error


def _no_scheduler(address: ClusterAddress) -> WorkError:
    return WorkError(f"there is no Dask scheduler at {address}, or it does not answer; 'dask scheduler' starts one")


@contextmanager
def _local(distributed: Any, processes: int) -> Iterator[Any]:
    """Workers of one thread each.

    They ignore Ctrl-C, which a terminal sends to the whole group: the client stops them.
    """
    with ExitStack() as stack:
        try:
            scratch = tempfile.TemporaryDirectory(prefix="merino-", ignore_cleanup_errors=True)
            folder = stack.enter_context(scratch)  # that of Dask has a known name, under which others may put a link
            with _without_interrupts(), import_module("dask").config.set(HERE | {"temporary-directory": folder}):
                cluster = distributed.LocalCluster(
                    n_workers=processes,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    security=distributed.Security.temporary(),  # certificates of this run: nobody else can connect
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL + 1,
                )
                cluster.scheduler.http_server.stop()  # which Dask starts in any case
        except ImportError as error:
            raise WorkError(f"{about.needs('cluster', '--cluster')} ({error})") from error
        except (OSError, RuntimeError, TimeoutError) as error:
            raise WorkError(f"{processes} processes could not be started: {error}") from error
        with cluster:
            yield cluster


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let the threads and processes that are started in this block ignore Ctrl-C: they inherit that."""
    if hasattr(signal, "pthread_sigmask"):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    else:
        console = import_module("ctypes").windll.kernel32
        console.SetConsoleCtrlHandler(None, True)
        try:
            yield
        finally:
            console.SetConsoleCtrlHandler(None, False)


def _make_ready(client: Any, workers: Workers, address: ClusterAddress, needs: Needs, say: Say) -> dict[str, str]:
    """Return our identity once a worker with the same one is ready; raises WorkError if there will be none."""
    _worker_addresses(client, address)
    preparation = import_module("merino.lab.cluster.workers")
    identity: dict[str, str] = preparation.identity()
    _listen(client, workers)
    _register(client, preparation.Preparation(workers.name, identity, needs, bool(address.processes)), address)
    known = _worker_addresses(client, address)
    patience = PATIENCE_HERE if address.processes else PATIENCE
    while not workers.wait(known, patience, TELL_EVERY):
        known = _worker_addresses(client, address)  # some may have gone, of which nobody reports
        compiling = workers.compiling(known)
        say(f"{compiling} of {len(known)} workers are compiling; that takes minutes, once for each machine.")
    if workers.is_lost:
        raise WorkError(f"the scheduler of the cluster {address} is gone")
    if not workers.ready:
        worker, why = next(iter(workers.refused.items()))
        all_of = f"all {len(workers.refused)} workers" if len(workers.refused) > 1 else "the only worker"
        raise WorkError(f"{all_of} of the cluster {address} cannot be used: worker {worker} {why}")
    workers.begin()
    return identity


def _worker_addresses(client: Any, address: ClusterAddress) -> set[str]:
    """Those of the workers there are now; without any the next one is waited for. Raises WorkError."""
    while not (found := set(client.scheduler_info(n_workers=-1)["workers"])):
        try:
            client.wait_for_workers(1, timeout=JOIN_SECONDS)
        except TimeoutError as error:
            raise WorkError(
                f"the scheduler {address} has no worker, and none has joined in {JOIN_SECONDS:.0f} s; "
                f"'dask worker {address}' starts one"
            ) from error
    return found


def _register(client: Any, plugin: Any, address: ClusterAddress) -> None:
    """Prepare all workers, also those that join later; raises WorkError."""
    for left in reversed(range(TRIES)):
        try:
            client.register_plugin(plugin, name=plugin.name)
        except (ImportError, AttributeError, TypeError) as error:
            raise WorkError(f"a worker of the cluster {address} has no Merino, or an old one: {error}") from error
        except OSError:  # a worker has just gone
            if not left:
                raise
        else:
            return


def _listen(client: Any, workers: Workers) -> None:
    """Take the reports of workers from now on; raises OSError if the scheduler does not answer.

    Dask subscribes some time later, and what a worker reports before is lost. So we report something ourselves until
    it comes back.
    """
    is_heard, until = threading.Event(), time.monotonic() + CONNECT_SECONDS
    client.subscribe_topic(workers.name, partial(_reported, client, workers, is_heard))
    while not is_heard.is_set():
        if time.monotonic() > until:
            raise TimeoutError
        client.log_event(workers.name, {"state": "listening"})
        is_heard.wait(ASK_EVERY)


def _reported(client: Any, workers: Workers, is_heard: threading.Event, event: Any) -> None:
    """Take our own report, or that of a worker; from then on, also those of the scheduler when it goes."""
    if event[1]["state"] == "listening":
        is_heard.set()
        return
    worker = event[1]["worker"]
    if event[1]["state"] == "ready":
        client.subscribe_topic(worker, partial(workers.scheduler_reported, worker))
    workers.heard(event)
