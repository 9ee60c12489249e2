"""The tables of results in some files: each is read when a search first needs it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from merino.core.common.user_files import TABLES, open_user_file
from merino.core.compiled.calls import Callback
from merino.engine.syzygy.header import BrokenTableError, Material, describe, read_table
from merino.engine.syzygy.layout import BROKEN, DIRECTORY, TABLE, UNREAD, key_of
from merino.engine.syzygy.probing import link


class ResultTables:
    """What a search may ask; it must live as long as one may. All threads can share it."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """`files` by the material of each, such as KRPvKR."""
        self._files = [(Material(*name.split("v")), path) for name, path in files.items()]
        self._faults: dict[int, str] = {}
        self._tables, self._directory = np.zeros(len(files), TABLE), np.zeros(1, DIRECTORY)
        self._kept: list[np.ndarray] = []
        self._reading = threading.Lock()
        found: dict[int, int] = {}
        for number, (material, _) in enumerate(self._files):
            self._tables[number]["number"] = number
            describe(self._tables[number], material)
            found[key_of(material.black, material.white)] = 2 * number + 1
            found[key_of(material.white, material.black)] = 2 * number
        self._keys = np.array(sorted(found), dtype=np.uint64)
        self._found = np.array([found[key] for key in sorted(found)], dtype=np.int64)
        self._reader = Callback(self._read, TABLE)
        directory = self._directory[0]
        directory["entries"], directory["keys"] = len(found), self._keys.ctypes.data
        directory["found"], directory["reader"] = self._found.ctypes.data, self._reader.address
        directory["tables"], directory["tables_count"] = self._tables.ctypes.data, len(files)

    @property
    def men(self) -> int:
        """The largest number of pieces of a position in them, kings included; 0 without tables."""
        return int(self._tables["men"].max(initial=0))

    @property
    def fault(self) -> str | None:
        """What is wrong with a table that was found to be broken, with its name; None if none was."""
        broken = int(self._directory[0]["broken"])
        if not broken:
            return None
        reason = self._faults.get(broken - 1, "its codes make no sense")
        return f"a broken table: '{self._files[broken - 1][1]}': {reason}"

    def attach(self, record: np.ndarray) -> None:
        """Let the search of this record, SEARCH[1], ask them."""
        link(record)
        record[0]["tablebase_data"] = self._directory.ctypes.data

    def _read(self, record: np.ndarray) -> int:
        """Read a table, for compiled code: TABLE[1]; its state. Another thread may have just read it."""
        table = record[0]
        with self._reading:
            if table["state"] == UNREAD:
                number = int(table["number"])
                material, path = self._files[number]
                try:
                    with open_user_file(path, TABLES) as file:
                        content = np.memmap(file, dtype=np.uint8, mode="r")
                    self._kept += [content, *read_table(table, material, content)]
                except (BrokenTableError, OSError, ValueError) as error:
                    self._faults[number] = str(error)
                    self._directory[0]["broken"] = number + 1
                    table["state"] = BROKEN
        return int(table["state"])
