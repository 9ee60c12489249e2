"""The stage that reads: from files of games or labelled positions to the sample that is fitted, in bounded memory.

A file, plain or compressed, is read in pieces that end between games. Several threads turn pieces into rows, which are
collected in order.

On request the positions of a PGN are kept next to it, in a `.fen` file that any program for labelled positions can
read: a line is `FEN c9 "1-0"; c8 "41"; c7 "17";` with the plies to the end of the game and the number of the game,
followed by `ce 35;` if there is a score. Its first line, a comment, names the source and the settings: the file is used
only if they are the same, and gives the same rows in the same order. Its last line shows that it is whole.
"""

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
from merino.eval import evaluation, families
from merino.eval.linear import family, phases, registry
from merino.formats import labelled, pgn_games, pgn_tokens, scored_games, sources
from merino.learn import positions, rescoring
from merino.learn import sample as samples
from merino.learn.positions import PositionBlock, Rows
from merino.learn.request import Events, LearnError, LearnRequest, Quiet, Say, Selection

_CHOSEN = b"# merino-positions "  # how a file of positions that were chosen before begins
_WHOLE = re.compile(rb"\n# whole: (\d+) games\n\Z")
_MAX_LINE = 1024
WITHOUT = "; --no-cache learns without it"


def has_random_moves(head: bytes) -> bool:
    """Whether a text begins as a file with random-move positions does; its lines look like those of others."""
    first = re.split(rb"[\r\n]", head, maxsplit=1)[0]
    return first.startswith(_CHOSEN) and (b", strays" in first or b"random_moves=True" in first)


@dataclass(frozen=True)
class ReadOptions:
    """How to read: which positions, and the weights in use (to check rows) and their terms."""

    selection: Selection
    weights: np.ndarray
    needs_scores: bool = False  # whether to use only positions with a score
    needs_results: bool = True  # whether results count, which random-move positions do not have
    teacher: evaluation.Evaluation | None = None  # whose static scores positions get, None for those in the files
    terms: registry.TermSet = registry.TERMS  # whose features the rows have, and whose weights these are
    keep_fen: bool = False  # whether to keep the positions of each PGN file next to it

    def head_of(self, source: Path) -> bytes:
        """The first line of the file that keeps the positions of a source."""
        scorer = self.teacher and rescoring.described_scorer(self.teacher)
        own = family.LinearEvaluation(self.weights, terms=self.terms)
        resolver = None if self.selection.positions is Quiet.ANY else rescoring.described_scorer(own)
        settings = f"{self.selection}, by {resolver}, scored by {scorer or self.needs_scores}"
        return _CHOSEN + f"2; source {sources.digest(source)}; {settings}\n".encode()


class InputPart(NamedTuple):
    """The rows and counts of a piece of a file."""

    rows: Rows
    faults: Sequence[sources.Fault]
    unscored: int  # positions left out because they have no score
    found: int = 0  # games in the text
    used: int = 0  # games with a result and no fault
    fen: bytes = b""  # the lines to keep


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
        self._options, self._events = options, events
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
            fen, head = sources.plain_name(path).with_suffix(".fen"), b""
            if self._options.keep_fen and not source.is_passing:
                head = self._options.head_of(path)
            games = games_kept(fen, head) if head else None
            if games is None:
                with ExitStack() as stack:
                    self._read_games(source, self._begun(fen, head, stack) if head else None)
                return
        with sources.open_source(fen) as source:
            self._events.say(f"Using file '{fen}', made from '{path.name}' with these settings")
            self._read_labelled(source, games)

    def _begun(self, fen: Path, head: bytes, stack: ExitStack) -> IO[bytes]:
        """The file that is to keep positions, with its first line; raises LearnError."""
        again = " again" if files.is_there(fen) else ""
        stack.enter_context(files.writing(LearnError, fen, after=WITHOUT))
        file = stack.enter_context(files.writing_whole(fen))
        self._events.say(f"Creating file '{fen}'{again}")
        file.write(head)
        return file

    def _read_games(self, source: sources.Source, fen: IO[bytes] | None) -> None:
        found = used = unscored = rows = 0
        unit = scored_games.ScoreUnit(source) if self._options.needs_scores and self._options.teacher is None else None
        rows_of = partial(part_of, self._options, fen is not None, None if unit is None else unit.whole)
        for part in work.in_order(rows_of, pgn_games.games_of(source)):
            self._add(source, part, "game")
            rows, unscored = rows + len(part.rows), unscored + part.unscored
            found, used = found + part.found, used + part.used
            if fen:
                fen.write(part.fen)
        if fen:
            fen.write(f"# whole: {used} games\n".encode())
        self.games += used
        if unit is not None:
            unit.note(source.path, unscored, unscored + rows, self.left_out)
        self._events.say(f"{source.name}: {found} games, {rows} positions")

    def _add(self, source: sources.Source, part: InputPart, what: str) -> None:
        self.store.add(part.rows)
        self.unscored += part.unscored
        self.left_out.add(source.path, part.faults, what)
        self._events.progressed(f"Reading {source.name}", source.done)

    def _read_labelled(self, source: sources.Source, kept: int | None = None) -> None:
        draws = None if source.head.startswith(_CHOSEN) else self._options.selection
        parts = list[Drawn]()
        for part, drawn in work.in_order(
            lambda piece: labelled_part(self._options, draws, *piece), source.numbered_lines()
        ):
            self._add(source, part, "line")
            self.left_out.count(source.path, part.unscored, sources.NO_SCORE)
            parts.append(drawn)
        keys, codes, usable, results, unnamed = map(np.concatenate, zip(*parts, strict=True))
        codes_of_rows = codes[usable]
        if draws and draws.per_game is not None:  # the lines of a game may be in several pieces
            chosen = positions.drawn(keys, codes, draws.per_game)[usable]
            codes_of_rows, results = codes_of_rows[chosen], results[chosen]
            if not chosen.all():
                self.store.keep(chosen)
        games = self.store.group(codes_of_rows, results)
        self.games += games if kept is None else kept
        found, say, nameless = len(results), self._events.say, unnamed.sum()
        say(f"{source.name}: {found} positions" + (f" of {games} games" if nameless < found else ""))
        if nameless:
            say(f"  {nameless} name no game (c7): each counts as a game, and neighbours may be in both sets")


def games_kept(fen: Path, head: bytes) -> int | None:
    """The number of games whose positions a file with this first line keeps, None if it is to be made (again).

    Raises LearnError for a file that no Merino wrote.
    """
    if not files.is_regular(fen):
        return None
    with files.open_user_file(fen, files.GAMES) as file:
        before = file.readline(_MAX_LINE)
        file.seek(max(0, file.seek(0, 2) - _MAX_LINE))
        whole = _WHOLE.search(file.read())
    if not before.startswith(_CHOSEN):
        raise LearnError(f"'{fen}' is in the way: learn did not write it{WITHOUT}")
    return int(whole[1]) if whole and before == head else None


def labelled_part(options: ReadOptions, draws: Selection | None, text: bytes, lines: int) -> tuple[InputPart, Drawn]:
    """The rows of some lines of a file, which `lines` precede, and what they were drawn from by `draws`.

    None draws nothing: all positions were chosen before, also those that end in check.
    """
    read = labelled.read_labelled(text, lines, in_check=draws is None)
    draws = draws or Selection()
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


def part_of(options: ReadOptions, keeps: bool, whole: int | None, piece: pgn_games.GamesText) -> InputPart:
    """The rows of some games, and their lines if a file `keeps` them; `whole` is for `play_games`."""
    games = pgn_games.play_games(piece.data, piece.table, 1, piece.lines_before, whole)
    table, faults = games.table, tuple(games.faults(needs_result=True))
    is_used = (table["plies"] > 0) & (table["fault"] == pgn_games.NO_FAULT) & (table["result"] != pgn_tokens.UNFINISHED)
    block = positions.block_of_games(games)
    block = positions.refined(block, options.selection, options.weights, options.terms, piece.games_before)
    block, has_score = _scored(options, block)
    fen, numbers = b"", piece.games_before + 1 + block.game
    if keeps:
        fen = labelled.write_labelled(block.positions, block.results[block.game], numbers, block.to_end, block.scores)
    rows = positions.rows_of_block(block, options.terms)
    return InputPart(rows, faults, int((~has_score).sum()), len(table), int(np.count_nonzero(is_used)), fen)


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


@dataclass(frozen=True)
class TrainingData:
    """What is fitted: a sample of so many games, and the weights of a set to start from.

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
        needs_scores=target.needs_scores,
        needs_results=target.needs_results,
        teacher=teacher,
        terms=terms,
        keep_fen=request.keep_fen and not request.dry_run,
    )
    found = read_rows(paths, options, events)
    events.detail(f"Games: {found.games}")
    taken = samples.split(found.rows, request.settings)
    return TrainingData(request, terms, start, taken, found.games, found.left_out, began, time.perf_counter() - began)


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
