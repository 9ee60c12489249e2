"""An XBoard engine that plays the first legal move of the alphabet.

What it hears goes to `argv[1]`; it announces what follows as features, and that it has no `setboard` unless the last is
that one. It knows few commands, and says so.
"""

import sys
from pathlib import Path

import chess


def main() -> None:
    """Speak the XBoard protocol until `quit`."""
    board, forced = chess.Board(), True
    with Path(sys.argv[1]).open("a", encoding="utf-8", buffering=1) as record:
        for line in sys.stdin:
            record.write(line)
            word, *rest = line.split()
            if word == "protover":
                print("\n".join(sys.argv[2:]))
                sets_up = "" if "setboard" in sys.argv[-1] else "setboard=0 "
                print(f"chatter that is no answer\nfeature memory=1 {sets_up}ping=1\nfeature done=1", flush=True)
            elif word == "ping":
                print(f"pong {rest[0]}", flush=True)
            elif word == "new":
                board, forced = chess.Board(), False
            elif word == "force":
                forced = True
            elif word == "quit":
                return
            elif word in ("post", "easy", "otim"):
                print(f"Error (unknown command): {word}", flush=True)
            elif word == "go" or word[1:2].isdigit():
                if word != "go":
                    board.push_uci(word)
                forced = forced and word != "go"
                if not forced:
                    move = min(board.legal_moves, key=chess.Move.uci)
                    board.push(move)
                    print(f"3 12 1 100 {move}\nmove {move}", flush=True)


if __name__ == "__main__":
    main()
