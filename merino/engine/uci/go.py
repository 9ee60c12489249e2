"""A `go`: its words as limits, and the clocks of a game. Imports nothing heavy."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from merino.engine.search.limits import MAX_MS, MAX_NODES, MAX_PLY, Limits

_FLAGS = ("infinite", "ponder")

# Bounds of the numbers; values outside are clamped.
_RANGES = {
    "wtime": (1, MAX_MS),
    "btime": (1, MAX_MS),
    "winc": (0, MAX_MS),
    "binc": (0, MAX_MS),
    "movestogo": (0, 10_000),
    "depth": (1, MAX_PLY - 1),
    "nodes": (1, MAX_NODES),
    "mate": (1, MAX_PLY // 2),
    "movetime": (1, MAX_MS),
    "perft": (1, 16),
}
_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][nbrqNBRQ]?|0000")
_NUMBER = re.compile(r"([+-]?[0-9]+)(?:\.[0-9]*)?")
_MAX_REMARKS = 10
_DIGITS = 4000  # longer numbers are an error in Python


class Go(NamedTuple):
    """A `go` as read: a search under `limits`, or a perft to depth `perft`; `remarks` name what is ignored."""

    limits: Limits
    perft: int | None
    remarks: list[str]


def parse_go(words: Sequence[str], find_move: Callable[[str], int | None]) -> Go:
    """Read the words after `go`, in any order; a faulty one does not stop the rest.

    `find_move` gives the legal move a text means, or None.
    """
    numbers: dict[str, int] = {}
    flags: set[str] = set()
    wanted: list[str] = []
    remarks: list[str] = []
    index = 0
    while index < len(words):
        word = words[index].lower()
        index += 1
        if word in _FLAGS:
            flags.add(word)
        elif word == "searchmoves":
            while index < len(words) and _MOVE.fullmatch(words[index]):
                wanted.append(words[index])
                index += 1
        elif word in _RANGES:
            number = _read_number(words[index]) if index < len(words) else None
            if number is None:
                remarks.append(f"go: '{word}' without a number is ignored")
                continue
            low, high = _RANGES[word]
            numbers[word] = min(max(number, low), high)
            index += 1
        else:
            remarks.append(f"go: '{word[:40]}' is ignored")
    search_moves = list(dict.fromkeys(move for move in map(find_move, dict.fromkeys(wanted)) if move is not None))
    if wanted and not search_moves:
        remarks.append("go: none of the searchmoves is legal, so all moves are searched")
    return Go(_limits(numbers, flags, search_moves), numbers.get("perft"), list(dict.fromkeys(remarks))[:_MAX_REMARKS])


def _limits(numbers: dict[str, int], flags: set[str], search_moves: Sequence[int]) -> Limits:
    """The limits. Without any, the search is infinite; a missing clock is taken to equal the other."""
    white, black = numbers.get("wtime"), numbers.get("btime")
    is_limited = any(word in numbers for word in ("depth", "nodes", "mate", "movetime", "wtime", "btime"))
    return Limits(
        depth=numbers.get("depth"),
        nodes=numbers.get("nodes"),
        mate=numbers.get("mate"),
        movetime=numbers.get("movetime"),
        time=(black if white is None else white, white if black is None else black),
        increment=(numbers.get("winc", 0), numbers.get("binc", 0)),
        moves_to_go=numbers.get("movestogo") or None,
        infinite="infinite" in flags or not is_limited,
        ponder="ponder" in flags,
        search_moves=search_moves,
    )


def _read_number(text: str) -> int | None:
    """The whole part of a number (some GUIs send milliseconds with a fraction); None if it is not a number."""
    match = _NUMBER.fullmatch(text)
    return int(match[1][:_DIGITS]) if match else None


# Lag is what a move costs on the GUI's clock in addition to the time that the search has planned for it. Where time is
# counted in nodes, the clock of the GUI does not know how many a move took, so we keep our own.

MAX_LAG = 2000.0  # milliseconds; more is no lag, but a pause, a broken connection or a clock that was set
FORGOTTEN = 0.25  # share of the difference by which the estimate falls at each move; it rises at once
MAX_TABLES_SECONDS, TABLES_SHARE = 1.0, 0.1  # for the endgame tables: at most, and of what is left on the clock


@dataclass
class _TimedMove:
    """A move on a clock: the key of the position before it, our clock, and once it is made the time planned for it."""

    key: int
    clock: int
    planned: float | None = None


def goes_on(keys: Sequence[int], key: int) -> bool:
    """Whether a game goes on from the position with this key, in which we moved last; `keys` are those of the game."""
    return len(keys) > 2 and keys[-3] == key


class Lag:
    """An estimate of the lag of the next move of a game in `milliseconds`, from the clock that each `go` brings.

    A GUI that is slow to hear us, a network, or a machine so busy that our threads wait for the processor: all this
    shows as time that is missing from the clock at the next move.
    """

    def __init__(self) -> None:
        self.milliseconds = 0.0
        self._last: _TimedMove | None = None

    def go_came(self, keys: Sequence[int], side: int, limits: Limits) -> None:
        """Take the clock of a `go`. `keys` are those of the game so far, the present position last."""
        clock, last = limits.time[side], self._last
        if last is not None and goes_on(keys, last.key) and last.planned is not None and clock is not None:
            lag = last.clock + limits.increment[side] - clock - last.planned
            if lag >= 0:  # else time was added
                lag = min(lag, MAX_LAG)
                self.milliseconds = max(lag, self.milliseconds + FORGOTTEN * (lag - self.milliseconds))
        is_timed = clock is not None and limits.movetime is None and not limits.ponder and not limits.infinite
        self._last = _TimedMove(keys[-1], clock, None) if is_timed and clock is not None else None

    def move_made(self, planned: float) -> None:
        """Take the milliseconds that the search has used of those that it was allowed for its move."""
        if self._last is not None:
            self._last.planned = planned


def tables_seconds(limits: Limits, side: int) -> float:
    """How long a move may wait for the endgame tables: a part of its time, and never long."""
    clock, movetime = limits.time[side], limits.movetime
    bounds = [MAX_TABLES_SECONDS]
    bounds += [] if clock is None else [TABLES_SHARE * clock / 1000]
    bounds += [] if movetime is None else [movetime / 1000 / 2]
    return min(bounds)


class _NodeAccount(NamedTuple):
    """What a NodeClock knows of a game."""

    left: float  # milliseconds
    key: int  # of the position before our last move
    moves_to_go: int
    increment: int


class NodeClock:
    """What is left on our clock, in milliseconds of nodes.

    A game begins with the time that the first `go` brings. From then on a move costs its nodes and gains the increment,
    whatever the GUI's clock says. Where a new time control begins, or after pondering, so does the account.
    """

    def __init__(self) -> None:
        self._account: _NodeAccount | None = None  # None: no game goes on

    def limits(self, keys: Sequence[int], side: int, limits: Limits) -> Limits:
        """The limits of a `go` by this clock. `keys` are those of the game so far, the present position last."""
        clock, moves_to_go, before = limits.time[side], limits.moves_to_go or 0, self._account
        self._account = None
        if clock is None or limits.ponder:
            return limits
        is_new = before is None or not goes_on(keys, before.key) or moves_to_go > before.moves_to_go
        left = float(clock) if before is None or is_new else before.left
        self._account = _NodeAccount(left, keys[-1], moves_to_go, limits.increment[side])
        return replace(limits, time=(max(1, int(left)),) * 2)

    def move_made(self, used: float) -> None:
        """Take the milliseconds that the move has used."""
        if self._account is not None:
            left, increment = self._account.left, self._account.increment
            self._account = self._account._replace(left=max(0.0, left - used) + increment)
