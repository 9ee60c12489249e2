"""The analysis of the explorer: lines of the running search, their reasons, arrows, ranks of moves, courses."""

import re
from functools import partial
from typing import Any

import chess

from tests.access import violations
from tests.browser import Page, at, needs_browser, square
from tests.test_explorer_play import LEVEL_0, begin

pytestmark = needs_browser

MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
MATE = "6k1/5ppp/8/8/8/8/8/4R1K1 w - - 0 1"
LINES = "#lines-by li"
# Let a search that a test stands in for find these lines, one after another.
FIND = """
    const words = { type: "line", number: 1, depth: 9, nps: 1, score: { text: "+0.10", expected_score: 0.5 } };
    return [...arguments].map((line) => line.split(" ")).reduce(
        (last, moves) => last
            .then(() => window.hear({ ...words, moves, names: moves }))
            .then(() => new Promise(requestAnimationFrame)),
        Promise.resolve(),
    );
"""
# Let what is asked of one path wait, until a test lets it settle: by an answer of the test's, or else by the server's.
HOLD = """
    const [held] = arguments, real = window.fetch;
    window.fetch = (path, how) => path !== held ? real(path, how) : new Promise((settle) => {
        window.settle = (answer) => settle(answer ? Response.json(answer) : real(path, how));
    });
"""
HIDE = (
    "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });"
    "document.dispatchEvent(new Event('visibilitychange'))"
)
SCORED = """
    const score = { cp: arguments[2], mate: null, text: `${arguments[2] / 100}`, expected_score: arguments[1] };
    window.hear({ type: "line", number: 1, depth: 14, nps: 1, score, moves: [arguments[0]], names: [arguments[0]] });
"""
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


def test_lines_come_from_the_running_search_and_go_deeper(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.unfold(".analysis-settings summary")
    page.choose("#analysis-lines", 4)
    page.open(at(MIDDLEGAME))  # where their number is kept
    page.until(lambda: len(page.all(LINES)) == 4 and depth(page) > 2)
    below = "return document.getElementById('tabs').getBoundingClientRect().top"
    reached, top = depth(page), page.run(below)
    page.until(lambda: depth(page) > reached + 2)
    assert "nodes/s" in page.text("#analysis-status")
    moves = first_moves(page)
    assert len(set(moves)) == 4 and all(chess.Board(MIDDLEGAME).parse_san(san) for san in moves)
    page.until(lambda: page.text(f"{LINES} .line-score") == page.text("#score"))
    assert re.fullmatch(r"\d+%", page.text(f"{LINES} .line-share"))
    page.store("module.play('f3e5')", until=["Ne5"])
    assert page.run(below) == top, "what stands below stays where it is, also while no line is known"
    page.click("#analysis-switch")
    page.open(at(MIDDLEGAME))
    assert page.text("#analysis-status") == "off" and not page.all(LINES)


def test_the_reasons_of_a_line_are_those_of_its_shown_moves(page: Page) -> None:
    page.stand_in("/ws/search")
    page.click("#analysis-switch", until=lambda: page.run("return window.sent.length"))
    page.run(FIND, "f2f3 e7e5 g2g4 d8h4")
    page.until(lambda: page.text(f"{LINES} .line-reasons") == "2...Qh4 is mate.")
    page.run(FIND, f"{SPANISH} c2c3", f"{SPANISH} h2h3")
    page.until(lambda: not any(row.text for row in page.all(f"{LINES} .line-reasons")))


def test_no_line_is_in_view_while_a_game_against_merino_is_played(page: Page) -> None:
    page.set_out(analysis=True, play=LEVEL_0)
    page.until(lambda: page.all(LINES) and page.all(".arrows .best"))
    page.click("#play")
    page.click("#play-begin", until=lambda: page.text("#analysis-status") == "off while you play")
    page.until(lambda: not page.all(LINES) and not page.all(".arrows .best"))


def shown_after(page: Page, *line: str) -> bool:
    """Whether the small board shows what stands after these moves of the middlegame."""
    board = chess.Board(MIDDLEGAME)
    for san in line:
        board.push_san(san)
    return len(page.all("#mini-board image")) == len(board.piece_map()) and page.find("#mini-board").is_displayed()


def test_a_move_of_a_line_shows_its_board_and_plays_it_whatever_comes_above_it(page: Page) -> None:
    page.set_out(analysis=True, analysis_lines=1)
    page.until(lambda: page.store("module.state.report?.threat"))
    page.run(HOLD, "/api/threat")
    page.enter(MIDDLEGAME)
    second = f"{LINES} .ply:nth-child(2) button"
    page.until(lambda: depth(page) >= 6 and page.all(second) and page.run("return !!window.settle"))
    page.hover(second, until=lambda: shown_after(page, *first_moves(page, 2)))
    wanted, place = first_moves(page, 2), page.middle(second)
    many_lines = {"threat": "Black threatens much. " * 40, "move": None, "depth": 1, "claims": []}
    page.run("window.settle(arguments[0])", many_lines, until=lambda: page.text("#threat"))
    moved = max(abs(now - before) for now, before in zip(page.middle(second), place, strict=True))
    assert moved <= 1 and first_moves(page, 2) == wanted, "what is pointed at stays, but for part of a pixel"
    page.hover(second, click=True)
    page.until(wanted)
    page.hover(".brand")
    page.until(lambda: not page.find("#mini-board").is_displayed())


def test_the_bar_follows_the_search(page: Page) -> None:
    analysed(page, MATE)
    page.until(lambda: page.text("#expected b") == "100" and page.text("#score") == "+M1")
    assert "search" in page.find("#expected").get_attribute("title")
    page.keys("a", until=lambda: page.find("#analysis-switch").is_selected() is False)
    page.move("g1", "f1", until=lambda: "evaluation alone" in page.find("#expected").get_attribute("title"))


def test_two_evaluations_analyse_until_nobody_looks_or_the_page_is_hidden(page: Page) -> None:
    analysed(page, MIDDLEGAME, analysis_beside="gen1.net", analysis_lines=1)
    page.until(lambda: page.all("#lines-by li") and page.all("#lines-beside li") and depth(page) > 2)
    assert page.texts("#analysis h3") == ["By gen13", "By net gen1"]
    page.until(lambda: page.all(".arrows .best") and page.all(".arrows .threat[data-move=c6d4]"))
    page.unfold(".analysis-settings summary")
    page.click("#analysis-arrows", until=lambda: not page.all(".arrows .best"))
    page.answer({"GET /api/compiling": {"compiling": {"share": 0.4, "seconds_left": 12}}})
    page.run(HOLD, "/api/slow")
    page.of_module("base/server.js", "void module.get('/api/slow')")
    page.until(lambda: page.text("#analysis-status") == "compiling for this machine (once): 40%, 12 s left")
    page.run("window.settle({})", until=lambda: page.text("#analysis-status").startswith("depth"))
    running = partial(page.of_module, "state/analysis.js", "module.searches[0].search.isRunning")
    page.of_module("state/analysis.js", "module.patience.ms = 1")
    page.until(lambda: page.text("#analysis-status").startswith("resting until somebody looks") and not running())
    page.of_module("state/analysis.js", "module.patience.ms = 1e6")
    page.hover(square("e4"), until=running)
    for is_hidden in (True, False):
        page.run(HIDE, is_hidden, until=lambda is_hidden=is_hidden: running() is not is_hidden)


def test_moves_are_ranked_by_search_and_not_by_their_static_score(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.tab("moves")
    rows = "return [...document.querySelectorAll('tr[data-move]')].map((row) => row.dataset.move)"
    page.until(lambda: "depth" in page.text("#search-state"))
    page.until(lambda: all(cell.text for cell in page.all("[data-searched]")))
    page.until(lambda: page.run(rows).index("e1e6") > 10)  # Rxe6 is best by its static score, and loses a rook
    page.click("#search-moves", until=lambda: page.text("#search-moves") == "Search on")
    scores = page.texts("[data-searched]")
    values = [float(text.replace("\u2212", "-")) for text in scores if "M" not in text]
    assert values == sorted(values, reverse=True) and len(scores) == len(list(chess.Board(MIDDLEGAME).legal_moves))
    page.run("['e1e6', 'h2h3'].forEach((move) => document.querySelector(`tr[data-move=${move}] input`).click())")
    words = page.until(lambda: page.text("#comparison h3"))
    page.click("#move-table thead th.move button")
    assert page.text("#comparison h3") == words, "also where the table is sorted or left"
    page.tab("terms")
    page.tab("moves")
    assert page.text("#comparison h3") == words


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


def test_lines_are_numbered_from_the_position_that_they_are_of(page: Page) -> None:
    analysed(page, MIDDLEGAME)
    page.until(lambda: page.all(LINES))
    page.run(HOLD, "/api/explain")
    page.enter("Ne5")
    board = chess.Board(MIDDLEGAME)
    board.push_san("Ne5")
    replies = {board.san(move) for move in board.legal_moves}
    page.until(lambda: first_moves(page) and set(first_moves(page)) <= replies)
    page.until(lambda: page.text(f"{LINES} .number") == "13...")  # while the report of the position is on its way
    page.run("window.settle()")


SHARE = {"text": "+0.10", "expected_score": 0.5}
DONE = {"type": "done"}
GRADED = {"grade": None, "loss": 0, "mistake": None, "claims": []}


def searched(ply: int) -> dict[str, Any]:
    """What the server says of a move that has been searched."""
    return {"type": "move", "ply": ply, "lines": [None, None], "after": SHARE, **GRADED}


def hear(page: Page, *messages: dict[str, Any]) -> None:
    page.run("window.hear(...arguments)", *messages)


def asked(page: Page, *names: str) -> list[list[Any]]:
    """Some fields of each search that has been begun."""
    begun = page.run("return window.sent.filter((each) => !each.stop)")
    return [[message[name] for name in names] for message in begun]


def test_a_deep_search_of_a_game_stays_deep_and_ends_with_it(page: Page) -> None:
    page.stand_in("/ws/annotate")
    page.enter("1. e4 e5")
    page.tab("games", until=lambda: asked(page, "nodes", "first") == [[2000, 1]])
    hear(page, searched(1), searched(2), DONE)
    page.choose("#annotate-nodes", 200000)
    page.click("#annotate", until=lambda: asked(page, "nodes", "first")[1:] == [[200000, 1]])
    hear(page, searched(1))
    page.enter("Nf3", until=lambda: asked(page, "nodes", "first")[2:] == [[200000, 2]])
    hear(page, searched(2))
    page.tab("terms")
    page.store("module.goTo(1).then(() => module.play('c7c5'))")  # a variation ends it
    page.until(["e4", "c5"])
    page.store("module.undoEdit().then(() => module.goTo(3))", until=["e4", "e5", "Nf3"])
    page.tab("games", until=lambda: len(asked(page)) == 4 and page.run("return window.sent.at(-1).nodes") == 200000)
    page.click("#mode [data-value=free]")
    page.until(lambda: "Free mode has no moves" in page.text("#panel-games") and not page.shown("#course"))
    page.click("#mode [data-value=game]")
    page.until(lambda: page.moves == [] and "Play or paste moves" in page.text("#panel-games"))
    hear(page, searched(3))  # of the game, which nobody sees
    assert page.run("return window.sent.at(-1)") == {"stop": True}
    assert page.of_module("panels/course.js", "module.work.isRunning") is False


def test_a_game_against_merino_is_searched_once_it_has_ended(page: Page) -> None:
    begin(page)
    page.stand_in("/ws/annotate")
    page.click("#show-values")
    page.tab("games")
    page.move("e2", "e4", until=lambda: len(page.moves) == 2 and page.all("#course .series"))
    assert not asked(page)
    page.click("#resign", until=lambda: len(asked(page)) == 1 and page.text("#annotate") == "Stop")
    hear(page, searched(1), searched(2), DONE)
    page.click("#take-back")
    page.move("d2", "d4", until=lambda: len(page.moves) == 2 and page.store("module.isReported()"))
    page.click("#show-values")
    page.tab("terms")
    page.click("#resign")
    page.tab("games", until=lambda: len(asked(page)) == 2)


BOTVINNIK = "6k1/p6p/1p2Pnp1/3p4/q1pP4/1nP3N1/1B3QPP/6K1 w - - 0 28"  # - Capablanca, AVRO 1938, a move later
SAID, POINTED = "#verdict .said", "#panel-terms .pointed"


def press(page: Page, begins: str) -> None:
    """Press the part of a sentence that begins so."""
    page.until(lambda: any(each.startswith(begins) for each in page.texts(SAID)))
    number = next(at for at, each in enumerate(page.texts(SAID)) if each.startswith(begins))
    page.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", SAID, number)


def numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+\.\d+", text)


def test_sentences_of_the_terms_lead_to_the_score_and_to_each_term(page: Page) -> None:
    page.open(at(BOTVINNIK))
    page.tab("moves")
    press(page, "passed (")
    said = next(each for each in page.texts(SAID) if each.startswith("passed ("))
    row = page.until(lambda: page.text("#term-table tr.open[data-term=PawnPassedFreeMax] .net"))
    assert f"{float(row) / 100:.2f}" == numbers_in(said)[0]
    assert page.text(POINTED).startswith("Pawn passed free max") and page.all("#panel-terms .detail .sum")
    press(page, "material ")
    page.until(lambda: page.text(POINTED).startswith("Material"))
    page.open(at(MIDDLEGAME))
    press(page, "White is ahead by 0.60 pawns")
    page.until(lambda: page.text(POINTED) == "+60")
    assert violations(page, "#verdict", "#panel-terms") == []


def test_sentences_of_a_net_lead_to_the_account_and_to_the_pieces(page: Page) -> None:
    page.open(at(BOTVINNIK))
    page.of_module("panels/weights.js", 'module.useWeights("gen12.net")')
    press(page, "Black is ahead by ")
    page.until(lambda: "score into terms" in page.text(POINTED))
    press(page, "Around this position")
    page.until(lambda: re.search(r"The terms explain \d+% of how moves change", page.text(POINTED)))
    press(page, "The net rates ")
    page.until(lambda: page.text(POINTED).startswith("What the terms do not explain"))
    press(page, "Without Black's pawn on g6")
    page.until(lambda: page.all("#rest-table.pointed"))
    said = next(each for each in page.texts(SAID) if each.startswith("Without "))
    first = page.text("#rest-table tr:first-child").strip()
    assert first.startswith(re.findall(r" on ([a-h][1-8])", said)[0])
    assert f"{abs(float(numbers_in(first)[0])) / 100:.2f}" == numbers_in(said)[0]


def test_threats_and_comparisons_unfold_what_proves_them(page: Page) -> None:
    page.open(at(MIDDLEGAME))
    page.click("#threat")
    page.until(lambda: "as if it were the other side's turn" in page.text("#threat + .numbers"))
    page.until(lambda: page.all("#threat + .numbers svg.mini"))
    assert re.search(r"Score .* at its end, for White: searches by gen13", page.text("#threat + .numbers"))
    page.tab("moves")
    for move in ("h2h3", "e1e6"):
        page.until(lambda move=move: page.all(f"tr[data-move={move}] input"))
        page.run(f"document.querySelector('tr[data-move={move}] input').click()")
    page.until(lambda: page.text("#why"))
    page.click("#search-moves")
    page.click("#why", until=lambda: page.all("#why + .numbers svg.mini"))
    assert violations(page, "#analysis", "#verdict", "#comparison") == []
    page.click("#why + .numbers button", until=lambda: page.moves in (["Rxe6", "fxe6"], ["Rxe6", "Bxe6"]))


MATE_IN_VIEW = "4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 0 16"  # by the terms Black is ahead


def test_the_figure_and_the_first_sentence_are_those_of_the_search(page: Page) -> None:
    page.set_out(analysis=True, analysis_lines=1)
    page.open(at(MATE_IN_VIEW))
    page.until(lambda: page.text("#score") == "+M2" and page.text("#expected-score") == "100%")
    assert re.fullmatch(r"White is winning; best is 16\.Qb8\+ \(gen13, depth \d+\)\.", page.text("#searched"))
    assert page.text(".before").startswith("Before any move, by the terms") and page.text("#static-score") == "-0.51"
    page.tab("moves")
    scores = "[data-searched=b3b8]", f"{LINES} .line-score"
    page.until(lambda: all(page.text(place) == "+M2" for place in scores))
    page.hover("tr[data-move=b3b8] button", until=lambda: page.text("#static-score") != "-0.51")
    assert page.text("#score") == "+M2", "a move has one score"


def test_a_judge_that_fails_is_said_and_another_judges_all_there_is(page: Page) -> None:
    page.stand_in("/ws/search")
    page.click("#analysis-switch", until=lambda: page.run("return window.sent.length"))
    page.run("window.hear({ type: 'error', error: \"judge 'Fake' has ended\" })")
    page.until(lambda: page.error == "judge 'Fake' has ended" and page.text("#analysis-status") == "ended")
    assert not page.text("#score") and not page.shown("#score"), "nothing is on its way"
    assert page.values_of("#analysis-by option", "e.textContent")[:2] == ["gen13", "the evaluation shown"]
    page.choose("#analysis-by", "default", until=lambda: page.run("return window.sent.at(-1).judge") == "default")
    assert page.error == ""
    page.stand_in("/ws/drill")
    page.enter('[White "Me"]\n\n1. e4 e5 *', until=lambda: page.all("#course .series"))
    page.tab("player")
    page.click("#drill-start", until=lambda: page.run("return window.sent[0]?.judge") == "default")


def test_a_move_that_is_explored_gets_a_grade_by_the_scores_that_are_shown(page: Page) -> None:
    page.stand_in("/ws/search")
    page.click("#analysis-switch", until=lambda: page.run("return window.sent.length"))
    page.enter(MIDDLEGAME, until=lambda: page.run("return window.sent.at(-1).fen") == MIDDLEGAME)
    page.run(SCORED, "f3e5", 0.9, 400)
    page.enter("Kf1", until=lambda: page.run("return window.sent.at(-1).moves").__eq__(["g1f1"]))
    page.run(SCORED, "d8d4", 0.3, -200)
    page.until(lambda: page.text("#graded").startswith("13. Kf1, blunder: gives away "))
    assert page.text("#graded").endswith(" of a point, best 13. f3e5.")
    page.until(lambda: page.text("#move-list button") == "Kf1??")
    page.tab("games", until=lambda: "from 4 (90%) to -2 (30%)" in page.text("#mistakes"))
    points = "return document.querySelector('#course path.area').getAttribute('d').match(/[ML]/g).length"
    page.until(lambda: page.run(points) >= 4)
    page.click("#undo", until=lambda: page.text("#score") == "4")
    page.run(FIND, "g1h1")  # by a search that begins again
    assert page.text("#score") == "4" and page.texts(f"{LINES} .line-score") == ["4", "+0.10"]


# The numbers of a move wherever the page has them, read as they are drawn.
IN_LIST = """
    const text = (place) => document.querySelector(place)?.textContent.replaceAll("\u2212", "-") ?? "";
    const [, from, to] = /from (\\S+) .* to (\\S+) /.exec(text("#mistakes")) ?? [];
    const lost = (place) => /[\\d.]+%/.exec(text(place))?.[0];
    return [to === text("#score") && to === text("#lines-by .line-score") && lost("#mistakes") === lost("#graded")
        && text("#mistakes .strong").endsWith(text("[aria-current]")), from, to, lost("#graded")];
"""
COMPARED = """
    const [first, second] = [...document.querySelectorAll("#compared-search td")].map((cell) => cell.textContent);
    const searched = (move) => document.querySelector(`[data-searched=${move}]`).textContent;
    return [first === searched("e1e6") && second === searched("h2h3"), first, second];
"""


def same_at_each_moment(page: Page, numbers: str, times: int) -> None:
    """Look at numbers that must be the same, until they have been others so often."""
    seen = set[str]()
    drawn = f"const read = () => {{ {numbers} }};"
    drawn += "return new Promise((settle) => requestAnimationFrame(() => settle(read())))"
    page.until(lambda: page.run(drawn)[0])
    while len(seen) < times:
        is_same, *found = page.run(drawn)
        assert is_same, found
        seen.add(str(found))


def test_a_move_has_one_number_wherever_it_is_shown(page: Page) -> None:
    page.set_out(analysis=True, analysis_lines=1)
    page.enter(f"position fen {MIDDLEGAME} moves e1e6 f7e6")
    page.tab("games", until=lambda: page.all("#mistakes li") and page.text("#annotate") == "Search deeper")
    assert "1 blunder" in page.text("#course-account")
    page.click("#mistakes button", until=lambda: page.text("#graded"))
    same_at_each_moment(page, IN_LIST, 3)
    page.click("#undo")
    page.tab("moves")
    for move in ("e1e6", "h2h3"):
        page.until(lambda move=move: page.text(f"[data-searched={move}]"))
        page.run(f"document.querySelector('tr[data-move={move}] input').click()")
    page.until(lambda: page.text("#comparison h3") == "h3 instead of Rxe6")
    reason = "h3 is better than Rxe6. Rxe6 loses the rook for a pawn"  # of lines that are deep enough
    page.until(lambda: page.text("#why").startswith(reason))
    same_at_each_moment(page, COMPARED, 3)


def test_each_panel_says_what_it_waits_for(page: Page) -> None:
    page.run(HOLD, "/api/compare")
    page.run("document.documentElement.style.setProperty('--compiling', '\": compiling\"')")
    page.tab("compare")
    said = "return getComputedStyle(document.getElementById('compare-found'), '::before').content"
    page.until(lambda: "Waiting for the comparison" in page.run(said) and ": compiling" in page.run(said))
    assert page.text("#compare-second option:checked") == "full", "what is chosen is seen before the answer"


def test_a_decided_game_shows_its_result(page: Page) -> None:
    page.open(at("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"), until=lambda: page.text("#score") == "1-0")
    assert page.text("#expected-score") == "100%" and "White has won by checkmate." in page.text("#verdict")
    assert page.text("#expected b") == "100"
    page.open(at("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"))
    page.until(lambda: page.text("#score") == "\u00bd-\u00bd" and page.text("#expected-score") == "50%")
