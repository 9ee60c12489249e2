"""A program that breaks every rule, to show that the trials see it: it changes files in place, one after the other."""

import sys
from pathlib import Path


def main() -> None:
    """Write the rows of a table over the old one, then a note, then the table of a second one."""
    table, more = Path("table.csv"), Path("more.csv")
    with table.open("w", encoding="utf-8") as file:
        file.write("step,error\n")
        with more.open("a", encoding="utf-8") as other:
            other.write("step,error\n")
        file.write("2,0.25\n")


if __name__ == "__main__":
    sys.exit(main())
