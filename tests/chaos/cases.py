"""The commands under trial: a row for each, with its command line and the files that lie in its folder before.

`WRITES_NOTHING` names the others, each with the reason. A test compares both with the table of the shell, so that a new
command must be put into one of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A command line of `merino`, and its folder.

    `files` are there before: what the command reads, and earlier results of the user, as words NAME=MATERIAL or NAME
    where the material is called the same. `variant` is its name where its command has more than one case. The file
    `changes` is the last to be changed, and not only replaced: once it is as after a whole run, the same command
    would go further, so it is not repeated. `prints`: what it prints is a result and must be the same. `say` is what it
    is heard on its input. `compiles`: the folder under trial is that of the compiled code, from which these functions
    are missing. `holds` is the file that it keeps to itself: a second run refuses. `program` is the module that is run.
    Files that it `may_leave` after a kill are harmless, and the next run rewrites them. `has_home`: the folder of
    Merino's own files is in that under trial.
    """

    line: str
    files: str = ""
    variant: str = ""
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

    @property
    def name(self) -> str:
        """What it is called among the cases."""
        return self.variant or self.command

    @property
    def materials(self) -> dict[str, str]:
        """The material of each of its files."""
        return {name: of or name for name, _, of in (word.partition("=") for word in self.files.split())}


_TWO = "--concurrency 2"
_RUN = f"--state run {_TWO}"
_ROUND = "--games 16 --nodes 40 --match-games 8 --match-nodes 40"
_NIGHT = f"--generations 1 {_ROUND} --ladder 2 {_RUN}"
_PLAYERS = "default.txt tuned.txt learned.txt"
_MATCH = f"--pgn games.pgn {_RUN}"
CASES = (
    Case(
        f"learn many.pgn --weights w.txt --terms 1-5 {_TWO}",
        "many.pgn w.txt=wrong.txt",
        changes="w.txt",
        holds="w.txt",
        may_leave=("w.new.txt",),  # during the match, and until the moment after the same weights are in use
    ),
    Case(
        "learn many.pgn --weights w.txt --no-match --terms 1-5",
        "many.pgn w.txt=wrong.txt",
        "learn --no-match",
        changes="w.txt",
        holds="w.txt",
    ),
    Case(
        "positions many.pgn --rescore 200 --out new.epd",
        "many.pgn",
        "positions --rescore",
        holds="many.pgn.train.scores",
    ),
    Case(f"improve --rounds 1 {_ROUND} --terms 1-5 --gauge 2 --weights w.txt {_RUN}", "w.txt=wrong.txt"),
    Case(f"night --from nothing --gauge 2 {_NIGHT}"),
    Case(f"night --from older.net --gauge 0 {_NIGHT}", "older.net", "night --from NET"),
    Case(f"article --games 12 --match-games 6 {_RUN}", holds="run/games.state"),
    Case(f"selfplay 16 --nodes 60 --pgn games.pgn --state s.state {_TWO}", "games.pgn", holds="s.state"),
    Case(
        f"selfplay 16 --nodes 60 --positions p.bin --state s.state {_TWO}",
        "p.bin=positions.bin",
        "selfplay --positions",
        holds="s.state",
    ),
    Case("positions games.pgn --out all.bin --shuffle --split 0.3 apart.bin", "games.pgn all.bin=positions.bin"),
    Case(
        "train p.bin --hidden 8 --epochs 6 --batch 64 --validation 0.3 --out t.net",
        "p.bin=positions.bin t.net=older.net",
        holds="t.net",
    ),
    Case(
        f"match default.txt tuned.txt --games 16 --nodes 60 --pgn games.pgn --state m.state {_TWO}",
        f"games.pgn {_PLAYERS}",
        holds="m.state",
        prints=True,
    ),
    Case(
        f"gauntlet {_PLAYERS} --games 8 --nodes 40 {_MATCH}", f"games.pgn {_PLAYERS}", holds="run/1-2.json", prints=True
    ),
    Case(
        f"round-robin {_PLAYERS} --games 6 --nodes 40 {_MATCH}",
        f"games.pgn {_PLAYERS}",
        holds="run/1-2.json",
        prints=True,
    ),
    Case(f"spsa tune t.toml --pairs 24 --nodes 40 {_TWO}", "t.toml=tune.toml", "spsa tune", holds="t.tune.npz"),
    Case(
        f"spsa scan RookOpen_mg --values 0,40 --games 8 --nodes 40 {_RUN}",
        variant="spsa scan",
        holds="run/0.json",
        prints=True,
    ),
    Case("annotate games.pgn --nodes 60 --out a.pgn", "games.pgn=few.pgn a.pgn=games.pgn", holds="a.pgn"),
    Case("points games.pgn --matrix m.txt --plot p.svg", "games.pgn m.txt=older-matrix.txt", prints=True),
    Case("drill many.pgn --player Merino --most 3 --list --json", "many.pgn", holds="many.pgn.drill.json", prints=True),
    Case("account gen1 --positions p.bin --out a.json", "p.bin=positions.bin a.json=record.json"),
    Case("plot r.json --out drawn", "r.json=record.json"),
    Case("epd e.epd --nodes 2000", "e.epd=tests.epd", prints=True),
    Case(
        "console", "game.pgn=games.pgn", "console: save", changes="game.pgn", say="sn 200\ne2e4\nsave game.pgn\nquit\n"
    ),
    Case("warmup play", compiles=("fen._read",)),
    Case(
        "explorer five.pgn --port 0 --no-browser",
        "five.pgn home/data/weights.txt=wrong.txt",
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
