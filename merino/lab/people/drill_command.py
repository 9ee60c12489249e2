"""`merino drill GAMES.pgn --player NAME`: exercises from a player's mistakes, asked again after growing intervals."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from merino.app.console import shared, terminal
from merino.core.board import bitboard, fen, game
from merino.core.common import command, files
from merino.core.common.terminal import Progress
from merino.engine.notation.san import MoveRejected
from merino.engine.search.limits import DEFAULT_HASH_MB
from merino.lab.people import drill
from merino.lab.people.games import games_of_player
from merino.study import claims
from merino.study.judge import STRONGEST, Judge, judge_of

DEFAULT_COUNT = 10  # exercises of a session
_HELP = "a move such as Nf3; 'hint', 'show' or 'quit'"


def run_drill(arguments: Sequence[str]) -> int:
    """The command in a shell; raises MerinoError."""
    args = _parser().parse_args(arguments)
    if args.json and not args.list:
        raise command.UsageError("--json needs --list")
    place = args.progress or drill.progress_file(args.file)
    for path in filter(None, (args.pgn, args.anki)):
        shared.check_output(path)
    shared.check_apart((args.pgn, args.anki, place), [args.file])
    with shared.holding_output(place), ExitStack() as held:

        @cache
        def judge() -> Judge:
            return held.enter_context(judge_of(args.judge, DEFAULT_HASH_MB, 1))

        return _drill(args, place, judge)


def _drill(args: argparse.Namespace, place: Path, judge: Callable[[], Judge]) -> int:
    with Progress(shared.progress_stream(args.quiet)) as show, files.writing(command.CommandError, place):
        judged_by = args.judge or STRONGEST
        player = games_of_player(args.file, args.player)
        shared.say_left_out(player.left_out, args.quiet)
        practice = drill.practice_from(args.file, player, place, args.most, judge, judged_by, show)
    for path, written in ((args.pgn, drill.as_pgn), (args.anki, drill.as_anki)):
        if path is not None:
            shared.write_output(path, written(practice.exercises).encode())
            if not args.quiet and not args.list:
                print(f"Exercises: {len(practice.exercises)}, in '{path}'.")
    if args.json:
        print(json.dumps([exercise.as_json() for exercise in practice.exercises]))
    elif args.list:
        for number, exercise in enumerate(practice.exercises, start=1):
            print(f"{number:3}  game {exercise.game}, {exercise.title}: {exercise.number}{exercise.why}")
    elif args.pgn is None and args.anki is None:
        return _practise(practice, place, args.count, args.kind, judge)
    return 0


def _practise(progress: drill.Practice, place: Path, count: int, kind: str | None, judge: Callable[[], Judge]) -> int:
    """Ask what is due, at most so many exercises, of one kind unless that is None."""
    drill.scheduling()  # before the first answer, which could not be kept
    due = [exercise for exercise in progress.due(datetime.now(UTC)) if kind in (None, exercise.kind)][:count]
    if not due:
        what = "Nothing is due" if kind is None else f"No exercise of the kind '{kind}' is due"
        print(f"{what}. Come back later, or play some more games.")
        return 0
    found = 0
    for number, exercise in enumerate(due, start=1):
        print(f"\nExercise {number} of {len(due)}: game {exercise.game}, {exercise.title}")
        was_found = _ask(exercise, judge)
        if was_found is None:
            break
        again = progress.review(exercise, was_found, datetime.now(UTC))
        with files.writing(command.CommandError, place):
            progress.save(place)
        found += was_found
        print(f"{exercise.why}\nAsked again on {again.astimezone():%d %B, %H:%M}.")
    print(f"\nFound: {found}. Progress is in '{place}'.")
    return 0


def _ask(exercise: drill.Exercise, judge: Callable[[], Judge]) -> bool | None:
    """Whether the move was found at once; None at the end of the input or on `quit`."""
    position = game.Position(exercise.fen)
    print(f"\n{terminal.draw(position, terminal.detect(sys.stdout), flipped=position.side == bitboard.BLACK)}\n")
    print(f"{fen.COLOUR_NAMES[position.side]} to move. You played {exercise.number}{exercise.played}; what is better?")
    tries = 0
    while tries < drill.ATTEMPTS:
        text = _answer()
        if text is None or text in ("quit", "exit", "q"):
            return None
        if text == "hint":
            print(drill.hint_for(exercise))
            tries = max(tries, drill.ATTEMPTS - 1)
        elif text in ("show", "skip", "?"):
            break
        else:
            try:
                reply = drill.reply_to(exercise, text, judge())
            except MoveRejected as error:
                print(f"{error} ({_HELP})")
                continue
            if reply.is_right:
                print("Right." if tries == 0 else "Correct this time.")
                return tries == 0
            tries += 1
            print(f"{reply.sentence}{' Try again.' if tries < drill.ATTEMPTS else ''}")
    print(f"The move is {exercise.number}{exercise.solution}.")
    return False


def _answer() -> str | None:
    try:
        return input("> ").strip()
    except EOFError:
        print()
        return None


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino drill",
        description="Practise from your own mistakes: positions with one clearly best move that you did not find.",
        examples=(
            "merino drill mine.pgn --player me",
            "merino drill mine.pgn --player me --list",
            "merino drill mine.pgn --player me --pgn study.pgn --anki cards.txt",
        ),
        notes="The first run looks through the games; exercises and progress are kept in one file. What you find is "
        f"asked again after longer and longer, what you miss soon. At the prompt: {_HELP}.",
    )
    parser.add_argument("file", metavar="GAMES.pgn", type=shared.file_path, help="the games, plain or compressed")
    parser.add_argument("--player", metavar="NAME", required=True, help="who is meant; a part of the name will do")
    sentence = "keep the progress in this file (default: GAMES.pgn.drill.json)"
    parser.add_argument("--progress", metavar="FILE", type=shared.file_path, help=sentence)
    shared.add_judge(parser)
    sentence = "ask so many exercises (default: %(default)s)"
    parser.add_argument("--count", metavar="N", type=shared.positive, default=DEFAULT_COUNT, help=sentence)
    sentence = "make so many exercises at most (default: %(default)s)"
    parser.add_argument("--most", metavar="N", type=shared.positive, default=drill.MAX_EXERCISES, help=sentence)
    parser.add_argument("--list", action="store_true", help="list the exercises with their solutions")
    sentence = "ask exercises from mistakes of this kind, as 'merino profile' names it"
    parser.add_argument("--kind", metavar="KIND", choices=claims.MISTAKES, help=sentence)
    add = parser.group(shared.OUTPUT).add_argument
    add("--pgn", metavar="FILE", type=shared.file_path, help="write the exercises as a study in PGN")
    add("--anki", metavar="FILE", type=shared.file_path, help="write them as cards for Anki")
    shared.add_report(parser, "with --list, print the exercises as a list of JSON objects")
    return parser
