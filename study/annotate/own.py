"""Removes Merino's own annotations from a game, so that it can be annotated again.

This needs a game whose first comment is Merino's. From the comment of a move it removes only text of exactly the form
that `study.annotate.pgn` writes. All else belongs to the user, including a sign that was there before ("as marked")
and a variation that was commented later.
"""

from __future__ import annotations

import re

import chess.pgn

from merino.inner.core.board.fen import COLOUR_NAMES
from merino.inner.core.common.about import NAME
from merino.inner.study.annotate.analysis import GRADES
from merino.inner.study.reasons.mistakes import MistakeKind

AS_MARKED = " as marked"  # said of a mistake that had its sign before
BY_PIECE = "by piece: "  # begins what a mistake makes of the pieces
LOST = "of a point a move."  # ends what is said of each side's mistakes
_OLDER_LOST = "of the point lost a move."  # as Merino 1.0 wrote it
_NAGS = {grade.name: grade.nag for grade in GRADES}
_ACCOUNT = " ".join(rf"{side}: [^.]*\.\d% (?:{re.escape(LOST)}|{re.escape(_OLDER_LOST)})" for side in COLOUR_NAMES)
_HEAD = re.compile(rf"(?:^| ){NAME} \d\S*, .*? {_ACCOUNT}")
_TERM = r"\w+ [+-]\d+"
_GRADE = rf"(?P<grade>{'|'.join(_NAGS)})(?P<marked>{AS_MARKED})?, \d+\.\d% lost(?:: \S+ was (?P<better>[^\s;]+))?"
_KIND = rf"(?:{'|'.join(re.escape(kind.value) for kind in MistakeKind)}): [^;()]* \([^()]*\)"
_PIECE = r"[A-Za-z] [a-h][1-8](?:-[a-h][1-8]| taken| kept)? [+-]\d+"
_PIECES = rf"{BY_PIECE}{_PIECE}(?:, {_PIECE})*"
_TAIL = rf"\d+\.\d%(?:; {_TERM}(?:, {_TERM})*)?(?:; {_GRADE}(?:; {_KIND})?(?:; {_PIECES})?)?"
_TAILS = (re.compile(rf"(?P<kept>\[%eval [^]]*\]) {_TAIL}(?= |$)"), re.compile(rf"(?P<kept>^|.* ){_TAIL}$"))


def remove_own(game: chess.pgn.Game) -> None:
    """Take out of a game the comments, signs and variations that Merino added; evaluations stay to be replaced."""
    head, found = _HEAD.subn("", " ".join(game.comment.split()), count=1)
    if not found:
        return
    game.comment = head.strip()
    for node in list(game.mainline()):
        _remove_from_move(node)


def _remove_from_move(node: chess.pgn.ChildNode) -> None:
    comment = " ".join(node.comment.split())
    match = next(filter(None, (tail.search(comment) for tail in _TAILS)), None)
    if match is None:
        return
    node.comment = f"{comment[: match.start()]}{match['kept']}{comment[match.end() :]}".strip()
    if match["grade"] and not match["marked"]:
        node.nags.discard(_NAGS[match["grade"]])
    for variation in [other for other in node.parent.variations if other is not node]:
        if match["better"] == variation.san() and _is_bare(variation):
            node.parent.remove_variation(variation)


def _is_bare(node: chess.pgn.ChildNode) -> bool:
    """Whether a line is as Merino wrote it, without additions."""
    nodes = [node, *node.mainline()]
    return not any(each.comment or each.starting_comment or each.nags or len(each.variations) > 1 for each in nodes)
