"""`merino gauntlet` and `merino round-robin`: several players and a table of their ratings."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, any_number
from merino.app.console.shared_options import cluster_executor
from merino.app.shell import match_options as options
from merino.app.shell.output_files import make_folder
from merino.core.common.command import UsageError
from merino.core.common.text import did_you_mean
from merino.match.games import MatchError, Tally
from merino.match.players import Player, needs_of, read_player
from merino.match.report import Pairing, Schedule, counts_text, faults, faults_text, pool_table, rate, table
from merino.match.runner import MatchResult

DEFAULT_GAMES = 100


def run_gauntlet(words: Sequence[str]) -> int:
    """The first player against each other one, or all against a pool; 0, or 130 after Ctrl-C; raises CommandError."""
    return _named(Schedule.GAUNTLET, "Play one player, the first, against each of the others", words)


def run_round_robin(words: Sequence[str]) -> int:
    """Each player against each other one; 0, or 130 after Ctrl-C; raises CommandError."""
    return _named(Schedule.ROUND_ROBIN, "Play each player against each other one", words)


def _named(kind: Schedule, sentence: str, words: Sequence[str]) -> int:
    with options.errors_of(kind):
        return _run(kind, sentence, words)


def _run(kind: Schedule, sentence: str, words: Sequence[str]) -> int:
    parser = _parser(kind, sentence)
    args = parser.parse_args(words)
    shared.check_cluster(parser, args)
    pool = [read_player(text) for text in getattr(args, "pool", None) or ()]
    versions = [read_player(text) for text in args.players]
    players = [*versions, *pool]
    names = options.names(players)
    if len(players) < 2 or len(set(names)) < len(names):
        raise UsageError(f"{kind}: at least two players with different names are needed; ',name=X' names a player")
    anchor, rating = _read_anchor(kind, args.anchor, names, 0 if pool else len(names) - 1)
    if args.state is not None:
        make_folder(args.state, kind)
    pairings = kind.pairings(len(versions), len(pool))
    tallies: dict[Pairing, Tally] = {}
    with cluster_executor(args.cluster, kind, options.remarks(args), needs_of(players)) as executor:
        for pairing in pairings:
            match, fault = _play(kind, args, players, pairing, executor)
            if match.tally.games:
                tallies[pairing] = match.tally
            if match.interrupted or fault:
                break
    if fault and not tallies:
        raise fault
    rows = rate(names, tallies, anchor, rating)
    if not (args.json and args.quiet):
        text = table(rows, names[anchor])
        if pool:
            text = f"{pool_table(names[: len(versions)], names[len(versions) :], tallies, rows)}\n\n{text}"
        print("\n" + text, file=sys.stderr if args.json else sys.stdout)
    if args.json:
        pairs = {f"{names[first]} - {names[second]}": tally for (first, second), tally in tallies.items()}
        lost = {pair: faults(tally) for pair, tally in pairs.items()}
        print(json.dumps({"ratings": [asdict(row) for row in rows], "faults": lost}))
    return options.ended(args, match.interrupted, fault)


def _parser(kind: Schedule, sentence: str) -> Parser:
    examples = [
        f"merino {kind} default my-weights.txt razor_depth=2 --games 200",
        f'merino {kind} default "stockfish,option.Skill Level=5,name=SF5" stash-bot --tc 10+0.1 --anchor SF5=2000',
    ]
    if kind is Schedule.GAUNTLET:
        examples.append("merino gauntlet old.txt new.txt --pool toga2 stash-bot glaurung --games 200 --tc 40/60")
    parser = Parser(
        prog=f"merino {kind}",
        description=f"{sentence}, and print a table of ratings.",
        notes=options.player_forms(),
        examples=tuple(examples),
    )
    if kind is Schedule.GAUNTLET:
        parser.add_argument("players", nargs="+", metavar="PLAYER", help="two players or more; one or more with --pool")
        sentence = "opponents: each PLAYER plays against each of these instead, to compare versions of an engine"
        parser.add_argument("--pool", nargs="+", metavar="OPPONENT", help=sentence)
        usual = "the last one, at 0; with --pool the first"
    else:
        parser.add_argument("players", nargs="+", metavar="PLAYER", help="two players or more")
        usual = "the last one, at 0"
    parser.add_argument("--anchor", metavar="NAME=ELO", help=f"fix the rating of a player (default: {usual})")
    options.add_game_options(parser, DEFAULT_GAMES, "per pairing")
    shared.add_state(parser, "FOLDER")
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser


def _play(
    kind: Schedule, args: Namespace, players: list[Player], pairing: tuple[int, int], executor: Executor | None
) -> tuple[MatchResult, MatchError | None]:
    """One match of the tournament, and the error that ended it."""
    first, second = (players[index] for index in pairing)
    config = options.read_config(args, (first, second))
    title = f"{first.label} - {second.label}"
    state = f"{pairing[0] + 1}-{pairing[1] + 1}"
    result, fault = options.play_titled(config, args, f"Merino {kind}", title, state, executor)
    if not result.tally.games:
        return result, fault
    lost = faults_text((first.label, second.label), result.tally)
    options.remarks(args)(f"{title}: {counts_text(result.tally)}  faults: {lost}")
    return result, fault


def _read_anchor(kind: Schedule, text: str | None, names: list[str], usual: int) -> tuple[int, float]:
    """The number of the player whose rating is fixed, `usual` if none is named, and the rating; raises UsageError."""
    if text is None:
        return usual, 0.0
    name, _, value = text.rpartition("=")
    if name not in names:
        known = f"{', '.join(names)}{did_you_mean(name, names)}"
        raise UsageError(f"{kind}: --anchor: there is no player '{name}' among {known}")
    try:
        return names.index(name), any_number(value)
    except ArgumentTypeError as error:
        raise UsageError(f"{kind}: --anchor: '{value}' is not a rating") from error
