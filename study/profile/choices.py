"""The choices of a player: positions with all their legal moves, and what each move shows at a glance and in search.

What a move shows is a row of columns: the chances it loses against the best move, as searches of several depths see
it; habits, such as taking; and how much it changes each term of the evaluation. All are the mover's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from merino.inner.core.board.bitboard import BLACK, FULL, WHITE, ZERO
from merino.inner.core.board.makemove import make
from merino.inner.core.board.move import CASTLING, destination_of, kind_of, origin_of
from merino.inner.core.board.movegen import ALL, MAX_MOVES, count_legal, generate, is_noisy
from merino.inner.core.board.position import POSITION, side_to_move
from merino.inner.core.common.work import in_order
from merino.inner.core.compiled.jit import entry, kernel
from merino.inner.eval.linear.evaluate import features_of, stages_of
from merino.inner.eval.linear.family import LinearEvaluation
from merino.inner.eval.linear.registry import TERMS
from merino.inner.learn.rescoring import Rescore
from merino.inner.learn.targets import expected_scores
from merino.inner.study.profile.players import PlayerGames

DEPTHS = (16, 128, 1024)  # nodes of the searches after a move
HABITS = ("capture", "capture of what just moved", "check", "retreat", "same piece again")
TERM_NAMES = tuple(term.name for term in TERMS)
COLUMNS = (*(f"search of {nodes} nodes" for nodes in DEPTHS), *HABITS, *TERM_NAMES)
FIRST_HABIT = len(DEPTHS)
FIRST_TERM = FIRST_HABIT + len(HABITS)
MAX_CHOICES = 1000
_TOGETHER = 8  # positions whose moves are searched with one table


@dataclass(frozen=True)
class Choices:
    """Positions with at least two legal moves, and the move that was played in each."""

    games: np.ndarray  # int64[n], the place of each one's game in `PlayerGames`
    plies: np.ndarray  # int64[n], of the game
    firsts: np.ndarray  # int64[n + 1]: the rows of its moves
    played: np.ndarray  # int64[n], the row of the move played
    moves: np.ndarray  # int32[m]
    columns: np.ndarray  # float64[m, COLUMNS]
    expected: np.ndarray  # float64[n], the share of the points with the best move, by the deepest search
    stages: np.ndarray  # int64[n], units of pieces left, as `eval.material.stage_of`

    def __len__(self) -> int:
        return len(self.played)

    def chosen(self, wanted: np.ndarray) -> Choices:
        """Those of the positions that bool[n] names."""
        lengths = np.diff(self.firsts)
        rows = np.repeat(wanted, lengths)
        firsts = np.concatenate([[0], np.cumsum(lengths[wanted])])
        return Choices(
            self.games[wanted],
            self.plies[wanted],
            firsts,
            firsts[:-1] + (self.played - self.firsts[:-1])[wanted],
            self.moves[rows],
            self.columns[rows],
            self.expected[wanted],
            self.stages[wanted],
        )

    @property
    def losses(self) -> np.ndarray:
        """The chances that the moves played lost, by each search, float64[n, DEPTHS]."""
        return -self.columns[self.played, :FIRST_HABIT]


def choices_of(
    player: PlayerGames,
    evaluation: LinearEvaluation,
    most: int = MAX_CHOICES,
    report: Callable[[float], object] | None = None,
) -> Choices:
    """The choices of a player in at most so many positions, always the same ones; `report` gets the share done."""
    positions, games, plies, played, before = _chosen(player, most)
    firsts = np.zeros(len(positions) + 1, dtype=np.int64)
    _count_moves(positions, firsts)
    children = np.zeros(int(firsts[-1]), dtype=POSITION)
    moves, habits = np.zeros(len(children), dtype=np.int32), np.zeros((len(children), len(HABITS)))
    _play_all(positions, before, firsts, children, moves, habits)
    owner = np.repeat(np.arange(len(positions)), np.diff(firsts))
    signs = np.where(positions["side"] == WHITE, 1.0, -1.0)
    terms = signs[owner, None] * (features_of(children) - features_of(positions)[owner])
    columns = np.concatenate([np.zeros((len(children), len(DEPTHS))), habits, terms], axis=1)
    best = np.zeros(len(positions))
    for depth, nodes in enumerate(DEPTHS):
        scores = np.zeros(len(children))
        for spans, found in _searched(children, firsts, Rescore(nodes, evaluation)):
            scores[spans] = found
            if report:
                report((sum(DEPTHS[:depth]) + nodes * spans.stop / len(children)) / sum(DEPTHS))
        chances = expected_scores(signs[owner] * scores, evaluation.k)
        best = np.maximum.reduceat(chances, firsts[:-1]) if len(positions) else best
        columns[:, depth] = chances - best[owner]
    rows = firsts[:-1] + _places(moves, firsts, played)
    return Choices(games, plies, firsts, rows, moves, columns, best, stages_of(positions))


def _chosen(player: PlayerGames, most: int) -> tuple[np.ndarray, ...]:
    """Positions, games, plies, moves played, and the two moves before each; by chance, but the same each time."""
    parts: list[tuple[np.ndarray, ...]] = []
    for index, game in enumerate(player.games):
        plies = game.own_plies()
        mine = game.positions[plies]
        earlier = np.concatenate([np.zeros(2, dtype=np.int64), game.moves])
        before = np.stack([earlier[plies], earlier[plies + 1]], axis=1)  # the player's own, then the opponent's
        parts.append((mine, np.full(len(plies), index), plies, game.moves[plies].astype(np.int64), before))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return np.zeros(0, dtype=POSITION), none, none, none, np.zeros((0, 2), dtype=np.int64)
    positions, games, plies, played, before = (np.concatenate(part) for part in zip(*parts, strict=True))
    counts = np.zeros(len(positions) + 1, dtype=np.int64)
    _count_moves(positions, counts)
    open_choice = np.flatnonzero(np.diff(counts) > 1)
    if len(open_choice) > most:
        seed = int.from_bytes(hashlib.blake2b(player.name.encode(), digest_size=8).digest(), "little")
        open_choice = np.sort(np.random.default_rng(seed).choice(open_choice, most, replace=False))
    return positions[open_choice], games[open_choice], plies[open_choice], played[open_choice], before[open_choice]


def _places(moves: np.ndarray, firsts: np.ndarray, played: np.ndarray) -> np.ndarray:
    """The place of the move played among the moves of each position."""
    found = np.zeros(len(played), dtype=np.int64)
    for index, (first, last) in enumerate(zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)):
        found[index] = int(np.argmax(moves[first:last] == played[index]))
    return found


def _searched(children: np.ndarray, firsts: np.ndarray, rescore: Rescore) -> Sequence[tuple[slice, np.ndarray]]:
    """White's scores after some moves at a time, in order."""
    stop = np.zeros(1, dtype=np.uint64)
    edges = [*firsts[:-1:_TOGETHER].tolist(), int(firsts[-1])]
    spans = [slice(first, last) for first, last in pairwise(edges) if last > first]
    return in_order(lambda span: (span, rescore.scores_of(children[span], stop)), spans)  # type: ignore[return-value]


@entry
def _count_moves(positions, firsts):
    """Fill int64[n + 1] with where the moves of each position begin, if laid end to end."""
    for index in range(len(positions)):
        firsts[index + 1] = firsts[index] + count_legal(positions[index])


@entry
def _play_all(positions, before, firsts, children, moves, habits):
    """Fill the position after each legal move, the move, and which habits it follows."""
    scratch = np.zeros(MAX_MOVES, dtype=np.int32)
    for index in range(len(positions)):
        position = positions[index]
        for number in range(generate(position, scratch, ALL, FULL)):
            row, move = firsts[index] + number, np.int64(scratch[number])
            make(children[row], position, move)
            moves[row] = move
            _note_habits(position, children[row], move, before[index], habits[row])


@kernel
def _note_habits(position, child, move, before, habits):
    """Fill float64[HABITS] for a move; `before` is the mover's last move and the opponent's."""
    origin, destination = origin_of(move), destination_of(move)
    is_capture = is_noisy(position, move)
    habits[0] = is_capture
    habits[1] = is_capture and before[1] != 0 and destination == destination_of(before[1])
    habits[2] = child.checkers != ZERO
    forward = (destination >> 3) - (origin >> 3)
    if side_to_move(position) == BLACK:
        forward = -forward
    habits[3] = forward < 0 and kind_of(move) != CASTLING
    habits[4] = before[0] != 0 and origin == destination_of(before[0])
