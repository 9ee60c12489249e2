"""The folder of a run of `improve`: its content, its lock, and how it is read and written.

`improve.json` has the finished rounds and is replaced at the end of each; `round-0001` and so on have the work of each
round, from which an interrupted round continues. `best.txt` are the best weights so far, `start.txt` the first ones;
the weights of each successful round stay in its folder. `table.csv` and `log.txt` are for people.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from merino.inner.core.common.about import __version__
from merino.inner.core.common.files import is_draft, try_lock, write_together
from merino.inner.core.common.sealed import as_json, from_json
from merino.inner.core.common.user_files import STATE, is_there, open_log, read_user_file
from merino.inner.eval.linear.registry import TERMS, TermSet
from merino.inner.eval.linear.weights import as_mapping, render
from merino.inner.learn.errors import LearnError
from merino.inner.learn.improve.plan import Plan

FORMAT = "merino improve 1"
STATE_NAME = "improve.json"
_COLUMNS = ("round", "hours", "verdict", "games", "positions", "error_before", "error_after", "match_games", "elo")
_LAST_COLUMNS = ("elo_error", "from_start", "from_start_error")


@dataclass(frozen=True)
class Round:
    """A finished round. Elo is that of its match, with half the width of its 95% interval; None without a match.

    `verdict` is "H1" if the new weights are the best, "H0" if not, "open" if the match ended undecided, or without a
    match "same" and "worse": nothing new was learned, or the error on validation games rose. `from_start` is the Elo of
    the best against the start in a separate match, None without one.
    """

    number: int
    verdict: str
    games: int
    positions: int
    error_before: float
    error_after: float
    match_games: int
    elo: float | None
    elo_error: float | None
    from_start: float | None
    from_start_error: float | None
    seconds: float
    weights: tuple[float, ...]

    @property
    def is_proven(self) -> bool:
        """Whether its weights became the best."""
        return self.verdict == "H1"


@dataclass(frozen=True)
class LoopState:
    """The finished rounds of a run.

    `weights` are those at the start, in the file `start_name`; `changes_use` says that they were those in use, so that
    proven weights replace them, and `in_use` is the last round for which this was done, 0 for none. `seconds` are those
    of the present round.
    """

    plan: Plan
    start_name: str
    changes_use: bool
    weights: tuple[float, ...]
    rounds: tuple[Round, ...] = ()
    in_use: int = 0
    seconds: float = 0.0

    @property
    def last_proven(self) -> int:
        """The number of the round that found the best, 0 for the start."""
        return max((found.number for found in self.rounds if found.is_proven), default=0)

    @property
    def best(self) -> np.ndarray:
        """The best weights so far, of one phase or two."""
        proven = [found.weights for found in self.rounds if found.is_proven]
        return np.array(proven[-1] if proven else self.weights)

    @property
    def hours(self) -> list[float]:
        """The hours that had passed at the end of each round."""
        return [float(hours) for hours in np.cumsum([found.seconds for found in self.rounds]) / 3600]

    def with_round(self, found: Round) -> LoopState:
        """The state after another round."""
        return replace(self, rounds=(*self.rounds, found))


class Folder:
    """The folder of a run, locked against other runs. A context manager, which unlocks it."""

    def __init__(self, path: Path) -> None:
        """Raises LearnError if it cannot be made or another run has locked it."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock: IO[bytes] = (path / "lock").open("a+b")
        except OSError as error:
            reason = "it is not a folder" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
            raise LearnError(f"cannot use the folder '{path}': {reason}") from error
        if not try_lock(self._lock):
            self._lock.close()
            raise LearnError(f"another improve is running in '{path}': wait for it, or give another folder")

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    @property
    def best(self) -> Path:
        """The file of the best weights."""
        return self.path / "best.txt"

    def of_round(self, number: int) -> Path:
        """The folder of a round; made if it does not exist."""
        path = self.path / f"round-{number:04}"
        path.mkdir(exist_ok=True)
        return path

    def load(self) -> LoopState | None:
        """The finished rounds, None in a new folder; raises LearnError."""
        path = self.path / STATE_NAME
        if not is_there(path):
            others = [each.name for each in self.path.iterdir() if each.name != "lock" and not is_draft(each)]
            if others:
                raise LearnError(f"'{self.path}' holds other files ({min(others)}): give a new folder")
            return None
        return load_state(path)

    def save(self, state: LoopState) -> None:
        """Write the finished rounds; raises OSError.

        `improve.json` comes first: after a kill the next run makes the others from it, and knows the folder as its own.
        """
        best = weights_text(state.best, [f"the best of {len(state.rounds)} rounds"], state.plan.terms)
        contents = {STATE_NAME: as_json(_as_json(state), indent=1), "table.csv": table_of(state).encode()}
        contents[self.best.name] = best.encode()
        if not is_there(self.path / "start.txt"):
            origin = f"the start, as in {state.start_name}"
            start = weights_text(np.array(state.weights), [origin], state.plan.terms)
            contents["start.txt"] = start.encode()
        write_together({self.path / name: content for name, content in contents.items()})

    def log(self, line: str) -> None:
        """Add a line to the log; raises OSError."""
        with open_log(self.path / "log.txt") as file:
            file.write(f"{line}\n".encode())


def weights_text(weights: np.ndarray, header: list[str], terms: TermSet = TERMS) -> str:
    """The text of a weights file of the run."""
    return render(as_mapping(weights, terms), [f"Learned by merino improve: {line}" for line in header], terms)


def load_state(path: Path) -> LoopState:
    """Read `improve.json`; raises LearnError."""
    try:
        data = from_json(read_user_file(path, STATE), str(path))
    except OSError as error:
        raise LearnError(f"cannot read '{path}': {error.strerror}") from error
    except ValueError as error:
        raise LearnError(f"'{path}' is not the state of an improve: {error}") from error
    if data.get("format") != FORMAT or data.get("version") != __version__:
        raise LearnError(f"'{path}' is of another version of Merino: give a new folder")
    try:
        rounds = tuple(Round(**{f.name: found[f.name] for f in fields(Round)}) for found in data["rounds"])
        rounds = tuple(replace(found, weights=tuple(found.weights)) for found in rounds)
        plan = Plan.from_json(data["plan"])
        numbers = tuple(data["weights"]), rounds, int(data["in_use"]), float(data["seconds"])
        state = LoopState(plan, str(data["start"]), bool(data["changes_use"]), *numbers)
    except (KeyError, TypeError, ValueError) as error:
        raise LearnError(f"'{path}' is damaged: {error!r}") from error
    if len(state.weights) % len(plan.terms):
        raise LearnError(f"'{path}' is of an evaluation with other terms: give a new folder")
    return state


def _as_json(state: LoopState) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": __version__,
        "plan": state.plan.as_json(),
        "start": state.start_name,
        "changes_use": state.changes_use,
        "in_use": state.in_use,
        "weights": list(state.weights),
        "seconds": state.seconds,
        "rounds": [asdict(found) for found in state.rounds],
    }


def table_of(state: LoopState) -> str:
    """The rounds as comma-separated values, a line each under a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *_LAST_COLUMNS])
    for found, hours in zip(state.rounds, state.hours, strict=True):
        numbers = (found.elo, found.elo_error, found.from_start, found.from_start_error)
        writer.writerow(
            [
                found.number,
                f"{hours:.3f}",
                found.verdict,
                found.games,
                found.positions,
                f"{found.error_before:.6f}",
                f"{found.error_after:.6f}",
                found.match_games,
                *("" if number is None else f"{number:.1f}" for number in numbers),
            ]
        )
    return text.getvalue()
