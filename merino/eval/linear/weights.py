"""The weights file: plain text, one `Name value` a line, `#` comments; the same for engine and learner.

A line may hold two values, `Name 30 18`: the first is the middlegame's, the second the endgame's. A term that a file
does not name has its default, so that a file stays good when the evaluation gains a term. A line `set full` says which
set of terms the file is for; without one it is for the default set.

Which file is in use, first that applies: the one asked for (`WeightsFile`, `--weights`), `$MERINO_WEIGHTS`,
`weights.txt` in the user's data folder (the learner writes it), the one shipped with Merino. Never the
working directory: a GUI starts engines anywhere.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import merino.eval.linear.terms  # noqa: F401  (fills the default set)
from merino.core.common import about, errors, files
from merino.core.common.text import did_you_mean, in_one_line
from merino.eval import evaluation, outlook
from merino.eval.linear.phases import SUFFIXES, halves
from merino.eval.linear.registry import TERMS, Term, TermSet
from merino.eval.linear.sets import SET_WORD, TermSetError, set_named

SHIPPED = Path(about.SHIPPED)
DEFAULT_FILE = SHIPPED / "default.txt"
ENDINGS = (".txt", ".net")  # of weights and nets
ENVIRONMENT_VARIABLE = "MERINO_WEIGHTS"
# What begins comments on the origin of weights, which hold names of files.
LEARNED, IMPROVED = "Learned by Merino on", "Learned by merino improve:"
SAVED = "Saved by Merino's console; loaded from"
_ORIGINS = "|".join((LEARNED, IMPROVED, SAVED, "Exported by Merino"))
EARLIER = "The comments below are older than these values."
_OUR_COMMENTS = re.compile(
    rf"^# {LEARNED} \d{{4}}-\d\d-\d\d \d\d:\d\d from \d+ games of .*\n(?:# terms .*\n)?"
    rf"(?:# validation error \d.*\n)?(?:# {re.escape(EARLIER)}\r?\n)?",
    re.MULTILINE,
)
_K_IN_COMMENT = re.compile(rf"^#(?! (?:{_ORIGINS}) ).*\bK (\d+(?:[.,]\d+)*)\b", re.MULTILINE)


class WeightsError(evaluation.EvaluationError):
    """A weights file that cannot be used; the message names file, line and fault."""


def shipped(name: str, *endings: str) -> Path | None:
    """The file of this name that comes with Merino; one of these endings, or an evaluation's, may be left out.

    A path with a folder names none, even that of Merino's own.
    """
    if Path(name).name != name:
        return None
    return files.first_there(SHIPPED / f"{name}{ending}" for ending in ("", *(endings or ENDINGS)))


def active_file(asked_for: str | None = None, *endings: str) -> Path:
    """The weights file asked for, by its path or by the name of one that comes with Merino, or else the one in use.

    Such a name may also be that of a file with one of these `endings`. The file need not exist if the user named it.
    Raises WeightsError.
    """
    name = asked_for or os.environ.get(ENVIRONMENT_VARIABLE)
    if name:
        try:
            path = files.user_path(name)
        except OSError as error:
            raise WeightsError(f"cannot read '{name}': {error.strerror}") from error
        return files.first_there((path,)) or shipped(name, *(endings or ENDINGS[:1])) or path
    own = own_file()
    return own if files.is_there(own) else DEFAULT_FILE


def own_file() -> Path:
    """The user's own weights, which are in use where none are named. The file need not exist."""
    return files.user_folder("data") / "weights.txt"


def load(path: Path, terms: Iterable[Term] = TERMS) -> np.ndarray:
    """The weights in `path`: float64[terms] in the order of the set, or two phases of it; raises WeightsError."""
    return parse(_text(path), str(path), terms)


def load_any(path: Path) -> tuple[TermSet, np.ndarray]:
    """The set that the weights in `path` are for, and the weights, as of `load`; raises WeightsError."""
    text = _text(path)
    terms = set_in(text, str(path))
    return terms, parse(text, str(path), terms)


def set_of(path: Path) -> TermSet:
    """The set that a weights file is for; raises WeightsError."""
    return set_in(_text(path), str(path))


def parse(text: str, source: str, terms: Iterable[Term] = TERMS) -> np.ndarray:
    """The weights in a file's `text`; `source` names it in errors. A term that it does not name has its default.

    Raises WeightsError.
    """
    if isinstance(terms, TermSet) and (found := set_in(text, source)) is not terms:
        raise WeightsError(f"{source}: it is for the set '{found.name}', and '{terms.name}' is wanted")
    terms = terms if isinstance(terms, TermSet) else list(terms)
    known = {term.name: term for term in terms}
    values: dict[str, tuple[float, ...]] = {}
    for where, line, words in _lines(text, source):
        if words[0] == SET_WORD:
            continue
        if len(words) not in (2, 3):
            raise WeightsError(
                f"{where}: expected 'Name value' or 'Name middlegame endgame', found {line.strip()[:60]!r}"
            )
        name, pair = words[0], tuple(_number(word, where) for word in words[1:])
        if name not in known:
            raise WeightsError(f"{where}: no term is called {name[:40]!r}{did_you_mean(name, known)}")
        if name in values:
            raise WeightsError(f"{where}: {name} is given twice")
        low, high = known[name].bounds
        for word, value in zip(words[1:], pair, strict=True):
            if not low <= value <= high:
                raise WeightsError(f"{where}: {name} = {word} is outside {low}..{high}")
        values[name] = pair
    if not values:
        raise WeightsError(f"{source}: it names no term of the evaluation")
    values |= _defaults_of([term for name, term in known.items() if name not in values], source, terms)
    phases = max(map(len, values.values()))
    return np.array([values[name][min(phase, len(values[name]) - 1)] for phase in range(phases) for name in known])


def set_in(text: str, source: str) -> TermSet:
    """The set of terms that a file's `text` is for; `source` names it in errors. Raises WeightsError."""
    found: TermSet | None = None
    for where, line, words in _lines(text, source):
        if words[0] != SET_WORD:
            continue
        if found is not None or len(words) != 2:
            raise WeightsError(f"{where}: expected one line '{SET_WORD} NAME', found {line.strip()[:60]!r}")
        try:
            found = set_named(words[1])
        except TermSetError as error:
            raise WeightsError(f"{where}: {error}") from error
    return TERMS if found is None else found


def _lines(text: str, source: str) -> Iterator[tuple[str, str, list[str]]]:
    """The lines of a file that say something: where each is, the line, and its words without a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        if words := line.split("#", 1)[0].split():
            yield f"{source}:{number}", line, words


def _defaults_of(missing: Sequence[Term], source: str, terms: Sequence[Term]) -> dict[str, tuple[float, ...]]:
    """The weights of the terms that the file called `source` does not name."""
    found: dict[str, tuple[float, ...]] = {t.name: (float(t.default),) for t in missing if t.default is not None}
    others = [term.name for term in missing if term.default is None]
    of = terms if isinstance(terms, TermSet) else TERMS
    if others and source == str(file_of(of)):
        raise WeightsError(f"{source}: no value for {', '.join(others)}")
    usual = _values_of(defaults(of), of) if others else {}
    unknown = [name for name in others if name not in usual]
    if unknown:
        raise WeightsError(f"{source}: no value for {', '.join(unknown)}, which have no default")
    return found | {name: usual[name] for name in others}


def k_in(text: str, source: str) -> float:
    """The K that was fitted together with a file's weights, as the learner notes it in a comment: "# ... K 187.3".

    DEFAULT_K where there is no such comment; one on the origin, which has names of files, is none. Raises WeightsError,
    in which `source` names the file.
    """
    found = _K_IN_COMMENT.search(text)
    k = _number(found[1], f"'{source}': K in a comment") if found else outlook.DEFAULT_K
    if k <= 0:
        raise WeightsError(f"'{source}': K {found[1] if found else k} in a comment is not above 0")
    return k


def note_of_k(k: float) -> str:
    """What `k_in` reads in a comment."""
    return f"K {k:.1f}" if k >= 1 else f"K {k:.4f}"


def _text(path: Path) -> str:
    try:
        return files.read_user_text(path, files.WEIGHTS)
    except OSError as error:
        raise WeightsError(f"cannot read weights file '{path}': {reason_of(error, path)}") from error


def text_in(content: bytes, path: Path) -> str:
    """The text of the content of the weights file `path`; raises WeightsError."""
    try:
        return files.text_of(content, path)
    except OSError as error:
        raise WeightsError(f"cannot read weights file '{path}': {error.strerror}") from error


def reason_of(error: OSError, path: Path) -> str:
    """Why a file of an evaluation cannot be read, with a file that may have been meant."""
    hint = did_you_mean(path.name, names_like(path)) if isinstance(error, FileNotFoundError) else ""
    return f"{error.strerror}{hint}"


def names_like(path: Path) -> list[str]:
    """The names of what may have been meant by a file that is not there: weights and nets next to it.

    They may also have its ending. Companions of it, such as its lock and the old weights, are never meant.
    """
    endings = {*ENDINGS, path.suffix} - {files.LOCK_ENDING}
    others = map(Path, files.names_in(path.parent))
    return [str(name) for name in others if name.suffix in endings and not name.stem.startswith(f"{path.stem}.")]


def _number(text: str, where: str) -> float:
    try:
        return errors.number_in(text)
    except ValueError as error:
        raise WeightsError(f"{where}: {error}") from error


def file_of(terms: TermSet) -> Path:
    """The weights file that comes with Merino for a set."""
    return DEFAULT_FILE if terms is TERMS else SHIPPED / f"{terms.name}.txt"


def defaults(terms: TermSet = TERMS) -> np.ndarray:
    """The weights that come with Merino for a set, as `load` gives them; raises WeightsError.

    A derived set has those of its base, and the defaults of its new terms, 0 where they name none.
    """
    if not terms.base:
        return load(file_of(terms), terms)
    base = set_named(terms.base)
    values = {term.name: (term.default or 0.0,) * 2 for term in terms}
    pairs = np.transpose(halves(defaults(base), len(base))).tolist()
    values |= {term.name: tuple(pair) for term, pair in zip(base, pairs, strict=True) if term.name in values}
    return np.array([values[term.name][phase] for phase in range(2) for term in terms])


def as_mapping(weights: np.ndarray, terms: Iterable[Term] = TERMS) -> dict[str, float]:
    """Weights by name: one number where both phases share it, else `Name_mg` and `Name_eg`."""
    found = dict[str, float]()
    for name, values in _values_of(weights, terms).items():
        found |= dict(zip([name] if len(values) == 1 else [name + s for s in SUFFIXES], values, strict=True))
    return found


def _values_of(weights: np.ndarray, terms: Iterable[Term]) -> dict[str, tuple[float, ...]]:
    """By the name of each term its value, or its two where they differ."""
    terms = list(terms)
    pairs = np.transpose(halves(weights, len(terms))).tolist()
    return {t.name: (first,) if first == last else (first, last) for t, (first, last) in zip(terms, pairs, strict=True)}


def render(weights: Mapping[str, float], header: Iterable[str] = (), terms: TermSet = TERMS) -> str:
    """The text of a weights file: `header` as comments, then a line a term of the set, 0 without a sign.

    Names are those of `as_mapping`.
    """
    lines, values = list(map(_comment, header)), dict[str, list[float]]()
    for name, value in weights.items():
        values.setdefault(name.removesuffix(SUFFIXES[0]).removesuffix(SUFFIXES[1]), []).append(value)
    if terms is not TERMS:
        lines.append(f"{SET_WORD} {terms.name}")
    lines += [f"{name:<22} {_written(pair)}" for name, pair in values.items()]
    return "\n".join(lines) + "\n"


def _comment(line: str) -> str:
    """A line of a header, as the file has it."""
    return f"# {in_one_line(line)}".rstrip()


def _written(values: Iterable[float]) -> str:
    """The value of a weight, or its two, as a line has them."""
    return " ".join(f"{value + 0.0:g}" for value in values)


def learned_text(source: Path, weights: np.ndarray, header: Iterable[str], terms: TermSet = TERMS) -> str:
    """The text of a file of new weights: that of `source` with its comments, the new values, and `header` on top.

    The comments of a file that comes with Merino describe its own values and are left out, as is an older header.
    """
    if files.real_path(source).parent == SHIPPED:
        return render(as_mapping(weights, terms), header, terms)
    text = _OUR_COMMENTS.sub("", files.read_user_file(source, files.WEIGHTS).decode(errors="replace"))
    return rewrite(text, weights, [*header, EARLIER] if "#" in text else header, terms)


def rewrite(text: str, weights: np.ndarray, header: Iterable[str], terms: Iterable[Term] = TERMS) -> str:
    """A weights file's `text` with other values: comments, blank lines, order and spacing stay as they are.

    `header`, comments, comes first, so that `k_in` reads its K. `text` is one that `parse` accepts.
    """
    values = _values_of(weights, terms)
    mark = "\ufeff" if text.startswith("\ufeff") else ""  # stays the first character
    lines = text.removeprefix(mark).splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    comments, revalued = [_comment(line) + end for line in header], [_revalued(line, values) for line in lines]
    return mark + "".join([*comments, *revalued, *_added(lines, values, end)])


def _added(lines: Sequence[str], values: Mapping[str, tuple[float, ...]], end: str) -> Iterable[str]:
    """Lines for the terms that those of a file do not name."""
    named = {words[0] for line in lines if (words := line.split("#", 1)[0].split())}
    added = [f"{name:<22} {_written(pair)}{end}" for name, pair in values.items() if name not in named]
    if added and lines and not lines[-1].endswith(("\n", "\r")):
        yield end
    yield from added


def _revalued(line: str, values: Mapping[str, tuple[float, ...]]) -> str:
    """The line of a weights file with the values that its term has in `values`."""
    code, comment_mark, comment = line.partition("#")
    words = code.split()
    if not words or words[0] == SET_WORD or tuple(map(float, words[1:])) == values[words[0]]:
        return line
    first, last = code.index(words[1], code.index(words[0]) + len(words[0])), code.rstrip()
    return f"{code[:first]}{_written(values[words[0]])}{code[len(last) :]}{comment_mark}{comment}"


def save(path: Path, weights: np.ndarray, header: Iterable[str] = (), terms: TermSet = TERMS) -> None:
    """Write a weights file whole or not at all; raises OSError where there is no folder, or it cannot be written."""
    files.write_whole(path, render(as_mapping(weights, terms), header, terms).encode())
