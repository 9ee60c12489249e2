"""What a node costs a processor, from two reports of cachegrind."""

import pytest

from tools.cache_misses import COUNTED, per_node, totals

EVENTS = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim"


def report(scale: int) -> str:
    counts = " ".join(str(scale * (place + 1)) for place in range(len(EVENTS.split())))
    return f"desc: D1 cache: 49152 B\ncmd: merino uci\nevents: {EVENTS}\nfn=main\n128 2 1 1\nsummary: {counts}\n"


def test_a_node_costs_what_the_longer_run_has_more():
    found = per_node((totals(report(1000)), 50), (totals(report(3000)), 150))
    assert list(found) == list(COUNTED)
    assert found["instructions"] == 20 and found["branches"] == 20 * (10 + 12)
    assert found["predicted wrongly"] == 20 * (11 + 13) and found["and in the second cache"] == 20 * 9


@pytest.mark.parametrize("text", ["", "events: Ir\n", "nothing\nsummary: 1 2\n"])
def test_a_file_that_cachegrind_did_not_end_is_refused(text: str):
    with pytest.raises(ValueError, match="no report of cachegrind"):
        totals(text)
