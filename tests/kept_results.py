"""The results of long runs, kept in a file after each, so that a run may be resumed."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from merino.core.common.files import write_whole


def known_results(path: Path, resume: bool) -> dict[str, dict[str, Any]]:
    """The results of an earlier run by their names, as plain data; none if it is not resumed."""
    return json.loads(path.read_text(encoding="utf-8")) if resume and path.exists() else {}


def keep_results(path: Path, results: Mapping[str, Any]) -> None:
    """Keep the results so far, which are dataclasses, by their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({name: asdict(each) for name, each in results.items()}, indent=1).encode())
