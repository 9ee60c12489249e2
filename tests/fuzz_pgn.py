"""`make fuzz-pgn`: mutated games, read by Merino and by python-chess, with every difference explained.

A piece of text is a drawn game or two, mutated. Games, tags, moves, comments, signs, results and faults are compared.
Where python-chess reads another thing, the piece is written again by the rules of `Plain`, in a layout that every
reader knows: python-chess must then read there what Merino read in the piece. If not, the smallest such piece is shown.

Merino reads many pieces as one text. Behind each stands a game that must be read whatever the piece is, and the text is
read in two parts, too, as files are. The same command goes on behind the last finished block of pieces.
"""

import argparse
import io
import json
import logging
import random
import re
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import chess
import chess.pgn

from merino.core.board.fen import parse_fen, to_fen
from merino.core.common import files
from merino.formats import pgn_games, pgn_parts, pgn_tokens, sources

GAMES, BLOCK, LINES = 20_000, 200, 1000  # games; pieces that are read as one text; drawn lines of moves
BEHIND = '\n\n[Event "end"]\n\n*\n\n[Event "{}"]\n\n{{ e }} 1. e4 *\n\n'
NO_MOVE = b"Ka1a1"  # in no position
_STARTS = [
    *[chess.STARTING_FEN] * 12,
    "r3k2r/1P4p1/8/2pP4/8/8/PP4p1/R3K2R w KQkq c6 0 1",
    "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 3 9",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "8/PPPP4/6k1/2q1q3/8/2q1q3/7p/4K1NN w - -",
    "4k3/PPPP4/8/8/8/8/7p/4K1NN w - - 0 1",  # White to move could take the king
]
_PIECES = r"""{ } ( ) [ ] " \ ; % $ * ! ? . , < > / + - = # : ~ ~~ ~% ~; ~1._ _ 1. 1... 2. 2... 9 1-0 0-1 1/2 1/2-1/2
½-½ -- Z0 0000 @@@@ O-O O-O-O o-o 00 e4 Nf3 Xe4 e9 a8(Q) e.p. ep D N += ∞ ± !! ?! ??? $1 $255 $99999999999 {c} {} (e4)
(()) {~~ (~~ [x] {[%clk_0:01]} [%eval [Event_"x"] ~[Event_"y"]~ ~~[White_"z"]~~ {~[Event_"q"]~~ [Result_"1-0"] [FEN_""]
[White_"a\"b\\"] [Variant_"Chess960"] [Variant_"Atomic"] [SetUp_"1"] é"""
_JUNK = [piece.replace("_", " ").replace("~", "\n").encode() for piece in _PIECES.split()]
_JUNK += [b"\r", b"\r\n", b"\0", b"\t", b"\v", b"\x1a", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xc2"]
_WORD = rb"[^\s{}();$!?*\[\],\"\xc2]"
_TAG = rb"\[[ \t]*(?P<name>" + _WORD + rb"+)[ \t]*(?=\")"
_WORD_START = rb"[^\s{}();$!?*\[\],\"0-9#%&'+./:<=>\\^_`|~\xc2\xef]"
_TOKEN = re.compile(
    rb"(?P<space>\s+)|(?P<brace>\{)|(?P<line>;[^\n]*|(?<![^\n])%[^\n]*)|(?P<opening>\()|(?P<sign>\$\d*|[!?]{1,2})"
    rb"|(?P<castling>0(?:-0|000)WORD*)|(?P<result>\*|(?:0-1|1-0|1/2)WORD*)|(?P<number>\d+\.*)"
    rb"|(?P<tag>TAG(?:(?:\"(?:\\[^\n]|[^\"\\\n])*\"|[^\"\]\n])*\]|[^\n]*))|(?P<word>START WORD*)"
    rb"|(?P<other>\[[^\]\n]{0,253}\]|\xef\xbb\xbf|\xefWORD*|\xc2[\x80-\xff]|.)".replace(b"START ", _WORD_START)
    .replace(b"WORD", _WORD)
    .replace(b"TAG", _TAG),
    re.DOTALL,
)
_MARKS = rb"[-+#=/.:~^_|<>'`)\x80-\xff]*"
_MOVE = re.compile(
    rb"(?:([Oo0]-?[Oo0])(-?[Oo0])?|(?:P|([NBRQK]?))([a-h]?[1-8]?)[-x:X]?([a-h][1-8])(?:[=/(]?([NBRQnbrq]))?)"
    + (_MARKS + rb"(?:e\.p|ep|mate|ch)?" + _MARKS)
)
_IS_MOVE = re.compile(rb"--\Z|Z0\Z|[0Oo]-|OO|0000|(?![Oo]).*[a-h][1-8]", re.DOTALL)
_ENDS = re.compile(rb"^" + _TAG, re.MULTILINE)
_IN_VARIATION = re.compile(
    rb"(?P<end>\n[^\S\n]*(?=\n1\.)|^" + _TAG + rb")|(?P<brace>\{)|;[^\n]*|^%[^\n]*|(?P<bracket>[()])", re.MULTILINE
)
_RESULTS = {b"0-1": b"0-1", b"1-0": b"1-0", b"1/2": b"1/2-1/2"}
_NAME = re.compile(r"[A-Za-z0-9][\w+#=:-]*", re.ASCII)
_PLAIN_TAG = re.compile(rb'\[[A-Za-z0-9][A-Za-z0-9_+#=:-]*\s+"[^\n]*"\]')
Reading = tuple[dict[str, str], list[tuple[str, str, list[int]]], bool]  # tags; move, comment and signs; a fault


@cache
def line(number: int) -> tuple[str, list[tuple[str, str]]]:
    """A FEN, and moves from it in short notation and in coordinates; the same ones for each number."""
    draw, moves = random.Random(number), list[tuple[str, str]]()
    board = chess.Board(draw.choice(_STARTS))
    fen, length = board.fen(), draw.choice((3, 4, 6, 8, 12)) if number else 400
    while len(moves) < length and (legal := list(board.legal_moves)):
        move = draw.choice(legal)
        moves.append((board.san(move), board.uci(move)))
        board.push(move)
    return fen, moves


def drawn(draw: random.Random) -> str:
    """A game in one of many layouts."""
    fen, moves = line(draw.randrange(LINES))
    tags = {"Event": "x", "White": draw.choice(("A", "J\u00f6rg [x]", 'a \\"b\\" \\\\')), "Result": "1-0"}
    tags |= {"FEN": fen} if fen != chess.STARTING_FEN else {}
    words = [f'[{name} "{value}"]\n' for name, value in tags.items() if draw.random() < 0.9] + ["\n"]
    for ply, (san, uci) in enumerate(moves):
        words += [f"{ply // 2 + 1}{'...' if ply % 2 else '.'} "] * (ply % 2 == 0 or draw.random() < 0.2)
        odd = san.replace("x", ":").replace("O", "0").replace("=", "/"), f"{uci[:2]}-{uci[2:]}", f"{uci} e.p.", san * 2
        words.append((san if draw.random() < 0.95 else draw.choice(odd)) + " ")
        others = "{ c } ", "{[%clk 0:01:00]} ", f"( {san} {{ v }} ( {san} $2 ) ) ", "$1 ", "!? ", "; c\n"
        words += [draw.choice(others)] * (draw.random() < 0.15)
    return "".join([*words, draw.choice(("1-0", "1-0", "1-0", "*", "1/2-1/2")), "\n\n"])


def mutated(draw: random.Random, text: bytes) -> bytes:
    """The text with pieces put in, cut out, doubled and moved, other line ends, and now and then its end cut off."""
    for _ in range(draw.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        start, other, kind = draw.randrange(len(text) + 1), draw.randrange(len(text) + 1), draw.random()
        stop = start + draw.choice((0, 0, 0, 1, 1, 2, 5, 20))
        copies = b"", 2 * text[start:stop], text[other : other + stop - start]
        text = text[:start] + draw.choice(_JUNK if kind < 0.7 else copies) + text[stop:] * (kind < 0.97)
    return text.replace(b"\n", draw.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r")))


def by_merino(game: pgn_parts.GameSource) -> Reading:
    """A game as Merino reads it."""
    plies, moves = [("", [""], set[int]())], iter(game.moves)
    for part in (part for part in game.parts if not part.depth):
        if part.kind == pgn_tokens.MOVE:
            plies.append((next(moves, ""), [], set()))
        if part.kind == pgn_tokens.OPEN_COMMENT or len(plies) > 1 and not plies[-1][0]:
            break
        plies[-1][1].append(game.comment(part))
        plies[-1][2].add(game.sign(part) or 0)
    tags = game.tags | {"Result": game.result} | ({"Event": "?"} if game.tags.get("Event") == "end" else {})
    return _reading(tags, [(move, " ".join(text), signs) for move, text, signs in plies if move or text], game.fault)


def by_python_chess(text: bytes) -> list[Reading]:
    """The games of a text as python-chess reads them."""
    file, found = io.StringIO(text.decode("utf-8", "surrogateescape"), newline=None), []
    while game := chess.pgn.read_game(file, Visitor=_Builder):
        tags = {name: pgn_games.plain_value(_decoded(text)) for name, text in game.headers.items()}
        tags["Result"] = tags["Result"] if tags["Result"] in pgn_games.RESULTS else "*"
        nodes = [(node.move.uci() if node.move else "", _decoded(node.comment), node.nags) for node in game.mainline()]
        found.append(_reading(tags, [("", _decoded(game.comment), game.nags), *nodes], game.errors))
    return list(filter(any, found))


class _Builder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Skips variations."""

    def begin_variation(self) -> chess.pgn.SkipType:  # type: ignore[override]  # as visitors may
        return chess.pgn.SKIP

    def end_variation(self) -> None:
        pass


def _decoded(text: str) -> str:
    return sources.decoded(text.encode("utf-8", "surrogateescape"))


def _reading(tags: dict[str, str], plies: list[tuple[str, str, set[int]]], fault: object) -> Reading:
    """What readers can agree on: no result and comments of a faulty game, no comments of one without moves."""
    dropped = {"FEN", "Variant", "Result"} if fault else {"FEN", "Variant"}
    known = {name: text for name, text in tags.items() if name not in dropped and _NAME.fullmatch(name)}
    known = {name: text for name, text in known.items() if text not in {"", "?", "*", "????.??.??"}}
    if fault or len(plies) == 1:
        plies = [(move, "", set()) for move, _, _ in plies[1:]]
    return known, [(move, " ".join(text.split()), sorted(signs - {0})) for move, text, signs in plies], bool(fault)


def _comment_end(text: bytes, at: int) -> tuple[int, bool]:
    """Where the comment at `at` ends, and whether it is closed; not so with a tag and another comment in it."""
    stop = text.find(b"}", at)
    tag = _ENDS.search(text, at + 1, stop if stop >= 0 else len(text))
    if stop >= 0 and not (tag and text.find(b"{", tag.start(), stop) >= 0):
        return stop + 1, True
    return tag.start() if tag else len(text), False


def _variation_end(text: bytes, at: int) -> int:
    """Where the variation at `at` ends: an unclosed one before a tag, or before a first move behind an empty line."""
    depth = 0
    while found := _IN_VARIATION.search(text, at):
        at, is_closed = _comment_end(text, found.start()) if found["brace"] else (found.end(), True)
        if found["end"] is not None or not is_closed:
            return found.start()
        depth += {b"(": 1, b")": -1}.get(found[0], 0)
        if depth == 0 and found["bracket"]:
            return at
    return len(text)


def _ends_in_result(word: bytes, length: int) -> bool:
    """Whether the last bytes of a word are a result, behind a move."""
    is_result = len(word) > max(4, length) and word[-length:][:3] in _RESULTS and word[-1:] in b"012"
    return bool(is_result and _IS_MOVE.match(word[:-length]))


class Plain:
    """The games of a text in a layout that every reader knows, and the rules by which they are found."""

    def __init__(self, text: bytes) -> None:
        self.text, self.games, self.rules = text, list[bytes](), set[str]()
        self.fresh, self.is_apart, self.last, self.mark, at = "", True, "", 0, 0
        self._begin_none()
        while at < len(text) and (found := _TOKEN.match(text, at)):
            kind = str(found.lastgroup)
            at = getattr(self, f"_{kind}")(found[0], found) or found.end()
            self.last = self.last if kind == "space" else kind
        self._end()

    def _begin_none(self) -> None:
        self.tags, self.course = dict[bytes, bytes](), list[bytes]()
        self.moves, self.fresh = -1, ""  # -1: no game has begun

    def _note(self, applies: object, rule: str) -> None:
        self.rules |= {rule} if applies else set()

    def _space(self, word: bytes, _: re.Match[bytes]) -> None:
        if word.count(b"\n") > 1:
            self.fresh, self.is_apart = "gap", True
            is_odd = (self.moves >= 0 or self.course) and (self.last != "tag" or word.count(b"\n") > 2)
            self._note(is_odd, "an empty line within a game")

    def _number(self, word: bytes, found: re.Match[bytes]) -> None:
        runs_on = word[-1:].isdigit() and self.text[found.end() : found.end() + 1].isalpha()
        self._note(runs_on or b"0000" in word, "a number run together with a move")
        self.mark = len(self.course)
        if word[:1] != b"1" or word[1:2].isdigit():
            self.fresh = ""
        elif word == b"1.":
            self.fresh = self.fresh or "one"

    def _opening(self, _: bytes, found: re.Match[bytes]) -> int:
        at = _variation_end(self.text, found.start())
        is_odd = re.search(rb"\n\s*\n|;|^%|[^)]\Z", self.text[found.start() : at], re.MULTILINE)
        self._note(self.moves < 1 or is_odd, "a variation of no move, unclosed, or with empty lines or line comments")
        return at

    def _brace(self, _: bytes, found: re.Match[bytes]) -> int:
        at, is_closed = _comment_end(self.text, found.start())
        self._keep(self.text[found.start() : at] if is_closed else NO_MOVE)
        if not is_closed:
            self._note(True, "a comment that nothing closes")
            self._end()
        return at

    def _line(self, word: bytes, _: re.Match[bytes]) -> None:
        self._note(True, "a line comment")
        if word[:1] == b";":
            self._keep(b"{" + word[1:].translate(bytes.maketrans(b"{}", b"()")) + b"}")

    def _sign(self, word: bytes, _: re.Match[bytes]) -> None:
        if word[:1] != b"$" or 1 < len(word) < 11:
            self._keep(word)
        else:
            self._note(True, "a sign without a number, or with a huge one")

    def _keep(self, word: bytes) -> None:
        self._note(self.moves < 0 and not self.is_apart, "a sign or a comment right behind a result")
        self.course.append(word)

    def _other(self, *_: object) -> None:
        self._note(True, "text that means nothing")

    def _tag(self, word: bytes, found: re.Match[bytes]) -> None:
        name, value = found["name"], word.partition(b'"')[2]
        self._note(self.moves < 1 and self.last not in {"", "tag", "result"}, "text before tags")
        again = name in self.tags and name.decode("latin-1") in pgn_games.TAG_NAMES
        if self.moves > 0 or again and (name == b"Event" or self.fresh == "gap"):
            self._note(self.moves == 0, "tags alone, and then those of the next game")
            self._end()
        self._begin()
        self.course = []
        whole = self.text[self.text.rfind(b"\n", 0, found.start()) + 1 : (self.text + b"\n").find(b"\n", found.end())]
        is_plain = _PLAIN_TAG.fullmatch(word) and whole.lstrip(b"\xef\xbb\xbf").rstrip() == word
        self._note(not is_plain, "a tag not alone on its line, or in another spelling")
        self.tags |= {name: value[: value.rfind(b'"')]} if b'"' in value else {}

    def _begin(self) -> None:
        """Begin a game, unless one has begun."""
        self._note(self.moves < 0 and self.games and not self.is_apart, "games without an empty line between them")
        self.moves, self.is_apart, self.fresh = max(self.moves, 0), False, ""

    def _result(self, word: bytes, _: re.Match[bytes]) -> None:
        self._note(word != b"*" and word not in _RESULTS.values(), "a result in another spelling")
        self._note(self.moves < 0, "a result of no game")
        self._end(word)
        self.is_apart = False

    def _word(self, word: bytes, found: re.Match[bytes]) -> int | None:
        """A move, if it is one; returns where reading goes on."""
        if not _IS_MOVE.match(word):
            self._other()
            return None
        at = found.end()
        while length := next((each for each in (7, 3) if _ends_in_result(word, each)), 0):
            self._note(True, "a result without a blank before it")
            word, at = word[:-length], at - length
        if re.match(rb"[a-h].*[18]\([NBRQ]\)\Z", letter := word + self.text[at : at + 3], re.DOTALL):
            word, at = letter, at + 3
        if self.moves > 0 and self.fresh == "gap" or self.moves > 1 and self.fresh == "one":
            mark = self.mark if self.mark >= 0 else len(self.course)
            behind, self.course = self.course[mark:], self.course[:mark]
            self._end()
            self.course = behind
        self._begin()
        self.moves, self.mark = self.moves + 1, -1
        parts, spelling = _MOVE.fullmatch(word), NO_MOVE
        if parts:
            move = b"".join(part or b"" for part in parts.group(3, 4, 5)) + (
                b"=" + parts[6].upper() if parts[6] else b""
            )
            spelling = (b"O-O-O" if parts[2] else b"O-O") if parts[1] else move
        is_odd = spelling != word.replace(b"x", b"").rstrip(b"+#")
        self._note(is_odd, "a move in another spelling, a null move, or no move")
        self.course.append(spelling)
        return at

    _castling = _word

    def _end(self, word: bytes = b"") -> None:
        """End the present game, if one has begun or has a comment that nothing closes."""
        tag, in_text = self.tags.get(b"Result", b"*"), _RESULTS.get(word[:3])
        in_tag = _RESULTS.get(tag[:3])
        self._note(tag not in {b"*", in_tag}, "a result in another spelling")
        if in_tag and in_text and in_tag != in_text:
            self._note(True, "a result that is not the one in the tag")
            self.course.append(NO_MOVE)
        if not self._is_chess():
            self._note(True, "a position or a variant that Merino does not play")
            self.course = [NO_MOVE]
        if self.moves >= 0 or NO_MOVE in self.course:
            self.tags[b"Result"] = in_text or in_tag or b"*"
            known = [name for name, value in self.tags.items() if value and _NAME.fullmatch(name.decode("latin-1"))]
            tags = b"".join(b'[%b "%b"]\n' % (name, self.tags[name]) for name in known)
            self.games.append(tags + b"\n" + b"\n".join([*self.course, self.tags[b"Result"]]) + b"\n\n")
        self._begin_none()

    def _is_chess(self) -> bool:
        """Whether Merino plays from the position of the game; notes its FEN and variant in the usual form."""
        given = [self.tags.get(name, b"") for name in (b"FEN", b"Variant")]
        fen, variant = (sources.decoded(value).strip() for value in given)
        try:
            fen = to_fen(parse_fen(fen)) if given[0] else ""
            is_chess = not variant or chess.pgn.Headers({"Variant": variant}).variant() is chess.Board
        except ValueError:
            return False
        is_odd = [fen.encode(), variant.encode()] != given or b"" in (self.tags.get(b"FEN"), self.tags.get(b"Variant"))
        self._note(is_odd, "a FEN or a variant in another spelling, or empty")
        self.tags |= {b"FEN": fen.encode(), b"Variant": variant.encode()}
        return is_chess


def readings(pieces: list[bytes]) -> list[list[Reading]]:
    """What Merino reads in each piece, when all stand in one text."""
    text = b"".join(piece + BEHIND.format(number).encode() for number, piece in enumerate(pieces))
    games, found = list(pgn_parts.games_of(text)), [list[Reading]()]
    assert b"".join(game.content for game in games) == text, "the games joined are not the text"
    for reading in map(by_merino, games):
        if reading == ({"Event": str(len(found) - 1)}, [("", "e", []), ("e2e4", "", [])], False):
            found.append([])
        else:
            found[-1] += [reading] * any(reading)
    assert len(found) == len(pieces) + 1, f"the game behind {pieces[len(found) - 1]!r} was lost"
    _, first, after = pgn_games.whole_games(text[: text.find(b"\n", len(text) // 2) + 1], keeps_empty=True)
    second = pgn_games.scan_games(text[after:], keeps_empty=True)[1]
    starts = [*first["start"].tolist(), *(second["start"] + after).tolist()]
    assert starts == pgn_games.scan_games(text, keeps_empty=True)[1]["start"].tolist(), "in two parts it is other games"
    return found[:-1]


def explained(piece: bytes, ours: list[Reading]) -> set[str] | None:
    """The rules that explain what python-chess reads otherwise, none if nothing; None if they do not explain it."""
    if by_python_chess(piece) == ours:
        return set()
    found = Plain(re.sub(rb"\r\n?", b"\n", piece))
    return found.rules or None if by_python_chess(b"".join(found.games)) == ours else None


def smallest(piece: bytes) -> bytes:
    """The piece without all that can be cut out of it while it is not explained."""
    size = len(piece) // 2
    while size:
        for at in range(0, len(piece), size):
            shorter = piece[:at] + piece[at + size :]
            piece = shorter if explained(shorter, *readings([shorter])) is None else piece
        size //= 2
    return piece


def block(seed: int) -> Counter[str]:
    """Draw and read a block of pieces: counts games, those in pieces that differ, and rules; raises AssertionError."""
    draw, counts = random.Random(seed), Counter(blocks=1)
    texts = ["".join(drawn(draw) for _ in range(draw.choice((1, 1, 2)))).encode() for _ in range(BLOCK)]
    pieces = [mutated(draw, text) for text in texts]
    for piece, ours in zip(pieces, readings(pieces), strict=True):
        rules = explained(piece, ours)
        assert rules is not None, f"not explained: {smallest(piece)!r}"
        counts.update({"games": len(ours), "otherwise": len(ours) * bool(rules)})
        counts.update(rules if len(rules) > 1 else [f"{rule}, alone" for rule in rules])
    return counts


def main() -> int:
    """Read games until there are so many, and print which rules explain what python-chess reads otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_pgn", description="Let two readers read mutated games.")
    parser.add_argument("--games", type=int, default=GAMES, help=f"so many games ({GAMES})")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other games (1)")
    arguments = parser.parse_args()
    logging.disable()
    state = Path(tempfile.gettempdir(), f"merino-fuzz-pgn-{arguments.seed}.json")
    counts = Counter[str](json.loads(state.read_text()) if state.exists() else {})
    while counts["games"] < arguments.games:
        counts += block(arguments.seed * 10**9 + counts["blocks"])
        files.write_whole(state, json.dumps(counts).encode())
    print(f"{counts['games']:,} games, {counts['otherwise']:,} in texts that python-chess reads otherwise, by rule:")
    for rule, times in counts.most_common():
        print(f"{times:8,}  {rule}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
