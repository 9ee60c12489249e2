"""The page of the explorer, in a real browser."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

import chess
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from merino.core.board.game import Position
from merino.engine.report.schema import PositionReport
from merino.eval.families import DEFAULT_FILE, default, load_evaluation
from merino.eval.linear.registry import TERMS
from merino.study.reporting import report_position
from tests.access import violations
from tests.browser import Page, at, needs_browser, square

pytestmark = needs_browser

MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 0 9"
KNIGHT_UP = "4k3/pppp1ppp/8/8/3N4/8/PPPP1PPP/4K3 w - - 0 1"
PROMOTING = "8/P3k3/8/8/8/8/4K3/8 w - - 0 1"
BLUNDERS = """[White "Anna"]
[Black "Bert"]
[Result "0-1"]

1. e4 e5 2. Ne2 Nc6 3. g3 d5 4. a3 Qg5 5. h4 Qxg3 6. h5 Nd4 7. b3 Nf3# 0-1"""
BOTH = ("gen1", "default")
HASH = "return location.hash"
TABS = ("terms", "pieces", "moves", "compare", "weights", "games", "player", "learning")


@cache
def report_of(fen: str) -> PositionReport:
    return report_position(Position(fen), default())


def after(fen: str, *moves: str) -> str:
    position = Position(fen)
    position.push_all(moves)
    return position.fen()


def shows(page: Page, fen: str) -> bool:
    """Whether board, values, table and score are those of a position, as the engine evaluates it."""
    report = report_of(fen)
    board = chess.Board(fen)
    pieces = {
        chess.square_name(square): f"{'w' if piece.color else 'b'}{piece.symbol().upper()}"
        for square, piece in board.piece_map().items()
    }
    values = {
        piece.square: "\u2013" if piece.removal_cp is None else f"{piece.removal_cp / 100:+.2f}"
        for piece in report.pieces
    }
    engine = int(default().scores(Position(fen).record)[0]) * (1 if board.turn else -1)
    return (
        page.pieces == pieces
        and page.values == {square: "0.00" if text in ("+0.00", "-0.00") else text for square, text in values.items()}
        and page.text("#static-score") in (f"{engine / 100:+.2f}", "0.00")
        and page.text("#term-score") in (f"{engine:+d}", "0")
    )


def test_a_piece_is_dragged_and_all_values_follow(page: Page) -> None:
    assert shows(page, Position().fen())
    page.move("e2", "e5", until=lambda: "e2e5: the pawn on e2 cannot reach e5" in page.error)
    assert page.pieces["e2"] == "wP" and page.moves == []
    page.move("e2", "e4", until=lambda: shows(page, after(Position().fen(), "e2e4")))
    page.tab("pieces")
    page.click("#flip")
    page.move("d7", "d5")
    page.until(lambda: page.moves == ["e4", "d5"] and shows(page, after(Position().fen(), "e2e4", "d7d5")))
    page.until(lambda: len(page.all(".bars.black li")) == 16 and page.all('.bars.black [data-square="d5"]'))
    page.move("e4", "d5", until=lambda: len(page.all(".bars.black li")) == 15)
    assert not page.all('.bars.black [data-square="d5"]')
    assert page.all('.bars.white [data-square="d5"]') and len(page.all(".bars.white li")) == 16


def test_values_are_shown_before_a_move_is_let_go(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.drag(square("f3"), square("e5"), drop=False)
    then = {piece.square: piece.removal_cp for piece in report_of(after(MIDDLEGAME, "f3e5")).pieces}
    page.until(lambda: page.values.get("e5") == f"{(then['e5'] or 0) / 100:+.2f}")
    assert "f3" not in page.values and page.moves == []
    page.drop(square("f3"))
    page.until(lambda: shows(page, MIDDLEGAME))


def test_a_pawn_promotes_to_what_is_chosen(page: Page) -> None:
    page.open(at(PROMOTING))
    page.move("a7", "a8")
    page.click("#promotion [data-piece=n]", until=lambda: page.pieces.get("a8") == "wN")
    assert page.moves == ["a8=N"]
    page.click("#undo", until=lambda: page.pieces.get("a7") == "wP")
    page.move("a7", "a8", until=lambda: page.all("#promotion[open]"))
    assert page.values_of("#promotion img", "e.alt") == ["white queen", "white rook", "white bishop", "white knight"]
    page.keys("q", until=lambda: page.pieces.get("a8") == "wQ")


def test_moves_are_taken_back_played_again_and_gone_to(page: Page) -> None:
    page.enter("1. e4 e5 2. Nf3 Nc6", until=lambda: len(page.moves) == 4 and page.pieces.get("c6") == "bN")
    page.click("#undo", until=lambda: "c6" not in page.pieces)
    page.click("#redo", until=lambda: page.pieces.get("c6") == "bN")
    page.click('#move-list [data-ply="1"]', until=lambda: shows(page, after(Position().fen(), "e2e4")))
    page.move("e7", "e5")  # as in the game, whose later moves stay
    page.until(lambda: shows(page, after(Position().fen(), "e2e4", "e7e5")))
    assert page.moves == ["e4", "e5", "Nf3", "Nc6"]
    page.move("d2", "d4")  # another one, a variation
    page.until(["e4", "e5", "d4"])
    link = page.run("return location.href")
    page.click("#new", until=lambda: page.moves == [] and shows(page, Position().fen()))
    page.enter(MIDDLEGAME, until=lambda: shows(page, MIDDLEGAME) and quote(MIDDLEGAME, safe="") in page.run(HASH))
    page.driver.back()
    page.until(lambda: page.moves == [] and shows(page, Position().fen()))
    page.driver.back()  # to the game as it was left, whose last move was one page more
    page.until(["e4", "e5", "d4"])
    page.driver.back()
    page.until(lambda: page.moves == ["e4", "e5", "Nf3", "Nc6"] and page.store("module.state.at") == 2)
    page.driver.forward()
    page.until(["e4", "e5", "d4"])
    page.open(link.removeprefix(page.address), until=["e4", "e5", "d4"])
    assert shows(page, after(Position().fen(), "e2e4", "e7e5", "d2d4"))


def test_the_token_of_the_link_goes_into_a_cookie_that_no_script_sees(page: Page, explorer) -> None:
    page.open(f"?token={explorer.token}{at(PROMOTING)}", until=lambda: shows(page, PROMOTING))
    assert page.run("return [location.search, document.cookie]") == ["", ""]
    page.reload(until=lambda: shows(page, PROMOTING))
    cookie = page.driver.get_cookie(f"merino-{explorer.port}")
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["value"]) == (True, "Strict", explorer.token)
    page.driver.delete_all_cookies()
    page.driver.refresh()
    assert "open the link that" in page.driver.page_source and "403" in page.complaints()[0]
    page.go_to(explorer.link)


def test_the_example_of_the_report_is_set_up_in_free_mode(page: Page) -> None:
    page.click("#mode [data-value=free]")
    page.click("#free-clear", until=lambda: page.pieces == {})
    for place, letter in {"c3": "K", "c2": "B", "a3": "P", "c4": "P", "e5": "k", "f4": "p", "g4": "p"}.items():
        page.drag(f'.palette [data-piece="{letter}"]', square(place), until=lambda place=place: place in page.pieces)
        assert not page.all(".palette [aria-pressed=true]"), "what was dragged is not chosen for clicks as well"
    fen = "8/8/8/4k3/2P2pp1/P1K5/2B5/8 w - - 0 1"
    page.until(lambda: shows(page, fen))
    values = {piece.square: piece.removal_cp for piece in report_of(fen).pieces}
    assert values["f4"] < values["c4"] and page.values["f4"].startswith("-")
    page.click("#free-play", until=lambda: page.find("#mode [data-value=game]").get_attribute("aria-checked") == "true")
    page.move("c2", "g6", until=["Bg6"])


def test_free_mode_takes_pieces_off_and_says_why_there_are_no_moves(page: Page) -> None:
    page.click("#mode [data-value=free]")
    page.drag(square("d8"), "#static-score", until=lambda: "d8" not in page.pieces)
    page.move("e8", "e5", until=lambda: page.pieces.get("e5") == "bK")
    page.context_click(square("e1"), until=lambda: "White has 0 kings" in page.text(".fault"))
    assert page.values["h1"].startswith("+"), "the pieces are valued all the same"
    page.click("#tab-moves", until=lambda: "There are no moves: White has 0 kings" in page.text("#panel-moves"))
    page.click("#free-start", until=lambda: len(page.pieces) == 32 and not page.text(".fault"))
    page.choose("#free-turn", "b", until=lambda: "Black to move" in page.text("#verdict"))


def test_a_slider_changes_the_score_at_once_and_reset_brings_it_back(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("weights")
    page.press('[data-weight="BishopMobility_mg"]', Keys.HOME)
    score = int(default().with_numbers({"BishopMobility_mg": -200}).scores(Position(MIDDLEGAME).record)[0])
    page.until(lambda: page.text("#static-score") == f"{score / 100:+.2f}")
    page.click("#weights-save")
    endgame = default().numbers["BishopMobility_eg"].value
    assert f"BishopMobility         -200 {endgame:g}\n".encode() in page.saved("weights.txt")
    page.click("#weights-reset", until=lambda: shows(page, MIDDLEGAME))
    page.find("#weight-search").send_keys("bishop mobility")
    seen = "e.offsetParent && [...e.querySelectorAll('[data-weight]')].map((slider) => slider.dataset.weight)"
    sliders = ["BishopMobility_mg", "BishopMobility_eg"]
    page.until(lambda: [each for each in page.values_of(".term-weights", seen) if each] == [sliders])
    net = next(term.net_cp for term in report_of(MIDDLEGAME).terms if term.name == "BishopMobility")
    assert page.text("[data-term-weights=BishopMobility] .effect") == f"{net:+.1f} here"


def test_the_weights_of_a_table_are_made_when_it_is_opened_and_change_the_score(page: Page) -> None:
    page.open(at(KNIGHT_UP))
    page.tab("weights")
    page.choose("#weights-chosen", "full")
    page.unfold("[data-term-weights=KnightSquare] summary")
    page.until(lambda: len(page.run("return [...document.querySelectorAll('.cell')]")) == 32)
    page.press('[data-weight="KnightSquare_d4_eg"]', Keys.END)
    score = int(load_evaluation("full").with_numbers({"KnightSquare_d4_eg": 200}).scores(Position(KNIGHT_UP).record)[0])
    page.until(lambda: page.text("#static-score") == f"{score / 100:+.2f}")
    page.click("#weights-reset")
    page.tab("terms")
    page.click('[data-term="KnightSquare"] button', until=lambda: "A table of 32 weights" in page.text("tr.detail"))
    group, term = page.text("[data-group='Board control']"), page.text("[data-term=KnightSquare]")
    assert "worth 94 \u00b1 18 Elo" in group and "worth 21 \u00b1 18 Elo" in term


def test_a_weights_file_of_the_users_is_opened_and_a_faulty_one_refused(page: Page, tmp_path: Path) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("weights")
    good, bad = tmp_path / "mine.txt", tmp_path / "bad.txt"
    good.write_text("VAL_P 150\n")
    bad.write_text("VAL_X 150\n")
    page.choose_file("#weights-open", good)
    page.until(lambda: page.run("return document.querySelector('[data-weight=VAL_P]')?.value") == "150")
    assert page.run("return document.getElementById('weights-chosen').selectedOptions[0].textContent") == "mine.txt"
    page.choose_file("#weights-open", bad)
    page.until(lambda: page.error == "bad.txt:1: no term is called 'VAL_X'; did you mean 'VAL_R'?")


def test_terms_show_their_sentences_light_squares_add_up_and_are_sorted(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.click('tr[data-term="BishopMobility"]', until=lambda: page.all("#term-table .detail"))
    assert "The squares a bishop attacks" in page.text("#term-table .detail")
    lit = {piece.square for piece in report_of(MIDDLEGAME).pieces if "BishopMobility" in piece.terms}
    page.until(lambda: set(page.values) == lit and len(page.all(".marks .term")) == len(lit))
    page.click('tr[data-term="BishopMobility"]', until=lambda: not page.all(".marks .term"))
    nets = page.texts("tr[data-term] .net")
    whole = sum(float(text.replace("\u2212", "-")) for text in nets)
    assert whole == pytest.approx(report_of(MIDDLEGAME).static.sum_cp, abs=0.051 * len(nets))
    page.click("#zero-terms", until=lambda: len(page.all("tr[data-term]")) == len(TERMS) > len(nets))
    page.click("[data-sort=net_cp]", until=lambda: page.all("th[aria-sort=descending]"))
    names = page.values_of("tr[data-term]", "e.dataset.term")
    sizes = {term.name: abs(term.net_cp) for term in report_of(MIDDLEGAME).terms}
    assert [sizes[name] for name in names] == sorted(sizes.values(), reverse=True)


def test_every_move_is_listed_tried_by_pointing_and_compared(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("moves")
    report = report_of(MIDDLEGAME)
    page.until(lambda: len(page.all("tr[data-move]")) == len(report.moves))
    page.click("#search-moves")
    page.click("#move-table thead th:nth-of-type(5) button")  # by what they change at once
    assert page.values_of("tr[data-move]", "e.dataset.move") == [move.uci for move in report.moves]
    best = report.moves[0]
    tried = f"{best.change.after_cp / 100:+.2f}"
    best_row = f'tr[data-move="{best.uci}"] button'
    page.hover(best_row, until=lambda: page.text("#static-score") == tried and page.all(".arrows line"))
    page.hover("#static-score", until=lambda: not page.all(".arrows line"))
    for move in report.moves[:2]:
        page.click(f'tr[data-move="{move.uci}"] input')
    page.until(lambda: f"{report.moves[1].san} instead of {best.san}" in page.text("#comparison"))
    differences = page.run(
        "return [...document.querySelectorAll('#comparison tbody tr:not([id])')].map((row) =>"
        " [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent.replace('\u2212', '-'))))"
    )
    assert differences and all(abs(second - first - less) < 0.11 for first, second, less in differences)
    page.click(f'tr[data-move="{report.moves[2].uci}"] input')  # the first of three is no longer compared
    page.until(lambda: f"{report.moves[2].san} instead of {report.moves[1].san}" in page.text("#comparison"))


def test_two_weights_files_stand_side_by_side(page: Page, tmp_path: Path) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("compare", until=lambda: page.all("#compare-terms tbody tr") and page.all("#compare-pieces img"))
    assert "B instead of A" in page.text("#panel-compare")
    assert "without effect here" in page.text("#compare-others summary") and page.all("#compare-idle tbody tr")
    nets = page.values_of("#compare-terms tbody tr", "[3, 4].map((at) => e.cells[at].textContent)")
    assert nets and all(row != ["\u00b7", "\u00b7"] for row in nets)
    assert page.text("#compare-scores tbody tr td") == f"{report_of(MIDDLEGAME).static.score_cp / 100:+.2f}"
    page.choose("#compare-second", "gen1.net", until=lambda: "gen1 has no terms" in page.text("#compare-without"))
    assert "Weight A" in page.text("#compare-terms") and page.all("#compare-moves tbody tr")
    page.choose("#compare-first", "gen1.net")
    page.choose("#compare-second", "default", until=lambda: "Weight B" in page.text("#compare-terms"))
    scores = [f"{load_evaluation(name).explain(Position(MIDDLEGAME).record).score_white / 100:+.2f}" for name in BOTH]
    assert [page.text(f"#compare-scores tbody tr td:nth-of-type({column})") for column in (1, 2)] == ["0.00", scores[1]]
    page.choose("#compare-first", "in-use")
    page.click("#new")
    other = tmp_path / "other.txt"
    other.write_text(DEFAULT_FILE.read_text().replace("RookOpen               28 13", "RookOpen               28 99"))
    page.choose_file("#compare-open", other)  # which differs in the endgame, and is not called the same
    page.until(lambda: "In this position both value every term alike." in page.text("#panel-compare"))


def test_a_net_shows_score_and_pieces_and_says_that_it_has_no_terms(page: Page, tmp_path: Path) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("weights")
    net = tmp_path / "mine.net"
    net.write_bytes(DEFAULT_FILE.with_name("gen1.net").read_bytes())
    page.choose_file("#weights-open", net)
    page.until(lambda: "mine.net" in page.text("#weights-chosen option:checked") and page.all("#net-about"))
    assert page.run("return document.getElementById('weights-save').disabled")
    page.tab("terms", until=lambda: "score into terms" in page.text("#without-terms"))
    removals = load_evaluation("gen1").removals(Position(MIDDLEGAME).record)[0]
    page.until(lambda: page.values["d1"] == f"{removals[chess.D1] / 100:+.2f}")
    by_terms = default().explain(Position(MIDDLEGAME).record).score_white
    assert page.text("#beside-score") == f"{by_terms / 100:+.2f}"
    assert not page.all("#way [data-value=attributed]")


def test_the_board_shows_shapley_values_that_add_up_to_the_score_of_a_net(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("weights")
    page.choose("#weights-chosen", "gen12.net")
    page.tab("pieces")
    page.click("#way [data-value=shapley]", until=lambda: "add up to the score" in page.text("#panel-pieces"))
    score = int(load_evaluation("gen12").scores(Position(MIDDLEGAME).record)[0])
    assert f"add up to the score, {score / 100:+.2f}" in page.text("#panel-pieces")
    page.until(lambda: "standard error up to 0.02" in page.text("#panel-pieces"))
    assert sum(map(float, page.values.values())) == pytest.approx(score / 100, abs=0.15)  # each rounded to 0.01
    loaded = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert loaded and all(name.startswith(page.address) for name in loaded), "nothing comes from anywhere else"
    page.tab("terms")
    words = page.texts("#words-table .net")
    assert sum(float(cell.replace("\u2212", "-")) for cell in words) == pytest.approx(score, abs=2)
    assert "The net rates" in page.text("#verdict")


def test_the_value_that_a_net_gives_each_piece_is_shown_by_one_key(page: Page) -> None:
    page.open(at(MIDDLEGAME), until=lambda: page.all("#way [data-value=beside]"))
    page.keys(*"vvvv")
    own = load_evaluation("pieces1").attributed(Position(MIDDLEGAME).record)[0]
    page.until(lambda: page.values.get("d1") == f"{own[chess.D1] / 100:+.2f}")
    assert page.values["d8"] == f"{-own[chess.D8] / 100:+.2f}" and page.values["g1"] == "\u2013"
    page.tab("weights")
    page.choose("#beside-chosen", "", until=lambda: not page.all("#way [data-value=beside]"))
    assert not page.text("#beside-score")


def test_a_game_is_drawn_clicked_and_its_mistakes_are_marked(page: Page) -> None:
    page.enter(BLUNDERS, until=lambda: len(page.moves) == 14 and page.all("#course .series"))
    page.hover("#course svg")
    page.run("document.querySelector('#course svg').id = 'pressed'")
    ActionChains(page.driver).click_and_hold().perform()
    page.run("document.querySelector('#course .chart-place').style.width = '90%'")  # so that it is drawn again
    page.until(lambda: not page.all("#pressed") and page.all("#course svg"))
    ActionChains(page.driver).release().perform()
    page.until(lambda: page.text("#move-list [aria-current]").rstrip("?!") in ("g3", "d5", "a3", "Qg5"))
    page.run("document.getElementById('course').focus()")
    page.keys(Keys.END, until=lambda: page.text("#move-list [aria-current]") == "Nf3#")
    page.keys(Keys.END, Keys.ARROW_LEFT)  # there is nothing behind the end
    page.until(lambda: page.text("#move-list [aria-current]").rstrip("?!") == page.moves[-2])
    page.until(lambda: page.all("#course .mark.blunder") and page.text("#annotate") == "Search deeper")
    assert page.text(".mistakes [data-mistake]")[0].isupper()
    numbers = {f"{ply // 2 + 1}{'...' if ply % 2 else '.'} {san}" for ply, san in enumerate(page.moves)}
    words = re.findall(r"^(\d+\.+ [^?! ]+)", page.text(".mistakes"), re.MULTILINE)
    assert words and set(words) <= numbers
    page.run("document.getElementById('annotate-nodes').options[0].value = 4000")
    page.choose("#annotate-nodes", 4000)
    page.click("#annotate")
    page.until(lambda: page.text("#annotate") == "Search deeper" and "White: " in page.text("#panel-games .summary"))
    page.click(".mistakes li:last-child button")
    page.until(lambda: page.text("#move-list [aria-current]") in page.text(".mistakes li:last-child button"))
    proved = ".mistakes li:last-child .proof"
    page.unfold(".mistakes li:last-child summary", until=lambda: page.all(f"{proved} svg.mini"))
    assert re.search(r"Score .* for White: searches by gen13, (16|32),000 nodes each", page.text(proved))
    assert violations(page, ".mistakes") == []
    page.click(f"{proved} button")  # which plays the first move of the line that proves it
    page.until(lambda: page.text("#move-list [aria-current]").rstrip("#?!") == page.moves[-1].rstrip("#"))


SCRIPTS = (
    "<img src=x onerror=window.hit=1>",
    "<script>window.hit=1</script>",
    "'><svg onload=window.hit=1>",
    "javascript:window.hit=1",
)


def test_no_script_in_a_file_runs_wherever_its_text_is_shown(page: Page, tmp_path: Path) -> None:
    names = ("Event", "Site", "Date", "Round", "White", "Black", "Result", "ECO", "WhiteElo", "Own")
    tags = "".join(f'[{name} "{script}"]\n' for name, script in zip(names, SCRIPTS * 3, strict=False))
    text = f"{tags}\n1. e4 {{ {' '.join(SCRIPTS)} }} e5 (1... c5 {{ {SCRIPTS[0]} }}) 2. Nf3 ; {SCRIPTS[1]}\n*\n\n"
    faulty = f'[White "{SCRIPTS[0]}"]\n[FEN "{SCRIPTS[1]}"]\n\n1. e4 *\n\n'
    path = tmp_path / f"{SCRIPTS[0]}.pgn"
    path.write_text(text * 2 + faulty, encoding="utf-8")
    page.tab("games")
    page.choose_file("#open-pgn", path)
    page.until(lambda: page.moves == ["e4", "e5", "Nf3"] and page.text("#game-count") == "3 games")
    page.click("#game-at-2", until=lambda: page.all("#panel-games .fault") or page.error)
    for name in TABS:
        page.tab(name)
    for script in SCRIPTS[:2]:
        page.enter(f"{' '.join(MIDDLEGAME.split()[:4])} id {script};")
        page.until(lambda script=script: script in page.text("#hint"))
        page.enter(script, until=lambda: page.error)
    bad = tmp_path / f"{SCRIPTS[1].replace('/', '')}.txt"
    bad.write_text(f"{SCRIPTS[0]} 1\n")
    page.tab("weights")
    page.choose_file("#weights-open", bad, until=lambda: bad.name in page.error)
    assert_nothing_ran(page)
    page.open(f"#fen={quote(SCRIPTS[0])}&moves={quote(SCRIPTS[1])}")
    assert_nothing_ran(page)


def assert_nothing_ran(page: Page) -> None:
    assert page.run("return window.hit ?? null") is None
    assert not page.all("script:not([src]), img[onerror], svg[onload], [href^='javascript:']")


def test_the_keyboard_alone_suffices(page: Page) -> None:
    page.run("document.body.focus()")
    page.keys("b", *[Keys.ARROW_UP], Keys.ENTER, Keys.ARROW_UP, Keys.ARROW_UP, until=lambda: "e4" in page.text("#live"))
    page.keys(Keys.ENTER, until=["e4"])
    page.until(lambda: "White expects" in page.text("#live"))
    page.keys("/")
    page.keys(*"e5", Keys.ENTER, Keys.ESCAPE, until=["e4", "e5"])
    page.keys("b", "v", until=lambda: page.find("#way [data-value=attributed]").get_attribute("aria-checked") == "true")
    page.keys("u", until=lambda: page.pieces.get("e7") == "bP")
    page.keys("r", until=lambda: page.pieces.get("e5") == "bP")
    page.run("document.getElementById('tab-terms').focus()")
    page.keys(Keys.ARROW_RIGHT, until=lambda: page.find("#tab-pieces").get_attribute("aria-selected") == "true")
    page.keys("m", "b", Keys.DELETE, until=lambda: "e4" not in page.pieces)
    page.keys("q", until=lambda: page.pieces.get("e4") == "bQ")


def test_dark_follows_the_system_and_the_button(page: Page) -> None:
    def brightness() -> int:
        colour = page.run("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert brightness() > 600
    page.prefer("dark")
    page.until(lambda: brightness() < 150)
    page.prefer("light")
    page.click("#theme", until=lambda: brightness() < 150)
    page.click("#theme", until=lambda: brightness() > 600)
    page.run("localStorage.clear()")


def test_what_is_shown_is_saved_as_json(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.click("#share")
    page.click("#save-json")
    assert json.loads(page.saved("position.json"))["score_cp"] == report_of(MIDDLEGAME).static.score_cp
