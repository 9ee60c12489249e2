"""The console commands for sides, endings, analysis, settings, options: what each does and says."""

import json
import re
from pathlib import Path

import pytest

from merino.app.console.loop import completions
from merino.app.console.registry import COMMANDS
from merino.app.console.terminal import Terminal
from merino.app.shell.explain import run_compare, run_explain, run_moves
from merino.core.board.bitboard import BLACK, WHITE
from merino.engine.search.limits import Limits, Score
from merino.engine.uci.options import OPTIONS
from merino.eval.families import own_names
from merino.eval.linear.weights import SHIPPED
from tests.shipped import ONE_PHASE
from tests.talk import Talk

AFTER_TRAINING = SHIPPED / "greko2015-after-training.txt"
CAPTURES = "3rk3/8/8/3p4/4P3/8/8/3QK3 w - - 0 1"


def test_one_may_play_either_side(talk: Talk) -> None:
    assert "You play Black." in talk.say("black")
    assert talk.moves == ["a2a3"]
    assert talk.session.game.is_flipped
    talk.say("e5")
    assert len(talk.moves) == 3
    assert talk.say("black") == "You play Black.\n"
    talk.say("white")
    assert len(talk.moves) == 4
    assert not talk.session.game.is_flipped


def test_switch_changes_sides_with_the_engine(talk: Talk) -> None:
    talk.say("e4")
    assert "You play Black." in talk.say("switch")
    assert len(talk.moves) == 3
    assert talk.session.position.turn == BLACK
    talk.say("switch")
    assert talk.session.position.turn == WHITE


def test_both_lets_the_engine_play_both_sides(talk: Talk) -> None:
    assert talk.say("both 4").count("move: ") == 4


def test_who_resigns_loses_and_undo_revokes_it(talk: Talk) -> None:
    assert talk.say("e4", "resign").endswith("0-1, White resigns.\n")
    for line in ("Nf3", "go", "resign", "draw", "hint", "auto", "switch", "analyze"):
        assert "The game is over (0-1, White resigns)" in talk.say(line).replace(f"{line}: the", "The")
    assert "0-1, White resigns." in talk.say("history")
    talk.say("undo", "redo")
    assert talk.session.game.ending is None


@pytest.mark.parametrize(("score", "is_accepted"), [(30, True), (0, True), (-1, False), (-300, False)])
def test_the_engine_takes_a_draw_unless_it_is_ahead(talk: Talk, score: int, is_accepted: bool) -> None:
    talk.searcher.score = Score(score)  # for the side to move: the person
    assert ("1/2-1/2, a draw by agreement." in talk.say("draw")) == is_accepted
    assert (talk.session.game.ending is not None) == is_accepted


def test_under_force_a_draw_is_agreed_without_thinking(talk: Talk) -> None:
    assert talk.say("force", "draw").endswith("\n1/2-1/2, a draw by agreement.\n")
    assert talk.searcher.limits == Limits()


def test_time_shows_the_limit_and_what_was_used(talk: Talk) -> None:
    assert "it has thought 0.0 s for White and 0.0 s for Black" in talk.say("time")
    talk.say("e4", "e5", "Nf3", "st 3")
    text = talk.say("time")
    assert "3 s per move" in text
    assert "0.0 s for White and 4.5 s for Black" in text


def test_analysis_has_no_end_for_a_person_and_one_for_a_script(talk: Talk) -> None:
    text = talk.say("analyze")
    assert talk.searcher.limits == Limits(movetime=2000)
    assert "1. a3" in text
    talk.session.is_live = True
    talk.searcher.endless = True
    talk.session.overhear = lambda: [""]
    talk.say("analyse")
    assert talk.searcher.limits == Limits(infinite=True)
    assert talk.moves == []


def test_analysis_and_an_offer_of_a_draw_are_searched_at_full_strength(talk: Talk) -> None:
    """For a script the limits of an analysis are those of a move, which a level plays weaker."""
    found = []
    talk.searcher.on_start = lambda: found.append(talk.searcher.is_analysing)
    talk.say("skill 3", "hint", "analyze", "draw")
    assert found == [False, True, True]
    assert not talk.searcher.is_analysing


def test_what_ends_an_analysis_is_obeyed_after_it(talk: Talk) -> None:
    talk.session.is_live = talk.searcher.endless = True
    lines = iter([[], [], ["force", "e4"]])
    talk.session.overhear = lambda: next(lines, [])
    talk.say("analyze")
    assert list(talk.session.typed_ahead) == ["force", "e4"]
    talk.say("analyze")  # what still waits ends the next one too


@pytest.mark.parametrize("typed", ["", "stop", "?"])
def test_while_the_engine_thinks_one_may_type_that_it_shall_move(talk: Talk, typed: str) -> None:
    talk.searcher.endless = True
    lines = iter([[], [typed]])
    talk.session.overhear = lambda: next(lines, [])
    talk.say("go")
    assert talk.moves == ["a2a3"]
    assert not talk.session.typed_ahead


def test_other_lines_typed_meanwhile_wait_for_the_move(talk: Talk) -> None:
    talk.searcher.endless = True
    lines = iter([["", "undo", ""], []])
    talk.session.overhear = lambda: next(lines, [])
    talk.say("go")
    assert list(talk.session.typed_ahead) == ["undo", ""]  # the last Enter belongs to what comes before it


def test_see_tells_what_an_exchange_gains(talk: Talk) -> None:
    talk.say(f"setboard {CAPTURES}")
    assert talk.say("see exd5") == "exd5 wins 100 centipawns by exchange.\n"
    assert talk.say("see d1d5") == "Qxd5 loses 800 centipawns by exchange.\n"
    assert talk.say("see Ke2") == "Ke2 neither wins nor loses anything by exchange.\n"
    assert "White has no knight" in talk.say("see Nf3")
    assert "Usage: see MOVE" in talk.say("see")
    assert talk.moves == []


def test_explain_shows_the_terms_a_move_changes(talk: Talk) -> None:
    assert "e4" in talk.say("explain startpos e4 --static")
    assert "VAL_P" in talk.say("explain startpos") and "VAL_P" in talk.say("explain 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    text = talk.say("explain Nf3")
    assert "\nNf3: 0.00 becomes +" in text
    assert "KnightCenter" in text and "VAL_P" not in text
    assert talk.moves == []
    talk.say(f"setboard {CAPTURES}")
    talk.say(f"weights load {ONE_PHASE}")
    assert "VAL_P                  +100.0" in talk.say("explain exd5")


def test_weights_that_come_with_merino_are_loaded_and_compared_by_name(talk: Talk) -> None:
    assert str(SHIPPED / "learned.txt") in talk.say("weights load learned")
    assert "holds the weights in use" in talk.say("weights diff learned")


def test_the_console_explains_with_the_options_of_the_shell(talk: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    talk.say(f"setboard {CAPTURES}")
    weights = str(talk.session.runtime.weights_file)
    for typed, shell, words in (
        ("explain exd5 --static --shapley --json", run_explain, ["exd5", "--static", "--shapley", "--json"]),
        ("explain --shapley --json", run_explain, ["--shapley", "--json"]),
        ("compare exd5 Ke2 --static --shapley --json", run_compare, ["exd5", "Ke2", "--static", "--shapley", "--json"]),
        ("moves eval --shapley --error 3 --json", run_moves, ["--static", "--shapley", "--error", "3", "--json"]),
    ):
        assert shell([CAPTURES, *words, "--weights", weights]) == 0
        assert json.loads(talk.say(typed)) == json.loads(capsys.readouterr().out)
    assert "--error CP" in talk.say("explain -h") and "--threat" not in talk.say("moves -h")
    for typed in ("explain --shaply", "explain exd5 Ke2", "moves --error 0", "moves eval search", "compare exd5"):
        assert f"Usage: {typed.split()[0]} " in talk.say(typed)
    assert talk.moves == []


def test_every_piece_has_a_shapley_value_at_the_console(talk: Talk) -> None:
    talk.say(f"setboard {CAPTURES}")
    score = talk.session.runtime.evaluation.explain(talk.session.position.record).score_white
    assert talk.say("pieces shapley").endswith(f"score {score:+.0f}\n") and "Removal" not in talk.say("pieces shapley")
    assert "Removal" in talk.say("pieces") and "Shapley" in talk.say("pieces")
    assert "Shapley" not in talk.say("pieces removal") and "  Shapley  " in talk.say("pieces d5")


def test_a_net_that_attributes_nothing_says_so(talk: Talk) -> None:
    assert "Attributed" in talk.say("pieces attributed")
    told = talk.say("option EvalFile gen1", "pieces attributed")
    assert told.endswith("it attributes nothing to pieces; try pieces shapley.\n") and "gen1" in told
    assert "Attributed" not in talk.say("pieces") and "Relative" in talk.say("pieces relative")


def test_a_threat_is_told_at_the_console(talk: Talk) -> None:
    talk.say("setboard 4k3/8/8/8/8/8/n7/R3K3 b - - 0 1")
    assert talk.say("threat").endswith("White threatens Rxa2: the knight on a2 can be taken (2. Rxa2).\n")
    talk.say("new")
    assert talk.say("threat").endswith("There is no threat.\n")
    talk.say("setboard 4k3/8/8/8/8/8/4r3/4K3 w - - 0 1")
    assert talk.say("threat").endswith("In check no threat is looked for.\n")
    assert "Usage: threat" in talk.say("threat e4")


def test_eval_takes_another_weights_file(talk: Talk, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(AFTER_TRAINING.read_text().replace("KnightCenter           27", "KnightCenter 13"))
    talk.say(f"weights load {AFTER_TRAINING}")
    assert "KnightCenter             13" in talk.say(f"eval {other}")
    assert "KnightCenter             27" in talk.say("eval")
    assert "Cannot read weights file" in talk.say("eval nowhere.txt")
    assert talk.say("eval learned") == talk.say(f"eval {SHIPPED / 'learned.txt'}")
    assert "learned.txt" in talk.say("explain --beside learned")


def test_edit_puts_pieces_on_squares_and_takes_them_off(talk: Talk) -> None:
    talk.say("edit -b1 -g1 -h1 -d8 qd4")
    assert talk.session.position.fen().startswith("rnb1kbnr/pppppppp/8/8/3q4/8/PPPPPPPP/R1BQKB2 w Qkq - ")
    talk.say("edit clear Kg1 Ra1 kg8 black")
    assert talk.session.position.fen() == "6k1/8/8/8/8/8/8/R5K1 b - - 0 1"


def test_a_position_against_the_rules_is_not_set_up(talk: Talk) -> None:
    before = talk.session.position.fen()
    assert "king" in talk.say("edit -e1")
    for change in ("Qd9", "Xd1", "Q", "nonsense"):
        assert "Usage: edit" in talk.say(f"edit {change}")
    assert talk.session.position.fen() == before


def test_settings_change_how_the_board_is_shown() -> None:
    talk = Talk(Terminal(colour=True, unicode=True, rewrites=True))
    assert "♞" in talk.say("d")
    assert "♞" not in talk.say("set pieces ascii") and " N " in talk.say("d")
    assert "♞" in talk.say("set  pieces  unicode")
    assert talk.say("set colour off") == talk.say("set color off")
    assert "\x1b" not in talk.say("d")
    talk.session.is_live = True
    talk.say("set board off", "force")
    assert talk.say("e4") == ""
    assert "(P)" in talk.say("set board on")
    assert "Usage: set NAME VALUE" in talk.say("set moon on")


def test_options_are_listed_and_set(talk: Talk) -> None:
    overview = " ".join(talk.say("option").split())
    assert OPTIONS["multipv"].sentence.removesuffix(".") + " (1 to 256)." in overview and "MultiPV, now 1 " in overview
    assert talk.say("option multipv 3") == "MultiPV: 3.\n"
    assert talk.searcher.multipv == 3
    talk.say("option Clear Hash")
    assert talk.searcher.calls[-1] == ("clear", None)
    assert "MultiPV, 1 to 256, now 3: " in talk.say("option multipv")
    assert "Move Overhead, 0 to 5000, now 50: " in talk.say("option move overhead")
    assert "MultiPV is 1 to 256. Usage: option" in talk.say("option MultiPV 0")
    assert "Usage: option" in talk.say("option MultiPV many")
    assert "Move Overhead: 7." in talk.say("option move   overhead  7")
    assert "There is no option 'Moon'" in talk.say("option Moon")
    assert "There is no option" in talk.say("option UCI_Chess960 true")


def test_the_list_of_options_has_the_name_of_the_weights(talk: Talk) -> None:
    assert "WeightsFile, now default.txt" in talk.say("option")


def test_an_option_takes_the_name_of_a_file_in_quotes(talk: Talk, tmp_path: Path) -> None:
    net = tmp_path / "my own.net"
    net.write_bytes((SHIPPED / "gen1.net").read_bytes())
    for name in (f'"{net}"', f"'{net}'", str(net)):
        talk.say("option EvalFile <empty>", f"option EvalFile {name}")
        assert talk.session.runtime.net_file == net


def test_full_strength_ends_the_limit_to_an_elo(talk: Talk) -> None:
    talk.say("option UCI_LimitStrength on")
    assert talk.say("skill 20") == "Full strength.\n"
    assert "now off" in talk.say("option UCI_LimitStrength")
    talk.say("option UCI_Elo 1800")
    assert talk.say("skill") == "Full strength.\n"


def test_several_lines_are_shown_in_analysis_and_one_in_play(talk: Talk) -> None:
    talk.searcher.second_line = True
    assert "-5.00" not in talk.say("go")
    assert talk.say("analyze").count("depth") == 2


def test_weights_are_compared_with_a_file(talk: Talk, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(AFTER_TRAINING.read_text().replace("KnightCenter           27", "KnightCenter 13"))
    talk.say(f"weights load {AFTER_TRAINING}")
    rows = talk.say(f"weights diff {other}").splitlines()
    assert rows[1].split() == ["KnightCenter", "27", "13", "-14"]
    assert len(rows) == 2
    assert "holds the weights in use" in talk.say(f"weights diff {AFTER_TRAINING}")
    assert "Cannot read weights file" in talk.say("weights diff nowhere.txt")


def test_what_another_set_of_terms_has_alone_is_counted_where_weights_are_compared(talk: Talk) -> None:
    *rows, last = talk.say("weights diff full").splitlines()
    assert rows[0].endswith("change") and len(rows) > 5
    assert re.fullmatch(r"Only in one of both, and not compared: \d+ terms in use and \d+ terms of .*full.txt\.", last)
    assert "Only in one" not in talk.say("weights diff greko2015-before-training.txt")


def test_completion_follows_the_usage_of_a_command(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "games.pgn").touch()
    (tmp_path / "folder").mkdir()
    assert completions(talk.session, "see N", "N") == ["Na3", "Nc3", "Nf3", "Nh3"]
    assert completions(talk.session, f"load {tmp_path}/", f"{tmp_path}/") == [
        f"{tmp_path}/folder/",
        f"{tmp_path}/games.pgn",
    ]
    assert completions(talk.session, "load nowhere/", "nowhere/") == []
    assert completions(talk.session, "option mul", "mul") == ["MultiPV"]
    assert completions(talk.session, "option skill l", "l") == ["Level"]
    assert completions(talk.session, "option move o", "o") == ["Overhead"]
    assert completions(talk.session, "option p", "p") == [], "Ponder is for a GUI"
    assert completions(talk.session, "option evalfile gen", "gen") == [net for net in own_names(".net") if "gen" in net]
    assert completions(talk.session, f"option EvalFile {tmp_path}/g", f"{tmp_path}/g") == [f"{tmp_path}/games.pgn"]
    assert completions(talk.session, "option UCI_LimitStrength o", "o") == ["off", "on"]
    assert completions(talk.session, "option MultiPV 3", "3") == []
    assert completions(talk.session, "xyzzy N", "N") == []


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_text_keeps_within_the_width_of_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    talk = Talk()
    talk.session.is_live, talk.session.shows_board = True, False
    lines = [
        "help",
        "e4",
        "moves",
        "history",
        "xyzzy",
        "Qh5",
        "option",
        *(f"help {command.name}" for command in COMMANDS),
    ]
    if width >= 60:
        lines += ["eval", "terms"]
    for line in lines:
        assert max(map(len, talk.say(line).splitlines())) <= width, line
