"""`merino train FILE ...`: trains a net from scored positions."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import (
    Parser,
    file_path,
    number_above_zero,
    positive,
    scale,
    share_above_zero,
    share_or_all,
)
from merino.app.shell.shared import check_apart
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.errors import number_of
from merino.core.common.files import FileInUseError, check_writable, held, open_to_append, writing
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.sealed import writable
from merino.core.common.terminal import LivePrinter, ProgressOfMany
from merino.core.common.text import counted
from merino.eval.evaluation import EvaluationError
from merino.eval.families import find_net
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import load_net, save_net
from merino.eval.net.network import ACTIVATIONS, EXAMPLE, OUTPUTS, Network, Shape, parse_shape
from merino.formats.packed import Filter, PackedBlocks, PackedError, spooled
from merino.formats.packed_files import training_positions
from merino.formats.sources import SourceError, find_files
from merino.lab.nets.gpu import check_gpu
from merino.lab.nets.gradient import Objective
from merino.lab.nets.plots import log_of
from merino.lab.nets.shapes import EPOCHS, Course, caution, course_for, supported_by
from merino.lab.nets.starting import check_part
from merino.lab.nets.training import (
    FURTHER_EPOCHS,
    FURTHER_RATE,
    OtherTrainingError,
    StoppedEarlyError,
    Trained,
    Trainer,
    TrainingSettings,
    TrainingState,
)
from merino.learn.errors import TrainingError
from merino.learn.reading import searched_positions
from merino.learn.request import DEFAULT_TEACHER, Events
from merino.learn.rescoring import Rescore
from merino.match.players import OwnPlayer
from merino.match.prove import GAIN, Proof, prove

SCORE, PQR = "score", "pqr"
SETTINGS, OBJECTIVE, SHAPE = TrainingSettings(), Objective(), Shape()


def run_train(arguments: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    args = _parser().parse_args(arguments)
    with errors_named("train", PackedError, SourceError, TrainingError, EvaluationError, FileInUseError):
        start = _start(args)
        with writing(CommandError, before="train: "):
            try:
                found = _train(args, start)
            except StoppedEarlyError as error:
                print(f"train: {error}", file=sys.stderr)
                return INTERRUPTED
            except OtherTrainingError as error:
                raise CommandError(f"train: {error}, or name another --out") from error
    _tell(found, args.out)
    interrupted = found.interrupted
    if args.rescore and start is not None and not interrupted and not args.no_match:
        interrupted = _meet(found, start, args.out, args).interrupted
    return INTERRUPTED if interrupted else 0


def _train(args: argparse.Namespace, start: Network | None) -> Trained:
    """Train, and write the net; raises what `run_train` names, and OSError."""
    wanted = _shape(args, start.shape if start else SHAPE)  # what is wrong with it is said before files are read
    if start is not None:
        check_part(start.shape, wanted)
    trained = TrainingSettings(wanted, factorised=args.factorised).trained_shape
    if args.gpu:
        check_gpu(trained, args.objective == PQR)
    out: Path = args.out
    checkpoint = out.parent / f"{out.name}.state"
    for path in (out, checkpoint):
        check_writable(path)
    check_writable(log_of(out), whole=False)
    files, name = find_files(args.files), _start_name(args)
    check_apart((out, checkpoint, log_of(out)), [*files, find_net(name) if name else None], "train")
    with held(out):
        with _records(args, files, start) as records:
            settings = _settings(args, records, start)
            about = writable({"files": [path.name for path in files]} | ({"note": args.note} if args.note else {}))
            about |= {"lambda": args.ahead} if args.ahead else {}
            trainer = Trainer(records, settings, about, checkpoint, args.threads, start)
            if not args.quiet:
                k = settings.objective.scale_of_scores
                print(f"{settings.shape}\n{len(records)} positions, K {k:.1f}, {counted(settings.epochs, 'epoch')}")
            if start is None and (words := caution(settings.shape, len(records) // settings.objective.together)):
                print(f"train: {words}", file=sys.stderr)
            with LivePrinter(shared.progress_stream(args.quiet)) as show:
                found = trainer.run(partial(_note, show, log_of(out)))
        save_net(found.network, out)
        if not found.interrupted:
            checkpoint.unlink(missing_ok=True)
    return found


def _parser() -> Parser:
    parser = Parser(
        prog="merino train",
        description="Train a net from scored positions: packed files, or PGN with scores in comments.",
        examples=("merino train games.pgn --out my.net", 'merino train p.bin --features "ALL+H+V" --hidden 32'),
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="positions, as 'merino positions' reads them")
    shared.add_seed(parser, "the random weights and the order")
    shared.add_threads(parser, None, "one per core; the result does not depend on it")
    _add_net(parser)
    _add_training(parser)
    sentence = "write the net to this file (default: %(default)s)"
    add = parser.group(shared.OUTPUT).add_argument
    add("--out", type=file_path, metavar="FILE", default=Path("merino.net"), help=sentence)
    shared.add_quiet(parser)
    return parser


def _add_net(parser: Parser) -> None:
    """What the net is, and what it starts from."""
    add = parser.group("net").add_argument
    sentence = f"shape of the net as one expression, as in '{EXAMPLE}'; it takes the place of the next five options"
    add("--shape", metavar="EXPR", help=sentence)
    usual = "what the positions support, or as in --start"
    add("--features", metavar="EXPR", help=f"feature set (default: {usual})")
    sentence = f"neurons of the first layer and of a second one (default: {usual})"
    add("--hidden", metavar="N[,M]", help=sentence)
    sentence = f"outputs, chosen by the number of men on the board (default: {usual})"
    add("--outputs", type=int, choices=OUTPUTS, help=sentence)
    sentence = f"activation function (default: {SHAPE.activation}, or as in --start)"
    add("--activation", choices=ACTIVATIONS, help=sentence)
    sentence = "train a piece-value net: its score is the sum of a value for each piece"
    add("--piece-values", action="store_true", help=sentence)
    add("--note", metavar="TEXT", help="note about the positions, stored in the net")
    sentence = (
        "continue from this net, a file or a name in weights/; where --features multiplies with the own king, --hidden "
        "adds neurons or --outputs adds outputs, the new net begins with its scores (default: random weights)"
    )
    add("--start", metavar="NET", help=sentence)
    sentence = "learn what --features multiplies with the own king for all its squares at once as well"
    add("--factorised", action="store_true", help=sentence)


def _add_training(parser: Parser) -> None:
    """How it is trained, and on what scores."""
    add = parser.group(shared.TRAINING).add_argument
    sentence = f"passes over all positions (default: {EPOCHS}, more if they are few; {FURTHER_EPOCHS} with --start)"
    add("--epochs", type=positive, metavar="N", help=sentence)
    sentence = "positions per step (default: %(default)s)"
    add("--batch", type=positive, metavar="N", default=SETTINGS.batch, help=sentence)
    sentence = f"learning rate at the start (default: {SETTINGS.rate}, {FURTHER_RATE} with --start)"
    add("--rate", type=number_above_zero, metavar="X", help=sentence)
    sentence = "what to learn from: scores and results, or the moves of PGN games (PQR) (default: %(default)s)"
    add("--objective", choices=(SCORE, PQR), default=SCORE, help=sentence)
    shared.add_target(parser, OBJECTIVE.power, 0.0)
    sentence = (
        "weight of the result in the first epoch, from which it goes evenly to --blend in the last (default: the same)"
    )
    add("--blend-from", type=share_or_all, metavar="X", help=sentence)
    sentence = "scale of the scores (default: fitted to the results, but at most that of the terms; or as in --start)"
    add("--k", type=scale, metavar="CP", help=sentence)
    sentence = "share of the games kept for validation (default: %(default)s)"
    validation = add("--validation", type=share_above_zero, metavar="X", default=SETTINGS.validation, help=sentence)
    parser.also_accept("--apart", validation)
    shared.add_gpu(parser)
    add("--no-mirror", action="store_true", help="do not mirror positions left to right")
    sentence = (
        "search ten positions of each game, NODES each, with the net at the start, and keep the scores next to them "
        f"(default: the scores in the files); the start is then {DEFAULT_TEACHER}, unless named"
    )
    add("--rescore", type=positive, metavar="NODES", help=sentence)
    add("--no-match", action="store_true", help="after --rescore, do not let the new net meet the one before it")


def _shape(args: argparse.Namespace, usual: Shape) -> Shape:
    """The shape asked for, as `usual` where nothing is said; raises UsageError and EvaluationError."""
    parts = (args.features, args.hidden, args.outputs, args.activation, args.piece_values)
    if args.shape:
        if any(parts):
            raise UsageError("train: --shape says all of the shape: leave out --features, --hidden and the like")
        return parse_shape(args.shape)
    hidden, second = _hidden(args.hidden) if args.hidden else (usual.hidden, usual.second)
    activation, is_of_values = args.activation or usual.activation, args.piece_values or usual.piece_values
    if args.piece_values and not usual.piece_values or second and not usual.second:
        usual = SHAPE  # what positions support is of nets of one layer that have no values
    outputs = args.outputs or usual.outputs
    shape = Shape(args.features or usual.features, hidden, second, activation, is_of_values, outputs)
    return replace(shape, features=shape.feature_set.name)


def _hidden(text: str) -> tuple[int, int]:
    words = text.split(",")
    if not 1 <= len(words) <= 2 or not all(word.strip().isdecimal() for word in words):
        raise UsageError(f"train: --hidden takes one number, or two as in 64,32, not '{text[:20]}'")
    return number_of(words[0].strip()), number_of(words[1].strip()) if len(words) > 1 else 0


def _start(args: argparse.Namespace) -> Network | None:
    """The net to start from: with --rescore, whose searches it makes, one that comes with Merino if none is named."""
    if args.rescore and args.objective == PQR:
        raise UsageError("train: --rescore makes scores, but --objective pqr uses none")
    if args.ahead and (args.rescore or args.objective == PQR):
        raise UsageError("train: --lambda looks ahead in games with scores: --rescore and --objective pqr use none")
    if args.objective == PQR and ((args.share, args.blend_from) != (None, None) or args.power != OBJECTIVE.power):
        raise UsageError("train: --blend, --blend-from and --power say how to learn scores; --objective pqr uses none")
    name = _start_name(args)
    return load_net(find_net(name)) if name else None


def _start_name(args: argparse.Namespace) -> str | None:
    return args.start or (DEFAULT_TEACHER if args.rescore else None)


def _records(args: argparse.Namespace, files: Sequence[Path], start: Network | None) -> PackedBlocks:
    """All positions of the files."""
    progress = ProgressOfMany(shared.progress_stream(args.quiet))
    say = shared.unless_quiet(print, args.quiet)
    rescore = Rescore(args.rescore, NetEvaluation(start)) if args.rescore and start is not None else None
    try:
        chosen = Filter(ahead=args.ahead)
        records = read_records(files, chosen, args.out.parent, args.objective == PQR, rescore, Events(say, progress))
    finally:
        progress.wipe()
    if rescore is not None and start is not None and len(records) < sum(array.size for array in start.weights.values()):
        say(f"{len(records)} positions are few: the net has more weights than that")
    return records


def _settings(args: argparse.Namespace, records: PackedBlocks, start: Network | None) -> TrainingSettings:
    """How to train on these positions: as asked, else as the positions support, or the net at the start was trained."""
    together = Objective(pqr=args.objective == PQR).together
    course = course_for(records, args.batch, start, args.validation, together)
    row = supported_by(len(records) // together)
    return TrainingSettings(
        _shape(args, start.shape if start else row.shape),
        _objective(args, course, start, row.share if args.share is None else args.share),
        args.epochs or course.epochs,
        args.batch,
        args.rate or course.rate,
        SETTINGS.decay,
        not args.no_mirror,
        args.validation,
        args.seed,
        args.factorised,
        args.gpu,
        args.blend_from,
    )


def _objective(args: argparse.Namespace, course: Course, start: Network | None, blend: float) -> Objective:
    """What to learn: PQR has no scores, so there the scale that was asked for is the net's."""
    asked = round(args.k, 1) if args.k else None
    if args.objective == PQR:
        return Objective(blend, asked or (start.k if start else OBJECTIVE.k), args.power, pqr=True)
    return Objective(blend, course.k, args.power, score_k=asked or course.score_k)


def _meet(found: Trained, start: Network, out: Path, args: argparse.Namespace) -> Proof:
    """Let the new net meet the one before it, in the match that decides in `merino learn`."""
    name = Path(args.start or DEFAULT_TEACHER).name
    new, old = OwnPlayer(out.name, NetEvaluation(found.network)), OwnPlayer(name, NetEvaluation(start))
    print(f"It meets {name} in {GAIN.most_games} games at most, {GAIN.time_control} a move; --no-match skips this.")
    with LivePrinter(shared.progress_stream(args.quiet)) as show:
        return prove(new, old, GAIN, print, show, args.threads)


def _note(show: LivePrinter, log: Path, state: TrainingState) -> None:
    """Show the progress of training on one line; at the end of an epoch, append a line to its log."""
    validation = "" if state.validation_error is None else f", validation {state.validation_error:.6f}"
    left = round(state.seconds_left)
    time_left = f"{left} s left" if left < 100 else f"{left // 60} min left"
    show(
        f"epoch {state.epoch}/{state.epochs}: error {state.error:.6f}{validation}, "
        f"{state.speed / 1e6:.2f} M positions/s, {time_left}"
    )
    if state.is_epoch:
        row = {"epoch": state.epoch, "error": state.error, "apart": state.validation_error, "best": state.best}
        row |= {"speed": state.speed, "seconds": round(state.seconds, 1)}
        with open_to_append(log) as file:
            file.write(json.dumps({"time": round(time.time()), **row}).encode() + b"\n")


def _tell(found: Trained, out: Path) -> None:
    ended = "Interrupted after" if found.interrupted else "Done:"
    before = "" if found.start_error is None else f" (the start {found.start_error:.6f})"
    print(
        f"{ended} {counted(found.epochs, 'epoch')}, {found.seconds:.0f} s in this run; error {found.error:.6f}, on "
        f"validation games {found.validation_error:.6f}{before}; the net is in '{out}'"
    )
    if found.interrupted:
        print("The same command continues from there.")
    if found.validation_error >= found.even_error:
        sentence = "train: the net predicts validation games no better than an even score does; try a lower --rate"
        print(sentence, file=sys.stderr)


def read_records(
    paths: Sequence[Path], chosen: Filter, folder: Path, of_moves: bool, rescore: Rescore | None, events: Events
) -> PackedBlocks:
    """The positions of files: with `of_moves` those of moves, with `rescore` those of games it scores.

    Of games with scores those that pass the filter are taken; positions of games are kept in `folder` until they are
    closed. Lines for people and progress go to `events`. Raises LearnError, PackedError, SourceError and OSError.
    """
    if rescore is not None:
        return spooled(searched_positions(paths, rescore, events), folder)
    return training_positions(
        paths, chosen, folder, of_moves, lambda path: partial(events.progressed, f"Reading {path.name}")
    )
