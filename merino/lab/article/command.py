"""`merino recipes FILE`: compares ways to learn, each by a match against the same start."""

from __future__ import annotations

import argparse
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merino.app.console import shared_options as shared
from merino.app.console.command_line import MAX_NUMBER, Parser, file_path
from merino.app.console.learn_options import read_arguments
from merino.app.console.learning import shown
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.files import write_fault
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.nearest import did_you_mean
from merino.core.common.quoting import words_of
from merino.core.common.user_files import SETTINGS, first_there, read_user_text
from merino.eval.evaluation import EvaluationError
from merino.eval.linear.weights import SHIPPED
from merino.formats.sources import SourceError
from merino.lab.article.recipe_matches import ComparisonStoppedError, Limit, Pool, PoolResult
from merino.lab.article.recipes import START, Comparing, Comparison, OwnGames, Recipe, RecipeResult
from merino.learn.request import LearnRequest
from merino.match.config import Clock, TimeControl
from merino.match.games import MatchError, PlayerError, Tally
from merino.match.players import read_player
from merino.match.report import pool_table, signed
from merino.match.statistics import estimate

ARTICLE = Path(__file__).with_name("article.toml")
POOL_GAMES = 100  # of a pairing, as in the article
_LIMITS = {"nodes", "depth", "movetime", "tc", "games"}
_KEYS = {
    "the file": {"start", "tests", "match", "pool", "controls", "games", "recipes"},
    "[match]": {"nodes", "games", "seed"},
    "[pool]": {"opponents", "rating", *_LIMITS},
    "[[controls]]": _LIMITS,
    "[games]": {"file", "count", "nodes", "seed"},
    "[recipes]": {"learn", "weights", "note"},
}
_NOTHING = LearnRequest(())
# What a recipe cannot ask `learn` for: settings of a request with their options.
_REFUSED = {
    "weights": "--weights",
    "out": "--out",
    "play_on": "--play-on",
    "dry_run": "--dry-run",
    "csv": "--table",
    "record": "--record",
    "plays_match": "--no-match",
    "prove": "--prove",
    "concurrency": "--concurrency",
}


def run_recipes(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    args = _parser().parse_args(list(words))
    given = dict[str, Path](args.source or ())
    for name, path in given.items():
        if first_there([path]) is None:
            raise UsageError(f"recipes: --source {name}: there is no file '{path}'")
    comparison = read_comparison(args.file, given)
    folder = args.state or Path(f"{args.file.stem}-recipes")
    report = _Outcomes([])
    say, stream = shared.unless_quiet(print, args.quiet or args.json), shared.progress_stream(args.quiet)
    with errors_named("recipes", SourceError, EvaluationError, MatchError), shown(say, stream) as events:
        try:
            _fill(report, Comparing(comparison, folder, events, args.concurrency), events.say)
        except (ComparisonStoppedError, KeyboardInterrupt):
            report.interrupted = True
        except OSError as error:
            raise CommandError(f"recipes: {write_fault(error, error.filename or folder)}") from error
    if args.json:
        print(json.dumps([outcome.as_json() for outcome in report.found], indent=1))
    else:
        print("\n" + "\n".join(table(report.found, comparison)))
        if pool := report.pool:
            print("\n" + pool_table(pool.versions, pool.opponents, pool.tallies, pool.rows))
    if report.interrupted and not args.quiet:
        print(f"Stopped; the same command continues from '{folder}'.")
    return INTERRUPTED if report.interrupted else 0


@dataclass
class _Outcomes:
    """What there is to print, complete or not."""

    found: list[RecipeResult]
    pool: PoolResult | None = None
    interrupted: bool = False


def _fill(report: _Outcomes, study: Comparing, say: Callable[[str], object]) -> None:
    """Learn and play all that is wanted, and put it into the report as it comes."""
    for outcome in study.outcomes():
        report.found.append(outcome)
        say(_line(outcome))
    report.pool = study.meet_pool()
    report.found = with_ratings(report.found, report.pool)
    winner = best(report.found)
    for number, outcome in enumerate(report.found):
        if outcome is winner:
            report.found[number] = replace(outcome, controls=study.controls(outcome.name))


def _parser() -> Parser:
    parser = Parser(
        prog="merino recipes",
        description="Compare ways to learn: each recipe of a file learns weights from the same start, and then plays "
        "a match against it.",
        notes="FILE is TOML: 'start' is a weights file; [match] gives games and nodes; each [games.NAME] gives a file, "
        "or count and nodes of games that the start plays against itself; each [recipes.NAME] gives the arguments "
        "of 'merino learn', with games by their names, or a weights file. [pool] names opponents that each of them "
        "meets, [[controls]] other limits for the best. 'article' is a file that comes with Merino: the versions in "
        "the article on GreKo 2015 ML. Everything is kept in the folder, and the same command continues there.",
        examples=(
            "merino recipes article --source masters=gm2600.pgn",
            "merino recipes mine.toml --state my-folder --json",
        ),
    )
    parser.add_argument("file", type=_file, metavar="FILE", help="file of recipes, or 'article'")
    sentence = "the PGN file of the games NAME; may be given more than once"
    parser.add_argument("--source", type=source, action="append", metavar="NAME=FILE", help=sentence)
    shared.add_concurrency(parser, "games")
    shared.add_state(parser, "FOLDER", "./NAME-recipes for a file NAME.toml")
    shared.add_json(parser)
    shared.add_quiet(parser)
    return parser


def _file(text: str) -> Path:
    return ARTICLE if text == ARTICLE.stem else file_path(text)


def source(text: str) -> tuple[str, Path]:
    """A type: the name of games, and their file."""
    name, equals, file = text.partition("=")
    path = file_path(file)
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text[:60]}' is not of the form NAME=FILE")
    return name, path.absolute()


def read_comparison(path: Path, given: Mapping[str, Path]) -> Comparison:
    """The comparison that a file describes, with the sources that were given; raises UsageError."""
    try:
        data = tomllib.loads(read_user_text(path, SETTINGS))
    except OSError as error:
        raise UsageError(f"recipes: cannot read '{path}': {error.strerror}") from error
    except RecursionError as error:
        raise UsageError(f"recipes: {path}: it is nested too deep") from error
    except ValueError as error:  # also of a number of thousands of digits
        raise UsageError(f"recipes: {path}: {error}") from error
    try:
        return _comparison(path, data, given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"recipes: {path}: {error}") from error


def _comparison(path: Path, data: dict[str, Any], given: Mapping[str, Path]) -> Comparison:
    _check_keys("the file", data)
    tables = {name: data.get(name, {}) for name in ("match", "games", "recipes")}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ValueError(f"'{name}' is not a table")
    _check_keys("[match]", tables["match"])
    numbers = {name: _whole(f"[match] {name}", value) for name, value in tables["match"].items()}
    unknown = [name for name in given if name not in tables["games"]]
    if unknown:
        raise ValueError(f"there are no games called '{unknown[0]}'{did_you_mean(unknown[0], tables['games'])}")
    sources = {name: given.get(name) or _games(path, name, table) for name, table in tables["games"].items()}
    if not tables["recipes"]:
        raise ValueError("it has no recipe, a table [recipes.NAME] with the arguments of 'merino learn'")
    start = _weights(path, data.get("start", "default.txt"))
    recipes = tuple(_recipe(path, name, table, sources, start) for name, table in tables["recipes"].items())
    tests = data.get("tests", [])
    if not isinstance(tests, list) or not all(isinstance(name, str) for name in tests):
        raise ValueError(f"tests = {tests!r} is not a list of names of games")
    for name in tests:
        _check_source("tests", name, sources)
    found = Comparison(start, sources, recipes, tuple(tests), **numbers, pool=_pool(data), controls=_controls(data))
    found.check_names()
    return found


def _pool(data: dict[str, Any]) -> Pool | None:
    """The opponents that are installed; None if no pool is asked for."""
    if "pool" not in data:
        return None
    table = _as_table("[pool]", data["pool"])
    opponents, rating = table.get("opponents"), table.get("rating", 0)
    if not isinstance(opponents, list) or not opponents or not all(isinstance(each, str) for each in opponents):
        raise ValueError("[pool] needs opponents, a list of players as 'merino match' takes them")
    if isinstance(rating, bool) or not isinstance(rating, int | float) or not abs(rating) <= MAX_NUMBER:
        raise ValueError(f"[pool] rating = {rating!r} is not a number")
    players, absent = [], []
    for text in opponents:
        try:
            players.append(read_player(text))
        except PlayerError as error:
            absent.append(str(error))
    return Pool(tuple(players), _limit("[pool]", table), float(rating), tuple(absent))


def _controls(data: dict[str, Any]) -> tuple[Limit, ...]:
    tables = data.get("controls", [])
    if not isinstance(tables, list):
        raise ValueError("[[controls]] is not a list of tables")
    return tuple(_limit("[[controls]]", _as_table("[[controls]]", table)) for table in tables)


def _as_table(kind: str, table: object, where: str = "") -> dict[str, Any]:
    if not isinstance(table, dict):
        raise ValueError(f"{where or kind} is no table")
    _check_keys(kind, table, where)
    return table


def _limit(where: str, table: Mapping[str, Any]) -> Limit:
    """The limits of a move, and the games."""
    numbers = {key: _whole(f"{where} {key}", table[key]) for key in _LIMITS & table.keys() if key != "tc"}
    games = numbers.pop("games", POOL_GAMES)
    clock = Clock.read(str(table["tc"])) if "tc" in table else None
    if not numbers and clock is None:
        raise ValueError(f"{where} needs a limit of the moves: nodes, depth, movetime or tc")
    return Limit(TimeControl(**numbers, clock=clock), games)


def _games(path: Path, name: str, table: object) -> Path | OwnGames | None:
    where = f"[games.{name}]"
    table = _as_table("[games]", table, where)
    if "file" in table:
        if len(table) > 1:
            raise ValueError(f"{where} has both a file and games to play; give one of them")
        return first_there([(path.parent / file_path(str(table["file"]))).absolute()])
    if "count" not in table:
        raise ValueError(f"{where} needs a file, or a count of games to play")
    if Path(name).name != name:
        raise ValueError(f"{where}: games to play are kept in a file with their name, and '{name}' cannot be one")
    numbers = {key: _whole(f"{where} {key}", value) for key, value in table.items()}
    return OwnGames(numbers["count"], numbers.get("nodes", 1500), numbers.get("seed", 1))


def _recipe(path: Path, name: str, table: object, sources: Mapping[str, object], start: Path) -> Recipe:
    where = f"[recipes.{name}]"
    if not name.replace("-", "").replace("_", "").isalnum() or name == START:
        raise ValueError(f"{where}: the name of a recipe has only letters, digits, - and _, and is not '{START}'")
    table = _as_table("[recipes]", table, where)
    note = str(table.get("note", ""))
    if ("learn" in table) == ("weights" in table):
        raise ValueError(f"{where} needs either 'learn', the arguments of 'merino learn', or 'weights', a file")
    if "weights" in table:
        return Recipe(name, _NOTHING, _weights(path, table["weights"]), note)
    request = _request(where, table["learn"], start)
    for file in request.files:
        _check_source(where, file, sources)
    return Recipe(name, replace(request, keep_fen=False), None, note)


def _request(where: str, learn: object, start: Path) -> LearnRequest:
    """What the arguments of `learn` ask for in a comparison that begins with the weights `start`."""
    if not isinstance(learn, str):
        raise ValueError(f"{where} learn = {learn!r} is not a text, the arguments of 'merino learn'")
    try:
        args = read_arguments(words_of(learn), start=str(start))
    except (UsageError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
    except SystemExit as error:  # after the help
        raise ValueError(f"{where}: a recipe takes only games and settings of the fit, not -h") from error
    refused = [option for field, option in _REFUSED.items() if getattr(args.request, field) != getattr(_NOTHING, field)]
    others = {"--use": args.use, "--json": args.as_json, "--table": args.as_csv, "--cluster": args.cluster}
    refused += [option for option, given in others.items() if given]
    if refused:
        raise ValueError(f"{where}: a recipe takes only games and settings of the fit, not {', '.join(refused)}")
    return args.request


def _weights(path: Path, name: object) -> Path:
    """A weights file in the folder of the recipes, or one that comes with Merino."""
    places = [path.parent / str(name), SHIPPED / str(name)]
    found = first_there(places)
    if found is None:
        raise ValueError(f"there is no weights file '{name}', neither in its folder nor in '{SHIPPED}'")
    return found


def _check_source(where: str, name: object, sources: Mapping[str, object]) -> None:
    if name not in sources:
        raise ValueError(f"{where}: there are no games called '{name}'{did_you_mean(str(name), sources)}")


def _check_keys(kind: str, table: Mapping[str, object], where: str = "") -> None:
    for key in table:
        if key not in _KEYS[kind]:
            raise ValueError(f"{where or kind}: there is no key '{key}'{did_you_mean(key, _KEYS[kind])}")


def _whole(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{where} = {value!r} is not a whole number above 0")
    if value > MAX_NUMBER:
        raise ValueError(f"{where} is above {MAX_NUMBER}, the most")
    return value


def with_ratings(found: Sequence[RecipeResult], pool: PoolResult | None) -> list[RecipeResult]:
    """The outcomes with their ratings among the pool, if there is one."""
    ratings = {row.name: row for row in pool.rows} if pool else {}
    return [replace(outcome, rating=ratings.get(outcome.name)) for outcome in found]


def best(found: Sequence[RecipeResult]) -> RecipeResult | None:
    """What has learned best: by its rating, or without one by its Elo against the start; None if nothing has."""

    def strength(outcome: RecipeResult) -> float:
        if outcome.rating is not None:
            return outcome.rating.rating
        return estimate(outcome.tally.counts).elo if outcome.tally else -math.inf

    return max((outcome for outcome in found if outcome.games), key=strength, default=None)


def table(found: Sequence[RecipeResult], comparison: Comparison) -> list[str]:
    """The outcomes as a table: games, positions, error by test, and Elo against the start with its 95% interval."""
    width = max(len("recipe"), *(len(outcome.name) for outcome in found), 0) if found else len("recipe")
    tests = "".join(f"{'error ' + name:>18}" for name in comparison.tests)
    lines = [
        f"Against '{comparison.start.name}', {comparison.nodes} nodes a move, random openings, seed {comparison.seed}",
        f"{'recipe':<{width}}{'games':>9}{'positions':>11}{tests}{'match':>7}{'Elo':>17}",
    ]
    for outcome in found:
        if outcome.missing:
            lines.append(f"{outcome.name:<{width}}  no games; name them by --source {outcome.missing}=FILE")
            continue
        errors = "".join(f"{(outcome.errors or {})[name]:>18.6f}" for name in comparison.tests)
        played, elo = _elo(outcome)
        counts = f"{outcome.games or '':>9}{outcome.positions or '':>11}"
        lines.append(f"{outcome.name:<{width}}{counts}{errors}{played:>7}{elo:>17}  {outcome.note}".rstrip())
    return lines + [_control(outcome.name, limit, tally) for outcome in found for limit, tally in outcome.controls]


def _control(name: str, limit: Limit, tally: Tally) -> str:
    """A sentence on a match at another limit."""
    elo = estimate(tally.counts)
    return f"{name} at {limit.time_control}: {signed(elo.elo, elo.elo_error)} Elo in {tally.games} games"


def _elo(outcome: RecipeResult) -> tuple[str, str]:
    """Games of the match and Elo, as text."""
    if outcome.tally is None or not outcome.tally.games:
        return "", ""
    found = estimate(outcome.tally.counts)
    return str(outcome.tally.games), signed(found.elo, found.elo_error)


def _line(outcome: RecipeResult) -> str:
    """A sentence on one outcome."""
    if outcome.missing:
        return f"{outcome.name}: left out, because --source does not name the games '{outcome.missing}'"
    games, elo = _elo(outcome)
    learned = f"learned from {outcome.games} games, {outcome.positions} positions" if outcome.games else "measured"
    return f"{outcome.name}: {learned}{f'; Elo {elo} in {games} games' if games else ''}"
