"""The explorer: the report of a position at the server, and how long a person waits for the page."""

import importlib.util
import json
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.clock import line

ROUNDS = 30
ROUNDS_IN_BROWSER = 10
EMPTY_TAB = "about:blank"  # for whose next page the browser begins another process
NEEDED = ("starlette", "uvicorn", "websockets", "selenium")
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 0 9"

# From the drop of a piece on a square to the frame in which its values are painted.
DROP = """
const [from, to, done] = arguments, board = document.querySelector(".board-svg");
const at = (square) => {
  const box = document.querySelector(`[role=gridcell][data-square=${square}]`).getBoundingClientRect();
  return { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, pointerId: 1, button: 0 };
};
const score = document.getElementById("score"), before = score.textContent;
let began = 0;
board.setPointerCapture = () => {};
board.dispatchEvent(new PointerEvent("pointerdown", at(from)));
board.dispatchEvent(new PointerEvent("pointermove", at(to)));
const watch = new MutationObserver(() => {
  const isThere = document.querySelector(`.pieces image[data-at=${to}]`);
  if (!isThere || document.getElementById("score").textContent === before) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
});
watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
began = performance.now();
board.dispatchEvent(new PointerEvent("pointerup", at(to)));
"""

# From a move to the frame in which the first lines of the search after it are seen.
LINES = """
const [move, done] = arguments, main = document.querySelector("script[type=module]").src;
const module = (name) => import(main.replace("main.js", name));
Promise.all([module("state/store.js"), module("state/analysis.js")]).then(([{ play }, { searches }]) => {
  const [{ search }] = searches, before = search.key;
  const check = () => {
    const first = document.querySelector("#lines-by:not([hidden]) li button");
    const isThere = search.key !== before && search.found.length && first?.textContent === search.found[0].names[0];
    if (isThere) done(performance.now() - began);
    else requestAnimationFrame(check);
  };
  const began = performance.now();
  play(move);
  check();
});
"""

# From the press on Moves to the frame in which moves are ranked by a search.
RANKS = """
const [done] = arguments, isScore = (row) => /\\d\\.\\d\\d/.test(row.children[2]?.textContent);
const began = performance.now();
document.getElementById("tab-moves").click();
const check = () => {
  const rows = [...document.querySelectorAll("#move-table tbody tr")];
  if (rows.length && rows.every(isScore)) done(performance.now() - began);
  else requestAnimationFrame(check);
};
check();
"""


def report() -> None:
    """Print the waits by the wall clock, as medians, the best and the worst."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"explorer: not measured, {', '.join(missing)} not installed (the extra 'dev')")
        return
    from tests.browser import CHROMIUM, DRIVER, Explorer, Page  # noqa: PLC0415 (they need what may be missing)

    print(f"the explorer; wall clock, medians of {ROUNDS} at the server, of {ROUNDS_IN_BROWSER} in the browser")
    with Explorer() as explorer:
        waits = [_explain(explorer.address, number) for number in range(ROUNDS + 1)][1:]
        _tell("report with all moves, at the server", waits)
        if not (CHROMIUM and DRIVER):
            print("  (no Chromium on this machine to look at the page with)")
            return
        with tempfile.TemporaryDirectory() as folder, Page(explorer.address, Path(folder)) as page:
            page.open()
            _tell("first paint, warm cache, in an empty tab", _times(_first_paint, page, False))
            _tell("first paint, warm cache, on reload", _times(_first_paint, page, True))
            _tell("drop to new values on the screen", _times(_drop, page))
            _tell("move to the first lines of its search", _times(_first_lines, page))
            _tell("press on Moves to all of them ranked by search", _times(_first_ranks, page))


def _times(wait: Callable[..., float], *arguments: Any) -> list[float]:
    return [wait(*arguments) for _ in range(ROUNDS_IN_BROWSER)]


def _tell(what: str, milliseconds: list[float]) -> None:
    line(what, median(milliseconds), "ms", f"{min(milliseconds):.1f} to {max(milliseconds):.1f}")


def _explain(address: str, number: int) -> float:
    """Milliseconds of a report of a middlegame; `number` changes a weight, so that nothing is known before."""
    question = {"fen": MIDDLEGAME, "weights": "default", "changes": {"VAL_P": 100 + number / 10}}
    request = urllib.request.Request(f"{address}api/explain", json.dumps(question).encode())
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        answer.read()
    return 1000 * (time.perf_counter() - began)


def _first_paint(page: Any, is_reload: bool) -> float:
    page.set_out()
    page.driver.get(EMPTY_TAB)
    page.open()
    if is_reload:
        page.reload()
    return float(page.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime"))


def _first_lines(page: Any) -> float:
    page.set_out()
    page.open()
    page.until(lambda: page.all("#lines-by li button"))
    return float(page.driver.execute_async_script(LINES, "e2e4"))


def _first_ranks(page: Any) -> float:
    page.set_out()
    page.open()
    page.until(lambda: page.all("#lines-by li button"))
    return float(page.driver.execute_async_script(RANKS))


def _drop(page: Any) -> float:
    page.set_out()  # else the page shows again what the last drop has left
    page.open()
    return float(page.driver.execute_async_script(DROP, "e2", "e4"))
