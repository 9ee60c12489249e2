"""The commands under trial: a row for each, with its command line and the files that lie in its folder before.

`WRITES_NOTHING` names the others, each with the reason. A test compares both with the table of the shell, so that a new
command must be put into one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Case:
    """A command line of `merino`, and its folder.

    `files` are there before, by the names of materials: what the command reads, and earlier results of the user. The
    file `changes` is the last to be changed, and not only replaced: once it is as after a whole run, the same command
    would go further, so it is not repeated. `prints`: what it prints is a result and must be the same. `say` is what it
    is heard on its input. `compiles`: the folder under trial is that of the compiled code, from which these functions
    are missing. `holds` is the file that it keeps to itself: a second run refuses. `program` is the module that is run.
    Files that it `may_leave` after a kill are harmless, and the next run rewrites them. `has_home`: the folder of
    Merino's own files is in that under trial.
    """

    name: str
    line: str
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    changes: str = ""
    prints: bool = False
    say: str = ""
    compiles: tuple[str, ...] = ()
    holds: str = ""
    program: str = "merino"
    may_leave: tuple[str, ...] = ()
    has_home: bool = False

    @property
    def command(self) -> str:
        """The name in the table of the shell."""
        return self.line.split(maxsplit=1)[0]


_TWO = "--concurrency 2"
_PLAYERS = {name: name for name in ("default.txt", "tuned.txt", "learned.txt")}
CASES = (
    Case(
        "learn",
        f"learn many.pgn --weights w.txt --terms 1-5 {_TWO}",
        {"many.pgn": "many.pgn", "w.txt": "wrong.txt"},
        changes="w.txt",
        holds="w.txt",
        may_leave=("w.new.txt",),  # during the match, and until the moment after the same weights are in use
    ),
    Case(
        "learn --no-match",
        "learn many.pgn --weights w.txt --no-match --terms 1-5",
        {"many.pgn": "many.pgn", "w.txt": "wrong.txt"},
        changes="w.txt",
        holds="w.txt",
    ),
    Case(
        "positions --rescore",
        "positions many.pgn --rescore 200 --out new.epd",
        {"many.pgn": "many.pgn"},
        holds="many.pgn.train.scores",
    ),
    Case(
        "improve",
        f"improve --rounds 1 --games 16 --nodes 40 --match-games 8 --match-nodes 40 --terms 1-5 --gauge 2 "
        f"--weights w.txt --state run {_TWO}",
        {"w.txt": "wrong.txt"},
    ),
    Case(
        "night",
        f"night --from nothing --generations 1 --games 16 --nodes 40 --match-games 8 --match-nodes 40 --gauge 2 "
        f"--ladder 2 --state run {_TWO}",
    ),
    Case(
        "night --from NET",
        f"night --from older.net --generations 1 --games 16 --nodes 40 --match-games 8 --match-nodes 40 --gauge 0 "
        f"--ladder 2 --state run {_TWO}",
        {"older.net": "older.net"},
    ),
    Case("article", f"article --games 12 --match-games 6 --state run {_TWO}", holds="run/games.state"),
    Case(
        "selfplay",
        f"selfplay 16 --nodes 60 --pgn games.pgn --state s.state {_TWO}",
        {"games.pgn": "games.pgn"},
        holds="s.state",
    ),
    Case(
        "selfplay --positions",
        f"selfplay 16 --nodes 60 --positions p.bin --state s.state {_TWO}",
        {"p.bin": "positions.bin"},
        holds="s.state",
    ),
    Case(
        "positions",
        "positions games.pgn --out all.bin --shuffle --split 0.3 apart.bin",
        {"games.pgn": "games.pgn", "all.bin": "positions.bin"},
    ),
    Case(
        "train",
        "train p.bin --hidden 8 --epochs 6 --batch 64 --validation 0.3 --out t.net",
        {"p.bin": "positions.bin", "t.net": "older.net"},
        holds="t.net",
    ),
    Case(
        "match",
        f"match default.txt tuned.txt --games 16 --nodes 60 --pgn games.pgn --state m.state {_TWO}",
        {"games.pgn": "games.pgn"} | _PLAYERS,
        holds="m.state",
        prints=True,
    ),
    Case(
        "gauntlet",
        f"gauntlet default.txt tuned.txt learned.txt --games 8 --nodes 40 --pgn games.pgn --state run {_TWO}",
        {"games.pgn": "games.pgn"} | _PLAYERS,
        holds="run/1-2.json",
        prints=True,
    ),
    Case(
        "round-robin",
        f"round-robin default.txt tuned.txt learned.txt --games 6 --nodes 40 --pgn games.pgn --state run {_TWO}",
        {"games.pgn": "games.pgn"} | _PLAYERS,
        holds="run/1-2.json",
        prints=True,
    ),
    Case("spsa tune", f"spsa tune t.toml --pairs 24 --nodes 40 {_TWO}", {"t.toml": "tune.toml"}, holds="t.tune.npz"),
    Case(
        "spsa scan",
        f"spsa scan RookOpen_mg --values 0,40 --games 8 --nodes 40 --state run {_TWO}",
        holds="run/0.json",
        prints=True,
    ),
    Case(
        "annotate",
        "annotate games.pgn --nodes 60 --out a.pgn",
        {"games.pgn": "few.pgn", "a.pgn": "games.pgn"},
        holds="a.pgn",
    ),
    Case(
        "points",
        "points games.pgn --matrix m.txt --plot p.svg",
        {"games.pgn": "games.pgn", "m.txt": "older-matrix.txt"},
        prints=True,
    ),
    Case(
        "drill",
        "drill many.pgn --player Merino --most 3 --list --json",
        {"many.pgn": "many.pgn"},
        holds="many.pgn.drill.json",
        prints=True,
    ),
    Case("account", "account gen1 --positions p.bin --out a.json", {"p.bin": "positions.bin", "a.json": "record.json"}),
    Case("plot", "plot r.json --out drawn", {"r.json": "record.json"}),
    Case("epd", "epd e.epd --nodes 2000", {"e.epd": "tests.epd"}, prints=True),
    Case(
        "console: save",
        "console",
        {"game.pgn": "games.pgn"},
        changes="game.pgn",
        say="sn 200\ne2e4\nsave game.pgn\nquit\n",
    ),
    Case("warmup", "warmup play", compiles=("fen._read",)),
    Case(
        "explorer",
        "explorer five.pgn --port 0 --no-browser",
        {"five.pgn": "five.pgn", "home/data/weights.txt": "wrong.txt"},
        changes="home/data/weights.txt",
        program="tests.chaos.page",
        has_home=True,
    ),
)

WRITES_NOTHING = {
    "bench": "prints",
    "clean-cache": "deletes the compiled code, which the next start makes again",
    "cluster": "explains and measures",
    "compare": "prints",
    "evaluate": "prints",
    "explain": "prints",
    "features": "prints",
    "gui-config": "prints",
    "help": "prints",
    "moves": "prints",
    "net": "prints",
    "perft": "prints",
    "profile": "prints",
    "uci": "answers a GUI; a log of it is for looking for faults",
    "version": "prints",
    "weights": "prints",
}
