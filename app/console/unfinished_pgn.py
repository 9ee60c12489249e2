"""The text of an unfinished game, written and read: PGN whose tags also tell who plays and with which limits.

Tags besides the usual ones: `PlyCount` (a file cut short is noticed), `Person` and `Seen` (a side), `Limit` (a command
such as "level 40 5 0"), `Clocks` (what is left in ms, and the moves made), `Thought` (ms), `Elo`, `Style` and
`StyleCoefficients` (`opponent.py`), `Undone` (moves) and `Saved` (where `save` put the game).
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import chess.pgn

from merino.inner.app.console.console_game import ConsoleGame
from merino.inner.app.console.ending import UNFINISHED, side_name
from merino.inner.app.console.opponent import Opponent
from merino.inner.app.console.pace import ClockPace, Pace, pace_of
from merino.inner.app.console.scoresheet import Scoresheet
from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.common.errors import MerinoError
from merino.inner.engine.notation.games import FaultKeeper, loaded
from merino.inner.formats.pgn_text import tag_pair

_BOTH = "both"
_SIDES = {side_name(WHITE): WHITE, side_name(BLACK): BLACK, _BOTH: None}


class DamagedGameError(MerinoError):
    """A file that does not hold a kept game; the message says why."""


@dataclass(frozen=True)
class KeptGame:
    """A game, the side that the person plays (None: both), and how the engine plays."""

    game: ConsoleGame
    person: int | None
    opponent: Opponent

    def __str__(self) -> str:
        moves = (len(self.game.position.moves) + 1) // 2
        person = "you play both sides" if self.person is None else f"you are {side_name(self.person)}"
        return f"{moves} move{'s' if moves > 1 else ''}, {person}"

    def text(self) -> str:
        """The file."""
        game = self.game
        tags = {
            "PlyCount": str(len(game.position.moves)),
            "Person": _BOTH if self.person is None else side_name(self.person),
            "Seen": side_name(BLACK if game.is_flipped else WHITE),
            "Limit": game.pace.command,
            "Thought": _in_words(game.thought_ms),
        }
        if isinstance(game.pace, ClockPace):
            tags["Clocks"] = _in_words(game.pace.state)
        tags |= self.opponent.tags()
        if game.undone:
            tags["Undone"] = " ".join(game.position.uci(move) for move in reversed(game.undone))
        tags |= game.sheet.saved_tag([*game.position.moves, *reversed(game.undone)])
        return "".join(f"{tag_pair(*tag)}\n" for tag in tags.items()) + game.sheet.pgn(game.position, UNFINISHED) + "\n"

    @classmethod
    def read(cls, text: str) -> KeptGame:
        """The game of a file; raises DamagedGameError."""
        game = chess.pgn.read_game(io.StringIO(text), Visitor=FaultKeeper)
        if game is None:
            raise DamagedGameError("it holds no game")
        if game.errors:
            raise DamagedGameError(str(game.errors[0]))
        try:
            return cls._of(game)
        except KeyError as error:
            raise DamagedGameError(f"the tag {error} is missing or has an unknown value") from error
        except (MerinoError, ValueError) as error:
            raise DamagedGameError(str(error)) from error

    @classmethod
    def _of(cls, game: chess.pgn.Game) -> KeptGame:
        """The game with its tags; raises KeyError, ValueError or MerinoError."""
        tags, position = game.headers, loaded(game, 1).position
        if len(position.moves) != int(tags["PlyCount"]):
            raise DamagedGameError(f"it has {len(position.moves)} of {tags['PlyCount']} plies")
        undone = position.copy().push_all(tags.get("Undone", "").split())
        white, black = map(int, tags["Thought"].split())
        person = _SIDES[tags["Person"]]
        console_game = ConsoleGame(
            position,
            Scoresheet.from_own_tags(tags, [*position.moves, *undone]),
            undone[::-1],
            _pace(tags),
            [white, black],
            is_forced=person is None,
            is_flipped=_SIDES[tags["Seen"]] == BLACK,
            is_played=True,
        )
        return cls(console_game, person, Opponent.from_tags(tags))


def _pace(tags: Mapping[str, str]) -> Pace:
    """The engine's limit, its clocks as they stood; raises UsageError, KeyError or ValueError."""
    pace = pace_of(tags["Limit"])
    if isinstance(pace, ClockPace):
        pace.restore(tuple(map(int, tags["Clocks"].split())))
    return pace


def _in_words(numbers: list[int] | tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
