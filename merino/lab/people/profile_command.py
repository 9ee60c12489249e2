"""`merino profile GAMES.pgn --player NAME`: what a player's moves say about how they value positions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, whole
from merino.app.shell.search_request import default_analyser
from merino.core.common.command import errors_named
from merino.core.common.progress import ProgressOfMany
from merino.engine.search.people import people
from merino.eval.families import default
from merino.formats.sources import SourceError
from merino.lab.people.profile.choices import MAX_CHOICES
from merino.lab.people.profile.players import games_of_player
from merino.lab.people.profile.profile import MIN_CHOICES, as_object, profile_of
from merino.lab.people.profile.text import render
from merino.study.errors import StudyError


def run_profile(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    args = _parser().parse_args(arguments)
    evaluation = default()
    with errors_named("profile", StudyError, SourceError):
        player = games_of_player(args.file, args.player)
        show = ProgressOfMany(shared.progress_stream(args.quiet))
        try:
            profile = profile_of(player, evaluation, people(), args.positions, default_analyser, show)
        finally:
            show.wipe()
    print(json.dumps(as_object(profile)) if args.json else render(profile))
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="merino profile",
        description="Fit a model of choice to a player's moves, and say what they value, and where they go wrong.",
        examples=("merino profile games.pgn --player Carlsen", "merino profile mine.pgn --player me --json"),
        notes="The model gives each legal move a chance, from what searches of three depths say of it, from habits and "
        "from the terms that it changes. It is fitted to the moves after the opening, with what is known of other "
        "players as a start, and judged on games kept apart.",
    )
    parser.add_argument("file", metavar="GAMES.pgn", type=file_path, help="the games, plain or compressed")
    parser.add_argument("--player", metavar="NAME", required=True, help="who is meant; a part of the name will do")
    sentence = "look at this many positions of the games at most (default: %(default)s)"
    parser.add_argument("--positions", metavar="N", type=whole(MIN_CHOICES), default=MAX_CHOICES, help=sentence)
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser
