"""`merino match A B`: a match between two players, with Elo, LOS and a sequential test."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from engine.common.interrupt import INTERRUPTED
from engine.common.live_line import LivePrinter
from engine.console import shared_options as shared
from engine.console.command_line import Parser
from engine.shell import match_options as options
from engine.shell.match_validation import validate
from match.players import read_player
from match.report import as_json, summary


def run_match(words: Sequence[str]) -> int:
    """The command in a shell: 0 when the match has been played, 130 after Ctrl-C; raises CommandError."""
    if "--validate" in words:
        return validate([word for word in words if word != "--validate"])
    with options.errors_of("match"):
        return _match(_parser().parse_args(words))


def _match(order: argparse.Namespace) -> int:
    players = read_player(order.a), read_player(order.b)
    config, sprt = options.read_config(order, players), options.read_test(order)
    with LivePrinter(shared.progress_stream(order.quiet)) as show:
        output = options.output(order, "Merino match", order.state, show)
        result, fault = options.run_and_catch(config, order, output, sprt)
    if fault and not result.tally.games:
        raise fault
    text = summary(options.names(players), str(config), config.conditions, result.tally, sprt, result.seconds)
    if not (order.json and order.quiet):
        print(text, file=sys.stderr if order.json else sys.stdout)
    if order.json:
        print(json.dumps(as_json(options.names(players), result.tally, sprt)))
    if fault:
        raise fault
    if result.interrupted:
        options.remarks(order)(options.interrupted(order.state))
        return INTERRUPTED
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="merino match",
        description="Play a match between two players and print Elo, LOS and, with --sprt, the test.",
        notes=options.player_forms(),
        examples=(
            "merino match default my-weights.txt --games 2000 --nodes 1000",
            "merino match default futility_margin=140 --sprt 0 5 --resign movecount=3 score=600",
            'merino match default "stockfish,option.Skill Level=5" --tc 10+0.1 --openings book.pgn --pgn games.pgn',
        ),
    )
    parser.add_argument("a", metavar="A", help="the first player")
    parser.add_argument("b", metavar="B", help="its opponent")
    options.add_game_options(parser, options.GAMES, "of the match")
    options.add_test(parser)
    shared.add_state(parser)
    shared.add_json(parser)
    shared.add_quiet(parser)
    sentence = "check the statistics by simulated matches instead; takes no players"
    parser.add_argument("--validate", action="store_true", help=sentence)
    return parser
