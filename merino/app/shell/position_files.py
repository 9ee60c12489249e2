"""`merino positions FILE ...`: shows what files of scored positions hold; converts, shuffles and splits them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, number_above_zero, positive
from merino.app.shell.shared import check_apart
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.files import check_writable, real_path, writing
from merino.core.common.terminal import Progress
from merino.eval.families import load_chosen
from merino.formats.packed import GAMES, MAX_SCORE, Filter, PackedError
from merino.formats.packed_files import (
    PositionsWriter,
    Report,
    games_with_scores,
    is_held_out,
    packed_positions,
    rescaled,
    shuffled,
    writing_positions,
)
from merino.formats.pgn_tokens import NO_SCORE
from merino.formats.position_counts import BOUNDS, PositionCounts, count_positions
from merino.formats.scored_games import ScoredGames, is_games_file, scaled
from merino.formats.sources import SourceError, find_files
from merino.learn.reading import searched_positions
from merino.learn.request import Events
from merino.learn.rescoring import Rescore

WIDTH = 40  # of the longest bar
_Chunk = TypeVar("_Chunk", np.ndarray, ScoredGames)


class _Written(NamedTuple):
    """What has been written to a file, which `is_apart` if it holds what a split kept out of the other."""

    path: Path
    writer: PositionsWriter
    is_apart: bool = False

    def __str__(self) -> str:
        """A sentence."""
        positions = f"{self.writer.positions} positions"
        if is_games_file(self.path):
            other = "other " if self.is_apart else ""
            return f"{self.writer.games} {other}games with {positions} are in '{self.path}'"
        return f"{positions}{', from other games,' if self.is_apart else ''} are in '{self.path}'"

    def as_plain(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        games = {"games": self.writer.games} if is_games_file(self.path) else {}
        return {"file": str(self.path), "positions": self.writer.positions, **games}


def run_positions(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if (args.shuffle or args.split) and args.out is None:
        raise UsageError("positions: --shuffle and --split need --out")
    with errors_named("positions", PackedError, SourceError), writing(CommandError, before="positions: "):
        files = find_files(args.files)
        if args.out is None:
            counts = count_positions(_positions([path], args) for path in files)
            lines = [json.dumps(_as_plain(counts))] if args.json else [*_lines(counts)]
        else:
            written = _convert(files, args)
            plain = {"files": [each.as_plain() for each in written]}
            lines = [json.dumps(plain)] if args.json else [*map(str, written)]
    print("\n".join(lines))
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="merino positions",
        description="Show what files of scored positions hold; convert, shuffle or split them.",
        examples=(
            "merino positions games.pgn",
            "merino positions games.pgn --out games.vf",
            "merino positions a.bin b.vf --out all.bin --shuffle",
        ),
        notes="Reads packed positions (bulletformat, 32 bytes each), games with scores (PGN, viriformat), lines 'FEN | "
        "score | result', and EPD with ce and c9. --out writes packed positions; whole games in viriformat, about 4 "
        "bytes a position, if FILE ends in .vf; text if it ends in .txt or .epd; compressed if .gz, .bz2, .xz or .zst "
        "follows.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files, compressed or not")
    add = parser.group("positions of games").add_argument
    sentence = "leave out positions with larger scores (default: %(default)s)"
    add("--max-score", type=positive, metavar="CP", default=MAX_SCORE, help=sentence)
    add("--noisy", action="store_true", help="also use positions in check or whose move is a capture or promotion")
    shared.add_lambda(parser, "positions of games")
    sentence = "search ten positions of each game of PGN files for scores; kept next to the games"
    parser.group("scores").add_argument("--rescore", type=positive, metavar="NODES", help=sentence)
    shared.add_evaluation(parser)
    sentence = "multiply the scores by X, so that those of different players have one scale (default: 1)"
    parser.group("scores").add_argument("--scale", type=number_above_zero, metavar="X", default=1.0, help=sentence)
    add = parser.group(shared.OUTPUT).add_argument
    add("--out", type=file_path, metavar="FILE", help="write the positions to this file")
    add("--shuffle", action="store_true", help="write them in random order, but those of --split as they come")
    sentence = "write this share of the games to FILE instead"
    add("--split", nargs=2, metavar=("SHARE", "FILE"), help=sentence)
    shared.add_seed(parser, "that order, and of the choice of those games", shared.OUTPUT)
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser


def _positions(files: Sequence[Path], args: argparse.Namespace) -> Iterator[np.ndarray]:
    """The positions of files, PACKED[n] at a time; with --rescore searched again."""
    if args.rescore:
        rescore = Rescore(args.rescore, load_chosen(args.weights, args.evalfile))
        remark = shared.unless_quiet(partial(print, file=sys.stderr), args.quiet)
        events = Events(remark, Progress(shared.progress_stream(args.quiet)))
        return (rescaled(chunk, args.scale) for chunk in searched_positions(files, rescore, events))
    chosen = Filter(args.max_score, args.noisy, args.ahead)
    chunks = _of_each(files, lambda path, report: packed_positions(path, chosen, report), args, "position with a score")
    return (rescaled(chunk, args.scale) for chunk in chunks)


def _games(files: Sequence[Path], args: argparse.Namespace) -> Iterator[ScoredGames]:
    """The whole games of files that have a score; raises UsageError for options that choose positions."""
    if args.shuffle or args.noisy or args.ahead or args.max_score != MAX_SCORE:
        raise UsageError(
            "positions: a file of games holds all positions in order, with the scores of their searches; shuffle, "
            "filter and look ahead when it is read"
        )
    chunks = _of_each(files, _games_with_a_score, args, "game with scores")
    return (replace(games, scores=scaled(games.scores, args.scale)) for games in chunks)


def _of_each(
    files: Sequence[Path],
    read: Callable[[Path, Report], Iterator[_Chunk]],
    args: argparse.Namespace,
    wanted: str,
) -> Iterator[_Chunk]:
    """What `read` finds in the files; raises CommandError for a file in which there is none."""
    progress = Progress(shared.progress_stream(args.quiet))
    for path in files:
        found = 0
        for chunk in read(path, partial(progress, f"Reading {path.name}")):
            found += len(chunk)
            yield chunk
        progress.wipe()
        if not found:
            raise CommandError(f"positions: '{path}' holds no {wanted} and a result")


def _games_with_a_score(path: Path, report: Report) -> Iterator[ScoredGames]:
    """The games of a file that have a score."""
    for games in games_with_scores(path, report):
        scored = np.append(0, np.cumsum(games.scores != NO_SCORE))[games.firsts]
        yield games.chosen(np.diff(scored) > 0)


def _convert(files: Sequence[Path], args: argparse.Namespace) -> list[_Written]:
    """Write positions, or whole games if the name of the output ends in .vf."""
    has_games = is_games_file(args.out)
    chunks: Iterator[Any] = (_games if has_games else _positions)(files, args)
    share, second = _split_of(args)
    targets = [args.out] + ([second] if second else [])
    for target in targets:
        check_writable(target)
    check_apart(targets, files, "positions")
    if second and is_games_file(second) != has_games:
        kind, ending = ("games", "end") if has_games else ("positions", "not end")
        raise UsageError(f"positions: '{second}' is to hold {kind} as well; its name must {ending} in .vf")
    with writing_positions(second) if second else nullcontext() as apart:
        if apart is not None:
            chunks = _without(chunks, share, args.seed, apart)
        if args.shuffle:
            chunks = shuffled(chunks, real_path(args.out).parent, args.seed)
        with writing_positions(args.out) as out:
            for chunk in chunks:
                out.add(chunk)
    written = [_Written(args.out, out)]
    return written if second is None or apart is None else [*written, _Written(second, apart, is_apart=True)]


def _split_of(args: argparse.Namespace) -> tuple[float, Path | None]:
    if not args.split:
        return 0.0, None
    try:
        share = float(args.split[0])
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"positions: --split takes a share between 0 and 1, not '{args.split[0]}'")
    return share, file_path(args.split[1])


def _without(chunks: Iterator[Any], share: float, seed: int, apart: PositionsWriter) -> Iterator[Any]:
    """Positions or games but for those of a share of the games, which are written to `apart`."""
    first = 0
    for chunk in chunks:
        has_games = isinstance(chunk, ScoredGames)
        is_apart = is_held_out(chunk.numbers % GAMES + 1 if has_games else chunk["game"], share, first, seed)
        first += len(chunk)
        chosen = chunk.chosen if has_games else chunk.__getitem__
        apart.add(chosen(is_apart))
        yield chosen(~is_apart)


def _as_plain(counts: PositionCounts) -> dict[str, Any]:
    return {
        "positions": counts.positions,
        "games": counts.games,
        "in_order": counts.in_order,
        "duplicates": counts.duplicates(),
        "score": {"mean": counts.mean, "deviation": counts.deviation},
        "score_bounds": list(BOUNDS),
        "scores": counts.scores.tolist(),
        "results": dict(zip(("lost", "drawn", "won"), counts.results.tolist(), strict=True)),
        "phases": counts.phases.tolist(),
        "king_squares": counts.kings.tolist(),
    }


def _lines(counts: PositionCounts) -> Iterator[str]:
    total = max(1, counts.positions)
    lost, drawn, won = (counts.results / total).tolist()
    games = f" of {'' if counts.in_order else 'at least '}{counts.games} games" if counts.games else ""
    yield f"{counts.positions} positions{games}, {counts.duplicates()} of them duplicates"
    yield f"result for the side to move: {won:.1%} won, {drawn:.1%} drawn, {lost:.1%} lost"
    yield f"score for the side to move: mean {counts.mean:+.1f} cp, standard deviation {counts.deviation:.1f} cp"
    ends = ["", *map(str, BOUNDS), ""]
    names = [f"{low or '':>6} to {high}" for low, high in pairwise(ends)]
    yield from _bars("score", [name if name.strip() != "to" else "all" for name in names], counts.scores)
    yield from _bars("phase", [f"{units:>6}" for units in range(len(counts.phases))], counts.phases)
    yield "\nking square, in thousandths, from the side to move"
    for rank in range(7, -1, -1):
        yield "  " + "".join(f"{1000 * count / total:7.1f}" for count in counts.kings[8 * rank : 8 * rank + 8])


def _bars(title: str, names: Sequence[str], counts: np.ndarray) -> Iterator[str]:
    most, total = max(1, int(counts.max())), max(1, int(counts.sum()))
    yield f"\n{title}"
    for name, count in zip(names, counts.tolist(), strict=True):
        yield f"{name:<17}{count / total:>7.1%} {'#' * round(WIDTH * count / most)}".rstrip()
