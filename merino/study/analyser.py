"""Searches for studies: the best lines of a position, at full strength, whatever the searcher is set to."""

from collections.abc import Callable, Sequence

from merino.core.board.game import Position
from merino.engine.search.limits import Limits, Line, Score
from merino.engine.search.searcher import Display, Searcher, think
from merino.eval.evaluation import Evaluation

# Searches a position within limits: the best lines, best first, one or as many as a third argument says; none if the
# search was too short.
Analyser = Callable[..., Sequence[Line]]


def expected_of(score: Score, evaluation: Evaluation) -> float:
    """The expected score of the side to move, 0..1; a mate in view is certain."""
    return evaluation.expected_score(score) if score.mate is None else float(score.mate > 0)


class _LineKeeper:
    """Collects the lines of each depth, and passes the best of them on."""

    def __init__(self, display: Display | None) -> None:
        self._display = display
        self.lines: dict[int, dict[int, Line]] = {}

    def show(self, line: Line) -> None:
        if not line.bound:
            self.lines.setdefault(line.depth, {})[line.multipv] = line
        if self._display is not None and line.multipv == 1:
            self._display.show(line)

    def finish(self) -> None:
        if self._display is not None:
            self._display.finish()


def analyser(
    searcher: Searcher,
    display: Callable[[Position], Display] | None = None,
    is_stop_requested: Callable[[], bool] = lambda: False,
    gives_up: bool = False,
    is_forgetful: bool = False,
) -> Analyser:
    """Search with `searcher`, show its lines on a `display`, and end early on Ctrl-C or when `is_stop_requested`.

    With `gives_up` it then raises KeyboardInterrupt instead of returning what it has found. One that `is_forgetful`
    knows nothing of earlier searches in each.
    """

    def analyse(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        if is_forgetful:
            searcher.clear()
        keeper = _LineKeeper(display(position) if display else None)
        before = searcher.multipv, searcher.is_analysing
        searcher.multipv, searcher.is_analysing = count, True
        try:
            result, was_interrupted = think(searcher, position, limits, keeper, is_stop_requested)
        finally:
            searcher.multipv, searcher.is_analysing = before
        if was_interrupted and gives_up:
            raise KeyboardInterrupt
        if count == 1:
            return [result.line] if result.line is not None and result.line.pv else []
        complete = [found for found in keeper.lines.values() if len(found) == count]
        return [complete[-1][number] for number in sorted(complete[-1])] if complete else []

    return analyse
