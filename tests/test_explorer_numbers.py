"""Whether each kind of sentence on the page leads to the numbers that it is made from."""

from __future__ import annotations

import re

from tests.access import violations_in_all
from tests.browser import Page, at, needs_browser

pytestmark = needs_browser

BOTVINNIK = "6k1/p6p/1p2Pnp1/3p4/q1pP4/1nP3N1/1B3QPP/6K1 w - - 0 28"  # - Capablanca, AVRO 1938, a move later
QUIET = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
SAID = "#verdict .said"


def press(page: Page, begins: str) -> None:
    """Press the part of a sentence that begins so."""
    page.until(lambda: any(each.startswith(begins) for each in parts(page)))
    number = next(at for at, each in enumerate(parts(page)) if each.startswith(begins))
    page.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", SAID, number)


def parts(page: Page) -> list[str]:
    """What can be pressed in the sentences of the verdict."""
    found = page.run("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", SAID)
    return [str(each) for each in found]


def pointed(page: Page) -> str:
    """The text of what is marked under Terms."""
    return page.text("#panel-terms .pointed")


def texts(page: Page, inside: str, *selectors: str) -> list[str]:
    """Texts of one moment: an explanation on its way may replace them between two questions."""
    script = "return arguments[1].map((each) => document.querySelector(`${arguments[0]} ${each}`).textContent)"
    return [str(each) for each in page.run(script, inside, selectors)]


def numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+\.\d+", text)


def test_sentences_of_the_terms_lead_to_the_score_and_to_each_term(page: Page) -> None:
    page.open(at(BOTVINNIK))
    page.tab("moves")
    press(page, "free passed pawn (e6) ")
    said = next(each for each in parts(page) if each.startswith("free passed pawn"))
    row = page.until(lambda: page.text("#term-table tr.open[data-term=PawnPassedFreeMax] .net"))
    assert f"{float(row) / 100:.2f}" == numbers_in(said)[0]
    assert pointed(page).startswith("Pawn passed free max") and page.all("#panel-terms .detail .sum")
    press(page, "material ")
    page.until(lambda: pointed(page).startswith("Material"))
    page.open(at(QUIET))
    press(page, "White is ahead by 0.60 pawns")
    page.until(lambda: pointed(page) == "+60")
    assert violations_in_all(page, "#verdict", "#panel-terms") == []


def test_sentences_of_a_net_lead_to_the_account_and_to_the_pieces(page: Page) -> None:
    page.open(at(BOTVINNIK))
    page.of_module("panels/weights.js", 'module.useWeights("gen12.net")')
    press(page, "Black is ahead by ")
    page.until(lambda: "does not tell its score by terms" in pointed(page))
    press(page, "Around this position")
    page.until(lambda: re.search(r"which is \d+% of how moves change it", pointed(page)))
    press(page, "The net rates ")
    page.until(lambda: pointed(page).startswith("What the terms do not explain"))
    press(page, "That depends most on ")
    page.until(lambda: page.all("#rest-table.pointed"))
    said = next(each for each in parts(page) if each.startswith("That depends most on "))
    first = page.text("#rest-table tr:first-child").strip()
    assert first.startswith(re.findall(r" on ([a-h][1-8])", said)[0])
    assert f"{abs(float(numbers_in(first)[0])) / 100:.2f}" == numbers_in(said)[0]


def test_lines_threats_and_comparisons_unfold_their_numbers(page: Page) -> None:
    page.set_out(analysis=True, analysis_lines=1)
    page.open(at(QUIET))
    page.until(lambda: "is worth" in page.text("#lines-by .line-reasons"))
    page.keys("a")
    page.click("#lines-by .line-reasons")
    page.until(lambda: page.text("#lines-by .numbers tbody th"))
    told, name, number = texts(page, "#lines-by", ".line-reasons", ".numbers tbody th", ".numbers tbody td")
    assert name.split(" (")[0] in told
    said, worth = re.search(r"is worth (\d+\.\d\d) (more|less)", told), float(number)
    assert said and abs(100 * float(said[1]) - abs(worth)) < 0.6 and (said[2] == "more") == (worth > 0)
    page.click("#threat")
    page.until(lambda: re.search(r"-?\d+\.\d\d for White at depth \d+", page.text("#threat + .numbers")))
    page.tab("moves")
    for move in ("h2h3", "e1e6"):
        page.until(lambda move=move: page.all(f"tr[data-move={move}] input"))
        page.run(f"document.querySelector('tr[data-move={move}] input').click()")
    page.until(lambda: page.text("#why"))
    page.click("#why")
    page.until(lambda: page.text("#why + .numbers"))
    assert violations_in_all(page, "#analysis", "#verdict", "#comparison") == []


def test_what_a_search_sees_beyond_the_board_is_said(page: Page) -> None:
    page.set_out(analysis=True, analysis_lines=1)
    page.open(at(BOTVINNIK.replace(" w ", " b ")))  # the evaluation by itself finds it level
    page.until(lambda: re.match(r"The search sees more .*: \+\d\.\d\d \(\d\d%\) at depth", page.text("#searched")))
    page.open(at("6k1/5ppp/8/8/8/8/5PPP/6K1 w - - 0 1"))
    page.until(lambda: page.text("#lines-by .line-score"))
    assert not page.find("#searched").is_displayed()


def test_a_decided_game_is_told_by_its_result(page: Page) -> None:
    page.open(at("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"))
    page.until(lambda: page.text("#score") == "1-0")
    assert page.text("#expected-score") == "100.0%" and "White has won by checkmate." in page.text("#verdict")
    assert page.text("#expected b") == "100"
    page.open(at("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"))
    page.until(lambda: page.text("#score") == "\u00bd-\u00bd" and page.text("#expected-score") == "50.0%")
