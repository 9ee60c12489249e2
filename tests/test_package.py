"""The wheel: it holds what it should below one name, and runs from any folder without writing next to its code.

All but one test run it without compiling.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import chess
import llvmlite
import numba
import numpy
import pytest

import merino
from merino.core.common import about
from tools import make_bundle

ROOT = Path(__file__).resolve().parent.parent


# How a workflow of GitHub names the repository and the tag that it builds.
RELEASE = {"GITHUB_SERVER_URL": "https://host", "GITHUB_REPOSITORY": "owner/merino", "GITHUB_REF_NAME": "v1"}
CODE = Path("0123456789abcdef/f.code")  # a file of compiled code, as `make dist` makes them
LAUNCHER = """#!/bin/sh
for word; do printf '%s|' "$word"; done
"""


class Installed(NamedTuple):
    """A clean environment with the wheel in it, an empty folder to start from, and a user's folder."""

    command: Path
    packages: Path
    start: Path
    home: Path
    files: dict[Path, int]

    def run(self, *arguments, command=None, compiles=False):
        """Start merino as a user would, wait, and return what it printed."""
        process = self.popen(*arguments, command=command, compiles=compiles)
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        return out

    def popen(self, *arguments, command=None, compiles=False):
        """Start merino and talk to it."""
        return subprocess.Popen(
            [*(command or [self.command]), *map(str, arguments)],
            cwd=self.start,
            env=environment() | {"MERINO_HOME": str(self.home)} | ({} if compiles else {"NUMBA_DISABLE_JIT": "1"}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from the part of the checkout that Docker is given."""
    source, target = tmp_path_factory.mktemp("source") / "merino", tmp_path_factory.mktemp("wheel")
    for name in re.findall("^!(.+)", (ROOT / ".dockerignore").read_text(), re.MULTILINE):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, source / name)
    code = source / "build" / "code" / "cache" / CODE
    code.parent.mkdir(parents=True)
    code.write_bytes(b"compiled")
    pip("wheel", "--no-deps", "--wheel-dir", target, source, cwd=target, **RELEASE)
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel in an environment of its own, which sees our dependencies but not our checkout."""
    folder = tmp_path_factory.mktemp("environment with a space")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / Path(sys.executable).name
    pip("--python", python, "install", "--no-deps", wheel, cwd=folder)
    (packages,) = folder.rglob("site-packages")
    seen = {str(Path(module.__file__).parent.parent) for module in (chess, llvmlite, numba, numpy)}
    (packages / "dependencies.pth").write_text("\n".join(seen), encoding="utf-8")
    home = tmp_path_factory.mktemp("home")
    for path in [packages / "merino", *(packages / "merino").rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    return Installed(scripts / "merino", packages, tmp_path_factory.mktemp("start"), home, files_in(packages))


def environment():
    """Our environment variables without those that could lead to the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MERINO"))}


def pip(*arguments, cwd, **variables):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    subprocess.run(command, cwd=cwd, env=environment() | variables, check=True)


def files_in(packages):
    """Every file of our packages and when it was written."""
    return {path: path.stat().st_mtime_ns for path in (packages / "merino").rglob("*")}


def test_wheel_holds_every_source_and_all_data_and_nothing_else(wheel):
    names = {Path(name) for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    kinds = (".py", ".pyi", ".txt", ".toml", ".json", ".net", ".typed", ".html", ".css", ".js")
    package = {path.relative_to(ROOT) for path in (ROOT / "merino").rglob("*") if path.suffix in kinds}
    data = {path.relative_to(ROOT) for path in (ROOT / "weights").iterdir()}
    assert names == package | {Path("merino") / path for path in (*data, Path("code/cache") / CODE)}
    assert "-py3-none-" in wheel.stem and wheel.stem.endswith(platform.machine().lower()), "code is for a system"


@pytest.mark.skipif(os.name == "nt", reason="a launcher for a shell")
@pytest.mark.parametrize("is_old", [False, True])
def test_the_command_of_a_bundle_starts_its_python_where_the_processor_suffices(tmp_path, is_old):
    folder, facts = tmp_path / "a place", tmp_path / "cpuinfo"
    python = folder / "python" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.write_text(LAUNCHER)
    facts.write_text(f"vendor : x\nflags\t\t: fpu {'ssse3' if is_old else 'sse4_2'} avx\n")
    (folder / "merino").write_text(make_bundle.LAUNCHER.replace("/proc/cpuinfo", f"'{facts}'"))
    for path in (python, folder / "merino"):
        path.chmod(0o755)
    (tmp_path / "link").symlink_to(Path("a place") / "merino")
    done = subprocess.run([tmp_path / "link", "go", "depth 1"], env={}, capture_output=True, text=True, check=False)
    assert done.returncode == is_old
    if is_old:
        assert "too old" in done.stderr
    else:
        assert done.stdout.startswith("-I|-c|") and done.stdout.endswith(f"|{folder}/merino|go|depth 1|")


def test_metadata_say_what_users_and_installers_ask(wheel):
    archive = zipfile.ZipFile(wheel)
    (folder,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
    assert metadata["Name"] == "merino-chess"
    assert metadata["Version"] == merino.__version__
    assert metadata["License-Expression"] == "GPL-3.0-or-later"
    assert "GNU GENERAL PUBLIC LICENSE" in archive.read(f"{folder}/licenses/LICENSE").decode()
    entry_points = archive.read(f"{folder}/entry_points.txt").decode().splitlines()
    assert entry_points == ["[console_scripts]", "merino = merino.__main__:main"]
    assert "Documentation, https://owner.github.io/merino/" in metadata.get_all("Project-URL")
    links = re.findall(r"\]\(([^)]+)|src=\"([^\"]+)", readme := metadata.get_payload())
    assert len(links) > 30 and all("://" in "".join(link) for link in links), "PyPI has no files next to the README"
    assert "](https://host/owner/merino/blob/v1/docs/gui.md)" in readme


def test_dependencies_are_pinned_from_below_and_numba_from_above_too():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours, *others = project["optional-dependencies"]["dev"]
    assert ours.startswith("merino-chess["), "extras of our own, for the tests"
    pinned = [text for text in project["dependencies"] + others if not re.fullmatch(r"[^<>=~!,;]+>=[\d.]+", text)]
    assert [re.sub(r"\d.*", "", text) for text in pinned] == ["numba>="]


def test_command_and_module_print_the_version(installed):
    python = installed.command.with_name(Path(sys.executable).name)
    assert merino.__version__ in installed.run("--version")
    assert installed.run("--version") == installed.run("--version", command=[python, "-m", "merino"])


def test_code_comes_from_the_install_folder(installed):
    python = installed.command.with_name(Path(sys.executable).name)
    out = installed.run(
        "-c",
        "from merino import __file__, load_evaluation as load; print(__file__, load().name, load('gen1').name)",
        command=[python],
    )
    assert out.count(str(installed.packages)) == 3


def test_uci_game_over_a_pipe(installed):
    process = installed.popen()
    said, errors = process.communicate("uci\nisready\nposition startpos moves e2e4\ngo depth 1\n", timeout=60)
    assert process.returncode == 0, errors
    assert "\nuciok\n" in said and "\nreadyok\n" in said and "\ninfo depth 1 " in said
    board = chess.Board()
    board.push_uci("e2e4")
    assert chess.Move.from_uci(said.split()[-1]) in board.legal_moves


def test_nothing_is_written_beside_the_code_or_into_the_working_folder(installed):
    installed.run("perft", 2)
    assert files_in(installed.packages) == installed.files
    assert list(installed.start.iterdir()) == []


def test_compiled_code_goes_to_the_folder_of_the_user(installed):
    python = installed.command.with_name(Path(sys.executable).name)
    imports = "from merino.eval.material import game_stage, np; from merino.core.board.position import POSITION"
    least = f"{imports}; print(game_stage(np.zeros(1, POSITION)))"  # by little compiled code
    assert installed.run("-c", least, command=[python], compiles=True).strip() == "((0.0, 0.0), 0.0)"
    (code,) = (installed.home / "cache").rglob("*.code")
    assert re.fullmatch("[0-9a-f]{16}", code.parent.name)


@pytest.mark.parametrize(
    ("left_by", "is_venv", "has_pip", "installed_from", "said"),
    [
        ("uv-receipt.toml", True, False, {"url": "file:///a%20b/m.whl"}, "uv tool install '/a b/m.whl[web]'"),
        ("pipx_metadata.json", True, True, {"url": "file:///m"}, "pipx install --force '/m[web]'"),
        ("pyvenv.cfg", True, False, {}, "uv pip install 'merino-chess[web]'"),
        ("pyvenv.cfg", True, True, {"url": "file:///m", "dir_info": {"editable": True}}, "--editable '/m[web]'"),
        ("pyvenv.cfg", True, True, None, f"-m pip install --editable '{Path(merino.__file__).parent.parent}[web]'"),
        ("python3", False, False, {"url": "file:///m.whl"}, "a bundle cannot have"),
    ],
)
def test_an_extra_is_added_by_what_installed_merino(
    left_by: str, is_venv: bool, has_pip: bool, installed_from, said: str, tmp_path, monkeypatch
) -> None:
    class Installed:
        @staticmethod
        def read_text(name: str) -> str | None:
            return json.dumps(installed_from) if installed_from else None

    def distribution(name: str) -> type[Installed]:
        if installed_from is None:
            raise metadata.PackageNotFoundError(name)
        return Installed

    (tmp_path / left_by).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", "/usr" if is_venv else str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: has_pip or None)
    monkeypatch.setattr(metadata, "distribution", distribution)
    sentence = about.needs("web", "the explorer")
    assert sentence.startswith("the explorer needs the extra 'web'") and said in sentence
