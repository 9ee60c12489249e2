"""The stage that reads: from files of games or labelled positions to the sample that is fitted, in bounded memory.

A file, plain or compressed, is read in pieces that end between games. Several threads turn pieces into rows, which are
collected in order.

The positions of a PGN file are kept next to it, in a `.fen` cache that any program for labelled positions can read: a
line is `FEN c9 "1-0"; c8 "41"; c7 "17";` with the plies to the end of the game and the number of the game in its file,
followed by `ce 35;` if there is a score. The first line, a comment, names the source and the settings; the cache is
used only if they are the same, and else replaced. The last line proves that it is complete.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from merino.core.common import files, work
from merino.core.common.text import counted
from merino.eval import evaluation, families
from merino.eval.linear import phases, registry
from merino.formats import labelled, pgn_games, pgn_tokens, scored_games, sources
from merino.learn import positions, rescoring
from merino.learn import sample as samples
from merino.learn.positions import PositionBlock, Rows
from merino.learn.request import DEFAULT_TEACHER, Events, LearnError, LearnRequest, Say, Selection

_MARK = "# merino-positions 1"
_LAST_LINE = re.compile(rb"\n# whole: (\d+) games, (\d+) unreadable\n\Z")
_MAX_FIRST_LINE, _MAX_LAST_LINE = 1024, 256
ENOUGH = 4  # times as many games as positions to rank moves in, to draw these from


@dataclass(frozen=True)
class Cache:
    """The `.fen` file for a source and settings: where it lies, and its first line.

    `games` with positions, and those that were `unreadable`, are counted in its last line. `games` is None where the
    file cannot be used. A file in its place `is_foreign` if no Merino wrote it.
    """

    path: Path
    first: bytes
    games: int | None = None
    unreadable: int = 0
    is_foreign: bool = False

    @classmethod
    def of(cls, source: Path, settings: str) -> Cache:
        """The cache of a source; raises SourceError."""
        path = sources.plain_name(source).with_suffix(".fen")
        first = f"{_MARK}; source {sources.digest(source)}; {settings}\n".encode()
        if not files.is_regular(path):
            return cls(path, first, is_foreign=files.is_there(path))
        with files.open_user_file(path, files.GAMES) as file:
            before = file.readline(_MAX_FIRST_LINE)
            file.seek(max(0, file.seek(0, 2) - _MAX_LAST_LINE))
            last = _LAST_LINE.search(file.read())
        if before == first and last is not None:
            return cls(path, first, int(last[1]), int(last[2]))
        return cls(path, first, is_foreign=not is_cache(before))


def is_cache(head: bytes) -> bool:
    """Whether a text begins as a `.fen` file of any Merino does."""
    return head.startswith(_MARK.rstrip("0123456789").encode())


def has_random_moves(head: bytes) -> bool:
    """Whether a text begins as a `.fen` file with random-move positions does; its lines look like those of others."""
    return is_cache(head) and b", strays" in re.split(rb"[\r\n]", head, maxsplit=1)[0]


@dataclass(frozen=True)
class ReadOptions:
    """How to read: which positions, the weights in use (to check rows) and their terms, and which files to write."""

    selection: Selection
    weights: np.ndarray
    keep_fen: bool = False  # whether to write a `.fen` file next to each PGN file
    needs_scores: bool = False  # whether to use only positions with a score
    needs_results: bool = True  # whether results count, which random-move positions do not have
    teacher: evaluation.Evaluation | None = None  # whose static scores positions get, None for those in the files
    terms: registry.TermSet = registry.TERMS  # whose features the rows have, and whose weights these are

    def described(self) -> str:
        """The settings that decide which positions of a file are used, and with whose scores, as text."""
        scores = ", scored in the file" if self.needs_scores else ""
        if self.teacher is not None:
            scores = f", scored by {positions.described_scorer(self.teacher)}"
        return positions.described(self.selection, self.weights, self.terms) + scores


class InputPart(NamedTuple):
    """The rows and counts of a piece of a file, and of games their lines for the cache."""

    rows: Rows
    faults: Sequence[sources.Fault]
    unscored: int  # positions left out because they have no score
    found: int = 0  # games in the text
    used: int = 0  # games with a result and no fault
    unreadable: int = 0
    fen: bytes = b""


class Drawn(NamedTuple):
    """The labelled positions of a piece of a file that were drawn: their keys and the codes of their games, uint64[n].

    `usable`, bool[n], marks those with a row; only these have `results`, float32[n]. `unnamed` is the number of those
    that name no game.
    """

    keys: np.ndarray
    codes: np.ndarray
    usable: np.ndarray
    results: np.ndarray
    unnamed: np.ndarray


@dataclass(frozen=True)
class Positions:
    """What was read: the number of finished games, the rows, and what was left out."""

    games: int
    rows: Rows
    left_out: sources.LeftOut


def read_rows(paths: Sequence[Path], options: ReadOptions, events: Events) -> Positions:
    """Read all files; lines for people and progress go to `events`. Raises LearnError."""
    reader = FileReader(options, events)
    for path in paths:
        reader.read(path)
    for line in reader.left_out.lines():
        events.say(line)
    names = ", ".join(sources.name_of(path, True) for path in paths)
    if reader.unscored and not len(reader.store):
        raise LearnError(
            f"no position in {names} comes with the score of a search; "
            "'merino positions FILE --rescore 1000 --out FILE.epd' makes them, by a search of 1000 nodes each"
        )
    if not reader.games or not len(reader.store):
        raise LearnError(f"no finished game with a usable position in {names}")
    return Positions(reader.games, reader.store.rows(), reader.left_out)


class FileReader:
    """Reads files, one after the other, into one store."""

    def __init__(self, options: ReadOptions, events: Events) -> None:
        self._options, self._events, self._settings = options, events, options.described()
        self.store = positions.RowStore(terms=len(options.terms))
        self.games = self.unscored = 0
        self.left_out = sources.LeftOut()

    def read(self, path: Path) -> None:
        """Add the rows of a file; raises LearnError."""
        with sources.open_source(path) as source:
            if source.holds_positions():
                if self._options.needs_results and has_random_moves(source.head):
                    raise LearnError(
                        f"{sources.name_of(path, True)} contains random-move positions, which have no result: name the "
                        "games that it was made from"
                    )
                self._read_labelled(source)
                return
            cache = None if source.is_passing else Cache.of(path, self._settings)
            if cache is None or cache.games is None:
                self._read_games(source, cache if self._options.keep_fen else None)
                return
        with sources.open_source(cache.path) as source:
            self._events.say(f"Using file '{cache.path}', made from '{path.name}' with these settings")
            self._read_labelled(source, cache)

    def _read_games(self, source: sources.Source, cache: Cache | None) -> None:
        found = used = unreadable = unscored = rows = 0
        from_comments = self._options.needs_scores and self._options.teacher is None
        unit = scored_games.ScoreUnit(source) if from_comments else None
        if cache is not None and cache.is_foreign:
            self._events.say(f"No file '{cache.path}' is created: there is one that is not Merino's")
            cache = None
        with ExitStack() as stack:
            fen = None
            rows_of = partial(part_of, self._options, cache is not None, None if unit is None else unit.whole)
            for part in work.in_order(rows_of, pgn_games.games_of(source)):
                self._add(source, part, "game")
                rows, unscored = rows + len(part.rows), unscored + part.unscored
                found, used, unreadable = found + part.found, used + part.used, unreadable + part.unreadable
                if cache and fen is None and len(part.rows):
                    fen = self._create(cache, stack)
                    cache = cache if fen else None
                if cache and fen:
                    _write(fen, part.fen, cache.path)
            if cache and fen:
                _write(fen, f"# whole: {used} games, {unreadable} unreadable\n".encode(), cache.path)
        self.games += used
        if unit is not None:
            unit.note(source.path, unscored, unscored + rows, self.left_out)
        self._events.say(f"{source.name}: {found} games, {rows} positions")

    def _create(self, cache: Cache, stack: ExitStack) -> IO[bytes] | None:
        """The open `.fen` file, with its first line written; None if it cannot be written."""
        path, again = cache.path, " again" if files.is_there(cache.path) else ""
        try:
            file = stack.enter_context(files.writing_whole(path))
        except OSError as error:
            self._events.say(f"No file '{path}' can be created: {error.strerror}")
            return None
        self._events.say(f"Creating file '{path}'{again}")
        _write(file, cache.first, path)
        return file

    def _add(self, source: sources.Source, part: InputPart, what: str) -> None:
        self.store.add(part.rows)
        self.unscored += part.unscored
        self.left_out.add(source.path, part.faults, what)
        self._events.progressed(f"Reading {source.name}", source.done)

    def _read_labelled(self, source: sources.Source, cache: Cache | None = None) -> None:
        draws = Selection() if is_cache(source.head) else self._options.selection  # what a cache has was drawn before
        parts = list[Drawn]()
        for part, drawn in work.in_order(
            lambda piece: labelled_part(self._options, draws, *piece), source.numbered_lines()
        ):
            self._add(source, part, "line")
            self.left_out.count(source.path, part.unscored, sources.NO_SCORE)
            parts.append(drawn)
        keys, codes, usable, results, unnamed = map(np.concatenate, zip(*parts, strict=True))
        codes_of_rows = codes[usable]
        if draws.per_game is not None:  # the lines of a game may be in several pieces
            chosen = positions.drawn(keys, codes, draws.per_game)[usable]
            codes_of_rows, results = codes_of_rows[chosen], results[chosen]
            if not chosen.all():
                self.store.keep(chosen)
        games = self.store.group(codes_of_rows, results)
        self.games += games if cache is None or cache.games is None else cache.games
        found, say, nameless = len(results), self._events.say, unnamed.sum()
        say(f"{source.name}: {found} positions" + (f" of {games} games" if nameless < found else ""))
        if nameless:
            say(f"  {nameless} name no game (c7): each counts as a game, and neighbours may be in both sets")
        if cache and cache.unreadable:
            say(f"{counted(cache.unreadable, 'game')} could not be read when it was created")


def labelled_part(options: ReadOptions, draws: Selection, text: bytes, lines: int) -> tuple[InputPart, Drawn]:
    """The rows of some lines of a file, which `lines` precede, and what they were drawn from by `draws`."""
    read = labelled.read_labelled(text, lines)
    is_nameless = read.games == labelled.NO_GAME
    names = np.where(is_nameless, np.arange(lines, lines + len(is_nameless), dtype=np.uint64), read.games)
    codes = positions.codes_of(names, read.results)  # those without a name count as a game each
    if draws.per_game is not None:
        chosen = positions.drawn(read.positions["key"], codes, draws.per_game)
        read, codes = read.only(chosen), codes[chosen]
    keys = read.positions["key"].copy()
    usable = positions.select_quiet(read.positions, options.weights, draws.positions, options.terms)
    read = read.only(usable)
    none = np.zeros(len(read.positions), dtype=np.int32)
    to_end, no_results = np.maximum(read.to_end, 0), np.zeros(0, dtype=np.float32)
    block, has_score = _scored(options, PositionBlock(read.positions, none, to_end, no_results, read.scores))
    read = read.only(has_score)
    usable[usable] = has_score
    unnamed = np.count_nonzero(read.games == labelled.NO_GAME, keepdims=True)
    part = InputPart(positions.rows_of_block(block, options.terms), read.faults, int((~has_score).sum()))
    return part, Drawn(keys, codes, usable, read.results, unnamed)


def part_of(options: ReadOptions, has_cache: bool, whole: int | None, piece: pgn_games.GamesText) -> InputPart:
    """The rows of some games, and their lines if a cache is to be written; `whole` is for `play_games`."""
    games = pgn_games.play_games(piece.data, piece.table, 1, piece.lines_before, whole)
    table, faults = games.table, tuple(games.faults(needs_result=True))
    unreadable = np.count_nonzero(table["fault"] != pgn_games.NO_FAULT)
    is_used = (table["plies"] > 0) & (table["fault"] == pgn_games.NO_FAULT) & (table["result"] != pgn_tokens.UNFINISHED)
    block = positions.refined(positions.block_of_games(games), options.selection, options.weights, options.terms)
    block, has_score = _scored(options, block)
    fen, numbers = b"", piece.games_before + 1 + block.game
    if has_cache:
        fen = labelled.write_labelled(block.positions, block.results[block.game], numbers, block.to_end, block.scores)
    rows = positions.rows_of_block(block, options.terms)
    counts = int((~has_score).sum()), len(table), int(np.count_nonzero(is_used)), int(unreadable)
    return InputPart(rows, faults, *counts, fen)


def _scored(options: ReadOptions, block: PositionBlock) -> tuple[PositionBlock, np.ndarray]:
    """The block with the teacher's scores, or without those that lack one; which of them it still has, bool[n]."""
    has_score = np.ones(len(block), dtype=np.bool_)
    if options.teacher is not None:
        scores = np.clip(
            np.rint(options.teacher.white_scores(block.positions)), -pgn_tokens.MAX_SCORE, pgn_tokens.MAX_SCORE
        )
        return replace(block, scores=scores.astype(np.int16)), has_score
    if options.needs_scores:
        has_score = block.scores != pgn_tokens.NO_SCORE
        block = block.chosen(has_score)
    return block, has_score


def _write(file: IO[bytes], content: bytes, path: Path) -> None:
    with files.writing(LearnError, path, after="; --no-cache learns without it"):
        file.write(content)


@dataclass(frozen=True)
class TrainingData:
    """What is fitted: a sample of so many games, the weights of a set to start from, and moves to rank.

    The settings of the `request` are those of the set, and its target names the teacher. With random-move positions K
    is that of the teacher: results cannot give it. The work `began` at a time of `time.perf_counter`, and reading took
    `seconds`.
    """

    request: LearnRequest
    terms: registry.TermSet
    start: np.ndarray
    sample: samples.Sample
    games: int
    left_out: sources.LeftOut
    moves: rescoring.Moves | None
    began: float
    seconds: float

    def report(self, source: Path, say: Say) -> None:
        """Report the two sets and the settings of the fit, which starts from the weights in `source`."""
        settings, validation = self.request.settings, self.sample.validation_rows
        say(f"Training set: {self.sample.size - validation}")
        say(f"Validation set: {validation}")
        both = ", each with a value for the middlegame and one for the endgame" if settings.phases == 2 else ""
        say(f"Weights: '{source}'; terms {settings.moving} may move{both}")
        by = "position" if settings.split_by_position else "game"
        say(f"Method: {settings.method}, squared error; split by {by}, seed {settings.seed}")
        if settings.target.needs_scores:
            of = "scores fit the results at" if settings.target.k is None else "its own scale is"
            say(f"Target: {settings.target.describe()}; {of} K = {self.sample.score_k:.1f} centipawns")
        say("Start optimization...")


def read(request: LearnRequest, terms: registry.TermSet, weights: np.ndarray, events: Events) -> TrainingData:
    """The data of a request that starts from these weights of a set.

    Raises LearnError if it cannot start there, and EvaluationError if its teacher cannot be read.
    """
    began, say, paths = time.perf_counter(), events.say, sources.find_files(request.files)
    request, teacher = prepared(request, terms, paths, say)
    start, target = start_of(weights, request.settings.phases, len(terms)), request.settings.target
    options = ReadOptions(
        replace(request.selection, random_moves=request.has_random_moves),
        start,
        keep_fen=request.keep_fen and not request.dry_run,
        needs_scores=target.needs_scores,
        needs_results=target.needs_results,
        teacher=teacher,
        terms=terms,
    )
    found = read_rows(paths, options, events)
    events.detail(f"Games: {found.games}")
    taken, moves = samples.split(found.rows, request.settings), moves_to_rank(request, paths, teacher)
    seconds = time.perf_counter() - began
    return TrainingData(request, terms, start, taken, found.games, found.left_out, moves, began, seconds)


def prepared(
    request: LearnRequest, terms: registry.TermSet, paths: Sequence[Path], say: Say
) -> tuple[LearnRequest, evaluation.Evaluation | None]:
    """The request for a set, with its target as its teacher scores it, and the teacher, if it needs one.

    Random-move positions are left out if the files hold positions alone; says which files give none. What can be read
    only once counts as games. Raises SourceError.
    """
    without, has_random = [], request.has_random_moves
    settings = request.settings.of_set(terms)
    if has_random:
        for path in paths:
            if not sources.is_passing(path):
                with sources.open_source(path) as source:
                    if source.holds_positions() and not has_random_moves(source.head):
                        without.append(path)
        if without:
            names = ", ".join(sources.name_of(path, True) for path in without)
            say(f"Random-move positions are made from games only: {names} gives none")
        request = replace(request, selection=replace(request.selection, random_moves=len(without) < len(paths)))
    if request.teacher is None or not settings.target.needs_scores:
        return replace(request, settings=settings), None
    teacher = families.load_net(request.teacher)
    k = teacher.k if request.has_random_moves else settings.target.k
    settings = replace(settings, target=replace(settings.target, scorer=request.teacher, k=k))
    return replace(request, settings=settings), teacher


def start_of(weights: np.ndarray, number: int | None, terms: int) -> np.ndarray:
    """The weights to start from, with this number of phases; raises LearnError if two would have to become one."""
    if number == 1 and phases.phases_of(weights, terms) == 2:
        raise LearnError(
            "the weights have two phases, and one cannot be learned from there: name others by --weights, such as a "
            "copy of greko2015-before-training.txt"
        )
    return phases.in_two_phases(weights, terms) if number == 2 else weights


def moves_to_rank(
    request: LearnRequest, paths: Sequence[Path], teacher: evaluation.Evaluation | None
) -> rescoring.Moves | None:
    """The moves that the weights shall rank, as the teacher or the default net sees them.

    None if none are wanted, or the games of these files are too few or cannot be read again.
    """
    wanted = request.choice.ranked
    if not wanted or any(map(sources.is_passing, paths)):
        return None
    ranked = positions.one_of_each_game(paths, ENOUGH * wanted)[:wanted]
    if len(ranked) < wanted:
        return None
    return rescoring.moves_of(ranked, teacher or families.load_net(request.teacher or DEFAULT_TEACHER))
