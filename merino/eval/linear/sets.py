"""The sets of terms by name: those that come with Merino, and one of the user's own from a Python file.

That file is named by the option --own-terms or by $MERINO_OWN_TERMS, never by a weights file: what comes from elsewhere
runs no code. It makes a set called TERMS out of what `merino.terms` offers.
"""

import copyreg
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from merino.core.common import files, text
from merino.eval.evaluation import EvaluationError
from merino.eval.linear import phases, registry
from merino.eval.linear.own_file import own_file

# The modules that fill the sets. A module is imported when its set is asked for: most runs need one.
_MODULES = {"greko2015": "terms", "full": "full.terms"}
SETS = tuple(_MODULES)  # those that come with Merino
SET_WORD = "set"  # begins the line of a weights file that names the set
_OWN_MODULE = "merino_own_terms"


class TermSetError(EvaluationError):
    """A set of terms that is not there or cannot be used; the message says why."""


def set_named(name: str) -> registry.TermSet:
    """The set of this name, one of Merino's or the user's own; raises TermSetError."""
    if name in _MODULES:
        found: registry.TermSet = import_module(f"merino.eval.linear.{_MODULES[name]}").TERMS
        return found
    own = _own_set()
    if own is not None and own.name == name:
        return own
    hint = text.did_you_mean(name, names_of_sets())
    missing = "" if own else "; a set of your own comes with --own-terms FILE"
    raise TermSetError(f"there is no set of terms named {name[:40]!r}{hint or missing}")


def names_of_sets() -> tuple[str, ...]:
    """The names of all sets there are; raises TermSetError for a file of own terms that cannot be used."""
    own = _own_set()
    return SETS if own is None else (*SETS, own.name)


def derived(name: str, base: str, without: Iterable[str] = ()) -> registry.TermSet:
    """A new set with the terms and tables of another one, except those named in `without`; more can be added to it.

    Raises ValueError for the name of no term or table, and TermSetError for that of no set.
    """
    terms, dropped = set_named(base), list(without)
    for name_of_one in dropped:
        if name_of_one not in (known := [each.name for each, _ in terms.to_read()]):
            raise ValueError(f"{base} has no term called {name_of_one!r}{text.did_you_mean(name_of_one, known)}")
    kept = [term for each, at in terms.to_read() if each.name not in dropped for term in terms[at]]
    found = registry.TermSet(name, terms.view, terms.look, terms.meet, kept)
    found.base = base
    return found


def version_of_own_set() -> str | None:
    """What distinguishes the code of the user's set from others'; None where none is named. Raises TermSetError."""
    own = _own_set()
    return None if own is None else own.version


def _own_set() -> registry.TermSet | None:
    """The set in the user's file, None where none is named; raises TermSetError."""
    try:
        path = own_file()
        return None if path is None else _set_in(path)
    except OSError as error:
        raise TermSetError(f"cannot read your terms in '{error.filename}': {error.strerror}") from error


@cache
def _set_in(path: Path) -> registry.TermSet:
    """The set that a file makes; raises TermSetError, and OSError if it cannot be read."""
    source = files.read_user_text(path, files.SETTINGS)
    module = ModuleType(_OWN_MODULE)
    module.__file__ = str(path)
    sys.modules[_OWN_MODULE] = module
    known = set(sys.modules)
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception as error:  # whatever the user's code raises
        raise TermSetError(f"the terms in '{path}' cannot be used: {type(error).__name__}: {error}") from error
    found = getattr(module, "TERMS", None)
    if not isinstance(found, registry.TermSet):
        raise TermSetError(f"'{path}' has no set of terms called TERMS, as derived() of merino.terms makes one")
    _check(found, path)
    # The code of the terms may be made from modules in the folder of `path` or below, but not installed there.
    paths = [Path(getattr(sys.modules[name], "__file__", None) or "") for name in sorted(sys.modules.keys() - known)]
    sources = [file.absolute() for file in paths if file.suffix == ".py" and "site-packages" not in file.parts]
    helpers = [files.read_user_file(file, files.SETTINGS) for file in sources if path.parent in file.parents]
    found.version = hashlib.sha256(b"\0".join([source.encode(), *helpers])).hexdigest()[:16]
    return found


def _check(terms: registry.TermSet, path: Path) -> None:
    """Raise TermSetError for a set that weights could not be kept for."""
    names = [term.name for term in terms]
    twice = next((name for name in names if names.count(name) > 1), None)
    wrong = next((name for name in (terms.name, *names) if not name.isascii() or not name.isidentifier()), None)
    meant = next((name for name in names if name == SET_WORD or name.endswith(phases.SUFFIXES)), None)
    if terms.name in SETS:
        raise TermSetError(f"'{path}': a set of your own needs another name than {terms.name!r}")
    if wrong is not None:
        raise TermSetError(f"'{path}': {wrong!r} cannot be a name; letters, digits and _ can")
    if meant is not None:
        reserved = f"'{SET_WORD}', and names that end in {' or '.join(phases.SUFFIXES)}"
        raise TermSetError(f"'{path}': {meant!r} cannot be a name; {reserved}, mean other things in files of weights")
    if twice is not None:
        raise TermSetError(f"'{path}': two terms are called {twice!r}")
    if not terms or terms[0].group is not registry.Group.MATERIAL:
        raise TermSetError(f"'{path}': the first term must be the value of a pawn")


# A set arrives in another process as the one of its name there.
copyreg.pickle(registry.TermSet, lambda terms: (set_named, (terms.name,)))
