"""The stage that reads: from files of games or labelled positions to the sample that is fitted, in bounded memory.

A file, plain or compressed, is read in pieces that end between games. Several threads turn pieces into rows, which are
collected in order.

The positions of a PGN file are kept next to it, in a `.fen` cache that any program for labelled positions can read: a
line is `FEN c9 "1-0"; c8 "41"; c7 "17";` with the plies to the end of the game and the number of the game in its file,
followed by `ce 35;` if there is a score. The first line, a comment, names the source and the settings; the cache is
used only if they are the same. The last line proves that it is complete. `games.fen` is made with the first options;
with others `games.1a2b3c.fen` is added, named after them. A file that can no longer be used, because the games or the
weights that chose the positions have changed, is replaced.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from merino.core.common.files import GAMES, first_there, is_there, open_user_file, writing, writing_whole
from merino.core.common.text import counted
from merino.core.common.work import in_order
from merino.eval.evaluation import Evaluation
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.weights import defaults
from merino.formats.labelled import NO_END, NO_GAME, Labelled, read_labelled, write_labelled
from merino.formats.packed import MAX_SCORE as MOST_PACKED
from merino.formats.packed import pack, scored
from merino.formats.pgn_games import Fault, GamesText, games_of, play_games
from merino.formats.pgn_tokens import MAX_SCORE, NO_SCORE
from merino.formats.sources import Source, count_lines, digest, find_files, is_passing, name_of, open_source, plain_name
from merino.learn.errors import LearnError
from merino.learn.positions import (
    Candidates,
    PositionBlock,
    Quiet,
    Selection,
    block_of_games,
    chosen_of,
    drawn_of_usable,
    one_of_each_game,
    refined,
    select_quiet,
    used_games,
)
from merino.learn.request import Events, LearnRequest, Say, Settings, Task
from merino.learn.rescoring import ENDING, Moves, Rescore, ScoreFile, described_scorer, moves_of
from merino.learn.rows import GameRuns, Rows, RowStore, check_rows, rows_of_block
from merino.learn.sample import Sample, check_results, holdout_of, sample_of

_MARK = "# merino-positions 1"
_MAX_FIRST_LINE, _MAX_LAST_LINE = 1024, 256
_SOURCE, _WEIGHTS = re.compile(r"; source [0-9a-f]+"), re.compile(r", weights [0-9a-f]+")
SCORES_ENDING = f".train{ENDING}"  # as `merino train` names them
SHOWN_FAULTS = 5
ENOUGH_GAMES = 500  # measured: with a teacher, they bring four fifths of the fall of the error that 20,000 bring
ENOUGH = 4  # times as many games as positions to rank moves in, to draw these from


@dataclass(frozen=True)
class Contents:
    """The counts in the last line: games with positions, and games that could not be read."""

    games: int
    unreadable: int

    def line(self) -> bytes:
        """The last line of the file."""
        return f"# whole: {self.games} games, {self.unreadable} unreadable\n".encode()


def is_ours(path: Path) -> bool:
    """Whether a file was written by any Merino as a `.fen` file."""
    with open_user_file(path, GAMES) as file:
        return is_cache(file.read(len(_MARK)))


def is_cache(head: bytes) -> bool:
    """Whether a text begins as a `.fen` file of any Merino does."""
    return head.startswith(_MARK.rstrip("0123456789").encode())


def has_random_moves(head: bytes) -> bool:
    """Whether a text begins as a `.fen` file with random-move positions does; its lines look like those of others."""
    return is_cache(head) and b", strays" in re.split(rb"[\r\n]", head, maxsplit=1)[0]


def usable(path: Path, first: bytes) -> Contents | None:
    """The counts of the file if its first line is this one and it is complete, else None."""
    if first_there([path]) is None:
        return None
    with open_user_file(path, GAMES) as file:
        if file.read(len(first)) != first:
            return None
        file.seek(max(0, file.seek(0, 2) - _MAX_LAST_LINE))
        found = re.search(rb"\n# whole: (\d+) games, (\d+) unreadable\n$", b"\n" + file.read())
    return Contents(int(found[1]), int(found[2])) if found else None


def lines_of(block: PositionBlock, games_before: int) -> bytes:
    """The lines of a block; `games_before` games precede it in the file."""
    games = games_before + 1 + block.game
    return write_labelled(block.positions, block.results[block.game], games, block.to_end, block.scores)


@dataclass(frozen=True)
class FenTarget:
    """The `.fen` file for a source and settings: where it is or is to be written, and its first line.

    `contents` is None if it is to be written; `kept` is the file of other options that stays; `outdated` says why
    what is there is replaced.
    """

    path: Path
    first: bytes
    contents: Contents | None = None
    kept: Path | None = None
    outdated: str = ""


def target_of(source: Path, settings: str) -> FenTarget:
    """The file for a source with these settings: that with its name, or next to it one that is named after the options.

    Raises SourceError.
    """
    first = f"{_MARK}; source {digest(source)}; {settings}\n".encode()
    plain = plain_name(source).with_suffix(".fen")
    name = hashlib.blake2b(_options(first).encode(), digest_size=3).hexdigest()
    named = plain.with_suffix(f".{name}{plain.suffix}")
    for path in (plain, named):
        contents = usable(path, first)
        if contents:
            return FenTarget(path, first, contents)
    before = _first_line_of(plain) if first_there([plain]) else b""
    has_other_options = before.startswith(_MARK.encode()) and _options(before) != _options(first)
    if first_there([named]) or (has_other_options and _source(before) == _source(first)):
        return FenTarget(named, first, kept=plain, outdated=_why_outdated(named, first))
    return FenTarget(plain, first, outdated=_why_outdated(plain, first))


def _why_outdated(path: Path, first: bytes) -> str:
    """Why a file cannot be used; empty if there is none."""
    if first_there([path]) is None:
        return ""
    before = _first_line_of(path)
    if _source(before) != _source(first):
        return "the games have changed"
    if before != first:
        return "the weights or their terms have changed"
    return "it was not finished"


def _first_line_of(path: Path) -> bytes:
    with open_user_file(path, GAMES) as file:
        return file.readline(_MAX_FIRST_LINE)


def _options(first: bytes) -> str:
    """The options in a first line, without the weights that they were applied with."""
    return _WEIGHTS.sub("", _SOURCE.sub("", first.decode(errors="replace")))


def _source(first: bytes) -> str:
    found = _SOURCE.search(first.decode(errors="replace"))
    return found[0] if found else ""


@dataclass(frozen=True)
class ReadOptions:
    """How to read: which positions, the weights in use (to check rows) and their terms, and which files to write."""

    selection: Selection
    weights: np.ndarray
    keep_fen: bool = False  # whether to write a `.fen` file next to each PGN file
    needs_scores: bool = False  # whether to use only positions with a score
    needs_results: bool = True  # whether results count, which random-move positions do not have
    teacher: Evaluation | None = None  # whose static scores positions get, None for those in the files
    terms: TermSet = TERMS  # whose features the rows have, and whose weights these are

    def described(self) -> str:
        """The settings that decide which positions of a file are used, and with whose scores, as text."""
        scores = ", scored in the file" if self.needs_scores else ""
        if self.teacher is not None:
            scores = f", scored by {described_scorer(self.teacher)}"
        return self.selection.describe(self.weights, self.terms) + scores


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


@dataclass(frozen=True)
class Positions:
    """What was read: the number of finished games, the games that could not be read, and the rows."""

    games: int
    faults: tuple[tuple[Path, Fault], ...]
    rows: Rows

    def sample(self, settings: Settings, from_game: int = 0) -> Sample:
        """The sample of these settings, its validation set from game number `from_game` on; raises LearnError."""
        is_validation = holdout_of(self.rows, settings.seed, settings.split_by_position, from_game)
        check_results(self.rows, settings.target)
        return sample_of(self.rows, is_validation, settings.decay, settings.target)


def read_rows(paths: Sequence[Path], options: ReadOptions, events: Events) -> Positions:
    """Read all files; lines for people and progress go to `events`. Raises LearnError."""
    reader = FileReader(options, events)
    for path in paths:
        reader.read(path)
    check_found(paths, len(reader.store), reader.games, reader.unscored)
    return Positions(reader.games, tuple(reader.faults), reader.store.rows())


class FileReader:
    """Reads files, one after the other, into one store."""

    def __init__(self, options: ReadOptions, events: Events) -> None:
        self._options, self._events = options, events
        self.store = RowStore(terms=len(options.terms))
        self.games = self.unscored = 0
        self.faults: list[tuple[Path, Fault]] = []

    def read(self, path: Path) -> None:
        """Add the rows of a file; raises LearnError."""
        with open_source(path) as source:
            if source.holds_positions():
                if self._options.needs_results and has_random_moves(source.head):
                    raise LearnError(
                        f"{name_of(path, True)} contains random-move positions, which have no result: name the games "
                        "that it was made from"
                    )
                self._read_positions(source)
                return
            target = None if source.is_passing else target_of(path, self._options.described())
            if target is None or target.contents is None:
                self._read_games(source, target)
                return
        with open_source(target.path) as source:
            self._events.say(f"Using file '{target.path}', made from '{path.name}' with these settings")
            self._read_positions(source, target.contents)

    def _report(self, source: Source) -> None:
        """Report how much of a file has been read."""
        self._events.progressed(f"Reading {source.name}", source.done)

    def _read_games(self, source: Source, target: FenTarget | None) -> None:
        found = used = unreadable = rows = 0
        with ExitStack() as stack:
            wanted, fen = target is not None and self._wants_fen(target), None
            for part in in_order(lambda piece: part_of(self._options, piece, wanted), games_of(source)):
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
        self.store.add(part.rows)
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
        self._events.say(f"Creating file '{path}'{f' again: {target.outdated}' if target.outdated else ''}")
        _write(file, target.first, path)
        return file

    def _read_positions(self, source: Source, contents: Contents | None = None) -> None:
        is_chosen = is_cache(source.head)  # and so nothing is drawn from it again
        runs, per_game = GameRuns(), None if is_chosen else self._options.selection.per_game
        unnamed, rows_before = 0, len(self.store)
        is_endless, candidates = list[np.ndarray](), list[Candidates]()
        for labelled, part, drawn in in_order(lambda text: self._labelled_part(text, is_chosen), _texts(source)):
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

    def _labelled_part(self, text: _Text, is_chosen: bool) -> tuple[Labelled, InputPart, Candidates]:
        """Some lines as labelled positions and as rows, and what these were drawn from: the lines of a game may go on.

        What `is_chosen` was chosen before.
        """
        labelled, options = read_labelled(text.content, text.lines_before), self._options
        selection = options.selection
        if not is_chosen:
            labelled = chosen_of(labelled, selection)
        candidates = Candidates.of(labelled)
        if not is_chosen and selection.positions is not Quiet.ANY:
            quiet = select_quiet(labelled.positions, options.weights, selection.positions, options.terms)
            candidates.usable[:] = quiet
            labelled = labelled.only(candidates.usable)
        unscored = 0
        if options.teacher is not None:
            labelled = replace(labelled, scores=taught(options.teacher, labelled.positions))
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


def part_of(options: ReadOptions, piece: GamesText, with_fen: bool = False) -> InputPart:
    """The rows of some games, and their lines for a `.fen` file if `with_fen`."""
    from_comments = options.needs_scores and options.teacher is None
    games = play_games(piece.data, piece.table, 1, piece.lines_before, with_scores=from_comments)
    block, unscored = refined(block_of_games(games), options.selection, options.weights, options.terms), 0
    if options.teacher is not None:
        block = replace(block, scores=taught(options.teacher, block.positions))
    elif from_comments:
        has_score = block.scores != NO_SCORE
        block, unscored = block.chosen(has_score), int(np.count_nonzero(~has_score))
    fen = lines_of(block, piece.games_before) if with_fen else b""
    return InputPart(
        block, rows_of_block(block, options.terms), len(games), used_games(games), tuple(games.faults()), fen, unscored
    )


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


def gives_random_moves(path: Path) -> bool:
    """Whether a file holds games, or positions made from games with random-move positions among them.

    What can be read only once counts as games. Raises SourceError.
    """
    if is_passing(path):
        return True
    with open_source(path) as source:
        return not source.holds_positions() or has_random_moves(source.head)


def check_found(paths: Sequence[Path], rows: int, games: int, unscored: int) -> None:
    """Raise LearnError if the files gave no row; `unscored` positions were left out because they have no score."""
    names = ", ".join(name_of(path, True) for path in paths)
    if unscored and not rows:
        raise LearnError(
            f"no position in {names} comes with the score of a search; "
            "'merino positions FILE --rescore 1000 --out FILE.epd' makes them, by a search of 1000 nodes each"
        )
    if not games or not rows:
        raise LearnError(f"no finished game with a usable position in {names}")


@dataclass(frozen=True)
class TrainingData:
    """What the fit of a task is of: a sample, of so many games, and moves to rank.

    `seconds` is how long it took to read.
    """

    task: Task
    sample: Sample
    games: int
    moves: Moves | None
    seconds: float

    def tell(self, source: Path, say: Say) -> None:
        """Report the two sets and the settings of the fit, which starts from the weights in `source`."""
        settings, sample = self.task.request.settings, self.sample
        validation = sample.validation_rows
        say(f"Training set: {sample.size - validation}")
        say(f"Validation set: {validation}")
        by = "position" if settings.split_by_position else "game"
        say(
            f"Weights: '{source}'; terms {settings.moving} may move"
            + (", each with a value for the middlegame and one for the endgame" if settings.phases == 2 else "")
        )
        say(f"Method: {settings.method}, squared error; split by {by}, seed {settings.seed}")
        if settings.target.needs_scores:
            of = "scores fit the results at" if settings.target.k is None else "its own scale is"
            say(f"Target: {settings.target.describe()}; {of} K = {sample.score_k:.1f} centipawns")
        say("Start optimization...")


def with_random_moves_of(paths: Sequence[Path], request: LearnRequest, say: Say) -> LearnRequest:
    """The request without random-move positions if the files hold positions alone; says which files give none.

    Raises SourceError.
    """
    if not request.has_random_moves:
        return request
    without = [path for path in paths if not gives_random_moves(path)]
    if without:
        names = ", ".join(name_of(path, True) for path in without)
        say(f"Random-move positions are made from games only: {names} gives none")
    keep = len(without) < len(paths)
    return replace(request, selection=replace(request.selection, random_moves=keep))


def read(task: Task, events: Events) -> TrainingData:
    """The data of a task; raises LearnError."""
    request, say, target = task.request, events.say, task.request.settings.target
    options = ReadOptions(
        replace(request.selection, random_moves=request.has_random_moves),
        task.start,
        keep_fen=request.keep_fen and not request.dry_run,
        needs_scores=target.needs_scores,
        needs_results=target.needs_results,
        teacher=task.teacher,
        terms=task.terms,
    )
    paths = find_files(request.files)
    positions = read_rows(paths, options, events)
    say(f"Games: {positions.games}")
    _report_faults(positions.faults, say)
    if positions.games < ENOUGH_GAMES:
        say(
            f"{positions.games} games are too few to learn from safely: about {ENOUGH_GAMES} would do. What they teach "
            "is used only if it wins a match."
        )
    sample = positions.sample(request.settings)
    return TrainingData(task, sample, positions.games, _moves_to_rank(task, paths), time.perf_counter() - task.began)


def _moves_to_rank(task: Task, paths: Sequence[Path]) -> Moves | None:
    """The moves that the weights shall rank, as the task's ranker sees them.

    None if none are wanted, or the games of these files are too few or cannot be read again.
    """
    wanted = task.request.choice.ranked
    if task.ranker is None or any(map(is_passing, paths)):
        return None
    positions = one_of_each_game(paths, ENOUGH * wanted)[:wanted]
    return moves_of(positions, task.ranker) if len(positions) == wanted else None


def _report_faults(faults: Sequence[tuple[Path, Fault]], say: Say) -> None:
    if faults:
        say(f"{counted(len(faults), 'game')} could not be read, left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            say(f"  {name_of(path)}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            say(f"  and {len(faults) - SHOWN_FAULTS} more")


def searched_positions(paths: Sequence[Path], rescore: Rescore, events: Events) -> Iterator[np.ndarray]:
    """Ten resolved positions of each game of PGN files with the scores of searches, SCORED[n] at a time.

    The scores are kept in a file next to the games, so that a stopped run continues. Raises LearnError.
    """
    options = ReadOptions(Selection(positions=Quiet.RESOLVED, per_game=10), defaults())  # a search takes a millisecond
    positions = games = 0
    for path in paths:
        with open_source(path) as source:
            if source.is_passing or source.holds_positions():
                raise LearnError(f"--rescore searches the positions of games: '{source.name}' is no file of PGN")
            made_from = f"source {digest(path)}; {options.selection.describe(options.weights)}"
            with ScoreFile(Path(f"{path}{SCORES_ENDING}"), rescore, made_from) as scores:
                scores.tell(events.say)
                for block, found in in_order(partial(_searched, options, scores), games_of(source), scores.stop):
                    events.progressed(f"Searching {source.name}", source.done)
                    yield _scored(block, games)
                    positions, games = positions + len(block), games + found
    check_found(paths, positions, games, 0)


def _searched(options: ReadOptions, scores: ScoreFile, piece: GamesText) -> tuple[PositionBlock, int]:
    """Positions with searched scores, and the number of games that they are of."""
    games = play_games(piece.data, piece.table, 1, piece.lines_before)
    block = refined(block_of_games(games), options.selection, options.weights)
    return replace(block, scores=scores.scores_of(piece.games_before, block.positions)), len(games)


def _scored(block: PositionBlock, first_game: int) -> np.ndarray:
    """The positions of a block whose scores teach, SCORED[n]; its games are numbered from `first_game` on."""
    taken = block.chosen(np.abs(block.scores.astype(np.int64)) <= MOST_PACKED)
    games, results = first_game + taken.game.astype(np.int64), np.rint(2 * taken.results[taken.game])
    return scored(taken.positions, pack(taken.positions, taken.scores, results, games))
