"""Practice from a player's mistakes: exercises, answers, when each is due again, and the file that keeps them.

An exercise is a position with one clearly best move, which the player missed. Other programs get exercises as a PGN
study, or as cards for Anki. Due dates come from FSRS (the package `fsrs`, the extra `drill`): the better a move is
remembered, the longer until it is asked again.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import chess
import chess.pgn
import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common import about, files, sealed, work
from merino.core.common.text import counted
from merino.engine.notation.san import move_number, named_moves, read_move, san
from merino.engine.search import choice, limits
from merino.eval.families import default
from merino.eval.linear.family import LinearEvaluation
from merino.formats import pgn_text, sources
from merino.lab.people.games import PlayerGame, PlayerGames, folded
from merino.learn.rescoring import Rescore
from merino.study import annotation, claims, errors
from merino.study.judge import STRONGEST, Judge
from merino.study.lines import Course, after_move

SCAN_NODES = 1000  # of the search that looks for mistakes
SCREENING_NODES = 40_000  # of the search that judges them first
MIN_LEAD = 0.10  # of the best move over the second
MIN_EXPECTED = 0.35  # with the best move: less is lost anyway
MAX_EXERCISES = 100
_SCAN_LOSS = 0.07  # in the quick look, which may see less
_SHOWN = 6  # plies of a line
_UNBROKEN = 1 << 20  # columns of a study: other programs show the line ends of a comment
ATTEMPTS = 2  # at a move, before the solution is shown
REPLY_NODES = 40_000  # of the search for what refutes a move
_LEARNING, _REVIEW, _RELEARNING = 1, 2, 3  # states of a card, as FSRS numbers them
_MEMORY = ((1e-3, 1e9), (1.0, 10.0))  # lowest and highest stability, in days, and difficulty of a card


@dataclass(frozen=True)
class Exercise:
    """A position in which the player went wrong. Moves are in short notation, the loss is of the expected score."""

    fen: str
    played: str
    solution: str
    kind: str
    reason: str  # what shows the kind, "" if nothing does
    loss: float
    game: int  # its number in the file
    title: str
    number: str  # of the move: "23..."
    line: tuple[str, ...]  # from the solution on
    refutation: tuple[str, ...]  # after the move played

    @property
    def identity(self) -> str:
        """The same for the same exercise, in whatever file it is found."""
        return hashlib.blake2b(f"{self.fen} {self.solution}".encode(), digest_size=8).hexdigest()

    @property
    def board(self) -> chess.Board:
        """The position, by the rules of Chess960 where its castling rights need them."""
        return Position(self.fen).to_chess(stack=False)

    @property
    def why(self) -> str:
        """In words: what refutes the move played, and what the solution does."""
        answer = f" is answered by {' '.join(self.refutation)}" if self.refutation else " does less"
        line = f": {' '.join(self.line)}" if len(self.line) > 1 else ""
        return (
            f"{self.played}{answer} and costs {100 * self.loss:.0f}% of the points "
            f"({self.kind}{': ' if self.reason else ''}{self.reason}); "
            f"{self.solution} was right{line}."
        )

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"loss": round(self.loss, 4)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Exercise:
        """What `as_json` gave; raises KeyError, TypeError or ValueError for anything else."""
        found = sealed.record(cls, data)
        for moves in ((found.solution,), found.line, (found.played, *found.refutation)):
            board = found.board
            for move in moves:
                board.push_san(move)
        if not 0 <= found.loss <= 1:
            raise ValueError(f"a loss of {found.loss}")
        return found


def exercises_of(
    player: PlayerGames,
    evaluation: LinearEvaluation,
    judge: Judge,
    most: int = MAX_EXERCISES,
    report: Callable[[str, float], object] = lambda what, done: None,
) -> list[Exercise]:
    """Exercises from the games of a player, the costliest mistakes first.

    A quick search with `evaluation` looks for mistakes, the judge judges them; `report` gets what is done, and the
    share.
    """
    found: list[Exercise] = []
    candidates = _candidates(player, evaluation, lambda done: report("Looking for mistakes", done))
    for index, (game, ply) in enumerate(candidates):
        if len(found) >= most:
            break
        exercise = _exercise(game, ply, judge)
        if exercise is not None:
            found.append(exercise)
        report("Judging mistakes", (index + 1) / len(candidates))
    return sorted({exercise.identity: exercise for exercise in found}.values(), key=lambda exercise: -exercise.loss)


def _candidates(
    player: PlayerGames, evaluation: LinearEvaluation, report: Callable[[float], object]
) -> list[tuple[PlayerGame, int]]:
    """Games and plies where a quick search sees a mistake, the costliest first."""
    rescore, stop = Rescore(SCAN_NODES, evaluation), np.zeros(1, dtype=np.uint64)

    def losses(game: PlayerGame) -> np.ndarray:
        return _losses(game, rescore.scores_of(game.positions, stop), evaluation.k)

    candidates: list[tuple[float, int, int]] = []
    for index, lost in enumerate(work.in_order(losses, player.games)):
        candidates += [(-float(lost[ply]), index, int(ply)) for ply in np.flatnonzero(lost >= _SCAN_LOSS)]
        report((index + 1) / len(player.games))
    return [(player.games[index], ply) for _, index, ply in sorted(candidates)]


def _losses(game: PlayerGame, scores: np.ndarray, k: float) -> np.ndarray:
    """The expected score that each move lost, float64[plies]; 0 for those of the opponent and of the opening."""
    expected = choice.expected_scores((1 if game.colour == WHITE else -1) * scores.astype(np.float64), k)
    own = game.own_plies()
    fair = own[expected[own] >= MIN_EXPECTED - _SCAN_LOSS]
    lost = np.zeros(len(game.moves))
    lost[fair] = expected[fair] - expected[fair + 1]
    return lost


def _exercise(game: PlayerGame, ply: int, judge: Judge) -> Exercise | None:
    """The exercise that a mistake makes; None if the judge sees no mistake, or no move that is clearly best.

    What is one is judged once more, with more nodes.
    """
    fen, played = to_fen(game.positions[ply : ply + 1]), int(game.moves[ply])
    position = Position(fen)
    after = after_move(position, played)
    judge.new_game()  # so that no exercise depends on those before it
    first = limits.Limits(nodes=SCREENING_NODES)
    for within in (first, annotation.deeper(first)):
        lines = judge.analyse(position, within, 2)
        if len(lines) < 2 or int(lines[0].pv[0]) == played:
            return None
        answer = annotation.verdict_on(after, judge, within)
        best, second = ((line.score, judge.expected(line.score)) for line in lines)
        loss = judge.loss(position, best, answer.seen_by(position.side))
        if best[1] < MIN_EXPECTED or loss < annotation.MISTAKE or judge.loss(position, best, second) < MIN_LEAD:
            return None
    better, refutation = lines[0].pv, answer.best
    courses = Course(position, better, lines[0].score), Course(after, refutation, answer.score)
    mistake = claims.Prover(judge, annotation.deeper(first)).of_mistake(played, *courses)
    return Exercise(
        fen=position.fen(),
        played=san(position, played),
        solution=san(position, better[0]),
        kind=mistake.kind,
        reason=mistake.sentence,
        loss=loss,
        game=game.number,
        title=game.title,
        number=move_number(position),
        line=tuple(named_line(position, better)),
        refutation=tuple(named_line(after, refutation)),
    )


def named_line(position: Position, moves: Sequence[int]) -> list[str]:
    """The first moves of a line in short notation."""
    return [name for name, _ in named_moves(position, moves[:_SHOWN])]


@dataclass(frozen=True)
class Reply:
    """What is said of a move: whether it is the solution, a sentence, and the line that refutes it."""

    move: str  # in short notation
    is_right: bool
    sentence: str
    refutation: tuple[str, ...] = ()


def reply_to(exercise: Exercise, text: str, judge: Judge) -> Reply:
    """What is said of a move as people write it; raises MoveRejected if it is none."""
    position = Position(exercise.fen)
    move = read_move(position, text)
    name = san(position, move)
    if name == exercise.solution:
        return Reply(name, True, "Right.")
    if name == exercise.played and exercise.refutation:
        line = exercise.refutation
        return Reply(name, False, f"That is what you played: {line[0]} answers it.", line)
    judge.new_game()
    after = after_move(position, move)
    answer = annotation.verdict_on(after, judge, limits.Limits(nodes=REPLY_NODES))
    if not answer.best:
        return Reply(name, False, f"{name} is not the best.")
    line, left = tuple(named_line(after, answer.best)), answer.seen_by(position.side)[1]
    sentence = f"{name} is not the best: {line[0]} answers it, and leaves you {left:.0%} of the points."
    return Reply(name, False, sentence, line)


def hint_for(exercise: Exercise) -> str:
    """Which piece moves, in words."""
    return f"It moves the piece on {chess.square_name(exercise.board.parse_san(exercise.solution).from_square)}."


def as_pgn(exercises: Sequence[Exercise]) -> str:
    """A chapter for each: the position, the solution with its line, and the move played with its refutation."""
    chapters = (_chapter(number, exercise) for number, exercise in enumerate(exercises, start=1))
    return "".join(pgn_text.tree_text(chapter, _UNBROKEN) for chapter in chapters)


def _chapter(number: int, exercise: Exercise) -> chess.pgn.Game:
    game = chess.pgn.Game()
    game.setup(exercise.board)
    game.headers["Event"] = f"Exercise {number}: {exercise.kind}"
    game.headers["Site"] = f"game {exercise.game}"
    game.headers["White"], game.headers["Black"] = exercise.title, "?"
    game.comment = f"You played {exercise.number}{exercise.played}. What is better?"
    for line in (exercise.line or (exercise.solution,), (exercise.played, *exercise.refutation)):
        node: chess.pgn.GameNode = game
        for move in line:
            node = node.add_variation(node.board().parse_san(move))
    right, wrong = game.variations
    right.comment = exercise.why
    wrong.nags.add(chess.pgn.NAG_MISTAKE)
    return game


def as_anki(exercises: Sequence[Exercise]) -> str:
    """A card a line for Anki's import of text: the question, the answer and tags, between tabs."""
    lines = ["#separator:tab", "#html:true", "#tags column:3"]
    for exercise in exercises:
        side = "White" if exercise.board.turn else "Black"
        board = "<br>".join(str(exercise.board).splitlines())
        question = f"<pre>{board}</pre>{exercise.fen}<br>{side} to move; you played {html.escape(exercise.played)}."
        answer = html.escape(" ".join(exercise.why.split()))
        lines.append(f"{question}\t{answer}\tmerino {exercise.kind.replace(' ', '-')}")
    return "\n".join(lines) + "\n"


class OtherPlayerError(errors.StudyError):
    """A file that keeps the practice of somebody else."""


def scheduling() -> ModuleType:
    """The package that says when an exercise is due again; raises StudyError where it is missing."""
    try:
        return import_module("fsrs")
    except ImportError as error:
        raise errors.StudyError(about.needs("drill", "practice")) from error


def progress_file(games: Path) -> Path:
    """Where the progress of practice from a file of games is kept, if nobody says otherwise."""
    return games.parent / f"{games.name}.drill.json"


@dataclass
class Practice:
    """Exercises from some games, and the card of each that was practised, as FSRS writes it."""

    made_from: str  # what identifies games and player
    exercises: tuple[Exercise, ...]
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)

    def due(self, now: datetime) -> list[Exercise]:
        """What is to be practised now: what is due, the longest first, then what is new, the costliest first."""
        known = [exercise for exercise in self.exercises if exercise.identity in self.cards]
        late = sorted(known, key=self._due)
        new = [exercise for exercise in self.exercises if exercise.identity not in self.cards]
        return [exercise for exercise in late if self._due(exercise) <= now] + new

    def _due(self, exercise: Exercise) -> datetime:
        return datetime.fromisoformat(self.cards[exercise.identity]["due"])

    def review(self, exercise: Exercise, was_found: bool, now: datetime) -> datetime:
        """Note whether the move was found; returns when it is due again. Raises StudyError without the package."""
        fsrs = scheduling()
        before = self.cards.get(exercise.identity)
        card = fsrs.Card.from_dict(before) if before else fsrs.Card(card_id=int(exercise.identity[:12], 16))
        rating = fsrs.Rating.Good if was_found else fsrs.Rating.Again
        card, _ = fsrs.Scheduler(enable_fuzzing=False).review_card(card, rating, now)
        self.cards[exercise.identity] = dict(card.to_dict())
        return card.due

    def save(self, path: Path) -> None:
        """Write the file; raises OSError."""
        data = {
            "made_from": self.made_from,
            "exercises": [exercise.as_json() for exercise in self.exercises],
            "cards": self.cards,
        }
        files.write_whole(path, sealed.as_json(data, indent=1))


def load_progress(path: Path) -> Practice | None:
    """The progress in a file, None if there is no file; raises StudyError if it is anything else."""
    if not files.is_there(path):
        return None
    with files.faults_named(path, "the progress of practice", errors.StudyError):
        data = sealed.from_json(files.read_user_file(path, files.STATE), str(path))
        progress = Practice(
            str(data["made_from"]),
            tuple(Exercise.from_json(exercise) for exercise in data["exercises"]),
            {str(name): dict(card) for name, card in dict(data["cards"]).items()},
        )
        for card in progress.cards.values():
            _check_card(card)
    return progress


def _check_card(card: dict[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError unless FSRS can go on with this card."""
    state, step, memory = card["state"], card["step"], (card["stability"], card["difficulty"])
    if state not in (_LEARNING, _REVIEW, _RELEARNING) or type(card["card_id"]) is not int:
        raise ValueError("a card that FSRS does not write")
    if not (state == _LEARNING and memory == (None, None)):
        for value, (low, high) in zip(memory, _MEMORY, strict=True):
            if isinstance(value, bool) or not low <= value <= high:
                raise ValueError("a card whose stability or difficulty cannot be")
    if step is not None if state == _REVIEW else type(step) is not int or step < 0:
        raise ValueError("a card whose step is not of its state")
    for date in (card["due"], *filter(None, [card["last_review"]])):
        if datetime.fromisoformat(date).tzinfo is None:
            raise ValueError("a date without a time zone")


def renewed(old: Practice | None, made_from: str, exercises: Sequence[Exercise]) -> Practice:
    """New exercises with what is known of them from before; earlier ones that were practised stay."""
    found = {exercise.identity: exercise for exercise in exercises}
    if old is not None:
        found |= {each.identity: found.get(each.identity, each) for each in old.exercises if each.identity in old.cards}
    return Practice(made_from, tuple(found.values()), {} if old is None else old.cards)


def practice_from(
    games: Path,
    player: PlayerGames,
    place: Path,
    most: int,
    judge: Callable[[], Judge],
    judged_by: str = STRONGEST,
    report: Callable[[str, float], object] = lambda what, done: None,
) -> Practice:
    """The exercises of the player of these games, from the file `place` if it has them, else found and kept there.

    `judge` makes the judge of the name `judged_by`, where that is needed. Raises StudyError, also if there is none or
    the games come through a pipe, OtherPlayerError if the file keeps the practice of somebody else, SourceError and
    OSError.
    """
    if sources.is_passing(games):
        raise errors.StudyError(
            f"{sources.name_of(games, quoted=True)} can be read only once: exercises need a file that keeps the games"
        )
    judge_mark = hashlib.blake2b(judged_by.encode(), digest_size=4).hexdigest()
    made_from = f"{sources.digest(games)}-{judge_mark} {player.name} {most}"
    old = load_progress(place)
    if old is not None and old.made_from == made_from:
        return old
    other = " ".join(old.made_from.split(" ")[1:-1]) if old is not None and old.cards else ""  # who has practised
    if other and folded(other) != folded(player.name):
        sentence = f"'{place}' keeps the practice of '{other}'; '{player.name}' needs another file: --progress FILE"
        raise OtherPlayerError(sentence)
    practice = renewed(old, made_from, exercises_of(player, default(), judge(), most, report))
    if not practice.exercises:
        count = counted(player.count, "game")
        none = f"no exercises: {count} of '{player.name}' without a mistake where one move is best"
        raise errors.StudyError("; ".join([none, *player.left_out.lines()]))
    practice.save(place)
    return practice
