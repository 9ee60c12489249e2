"""Tables in plain text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows in columns: the first `left` of them to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [
        [cell.ljust(width) if number < left else cell.rjust(width) for number, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return ["  ".join(row) for row in padded]
