"""What single positions show of a node: pruning where it proves something, and only there; known wins; the last ply."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merino.core.board.game import Position
from merino.core.board.move import NO_MOVE
from merino.core.board.position import set_check_squares
from merino.core.compiled.jit import entry
from merino.core.compiled.memory import call_at, copy_record, store_word
from merino.engine.search import pruning, tree
from merino.engine.search.alpha_beta import delta_pruning, stand_pat
from merino.engine.search.limits import KNOWN_WIN, MATE_SCORE, MAX_PLY
from merino.engine.search.parameters import PARAMETERS
from merino.engine.search.pruning import NO_CUTOFF, null_move_pruning, singular_extension
from merino.engine.search.state import INFINITE
from merino.engine.search.transposition import EXACT, LOWER_BOUND, UPPER_BOUND, probe, store
from tests.material_family import MaterialEvaluation
from tests.workers import worker_at

ROOK_AHEAD = "4k3/ppp5/8/8/8/8/PPP5/R3K3 b - - 0 1"
DEEP = 99  # plies of an entry of the table, which then decides any node
UNKNOWN = -(1 << 20)  # a score that the table does not have
NOTHING = UNKNOWN, UNKNOWN
NUMBERS = {parameter.name: parameter.default for parameter in PARAMETERS}


def found(look: Callable[..., Any], fen: str, *given: object, **numbers: int) -> Any:
    """What an entry returns for the record of a thread about to search this position; moves are given as text."""
    position = Position(fen)
    worker = worker_at(position, MaterialEvaluation(), numbers)
    return look(worker.record, *(int(position.parse_uci(each)) if isinstance(each, str) else each for each in given))


@entry
def _null_move(records, move, beta, depth, known, node_known, verified):
    """Null move pruning at ply 1, after `move`, or a null move for 0, and the ply that is being verified then.

    The table knows these scores, for the side to move, of the position after the null move and of the node itself.
    """
    s = records[0]
    if move == 0:
        tree.make_null_move(s, 0)
    else:
        tree.make_move(s, 0, move)
    s.root_depth, s.null_move_verified_ply = depth, verified
    s.plies[1].static_eval = s.plies[1].raw_eval = beta + 100
    if known != UNKNOWN:
        tree.make_null_move(s, 1)
        store(s, 2, NO_MOVE, known, 0, DEEP, EXACT, False)
        store(s, 1, NO_MOVE, node_known, 0, DEEP, EXACT, False)
    return null_move_pruning(s, 1, beta, depth, beta + 100), s.null_move_verified_ply


def after_pass(fen: str, move: str | None, beta: int, depth: int = 4, known: Any = NOTHING, verified: int = 0) -> int:
    """What a pass at ply 1 shows if the static evaluation is well above beta; verified from depth 6 on."""
    given = move or 0, beta, depth, *known, verified
    score, verified_then = found(_null_move, fen, *given, null_move_verify_depth=6)
    assert verified_then == verified
    return int(score)


def test_a_pass_that_keeps_the_score_above_beta_cuts_off() -> None:
    assert after_pass(ROOK_AHEAD, "e8f8", 300) >= 300
    assert after_pass(ROOK_AHEAD, "e8f8", 700) == NO_CUTOFF


def test_nobody_passes_twice_in_a_row() -> None:
    assert after_pass(ROOK_AHEAD, None, 300) == NO_CUTOFF


def test_nobody_passes_with_pawns_alone_where_a_move_may_be_worse_than_none() -> None:
    pawns = "4k3/ppp5/8/8/8/8/PPPPP3/4K3 b - - 0 1"
    assert after_pass(pawns, "e8f8", 100) == NO_CUTOFF
    assert after_pass(pawns.replace("PPPPP3/4K3", "PPP5/R3K3"), "e8f8", 100) >= 100


@pytest.mark.parametrize(
    ("score", "wanted"), [(KNOWN_WIN - 1, KNOWN_WIN - 1), (KNOWN_WIN, 300), (MATE_SCORE - 5, 300), (299, NO_CUTOFF)]
)
def test_a_known_win_after_a_pass_proves_no_more_than_beta(score: int, wanted: int) -> None:
    assert after_pass(ROOK_AHEAD, "e8f8", 300, known=(-score, 0)) == wanted


VERIFIED = [(5, 200, 0, 400), (6, 200, 0, NO_CUTOFF), (6, 300, 0, 400), (9, 200, 3, 400), (5, 200, 3, 400)]


@pytest.mark.parametrize(("depth", "score", "verified", "wanted"), VERIFIED)
def test_at_high_depth_a_pass_is_verified_but_not_within_another(depth, score, verified, wanted) -> None:
    assert after_pass(ROOK_AHEAD, "e8f8", 300, depth, (-400, score), verified) == wanted


@entry
def _mate_distance(ply, alpha, beta):
    return pruning.mate_distance_pruning(ply, alpha, beta)


@pytest.mark.parametrize("ply", [0, 1, 30])
def test_no_mate_is_nearer_than_the_next_move_and_no_being_mated_nearer_than_now(ply: int) -> None:
    assert _mate_distance(ply, -32500, 32500) == (ply - 32000, 32000 - ply - 1)
    assert _mate_distance(ply, -10, 10) == (-10, 10)


@entry
def _pruned(records, beta, static_eval, known):
    """What margins decide of a null-window node, and stand pat with an open window where the table knows a score."""
    s = records[0]
    tree.make_null_move(s, 0)
    s.plies[1].static_eval = s.plies[1].raw_eval = static_eval
    score = pruning.prune_node(s, 1, beta - 1, beta, 1, np.uint64(0))
    store(s, 1, NO_MOVE, known, 0, 0, EXACT, False)
    return score, stand_pat(s, 1, -500, 500, probe(s, 1))


BLENDED = KNOWN_WIN - 1 - 299 * NUMBERS["reverse_futility_blend"] // 100
EDGES = [
    (KNOWN_WIN, KNOWN_WIN + 400, KNOWN_WIN - 1, (NO_CUTOFF, KNOWN_WIN - 1)),
    (KNOWN_WIN - 1, KNOWN_WIN + 400, KNOWN_WIN, (KNOWN_WIN + 400, KNOWN_WIN + 400)),
    (KNOWN_WIN - 300, KNOWN_WIN, -KNOWN_WIN, (KNOWN_WIN, KNOWN_WIN)),
    (KNOWN_WIN - 300, KNOWN_WIN - 1, 1 - KNOWN_WIN, (BLENDED, 1 - KNOWN_WIN)),
    (-KNOWN_WIN, 500, 0, (NO_CUTOFF, 0)),
]


@pytest.mark.parametrize(("beta", "static_eval", "known", "wanted"), EDGES)
def test_no_margin_decides_about_known_wins_and_a_line_ends_in_none(beta, static_eval, known, wanted) -> None:
    assert found(_pruned, ROOK_AHEAD, beta, static_eval, known) == wanted


@entry
def _searched_after(records, move, known):
    """The score of a node at ply 1, far below its window, that searches `move` first, whose score the table knows."""
    s = records[0]
    copy_record(s.positions[1], s.positions[0])
    s.keys[s.past + 1] = s.positions[1].key
    store(s, 1, move, 0, 0, 0, UPPER_BOUND, False)
    tree.make_move(s, 1, move)
    store(s, 2, NO_MOVE, -known, 0, DEEP, EXACT, False)
    s.null_move_verified_ply = 1  # which prunes moves only
    return call_at(s.alpha_beta, s, 1, 5000, 5001, 1)


@pytest.mark.parametrize(("known", "wanted"), [(-KNOWN_WIN, 499), (1 - KNOWN_WIN, 1 - KNOWN_WIN)])
def test_no_move_is_given_up_while_all_others_lose_for_sure(known: int, wanted: int) -> None:
    assert found(_searched_after, ROOK_AHEAD.replace(" b ", " w "), "a1b1", known) == wanted


@entry
def _razored(records, move, alpha, depth, known):
    """Razoring at ply 1, whose score the table knows."""
    s = records[0]
    tree.make_move(s, 0, move)
    static_eval = call_at(s.quiescence, s, 1, -INFINITE, -INFINITE + 1, 0)
    s.nodes = 0
    if known != UNKNOWN:
        store(s, 1, NO_MOVE, known, 0, 0, EXACT, False)
    return pruning.razoring(s, 1, alpha, alpha + 1, depth, static_eval)


FAR, NEAR = "4k3/8/7P/8/q7/8/q7/4K3 b - - 0 1", "4k3/7P/8/8/q7/8/q7/4K3 b - - 0 1"  # from promotion
TAKING = "4k1r1/7P/8/8/8/8/qb6/4K3 b - - 0 1"  # where only a promotion that takes gains
RAZORED = [(NEAR, 1, UNKNOWN), (TAKING, 1, UNKNOWN), (FAR, 1, -1100), (FAR, 1, -1099), (FAR, 2, UNKNOWN)]


@pytest.mark.parametrize(("fen", "depth", "known"), RAZORED)
def test_razoring_asks_what_captures_and_promotions_gain(fen: str, depth: int, known: int) -> None:
    """White has to gain six pawns; a promotion gains eight."""
    score = found(_razored, fen, "a2a3", -1100, depth, known, razor_margin=290)
    assert score == (-1100 if known == -1100 else NO_CUTOFF)


@entry
def _given_up(records, move, best):
    """What delta pruning and futility pruning say of a noisy move, fifty pawns behind."""
    s = records[0]
    s.plies[0].static_eval = -5000
    set_check_squares(s.positions[0], s.plies[0].check_squares)
    return delta_pruning(s, 0, move, best, -5000, 0), pruning.noisy_futility_pruning(s, 0, move, 0, 1)


PROMOTING = "1r2k3/P7/8/3pP3/8/8/8/4K3 w - d6 0 1"
PAWN_WON = -5000 + NUMBERS["delta_margin"] + NUMBERS["exchange_pawn"]


GIVEN_UP = [
    *((PROMOTING, f"a7{to}8{piece}", -5000, (INFINITE, False)) for to in "ab" for piece in "nbrq"),
    (PROMOTING, "e5d6", 1 - KNOWN_WIN, (PAWN_WON, True)),
    (PROMOTING, "e5d6", -KNOWN_WIN, (INFINITE, True)),
    ("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "e1d2", -5000, (INFINITE, False)),  # in check
    ("8/p3k3/8/8/8/8/8/R3K3 w - - 0 1", "a1a7", -5000, (PAWN_WON, False)),  # with check
]


@pytest.mark.parametrize(("fen", "move", "best", "wanted"), GIVEN_UP)
def test_no_margin_gives_up_a_promotion_or_what_may_end_a_mate(fen, move, best, wanted) -> None:
    assert found(_given_up, fen, move, best) == wanted


@entry
def _searched_at(records, ply, alpha, beta, depth, verified):
    """The score of the root's position as a node at `ply`, by quiescence for depth 0, and how many nodes it took."""
    s = records[0]
    for before in range(ply):
        copy_record(s.positions[before + 1], s.positions[0])
    s.keys[s.past + ply], s.root_depth, s.null_move_verified_ply = s.positions[ply].key, depth, verified
    return call_at(s.alpha_beta if depth else s.quiescence, s, ply, alpha, beta, depth), s.nodes


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("beta", [2000, 301])
def test_at_the_last_ply_nothing_is_searched(depth: int, beta: int) -> None:
    fen = "4k3/8/8/8/r7/1P6/1PPPPPP1/Q3K3 w - - 0 1"  # where White takes the rook
    assert found(_searched_at, fen, MAX_PLY, 300, beta, depth, 0) == (1100, 1)
    assert found(_searched_at, fen, MAX_PLY - 1, 300, 2000, depth, 0)[0] == 1600


@pytest.mark.parametrize("ply", [1, 2, 77])
def test_a_side_that_cannot_move_is_mated_at_this_ply_or_has_a_draw(ply: int) -> None:
    for depth in (0, 2):
        mated = found(_searched_at, "R3k3/8/4K3/8/8/8/8/8 b - - 0 1", ply, -INFINITE, INFINITE, depth, 0)
        assert mated[0] == ply - MATE_SCORE
    assert found(_searched_at, "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", ply, -INFINITE, INFINITE, 2, 0)[0] == 0


@pytest.mark.parametrize(("verified", "is_searched"), [(0, False), (1, True), (2, False)])
def test_a_node_that_verifies_a_pass_is_not_pruned_itself(verified: int, is_searched: bool) -> None:
    assert (found(_searched_at, ROOK_AHEAD.replace(" b ", " w "), 1, 0, 1, 2, verified)[1] > 1) == is_searched


@entry
def _counted(records, limit, stopped_at, most):
    """How many of so many nodes are visited before the search stops, and how many it has counted."""
    s, visited = records[0], 0
    s.node_limit = limit
    for number in range(most):
        if number == stopped_at:
            store_word(s.stop_address, np.uint64(1))
        visited += not tree.count_node(s, 0)
    return visited, s.nodes


@pytest.mark.parametrize(("limit", "stopped_at"), [(1, 9999), (7, 9999), (9999, 0), (9999, 1023), (1500, 1024)])
def test_a_search_visits_no_node_beyond_its_limit_and_soon_sees_that_it_is_stopped(limit, stopped_at) -> None:
    last = min(limit, tree.POLL_NODES * (stopped_at // tree.POLL_NODES + 1))
    assert found(_counted, ROOK_AHEAD, limit, stopped_at, 3000) == (last - 1, last)


# Extensions of hash moves that stand alone, and the cut where others do as well.

DEPTH = 4
MARGIN = 16 * 10 // DEPTH  # so that a move is alone if all others are more than ten centipawns below it
VALUES = {"singular_depth": DEPTH, "singular_margin": MARGIN, "singular_double_margin": 50}


@entry
def _extend(records, first, move, score, bound, beta, is_cut_node):
    """Singular extension at ply 1, where the table knows `move` with this score: its result, and the extension."""
    s = records[0]
    tree.make_move(s, 0, first)
    s.root_depth, s.plies[1].is_cut_node = 10, is_cut_node
    store(s, 1, move, score, 0, DEPTH, bound, False)
    return singular_extension(s, 1, beta, DEPTH, probe(s, 1)), s.plies[1].extension


def extension(score: int, beta: int, bound: int = LOWER_BOUND, is_cut_node: bool = False) -> tuple[int, int]:
    """For White, a rook ahead, whose moves are all worth 500."""
    position = Position(ROOK_AHEAD)
    position.push_uci("e8f8")
    known = int(position.parse_uci("a1b1")), score, bound
    result = found(_extend, ROOK_AHEAD, "e8f8", *known, beta, is_cut_node, **VALUES)
    return int(result[0]), int(result[1])


@pytest.mark.parametrize(
    ("score", "plies"), [(505, 0), (515, 1), (550, 1), (580, 2), (KNOWN_WIN - 1, 2), (KNOWN_WIN, 0)]
)
def test_a_hash_move_that_stands_alone_is_searched_deeper(score: int, plies: int) -> None:
    assert extension(score, beta=2000) == (NO_CUTOFF, plies)


@pytest.mark.parametrize(("beta", "wanted"), [(394, 395), (395, 395), (396, NO_CUTOFF)])
def test_a_node_with_two_moves_up_to_beta_needs_no_search(beta: int, wanted: int) -> None:
    assert extension(405, beta)[0] == wanted


def test_a_hash_move_above_beta_that_does_not_stand_alone_is_searched_less_deeply() -> None:
    assert extension(405, beta=400) == (NO_CUTOFF, -1)
    assert extension(405, beta=406) == (NO_CUTOFF, 0)


def test_at_a_cut_node_a_hash_move_that_others_match_is_searched_less_deeply() -> None:
    assert extension(405, beta=406, is_cut_node=True) == (NO_CUTOFF, -2)
    assert extension(515, beta=2000, is_cut_node=True) == (NO_CUTOFF, 1)


def test_an_upper_bound_shows_nothing_of_a_move_that_stands_alone() -> None:
    assert extension(580, beta=2000, bound=UPPER_BOUND) == (NO_CUTOFF, 0)
