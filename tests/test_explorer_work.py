"""What the page works at for long: games of files, lessons, matches, profiles and nights, in a real browser."""

import json
import re
import signal
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from merino.lab.nets.night_panel import report
from tests.access import violations
from tests.browser import Page, at, needs_browser
from tests.load_explorer import Server
from tests.nights import night_of
from tests.rows import few_games
from tests.test_explorer_page import MIDDLEGAME, shows

pytestmark = needs_browser

MISTAKE = """[White "Me"]
[Black "You"]
[Result "0-1"]
[FEN "5k2/5ppp/6r1/7n/7n/8/5PPP/R5K1 w - - 0 1"]

1. Kf1 Kg8 2. Kg1 Kf8 3. Kf1 Kg8 4. Kg1 Kf8 5. Kf1 Kg8 6. Rb1 h6 0-1
"""  # a mate on the back rank is overlooked
GAMES, RESULTS = 5_000, ("1-0", "1/2-1/2", "0-1")  # of a file that is listed
# A match has few nodes a move.
QUICK_MATCH = """
    const real = WebSocket.prototype.send;
    WebSocket.prototype.send = function (text) { real.call(this, text.replace("{", '{"nodes":100,')); };
"""
SAMPLES = """
    return [...document.querySelectorAll(arguments[0])].map((chart) =>
        [...chart.querySelectorAll(".legend svg")].map((drawing) => drawing.innerHTML));
"""


def test_an_engine_is_taught_tried_and_kept_on_one_panel(page: Page, tmp_path: Path) -> None:
    page.tab("learning")
    page.choose_file("#learn-open", few_games(tmp_path))
    page.until(lambda: page.text("#learn-files .file-name") == "few.pgn")
    assert not page.shown("#learn-blend")
    page.choose("#learn-target", "blend", until=lambda: page.shown("#learn-blend"))
    page.choose("#learn-blend", 2)
    page.click("#learn-start")
    assert page.run("return document.querySelector('#learn-form :invalid').id") == "learn-blend", "nothing is begun"
    page.choose("#learn-blend", 0.5)
    page.choose("#learn-target", "result")
    page.choose("#learn-phases", "2")
    page.click("#points-start", until=lambda: len(page.all("#points tbody tr")) == 5)
    page.click("#learn-start", until=lambda: page.all("#learned tbody tr") and page.all("#learn-graphs .series path"))
    assert_that_learning_is_reported(page)
    page.run(QUICK_MATCH)
    page.click("#match-start", until=lambda: len(page.all("#match-games li")) >= 2)
    page.click("#learn-start", until=lambda: page.error == "a match is being played: let it end, or stop it first")
    page.reload()
    page.tab("learning", until=lambda: page.shown("#match-stop") and len(page.all("#match-games li")) >= 2)
    assert re.match(r"\d+ games of 1,400 at most: \d+ won", page.text("#match-standing"))
    click_a_game_that_others_join(page)
    page.until(lambda: len(page.moves) > 10)
    page.click("#match-stop", until=lambda: page.text("#match-verdict") == "Stopped before it was settled.")
    assert violations(page, "#panel-learning") == []
    page.click("#learn-use")
    page.tab("weights", until=lambda: "learned from few.pgn" in page.text("#weights-chosen option:checked"))
    page.tab("learning")
    page.click("#taught-drop", until=lambda: not page.shown("#match-start"))


def assert_that_learning_is_reported(page: Page) -> None:
    """In words, in a table by the phase of the game, and in graphs that can be read without their colours."""
    assert "200 games" in page.text("#learn-verdict")
    found = page.run("return fetch('/api/learning').then((answer) => answer.json())")["record"]["summary"]
    assert f" \u00b1 {1.96 * found['gain_error']:.6f}." in page.text("#learn-verdict"), "the interval of 95%"
    rows = page.texts("#learned tbody th")
    assert any(row.replace(", middlegame", ", endgame") in rows for row in rows if row.endswith(", middlegame"))
    graphs = page.run(SAMPLES, "#panel-learning .chart")
    assert max(map(len, graphs)) > 1 and all(len(set(samples)) == len(samples) for samples in graphs)


def click_a_game_that_others_join(page: Page) -> None:
    """A game in the list stays the button that it was, and in its place under the pointer, however fast others end."""
    page.run("document.querySelector('#match-games button').dataset.marked = 'yes'")
    page.until(lambda: page.all("#match-games li:not(:first-child) [data-marked]"))
    page.hover("#match-games [data-marked]", click=True)


def test_a_players_mistakes_are_walked_through_on_the_board(page: Page, tmp_path: Path) -> None:
    (tmp_path / "mine.pgn").write_text(MISTAKE)
    page.tab("player")
    page.choose_file("#player-open", tmp_path / "mine.pgn", until=lambda: page.text("#game-count") == "1 game")
    page.tab("player")
    page.click("#drill-start")
    page.until(lambda: page.text("#drill-question") == "White to move. Played was 6.Rb1; what is better?")
    assert page.text("#analysis-status") == "off" and page.run("return document.activeElement.id") != "drill-next"
    page.move("a1", "b1", until=lambda: page.text("#drill-words") == "That is what you played: h6 answers it.")
    page.until(["Rb1", "h6"])
    page.enter("1. e4 e5", until=["e4", "e5"])
    assert not page.all("#drill-again"), "it would take off the moves of the other game"
    assert page.store("module.state.exercise") is None
    page.click("#drill-next", until=lambda: page.pieces.get("g6") == "bR")
    page.move("a1", "b1", until=["Rb1", "h6"])
    page.click("#drill-again", until=[])
    assert violations(page, "#panel-player") == []
    page.move("a1", "a8", until=lambda: "Ra8# was right" in page.text("#drill-words") and page.moves == ["Ra8#"])
    page.until(lambda: page.text("#drill-standing") == "0 due of 1 exercise, 1 practised; 0 of 2 found now.")
    assert page.text("#drill-next-time").startswith("Asked again on")
    page.click("#profile-start", until=lambda: "not enough games: 1 of 'Me'" in page.error)


def test_a_player_that_is_typed_stays_and_work_ends_that_has_not_begun(page: Page) -> None:
    page.enter(club_game(0) + club_game(1), until=lambda: page.text("#game-count") == "2 games")
    page.tab("player", until=lambda: page.shown("#player-name"))
    page.run("document.getElementById('player-name').select()")
    page.find("#player-name").send_keys("Bert")
    page.tab("games")
    page.tab("player")
    assert page.find("#player-name").get_attribute("value") == "Bert"
    page.run(
        "const read = Blob.prototype.arrayBuffer, real = window.WebSocket;"
        "const released = new Promise((resolve) => { window.release = resolve; });"
        "Blob.prototype.arrayBuffer = async function () { await released; return read.call(this); };"
        "window.opened = []; window.WebSocket = class extends real"
        " { constructor(url) { super(url); window.opened.push(url); } }"
    )
    page.click("#profile-start")
    page.click("#player-stop", until=lambda: page.shown("#profile-start"))
    page.run("window.release(); return new Promise((done) => setTimeout(done, 100))")
    assert page.run("return window.opened") == [] and page.shown("#profile-start")


EXAMPLE = {"game": 3, "title": "Anna - Bert", "move": "14.Re1", "fen": MIDDLEGAME}
LOSSES = {"games": 40, "moves": 900, "loss": 0.021, "loss_low": 0.018, "loss_high": 0.024, "is_enough": True}
LOSSES |= {"mistakes": 0.04, "mistakes_low": 0.03, "mistakes_high": 0.06}
KIND = {"kind": "fork allowed", "count": 7, "share": 0.6, "share_low": 0.3, "share_high": 0.8, "loss": 0.2}
PROFILE = {
    "player": "Anna", "rating": 1800, "games": 40, "moves": 900, "plies": 900, "faulty": 1,
    "left_out": "1 game cannot be read and is left out",
    "parts": [{"name": "all moves"} | LOSSES, {"name": "endgame"} | LOSSES | {"is_enough": False}],
    "over_time": {"by": "date", "periods": [{"name": "2020 to 2021"} | LOSSES], "change": -0.01, "change_low": -0.02,
                  "change_high": -0.005, "direction": 1},
    "openings": [{"name": "Sicilian Defence", "eco": ["B20", "B90"], "colour": "White", "games": 30, "won": 20,
                  "drawn": 5, "lost": 5, "score": 0.75, "score_low": 0.65, "score_high": 0.85, "is_enough": True,
                  "moves": None, "kinds": [KIND | {"plies": 1.5, "examples": []}]}],
    "mistakes": {"count": 12, "kinds": [KIND | {"plies": None, "examples": [EXAMPLE]}],
                 "plies": [{"plies": 1, "mistakes": 5}, {"plies": None, "mistakes": 7}]},
}  # fmt: skip


def test_a_profile_states_what_is_sure_with_moves_to_look_at(page: Page) -> None:
    page.tab("player")
    page.until(lambda: page.shown("#player-open"))  # the panel is loaded when it is first opened
    show = f"document.querySelector('#player-found').replaceChildren(module.profileSections({json.dumps(PROFILE)}))"
    page.of_module("panels/player.js", show)
    text = page.text("#profile")
    assert "Anna, rating 1800" in text and "Of 12 mistakes" in text and "1 game cannot be read" in text
    assert "5 by 1 ply, 7 farther" in text
    assert "2.1% (1.8 to 2.4)" in page.text("#profile-parts") and "endgame" not in page.text("#profile-parts")
    assert "In the later half a move loses 1.0% of a point less." in text and "2020 to 2021" in text
    openings = page.text("#profile-openings-white")
    assert "Sicilian Defence (B20\u2013B90)" in openings and "Most often: fork allowed, 7" in openings
    assert violations(page, "#profile") == []
    page.click(".example-move", until=lambda: shows(page, MIDDLEGAME))


def test_the_report_of_a_night_is_shown_and_followed(page: Page) -> None:
    working = {"running": True, "hours": 1, "doing": "games", "error": None}
    usual = {"night": report(night_of(2), "here"), "run": None, "place": "here"}
    page.tab("learning")
    page.answer({"GET /api/night": usual, "POST /api/night/start": usual | {"run": working}})
    page.of_module("panels/night_report.js", "module.looks.ms = 1e6")
    page.unfold("#night summary")
    page.until(lambda: "2 generations in" in page.text("#night-summary"))
    assert len(page.all("#night-table tbody tr")) == 2 and len(page.all("#night .chart-place svg")) == 2
    assert "1,000,000" in page.text("#night-table")
    assert len(page.all("#night .chart svg[aria-label='Elo of the best'] .series line")) == 2
    assert page.text("#night-table .strong th") == "2", "the best one is the last that has won"
    assert violations(page, "#night") == []
    page.click("#night-start", until=lambda: page.shown("#night-stop") and page.text("#night-doing") == "games")
    page.answer({"GET /api/night": usual | {"night": report(night_of(4), "here")}})
    page.click("#night-again")
    page.until(lambda: "4 generations in" in page.text("#night-summary") and page.shown("#night-start"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a child")
def test_a_file_on_the_command_line_is_shown_but_for_a_link_and_ctrl_c_is_said(page: Page, tmp_path: Path) -> None:
    (tmp_path / "two.pgn").write_text(club_game(0) + club_game(1))
    address = page.address
    try:
        with Server(str(tmp_path / "two.pgn")) as other:
            start = json.loads(other.ask("/api/start")[1])
            assert start["file"] == "two.pgn" and start["text"] is None
            page.go_to(other.link)
            page.set_out(analysis=True)
            page.open(until=lambda: page.moves == ["e4", "e5"] and page.text("#game-count") == "2 games")
            assert "Anna 0 - Bert" in page.text("#move-list")
            page.open(at("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"), until=lambda: page.text("#game-count") == "2 games")
            assert len(page.pieces) == 3
            page.until(lambda: page.all("#lines-by li"))
            other.process.send_signal(signal.SIGINT)
            assert other.process.wait(60) == 0 and other.new_errors() == ""
        page.until(lambda: "is 'merino explorer' still running?" in page.error)
        assert all("ERR_CONNECTION_REFUSED" in each for each in page.complaints())  # of what it asked for just then
    finally:
        page.address = address  # first: the other server, which would be asked for a plain page, has ended
        page.leave()
    page.driver.get_log("browser")  # what it has asked of the server in vain is no fault


def year_of(number: int) -> str:
    return f"{1900 + number % 100}.{1 + number % 12:02}"


def club_game(number: int) -> str:
    tags = {"White": f"Anna {number}", "Black": "Bert", "Date": f"{year_of(number)}.01", "Result": RESULTS[number % 3]}
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + f"\n1. e4 e5 {tags['Result']}\n\n"


def test_the_games_of_a_file_are_listed_searched_and_chosen(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "club.pgn"
    path.write_text("".join(map(club_game, range(GAMES))), encoding="utf-8")
    page.tab("games")
    page.choose_file("#open-pgn", path)
    page.until(lambda: page.moves == ["e4", "e5"] and "Anna 0 - Bert" in page.text("#move-list"))
    page.until(lambda: page.text("#game-count") == f"{GAMES:,} games")
    assert 0 < len(page.all(".game-row")) < 40, "only what is in view"
    page.run("document.getElementById('game-list').scrollTop = 1e9")
    page.until(lambda: f"Anna {GAMES - 1}" in page.text("#game-list"))
    left = list(range(GAMES))
    for field, text, keeps in (
        ("search", "bert ANNA 1", lambda number: "1" in str(number)),
        ("from", "1977-1", lambda number: year_of(number) >= "1977.01"),
        ("to", "1979/6", lambda number: year_of(number) <= "1979.06"),
        ("result", "1/2-1/2", lambda number: number % 3 == 1),
    ):
        page.choose(f"#game-{field}", text)
        left = [number for number in left if keeps(number)]
        page.until(lambda left=left: page.text("#game-count") == f"{len(left):,} of {GAMES:,} games")
        page.until(lambda left=left: page.text(".game-row .game-player") == f"Anna {left[0]}")
    page.find("#game-list").send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.until(lambda: f"Anna {left[1]} - Bert" in page.text("#move-list") and page.moves == ["e4", "e5"])
    page.until(lambda: page.text(".game-row[aria-selected=true] .game-player") == f"Anna {left[1]}")
    page.unfold("#tree summary", until=lambda: page.texts("#tree-table tbody th") == ["e4"])
    page.until(lambda: page.text("#tree-state") == f"{GAMES:,} games of {GAMES:,} with this position")
    page.choose("#tree-player", "anna 7", until=lambda: page.text("#tree-table tbody td") == "111")
    page.choose("#tree-side", "black", until=lambda: page.text("#tree-state").startswith("0 games"))
    page.until(lambda: page.text("#game-count") == f"0 of {GAMES:,} games")
    page.click("#tree summary", until=lambda: page.text("#game-count") == f"{len(left):,} of {GAMES:,} games")
    (tmp_path / "letter.pgn").write_text("Dear Anna\n")
    page.choose_file("#open-pgn", tmp_path / "letter.pgn", until=lambda: page.error == "letter.pgn holds no game")
    assert page.text("#game-count") == f"{len(left):,} of {GAMES:,} games"
    page.enter("".join(map(club_game, range(2000))))  # which is listed as a file is, from its first game on
    page.until(lambda: page.text("#game-count") == "2,000 games" and page.all("#game-at-0[aria-selected=true]"))
