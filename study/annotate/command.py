"""`merino annotate game.pgn`: comments and signs for each move, as PGN, and the course of the game as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.command import CommandError, UsageError
from engine.files import write_whole
from engine.search.limits import Limits
from learn.pictures import ENDINGS, load_matplotlib
from study.annotate.analysis import GRADES, AnnotatedMove, annotate_moves
from study.annotate.pgn import Source, account, read_sources, write_comments
from study.annotate.picture import draw
from study.arguments import Parser, add_search_options, add_weights_options, limits_of, path_of, searcher_of, weights_of
from study.explain.lookahead import Seeker, seeker

NODES = 50_000  # a position, without another limit: the same on every machine
INTERRUPTED = 130  # the exit code of a program ended by Ctrl-C
SIGNS = ", ".join(f"{grade.name} ${grade.nag} from {grade.least_loss:.0%}" for grade in reversed(GRADES))


def run_annotate(arguments: Sequence[str]) -> int:
    """Annotate the games of a file; 130 after Ctrl-C, which keeps what is done. Raises CommandError."""
    order = _parser().parse_args(arguments)
    picture = path_of(order.plot) if order.plot else None
    _check(picture, path_of(order.out) if order.out else None)
    weights, k = weights_of(order.weights, order.k)
    sources = read_sources(path_of(order.file))
    limits = limits_of(order, Limits(nodes=NODES))
    texts: list[str] = []
    code = 0
    searcher = searcher_of(order, weights)
    seek = seeker(searcher, gives_up=True)
    for number, source in enumerate(sources, start=1):
        searcher.clear()  # a game is annotated alike whatever stands before it
        head = f"game {number} of {len(sources)}, {source.label}"
        moves, is_whole = _annotated(source, weights, k, seek, limits, head)
        code = 0 if is_whole else INTERRUPTED
        texts.append(write_comments(source, moves, _how(limits, k)))
        _tell(f"{head}: {' '.join(account(moves))}" if moves else f"{head}: no moves")
        if picture and moves:
            name = picture if len(sources) == 1 else picture.with_stem(f"{picture.stem}-{number}")
            _write(
                name,
                draw(
                    source.label, 2 * source.start.fullmove_number - 2 + source.start.turn, moves, name.suffix.lower()
                ),
            )
        if code:
            _tell("Interrupted: what was done so far is kept.")
            break
    content = "\n\n".join(texts) + "\n"
    if order.out:
        _write(path_of(order.out), content.encode())
    else:
        print(content, end="")
    return code


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
        if path and not path.parent.is_dir():
            raise CommandError(f"annotate: there is no folder '{path.parent}' to write '{path.name}' in")
        if path and path.is_dir():
            raise CommandError(f"annotate: cannot write '{path}': it is a folder")


def _annotated(
    source: Source, weights: np.ndarray, k: float, seek: Seeker, limits: Limits, head: str
) -> tuple[list[AnnotatedMove], bool]:
    """The moves of a game annotated, and whether these are all: Ctrl-C keeps those before it."""
    done: list[AnnotatedMove] = []
    is_watched = sys.stderr.isatty()
    try:
        for told in annotate_moves(source.start, source.moves, weights, k, seek, limits):
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
