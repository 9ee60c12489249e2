"""The commands of `merino` with few options: perft, evaluate, epd, bench, weights, warmup, explorer.

Each takes the arguments after its name and returns the exit code; it raises CommandError.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np

from merino.app.console import explaining, shared
from merino.core.board import position
from merino.core.board.fen import FenError, parse_fen
from merino.core.board.game import START_NAME
from merino.core.board.perft import MAX_DEPTH, print_divide
from merino.core.common import about, command, errors, files, terminal
from merino.core.common.text import as_word, did_you_mean
from merino.core.compiled.cache import keeps_code, level, places
from merino.engine.notation.positions import take_position
from merino.engine.search.bench import run_bench
from merino.engine.search.limits import Limits, Line, SearchResult
from merino.engine.search.searcher import Searcher
from merino.engine.search.warmup import parts, warm_up_parts
from merino.engine.uci.options import open_book, open_tablebases
from merino.eval.families import active_file, find_weights, load
from merino.formats import openings, sources
from merino.study.reporting import set_up

DEFAULT_PORT = 8765
_BATCH = 4096  # positions evaluated in one call


def perft(arguments: list[str]) -> int:
    """Print the divide of a position, the starting position if none is given."""
    parser = shared.Parser(
        prog="merino perft",
        description="Count the leaf nodes N plies ahead, for each root move and in total.",
        examples=(
            "merino perft 5",
            "merino perft 4 'r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -'",
        ),
    )
    parser.add_argument("depth", metavar="N", type=shared.whole(1, MAX_DEPTH), help=f"depth in plies, 1 to {MAX_DEPTH}")
    parser.add_argument("fen", nargs="*", default=[], metavar="FEN", help="default: the starting position")
    args = parser.parse_args(arguments)
    print_divide(explaining.position_of(args.fen or [START_NAME])[0], args.depth, print)
    return 0


def evaluate(arguments: list[str]) -> int:
    """Print `centipawns<tab>FEN` for every position of a file; faulty lines are named, the others still printed."""
    parser = shared.Parser(
        prog="merino evaluate",
        description="Print the static evaluation in centipawns for the side to move, a tab and the FEN, for each FEN "
        "of a file.",
        examples=("merino evaluate positions.fen", "merino evaluate - --weights my-weights.txt"),
    )
    parser.add_argument("file", metavar="FILE", help="FENs, one per line, compressed or not; - for standard input")
    shared.add_weights(parser)
    args = parser.parse_args(arguments)
    name, evaluation = args.file, explaining.evaluation_of(args.weights)
    number_of_faults = 0
    try:
        with _lines_of(name) as lines:
            for fens, positions, faults in _batches(lines):
                scores = evaluation.scores(positions).tolist()
                sys.stdout.write("".join(f"{score}\t{fen}\n" for score, fen in zip(scores, fens, strict=True)))
                for number, fault in faults:
                    print(f"{name}:{number}: {fault}", file=sys.stderr)
                number_of_faults += len(faults)
    except OSError as error:
        if terminal.is_lost_output(error):
            raise
        raise command.CommandError(f"cannot read '{name}': {error.strerror}") from error
    return 1 if number_of_faults else 0


@contextmanager
def _lines_of(name: str) -> Iterator[Iterable[bytes]]:
    """The lines of a file, or for "-" those of standard input, which may be typed; raises OSError and SourceError."""
    if name == str(sources.STANDARD_INPUT):
        with sys.stdin.buffer as file:
            yield file
        return
    with sources.open_source(files.user_path(name)) as source:
        yield (line for text in source.lines() for line in text.splitlines())


def _batches(lines: Iterable[bytes]) -> Iterator[tuple[list[str], np.ndarray, list[tuple[int, str]]]]:
    """The FENs of a file in batches: texts, POSITION[n], and the faulty lines by number with the fault.

    Blank lines and lines that begin with `#` are skipped.
    """
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, _BATCH)):
        fens: list[str] = []
        faults: list[tuple[int, str]] = []
        positions = np.zeros(len(batch), dtype=position.POSITION)
        for number, line in batch:
            fen = line.decode("utf-8", "replace").strip().lstrip("\ufeff")
            if not fen or fen.startswith("#"):
                continue
            try:
                positions[len(fens)] = parse_fen(fen)[0]
                fens.append(fen)
            except FenError as error:
                faults.append((number, str(error)))
        yield fens, positions[: len(fens)], faults


def bench(_: list[str]) -> int:
    """Search the fixed positions."""
    run_bench(print)
    return 0


def weights(arguments: list[str]) -> int:
    """Print which weights file is in use, or how the one given reads, the table of terms, and what was in the file."""
    from merino.learn.procedure import earlier_weights  # noqa: PLC0415 (with all that learning needs)

    parser = shared.Parser(
        prog="merino weights",
        description="Show the weight and the meaning of each evaluation term, and what was in the file before.",
        examples=("merino weights", "merino weights my-weights.txt", "merino weights full"),
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="weights file (default: the weights in use)")
    file = find_weights(parser.parse_args(arguments).file).absolute()
    print(f"{file}\n\n{load(file).describe()}")
    if earlier := earlier_weights(file):
        named = "" if file == active_file().absolute() else f" --weights {as_word(file)}"
        print(f"\nIn this file before, until these times ('merino learn --use FILE{named}' brings one back):")
        print("\n".join(f"  {when:%Y-%m-%d %H:%M:%S}  {path}" for when, path in earlier))
    return 0


def warmup(arguments: list[str]) -> int:
    """Compile every part of Merino into the cache, or only those named, and print the seconds each took."""
    known = parts()
    parser = shared.Parser(
        prog="merino warmup",
        description="Compile Merino, or some parts of it, ahead of the first use.",
        examples=("merino warmup", "merino warmup play learn", "merino warmup play --level x86-64-v3 --into code"),
    )
    parser.add_argument("parts", nargs="*", default=[], metavar="PART", help=f"{', '.join(known)} (default: all)")
    parser.add_argument(
        "--level", metavar="NAME", help="for such processors: x86-64-v2, x86-64-v3 (default: like this)"
    )
    parser.add_argument("--into", metavar="FOLDER", type=Path, help="make code for others, who name it in MERINO_HOME")
    shared.add_quiet(parser)
    args = parser.parse_args(arguments)
    wanted = args.parts
    unknown = [name for name in wanted if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        parser.error(f"there is no part '{unknown[0][:40]}' among {', '.join(known)}{hint}")
    if args.into:
        return _warm_up_for_others(args.level or level(), args.into, [*wanted, *(["--quiet"] if args.quiet else [])])
    if args.level:
        parser.error("--level needs --into FOLDER, where the code goes")
    for name, seconds in warm_up_parts(list(dict.fromkeys(wanted)) or list(known)):
        if not args.quiet:
            print(f"{name:<7}{seconds:7.1f} s", flush=True)
    if not args.quiet:
        print(f"ready; the compiled code is in {places()[0] if keeps_code() else 'memory only'}")
    return 0


def _warm_up_for_others(processor: str, into: Path, words: list[str]) -> int:
    """Compile for a processor in a process of its own, which has this folder from its beginning on; its exit code."""
    home, paths = str(into.absolute()), os.pathsep.join(sys.path)
    asked = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "MERINO_HOME": home, "PYTHONPATH": paths}
    run = [sys.executable, "-P", "-m", "merino", "warmup", *words]
    code = subprocess.run(run, env=os.environ | asked, check=False).returncode
    if code < 0:  # a signal
        raise command.CommandError(f"this processor does not run code for {processor}, or the compiler was ended")
    return code


def epd(arguments: list[str]) -> int:
    """Print a row per position, then the number solved; 1 if there are faulty lines."""
    parser = shared.Parser(
        prog="merino epd",
        description="Search each position of an EPD file that gives best moves (bm), moves to avoid (am) or a mate "
        "distance (dm), and print which are solved, at what depth and after how long.",
        examples=("merino epd wac.epd --movetime 200", "merino epd mates.epd --nodes 100000 --threads 2"),
    )
    parser.add_argument("file", metavar="FILE", type=shared.file_path, help="EPD, a position a line, compressed or not")
    shared.add_evaluation(parser)
    shared.add_search(parser, movetime=shared.DEFAULT_POSITION_MS)
    args = parser.parse_args(arguments)
    limits = shared.asked_limits(args, Limits(movetime=shared.DEFAULT_POSITION_MS))
    (tasks, faults), left_out = openings.read_tasks(args.file), sources.LeftOut()
    left_out.add(args.file, faults, "line")
    shared.say_left_out(left_out)
    searcher = explaining.searcher_of(
        explaining.evaluation_of(args.weights, net=args.evalfile), args.hash, args.threads
    )
    if not tasks:
        raise command.CommandError(f"'{args.file}' sets no task: no line with a position has bm, am or dm")
    solved, at_depth = 0, 0
    for number, task in enumerate(tasks, start=1):
        result, since = solve(searcher, task, limits)
        solved += since is not None
        at_depth += since.depth if since else 0
        print(_row(number, task, result, since), flush=True)
    mean = f", mean depth of the solution {at_depth / solved:.1f}" if solved else ""
    print(f"{solved} of {len(tasks)} solved{mean}")
    return int(any(fault.why == sources.UNREADABLE for fault in faults))


def solve(searcher: Searcher, task: openings.EpdTest, limits: Limits) -> tuple[SearchResult, Line | None]:
    """Search a task: the result, and the report from which on the answer was right, None if it was wrong."""
    since: Line | None = None

    def watch(line: Line) -> None:
        nonlocal since
        solved = task.is_solved_by(task.position.uci(line.pv[0]), line.score.mate) if line.pv else False
        since = (since or line) if solved else None

    searcher.clear()
    result = searcher.search(task.position, limits, watch)
    mate = result.line.score.mate if result.line else None
    answered = result.best is not None and task.is_solved_by(task.position.uci(result.best), mate)
    return result, (since or result.line) if answered else None


def _row(number: int, task: openings.EpdTest, result: SearchResult, since: Line | None) -> str:
    line = result.line
    move = task.position.uci(result.best) if result.best is not None else "none"
    score = line.score.uci() if line else ""
    when = f"depth {since.depth:2} {since.time_ms:6} ms" if since else "-" * 18
    mark = "ok" if since else "--"
    return f"{number:4} {mark} {task.name[:20]:20} {move:6} {score:>10}  {when}  {task.question}"


def explorer(arguments: list[str]) -> int:
    """Serve the page; 0 after Ctrl-C."""
    parser = shared.Parser(
        prog="merino explorer",
        usage="merino explorer [FEN | FILE.pgn] [options]",
        description="Open a page in the browser that shows a position and its reasons.",
        examples=(
            "merino explorer",
            "merino explorer games.pgn --port 0 --no-browser",
            "merino explorer --judge /usr/games/stockfish",
        ),
    )
    sentence = "position or games to begin with (default: the starting position)"
    parser.add_argument("words", nargs="*", default=[], metavar="FEN | FILE.pgn", help=sentence)
    sentence = "port to listen on, 0 for any free one (default: %(default)s)"
    parser.add_argument("--port", type=shared.whole(0, 65535), default=DEFAULT_PORT, metavar="N", help=sentence)
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    shared.add_judge(parser, are_several=True)
    sentence = "folders of Syzygy tablebases, which searches ask"
    parser.add_argument("--syzygy", default="", metavar="FOLDERS", help=sentence)
    parser.add_argument("--book", default="", metavar="FILE", help="Polyglot opening book, which Merino plays from")
    args = parser.parse_args(arguments)
    text, is_free, path = _to_begin_with(args.words)
    if not all(map(find_spec, ("starlette", "uvicorn", "websockets"))):
        raise command.CommandError(about.needs("web", "the explorer"))
    from merino.app.explorer.serving import serve  # noqa: PLC0415 (what they serve)
    from merino.app.explorer.state import MAX_TEXT, GamesFile, NamedJudge, ServerState  # noqa: PLC0415

    with errors.turning((ValueError, OSError), command.CommandError):
        tables, book = open_tablebases(args.syzygy), open_book(args.book)
    with GamesFile(path) if path else nullcontext() as games, ExitStack() as held:
        if games and games.holds_positions:
            text, is_free = sources.decoded(games.text(0, MAX_TEXT)), False
        elif games:
            games.check()
        state = ServerState(text, is_free, None if text else games, tables=tables, book=book)
        state.named_judges = [held.enter_context(closing(NamedJudge(name))) for name in args.judge]
        serve(state, args.port, not args.no_browser, lambda line: print(line, flush=True))
    return 0


def _to_begin_with(words: list[str]) -> tuple[str | None, bool, Path | None]:
    """What the page begins with: a text as if typed, whether the rules do not allow it, and a file of games."""
    if not words:
        return None, False, None
    if given := take_position(words):
        explaining.exactly(given.rest, 0)
        setup = set_up(given.fen)
        if setup.position is not None and given.moves:
            return f"position fen {setup.fen} moves {' '.join(given.moves)}", False, None
        return setup.fen, setup.position is None, None
    if len(words) > 1:
        raise command.UsageError(f"expected a FEN or one file, not '{' '.join(words)[:60]}'")
    return None, False, shared.file_path(words[0])
