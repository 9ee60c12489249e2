"""Players: Merino with chosen weights or search parameters, or another engine."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merino.core.common import errors, files, sealed, work
from merino.core.common.text import did_you_mean, words_of
from merino.engine.search.parameters import PARAMETERS, current_name, parameters_for
from merino.engine.uci.options import OPTIONS
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import default, load_evaluation, load_net, shipped
from merino.eval.linear.weights import names_like
from merino.match.games import PlayerError

DEFAULT = "default"
EVAL_FILE = OPTIONS["evalfile"].name  # the word for a net
SHARED = ("threads", "hash")  # settings that every engine has, by the words of SETTINGS
# The options of Merino that a player can set, by the word for it.
SETTINGS = {option.setting.partition("=")[0]: option for option in OPTIONS.values() if option.setting}
# Options of other engines by which they get what SHARED names; the last ones in the XBoard protocol.
HASH_OPTIONS, THREAD_OPTIONS = ("Hash", "memory"), ("Threads", "Number of Threads", "cores")
_OPTION = "option."  # before the name of an option of another engine
PROTOCOLS = ("engine", "xboard")  # prefixes; "engine" speaks UCI


def _forms(shared: bool) -> str:
    """The settings of every engine, or those of Merino alone, as users write them."""
    return ", ".join(f"'{option.setting}'" for word, option in SETTINGS.items() if (word in SHARED) is shared)


FORMS = (
    "'default', a weights file or net, the name of one that comes with Merino (full, gen12), search parameters or "
    "weights (name=value,VAL_N=300), both (weights.txt,name=value), or another engine: its command "
    "(stockfish,option.Skill Level=5), which speaks UCI, or xboard:COMMAND; 'name=X' names a player, "
    f"{_forms(shared=True)} work for every player, {_forms(shared=False)} for Merino"
)


@dataclass(frozen=True)
class OwnPlayer:
    """Merino with this evaluation and these search parameters (order of the registry; None for the evaluation's).

    `options` are further values of SETTINGS, by their words. Raises TypeError and ValueError for what cannot be used.
    """

    label: str
    evaluation: Evaluation = field(default_factory=default)
    parameters: tuple[int, ...] | None = None
    threads: int = 1
    hash_mb: int | None = None  # None for the default of the match
    overhead: int | None = None  # milliseconds per move spent outside the search, on a clock; None for the default
    options: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        errors.instance("label", self.label, str, "a text")
        errors.instance("evaluation", self.evaluation, Evaluation, "an Evaluation, as load_evaluation returns it")
        errors.instance("options", self.options, Mapping, "a mapping from words to whole numbers")
        _check_parameters(self.parameters)
        for word, value in self.settings.items():
            _check(word, value)

    @property
    def settings(self) -> dict[str, int]:
        """What it is given of SETTINGS, by their words."""
        given = {"threads": self.threads, "hash": self.hash_mb, "overhead": self.overhead, **self.options}
        return {word: value for word, value in given.items() if value is not None}

    @property
    def is_plain(self) -> bool:
        """Whether its search has one thread and nothing special, so that compiled games can be played with it."""
        return self.threads == 1 and not self.options

    def identity(self) -> dict[str, Any]:
        """Everything its play depends on, for comparison with an earlier run."""
        numbers = {"threads": self.threads, "hash": self.hash_mb, "overhead": self.overhead, **self.options}
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
        errors.instance("label", self.label, str, "a text")
        errors.instance("command", self.command, tuple, "a tuple of words, such as ('stockfish',)")
        if not self.command:
            raise ValueError("command must name a program, such as ('stockfish',)")
        for word in self.command:
            errors.instance("each word of command", word, str, "a text")
        errors.instance("options", self.options, dict, "a dict of names and values")
        for name, value in (("threads", self.threads), ("hash_mb", self.hash_mb)):
            if value is not None:
                errors.whole_number(name, value, 1)  # it has maxima of its own

    def option(self, names: Sequence[str]) -> str | None:
        """The value that it is given for an option of one of these names, in any case; None if it is given none."""
        given = {name.lower(): value for name, value in self.options.items()}
        return next((given[name.lower()] for name in names if name.lower() in given), None)

    def identity(self) -> dict[str, Any]:
        """Everything known about it, for comparison with an earlier run."""
        numbers = {"threads": self.threads, "hash": self.hash_mb}
        return {"command": list(self.command), "options": self.options, **numbers}


def _check(word: str, value: int) -> None:
    """Raise TypeError or ValueError for a value that this one of SETTINGS cannot have."""
    if word not in SETTINGS:
        raise ValueError(f"a player has no option '{word}'{did_you_mean(word, SETTINGS)}")
    low, high = SETTINGS[word].bounds or (0, 1)
    errors.whole_number(f"the player's {SETTINGS[word].setting}", value, low, high)


def _check_parameters(parameters: tuple[int, ...] | None) -> None:
    """Raise TypeError or ValueError for what are not numbers of the search, one for each, within its bounds."""
    if parameters is None:
        return
    errors.instance("parameters", parameters, tuple, "a tuple of whole numbers in the order of their registry")
    if len(parameters) != len(PARAMETERS):
        raise ValueError(f"parameters must be {len(PARAMETERS)} numbers, not {len(parameters)}")
    for row, value in zip(PARAMETERS, parameters, strict=True):
        errors.whole_number(row.name, value, *row.bounds)


Player = OwnPlayer | OtherPlayer


def read_player(text: str) -> Player:
    """Read a player in any of FORMS; raises PlayerError."""
    try:
        return _read(text)
    except ValueError as error:
        raise PlayerError(f"player '{text}': {error}") from error


def _read(text: str) -> Player:
    head, settings = "", {}
    for index, part in enumerate(text.split(",")):
        name, equals, value = part.partition("=")
        if equals and (index or not _begins_command(part)):
            if name.strip() in settings:
                raise ValueError(f"'{name.strip()}' is set twice")
            settings[name.strip()] = value.strip()
        elif index:
            raise ValueError(f"'{part}' must have the form name=value")
        else:
            head = part.strip()
    label = str(sealed.writable(settings.pop("name", text)))
    command = _command(head)
    if command:
        return _other(label, command, head.startswith("xboard:"), settings)
    return _own(label, head, settings)


def _begins_command(part: str) -> bool:
    """Whether a text with an equals sign is a command line: `lc0 --weights=net.pb`, not `razor_depth=2`."""
    prefix, colon, _ = part.partition(":")
    name = part.partition("=")[0].strip()
    return bool(colon and prefix.strip() in PROTOCOLS or re.search(r"[\s/\\]", name))


def find_program(name: str) -> str | None:
    """The path of a program, or None; the full path if its folder is given, as in `./engine` or `~/engine`."""
    folder_named = "/" in name or os.sep in name
    try:
        return shutil.which(str(files.user_path(name).absolute()) if folder_named else name)
    except (OSError, ValueError):  # a name that no program can have
        return None


def command_of(text: str) -> tuple[str, ...]:
    """The words of a command line, the program by its full path; none if there is no such program.

    A path with blanks needs no quotes where it is all there is. Raises ValueError for a quote that does not end.
    """
    whole = find_program(text)
    if whole:
        return (whole,)
    words = words_of(text)
    found = find_program(words[0]) if words else None
    return (found, *words[1:]) if found else ()


def _command(head: str) -> tuple[str, ...]:
    """The command line of an engine; empty if `head` does not name one."""
    prefix, colon, rest = head.partition(":")
    if colon and prefix in PROTOCOLS:
        words = command_of(rest)
        if not words:
            raise ValueError("program not found")
        return words
    if not head or shipped(head) or files.first_there([Path(head)]) and not _is_program(head):
        return ()
    return command_of(head)


def _is_program(file: str) -> bool:
    """Whether a file is to be executed: on some file systems every file may be, an evaluation too."""
    if not os.access(file, os.X_OK):
        return False
    try:
        load_evaluation(file)
    except EvaluationError:
        return True
    return False


def _other(label: str, command: tuple[str, ...], xboard: bool, settings: dict[str, str]) -> OtherPlayer:
    numbers = {name: _whole(name, settings.pop(name)) for name in SHARED if name in settings}
    wrong = [name for name in settings if not name.startswith(_OPTION)]
    if wrong:
        raise ValueError(f"write an option of another engine as {_OPTION}{wrong[0]}=...")
    options = {name.removeprefix(_OPTION).strip(): value for name, value in settings.items()}
    return OtherPlayer(label, command, options, xboard, numbers.get("threads"), numbers.get("hash"))


def _own(label: str, head: str, settings: dict[str, str]) -> OwnPlayer:
    if head and not shipped(head) and not _is_file_named(head):
        hint = did_you_mean(Path(head).name, (DEFAULT, *names_like(Path(head))))
        hint = hint or "; 'merino match -h' shows what a player can be"
        raise ValueError(f"'{head}' is neither a weights file nor a program{hint}")
    own = {name: _whole(name, settings.pop(name)) for name in SETTINGS if name in settings}
    net = settings.pop(EVAL_FILE, "")
    terms = default() if head in ("", DEFAULT) else load_evaluation(head)
    evaluation = load_net(net) if net else terms
    weights = {name: _whole(name, settings.pop(name)) for name in evaluation.bounds if name in settings}
    evaluation = evaluation.with_numbers(weights)
    known = [parameter.name for parameter in PARAMETERS]
    for name in settings:
        if current_name(name) not in known:
            hint = did_you_mean(name.removeprefix(_OPTION), (*SETTINGS, EVAL_FILE, *known, *evaluation.bounds))
            raise ValueError(f"there is no search parameter or weight '{name}'{hint}")
    parameters = parameters_for(evaluation, {name: _whole(name, value) for name, value in settings.items()})
    named = own.pop("threads", 1), own.pop("hash", None), own.pop("overhead", None)
    return OwnPlayer(label, evaluation, parameters, *named, own)


def _is_file_named(name: str) -> bool:
    try:
        return files.is_there(files.user_path(name))
    except OSError:
        return False


def _whole(name: str, value: str) -> int:
    try:
        return errors.whole_in(value)
    except ValueError as error:
        raise ValueError(f"{name} = {error}") from error


def needs_of(players: Iterable[Player]) -> work.Needs:
    """What these players require of a remote worker."""
    programs = {player.command[0]: None for player in players if isinstance(player, OtherPlayer)}
    return work.Needs(("match",), tuple(programs))
