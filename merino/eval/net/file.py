"""Net files: Merino's own, with a complete header, and the `quantised.bin` of bullet's simplest net.

Merino's: a line `Merino net 1`, a line of JSON, zeros up to a multiple of 64 bytes, then the layers in the order of
`Shape.layers`, int16, little-endian. The number is the version: 1 for nets with one output, 2 for piece-value nets, 3
for nets with several outputs, so that readers that do not know their layers refuse them. The JSON has a checksum of
itself and of the layers (`core.common.sealed`); nets of Merino 1.0 have none. The trainer bullet writes
(768 -> N) x 2 -> 1 without a header: first-layer weights by feature, first-layer bias, output weights, output bias,
padded to a multiple of 64 bytes; inputs by colour, role and square, squared clipped ReLU.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.common import errors, files
from merino.core.common.sealed import DamageError, check, parsed, sealed
from merino.eval import evaluation, outlook
from merino.eval.net import network as nets
from merino.eval.net.network import NetError, Network, Shape

MAGIC = b"Merino net "
ONE_OUTPUT, PIECE_VALUES, SEVERAL_OUTPUTS = VERSIONS = (1, 2, 3)
ALIGNMENT = 64
_PIECE_VALUES = {"rows": nets.QR, "constants": nets.QV, "unit": nets.VALUE}


def begins_like_net(head: bytes) -> bool:
    """Whether a file that begins like this is a Merino net, or not text, as the nets of other trainers."""
    return head.startswith(MAGIC) or b"\0" in head and not files.is_utf_16(head)


def is_net_file(path: Path) -> bool:
    """Whether a file begins like a net; one that cannot be read does not."""
    try:
        with files.open_user_file(path, files.NET) as file:
            return begins_like_net(file.read(files.HEAD_BYTES))
    except OSError:
        return False


def kind_of(head: bytes) -> files.Kind:
    """The kind of a file of an evaluation that begins like this: a net, or a weights file."""
    return files.NET if begins_like_net(head) else files.WEIGHTS


def save_net(network: Network, path: Path) -> None:
    """Write the file whole or not at all; raises OSError."""
    files.write_whole(path, as_bytes(network))


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
        "scale": nets.SCALE,
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
        content = files.read_user_file(path, files.NET)
    except OSError as error:
        raise NetError(f"cannot read net '{path}': {error.strerror}") from error
    return net_in(content, path)


def net_in(content: bytes, path: Path) -> Network:
    """The net of the content of the file `path`; raises NetError, which names the file."""
    try:
        return read_net(content, str(path))
    except evaluation.EvaluationError as error:
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
    header, shape = _read_header(lines[1], int(version))
    at = len(lines[0]) + len(lines[1]) + 2
    at += -at % ALIGNMENT
    sizes = shape.layers()
    wanted = at + 2 * sum(prod(size) for size in sizes.values())
    if len(content) != wanted:
        raise NetError(f"it has {len(content)} bytes, but {shape} needs {wanted}")
    try:
        if name is not None:
            check(header, name, memoryview(content)[at:])
    except DamageError as error:
        raise NetError(str(error)) from error
    weights = {}
    for layer, size in sizes.items():
        weights[layer] = np.frombuffer(content, "<i2", prod(size), at).astype(np.int16).reshape(size)
        at += 2 * prod(size)
    quanta = nets.Quanta(header["qa"], header["qb"])
    nets.check_play(shape, weights, quanta)
    return Network(shape, weights, float(header["k"]), header["about"], header.get("search", {}), quanta)


def _read_header(line: bytes, version: int) -> tuple[dict[str, Any], Shape]:
    """The header of a net of this version, and the shape in it; raises NetError."""
    is_of_pieces = version == PIECE_VALUES
    try:
        header = parsed(line)
        qa, qb, scale, qc = header["qa"], header["qb"], header["scale"], header.get("qc")
        errors.real_number("'k'", header["k"], evaluation.MIN_K, evaluation.MAX_K)
        hidden = errors.whole_number("'hidden'", header["hidden"], 1, nets.MAX_NEURONS)
        second = errors.whole_number("'second'", header["second"], 0, nets.MAX_SECOND)
        several = header["outputs"] if version == SEVERAL_OUTPUTS else 2
        errors.whole_number("'outputs'", several, 2, max(nets.OUTPUTS))
        search = header.get("search", {})
        if not isinstance(header["about"], dict):
            raise ValueError("'about' is not a table")
        if not (isinstance(search, dict) and all(type(value) is int for value in search.values())):
            raise ValueError("'search' is not a table of whole numbers")
        if is_of_pieces and header["piece_values"] != _PIECE_VALUES:
            raise ValueError(f"its units of piece values are not {_PIECE_VALUES}")
        features, activation = str(header["features"]), str(header["activation"])
        shape = Shape(features, hidden, second, activation, is_of_pieces, several if version == SEVERAL_OUTPUTS else 1)
        _ = shape.feature_set  # raises for a wrong expression
    except evaluation.EvaluationError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise NetError(f"its header cannot be read ({error!r})") from error
    wanted = {nets.QA: None} | dict.fromkeys(() if is_of_pieces else nets.FINE_QA, nets.FINE_QC)
    if type(qa) is not int or qa not in wanted or (scale, qc) != (nets.SCALE, wanted[qa]):
        raise NetError(
            f"QA, scale and QC are {qa!r:.20}, {scale!r:.20} and {qc!r:.20}, which this Merino does not read"
        )
    most = nets.MAX_QB if qa == nets.QA else nets.MAX_FINE_QB
    if type(qb) is not int or not 1 <= qb <= most or qb != nets.QB and is_of_pieces:
        raise NetError(f"QB is {qb!r:.20}, but this Merino reads 1 to {most}, and {nets.QB} in a piece-value net")
    return header, shape


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
    nets.check_play(shape, weights, nets.COARSE)
    return Network(shape, weights, outlook.DEFAULT_K, {"origin": "a file without a header"})


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
    with errors.turning(ValueError, NetError, "an identity of a net cannot be read: "):
        return read_net(base64.b64decode(text, validate=True))


def digest(network: Network) -> str:
    """A hash by which a net is known, 16 hex digits."""
    return hashlib.blake2b(as_unsealed_bytes(network), digest_size=8).hexdigest()
