"""The rules for what wins or draws: `side` is to move in `fen`, and its first move begins `line`."""

import re
from collections.abc import Callable, Sequence

import chess

from tools.truth.board import MAX_PLY, WORTH, Claim, Named, at_stake, balance, is_quiet, need, profit, said, taken_on


def gains(claim: Claim) -> None:
    """Hold a claim to the material that it says is won."""
    need(claim.wins, "it does not say what is won")
    assert claim.wins is not None
    pawns, ply = claim.wins["pawns"], claim.wins["ply"]
    need(1 <= ply <= MAX_PLY, f"won by ply {ply}")
    need(ply <= len(claim.line), f"won by ply {ply} of a line of {len(claim.line)}")
    at_first, then, at_last = (balance(claim.boards[at], claim.side) for at in (0, ply, -1))
    need(pawns >= 1 and then - at_first == pawns, f"wins {pawns} pawns, but the line wins {then - at_first}")
    need(4 * at_stake(claim.boards[ply]) <= pawns, f"something can be taken or promote after ply {ply}")
    need(at_last - at_first >= pawns, f"wins {pawns} pawns, but by the end of the line {at_last - at_first}")


def only(claim: Claim, *ours: bool) -> list[Named]:
    """The pieces of a claim: so many, of `side` where `ours`."""
    need(len(claim.pieces) == len(ours), f"it names {len(claim.pieces)} pieces instead of {len(ours)}")
    for named, own in zip(claim.pieces, ours, strict=True):
        need((named.piece.color == claim.side) == own, f"{said(named)} is of the wrong side")
    return list(claim.pieces)


def falls(claim: Claim, *named: Named) -> None:
    """Hold a claim to one of these pieces being taken in its line."""
    need(claim.fallen & {each.square for each in named}, f"the line does not take {' or '.join(map(said, named))}")


def only_move(claim: Claim) -> None:
    """The first move is by the first piece named, does what is said, and is compared with another.

    It takes nothing, but may exchange men of the same worth.
    """
    mover, *_ = only(claim, True, *[False] * (len(claim.pieces) - 1))
    first = claim.line[0]
    need(first.from_square == mover.square, f"the first move is not by {said(mover)}")
    need(not claim.boards[0].is_capture(first) or "exchanges" in claim.text, "the first move takes something")
    need(len(claim.other_line) == 1 and claim.other_line[0] != first, "it is compared with no other move")
    found = ONLY.fullmatch(claim.text)
    need(found, f"it says something else of an only move: {claim.text}")
    does(found and found[1], claim.boards[0], claim.line)


BETTER = r"better than any other (?:move|reply) by [\d.]+|the only (?:move|reply) that does not lose"
ONLY = re.compile(rf"(?:\S+ allows )?\S+?(?:, which)? (?:(.*) and )?is (?:{BETTER})")
HARM = re.compile(r"(\S+) (?:does harm|allows (\S+?)(?:, which (.*))?): a pass would be better by [\d.]+")
VAIN = re.compile(r"(\S+) gains nothing(?:, where (\S+) (.*))?: a pass would be at least as good")


def tempo(claim: Claim) -> None:
    """The first move, which `side` does not make, is named, as is a reply or another move, which does what is said."""
    board, first = claim.boards[0], claim.line[0]
    harm, vain = (form.fullmatch(claim.text) for form in (HARM, VAIN))
    found = harm or vain
    need(found and found[1] == board.san(first), f"it says something else of a pass: {claim.text}")
    need(board.turn != claim.side and not board.is_check(), "there is no pass, or the side it favours makes the move")
    if harm and harm[2]:
        is_reply = len(claim.line) > 1 and harm[2].endswith(f".{claim.boards[1].san(claim.line[1])}")
        need(is_reply, f"{harm[2]} is not the reply")
        does(harm[3], claim.boards[1], claim.line[1:])
    if vain:
        need(not board.is_capture(first), "what takes something gains that")
        others = claim.other_line
        need(not vain[2] or (others and board.san(others[0]) == vain[2]), f"{vain[2]} is not the other move")
        does(vain[3], board, others)


# What a move does, as sentences say it, each with the rule for what is named.


def does(said: str | None, board: chess.Board, line: Sequence[chess.Move]) -> None:
    """Hold a sentence to each thing that it says the first move of a line does."""
    rest = said or ""
    for pattern, holds in DEEDS.items():
        for deed in re.finditer(pattern, rest):
            need(holds(board, line, *deed.groups()), f"the move does not do it: {deed[0]}")
        rest = re.sub(pattern, "", rest)
    need(not rest.replace(" and ", "").strip(), f"no rule for what it does: {rest}")


def _exchanges(board: chess.Board, line: Sequence[chess.Move], own: str, other: str | None) -> bool:
    kinds = [board.piece_type_at(square) or chess.KING for square in (line[0].from_square, line[0].to_square)]
    named = [own.removesuffix("s")] * 2 if other is None else [own, other]
    is_so = [chess.piece_name(kind) for kind in kinds] == named and WORTH[kinds[0]] == WORTH[kinds[1]]
    return is_so and len(line) > 1 and line[1].to_square == line[0].to_square


def _attacks(board: chess.Board, line: Sequence[chess.Move], *squares: str | None) -> bool:
    after = board.copy(stack=False)
    after.push(line[0])
    named = [(after.piece_at(square), square) for square in map(chess.parse_square, filter(None, squares))]
    return all(
        piece and piece.color == after.turn and is_worth_taking(after, line[0].to_square, Named(piece, square))
        for piece, square in named
    )


def _develops(board: chess.Board, line: Sequence[chess.Move], kind: str) -> bool:
    home = 0 if board.turn else 7
    is_out = chess.square_rank(line[0].from_square) == home != chess.square_rank(line[0].to_square)
    return is_out and board.piece_type_at(line[0].from_square) == chess.PIECE_NAMES.index(kind)


DEEDS: dict[str, Callable[..., bool]] = {
    r"exchanges (?:a )?(\w+)(?: for a (\w+))?": _exchanges,
    r"attacks the \w+ on (..)(?: and the \w+ on (..))?": _attacks,
    r"castles": lambda board, line: board.is_castling(line[0]),
    r"develops the (knight|bishop)": _develops,
    r"occupies the centre": lambda board, line: (
        bool(chess.BB_SQUARES[line[0].to_square] & chess.BB_CENTER)
        and board.piece_type_at(line[0].from_square) == chess.PAWN
    ),
}


def mate(claim: Claim) -> None:
    """The line ends in checkmate by `side`."""
    need(claim.boards[-1].is_checkmate() and claim.boards[-1].turn != claim.side, "the line does not end in checkmate")


def takes(claim: Claim) -> None:
    """The first move takes the piece named, and keeps what that wins."""
    (target,) = only(claim, False)
    need(taken_on(claim.boards[0], claim.line[0]) == target.square, f"the first move does not take {said(target)}")
    gains(claim)


def wins_material(claim: Claim) -> None:
    """The piece named falls in the line."""
    need(claim.pieces, "it names no piece")
    need(claim.pieces[0].piece.color != claim.side, f"{said(claim.pieces[0])} is of the wrong side")
    falls(claim, claim.pieces[0])
    gains(claim)


def is_worth_taking(board: chess.Board, attacker: chess.Square, target: Named) -> bool:
    """Whether a piece attacks another, which is the king or would be lost if the attacker's side were to move."""
    if target.square not in board.attacks(attacker) or board.piece_at(target.square) != target.piece:
        return False
    promotes = board.piece_type_at(attacker) == chess.PAWN and chess.square_rank(target.square) in (0, 7)
    taking = board.copy(stack=False)
    taking.turn, taking.ep_square = not target.piece.color, None
    capture = chess.Move(attacker, target.square, chess.QUEEN if promotes else None)
    return target.piece.piece_type == chess.KING or profit(taking, capture) > 0


def fork(claim: Claim) -> None:
    """The first move attacks two pieces or more with the first piece, all worth taking, and one of them falls."""
    need(len(claim.pieces) >= 3, "a fork has two targets or more")
    forker, *targets = only(claim, True, *[False] * (len(claim.pieces) - 1))
    need(claim.line[0].from_square == forker.square, f"the first move is not by {said(forker)}")
    for target in targets:
        is_attacked = is_worth_taking(claim.boards[1], claim.line[0].to_square, target)
        need(is_attacked, f"{said(target)} is not attacked, or is not worth taking")
    need(len(set(targets)) == len(targets), "a target is named twice")
    falls(claim, *targets)
    gains(claim)


def in_a_row(claim: Claim) -> tuple[Named, Named]:
    """The front and the rear piece of the enemy on which a slider looks after the first move; one of them falls."""
    slider, front, rear = only(claim, True, False, False)
    board, place = claim.boards[1], claim.place(slider.square, 1)
    need(place is not None and slider.piece.piece_type in (chess.BISHOP, chess.ROOK, chess.QUEEN), "no slider")
    assert place is not None
    stand = all(board.piece_at(each.square) == each.piece for each in (front, rear))
    between = chess.SquareSet.between(place, rear.square) & board.occupied
    in_line = front.square in board.attacks(place) and between == chess.SquareSet([front.square])
    need(stand and in_line, f"{', '.join(map(said, claim.pieces))} do not stand in a row after the first move")
    falls(claim, front, rear)
    gains(claim)
    return front, rear


def pin(claim: Claim) -> None:
    """In front stands the piece of less worth."""
    front, rear = in_a_row(claim)
    need(WORTH[front.piece.piece_type] < WORTH[rear.piece.piece_type], f"{said(rear)} is worth no more than the front")


def skewer(claim: Claim) -> None:
    """In front stands the piece of more worth, or of the same."""
    front, rear = in_a_row(claim)
    need(WORTH[front.piece.piece_type] >= WORTH[rear.piece.piece_type], f"{said(front)} is worth less than the rear")


def discovered_attack(claim: Claim) -> None:
    """The first piece moves out of the way of the second, which attacks the third; that is the king or falls."""
    mover, slider, target = only(claim, True, True, False)
    need(claim.line[0].from_square == mover.square, f"the first move is not by {said(mover)}")
    is_between = mover.square in chess.SquareSet.between(slider.square, target.square)
    need(is_between and target.square not in claim.boards[0].attacks(slider.square), f"{said(mover)} opens no line")
    need(is_worth_taking(claim.boards[1], slider.square, target), f"{said(slider)} does not attack {said(target)}")
    if target.piece.piece_type != chess.KING:
        falls(claim, target)
    gains(claim)


def promotion(claim: Claim) -> None:
    """The pawn named promotes, and that wins."""
    (pawn,) = only(claim, True)
    plies = range(min(claim.wins["ply"] if claim.wins else 0, len(claim.line)))
    promotes = any(
        claim.line[ply].promotion and claim.place(pawn.square, ply) == claim.line[ply].from_square for ply in plies
    )
    need(promotes, f"{said(pawn)} does not promote by then")
    gains(claim)


def trapped(claim: Claim) -> None:
    """After the first move the enemy piece named loses on every square that it can reach; and it falls."""
    (target,) = only(claim, False)
    board = claim.boards[1]
    need(target.piece.piece_type not in (chess.PAWN, chess.KING), f"{said(target)} is no piece to trap")
    need(board.piece_at(target.square) == target.piece, f"{said(target)} is taken at once")
    for move in board.generate_pseudo_legal_moves(from_mask=chess.BB_SQUARES[target.square]):
        can_go = board.is_legal(move) or (board.is_check() and not board.is_pinned(board.turn, target.square))
        need(not can_go or profit(board, move) < 0, f"{said(target)} can go to {chess.square_name(move.to_square)}")
    falls(claim, target)
    gains(claim)


def repetition(claim: Claim) -> None:
    """The last position of the line has occurred in it before, and since then `side` has given check by each move."""
    keys = [(board.board_fen(), board.turn, board.clean_castling_rights()) for board in claim.boards]
    need(keys[-1] in keys[:-1], "the line repeats no position at its end")
    since = [board for board in claim.boards[keys.index(keys[-1]) + 1 :] if board.turn != claim.side]
    need(all(board.is_check() for board in since), "it repeats without a check")


def ends_by(is_end: Callable[[chess.Board], bool]) -> Callable[[Claim], None]:
    """The rule that the line ends in a draw of a kind."""
    return lambda claim: need(is_end(claim.boards[-1]), "the line does not end so")


def comes_out_worse(claim: Claim) -> None:
    """Both lines begin here and end quiet, and `side`, who does not begin, has so many pawns more after `line`."""
    need(claim.boards[0].turn != claim.side, "the side it favours is to move")
    need(claim.line and claim.other_line and claim.line[0] != claim.other_line[0], "it compares no two moves")
    need(all(is_quiet(boards[-1]) for boards in (claim.boards, claim.others)), "a line ends in an exchange")
    pawns, ply = (claim.wins["pawns"], claim.wins["ply"]) if claim.wins else (0, 0)
    need(pawns >= 1, "it does not say how much")
    need(len(claim.line) == ply <= MAX_PLY + 1 and len(claim.other_line) <= MAX_PLY, "a line is too long")
    here, there = (balance(boards[-1], claim.side) for boards in (claim.boards, claim.others))
    need(here - there == pawns, f"it says {pawns} pawns, but the lines differ by {here - there}")
