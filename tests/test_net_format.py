"""The manual on the format of nets: its reader, run as it stands there, finds the scores that Merino finds."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.board.fen import parse_fen
from merino.engine.search.bench import POSITIONS
from merino.eval.families import find_net, load_net
from merino.eval.net.file import as_bytes, save_net
from merino.eval.net.network import Shape
from merino.lab.nets.quantising import quantised
from merino.lab.nets.starting import random_layers
from tests.test_docs import ROOT

PAGE = (ROOT / "docs" / "nets.md").read_text(encoding="utf-8").partition("## The format of nets\n")[2]
SHAPES = (
    Shape(hidden=16),
    Shape("MIRRORED(ALL)", hidden=16),
    Shape("KING[cccccccc/cccccccc/cccccccc/cccccccc/cccccccc/cccccccc/bbbbbbbb/aabbbbaa]*ALL", hidden=16, outputs=4),
    Shape(hidden=24, second=8),
    Shape(hidden=8, second=4, activation="crelu"),
    Shape(hidden=16, outputs=8),
    Shape(hidden=16, second=8, outputs=16),
)


def reader() -> tuple[str, dict[str, Any]]:
    """The text of the reader, and what it defines."""
    (text,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    found: dict[str, Any] = {}
    exec(text, found)
    return text, found


def nets(folder: Path) -> list[Path]:
    """The nets that come with Merino, and some of other shapes."""
    found = [find_net(name) for name in ("gen1", "gen12", "gen13", "pieces1")]
    for number, shape in enumerate((*SHAPES, Shape(hidden=8, piece_values=True))):
        layers = {name: 8 * array for name, array in random_layers(shape, 1).items()}
        found.append(folder / f"{number}.net")
        save_net(quantised(shape, layers, 200.0, {}), found[-1])
    return found


def test_the_reader_finds_the_scores_of_merino(tmp_path: Path) -> None:
    text, found = reader()
    assert len(text.splitlines()) <= 40 and not re.search(r"import .*merino", text)
    records = np.concatenate([parse_fen(fen) for fen in POSITIONS])
    for path in nets(tmp_path):
        net, layers = found["read_net"](path)
        signs = np.where(records["side"] == 1, -1, 1)
        scores = [found["score"](net, layers, fen) for fen in POSITIONS]
        assert np.allclose(scores, signs * load_net(str(path)).white_scores(records), atol=1e-6), path


def test_the_page_names_every_key_of_the_header_and_every_layer() -> None:
    for shape in (Shape(second=4), Shape(piece_values=True), Shape(outputs=8)):
        network = quantised(shape, random_layers(shape, 1), 200.0, {})
        for name in shape.layers():
            assert f"| `{name}` |" in PAGE
        for key in re.findall(r'(?:^\{|, )"(\w+)":', as_bytes(network).split(b"\n", 2)[1].decode()):
            assert f"`{key}`" in PAGE, key
