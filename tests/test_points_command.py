"""`merino points` as its users meet it: its output, the games it takes, and its answers to bad input."""

import errno
import gzip
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merino.app.shell.cli import main
from merino.core.common import about
from merino.formats.pgn_games import read_games
from merino.formats.sources import LeftOut, SourceError
from merino.lab.points import games, values
from merino.lab.points.values import CONDITIONS, PointsVerdict, score_graph, values_of
from merino.study.errors import StudyError
from tests.pipes import pipe_with

OWN_GAMES = Path(__file__).parents[1] / "games" / "selfplay.pgn"
SOME = 250  # of them

# White, Black, their ratings, date, opening, result.
TAGGED = (
    ("Carlsen, Magnus", "Anand,V", "2870", "2780", "2013.11.09", "A07", "1/2-1/2"),
    ("Anand,V", "Carlsen,M", "2780", "2870", "2013.11.10", "B18", "0-1"),
    ("Carlson, C", "Short, C", "", "2600", "????.??.??", "", "1-0"),
    ("Magnus Carlsen", "Short, N", "2400", "2420", "1999.01.02", "B90", "1-0"),
)
NAMES = ("White", "Black", "WhiteElo", "BlackElo", "Date", "ECO", "Result")


def tagged_pgn() -> str:
    played = []
    for line in TAGGED:
        tags = "\n".join(f'[{name} "{value}"]' for name, value in zip(NAMES, line, strict=True))
        played.append(f"{tags}\n\n1. e4 d5 2. exd5 c6 3. a3 a6 {line[-1]}\n")
    return "\n".join(played)


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals from fewer samples: what is tested here does not depend on their number."""
    monkeypatch.setattr(values, "SAMPLES", 100)


def source_of(path: str, request: games.PointsRequest) -> games.PointsSource:
    return games.read_source(Path(path), request, lambda *_: None, LeftOut())


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> games.Vectors:
    path = tmp_path_factory.mktemp("games") / "tagged.pgn"
    path.write_text(tagged_pgn())
    return source_of(str(path), games.PointsRequest(by=games.By.ELO)).vectors


@pytest.fixture
def tagged(tmp_path: Path) -> str:
    path = tmp_path / "tagged.pgn"
    path.write_text(tagged_pgn())
    return str(path)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of some of our own games."""
    path = tmp_path_factory.mktemp("games") / "own.pgn"
    path.write_text("[Event ".join(OWN_GAMES.read_text().split("[Event ")[: 1 + SOME]))
    return str(path)


@pytest.fixture
def points(shell) -> Callable[..., Any]:
    """What `merino points` shows with these words, read if that is JSON."""
    return lambda *words: shell("points", *words)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (games.PointsRequest(), [0, 1, 2, 3]),
        (games.PointsRequest(player="Carlsen"), [0, 1, 3]),
        (games.PointsRequest(player="magnus carlsen"), [0, 1, 3]),
        (games.PointsRequest(player="Carlsen, M", result=games.Wanted.WON), [1, 3]),
        (games.PointsRequest(player="Anand", result=games.Wanted.LOST), [1]),
        (games.PointsRequest(player="Anand", result=games.Wanted.DRAWN), [0]),
        (games.PointsRequest(player="C"), [2]),
        (games.PointsRequest(player="Short"), [2, 3]),
        (games.PointsRequest(result=games.Wanted.WHITE), [2, 3]),
        (games.PointsRequest(result=games.Wanted.BLACK), [1]),
        (games.PointsRequest(min_elo=2700), [0, 1]),
        (games.PointsRequest(max_elo=2700), [3]),
        (games.PointsRequest(max_elo_gap=20), [3]),
        (games.PointsRequest(eco="b"), [1, 3]),
        (games.PointsRequest(eco="B9", player="Short"), [3]),
    ],
    ids=lambda value: value.filters or "all" if isinstance(value, games.PointsRequest) else "",
)
def test_a_filter_takes_the_games_it_names(filters, expected, collection) -> None:
    assert np.flatnonzero(games.chosen_games(collection, filters)).tolist() == expected


def test_an_accent_behind_its_letter_is_part_of_the_word() -> None:
    names = np.array(["Mu\u0308ller, Karsten", "M\u00fcller, K"], dtype=object)
    tags = {name: np.array(["", ""], dtype=object) for name in games.TAGS} | {"White": names}
    played = games.Vectors(np.zeros((0, 5), dtype=np.int8), np.zeros(0, dtype=np.int32), np.array([2, 0]), tags=tags)
    for name in ("m\u00fcller", "mu\u0308ller"):
        assert games.chosen_games(played, games.PointsRequest(player=name)).tolist() == [True, True]


def test_sets_are_sorted_and_the_small_ones_left_out() -> None:
    ratings = np.array(["1010", "910", "920", "1020", "810"], dtype=object)
    tags = dict.fromkeys(("WhiteElo", "BlackElo"), ratings)
    played = games.Vectors(
        np.zeros((5, 5), dtype=np.int8), np.arange(5, dtype=np.int32), np.array([2, 0, 2, 0, 1]), tags=tags
    )
    request = games.PointsRequest(by=games.By.ELO, min_games=2)
    sets, left_out = games.sets_of(
        [games.PointsSource("", replace(played, tags={**dict.fromkeys(games.TAGS, ratings), **tags}))], request
    )
    assert {label: found.results.tolist() for label, found in sets} == {"900-999": [0, 2], "1000-1099": [2, 0]}
    assert [label for label, _ in sets] == ["900-999", "1000-1099"] and left_out == 1


@pytest.mark.parametrize(
    ("by", "options", "labels"),
    [
        ("year", [], ["1999", "2013"]),
        ("elo", [], ["2400-2499", "2800-2899"]),
        ("eco", [], ["A", "B"]),
        ("eco", ["--eco", "B"], ["B1", "B9"]),
        ("player", ["--top", "1"], ["Anand,V"]),
    ],
)
def test_games_are_compared_by_their_tags(by: str, options: list[str], labels: list[str], tagged: str, points) -> None:
    twice = Path(tagged)
    twice.write_text(twice.read_text() * 2)  # so that each set has something to draw samples from
    sets = points(tagged, "--by", by, "--min-games", "2", "--draws", "half", *options, "--json")
    assert [one["label"] for one in sets] == labels


def test_json_has_all_that_is_promised(own: str, points) -> None:
    found = points(own, "--json")
    played = read_games(Path(own).read_bytes())
    vectors, _ = games.vectors_of_games(played)
    assert (found["games"], found["vectors"]) == (len(played), len(vectors))
    assert list(found["values"]) == list(found["intervals"]) == list(games.PIECES)
    assert found["values"]["P"] == 100
    assert found["intervals"]["P"] == [100, 100]
    assert found["intervals"]["N"][0] < found["values"]["N"] < found["intervals"]["N"][1]
    assert found["alpha"] == found["weights"]["P"]
    assert [one["condition"] for one in found["capablanca"]] == [condition.name for condition in CONDITIONS]
    graph = score_graph(vectors)
    assert [one["vectors"] for one in found["score_graph"]["bins"]] == graph.counts.tolist()


def test_several_files_are_shown_side_by_side(own: str, tmp_path: Path, points) -> None:
    copy = tmp_path / "copy.pgn.gz"
    copy.write_bytes(gzip.compress(Path(own).read_bytes()))
    files = [own, str(copy)]
    first, second = points(*files, "--json")
    assert (first.pop("label"), second.pop("label")) == ("own.pgn", "copy.pgn.gz")
    assert first == second
    table = points(*files)
    first_words = [line.split()[0] for line in table.splitlines() if line]
    assert all(first_words.count(name) == 3 for name in ("own.pgn", "copy.pgn.gz"))
    assert all(first_words.count(claim.name.split()[0]) >= 2 for claim in CONDITIONS)
    assert "drawn games as half a point" in table


def test_the_text_shows_values_conditions_and_graph(own: str, points) -> None:
    text, found = points(own), points(own, "--json")
    for name, piece in zip(("Knight", "Bishop", "Rook", "Queen"), "NBRQ", strict=True):
        value, other = (line.split()[1] for line in text.splitlines() if line.startswith(name))
        assert (value, other) == (f"{found['values'][piece]:.0f}", f"{found['other']['values'][piece]:.0f}")
    assert all(one["verdict"] in text for one in found["capablanca"])
    assert "Mean score of White by balance" in text


@pytest.mark.parametrize("name", ["rows.txt", "rows.csv", "rows.csv.gz"])
def test_a_matrix_is_read_back(own: str, name: str, tmp_path: Path, points) -> None:
    matrix = tmp_path / name
    for draws in ("skip", "half"):
        first = points(own, "--draws", draws, "--matrix", str(matrix), "--json")
        again = points(str(matrix), "--draws", draws, "--json")
        assert again["values"] == pytest.approx(first["values"])
        assert again["alpha"] == pytest.approx(first["alpha"])
        assert again["vectors"] == first["vectors"]
        assert again["by_game"] == (name != "rows.txt")
        if again["by_game"]:
            assert again["intervals"]["Q"] == pytest.approx(first["intervals"]["Q"])


def test_a_plain_matrix_is_cut_where_the_balance_is_level_or_the_result_another() -> None:
    read = games.read_matrix(Path("rows.mat"), b"0 0 0 0 0 2\n1 0 0 0 0 2\n0 0 0 0 0 2\n1 0 0 0 0 0\n")
    assert read.game.tolist() == [0, 0, 1, 2]
    assert read.results.tolist() == [2, 2, 0]


def test_a_digit_of_another_script_is_no_number_in_a_matrix() -> None:
    with pytest.raises(SourceError, match=r"'m\.csv', row 1: five differences and a result are expected"):
        games.read_matrix(Path("m.csv"), "0 0 0 0 0 ²\n".encode("latin-1"))


def test_phases_are_sets_and_features_have_verdicts(own: str, points) -> None:
    arguments = [own, "--by", "phase", "--features", "--min-games", "50"]
    found = points(*arguments, "--json")
    assert [one["label"] for one in found] == ["opening", "middlegame", "endgame"]
    assert [feature["feature"] for feature in found[2]["with_features"]["features"]] == list(games.FEATURES)
    assert {feature["verdict"] for feature in found[2]["with_features"]["features"]} <= set(map(str, PointsVerdict))
    assert points(own, "--features").count("last pawn") == 1


@pytest.mark.parametrize(("ending", "beginning"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_the_score_graph_is_drawn(own: str, ending: str, beginning: bytes, tmp_path, points) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"graph{ending}"
    points(own, "--plot", str(picture))
    content = picture.read_bytes()
    assert content.startswith(beginning)
    assert len(content) > 10_000


def test_without_matplotlib_a_picture_says_what_to_install(own: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("merino.lab.points.games.read_source", None)  # so that a game that is read ends the test
    assert main(["points", own, "--plot", str(tmp_path / "graph.png")]) == 1
    assert (
        capsys.readouterr().err
        == f"merino: points: nothing is done: {about.needs('plots', 'a picture')}, or leave out --plot\n"
    )


def test_a_folder_that_cannot_be_written_is_found_before_the_games_are_read(tmp_path, monkeypatch, capsys) -> None:
    def locked(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("merino.core.common.files._draft", locked)
    matrix = tmp_path / "m.csv"
    assert main(["points", "no-such-games.pgn", "--matrix", str(matrix)]) == 1
    assert f"points: cannot write '{matrix}': Permission denied" in capsys.readouterr().err


BAD = {
    "no file": (["nowhere.pgn"], "there is no file 'nowhere.pgn'", 1),
    "nothing asked": ([], "missing: FILE", 2),
    "no games": (["words.pgn"], "'words.pgn' holds no game that can be read", 1),
    "a result that is none": (["result.mat"], "'result.mat', row 2: results are 0, 1 or 2", 1),
    "a short row": (["short.mat"], "'short.mat', row 2: five differences and a result are expected, not '1 2 3'", 1),
    "only one decided game": (["one.pgn"], "needs two decided games", 1),
    "a player who is not there": (
        ["tagged.pgn", "--player", "Fischer"],
        "no game of 'Fischer' here; most games are by 'Anand,V', ",
        1,
    ),
    "filters that nothing passes": (["tagged.pgn", "--min-elo", "3000"], "no game passes all filters", 1),
    "sets that are all too small": (["tagged.pgn", "--by", "year"], "no set by year has 100 games here", 1),
    "games without the tags": (["one.pgn", "--by", "elo"], "no game here has the tags that --by elo looks at", 1),
    "a matrix and too many sets": (
        ["tagged.pgn", "--matrix", "m", "--plot", "p.png", "--by", "year", "--min-games", "1"],
        "--matrix writes one set of games, but there are 2",
        1,
    ),
    "a matrix asked for players": (["good.mat", "--player", "Anand"], "'good.mat' is a matrix: it has no players", 1),
    "a matrix in sets": (["good.mat", "--by", "elo"], "'good.mat' is a matrix: it has no players", 1),
    "a matrix asked for features": (["good.mat", "--features"], "'good.mat' is a matrix: it has no positions", 1),
    "a matrix of features": (["tagged.pgn", "--features", "--matrix", "m"], "leave out --features and --by phase", 2),
    "no set at all": (["tagged.pgn", "--by", "player", "--top", "0"], "--top: '0' is not a whole number above 0", 2),
    "phases that are all too small": (["tagged.pgn", "--by", "phase"], "no set by phase has 100 games here", 1),
    "whose wins": (["tagged.pgn", "--result", "won"], "--result won needs --player", 2),
    "no number": (["tagged.pgn", "--min-elo", "high"], "'high' is not a whole number from 0 on", 2),
    "no such picture": (["tagged.pgn", "--plot", "graph.gif"], "--plot writes .png or .svg, not 'graph.gif'", 2),
    "no such folder": (["tagged.pgn", "--plot", "no/graph.png"], "cannot write 'no/graph.png'", 1),
    "a folder in place of a file": (["tagged.pgn", "--matrix", "."], "cannot write '.': it is a folder", 1),
    "two sets in a matrix": (["tagged.pgn", "one.pgn", "--matrix", "m"], "writes one set of games, but there are 2", 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_sentence(name: str, tmp_path, monkeypatch, capsys) -> None:
    files = {
        "words.pgn": "These are words.",
        "result.mat": "0 0 0 0 0 2\n0 0 0 0 0 3\n",
        "short.mat": "0 0 0 0 0 2\n1 2 3\n",
        "good.mat": "0 0 0 0 0 2\n1 0 0 0 0 2\n",
        "one.pgn": "1. e4 d5 2. exd5 c6 3. a3 a6 1-0",
        "tagged.pgn": tagged_pgn(),
    }
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    arguments, complaint, code = BAD[name]
    assert main(["points", *arguments]) == code
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert shown.out == ""
    assert {path.name for path in tmp_path.iterdir()} == set(files)


def test_unreadable_games_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.pgn"
    good = "1. e4 d5 2. exd5 c6 3. a3 a6 1-0\n\n1. e4 d5 2. exd5 c6 3. a3 a6 0-1\n\n"
    path.write_text(f"{good}1. e4 Ke4 1-0\n\n1. d4 d5 *\n")
    assert main(["points", str(path), "--json"]) == 0
    shown = capsys.readouterr()
    found, first = json.loads(shown.out), ["line 5: 'Ke4' is not a legal move here"]
    assert found["games"] == 3
    assert found["left_out"] == [{"file": "some.pgn", "what": "game", "why": "unreadable", "count": 1, "first": first}]
    assert f"some.pgn: 1 game left out, unreadable: {first[0]}" in shown.err
    assert "without a result, which count as drawn: 1" in shown.err


def test_a_set_with_too_few_games_is_named_without_values(tagged: str) -> None:
    source = source_of(tagged, games.PointsRequest(by=games.By.YEAR))
    found, left_out = games.sets_of([source], games.PointsRequest(by=games.By.YEAR, min_games=1))
    assert [label for label, _ in found] == ["1999", "2013"] and left_out == 0
    fitted, too_small = values_of(found, games.PointsRequest(draws=games.Draws.HALF))
    assert [each.label for each in fitted] == ["2013"] and too_small == [("1999", 1)]
    with pytest.raises(StudyError, match="no set by year has 9 games"):
        games.sets_of([source], games.PointsRequest(by=games.By.YEAR, min_games=9))


def test_rows_of_a_matrix_are_those_of_the_vectors() -> None:
    differences = np.array([[0, 0, 0, 0, 0], [-1, 2, 0, 0, -1]], dtype=np.int8)
    vectors = games.Vectors(differences, np.zeros(2, dtype=np.int32), np.array([1], dtype=np.int8))
    assert games.render_matrix(vectors, "") == " 0  0  0  0  0  1\n-1  2  0  0 -1  1\n"
    assert games.render_matrix(vectors, ".csv") == "P,N,B,R,Q,result,game\n0,0,0,0,0,1,1\n-1,2,0,0,-1,1,1\n"


def test_a_file_read_in_pieces_gives_what_it_gives_as_a_whole(own: str, monkeypatch, points) -> None:
    asked = [own, "--by", "player", "--min-games", "1", "--result", "1-0"]
    whole = points(own, "--json"), points(*asked, "--json")
    monkeypatch.setattr("merino.formats.sources.CHUNK", 5000)
    assert (points(own, "--json"), points(*asked, "--json")) == whole


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="pipes have no names here")
def test_games_come_from_a_pipe_or_standard_input_as_well(own: str, points, monkeypatch) -> None:
    expected = points(own, "--json")
    content = Path(own).read_bytes()
    with pipe_with(content) as out:
        assert points(f"/dev/fd/{out}", "--json") == expected | {"label": str(out)}
    with pipe_with(content) as out, os.fdopen(os.dup(out), encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert points("-", "--json") == expected | {"label": "standard input"}
