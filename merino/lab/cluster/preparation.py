"""The preparation of a worker before it gets work: it is checked, and its code is compiled, once for each machine.

A worker that is ready offers a resource, in Dask's sense, which all work of the session asks for. So work goes to no
worker of another version, and to one that joins late as soon as it is ready; all this is Dask's own scheduling. The
version is that of all code: only then does the same seed give the same games.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
from distributed import Worker, WorkerPlugin
from distributed.core import Status

from merino.core.common.about import __version__
from merino.core.common.files import lock_within
from merino.core.compiled.cache import CACHE_GROUPS
from merino.core.compiled.jit import CACHE
from merino.eval.linear.sets import TermSetError, version_of_own_set
from merino.eval.linear.weights import DEFAULT_FILE
from merino.lab.cluster.address import Needs

SILENT_SECONDS = 10.0  # that a worker waits for another that compiles, or only loads, without a word
LOCK_SECONDS = 300.0  # that it waits then: the other may have been stopped
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
        "Merino": __version__,
        "code": digest.hexdigest()[:12],
        "weights": hashlib.sha256(DEFAULT_FILE.read_bytes()).hexdigest()[:12],
        "own terms": _own_terms(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numba": numba.__version__,
        "NumPy": np.__version__,
    }


def _own_terms() -> str:
    """The version of the user's set of terms, which other processes know by its file's name alone; NONE without one."""
    try:
        return version_of_own_set() or NONE
    except TermSetError as error:
        return f"that are faulty ({error})"  # told where they are needed


def difference(here: dict[str, str], there: dict[str, str]) -> str:
    """The difference between there and here in words; "" if there is none. Own terms that are only there do no harm."""
    names = [name for name in here if here[name] not in (NONE, there.get(name))]
    return ", ".join(f"{name} {there.get(name, 'unknown')} instead of {here[name]}" for name in names)


class Preparation(WorkerPlugin):
    """Prepares each worker, also one that joins late, and reports to the client by events."""

    def __init__(self, name: str, wanted: dict[str, str], needs: Needs) -> None:
        """`name` is that of the resource and of the topic; `wanted` the identity of the client."""
        self.name, self._wanted, self._needs = name, wanted, needs

    def setup(self, worker: Worker) -> None:
        """Begin; Dask calls this on each worker."""
        threading.Thread(target=self._prepare, args=(worker,), daemon=True, name="merino-preparation").start()

    def _prepare(self, worker: Worker) -> None:
        """Check the worker and compile, in a separate thread; takes minutes if nothing is compiled yet."""
        tell: Callable[..., object] = lambda **facts: worker.log_event(self.name, {"worker": worker.address, **facts})  # noqa: E731
        try:
            found = inspect(self._wanted, self._needs)
            if not found["fault"]:
                tell(state="compiling", host=platform.node())
                found["seconds"] = warm_up(self._needs.parts, lambda text: tell(state="remark", text=text))
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
    return {"fault": fault, "host": platform.node(), "pid": os.getpid(), "cache": str(CACHE or ""), "remark": _remark()}


def warm_up(parts: tuple[str, ...], say: Callable[[str], object]) -> float:
    """Get the code of these parts, from the cache or by compiling; the seconds it took.

    One process of a machine compiles at a time, so that the others find its work in the cache; `say` gets sentences for
    the user who waits for that. After LOCK_SECONDS this process compiles by itself: files of the cache are replaced
    whole, so that two who write one do no harm.
    """
    began = time.monotonic()
    with _alone(say):
        for part in parts:
            import_module(f"merino.{part}.warmup").warm_up()
    return round(time.monotonic() - began, 1)


@contextmanager
def _alone(say: Callable[[str], object]) -> Iterator[None]:
    try:
        file = None if CACHE is None else (CACHE / "compiling.lock").open("ab")
    except OSError:
        file = None  # where nothing can be written, nothing is shared
    if file is None:
        yield
        return
    with file:
        if not lock_within(file, SILENT_SECONDS):
            say(f"{platform.node()}: waiting up to {LOCK_SECONDS:.0f} s for another process that compiles")
            if not lock_within(file, LOCK_SECONDS):
                say(f"{platform.node()}: another process holds '{file.name}' for too long; compiling without it")
        yield


def _remark() -> str:
    """A sentence about a problem of a working worker."""
    if CACHE is None:
        return "has no place for compiled code, and compiles at each start"
    try:
        probe = CACHE / f"probe-{os.getpid()}"
        probe.write_bytes(b"\0" * 4096)
        probe.unlink()
    except OSError as error:
        return f"cannot keep compiled code in '{CACHE}' ({error.strerror}), and compiles at each start"
    return ""
