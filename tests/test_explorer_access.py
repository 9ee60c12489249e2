"""Whether everybody can use the page of the explorer: contrast, names, keys, and every width."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from selenium.webdriver.common.keys import Keys

from tests.access import RULES, violations
from tests.browser import Page, at, needs_browser

pytestmark = needs_browser

MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
ENDGAME = "8/8/8/4k3/2P2pp1/P1K5/2B5/8 w - - 0 1"
COLOURED = ("terms", "pieces", "moves")  # by values; all else has the colours that are measured below
TABS = ("terms", "pieces", "moves", "compare", "weights", "games", "player", "learning")


def test_no_part_of_the_page_breaks_the_rules_of_access(page: Page) -> None:
    page.set_out(analysis=True)
    page.open(at(MIDDLEGAME), until=lambda: page.text("#lines-by .line-moves"))
    page.run("document.getElementById('analysis-switch').focus()")
    page.keys(Keys.TAB, Keys.TAB, Keys.TAB, until=lambda: page.all("#mini-board image"))
    move = page.run("return document.activeElement.closest('#lines-by') && document.activeElement.textContent")
    page.keys(Keys.ENTER, until=[move])
    page.keys("a")  # what was found stays
    page.open(at(ENDGAME))  # with few moves, which are many cells
    found = {}
    for name in TABS:
        page.tab(name, until=lambda name=name: page.shown(f"#panel-{name}"))
        if name == "weights":
            page.choose("#weight-search", "knight")  # all sliders are alike
        if name == "moves":
            page.click("#search-moves")  # axe has the processor for itself
        levels = page.run(LEVELS)
        assert max(later - level for level, later in pairwise(levels)) == 1, (name, levels)
        assert page.run(UNNAMED) == 0, name
        for scheme in RULES if name in COLOURED else ("light",):
            page.prefer(scheme)
            parts = ["#tabs", f"#panel-{name}"] if (scheme, TABS[0]) in found else []  # all else is as it was
            found[scheme, name] = violations(page, *parts, scheme=scheme)
    page.prefer("light")
    assert not any(found.values()), "\n".join(f"{name}: {each}" for name, all_ in found.items() for each in all_)


TEXTS = ("ink", "soft", "faint", "accent", "bad", "good")
PAPERS = ("paper", "card", "sunk")
MIN_CONTRAST = 4.5  # of WCAG AA, for text
BOARD_TEXTS, SQUARES = ("coordinate", "square-ink"), ("square-light", "square-dark", "square-piece")
COLOURS = (
    "const probe = document.body.appendChild(document.createElement('i')); const found = {};"
    "for (const name of arguments[0]) { probe.style.color = `var(--${name})`;"
    " found[name] = getComputedStyle(probe).color.match(/\\d+/g).map(Number); } probe.remove(); return found"
)


def luminance(colour: Sequence[float]) -> float:
    """The relative luminance of a colour, by WCAG."""
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def luminances(page: Page, names: Sequence[str]) -> dict[str, float]:
    """The luminances of colours of the page, by name."""
    return {name: luminance(colour[:3]) for name, colour in page.run(COLOURS, names).items()}


def contrast(first: float, second: float) -> float:
    """The contrast of two luminances, by WCAG."""
    low, high = sorted((first, second))
    return (high + 0.05) / (low + 0.05)


def unread(colours: dict[str, float], texts: tuple[str, ...], papers: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """The contrasts of texts on papers that are too low, by both names; colours by their luminance."""
    ratios = {(text, paper): contrast(colours[text], colours[paper]) for text in texts for paper in papers}
    return {pair: ratio for pair, ratio in ratios.items() if ratio < MIN_CONTRAST}


def test_boards_are_chosen_and_can_be_read_on_all_of_them(page: Page) -> None:
    page.click("#help")
    assert violations(page, "#help-dialog") == []
    names = page.values_of("#board-colours option", "e.value")
    faults = {}
    for scheme in RULES:
        page.prefer(scheme)
        for name in names:
            page.choose("#board-colours", name)
            faults[scheme, name] = unread(luminances(page, [*BOARD_TEXTS, *SQUARES]), BOARD_TEXTS, SQUARES)
    page.prefer("light")
    assert len(faults) == 2 * len(names) >= 6 and not any(faults.values()), faults
    page.reload()
    assert page.run("return document.documentElement.dataset.board") == names[-1]


MARKS = ("last", "chosen", "focus", "over", "capture", "target", "term")
MIN_MARK_CONTRAST = 3.0  # of WCAG AA, for what is no text
GROUNDS = (*SQUARES, "blue", "orange")
MARKED = (
    "const layer = document.querySelector('.marks'); const words = {};"
    "for (const name of arguments[0]) { const mark = document.createElementNS('http://www.w3.org/2000/svg', 'rect');"
    " mark.setAttribute('class', name); layer.append(mark); const style = getComputedStyle(mark);"
    " const kind = style.fill === 'none' ? 'stroke' : 'fill';"
    " words[name] = [...style[kind].match(/\\d+/g).map(Number), Number(style[`${kind}Opacity`])]; mark.remove(); }"
    "return words"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_marks_and_lines_of_graphs_are_seen_on_what_they_lie_on(page: Page, scheme: str) -> None:
    page.prefer(scheme)
    assert not unread(luminances(page, [*TEXTS, *PAPERS]), TEXTS, PAPERS)
    papers = luminances(page, ["paper", "card"]).values()
    codes = page.of_module("base/chart.js", "module.COLOURS")
    lines = [luminance([int(code[at : at + 2], 16) for at in (1, 3, 5)]) for code in codes]
    grades = luminances(page, ["blunder", "mistake", "inaccuracy"]).values()
    faint = [(line, paper) for line in (*lines, *grades) for paper in papers if contrast(line, paper) < 3]
    marks = page.run(MARKED, MARKS)
    for board in ("stone", "wood", "green"):
        page.run("document.documentElement.dataset.board = arguments[0]", board)
        for ground, colour in page.run(COLOURS, GROUNDS).items():
            for name, (*drawn, opacity) in marks.items():
                mixed = [opacity * mark + (1 - opacity) * under for mark, under in zip(drawn, colour[:3], strict=True)]
                if contrast(luminance(mixed), luminance(colour[:3])) < MIN_MARK_CONTRAST:
                    faint.append((board, ground, name))
    page.prefer("light")
    assert faint == []


SEEN = (
    "return [...document.querySelectorAll('button, select, textarea, input[type=range], .switch')]"
    ".filter((each) => each.checkVisibility() && !each.closest('svg, table, .board, .move-list, .lines'))"
    ".map((each) => each.id || each.outerHTML)"
)


def test_on_paper_there_is_all_to_read_and_nothing_to_press(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.emulate(media="print", features={"prefers-color-scheme": "dark"})
    seen, parts = page.run(SEEN), [part for part in ("#board", "#verdict", "#term-table") if page.shown(part)]
    paper = page.run("return getComputedStyle(document.body).backgroundColor")
    page.emulate()
    assert seen == [] and len(parts) == 3 and paper == "rgb(255, 255, 255)"


@pytest.mark.parametrize(("chosen", "expected", "width"), [(32, 30.0, 390), (16, 15.0, 360)])  # pixels
def test_letters_are_as_large_as_the_reader_wants(page: Page, chosen: int, expected: float, width: int) -> None:
    page.resize(width, 640, touch=width < 600)
    page.command("Page.setFontSizes", {"fontSizes": {"standard": chosen}})
    page.open(at(MIDDLEGAME))
    size = float(page.run("return getComputedStyle(document.documentElement).fontSize").removesuffix("px"))
    assert size == pytest.approx(expected)
    for name in TABS:
        page.run(f"document.getElementById('tab-{name}').click()", until=lambda name=name: page.shown(f"#panel-{name}"))
        assert page.run("return document.documentElement.scrollWidth") <= width, name
    right = "e.getBoundingClientRect().right"
    assert max(page.values_of(".board-bar > *", right)) <= page.values_of(".left", right)[0]
    assert max(page.values_of("[role=tab]", right)) <= width
    page.command("Page.setFontSizes", {"fontSizes": {"standard": 16}})
    page.move("f3", "e5", until=["Ne5"])


FOCUSED = (
    "const now = document.activeElement;"
    "return now.id || now.dataset.square || now.dataset.sort || now.dataset.value || now.ariaLabel || now.textContent"
)


def press(page: Page, selector: str, key: str = Keys.ENTER) -> None:
    """Press a key on what is focused by the keyboard."""
    page.run("document.querySelector(arguments[0]).focus()", selector)
    page.keys(key)


def focused(page: Page) -> str:
    """What has the focus: its id, its square, or its name."""
    return str(page.run(FOCUSED)).strip()


def test_what_is_drawn_again_keeps_the_focus_of_the_keyboard(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.enter("Ne5 Nxe5", until=lambda: "Nxe5." in page.text("#live"))
    press(page, "#undo")
    page.until(lambda: "Ne5." in page.text("#live"))
    assert focused(page) == "undo"
    page.keys(Keys.ENTER)  # now nothing can be taken back, and its neighbour has the focus
    page.until(lambda: page.text("#live").startswith("Before any move"))
    assert focused(page) == "redo"
    press(page, "#move-list [data-ply='2']")
    page.until(lambda: "Nxe5." in page.text("#live"))
    assert focused(page) == "Nxe5"
    press(page, "#tab-moves")
    page.until(lambda: page.all("#move-table"))
    assert focused(page) == "tab-moves"
    press(page, "#move-table thead th:nth-of-type(5) button")
    assert focused(page) == "Change"
    press(page, "#move-table tbody button")
    page.until(lambda: len(page.moves) == 3 and focused(page) == "Moves")


def test_where_a_control_goes_the_focus_is_on_one_near_it(page: Page) -> None:
    page.set_out(analysis=False)
    page.open(at(MIDDLEGAME))
    page.keys("?")
    press(page, "#show-welcome")
    assert focused(page) == "welcome-close"
    page.keys(Keys.ENTER, until=lambda: not page.find("#welcome").is_displayed())
    assert page.run("return document.activeElement.closest('.right') !== null")
    page.keys("m", until=lambda: page.find("#free-play").is_displayed() and page.text("#live"))
    press(page, "#free-play")
    page.until(lambda: not page.find("#free-controls").is_displayed())
    assert page.run("return document.activeElement.closest('.left') !== null")


LISTEN = (
    "window.heard = []; new MutationObserver((changes) => { for (const { target } of changes) {"
    " const at = (target.nodeType === 1 ? target : target.parentElement)"
    ".closest('[aria-live], [role=status], [role=alert], output');"
    " if (at && at.ariaLive !== 'off' && at.textContent) window.heard.push([at.id, at.textContent.trim()]); } })"
    ".observe(document.body, { subtree: true, childList: true, characterData: true })"
)


def test_a_move_is_spoken_once_and_not_each_depth_of_a_search(page: Page) -> None:
    page.set_out(analysis=True)
    page.open(at(MIDDLEGAME))
    page.tab("moves")
    page.run(LISTEN)
    page.until(lambda: all(page.text(f"#{name}").startswith("depth") for name in ("search-state", "analysis-status")))
    assert page.run("return window.heard") == []
    page.keys("a", "/", *"Ne5", Keys.ENTER, until=lambda: page.run("return window.heard.length"))
    assert page.run("return [...new Set(window.heard.map(String))]") == [f"live,{page.text('#live')}"]
    page.run("window.heard = []")
    page.move("a1", "a7", until=lambda: page.error)
    words = page.run("return window.heard.map(([, text]) => text).filter((text) => text.includes('turn'))")
    assert len(set(words)) == 1, words


FORCED = [  # what differs by its colours, where these are those of the system
    ("[data-value=game]", "[data-value=free]", "backgroundColor"),
    ("#tab-terms", "#tab-moves", "borderBottomColor"),
    ("[data-ply='2']", "[data-ply='1']", "backgroundColor"),
    (".bar .blue", "body", "backgroundColor"),
    (".bar .blue", ".bar .orange", "backgroundColor"),
    (".expected i", ".expected", "backgroundColor"),
    (".bars.white i", ".bars .track", "backgroundColor"),
    (".palette button", "body", "backgroundColor"),
]


def test_what_colours_mean_is_seen_where_they_are_forced(page: Page) -> None:
    page.emulate(features={"forced-colors": "active"})
    page.open(at(MIDDLEGAME))
    page.enter("Ne5 Nxe5")
    page.until(lambda: len(page.moves) == 2 and page.all(".bars.white i") and page.all(".bar .orange"))
    colour = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    same = [pair for *pair, name in FORCED if len({page.run(colour, each, name) for each in pair}) == 1]
    page.emulate()
    assert same == []


def test_arrows_scroll_the_box_that_has_the_focus_and_leave_the_game_alone(page: Page) -> None:
    page.resize(390, 844)
    page.open(at(MIDDLEGAME))
    page.enter("Ne5", until=["Ne5"])
    page.tab("moves", until=lambda: page.all("#move-table"))
    press(page, "#panel-moves .scroll", Keys.ARROW_RIGHT)
    page.until(lambda: page.run("return document.querySelector('#panel-moves .scroll').scrollLeft > 0"))
    page.keys(Keys.ARROW_LEFT)
    assert page.text("#move-list [aria-current]") == "Ne5"


def test_the_menu_closes_where_the_keyboard_leaves_it(page: Page) -> None:
    press(page, "#share", Keys.ENTER)
    page.keys(Keys.TAB)
    page.until(lambda: focused(page) == "copy-fen")
    page.keys(Keys.ESCAPE)
    assert not page.find("#share-menu").is_displayed() and focused(page) == "share"
    page.click("#share", until=lambda: page.find("#share-menu").is_displayed())
    page.click(".brand")
    assert not page.find("#share-menu").is_displayed()


def test_all_controls_of_the_board_are_reached_in_a_low_window(page: Page) -> None:
    page.resize(1280, 560)
    page.open(at(MIDDLEGAME))
    page.enter("Ne5 Nxe5", until=lambda: len(page.moves) == 2)
    page.tab("weights", until=lambda: page.all(".slider"))
    page.unfold(".editing summary")
    page.run("window.scrollTo(0, 400); document.getElementById('remove-move').focus()")
    box = "return document.getElementById('remove-move').getBoundingClientRect()"
    page.until(lambda: 0 <= page.run(box)["top"] < page.run(box)["bottom"] <= 560)
    assert page.find("#move-list").size["height"] > 20


GAME = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 4. Ng5 d5 5. Qg4 Bxg4"
LEVELS = (
    "return [...document.querySelectorAll('h1, h2, h3, h4')]"
    ".filter((head) => head.checkVisibility()).map((head) => Number(head.tagName[1]))"
)
UNNAMED = "return [...document.querySelectorAll('th')].filter((e) => !e.textContent && !e.querySelector('img')).length"


def spoken(page: Page, role: str) -> list[tuple[str, str]]:
    """The names of all elements of a role, as screen readers get them, each with its description."""
    nodes = page.command("Accessibility.getFullAXTree", {})["nodes"]
    known = [node for node in nodes if not node["ignored"] and node["role"]["value"] == role]
    return [tuple(str(node.get(key, {}).get("value", "")) for key in ("name", "description")) for node in known]


def test_a_graph_says_which_move_it_is_at_and_where_its_lines_go(page: Page) -> None:
    page.enter(GAME, until=lambda: len(page.moves) == 10)
    page.tab("games", until=lambda: page.all("#course .blunder"))
    press(page, "#course", Keys.END)
    page.keys(Keys.ARROW_LEFT, until=lambda: page.text("#move-list [aria-current]") == "Qg4??")
    value = "return document.getElementById('course').getAttribute('aria-valuetext')"
    page.until(lambda: re.fullmatch(r"5\. Qg4\?\? blunder, White's chances \d+%", page.run(value)))
    words = dict(spoken(page, "image"))["White's chances in the course of the game"]
    assert re.match(r"[A-Z][a-z ]+ from \S+ to \S+", words)


def test_a_large_screen_has_large_graphs(page: Page) -> None:
    page.resize(3840, 2160)
    page.enter(GAME)
    page.tab("games", until=lambda: page.all("#course .series"))
    letters = page.run(
        "const [tick, note] = ['#course .tick', '.note'].map((each) => document.querySelector(each));"
        "return [tick.getBoundingClientRect().height, note.getBoundingClientRect().height]"
    )
    assert letters[0] > 0.7 * letters[1]


def test_dialogs_begin_at_their_beginning(page: Page) -> None:
    page.resize(320, 568, touch=True)
    page.click("#help")
    assert page.run("return document.getElementById('help-dialog').scrollTop") == 0 and focused(page) == "help-title"
    page.keys(Keys.TAB, Keys.ENTER)
    assert not page.find("#help-dialog").is_displayed() and focused(page) == "help"
    page.click("#play")
    assert focused(page) == "play-side"


def test_keys_of_one_character_can_be_switched_off(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.click("#help")
    page.click("#letter-keys")
    page.keys(Keys.ESCAPE, "m", "?")
    assert page.find("#free-controls").is_displayed() is False and page.find("#help-dialog").is_displayed() is False
    page.open(at(MIDDLEGAME))
    page.keys("m")
    assert page.find("#free-controls").is_displayed() is False
    page.click("#help")
    assert not page.find("#letter-keys").is_selected()
    page.click("#letter-keys")
    page.keys(Keys.ESCAPE)
    page.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'M', bubbles: true }))")  # Caps Lock
    page.until(lambda: page.find("#free-controls").is_displayed())


def test_squares_say_their_shapley_values_and_whether_they_can_be_reached(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.keys(*"vv")
    name = "return document.querySelector('[data-square=d1]').getAttribute('aria-label')"
    page.until(lambda: page.values.get("d1", "").startswith("+"))
    page.until(lambda: page.run(name) == f"d1, white queen, {page.values['d1']} pawns")
    page.run("document.querySelector('[data-square=f3]').focus()")
    page.keys(Keys.ENTER)
    page.run("document.querySelector('[data-square=e5]').focus()")
    page.until(lambda: page.text("#live") == "e5, empty, can be reached")
    page.keys(Keys.ARROW_UP)
    page.until(lambda: page.text("#live").startswith("e6, black pawn") and "reached" not in page.text("#live"))


def test_the_keyboard_comes_to_a_square_of_the_board_stays_there_and_leaves_it(page: Page) -> None:
    press(page, "#way [tabindex='0']", Keys.TAB)
    assert focused(page) == "e1" and page.all(".marks .focus")
    for key, drawn in (("v", "#way [data-value=attributed]"), ("f", ".rank")):
        before = page.values_of(drawn, "e.outerHTML")[0]
        page.keys(key, until=lambda drawn=drawn, before=before: page.values_of(drawn, "e.outerHTML")[0] != before)
        assert focused(page) == "e1" and page.all(".marks .focus")
    page.keys(Keys.ARROW_DOWN, Keys.TAB)
    assert page.run("return document.activeElement.closest('#game-controls') !== null")
    page.run("document.querySelector('.skip').click()")
    page.keys(Keys.TAB)
    assert focused(page) == "e2"


def test_the_number_of_games_is_spoken_once(page: Page) -> None:
    page.run(LISTEN)
    page.enter(f'[White "Anna"]\n\n{GAME} *\n\n[White "Bert"]\n\n1. d4 *\n')
    page.until(lambda: page.text("#game-count") == "2 games" and page.text("#live"))
    page.click("#game-at-1", until=["d4"])
    assert [text for place, text in page.run("return window.heard") if place == "game-count"] == ["2 games"]
