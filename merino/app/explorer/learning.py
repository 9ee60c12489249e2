"""Learning shown on the page: the weights learned from its games, and what pieces are worth in them.

No file of the user is changed. The games are in a temporary folder while the work lasts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from merino.app.explorer.fields import Fields, RequestError
from merino.app.explorer.game_files import SentGames
from merino.app.explorer.server_state import ServerState
from merino.app.explorer.stopping import Message, Say, Stop
from merino.eval.evaluation import Evaluation
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.phases import column_names, phases_of
from merino.eval.linear.registry import TermSet
from merino.lab.points.reading import PointsRequest, read_source, sets_of, values_of
from merino.lab.points.report import as_object
from merino.learn.errors import LearnError, LearnStoppedError
from merino.learn.minimisers import METHODS, Step
from merino.learn.positions import Selection
from merino.learn.procedure import learn_from_files
from merino.learn.report import load_record
from merino.learn.request import DEFAULT_SELECTION, DEFAULT_TEACHER, NO_CHOICE, Events, LearnRequest
from merino.learn.settings import Settings
from merino.learn.targets import RESULT, Target

MAX_NODES, MAX_A_GAME = 1_000_000, 1000  # of the search of a position; positions of a game


def learn(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Learn from the games of one text or of several files, report the progress, and keep record and weights."""
    evaluation, sent = fields.evaluation(state.evaluations), SentGames.of(fields)
    asked = _request(fields, terms_of(evaluation))
    with tempfile.TemporaryDirectory(prefix="merino-") as place:
        folder = Path(place)
        games = sent.written(folder)
        weights = folder / "weights.txt"
        evaluation.save(weights)
        record = folder / "learning.json"
        request = replace(asked, files=tuple(map(str, games)), weights=str(weights), record=str(record))
        events = _events(sent, asked.settings, terms_of(evaluation), say, stop)
        with sent.naming():
            try:
                result = learn_from_files(request, events)
            except LearnStoppedError as error:
                raise RequestError("stopped") from error
        state.record = {**load_record(record), "files": list(sent.names)}
    summary = result.summary
    if summary is None:
        raise LearnError("nothing was learned")
    learned = evaluation.with_numbers({line.name: line.new for line in summary.weights}).with_k(summary.k)
    learned.name = f"learned from {sent.title}"
    entry = state.evaluations.add(learned.name, learned)
    state.learned = entry.id
    return {"type": "done", "record": state.record, "weights": asdict(entry), "accepted": summary.accepted}


def _request(fields: Fields, terms: TermSet) -> LearnRequest:
    """What the fields ask for, but for the files; it changes none of the user's."""
    settings, rescore = _settings(fields, terms), fields.number("rescore", 1, MAX_NODES)
    if rescore is not None and not settings.target.needs_scores:
        raise RequestError("the target 'result' uses no searched scores; choose another target")
    teacher = DEFAULT_TEACHER if fields.flag("teacher") and settings.target.needs_scores else None
    selection = _selection(fields.number("per_game", 1, MAX_A_GAME), teacher)
    return LearnRequest(
        (),
        settings,
        selection,
        NO_CHOICE,
        teacher,
        rescore=rescore,
        dry_run=True,
        keep_fen=False,
        plays_match=False,
    )


def _events(sent: SentGames, settings: Settings, terms: TermSet, say: Say, stop: Stop) -> Events:
    """Progress for the page, with the names that the user knows the games by; each look is also for `stop`."""
    began: list[float] = []

    def heed() -> None:
        if stop.is_set:
            raise KeyboardInterrupt  # as the learner expects it, which keeps the best so far

    def stepped(step: Step) -> None:
        began.append(step.at)
        say({"type": "step", **_step(step, settings, began[0], terms)})
        heed()

    def progressed(what: str, done: float | None) -> None:
        say({"type": "progress", "what": sent.named(what), "done": done})
        heed()

    def told(line: str) -> None:
        say({"type": "text", "text": sent.named(line)})

    return Events(told, progressed, stepped=stepped)


def points(fields: Fields, _: ServerState, say: Say, stop: Stop) -> Message:
    """The values of the pieces in the games of one text or of several files, by regression."""
    sent = SentGames.of(fields)

    @contextmanager
    def progress_of(what: str) -> Iterator[Any]:
        def tell(done: float | None) -> None:
            say({"type": "progress", "what": "Reading games", "done": done})
            if stop.is_set:
                raise RequestError("stopped")

        yield tell

    with tempfile.TemporaryDirectory(prefix="merino-") as place:
        folder = Path(place)
        games = sent.joined(folder)
        with sent.naming():
            source = read_source(games, False, progress_of, lambda _: None)
            say({"type": "progress", "what": "Fitting", "done": None})
            request = PointsRequest()
            findings = values_of(sets_of([replace(source, label=sent.title)], request).sets, request)
    if not findings.values:
        raise RequestError(
            "too few games to fit: two decided games are needed, one of them with a pawn more on one side"
        )
    return {"type": "done", "points": as_object(findings.values[0])}


def terms_of(evaluation: Evaluation) -> TermSet:
    """The set of an evaluation that has terms."""
    if not isinstance(evaluation, LinearEvaluation):
        raise RequestError(f"{evaluation.name} has no weights to learn; choose a weights file to start from")
    return evaluation.terms


def _selection(per_game: int | None, teacher: str | None) -> Selection:
    """The positions to learn from; a teacher says most of quiet ones, and of strays, which no game has."""
    usual = DEFAULT_SELECTION if teacher else Selection()
    return usual if per_game is None else replace(usual, per_game=per_game)


def _settings(fields: Fields, terms: TermSet) -> Settings:
    usual = Settings()
    method = fields.text("method", usual.method)
    if method not in METHODS:
        raise RequestError(f"'method' is one of {', '.join(METHODS)}")
    first = fields.number("first", 1, len(terms)) or usual.first
    last = fields.number("last", 1, len(terms)) or len(terms)
    if first > last:
        raise RequestError(f"the first term, {first}, comes after the last, {last}")
    return replace(
        usual, first=first, last=last, method=method, target=_target(fields), phases=fields.number("phases", 1, 2)
    )


def _target(fields: Fields) -> Target:
    """The target, in the words of `merino learn --target`."""
    try:
        return Target.read(fields.text("target", RESULT))
    except ValueError as error:
        raise RequestError(f"'target': {error}") from error


def _step(step: Step, settings: Settings, began: float, terms: TermSet) -> dict[str, Any]:
    train, valid = settings.errors(step.sums)
    values = step.parameters.weights
    weights = dict(zip(column_names(terms, phases_of(values, len(terms))), values.tolist(), strict=True))
    return {"seconds": step.at - began, "train": train, "valid": valid, "k": step.parameters.k, "weights": weights}
