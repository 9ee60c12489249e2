"""`merino positions FILE ...`: shows what files of scored positions hold; converts, shuffles and splits them."""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from merino.app.console import shared
from merino.core.common import command, options, terminal
from merino.core.common.files import check_writable, real_path, writing
from merino.eval.families import load_chosen
from merino.formats import packed, packed_files, pgn_tokens, scored_games, sources
from merino.learn import request, rescoring

WIDTH = 40  # of the longest bar
Chunk = TypeVar("Chunk", np.ndarray, scored_games.ScoredGames)
_of_games = partial(options.Option, group="positions of games")
_of_scores = partial(options.Option, group="scores")
_of_output = partial(options.Option, group=shared.OUTPUT)


@dataclass(frozen=True)
class Asked:
    """What `positions` reads, and what becomes of it."""

    max_score: Annotated[int, "leave out positions with larger scores", _of_games("CP", 1)] = packed.MAX_SCORE
    noisy: Annotated[bool, "also use positions in check or whose move is a capture or promotion", _of_games()] = False
    rescore: Annotated[
        int | None,
        "search ten positions of each game of PGN files for scores; kept next to the games",
        _of_scores("NODES", 1),
    ] = None
    scale: Annotated[
        float,
        "multiply the scores by X, so that those of different players have one scale",
        _of_scores("X", high=np.inf, read=shared.number_above_zero, default="1"),
    ] = 1.0
    out: Annotated[Path | None, "write the positions to this file", _of_output("FILE", read=shared.file_path)] = None
    shuffle: Annotated[bool, "write them in random order, but those of --split as they come", _of_output()] = False
    seed: Annotated[int, "seed of that order, and of the choice of those games", _of_output("N", 0)] = 1
    split: tuple[float, Path] | None = None  # a share of the games, which go to this file
    weights: str | None = None
    net: str | None = None
    is_quiet: bool = False


def run_positions(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError, PackedError and SourceError."""
    parser = _parser()
    args = parser.parse_args(arguments)
    asked = Asked(**options.given(vars(args), Asked), weights=args.weights, net=args.evalfile, is_quiet=args.quiet)
    if args.split:
        try:
            asked = replace(asked, split=(shared.share_above_zero(args.split[0]), shared.file_path(args.split[1])))
        except ArgumentTypeError as error:
            parser.error(f"argument --split: {error}")
    if (asked.shuffle or asked.split) and asked.out is None:
        raise command.UsageError("--shuffle and --split need --out")
    left_out = sources.LeftOut()
    with writing(command.CommandError):
        files = sources.find_files(args.files)
        if asked.out is None:
            counts = packed_files.count_positions(_positions([path], asked, left_out) for path in files)
            plain, lines = _as_plain(counts), [*_lines(counts)]
        else:
            plain, lines = _convert(files, asked.out, asked, left_out)
    shared.say_left_out(left_out, args.quiet)
    print(json.dumps(plain | left_out.as_json()) if args.json else "\n".join(lines))
    return 0


def _parser() -> shared.Parser:
    parser = shared.Parser(
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
    options.add_options(parser, Asked)
    shared.add_evaluation(parser)
    sentence = "write this share of the games to FILE instead"
    parser.group(shared.OUTPUT).add_argument("--split", nargs=2, metavar=("SHARE", "FILE"), help=sentence)
    shared.add_report(parser)
    return parser


def _positions(files: Sequence[Path], asked: Asked, left_out: sources.LeftOut) -> Iterator[np.ndarray]:
    """The positions of files, PACKED[n] at a time, or SCORED[n] for text; with --rescore searched again."""
    with_colours = asked.out is not None and packed_files.is_text(asked.out)
    if asked.rescore:
        rescore = rescoring.Rescore(asked.rescore, load_chosen(asked.weights, asked.net))
        remark = shared.unless_quiet(partial(print, file=sys.stderr), asked.is_quiet)
        events = request.Events(remark, terminal.Progress(shared.progress_stream(asked.is_quiet)))
        found = rescoring.searched_positions(files, rescore, events, left_out)
        return (
            packed_files.rescaled(chunk if with_colours else packed.as_packed(chunk), asked.scale) for chunk in found
        )
    chosen = packed.Filter(asked.max_score, asked.noisy)

    def read(path: Path, report: packed_files.Report) -> Iterator[np.ndarray]:
        return packed_files.packed_positions(path, chosen, report, with_colours, left_out)

    chunks = _of_each(files, read, asked, "position with a score", left_out)
    return (packed_files.rescaled(chunk, asked.scale) for chunk in chunks)


def _games(files: Sequence[Path], asked: Asked, left_out: sources.LeftOut) -> Iterator[scored_games.ScoredGames]:
    """The whole games of files that have a score; raises UsageError for options that choose positions."""
    if asked.shuffle or asked.noisy or asked.max_score != packed.MAX_SCORE:
        raise command.UsageError("a file of games holds all positions in order; shuffle and filter when it is read")

    def with_a_score(path: Path, report: packed_files.Report) -> Iterator[scored_games.ScoredGames]:
        for games in packed_files.games_with_scores(path, report, left_out):
            scored = np.append(0, np.cumsum(games.scores != pgn_tokens.NO_SCORE))[games.firsts]
            has_scores = np.diff(scored) > 0
            left_out.count(path, int((~has_scores).sum()), sources.NO_SCORE, "game")
            yield games.chosen(has_scores)

    chunks = _of_each(files, with_a_score, asked, "game with scores", left_out)
    return (replace(games, scores=scored_games.scaled(games.scores, asked.scale)) for games in chunks)


def _of_each(
    files: Sequence[Path],
    read: Callable[[Path, packed_files.Report], Iterator[Chunk]],
    asked: Asked,
    wanted: str,
    left_out: sources.LeftOut,
) -> Iterator[Chunk]:
    """What `read` finds in the files; raises CommandError for a file in which there is none."""
    progress = terminal.Progress(shared.progress_stream(asked.is_quiet))
    for path in files:
        found = 0
        for chunk in read(path, partial(progress, f"Reading {path.name}")):
            found += len(chunk)
            yield chunk
        progress.wipe()
        if not found:
            raise command.CommandError("\n".join([f"'{path}' holds no {wanted} and a result", *left_out.lines()]))


def _convert(
    files: Sequence[Path], out: Path, asked: Asked, left_out: sources.LeftOut
) -> tuple[dict[str, Any], list[str]]:
    """Write positions, or whole games if the name of the output ends in .vf; what is to be printed, as JSON or text."""
    has_games, (share, second) = scored_games.is_games_file(out), asked.split or (0.0, None)
    chunks: Iterator[Any] = (_games if has_games else _positions)(files, asked, left_out)
    targets = [out, second] if second else [out]
    for target in targets:
        check_writable(target)
    shared.check_apart(targets, files)
    if second and scored_games.is_games_file(second) != has_games:
        kind, ending = ("games", "end") if has_games else ("positions", "not end")
        raise command.UsageError(f"'{second}' is to hold {kind} as well; its name must {ending} in .vf")
    with packed_files.writing_positions(second) if second else nullcontext() as apart:
        if apart is not None:
            chunks = _without(chunks, share, asked.seed, apart)
        if asked.shuffle:
            chunks = packed_files.shuffled(chunks, real_path(out).parent, asked.seed)
        with packed_files.writing_positions(out) as writer:
            for chunk in chunks:
                writer.add(chunk)
    written = [(path, each) for path, each in zip(targets, (writer, apart), strict=False) if each]
    names = ("positions", "games") if has_games else ("positions",)
    rows = [{"file": str(path)} | {name: getattr(each, name) for name in names} for path, each in written]
    lines = list[str]()
    for path, each in written:
        other, positions = "other " if lines else "", f"{each.positions} positions"
        what = f"{each.games} {other}games with {positions}" if has_games else positions
        lines.append(f"{what}{', from other games,' if lines and not has_games else ''} are in '{path}'")
    return {"files": rows}, lines


def _without(chunks: Iterator[Any], share: float, seed: int, apart: packed_files.PositionsWriter) -> Iterator[Any]:
    """Positions or games but for those of a share of the games, which are written to `apart`."""
    first = 0
    for chunk in chunks:
        has_games = isinstance(chunk, scored_games.ScoredGames)
        is_apart = packed_files.is_held_out(
            chunk.numbers % packed.GAMES + 1 if has_games else chunk["game"], share, first, seed
        )
        first += len(chunk)
        chosen = chunk.chosen if has_games else chunk.__getitem__
        apart.add(chosen(is_apart))
        yield chosen(~is_apart)


def _as_plain(counts: packed_files.PositionCounts) -> dict[str, Any]:
    return {
        "positions": counts.positions,
        "games": counts.games,
        "in_order": counts.in_order,
        "duplicates": counts.duplicates,
        "score": {"mean": counts.mean, "deviation": counts.deviation},
        "score_bounds": list(packed_files.BOUNDS),
        "scores": counts.scores.tolist(),
        "results": dict(zip(("lost", "drawn", "won"), counts.results.tolist(), strict=True)),
        "phases": counts.phases.tolist(),
        "king_squares": counts.kings.tolist(),
    }


def _lines(counts: packed_files.PositionCounts) -> Iterator[str]:
    total = max(1, counts.positions)
    lost, drawn, won = (counts.results / total).tolist()
    games = f" of {'' if counts.in_order else 'at least '}{counts.games} games" if counts.games else ""
    yield f"{counts.positions} positions{games}, {counts.duplicates} of them duplicates"
    yield f"result for the side to move: {won:.1%} won, {drawn:.1%} drawn, {lost:.1%} lost"
    yield f"score for the side to move: mean {counts.mean:+.1f} cp, standard deviation {counts.deviation:.1f} cp"
    names = [f"{low or '':>6} to {high}" for low, high in pairwise(["", *map(str, packed_files.BOUNDS), ""])]
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
