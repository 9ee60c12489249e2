"""The weights file: what is refused and where, whole writes, and which file is in use."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from merino.eval import evaluation, families, outlook
from merino.eval.linear import weights as weights_files
from merino.eval.linear.registry import TERMS
from tests.shipped import one_phase

TEXT = weights_files.render(weights_files.as_mapping(weights_files.defaults()))


def with_line(name: str, line: str | None) -> str:
    """A good file in which the line of a term is another, or is gone."""
    lines = [line if old.split()[0] == name else old for old in TEXT.splitlines()]
    return "\n".join(kept for kept in lines if kept is not None) + "\n"


def within(weights: np.ndarray) -> np.ndarray:
    """The weights, moved to their bounds where they are beyond them."""
    return np.clip(weights, *np.transpose([term.bounds for term in TERMS]))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "weights.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A user's folder of our own, and no weights file asked for."""
    monkeypatch.setenv("MERINO_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MERINO_WEIGHTS", raising=False)
    return tmp_path / "home"


def test_what_is_written_is_read_back(tmp_path):
    weights = within(one_phase() + np.linspace(0, 0.9, len(TERMS)).round(2))
    weights[[term.name for term in TERMS].index("PawnPassedSquare")] = 199.5
    path = tmp_path / "new folder" / "weights.txt"
    path.parent.mkdir()
    weights_files.save(path, weights, ["made by hand", ""])
    assert np.allclose(weights_files.load(path), weights, rtol=1e-5)
    assert path.read_text(encoding="utf-8").startswith("# made by hand\n#\nVAL_P  ")


def test_k_is_read_from_the_comment_in_which_the_learner_notes_it(tmp_path):
    noted = write(tmp_path, f"# Learned by Merino\n# terms 6..27, seed 2015, K 187.3\n{TEXT}")
    assert families.load_evaluation(noted).k == 187.3
    assert families.load_evaluation(write(tmp_path, TEXT)).k == outlook.DEFAULT_K
    with pytest.raises(weights_files.WeightsError, match="not above 0"):
        families.load_evaluation(write(tmp_path, f"# K 0\n{TEXT}"))


@pytest.mark.parametrize("origin", ["Exported by Merino", weights_files.SAVED])
def test_a_name_of_a_file_in_the_origin_of_weights_is_no_k(tmp_path, origin):
    for k in (outlook.DEFAULT_K, 187.3, 0.001, 0.04):
        families.default().with_k(k).save(tmp_path / "w.txt", [f"{origin} /home/me/K 0/weights K 50.txt"])
        assert families.load_evaluation(tmp_path / "w.txt").k == k


def test_comments_blank_lines_any_order_and_windows_line_ends_are_read():
    lines = ["", "# a comment", *reversed([f"  {line}\t# said why" for line in TEXT.splitlines()]), "   "]
    assert np.array_equal(weights_files.parse("\r\n".join(lines), "a file"), weights_files.defaults())


@pytest.mark.parametrize(
    ("name", "line", "fault"),
    [
        ("VAL_P", "VAL_PAWN 100", ":1: no term is called 'VAL_PAWN'; did you mean 'VAL_P'?"),
        ("VAL_N", "val_n 400", ":2: no term is called 'val_n'; did you mean 'VAL_N'?"),
        ("VAL_N", "VAL_P 100", ":2: VAL_P is given twice"),
        ("VAL_N", "VAL_N", ":2: expected 'Name value' or 'Name middlegame endgame', found 'VAL_N'"),
        ("VAL_N", "VAL_N = 400", ":2: '=' is no number"),
        (
            "VAL_N",
            "VAL_N 400 410 420",
            ":2: expected 'Name value' or 'Name middlegame endgame', found 'VAL_N 400 410 420'",
        ),
        ("PawnDoubled", "PawnDoubled -10 1", ":6: PawnDoubled = 1 is outside -200..0"),
        ("PawnDoubled", "PawnDoubled ten", ":6: 'ten' is no number"),
        ("PawnDoubled", "PawnDoubled 0x10", ":6: '0x10' is no number"),
        ("PawnDoubled", "PawnDoubled -1_0", ":6: '-1_0' is no number"),
        ("PawnDoubled", "PawnDoubled -0,5", ":6: '-0,5' is no number"),
        ("PawnDoubled", "PawnDoubled nan", ":6: 'nan' is no number"),
        ("PawnDoubled", "PawnDoubled -inf", ":6: '-inf' is no number"),
        ("PawnDoubled", "PawnDoubled 1e999", ":6: '1e999' is no number"),
        ("PawnDoubled", "PawnDoubled 1", ":6: PawnDoubled = 1 is outside -200..0"),
        ("PawnDoubled", "PawnDoubled -200.5", ":6: PawnDoubled = -200.5 is outside -200..0"),
    ],
)
def test_a_faulty_file_is_refused_with_file_line_and_fault(tmp_path, name, line, fault):
    path = write(tmp_path, with_line(name, line))
    with pytest.raises(weights_files.WeightsError) as caught:
        weights_files.load(path)
    assert str(caught.value) == f"{path}{fault}"


def test_a_term_that_a_file_does_not_name_has_its_default(tmp_path):
    found = weights_files.as_mapping(weights_files.load(write(tmp_path, "PawnDoubled -33\n")))
    usual = {
        name: value
        for name, value in weights_files.as_mapping(weights_files.defaults()).items()
        if not name.startswith("PawnDoubled")
    }
    assert found == usual | {"PawnDoubled": -33}


def test_a_new_term_counts_nothing_in_files_made_before_it():
    new = replace(TERMS[0], name="Fianchetto", default=0.0)
    both = weights_files.parse(TEXT, "a file", [*TERMS, new])
    assert np.array_equal(both, np.append(weights_files.defaults().reshape(-1, len(TERMS)), [[0], [0]], axis=1).ravel())
    assert weights_files.parse(f"{TEXT}Fianchetto 12\n", "a file", [*TERMS, new])[-1] == 12


def test_a_file_without_a_term_and_a_term_without_a_default_are_refused():
    with pytest.raises(weights_files.WeightsError, match="names no term"):
        weights_files.parse("# nothing\n", "a file")
    with pytest.raises(weights_files.WeightsError, match=":4: 'x' is no number"):
        weights_files.parse("# one\n\n# three\n" + with_line("VAL_P", "VAL_P x"), "a file")
    with pytest.raises(weights_files.WeightsError, match="no value for Fianchetto"):
        weights_files.parse(TEXT, "a file", [*TERMS, replace(TERMS[0], name="Fianchetto")])
    with pytest.raises(weights_files.WeightsError, match="no value for VAL_Q"):
        weights_files.parse(with_line("VAL_Q", None), str(weights_files.DEFAULT_FILE))


def test_terms_that_a_file_does_not_name_are_added_when_it_is_rewritten():
    new = within(one_phase() + 1)
    text = weights_files.rewrite("# mine\nPawnDoubled  -33  # often\nVAL_P 100", new, [])
    assert text.startswith("# mine\nPawnDoubled  -1  # often\nVAL_P 101\nVAL_N ")
    assert np.array_equal(weights_files.parse(text, "a file"), new)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "weights.txt"
    path.write_bytes(b"# G\xfcte\n" + TEXT.encode())
    for place, fault in ((path, "it is not UTF-8 text"), (tmp_path / "missing.txt", ""), (tmp_path, "it is a folder")):
        with pytest.raises(weights_files.WeightsError) as caught:
            weights_files.load(place)
        assert str(caught.value).startswith(f"cannot read weights file '{place}': {fault}")


def test_a_file_asked_for_comes_before_the_environment_and_the_users_own(home, monkeypatch):
    assert weights_files.active_file() == weights_files.DEFAULT_FILE and weights_files.DEFAULT_FILE.is_file()
    weights_files.own_file().parent.mkdir(parents=True)
    weights_files.save(weights_files.own_file(), weights_files.defaults())
    assert weights_files.active_file() == home / "data" / "weights.txt"
    monkeypatch.setenv("MERINO_WEIGHTS", "~/mine.txt")
    assert weights_files.active_file() == weights_files.active_file("") == Path.home() / "mine.txt"
    assert weights_files.active_file("~/asked.txt") == Path.home() / "asked.txt"


def test_a_file_asked_for_may_be_named_as_one_that_comes_with_merino(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        weights_files.active_file("full")
        == weights_files.active_file("full.txt")
        == weights_files.DEFAULT_FILE.with_name("full.txt")
    )
    write(tmp_path, TEXT)
    assert weights_files.active_file() == weights_files.DEFAULT_FILE, "not the one of the working folder"
    assert weights_files.active_file("gen1") == Path("gen1")  # a net, and no weights
    (tmp_path / "full").mkdir()
    assert weights_files.active_file("full") == weights_files.DEFAULT_FILE.with_name("full.txt")
    (tmp_path / "full").rmdir()
    (tmp_path / "full").write_text(TEXT)
    assert weights_files.active_file("full") == Path("full")


def test_a_missing_evaluation_near_two_names_is_answered_with_one_of_them(tmp_path):
    write(tmp_path, TEXT).rename(tmp_path / "default.txt")
    with pytest.raises(evaluation.EvaluationError) as caught:
        families.load_evaluation(tmp_path / "defult.txt")
    assert "No such file or directory; Merino comes with default, full, " in str(caught.value)
    assert str(caught.value).endswith("; did you mean 'default'?") and str(caught.value).count("did you mean") == 1


def test_a_mistyped_weights_file_is_answered_with_the_file_of_a_similar_name(tmp_path):
    write(tmp_path, TEXT).rename(tmp_path / "mine.txt")
    with pytest.raises(weights_files.WeightsError, match=r"No such file or directory; did you mean 'mine\.txt'\?"):
        weights_files.load(tmp_path / "mnie.txt")
    with pytest.raises(
        evaluation.EvaluationError, match=r"; Merino comes with default, .*, tuned; did you mean 'mine\.txt'\?$"
    ):
        families.load_evaluation(tmp_path / "mnie.txt")


@pytest.mark.parametrize("missing", ["my.txt", "my", "mx.lock", "mz.txt"])
def test_locks_and_other_companions_are_not_suggested_for_a_missing_file(tmp_path, missing):
    for name in ("my.txt.lock", "my.old", "my.new.txt", "my.txt.merino-1.new", "mz.txt.lock"):
        write(tmp_path, TEXT).rename(tmp_path / name)
    with pytest.raises(weights_files.WeightsError) as caught:
        weights_files.load(tmp_path / missing)
    meant = "; did you mean 'my.new.txt'?" if missing == "mz.txt" else ""
    assert str(caught.value).endswith(f"No such file or directory{meant}")
