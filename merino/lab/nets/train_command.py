"""`merino train FILE ...`: trains a net from scored positions."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from merino.app.console import shared
from merino.core.common import command, files, interrupt, options, sealed, terminal, text
from merino.engine.search.limits import MAX_THREADS
from merino.eval.families import find_net
from merino.eval.net import file as net_files
from merino.eval.net import network
from merino.formats import sources
from merino.lab import plots
from merino.lab.nets import gpu, gradient, position_blocks, shapes, starting, training
from merino.learn.request import TrainingError

of_net = partial(options.Option, group="net")
SUPPORTED = "what the positions support, or as in --start"


@dataclass(frozen=True)
class TrainRequest:
    """What to train, beyond the settings; None for what the positions support, or the net to start from has."""

    shape: Annotated[
        str | None,
        f"shape of the net, as in '{network.EXAMPLE}', or of a part of it by --features and --hidden",
        of_net("EXPR"),
    ] = None
    features: Annotated[str | None, "feature set", of_net("EXPR", default=SUPPORTED)] = None
    hidden: Annotated[int | None, "neurons", of_net("N", 1, default=SUPPORTED)] = None
    note: Annotated[str | None, "note about the positions, stored in the net", of_net("TEXT")] = None
    start: Annotated[
        str | None,
        "continue from this net, a file or a name in weights/; where features are multiplied with the friendly king, "
        "or neurons or outputs added, the new net begins with its scores",
        of_net("NET", default="random weights"),
    ] = None
    threads: Annotated[
        int | None,
        "threads; they do not change the result",
        training.training("N", 1, MAX_THREADS, default="one per core"),
    ] = None
    blend: training.ShareOfResult = None
    power: training.Power = gradient.Objective.power
    k: Annotated[
        float | None,
        "scale of the scores",
        training.training(
            "CP", 1, 1e6, default="fitted to the results, but at most that of the terms; or as in --start"
        ),
    ] = None
    out: Annotated[
        Path, "write the net to this file", options.Option("FILE", read=shared.file_path, group=shared.OUTPUT)
    ] = Path("merino.net")

    def shape_of(self, usual: network.Shape) -> network.Shape:
        """The shape asked for, as `usual` where nothing is said; raises EvaluationError."""
        if self.shape:
            return network.parse_shape(self.shape)
        shape = replace(usual, features=self.features or usual.features, hidden=self.hidden or usual.hidden)
        return replace(shape, features=shape.feature_set.name)


def run_train(arguments: Sequence[str]) -> int:
    """The command in a shell: 0, or 130 after Ctrl-C; raises MerinoError."""
    parser = shared.Parser(
        prog="merino train",
        description="Train a net from scored positions: packed files, or PGN with scores in comments.",
        examples=("merino train games.pgn --out my.net", 'merino train p.bin --features "ALL+H+V" --hidden 32'),
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="positions, as 'merino positions' reads them")
    for kind in (TrainRequest, training.TrainingSettings):
        options.add_options(parser, kind)
    shared.add_quiet(parser)
    args = parser.parse_args(arguments)
    request = TrainRequest(**options.given(vars(args), TrainRequest))
    settings = training.TrainingSettings(**options.given(vars(args), training.TrainingSettings))
    if request.shape and (request.features or request.hidden):
        raise command.UsageError("--shape says all of the shape: leave out --features and --hidden")
    with files.writing(command.CommandError):
        found = _train(args.files, request, settings, {"epochs", "rate"} & vars(args).keys(), args.quiet)
    _report(found, request.out)
    return interrupt.INTERRUPTED if found.interrupted else 0


def _train(
    names: Sequence[str], request: TrainRequest, settings: training.TrainingSettings, asked: set[str], is_quiet: bool
) -> training.Trained:
    """Train, and write the net; of the settings `asked` are kept, and others follow from the positions."""
    source = find_net(request.start) if request.start else None
    start = net_files.load_net(source) if source else None
    # What is wrong with the shape is said before files are read.
    wanted = request.shape_of(start.shape if start else network.Shape())
    if start is not None and (fault := starting.fault_of_part(start.shape, wanted)):
        raise TrainingError(fault)
    if settings.gpu:
        gpu.check_gpu(wanted)
    out, checkpoint = request.out, request.out.parent / f"{request.out.name}.state"
    for path in (out, checkpoint):
        files.check_writable(path)
    files.check_writable(plots.log_of(out), whole=False)
    found = sources.find_files(names)
    shared.check_apart((out, checkpoint, plots.log_of(out)), [*found, source])
    with files.held(out):
        with terminal.Progress(shared.progress_stream(is_quiet)) as show:
            left_out = sources.LeftOut()
            records = position_blocks.training_positions(
                found, out.parent, lambda path: partial(show, f"Reading {path.name}"), left_out
            )
        shared.say_left_out(left_out, is_quiet)
        with records:
            settings = _settings(request, settings, asked, records, start)
            about = sealed.writable({"files": [path.name for path in found]})
            about |= sealed.writable({"note": request.note}) if request.note else {}
            trainer = training.Trainer(records, settings, about, checkpoint, request.threads, start)
            if not is_quiet:
                k, epochs = settings.objective.scale_of_scores, text.counted(settings.epochs, "epoch")
                print(f"{settings.shape}\n{len(records)} positions, K {k:.1f}, {epochs}")
            if start is None and (words := shapes.caution(settings.shape, len(records))):
                print(f"train: {words}", file=sys.stderr)
            with terminal.LivePrinter(shared.progress_stream(is_quiet)) as show:
                trained = trainer.run(partial(_note, show, plots.log_of(out)))
        net_files.save_net(trained.network, out)
        if not trained.interrupted:
            checkpoint.unlink(missing_ok=True)
    return trained


def _settings(
    request: TrainRequest,
    settings: training.TrainingSettings,
    asked: set[str],
    records: position_blocks.PackedBlocks,
    start: network.Network | None,
) -> training.TrainingSettings:
    """How to train on these positions: as asked, else as the positions support, or the net at the start was trained."""
    course = shapes.course_for(records, settings.batch, start, settings.validation)
    row = shapes.supported_by(len(records))
    blend = row.share if request.blend is None else request.blend
    score_k = round(request.k, 1) if request.k else course.score_k
    return replace(
        settings,
        shape=request.shape_of(start.shape if start else row.shape),
        objective=gradient.Objective(blend, course.k, request.power, score_k),
        epochs=settings.epochs if "epochs" in asked else course.epochs,
        rate=settings.rate if "rate" in asked else course.rate,
    )


def _note(show: terminal.LivePrinter, log: Path, state: training.TrainingState) -> None:
    """Show the progress of training on one line; at the end of an epoch, append a line to its log."""
    validation = "" if state.validation_error is None else f", validation {state.validation_error:.6f}"
    left = round(state.seconds_left)
    time_left = f"{left} s left" if left < 100 else f"{left // 60} min left"
    show(
        f"epoch {state.epoch}/{state.epochs}: error {state.error:.6f}{validation}, "
        f"{state.speed / 1e6:.2f} M positions/s, {time_left}"
    )
    if state.is_epoch:
        row = {"time": round(time.time()), "epoch": state.epoch, "error": state.error, "apart": state.validation_error}
        row |= {"best": state.best, "speed": state.speed, "seconds": round(state.seconds, 1)}
        with files.open_to_append(log) as file:
            file.write(json.dumps(row).encode() + b"\n")


def _report(found: training.Trained, out: Path) -> None:
    ended = "Interrupted after" if found.interrupted else "Done:"
    before = "" if found.start_error is None else f" (the start {found.start_error:.6f})"
    print(
        f"{ended} {text.counted(found.epochs, 'epoch')}, {found.seconds:.0f} s in this run; error {found.error:.6f}, "
        f"on validation games {found.validation_error:.6f}{before}; the net is in '{out}'"
    )
    if found.interrupted:
        print("The same command continues from there.")
    if found.validation_error >= found.even_error:
        sentence = "train: the net predicts validation games no better than an even score does; try a lower --rate"
        print(sentence, file=sys.stderr)
