"""`merino annotate game.pgn`: comments and signs for each move, as PGN."""

import argparse
import errno
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from merino.app.console import explaining, shared
from merino.core.common import command, interrupt, terminal
from merino.core.common.files import check_writable, is_there, writing
from merino.engine.search.limits import Limits
from merino.formats.pgn_parts import GameSource
from merino.formats.sources import STANDARD_INPUT
from merino.study import annotated_files as files
from merino.study.comments import account
from merino.study.judge import judge_of

DEFAULT_NODES = 100_000  # a position, without another limit: the same on every machine
MAX_NAMED = 20  # faulty games in the sentence at the end


def run_annotate(arguments: Sequence[str]) -> int:
    """Annotate the games of a file: 0, 1 if some are faulty, 130 after Ctrl-C. Raises CommandError and StudyError."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.out == STANDARD_INPUT:  # the same sign for standard output, which has the games without --out
        args.out = None
    if args.json and args.out:
        parser.error("--json prints each game instead of writing it; leave out --out")
    narrator = explaining.evaluation_of(args.weights)
    shared.check_apart([args.out], [Path(narrator.name), args.judge and Path(args.judge)])
    if args.out:
        _check(args.out)
    limits, sources = shared.asked_limits(args), files.read_sources(args.file)
    if args.seconds and limits != Limits():
        parser.error("--seconds shares them out among all moves; leave out --nodes, --depth and --movetime")
    with judge_of(args.judge, args.hash, args.threads, narrator=narrator, k=args.k) as judge:
        request = files.AnnotationRequest(
            sources,
            judge,
            Limits(nodes=DEFAULT_NODES) if limits == Limits() else limits,
            hash_mb=args.hash,
            threads=args.threads,
            seconds=args.seconds,
        )
        if args.out is None:
            return _annotate(request, None, args)
        with shared.holding_output(args.out), files.Partial(args.out, request.identity) as partial:
            if partial.games and not args.quiet:
                terminal.complain(
                    f"Continuing after game {len(partial.games)} of {len(sources.games)}, where '{partial.path}' ends."
                )
            kept = f"; the finished games are in '{partial.path}', and the same command continues from there"
            with writing(command.CommandError, args.out, kept):
                return _annotate(request, partial, args)


def _annotate(request: files.AnnotationRequest, partial: files.Partial | None, args: argparse.Namespace) -> int:
    """Annotate the games that are not yet done, each kept or printed at once, with a line about it; the exit code."""
    games, done = request.sources.games, len(partial.games) if partial else 0
    line, is_whole = terminal.LiveLine(shared.progress_stream(args.quiet)), True
    faulty = {source.number for source in games if source.fault}

    def progress(source: GameSource, ply: int) -> None:
        if line.rewrites:
            line.show(f"{_head(source, len(games))}: ply {ply} of {len(source.moves)}")

    try:
        for game in files.annotate_games(request, done, progress):
            line.wipe()
            is_whole = game.is_whole
            faulty |= {game.source.number} if game.source.fault else set()
            if partial:
                partial.add(game.text, game.is_whole)
            elif args.json:
                print(json.dumps(game.as_json()), flush=True)
            else:
                sys.stdout.buffer.write(game.text)
                sys.stdout.buffer.flush()
            if not args.quiet or game.source.fault:
                terminal.complain(_line_about(game, len(games), partial))
    finally:
        line.wipe()
    if not is_whole:
        return interrupt.INTERRUPTED
    if partial:
        partial.finish()
    if faulty:
        named = ", ".join(map(str, sorted(faulty)[:MAX_NAMED])) + ", ..." * (len(faulty) > MAX_NAMED)
        terminal.complain(f"Faulty games, copied unchanged: {len(faulty)} of {len(games)} games, number {named}")
    return 1 if faulty else 0


def _line_about(game: files.AnnotatedGame, count: int, partial: files.Partial | None) -> str:
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


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino annotate",
        description="Annotate each move of games with evaluation, expected score, the terms it changes, and mistakes.",
        notes=f"A mistake is rated by the expected score it loses: {files.SIGNS}.",
        examples=("merino annotate games.pgn --out annotated.pgn",),
    )
    parser.add_argument("file", metavar="FILE.pgn", type=shared.file_path, help="the games, plain or compressed")
    shared.add_judge(parser)
    shared.add_weights(parser, "name the changes by the terms of these weights (default: the weights in use)")
    shared.add_k(parser, "the judge")
    shared.add_search(parser, nodes=DEFAULT_NODES)
    sentence = "share S seconds out among all moves, instead of a limit for each"
    parser.group(shared.SEARCH).add_argument("--seconds", metavar="S", type=shared.number(1, 1e7), help=sentence)
    sentence = "write the PGN to this file (default: standard output)"
    parser.group(shared.OUTPUT).add_argument("--out", metavar="FILE", type=shared.file_path, help=sentence)
    shared.add_report(parser, "print each game as a JSON object on a line, instead of PGN")
    return parser


def _check(out: Path) -> None:
    """Fail before the work rather than after it; raises CommandError. The PGN may take the place of its games."""
    with writing(command.CommandError, out):
        check_writable(out)
        if is_there(out) and not (os.access(out, os.W_OK) and out.stat().st_mode & 0o222):
            raise PermissionError(errno.EACCES, "it is read-only")
