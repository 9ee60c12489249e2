"""Studies of one player shown on the page: what their moves say, and exercises from their mistakes.

The progress of practice is kept as `merino drill` keeps it: next to the file of games on the command line, or for games
that the page sends in the user's folder, by the name of their file. Where that file is somebody else's, the player has
one of their own.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from merino.app.explorer import channel, games
from merino.app.explorer.state import Fields, RequestError, ServerState
from merino.core.common import files
from merino.lab.people import drill
from merino.lab.people.games import MAX_CHOICES, folded, games_of_player
from merino.lab.people.profile import as_object, profile_of
from merino.study.judge import Judge

PRACTICES = "practices"  # in `ServerState.kept`
MAX_NAME_BYTES = 100  # of a name that becomes part of that of a file
_UNSAFE = re.compile(r"[^\w.-]+")


def profile(fields: Fields, state: ServerState, say: channel.Say, stop: channel.Stop) -> channel.Message:
    """The profile of a `player` of games, as `merino profile --json` has it; what is left out is in sentences."""
    most, progressed = fields.number("positions", 1, MAX_CHOICES), partial(channel.progressed, say, stop)
    with _studying(fields, state, stop) as (path, _, judge):
        player = games_of_player(path, fields.text("player"))
        found = profile_of(player, most or MAX_CHOICES, judge, progressed)
    return {"type": "done", "profile": as_object(found) | {"left_out": "; ".join(found.left_out.lines())}}


def practise(fields: Fields, state: ServerState, say: channel.Say, stop: channel.Stop) -> channel.Message:
    """The exercises from the mistakes of a `player`, and which are due; they are found once."""
    most, progressed = fields.number("most", 1, drill.MAX_EXERCISES), partial(channel.progressed, say, stop)
    with _studying(fields, state, stop) as (path, named, judge):
        player = games_of_player(path, fields.text("player"))

        def practice_at(place: Path) -> tuple[Path, drill.Practice]:
            with files.writing(RequestError, place):
                place.parent.mkdir(parents=True, exist_ok=True)
                with files.held(place):
                    count = most or drill.MAX_EXERCISES
                    return place, drill.practice_from(path, player, place, count, lambda: judge, judge.name, progressed)

        try:
            place, found = practice_at(drill.progress_file(named))
        except drill.OtherPlayerError:
            own = named.with_name(f"{named.name}.{_safe(folded(player.name))}")
            place, found = practice_at(drill.progress_file(own))
    _practices(state)[str(place)] = found
    about = {
        "practice": str(place),
        "attempts": drill.ATTEMPTS,
        "keeps": find_spec("fsrs") is not None,
    } | player.left_out.as_json()
    return {"type": "done", **about, **_standing(found)}


def answer_exercise(fields: Fields, state: ServerState) -> channel.Message:
    """POST /api/drill/answer: what is said of a `move` in an exercise; without a move, a hint."""
    _, exercise = _exercise(fields, state)
    if not fields.has("move"):
        return {"hint": drill.hint_for(exercise)}
    with state.judging(fields) as judge:
        reply = drill.reply_to(exercise, fields.text("move"), judge)
    refutation = list(reply.refutation)
    return {"move": reply.move, "right": reply.is_right, "sentence": reply.sentence, "refutation": refutation}


def review_exercise(fields: Fields, state: ServerState) -> channel.Message:
    """POST /api/drill/review: note whether an exercise was `found`, and say when it comes again."""
    practice, exercise = _exercise(fields, state)
    place = Path(fields.text("practice"))
    with files.writing(RequestError, place), files.held(place):
        opened, practice = practice, drill.load_progress(place) or practice  # which others may have continued
        if practice.made_from != opened.made_from:
            raise RequestError("the file of this practice now keeps another: open it again")
        again = practice.review(exercise, fields.flag("found"), datetime.now(UTC))
        practice.save(place)
    _practices(state)[str(place)] = practice
    return {"again": again.isoformat(), **_standing(practice)}


def _standing(practice: drill.Practice) -> dict[str, Any]:
    """All exercises with their solutions, and those that are due, in the order in which they are asked."""
    due = [exercise.identity for exercise in practice.due(datetime.now(UTC))]
    exercises = {one.identity: one.as_json() | {"why": one.why} for one in practice.exercises}
    return {"exercises": exercises, "due": due, "practised": len(practice.cards)}


def _practices(state: ServerState) -> dict[str, drill.Practice]:
    """Those that were opened, by the file of their progress."""
    return state.kept.setdefault(PRACTICES, {})


def _exercise(fields: Fields, state: ServerState) -> tuple[drill.Practice, drill.Exercise]:
    practice = _practices(state).get(fields.text("practice"))
    if practice is None:
        raise RequestError("this practice is no longer known: open it again")
    wanted = fields.text("exercise")
    for exercise in practice.exercises:
        if exercise.identity == wanted:
            return practice, exercise
    raise RequestError(f"there is no exercise '{wanted[:40]}'")


@contextmanager
def _studying(fields: Fields, state: ServerState, stop: channel.Stop) -> Iterator[tuple[Path, Path, Judge]]:
    """The file of the games, that by whose name the progress of practice from them is kept, and the judge.

    With `file` the games are those on the command line, else those that the request holds, for a while in a file.
    Raises RequestError where a search has been stopped.
    """
    with ExitStack() as held:
        if fields.flag("file"):
            path = named = state.games_file().path
        else:
            sent = held.enter_context(games.sent_games(fields, joined=True))
            path, named = sent.paths[0], files.user_folder("data") / "drill" / _safe(sent.title)
        try:
            yield path, named, held.enter_context(state.judging(fields, lambda: stop.is_set))
        except KeyboardInterrupt as error:
            raise RequestError("stopped") from error


def _safe(name: str) -> str:
    """A name as part of that of a file."""
    return _UNSAFE.sub("_", name).strip(".").encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "games"
