"""Named arrays as the content of one file, NumPy's `.npz`: a zip archive, which has a checksum of each array."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from math import prod

import numpy as np

from merino.inner.core.common.sealed import DamageError

_ENDING = ".npy"
_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, NotImplementedError, RuntimeError)


def as_npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a file with these arrays, the same for the same arrays."""
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def from_npz(content: bytes) -> dict[str, np.ndarray]:
    """The arrays by name; raises DamageError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name.removesuffix(_ENDING): _array(archive.read(name)) for name in archive.namelist()}
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


def _array(member: bytes) -> np.ndarray:
    """The array of a member whose checksum is right; raises ValueError and what struct raises."""
    file = io.BytesIO(member)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in read_header:
        raise ValueError(f"version {version} of an array is unknown")
    shape, by_column, kind = read_header[version](file)
    if kind.hasobject or len(member) - file.tell() != prod(shape) * kind.itemsize:
        raise ValueError(f"{shape} of {kind} are not the bytes that follow")
    values = np.frombuffer(member, kind, prod(shape), file.tell())
    return values.reshape(shape, order="F" if by_column else "C").copy()
