"""An evaluation, or its change, in a few English sentences that say no more than the table of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.board.fen import COLOUR_NAMES
from merino.inner.engine.report.schema import ChangeReport
from merino.inner.engine.report.telling import largest_for_each_side
from merino.inner.eval.explanation import Explanation, PieceValues
from merino.inner.eval.linear.registry import Group

NAMED = 3  # groups or terms in a list, at most
MIN_AHEAD = 3  # centipawns; less is no lead
MIN_VALUE = 0.5  # centipawns; smaller values are not mentioned


def summarise(values: PieceValues) -> tuple[str, ...]:
    """Sentences: who is ahead, and by which terms of which pieces; without values of pieces the terms alone."""
    explanation = values.explanation
    score = explanation.score_white
    leader = BLACK if score < 0 else WHITE
    expected = explanation.expected_score if leader == WHITE else 1 - explanation.expected_score
    sentences = [
        f"{COLOUR_NAMES[leader]} is ahead by {abs(score) / 100:.2f} pawns and may expect {expected:.0%} of the points."
        if abs(score) >= MIN_AHEAD
        else "Neither side is ahead."
    ]
    if explanation.without_terms:
        return (*sentences, f"{explanation.without_terms}.", *_rule_sentence(explanation))
    if abs(explanation.group_net(Group.MATERIAL)) < MIN_VALUE:
        sentences.append(f"{Group.MATERIAL.title} is level.")
    if said := largest_for_each_side(values):
        sentences.append(said)
    return (*sentences, *_rule_sentence(explanation))


def ending_sentence(ending: str, winner: int | None) -> str:
    """How a game has ended, in place of what its last position would be worth."""
    return f"The game is drawn: {ending}." if winner is None else f"{COLOUR_NAMES[winner]} has won by {ending}."


def _rule_sentence(explanation: Explanation) -> Iterable[str]:
    if explanation.rule:
        yield f"A draw rule changes the sum by {explanation.rule_cp:+.0f} centipawns: {explanation.rule}."


def summarise_change(change: ChangeReport, what: str, colour: int) -> tuple[str, ...]:
    """Sentences on how much `what`, such as "Nf3", gains or costs the side `colour`, and by which terms."""
    sign = -1 if colour == BLACK else 1
    total = sign * change.change_cp
    if total:
        sentences = [f"{what} {'gains' if total > 0 else 'costs'} {COLOUR_NAMES[colour]} {abs(total)} centipawns."]
    else:
        sentences = [f"{what} leaves the score as it is."]
    terms = [(term.name, sign * term.change_cp) for term in change.terms]
    return (*sentences, *_for_and_against(COLOUR_NAMES[colour], COLOUR_NAMES[1 - colour], terms))


def _for_and_against(side: str, other: str, values: Iterable[tuple[str, float]]) -> Iterable[str]:
    """The largest positive values, which are for `side`, and the largest negative ones, a sentence for each."""
    known = list(values)
    good = _largest(known, lambda value: value >= MIN_VALUE)
    bad = _largest(known, lambda value: value <= -MIN_VALUE)
    yield from (f"In {whom}'s favour: {said}." for whom, said in ((side, good), (other, bad)) if said)


def _largest(values: Iterable[tuple[str, float]], counts: Callable[[float], bool]) -> str:
    """The largest relevant values: "RookOpen 20, Rook7th 12"; sizes without sign."""
    chosen = sorted((pair for pair in values if counts(pair[1])), key=lambda pair: -abs(pair[1]))[:NAMED]
    return ", ".join(f"{name} {abs(value):.0f}" for name, value in chosen)
