"""The panel of piece values: what pieces are worth in games that the page sends, which are not kept."""

from functools import partial

from merino.app.explorer import channel, games, state
from merino.formats.sources import LeftOut
from merino.lab.points.games import PointsRequest, read_source, sets_of
from merino.lab.points.report import as_object
from merino.lab.points.values import values_of


def points(fields: state.Fields, _: state.ServerState, say: channel.Say, stop: channel.Stop) -> channel.Message:
    """The values of the pieces in the games of one text or of several files, by regression."""
    with games.sent_games(fields, joined=True) as sent:
        request, left_out, show = PointsRequest(), LeftOut(), partial(channel.progressed, say, stop)
        source = read_source(sent.paths[0], request, lambda _, done: show("Reading games", done), left_out)
        say({"type": "progress", "what": "Fitting", "done": None})
        values = values_of(sets_of([source._replace(label=sent.title)], request)[0], request)[0]
    if not values:
        raise state.RequestError(
            "too few games to fit: two decided games are needed, one of them with a pawn more on one side"
        )
    return {"type": "done", "points": as_object(values[0]) | left_out.as_json()}
