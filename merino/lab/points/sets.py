"""Filters of games by players, ratings, results and openings, and their division into sets by these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np

from merino.formats.pgn_games import Games

BAND = 100  # Elo points in a set of `by elo`
WON, LOST, DRAWN = "won", "lost", "drawn"  # by the player asked for
RESULTS = {"1-0": 2, "1/2-1/2": 1, "0-1": 0}  # White's half points
TAGS = ("White", "Black", "WhiteElo", "BlackElo", "Date", "ECO")
_UNKNOWN = {"", "?", "-"}


@dataclass(frozen=True)
class Filters:
    """What games to use.

    Ratings hold for both players; `result` is a key of RESULTS, WON, LOST or DRAWN; `eco` is the beginning of a code.
    A game without a tag that a filter needs is left out.
    """

    player: str | None = None
    result: str | None = None
    min_elo: int | None = None
    max_elo: int | None = None
    max_elo_gap: int | None = None
    eco: str = ""

    def __str__(self) -> str:
        """The filters in words; empty without any."""
        limits = {"Elo >=": self.min_elo, "Elo <=": self.max_elo, "Elo gap <=": self.max_elo_gap}
        words = [self.player, self.result, *(f"{name} {limit}" for name, limit in limits.items() if limit is not None)]
        return ", ".join(filter(None, [*words, self.eco]))


@dataclass(frozen=True)
class Collection:
    """The tags of games that filters and sets use: a list of n for each, "" if missing.

    `results` int8[n] are White's half points.
    """

    tags: Mapping[str, Sequence[str]]
    results: np.ndarray

    @classmethod
    def of_games(cls, games: Games, numbers: np.ndarray, results: np.ndarray) -> Collection:
        """The tags and results of the games with these numbers, int64[n], of a text."""
        order = numbers.tolist()
        return cls({name: [games.tag(number, name).strip() for number in order] for name in TAGS}, results)

    @classmethod
    def joined(cls, parts: Sequence[Collection]) -> Collection:
        """All games of the parts, one part after the other."""
        tags = {name: [value for part in parts for value in part.tags[name]] for name in TAGS}
        return cls(tags, np.concatenate([part.results for part in parts]))

    def of(self, chosen: np.ndarray) -> Collection:
        """The games for which `chosen`, bool[n], is true."""
        kept = np.flatnonzero(chosen).tolist()
        tags = {name: [values[number] for number in kept] for name, values in self.tags.items()}
        return Collection(tags, self.results[chosen])

    def ratings(self) -> np.ndarray:
        """Elo of White and Black, int64[n, 2]; 0 where it is not given."""
        return np.array([[_integer(text) for text in self.tags[name]] for name in ("WhiteElo", "BlackElo")]).T

    def chosen(self, filters: Filters) -> np.ndarray:
        """Which of the games pass, bool[n]."""
        keep = np.ones(len(self.results), dtype=bool)
        if filters.player:
            sides = [_who_is(self.tags[name], filters.player) for name in ("White", "Black")]
            keep &= self._by_player(sides[0], sides[1], filters.result)
        if filters.result in RESULTS or filters.result == DRAWN:
            keep &= self.results == RESULTS.get(filters.result, RESULTS["1/2-1/2"])
        if filters.eco:
            keep &= np.array([code.upper().startswith(filters.eco.upper()) for code in self.tags["ECO"]], dtype=bool)
        return keep & self._by_rating(filters)

    def _by_player(self, is_white: np.ndarray, is_black: np.ndarray, result: str | None) -> np.ndarray:
        if result in (WON, LOST):
            white_wins = self.results == RESULTS["1-0" if result == WON else "0-1"]
            black_wins = self.results == RESULTS["0-1" if result == WON else "1-0"]
            return is_white & white_wins | is_black & black_wins
        return is_white | is_black

    def _by_rating(self, filters: Filters) -> np.ndarray:
        keep = np.ones(len(self.results), dtype=bool)
        if filters.min_elo is None and filters.max_elo is None and filters.max_elo_gap is None:
            return keep
        ratings = self.ratings()
        low, high = ratings.min(axis=1), ratings.max(axis=1)
        keep &= low > 0
        if filters.min_elo is not None:
            keep &= low >= filters.min_elo
        if filters.max_elo is not None:
            keep &= high <= filters.max_elo
        if filters.max_elo_gap is not None:
            keep &= high - low <= filters.max_elo_gap
        return keep

    def frequent_players(self, count: int) -> list[str]:
        """The names with the most games."""
        names = Counter(name for side in ("White", "Black") for name in self.tags[side] if name not in _UNKNOWN)
        return [name for name, _ in names.most_common(count)]


def _integer(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,4}", text) else 0


def _who_is(names: Sequence[str], wanted: str) -> np.ndarray:
    """Which names, bool[n], mean the player: they have each word asked for, one of them in full, others as initials."""
    asked = _words(wanted)
    known: dict[str, bool] = {}
    for name in set(names):
        words = _words(name)
        spelled = all(any(_same_word(one, other) for other in words) for one in asked)
        known[name] = spelled and not set(asked).isdisjoint(words)
    return np.array([known[name] for name in names], dtype=bool)


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", normalize("NFC", name).casefold())  # an accent behind its letter would end the word


def _same_word(one: str, other: str) -> bool:
    return one == other or min(len(one), len(other)) == 1 and one[0] == other[0]


Labels = Iterator[tuple[str, ...]]


def _players(collection: Collection, _: Filters) -> Labels:
    for pair in zip(collection.tags["White"], collection.tags["Black"], strict=True):
        yield tuple(dict.fromkeys(name for name in pair if name not in _UNKNOWN))


def _elo_bands(collection: Collection, _: Filters) -> Labels:
    for white, black in collection.ratings().tolist():
        floor = (white + black) // 2 // BAND * BAND
        yield (f"{floor}-{floor + BAND - 1}",) if white and black else ()


def _years(collection: Collection, _: Filters) -> Labels:
    for date in collection.tags["Date"]:
        yield (date[:4],) if re.match(r"\d{4}", date) else ()


def _openings(collection: Collection, filters: Filters) -> Labels:
    """One character more than the filter asks for: volumes A to E without one, then B0 to B9, then B90 to B99."""
    for code in collection.tags["ECO"]:
        yield (code[: len(filters.eco) + 1].upper(),) if re.match(r"[A-Ea-e]\d\d", code) else ()


BY: dict[str, Callable[[Collection, Filters], Labels]] = {
    "player": _players,
    "elo": _elo_bands,
    "year": _years,
    "eco": _openings,
}


def _by_number(label: str) -> tuple[int, str]:
    """Sorts 900-999 before 1000-1099, and names by the alphabet."""
    digits = re.match(r"\d+", label)
    return int(digits[0]) if digits else 0, label


def grouped(labels: Sequence[tuple[str, ...]], least: int, most: int) -> tuple[dict[str, np.ndarray], int]:
    """The games of each label, bool[games], sorted by label, and how many labels were left out.

    Used are the `most` labels with the most games, of those with at least `least`. A game may have several labels.
    """
    members: dict[str, list[int]] = {}
    for number, names in enumerate(labels):
        for name in names:
            members.setdefault(name, []).append(number)
    large = sorted((name for name in members if len(members[name]) >= least), key=lambda name: -len(members[name]))
    sets = {}
    for name in sorted(large[:most], key=_by_number):
        sets[name] = np.zeros(len(labels), dtype=bool)
        sets[name][members[name]] = True
    return sets, len(members) - len(sets)
