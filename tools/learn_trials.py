"""Try what `learn` predicts against matches: `python -m tools.learn_trials GAMES.pgn ... --state trials.jsonl`.

A trial is a start (a weights file, or the values of the pieces alone), a file of games, and how many games are drawn
from it. The games are fitted as `merino learn` does, which predicts what they teach. Then half of the step to the
fitted weights plays the start, whatever was predicted, until a sequential test between 0 and 30 Elo is decided or the
games are played. A trial is right if no gain was predicted and the test does not accept one; if a gain was, and it
does; if a small one was, and the interval of the match reaches into 0 to 40 Elo.

The trials are kept in the file `--state`, and the same command goes on after Ctrl-C. What is printed at the end is the
table of docs/lab/learning.md.
"""

import argparse
import json
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.about import SHIPPED
from merino.eval.linear import family, registry
from merino.eval.linear import weights as weights_files
from merino.learn import fitting, judging, reading
from merino.learn.request import SILENT, LearnRequest
from merino.match import prove, statistics
from merino.match.config import CLEAR_WIN, TimeControl
from merino.match.players import OwnPlayer
from tools.markdown import markdown_table

PIECES = "pieces alone"
STARTS = (PIECES, "greko2015-before-training", "greko2015-after-training", "tuned", "learned", "default")
NONE, SMALL, GAIN = "no gain", "a small gain", "a gain"
SMALL_GAIN = (0.0, 40.0)  # Elo
TEST = prove.StrengthTest(
    statistics.Sprt(0.0, 30.0, model=statistics.Model.LOGISTIC), TimeControl(nodes=1000), 600, adjudication=CLEAR_WIN
)


def start_of(name: str) -> tuple[registry.TermSet, np.ndarray]:
    """The terms and the weights of a start."""
    if name != PIECES:
        return weights_files.load_any(Path(SHIPPED) / f"{name}.txt")
    weights = np.zeros(len(registry.TERMS))
    weights[:5] = 100, 300, 300, 500, 900
    return registry.TERMS, weights


def drawn(path: Path, number: int, seed: int) -> bytes:
    """So many of the games of a file, or all if it has fewer."""
    games = re.split(rb"(?m)^(?=\[Event )", path.read_bytes())[1:]
    return b"".join(random.Random(f"{path.name} {number} {seed}").sample(games, min(number, len(games))))


def played(start: str, path: Path, number: int, seed: int) -> dict[str, Any]:
    """What the fit of a trial is like, what is predicted of it, and the match."""
    with tempfile.TemporaryDirectory() as folder:
        games = Path(folder) / "games.pgn"
        games.write_bytes(drawn(path, number, seed))
        request, (terms, weights) = LearnRequest((str(games),), dry_run=True), start_of(start)
        data = reading.read(request, terms, weights, SILENT)
        settings, fitted = fitting.fit_all(data, SILENT)
        learned = judging.judge(data.sample, fitted, settings)
        half = judging.part_of_step(data.sample, learned, 0.5)
        expected = judging.expected_gain(learned, data.request)
    ends = {"new": half.end.weights, "old": learned.start.weights}
    new, old = (OwnPlayer(name, family.LinearEvaluation(end, terms=terms)) for name, end in ends.items())
    proof = prove.prove(new, old, replace(TEST, seed=TEST.seed + seed), lambda _: None)
    elo, fall = statistics.estimate(proof.tally.counts), learned.gain.decrease / learned.before.valid
    trial = {"start": start, "games_of": path.stem, "number": number, "seed": seed, "fall": fall, "expected": expected}
    match = {"games": proof.tally.games, "elo": elo.elo, "error": elo.elo_error, "verdict": proof.verdict}
    return trial | match


def kind_of(trial: dict[str, Any]) -> str:
    """What was predicted."""
    return GAIN if trial["expected"] >= judging.SURE_ELO else SMALL if trial["expected"] else NONE


def is_right(trial: dict[str, Any]) -> bool:
    """Whether the match agrees with what was predicted."""
    if kind_of(trial) == SMALL:
        least, most = SMALL_GAIN
        return bool(trial["elo"] - trial["error"] <= most and trial["elo"] + trial["error"] >= least)
    return (trial["verdict"] == "H1") == (kind_of(trial) == GAIN)


def table(trials: Sequence[dict[str, Any]]) -> str:
    """The trials by start and by what was predicted."""
    rows = []
    for start, kind in product(STARTS, (NONE, SMALL, GAIN)):
        if mine := [each for each in trials if (each["start"], kind_of(each)) == (start, kind)]:
            falls, elos = ([each[key] for each in mine] for key in ("fall", "elo"))
            gone, mean = f"{min(falls):.0%} to {max(falls):.0%}", f"{np.mean(elos):+.0f}"
            rows.append((start, kind, str(len(mine)), gone, mean, str(sum(map(is_right, mine)))))
    head = ("Start", "Predicted", "Trials", "Error gone", "Elo, mean", "Right")
    right = f"{sum(map(is_right, trials))} of {len(trials)} are right:"
    return f"{right}\n\n{markdown_table(head, rows, right_aligned=(2, 4, 5))}"


def main() -> None:
    """Play the trials that are not in the file, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("games", nargs="*", type=Path, metavar="GAMES.pgn")
    parser.add_argument("--state", type=Path, required=True, metavar="FILE", help="keep the trials here")
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=STARTS)
    parser.add_argument("--numbers", nargs="+", type=int, default=(60, 300, 2000), metavar="N", help="of games")
    parser.add_argument("--seed", type=int, default=1, help="of the games and the openings (1)")
    args = parser.parse_args()
    lines = args.state.read_text(encoding="utf-8").splitlines() if args.state.exists() else []
    done = [json.loads(line) for line in lines]
    known = {(each["start"], each["games_of"], each["number"], each["seed"]) for each in done}
    for start, path, number in product(args.starts, args.games, args.numbers):
        if (start, path.stem, number, args.seed) not in known:
            done.append(played(start, path, number, args.seed))
            with args.state.open("a", encoding="utf-8") as state:
                state.write(json.dumps(done[-1]) + "\n")
    print(table(done))


if __name__ == "__main__":
    main()
