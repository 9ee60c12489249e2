"""Files written whole or not at all: what a crash, a full disk or a second writer finds is the old file or the new."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` in place of what the file held; raises OSError and then leaves it as it was."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Put each content in place of what its file held; raises OSError, and none is changed unless all could be written.

    Only putting them in place is left for the end, one file after another in the order given.
    """
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            target = path.resolve()  # of a link, the file it points to
            staged[target] = _stage(target, content)
        for target, temporary in staged.items():
            temporary.replace(target)
    except BaseException:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into that takes the place of `path` at the end of the block, unless that ends with an error.

    The disk is not waited for: this is for large files that can be made again.
    """
    target = path.resolve()
    with _beside(target, durable=False) as (temporary, file):
        yield file
    try:
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _stage(target: Path, content: bytes) -> Path:
    """A file beside `target` that holds `content` and is on the disk; an OSError names `target`."""
    try:
        with _beside(target, durable=True) as (temporary, file):
            file.write(content)
    except OSError as error:
        error.filename = str(target)  # a full disk names no file, a locked folder one that nobody asked for
        raise
    return temporary


@contextmanager
def _beside(target: Path, durable: bool) -> Iterator[tuple[Path, IO[bytes]]]:
    """A new file beside `target` to write into, and its path; it goes again where the block ends with an error.

    At the end it has the rights of `target`; if `durable` it is on the disk.
    """
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".new")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield temporary, file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
