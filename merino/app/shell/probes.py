"""`merino probes FILE NET ...`: what nets know of the terms and of motifs, and when they learn it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path, positive
from merino.app.shell.output_files import check_apart, check_picture, ending_of, write_output
from merino.core.common.command import CommandError, errors_named
from merino.eval.evaluation import EvaluationError
from merino.eval.families import find_net, load_net
from merino.eval.net.family import NetEvaluation
from merino.formats.packed import PackedError, unpack
from merino.formats.packed_files import all_positions, evenly
from merino.formats.sources import SourceError
from merino.study.errors import StudyError
from merino.study.probes.probe import POSITIONS, draw, probe, table


def run_probes(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    parser = Parser(
        prog="merino probes",
        description="Ask the neurons of nets for the terms and for motifs of tactics and structure, by linear probes: "
        "with nets of several generations, it shows what self-play learns first.",
        examples=("merino probes games.bin gen1 gen12", "merino probes games.bin gen1 gen12 --plot probes.svg"),
    )
    parser.add_argument("file", type=file_path, metavar="FILE", help="a file of scored positions")
    parser.add_argument("nets", nargs="+", metavar="NET", help="nets, oldest first, or names of those in weights/")
    sentence = "how many positions, evenly from the file (default: %(default)s)"
    parser.add_argument("--positions", type=positive, default=POSITIONS, metavar="N", help=sentence)
    parser.add_argument("--plot", type=file_path, metavar="FILE", help="also draw a chart, as PNG or SVG")
    shared.add_json(parser, "print a list of JSON objects, one per term or motif")
    args = parser.parse_args(arguments)
    with errors_named("probes", EvaluationError, PackedError, SourceError, StudyError):
        check_apart([args.plot], [args.file, *map(find_net, args.nets)], "probes")
        check_picture(args.plot, "probes")
        nets = {name: _net(file) for name, file in by_name(args.nets).items()}
        positions = unpack(evenly(all_positions(args.file), args.positions))
        found = probe(nets, positions, lambda text: print(f"{text} ...", file=sys.stderr))
    if args.plot:
        write_output(args.plot, draw(found, ending_of(args.plot)), "probes")
    print(json.dumps([each.as_plain() for each in found]) if args.json else "\n".join(table(found)))
    return 0


def _net(name: str) -> NetEvaluation:
    net = load_net(name)
    assert isinstance(net, NetEvaluation)
    return net


def by_name(files: Sequence[str]) -> dict[str, str]:
    """The nets by names that tell them apart: their own, those of their folders, or else the whole paths."""
    for name in (lambda path: path.stem, lambda path: path.parent.name, str):
        names = [name(Path(file)) for file in files]
        if all(names) and len(set(names)) == len(names):
            return dict(zip(names, files, strict=True))
    raise CommandError(f"probes: '{next(name for name in names if names.count(name) > 1)}' is named twice")
