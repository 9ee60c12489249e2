"""Parser of `go`: tokens may come in any order, and a faulty one does not stop the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
    """Read the words after `go`. `find_move` gives the legal move a text means, or None."""
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
    search_moves = _legal(wanted, find_move)
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


def _legal(texts: Sequence[str], find_move: Callable[[str], int | None]) -> list[int]:
    moves = (find_move(text) for text in dict.fromkeys(texts))
    return list(dict.fromkeys(move for move in moves if move is not None))


def _read_number(text: str) -> int | None:
    """The whole part of a number (some GUIs send milliseconds with a fraction); None if it is not a number."""
    match = _NUMBER.fullmatch(text)
    return int(match[1][:_DIGITS]) if match else None
