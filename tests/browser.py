"""A headless Chromium that the tests of the page drive, and the explorer that it looks at."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds that a page on a busy machine may take
WIDTH, HEIGHT = 1280, 800
PLAIN = "api/start"  # which runs nothing in the browser, and needs no new process of it as about:blank does


def square(name: str) -> str:
    """The selector of a square of the board."""
    return f"[role=gridcell][data-square={name}]"


def at(fen: str) -> str:
    """The fragment of an address that shows a position."""
    return f"#fen={quote(fen)}"


def installed(*names: str) -> str | None:
    return next((found for found in map(shutil.which, names) if found), None)


# The shell without a window draws and runs the same, in two fifths of the processor time. Debian starts it by a script,
# which alone its driver would end.
SHELLS = ("/usr/lib/chromium/chromium-headless-shell", "chrome-headless-shell")
CHROMIUM = installed(*SHELLS, "chromium", "chromium-browser", "google-chrome")
DRIVER = installed("chromedriver", "chromium.chromedriver")
# Drawn again in this moment, not drawn yet, or under something that goes: a person waits and tries again.
PASSING = (StaleElementReferenceException, ElementNotInteractableException, ElementClickInterceptedException)
# The middle of an element, in pixels of the window, scrolled into it.
MIDDLE = """
    const found = document.querySelector(arguments[0]), [box] = found?.getClientRects() ?? [];
    if (!box) return null;
    found.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    const { x, y, width, height } = found.getClientRects()[0];
    return [Math.round(x + width / 2), Math.round(y + height / 2)];
"""
# The same, and `aimed` says then whether a click hit it.
AIM = f"""
    window.aimed = false;
    const hear = () => (window.aimed = true);
    document.querySelector(arguments[0])?.addEventListener("pointerdown", hear, {{ capture: true, once: true }});
    {MIDDLE}
"""
# Requests that begin with the keys, such as "GET /api/night", are answered in the server's place, and counted.
ANSWERS = """
    const [answers] = arguments, real = window.fetch;
    window.asked = {};
    window.fetch = async (path, how) => {
        const asked = `${how?.method ?? "GET"} ${path}`;
        const key = Object.keys(answers).find((each) => asked.startsWith(each));
        if (!key) return real(path, how);
        window.asked[key] = (window.asked[key] ?? 0) + 1;
        return Response.json(answers[key]);
    };
"""
# Work of the server's of one path: `sent` is what it was asked, `answer` is called then, and `hear` answers the last.
STANDING_IN = """
    const [path] = arguments, Real = window.WebSocket;
    window.sent = [];
    window.WebSocket = class {
        static OPEN = 1;
        readyState = 1;
        constructor(url) {
            if (!url.endsWith(path)) return new Real(url);
            window.hear = (...messages) => {
                const { id } = window.sent.findLast((each) => each.id);
                this.onmessage({ data: JSON.stringify(messages.map((each) => ({ id, ...each }))) });
            };
        }
        send(text) {
            window.sent.push(JSON.parse(text));
            window.answer?.();
        }
    };
"""
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="the page needs Chromium and its driver: apt-get install chromium-headless-shell chromium-driver",
)


Question = Callable[[], Any] | list[str]  # the latter for the moves of the line on the board


class Page:
    """The page in the browser, and what a person does with it; each action waits `until` something is so, if given."""

    def __init__(self, link: str, downloads: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # which Chromium does not have for root
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self._browser, self._awaits_opening = webdriver.Chrome(options=options, service=Service(DRIVER)), False
        self.downloads = downloads
        self._browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
        self.resize(WIDTH, HEIGHT)
        self.go_to(link)

    def go_to(self, link: str) -> None:
        """Look at the server with this link from now on, of which a cookie keeps the token."""
        self.address = link.partition("?")[0]
        self._browser.get(link.replace("?", f"{PLAIN}?"))

    @property
    def driver(self) -> webdriver.Chrome:
        """The browser, in which the page is opened now if that was left until it is asked for something."""
        if self._awaits_opening:
            self.open()
        return self._browser

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.quit()

    def resize(self, width: int, height: int, touch: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        self._browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        self.emulate(features={"prefers-color-scheme": scheme})

    def open_when_needed(self) -> None:
        """Open the page once it is asked for something: a test that opens it elsewhere shall not load it twice."""
        self._awaits_opening = True

    def open(self, fragment: str = "", until: Question | None = None) -> None:
        """Load the page afresh, and wait until it shows something."""
        self._awaits_opening = False
        if self.run("return location.pathname") == "/":
            self.driver.get(f"{self.address}{PLAIN}")  # an address that differs in its fragment alone loads nothing
        self.driver.get(f"{self.address}{fragment}")
        self._wait_until_ready(until)

    def reload(self, until: Question | None = None) -> None:
        """Load the page again where it is, and wait until it shows something."""
        self.driver.refresh()
        self._wait_until_ready(until)

    def _wait_until_ready(self, until: Question | None) -> None:
        self.until(lambda: self.run("return document.documentElement.dataset.ready") == "yes")
        self._then(until)

    def leave(self) -> None:
        """Let nothing go on, in the browser or in the server."""
        self._awaits_opening = False
        self._browser.get(f"{self.address}{PLAIN}")

    def set_out(self, **kept: Any) -> None:
        """Let the page find nothing kept from earlier visits but these settings."""
        if self._browser.current_url != f"{self.address}{PLAIN}":
            self._browser.get(f"{self.address}{PLAIN}")
        script = (
            "localStorage.clear(); sessionStorage.clear(); for (const [name, value] of Object.entries(arguments[0]))"
            " localStorage.setItem(`merino-${name}`, JSON.stringify(value))"
        )
        settings = {"visited": True} | {name.replace("_", "-"): value for name, value in kept.items()}
        self._browser.execute_script(script, settings)

    def _then(self, until: Question | None) -> None:
        if until is not None:
            self.until(until)

    def until(self, is_true: Question) -> Any:
        """What the question answers, once that is something."""
        end, pause = time.monotonic() + PATIENCE, 0.02
        while True:
            try:
                found = is_true() if callable(is_true) else self.moves == is_true
            except PASSING:
                found = None
            if found:
                return found
            assert time.monotonic() < end, f"it never became true; the page says: {self.error or 'nothing'}"
            time.sleep(pause)
            pause = min(1.3 * pause, 0.2)  # asking takes the browser time that it may need for the answer

    def run(self, script: str, *arguments: Any, until: Question | None = None) -> Any:
        found = self.driver.execute_script(script, *arguments)
        self._then(until)
        return found

    def stand_in(self, path: str) -> None:
        """Do the server's work of this path from now on: it does nothing but what a test lets the page hear."""
        self.until(lambda: self.pieces)
        self.run(STANDING_IN, path)

    def answer(self, answers: dict[str, Any], until: Question | None = None) -> None:
        """Answer requests in the server's place from now on: those that begin with the keys."""
        self.run(ANSWERS, answers, until=until)

    def of_module(self, name: str, expression: str) -> Any:
        """The value of an expression of `module`, a module of the page by its path."""
        address = "document.querySelector('script[type=module]').src.replace('main.js', arguments[0])"
        return self.run(f"return import({address}).then((module) => {expression})", name)

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """The text of an element, with plain minus signs; empty where there is none."""
        found = self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        return str(found).replace("\u2212", "-")

    def click(self, selector: str, until: Question | None = None) -> None:
        """Click at an element, again where the page moved and the click missed it."""
        self.until(lambda: self._hit(selector))
        self._then(until)

    def _hit(self, selector: str) -> bool:
        aim = self.run(AIM, selector)
        if aim:
            self._point(lambda pointer: pointer.move_to_location(*aim).pointer_down().pointer_up())
        return bool(aim and self.run("return window.aimed"))

    def unfold(self, summary: str, until: Question | None = None) -> None:
        """Open details by a click at their summary, where they are not open."""
        if not self.until(lambda: self.all(summary))[0].find_element(By.XPATH, "..").get_property("open"):
            self.click(summary)
        self._then(until)

    def hover(self, selector: str, until: Question = lambda: True, click: bool = False) -> None:
        """Point at the middle of an element until something is so, and click there if asked.

        The element may be drawn again, or moved by what is drawn above it, while the pointer is on its way and after.
        """
        self.until(lambda: self._pointed(selector) and until())
        if click:
            ActionChains(self.driver).click().perform()

    def _pointed(self, selector: str) -> bool:
        self._point(lambda pointer: pointer.move_to_location(*self.middle(selector)))
        return bool(self.run("return document.querySelector(arguments[0])?.matches(':hover')", selector))

    def press(self, selector: str, key: str, until: Question | None = None) -> None:
        """Send a key to an element."""
        self.until(lambda: self.find(selector).send_keys(key) or True)
        self._then(until)

    def tab(self, name: str, until: Question | None = None) -> None:
        """Open a tab, by another click where the page moved during the first."""
        self.until(lambda: self._hit(f"#tab-{name}") and self.all(f"#tab-{name}[aria-selected=true]"))
        self._then(until)

    def middle(self, selector: str) -> tuple[int, int]:
        """The middle of an element, in pixels of the window, scrolled into it."""
        x, y = self.until(lambda: self.run(MIDDLE, selector))
        return x, y

    def drag(self, start: str, end: str, drop: bool = True, until: Question | None = None) -> None:
        """Drag from one element to another; the pointer goes by pixels, as elements may be drawn again on its way."""
        begin, to = self.until(lambda: self._at_rest(start, end))

        self._point(lambda pointer: pointer.move_to_location(*begin).pointer_down().move_to_location(*to))
        if drop:
            self._point(lambda pointer: pointer.pointer_up())
        self._then(until)

    def _point(self, act: Callable[[Any], Any]) -> None:
        actions = ActionBuilder(self.driver, duration=20)
        act(actions.pointer_action)
        actions.perform()

    def _at_rest(self, *selectors: str) -> list[tuple[int, int]] | None:
        """Where elements are, once they have stopped moving."""
        first, second = ([self.middle(selector) for selector in selectors] for _ in range(2))
        return first if first == second else None

    def drop(self, end: str) -> None:
        """Drop what is dragged on an element."""
        self._point(lambda pointer: pointer.move_to_location(*self.middle(end)).pointer_up())

    @contextmanager
    def pressed(self, selector: str) -> Iterator[None]:
        """Hold the mouse down on an element for a while."""
        ActionChains(self.driver).click_and_hold(self.find(selector)).perform()
        yield
        ActionChains(self.driver).release().perform()

    def move(self, start: str, end: str, until: Question | None = None) -> None:
        self.drag(square(start), square(end), until=until)

    def context_click(self, selector: str, until: Question | None = None) -> None:
        self._point(lambda pointer: pointer.move_to_location(*self.middle(selector)).context_click())
        self._then(until)

    def keys(self, *keys: str, until: Question | None = None) -> None:
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
        self._then(until)

    def choose(self, field: str, value: str | int, until: Question | None = None) -> None:
        """Choose from a list, or type into a field, as its user does; what is refused is not there after it."""
        script = (
            "const found = document.querySelector(arguments[0]); if (!found) return false;"
            "found.value = arguments[1]; found.dispatchEvent(new Event('input', { bubbles: true }));"
            "found.dispatchEvent(new Event('change', { bubbles: true }));"
            "return found.tagName !== 'SELECT' || found.value === String(arguments[1])"
        )
        self.until(lambda: self.run(script, field, value))
        self._then(until)

    def store(self, expression: str, until: Question | None = None) -> Any:
        """The value of an expression of `module`, which holds what the page knows."""
        found = self.of_module("state/store.js", expression)
        self._then(until)
        return found

    def until_reported(self) -> None:
        """Wait for the report of the position on the board."""
        self.until(lambda: self.store("module.isReported()"))

    def until_text(self, selector: str, part: str) -> None:
        """Wait until an element has this in its text."""
        self.until(lambda: part in self.text(selector))

    def texts(self, selector: str) -> list[str]:
        """The texts of elements, with plain minus signs."""
        return [str(text).replace("\u2212", "-") for text in self.values_of(selector, "e.textContent")]

    def shown(self, selector: str) -> bool:
        """Whether an element is there to be seen."""
        return any(each.is_displayed() for each in self.all(selector))

    def values_of(self, selector: str, expression: str) -> list[Any]:
        """The values of an expression for each of some elements, `e`."""
        return list(self.run(f"return [...document.querySelectorAll(arguments[0])].map((e) => {expression})", selector))

    def emulate(self, **media: Any) -> None:
        """Let the browser draw for another medium or other preferences; without arguments as before."""
        features = [{"name": name, "value": value} for name, value in media.pop("features", {}).items()]
        self.command("Emulation.setEmulatedMedia", {"media": "", "features": features} | media)

    def command(self, name: str, arguments: dict[str, Any]) -> Any:
        """Let the browser carry out a command of its tools for developers."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def enter(self, text: str, until: Question | None = None) -> None:
        """Paste into the one box and press Enter."""
        self.run("document.getElementById('entry-text').value = arguments[0]", text)
        self.find("#entry-text").send_keys(Keys.ENTER)
        self._then(until)

    def choose_file(self, opener: str, path: Path, until: Question | None = None) -> None:
        """Press a button that asks for a file, and answer it."""
        self.run(
            "window.click ??= HTMLInputElement.prototype.click; HTMLInputElement.prototype.click = function () {"
            " if (this.type !== 'file') return window.click.call(this); this.id = 'picked'; this.hidden = true;"
            " document.body.append(this); }"
        )
        self.click(opener)
        self.find("#picked").send_keys(str(path))
        self.run("document.getElementById('picked').remove()")
        self._then(until)

    def saved(self, name: str) -> bytes:
        """The bytes of a file that the page saved, taken away."""
        path = self.downloads / name
        self.until(lambda: path.exists() and path.stat().st_size)  # it is there before its content
        content = path.read_bytes()
        path.unlink()
        return content

    @property
    def pieces(self) -> dict[str, str]:
        """The pieces seen on the board: "wK" by square."""
        found = self.values_of(".pieces image", "[e.dataset.at, e.getAttribute('href')]")
        return {square: address[8:10] for square, address in found}

    @property
    def values(self) -> dict[str, str]:
        """The figures seen on the board, by square."""
        found = self.values_of(".values text[data-square]", "[e.dataset.square, e.textContent]")
        return {square: text.replace("\u2212", "-") for square, text in found}

    @property
    def moves(self) -> list[str]:
        """The moves of the line on the board, as listed, without their signs."""
        return [text.rstrip("!?") for text in self.texts("#move-list [data-ply]")]

    @property
    def error(self) -> str:
        """The error shown, at the top or under the box for texts; empty if none is."""
        return str(
            self.run(
                "const shown = ['error', 'entry-error'].map((id) => document.getElementById(id))"
                ".find((place) => !place.hidden);"
                "return shown ? (shown.firstElementChild ?? shown).textContent : ''"
            )
        )

    def complaints(self) -> list[str]:
        """What the browser's console complains of, but for requests that the server refused with a reason."""
        entries = self._browser.get_log("browser")
        excused = ("status of 400", "favicon.ico")  # a plain file has no icon of its own
        return [entry["message"] for entry in entries if not any(each in entry["message"] for each in excused)]
