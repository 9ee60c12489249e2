"""`merino selfplay N`: games of Merino against itself, to learn from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from engine.common.command import UsageError
from engine.common.interrupt import INTERRUPTED
from engine.common.live_line import LivePrinter
from engine.console.command_line import Parser
from engine.shell import match_options as options
from engine.shell.match_options import say
from eval.evaluation import EvaluationError
from eval.families import active_file, load
from match.effort import Adjudication, Variety
from match.players import OwnPlayer
from match.report import count_line
from match.terms import Terms

EARLY = 6  # half-moves at which any good move may be played, as GreKo did
EARLY_LOSS = 100  # centipawns that such a move may lose
WIN = (1000, 4)  # centipawns, moves of each side: what is so clear teaches nothing


def run_selfplay(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    with options.speaking_as("selfplay"):
        return _play(_parser().parse_args(words))


def _parser() -> Parser:
    parser = Parser(
        prog="merino selfplay",
        description="Write games of Merino against itself, with scores, for 'merino learn' to learn from.",
    )
    parser.add_argument("count", type=options.positive, metavar="N", help="how many games")
    parser.add_argument("--pgn", type=Path, default=Path("selfplay.pgn"), help="add them to this file (selfplay.pgn)")
    parser.add_argument("--weights", metavar="FILE", help="play with these (with those in use)")
    parser.add_argument("--nodes", type=options.positive, help=f"a move ({options.NODES})")
    parser.add_argument("--depth", type=options.positive, help="a move, in half-moves")
    parser.add_argument("--plies", type=options.positive, help="random half-moves at the start (8)")
    parser.add_argument("--openings", metavar="FILE", help="EPD, FEN, PGN or Polyglot instead")
    parser.add_argument("--early", type=options.natural, default=EARLY, help=f"half-moves played freely ({EARLY})")
    parser.add_argument(
        "--early-loss",
        type=options.natural,
        default=EARLY_LOSS,
        metavar="CP",
        help=f"what they may lose ({EARLY_LOSS})",
    )
    parser.add_argument("--resign", type=options.natural, nargs=2, default=WIN, metavar=("CP", "MOVES"))
    parser.add_argument("--seed", type=options.natural, default=1, help="other games for another seed (1)")
    options.add_concurrency(parser, options.positive, "games at a time (one a core)")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep the state here, and go on from it")
    return parser


def _play(wish: argparse.Namespace) -> int:
    file = active_file(wish.weights)
    try:
        player = OwnPlayer("Merino", load(file))
    except EvaluationError as error:
        raise UsageError(f"selfplay: {error}") from error
    terms = Terms(
        (player, player),
        options.effort(wish.nodes, wish.depth),
        wish.count,
        wish.seed,
        wish.openings,
        wish.plies,
        Adjudication(*wish.resign),
        Variety(wish.early, wish.early_loss, wish.seed),
    )
    with LivePrinter() as show:
        outlets = options.outlets(wish, "Merino self-play", wish.state, show, count_line)
        result, fault = options.held(terms, wish, outlets)
    if fault and not result.tally.games:
        raise fault
    drawn = result.tally.points[1]
    print(f"{result.tally.games} games, {drawn} of them drawn, played with '{file}'; they are in '{wish.pgn}'.")
    if fault:
        raise fault
    print(f"To learn from them: merino learn {wish.pgn}")
    if result.interrupted:
        say(options.interrupted(wish.state))
        return INTERRUPTED
    return 0
