"""Runs the command `improve` and shows its lines and progress; the same at the console and in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from merino.inner.app.console import shared_options as shared
from merino.inner.app.console.command_line import Parser
from merino.inner.app.console.learn_options import add_position_choice, add_what_to_fit, chosen_terms, set_in_use
from merino.inner.app.console.learning import shown
from merino.inner.app.console.rounds_options import (
    add_deciding_match,
    add_games,
    add_round_seed,
    add_when_to_stop,
    check_will_end,
    work_kept,
)
from merino.inner.app.console.shared_options import progress_stream
from merino.inner.core.common.command import CommandError
from merino.inner.core.common.folders import user_folder
from merino.inner.eval.evaluation import EvaluationError
from merino.inner.eval.linear.sets import set_named
from merino.inner.formats.sources import SourceError
from merino.inner.learn.improve.plan import Plan
from merino.inner.learn.improve.start import begin
from merino.inner.learn.improve.state import ImproveState
from merino.inner.learn.positions import Quiet
from merino.inner.learn.request import Say
from merino.inner.learn.rounds.loop import Finished, Until, described
from merino.inner.learn.targets import BLEND
from merino.inner.match.errors import MatchError

DEFAULTS = Plan()


def improve(words: Sequence[str], say: Say, command: str = "merino improve") -> Finished[ImproveState]:
    """Carry out what follows `command`; raises CommandError, and SystemExit after printing the help.

    Lines go to `say`, progress to standard error.
    """
    parser = improve_parser(command)
    args = parser.parse_args(list(words))
    check_will_end(parser, args, "rounds")
    if args.of_set is not None and args.weights is not None:
        parser.error("--set starts from the pieces alone; leave out --weights")
    folder = args.state or user_folder("data") / "improve"
    try:
        with shown(shared.unless_quiet(say, args.quiet), progress_stream(args.quiet)) as events:
            until = Until(args.hours, args.rounds)
            found = begin(folder, args.weights, _asked(args, parser), until, events, args.concurrency, args.of_set)
    except (SourceError, EvaluationError, MatchError) as error:
        raise CommandError(f"improve: {error}") from error
    except OSError as error:
        raise work_kept("improve", error) from error
    _report(found, say, command)
    return found


def improve_parser(command: str = "merino improve") -> Parser:
    """The parser of `improve`."""
    parser = Parser(
        prog=command,
        description="Learn from games of Merino against itself, round after round: play, learn, and prove by a match. "
        "New weights are used only after their match has proved them stronger.",
        notes="The same command continues where it was stopped or killed. Its folder keeps the settings: other "
        "settings need another folder.",
        examples=(
            "merino improve --hours 3",
            "merino improve --rounds 20 --weights weights/greko2015-before-training.txt --state from-greko",
            "merino plot from-greko",
        ),
    )
    add_when_to_stop(parser, "rounds")
    add_games(parser, DEFAULTS, "round")
    add_what_to_fit(parser, ", such as 6-27 (default: all)", str(DEFAULTS.phases), f"{BLEND}={DEFAULTS.share:g}")
    add_position_choice(parser, usual=None)
    add_deciding_match(parser, DEFAULTS, "the first weights")
    sentence = "start from this file and leave the weights in use alone (default: the weights in use)"
    start = parser.group(shared.EVALUATION).add_argument("--weights", metavar="FILE", help=sentence)
    parser.also_accept("--from", start)
    sentence = "start from the values of the pieces alone, with all other terms of this set at 0"
    parser.group(shared.EVALUATION).add_argument("--set", dest="of_set", metavar="SET", help=sentence)
    add_round_seed(parser, DEFAULTS)
    shared.add_state(parser, "FOLDER")
    shared.add_quiet(parser)
    return parser


def _asked(args: argparse.Namespace, parser: Parser) -> dict[str, Any]:
    """The settings of the Plan that were given."""
    given = {each.name: getattr(args, each.name, None) for each in fields(Plan)}
    if args.target is not None:
        given["share"] = args.target.share
    if args.positions is not None:
        given["positions"] = Quiet(args.positions)
    if args.sprt is not None:
        given |= args.sprt
    if args.terms is not None:
        terms = set_in_use(args.weights) if args.of_set is None else set_named(args.of_set)
        chosen = chosen_terms(args.terms, terms, parser)
        if "names" in chosen:
            parser.error("--terms takes one range here, such as 6-27")
        given |= chosen
    return {name: value for name, value in given.items() if value is not None}


def _report(found: Finished[ImproveState], say: Say, command: str) -> None:
    """The summary at the end of a run."""
    say(f"{described(found.state)}; the best weights are in '{found.best}'.")
    if found.interrupted:
        say(f"Stopped; '{command}' with the same options continues.")
    elif found.state.rounds and command.startswith("merino"):
        say(f"To draw it: merino plot '{found.best.parent}'")
