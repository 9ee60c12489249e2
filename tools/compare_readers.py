"""Compare Merino's PGN reader with python-chess: `python tools/compare_readers.py FILE.pgn... [--games N] [--show N]`.

Every move, the final position, the result and the faults of every game, in the order of the file. Exit code 1 at a
difference. python-chess takes minutes for what takes Merino a second.
"""

import argparse
import io
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chess.pgn

from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.formats.pgn_games import Games, read_games
from merino.formats.pgn_tokens import BLACK_WON, DRAWN, UNFINISHED, WHITE_WON

RESULTS = {BLACK_WON: "0-1", DRAWN: "1/2-1/2", WHITE_WON: "1-0", UNFINISHED: "*"}


def main() -> None:
    """Compare every file named on the command line."""
    parser = argparse.ArgumentParser(prog="python tools/compare_readers.py", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="PGN files")
    parser.add_argument("--games", type=int, help="of each file, how many (all)")
    parser.add_argument("--show", type=int, default=10, help="differences to print of each file (%(default)s)")
    arguments = parser.parse_args()
    logging.getLogger("chess.pgn").setLevel(logging.CRITICAL)  # its errors are compared, not printed
    different = sum(compare(path, arguments.games, arguments.show) for path in arguments.files)
    sys.exit(1 if different else 0)


def compare(path: Path, limit: int | None, show: int) -> int:
    """Print the number of games compared in a file and the first differences; the number of differences."""
    data, start = path.read_bytes(), time.process_time()
    ours = read_games(data)
    middle, compared, moves, faults, different = time.process_time(), 0, 0, 0, 0
    for number, theirs in enumerate(games_of_python_chess(data)):
        if number == limit:
            break
        difference = difference_of(ours, number, theirs) if number < len(ours) else "not a game to Merino"
        compared += 1
        moves += int(ours.table["plies"][number]) if number < len(ours) else 0
        faults += bool(theirs.errors)
        if difference:
            different += 1
            if different <= show:
                print(
                    f"  game {number + 1} ({theirs.headers.get('White')} - {theirs.headers.get('Black')}): {difference}"
                )
    if limit is None and len(ours) > compared:
        different += len(ours) - compared
        print(f"  {len(ours) - compared} games only to Merino")
    seconds = time.process_time() - middle
    print(
        f"{path.name}: {compared} games, {moves} moves, {faults} with faults, {different} different; "
        f"Merino {middle - start:.2f} s for all {len(ours)}, python-chess and comparison {seconds:.1f} s",
        flush=True,
    )
    return different


def games_of_python_chess(data: bytes) -> Iterator[chess.pgn.Game]:
    """The games with at least one move or one error."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    file = io.StringIO(text, newline=None)
    while (game := chess.pgn.read_game(file)) is not None:
        if game.errors or game.variations:
            yield game


def difference_of(ours: Games, number: int, theirs: chess.pgn.Game) -> str:
    """The difference in one game, "" if there is none."""
    row = ours.table[number]
    if row["fault"] or theirs.errors:
        return "" if row["fault"] and theirs.errors else f"fault {row['fault']}, python-chess {theirs.errors}"
    board = theirs.board()
    expected = []
    for move in theirs.mainline_moves():
        expected.append(board.uci(move))
        board.push(move)
    moves = [Move(move) for move in ours.moves[row["first"] : row["first"] + row["plies"]]]
    played = [move.uci(board.chess960) for move in moves]
    if played != expected:
        first = next((i for i, pair in enumerate(zip(played, expected, strict=False)) if pair[0] != pair[1]), -1)
        return f"{len(played)} moves, python-chess {len(expected)}; from ply {first}: {played[first:]}"
    position = Position(ours.tag(number, "FEN") or chess.STARTING_FEN, chess960=board.chess960)
    position.push_all(played)
    if position.fen() != board.fen():
        return f"ends at {position.fen()}, python-chess {board.fen()}"
    result = RESULTS[int(row["result"])]
    return "" if result == theirs.headers["Result"] else f"result {result}, python-chess {theirs.headers['Result']}"


if __name__ == "__main__":
    main()
