"""Shared by all pictures: matplotlib, if installed, and the bytes of a figure."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

from merino.core.common.errors import MerinoError

ENDINGS = (".png", ".svg")
GREY = "#555555"
SETTINGS = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "svg.hashsalt": "merino",  # so that the same games give the same file
    "text.parse_math": False,  # names of players and files may have dollar signs
}
_DOTS_PER_INCH = 160


class PictureError(MerinoError):
    """A picture that cannot be drawn; the message says why."""


def load_matplotlib() -> tuple[Any, ModuleType]:
    """The class of figures, which draws without a screen, and the module of settings.

    Raises PictureError if matplotlib is not installed.
    """
    try:
        import matplotlib as style  # noqa: PLC0415 (heavy, and an extra)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise PictureError(
            "a picture needs matplotlib: install it (pip install matplotlib) or Merino with its extra 'plots'"
        ) from error
    return Figure, style


def saved(figure: Any, ending: str) -> bytes:
    """The bytes of a figure in the format of an ending, one of ENDINGS."""
    content = io.BytesIO()
    kind = ending.lstrip(".")
    figure.savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()
