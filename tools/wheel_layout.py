"""How the wheel is laid out: everything below the one name `merino`. Called by setuptools, see pyproject.toml.

Names such as `engine`, `match` or `weights` would be in the way of others in a user's environment, so the wheel has
these folders in `merino/inner/`, where `merino.inner` finds them as it finds those of a checkout at its top. No line of
a source changes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

TOP, INNER = "merino", "merino/inner"


class BuildPy(build_py):
    """Copies the sources, then moves all packages but the face below it."""

    def run(self) -> None:
        """Build; in an editable install nothing is moved."""
        super().run()
        if not self.editable_mode:
            for package in sorted({name.partition(".")[0] for name in self.packages} - {TOP}):
                target = Path(self.build_lib, INNER, package)
                if target.exists():
                    shutil.rmtree(target)  # of an earlier build
                Path(self.build_lib, package).rename(target)


class EggInfo(egg_info):
    """Tells installers the one name that the wheel takes."""

    def run(self) -> None:
        """Write the metadata."""
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{TOP}\n", encoding="utf-8")
