"""The reports of a match: its games as PGN, a line while it runs, a summary, JSON, and tables of ratings.

Ratings are those of maximum likelihood, with one player's rating fixed. The expected score is the logistic one of the
Elo scale; a draw counts as half a win and half a loss. The errors use the observed variance of the pairs (the
"sandwich" estimator of White 1982), so that draws and openings that favour a side count correctly.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from itertools import combinations, pairwise, product
from typing import Any

import chess
import numpy as np

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.sealed import finite, writable
from merino.core.common.text import rounded
from merino.engine.search.limits import Score
from merino.formats.pgn_parts import coordinates
from merino.formats.pgn_text import comment, game_text, push_move, start_tags
from merino.match.games import Game, Reason, Tally
from merino.match.statistics import Z_95, Sprt, estimate

# The tag Termination, as the PGN standard has its values; "normal" for all other reasons.
_TERMINATIONS = dict.fromkeys((Reason.WIN_BY_SCORE, Reason.DRAW_BY_SCORE, Reason.TOO_LONG), "adjudication")
_TERMINATIONS |= {Reason.ILLEGAL: "rules infraction", Reason.CRASH: "abandoned", Reason.TIME: "time forfeit"}
_WIDTH = 100


def write_game(game: Game, names: tuple[str, str], event: str, day: date) -> str:
    """A game of the two players `names` as PGN text, with an empty line after it; raises MisreadError."""
    white, black = (str(writable(name)) for name in (names if game.first_is_white else names[::-1]))
    tags = {
        "Event": event,
        "Site": "?",
        "Date": f"{day:%Y.%m.%d}",
        "Round": f"{game.number // 2 + 1}.{game.number % 2 + 1}",
        "White": white,
        "Black": black,
        "Result": game.result,
        "PlyCount": str(len(game.opening.moves) + len(game.moves)),
        "Termination": _TERMINATIONS.get(game.reason, "normal"),
    }
    board = Position(game.opening.fen).to_chess(stack=False)
    moves = [*game.opening.moves, *(coordinates(played.move, board.chess960) for played in game.moves)]
    return game_text(tags | start_tags(game.opening.fen, board.chess960), _words(game, board), moves, _WIDTH)


def _words(game: Game, board: chess.Board) -> list[str]:
    """The words of the move text; a comment is one word. The moves are made on `board`."""
    words: list[str] = []
    for text in game.opening.moves:
        words += push_move(board, board.parse_uci(text), bool(words))
    if game.opening.moves:
        words.append(comment("opening"))
    for played in game.moves:
        says = remark(board.turn, played.score, played.depth, played.seconds)
        words += push_move(board, Move(played.move).to_chess(board.chess960), bool(words) and words[-1][-1] != "}")
        words += [comment(says)] if says else []
    return [*words, comment(game.reason.value + (f": {game.detail}" if game.detail else "")), game.result]


def remark(turn: chess.Color, score: int | None, depth: int | None, seconds: float | None) -> str:
    """`[%eval 0.35,9]`, from White's view, and the time of the move."""
    words = []
    if score is not None:
        mate = Score(score).mate
        value = f"{score / 100 if turn else -score / 100:.2f}" if mate is None else f"#{mate if turn else -mate}"
        words.append(f"[%eval {value}{f',{depth}' if depth is not None else ''}]")
    if seconds is not None:
        ms = round(1000 * seconds)
        words.append(f"[%emt {ms // 3_600_000}:{ms // 60_000 % 60:02}:{ms % 60_000 / 1000:06.3f}]")
    return " ".join(words)


VERDICTS = {"H0": "H0 is accepted", "H1": "H1 is accepted", "": "not decided"}


def signed(value: float, error: float) -> str:
    """A value with the half-width of its interval, in words where that has no end: few games, or a lopsided result."""
    if math.isinf(value):
        return f"{value:+.0f}"
    if math.isinf(error):
        return f"{value:+.0f} or far {'more' if value > 0 else 'less'}" if value else "not known"
    return f"{rounded(value, '+')} +- {error:.1f}"


def counts_text(tally: Tally) -> str:
    """Games, wins, draws, losses, and the pairs by points."""
    losses, draws, wins = tally.points
    return f"+{wins} ={draws} -{losses}  {tally.pairs.tolist()}"


def points_text(points: float) -> str:
    """Points with the half, if there is one, however many they are."""
    return f"{points:.1f}".removesuffix(".0")


def live_line(tally: Tally, games: int, speed: float | None, sprt: Sprt | None = None) -> str:
    """The state of a match of at most so many games; `speed` is in games a second, None if unknown."""
    found = estimate(tally.counts)
    words = [
        f"{tally.games}/{games}",
        counts_text(tally),
        f"Elo {signed(found.elo, found.elo_error)}",
        f"LOS {found.los:.1%}",
    ]
    if sprt is not None:
        low, high = sprt.bounds
        words.append(f"LLR {rounded(sprt.llr(tally.counts), digits=2)} ({low:.2f}, {high:.2f})")
    return "  ".join([*words, *_pace_words(tally, games, speed, " at most" if sprt else "")])


def count_line(tally: Tally, games: int, speed: float | None, _: Sprt | None = None) -> str:
    """The same for self-play, where nobody wins."""
    return "  ".join([f"{tally.games}/{games}", f"{tally.points[1]} drawn", *_pace_words(tally, games, speed, "")])


def _pace_words(tally: Tally, games: int, speed: float | None, at_most: str) -> list[str]:
    if not speed:
        return []
    return [f"{speed:.3g} games/s, {duration((games - tally.games) / speed)} left{at_most}"]


def duration(seconds: float) -> str:
    """A duration: "5 s", "12 min", "3.2 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def summary(names: Sequence[str], config: str, conditions: str, tally: Tally, sprt: Sprt | None, seconds: float) -> str:
    """The result at the end of a match, and the block of evidence; `config` and `conditions` say how it was played."""
    found = estimate(tally.counts)
    points = tally.points[2] + tally.points[1] / 2
    share = f" ({points / tally.games:.1%})" if tally.games else ""
    rows = [
        ("Match", f"{names[0]} against {names[1]}, {config}"),
        ("Points", f"{points_text(points)} of {tally.games}{share}"),
        ("nElo", f"{signed(found.normalized, found.normalized_error)} (95%)"),
        ("LOS", f"{found.los:.1%} that {names[0]} is the stronger"),
    ]
    if sprt is not None:
        verdict = VERDICTS[sprt.verdict(tally.counts)]
        rows.append(("Test", f"{sprt}, alpha {sprt.alpha:g}, beta {sprt.beta:g}: {verdict}"))
    rows.append(("Faults", faults_text(names, tally)))
    rows.append(("Time", f"{duration(seconds)}, {tally.games / max(seconds, 1e-9):.3g} games/s"))
    return "\n".join([*(f"{name:<7} {text}" for name, text in rows), "", *evidence(conditions, tally, sprt)])


def evidence(conditions: str, tally: Tally, sprt: Sprt | None) -> list[str]:
    """The lines by which engine programmers report a test, in the format of OpenBench.

    `conditions` are the time control, threads and hash. Without a sequential test, Conf stands for SPRT and LLR.
    """
    found = estimate(tally.counts)
    losses, draws, wins = tally.points
    lines = [f"Elo   | {rounded(found.elo, digits=2)} +- {found.elo_error:.2f} (95%)"]
    if sprt is None:
        lines.append(f"Conf  | {conditions}")
    else:
        low, high = sprt.bounds
        lines.append(f"SPRT  | {conditions}")
        llr = rounded(sprt.llr(tally.counts), digits=2)
        lines.append(f"LLR   | {llr} ({low:.2f}, {high:.2f}) [{sprt.elo0:.2f}, {sprt.elo1:.2f}]")
    lines.append(f"Games | N: {tally.games} W: {wins} L: {losses} D: {draws}")
    return [*lines, f"Penta | {tally.pairs.tolist()}"]


def faults(tally: Tally) -> dict[str, list[int]]:
    """How many games ended by a fault of the first player, and of the second."""
    words = {"ILLEGAL": "illegal moves", "CRASH": "crashes", "TIME": "time losses"}
    return {words[reason.name]: counts for reason, counts in tally.faults.items()}


def faults_text(names: Sequence[str], tally: Tally) -> str:
    """The faults of each player: "none", or "B 3 time losses"."""
    words = [
        f"{name} {counts[side]} {what}"
        for side, name in enumerate(names)
        for what, counts in faults(tally).items()
        if counts[side]
    ]
    return ", ".join(words) or "none"


def as_json(names: Sequence[str], tally: Tally, sprt: Sprt | None) -> dict[str, Any]:
    """The result as one object; infinite or unrequested values are null.

    `illegal`, `crashes` and `time_losses` count both players together; `faults` holds each player's.
    """
    found = estimate(tally.counts)
    losses, draws, wins = (int(count) for count in tally.points)
    result: dict[str, Any] = {
        "players": list(names),
        "games": tally.games,
        "wins": wins,
        "draws": draws,
        "losses": losses,
    }
    result |= {"pentanomial": tally.pairs.tolist(), "elo": finite(found.elo), "elo_error": finite(found.elo_error)}
    result |= {"normalized_elo": finite(found.normalized), "normalized_elo_error": finite(found.normalized_error)}
    result |= {"los": found.los, "llr": None, "verdict": ""}
    if sprt is not None:
        result |= {"llr": sprt.llr(tally.counts), "verdict": sprt.verdict(tally.counts)}
        result["sprt"] = {"elo0": sprt.elo0, "elo1": sprt.elo1, "alpha": sprt.alpha, "beta": sprt.beta}
        result["sprt"] |= {"model": str(sprt.model), "bounds": list(sprt.bounds)}
    counted = {what.replace(" moves", "").replace(" ", "_"): counts for what, counts in faults(tally).items()}
    result |= {what: sum(counts) for what, counts in counted.items()}
    return result | {"faults": [{what: counts[side] for what, counts in counted.items()} for side in (0, 1)]}


Pairing = tuple[int, int]  # two players by number
ELO = math.log(10) / 400
STEPS = 200
PRIOR_GAMES = 1.0  # draws against an average player of the table, so that a clean score has a finite rating


class Schedule(StrEnum):
    """Who meets whom."""

    GAUNTLET = "gauntlet"  # the first player plays each of the others
    ROUND_ROBIN = "round-robin"  # each player plays each other one

    def pairings(self, players: int, pool: int = 0) -> list[Pairing]:
        """The matches in order. The players of a pool come last and meet only players outside it."""
        if pool:
            return list(product(range(players), range(players, players + pool)))
        every = list(combinations(range(players), 2))
        return [pairing for pairing in every if pairing[0] == 0] if self is Schedule.GAUNTLET else every


@dataclass(frozen=True)
class Rating:
    """One row of a rating table."""

    name: str
    rating: float
    error: float  # half of the 95% interval, 0 for the anchor
    games: int
    points: float
    los: float | None  # the likelihood that it is stronger than the anchor; None for the anchor
    los_next: float | None = None  # the likelihood that it is stronger than the next row; None for the last


def rate(names: list[str], results: Mapping[tuple[int, int], Tally], anchor: int, rating: float) -> list[Rating]:
    """The table, best first. `results` are those of player i against player j; player `anchor` has this `rating`."""
    count = len(names)
    elo = np.zeros(count)
    free = [index for index in range(count) if index != anchor]
    for _ in range(STEPS):
        gradient, curvature, _ = _derivatives(elo, results, count)
        step = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        elo[free] += np.clip(step, -200, 200)
        if np.max(np.abs(step), initial=0) < 1e-9:
            break
    _, curvature, spread = _derivatives(elo, results, count)
    inverse = np.linalg.inv(curvature[np.ix_(free, free)])
    covariance = np.zeros((count, count))
    covariance[np.ix_(free, free)] = inverse @ spread[np.ix_(free, free)] @ inverse

    def superiority(one: int, other: int) -> float:
        """The likelihood that one player is stronger than another."""
        variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
        return 0.5 * (1 + math.erf((elo[one] - elo[other]) / math.sqrt(2 * max(variance, 1e-12))))

    rows = []
    for index, name in enumerate(names):
        tallies = [(tally, side) for pair, tally in results.items() for side in (0, 1) if pair[side] == index]
        games = sum(tally.games for tally, _ in tallies)
        points = sum(_points(tally) if side == 0 else tally.games - _points(tally) for tally, side in tallies)
        error = Z_95 * math.sqrt(covariance[index, index])
        los = None if index == anchor else superiority(index, anchor)
        rows.append(Rating(name, rating + elo[index], error, games, points, los))
    order = sorted(range(count), key=lambda index: -rows[index].rating)
    below = {index: superiority(index, other) for index, other in pairwise(order)}
    return [replace(rows[index], los_next=below.get(index)) for index in order]


def _points(tally: Tally) -> float:
    return float(tally.points @ (0, 0.5, 1))


def _derivatives(
    elo: np.ndarray, results: Mapping[tuple[int, int], Tally], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient and negative curvature of the log-likelihood by the ratings, and the variance of the gradient."""
    from_mean = np.eye(count) - 1 / count  # so that the anchor changes no difference between players
    ahead = ELO * (elo - elo.mean()) / 2
    gradient = from_mean @ (-PRIOR_GAMES * ELO / 2 * np.tanh(ahead))
    curvature = from_mean @ np.diag(PRIOR_GAMES * ELO**2 / 4 / np.cosh(ahead) ** 2) @ from_mean
    spread = curvature.copy()
    for (first, second), tally in results.items():
        expected = 1 / (1 + math.exp(ELO * (elo[second] - elo[first])))
        side = np.zeros(count)
        side[first], side[second] = 1, -1
        outer = np.outer(side, side)
        gradient += ELO * (_points(tally) - tally.games * expected) * side
        curvature += ELO**2 * tally.games * expected * (1 - expected) * outer
        spread += ELO**2 * _variance(tally, expected) * outer
    return gradient, curvature, spread


def _variance(tally: Tally, expected: float) -> float:
    """The variance of the points of this pairing, from its pairs; without pairs, that of a coin."""
    pairs = float(tally.pairs @ (np.linspace(0, 2, 5) - 2 * expected) ** 2)
    single = tally.games - 2 * int(tally.pairs.sum())
    coins = tally.games * expected * (1 - expected)
    return max(pairs + single * expected * (1 - expected), coins / 4)


def table(rows: list[Rating], anchor: str) -> str:
    """The table as Markdown."""
    lines = [
        f"| # | Player | Rating | 95% | Games | Score | LOS to {_cell(anchor)} | LOS to next |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for number, row in enumerate(rows, start=1):
        error = "anchor" if row.name == anchor else f"+- {row.error:.0f}"
        share = f"{row.points / row.games:.1%}" if row.games else ""
        likelihoods = " | ".join("" if los is None else f"{los:.1%}" for los in (row.los, row.los_next))
        cells = f"{_cell(row.name)} | {round(row.rating)} | {error} | {row.games} | {share} | {likelihoods}"
        lines.append(f"| {number} | {cells} |")
    return "\n".join(lines)


def _cell(name: str) -> str:
    """A name as a cell of a table in Markdown."""
    return name.replace("|", "\\|")


def pool_table(
    versions: Sequence[str], opponents: Sequence[str], results: Mapping[tuple[int, int], Tally], rows: Sequence[Rating]
) -> str:
    """What each version scored against each opponent, and its rating, as Markdown.

    `results` are those of version i against opponent j, which has the number len(versions) + j; `rows` those of `rate`.
    """
    by_name = {row.name: row for row in rows}
    lines = [
        f"| Version | {' | '.join(map(_cell, opponents))} | Elo | 95% | LOS |",
        f"| --- |{' ---: |' * (len(opponents) + 3)}",
    ]
    for first, version in enumerate(versions):
        row, cells = by_name[version], []
        for second in range(len(versions), len(versions) + len(opponents)):
            tally = results.get((first, second))
            cells.append(f"{points_text(_points(tally))} of {tally.games}" if tally else "")
        error, los = ("anchor", "") if row.los is None else (f"+- {row.error:.0f}", f"{row.los:.1%}")
        lines.append(f"| {_cell(version)} | {' | '.join(cells)} | {round(row.rating)} | {error} | {los} |")
    return "\n".join(lines)
