"""The search of a whole game on the panel of games: what it is begun for, how deep it is, and when it ends."""

from __future__ import annotations

from typing import Any

from tests.browser import Page, needs_browser
from tests.test_explorer_play import begin

pytestmark = needs_browser

SHARE = {"text": "+0.10", "expected_score": 0.5}
DONE = {"type": "done", "account": []}


def searched(ply: int) -> dict[str, Any]:
    """What is told of a move that has been searched."""
    return {"type": "move", "ply": ply, "san": "?", "before": SHARE, "after": SHARE, "grade": None, "loss": 0}


def hear(page: Page, *messages: dict[str, Any]) -> None:
    page.run("window.hear(...arguments)", *messages)


def asked(page: Page, *names: str) -> list[list[Any]]:
    """Some fields of each search that has been begun."""
    begun = page.run("return window.sent.filter((each) => !each.stop)")
    return [[message[name] for name in names] for message in begun]


def test_the_search_of_a_game_ends_when_another_is_on_the_board(page: Page) -> None:
    page.stand_in("/ws/annotate")
    page.enter("1. e4 e5")
    page.tab("games")
    page.until(lambda: asked(page, "nodes", "first") == [[2000, 1]])
    hear(page, searched(1))
    page.click("#new")
    page.until(lambda: page.moves == [] and "Play or paste moves" in page.text("#panel-games"))
    hear(page, searched(2))
    assert page.run("return window.sent.at(-1)") == {"stop": True}
    assert page.of_module("state/annotating.js", "module.annotation.isWorking") is False


def test_the_panel_of_games_shows_no_game_in_free_mode(page: Page) -> None:
    page.stand_in("/ws/annotate")
    page.enter("1. e4 e5")
    page.tab("games")
    page.until(lambda: asked(page, "first") == [[1]] and page.all("#course .series"))
    page.click("#mode [data-value=free]")
    page.until(lambda: "Free mode has no moves" in page.text("#panel-games") and not page.all("#course"))
    hear(page, searched(1), searched(2), DONE)  # of the game, which nobody sees
    page.click("#mode [data-value=game]")
    page.until(lambda: "Play or paste moves" in page.text("#panel-games"))


def test_a_deep_search_of_a_game_stays_deep_when_a_move_is_added(page: Page) -> None:
    page.stand_in("/ws/annotate")
    page.enter("1. e4 e5")
    page.tab("games")
    page.until(lambda: asked(page, "first") == [[1]])
    hear(page, searched(1), searched(2), DONE)
    page.choose("#annotate-nodes", 200000)
    page.click("#annotate")
    page.until(lambda: asked(page, "nodes", "first")[1:] == [[200000, 1]])
    hear(page, searched(1))
    page.enter("Nf3")
    page.until(lambda: asked(page, "nodes", "first")[2:] == [[200000, 2]])
    hear(page, searched(2), searched(3), DONE)
    page.enter("Nc6")
    page.until(lambda: asked(page, "nodes", "first")[3:] == [[2000, 4]])


def test_a_game_against_merino_is_searched_once_it_has_ended(page: Page) -> None:
    begin(page)
    page.stand_in("/ws/annotate")
    page.tab("games")
    page.move("e2", "e4")
    page.until(lambda: len(page.moves) == 2 and page.all("#course .series"))
    assert not asked(page)
    page.click("#resign")
    page.until(lambda: len(asked(page)) == 1 and page.text("#annotate") == "Stop")
    hear(page, searched(1), searched(2), DONE)
    page.click("#take-back")
    page.move("d2", "d4")
    page.until(lambda: len(page.moves) == 2 and page.of_module("state/store.js", "module.isReported()"))
    page.tab("terms")
    page.click("#resign")
    page.tab("games")
    page.until(lambda: len(asked(page)) == 2)


def test_a_search_that_a_variation_has_ended_goes_on_when_its_game_is_back(page: Page) -> None:
    page.stand_in("/ws/annotate")
    page.enter("1. e4 e5 2. Nf3")
    page.tab("games")
    page.until(lambda: asked(page, "first") == [[1]])
    hear(page, searched(1), searched(2), searched(3), DONE)
    page.choose("#annotate-nodes", 200000)
    page.click("#annotate")
    page.until(lambda: len(asked(page)) == 2)
    hear(page, searched(1))
    page.tab("terms")
    page.of_module("state/store.js", "module.goTo(1).then(() => module.play('c7c5'))")
    page.until(lambda: page.moves == ["e4", "c5"])
    page.of_module("state/store.js", "module.undoEdit().then(() => module.goTo(3))")
    page.until(lambda: page.moves == ["e4", "e5", "Nf3"])
    page.tab("games")
    page.until(lambda: asked(page, "nodes", "first")[2:] == [[200000, 2]])
