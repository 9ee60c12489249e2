"""The folders on the user's disk that hold Merino's files. Imports nothing heavy."""

import os
import sys
from pathlib import Path


def user_folder(kind: str) -> Path:
    """The user's folder for Merino's files of this `kind` ("cache" or "data") on this system.

    MERINO_HOME, if set, holds both: `$MERINO_HOME/cache` and `$MERINO_HOME/data`.
    """
    home = os.environ.get("MERINO_HOME")
    if home:
        return Path(home).expanduser() / kind
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "Merino" / kind
    if sys.platform == "darwin":
        return Path.home() / "Library" / ("Caches" if kind == "cache" else "Application Support") / "Merino"
    variable, default = {"cache": ("XDG_CACHE_HOME", ".cache"), "data": ("XDG_DATA_HOME", ".local/share")}[kind]
    return Path(os.environ.get(variable) or Path.home() / default) / "merino"
