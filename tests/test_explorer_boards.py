"""What is on the explorer's board stays whole: by moves of a game, typed moves, links, and a reload."""

from __future__ import annotations

from functools import partial

import pytest

from tests.browser import Page, at, needs_browser
from tests.test_explorer_mishaps import hold, release
from tests.test_explorer_play import begin

pytestmark = needs_browser

GAME = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 e5 (1... c5) 2. Nf3 {good} 1-0'
KING_E5, KING_D5 = "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1", "8/8/8/3k4/8/8/4P3/4K3 w - - 0 1"


def at_start(page: Page) -> None:
    page.click("#first")
    page.until(lambda: page.of_module("state/store.js", "module.isReported() && module.state.at === 0"))


def test_another_move_after_steps_back_replaces_those_of_a_game_against_merino(page: Page) -> None:
    begin(page)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    at_start(page)
    page.move("d2", "d4")
    page.until(lambda: len(page.moves) == 2 and page.moves[0] == "d4")
    first = "module.state.root.children.map(({ uci }) => uci)"
    assert page.of_module("state/store.js", first) == ["d2d4"], "the main line is what is played"


def test_an_ended_game_keeps_its_moves_and_result_when_it_is_analysed(page: Page) -> None:
    result = partial(page.of_module, "state/store.js", "module.tagsNow().Result ?? null")
    begin(page)
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    played = page.moves
    page.click("#resign")
    at_start(page)
    page.move("h2", "h4")
    page.until(lambda: page.moves == ["h4"] and page.find("#take-back").get_attribute("disabled"))
    page.of_module("state/store.js", "module.undoEdit()")
    page.until(lambda: page.moves == played and page.find("#take-back").is_enabled())
    page.click("#take-back")
    page.until(lambda: page.moves == [] and page.of_module("state/store.js", "module.isReported()"))
    assert result() is None, "it goes on"
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2)
    assert result() is None
    page.click("#resign")
    page.click("#leave-game")
    page.until(lambda: not page.find("#play-bar").is_displayed())
    page.click("#share")
    page.click("#save-pgn")
    assert b'[Result "0-1"]' in page.saved("game.pgn")


def test_a_move_typed_at_the_start_of_a_game_joins_it_unless_it_is_numbered(page: Page) -> None:
    page.enter(GAME)
    page.until(lambda: "c5" in page.text("#move-list"))
    page.enter("d4")
    page.until(lambda: page.moves == ["d4"])
    listed = page.text("#move-list")
    assert listed.startswith("A - B") and "e4" in listed and "good" in listed
    page.of_module("state/store.js", "module.undoEdit()")
    page.until(lambda: page.moves == ["e4", "e5", "Nf3"])
    page.enter("1. c4")
    page.until(lambda: page.moves == ["c4"] and "Nf3" not in page.text("#move-list"))


def test_a_reload_brings_back_what_a_link_has_shown_in_a_tab_used_before(page: Page) -> None:
    page.enter("1. e4")
    page.until(lambda: page.moves == ["e4"])
    page.open(at(KING_E5))
    page.until(lambda: page.pieces.get("e5") == "bK")
    page.reload()
    page.until(lambda: page.pieces)
    assert page.pieces.get("e5") == "bK" and page.moves == []


@pytest.mark.parametrize("since", ["link", "move"])
def test_a_link_that_is_read_too_late_replaces_nothing_shown_since(page: Page, since: str) -> None:
    hold(page, "8/8/8/4k3")
    page.of_module("controls/links.js", f"void module.showLink('{at(KING_E5)}')")
    if since == "link":
        page.of_module("controls/links.js", f"void module.showLink('{at(KING_D5)}')")
        page.until(lambda: page.pieces.get("d5") == "bK")
    else:
        page.move("e2", "e4")
        page.until(lambda: page.pieces.get("e4") == "wP")
    release(page)
    assert page.pieces.get("d5") == "bK" if since == "link" else page.moves == ["e4"]


def test_of_a_position_and_a_link_that_is_typed_after_it_the_link_stays(page: Page) -> None:
    hold(page, "8/8/8/4k3")
    page.enter(KING_E5)
    page.enter(f"{page.address}{at(KING_D5)}")
    page.until(lambda: page.pieces.get("d5") == "bK")
    release(page)
    assert page.pieces.get("d5") == "bK"
