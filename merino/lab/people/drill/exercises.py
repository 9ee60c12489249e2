"""Exercises from a player's mistakes, positions with one clearly best move, and what is said of an answer to one.

Other programs get them as a PGN study, or as cards for Anki.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import chess
import chess.pgn
import numpy as np

from merino.core.board.bitboard import WHITE
from merino.core.board.fen import to_fen
from merino.core.board.game import Position
from merino.core.common.work import in_order
from merino.engine.notation.san import board_of, move_number, named_moves, read_move, san
from merino.engine.search.choice import expected_scores
from merino.engine.search.limits import Limits
from merino.eval.evaluation import Evaluation
from merino.eval.linear.family import LinearEvaluation
from merino.formats.pgn_text import tree_text
from merino.lab.people.profile.players import PlayerGame, PlayerGames
from merino.learn.rescoring import Rescore
from merino.study.analyser import Analyser, best_line, expected_of
from merino.study.annotate.analysis import MISTAKE
from merino.study.reasons.mistakes import as_found, mistake_in

SCAN_NODES = 1000  # of the search that looks for mistakes
DEEP_NODES = 50_000  # of the search that judges them
MIN_LEAD = 0.10  # of the best move over the second
MIN_EXPECTED = 0.35  # with the best move: less is lost anyway
MAX_EXERCISES = 100
_SCAN_LOSS = 0.07  # in the quick look, which may see less
_SHOWN = 6  # plies of a line
_UNBROKEN = 1 << 20  # columns of a study: other programs show the line ends of a comment
ATTEMPTS = 2  # at a move, before the solution is shown
REPLY_NODES = 20_000  # of the search for what refutes a move


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
        return board_of(Position(self.fen))

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
        names = ("fen", "played", "solution", "kind", "reason")
        fen, played, solution, kind, reason = (str(data[name]) for name in names)
        line, refutation = (tuple(map(str, data[name])) for name in ("line", "refutation"))
        start = Position(fen)
        for moves in ((solution,), line, (played, *refutation)):
            board = board_of(start)
            for move in moves:
                board.push_san(move)
        where, loss = (int(data["game"]), str(data["title"]), str(data["number"])), float(data["loss"])
        if not 0 <= loss <= 1:
            raise ValueError(f"a loss of {loss}")
        return cls(fen, played, solution, kind, reason, loss, *where, line, refutation)


def exercises_of(
    player: PlayerGames,
    evaluation: LinearEvaluation,
    analyse: Analyser,
    most: int = MAX_EXERCISES,
    report: Callable[[str, float], object] = lambda what, done: None,
) -> list[Exercise]:
    """Exercises from the games of a player, the costliest mistakes first; `report` gets what is done, and the share."""
    found: list[Exercise] = []
    candidates = _candidates(player, evaluation, lambda done: report("Looking for mistakes", done))
    for index, (game, ply) in enumerate(candidates):
        if len(found) >= most:
            break
        exercise = _exercise(game, ply, evaluation, analyse)
        if exercise is not None:
            found.append(exercise)
        report("Judging mistakes", (index + 1) / len(candidates))
    unique = {exercise.identity: exercise for exercise in found}
    return sorted(unique.values(), key=lambda exercise: -exercise.loss)


def _candidates(
    player: PlayerGames, evaluation: LinearEvaluation, report: Callable[[float], object]
) -> list[tuple[PlayerGame, int]]:
    """Games and plies where a quick search sees a mistake, the costliest first."""
    rescore, stop = Rescore(SCAN_NODES, evaluation), np.zeros(1, dtype=np.uint64)

    def losses(game: PlayerGame) -> np.ndarray:
        return _losses(game, rescore.scores_of(game.positions, stop), evaluation.k)

    candidates: list[tuple[float, int, int]] = []
    for index, lost in enumerate(in_order(losses, player.games)):
        candidates += [(-float(lost[ply]), index, int(ply)) for ply in np.flatnonzero(lost >= _SCAN_LOSS)]
        report((index + 1) / len(player.games))
    return [(player.games[index], ply) for _, index, ply in sorted(candidates)]


def _losses(game: PlayerGame, scores: np.ndarray, k: float) -> np.ndarray:
    """The expected score that each move lost, float64[plies]; 0 for those of the opponent and of the opening."""
    sign = 1 if game.colour == WHITE else -1
    expected = expected_scores(sign * scores.astype(np.float64), k)
    own = game.own_plies()
    fair = own[expected[own] >= MIN_EXPECTED - _SCAN_LOSS]
    lost = np.zeros(len(game.moves))
    lost[fair] = expected[fair] - expected[fair + 1]
    return lost


def _exercise(game: PlayerGame, ply: int, evaluation: LinearEvaluation, analyse: Analyser) -> Exercise | None:
    """The exercise that a mistake makes; None if a deeper search sees no mistake, or no move that is clearly best."""
    fen, played = to_fen(game.positions[ply : ply + 1]), int(game.moves[ply])
    position = Position(fen)
    lines = analyse(position, Limits(nodes=DEEP_NODES), 2)
    if len(lines) < 2 or int(lines[0].pv[0]) == played:
        return None
    after = position.copy()
    after.push(played)
    answer = best_line(after, Limits(nodes=DEEP_NODES), analyse)
    best, second = (expected_of(line.score, evaluation) for line in lines)
    loss = best - (1 - expected_of(answer.score, evaluation) if answer else 0.5)
    if best < MIN_EXPECTED or loss < MISTAKE or best - second < MIN_LEAD:
        return None
    better, refutation = lines[0].pv, answer.pv if answer else ()
    mistake = mistake_in(position, played, as_found(lines[0]), as_found(answer), evaluation)
    return Exercise(
        fen=position.fen(),
        played=san(position, played),
        solution=san(position, better[0]),
        kind=mistake.kind.value,
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


def reply_to(exercise: Exercise, text: str, evaluation: Evaluation, analyse: Analyser) -> Reply:
    """What is said of a move as people write it; raises MoveRejected if it is none."""
    position = Position(exercise.fen)
    move = read_move(position, text)
    name = san(position, move)
    if name == exercise.solution:
        return Reply(name, True, "Right.")
    if name == exercise.played and exercise.refutation:
        line = exercise.refutation
        return Reply(name, False, f"That is what you played: {line[0]} answers it.", line)
    position.push(move)
    best = best_line(position, Limits(nodes=REPLY_NODES), analyse)
    if best is None:
        return Reply(name, False, f"{name} is not the best.")
    line = tuple(named_line(position, best.pv))
    left = 1 - expected_of(best.score, evaluation)
    sentence = f"{name} is not the best: {line[0]} answers it, and leaves you {left:.0%} of the points."
    return Reply(name, False, sentence, line)


def hint_for(exercise: Exercise) -> str:
    """Which piece moves, in words."""
    move = exercise.board.parse_san(exercise.solution)
    return f"It moves the piece on {chess.square_name(move.from_square)}."


def as_pgn(exercises: Sequence[Exercise]) -> str:
    """A chapter for each: the position, the solution with its line, and the move played with its refutation."""
    chapters = (_chapter(number, exercise) for number, exercise in enumerate(exercises, start=1))
    return "".join(tree_text(chapter, _UNBROKEN) for chapter in chapters)


def _chapter(number: int, exercise: Exercise) -> chess.pgn.Game:
    board = exercise.board
    game = chess.pgn.Game()
    game.setup(board)
    game.headers["Event"] = f"Exercise {number}: {exercise.kind}"
    game.headers["Site"] = f"game {exercise.game}"
    game.headers["White"], game.headers["Black"] = exercise.title, "?"
    game.comment = f"You played {exercise.number}{exercise.played}. What is better?"
    _add(game, exercise.line or (exercise.solution,)).comment = exercise.why
    wrong = _add(game, (exercise.played, *exercise.refutation))
    wrong.nags.add(chess.pgn.NAG_MISTAKE)
    return game


def _add(game: chess.pgn.Game, moves: Sequence[str]) -> chess.pgn.GameNode:
    """Add a line of short notation; returns the node of its first move."""
    node: chess.pgn.GameNode = game
    first = None
    for move in moves:
        node = node.add_variation(node.board().parse_san(move))
        first = first or node
    return first or game


def as_anki(exercises: Sequence[Exercise]) -> str:
    """A card a line for Anki's import of text: the question, the answer and tags, between tabs."""
    lines = ["#separator:tab", "#html:true", "#tags column:3"]
    for exercise in exercises:
        side = "White" if exercise.board.turn else "Black"
        board = "<br>".join(str(exercise.board).splitlines())
        question = f"<pre>{board}</pre>{exercise.fen}<br>{side} to move; you played {html.escape(exercise.played)}."
        lines.append(f"{question}\t{html.escape(exercise.why)}\tmerino {exercise.kind.replace(' ', '-')}")
    return "\n".join(lines) + "\n"
