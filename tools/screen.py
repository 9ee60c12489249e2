"""Measure many changes of the search at once: `python tools/screen.py FILE.toml [--nodes N | --tc TC] [--rounds N]`.

Each line of FILE is a number of the search with the two values to compare, or with one for both players:

    singular_depth = [6, 7]
    see_quiet_margin = [34, 48]
    aspiration_window = 20

A match for each would take so many times the games. Here the values are drawn again for each block of games: one
player gets the second value of some numbers and the first of the others, the other player the reverse. In a round of
blocks every number meets every other as often with as against it (the rows of a Hadamard matrix), so that a linear
regression estimates each effect as exactly as if all games had been played for it alone. That holds as long as
changes add up, as small ones do.

The games are played at --nodes a move; with --tc, which what is compared may need, on clocks counted in nodes, so that
other work on the machine changes nothing. --evalfile names the evaluation of both players.

Blocks are kept in FILE.blocks.jsonl, below a line that says what they compare; started again, it goes on from there,
but not with other numbers or another --nodes, --tc or --evalfile. Ctrl-C ends it with the table so far.
"""

import argparse
import json
import math
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from merino.core.common import errors, terminal, work
from merino.match import report, runner, statistics
from merino.match.config import Clock, MatchConfig, TimeControl
from merino.match.players import read_player
from tools.markdown import markdown_table

NODES_OF_A_MILLISECOND = 400  # of a clock
ELO_PER_SHARE = 1600 / math.log(10)  # slope of Elo over the share of the points, at one half


class Block(NamedTuple):
    """Some games: for each number whether the first player had its second value, and his pairs by points."""

    second: list[bool]
    pentanomial: list[int]


def round_of(numbers: int) -> int:
    """How many blocks it takes to deal every pair of numbers evenly."""
    return 1 << numbers.bit_length()


def deals(numbers: int) -> Iterator[list[bool]]:
    """For each block which numbers the first player has the second value of, round after round in another order."""
    for seed in count():
        rows = list(range(round_of(numbers)))
        Random(seed).shuffle(rows)
        for row in rows:
            yield [(row & column).bit_count() % 2 == 1 for column in range(1, numbers + 1)]


def effects(blocks: Sequence[Block]) -> tuple[np.ndarray, np.ndarray]:
    """Elo of the second value over the first, and its standard error, each float64[numbers]; NaN as long as unknown."""
    signs = np.array([[1.0 if second else -1.0 for second in block.second] for block in blocks])
    pairs, shares, spreads = statistics.moments(np.array([block.pentanomial for block in blocks]))
    variance = pairs @ spreads / pairs.sum()  # of a pair's share
    information = signs.T @ (pairs[:, None] * signs)
    if np.linalg.matrix_rank(information) < len(information):
        unknown = np.full(len(information), np.nan)
        return unknown, unknown
    inverse = np.linalg.inv(information)
    found = inverse @ signs.T @ (pairs * (shares - 0.5))
    return ELO_PER_SHARE * found, ELO_PER_SHARE * np.sqrt(variance * np.diag(inverse))


def read(text: str) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """The numbers to compare, with both values, and those that are the same for both; raises ValueError."""
    compared, fixed = {}, {}
    for name, value in tomllib.loads(text).items():
        match value:
            case int():
                fixed[name] = value
            case [int(first), int(second)] if first != second:
                compared[name] = (first, second)
            case _:
                raise ValueError(f"{name} = {value}: wanted [first, second], two different integers, or one integer")
    if not compared:
        raise ValueError("there is nothing to compare, such as singular_depth = [6, 7]")
    return compared, fixed


def conditions_of(args: argparse.Namespace) -> tuple[TimeControl, tuple[str, ...]]:
    """The limits of a move, and what makes a player in addition to the numbers; raises ValueError."""
    words = () if args.evalfile is None else (f"EvalFile={args.evalfile}",)
    if args.tc is None:
        return TimeControl(nodes=args.nodes), words
    return TimeControl(clock=Clock.read(args.tc)), (*words, f"nodestime={NODES_OF_A_MILLISECOND}")


class Subject(NamedTuple):
    """What blocks are about; those of two subjects say nothing together. See `read` and `conditions_of`."""

    compared: Mapping[str, tuple[int, int]]
    fixed: Mapping[str, int]
    control: TimeControl
    words: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """As the file of the blocks has it."""
        about = {"compared": [[name, *values] for name, values in self.compared.items()], "fixed": dict(self.fixed)}
        clock = self.control.clock
        limits = {"nodes": self.control.nodes} if clock is None else {"clock": str(clock)}
        return about | limits | ({"players": list(self.words)} if self.words else {})

    def player(self, label: str, second: Sequence[bool]) -> str:
        """A player of `merino match`."""
        chosen = {name: values[which] for (name, values), which in zip(self.compared.items(), second, strict=True)}
        numbers = (f"{name}={value}" for name, value in (dict(self.fixed) | chosen).items())
        return ",".join([*numbers, *self.words, f"name={label}"])


def kept_blocks(file: Path, about: Mapping[str, Any]) -> list[Block]:
    """The blocks in a file, which is begun if there is none; raises ValueError if they are about something else."""
    if not file.exists():
        file.write_text(json.dumps(about) + "\n", encoding="utf-8")
    first, *lines = file.read_text(encoding="utf-8").splitlines() or ["{}"]
    found = json.loads(first)
    if found != about:
        changed = [name for name in {**about, **found} if found.get(name) != about.get(name)]
        raise ValueError(
            f"the blocks kept in {file} were played with other numbers ({', '.join(changed)}): "
            "put them back, or move that file away to begin again"
        )
    return [Block(**json.loads(line)) for line in lines]


def play(players: tuple[str, str], second: list[bool], seed: int, games: int, control: TimeControl) -> Block:
    """Play a block; raises MatchError, and KeyboardInterrupt with nothing of the block kept."""
    config = MatchConfig((read_player(players[0]), read_player(players[1])), control, games=games, seed=seed)
    with terminal.LivePrinter() as show:
        result = runner.run_match(config, work.cores(), output=runner.MatchOutput(show))
    if result.interrupted:
        raise KeyboardInterrupt
    names = [player.label for player in config.players]
    print(report.summary(names, str(config), config.conditions, result.tally, None, result.seconds), file=sys.stderr)
    return Block(second, result.tally.pairs.tolist())


def table(compared: Mapping[str, tuple[int, int]], blocks: Sequence[Block]) -> str:
    """The Elo of each change, the surest gains first, as Markdown."""
    found = zip(compared.items(), *(array.tolist() for array in effects(blocks)), strict=True)
    rows = [
        (f"`{name}`", *map(str, values), f"{elo:+.1f} ± {statistics.Z_95 * error:.1f}")
        for (name, values), elo, error in sorted(found, key=lambda row: -row[1] / row[2])
    ]
    return markdown_table(("number", "from", "to", "Elo"), rows, right_aligned=(1, 2))


def main() -> None:
    """Play blocks and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=2, help="of as many blocks as there are numbers, or more (2)")
    parser.add_argument("--games", type=int, default=24, help="in a block (24)")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--nodes", type=int, default=10_000, help="a move (10000)")
    clock = f"clocks in place of that, such as 1+0.01, counted in nodes, {NODES_OF_A_MILLISECOND} a millisecond"
    limit.add_argument("--tc", metavar="TC", help=clock)
    parser.add_argument("--evalfile", metavar="NET", help="evaluation of both players (the terms)")
    args = parser.parse_args()
    try:
        compared, fixed = read(args.file.read_text(encoding="utf-8"))
        subject = Subject(compared, fixed, *conditions_of(args))
        kept = args.file.with_suffix(".blocks.jsonl")
        blocks = kept_blocks(kept, subject.as_json())
    except (OSError, ValueError) as error:
        parser.error(f"{args.file}: {error}")
    dealt = enumerate(islice(deals(len(compared)), args.rounds * round_of(len(compared))), start=1)
    try:
        with kept.open("a") as file:
            for number, second in islice(dealt, len(blocks), None):
                players = subject.player("A", second), subject.player("B", [not one for one in second])
                blocks.append(play(players, second, number, args.games, subject.control))
                print(json.dumps(blocks[-1]._asdict()), file=file, flush=True)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    except errors.MerinoError as error:
        sys.exit(f"{args.file}: {error}")
    if len(blocks) < round_of(len(compared)):
        sys.exit(f"{len(blocks)} blocks are kept in {kept}; {round_of(len(compared))} show something")
    print(f"{2 * sum(sum(block.pentanomial) for block in blocks)} games\n\n{table(compared, blocks)}")


if __name__ == "__main__":
    main()
