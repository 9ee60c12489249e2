"""A UCI engine that plays the first legal move of the alphabet, and a fault at will: `fake_engine.py [FAULT]`.

Faults: `illegal` gives a move that is none, `crash` ends at the third move, `slow` thinks for 600 ms;
`silent` never answers, `stuck` never moves, `deaf` does not quit, `blank` puts a
blank before its move, and `huge` has a score beyond all bounds; `sluggish` takes as long for a new game, which is no
fault, and `counting` gives the moves to go as its score. `mute` gives no score, `liar` a line that is not legal, and
`chances` names its chances of win, draw and loss, at last with a bound. `wilful` searches other moves than it should. A
fault that begins with `option` is said as such. Above 4 of an option Bold and 0 of Skill Level it takes what it can;
from Bold 9 on it ends in place of a move.
"""

import sys
import time

import chess


def main() -> None:
    """Speak UCI until `quit`."""
    fault, board, moves, level = (sys.argv[1:] or [""])[0], chess.Board(), 0, 0
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["uci"] and fault == "silent":
            time.sleep(600)
        elif words[:1] == ["uci"]:
            own = fault if fault.startswith("option") else "id author Nobody"
            print("option name UCI_ShowWDL type check default false" if fault == "chances" else own)
            print("id name Fake\noption name Contempt type spin default 0 min -9 max 9\nuciok", flush=True)
        elif words[:1] == ["ucinewgame"] and fault == "sluggish":
            time.sleep(0.4)
        elif words[:1] == ["setoption"] and words[2] in ("Bold", "Skill"):
            level = int(words[-1]) + (4 if words[2] == "Skill" else 0)
        elif words[:1] == ["isready"]:
            print("readyok", flush=True)
        elif words[:1] == ["position"]:
            at = words.index("moves") if "moves" in words else len(words)
            board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
            for move in words[at + 1 :]:
                board.push_uci(move)
        elif words[:1] == ["go"]:
            moves += 1
            if fault == "crash" and moves == 3 or level >= 9:
                sys.exit(1)
            if fault == "stuck":
                time.sleep(600)
            if fault == "slow":
                time.sleep(0.6)
            wanted = words[words.index("searchmoves") + 1 :] if "searchmoves" in words and fault != "wilful" else None
            takes = [move.uci() for move in board.legal_moves if level > 4 and board.is_capture(move)]
            best = min(wanted or takes or (move.uci() for move in board.legal_moves))
            score = words[words.index("movestogo") + 1] if fault == "counting" and "movestogo" in words else 12
            score, blank = 99999999999 if fault == "huge" else score, " " * (fault == "blank")
            move = "a1a1" if fault == "illegal" else best
            more = f" pv {best} {best}" if fault == "liar" else " wdl 500 400 100" if fault == "chances" else ""
            said = "" if fault == "mute" else f"info depth 3 score cp {score}{more}\n"
            said += "info depth 4 score cp -99 wdl 0 10 990 upperbound\n" if fault == "chances" else ""
            print(f"{said}{blank}bestmove {move}", flush=True)
        elif words[:1] == ["quit"]:
            time.sleep(600 if fault == "deaf" else 0)
            return


if __name__ == "__main__":
    main()
