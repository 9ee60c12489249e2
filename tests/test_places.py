"""Facts of place by hand, and which of them two boards leave different."""

import chess
import pytest

from merino.engine.report import places


def standing(kind: str, placement: str, side: chess.Color = chess.WHITE) -> set[str]:
    """Where a fact holds, as "d4", with its detail as in "g1h"."""
    placement, _, castling = placement.partition(" ")
    found = places.FACTS[kind].holds(chess.Board(f"{placement} w {castling or '-'} - 0 1"), side)
    return {chess.square_name(each.square) + each.detail for each in found}


@pytest.mark.parametrize(
    ("kind", "placement", "squares"),
    [
        ("isolated pawn", "4k3/8/8/8/3P4/P7/1P6/4K3", {"d4"}),
        ("isolated pawn", "4k3/8/8/8/3P4/4p3/8/4K3", {"d4"}),  # an enemy pawn is no neighbour
        ("doubled pawn", "4k3/8/8/3P4/3P4/8/P7/4K3", {"d4"}),
        ("doubled pawn", "4k3/8/8/3p4/3P4/8/P7/4K3", set()),
        ("backward pawn", "4k3/8/8/2p1p3/2P5/3P4/8/4K3", {"d3"}),  # guarded by none, and e5 attacks d4
        ("backward pawn", "4k3/8/8/2p1p3/2P5/3P4/2P5/4K3", set()),  # c2 may guard it by c3
        ("backward pawn", "4k3/8/8/8/2P5/3P4/8/4K3", set()),  # nothing stops its advance
        ("backward pawn", "4k3/8/8/2p1p3/8/3P4/8/4K3", set()),  # that is isolated
        ("backward pawn", "4k3/8/8/2p1p3/2PPP3/8/8/4K3", set()),  # level with its neighbours
        ("passed pawn", "4k3/8/8/8/3P4/8/8/4K3", {"d4"}),
        ("passed pawn", "4k3/2p5/8/8/3P4/8/8/4K3", set()),
        ("passed pawn", "4k3/8/8/8/3P4/2p5/8/4K3", {"d4"}),  # that pawn is behind
        ("passed pawn", "4k3/8/3P4/8/3P4/8/8/4K3", {"d6"}),  # the first of two
        ("open file", "4k3/8/8/8/8/8/4P3/3RKR2", {"d1", "f1"}),
        ("open file", "4k3/5p2/8/8/8/8/4P3/3RKR2", {"d1"}),
        ("half-open file", "4k3/5p2/8/8/8/8/4P3/3RKR2", {"f1"}),
        ("half-open file", "4k3/5p2/8/8/8/8/4PP2/3RKR2", set()),
        ("seventh rank", "4k3/R7/8/8/8/8/8/4K3", {"a7"}),
        ("seventh rank", "8/R7/4k3/8/8/8/8/4K3", set()),  # nothing there to attack
        ("seventh rank", "8/R5p1/4k3/8/8/8/8/4K3", {"a7"}),
        ("outpost", "4k3/8/8/3N4/4P3/8/8/4K3", {"d5"}),
        ("outpost", "4k3/2p5/8/3N4/4P3/8/8/4K3", set()),  # c6 would drive it away
        ("outpost", "4k3/8/8/3N4/8/8/8/4K3", set()),  # no pawn guards it
        ("outpost", "4k3/8/8/3N4/2p1P3/8/8/4K3", {"d5"}),  # that pawn has passed it
        ("outpost", "4k3/8/8/8/8/3N4/4P3/4K3", set()),  # on its third rank
        ("bishop pair", "4kb2/8/8/8/8/8/8/2B1KB2", {"c1"}),
        ("bishop pair", "2b1kb2/8/8/8/8/8/8/2B1KB2", set()),
        ("bishop pair", "4k3/8/8/8/8/8/8/B1B1K3", set()),  # both on dark squares
        ("king shield", "q3k3/8/8/8/8/8/5PP1/6K1", {"g1h"}),
        ("king shield", "q3k3/8/8/8/8/6P1/5P1P/6K1", set()),
        ("king shield", "q3k3/8/8/6K1/8/8/8/8", set()),  # too far up for a shield
        ("king shield", "r3k3/8/8/8/8/8/5PP1/6K1", set()),  # no queen threatens him
        ("king shield", "q3k3/8/8/8/8/8/3P1P2/4K3", {"e1e"}),
        ("king shield", "q3k3/8/8/8/8/8/3P1P2/4K2R K", set()),  # he may still castle
        ("centre", "4k3/8/8/2N5/8/5B2/8/4K3", {"c5"}),
        ("central king", "8/8/8/4K3/8/8/8/k7", {"e5"}),
        ("central king", "8/8/3K4/8/8/8/8/k7", set()),
        ("central king", "8/8/8/4K3/8/8/8/kq6", set()),  # who is in danger there
    ],
)
def test_a_fact_holds_where_chess_players_see_it_for_either_side(kind, placement, squares):
    assert standing(kind, placement) == squares
    placement, *castling = placement.swapcase().split()
    turned = " ".join(["/".join(reversed(placement.split("/"))), *castling])
    mirrored = {each[0] + str(9 - int(each[1])) + each[2:] for each in squares}
    if kind != "bishop pair":  # which names the first bishop
        assert standing(kind, turned, chess.BLACK) == mirrored
    else:
        assert bool(standing(kind, turned, chess.BLACK)) == bool(squares)


def test_a_pawn_has_its_counterpart_on_its_file_and_a_piece_in_their_number():
    isolated = chess.Board("4k3/8/8/8/3P4/8/8/4K3 w - - 0 1")
    advanced = chess.Board("4k3/8/8/3P4/8/8/8/4K3 w - - 0 1")
    guarded = chess.Board("4k3/8/8/8/3P4/4P3/8/4K3 w - - 0 1")
    assert not places.differing("isolated pawn", advanced, isolated, chess.WHITE)
    assert [each.square for each in places.differing("isolated pawn", isolated, guarded, chess.WHITE)] == [chess.D4]
    one = chess.Board("4k3/8/8/8/8/8/8/3RK3 w - - 0 1")
    assert not places.differing("open file", one, chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"), chess.WHITE)


SENTENCES = [
    ("outpost", places.HOLDS, "White's knight has an outpost on d5"),
    ("outpost", places.WOULD, "White's knight would have an outpost on d5"),
    ("outpost", places.ENDS, "White's knight no longer has an outpost on d5"),
    ("isolated pawn", places.HOLDS, "White's a- and e-pawns are isolated"),
    ("isolated pawn", places.BEGINS, "White's a- and e-pawns become isolated"),
    ("isolated pawn", places.LACKS, "White's a- and e-pawns are not isolated"),
    ("doubled pawn", places.ENDS, "White's a-pawns are no longer doubled"),
    ("king shield", places.BEGINS, "no pawn now shields White's king on the d- and f-files"),
    ("open file", places.BEGINS, "White's rooks now stand on the open b- and c-files"),
    ("bishop pair", places.ENDS, "White no longer has the bishop pair"),
]


@pytest.mark.parametrize(("kind", "verbs", "said"), SENTENCES)
def test_a_sentence_names_owner_files_and_squares_and_whether_it_is_so(kind, verbs, said):
    board = chess.Board("3qk3/8/8/3N4/P3P3/8/P7/1RR1KBB1 w - - 0 1")
    assert places.sentence(kind, board, list(places.FACTS[kind].holds(board, chess.WHITE)), verbs) == said


CHANGES = [
    ("isolated pawn", "4k3/8/8/3p4/2PP4/8/8/4K3", "4k3/8/8/3P4/3P4/8/8/4K3", {"d4", "d5"}, set()),
    ("isolated pawn", "4k3/8/8/2p5/3P4/8/8/4K3", "4k3/8/8/2P5/8/8/8/4K3", set(), set()),  # it takes, isolated as before
    ("isolated pawn", "4k3/8/8/4p3/3P4/8/8/4K3", "4k3/8/8/8/3p4/8/8/4K3", set(), set()),  # it has been taken
    ("isolated pawn", "4k3/8/8/8/P1P5/3P4/8/4K3", "4k3/8/8/8/P7/1P1P4/8/4K3", {"d3"}, {"a4"}),
    ("open file", "4k3/8/8/8/8/8/8/R3K3", "4k3/8/8/8/8/8/8/1R2K3", set(), set()),  # from one to another
    ("open file", "4k3/8/8/8/3R4/8/8/3RK3", "4k3/8/8/8/R7/8/7P/3RK3", set(), set()),  # another is still there
    ("seventh rank", "4k3/R6R/8/8/8/8/8/4K3", "4k3/R7/8/8/8/7R/8/4K3", set(), set()),
    ("bishop pair", "4k3/8/8/8/8/8/8/2B1KB2", "4k3/8/8/8/8/8/8/4KB2", set(), {"c1"}),
    ("king shield", "q3k3/8/8/8/8/8/5PPP/6K1", "q3k3/8/8/8/8/8/5P1P/6K1", {"g1"}, set()),
    ("king shield", "q3k3/8/8/8/8/8/5PPP/4K3", "q3k3/8/8/8/8/8/5PPP/6K1", set(), set()),  # he goes to a shield
    ("king shield", "r3k3/8/8/8/8/8/5P1P/6K1", "q3k3/8/8/8/8/8/5P1P/6K1", set(), set()),  # only the queen is new
    ("centre", "4k3/8/8/8/3N4/8/8/4K3", "4k3/8/8/8/8/1N6/8/4K3", set(), {"d4"}),
    ("centre", "4k3/8/8/8/3N4/8/8/4K3", "4k3/8/8/8/8/8/8/4K3", set(), set()),  # it has been taken
]


@pytest.mark.parametrize(("kind", "before", "after", "begins", "ends"), CHANGES)
def test_a_fact_begins_or_ends_for_pieces_that_are_still_there(kind, before, after, begins, ends):
    found = places.changed(kind, chess.Board(f"{before} w - - 0 1"), chess.Board(f"{after} w - - 0 1"), chess.WHITE)
    assert [{chess.square_name(each.square) for each in part} for part in found] == [begins, ends]


def test_a_piece_reaches_what_it_attacks_but_for_friendly_men():
    board = chess.Board("4k3/8/8/8/8/1P6/8/B3K3 w - - 0 1")
    assert places.reach(board, chess.A1) == 7
    board.set_piece_at(chess.C3, chess.Piece.from_symbol("P"))
    assert places.reach(board, chess.A1) == 1
