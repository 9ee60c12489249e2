"""Which Python file the user's own set of terms is in. Imports nothing heavy: it is named on the way to `uciok`."""

import os
from pathlib import Path

from merino.core.common.files import SETTINGS, open_user_file, user_path

ENVIRONMENT_VARIABLE = "MERINO_OWN_TERMS"


def use_own_terms(name: str) -> None:
    """Use the set in this file, here and in the processes that this one starts; raises OSError if it is none."""
    path = user_path(name).absolute()
    open_user_file(path, SETTINGS).close()
    os.environ[ENVIRONMENT_VARIABLE] = str(path)


def own_file() -> Path | None:
    """The file, None where none is named; raises OSError for a name that no file can have."""
    name = os.environ.get(ENVIRONMENT_VARIABLE)
    return user_path(name) if name else None
