"""Merino's engine: board, search, UCI and console.

This package imports nothing at its top: `uciok` is answered before numba is loaded.
"""

NAME = "Merino"
AUTHOR = "the Merino developers"
__version__ = "1.0.0"
