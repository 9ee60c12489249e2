"""What goes wrong around the page: answers that come late or never, and a browser that keeps nothing."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains

from merino.eval.families import DEFAULT_FILE
from tests.browser import HEIGHT, WIDTH, Page, needs_browser
from tests.test_explorer_play import begin

pytestmark = needs_browser

HOLD = """
    const [part, fails] = arguments, real = (window.real = window.fetch);
    const released = new Promise((resolve) => { window.release = resolve; });
    window.fetch = async (path, options) => {
        const answer = await real(path, options);
        if (!`${path} ${options?.body ?? ""}`.includes(part)) return answer;
        await released;
        if (fails) throw new TypeError("no answer");
        return answer;
    };
"""
IN_USE = """
    const real = window.fetch;
    let isNew = false;
    window.confirm = () => true;
    window.fetch = async (path, options) => {
        if (path === "/api/weights/use") isNew = true;
        if (path === "/api/weights/use") return Response.json({ lines: ["written"] });
        const answer = await real(path, options);
        return isNew && path === "/api/explain" ? Response.json({ ...(await answer.json()), score_cp: 1234 }) : answer;
    };
"""
CHANGED = """
    const real = window.fetch;
    window.fetch = async (path, options) => {
        const answer = await real(path, options);
        if (path.startsWith("/api/weights?")) {
            const found = await answer.json();
            window.asked = (window.asked ?? 0) + 1;
            if (window.isChanged) found.values.VAL_P_mg = 150;
            return Response.json(found);
        }
        if (path !== "/api/explain" || !window.isChanged) return answer;
        return Response.json({ ...(await answer.json()), score_cp: 1234 });
    };
"""
LATE_HINT = """
    const Real = window.WebSocket;
    const released = new Promise((resolve) => { window.release = resolve; });
    window.WebSocket = class extends Real {
        set onmessage(hear) {
            const isOfHint = !window.isMade;
            window.isMade = true;
            super.onmessage = async (event) => {
                if (isOfHint) await released;
                hear(event);
                window.isHinted ||= isOfHint;
            };
        }
    };
"""
NO_SOCKET = "WebSocket = class { constructor() { setTimeout(() => this.onclose({})); } }"
NO_STORAGE = """
    for (const name of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
"""

# The weights that can be pressed now, from the top on: their places in the list and in the window.
IN_VIEW = """
    return [...document.querySelectorAll("[data-weight]")]
        .map((weight, place) => ({ weight, place, box: weight.getBoundingClientRect() }))
        .filter(({ weight, box }) => document.elementFromPoint(box.x + box.width / 2, box.y + 2) === weight)
        .map(({ place, box }) => ({ place, top: Math.round(box.top) }));
"""
ERROR_IN_VIEW = """
    const error = document.getElementById("error"), { x, top, bottom } = error.getBoundingClientRect();
    const isSeen = error.contains(document.elementFromPoint(x + 30, (top + bottom) / 2));
    return isSeen && top >= 0 && bottom < innerHeight ? { top, bottom: Math.floor(bottom) } : null;
"""


def hold(page: Page, part: str, fails: bool = False) -> None:
    """Let answers to requests with this part wait until they are released, or fail then."""
    page.until(lambda: page.pieces)
    page.run(HOLD, part, fails)


def release(page: Page) -> None:
    page.run("window.release(); return new Promise((done) => setTimeout(done, 100))")


def games(white: str, move: str) -> str:
    return f'[White "{white}"]\n[Black "X"]\n[Result "*"]\n\n1. {move} *\n\n'


def test_a_move_made_before_the_last_one_is_seen_is_put_back(page: Page) -> None:
    hold(page, "/api/explain")
    page.move("e2", "e4")
    page.until(lambda: page.moves == ["e4"])
    page.move("e2", "e4")
    assert page.moves == ["e4"] and page.pieces["e2"] == "wP"
    release(page)
    page.until(lambda: page.pieces.get("e4") == "wP")
    page.move("e7", "e5")
    page.until(lambda: page.moves == ["e4", "e5"] and not page.error)


def test_a_move_made_while_the_server_is_away_is_seen_once_it_is_back(page: Page) -> None:
    page.until(lambda: page.pieces)
    page.run("window.real = window.fetch; window.fetch = () => Promise.reject(new TypeError('no answer'))")
    page.move("e2", "e4")
    page.until(lambda: "the server does not answer" in page.error)
    page.run("window.fetch = window.real")
    page.move("e2", "e4")
    page.until(lambda: page.pieces.get("e4") == "wP" and not page.error)
    assert page.moves == ["e4"]


@pytest.mark.parametrize("away", ["fetch = () => Promise.reject(new TypeError('no answer'))", NO_SOCKET])
def test_merino_answers_once_the_server_that_was_away_is_back(page: Page, away: str) -> None:
    begin(page)
    page.run(f"window.kept = [window.fetch, window.WebSocket]; window.{away}")
    page.move("e2", "e4")
    page.until(lambda: "is 'merino explorer' still running?" in page.error)
    page.run("[window.fetch, window.WebSocket] = window.kept")
    page.move("d2", "d4")
    page.until(lambda: page.moves[2:3] == ["d4"] and not page.error)  # Merino may have answered already


@pytest.mark.parametrize("fails", [False, True])
def test_of_two_choices_of_weights_the_last_one_stays(page: Page, fails: bool) -> None:
    page.tab("weights")
    page.until(lambda: page.all("[data-weight]"))
    hold(page, "/api/weights?weights=gen1.net", fails)
    page.choose("#weights-chosen", "gen1.net")
    page.choose("#weights-chosen", "full")
    page.until(lambda: page.all("[data-term-weights=KnightSquare]"))
    release(page)
    assert page.all("[data-term-weights=KnightSquare]") and not page.error
    assert page.of_module("state/store.js", "module.state.weights") == "full"


def test_weights_that_cannot_be_had_leave_those_before(page: Page) -> None:
    page.tab("weights")
    page.until(lambda: page.all("[data-weight]"))
    hold(page, "/api/weights?weights=gen1.net", fails=True)
    page.choose("#weights-chosen", "gen1.net")
    release(page)
    page.until(lambda: "the server does not answer" in page.error)
    assert page.run("return document.getElementById('weights-chosen').value") == "in-use"


def test_a_game_of_a_list_that_comes_late_replaces_no_text_pasted_since(page: Page) -> None:
    page.enter(games("Anna", "e4") + games("Bea", "d4"))
    page.until(lambda: page.text("#game-count") == "2 games")
    hold(page, "/api/game ")
    page.click("#game-at-1")
    page.enter(games("Dora", "Nf3"))
    page.until(lambda: page.moves == ["Nf3"])
    release(page)
    assert page.moves == ["Nf3"] and "Dora" in page.text("#move-list")


@pytest.mark.parametrize("way", ["new", "move"])
def test_a_game_that_comes_late_replaces_no_board_put_up_or_moved_on_since(page: Page, way: str) -> None:
    page.enter(games("Anna", "e4") + games("Bea", "d4"))
    page.until(lambda: page.moves == ["e4"])
    hold(page, "/api/game ")
    page.click("#game-at-1")
    if way == "new":
        page.click("#new")
    else:
        page.move("g1", "f3")
    expected = [] if way == "new" else ["Nf3"]
    page.until(lambda: page.moves == expected)
    release(page)
    assert page.moves == expected


def test_a_game_that_is_pressed_while_the_list_is_drawn_hears_its_click(page: Page) -> None:
    page.enter(games("Anna", "e4") + games("Bea", "d4"))
    page.until(lambda: page.text("#game-count") == "2 games" and page.all("#game-at-1"))
    ActionChains(page.driver).click_and_hold(page.find("#game-at-1")).perform()
    page.run(
        "document.getElementById('game-list').dispatchEvent(new Event('scroll'));"
        " return new Promise((drawn) => setTimeout(drawn, 100))"
    )
    ActionChains(page.driver).release().perform()
    page.until(lambda: page.moves == ["d4"] and "Bea" in page.text("#move-list"))
    page.enter(games("Carl", "c4") + games("Dora", "Nf3"))
    page.until(lambda: "Carl" in page.text("#game-list"))


def test_of_two_texts_the_last_one_stays(page: Page) -> None:
    hold(page, "Anna")
    page.enter(games("Anna", "e4"))
    page.enter(games("Bea", "d4"))
    page.until(lambda: page.moves == ["d4"])
    release(page)
    assert page.moves == ["d4"] and "Bea" in page.text("#move-list")


def test_of_two_files_the_last_one_stays(page: Page, tmp_path: Path) -> None:
    first, second = tmp_path / "first.pgn", tmp_path / "second.pgn"
    first.write_text(games("Anna", "e4"))
    second.write_text(games("Bea", "d4"))
    page.tab("games")
    hold(page, b64encode(first.read_bytes()).decode()[:20])
    page.choose_file("#open-pgn", first)
    page.choose_file("#open-pgn", second)
    page.until(lambda: page.moves == ["d4"] or "Bea" in page.text("#move-list"))
    release(page)
    assert "Bea" in page.text("#move-list")


def test_moves_that_are_read_too_late_replace_none_made_since(page: Page) -> None:
    page.enter("e4")
    page.until(lambda: page.moves == ["e4"])
    hold(page, "/api/read")
    page.enter("c5")
    page.move("e7", "e5")
    page.until(lambda: page.moves == ["e4", "e5"])
    release(page)
    page.until(lambda: "the board has changed meanwhile" in page.text("#entry-error"))
    assert page.moves == ["e4", "e5"]


def test_what_is_typed_before_the_last_text_is_read_stays(page: Page) -> None:
    hold(page, "/api/read")
    page.enter("e4")
    page.find("#entry-text").send_keys(" e5")
    release(page)
    page.until(lambda: page.moves == ["e4"])
    assert page.find("#entry-text").get_attribute("value") == "e4 e5"


def test_values_after_a_move_that_was_pointed_at_come_too_late_for_another_board(page: Page) -> None:
    hold(page, '"moves":["a2a3"]')
    page.of_module("state/store.js", "(module.preview('a2a3'), module.play('e2e4'))")
    page.until(lambda: page.pieces.get("e4"))
    release(page)
    assert page.pieces.get("a2") == "wP" and not page.all(".arrows .tried")


def test_a_hint_is_not_shown_in_another_position(page: Page) -> None:
    begin(page)
    page.until(lambda: page.find("#hint-move").is_enabled())
    page.run(LATE_HINT)
    page.click("#hint-move")
    page.move("a2", "a3")
    page.until(lambda: len(page.moves) == 2 and page.of_module("state/store.js", "module.isReported()"))
    page.run("window.release()")
    page.until(lambda: page.run("return window.isHinted"))
    assert not page.all(".arrows line")


def test_work_on_a_player_ends_when_other_games_are_opened(page: Page) -> None:
    page.stand_in("/ws/profile")
    page.enter(2 * games("Anna", "e4"))
    page.until(lambda: page.text("#game-count") == "2 games")
    page.tab("player")
    page.click("#profile-start")
    page.until(lambda: page.all("#player-stop") and page.run("return window.sent.length") == 1)
    page.enter(3 * games("Bea", "d4"))
    page.until(lambda: page.text("#game-count") == "3 games")
    assert page.run("return window.sent.slice(1)") == [{"stop": True}]
    page.tab("player")
    assert page.all("#profile-start") and "Of 3 games" in page.text("#panel-player")


def test_weights_put_in_use_are_those_of_all_that_is_shown_from_then_on(page: Page) -> None:
    taught = {"name": "taught", "text": DEFAULT_FILE.read_text(), "fit": None, "match": None, "changed": []}
    page.enter("1. e4")
    page.until(lambda: page.moves == ["e4"] and page.pieces.get("e4"))
    page.enter(page.of_module("panels/shared_result.js", f"module.asLink({json.dumps(taught)})"))
    page.until(lambda: page.all("#taught-in-use"))
    page.run(IN_USE)
    page.click("#taught-in-use")
    page.until(lambda: page.text("#score") == "+12.34" and page.text("#taught-done") == "written")
    page.click("#undo")
    page.until(lambda: page.pieces.get("e2") and page.text("#score") == "+12.34")


def test_weights_changed_on_the_disk_are_shown_when_the_user_comes_back(page: Page) -> None:
    page.tab("weights")
    page.until(lambda: page.all("[data-weight=VAL_P_mg]"))
    page.run(CHANGED)
    page.run("document.querySelector('[data-weight=VAL_P_mg]').dataset.mine = 'yes'")
    page.run("window.dispatchEvent(new Event('focus'))")
    page.until(lambda: page.run("return window.asked") == 1)
    assert page.all("[data-weight=VAL_P_mg][data-mine=yes]")  # nothing has changed, and nothing is made anew
    page.run("window.isChanged = true; window.dispatchEvent(new Event('focus'))")
    page.until(lambda: page.run("return document.querySelector('[data-weight=VAL_P_mg]').value") == "150")
    page.until(lambda: page.text("#score") == "+12.34")


def test_the_page_works_in_a_browser_that_keeps_nothing(page: Page) -> None:
    page.leave()
    command = page.driver.execute_cdp_cmd
    added = command("Page.addScriptToEvaluateOnNewDocument", {"source": NO_STORAGE})
    try:
        page.open()
        page.move("e2", "e4")
        page.until(lambda: page.moves == ["e4"] and page.pieces.get("e4"))
        page.click("#theme")
        theme = page.until(lambda: page.run("return document.documentElement.dataset.theme ?? null"))
        page.click("#theme")
        page.until(lambda: page.run("return document.documentElement.dataset.theme") not in (theme, None))
    finally:
        command("Page.removeScriptToEvaluateOnNewDocument", {"identifier": added["identifier"]})
        page.leave()


def test_what_the_browser_has_no_room_for_is_kept_until_the_page_is_left(page: Page) -> None:
    page.until(lambda: page.pieces)
    page.run("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }")
    kept = "(module.keep('player', 'Anna'), module.recall('player', 'nobody'))"
    assert page.of_module("base/browser_storage.js", kept) == "Anna"
    page.reload()
    assert page.of_module("base/browser_storage.js", "module.recall('player', 'nobody')") == "nobody"


@pytest.mark.parametrize("width", [WIDTH, 700], ids=["two columns", "one column"])
def test_an_error_is_in_view_far_down_the_page_and_covers_nothing_that_was(page: Page, width: int) -> None:
    page.resize(width, HEIGHT)
    page.tab("weights")
    page.until(lambda: len(page.all("[data-weight]")) > 20)
    page.run("document.querySelectorAll('[data-weight]')[14].scrollIntoView({behavior: 'instant'})")
    before = page.run(IN_VIEW)
    assert before[0]["top"] < 60 and len(before) > 4
    page.of_module("base/dom.js", "module.showError('It failed. '.repeat(12))")
    box = page.until(lambda: page.run(ERROR_IN_VIEW))
    after = page.until(lambda: page.run(IN_VIEW))
    if width == WIDTH:
        assert after == before, "it is over the board"
        assert page.run("return document.getElementById('mode').getBoundingClientRect().top") >= box["bottom"]
    else:
        assert after[0]["place"] == before[0]["place"] and after[0]["top"] >= box["bottom"], "all has moved down"
    page.click("#error button")
    page.until(lambda: not page.error)
    assert before[0]["place"] in [weight["place"] for weight in page.run(IN_VIEW)]


def test_an_error_stays_in_view_as_the_columns_become_one(page: Page) -> None:
    page.tab("weights")
    page.until(lambda: len(page.all("[data-weight]")) > 20)
    page.of_module("base/dom.js", "module.showError('It failed.')")
    for width in (700, WIDTH):
        page.resize(width, HEIGHT)
        page.run("document.querySelectorAll('[data-weight]')[20].focus()")
        box = page.until(lambda: page.run(ERROR_IN_VIEW))
        assert width == WIDTH or page.run("return document.activeElement.getBoundingClientRect().top") >= box["bottom"]


def test_shapley_values_are_those_of_the_position_whose_report_is_seen(page: Page) -> None:
    page.enter("1. e4 d5")
    page.until(lambda: page.pieces.get("d5") == "bP" and page.of_module("state/store.js", "module.isReported()"))
    hold(page, "/api/explain")
    page.enter("exd5")
    page.until(lambda: len(page.moves) == 3)
    page.click("#way [data-value=shapley]")
    release(page)
    page.until(lambda: page.pieces.get("d5") == "wP")
    page.until(lambda: page.of_module("state/store.js", "Boolean(module.state.report.shapley)"))
    assert not page.error


def test_a_threat_that_could_not_be_asked_for_is_asked_for_again(page: Page) -> None:
    hold(page, "/api/threat", fails=True)
    page.enter("6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1")
    page.until(lambda: page.pieces.get("a2") == "bR")
    page.until(lambda: page.of_module("state/store.js", "module.state.report.threat?.threat === null"))
    release(page)
    page.until(lambda: page.of_module("state/store.js", "module.state.report.threat === undefined"))
    page.run("window.fetch = window.real")
    page.click("#flip")
    page.until(lambda: "mate" in page.text("#threat"))


def test_a_comparison_that_fails_late_is_not_told_where_another_was_made(page: Page) -> None:
    page.tab("compare")
    page.until(lambda: page.all("#compare-scores"))
    hold(page, '"moves":["e2e4"],"first"', fails=True)
    page.move("e2", "e4")
    page.until(lambda: page.pieces.get("e4"))
    page.enter("e5")
    page.until(lambda: page.pieces.get("e5"))
    release(page)
    assert not page.error
