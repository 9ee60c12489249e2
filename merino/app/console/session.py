"""The state of the console, on which its commands act."""

import textwrap
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TextIO

from merino.app.console.games import ConsoleGame, Ending, Loaded, UnfinishedFile, pace_of, strength_text
from merino.app.console.terminal import Terminal, ThinkingLine, draw
from merino.core.board.fen import COLOUR_NAMES, START_FEN
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.command import CommandError
from merino.core.common.text import counted
from merino.engine.notation.san import read_request, requested_move, san
from merino.engine.search.limits import Limits, SearchResult
from merino.engine.search.searcher import think
from merino.engine.uci.runtime import Runtime

MIN_COLUMNS, MAX_COLUMNS = 40, 80  # columns
_MOVE_NOW = ("", "stop", "?")  # what may be typed while the engine thinks


class Session:
    """The game, the engine that answers, and how it is shown.

    With `is_live` a person is watching, and the board is shown after each move. `overhear` returns the lines typed
    while the engine thinks. `unfinished` keeps the game on the disk; where no person sits, there is no such file.
    """

    def __init__(self, runtime: Runtime, terminal: Terminal, out: TextIO) -> None:
        self.runtime = runtime
        self.terminal = terminal
        self.out = out
        self.is_live = False
        self.overhear: Callable[[], list[str]] = list
        self.unfinished: UnfinishedFile | None = None
        self.typed_ahead: deque[str] = deque()  # lines to run before the next prompt
        self.game = ConsoleGame()
        self.left: ConsoleGame | None = None  # the game before, to which resume returns
        self.goes_on_in_uci = False
        self._is_offered = False  # `left` is an unfinished game of an earlier session

    @property
    def position(self) -> Position:
        """That of the game."""
        return self.game.position

    @property
    def prompt(self) -> str:
        """Whose move it is and its number: "White(1): "."""
        return f"{COLOUR_NAMES[self.position.side]}({self.position.fullmove_number}): "

    @property
    def text_width(self) -> int:
        """The number of columns for wrapped text."""
        return min(MAX_COLUMNS, max(MIN_COLUMNS, self.terminal.width - 1))

    @property
    def strength_remark(self) -> str:
        """What to say, after a space, where a game begins or goes on: nothing of play at full strength."""
        strength = self.runtime.searcher.strength
        return "" if strength is None else f" {strength_text(strength)}"

    def say(self, text: str) -> None:
        """Print a line or several."""
        self.out.write(f"{text}\n")
        self.out.flush()

    def say_wrapped(self, text: str) -> None:
        """Print a sentence; for a person, in lines that fit."""
        self.say(textwrap.fill(text, self.text_width, break_long_words=False) if self.is_live else text)

    def row(self, head: str, text: str, column: int) -> str:
        """A row of a table: `head`, and from `column` on `text` in lines that fit."""
        head = f"{head:<{column - 1}} "
        return textwrap.fill(text, self.text_width, initial_indent=head, subsequent_indent=" " * column)

    def show_board(self) -> None:
        """Print the board."""
        self.say(draw(self.position, self.terminal, self.game.is_flipped))

    def show_if_live(self) -> None:
        """Print the board if a person is watching."""
        if self.is_live:
            self.show_board()

    def new_game(self, fen: str = START_FEN, chess960: bool = False) -> None:
        """Start a new game from a FEN, with White for the person; raises FenError and then keeps the old game."""
        self._begin(ConsoleGame(Position(fen, chess960)))

    def go_on_with(self, loaded: Loaded) -> None:
        """Start a game from a position or a game that was read, with the same sides."""
        game = ConsoleGame(loaded.position, loaded_tags=dict(loaded.tags), loaded_moves=loaded.position.moves.copy())
        game.is_forced, game.is_flipped = self.game.is_forced, self.game.is_flipped
        self._begin(game)

    def _begin(self, game: ConsoleGame) -> None:
        """Leave the present game for a new one with the same limit, whose clocks start, and the same strength."""
        game.pace, game.strength = pace_of(self.game.pace.command), self.runtime.searcher.strength
        if self.game.has_begun:
            self.say("The earlier game is kept; resume returns to it.")
        self._change_to(game)

    def _change_to(self, game: ConsoleGame) -> None:
        """Take up a game; the present one, if it has begun, is then the one that was left."""
        self.game.strength = self.runtime.searcher.strength
        if self.game.has_begun:
            self.left, self._is_offered = self.game, False
        self.game = game
        self.runtime.searcher.strength = game.strength
        self.runtime.searcher.clear()
        self.show_if_live()

    def offer_unfinished(self) -> None:
        """Say which game of an earlier session can be resumed, if there is one."""
        found = self.unfinished.offer() if self.unfinished else None
        if found is not None:
            self.left, day = found
            self._is_offered = True
            self.say_wrapped(f"Unfinished: a game of {day}, {self.left.kept_words}; resume continues it.")

    def resume(self) -> None:
        """Return to the game before this one; raises CommandError if there is none."""
        game = self.left
        if game is None:
            raise CommandError("there is no other game")
        awaits_engine = self._is_offered and game.person not in (None, game.position.side)
        self.left, self._is_offered = None, False
        self._change_to(game)
        plies = counted(len(game.position.moves), "ply")
        self.say(f"The game goes on after {plies}. The engine's limit: {game.pace}.{self.strength_remark}")
        self.report_if_over()
        if awaits_engine:
            self.engine_move()

    def keep(self, person: int | None = None) -> None:
        """Bring the file of the game up to date: it is there while the game goes on, if moves were made here.

        `person` is the side of the person, by default the side to move.
        """
        game = self.game
        if self.unfinished is None or not game.is_played:
            return
        if not game.position.moves or game.ending is not None:
            self.unfinished.keep(None)
            return
        game.strength = self.runtime.searcher.strength
        game.person = None if game.is_forced else game.position.side if person is None else person
        self.unfinished.keep(game.kept_text())

    def declare(self, ending: Ending) -> None:
        """End the game by resignation or agreement; taking a move back revokes it."""
        self.game.declared = ending
        self.report_if_over()

    def play_texts(self, texts: Sequence[str]) -> None:
        """Play moves as a person types them, all or none, and answer the last if it is one of the person's.

        Raises MoveRejected, or CommandError if the game is over.
        """
        requests = [read_request(text) for text in texts]
        self.require_running()
        after = self.position.copy()
        for request in requests:
            after.push(requested_move(after, request))
        for move in after.moves[len(self.position.moves) :]:
            self._push(move, is_engine=False)
        if self.game.is_forced or len(texts) % 2 == 0 or self.position.outcome():
            self.show_if_live()
            self.report_if_over()
        else:
            self.engine_move()

    def engine_move(self) -> bool:
        """Let the engine move; returns False if the person interrupted its search. Raises CommandError."""
        self.require_running()
        mover, game = self.position.side, self.game
        limits, was_interrupted = game.pace.limits(mover), False
        booked = self.runtime.book_move(self.position, limits)
        result = SearchResult(booked, None, None)
        if booked is None:
            result, was_interrupted = self.think(limits)
        best = self.require_best(result)
        if result.line is not None:
            searcher, taken = self.runtime.searcher, result.line.time_ms
            game.pace.spend(mover, round(searcher.planned) if searcher.nodestime else taken)
            game.thought_ms[mover] += taken
        text = san(self.position, best)
        self._push(best, is_engine=True)
        self.say(f"move: {self.terminal.bold(text)}{'' if booked is None else ' (book)'}")
        self.show_if_live()
        self.report_if_over()
        return not was_interrupted

    def think(self, limits: Limits, is_analysis: bool = False) -> tuple[SearchResult, bool]:
        """Search the position and show the progress; returns the result, and whether the person interrupted it.

        Endgame tables are asked, for the moves to consider or, where they do not know the position, by the search.
        """
        runtime, advice, fault = self.runtime, None, ""
        display = ThinkingLine(self.position, self.terminal, self.out, keeps_all=is_analysis)
        try:
            advice = runtime.advice(self.position)
        except ValueError as error:  # a TablebaseError, whose module is loaded where there are tables
            fault = str(error)
        tables = None if advice else runtime.tablebases()
        runtime.searcher.tablebases = tables
        limits = replace(limits, search_moves=advice.moves) if advice else limits
        found = think(runtime.searcher, self.position, limits, display, lambda: self.is_stop_requested(is_analysis))
        runtime.searcher.tablebases = None
        for line in filter(None, map(runtime.broken, (fault, tables.fault if tables else None))):
            self.say_wrapped(f"{line}.")
        return found

    def judge(self, limits: Limits, is_analysis: bool = False) -> SearchResult:
        """Search the position at full strength, also where a level plays weaker, and show the progress."""
        self.runtime.searcher.is_analysing = True
        try:
            return self.think(limits, is_analysis)[0]
        finally:
            self.runtime.searcher.is_analysing = False

    def is_stop_requested(self, is_analysis: bool = False) -> bool:
        """Whether the person wants the engine to stop thinking. Other lines typed meanwhile run after the search."""
        lines = self.overhear()
        is_stop = bool(lines) and not self.typed_ahead and lines[0].strip().lower() in _MOVE_NOW
        self.typed_ahead.extend(lines[is_stop:])
        return is_stop or (is_analysis and bool(self.typed_ahead))

    def undo(self, count: int | None) -> None:
        """Take back up to `count` moves and print them; raises CommandError if there are none.

        Without a number a resignation is taken back, or else what makes it the person's turn again.
        """
        if count is None and self.game.declared is not None:
            words, self.game.declared = self.game.declared.words, None
            self.say(f"taken back: {words}")
            return
        count = count or 1 + self.game.is_answered
        if not self.position.moves:
            hint = "; resume returns to the game before" if self.left else ""
            raise CommandError(f"no move has been played yet{hint}")
        names = list[str]()
        for _ in range(min(count, len(self.position.moves))):
            self.game.undone.append(self.position.pop())
            names.insert(0, san(self.position, self.game.undone[-1]))
        self._show_changed("taken back", names)

    def redo(self, count: int) -> None:
        """Replay up to `count` moves that were taken back and print them; raises CommandError if there are none."""
        undone, names = self.game.undone, list[str]()
        if not undone:
            raise CommandError("no move has been taken back")
        for _ in range(min(count, len(undone))):
            names.append(san(self.position, undone[-1]))
            self.position.push(undone.pop())
        self._show_changed("played again", names)

    def _show_changed(self, what: str, names: Sequence[str]) -> None:
        """Say which moves were taken back or played again, which revokes a resignation."""
        self.game.declared = None
        self.say(f"{what}: {' '.join(names)}")
        self.show_if_live()

    def report_if_over(self) -> None:
        """Say how the game ended, if it has."""
        if self.game.ending is not None:
            self.say(f"{self.game.ending}.")

    def require_running(self) -> None:
        """Raise CommandError if the game is over."""
        if self.game.ending is not None:
            hint = "undo takes a move back, new starts another game"
            raise CommandError(f"the game is over ({self.game.ending}): {hint}")

    @staticmethod
    def require_best(result: SearchResult) -> Move:
        """The move that a search found; raises CommandError if it was too short for one."""
        if result.best is None:
            raise CommandError("the search was too short to find a move")
        return Move(result.best)

    def _push(self, move: Move, is_engine: bool) -> None:
        """Play a legal move; moves that were taken back can be redone only if this is the first of them."""
        game, mover = self.game, self.position.side
        if self._is_offered:
            self._is_offered = False
            self.say("This game takes the place of the unfinished one; resume returns to that.")
        game.is_played = True
        game.is_engine[mover] = is_engine
        game.position.push(move)
        if game.undone and game.undone[-1] == move:
            game.undone.pop()
        else:
            game.undone.clear()
        self.keep(None if is_engine else mover)
