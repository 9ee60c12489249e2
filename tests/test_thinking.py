"""A search watched without a terminal: what the display is shown, and how the search is cut short."""

import _thread
import threading

import pytest

from merino.core.board.game import Position
from merino.engine.search.limits import Limits, Line, SearchResult
from merino.engine.search.searcher import think
from tests.talk import FakeSearcher


class Record:
    """A display that keeps what it is shown."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.finished = 0

    def show(self, line: Line) -> None:
        self.lines.append(line)

    def finish(self) -> None:
        self.finished += 1


def never() -> bool:
    return False


def test_the_display_is_shown_each_line_and_the_end() -> None:
    searcher, display = FakeSearcher(), Record()
    searcher.second_line = True
    result, was_cut_short = think(searcher, Position(), Limits(), display, never)
    assert [line.multipv for line in display.lines] == [1, 2] and display.finished == 1
    assert not was_cut_short and result.best == display.lines[0].pv[0]


def test_somebody_in_a_hurry_ends_the_search() -> None:
    searcher, display = FakeSearcher(), Record()
    searcher.endless = True
    result, was_cut_short = think(searcher, Position(), Limits(infinite=True), display, lambda: bool(display.lines))
    assert was_cut_short and isinstance(result, SearchResult) and display.finished == 1


def test_ctrl_c_ends_the_search_and_raises_nothing() -> None:
    searcher, display = FakeSearcher(), Record()
    searcher.endless = True
    searcher.on_start = _thread.interrupt_main
    _, was_cut_short = think(searcher, Position(), Limits(infinite=True), display, never)
    assert was_cut_short


def test_after_the_search_ctrl_c_interrupts_again() -> None:
    think(FakeSearcher(), Position(), Limits(), Record(), never)
    with pytest.raises(KeyboardInterrupt):
        _thread.interrupt_main()
        threading.Event().wait(5)


def test_a_search_can_be_watched_from_another_thread() -> None:
    heard: list[bool] = []
    watcher = threading.Thread(
        target=lambda: heard.append(think(FakeSearcher(), Position(), Limits(), Record(), never)[1])
    )
    watcher.start()
    watcher.join(20)
    assert heard == [False]
