"""`merino faithfulness NET FILE`: how far the words on a net can be trusted, as figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from merino.inner.app.console import shared_options as shared
from merino.inner.app.console.command_line import Parser, file_path, positive
from merino.inner.core.common.command import errors_named
from merino.inner.eval.evaluation import EvaluationError
from merino.inner.eval.families import load_net
from merino.inner.formats.packed import PackedError, unpack
from merino.inner.formats.packed_files import all_positions, evenly
from merino.inner.formats.sources import SourceError
from merino.inner.study.words.faithfulness import Faithfulness, faithfulness

POSITIONS = 500


def run_faithfulness(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    parser = Parser(
        prog="merino faithfulness",
        description="Measure how far the words on a net can be trusted: whether sums are exact, what share the terms "
        "tell, and in how many positions the piece that is named for the rest is confirmed: the rest becomes less by "
        "at least a quarter of what is said when it is removed, or moved. The control says the same of another piece, "
        "by chance.",
        examples=("merino faithfulness gen12 games.bin",),
    )
    parser.add_argument("net", metavar="NET", help="a net, or the name of one in weights/")
    parser.add_argument("file", type=file_path, metavar="FILE", help="a file of scored positions")
    sentence = "how many of them, evenly from the file (default: %(default)s)"
    parser.add_argument("--positions", type=positive, default=POSITIONS, metavar="N", help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    with errors_named("faithfulness", EvaluationError, PackedError, SourceError):
        net = load_net(args.net)
        positions = unpack(evenly(all_positions(args.file), args.positions))
        found = faithfulness(net, positions)
    print(json.dumps(asdict(found)) if args.json else "\n".join(_rows(found)))
    return 0


def _rows(found: Faithfulness) -> Iterator[str]:
    yield f"{found.positions} positions; the largest gap between a score and its parts: {found.largest_gap:.1g}"
    yield f"\n{'R2 around the position':<26}{'positions':>10}{'mean':>8}"
    for phase, (count, mean) in found.r2.items():
        yield f"{phase:<26}{count:10}{mean:8.2f}"
    yield f"\n{'the piece named':<26}{'asked':>10}{'confirmed':>11}{'control':>9}"
    for way, named in found.named.items():
        yield f"{way:<26}{named.statements:10}{named.share:11.0%}{found.shuffled[way].share:9.0%}"
