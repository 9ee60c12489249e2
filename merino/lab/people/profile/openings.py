"""The openings of a player: results, what their games lose, and the mistakes that are made in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from merino.core.board.fen import COLOUR_NAMES, START_FEN, to_fen
from merino.engine.notation.san import san
from merino.engine.search.known_openings import longest_opening, opening_by
from merino.lab.people.profile.groups import Interval, JudgedMoves, MoveGroup, mean_score
from merino.lab.people.profile.mistakes import KindCount, Mistakes
from merino.lab.people.profile.players import PlayerGame, PlayerGames

MIN_RESULTS = 15  # of an opening: of fewer, those with a narrow interval are the lucky ones
MAX_ERROR = 0.15  # of the score of an opening: a wider interval says too little
SET_UP = "set-up positions"
_START = START_FEN.split()[:4]


@dataclass(frozen=True)
class OpeningRecord:
    """The games of a player with one opening and one colour."""

    name: str  # without the variation: "Sicilian Defence"; "other openings, 1.a3" of one without a name
    eco: tuple[str, ...]  # codes of its variations, sorted
    colour: str  # the player's
    games: int
    won: int
    drawn: int
    lost: int
    score: Interval | None  # the share of the points, None if no game has a result
    moves: MoveGroup | None  # after the opening, None if none was looked at
    kinds: tuple[KindCount, ...]  # of mistakes in these games, the most frequent first

    @property
    def is_enough(self) -> bool:
        """Whether the score says something."""
        results = self.won + self.drawn + self.lost
        return self.score is not None and results >= MIN_RESULTS and (self.score.high - self.score.low) / 2 <= MAX_ERROR


def openings_of(player: PlayerGames, moves: JudgedMoves, mistakes: Mistakes) -> tuple[OpeningRecord, ...]:
    """The openings by colour, the most frequent first."""
    found: dict[tuple[str, int], list[int]] = {}
    codes: dict[tuple[str, int], set[str]] = {}
    for index, game in enumerate(player.games):
        name, eco = _named(game)
        found.setdefault((name, game.colour), []).append(index)
        codes.setdefault((name, game.colour), set()).update(filter(None, [eco]))
    ordered = sorted(found, key=lambda key: (-len(found[key]), key))
    return tuple(_record(key, sorted(codes[key]), found[key], player, moves, mistakes) for key in ordered)


def _named(game: PlayerGame) -> tuple[str, str]:
    """The name of a game's opening, and its code; those of the table, for the tag may be anybody's."""
    fen = to_fen(game.start)
    if fen.split()[:4] != _START:
        return SET_UP, ""
    opening = opening_by(game.positions["key"][: longest_opening() + 1].tolist())
    if opening is None:
        return f"other openings, 1.{san(fen, int(game.moves[0]))}", ""
    return opening.name.split(",")[0], opening.eco


def _record(
    key: tuple[str, int],
    eco: Sequence[str],
    indices: Sequence[int],
    player: PlayerGames,
    judged: JudgedMoves,
    mistakes: Mistakes,
) -> OpeningRecord:
    name, colour = key
    scores = np.array([score for index in indices if (score := player.games[index].score) is not None])
    won, drawn, lost = (int((scores == value).sum()) for value in (1, 0.5, 0))
    chosen = np.isin(judged.choices.games, indices)
    return OpeningRecord(
        name,
        tuple(eco),
        COLOUR_NAMES[colour],
        len(indices),
        won,
        drawn,
        lost,
        mean_score(scores) if len(scores) else None,
        judged.group(name, chosen) if chosen.any() else None,
        mistakes.kinds(chosen),
    )
