"""What the server keeps while it runs, and the requests of the page, each field of which is checked before it is used.

The page keeps its own state, above all the game.
"""

from __future__ import annotations

import base64
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from merino.core.board.game import Position
from merino.core.common.errors import MerinoError
from merino.core.common.files import is_there, user_folder
from merino.core.common.options import given
from merino.core.common.sealed import parsed
from merino.engine.search.searcher import Searcher
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import EvaluationFile, evaluation_in, load
from merino.eval.linear.weights import DEFAULT_FILE, active_file
from merino.formats.pgn_games import MAX_GAME_BYTES, GameHeader, list_games
from merino.formats.sources import CHUNK, SourceError, name_of, open_source

IN_USE, USUAL = "in-use", "usual"
MAX_OWN = 50  # evaluations sent by the page or learned; the oldest go first
MAX_MOVES = 2000  # plies of a game
MAX_TEXT = 2 << 20  # characters of a text
MAX_NUMBER = 1e300
FIRST_PIECE = 1 << 16  # bytes of a file of games: enough games to fill the screen at once


class RequestError(MerinoError):
    """A request that cannot be understood; the message says what is wrong."""


class UnknownWeightsError(MerinoError):
    """An unknown id of weights."""


@dataclass(frozen=True)
class Entry:
    """An evaluation to choose by `id`; `name` is for people, `file` its file, if it has one.

    `changed`, the time of the last change of the file in seconds, lets the page notice that it has to ask again.
    `has_terms`: it explains its score by terms, whose weights can be changed and saved. `values_pieces`: it has none,
    but says what each piece adds to the score.
    """

    id: str
    name: str
    file: str | None
    has_terms: bool = True
    values_pieces: bool = False
    changed: float | None = None

    def describing(self, evaluation: Evaluation) -> Entry:
        """The entry of this evaluation."""
        has_terms = evaluation.has_terms
        return replace(self, has_terms=has_terms, values_pieces=evaluation.has_attributed and not has_terms)


class Evaluations:
    """The evaluations to choose from: those on disk, those the page sent, and those learned here.

    Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._own: dict[str, tuple[Entry, Evaluation]] = {}
        self._read: dict[Path, tuple[int, Evaluation]] = {}
        self._count = 0
        self._server = secrets.token_hex(4)  # in ids, which a page may keep longer than the server runs
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """All that can be chosen, those in use first."""
        in_use, shipped = active_file().absolute(), DEFAULT_FILE.parent
        weights = sorted(shipped.glob("*.txt"), key=lambda path: (path != DEFAULT_FILE, path.name))
        users = sorted(path for path in user_folder("data").glob("*") if path.suffix in (".txt", ".net"))
        named = [(IN_USE, f"in use: {in_use.stem}", in_use)]
        named += [(path.stem, path.stem, path) for path in weights]
        named += [(path.name, f"net {path.stem}", path) for path in sorted(shipped.glob("*.net"))]
        named += [(f"yours/{path.name}", f"yours: {path.name}", path) for path in users]
        found = [self._entry(*each) for each in named]
        with self._lock:
            return found + [entry for entry, _ in self._own.values()]

    def find(self, name: str = IN_USE) -> Evaluation:
        """The evaluation with this id; raises UnknownWeightsError, EvaluationError."""
        with self._lock:
            if name in self._own:
                return self._own[name][1]
        entries = {entry.id: entry for entry in self.entries()}
        entry = entries.get(name) or entries.get(name.removesuffix(".txt")) or entries.get(f"{name}.net")
        if entry is None or entry.file is None:
            raise UnknownWeightsError(f"there are no weights {name[:60]!r}, only {', '.join(entries)}")
        return self._loaded(Path(entry.file))

    def usual_second(self, evaluation: Evaluation) -> Evaluation | None:
        """The usual second evaluation: for a net the terms in use, for terms a net that values each piece."""
        if not evaluation.has_terms:
            return self.find()
        entry = next((entry for entry in self.entries() if entry.values_pieces), None)
        return self.find(entry.id) if entry else None

    def add(self, name: str, evaluation: Evaluation) -> Entry:
        """Keep an evaluation until the server ends, under an id that no server gives again."""
        with self._lock:
            self._count += 1
            entry = Entry(f"own-{self._server}-{self._count}", name, None).describing(evaluation)
            self._own[entry.id] = (entry, evaluation)
            while len(self._own) > MAX_OWN:
                del self._own[next(iter(self._own))]
            return entry

    def read(self, name: str, content: bytes) -> Entry:
        """Keep the content of a file named `name`, of weights or of a net; raises EvaluationError."""
        evaluation = evaluation_in(EvaluationFile(Path(name), content))
        evaluation.name = name
        return self.add(name, evaluation)

    def _entry(self, name: str, title: str, path: Path) -> Entry:
        """The entry of a file. One that cannot be read is listed as one with terms; choosing it raises the error."""
        entry = Entry(name, title, str(path), changed=path.stat().st_mtime if is_there(path) else None)
        try:
            return entry.describing(self._loaded(path))
        except EvaluationError:
            return entry

    def _loaded(self, path: Path) -> Evaluation:
        """The evaluation of a file, read again only if the file has changed."""
        stamp = path.stat().st_mtime_ns if is_there(path) else -1
        with self._lock:
            known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, load(path))
            with self._lock:
                self._read[path] = known
        return known[1]


class Searchers:
    """Lends a searcher to each piece of work. May be used from any thread."""

    def __init__(self) -> None:
        self._idle: list[Searcher] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrowed(self, evaluation: Evaluation) -> Iterator[Searcher]:
        """A searcher that evaluates so and knows nothing of earlier searches; raises RequestError without memory."""
        with self._lock:
            searcher = self._idle.pop() if self._idle else None
        if searcher is None:
            try:
                searcher = Searcher(evaluation=evaluation)
            except MemoryError as error:
                raise RequestError("not enough memory for another search") from error
        else:
            searcher.set_evaluation(evaluation)
        searcher.move_overhead, searcher.multipv = 0, 1
        searcher.strength, searcher.is_analysing = None, False
        try:
            yield searcher
        finally:
            searcher.stop()
            searcher.wait()
            with self._lock:
                self._idle.append(searcher)


class ListedPiece(NamedTuple):
    """Some games of a file: their headers, the offset of the game after them, and the share of the file before it.

    `next` is None behind the last game, `done` for a pipe.
    """

    games: list[GameHeader]
    next: int | None
    done: float | None


class GamesFile:
    """A file of games, open while it is used as a context. Offsets are in its text, uncompressed.

    `holds_positions`: it is a list of positions, one per line, and has no games. No text stays in memory. That of a
    compressed file or a pipe goes to a temporary file, as far as it was asked for. Methods may be called from any
    thread. They raise SourceError if the file cannot be read or has changed.
    """

    def __init__(self, path: Path) -> None:
        self._held = ExitStack()
        self._source = self._held.enter_context(open_source(path))
        self.holds_positions = self._source.holds_positions()
        self._copy: IO[bytes] | None = None
        self._copied = 0
        if self._source.begins is None:
            self._copy = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (held open)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self._source.name

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._source.path

    def check(self) -> None:
        """Raise SourceError if there is no game in the file."""
        first = self.piece(0)
        if not first.games and first.next is None:
            raise SourceError(f"{name_of(self._source.path, quoted=True)} holds no game")

    def piece(self, at: int) -> ListedPiece:
        """Some games from offset `at` on, where one begins."""
        size = CHUNK if at else FIRST_PIECE
        while True:
            text = self.text(at, size)
            is_last = len(text) < size
            games, after = list_games(text, at, goes_on=not is_last and size < MAX_GAME_BYTES)
            if is_last:
                return ListedPiece(games, None, 1.0)
            if after > at:
                return ListedPiece(games, after, self._source.share(after))
            size *= 2

    def text(self, at: int, size: int) -> bytes:
        """The bytes of the text from an offset on, at most `size`."""
        with self._lock:
            if self._copy is None:
                return self._source.read_at(at, size)
            self._copy.seek(self._copied)
            while self._copied < at + size and (text := self._source.read(CHUNK)):
                self._copied += self._copy.write(text)
            self._copy.seek(at)
            return self._copy.read(size)


@dataclass
class ServerState:
    """The evaluations to choose from, what the command line asked for, and what was learned and done last.

    `learned` is the id of the weights whose record is `record`. `kept` is what runs of the server keep: the match, and
    what panels of the lab keep under their names. `at_end` is called when the server ends; `beginning` is held where
    a run begins, as there is one of each kind at a time.
    """

    first_text: str | None = None
    first_is_free: bool = False
    games: GamesFile | None = None
    evaluations: Evaluations = field(default_factory=Evaluations)
    searchers: Searchers = field(default_factory=Searchers)
    record: dict[str, Any] | None = None
    learned: str | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    at_end: list[Callable[[], object]] = field(default_factory=list)
    beginning: threading.Lock = field(default_factory=threading.Lock)

    def games_file(self) -> GamesFile:
        """The file of games on the command line; raises RequestError without one."""
        if self.games is None:
            raise RequestError("the explorer was started without a file of games")
        return self.games


class Fields:
    """The fields of a request. Each method raises RequestError if a field is missing or of the wrong type.

    A field that is null is missing.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    @classmethod
    def read(cls, body: bytes | str) -> Fields:
        """The fields of a JSON object."""
        try:
            fields = parsed(body if isinstance(body, str) else body.decode())
        except ValueError as error:
            raise RequestError(f"the request is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise RequestError("the request is not a JSON object")
        return cls(fields)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._fields.get(name) is not None

    def _value(self, name: str, missing: Any, is_right: Callable[[Any], bool], what: str) -> Any:
        """The value of a field, `missing` without one; `what` is what it has to be."""
        value = self._fields.get(name)
        if value is None:
            return missing
        if not is_right(value):
            raise RequestError(f"'{name}' is not {what}")
        return value

    def text(self, name: str, default: str | None = None, most: int = MAX_TEXT) -> str:
        """A text of at most this many characters."""
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            raise RequestError(f"the request needs a text '{name}'")
        if len(value) > most:
            raise RequestError(f"'{name}' is longer than {most} characters")
        return value

    def number(self, name: str, low: int, high: int) -> int | None:
        """A whole number within bounds, None if it is missing."""
        what = f"a whole number from {low} to {high}"
        found: int | None = self._value(name, None, lambda value: type(value) is int and low <= value <= high, what)
        return found

    def options(self, kind: type, *names: str) -> dict[str, Any]:
        """These fields of a dataclass whose fields are options, as far as the request has them."""
        try:
            return given({name: self._fields[name] for name in names if self.has(name)}, kind)
        except (TypeError, ValueError) as error:
            raise RequestError(str(error)) from error

    def flag(self, name: str) -> bool:
        """Whether something is requested; false if it is missing."""
        found: bool = self._value(name, False, lambda value: isinstance(value, bool), "true or false")
        return found

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty if it is missing."""
        found: list[str] = self._value(name, [], lambda value: _is_list(value, str), "a list of texts")
        if len(found) > MAX_MOVES:
            raise RequestError(f"'{name}' holds more than {MAX_MOVES} entries")
        return found

    def numbers(self, name: str) -> dict[str, float]:
        """Numbers by name, none if it is missing."""

        def are_numbers(value: Any) -> bool:
            return isinstance(value, dict) and all(
                type(item) in (int, float) and abs(item) <= MAX_NUMBER for item in value.values()
            )

        found = self._value(name, {}, are_numbers, "an object of numbers")
        return {key: float(item) for key, item in found.items()}

    def labels(self, name: str) -> dict[str, str]:
        """Texts by name, none if it is missing."""
        found: dict[str, str] = self._value(
            name, {}, lambda value: isinstance(value, dict) and _is_list([*value.values()], str), "an object of texts"
        )
        return found

    def whole_numbers(self, name: str, high: int) -> list[int]:
        """A list of whole numbers from 0 to `high`, empty if it is missing."""

        def are_whole(value: Any) -> bool:
            return isinstance(value, list) and all(type(item) is int and 0 <= item <= high for item in value)

        found: list[int] = self._value(name, [], are_whole, f"a list of whole numbers from 0 to {high}")
        return found

    def parts(self, name: str) -> list[Fields]:
        """A list of objects, empty if it is missing."""
        found = self._value(name, [], lambda value: _is_list(value, dict), "a list of objects")
        return [Fields(item) for item in found]

    def lists(self, name: str) -> list[list[Fields]]:
        """A list of lists of objects, empty if it is missing."""

        def are_lists(value: Any) -> bool:
            return isinstance(value, list) and all(_is_list(item, dict) for item in value)

        found = self._value(name, [], are_lists, "a list of lists of objects")
        return [[Fields(item) for item in items] for items in found]

    def part(self, name: str) -> Fields:
        """An object in the request, an empty one if it is missing."""
        return Fields(self._value(name, {}, lambda value: isinstance(value, dict), "an object"))

    def position(self) -> Position:
        """The position after `moves`, coordinates, from `fen`; raises FenError and IllegalMoveError too."""
        position = Position(self.text("fen"))
        position.push_all(self.texts("moves"))
        return position

    def content(self, most: int = MAX_TEXT) -> bytes:
        """A file: `content` in base64, of at most this many characters, or else the characters of `text`."""
        if not self.has("content"):
            return self.text("text").encode()
        try:
            return base64.b64decode(self.text("content", most=most), validate=True)
        except ValueError as error:
            raise RequestError(f"'content' is not base64 ({error})") from error

    def weights(self) -> str:
        """The id of the evaluation `weights`, by default of that in use."""
        return self.text("weights", IN_USE) or IN_USE

    def evaluation(self, evaluations: Evaluations) -> Evaluation:
        """The evaluation `weights`, with its numbers in `changes`; also raises the errors of Evaluations.

        A number that it lacks, or one out of its bounds, raises EvaluationError.
        """
        found, changes = evaluations.find(self.weights()), self.numbers("changes")
        return found.with_numbers(changes) if changes else found

    def second_evaluation(self, evaluations: Evaluations) -> Evaluation | None:
        """The evaluation that `beside` names, None if not requested; also raises the errors of Evaluations.

        USUAL asks for what suits the evaluation that the request names: see `Evaluations.usual_second`.
        """
        name = self.text("beside", "") if self.has("beside") else ""
        if name == USUAL:
            return evaluations.usual_second(self.evaluation(evaluations))
        return evaluations.find(name) if name else None


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)
