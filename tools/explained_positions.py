"""Renew the ten positions of well-known games in two pages of docs/: `python -m tools.explained_positions`.

docs/explaining.md shows what the explorer says of each with the net gen12: the summary, and what is threatened.
docs/evaluation.md shows the summary by the set full beside that by the 27 terms.
"""

from __future__ import annotations

import io
import textwrap
from pathlib import Path

import chess.pgn

from merino.core.board.game import Position
from merino.engine.search.limits import Limits, pawns
from merino.engine.search.searcher import Searcher
from merino.eval.families import DEFAULT_FILE, load, load_net
from merino.eval.linear.weights import SHIPPED
from merino.study.analyser import analyser
from merino.study.reporting import report_position, with_words
from merino.study.tactics import threat_in
from tools.markdown import with_section

DOCS = Path(__file__).resolve().parent.parent / "docs"
SETS = (("The 27 terms", DEFAULT_FILE), ("full", SHIPPED / "full.txt"))
NODES = 20_000
GAMES = (
    (
        "Morphy - Duke of Brunswick and Count Isouard, Paris 1858",
        "1. e4 e5 2. Nf3 d6 3. d4 Bg4 4. dxe5 Bxf3 5. Qxf3 dxe5 6. Bc4 Nf6 7. Qb3 Qe7 8. Nc3 c6 9. Bg5",
    ),
    (
        "Lasker - Bauer, Amsterdam 1889",
        "1. f4 d5 2. e3 Nf6 3. b3 e6 4. Bb2 Be7 5. Bd3 b6 6. Nc3 Bb7 7. Nf3 Nbd7 8. O-O O-O 9. Ne2 c5 10. Ng3 Qc7 "
        "11. Ne5 Nxe5 12. Bxe5 Qc6 13. Qe2 a6",
    ),
    (
        "Steinitz - von Bardeleben, Hastings 1895",
        "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. c3 Nf6 5. d4 exd4 6. cxd4 Bb4+ 7. Nc3 d5 8. exd5 Nxd5 9. O-O Be6 10. Bg5 "
        "Be7 11. Bxd5 Bxd5 12. Nxd5 Qxd5 13. Bxe7 Nxe7 14. Re1 f6 15. Qe2 Qd7 16. Rac1",
    ),
    (
        "Rotlewi - Rubinstein, Lodz 1907",
        "1. d4 d5 2. Nf3 e6 3. e3 c5 4. c4 Nc6 5. Nc3 Nf6 6. dxc5 Bxc5 7. a3 a6 8. b4 Bd6 9. Bb2 O-O 10. Qd2 Qe7 "
        "11. Bd3 dxc4 12. Bxc4 b5 13. Bd3 Rd8 14. Qe2 Bb7 15. O-O Ne5 16. Nxe5 Bxe5 17. f4 Bc7 18. e4 Rac8 19. e5",
    ),
    (
        "Reti - Tartakower, Vienna 1910",
        "1. e4 c6 2. d4 d5 3. Nc3 dxe4 4. Nxe4 Nf6 5. Qd3 e5 6. dxe5 Qa5+ 7. Bd2 Qxe5 8. O-O-O",
    ),
    (
        "Botvinnik - Capablanca, AVRO 1938",
        "1. d4 Nf6 2. c4 e6 3. Nc3 Bb4 4. e3 d5 5. a3 Bxc3+ 6. bxc3 c5 7. cxd5 exd5 8. Bd3 O-O 9. Ne2 b6 10. O-O Ba6 "
        "11. Bxa6 Nxa6 12. Bb2 Qd7 13. a4 Rfe8 14. Qd3 c4 15. Qc2 Nb8 16. Rae1 Nc6 17. Ng3 Na5 18. f3 Nb3 19. e4 Qxa4 "
        "20. e5 Nd7 21. Qf2 g6 22. f4 f5 23. exf6 Nxf6 24. f5 Rxe1 25. Rxe1 Re8 26. Re6 Rxe6 27. fxe6",
    ),
    (
        "D. Byrne - Fischer, New York 1956",
        "1. Nf3 Nf6 2. c4 g6 3. Nc3 Bg7 4. d4 O-O 5. Bf4 d5 6. Qb3 dxc4 7. Qxc4 c6 8. e4 Nbd7 9. Rd1 Nb6 10. Qc5 Bg4",
    ),
    (
        "Fischer - Spassky, Reykjavik 1972, game 6",
        "1. c4 e6 2. Nf3 d5 3. d4 Nf6 4. Nc3 Be7 5. Bg5 O-O 6. e3 h6 7. Bh4 b6 8. cxd5 Nxd5 9. Bxe7 Qxe7 10. Nxd5 "
        "exd5 11. Rc1 Be6 12. Qa4 c5 13. Qa3 Rc8 14. Bb5 a6 15. dxc5 bxc5 16. O-O Ra7 17. Be2 Nd7 18. Nd4 Qf8 19. "
        "Nxe6 fxe6 20. e4 d4 21. f4 Qe7 22. e5 Rb8 23. Bc4 Kh8 24. Qh3 Nf8 25. b3 a5",
    ),
    (
        "Kasparov - Topalov, Wijk aan Zee 1999",
        "1. e4 d6 2. d4 Nf6 3. Nc3 g6 4. Be3 Bg7 5. Qd2 c6 6. f3 b5 7. Nge2 Nbd7 8. Bh6 Bxh6 9. Qxh6 Bb7 10. a3 e5 "
        "11. O-O-O Qe7 12. Kb1 a6 13. Nc1 O-O-O 14. Nb3 exd4 15. Rxd4 c5 16. Rd1 Nb6 17. g3 Kb8 18. Na5 Ba8 19. Bh3 "
        "d5 20. Qf4+ Ka7 21. Rhe1 d4",
    ),
    (
        "Anderssen - Kieseritzky, London 1851",
        "1. e4 e5 2. f4 exf4 3. Bc4 Qh4+ 4. Kf1 b5 5. Bxb5 Nf6 6. Nf3 Qh6 7. d3 Nh5 8. Nh4 Qg5 9. Nf5 c6 10. g4 Nf6 "
        "11. Rg1 cxb5 12. h4 Qg6 13. h5 Qg5 14. Qf3 Ng8",
    ),
)


def by_net() -> str:
    """The ten positions, and what is said of each with gen12."""
    evaluation, parts = load_net("gen12"), []
    searcher = Searcher(evaluation=evaluation)
    for title, moves in GAMES:
        board = _board(title, moves)
        position = Position(board.fen())
        searcher.clear()
        report = with_words(report_position(position, evaluation), position.record, evaluation)
        threat = threat_in(position, analyser(searcher), Limits(nodes=NODES))
        head = f"**{title}**, after {_last(board, moves)}: {pawns(report.static.score_cp)}."
        said = " ".join([*report.summary, threat.sentence if threat else ""]).strip()
        parts.append(f"{head}\n\n    {board.fen()}\n\n{textwrap.indent(_filled(said), '> ')}\n")
    return "\n".join(parts)


def by_sets() -> str:
    """The ten positions, and what is said of each by the 27 terms and by the set full."""
    parts = []
    for title, moves in GAMES:
        board = _board(title, moves)
        position = Position(board.fen())
        said = [f"**{title}**, after {_last(board, moves)}", f"    {board.fen()}"]
        for name, path in SETS:
            report = report_position(position, load(path))
            said.append(textwrap.indent(_filled(f"*{name}:* {' '.join(report.summary)}"), "> "))
        parts.append("\n\n".join(said[:2]) + "\n\n" + "\n>\n".join(said[2:]) + "\n")
    return "\n".join(parts)


def _board(title: str, moves: str) -> chess.Board:
    game = chess.pgn.read_game(io.StringIO(f"{moves} *"))
    assert game and not game.errors, title
    return game.end().board()


def _last(board: chess.Board, moves: str) -> str:
    """The last move with its number: "9. Bg5"."""
    number = f"{board.fullmove_number - (board.turn == chess.WHITE)}{'.' if board.turn == chess.BLACK else '...'}"
    return f"{number} {moves.rsplit(' ', 1)[1]}"


def _filled(text: str) -> str:
    return textwrap.fill(text, 118, break_on_hyphens=False)


def main() -> None:
    """Write both sections."""
    for page, section in (("explaining.md", by_net), ("evaluation.md", by_sets)):
        text = (DOCS / page).read_text(encoding="utf-8")
        (DOCS / page).write_text(with_section(text, "positions", f"\n{section()}"), encoding="utf-8")


if __name__ == "__main__":
    main()
