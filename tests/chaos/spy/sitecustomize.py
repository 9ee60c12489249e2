"""Watches a command under trial from inside: Python imports this by itself, since the folder is on its path.

A change to a file of the folder under trial has a site: what is done, and the lines of this project that do it, the
innermost first. The report gets a line for each change when it comes, and one for each file of compiled code that is
read. Just before the change that was chosen, this process kills itself or fills the disk.
"""

import _pyio
import builtins
import errno
import io
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

_FOLDER = os.path.realpath(os.environ["CHAOS_FOLDER"]) + os.sep
_DISK = Path(os.environ["CHAOS_DISK"])
_HARM, _SITE = os.environ["CHAOS_HARM"], os.environ["CHAOS_SITE"]
_HERE = str(Path(__file__).parent) + os.sep
_ROOT = str(Path(__file__).parents[3]) + os.sep
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_UNNAMED = getattr(os, "O_TMPFILE", 0)  # a temporary file without a name

_report = os.open(os.environ["CHAOS_REPORT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_lock = threading.Lock()
_times_left = int(os.environ["CHAOS_TIMES"])  # until the harm


class _Watched(io.FileIO):
    """A file whose writes are changes; those to the output are prints."""

    def write(self, content: Any) -> int:
        if self.fileno() == 1:
            _come("print")
        elif os.readlink(f"/proc/self/fd/{self.fileno()}").startswith(_FOLDER):  # noqa: PTH115 (light)
            _come("write")
        return super().write(content)


def _kind(event: str, arguments: tuple[Any, ...], path: str) -> str:
    """What an event does to a file; empty for nothing."""
    if event == "open":
        flags = arguments[2]
        if flags & _UNNAMED == _UNNAMED != 0 or (flags & os.O_CREAT and not os.path.lexists(path)):
            return "create"
        return "open" if flags & _WRITING else ""
    found = event.removeprefix("os.")
    return found if found in ("rename", "remove", "mkdir", "rmdir", "truncate") else ""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and not event.startswith("os."):
        return
    if not arguments or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 (light: it is called for each file opened)
    if path.endswith(".code") and event == "open":
        os.write(_report, f"code {path}\n".encode())
    if (kind := _kind(event, arguments, path)) and _is_in_folder(path):
        _come(kind)


def _is_in_folder(path: str) -> bool:
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name, "").startswith(_FOLDER)  # noqa: PTH118


def _come(kind: str) -> None:
    """Report a change that comes now, and do the harm if this is its moment."""
    global _times_left  # noqa: PLW0603 (a hook has no other place)
    site = _site(kind)
    os.write(_report, f"{site}\n".encode())
    if not _HARM or site != _SITE:
        return
    with _lock:
        _times_left -= 1
        if _times_left == 0:
            if _HARM == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            _fill(takes_names=kind in ("create", "mkdir"))


def _site(kind: str) -> str:
    lines, frame = [], sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_ROOT) and not name.startswith(_HERE) and "site-packages" not in name:
            lines.append(f"{name[len(_ROOT) :]}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join([kind, *lines])


def _fill(takes_names: bool) -> None:
    """Take all room that the disk has left, and the room for names, too."""
    with (_DISK / "filler").open("wb") as filler:
        length = 0
        while room := os.fstatvfs(filler.fileno()).f_bavail * os.fstatvfs(filler.fileno()).f_bsize:
            try:
                os.posix_fallocate(filler.fileno(), length, room)
                length += room
            except OSError as error:  # another process has taken some meanwhile
                if error.errno != errno.ENOSPC:
                    raise
    while takes_names and os.statvfs(_DISK).f_favail:
        os.mknod(_DISK / f"name-{os.getpid()}-{os.statvfs(_DISK).f_favail}")


def _open(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
    """As the usual one, which the library also has in Python; a file to write to is watched."""
    return (_pyio.open if set(mode) & set("wax+") else _usual_open)(file, mode, *more, **options)


_usual_open = io.open
_pyio.FileIO = _Watched
for _name in ("BufferedRandom", "BufferedWriter", "TextIOWrapper"):
    setattr(_pyio, _name, getattr(io, _name))
builtins.open = io.open = _open
sys.stdout = _open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)
sys.addaudithook(_note)
