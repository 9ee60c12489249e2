"""The games of one player in a PGN: who is meant, and the positions in which the player had a choice."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from unicodedata import normalize

import numpy as np

from merino.core.board import bitboard, makemove, position
from merino.core.common.errors import number_of
from merino.core.common.text import did_you_mean, without_controls
from merino.core.compiled import memory
from merino.core.compiled.jit import entry
from merino.engine.search.choice import count_moves
from merino.formats import pgn_games, pgn_tokens, sources
from merino.study.errors import StudyError

SHOWN = 8  # names in an error
SKIP_MOVES = 5  # of a game: the opening
MAX_CHOICES = 1000
_CLOCK = re.compile(rb"\[%clk\s+(\d+):(\d\d):(\d\d(?:\.\d+)?)\]")


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
    clocks: np.ndarray  # seconds left after each move, float64, of both sides; empty where not every move has one

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
    fault: str = ""  # what is wrong with the first of these

    @property
    def count(self) -> int:
        """How many games can be read; one against somebody of the same name counts once, though it is here twice."""
        return len({game.number for game in self.games})

    @property
    def plies(self) -> int:
        """How often the player was to move after the opening."""
        return sum(len(game.own_plies()) for game in self.games)

    @property
    def left_out(self) -> str:
        """A sentence about the games that cannot be read, "" if all can."""
        if not self.faulty:
            return ""
        games = "1 game cannot be read and is" if self.faulty == 1 else f"{self.faulty} games cannot be read and are"
        return f"{games} left out ({self.fault})"

    @property
    def left_out_too(self) -> str:
        """The same as the end of another sentence: "; 1 game cannot be read and is left out (...)"."""
        return f"; {self.left_out}" if self.faulty else ""

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
    faults: dict[str, list[str]] = {}
    with sources.open_source(path) as source:
        for text in pgn_games.games_of(source):
            games = pgn_games.play_games(text.data, text.table, 2, text.lines_before)
            for index in range(len(games)):
                white, black = (without_controls(games.tag(index, colour)) for colour in ("White", "Black"))
                names = spelt.setdefault(folded(white), white), spelt.setdefault(folded(black), black)
                counts.update(set(filter(None, names)))
                for colour, name in zip((bitboard.WHITE, bitboard.BLACK), names, strict=True):
                    if not _is_meant(name, meant):
                        continue
                    if games.table["fault"][index] != pgn_games.NO_FAULT:
                        faults.setdefault(name, []).append(_fault(games, index))
                    elif games.table["plies"][index]:
                        game = _game(games, index, text.games_before + index + 1, colour, names)
                        found.setdefault(name, []).append(game)
    name = _who(wanted, counts, path)
    faulty = faults.get(name, [])
    if name not in found and faulty:
        raise StudyError(f"'{path}': no game of '{name}' can be read; {faulty[0]}")
    return PlayerGames(name, tuple(found.get(name, ())), len(faulty), "".join(faulty[:1]))


def _fault(games: pgn_games.Games, index: int) -> str:
    """What is wrong with this game, which has a fault."""
    number = int(np.count_nonzero(games.table["fault"][:index] != pgn_games.NO_FAULT))
    return str(next(islice(games.faults(), number, None)))


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
            f"'{wanted}' is said of more than one player in '{path}': {_listed(meant, counts)}; write one in full"
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
    text = bytes(games.data[row["text"] : row["end"]])
    return PlayerGame(
        number=number,
        title=title,
        date=day.strip(),
        colour=colour,
        rating=number if rating.isascii() and rating.isdigit() and 0 < (number := number_of(rating)) < 5000 else None,
        score=_score(int(row["result"]), colour),
        start=games.starts[row["position"] : row["position"] + 1].copy(),
        moves=games.moves[first : first + plies].copy(),
        clocks=_clocks(text, plies),
    )


def _score(result: int, colour: int) -> float | None:
    """The points of the player of this colour, 0, 0.5 or 1; None if the game was not finished."""
    if result == pgn_tokens.UNFINISHED:
        return None
    whites = result / pgn_tokens.WHITE_WON
    return whites if colour == bitboard.WHITE else 1 - whites


def _clocks(text: bytes, plies: int) -> np.ndarray:
    found = [
        3600.0 * number_of(sources.decoded(hours)) + 60 * int(minutes) + float(seconds)
        for hours, minutes, seconds in _CLOCK.findall(text)
    ]
    return np.array(found if len(found) == plies else [], dtype=np.float64)


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
