"""The procedure of `learn`, from files of games to weights in use.

With `--play-on` Merino plays games against itself from positions of the user's games, and learns from those.

They show what Merino's search meets where such games lead, with its scores. They are kept in a folder beside the
user's games, whose name stands for all that decides them: the same command finds them, and goes on if it was stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np

from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common.files import held, write_together, write_whole
from merino.core.common.quoting import as_word
from merino.core.common.tables import html_table
from merino.core.common.user_files import WEIGHTS, read_user_file
from merino.core.common.work import RemoteExecutor, cores
from merino.eval.evaluation import Evaluation
from merino.eval.linear.weights import load_any
from merino.formats.sources import digest, find_files, is_passing, plain_name
from merino.learn.errors import AS_THEY_WERE, LearnError, LearnStoppedError, standing
from merino.learn.fitting import fit_all
from merino.learn.installing import InstallOutcome, Verdict, install, replace_weights, reports, summary_with
from merino.learn.judging import judge_fits
from merino.learn.positions import one_of_each_game
from merino.learn.reading import read, with_strays_of
from merino.learn.report import Summary
from merino.learn.request import Events, LearnRequest, Say, Task
from merino.learn.rounds.state import RoundPlan
from merino.learn.run import LearnRun, RunLog, StepLog, file_at, named_path, weights_paths
from merino.match.prove import GAIN, StrengthTest

MIN_PLY, MAX_PLY = 8, 40  # of a game, between which it is played on
MAX_LEAD = 200  # centipawns by which a side may be ahead there: a decided game teaches little
PLAYED, STARTS = "games.pgn", "starts.epd"  # in the folder


@dataclass(frozen=True)
class LearnResult:
    """The result of a request: what was done with the new weights, the summary (None for --use), and other files."""

    outcome: InstallOutcome
    summary: Summary | None = None
    record: Path | None = None
    csv: Path | None = None

    def _repr_html_(self) -> str:
        """What Jupyter shows: what was done, the errors, and the weights that changed."""
        done = escape(f"{self.outcome.verdict}. {self.outcome.state}")
        if self.summary is None:
            return f"<p>{done}</p>"
        found = self.summary
        errors = ("Error before", "after", "fall (95%)"), [_errors(found)]
        changed = [(line.name, round(line.old), round(line.new), line.clear_word) for line in found.weights]
        weights = html_table(("Weight", "Before", "After", "Clear"), [row for row in changed if row[1] != row[2]])
        return f"<p>{found.games:,} games, {found.positions:,} positions: {done}</p>{html_table(*errors)}{weights}"


def _errors(found: Summary) -> tuple[str, str, str]:
    return f"{found.valid_before:.6f}", f"{found.valid_after:.6f}", f"{found.gain:.6f} ± {1.96 * found.gain_error:.6f}"


def learn_from_files(
    request: LearnRequest,
    events: Events,
    trial: StrengthTest = GAIN,
    command: str = "merino learn",
    executor: RemoteExecutor | None = None,
) -> LearnResult:
    """Learn new weights from games, and put them in use if they are better and pass their match.

    Four stages, each of which makes one value for the next: games are read, weights fitted to them, the fits judged on
    games kept apart, and what is accepted is installed if it passes its match.

    `trial` is that match, unless the request asks for another; `command` is the name of `learn` in hints. Lines for
    the user go to `events` and, except in a dry run, to `learning.log`. Ctrl-C ends the fit or the match and keeps the
    best so far. `executor` has the workers that keep the rows and play the match, None for this process; the result is
    the same. Raises WeightsError, WorkError if the workers are gone, and LearnError (a SourceError), whose message
    says in which state the files are; FileInUseError if another run learns
    into the same file.
    """
    with RunLog(events.say) as log, standing(AS_THEY_WERE), ExitStack() as stack:
        run = LearnRun.of(request, replace(events, say=log), trial, command, executor)
        files = run.files
        files.check()
        if not request.dry_run:
            stack.enter_context(held(files.weights.target))  # another learn would save these new values as the old ones
        request = with_strays_of(find_files(request.files), request, log)
        task = Task.of(request, *load_any(files.weights.source), files.compares)
        if request.play_on is not None:
            task = replace(task, request=play_on(task.request, task.evaluation, run.events, executor))
        data = read(task, run)
        data.tell(files.weights.source, log)
        if not request.dry_run:
            log.open(files.weights.target.parent / "learning.log")
        steps = StepLog(run.events, task.request.settings, task.terms)
        judged = judge_fits(fit_all(data, steps), run, steps)
        judged.tell(log)
        outcome = install(judged, run)
        with standing(outcome.state or AS_THEY_WERE):
            write_together(reports(judged, outcome, files))
        if files.record is not None:
            log(f"Record in '{files.record}'; to draw it:")
            log(f"    merino plot {as_word(files.record)}")
    return LearnResult(outcome, summary_with(judged, outcome), files.record, files.csv)


def use_weights(file: str, weights: str | None, say: Say) -> LearnResult:
    """Replace the file `weights`, None for the one in use, by `file` without learning; lines for the user go to `say`.

    Raises LearnError and WeightsError.
    """
    with RunLog(say) as log, standing(AS_THEY_WERE):
        paths = weights_paths(weights)
        paths.check_writable()
        with held(paths.target):
            asked = named_path(file).absolute()
            load_any(asked)
            if file_at(asked) == file_at(paths.target):
                raise LearnError(f"'{asked}' is the file in use")
            replace_weights(paths, read_user_file(asked, WEIGHTS), log)
    return LearnResult(InstallOutcome(Verdict.NO_MATCH, paths.target, True))


def play_on(
    request: LearnRequest, evaluation: Evaluation, events: Events, executor: Executor | None = None
) -> LearnRequest:
    """The request to learn from games that `evaluation` plays from positions of the games of this request.

    `executor` plays them, None for threads of this process. Raises LearnError, MatchError and OSError, and
    LearnStoppedError after Ctrl-C; the games so far are kept.
    """
    from merino.learn.rounds.loop import StepContext, StepStoppedError, play_games  # noqa: PLC0415 (with python-chess, which those who only fit need not wait for)

    assert request.play_on is not None
    paths, plan = find_files(request.files), RoundPlan(games=request.play_on, seed=request.settings.seed)
    if any(map(is_passing, paths)):
        raise LearnError("--play-on keeps its games beside a file: name one instead of '-'")
    fens = _starts(one_of_each_game(paths, MIN_PLY, MAX_PLY), evaluation, (plan.games + 1) // 2)
    folder = _folder(paths, fens, evaluation, plan)
    folder.mkdir(exist_ok=True)
    write_whole(folder / STARTS, "".join(f"{fen}\n" for fen in fens).encode())
    events.say(f"Playing {plan.games} games on from these, {plan.nodes} nodes a move, in folder '{folder}'")
    context = StepContext(request.concurrency or cores(), events, lambda: None, executor)
    try:
        play_games(plan, 1, evaluation, folder, context, folder / PLAYED, openings=folder / STARTS)
    except StepStoppedError as error:
        raise LearnStoppedError(f"stopped by Ctrl-C; the same command goes on in '{folder}'") from error
    return replace(request, files=(str(folder / PLAYED),), play_on=None, keep_fen=False)


def _starts(positions: np.ndarray, evaluation: Evaluation, most: int) -> list[str]:
    """The FEN of at most so many of them, drawn by their keys, in which no side is far ahead; raises LearnError."""
    even = positions[np.abs(evaluation.white_scores(positions)) <= MAX_LEAD]
    fens = list[str]()
    for index in range(len(even)):
        fen = to_fen(even[index : index + 1])
        if Position(fen).outcome() is None:
            fens.append(fen)
        if len(fens) == most:
            break
    if not fens:
        raise LearnError(
            f"none of these games has an even position after ply {MIN_PLY} from which it could be played on"
        )
    return fens


def _folder(paths: Sequence[Path], fens: Sequence[str], evaluation: Evaluation, plan: RoundPlan) -> Path:
    """The folder of the games that these files, the positions chosen, the evaluation and the plan lead to."""
    decides = repr(([digest(path) for path in paths], fens, evaluation.identity, plan.as_json()))
    name = hashlib.blake2b(decides.encode(), digest_size=4).hexdigest()
    first = plain_name(paths[0])
    return first.with_name(f"{first.stem}.played-on-{name}")
