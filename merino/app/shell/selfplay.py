"""`merino selfplay N`: games of Merino against itself, to learn from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, natural, positive
from merino.app.console.shared_options import cluster_executor
from merino.app.shell import match_options as options
from merino.core.common.command import UsageError
from merino.core.common.terminal import LivePrinter
from merino.core.common.text import as_word
from merino.eval.evaluation import EvaluationError
from merino.eval.families import load_chosen
from merino.match.config import CLEAR_WIN, DEFAULT_NODES, MatchConfig, RandomMoves, TimeControl
from merino.match.games import PLIES
from merino.match.players import OwnPlayer, needs_of
from merino.match.report import count_line

EARLY = 6  # plies at which any good move may be played, as GreKo did
EARLY_LOSS = 100  # centipawns that such a move may lose
DEFAULT_PGN = Path("selfplay.pgn")  # where no other output is named
RESIGN = {"movecount": CLEAR_WIN.win_moves, "score": CLEAR_WIN.win_score}


def run_selfplay(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    with options.errors_of("selfplay"):
        parser = _parser()
        args = parser.parse_args(words)
        shared.check_cluster(parser, args)
        return _play(args)


def _parser() -> Parser:
    parser = Parser(
        prog="merino selfplay",
        description="Play games of Merino against itself and write them with scores, as input for 'merino learn'.",
        examples=("merino selfplay 5000", "merino selfplay 2000 --nodes 5000 --pgn games.pgn --seed 7"),
    )
    add = parser.add_argument
    add("count", type=positive, metavar="N", help="number of games")
    sentence = f"plies after the opening that are random good moves (default: {EARLY})"
    add("--early", type=natural, metavar="N", default=EARLY, help=sentence)
    sentence = f"centipawns that such a move may lose (default: {EARLY_LOSS})"
    add("--early-loss", type=natural, metavar="CP", default=EARLY_LOSS, help=sentence)
    shared.add_concurrency(parser, "games")
    shared.add_cluster(parser, "play")
    shared.add_evaluation(parser)
    shared.add_work_limits(parser, "per move", DEFAULT_NODES, options.LIMITS)
    shared.add_openings(parser, f"{PLIES} if random")
    options.add_resign(parser, RESIGN)
    shared.add_pgn(parser, f"{DEFAULT_PGN} without --positions")
    sentence = "append scored positions to this file, for 'merino train'; whole games if FILE ends in .vf"
    parser.group(shared.OUTPUT).add_argument("--positions", type=file_path, metavar="FILE", help=sentence)
    shared.add_state(parser)
    shared.add_quiet(parser)
    return parser


def _play(args: argparse.Namespace) -> int:
    try:
        player = OwnPlayer("Merino", load_chosen(args.weights, args.evalfile))
    except EvaluationError as error:
        raise UsageError(f"selfplay: {error}") from error
    config = MatchConfig(
        (player, player),
        TimeControl(args.nodes, args.depth).or_default(),
        args.count,
        args.seed,
        args.openings,
        args.plies,
        options.adjudication(args.resign),
        RandomMoves(args.early, args.early_loss, args.seed),
    )
    pgn = DEFAULT_PGN if args.pgn is None and args.positions is None else args.pgn
    with LivePrinter(shared.progress_stream(args.quiet)) as show:
        output = options.output(args, "Merino self-play", pgn, args.state, show, count_line, args.positions)
        with cluster_executor(args.cluster, "selfplay", options.remarks(args), needs_of([player])) as executor:
            result, fault = options.run_and_catch(config, args, output, None, executor)
    if fault and not result.tally.games:
        raise fault
    drawn = result.tally.points[1]
    played = f"{result.tally.games} games, {drawn} of them drawn, played with '{player.evaluation.name}'"
    if fault:
        print(f"{played}.")
        raise fault
    written = "' and '".join(str(path) for path in (pgn, args.positions) if path)
    print(f"{played}; they are in '{written}'.")
    if not args.quiet:
        print(f"To learn from them: merino {'learn' if pgn else 'train'} {as_word(pgn or args.positions)}")
    return options.ended(args, result.interrupted, fault)
