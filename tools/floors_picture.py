"""Draw the floors of docs/architecture.md as a picture: `python tools/floors_picture.py`.

The boxes are the rows of the table there; a test compares them with the order that tests/test_layers.py holds.
"""

from __future__ import annotations

import re
import textwrap
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
TARGET = ROOT / "docs" / "images" / "floors.svg"
ROW = re.compile(r"^\| (\d+) \| `([\w/]+)/` \| (.+?) \|$", re.MULTILINE)

WIDTH, BAND, NAME, LINE, GAP = 760, 26, 150, 17, 5  # pixels; BAND is what names a colour at the left
COLUMNS = 84  # of a description
GROUPS = (  # colour, what it says, and its folders
    (
        "#f2b56b",
        "for people and programs",
        ("lab", "merino", "app/shell", "app/explorer", "app/console", "engine/uci"),
    ),
    (
        "#a8cf8e",
        "the work on games and weights",
        ("study", "learn", "match", "formats"),
    ),
    (
        "#8db7e8",
        "the player",
        (
            "engine/tables",
            "engine/report",
            "engine/notation",
            "engine/search",
            "engine/syzygy",
            "eval",
            "core/board",
        ),
    ),
    ("#c9c4bb", "for all", ("core/compiled", "core/common")),
)


def floors() -> list[tuple[int, str, str]]:
    """Number, folder and description of each floor, the highest first."""
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [(int(number), folder, text) for number, folder, text in found]


def picture() -> str:
    """The picture as SVG."""
    colours = {folder: colour for colour, _, folders in GROUPS for folder in folders}
    boxes, top = [], 40
    for number, folder, text in floors():
        lines = textwrap.wrap(text.replace("`", ""), COLUMNS)
        height = LINE * len(lines) + 12
        middle = top + height / 2 + 4
        boxes.append(f'<rect x="1" y="{top}" width="{WIDTH - 2}" height="{height}" rx="5" fill="{colours[folder]}"/>')
        boxes.append(f'<text x="{BAND}" y="{middle:g}" text-anchor="end" opacity=".6">{number}</text>')
        boxes.append(f'<text x="{BAND + 12}" y="{middle:g}" style="font-weight: bold">{folder}/</text>')
        for index, line in enumerate(lines):
            boxes.append(f'<text x="{BAND + NAME}" y="{top + 18 + LINE * index}">{escape(line)}</text>')
        top += height + GAP
    legend, left = [], 1
    for colour, words, _ in GROUPS:
        legend.append(f'<rect x="{left}" y="10" width="14" height="14" rx="3" fill="{colour}"/>')
        legend.append(f'<text x="{left + 20}" y="22">{words}</text>')
        left += 40 + 7 * len(words)
    style = "text { font: 13px 'DejaVu Sans', Verdana, sans-serif; fill: #1d2127 }"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-label="The floors">'
    paper = f'<rect width="{WIDTH}" height="{top}" fill="#fff"/>'
    return "\n".join([head, f"<style>{style}</style>", paper, *legend, *boxes, "</svg>", ""])


def main() -> None:
    """Write it."""
    TARGET.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
