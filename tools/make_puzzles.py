"""Puzzles from games: positions with one move that mates or wins, as EPD for `merino epd`.

`python -m tools.make_puzzles GAMES.pgn [--out puzzles.epd] [--most N] [--nodes N] [--gain CP]`

A position is a puzzle if a search of --nodes nodes finds a forced mate and no second way to mate, or a move that is
better than every other by --gain centipawns and leaves its side ahead, and which does not just take the most. Only
positions are searched whose score in the comments changes at that move by half of the gain. With a few nodes a move,
`merino epd puzzles.epd --nodes 200 --weights my.net` then shows how much of that an evaluation sees.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import chess.pgn

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.files import write_whole
from merino.engine.search.limits import Limits, Line
from merino.engine.search.searcher import Searcher

VALUES = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0}
CLEAR = 100  # centipawns ahead after the move


def candidates(path: Path, change: int) -> Iterator[chess.Board]:
    """The positions of games where the score for the side to move, as commented, rises by `change` centipawns."""
    with path.open(encoding="utf-8") as file:
        while game := chess.pgn.read_game(file):
            known: int | None = None
            for node in game.mainline():
                score = node.eval()
                now = None if score is None else score.white().score(mate_score=3000)
                if known is not None and now is not None and abs(known) < 2 * change:
                    rise = known - now if node.turn() else now - known  # for the side that has just moved
                    if rise >= change:
                        yield node.parent.board()
                known = now


def puzzle_of(searcher: Searcher, board: chess.Board, nodes: int, gain: int) -> str | None:
    """The EPD of a puzzle, or None if the position is none."""
    found: dict[int, Line] = {}

    def note(line: Line) -> None:
        found[line.multipv] = line

    searcher.clear()
    searcher.search(Position(board.fen()), Limits(nodes=nodes), note)
    if len(found) < 2 or found[1].depth != found[2].depth:
        return None
    best, second = found[1].score, found[2].score
    move = chess.Move.from_uci(Move(found[1].pv[0]).uci())
    if best.mate is not None and best.mate > 0 and (second.mate is None or second.mate < 0):
        return board.epd(bm=[move], id=f"mate in {best.mate}")
    if best.mate is None and best >= CLEAR and best - second >= gain and not _takes_most(board, move):
        return board.epd(bm=[move], id=f"wins {int(best - second)}")
    return None


def _takes_most(board: chess.Board, move: chess.Move) -> bool:
    """Whether a move captures, and no capture takes more."""

    def taken(each: chess.Move) -> int:
        return VALUES[board.piece_type_at(each.to_square) or chess.PAWN]

    return board.is_capture(move) and taken(move) == max(map(taken, board.generate_legal_captures()))


def main(words: list[str] | None = None) -> None:
    """Write the puzzles; their number goes to standard error."""
    parser = argparse.ArgumentParser(prog="python -m tools.make_puzzles", description=__doc__.splitlines()[0])
    parser.add_argument("games", type=Path, help="PGN with scores in the comments")
    parser.add_argument("--out", type=Path, default=Path("puzzles.epd"))
    parser.add_argument("--most", type=int, default=500, help="puzzles (500)")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the search that finds the solution (100000)")
    parser.add_argument("--gain", type=int, default=200, help="centipawns by which the solution is better (200)")
    args = parser.parse_args(words)
    searcher = Searcher()
    searcher.multipv = 2
    found: dict[str, str] = {}
    for board in candidates(args.games, args.gain // 2):
        puzzle = puzzle_of(searcher, board, args.nodes, args.gain)
        if puzzle:
            found.setdefault(board.epd(), puzzle)
        if len(found) >= args.most:
            break
    write_whole(args.out, "".join(f"{line}\n" for line in found.values()).encode())
    mates = sum("mate in" in line for line in found.values())
    print(f"{len(found)} puzzles, {mates} of them mates, are in '{args.out}'", file=sys.stderr)


if __name__ == "__main__":
    main()
