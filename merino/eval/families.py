"""Makes evaluations from files and identities: the only place that knows which families exist."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merino.core.common import errors, files, text
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.linear import family, registry, sets
from merino.eval.linear.weights import (
    DEFAULT_FILE,
    ENDINGS,
    SHIPPED,
    WeightsError,
    active_file,
    reason_of,
    shipped,
    text_in,
)
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import begins_like_net, kind_of, net_in, network_of

__all__ = ["DEFAULT_FILE", "active_file", "shipped"]  # what others define and is looked for here


class EvaluationFile(NamedTuple):
    """The content of a file of an evaluation, a net or weights, as it was read."""

    path: Path
    content: bytes


def read_evaluation(path: Path) -> EvaluationFile:
    """Read the file of an evaluation; raises EvaluationError."""
    try:
        return EvaluationFile(path, files.read_user_file(path, kind_of))
    except OSError as error:
        raise WeightsError(f"cannot read weights file '{path}': {reason_of(error, path)}") from error


def evaluation_in(file: EvaluationFile) -> Evaluation:
    """The evaluation in a file that has been read; raises EvaluationError."""
    if begins_like_net(file.content[: files.HEAD_BYTES]):
        return NetEvaluation(net_in(file.content, file.path), str(file.path))
    return family.LinearEvaluation.of_text(text_in(file.content, file.path), str(file.path))


def load(path: Path) -> Evaluation:
    """The evaluation in a file; raises EvaluationError."""
    return evaluation_in(read_evaluation(path))


def load_evaluation(name: str | Path | None = None) -> Evaluation:
    """The evaluation of a weights file or a net, or that of a name such as "gen12", a net that comes with Merino.

    None is the evaluation in use: $MERINO_WEIGHTS, your learned weights, or those that come with Merino. Raises
    EvaluationError.

    Examples:
        >>> load_evaluation().has_terms
        True

    """
    if name is None:
        return load(find_weights())
    errors.instance("the name of an evaluation", name, (str, Path), "a path or a name such as 'gen12'")
    path = find_weights(str(name))
    try:
        return load(path)
    except EvaluationError as error:
        if files.is_there(path):
            raise
        raise EvaluationError(_with_names(str(error), str(name))) from error


def find_weights(name: str | None = None) -> Path:
    """The file of an evaluation: a path, or the name of a file in the weights folder that comes with Merino.

    None is the one in use. The file need not exist. Raises EvaluationError.
    """
    return active_file(name, *(ENDINGS if name else ()))


def load_chosen(weights: str | None, net: str | None) -> Evaluation:
    """The net of this name, if one is named, or else what `load_evaluation` makes of `weights`."""
    return load_net(net) if net else load_evaluation(weights or None)


def find_net(name: str) -> Path:
    """The file of a net: a path, or the name of a file in the weights folder that comes with Merino.

    Raises EvaluationError.
    """
    path = active_file(name, ".net")
    if not files.is_there(path):
        known = _names(name, ".net")
        raise EvaluationError(f"there is no net '{name}', neither as a file nor in '{SHIPPED}'; {known}")
    return path.absolute()


def read_net(name: str) -> EvaluationFile:
    """Read the net found by `find_net`; raises EvaluationError."""
    path = find_net(name)
    try:
        return EvaluationFile(path, files.read_user_file(path, files.NET))
    except OSError as error:
        raise EvaluationError(f"cannot read net '{path}': {error.strerror}") from error


def own_names(*endings: str) -> list[str]:
    """The names of the evaluations that come with Merino, of those with one of these endings."""
    return sorted(path.stem for path in SHIPPED.iterdir() if path.suffix in endings)


def _names(name: str, *endings: str) -> str:
    """What Merino's own evaluations are called, with the nearest to a name that is not there."""
    names = own_names(*endings)
    return f"Merino comes with {', '.join(names)}{text.did_you_mean(Path(name).stem, names)}"


def _with_names(error: str, name: str) -> str:
    """The error of a file that is missing, with what Merino's own are called; one of these, or a file, was meant."""
    fault, asks, others = error.partition("; did you mean ")
    own = _names(name, *ENDINGS)
    return f"{fault}; {own}" if own.endswith("?") else f"{fault}; {own}{asks}{others}"


def load_net(name: str) -> Evaluation:
    """The net found by `find_net`; raises EvaluationError."""
    path, content = read_net(name)
    return NetEvaluation(net_in(content, path), str(path))


def default() -> family.LinearEvaluation:
    """The evaluation that comes with Merino: the terms."""
    found = load(DEFAULT_FILE)
    assert isinstance(found, family.LinearEvaluation)
    return found


def from_identity(identity: Mapping[str, Any]) -> Evaluation:
    """The evaluation with this `identity`; raises EvaluationError."""
    if set(identity) == {"net"}:
        return NetEvaluation(network_of(str(identity["net"])))
    if not {"weights"} <= set(identity) <= {"weights", "terms", "version"}:
        raise EvaluationError(f"unknown family of evaluations: {', '.join(identity) or 'nothing'}")
    terms = sets.set_named(str(identity.get("terms", registry.TERMS.name)))
    if terms.version != identity.get("version", ""):
        raise EvaluationError(f"the set of terms '{terms.name}' is another one here: its file differs")
    return family.LinearEvaluation(np.array(identity["weights"]), terms=terms)
