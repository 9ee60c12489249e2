"""The state of the server while it runs. The page keeps its own state, above all the game."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merino.inner.app.explorer.evaluations import Evaluations
from merino.inner.app.explorer.games_file import GamesFile
from merino.inner.app.explorer.searchers import Searchers
from merino.inner.core.common.user_files import first_there


@dataclass
class ServerState:
    """The evaluations to choose from, what the command line asked for, and the record of the last run of `learn`."""

    first_text: str | None = None
    first_is_free: bool = False
    games: GamesFile | None = None
    evaluations: Evaluations = field(default_factory=Evaluations)
    searchers: Searchers = field(default_factory=Searchers)
    record: dict[str, Any] | None = None

    @staticmethod
    def record_beside(weights: str, name: str) -> Path | None:
        """The record that `learn` left beside a weights file, if any."""
        return first_there([Path(weights).with_name(name)])
