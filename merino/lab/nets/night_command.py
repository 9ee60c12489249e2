"""`merino night`: generations of nets, each trained on games of the best one and proved by a match."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, natural, positive
from merino.app.console.learning import shown
from merino.app.console.shared_options import cluster_executor
from merino.core.common.command import errors_named
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.text import as_word
from merino.core.common.user_files import user_folder
from merino.core.common.work import Needs, WorkError
from merino.eval.evaluation import EvaluationError
from merino.eval.net.network import EXAMPLE
from merino.formats.packed import PackedError
from merino.formats.sources import SourceError
from merino.lab.nets.night.learner import DEFAULT_START, begin
from merino.lab.nets.night.state import DEFAULT_FOLDER, NOTHING, NightPlan, NightState, as_plain, summary
from merino.lab.nets.shapes import MAX_GAMES, MIN_GAMES
from merino.learn.errors import TrainingError
from merino.learn.improve.rounds import Finished, Until
from merino.match.games import MatchError

DEFAULTS = NightPlan()


def run_night(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    parser = _parser()
    args = parser.parse_args(words)
    shared.check_will_end(parser, args, "generations")

    def say(line: str) -> None:
        print(line, file=sys.stderr if args.json else sys.stdout, flush=True)

    try:
        with errors_named("night", SourceError, EvaluationError, PackedError, TrainingError, MatchError, WorkError):
            found = _carry_out(args, shared.unless_quiet(say, args.quiet))
    except OSError as error:
        raise shared.work_kept("night", error) from error
    if args.json:
        print(json.dumps({"best": str(found.best), "generations": as_plain(found.state)}))
    else:
        print("\n".join([*summary(found.state), *_what_next(found)]))
    return INTERRUPTED if found.interrupted else 0


def _carry_out(args: argparse.Namespace, say: shared.Say) -> Finished[NightState]:
    folder = args.state or user_folder("data") / DEFAULT_FOLDER
    until = Until(args.hours, args.generations)
    with (
        shown(say, shared.progress_stream(args.quiet)) as events,
        cluster_executor(args.cluster, "night", events.say, Needs(("match",))) as executor,
    ):
        return begin(folder, args.start, _asked(args), until, events, args.concurrency, executor)


def _parser() -> Parser:
    parser = Parser(
        prog="merino night",
        description="Make nets that grow stronger, generation after generation: play games with the best net so far, "
        "train a net whose shape follows the number of positions, and let a match decide. The best net is replaced "
        "only by one that has won, and nothing outside the folder is touched.",
        notes="The same command continues where it was stopped or killed. Its folder keeps all games, and the "
        "settings: other settings need another folder.",
        examples=(
            "merino night --hours 8",
            "merino night --hours 8 --from nothing --state from-nothing",
            "merino plot from-nothing",
        ),
    )
    shared.add_when_to_stop(parser, "generations")
    sentence = (
        f"begin with this net, a file or a name in weights/, or with '{NOTHING}': the values of the pieces, and no "
        f"other knowledge (default: {DEFAULT_START})"
    )
    parser.group(shared.EVALUATION).add_argument("--from", dest="start", metavar="NET", help=sentence)
    sentence = f"{MIN_GAMES} from nothing; up to {MAX_GAMES} from a net that has learned from many positions"
    shared.add_games(parser, DEFAULTS, "generation", sentence, "play the games and matches")
    sentence = (
        "fewest nodes per move: each net from random weights that wins takes three tenths of them away, down to N, for "
        f"more games in the same time (default: {DEFAULTS.fewest_nodes})"
    )
    parser.group("training games").add_argument("--fewest-nodes", type=positive, metavar="N", help=sentence)
    shared.add_target(parser, DEFAULTS.power, DEFAULTS.ahead, is_kept=True)
    sentence = f"shape of all nets, as in '{EXAMPLE}' (default: what the positions support)"
    parser.group(shared.TRAINING).add_argument("--shape", metavar="EXPR", help=sentence)
    shared.add_gpu(parser, is_kept=True)
    shared.add_deciding_match(parser, DEFAULTS, "the start, and against the terms,")
    sentence = (
        "games after each success against each rung of the ladder, older nets that stay the same: of Merino, and those "
        f"of this run that were the first, second, fourth, eighth... to win; 0 for none (default: {DEFAULTS.ladder})"
    )
    parser.group("deciding match").add_argument("--ladder", type=natural, metavar="N", help=sentence)
    shared.add_round_seed(parser, DEFAULTS)
    shared.add_state_of_runs(parser, DEFAULT_FOLDER)
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the NightPlan that were given."""
    given = {each.name: getattr(args, each.name, None) for each in fields(NightPlan)}
    given |= args.sprt or {}
    return {name: value for name, value in given.items() if value is not None}


def _what_next(found: Finished[NightState]) -> Iterator[str]:
    """The last lines of the report: where the best net is, and what to do with it."""
    best = found.best
    yield f"The best is in '{best}'."
    if found.interrupted:
        yield "Stopped; the same command continues."
    if found.state.last_proven:
        yield f"To play with it: option EvalFile, value '{best.absolute()}'. Its card: merino net {as_word(best)}"
    if found.state.rounds:
        yield f"To draw it: merino plot {as_word(best.parent)}"
