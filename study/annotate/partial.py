"""The games annotated so far, kept beside the target file until it is complete.

The file is PGN; lines that begin with % do not belong to the games. The first identifies the work and its settings, so
that only the same command continues it. A line before each game has its length and its checksum, so that an incomplete
or damaged game is found.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Self

from merino.inner.core.common.files import write_fault, write_whole
from merino.inner.core.common.sealed import checksum, tell_unsealed
from merino.inner.core.common.user_files import STATE, is_there, read_user_file
from merino.inner.study.errors import StudyError

_GAME = re.compile(rb"% game (\d{1,9}), (\d{1,9}) bytes(?:, checksum (\w{8}))?\n")
_GAP = b"\n\n"

log = logging.getLogger(__name__)


class Partial:
    """The finished games, each as bytes; a context manager, which closes the file."""

    def __init__(self, target: Path, identity: str) -> None:
        """Continue the file beside `target`, or begin one; raises StudyError if it has another identity."""
        self.path = target.with_name(f"{target.name}.partial")
        self._target = target
        self._first = f"% Merino annotates {identity}; the same command continues this file\n".encode()
        self.games: list[bytes] = []
        try:
            end = self._read() if is_there(self.path) else 0
            self._file = self.path.open("r+b" if end else "wb")
            self._file.truncate(end)
            self._file.seek(end)
            if not end:
                self._write(self._first)
        except OSError as error:
            raise StudyError(write_fault(error, self.path)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, game: bytes) -> None:
        """Add a finished game to the file; raises OSError."""
        head = f"% game {len(self.games) + 1}, {len(game)} bytes, checksum {checksum(game)}\n"
        self._write(head.encode() + game + _GAP)
        self.games.append(game)

    def add_unfinished(self, game: bytes) -> None:
        """Add an unfinished game, for the user to look at; the next run annotates it again. Raises OSError."""
        self._write(b"% unfinished\n" + game + _GAP)

    def finish(self) -> None:
        """Replace the target by all games, and remove the file; raises OSError."""
        write_whole(self._target, _GAP.join(self.games) + b"\n")
        self._file.close()
        self.path.unlink()

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> int:
        """Read the complete games of the file; returns where the last one ends, 0 if there is not even a first line.

        They end before the first one that is damaged: from there on games are annotated again.
        """
        content = read_user_file(self.path, STATE)
        if self._first.startswith(content):
            return len(content) if content == self._first else 0
        if not content.startswith(self._first):
            raise StudyError(
                f"'{self.path}' is what another file, other options or another version left unfinished; "
                "finish that, or delete or rename it"
            )
        end = len(self._first)
        while head := _GAME.match(content, end):
            game = content[head.end() : head.end() + int(head[2])]
            after = head.end() + len(game) + len(_GAP)
            number = len(self.games) + 1
            if int(head[1]) != number or content[after - len(_GAP) : after] != _GAP:
                break
            if head[3] is None:
                tell_unsealed(str(self.path))
            elif head[3].decode() != checksum(game):
                log.warning("game %d of '%s' is damaged: it and those after it are annotated again", number, self.path)
                break
            self.games.append(game)
            end = after
        return end
