"""A short slice of `make fuzz`."""

from tests.fuzz_uci import Lines, Run, tamed


def test_no_line_kills_or_hangs_the_process() -> None:
    run = Run(seed=2026, patience=120.0)
    assert run.run(700) is None, str(run.totals)
    assert run.totals.lines == 700
    assert run.totals.longest_answer < 1000


def test_the_lines_are_the_same_for_the_same_seed() -> None:
    assert Lines(5).batch(50) == Lines(5).batch(50) != Lines(6).batch(50)


def test_no_line_takes_long_by_its_meaning_or_writes_a_file() -> None:
    assert tamed("go depth 99 nodes 1e9") == "go depth 7 nodes 20000"
    assert tamed("setoption name HASH value 99999999") == "setoption name HASH value 64"
    assert tamed("joho quit") == tamed("QUIT") == "stop"
    for name in ("~/x", "folder/../x", "folder/~x", "/dev/full/x"):
        assert tamed(f"setoption name Debug  Log File value {name}") == "stop"
