"""Sessions at the console: scripted input, what it answers, and what the engine was asked to do."""

import _thread
import io
import os
import re
import signal
import string
import subprocess
import sys
from pathlib import Path

import pytest

from merino.app.console import commands, games, loop, terminal
from merino.app.console import loop as loop_module
from merino.app.console.session import Session
from merino.core.board.fen import START_FEN
from merino.engine.notation.san import looks_like_move
from merino.engine.search.limits import MAX_MS, Limits
from merino.engine.search.strength import at_elo, at_level
from merino.engine.uci import runtime
from merino.eval.linear import registry, weights
from tests.talk import Talk

ROOT = Path(__file__).resolve().parent.parent
AMBIGUOUS = "4k3/8/8/8/8/8/1R3R2/4K3 w - - 0 1"
CASTLING = "r3k2r/8/8/3p4/4P3/8/8/R3K2R w KQkq - 0 1"


def test_a_typed_move_is_played_and_answered(talk):
    text = talk.say("e4")
    assert "move: a5" in text
    assert "depth  3" in text and "-0.25" in text and "1234 nodes" in text and "1...a5" in text
    assert talk.moves == ["e2e4", "a7a5"]


@pytest.mark.parametrize(
    ("lines", "answers", "moves"),
    [
        (("force", "e4", "e7e5", "Nf3"), (), "e2e4 e7e5 g1f3"),
        (("force", "e4", "go"), ("move: a5",), "e2e4 a7a5"),
        (("force", "e4", "e5", "Nf3", "undo 3", "e4", "redo"), ("played again: e5\n",), "e2e4 e7e5"),
        (("force", "e4", "e5", "undo 2", "d4", "redo"), ("No move has been taken back.",), "d2d4"),
        (("undo",), ("No move has been played yet.\n",), ""),
        (("e4", "Nf3", "undo"), ("taken back: Nf3 a4\n",), "e2e4 a7a5"),
        (("e4", "resign", "undo"), ("taken back: White resigns\n",), "e2e4 a7a5"),
        (("force", "e4", "go", "force", "undo"), ("taken back: a5\n",), "e2e4"),
        (("hint",), ("hint: a3",), ""),
        (("auto 5",), (), "a2a3 a7a5 a1a2 a5a4 a2a1"),
        (("setboard 7k/8/8/8/8/8/R7/K7 w - - 98 100", "auto"), ("draw by the fifty-move rule",), "a1b1 h8g7"),
        (("force", "setboard 7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "Qf7"), ("1/2-1/2, a draw by stalemate",), "g6f7"),
        (("force", "setboard 7k/8/5K2/6p1/8/8/8/8 w - - 0 1", "Kxg5"), ("by insufficient material",), "f6g5"),
        (("force", "setboard 7k/8/5KQ1/8/8/8/8/8 w - - 99 100", "Qg1"), ("by the fifty-move rule",), "g6g1"),
        (("level 0 10000:01 0", "time"), ("at most 10000 minutes", "limit: 2 s per move"), ""),
        (("level 0 0.000001 0", "level 0 0 0.0001", "time"), ("Usage: level", "limit: 2 s per move"), ""),
        (("force", "setboard 4k3/8/8/8/8/8/8/1RK2R2 w FB - 0 1", "O-O"), (), "c1f1"),
        (("force", "setboard r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O"), (), "e1g1"),
        (("eval static", "terms"), ("BishopPairMidgame", "A knight near the centre"), ""),
        (("perft 3",), ("e2e4: 600\n", "Nodes searched: 8902\n"), ""),
        (
            ("moves", "setboard 7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "Qf7", "moves"),
            ("20 moves: Na3 Nc3", "no legal move.\n"),
            "g6f7",
        ),
        (("force", "e4", "e5", "Nf3", "history"), ("1. e4 e5 2. Nf3\n",), "e2e4 e7e5 g1f3"),
        (
            ("learn nowhere.pgn", "learn -"),
            ("There is no file 'nowhere.pgn'.\n", "which the console reads; name a file"),
            "",
        ),
        (("learn nowhere.pgn 9 6",), (f"terms are numbered 1 to {len(registry.TERMS)}",), ""),
        (('learn "nowhere.pgn', "learn --help"), ("A quotation mark is missing", "--no-match"), ""),
        (("histroy", "xyzzy"), ("did you mean history?", "'xyzzy' is neither a command nor a move"), ""),
        ((START_FEN,), ("type setboard before it",), ""),
        (("N", "n"), ("'N' is too short for new, which ends the game: type it in full.\n",), ""),
        (("q",), ("'q' is too short for quit, which ends the game: type it in full.\n",), ""),
        (("Nxf3",), ("Nxf3: there is nothing to capture on f3; try Nf3.\n",), ""),
        (("force", "e4", "new", "e4"), ("move: a5",), "e2e4 a7a5"),
        (("new", "new", "resume"), ("There is no other game.\n",), ""),
    ],
)
def test_what_is_typed_is_answered(talk, lines, answers, moves):
    said = talk.say(*lines)
    assert not [answer for answer in answers if answer not in said], said
    assert talk.moves == moves.split()


@pytest.mark.parametrize(
    ("fen", "text", "reason"),
    [
        (START_FEN, "e7e5", "it is White's turn"),
        (START_FEN, "Bc4", "the pawn on e2 blocks the way"),
        (START_FEN, "Qh4", "the queen on d1 cannot reach h4"),
        (START_FEN, "Nf9", "there is no square f9"),
        (AMBIGUOUS, "Rd2", "say Rbd2, Rfd2"),
        (AMBIGUOUS, "Qd2", "White has no queen"),
        ("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1", "Kd1", "would stand in check from the queen on e2"),
        (START_FEN, "7. e4 e5", "Move 1 comes next, not 7; 'new' begins another game."),
        (START_FEN, "e4 and e5", "e4 is a move, but what follows is none; type moves alone, as in e4 or 1. e4 e5."),
        (START_FEN, "1. e4 e5 2. Nf6", "Nf6: it is White's turn, and this is a move for Black."),
        (CASTLING, "castle", "castle: say O-O to castle on the king's side, O-O-O on the queen's side."),
    ],
)
def test_a_rejected_move_says_why_and_changes_nothing(talk, fen, text, reason):
    talk.say(f"setboard {fen}")
    assert reason in talk.say(text).replace("\n", " ")
    assert talk.moves == []


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("\u2658f3", "g1f3"),
        ("\u2659e4", "e2e4"),
        ("knight to f3", "g1f3"),
        ("Knight f3", "g1f3"),
        ("pawn to e4", "e2e4"),
        ("knight from g1 to f3", "g1f3"),
        ("1. knight to f3!", "g1f3"),
        (f"setboard {CASTLING}\npawn e4 takes d5\ncastle kingside\ncastles long", "e4d5 e8g8 e1c1"),
    ],
)
def test_a_move_in_figurines_or_words_is_understood(talk, text, move):
    talk.say("force", *text.split("\n"))
    assert talk.moves == move.split()


def test_names_of_commands_are_unlike_moves_and_differ(talk):
    names = [name for command in commands.COMMANDS for name in command.names]
    assert len(names) == len(set(names))
    assert not any(looks_like_move(name[:length]) for name in names for length in range(1, len(name) + 1))
    assert "is ambiguous: black, board" in talk.say("b")
    talk.say("force", "b4")
    assert talk.moves == ["b2b4"]
    assert talk.say("hist") == talk.say("history")
    assert talk.say("BOARD") == talk.say("d") == talk.say("bo")
    assert talk.say("", "   ", "# e4") == ""


@pytest.mark.parametrize(
    ("lines", "ending"),
    [(("force", "f3", "e5", "g4", "Qh4#"), "0-1, Black wins by checkmate"), (("e4", "resign"), "0-1, White resigns")],
)
def test_the_end_of_the_game_stops_moves_and_undo_revokes_it(talk, lines, ending):
    assert talk.say(*lines).endswith(f"{ending}.\n")
    for line in ("e4", "go", "resign", "draw", "hint", "auto", "analyze"):
        assert f"The game is over ({ending})" in talk.say(line)
    assert f"{ending}." in talk.say("history") and "neither a command nor a move" in talk.say("xyzzy")
    talk.say("undo")
    assert talk.session.game.ending is None


def test_the_limits_reach_the_search(talk):
    talk.say("go")
    assert talk.searcher.limits == Limits(movetime=2000)
    for line, limits in (("st 0.5", Limits(movetime=500)), ("sd 7", Limits(depth=7)), ("sn 5000", Limits(nodes=5000))):
        talk.say(line, "go")
        assert talk.searcher.limits == limits


def test_level_keeps_a_clock_for_each_side(talk):
    talk.say("level 2 0:30 1", "go")
    assert talk.searcher.limits == Limits(time=(30_000, 30_000), increment=(1000, 1000), moves_to_go=2)
    talk.say("go", "go")  # each search takes 1.5 s by the fake's word
    assert talk.searcher.limits == Limits(time=(29_500, 29_500), increment=(1000, 1000), moves_to_go=1)
    talk.say("go", "go")
    assert talk.searcher.limits == Limits(time=(59_000, 29_000 + 30_000), increment=(1000, 1000), moves_to_go=2)
    assert "0.5 min for 2 moves" in talk.say("time")
    talk.say("level 1 10000 0", "go", "go", "go")
    assert talk.searcher.limits.time == (MAX_MS, MAX_MS), "no more than a search may be given"
    talk.searcher.planned = 2500.4
    talk.say("new", "option nodestime 10", "level 0 1 0", "go", "go", "go")
    assert talk.searcher.limits.time == (57_500, 57_500), "a clock loses the nodes of the move"
    assert "it has thought 3.0 s for White" in talk.say("time"), "and the time shown is real"


@pytest.mark.parametrize("line", ["level 0 10000 0", "level 40 9999:59 3600", "level 0 0:01 0", "st 0.01"])
def test_the_command_of_a_limit_sets_the_same_one(line):
    assert games.pace_of(games.pace_of(line).command) == games.pace_of(line)


def test_wrong_arguments_are_answered_with_the_usage(talk):
    for line in ("st", "st x", "st -1", "st nan", "sd 0", "sd 1e3", "sn -5", "level 40", "level 0 0 0", "undo x"):
        assert "Usage: " in talk.say(line), line
    for line in ("new 961", "new 960 960", "moves z9", "hash 0", "threads no", "setboard", "go fast"):
        assert "Usage: " in talk.say(line), line
    assert talk.moves == []


def test_setboard_takes_a_fen_and_a_bad_one_keeps_the_game(talk):
    talk.say("force", "e4")
    for fen in ("xyz", "8/8/8/8/8/8/8/8 w - - 0 1", "4k3/8/8/8/8/8/8/4K2 w - - 0 1"):
        talk.say(f"setboard {fen}")
        assert talk.moves == ["e2e4"]
    talk.say(f'setboard "{AMBIGUOUS}"')
    assert talk.say("fen") == f"{AMBIGUOUS}\n"
    talk.say("new 960 518")
    assert talk.session.position.chess960 and talk.session.position.fen() == START_FEN
    assert "Chess960 position" in talk.say("new 960")


def test_weights_are_shown_saved_loaded_and_reset(talk, tmp_path):
    assert str(weights.DEFAULT_FILE) in talk.say("weights")
    mine = tmp_path / "mine.txt"
    talk.say(f"weights save {mine}")
    mine.write_text(re.sub(r"VAL_Q +[\d ]+", "VAL_Q 999", mine.read_text()))
    talk.say(f"weights load {mine}")
    assert talk.session.runtime.weights_file == mine
    assert "VAL_Q 999" in talk.say("weights")
    assert talk.searcher.calls[-1][0] == "evaluation"
    talk.say("weights reset")
    assert talk.session.runtime.weights_file == weights.DEFAULT_FILE
    mine.write_text("VAL_Q many\n")
    assert f"{mine}:1: 'many' is no number; the weights stay as they were" in talk.say(f"weights load {mine}")
    assert "Cannot write" in talk.say(f"weights save {tmp_path}/mine.txt/deeper")
    assert "Usage: weights" in talk.say("weights burn")


def test_hash_and_threads_reach_the_engine(talk, monkeypatch):
    talk.say("hash 32", "threads 2")
    assert ("hash", 32) in talk.searcher.calls and ("threads", 2) in talk.searcher.calls
    before = talk.searcher.calls.copy()
    monkeypatch.setattr(runtime, "free_megabytes", lambda: 100)
    assert "101 MiB are more than the 100 MiB" in talk.say("hash 101") and talk.searcher.calls == before
    assert "Threads, 1 to " in talk.say("threads")


def test_help_lists_every_command_and_explains_each(talk):
    overview = talk.say("help")
    assert max(len(row) for row in overview.splitlines()) <= 80
    for command in commands.COMMANDS:
        assert command.usage in overview
        assert command.sentence.endswith(".")
        for name in command.names:
            assert command.sentence in " ".join(talk.say(f"help {name}").split())
    assert "There is no command 'xyzzy'" in talk.say("help xyzzy")
    assert "is ambiguous" in talk.say("help s")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("line", ["learn --hel", "explain --hel", "compare --hel", "moves --hel"])
def test_a_short_help_option_ends_no_console(talk, capsys, line):
    talk.say(line)  # which asserts that no exit code comes back
    assert f"usage: {line.split(maxsplit=1)[0]}" in capsys.readouterr().out


def weights_in(folder: Path, name: str, queen: int) -> Path:
    """A weights file of this name with this value of a queen."""
    path = folder / name
    path.write_text(re.sub(r"VAL_Q +[\d ]+", f"VAL_Q {queen}", weights.DEFAULT_FILE.read_text()))
    return path


@pytest.mark.parametrize("option", ["--weights {}", "--weights={}", "--weight {}"])
def test_learn_works_on_the_weights_named(talk, tmp_path, data_folder, option):
    new, mine, other = (
        weights_in(tmp_path, f"{name}.txt", 900 + at) for at, name in enumerate(("new", "mine", "other"))
    )
    before = other.read_bytes()
    talk.say(f"weights load {other}")
    assert "The next move uses them." in talk.say(f"learn --use {new} {option.format(mine)}")
    assert talk.session.runtime.weights_file == mine
    assert (mine.read_bytes(), other.read_bytes()) == (new.read_bytes(), before)


@pytest.mark.parametrize(
    ("line", "start"),
    [("weights reset", "default.txt"), ("weights load {own}", None), ("weights load {mine}", "mine.txt")],
)
def test_learn_at_the_console_starts_from_the_weights_in_use(talk, tmp_path, data_folder, monkeypatch, line, start):
    own, mine = weights_in(data_folder, "weights.txt", 950), weights_in(tmp_path, "mine.txt", 951)
    given = list[str]()
    monkeypatch.setattr("merino.app.console.learning.learn_weights", lambda words, say: given.extend(words))
    talk.say(line.format(own=own, mine=mine), "learn games.pgn")
    assert given[-1:] == ["games.pgn"]
    assert [Path(word).name for word in given[:-1]] == ([] if start is None else ["--weights", start])


def test_while_a_net_plays_weights_are_shown_and_saved(talk, tmp_path, data_folder):
    note = "The net gen1 plays; 'option EvalFile <empty>' goes back to the weights.\n"
    mine, new = weights_in(tmp_path, "mine.txt", 951), weights_in(tmp_path, "new.txt", 952)
    talk.say(f"weights load {mine}", "option EvalFile gen1")
    assert "VAL_Q 951" in talk.say("weights")
    saved = talk.say(f"weights save {tmp_path}/saved.txt")
    assert "VAL_Q 951" in " ".join((tmp_path / "saved.txt").read_text().split())
    answer = talk.say(f"learn --use {new}")
    assert saved.endswith(note) and answer.endswith(note)
    assert "VAL_Q 952" in talk.say("weights") and "next move uses them" not in answer
    assert "option EvalFile" not in talk.say("option EvalFile <empty>", "weights")
    assert "gen1.net' is a net, which has no weights to list." in talk.say("weights load gen1", "weights")


@pytest.mark.parametrize(("line", "moves"), [("e4", ["e2e4", "a7a5"]), ("auto", ["a2a3"])])
def test_ctrl_c_while_thinking_makes_the_engine_move_at_once(talk, line, moves):
    talk.searcher.endless = True
    talk.searcher.on_start = _thread.interrupt_main
    before = signal.getsignal(signal.SIGINT)
    assert "move: " in talk.say(line)
    assert talk.moves == moves and signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_at_the_prompt_gives_a_hint_and_goes_on(talk):
    lines = iter([interrupt, lambda: "force", lambda: "e4", lambda: None])
    assert loop.run_lines(talk.session, lambda prompt: next(lines)()) == 0
    assert loop.HINT_AFTER_INTERRUPT in talk.out.getvalue()
    assert talk.moves == ["e2e4"]


def test_an_internal_error_does_not_end_the_session(talk, monkeypatch):
    def fail(session: Session, text: str) -> int | None:
        raise ZeroDivisionError("so it goes")

    monkeypatch.setattr(loop_module, "_played", fail)
    assert loop.run_piped(talk.session, io.BytesIO(b"e4\nfen\n")) == 0
    assert "ZeroDivisionError: so it goes" in talk.out.getvalue()
    assert START_FEN in talk.out.getvalue()


@pytest.mark.parametrize(
    "script", [b"", b"\n", b"e4", b"e4\r\n", b"force\ne4\ne5\n", b"quit\ne4\n", b"exit", b"\x00\xff\n"]
)
def test_piped_input_ends_with_exit_code_0(talk, script):
    assert loop.run_piped(talk.session, io.BytesIO(script)) == 0
    assert talk.out.getvalue().endswith("\n")
    assert b"quit" not in script or talk.moves == []
    if script.startswith(b"force"):
        assert (
            talk.out.getvalue().startswith("White(1): force\n") and "Black(1): e5\nWhite(2): \n" in talk.out.getvalue()
        )


def test_the_thinking_line_is_rewritten_in_place_on_a_terminal_only():
    assert "\r" in Talk(terminal.Terminal(colour=True, unicode=True, rewrites=True)).say("e4")
    plain = Talk().say("e4", "d", "eval static")
    assert "\r" not in plain and "\x1b" not in plain and plain.isascii()


def test_a_real_session_over_a_pipe_plays_explains_and_hands_the_rest_to_uci():
    done = subprocess.run(
        [sys.executable, "-m", "merino", "console"],
        input="sd 4\ne4\nNf3\neval\nmoves\nhistory\nuci\nposition startpos moves e2e4\ngo depth 2\n",
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env=os.environ | {weights.ENVIRONMENT_VARIABLE: str(weights.DEFAULT_FILE)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    play, _, protocol = done.stdout.partition("White(3): uci\n")
    assert play.startswith("Merino ") and f"Weights: {weights.DEFAULT_FILE}" in play and play.count("move: ") == 2
    assert "White(3): history\n1. e4 " in play
    assert protocol.startswith("id name Merino") and protocol.count("uciok\n") == 1 and "bestmove " in protocol


def test_a_faulty_weights_file_is_reported_and_the_shipped_one_used(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(weights.ENVIRONMENT_VARIABLE, str(weights.DEFAULT_FILE))
    bad = tmp_path / "bad.txt"
    bad.write_text("VAL_P 100\nVAL_P 100\n")
    loop.open_session(16, 1, str(bad))
    assert f"{bad}:2: VAL_P is given twice; not used.\nWeights: {weights.DEFAULT_FILE}\n" in capsys.readouterr().out


ENDING_GAMES = [entry for entry in commands.COMMANDS if entry.ends_game]
ENDING = {"new", "resume", "resign", "draw", "setboard", "load", "uci", "quit"}


def test_no_single_letter_costs_the_game_or_ends_the_console(talk):
    for letter in sorted({*string.ascii_letters} - {*"uU"}):  # u is the short name of undo
        talk.say("setboard " + START_FEN, "force", "e4", "e5")
        game, text = talk.session.position, talk.say(letter)  # which fails where the console would end
        assert talk.session.position is game and talk.moves[:2] == ["e2e4", "e7e5"], letter
        assert text, letter


@pytest.mark.parametrize("entry", ENDING_GAMES, ids=lambda entry: entry.name)
def test_what_ends_a_game_is_obeyed_only_in_full(talk, entry):
    assert {entry.name for entry in ENDING_GAMES} == ENDING
    talk.say("force", "e4", "e5")
    starts = {name[:end] for name in entry.names for end in range(1, len(name))}
    for short in starts - {"u", "e", "ex"}:  # which are those of undo and explain
        for typed in (short, short.capitalize(), short.upper()):
            assert talk.say(typed) != "" and talk.say(f"{typed} {START_FEN}") != "", typed
            assert talk.moves == ["e2e4", "e7e5"] and talk.session.game.ending is None, typed


@pytest.mark.parametrize("line", ["new", "new 960 17", f"setboard {AMBIGUOUS}"])
def test_resume_brings_back_the_game_that_was_left_and_then_the_other(talk, line):
    talk.say("force", "e4", "e5", "Nf3", "undo", "flip")
    before = talk.session.position.fen()
    assert "The earlier game is kept; resume returns to it." in talk.say(line)
    assert talk.session.position.fen() != before
    assert "No move has been played yet; resume returns to the game before." in talk.say("undo")
    assert talk.say("resume").startswith("The game goes on after 2 plies. The engine's limit: 2 s per move.")
    assert talk.moves == ["e2e4", "e7e5"]
    assert talk.session.game.is_forced and talk.session.game.is_flipped
    assert talk.say("redo") == "played again: Nf3\n"


def test_resume_changes_between_two_games_each_with_its_end_its_level_and_its_clocks(talk):
    talk.say("level 0 10 5", "skill 3", "e4")
    clock = str(talk.session.game.pace)
    talk.say("resign", "new", "level 0 5 0", "skill 9", "d4")
    assert "10 min" not in talk.say("time")
    assert f"{clock}. Level 3" in talk.say("resume") and "0-1, White resigns" in talk.out.getvalue()
    assert talk.moves[0] == "e2e4"
    assert "5 min for the game" in talk.say("resume") and talk.searcher.strength == at_level(9)
    assert talk.moves[0] == "d2d4"


def test_a_list_of_moves_is_played_and_answered_where_it_is_the_engines_turn(talk):
    assert "move:" not in talk.say("1. e4 e5")
    assert talk.moves == ["e2e4", "e7e5"]
    assert talk.say("2.Nf3 Nc6 3. Bb5").count("move:") == 1
    assert len(talk.moves) == 6
    talk.say("d4 d5")
    assert len(talk.moves) == 6 or talk.moves[6:] == ["d2d4", "d7d5"]


def test_skill_sets_and_shows_the_level(talk):
    assert talk.say("skill 3") == talk.say("skill") == f"Level 3, about {at_level(3).elo} Elo.\n"
    assert talk.session.runtime.searcher.strength is not None
    assert talk.say("skill 20") == talk.say("skill") == "Full strength.\n"
    assert talk.session.runtime.searcher.strength is None
    assert "level" in talk.say("skill 21")
    talk.session.runtime.searcher.strength = at_elo(1501)
    assert talk.say("skill") == "About 1501 Elo.\n"
