"""Make the pictures of the explorer for the README and docs/: `python tools/explorer_pictures.py`.

Needs Chromium and its driver. The pictures go to docs/images.
"""

import tempfile
from pathlib import Path

from tests.browser import ROOT, Page
from tests.load_explorer import Server

TARGET = ROOT / "docs" / "images"
MIDDLEGAME = "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13"
MISTAKE = """[Event "Man against machine, game 2"]\n[Date "2006.11.27"]\n[White "Deep Fritz"]\n[Black "Kramnik"]
[Result "1-0"]

1. d4 d5 2. c4 dxc4 3. e4 b5 4. a4 c6 5. Nc3 b4 6. Na2 Nf6 7. e5 Nd5 8. Bxc4 e6 9. Nf3 a5 10. Bg5 Qb6 11. Nc1 Ba6
12. Qe2 h6 13. Be3 Bxc4 14. Qxc4 Nd7 15. Nb3 Be7 16. Rc1 O-O 17. O-O Rfc8 18. Qe2 c5 19. Nfd2 Qc6 20. Qh5 Qxa4
21. Nxc5 Nxc5 22. dxc5 Nxe3 23. fxe3 Bxc5 24. Qxf7+ Kh8 25. Qf3 Rf8 26. Qe4 Qd7 27. Nb3 Bb6 28. Rfd1 Qf7 29. Rf1 Qa7
30. Rxf8+ Rxf8 31. Nd4 a4 32. Nxe6 Bxe3+ 33. Kh1 Bxc1 34. Nxf8 Qe3 35. Qh7# 1-0"""


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
    page.tab("moves")
    page.until(lambda: "depth 10" in page.text("#search-state"))
    page.click("#search-moves")
    page.hover("tr[data-move] ~ tr[data-move] button")
    page.until(lambda: page.all(".arrows line"))
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
    page.run("const chosen = document.querySelector('#player-name'); chosen.value = 'Kramnik';")
    page.click("#drill-start")
    page.until(lambda: page.text("#drill-question"))
    page.move("e3", "c1")
    page.until(lambda: page.text("#drill-words"))
    _shoot(page, TARGET / "explorer-drill-refused.png")
    page.click("#drill-again")
    page.until(lambda: page.moves == [])
    page.move("f8", "e8")
    page.until(lambda: "is better" in page.text("#drill-words"))
    _shoot(page, TARGET / "explorer-drill.png")


def _shoot(page: Page, path: Path) -> None:
    page.driver.execute_async_script("setTimeout(arguments[0], 400)")  # until what moves has come to rest
    path.write_bytes(page.driver.get_screenshot_as_png())
    print(path)


if __name__ == "__main__":
    main()
