"""Who judges: searches of Merino's and other engines, and what is said of engines that fail."""

import shlex
import sys
from pathlib import Path

import pytest

from merino.app.shell.annotate import run_annotate
from merino.core.board.game import Position
from merino.engine.search.limits import Limits, Score
from merino.eval.families import default, load_evaluation
from merino.eval.outlook import expected_score
from merino.match import engines
from merino.study import judge
from merino.study.errors import StudyError

LIMITS = Limits(nodes=1000)
FAKE = f"engine:{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).parent / 'fake_engine.py'))}"


def judge_of(name: str | None, **settings: object) -> judge.Judge:
    return judge.judge_of(name, 1, 1, **settings)


def test_the_judge_is_the_strongest_net_the_terms_or_what_a_name_says(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    default().save(own)
    position = Position("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
    for name, shown in ((None, judge.STRONGEST), (judge.TERMS, judge.TERMS), (str(own), str(own))):
        found = judge_of(name)
        (line,) = found.analyse(position, LIMITS)
        assert found.name == shown and found.narrator.has_terms
        assert position.uci(line.pv[0]) == "a1a8" and found.expected(line.score) == 1
    assert len({judge_of(name).identity for name in (None, judge.TERMS)}) == 2
    assert judge_of(None).expected(Score(100)) == pytest.approx(expected_score(100, load_evaluation(judge.STRONGEST).k))
    assert judge_of(None, k=50.0).expected(Score(100)) == pytest.approx(expected_score(100, 50))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("gen99", "judge 'gen99': .* it can be a net or weights"),
        ("xboard:/bin/true", "it must speak UCI"),
        ("/bin/true", "'/bin/true' does not start: .*died"),
        (f"{FAKE} silent", "silent' does not start: no answer"),
        (f"{FAKE},option.Nothing=1", "does not start: .*Nothing"),
    ],
)
def test_a_judge_that_does_not_start_is_named(name: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "START_SECONDS", 1.0)
    with pytest.raises(StudyError, match=fault):
        judge_of(name)


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("crash", "has ended"),
        ("stuck", "hangs: no word from it for 0.5 s"),
        ("illegal", "gives a move that is not legal: 'bestmove a1a1'"),
        ("liar", "gives a line with a2a3, which is not legal"),
        ("mute", "gives no score"),
    ],
)
def test_an_engine_that_dies_hangs_or_lies_is_named(fault: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SILENT_SECONDS", 0.5)
    with judge_of(f"{FAKE} {fault}") as found, pytest.raises(StudyError, match=f"judge 'Fake' {what}"):
        for _ in range(3):
            found.analyse(Position(), LIMITS)


def test_an_engine_gives_lines_and_chances_as_our_own_search_does() -> None:
    position = Position()
    with judge_of(FAKE) as plain, judge_of(f"{FAKE} chances") as shown, judge_of(f"{FAKE} wilful") as wilful:
        (line,) = plain.analyse(position, LIMITS)
        assert (line.depth, int(line.score), position.uci(line.pv[0])) == (3, 12, "a2a3")
        assert plain.expected(line.score) == pytest.approx(expected_score(12)) and plain.scale == "K 200"
        (line,) = shown.analyse(position, LIMITS)
        assert shown.expected(line.score) == pytest.approx(0.7) and "chances" in shown.scale
        lines = plain.analyse(position, LIMITS, 3)  # without the option MultiPV
        assert [(line.multipv, position.uci(line.pv[0])) for line in lines] == [(1, "a2a3"), (2, "a2a4"), (3, "b1a3")]
        two = Limits(nodes=9, search_moves=[position.parse_uci(move) for move in ("h2h3", "e2e4")])
        assert [position.uci(line.pv[0]) for line in plain.analyse(position, two, 3)] == ["e2e4", "h2h3"]
        with pytest.raises(StudyError, match="a2a3, which is not among"):
            wilful.analyse(position, two, 2)


def test_what_an_engine_judged_before_it_died_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games, out = tmp_path / "games.pgn", tmp_path / "out.pgn"
    games.write_text("\n".join(f'[White "{name}"]\n\n1. a3 *\n' for name in "ABC"))
    command = [str(games), "--out", str(out), "--judge", f"{FAKE} crash"]  # at its third search, in the second game
    for done in (1, 2):
        with pytest.raises(StudyError, match=r"judge 'Fake' has ended .*in rnbq"):
            run_annotate(command)
        partial = out.with_name("out.pgn.partial").read_text()
        assert partial.count("% game") == done and "% unfinished" in partial and not out.exists()
        assert "the work so far is kept" in capsys.readouterr().err
    with pytest.raises(StudyError, match="other options"):
        run_annotate([*command[:-1], FAKE])
    assert run_annotate(command) == 0
    text = " ".join(out.read_text().split())
    assert text.count("judged by Fake, 100000 nodes a position") == 3 and text.count("[%eval") == 3
