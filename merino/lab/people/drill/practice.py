"""Practice from the games of a player: exercises, found once, when each is due again, and the file that keeps both.

Due dates come from FSRS (the package `fsrs`, the extra `drill`): the better a move is remembered, the longer until it
is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from merino.core.common.files import write_whole
from merino.core.common.quoting import counted
from merino.core.common.sealed import as_json, from_json
from merino.core.common.user_files import STATE, faults_named, is_there, read_user_file
from merino.eval.linear.family import LinearEvaluation
from merino.formats.sources import digest, is_passing, name_of
from merino.lab.people.drill.exercises import Exercise, exercises_of
from merino.lab.people.profile.players import folded, games_of_player
from merino.study.analyser import Analyser
from merino.study.errors import StudyError

_LEARNING, _REVIEW, _RELEARNING = 1, 2, 3  # states of a card, as FSRS numbers them
_MEMORY = ((1e-3, 1e9), (1.0, 10.0))  # lowest and highest stability, in days, and difficulty of a card
MISSING = "practice needs the extra drill: pip install 'merino-chess[drill]'"


class OtherPlayerError(StudyError):
    """A file that keeps the practice of somebody else than `player`."""

    def __init__(self, sentence: str, player: str) -> None:
        super().__init__(sentence)
        self.player = player


def scheduling() -> ModuleType:
    """The package that says when an exercise is due again; raises StudyError where it is missing."""
    try:
        return import_module("fsrs")
    except ImportError as error:
        raise StudyError(MISSING) from error


def progress_file(games: Path) -> Path:
    """Where the progress of practice from a file of games is kept, if nobody says otherwise."""
    return games.parent / f"{games.name}.drill.json"


@dataclass
class Practice:
    """Exercises from some games, and the card of each that was practised, as FSRS writes it."""

    made_from: str  # what identifies games and player
    exercises: tuple[Exercise, ...]
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)

    def due(self, now: datetime) -> list[Exercise]:
        """What is to be practised now: what is due, the longest first, then what is new, the costliest first."""
        known = [exercise for exercise in self.exercises if exercise.identity in self.cards]
        late = sorted(known, key=self._due)
        new = [exercise for exercise in self.exercises if exercise.identity not in self.cards]
        return [exercise for exercise in late if self._due(exercise) <= now] + new

    def _due(self, exercise: Exercise) -> datetime:
        return datetime.fromisoformat(self.cards[exercise.identity]["due"])

    def review(self, exercise: Exercise, was_found: bool, now: datetime) -> datetime:
        """Note whether the move was found; returns when it is due again. Raises StudyError without the package."""
        fsrs = scheduling()
        before = self.cards.get(exercise.identity)
        card = fsrs.Card.from_dict(before) if before else fsrs.Card(card_id=int(exercise.identity[:12], 16))
        rating = fsrs.Rating.Good if was_found else fsrs.Rating.Again
        card, _ = fsrs.Scheduler(enable_fuzzing=False).review_card(card, rating, now)
        self.cards[exercise.identity] = dict(card.to_dict())
        return card.due

    def save(self, path: Path) -> None:
        """Write the file; raises OSError."""
        data = {
            "made_from": self.made_from,
            "exercises": [exercise.as_json() for exercise in self.exercises],
            "cards": self.cards,
        }
        write_whole(path, as_json(data, indent=1))


def load_progress(path: Path) -> Practice | None:
    """The progress in a file, None if there is no file; raises StudyError if it is anything else."""
    if not is_there(path):
        return None
    with faults_named(path, "the progress of practice", StudyError):
        data = from_json(read_user_file(path, STATE), str(path))
        progress = Practice(
            str(data["made_from"]),
            tuple(Exercise.from_json(exercise) for exercise in data["exercises"]),
            {str(name): dict(card) for name, card in dict(data["cards"]).items()},
        )
        for card in progress.cards.values():
            _check_card(card)
    return progress


def _check_card(card: dict[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError unless FSRS can go on with this card."""
    state, step, memory = card["state"], card["step"], (card["stability"], card["difficulty"])
    if state not in (_LEARNING, _REVIEW, _RELEARNING) or type(card["card_id"]) is not int:
        raise ValueError("a card that FSRS does not write")
    if not (state == _LEARNING and memory == (None, None)):
        for value, (low, high) in zip(memory, _MEMORY, strict=True):
            if isinstance(value, bool) or not low <= value <= high:
                raise ValueError("a card whose stability or difficulty cannot be")
    if step is not None if state == _REVIEW else type(step) is not int or step < 0:
        raise ValueError("a card whose step is not of its state")
    for date in (card["due"], *filter(None, [card["last_review"]])):
        if datetime.fromisoformat(date).tzinfo is None:
            raise ValueError("a date without a time zone")


def renewed(old: Practice | None, made_from: str, exercises: Sequence[Exercise]) -> Practice:
    """New exercises with what is known of them from before; earlier ones that were practised stay."""
    cards = {} if old is None else old.cards
    found = {exercise.identity: exercise for exercise in exercises}
    kept = [] if old is None else [one for one in old.exercises if one.identity in cards and one.identity not in found]
    return Practice(made_from, (*exercises, *kept), cards)


def practice_from(
    games: Path,
    wanted: str,
    place: Path,
    most: int,
    evaluation: LinearEvaluation,
    analyse: Callable[[], Analyser],
    report: Callable[[str, float], object] = lambda what, done: None,
) -> Practice:
    """The exercises of a player, from the file `place` if it has them, else found now and kept there.

    `analyse` makes what searches, where that is needed. Raises StudyError, also if there is none or the games come
    through a pipe, OtherPlayerError if the file keeps the practice of somebody else, SourceError and OSError.
    """
    player = games_of_player(games, wanted)
    if is_passing(games):
        raise StudyError(
            f"{name_of(games, quoted=True)} can be read only once: exercises need a file that keeps the games"
        )
    made_from = _identity(digest(games), player.name, most)
    old = load_progress(place)
    if old is not None and old.made_from == made_from:
        return old
    _check_player(old, player.name, place)
    practice = renewed(old, made_from, exercises_of(player, evaluation, analyse(), most, report))
    if not practice.exercises:
        count = counted(player.count, "game")
        raise StudyError(
            f"no exercises: {count} of '{player.name}' without a mistake where one move is best{player.left_out_too}"
        )
    practice.save(place)
    return practice


def _identity(games: str, player: str, most: int) -> str:
    """What identifies games, player and number of mistakes in a file of progress."""
    return f"{games} {player} {most}"


def _player_in(identity: str) -> str:
    """The player of an identity, "" in none."""
    return " ".join(identity.split(" ")[1:-1])


def _check_player(old: Practice | None, player: str, place: Path) -> None:
    """Raise OtherPlayerError if somebody else has practised with this file; capitals and spaces make nobody another."""
    if old is None or not old.cards:
        return
    other = _player_in(old.made_from)
    if other and folded(other) != folded(player):
        sentence = f"'{place}' keeps the practice of '{other}'; '{player}' needs another file: --progress FILE"
        raise OtherPlayerError(sentence, player)
