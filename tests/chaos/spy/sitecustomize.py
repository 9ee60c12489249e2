"""Watches a command under trial from inside: Python imports this by itself, since the folder is on its path.

Counts the changes to files of the folder under trial, and dies just before the one that it is told. At the end it
writes down how many there were, and which files of compiled code were read.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

_FOLDER = os.environ["CHAOS_FOLDER"] + os.sep
_FATAL = int(os.environ.get("CHAOS_DIES_BEFORE", "0"))
_REPORT = Path(os.environ["CHAOS_REPORT"])
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PROCESS = os.getpid()

_lock = threading.Lock()
_changes = 0
_code: set[str] = set()


def _changes_a_file(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        return bool(arguments[2] & _WRITING)
    return event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    global _changes  # noqa: PLW0603 (a hook has no other place)
    if event != "open" and not event.startswith("os."):
        return
    if not arguments or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 (light: it is called for each file opened)
    if path.endswith(".code") and event == "open":
        _code.add(path)
    if not (path + os.sep).startswith(_FOLDER) or not _changes_a_file(event, arguments):
        return
    with _lock:
        _changes += 1
        if _changes == _FATAL:
            os.kill(os.getpid(), signal.SIGKILL)


def _report() -> None:
    if os.getpid() == _PROCESS:
        _REPORT.write_text(json.dumps({"changes": _changes, "code": sorted(_code)}), encoding="utf-8")


sys.addaudithook(_note)
atexit.register(_report)
