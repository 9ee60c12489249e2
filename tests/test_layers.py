"""The shape of the project: who may import whom, where code is compiled, how long things may get."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from engine.compiled.cache import CACHE_GROUPS, WITHOUT_COMPILED_CODE, group_of

ROOT = Path(__file__).resolve().parent.parent
COMPILED = tuple(
    package for package in " ".join(CACHE_GROUPS).split() if (Path(__file__).parents[1] / package).is_dir()
)
PACKAGES = (*COMPILED, "merino")

# Lowest first: a folder imports from itself and from those before it. `engine/` and `eval/` are folders at the top
# because the project fixes these names; in between, the evaluation stands on the board and the search on both.
FLOORS = (
    "engine.common",
    "engine.compiled",
    "engine.board",
    "eval",
    "engine.search",
    "engine.notation",
    "engine.report",
    "engine.tables",
    "engine.uci",
    "formats",
    "match",
    "learn",
    "tune",
    "study",
    "engine.cluster",
    "engine.console",
    "engine.explorer",
    "engine.shell",
    "merino",
)
DOMAIN = tuple(package for package in PACKAGES if package != "engine")
FACES = ("engine.common.command", "engine.shell", "engine.explorer", "engine.console")
CLUSTER = ("dask", "distributed")  # one folder knows them, and hands out an executor
FACE = "engine"  # name and version of the program, for all
TOPS = ("engine.__main__", "merino.__main__")

ONLY_THE_COMMAND_LINE_IMPORTS = {"engine.uci", "engine.console", "engine.shell.cli", *TOPS}
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "jitclass", "stencil"}
# Calls that look at a file or read it. A path that a user may name goes through `engine.common.user_files` instead.
READING = {"open", "fdopen", "read_bytes", "read_text", "expanduser", "exists", "is_file", "is_dir", "resolve"}
READING |= {"open_reader", "memmap", "fromfile", "loadtxt", "genfromtxt", "ZipFile", "read_history_file"}
WRITING_MODES = {"a", "ab", "w", "wb", "w+b", "x", "xb"}
# What needs no door, each with the reason.
OWN_FILES = {
    "engine.cluster.identity:identity": "the sources of Merino",
    "engine.common.array_files:from_npz": "an archive in memory",
    "engine.common.files:__init__": "the place of what will be written",
    "engine.common.files:_locked_file": "a draft that it has made",
    "engine.common.files:_remove_leftovers": "drafts of writers that were killed",
    "engine.common.files:check_writable": "the place of what will be written",
    "engine.common.files:write_together": "the place of what will be written",
    "engine.common.streams:_give_up": "the null device",
    "engine.common.streams:open_closed_streams": "the null device",
    "engine.compiled.cache:fingerprint": "the sources of Merino",
    "engine.compiled.cache:remove_all": "compiled code",
    "engine.compiled.cache:remove_stale": "compiled code",
    "engine.compiled.code_files:load": "compiled code",
    "engine.compiled.inventory:_processor": "what Linux says of the processor",
    "engine.compiled.inventory:is_whole": "compiled code",
    "engine.console.keyboard:_load_history": "readline reads it, after a look",
    "engine.console.start:converse": "standard input",
    "engine.explorer.app:": "the page",
    "engine.explorer.evaluations:text_of": "a file that it has made",
    "engine.uci.runtime:_free_megabytes": "what Linux says of its memory",
    "formats.packed:open_packed": "maps a file that has come through the door",
    "learn.improve.state:__init__": "a lock",
    "learn.procedure:learn_from_files": "a log, opened by its own `open`",
    "learn.rescoring:__init__": "goes on writing what has been read through the door",
    "match.keeping:_opened": "appends, and looks at what it has appended",
    "match.positions:settle": "appends, and looks at what it has appended",
    "study.annotate.partial:__init__": "goes on writing what has been read through the door",
}

LONGEST_MODULE, LONGEST_KERNEL, LONGEST_TEST_NAME = 400, 60, 80


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


def floor_of(module: str) -> int:
    """The floor of a module: that of the innermost folder of FLOORS that it lies in."""
    if module == FACE:
        return -1
    if module in TOPS:
        return len(FLOORS)
    inside = [folder for folder in FLOORS if module == folder or module.startswith(f"{folder}.")]
    assert inside, f"{module} lies in no folder of FLOORS in tests/test_layers.py"
    return FLOORS.index(max(inside, key=len))


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_folder_imports_from_itself_and_from_lower_floors(module):
    wrong = [name for name in ours(module) if floor_of(name) > floor_of(module)]
    assert not wrong, f"{module} imports from above: {', '.join(wrong)}"


def test_every_floor_is_a_folder_and_every_folder_of_the_engine_a_floor():
    assert all((ROOT / folder.replace(".", "/")).is_dir() for folder in FLOORS)
    inner = {f"engine.{path.parent.name}" for path in (ROOT / "engine").glob("*/__init__.py")}
    assert inner | set(PACKAGES) - {"engine"} == set(FLOORS)


def test_the_root_of_the_engine_holds_only_its_entry_points():
    assert {path.name for path in (ROOT / "engine").glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("module", modules(*COMPILED))
def test_a_cache_group_knows_only_the_groups_before_it(module):
    if sources()[module].relative_to(ROOT).as_posix().startswith(tuple(f"{f}/" for f in WITHOUT_COMPILED_CODE)):
        return  # nothing compiled that could go stale
    above = CACHE_GROUPS[CACHE_GROUPS.index(group_of(module)) + 1 :]
    assert not [name for name in ours(module) if group_of(name) in above], "its compiled code would go stale unseen"


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_only_the_table_of_the_shell_names_functions_by_string_and_only_commands(module):
    texts = [node.value for node in ast.walk(tree(module)) if isinstance(node, ast.Constant)]
    upper = "|".join(CACHE_GROUPS[1:])
    named = {text for text in texts if isinstance(text, str) and re.fullmatch(rf"({upper})\.[\w.]+:\w+", text)}
    assert all(re.search(r"\.command\w*:", target) for target in named)
    assert not named or module == "engine.shell.cli"


def readings(module: str) -> set[str]:
    """The functions of a module, as `module:function`, in which a file is looked at or read, or none of ours opened."""
    found = set()
    functions = [node for node in ast.walk(tree(module)) if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        modes = [each.value for each in node.args if isinstance(each, ast.Constant)]
        if not isinstance(node.func, ast.Attribute) and name != "open":
            continue  # a function of ours that is called like one of these
        if "__file__" in ast.unparse(node.func):
            continue  # of Merino
        if name in READING and not (name == "open" and WRITING_MODES & {mode for mode in modes if mode}):
            inside = [each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0)]
            found.add(f"{module}:{max(inside, key=lambda each: each.lineno).name if inside else ''}")
    return found


def test_a_file_that_a_user_may_name_is_read_through_the_one_door():
    found = {reading for module in sources() if module != "engine.common.user_files" for reading in readings(module)}
    assert not found - OWN_FILES.keys(), "read it by engine.common.user_files, or say in OWN_FILES why not"
    assert not OWN_FILES.keys() - found, "these read nothing any more"


def begins_at_home(name: ast.expr) -> bool:
    """Whether what is imported by its name is none of ours, or named from where we are: HOME, and then the module."""
    if isinstance(name, ast.BinOp):
        return isinstance(name.left, ast.Name) and name.left.id == "HOME"
    if isinstance(name, ast.JoinedStr):
        first = name.values[0]
        return isinstance(first, ast.FormattedValue) and ast.unparse(first.value) == "HOME"
    return not (isinstance(name, ast.Constant) and str(name.value).split(".")[0] in PACKAGES)


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_what_is_imported_by_its_name_is_found_in_the_wheel_too(module):
    calls = [node for node in ast.walk(tree(module)) if isinstance(node, ast.Call) and node.args]
    names = [call.args[0] for call in calls if ast.unparse(call.func).endswith(("import_module", "resources.files"))]
    if module != "merino":  # whose own modules stay where they are
        assert all(map(begins_at_home, names)), "HOME of engine.common.home comes first"


@pytest.mark.parametrize("module", modules(*DOMAIN))
def test_domain_code_reads_no_command_line_and_prints_nothing(module):
    assert not {name for name in imports(module) if name.startswith(FACES)}
    assert "argparse" not in imports(module)
    used = {node.id for node in ast.walk(tree(module)) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}
    assert not used & {"print", "stdout", "stderr"}


@pytest.mark.parametrize("module", [name for name in modules(*PACKAGES) if not name.startswith("engine.cluster")])
def test_only_the_folder_of_the_cluster_knows_dask(module):
    assert not imports(module) & set(CLUSTER)


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_only_the_command_line_starts_a_dialogue(module):
    if module not in ("engine.shell.cli", *TOPS, "engine.console"):  # which hands over to UCI on request
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


@pytest.mark.parametrize("folder", (*WITHOUT_COMPILED_CODE, "merino"))
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


def test_no_two_classes_have_one_name_be_they_public_or_private():
    homes: dict[str, list[str]] = {}
    for module in sources():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(module)
    twice = {name: found for name, found in homes.items() if len(found) > 1}
    assert not twice, f"one name, one meaning: {twice}"


@pytest.mark.parametrize("path", sorted((ROOT / "tests").glob("test_*.py")), ids=lambda path: path.stem)
def test_the_name_of_a_test_fits_on_a_line_of_80(path):
    tests = [node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
    assert not [name for name in tests if name.startswith("test_") and len(name) > LONGEST_TEST_NAME]


@pytest.mark.parametrize("module", modules(*PACKAGES))
def test_a_module_says_what_it_is_for(module):
    assert ast.get_docstring(tree(module)), f"{module} has no docstring"
