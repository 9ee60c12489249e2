"""An evaluation, or its change, in a few English sentences, each of which the board proves.

A sentence states a fact for which players have a word, by the rules of `places`, and what a term that counts it adds.
The fact must hold on the board, and the term must count it as players do, for its side or against it. What has no such
sentence is in the table of terms alone.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial

import chess
import numpy as np

from merino.core.board import bitboard, fen
from merino.core.board.game import Outcome
from merino.core.common.text import rounded
from merino.engine.report import places
from merino.engine.report.schema import ChangeReport
from merino.eval.explanation import Explanation
from merino.eval.linear import registry, sets

MIN_AHEAD = 3  # centipawns; less is no lead
NOT_AHEAD = "Neither side is ahead."
MIN_VALUE = 0.5  # centipawns; less is no material
MIN_FACT = 5.0  # centipawns; facts that add less are not put into words
MAX_NAMED = 3  # facts of a side
MAX_CHANGES = 4  # facts
MAX_NAMED_IN_GROUP = 2  # facts of a group
MANY_TERMS = 40  # of a set: with more, groups are named first
MOBILITY = "mobility"  # what the terms count whose names end so: more squares for pieces of a kind
_MORE_SQUARES, _SQUARES_MORE, _SQUARES_FEWER = "more squares", "squares more", "squares fewer"
_COUNTS = ("no", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
Said = tuple[chess.Color, str]  # whom a fact favours, and the sentence


NOTHING = Counter[chess.PieceType]()


def listed(kinds: Counter[chess.PieceType], price: Counter[chess.PieceType] = NOTHING) -> str:
    """Pieces in words, the most valuable first, and what is given for them: "a rook and two pawns for a queen"."""
    if price:
        return f"{listed(kinds)} for {listed(price)}"
    return places.joined(
        f"{_COUNTS[count] if count < len(_COUNTS) else count} {chess.piece_name(kind)}{'s' * (count > 1)}"
        for kind, count in sorted(kinds.items(), reverse=True)
    )


# What terms are called, and what they count


def phrases_of(name: str) -> tuple[str, ...]:
    """The words of the sentences that state what a term counts, by which they can be known."""
    if MOBILITY in counted(name):
        return _MORE_SQUARES, _SQUARES_MORE, _SQUARES_FEWER
    words = [fact.words for fact in places.STATED.values() if name.startswith(fact.terms)]
    return tuple(max(re.split(r"\{\w+\}", each), key=len).lstrip("'s ").rstrip() for each in words)


def is_usual(name: str, weight: float) -> bool:
    """Whether a weight of a term has the sign that chess players expect; a sentence with another one would mislead."""
    term = _term(name)
    return isinstance(term, registry.TermTable) or weight * term.sign > 0


def group_of(name: str) -> registry.Group:
    """The group of a term; raises KeyError for the name of none."""
    return _term(name).group


@cache
def _term(name: str) -> registry.Term | registry.TermTable:
    """The term or table of this name, in whichever set, first the user's own; raises KeyError."""
    for each in sorted(sets.names_of_sets(), key=sets.SETS.__contains__):
        for term, _ in sets.set_named(each).to_read():
            if term.name == name:
                return term
    raise KeyError(name)


def piece_in(name: str) -> chess.PieceType | None:
    """The kind of piece with which the name of a term begins; None for none."""
    return next((kind for kind in chess.PIECE_TYPES if name.lower().startswith(chess.piece_name(kind))), None)


def counted(name: str) -> Iterator[str]:
    """The kinds of facts that a term counts."""
    if piece_in(name) and name.endswith(MOBILITY.capitalize()):
        yield MOBILITY
    yield from (kind for kind, fact in places.STATED.items() if name.startswith(fact.terms))


# Facts with what they add


def _facts(
    terms: Mapping[str, float], state: Callable[[str, chess.PieceType | None], Iterable[Said]]
) -> list[tuple[str, float]]:
    """The sentences on facts that explain what terms add, centipawns for White, with that, the largest first.

    `state` returns what can be said of a kind of fact and a kind of piece, or all. What favours the other side than the
    term does explains nothing.
    """
    found = dict[str, float]()
    for name, cp in sorted(terms.items(), key=lambda term: -abs(term[1])):
        said = [each for kind in counted(name) for each in state(kind, piece_in(name))]
        if text := " and ".join(text for favours, text in said if favours == (cp > 0)):
            found.setdefault(text, cp)
    return list(found.items())


def _standing(board: chess.Board, kind: str, piece: chess.PieceType | None) -> Iterator[Said]:
    """What can be said of a kind of fact on a board."""
    if kind == MOBILITY and piece:
        yield from _more_mobile(board, piece)
        return
    fact = places.STATED[kind]
    for owner in chess.COLORS:
        if found := [each for each in fact.holds(board, owner) if piece in (None, board.piece_type_at(each.square))]:
            yield owner == fact.is_good, places.sentence(kind, board, found)


def _changing(
    before: chess.Board,
    after: chess.Board,
    begins: Mapping[str, str],
    ends: Mapping[str, str],
    kind: str,
    piece: chess.PieceType | None,
) -> list[Said]:
    """What can be said of a kind of fact that differs between two boards; nothing where it favours both sides."""
    if kind == MOBILITY and piece:
        said = list(_mobility_changing(before, after, piece))
    else:
        said, fact = [], places.STATED[kind]
        for owner in chess.COLORS:
            began, ended = places.changed(kind, before, after, owner)
            for board, found, verbs in ((after, began, begins), (before, ended, ends)):
                if found := [each for each in found if piece in (None, board.piece_type_at(each.square))]:
                    is_good = fact.is_good == (verbs is begins)
                    said.append((owner == is_good, places.sentence(kind, board, found, verbs)))
    return said if len({favours for favours, _ in said}) == 1 else []


def _squares_of(board: chess.Board, piece: chess.PieceType, side: chess.Color) -> int:
    return sum(places.reach(board, square) for square in board.pieces(piece, side))


def _pieces_of(board: chess.Board, piece: chess.PieceType, side: chess.Color) -> tuple[str, str]:
    """The pieces of a kind, and the verb for what they reach: "White's bishops", "reach"."""
    squares = board.pieces(piece, side)
    name = f"{fen.COLOUR_NAMES[not side]}'s {chess.piece_name(piece)}"
    return (f"{name}s", "reach") if len(squares) > 1 else (f"{name} on {chess.square_name(min(squares))}", "reaches")


def _more_mobile(board: chess.Board, piece: chess.PieceType) -> Iterator[Said]:
    """Which side's pieces of a kind reach clearly more squares, where both have some."""
    squares = {side: _squares_of(board, piece, side) for side in chess.COLORS if board.pieces(piece, side)}
    for side, count in squares.items():
        if count - squares.get(not side, count) >= places.LESS_MOBILE:
            name, verb = _pieces_of(board, piece, side)
            yield side, f"{name} {verb} {_MORE_SQUARES}, {count} against {squares[not side]}"


def _mobility_changing(before: chess.Board, after: chess.Board, piece: chess.PieceType) -> Iterator[Said]:
    """Whose pieces of a kind, as many on both boards, reach clearly more or fewer squares."""
    for side in chess.COLORS:
        change = _squares_of(after, piece, side) - _squares_of(before, piece, side)
        if len(before.pieces(piece, side)) == len(after.pieces(piece, side)) and abs(change) >= places.LESS_MOBILE:
            name, verb = _pieces_of(after, piece, side)
            how = _SQUARES_MORE if change > 0 else _SQUARES_FEWER
            yield side == (change > 0), f"{name} {verb} {abs(change)} {how}"


# Sentences on an evaluation


def summarise(explanation: Explanation, record: np.ndarray) -> tuple[str, ...]:
    """Sentences on POSITION[1]: who is ahead, and by which facts; without terms that alone."""
    score = explanation.score_white
    leader = bitboard.BLACK if score < 0 else bitboard.WHITE
    expected = explanation.expected_score if leader == bitboard.WHITE else 1 - explanation.expected_score
    ahead = f"{fen.COLOUR_NAMES[leader]} is ahead by {abs(score) / 100:.2f} pawns"
    sentences = [f"{ahead} and may expect {expected:.0%} of the points." if abs(score) >= MIN_AHEAD else NOT_AHEAD]
    if explanation.without_terms:
        return (*sentences, f"{explanation.without_terms}.", *_rule_sentence(explanation))
    if abs(explanation.group_net(registry.Group.MATERIAL)) < MIN_VALUE:
        sentences.append(f"{registry.Group.MATERIAL.title} is level.")
    if said := largest_for_each_side(explanation, record):
        sentences.append(said)
    return (*sentences, *_rule_sentence(explanation))


def ending_sentence(outcome: Outcome) -> str:
    """How a game has ended, in place of what its last position would be worth."""
    ending = outcome.termination.value
    if outcome.winner is None:
        return f"The game is drawn: {ending}."
    return f"{fen.COLOUR_NAMES[not outcome.winner]} has won by {ending}."


def _rule_sentence(explanation: Explanation) -> Iterable[str]:
    if explanation.rule:
        change = rounded(explanation.rule_cp, "+", 0)
        yield f"A draw rule changes the sum by {change} centipawns: {explanation.rule}."


def largest_for_each_side(explanation: Explanation, record: np.ndarray) -> str:
    """The largest facts: "In White's favour: White's rook stands on the open e-file (0.34); and so on".

    Material comes as one. Of a set of many terms it is the groups, each with its largest facts: "king safety 0.41 (no
    pawn stands on the g-file in front of Black's king)". Empty where nothing is large enough.
    """
    board = _board_of(record)
    material = explanation.group_net(registry.Group.MATERIAL)
    is_long = len(explanation.lines) > MANY_TERMS
    parts = list(_groups(explanation, board) if is_long else _with_numbers(_stated(explanation, board)))
    if exchanged := _exchanged(balance(board), material):
        parts.append((f"material ({exchanged}) {_in_pawns(material)}", material))
    sentences = []
    for side, sign in zip(fen.COLOUR_NAMES, (1, -1), strict=True):
        chosen = sorted((part for part in parts if sign * part[1] >= MIN_FACT), key=lambda part: -abs(part[1]))
        if chosen:
            sentences.append(f"In {side}'s favour: {'; '.join(text for text, _ in chosen[:MAX_NAMED])}.")
    return " ".join(sentences)


def _stated(
    explanation: Explanation, board: chess.Board, groups: Iterable[registry.Group] = registry.Group
) -> list[tuple[str, float]]:
    """The facts on a board that explain what terms of these groups add, the largest first."""
    lines = [line for group in groups for line in explanation.of_group(group) if is_usual(line.name, line.weight)]
    return _facts({line.name: line.net for line in lines}, partial(_standing, board))


def _with_numbers(facts: Iterable[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    return ((f"{text} ({_in_pawns(cp)})", cp) for text, cp in facts)


def _groups(explanation: Explanation, board: chess.Board) -> Iterator[tuple[str, float]]:
    """The groups other than material, each with the largest facts that explain it."""
    for group in registry.Group:
        net = explanation.group_net(group)
        if group is not registry.Group.MATERIAL:
            facts = [text for text, cp in _stated(explanation, board, [group]) if cp * net >= MIN_FACT * abs(net)]
            named = f" ({'; '.join(facts[:MAX_NAMED_IN_GROUP])})" if facts else ""
            yield f"{group.title.lower()}{named} {_in_pawns(net)}", net


def _in_pawns(cp: float) -> str:
    return f"{abs(cp) / 100:.2f}"


def _board_of(record: np.ndarray) -> chess.Board:
    """The pieces of POSITION[1], with the rights to castle."""
    board = chess.Board(None, chess960=True)
    board.castling_rights = int(record[0]["castling"])
    for square, piece in enumerate(record[0]["board"].tolist()):
        if piece != bitboard.EMPTY:
            board.set_piece_at(square, chess.Piece.from_symbol(bitboard.PIECE_LETTERS[piece]))
    return board


def balance(board: chess.Board) -> dict[chess.PieceType, int]:
    """How many more pieces of each kind White has."""
    return {
        kind: len(board.pieces(kind, chess.WHITE)) - len(board.pieces(kind, chess.BLACK))
        for kind in chess.PIECE_TYPES[:-1]
    }


def _exchanged(balance: Mapping[chess.PieceType, int], sign: float) -> str:
    """What a side has more and less of: "a bishop for a knight", "a pawn more"; empty where it has more of nothing."""
    more, less = (
        Counter({kind: count for kind, each in balance.items() if (count := each * way) > 0})
        for way in ((1, -1) if sign > 0 else (-1, 1))
    )
    if not more:
        return ""
    return f"{listed(more)} for {listed(less)}" if less else f"{listed(more)} more"


# Sentences on a change


def boards_after(position: str, *lines: Iterable[str]) -> Iterator[chess.Board]:
    """The boards that lines of legal moves, coordinates, make of a FEN."""
    for line in lines:
        board = chess.Board(position, chess960=True)
        for move in line:
            board.push_uci(move)
        yield board


def summarise_change(
    change: ChangeReport,
    what: str,
    colour: int,
    before: chess.Board | None = None,
    after: chess.Board | None = None,
    is_choice: bool = False,
) -> tuple[str, ...]:
    """Sentences on how much `what`, such as "Nf3", gains or costs the side `colour`, and which facts explain it.

    The facts are those that differ between the boards `before` and `after` the change, or after either of two moves
    where it `is_choice`; without boards there are none.
    """
    total = -change.change_cp if colour == bitboard.BLACK else change.change_cp
    if total:
        sentences = [f"{what} {'gains' if total > 0 else 'costs'} {fen.COLOUR_NAMES[colour]} {_in_pawns(total)}."]
    else:
        sentences = [f"{what} leaves the score as it is."]
    if before is None or after is None:
        return tuple(sentences)
    verbs = (places.HOLDS, places.LACKS) if is_choice else (places.BEGINS, places.ENDS)
    changes = {term.name: term.change_cp for term in change.terms}
    facts = _facts(changes, partial(_changing, before, after, *verbs))
    material = math.fsum(cp for name, cp in changes.items() if group_of(name) is registry.Group.MATERIAL)
    was, now = balance(before), balance(after)
    if exchanged := _exchanged({kind: now[kind] - was[kind] for kind in now}, material):
        facts.append(
            (f"in material {fen.COLOUR_NAMES[material < 0]} gains {exchanged.removesuffix(' more')}", material)
        )
    large = sorted((fact for fact in facts if abs(fact[1]) >= MIN_FACT), key=lambda fact: -abs(fact[1]))
    said = (text for text, _ in _with_numbers(large[:MAX_CHANGES]))
    return (*sentences, *(f"{text[0].upper()}{text[1:]}." for text in said))
