"""Practice from a file of games: its exercises found once, and kept with the progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.formats.sources import digest
from merino.inner.study.analyser import Analyser
from merino.inner.study.drill.exercises import exercises_of
from merino.inner.study.drill.practice import Practice, load_progress, renewed
from merino.inner.study.errors import StudyError
from merino.inner.study.profile.players import folded, games_of_player


def practice_from(
    games: Path,
    wanted: str,
    place: Path,
    most: int,
    evaluation: LinearEvaluation,
    analyse: Callable[[], Analyser],
    report: Callable[[str, float], object] | None = None,
) -> Practice:
    """The exercises of a player, from the file `place` if it has them, else found now and kept there.

    `analyse` makes what searches, where that is needed. Raises StudyError, also if there is none, SourceError and
    OSError.
    """
    player = games_of_player(games, wanted)
    made_from = _identity(digest(games), player.name, most)
    old = load_progress(place)
    if old is not None and old.made_from == made_from:
        return old
    _check_player(old, player.name, place)
    found = exercises_of(player, evaluation, analyse(), most, report)
    if not found:
        count = "1 game" if player.count == 1 else f"{player.count} games"
        left_out = f"; {player.left_out}" if player.faulty else ""
        raise StudyError(f"no exercises: {count} of '{player.name}' without a mistake where one move is best{left_out}")
    practice = renewed(old, made_from, found)
    practice.save(place)
    return practice


def _identity(games: str, player: str, most: int) -> str:
    """What identifies games, player and number of mistakes in a file of progress."""
    return f"{games} {player} {most}"


def _player_in(identity: str) -> str:
    """The player of an identity, "" in none."""
    return " ".join(identity.split(" ")[1:-1])


def _check_player(old: Practice | None, player: str, place: Path) -> None:
    """Raise StudyError if somebody else has practised with this file; capitals and spaces make nobody another."""
    if old is None or not old.cards:
        return
    other = _player_in(old.made_from)
    if other and folded(other) != folded(player):
        raise StudyError(f"'{place}' keeps the practice of '{other}'; '{player}' needs another file: --progress FILE")
