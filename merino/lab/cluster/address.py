"""The address of a cluster, read from the text of `--cluster`. Imports nothing heavy."""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMS = "tcp://HOST:PORT of a Dask scheduler, or local:N for N processes of this machine"
_LOCAL = re.compile(r"local:(\d{1,4})", re.ASCII)
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|ws|wss)://)?(?:\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})", re.ASCII)


@dataclass(frozen=True)
class ClusterAddress:
    """A scheduler, as tcp://HOST:PORT, or a number of `processes` on this machine."""

    scheduler: str = ""
    processes: int = 0

    @classmethod
    def read(cls, text: str) -> ClusterAddress:
        """The address in one of FORMS; raises ValueError."""
        local = _LOCAL.fullmatch(text)
        if local and int(local[1]):
            return cls(processes=int(local[1]))
        found = _ADDRESS.fullmatch(text)
        if local or found is None or text.startswith("local:") or not 0 < int(found[1]) < 1 << 16:
            raise ValueError(f"'{text[:60]}' is not {FORMS}")
        return cls(text if "://" in text else f"tcp://{text}")

    def __str__(self) -> str:
        return self.scheduler or f"local:{self.processes}"


@dataclass(frozen=True)
class Needs:
    """The needs of work on a worker: parts to compile there, and programs that play."""

    parts: tuple[str, ...] = ("match",)
    programs: tuple[str, ...] = ()
