"""Net files: Merino's own, with a complete header, and the `quantised.bin` of bullet's simplest net.

Merino's: a line `Merino net 1`, a line of JSON, zeros up to a multiple of 64 bytes, then the layers in the order of
`Shape.layers`, int16, little-endian. The number is the version: 1 for nets with one output, 2 for piece-value nets, 3
for nets with several outputs, so that readers that do not know their layers refuse them. The JSON has a checksum of
itself and of the layers (`core.common.sealed`); nets of Merino 1.0 have none. The trainer bullet writes
(768 -> N) x 2 -> 1 without a header: first-layer weights by feature, first-layer bias, output weights, output bias,
padded to a multiple of 64 bytes; inputs by colour, role and square, squared clipped ReLU.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common.errors import real_number, whole_number
from merino.core.common.files import (
    HEAD_BYTES,
    NET,
    WEIGHTS,
    Kind,
    is_utf_16,
    open_user_file,
    read_user_file,
    write_whole,
)
from merino.core.common.sealed import DamageError, check, parsed, sealed
from merino.eval.evaluation import MAX_K, MIN_K, EvaluationError
from merino.eval.net.network import (
    COARSE,
    FINE_QA,
    FINE_QC,
    MAX_FINE_QB,
    MAX_NEURONS,
    MAX_QB,
    MAX_SECOND,
    OUTPUTS,
    QA,
    QB,
    QR,
    QV,
    SCALE,
    VALUE,
    NetError,
    Network,
    Quanta,
    Shape,
    check_play,
)
from merino.eval.outlook import DEFAULT_K

MAGIC = b"Merino net "
ONE_OUTPUT, PIECE_VALUES, SEVERAL_OUTPUTS = VERSIONS = (1, 2, 3)
ALIGNMENT = 64
_PIECE_VALUES = {"rows": QR, "constants": QV, "unit": VALUE}


def begins_like_net(head: bytes) -> bool:
    """Whether a file that begins like this is a Merino net, or not text, as the nets of other trainers."""
    return head.startswith(MAGIC) or b"\0" in head and not is_utf_16(head)


def is_net_file(path: Path) -> bool:
    """Whether a file begins like a net; one that cannot be read does not."""
    try:
        with open_user_file(path, NET) as file:
            return begins_like_net(file.read(HEAD_BYTES))
    except OSError:
        return False


def kind_of(head: bytes) -> Kind:
    """The kind of a file of an evaluation that begins like this: a net, or a weights file."""
    return NET if begins_like_net(head) else WEIGHTS


def save_net(network: Network, path: Path) -> None:
    """Write the file whole or not at all; raises OSError."""
    write_whole(path, as_bytes(network))


def as_bytes(network: Network) -> bytes:
    """The content that `save_net` writes."""
    header, layers = _header_of(network), _layers_of(network)
    return _joined(network, sealed(header, layers), layers)


def as_unsealed_bytes(network: Network) -> bytes:
    """The content without its checksum, as Merino 1.0 wrote it, by which a net is known."""
    return _joined(network, _header_of(network), _layers_of(network))


def _joined(network: Network, header: Mapping[str, Any], layers: bytes) -> bytes:
    head = MAGIC + f"{_version_of(network.shape)}\n{json.dumps(header)}\n".encode()
    return head + bytes(-len(head) % ALIGNMENT) + layers


def _version_of(shape: Shape) -> int:
    return PIECE_VALUES if shape.piece_values else ONE_OUTPUT if shape.outputs == 1 else SEVERAL_OUTPUTS


def _layers_of(network: Network) -> bytes:
    return b"".join(network.weights[name].astype("<i2").tobytes() for name in network.shape.layers())


def _header_of(network: Network) -> dict[str, Any]:
    shape = network.shape
    header: dict[str, Any] = {
        "features": shape.features,
        "hidden": shape.hidden,
        "second": shape.second,
        "activation": shape.activation,
        "qa": network.quanta.qa,
        "qb": network.quanta.qb,
        "scale": SCALE,
        "k": network.k,
        "about": dict(network.about),
    }
    if network.quanta.is_fine:
        header["qc"] = network.quanta.qc
    if shape.outputs > 1:
        header["outputs"] = shape.outputs
    if network.search:
        header["search"] = dict(network.search)
    if shape.piece_values:
        header["piece_values"] = _PIECE_VALUES
    return header


def load_net(path: Path) -> Network:
    """The net in a file; raises NetError."""
    try:
        content = read_user_file(path, NET)
    except OSError as error:
        raise NetError(f"cannot read net '{path}': {error.strerror}") from error
    return net_in(content, path)


def net_in(content: bytes, path: Path) -> Network:
    """The net of the content of the file `path`; raises NetError, which names the file."""
    try:
        return read_net(content, str(path))
    except EvaluationError as error:
        raise NetError(f"'{path}' is not a usable net: {error}") from error


def read_net(content: bytes, name: str | None = None) -> Network:
    """The net of the content of a file called `name`, None for one that was no file; raises NetError."""
    return _ours(content, name) if content.startswith(MAGIC) else _foreign(content)


def _ours(content: bytes, name: str | None) -> Network:
    lines = content.split(b"\n", 2)
    version = lines[0].removeprefix(MAGIC)
    if version not in [b"%d" % known for known in VERSIONS]:
        known = f"this Merino reads {VERSIONS[0]} to {VERSIONS[-1]}"
        raise NetError(f"its version is {version[:20].decode('latin-1')!r}, and {known}")
    if len(lines) < 3:
        raise NetError("its header is cut off")
    header = _header(lines[1])
    shape = _shape(header, int(version))
    at = len(lines[0]) + len(lines[1]) + 2
    at += -at % ALIGNMENT
    sizes = shape.layers()
    wanted = at + 2 * sum(prod(size) for size in sizes.values())
    if len(content) != wanted:
        raise NetError(f"it has {len(content)} bytes, but {shape} needs {wanted}")
    if name is not None:
        _check(header, name, memoryview(content)[at:])
    weights = {}
    for layer, size in sizes.items():
        weights[layer] = np.frombuffer(content, "<i2", prod(size), at).astype(np.int16).reshape(size)
        at += 2 * prod(size)
    quanta = Quanta(header["qa"], header["qb"])
    check_play(shape, weights, quanta)
    return Network(shape, weights, float(header["k"]), header["about"], header.get("search", {}), quanta)


def _check(header: Mapping[str, Any], name: str, layers: memoryview) -> None:
    try:
        check(header, name, layers)
    except DamageError as error:
        raise NetError(str(error)) from error


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = parsed(line)
        qa, qb, numbers = header["qa"], header["qb"], [header["scale"], header.get("qc")]
        if not isinstance(header["about"], dict):
            raise ValueError("'about' is not a table")
        real_number("'k'", header["k"], MIN_K, MAX_K)
        search = header.get("search", {})
        if not (isinstance(search, dict) and all(type(value) is int for value in search.values())):
            raise ValueError("'search' is not a table of whole numbers")
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise NetError(f"its header cannot be read ({error!r})") from error
    known = (QA, *FINE_QA)
    if type(qa) is not int or qa not in known or qa != QA and "piece_values" in header:
        raise NetError(f"QA is {str(qa)[:20]}, but this Merino reads {known}, and {QA} in a piece-value net")
    if numbers != (wanted := [SCALE, None if qa == QA else FINE_QC]):
        raise NetError(f"scale and QC are {numbers}, but this Merino reads {wanted}")
    most = MAX_QB if qa == QA else MAX_FINE_QB
    if type(qb) is not int or not 1 <= qb <= most or qb != QB and "piece_values" in header:
        raise NetError(f"QB is {str(qb)[:20]}, but this Merino reads 1 to {most}, and {QB} in a piece-value net")
    return header


def _shape(header: Mapping[str, Any], version: int) -> Shape:
    piece_values = version == PIECE_VALUES
    try:
        hidden = whole_number("'hidden'", header["hidden"], 1, MAX_NEURONS)
        second = whole_number("'second'", header["second"], 0, MAX_SECOND)
        outputs = whole_number("'outputs'", header["outputs"], 2, max(OUTPUTS)) if version == SEVERAL_OUTPUTS else 1
        if piece_values and header["piece_values"] != _PIECE_VALUES:
            raise NetError(
                f"its units of piece values are {header['piece_values']}, but this Merino reads {_PIECE_VALUES}"
            )
        features, activation = str(header["features"]), str(header["activation"])
        shape = Shape(features, hidden, second, activation, piece_values, outputs)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, EvaluationError):
            raise
        raise NetError(f"its header cannot be read ({error!r})") from error
    _ = shape.feature_set  # raises for a wrong expression
    return shape


def _foreign(content: bytes) -> Network:
    """A net of bullet, which has no header: N follows from its size."""
    hidden = (len(content) // 2 - 1) // 771
    wanted = 2 * (771 * hidden + 1)
    if hidden < 1 or len(content) not in (wanted, wanted + -wanted % ALIGNMENT):
        raise NetError(f"it has no header of Merino, and {len(content)} bytes are not a (768 -> N) x 2 -> 1 of bullet")
    shape = Shape("ALL", hidden)
    values = np.frombuffer(content, "<i2", wanted // 2).astype(np.int16)
    inputs, rest = values[: 768 * hidden].reshape(768, hidden), values[768 * hidden :]
    weights = {
        "inputs": np.ascontiguousarray(inputs[_foreign_order()]),
        "input_bias": rest[:hidden],
        "output": rest[hidden : 3 * hidden].reshape(1, -1),
        "output_bias": rest[3 * hidden :],
    }
    check_play(shape, weights, COARSE)
    return Network(shape, weights, DEFAULT_K, {"origin": "a file without a header"})


def _foreign_order() -> np.ndarray:
    """The number of each feature of ALL among inputs by colour, role and square."""
    index = np.arange(768)
    place, role, colour = index // 12, index % 12 // 2, index % 2
    square = place % 8 * 8 + place // 8
    return 384 * colour + 64 * role + square


def as_text(network: Network) -> str:
    """A net as text of letters and digits, for an identity."""
    return base64.b64encode(as_unsealed_bytes(network)).decode()


def network_of(text: str) -> Network:
    """The net of a text from `as_text`; raises NetError."""
    try:
        return read_net(base64.b64decode(text, validate=True))
    except ValueError as error:
        raise NetError(f"an identity of a net cannot be read: {error}") from error


def digest(network: Network) -> str:
    """A hash by which a net is known, 16 hex digits."""
    return hashlib.blake2b(as_unsealed_bytes(network), digest_size=8).hexdigest()
