"""`merino train FILE ...`: trains a net from scored positions."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from merino.app.console import shared_options as shared
from merino.app.console.command_line import OUTPUT, Parser, file_path, share_above_zero
from merino.app.shell.shared import check_apart
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.errors import number_of
from merino.core.common.files import FileInUseError, check_writable, held, open_to_append, writing
from merino.core.common.interrupt import INTERRUPTED
from merino.core.common.options import Option, add_options, given
from merino.core.common.sealed import writable
from merino.core.common.terminal import LivePrinter, Progress
from merino.core.common.text import counted
from merino.engine.search.limits import MAX_THREADS
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
from merino.lab.nets.shapes import EPOCHS, caution, course_for, supported_by
from merino.lab.nets.starting import check_part
from merino.lab.nets.training import (
    FURTHER_EPOCHS,
    FURTHER_RATE,
    Ahead,
    OnCard,
    OtherTrainingError,
    Power,
    ShareOfResult,
    StoppedEarlyError,
    Trained,
    Trainer,
    TrainingSettings,
    TrainingState,
    above_zero,
    training,
)
from merino.learn.errors import TrainingError
from merino.learn.reading import searched_positions
from merino.learn.request import DEFAULT_TEACHER, Events
from merino.learn.rescoring import Rescore
from merino.match.players import OwnPlayer
from merino.match.prove import GAIN, Proof, prove

of_net = partial(Option, group="net")
SUPPORTED = "what the positions support, or as in --start"
SETTINGS, SHAPE, DEFAULT_OUT = TrainingSettings(), Shape(), Path("merino.net")


class Aim(StrEnum):
    """What training learns from."""

    SCORE = "score"
    PQR = "pqr"


def _hidden(text: str) -> tuple[int, int]:
    """The neurons of the first layer and of the second, 0 for none; raises ValueError."""
    first, _, second = text.partition(",")
    if not first.strip().isdecimal() or not (second.strip().isdecimal() or "," not in text):
        raise ValueError(f"it takes one number, or two as in 64,32, not '{text[:20]}'")
    return number_of(first.strip()), number_of(second.strip() or "0")


@dataclass(frozen=True)
class TrainRequest:
    """What to train, and on what; None for what the positions support, or the net to start from has."""

    files: tuple[str, ...]
    seed: Annotated[int, "seed of the random weights and the order", Option("N")] = SETTINGS.seed
    shape: Annotated[
        str | None, f"shape of the net, as in '{EXAMPLE}', in place of the next five options", of_net("EXPR")
    ] = None
    features: Annotated[str | None, "feature set", of_net("EXPR", default=SUPPORTED)] = None
    hidden: Annotated[
        tuple[int, int] | None, "neurons of a layer or of two", of_net("N[,M]", read=_hidden, default=SUPPORTED)
    ] = None
    outputs: Annotated[
        int | None, f"outputs, by the number of men: {OUTPUTS}", of_net("N", 1, OUTPUTS[-1], default=SUPPORTED)
    ] = None
    activation: Annotated[
        str | None, " or ".join(ACTIVATIONS), of_net("NAME", default=f"{SHAPE.activation}, or as in --start")
    ] = None
    piece_values: Annotated[bool, "train a net whose score is the sum of a value for each piece", of_net()] = False
    note: Annotated[str | None, "note about the positions, stored in the net", of_net("TEXT")] = None
    start: Annotated[
        str | None,
        "continue from this net, a file or a name in weights/; where --features multiplies with the own king, --hidden "
        "adds neurons or --outputs adds outputs, the new net begins with its scores",
        of_net("NET", default="random weights"),
    ] = None
    factorised: Annotated[
        bool, "learn what --features multiplies with the own king for all its squares at once as well", of_net()
    ] = False
    threads: Annotated[
        int | None, "threads; they do not change the result", training("N", 1, MAX_THREADS, default="one per core")
    ] = None
    epochs: Annotated[
        int | None,
        "passes over all positions",
        training("N", 1, default=f"{EPOCHS}, more if they are few; {FURTHER_EPOCHS} with --start"),
    ] = None
    batch: Annotated[int, "positions per step", training("N", 1)] = SETTINGS.batch
    rate: Annotated[
        float | None,
        "learning rate at the start",
        above_zero("X", default=f"{SETTINGS.rate}, {FURTHER_RATE} with --start"),
    ] = None
    objective: Annotated[
        Aim, "what to learn from: scores and results, or the moves of PGN games (pqr)", training("score|pqr")
    ] = Aim.SCORE
    blend: ShareOfResult = None
    blend_from: Annotated[
        float | None,
        "weight of the result in the first epoch, from which it goes evenly to --blend in the last",
        training("X", 0, 1, default="the same"),
    ] = None
    power: Power = Objective.power
    ahead: Ahead = 0.0
    k: Annotated[
        float | None,
        "scale of the scores",
        training("CP", 1, 1e6, default="fitted to the results, but at most that of the terms; or as in --start"),
    ] = None
    validation: Annotated[
        float, "share of the games kept for validation", training("X", read=share_above_zero, also=("--apart",))
    ] = SETTINGS.validation
    gpu: OnCard = False
    mirror: Annotated[bool, "do not mirror positions left to right", training()] = True
    rescore: Annotated[
        int | None,
        "search ten positions of each game, NODES each, with the net at the start, and keep the scores next to them "
        f"(default: the scores in the files); the start is then {DEFAULT_TEACHER}, unless named",
        training("NODES", 1),
    ] = None
    match: Annotated[bool, "after --rescore, do not let the new net meet the one before it", training()] = True
    out: Annotated[Path, "write the net to this file", Option("FILE", read=file_path, group=OUTPUT)] = DEFAULT_OUT
    is_quiet: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for options that exclude each other."""
        if self.shape and any((self.features, self.hidden, self.outputs, self.activation, self.piece_values)):
            raise UsageError("train: --shape says all of the shape: leave out --features, --hidden and the like")
        if self.rescore and self.is_pqr:
            raise UsageError("train: --rescore makes scores, but --objective pqr uses none")
        if self.ahead and (self.rescore or self.is_pqr):
            raise UsageError("train: --lambda looks ahead in games with scores: --rescore and --objective pqr use none")
        if self.is_pqr and (self.blend, self.blend_from, self.power) != (None, None, Objective.power):
            raise UsageError("train: --blend, --blend-from and --power are for scores; --objective pqr uses none")

    @property
    def is_pqr(self) -> bool:
        """Whether moves of games teach, and not scores."""
        return self.objective is Aim.PQR

    @property
    def start_name(self) -> str | None:
        """The net to start from: with `rescore`, whose searches it makes, one that comes with Merino if unnamed."""
        return self.start or (DEFAULT_TEACHER if self.rescore else None)

    def shape_of(self, usual: Shape) -> Shape:
        """The shape asked for, as `usual` where nothing is said; raises EvaluationError."""
        if self.shape:
            return parse_shape(self.shape)
        hidden, second = self.hidden or (usual.hidden, usual.second)
        activation = self.activation or usual.activation
        if self.piece_values and not usual.piece_values or second and not usual.second:
            usual = replace(SHAPE, piece_values=usual.piece_values)  # positions support nets of one layer only
        features, outputs = self.features or usual.features, self.outputs or usual.outputs
        shape = Shape(features, hidden, second, activation, self.piece_values or usual.piece_values, outputs)
        return replace(shape, features=shape.feature_set.name)


def run_train(arguments: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises CommandError."""
    args = _parser().parse_args(arguments)
    request = TrainRequest(tuple(args.files), **given(vars(args), TrainRequest), is_quiet=args.quiet)
    with errors_named("train", PackedError, SourceError, TrainingError, EvaluationError, FileInUseError):
        start = load_net(find_net(request.start_name)) if request.start_name else None
        with writing(CommandError, before="train: "):
            try:
                found = _train(request, start)
            except StoppedEarlyError as error:
                print(f"train: {error}", file=sys.stderr)
                return INTERRUPTED
            except OtherTrainingError as error:
                raise CommandError(f"train: {error}, or name another --out") from error
    _report(found, request.out)
    interrupted = found.interrupted
    if request.rescore and start is not None and not interrupted and request.match:
        interrupted = _meet(found, start, request).interrupted
    return INTERRUPTED if interrupted else 0


def _parser() -> Parser:
    parser = Parser(
        prog="merino train",
        description="Train a net from scored positions: packed files, or PGN with scores in comments.",
        examples=("merino train games.pgn --out my.net", 'merino train p.bin --features "ALL+H+V" --hidden 32'),
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="positions, as 'merino positions' reads them")
    add_options(parser, TrainRequest)
    shared.add_quiet(parser)
    return parser


def _train(request: TrainRequest, start: Network | None) -> Trained:
    """Train, and write the net; raises what `run_train` names, and OSError."""
    wanted = request.shape_of(start.shape if start else SHAPE)  # what is wrong with it is said before files are read
    if start is not None:
        check_part(start.shape, wanted)
    trained = TrainingSettings(wanted, factorised=request.factorised).trained_shape
    if request.gpu:
        check_gpu(trained, request.is_pqr)
    out, name = request.out, request.start_name
    checkpoint = out.parent / f"{out.name}.state"
    for path in (out, checkpoint):
        check_writable(path)
    check_writable(log_of(out), whole=False)
    files = find_files(request.files)
    check_apart((out, checkpoint, log_of(out)), [*files, find_net(name) if name else None], "train")
    with held(out):
        with _records(request, files, start) as records:
            settings = _settings(request, records, start)
            about = writable({"files": [path.name for path in files]})
            about |= writable({"note": request.note}) if request.note else {}
            about |= {"lambda": request.ahead} if request.ahead else {}
            trainer = Trainer(records, settings, about, checkpoint, request.threads, start)
            if not request.is_quiet:
                k = settings.objective.scale_of_scores
                print(f"{settings.shape}\n{len(records)} positions, K {k:.1f}, {counted(settings.epochs, 'epoch')}")
            if start is None and (words := caution(settings.shape, len(records) // settings.objective.together)):
                print(f"train: {words}", file=sys.stderr)
            with LivePrinter(shared.progress_stream(request.is_quiet)) as show:
                found = trainer.run(partial(_note, show, log_of(out)))
        save_net(found.network, out)
        if not found.interrupted:
            checkpoint.unlink(missing_ok=True)
    return found


def _records(request: TrainRequest, files: Sequence[Path], start: Network | None) -> PackedBlocks:
    """All positions of the files, or those of their moves or that are searched; kept next to the net until closed."""
    progress = Progress(shared.progress_stream(request.is_quiet))
    say, folder = shared.unless_quiet(print, request.is_quiet), request.out.parent
    try:
        if not request.rescore or start is None:
            chosen = Filter(ahead=request.ahead)
            return training_positions(
                files, chosen, folder, request.is_pqr, lambda path: partial(progress, f"Reading {path.name}")
            )
        rescore = Rescore(request.rescore, NetEvaluation(start))
        records = spooled(searched_positions(files, rescore, Events(say, progress)), folder)
    finally:
        progress.wipe()
    if len(records) < sum(array.size for array in start.weights.values()):
        say(f"{len(records)} positions are few: the net has more weights than that")
    return records


def _settings(request: TrainRequest, records: PackedBlocks, start: Network | None) -> TrainingSettings:
    """How to train on these positions: as asked, else as the positions support, or the net at the start was trained."""
    together = Objective(pqr=request.is_pqr).together
    course = course_for(records, request.batch, start, request.validation, together)
    row = supported_by(len(records) // together)
    blend = row.share if request.blend is None else request.blend
    k = round(request.k, 1) if request.k else None
    if request.is_pqr:  # it has no scores, so there the scale that was asked for is the net's
        objective = Objective(blend, k or (start.k if start else Objective.k), request.power, pqr=True)
    else:
        objective = Objective(blend, course.k, request.power, score_k=k or course.score_k)
    return TrainingSettings(
        shape=request.shape_of(start.shape if start else row.shape),
        objective=objective,
        epochs=request.epochs or course.epochs,
        batch=request.batch,
        rate=request.rate or course.rate,
        mirror=request.mirror,
        validation=request.validation,
        seed=request.seed,
        factorised=request.factorised,
        gpu=request.gpu,
        blend_from=request.blend_from,
    )


def _meet(found: Trained, start: Network, request: TrainRequest) -> Proof:
    """Let the new net meet the one before it, in the match that decides in `merino learn`."""
    name = Path(request.start_name or "").name
    new, old = OwnPlayer(request.out.name, NetEvaluation(found.network)), OwnPlayer(name, NetEvaluation(start))
    print(f"It meets {name} in {GAIN.most_games} games at most, {GAIN.time_control} a move; --no-match skips this.")
    with LivePrinter(shared.progress_stream(request.is_quiet)) as show:
        return prove(new, old, GAIN, print, show, request.threads)


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


def _report(found: Trained, out: Path) -> None:
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
