"""The shape of a net as one expression, read and written."""

from pathlib import Path

import pytest

from merino.eval.families import find_net
from merino.eval.net.file import load_net
from merino.eval.net.network import EXAMPLE, NetError, Shape, parse_shape
from tests.test_net_training import sample

SHAPES = {
    EXAMPLE: Shape("MIRRORED(ALL)", 512, outputs=8),
    "ALL -> 64 -> 1": Shape(),
    "ALL -> 64 -> 16 -> 1": Shape("ALL", 64, 16),
    "ALL -> 32 -> values, crelu": Shape("ALL", 32, 0, "crelu", True),
    "KING8*ALL mirrored -> 64 -> 1, crelu": Shape("MIRRORED(KING8*ALL)", 64, 0, "crelu"),
    "ALL+H+MC -> 8 -> 4 -> 1 x 16": Shape("ALL+H+MC", 8, 4, outputs=16),
    "MIRRORED(ALL)+H -> 8 -> 1": Shape("MIRRORED(ALL)+H", 8),
}


@pytest.mark.parametrize("text", SHAPES)
def test_a_shape_is_written_as_it_is_read(text: str) -> None:
    assert parse_shape(text) == SHAPES[text] and str(SHAPES[text]) == text
    assert parse_shape(f" {text.lower().replace('->', '  ->')} ") == SHAPES[text]


def test_a_net_shows_the_expression_of_its_shape(shell) -> None:
    shape = load_net(find_net("gen13")).shape
    assert parse_shape(str(shape)) == shape
    assert str(shape) in shell("net", "gen13")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("64", EXAMPLE),
        ("ALL -> 64 -> 8 -> 4 -> 1", EXAMPLE),
        ("ALL -> x -> 1", EXAMPLE),
        ("ALL -> 64 -> 2", EXAMPLE),
        ("ALL -> 64 -> 1 x", EXAMPLE),
        ("ALL -> 64 -> 1, relu", "the activation is crelu or screlu, not 'relu'"),
        ("ALL -> 64 -> 1 x 7", "a net has 1, 2, 4, 8 or 16 outputs, not 7"),
        ("ALX -> 64 -> 1", "no block 'ALX'"),
        ("ALL -> 9999 -> 1", "neurons"),
        ("ALL -> 8 -> 1 x " + "9" * 40, "a net has 1, 2, 4, 8 or 16 outputs"),
        ("H -> 8 -> values", "features ALL"),
    ],
)
def test_what_is_no_shape_is_refused(text: str, said: str) -> None:
    with pytest.raises(NetError) as refused:
        parse_shape(text)
    assert said in str(refused.value) and f"'{text}' is no shape of a net" in str(refused.value)


def test_numbers_of_thousands_of_digits_are_refused_in_a_shape() -> None:
    for text in ("ALL -> {} -> 1", "ALL -> 8 -> {} -> 1", "ALL -> 8 -> 1 x {}"):
        with pytest.raises(NetError, match="is no shape of a net"):
            parse_shape(text.format("9" * 5000))


def test_the_command_trains_the_shape_of_an_expression(tmp_path: Path, shell) -> None:
    path, out = tmp_path / "p.bin", tmp_path / "n.net"
    path.write_bytes(sample().tobytes())
    words = ["train", str(path), "--out", str(out), "--epochs", "1", "--shape", "all mirrored -> 8 -> 1 x 8"]
    assert "ALL mirrored -> 8 -> 1 x 8\n" in shell(*words)
    assert load_net(out).shape == Shape("MIRRORED(ALL)", 8, outputs=8)
    assert "--shape says all of the shape" in shell(*words, "--hidden", "16", status=2)
    assert "train: 'ALL -> 8' is no shape of a net" in shell(*words[:-1], "ALL -> 8", status=1)
