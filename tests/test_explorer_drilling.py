"""Exercises on the explorer's board while answers are on their way: what comes late changes nothing else."""

from __future__ import annotations

import json

import pytest

from tests.browser import Page, needs_browser
from tests.test_explorer_mishaps import hold, release
from tests.test_explorer_play import LEVEL_0
from tests.test_explorer_work import MISTAKE

pytestmark = needs_browser

EXERCISE = {
    "fen": "6k1/5ppp/6r1/7n/7n/8/5PPP/R5K1 w - - 0 1", "number": "1.", "played": "Rb1", "game": 1,
    "title": "Me - You", "line": ["Ra8#"], "why": "Ra8# was right.",
}  # fmt: skip
PRACTICE = {"practice": "mine", "attempts": 3, "exercises": {"one": EXERCISE}, "due": ["one"], "practised": 0}
SERVER = """
    const real = window.fetch;
    let practised = 0;
    window.fetch = async (path, options) => {
        const refused = { right: false, refutation: ["h6"], sentence: "h6 answers it." };
        if (path === "/api/drill/answer")
            return Response.json(options.body.includes("a1a8") ? { right: true } : refused);
        if (path === "/api/drill/review")
            return Response.json({ due: [], practised: ++practised, again: "2026-01-01" });
        return real(path, options);
    };
"""


def drill(page: Page) -> None:
    """Put an exercise on the board, with a server that answers at once."""
    page.enter(MISTAKE)
    page.until(lambda: len(page.moves) > 1)
    page.tab("player")
    page.until(lambda: page.all("#drill-start"))
    page.run(SERVER)
    page.of_module("panels/drilling.js", f"void module.openPractice({json.dumps(PRACTICE | {'keeps': True})})")
    page.until(lambda: page.all("#drill-show") and page.of_module("state/store.js", "module.isReported()"))


@pytest.mark.parametrize("late", ['"h7h6"],"free"', "/api/drill/review"], ids=["refutation", "solution"])
def test_what_an_exercise_answers_too_late_leaves_another_game_alone(page: Page, late: str) -> None:
    drill(page)
    hold(page, late)
    if late == "/api/drill/review":
        page.click("#drill-show")
    else:
        page.move("a1", "b1")
        page.until(lambda: page.moves == ["Rb1", "h6"])
    page.enter("1. e4 e5")
    page.until(lambda: page.moves == ["e4", "e5"])
    release(page)
    if late == "/api/drill/review":
        page.until(lambda: page.text("#drill-standing").startswith("0 due of 1 exercise, 1 practised"))
    assert page.moves == ["e4", "e5"] and not page.all("#drill-again")


@pytest.mark.parametrize("move", ["a8", "b1"])
def test_an_exercise_whose_solution_is_shown_during_a_judgement_counts_once(page: Page, move: str) -> None:
    drill(page)
    hold(page, "/api/drill/answer")
    page.move("a1", move)
    judged = f"module.isReported() && module.state.moves[0].uci === 'a1{move}'"
    page.until(lambda: page.of_module("state/store.js", "module.state.at === 1 && " + judged))
    page.click("#drill-show")
    page.until(lambda: page.text("#drill-told") == "Ra8# was right.")
    release(page)
    assert page.text("#drill-told") == "Ra8# was right." and page.moves == ["Ra8#"]
    assert page.text("#drill-standing") == "0 due of 1 exercise, 1 practised; 0 of 1 found now."


def test_a_game_against_merino_from_the_position_of_an_exercise_ends_it(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True})
    drill(page)
    page.click("#play")
    page.click("#play-begin")
    page.until(lambda: page.find("#play-bar").is_displayed())
    assert page.of_module("state/store.js", "module.state.exercise") is None and not page.all("#drill-show")
    page.move("a1", "b1")
    page.until(lambda: len(page.moves) == 2)
    assert not page.text("#drill-told")
