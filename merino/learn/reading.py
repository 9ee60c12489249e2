"""The stage that reads: from files of games to the samples that are fitted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from merino.core.common.text import counted
from merino.formats.pgn_games import Fault
from merino.formats.sources import find_files, is_passing, name_of
from merino.learn.inputs import ReadOptions, read_rows
from merino.learn.loss_and_gradient import Samples
from merino.learn.position_source import PositionSource, gives_strays, keeps_strays
from merino.learn.positions import one_of_each_game
from merino.learn.ranking import Moves, moves_of
from merino.learn.request import Events, LearnRequest, Say, Task
from merino.learn.rescoring import Rescore
from merino.learn.run import LearnRun
from merino.learn.strengths import strengths_in

SHOWN_FAULTS = 5
ENOUGH_GAMES = 500  # measured: with a teacher, they bring four fifths of the fall of the error that 20,000 bring
MAX_PLIES = 10_000  # of a game
ENOUGH = 4  # times as many games as positions to rank moves in, to draw these from


@dataclass(frozen=True)
class TrainingData:
    """What the fits of a task are of: a sample for each of its settings, of so many games, and moves to rank.

    `seconds` is how long it took to read.
    """

    task: Task
    samples: tuple[Samples, ...]
    games: int
    moves: Moves | None
    seconds: float

    def tell(self, source: Path, say: Say) -> None:
        """Report the two sets and the settings of the first fit, which starts from the weights in `source`."""
        settings, sample = self.task.settings[0], self.samples[0]
        validation = sample.validation_rows
        say(f"Training set: {sample.size - validation}")
        say(f"Validation set: {validation}")
        by = "position" if settings.split_by_position else "game"
        say(
            f"Weights: '{source}'; terms {settings.moving} may move"
            + (", each with a value for the middlegame and one for the endgame" if settings.phases == 2 else "")
        )
        say(f"Method: {settings.method}, {settings.loss} error; split by {by}, seed {settings.seed}")
        if settings.target.needs_scores:
            of = "scores fit the results at" if settings.target.k is None else "its own scale is"
            say(f"Target: {settings.target.describe()}; {of} K = {sample.score_k:.1f} centipawns")
        say("Start optimization...")


def with_strays_of(paths: Sequence[Path], request: LearnRequest, say: Say) -> LearnRequest:
    """The request as these files let it be: without strays where they hold positions alone; says which give none.

    Raises SourceError.
    """
    if not request.has_strays:
        return request
    without = [path for path in paths if not gives_strays(path)]
    if without:
        say(f"Strays are made from games only: {', '.join(name_of(path, True) for path in without)} gives none")
    keep = len(without) < len(paths)
    return replace(request, selection=replace(request.selection, strays=keep))


def read(task: Task, run: LearnRun) -> TrainingData:
    """The data of a task; raises LearnError."""
    options, request, say = read_options(task), task.request, run.events.say
    paths = find_files(request.files)
    if options.ratings:
        options = replace(options, strengths=strengths_in(paths, say, run.events.progressed)[0])
    positions = read_rows(paths, options, run.events)
    say(f"Games: {positions.games}")
    _report_faults(positions.faults, say)
    if positions.games < ENOUGH_GAMES:
        say(
            f"{positions.games} games are too few to learn from safely: about {ENOUGH_GAMES} would do. What they teach "
            "is used only if it wins a match."
        )
    beside = None
    others_need_results = request.has_strays and len(task.settings) > 1 and positions.tell_results
    if others_need_results and not any(is_passing(path) or keeps_strays(path) for path in paths):
        quietly = Events(progressed=run.events.progressed)
        strengths, is_any_known = strengths_in(paths, quietly.say, quietly.progressed)
        if is_any_known:
            plain = replace(options.selection, strays=False)
            knowing = replace(options, selection=plain, ratings=True, strengths=strengths, keep_fen=False)
            beside = read_rows(paths, replace(knowing, needs_results=True), quietly)
    return training_data(task, positions, paths, beside)


def read_options(task: Task) -> ReadOptions:
    """How to read for a task."""
    request, teacher = task.request, task.teacher
    of_these = task.settings[:1] if request.has_strays else task.settings  # the others are of positions without strays
    rescore = None if request.rescore is None else Rescore(request.rescore, teacher or task.evaluation)
    return ReadOptions(
        replace(request.selection, strays=request.has_strays),
        task.start,
        keep_fen=request.keep_fen and not request.dry_run,
        needs_scores=request.needs_scores,
        needs_results=any(each.target.needs_results for each in of_these),
        rescore=rescore,
        teacher=teacher if rescore is None else None,
        ratings=request.settings.ratings,
        terms=task.terms,
    )


def training_data(
    task: Task, positions: PositionSource, paths: Sequence[Path], beside: PositionSource | None = None
) -> TrainingData:
    """The data of a task of positions that were read for it from these files; raises LearnError.

    `beside` strays are the same positions without them: for the targets that results count for, which are left out
    without such positions, or where all games have one result.
    """
    others = beside if task.request.has_strays else positions
    samples = [positions.sample(task.settings[0])]
    if others is None or not positions.tell_results:
        task = replace(task, settings=task.settings[:1])
    else:
        samples += [others.sample(settings) for settings in task.settings[1:]]
    moves = moves_to_rank(task, paths)
    return TrainingData(task, tuple(samples), positions.games, moves, time.perf_counter() - task.began)


def moves_to_rank(task: Task, paths: Sequence[Path]) -> Moves | None:
    """The moves that the weights shall rank, as the task's ranker sees them.

    None if none are wanted, or the games of these files are too few or cannot be read again.
    """
    wanted = task.request.choice.ranked
    if task.ranker is None or any(map(is_passing, paths)):
        return None
    positions = one_of_each_game(paths, 0, MAX_PLIES, ENOUGH * wanted)[:wanted]
    return moves_of(positions, task.ranker) if len(positions) == wanted else None


def _report_faults(faults: Sequence[tuple[Path, Fault]], say: Say) -> None:
    if faults:
        say(f"{counted(len(faults), 'game')} could not be read, left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            say(f"  {name_of(path)}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            say(f"  and {len(faults) - SHOWN_FAULTS} more")
