"""Games: random even openings, the compiled loop that plays one, its record, and the tally of many."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from merino.core.board import bitboard, fen, makemove, movegen
from merino.core.board.game import FIFTY_MOVES, RESULTS, Position
from merino.core.board.move import Move
from merino.core.board.position import is_insufficient_material, side_to_move
from merino.core.common.errors import MerinoError
from merino.core.compiled import memory
from merino.core.compiled.jit import entry, kernel
from merino.engine.search import iterative_deepening, limits, transposition, worker
from merino.eval.families import default
from merino.formats.openings import Opening, OpeningError

# A whole game between two search records as one compiled call, without the GIL, under all rules. `Worker` must have
# prepared both records (weights, parameters, table, stop flag). A game depends only on the arguments if tables and
# histories are cleared before it.


@kernel
def next_random(state):
    """Advance `state`, uint64[1], by a step of SplitMix64 (Steele, Lea, Flood 2014); returns 63 random bits, int64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((word ^ (word >> np.uint64(31))) >> np.uint64(1))


def seed_state(*numbers: int) -> np.ndarray:
    """A state, uint64[1], that depends on these numbers; none may be negative."""
    return np.random.SeedSequence(numbers).generate_state(1, np.uint64)


@kernel
def next_float(random):
    """A random float64 from 0 to 1, less than 1; `random`, uint64[1], moves on."""
    return np.float64(next_random(random) >> 10) * (1.0 / 9007199254740992.0)  # 2**53


@kernel
def next_index(random, shares):
    """A random index of `shares`, float64[n] with sum 1, each as often as its share says; `random` moves on."""
    share, index = next_float(random), 0
    while index < len(shares) - 1 and share >= shares[index]:
        share -= shares[index]
        index += 1
    return index


# Why a game ended. The first stands for a game that has not ended.
UNFINISHED, CHECKMATE, STALEMATE, MATERIAL, FIFTY, REPETITION, WIN_BY_SCORE, DRAW_BY_SCORE, TOO_LONG = range(9)

DRAWS = 8  # tries to find another good move

MAX_PLIES = 2048  # most plies of any game; the fifty-move rule ends nearly all earlier

GAME_RULES = memory.record_dtype(
    [
        ("nodes", np.int64, 2),  # a move, by colour
        ("depth", np.int64, 2),
        ("longest", np.int64),  # plies after the opening, at most MAX_PLIES; then the game is a draw
        ("win_score", np.int64),  # a game is won when both sides have seen at least this score ...
        ("win_moves", np.int64),  # ... on so many moves each; 0 for never
        ("draw_score", np.int64),  # and drawn when no side has seen more than this ...
        ("draw_moves", np.int64),  # ... on so many moves each; 0 for never
        ("draw_from", np.int64),  # ... from this move number on
        ("early", np.int64),  # plies after the opening at which any good move may be played
        ("early_loss", np.int64),  # by how many centipawns such a move may be worse than the best
    ]
)


@kernel
def is_threefold(position, keys, count):
    """Whether the present position, `keys[count - 1]`, has occurred three times."""
    occurred = 1
    for back in range(4, min(int(position.halfmove), count - 1) + 1, 2):
        occurred += keys[count - 1 - back] == keys[count - 1]
    return occurred >= 3


@kernel
def end_by_rule(position, keys, count):
    """Why the game is over, or UNFINISHED; draws need no claim."""
    if movegen.count_legal(position) == 0:
        return CHECKMATE if position.checkers else STALEMATE
    if is_insufficient_material(position):
        return MATERIAL
    if position.halfmove >= FIFTY_MOVES:
        return FIFTY
    return REPETITION if is_threefold(position, keys, count) else UNFINISHED


@kernel
def end_by_scores(rules, scores, count, fullmove):
    """WIN_BY_SCORE, DRAW_BY_SCORE or UNFINISHED; `scores[:count]` are those of the moves so far, by their movers.

    The two sides alternate, so that every other score has the opposite sign.
    """
    if 0 < 2 * rules.win_moves <= count:
        sign = 1 if scores[count - 1] > 0 else -1
        agreed = 0
        while agreed < 2 * rules.win_moves and sign * scores[count - 1 - agreed] >= rules.win_score:
            agreed += 1
            sign = -sign
        if agreed == 2 * rules.win_moves:
            return WIN_BY_SCORE
    if 0 < 2 * rules.draw_moves <= count and fullmove >= rules.draw_from:
        agreed = 0
        while agreed < 2 * rules.draw_moves and abs(scores[count - 1 - agreed]) <= rules.draw_score:
            agreed += 1
        if agreed == 2 * rules.draw_moves:
            return DRAW_BY_SCORE
    return UNFINISHED


@entry
def judge_scores(rules, scores, fullmove):
    """What `end_by_scores` says of scores, int32[n], for callers in Python; `rules` is GAME_RULES[1]."""
    return end_by_scores(rules[0], scores, len(scores), fullmove)


@kernel
def vary(s, rules, side, best, score, state):
    """A random move that a search finds nearly as good as the best, with its score; else the best move."""
    for _ in range(DRAWS):
        count = movegen.generate(s.positions[0], s.moves[0], movegen.ALL, bitboard.FULL)
        move = np.int64(s.moves[0, next_random(state) % count])
        if move == best:
            break
        s.root_count, s.root_moves[0], s.nodes, s.stopped = 1, move, 0, 0
        other = iterative_deepening.deepen(s, rules.nodes[side] // DRAWS, rules.depth[side])[1]
        s.root_count = 0
        if other >= score - rules.early_loss:
            return move, other
    return best, score


@entry
def play_game(white, black, positions, rules, state, keys, known, moves, scores, depths):
    """Play from positions[0] to the end of the game; returns the number of moves and the reason.

    `white` and `black` are search records, SEARCH[1]; `rules` GAME_RULES[1]; `state`, uint64[1], for `next_random`.
    `positions` is POSITION[2] and ends with the last position of the game. `keys`, uint64[known + MAX_PLIES], holds
    the keys of the game up to the start. The moves, their scores from the mover's view and their search depths are
    written to `moves`, `scores` and `depths`, int32[MAX_PLIES]. UNFINISHED means that the stop flag of the records
    was set.
    """
    position, count = positions[0], 0
    while True:
        reason = end_by_rule(position, keys, known + count)
        if reason == UNFINISHED:
            reason = end_by_scores(rules[0], scores, count, position.fullmove)
        if reason == UNFINISHED and count >= rules[0].longest:
            reason = TOO_LONG
        if reason != UNFINISHED:
            return count, reason
        side = side_to_move(position)
        s = white[0] if side == bitboard.WHITE else black[0]
        iterative_deepening.set_root(s, position, keys, known + count, transposition.age_of(1 + count // 2))
        move, score, depth = iterative_deepening.deepen(s, rules[0].nodes[side], rules[0].depth[side])
        if count < rules[0].early:
            move, score = vary(s, rules[0], side, move, score, state)
        if memory.load_word(s.stop_address) != bitboard.ZERO:
            return count, UNFINISHED
        makemove.make(positions[1], position, move)
        memory.copy_record(position, positions[1])
        moves[count], scores[count], depths[count], keys[known + count] = move, score, depth, position.key
        count += 1


# Errors of matches; the shell puts the name of the command before their message.


class MatchError(MerinoError):
    """A match that cannot be played, or cannot be finished."""


class MatchUsageError(MatchError):
    """What the user has asked for cannot be played, whatever the files hold."""

    exit_code = 2


class PlayerError(MatchUsageError):
    """A text that does not describe a player."""


class Reason(Enum):
    """Why a game ended, as PGN and reports write it."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    MATERIAL = "insufficient material"
    FIFTY = "fifty-move rule"
    REPETITION = "threefold repetition"
    WIN_BY_SCORE = "both sides saw a win"
    DRAW_BY_SCORE = "both sides saw a draw"
    TOO_LONG = "too many moves"
    ILLEGAL = "illegal move"
    CRASH = "engine failed"
    TIME = "time forfeit"
    RESIGNATION = "resignation"


FAULTS = (Reason.ILLEGAL, Reason.CRASH, Reason.TIME)  # of a player, who loses the game
BY_NUMBER = {globals()[reason.name]: reason for reason in Reason if reason.name in globals()}


class Played(NamedTuple):
    """One move of a game."""

    move: int  # `core.board.move.Move`
    score: int | None = None  # centipawns from the mover's view, as `engine.search.limits.Score`; None if unknown
    depth: int | None = None  # reached by its search
    seconds: float | None = None  # used for the move; None in compiled games


@dataclass(frozen=True)
class Game:
    """One game of a match."""

    number: int  # from 0
    first_is_white: bool
    opening: Opening
    moves: tuple[Played, ...]
    reason: Reason
    winner: int | None  # WHITE, BLACK or None for a draw
    detail: str = ""  # more about a fault of an engine

    @property
    def result(self) -> str:
        """The result as PGN writes it."""
        return RESULTS[self.winner]

    @property
    def points(self) -> int:
        """Half points of the first player: 0, 1 or 2."""
        if self.winner is None:
            return 1
        return 2 if (self.winner == bitboard.WHITE) == self.first_is_white else 0


class Tally:
    """The results of a match so far, from the first player's view. The two games of a pair share an opening."""

    def __init__(self) -> None:
        self.points = np.zeros(3, dtype=np.int64)  # losses, draws, wins
        self.pairs = np.zeros(5, dtype=np.int64)  # the pentanomial counts: pairs by half points, 0 to 4
        self.faults = {reason: [0, 0] for reason in FAULTS}  # of the first player, and of the second
        self._half: int | None = None

    def add(self, game: Game) -> None:
        """Count the next game; of each pair, the even number comes first."""
        self.points[game.points] += 1
        if game.reason in self.faults:
            self.faults[game.reason][game.points // 2] += 1  # the loser's: if the first player won, the second's
        if game.number % 2 == 0:
            self._half = game.points
        elif self._half is not None:
            self.pairs[self._half + game.points] += 1
            self._half = None

    @property
    def games(self) -> int:
        """The number of games counted."""
        return int(self.points.sum())

    def as_json(self) -> dict[str, Any]:
        """Everything needed to continue counting."""
        faults = {reason.name: counts for reason, counts in self.faults.items()}
        return {"points": self.points.tolist(), "pairs": self.pairs.tolist(), "half": self._half, "faults": faults}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tally:
        """The tally that `as_json` wrote; raises KeyError, TypeError, ValueError or OverflowError for anything else."""
        tally = cls()
        tally.points[:], tally.pairs[:] = data["points"], data["pairs"]
        tally._half = None if data["half"] is None else int(data["half"])
        tally.faults = {
            Reason[name]: [int(first), int(second)] for name, (first, second) in dict(data["faults"]).items()
        }
        return tally

    @property
    def counts(self) -> np.ndarray:
        """The counts that estimates use: the pairs, or the single games while there is no pair."""
        return self.pairs if self.pairs.sum() else self.points


PLIES = 8  # random plies
EVEN = 50  # centipawns by which the judging search may prefer one side
JUDGE_NODES = 1000
TRIES = 10_000


@kernel
def _walk(s, start, positions, keys, state, plies, moves):
    """Play `plies` random moves from `start` into positions[0]; returns whether the game goes on."""
    position = positions[0]
    memory.copy_record(position, start)
    keys[0] = position.key
    for ply in range(plies):
        if end_by_rule(position, keys, ply + 1) != UNFINISHED:
            return False
        count = movegen.generate(position, s.moves[0], movegen.ALL, bitboard.FULL)
        moves[ply] = s.moves[0, next_random(state) % count]
        makemove.make(positions[1], position, np.int64(moves[ply]))
        memory.copy_record(position, positions[1])
        keys[ply + 1] = position.key
    return end_by_rule(position, keys, plies + 1) == UNFINISHED


@entry
def _even_walk(judge, starts, positions, keys, state, plies, even, nodes, tries, moves):
    """Fill moves[1], int32[2, plies], with the first random line that is even to the judge, or the most even of all.

    Returns by how many centipawns it is not; -1 if every line ends the game. moves[0] is that of the last try.
    """
    s, least = judge[0], -1
    for attempt in range(tries):
        if not _walk(s, starts[0], positions, keys, state, plies, moves[0]):
            continue
        iterative_deepening.set_root(s, positions[0], keys, plies + 1, transposition.age_of(attempt))
        off = abs(iterative_deepening.deepen(s, nodes, limits.MAX_PLY - 1)[1])
        if least < 0 or off < least:
            least, moves[1] = off, moves[0]
        if least <= even:
            break
    return least


class RandomOpenings:
    """Random plies that leave the game about even for a short search with the default weights.

    Opening number n depends only on the seed and n. Only one thread at a time may use an object.
    """

    def __init__(self, seed: int, plies: int = PLIES) -> None:
        """Raises OpeningError for more plies than a random game has."""
        if plies > MAX_PLIES:
            raise OpeningError(f"an opening has at most {MAX_PLIES} random plies, not {plies}")
        self._seed, self._plies = seed, plies
        self._table = transposition.TranspositionTable(0)
        self._judge = worker.Worker(self._table, np.zeros(1, dtype=np.uint64), default())
        self._start = Position()

    def opening(self, number: int) -> Opening:
        """The opening with this number, the most even of all tries if none is even.

        Where every try ends a game, so that a match of hours would end, it is the one before; raises OpeningError where
        that is so of the first one, too.
        """
        judge, start, plies = self._judge.record, self._start.record, self._plies
        positions, keys = np.repeat(start, 2), np.zeros(plies + 1, dtype=np.uint64)
        moves = np.zeros((2, plies), dtype=np.int32)
        for other in range(number, -1, -1):
            self._table.clear()
            self._judge.forget()
            state = seed_state(self._seed, other)
            off = _even_walk(judge, start, positions, keys, state, plies, EVEN, JUDGE_NODES, TRIES, moves)
            if off >= 0:
                return Opening(fen.START_FEN, tuple(Move(move).uci() for move in moves[1]), max(0, off - EVEN))
        raise OpeningError(f"in {TRIES} tries no game went on for {plies} random plies")
