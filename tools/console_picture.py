"""Make the picture of the console for the README: `python tools/console_picture.py`. Needs Chromium and its driver.

A real game is begun at the prompt; what a terminal with colours shows is set as a page and photographed.
"""

import html
import io
import os
import re
import tempfile
from pathlib import Path

from merino.app.console.loop import dispatch
from merino.app.console.session import Session
from merino.app.console.terminal import Terminal
from merino.core.common.about import NAME, __version__
from merino.engine.uci.runtime import Runtime
from tests.browser import ROOT, Page

TARGET = ROOT / "docs" / "images" / "console.png"
COLUMNS = 84
TYPED = ("sd 8", "e4", "Bb6", "explain Nf3")  # all by depth, so that the picture is always the same
END = "\n\nSearched"  # where the picture ends: what the search adds to an explanation is left out
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
    """What the console shows while the lines are typed, with colours as the only escape sequences."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as home:  # without anybody's own weights
        os.environ |= {"COLUMNS": str(COLUMNS), "XDG_DATA_HOME": home}
        session = Session(Runtime(hash_mb=64), Terminal(colour=True, unicode=True), out)
    session.is_live = True
    session.say(f"{NAME} {__version__}, a chess engine whose evaluation you can read.")
    session.show_board()
    for line in TYPED:
        out.write(f"{session.prompt}{line}\n")
        dispatch(session, line)
    return out.getvalue().replace(f"{ROOT}{os.sep}", "")


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
