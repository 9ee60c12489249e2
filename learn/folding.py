"""Text broken into lines that a terminal of usual width holds."""

from __future__ import annotations

import re

COLUMNS = 80
COMMAND = " " * 4  # begins a line to copy, which is never broken
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|\S)+(?: \+- \S+)?")  # a quoted name is one word, and a number with its error


def fold(text: str, hang: int | None = None) -> list[str]:
    """A line as lines of at most COLUMNS, broken between words; a word that is longer stays whole.

    The lines after the first are indented by `hang`; by as much as the first and two more if None, and then a line
    that begins like a COMMAND stays as it is.
    """
    if len(text) <= COLUMNS or (hang is None and text.startswith(COMMAND)):
        return [text]
    indent = len(text) - len(text.lstrip())
    after = " " * ((indent + 2 if indent else 0) if hang is None else hang)
    lines = [""]
    for match in _WORD.finditer(text):
        gap = text[: match.start()] if not lines[0] else re.split(r"\S", text[: match.start()])[-1]
        if lines[0] and len(lines[-1] + gap + match[0]) > COLUMNS:
            lines.append(after + match[0])
        else:
            lines[-1] += gap + match[0]
    return lines
