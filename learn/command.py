"""`learn FILE [first last]`: at the console and in a shell."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np

from engine.common.command import CommandError
from engine.common.files import write_whole
from eval.linear.weights import WeightsError, load, note_of_k
from formats.pgn_games import Fault
from formats.sources import STANDARD_INPUT, SourceError, find_files, name_of
from learn.inputs import Reading, read_rows
from learn.installing import LEARNED, Candidate, Outcome, Verdict, places_of, text_with, use
from learn.learning import Learned, learn, split
from learn.options import HELP, Order, help_text, read_order
from learn.record import RECORD_NAME, record_of, save_record
from learn.report import Summary, summarise
from learn.sample import Point, Sample
from learn.tables import as_csv, render
from learn.telling import Diary, StepTeller
from match.prove import NOT_WEAKER, STRONGER, Trial

SHOWN_FAULTS = 5


class Interrupted(CommandError):
    """Ctrl-C where there was nothing yet to keep; the message says how things stand."""

    exit_code = 130


def run_learn(arguments: Sequence[str]) -> int:
    """The command in a shell: 0 whatever became of the new weights, 130 after Ctrl-C; raises CommandError."""
    if HELP & set(arguments):
        print(help_text())
        return 0
    outcome = _carry_out(arguments, None, NOT_WEAKER)
    return Interrupted.exit_code if outcome.verdict in (Verdict.STOPPED, Verdict.INTERRUPTED) else 0


def learn_weights(arguments: Sequence[str], say: Callable[[str], object], trial: Trial = NOT_WEAKER) -> Path | None:
    """Carry out a `learn` command typed at the console; the file of new weights if they are in use now.

    Each line goes to `say` and, unless nothing may be written, to `learning.log`. `trial` is the match that decides
    whether new weights are used, if no other is asked for. Raises CommandError.
    """
    if HELP & set(arguments):
        say(help_text())
        return None
    if str(STANDARD_INPUT) in arguments:
        raise CommandError("learn: '-' is standard input, which the console reads: name a file")
    outcome = _carry_out(arguments, say, trial)
    return outcome.written if outcome.in_use else None


def _carry_out(arguments: Sequence[str], say: Callable[[str], object] | None, trial: Trial) -> Outcome:
    """Carry out a command; lines go to standard output where `say` is None."""
    order = read_order(arguments)

    def show(line: str) -> None:
        print(line, file=sys.stderr if order.quiet_output else sys.stdout, flush=True)

    run = _Run(order, Diary(say or show), STRONGER if order.prove else trial, "learn" if say else "merino learn")
    try:
        return run.outcome()
    except (SourceError, WeightsError) as error:
        raise CommandError(f"learn: {error}") from error
    except KeyboardInterrupt as error:
        raise Interrupted(f"learn: stopped by Ctrl-C; {run.state}") from error
    except BrokenPipeError:
        raise  # nobody listens any more
    except OSError as error:
        where = f" '{error.filename}'" if error.filename else ""
        raise CommandError(f"learn: cannot write{where}: {error.strerror}; {run.state}") from error
    finally:
        run.tell.close()


class _Run:
    """One `learn` command under way; `state` says how things stand if it ends now."""

    def __init__(self, order: Order, tell: Diary, trial: Trial, command: str) -> None:
        self.tell, self.state = tell, "the weights are as they were"
        self._order, self._trial, self._command = order, trial, command
        self._places = places_of(order)

    def outcome(self) -> Outcome:
        """Learn, or put in use what was learned before."""
        if self._order.use is not None:
            return Outcome(Verdict.NO_MATCH, use(self._order, self.tell), True)
        began = time.perf_counter()
        order, weights = self._order, load(self._places.source)
        if not order.dry_run:
            self._places.check_writable()
            if order.plays_match and self._places.takes_effect:
                self._places.check_beside()
        sample, games = self._sample(weights)
        if not order.dry_run:
            self.tell.open(self._places.target.parent / "learning.log")
        with StepTeller(self.tell, order.settings) as teller:
            learned = learn(sample, weights, order.settings, teller)
        if learned.interrupted:
            self.tell("Interrupted: the best so far is kept.")
        summary = summarise(sample, learned, order.settings, games, time.perf_counter() - began)
        for line in render(summary, order.settings.root_of_sum):
            self.tell(line)
        outcome = self._decide(weights, learned, summary)
        written = None if outcome.written is None else str(outcome.written)
        summary = replace(
            summary, verdict=str(outcome.verdict), written=written, in_use=outcome.in_use, match=outcome.match
        )
        self._leave_behind(sample, learned, summary)
        return outcome

    def _sample(self, weights: np.ndarray) -> tuple[Sample, int]:
        """What there is to learn from, and of how many games."""
        order, faults = self._order, list[tuple[Path, Fault]]()
        reading = Reading(order.selection, weights, keep_fen=order.keep_fen and not order.dry_run)
        rows, games = read_rows(find_files(order.files), reading, self.tell, faults)
        self.tell(f"Games: {games}")
        _tell_faults(faults, self.tell)
        sample = split(rows, order.settings)
        held, settings = int(np.count_nonzero(sample.held)), order.settings
        self.tell(f"Training set: {sample.size - held}")
        self.tell(f"Validation set: {held}")
        by = "position" if settings.split_by_position else "game"
        self.tell(f"Weights: '{self._places.source}'; terms {settings.first} to {settings.last} may move")
        self.tell(f"Method: {settings.method}, {settings.loss} error; split by {by}, seed {settings.seed}")
        self.tell("Start optimization...")
        return sample, games

    def _decide(self, old: np.ndarray, learned: Learned, summary: Summary) -> Outcome:
        """Use the new weights, or not, and say why."""
        if not learned.accepted:
            _tell_not_accepted(summary, self.tell)
            return Outcome(Verdict.NOT_BETTER)
        if self._order.dry_run:
            self.tell("Better, but this is a dry run: nothing is written, and no match is played.")
            return Outcome(Verdict.DRY_RUN)
        text = text_with(
            self._places.source, learned.end.weights, _header(self._order, self._places.source, learned.end, summary)
        )
        candidate = Candidate(self._order, self._places, old, learned.end.weights, text, self.tell)
        if not self._order.plays_match or not self._places.takes_effect:
            outcome = candidate.install_at_once(self._trial)
        else:
            candidate.write_beside()
            self.state = f"the new weights are in '{self._places.beside}', and not in use"
            outcome = candidate.decide(self._trial, self._command, learned.interrupted)
        self.state = f"the new weights are in '{outcome.written}'"
        return outcome

    def _leave_behind(self, sample: Sample, learned: Learned, summary: Summary) -> None:
        """The record of the run, and the summary for machines."""
        order = self._order
        record = Path(order.record).expanduser() if order.record else self._places.target.parent / RECORD_NAME
        if order.record or not order.dry_run:
            save_record(record, record_of(sample, learned, order.settings, summary, order.files))
            self.tell(f"Record in '{record}'; to draw it:")
            self.tell(f"    merino plot '{record}'")
        if order.csv == "-":
            print(as_csv(summary), end="")
        elif order.csv:
            write_whole(Path(order.csv).expanduser(), as_csv(summary).encode())
        if order.as_json:
            print(json.dumps(summary.as_json()))


def _tell_not_accepted(summary: Summary, tell: Callable[[str], object]) -> None:
    if summary.is_worse:
        tell("Not accepted: on games not learned from, the error got worse. The weights stay as they were.")
    else:
        tell("Not accepted: on games not learned from, the gain is not beyond doubt. The weights stay as they were.")
    tell(
        f"What may help: more games than these {summary.games}, best Merino's own (merino selfplay 5000 writes some), "
        "fewer terms, or a stronger pull to the old weights (--prior 0.1)."
    )


def _header(order: Order, source: Path, end: Point, summary: Summary) -> list[str]:
    """Where weights come from, for the top of their file."""
    settings = order.settings
    names = ", ".join(name_of(Path(name)) for name in order.files)
    return [
        f"{LEARNED} {datetime.now():%Y-%m-%d %H:%M} from {summary.games} games of {names}, starting at {source.name}",
        f"terms {settings.first}..{settings.last}, {settings.method}, lambda {settings.lam or 'off'}, "
        f"seed {settings.seed}, {note_of_k(end.k)}",
        f"validation error {summary.valid_before:.6f} -> {summary.valid_after:.6f}, "
        f"fall {summary.gain:.6f} +- {summary.gain_error:.6f}",
    ]


def _tell_faults(faults: list[tuple[Path, Fault]], tell: Callable[[str], object]) -> None:
    if faults:
        tell(f"{len(faults)} games could not be read and are left out:")
        for path, fault in faults[:SHOWN_FAULTS]:
            tell(f"  {name_of(path)}, {fault}")
        if len(faults) > SHOWN_FAULTS:
            tell(f"  and {len(faults) - SHOWN_FAULTS} more")
