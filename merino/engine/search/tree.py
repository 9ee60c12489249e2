"""Steps in the tree: counting nodes, detecting draws, making moves, searching children, the principal variation."""

from merino.core.board.bitboard import ZERO
from merino.core.board.game import FIFTY_MOVES
from merino.core.board.makemove import make, make_null
from merino.core.board.move import NO_MOVE
from merino.core.board.movegen import count_legal
from merino.core.board.position import is_insufficient_material
from merino.core.compiled.jit import kernel
from merino.core.compiled.memory import call_at, load_word
from merino.engine.search.history import piece_to_index
from merino.engine.search.transposition import fetch_entry
from merino.eval.material import is_material_draw

POLL_NODES = 1024  # how often the stop flag is read
_ANSWERED = 2  # plies: a move of the root and the answer


@kernel
def count_node(s, ply):
    """Count the node; returns whether the search was stopped or has used up its nodes."""
    if s.stopped:
        return True  # what is still asked on the way back to the root does not count
    s.nodes += 1
    if s.nodes & (POLL_NODES - 1) == 0 and load_word(s.stop_address) != ZERO or s.nodes >= s.node_limit:
        s.stopped = 1
    if ply > s.seldepth:
        s.seldepth = ply
    return s.stopped != 0


@kernel
def is_draw(s, ply):
    """Draw by repetition, by fifty moves, or by material. One earlier occurrence since the root is enough.

    Where material can mate but not force it, the answers to the root's moves are looked at first: a careless king in
    the corner is mated by a knight, and the rules let the game go on.
    """
    position = s.positions[ply]
    if position.halfmove >= FIFTY_MOVES and not _is_mate(position):
        return True  # only a mate takes precedence
    now, occurred = s.past + ply, 0
    for back in range(4, min(int(position.halfmove), now) + 1, 2):
        if s.keys[now - back] == s.keys[now]:
            occurred += 1
            if back < ply or occurred == 2:
                return True
    if not is_material_draw(position) or _is_mate(position):
        return False
    return ply > _ANSWERED or is_insufficient_material(position)


@kernel
def _is_mate(position):
    """Whether the side to move is mated."""
    return position.checkers != ZERO and count_legal(position) == 0


@kernel
def make_move(s, ply, move):
    """Make `move` from `ply` to the next, and record it for histories and repetitions."""
    position = s.positions[ply]
    fetch_entry(s, position, move)  # so early that it has come when it is asked for
    s.plies[ply].move, s.plies[ply].piece_to = move, piece_to_index(position, move)
    s.plies[ply + 1].has_threats = 0
    make(s.positions[ply + 1], position, move)
    s.keys[s.past + ply + 1] = s.positions[ply + 1].key


@kernel
def make_null_move(s, ply):
    """Make a null move, and record it as `make_move` does."""
    make_null(s.positions[ply + 1], s.positions[ply])
    s.positions[ply + 1].halfmove = 0  # no repetition reaches across a null move
    s.plies[ply].move, s.plies[ply].piece_to = NO_MOVE, 0
    s.plies[ply + 1].has_threats = 0
    s.keys[s.past + ply + 1] = s.positions[ply + 1].key


@kernel
def search_child(s, ply, alpha, beta, depth, is_cut_node):
    """The score, for the side to move at `ply`, of the move made there, within (alpha, beta).

    `is_cut_node` says whether the child is expected to fail high. At depth 0, quiescence searches it.
    """
    s.plies[ply + 1].is_cut_node = is_cut_node
    search = s.alpha_beta if depth > 0 else s.quiescence
    return -call_at(search, s, ply + 1, -beta, -alpha, depth)


@kernel
def update_pv(s, ply, move):
    """Set the principal variation of this node to `move` and that of the child."""
    length = s.plies[ply + 1].pv_length
    s.pv[ply, 0] = move
    for index in range(length):
        s.pv[ply, index + 1] = s.pv[ply + 1, index]
    s.plies[ply].pv_length = length + 1
