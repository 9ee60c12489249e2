"""Merino for Python: positions, searches, evaluations, explanations, learning and matches under one name.

    import merino

    position = merino.Position()
    result = merino.Searcher().search(position, merino.Limits(depth=10))

Importing this package loads nothing: numba, NumPy and the compiled code come with the first name that needs them. Only
what is listed here is promised to stay; what lies below may change with any version.
"""

from merino.core.common.about import __version__ as __version__


def _names() -> dict[str, str]:
    """The module of each name that is offered: the stub next to this file, which type checkers read, imports it."""
    import re  # noqa: PLC0415 (not before it is needed)
    from pathlib import Path  # noqa: PLC0415

    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as", stub, re.MULTILINE)}


def __getattr__(name: str) -> object:
    """What is offered under a name, whose module is imported now."""
    module = _names().get(name)
    if module is None:
        raise AttributeError(f"module 'merino' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (not before it is needed)

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What is offered."""
    return sorted({*globals(), *_names()})
