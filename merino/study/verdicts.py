"""What a search says of a position, of a move, of two moves or of a line: its verdict, then what of it is proved.

Every reason is a claim (`study.claims`). Where none is proved, a sentence says so, or nothing is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from merino.core.board.fen import COLOUR_NAMES
from merino.core.board.game import Position
from merino.core.board.move import Move
from merino.core.common.text import counted
from merino.engine.notation.san import san, score_text
from merino.engine.report import phrases, schema
from merino.engine.search.known_openings import known_moves
from merino.engine.search.limits import KNOWN_WIN, Limits, Line, Score
from merino.study import claims, tactics, winning
from merino.study.annotation import deeper, grade_of
from merino.study.judge import Judge, lengthened, remembering
from merino.study.lines import Course, after_move, seen_after

SAME = 0.02  # of the points, by which moves must differ for one to be better
UNSETTLED = 0.1  # of the points, by which a deeper search must not change a verdict, or another one is made
DECIDED = 100  # centipawns by which moves must differ where one side is winning anyway
MAX_SHOWN = 7  # plies of a mate that is shown to its end


@dataclass(frozen=True)
class Judgement:
    """Sentences, the claims in them, and the lines of the search by their first moves."""

    sentences: tuple[str, ...]
    claims: tuple[schema.ClaimReport, ...] = ()
    lines: Mapping[int, Line] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All sentences."""
        return " ".join(self.sentences)


def with_verdict(
    report: schema.PositionReport, position: Position, judge: Judge, limits: Limits
) -> schema.PositionReport:
    """The report of a legal position with the verdict of a search, and with a threat of the other side."""
    if report.ending:
        return replace(report, verdict=report.summary[0])
    prover = claims.Prover(judge, limits)
    verdict, threat = of_position(position, prover), prover.threat(position)
    said = None if threat is None else claims.threat_text(*threat[:2])
    proved = verdict.claims if threat is None else (*verdict.claims, threat[0])
    return replace(report, verdict=verdict.text, threat=said, claims=proved)


def of_position(position: Position, prover: claims.Prover) -> Judgement:
    """Who is better in a position that is not over, by which move, and what that wins.

    A deeper search must agree, else its line is the verdict. Where it changes the points much, a still deeper one is
    made; none is if the limit is a time.
    """
    judge, limits = prover.judge, prover.limits
    line = judge.line(position, limits)
    for within in () if limits.movetime else (deeper(limits), lengthened(deeper(limits), *winning.LONGER)):
        deep = judge.line(position, within)
        off = abs(judge.share(position, deep.score) - judge.share(position, line.score))
        line = line if deep.pv[0] == line.pv[0] and off < SAME else deep
        if off < UNSETTLED:
            break
    course, turn, mate = Course(position, line.pv, line.score), position.side, line.score.mate
    judged = partial(Judgement, lines={line.pv[0]: line})
    by = f"best is {course.opening} ({judge.name}, depth {line.depth})."
    if mate is not None and mate < 0:
        claim = prover.of_line(Course(course.after(1), line.pv[1:], seen_after(line.score)))
        if claim is not None and claim.kind == "mate":
            said = f"{COLOUR_NAMES[1 - turn]} mates in {-mate}; {course.opening} holds out longest."
            return judged((said,), (claim,))
        return judged((f"{COLOUR_NAMES[1 - turn]} is winning; {by}",))
    claim = prover.of_line(course)
    if claim is not None and claim.kind == "mate":
        plies = len(claim.line)
        shown = f" ({claims.line_text(position, claim.line)})" if 1 < plies <= MAX_SHOWN else ""
        said = f"{COLOUR_NAMES[turn]} mates in {(plies + 1) // 2} by {course.opening}{shown}."
        return judged((said,), (claim,))
    said = standing(position, line, judge)
    return judged((said,)) if claim is None else judged((said, _of_it(claim, course)), (claim,))


def standing(position: Position, line: Line, judge: Judge) -> str:
    """A line that a search has just found in a sentence, without a proof: who is better, and by which move."""
    score, share = line.score, judge.share(position, line.score)
    share = share if score > 0 else 1 - share
    leader = COLOUR_NAMES[position.side if score > 0 else 1 - position.side]
    if abs(score) < phrases.MIN_AHEAD:
        said = "Neither side is better"
    elif abs(score) >= KNOWN_WIN:
        said = f"{leader} is winning"
    else:
        said = f"{leader} is better by {abs(score) / 100:.2f} and may expect {share:.0%} of the points"
    best = _bare(Course(position, line.pv[:1], score).opening)
    return f"{said}; best is {best} ({judge.name}, depth {line.depth})."


def of_move(position: Position, played: Move, judge: Judge, limits: Limits) -> Judgement:
    """Whether a move is the best; if not, what is wrong with it. What looks like a mistake is searched deeper."""
    best, own, prover = _both(position, (), played, judge, limits)
    fall, judged = _fall(position, best, own, judge), partial(Judgement, lines={played: own})
    name, better = _bare(san(position, played)), _bare(san(position, best.pv[0]))
    score, best_score = (score_text(line.score, position.side) for line in (own, best))
    if best.pv[0] == played or own.score >= best.score:
        if san(position, played).endswith("#"):
            return judged((f"{name} is mate.",))
        if len(position.legal_moves) == 1:
            return judged((f"{name} is the only move: {score}.",))
        course = Course(position, own.pv, own.score)
        claim, said = prover.of_line(course), f"{name} is best: {score}."
        return judged((said,)) if claim is None else judged((said, _of_it(claim, course)), (claim,))
    against = f"{best_score} against {score}"
    if played in known_moves(position) and fall >= SAME:
        return judged((f"{name} is a move of known openings; the search prefers {better}: {against}.",))
    grade = grade_of(fall)
    if grade is None and best.score - own.score < DECIDED:
        if judge.share(position, best.score) - judge.share(position, own.score) < SAME:
            said = f"{name} is as good as the best, {better}: {score} and {best_score}."
        else:
            said = f"{better} is a little better than {name}: {against}."
        return judged((said,))
    word = "not the best" if grade is None else f"{'an' if grade.name[0] in 'aeiou' else 'a'} {grade.name}"
    mistake = _mistake(prover, position, best, own)
    if not mistake.claims:
        return judged((f"{name} is {word}: {better} is better, {against}; {claims.NO_REASON}.",))
    said = mistake.sentence if mistake.sentence.startswith(name) else f"{name} is {word}: {mistake.sentence}"
    return judged((_sentence(said), f"Better is {better} ({against})."), mistake.claims)


def of_two(
    position: Position, first: Move, second: Move, judge: Judge, limits: Limits, known: Sequence[Line] = ()
) -> Judgement:
    """Which of two moves is better, and why.

    Where the lines of both are `known`, whose reader sees their scores, nothing but reasons is searched for, and no
    score is said.
    """
    if known:
        both, prover = list(known), claims.Prover(judge, limits)
    else:
        *both, prover = _both(position, (first,), second, judge, limits)
    judged = partial(Judgement, lines={line.pv[0]: line for line in both})
    better, other = sorted(both, key=lambda line: -line.score)
    names = [_bare(san(position, line.pv[0])) for line in (better, other)]
    scores = [score_text(line.score, position.side) for line in (better, other)]
    same, close, against = f" ({scores[0]})", f": {scores[0]} and {scores[1]}", f": {scores[0]} against {scores[1]}"
    if known:
        same = close = against = ""
    if better.score == other.score:
        return judged((f"The search finds {names[0]} and {names[1]} equally good{same}.",))
    apart = judge.share(position, better.score) - judge.share(position, other.score)
    is_close = better.score - other.score < DECIDED and apart < SAME
    if is_close and better.score.mate is None:
        return judged((f"{names[0]} and {names[1]} are about equally good{close}.",))
    is_mate = san(position, better.pv[0]).endswith("#")
    said = f"{names[0]} is mate" if is_mate else f"{names[0]} is better than {names[1]}{against}"
    mistake = _mistake(prover, position, better, other)
    if not mistake.claims:
        return judged((f"{said}; {claims.NO_REASON}.",))
    because = () if is_mate else (_sentence(f"{mistake.sentence} ({mistake.line})"),)
    return judged((f"{said}.", *because), mistake.claims)


def outcome(position: Position, moves: Sequence[str]) -> tuple[str, ...]:
    """What a line of legal moves, coordinates, comes to: a mate, a draw, or what a side wins and keeps; often nothing.

    Material counts where nothing can be taken at a profit any more, and only if the line does not give it back.
    """
    course = Course(position, position.copy().push_all(moves), Score(0))
    if course.boards[-1].is_checkmate():
        return (f"{_bare(course.numbered(len(moves)))} is mate.",)
    if how := tactics.drawing(course.boards[-1]):
        return (f"{_bare(course.numbered(len(moves)))} {tactics.DRAWS[how]}.",)
    for start in (0, 1)[: len(moves)]:
        part = Course(course.after(start), course.moves[start:], Score(0))
        ply = start + part.gains[0].ply if part.gains else 0
        pawns = tactics.balance(course.boards[ply], part.side) - tactics.balance(course.boards[0], part.side)
        if pawns >= tactics.MIN_GAIN:
            given, taken = tactics.exchanged(course.boards[0], course.boards[ply], part.side)
            won = "promotes" if course.made[ply - 1].promotion else f"wins material worth {counted(pawns, 'pawn')}"
            if taken and tactics.pawns_of(taken) - tactics.pawns_of(given) == pawns:
                won = f"wins {phrases.listed(taken, given)}"
            return (f"By {_bare(course.numbered(ply))} {COLOUR_NAMES[0 if part.side else 1]} {won}.",)
    return ()


def _of_it(claim: schema.ClaimReport, course: Course) -> str:
    """A claim about a line whose first move has just been named: "It forks ..."."""
    is_its = claim.text.startswith(course.opening)
    return f"It{claim.text.removeprefix(course.opening)}." if is_its else _sentence(claim.text)


def _sentence(text: str) -> str:
    """A text as a sentence, which may begin with a move: "the pawn on e4 promotes" and "exd5 wins a pawn"."""
    return f"{text[0].upper() if text.startswith(('the ', 'no ')) else text[0]}{text[1:]}."


def _bare(name: str) -> str:
    """A move without the sign of a mate, for sentences that say it."""
    return name.removesuffix("#")


def _both(
    position: Position, first: Sequence[Move], second: Move, judge: Judge, limits: Limits
) -> tuple[Line, Line, claims.Prover]:
    """The lines of two searches, of these moves alone or of all, and of another move, with a prover as deep.

    Where the moves differ by as much as a mistake, the searches are deeper, and so they are, if the limit is no time,
    of two moves that are given, or where the second move seems the best.
    """
    for within in (limits, deeper(limits)):
        line = judge.line(position, replace(within, search_moves=list(first)))
        own = line if line.pv[0] == second else judge.line(position, replace(within, search_moves=[second]))
        is_clear = own is not line and not first
        if grade_of(_fall(position, line, own, judge)) is None and (is_clear or limits.movetime):
            break
    return line, own, claims.Prover(judge, within)


def _fall(position: Position, one: Line, other: Line, judge: Judge) -> float:
    """How much less of the points the worse of two lines brings, by the scale of the judge by which it is less."""
    return judge.fall(position, *sorted((one.score, other.score), reverse=True))


def _mistake(prover: claims.Prover, position: Position, better: Line, other: Line) -> claims.Mistake:
    own = Course(after_move(position, other.pv[0]), other.pv[1:], seen_after(other.score))
    prover = replace(prover, judge=remembering(prover.judge))  # the proofs of both pairs of lines share searches
    return prover.of_mistake(other.pv[0], Course(position, better.pv, better.score), own)
