"""`merino profile GAMES.pgn --player NAME`: what a player's games say about the player, as text or JSON."""

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from merino.app.console import shared
from merino.core.board.fen import COLOUR_NAMES
from merino.core.common import terminal, text
from merino.lab.people import profile
from merino.lab.people.games import MAX_CHOICES
from merino.study.claims import UNPROVED

SHOWN = 6  # rows of a part, at most
NOT_ENOUGH = "not enough games"
_NAME = 28  # columns of a row's name


def run_profile(arguments: Sequence[str]) -> int:
    """The command in a shell; raises MerinoError."""
    args = _parser().parse_args(arguments)
    with terminal.Progress(shared.progress_stream(args.quiet)) as show:
        found = profile.profile(args.file, args.player, args.positions, judge=args.judge, progressed=show)
    shared.say_left_out(found.left_out, args.quiet)
    print(json.dumps(profile.as_object(found)) if args.json else render(found, args.file))
    return 0


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino profile",
        description="Say what a player's moves lose and when, with which openings and by which mistakes.",
        examples=("merino profile games.pgn --player Carlsen", "merino profile mine.pgn --player me --json"),
        notes="Moves after the opening are judged by searches. What may be chance is left out; --json has all of it.",
    )
    parser.add_argument("file", metavar="GAMES.pgn", type=shared.file_path, help="the games, plain or compressed")
    parser.add_argument("--player", metavar="NAME", required=True, help="the player's name, or a part of it")
    sentence = "look at this many positions of the games at most (default: %(default)s)"
    parser.add_argument(
        "--positions", metavar="N", type=shared.whole(profile.MIN_CHOICES), default=MAX_CHOICES, help=sentence
    )
    shared.add_judge(parser)
    shared.add_report(parser)
    return parser


def render(found: profile.Profile, file: Path) -> str:
    """The profile from the games of a file as lines of text: what is beyond chance."""
    rating = "" if found.rating is None else f", rating {found.rating}"
    amount = f"{text.counted(found.games, 'game')}, {text.counted(found.moves, 'move')} after the opening"
    lines = [f"{found.player}{rating}: {amount}, judged by {found.judge}"]
    parts = {
        "What to work on": list(_lessons(found, file)),
        "What your moves lose: of a point a move; a mistake loses a tenth or more": list(_groups(found.parts)),
        f"Over time, by {found.over_time.by}": list(_over_time(found.over_time)),
        **{f"Your openings with {colour}": list(_openings(found, colour)) for colour in COLOUR_NAMES},
        "Your most frequent mistakes": list(_kinds(found)),
        "How far you look": list(_sight(found)),
    }
    for title, rows in parts.items():
        lines += ["", title, *(f"  {row}".rstrip() for row in rows)] if rows else []
    lines += ["", "In brackets: the 95% interval."]
    if found.plies >= 2 * found.moves:
        lines.append(f"Your games have {found.plies} moves after the opening: --positions looks at more of them.")
    return "\n".join(lines)


def _lessons(found: profile.Profile, file: Path) -> Iterator[str]:
    for number, lesson in enumerate(found.lessons, start=1):
        yield f"{number}. {lesson.sentence}"
        if lesson.examples:
            yield f"   such as {_named(lesson.examples[:1])}"
        if lesson.kind is not None:
            words = ["merino", "drill", str(file), "--player", found.player, "--kind", lesson.kind]
            yield f"   {shlex.join(words)}"


def _percents(interval: profile.Interval) -> str:
    """A share with its interval: "3.0% (2.1 to 4.0)"."""
    return f"{interval.value:.1%} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def _named(examples: Sequence[profile.Example]) -> str:
    return "; ".join(f"game {example.game}, {example.move}" for example in examples)


def _groups(groups: Sequence[profile.MoveGroup]) -> Iterator[str]:
    """A row for each group of moves that says something."""
    enough = [group for group in groups if group.is_enough]
    yield f"{'':<{_NAME}}{'moves':>7}  {'lost a move':<22}mistakes" if enough else NOT_ENOUGH
    for group in enough:
        yield f"{group.name:<{_NAME}}{group.moves:>7}  {_percents(group.loss):<22}{_percents(group.mistakes)}"


def _over_time(found: profile.OverTime) -> Iterator[str]:
    if found.change is not None and found.direction:
        yield from _groups(found.periods)
        how_much = f"{abs(found.change.value):.1%} of a point a move"
        yield f"In the later half you lose {how_much} {'less' if found.direction > 0 else 'more'}."


def _openings(found: profile.Profile, colour: str) -> Iterator[str]:
    own = [opening for opening in found.openings if opening.colour == colour]
    for opening in own[:SHOWN]:
        yield from _opening(opening)
    if len(own) > SHOWN:
        games = sum(opening.games for opening in own[SHOWN:])
        others = text.counted(len(own) - SHOWN, "other opening")
        yield f"and {text.counted(games, 'game')} with {others}; --json has them all"


def _opening(opening: profile.OpeningRecord) -> Iterator[str]:
    codes = f" ({opening.eco[0]}{f' to {opening.eco[-1]}' if len(opening.eco) > 1 else ''})" if opening.eco else ""
    yield f"{opening.name}{codes}"
    known = [f"points {_percents(opening.score)}"] if opening.score and opening.is_enough else []
    if opening.moves and opening.moves.is_enough:
        known.append(f"{_percents(opening.moves.loss)} lost a move")
    results = f"{text.counted(opening.games, 'game'):>11}  +{opening.won} ={opening.drawn} -{opening.lost}"
    yield f"  {results:<28} {'; '.join(known)}"
    most = next((kind for kind in opening.kinds if kind.kind != UNPROVED), None)
    if most and most.count > 1:
        yield f"  {'':<12} most often: {most.kind}, {most.count} ({_named(most.examples)})"


def _kinds(found: profile.Profile) -> Iterator[str]:
    for kind in found.mistakes.kinds[:SHOWN]:
        seen = "seen far on" if kind.plies is None else f"seen {profile.in_plies(kind.plies)} on"
        yield f"{kind.kind:<{_NAME}}{kind.count:>5}, {_percents(kind.share)} of all; {seen}"
        yield f"  such as {_named(kind.examples)}"


def _sight(found: profile.Profile) -> Iterator[str]:
    mistakes = found.mistakes
    if mistakes.count:
        yield f"Of {mistakes.count} mistakes you would have seen, by looking beyond your move:"
    so_far = 0
    for seen in mistakes.plies:
        so_far += seen.mistakes
        how_far = "farther" if seen.plies is None else profile.in_plies(seen.plies)
        yield f"  {how_far:<14}{seen.mistakes:>4}   all so far {so_far / mistakes.count:>4.0%}"
