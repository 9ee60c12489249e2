"""The judge of a study: who says how good a position is, and by which moves. Merino's words narrate its verdicts.

It is a search of Merino's, by a net or by the terms, or another engine that speaks UCI. Such an engine may fail: not
start, end, be silent, or say what cannot be. Each is a StudyError that names the engine and what it did.
"""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Self, cast

import chess
import chess.engine
import numpy as np

from merino.core.board.game import Position
from merino.core.common.text import in_one_line
from merino.engine.search.limits import MATE_SCORE, MAX_MS, MAX_NODES, Limits, Line, Score
from merino.engine.search.searcher import Searcher
from merino.engine.search.warmup import warm_up
from merino.eval import families, material, outlook
from merino.eval.evaluation import Evaluation
from merino.match import engines, games, players
from merino.study import analyser, errors

STRONGEST = "gen13"  # the strongest net that comes with Merino
TERMS = "terms"  # the name of a judge by the evaluation that comes with Merino
FORMS = f"a net or weights, by file or name, '{TERMS}', or the program of a UCI engine"
SILENT_SECONDS = 60.0  # without a word from an engine, beyond a fixed time for the move, until it counts as hanging
# The centipawns that win half of the games between players who give nothing away, in the last endings and with most
# pieces, and the stages of both; how steep that is, and how steep it is where a verdict must be sure by two scales: as
# likely, or if it takes half as much again, and if it takes a quarter less.
_WINNING, _STAGES, _SLOPE = (250.0, 100.0), (0.0, 0.9), 45.0
_SURE_SLOPE, _LIKELY, _CAREFUL = 25.0, (1.0, 0.75), (1.5, 0.75)
NOT_LOST = 0.05  # of the points, which a side that is mated might have had
_POLL_SECONDS = 0.05
_NO_MOVE = ("(none)", "NULL", "0000")
_PV = re.compile(r"\spv((?:\s+[a-h][1-8][a-h][1-8][nbrqNBRQ]?)+)")
_WDL = "UCI_ShowWDL"  # the option by which an engine names its chances of win, draw and loss
_BOUND = re.compile(r"( wdl \d+ \d+ \d+)( (?:low|upp)erbound\b)")
_MULTIPV = re.compile(r"\smultipv\s+(\d+)")


@dataclass(frozen=True)
class Judge:
    """Who judges, and `narrator`, whose terms name the changes. A context manager, which ends the program of an engine.

    `expected` is the expected score of the side to move, 0..1; a mate in view is certain. `scales` are other ones, by
    other scales, at a stage of the game: what all call a fall is one. `identity` is all that its verdicts depend on,
    but for the limits of a search. `new_game` forgets what was judged before.
    """

    name: str
    analyse: analyser.Analyser
    expected: Callable[[Score], float]
    narrator: Evaluation
    identity: str
    scale: str  # of the expected score, in words: "K 200"
    scales: Sequence[Callable[[Score, float], float]]
    knows_chances: bool = False  # `expected` is by its own chances of win and draw
    new_game: Callable[[], object] = field(default=lambda: None)
    close: Callable[[], object] = field(default=lambda: None)

    def line(self, position: Position, limits: Limits) -> Line:
        """The best line, or where the game is over without a claim what the rules say: no moves, of depth 0.

        Raises StudyError where the search was too short for one.
        """
        return self.lines(position, limits, 1)[0]

    def lines(self, position: Position, limits: Limits, count: int) -> Sequence[Line]:
        """So many of the best lines, or as many as there are moves; where the game is over, as `line` has it."""
        if position.is_checkmate() or not position.legal_moves or position.is_insufficient_material():
            return [Line(0, 0, 1, Score(-MATE_SCORE if position.is_checkmate() else 0), "", 0, 0, 0, 0, ())]
        if not (found := self.analyse(position, limits, min(count, len(position.legal_moves)))):
            raise errors.StudyError("the search was too short for a verdict")
        return found

    @property
    def careful(self) -> Self:
        """The same judge, which calls less a fall: the verdict on who has not been seen to make mistakes."""
        return replace(self, scales=CAREFUL if self.scales else ())

    def share(self, position: Position, score: Score) -> float:
        """What the side to move may expect between players who give nothing away, 0..1: by chances of win and draw."""
        return self.expected(score) if self.knows_chances else by_result(score, stage_of(position))

    def shares(self, position: Position, score: Score) -> Sequence[float]:
        """What a score promises the side to move by each scale that a verdict must be sure by, the least first."""
        return sorted(scale(score, stage_of(position)) for scale in self.scales) or [self.expected(score)]

    def loss(self, position: Position, better: tuple[Score, float], other: tuple[Score, float]) -> float:
        """How much less of the points the other score promises the side to move, by the scale that shows least.

        Scores are for that side, each with its expected score.
        """
        stage = stage_of(position)
        fall = better[1] - other[1]
        falls = [scale(better[0], stage) - scale(other[0], stage) for scale in self.scales]
        is_mated = other[0].mate is not None and other[0].mate < 0
        # Who is mated had not lost anyway.
        return fall if is_mated and falls and falls[0] >= NOT_LOST else min([fall, *falls])

    def fall(self, position: Position, *scores: Score) -> float:
        """How much less of the points the second score promises the side to move than the first, as `loss` has it."""
        better, other = ((score, self.expected(score)) for score in scores)
        return self.loss(position, better, other)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def judge_of(
    name: str | None,
    hash_mb: int,
    threads: int,
    *,
    narrator: Evaluation | None = None,
    k: float | None = None,
    is_stop_requested: Callable[[], bool] = lambda: False,
    is_forgetful: bool = False,
) -> Judge:
    """The judge of this name, in any of FORMS; None is the strongest at hand. Raises StudyError.

    `narrator` is by default the terms that come with Merino, `k` the scale of the judge's expected score. A search that
    is stopped, also by Ctrl-C, raises KeyboardInterrupt. A judge that `is_forgetful` knows nothing of earlier searches
    in each.
    """
    wanted = STRONGEST if name is None else name
    narrator = narrator or families.default()
    try:
        player = players.OwnPlayer(TERMS) if wanted == TERMS else players.read_player(wanted)
    except games.MatchUsageError as error:
        reason = str(error.__cause__ or error).partition("; 'merino match -h'")[0]
        raise errors.StudyError(f"judge '{wanted}': {reason}; it can be {FORMS}") from error
    if isinstance(player, players.OtherPlayer):
        engine = _UciJudge(player, hash_mb, threads, is_stop_requested, is_forgetful)
        scale = outlook.DEFAULT_K if k is None else k
        return Judge(
            engine.name,
            engine.analyse,
            partial(_expected, k=scale),
            narrator,
            f"{json.dumps(player.identity())}, {engine.name}, K {scale:g}",
            "its own chances of win and draw" if engine.knows_chances else f"K {scale:g}",
            () if engine.knows_chances else BY_RESULT,
            engine.knows_chances,
            engine.new_game,
            engine.close,
        )
    evaluation = player.evaluation if k is None else player.evaluation.with_k(k)
    warm_up()  # so that compiling does not count as thinking
    try:
        searcher = Searcher(hash_mb, threads, evaluation, player.parameters)
    except MemoryError as error:
        raise errors.StudyError(f"not enough memory for a transposition table of {hash_mb} MiB") from error
    searcher.move_overhead = 0
    return by_search(
        searcher, evaluation, player.label, narrator, is_stop_requested=is_stop_requested, is_forgetful=is_forgetful
    )


@cache
def strongest() -> Evaluation:
    """The evaluation of the strongest judge at hand."""
    return families.load_evaluation(STRONGEST)


def by_search(
    searcher: Searcher,
    evaluation: Evaluation,
    name: str = STRONGEST,
    narrator: Evaluation | None = None,
    **settings: Any,
) -> Judge:
    """The judge that a searcher with this evaluation is; `settings` are those of `analyser.analyser`."""
    identity = json.dumps(evaluation.identity, sort_keys=True).encode()
    return Judge(
        name,
        analyser.analyser(searcher, gives_up=True, **settings),
        lambda score: analyser.expected_of(score, evaluation),
        narrator or families.default(),
        f"{hashlib.sha256(identity).hexdigest()[:16]}, K {evaluation.k:g}",
        f"K {evaluation.k:g}",
        BY_RESULT,
        new_game=searcher.clear,
        close=searcher.stop,
    )


def by_result(score: Score, stage: float, times: float = 1.0, slope: float = _SLOPE) -> float:
    """The expected score between players who give nothing away: little more than nothing is a draw, much more a win.

    It takes so many `times` what wins half of the games at this stage. In endings a side that is a pawn or two ahead
    draws.
    """
    if score.mate is not None:
        return float(score.mate > 0)
    wins = times * float(np.interp(stage, _STAGES, _WINNING))
    win, loss = (outlook.expected_score(sign * score - wins, slope) for sign in (1, -1))
    return (1 + win - loss) / 2


# About the chances that Stockfish 15.1 sees where `STRONGEST` has such a score, in 2,700 positions of 250 games.
BY_RESULT, CAREFUL = (
    tuple(partial(by_result, times=times, slope=_SURE_SLOPE) for times in scales) for scales in (_LIKELY, _CAREFUL)
)


def remembering(judge: Judge) -> Judge:
    """The same judge, which answers what it has answered before at once."""
    known = dict[tuple[Any, ...], Sequence[Line]]()

    def analyse(position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        asked = position.start_fen(), tuple(position.moves), repr(limits), count
        if asked not in known:
            known[asked] = judge.analyse(position, limits, count)
        return known[asked]

    return replace(judge, analyse=analyse)


def lengthened(limits: Limits, times: float, plies: int) -> Limits:
    """The limits with so many times the nodes or the time, or so many plies more; both may be less."""
    depth, nodes, movetime = limits.depth, limits.nodes, limits.movetime
    return replace(
        limits,
        depth=depth and max(1, depth + plies),
        nodes=nodes and max(1, min(int(times * nodes), MAX_NODES)),
        movetime=movetime and max(1, min(int(times * movetime), MAX_MS)),
    )


def stage_of(position: Position) -> float:
    """The stage of a position, from 0 in endings to 1 with all pieces."""
    return material.game_stage(position.record)[1]


class _EngineScore(Score):
    """A score, with the expected score that the engine itself gives it; None if it gives none."""

    share: float | None = None


def _expected(score: Score, k: float) -> float:
    """The expected score of a score of another engine: by its chances if it names them, else by K."""
    if score.mate is not None:
        return float(score.mate > 0)
    share = score.share if isinstance(score, _EngineScore) else None
    return outlook.expected_score(score, k) if share is None else share


class _Protocol(engines.TimedUci):
    """UCI, with a note of when the engine last spoke, and of what is not legal: its move, or a line by its number."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = time.perf_counter()
        self.lies: dict[int, str] = {}
        self.illegal = ""

    def _line_received(self, line: str) -> None:
        """Receive a line, but not an illegal move: python-chess would wait for another one."""
        self.heard = time.perf_counter()
        line = _BOUND.sub(r"\2\1", line)  # python-chess finds it only there
        words, moves = line.split(), _PV.search(line)
        if words[:1] == ["bestmove"] and self._unplayable([move for move in words[1:2] if move not in _NO_MOVE]):
            self.illegal = line
            return
        if words[:1] == ["info"] and moves is not None:
            number = _MULTIPV.search(line)
            self.lies[int(number[1]) if number else 1] = self._unplayable(moves[1].split())
        super()._line_received(line)

    def _unplayable(self, moves: Sequence[str]) -> str:
        """The first of the moves of a line that is not legal; "" if all are."""
        board = self.board.copy(stack=False)
        for move in moves:
            try:
                board.push_uci(move.lower())
            except ValueError:
                return move
        return ""


class _UciJudge:
    """Another engine, which runs until `close`. Its time is limited: raises StudyError where it does not answer."""

    def __init__(
        self,
        player: players.OtherPlayer,
        hash_mb: int,
        threads: int,
        is_stop_requested: Callable[[], bool],
        is_forgetful: bool,
    ) -> None:
        self.name, self._is_stop_requested, self._is_forgetful = player.label, is_stop_requested, is_forgetful
        if player.speaks_xboard:
            raise errors.StudyError(f"judge '{self.name}': it must speak UCI, not XBoard")
        self._program, self._game = engines.Program(_Protocol), object()
        asked = replace(player, threads=player.threads or (threads if threads > 1 else None))
        try:
            self._engine = engines.start(self._program, asked, hash_mb)
            self._engine.timeout = SILENT_SECONDS
            self._protocol = cast(_Protocol, self._engine.protocol)
            self.knows_chances = _WDL in self._engine.options and player.option([_WDL]) != "false"
            if self.knows_chances:
                self._engine.configure({_WDL: True})
            self.name = re.sub("[{}]", "", in_one_line(self._engine.id.get("name", ""))) or self.name
        except (engines.EngineFault, chess.engine.EngineError) as error:
            self._program.end()
            raise errors.StudyError(f"judge '{player.label}' does not start: {error}") from error

    def new_game(self) -> None:
        """Let it forget the last game. Raises StudyError where it has ended, or does not answer."""
        try:
            self._engine.ping()  # that its program has ended may not be known yet
        except (chess.engine.EngineError, CancelledError, TimeoutError) as error:
            raise errors.StudyError(f"judge '{self.name}' has ended while it was idle") from error
        self._game = object()

    def close(self) -> None:
        """Ask it to quit, and end it if it does not."""
        self._program.quit(self._engine)

    def analyse(self, position: Position, limits: Limits, count: int = 1) -> Sequence[Line]:
        """The best lines, as an Analyser gives them."""
        if self._is_forgetful:
            self.new_game()
        if position.chess960 and not self._protocol.plays_chess960:
            raise self._fault("does not play Chess960", position)
        if count > 1 and "MultiPV" not in self._protocol.options:
            return self._one_by_one(position, limits, count)
        board = position.to_chess()
        infos, best = self._infos(position, board, limits, count)
        allowed = limits.search_moves or position.legal_moves
        if best is None:
            raise self._fault("gives no move", position)
        if position.legal(best) not in allowed:
            raise self._fault(f"moves {board.uci(best)}, which is not among the moves to be searched", position)
        for number in range(1, count + 1):
            if self._protocol.lies.get(number):
                raise self._fault(f"gives a line with {self._protocol.lies[number]}, which is not legal", position)
        lines = _lines(board, infos, best, min(count, len(allowed)))
        if not lines:
            raise self._fault("gives no score", position)
        return lines

    def _one_by_one(self, position: Position, limits: Limits, count: int) -> Sequence[Line]:
        """The best lines, each by a search without the moves that begin the others; they share nodes and time."""
        left, found = list(limits.search_moves or position.legal_moves), list[Line]()
        nodes, movetime = (limit and -(-limit // count) for limit in (limits.nodes, limits.movetime))
        each = replace(limits, nodes=nodes, movetime=movetime)
        while left and len(found) < count:
            found += self.analyse(position, replace(each, search_moves=left))
            left.remove(found[-1].pv[0])
        best_first = sorted(found, key=lambda line: -line.score)
        return [line._replace(multipv=number) for number, line in enumerate(best_first, start=1)]

    def _infos(
        self, position: Position, board: chess.Board, limits: Limits, count: int
    ) -> tuple[list[chess.engine.InfoDict], chess.Move | None]:
        """All that it says of a position, and its move."""
        movetime = None if limits.movetime is None else limits.movetime / 1000
        limit = chess.engine.Limit(nodes=limits.nodes, depth=limits.depth, time=movetime)
        moves = [position.legal(move).to_chess(position.chess960) for move in limits.search_moves] or None
        protocol, infos = self._protocol, list[chess.engine.InfoDict]()
        if protocol.loop.is_closed():
            raise self._fault("has ended while it was idle", position)
        protocol.lies.clear()
        protocol.heard = began = time.perf_counter()
        latest = (movetime or engines.UNTIMED_SECONDS) + SILENT_SECONDS
        several = count if count > 1 else None

        async def search() -> chess.Move | None:
            analysis = await protocol.analysis(board, limit, multipv=several, game=self._game, root_moves=moves)
            async for info in analysis:
                infos.append(info)
            return (await analysis.wait()).move

        try:
            answer = asyncio.run_coroutine_threadsafe(search(), protocol.loop)
            while True:
                with suppress(NotYetError):
                    return infos, answer.result(_POLL_SECONDS)
                if self._is_stop_requested():
                    raise KeyboardInterrupt
                if protocol.illegal:
                    raise self._fault(f"gives a move that is not legal: '{protocol.illegal}'", position)
                now = time.perf_counter()
                if now - protocol.heard > (movetime or 0.0) + SILENT_SECONDS:
                    raise self._fault(f"hangs: no word from it for {SILENT_SECONDS:g} s", position)
                if now - began > latest:
                    raise self._fault(f"does not stop: no move within {latest:g} s", position)
        except (KeyboardInterrupt, errors.StudyError):
            self._program.end()
            raise
        except (chess.engine.EngineTerminatedError, CancelledError, RuntimeError) as error:
            raise self._fault(f"has ended ({error or 'without a word'})", position) from error
        except chess.engine.EngineError as error:
            self._program.end()
            raise self._fault(f"says what cannot be: {error}", position) from error

    def _fault(self, what: str, position: Position) -> errors.StudyError:
        return errors.StudyError(f"judge '{self.name}' {what} (in {position.fen()})")


def _lines(board: chess.Board, infos: Sequence[chess.engine.InfoDict], best: chess.Move, count: int) -> Sequence[Line]:
    """The lines of the deepest search that gave so many, best first; none without a score."""
    scored = [info for info in infos if "score" in info]
    exact = [info for info in scored if "lowerbound" not in info and "upperbound" not in info] or scored
    if count == 1:
        own = [info for info in exact if info.get("pv", [])[:1] == [best]]
        longer = [info for info in own if len(info["pv"]) > 1]  # an engine may cut the line where its nodes end
        last = longer or own or exact
        return [_line(board, last[-1], 1, best)] if last else []
    found: dict[int, dict[int, chess.engine.InfoDict]] = {}
    for info in exact:
        if info.get("pv"):
            found.setdefault(info.get("depth", 0), {})[info.get("multipv", 1)] = info
    complete = [lines for lines in found.values() if len(lines) == count]
    return [_line(board, complete[-1][number], number) for number in sorted(complete[-1])] if complete else []


def _line(board: chess.Board, info: chess.engine.InfoDict, number: int, best: chess.Move | None = None) -> Line:
    """A line as our own search gives it; it begins with the `best` move, where that is given."""
    moves = list(info.get("pv", ()))
    line = moves if best is None or moves[:1] == [best] else [best]
    pv = Position(board.copy(stack=False)).push_all([move.uci() for move in line])
    score = _EngineScore(engines.centipawns(info["score"].relative))
    if "wdl" in info:
        score.share = info["wdl"].relative.expectation()
    depth, milliseconds = info.get("depth", 0), round(1000 * info.get("time", 0))
    return Line(
        depth,
        info.get("seldepth", depth),
        number,
        score,
        "",
        info.get("nodes", 0),
        info.get("nps", 0),
        info.get("hashfull", 0),
        milliseconds,
        tuple(pv),
    )
