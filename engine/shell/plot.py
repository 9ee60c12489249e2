"""`plot [RECORD]`: pictures of a run of `learn`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.common.command import CommandError, UsageError
from engine.common.files import check_writable, write_together
from engine.common.pictures import ENDINGS, load_matplotlib
from eval.linear.weights import active_file
from learn.errors import LearnError
from learn.options import HELP
from learn.plots import PICTURES, draw
from learn.record import RECORD_NAME, load_record

FORMATS = tuple(ending.lstrip(".") for ending in ENDINGS)
USAGE = f"usage: merino plot [RECORD] [--out FOLDER] [--format {'|'.join(FORMATS)}]"


def run_plot(arguments: Sequence[str]) -> int:
    """The command in a shell: a file for each picture; raises CommandError."""
    if HELP & set(arguments):
        print(f"{USAGE}\n\nDraw how a run of 'learn' went: {', '.join(PICTURES)}, a file each, beside the record.")
        return 0
    names, given = [], {"--out": "", "--format": FORMATS[0]}
    words = iter(arguments)
    for word in words:
        if word in given:
            value = next(words, None)
            if not value:
                raise UsageError(f"plot: {word} needs a value; {USAGE}")
            given[word] = value
        elif word.startswith("-"):
            raise UsageError(f"plot: there is no option {word}; {USAGE}")
        else:
            names.append(word)
    if len(names) > 1:
        raise UsageError(USAGE)
    if given["--format"] not in FORMATS:
        raise UsageError(f"plot: --format is {' or '.join(ENDINGS)}, not {given['--format']!r}")
    path = Path(names[0]).expanduser() if names else active_file().parent / RECORD_NAME
    if not names and not path.exists():
        raise UsageError(f"plot: there is no record of a run in '{path}' yet: learn first, or name one; {USAGE}")
    _plot(path, Path(given["--out"]).expanduser() if given["--out"] else path.parent, given["--format"])
    return 0


def _plot(path: Path, folder: Path, ending: str) -> None:
    load_matplotlib()
    files = {name: folder / f"{path.stem}-{name}.{ending}" for name in PICTURES}
    try:
        record = load_record(path)
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for file in files.values():
                check_writable(file)
        pictures = {file: draw(record, name, ending) for name, file in files.items()}
    except LearnError as error:
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
        raise CommandError(f"plot: cannot write '{where}': {error.strerror}") from error
