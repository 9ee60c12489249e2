"""`merino annotate game.pgn`: comments and signs for each move, as PGN, and the course of the game as a picture."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from engine import NAME, __version__
from engine.common.command import CommandError, UsageError
from engine.common.files import write_whole
from engine.common.pictures import ENDINGS, load_matplotlib
from engine.search.limits import Limits
from eval.evaluation import Evaluation
from study.annotate.analysis import GRADES, AnnotatedMove, annotate_moves
from study.annotate.partial import Partial
from study.annotate.pgn import Source, Sources, account, read_sources, write_comments
from study.annotate.picture import draw
from study.arguments import (
    Parser,
    add_search_options,
    add_weights_options,
    check_target,
    evaluation_of,
    limits_of,
    path_of,
    searcher_of,
)
from study.errors import StudyError
from study.explain.lookahead import Seeker, seeker

NODES = 50_000  # a position, without another limit: the same on every machine
MOST_NAMED = 20  # faulty games in the sentence at the end
INTERRUPTED = 130  # the exit code of a program ended by Ctrl-C
SIGNS = ", ".join(f"{grade.name} ${grade.nag} from {grade.least_loss:.0%}" for grade in reversed(GRADES))


def run_annotate(arguments: Sequence[str]) -> int:
    """Annotate the games of a file: 0, 1 if some are faulty, 130 after Ctrl-C. Raises CommandError."""
    order = _parser().parse_args(arguments)
    picture = path_of(order.plot) if order.plot else None
    out = path_of(order.out) if order.out else None
    _check(picture, out)
    evaluation = evaluation_of(order.weights, order.k)
    try:
        sources = read_sources(path_of(order.file))
    except StudyError as error:
        raise CommandError(f"annotate: {error}") from error
    limits = limits_of(order, Limits(nodes=NODES))
    work = _Work(sources, evaluation, limits, picture)
    if out is None:
        return work.run(order, _Printed())
    with Partial(out, work.identity(order)) as partial:
        if partial.games:
            _tell(f"Going on after game {len(partial.games)} of {len(sources.games)}, where '{partial.path}' ends.")
        try:
            return work.run(order, partial)
        except OSError as error:
            kept = f"what is done is kept in '{partial.path}', where the same command goes on"
            raise CommandError(f"annotate: cannot write '{out}': {error.strerror}; {kept}") from error


class _Keeper(Protocol):
    """Where games go as they are done. All raise OSError."""

    games: list[bytes]

    def add(self, game: bytes) -> None:
        """Keep a game."""

    def add_unfinished(self, game: bytes) -> None:
        """Keep what there is of a game."""

    def finish(self) -> None:
        """There are no more."""


class _Printed:
    """Games printed as they are done, in UTF-8 or what the terminal reads."""

    def __init__(self) -> None:
        self.games: list[bytes] = []

    def add(self, game: bytes) -> None:
        print("\n" * bool(self.games) + game.decode(), flush=True)
        self.games.append(game)

    add_unfinished = add

    def finish(self) -> None:
        """Nothing is left to do."""


class _Work:
    """The games of a file to annotate, and how."""

    def __init__(self, sources: Sources, evaluation: Evaluation, limits: Limits, picture: Path | None) -> None:
        self._sources, self._evaluation, self._limits, self._picture = sources, evaluation, limits, picture
        self._how = _how(limits, evaluation.k)

    def identity(self, order: argparse.Namespace) -> str:
        """What tells this work from any other: the content of the file, and all that decides on the comments."""
        weights = hashlib.sha256(json.dumps(self._evaluation.identity).encode()).hexdigest()[:16]
        limits = f"{_words(self._limits)}, K {self._evaluation.k:g}, weights {weights}"
        return f"{self._sources.digest} with {NAME} {__version__}, {limits}, hash {order.hash}, threads {order.threads}"

    def run(self, order: argparse.Namespace, keeper: _Keeper) -> int:
        """Annotate the games that are not yet done; the exit code."""
        games = self._sources.games
        encoding = self._sources.encoding if order.out else "utf-8"
        searcher = searcher_of(order, self._evaluation)
        seek = seeker(searcher, gives_up=True)
        for source in games[len(keeper.games) :]:
            head = f"game {source.number} of {len(games)}, {source.label}"
            if source.fault:
                keeper.add(source.text.encode(encoding))
                _tell(f"{head}, line {source.line}: {source.fault}; it is copied as it is")
                continue
            searcher.clear()  # a game is annotated alike whatever stands before it
            moves, is_whole = _annotated(source, self._evaluation, seek, self._limits, head)
            text = write_comments(source, moves, self._how).encode(encoding)
            if not is_whole:
                keeper.add_unfinished(text)
                _tell(f"Interrupted: what was done so far is kept{_where(keeper)}.")
                return INTERRUPTED
            self._draw(source, moves)
            keeper.add(text)
            _tell(f"{head}: {' '.join(account(moves))}" if moves else f"{head}: no moves")
        keeper.finish()
        faulty = [str(source.number) for source in games if source.fault]
        if faulty:
            named = ", ".join(faulty[:MOST_NAMED]) + ", ..." * (len(faulty) > MOST_NAMED)
            _tell(f"Faulty and copied as they are: {len(faulty)} of {len(games)} games, number {named}")
        return 1 if faulty else 0

    def _draw(self, source: Source, moves: Sequence[AnnotatedMove]) -> None:
        if self._picture is None or not moves:
            return
        path = self._picture
        if len(self._sources.games) > 1:
            path = path.with_stem(f"{path.stem}-{source.number}")
        first_ply = 2 * source.start.fullmove_number - 2 + source.start.turn
        _write(path, draw(source.label, first_ply, moves, path.suffix.lower()))


def _where(keeper: _Keeper) -> str:
    return f" in '{keeper.path}', where the same command goes on" if isinstance(keeper, Partial) else ""


def _parser() -> Parser:
    parser = Parser(
        prog="merino annotate",
        description="Comment each move of games with evaluation, expected score, the terms it changes, and mistakes.",
        epilog=f"A mistake is told by the expected score it loses: {SIGNS}.",
    )
    parser.add_argument("file", metavar="FILE.pgn", help="the games, plain or compressed")
    parser.add_argument("--out", metavar="FILE", help="write the PGN there instead of to standard output")
    parser.add_argument("--plot", metavar="FILE", help="draw the game: .png or .svg (needs the extra 'plots')")
    add_weights_options(parser)
    add_search_options(parser, f"{NODES} nodes if no limit is given")
    return parser


def _check(picture: Path | None, out: Path | None) -> None:
    """Fail before the work rather than after it; raises CommandError."""
    if picture:
        if picture.suffix.lower() not in ENDINGS:
            raise UsageError(f"annotate: a picture ends in {' or '.join(ENDINGS)}, not '{picture.name}'")
        load_matplotlib()
    for path in (picture, out):
        if path:
            check_target(path, "annotate")


def _annotated(
    source: Source, evaluation: Evaluation, seek: Seeker, limits: Limits, head: str
) -> tuple[list[AnnotatedMove], bool]:
    """The moves of a game annotated, and whether these are all: Ctrl-C keeps those before it."""
    done: list[AnnotatedMove] = []
    is_watched = sys.stderr.isatty()
    try:
        for told in annotate_moves(source.start, source.moves, evaluation, seek, limits):
            done.append(told)
            if is_watched:
                print(f"\r{head}: half-move {len(done)} of {len(source.moves)}\x1b[K", end="", file=sys.stderr)
    except KeyboardInterrupt:
        return done, False
    finally:
        if is_watched:
            print("\r\x1b[K", end="", file=sys.stderr)
    return done, True


def _how(limits: Limits, k: float) -> str:
    """What a reader of the comments must know."""
    return (
        f"{_words(limits)} a position, K {k:g}. After each move: evaluation and depth, White's expected score, and the "
        f"terms it changes most, in centipawns for White. By expected score lost: {SIGNS}"
    )


def _words(limits: Limits) -> str:
    """The limits as people say them: "depth 12, 50000 nodes"."""
    words = ((limits.depth, "depth {}"), (limits.nodes, "{} nodes"), (limits.movetime, "{} ms"))
    return ", ".join(text.format(value) for value, text in words if value is not None)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise CommandError(f"annotate: cannot write '{path}': {error.strerror}; it is as it was") from error
