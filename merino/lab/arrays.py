"""Named arrays in one file, NumPy's `.npz`: a zip archive, which has a checksum of each."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np

from merino.core.common.sealed import DamageError

_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, MemoryError, RuntimeError)


def as_npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file with these arrays, the same for the same arrays."""
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def from_npz(content: bytes) -> dict[str, np.ndarray]:
    """The arrays by name; raises DamageError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: io.BytesIO(archive.read(name)) for name in archive.namelist()}  # checks them
        return {name.removesuffix(".npy"): np.lib.format.read_array(file) for name, file in members.items()}
    except _FAULTS as error:
        raise DamageError(f"it is no whole archive of arrays: {error or type(error).__name__}") from error


def check_arrays(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
    """Raise DamageError unless the arrays of the names in `wanted` have the types and sizes of those there."""
    for name, like in wanted.items():
        if name not in found:
            raise DamageError(f"it lacks '{name}'")
        array = found[name]
        if array.dtype != like.dtype or array.shape != like.shape:
            raise DamageError(f"'{name}' is {array.dtype} {array.shape}, not {like.dtype} {like.shape}")
