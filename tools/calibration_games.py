"""The games of `tools/calibrate_strength.py`: players, openings, and pairs of games that any process can play."""

import shutil
from random import Random
from typing import NamedTuple

import chess
import chess.engine
import numpy as np

from merino.core.board.game import Position
from merino.core.common.work import Run, RunName, at_work
from merino.engine.search import choice, known_openings, limits, parameters, searcher, strength
from merino.eval.evaluation import Evaluation
from merino.eval.families import default, load_net
from merino.match.engines import TimedXBoard

NET = "gen12"  # whose levels are measured for all nets


def evaluation_of(net: str) -> Evaluation:
    """The net of this name, or for none the terms that come with Merino."""
    return load_net(net) if net else default()


STOCKFISH = shutil.which("stockfish") or "/usr/games/stockfish"  # where Debian puts it, which not every path has
FAIRY_MAX = shutil.which("fairymax") or "/usr/games/fairymax"
# What other engines are rated on a clock: Stockfish 15.1 by its level (official-stockfish/Stockfish#4341, CCRL Blitz),
# and Fairy-Max, in chess micro-Max 4.8, by CCRL with 15 minutes for 40 moves: with a second a move it is weaker.
RATINGS = {
    "Stockfish": {0: 1320, 1: 1468, 2: 1608, 3: 1742, 4: 1923, 5: 2204, 6: 2363, 7: 2500},
    "Fairy-Max": {0: 1940},
}
SECONDS = 0.1  # a move of another engine
NODES_A_SECOND = 860_000  # of Stockfish 15.1 at a level, on an idle core; counted in nodes, its clock minds no load
LEAST_SECONDS = {"Stockfish": 0.1, "Fairy-Max": 1.0}
OPENING_PLIES = 8
OPENING_DEPTH = 8
EVEN_CP = 80  # by Stockfish, at OPENING_DEPTH
MAX_PLIES = 400  # plies; then it counts as drawn


class Player(NamedTuple):
    """One side of a match: another engine at a level, or Merino at an Elo, with the net of this name or with the terms.

    `seconds` are those of another engine for a move, which Stockfish counts in nodes; 0 for Stockfish at a depth of
    level + 1, which nobody has rated.
    """

    engine: str  # "" for Merino
    number: int
    net: str = ""
    seconds: float = SECONDS

    def __str__(self) -> str:
        if not self.engine:
            return f"Merino{self.net and f' with {self.net}'}, UCI_Elo {self.number}"
        name = f"{self.engine}, Skill Level {self.number}" if self.engine == "Stockfish" else self.engine
        return f"{name} ({self.rating}), {f'{self.seconds:g} s' if self.seconds else f'depth {self.number + 1}'} a move"

    @property
    def is_anchor(self) -> bool:
        """Whether its rating holds on this clock."""
        return self.engine == "Stockfish" and self.seconds > 0

    @property
    def rating(self) -> int:
        """Its nominal Elo."""
        return RATINGS[self.engine][self.number] if self.engine else self.number


def opening(judge: chess.engine.SimpleEngine, seed: int, number: int) -> chess.Board:
    """By turns, a position about even after random moves, and one from a named opening: the same for each number."""
    random = Random(f"{seed} {number}")
    if number % 2:
        return random.choice([board for _, board in known_openings.opening_lines()]).copy()
    return _random_opening(judge, random)


def _random_opening(judge: chess.engine.SimpleEngine, random: Random) -> chess.Board:
    while True:
        board = chess.Board()
        for _ in range(OPENING_PLIES):
            if moves := list(board.legal_moves):
                board.push(random.choice(moves))
        if board.is_game_over():
            continue
        score = judge.analyse(board, chess.engine.Limit(depth=OPENING_DEPTH))["score"].relative
        if abs(score.score(mate_score=10000)) <= EVEN_CP:
            return board


class OwnSide:
    """Merino at a level, in this process: its choices without the search that shows a line for each."""

    def __init__(self, player: Player) -> None:
        self._player, self._strength, self._random = player, strength.Strength(player.number), Random()
        self._stop_flag = np.zeros(1, dtype=np.uint64)
        evaluation = evaluation_of(player.net)
        self._chooser = choice.Chooser(evaluation, parameters.parameters_for(evaluation), self._stop_flag)
        self._technique = searcher.Searcher(1, evaluation=evaluation)
        self._technique.strength = self._strength

    def begin(self, number: int) -> None:
        """A new pair of games begins, with this number."""
        self._random.seed(f"{self._player} {number}")

    def move(self, position: Position, board: chess.Board) -> chess.Move:
        """A move in this position, which the board shows too."""
        if choice.has_bare_king(position, 1 - position.side):
            best = self._technique.search(position, limits.Limits(depth=limits.MAX_PLY)).best
        else:
            best = self._chooser.choose(position, position.legal_moves, self._strength, self._random).move
        if best is None:
            raise RuntimeError(f"no move in {board.fen()}")
        return chess.Move.from_uci(position.uci(best))

    def stop(self) -> None:
        """End whatever it does; called from another thread."""
        self._stop_flag[0] = 1
        self._technique.stop()

    def close(self) -> None:
        """Leave the board."""
        self._technique.stop()


def limit_of(player: Player) -> chess.engine.Limit:
    """What another engine has for a move."""
    if not player.seconds:
        return chess.engine.Limit(depth=player.number + 1)
    if player.engine == "Stockfish":
        return chess.engine.Limit(nodes=round(player.seconds * NODES_A_SECOND))
    return chess.engine.Limit(time=player.seconds)


class OtherSide:
    """Another engine."""

    def __init__(self, player: Player, stockfish: str) -> None:
        if player.engine == "Stockfish":
            self._engine = chess.engine.SimpleEngine.popen_uci(stockfish, timeout=180)
            self._engine.configure({"Skill Level": player.number, "Threads": 1, "Hash": 16})
        else:
            self._engine = chess.engine.SimpleEngine.popen(TimedXBoard, [FAIRY_MAX], timeout=180)
        self._limit = limit_of(player)
        self._game = 0

    def begin(self, number: int) -> None:
        """A new pair of games begins, with this number."""
        self._game = number

    def move(self, position: Position, board: chess.Board) -> chess.Move:
        """A move in this position, which the board shows too."""
        move = self._engine.play(board, self._limit, game=(self._game, board.turn)).move
        if move is None:
            raise RuntimeError(f"no move in {board.fen()}")
        return move

    def stop(self) -> None:
        """End whatever it does; called from another thread."""
        self._engine.close()

    def close(self) -> None:
        """Leave the board; it is ended if it cannot hear."""
        try:
            self._engine.quit()
        except (chess.engine.EngineError, TimeoutError):
            self._engine.close()


Side = OwnSide | OtherSide


def play_game(start: chess.Board, white: Side, black: Side) -> float:
    """White's points in a game from `start`."""
    board, position = start.copy(), Position(start.root().fen())
    position.push_all([move.uci() for move in board.move_stack])
    while (outcome := board.outcome(claim_draw=True)) is None and board.ply() < MAX_PLIES:
        move = (white if board.turn else black).move(position, board)
        board.push(move)
        position.push_uci(move.uci())
    return 0.5 if outcome is None or outcome.winner is None else float(outcome.winner)


class PairTask(NamedTuple):
    """Two games from one opening, with colours reversed: plain data, for any process."""

    player: Player
    opponent: Player
    number: int  # of the pair between these two
    fen: str
    moves: tuple[str, ...]
    stockfish: str
    run: RunName


class PairResult(NamedTuple):
    """White's points in both games of a pair, the first player having White in the first."""

    player: Player
    opponent: Player
    points: tuple[float, float]


def play_pair(task: PairTask) -> PairResult | None:
    """Play a pair; None for an ended run."""
    with at_work(task.run) as run:
        if run is None:
            return None
        us, them = (_side_of(player, task, run) for player in (task.player, task.opponent))
        board = chess.Board(task.fen)
        for move in task.moves:
            board.push_uci(move)
        return PairResult(task.player, task.opponent, (play_game(board, us, them), play_game(board, them, us)))


def _side_of(player: Player, task: PairTask, run: Run) -> Side:
    """A player, kept from pair to pair."""
    kept: dict[Player, Side] = run.kept(dict)
    if player not in kept:
        kept[player] = OtherSide(player, task.stockfish) if player.engine else OwnSide(player)
        run.watch(kept[player])
    kept[player].begin(task.number)
    return kept[player]
