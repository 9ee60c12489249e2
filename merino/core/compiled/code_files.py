"""Compiled code on the disk: a file for each function and signature, with a checksum of its content.

numba trusts what it reads back. A file that was cut short or overwritten then raises whatever unpickling comes upon,
or hands LLVM machine code that ends the process. Here damage is seen before anything is made of it: such a file counts
as none, the log says so, and the compiler writes it anew.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.serialize import dumps

from merino.core.common.files import writing_whole

log = logging.getLogger(__name__)

_HEAD = 4  # bytes of the checksum
_PACKAGE = Path(__file__).resolve().parents[2]


class CodeFiles:
    """The compiled versions of one function: what numba wants of its own index and data files, whose place it takes."""

    def __init__(self, folder: Path, name: str, stamp: object) -> None:
        """`stamp`: what the code was made from besides what the keys say."""
        self._folder, self._name, self._stamp = folder, name, stamp
        self.in_use: list[Path] = []  # the files that have been read or written

    def load(self, key: object) -> Any:
        """What was saved under this key; None where there is nothing, or nothing that can be read."""
        path = self.path(key)
        try:
            content = memoryview(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("cannot read the compiled code in %s (%s): compiling anew", path, error.strerror)
            return None
        code = content[_HEAD:]
        if not code or _checksum(code) != content[:_HEAD]:
            log.warning("the compiled code in %s is damaged: compiling anew", path)
            return None
        loaded = pickle.loads(code)
        self.in_use.append(path)
        return loaded

    def save(self, key: object, data: object) -> None:
        """Keep `data` for later starts; raises OSError."""
        code = dumps(data)
        path = self.path(key)
        with writing_whole(path) as file:
            file.write(_checksum(code))
            file.write(code)
        self.in_use.append(path)

    @property
    def is_empty(self) -> bool:
        """Whether there is no version."""
        return next(self._versions(), None) is None

    def flush(self) -> None:
        """Forget all versions."""
        for path in self._versions():
            path.unlink()

    def _versions(self) -> Iterator[Path]:
        return self._folder.glob(f"{self._name}.*.code")

    def path(self, key: object) -> Path:
        """Where the version of this key is kept. Keys are signature, processor and bytecode, whose texts tell all."""
        digest = hashlib.sha256(repr((key, self._stamp)).encode()).hexdigest()
        return self._folder / f"{self._name}.{digest[:16]}.code"


def _checksum(code: bytes | memoryview) -> bytes:
    """Against accidents only, since it is on the way to `readyok`: a digest takes eight times as long."""
    return zlib.crc32(code).to_bytes(_HEAD)


class _Readable(UserProvidedCacheLocator):
    """A folder may be used that can only be read, as on a full disk: numba would compile anew what lies there.

    Code of our own modules is found wherever the package lies.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The folder inside the cache for the code of this source."""
        path = Path(py_file).resolve()
        if _PACKAGE in path.parents:
            return "_".join(path.relative_to(_PACKAGE).parent.parts)
        return str(super().get_suitable_cache_subpath(py_file))

    def ensure_cache_path(self) -> None:
        """Make the folder, and do not try to write there; raises OSError."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


class _InOurFolder(CompileResultCacheImpl):
    """Code goes where we say or nowhere: numba would go on to folders that no hash of the sources names."""

    _locator_classes = (_Readable,)


class CodeCache(FunctionCache):
    """numba's cache of one function, over files that are checked."""

    _impl_class = _InOurFolder

    def __init__(self, function: Any, of: str = "") -> None:
        """In the folder that numba is set to; raises RuntimeError where that cannot be used.

        `of` names what a function was made from that is made several times.
        """
        super().__init__(function)
        self._of = of
        locator = self._impl.locator
        name, stamp = self._impl.filename_base + (f".{of}" if of else ""), locator.get_source_stamp()
        self._cache_file = CodeFiles(Path(locator.get_cache_path()), name, stamp)

    @property
    def is_empty(self) -> bool:
        """Whether no version of the function is on the disk."""
        return self._cache_file.is_empty

    @property
    def in_use(self) -> list[Path]:
        """The files of the versions that this process has read or written."""
        return self._cache_file.in_use

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """The key of numba; `of` names the kernels that a made function holds, as numba's hash of them never recurs."""
        if not self._of:
            return super()._index_key(sig, codegen)
        return sig, codegen.magic_tuple(), hashlib.sha256(self._py_func.__code__.co_code).hexdigest(), self._of

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; where that cannot be, the log says so, and this start goes on without."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            log.warning("cannot keep compiled code in %s (%s): compiling anew next time", self.cache_path, error)
