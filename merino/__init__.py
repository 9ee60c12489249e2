"""Merino for Python: positions, searches, evaluations, explanations, learning and matches under one name.

    import merino

    position = merino.Position()
    result = merino.Searcher().search(position, merino.Limits(depth=10))

Importing this package loads nothing: numba, NumPy and the compiled code come with the first name that needs them. Only
what is listed here is promised to stay; what lies below may change with any version.
"""

from merino.core.common.about import __version__ as __version__

TYPE_CHECKING = False  # as type checkers know it; the module `typing` would cost more than all else here
if TYPE_CHECKING:
    from merino.core.board.fen import FenError as FenError
    from merino.core.board.game import IllegalMoveError as IllegalMoveError
    from merino.core.board.game import Outcome as Outcome
    from merino.core.board.game import Position as Position
    from merino.core.board.game import Termination as Termination
    from merino.core.board.move import Move as Move
    from merino.core.common.errors import MerinoError as MerinoError
    from merino.engine.notation.san import MoveRejected as MoveRejected
    from merino.engine.notation.san import read_move as read_move
    from merino.engine.notation.san import san as san
    from merino.engine.report.schema import PositionReport as PositionReport
    from merino.engine.search.limits import Limits as Limits
    from merino.engine.search.limits import Line as Line
    from merino.engine.search.limits import Score as Score
    from merino.engine.search.limits import SearchResult as SearchResult
    from merino.engine.search.searcher import Searcher as Searcher
    from merino.eval.evaluation import Evaluation as Evaluation
    from merino.eval.evaluation import EvaluationError as EvaluationError
    from merino.eval.families import load_evaluation as load_evaluation
    from merino.learn.positions import Quiet as Quiet
    from merino.learn.positions import Selection as Selection
    from merino.learn.procedure import LearnResult as LearnResult
    from merino.learn.request import Settings as Settings
    from merino.learn.sample import Target as Target
    from merino.library import evaluate as evaluate
    from merino.library import explain as explain
    from merino.library import learn_weights as learn_weights
    from merino.library import play_match as play_match
    from merino.match.config import Clock as Clock
    from merino.match.config import TimeControl as TimeControl
    from merino.match.players import OtherPlayer as OtherPlayer
    from merino.match.players import OwnPlayer as OwnPlayer
    from merino.match.runner import MatchResult as MatchResult
    from merino.match.statistics import Estimate as Estimate
    from merino.match.statistics import Model as Model
    from merino.match.statistics import Sprt as Sprt

NAMES = {
    "merino.core.board.fen": ("FenError",),
    "merino.core.board.game": ("IllegalMoveError", "Outcome", "Position", "Termination"),
    "merino.core.board.move": ("Move",),
    "merino.core.common.errors": ("MerinoError",),
    "merino.engine.notation.san": ("MoveRejected", "read_move", "san"),
    "merino.engine.report.schema": ("PositionReport",),
    "merino.engine.search.limits": ("Limits", "Line", "Score", "SearchResult"),
    "merino.engine.search.searcher": ("Searcher",),
    "merino.eval.evaluation": ("Evaluation", "EvaluationError"),
    "merino.eval.families": ("load_evaluation",),
    "merino.learn.positions": ("Quiet", "Selection"),
    "merino.learn.procedure": ("LearnResult",),
    "merino.learn.request": ("Settings",),
    "merino.learn.sample": ("Target",),
    "merino.match.players": ("OtherPlayer", "OwnPlayer"),
    "merino.match.runner": ("MatchResult",),
    "merino.match.statistics": ("Estimate", "Model", "Sprt"),
    "merino.match.config": ("Clock", "TimeControl"),
    "merino.library": ("evaluate", "explain", "learn_weights", "play_match"),
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
