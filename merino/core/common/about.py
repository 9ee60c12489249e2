"""Name, author and version of the program, and where its data lie. `uciok` is answered before numba is loaded."""

import os.path  # is there when Python starts, as pathlib is not

NAME = "Merino"
AUTHOR = "the Merino developers"
__version__ = "2.0.0"

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_FOLDERS = [os.path.join(parent, "weights") for parent in (_PACKAGE, os.path.dirname(_PACKAGE))]  # noqa: PTH118, PTH120
# Weights and nets: in a wheel inside the package, in a checkout next to it.
SHIPPED = next(filter(os.path.isdir, _FOLDERS))
