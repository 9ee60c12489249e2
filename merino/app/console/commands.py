"""The commands of the console: play, thinking time, positions, files, explanations, and the engine's options."""

import random
import re
import textwrap
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import chess

from merino.app.console import games, shared
from merino.app.console.session import Session
from merino.core.board import bitboard, perft
from merino.core.board.fen import COLOUR_NAMES, FenError
from merino.core.board.game import RESULTS
from merino.core.common.command import CommandError, UsageError
from merino.core.common.errors import turning
from merino.core.common.files import is_there, writing
from merino.core.common.text import counted, did_you_mean, words_of
from merino.engine.notation import san
from merino.engine.notation.positions import read_position
from merino.engine.report import static
from merino.engine.report import text as report_text
from merino.engine.search.limits import Limits
from merino.engine.search.strength import FULL_LEVEL, at_level
from merino.engine.uci.options import OPTIONS, OptionError, UciOption, open_weights
from merino.eval.evaluation import Evaluation, EvaluationError
from merino.eval.families import load_evaluation
from merino.eval.linear.weights import DEFAULT_FILE, SAVED, active_file
from merino.formats import pgn_games, pgn_parts, sources

MAX_ENTRIES = 10**9
MAX_PERFT_DEPTH = 10
EVAL_OPTIONS = ("sort", "groups", "hide-zero", "static", "json")
TEXT_COLUMN, OPTION_COLUMN = 27, 32
OF_THE_PROTOCOL = ("ponder", "uci_analysemode", "uci_engineabout")  # options that are useful only for a GUI
MOVES_HELP = """Type moves as e4, Nf3, exd5, Nbd2, O-O, e8=Q, or by squares: e2e4, e7e8q. A list such as 1. e4 e5 plays
the moves of both sides. The engine answers each move; press Enter or Ctrl-C while it thinks to make it move at once.
Scores are from White's point of view. You may shorten a command as long as it stays unambiguous, unless it ends the
game. 'help COMMAND' explains one command. Ctrl-D leaves Merino."""
_COMMENTS = ("#", "%", ";")

Action = Callable[[Any, str], int | None]  # takes the session and the rest of the line; an exit code ends the console


class Section(Enum):
    """A heading of `help`."""

    PLAY = "Playing"
    LIMITS = "Thinking time"
    POSITION = "Position"
    EXPLAIN = "Analysis and explanations"
    FILES = "Files"
    ENGINE = "Engine"
    LEAVE = "Help and exit"


class ConsoleCommand(NamedTuple):
    """One command. One that `ends_game` ends or leaves the current game, so it must be typed in full."""

    names: tuple[str, ...]  # with its aliases
    section: Section
    arguments: str
    text: str  # what `help` shows: a sentence, and after it details
    run: Action
    ends_game: bool = False

    @property
    def name(self) -> str:
        """Its first name."""
        return self.names[0]

    @property
    def sentence(self) -> str:
        """What it does."""
        return self.text.partition("\n")[0]

    @property
    def usage(self) -> str:
        """Name and arguments: "undo [N]"."""
        return f"{self.name} {self.arguments}".rstrip()


COMMANDS: list[ConsoleCommand] = []


def command(
    names: str, section: Section, arguments: str = "", ends_game: bool = False
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Register the decorated function as a command of these names, whose docstring is what `help` shows.

    Without `arguments` the command takes none, and the function is given the session alone.
    """

    def register(run: Callable[..., int | None]) -> Callable[..., int | None]:
        def without_arguments(session: Any, text: str) -> int | None:
            if text:
                raise UsageError(f"expected no argument, found '{text[:40]}'")
            return run(session)

        action = run if arguments else without_arguments
        COMMANDS.append(ConsoleCommand(tuple(names.split()), section, arguments, run.__doc__ or "", action, ends_game))
        return run

    return register


def _forward(name: str, section: Section, arguments: str, run: Callable[..., int | None], text: str) -> None:
    """Register a command that hands its whole line to another."""
    COMMANDS.append(
        ConsoleCommand((name,), section, arguments, text, lambda session, rest: run(session, f"{name} {rest}"))
    )


def by_name(word: str) -> ConsoleCommand | None:
    """The command with exactly this name or alias, in any case."""
    return next((entry for entry in COMMANDS if word.lower() in entry.names), None)


def by_prefix(word: str) -> ConsoleCommand | None:
    """The only command whose name, or else whose alias, begins with `word`; raises CommandError if there are more."""
    named = [entry for entry in COMMANDS if entry.name.startswith(word.lower())]
    found = named or [entry for entry in COMMANDS if any(alias.startswith(word.lower()) for alias in entry.names)]
    if len(found) > 1:
        raise CommandError(f"'{word}' is ambiguous: {', '.join(sorted(entry.name for entry in found))}")
    return found[0] if found else None


# Readers of arguments: a wrong one is a UsageError that says what was expected.


def words_in(text: str) -> list[str]:
    """The words, with quotes as in a shell."""
    try:
        return words_of(text)
    except ValueError as error:
        raise UsageError(f"a quotation mark is missing in {text[:60]}") from error


def file_name(text: str) -> str:
    """The name of a file, which may be in quotation marks."""
    name = text.strip().strip("\"'")
    if not name:
        raise UsageError("expected the name of a file")
    return name


def file_path(text: str) -> Path:
    """The file of this name, which may be in quotation marks; `~` is the home folder."""
    return shared.file_path(file_name(text))


def square(text: str) -> int:
    """The square of this name, 0 for a1 to 63 for h8."""
    if text.lower() not in bitboard.SQUARE_NAMES:
        raise UsageError(f"'{text[:40]}' is not a square")
    return bitboard.SQUARE_NAMES.index(text.lower())


@command("new", Section.PLAY, "[960 [NUMBER]]", ends_game=True)
def new_game(session: Session, arguments: str) -> None:
    """Start a new game; you play White.

    Type `black` to let the engine begin instead. `resume` returns to the game before. `new 960` starts from a random
    Chess960 position, `new 960 518` from the position of that number (0 to 959).
    """
    words, remark = arguments.split(), session.strength_remark
    if not words:
        session.new_game()
        if remark:
            session.say(remark.strip())
        return
    if words[0] not in ("960", "chess960") or len(words) > 2:
        raise UsageError("expected nothing, or 960 and the number of the position")
    start = games.whole_number(words[1], "the position's number", 0, 959) if len(words) > 1 else random.randrange(960)
    session.new_game(chess.Board.from_chess960_pos(start).fen(), chess960=True)
    session.say(f"Chess960 position {start}: castle with O-O and O-O-O.{remark}")


@command("go", Section.PLAY)
def go(session: Session) -> None:
    """Let the engine move for the side to move.

    From then on it answers the moves of the other side. This ends `force`.
    """
    session.game.is_forced = False
    session.engine_move()


@command("undo u", Section.PLAY, "[N]")
def undo(session: Session, arguments: str) -> None:
    """Take back your last move with the engine's answer, so that it is your turn again; or the last N plies.

    A resignation, or a draw that was agreed, is taken back first.
    """
    session.undo(games.whole_number(arguments, "the number of moves", 1, games.MAX_MOVES) if arguments else None)


@command("redo", Section.PLAY, "[N]")
def redo(session: Session, arguments: str) -> None:
    """Replay the plies that were taken back, or N of them."""
    session.redo(games.whole_number(arguments, "the number of moves", 1, games.MAX_MOVES, default=1))


@command("resume", Section.PLAY, ends_game=True)
def resume(session: Session) -> None:
    """Go on with the game you left, or with the unfinished one of an earlier session.

    A game you play is kept until it is over, even if the window is closed, and offered at the next start. The present
    game is kept, too: `resume` changes between both.
    """
    session.resume()


@command("white", Section.PLAY)
def white(session: Session) -> None:
    """Play White; the engine plays Black."""
    _take_side(session, bitboard.WHITE)


@command("black", Section.PLAY)
def black(session: Session) -> None:
    """Play Black; the engine plays White."""
    _take_side(session, bitboard.BLACK)


def _take_side(session: Session, colour: int) -> None:
    """Let the person play a side, with the board seen from there; the engine moves if it is its turn."""
    session.game.is_forced = False
    session.game.is_flipped = colour == bitboard.BLACK
    session.say(f"You play {COLOUR_NAMES[colour]}.")
    if session.position.side != colour and session.game.ending is None:
        session.engine_move()
    else:
        session.show_if_live()


@command("force manual", Section.PLAY)
def force(session: Session) -> None:
    """Enter the moves of both sides yourself until `go`."""
    session.game.is_forced = True
    session.say("You move for both sides. Type go to let the engine play on.")


@command("auto both", Section.PLAY, "[N]")
def auto(session: Session, arguments: str) -> None:
    """Let the engine play both sides to the end of the game, or for N plies.

    Ctrl-C or Enter makes it play the move it is thinking about, and stops.
    """
    count = games.whole_number(arguments, "the number of moves", 1, games.MAX_MOVES, default=games.MAX_MOVES)
    session.require_running()
    for _ in range(count):
        if session.game.ending or not session.engine_move() or session.typed_ahead:
            return


@command("hint", Section.PLAY)
def hint(session: Session) -> None:
    """Show the move the engine would play for you."""
    session.require_running()
    result, _ = session.think(session.game.pace.limits(session.position.side))
    session.say(f"hint: {session.terminal.bold(san.san(session.position, session.require_best(result)))}")


@command("resign", Section.PLAY, ends_game=True)
def resign(session: Session) -> None:
    """Resign for the side to move."""
    session.require_running()
    colour = session.position.side
    session.declare(games.Ending(RESULTS[1 - colour], f"{COLOUR_NAMES[colour]} resigns"))


@command("draw", Section.PLAY, ends_game=True)
def draw(session: Session) -> None:
    """Offer a draw; the engine accepts unless it is ahead.

    It searches the position first. Under `force`, where you play both sides, the draw is agreed at once.
    """
    session.require_running()
    if not session.game.is_forced:
        result = session.judge(session.game.pace.limits(session.position.side))
        if result.line is None or result.line.score < 0:  # the mover's score: the person's
            session.say("The engine declines, because it thinks it is ahead.")
            return
    session.declare(games.DRAW_AGREED)


@command("moves", Section.PLAY, "[eval|search] [HOW ...]")
def moves(session: Session, arguments: str) -> None:
    """List the legal moves.

    `moves eval` ranks them by the static evaluation after each move and shows what each changes; `moves search` ranks
    them by a search and shows the principal variations. `moves eval --shapley` shows what pieces gain instead;
    `moves -h` lists all options.
    """
    if arguments:
        _explain(session, "moves", words_in(arguments))
        return
    names = sorted(san.san_moves(session.position, session.position.legal_moves))
    text = f"{counted(len(names), 'move')}: {' '.join(names)}" if names else "There is no legal move."
    session.say(textwrap.fill(text, session.text_width))


@command("history", Section.PLAY)
def history(session: Session) -> None:
    """Show the moves of the game."""
    position = session.position
    if not position.moves:
        session.say(f"No move has been played; {COLOUR_NAMES[position.side]} is to move.")
        return
    session.say(san.san_paragraph(position, session.text_width))
    session.report_if_over()


def _set_pace(session: Session, text: str) -> None:
    session.game.pace = games.pace_of(text)
    session.say(f"The engine's limit: {session.game.pace}.")


_forward("st", Section.LIMITS, "SECONDS", _set_pace, "Think SECONDS on each move.")
_forward("sd", Section.LIMITS, "DEPTH", _set_pace, "Search each move to DEPTH plies.")
_forward("sn", Section.LIMITS, "NODES", _set_pace, "Search NODES nodes on each move.")


@command("level", Section.LIMITS, "MOVES MINUTES SEC")
def clock(session: Session, arguments: str) -> None:
    """Give the engine a clock, as in a tournament.

    `level 40 5 0` is 40 moves in 5 minutes; `level 0 3:30 2` is three and a half minutes per game plus 2 seconds
    per move. The clock runs while the engine thinks; your own time is not limited.
    """
    _set_pace(session, f"level {arguments}")


@command("skill", Section.LIMITS, "[LEVEL]")
def skill(session: Session, arguments: str) -> None:
    """Set the level: 0 is the weakest, 20 full strength. Without a level it shows the present one."""
    searcher = session.runtime.searcher
    if arguments:
        wanted = games.whole_number(arguments, "the level", 0, FULL_LEVEL)
        searcher.strength = at_level(wanted)
        session.runtime.is_limited &= wanted < FULL_LEVEL
    session.say(games.strength_text(searcher.strength))


@command("time", Section.LIMITS)
def show_time(session: Session) -> None:
    """Show the limit and how long the engine has thought."""
    session.say(f"The engine's limit: {session.game.pace}.")
    white, black = (session.game.thought_ms[colour] / 1000 for colour in (bitboard.WHITE, bitboard.BLACK))
    session.say(f"In this game it has thought {white:.1f} s for White and {black:.1f} s for Black.")


@command("board d bd", Section.POSITION)
def board(session: Session) -> None:
    """Show the board."""
    session.show_board()


@command("fen", Section.POSITION)
def fen(session: Session) -> None:
    """Print the FEN of the position."""
    session.say(session.position.fen())


@command("setboard", Section.POSITION, "FEN", ends_game=True)
def set_board(session: Session, arguments: str) -> None:
    """Set up the position of a FEN.

    The castling rights may be those of Chess960; then type castling as O-O or as king takes rook.
    """
    if not arguments:
        raise UsageError("the FEN is missing")
    given = read_position(arguments.strip("\"'"))
    if given.rest:
        raise CommandError(f"'{' '.join(given.rest)[:60]}' after the position is not read")
    session.go_on_with(games.Loaded(given.position(), ""))
    session.report_if_over()


@command("flip", Section.POSITION)
def flip(session: Session) -> None:
    """Flip the board."""
    session.game.is_flipped = not session.game.is_flipped
    session.show_board()


@command("save", Section.FILES, "FILE")
def save(session: Session, arguments: str) -> None:
    """Add the game to a PGN file; a new file is created.

    Other games in the file stay. If you save the same game again after more moves, the longer version replaces the
    shorter one.
    """
    number = session.game.save(named := file_path(arguments))
    path = named.absolute()
    session.say(f"Saved as game {number} of {path}" if number > 1 else f"Saved in {path}")


@command("pgn", Section.FILES)
def pgn(session: Session) -> None:
    """Print the game as PGN."""
    session.say(session.game.pgn())


@command("load", Section.FILES, "FILE [N]", ends_game=True)
def load_game(session: Session, arguments: str) -> None:
    """Load game N of a PGN file, or line N of a file of FENs or EPDs.

    Without a number it loads the first. You see the position after the last move of the game; `undo` takes back a
    ply, `undo 20` twenty, `redo` goes forward. `resume` returns to the game before. Compressed files (.gz, .bz2, .xz,
    .zst) are read, too.
    """
    name, number = arguments, 1
    head, _, last = arguments.rpartition(" ")
    if head and last.isdecimal() and not is_there(file_path(arguments)):
        name, number = head, games.whole_number(last, "the number of the game", 1, MAX_ENTRIES)
    found = entry_of(file_path(name), number)
    session.go_on_with(found)
    session.say(found.remark)
    if not found.tags:
        session.report_if_over()


def entry_of(path: Path, number: int) -> games.Loaded:
    """The entry of this number, from 1; raises CommandError and SourceError, naming what is wrong."""
    with sources.open_source(path) as source:
        kind, read = ("position", _nth_position) if source.holds_positions() else ("game", _nth_game)
        with turning(FenError, CommandError, f"{kind} {number} of '{path}': "):
            found, count = read(source, number)
    if found is None:
        fault = f"ends with {kind} {count}" if count else "holds neither games nor positions"
        raise CommandError(f"'{path}' {fault}")
    return found


def _nth_position(source: sources.Source, number: int) -> tuple[games.Loaded | None, int]:
    """The position in the line of this number, blank lines and comments not counted, and how many lines were read."""
    count = 0
    for line in (line for text in source.lines() for line in sources.decoded(text).splitlines()):
        count += bool(line.strip()) and not line.startswith(_COMMENTS)
        if count == number:
            given = read_position(line)
            position = given.position()
            return games.Loaded(position, f"Position {number}: {' '.join(given.rest) or position.fen()}"), count
    return None, count


def _nth_game(source: sources.Source, number: int) -> tuple[games.Loaded | None, int]:
    """The game of this number, and how many were read; text between games is skipped."""
    count = 0
    for some in pgn_games.games_of(source):
        count = some.games_before + len(some.table)
        if number <= count:
            row = some.table[number - 1 - some.games_before]
            game = next(pgn_parts.games_of(bytes(some.data[row["start"] : row["end"]])))
            if game.fault and not game.moves:
                raise CommandError(f"game {number} of '{source.path}': {game.fault}")
            remark = f"Game {number}: {game.label}, {game.result}, {counted(len(game.moves), 'ply')}."
            if game.fault:
                remark += f"\nThe rest of it cannot be read: {game.fault}."
            return games.Loaded(game.position(), remark, game.tags | {"Result": game.result}), count
    return None, count


def _explain(session: Session, asked: str, words: Sequence[str] = (), evaluation: Evaluation | None = None) -> None:
    """Carry out a command of `explaining`, which is imported when it is first needed."""
    from merino.app.console import explaining  # noqa: PLC0415

    explaining.at_console(session, asked, words, evaluation)


@command("eval", Section.EXPLAIN, "[FILE] [HOW ...]")
def evaluation(session: Session, arguments: str) -> None:
    """Say who is better by a short search, and show the value of each term for each side before any move.

    The terms are those of the weights in use or of a file, which may be named as in weights/; a net is described by
    the terms that come nearest to it. `eval sort` puts the largest terms first, `eval groups` shows the groups only,
    `eval hide-zero` leaves out terms that make no difference, `eval static` does not search, `eval json` prints JSON.
    """
    words = arguments.split()
    name = " ".join(word for word in words if word not in EVAL_OPTIONS)
    chosen = load_evaluation(file_path(name)) if name else session.runtime.evaluation
    _explain(session, "explain", [f"--{word}" for word in words if word in EVAL_OPTIONS], chosen)


@command("pieces", Section.EXPLAIN, "[SQUARE]")
def pieces(session: Session, arguments: str) -> None:
    """Show the value of each piece on the board, computed in four ways.

    Removal: how much its owner's evaluation falls without the piece. Attributed: what the piece adds to its owner's
    terms; these values and a shared remainder add up to the evaluation. Relative: removal in pawns. Shapley: what the
    piece adds on average over all orders in which the pieces could come; these values add up to the score. With a
    square, it shows the terms of the piece there.
    """
    record, used = session.position.record, session.runtime.evaluation
    report = static.report_evaluation(record, session.position.fen(), used, with_pieces=True)
    from merino.study.reporting import with_shapley  # noqa: PLC0415 (when it is first needed)

    name = arguments and bitboard.SQUARE_NAMES[square(arguments)]
    report = with_shapley(report, record, used)
    if not name:
        session.say(f"{report_text.render_pieces(report)}\n\n{report_text.render_shapley(report)}")
        return
    piece = next((piece for piece in report.pieces if piece.square == name), None)
    if piece is None:
        raise CommandError(f"there is no piece on {name}")
    session.say(report_text.render_piece(piece))


@command("explain", Section.EXPLAIN, "[MOVE|FEN] [HOW ...]")
def explain_move(session: Session, arguments: str) -> None:
    """Say how good a move is and why, without playing it; or explain a position.

    A net judges by a short search, and what looks like a mistake is searched again, deeper; reasons are given where
    they are proved. Then come the terms that change at the end of the line. `explain` alone, or with a FEN or startpos,
    explains that position. `explain Nf3 --shapley` shows what each piece gains and loses; `explain -h` lists all
    options.
    """
    _explain(session, "explain", words_in(arguments))


@command("compare", Section.EXPLAIN, "MOVE MOVE [HOW ...]")
def compare(session: Session, arguments: str) -> None:
    """Say by a short search which of two moves is better and why, and compare them term by term.

    `compare A.txt B.txt` compares two weights files instead: this position, its pieces and its moves under each.
    `compare -h` lists all options.
    """
    _explain(session, "compare", words_in(arguments))


@command("threat", Section.EXPLAIN)
def threat(session: Session) -> None:
    """Say what the other side would win if it were to move, by a short search."""
    _explain(session, "threat")


@command("see", Section.EXPLAIN, "MOVE")
def see(session: Session, arguments: str) -> None:
    """Show what a move wins or loses by static exchange evaluation (SEE).

    Both sides capture on that square as long as it pays, the least valuable piece first. Pins and the rest of the
    board do not count. The search sorts and prunes captures by this number.
    """
    if not arguments:
        raise UsageError("expected a move")
    move = san.read_move(session.position, arguments)
    gain = session.runtime.searcher.exchange_gain(session.position, move)
    verdict = f"{'wins' if gain > 0 else 'loses'} {abs(gain)} centipawns" if gain else "neither wins nor loses anything"
    session.say(f"{san.san(session.position, move)} {verdict} by exchange.")


@command("analyze analyse", Section.EXPLAIN)
def analyze(session: Session) -> None:
    """Analyse the position until Enter or Ctrl-C.

    Any other command also ends the analysis and is then carried out. In a script the engine thinks as long as for a
    move.
    """
    session.require_running()
    limits = Limits(infinite=True) if session.is_live else session.game.pace.limits(session.position.side)
    session.judge(limits, is_analysis=True)


@command("terms", Section.EXPLAIN)
def terms(session: Session) -> None:
    """Explain the terms of the evaluation."""
    session.say(session.runtime.evaluation.describe(session.text_width))


@command("perft", Section.EXPLAIN, "DEPTH")
def count_leaves(session: Session, arguments: str) -> None:
    """Count the leaf nodes DEPTH plies ahead, for each move and in total.

    This is the usual test of a move generator.
    """
    perft.print_divide(session.position, games.whole_number(arguments, "the depth", 1, MAX_PERFT_DEPTH), session.say)


@command("weights", Section.ENGINE, "[ACTION [FILE]]")
def weights(session: Session, arguments: str) -> None:
    """Show, load or save the weights.

    `weights show` lists the weights in use, `weights load FILE` loads others, `weights save FILE` writes them to a
    file, `weights reset` restores those that come with Merino. What is loaded may be named as it is in weights/:
    `weights load full`. While a net plays, these weights wait. `compare A.txt B.txt` compares two files.
    """
    action, _, name = (arguments or "show").partition(" ")
    if action == "show" and not name:
        _show_weights(session)
    elif action == "load" or (action == "reset" and not name):
        path = file_path(name) if name else DEFAULT_FILE
        with turning(EvaluationError, CommandError, after="; the weights stay as they were"):
            session.runtime.use_weights(open_weights(str(path)))
        session.say(f"Weights: {session.runtime.weights_file}")
    elif action == "save":
        path = file_path(name).absolute()
        with writing(CommandError, path):
            session.runtime.terms.save(path, [f"{SAVED} {session.runtime.weights_file}"])
        session.say(f"Weights saved in {path}")
    else:
        raise UsageError("expected show, load FILE, save FILE or reset")
    _remark_net(session)


def _remark_net(session: Session) -> bool:
    """Say so if a net plays, and not the weights; returns whether one does."""
    net = session.runtime.net_file
    if net is not None:
        session.say_wrapped(f"The net {net.stem} plays; 'option EvalFile <empty>' goes back to the weights.")
    return net is not None


def _show_weights(session: Session) -> None:
    session.say(f"Weights: {session.runtime.weights_file}")
    numbers = session.runtime.terms.numbers
    if not numbers:
        raise CommandError(f"'{session.runtime.terms.name}' is a net, which has no weights to list")
    named = [f"{name} {number.value:g}" for name, number in numbers.items() if number.part_of not in numbers]
    width = 2 + max(map(len, named))
    columns = max(1, session.text_width // width)
    for start in range(0, len(named), columns):
        session.say("  " + "".join(f"{entry:<{width}}" for entry in named[start : start + columns]).rstrip())


@command("option", Section.ENGINE, "[OPTION [VALUE]]")
def set_option(session: Session, arguments: str) -> None:
    """List the engine's options with their present values, show one, or set it.

    These are the UCI options that a GUI shows: `option MultiPV 3`. Case does not matter.
    """
    if not arguments:
        for option in engine_options():
            now = option.present(session.runtime)
            now = Path(now).name if option.is_evaluation else now
            said = f"{option.sentence.removesuffix('.')} ({_choices(option)})."
            session.say(session.row(f"  {option.name}{now and f', now {now}'}", said, OPTION_COLUMN))
        return
    option, text = _split(arguments)
    if not text and option.kind != "button":
        now = option.present(session.runtime)
        session.say_wrapped(f"{option.name}, {_choices(option)}{now and f', now {now}'}: {option.sentence}")
        return
    try:
        value = option.read(text if option.opens is None else file_name(text))
        if option.clamp(value) != value:
            raise UsageError(f"{option.name} is {_choices(option)}")
        found = option.opened(value)
        option.apply_to(session.runtime, found)
    except OptionError as error:
        raise UsageError(str(error)) from error
    except (ValueError, MemoryError, OSError) as error:
        fault = f"cannot open '{text}': {error.strerror}" if isinstance(error, OSError) else str(error)
        fault = fault or "there is not enough memory"
        raise CommandError(f"{fault}; {option.name} stays as it was") from error
    session.say(f"{option.name}: {'done' if value is None else text}.")
    for fault in getattr(found, "faults", ()):
        session.say_wrapped(f"{option.name}: {fault}; the others are used.")


_forward("hash", Section.ENGINE, "[MEGABYTES]", set_option, "Set or show the size of the transposition table in MiB.")
_forward("threads", Section.ENGINE, "[N]", set_option, "Search with N threads, or show the number.")


def engine_options() -> list[UciOption]:
    """The options of the engine that the console has."""
    return [option for name, option in OPTIONS.items() if name not in OF_THE_PROTOCOL and not option.is_about_dialogue]


def _split(text: str) -> tuple[UciOption, str]:
    """The option whose name the text begins with, and what follows; raises CommandError."""
    for option in engine_options():
        name = r"\s+".join(map(re.escape, option.name.split()))
        found = re.match(rf"{name}(?!\S)", text, re.IGNORECASE)
        if found:
            return option, text[found.end() :].strip()
    names = (option.name for option in engine_options())
    hint = did_you_mean(text.split(maxsplit=1)[0], names) or "; 'option' lists them"
    raise CommandError(f"there is no option '{text[:40]}'{hint}")


def _choices(option: UciOption) -> str:
    bounds = option.bounds and "{} to {}".format(*option.bounds)
    return bounds or {"check": "on or off", "button": "a button", "string": "text"}.get(option.kind, option.kind)


@command("learn", Section.ENGINE, "FILE.pgn [FIRST LAST]")
def learn(session: Session, arguments: str) -> None:
    """Learn the weights from the games of a file, and use them if a match shows that they gain.

    Terms FIRST to LAST may change, by default all. `--no-match` uses the new weights at once. Ctrl-C stops the learning
    or its match; the best weights so far are kept next to those in use. `learn -h` lists the options.
    """
    from merino.app.console.learning import learn_weights  # noqa: PLC0415 (with all that learning needs)

    words, in_use = words_in(arguments), session.runtime.weights_file
    if in_use != active_file().absolute():
        words = ["--weights", str(in_use), *words]  # the last --weights counts: one that was typed, in whatever form
    written = learn_weights(words, session.say)
    if written is not None:
        session.runtime.use_weights(open_weights(str(written)))
        if not _remark_net(session):
            session.say("The next move uses them.")


@command("help h", Section.LEAVE, "[COMMAND]")
def show_help(session: Session, arguments: str) -> None:
    """List the commands, or explain one."""
    width = session.text_width
    if arguments:
        entry = _named(arguments)
        text = " ".join(entry.text.split())
        lines = [entry.usage, textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ")]
        lines += ["  Type it in full; it has no short form."] if entry.ends_game else []
        lines += [f"  Also: {', '.join(entry.names[1:])}"] if entry.names[1:] else []
        session.say("\n".join(lines))
        return
    for section in Section:
        session.say(f"{section.value}:")
        for entry in COMMANDS:
            if entry.section is section:
                session.say(session.row(f"  {entry.usage}", entry.sentence, TEXT_COLUMN))
    session.say("\n" + textwrap.fill(" ".join(MOVES_HELP.split()), width))


def _named(word: str) -> ConsoleCommand:
    found = by_name(word) or by_prefix(word)
    if found is None:
        hint = did_you_mean(word, (name for entry in COMMANDS for name in entry.names))
        raise CommandError(f"there is no command '{word[:40]}'{hint}")
    return found


@command("uci", Section.LEAVE, ends_game=True)
def uci(session: Session) -> int:
    """Switch to the UCI protocol.

    The game ends here, as with `quit`, which then leaves Merino.
    """
    if session.is_live:
        session.say("Merino speaks UCI now; quit leaves.")
    session.goes_on_in_uci = True
    return 0


@command("quit exit", Section.LEAVE, "", ends_game=True)
def leave(_: Session) -> int:
    """Leave Merino.

    An unfinished game is kept: `resume` continues it in the next session.
    """
    return 0
