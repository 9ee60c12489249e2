"""Make the pictures of the explorer for the README and docs/: `python tools/explorer_pictures.py [FOLDER]`.

Needs Chromium and its driver. The pictures go to docs/images, or to FOLDER, one of each part of the page where that is
given: at 1280 and 360 pixels, light and dark.
"""

import sys
import tempfile
from pathlib import Path

from tests.browser import ROOT, Page
from tests.load_explorer import Server

TARGET = ROOT / "docs" / "images"
MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
GAME = """[White "Anna"]\n[Black "Bert"]\n[Result "0-1"]

1. e4 e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 5. Nxf7 Qxg2 6. Rf1 Qxe4+ 7. Be2 Nf3# 0-1"""
MISTAKE = """[Event "World Championship, game 23"]\n[Date "1892.02.28"]\n[White "Chigorin"]\n[Black "Steinitz"]
[Result "0-1"]

1. e4 e5 2. f4 exf4 3. Nf3 Nf6 4. e5 Nh5 5. Be2 g6 6. d4 Bg7 7. O-O d6 8. Nc3 O-O 9. Ne1 dxe5 10. Bxh5 gxh5 11. dxe5
Qxd1 12. Nxd1 Nc6 13. Bxf4 Bf5 14. Ne3 Be4 15. Nf3 Rfe8 16. Ng5 Bg6 17. Nd5 Bxe5 18. Nxc7 Bxc7 19. Bxc7 Rac8 20. Bg3
Nd4 21. c3 Ne2+ 22. Kf2 h4 23. Bd6 Nd4 24. cxd4 Rc2+ 25. Kg1 Ree2 26. Rae1 Rxg2+ 27. Kh1 Kg7 28. Re8 f5 29. Ne6+ Kf6
30. Re7 Rge2 31. d5 Rcd2 32. Bb4 Rxh2+ 0-1"""
PARTS = ("terms", "pieces", "moves", "compare", "weights", "games", "free", "learning")
MAX_HEIGHT = 3000


def main() -> None:
    """Make them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with (
        Server() as explorer,
        tempfile.TemporaryDirectory() as downloads,
        Page(explorer.address, Path(downloads)) as page,
    ):
        if folder is None:
            _for_readers(page, Path(downloads))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _all_parts(page, folder)


def _for_readers(page: Page, downloads: Path) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    page.resize(1280, 800)
    page.open(f"#fen={MIDDLEGAME}")
    page.until(lambda: page.all("#term-table tbody tr"))
    page.until(lambda: page.text("#lines-by .line-reasons"))
    _shoot(page, TARGET / "explorer.png")
    page.set_out(analysis=False)  # so that there is room for the moves
    page.open(f"#fen={MIDDLEGAME}")
    _moves(page)
    _shoot(page, TARGET / "explorer-moves.png")
    _drill(page, downloads)


def _drill(page: Page, downloads: Path) -> None:
    """An exercise: a move that is refused, and the solution."""
    games = downloads / "games.pgn"
    games.write_text(MISTAKE, encoding="utf-8")
    page.open("")
    page.tab("player")
    page.choose_file("#player-open", games)
    page.until(lambda: page.text("#game-count") == "1 game")
    page.tab("player")
    page.run("const chosen = document.querySelector('#player-name'); chosen.value = 'Chigorin';")
    page.click("#drill-start")
    page.until(lambda: page.text("#drill-question"))
    page.move("d6", "b4")
    page.until(lambda: page.text("#drill-words"))
    _shoot(page, TARGET / "explorer-drill-refused.png")
    page.click("#drill-again")
    page.until(lambda: page.moves == [])
    page.move("d6", "e5")
    page.until(lambda: "was right" in page.text("#drill-words"))
    _shoot(page, TARGET / "explorer-drill.png")


def _all_parts(page: Page, folder: Path) -> None:
    for width, height, scheme in ((1280, 800, "light"), (1280, 800, "dark"), (360, 740, "light"), (360, 740, "dark")):
        page.prefer(scheme)
        page.resize(width, height, touch=width < 600)
        for part in PARTS:
            page.open(f"#fen={MIDDLEGAME}")
            _show(page, part)
            if width < 600 or part in ("compare", "learning"):
                tall = int(page.run("return document.documentElement.scrollHeight"))
                page.resize(width, min(tall, MAX_HEIGHT), touch=width < 600)
            _shoot(page, folder / f"{part}-{width}-{scheme}.png")
            page.resize(width, height, touch=width < 600)


def _show(page: Page, part: str) -> None:
    if part == "moves":
        _moves(page)
    elif part == "games":
        page.enter(GAME)
        page.until(lambda: page.all("#course .mark"))
    elif part == "free":
        page.click("#mode [data-value=free]")
        page.until(lambda: page.find("#free-controls").is_displayed())
    elif part == "learning":
        page.tab("learning")
        page.choose_file("#learn-open", ROOT / "games" / "selfplay.pgn")
        page.until(lambda: page.text("#learn-files .file-name") == "selfplay.pgn")
        page.click("#points-start")
        page.until(lambda: page.all("#points"))
        page.click("#learn-start")
        page.until(lambda: page.all("#learned"))
        page.click("#match-start")
        page.until(lambda: len(page.all("#match-games li")) > 9)
        page.click("#match-stop")
        page.until(lambda: page.text("#match-verdict"))
    else:
        page.tab(part)
        page.until(lambda: page.shown(f"#panel-{part}"))
        if part == "compare":
            page.until(lambda: page.all("#compare-moves"))


def _moves(page: Page) -> None:
    page.tab("moves")
    page.until(lambda: all(cell.text for cell in page.all("[data-searched]")))
    page.click("#search-moves")
    page.hover("tr[data-move] ~ tr[data-move] button")
    page.until(lambda: page.all(".arrows line"))


def _shoot(page: Page, path: Path) -> None:
    page.driver.execute_async_script("setTimeout(arguments[0], 400)")  # until what moves has come to rest
    path.write_bytes(page.driver.get_screenshot_as_png())
    print(path)


if __name__ == "__main__":
    main()
