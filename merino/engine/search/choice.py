"""The model of choice: what each legal move shows a player, and how much that counts with players of a rating.

A row of columns for each move, all the mover's: the expected score that it loses against the best move, as searches of
several sizes see it; habits, such as taking; and how much it changes each term of the evaluation. The chance of a move
is proportional to exp(its columns times the coefficients). Levels of strength choose by it.

The coefficients of players lie in `weights/people.toml`; `tools/fit_people.py` fits them. No games are needed to use
it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from merino.core.board import bitboard
from merino.core.board.game import Position
from merino.core.board.makemove import make
from merino.core.board.move import CASTLING, Move, destination_of, kind_of, origin_of
from merino.core.board.movegen import ALL, MAX_MOVES, count_legal, generate, is_noisy
from merino.core.board.position import POSITION, side_to_move
from merino.core.common.about import SHIPPED
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import load_word
from merino.engine.search.iterative_deepening import MIN_NODES, deepen, set_root
from merino.engine.search.known_openings import known_moves
from merino.engine.search.limits import MATE_IN_MAX_PLY, MATE_SCORE, MAX_PLY
from merino.engine.search.state import PAST
from merino.engine.search.strength import NETS, Strength
from merino.engine.search.strength import TERMS as BY_TERMS
from merino.engine.search.transposition import TranspositionTable, age_of
from merino.engine.search.worker import Worker
from merino.eval.evaluation import Evaluation
from merino.eval.linear.compiled import features_of
from merino.eval.linear.family import LinearEvaluation
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
    signs = np.where(positions["side"] == bitboard.WHITE, 1.0, -1.0)
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
        for number in range(generate(position, scratch, ALL, bitboard.FULL)):
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
    habits[2] = child.checkers != bitboard.ZERO
    forward = (destination >> 3) - (origin >> 3)
    if side_to_move(position) == bitboard.BLACK:
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
    kind = bitboard.type_of(position.board[origin])
    is_castling = kind_of(move) == CASTLING
    is_kings = kind == bitboard.KING and not is_castling
    is_minor = kind == bitboard.KNIGHT or kind == bitboard.BISHOP
    first_rank = bitboard.RANK_1 if side == bitboard.WHITE else bitboard.RANK_8
    habits[5] = is_castling
    habits[6] = is_kings and may_castle != bitboard.ZERO
    habits[7] = kind == bitboard.ROOK and (may_castle & bitboard.bit(origin)) != bitboard.ZERO
    habits[8] = is_kings and may_castle == bitboard.ZERO and (position.pieces[bitboard.QUEEN] & ~own) != bitboard.ZERO
    habits[9] = is_minor and (first_rank & bitboard.bit(origin)) != bitboard.ZERO and may_castle != bitboard.ZERO


@entry
def search_all(records, positions, past, nodes, last_depth, first, scores):
    """Fill `scores`, int64[n], with those of POSITION[n] for the side to move, each from a search of `nodes` nodes.

    The first iteration of each may use `first` nodes.

    `past`, uint64[m], are the keys of the game before, the same for all: a position that occurs there is a draw. One
    without a legal move is lost or drawn. Ends early when the stop flag is set. Returns the nodes of all searches.
    """
    s = records[0]
    keys = np.zeros(len(past) + 1, dtype=np.uint64)
    keys[: len(past)] = past
    total = 0
    for index in range(len(positions)):
        if load_word(s.stop_address) != bitboard.ZERO:
            break
        position = positions[index]
        if count_legal(position) == 0:
            scores[index] = -MATE_SCORE if position.checkers != bitboard.ZERO else 0
            continue
        keys[len(past)] = position.key
        scores[index] = 0
        if not _has_occurred(keys):
            set_root(s, position, keys, len(keys), age_of(index))
            scores[index] = deepen(s, nodes, last_depth, first)[1]
            total += s.nodes
    return total


@kernel
def _has_occurred(keys):
    """Whether the last of the keys is also among the others."""
    for index in range(len(keys) - 1):
        if keys[index] == keys[len(keys) - 1]:
            return True
    return False


# Weakened play: a move drawn as a person of some strength would choose it, by what searches see and by habit.

DEEP_SIGHTS = (8192, 32768)  # nodes of searches that strong levels make, beyond those of the model of choice
_WORTH_A_LOOK = 5.0  # a move e^-5 times as likely as the likeliest so far is not looked at more deeply
_UNHEARD_OF = 20.0  # a rook or bishop in place of a queen, which only some endings want, is e^-20 times as likely
_TABLE_MB = 1
KNOWN_SHARE = 0.95  # of the moves where an opening with a name goes on, which players of all levels know


def has_bare_king(position: Position, side: int) -> bool:
    """Whether this side has nothing but its king."""
    return bitboard.popcount(position.record[0]["colours"][side]) == 1


class ChosenMove(NamedTuple):
    """A move, the nodes that the choice took, and whether it saw all that a player of this strength sees."""

    move: Move
    nodes: int
    is_whole: bool = True


class Chooser:
    """Chooses moves with one evaluation. What it knows lies in the position alone: no earlier search changes a choice.

    Only one thread at a time may use it.
    """

    def __init__(self, evaluation: Evaluation, parameters: tuple[int, ...], stop_flag: np.ndarray) -> None:
        """`stop_flag` is uint64[1]; a choice is made soon after it is set."""
        self._table = TranspositionTable(_TABLE_MB)
        self._worker = Worker(self._table, stop_flag, evaluation, parameters)
        self._stop_flag, self._k = stop_flag, evaluation.k
        self._kind = BY_TERMS if isinstance(evaluation, LinearEvaluation) else NETS

    def choose(
        self,
        position: Position,
        allowed: Sequence[int],
        strength: Strength,
        random: Random,
        last_depth: int = MAX_PLY - 1,
        most_nodes: int | None = None,
    ) -> ChosenMove:
        """One of the allowed legal moves, drawn by its chance for a player of this strength.

        Known openings are mostly followed, and a mate that is seen is played. `last_depth` and `most_nodes` bound the
        searches; sights that take more nodes are left out.
        """
        known = {move: count for move, count in known_moves(position).items() if move in allowed}
        if known and random.random() < KNOWN_SHARE:
            return ChosenMove(Move(random.choices(list(known), list(known.values()))[0]), 0)
        before = np.array([[0, 0, *position.moves][-2:]], dtype=np.int64)
        _, moves, children, columns = shown_by(position.record, before)
        wanted = np.flatnonzero(np.isin(moves, np.array(allowed, dtype=np.int32)))
        moves, children = moves[wanted], children[wanted]
        likings = columns[wanted, FIRST_HABIT:] @ people().usual(strength.elo)[FIRST_HABIT:]
        likings[[Move(move).promotion in (bitboard.BISHOP, bitboard.ROOK) for move in moves.tolist()]] -= _UNHEARD_OF
        past = np.array(position.keys[-PAST:], dtype=np.uint64)
        self._worker.forget()
        self._table.clear()
        kept, total, is_whole = np.arange(len(moves)), 0, True
        for nodes, weight in zip((*SIGHTS, *DEEP_SIGHTS), strength.sights(self._kind), strict=False):
            share = MIN_NODES if most_nodes is None else (most_nodes - total) // len(kept)
            if weight == 0 or (most_nodes is not None and share < nodes):
                is_whole = is_whole and weight == 0
                continue
            scores, depth = np.zeros(len(kept), dtype=np.int64), max(1, last_depth - 1)
            total += search_all(self._worker.record, children[kept], past, nodes, depth, min(MIN_NODES, share), scores)
            if self._stop_flag[0]:
                is_whole = False
                break
            if (-scores).max() >= MATE_IN_MAX_PLY:
                return ChosenMove(Move(int(moves[kept[np.argmin(scores)]])), total, is_whole)
            chances = expected_scores(-scores, self._k)
            likings[kept] += weight * (chances - chances.max())
            kept = kept[likings[kept] >= likings[kept].max() - _WORTH_A_LOOK]
        weights = np.exp(likings[kept] - likings[kept].max())
        return ChosenMove(Move(random.choices(moves[kept].tolist(), weights.tolist())[0]), total, is_whole)
