"""The panel of piece values: what pieces are worth in games that the page sends, which are not kept."""

import tempfile
from dataclasses import replace
from pathlib import Path

from merino.app.explorer.channel import Message, Say, Stop
from merino.app.explorer.games import SentGames
from merino.app.explorer.state import Fields, RequestError, ServerState
from merino.lab.points.games import PointsRequest, read_source, sets_of
from merino.lab.points.report import as_object
from merino.lab.points.values import values_of


def points(fields: Fields, _: ServerState, say: Say, stop: Stop) -> Message:
    """The values of the pieces in the games of one text or of several files, by regression."""
    sent = SentGames.of(fields)

    def show(_: str, done: float | None) -> None:
        say({"type": "progress", "what": "Reading games", "done": done})
        if stop.is_set:
            raise RequestError("stopped")

    with tempfile.TemporaryDirectory(prefix="merino-") as place:
        folder = Path(place)
        games = sent.joined(folder)
        with sent.naming():
            request = PointsRequest()
            source = read_source(games, request, show)
            say({"type": "progress", "what": "Fitting", "done": None})
            values = values_of(sets_of([replace(source, label=sent.title)], request)[0], request)[0]
    if not values:
        raise RequestError(
            "too few games to fit: two decided games are needed, one of them with a pawn more on one side"
        )
    return {"type": "done", "points": as_object(values[0])}
