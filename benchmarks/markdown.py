"""Tables in Markdown, for pages and for what scripts print."""

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], right_aligned: Sequence[int] = ()) -> str:
    """A table in Markdown."""
    rules = ["---:" if column in right_aligned else "---" for column in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rules, *rows))
