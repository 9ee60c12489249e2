"""Files written whole or not at all: what a crash, a full disk or a second writer finds is the old file or the new."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


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


def _stage(target: Path, content: bytes) -> Path:
    """A file beside `target` that holds `content` and is on the disk."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".new")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
