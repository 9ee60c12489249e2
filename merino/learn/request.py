"""A request to the learner with its options, the callbacks for its progress, and its errors.

The fields of `Settings`, `Selection` and `LearnRequest` that carry a sentence are the options of `learn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from merino.core.common import errors, interrupt, options
from merino.eval.linear.registry import Term
from merino.formats.sources import SourceError

Say = Callable[[str], object]
GAUSS_NEWTON, DESCENT = METHODS = ("gauss-newton", "descent")
RESULT, SEARCH, BLEND = "result", "search", "blend"
DEFAULT_TEACHER = "gen12"  # a net that comes with Merino
NO_TEACHER = "off"
# titles of groups of options
LEARNED_FROM, FIT, MATCH = "positions to learn from", "fit", "match of new against old weights"
EVALUATION, OUTPUT = "evaluation", "output"
of_positions, of_fit, of_match, of_weights, of_output = (
    partial(options.Option, group=title) for title in (LEARNED_FROM, FIT, MATCH, EVALUATION, OUTPUT)
)
MAX_NUMBER = 1e9  # of the numbers of a fit
MIN_K, MIN_DECAY = 1.0, 0.1
MAX_NAMES = 8  # of terms that are listed one by one


class LearnError(SourceError):
    """A file that cannot be learned from or written; the message says what and where."""


class LearnStoppedError(LearnError):
    """Ctrl-C before there was a result; the message says what has been done so far."""

    exit_code = interrupt.INTERRUPTED


class TrainingError(errors.MerinoError):
    """The training of a net is impossible; the message says why."""


@dataclass(frozen=True)
class Target:
    """The blend to learn: `share` of the result, and 1 - `share` of the search score as White's expected score.

    `k` is the scale of search scores in centipawns; None for the one that fits the results. `scorer` is whose scores
    they are, in words.
    """

    share: float = 1.0
    k: float | None = None
    scorer: str = "a search"

    @classmethod
    def read(cls, text: str) -> Target:
        """The target with this `name`; raises ValueError if there is none."""
        kind, equals, share = text.partition("=")
        if text in (RESULT, SEARCH):
            return cls(1.0 if text == RESULT else 0.0)
        if kind != BLEND or not equals:
            raise ValueError(f"'{text[:40]}' is not one of {RESULT}, {SEARCH} and {BLEND}=X")
        number = _number(share)
        if not 0 <= number <= 1:
            raise ValueError(f"{BLEND}=X needs an X from 0 to 1, not '{share[:40]}'")
        return cls(number)

    @property
    def needs_scores(self) -> bool:
        """Whether positions need the score of a search."""
        return self.share < 1

    @property
    def needs_results(self) -> bool:
        """Whether the results of games count: by themselves, or for the scale of the scores."""
        return self.share > 0 or self.k is None

    @property
    def name(self) -> str:
        """The value of the option --target: result, search or blend=X."""
        return {0.0: SEARCH, 1.0: RESULT}.get(self.share, f"{BLEND}={self.share:g}")

    def describe(self) -> str:
        """The target in words."""
        if not self.needs_scores:
            return "the result of the game"
        if self.share == 0:
            return f"the score of {self.scorer}"
        return f"{self.share:g} of the result and {1 - self.share:g} of the score of {self.scorer}"


BY_RESULT = Target()


def _number(text: str) -> float:
    """The number in a text; -1 if there is none."""
    try:
        return errors.number_in(text)
    except ValueError:
        return -1.0


def _prior(text: str) -> float:
    """The pull toward the old weights in a text, 0 for off; raises ValueError."""
    value = 0.0 if text == "off" else _number(text)
    if text != "off" and not 0.001 <= value < MAX_NUMBER:
        raise ValueError(f"'{text[:40]}' is neither a number from 0.001 on nor 'off'")
    return value


EARLY_GAMES = 3000  # more positions of each of so many games hardly lower the error (docs/lab/learning.md)


class Quiet(StrEnum):
    """The treatment of positions where a capture changes the score, as the values of `--positions` name it."""

    ANY = "all"  # use them
    ONLY = "quiet"  # leave them out
    RESOLVED = "qsearch"  # play the captures first


@dataclass(frozen=True)
class Selection:
    """Which positions of a game are used: never in check, never right after a capture or promotion."""

    positions: Annotated[Quiet, "all, quiet ones, or by qsearch all resolved to quiet ones", of_positions("WHICH")] = (
        Quiet.ANY
    )
    per_game: Annotated[int | None, "positions of each game", of_positions("N", 1, none="all")] = None
    random_moves: bool = False  # whether to use after each also a position that a random move makes of it
    later: int | None = None  # positions of each game behind the first EARLY_GAMES of a file, None for no fewer

    def __post_init__(self) -> None:
        options.check(self)


@dataclass(frozen=True)
class Settings:
    """How to learn. The terms `first` to `last`, counted from 1, may move; or those in `names`, if there are any.

    `last` is None for the last of the set. `phases` is None for as many as at the start, `target` a Target or its name,
    such as "search". `prior` is None for the default of this number of games, 0 for no pull. `k` is the scale of
    scores, None to fit it. `root_of_sum` shows errors as GreKo 2015 ML did: the root of the weighted sum over the
    number of positions.
    """

    first: int = 6
    last: int | None = None
    names: tuple[str, ...] = ()
    phases: Annotated[int | None, "values of each weight, 1, or 2 with one for the endgame", of_fit("1|2", 1, 2)] = None
    target: Annotated[
        Target,
        "what to predict: result, search (a score), or blend=X: X of the result and 1-X of the score",
        of_fit("TARGET", read=Target.read),
    ] = BY_RESULT
    decay: Annotated[
        float | None, "weigh positions n plies before the end by e^(-n/PLIES)", of_fit("PLIES", MIN_DECAY, none="off")
    ] = 40.0
    prior: Annotated[
        float | None,
        "pull to the old weights: standard deviation by their size",
        of_fit("N|off", read=_prior, default="what predicts best"),
    ] = None
    seed: Annotated[int, "seed of the choice of validation games", of_fit("N")] = 2015
    method: str = GAUSS_NEWTON
    k: float | None = None
    split_by_position: bool = False
    root_of_sum: bool = False

    def __post_init__(self) -> None:
        errors.whole_number("first", self.first, 1)
        if self.last is not None:
            errors.whole_number("last", self.last, self.first)
        if isinstance(self.target, str):
            object.__setattr__(self, "target", Target.read(self.target))
        errors.instance("target", self.target, Target, "a Target, or its name: result, search or blend=X")
        options.check(self)
        if self.k is not None:
            errors.real_number("k", self.k, MIN_K, MAX_NUMBER)
        if isinstance(self.names, str):
            raise TypeError(f"names must be a sequence of names of terms, not the text {self.names[:40]!r}")
        errors.instance("names", self.names, Sequence, "a sequence of names of terms")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")

    @property
    def moving(self) -> str:
        """The terms that may move: "6..27", or their names, the first ones if they are many."""
        others = len(self.names) - MAX_NAMES
        named = ", ".join(self.names[:MAX_NAMES]) + (f" and {others} more" if others > 0 else "")
        return named or f"{self.first}..{self.last or 'the last'}"

    def of_set(self, terms: Sequence[Term]) -> Settings:
        """The same for a set, with the number of its last term; raises LearnError if it lacks a term that may move."""
        last = self.last or len(terms)
        if not 1 <= self.first <= last <= len(terms):
            raise LearnError(f"terms are numbered 1..{len(terms)}, first before last; not {self.first} {last}")
        if unknown := set(self.names) - {term.name for term in terms}:
            raise LearnError(f"the weights have no term named {', '.join(sorted(unknown))}")
        return replace(self, last=last)


ARTICLE = Settings(method=DESCENT, phases=1, decay=20.0, k=150.0, prior=0.0, split_by_position=True, root_of_sum=True)


@dataclass(frozen=True)
class Events:
    """Callbacks during learning.

    `say` gets each line for people, `detail` each of those that only a closer look needs. `progressed` gets the present
    work and the share of it that is done, 0 to 1, or None if unknown. `match_state` gets the state of the match in
    words several times a second. `stepped` gets each Step of the fit.
    """

    say: Say = lambda _: None
    progressed: Callable[[str, float | None], object] = lambda *_: None
    match_state: Say = lambda _: None
    stepped: Callable[[Any], object] = lambda _: None
    detail: Say = lambda _: None


SILENT = Events()


@dataclass(frozen=True)
class Choice:
    """What the learner may choose by itself: the pull, and the share of the step.

    Of the pulls toward the old weights, the usual one of `Settings.prior` and these multiples of its deviation, it
    takes that whose weights predict the games kept apart best, if scores teach: they have less noise than results, and
    can do with a weaker one. Shares of the step from the old weights to the fitted ones are compared by matches.
    """

    pulls: tuple[float, ...] = ()
    shares: tuple[float, ...] = (1.0,)


NO_CHOICE = Choice()
DEFAULT_CHOICE = Choice((3.0, 10.0), (1.0, 0.5, 0.25))
# What the plain command does: positions resolved to the end of quiescence, thirty of a game, or ten of a later one, and
# as many random-move positions, all terms in two phases.
DEFAULT_SETTINGS = Settings(first=1, phases=2, decay=None, target=Target(0.0))
FEW_OF_A_GAME = 10  # where results teach, which are the same for all of them, or games are many
DEFAULT_SELECTION = Selection(positions=Quiet.RESOLVED, per_game=30, random_moves=True, later=FEW_OF_A_GAME)


@dataclass(frozen=True)
class LearnRequest:
    """The input of the learner, its settings, and its outputs on the disk.

    `weights` is None for the file in use. Where the target needs scores, `teacher` names the net that gives them, None
    for those in the files. A run that is `dry_run` writes no weights. `keep_fen` keeps the positions of PGN files next
    to them. `record` is the file of the record, None for one next to the weights.
    """

    files: tuple[str, ...]
    settings: Settings = DEFAULT_SETTINGS
    selection: Selection = DEFAULT_SELECTION
    choice: Choice = DEFAULT_CHOICE
    teacher: Annotated[
        str | None,
        "net whose scores teach; off for results only",
        of_fit("NET", none=NO_TEACHER, default=f"{DEFAULT_TEACHER}; with --target the scores in the files"),
    ] = DEFAULT_TEACHER
    plays_match: Annotated[bool, "use the new weights at once, without a match", of_match(flag="--no-match")] = True
    prove: Annotated[bool, "use the new weights only if a long match proves them", of_match()] = False
    concurrency: Annotated[int | None, "games at the same time", of_match("N", 1, default="one per core")] = None
    weights: Annotated[
        str | None, "start from this file and replace it", of_weights("FILE", default="the weights in use")
    ] = None
    out: Annotated[str | None, "write the new weights to this file instead", of_weights("FILE")] = None
    verbose: Annotated[bool, "show the steps of the fit, all weights and the matches", of_output()] = False
    dry_run: bool = False
    keep_fen: bool = False
    record: str | None = None

    @property
    def has_random_moves(self) -> bool:
        """Whether random-move positions are used: only a static score says what one is worth."""
        return self.selection.random_moves and self.teacher is not None and self.settings.target.share == 0
