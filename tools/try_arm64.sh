#!/bin/sh
# On arm64 Linux Merino must search, score and learn as here, to the last digit: `make try-arm64`.
#
# The code is made here, by tools/cross_code.py. It runs in an emulator (qemu-aarch64-static) in a Debian of that kind,
# which mmdebstrap unpacks, with numba and NumPy from PyPI; both come from apt: qemu-user-static, mmdebstrap.
set -eu
python=$1 place=$PWD/build/arm64 emulator=$(command -v qemu-aarch64-static)
mkdir -p "$place"
if [ ! -d "$place/root" ]; then
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include=python3,libstdc++6 bookworm "$place/root"
    "$python" -m pip --quiet --disable-pip-version-check install --no-deps --target "$place/site" --only-binary=:all: \
        --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --python-version 3.11 \
        $("$python" -m pip --disable-pip-version-check freeze | grep -E '^(numba|llvmlite|numpy)==')
    cp -r "$("$python" -c 'import chess; print(chess.__path__[0])')" "$place/site"
fi
"$python" -m merino warmup play formats match learn --quiet
rm -rf "$place/home" "$place/here" "$place/there"
"$python" -m tools.cross_code "$place/home" play formats match learn
awk '/^\[Event/ { games++ } games <= 50' games/selfplay.pgn > "$place/games.pgn"

# What a Python (its command follows) finds, in the folder $place/$1.
steps() {
    found=$place/$1
    shift
    mkdir "$found"
    cp weights/greko2015-before-training.txt "$found/weights"
    "$@" -m merino bench | sed 's/nodes .* nps/nodes/' > "$found/bench"
    "$@" -m merino perft 4 > "$found/perft"
    "$@" -c 'if True:
        import chess.pgn, merino
        boards, file = [], open("games/selfplay.pgn")
        while len(boards) < 200:
            boards += [node.board() for node in chess.pgn.read_game(file).mainline()]
        for name in ("default", "gen12", "gen13"):
            evaluation = merino.load_evaluation(name)
            for board in boards[:200]:
                print(name, float(evaluation.white_scores(merino.Position(board.fen()).record)[0]))' > "$found/scores"
    "$@" -m merino learn "$place/games.pgn" --weights "$found/weights" --no-match --quiet
    sed -i /^#/d "$found/weights" # the date
}

steps here "$python"
steps there env -i MERINO_HOME="$place/home" PYTHONPATH="$PWD:$place/site" PYTHONHOME="$place/root/usr" \
    "$emulator" -cpu max,sve=off -L "$place/root" "$place/root/usr/bin/python3"
for file in bench perft scores weights; do cmp "$place/here/$file" "$place/there/$file"; done
test "$(ls "$place/home/cache")" = "$(ls "$place/home/cache" | head -1)" # nothing was compiled there
echo "bench $(tail -n 1 "$place/there/bench"), perft, 600 scores and the weights of 50 games are the same on arm64"
