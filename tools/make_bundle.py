"""Make a folder with Merino and all it needs, which plays wherever it is unpacked: `make bundle`.

It holds a Python, the packages, compiled code for every level of the processor, and a command `merino` that looks at
the processor before anything else. The Python is that in which this runs; its libraries come along, except those of the
system's C library, so the bundle runs where that is as new as here. For a release, take a Python made for other
machines (--python FOLDER), as the workflow does. Prints the paths of the archives, `dist/merino-VERSION-SYSTEM.zip` and
`.tar.zst`.
"""

import argparse
import compileall
import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from py_compile import PycInvalidationMode

from pip._vendor.distlib.scripts import ScriptMaker

from merino.core.common.about import __version__
from merino.formats.sources import writing_source

PACKAGES = ("chess", "llvmlite", "numba", "numpy")  # in the versions of this environment
LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "site-packages", "config-*")
SYSTEM = re.compile(r"/(?:libc|libm|libdl|libpthread|librt|libutil|libcrypt|libresolv|libnsl|ld-linux[^/]*)\.so")
LAUNCHER = r"""#!/bin/sh
# Merino, with the Python next to it. Its compiled code and NumPy need a processor of the level x86-64-v2.
place=$0
while [ -L "$place" ]; do
    case $(readlink "$place") in /*) place=$(readlink "$place") ;; *) place=${place%/*}/$(readlink "$place") ;; esac
done
case $place in */*) home=${place%/*} ;; *) home=. ;; esac
home=$(cd "$home" && pwd)
if [ -r /proc/cpuinfo ]; then
    while read -r name _ flags; do
        case $name in flags) break ;; esac
    done < /proc/cpuinfo
    case "${name:-} $flags " in
        flags*" sse4_2 "* | [!f]*) ;;
        *) echo "merino: this processor is too old: it lacks SSE4.2, which those made since 2009 have" >&2; exit 1 ;;
    esac
fi
exec "$home/python/bin/python3" -I -c '
import sys
sys.argv[0] = sys.argv.pop(1)
from merino.__main__ import main
sys.exit(main())' "$home/merino" "$@"
"""


def copy_python(python: Path, to: Path) -> Path:
    """Copy an installed Python without what no program needs; returns the folder of its packages."""
    is_windows = sys.platform == "win32"
    library = Path("Lib") if is_windows else Path("lib") / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    ignore = shutil.ignore_patterns(*LEFT_OUT, "__pycache__", "*.a", "_test*", "_ctypes_test*", "_tkinter*")
    shutil.copytree(python / library, to / library, ignore=ignore, symlinks=False)
    if is_windows:
        for path in (*python.glob("python*.exe"), *python.glob("*.dll")):
            shutil.copy(path, to)
        shutil.copytree(python / "DLLs", to / "DLLs")
    else:
        (to / "bin").mkdir()
        shutil.copy((python / "bin" / "python3").resolve(), to / "bin" / "python3")
        for path in python.glob("lib/libpython*.dylib"):  # which it needs on macOS
            shutil.copy(path, to / "lib")
    if sys.platform == "linux":
        _bring_libraries([to / "bin" / "python3", *to.rglob("lib-dynload/*.so")], to / "lib")
    return to / library / "site-packages"


def _bring_libraries(programs: list[Path], to: Path) -> None:
    """Copy the libraries that these need next to them, and let them look there, by `patchelf` of this environment."""
    patchelf = Path(sys.executable).with_name("patchelf")
    for program in programs:
        needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"=> (/\S+)", needed):
            if not SYSTEM.search(path) and not (to / Path(path).name).exists():
                shutil.copy(path, to)
        home = "/".join([".."] * len(program.parent.relative_to(to.parent).parts))
        subprocess.run([patchelf, "--set-rpath", f"$ORIGIN/{home}/lib", program], check=True)


def make_bundle(python: Path, wheel: Path, folder: Path) -> None:
    """Make this folder, the bundle."""
    packages = copy_python(python, folder / "python")
    wanted = [f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--target", packages, wheel, *wanted], check=True)
    for unused in (packages / "bin", *packages.glob("*/tests"), *packages.glob("*/*/tests"), packages / "numba/cuda"):
        shutil.rmtree(unused, ignore_errors=True)
    compileall.compile_dir(folder, quiet=2, workers=0, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    if sys.platform == "win32":
        maker = ScriptMaker(None, str(folder))
        maker.variants = {""}  # with no second name that has Python's version
        maker.executable = r"<launcher_dir>\python\python.exe"
        maker.make("merino = merino.__main__:main")
    else:
        launcher = folder / "merino"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        launcher.chmod(0o755)


def pack(folder: Path, name: Path) -> list[Path]:
    """Write the archives of a bundle, which have its folder; their paths."""
    zipped, packed = shutil.make_archive(str(name), "zip", folder.parent, folder.name), Path(f"{name}.tar.zst")
    with writing_source(packed) as file, tarfile.open(fileobj=file, mode="w|") as archive:
        archive.add(folder, folder.name)
    return [Path(zipped), packed]


def main() -> None:
    """Make it from the wheel in dist."""
    parser = argparse.ArgumentParser(prog="python -m tools.make_bundle", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--python", type=Path, default=Path(sys.base_prefix), help="the Python to put in")
    python = parser.parse_args().python
    (wheel,) = Path("dist").glob(f"*{__version__}*.whl")
    system = f"{platform.system().lower()}-{platform.machine().lower()}"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "merino"
        make_bundle(python, wheel, folder)
        for path in pack(folder, wheel.with_name(f"merino-{__version__}-{system}")):
            print(path)


if __name__ == "__main__":
    main()
