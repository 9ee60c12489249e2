"""Make the pictures of the explorer for the README and docs/: `python tools/explorer_pictures.py`.

Needs Chromium and its driver. The pictures go to docs/images.
"""

import tempfile
from pathlib import Path

from tests.browser import ROOT, Page
from tests.load_explorer import Server

TARGET = ROOT / "docs" / "images"
MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
MISTAKE = """[Event "World Championship, game 23"]\n[Date "1892.02.28"]\n[White "Chigorin"]\n[Black "Steinitz"]
[Result "0-1"]

1. e4 e5 2. f4 exf4 3. Nf3 Nf6 4. e5 Nh5 5. Be2 g6 6. d4 Bg7 7. O-O d6 8. Nc3 O-O 9. Ne1 dxe5 10. Bxh5 gxh5 11. dxe5
Qxd1 12. Nxd1 Nc6 13. Bxf4 Bf5 14. Ne3 Be4 15. Nf3 Rfe8 16. Ng5 Bg6 17. Nd5 Bxe5 18. Nxc7 Bxc7 19. Bxc7 Rac8 20. Bg3
Nd4 21. c3 Ne2+ 22. Kf2 h4 23. Bd6 Nd4 24. cxd4 Rc2+ 25. Kg1 Ree2 26. Rae1 Rxg2+ 27. Kh1 Kg7 28. Re8 f5 29. Ne6+ Kf6
30. Re7 Rge2 31. d5 Rcd2 32. Bb4 Rxh2+ 0-1"""


def main() -> None:
    """Make them."""
    with Server() as explorer, tempfile.TemporaryDirectory() as downloads, Page(explorer.link, Path(downloads)) as page:
        _make(page, Path(downloads))


def _make(page: Page, downloads: Path) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    page.resize(1280, 800)
    page.open(f"#fen={MIDDLEGAME}")
    page.until(lambda: page.all("#lines-by li, #lines-by tr") and page.text("#verdict"))
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
