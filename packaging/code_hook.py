"""Puts compiled code into a wheel, which is then for one system: what lies in `build/code`, as `make dist` makes it.

Code is for a system, a kind of processor and the sources next to it, but for any Python. A wheel without code is for
all; it compiles at its first start.
"""

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CODE = "build/code"
TAGS = {"linux": "manylinux_2_17", "darwin": "macosx_11_0", "win32": "win"}  # what numba's own wheels ask for, or less


class CodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """A hook of hatchling, which finds it by its place in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the code, if there is any and the wheel is no editable one, and name the system."""
        if version == "standard" and (Path(self.root) / CODE).is_dir():
            build_data["force_include"][CODE] = "merino/code"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{TAGS[sys.platform]}_{platform.machine().lower()}"
