"""A Dask scheduler and its workers as processes of their own, which a test may kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 600.0  # seconds; nothing here takes more than a few on an idle machine


def wait_for(happens: Callable[[], Any], what: str) -> Any:
    """What `happens` returns as soon as that is true."""
    until = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < until, f"in vain: {what}"
        time.sleep(0.05)
    return found


class DaskCluster:
    """A scheduler and workers; a context, at whose end none of them runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--scheduler-file", str(file))
        self.address = str(wait_for(lambda: file.exists() and self._address(file), "the scheduler answers"))

    def add(
        self,
        threads: int = 1,
        code: Path = ROOT,
        cwd: Path | None = None,
        prepare: Callable[[], object] | None = None,
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """One more worker, without a nanny: killed, it is gone."""
        here = self.folder / f"worker{len(self.processes)}"
        here.mkdir()
        words = [self.address, "--nthreads", str(threads), "--no-nanny", "--local-directory", str(here)]
        path = os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH", "")]))
        return self._start("dask_worker", *words, cwd=cwd or here, prepare=prepare, PYTHONPATH=path, **environment)

    def has_registered(self, worker: subprocess.Popen[bytes]) -> bool:
        """Whether the scheduler knows a worker, by its log."""
        log = self.folder / f"dask_worker{self.processes.index(worker)}.log"
        return "Registered to" in log.read_text(errors="replace")

    def merino(self, *words: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """A command at work, in a process group of its own, as a terminal has it."""
        return subprocess.Popen(
            [sys.executable, "-m", "merino", *words],
            cwd=cwd or self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=_heed_ctrl_c,  # noqa: PLW1509  # no threads are started here
        )

    def _start(
        self,
        module: str,
        *words: str,
        cwd: Path | None = None,
        prepare: Callable[[], object] | None = None,
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{module}{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *words, "--no-dashboard"],
            cwd=cwd or self.folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
            preexec_fn=prepare,  # noqa: PLW1509  # no threads are started here
        )
        log.close()
        self.processes.append(process)
        return process

    @staticmethod
    def _address(file: Path) -> str:
        try:
            return str(json.loads(file.read_text())["address"])
        except ValueError:
            return ""

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def _heed_ctrl_c() -> None:
    """In the background of a shell it would be ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def kill(process: subprocess.Popen[Any]) -> None:
    """As `kill -9` does."""
    process.send_signal(signal.SIGKILL)
    process.wait()


def games_in(path: Path) -> int:
    """How many games a PGN holds by now."""
    return path.read_bytes().count(b"[Event ") if path.exists() else 0


def results_of(text: str) -> str:
    """What a match printed, without its duration."""
    return re.sub(r"^Time .*$", "", text, flags=re.MULTILINE)
