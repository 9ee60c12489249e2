"""Games whose moves carry the scores of the searches that chose them: what packed positions are taken from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.makemove import make
from merino.core.board.position import POSITION, side_to_move
from merino.core.compiled.jit import entry, kernel
from merino.core.compiled.memory import copy_record
from merino.formats.packed import MAX_SCORE, PACKED, Filter, is_taken, write_packed
from merino.formats.pgn_games import NO_FAULT, Games
from merino.formats.pgn_scores import MAX_SCORE as MAX_EVALUATION
from merino.formats.pgn_scores import NO_SCORE, NOTHING, OF_MOVER, score_between
from merino.formats.pgn_tokens import MOVE, UNFINISHED, next_token

EXPECTATION_K = 150.0  # centipawns, about the K of our nets: where scores become expected scores to be averaged
MIN_EXPECTED = 1e-6  # which is some 2,000 centipawns


@dataclass(frozen=True)
class ScoredGames:
    """Finished games. The moves of game i are those from `firsts[i]` to `firsts[i + 1]`."""

    starts: np.ndarray  # POSITION[n]
    firsts: np.ndarray  # int64[n + 1]
    moves: np.ndarray  # int16, of all games; as `core.board.move`
    scores: np.ndarray  # int16, White's, of the position before each move, as `formats.pgn_scores`; or NO_SCORE
    results: np.ndarray  # int8[n], White's, 0..2
    numbers: np.ndarray  # int64[n], of the games in their file

    def __len__(self) -> int:
        return len(self.results)

    def chosen(self, wanted: np.ndarray) -> ScoredGames:
        """Those of the games that bool[n] names."""
        lengths = np.diff(self.firsts)
        of_them = np.repeat(wanted, lengths)
        return ScoredGames(
            self.starts[wanted],
            ends(lengths[wanted]),
            self.moves[of_them],
            self.scores[of_them],
            self.results[wanted],
            self.numbers[wanted],
        )


def ends(lengths: np.ndarray) -> np.ndarray:
    """Where each of some rows laid end to end begins, and where the last ends: int64[n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def scaled(scores: np.ndarray, factor: float) -> np.ndarray:
    """Scores, int16[n], times a factor; those of mates and what is no score stay as they are."""
    stays = (scores == NO_SCORE) | (np.abs(scores.astype(np.int64)) > MAX_EVALUATION)
    changed = np.clip(np.rint(scores * factor), -MAX_EVALUATION, MAX_EVALUATION)
    return np.where(stays, scores, changed).astype(np.int16)


def scored_games(games: Games, games_before: int = 0) -> ScoredGames:
    """The finished games of a PGN with the scores in their comments, numbered from `games_before` on.

    A score behind a move is that of the search that chose it, as engines write it, so it belongs to the position
    before the move.
    """
    table = games.table
    finished = (table["fault"] == NO_FAULT) & (table["result"] != UNFINISHED) & (table["plies"] > 0)
    numbers = np.flatnonzero(finished)
    table = table[numbers]
    firsts = ends(table["plies"])
    moves = np.zeros(firsts[-1], dtype=np.int16)
    scores = np.full(firsts[-1], NO_SCORE, dtype=np.int16)
    starts = games.starts[table["position"]]
    _read_games(games.data, table, games.moves, starts, firsts, moves, scores)
    return ScoredGames(starts, firsts, moves, scores, table["result"].astype(np.int8), games_before + numbers)


def looking_ahead(games: ScoredGames, share: float) -> ScoredGames:
    """Games where this share, 0 to 1, of each score is made of the scores that follow, and of the result in the end.

    It is lambda of TD(lambda): the expected score of a position becomes (1 - lambda) times that of its own search and
    lambda times the next one's, which is made in the same way. What single searches err by averages out, and games
    look further ahead than their searches. Scores beyond MAX_SCORE stay as they are.
    """
    scores = games.scores.copy()
    _look_ahead(games.firsts, games.scores, games.results, share, scores)
    return replace(games, scores=scores)


def packed_of(games: ScoredGames, chosen: Filter) -> np.ndarray:
    """The positions of games that have a score and pass a filter, PACKED[n]."""
    if chosen.ahead:
        games = looking_ahead(games, chosen.ahead)
    packed = np.zeros(len(games.moves), dtype=PACKED)
    count = _pack_games(
        games.starts,
        games.firsts,
        games.moves,
        games.scores,
        games.results,
        games.numbers,
        chosen.most,
        chosen.noisy,
        packed,
    )
    return packed[:count]


@entry
def _look_ahead(firsts, scores, results, share, found):
    """Fill int16[n] with scores that tell what came later in their games."""
    for game in range(len(results)):
        expected = results[game] * 0.5
        for index in range(firsts[game + 1] - 1, firsts[game] - 1, -1):
            score = np.int64(scores[index])
            if score == NO_SCORE:
                continue
            own = 1.0 / (1.0 + math.exp(-score / EXPECTATION_K))
            expected += (1.0 - share) * (own - expected)
            if abs(score) <= MAX_SCORE:
                bounded = min(max(expected, MIN_EXPECTED), 1.0 - MIN_EXPECTED)
                found[index] = round(EXPECTATION_K * math.log(bounded / (1.0 - bounded)))


@entry
def _read_games(data, table, moves, starts, firsts, own_moves, scores):
    """Copy the moves of each game of a PGN and note their scores."""
    for number in range(len(table)):
        game, first = table[number], firsts[number]
        own_moves[first : firsts[number + 1]] = moves[game.first : game.first + game.plies]
        _read_scores(data, game, side_to_move(starts[number]), scores[first : firsts[number + 1]])


@kernel
def _read_scores(data, game, side, scores):
    """Fill int16[plies] with White's score behind each move of a game; `side` makes the first."""
    kind, _, at, _ = next_token(data, game.text, game.end)
    for ply in range(game.plies):
        kind, start, stop, _ = next_token(data, at, game.end)
        score_kind, value = score_between(data, at, start)
        is_white = side ^ (ply & 1) == WHITE
        if score_kind != NOTHING:
            scores[ply] = -value if score_kind == OF_MOVER and not is_white else value
        at = stop
        if kind != MOVE:
            break


@entry
def _pack_games(starts, firsts, moves, scores, results, numbers, most, noisy, packed):
    """Fill PACKED[n] with the positions of the games that pass the filter; returns their number."""
    stack = np.zeros(2, dtype=POSITION)
    count = 0
    for game in range(len(starts)):
        copy_record(stack[0], starts[game])
        first = firsts[game]
        for index in range(first, firsts[game + 1]):
            before, after = stack[index - first & 1], stack[index - first + 1 & 1]
            is_white = side_to_move(before) == WHITE
            move, score, result = np.int64(moves[index]), np.int64(scores[index]), np.int64(results[game])
            if score != NO_SCORE and is_taken(before, move, score, most, noisy):
                own_score, own_result = (score, result) if is_white else (-score, 2 - result)
                write_packed(before, own_score, own_result, numbers[game], packed[count])
                count += 1
            make(after, before, move)
    return count
