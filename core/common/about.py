"""Name, author and version of the program. Imports nothing: `uciok` is answered before numba is loaded."""

NAME = "Merino"
AUTHOR = "the Merino developers"
__version__ = "1.0.0"
