"""The functions of `import merino`: short forms of the commands of the same names.

Nothing here prints. All errors derive from `MerinoError`; their message is a sentence for people.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import chess
import chess.pgn
import numpy as np

from merino.core.board import bitboard, game
from merino.core.board.position import POSITION
from merino.core.common import errors, work
from merino.core.common.files import check_writable, user_path, writing
from merino.engine.report.schema import PositionReport
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits
from merino.engine.search.searcher import Searcher
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import load_evaluation
from merino.eval.linear import compiled, family, phases
from merino.formats import pgn_parts
from merino.learn import request as requests
from merino.learn.procedure import LearnResult, learn_from_files
from merino.match import runner, statistics
from merino.match.config import DEFAULT_MARGIN_MS, MatchConfig, TimeControl
from merino.match.games import MatchError
from merino.match.players import DEFAULT, OtherPlayer, OwnPlayer, Player, read_player
from merino.study import annotated_files, reporting
from merino.study.judge import by_search, judge_of
from merino.study.shapley import MAX_ERROR, MIN_ERROR
from merino.study.verdicts import with_verdict

MAX_GAMES, MAX_AT_A_TIME = 10**9, 1024
ANNOTATING = Limits(nodes=100_000)  # of a position, as the command has it

Files = str | Path | Sequence[str | Path]


def _evaluation(given: Evaluation | str | Path | None) -> Evaluation:
    """The one that was given, itself or by name, or that in use; raises TypeError, EvaluationError."""
    kinds = (Evaluation, str, Path, NoneType)
    errors.instance("evaluation", given, kinds, "an Evaluation, the name of one such as 'gen12', or None")
    return given if isinstance(given, Evaluation) else load_evaluation(given)


def evaluate(position: game.Position | chess.Board | str, evaluation: Evaluation | str | Path | None = None) -> int:
    """The static evaluation of a position in centipawns for White, without a search; known draws are 0.

    `position` may be a board of python-chess, a FEN or "startpos". `evaluation` may be given by name; None is the one
    in use. Raises FenError, EvaluationError, and TypeError for other arguments.

    Examples:
        >>> evaluate("4k3/8/8/8/8/8/8/Q3K3 b - - 0 1") > 900
        True

    """
    position = game.as_position(position)
    score = int(np.asarray(_evaluation(evaluation).scores(position.record))[0])
    return score if position.side == bitboard.WHITE else -score


class Counts(NamedTuple):
    """How often terms are met in positions, White's count minus Black's: float64[positions, names].

    With weights in the order of `names`, `matrix @ weights` is White's score before draw rules and rounding.
    """

    matrix: np.ndarray
    names: list[str]

    def __repr__(self) -> str:
        return f"Counts(matrix{list(self.matrix.shape)}, names={self.names[:3]} ...)"

    def frame(self) -> Any:
        """The same as a DataFrame; raises ImportError where pandas is not installed."""
        import pandas  # type: ignore[import-untyped]  # noqa: PLC0415 (which need not be installed)

        return pandas.DataFrame(self.matrix, columns=self.names)


def counts(
    positions: Iterable[game.Position | chess.Board | str], evaluation: Evaluation | str | Path | None = None
) -> Counts:
    """What the terms of an evaluation count in positions, for regressions and plots of one's own.

    A term with two weights has two columns, its share of the middlegame and of the endgame. Raises FenError, TypeError,
    and EvaluationError, also for an evaluation without terms.

    Examples:
        >>> found = counts(["4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "startpos"])
        >>> found.matrix[:, found.names.index("VAL_P_eg")].tolist()
        [1.0, 0.0]

    """
    by = _evaluation(evaluation)
    if not isinstance(by, family.LinearEvaluation):
        raise EvaluationError(f"{by.name} has no terms to count")
    records = [game.as_position(position).record for position in positions]
    rows = np.concatenate(records) if records else np.zeros(0, dtype=POSITION)
    number = phases.phases_of(by.weights, len(by.terms))
    shares = phases.shares_of_phases(number)[:, compiled.stages_of(rows)]
    features = compiled.features_of(rows, by.terms)
    return Counts(np.hstack([features * share[:, None] for share in shares]), phases.column_names(by.terms, number))


def read_games(file: str | Path) -> Iterator[pgn_parts.GameSource]:
    """The games of a PGN file, plain or compressed, with tags, moves, comments and what is wrong with them.

    Raises StudyError for a file that is none.
    """
    return iter(annotated_files.read_sources(_path(file)).games)


Read = pgn_parts.GameSource | chess.pgn.Game
ONE_GAME = (pgn_parts.GameSource, chess.pgn.Game)


def annotate(
    games: str | Path | Read | Iterable[Read], limits: Limits = ANNOTATING, *, judge: str | None = None
) -> Iterator[annotated_files.AnnotatedGame]:
    """The games of a PGN file as `merino annotate` annotates them, one after the other.

    `games` is its path, or one game or several, of `read_games` or of python-chess. Each has its `moves` with what they
    lose, their grades and reasons, `text`, the PGN with comments, and `as_json()`. `limits` are those of the search of
    a position; what looks like a mistake gets more. `judge` is a net, "terms", or the command of an engine; None is the
    strongest net. Raises StudyError.
    """
    errors.instance("limits", limits, Limits, "Limits, such as Limits(nodes=100_000)")
    return _annotated(_sources(games), limits, judge)


def _sources(games: str | Path | Read | Iterable[Read]) -> annotated_files.Sources:
    """The games of a file, or those that were given; raises TypeError and StudyError."""
    if isinstance(games, str | Path):
        return annotated_files.read_sources(_path(games))
    errors.instance("games", games, (Iterable, *ONE_GAME), "the path of a file, or games of read_games or python-chess")
    read: list[pgn_parts.GameSource] = []
    for game_read in [games] if isinstance(games, ONE_GAME) else games:
        errors.instance("each of games", game_read, ONE_GAME, "a game of read_games or of python-chess")
        if isinstance(game_read, pgn_parts.GameSource):
            read.append(game_read)
        else:
            read += pgn_parts.games_of(str(game_read).encode())
    return annotated_files.Sources(read, "utf-8", "")


def _annotated(
    sources: annotated_files.Sources, limits: Limits, judge: str | None
) -> Iterator[annotated_files.AnnotatedGame]:
    with judge_of(judge, DEFAULT_HASH_MB, 1) as judging:
        request = annotated_files.AnnotationRequest(sources, judging, limits, DEFAULT_HASH_MB, 1)
        yield from annotated_files.annotate_games(request, 0, lambda source, plies: None)


def _path(file: object) -> Path:
    """The path of a file; raises TypeError."""
    errors.instance("file", file, (str, Path), "the path of a file")
    return user_path(str(file))


def explain(
    position: game.Position | chess.Board | str,
    evaluation: Evaluation | str | Path | None = None,
    limits: Limits | None = None,
    searcher: Searcher | None = None,
    shapley: float | None = None,
) -> PositionReport:
    """The report of a position: score, terms, pieces, moves and summary, all from White's view.

    It may be a Position, a board of python-chess, a FEN or "startpos".

    With `limits` the moves and lines are those of a search, which also gives the verdict, a threat, and the claims in
    them: by `searcher`, by the evaluation if one is given, or else by the strongest net; without, nothing is searched.
    An illegal FEN with a valid board is explained too, without moves. `evaluation` may be given by name; None is the
    one in use.
    For an evaluation without terms, such as a net, `terms` is empty, `without_terms` is set, and `words` put its score
    in the terms. With `shapley`, a standard error in centipawns, the pieces have their Shapley values, which add up to
    the score. Raises FenError, StudyError if the search was too short for all moves, and TypeError or ValueError for
    other arguments.

    Examples:
        >>> report = explain("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
        >>> report.terms[0].name, report.terms[0].net_cp
        ('VAL_P', 145.0)
        >>> report = explain("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", shapley=2.0)
        >>> sum(piece.shapley_cp for piece in report.pieces) + report.baseline == report.static.score_cp
        True

    """
    by_strongest, evaluation = evaluation is None and searcher is None, _evaluation(evaluation)
    if shapley is not None:
        errors.real_number("shapley", shapley, MIN_ERROR, MAX_ERROR)
    errors.instance("limits", limits, (Limits, NoneType), "Limits, such as Limits(depth=8), or None")
    if limits is not None:
        limits.refuse_endless()
    errors.instance("searcher", searcher, (Searcher, NoneType), "a Searcher or None")
    if limits is None and isinstance(position, str):
        setup = reporting.set_up(position)
        record, report = setup.record, reporting.report_setup(setup, evaluation)
    else:
        position = game.as_position(position)
        judge = None
        if limits is not None and by_strongest:
            judge = judge_of(None, DEFAULT_HASH_MB, 1)
        elif limits is not None:
            judge = by_search(searcher or Searcher(evaluation=evaluation), evaluation, evaluation.name)
        record, report = position.record, reporting.report_position(position, evaluation, judge, limits)
        report = report if judge is None or limits is None else with_verdict(report, position, judge, limits)
    report = reporting.with_words(report, record, evaluation)
    return report if shapley is None else reporting.with_shapley(report, record, evaluation, shapley)


def learn_weights(
    files: Files,
    *,
    weights: str | Path | None = None,
    out: str | Path | None = None,
    settings: requests.Settings | None = None,
    selection: requests.Selection | None = None,
    dry_run: bool = False,
    match: bool = True,
    keep_fen: bool = False,
    concurrency: int | None = None,
    say: Callable[[str], object] | requests.Events = lambda line: None,
) -> LearnResult:
    """Fit the weights to the games or labelled positions of files, as `merino learn` does.

    `weights` is the file to start from and to rewrite, None for the one in use; `out` takes the new weights instead.
    They are written only if they predict unseen games better beyond doubt; where they would take effect they must also
    pass a match against the old ones of a minute or two, unless `match` is False. `dry_run` writes nothing.
    `settings` say what to predict and which terms may move, `selection` the positions that are used. `keep_fen` leaves
    the positions next to each PGN file, and a later run takes them from there. `say` gets each line that the command
    would print; as Events it has callbacks for the share that is done, the state of the match and the steps of the
    fit, too. Raises LearnError, WeightsError and MatchError.
    """
    for name, path in (("weights", weights), ("out", out)):
        errors.instance(name, path, (str, Path, NoneType), "the path of a file or None")
    errors.instance("settings", settings, (requests.Settings, NoneType), "Settings or None")
    errors.instance("selection", selection, (requests.Selection, NoneType), "a Selection or None")
    if not isinstance(say, requests.Events):
        errors.function("say", say, "a function that takes a text, or Events")
    if concurrency is not None:
        errors.whole_number("concurrency", concurrency, 1, MAX_AT_A_TIME)
    request = requests.LearnRequest(
        _names(files),
        settings or requests.DEFAULT_SETTINGS,
        selection or requests.DEFAULT_SELECTION,
        requests.NO_CHOICE if settings else requests.DEFAULT_CHOICE,
        None if settings else requests.DEFAULT_TEACHER,
        weights=None if weights is None else str(weights),
        out=None if out is None else str(out),
        dry_run=dry_run,
        keep_fen=keep_fen,
        plays_match=match,
        concurrency=concurrency,
    )
    return learn_from_files(request, say if isinstance(say, requests.Events) else requests.Events(say))


def _names(files: Files) -> tuple[str, ...]:
    """The files by name; raises TypeError and ValueError."""
    if isinstance(files, str | Path):
        return (str(files),)
    errors.instance("files", files, Sequence, "the path of a file or a sequence of them")
    for file in files:
        errors.instance("each of files", file, (str, Path), "the path of a file")
    if not files:
        raise ValueError("files must name at least one file")
    return tuple(map(str, files))


def play_match(
    first: Player | str,
    second: Player | str = DEFAULT,
    time_control: TimeControl | None = None,
    *,
    games: int = 100,
    sprt: statistics.Sprt | None = None,
    seed: int = 1,
    openings: str | Path | None = None,
    pgn: str | Path | None = None,
    concurrency: int | None = None,
    show: Callable[[str], object] | None = None,
) -> runner.MatchResult:
    """Play a match in pairs of one opening with colours reversed, until it is over, `sprt` is settled, or Ctrl-C.

    A player is written as for `merino match`: "default", a weights file, "name=value" for numbers of the search and
    weights, "EvalFile=gen12" for a net, or the command of an engine. Without a `time_control`, or with one that limits
    no move, a move is 1000 nodes, and the same `seed` gives the same games on any machine. `openings` is a PGN, EPD or
    FEN file, None for random ones; `pgn` gets the games at its end; `show` the state of the match as text, several
    times a second. `concurrency` games are played at a time; None for one a core, and one alone at a clock, where a
    move may be 20 ms late. Raises PlayerError, MatchError, and BrokenOffError, a MatchError with the `result` so far.

    Examples:
        >>> result = play_match("VAL_Q=100", games=4, concurrency=1)
        >>> result.tally.games
        4

    """
    for player in (first, second):
        errors.instance(
            "each player", player, (str, OwnPlayer, OtherPlayer), "a text as for 'merino match', or a player"
        )
    errors.instance("time_control", time_control, (TimeControl, NoneType), "a TimeControl or None")
    errors.instance("sprt", sprt, (statistics.Sprt, NoneType), "an Sprt or None")
    for name, path in (("openings", openings), ("pgn", pgn)):
        errors.instance(name, path, (str, Path, NoneType), "the path of a file or None")
    errors.function("show", show, "a function that takes a text, or None")
    games, seed = errors.whole_number("games", games, 1, MAX_GAMES), errors.whole_number("seed", seed, 0)
    if concurrency is not None:
        errors.whole_number("concurrency", concurrency, 1, MAX_AT_A_TIME)
    players = tuple(read_player(player) if isinstance(player, str) else player for player in (first, second))
    control = (time_control or TimeControl()).or_default()
    book = None if openings is None else str(openings)
    config = MatchConfig(
        (players[0], players[1]), control, games=games, seed=seed, openings=book, margin=DEFAULT_MARGIN_MS
    )
    at_a_time = concurrency or (1 if control.is_timed else work.cores())
    with writing(MatchError):
        games_file = None if pgn is None else user_path(pgn)
        if games_file:
            check_writable(games_file, whole=False)
    return runner.run_match(config, at_a_time, sprt, runner.MatchOutput(show, games_file))
