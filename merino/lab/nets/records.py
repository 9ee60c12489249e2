"""The positions that a net is trained on: from files with scores, or from games, searched one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from merino.formats.packed import Filter, PackedBlocks, spooled
from merino.formats.packed_files import training_positions
from merino.learn.reading import searched_positions
from merino.learn.request import Events
from merino.learn.rescoring import Rescore


def read_records(
    paths: Sequence[Path], chosen: Filter, folder: Path, of_moves: bool, rescore: Rescore | None, events: Events
) -> PackedBlocks:
    """The positions of files: with `of_moves` those of moves, with `rescore` those of games it scores.

    Of games with scores those that pass the filter are taken; positions of games are kept in `folder` until they are
    closed. Lines for people and progress go to `events`. Raises LearnError, PackedError, SourceError and OSError.
    """
    if rescore is not None:
        return spooled(searched_positions(paths, rescore, events), folder)
    return training_positions(
        paths, chosen, folder, of_moves, lambda path: partial(events.progressed, f"Reading {path.name}")
    )
