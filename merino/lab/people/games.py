"""The games of one player in a PGN: who is meant, and the positions in which the player had a choice."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from unicodedata import normalize

import numpy as np

from merino.core.board import bitboard, makemove, position
from merino.core.common.errors import number_of
from merino.core.common.text import did_you_mean, without_controls
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.engine.search.choice import count_moves
from merino.formats import pgn_games, pgn_tokens, sources
from merino.study.errors import StudyError

SHOWN = 8  # names in an error
SKIP_MOVES = 5  # of a game: the opening
MAX_CHOICES = 1000
_CLOCK = np.frombuffer(b"[%clk", dtype=np.uint8)


@dataclass(frozen=True)
class PlayerGame:
    """One game of the player."""

    number: int  # in the file, from 1
    title: str  # "A - B, 2001.02.03"
    date: str  # as in the tag, "2001.02.03"
    colour: int  # of the player
    rating: int | None  # of the player at that time
    score: float | None  # the player's share of the point; None without a result
    start: np.ndarray  # POSITION[1]
    moves: np.ndarray  # int16, of both sides
    clocks: np.ndarray  # seconds left after each move, float64, of both sides; NaN where it has none

    @cached_property
    def positions(self) -> np.ndarray:
        """The position before each move, and that at the end, POSITION[n + 1]."""
        positions = np.zeros(len(self.moves) + 1, dtype=position.POSITION)
        _replay(self.start, self.moves, positions)
        return positions

    def own_plies(self) -> np.ndarray:
        """The plies at which the player was to move, int64, after the opening."""
        plies = np.arange(len(self.moves))
        return plies[(self.positions["side"][:-1] == self.colour) & (plies >= 2 * SKIP_MOVES)]


@entry
def _replay(start, moves, positions):
    """Fill POSITION[n + 1] with those before each of the moves from POSITION[1] on, and after the last."""
    memory.copy_record(positions[0], start[0])
    for ply in range(len(moves)):
        makemove.make(positions[ply + 1], positions[ply], np.int64(moves[ply]))


@dataclass(frozen=True)
class PlayerGames:
    """All games of a player that can be read, and how many cannot."""

    name: str  # as the file spells it
    games: tuple[PlayerGame, ...]
    faulty: int
    left_out: sources.LeftOut = field(default_factory=sources.LeftOut)  # these, and the games without moves

    @property
    def count(self) -> int:
        """How many games can be read; one against somebody of the same name counts once, though it is here twice."""
        return len({game.number for game in self.games})

    @property
    def plies(self) -> int:
        """How often the player was to move after the opening."""
        return sum(len(game.own_plies()) for game in self.games)

    @property
    def rating(self) -> float | None:
        """The mean rating, None if no game has one."""
        ratings = [game.rating for game in self.games if game.rating]
        return sum(ratings) / len(ratings) if ratings else None


def games_of_player(path: Path, wanted: str) -> PlayerGames:
    """The games of a player, named in full or in part; raises SourceError, and StudyError if it is not clear who.

    Names that differ in capitals and spaces alone are one, spelt as in the first game. It is raised, too, if none of
    the player's games can be read. Other such games, and those without moves, are left out.
    """
    meant = folded(wanted)
    spelt: dict[str, str] = {}  # by what they are compared by
    counts: Counter[str] = Counter()
    found: dict[str, list[PlayerGame]] = {}
    faults: dict[str, list[sources.Fault]] = {}
    with sources.open_source(path) as source:
        for text in pgn_games.games_of(source):
            games = pgn_games.play_games(text.data, text.table, 2, text.lines_before)
            useless = games.useless()
            for index in range(len(games)):
                white, black = (without_controls(games.tag(index, colour)) for colour in ("White", "Black"))
                names = spelt.setdefault(folded(white), white), spelt.setdefault(folded(black), black)
                if index not in useless or useless[index].why == sources.UNREADABLE:
                    counts.update(set(filter(None, names)))
                for colour, name in zip((bitboard.WHITE, bitboard.BLACK), names, strict=True):
                    if not _is_meant(name, meant):
                        continue
                    if index in useless:
                        faults.setdefault(name, []).append(useless[index])
                    else:
                        game = _game(games, index, text.games_before + index + 1, colour, names)
                        found.setdefault(name, []).append(game)
    name, left_out = _who(wanted, counts, path), sources.LeftOut()
    left_out.add(path, faults.get(name, []))
    if name not in found:
        raise StudyError("; ".join([f"'{path}': no game of '{name}' can be read", *left_out.lines()]))
    unreadable = [fault for fault in faults.get(name, []) if fault.why == sources.UNREADABLE]
    return PlayerGames(name, tuple(found.get(name, ())), len(unreadable), left_out)


def folded(name: str) -> str:
    """What names are compared by.

    Capitals do not count, nor spaces at the ends or in a row, nor whether an accent is within its letter or behind it.
    """
    return " ".join(normalize("NFC", name).casefold().split())


def _is_meant(name: str, meant: str) -> bool:
    """Whether the folded name that is wanted is in this one."""
    return bool(meant) and meant in folded(name)


def _who(wanted: str, counts: Counter[str], path: Path) -> str:
    """The one name that is meant: the one spelt like this, or else the only one with it in it; raises StudyError."""
    if not counts:
        raise StudyError(f"'{path}' has no games with moves and with players in the tags White and Black")
    whole = folded(wanted)
    alike = [name for name in counts if folded(name) == whole]
    meant = alike or [name for name in counts if _is_meant(name, whole)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise StudyError(
            f"'{wanted}' names more than one player in '{path}': {_listed(meant, counts)}; write one in full"
        )
    there = f"it has {_listed(counts, counts)}{did_you_mean(wanted, counts)}"
    raise StudyError(f"'{path}' has no player '{wanted}'; {there}")


def _listed(names: Iterable[str], counts: Counter[str]) -> str:
    """Some names with the numbers of their games, the most frequent first."""
    ordered = sorted(names, key=lambda name: (-counts[name], name))
    shown = ", ".join(f"'{name}' ({counts[name]})" for name in ordered[:SHOWN])
    return shown + (f" and {len(ordered) - SHOWN} more" if len(ordered) > SHOWN else "")


def _game(games: pgn_games.Games, index: int, number: int, colour: int, names: tuple[str, str]) -> PlayerGame:
    row = games.table[index]
    rating = games.tag(index, "WhiteElo" if colour == bitboard.WHITE else "BlackElo")
    day = without_controls(games.tag(index, "Date"))
    title = " - ".join(name or "?" for name in names) + (f", {day}" if day.strip("?.") else "")
    first, plies = int(row["first"]), int(row["plies"])
    clocks = np.empty(plies)
    read_clocks(games.data, int(row["text"]), int(row["end"]), clocks)
    return PlayerGame(
        number=number,
        title=title,
        date=day.strip(),
        colour=colour,
        rating=number if rating.isascii() and rating.isdigit() and 0 < (number := number_of(rating)) < 5000 else None,
        score=_score(int(row["result"]), colour),
        start=games.starts[row["position"] : row["position"] + 1].copy(),
        moves=games.moves[first : first + plies].copy(),
        clocks=clocks,
    )


def _score(result: int, colour: int) -> float | None:
    """The points of the player of this colour, 0, 0.5 or 1; None if the game was not finished."""
    if result == pgn_tokens.UNFINISHED:
        return None
    whites = result / pgn_tokens.WHITE_WON
    return whites if colour == bitboard.WHITE else 1 - whites


@entry
def read_clocks(data, at, end, clocks):
    """Fill float64[plies] with the seconds left behind each move of a game, NaN where there is no clock."""
    clocks[:] = np.nan
    _, _, at, _ = pgn_tokens.next_token(data, at, end)
    for ply in range(len(clocks)):
        _, start, after, _ = pgn_tokens.next_token(data, at, end)
        comment, stop = pgn_tokens.next_comment(data, at, start)
        while comment < start:
            for place in range(comment, stop):
                if data[place] == ord("[") and pgn_tokens.matches(data, place, stop, _CLOCK):
                    clocks[ply] = _seconds_at(data, place + len(_CLOCK), stop)
            comment, stop = pgn_tokens.next_comment(data, stop, start)
        at = after


@kernel
def _seconds_at(data, at, end):
    """The seconds of a clock: 1:02:03.5, 2:03 or 0:2:3; NaN for anything else."""
    at, seconds, parts = pgn_tokens.skip_space(data, at, end), 0.0, 0
    while parts < 3:
        after, number, unit = pgn_tokens.number_at(data, at, end)
        if after < 0 or number < 0:
            return np.nan
        seconds, parts, at = 60 * seconds + number / unit, parts + 1, after + 1
        if after == end or data[after] != ord(":"):
            break
    after = pgn_tokens.skip_space(data, after, end)
    return seconds if parts > 1 and after < end and data[after] == ord("]") else np.nan


@dataclass(frozen=True)
class Choices:
    """Positions after the opening in which the player had two legal moves or more."""

    games: np.ndarray  # int64[n], the place of each one's game in `PlayerGames`
    plies: np.ndarray  # int64[n], of the game
    positions: np.ndarray  # POSITION[n]

    def __len__(self) -> int:
        return len(self.plies)


def choices_of(player: PlayerGames, most: int = MAX_CHOICES) -> Choices:
    """The choices of a player, at most so many: drawn by chance, but the same each time."""
    none = np.zeros(0, dtype=np.int64)
    parts = [(none, none, np.zeros(0, dtype=position.POSITION))]
    for index, game in enumerate(player.games):
        plies = game.own_plies()
        parts.append((np.full(len(plies), index), plies, game.positions[plies]))
    columns = [np.concatenate(part) for part in zip(*parts, strict=True)]
    counts = np.zeros(len(columns[0]) + 1, dtype=np.int64)
    count_moves(columns[2], counts)
    chosen = np.flatnonzero(np.diff(counts) > 1)
    if len(chosen) > most:
        seed = int.from_bytes(hashlib.blake2b(player.name.encode(), digest_size=8).digest(), "little")
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, most, replace=False))
    return Choices(*(column[chosen] for column in columns))
