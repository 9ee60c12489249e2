"""What an engine says of claims and grades: any UCI engine, given by its path, at a fixed depth."""

import json
import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import chess
import chess.engine

from tools.truth.board import Claim, RefusedError, balance, board_after, is_quiet, need
from tools.truth.rules import DRAWS, MATERIAL, PLACES

MAY_LOSE = 0.05  # the expected score that a move may lose and still be good
MAY_MISS = 0.20  # of the points, by which a headline must be off to be refused
MUST_LOSE = 0.025  # what a mistake loses at the least
MAY_DIFFER = 0.08  # by how much the scores at both ends of a line may differ
DECIDED = 0.9  # the expected score from which scores say little, and only material counts
HELD, LOST = 0.25, 0.1  # the expected scores of who has not lost, and of who has
DEEPER = 4  # plies: what is refused is searched again by so much, and accepted if it stands then
MATING = 2_000_000  # nodes, for each of its moves, within which a mate must be found
CENTIPAWN = 0.00368208  # the scale of the expected score by centipawns
OWN_PLIES = 10  # of the engine's line, at the last quiet position of which material is counted


class Verdict(NamedTuple):
    """A score as the side to move sees it, its share of the points by the engine and by centipawns, and the line."""

    cp: int  # mates are 19,000 and more
    mate: int | None
    by_wdl: float
    by_cp: float
    line: list[str]


@dataclass
class Judge:
    """An engine, with a process for each thread that asks."""

    path: str
    depth: int
    kept: Path  # answers of earlier runs, and of this one

    def __enter__(self) -> Self:
        """Read the answers of earlier runs."""
        self._lock, self._own, self._engines = threading.Lock(), threading.local(), list[chess.engine.SimpleEngine]()
        self.name = str(self._engine().id.get("name", self.path))
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.kept.open("a+", encoding="utf-8")
        self._file.seek(0)
        self._known: dict[str, list[Any]] = dict(map(json.loads, self._file))
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        for engine in self._engines:
            engine.close()
        self._file.close()

    def ask(
        self,
        board: chess.Board,
        move: chess.Move | None = None,
        deeper: int = 0,
        but: chess.Move | None = None,
        mate: int | None = None,
    ) -> Verdict:
        """The verdict on a position, on a move there, or on all moves but one; for the side to move.

        If `mate` is given, a mate in so many moves is looked for.
        """
        if move is None and board.is_game_over():
            return Verdict(-20_000, 0, 0.0, 0.0, []) if board.is_checkmate() else Verdict(0, None, 0.5, 0.5, [])
        asked = f"but {but}" if but else f"mate {mate}" if mate else move or ""
        key = f"{self.name} {self.depth + deeper} {board.fen()} {asked}"
        if key not in self._known:
            moves = [each for each in board.legal_moves if each != but] if but else [move] if move else None
            mating = chess.engine.Limit(mate=mate, nodes=MATING * (mate or 1))
            limit = mating if mate else chess.engine.Limit(depth=self.depth + deeper)
            found = self._search(board, moves, limit)
            with self._lock:
                self._known[key] = found
                self._file.write(json.dumps([key, found]) + "\n")
                self._file.flush()
        return Verdict(*self._known[key])

    def _search(self, board: chess.Board, root: list[chess.Move] | None, limit: chess.engine.Limit) -> list[Any]:
        game = board.fen()  # moves of one position share the hash table
        info = self._engine().analyse(board, limit, game=game, root_moves=root)
        score, wdl = info["score"].relative, info.get("wdl")
        cp = score.score(mate_score=20_000)
        by_cp = float(cp > 0) if score.is_mate() else 1 / (1 + math.exp(-CENTIPAWN * cp))
        by_wdl = wdl.relative.expectation() if wdl and not score.is_mate() else by_cp
        return [cp, score.mate(), round(by_wdl, 4), round(by_cp, 4), [each.uci() for each in info.get("pv", [])]]

    def _engine(self) -> chess.engine.SimpleEngine:
        """The process of this thread."""
        if not hasattr(self._own, "engine"):
            engine = chess.engine.SimpleEngine.popen_uci(self.path)
            wanted = {"Threads": 1, "Hash": 64, "UCI_ShowWDL": True}
            engine.configure({name: value for name, value in wanted.items() if name in engine.options})
            self._own.engine = engine
            with self._lock:
                self._engines.append(engine)
        found: chess.engine.SimpleEngine = self._own.engine
        return found


def doubt(claim: Claim, judge: Judge) -> str | None:
    """Why an engine does not confirm a claim that holds on the board; None if it does, at once or deeper."""
    others = {"mate": _mate, "only move": _only, "tempo": _tempo}
    checks = dict.fromkeys(PLACES, _place) | dict.fromkeys(MATERIAL, _difference) | others
    check = checks.get(claim.kind, _tactic)
    for deeper in (0, DEEPER):
        try:
            check(claim, judge, deeper)
        except RefusedError as error:
            reason = str(error)
        else:
            return None
    return reason


def _mate(claim: Claim, judge: Judge, deeper: int) -> None:
    moves = len(claim.line) // 2  # that are left after the first; at a fixed depth a search may see a longer mate first
    reply = judge.ask(claim.boards[1], deeper=2 * moves, mate=moves if deeper else None)
    need(reply.mate is not None and -moves <= reply.mate <= 0, f"after the first move it finds no mate in {moves}")


def _only(claim: Claim, judge: Judge, deeper: int) -> None:
    start, first = claim.boards[0], claim.line[0]
    best, others = judge.ask(start, first, deeper).by_wdl, judge.ask(start, deeper=deeper, but=first).by_wdl
    need(best - others >= MUST_LOSE, f"it is better than any other by {best - others:.1%} only")
    is_held = "does not lose" not in claim.text or (best >= HELD and others <= LOST)
    need(is_held, f"it expects {best:.0%}, another {others:.0%}")


def _tempo(claim: Claim, judge: Judge, deeper: int) -> None:
    passed = board_after(claim.boards[0], chess.Move.null())
    own = judge.ask(claim.boards[0], claim.line[0], deeper)

    def better(reply: chess.Move | None = None) -> float:
        """By how much the points are better after a pass; where all is lost anyway the centipawns may show it."""
        idle = judge.ask(passed, reply, deeper)
        by_wdl, by_cp = 1 - idle.by_wdl - own.by_wdl, 1 - idle.by_cp - own.by_cp
        return max(by_wdl, by_cp) if "better by" in claim.text else by_wdl

    found = better()
    need(found >= (MUST_LOSE if "better by" in claim.text else -MUST_LOSE), f"a pass is better by {found:.1%} only")
    if "allows" in claim.text:
        lost = 1 - own.by_wdl - judge.ask(claim.boards[1], claim.line[1], deeper).by_wdl
        need(lost <= MAY_LOSE, f"the reply loses {lost:.0%}")
        is_new = not passed.is_legal(claim.line[1]) or better(claim.line[1]) >= found + MUST_LOSE
        need(is_new, "after a pass the reply is hardly worse than any other")


def _tactic(claim: Claim, judge: Judge, deeper: int) -> None:
    start = claim.boards[0]
    best, first = judge.ask(start, deeper=deeper), judge.ask(start, claim.line[0], deeper)
    if claim.kind in DRAWS:  # which a move may force that should not
        need(abs(first.by_wdl - 0.5) <= MAY_LOSE, f"the first move leads to an expected score of {first.by_wdl:.0%}")
        return
    lost = max(best.by_wdl - first.by_wdl, best.by_cp - first.by_cp)
    need(lost <= MAY_LOSE, f"the first move loses {lost:.0%}")
    assert claim.wins is not None
    pawns, board = claim.wins["pawns"], claim.boards[claim.wins["ply"]]
    end = judge.ask(board, deeper=deeper).by_cp
    end = end if board.turn == claim.side else 1 - end
    # A line in which the enemy defends badly ends with a better score than the engine sees at its beginning.
    is_decided = not 1 - DECIDED <= first.by_cp <= DECIDED
    is_agreed = is_decided or abs(end - first.by_cp) <= MAY_DIFFER
    need(is_agreed, f"it expects {first.by_cp:.0%} before the line, {end:.0%} after it")
    for at, where in ((claim.boards[1], "the best defence"), (board, "its own line")):
        left = _settled(at, claim.side, judge, deeper) - balance(start, claim.side)
        need(left >= max(1, pawns - 1) or first.by_cp == 1, f"{where} leaves {left} of {pawns} pawns")


def _settled(board: chess.Board, side: chess.Color, judge: Judge, deeper: int) -> int:
    """By how many pawns a side is ahead at the last quiet position of the engine's line."""
    board, found = board.copy(), balance(board, side)
    first = len(board.move_stack)
    while len(board.move_stack) - first < OWN_PLIES and not board.is_game_over():
        for move in judge.ask(board, deeper=deeper).line[: OWN_PLIES - len(board.move_stack) + first]:
            board.push_uci(move)
            found = balance(board, side) if is_quiet(board) else found
    return found


def need_new(claim: Claim, without: chess.Board, judge: Judge) -> None:
    """Refuse a threat that is there without the move that makes it, where `without` has its side to move."""
    found = judge.ask(without)
    if claim.wins is None:
        need(found.mate is None or found.mate < 0, "there is a mate without the move")
    else:
        left = _settled(without, claim.side, judge, 0) - balance(without, claim.side)
        need(left < claim.wins["pawns"], f"without the move {left} pawns are threatened")


def _place(claim: Claim, judge: Judge, deeper: int) -> None:
    if not claim.other_line:
        return  # no move is said to be worse than another
    start = claim.boards[0]
    if claim.line[0] != claim.other_line[0]:
        here, there = (judge.ask(start, line[0], deeper).by_wdl for line in (claim.line, claim.other_line))
        better = (here - there) * (1 if start.turn == claim.side else -1)
    else:
        ends = [(judge.ask(boards[-1], deeper=deeper), boards[-1].turn) for boards in (claim.boards, claim.others)]
        here, there = (end.by_wdl if turn == claim.side else 1 - end.by_wdl for end, turn in ends)
        better = here - there
    need(better >= MUST_LOSE, f"its line is better by {better:.1%} only")


def headline_doubts(share: float, best: chess.Move, board: chess.Board, judge: Judge) -> tuple[str | None, str | None]:
    """Why an engine does not confirm White's share of the points, and the best move; None where it does."""
    off = bad = None
    for deeper in (0, DEEPER):
        verdict, own = judge.ask(board, deeper=deeper), judge.ask(board, best, deeper)
        expected = verdict.by_wdl if board.turn else 1 - verdict.by_wdl
        off = f"White may expect {expected:.0%}, not {share:.0%}" if abs(expected - share) >= MAY_MISS else None
        lost = verdict.by_wdl - own.by_wdl
        bad = f"it loses {lost:.0%}" if lost > MAY_LOSE else None
        if off is bad is None:
            break
    return off, bad


def _difference(claim: Claim, judge: Judge, deeper: int) -> None:
    _place(claim, judge, deeper)
    assert claim.wins is not None
    here, there = (_settled(boards[-1], claim.side, judge, deeper) for boards in (claim.boards, claim.others))
    pawns = claim.wins["pawns"]
    need(here - there >= max(1, pawns - 1), f"its own lines leave {here - there} of {pawns} pawns")


class Loss(NamedTuple):
    """The expected score that a move loses, by the engine and by centipawns, and what the better one loses to it."""

    by_wdl: float
    by_cp: float
    of_better: float


def loss_of(board: chess.Board, played: chess.Move, better: chess.Move, judge: Judge) -> Loss:
    """What a move loses, searched again deeper where the grade or the better move is not confirmed."""
    for deeper in (0, DEEPER):
        verdicts = [judge.ask(board, move, deeper) for move in (None, played, better)]
        _, own, other = verdicts
        by_wdl, by_cp = max(each.by_wdl for each in verdicts), max(each.by_cp for each in verdicts)
        found = Loss(by_wdl - own.by_wdl, by_cp - own.by_cp, own.by_wdl - other.by_wdl)
        if found.by_wdl >= MUST_LOSE and found.of_better < MAY_LOSE:
            break
    return found
