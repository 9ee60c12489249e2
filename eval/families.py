"""Evaluations made from files and from what identifies them: the only place that knows which families there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eval.evaluation import Evaluation, EvaluationError
from eval.linear.family import LinearEvaluation
from eval.linear.weights import DEFAULT_FILE, SHIPPED, active_file
from eval.net.family import NetEvaluation
from eval.net.file import is_net_file

__all__ = ["DEFAULT_FILE", "active_file", "default", "find_net", "from_identity", "load", "load_net"]


def load(path: Path) -> Evaluation:
    """The evaluation that a file holds; raises EvaluationError."""
    return NetEvaluation.load(path) if is_net_file(path) else LinearEvaluation.load(path)


def find_net(name: str) -> Path:
    """The file of a net: a path, or the name of a file in the folder of the weights that come with Merino.

    Raises EvaluationError.
    """
    places = [Path(name).expanduser(), SHIPPED / name, SHIPPED / f"{name}.net"]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise EvaluationError(f"there is no net '{name}', neither as a file nor in '{SHIPPED}'")
    return found.absolute()


def load_net(name: str) -> Evaluation:
    """The net that `find_net` finds; raises EvaluationError."""
    return NetEvaluation.load(find_net(name))


def default() -> Evaluation:
    """The evaluation that comes with Merino."""
    return load(DEFAULT_FILE)


def from_identity(identity: Mapping[str, Any]) -> Evaluation:
    """The evaluation with this `identity`; raises EvaluationError."""
    if set(identity) == {"net"}:
        return NetEvaluation.from_identity(str(identity["net"]))
    if set(identity) != {"weights"}:
        raise EvaluationError(f"no family of evaluations is known by {', '.join(identity) or 'nothing'}")
    return LinearEvaluation(np.array(identity["weights"]))
