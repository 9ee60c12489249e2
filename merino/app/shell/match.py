"""`merino match A B`: a match between two players, with Elo, LOS and a sequential test."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import numpy as np

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, positive
from merino.app.console.shared_options import cluster_executor
from merino.app.shell import match_options as options
from merino.core.common.terminal import LivePrinter
from merino.match.players import needs_of, read_player
from merino.match.report import as_json, summary
from merino.match.statistics import Model, Sprt
from merino.match.validate import SHAPES, coverage, shares_for, simulate_test

DEFAULT_MATCHES = 2000
TESTS = (
    Sprt(0, 10, model=Model.NORMALIZED),
    Sprt(-5, 5, model=Model.NORMALIZED),
    Sprt(0, 10, model=Model.LOGISTIC),
    Sprt(0, 20, 0.05, 0.10, Model.NORMALIZED),
)
PAIRS_OF_BARS = (50, 200, 1000)
ELOS_OF_BARS = (0.0, 30.0, 150.0)


def run_match(words: Sequence[str]) -> int:
    """The command in a shell: 0 after the match, 130 after Ctrl-C; raises CommandError."""
    if "--validate" in words:
        return _validate([word for word in words if word != "--validate"])
    with options.errors_of("match"):
        parser = _parser()
        args = parser.parse_args(words)
        shared.check_cluster(parser, args)
        return _match(args)


def _match(args: argparse.Namespace) -> int:
    players = read_player(args.a), read_player(args.b)
    config, sprt = options.read_config(args, players), options.read_test(args)
    with LivePrinter(shared.progress_stream(args.quiet)) as show:
        output = options.output(args, "Merino match", args.pgn, args.state, show)
        with cluster_executor(args.cluster, "match", options.remarks(args), needs_of(players)) as executor:
            result, fault = options.run_and_catch(config, args, output, sprt, executor)
    if fault and not result.tally.games:
        raise fault
    text = summary(options.names(players), str(config), config.conditions, result.tally, sprt, result.seconds)
    if not (args.json and args.quiet):
        print(text, file=sys.stderr if args.json else sys.stdout)
    if args.json:
        print(json.dumps(as_json(options.names(players), result.tally, sprt)))
    return options.ended(args, result.interrupted, fault)


def _parser() -> Parser:
    parser = Parser(
        prog="merino match",
        description="Play a match between two players and print Elo, LOS and, with --sprt, the test.",
        notes=options.player_forms(),
        examples=(
            "merino match default my-weights.txt --games 2000 --nodes 1000",
            "merino match default futility_margin=140 --sprt 0 5 --resign movecount=3 score=600",
            "merino match default my-weights.txt --sprt 0 5 --cluster tcp://10.0.0.1:8786",
            'merino match default "stockfish,option.Skill Level=5" --tc 10+0.1 --openings book.pgn --pgn games.pgn',
        ),
    )
    parser.add_argument("a", metavar="A", help="the first player")
    parser.add_argument("b", metavar="B", help="its opponent")
    options.add_game_options(parser, options.DEFAULT_GAMES, "of the match")
    options.add_test(parser)
    shared.add_state(parser)
    shared.add_json(parser)
    shared.add_quiet(parser)
    sentence = "instead, check the statistics by simulated matches; takes no players"
    parser.add_argument("--validate", action="store_true", help=sentence)
    return parser


def _validate(words: Sequence[str]) -> int:
    """Print how often the test errs in simulated matches, and how often its error bars hold; 0."""
    parser = Parser(
        prog="merino match --validate",
        description="Simulate matches of known strength, and compare the error rates of the test with alpha and beta.",
        examples=("merino match --validate --matches 500",),
    )
    sentence = "simulated matches per row (default: %(default)s)"
    parser.add_argument("--matches", metavar="N", type=positive, default=DEFAULT_MATCHES, help=sentence)
    shared.add_seed(parser, "the simulated games")
    args = parser.parse_args(words)
    random = np.random.default_rng(args.seed)
    margin = 1.96 * (0.05 * 0.95 / args.matches) ** 0.5
    print(f"Sequential test, {args.matches} simulated matches per row; true Elo at elo0, between, and at elo1.")
    print(f"By chance alone, a share of 5% or 95% is up to {margin:.1%} off (in 19 of 20 cases), here and below.")
    print("| Test | alpha, beta | Pairs | True Elo | elo1 accepted | promised | Pairs a match |")
    print("| --- | --- | --- | ---: | ---: | --- | ---: |")
    for sprt in TESTS:
        for name, shape in SHAPES.items():
            for elo in (sprt.elo0, (sprt.elo0 + sprt.elo1) / 2, sprt.elo1):
                trial = simulate_test(sprt, shares_for(shape, elo, sprt.model), args.matches, random)
                promise = {sprt.elo0: f"at most {sprt.alpha:.1%}", sprt.elo1: f"at least {1 - sprt.beta:.1%}"}
                row = (
                    sprt,
                    f"{sprt.alpha:g}, {sprt.beta:g}",
                    name,
                    f"{elo:g}",
                    f"{trial.accepted / trial.matches:.1%}",
                )
                print(f"| {' | '.join(map(str, row))} | {promise.get(elo, '')} | {trial.pairs:.0f} |", flush=True)
    print(f"\n95% interval of the Elo, {args.matches} simulated matches per cell: how often it contains the true Elo")
    print("| True Elo | Pairs | " + " | ".join(f"{number} of them" for number in PAIRS_OF_BARS) + " |")
    print("| ---: | --- |" + " ---: |" * len(PAIRS_OF_BARS))
    for elo in ELOS_OF_BARS:
        for name, shape in SHAPES.items():
            shares = shares_for(shape, elo, Model.LOGISTIC)
            cells = [f"{coverage(shares, number, args.matches, random):.1%}" for number in PAIRS_OF_BARS]
            print(f"| {elo:g} | {name} | {' | '.join(cells)} |", flush=True)
    return 0
