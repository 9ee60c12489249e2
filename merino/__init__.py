"""Merino for Python: positions, searches, evaluations, explanations, learning and matches under one name.

    import merino

    position = merino.Position()
    result = merino.Searcher().search(position, merino.Limits(depth=10))

Importing this package loads nothing: numba, NumPy and the compiled code come with the first name that needs them. Only
what is listed here is promised to stay; what lies below may change with any version.
"""

from merino.inner.core.common.about import __version__ as __version__

TYPE_CHECKING = False  # as type checkers know it; the module `typing` would cost more than all else here
if TYPE_CHECKING:
    from merino.inner.core.board.fen import FenError as FenError
    from merino.inner.core.board.game import IllegalMoveError as IllegalMoveError
    from merino.inner.core.board.game import Outcome as Outcome
    from merino.inner.core.board.game import Position as Position
    from merino.inner.core.board.game import Termination as Termination
    from merino.inner.core.board.move import Move as Move
    from merino.inner.core.common.errors import MerinoError as MerinoError
    from merino.inner.engine.notation.san import MoveRejected as MoveRejected
    from merino.inner.engine.notation.san import read_move as read_move
    from merino.inner.engine.notation.san import san as san
    from merino.inner.engine.report.schema import PositionReport as PositionReport
    from merino.inner.engine.search.limits import Limits as Limits
    from merino.inner.engine.search.limits import Line as Line
    from merino.inner.engine.search.limits import Score as Score
    from merino.inner.engine.search.limits import SearchResult as SearchResult
    from merino.inner.engine.search.searcher import Searcher as Searcher
    from merino.inner.eval.evaluation import Evaluation as Evaluation
    from merino.inner.eval.evaluation import EvaluationError as EvaluationError
    from merino.inner.eval.families import load_evaluation as load_evaluation
    from merino.inner.learn.positions import Equal as Equal
    from merino.inner.learn.positions import Quiet as Quiet
    from merino.inner.learn.positions import Selection as Selection
    from merino.inner.learn.procedure import LearnResult as LearnResult
    from merino.inner.learn.sample import Loss as Loss
    from merino.inner.learn.settings import Settings as Settings
    from merino.inner.learn.targets import Target as Target
    from merino.inner.match.players import OtherPlayer as OtherPlayer
    from merino.inner.match.players import OwnPlayer as OwnPlayer
    from merino.inner.match.runner import MatchResult as MatchResult
    from merino.inner.match.statistics import Estimate as Estimate
    from merino.inner.match.statistics import Model as Model
    from merino.inner.match.statistics import Sprt as Sprt
    from merino.inner.match.time_control import Clock as Clock
    from merino.inner.match.time_control import TimeControl as TimeControl
    from merino.library import evaluate as evaluate
    from merino.library import explain as explain
    from merino.library import learn as learn
    from merino.library import play_match as play_match

NAMES = {
    "merino.inner.core.board.fen": ("FenError",),
    "merino.inner.core.board.game": ("IllegalMoveError", "Outcome", "Position", "Termination"),
    "merino.inner.core.board.move": ("Move",),
    "merino.inner.core.common.errors": ("MerinoError",),
    "merino.inner.engine.notation.san": ("MoveRejected", "read_move", "san"),
    "merino.inner.engine.report.schema": ("PositionReport",),
    "merino.inner.engine.search.limits": ("Limits", "Line", "Score", "SearchResult"),
    "merino.inner.engine.search.searcher": ("Searcher",),
    "merino.inner.eval.evaluation": ("Evaluation", "EvaluationError"),
    "merino.inner.eval.families": ("load_evaluation",),
    "merino.inner.learn.positions": ("Equal", "Quiet", "Selection"),
    "merino.inner.learn.procedure": ("LearnResult",),
    "merino.inner.learn.sample": ("Loss",),
    "merino.inner.learn.settings": ("Settings",),
    "merino.inner.learn.targets": ("Target",),
    "merino.inner.match.players": ("OtherPlayer", "OwnPlayer"),
    "merino.inner.match.runner": ("MatchResult",),
    "merino.inner.match.statistics": ("Estimate", "Model", "Sprt"),
    "merino.inner.match.time_control": ("Clock", "TimeControl"),
    "merino.library": ("evaluate", "explain", "learn", "play_match"),
}  # the module of each name, from which it is taken when it is first asked for; a test compares it with the imports
_MODULES = {name: module for module, names in NAMES.items() for name in names}


if not TYPE_CHECKING:  # to which a name that is not offered is a mistake

    def __getattr__(name: str) -> object:
        """One of NAMES, whose module is imported now."""
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module 'merino' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 (not before it is needed)

        value = getattr(import_module(module), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What is offered."""
    return sorted({*globals(), *_MODULES})
