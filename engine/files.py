"""Files written whole or not at all: what a crash, a full disk or a second writer finds is the old file or the new."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` in place of what the file held; raises OSError and then leaves it as it was."""
    target = path.resolve()  # of a link, the file it points to
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".new")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
