"""Reads the files of `learn` into rows: PGN and labelled positions, plain or compressed, in bounded memory.

A file is read in pieces that end between games. Several threads turn pieces into rows, which are collected in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from merino.core.common.files import writing, writing_whole
from merino.core.common.text import counted
from merino.core.common.user_files import is_there
from merino.core.common.work import in_order
from merino.eval.evaluation import Evaluation
from merino.eval.linear.registry import TERMS, TermSet
from merino.formats.labelled import NO_END, NO_GAME, Labelled, read_labelled
from merino.formats.pgn_games import Fault, GamesText, games_of, play_games
from merino.formats.pgn_tokens import MAX_SCORE, NO_SCORE
from merino.formats.sources import Source, count_lines, digest, open_source
from merino.learn.errors import LearnError
from merino.learn.fen_file import Contents, FenTarget, is_cache, is_ours, lines_of, target_of
from merino.learn.loss_and_gradient import Samples
from merino.learn.position_source import PositionSource, check_found, check_positions
from merino.learn.positions import (
    Candidates,
    PositionBlock,
    Quiet,
    Selection,
    block_of_games,
    chosen_of,
    drawn_of_usable,
    refined,
    select_quiet,
    used_games,
)
from merino.learn.request import Events
from merino.learn.rescoring import ENDING, Rescore, ScoreFile, described_scorer
from merino.learn.rows import GameRuns, Rows, RowStore, check_rows, rows_of_block
from merino.learn.sample import Sample, check_holdout, check_results, choose_holdout, sample_of, tell_results
from merino.learn.settings import Settings
from merino.learn.strengths import Strengths


@dataclass(frozen=True)
class ReadOptions:
    """How to read: which positions, the weights in use (to check rows), and which files to write."""

    selection: Selection
    weights: np.ndarray
    keep_fen: bool = False  # whether to write a `.fen` file beside each PGN file
    needs_scores: bool = False  # whether to use only positions with the score of a search
    needs_results: bool = True  # whether results count, which say nothing of strays
    rescore: Rescore | None = None  # how to search them for scores; None for the scores in the files
    teacher: Evaluation | None = None  # whose static scores they get instead
    ratings: bool = False  # whether those of the players are needed, which only the games themselves have
    strengths: Strengths | None = None  # of players without ratings, if these are needed
    terms: TermSet = TERMS  # whose features the rows have, and whose weights these are


class _Text(NamedTuple):
    """Some lines of a file, and the number of lines before them."""

    content: bytes
    lines_before: int


class InputPart(NamedTuple):
    """The rows and counts of a piece of a file."""

    block: PositionBlock
    rows: Rows
    found: int  # games in the text
    used: int  # games with a result and no fault
    faults: tuple[Fault, ...]
    fen: bytes
    unscored: int = 0  # positions left out because they have no score


def read_rows(paths: Sequence[Path], options: ReadOptions, events: Events) -> PositionsHere:
    """Read all files; lines for people and progress go to `events`. Raises LearnError."""
    reader = FileReader(options, events)
    for path in paths:
        reader.read(path)
    check_found(paths, len(reader.store), reader.games, reader.unscored)
    if options.selection.unique:
        events.say(f"Duplicates left out: {reader.store.drop_duplicates()}")
    return PositionsHere(reader.games, tuple(reader.faults), reader.store.rows())


class FileReader:
    """Reads files, one after the other, into one store."""

    def __init__(self, options: ReadOptions, events: Events) -> None:
        self._options, self._events = options, events
        self.store = RowStore(options.selection.unique, terms=len(options.terms))
        self.games = self.unscored = 0
        self.faults: list[tuple[Path, Fault]] = []

    def read(self, path: Path) -> None:
        """Add the rows of a file; raises LearnError."""
        with open_source(path) as source:
            if source.holds_positions():
                check_positions(source, self._options.selection, self._options.needs_results)
            if self._options.rescore is not None:
                self._read_rescored(source)
                return
            if source.holds_positions():
                self._read_positions(source)
                return
            if source.is_passing or self._options.ratings:  # positions beside the games know no ratings
                self._read_games(source)
                return
            target = target_of(path, self._described())
            if target.contents is None:
                self._read_games(source, target)
                return
        with open_source(target.path) as source:
            self._events.say(f"Using file '{target.path}', made from '{path.name}' with these settings")
            self._read_positions(source, target.contents)

    def _described(self) -> str:
        """The settings that decide which positions of a file are used, and with whose scores, as text."""
        options, scores = self._options, ""
        if options.teacher is not None:
            scores = f", scored by {described_scorer(options.teacher)}"
        elif options.rescore is not None:
            scores = ", with scores" if options.needs_scores else ""  # as in files of before, which are still good
        elif options.needs_scores:
            scores = ", scored in the file"  # "with scores" was once said of a teacher's, too
        return options.selection.describe(options.weights, options.terms) + scores

    def _read_rescored(self, source: Source) -> None:
        """Read a file and search its positions; the scores are kept in a file beside it. Raises LearnError."""
        rescore = self._options.rescore
        assert rescore is not None
        if source.is_passing:
            raise LearnError("--rescore keeps its scores beside a file: name one instead of '-'")
        path = Path(f"{source.path}{ENDING}")
        made_from = f"source {digest(source.path)}; {self._described()}"
        with ScoreFile(path, rescore, made_from) as scores:
            scores.tell(self._events.say)
            if source.holds_positions():
                self._read_positions(source, scores=scores)
            else:
                self._read_games(source, scores=scores)
            if scores.made:
                self._events.say(f"  {scores.made} positions searched")

    def _report(self, source: Source) -> None:
        """Report how much of a file has been read."""
        self._events.progressed(f"Reading {source.name}", source.done)

    def _read_games(self, source: Source, target: FenTarget | None = None, scores: ScoreFile | None = None) -> None:
        found = used = unreadable = rows = 0
        with ExitStack() as stack:
            wanted, fen = target is not None and self._wants_fen(target), None
            stop = None if scores is None else scores.stop
            for part in in_order(lambda piece: part_of(self._options, piece, scores, wanted), games_of(source), stop):
                self._add(part, is_first=rows == 0)
                rows += len(part.block)
                self.faults.extend((source.path, fault) for fault in part.faults)
                found, used, unreadable = found + part.found, used + part.used, unreadable + len(part.faults)
                if target and wanted and fen is None and len(part.block):
                    fen = self._create_fen(target, stack)
                if target and fen:
                    _write(fen, part.fen, target.path)
                self._report(source)
            if target and fen:
                _write(fen, Contents(used, unreadable).line(), target.path)
        self.games += used
        self._events.say(f"{source.name}: {found} games, {rows} positions")

    def _add(self, part: InputPart, is_first: bool) -> None:
        if is_first and len(part.block):
            check_rows(part.block, part.rows, self._options.weights, self._options.terms)
        self.store.add(part.rows, part.block.positions["key"])
        self.unscored += part.unscored

    def _wants_fen(self, target: FenTarget) -> bool:
        """Whether to write a `.fen` file; one that is not Merino's is left alone."""
        path = target.path
        if self._options.keep_fen and is_there(path) and not is_ours(path):
            self._events.say(f"No file '{path}' is created: there is one that is not Merino's")
            return False
        return self._options.keep_fen

    def _create_fen(self, target: FenTarget, stack: ExitStack) -> IO[bytes] | None:
        """The open `.fen` file, with its first line written; None if it cannot be written."""
        path = target.path
        try:
            file = stack.enter_context(writing_whole(path))
        except OSError as error:
            self._events.say(f"No file '{path}' can be created: {error.strerror}")
            return None
        if target.kept:
            self._events.say(f"File '{target.kept}' stays: it was made with other options")
        self._events.say(f"Creating file '{path}'{f' anew: {target.outdated}' if target.outdated else ''}")
        _write(file, target.first, path)
        return file

    def _read_positions(
        self, source: Source, contents: Contents | None = None, scores: ScoreFile | None = None
    ) -> None:
        is_chosen = is_cache(source.head)  # and so nothing is drawn from it again
        runs, per_game = GameRuns(), None if is_chosen else self._options.selection.per_game
        unnamed, rows_before = 0, len(self.store)
        is_endless, candidates = list[np.ndarray](), list[Candidates]()
        wanted = {} if scores is None or per_game is None else self._drawn(source.path, per_game)
        for labelled, part, drawn in in_order(
            lambda text: self._labelled_part(text, is_chosen, scores, wanted.get(text.lines_before)),
            _texts(source),
            None if scores is None else scores.stop,
        ):
            of_none = np.flatnonzero(labelled.games == NO_GAME)
            names = labelled.games.copy()
            names[of_none] = of_none + len(self.store)  # each counts as a game
            unnamed += len(of_none)
            is_endless.append(labelled.to_end == NO_END)
            candidates.append(drawn)
            self._add(part, is_first=len(self.store) == rows_before)
            runs.add(names, labelled.results)
            self.faults.extend((source.path, fault) for fault in part.faults)
            self._report(source)
        endless = np.concatenate(is_endless)
        if per_game is not None and not (chosen := drawn_of_usable(candidates, per_game)).all():
            runs, endless = runs.only(chosen), endless[chosen]
            self.store.keep(chosen)
        games = self.store.group(runs)
        self.games += contents.games if contents else games
        positions = len(self.store) - rows_before
        self._report_positions(source.name, positions, games, unnamed, int(np.count_nonzero(endless)))
        if contents and contents.unreadable:
            self._events.say(f"{counted(contents.unreadable, 'game')} could not be read when it was created")

    def _drawn(self, path: Path, per_game: int) -> dict[int, np.ndarray]:
        """Which of what `chosen_of` takes of each text are drawn from the whole file, by the lines before the text.

        No others need be searched: where the lines of games are mixed, a text has few of each, and nearly all of them.
        """

        def candidates_in(text: _Text) -> tuple[int, Candidates]:
            labelled = chosen_of(read_labelled(text.content, text.lines_before), self._options.selection)
            return text.lines_before, Candidates.of(labelled)

        with open_source(path) as source:
            lines, parts = zip(*in_order(candidates_in, _texts(source)), strict=True)
        ends = np.cumsum([len(part.keys) for part in parts])
        return dict(zip(lines, np.split(drawn_of_usable(parts, per_game), ends[:-1]), strict=True))

    def _labelled_part(
        self, text: _Text, is_chosen: bool, scores: ScoreFile | None, wanted: np.ndarray | None
    ) -> tuple[Labelled, InputPart, Candidates]:
        """Some lines as labelled positions and as rows, and what these were drawn from: the lines of a game may go on.

        What `is_chosen` was chosen before. Only those `wanted` are taken, if that is said.
        """
        labelled, options = read_labelled(text.content, text.lines_before), self._options
        selection = options.selection
        if not is_chosen:
            labelled = chosen_of(labelled, selection)
        if wanted is not None:
            labelled = labelled.only(wanted)
        candidates = Candidates.of(labelled)
        if not is_chosen and selection.quiet is not Quiet.ANY:
            candidates.usable[:] = select_quiet(labelled.positions, options.weights, selection.quiet, options.terms)
            labelled = labelled.only(candidates.usable)
        unscored, found = 0, _other_scores(options, scores, text.lines_before, labelled.positions)
        if found is not None:
            labelled = replace(labelled, scores=found)
        elif options.needs_scores:
            has_score = labelled.scores != NO_SCORE
            labelled, unscored = labelled.only(has_score), int(np.count_nonzero(~has_score))
            candidates.usable[candidates.usable] = has_score
        none = np.zeros(len(labelled.positions), dtype=np.int32)
        to_end, results = np.maximum(labelled.to_end, 0), np.zeros(0, dtype=np.float32)
        block = PositionBlock(labelled.positions, none, to_end, results, labelled.scores)
        rows = rows_of_block(block, options.terms)
        return labelled, InputPart(block, rows, 0, 0, labelled.faults, b"", unscored), candidates

    def _report_positions(self, name: str, positions: int, games: int, unnamed: int, endless: int) -> None:
        say = self._events.say
        say(f"{name}: {positions} positions" + (f" of {games} games" if unnamed < positions else ""))
        if unnamed:
            say(f"  {unnamed} name no game (c7): each counts as a game, and neighbours may be in both sets")
        if endless:
            say(f"  {endless} do not give the plies to the end of the game (c8): they count in full")


def part_of(
    options: ReadOptions, piece: GamesText, scores: ScoreFile | None = None, with_fen: bool = False
) -> InputPart:
    """The rows of some games, and their lines for a `.fen` file if `with_fen`.

    `scores` has the scores of the file if its positions are searched.
    """
    from_comments = options.needs_scores and scores is None and options.teacher is None
    games = play_games(piece.data, piece.table, 1, piece.lines_before, with_scores=from_comments)
    block = block_of_games(games, options.selection, options.strengths)
    block = refined(block, options.selection, options.weights, options.terms)
    unscored, found = 0, _other_scores(options, scores, piece.games_before, block.positions)
    if found is not None:
        block = replace(block, scores=found)
    elif from_comments:
        has_score = block.scores != NO_SCORE
        block, unscored = block.chosen(has_score), int(np.count_nonzero(~has_score))
    fen = lines_of(block, piece.games_before) if with_fen else b""
    return InputPart(
        block, rows_of_block(block, options.terms), len(games), used_games(games), tuple(games.faults()), fen, unscored
    )


def _other_scores(
    options: ReadOptions, scores: ScoreFile | None, before: int, positions: np.ndarray
) -> np.ndarray | None:
    """White's scores of POSITION[n] by a search or a teacher, int16[n]; None if those that come with them count.

    `before` is the number of games or lines before them in the file that `scores` belongs to.
    """
    if scores is not None:
        return scores.scores_of(before, positions)
    return None if options.teacher is None else taught(options.teacher, positions)


def taught(teacher: Evaluation, positions: np.ndarray) -> np.ndarray:
    """White's static scores of POSITION[n], int16[n], before the draw rules, as rows times weights are."""
    return np.clip(np.rint(teacher.white_scores(positions)), -MAX_SCORE, MAX_SCORE).astype(np.int16)


def _texts(source: Source) -> Iterator[_Text]:
    """The lines of a file, some thousand at a time."""
    lines = 0
    for text in source.lines():
        yield _Text(text, lines)
        lines += count_lines(text)


def _write(file: IO[bytes], content: bytes, path: Path) -> None:
    with writing(LearnError, path, after="; --no-cache learns without it"):
        file.write(content)


@dataclass(frozen=True)
class PositionsHere(PositionSource):
    """Positions whose rows are in this process."""

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def tell_results(self) -> bool:
        """See PositionSource."""
        return tell_results(self.rows.rows_of_games(), self.rows.results)

    def sample(self, settings: Settings) -> Samples:
        """The sample that these settings ask for; raises LearnError."""
        return split(self.rows, settings)


def split(rows: Rows, settings: Settings, from_game: int = 0) -> Sample:
    """The sample with its validation set: a fifth of the games from number `from_game` on, or of all positions.

    Raises LearnError if nothing can be learned from the rows.
    """
    rows_of_games = rows.rows_of_games()
    holdout = choose_holdout(rows_of_games, settings.seed, settings.split_by_position, from_game)
    check_results(rows_of_games, rows.results, settings.target)
    is_validation = holdout.rows(rows.game)
    if settings.split_by_position:
        check_holdout(len(rows), int(np.count_nonzero(is_validation)))
    return sample_of(rows, is_validation, settings.decay, settings.target, settings.even_stages)
