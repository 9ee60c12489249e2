"""What the options that name files open, by the text of their values. A disk may be slow: the dialogue does not wait.

These functions run on threads of their own, and what they return is put into use when the engine is idle. What
they need of compiled code is loaded or compiled there, too. Imports nothing heavy: each loads what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from merino.core.common.user_files import open_to_append, user_path

if TYPE_CHECKING:
    from merino.engine.tables.book import Book
    from merino.engine.tables.tablebase import Tables
    from merino.eval.evaluation import Evaluation


def weights(name: str) -> Evaluation:
    """What `load_evaluation` makes of `name`, of the one in use if empty; its name is the path."""
    from merino.eval.families import find_weights, load_evaluation  # noqa: PLC0415 (with numba)

    return load_evaluation(find_weights(name or None).absolute())


def net(name: str) -> Evaluation | None:
    """The net `name`, none if empty; its name is the path. Raises EvaluationError."""
    from merino.eval.families import load_net  # noqa: PLC0415 (with numba)

    return load_net(name) if name else None


def compiled(evaluation: Evaluation | None) -> Evaluation | None:
    """The same evaluation with its code loaded or compiled, so that it can be put into use at once."""
    from merino.engine.search.state import new_search_record  # noqa: PLC0415 (with numba)

    if evaluation is not None:
        evaluation.install(new_search_record())
    return evaluation


def book(name: str) -> Book | None:
    """The book `name`, none if empty; raises BookError and OSError."""
    from merino.engine.tables.book import Book  # noqa: PLC0415 (few play with a book of the engine)

    return Book(user_path(name)) if name else None


def tables(path: str) -> Tables | None:
    """The endgame tables in `path`, none if empty; raises TablebaseError."""
    from merino.engine.tables.tablebase import open_tables  # noqa: PLC0415 (few have the tables)

    return open_tables(path) if path else None


def asked(tables: Tables | None) -> Tables | None:
    """The same tables with the code that a search asks loaded or compiled."""
    from merino.engine.search.state import new_search_record  # noqa: PLC0415 (with numba)

    if tables is not None:
        tables.results.attach(new_search_record())
    return tables


def log(name: str) -> BinaryIO | None:
    """The log `name`, open for appending, none if empty; raises OSError."""
    return open_to_append(user_path(name)) if name else None
