"""Merino for Python: positions, searches, evaluations, explanations, learning and matches under one name.

    import merino

    position = merino.Position()
    result = merino.Searcher().search(position, merino.Limits(depth=10))

Importing this package loads nothing: numba, NumPy and the compiled code come with the first name that needs them. Only
what is listed here is promised to stay; what lies below may change with any version.
"""

from engine import __version__ as __version__
from engine.common.home import HOME

TYPE_CHECKING = False  # as type checkers know it; the module `typing` would cost more than all else here
if TYPE_CHECKING:
    from engine.board.fen import FenError as FenError
    from engine.board.game import IllegalMoveError as IllegalMoveError
    from engine.board.game import Outcome as Outcome
    from engine.board.game import Position as Position
    from engine.board.game import Termination as Termination
    from engine.board.move import Move as Move
    from engine.common.errors import MerinoError as MerinoError
    from engine.notation.san import MoveRejected as MoveRejected
    from engine.notation.san import read_move as read_move
    from engine.notation.san import san as san
    from engine.report.schema import PositionReport as PositionReport
    from engine.search.limits import Limits as Limits
    from engine.search.limits import Line as Line
    from engine.search.limits import Score as Score
    from engine.search.limits import SearchResult as SearchResult
    from engine.search.searcher import Searcher as Searcher
    from eval.evaluation import Evaluation as Evaluation
    from eval.evaluation import EvaluationError as EvaluationError
    from eval.families import load_evaluation as load_evaluation
    from learn.learning import Settings as Settings
    from learn.positions import Selection as Selection
    from learn.procedure import LearnResult as LearnResult
    from match.players import OtherPlayer as OtherPlayer
    from match.players import OwnPlayer as OwnPlayer
    from match.runner import MatchResult as MatchResult
    from match.statistics import Estimate as Estimate
    from match.statistics import Sprt as Sprt
    from match.time_control import Clock as Clock
    from match.time_control import TimeControl as TimeControl
    from merino.library import evaluate as evaluate
    from merino.library import explain as explain
    from merino.library import learn as learn
    from merino.library import play_match as play_match

NAMES = {
    "engine.board.fen": ("FenError",),
    "engine.board.game": ("IllegalMoveError", "Outcome", "Position", "Termination"),
    "engine.board.move": ("Move",),
    "engine.common.errors": ("MerinoError",),
    "engine.notation.san": ("MoveRejected", "read_move", "san"),
    "engine.report.schema": ("PositionReport",),
    "engine.search.limits": ("Limits", "Line", "Score", "SearchResult"),
    "engine.search.searcher": ("Searcher",),
    "eval.evaluation": ("Evaluation", "EvaluationError"),
    "eval.families": ("load_evaluation",),
    "learn.learning": ("Settings",),
    "learn.positions": ("Selection",),
    "learn.procedure": ("LearnResult",),
    "match.players": ("OtherPlayer", "OwnPlayer"),
    "match.runner": ("MatchResult",),
    "match.statistics": ("Estimate", "Sprt"),
    "match.time_control": ("Clock", "TimeControl"),
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

        value = getattr(import_module(module if module.startswith(f"{__name__}.") else HOME + module), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What is offered."""
    return sorted({*globals(), *_MODULES})
