"""The methods of a tune, one in each module of this folder, which is all that a new one needs.

A module sets METHOD. In settings a method is its number, the place of its name in the alphabet.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from merino.lab.tune.rules import Method

_MODULES = sorted(module.name for module in pkgutil.iter_modules(__path__))
METHODS: dict[str, Method] = {}
DEFAULT = "adaptive"  # of a tune by games, and what a plan advises
for _name in _MODULES:
    _method = import_module(f"{__name__}.{_name}").METHOD
    METHODS[_method.name] = _method


def number_of(method: Method) -> int:
    """The number of a method in settings."""
    return list(METHODS.values()).index(method)


def method_of(number: int) -> Method:
    """The method with this number in settings."""
    return list(METHODS.values())[number]
