"""What the server keeps while it runs, and the requests of the page, each field of which is checked before it is used.

The page keeps its own state, above all the game.
"""

from __future__ import annotations

import base64
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeVar, get_args, get_origin

import numpy as np

from merino.core.board.game import Position
from merino.core.common import errors, files, sealed
from merino.engine.search.searcher import Searcher
from merino.engine.search.tablebase_probe import TablebaseProbe
from merino.engine.tables.book import Book
from merino.engine.tables.tablebase import Tables
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import DEFAULT_FILE, EvaluationFile, active_file, evaluation_in, load
from merino.formats import pgn_games, sources
from merino.study import judge
from merino.study.errors import StudyError

IN_USE, USUAL = "in-use", "usual"
JUDGE, SHOWN = "judge", "shown"  # who judges, next to evaluations: the judge of the page, and the evaluation shown
HASH_MB = 64  # of each judge that the command line names
MAX_LEVELS = 4  # of an engine that plays weaker, each a program that waits for its next move
MAX_OWN = 50  # evaluations sent by the page or learned; the oldest go first
MAX_MOVES = 2000  # plies of a game
MAX_TEXT = 2 << 20  # characters of a text
MAX_NUMBER = 1e300
MAX_OFFSET = 1 << 53  # bytes of a file; the largest whole number of JavaScript
FIRST_PIECE = 1 << 16  # bytes of a file of games: enough games to fill the screen at once


class RequestError(errors.MerinoError):
    """A request that cannot be understood; the message says what is wrong."""


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
    has_terms: bool
    values_pieces: bool
    changed: float | None


class Evaluations:
    """The evaluations to choose from: those on disk, those the page sent, and those learned here.

    Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._own: dict[str, tuple[Entry, Evaluation]] = {}
        self._read: dict[Path, tuple[int, Evaluation]] = {}

    def entries(self) -> list[Entry]:
        """All that can be chosen, those in use first."""
        in_use, shipped = active_file().absolute(), DEFAULT_FILE.parent
        weights = sorted(shipped.glob("*.txt"), key=lambda path: (path != DEFAULT_FILE, path.name))
        users = sorted(path for path in files.user_folder("data").glob("*") if path.suffix in (".txt", ".net", ".old"))
        named = [(IN_USE, f"in use: {in_use.stem}", in_use)]
        named += [(path.stem, path.stem, path) for path in weights]
        named += [(path.name, f"net {path.stem}", path) for path in sorted(shipped.glob("*.net"))]
        named += [(f"yours/{path.name}", f"yours: {path.name}", path) for path in users]
        return [self._of_file(*each) for each in named] + [entry for entry, _ in list(self._own.values())]

    def find(self, name: str = IN_USE) -> Evaluation:
        """The evaluation with this id; raises RequestError, EvaluationError."""
        if name in self._own:
            return self._own[name][1]
        entries = {entry.id: entry for entry in self.entries()}
        entry = entries.get(name) or entries.get(name.removesuffix(".txt")) or entries.get(f"{name}.net")
        if entry is None or entry.file is None:
            raise RequestError(f"there are no weights {name[:60]!r}, only {', '.join(entries)}")
        return self._loaded(Path(entry.file))

    def usual_second(self, evaluation: Evaluation) -> Evaluation | None:
        """The usual second evaluation: for a net the terms in use, for terms a net that values each piece."""
        if not evaluation.has_terms:
            return self.find()
        entry = next((entry for entry in self.entries() if entry.values_pieces), None)
        return self.find(entry.id) if entry else None

    def add(self, name: str, evaluation: Evaluation) -> Entry:
        """Keep an evaluation until the server ends, under an id that no server gives again."""
        entry = _entry(f"own-{secrets.token_hex(6)}", name, evaluation)
        self._own[entry.id] = (entry, evaluation)
        while len(self._own) > MAX_OWN:
            self._own.pop(next(iter(self._own)), None)
        return entry

    def read(self, name: str, content: bytes) -> Entry:
        """Keep the content of a file named `name`, of weights or of a net; raises EvaluationError."""
        evaluation = evaluation_in(EvaluationFile(Path(name), content))
        evaluation.name = name
        return self.add(name, evaluation)

    def _of_file(self, id_: str, name: str, path: Path) -> Entry:
        """The entry of a file. One that cannot be read is listed as one with terms; choosing it raises the error."""
        changed = path.stat().st_mtime if files.is_there(path) else None
        try:
            return _entry(id_, name, self._loaded(path), str(path), changed)
        except EvaluationError:
            return Entry(id_, name, str(path), True, False, changed)

    def _loaded(self, path: Path) -> Evaluation:
        """The evaluation of a file, read again only if the file has changed."""
        stamp = path.stat().st_mtime_ns if files.is_there(path) else -1
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = (stamp, load(path))
        return known[1]


def _entry(id_: str, name: str, evaluation: Evaluation, file: str | None = None, changed: float | None = None) -> Entry:
    has_terms = evaluation.has_terms
    return Entry(id_, name, file, has_terms, evaluation.has_attributed and not has_terms, changed)


class Searchers:
    """Lends a searcher to each piece of work. May be used from any thread."""

    def __init__(self, tables: Tables | None = None) -> None:
        self._idle: list[Searcher] = []
        self._tables = tables

    @contextmanager
    def borrowed(self, evaluation: Evaluation) -> Iterator[Searcher]:
        """A searcher that evaluates so and knows nothing of earlier searches; raises MemoryError."""
        try:
            searcher = self._idle.pop()
        except IndexError:
            searcher = Searcher(evaluation=evaluation)
        searcher.set_evaluation(evaluation)
        searcher.move_overhead, searcher.multipv = 0, 1
        searcher.strength, searcher.is_analysing = None, False
        searcher.tablebases = TablebaseProbe(self._tables.results) if self._tables else None
        try:
            yield searcher
        finally:
            searcher.stop()
            searcher.wait()
            self._idle.append(searcher)


class NamedJudge:
    """A judge that the command line names, in any of `judge.FORMS`; nobody else names a program. Raises StudyError.

    Each piece of work borrows one of its own. One that has failed, ended or was interrupted is not lent again.
    """

    def __init__(self, named: str) -> None:
        self._named = named
        self._idle: list[tuple[judge.Judge, list[Callable[[], bool]]]] = []
        self._weaker: dict[int, NamedJudge] = {}
        self._is_kept, self._choosing = True, threading.Lock()
        with self.borrowed() as found:
            self.name = found.name

    def weakened(self, elo: int) -> NamedJudge:
        """The same engine, which plays with so much Elo by its own options for that; raises StudyError without them.

        Those that were asked for last are kept.
        """
        options = f"option.UCI_LimitStrength=true,option.UCI_Elo={elo}"
        with self._choosing:
            try:
                found = self._weaker.pop(elo, None) or NamedJudge(f"{self._named},{options}")
            except StudyError as error:
                raise StudyError(f"{self.name} does not play at {elo} Elo: {error.__cause__ or error}") from error
            self._weaker[elo] = found
            while len(self._weaker) > MAX_LEVELS:
                dropped = self._weaker.pop(next(iter(self._weaker)))
                dropped._is_kept = False
                dropped.close()
        return found

    @contextmanager
    def borrowed(self, is_stop_requested: Callable[[], bool] = lambda: False) -> Iterator[judge.Judge]:
        """The judge, who has forgotten earlier positions; asked to stop, it raises KeyboardInterrupt."""
        lent, asked = self._ready()
        asked[:] = [is_stop_requested]
        is_kept = False
        try:
            yield lent
            is_kept = self._is_kept
        finally:
            self._idle.append((lent, asked))
            if not is_kept:
                self.close()  # where it has failed the others may have, too

    def _ready(self) -> tuple[judge.Judge, list[Callable[[], bool]]]:
        for lent, asked in self._taken():
            with suppress(StudyError):  # of one that has ended while nobody used it
                lent.new_game()
                return lent, asked
            lent.close()
        asked = []
        return judge.judge_of(self._named, HASH_MB, 1, is_stop_requested=lambda: any(ask() for ask in asked)), asked

    def close(self) -> None:
        """End the programs that nobody uses."""
        for lent, _ in self._taken():
            lent.close()
        for weaker in list(self._weaker.values()):
            weaker.close()

    def _taken(self) -> Iterator[tuple[judge.Judge, list[Callable[[], bool]]]]:
        """Those that nobody uses, each taken by one thread alone."""
        with suppress(IndexError):  # where another thread takes the last one
            while True:
                yield self._idle.pop()


class GamesPiece(NamedTuple):
    """Some games of a file: a text, with its bytes and the games in it as `pgn_games.games_in` has them.

    `next` is the offset of the game after them, None behind the last, and `done` the share of the file before that,
    None for a pipe.
    """

    text: bytes
    data: np.ndarray
    table: np.ndarray
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
        self._source = self._held.enter_context(sources.open_source(path))
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
        piece = self.piece(0)
        if piece.next is None and not len(piece.table):
            raise sources.SourceError(f"{sources.name_of(self._source.path, quoted=True)} holds no game")

    def piece(self, at: int) -> GamesPiece:
        """Some games from offset `at` on, where one begins; one at least, unless there is none in any game's length."""
        size = sources.CHUNK if at else FIRST_PIECE
        while True:
            text = self.text(at, size)
            is_last = len(text) < size
            data, table, after = pgn_games.games_in(text, not is_last and size < pgn_games.MAX_GAME_BYTES)
            if is_last:
                return GamesPiece(text, data, table, None, 1.0)
            if after:
                return GamesPiece(text, data, table, at + after, self._source.share(at + after))
            size *= 2

    def text(self, at: int, size: int) -> bytes:
        """The bytes of the text from an offset on, at most `size`."""
        with self._lock:
            if self._copy is None:
                return self._source.read_at(at, size)
            self._copy.seek(self._copied)
            while self._copied < at + size and (text := self._source.read(sources.CHUNK)):
                self._copied += self._copy.write(text)
            self._copy.seek(at)
            return self._copy.read(size)


@dataclass
class ServerState:
    """The evaluations to choose from, what the command line asked for, and what was learned and done last.

    `named_judges` are those that the command line allows, the first of which judges where a request does not ask for
    another; without one the strongest net does. `tables` are endgame tables, which searches ask, and `book` what Merino
    plays from. `token` is what every request must bring.
    `learned` is the answer of GET /api/learning on what was learned here. `kept` is what runs of the server keep: the
    match, and what panels of the lab keep under their names. `at_end` is called when the server ends, `running` stops
    what sockets work at; `beginning` is held where a run begins, as there is one of each kind at a time.
    """

    first_text: str | None = None
    first_is_free: bool = False
    games: GamesFile | None = None
    named_judges: Sequence[NamedJudge] = ()
    tables: Tables | None = None
    book: Book | None = None
    evaluations: Evaluations = field(default_factory=Evaluations)
    learned: dict[str, Any] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    at_end: list[Callable[[], object]] = field(default_factory=list)
    running: set[Any] = field(default_factory=set)
    beginning: threading.Lock = field(default_factory=threading.Lock)
    token: str = field(default_factory=secrets.token_urlsafe)

    def __post_init__(self) -> None:
        self.searchers = Searchers(self.tables)

    def games_file(self) -> GamesFile:
        """The file of games on the command line; raises RequestError without one."""
        if self.games is None:
            raise RequestError("the explorer was started without a file of games")
        return self.games

    @property
    def judges(self) -> dict[str, str]:
        """The names of the judges to choose from by their ids, next to evaluations; the first is that of the page."""
        names = [named.name for named in self.named_judges] or [judge.STRONGEST]
        return {f"{JUDGE}{at or ''}": name for at, name in enumerate(names)}

    def asked_judge(self, fields: Fields) -> Evaluation | NamedJudge:
        """Who judges in a request: one of the command line, or the search with this evaluation."""
        names_weights = fields.has("weights") or fields.has("changes")
        name = fields.text("judge", SHOWN if names_weights else JUDGE)
        if name == SHOWN:
            return fields.evaluation(self.evaluations)
        if name not in self.judges:
            return self.evaluations.find(name)
        return self.named_judges[list(self.judges).index(name)] if self.named_judges else judge.strongest()

    @contextmanager
    def judging(
        self, fields: Fields, is_stop_requested: Callable[[], bool] = lambda: False, **settings: Any
    ) -> Iterator[judge.Judge]:
        """Who judges in a request; `settings` are those of a search of Merino's."""
        asked = self.asked_judge(fields)
        if isinstance(asked, NamedJudge):
            with asked.borrowed(is_stop_requested) as found:
                yield found
        else:
            with self.searchers.borrowed(asked) as searcher:
                name = judge_name(asked)
                yield judge.by_search(searcher, asked, name, is_stop_requested=is_stop_requested, **settings)


def judge_name(evaluation: Evaluation) -> str:
    """The name of a search by this evaluation as a judge."""
    return Path(evaluation.name).stem if evaluation.name.endswith((".net", ".txt")) else evaluation.name


T = TypeVar("T")
_WORDS = {
    bool: "true or false",
    float: "a number",
    dict[str, Any]: "an object",
    dict[str, float]: "an object of numbers",
    dict[str, str]: "an object of texts",
    list[dict[str, Any]]: "a list of objects",
    list[list[dict[str, Any]]]: "a list of lists of objects",
    list[int]: "a list of whole numbers",
    list[str]: "a list of texts",
}


class Fields:
    """The fields of a request. Each method raises RequestError if a field is missing or of the wrong type.

    A field that is null is missing.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    @classmethod
    def read(cls, body: bytes | str) -> Fields:
        """The fields of a JSON object."""
        with errors.turning(ValueError, RequestError, "the request is not JSON: "):
            fields = sealed.parsed(body if isinstance(body, str) else body.decode())
        if not isinstance(fields, dict):
            raise RequestError("the request is not a JSON object")
        return cls(fields)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._fields.get(name) is not None

    def take(self, name: str, kind: type[T]) -> T:
        """A field of this kind, one of those that have words; false or empty if it is missing."""
        value = self._fields.get(name)
        if value is None:
            return (get_origin(kind) or kind)()
        if not _is(value, kind):
            raise RequestError(f"'{name}' is not {_WORDS[kind]}")
        if isinstance(value, list) and len(value) > MAX_MOVES:
            raise RequestError(f"'{name}' holds more than {MAX_MOVES} entries")
        return value

    def flag(self, name: str) -> bool:
        """Whether something is requested."""
        return self.take(name, bool)

    def parts(self, name: str) -> list[Fields]:
        """A list of objects."""
        return [Fields(item) for item in self.take(name, list[dict[str, Any]])]

    def part(self, name: str) -> Fields:
        """An object in the request."""
        return Fields(self.take(name, dict[str, Any]))

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
        value = self._fields.get(name)
        if value is not None and not (type(value) is int and low <= value <= high):
            raise RequestError(f"'{name}' is not a whole number from {low} to {high}")
        return value

    def build(self, kind: Callable[..., T], *names: str) -> T:
        """A dataclass with these fields, as far as the request has them."""
        with errors.turning((TypeError, ValueError), RequestError):
            return kind(**{name: self._fields[name] for name in names if self.has(name)})

    def position(self) -> Position:
        """The position after `moves`, coordinates, from `fen`; raises FenError and IllegalMoveError too."""
        position = Position(self.text("fen"))
        position.push_all(self.take("moves", list[str]))
        return position

    def content(self, most: int = MAX_TEXT) -> bytes:
        """A file: `content` in base64, of at most this many characters, or else the characters of `text`."""
        if not self.has("content"):
            return self.text("text", most=most).encode()
        with errors.turning(ValueError, RequestError, "'content' is not base64 (", ")"):
            return base64.b64decode(self.text("content", most=most), validate=True)

    def weights(self) -> str:
        """The id of the evaluation `weights`, by default of that in use."""
        return self.text("weights", IN_USE) or IN_USE

    def evaluation(self, evaluations: Evaluations) -> Evaluation:
        """The evaluation `weights`, with its numbers in `changes`; also raises the errors of Evaluations.

        A number that it lacks, or one out of its bounds, raises EvaluationError.
        """
        found, changes = evaluations.find(self.weights()), self.take("changes", dict[str, float])
        return found.with_numbers({name: float(value) for name, value in changes.items()}) if changes else found

    def second_evaluation(self, evaluations: Evaluations) -> Evaluation | None:
        """The evaluation that `beside` names, None if not requested; also raises the errors of Evaluations.

        USUAL asks for what suits the evaluation that the request names: see `Evaluations.usual_second`.
        """
        name = self.text("beside") if self.has("beside") else ""
        if name == USUAL:
            return evaluations.usual_second(self.evaluation(evaluations))
        return evaluations.find(name) if name else None


def _is(value: Any, kind: Any) -> bool:
    """Whether a value of JSON is of a kind such as `list[str]`; a whole number is also a float."""
    of, inside = get_origin(kind), get_args(kind)
    if of is list:
        return isinstance(value, list) and all(_is(item, inside[0]) for item in value)
    if of is dict:
        return isinstance(value, dict) and all(_is(item, inside[1]) for item in value.values())
    if kind is float:
        return type(value) in (int, float) and abs(value) <= MAX_NUMBER
    return kind is Any or type(value) is kind
