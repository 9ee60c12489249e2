"""Every kind of file that Merino reads: valid ones, the readers of each, and how its structure is taken apart.

A reader gives data, or raises one of REFUSALS with a message that names the file and the fault.
"""

import base64
import bz2
import gzip
import json
import lzma
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import chess
import numpy as np
from starlette.testclient import TestClient

from merino.app.console.commands import entry_of as load_game
from merino.app.console.explaining import read_positions
from merino.app.console.games import ConsoleGame, UnfinishedFile, pace_of, read_kept, strength_text
from merino.app.explorer.app import create_app
from merino.app.explorer.games import read_text as read_pasted
from merino.app.explorer.state import ServerState
from merino.core.board.fen import parse_fen
from merino.core.board.game import Position
from merino.core.common.errors import MerinoError
from merino.core.common.sealed import as_json, sealed
from merino.engine.search.strength import at_elo
from merino.engine.tables.book import Book, BookError
from merino.eval.families import default, load
from merino.eval.linear import family, registry
from merino.eval.linear.weights import DEFAULT_FILE, defaults, k_in, rewrite
from merino.eval.linear.weights import load as load_weights
from merino.eval.net.file import ALIGNMENT, MAGIC, as_bytes
from merino.eval.net.network import QA, QB, Shape
from merino.formats import packed, packed_files, pgn_games, sources
from merino.formats.openings import FileOpenings, OpeningError, read_tasks
from merino.formats.scored_games import as_viriformat, scored_games
from merino.formats.sources import LeftOut
from merino.lab.arrays import as_npz, from_npz
from merino.lab.nets import night, training
from merino.lab.nets.net_command import positions_of as positions_of_net
from merino.lab.nets.quantising import quantised
from merino.lab.people.drill import Exercise, Practice, as_anki, as_pgn, hint_for, load_progress
from merino.lab.points.games import PointsRequest, Vectors, read_source, render_matrix
from merino.lab.tune import parameters, tuning
from merino.lab.tune.parameters import read_file as read_tuned
from merino.learn import judging, reading, request, rescoring
from merino.learn.improve import learner
from merino.learn.improve.learner import ImproveState, Plan, TermsRound
from merino.learn.judging import FORMAT as RECORD_FORMAT
from merino.match.games import Tally
from merino.match.keeping import MatchKeeper, PositionFile
from merino.study import accounts, annotated_files
from tests.boards import KIWIPETE, MATED
from tests.nights import night_of
from tests.test_explorer import PORT
from tests.test_net_training import sample
from tests.test_options import write_book

REFUSALS = (MerinoError, BookError, OpeningError)
Reader = Callable[[Path], object]


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its ending, valid contents, its readers by name, and its structure.

    `take_apart` gives JSON, whose changes `put_together` writes as a file again; both None where bytes or words are
    all there is.
    """

    name: str
    ending: str
    contents: Callable[[], Sequence[bytes]]
    readers: Mapping[str, Reader]
    take_apart: Callable[[bytes], Any] | None = None
    put_together: Callable[[Any], bytes] | None = None
    is_text: bool = False


PGN = (
    '[Event "a"]\n[White "A, B."]\n[Black "C"]\n[WhiteElo "2500"]\n[Date "2001.02.??"]\n[Result "1-0"]\n\n'
    "1. e4 { [%eval 0.30,9] } e5 { [%clk 0:01:02] +0.31/12 0.1s } 2. Nf3 $1 (2. f4 exf4 (2... d5 $6) 3. Nf3) 2... Nf6 "
    "3. Nxe5 { [%eval #5,9] } Nc6 4. Nxc6 dxc6 ; to the end\n5. d3 Bc5 6. Qe2 O-O 7. h3 1-0\n\n"
    '[Event "b"]\n[Result "1/2-1/2"]\n\n1. d4 d5 2. c4 e5 3. dxe5 d4 4. e3 Bb4+ 5. Bd2 dxe3 6. Bxb4 exf2+ 7. Ke2 '
    "fxg1=N+ 8. Ke1 Qh4+ 1/2-1/2\n",
    '[Event "?"]\n[SetUp "1"]\n[FEN "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"]\n'
    '[Result "0-1"]\n\n1. O-O-O O-O 2. a4 bxa3 e.p. 3. Rhe1!? axb2+ 4. Kb1 a5 0-1\n',
    '[Variant "Chess960"]\n[FEN "bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w GEge - 0 1"]\n[Result "*"]\n\n'
    "% escaped\n1. Ng3 Ng6 2. O-O O-O { {nested } 3. b3 *\n",
)
EPD = (
    'r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - bm Bxa6 dxe6; am O-O; id "kiwi"; c0 "x";\n'
    "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - dm 1; hmvc 3; fmvn 7;\n",
    '8/5k2/8/8/8/3K4/4P3/8 b - - ce -12; c9 "1/2-1/2"; acd 7;\n8/5k2/8/8/8/3K4/4P3/8 w - - ce 31999; c9 "1-0";\n',
    "# scores\n8/5k2/8/8/8/3K4/4P3/8 w - - 0 1 | 35 | 1.0\n8/5k2/8/8/8/3K4/4P3/8 b - - 3 60 | -12 | 0.5\n",
    '8/5k2/8/8/8/3K4/4P3/8 w - - 0 1 [0.5] 17\n8/5k2/8/8/8/3K4/4P3/8 b - - c9 "0-1";\n',
)
NUMBERS = (
    "KingAttack, 30, 0, 100, 5, 0.002\nRookOpen_mg, 24, -200, 200, 7.5, 0.002 # why\n",
    "futility_margin, int, 90, 20, 300, 10, 0.002\nmobility, float, 4.5, -10, 20, 1, 0.002\n",
)
TOML = ('[RookOpen_mg]\ndist = 10\nelo = 2\n[Other]\nstart = 1\nmin = -5\nmax = 9\nc_end = 2\ntype = "float"\n',)


def encoded(*texts: str) -> Callable[[], Sequence[bytes]]:
    """These texts as contents."""
    return lambda: [text.encode() for text in texts]


def compressed(pack: Callable[[bytes], bytes]) -> Callable[[], Sequence[bytes]]:
    """Games behind a compression."""
    return lambda: [pack(PGN[0].encode() * 20)]


# Readers of games and positions


def _packed(path: Path) -> object:
    records = [*packed_files.packed_positions(path, packed.Filter())]
    return [write(chunk) for chunk in records for write in (packed_files.as_lines, packed_files.as_epd)]


def _rows(path: Path) -> object:
    return reading.read_rows([path], reading.ReadOptions(request.Selection(), defaults()), request.Events())


def _openings(path: Path) -> object:
    openings = FileOpenings(path, 1)
    return [openings.opening(number).position() for number in range(2)]


def _points(path: Path) -> object:
    return read_source(path, PointsRequest(min_elo=1), lambda *_: None, LeftOut())


def _pasted(path: Path) -> object:
    with _naming(path):
        return read_pasted(path.read_text(encoding="utf-8", errors="replace"), None, False)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """For what is no file of its own: the error names it as files are named."""
    try:
        yield
    except (MerinoError, ValueError) as error:
        if type(error) is ValueError:
            raise
        raise MerinoError(f"{path}: {error}") from error


GAME_READERS: dict[str, Reader] = {
    "learn": _rows,
    "positions": _packed,
    "annotate": annotated_files.read_sources,
    "openings": _openings,
    "points": _points,
    "console": lambda path: load_game(path, 1),
    "page": _pasted,
}
POSITION_READERS: dict[str, Reader] = {
    "learn": _rows,
    "positions": _packed,
    "tasks": read_tasks,
    "openings": _openings,
    "console": lambda path: load_game(path, 2),
    "shell": read_positions,
}


def _lines(path: Path) -> object:
    with sources.open_source(path) as source:
        return sum(len(text) for text in source.lines())


# Evaluations and books


@cache
def _nets() -> Sequence[bytes]:
    draw = np.random.default_rng(1)
    found = []
    for shape in (
        Shape("ALL", 8),
        Shape("H+V", 16, 5, "crelu"),
        Shape("ALL", 8, piece_values=True),
        Shape("H", 8, outputs=8),
    ):
        weights = {name: draw.normal(0, 0.2, size) for name, size in shape.layers().items()}
        network = quantised(shape, weights, 180.0, {"data": {"positions": 3}})
        found.append(as_bytes(replace(network, search={"futility_margin": 90})))
    return found


@cache
def _foreign_nets() -> Sequence[bytes]:
    values = np.random.default_rng(2).integers(-QB, QB, 771 * 8 + 1).astype("<i2").tobytes()
    assert QA > QB
    return [values + bytes(-len(values) % ALIGNMENT)]


def _net_apart(content: bytes) -> Any:
    first, header, rest = content.split(b"\n", 2)
    version = int(first.removeprefix(MAGIC))
    return {"version": version, "header": _unsealed(header), "rest": len(rest.lstrip(b"\0")) // 2}


def _net_together(parts: Any) -> bytes:
    """A net with this header, and layers as long as it says or as long as its shape needs."""
    header, version = parts.get("header"), parts.get("version")
    try:
        words = [header[name] for name in ("features", "hidden", "second", "activation")]
        values = Shape(*words, version == 2, header.get("outputs", 1))
        count = sum(int(np.prod(size)) for size in values.layers().values())
    except (MerinoError, KeyError, TypeError, ValueError):
        count = parts["rest"] if isinstance(parts.get("rest"), int) else 0
    layers = np.random.default_rng(3).integers(-200, 200, min(max(0, count), 1 << 18)).astype("<i2").tobytes()
    if isinstance(header, dict):
        header = sealed(header, layers)
    head = MAGIC + f"{version}\n{json.dumps(header)}\n".encode()
    return head + bytes(-len(head) % ALIGNMENT) + layers


START = parse_fen(KIWIPETE)


def _evaluation(path: Path) -> object:
    evaluation = load(path)
    return evaluation.explain(START).score_white, evaluation.describe(), evaluation.identity


def _weights(path: Path) -> object:
    weights, text = load_weights(path), path.read_bytes().decode()
    return weights, k_in(text, str(path)), rewrite(text, weights, ["new"])


@cache
def _books() -> Sequence[bytes]:
    start = chess.Board()
    after = chess.Board()
    after.push_uci("e2e4")
    path = _scratch() / "book.bin"
    first = (start.fen(), "e2e4", 3), (start.fen(), "d2d4", 0)
    return [write_book(path, *first, (after.fen(), "e7e5", 1), (KIWIPETE, "e1h1", 2)).read_bytes()]


_BOOK_ENTRY = np.dtype([("key", ">u8"), ("move", ">u2"), ("weight", ">u2"), ("learn", ">u4")])


def _book_apart(content: bytes) -> Any:
    return np.frombuffer(content, _BOOK_ENTRY).tolist()


def _book_together(entries: Any) -> bytes:
    whole = [
        entry[:4]
        for entry in entries
        if isinstance(entry, list | tuple) and len(entry) >= 4 and all(type(value) is int for value in entry[:4])
    ]
    sizes = 64, 16, 16, 32
    cut = [tuple(max(0, value) % (1 << bits) for value, bits in zip(row, sizes, strict=True)) for row in whole]
    return np.array(sorted(cut), dtype=_BOOK_ENTRY).tobytes()


def _book(path: Path) -> object:
    book = Book(path)
    moves = [book.move(position, Random(1)) for position in (Position(), Position(KIWIPETE), Position(MATED))]
    return moves, FileOpenings(path, 1).opening(0)


# Packed positions


def _records_apart(content: bytes) -> Any:
    return [
        [int(row["occupied"]), row["pieces"].tolist(), *row.tolist()[2:6], int(row["game"])]
        for row in np.frombuffer(content, packed.PACKED)
    ]


def _records_together(rows: Any) -> bytes:
    found = np.zeros(len(rows), dtype=packed.PACKED)
    for record, row in zip(found, rows, strict=True):
        names = ("occupied", "pieces", "score", "result", "king", "other_king", "game")
        for name, value in zip(names, row if isinstance(row, list) else [], strict=False):
            _set(record, name, value)
    return packed.with_checks(found).tobytes()


def _set(record: np.void, name: str, value: object) -> None:
    """Give a field a value, cut to its size."""
    if name == "pieces" and isinstance(value, list):
        for place, nibbles in enumerate(value[:16]):
            record[name][place] = nibbles % 256 if type(nibbles) is int else 0
    elif name != "pieces" and type(value) is int:
        kind = record.dtype[name]
        record[name] = np.array(value % (1 << 8 * kind.itemsize), f"u{kind.itemsize}").view(kind)


# What runs keep


_KEPT = tempfile.TemporaryDirectory(prefix="merino-kinds-")  # until the process ends


def _scratch() -> Path:
    return Path(_KEPT.name)


MATCH = {"seed": 1, "players": [{"name": "a"}]}


@cache
def _scored_games() -> Sequence[bytes]:
    content = as_viriformat(scored_games(pgn_games.read_games((PGN[0] * 3).encode())))
    return [content, bytes(8) + b"\1\0\2\0ab" + bytes(4) + content]


@cache
def _match_states() -> Sequence[bytes]:
    path, games = _scratch() / "match.state", ('[Event "1"]\n\n*\n\n', '[Event "2"]\n\n*\n\n')
    MatchKeeper(None, path, MATCH).save(Tally(), 1.5)
    content = json.loads(path.read_bytes())
    content["pgn"] = {"at": 0, "games": games}
    more = base64.b64encode(bytes(2 * packed.PACKED.itemsize)).decode()
    content["positions"] = {"at": 0, "more": more, "sizes": [packed.PACKED.itemsize] * 2}
    del content["checksum"]
    return [path.read_bytes(), as_json(content)]


def _match(path: Path) -> object:
    pgn, positions = path.with_name("kept.pgn"), path.with_name("kept.bin")
    for each in (pgn, positions):
        each.unlink(missing_ok=True)
    keeper = MatchKeeper(pgn, path, MATCH, PositionFile(positions, 0))
    tally, seconds = keeper.load()
    keeper.catch_up(is_over=False)
    return tally.counts, seconds


# of a round
PLAYED: dict[str, Any] = {"number": 1, "verdict": "H1", "games": 10, "positions": 100, "match_games": 8, "elo": 3.0}
PLAYED |= {"elo_error": 9.0, "from_start": None, "from_start_error": None, "seconds": 1.5}


@cache
def _improve_states() -> Sequence[bytes]:
    weights = tuple(defaults().tolist())
    found = TermsRound(**PLAYED, error_before=0.1, error_after=0.09, weights=weights)
    known = {"start_name": "default.txt", "rounds": (found,), "seconds": 2.5}
    state = ImproveState(plan=Plan(), changes_use=True, weights=weights, in_use=1, **known)
    return [as_json(state.as_json(), indent=1)]


def _improve(path: Path) -> object:
    state = ImproveState.load(path)
    return state.best, state.hours, state.last_proven


def _night_state() -> night.NightState:
    state = night_of(1)
    ladder = (*state.rounds[0].ladder, night.LadderMatch("generation 1", "net", 50, -math.inf, math.inf))
    return replace(state, rounds=(replace(state.rounds[0], ladder=ladder),), seconds=2.5)


@cache
def _night_states() -> Sequence[bytes]:
    return [as_json(_night_state().as_json(), indent=1)]


def _night(path: Path) -> object:
    state = night.NightState.load(path)
    return state.hours, state.last_proven, state.table(), night.summary(state)


@cache
def _tunes() -> Sequence[bytes]:
    from tests.test_tune_games import configuration, play  # noqa: PLC0415 (which plays a tune)

    found = []
    for method in ("bspsa", "spsa"):
        path = _scratch() / "tune.npz"
        tune = tuning.Tune.new(configuration(6, method))
        play(tune)
        tune.done, last = tune.done[:4], tune.done[4:]
        tune.waiting.extend(last)
        tune.save(path)
        found.append(path.read_bytes())
    return found


def _tune(path: Path) -> object:
    tune = tuning.load_tune(path)
    return tune.estimate(), tune.is_over, tune.ask()


def _arrays_apart(content: bytes) -> Any:
    return {name: _array_apart(array) for name, array in from_npz(content).items()}


def _array_apart(array: np.ndarray) -> Any:
    if array.dtype.kind == "U":
        return json.loads(str(array)) if str(array).startswith("{") else str(array)
    return [str(array.dtype), list(array.shape), array.reshape(-1)[:4].tolist()]


def _arrays_together(content: bytes, parts: Any) -> bytes:
    """The arrays of `content` with other texts, types and shapes."""
    whole = from_npz(content)
    found: dict[str, np.ndarray] = {}
    for name, value in parts.items():
        if isinstance(value, dict):
            found[name] = np.array(json.dumps(value, sort_keys=True))
        elif isinstance(value, list) and name in whole and _is_described(value):
            found[name] = _resized(whole[name], *value)
        else:
            found[name] = np.array(str(value))
    return as_npz({name.replace("/", "")[:40] or "empty": array for name, array in found.items()})


def _is_described(value: list[Any]) -> bool:
    return len(value) == 3 and isinstance(value[1], list) and isinstance(value[2], list)


def _resized(array: np.ndarray, kind: object, shape: list[Any], first: list[Any]) -> np.ndarray:
    sizes = [min(max(0, size), 300) for size in shape[:3] if type(size) is int]
    try:
        values = np.array(array, dtype=np.dtype(str(kind)))
    except (TypeError, ValueError):
        values = array.copy()
    if values.dtype.kind in "fiu" and values.size:
        numbers = [value for value in first if isinstance(value, int | float)][: values.size]
        with np.errstate(all="ignore"):
            values.reshape(-1)[: len(numbers)] = np.array(numbers, dtype=np.float64).astype(values.dtype)
    return np.resize(values, sizes) if values.size or not np.prod(sizes) else np.zeros(sizes)


TRAINING = training.TrainingSettings(Shape("ALL", 8), epochs=2, batch=64, validation=0.2)


@cache
def _checkpoints() -> Sequence[bytes]:
    path = _scratch() / "net.state"
    path.unlink(missing_ok=True)
    training.Trainer(sample(), TRAINING, checkpoint=path, threads=1).run()
    return [path.read_bytes()]


def _checkpoint(path: Path) -> object:
    return training.Trainer(sample(), TRAINING, checkpoint=path, threads=1)


def _records_of_learn() -> Sequence[bytes]:
    steps_ = [{"seconds": 0.1, "train": 0.1, "valid": 0.2, "k": 180.0, "weights": [1.5]}]
    return [as_json({"format": RECORD_FORMAT, "files": ["a.pgn"], "steps": steps_, "free": [0]})]


def _fit(path: Path) -> object:
    (path.parent / learner.FIT).write_bytes(path.read_bytes())
    (path.parent / learner.CANDIDATE).write_bytes(DEFAULT_FILE.read_bytes())
    with _naming(path):
        return learner._kept_fit(path.parent, registry.TERMS)


def _fits() -> Sequence[bytes]:
    return [as_json({"games": 10, "positions": 300, "error_before": 0.1, "error_after": 0.09})]


RESCORE, MADE_FROM = rescoring.Rescore(100, family.LinearEvaluation(defaults())), "source x"


@cache
def _scores() -> Sequence[bytes]:
    path = _scratch() / "games.scores"
    path.unlink(missing_ok=True)
    with rescoring.ScoreFile(path, RESCORE, MADE_FROM) as file:
        for first in range(3):
            file._keep((0, 256 * first, 20, 7), np.arange(20, dtype=np.int16))
    return [path.read_bytes()]


def _score_file(path: Path) -> object:
    with rescoring.ScoreFile(path, RESCORE, MADE_FROM) as file:
        return file.known


@cache
def _partials() -> Sequence[bytes]:
    with annotated_files.Partial(_scratch() / "out.pgn", "it") as partial_:
        for game in (b"1. e4 *", b"1. d4 *", b"1. c4 *"):
            partial_.add(game)
    content = partial_.path.read_bytes()
    return [content, content.replace(b", checksum ", b"\n% ")]


def _partial(path: Path) -> object:
    target = path.with_name("fuzzed.pgn")
    target.with_name("fuzzed.pgn.partial").write_bytes(path.read_bytes())
    with _naming(path), annotated_files.Partial(target, "it") as found:
        return found.games


@cache
def _matrix(ending: str) -> Sequence[bytes]:
    rows = np.array([[0, 0, 0, 0, 0], [1, 0, -1, 0, 0], [0, 0, 0, 0, 0]], dtype=np.int8)
    vectors = Vectors(rows, np.array([0, 0, 1], dtype=np.int32), np.array([2, 0], dtype=np.int8), True)
    return [render_matrix(vectors, ending).encode()]


def _tuned(path: Path) -> object:
    return read_tuned(path, parameters.own_parameters(default()))


# What people keep


@cache
def _practices() -> Sequence[bytes]:
    first, second = (
        Exercise(fen, "a3", solution, "a piece left", "", 0.25, 1, "A - B", "1.", (solution, "c5"), (reply,))
        for fen, solution, reply in ((chess.STARTING_FEN, "e4", "e5"), (KIWIPETE, "Bxa6", "bxc3"))
    )
    card = {"card_id": 7, "state": 2, "step": None, "stability": 2.3, "difficulty": 5.1, "due": "2026-01-03T00:00:00Z"}
    unknown = dict.fromkeys(("stability", "difficulty", "last_review"))
    young = card | unknown | {"due": "2026-01-02T00:00:00+01:00", "state": 1, "step": 0}
    known = {first.identity: {**card, "last_review": "2026-01-01T00:00:00+00:00"}, second.identity: young}
    Practice("0123 A 100", (first, second), known).save(_scratch() / "games.pgn.drill.json")
    return [(_scratch() / "games.pgn.drill.json").read_bytes()]


def _practice(path: Path) -> object:
    progress, now = load_progress(path), datetime(2026, 1, 5, tzinfo=UTC)
    assert progress is not None
    due = progress.due(now)
    if find_spec("fsrs"):
        for exercise in due:
            progress.review(exercise, True, now)
            progress.review(exercise, False, now)
    progress.save(path)
    words = [(exercise.why, hint_for(exercise), Position(exercise.fen)) for exercise in due]
    return words, as_pgn(progress.exercises).encode(), as_anki(progress.exercises).encode(), load_progress(path)


@cache
def _unfinished_games() -> Sequence[bytes]:
    position, clocks = Position(), pace_of("level 40 5 2")
    position.push_all(["e2e4", "e7e5"])
    clocks.spend(0, 1500)
    game = ConsoleGame(position, pace=clocks, strength=at_elo(1500), person=1)
    return [game.kept_text().encode(), ConsoleGame(Position(KIWIPETE), is_forced=True).kept_text().encode()]


_TAG = re.compile(r'\[(\w+) "(.*)"\]\n')


def _unfinished_apart(content: bytes) -> Any:
    text = content.decode()
    return {"tags": dict(_TAG.findall(text)), "moves": _TAG.sub("", text).strip()}


def _unfinished_together(parts: Any) -> bytes:
    tags = "".join(f'[{name} "{value}"]\n' for name, value in parts["tags"].items())
    return f"{tags}\n{parts['moves']}\n".encode()


def _unfinished(path: Path) -> object:
    folder, said = _scratch() / "unfinished", list[str]()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "1.pgn").write_bytes(path.read_bytes())
    file = UnfinishedFile(folder / "1.pgn", said.append)
    offer = file.offer()
    file.close()
    if said:
        assert f"'{folder / '1.pgn'}'" in said[0]
        raise MerinoError(f"{path}: {said[0]}")
    return offer and _gone_on_with(offer[0])


def _gone_on_with(game: ConsoleGame) -> object:
    words = game.kept_words, str(game.pace), strength_text(game.strength)
    for side in (0, 1, 0):
        game.pace.limits(side)
        game.pace.spend(side, 1000)
    return words, read_kept(game.kept_text().encode().decode())


# Requests of the page: the path in the first line, JSON behind it

GAME = {"fen": chess.STARTING_FEN, "moves": ["e2e4", "e7e5"]}
REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/api/explain", {**GAME, "weights": "default", "changes": {"KnightOpen_mg": 300.5}, "beside": "usual"}),
    ("/api/explain", {"fen": "8/8/8/8/8/8/4P3/4K3 w - - 0 1", "free": True}),
    ("/api/read", {"text": "1. e4 e5 2. Nf3", "free": False, "fen": chess.STARTING_FEN}),
    ("/api/read", {"text": PGN[0]}),
    ("/api/compare", {**GAME, "first_move": "Nf3", "second_move": "g1h3"}),
    ("/api/compare", {**GAME, "first": {"weights": "default"}, "second": {"changes": {"KnightOpen_mg": 300}}}),
    ("/api/weights", {"name": "mine.txt", "text": "KnightOpen 300 290\n"}),
    ("/api/weights/text", {"weights": "default", "changes": {"KnightOpen_mg": 300}}),
)


@cache
def _requests() -> Sequence[bytes]:
    net = {"name": "mine.net", "content": base64.b64encode(_nets()[0]).decode()}
    return [_request_together([path, body]) for path, body in (*REQUESTS, ("/api/weights", net))]


def _request_apart(content: bytes) -> Any:
    path, _, body = content.partition(b"\n")
    return [path.decode(), json.loads(body)]


def _request_together(parts: Any) -> bytes:
    path, body = parts
    return f"{path}\n{json.dumps(body)}".encode()


@cache
def _page() -> TestClient:
    state = ServerState()
    bearer = {"authorization": f"Bearer {state.token}"}
    return TestClient(create_app(state, PORT), base_url=f"http://127.0.0.1:{PORT}", headers=bearer)


def _answer(path: Path) -> object:
    where, _, body = path.read_bytes().partition(b"\n")
    known = {name.encode(): name for name, _ in REQUESTS}
    answer = _page().post(known.get(where, "/api/explain"), content=body)
    if answer.status_code == 200:
        return answer.json()
    found = answer.json()
    assert answer.status_code in (400, 413) and isinstance(found["error"], str) and found["error"], found
    return found


def _unsealed(content: bytes) -> dict[str, Any]:
    return {name: value for name, value in json.loads(content).items() if name != "checksum"}


JSON_FORM: dict[str, Any] = {"take_apart": _unsealed, "put_together": as_json}


def _npz_form(contents: Callable[[], Sequence[bytes]]) -> dict[str, Any]:
    return {"take_apart": _arrays_apart, "put_together": lambda parts: _arrays_together(contents()[0], parts)}


KINDS: tuple[FileKind, ...] = (
    FileKind("PGN", ".pgn", encoded(*PGN), GAME_READERS, is_text=True),
    FileKind("EPD", ".epd", encoded(*EPD), POSITION_READERS, is_text=True),
    *(
        FileKind(f"PGN{ending}", f".pgn{ending}", compressed(pack), {"lines": _lines, "positions": _packed})
        for ending, pack in ((".gz", partial(gzip.compress, mtime=0)), (".bz2", bz2.compress), (".xz", lzma.compress))
    ),
    FileKind(
        "packed positions",
        ".bin",
        lambda: [packed.with_checks(sample()[:40]).tobytes(), sample()[:9].tobytes()],
        {"positions": _packed, "net": lambda path: positions_of_net(path, LeftOut())},
        _records_apart,
        _records_together,
    ),
    FileKind("games with scores", ".vf", _scored_games, {"positions": _packed}),
    FileKind("net", ".net", _nets, {"evaluation": _evaluation}, _net_apart, _net_together),
    FileKind("net of bullet", ".bin", _foreign_nets, {"evaluation": _evaluation}),
    FileKind(
        "weights",
        ".txt",
        lambda: [DEFAULT_FILE.read_bytes()],
        {"evaluation": _evaluation, "weights": _weights},
        is_text=True,
    ),
    FileKind("book", ".bin", _books, {"book": _book}, _book_apart, _book_together),
    FileKind("match state", ".state", _match_states, {"match": _match}, **JSON_FORM),
    FileKind("improve state", ".json", _improve_states, {"improve": _improve}, **JSON_FORM),
    FileKind("night state", ".json", _night_states, {"night": _night}, **JSON_FORM),
    FileKind("round's fit", ".json", _fits, {"fit": _fit}, **JSON_FORM),
    FileKind(
        "account of a net",
        ".json",
        lambda: [DEFAULT_FILE.with_name("gen12.account.json").read_bytes()],
        {"account": accounts.load_account},
        **JSON_FORM,
    ),
    FileKind("learning record", ".json", _records_of_learn, {"record": judging.load_record}, **JSON_FORM),
    FileKind("tune", ".npz", _tunes, {"tune": _tune}, **_npz_form(_tunes)),
    FileKind("training state", ".state", _checkpoints, {"train": _checkpoint}, **_npz_form(_checkpoints)),
    FileKind("scores", ".scores", _scores, {"scores": _score_file}),
    FileKind("annotated so far", ".partial", _partials, {"annotate": _partial}),
    FileKind("tuned parameters", ".txt", encoded(*NUMBERS), {"spsa": _tuned}, is_text=True),
    FileKind("tuned parameters in TOML", ".toml", encoded(*TOML), {"spsa": _tuned}, is_text=True),
    FileKind("progress of drills", ".drill.json", _practices, {"drill": _practice}, **JSON_FORM),
    FileKind(
        "unfinished game",
        ".pgn",
        _unfinished_games,
        {"console": _unfinished},
        _unfinished_apart,
        _unfinished_together,
        is_text=True,
    ),
    FileKind("request of the page", ".json", _requests, {"page": _answer}, _request_apart, _request_together),
    *(
        FileKind(f"matrix{ending}", ending, partial(_matrix, ending), {"points": _points}, is_text=True)
        for ending in (".csv", ".txt")
    ),
)
