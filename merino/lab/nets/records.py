"""The positions that a net is trained on: from files with scores, or from games, searched one by one.

The scores of searches are kept in a file beside the games, so that a stopped run goes on. It is another than that of
`learn --rescore`, which chooses other positions: each would replace the scores of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from merino.core.common.work import in_order
from merino.eval.linear.weights import defaults
from merino.formats.packed import MAX_SCORE, Filter, PackedBlocks, pack, spooled
from merino.formats.packed_files import training_positions
from merino.formats.pgn_games import games_of
from merino.formats.sources import Source, digest, open_source
from merino.learn.errors import LearnError
from merino.learn.inputs import InputPart, ReadOptions, part_of
from merino.learn.position_source import check_found
from merino.learn.positions import PositionBlock, Quiet, Selection
from merino.learn.request import Events
from merino.learn.rescoring import ENDING, Rescore, ScoreFile

SCORES = f".train{ENDING}"  # the ending of the file of scores
SELECTION = Selection(quiet=Quiet.RESOLVED, per_game=10)  # a search costs a millisecond and more


def read_records(
    paths: Sequence[Path], chosen: Filter, folder: Path, of_moves: bool, rescore: Rescore | None, events: Events
) -> PackedBlocks:
    """The positions of files: with `of_moves` those of moves, with `rescore` those of games it scores.

    Of games with scores those that pass the filter are taken; positions of games are kept in `folder` until they are
    closed. Lines for people and progress go to `events`. Raises LearnError, PackedError, SourceError and OSError.
    """
    if rescore is not None:
        return spooled(_label_games(paths, rescore, events), folder)
    return training_positions(
        paths, chosen, folder, of_moves, lambda path: partial(events.progressed, f"Reading {path.name}")
    )


def _label_games(paths: Sequence[Path], rescore: Rescore, events: Events) -> Iterator[np.ndarray]:
    """Ten resolved positions of each game of PGN files with the scores of searches, PACKED[n] at a time."""
    options = ReadOptions(SELECTION, defaults(), needs_scores=True)
    positions, games = 0, 0
    for path in paths:
        with open_source(path) as source:
            for part in _searched(source, options, rescore, events):
                yield (records := _packed(part.block, games))
                positions, games = positions + len(records), games + part.found
    check_found(paths, positions, games, 0)


def _searched(source: Source, options: ReadOptions, rescore: Rescore, events: Events) -> Iterator[InputPart]:
    """The parts of a file with the scores of their positions; raises LearnError."""
    if source.is_passing or source.holds_positions():
        raise LearnError(f"--rescore searches the positions of games: '{source.name}' is no file of PGN")
    path = Path(f"{source.path}{SCORES}")
    made_from = f"source {digest(source.path)}; {options.selection.describe(options.weights)}"
    with ScoreFile(path, rescore, made_from) as scores:
        scores.tell(events.say)
        for part in in_order(lambda piece: part_of(options, piece, scores), games_of(source), scores.stop):
            yield part
            events.progressed(f"Searching {source.name}", source.done)


def _packed(block: PositionBlock, first_game: int) -> np.ndarray:
    """The positions of a block whose scores teach, PACKED[n]; its games are numbered from `first_game` on."""
    taken = block.chosen(np.abs(block.scores.astype(np.int64)) <= MAX_SCORE)
    return pack(taken.positions, taken.scores, np.rint(2 * taken.results[taken.game]), first_game + taken.game)
