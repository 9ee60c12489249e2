"""Draw the folders at the top of two checkouts, and their imports: `python -m tools.house_picture BEFORE [NOW]`.

The folders stand in the order in which the fewest imports go up. What goes down is drawn at the left, what goes up at
the right and in red; the lines are as thick as there are imports.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path

from tools.count_house import ROOT, House, room_of

TARGET = ROOT / "docs" / "images" / "house.svg"
PANEL, BOX, ROW, TOP = 380, 124, 46, 56  # pixels: width of a panel and of a box, height of a row, and above the first
INK, DOWN, UP, PAPER = "#1d2127", "#8aa1b8", "#c8402f", "#f4efe6"


def imports_of(house: House) -> Counter[tuple[str, str]]:
    """How many modules of the first folder are imported by which of the second, by the names of the two folders."""
    pairs = ((room_of(module), room_of(name)) for module, names in house.imports.items() for name in names)
    return Counter(pair for pair in pairs if pair[0] != pair[1])


def order_of(folders: frozenset[str], imports: Mapping[tuple[str, str], int]) -> list[str]:
    """The folders, the highest first, so that the fewest imports go up."""

    @cache
    def best(left: frozenset[str]) -> tuple[int, tuple[str, ...]]:
        """The imports that go up among these, and their order."""
        if not left:
            return 0, ()
        ways = []
        for top in sorted(left):
            up, order = best(left - {top})
            ways.append((up + sum(imports.get((lower, top), 0) for lower in left), (top, *order)))
        return min(ways)

    return list(best(folders)[1])


def panel(title: str, house: House, left: int) -> str:
    """One house as SVG, its left edge at `left`."""
    imports, lines = imports_of(house), house.lines_by_room()
    order = order_of(frozenset(lines), imports)
    middle = left + PANEL // 2
    up = sum(count for (above, below), count in imports.items() if order.index(above) > order.index(below))
    drawn = [_text(middle, 24, title, "bold"), _text(middle, 42, f"{sum(imports.values())} imports, {up} up")]
    for (importer, imported), count in sorted(imports.items(), key=lambda item: (item[1], item[0])):
        drawn.append(_arc(middle, order.index(importer), order.index(imported), count))
    for place, name in enumerate(order):
        y = TOP + ROW * place
        corner = f'x="{middle - BOX // 2}" y="{y}" width="{BOX}" height="32" rx="5"'
        drawn += [
            f'<rect {corner} fill="{PAPER}" stroke="{INK}"/>',
            _text(middle, y + 21, f"{name}/  {lines[name] / 1000:.1f}k"),
        ]
    return "\n".join(drawn)


def picture(houses: Sequence[tuple[str, House]]) -> str:
    """Houses with their titles, side by side, as SVG."""
    height = TOP + ROW * max(len(house.lines_by_room()) for _, house in houses)
    size = f'viewBox="0 0 {PANEL * len(houses)} {height}"'
    style = f"<style>text {{ font: 13px 'DejaVu Sans', Verdana, sans-serif; fill: {INK} }}</style>"
    paper = f'<rect width="{PANEL * len(houses)}" height="{height}" fill="#fff"/>'
    panels = [panel(title, house, PANEL * place) for place, (title, house) in enumerate(houses)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Folders and their imports">'
    return "\n".join([head, style, paper, *panels, "</svg>", ""])


def _arc(middle: int, start: int, end: int, count: int) -> str:
    """The imports of a folder at place `start` from that at place `end`."""
    side, colour = (-1, DOWN) if start < end else (1, UP)
    x, (first, last) = middle + side * BOX // 2, (TOP + 16 + ROW * place for place in (start, end))
    bow = x + side * (24 + 16 * abs(end - start))
    path = f'd="M{x},{first} C{bow},{first} {bow},{last} {x},{last}"'
    return f'<path {path} fill="none" stroke="{colour}" stroke-opacity=".75" stroke-width="{0.6 + count / 25:.2f}"/>'


def _text(x: int, y: int, words: str, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" style="font-weight: {weight}">{escape(words)}</text>'


def main() -> None:
    """Write the picture."""
    folders = [Path(word).resolve() for word in (*sys.argv[1:], str(ROOT))]
    titles = ("before", "now")
    houses = [(title, House.read(folder)) for title, folder in zip(titles, folders, strict=False)]
    TARGET.write_text(picture(houses), encoding="utf-8")


if __name__ == "__main__":
    main()
