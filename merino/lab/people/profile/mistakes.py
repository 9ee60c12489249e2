"""The mistakes of a player: of which kind they are, how far one must look to see them, and what tempted to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common.work import in_order
from merino.engine.notation.san import move_number, san
from merino.engine.search.choice import SIGHTS, expected_scores
from merino.engine.search.limits import Limits
from merino.eval.evaluation import Evaluation
from merino.lab.people.profile.choices import Choices
from merino.lab.people.profile.groups import Interval, share_of
from merino.lab.people.profile.players import PlayerGames
from merino.learn.rescoring import Rescore
from merino.study.analyser import Analyser, best_line, expected_of
from merino.study.annotate.analysis import MISTAKE
from merino.study.reasons.mistakes import MistakeKind, as_found, mistake_in

JUDGE_NODES = 5_000  # of the searches that say what a move loses, and what kind of mistake it is
DEPTHS = range(1, 9)  # plies after a mistake, to which it is looked at
_TOGETHER = 16  # moves that are judged with one table
MIN_TEMPTED = 20  # positions with a temptation that say something
EXAMPLES = 3  # moves that a statement comes from


@dataclass(frozen=True)
class Example:
    """A move that a statement comes from."""

    game: int  # its number in the file
    title: str
    move: str  # "23.Rxe6"
    fen: str  # before it


@dataclass(frozen=True)
class FoundMistake:
    """A mistake."""

    index: int  # of the position, in the choices
    kind: MistakeKind
    loss: float  # of the expected score
    plies: int | None  # that one must look beyond it to see it; None if more than DEPTHS
    example: Example


@dataclass(frozen=True)
class KindCount:
    """The mistakes of one kind."""

    kind: str
    count: int
    share: Interval  # of all mistakes
    loss: float  # the mean
    plies: float | None  # the median, None if it lies beyond DEPTHS
    examples: tuple[Example, ...]  # the costliest


@dataclass(frozen=True)
class Mistakes:
    """The mistakes, in the order of the choices."""

    found: tuple[FoundMistake, ...]

    def kinds(self, chosen: np.ndarray) -> tuple[KindCount, ...]:
        """The kinds in the positions that bool[n] names, the most frequent first."""
        those = [mistake for mistake in self.found if chosen[mistake.index]]
        by_kind: dict[MistakeKind, list[FoundMistake]] = {}
        for mistake in those:
            by_kind.setdefault(mistake.kind, []).append(mistake)
        counted = [_counted(kind, found, len(those)) for kind, found in by_kind.items()]
        return tuple(sorted(counted, key=lambda kind: (-kind.count, kind.kind)))

    @property
    def by_plies(self) -> dict[int | None, int]:
        """How many mistakes one sees by looking so many plies beyond them, and no fewer; None: farther."""
        depths = [mistake.plies for mistake in self.found]
        return {depth: depths.count(depth) for depth in (*DEPTHS, None) if depth in depths}


def _counted(kind: MistakeKind, found: Sequence[FoundMistake], total: int) -> KindCount:
    deepest = len(DEPTHS) + 1
    middle = float(np.median([mistake.plies or deepest for mistake in found]))
    costly = sorted(found, key=lambda mistake: -mistake.loss)[:EXAMPLES]
    return KindCount(
        kind.value,
        len(found),
        share_of(len(found), total),
        float(np.mean([mistake.loss for mistake in found])),
        middle if middle < deepest else None,
        tuple(mistake.example for mistake in costly),
    )


def losses_of(
    player: PlayerGames, choices: Choices, evaluation: Evaluation, report: Callable[[float], object] = lambda _: None
) -> np.ndarray:
    """The expected score that each move lost by searches of JUDGE_NODES before and after it, float64[n].

    It is not cut off at zero, so that what searches err does not add to the mean. `report` gets the share done.
    """
    rescore, stop = Rescore(JUDGE_NODES, evaluation), np.zeros(1, dtype=np.uint64)
    places = list(zip(choices.games.tolist(), choices.plies.tolist(), strict=True))
    parts = [places[first : first + _TOGETHER] for first in range(0, len(places), _TOGETHER)]

    def losses(part: Sequence[tuple[int, int]]) -> np.ndarray:
        pairs = [player.games[game].positions[ply : ply + 2] for game, ply in part]
        signs = np.array([1.0 if player.games[game].colour == WHITE else -1.0 for game, _ in part])
        scores = rescore.scores_of(np.concatenate(pairs), stop).reshape(-1, 2)
        expected = expected_scores(signs[:, None] * scores, evaluation.k)
        return np.asarray(expected[:, 0] - expected[:, 1])

    found = []
    for number, lost in enumerate(in_order(losses, parts), start=1):
        found.append(lost)
        report(number / len(parts))
    return np.concatenate(found) if found else np.zeros(0)


def mistakes_of(
    player: PlayerGames,
    choices: Choices,
    losses: np.ndarray,
    evaluation: Evaluation,
    analyse: Analyser,
    report: Callable[[float], object] = lambda _: None,
) -> Mistakes:
    """The mistakes among the moves played, by their `losses`; `report` gets the share done.

    How far one must look to see a mistake is right only if `analyse` forgets what it has found before.
    """
    suspected = np.flatnonzero(losses >= MISTAKE).tolist()
    found = []
    for number, index in enumerate(suspected, start=1):
        mistake = _judged(player, choices, index, evaluation, analyse)
        found += [] if mistake is None else [mistake]
        report(number / len(suspected))
    return Mistakes(tuple(found))


def _judged(
    player: PlayerGames, choices: Choices, index: int, evaluation: Evaluation, analyse: Analyser
) -> FoundMistake | None:
    """What kind of mistake a move is; None if the lines of another search show none."""
    example, played = example_of(player, choices, index), int(choices.moves[choices.played[index]])
    position = Position(example.fen)
    after = position.copy()
    after.push(played)
    seen = _by_depth(after, evaluation, analyse)
    answer, better = (best_line(each, Limits(nodes=JUDGE_NODES), analyse) for each in (after, position))
    if better is None or int(better.pv[0]) == played:
        return None
    best = expected_of(better.score, evaluation)
    loss = best - (1 - expected_of(answer.score, evaluation) if answer else seen[-1])
    if loss < MISTAKE:
        return None
    kind = mistake_in(position, played, as_found(better), as_found(answer), evaluation).kind
    shown = [best - expected >= MISTAKE for expected in seen]
    plies = next((depth for depth, _ in enumerate(shown, start=1) if all(shown[depth - 1 :])), None)
    return FoundMistake(index, kind, loss, plies, example)


def _by_depth(after: Position, evaluation: Evaluation, analyse: Analyser) -> list[float]:
    """What searches of DEPTHS leave the player who has come to a position, not to move."""
    seen = []
    for depth in DEPTHS:
        line = best_line(after, Limits(depth=depth), analyse)
        seen.append(0.5 if line is None else 1 - expected_of(line.score, evaluation))
    return seen


def example_of(player: PlayerGames, choices: Choices, index: int) -> Example:
    """The move played in one of the positions."""
    game, ply = player.games[int(choices.games[index])], int(choices.plies[index])
    fen, move = to_fen(game.positions[ply : ply + 1]), int(choices.moves[choices.played[index]])
    position = Position(fen)
    return Example(game.number, game.title, f"{move_number(position)}{san(position, move)}", fen)


@dataclass(frozen=True)
class Sight:
    """The mistakes by the search that first sees them, from the shallowest on, and those of the deepest alone."""

    nodes: int
    mistakes: int


@dataclass(frozen=True)
class Temptation:
    """Positions in which the move that a short search likes best is a mistake, and a longer one sees it."""

    nodes: int  # of the short search
    sees: int  # nodes of the longer one
    positions: int
    fallen: Interval  # the share in which it was played
    others: float  # the share in which the average player would play it

    @property
    def is_enough(self) -> bool:
        """Whether there are positions enough to say something."""
        return self.positions >= MIN_TEMPTED


def sights_of(choices: Choices) -> tuple[Sight, ...]:
    """The mistakes by the shallowest search that finds them so."""
    are_seen = choices.losses >= MISTAKE
    mistakes = are_seen[:, -1]
    first = np.argmax(are_seen, axis=1)
    return tuple(Sight(nodes, int((mistakes & (first == depth)).sum())) for depth, nodes in enumerate(SIGHTS))


def temptations_of(choices: Choices, usual: np.ndarray) -> tuple[Temptation, ...]:
    """The temptations of each search but the longest; `usual` are the average player's chances, float64[m]."""
    found = []
    spans = list(zip(choices.firsts[:-1].tolist(), choices.firsts[1:].tolist(), strict=True))
    for depth, nodes in enumerate(SIGHTS[:-1]):
        liked = np.array([first + int(np.argmax(choices.columns[first:last, depth])) for first, last in spans])
        losses = -choices.columns[liked][:, [depth + 1, len(SIGHTS) - 1]]
        is_trap = (losses >= MISTAKE).all(axis=1)
        total = int(is_trap.sum())
        if total:
            fallen = int((liked == choices.played)[is_trap].sum())
            others = float(usual[liked[is_trap]].mean())
            found.append(Temptation(nodes, SIGHTS[depth + 1], total, share_of(fallen, total), others))
    return tuple(found)
