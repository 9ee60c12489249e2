"""Players: Merino with chosen weights or search parameters, or another engine."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merino.inner.core.common.checks import instance, whole_number
from merino.inner.core.common.nearest import did_you_mean
from merino.inner.core.common.user_files import first_there, is_there, names_in, user_path
from merino.inner.engine.search.parameters import PARAMETERS, ParameterError, current_name, parameters_for
from merino.inner.eval.evaluation import Evaluation, EvaluationError
from merino.inner.eval.families import default, load, load_net
from merino.inner.match.errors import PlayerError

DEFAULT = "default"
EVAL_FILE = "EvalFile"  # the word for a net, as in UCI
SHARED_NUMBERS = ("threads", "hash")
OWN_NUMBERS = (*SHARED_NUMBERS, "overhead")
PROTOCOLS = ("engine", "xboard")  # prefixes; "engine" speaks UCI
FORMS = (
    "'default', a weights file, search parameters or weights (name=value,VAL_N=300), both (weights.txt,name=value), or "
    "another engine: its command (stockfish,option.Skill Level=5), which speaks UCI, or xboard:COMMAND; 'name=X' names "
    "a player, 'threads=N' and 'hash=MB' work for every player, 'overhead=MS' for Merino"
)


@dataclass(frozen=True)
class OwnPlayer:
    """Merino with this evaluation and these search parameters (order of the registry; None for the evaluation's)."""

    label: str
    evaluation: Evaluation = field(default_factory=default)
    parameters: tuple[int, ...] | None = None
    threads: int = 1
    hash_mb: int | None = None  # None for the default of the match
    overhead: int | None = None  # milliseconds per move spent outside the search, on a clock; None for the default

    def __post_init__(self) -> None:
        instance("label", self.label, str, "a text")
        instance("evaluation", self.evaluation, Evaluation, "an Evaluation, as load_evaluation returns it")
        _check(threads=self.threads, hash_mb=self.hash_mb)
        if self.overhead is not None:
            whole_number("overhead (in milliseconds)", self.overhead, 0)

    def identity(self) -> dict[str, Any]:
        """Everything its play depends on, for comparison with an earlier run."""
        numbers = {"threads": self.threads, "hash": self.hash_mb, "overhead": self.overhead}
        parameters = self.parameters or parameters_for(self.evaluation)
        return self.evaluation.identity | {"parameters": list(parameters), **numbers}


@dataclass(frozen=True)
class OtherPlayer:
    """Another engine: a command and its options."""

    label: str
    command: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)
    speaks_xboard: bool = False
    threads: int | None = None  # None for one
    hash_mb: int | None = None  # None for the default of the match

    def __post_init__(self) -> None:
        instance("label", self.label, str, "a text")
        instance("command", self.command, tuple, "a tuple of words, such as ('stockfish',)")
        instance("options", self.options, dict, "a dict of names and values")
        _check(threads=self.threads, hash_mb=self.hash_mb)

    def identity(self) -> dict[str, Any]:
        """Everything known about it, for comparison with an earlier run."""
        numbers = {"threads": self.threads, "hash": self.hash_mb}
        return {"command": list(self.command), "options": self.options, **numbers}


def _check(**numbers: int | None) -> None:
    """Raise TypeError or ValueError for a number that is given and not above 0."""
    for name, number in numbers.items():
        if number is not None:
            whole_number(name, number, 1)


Player = OwnPlayer | OtherPlayer


def read_player(text: str) -> Player:
    """Read a player in any of FORMS; raises PlayerError."""
    head, settings = "", {}
    for index, part in enumerate(text.split(",")):
        name, equals, value = part.partition("=")
        if equals:
            settings[name.strip()] = value.strip()
        elif index:
            raise PlayerError(f"player '{text}': '{part}' must have the form name=value")
        else:
            head = part.strip()
    label = settings.pop("name", text)
    command = _command(head)
    if command:
        return _other(text, label, command, head.startswith("xboard:"), settings)
    return _own(text, label, head, settings)


def find_program(name: str) -> str | None:
    """The path of a program, or None; the full path if its folder is given, as in `./engine` or `~/engine`."""
    folder_named = "/" in name or os.sep in name
    try:
        return shutil.which(str(user_path(name).absolute()) if folder_named else name)
    except (OSError, ValueError):  # a name that no program can have
        return None


def _command(head: str) -> tuple[str, ...]:
    """The command line of an engine; empty if `head` does not name one."""
    prefix, colon, rest = head.partition(":")
    if colon and prefix in PROTOCOLS:
        words = shlex.split(rest)
        found = find_program(words[0]) if words else None
        if not found:
            raise PlayerError(f"player '{head}': program not found")
        return (found, *words[1:])
    if not head or head == DEFAULT or first_there([Path(head)]) and not os.access(head, os.X_OK):
        return ()
    words = shlex.split(head)
    found = find_program(words[0])
    return (found, *words[1:]) if found else ()


def _other(text: str, label: str, command: tuple[str, ...], xboard: bool, settings: dict[str, str]) -> OtherPlayer:
    numbers = {name: _whole(text, name, settings.pop(name)) for name in SHARED_NUMBERS if name in settings}
    _check_numbers(text, numbers)
    wrong = [name for name in settings if not name.startswith("option.")]
    if wrong:
        raise PlayerError(f"player '{text}': write an option of another engine as option.{wrong[0]}=...")
    options = {name.removeprefix("option."): value for name, value in settings.items()}
    return OtherPlayer(label, command, options, xboard, numbers.get("threads"), numbers.get("hash"))


def _own(text: str, label: str, head: str, settings: dict[str, str]) -> OwnPlayer:
    if head not in ("", DEFAULT) and not _is_file_named(head):
        hint = did_you_mean(head, (DEFAULT, *names_in(Path(head).parent)))
        hint = hint or "; 'merino match -h' shows what a player can be"
        raise PlayerError(f"player '{text}': '{head}' is neither a weights file nor a program{hint}")
    own = {name: _whole(text, name, settings.pop(name)) for name in OWN_NUMBERS if name in settings}
    _check_numbers(text, own)
    try:
        net = settings.pop(EVAL_FILE, "")
        terms = load(user_path(head)) if head not in ("", DEFAULT) else default()
        evaluation = load_net(net) if net else terms
        weights = {name: _whole(text, name, settings.pop(name)) for name in evaluation.bounds if name in settings}
        evaluation = evaluation.with_numbers(weights)
        known = [parameter.name for parameter in PARAMETERS]
        for name in settings:
            if current_name(name) not in known:
                hint = did_you_mean(name, (*known, *evaluation.bounds))
                raise PlayerError(f"player '{text}': there is no search parameter or weight '{name}'{hint}")
        numbers = {name: _whole(text, name, value) for name, value in settings.items()}
        parameters = parameters_for(evaluation, numbers)
    except (EvaluationError, ParameterError) as error:
        raise PlayerError(f"player '{text}': {error}") from error
    return OwnPlayer(label, evaluation, parameters, own.get("threads", 1), own.get("hash"), own.get("overhead"))


def _is_file_named(name: str) -> bool:
    try:
        return is_there(user_path(name))
    except OSError:
        return False


def _check_numbers(text: str, numbers: dict[str, int]) -> None:
    if any(numbers.get(name, 1) < 1 for name in SHARED_NUMBERS):
        raise PlayerError(f"player '{text}': threads and hash must be at least 1")


def _whole(text: str, name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise PlayerError(f"player '{text}': {name} = {value!r} is not a whole number") from error
