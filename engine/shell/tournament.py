"""`merino gauntlet` and `merino round-robin`: several players, and a table of their ratings."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

from engine.common.command import UsageError
from engine.common.interrupt import INTERRUPTED
from engine.common.live_line import LivePrinter
from engine.console.command_line import Parser
from engine.shell import match_options as options
from engine.shell.match_options import say
from match.contest import Result
from match.errors import MatchError
from match.games import Tally
from match.players import FORMS, Player, read_player
from match.ratings import rate, table
from match.report import counts_text, faults, faults_text

GAMES = 100


def run_gauntlet(words: Sequence[str]) -> int:
    """The first player against each of the others; 0, or 130 after Ctrl-C; raises CommandError."""
    return _named("gauntlet", "The first player against each of the others.", words)


def run_round_robin(words: Sequence[str]) -> int:
    """Everybody against everybody; 0, or 130 after Ctrl-C; raises CommandError."""
    return _named("round-robin", "Everybody against everybody.", words)


def _named(kind: str, sentence: str, words: Sequence[str]) -> int:
    with options.speaking_as(kind):
        return _run(kind, sentence, words)


def _run(kind: str, sentence: str, words: Sequence[str]) -> int:
    parser = Parser(prog=f"merino {kind}", description=f"{sentence} Prints a table of ratings.")
    parser.add_argument("players", nargs="+", metavar="PLAYER", help=FORMS.replace("%", "%%"))
    options.add_terms(parser, GAMES)
    parser.add_argument("--anchor", metavar="NAME=ELO", help="whose rating is fixed (the last player, at 0)")
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="keep the state here, and go on from it")
    parser.add_argument("--json", action="store_true", help="the table as one JSON object")
    wish = parser.parse_args(words)
    players = [read_player(text) for text in wish.players]
    names = options.names(players)
    if len(players) < 2 or len(set(names)) < len(names):
        raise UsageError(f"{kind}: it takes two players or more with different names; ',name=X' names one")
    anchor, rating = _read_anchor(wish.anchor, names)
    every = list(combinations(range(len(players)), 2))
    pairings = [pair for pair in every if pair[0] == 0] if kind == "gauntlet" else every
    results = dict[tuple[int, int], Tally]()
    interrupted, fault = False, None
    if wish.state is not None:
        _make_folder(wish.state)
    for pairing in pairings:
        result, fault = _play(kind, wish, players, pairing)
        interrupted = result.interrupted
        if result.tally.games:
            results[pairing] = result.tally
        if interrupted or fault:
            break
    if fault and not results:
        raise fault
    rows = rate(names, results, anchor, rating)
    output = sys.stderr if wish.json else sys.stdout
    print("\n" + table(rows, names[anchor]), file=output)
    if wish.json:
        lost = {names[0] + " - " + names[1]: faults(tally) for names, tally in _with_names(names, results)}
        print(json.dumps({"ratings": [asdict(row) for row in rows], "faults": lost}))
    if fault:
        raise fault
    if interrupted:
        say(options.interrupted(wish.state))
    return INTERRUPTED if interrupted else 0


def _play(
    kind: str, wish: Namespace, players: list[Player], pairing: tuple[int, int]
) -> tuple[Result, MatchError | None]:
    """One match of the tournament, and what broke it off."""
    first, second = (players[index] for index in pairing)
    terms = options.read_terms(wish, (first, second))
    title = f"{first.label} - {second.label}"
    state = None if wish.state is None else wish.state / f"{pairing[0] + 1}-{pairing[1] + 1}.json"
    with LivePrinter() as show:
        outlets = options.outlets(wish, f"Merino {kind}", state, lambda line: show(f"{title}  {line}"))
        result, fault = options.held(terms, wish, outlets)
    if not result.tally.games:
        return result, fault
    lost = faults_text((first.label, second.label), result.tally)
    print(f"{title}: {counts_text(result.tally)}  faults: {lost}", file=sys.stderr, flush=True)
    return result, fault


def _with_names(names: list[str], results: dict[tuple[int, int], Tally]) -> list[tuple[tuple[str, str], Tally]]:
    return [((names[first], names[second]), tally) for (first, second), tally in results.items()]


def _read_anchor(text: str | None, names: list[str]) -> tuple[int, float]:
    """The number of the player whose rating is fixed, and the rating; raises UsageError."""
    if text is None:
        return len(names) - 1, 0.0
    name, _, value = text.rpartition("=")
    if name not in names:
        raise UsageError(f"--anchor: no player is called '{name}'; there are {', '.join(names)}")
    try:
        return names.index(name), float(value)
    except ValueError as error:
        raise UsageError(f"--anchor: '{value}' is no rating") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MatchError(f"cannot make folder '{folder}': {error.strerror}") from error
