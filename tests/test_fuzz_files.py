"""Changed files of every kind are read or refused in words: a short run of `make fuzz-files`, the same each time."""

import logging
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="memory cannot be limited here")

from tests.file_kinds import KINDS, FileKind
from tests.fuzz_files import run

EXAMPLES = 15  # files of a kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_changed_file_is_read_or_refused(kind: FileKind, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    run(kind, tmp_path, EXAMPLES)
