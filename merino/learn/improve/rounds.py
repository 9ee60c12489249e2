"""A run in rounds: its settings, its state, its folder, and the loop play, learn, prove, keep or drop.

The loop ends when the time or the rounds are used up, or by Ctrl-C. All rounds have the same steps: games of the best
against itself, the deciding match, matches that only measure. An interrupted step continues from its own state.

The state is the one file that counts: replaced as a whole at the end of each round, so that a killed run continues
where it was. The games, the result and the states of the matches of each round stay in its folder. `table.csv` and
`log.txt` are for people.
"""

import csv
import io
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from merino.core.common import about, errors, files, options, sealed, work
from merino.core.common.text import counted
from merino.eval.evaluation import Evaluation
from merino.eval.linear.registry import Group, TermSet
from merino.learn.request import Events, LearnError
from merino.match import prove, report, runner, statistics
from merino.match.config import CLEAR_WIN, MatchConfig, RandomMoves, TimeControl
from merino.match.games import Tally
from merino.match.players import OwnPlayer

_SEEDS_A_ROUND = 10  # seeds of a round; each of its steps has its own
LOG, TABLE = "log.txt", "table.csv"
BACK = "put the file back as it was, or give a new folder"
of_games, of_match = partial(options.Option, group="training games"), partial(options.Option, group="deciding match")
PIECES = (100.0, 300.0, 300.0, 500.0, 900.0)  # centipawns, as beginners learn: pawn, knight, bishop, rook, queen
SAME, WORSE, OPEN = "same", "worse", "open"  # verdicts other than those of a test
GAUGE = 3  # the step whose seed the first of the matches that measure has


def check_share(share: float) -> None:
    """Raise LearnError unless this can be the share of the result in a target."""
    if not 0 <= share <= 1:
        raise LearnError(f"the share of the result is from 0 to 1, not {share:g}")


@dataclass(frozen=True)
class RoundPlan:
    """The settings of a run, the same throughout the life of its folder.

    A round plays `games` games of the best against itself at `nodes` a move, learns from those of the last `window`
    rounds, and tests what it has learned against the best: at `match_nodes` a move, in at most `match_games` games, by
    an SPRT of normalised Elo between `elo0` and `elo1`. After each proof, `gauge` games measure the Elo of the
    best; 0 for none.
    """

    nodes: Annotated[int, "nodes per move", of_games("N", 1)] = 1500
    games: Annotated[int, "games per round", of_games("N", 1)] = 2000
    window: Annotated[int, "learn from the games of the last N rounds", of_games("N", 1)] = 4
    match_nodes: Annotated[int, "nodes per move", of_match("N", 1)] = 2000
    match_games: Annotated[int, "maximum number of games", of_match("N", 1)] = 4000
    elo0: float = 0.0
    elo1: float = 10.0
    gauge: Annotated[int, "games against the first weights after each success; 0 for none", of_match("N")] = 200
    seed: Annotated[int, "seed of all random choices", options.Option("N")] = 1

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The plan that `asdict` made plain data of, as of `sealed.record`."""
        return sealed.record(cls, data)

    def check(self) -> Self:
        """The plan, if its numbers make sense together; raises LearnError."""
        if self.elo0 >= self.elo1:
            raise LearnError(f"the test needs elo0 below elo1, not {self.elo0:g} and {self.elo1:g}")
        with errors.turning(ValueError, LearnError, "of the bounds of the test, "):
            statistics.Sprt(self.elo0, self.elo1)
        return self

    def check_same(self, given: Mapping[str, Any], where: object) -> None:
        """Raise LearnError if `given` differs from the settings in the folder `where`, or no run can use these now."""
        with errors.turning(LearnError, LearnError, f"'{where}' was begun with other rules: ", "; give a new folder"):
            self.check()
        mine = asdict(self)
        other = [name for name, value in given.items() if mine[name] != value]
        if other:
            settings = {name: "unset" if mine[name] in (None, "") else mine[name] for name in other}
            differing = ", ".join(f"{name} {value}, not {given[name]}" for name, value in settings.items())
            raise LearnError(f"'{where}' has other settings: {differing}; leave them out, or give a new folder")

    def seed_of(self, number: int, step: int) -> int:
        """A seed that no other step of any round has."""
        return self.seed * 1_000_003 + number * _SEEDS_A_ROUND + step

    def random_moves(self, number: int) -> RandomMoves:
        """The random moves that make the games of a round differ."""
        return RandomMoves(early=6, early_loss=100, seed=self.seed_of(number, 0))

    def learns_from(self, number: int) -> range:
        """The rounds whose games a round learns from."""
        return range(max(1, number - self.window + 1), number + 1)

    def trial(self, number: int) -> prove.StrengthTest:
        """The match that decides on what a round has learned."""
        return prove.StrengthTest(
            statistics.Sprt(self.elo0, self.elo1),
            TimeControl(nodes=self.match_nodes),
            self.match_games,
            adjudication=CLEAR_WIN,
            seed=self.seed_of(number, 2),
        )

    def gauge_trial(self, number: int, step: int) -> prove.StrengthTest:
        """A match that decides nothing; `step` is that of its seed."""
        return replace(self.trial(number), most_games=self.gauge, seed=self.seed_of(number, step))


@dataclass(frozen=True, kw_only=True)
class Round:
    """A finished round. Elo is that of its match, with half the width of its 95% interval; None without a match.

    `verdict` is "H1" if what it learned is the best, "H0" if not, "open" if the match ended undecided, or without a
    match "same" and "worse": nothing new was learned, or the error on validation games rose. `from_start` is the Elo of
    the best against the start in a separate match, None without one. An Elo without bounds, of a match in which one
    side had all points, is infinite.
    """

    number: int
    verdict: str
    games: int
    positions: int
    match_games: int
    elo: float | None
    elo_error: float | None
    from_start: float | None
    from_start_error: float | None
    seconds: float = 0.0

    @property
    def is_proven(self) -> bool:
        """Whether what it learned became the best."""
        return self.verdict == "H1"


@dataclass(frozen=True, kw_only=True)
class LoopState:
    """The finished rounds of a run that began with the file `start_name`. `seconds` are those of the present round."""

    command: ClassVar[str]  # whose runs these are
    columns: ClassVar[Mapping[str, str]]  # of the table: attributes of a round with the formats of their values

    plan: RoundPlan
    start_name: str
    rounds: tuple[Round, ...] = ()
    seconds: float = 0.0

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file of a run; raises LearnError."""
        with files.faults_named(path, f"the state of a run of '{cls.command}'", LearnError):
            data = sealed.from_json(files.read_user_file(path, files.STATE), str(path))
            if data.get("format") != cls.form() or data.get("version") not in ("1.0.0", about.__version__):
                raise LearnError(f"'{path}' is of another version of Merino: give a new folder")
            return sealed.record(cls, data | {"start_name": data["start"]})

    @classmethod
    def place(cls, folder: Path) -> Path:
        """The file of the run in a folder."""
        return folder / f"{cls.command}.json"

    @classmethod
    def form(cls) -> str:
        """What its file is, in the file."""
        return f"merino {cls.command} 1"

    @property
    def last_proven(self) -> int:
        """The number of the round that found the best, 0 for the start."""
        return max((found.number for found in self.rounds if found.is_proven), default=0)

    @property
    def hours(self) -> list[float]:
        """The hours that had passed at the end of each round."""
        return [float(hours) for hours in np.cumsum([found.seconds for found in self.rounds]) / 3600]

    def table(self) -> str:
        """The rounds as comma-separated values, a line each under a header; `hours` come second."""
        first, *others = self.columns
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow([first, "hours", *others])
        for found, hours in zip(self.rounds, self.hours, strict=True):
            values = {name: getattr(found, name) for name in others}
            cells = ["" if value is None else f"{value:{self.columns[name]}}" for name, value in values.items()]
            table.writerow([found.number, f"{hours:.3f}", *cells])
        return text.getvalue()

    def as_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        found = asdict(self)
        return {"format": self.form(), "version": about.__version__, "start": found.pop("start_name"), **found}


StateT = TypeVar("StateT", bound=LoopState)


OUTCOMES = {"H1": "stronger: it is the best from now on", "H0": "not stronger: dropped", OPEN: "not settled: dropped"}


@dataclass(frozen=True)
class Until:
    """When to stop: after `hours` of this run, or at `rounds` rounds in all; None for never."""

    hours: float | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class Finished(Generic[StateT]):
    """The result of a run: its state, the file of the best, and whether Ctrl-C ended it.

    `in_use` is the file that received what was proved, None if there was none.
    """

    state: StateT
    best: Path
    interrupted: bool
    in_use: Path | None


class StepStoppedError(Exception):
    """A step was interrupted, by Ctrl-C or because the time is up; its work so far is kept."""


@dataclass(frozen=True)
class StepContext:
    """How to work and report: games at the same time, callbacks, and `poll`, called several times a second.

    `poll` may raise KeyboardInterrupt, to end a step as Ctrl-C does. `executor` plays the games, None for threads.
    """

    threads: int
    events: Events
    poll: Callable[[], object]
    executor: Executor | None = None

    def show(self, line: str) -> None:
        """Show the state of a match."""
        self.events.match_state(line)
        self.poll()


class RunFolder(ABC, Generic[StateT]):
    """The folder of a run, locked against other runs, and what its rounds do.

    A context manager, which unlocks it, and leaves no empty folder.
    """

    state_kind: type[StateT]
    round_name = "round"  # of the folders of rounds

    def __init__(self, path: Path) -> None:
        """Raises LearnError if it cannot be made or another run has locked it."""
        self.path, self._open = path, ExitStack()
        with ExitStack() as stack:
            try:
                for folder in (path, *path.parents)[::-1]:
                    if not files.is_there(folder):
                        files.check_named(folder)
                        folder.mkdir(exist_ok=True)
                        stack.callback(_remove_if_empty, folder)
                stack.enter_context(files.held(self.state_kind.place(path)))
            except files.FileInUseError as error:
                fault = f"another {self.state_kind.command} is running in '{path}': wait for it, or give another folder"
                raise LearnError(fault) from error
            except OSError as error:
                is_none = isinstance(error, FileExistsError | NotADirectoryError)
                reason = "it is not a folder" if is_none else error.strerror
                raise LearnError(f"cannot use the folder '{path}': {reason}") from error
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @classmethod
    def round_path(cls, path: Path, number: int) -> Path:
        """The folder of a round of the run in the folder `path`."""
        return path / f"{cls.round_name}-{number:04}"

    def of_round(self, number: int) -> Path:
        """The folder of a round; made if it does not exist."""
        path = self.round_path(self.path, number)
        path.mkdir(exist_ok=True)
        return path

    def load(self) -> StateT | None:
        """The finished rounds, None in a new folder; raises LearnError."""
        path = self.state_kind.place(self.path)
        if not files.is_there(path):
            others = [each.name for each in self.path.iterdir() if not files.is_draft(each)]
            others = [name for name in others if name != f"{path.name}{files.LOCK_ENDING}"]
            if others:
                raise LearnError(f"'{self.path}' holds other files ({min(others)}): give a new folder")
            return None
        return self.state_kind.load(path)

    @abstractmethod
    def contents(self, state: StateT) -> dict[str, bytes]:
        """The files next to the state that follow from it, by name; those that need not change may be left out."""

    @abstractmethod
    def round(self, state: StateT, context: StepContext) -> Any:
        """The next round: play, learn and prove; its time is not filled in. Raises what its steps raise."""

    @abstractmethod
    def line(self, found: Any) -> str:
        """A finished round in a line of the log."""

    def decided(self, state: StateT, new: Evaluation, old: Evaluation, context: StepContext) -> dict[str, Any]:
        """Play the match of what the next round has learned against the best; see `outcome`.

        Raises StepStoppedError and MatchError.
        """
        number = len(state.rounds) + 1
        trial = state.plan.trial(number)
        low, high = trial.test.bounds
        most = f"{trial.most_games} games at most"
        context.events.say(f"  {trial.test} at {trial.time_control} a move, settled at {low:.2f} or {high:.2f}, {most}")
        tally = play_match(new, old, trial, self.of_round(number) / "match.state", context)
        return outcome(trial.test.verdict(tally.counts) or OPEN, tally)

    def gauged(
        self,
        state: StateT,
        verdict: str,
        new: Evaluation,
        opponents: Mapping[str, Callable[[], Evaluation]],
        context: StepContext,
    ) -> dict[str, Any]:
        """Measure what the next round has learned if it has won; else the best is as strong as it was.

        These are fields of a round: the Elo of the best against each opponent, with half the width of its interval.
        """
        names, number = [f"{name}{ending}" for name in opponents for ending in ("", "_error")], len(state.rounds) + 1
        if verdict != "H1":
            return {name: getattr(state.rounds[-1], name) if state.rounds else None for name in names}
        found: dict[str, Any] = dict.fromkeys(names)
        for step, (name, opponent) in enumerate(opponents.items() if state.plan.gauge else (), GAUGE):
            path = self.of_round(number) / f"gauge-{step}.state"
            trial = state.plan.gauge_trial(number, step)
            found[name], found[f"{name}_error"] = elo_of(
                play_match(new, opponent(), trial, path, context, decides=False)
            )
        return found

    @abstractmethod
    def best(self, state: StateT) -> Path:
        """The file of the best."""

    def adopt(self, state: StateT) -> StateT:
        """The state after the best is in use, where it is to be; raises OSError."""
        return state

    def in_use(self, _: StateT) -> Path | None:
        """The file that received what was proved, None if there was none."""
        return None

    def run(
        self, state: StateT, until: Until, events: Events, threads: int | None = None, executor: Executor | None = None
    ) -> Finished[StateT]:
        """Continue with the rounds; raises LearnError, MatchError and OSError, after keeping the work so far.

        `executor` plays the games, None for so many threads of this process.
        """
        began = counted_from = time.monotonic()
        interrupted = False

        def is_time_up() -> bool:
            return until.hours is not None and time.monotonic() - began >= until.hours * 3600

        def look() -> None:
            if is_time_up():
                raise KeyboardInterrupt

        context = StepContext(threads or work.cores(), events, look, executor)
        self.save(state)
        try:
            state = self._adopted(state)  # what was proved by a run that was killed
            while not is_time_up() and (until.rounds is None or len(state.rounds) < until.rounds):
                found, now = self.round(state, context), time.monotonic()
                found, counted_from = replace(found, seconds=state.seconds + now - counted_from), now
                line = self.line(found)
                events.say(line)
                self.log(line)
                state = replace(state, rounds=(*state.rounds, found), seconds=0.0)
                self.save(state)
                state = self._adopted(state)
        except (StepStoppedError, KeyboardInterrupt):
            interrupted = not is_time_up()
        finally:
            state = replace(state, seconds=state.seconds + time.monotonic() - counted_from)
            self.save(state)
        return Finished(state, self.best(state), interrupted, self.in_use(state))

    def _adopted(self, state: StateT) -> StateT:
        """The state after the best is in use, saved if that is new."""
        found = self.adopt(state)
        if found is not state:
            self.save(found)
        return found

    def save(self, state: StateT) -> None:
        """Write the finished rounds; raises OSError.

        The state comes first: after a kill the next run makes the others from it, and knows the folder as its own.
        """
        contents = {self.path / name: content for name, content in self.contents(state).items()}
        files.write_together({state.place(self.path): sealed.as_json(state.as_json(), indent=1), **contents})

    def log(self, line: str) -> None:
        """Add a line to the log; raises OSError."""
        with files.open_to_append(self.path / LOG) as file:
            file.write(f"{line}\n".encode())


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # it is empty no longer
        folder.rmdir()


def pieces_alone(terms: TermSet) -> np.ndarray:
    """What a run begins with from nothing: weights of a set, of one phase, that know the values of the pieces alone.

    Raises LearnError where the set does not begin with the five kinds of pieces, as those of Merino do.
    """
    weights = np.zeros(len(terms))
    if any(term.group is not Group.MATERIAL or term.bounds[1] < max(PIECES) for term in terms[: len(PIECES)]):
        raise LearnError(f"the set '{terms.name}' must begin with the values of pawn, knight, bishop, rook and queen")
    weights[: len(PIECES)] = PIECES
    return weights


def described(state: LoopState) -> str:
    """How far a run has come, in a sentence."""
    return f"{counted(len(state.rounds), 'round')}, {sum(each.is_proven for each in state.rounds)} of them successful"


def play_games(
    plan: RoundPlan,
    number: int,
    evaluation: Evaluation,
    folder: Path,
    context: StepContext,
    pgn: Path | None = None,
    positions: Path | None = None,
    openings: Path | None = None,
) -> runner.MatchResult:
    """Let Merino with this evaluation play the games of a round, into a PGN or a file as of `selfplay --positions`.

    `openings` is a file of them, None for random ones. Raises StepStoppedError and MatchError.
    """
    player = OwnPlayer("Merino", evaluation)
    config = MatchConfig(
        (player, player),
        TimeControl(nodes=plan.nodes),
        games=plan.games,
        seed=plan.seed_of(number, 0),
        openings=None if openings is None else str(openings),
        adjudication=CLEAR_WIN,
        random_moves=plan.random_moves(number),
    )
    state, event = folder / "games.state", "Merino self-play"
    output = runner.MatchOutput(context.show, pgn, state, event, report.count_line, positions=positions)
    return _finished(config, None, output, context)


def play_match(
    new: Evaluation, old: Evaluation, trial: prove.StrengthTest, state: Path, context: StepContext, decides: bool = True
) -> Tally:
    """Play a match, until its test is settled if it decides; raises StepStoppedError and MatchError."""
    config, output = (
        trial.match(OwnPlayer("new", new), OwnPlayer("old", old)),
        runner.MatchOutput(context.show, state=state),
    )
    return _finished(config, trial.test if decides else None, output, context).tally


def _finished(
    config: MatchConfig, test: statistics.Sprt | None, output: runner.MatchOutput, context: StepContext
) -> runner.MatchResult:
    result = runner.run_match(config, context.threads, test, output, context.executor)
    if result.interrupted:
        raise StepStoppedError
    return result


def kept_fit(path: Path, kind: type[sealed.Record], what: str, **more: object) -> sealed.Record:
    """What the fit of `what`, such as "a round", has left in a file, with what is given of it; raises LearnError."""
    with files.faults_named(path, f"the fit of {what}", LearnError):
        return sealed.record(kind, sealed.from_json(files.read_user_file(path, files.STATE), str(path)) | more)


def elo_of(tally: Tally) -> tuple[float | None, float | None]:
    """The Elo of a match and its error, None without a game."""
    if not tally.games:
        return None, None
    found = statistics.estimate(tally.counts)
    return found.elo, found.elo_error


def outcome(verdict: str, tally: Tally) -> dict[str, Any]:
    """The fields of a round that say how its match has ended."""
    elo, elo_error = elo_of(tally)
    return {"verdict": verdict, "match_games": tally.games, "elo": elo, "elo_error": elo_error}


def outcome_words(found: Round, words: str) -> list[str]:
    """The parts of a round's line in the log: its verdict, given in `words`, its Elo, that from the start, its time."""
    parts = [words]
    if found.elo is not None and found.elo_error is not None:
        parts.append(f"{found.match_games} games, Elo {report.signed(found.elo, found.elo_error)}")
    if found.from_start is not None and found.from_start_error is not None:
        parts.append(f"the best is {report.signed(found.from_start, found.from_start_error)} from the start")
    return [*parts, report.duration(found.seconds)]
