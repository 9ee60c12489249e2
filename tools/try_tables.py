"""`python -m tools.try_tables FOLDER`: play endings with and without tablebases, and count spoilt results.

The folder has Syzygy tables of up to four men; those that python-chess tests with are in its source distribution
(`pip download --no-deps --no-binary :all: chess`, then `data/syzygy/regular`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random

import chess
import chess.pgn
import chess.syzygy

ENDINGS = (
    *("KPvK", "KPvKP", "KPPvK", "KNPvK", "KBPvK", "KBNvK", "KRPvK"),
    *("KRvKN", "KRvKB", "KRvKP", "KQvKP", "KQvKB", "KQvKR"),
)
MIN_DTZ = 6  # plies; a result nearer to a capture or pawn move is easily kept
NAMES = ("with tables", "without")


def positions(tables: chess.syzygy.Tablebase, random: Random) -> Iterator[chess.Board]:
    """Positions of each ending in turn, in which at least one move spoils the result."""
    for ending in cycle(ENDINGS):
        while (board := _drawn_by_lot(ending, random)) is None or not _is_hard(tables, board):
            pass
        yield board


def men_anywhere(ending: str, random: Random) -> chess.Board:
    """The men of an ending such as KRPvKR on any squares, either side the stronger one; the rules may forbid it."""
    board, men = chess.Board(None), ending.replace("v", "")
    stronger, board.turn = random.random() < 0.5, random.random() < 0.5
    for number, (square, man) in enumerate(zip(random.sample(chess.SQUARES, len(men)), men, strict=True)):
        colour = stronger if number < ending.index("v") else not stronger
        board.set_piece_at(square, chess.Piece(chess.PIECE_SYMBOLS.index(man.lower()), colour))
    return board


def _drawn_by_lot(ending: str, random: Random) -> chess.Board | None:
    """The same; None where the rules forbid it, or in check."""
    board = men_anywhere(ending, random)
    return board if board.is_valid() and not board.is_check() and any(board.legal_moves) else None


def _is_hard(tables: chess.syzygy.Tablebase, board: chess.Board) -> bool:
    result = tables.probe_wdl(board)
    if abs(result) == 1 or (result and abs(tables.probe_dtz(board)) < MIN_DTZ):
        return False
    return any(spoils(tables, board, move) for move in board.legal_moves)


def spoils(tables: chess.syzygy.Tablebase, board: chess.Board, move: chess.Move) -> bool:
    """Whether a move gives away half a point or more of what the tables promise the side to move."""
    after = board.copy(stack=False)
    after.push(move)
    if after.is_checkmate():
        return False
    kept = 0 if after.is_stalemate() or after.is_insufficient_material() else -tables.probe_wdl(after)
    return kept < tables.probe_wdl(board)


def spoilt(tables: chess.syzygy.Tablebase, games: Path) -> tuple[int, Counter[str]]:
    """The games of a PGN, and in how many of them each player has spoilt a result."""
    number, found = 0, Counter[str]()
    with games.open(encoding="utf-8") as text:
        while (game := chess.pgn.read_game(text)) is not None:
            number += 1
            guilty = {
                game.headers["White" if node.board().turn else "Black"]
                for node in [game, *game.mainline()]
                if node.next() is not None and spoils(tables, node.board(), node.variations[0].move)
            }
            found.update(guilty)
    return number, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and print what was spoilt and the result of the match."""
    parser = argparse.ArgumentParser(prog="python -m tools.try_tables", description="Try tablebases in games.")
    parser.add_argument("folder", type=Path, help="Syzygy tables of three and four men")
    parser.add_argument("--positions", type=int, default=104, help="each played with both colours (104)")
    parser.add_argument("--nodes", type=int, default=2000, help="a move (2000)")
    parser.add_argument("--seed", type=int, default=5, help="of the positions (5)")
    args = parser.parse_args(arguments)
    with chess.syzygy.open_tablebase(args.folder) as tables, tempfile.TemporaryDirectory() as place:
        openings, games = Path(place) / "openings.epd", Path(place) / "games.pgn"
        chosen = islice(positions(tables, Random(args.seed)), args.positions)
        openings.write_text("".join(f"{board.fen()}\n" for board in chosen), encoding="utf-8")
        merino = f"{sys.executable} -m merino uci"
        players = (f"{merino},option.SyzygyPath={args.folder.resolve()},name={NAMES[0]}", f"{merino},name={NAMES[1]}")
        words = ["--openings", openings, "--games", 2 * args.positions, "--nodes", args.nodes, "--pgn", games]
        match = [sys.executable, "-m", "merino", "match", *players, *map(str, words)]
        subprocess.run(match, check=True)
        number, found = spoilt(tables, games)
        for name in NAMES:
            print(f"{name}: a result spoilt in {found[name]} of {number} games")
    return 0


if __name__ == "__main__":
    sys.exit(main())
