"""The point values of many games: seconds from the text to the intervals, part by part."""

from pathlib import Path

from benchmarks.clock import line
from merino.core.common.timing import cpu_seconds, medians_in_turns
from merino.formats.pgn_games import read_games
from merino.lab.points.values import SAMPLES, point_values
from merino.lab.points.vectors import vectors_of_games

OWN_GAMES = Path(__file__).parents[1] / "games" / "selfplay.pgn"
COPIES = 30  # of our own games: more than 20,000
ROUNDS = 5


def report() -> None:
    """Print the seconds of reading, of making the vectors, and of the fit with its intervals."""
    text = OWN_GAMES.read_bytes() * COPIES
    games = read_games(text)
    vectors, _ = vectors_of_games(games)
    point_values("", vectors)  # compiled before the clock runs
    print(f"points of {vectors.games} games, {len(vectors)} vectors; CPU time, medians of {ROUNDS} rounds in turns")
    parts = medians_in_turns(
        [
            lambda: cpu_seconds(lambda: read_games(text)),
            lambda: cpu_seconds(lambda: vectors_of_games(games)),
            lambda: cpu_seconds(lambda: point_values("", vectors)),
        ],
        ROUNDS,
    )
    for name, seconds in zip(("reading", "vectors", f"fit, {SAMPLES} samples"), parts, strict=True):
        line(name, seconds, "s")
    line("all", sum(parts), "s")
