"""Accumulators: sums that an evaluation keeps by ply, and updates only when it is asked for a score.

The search notes in its record the move made at each ply and the positions on both sides of it. So nothing is done when
a move is made, and a family without sums pays nothing. With each sum a family stores the key of its position; a sum is
valid while that is the key at its ply.
"""

from merino.core.compiled.jit import kernel


@kernel
def last_valid(s, keys, ply):
    """The last ply up to `ply` whose sum is valid, -1 if there is none; `keys`, uint64[plies], are those of the sums.

    From there on, each sum follows from the one before by `changes_of(s.positions[p], s.plies[p].move)`.
    """
    while ply >= 0 and keys[ply] != s.positions[ply].key:
        ply -= 1
    return ply
