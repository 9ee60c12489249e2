"""A profile: what a player's games say about the player, with intervals and the moves that each statement comes from.

What moves lose by phase, colour, clock and time; results and losses by opening; the kinds of mistakes, and how far one
must look to see them. Means come with 95% intervals that take the moves of a game together. Faces
show what is beyond chance (`is_enough`); `as_object` has all of it.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.fen import COLOUR_NAMES, START_FEN, to_fen
from merino.core.board.game import Position
from merino.core.common.errors import instance, whole_number
from merino.core.common.files import user_path
from merino.engine.notation.san import move_number, san
from merino.engine.search import known_openings
from merino.engine.search.limits import DEFAULT_HASH_MB, Limits
from merino.eval.linear.compiled import stages_of
from merino.eval.material import FULL_BOARD
from merino.formats.sources import LeftOut
from merino.lab.people.games import MAX_CHOICES, Choices, PlayerGame, PlayerGames, choices_of, games_of_player
from merino.match.statistics import t_95, wilson_interval
from merino.study import annotation, errors
from merino.study.claims import UNPROVED
from merino.study.judge import Judge, judge_of
from merino.study.lines import after_move

MIN_CHOICES = 60  # positions; fewer say nothing about anybody
JUDGING = Limits(nodes=5_000)  # of the searches that say what a move loses; what looks like a mistake gets more
DEPTHS = range(1, 9)  # plies after a mistake, to which it is looked at
EXAMPLES = 3  # moves that a statement comes from
PERIODS = 6  # of the games, at most
MIN_MOVES = 50  # of a period
_DAY = re.compile(r"\d{4}\.(\d\d|\?\?)\.(\d\d|\?\?)")
WIDE = 0.5  # of a mean: an interval that reaches farther to a side says too little
MIN_GAMES = 5  # that an interval of means by game needs
COIN_OF_A_GAME = 0.25  # variance of a game that is lost or won by chance
MIN_RESULTS = 15  # of an opening: of fewer, those with a narrow interval are the lucky ones
MAX_ERROR = 0.15  # of the score of an opening: a wider interval says too little
SET_UP = "set-up positions"
LESSONS, MIN_OF_KIND, MIN_MORE = 3, 3, 0.01  # at most; mistakes of a kind; of a point a move: less is not worth a word
# Parts of the games of which two are compared, each with its place in a sentence.
PHASES = {"opening and middlegame": "in openings and middlegames", "endgame": "in endgames"}
COLOURS = {"with White": "with White", "with Black": "with Black"}
CLOCKS = {
    "a minute or more left": "with a minute or more left",
    "less than a minute left": "with less than a minute left",
}


@dataclass(frozen=True)
class Interval:
    """A mean, and its 95% interval. In JSON three keys: `loss`, `loss_low`, `loss_high`."""

    value: float
    low: float
    high: float

    @property
    def is_wide(self) -> bool:
        """Whether the interval reaches farther than the mean allows."""
        return (self.high - self.low) / 2 > WIDE * abs(self.value)


@dataclass(frozen=True)
class Example:
    """A move that a statement comes from."""

    game: int  # its number in the file
    title: str
    move: str  # "23.Rxe6"
    fen: str  # before it


@dataclass(frozen=True)
class MoveGroup:
    """Some of the moves: their number, the share of a point that they lose on average, and the share of mistakes."""

    name: str
    games: int
    moves: int
    loss: Interval
    mistakes: Interval
    is_enough: bool  # whether the interval of the loss says something


@dataclass(frozen=True)
class OverTime:
    """The moves by periods, the earliest first, and how much more is lost in the later half of the games."""

    by: str  # "date", or "place in the file" where not every game has a date
    periods: tuple[MoveGroup, ...]
    change: Interval | None  # None with too few games
    direction: int  # 1 if less is lost later, -1 if more is, 0 where that may be chance


@dataclass(frozen=True)
class KindCount:
    """The mistakes of one kind."""

    kind: str
    count: int
    share: Interval  # of all mistakes
    loss: float  # the mean
    plies: float | None  # the median that one must look ahead to see them, None if it lies beyond DEPTHS
    examples: tuple[Example, ...]  # the costliest


@dataclass(frozen=True)
class SeenMistakes:
    """How many mistakes one sees by looking so many plies beyond them, and no fewer; None: farther than DEPTHS."""

    plies: int | None
    mistakes: int


@dataclass(frozen=True)
class MistakeCounts:
    """All mistakes, the most frequent kind first."""

    count: int
    kinds: tuple[KindCount, ...]
    plies: tuple[SeenMistakes, ...]


@dataclass(frozen=True)
class OpeningRecord:
    """The games of a player with one opening and one colour."""

    name: str  # without the variation: "Sicilian Defence"; "other openings, 1.a3" of one without a name
    eco: tuple[str, ...]  # codes of its variations, sorted
    colour: str  # the player's
    games: int
    won: int
    drawn: int
    lost: int
    score: Interval | None  # the share of the points, None if no game has a result
    is_enough: bool  # whether the score says something
    moves: MoveGroup | None  # after the opening, None if none was looked at
    kinds: tuple[KindCount, ...]  # of mistakes in these games, the most frequent first


@dataclass(frozen=True)
class Lesson:
    """What a player may gain by, beyond chance, in a sentence, and what it has cost in the moves that were judged."""

    sentence: str
    points: float
    kind: str | None  # of mistakes to practise; None if it is about none
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Profile:
    """All that is said of a player; its fields are the keys of the JSON."""

    player: str
    rating: int | None
    judge: str  # who judged the moves
    games: int
    moves: int  # that it is based on
    plies: int  # moves of the player after the opening, in all games
    lessons: tuple[Lesson, ...]  # the most rewarding first
    parts: tuple[MoveGroup, ...]
    over_time: OverTime
    openings: tuple[OpeningRecord, ...]
    mistakes: MistakeCounts
    faulty: int  # games that could not be read
    left_out: LeftOut  # these, and the games without moves

    def __repr__(self) -> str:
        return f"Profile({self.player!r}, games={self.games}, moves={self.moves})"


def as_object(value: Any) -> Any:
    """A profile, or a part of one, as JSON data: expected scores and their losses are shares of a point."""
    if isinstance(value, LeftOut):
        return value.as_json()["left_out"]
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, tuple):
        return [as_object(item) for item in value]
    if not is_dataclass(value):
        return value
    found: dict[str, Any] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if "Interval" not in str(field.type):
            found[field.name] = as_object(part)
            continue
        ends = (None, None, None) if part is None else (part.value, part.low, part.high)
        keys = (field.name, f"{field.name}_low", f"{field.name}_high")
        found |= {key: as_object(end) for key, end in zip(keys, ends, strict=True)}
    return found


def profile(
    file: str | Path,
    player: str,
    positions: int = MAX_CHOICES,
    *,
    judge: str | None = None,
    progressed: Callable[[str, float], object] = lambda what, done: None,
) -> Profile:
    """The profile of a player, named in full or in part, from at most so many positions of a PGN file.

    `judge` is a net, "terms", or the command of an engine; None is the strongest net. `progressed` gets what is done,
    and the share. Raises StudyError if it is not clear who is meant, if there are too few positions, or if the judge
    fails.
    """
    instance("file", file, (str, Path), "the path of a file")
    instance("player", player, str, "the name of a player, or a part of it")
    whole_number("positions", positions, MIN_CHOICES)
    found = games_of_player(user_path(str(file)), player)
    with judge_of(judge, DEFAULT_HASH_MB, 1) as judging:
        return profile_of(found, positions, judging, progressed)


def profile_of(
    player: PlayerGames, most: int, judge: Judge, report: Callable[[str, float], object] = lambda what, done: None
) -> Profile:
    """The profile of a player from at most so many positions; `report` gets what is done, and the share.

    Raises StudyError if there are too few, or if the judge fails.
    """
    choices = choices_of(player, most)
    if len(choices) < MIN_CHOICES or len(set(choices.games.tolist())) < 2:
        few = f"not enough games: {player.count} of '{player.name}' have {len(choices)} positions with a choice "
        few += f"after the opening; {MIN_CHOICES} from two games or more are needed, and some hundred say something"
        raise errors.StudyError("; ".join([few, *player.left_out.lines()]))
    losses = losses_of(player, choices, judge, partial(report, "Judging moves"))
    found = mistakes_of(player, choices, losses, judge, partial(report, "Looking into mistakes"))
    moves = JudgedMoves(choices, losses, np.isin(np.arange(len(choices)), [mistake.index for mistake in found]))
    parts, kinds = parts_of(player, moves), kinds_of(found)
    depths = [mistake.plies for mistake in found]
    seen = tuple(SeenMistakes(depth, depths.count(depth)) for depth in (*DEPTHS, None) if depth in depths)
    return Profile(
        player=player.name,
        rating=None if player.rating is None else round(player.rating),
        judge=judge.name,
        games=player.count,
        moves=len(choices),
        plies=player.plies,
        lessons=lessons_of(parts, kinds, len(found)),
        parts=parts,
        over_time=over_time(player, moves),
        openings=openings_of(player, moves, found),
        mistakes=MistakeCounts(len(found), kinds, seen),
        faulty=player.faulty,
        left_out=player.left_out,
    )


def in_plies(count: float) -> str:
    """So many, in words: "2 plies"."""
    return f"{count:g} {'ply' if count == 1 else 'plies'}"


def lessons_of(parts: Sequence[MoveGroup], kinds: Sequence[KindCount], mistakes: int) -> tuple[Lesson, ...]:
    """At most LESSONS of what has cost most: kinds of mistakes, and parts of the games in which more is lost."""
    found = list[Lesson]()
    for kind in kinds:
        if kind.count >= MIN_OF_KIND and kind.kind != UNPROVED:
            seen = "" if kind.plies is None else f", half of them seen {in_plies(kind.plies)} on"
            sentence = f"{kind.kind}: {kind.count} of {mistakes} mistakes{seen}, {kind.loss:.0%} of a point each"
            found.append(Lesson(sentence, kind.count * kind.loss, kind.kind, kind.examples))
    named = {part.name: part for part in parts if part.is_enough}
    for pair in (PHASES, COLOURS, CLOCKS):
        if not named.keys() >= set(pair):
            continue
        better, worse = sorted((named[name] for name in pair), key=lambda part: part.loss.value)
        more = difference(better.loss, worse.loss)
        if more.low > 0 and more.value >= MIN_MORE:
            where = f"{pair[worse.name]} than {pair[better.name]}"
            sentence = f"you lose {more.value:.1%} of a point a move more {where}"
            found.append(Lesson(sentence, more.value * worse.moves, None, ()))
    return tuple(sorted(found, key=lambda lesson: -lesson.points)[:LESSONS])


# What moves lose, by groups


@dataclass(frozen=True)
class JudgedMoves:
    """The moves that a player chose, and what a longer search says of each."""

    choices: Choices
    losses: np.ndarray  # of the expected score, float64[n]; below zero where the search has come to think better of it
    are_mistakes: np.ndarray  # bool[n]

    def group(self, name: str, chosen: np.ndarray) -> MoveGroup:
        """The moves for which bool[n] is true, at least one."""
        losses, games = self.losses[chosen], self.choices.games[chosen]
        loss, count = mean_of(losses, games), len(np.unique(games))
        mistakes = share_by_game(self.are_mistakes[chosen], games)
        return MoveGroup(name, count, len(losses), loss, mistakes, count >= MIN_GAMES and not loss.is_wide)

    def groups(self, named: Iterable[tuple[str, np.ndarray]]) -> tuple[MoveGroup, ...]:
        """The groups with their names; those without moves are left out."""
        return tuple(self.group(name, chosen) for name, chosen in named if chosen.any())


def losses_of(
    player: PlayerGames, choices: Choices, judge: Judge, report: Callable[[float], object] = lambda _: None
) -> np.ndarray:
    """The expected score that each move lost by searches within JUDGING of all moves and of it alone, float64[n].

    It is not cut off at zero, so that what searches err does not add to the mean. Both are searches of one position,
    for engines may prefer the side that they search for. `report` gets the share done.
    """
    losses = np.zeros(len(choices))
    for index in range(len(choices)):
        position, played, _ = _choice(player, choices, index)
        judge.new_game()  # so that no loss depends on the moves before it
        best = judge.line(position, JUDGING)
        if best.pv[0] != played:
            own = judge.line(position, replace(JUDGING, search_moves=[played]))
            losses[index] = judge.expected(best.score) - judge.expected(own.score)
        report((index + 1) / len(choices))
    return losses


def _choice(player: PlayerGames, choices: Choices, index: int) -> tuple[Position, int, PlayerGame]:
    """A position, the move played there, and the game."""
    game, ply = player.games[int(choices.games[index])], int(choices.plies[index])
    return Position(to_fen(game.positions[ply : ply + 1])), int(game.moves[ply]), game


def parts_of(player: PlayerGames, moves: JudgedMoves) -> tuple[MoveGroup, ...]:
    """The moves by phase, colour and clock."""
    choices, stages = moves.choices, stages_of(moves.choices.positions)
    colours = np.array([game.colour for game in player.games])[choices.games]
    named = {
        "all moves": np.ones(len(choices), dtype=bool),
        **dict(zip(PHASES, (stages > FULL_BOARD // 2, stages <= FULL_BOARD // 2), strict=True)),
        **dict(zip(COLOURS, (colours == WHITE, colours != WHITE), strict=True)),
    }
    places = zip((player.games[index] for index in choices.games.tolist()), choices.plies.tolist(), strict=True)
    left = np.array([game.clocks[ply - 2] for game, ply in places])
    if not np.isnan(left).all():
        named |= dict(zip(CLOCKS, (left >= 60, left < 60), strict=True))
    return moves.groups(named.items())


def over_time(player: PlayerGames, moves: JudgedMoves) -> OverTime:
    """The moves in the order in which they were played, in periods with as many moves each."""
    dated = all(_DAY.fullmatch(game.date) for game in player.games)
    keys = [(game.date if dated else "", game.number) for game in player.games]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    rank = np.argsort(order)[moves.choices.games]
    periods = [period for period in _cut(rank, min(PERIODS, len(rank) // MIN_MOVES)) if period.any()]
    ends = [(player.games[order[rank[each].min()]], player.games[order[rank[each].max()]]) for each in periods]
    names = [" to ".join(dict.fromkeys(game.date.rstrip("?.") for game in pair)) for pair in ends]
    if not dated or len(set(names)) < len(names):
        numbers = [tuple(dict.fromkeys(game.number for game in pair)) for pair in ends]
        names = [f"game{'s' if len(pair) > 1 else ''} {' to '.join(map(str, pair))}" for pair in numbers]
    halves = [moves.group("", half) for half in _cut(rank, 2) if half.any()]
    change, direction = None, 0
    if len(halves) == 2 and min(half.games for half in halves) >= MIN_GAMES:
        change = difference(halves[0].loss, halves[1].loss)
        direction = 0 if change.low <= 0 <= change.high else -1 if change.low > 0 else 1
    groups = moves.groups(zip(names, periods, strict=True))
    return OverTime("date" if dated else "place in the file", groups, change, direction)


def _cut(rank: np.ndarray, parts: int) -> list[np.ndarray]:
    """Which moves belong to each part, bool[n]: whole games by rank, the parts about as large."""
    parts = max(parts, 1)
    counts = np.cumsum(np.bincount(rank))
    part = ((counts - 1) * parts // counts[-1])[rank]
    return [part == number for number in range(parts)]


# Intervals


def mean_of(values: np.ndarray, games: np.ndarray) -> Interval:
    """The mean of what moves lose, float64[n], n > 0, taking those of one game, int64[n], together; from -1 to 1.

    With less than MIN_GAMES games it may lie anywhere.
    """
    value, clusters = float(values.mean()), len(np.unique(games))
    if clusters < MIN_GAMES:
        return Interval(value, -1.0, 1.0)
    error = t_95(clusters - 1) * math.sqrt(_variance_of_mean(values, games))
    return Interval(value, max(-1.0, value - error), min(1.0, value + error))


def mean_score(scores: np.ndarray) -> Interval:
    """The mean score of games, float64[n], n > 0, from 0 to 1; with less than MIN_GAMES it may lie anywhere.

    A game that could have been lost or won counts as one more, so that a few equal results do not look certain.
    """
    value, count = float(scores.mean()), len(scores)
    if count < MIN_GAMES:
        return Interval(value, 0.0, 1.0)
    squares = float(((scores - value) ** 2).sum()) + COIN_OF_A_GAME
    error = t_95(count - 1) * math.sqrt(squares / (count - 1) / count)
    return Interval(value, max(0.0, value - error), min(1.0, value + error))


def share_by_game(flags: np.ndarray, games: np.ndarray) -> Interval:
    """The share of moves, bool[n], n > 0, taking those of one game, int64[n], together.

    Moves that agree within games count as so many fewer (L. Kish's design effect).
    """
    share, count = float(flags.mean()), len(flags)
    alone = share * (1 - share) / count
    several = len(np.unique(games)) > 1 and alone > 0
    effect = max(1.0, _variance_of_mean(flags, games) / alone) if several else 1.0
    return share_of(share * count / effect, count / effect)


def _variance_of_mean(values: np.ndarray, games: np.ndarray) -> float:
    """The variance of the mean of values of moves, those of one game taken together."""
    _, places = np.unique(games, return_inverse=True)
    sums = np.bincount(places, weights=values - values.mean())
    return float((sums**2).sum()) / len(values) ** 2 * len(sums) / (len(sums) - 1)


def share_of(count: float, of: float) -> Interval:
    """A share, of at least one."""
    share = count / of
    low, high = map(float, wilson_interval(share, of))
    return Interval(share, max(0.0, min(share, low)), min(1.0, max(share, high)))


def difference(first: Interval, second: Interval) -> Interval:
    """How much more the second is, by other games than the first."""
    value = second.value - first.value
    error = math.hypot((first.high - first.low) / 2, (second.high - second.low) / 2)
    return Interval(value, value - error, value + error)


# Mistakes


@dataclass(frozen=True)
class FoundMistake:
    """A mistake."""

    index: int  # of the position, in the choices
    kind: str
    loss: float  # of the expected score
    plies: int | None  # that one must look beyond it to see it; None if more than DEPTHS
    example: Example


def mistakes_of(
    player: PlayerGames,
    choices: Choices,
    losses: np.ndarray,
    judge: Judge,
    report: Callable[[float], object] = lambda _: None,
) -> list[FoundMistake]:
    """The mistakes among the moves played, by their `losses`, in the order of the choices; `report` gets the share.

    What looks like one is judged as in annotated games, by searches with more nodes.
    """
    suspected, found = np.flatnonzero(losses >= annotation.GRADES[-1].least_loss).tolist(), []
    for number, index in enumerate(suspected, start=1):
        position, played, game = _choice(player, choices, index)
        judge.new_game()
        moves = [position.uci(played)]
        (judged,) = annotation.annotate_moves(position, moves, judge, lambda _: JUDGING, (position.side,))
        if judged.mistake is not None and judged.loss >= annotation.MISTAKE:
            example = Example(game.number, game.title, f"{move_number(position)}{judged.san}", position.fen())
            plies = _plies_to(position, judged, judge)
            found.append(FoundMistake(index, judged.mistake.kind, judged.loss, plies, example))
        report(number / len(suspected))
    return found


def _plies_to(position: Position, judged: annotation.AnnotatedMove, judge: Judge) -> int | None:
    """How many plies one must look beyond a mistake, and no fewer, to see what it loses; None for more than DEPTHS."""
    after, best, needed = after_move(position, judged.move), judged.better.seen_by(position.side), None
    for depth in reversed(DEPTHS):
        judge.new_game()  # so that a search sees no farther than its depth
        seen = annotation.verdict_on(after, judge, Limits(depth=depth)).seen_by(position.side)
        if judge.loss(position, best, seen) < annotation.MISTAKE:
            break
        needed = depth
    return needed


def kinds_of(mistakes: Sequence[FoundMistake]) -> tuple[KindCount, ...]:
    """The kinds of mistakes, the most frequent first."""
    kinds, deepest = [], len(DEPTHS) + 1
    for kind in {mistake.kind for mistake in mistakes}:
        found = [mistake for mistake in mistakes if mistake.kind == kind]
        middle = float(np.median([mistake.plies or deepest for mistake in found]))
        examples = tuple(each.example for each in sorted(found, key=lambda mistake: -mistake.loss)[:EXAMPLES])
        loss, plies = float(np.mean([mistake.loss for mistake in found])), middle if middle < deepest else None
        kinds.append(KindCount(kind, len(found), share_of(len(found), len(mistakes)), loss, plies, examples))
    return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.kind)))


# Openings


def openings_of(player: PlayerGames, moves: JudgedMoves, mistakes: Sequence[FoundMistake]) -> tuple[OpeningRecord, ...]:
    """The openings by colour, the most frequent first."""
    found: dict[tuple[str, int], list[int]] = {}
    codes: dict[tuple[str, int], set[str]] = {}
    for index, game in enumerate(player.games):
        name, eco = _named(game)
        found.setdefault((name, game.colour), []).append(index)
        codes.setdefault((name, game.colour), set()).update({eco} - {""})
    records = []
    for name, colour in sorted(found, key=lambda key: (-len(found[key]), key)):
        indices = found[name, colour]
        scores = np.array([own for index in indices if (own := player.games[index].score) is not None])
        score = mean_score(scores) if len(scores) else None
        chosen = np.isin(moves.choices.games, indices)
        record = OpeningRecord(
            name=name,
            eco=tuple(sorted(codes[name, colour])),
            colour=COLOUR_NAMES[colour],
            games=len(indices),
            won=int((scores == 1).sum()),
            drawn=int((scores == 0.5).sum()),
            lost=int((scores == 0).sum()),
            score=score,
            is_enough=score is not None and len(scores) >= MIN_RESULTS and (score.high - score.low) / 2 <= MAX_ERROR,
            moves=moves.group(name, chosen) if chosen.any() else None,
            kinds=kinds_of([mistake for mistake in mistakes if chosen[mistake.index]]),
        )
        records.append(record)
    return tuple(records)


def _named(game: PlayerGame) -> tuple[str, str]:
    """The name of a game's opening, and its code; those of the table, for the tag may be anybody's."""
    fen = to_fen(game.start)
    if fen.split()[:4] != START_FEN.split()[:4]:
        return SET_UP, ""
    opening = known_openings.opening_by(game.positions["key"][: known_openings.longest_opening() + 1].tolist())
    if opening is None:
        return f"other openings, 1.{san(fen, int(game.moves[0]))}", ""
    return opening.name.split(",")[0], opening.eco
