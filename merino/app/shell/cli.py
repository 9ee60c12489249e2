"""The `merino` command: the table of its subcommands, from which its help is printed.

Imports nothing heavy, and each command's module only when it is asked for: as `merino` or `merino uci` this is on
the way to `uciok`.
"""

import sys
from collections.abc import Iterable, Sequence

from merino.core.common import about, errors, interrupt, terminal, text
from merino.core.common.command import LAB, Command, UsageError, by_name, errors_named
from merino.engine.uci import serve_one
from merino.engine.uci.commands import COMMANDS as UCI_COMMANDS
from merino.eval.linear.own_file import use_own_terms

OWN_TERMS = "--own-terms"  # before any command
EXPLAINING = "merino.app.console.explaining"
LEARNING = "merino.app.console.learning"
HELP = ("-h", "--help")  # the same as `help`, alone or after a command


def _command(usage: str, function: str, sentence: str, aliases: tuple[str, ...] = ()) -> Command:
    """A command whose module lies in this folder."""
    return Command(usage, f"merino.app.shell.{function}", sentence, aliases)


# Each function takes the arguments after the name and returns the exit code; if it takes any, it prints its help for
# `-h` and `--help`. A command whose usage is its name takes no arguments and is never given any.
FRONT = (
    Command("console [OPTIONS]", "merino.app.console:run_console", "Play, analyse and explain at a prompt."),
    Command("uci", "merino.engine.uci:serve", "Speak UCI on standard input and output, for GUIs."),
    Command("learn FILE [FIRST LAST]", f"{LEARNING}:run_learn", "Learn the weights from games."),
    Command("improve --hours H", f"{LEARNING}:run_improve", "Play, learn and prove by a match, again and again."),
    Command(
        "explain FEN|FILE [MOVE]", f"{EXPLAINING}:run_explain", "Explain a position or a move: verdict and reasons."
    ),
    Command("compare FEN MOVE MOVE", f"{EXPLAINING}:run_compare", "Compare two moves, or weights: A.txt B.txt [FEN]."),
    Command("moves FEN", f"{EXPLAINING}:run_moves", "Rank the legal moves by search or, with --static, by evaluation."),
    _command("annotate FILE.pgn", "annotate:run_annotate", "Annotate games: evaluation, terms, mistakes of each move."),
    _command("explorer [FEN|FILE.pgn]", "commands:explorer", "Show a position and its reasons in the browser."),
    _command("match A B", "match:run_match", "Play a match: Elo, LOS, sequential test."),
    _command("gauntlet A B ...", "match:run_gauntlet", "Play one player against several others and rate them."),
    _command("round-robin A B ...", "match:run_round_robin", "Play each player against each other and rate them."),
    _command("selfplay N", "match:run_selfplay", "Write games of Merino against itself."),
    _command("positions FILE ...", "position_files:run_positions", "Show, convert or split files of scored positions."),
    _command("epd FILE [--movetime MS]", "commands:epd", "Solve the positions of an EPD file."),
    _command("evaluate FILE", "commands:evaluate", "Print the static evaluation of each FEN of a file."),
    _command("weights [FILE]", "commands:weights", "Show the weights in use, what they mean, and earlier weights."),
    _command("gui-config GUI", "gui_config:print_config", "Print the configuration of Merino for a GUI."),
    _command("help [COMMAND]", "cli:show_help", "Show this list, or the help of one command.", HELP),
)
BEHIND = (
    *LAB,
    _command("bench", "commands:bench", "Search fixed positions; print the node count and the speed."),
    _command("perft N [FEN]", "commands:perft", "Count the leaf nodes N plies ahead, by root move."),
    _command("warmup [PART ...]", "commands:warmup", "Compile Merino ahead of the first use."),
    _command("clean-cache", "cli:clean_cache", "Delete the compiled code."),
    _command("version", "cli:version", "Print the version.", ("-V", "--version")),
)
COMMANDS = by_name((*FRONT, *BEHIND))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (sys.argv if None); the exit code: 0, 1 for a fault, 2 for a wrong command line."""
    terminal.open_closed_streams()
    terminal.escape_unwritable()
    try:
        code = _code_of(list(sys.argv[1:] if argv is None else argv))
    except OSError as error:
        if not terminal.is_lost_output(error):
            raise
        terminal.lost_output()
        return _report_lost(error)
    lost = terminal.lost_output()
    return code if lost is None else _report_lost(lost)


def _code_of(arguments: list[str]) -> int:
    """The exit code of a command, once it has ended in any of the usual ways."""
    try:
        return _run(arguments)
    except errors.MerinoError as error:
        sys.stdout.flush()
        terminal.complain(f"merino: {error}")
        return error.exit_code
    except SystemExit as ending:  # the way of argparse after its help
        return int(ending.code or 0)
    except KeyboardInterrupt:
        return interrupt.INTERRUPTED


def _report_lost(fault: OSError) -> int:
    """Say that the output could not be written, unless the reader has closed it, as in `merino help | head -1`."""
    if not terminal.has_no_reader(fault):
        terminal.complain(f"merino: cannot write the output: {fault.strerror}")
    return 1


def is_terminal() -> bool:
    """Whether both standard input and output are a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def version(_: list[str]) -> int:
    """Print name and version."""
    print(f"{about.NAME} {about.__version__}")
    return 0


def clean_cache(_: list[str]) -> int:
    """Delete the compiled code and print each deleted folder."""
    from merino.core.compiled.cache import remove_all  # noqa: PLC0415 (not on the way to uciok)

    for folder in remove_all():
        print(f"removed {folder}")
    return 0


def show_help(arguments: list[str]) -> int:
    """Print the commands, those of the lab apart, or the help of one."""
    if set(arguments) - set(HELP):
        return _run([*arguments, HELP[-1]])
    print(f"{about.NAME} {about.__version__}, a chess engine with an evaluation that learns\n")
    print(f"usage: merino [{OWN_TERMS} FILE] [COMMAND]\n")
    for command in FRONT:
        print(_row(command))
    print("\nThe lab, for those who study or build Merino:\n")
    for command in BEHIND:
        print(_row(command))
    print("\nWithout a command, Merino starts the console on a terminal, else UCI. It also runs a single UCI command,")
    print("as in 'merino go depth 12'. 'merino COMMAND -h' shows the arguments, options and examples of a command.")
    print(f"{OWN_TERMS} names a Python file with evaluation terms of your own.")
    return 0


def _run(arguments: list[str]) -> int:
    arguments = _without_own_terms(arguments)
    name, *rest = arguments or ["console" if is_terminal() else "uci"]
    if name not in COMMANDS and name in UCI_COMMANDS:
        if set(rest) & set(HELP):
            print(_row(UCI_COMMANDS[name]))
            return 0
        serve_one(arguments)
    command = _find(name, [*COMMANDS, *UCI_COMMANDS])
    if rest and command.usage == command.name:
        _refuse_arguments(command, rest)
    with interrupt.EndingAtOnce():
        function = command.load()
    with errors_named(command.name):
        code: int = function(rest)
    return code


def _without_own_terms(arguments: list[str]) -> list[str]:
    """The arguments after --own-terms FILE, if they begin with that; the file is used from now on."""
    option, *rest = arguments or [""]
    if option.partition("=")[0] != OWN_TERMS:
        return arguments
    name, *rest = [option.partition("=")[2], *rest] if "=" in option else rest or [""]
    if not name:
        raise UsageError(f"{OWN_TERMS} needs a Python file")
    try:
        use_own_terms(name)
    except OSError as error:
        raise UsageError(f"{OWN_TERMS}: cannot read '{name}': {error.strerror}") from error
    return rest


def _refuse_arguments(command: Command, rest: Sequence[str]) -> None:
    """Help for a command that takes nothing; raises UsageError for anything else."""
    from merino.app.console import shared  # noqa: PLC0415 (not on the way to uciok)

    line = f"merino {command.name}"
    shared.Parser(prog=line, description=command.sentence, examples=(line,)).parse_args(rest)


def _find(name: str, suggestions: Iterable[str]) -> Command:
    """The command of this name; raises UsageError with the nearest of the suggestions."""
    if name in COMMANDS:
        return COMMANDS[name]
    hint = text.did_you_mean(name, suggestions) or "; 'merino help' lists the commands"
    raise UsageError(f"there is no command '{name[:40]}'{hint}")


def _row(command: Command) -> str:
    width = 2 + max(len(each.usage) for each in COMMANDS.values())
    return f"  {command.usage:<{width}}{command.sentence}"
