"""Games as the page has them: texts that it sends, what is typed or pasted into its box, and games as PGN."""

import re
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chess
import chess.pgn

from merino.app.explorer.state import MAX_MOVES, Fields, RequestError
from merino.core.board.fen import START_FEN, FenError
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.errors import MerinoError, abridged
from merino.engine.notation import positions, san
from merino.eval.evaluation import Evaluation
from merino.formats import openings, pgn_games, pgn_text, pgn_tokens, sources
from merino.formats.pgn_parts import GameSource, PgnPart, games_of
from merino.study import reporting

MAX_SENT = 64 << 20  # characters of all games of a run
MAX_NAME = 80
UNNAMED = "games.pgn"
MAX_DEPTH = 20  # of variations within variations; deeper ones are not shown
MAX_NAG = 10**9
# Signs by their numbers (NAG): those of the PGN standard that are the same for both sides, and of later programs.
SIGNS = {
    1: "!",
    2: "?",
    3: "!!",
    4: "??",
    5: "!?",
    6: "?!",
    7: "\u25a1",
    10: "=",
    13: "\u221e",
    14: "\u2a72",
    15: "\u2a71",
    16: "\u00b1",
    17: "\u2213",
    18: "+-",
    19: "-+",
    140: "\u2206",
    146: "N",
}

Data = dict[str, Any]  # as JSON
_TAKEN = ("", "White to move", "castling as kings and rooks stand", "no en passant")  # for the fields of a FEN
_RESULT = re.compile(r"\s*[01=] (?=[^\s/]+/)")  # before a position, in lists that 'learn' keeps
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_READS = "a move (Nf3), moves (1. e4 e5), a FEN, an EPD or a PGN"
_MAX_SHOWN = 40  # characters of what was typed
_WRITTEN = {sign: nag for nag, sign in SIGNS.items()} | {"+=": 14, "+/=": 14, "=+": 15, "=/+": 15, "+/-": 16, "-/+": 17}
_PATH = re.compile(r"(?:[^\s']*[\\/])?sent-(\d+)\.pgn")  # of a file that is written here


@dataclass(frozen=True)
class SentGames:
    """Games in files of a folder, each by the name that the user knows it by; all of them by a title."""

    title: str
    names: tuple[str, ...]
    folder: Path

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [self.folder / f"sent-{number}.pgn" for number in range(len(self.names))]

    def named(self, text: str) -> str:
        """A line with the files by their names."""
        return _PATH.sub(lambda found: self.names[int(found[1])], text)


@contextmanager
def sent_games(fields: Fields, joined: bool = False) -> Iterator[SentGames]:
    """The `files` of a request, each a `name` and a `text`, or the one that it is itself, or all `joined` as one.

    They are there within this block. Errors name them as the user knows them; raises RequestError.
    """
    parts = fields.parts("files") or [fields]
    names = [part.text("name", UNNAMED)[:MAX_NAME] for part in parts]
    texts = [part.text("text", most=MAX_SENT) for part in parts]
    if sum(map(len, texts)) > MAX_SENT:
        raise RequestError(f"the games are longer than {MAX_SENT} characters")
    title = f"{names[0]} and {len(names) - 1} more" if names[1:] else names[0]
    if joined:
        names, texts = [title], ["\n\n".join(texts)]
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        sent = SentGames(title, tuple(names), Path(folder))
        for path, text in zip(sent.paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        try:
            yield sent
        except MerinoError as error:
            raise RequestError(sent.named(str(error))) from error


def _read(kind: str, game: Data, remark: str | None = None, listed: Sequence[pgn_games.GameHeader] = ()) -> Data:
    """A text that was read: `kind` is fen, moves or pgn. `remark` is a further note.

    A PGN of several games is only listed: `listed` says where each stands in the text, in bytes of UTF-8, and `games`
    holds the first.
    """
    return {"kind": kind, "games": [game], "remark": remark, "listed": [vars(each) for each in listed]}


def _game(fen: str, moves: Sequence[Data] = (), **more: Any) -> Data:
    """A game: `number` in its file, players, start, comment and moves; `fault` says why it cannot be read further."""
    unknown = {"number": 1, "label": "", "result": "*", "tags": {}, "fault": None, "comment": ""}
    return {**unknown, "fen": fen, "moves": moves, **more}


def _move(name: str, uci: str, **more: Any) -> Data:
    """A move of a game, with its comment, signs, and the lines that were possible in its place.

    `before` is the comment at the beginning of a line that it begins.
    """
    return {"san": name, "uci": uci, "comment": "", "nags": [], "variations": [], "before": "", **more}


def read_text(text: str, position: Position | None, free: bool = False) -> Data:
    """Read a text; moves without the number 1 continue from `position`. With `free`, a FEN may break the rules.

    Raises FenError, MoveRejected and RequestError.
    """
    whole, text = text, text.strip().lstrip("\ufeff")
    if not text:
        raise RequestError("the text is empty: expected a FEN, an EPD, a PGN or moves")
    if lines := _positions_in(text):
        return _read_position(lines, free)
    if _ADDRESS.match(text):
        raise RequestError("nothing is fetched from other sites: paste the FEN or the PGN that is shown there")
    if text.startswith("[") or set(text) & set("{(;"):
        return _read_pgn(whole)
    listed = san.move_list(text)
    begins = listed.number == 1 and not listed.is_blacks
    if free and position is None and not begins:
        raise RequestError("the position on the board breaks the rules, so it has no moves")
    moves = [text] if san.looks_like_move(text) else listed.moves
    if not moves:
        raise RequestError(_no_text(text))
    start = Position() if begins or position is None else position.copy()
    return _read("moves", _played(start, moves))


def _no_text(text: str) -> str:
    return f"'{abridged(text, _MAX_SHOWN)}' is none of what is read here: {_READS}"


def read_game(content: bytes, number: int = 1) -> Data:
    """The game that is a text; raises RequestError if it is none. `number` is that in its file."""
    source = next(games_of(content), None)
    if source is None:
        raise RequestError("the text is not a game")
    return _game_of(source) | {"number": number}


def _read_pgn(text: str) -> Data:
    """The first game of a PGN text, and where each stands if there are several."""
    content = text.encode()
    listed, _ = pgn_games.list_games(content)
    if len(listed) > 1:
        first = listed[0]
        return _read("pgn", read_game(content[first.start : first.start + first.size]), listed=listed)
    source = next(games_of(content), None)
    if source is None or not (source.moves or source.fault or source.tags.get("FEN")):
        raise RequestError("the PGN has no game with a move")
    game = _game_of(source)
    if game["fault"]:
        raise RequestError(f"line {source.line}: {game['fault']}")
    return _read("pgn", game, listed=listed)


def course_of(start: Position, moves: list[str], evaluation: Evaluation) -> list[dict[str, Any]]:
    """The evaluation before the first of the moves, coordinates, and after each; raises IllegalMoveError.

    Of each position the score and the expected score of White, and the net centipawns of each term that is not zero.
    """
    current = start.copy()
    points = [_point(current, evaluation)]
    for move in moves:
        current.push_uci(move)
        points.append(_point(current, evaluation))
    return points


def _point(position: Position, evaluation: Evaluation) -> dict[str, Any]:
    explanation = evaluation.explain(position.record)
    nets = {line.name: line.net for line in explanation.lines if line.net}
    scores = {"score_cp": explanation.score_white, "expected_score": explanation.expected_score}
    return {"fen": position.fen(), **scores, "terms": nets}


def _positions_in(text: str) -> list[str]:
    """The positions of a text, without comments and the results before them; none where it begins with none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    lines = [_RESULT.sub("", line, count=1) for line in lines]
    return lines if lines and positions.take_position([lines[0]]) else []


def _read_position(lines: Sequence[str], free: bool) -> Data:
    given = positions.read_position(lines[0])
    if not given.moves:
        fen, rest = openings.epd_parts(" ".join([given.fen, *given.rest]))
        given = given._replace(fen=fen, rest=rest.split())
    remarks = [f"the first of {len(lines)} lines"] if len(lines) > 1 else []
    remarks += [] if given.moves else [" ".join(given.rest)]  # the operations of an EPD
    fields = given.fen.split()
    if taken := _TAKEN[len(fields) :]:
        given = given._replace(fen=positions.completed(fields))
        remarks.append(f"not in the text: {', '.join(taken)}")
    try:
        game = _played(given.position(), given.rest if given.moves else [])
    except FenError:
        if not free:
            raise
        game = _game(reporting.set_up(given.fen).fen)
    return _read("moves" if given.moves else "fen", game, "; ".join(filter(None, remarks)) or None)


def _played(start: Position, texts: list[str]) -> Data:
    if len(texts) > MAX_MOVES:
        raise RequestError(f"these are more than {MAX_MOVES} moves")
    first = Position(start.start_fen(), start.chess960)
    current, played = start.copy(), [_move(name, uci) for name, uci in san.named_moves(first, start.moves)]
    for number, text in enumerate(texts, start=1):
        try:
            move = san.read_move(current, text)
        except san.MoveRejected as rejection:
            if rejection.refusal is None and number == 1:
                raise RequestError(_no_text(text)) from rejection
            if len(texts) == 1:
                raise
            raise RequestError(f"move {number} of {len(texts)}, {rejection}") from rejection
        played.append(_move(san.san(current, move), current.uci(move)))
        current.push(move)
    return _game(start.start_fen(), played)


def _game_of(source: GameSource) -> Data:
    board, faults = chess.Board(source.start.fen(), chess960=source.start.chess960), [source.fault or None]
    before, moves = _line(source, deque(source.parts), board, 0, faults)
    tags = pgn_text.UNKNOWN_TAGS | {"Result": source.result} | source.tags
    known = {"tags": tags, "comment": before, "fault": next(filter(None, faults), None)}
    return _game(source.start.fen(), moves, **known, number=source.number, label=source.label, result=source.result)


def _line(
    source: GameSource,
    parts: deque[PgnPart],
    board: chess.Board,
    depth: int,
    faults: list[str | None],
) -> tuple[str, list[Data]]:
    """The comment before a line of play and its moves from `board`, taken from the parts; deeper ones are left out.

    A line ends before what cannot be read, which is added to the faults.
    """
    before, moves, earlier, ended = list[str](), list[Data](), board, False
    main = iter(source.moves)
    while parts and parts[0].depth >= depth:
        part = parts.popleft()
        if part.kind == pgn_tokens.CLOSING and part.depth:
            break
        if part.kind == pgn_tokens.OPENING:
            comment, variation = _line(source, parts, earlier.copy(stack=False), depth + 1, faults)
            if moves and variation and depth < MAX_DEPTH:
                moves[-1]["variations"].append([variation[0] | {"before": comment}, *variation[1:]])
        elif part.kind == pgn_tokens.MOVE and not ended:
            move = next(main, None) if depth == 0 else _variation_move(source, part, board, faults)
            if move is None:
                ended = True
                continue
            played, earlier = chess.Move.from_uci(move), board.copy(stack=False)
            moves.append(_move(board.san(played), board.uci(played)))
            board.push(played)
        elif not ended:
            sign = _sign(source, part, parts)
            if isinstance(sign, int) and moves:
                moves[-1]["nags"] = sorted({*moves[-1]["nags"], sign})
            elif text := source.comment(part) or sign:
                if moves:
                    moves[-1]["comment"] = f"{moves[-1]['comment']} {text}".strip()
                else:
                    before.append(str(text))
    return " ".join(before), moves


def _sign(source: GameSource, part: PgnPart, parts: deque[PgnPart]) -> int | str | None:
    """The number of a sign; what has none, and is no move, as text, which is kept among the comments."""
    if part.kind != pgn_tokens.OTHER:
        return source.sign(part)
    stop = part.stop
    while parts and parts[0].kind == pgn_tokens.OTHER and parts[0].start == stop:
        stop = parts.popleft().stop
    text = sources.decoded(source.content[part.start : stop]).strip(".\ufeff")
    return _WRITTEN.get(text, text)


def _variation_move(source: GameSource, part: PgnPart, board: chess.Board, faults: list[str | None]) -> str | None:
    """The coordinates of a move in a variation, in which a null move is a remark on a threat; None for a fault."""
    move = source.move_in(Position(board.fen(), board.chess960), part)
    if move == pgn_tokens.NULL:
        return chess.Move.null().uci()
    if move <= 0:
        faults.append(f"{sources.decoded(source.content[part.start : part.stop])!r} is not a legal move here")
        return None
    return Move(move).uci(board.chess960)


def pgn_of(fen: str, tags: Mapping[str, str], moves: Sequence[Fields], comment: str = "") -> str:
    """A game as PGN: its tags, the comment before it, and its moves as the page sends them, like those that are read.

    One without a result that ends on the board has the result of that. Raises RequestError, and ValueError for an
    illegal move.
    """
    game = chess.pgn.Game()
    for name, value in tags.items():
        game.headers[name] = value
    if fen != START_FEN:
        game.setup(Position(fen).to_chess(stack=False))
    game.comment = comment
    _add(game, game.board(), moves, 0)
    outcome = game.end().board().outcome()
    if outcome is not None and game.headers["Result"] == "*":
        game.headers["Result"] = outcome.result()
    return pgn_text.tree_text(game)


def _add(node: chess.pgn.GameNode, board: chess.Board, moves: Sequence[Fields], depth: int) -> None:
    """Append moves to a node, whose position is on the board; the board is left as it was."""
    if depth > MAX_DEPTH:
        raise RequestError(f"variations lie more than {MAX_DEPTH} deep in each other")
    for fields in moves:
        move, nags = board.parse_uci(fields.text("uci")), fields.take("nags", list[int])
        if nags and not 0 <= min(nags) <= max(nags) <= MAX_NAG:
            raise RequestError(f"'nags' are not all from 0 to {MAX_NAG}")
        child = node.add_variation(
            move,
            comment=fields.text("comment", ""),
            starting_comment=fields.text("before", ""),
            nags=nags,
        )
        for variation in fields.take("variations", list[list[dict[str, Any]]]):
            _add(node, board, list(map(Fields, variation)), depth + 1)
        board.push(move)
        node = child
    for _ in moves:
        board.pop()
