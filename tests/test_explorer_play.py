"""What one does with the board of the explorer: a first visit, games against Merino, and games with variations."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import chess
import chess.pgn
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from merino.engine.search.strength import at_level
from tests.browser import Page, at, needs_browser, square
from tests.test_explorer_page import BLUNDERS

pytestmark = needs_browser

LEVEL_0 = {"side": "white", "level": 0, "clock": 0, "fromHere": False}
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


def begin(page: Page, **wanted: Any) -> None:
    """Begin a game against Merino, at its lowest level."""
    page.set_out(analysis=False, play=LEVEL_0 | wanted)
    page.open()
    page.click("#play")
    page.click("#play-begin")
    page.until(lambda: page.find("#play-bar").is_displayed())


def test_a_first_visit_offers_examples_and_a_tour_by_keyboard(page: Page) -> None:
    page.set_out(analysis=False, visited=False)
    page.open()
    page.until(lambda: len(page.all(".example")) == 3)
    page.click(".example:nth-child(2)")
    page.until(lambda: len(page.moves) == 14 and page.all("#course .series"))
    page.click("#tour-start")
    titles = []
    for _ in range(5):
        titles.append(page.text("#tour-title"))
        page.until(lambda: page.run("return document.activeElement.id") == "tour-next")
        assert page.all(".toured")
        page.keys(Keys.ENTER)
    assert len(set(titles)) == 5
    page.until(lambda: not page.find("#tour").is_displayed() and not page.all(".toured"))
    page.open()
    assert not page.find("#welcome").is_displayed()


def test_the_welcome_stays_beside_its_examples_and_goes_with_what_is_entered(page: Page) -> None:
    page.set_out(analysis=False, visited=False)
    page.open()
    page.until(lambda: len(page.all(".example")) == 3)
    page.click(".example:nth-child(2)")
    page.until(lambda: len(page.moves) == 14)
    page.keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.pieces.get("e4"))
    assert page.find("#welcome").is_displayed()
    page.enter("1. d4 d5")
    page.until(lambda: page.moves == ["d4", "d5"])
    assert not page.find("#welcome").is_displayed()
    page.open()
    assert not page.find("#welcome").is_displayed()


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("1. e4 e5", ["e4", "e5"]),
        ("1.e4 c5 2.Nf3", ["e4", "c5", "Nf3"]),
        ("e2e4 e7e5", ["e4", "e5"]),
        ("1. e4 {best by test} e5 (1... c5) 2. Nf3 *", ["e4", "e5", "Nf3"]),
        ("knight to f3", ["Nf3"]),
    ],
)
def test_anything_can_be_pasted(page: Page, text: str, moves: list[str]) -> None:
    page.enter(text)
    page.until(lambda: page.moves == moves)


def test_a_fault_is_told_beside_the_box_and_leaves_the_text(page: Page) -> None:
    page.enter("1. e4 e5 2. Ke3")
    page.until(lambda: "move 3 of 3" in page.text("#entry-error"))
    box = page.find("#entry-text")
    assert box.get_attribute("value") == "1. e4 e5 2. Ke3" and box.get_attribute("aria-invalid") == "true"


def test_merino_answers_and_a_move_is_taken_back(page: Page) -> None:
    begin(page)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    page.click("#take-back")
    page.until(lambda: page.moves == [] and page.pieces.get("e2") == "wP")
    page.move("d2", "d4")
    page.until(lambda: len(page.moves) == 2 and page.moves[0] == "d4")
    page.until(lambda: page.find("#hint-move").is_enabled())
    page.click("#hint-move")
    page.until(lambda: page.all(".arrows .best"))


def test_what_merino_played_before_the_first_own_move_is_not_taken_back(page: Page) -> None:
    begin(page, side="black")
    page.until(lambda: len(page.moves) == 1)
    page.until(lambda: page.find("#take-back").get_attribute("disabled"))
    page.until(lambda: page.of_module("state/store.js", "module.isReported()"))
    page.of_module("state/store.js", "module.play('a7a6')")
    page.until(lambda: page.find("#take-back").is_enabled())


def test_a_game_survives_a_reload_and_is_resigned_saved_and_played_again(page: Page) -> None:
    begin(page, side="black")
    page.until(lambda: len(page.moves) == 1)
    first = page.moves
    page.reload()
    page.until(lambda: page.moves == first and page.find("#resign").is_displayed())
    assert page.run("return document.querySelector('[role=gridcell]').dataset.square") == "h1", "Black is below"
    page.click("#resign")
    page.until(lambda: page.text("#play-state") == "1-0: Black resigns")
    page.click("#share")
    page.click("#save-played")
    saved = chess.pgn.read_game(io.StringIO(page.saved("played.pgn").decode()))
    assert saved and saved.headers["Black"] == "You" and saved.headers["Result"] == "1-0"
    assert [move.uci() for move in saved.mainline_moves()] == [chess.Board().parse_san(first[0]).uci()]
    page.click("#rematch")
    page.until(lambda: page.moves == [] and "You are White" in page.text("#play-state"))


def test_a_game_played_is_saved_with_the_day_that_it_was_for_its_player(page: Page) -> None:
    moves = [{"san": "e4", "uci": "e2e4"}]
    played = {"fen": chess.STARTING_FEN, "moves": moves, "label": "You - Merino", "score": "1-0", "reason": ""}
    page.set_out(analysis=False, played=[played | {"at": "2026-01-01T03:30:00.000Z"}])
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "America/New_York"})
    try:
        page.click("#share")
        page.click("#save-played")
        assert '[Date "2025.12.31"]' in page.saved("played.pgn").decode()
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_the_end_of_a_game_is_told(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True})
    page.open(at(ONE_MOVE))
    page.click("#play")
    page.click("#play-begin")
    page.until(lambda: page.find("#play-bar").is_displayed())
    page.move("g6", "g7")
    page.until(lambda: page.text("#play-state") == "1-0: checkmate")
    played = json.loads(page.run("return localStorage.getItem('merino-played')"))
    assert [game["score"] for game in played] == ["1-0"]


def test_clocks_run_and_a_flag_falls(page: Page) -> None:
    begin(page, clock=1)
    page.until(lambda: page.text("#clock-white") == "0:59")
    page.of_module("state/store.js", "module.state.game.clock.left.white = 1")
    page.until(lambda: page.text("#play-state") == "0-1: White has no time left")


def test_no_move_is_taken_back_when_no_time_is_left(page: Page) -> None:
    begin(page, clock=1)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2 and page.find("#take-back").is_enabled())
    page.of_module("state/store.js", "module.state.game.clock.left.white = 1")
    page.until(lambda: page.text("#play-state") == "0-1: White has no time left")
    page.until(lambda: page.find("#take-back").get_attribute("disabled"))


def test_a_bare_king_does_not_win_on_time(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True, "clock": 1})
    page.open(at(ONE_MOVE))
    page.click("#play")
    page.click("#play-begin")
    page.until(lambda: page.all("#clock-white.runs") and not page.all("#clock-black.runs"))
    page.of_module("state/store.js", "module.state.game.clock.left.white = 1")
    page.until(lambda: page.text("#play-state") == "1/2-1/2: White has no time left, Black only a king")


def test_nobody_promotes_after_the_flag_has_fallen(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True, "clock": 1})
    page.open(at("7k/P7/8/8/8/8/7r/1K6 w - - 0 1"))
    page.click("#play")
    page.click("#play-begin")
    page.until(lambda: page.all("#clock-white.runs"))
    page.move("a7", "a8")
    page.until(lambda: page.all("#promotion[open] button"))
    page.of_module("state/store.js", "module.state.game.clock.left.white = 1")
    page.until(lambda: page.text("#play-state") == "0-1: White has no time left")
    assert not page.all("#promotion[open]") and page.moves == [] and page.pieces["a7"] == "wP"


def left(page: Page) -> dict[str, float]:
    """The milliseconds on both clocks at the last move."""
    found: dict[str, float] = page.of_module("state/store.js", "module.state.game.clock.left")
    return found


def let_pass(page: Page, milliseconds: int) -> None:
    """Let the clock that runs have run longer."""
    page.of_module("state/store.js", f"(module.state.game.clock.began -= {milliseconds})")


def test_clocks_stand_at_a_reload_and_thinking_costs_time_when_a_move_is_taken_back(page: Page) -> None:
    begin(page, clock=1)
    for move in ("d2d4", "e2e4"):
        page.until(lambda: page.of_module("state/store.js", "module.isReported()"))
        page.of_module("state/store.js", f"module.play('{move}')")
        page.until(lambda: len(page.moves) == 2)
        before = left(page)
        page.reload()
        page.until(lambda: len(page.moves) == 2 and page.find("#resign").is_displayed())
        assert left(page) == before
        if move == "d2d4":
            let_pass(page, 20_000)
        else:
            let_pass(page, 5_000)
            page.click("#resign")
            assert before["white"] - 20_000 < left(page)["white"] <= before["white"] - 5_000, "it stands where it stood"
            let_pass(page, 30_000)  # nobody's, as the game is over
        page.click("#take-back")
        page.until(lambda: page.moves == [] and page.find("#resign").is_displayed())
        after = left(page)
        assert after["black"] == before["black"]
        spent = before["white"] - after["white"]
        assert spent >= 20_000 if move == "d2d4" else spent == pytest.approx(0, abs=20_000)


def test_merino_moves_first_in_a_rematch_of_a_game_without_a_move(page: Page) -> None:
    begin(page)
    page.click("#resign")
    page.click("#rematch")
    page.until(lambda: "You are Black" in page.text("#play-state") and len(page.moves) == 1)


def test_merino_goes_on_thinking_when_the_last_move_is_on_the_board_again(page: Page) -> None:
    begin(page)
    steps = ("module.play('e2e4')", "module.goTo(0)", "module.goTo(1)")
    page.of_module("state/store.js", ".then(() => ".join(steps) + ")" * (len(steps) - 1))
    page.until(lambda: len(page.moves) == 2)


def test_merino_moves_also_while_an_earlier_position_is_on_the_board(page: Page) -> None:
    begin(page)
    page.of_module("state/store.js", "module.play('e2e4').then(() => module.goTo(0))")
    page.until(lambda: len(page.moves) == 2 and page.of_module("state/store.js", "module.state.at") == 2)


def test_a_move_made_too_early_is_played_in_turn(page: Page) -> None:
    begin(page)
    page.of_module("board/playing.js", "module.setPremove('d2d4')")
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 4 and page.moves[2] == "d4")


def test_a_move_made_too_early_by_clicks_is_played_in_turn(page: Page) -> None:
    begin(page)
    page.run(LATE_MOVES)
    page.move("e2", "e4")
    page.until(lambda: page.of_module("state/store.js", "module.state.at === 1 && module.isReported()"))
    for name in ("d2", "c2", "c4"):  # the second is another piece of one's own
        page.click(square(name))
    page.until(lambda: page.all(".arrows [data-move=c2c4]"))
    page.run("window.release()")
    page.until(lambda: len(page.moves) == 4 and page.moves[2] == "c4")


def test_a_move_made_before_merinos_is_on_the_board_is_played_after_it(page: Page) -> None:
    begin(page)
    page.run(LATE_REPORT)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    page.move("d2", "d4")
    page.until(lambda: page.all(".arrows [data-move=d2d4]"))
    page.run("window.release()")
    page.until(lambda: len(page.moves) == 4 and page.moves[2] == "d4")


@pytest.mark.parametrize("end", ["resign", "leave-game"])
def test_the_arrow_of_an_early_move_goes_with_the_game(page: Page, end: str) -> None:
    begin(page)
    page.of_module("board/playing.js", "module.setPremove('d2d4')")
    page.until(lambda: page.all(".arrows [data-move=d2d4]"))
    page.click(f"#{end}")
    page.until(lambda: not page.all(".arrows line"))


def test_no_game_begins_with_an_impossible_position(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True})
    page.click("#mode [data-value=free]")
    page.click("#free-clear")
    page.until(lambda: page.pieces == {})
    page.keys("p")
    page.click("#play-begin")
    page.until(lambda: page.error.startswith("This position has no moves: White has 0 kings"))
    assert not page.find("#play-bar").is_displayed()


def test_undo_changes_no_game_against_merino_nor_how_it_ended(page: Page) -> None:
    begin(page)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    answered = page.moves
    page.of_module("state/store.js", "module.undoEdit()")
    assert page.moves == answered
    page.click("#resign")
    page.of_module("state/store.js", "module.undoEdit()")
    assert page.moves == answered
    page.until(lambda: page.of_module("state/store.js", "module.isReported()"))
    page.move("d2", "d4")
    page.until(lambda: page.moves == [*answered, "d4"])
    page.of_module("state/store.js", "module.undoEdit()")
    page.until(lambda: page.moves == answered)


def test_the_mistakes_of_another_game_are_not_shown_in_one_against_merino(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0)
    page.enter(BLUNDERS)
    page.until(lambda: page.all(".mistakes li") and page.all("#course .mark"))
    page.click("#play")
    page.click("#play-begin")
    page.move("d2", "d4")
    page.until(lambda: len(page.moves) == 2)
    page.until(lambda: not page.all(".mistakes li") and not page.all("#course .mark"))


def test_a_move_of_the_list_stays_in_its_place_when_the_name_of_the_opening_comes(page: Page) -> None:
    page.enter("1. e4 e5")
    page.until(lambda: len(page.moves) == 2 and page.text("#move-list b"))
    move = page.find('#move-list [data-ply="1"]')
    page.of_module("state/store.js", "(module.state.opening = 'Another', module.changed('opening'))")
    assert page.text("#move-list b") == "Another" and move.text == "e4"


def test_a_click_that_ends_a_comment_is_heard(page: Page) -> None:
    page.enter("1. e4 e5 2. Nf3")
    page.until(lambda: len(page.moves) == 3)
    page.unfold(".editing summary")
    page.press("#comment", "good")
    page.click('#move-list [data-ply="1"]')
    page.until(
        lambda: page.of_module("state/store.js", "module.state.at") == 1 and "Nf3good" in page.text("#move-list")
    )
    page.press("#comment", "best")
    page.click("#undo")
    page.until(lambda: page.of_module("state/store.js", "module.state.at") == 0 and "e4best" in page.text("#move-list"))


def test_a_comment_is_that_of_the_move_at_which_it_was_begun(page: Page) -> None:
    page.enter("1. e4 e5")
    page.until(lambda: len(page.moves) == 2 and page.of_module("state/store.js", "module.isReported()"))
    page.unfold(".editing summary")
    page.press("#comment", "at once")
    page.of_module("state/store.js", "module.play('g1f3')")
    page.until(lambda: len(page.moves) == 3)
    page.press("#comment", " and well" + Keys.ENTER)
    page.until(lambda: "e5at once and well" in page.text("#move-list"))
    assert page.find("#comment").get_attribute("value") == "", "of the move on the board, which has none"


def test_a_button_of_a_game_that_is_pressed_while_an_answer_comes_hears_its_click(page: Page) -> None:
    begin(page, clock=1)
    page.until(lambda: page.text("#clock-white") == "0:59")
    ActionChains(page.driver).click_and_hold(page.find("#resign")).perform()
    page.of_module("state/store.js", "module.changed('report')")
    ActionChains(page.driver).release().perform()
    page.until(lambda: page.text("#play-state") == "0-1: White resigns")


def test_a_button_that_is_pressed_while_an_answer_comes_hears_its_click(page: Page) -> None:
    page.enter("1. e4 e5 2. Nf3")
    page.until(lambda: len(page.moves) == 3 and page.of_module("state/store.js", "module.isReported()"))
    ActionChains(page.driver).click_and_hold(page.find("#undo")).perform()
    page.of_module("state/store.js", "module.changed('report')")
    ActionChains(page.driver).release().perform()
    page.until(lambda: page.of_module("state/store.js", "module.state.at") == 2)


def test_variations_comments_and_signs_are_made_undone_and_saved(page: Page) -> None:
    page.enter("1. e4 e5 2. Nf3")
    page.until(lambda: len(page.moves) == 3 and page.pieces.get("f3") == "wN")
    page.click('#move-list [data-ply="1"]')
    page.until(lambda: page.pieces.get("e4") == "wP" and "e5" not in page.pieces)
    page.enter("c5")
    page.until(lambda: page.moves == ["e4", "c5"] and "Nf3" in page.text("#move-list"))
    page.unfold(".editing summary")
    page.click("[data-nag='5']")
    page.press("#comment", "sharp" + Keys.ENTER)
    page.until(lambda: "c5!?sharp" in page.text("#move-list"))
    page.click("#promote")
    page.until(lambda: page.text("#move-list").index("c5") < page.text("#move-list").index("e5"))
    page.click("#undo-edit")
    page.until(lambda: page.text("#move-list").index("e5") < page.text("#move-list").index("c5"))
    page.click("#share")
    page.click("#save-pgn")
    game = chess.pgn.read_game(io.StringIO(page.saved("game.pgn").decode()))
    assert game
    main, other = game.variations[0].variations
    assert main.san() == "e5" and other.san() == "c5" and other.nags == {5} and other.comment == "sharp"
    page.click("#remove-move")
    page.until(lambda: "c5" not in page.text("#move-list"))
    page.run("document.activeElement.blur()")
    page.driver.execute_script(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true }))"
    )
    page.until(lambda: "c5!?" in page.text("#move-list"))


def test_a_result_is_that_of_the_moves_that_were_read_which_others_may_follow(page: Page) -> None:
    result = partial(page.of_module, "state/store.js", "module.tagsNow().Result ?? null")
    page.enter('[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 e5 (1... c5) 2. Nf3 1-0')
    page.until(lambda: "c5" in page.text("#move-list"))
    page.click("#last")
    page.until(lambda: len(page.moves) == 3 and page.of_module("state/store.js", "module.isReported()"))
    page.enter("Nc6")
    page.until(lambda: len(page.moves) == 4)
    assert result() == "1-0"
    page.click("#move-list .variation button")
    page.until(lambda: page.moves == ["e4", "c5"])
    page.unfold(".editing summary")
    page.click("#promote")
    page.until(lambda: result() is None)
    page.reload()
    page.until(lambda: page.moves == ["e4", "c5"])
    assert result() is None
    page.click("#share")
    page.click("#save-pgn")
    assert b'[Result "*"]' in page.saved("game.pgn")


def test_a_pgn_with_variations_is_read_whole_and_its_opening_named(page: Page) -> None:
    page.enter('[White "A"]\n[Black "B"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 {Spanish} a6 (3... Nf6 4. O-O) *')
    page.until(lambda: "Spanish" in page.text("#move-list") and "O-O" in page.text("#move-list"))
    page.click("#last")
    page.until(lambda: "C70 Ruy Lopez, Morphy Defence" in page.text("#move-list b"))
    variation = "#move-list .variation button"
    assert page.text(variation) == "Nf6"
    page.click(variation)
    page.until(lambda: page.moves == ["e4", "e5", "Nf3", "Nc6", "Bb5", "Nf6", "O-O"])
    page.until(lambda: "Berlin" in page.text("#move-list b"))


def test_comments_before_a_line_are_shown_and_saved_also_after_a_reload(page: Page) -> None:
    page.enter('[White "A"]\n[Black "B"]\n\n{ Both young } 1. e4 e5 ({ Sharper is } 1... c5) 2. Nf3 *')
    page.until(lambda: page.text("#move-list").startswith("A - B") and "Both young" in page.text("#move-list"))
    page.reload()
    page.until(lambda: "Sharper is" in page.text("#move-list .variation"))
    page.click("#share")
    page.click("#save-pgn")
    game = chess.pgn.read_game(io.StringIO(page.saved("game.pgn").decode()))
    assert game and game.comment == "Both young" and game.variations[0].variations[1].starting_comment == "Sharper is"


def test_dates_are_searched_however_they_are_typed(page: Page) -> None:
    found = page.of_module(
        "panels/game_list.js",
        "(() => {"
        " const list = new module.GameList(), search = '', result = '';"
        " list.add(['2023.01.01', '2024.05.03', '2024.12.01'].map((date) => ({ date, white: '', black: '' })));"
        " const within = ([from, to]) => list.matching(module.queryOf({ search, result, from, to }));"
        " const typed = [['2024.5', ''], ['', '2024.5'], ['2024-5-3', '2024/5/3'], ['2024', '2024'], ['', '2024.1']];"
        " return typed.map(within);"
        " })()",
    )
    assert found == [[1, 2], [0, 1], [1], [1, 2], [0]]


def test_another_game_takes_the_place_of_the_one_against_merino(page: Page) -> None:
    begin(page)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    played = page.moves
    page.enter('[White "Anna"]\n[Black "Bert"]\n\n1. d4 d5 2. c4 *')
    page.until(lambda: page.moves == ["d4", "d5", "c4"])
    assert not page.find("#play-bar").is_displayed()
    assert "Anna" in page.text("#panel-games .tags")
    kept = json.loads(page.run("return localStorage.getItem('merino-played')"))
    assert [[move["san"] for move in game["moves"]] for game in kept] == [played] and kept[0]["score"] == "*"
    page.enter("1. c4")
    page.until(lambda: page.moves == ["c4"] and "Anna" not in page.text("#panel-games .tags"))


def test_nobody_moves_for_merino_and_merino_for_nobody_in_a_game(page: Page) -> None:
    begin(page)
    assert not page.find("#let-move").is_enabled()
    page.enter("e4 e5")
    page.until(lambda: "one move at a time" in page.text("#entry-error"))
    page.enter("e4")
    page.until(lambda: len(page.moves) == 2 and page.moves[0] == "e4" and page.find("#hint-move").is_enabled())
    page.of_module("state/store.js", "(module.state.game.side = 'black')")
    page.enter("d4")
    page.until(lambda: "it is Merino's turn" in page.text("#entry-error"))
    assert len(page.moves) == 2


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_a_reload_or_a_way_back_keeps_the_game_whatever_the_address_shows(page: Page, is_reloaded: bool) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True})
    page.open(at("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"))
    page.click("#play")
    page.click("#play-begin")
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    played = page.moves
    if is_reloaded:
        page.reload()
    else:
        page.leave()
        page.driver.back()
    page.until(lambda: page.moves == played and page.all("#resign") and page.find("#resign").is_displayed())


def test_levels_are_told_with_their_elo(page: Page) -> None:
    page.keys("p")
    names = page.until(lambda: [each.text for each in page.all("#play-level option")])
    elo = at_level(3)
    assert elo and names[3] == f"level 3, about {elo.elo} Elo" and names[-1] == "full strength"
