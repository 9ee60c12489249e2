"""The commands that play games, `merino match`, `gauntlet`, `round-robin` and `selfplay`, and their options."""

import json
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

from merino.app.console import shared
from merino.core.common import command, errors, files, interrupt, options, terminal, work
from merino.core.common.text import as_word, did_you_mean
from merino.eval.families import load_chosen
from merino.match import report, runner, statistics
from merino.match.config import CLEAR_WIN, DEFAULT_MARGIN_MS, Adjudication, MatchConfig, RandomMoves, TimeControl
from merino.match.games import MAX_PLIES, MatchError, MatchUsageError, Tally
from merino.match.players import FORMS, OwnPlayer, Player, needs_of, read_player
from merino.match.runner import run_match as play_match

GAMES_OF_A_MATCH, GAMES_OF_A_PAIRING = 1000, 100
EARLY, EARLY_LOSS = 6, 100  # random moves of self-play, as in GreKo
SELFPLAY_PGN = Path("selfplay.pgn")  # where no other output is named
RESIGN_IN_SELFPLAY = {"movecount": CLEAR_WIN.win_moves, "score": CLEAR_WIN.win_score}
PLIES_OF_A_MOVE = 2
ADJUDICATION, TEST = "adjudication", "sequential test"  # titles of groups
A_PLAYER = f"A player is {FORMS}."


def run_match(words: Sequence[str]) -> int:
    """`merino match`: 0 after the match, 130 after Ctrl-C; raises CommandError and MatchError."""
    parser = shared.Parser(
        prog="merino match",
        description="Play a match between two players and print Elo, LOS and, with --sprt, the test.",
        notes=A_PLAYER,
        examples=(
            "merino match default my-weights.txt --games 2000 --nodes 1000",
            "merino match default futility_margin=140 --sprt 0 5 --resign movecount=3 score=600",
            "merino match default my-weights.txt --sprt 0 5 --cluster tcp://10.0.0.1:8786",
            'merino match default "stockfish,option.Skill Level=5" --tc 10+0.1 --openings book.pgn --pgn games.pgn',
        ),
    )
    parser.add_argument("a", metavar="A", help="the first player")
    parser.add_argument("b", metavar="B", help="its opponent")
    add_game_options(parser, GAMES_OF_A_MATCH)
    normal, logistic = (f"{statistics.MAX_ELO[model]:g}" for model in statistics.Model)
    sentence = "stop as soon as the test accepts one of two Elo differences of A over B, "
    sentence += f"each within +-{normal} (logistic: {logistic})"
    shared.add_sprt(parser, TEST, sentence)
    add = parser.group(TEST).add_argument
    for option, bound in (("--alpha", "ELO1"), ("--beta", "ELO0")):
        sentence = f"probability of wrongly accepting {bound} (default: 0.05)"
        add(option, type=shared.any_number, default=0.05, metavar="P", help=sentence)
    models = tuple(map(str, statistics.Model))
    add("--model", choices=models, default=str(statistics.Model.NORMALIZED), help="kind of Elo (default: %(default)s)")
    shared.add_state(parser)
    shared.add_report(parser)
    args = parser.parse_args(words)
    players, sprt = (read_player(args.a), read_player(args.b)), _test(args)
    config = read_config(args, players)
    with shared.cluster_executor(args.cluster, remarks(args), needs_of(players)) as executor:
        result, fault = play(args, config, "Merino match", executor, args.state, sprt=sprt)
    if fault and not result.tally.games:
        raise fault
    names = [player.label for player in players]
    text = report.summary(names, str(config), config.conditions, result.tally, sprt, result.seconds)
    _show(args, text, report.as_json(names, result.tally, sprt) | result.left_out.as_json())
    return ended(args, result.interrupted, fault)


def _test(args: Namespace) -> statistics.Sprt | None:
    """The sequential test of `match`, if there is to be one; raises UsageError."""
    if args.sprt is None:
        return None
    elo0, elo1 = args.sprt
    with errors.turning(ValueError, command.UsageError, "--sprt: "):
        return statistics.Sprt(elo0, elo1, args.alpha, args.beta, statistics.Model(args.model))


def run_gauntlet(words: Sequence[str]) -> int:
    """The first player against each other one, or all against a pool; 0, or 130 after Ctrl-C; raises CommandError."""
    return _tournament(report.Schedule.GAUNTLET, "Play one player, the first, against each of the others", words)


def run_round_robin(words: Sequence[str]) -> int:
    """Each player against each other one; 0, or 130 after Ctrl-C; raises CommandError."""
    return _tournament(report.Schedule.ROUND_ROBIN, "Play each player against each other one", words)


def _tournament(kind: report.Schedule, sentence: str, words: Sequence[str]) -> int:
    args = _tournament_parser(kind, sentence).parse_args(words)
    pool = [read_player(text) for text in getattr(args, "pool", None) or ()]
    versions = [read_player(text) for text in args.players]
    players = [*versions, *pool]
    names = [player.label for player in players]
    if len(players) < 2 or len(set(names)) < len(names):
        raise command.UsageError("at least two players with different names are needed; ',name=X' names a player")
    anchor, rating = _anchor(args.anchor, names, 0 if pool else len(names) - 1)
    if args.state is not None:
        shared.make_folder(args.state)
    tallies, fault = dict[report.Pairing, Tally](), cast(MatchError | None, None)
    with shared.cluster_executor(args.cluster, remarks(args), needs_of(players)) as executor:
        for pairing in kind.pairings(len(versions), len(pool)):
            first, second = (players[index] for index in pairing)
            config, title = read_config(args, (first, second)), f"{first.label} - {second.label}"
            state = args.state and args.state / f"{pairing[0] + 1}-{pairing[1] + 1}.json"
            match, broken = play(args, config, f"Merino {kind}", executor, state, title=title)
            if match.tally.games:
                tallies[pairing] = match.tally
                lost = report.faults_text((first.label, second.label), match.tally)
                remarks(args)(f"{title}: {report.counts_text(match.tally)}  faults: {lost}")
            if broken:
                remarks(args)(f"{title}: {broken}")
            fault = fault or broken
            is_held = broken is not None and isinstance(broken.__cause__, files.FileInUseError)
            # What ends a match under way ends the others, too, and so does another run that works on the files.
            if match.interrupted or is_held or (broken and match.tally.games):
                break
    if fault and not tallies:
        raise fault
    rows = report.rate(names, tallies, anchor, rating)
    text = report.table(rows, names[anchor])
    if pool:
        text = f"{report.pool_table(names[: len(versions)], names[len(versions) :], tallies, rows)}\n\n{text}"
    lost_by = {f"{names[first]} - {names[second]}": report.faults(tally) for (first, second), tally in tallies.items()}
    _show(args, "\n" + text, {"ratings": [asdict(row) for row in rows], "faults": lost_by} | match.left_out.as_json())
    return ended(args, match.interrupted, fault)


def _tournament_parser(kind: report.Schedule, sentence: str) -> shared.Parser:
    examples = [
        f"merino {kind} default my-weights.txt razor_depth=2 --games 200",
        f'merino {kind} default "stockfish,option.Skill Level=5,name=SF5" stash-bot --tc 10+0.1 --anchor SF5=2000',
    ]
    who, usual = "two players or more", "the last one, at 0"
    if kind is report.Schedule.GAUNTLET:
        examples.append("merino gauntlet old.txt new.txt --pool toga2 stash-bot glaurung --games 200 --tc 40/60")
        who, usual = f"{who}; one or more with --pool", f"{usual}; with --pool the first"
    description = f"{sentence}, and print a table of ratings."
    parser = shared.Parser(prog=f"merino {kind}", description=description, notes=A_PLAYER, examples=examples)
    parser.add_argument("players", nargs="+", metavar="PLAYER", help=who)
    if kind is report.Schedule.GAUNTLET:
        sentence = "opponents: each PLAYER plays against each of these instead, to compare versions of an engine"
        parser.add_argument("--pool", nargs="+", metavar="OPPONENT", help=sentence)
    parser.add_argument("--anchor", metavar="NAME=ELO", help=f"fix the rating of a player (default: {usual})")
    add_game_options(parser, GAMES_OF_A_PAIRING)
    shared.add_state(parser, "FOLDER")
    shared.add_report(parser)
    return parser


def _anchor(text: str | None, names: list[str], usual: int) -> tuple[int, float]:
    """The number of the player whose rating is fixed, `usual` if none is named, and the rating; raises UsageError."""
    if text is None:
        return usual, 0.0
    name, _, value = text.rpartition("=")
    if name not in names:
        known = f"{', '.join(names)}{did_you_mean(name, names)}"
        raise command.UsageError(f"--anchor: there is no player '{name}' among {known}")
    try:
        return names.index(name), shared.any_number(value)
    except ArgumentTypeError as error:
        raise command.UsageError(f"--anchor: '{value}' is not a rating") from error


def run_selfplay(words: Sequence[str]) -> int:
    """`merino selfplay`: 0, or 130 after Ctrl-C; raises CommandError and MatchError."""
    args = _selfplay_parser().parse_args(words)
    player = OwnPlayer("Merino", load_chosen(args.weights, args.evalfile))
    config = read_config(args, (player, player))
    config = replace(config, random_moves=RandomMoves(seed=config.seed, **options.given(vars(args), RandomMoves)))
    if args.pgn is None and args.positions is None:
        args.pgn = SELFPLAY_PGN
    with shared.cluster_executor(args.cluster, remarks(args), needs_of([player])) as executor:
        result, fault = play(
            args, config, "Merino self-play", executor, args.state, line=report.count_line, positions=args.positions
        )
    if fault and not result.tally.games:
        raise fault
    drawn = result.tally.points[1]
    played = f"{result.tally.games} games, {drawn} of them drawn, played with '{player.evaluation.name}'"
    if fault:
        print(f"{played}.")
        raise fault
    written = "' and '".join(str(path) for path in (args.pgn, args.positions) if path)
    print(f"{played}; they are in '{written}'.")
    if not args.quiet:
        print(f"To learn from them: merino {'learn' if args.pgn else 'train'} {as_word(args.pgn or args.positions)}")
    return ended(args, result.interrupted, fault)


def _selfplay_parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino selfplay",
        description="Play games of Merino against itself and write them with scores, as input for 'merino learn'.",
        examples=("merino selfplay 5000", "merino selfplay 2000 --nodes 5000 --pgn games.pgn --seed 7"),
    )
    parser.add_argument("games", type=shared.positive, metavar="N", help="number of games")
    options.add_options(parser, RandomMoves, early=EARLY, early_loss=EARLY_LOSS)
    parser.set_defaults(early=EARLY, early_loss=EARLY_LOSS)
    shared.add_concurrency(parser, "games", cluster="play")
    shared.add_evaluation(parser)
    options.add_options(parser, TimeControl, ("nodes", "depth"))
    options.add_options(parser, MatchConfig, ("seed", "openings", "plies"))
    _add_resign(parser, RESIGN_IN_SELFPLAY)
    shared.add_pgn(parser, f"{SELFPLAY_PGN} without --positions")
    sentence = "append scored positions to this file, for 'merino train'; whole games if FILE ends in .vf"
    parser.group(shared.OUTPUT).add_argument("--positions", type=shared.file_path, metavar="FILE", help=sentence)
    shared.add_state(parser)
    shared.add_quiet(parser)
    return parser


def add_game_options(parser: shared.Parser, games: int) -> None:
    """The options of play and output, with this default of --games."""
    options.add_options(parser, MatchConfig, games=games, margin=DEFAULT_MARGIN_MS)
    parser.set_defaults(games=games, margin=DEFAULT_MARGIN_MS)
    options.add_options(parser, TimeControl)
    _add_resign(parser)
    add = parser.group(ADJUDICATION).add_argument
    add(
        "--draw",
        action=shared.KeyValues,
        nargs=3,
        metavar=("movenumber=N", "movecount=N", "score=CP"),
        help="draw once, after move movenumber, both sides have reported at most CP for movecount moves",
    )
    sentence = f"draw N full moves after the opening (default: {MAX_PLIES // PLIES_OF_A_MOVE})"
    add("--maxmoves", type=_full_moves, dest="longest", metavar="N", help=sentence)
    shared.add_concurrency(parser, "games", "one per core; 1 with --tc or --movetime", cluster="play")
    shared.add_pgn(parser)


def _add_resign(parser: shared.Parser, default: dict[str, int] | None = None) -> None:
    shown = " ".join(f"{key}={value}" for key, value in (default or {}).items()) or "never"
    parser.group(ADJUDICATION).add_argument(
        "--resign",
        action=shared.KeyValues,
        nargs=2,
        default=default,
        metavar=("movecount=N", "score=CP"),
        help=f"win once both sides have reported at least CP for it, for movecount moves (default: {shown})",
    )


def _full_moves(text: str) -> int:
    """The plies of a number of full moves, not more than a game may have."""
    return PLIES_OF_A_MOVE * shared.whole(1, MAX_PLIES // PLIES_OF_A_MOVE)(text)


def time_control(args: Namespace) -> TimeControl:
    """The time control of a command line, with the default limit if it names none."""
    return TimeControl(**options.given(vars(args), TimeControl)).or_default()


def read_config(args: Namespace, players: tuple[Player, Player]) -> MatchConfig:
    """The configuration of a match; raises MatchUsageError."""
    own = options.given(vars(args), MatchConfig)
    return MatchConfig(players, time_control(args), adjudication=adjudication_of(args), **own)


def adjudication_of(args: Namespace) -> Adjudication:
    """The rules by which games end early; raises MatchUsageError."""
    win, draw = args.resign or {}, getattr(args, "draw", None) or {}
    try:
        return Adjudication(
            win_score=win.get("score", 0),
            win_moves=win.get("movecount", 0),
            draw_score=draw.get("score", 0),
            draw_moves=draw.get("movecount", 0),
            draw_from=draw.get("movenumber", 0),
            longest=getattr(args, "longest", None) or MAX_PLIES,
        )
    except ValueError as error:
        raise MatchUsageError(f"--resign: {error}") from error


def play(
    args: Namespace,
    config: MatchConfig,
    event: str,
    executor: Executor | None,
    state: Path | None,
    *,
    sprt: statistics.Sprt | None = None,
    line: Callable[[Tally, int, float | None, statistics.Sprt | None], str] = report.live_line,
    positions: Path | None = None,
    title: str = "",
) -> tuple[runner.MatchResult, MatchError | None]:
    """The match as far as it was played, and the error that ended it: raise that after the result has been shown.

    The live line begins with `title`. Files that cannot be written are found before any game.
    """
    at_a_time = args.concurrency or (1 if config.time_control.is_timed else work.cores())  # a clock needs its own core
    try:
        for path in filter(None, (args.pgn, positions, state)):
            with files.writing(MatchError, path):
                files.check_writable(path, whole=path == state)
        with terminal.LivePrinter(shared.progress_stream(args.quiet)) as show:
            live = (lambda text: show(f"{title}  {text}")) if title else show
            output = runner.MatchOutput(live, args.pgn, state, event, line, remarks(args), positions)
            return play_match(config, at_a_time, sprt, output, executor), None
    except runner.BrokenOffError as error:
        return error.result, error
    except MatchError as error:
        return runner.MatchResult(Tally()), error


def ended(args: Namespace, interrupted: bool, fault: MatchError | None) -> int:
    """The exit code after games, with a remark after Ctrl-C; raises the fault that has ended them."""
    if fault:
        raise fault
    if interrupted:
        kept = f"; the same command continues from '{args.state}'" if args.state else ""
        remarks(args)(f"Interrupted{kept}.")
    return interrupt.INTERRUPTED if interrupted else 0


def _show(args: Namespace, text: str, plain: object) -> None:
    """Print a result: as text, or as JSON, with the text on standard error unless it is to be quiet."""
    if not (args.json and args.quiet):
        print(text, file=sys.stderr if args.json else sys.stdout)
    if args.json:
        print(json.dumps(plain))


def remarks(args: Namespace) -> Callable[[str], object]:
    """The output of remarks: standard error, or none after --quiet."""
    return shared.unless_quiet(terminal.complain, args.quiet)
