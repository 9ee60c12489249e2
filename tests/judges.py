"""Judges that tests make of a function."""

from collections.abc import Callable, Sequence

from merino.engine.search.limits import Line, Score
from merino.eval.evaluation import Evaluation
from merino.eval.families import default
from merino.study.analyser import expected_of
from merino.study.judge import Judge


def judge_from(
    analyse: Callable[..., Sequence[Line]],
    evaluation: Evaluation | None = None,
    scales: Sequence[Callable[[Score, float], float]] = (),
) -> Judge:
    """The judge whose lines `analyse` gives; expected scores and words are those of the evaluation."""
    evaluation = evaluation or default()
    scale = f"K {evaluation.k:g}"

    def expected(score: Score) -> float:
        return expected_of(score, evaluation)

    return Judge("a test", analyse, expected, evaluation, "a test", scale, scales)
