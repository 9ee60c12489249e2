"""The evaluations that the page may choose from: those on disk, those it sent, and those learned here."""

from __future__ import annotations

import secrets
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from merino.core.common.errors import MerinoError
from merino.core.common.user_files import is_there, user_folder
from merino.engine.report.phrases import is_material, phrases_of
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import DEFAULT_FILE, EvaluationFile, active_file, evaluation_in, load
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS, TermTable

IN_USE, USUAL = "in-use", "usual"
MAX_OWN = 50  # sent by the page or learned; the oldest go first


class UnknownWeightsError(MerinoError):
    """An unknown id of weights."""


@dataclass(frozen=True)
class Entry:
    """An evaluation to choose by `id`; `name` is for people, `file` its file, if it has one.

    `changed`, the time of the last change of the file in seconds, tells the page that it is to be asked about anew.
    `has_terms`: it explains its score by terms, whose weights can be changed and saved. `values_pieces`: it has none,
    but says what each piece adds to the score.
    """

    id: str
    name: str
    file: str | None
    has_terms: bool = True
    values_pieces: bool = False
    changed: float | None = None


class Evaluations:
    """Finds evaluations by id. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[Entry, Evaluation]] = {}
        self._read: dict[Path, tuple[int, Evaluation]] = {}
        self._count = 0
        self._server = secrets.token_hex(4)  # in ids, which a page may keep longer than the server runs
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """All that can be chosen, those in use first."""
        in_use = active_file().absolute()
        found = [self._entry(IN_USE, f"in use: {in_use.stem}", in_use)]
        shipped = sorted(DEFAULT_FILE.parent.glob("*.txt"), key=lambda path: (path != DEFAULT_FILE, path.name))
        found += [self._entry(path.stem, path.stem, path) for path in shipped]
        found += [
            self._entry(path.name, f"net {path.stem}", path) for path in sorted(DEFAULT_FILE.parent.glob("*.net"))
        ]
        for path in sorted(path for path in user_folder("data").glob("*") if path.suffix in (".txt", ".net")):
            found.append(self._entry(f"yours/{path.name}", f"yours: {path.name}", path))
        with self._lock:
            return found + [entry for entry, _ in self._own.values()]

    def find(self, name: str = IN_USE) -> Evaluation:
        """The evaluation with this id; raises UnknownWeightsError, EvaluationError."""
        with self._lock:
            if name in self._own:
                return self._own[name][1]
        entries = {entry.id: entry for entry in self.entries()}
        entry = entries.get(name) or entries.get(name.removesuffix(".txt")) or entries.get(f"{name}.net")
        if entry is None or entry.file is None:
            raise UnknownWeightsError(f"there are no weights {name[:60]!r}, only {', '.join(entries)}")
        return self._loaded(Path(entry.file))

    def usual_beside(self, evaluation: Evaluation) -> Evaluation | None:
        """The usual second evaluation: for a net the terms in use, for terms a net that values each piece."""
        if not evaluation.has_terms:
            return self.find()
        entry = next((entry for entry in self.entries() if entry.values_pieces), None)
        return self.find(entry.id) if entry else None

    def add(self, name: str, evaluation: Evaluation) -> Entry:
        """Keep an evaluation until the server ends, under an id that no server gives again."""
        with self._lock:
            self._count += 1
            entry = _described(Entry(f"own-{self._server}-{self._count}", name, None), evaluation)
            self._own[entry.id] = (entry, evaluation)
            while len(self._own) > MAX_OWN:
                del self._own[next(iter(self._own))]
            return entry

    def read(self, name: str, content: bytes) -> Entry:
        """Keep the content of a file named `name`, of weights or of a net; raises EvaluationError."""
        evaluation = evaluation_in(EvaluationFile(Path(name), content))
        evaluation.name = name
        return self.add(name, evaluation)

    def _entry(self, name: str, title: str, path: Path) -> Entry:
        """The entry of a file. One that cannot be read is listed as one with terms; choosing it raises the error."""
        entry = Entry(name, title, str(path), changed=path.stat().st_mtime if is_there(path) else None)
        try:
            return _described(entry, self._loaded(path))
        except EvaluationError:
            return entry

    def _loaded(self, path: Path) -> Evaluation:
        """The evaluation of a file, read again only if the file has changed."""
        stamp = path.stat().st_mtime_ns if is_there(path) else -1
        with self._lock:
            known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, load(path))
            with self._lock:
                self._read[path] = known
        return known[1]


def _described(entry: Entry, evaluation: Evaluation) -> Entry:
    has_terms = evaluation.has_terms
    return replace(entry, has_terms=has_terms, values_pieces=evaluation.has_attributed and not has_terms)


def text_of(evaluation: Evaluation, header: str) -> str:
    """The text of an evaluation's weights file; raises EvaluationError if it has none."""
    if not evaluation.has_terms:
        raise EvaluationError(f"{evaluation.name} has no weights that could be saved as a file")
    with tempfile.TemporaryDirectory(prefix="merino-") as folder:
        path = Path(folder) / "weights.txt"
        evaluation.save(path, [header])
        return path.read_text(encoding="utf-8")


def terms(evaluation: Evaluation) -> list[dict[str, object]]:
    """The terms and tables of an evaluation, as plain data; those of the default set if it has none."""
    of = evaluation.terms if isinstance(evaluation, LinearEvaluation) else TERMS
    return [
        {
            "number": at.start + 1,  # from 1; that of its first weight for a table
            "name": each.name,
            "group": each.group.title,
            "multiplier": each.group.multiplier,
            "phase": of[at.start].phase.name.lower(),
            "low": float(of[at.start].bounds[0]),
            "high": float(of[at.start].bounds[1]),
            "sentence": each.sentence,
            "phrases": () if is_material(each.name) else phrases_of(each.name),  # what sentences call it
            "cells": [term.name for term in of[at]] if isinstance(each, TermTable) else [],  # its weights
        }
        for each, at in of.to_read()
    ]
