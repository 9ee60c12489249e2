"""Makes evaluations from files and identities: the only place that knows which families exist."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eval.evaluation import Evaluation, EvaluationError
from eval.linear.family import LinearEvaluation
from eval.linear.weights import DEFAULT_FILE, SHIPPED, active_file
from eval.net.file import is_net_file, network_of
from eval.net.file import load_net as read_net_file
from eval.net.piece_family import net_evaluation

__all__ = [
    "DEFAULT_FILE",
    "active_file",
    "default",
    "find_net",
    "from_identity",
    "load",
    "load_chosen",
    "load_evaluation",
    "load_net",
]


def load(path: Path) -> Evaluation:
    """The evaluation in a file; raises EvaluationError."""
    return net_evaluation(read_net_file(path), str(path)) if is_net_file(path) else LinearEvaluation.load(path)


def load_evaluation(name: str | Path | None = None) -> Evaluation:
    """The evaluation of a weights file or a net, or that of a name such as "gen12", a net that comes with Merino.

    None is the evaluation in use: $MERINO_WEIGHTS, your learned weights, or those that come with Merino. Raises
    EvaluationError.

    Examples:
        >>> load_evaluation().has_terms
        True

    """
    if name is None:
        return load(active_file())
    path = Path(name).expanduser()
    files = (path, *(SHIPPED / f"{name}{ending}" for ending in ("", ".txt", ".net")))
    return load(next((file for file in files if file.is_file()), path))


def load_chosen(weights: str | None, net: str | None) -> Evaluation:
    """The net of this name, if one is named, or else what `load_evaluation` makes of `weights`."""
    return load_net(net) if net else load_evaluation(weights or None)


def find_net(name: str) -> Path:
    """The file of a net: a path, or the name of a file in the weights folder that comes with Merino.

    Raises EvaluationError.
    """
    places = [Path(name).expanduser(), SHIPPED / name, SHIPPED / f"{name}.net"]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise EvaluationError(f"there is no net '{name}', neither as a file nor in '{SHIPPED}'")
    return found.absolute()


def load_net(name: str) -> Evaluation:
    """The net found by `find_net`; raises EvaluationError."""
    path = find_net(name)
    return net_evaluation(read_net_file(path), str(path))


def default() -> Evaluation:
    """The evaluation that comes with Merino."""
    return load(DEFAULT_FILE)


def from_identity(identity: Mapping[str, Any]) -> Evaluation:
    """The evaluation with this `identity`; raises EvaluationError."""
    if set(identity) == {"net"}:
        return net_evaluation(network_of(str(identity["net"])))
    if set(identity) != {"weights"}:
        raise EvaluationError(f"unknown family of evaluations: {', '.join(identity) or 'nothing'}")
    return LinearEvaluation(np.array(identity["weights"]))
