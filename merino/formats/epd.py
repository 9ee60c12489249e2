"""EPD lines that set a task: best moves (bm), moves to avoid (am), a mate (dm)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import chess

from merino.core.board.game import Position
from merino.core.common.user_files import text_of
from merino.formats.sources import read_text


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


class _Chess960Board(chess.Board):
    """A board of Chess960, as are the boards that python-chess makes of it to read moves."""

    def __init__(self, fen: str = chess.STARTING_FEN, *, chess960: bool = True) -> None:
        super().__init__(fen, chess960=chess960)


def read_task(line: str, name: str) -> EpdTest | None:
    """The task of a line of EPD, named `name` if it has no `id`; None if it sets no task. Raises ValueError.

    The two counters of a FEN may come before the operations.
    """
    words = line.split(maxsplit=6)
    if len(words) > 6 and words[4].isdecimal() and words[5].isdecimal():
        line = " ".join([*words[:4], words[6]])
    board: chess.Board = _Chess960Board(" ".join(words[:4]))
    if not board.has_chess960_castling_rights():
        board = chess.Board()
    try:
        operations = board.set_epd(line.strip())
    except AssertionError as error:  # for an operand that is not a move
        raise ValueError("an operation cannot be read") from error
    best, avoid = (tuple(move.uci() for move in _moves(operations.get(code))) for code in ("bm", "am"))
    mate = operations.get("dm")
    if mate is not None and not (isinstance(mate, int) and mate > 0):
        raise ValueError(f"dm takes a number of moves, not {mate!r}")
    if not (best or avoid or mate):
        return None
    return EpdTest(str(operations.get("id", name)), Position(board.fen()), best, avoid, mate)


def read_tasks(path: Path) -> tuple[list[EpdTest], list[str]]:
    """The positions of an EPD file that set a task, and the faults of other lines; raises SourceError."""
    tasks, faults = [], []
    for number, line in enumerate(text_of(read_text(path), path, "replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            task = read_task(line, f"line {number}")
        except ValueError as error:
            faults.append(f"{path}:{number}: {error}")
        else:
            tasks += [] if task is None else [task]
    return tasks, faults


def _moves(operand: object) -> list[chess.Move]:
    return [move for move in operand if isinstance(move, chess.Move)] if isinstance(operand, list) else []
