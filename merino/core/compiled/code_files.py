"""Compiled code on the disk and in memory: a file holds the object code of one function for one signature.

A file begins with a line of text: the format, a checksum, what it is the code of. What follows goes to LLVM's linker as
it is, so nothing in a file is run before it is called. LLVM trusts what it reads: a file that was cut short or
overwritten could end the process. So a damaged file counts as none, as does one that belongs to another user; the log
says so, and the code is compiled and written again.
"""

import ctypes
import logging
import os
import sys
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding

from merino.core.common.files import writing_whole

log = logging.getLogger(__name__)

FORMAT = "Merino code 1"
IN_ONE_PIECE = sys.platform != "win32"  # whether code jumps by short distances; llvmlite has other files for Windows
_PACKAGE = Path(__file__).resolve().parents[2]
_LOCK = threading.RLock()  # LLVM links for one thread at a time


def read_code(path: Path) -> bytes | None:
    """The object code in a file; None where there is none that can be used, and the log says why."""
    try:
        content, owner = path.read_bytes(), path.stat().st_uid
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("cannot read the compiled code in %s (%s): compiling again", path, error.strerror)
        return None
    if owner not in _owners():
        log.warning("the compiled code in %s belongs to another user: compiling again", path)
        return None
    head, _, code = content.partition(b"\n")
    if not code or head != _head(path, code):
        log.warning("the compiled code in %s is damaged: compiling again", path)
        return None
    for used in (path, path.parent):
        with suppress(OSError):  # it may belong to somebody else
            os.utime(used)  # by that `cache.remove_stale` judges
    return code


def write_code(path: Path, code: bytes) -> None:
    """Keep code for later starts; raises OSError."""
    with writing_whole(path) as file:
        file.write(_head(path, code) + b"\n" + code)


def _head(path: Path, code: bytes) -> bytes:
    """The first line of a file. The checksum is against accidents, since it is on the way to `readyok`."""
    return f"{FORMAT} {zlib.crc32(code):08x} {path.stem}".encode()


@cache
def _owners() -> set[int]:
    """Whose code is run: our own, the system's, and that of whoever has installed Merino; on Windows anybody's is 0."""
    return {0, _PACKAGE.stat().st_uid, *([os.geteuid()] if hasattr(os, "geteuid") else [])}


class _Definition(ctypes.Structure):
    """A PyMethodDef: what Python is to know of a function in C."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


SYMBOL = "merino_entry"  # of the function in every file
_FASTCALL = 0x80  # METH_FASTCALL: called with an array of arguments and their number
_LINKED: list[Any] = []  # what must stay: an engine and a definition for each


def link(name: str, code: bytes, error: type[Exception]) -> Callable[..., Any]:
    """The function of Python in object code; it raises `error` where the code finds a fault."""
    with _LOCK:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(jit=True)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine, use_lmm=IN_ONE_PIECE)
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        definition = _Definition(name.encode(), engine.get_function_address(SYMBOL), _FASTCALL, None)
        _LINKED.append((engine, definition))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Definition), ctypes.py_object, ctypes.c_void_p)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))(definition, error, None)
