"""`merino night`: generations of nets, each trained on games of the best one and proved by a match."""

import json
from collections.abc import Sequence

from merino.app.console import learning, shared
from merino.core.common import files, interrupt, options, text, work
from merino.lab.nets import night
from merino.learn.improve.rounds import Until


def run_night(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises MerinoError."""
    parser = _parser()
    args = parser.parse_args(words)
    shared.check_will_end(parser, args, "generations")
    given = options.given(vars(args), night.NightPlan)
    given |= dict(zip(("elo0", "elo1"), args.sprt or (), strict=False))
    until = Until(args.hours, args.generations)
    folder = args.state or files.user_folder("data") / night.DEFAULT_FOLDER
    with (
        shared.keeping_work(),
        learning.shown(shared.for_people(args.json), args.quiet) as events,
        shared.cluster_executor(args.cluster, events.say, work.Needs(("match",))) as executor,
    ):
        found = night.begin(folder, args.start, given, until, events, args.concurrency, executor)
    state, best = found.state, found.best
    if args.json:
        print(json.dumps({"best": str(best), "generations": night.as_plain(state)}))
    else:
        print("\n".join(night.summary(state)), f"\nThe best is in '{best}'.", sep="")
        if found.interrupted:
            print("Stopped; the same command continues.")
        if state.last_proven:
            card = f"Its card: merino net {text.as_word(best)}"
            print(f"To play with it: option EvalFile, value '{best.absolute()}'. {card}")
        if state.rounds:
            print(f"To draw it: merino plot {text.as_word(best.parent)}")
    return interrupt.INTERRUPTED if found.interrupted else 0


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
        f"begin with this net, a file or a name in weights/, or with '{night.NOTHING}': the values of the pieces, and "
        f"no other knowledge (default: {night.DEFAULT_START})"
    )
    parser.group(shared.EVALUATION).add_argument("--from", dest="start", metavar="NET", help=sentence)
    options.add_options(parser, night.NightPlan)
    shared.add_concurrency(parser, "games", cluster="play the games and matches")
    shared.add_deciding_test(parser, night.NightPlan())
    shared.add_state_of_runs(parser, night.DEFAULT_FOLDER)
    shared.add_report(parser)
    return parser
