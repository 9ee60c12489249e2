"""`merino article`: the nine versions of the article on GreKo 2015 ML, learned again and played against their start.

Versions differ in the games learned from, the terms that may move, and how fast the weight of a position falls with its
distance from the end of its game. Two rows are added: the weights that the article gives, and what Merino would do.
Everything is kept in a folder, so that the same command continues a stopped run.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from merino.app.console import shared
from merino.app.console.learning import shown
from merino.core.common.command import CommandError
from merino.core.common.files import STATE, faults_named, is_there, read_user_file, write_fault, write_whole
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.options import Option, add_options, given
from merino.core.common.sealed import as_json, finite, from_json
from merino.core.common.work import cores
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.weights import SHIPPED, load
from merino.formats.sources import digest
from merino.learn import request as requests
from merino.learn.improve.rounds import RoundPlan, StepContext, StepStoppedError, play_games, play_match
from merino.learn.judging import load_record
from merino.learn.procedure import learn_from_files
from merino.match.report import signed
from merino.match.statistics import estimate

START, AFTER = "greko2015-before-training.txt", "greko2015-after-training.txt"  # the weights that the article gives
OWN, MASTERS = "own", "masters"  # games of the start against itself, and of grandmasters


@dataclass(frozen=True)
class Version:
    """A row of the table: what it is learned from and how, None for weights that are given; `rating` in the article."""

    name: str
    games: tuple[str, ...] = ()
    settings: requests.Settings | None = None
    rating: int | None = None


def _of_article(name: str, games: tuple[str, ...], first: int, decay: float, rating: int) -> Version:
    return Version(name, games, replace(requests.ARTICLE, first=first, last=27, decay=decay), rating)


VERSIONS = (
    _of_article("A", (OWN,), 6, 40, 2637),
    _of_article("B", (OWN,), 1, 40, 2667),
    _of_article("C", (OWN,), 6, 20, 2672),
    _of_article("D", (OWN,), 1, 20, 2574),
    _of_article("E", (OWN,), 6, 60, 2646),
    _of_article("F", (OWN,), 1, 60, 2648),
    _of_article("G", (MASTERS,), 6, 20, 2602),
    _of_article("H1", (OWN, MASTERS), 6, 20, 2616),
    _of_article("H2", (OWN, MASTERS), 1, 20, 2646),
    Version("after"),
    Version("two-phases", (OWN,), replace(requests.DEFAULT_SETTINGS, target=requests.Target(0.5))),
)


@dataclass(frozen=True)
class ArticleRun:
    """How the table is made."""

    masters: Annotated[
        Path | None, "PGN file of grandmasters' games, for versions G, H1 and H2", Option("FILE", read=shared.file_path)
    ] = None
    games: Annotated[int, "games of the start against itself", Option("N", 10, group="games")] = 20_000
    match_games: Annotated[int, "games of each version against the start", Option("N", 2, group="games")] = 1000


@dataclass(frozen=True)
class Row:
    """The result of a version: games and positions learned from, and its match; `article` is its rating there."""

    name: str
    article: int | None
    games: int = 0
    positions: int = 0
    match_games: int = 0
    elo: float | None = None
    elo_error: float | None = None

    def __str__(self) -> str:
        """A line of the table."""
        elo = "not learned" if self.elo is None or self.elo_error is None else signed(self.elo, self.elo_error)
        return (
            f"{self.name:<12}{self.games:>8}{self.positions:>11}{self.match_games:>7}{elo:>16}{self.article or '':>10}"
        )


def run_article(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    parser = shared.Parser(
        prog="merino article",
        description="Learn the nine versions of the article on GreKo 2015 ML, and play each against their start.",
        examples=("merino article --masters gm2600.pgn", "merino article --games 2000 --match-games 200"),
    )
    add_options(parser, ArticleRun)
    shared.add_concurrency(parser, "games")
    shared.add_state(parser, "FOLDER", "./article")
    shared.add_report(parser, "print a list of JSON objects, one per version")
    args = parser.parse_args(list(words))
    run, folder = ArticleRun(**given(vars(args), ArticleRun)), args.state or Path("article")
    say, stream = shared.unless_quiet(print, args.quiet or args.json), shared.progress_stream(args.quiet)
    rows, interrupted = list[Row](), False
    with shown(say, stream=stream) as events:
        say(f"{'version':<12}{'games':>8}{'positions':>11}{'match':>7}{'Elo (95%)':>16}{'article':>10}")
        context = StepContext(args.concurrency or cores(), replace(events, say=lambda _: None), lambda: None)
        try:
            shared.make_folder(folder)
            _check_same(run, folder)
            for row in _rows(run, folder, context):
                rows.append(row)
                events.say(str(row))
        except (StepStoppedError, requests.LearnStoppedError, KeyboardInterrupt):
            interrupted = True
            events.say(f"Stopped; the same command continues from '{folder}'.")
        except OSError as error:
            raise CommandError(f"{write_fault(error, error.filename or folder)}") from error
    if args.json:
        print(
            json.dumps([asdict(replace(each, elo=finite(each.elo), elo_error=finite(each.elo_error))) for each in rows])
        )
    return INTERRUPTED if interrupted else 0


def _check_same(run: ArticleRun, folder: Path) -> None:
    """Keep the settings of a new folder; raises LearnError where it was begun with others."""
    path, content = folder / "article.json", asdict(run) | {"masters": run.masters and digest(run.masters)}
    if not is_there(path):
        write_whole(path, as_json(content))
    with faults_named(path, "the settings of an article", requests.LearnError):
        if from_json(read_user_file(path, STATE), str(path)) != content:
            raise requests.LearnError(f"'{folder}' was begun with other games or other numbers; give a new folder")


def _rows(run: ArticleRun, folder: Path, context: StepContext) -> Iterator[Row]:
    """The rows one after the other; without games of grandmasters, those that need none."""
    plan, start = RoundPlan(nodes=1500, games=run.games, match_games=run.match_games), load(SHIPPED / START)
    own = folder / f"{OWN}.pgn"
    play_games(plan, 0, LinearEvaluation(start), folder, context, pgn=own)
    sources = {OWN: own} | ({} if run.masters is None else {MASTERS: run.masters.absolute()})
    for version in VERSIONS:
        if not set(version.games) <= sources.keys():
            continue
        file, record = folder / f"{version.name}.txt", folder / f"{version.name}.json"
        if version.settings is None:
            file = SHIPPED / AFTER
        elif not is_there(file):
            _learn(version.settings, [sources[name] for name in version.games], file, record, context)
        row = Row(version.name, version.rating)
        if version.settings is not None:
            summary = load_record(record)["summary"]
            row = replace(row, games=summary["games"], positions=summary["positions"])
        if is_there(file):
            evaluations = (LinearEvaluation(load(file)), LinearEvaluation(start))
            tally = play_match(*evaluations, plan.trial(0), folder / f"{version.name}.state", context, decides=False)
            found = estimate(tally.counts)
            row = replace(row, match_games=tally.games, elo=found.elo, elo_error=found.elo_error)
        yield row


def _learn(settings: requests.Settings, games: list[Path], file: Path, record: Path, context: StepContext) -> None:
    """Write the weights learned from these games; if they are no better, only the record of the run."""
    names = tuple(map(str, games))
    request = requests.LearnRequest(
        names, settings, requests.Selection(), requests.NO_CHOICE, None, weights=str(SHIPPED / START), out=str(file)
    )
    learn_from_files(replace(request, record=str(record), plays_match=False), context.events)
