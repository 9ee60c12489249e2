"""The console commands for sides, endings, analysis, settings, options: what each does and says."""

import json

import chess
import pytest

from merino.app.console import commands, explaining, loop
from merino.engine.search.limits import Limits, Score
from merino.engine.uci.options import OPTIONS
from merino.eval.linear.weights import SHIPPED
from tests.fake_tables import FakeTables
from tests.talk import Talk
from tests.test_options import QUEEN_ENDING, write_book

AFTER_TRAINING = SHIPPED / "greko2015-after-training.txt"
CAPTURES = "3rk3/8/8/3p4/4P3/8/8/3QK3 w - - 0 1"


def test_one_may_play_either_side(talk):
    assert "You play Black." in talk.say("black")
    assert talk.moves == ["a2a3"]
    assert talk.session.game.is_flipped
    talk.say("e5")
    assert len(talk.moves) == 3
    assert talk.say("black") == "You play Black.\n"
    talk.say("white")
    assert len(talk.moves) == 4
    assert not talk.session.game.is_flipped


@pytest.mark.parametrize(("score", "is_accepted"), [(30, True), (0, True), (-1, False), (-300, False)])
def test_the_engine_takes_a_draw_unless_it_is_ahead(talk, score, is_accepted):
    talk.searcher.score = Score(score)  # for the side to move: the person
    assert ("1/2-1/2, a draw by agreement." in talk.say("draw")) == is_accepted
    assert (talk.session.game.ending is not None) == is_accepted


def test_time_shows_the_limit_and_what_was_used(talk):
    assert "it has thought 0.0 s for White and 0.0 s for Black" in talk.say("time")
    talk.say("e4", "e5", "Nf3", "st 3")
    text = talk.say("time")
    assert "3 s per move" in text
    assert "0.0 s for White and 4.5 s for Black" in text


def test_analysis_has_no_end_for_a_person_and_one_for_a_script(talk):
    talk.searcher.second_line = True
    assert "-5.00" not in talk.say("hint")
    text = talk.say("analyze")
    assert talk.searcher.limits == Limits(movetime=2000)
    assert "1. a3" in text and text.count("depth") == 2, "several lines are shown in analysis, one in play"
    talk.session.is_live = True
    talk.searcher.endless = True
    talk.session.overhear = lambda: [""]
    talk.say("analyse")
    assert talk.searcher.limits == Limits(infinite=True)
    assert talk.moves == []


def test_analysis_and_an_offer_of_a_draw_are_searched_at_full_strength(talk):
    """For a script the limits of an analysis are those of a move, which a level plays weaker."""
    found = []
    talk.searcher.on_start = lambda: found.append(talk.searcher.is_analysing)
    talk.say("skill 3", "hint", "analyze", "draw")
    assert found == [False, True, True]
    assert not talk.searcher.is_analysing


@pytest.mark.parametrize(
    ("command", "overheard", "waiting"),
    [
        ("analyze", [[], [], ["force", "e4"]], ["force", "e4"]),
        ("go", [[], [""]], []),
        ("go", [[], ["stop"]], []),
        ("go", [[], ["?"]], []),
        ("go", [["", "undo", ""], []], ["undo", ""]),  # the last Enter belongs to what comes before it
    ],
)
def test_what_is_typed_while_the_engine_thinks_stops_it_or_waits(talk, command, overheard, waiting):
    talk.session.is_live = talk.searcher.endless = True
    lines = iter(overheard)
    talk.session.overhear = lambda: next(lines, [])
    talk.say(command)
    assert list(talk.session.typed_ahead) == waiting and talk.moves == ["a2a3"] * (command == "go")
    if command == "analyze":
        talk.say("analyze")  # what still waits ends the next one too


def test_the_console_explains_with_the_options_of_the_shell(talk, capsys):
    talk.say(f"setboard {CAPTURES}")
    weights = str(talk.session.runtime.weights_file)
    for typed, shell, words in (
        ("explain exd5 --static --shapley --json", explaining.run_explain, ["exd5", "--static", "--shapley", "--json"]),
        ("explain --static --shapley --json", explaining.run_explain, ["--static", "--shapley", "--json"]),
        (
            "compare exd5 Ke2 --static --shapley --json",
            explaining.run_compare,
            ["exd5", "Ke2", "--static", "--shapley", "--json"],
        ),
        (
            "moves eval --shapley --error 3 --json",
            explaining.run_moves,
            ["--static", "--shapley", "--error", "3", "--json"],
        ),
    ):
        assert shell([CAPTURES, *words, "--weights", weights]) == 0
        assert json.loads(talk.say(typed)) == json.loads(capsys.readouterr().out)
    assert "--error CP" in talk.say("explain -h") and "--judge" not in talk.say("moves -h")
    for typed in ("explain --shaply", "explain exd5 Ke2", "moves --error 0", "moves eval search", "compare exd5"):
        assert f"Usage: {typed.split()[0]} " in talk.say(typed)
    assert talk.moves == []


def test_eval_takes_another_weights_file(talk, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text(AFTER_TRAINING.read_text().replace("KnightCenter           27", "KnightCenter 13"))
    talk.say(f"weights load {AFTER_TRAINING}")
    assert "KnightCenter             13" in talk.say(f"eval static {other}")
    assert "KnightCenter             27" in talk.say("eval static")
    assert "Cannot read weights file" in talk.say("eval nowhere.txt")
    assert talk.say("eval static learned") == talk.say(f"eval static {SHIPPED / 'learned.txt'}")
    assert "learned.txt" in talk.say("explain --static --beside learned")


def test_an_option_takes_the_name_of_a_file_in_quotes(talk, tmp_path):
    net = tmp_path / "my own.net"
    net.write_bytes((SHIPPED / "gen1.net").read_bytes())
    for name in (f'"{net}"', f"'{net}'", str(net)):
        talk.say("option EvalFile <empty>", f"option EvalFile {name}")
        assert talk.session.runtime.net_file == net


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_text_keeps_within_the_width_of_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    talk = Talk()
    talk.session.is_live, talk.session.show_if_live = True, lambda: None
    lines = [
        "help",
        "e4",
        "moves",
        "history",
        "xyzzy",
        "Qh5",
        "option",
        *(f"help {command.name}" for command in commands.COMMANDS),
    ]
    if width >= 60:
        lines += ["eval" if width == 80 else "eval static", "terms"]
    for line in lines:
        assert max(map(len, talk.say(line).splitlines())) <= width, line


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        (("force", "draw"), ("\n1/2-1/2, a draw by agreement.\n",)),
        ((f"setboard {CAPTURES}", "see exd5"), ("exd5 wins 100 centipawns by exchange.\n",)),
        ((f"setboard {CAPTURES}", "see d1d5"), ("Qxd5 loses 800 centipawns by exchange.\n",)),
        ((f"setboard {CAPTURES}", "see Ke2"), ("Ke2 neither wins nor loses anything by exchange.\n",)),
        ((f"setboard {CAPTURES}", "see Nf3", "see"), ("White has no knight", "Usage: see MOVE")),
        (("weights load learned", "weights load nowhere"), (str(SHIPPED / "learned.txt"), "Cannot read weights file")),
        (("setboard 4k3/8/8/8/8/8/n7/R3K3 b - - 0 1", "sn 2000", "threat"), ("White threatens Rxa2: it takes",)),
        (("sn 2000", "threat", "threat e4"), ("No threat could be proved.\n", "Usage: threat")),
        (("setboard 4k3/8/8/8/8/8/4r3/4K3 w - - 0 1", "threat"), ("In check no threat is looked for.\n",)),
        (("pieces",), ("Removal", "Attributed", "Shapley")),
        ((f"setboard {CAPTURES}", "pieces d5"), ("  Shapley  ",)),
        (("option multipv 3", "option multipv"), ("MultiPV: 3.\n", "MultiPV, 1 to 256, now 3: ")),
        (("option move   overhead  7", "option move overhead"), ("Move Overhead: 7.", "0 to 5000, now 7: ")),
        (("option MultiPV 0", "option MultiPV many"), ("MultiPV is 1 to 256. Usage: option",)),
        (("option Moon", "option UCI_Chess960 true"), ("There is no option 'Moon'", "no option 'UCI_Chess960 true'")),
        (("option UCI_LimitStrength on", "skill 20", "option UCI_LimitStrength"), ("Full strength.\n", "now off")),
        (("option UCI_Elo 1800", "skill"), ("Full strength.\n",)),
    ],
)
def test_what_is_typed_is_answered(talk, lines, answers):
    said = talk.say(*lines)
    assert not [answer for answer in answers if answer not in said], said


def test_options_are_listed_and_reach_the_engine(talk):
    overview = " ".join(talk.say("option").split())
    assert OPTIONS["multipv"].sentence.removesuffix(".") + " (1 to 256)." in overview and "MultiPV, now 1 " in overview
    assert "WeightsFile, now default.txt" in overview
    talk.say("option multipv 3", "option Clear Hash")
    assert talk.searcher.multipv == 3 and talk.searcher.calls[-1] == ("clear", None)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("his", ["history "]),
        ("N", ["Na3 ", "Nc3 ", "Nf3 ", "Nh3 "]),
        ("help und", ["undo"]),
        ("st 1", []),
        ("see N", ["Na3", "Nc3", "Nf3", "Nh3"]),
        ("load {}/", ["{}/folder/", "{}/games.pgn"]),
        ("load nowhere/", []),
        ("option WeightsFile {}/g", ["{}/games.pgn"]),
        ("xyzzy N", []),
    ],
)
def test_completion_follows_the_usage_of_a_command(talk, tmp_path, line, offered):
    (tmp_path / "games.pgn").touch()
    (tmp_path / "folder").mkdir()
    line = line.format(tmp_path)
    assert loop.completions(talk.session, line, line.split(" ")[-1]) == [name.format(tmp_path) for name in offered]


def test_a_book_is_played_from_while_it_has_moves(talk, tmp_path):
    start, answered = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", chess.STARTING_FEN
    book = write_book(tmp_path / "a book.bin", (start, "d7d6", 1), (answered, "h2h3", 1))
    assert "move: a5\n" in talk.say(f'option BookFile "{book}"', "e4")
    assert "move: d6 (book)\n" in talk.say("option OwnBook on", "new", "e4")
    assert "move: a5\n" in talk.say("Nf3")
    assert "BookFile stays as it was" in talk.say(f"option BookFile {tmp_path / 'none.bin'}")


def test_endgame_tables_are_an_option_and_keep_a_win(talk, tmp_path):
    (file := tmp_path / "KQvK.rtbw").write_bytes(b"no table" * 10)
    said = talk.say(f'option SyzygyPath "{tmp_path}:{tmp_path / "none"}"', f"setboard {QUEEN_ENDING}", "hint")
    assert f"SyzygyPath: cannot read '{tmp_path / 'none'}': No such file" in said
    assert f"SyzygyPath: a broken table: '{file}': invalid magic header" in said
    talk.session.runtime.tables = FakeTables()
    assert "hint: Kb2\n" in talk.say("hint") and talk.searcher.tablebases is None
