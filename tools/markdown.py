"""Tables in Markdown, for pages and for what scripts print."""

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], right_aligned: Sequence[int] = ()) -> str:
    """A table in Markdown, whose cells may have bars."""
    rules = ["---:" if column in right_aligned else "---" for column in range(len(head))]
    cells = ([cell.replace("|", "\\|") for cell in row] for row in (head, rules, *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def with_section(page: str, name: str, text: str) -> str:
    """The text of a page with this between `<!-- NAME -->` and `<!-- /NAME -->`; raises ValueError without them."""
    head, tail = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, begin, rest = page.partition(head)
    _, end, after = rest.partition(tail)
    if not begin or not end:
        raise ValueError(f"the page has no {head.strip()} and {tail}")
    return f"{before}{head}{text}\n{tail}{after}"
