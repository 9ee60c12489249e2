#!/bin/sh
# Make a virtual environment with the first Python that is new enough: sh tools/make_venv.sh FOLDER [PYTHON ...]
set -eu

folder=$1
shift

explain() {
    printf 'merino: %s\n' "$@" >&2
    exit 1
}

for python in "$@"; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    "$python" -c 'import ensurepip, venv' 2>/dev/null || explain \
        "$(command -v "$python") cannot make virtual environments (no module ensurepip)." \
        "On Debian and Ubuntu: apt install python3-venv. Or name another Python: make PYTHON=/path/to/python3 ..."
    echo "Making $folder with $("$python" --version)"
    exec "$python" -m venv --clear "$folder"
done

explain "No Python 3.11 or newer among: $*." \
    "Install one, or name it: make PYTHON=/path/to/python3 ..."
