"""The files that cases begin with, each made by Merino itself or written here, always the same."""

import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from merino.app.shell.cli import main
from merino.eval.linear.weights import SHIPPED, as_mapping, defaults, render

Need = Callable[[str], Path]  # gives the path of another material
Maker = Callable[[Path, Need], None]
ROOT = Path(__file__).resolve().parents[2]
GAMES = 24

_TESTS = (
    '1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id "first";\n'
    '6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - bm Ra8#; id "second";\n'
)
_TUNE = "[RookOpen_mg]\nc_end = 5\ndist = 8\nelo = 2\n"


def _some_games(of: Path | str, count: int) -> Maker:
    """The first games of a file or of another material."""

    def make(path: Path, need: Need) -> None:
        text = (of if isinstance(of, Path) else need(of)).read_text(encoding="utf-8")
        path.write_text("".join(f"[Event {game}" for game in text.split("[Event ")[1 : count + 1]), encoding="utf-8")

    return make


def _wrong_weights(path: Path, _: Need) -> None:
    """Weights that lose to whatever is learned: every piece is worth a pawn."""
    weights = {name: 100 if name.startswith("VAL_") else value for name, value in as_mapping(defaults()).items()}
    path.write_text(render(weights, ["set wrong"]), encoding="utf-8")


def _text(content: str) -> Maker:
    def make(path: Path, _: Need) -> None:
        path.write_text(content, encoding="utf-8")

    return make


def _made(line: str) -> Maker:
    """What a command of Merino makes: `{OUT}` stands for the path, another name in braces for that material."""

    def make(path: Path, need: Need) -> None:
        words = [
            re.sub(r"\{(.*)\}", lambda found: str(path if found[1] == "OUT" else need(found[1])), word)
            for word in line.split()
        ]
        said = StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = main(words)
        if code != 0:
            raise RuntimeError(f"'merino {line}' failed: {said.getvalue()}")

    return make


def _record(path: Path, need: Need) -> None:
    """The record of a run of `learn`, which it writes next to the new weights."""
    folder = path.with_suffix(".run")
    folder.mkdir(exist_ok=True)
    weights = folder / "w.txt"
    _made(f"learn {{many.pgn}} --weights {{wrong.txt}} --no-match --out {weights}")(weights, need)
    path.write_bytes((folder / "learning.json").read_bytes())


MATERIALS: Mapping[str, Maker] = {
    "games.pgn": _made(f"selfplay {GAMES} --nodes 200 --pgn {{OUT}}"),
    "few.pgn": _some_games("games.pgn", 5),
    "many.pgn": _some_games(ROOT / "games" / "selfplay.pgn", 100),
    "five.pgn": _some_games(ROOT / "games" / "selfplay.pgn", 5),
    "wrong.txt": _wrong_weights,
    **{
        name: _text((SHIPPED / name).read_text(encoding="utf-8"))
        for name in ("default.txt", "learned.txt", "tuned.txt")
    },
    "positions.bin": _made("positions {games.pgn} --out {OUT}"),
    "older.net": _made("train {positions.bin} --hidden 4 --epochs 1 --validation 0.3 --out {OUT}"),
    "older-matrix.txt": _made("points {games.pgn} --matrix {OUT}"),
    "older.csv": _text("step,error\n1,0.5\n"),
    "record.json": _record,
    "tests.epd": _text(_TESTS),
    "tune.toml": _text(_TUNE),
}
