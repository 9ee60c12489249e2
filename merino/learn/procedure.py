"""The procedure of `learn`, from files of games to weights in use."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from merino.core.common.files import held, write_together
from merino.core.common.tables import html_table
from merino.core.common.text import as_word
from merino.core.common.user_files import WEIGHTS, read_user_file
from merino.eval.linear.weights import load_any
from merino.formats.sources import find_files
from merino.learn.errors import AS_THEY_WERE, LearnError, standing
from merino.learn.fitting import fit_all
from merino.learn.installing import InstallOutcome, Verdict, install, replace_weights, reports, summary_with
from merino.learn.judging import judge_fits
from merino.learn.reading import read, with_strays_of
from merino.learn.report import Summary
from merino.learn.request import Events, LearnRequest, Say, Task
from merino.learn.run import LearnRun, RunLog, StepLog, file_at, named_path, weights_paths
from merino.match.prove import GAIN, StrengthTest


@dataclass(frozen=True)
class LearnResult:
    """The result of a request: what was done with the new weights, the summary (None for --use), and other files."""

    outcome: InstallOutcome
    summary: Summary | None = None
    record: Path | None = None
    csv: Path | None = None

    def _repr_html_(self) -> str:
        """What Jupyter shows: what was done, the errors, and the weights that changed."""
        done = escape(f"{self.outcome.verdict}. {self.outcome.state}")
        if self.summary is None:
            return f"<p>{done}</p>"
        found = self.summary
        errors = ("Error before", "after", "fall (95%)"), [_errors(found)]
        changed = [(line.name, round(line.old), round(line.new), line.clear_word) for line in found.weights]
        weights = html_table(("Weight", "Before", "After", "Clear"), [row for row in changed if row[1] != row[2]])
        return f"<p>{found.games:,} games, {found.positions:,} positions: {done}</p>{html_table(*errors)}{weights}"


def _errors(found: Summary) -> tuple[str, str, str]:
    return f"{found.valid_before:.6f}", f"{found.valid_after:.6f}", f"{found.gain:.6f} ± {1.96 * found.gain_error:.6f}"


def learn_from_files(
    request: LearnRequest,
    events: Events,
    trial: StrengthTest = GAIN,
    command: str = "merino learn",
) -> LearnResult:
    """Learn new weights from games, and put them in use if they are better and pass their match.

    Four stages, each of which makes one value for the next: games are read, weights fitted to them, the fits judged on
    games kept apart, and what is accepted is installed if it passes its match.

    `trial` is that match, unless the request asks for another; `command` is the name of `learn` in hints. Lines for
    the user go to `events` and, except in a dry run, to `learning.log`. Ctrl-C ends the fit or the match and keeps the
    best so far. Raises WeightsError, and LearnError (a SourceError), whose message
    says in which state the files are; FileInUseError if another run learns
    into the same file.
    """
    with RunLog(events.say) as log, standing(AS_THEY_WERE), ExitStack() as stack:
        run = LearnRun.of(request, replace(events, say=log), trial, command)
        files = run.files
        files.check()
        if not request.dry_run:
            stack.enter_context(held(files.weights.target))  # another learn would save these new values as the old ones
        request = with_strays_of(find_files(request.files), request, log)
        task = Task.of(request, *load_any(files.weights.source), files.compares)
        data = read(task, run)
        data.tell(files.weights.source, log)
        if not request.dry_run:
            log.open(files.weights.target.parent / "learning.log")
        steps = StepLog(run.events, task.request.settings, task.terms)
        judged = judge_fits(fit_all(data, steps), run, steps)
        judged.tell(log)
        outcome = install(judged, run)
        with standing(outcome.state or AS_THEY_WERE):
            write_together(reports(judged, outcome, files))
        if files.record is not None:
            log(f"Record in '{files.record}'; to draw it:")
            log(f"    merino plot {as_word(files.record)}")
    return LearnResult(outcome, summary_with(judged, outcome), files.record, files.csv)


def use_weights(file: str, weights: str | None, say: Say) -> LearnResult:
    """Replace the file `weights`, None for the one in use, by `file` without learning; lines for the user go to `say`.

    Raises LearnError and WeightsError.
    """
    with RunLog(say) as log, standing(AS_THEY_WERE):
        paths = weights_paths(weights)
        paths.check_writable()
        with held(paths.target):
            asked = named_path(file).absolute()
            load_any(asked)
            if file_at(asked) == file_at(paths.target):
                raise LearnError(f"'{asked}' is the file in use")
            replace_weights(paths, read_user_file(asked, WEIGHTS), log)
    return LearnResult(InstallOutcome(Verdict.NO_MATCH, paths.target, True))
