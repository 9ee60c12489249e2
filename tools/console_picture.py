"""Make the picture of the console for the README: `python tools/console_picture.py`. Needs Chromium and its driver.

A real game is begun at the prompt, on a terminal of its own; what it shows is set as a page and photographed.
"""

import html
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.browser import ROOT, Page

TARGET = ROOT / "docs" / "images" / "console.png"
COLUMNS, ROWS = 84, 60
TYPED = ("sd 8", "e4", "Bb6", "explain Nf3", "quit")  # all by depth, so that the picture is always the same
END = "\n\nSearched"  # where the picture ends: what the search adds to an explanation is left out
PROMPT = re.compile(r"(White|Black)\(\d+\): $")
PATIENCE = 120.0
ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
CUBE = (0, 95, 135, 175, 215, 255)  # the levels of red, green and blue in the 256 colours of terminals
STYLE = """
body { margin: 0; background: #1d2127; color: #d8dee6; font: 15px/1.32 'DejaVu Sans Mono', monospace; }
pre { display: inline-block; margin: 0; padding: 18px 24px; font: inherit; }
b { color: #ffb454; font-weight: normal; }
i { font-style: normal; display: inline-block; height: 1.32em; vertical-align: top; }
"""


def main() -> None:
    """Make it."""
    shown = re.sub(r"(?m)^((?:White|Black)\(\d+\): )(.*)$", r"\1<b>\2</b>", _as_html(_session().partition(END)[0]))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "console.html"
        page_text = f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{shown}</pre>"
        source.write_text(page_text, encoding="utf-8")
        with Page(source.as_uri(), Path(folder)) as page:
            page.driver.get(source.as_uri())
            size = page.run("const pre = document.querySelector('pre'); return [pre.offsetWidth, pre.offsetHeight]")
            page.resize(*size)
            TARGET.write_bytes(page.driver.get_screenshot_as_png())
    print(TARGET)


def _session() -> str:
    """What a terminal shows after the lines have been typed."""
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as home:
        environment |= {"XDG_DATA_HOME": home}  # nobody's own weights
        command = [sys.executable, "-m", "merino", "console"]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=slave, stdout=slave, stderr=slave, close_fds=True
        )
        os.close(slave)
        heard = ""
        for line in TYPED:
            heard = _until_prompt(master, heard)
            os.write(master, f"{line}\n".encode())
        heard = _until_end(master, heard)
        process.wait(timeout=PATIENCE)
    shown = _as_shown(heard).replace(f"{ROOT}{os.sep}", "").splitlines(keepends=True)
    return "".join(line for line in shown if not line.startswith("Loading the engine"))  # said on a busy machine


def _until_prompt(master: int, heard: str) -> str:
    end = time.monotonic() + PATIENCE
    while not PROMPT.search(ESCAPE.sub("", _as_shown(heard))) or select.select([master], [], [], 0.5)[0]:
        if time.monotonic() > end:
            raise TimeoutError(f"the console shows no prompt: {heard[-200:]!r}")
        if select.select([master], [], [], 0.5)[0]:
            heard += os.read(master, 65536).decode("utf-8", "replace")
    return heard


def _until_end(master: int, heard: str) -> str:
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # how a terminal of Linux ends
            return heard
        if not more:
            return heard
        heard += more.decode("utf-8", "replace")


def _as_shown(text: str) -> str:
    """Text as a terminal shows it: each line as it was last rewritten, with colours as the only escape sequences."""
    lines = ESCAPE.sub(lambda found: found[0] if found[2] == "m" else "", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition("\r")[2].rstrip(" ") if "\r" in line else line for line in lines)


def _as_html(text: str) -> str:
    """The same with colours as spans; what is bold stays plain."""

    def span(found: re.Match[str]) -> str:
        codes = found[1].split(";")
        if len(codes) != 6:  # of the colours of a piece and its square
            return "</i>" if codes == ["0"] else "<i>"
        return f'<i style="color:{_rgb(int(codes[2]))};background:{_rgb(int(codes[5]))}">'

    return ESCAPE.sub(span, html.escape(text, quote=False))


def _rgb(number: int) -> str:
    """A colour of the cube in the middle of the 256, as CSS writes it."""
    red, rest = divmod(number - 16, 36)
    return "rgb({},{},{})".format(*(CUBE[level] for level in (red, *divmod(rest, 6))))


if __name__ == "__main__":
    main()
