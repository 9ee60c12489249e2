"""Games as PGN: openings, moves with scores, result and reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import chess

from engine.board.fen import START_FEN
from engine.notation.san import as_chess_move
from engine.search.limits import Score
from match.games import Game, Reason

BY_SCORE = (Reason.WIN_BY_SCORE, Reason.DRAW_BY_SCORE, Reason.TOO_LONG)
_WIDTH = 100


def write_game(game: Game, names: tuple[str, str], event: str, day: date) -> str:
    """A game of the two players `names` as the text of a PGN game, with an empty line after it."""
    white, black = names if game.first_is_white else names[::-1]
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
    if game.opening.fen != START_FEN:
        tags |= {"SetUp": "1", "FEN": game.opening.fen}
    lines = [f'[{name} "{_quote(value)}"]' for name, value in tags.items()]
    return "\n".join([*lines, "", *_wrapped(_tokens(game)), "", ""])


def _tokens(game: Game) -> list[str]:
    """The words of the move text, a comment being one."""
    board = chess.Board(game.opening.fen)
    tokens: list[str] = []
    for text in game.opening.moves:
        tokens += _move(board, board.parse_uci(text), bool(tokens))
    if game.opening.moves:
        tokens.append("{ opening }")
    for played in game.moves:
        says = _remark(board.turn, played.score, played.depth, played.seconds)
        tokens += _move(board, as_chess_move(played.move, board.chess960), bool(tokens) and tokens[-1][-1] != "}")
        tokens += [f"{{ {says} }}"] if says else []
    end = game.reason.value + (f": {game.detail}" if game.detail else "")
    return [*tokens, f"{{ {end.translate(_NO_BRACES)} }}", game.result]


_NO_BRACES = str.maketrans("{}", "()")


def _move(board: chess.Board, move: chess.Move, is_black_numberless: bool) -> list[str]:
    """A move in short notation, after its number where PGN wants one; plays it on the board."""
    number = [f"{board.fullmove_number}."] if board.turn == chess.WHITE else []
    if board.turn == chess.BLACK and not is_black_numberless:
        number = [f"{board.fullmove_number}..."]
    return [*number, board.san_and_push(move)]


def _remark(turn: chess.Color, score: int | None, depth: int | None, seconds: float | None) -> str:
    """`[%eval 0.35,9]`, from White's view as everywhere, and the time a move took."""
    words = []
    if score is not None:
        mate = Score(score).mate
        value = f"{score / 100 if turn else -score / 100:.2f}" if mate is None else f"#{mate if turn else -mate}"
        words.append(f"[%eval {value}{f',{depth}' if depth is not None else ''}]")
    if seconds is not None:
        words.append(f"[%emt {int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{seconds % 60:06.3f}]")
    return " ".join(words)


def _termination(reason: Reason) -> str:
    """The value of the tag Termination, as the PGN standard lists them."""
    if reason in BY_SCORE:
        return "adjudication"
    words = {Reason.ILLEGAL: "rules infraction", Reason.CRASH: "abandoned", Reason.TIME: "time forfeit"}
    return words.get(reason, "normal")


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _wrapped(tokens: Sequence[str]) -> list[str]:
    """Lines of at most so many columns."""
    lines, line = [], ""
    for token in tokens:
        if line and len(line) + 1 + len(token) > _WIDTH:
            lines.append(line)
            line = token
        else:
            line = f"{line} {token}" if line else token
    return [*lines, line]
