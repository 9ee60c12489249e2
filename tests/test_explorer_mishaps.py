"""What goes wrong around the page: late answers, other boards meanwhile, and a browser that keeps nothing."""

import json
from base64 import b64encode
from functools import partial
from pathlib import Path

import pytest

from tests.browser import HEIGHT, WIDTH, Page, at, needs_browser
from tests.test_explorer_play import LEVEL_0, answered, begin
from tests.test_explorer_work import MISTAKE

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
        if (path === "/api/learning")
            return Response.json({ record: null, weights: { id: "default" }, old: { id: "in-use" } });
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
    page.run("window.release(); return new Promise((done) => setTimeout(done, 40))")


def games(white: str, move: str) -> str:
    return f'[White "{white}"]\n[Black "X"]\n[Result "*"]\n\n1. {move} *\n\n'


def test_a_move_made_before_the_last_one_is_seen_is_played_after_it_if_it_can_be(page: Page) -> None:
    hold(page, "/api/explain")
    page.move("e2", "e4", until=["e4"])
    for start, end in (("e2", "e4"), ("e7", "e5")):
        page.move(start, end)
        assert page.moves == ["e4"] and page.pieces[start].endswith("P")
    release(page)
    page.until(lambda: page.moves == ["e4", "e5"] and page.pieces.get("e5") == "bP" and not page.error)


@pytest.mark.parametrize("away", ["fetch = () => Promise.reject(new TypeError('no answer'))", NO_SOCKET])
def test_merino_answers_once_the_server_that_was_away_is_back(page: Page, away: str) -> None:
    begin(page)
    page.run(f"window.kept = [window.fetch, window.WebSocket]; window.{away}")
    page.move("e2", "e4", until=lambda: "is 'merino explorer' still running?" in page.error)
    page.run("[window.fetch, window.WebSocket] = window.kept")
    page.move("d2", "d4")
    page.until(lambda: page.moves[2:3] == ["d4"] and not page.error)  # Merino may have answered already


@pytest.mark.parametrize(("second", "fails"), [("full", False), ("full", True), ("", True)])
def test_of_two_choices_of_weights_the_last_one_that_can_be_had_stays(page: Page, second: str, fails: bool) -> None:
    page.tab("weights", until=lambda: page.all("[data-weight]"))
    hold(page, "/api/weights?weights=gen1.net", fails)
    page.choose("#weights-chosen", "gen1.net")
    if second:
        page.choose("#weights-chosen", second, until=lambda: page.all("[data-term-weights=KnightSquare]"))
    release(page)
    if not second:
        page.until(lambda: "the server does not answer" in page.error)
    assert page.values_of("#weights-chosen", "e.value") == [page.store("module.state.weights")] == [second or "in-use"]
    assert not second or not page.error


@pytest.mark.parametrize("way", ["text", "move"])
def test_a_game_that_comes_late_replaces_nothing_put_on_the_board_since(page: Page, way: str) -> None:
    page.enter(games("Anna", "e4") + games("Bea", "d4"))
    page.until(lambda: page.moves == ["e4"] and page.text("#game-count") == "2 games")
    hold(page, "/api/game ")
    page.click("#game-at-1")
    if way == "text":
        page.enter(games("Dora", "Nf3"))
    else:
        page.move("g1", "f3")
    page.until(["Nf3"])
    release(page)
    assert page.moves == ["Nf3"] and ("Dora" in page.text("#move-list")) == (way == "text")


@pytest.mark.parametrize("are_files", [False, True])
def test_of_two_texts_or_files_the_last_one_stays(page: Page, tmp_path: Path, are_files: bool) -> None:
    texts = games("Anna", "e4"), games("Bea", "d4")
    page.tab("games")
    hold(page, b64encode(texts[0].encode()).decode()[:20] if are_files else "Anna")
    for number, text in enumerate(texts):
        if are_files:
            (tmp_path / f"{number}.pgn").write_text(text)
            page.choose_file("#open-pgn", tmp_path / f"{number}.pgn")
        else:
            page.enter(text)
    page.until(["d4"])
    release(page)
    assert page.moves == ["d4"] and "Bea" in page.text("#move-list")


def test_moves_that_are_read_too_late_replace_none_made_since(page: Page) -> None:
    page.enter("e4", until=["e4"])
    hold(page, "/api/read")
    page.enter("c5")
    page.find("#entry-text").send_keys(" Nf3")
    page.move("e7", "e5", until=["e4", "e5"])
    release(page)
    page.until(lambda: "the board has changed meanwhile" in page.text("#entry-error"))
    assert page.moves == ["e4", "e5"]


def test_values_after_a_move_that_was_pointed_at_come_too_late_for_another_board(page: Page) -> None:
    hold(page, '"moves":["a2a3"]')
    page.store("(module.preview('a2a3'), module.play('e2e4'))", until=lambda: page.pieces.get("e4"))
    release(page)
    assert page.pieces.get("a2") == "wP" and not page.all(".arrows .tried")


def test_a_hint_is_not_shown_in_another_position(page: Page) -> None:
    begin(page)
    page.until(lambda: page.find("#hint-move").is_enabled())
    page.run(LATE_HINT)
    page.click("#hint-move")
    page.move("a2", "a3", until=lambda: len(page.moves) == 2 and page.store("module.isReported()"))
    page.run("window.release()", until=lambda: page.run("return window.isHinted"))
    assert not page.all(".arrows line")


def test_work_on_a_player_ends_when_other_games_are_opened(page: Page) -> None:
    page.stand_in("/ws/profile")
    page.enter(2 * games("Anna", "e4"), until=lambda: page.text("#game-count") == "2 games")
    page.tab("player")
    page.click("#profile-start")
    page.until(lambda: page.shown("#player-stop") and page.run("return window.sent.length") == 1)
    page.enter(3 * games("Bea", "d4"), until=lambda: page.text("#game-count") == "3 games")
    assert page.run("return window.sent.slice(1)") == [{"stop": True}]
    page.tab("player")
    assert page.shown("#profile-start") and "Of 3 games" in page.text("#panel-player")


def test_weights_put_in_use_are_those_of_all_that_is_shown_from_then_on(page: Page) -> None:
    page.enter("1. e4", until=lambda: page.moves == ["e4"] and page.pieces.get("e4"))
    page.run(IN_USE)
    page.tab("learning", until=lambda: page.shown("#taught-in-use"))
    assert not page.text("#learn-report"), "without a record nothing is known of them"
    page.click("#taught-in-use")
    page.until(lambda: page.text("#static-score") == "+12.34" and page.text("#taught-done") == "written")
    page.click("#undo", until=lambda: page.pieces.get("e2") and page.text("#static-score") == "+12.34")


def test_weights_changed_on_the_disk_are_shown_when_the_user_comes_back(page: Page) -> None:
    page.tab("weights", until=lambda: page.all("[data-weight=VAL_P_mg]"))
    page.run(CHANGED)
    page.run("document.querySelector('[data-weight=VAL_P_mg]').dataset.mine = 'yes'")
    page.run("window.dispatchEvent(new Event('focus'))", until=lambda: page.run("return window.asked") == 1)
    assert page.all("[data-weight=VAL_P_mg][data-mine=yes]")  # nothing has changed, and nothing is made again
    page.run("window.isChanged = true; window.dispatchEvent(new Event('focus'))")
    page.until(lambda: page.run("return document.querySelector('[data-weight=VAL_P_mg]').value") == "150")
    page.until(lambda: page.text("#static-score") == "+12.34")


def test_the_page_works_in_a_browser_that_keeps_nothing(page: Page) -> None:
    page.leave()
    command = page.driver.execute_cdp_cmd
    added = command("Page.addScriptToEvaluateOnNewDocument", {"source": NO_STORAGE})
    try:
        page.open()
        page.move("e2", "e4", until=lambda: page.moves == ["e4"] and page.pieces.get("e4"))
        page.click("#theme")
        theme = page.until(lambda: page.run("return document.documentElement.style.colorScheme || null"))
        page.click("#theme")
        page.until(lambda: page.run("return document.documentElement.style.colorScheme") not in (theme, None))
    finally:
        command("Page.removeScriptToEvaluateOnNewDocument", {"identifier": added["identifier"]})
        page.leave()


def test_what_the_browser_has_no_room_for_is_kept_until_the_page_is_left(page: Page) -> None:
    page.until(lambda: page.pieces)
    page.run("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }")
    kept = "(module.keep('player', 'Anna'), module.recall('player', 'nobody'))"
    assert page.of_module("base/kept.js", kept) == "Anna"
    page.reload()
    assert page.of_module("base/kept.js", "module.recall('player', 'nobody')") == "nobody"


@pytest.mark.parametrize("width", [WIDTH, 700], ids=["two columns", "one column"])
def test_an_error_is_in_view_far_down_the_page_and_covers_nothing_that_was(page: Page, width: int) -> None:
    page.resize(width, HEIGHT)
    page.tab("weights", until=lambda: len(page.all("[data-weight]")) > 20)
    page.run("document.querySelectorAll('[data-weight]')[14].scrollIntoView({behavior: 'instant'})")
    before = page.run(IN_VIEW)
    assert before[0]["top"] < 60 and len(before) > 4
    page.of_module("base/flow.js", "module.showError('It failed. '.repeat(12))")
    box = page.until(lambda: page.run(ERROR_IN_VIEW))
    after = page.until(lambda: page.run(IN_VIEW))
    if width == WIDTH:
        assert after == before, "it is over the board"
        assert page.run("return document.getElementById('mode').getBoundingClientRect().top") >= box["bottom"]
    else:
        assert after[0]["place"] == before[0]["place"] and after[0]["top"] >= box["bottom"], "all has moved down"
    page.click("#error button", until=lambda: not page.error)
    assert before[0]["place"] in [weight["place"] for weight in page.run(IN_VIEW)]


def test_shapley_values_are_those_of_the_position_whose_report_is_seen(page: Page) -> None:
    page.enter("1. e4 d5", until=lambda: page.pieces.get("d5") == "bP" and page.store("module.isReported()"))
    hold(page, "/api/explain")
    page.enter("exd5", until=lambda: len(page.moves) == 3)
    page.click("#way [data-value=shapley]")
    release(page)
    page.until(lambda: page.pieces.get("d5") == "wP" and page.store("Boolean(module.state.report.shapley)"))
    assert not page.error


def test_a_threat_that_could_not_be_asked_for_is_asked_for_again(page: Page) -> None:
    hold(page, "/api/threat", fails=True)
    page.enter("6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1", until=lambda: page.pieces.get("a2") == "bR")
    page.until(lambda: page.store("module.state.report.threat?.threat === null"))
    release(page)
    page.until(lambda: page.store("module.state.report.threat === undefined"))
    page.run("window.fetch = window.real")
    page.click("#flip", until=lambda: "mate" in page.text("#threat"))


GAME = '[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 e5 (1... c5) 2. Nf3 {good} 1-0'
KING_E5, KING_D5 = "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1", "8/8/8/3k4/8/8/4P3/4K3 w - - 0 1"


def at_start(page: Page) -> None:
    page.click("#first", until=lambda: page.store("module.isReported() && module.state.at === 0"))


def test_another_move_after_steps_back_replaces_those_of_a_game_against_merino(page: Page) -> None:
    begin(page)
    answered(page)
    at_start(page)
    page.move("d2", "d4", until=lambda: len(page.moves) == 2 and page.moves[0] == "d4")
    first = "module.state.root.children.map(({ uci }) => uci)"
    assert page.store(first) == ["d2d4"], "the main line is what is played"


def test_an_ended_game_keeps_its_moves_and_result_when_it_is_analysed(page: Page) -> None:
    result = partial(page.of_module, "state/store.js", "module.tagsNow().Result ?? null")
    begin(page)
    answered(page)
    played = page.moves
    page.click("#resign")
    at_start(page)
    page.move("h2", "h4", until=lambda: page.moves == ["h4"] and page.find("#take-back").get_attribute("disabled"))
    page.store("module.undoEdit()", until=lambda: page.moves == played and page.find("#take-back").is_enabled())
    page.click("#take-back", until=lambda: page.moves == [] and page.store("module.isReported()"))
    assert result() is None, "it goes on"
    answered(page)
    assert result() is None
    page.click("#resign")
    page.click("#leave-game", until=lambda: not page.find("#play-bar").is_displayed())
    page.click("#share")
    page.click("#save-pgn")
    assert b'[Result "0-1"]' in page.saved("game.pgn")


def test_a_move_typed_at_the_start_of_a_game_joins_it_unless_it_is_numbered(page: Page) -> None:
    page.enter(GAME, until=lambda: "c5" in page.text("#move-list"))
    page.enter("d4", until=["d4"])
    listed = page.text("#move-list")
    assert listed.startswith("A - B") and "e4" in listed and "good" in listed
    page.store("module.undoEdit()", until=["e4", "e5", "Nf3"])
    page.enter("1. c4", until=lambda: page.moves == ["c4"] and "Nf3" not in page.text("#move-list"))


def test_a_reload_brings_back_what_a_link_has_shown_in_a_tab_used_before(page: Page) -> None:
    page.enter("1. e4", until=["e4"])
    page.open(at(KING_E5), until=lambda: page.pieces.get("e5") == "bK")
    page.reload(until=lambda: page.pieces)
    assert page.pieces.get("e5") == "bK" and page.moves == []


@pytest.mark.parametrize("since", ["link", "move"])
def test_a_link_that_is_read_too_late_replaces_nothing_shown_since(page: Page, since: str) -> None:
    hold(page, "8/8/8/4k3")
    page.of_module("controls/entry.js", f"void module.showLink('{at(KING_E5)}')")
    if since == "link":
        page.of_module("controls/entry.js", f"void module.showLink('{at(KING_D5)}')")
        page.until(lambda: page.pieces.get("d5") == "bK")
    else:
        page.move("e2", "e4", until=lambda: page.pieces.get("e4") == "wP")
    release(page)
    assert page.pieces.get("d5") == "bK" if since == "link" else page.moves == ["e4"]


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
    page.enter(MISTAKE, until=lambda: len(page.moves) > 1)
    page.tab("player", until=lambda: page.shown("#drill-start"))
    page.run(SERVER)
    page.of_module("panels/drilling.js", f"void module.openPractice({json.dumps(PRACTICE | {'keeps': True})})")
    page.until(lambda: page.all("#drill-show") and page.store("module.isReported()"))


@pytest.mark.parametrize("late", ['"h7h6"],"free"', "/api/drill/review"], ids=["refutation", "solution"])
def test_what_an_exercise_answers_too_late_leaves_another_game_alone(page: Page, late: str) -> None:
    drill(page)
    hold(page, late)
    if late == "/api/drill/review":
        page.click("#drill-show")
    else:
        page.move("a1", "b1", until=["Rb1", "h6"])
    page.enter("1. e4 e5", until=["e4", "e5"])
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
    page.until(lambda: page.store("module.state.at === 1 && " + judged))
    page.click("#drill-show", until=lambda: page.text("#drill-words") == "Ra8# was right.")
    release(page)
    assert page.text("#drill-words") == "Ra8# was right." and page.moves == ["Ra8#"]
    assert page.text("#drill-standing") == "0 due of 1 exercise, 1 practised; 0 of 1 found now."


def test_a_game_against_merino_from_the_position_of_an_exercise_ends_it(page: Page) -> None:
    page.set_out(analysis=False, play=LEVEL_0 | {"fromHere": True})
    drill(page)
    page.click("#play")
    page.click("#play-begin", until=lambda: page.shown("#play-bar"))
    assert page.store("module.state.exercise") is None and not page.all("#drill-show")
    page.move("a1", "b1", until=lambda: len(page.moves) == 2)
    assert not page.text("#drill-words")
