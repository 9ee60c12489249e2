"""The set `full`, filled: the order of these modules is that of its weights."""

from merino.inner.eval.linear.full import material, pawns, passed, pieces, threats, king  # noqa: F401, I001  (in order)
from merino.inner.eval.linear.full.term_set import TERMS

__all__ = ["TERMS"]
