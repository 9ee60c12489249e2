"""`merino night`: generations of nets, each trained on games of the best one and proved by a match."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from merino.app.console import shared
from merino.app.console.learning import shown
from merino.core.common.command import errors_named
from merino.core.common.files import user_folder
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.options import add_options, given
from merino.core.common.text import as_word
from merino.core.common.work import Needs, WorkError
from merino.eval.evaluation import EvaluationError
from merino.formats.packed import PackedError
from merino.formats.sources import SourceError
from merino.lab.nets.night.learner import DEFAULT_START, begin
from merino.lab.nets.night.state import DEFAULT_FOLDER, NOTHING, NightPlan, NightState, as_plain, summary
from merino.learn.errors import TrainingError
from merino.learn.improve.rounds import Finished, Until
from merino.match.games import MatchError


def run_night(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    parser = _parser()
    args = parser.parse_args(words)
    shared.check_will_end(parser, args, "generations")

    def say(line: str) -> None:
        print(line, file=sys.stderr if args.json else sys.stdout, flush=True)

    asked, until = given(vars(args), NightPlan), Until(args.hours, args.generations)
    asked |= dict(zip(("elo0", "elo1"), args.sprt or (), strict=False))
    try:
        folder = args.state or user_folder("data") / DEFAULT_FOLDER
        with (
            errors_named("night", SourceError, EvaluationError, PackedError, TrainingError, MatchError, WorkError),
            shown(shared.unless_quiet(say, args.quiet), shared.progress_stream(args.quiet)) as events,
            shared.cluster_executor(args.cluster, "night", events.say, Needs(("match",))) as executor,
        ):
            found = begin(folder, args.start, asked, until, events, args.concurrency, executor)
    except OSError as error:
        raise shared.work_kept("night", error) from error
    if args.json:
        print(json.dumps({"best": str(found.best), "generations": as_plain(found.state)}))
    else:
        print("\n".join([*summary(found.state), *_what_next(found)]))
    return INTERRUPTED if found.interrupted else 0


def _parser() -> shared.Parser:
    parser = shared.Parser(
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
    add_options(parser, NightPlan)
    shared.add_concurrency(parser, "games", cluster="play the games and matches")
    shared.add_deciding_test(parser, NightPlan())
    shared.add_state_of_runs(parser, DEFAULT_FOLDER)
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser


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
