"""The model of choice: what each legal move shows a player, and how much that counts with players of a rating.

A row of columns for each move, all the mover's: the expected score that it loses against the best move, as searches of
several sizes see it; habits, such as taking; and how much it changes each term of the evaluation. The chance of a move
is proportional to exp(its columns times the coefficients). Levels of strength choose by it.

The coefficients of players lie in `weights/people.toml`; `tools/fit_people.py` fits them. No games are needed to use
it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.board.bitboard import (
    BISHOP,
    BLACK,
    FULL,
    KING,
    KNIGHT,
    QUEEN,
    RANK_1,
    RANK_8,
    ROOK,
    WHITE,
    ZERO,
    bit,
    type_of,
)
from merino.core.board.makemove import make
from merino.core.board.move import CASTLING, destination_of, kind_of, origin_of
from merino.core.board.movegen import ALL, MAX_MOVES, count_legal, generate, is_noisy
from merino.core.board.position import POSITION, side_to_move
from merino.core.common.about import SHIPPED
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import load_word
from merino.engine.search.iterative_deepening import deepen, set_root
from merino.engine.search.limits import MATE_SCORE
from merino.engine.search.transposition import age_of
from merino.eval.linear.compiled import features_of
from merino.eval.linear.registry import TERMS

SIGHTS = (16, 128, 1024)  # nodes of the searches after a move
HABITS = (
    "capture",
    "capture of what just moved",
    "check",
    "retreat",
    "same piece again",
    "castling",
    "castling lost by the king",
    "castling lost by a rook",
    "king's move with queens on",
    "development before castling",
)
TERM_NAMES = tuple(term.name for term in TERMS)
COLUMNS = (*(f"search of {nodes} nodes" for nodes in SIGHTS), *HABITS, *TERM_NAMES)
MAX_EXPONENT = 700  # of e, without overflow
FIRST_HABIT = len(SIGHTS)
FIRST_TERM = FIRST_HABIT + len(HABITS)
FILE = Path(SHIPPED) / "people.toml"


@dataclass(frozen=True)
class People:
    """The mean of each coefficient over players, float64[COLUMNS], and its change with 100 points of rating."""

    rating: float  # at which the means hold
    low: float  # ratings between which players were seen
    high: float
    means: np.ndarray
    slopes: np.ndarray

    def usual(self, rating: float | None) -> np.ndarray:
        """The coefficients of players with this rating, or of the nearest that was seen; None for any player."""
        nearest = self.rating if rating is None else min(max(rating, self.low), self.high)
        return np.asarray(self.means + (nearest - self.rating) / 100 * self.slopes)


@cache
def people() -> People:
    """The players that come with Merino."""
    return from_toml(tomllib.loads(FILE.read_text(encoding="utf-8")))


def from_toml(found: Mapping[str, Any]) -> People:
    """The contents of a file; the coefficient of a column that it does not name is 0."""
    rows = [found["columns"].get(name, {}) for name in COLUMNS]
    means, slopes = (np.array([float(row.get(key, 0.0)) for row in rows]) for key in ("mean", "slope"))
    low, high = map(float, found["ratings"])
    return People(float(found["rating"]), low, high, means, slopes)


def expected_scores(scores: np.ndarray, k: float) -> np.ndarray:
    """The expected score, 0..1, of each of these scores, as `eval.outlook.expected_score`; mates as here or in PGN."""
    exponents = -np.clip(scores, -MATE_SCORE, MATE_SCORE) / k
    return np.asarray(1 / (1 + np.exp(np.minimum(exponents, MAX_EXPONENT))))


def shown_by(positions: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the legal moves of POSITION[n] show at a glance: firsts, moves, the positions after them, columns.

    `before`, int64[n, 2], are the mover's last move and the opponent's, 0 for none. `firsts`, int64[n + 1], are the
    rows where the moves of each position begin. The columns of searches are 0.
    """
    firsts = np.zeros(len(positions) + 1, dtype=np.int64)
    count_moves(positions, firsts)
    children = np.zeros(int(firsts[-1]), dtype=POSITION)
    moves, habits = np.zeros(len(children), dtype=np.int32), np.zeros((len(children), len(HABITS)))
    _play_all(positions, before, firsts, children, moves, habits)
    owner = np.repeat(np.arange(len(positions)), np.diff(firsts))
    signs = np.where(positions["side"] == WHITE, 1.0, -1.0)
    terms = signs[owner, None] * (features_of(children) - features_of(positions)[owner])
    return firsts, moves, children, np.concatenate([np.zeros((len(children), len(SIGHTS))), habits, terms], axis=1)


@entry
def count_moves(positions, firsts):
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
    _note_castling(position, move, habits)


@kernel
def _note_castling(position, move, habits):
    """Fill the habits of a move that are about the king's safety: castling, what is lost by not castling, development.

    A right to castle counts as long as the rules leave it, whatever stands between.
    """
    side, origin = side_to_move(position), origin_of(move)
    own = position.colours[side]
    may_castle = position.castling & own
    kind = type_of(position.board[origin])
    is_castling = kind_of(move) == CASTLING
    is_kings = kind == KING and not is_castling
    is_minor = kind == KNIGHT or kind == BISHOP
    first_rank = RANK_1 if side == WHITE else RANK_8
    habits[5] = is_castling
    habits[6] = is_kings and may_castle != ZERO
    habits[7] = kind == ROOK and (may_castle & bit(origin)) != ZERO
    habits[8] = is_kings and may_castle == ZERO and (position.pieces[QUEEN] & ~own) != ZERO
    habits[9] = is_minor and (first_rank & bit(origin)) != ZERO and may_castle != ZERO


@entry
def search_all(records, positions, past, nodes, last_depth, scores):
    """Fill `scores`, int64[n], with those of POSITION[n] for the side to move, each from a search of `nodes` nodes.

    `past`, uint64[m], are the keys of the game before, the same for all: a position that occurs there is a draw. One
    without a legal move is lost or drawn. Ends early when the stop flag is set. Returns the nodes of all searches.
    """
    s = records[0]
    keys = np.zeros(len(past) + 1, dtype=np.uint64)
    keys[: len(past)] = past
    total = 0
    for index in range(len(positions)):
        if load_word(s.stop_address) != ZERO:
            break
        position = positions[index]
        if count_legal(position) == 0:
            scores[index] = -MATE_SCORE if position.checkers != ZERO else 0
            continue
        keys[len(past)] = position.key
        scores[index] = 0
        if not _has_occurred(keys):
            set_root(s, position, keys, len(keys), age_of(index))
            scores[index] = deepen(s, nodes, last_depth)[1]
            total += s.nodes
    return total


@kernel
def _has_occurred(keys):
    """Whether the last of the keys is also among the others."""
    for index in range(len(keys) - 1):
        if keys[index] == keys[len(keys) - 1]:
            return True
    return False
