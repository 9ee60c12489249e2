"""The state of the console, on which its commands act."""

from __future__ import annotations

import textwrap
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from merino.app.console.opponent import Opponent
from merino.app.console.pace import Pace, by_time
from merino.app.console.scoresheet import UNFINISHED, Ending, Scoresheet, by_rule, side_name
from merino.app.console.terminal import Terminal, ThinkingLine, draw
from merino.app.console.unfinished import ConsoleGame, KeptGame, Offer, Place, Unfinished
from merino.core.board.fen import START_FEN
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.command import CommandError
from merino.engine.notation.games import Loaded
from merino.engine.notation.san import read_request, requested_move, san
from merino.engine.search.limits import Limits, SearchResult
from merino.engine.search.searcher import think

if TYPE_CHECKING:
    from merino.engine.uci.runtime import Runtime

DEFAULT_SECONDS = 2.0
MIN_COLUMNS, MAX_COLUMNS = 40, 80  # columns
_MOVE_NOW = ("", "stop", "?")  # what may be typed while the engine thinks


class Session:
    """The game, the engine that answers, and how it is shown.

    With `is_live` a person is watching, and the board is shown after each move. `overhear` returns the lines typed
    while the engine thinks. `unfinished` keeps the game on the disk; None where no person plays.
    """

    def __init__(self, runtime: Runtime, terminal: Terminal, out: TextIO) -> None:
        self.runtime = runtime
        self.terminal = terminal
        self.out = out
        self.is_live = False
        self.overhear: Callable[[], list[str]] = list
        self.typed_ahead: deque[str] = deque()  # lines to run before the next prompt
        self.position = Position()
        self.sheet = Scoresheet()
        self.undone: list[Move] = []  # moves taken back, the next to be played again last
        self.pace: Pace = by_time(DEFAULT_SECONDS)
        self.thought_ms = [0, 0]  # by the engine in this game, for White and for Black
        self.is_forced = False  # the person moves for both sides
        self.is_flipped = False
        self.shows_board = True  # after each move, if a person is watching
        self.goes_on_in_uci = False
        self.unfinished: Unfinished | None = None
        self._declared: Ending | None = None  # by resignation or agreement
        self._left: list[ConsoleGame] = []  # the games that were replaced, the last one last
        self._returned_from: list[ConsoleGame] = []  # the games left by returning to an earlier one
        self._is_untouched = True  # no move has been played or taken back since this game became the current one
        self._is_played = False  # moves were made in this game, here or in a session before
        self._place: Place | None = None  # the file that keeps this game
        self.ask: Callable[[str], str | None] | None = None  # a person, with a prompt; None where nobody sits
        self._offered: Offer | None = None  # the unfinished game that was offered last, until a move is played

    @property
    def prompt(self) -> str:
        """Whose move it is and its number: "White(1): "."""
        return f"{side_name(self.position.turn)}({self.position.fullmove_number}): "

    @property
    def ending(self) -> Ending | None:
        """How the game ended, by the rules, resignation or agreement; None while it continues."""
        outcome = self.position.outcome()
        return by_rule(outcome) if outcome else self._declared

    @property
    def result(self) -> str:
        """The result as PGN writes it, "*" while the game continues."""
        return self.ending.result if self.ending else UNFINISHED

    @property
    def text_width(self) -> int:
        """The number of columns for wrapped text."""
        return min(MAX_COLUMNS, max(MIN_COLUMNS, self.terminal.width - 1))

    def say(self, text: str) -> None:
        """Print a line or several."""
        self.out.write(f"{text}\n")
        self.out.flush()

    def tell(self, text: str) -> None:
        """Print a sentence; for a person, wrapped into lines that fit."""
        self.say(textwrap.fill(text, self.text_width, break_long_words=False) if self.is_live else text)

    def row(self, head: str, text: str, column: int) -> str:
        """A row of a table: `head`, and from `column` on `text` in lines that fit."""
        head = f"{head:<{column - 1}} "
        return textwrap.fill(text, self.text_width, initial_indent=head, subsequent_indent=" " * column)

    def show_board(self) -> None:
        """Print the board."""
        self.say(draw(self.position, self.terminal, self.is_flipped))

    def new_game(self, fen: str = START_FEN, chess960: bool = False) -> None:
        """Start a new game from a FEN, with White for the person; raises FenError and then keeps the old game.

        On the disk it replaces the present game, or the one that was offered, with its first move.
        """
        position = Position(fen, chess960)
        if not self._has_begun:
            self._decline_offered()
        place, self._place = self._place, None
        self._begin(ConsoleGame(position, Scoresheet(), [], self.pace.fresh(), [0, 0], place=place))

    def set_up(self, position: Position) -> None:
        """Start a new game from a position, with the same sides."""
        self.resume(Loaded(position, ""))

    def resume(self, loaded: Loaded) -> None:
        """Continue with what was read from a file."""
        sheet = Scoresheet(loaded.tags, loaded.position.moves)
        game = ConsoleGame(loaded.position, sheet, [], self.pace.fresh(), [0, 0])
        self._begin(replace(game, is_forced=self.is_forced, is_flipped=self.is_flipped))

    def _begin(self, game: ConsoleGame) -> None:
        """Leave the present game for another one."""
        if self._leave(game):
            at_start = " at the start of this one" if game.position.moves else ""
            self.say(f"The earlier game is kept; undo{at_start} returns to it.")
        self._take_up(game)

    @property
    def _has_begun(self) -> bool:
        """Whether anything has happened in the present game."""
        return bool(self.position.moves or self.undone or self.position.start_fen() != START_FEN)

    def _leave(self, following: ConsoleGame) -> bool:
        """Keep the present game among those that were left, if it has begun; returns whether it has."""
        self._returned_from.clear()
        has_begun = self._has_begun
        if has_begun:
            self._left.append(self._game_before(following))
        return has_begun

    def offer_unfinished(self) -> None:
        """Tell which unfinished games of earlier sessions may be continued."""
        for number, offer in enumerate(self.unfinished.numbered() if self.unfinished else [], start=1):
            self._offered = self._offered or offer
            self.tell(f"Unfinished: a game of {offer}; resume{f' {number}' if number > 1 else ''} goes on with it.")

    def go_on(self, number: int | None) -> None:
        """Return to the game that was left last, or if there is none, or with its number, to one of earlier sessions.

        Raises CommandError.
        """
        awaits_engine = False
        if number is None and self._left:
            game = self._left.pop()
        else:
            game, awaits_engine = self._unfinished_game(number)
        self._leave(game)
        self._take_up(game)
        count = len(game.position.moves)
        plies = "ply" if count == 1 else "plies"
        self.say(f"The game goes on after {count} {plies}. {self._limits_in_words}")
        self.report_if_over()
        if awaits_engine:
            self.engine_move()

    def _unfinished_game(self, number: int | None) -> tuple[ConsoleGame, bool]:
        """A game of those offered, and whether the engine is to move; raises CommandError."""
        try:
            offer = self.unfinished.offer(number) if self.unfinished else None
        except IndexError as error:
            raise CommandError(f"there is no unfinished game {number}") from error
        place = self.unfinished.take(offer) if self.unfinished and offer else None
        if offer is None or place is None:
            raise CommandError("there is no unfinished game" if number is None else "this game waits no more")
        self._offered, kept = None, offer.kept
        return replace(kept.as_it_was, place=place), kept.person not in (None, kept.game.position.turn)

    def _decline_offered(self) -> None:
        """Let the present game take the place of the one that was offered, which is now a game that was left."""
        offer = self.unfinished.as_it_is_now(self._offered) if self.unfinished and self._offered else None
        place = self.unfinished.take(offer) if self.unfinished and offer else None
        if offer is not None and place is not None:
            self._left.append(offer.kept.as_it_was)
            self._place, self._offered = place, None
            self.say("The unfinished game is forgotten when you move; undo returns to it.")

    def keep(self, person: int | None = None) -> None:
        """Bring the file of the game up to date: it is there while the game goes on, if moves were made here.

        `person` is the side of the person, by default the side to move.
        """
        if self.unfinished is None or not self._is_played:
            return
        text = None
        if self.position.moves and self.ending is None:
            side = None if self.is_forced else self.position.turn if person is None else person
            text = KeptGame(self._game(), side, Opponent.of(self.runtime.searcher)).text()
        self._place = self.unfinished.keep(self._place, text)

    @property
    def is_kept(self) -> bool:
        """Whether the game can be continued in another session."""
        return self._place is not None and self._place.holds_a_game

    @property
    def can_return(self) -> bool:
        """Whether undo returns to the game that was left for this one."""
        return bool(self._left) and not self.position.moves

    @property
    def can_go_forward(self) -> bool:
        """Whether redo leaves the game that undo has just returned to."""
        return bool(self._returned_from) and self._is_untouched

    def return_to_game(self) -> None:
        """Bring back the game that was left for the present one, and say so."""
        game, place = self._left.pop(), self._place
        if game.place is None:  # the present one has taken it
            game, self._place = replace(game, place=place), None
        self._returned_from.append(self._game_before(game))
        self._change_game(game, "redo leaves it again")

    def go_forward(self) -> None:
        """Undo that."""
        game = self._returned_from.pop()
        self._left.append(self._game_before(game))
        self._change_game(game, "undo leaves it again")

    def _change_game(self, game: ConsoleGame, hint: str) -> None:
        count = len(game.position.moves)
        played = f"{count} {'plies' if count > 1 else 'ply'} played" if count else "no move played"
        self.say(f"The other game is back, {played}; {hint}.")
        self._take_up(game)
        if game.opponent is not None:
            self.say(self._limits_in_words)
        self.report_if_over()

    def _take_up(self, game: ConsoleGame) -> None:
        """Go on with a game, with its limit unless the person has set another meanwhile, whose clocks then start."""
        if game.opponent is not None:
            game.opponent.put_into(self.runtime.searcher)
        is_its_own = game.opponent is not None or self.pace.fresh() == game.pace.fresh()
        self.pace = game.pace if is_its_own else self.pace.fresh()
        self.position, self.sheet, self.undone = game.position, game.sheet, game.undone
        self.thought_ms, self._declared = game.thought_ms, game.declared
        self.is_forced, self.is_flipped = game.is_forced, game.is_flipped
        self._is_played, self._place = game.is_played, game.place
        self._is_untouched = True
        self.runtime.searcher.clear()
        self.show_if_live()

    def _game_before(self, following: ConsoleGame) -> ConsoleGame:
        """The present game, to be left for another one; with its opponent, if that has one of its own."""
        opponent = None if following.opponent is None else Opponent.of(self.runtime.searcher)
        return replace(self._game(), opponent=opponent)

    def _game(self) -> ConsoleGame:
        rest = self._declared, self.is_forced, self.is_flipped, self._is_played, self._place
        return ConsoleGame(self.position, self.sheet, self.undone, self.pace, self.thought_ms, *rest)

    @property
    def _limits_in_words(self) -> str:
        return f"The engine's limit: {self.pace}.{Opponent.of(self.runtime.searcher).remark}"

    def declare(self, ending: Ending) -> None:
        """End the game by resignation or agreement; taking a move back revokes it."""
        self._declared = ending
        self.report_if_over()

    def play_text(self, text: str) -> None:
        """Play the move a person typed, and answer it; raises MoveRejected, or CommandError if the game is over."""
        self.play_texts([text])

    def play_texts(self, texts: Sequence[str]) -> None:
        """Play moves of both sides, all or none, and answer the last if it is one of the person's; as `play_text`."""
        requests = [read_request(text) for text in texts]
        self.require_running()
        after = self.position.copy()
        for request in requests:
            after.push(requested_move(after, request))
        for move in after.moves[len(self.position.moves) :]:
            self._push(move, is_engine=False)
        if self.is_forced or len(texts) % 2 == 0 or self.position.outcome():
            self.show_if_live()
            self.report_if_over()
        else:
            self.engine_move()

    def engine_move(self) -> bool:
        """Let the engine move; returns False if the person interrupted its search. Raises CommandError."""
        self.require_running()
        mover = self.position.turn
        result, was_interrupted = self.think(self.pace.limits(mover))
        best = self.require_best(result)
        if result.line is not None:
            searcher, taken = self.runtime.searcher, result.line.time_ms
            self.pace.spend(mover, round(searcher.planned) if searcher.nodestime else taken)
            self.thought_ms[mover] += taken
        text = san(self.position, best)
        self._push(best, is_engine=True)
        self.say(f"move: {self.terminal.bold(text)}")
        self.show_if_live()
        self.report_if_over()
        return not was_interrupted

    def think(self, limits: Limits, is_analysis: bool = False) -> tuple[SearchResult, bool]:
        """Search the position and show the progress; returns the result, and whether the person interrupted it."""
        display = ThinkingLine(self.position, self.terminal, self.out, keeps_all=is_analysis)
        return think(self.runtime.searcher, self.position, limits, display, lambda: self.is_stop_requested(is_analysis))

    def judge(self, limits: Limits, is_analysis: bool = False) -> tuple[SearchResult, bool]:
        """The same at full strength, also where a level plays weaker."""
        self.runtime.searcher.is_analysing = True
        try:
            return self.think(limits, is_analysis)
        finally:
            self.runtime.searcher.is_analysing = False

    def is_stop_requested(self, is_analysis: bool = False) -> bool:
        """Whether the person wants the engine to stop thinking. Other lines typed meanwhile run after the search."""
        is_stop_requested = False
        for line in self.overhear():
            if not self.typed_ahead and not is_stop_requested and line.strip().lower() in _MOVE_NOW:
                is_stop_requested = True
            else:
                self.typed_ahead.append(line)
        return is_stop_requested or (is_analysis and bool(self.typed_ahead))

    def undo(self, count: int) -> None:
        """Take back up to `count` moves and print them; raises CommandError if there are none."""
        if not self.position.moves:
            raise CommandError("no move has been played yet")
        self._is_untouched = False
        names = []
        for _ in range(min(count, len(self.position.moves))):
            self.undone.append(self.position.pop())
            names.append(san(self.position, self.undone[-1]))
        self._declared = None
        self.say(f"taken back: {' '.join(reversed(names))}")
        self.show_if_live()

    def redo(self, count: int) -> None:
        """Replay up to `count` moves that were taken back and print them; raises CommandError if there are none."""
        if not self.undone:
            raise CommandError("no move has been taken back")
        self._is_untouched = False
        names = []
        for _ in range(min(count, len(self.undone))):
            names.append(san(self.position, self.undone[-1]))
            self.position.push(self.undone.pop())
        self._declared = None
        self.say(f"played again: {' '.join(names)}")
        self.show_if_live()

    def report_if_over(self) -> None:
        """Say how the game ended, if it has."""
        if self.ending is not None:
            self.say(f"{self.ending}.")

    def require_running(self) -> None:
        """Raise CommandError if the game is over."""
        if self.ending is not None:
            raise CommandError(f"the game is over ({self.ending}): undo takes a move back, new starts another game")

    @staticmethod
    def require_best(result: SearchResult) -> Move:
        """The move that a search found; raises CommandError if it was too short for one."""
        if result.best is None:
            raise CommandError("the search was too short to find a move")
        return Move(result.best)

    def show_if_live(self) -> None:
        """Print the board if a person is watching and wants to see it."""
        if self.is_live and self.shows_board:
            self.show_board()

    def _push(self, move: Move, is_engine: bool) -> None:
        """Play a legal move; moves that were taken back can be redone only if this is the first of them."""
        self._is_untouched, self._is_played, self._offered = False, True, None
        mover = self.position.turn
        self.sheet.note_mover(mover, is_engine)
        self.position.push(move)
        if self.undone and self.undone[-1] == move:
            self.undone.pop()
        else:
            self.undone.clear()
        self.keep(None if is_engine else mover)
