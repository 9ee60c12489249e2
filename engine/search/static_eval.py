"""The only call from the search to the evaluation; the search does not know which family answers."""

from merino.inner.core.compiled.calls import call_evaluation
from merino.inner.core.compiled.jit import kernel
from merino.inner.engine.search.scaling import endgame_scaling
from merino.inner.eval.draws import final_score


@kernel
def static_evaluation(s, ply):
    """The evaluation of the position at `ply` in centipawns for the side to move, int64: draws and endings known."""
    position = s.positions[ply]
    return endgame_scaling(position, final_score(position, call_evaluation(s.evaluation, s, ply)))
