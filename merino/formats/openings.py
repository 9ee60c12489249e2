"""Where games start: openings, and files of them.

Files have lines of FEN or EPD, the first moves of PGN games, plain or compressed, or are a Polyglot book, from which
random lines are made.

EPD lines may also set a task: best moves (bm), moves to avoid (am), a mate (dm).
"""

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from merino.core.board.fen import START_FEN, FenError, parse_fen, to_fen
from merino.core.board.game import FIFTY_MOVES, Position
from merino.core.board.move import Move
from merino.core.board.movegen import count_legal
from merino.core.board.position import is_insufficient_material
from merino.core.common.errors import MerinoError, abridged
from merino.core.common.files import OPENINGS, text_of, user_path
from merino.core.compiled.jit import entry
from merino.engine.notation.san import MoveRejected, read_move
from merino.engine.tables.book import Book, BookError
from merino.formats import pgn_games
from merino.formats.sources import NO_MOVES, Fault, LeftOut, SourceError, plain_name, read_text, read_text_file

MAX_PGN_PLIES = 16  # of a game
BOOK_PLIES = 12
NO_TASK = "without bm, am or dm"
OVER = "the game is already over"
_LINE = re.compile(
    r"(?P<fen>(?:\S+\s+){3}[^\s;]+)(?:\s+(?P<counters>\d+(?:\s+\d+|$))(?![^\s;]))?[\s;]*(?P<rest>.*)", re.ASCII
)
_OPERATION = re.compile(r"""(?<![^\s;])([A-Za-z]\w*)\s*("[^"]*"|[^;"]*?)\s*(?:;[\s;]*|$)""")


class OpeningError(MerinoError, ValueError):
    """Openings that cannot be read or made; the message says why."""


@dataclass(frozen=True)
class Opening:
    """The start of a game: a FEN and the book moves from it, as coordinates; those of Chess960 if the FEN needs it."""

    fen: str = START_FEN
    moves: tuple[str, ...] = ()
    uneven: int = 0  # centipawns by which it is less even than it should be

    def position(self) -> Position:
        """The position after the moves, with its history; raises FenError and IllegalMoveError."""
        position = Position(self.fen)
        position.push_all(self.moves)
        return position


class FileOpenings:
    """The openings of a file in an order drawn by a seed; they repeat when all are used."""

    def __init__(self, path: Path, seed: int, plies: int | None = None, left_out: LeftOut | None = None) -> None:
        """`plies` are taken from a game or a book. All are checked: what is faulty is noted in `left_out`.

        Raises OpeningError.
        """
        self._seed, self._plies, left_out = seed, plies, LeftOut() if left_out is None else left_out
        self._games: pgn_games.Games | None = None
        try:
            path = user_path(path)
            ending = plain_name(path).suffix.lower()
            self._book = Book(path) if ending == ".bin" else None
            text = "" if self._book else read_text_file(path, OPENINGS)
        except OSError as error:
            raise OpeningError(f"cannot read openings '{path}': {error.strerror or error}") from error
        except (BookError, SourceError) as error:
            raise OpeningError(str(error)) from error
        if ending == ".pgn":
            self._games, faults = _games_in(text)
            entries: list[Any] = list(range(len(self._games)))
        else:
            entries, faults = _fens_in(text)
        order = list(range(len(entries)))
        Random(seed).shuffle(order)
        self._entries = [entries[index] for index in order if index not in faults]
        left_out.add(path, (faults[index] for index in sorted(faults)), "opening")
        if not self._book and not self._entries:
            raise OpeningError("\n".join([f"'{path}' holds no openings", *left_out.lines()]))

    def __len__(self) -> int:
        """How many there are before they repeat; 0 for a book, which is not a list."""
        return len(self._entries)

    def opening(self, number: int) -> Opening:
        """The opening with this number, which ends before its game is over."""
        if self._book is not None:
            return self._walk(self._book, Random(f"{self._seed} {number}"))
        entry = self._entries[number % len(self._entries)]
        opening = Opening(entry) if self._games is None else self._of_game(self._games, entry)
        position = opening.position()
        while position.moves and position.outcome() is not None:
            position.pop()
        return Opening(position.start_fen(), opening.moves[: len(position.moves)])

    def _of_game(self, games: pgn_games.Games, number: int) -> Opening:
        row = games.table[number]
        first, plies = int(row["first"]), min(int(row["plies"]), self._plies or MAX_PGN_PLIES)
        start = Position(to_fen(games.starts[row["position"] : row["position"] + 1]))
        moves = games.moves[first : first + plies].tolist()
        return Opening(start.fen(), tuple(start.uci(Move(move)) for move in moves))

    def _walk(self, book: Book, random: Random) -> Opening:
        """Random moves of the book by their weights, until it ends."""
        position = Position()
        for _ in range(self._plies or BOOK_PLIES):
            move = book.move(position, random)
            if move is None:
                break
            position.push(move)
        return Opening(position.start_fen(), tuple(position.uci(move) for move in position.moves))


def _fens_in(text: str) -> tuple[list[str], dict[int, Fault]]:
    """The FEN of each line of a text that has one, and what is wrong with some of them, by their places here."""
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    found = [(number, epd_parts(line)[0]) for number, line in lines if line and not line.startswith("#")]
    faults = dict[int, Fault]()
    for place, (number, fen) in enumerate(found):
        try:
            fault = OVER if are_over(parse_fen(fen))[0] else ""
        except FenError as error:
            fault = str(error)
        if fault:
            faults[place] = Fault(number, fault)
    return [fen for _, fen in found], faults


def _games_in(text: str) -> tuple[pgn_games.Games, dict[int, Fault]]:
    """The games of a PGN, and what is wrong with some of them; one without moves is of use from a FEN of its own."""
    data, table = pgn_games.scan_games(text.encode(), keeps_empty=True)
    table["fault"][table["fault"] == pgn_games.CONTRADICTION] = pgn_games.NO_FAULT  # results do not matter here
    games = pgn_games.play_games(data, table, 2)
    is_over = are_over(games.starts)[table["position"]] & (table["fault"] == pgn_games.NO_FAULT)
    fens = table["tags"][:, pgn_games.TAG_NAMES.index("FEN"), 0]
    table["fault"][is_over], table["fault_at"][is_over] = pgn_games.IS_OVER, fens[is_over]
    faults = games.useless()
    return games, {
        number: fault for number, fault in faults.items() if fault.why != NO_MOVES or not table["position"][number]
    }


def are_over(positions: np.ndarray) -> np.ndarray:
    """Whether a game is over in POSITION[n], bool[n]."""
    is_over = np.zeros(len(positions), dtype=np.bool_)
    _mark_over(positions, is_over)
    return is_over


@entry
def _mark_over(positions, is_over):
    for index in range(len(positions)):
        position = positions[index]
        is_drawn = is_insufficient_material(position) or position.halfmove >= FIFTY_MOVES
        is_over[index] = is_drawn or count_legal(position) == 0


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


def read_tasks(path: Path) -> tuple[list[EpdTest], list[Fault]]:
    """The positions of an EPD file that set a task, and why other lines do not; raises SourceError."""
    tasks, faults = list[EpdTest](), list[Fault]()
    for number, line in enumerate(text_of(read_text(path), path, "replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            if (task := read_task(line, f"line {number}")) is not None:
                tasks.append(task)
            else:
                faults.append(Fault(number, why=NO_TASK))
        except (MoveRejected, ValueError) as error:
            faults.append(Fault(number, str(error)))
    return tasks, faults
