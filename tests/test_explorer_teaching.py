"""New weights on the explorer's page after the learning: what they play against, and what is told of them."""

from __future__ import annotations

import json
from typing import Any

from merino.eval.families import DEFAULT_FILE
from tests.browser import Page, needs_browser

pytestmark = needs_browser

# The server has played the match given, if one is, ends each at once, and puts no weights in use.
SERVER = """
    const [match] = arguments, real = window.fetch;
    const done = { type: "done", standing: null, verdict: "", interrupted: true };
    window.answer = () => setTimeout(() => window.hear(done));
    window.confirm = () => true;
    window.fetch = async (path, options) => {
        if (path === "/api/weights/use") return Response.json({ lines: ["written"] });
        if (path === "/api/match" && match) return Response.json({ match, usual: { nodes: 1000, most: 10 } });
        return real(path, options);
    };
"""


def last_match(page: Page) -> dict[str, Any]:
    """The players of a match that is begun now."""
    count = page.run("return window.sent.length")
    page.click("#match-start")
    page.until(lambda: page.run("return window.sent.length") > count and page.all("#match-start"))
    found: dict[str, Any] = page.run("return window.sent.at(-1)")
    return found


def values(page: Page, weights: str) -> dict[str, float]:
    address = f"/api/weights?weights={weights}"
    found = page.run("return fetch(arguments[0]).then((answer) => answer.json())", address)
    return dict(found["values"])


def test_weights_put_in_use_play_those_of_before_also_after_a_reload(page: Page) -> None:
    text = DEFAULT_FILE.read_text()
    taught = {"name": "taught", "text": text, "fit": None, "match": None, "changed": []}
    page.enter(page.of_module("panels/shared_result.js", f"module.asLink({json.dumps(taught)})"))
    page.until(lambda: page.all("#taught-in-use"))
    page.stand_in("/ws/match")
    page.run(SERVER, None)
    assert last_match(page)["old"]["weights"] == "in-use"
    page.click("#taught-in-use")
    page.until(lambda: page.text("#taught-done") == "written")
    players = last_match(page)
    old = players["old"]["weights"]
    assert old.startswith("own-") and values(page, old) == values(page, "in-use")
    assert "formerly in use" in page.text("#weights-chosen")
    page.reload()
    page.stand_in("/ws/match")
    page.run(SERVER, {"new": players["new"] | {"name": "taught"}, "old": {"weights": "in-use", "changes": {}}})
    page.tab("learning")
    page.until(lambda: page.all("#match-start") and page.all("#taught-drop"))
    assert last_match(page)["old"]["weights"] == old


def test_of_weights_whose_changes_are_not_known_the_page_tells_none(page: Page) -> None:
    page.stand_in("/ws/match")
    page.run(SERVER, {"new": {"weights": "full", "name": "full"}, "old": {"weights": "in-use", "changes": {}}})
    page.tab("learning")
    page.until(lambda: page.all("#taught-drop"))
    assert "No weight moved" not in page.text("#panel-learning")
