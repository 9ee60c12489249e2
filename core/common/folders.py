"""The folders on the user's disk that hold Merino's files. Imports nothing heavy."""

import os
import sys
from pathlib import Path

from merino.inner.core.common.errors import MerinoError
from merino.inner.core.common.user_files import user_path


class NoHomeError(MerinoError):
    """The system knows no home folder, or MERINO_HOME names none."""


def user_folder(kind: str) -> Path:
    """The user's folder for Merino's files of this `kind` ("cache" or "data") on this system.

    MERINO_HOME, if set, holds both: `$MERINO_HOME/cache` and `$MERINO_HOME/data`. Raises NoHomeError.
    """
    home = os.environ.get("MERINO_HOME")
    try:
        return user_path(home) / kind if home else _usual_folder(kind)
    except OSError as error:
        raise NoHomeError(f"MERINO_HOME is '{home}': {error.strerror}") from error
    except RuntimeError as error:
        raise NoHomeError("this user has no home folder: set MERINO_HOME to a folder for Merino's files") from error


def _usual_folder(kind: str) -> Path:
    """Where this system has such folders; raises RuntimeError without a home folder."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "Merino" / kind
    if sys.platform == "darwin":
        return Path.home() / "Library" / ("Caches" if kind == "cache" else "Application Support") / "Merino"
    variable, default = {"cache": ("XDG_CACHE_HOME", ".cache"), "data": ("XDG_DATA_HOME", ".local/share")}[kind]
    return Path(os.environ.get(variable) or Path.home() / default) / "merino"
