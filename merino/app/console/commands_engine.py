"""Console commands for the engine: weights, options, learning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from merino.app.console.arguments import file_name, file_path, whole_number, words_in
from merino.app.console.registry import Section, command, engine_options
from merino.app.console.session import Session
from merino.core.common.command import CommandError, UsageError
from merino.core.common.files import writing
from merino.core.common.text import counted, did_you_mean
from merino.engine.uci import files
from merino.engine.uci.options import OPTIONS, OptionError, UciOption
from merino.eval.evaluation import Evaluation, EvaluationError, Number
from merino.eval.families import DEFAULT_FILE, active_file, find_weights, load
from merino.eval.linear.weights import SAVED

TEXT_COLUMN = 32


@command("weights", Section.ENGINE, "[ACTION [FILE]]")
def weights(session: Session, arguments: str) -> None:
    """Show, load, save or compare the weights.

    `weights show` lists the weights in use, `weights load FILE` loads others, `weights save FILE` writes them to a
    file, `weights diff FILE` shows where a file differs, `weights reset` restores those that come with Merino. What is
    loaded or compared may be named as it is in weights/: `weights load full`. While a net plays, these weights wait.
    """
    action, _, name = (arguments or "show").partition(" ")
    if action in _WITHOUT_FILE and not name:
        _WITHOUT_FILE[action](session)
    elif action in _WITH_FILE:
        _WITH_FILE[action](session, file_path(name))
    else:
        raise UsageError("expected show, load FILE, save FILE, diff FILE or reset")
    _tell_net(session)


def _tell_net(session: Session) -> bool:
    """Say so if a net plays, and not the weights; returns whether one does."""
    net = session.runtime.net_file
    if net is not None:
        session.tell(f"The net {net.stem} plays; 'option EvalFile <empty>' goes back to the weights.")
    return net is not None


def _show_weights(session: Session) -> None:
    session.say(f"Weights: {session.runtime.weights_file}")
    numbers = _with_numbers(session.runtime.terms).numbers
    named = [f"{name} {number.value:g}" for name, number in numbers.items() if number.part_of not in numbers]
    width = 2 + max(map(len, named))
    columns = max(1, session.text_width // width)
    for start in range(0, len(named), columns):
        session.say("  " + "".join(f"{entry:<{width}}" for entry in named[start : start + columns]).rstrip())


def _with_numbers(evaluation: Evaluation) -> Evaluation:
    """The same evaluation; raises CommandError if it is a net, which may be used as weights."""
    if not evaluation.numbers:
        raise CommandError(f"'{evaluation.name}' is a net, which has no weights to list or compare")
    return evaluation


def _reset_weights(session: Session) -> None:
    _load_weights(session, DEFAULT_FILE)


def _load_weights(session: Session, path: Path) -> None:
    try:
        session.runtime.use_weights(files.weights(str(path)))
    except EvaluationError as error:
        raise CommandError(f"{error}; the weights stay as they were") from error
    session.say(f"Weights: {session.runtime.weights_file}")


def _save_weights(session: Session, path: Path) -> None:
    path, runtime = path.absolute(), session.runtime
    with writing(CommandError, path):
        runtime.terms.save(path, [f"{SAVED} {runtime.weights_file}"])
    session.say(f"Weights saved in {path}")


def _compare_weights(session: Session, path: Path) -> None:
    try:
        path = find_weights(str(path)).absolute()
        others = _with_numbers(load(path)).numbers
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    mine = _with_numbers(session.runtime.terms).numbers
    rows = []
    for name, number in {**mine, **others}.items():
        if name not in mine or name not in others or number.part_of in mine.keys() & others.keys():
            continue  # its parts or its whole are shown
        old, new = mine[name].value, others[name].value
        if old != new:
            rows.append(f"  {name:<20}{old + 0.0:8.6g}{new + 0.0:8.6g}{new - old:+8.6g}")
    if rows:
        session.say("\n".join([f"{'':24}in use    file  change", *rows]))
    mine_alone, others_alone = _terms_of(mine) - _terms_of(others), _terms_of(others) - _terms_of(mine)
    if mine_alone or others_alone:
        alone = f"{counted(len(mine_alone), 'term')} in use and {counted(len(others_alone), 'term')} of {path}"
        session.tell(f"Only in one of both, and not compared: {alone}.")
    elif not rows:
        session.say(f"{path} holds the weights in use.")


def _terms_of(numbers: Mapping[str, Number]) -> set[str]:
    """The terms, and the cells of tables, that these numbers are the weights of."""
    return {number.part_of or name for name, number in numbers.items()}


_WITHOUT_FILE = {"show": _show_weights, "reset": _reset_weights}
_WITH_FILE = {"load": _load_weights, "save": _save_weights, "diff": _compare_weights}


@command("hash", Section.ENGINE, "MEGABYTES")
def hash_size(session: Session, arguments: str) -> None:
    """Set the size of the transposition table in MiB."""
    size = whole_number(arguments, "the size in megabytes", *_bounds("hash"))
    try:
        session.runtime.set_hash(size)
    except MemoryError as error:
        raise CommandError(f"{error or 'there is not enough memory'}; the table stays as it was") from error
    session.say(f"The transposition table has {size} MiB.")


@command("threads", Section.ENGINE, "N")
def threads(session: Session, arguments: str) -> None:
    """Search with N threads."""
    count = whole_number(arguments, "the number of threads", *_bounds("threads"))
    session.runtime.searcher.set_threads(count)
    session.say(f"The engine searches with {counted(count, 'thread')}.")


def _bounds(option: str) -> tuple[int, int]:
    """The values that this UCI option allows."""
    return OPTIONS[option].bounds or (1, 1)


@command("option", Section.ENGINE, "[OPTION [VALUE]]")
def set_option(session: Session, arguments: str) -> None:
    """List the engine's options with their present values, show one, or set it.

    These are the UCI options that a GUI shows: `option MultiPV 3`. Case does not matter.
    """
    if not arguments:
        for option in engine_options():
            present = _present(option, session)
            now = Path(present).name if option.is_evaluation else present
            said = f"{option.sentence.removesuffix('.')} ({_choices(option)})."
            session.say(session.row(f"  {option.name}{now and f', now {now}'}", said, TEXT_COLUMN))
        return
    option, text = _split(arguments)
    if not text and option.kind != "button":
        now = _present(option, session)
        session.tell(f"{option.name}, {_choices(option)}{now and f', now {now}'}: {option.sentence}")
        return
    try:
        value = option.read(text if option.opens is None else file_name(text))
        if option.clamp(value) != value:
            raise UsageError(f"{option.name} is {_choices(option)}")
        option.apply_to(session.runtime, option.opened(value))
    except OptionError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot open '{text}': {error.strerror}; {option.name} stays as it was") from error
    except (ValueError, MemoryError) as error:
        raise CommandError(f"{error or 'there is not enough memory'}; {option.name} stays as it was") from error
    session.say(f"{option.name}: {'done' if value is None else text}.")


def _split(text: str) -> tuple[UciOption, str]:
    """The option whose name the text begins with, and what follows; raises CommandError."""
    for option in engine_options():
        name = r"\s+".join(map(re.escape, option.name.split()))
        found = re.match(rf"{name}(?!\S)", text, re.IGNORECASE)
        if found:
            return option, text[found.end() :].strip()
    names = (option.name for option in engine_options())
    hint = did_you_mean(text.split(maxsplit=1)[0], names) or "; 'option' lists them"
    raise CommandError(f"there is no option '{text[:40]}'{hint}")


def _present(option: UciOption, session: Session) -> str:
    """The present value of an option in words, empty for a button."""
    return "" if option.kind == "button" else option.present(session.runtime)


def _choices(option: UciOption) -> str:
    if option.bounds:
        return "{} to {}".format(*option.bounds)
    return {"check": "on or off", "button": "a button", "string": "text"}.get(option.kind, option.kind)


@command("learn", Section.ENGINE, "FILE.pgn [FIRST LAST]")
def learn(session: Session, arguments: str) -> None:
    """Learn the weights from the games of a file, and use them if a match shows that they gain.

    Terms FIRST to LAST may change, by default all. `--no-match` uses the new weights at once. Ctrl-C stops the learning
    or its match; the best weights so far stay beside those in use. `learn -h` lists the options.
    """
    words, in_use = words_in(arguments), session.runtime.weights_file
    if in_use != active_file().absolute():
        words = ["--weights", str(in_use), *words]  # the last --weights counts: one that was typed, in whatever form
    try:
        from merino.app.console.learning import learn_weights  # noqa: PLC0415 (with all that learning needs)
    except KeyboardInterrupt as error:
        raise CommandError("learn: stopped by Ctrl-C; the weights are as they were") from error
    written = learn_weights(words, session.say)
    if written is not None:
        _use_new_weights(session, written)


def _use_new_weights(session: Session, path: Path) -> None:
    session.runtime.use_weights(files.weights(str(path)))
    if not _tell_net(session):
        session.say("The next move uses them.")


@command("improve", Section.ENGINE, "--hours H")
def improve(session: Session, arguments: str) -> None:
    """Play, learn and prove by a match, round after round; the game continues with what is proved stronger.

    `--rounds N` ends after N rounds. Ctrl-C ends it with the best so far; the same command continues from there.
    """
    words = words_in(arguments)
    from merino.app.console.learning import improve as carry_out  # noqa: PLC0415 (with all that learning needs)
    from merino.app.console.learning import improve_parser  # noqa: PLC0415

    if {"-h", "--help"} & set(words):
        session.say(improve_parser("improve").format_help().rstrip())
        return
    found = carry_out(words, session.say, "improve")
    if found.in_use is not None:
        _use_new_weights(session, found.in_use)
