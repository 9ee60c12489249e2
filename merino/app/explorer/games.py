"""Games as the page has them: texts that it sends, what is typed or pasted into its box, and games as PGN."""

import re
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

import chess
import chess.pgn

from merino.app.explorer.state import MAX_MOVES, Fields, RequestError
from merino.core.board.fen import START_FEN, FenError
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.errors import MerinoError, abridged
from merino.engine.notation import positions, san
from merino.eval import outlook
from merino.formats import openings, pgn_games, pgn_text, pgn_tokens, sources
from merino.formats.pgn_parts import GameSource, PgnPart, commands_in, games_of
from merino.study import reporting

MAX_SENT = 64 << 20  # bytes of all games of a run
MAX_NAME = 80
UNNAMED = "games.pgn"
MAX_DEPTH = 20  # of variations within variations
TOO_DEEP = f"variations lie more than {MAX_DEPTH} deep in each other"
MAX_NAG = 10**9
# Signs by their numbers (NAG), those of the PGN standard and of later programs: of the move, of the position, the only
# move, zugzwang, space, development, initiative, attack, compensation, centre, kingside, queenside, first rank, king,
# knights, bishops, rooks, queen, pawns, play of a stage of the game, counterplay, time trouble, with and against the
# idea, better and worse is, likewise, as remarked, a novelty.
_NAGS = (
    "1 ! 2 ? 3 !! 4 ?? 5 !? 6 ?! 10 = 13 \u221e 14 \u2a72 15 \u2a71 16 \u00b1 17 \u2213 18 +- 19 -+ 7-8 \u25a1 9 ?? "
    "11-12 = 20 +- 21 -+ 22-23 \u2a00 24-29 \u25cb 30-35 \u27f3 36-39 \u2191 40-41 \u2192 42-47 =/\u221e 48-53 \u229e "
    "54-59 \u27eb 60-65 \u27ea 66-69 \u2656 70-77 \u2654 78-85 \u2658 86-93 \u2657 94-97 \u265c 98-101 \u2655 "
    "102-105 \u2659 106-129 \u2713 130-135 \u21c6 136-139 \u2295 140 \u2206 141 \u2207 142 \u2313 143 \u2264 "
    "144 == 145 RR 146 N"
)
SIGNS = {
    number: sign
    for numbers, sign in re.findall(r"(\S+) (\S+)", _NAGS)
    for number in range(int(numbers.split("-")[0]), int(numbers.split("-")[-1]) + 1)
}

Data = dict[str, Any]  # as JSON
_TAKEN = ("", "White to move", "castling as kings and rooks stand", "no en passant")  # for the fields of a FEN
_RESULT = re.compile(r"\s*[01=] (?=[^\s/]+/)")  # before a position, in lists that 'learn' keeps
_ADDRESS = re.compile(r"(https?://)?(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]|$)|https?://", re.IGNORECASE)
_MOVES_THERE = re.compile(r"(?:[?&#]pgn=|/pgn/)([^&#]+)", re.IGNORECASE)  # in an address
_NOT_FETCHED = (
    "nothing is fetched from other sites: paste the FEN or the PGN that is shown there, "
    "on lichess under 'Share & export', on chess.com under 'Share'"
)
_RANK = "[PNBRQKpnbrqk1-8]{1,8}"
_FEN = re.compile(
    rf"(?<!\w)(?:{_RANK}/){{7}}{_RANK}"
    r"(?: [wb](?: (?:-|[A-Ha-hKQkq]{1,4})(?: (?:-|[a-h][36])(?: \d+(?: \d+)?)?)?)?)?(?![\w/])"
)
# How moves are written in print: other dashes, halves and signs, and numbers without a dot.
_PRINT = str.maketrans(dict.fromkeys("\u2010\u2011\u2013\u2212", "-") | {"\u00bd": "1/2"} | dict.fromkeys("±∓⩲⩱∞□"))
_UNDOTTED = re.compile(r"(?<!\S)(\d{1,3})\)?\s+(?=[a-hKQRBNO0\u2654-\u265f])")
_NAG = re.compile(r"\$\d+")
_READS = "a move (Nf3), moves (1. e4 e5), a FEN, an EPD or a PGN"
_MAX_SHOWN = 40  # characters of what was typed
_WRITTEN = {sign: nag for nag, sign in reversed(SIGNS.items())}
_WRITTEN |= {"+=": 14, "+/=": 14, "=+": 15, "=/+": 15, "+/-": 16, "-/+": 17}
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
    """The `files` of a request, each a `name` and its `content`, or the one that it is itself, or all `joined` as one.

    They are there within this block. Errors name them as the user knows them; raises RequestError.
    """
    parts = fields.parts("files") or [fields]
    names = [part.text("name", UNNAMED)[:MAX_NAME] for part in parts]
    texts = [part.content(2 * MAX_SENT) for part in parts]
    if sum(map(len, texts)) > MAX_SENT:
        raise RequestError(f"the games are longer than {MAX_SENT} bytes")
    title = f"{names[0]} and {len(names) - 1} more" if names[1:] else names[0]
    if joined:
        names, texts = [title], [b"\n\n".join(texts)]
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        sent = SentGames(title, tuple(names), Path(folder))
        for path, text in zip(sent.paths, texts, strict=True):
            path.write_bytes(text)
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
    unknown = {"number": 1, "label": "", "result": "*", "tags": {}, "fault": None, "comment": "", "commands": {}}
    return {**unknown, "fen": fen, "moves": moves, **more}


def _move(name: str, uci: str) -> Data:
    """A move of a game: its comment, the commands in it by their names, its signs, and the lines in its place.

    `before` is the comment at the beginning of a line that it begins. `score` is the one in the comment, from White's
    view: `text` and `expected_score`.
    """
    empty: Data = {"comment": "", "commands": {}, "nags": [], "variations": [], "before": "", "score": None}
    return {"san": name, "uci": uci, **empty}


def read_text(text: str, position: Position | None, free: bool = False) -> Data:
    """Read a text; moves without the number 1 continue from `position`. With `free`, a FEN may break the rules.

    Raises FenError, MoveRejected and RequestError.
    """
    whole, text = text, text.strip().lstrip("\ufeff")
    if not text:
        raise RequestError("the text is empty: expected a FEN, an EPD, a PGN or moves")
    if address := _ADDRESS.match(text):
        whole = text = _said_by(text if address[1] else f"https://{text}")
    if lines := _positions_in(text):
        return _read_position(lines, free)
    if text.startswith("[") or set(text) & set("{(;"):
        return _read_pgn(whole, free)
    if inside := _inside(text):
        return _read_position(inside, free)
    listed = san.move_list(_UNDOTTED.sub(r"\1. ", text.translate(_PRINT)))
    begins = listed.number == 1 and not listed.is_blacks
    moves = [word for word in listed.moves if word not in _WRITTEN and not _NAG.fullmatch(word)]
    moves = [text] if san.looks_like_move(text) else moves
    if not moves:
        raise RequestError(_no_text(text))
    if free and position is None and not begins:
        raise RequestError("the position on the board breaks the rules, so it has no moves")
    return _read("moves", _played(Position() if begins or position is None else position.copy(), moves))


def _said_by(address: str) -> str:
    """What an address holds: itself, with a position, or the moves in it, from the start of a game; or RequestError."""
    address = re.sub(r"\s+", "_", address)
    if _inside(address):
        return address
    if not (found := _MOVES_THERE.search(address)):
        raise RequestError(_NOT_FETCHED)
    moves = unquote_plus(found[1]).replace("_", " ").strip()
    return moves if moves.startswith(("[", "1")) else f"1. {moves}"


def _inside(text: str) -> list[str]:
    """The position that stands somewhere in a text, as in an address, markup or JSON; none where there is none."""
    found = _FEN.search(re.sub(r"[_+\s]+", " ", unquote(text).replace("\\/", "/")))
    return [found[0]] if found else []


def _no_text(text: str) -> str:
    return f"'{abridged(text, _MAX_SHOWN)}' is none of what is read here: {_READS}"


def read_game(content: bytes, number: int = 1) -> Data:
    """The game that is a text; raises RequestError if it is none. `number` is that in its file."""
    source = next(games_of(content), None)
    if source is None:
        raise RequestError("the text is not a game")
    return _game_of(source) | {"number": number}


def _read_pgn(text: str, free: bool) -> Data:
    """The first game of a PGN text, and where each stands if there are several."""
    content = text.encode()
    listed, _ = pgn_games.list_games(content)
    if len(listed) > 1:
        first = listed[0]
        return _read("pgn", read_game(content[first.start : first.start + first.size]), listed=listed)
    source = next(games_of(content), None)
    if source is None or not (source.moves or source.fault or source.tags.get("FEN")):
        if text.startswith("["):
            raise RequestError("the PGN has no game with a move")
        if inside := _inside(text):
            return _read_position(inside, free)
        raise RequestError(_no_text(text))
    game = _game_of(source)
    if game["fault"]:
        raise RequestError(f"line {source.line}: {game['fault']}")
    return _read("pgn", game, listed=listed)


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
    for move, score in zip(moves, source.scores, strict=False):
        move["score"] = None if score == pgn_tokens.NO_SCORE else _said(score)
    tags = pgn_text.UNKNOWN_TAGS | {"Result": source.result} | source.tags
    known = {"tags": tags, **before, "fault": next(filter(None, faults), None)}
    return _game(source.start.fen(), moves, **known, number=source.number, label=source.label, result=source.result)


def _said(score: int) -> Data:
    """A score that a comment has, as `pgn_tokens` gives it."""
    mate = pgn_tokens.MATE - abs(score)
    if abs(score) > pgn_tokens.MAX_SCORE:
        return {"text": f"{'-' if score < 0 else '+'}M{mate}", "expected_score": float(score > 0)}
    return {"text": f"{score / 100:+.2f}", "expected_score": outlook.expected_score(score)}


def _line(
    source: GameSource, parts: deque[PgnPart], board: chess.Board, depth: int, faults: list[str | None]
) -> tuple[Data, list[Data]]:
    """The comment before a line of play, with its commands, and its moves from `board`, taken from the parts.

    A line ends before what cannot be read, which is added to the faults, as are variations that lie too deep.
    """
    before, moves, earlier, ended = Data(comment="", commands={}), list[Data](), board, False
    main = iter(source.moves)
    while parts and parts[0].depth >= depth:
        part = parts.popleft()
        if part.kind == pgn_tokens.CLOSING and part.depth:
            break
        if part.kind == pgn_tokens.OPENING and depth == MAX_DEPTH:
            faults.append(TOO_DEEP)
            while parts and parts[0].depth > depth:
                parts.popleft()
        elif part.kind == pgn_tokens.OPENING:
            said, variation = _line(source, parts, earlier.copy(stack=False), depth + 1, faults)
            if moves and variation:
                comment = pgn_text.with_commands(said["comment"], said["commands"])
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
                noted = moves[-1] if moves else before
                words, commands = commands_in(str(text))
                noted["comment"] = f"{noted['comment']} {words}".strip()
                noted["commands"] |= commands
    return before, moves


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


def pgn_of(
    fen: str, tags: Mapping[str, str], moves: Sequence[Fields], comment: str, commands: Mapping[str, str]
) -> str:
    """A game as PGN: its tags, the comment before it, and its moves as the page sends them, like those that are read.

    One without a result that ends on the board has the result of that. Raises RequestError, and ValueError for an
    illegal move.
    """
    game = chess.pgn.Game()
    for name, value in tags.items():
        game.headers[name] = value
    if fen != START_FEN:
        game.setup(Position(fen).to_chess(stack=False))
    game.comment = _commented(comment, commands)
    _add(game, game.board(), moves, 0)
    outcome = game.end().board().outcome()
    if outcome is not None and game.headers["Result"] == "*":
        game.headers["Result"] = outcome.result()
    return pgn_text.tree_text(game)


def _commented(text: str, commands: Mapping[str, str]) -> str:
    for name, value in commands.items():
        if commands_in(pgn_text.with_commands("", {name: value})) != ("", {name: value}):
            raise RequestError(f"'{abridged(name, _MAX_SHOWN)}' is no command of a comment, or not with this value")
    return pgn_text.with_commands(text, commands)


def _add(node: chess.pgn.GameNode, board: chess.Board, moves: Sequence[Fields], depth: int) -> None:
    """Append moves to a node, whose position is on the board; the board is left as it was."""
    if depth > MAX_DEPTH:
        raise RequestError(TOO_DEEP)
    for fields in moves:
        move, nags = board.parse_uci(fields.text("uci")), fields.take("nags", list[int])
        if nags and not 0 <= min(nags) <= max(nags) <= MAX_NAG:
            raise RequestError(f"'nags' are not all from 0 to {MAX_NAG}")
        child = node.add_variation(
            move,
            comment=_commented(fields.text("comment", ""), fields.take("commands", dict[str, str])),
            starting_comment=fields.text("before", ""),
            nags=nags,
        )
        for variation in fields.take("variations", list[list[dict[str, Any]]]):
            _add(node, board, list(map(Fields, variation)), depth + 1)
        board.push(move)
        node = child
    for _ in moves:
        board.pop()
