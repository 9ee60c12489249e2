"""For terms of your own: what a Python file named by --own-terms builds its set from.

    from merino.terms import Group, bitboard, derived

    TERMS = derived("mine", "full", without=["PawnIslands"])

    @TERMS.term("KnightOnRim", Group.BOARD_CONTROL, (-100, 100), sign=-1)
    def knight_on_rim(view):
        "A knight on the a- or h-file."
        return bitboard.popcount(view.knights & ~(bitboard.NOT_A & bitboard.NOT_H))

A term takes the view of one side, whose own first rank is rank 1, and returns how much of it that side has; one with a
weight for each of many cells is made by `TERMS.table`. Both are compiled by numba, as are functions that they call,
decorated by `kernel`. The fields of a view are those of `eval/linear/view.py` for the set `greko2015`, and of
`eval/linear/full/view.py` for `full`.
"""

from merino.core.board import attacks, bitboard
from merino.core.compiled.jit import kernel
from merino.eval.linear.registry import Group, Phase
from merino.eval.linear.sets import derived

__all__ = ["Group", "Phase", "attacks", "bitboard", "derived", "kernel"]
