"""Where code runs on a graphics card: two decorators, as `core.compiled.jit` has them for the processor.

`gpu_kernel`  code on the card calls it.
`gpu_entry`   Python starts it on the card, on many threads: entry[blocks, threads](...).

Importing this module looks for CUDA, so only those who have asked for a card do.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda

from merino.core.compiled.jit import in_python

cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a last batch may be small


def gpu_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, also that of a kernel of the processor, for callers on the card."""
    return cuda.jit(device=True)(in_python(function))


def gpu_entry(function: Callable[..., Any]) -> Any:
    """Compile `function` for Python to start on the card."""
    return cuda.jit(function)
