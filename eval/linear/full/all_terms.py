"""The set `full`, filled: the order of these modules is that of its weights."""

from merino.inner.eval.linear.full import (  # noqa: I001  (in order)
    material,  # noqa: F401
    pawns,  # noqa: F401
    passed,  # noqa: F401
    pieces,  # noqa: F401
    squares,  # noqa: F401
    threats,  # noqa: F401
    king,  # noqa: F401
)
from merino.inner.eval.linear.full.term_set import TERMS

__all__ = ["TERMS"]
