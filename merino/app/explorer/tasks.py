"""The work that the page asks for and follows: searches, annotating a game, learning, and the match of two evaluations.

No file of the user is changed.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from queue import SimpleQueue
from random import Random
from typing import Any

from merino.app.console import shared
from merino.app.explorer.channel import FAULTS, INTERNAL_ERROR, Message, Say, Stop, reason_of
from merino.app.explorer.games import SentGames, sent_games
from merino.app.explorer.state import MAX_MOVES, Fields, NamedJudge, RequestError, ServerState, judge_name
from merino.core.board.game import Position
from merino.core.common import sealed, work
from merino.engine.notation import san
from merino.engine.report.static import report_score
from merino.engine.search import strength
from merino.engine.search.limits import Limits, Line, SearchResult
from merino.engine.search.searcher import Searcher
from merino.engine.tables.tablebase import advise
from merino.eval.evaluation import Evaluation
from merino.eval.linear import family, phases, registry
from merino.learn import fitting, judging, procedure, request
from merino.match import games, prove, statistics
from merino.match.players import OwnPlayer
from merino.study import annotated_files, annotation, judge, verdicts

MAX_LINES = 256
MAX_MS = 3_600_000
MAX_NODES, MAX_MATCH_NODES = 10**9, 100_000  # of searches, of moves
DEFAULT_NODES = 20_000  # in a game, without another limit
FIRST_LOOK_MS, LAST_LOOK_MS = 250, 64_000  # of another engine, which is asked again for twice the time
SIDES = ("new", "old")
LOOK_SECONDS = 0.05  # between two looks at the games that have ended
MATCH = "match"  # the match in `ServerState.kept`


def search(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Search a position and report each line found, without end unless a limit is given."""
    position, asked = fields.position(), state.asked_judge(fields)
    limits = _limits(fields, Limits(infinite=True))
    legal = len(position.legal_moves)
    lines = legal if fields.flag("all_moves") else min(legal, fields.number("lines", 1, MAX_LINES) or 1)
    if not legal:
        return {"type": "done", "best": None}
    best = None
    if isinstance(asked, NamedJudge):
        with suppress(KeyboardInterrupt), state.judging(fields, lambda: stop.is_set) as judging:
            best = _deepened(judging, position, limits, lines, say, stop)
    else:
        with state.searchers.borrowed(asked) as searcher:
            judging = judge.by_search(searcher, asked, judge_name(asked))
            searcher.is_analysing, searcher.multipv = True, lines

            def show(line: Line) -> None:
                if not line.bound and line.pv:
                    say({"type": "line", **_line(position, line, judging)})

            best = _searched(searcher, position, limits, stop, show).best
    return {"type": "done", "best": None if best is None else position.uci(best)}


def _deepened(judging: judge.Judge, position: Position, limits: Limits, count: int, say: Say, stop: Stop) -> int | None:
    """The best move by a judge of the command line, whose lines are said after each look.

    A search with limits is one look. Raises KeyboardInterrupt where it is stopped.
    """
    best, milliseconds = None, FIRST_LOOK_MS
    while not stop.is_set:
        found = judging.analyse(position, Limits(movetime=milliseconds) if limits.infinite else limits, count)
        for line in found:
            say({"type": "line", **_line(position, line, judging)})
        best, milliseconds = found[0].pv[0] if found else best, min(2 * milliseconds, LAST_LOOK_MS)
        if not limits.infinite:
            break
    return best


def play(fields: Fields, state: ServerState, _: Say, stop: Stop) -> Message:
    """Search for a move to play, at a level, by an evaluation or by a `judge`; Merino's may come from its book."""
    position = fields.position()
    asked = state.asked_judge(fields) if fields.has("judge") else fields.evaluation(state.evaluations)
    limits = _limits(fields, Limits(movetime=shared.DEFAULT_POSITION_MS))
    level = strength.at_level(fields.number("level", 0, strength.FULL_LEVEL) or 0) if fields.has("level") else None
    best: int | None = None
    if isinstance(asked, NamedJudge):
        player = asked if level is None else asked.weakened(level.elo)
        with suppress(KeyboardInterrupt), player.borrowed(lambda: stop.is_set) as engine:
            best = engine.line(position, limits).pv[0]
    elif state.book is not None and (booked := state.book.move(position, Random())):
        best = booked
    else:
        with state.searchers.borrowed(asked) as searcher:
            searcher.strength = level
            advice = advise(state.tables, position) if state.tables and level is None else None
            limits = replace(limits, search_moves=tuple(advice.moves)) if advice else limits
            best = _searched(searcher, position, limits, stop).best
    if best is None:
        return {"type": "done", "best": None, "san": None}
    return {"type": "done", "best": position.uci(best), "san": san.san(position, best)}


def annotate(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Report for each move of a game what it loses, as `merino annotate` does; from the ply `first` on, if given."""
    current = Position(fields.text("fen"))
    first = fields.number("first", 1, MAX_MOVES + 1) or 1
    limits = _limits(fields, Limits(nodes=DEFAULT_NODES))
    moves = fields.take("moves", list[str])
    current.push_all(moves[: first - 1])
    with suppress(KeyboardInterrupt), state.judging(fields, lambda: stop.is_set) as judging:
        found = annotation.annotate_moves(current, moves[first - 1 :], judging, lambda _: limits)
        after = None
        for ply, annotated in enumerate(found, first):
            said = annotated_files.annotated_json(current, annotated)
            deeper = int(annotated.better is not annotated.before)  # than the search after its first move
            better = after if after and not deeper else _verdict_line(current, annotated.better, judging, deeper)
            current.push(annotated.move)
            after = _verdict_line(current, annotated.after, judging)
            say({"type": "move", "ply": ply, **said, "lines": [better, after]})
    return {"type": "done"}


def _limits(fields: Fields, otherwise: Limits) -> Limits:
    """The limits that a request names; `otherwise` if it names none."""
    found = Limits(
        depth=fields.number("depth", 1, 100),
        nodes=fields.number("nodes", 1, MAX_NODES),
        movetime=fields.number("movetime", 1, MAX_MS),
    )
    return otherwise if found == Limits() else found


def _searched(searcher: Searcher, position: Position, limits: Limits, stop: Stop, show: Any = None) -> SearchResult:
    """The result of a search, which `stop` ends."""
    results = SimpleQueue[SearchResult]()
    searcher.start(position, limits, show or (lambda _: None), results.put)
    with stop.calling(searcher.stop):
        return results.get()


def _line(position: Position, line: Line, judging: judge.Judge) -> dict[str, Any]:
    named = list(san.named_moves(position, line.pv))
    return {
        "sentence": verdicts.standing(position, line, judging),
        **{name: getattr(line, name) for name in ("depth", "nodes", "nps", "time_ms")},
        "number": line.multipv,
        "score": asdict(report_score(line.score, position.side, partial(judging.share, position))),
        "moves": [move for _, move in named],
        "names": [name for name, _ in named],
        "text": san.san_line(position.to_chess(stack=False), line.pv),
    }


def _verdict_line(
    position: Position, verdict: annotation.MoveVerdict, judging: judge.Judge, deeper: int = 0
) -> dict[str, Any] | None:
    """A verdict as a line of a search; None where the game is over."""
    line = Line(verdict.depth + deeper, 0, 1, verdict.score, "", 0, 0, 0, 0, tuple(verdict.best))
    return _line(position, line, judging) if line.pv else None


def learn(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Learn from the games of one text or of several files, report the progress, and keep record and weights."""
    evaluation = fields.evaluation(state.evaluations)
    terms, settings = terms_of(evaluation), fields.build(request.Settings, "first", "last", "target", "phases")
    teacher = request.DEFAULT_TEACHER if fields.flag("teacher") and settings.target.needs_scores else None
    usual = request.DEFAULT_SELECTION if teacher else request.Selection()  # a teacher scores random moves, too
    usual = replace(usual, later=None) if fields.has("per_game") else usual
    selection = fields.build(partial(replace, usual), "per_game")
    with sent_games(fields) as sent:
        weights, record = sent.folder / "weights.txt", sent.folder / "learning.json"
        evaluation.save(weights)
        wanted = request.LearnRequest(
            tuple(map(str, sent.paths)),
            settings,
            selection,
            request.NO_CHOICE,
            teacher,
            weights=str(weights),
            record=str(record),
            dry_run=True,
            plays_match=False,
        )
        try:
            result = procedure.learn_from_files(wanted, _events(sent, settings, terms, say, stop))
        except request.LearnStoppedError as error:
            raise RequestError("stopped") from error
        found = {**judging.load_record(record), "files": list(sent.names)}
    summary = result.summary
    if summary is None:
        raise request.LearnError("nothing was learned")
    learned = evaluation.with_numbers({line.name: line.new for line in summary.weights}).with_k(summary.k)
    learned.name = f"learned from {sent.title}"
    entry = state.evaluations.add(learned.name, learned)
    old = state.evaluations.add(f"before {sent.title}", evaluation)
    state.learned = {"record": found, "weights": asdict(entry), "old": asdict(old)}
    return {"type": "done", **state.learned, "accepted": summary.accepted}


def _events(
    sent: SentGames, settings: request.Settings, terms: registry.TermSet, say: Say, stop: Stop
) -> request.Events:
    """Progress for the page, with the names that the user knows the games by; each look is also for `stop`."""

    def say_and_heed(kind: str, **content: object) -> None:
        say({"type": kind, **content})
        if stop.is_set:
            raise KeyboardInterrupt  # as the learner expects it, which keeps the best so far

    return request.Events(
        lambda line: say({"type": "text", "text": sent.named(line)}),
        lambda what, done: say_and_heed("progress", what=sent.named(what), done=done),
        stepped=lambda step: say_and_heed("step", **_step(step, settings, terms)),
    )


def terms_of(evaluation: Evaluation) -> registry.TermSet:
    """The set of an evaluation that has terms."""
    if not isinstance(evaluation, family.LinearEvaluation):
        raise RequestError(f"{evaluation.name} has no weights to learn; choose a weights file to start from")
    return evaluation.terms


def _step(step: fitting.Step, settings: request.Settings, terms: registry.TermSet) -> dict[str, Any]:
    train, valid = step.sums.errors(settings.root_of_sum)
    values = step.parameters.weights
    weights = dict(zip(phases.column_names(terms, phases.phases_of(values, len(terms))), values.tolist(), strict=True))
    return {"train": train, "valid": valid, "k": step.parameters.k, "weights": weights}


def match(fields: Fields, state: ServerState, say: Say, stop: Stop) -> Message:
    """Let the evaluation `new` play `old` by the test of `merino learn`, or `follow` that which is played already.

    Each game is reported. A match goes on where nobody follows it; asked to stop, it ends. One is played at a time.
    """
    if not fields.flag("follow"):
        players = {side: fields.part(side).evaluation(state.evaluations) for side in SIDES}
        asked = {side: _described(fields.part(side), players[side]) for side in SIDES}
        trial = _trial(fields)
        with state.beginning:
            if MATCH in state.kept and state.kept[MATCH].is_running:
                raise RequestError("a match is already being played, by this tab or by another: stop it first")
            begun = state.kept[MATCH] = ServerMatch(players, asked, trial)
            state.at_end.append(begun.stop)
    if MATCH not in state.kept:
        raise RequestError("no match has been played since the explorer was started")
    return state.kept[MATCH].follow(say, stop)


def match_so_far(_: Fields, state: ServerState) -> Message:
    """GET /api/match: the `match` that is or was played, null for none; `usual`, nodes a move and the most games."""
    usual = {"nodes": prove.GAIN.time_control.nodes, "most": prove.GAIN.most_games}
    return {"match": state.kept[MATCH].as_json() if MATCH in state.kept else None, "usual": usual}


def _described(side: Fields, evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as the page asks for it, and its name."""
    return {"weights": side.weights(), "changes": side.take("changes", dict[str, float]), "name": evaluation.name}


def _trial(fields: Fields) -> prove.StrengthTest:
    """The usual test, or one of at most so many `games` at so many `nodes` a move."""
    usual = prove.GAIN
    nodes = fields.number("nodes", 1, MAX_MATCH_NODES) or usual.time_control.nodes
    most = fields.number("games", 2, usual.most_games) or usual.most_games
    return replace(usual, time_control=replace(usual.time_control, nodes=nodes), most_games=most)


class ServerMatch:
    """A match that a thread plays until it is decided, until it has its most games, or until it is stopped."""

    def __init__(self, players: Mapping[str, Evaluation], asked: Mapping[str, Any], trial: prove.StrengthTest) -> None:
        """Begin it; `players` are by their sides, and so is what the page has asked for."""
        self._new, self._old = (OwnPlayer(side, players[side]) for side in SIDES)
        self._asked, self._trial, self._tally = asked, trial, games.Tally()
        self._is_stopped = False
        self._games = list[Message]()
        self._last: Message | None = None  # the message at its end
        threading.Thread(target=self._play, name="match", daemon=True).start()

    @property
    def is_running(self) -> bool:
        """Whether it is being played."""
        return self._last is None

    def as_json(self) -> Mapping[str, Any]:
        """What is played, as it was asked for, and how it stands."""
        return {**self._asked, "running": self.is_running, "standing": standing(self._tally, self._trial)}

    def stop(self) -> None:
        """End it after the games that are being played; it keeps what was played."""
        self._is_stopped = True

    def follow(self, say: Say, stop: Stop) -> Message:
        """Report what has been played, then each game as it comes; the last message, with the verdict."""
        trial = self._trial
        test = {"test": str(trial.test), "most": trial.most_games, "bounds": trial.test.bounds}
        say({"type": "trial", **test, "nodes": trial.time_control.nodes})
        reported = 0
        while True:
            last = self._last  # before the games that have ended by then
            for game in self._games[reported:]:
                say(game)
                reported += 1
            if stop.is_left or last is not None:
                return last or {"type": "done"}
            if stop.is_set and not stop.is_left:
                self.stop()
            time.sleep(LOOK_SECONDS)

    def _play(self) -> None:
        last: Message = {"type": "error", "error": INTERNAL_ERROR}
        try:
            last = self._played()
        except FAULTS as error:
            last = {"type": "error", "error": reason_of(error)}
        finally:
            self._last = last

    def _played(self) -> Message:
        trial, threads = self._trial, max(1, work.cores() - 1)  # so that the page is answered meanwhile
        proof = prove.prove(
            self._new, self._old, trial, lambda _: None, lambda _: self._heed(), threads, played=self._add
        )
        found = {"verdict": proof.verdict, "interrupted": proof.interrupted}
        return {"type": "done", **found, "standing": standing(proof.tally, trial)}

    def _heed(self) -> None:
        if self._is_stopped:
            raise KeyboardInterrupt  # as a match expects it, which keeps what was played

    def _add(self, game: games.Game) -> None:
        self._tally.add(game)
        self._games.append({"type": "game", **_game(game), "standing": standing(self._tally, self._trial)})
        self._heed()


def standing(tally: games.Tally, trial: prove.StrengthTest) -> dict[str, Any]:
    """The result so far, from the view of the new one; Elo is null where it is without bounds."""
    losses, draws, wins = tally.points.tolist()
    found = statistics.estimate(tally.counts)
    return {
        "games": tally.games,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "elo": sealed.finite(found.elo),
        "elo_error": sealed.finite(found.elo_error),
        "llr": trial.test.llr(tally.counts),
    }


def _game(game: games.Game) -> dict[str, Any]:
    """A game with its moves, those of the opening too."""
    position = game.opening.position()
    start, moves = position.start_fen(), [position.uci(move) for move in position.moves]
    for played in game.moves:
        moves.append(position.uci(played.move))
        position.push(played.move)
    return {
        "number": game.number + 1,
        "white": "new" if game.first_is_white else "old",
        "result": game.result,
        "points": game.points / 2,
        "reason": game.reason.value,
        "fen": start,
        "moves": moves,
    }
