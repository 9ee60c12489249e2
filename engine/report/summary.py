"""An evaluation, or its change, in a few English sentences that say no more than the table of terms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from merino.inner.core.board.bitboard import BLACK, WHITE
from merino.inner.core.board.fen import COLOUR_NAMES
from merino.inner.engine.report.phrases import is_material, net_phrase
from merino.inner.engine.report.schema import ChangeReport
from merino.inner.engine.report.telling import largest_for_each_side
from merino.inner.eval.explanation import Explanation, PieceValues
from merino.inner.eval.linear.registry import Group

NAMED = 3  # terms in a list, at most
MIN_AHEAD = 3  # centipawns; less is no lead
MIN_VALUE = 0.5  # centipawns; less is no material
MIN_CHANGE = 1.0  # centipawns; smaller changes are not mentioned


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
        sentences = [f"{what} {'gains' if total > 0 else 'costs'} {COLOUR_NAMES[colour]} {abs(total) / 100:.2f}."]
    else:
        sentences = [f"{what} leaves the score as it is."]
    terms = [(net_phrase(term.name), sign * term.change_cp) for term in change.terms if not is_material(term.name)]
    material = sign * math.fsum(term.change_cp for term in change.terms if is_material(term.name))
    return (*sentences, *_for_and_against(colour, [(Group.MATERIAL.title.lower(), material), *terms]))


def _for_and_against(colour: int, values: Sequence[tuple[str, float]]) -> Iterable[str]:
    """The largest positive values, which are for the side `colour`, and the largest negative ones."""
    for side, sign in ((colour, 1), (1 - colour, -1)):
        chosen = sorted((pair for pair in values if sign * pair[1] >= MIN_CHANGE), key=lambda pair: -abs(pair[1]))
        if chosen:
            said = ", ".join(f"{name} {abs(value) / 100:.2f}" for name, value in chosen[:NAMED])
            yield f"In {COLOUR_NAMES[side]}'s favour: {said}."
