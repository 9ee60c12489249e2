"""`merino learn`, `merino improve` and `merino plot`: weights from games, of anybody or of its own, and pictures of it.

Pictures are of a run of `learn`, of one of `improve` or `night`, given its folder, or of a net.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from merino.app.console import shared
from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import carry_out, improve
from merino.core.common.command import CommandError, UsageError, from_lab
from merino.core.common.files import check_writable, is_folder, is_there, write_fault, write_together
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.text import ENDINGS, load_matplotlib
from merino.eval.evaluation import EvaluationError
from merino.eval.linear.weights import active_file
from merino.eval.net.file import is_net_file
from merino.learn.errors import LearnError
from merino.learn.improve.learner import STATE_NAME, load_state
from merino.learn.plots import CALIBRATION, IMPROVE_PICTURES, PICTURES, draw
from merino.learn.procedure import RECORD_NAME, Verdict
from merino.learn.report import load_record

FORMATS = tuple(ending.lstrip(".") for ending in ENDINGS)


def run_learn(arguments: Sequence[str]) -> int:
    """The command `learn`: 0 whatever the verdict on the new weights, 130 after Ctrl-C; raises CommandError."""
    if arguments[:1] == ["plot"] and not is_there(Path("plot")):
        return run_plot(arguments[1:])
    args = read_arguments(arguments)

    def say(line: str) -> None:
        print(line, file=sys.stderr if args.as_json else sys.stdout, flush=True)

    result = carry_out(args, say)
    return INTERRUPTED if result.outcome.verdict in (Verdict.STOPPED, Verdict.INTERRUPTED) else 0


def run_improve(words: Sequence[str]) -> int:
    """The command `improve`: 0, or 130 after Ctrl-C; raises CommandError."""
    found = improve(words, lambda line: print(line, flush=True))
    return INTERRUPTED if found.interrupted else 0


def run_plot(arguments: Sequence[str]) -> int:
    """Write a file for each picture; raises CommandError."""
    args = _plot_parser().parse_args(arguments)
    path = args.record or active_file().parent / RECORD_NAME
    if args.record is None and not is_there(path):
        raise UsageError(
            f"plot: there is no record of a learning run in '{path}' yet; run 'merino learn', or name a record"
        )
    if is_folder(path) and is_there(night := path / from_lab("night.state")):
        _plot(night, args.out or path, args.format, from_lab("night.load"), lambda _: from_lab("night.pictures"))
    elif is_folder(path):
        _plot(path / STATE_NAME, args.out or path, args.format, load_state, lambda _: IMPROVE_PICTURES)
    elif is_net_file(path):
        _plot(path, args.out or path.parent, args.format, from_lab("net.load"), from_lab("net.pictures_of"))
    else:
        _plot(path, args.out or path.parent, args.format, load_record, _pictures_of_record)
    return 0


def _pictures_of_record(record: dict[str, Any]) -> dict[str, Callable[[Any, dict[str, Any]], None]]:
    """Those that its run has something to draw of."""
    if any(record[CALIBRATION].values()):
        return PICTURES
    reason = "random-move positions, which were learned from, have no result"
    print(f"plot: no picture of {CALIBRATION}: {reason}", file=sys.stderr)
    return {name: picture for name, picture in PICTURES.items() if name != CALIBRATION}


def _plot_parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino plot",
        description=f"Draw a run of 'merino learn' ({', '.join(PICTURES)}); given its folder, of 'merino improve' "
        f"({', '.join(IMPROVE_PICTURES)}) or 'merino night' ({', '.join(from_lab('night.pictures'))}); or a net "
        f"({', '.join(from_lab('net.pictures'))}). One file per picture.",
        examples=(
            "merino plot",
            "merino plot my-folder/learning.json --out pictures --format svg",
            "merino plot my.net",
        ),
    )
    sentence = (
        "the record of a run of 'learn' (default: the last run on the weights in use), the folder of 'improve' "
        "or 'night', or a net"
    )
    parser.add_argument("record", nargs="?", type=shared.file_path, metavar="RECORD", help=sentence)
    add = parser.group(shared.OUTPUT).add_argument
    add("--out", type=shared.file_path, metavar="FOLDER", help="folder of the pictures (default: that of the record)")
    add("--format", choices=FORMATS, default=FORMATS[0], help="kind of picture (default: %(default)s)")
    return parser


def _plot(
    path: Path,
    folder: Path,
    ending: str,
    load: Callable[[Path], Any],
    pictures_of: Callable[[Any], Mapping[str, Callable[[Any, Any], None]]],
) -> None:
    """Write all pictures of the record at `path` into a folder; raises CommandError."""
    load_matplotlib()
    try:
        record = load(path)
        files = {folder / f"{path.stem}-{name}.{ending}": picture for name, picture in pictures_of(record).items()}
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for file in files:
                check_writable(file)
        pictures = {file: draw(record, picture, ending) for file, picture in files.items()}
    except (LearnError, EvaluationError) as error:
        raise CommandError(f"plot: {error}") from error
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise CommandError(f"plot: the record '{path}' is damaged: {error!r}") from error
    with _writing(folder):
        write_together(pictures)
    for picture in pictures:
        print(picture)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise CommandError(f"plot: {write_fault(error, where)}") from error
