"""The shape of the project: who may import whom, where code is compiled, how long things may get."""

import ast
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from merino.core.compiled.cache import CACHE_GROUPS, WITHOUT_COMPILED_CODE

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "merino"
COMPILED = tuple(folder for folder in " ".join(CACHE_GROUPS).split() if (PACKAGE / folder).is_dir())
PACKAGES = (*COMPILED, "app")  # the folders of `merino`
TOP = "merino"
INNER = f"{TOP}."

# Lowest first: a folder imports from itself and from those before it.
FLOORS = (
    "core.common",
    "core.compiled",
    "core.board",
    "eval",
    "engine.syzygy",
    "engine.search",
    "engine.notation",
    "engine.report",
    "engine.tables",
    "engine.uci",
    "formats",
    "match",
    "learn",
    "study",
    "app.console",
    "app.explorer",
    "app.shell",
    "merino",
    "lab",
)
FACES = ("core.common.command", "app.shell", "app.explorer", "app.console")
CLUSTER = ("dask", "distributed")  # one folder knows them, and hands out an executor
FACE = (TOP, "library", "terms")  # what lies in no folder
DOMAIN = ("eval", "formats", "match", "learn", "study", *FACE)
ENTRIES = ("engine.__main__", "__main__")

ONLY_THE_COMMAND_LINE_IMPORTS = {"engine.uci", "app.console", "app.shell.cli", *ENTRIES}
CALL_COMPILERS = {"core.compiled.program", "lab.nets.gpu_kernels"}  # for the processor, and for a graphics card
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "jitclass", "stencil"}
# Calls that look at a file or read it. A path that a user may name goes through `core.common.files` instead.
READING = {"open", "fdopen", "read_bytes", "read_text", "expanduser", "exists", "is_file", "is_dir", "resolve"}
READING |= {"open_reader", "memmap", "fromfile", "loadtxt", "genfromtxt", "ZipFile", "read_history_file"}
WRITING_MODES = {"a", "ab", "w", "wb", "w+b", "x", "xb"}
# What needs no door, each with the reason.
OWN_FILES = {
    "lab.cluster.workers:identity": "the sources of Merino",
    "engine.search.choice:people": "a file of Merino's own",
    "engine.search.known_openings:opening_lines": "a file of Merino's own",
    "engine.search.strength:": "a file of Merino's own",
    "engine.syzygy.table_files:_read": "maps a file that has come through the door",
    "lab.arrays:from_npz": "an archive in memory",
    "core.common.terminal:_give_up": "the null device",
    "core.common.terminal:open_closed_streams": "the null device",
    "core.common.about:needs": "what the installer wrote of Merino",
    "core.compiled.cache:_source": "sources",
    "core.compiled.cache:_path_of": "sources",
    "core.compiled.cache:made_for": "the version of numba",
    "core.compiled.jit:_sources": "sources",
    "core.compiled.jit:must_compile": "compiled code",
    "core.compiled.code_files:read_code": "compiled code",
    "app.console.terminal:line_editing": "readline reads it, after a look",
    "app.console.loop:converse": "standard input",
    "app.explorer.routes:weights_text": "a file that it has made",
    "app.explorer.app:": "the page, in the package",
    "engine.uci.runtime:free_megabytes": "what Linux says of its memory",
    "learn.procedure:learn_from_files": "a log, opened by its own `open`",
    "learn.rescoring:__init__": "goes on writing what has been read through the door",
    "study.annotated_files:__init__": "goes on writing what has been read through the door",
}

PAGE = PACKAGE / "app" / "explorer" / "page"
PAGE_FLOORS = ("base", "state", "board", "panels", "controls", "main")  # its folders, lowest first, and what makes it

MAX_MODULE, MAX_KERNEL, MAX_TEST_NAME = 1000, 60, 80
MIN_MODULE = 120  # lines of a module that only one other imports, unless it is named here
SMALL = {"__main__": "an entry point"}


@cache
def sources() -> dict[str, Path]:
    """Every module of the package by its name below `merino`, which stands for the package itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or TOP] = path
    return found


def tree(module: str) -> ast.Module:
    return parsed(sources()[module])


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def walked(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, as of `ast.walk`."""
    return tuple(ast.walk(parsed(path)))


def nodes(module: str) -> tuple[ast.AST, ...]:
    return walked(sources()[module])


@cache
def imports(module: str) -> frozenset[str]:
    """All that a module imports, inside functions too: our modules by their names, others by their package."""
    found = set()
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}:{node.lineno}: relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name.removeprefix(INNER) in sources()}
            if {name.removeprefix(INNER) for name in inner} - sources().keys():
                found.add(node.module)
    return frozenset(name if name.split(".")[0] == TOP else name.split(".")[0] for name in found)


def ours(module: str) -> list[str]:
    """The modules of the project that a module imports, named as in `sources`."""
    return sorted(name.removeprefix(INNER) for name in imports(module) if name.split(".")[0] == TOP)


def modules(*packages: str) -> list[str]:
    """The modules of these folders; all if there are none."""
    return [module for module in sources() if not packages or module.split(".")[0] in packages]


def names_used(module: str) -> set[str]:
    """Every name and attribute in the code of a module."""
    used = {node.id for node in nodes(module) if isinstance(node, ast.Name)}
    return used | {node.attr for node in nodes(module) if isinstance(node, ast.Attribute)}


def compiled_functions(module: str) -> Iterator[ast.FunctionDef]:
    """The functions under `@kernel`, `@entry` or `@term(...)`."""
    for node in nodes(module):
        if isinstance(node, ast.FunctionDef):
            decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if {d.id for d in decorators if isinstance(d, ast.Name)} & {"kernel", "entry", "term"}:
                yield node


def floor_of(module: str) -> int:
    """The floor of a module: that of the innermost folder of FLOORS that it lies in."""
    if module in FACE:
        return FLOORS.index(TOP)
    if module in ENTRIES:
        return len(FLOORS)
    inside = [folder for folder in FLOORS if module == folder or module.startswith(f"{folder}.")]
    assert inside, f"{module} lies in no folder of FLOORS in tests/test_layers.py"
    return FLOORS.index(max(inside, key=len))


def test_the_floors_are_the_folders_and_only_entry_points_lie_between_them():
    outer = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {TOP}
    divided = {floor.split(".")[0] for floor in FLOORS if "." in floor}
    inner = {f"{folder}.{path.parent.name}" for folder in divided for path in (PACKAGE / folder).glob("*/__init__.py")}
    assert (outer - divided) | inner == set(FLOORS)
    for folder in divided:
        found = {path.name for path in (PACKAGE / folder).glob("*.py")}
        assert found == {"__init__.py"} | ({"__main__.py"} if f"{folder}.__main__" in ENTRIES else set())


def test_imports_go_down_the_floors_and_never_in_a_circle():
    outermost = {floor.split(".")[0] for floor in FLOORS} - {TOP}
    wrong = [
        f"{module} imports {name} from above"
        for module in sources().keys() - outermost  # whose own `__init__` is empty
        for name in ours(module)
        if floor_of(name) > floor_of(module)
    ]
    assert not wrong
    assert not [module for module in outermost if ours(module)]
    inside = set(modules(*PACKAGES)) - set(ENTRIES)
    pairs = {(module.split(".")[0], name.split(".")[0]) for module in inside for name in ours(module)}
    assert not [pair for pair in pairs if pair[0] < pair[1] and pair[::-1] in pairs], "import each other"
    known = {module: [name for name in ours(module) if name in sources()] for module in sources()}
    TopologicalSorter(known).prepare()  # raises CycleError with the circle


def test_a_module_is_known_by_one_name_and_in_strings_only_to_tables_of_commands():
    bare = set(PACKAGES) | {"weights"}
    everywhere = [path for folder in (TOP, "benchmarks", "tests", "tools") for path in (ROOT / folder).rglob("*.py")]
    for path in everywhere:
        for node in walked(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            assert not {name.split(".")[0] for name in names} & bare, f"{path}:{node.lineno}: begin with {INNER}"
    for module in modules():
        texts = [node.value for node in nodes(module) if isinstance(node, ast.Constant)]
        named = {
            text for text in texts if isinstance(text, str) and re.fullmatch(rf"{re.escape(INNER)}[\w.]+:\w+", text)
        }
        assert not named or module in ("app.shell.cli", "core.common.command"), module
        assert (
            module.startswith("lab")
            or module in ("core.common.command")
            or not {text for text in named if text.startswith(f"{INNER}lab.")}
        ), module
        for text in named:
            target, _, name = text.removeprefix(INNER).partition(":")
            assert target in sources(), f"there is no {text}"
            known = {getattr(node, "name", getattr(node, "id", None)) for node in nodes(target)}
            assert name in known, f"there is no {text}"


def test_compiled_code_lies_where_its_cache_sees_each_change():
    for module in modules():
        imported = {
            alias.name
            for node in nodes(module)
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "numba"
            for alias in node.names
        }
        assert module in CALL_COMPILERS or not (names_used(module) | imported) & COMPILERS, f"{module} calls a compiler"
    for folder in (*WITHOUT_COMPILED_CODE, "app"):
        inside = [module for module, path in sources().items() if (PACKAGE / folder) in path.parents]
        assert inside
        for module in inside:
            assert not list(compiled_functions(module)), f"{module} has a kernel: it would run stale code"


def test_no_module_asks_platform_which_takes_seconds_on_windows_or_ends_the_process() -> None:
    assert not [module for module in modules() if "platform" in imports(module)]


def readings(module: str) -> set[str]:
    """The functions of a module, as `module:function`, in which a file is looked at or read, or none of ours opened."""
    found = set()
    functions = [node for node in nodes(module) if isinstance(node, ast.FunctionDef)]
    for node in nodes(module):
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
    found = {reading for module in sources() if module != "core.common.files" for reading in readings(module)}
    assert not found - OWN_FILES.keys(), "read it by core.common.files, or say in OWN_FILES why not"
    assert not OWN_FILES.keys() - found, "these read nothing any more"


def test_only_the_faces_talk_to_users_and_only_the_folder_of_the_cluster_knows_dask():
    for module in modules(*DOMAIN):
        if module not in ENTRIES:
            assert not [name for name in ours(module) if name.startswith(FACES)], module
            assert "argparse" not in imports(module), module
            assert not names_used(module) & {"print", "stdout", "stderr"}, module
    for module in modules():
        if module not in ("app.shell.cli", *ENTRIES, "app.console"):  # which hands over to UCI on request
            assert not ONLY_THE_COMMAND_LINE_IMPORTS & set(ours(module)), f"{module} starts a dialogue"
        assert not imports(module) & set(CLUSTER) or module.startswith("lab.cluster"), f"{module} knows Dask"


def test_modules_kernels_classes_and_tests_are_short_and_say_what_they_are():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in sources().items()}
    assert not {name: length for name, length in lengths.items() if length > MAX_MODULE}, "too long to be read"
    homes: dict[str, list[str]] = {}
    for module in modules():
        assert ast.get_docstring(tree(module)), f"{module} does not say what it is for"
        lengths = {node.name: node.end_lineno - node.lineno + 1 for node in compiled_functions(module)}
        assert not {name: length for name, length in lengths.items() if length > MAX_KERNEL}, module
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(module)
    twice = {name: found for name, found in homes.items() if len(found) > 1}
    assert not twice, f"one name, one meaning: {twice}"
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        functions = [node for node in walked(path) if isinstance(node, ast.FunctionDef)]
        long = [node.name for node in functions if len(node.name) > MAX_TEST_NAME and node.name.startswith("test_")]
        assert not long, path.name


def test_a_small_module_has_more_than_one_use_or_a_reason():
    users: dict[str, set[str]] = {}
    for module in modules():
        for name in ours(module):
            users.setdefault(name, set()).add(module)
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in sources().items()}
    small = {name for name, found in users.items() if len(found) == 1 and sizes.get(name, MIN_MODULE) < MIN_MODULE}
    assert not {name for name in small - SMALL.keys() if sources()[name].name != "__init__.py"}, "fold it into its user"


@cache
def scripts() -> dict[str, str]:
    """The modules of the page in the browser, by their paths without the ending."""
    found = {path.relative_to(PAGE).with_suffix("").as_posix(): path for path in PAGE.rglob("*.js")}
    return {script: path.read_text(encoding="utf-8") for script, path in found.items()}


@cache
def script_imports(script: str) -> dict[str, list[str]]:
    """The modules that one of the page imports, each with the names taken from it."""
    found = re.findall(r'^import \{([^}]*)\} from "(\.[\w./]*)\.js";$', scripts()[script], re.MULTILINE)
    later = re.findall(r'\(await import\("(\.[\w./]*)\.js"\)\)\.(\w+)', scripts()[script])  # when a panel is opened
    found += [(name, module) for module, name in later]
    assert len(found) == len(re.findall(r"\bimport\b", re.sub(r"//.*|/\*.*?\*/", "", scripts()[script]))), script
    taken: dict[str, list[str]] = {}
    for names, module in found:
        there = posixpath.normpath(posixpath.join(posixpath.dirname(script), module))
        taken.setdefault(there, []).extend(re.findall(r"(\w+)(?: as \w+)?", names))
    return taken


def test_no_module_of_the_page_imports_itself_by_a_detour():
    order = TopologicalSorter({script: script_imports(script).keys() for script in scripts()})
    order.prepare()  # raises CycleError with the circle
    assert "main" not in {name for script in scripts() for name in script_imports(script)}


def test_a_module_of_the_page_imports_from_its_own_folder_and_from_lower_ones():
    def floor(script: str) -> int:
        return PAGE_FLOORS.index(script.partition("/")[0])

    assert {path.name for path in PAGE.iterdir() if path.is_dir()} | {"main"} == set(PAGE_FLOORS)
    for script in scripts():
        assert not [name for name in script_imports(script) if floor(name) > floor(script)], script


def test_what_a_module_of_the_page_imports_is_exported_and_what_it_exports_imported():
    exported = {
        (script, name)
        for script, text in scripts().items()
        for name in re.findall(r"^export (?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
    }
    imported = {
        (module, name) for script in scripts() for module, names in script_imports(script).items() for name in names
    }
    in_tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_explorer_*.py"))
    used_by_tests = {
        (module, name)
        for module, name in exported - imported
        if f'"{module}.js"' in in_tests and re.search(rf"\bmodule\.{name}\b", in_tests)
    }
    assert imported | used_by_tests == exported
