"""`merino match A B`: two players, many games, and what they prove."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.common.interrupt import INTERRUPTED
from engine.common.live_line import LivePrinter
from engine.console.command_line import Parser
from engine.shell import match_options as options
from engine.shell.match_options import say
from engine.shell.match_validation import validate
from match.players import FORMS, read_player
from match.report import as_json, summary


def run_match(words: Sequence[str]) -> int:
    """The command in a shell: 0 when the match has been played, 130 after Ctrl-C; raises CommandError."""
    if "--validate" in words:
        return validate([word for word in words if word != "--validate"])
    with options.speaking_as("match"):
        return _match(_parser().parse_args(words))


def _match(wish: argparse.Namespace) -> int:
    players = read_player(wish.a), read_player(wish.b)
    terms, sprt = options.read_terms(wish, players), options.read_test(wish)
    with LivePrinter() as show:
        outlets = options.outlets(wish, "Merino match", wish.state, show)
        result, fault = options.held(terms, wish, outlets, sprt)
    if fault and not result.tally.games:
        raise fault
    text = summary(options.names(players), str(terms), result.tally, sprt, result.seconds)
    print(text, file=sys.stderr if wish.json else sys.stdout)
    if wish.json:
        print(json.dumps(as_json(options.names(players), result.tally, sprt)))
    if fault:
        raise fault
    if result.interrupted:
        say(options.interrupted(wish.state))
        return INTERRUPTED
    return 0


def _parser() -> Parser:
    parser = Parser(prog="merino match", description="Let two players play and tell which is the stronger.")
    parser.add_argument("a", metavar="A", help=FORMS.replace("%", "%%"))
    parser.add_argument("b", metavar="B", help="the same")
    options.add_terms(parser)
    options.add_test(parser)
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep the state here, and go on from it")
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")
    parser.add_argument("--validate", action="store_true", help="check the statistics by simulated matches instead")
    return parser
