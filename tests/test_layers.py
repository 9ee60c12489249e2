"""The shape of the project: who may import whom, where code is compiled, how long things may get."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from engine.compiled.cache import ROOMS, WITHOUT_COMPILED_CODE, room_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = tuple(package for package in " ".join(ROOMS).split() if (Path(__file__).parents[1] / package).is_dir())

# Lowest first. A module imports from its own row and the rows before it, never from a later one.
# The lowest needs no numba: `uciok` comes before that is loaded.
LAYERS = (
    (
        "facts",
        "engine engine.command engine.cache engine.files engine.compiling engine.search "
        "engine.search.limits engine.search.strength engine.command_line engine.interrupt engine.streams "
        "engine.common.live_line",
    ),
    ("decorators", "engine.code_files engine.jit"),
    ("words", "engine.bitboard engine.memory engine.recursion"),
    ("attacks", "engine.move engine.rays engine.magics engine.attacks"),
    ("position", "engine.board.position"),
    ("moves", "engine.makemove engine.movegen engine.fen engine.perft"),
    (
        "evaluation",
        "eval eval.registry eval.view eval.terms eval.rules eval.evaluate eval.weights eval.outlook "
        "eval.breakdown eval.change eval.pieces eval.summary eval.explain eval.table",
    ),
    ("game", "engine.game engine.refusals engine.san"),
    ("search: its data", "engine.search.parameters engine.search.state engine.search.transposition"),
    (
        "search: its steps",
        "engine.search.see engine.search.endings engine.search.history engine.search.threats engine.search.ordering "
        "engine.search.path engine.search.correction engine.search.pruning engine.search.selective",
    ),
    ("search: its node", "engine.search.node engine.search.quiescence engine.search.deepening"),
    ("search: its threads", "engine.search.worker engine.search.clock engine.search.searcher"),
    ("tools", "engine.bench engine.divide engine.epd engine.warmup engine.uci.fallback engine.book engine.tablebase"),
    ("commands", "engine.runtime engine.options engine.commands engine.gui_config"),
    ("matches: a game", "match match.errors match.chance match.play match.statistics match.effort"),
    ("matches: who plays, and from where", "match.openings match.books match.players match.dialogue"),
    (
        "matches: many games",
        "match.games match.pgn match.report match.keeping match.board match.sides match.driven "
        "match.runner match.contest match.ratings match.prove match.warmup",
    ),
    (
        "matches: their commands",
        "match.arguments match.validate match.command match.command_tournament match.command_selfplay",
    ),
    ("learner: text", "learn learn.tokens learn.notation learn.fen_text learn.sources learn.progress learn.folding"),
    ("learner: games", "learn.games"),
    ("learner: positions", "learn.positions learn.labelled learn.fen_file"),
    ("learner: rows", "learn.rows learn.checking learn.quiet learn.inputs"),
    ("learner: passes over rows", "learn.sample learn.passes"),
    ("learner: ways to fit", "learn.fit learn.descent learn.adam learn.uncertainty learn.calibration"),
    ("learner: its procedure", "learn.learning learn.warmup"),
    ("learner: what it tells", "learn.report learn.tables learn.record learn.telling learn.pictures learn.plots"),
    ("learner: its command", "learn.options learn.installing learn.command learn.command_plot"),
    ("studies: their command lines", "study study.arguments"),
    (
        "study of points: data",
        "study.points study.points.vectors study.points.matrix study.points.sets study.points.reading",
    ),
    ("study of points: fit", "study.points.regression study.points.score_graph study.points.values"),
    ("study of points: what it tells", "study.points.capablanca study.points.report study.points.picture"),
    ("study of points: its command", "study.points.command study.warmup"),
    ("tuner: chance", "tune tune.chance"),
    ("tuner: rules", "tune.rules"),
    ("tuner: what rules need", "tune.design tune.plan"),
    ("tuner: parameters", "tune.parameters tune.formats"),
    ("tuner: simulation", "tune.simulator tune.paper tune.warmup"),
    ("tuner: games", "tune.tuning tune.playing"),
    ("tuner: what it tells", "tune.report tune.progress tune.picture"),
    ("tuner: its command", "tune.command tune.command_games"),
    (
        "UCI: its parts",
        "engine.uci.output engine.uci.go engine.uci.cold_start engine.uci.errand engine.uci.session engine.uci.board "
        "engine.uci.commands",
    ),
    ("console: what it shows", "engine.console.terminal engine.console.board_view engine.console.loading"),
    ("console: its game", "engine.console.pace engine.console.thinking engine.console.ending engine.console.chess960"),
    ("console: its records", "engine.console.archive engine.console.scoresheet engine.console.session"),
    ("console: its table", "engine.console.registry engine.console.arguments"),
    ("study of moves: their data", "study.explain study.explain.lookahead study.explain.positions"),
    ("study of moves: what is made of them", "study.explain.ranking study.explain.two_weights"),
    ("study of moves: what it tells", "study.explain.text"),
    ("study of moves: its commands", "study.explain.command study.explain.command_console"),
    ("study of games", "study.annotate study.annotate.analysis"),
    (
        "study of games: what it tells",
        "study.annotate.own study.annotate.pgn study.annotate.picture study.annotate.partial",
    ),
    ("study of games: its command", "study.annotate.command"),
    (
        "console: commands",
        "engine.console.commands_play engine.console.commands_limits engine.console.commands_position "
        "engine.console.commands_explain engine.console.commands_files engine.console.commands_engine "
        "engine.console.commands_help",
    ),
    (
        "console: its loop",
        "engine.console.dispatch engine.console.completion engine.console.keyboard engine.console.line_editor "
        "engine.console.loop engine.console.start",
    ),
    ("dialogues", "engine.uci engine.console engine.selfgame"),
    ("command line", "engine.cli engine.__main__"),
)
ROWS = {module: row for row, (_, modules) in enumerate(LAYERS) for module in modules.split()}
NAMES_OF_ROWS = [name for name, _ in LAYERS]

EVALUATION_MAY_IMPORT = {f"engine.{module}" for module in ("jit", "bitboard", "attacks", "position", "cache", "files")}
ONLY_THE_COMMAND_LINE_IMPORTS = {"engine.uci", "engine.console", "engine.shell.cli", "engine.__main__"}
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "jitclass", "stencil"}
LONGEST_MODULE, LONGEST_KERNEL = 400, 60


@cache
def sources() -> dict[str, Path]:
    """Every module of the project by its name."""
    found = {}
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(sources()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """All that a module imports, inside functions too: our modules by their names, others by their package."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}:{node.lineno}: relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name in sources()}
            if inner - sources().keys():
                found.add(node.module)
    return frozenset(name if name.split(".")[0] in PACKAGES else name.split(".")[0] for name in found)


def modules(*packages: str) -> list[str]:
    return [module for module in sources() if module.split(".")[0] in packages]


def ours(module: str) -> list[str]:
    return sorted(name for name in imports(module) if name.split(".")[0] in PACKAGES)


def compiled_functions(module: str) -> Iterator[ast.FunctionDef]:
    """The functions under `@kernel`, `@entry` or `@term(...)`."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef):
            decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if {d.id for d in decorators if isinstance(d, ast.Name)} & {"kernel", "entry", "term"}:
                yield node


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_module_has_its_place_in_the_table_of_layers(module):
    assert module in ROWS, f"{module} is new: add it to LAYERS in tests/test_layers.py, above all that it imports"


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_module_imports_from_its_own_layer_or_a_lower_one(module):
    row = ROWS.get(module, len(LAYERS))
    wrong = [f"{name} ({NAMES_OF_ROWS[ROWS[name]]})" for name in ours(module) if ROWS.get(name, 0) > row]
    assert not wrong, f"{module} ({NAMES_OF_ROWS[row]}) imports from above: {', '.join(wrong)}"


@pytest.mark.parametrize("module", [module for module in ROWS if ROWS[module] == 0 and module in sources()])
def test_the_lowest_layer_needs_nothing_but_the_standard_library(module):
    foreign = {name for name in imports(module) if name not in sys.stdlib_module_names and name not in ROWS}
    assert not foreign


@pytest.mark.parametrize("module", modules("eval"))
def test_the_evaluation_knows_only_the_board(module):
    assert {name for name in ours(module) if name.startswith("engine")} <= EVALUATION_MAY_IMPORT


@pytest.mark.parametrize("module", modules("engine"))
def test_the_board_does_not_know_the_evaluation(module):
    uses = [name for name in ours(module) if name.startswith("eval")]
    assert not uses or ROWS.get(module, 0) >= NAMES_OF_ROWS.index("search: its data"), f"{module} imports {uses}"


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_room_knows_only_the_rooms_before_it(module):
    above = ROOMS[ROOMS.index(room_of(module)) + 1 :]
    assert not [name for name in ours(module) if room_of(name) in above], "its compiled code would go stale unseen"


@pytest.mark.parametrize("module", modules("engine", "eval"))
def test_only_tables_of_commands_name_rooms_above_the_engine_and_only_their_commands(module):
    texts = [node.value for node in ast.walk(tree(module)) if isinstance(node, ast.Constant)]
    upper = "|".join(ROOMS[1:])
    named = {text for text in texts if isinstance(text, str) and re.fullmatch(rf"({upper})\.[\w.]+:\w+", text)}
    assert all(re.search(r"\.command\w*:", target) for target in named)
    assert not named or module == "engine.shell.cli" or module.startswith("engine.console.")


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_only_the_command_line_starts_a_dialogue(module):
    if module not in ("engine.shell.cli", "engine.__main__", "engine.console"):  # which hands over to UCI on request
        assert not ONLY_THE_COMMAND_LINE_IMPORTS & set(ours(module))


def test_no_module_imports_itself_by_a_detour():
    finished: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, "circle: " + " -> ".join((*way[way.index(module) :], module))
        if module not in finished:
            for name in ours(module):
                if name in sources():
                    visit(name, (*way, module))
            finished.add(module)

    for module in sources():
        visit(module, ())
    assert finished == set(sources())


@pytest.mark.parametrize("module", [module for module in modules(*PACKAGES) if module != "engine.compiled.jit"])
def test_only_engine_jit_calls_the_compiler(module):
    names = {node.id for node in ast.walk(tree(module)) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}
    names |= {
        alias.name
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "numba"
        for alias in node.names
    }
    assert not names & COMPILERS


@pytest.mark.parametrize("folder", WITHOUT_COMPILED_CODE)
def test_a_folder_that_does_not_count_for_the_compile_cache_holds_no_compiled_code(folder):
    inside = [module for module, path in sources().items() if (ROOT / folder) in path.parents]
    assert inside
    for module in inside:
        assert not list(compiled_functions(module)), f"{module} has a kernel: it would run stale code"


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_module_is_short_enough_to_be_read(module):
    length = len(sources()[module].read_text(encoding="utf-8").splitlines())
    assert length <= LONGEST_MODULE, f"{module} has {length} lines"


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_compiled_function_can_be_taken_in_at_a_glance(module):
    lengths = {f"{node.name}:{node.lineno}": node.end_lineno - node.lineno + 1 for node in compiled_functions(module)}
    long = [f"{name} has {length} lines" for name, length in lengths.items() if length > LONGEST_KERNEL]
    assert not long, f"{module}: {', '.join(long)}"


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_module_says_what_it_is_for(module):
    assert ast.get_docstring(tree(module)), f"{module} has no docstring"
