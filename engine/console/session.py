"""A game at the console: what the commands act upon."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from engine.command import CommandError
from engine.console.board_view import draw
from engine.console.pace import Pace, by_time
from engine.console.terminal import Terminal
from engine.console.thinking import ThinkingLine, think
from engine.fen import START_FEN
from engine.game import Outcome, Position, Termination
from engine.move import Move
from engine.san import looks_like_move, read_move, san
from engine.search.limits import Limits, Result

if TYPE_CHECKING:
    from engine.runtime import Runtime

DEFAULT_SECONDS = 2.0
_SIDES = ("White", "Black")


def outcome_text(outcome: Outcome) -> str:
    """How a game ended, for people: "1-0, White wins by checkmate"."""
    if outcome.winner is not None:
        return f"{outcome.result}, {_SIDES[outcome.winner]} wins by {outcome.termination.value}"
    article = "the " if outcome.termination is Termination.FIFTY_MOVES else ""
    return f"{outcome.result}, a draw by {article}{outcome.termination.value}"


class Session:
    """The game, the engine that answers, and how it is shown.

    `is_live` says that a person looks on: then the board is shown after each move.
    """

    def __init__(self, runtime: Runtime, terminal: Terminal, out: TextIO, is_live: bool = False) -> None:
        self.runtime = runtime
        self.terminal = terminal
        self.out = out
        self.is_live = is_live
        self.position = Position()
        self.undone: list[Move] = []  # moves taken back, the next to be played again last
        self.pace: Pace = by_time(DEFAULT_SECONDS)
        self.is_forced = False  # the person moves for both sides
        self.is_flipped = False
        self.goes_on_in_uci = False

    @property
    def prompt(self) -> str:
        """Whose move it is and its number: "White(1): "."""
        return f"{_SIDES[self.position.turn]}({self.position.fullmove_number}): "

    def say(self, text: str) -> None:
        """Print a line or several."""
        self.out.write(f"{text}\n")
        self.out.flush()

    def show_board(self) -> None:
        """Print the board."""
        self.say(draw(self.position, self.terminal, self.is_flipped))

    def new_game(self, fen: str = START_FEN, chess960: bool = False) -> None:
        """Begin anew from a FEN; raises FenError and then keeps the game."""
        self.position = Position(fen, chess960)
        self.undone.clear()
        self.pace.restart()
        self.runtime.searcher.clear()
        self._show_if_live()

    def play_text(self, text: str) -> None:
        """Play the move a person typed, and answer it; raises MoveRejected, or CommandError if the game is over."""
        if looks_like_move(text):
            self.require_running()
        self._push(read_move(self.position, text))
        if self.is_forced or self.position.outcome():
            self._show_if_live()
            self.report_if_over()
        else:
            self.engine_move()

    def engine_move(self) -> bool:
        """Let the engine move for the side to move; False if Ctrl-C cut its thoughts short. Raises CommandError."""
        self.require_running()
        mover = self.position.turn
        result, was_interrupted = self.think(self.pace.limits(mover))
        if result.best is None:
            raise CommandError("the engine found no move in so short a search")
        if result.line is not None:
            self.pace.spend(mover, result.line.time_ms)
        text = san(self.position, result.best)
        self._push(Move(result.best))
        self.say(f"move: {self.terminal.bold(text)}")
        self._show_if_live()
        self.report_if_over()
        return not was_interrupted

    def think(self, limits: Limits) -> tuple[Result, bool]:
        """Search the present position and show the thoughts; the result, and whether Ctrl-C cut it short."""
        display = ThinkingLine(self.position, self.terminal, self.out)
        return think(self.runtime.searcher, self.position, limits, display)

    def undo(self, count: int) -> None:
        """Take back up to `count` moves and name them; raises CommandError if there are none."""
        if not self.position.moves:
            raise CommandError("no move has been played yet")
        names = []
        for _ in range(min(count, len(self.position.moves))):
            self.undone.append(self.position.pop())
            names.append(san(self.position, self.undone[-1]))
        self.say(f"taken back: {' '.join(reversed(names))}")
        self._show_if_live()

    def redo(self, count: int) -> None:
        """Play again up to `count` moves that were taken back and name them; raises CommandError if there are none."""
        if not self.undone:
            raise CommandError("no move has been taken back")
        names = []
        for _ in range(min(count, len(self.undone))):
            names.append(san(self.position, self.undone[-1]))
            self.position.push(self.undone.pop())
        self.say(f"played again: {' '.join(names)}")
        self._show_if_live()

    def report_if_over(self) -> bool:
        """Say how the game ended, if it has."""
        outcome = self.position.outcome()
        if outcome is not None:
            self.say(f"{outcome_text(outcome)}.")
        return outcome is not None

    def require_running(self) -> None:
        """Raise CommandError if the game is over."""
        outcome = self.position.outcome()
        if outcome is not None:
            raise CommandError(f"the game is over ({outcome_text(outcome)}): undo takes a move back, new starts anew")

    def _push(self, move: Move) -> None:
        """Play a legal move; what was taken back stays to be redone only if this is that move."""
        self.position.push(move)
        if self.undone and self.undone[-1] == move:
            self.undone.pop()
        else:
            self.undone.clear()

    def _show_if_live(self) -> None:
        if self.is_live:
            self.show_board()


def side_name(colour: int) -> str:
    """White or Black, as a word."""
    return _SIDES[colour]
