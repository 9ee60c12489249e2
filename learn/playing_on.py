"""Playing on: Merino plays games against itself from positions of the user's games, and learns from those.

They show what Merino's search meets where such games lead, with its scores. They are kept in a folder beside the
user's games, whose name stands for all that decides them: the same command finds them, and goes on if it was stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import numpy as np

from merino.inner.core.board.fen import to_fen
from merino.inner.core.board.game import Position
from merino.inner.core.common.files import write_whole
from merino.inner.core.common.work import cores
from merino.inner.eval.evaluation import Evaluation
from merino.inner.formats.sources import digest, find_files, is_passing, plain_name
from merino.inner.learn.drawing import one_of_each_game
from merino.inner.learn.errors import LearnError, LearnStoppedError
from merino.inner.learn.request import Events, LearnRequest
from merino.inner.learn.rounds.state import RoundPlan

FIRST, LAST = 8, 40  # plies of a game between which it is played on
EVEN = 200  # centipawns by which a side may be ahead there: a decided game teaches little
GAMES, STARTS = "games.pgn", "starts.epd"  # in the folder


def play_on(
    request: LearnRequest, evaluation: Evaluation, events: Events, executor: Executor | None = None
) -> LearnRequest:
    """The request to learn from games that `evaluation` plays from positions of the games of this request.

    `executor` plays them, None for threads of this process. Raises LearnError, MatchError and OSError, and
    LearnStoppedError after Ctrl-C; the games so far are kept.
    """
    from merino.inner.learn.rounds.steps import StepContext, StepStoppedError, play_games  # noqa: PLC0415 (with python-chess, which those who only fit need not wait for)

    assert request.play_on is not None
    paths, plan = find_files(request.files), RoundPlan(games=request.play_on, seed=request.settings.seed)
    if any(map(is_passing, paths)):
        raise LearnError("--play-on keeps its games beside a file: name one instead of '-'")
    fens = _starts(one_of_each_game(paths, FIRST, LAST), evaluation, (plan.games + 1) // 2)
    folder = _folder(paths, fens, evaluation, plan)
    folder.mkdir(exist_ok=True)
    write_whole(folder / STARTS, "".join(f"{fen}\n" for fen in fens).encode())
    events.say(f"Playing {plan.games} games on from these, {plan.nodes} nodes a move, in folder '{folder}'")
    context = StepContext(request.concurrency or cores(), events, lambda: None, executor)
    try:
        play_games(plan, 1, evaluation, folder, context, folder / GAMES, openings=folder / STARTS)
    except StepStoppedError as error:
        raise LearnStoppedError(f"stopped by Ctrl-C; the same command goes on in '{folder}'") from error
    return replace(request, files=(str(folder / GAMES),), play_on=None, keep_fen=False)


def _starts(positions: np.ndarray, evaluation: Evaluation, most: int) -> list[str]:
    """The FEN of at most so many of them, drawn by their keys, in which no side is far ahead; raises LearnError."""
    even = positions[np.abs(evaluation.white_scores(positions)) <= EVEN]
    fens = list[str]()
    for index in range(len(even)):
        fen = to_fen(even[index : index + 1])
        if Position(fen).outcome() is None:
            fens.append(fen)
        if len(fens) == most:
            break
    if not fens:
        raise LearnError(f"none of these games has an even position after ply {FIRST} from which it could be played on")
    return fens


def _folder(paths: Sequence[Path], fens: Sequence[str], evaluation: Evaluation, plan: RoundPlan) -> Path:
    """The folder of the games that these files, the positions chosen, the evaluation and the plan lead to."""
    decides = repr(([digest(path) for path in paths], fens, evaluation.identity, plan.as_json()))
    name = hashlib.blake2b(decides.encode(), digest_size=4).hexdigest()
    first = plain_name(paths[0])
    return first.with_name(f"{first.stem}.played-on-{name}")
