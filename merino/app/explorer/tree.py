"""What was played in the games that the page lists, in each position, however it was reached."""

import secrets
from functools import partial
from typing import Any

import numpy as np

from merino.app.explorer.channel import Message
from merino.app.explorer.state import MAX_OFFSET, Fields, RequestError, ServerState
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.engine.notation import san
from merino.formats import pgn_games

MAX_TREES = 4  # that are kept; the oldest goes first
TREES = "trees"  # in `ServerState.kept`
SIDES = ("white", "black")


class MoveTree:
    """The moves of games by the Zobrist keys of the positions before them. Positions are asked for while it grows."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # keys, moves and numbers of games, from 1
        self._results: list[np.ndarray] = []
        self._elos: list[np.ndarray] = []
        self._names: dict[str, list[str]] = {side: [] for side in SIDES}
        self.games = 0

    def add(self, games: pgn_games.Games) -> None:
        """Add the games that come next; those that cannot be read count, without moves."""
        keys, played, numbers = games.positions()
        rows = range(len(games))
        elos = [[_elo(games.tag(row, f"{side.title()}Elo")) for side in SIDES] for row in rows]
        for side in SIDES:
            self._names[side] += [games.tag(row, side.title()).casefold() for row in rows]
        self._results.append(games.table["result"].copy())
        self._elos.append(np.array(elos, dtype=np.float64).reshape(len(games), len(SIDES)))
        self._parts.append((keys, played, numbers + self.games + 1))
        self.games += len(games)

    def at(self, position: Position, player: str = "", side: str = "") -> Message:
        """What was played in a position, in the games of a player whose name has this text, of one side if it is given.

        `numbers` are those of the games that reach it, None where that are all.
        """
        parts = list(self._parts)
        results, elos = np.concatenate(self._results), np.concatenate(self._elos)
        taken = np.concatenate([[False], self._of_player(player, side)[: len(results)]])
        count = int(taken.sum())
        reached = partial(_reached, parts, taken)
        found, played = reached(position.keys[-1])
        moves = [
            self._line(position, int(move), np.unique(found[played == move]) - 1, results, elos, reached)
            for move in np.unique(played[played != 0])
        ]
        numbers = np.unique(found).tolist()
        return {
            "moves": sorted(moves, key=lambda line: -line["games"]),
            "games": len(numbers),
            "listed": self.games,
            "numbers": None if len(numbers) == count == self.games else numbers,
        }

    def _of_player(self, player: str, side: str) -> np.ndarray:
        """Which games are those of a player."""
        text = player.strip().casefold()
        has = [[text in name for name in self._names[each]] for each in SIDES if side in ("", each)]
        return np.any(has, axis=0) if text else np.ones(self.games, dtype=bool)

    @staticmethod
    def _line(position: Position, move: int, rows: Any, results: Any, elos: Any, reached: Any) -> dict[str, Any]:
        """A move in figures: `others` are the games that come to the position after it by other moves."""
        after = position.copy()
        after.push(Move(move))
        known = elos[rows][~np.isnan(elos[rows])]
        counts = np.bincount(results[rows], minlength=len(pgn_games.RESULTS))
        others, _ = reached(after.keys[-1])
        return {
            "san": san.san(position, Move(move)),
            "uci": position.uci(Move(move)),
            "games": len(rows),
            **dict(zip(("black", "draws", "white"), counts[:3].tolist(), strict=True)),
            "rating": round(float(known.mean())) if len(known) else None,
            "others": len(np.setdiff1d(others, rows + 1)),
        }


def _reached(parts: list[Any], taken: np.ndarray, key: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the games that reach a position, each as often as it does, and what is played there."""
    at = [(np.flatnonzero(keys == np.uint64(key)), played, numbers) for keys, played, numbers in parts]
    found = np.concatenate([numbers[rows] for rows, _, numbers in at])
    return found[taken[found]], np.concatenate([played[rows] for rows, played, _ in at])[taken[found]]


def _elo(text: str) -> float:
    return float(text) if text.isdecimal() and int(text) else np.nan


def read_piece(fields: Fields, state: ServerState) -> Message:
    """POST /api/tree/read: add the games of a piece of a file to a `tree`, without a name to a new one.

    The piece is that of POST /api/games, or with `file` from offset `at` on of the file on the command line.
    """
    at, after, done = fields.number("at", 0, MAX_OFFSET) or 0, None, None
    if fields.flag("file"):
        _, data, table, after, done = state.games_file().piece(at)
    else:
        goes_on = fields.flag("more")
        data, table, read = pgn_games.games_in(fields.content(), goes_on)
        after = at + read if goes_on else None
    games = pgn_games.play_games(data, table, 2)
    with state.beginning:
        trees: dict[str, MoveTree] = state.kept.setdefault(TREES, {})
        name = fields.text("tree", "") or secrets.token_hex(6)
        trees.setdefault(name, MoveTree()).add(games)
        while len(trees) > MAX_TREES:
            trees.pop(next(iter(trees)))
    return {"tree": name, "next": after, "done": done}


def moves_played(fields: Fields, state: ServerState) -> Message:
    """POST /api/tree: what was played in a position in the games of a `tree`, of a `player` of one `side`."""
    tree = state.kept.get(TREES, {}).get(fields.text("tree"))
    if tree is None:
        raise RequestError("the moves of these games are no longer known: open them again")
    return dict(tree.at(fields.position(), fields.text("player", ""), fields.text("side", "")))
