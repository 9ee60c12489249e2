"""What one does with the board of the explorer: a first visit, games against Merino, and games with variations."""

import io
import json
from functools import partial
from typing import Any

import chess
import chess.pgn
import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import HEIGHT, WIDTH, Page, at, needs_browser, square
from tests.test_explorer_page import BLUNDERS

pytestmark = needs_browser

LEVEL_0 = {"side": "white", "level": 0, "clock": "0 0", "fromHere": False}
# Merino's moves come when they are released.
LATE_MOVES = """
    const Real = window.WebSocket;
    const released = new Promise((resolve) => { window.release = resolve; });
    window.WebSocket = class extends Real {
        set onmessage(hear) { super.onmessage = async (event) => { await released; hear(event); }; }
    };
"""
# The report after Merino's first move comes when it is released.
LATE_REPORT = """
    const real = window.fetch;
    const released = new Promise((resolve) => { window.release = resolve; });
    window.fetch = async (path, options) => {
        if (path === "/api/explain" && JSON.parse(options.body).moves.length === 2) await released;
        return real(path, options);
    };
"""
ONE_MOVE = "7k/8/5KQ1/8/8/8/8/8 w - - 0 1"
PROMOTING = "7k/P7/8/8/8/8/7r/1K6 w - - 0 1"
OUT_OF_TIME = "(module.state.game.clock.began ??= Date.now(), module.state.game.clock.left.white = 1)"
# A game as lichess and chess.com write it, with a comment and what is drawn.
LICHESS = """[White "Anna"]
[Black "Bert"]

1. e4 { [%eval 0.18] [%clk 0:03:00] } 1... e5 $36 { [%clk 0:02:59] [%csl Gd4] Old }
(1... c5 { [%emt 0:00:02] }) 2. Nf3 *
"""


def begin(page: Page, fen: str = "", **wanted: Any) -> None:
    """Begin a game against Merino at its lowest level, from a position if one is given."""
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": bool(fen)} | wanted)
    page.open(at(fen) if fen else "")
    page.click("#play")
    page.click("#play-begin", until=lambda: page.shown("#play-bar"))


def answered(page: Page, move: str = "e2e4") -> list[str]:
    """Make the first move, and wait for Merino's; all moves."""
    page.until_reported()
    page.store(f"module.play('{move}')", until=lambda: len(page.moves) == 2)
    return page.moves


def saved_game(page: Page, item: str, name: str) -> chess.pgn.Game:
    page.click("#share")
    page.click(f"#{item}")
    game = chess.pgn.read_game(io.StringIO(page.saved(name).decode()))
    assert game
    return game


def test_a_first_visit_offers_examples_until_something_is_entered(page: Page) -> None:
    page.set_out(analysis=False, visited=False)
    page.until(lambda: len(page.all(".example")) == 4)
    page.click(".example:nth-child(3)", until=lambda: page.pieces.get("d4") == "bR" and page.shown("#move-table"))
    page.click(".example:nth-child(4)", until=lambda: page.shown("#learn-drop"))
    page.click(".example:nth-child(2)", until=lambda: len(page.moves) == 14 and page.all("#course .series"))
    page.keys(Keys.ARROW_RIGHT, until=lambda: page.pieces.get("e4"))
    assert page.shown("#welcome")
    page.enter("1. d4 d5", until=["d4", "d5"])
    assert not page.shown("#welcome")
    page.open()
    assert not page.shown("#welcome")


def test_moves_can_be_pasted_and_a_fault_leaves_the_text(page: Page) -> None:
    page.enter("1. e4 {best by test} e5 (1... c5) 2. Nf3 *", until=["e4", "e5", "Nf3"])
    page.click("#new", until=[])
    page.enter("1. e4 e5 2. Ke3")
    page.until_text("#entry-error", "move 3 of 3")
    box = page.find("#entry-text")
    assert box.get_attribute("value") == "1. e4 e5 2. Ke3" and box.get_attribute("aria-invalid") == "true"


def test_merino_answers_and_a_move_is_taken_back(page: Page) -> None:
    begin(page)
    answered(page)
    assert not page.shown("#verdict") and not page.values, "one plays without figures"
    box = page.run("return document.querySelector('#move-list button:last-of-type').getBoundingClientRect()")
    assert box["left"] > WIDTH / 2 and box["bottom"] < HEIGHT
    page.click("#show-values", until=lambda: page.shown("#verdict") and page.values)
    page.click("#take-back", until=lambda: page.moves == [] and page.pieces.get("e2") == "wP")
    assert answered(page, "d2d4")[0] == "d4"
    page.until(lambda: page.find("#hint-move").is_enabled())
    page.click("#hint-move", until=lambda: page.all(".arrows .best"))


def test_what_merino_played_before_the_first_own_move_is_not_taken_back(page: Page) -> None:
    begin(page, side="black")
    page.until(lambda: len(page.moves) == 1)
    page.until(lambda: page.find("#take-back").get_attribute("disabled"))
    page.until_reported()
    page.store("module.play('a7a6')", until=lambda: page.find("#take-back").is_enabled())


def test_a_game_survives_a_reload_and_is_resigned_saved_and_played_again(page: Page) -> None:
    begin(page, side="black")
    page.until(lambda: len(page.moves) == 1)
    first = page.moves
    page.reload(until=lambda: page.moves == first and page.shown("#resign"))
    assert page.run("return document.querySelector('[role=gridcell]').dataset.square") == "h1", "Black is below"
    page.click("#resign", until=lambda: page.text("#play-state") == "1-0: Black resigns")
    saved = saved_game(page, "save-played", "played.pgn")
    assert saved.headers["Black"] == "You" and saved.headers["Result"] == "1-0"
    assert [move.uci() for move in saved.mainline_moves()] == [chess.Board().parse_san(first[0]).uci()]
    page.click("#rematch", until=lambda: page.moves == [] and "You are White" in page.text("#play-state"))
    page.click("#resign")
    page.click("#rematch")  # of a game without a move: Merino moves first
    page.until(lambda: "You are Black" in page.text("#play-state") and len(page.moves) == 1)


def test_a_game_played_is_saved_with_the_day_that_it_was_for_its_player(page: Page) -> None:
    moves = [{"san": "e4", "uci": "e2e4"}]
    played = {"fen": chess.STARTING_FEN, "moves": moves, "label": "You - Merino", "score": "1-0", "reason": ""}
    page.set_out(analysis=False, played=[played | {"at": "2026-01-01T03:30:00.000Z"}])
    page.command("Emulation.setTimezoneOverride", {"timezoneId": "America/New_York"})
    try:
        assert saved_game(page, "save-played", "played.pgn").headers["Date"] == "2025.12.31"
    finally:
        page.command("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_the_end_of_a_game_is_stated_and_kept(page: Page) -> None:
    begin(page, ONE_MOVE)
    page.move("g6", "g7", until=lambda: page.text("#play-state") == "1-0: checkmate")
    assert [game["score"] for game in json.loads(page.run("return localStorage.getItem('merino-played')"))] == ["1-0"]


def test_clocks_run_a_flag_falls_and_then_no_move_is_taken_back(page: Page) -> None:
    begin(page, clock="1 0")
    assert not page.all(".clock.runs") and page.text("#clock-white") == "1:00", "no move has been made"
    answered(page)
    page.until(lambda: page.text("#clock-white") == "0:59" and page.find("#take-back").is_enabled())
    page.store(OUT_OF_TIME, until=lambda: page.text("#play-state") == "0-1: White has no time left")
    page.until(lambda: page.find("#take-back").get_attribute("disabled"))


def test_a_bare_king_does_not_win_on_time(page: Page) -> None:
    begin(page, ONE_MOVE, clock="1 0")
    page.store(OUT_OF_TIME)
    page.until(lambda: page.text("#play-state") == "1/2-1/2: White has no time left, Black only a king")


def test_nobody_promotes_after_the_flag_has_fallen(page: Page) -> None:
    begin(page, PROMOTING, clock="1 0")
    page.move("a7", "a8", until=lambda: page.all("#promotion[open] button"))
    page.store(OUT_OF_TIME, until=lambda: page.text("#play-state") == "0-1: White has no time left")
    assert not page.all("#promotion[open]") and page.moves == [] and page.pieces["a7"] == "wP"


def left(page: Page) -> dict[str, float]:
    """The milliseconds on both clocks at the last move."""
    found: dict[str, float] = page.store("module.state.game.clock.left")
    return found


def let_pass(page: Page, milliseconds: int) -> None:
    """Let the clock that runs have run longer."""
    page.store(f"(module.state.game.clock.began -= {milliseconds})")


def test_clocks_stand_at_a_reload_and_thinking_costs_time_when_a_move_is_taken_back(page: Page) -> None:
    begin(page, clock="1 0")
    for move in ("d2d4", "e2e4"):
        page.until_reported()
        page.store(f"module.play('{move}')", until=lambda: len(page.moves) == 2)
        before = left(page)
        page.reload(until=lambda: len(page.moves) == 2 and page.shown("#resign"))
        assert left(page) == before
        if move == "d2d4":
            let_pass(page, 20_000)
        else:
            let_pass(page, 5_000)
            page.click("#resign")
            assert before["white"] - 20_000 < left(page)["white"] <= before["white"] - 5_000, "it stands where it stood"
            let_pass(page, 30_000)  # nobody's, as the game is over
        page.click("#take-back", until=lambda: page.moves == [] and page.shown("#resign"))
        after = left(page)
        assert after["black"] == before["black"]
        spent = before["white"] - after["white"]
        assert spent >= 20_000 if move == "d2d4" else spent == pytest.approx(0, abs=20_000)


@pytest.mark.parametrize("steps", [("module.goTo(0)", "module.goTo(1)"), ("module.goTo(0)",)])
def test_merino_moves_whatever_position_is_looked_at_meanwhile(page: Page, steps: tuple[str, ...]) -> None:
    begin(page)
    page.store("module.play('e2e4')" + "".join(f".then(() => {step})" for step in steps))
    page.until(lambda: len(page.moves) == 2 and page.store("module.state.at") == 2)


def test_a_move_made_too_early_by_clicks_is_played_in_turn(page: Page) -> None:
    begin(page)
    page.run(LATE_MOVES)
    page.move("e2", "e4", until=lambda: page.store("module.state.at === 1 && module.isReported()"))
    for name in ("d2", "c2", "c4"):  # the second is another piece of one's own
        page.click(square(name))
    page.until(lambda: page.all(".arrows [data-move=c2c4]"))
    page.run("window.release()", until=lambda: len(page.moves) == 4 and page.moves[2] == "c4")


def test_a_move_made_before_merinos_is_on_the_board_is_played_after_it(page: Page) -> None:
    begin(page)
    page.run(LATE_REPORT)
    answered(page)
    page.move("d2", "d4", until=lambda: page.all(".arrows [data-move=d2d4]"))
    page.run("window.release()", until=lambda: len(page.moves) == 4 and page.moves[2] == "d4")


@pytest.mark.parametrize("end", ["resign", "leave-game"])
def test_the_arrow_of_an_early_move_goes_with_the_game(page: Page, end: str) -> None:
    begin(page)
    page.of_module("controls/play.js", "module.setPremove('d2d4')")
    page.until(lambda: page.all(".arrows [data-move=d2d4]"))
    page.click(f"#{end}", until=lambda: not page.all(".arrows line"))


def test_undo_changes_no_game_against_merino_nor_how_it_ended(page: Page) -> None:
    begin(page)
    played = answered(page)
    page.store("module.undoEdit()")
    assert page.moves == played
    page.click("#resign")
    page.store("module.undoEdit()")
    assert page.moves == played
    page.until_reported()
    page.move("d2", "d4", until=[*played, "d4"])
    page.store("module.undoEdit()", until=played)


def test_the_mistakes_of_another_game_are_not_shown_in_one_against_merino(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0)
    page.enter(BLUNDERS, until=lambda: page.all(".mistakes li") and page.all("#course .mark"))
    page.click("#play")
    page.click("#play-begin")
    answered(page, "d2d4")
    page.click("#show-values")
    page.until(lambda: not page.all(".mistakes li") and not page.all("#course .mark"))


def test_a_comment_is_that_of_its_move_and_a_click_that_ends_it_is_heard(page: Page) -> None:
    page.enter("1. e4 e5 2. Nf3", until=lambda: len(page.moves) == 3)
    page.unfold(".editing summary")
    page.press("#comment", "good")
    page.click('#move-list [data-ply="1"]')
    page.until(lambda: page.store("module.state.at") == 1 and "Nf3good" in page.text("#move-list"))
    page.press("#comment", "best")
    page.click("#undo", until=lambda: page.store("module.state.at") == 0 and "e4best" in page.text("#move-list"))
    page.click("#last")
    page.until_reported()
    page.press("#comment", " at once")
    page.store("module.play('g8f6')", until=lambda: len(page.moves) == 4)
    page.press("#comment", " and well" + Keys.ENTER)
    page.until_text("#move-list", "Nf3good at once and well")
    assert page.find("#comment").get_attribute("value") == "", "of the move on the board, which has none"


@pytest.mark.parametrize("button", ["undo", "resign"])
def test_a_button_that_is_pressed_while_an_answer_comes_hears_its_click(page: Page, button: str) -> None:
    if button == "resign":
        begin(page, clock="1 0")
    else:
        page.enter("1. e4 e5 2. Nf3", until=lambda: len(page.moves) == 3)
    page.until_reported()
    with page.pressed(f"#{button}"):
        page.store("module.changed('report')")
    if button == "resign":
        page.until(lambda: page.text("#play-state") == "0-1: White resigns")
    else:
        page.until(lambda: page.store("module.state.at") == 2)


def test_variations_comments_and_signs_are_made_undone_and_saved(page: Page) -> None:
    page.enter("1. e4 e5 2. Nf3", until=lambda: len(page.moves) == 3 and page.pieces.get("f3") == "wN")
    page.click('#move-list [data-ply="1"]', until=lambda: page.pieces.get("e4") == "wP" and "e5" not in page.pieces)
    page.enter("c5", until=lambda: page.moves == ["e4", "c5"] and "Nf3" in page.text("#move-list"))
    page.unfold(".editing summary")
    page.click("[data-nag='5']")
    page.press("#comment", "sharp" + Keys.ENTER)
    page.until_text("#move-list", "c5!?sharp")
    page.click("#promote", until=lambda: page.text("#move-list").index("c5") < page.text("#move-list").index("e5"))
    page.click("#undo-edit", until=lambda: page.text("#move-list").index("e5") < page.text("#move-list").index("c5"))
    main, other = saved_game(page, "save-pgn", "game.pgn").variations[0].variations
    assert main.san() == "e5" and other.san() == "c5" and other.nags == {5} and other.comment == "sharp"
    page.click("#remove-move", until=lambda: "c5" not in page.text("#move-list"))
    page.run("document.activeElement.blur()")
    page.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true }))")
    page.until_text("#move-list", "c5!?")


def test_a_result_is_that_of_the_moves_that_were_read_which_others_may_follow(page: Page) -> None:
    result = partial(page.store, "module.tagsNow().Result ?? null")
    page.enter('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 e5 (1... c5) 2. Nf3 1-0')
    page.until_text("#move-list", "c5")
    page.click("#last", until=lambda: len(page.moves) == 3)
    page.until_reported()
    page.enter("Nc6", until=lambda: len(page.moves) == 4)
    assert result() == "1-0"
    page.click("#move-list .variation button")
    page.until(["e4", "c5"])
    page.unfold(".editing summary")
    page.click("#promote", until=lambda: result() is None)
    page.reload(until=["e4", "c5"])
    assert result() is None and saved_game(page, "save-pgn", "game.pgn").headers["Result"] == "*"


def test_a_pgn_with_variations_is_read_whole_and_its_opening_named(page: Page) -> None:
    moves = "1. e4 e5 2. Nf3 Nc6 3. Bb5 {Spanish} a6 (3... Nf6 4. O-O) (3... a6 $3 {again} 4. d3) 4. Ba4 \u00b1 *"
    page.enter(f'[White "A"]\n[Black "B"]\n\n{moves}')
    page.until_text("#move-list", "3.Bb5Spanish3...a6(3...Nf64.O-O)(3...a6!!again4.d3)4.Ba4\u00b1")
    page.click("#last")
    page.until_text("#move-list b", "C70 Ruy Lopez, Morphy Defence")
    page.click("#move-list .variation button")
    page.until(["e4", "e5", "Nf3", "Nc6", "Bb5", "Nf6", "O-O"])
    page.until_text("#move-list b", "Berlin")


def test_comments_before_a_line_are_shown_and_saved_also_after_a_reload(page: Page) -> None:
    page.enter('[White "A"]\n[Black "B"]\n\n{ Both young } 1. e4 e5 ({ Sharper is } 1... c5) 2. Nf3 *')
    page.until(lambda: page.text("#move-list").startswith("A - B") and "Both young" in page.text("#move-list"))
    page.reload()
    page.until_text("#move-list .variation", "Sharper is")
    game = saved_game(page, "save-pgn", "game.pgn")
    assert game.comment == "Both young" and game.variations[0].variations[1].starting_comment == "Sharper is"


def test_a_game_of_lichess_is_read_drawn_on_and_saved_with_all_that_it_had(page: Page) -> None:
    page.tab("games")
    page.enter(LICHESS, until=lambda: len(page.moves) == 3)
    assert page.text("#move-list").startswith("Anna - Bert") and "%" not in page.text("#move-list")
    page.until_text("#move-list", "1.e43:00e5\u21912:59Old(1...c50:02)2.Nf3")
    page.click('#move-list [data-ply="2"]', until=lambda: page.all(".shapes .G[data-square=d4] circle"))
    page.context_click(square("a3"), until=lambda: page.all(".shapes .G[data-square=a3]"))
    page.context_click(square("a3"), until=lambda: not page.all(".shapes [data-square=a3]"))
    page.choose("#draw", "R")
    page.drag(square("g1"), square("f3"), until=lambda: page.all(".shapes .R[data-move=g1f3]"))
    assert page.pieces["g1"] == "wN", "it is drawn and not moved"
    page.run("document.querySelector('[data-square=f3]').focus()")
    page.keys(Keys.ENTER, Keys.ARROW_UP, Keys.ENTER, until=lambda: page.all(".shapes .R[data-move=f3f4]"))
    page.store("module.undoEdit()", until=lambda: not page.all(".shapes [data-move=f3f4]"))
    main = saved_game(page, "save-pgn", "game.pgn").variations[0]
    assert main.comment == "[%eval 0.18] [%clk 0:03:00]" and main.variations[1].comment == "[%emt 0:00:02]"
    assert main.variations[0].comment.replace("\n", " ") == "[%clk 0:02:59] [%csl Gd4] [%cal Rg1f3] Old"
    assert main.variations[0].nags == {36}
    shares = page.of_module("state/store.js", "module.state.moves.map((move) => move.score?.text)")
    assert shares == ["+0.18", None, None]


def test_dates_are_searched_however_they_are_typed(page: Page) -> None:
    dates, typed = (
        ["2023.01.01", "2024.05.03", "2024.12.01"],
        [["2024.5", ""], ["", "2024.5"], ["2024-5-3", "2024/5/3"]],
    )
    shown = "module.matches({ date }, module.queryOf({ search: '', result: '', from, to }))"
    found = f"{json.dumps(typed)}.map(([from, to]) => {json.dumps(dates)}.filter((date) => {shown}))"
    assert page.of_module("panels/games.js", found) == [dates[1:], dates[:2], dates[1:2]]


def test_another_game_takes_the_place_of_the_one_against_merino(page: Page) -> None:
    begin(page)
    played = answered(page)
    page.enter('[White "Anna"]\n[Black "Bert"]\n\n1. d4 d5 2. c4 *', until=["d4", "d5", "c4"])
    assert not page.shown("#play-bar") and "Anna" in page.text("#panel-games .tags")
    kept = json.loads(page.run("return localStorage.getItem('merino-played')"))
    assert [[move["san"] for move in game["moves"]] for game in kept] == [played] and kept[0]["score"] == "*"
    page.enter("1. c4", until=lambda: page.moves == ["c4"] and "Anna" not in page.text("#panel-games .tags"))


def test_nobody_moves_for_merino_in_a_game(page: Page) -> None:
    begin(page)
    page.enter("e4 e5")
    page.until_text("#entry-error", "one move at a time")
    page.enter("e4")
    page.until(lambda: len(page.moves) == 2 and page.moves[0] == "e4" and page.find("#hint-move").is_enabled())
    page.store("(module.state.game.side = 'black')")
    page.enter("d4")
    page.until_text("#entry-error", "it is Merino's turn")
    assert len(page.moves) == 2


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_a_reload_or_a_way_back_keeps_the_game_whatever_the_address_shows(page: Page, is_reloaded: bool) -> None:
    begin(page, "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    played = answered(page)
    if is_reloaded:
        page.reload()
    else:
        page.leave()
        page.driver.back()
    page.until(lambda: page.moves == played and page.shown("#resign"))
