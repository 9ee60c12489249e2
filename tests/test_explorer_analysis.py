"""The analysis of the explorer: lines of the running search, their reasons, arrows, and the ranks of moves."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import chess

from tests.browser import Page, at, needs_browser, square
from tests.test_explorer_play import LEVEL_0

pytestmark = needs_browser

MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
MATE = "6k1/5ppp/8/8/8/8/8/4R1K1 w - - 0 1"
LINES = "#lines-by li"
# Let a search that a test stands in for find these lines, one after another.
FIND = """
    const told = { type: "line", number: 1, depth: 9, nps: 1, score: { text: "+0.10", expected_score: 0.5 } };
    return [...arguments].map((line) => line.split(" ")).reduce(
        (last, moves) => last
            .then(() => window.hear({ ...told, moves, names: moves }))
            .then(() => new Promise(requestAnimationFrame)),
        Promise.resolve(),
    );
"""
EXCHANGE = "d2d4 d7d5 c2c4 d5c4 e2e4 e7e5"
SPANISH = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6"  # as many moves as are shown


def analysed(page: Page, fen: str, **settings: Any) -> None:
    """Visit the page on a position, with the analysis on."""
    page.set_out(analysis=True, **settings)
    page.open(at(fen))


def depth(page: Page) -> int:
    found = re.search(r"depth (\d+)", page.text("#analysis-status"))
    return int(found[1]) if found else 0


def first_moves(page: Page, plies: int = 1) -> list[str]:
    """The first moves of each line that is listed, as many as asked."""
    script = (
        "return [...document.querySelectorAll('#lines-by li')]"
        ".flatMap((row) => [...row.querySelectorAll('button')].slice(0, arguments[0]).map((move) => move.textContent))"
    )
    return [str(san) for san in page.run(script, plies)]


def height(page: Page) -> float:
    """The height of the list of lines, in pixels."""
    return float(page.run("return document.getElementById('lines-by').getBoundingClientRect().height"))


def test_lines_come_from_the_running_search_and_go_deeper(page: Page) -> None:
    analysed(page, MIDDLEGAME, analysis_lines=4)
    page.until(lambda: len(page.all(LINES)) == 4 and depth(page) > 2)
    reached, high = depth(page), height(page)
    page.until(lambda: depth(page) > reached + 2 and all(row.text for row in page.all(f"{LINES} .line-reasons")))
    assert height(page) == high, "what stands below stays where it is"
    assert "nodes a second" in page.text("#analysis-status")
    moves = first_moves(page)
    assert len(set(moves)) == 4 and all(chess.Board(MIDDLEGAME).parse_san(san) for san in moves)
    page.until(lambda: page.text(f"{LINES} .line-score") == page.text("#analysis-score"))
    assert re.fullmatch(r"\d+%", page.text(f"{LINES} .line-share"))


def test_the_first_lines_after_a_move_come_at_once(page: Page) -> None:
    analysed(page, chess.STARTING_FEN)
    page.until(lambda: page.all(LINES))
    play = (
        "new Promise((done) => { const began = performance.now();"
        "const seen = new MutationObserver(() => { const first = document.querySelector('#lines-by li .number');"
        " if (first?.textContent.startsWith('1...')) { seen.disconnect(); done(performance.now() - began); } });"
        "seen.observe(document.getElementById('analysis'), { childList: true, subtree: true });"
        "module.play('e2e4'); })"
    )
    assert float(page.of_module("state/store.js", play)) < 2000, "some 150 ms on an idle machine"


def test_each_line_tells_what_it_leads_to_as_explain_does(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    said = re.compile(r"(After|By) .* (level|wins|has)|Nothing is taken|is worth \d\.\d\d (more|less)")
    page.until(lambda: said.search(page.text(f"{LINES} .line-reasons")))


def test_the_reasons_beside_a_line_are_those_of_its_moves_that_are_shown(page: Page) -> None:
    page.stand_in("/ws/search")
    page.click("#analysis-switch")
    page.until(lambda: page.run("return window.sent.length"))
    page.run(FIND, EXCHANGE)
    others = page.until(lambda: page.text(f"{LINES} .line-reasons"))
    page.run(FIND, f"{SPANISH} c2c3", f"{SPANISH} h2h3")
    page.until(lambda: page.text(f"{LINES} .line-reasons") not in ("", others))


def test_no_line_is_in_view_while_a_game_against_merino_is_played(page: Page) -> None:
    page.set_out(analysis=True, play=LEVEL_0)
    page.until(lambda: page.all(LINES) and page.all(".arrows .best"))
    page.click("#play")
    page.click("#play-begin")
    page.until(lambda: page.text("#analysis-status") == "off while you play")
    page.until(lambda: not page.all(LINES) and not page.all(".arrows .best"))


def shown_after(page: Page, *line: str) -> bool:
    """Whether the small board shows what stands after these moves of the middlegame."""
    board = chess.Board(MIDDLEGAME)
    for san in line:
        board.push_san(san)
    return len(page.all("#mini-board image")) == len(board.piece_map()) and page.find("#mini-board").is_displayed()


def test_a_move_of_a_line_shows_its_board_and_plays_it(page: Page) -> None:
    analysed(page, MIDDLEGAME, analysis_lines=1)
    second = f"{LINES} .ply:nth-child(2) button"
    page.until(lambda: depth(page) >= 6 and page.all(second))
    page.hover(second, until=lambda: shown_after(page, *first_moves(page, 2)))
    wanted = first_moves(page, 2)
    page.hover(second, click=True)
    page.until(lambda: page.moves == wanted)  # the row under the pointer stayed as it was
    page.hover(".brand")
    page.until(lambda: not page.find("#mini-board").is_displayed())


def test_a_move_drawn_under_a_pointer_at_rest_shows_its_board(page: Page) -> None:
    analysed(page, MIDDLEGAME, analysis_lines=1)
    first = f"{LINES} .ply:first-child button"
    page.until(lambda: page.all(first))
    page.hover(first, until=lambda: shown_after(page, *first_moves(page)))
    page.of_module("state/store.js", "module.play('e1e6')")
    page.until(lambda: page.text(first) == "fxe6")
    page.of_module("state/store.js", "module.goTo(0)")
    page.until(lambda: "fxe6" not in first_moves(page) and shown_after(page, *first_moves(page)))


def test_arrows_show_best_moves_and_the_threat(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.until(lambda: page.all(".arrows .best") and page.all(".arrows .threat[data-move=c6d4]"))
    page.unfold(".analysis-settings summary")
    page.click("#analysis-arrows")
    page.until(lambda: not page.all(".arrows .best"))


def test_the_bar_follows_the_search(page: Page) -> None:
    analysed(page, MATE)
    page.until(lambda: page.text("#expected b") == "100" and page.text("#analysis-score") == "+M1")
    assert "search" in page.find("#expected").get_attribute("title")
    page.keys("a")
    page.until(lambda: page.find("#analysis-switch").get_attribute("aria-checked") == "false")
    page.move("g1", "f1")
    page.until(lambda: "evaluation alone" in page.find("#expected").get_attribute("title"))


def test_the_switch_and_the_number_of_lines_are_kept_between_visits(page: Page) -> None:
    page.click("#analysis-switch")
    page.until(lambda: len(page.all(LINES)) == 3)
    page.unfold(".analysis-settings summary")
    page.run("const s = document.getElementById('analysis-lines'); s.value = 2; s.dispatchEvent(new Event('change'))")
    page.until(lambda: len(page.all(LINES)) == 2)
    page.open(at(MIDDLEGAME))
    page.until(lambda: len(page.all(LINES)) == 2)
    page.click("#analysis-switch")
    page.open(at(MIDDLEGAME))
    assert page.text("#analysis-status") == "off" and not page.all(LINES)


def test_two_evaluations_analyse_side_by_side(page: Page) -> None:
    analysed(page, MIDDLEGAME, analysis_by="default", analysis_beside="gen1.net", analysis_lines=1)
    page.until(lambda: page.all("#lines-by li") and page.all("#lines-beside li"))
    titles = [found.text for found in page.all("#analysis h3")]
    assert titles == ["By default", "By net gen1"]


def test_the_analysis_rests_while_nobody_looks(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.until(lambda: depth(page) > 2)
    page.of_module("base/attention.js", "module.patience.ms = 1")
    page.until(lambda: page.text("#analysis-status").startswith("resting until somebody looks"))
    page.until(lambda: page.of_module("state/analysis.js", "!module.searches[0].search.isRunning"))
    page.of_module("base/attention.js", "module.patience.ms = 1e6")
    page.hover(square("e4"))
    page.until(lambda: page.of_module("state/analysis.js", "module.searches[0].search.isRunning"))


def test_the_page_tells_how_long_the_compiler_will_take(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.until(lambda: depth(page))
    page.run(  # as if the server compiled what an answer needs
        "const fetched = window.fetch; window.fetch = (path, ...rest) => path === '/api/compiling'"
        " ? Promise.resolve(new Response(JSON.stringify({compiling: {share: 0.4, seconds_left: 12}})))"
        " : path === '/api/slow' ? new Promise((settle) => (window.settle = settle)) : fetched(path, ...rest)"
    )
    page.of_module("base/api.js", "void module.get('/api/slow')")
    told = "compiling for this machine, once: 40%, 12 s left"
    page.until(lambda: page.text("#analysis-status") == told)
    page.run("window.settle(new Response('{}'))")
    page.until(lambda: page.text("#analysis-status").startswith("depth"))


def test_the_analysis_stops_while_the_page_is_hidden(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.until(lambda: depth(page) > 2)
    running = partial(page.of_module, "state/analysis.js", "module.searches[0].search.isRunning")
    hide = (
        "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page.run(hide, True)
    page.until(lambda: not running())
    page.run(hide, False)
    page.until(lambda: running())


def test_moves_are_ranked_by_search_and_not_by_their_static_score(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("moves")
    rows = "return [...document.querySelectorAll('tr[data-move]')].map((row) => row.dataset.move)"
    page.until(lambda: "depth" in page.text("#search-state"))
    page.until(lambda: all(cell.text for cell in page.all("[data-searched]")))
    page.until(lambda: page.run(rows).index("e1e6") > 10)  # Rxe6 is best by its static score, and loses a rook
    page.click("#search-moves")
    page.until(lambda: page.text("#search-moves") == "Search on")
    scores = page.run("return [...document.querySelectorAll('[data-searched]')].map((cell) => cell.textContent)")
    values = [float(text.replace("\u2212", "-")) for text in scores if "M" not in text]
    assert values == sorted(values, reverse=True) and len(scores) == len(list(chess.Board(MIDDLEGAME).legal_moves))


def test_a_square_has_the_colour_of_its_value_whatever_square_it_is(page: Page) -> None:
    page.open(at(chess.STARTING_FEN))
    script = (
        "const fills = {}; for (const rect of document.querySelectorAll('.tints rect')) {"
        " const style = getComputedStyle(rect);"
        " (fills[rect.dataset.square] ??= []).push(style.fill, style.fillOpacity); } return fills"
    )
    page.until(lambda: page.values)
    colours: dict[str, set[str]] = {}
    for name, fill in page.run(script).items():
        colours.setdefault(page.values[name], set()).add(str(fill))
        assert fill[1] == "1", "nothing of the board shows through"
    assert page.values["d2"] == page.values["e2"] and all(len(fills) == 1 for fills in colours.values())


def test_two_moves_stay_compared_when_the_table_is_sorted_or_left(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("moves")
    page.until(lambda: page.all("tr[data-move]"))
    page.run("['e1e6', 'h2h3'].forEach((move) => document.querySelector(`tr[data-move=${move}] input`).click())")
    told = page.until(lambda: page.text("#comparison h3"))
    page.click("#move-table thead th.move button")
    assert page.text("#comparison h3") == told
    page.tab("terms")
    page.tab("moves")
    assert page.text("#comparison h3") == told


def test_lines_are_numbered_from_the_position_that_they_are_of(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.until(lambda: page.all(LINES))
    page.run(
        "window.real = window.fetch; window.fetch = (path, ...rest) => path === '/api/explain'"
        " ? new Promise((settle) => (window.settle = () => settle(window.real(path, ...rest))))"
        " : window.real(path, ...rest)"
    )
    page.enter("Ne5")
    board = chess.Board(MIDDLEGAME)
    board.push_san("Ne5")
    replies = {board.san(move) for move in board.legal_moves}
    page.until(lambda: first_moves(page) and set(first_moves(page)) <= replies)
    page.until(lambda: page.text(f"{LINES} .number") == "13...")  # while the report of the position is on its way
    page.run("window.settle(); window.fetch = window.real")
