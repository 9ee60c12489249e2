"""The commands of `merino`: what they print, what they say when they are used wrongly, and their exit codes."""

import errno
import gzip
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from merino.app.shell.cli import COMMANDS, HELP, main
from merino.core.board.fen import START_FEN
from merino.core.common import about, terminal
from merino.eval.linear import registry, weights
from tests.uci_process import PATIENCE, ROOT, run_merino

MATE_FEN = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 b - - 0 1"


def test_help_lists_every_command(shell):
    listed = shell("help")
    assert all(f"  {command.usage}" in listed for command in COMMANDS.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_for_a_command_is_what_it_says_to_h_and_to_help(name, capsys):
    said = []
    for words in (["help", name], [name, "-h"], [name, "--help"]):
        assert main(words) == 0
        said.append(capsys.readouterr())
    assert said[0].out
    assert said == [(said[0].out, "")] * 3
    if name not in ("help", *HELP):  # which stands for others
        usage, _, examples = said[0].out.partition("\nexample")
        assert f"usage: merino {COMMANDS[name].name}" in usage and all(len(line) <= 80 for line in usage.splitlines())
        assert examples.rstrip().splitlines()[-1].startswith("  merino ")


def test_help_reaches_the_commands_of_commands_and_those_of_uci(capsys):
    assert main(["help", "spsa", "tune"]) == main(["go", "--help"]) == 0
    said = capsys.readouterr().out
    assert "usage: merino spsa tune" in said
    assert "go [LIMITS]" in said


@pytest.mark.parametrize("name", ["version", "--version", "-V"])
def test_version_is_printed(name, shell):
    assert shell(name) == f"Merino {about.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["prft"], "merino: there is no command 'prft'; did you mean 'perft'?\n"),
        (["help", "benhc"], "there is no command 'benhc'; did you mean 'bench'?"),
        (["qqqq"], "there is no command 'qqqq'; 'merino help' lists the commands"),
        (["perft", "many"], "perft: argument N: 'many' is not a whole number from 1 to 16"),
        (["evaluate", "x", "--weights"], "evaluate: argument --weights: expected one argument"),
        (["epd", "x", "--depth", "0"], "epd: argument --depth: '0' is not a whole number above 0"),
        (["weights", "x", "y"], "weights: unexpected: y"),
        (["uci", "now"], "uci: unexpected: now; see 'merino uci -h'"),
    ],
)
def test_a_wrong_command_line_is_explained_and_ends_with_code_2(arguments, complaint, shell):
    assert complaint in shell(*arguments, status=2)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["perft", "2", "8/8/8/8/8/8/8/8", "w", "-", "-"], "White has 0 kings"),
        (["evaluate", "/no/such/file"], "cannot read '/no/such/file'"),
        (["weights", "/no/such/file"], "cannot read weights file '/no/such/file'"),
        (["epd", "/no/such/file"], "epd: cannot read '/no/such/file': No such file or directory"),
        (["epd", str(ROOT / "LICENSE"), "--weights", "/no/such/file"], "epd: cannot read weights file '/no/such/file'"),
    ],
)
def test_a_fault_is_explained_and_ends_with_code_1(arguments, complaint, shell):
    assert complaint in shell(*arguments, status=1)


def test_perft_prints_the_divide(shell):
    assert shell("perft", "2", "8/8/8/8/8/8/6k1/4K2R", "w", "K", "-").splitlines()[0] == "h1f1: 3"
    assert "Nodes searched: 8902" in shell("perft", "3")


@pytest.mark.parametrize("command", ["evaluate", "epd", "explain"])
def test_positions_may_be_compressed(command, tmp_path, shell):
    file, line = tmp_path / "positions.epd.gz", f"{MATE_FEN.rsplit(maxsplit=2)[0]} bm Kf8;\n"
    line = line if command == "epd" else f"{MATE_FEN}\n"
    file.write_bytes(gzip.compress(line.encode()))
    assert shell(command, file, *(["--depth", "1"] if command == "epd" else []))
    other = tmp_path / "positions.epd"
    for content, fault in ((file.read_bytes(), "is compressed"), (line.encode("utf-16"), "is UTF-16 text")):
        other.write_bytes(content)
        assert shell(command, other, status=1).startswith(f"merino: {command}: '{other}' {fault}")


def test_evaluate_names_bad_lines_and_prints_the_others(tmp_path, capsys):
    file = tmp_path / "positions.epd"
    file.write_text(f"# a comment\n{START_FEN}\n\nnonsense\n{MATE_FEN}\n")
    assert main(["evaluate", str(file)]) == 1
    said = capsys.readouterr()
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert [fen for _, fen in rows] == [START_FEN, MATE_FEN]
    assert int(rows[0][0]) == 0
    assert int(rows[1][0]) < -300
    assert said.err.startswith(f"{file}:4: a FEN has 4 to 6 fields")


def test_evaluate_takes_other_weights_and_standard_input(tmp_path):
    file = tmp_path / "only_rooks.txt"
    file.write_text(weights.render({term.name: 321.0 if term.name == "VAL_R" else 0.0 for term in registry.TERMS}))
    done = run_merino("evaluate", "-", "--weights", str(file), given=MATE_FEN.encode())
    assert (done.code, list(done.output), done.errors) == (0, [f"-321\t{MATE_FEN}"], "")


def test_weights_shows_the_file_and_every_term_also_of_a_name(shell):
    file, blank, *table = shell("weights", ROOT / "weights" / "default.txt").splitlines()
    assert (file, blank) == (str(ROOT / "weights" / "default.txt"), "")
    text = " ".join(" ".join(table).split())
    assert all(f" {term.name} " in text and term.sentence in text for term in registry.TERMS)
    file, _, *table = shell("weights", "full").splitlines()
    assert file == str(ROOT / "weights" / "full.txt") and any("KnightSquare, a table of 32" in line for line in table)


def test_clean_cache_removes_compiled_code_and_nothing_else(tmp_path):
    cache = tmp_path / "cache"
    for name in ("0123456789abcdef", "keep me"):
        (cache / name).mkdir(parents=True)
        (cache / name / "file").write_text("x")
    done = run_merino("clean-cache", environment={"MERINO_HOME": str(tmp_path)})
    assert (done.code, list(done.output)) == (0, [f"removed {cache / '0123456789abcdef'}"])
    assert [folder.name for folder in cache.iterdir()] == ["keep me"]


def test_clean_cache_names_what_stays_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MERINO_HOME", str(tmp_path))
    names = ["0" * 16, "1" * 16, "2" * 16]
    for name in names:
        (tmp_path / "cache" / name).mkdir(parents=True)
    delete = shutil.rmtree

    def delete_most(folder: Path, ignore_errors: bool = False) -> None:
        if folder.name == names[0] and not ignore_errors:
            raise PermissionError(errno.EACCES, "Permission denied", "a file")
        if folder.name == names[1]:
            delete(folder)  # as another process does
        if folder.name != names[0]:
            delete(folder, ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", delete_most)
    assert main(["clean-cache"]) == 1
    said = capsys.readouterr()
    kept, *gone = (str(tmp_path / "cache" / name) for name in names)
    assert said.out.splitlines() == [f"removed {folder}" for folder in gone]
    assert said.err == f"merino: clean-cache: cannot delete '{kept}': Permission denied\n"


def test_on_windows_a_pipe_without_a_reader_has_another_number(monkeypatch):
    fault, of_a_file = OSError(errno.EINVAL, "Invalid argument"), OSError(errno.EINVAL, "Invalid argument", "x.pgn")
    assert not terminal.is_lost_output(fault) and not terminal.has_no_reader(fault)
    monkeypatch.setattr(sys, "platform", "win32")
    assert terminal.is_lost_output(fault) and terminal.has_no_reader(fault)
    assert not terminal.is_lost_output(of_a_file)


def test_output_that_nobody_reads_is_no_error(tmp_path):
    assert in_a_shell("merino perft 5 | head -1") == (0, "a2a3: 181046\n")
    path = tmp_path / "one.txt"
    path.write_text("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 | 120 | 1.0\n")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "merino", "positions", str(path)]
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(command, cwd=ROOT, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="streams are closed by the shell, signals sent to ourselves"
)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_writes_a_script_that_starts_the_engine_as_openbench_asks(tmp_path):
    engine, compiled = tmp_path / "merino-1a2b3c", ["-o", "warmup"]  # as it is
    command = ["make", "-C", str(ROOT), *compiled, f"RUN={sys.executable}", f"EXE={engine}"]
    subprocess.run(command, check=True, stdout=subprocess.PIPE)
    said = subprocess.run([engine], input="uci\nquit\n", check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    assert said.splitlines()[-1] == "uciok"
    version = subprocess.run([engine, "--version"], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    assert about.__version__ in version


def in_a_shell(command: str) -> tuple[int, str]:
    """The exit code of a command line in which `merino` stands for ours, and all it says on the streams left."""
    done = subprocess.run(
        command.replace("merino", f"{sys.executable} -m merino"),
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@posix_only
@pytest.mark.parametrize("command", ["help", "console </dev/null", "go depth 1"])
@pytest.mark.parametrize(
    ("stream", "fault"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_output_that_cannot_be_written_is_one_sentence(command, stream, fault):
    assert in_a_shell(f"merino {command} {stream}") == (1, f"merino: cannot write the output: {fault}\n")


@posix_only
def test_streams_that_cannot_be_written_keep_exit_codes():
    for unbuffered in ("", "1"):
        code, said = in_a_shell(f"PYTHONUNBUFFERED={unbuffered} merino version >/dev/full")
        assert (code, said.count("\n")) == (1, 1)
    for errors in ("2>/dev/full", "2>&-"):
        assert in_a_shell(f"merino nonsense {errors}") == (2, "")
    assert in_a_shell("merino uci <&- >&- 2>&-") == (0, "")


@posix_only
@pytest.mark.parametrize("command", ["uci", "", "console", "evaluate -"])
def test_an_input_that_is_closed_is_at_its_end(command):
    code, said = in_a_shell(f"merino {command} <&-")
    assert code == 0
    assert "Error" not in said


AS_SCRIPT = "from merino.__main__ import main; sys.exit(main())"
AS_MODULE = "runpy.run_module('engine', run_name='__main__', alter_sys=True)"


@posix_only
@pytest.mark.parametrize(
    ("start", "module"),
    [
        (AS_SCRIPT, "gc"),
        (AS_MODULE.replace("engine", "merino"), "merino.app.shell.cli"),
        (AS_MODULE, "merino.app.shell.cli"),
        (AS_MODULE, "merino.engine.uci.commands"),
        (AS_MODULE, "merino.app.shell.commands"),
        (AS_MODULE, "numpy"),
    ],
)
def test_ctrl_c_while_modules_are_loaded_ends_it_without_a_word(start, module):
    interrupting = (
        "import os, runpy, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        f"        os.kill(os.getpid(), signal.SIGINT) if name == {module!r} else None\n"
        "sys.meta_path.insert(0, Finder)\n"
        "sys.modules.pop('gc', None)\n"
        "sys.argv[1:] = ['perft', '1']\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run in the background
        f"{start}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", interrupting], cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


@posix_only
def test_ctrl_c_that_is_ignored_stays_ignored():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import merino.__main__; "
    code += "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, timeout=PATIENCE) == b"True\n"


def test_an_encoding_without_the_characters_to_write_ends_no_command(tmp_path):
    file = tmp_path / "weiß.txt"
    file.write_bytes((ROOT / "weights" / "default.txt").read_bytes())
    for words in (["explain", START_FEN, "--static"], ["weights", str(file)]):
        done = run_merino(*words, environment={"PYTHONIOENCODING": "ascii"})
        said = "\n".join(done.output)
        assert (done.code, done.errors) == (0, "") and said.isascii() and "BishopMobility" in said
