"""Games as PGN: openings, moves with scores, result and reason."""

from __future__ import annotations

from datetime import date

import chess

from merino.core.board.game import Position
from merino.core.common.json_text import writable
from merino.engine.notation.san import as_chess_move, board_of
from merino.engine.search.limits import Score
from merino.formats.pgn_text import PgnTermination, comment, game_text, push_move, start_tags
from merino.match.games import Game, Reason

BY_SCORE = (Reason.WIN_BY_SCORE, Reason.DRAW_BY_SCORE, Reason.TOO_LONG)
_WIDTH = 100


def write_game(game: Game, names: tuple[str, str], event: str, day: date) -> str:
    """A game of the two players `names` as PGN text, with an empty line after it."""
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
        "Termination": _termination(game.reason),
    }
    board = board_of(Position(game.opening.fen))
    return game_text(tags | start_tags(game.opening.fen, board.chess960), _words(game, board), _WIDTH)


def _words(game: Game, board: chess.Board) -> list[str]:
    """The words of the move text; a comment is one word. The moves are made on `board`."""
    words: list[str] = []
    for text in game.opening.moves:
        words += push_move(board, board.parse_uci(text), bool(words))
    if game.opening.moves:
        words.append(comment("opening"))
    for played in game.moves:
        says = remark(board.turn, played.score, played.depth, played.seconds)
        words += push_move(board, as_chess_move(played.move, board.chess960), bool(words) and words[-1][-1] != "}")
        words += [comment(says)] if says else []
    end = game.reason.value + (f": {game.detail}" if game.detail else "")
    return [*words, comment(end), game.result]


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


def _termination(reason: Reason) -> PgnTermination:
    if reason in BY_SCORE:
        return PgnTermination.ADJUDICATION
    faults = {
        Reason.ILLEGAL: PgnTermination.RULES_INFRACTION,
        Reason.CRASH: PgnTermination.ABANDONED,
        Reason.TIME: PgnTermination.TIME_FORFEIT,
    }
    return faults.get(reason, PgnTermination.NORMAL)
