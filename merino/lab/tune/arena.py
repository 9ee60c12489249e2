"""The arena: methods of tuning on engines whose numbers were set wrong on purpose, and the Elo that each wins back.

    python -m merino.lab.tune.arena benchmarks/arena.toml FOLDER

plays in each case of the file a tune by each method and a match of its values, after every `every` games of the tune,
against the right ones, and prints the table of docs/lab/tuning.md. FOLDER keeps the tunes and matches, so that the same
command continues. At the top of the file are `games` of a tune, `check` (the games of a match), `every`, `seeds` (tunes
of a method in a case) and `methods`. A table [cases.NAME] has `engine`, a command, or nothing for Merino, `nodes` or
`depth`, and a table [cases.NAME.parameters.P] for each parameter as in a file for a tune, whose `start` is the wrong
value; `right` is the right one, by default that of the engine.
"""

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common import files, work
from merino.core.common.text import rounded
from merino.eval.families import default
from merino.lab.tune import methods, parameters, tuning
from merino.lab.tune.command import engine_command, play_pairs
from merino.lab.tune.tuning import Configuration, Tune
from merino.match.config import TimeControl
from merino.match.runner import MatchOutput, run_match
from merino.match.statistics import estimate

AHEAD = 8  # pairs of a tune under way: few, as a case is short


def case_of(name: str, table: dict[str, Any]) -> tuple[Configuration, np.ndarray]:
    """The configuration of the tunes in a case, and the right values; raises TuneError and UsageError."""
    engine = engine_command(table["engine"], "arena") if "engine" in table else ()
    known = tuning.engine_options(engine) if engine else parameters.own_parameters(default())
    right = {name: values.pop("right", known[name].value) for name, values in table["parameters"].items()}
    rows = tuple(parameters.read_table(row, values, name, known) for row, values in table["parameters"].items())
    parameters.check_tunable(rows, known, table.get("engine", ""))
    limit = TimeControl(nodes=table.get("nodes"), depth=table.get("depth")).or_default()
    identity = {} if engine else default().identity
    wanted = Configuration(rows, ahead=AHEAD, time_control=limit, identity=identity, engine=engine)
    return wanted, np.array([right[row.name] for row in rows], dtype=np.float64)


def values_after(tune: Tune, marks: range) -> list[np.ndarray]:
    """The values of a tune after each of these numbers of games, in playable form."""
    rows, states = tune.configuration.parameters, tuning.replay(tune, tune.settings)
    return [
        parameters.playable(rows, methods.estimate(tune.settings, state))
        for pairs, state in states
        if 2 * pairs in marks
    ]


def tuned(path: Path, wanted: Configuration) -> Tune:
    """A tune that is played to its end, or goes on in its file."""
    tune = tuning.load_tune(path, wanted) if files.is_there(path) else Tune.new(wanted)
    if not tune.is_over:
        interrupted, fault = play_pairs(tune, path, work.cores(), lambda line: print(line, file=sys.stderr), None)
        if interrupted or fault:
            raise fault or KeyboardInterrupt
    return tune


def counts_against(right: np.ndarray, values: np.ndarray, wanted: Configuration, games: int, state: Path) -> np.ndarray:
    """The counts of the match of these values against the right ones, which goes on in its file."""
    terms = replace(
        tuning.terms_of(wanted, tuning.players_of(wanted, values, right)), seed=1000 + wanted.seed, games=games
    )
    result = run_match(terms, work.cores(), None, MatchOutput(lambda line: None, state=state))
    if result.interrupted:
        raise KeyboardInterrupt
    return np.array(result.tally.counts)


def rows_of(arena: dict[str, Any], name: str, folder: Path) -> Iterator[str]:
    """The rows of a case: the Elo left at the start and after each mark, with half its 95% interval."""
    case, right = case_of(name, arena["cases"][name])
    games, check, seeds = arena["games"], arena["check"], range(1, arena["seeds"] + 1)
    marks = range(arena["every"], games + 1, arena["every"])
    start = counts_against(right, case.start, replace(case, seed=1), check, folder / f"{name}-start.json")
    for method in arena["methods"]:
        counts = [start, *(np.zeros_like(start) for _ in marks)]
        for seed in seeds:
            wanted, stem = replace(case, method=method, pairs=games // 2, seed=seed), f"{name}-{method}-{seed}"
            values = values_after(tuned(folder / f"{stem}.npz", wanted), marks)
            for number, (mark, at) in enumerate(zip(marks, values, strict=True), 1):
                counts[number] = counts[number] + counts_against(
                    right, at, wanted, check, folder / f"{stem}-{mark}.json"
                )
        left = [estimate(each) for each in counts]
        cells = " | ".join(f"{rounded(-each.elo, digits=0)} +- {each.elo_error:.0f}" for each in left)
        yield f"| {name} | {len(right)} | `{method}` | {cells} |"


def main(file: Path, folder: Path) -> None:
    """Play what is not yet in the folder, and print the table."""
    arena = tomllib.loads(files.read_user_text(file, files.SETTINGS))
    folder.mkdir(exist_ok=True)
    heads = ["start", *(f"{mark} games" for mark in range(arena["every"], arena["games"] + 1, arena["every"]))]
    print(f"| Case | Numbers | Method | {' | '.join(heads)} |\n| --- | ---: | --- |{' ---: |' * len(heads)}")
    for name in arena["cases"]:
        for row in rows_of(arena, name, folder):
            print(row, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
