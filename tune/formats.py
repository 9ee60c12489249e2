"""Files that list parameters: the lines of fishtest and of OpenBench, and TOML of our own.

fishtest      name, start, min, max, c_end, r_end               always integers
OpenBench     name, int or float, start, min, max, c_end, r_end
TOML          a table [name] for each parameter with c_end, or with dist, from which c_end follows by (19);
              optional are start, min, max, r_end, type ("int" or "float"), elo
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from merino.inner.core.common.user_files import SETTINGS, read_user_text
from merino.inner.eval.evaluation import Number
from merino.inner.tune.parameters import TunedParameter, TuneError, check, check_whole
from merino.inner.tune.plan import REACH

_TYPES = {"int": True, "float": False}
_TOML_KEYS = {"start", "min", "max", "c_end", "r_end", "type", "elo", "dist"}


def read_file(path: Path, known: Mapping[str, Number]) -> list[TunedParameter]:
    """The parameters listed in a file; `known` has start and bounds for TOML that omits them. Raises TuneError."""
    try:
        text = read_user_text(path, SETTINGS)
    except OSError as error:
        raise TuneError(f"cannot read '{path}': {error.strerror}") from error
    if path.suffix == ".toml":
        return read_toml(text, str(path), known)
    return read_lines(text, str(path))


def read_lines(text: str, source: str) -> list[TunedParameter]:
    """The parameters in lines of fishtest or OpenBench; empty lines and `#` comments are skipped."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#", 1)[0].strip()
        if content:
            found.append(_read_line(content, f"{source}:{number}"))
    return _all_different(found, source)


def _read_line(line: str, where: str) -> TunedParameter:
    name, *fields = (field.strip() for field in line.split(","))
    whole = True
    if len(fields) == 6:
        if fields[0] not in _TYPES:
            raise TuneError(f"{where}: the type of {name} must be 'int' or 'float', not {fields[0][:40]!r}")
        whole = _TYPES[fields.pop(0)]
    if len(fields) != 5 or not name:
        raise TuneError(
            f"{where}: expected 'name, start, min, max, c_end, r_end', or with int or float after the name; "
            f"found {line[:60]!r}"
        )
    start, low, high, c_end, r_end = (_number(field, where) for field in fields)
    return check(TunedParameter(name, start, low, high, c_end, r_end, whole), where)


def read_toml(text: str, source: str, known: Mapping[str, Number]) -> list[TunedParameter]:
    """The parameters in TOML."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TuneError(f"{source}: {error}") from error
    return _all_different([read_table(name, table, source, known) for name, table in tables.items()], source)


def read_table(name: str, table: object, source: str, known: Mapping[str, Number]) -> TunedParameter:
    """The parameter of a table; `known` has start and bounds that it omits. Raises TuneError."""
    where = f"{source}: [{name}]"
    if not isinstance(table, dict):
        raise TuneError(f"{source}: {name} is not a table; write a parameter as [{name}], with its numbers below")
    for key in table:
        if key not in _TOML_KEYS:
            raise TuneError(f"{where}: unknown key {key!r}; possible are {', '.join(sorted(_TOML_KEYS))}")
    kind = table.get("type", "int")
    if kind not in _TYPES:
        raise TuneError(f"{where}: type must be 'int' or 'float', not {kind!r}")
    check_whole(name, known, where)
    registered = known.get(name)
    usual = {"start": registered.value, "min": registered.low, "max": registered.high} if registered else {}
    values: dict[str, float] = dict(usual)
    for key, value in table.items():
        if key == "type":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TuneError(f"{where}: {key} = {value!r} is not a number")
        values[key] = float(value)
    if "dist" in values:
        values.setdefault("c_end", REACH * values["dist"])
    for key in ("start", "min", "max", "c_end"):
        if key not in values:
            instead = " (or dist)" if key == "c_end" else ""
            raise TuneError(f"{where}: {key}{instead} is missing")
    renamed = {{"min": "low", "max": "high"}.get(key, key): value for key, value in values.items()}
    return check(TunedParameter(name, whole=_TYPES[kind], **renamed), source)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise TuneError(f"{where}: {text[:40]!r} is not a number") from error


def _all_different(parameters: list[TunedParameter], source: str) -> list[TunedParameter]:
    if not parameters:
        raise TuneError(f"{source} lists no parameters")
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            raise TuneError(f"{source}: {parameter.name} is listed twice")
        seen.add(parameter.name)
    return parameters


def fishtest_lines(parameters: Sequence[TunedParameter], values: Iterable[float], steps: Iterable[float]) -> list[str]:
    """Lines for fishtest with `values` as the start and `steps` as r_end."""
    return [
        ", ".join([row.name, *(_plain(number) for number in (value, row.low, row.high, row.c_end, step))])
        for row, value, step in zip(parameters, values, steps, strict=True)
    ]


def openbench_lines(parameters: Sequence[TunedParameter], values: Iterable[float], steps: Iterable[float]) -> list[str]:
    """Lines for OpenBench with `values` as the start and `steps` as r_end."""
    kinds = {whole: kind for kind, whole in _TYPES.items()}
    lines = []
    for row, value, step in zip(parameters, values, steps, strict=True):
        numbers = (_plain(number) for number in (row.playable(value), row.low, row.high, row.c_end, step))
        lines.append(", ".join([row.name, kinds[row.whole], *numbers]))
    return lines


def _plain(number: float) -> str:
    return f"{number:.10g}"
