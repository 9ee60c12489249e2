"""`merino annotate game.pgn`: comments and signs for each move, as PGN, and the course of the game as a picture."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path
from merino.app.shell.shared import (
    SearchRequest,
    check_apart,
    check_picture,
    evaluation_of,
    holding_output,
    searcher_of,
)
from merino.core.common.command import CommandError, errors_named
from merino.core.common.files import check_writable, is_there, writing
from merino.core.common.interrupt import INTERRUPTED
from merino.engine.search.limits import Limits
from merino.study.annotated_files import (
    SIGNS,
    AnnotatedGame,
    AnnotationRequest,
    GameSource,
    Partial,
    account,
    annotate_games,
    game_json,
    read_sources,
)
from merino.study.errors import StudyError
from merino.study.shapley import MOVE_ERROR

DEFAULT_NODES = 50_000  # a position, without another limit: the same on every machine
MAX_NAMED = 20  # faulty games in the sentence at the end


def run_annotate(arguments: Sequence[str]) -> int:
    """Annotate the games of a file: 0, 1 if some are faulty, 130 after Ctrl-C. Raises CommandError."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.json and args.out:
        parser.error("--json prints each game instead of writing it; leave out --out")
    picture, out = args.plot, args.out
    _check(picture, out, args.file)
    evaluation = evaluation_of(args.weights, args.k, args.evalfile)
    check_apart([picture, out], [Path(evaluation.name)], "annotate")
    search = SearchRequest.of(args, Limits(nodes=DEFAULT_NODES))
    with errors_named("annotate", StudyError):
        sources = read_sources(args.file)
        request = AnnotationRequest(
            sources,
            evaluation,
            search.limits,
            hash_mb=search.hash_mb,
            threads=search.threads,
            encoding=sources.encoding if out else "utf-8",
            picture=picture,
            shapley=shared.asked_error(args),
        )
        progress = _AnnotationProgress(len(sources.games), args.quiet)
        if out is None:
            return _annotate(request, search, None, progress, args)
        with holding_output(out, "annotate"), Partial(out, request.identity) as partial:
            if partial.games and not args.quiet:
                _say(
                    f"Continuing after game {len(partial.games)} of {len(sources.games)}, the end of '{partial.path}'."
                )
            kept = f"; the finished games are in '{partial.path}', and the same command continues from there"
            with writing(CommandError, out, "annotate: ", kept):
                return _annotate(request, search, partial, progress, args)


class _AnnotationProgress:
    """How far a game is, on a terminal."""

    def __init__(self, count: int, is_quiet: bool) -> None:
        self._count, self._is_watched = count, sys.stderr.isatty() and not is_quiet

    def __call__(self, source: GameSource, done: int) -> None:
        if self._is_watched:
            text = f"{_head(source, self._count)}: ply {done} of {len(source.moves)}"
            print(f"\r{text}\x1b[K", end="", file=sys.stderr)

    def wipe(self) -> None:
        """Leave the line empty, for what comes next."""
        if self._is_watched:
            print("\r\x1b[K", end="", file=sys.stderr)


def _annotate(
    request: AnnotationRequest,
    search: SearchRequest,
    partial: Partial | None,
    progress: _AnnotationProgress,
    args: argparse.Namespace,
) -> int:
    """Annotate the games that are not yet done, each kept or printed at once, with a line about it; the exit code."""
    games, done = request.sources.games, len(partial.games) if partial else 0
    try:
        for game in annotate_games(request, searcher_of(search, request.evaluation), done, progress):
            progress.wipe()
            if partial:
                (partial.add if game.is_whole else partial.add_unfinished)(game.text)
            elif args.json:
                print(json.dumps(game_json(game)), flush=True)
            else:
                print("\n" * (game.source.number > 1) + game.text.decode(), flush=True)
            if not args.quiet or game.source.fault:
                _say(_line_about(game, len(games), partial))
            if not game.is_whole:
                return INTERRUPTED
    finally:
        progress.wipe()
    if partial:
        partial.finish()
    faulty = [str(source.number) for source in games if source.fault]
    if faulty:
        named = ", ".join(faulty[:MAX_NAMED]) + ", ..." * (len(faulty) > MAX_NAMED)
        _say(f"Faulty games, copied unchanged: {len(faulty)} of {len(games)} games, number {named}")
    return 1 if faulty else 0


def _line_about(game: AnnotatedGame, count: int, partial: Partial | None) -> str:
    """What became of a game."""
    source = game.source
    if not game.is_whole:
        where = f" in '{partial.path}', from where the same command continues" if partial else ""
        return f"Interrupted; the work so far is kept{where}."
    if source.fault:
        return f"{_head(source, count)}, line {source.line}: {source.fault}; copied unchanged"
    return f"{_head(source, count)}: {' '.join(account(game.moves)) if game.moves else 'no moves'}"


def _head(source: GameSource, count: int) -> str:
    return f"game {source.number} of {count}, {source.label}"


def _parser() -> Parser:
    parser = Parser(
        prog="merino annotate",
        description="Annotate each move of games with evaluation, expected score, the terms it changes, and mistakes.",
        notes=f"A mistake is rated by the expected score it loses: {SIGNS}.",
        examples=("merino annotate games.pgn --out annotated.pgn --plot course.png",),
    )
    parser.add_argument("file", metavar="FILE.pgn", type=file_path, help="the games, plain or compressed")
    shared.add_evaluation(parser)
    shared.add_k(parser)
    shared.add_search(parser, nodes=DEFAULT_NODES)
    sentence = "write the PGN to this file (default: standard output)"
    parser.group(shared.OUTPUT).add_argument("--out", metavar="FILE", type=file_path, help=sentence)
    shared.add_shapley(parser, MOVE_ERROR, "also say what each mistake makes of the pieces, by Shapley values")
    shared.add_json(parser, "print each game as a JSON object on a line, instead of PGN")
    shared.add_plot(parser, "the evaluation of the game")
    shared.add_quiet(parser)
    return parser


def _check(picture: Path | None, out: Path | None, games: Path) -> None:
    """Fail before the work rather than after it; raises CommandError. The PGN may take the place of its games."""
    check_apart([picture, out], [], "annotate")
    check_apart([picture], [games], "annotate")
    check_picture(picture, "annotate")
    for path in (picture, out):
        if path:
            _check_target(path)


def _check_target(path: Path) -> None:
    """Raise CommandError where `path` cannot be written, and where a read-only file would be replaced."""
    with writing(CommandError, path, "annotate: "):
        check_writable(path)
        if is_there(path) and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):
            raise PermissionError(errno.EACCES, "it is read-only")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
