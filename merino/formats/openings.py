"""Where games start: openings, and files of them.

Files have lines of FEN or EPD, the first moves of PGN games, plain or compressed, or are a Polyglot book, from which
random lines are made.

EPD lines may also set a task: best moves (bm), moves to avoid (am), a mate (dm).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from merino.core.board.fen import START_FEN, FenError
from merino.core.board.game import Position
from merino.core.common.errors import abridged
from merino.core.common.files import OPENINGS, text_of, user_path
from merino.engine.notation.san import MoveRejected, read_move
from merino.engine.tables.book import Book, BookError
from merino.formats import pgn_games
from merino.formats.sources import SourceError, plain_name, read_text, read_text_file

MAX_PGN_PLIES = 16  # of a game
BOOK_PLIES = 12
_LINE = re.compile(
    r"(?P<fen>(?:\S+\s+){3}[^\s;]+)(?:\s+(?P<counters>\d+(?:\s+\d+|$))(?![^\s;]))?[\s;]*(?P<rest>.*)", re.ASCII
)
_OPERATION = re.compile(r"""(?<![^\s;])([A-Za-z]\w*)\s*("[^"]*"|[^;"]*?)\s*(?:;[\s;]*|$)""")


class OpeningError(ValueError):
    """Openings that cannot be read or made; the message says why."""


@dataclass(frozen=True)
class Opening:
    """The start of a game: a FEN and the book moves from it, as coordinates; those of Chess960 if the FEN needs it."""

    fen: str = START_FEN
    moves: tuple[str, ...] = ()

    def position(self) -> Position:
        """The position after the moves, with its history; raises FenError and IllegalMoveError."""
        position = Position(self.fen)
        position.push_all(self.moves)
        return position


class FileOpenings:
    """The openings of a file in an order drawn by a seed; they repeat when all are used."""

    def __init__(self, path: Path, seed: int, plies: int | None = None) -> None:
        """`plies` are taken from a game or a book. Raises OpeningError."""
        self._seed, self._plies = seed, plies
        try:
            self._path = path = user_path(path)
            ending = plain_name(path).suffix.lower()
            self._book = Book(path) if ending == ".bin" else None
            text = "" if self._book else read_text_file(path, OPENINGS)
            self._entries = list(_games(text, plies or MAX_PGN_PLIES) if ending == ".pgn" else _lines(text))
        except OSError as error:
            raise OpeningError(f"cannot read openings '{path}': {error.strerror or error}") from error
        except (BookError, SourceError) as error:
            raise OpeningError(str(error)) from error
        if not self._book and not self._entries:
            raise OpeningError(f"'{path}' holds no openings")
        Random(seed).shuffle(self._entries)

    def __len__(self) -> int:
        """How many there are before they repeat; 0 for a book, which is not a list."""
        return len(self._entries)

    def opening(self, number: int) -> Opening:
        """The opening with this number, which ends before its game is over; raises OpeningError if it is faulty."""
        if self._book is not None:
            return self._walk(self._book, Random(f"{self._seed} {number}"))
        place, opening = self._entries[number % len(self._entries)]
        try:
            if isinstance(opening, str):
                raise OpeningError(opening)
            position = opening.position()
        except (FenError, OpeningError) as error:
            raise OpeningError(f"{self._path}, {place}: {error}") from error
        while position.moves and position.outcome() is not None:
            position.pop()
        if position.outcome() is not None:
            raise OpeningError(f"{self._path}, {place}: the game is already over")
        return Opening(position.start_fen(), opening.moves[: len(position.moves)])

    def _walk(self, book: Book, random: Random) -> Opening:
        """Random moves of the book by their weights, until it ends."""
        position = Position()
        for _ in range(self._plies or BOOK_PLIES):
            move = book.move(position, random)
            if move is None:
                break
            position.push(move)
        return Opening(position.start_fen(), tuple(position.uci(move) for move in position.moves))


def _lines(text: str) -> Iterator[tuple[str, Opening]]:
    """The openings of a list, each with the number of its line."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield f"line {number}", Opening(epd_parts(line)[0])


def _games(text: str, plies: int) -> Iterator[tuple[str, Opening | str]]:
    """The first moves of each game of a PGN, or what is wrong with it; one without moves is a start if it has a FEN."""
    games = pgn_games.read_games(text.encode(), keeps_empty=True)
    faults = games.useless()
    for number, game in enumerate(games.table):
        if game["fault"]:
            yield f"game {number + 1}", str(faults[number])
        elif game["plies"] or game["position"]:
            start = Position(games.tag(number, "FEN") or START_FEN)  # which castles as `Opening.position`
            moves = games.moves[game["first"] :][: min(game["plies"], plies)]
            yield f"game {number + 1}", Opening(start.fen(), tuple(map(start.uci, moves.tolist())))


def epd_parts(line: str) -> tuple[str, str]:
    """The FEN of a line of an EPD file, with the counters that follow or that `hmvc` and `fmvn` give, and the rest."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return line, ""
    named = dict(_OPERATION.findall(found["rest"]))
    counters = found["counters"] or f"{named.get('hmvc', 0)} {named.get('fmvn', 1)}"
    return f"{found['fen']} {counters}", found["rest"]


@dataclass(frozen=True)
class EpdTest:
    """A position and its task; moves as coordinates, as `Position.uci` gives them."""

    name: str
    position: Position
    best: tuple[str, ...]
    avoid: tuple[str, ...]
    mate: int | None

    def is_solved_by(self, move: str, mate: int | None) -> bool:
        """Whether `move` solves the task; `mate` is the number of moves in which it claims to mate, or None."""
        if self.mate is not None and (mate is None or not 0 < mate <= self.mate):
            return False
        return move not in self.avoid and (not self.best or move in self.best)

    @property
    def question(self) -> str:
        """The task in EPD's words."""
        parts = [("bm", " ".join(self.best)), ("am", " ".join(self.avoid)), ("dm", str(self.mate or ""))]
        return " ".join(f"{code} {text}" for code, text in parts if text)


def read_task(line: str, name: str) -> EpdTest | None:
    """The task of a line of EPD, named `name` if it has no `id`; None if it sets no task.

    The two counters of a FEN may come before the operations. Raises FenError, MoveRejected and ValueError.
    """
    fen, text = epd_parts(line)
    position = Position(fen)
    operations = {code: operand.strip('"') for code, operand in _OPERATION.findall(text)}
    if unread := _OPERATION.sub("", text):
        raise ValueError(f"no operation of EPD that ends with ';': {abridged(unread)!r}")
    best, avoid = (
        tuple(position.uci(read_move(position, word)) for word in operations.get(code, "").replace(",", " ").split())
        for code in ("bm", "am")
    )
    mate = operations.get("dm", "")
    if mate and not (mate.isdecimal() and int(mate)):
        raise ValueError(f"dm takes a number of moves, not {mate!r}")
    if not (best or avoid or mate):
        return None
    return EpdTest(operations.get("id", name), position, best, avoid, int(mate) if mate else None)


def read_tasks(path: Path) -> tuple[list[EpdTest], list[str]]:
    """The positions of an EPD file that set a task, and the faults of other lines; raises SourceError."""
    tasks, faults = list[EpdTest](), list[str]()
    for number, line in enumerate(text_of(read_text(path), path, "replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            tasks += filter(None, [read_task(line, f"line {number}")])
        except (MoveRejected, ValueError) as error:
            faults.append(f"{path}:{number}: {error}")
    return tasks, faults
