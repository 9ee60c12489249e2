"""The procedure of `learn`, from files of games to weights in use.

The files of a run are checked before the work. New weights are tried in a match and put in use, or left next to the
old ones, which are kept. Lines for the user also go to a log.
"""

import textwrap
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from html import escape
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common import files, sealed
from merino.core.common.text import as_word, html_table
from merino.eval.families import find_net
from merino.eval.linear import family
from merino.eval.linear import weights as weights_files
from merino.eval.linear.weights import LEARNED, SHIPPED, active_file, own_file
from merino.formats import sources
from merino.learn import fitting, judging, reading
from merino.learn.request import Events, LearnError, LearnRequest, LearnStoppedError, Say
from merino.match import players, prove, statistics
from merino.match.report import signed

RECORD_NAME, LOG_NAME = "learning.json", "learning.log"
DATED, OLD = "%Y-%m-%d-%H%M%S", ".old"  # of the name of a file with weights that were replaced
AS_THEY_WERE = "the weights are as they were"
COLUMNS = 80
COMMAND = " " * 4  # begins a line to copy, which is never broken


@dataclass(frozen=True)
class WeightsPaths:
    """The file that weights come from, and the one for new weights. `takes_effect`: the file `target` is in use."""

    source: Path
    target: Path
    takes_effect: bool

    @property
    def candidate(self) -> Path:
        """The file of new weights during their match, and after it if they do not pass."""
        return self.target.with_name(f"{self.target.stem}.new{self.target.suffix}")

    def check_writable(self) -> None:
        """Check before the work that the weights can be written after it; raises LearnError or OSError.

        The user's data folder is made if it is not there, but no folder that somebody named.
        """
        if files.is_folder(self.target):
            raise LearnError(f"'{self.target}' is a folder, not a weights file")
        if self.target == own_file().absolute():
            self.target.parent.mkdir(parents=True, exist_ok=True)
        files.check_writable(self.target)


def weights_paths(weights: str | None, out: str | None = None) -> WeightsPaths:
    """The files for learning from `weights`, None for the active file of the user; raises OSError.

    New weights go to `out`, or replace the old ones; those that come with Merino stay, and new ones go to the user's.
    """
    active, source, own = active_file().absolute(), active_file(weights).absolute(), own_file().absolute()
    usual = own if files.real_path(source).parent == SHIPPED else source
    target = files.user_path(out).absolute() if out else usual
    in_use = {files.real_path(path) for path in (usual, source, active)}
    return WeightsPaths(source, target, files.real_path(target) in in_use)


@contextmanager
def standing(how: str) -> Iterator[None]:
    """Turn Ctrl-C and OSError in the block into a LearnError whose message ends with `how`, the state of the files.

    Of nested blocks the innermost one counts. BrokenPipeError passes: the reader of our output is gone.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        raise LearnStoppedError(f"stopped by Ctrl-C; {how}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LearnError(f"{files.write_fault(error)}; {how}") from error


class RunLog:
    """Passes lines on and copies them to a log, once it is opened; earlier lines are included. To be closed."""

    def __init__(self, say: Say, verbose: bool = False) -> None:
        self._say, self._verbose = say, verbose
        self._waiting: list[str] = []
        self._log: TextIOWrapper | None = None

    def __call__(self, text: str, is_detail: bool = False) -> None:
        """Write a line, folded if it is long; a detail is passed on only if the log is verbose."""
        lines = fold(text)
        self._waiting += [f"{line}\n" for line in lines]
        self._write()
        for line in lines if self._verbose or not is_detail else ():
            self._say(line)

    def open(self, path: Path) -> None:
        """Append to the log at `path` from now on; if that fails, say so and continue without a log."""
        try:
            self._log = TextIOWrapper(files.open_to_append(path), "utf-8", "backslashreplace")  # names may be any bytes
        except OSError as error:
            self._say(f"No log is kept: {files.write_fault(error, path)}")
        self._write()

    def close(self) -> None:
        """Close the log, if there is one."""
        if self._log is not None:
            with suppress(OSError):  # lines that could not be written were reported before
                self._log.close()
            self._log = None

    def _write(self) -> None:
        if self._log is not None:
            try:
                self._log.writelines(self._waiting)
                self._log.flush()
                self._waiting.clear()
            except OSError as error:
                name = self._log.name
                self.close()
                self._say(f"The log ends here: {files.write_fault(error, name)}")


def fold(text: str) -> list[str]:
    """A line as lines of at most COLUMNS, broken between words; a word that is longer stays whole.

    The lines after the first are indented by as much as that, if it is, and two more; a line that begins like a COMMAND
    stays as it is.
    """
    if len(text) <= COLUMNS or text.startswith(COMMAND):
        return [text]
    indent = len(text) - len(text.lstrip())
    after = " " * (indent + 2 if indent else 0)
    return textwrap.wrap(
        text, COLUMNS, subsequent_indent=after, expand_tabs=False, break_long_words=False, break_on_hyphens=False
    )


class Verdict(StrEnum):
    """The decision about new weights, and its reason."""

    NOT_BETTER = "not better"  # the error did not fall significantly
    NOT_EXPECTED = "no gain expected"  # so no match was played
    DRY_RUN = "dry run"
    STOPPED = "stopped"  # the fit was interrupted, so no match was played
    NO_MATCH = "no match"  # not wanted, or the weights in use do not change
    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    INTERRUPTED = "interrupted"  # the match


REASONS = {  # why new weights are not in use
    Verdict.NOT_BETTER: "on games kept aside the error does not fall beyond doubt",
    Verdict.NOT_EXPECTED: "no gain is expected, so no match was played (--prove plays one)",
    Verdict.DRY_RUN: "this is a dry run, without a match",
    Verdict.STOPPED: "learning was interrupted, and no match has shown what they are worth",
    Verdict.FAILED: "the match shows no gain on the old ones, although their error is lower",
    Verdict.UNDECIDED: "so many games do not decide whether they gain on the old ones",
    Verdict.INTERRUPTED: "the match was interrupted before it was settled",
}


@dataclass(frozen=True)
class InstallOutcome:
    """The result for new weights: their file, if they were written, and whether they are in use now."""

    verdict: Verdict
    written: Path | None = None
    in_use: bool = False
    match: dict[str, Any] | None = None  # see `Proof.as_json`

    @property
    def state(self) -> str:
        """Where the new weights are, in words; "" if they were not written."""
        return f"the new weights are in '{self.written}'" if self.written else ""

    def added_to(self, summary: judging.Summary) -> judging.Summary:
        """The summary with the verdict on the new weights."""
        written = None if self.written is None else str(self.written)
        return replace(summary, verdict=str(self.verdict), written=written, in_use=self.in_use, match=self.match)


@dataclass(frozen=True)
class LearnResult:
    """The result of a request: what was done with the new weights, the summary (None for --use), and the record."""

    outcome: InstallOutcome
    summary: judging.Summary | None = None
    record: Path | None = None

    def __repr__(self) -> str:
        return f"LearnResult({self.outcome!r}, record={self.record!r})"

    def _repr_html_(self) -> str:
        """What Jupyter shows: what was done, the errors, and the weights that changed."""
        done, found = escape(f"{self.outcome.verdict}. {self.outcome.state}"), self.summary
        if found is None:
            return f"<p>{done}</p>"
        gain = f"{found.gain:.6f} ± {statistics.Z_95 * found.gain_error:.6f}"
        row = f"{found.valid_before:.6f}", f"{found.valid_after:.6f}", gain
        errors = html_table(("Error before", "after", "fall (95%)"), [row])
        changed = [(line.name, round(line.old), round(line.new), line.clear_word) for line in found.weights]
        weights = html_table(("Weight", "Before", "After", "Clear"), [row for row in changed if row[1] != row[2]])
        return f"<p>{found.games:,} games, {found.positions:,} positions: {done}</p>{errors}{weights}"


def earlier_weights(target: Path) -> list[tuple[datetime, Path]]:
    """The weights that were in this file before, the last ones first, each with the time when they were replaced."""
    found = list[tuple[datetime, Path]]()
    for name in files.names_in(target.parent):
        with suppress(ValueError):  # another file
            when = datetime.strptime(name.removeprefix(f"{target.name}.").removesuffix(OLD), DATED)
            if name == _name_of(target, when):
                found.append((when, target.with_name(name)))
    undated = target.with_suffix(OLD)  # as Merino kept the last ones up to 2.0.0
    if files.is_regular(undated) and undated != target:
        found.append((datetime.fromtimestamp(undated.stat().st_mtime), undated))
    return sorted(found, reverse=True)


def _name_of(target: Path, when: datetime) -> str:
    """The name of the file that keeps what this one had until then."""
    return f"{target.name}.{when:{DATED}}{OLD}"


def replace_weights(
    paths: WeightsPaths, content: bytes, say: Say, report: Mapping[Path, bytes] | None = None
) -> Path | None:
    """Replace the weights, keep the old file and write the report; raises OSError, and then changes nothing.

    The weights come last: once they are new, all is done, and until then the same command does it again. Returns the
    file with the old ones, which replaces none; None if they are new already.
    """
    replaced = paths.target if files.is_there(paths.target) else paths.source
    kept: dict[Path, bytes] = {}
    if paths.takes_effect or replaced == paths.target:
        old = files.read_user_file(replaced, files.WEIGHTS)
        if old != content:
            kept[_new_name(paths.target)] = old
    files.write_together({**kept, **(report or {}), paths.target: content}, like=paths.target)
    for path in kept:
        say(f"Old values saved in file '{path}'")
    say(f"New values in file '{paths.target}'")
    return next(iter(kept), None)


def _new_name(target: Path) -> Path:
    """Where what is in this file now is to be kept."""
    names, when = files.names_in(target.parent), datetime.now()
    while (name := _name_of(target, when)) in names:
        when += timedelta(seconds=1)
    return target.with_name(name)


@dataclass(frozen=True)
class _LearnRun:
    """A request with its files, callbacks, and the match that decides about new weights, if `compares`.

    The `record` is None if it is not wanted; `command` is that of `learn` in hints.
    """

    request: LearnRequest
    paths: WeightsPaths
    record: Path | None
    compares: bool
    events: Events
    trial: prove.StrengthTest
    command: str

    def check(self) -> None:
        """Raise LearnError or OSError if a file could not be written after the work, or would replace what is read.

        New weights alone may replace those that they were learned from, as these are then kept as the old ones.
        """
        paths, new, others, request = self.paths, list[Path](), list[Path](), self.request
        if not request.dry_run:
            new = [paths.target]
            paths.check_writable()
        if self.compares:
            if files.is_there(paths.candidate) and LEARNED.encode() not in files.read_user_file(
                paths.candidate, files.WEIGHTS
            ):
                raise LearnError(f"'{paths.candidate}' is in the way: learn did not write it; give it another name")
            others.append(paths.candidate)
        if self.record is not None:
            files.check_writable(self.record)
            others.append(self.record)
        read = sources.find_files(request.files)
        if request.teacher and request.settings.target.needs_scores:
            read.append(find_net(request.teacher))
        if fault := files.overwritten([*new, *others], read) or files.overwritten(others, [paths.source]):
            raise LearnError(fault)

    def install(self, judged: judging.Judged) -> InstallOutcome:
        """Put new weights in use if they pass their match, or at once if none is wanted; else leave them apart.

        If the fit was interrupted, no match is played. Raises OSError, and LearnError once a file has been written.
        """
        learned, summary, paths = judged.learned, judged.summary, self.paths
        if not learned.accepted:
            return self._kept(Verdict.NOT_BETTER, summary)
        if self.request.dry_run:
            return self._kept(Verdict.DRY_RUN, summary)
        if self.compares and summary.expected_elo == 0 and not (learned.interrupted or self.request.prove):
            return self._kept(Verdict.NOT_EXPECTED, summary)
        content = self._content(judged)
        if not self.compares:
            outcome = self._write(judged, content, "in use without a match" if paths.takes_effect else "not in use")
            with standing(outcome.state):
                return self._proved(judged, outcome) if self.request.prove else outcome
        files.write_whole(paths.candidate, content)
        with standing(f"the new weights are in '{paths.candidate}', and not in use"):
            if learned.interrupted:
                return self._kept(Verdict.STOPPED, summary)
            verdict, match = self._play(judged, paths.candidate)
            if verdict is not Verdict.PASSED:
                return self._kept(verdict, summary, match)
            return self._write(judged, content, f"in use, as they won their match ({_score_of(match)})", match)

    def _content(self, judged: judging.Judged) -> bytes:
        """The file of the new weights, with their origin at its top."""
        summary, settings = judged.summary, judged.request.settings
        names = ", ".join(sources.name_of(Path(name)) for name in self.request.files)
        header = [
            f"{LEARNED} {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}, starting at "
            f"{self.paths.source.name}",
            f"terms {settings.moving}, {settings.method}, decay {settings.decay or 'off'}, target "
            f"{settings.target.name}, seed {settings.seed}, {weights_files.note_of_k(judged.learned.end.k)}",
            f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
            f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
        ]
        return weights_files.learned_text(self.paths.source, judged.learned.end.weights, header, judged.terms).encode()

    def reports(self, judged: judging.Judged, outcome: InstallOutcome) -> dict[Path, bytes]:
        """The record, if it is wanted, once it is known what becomes of the new weights."""
        if self.record is None or judged.record is None:
            return {}
        return {self.record: sealed.as_json(judged.record | {"summary": outcome.added_to(judged.summary).as_json()})}

    def _write(
        self, judged: judging.Judged, content: bytes, how: str, match: dict[str, Any] | None = None
    ) -> InstallOutcome:
        """Write the weights to their place, and say `how` they stand, where the old ones are, and what shows more."""
        paths, verdict = self.paths, Verdict.PASSED if match else Verdict.NO_MATCH
        outcome = InstallOutcome(verdict, paths.target, paths.takes_effect, match)
        old = replace_weights(paths, content, self.events.detail, self.reports(judged, outcome))
        with standing(outcome.state):
            if match:
                paths.candidate.unlink(missing_ok=True)
            kept = f"; the old ones are in '{old}'" if old else ""
            self.events.say(f"The new weights, in '{paths.target}', are {how}{kept}.")
            if not self.request.prove:
                self._next_match(paths.target, old)
        return outcome

    def _proved(self, judged: judging.Judged, outcome: InstallOutcome) -> InstallOutcome:
        """The same after a match that decides nothing, because the weights in use do not change."""
        verdict, match = self._play(judged, self.paths.target)
        self.events.say(f"Their match: {verdict}, {_score_of(match)}.")
        return replace(outcome, verdict=verdict, match=match)

    def _kept(self, verdict: Verdict, found: judging.Summary, match: dict[str, Any] | None = None) -> InstallOutcome:
        """Say why the weights stay as they were, and what may help; after a match the new ones are in `candidate`."""
        say, played = self.events.say, f" ({_score_of(match)})" if match else ""
        say(f"The weights stay as they were: {REASONS[verdict]}{played}.")
        new = self.paths.candidate if match or verdict is Verdict.STOPPED else None
        if new:
            where = f" --weights {as_word(self.paths.target)}" if self.request.weights or self.request.out else ""
            say(f"The new ones are in '{new}'; this puts them in use all the same:")
            say(f"{COMMAND}{self.command} --use {as_word(new)}{where}")
        if verdict in (Verdict.UNDECIDED, Verdict.INTERRUPTED) and new:
            self._next_match(new, None)
        elif verdict is not Verdict.DRY_RUN:
            self._next_step(found)
        return InstallOutcome(verdict, new, False, match)

    def _next_step(self, found: judging.Summary) -> None:
        """Say what helps where games teach the weights nothing."""
        if found.expected_elo == 0 and found.games >= fitting.FEW_GAMES:
            more = "These weights are near the best that their terms can do; full and gen13 are stronger evaluations."
        else:
            more = "More games may teach more, best Merino's own: merino selfplay 5000 writes some."
        self.events.say(f"{more} What the games can teach their player:")
        games = next((file for file in self.request.files if ".pgn" in Path(file).suffixes), "GAMES.pgn")
        for word in ("profile", "drill"):
            self.events.say(f"{COMMAND}merino {word} {as_word(games)} --player NAME")

    def _next_match(self, new: Path, kept: Path | None) -> None:
        """Suggest the match that would show more strength; `kept` has what was in the file of the new weights."""
        old = kept if kept and new.samefile(self.paths.source) else self.paths.source
        self.events.say("Whether they gain, and how much, a longer match shows:")
        self.events.say(f"{COMMAND}{prove.offer(new, old)}")

    def _play(self, judged: judging.Judged, new: Path) -> tuple[Verdict, dict[str, Any]]:
        """The verdict of the match of the new weights against the old, and its result."""
        trial, say, names = self.trial, self.events.detail, (new.name, self.paths.source.name)
        say(f"A match of at most {trial.most_games} games, {trial.time_control} a move, decides: {trial.takes}.")
        ends = (judged.learned.end, judged.learned.start)
        new_player, old = (
            players.OwnPlayer(name, family.LinearEvaluation(end.weights, terms=judged.terms))
            for name, end in zip(names, ends, strict=True)
        )
        proof = prove.prove(new_player, old, trial, say, self.events.match_state, self.request.concurrency)
        undecided = Verdict.INTERRUPTED if proof.interrupted else Verdict.UNDECIDED
        return {"H1": Verdict.PASSED, "H0": Verdict.FAILED}.get(proof.verdict, undecided), proof.as_json(names)


def _score_of(match: Mapping[str, Any]) -> str:
    """The result of a match in words."""
    found = statistics.estimate(np.array(match["pentanomial"]))
    return f"{match['games']} games, Elo {signed(found.elo, found.elo_error)}"


def learn_from_files(
    request: LearnRequest, events: Events, trial: prove.StrengthTest = prove.GAIN, command: str = "merino learn"
) -> LearnResult:
    """Learn new weights from games, and put them in use if they are better and pass their match.

    Four stages, each of which makes one value for the next: games are read, weights fitted to them, the fit judged on
    games kept apart, and what is accepted is installed if it passes its match.

    `trial` is that match, unless the request asks for another; `command` is the name of `learn` in hints. Lines for the
    user go to `events` and, except in a dry run, to `learning.log`. Ctrl-C ends the fit or the match and keeps the best
    so far. Raises WeightsError, LearnError (a SourceError), whose message says in which state the files are, and
    FileInUseError if another run learns into the same file.
    """
    with closing(RunLog(events.say, request.verbose)) as log, standing(AS_THEY_WERE), ExitStack() as stack:
        detail, paths = partial(log, is_detail=True), weights_paths(request.weights, request.out)
        record = None if request.dry_run else paths.target.parent / RECORD_NAME
        record = files.user_path(request.record) if request.record else record
        compares = request.plays_match and paths.takes_effect and not request.dry_run
        trial, heats = (prove.STRONGER, prove.GAIN.heats) if request.prove else (trial, trial.heats)
        run = _LearnRun(request, paths, record, compares, replace(events, say=log, detail=detail), trial, command)
        run.check()
        if not request.dry_run:
            stack.enter_context(files.held(paths.target))  # another learn would save these new values as the old ones
        terms, weights = weights_files.load_any(paths.source)
        data = reading.read(request, terms, weights, run.events)
        data.report(paths.source, detail)
        if not request.dry_run:
            log.open(paths.target.with_name(LOG_NAME))
        settings, fitted = fitting.fit_all(data, run.events)
        judged = judging.judge_fit(data, settings, fitted, heats if compares else None, run.events, record is not None)
        judged.report(run.events)
        outcome = run.install(judged)
        with standing(outcome.state or AS_THEY_WERE):
            files.write_together(run.reports(judged, outcome))
        if record is not None:
            shown = f"--verbose, or '{paths.target.with_name(LOG_NAME)}'"
            log(f"All weights and their intervals: {shown}. Pictures: merino plot {as_word(record)}")
    return LearnResult(outcome, outcome.added_to(judged.summary), record)


def use_weights(file: str, weights: str | None, say: Say) -> LearnResult:
    """Replace the file `weights`, None for the one in use, by `file` without learning; lines for the user go to `say`.

    Raises LearnError and WeightsError.
    """
    with closing(RunLog(say)) as log, standing(AS_THEY_WERE):
        paths = weights_paths(weights)
        paths.check_writable()
        with files.held(paths.target):
            asked = files.user_path(file).absolute()
            weights_files.load_any(asked)
            if files.real_path(asked) == files.real_path(paths.target):
                raise LearnError(f"'{asked}' is the file in use")
            replace_weights(paths, files.read_user_file(asked, files.WEIGHTS), log)
    return LearnResult(InstallOutcome(Verdict.NO_MATCH, paths.target, True))
