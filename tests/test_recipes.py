"""Ways to learn compared by `merino recipes`."""

import json
from pathlib import Path

import numpy as np
import pytest

from merino.app.console.learning import learn_weights
from merino.core.common.command import CommandError, UsageError
from merino.core.common.sealed import as_json, from_json
from merino.eval.linear.phases import phases_of
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import SHIPPED, load
from merino.lab.article.command import ARTICLE, read_comparison, run_recipes
from merino.lab.article.recipe_matches import Limit
from merino.lab.article.recipes import Comparing, Comparison, Recipe, RecipeResult
from merino.learn.errors import LearnError
from merino.learn.request import Events, LearnRequest
from merino.match.config import TimeControl
from merino.match.games import Tally
from tests.rows import SELFPLAY

SMALL = """
start = "greko2015-before-training.txt"
tests = ["own"]
[match]
nodes = 60
games = 4
[games.own]
count = 30
nodes = 60
[games.masters]
file = "masters.pgn"
[recipes.two-phases]
learn = "own 1 27 --phases 2 --target blend=0.5 --decay off"
note = "half result"
[recipes.after]
weights = "greko2015-after-training.txt"
[recipes.others]
learn = "masters --preset greko2015"
"""


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def told(recipes: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert run_recipes([str(recipes), "--state", str(recipes.parent / "state"), "--json", *words]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_recipes_learn_from_own_games_and_meet_the_start(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start, learned, after, others = told(recipes, capsys)
    assert start["name"] == "start" and "elo" not in start
    assert learned["games"] == 30 and learned["positions"] and learned["match_games"] == 4 and "elo_error" in learned
    assert after["games"] == 0 and after["match_games"] == 4
    assert others["missing"] == "masters" and "elo" not in others
    assert learned["errors"]["own"] < start["errors"]["own"]  # type: ignore[index]
    assert phases_of(load(recipes.parent / "state" / "two-phases.txt"), len(TERMS)) == 2


def test_recipes_go_on_in_their_folder_and_repeat_nothing(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = told(recipes, capsys)
    folder = recipes.parent / "state"
    written = {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix in (".txt", ".pgn")}
    second = told(recipes, capsys)
    assert [{**row, "seconds": 0} for row in first] == [{**row, "seconds": 0} for row in second]
    assert written == {path: path.stat().st_mtime_ns for path in written}


def test_recipes_refuse_a_folder_of_other_settings(recipes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(recipes, capsys)
    recipes.write_text(SMALL.replace("--decay off", "--decay 20"))
    with pytest.raises(CommandError, match="another recipe; give a new folder"):
        run_recipes([str(recipes), "--state", str(recipes.parent / "state"), "--quiet"])
    recipes.write_text(SMALL.replace("games = 4", "games = 6"))
    with pytest.raises(CommandError, match=r"other settings \(games\)"):
        run_recipes([str(recipes), "--state", str(recipes.parent / "state"), "--quiet"])


def test_recipes_refuse_a_folder_of_other_code_of_the_terms(tmp_path: Path) -> None:
    comparison, path = Comparison(SHIPPED / "greko2015-before-training.txt", {}, ()), tmp_path / "settings.json"
    Comparing(comparison, tmp_path, Events())
    settings = from_json(path.read_bytes(), "it")
    path.write_bytes(as_json({name: value for name, value in settings.items() if name != "terms"}))
    Comparing(comparison, tmp_path, Events())  # a folder of before
    path.write_bytes(as_json(settings | {"terms": "0123"}))
    with pytest.raises(LearnError, match=r"begun with other settings \(terms\)"):
        Comparing(comparison, tmp_path, Events())


def test_recipes_refuse_games_that_have_changed_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games, recipe = tmp_path / "games.pgn", Recipe("plain", LearnRequest(("mine",)))
    comparison = Comparison(SHIPPED / "greko2015-before-training.txt", {"mine": games}, (recipe,))
    monkeypatch.setattr(Comparing, "_learn", lambda comparing, _: (5, 50, comparing._start))

    def learned() -> tuple[int, int]:
        return Comparing(comparison, tmp_path / "state", Events())._learned(recipe)[:2]

    games.write_text("some games")
    assert learned() == learned() == (5, 50)
    games.write_text("some more games")
    with pytest.raises(LearnError, match=r"plain\.json' is from other games: their file has changed since"):
        learned()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("start =", "begin =", "there is no key 'begin'"),
        ('learn = "own 1', 'learn = "owns 1', "no games called 'owns'; did you mean 'own'"),
        ("greko2015-before-training.txt", "none.txt", "no weights file 'none.txt'"),
        ("--decay off", "--out x.txt", "takes only games and settings of the fit, not --out"),
        ("--decay off", "--no-match --json", "settings of the fit, not --no-match, --json"),
        ("--decay off", "--cluster local:2", "settings of the fit, not --cluster"),
        ("own 1 27", "--use x.txt", r"small.toml: \[recipes.two-phases\]: learn: --use FILE learns nothing"),
        ("--decay off", "--decai off", r": \[recipes.two-phases\]: learn: there is no option '--decai'; did you mean"),
        ("--decay off", "'off", r"\[recipes.two-phases\]: No closing quotation"),
        ("own 1 27", "own 1 28", r"small.toml: \[recipes.two-phases\]: learn: terms are numbered 1 to 27"),
        ('"masters --preset greko2015"', '["masters"]', r"\[recipes.others\] learn = \['masters'\] is not a text"),
        ("nodes = 60\ngames", "nodes = 0\ngames", r"\[match\] nodes = 0 is not a whole number above 0"),
        ("count = 30\n", "", r"\[games.own\] needs a file, or a count"),
        ('tests = ["own"]', 'tests = "own"', "tests = 'own' is not a list of names of games"),
        ("[games.own]", '[games."../own"]', "'../own' cannot be one"),
        ("[match]", "[match", "small.toml"),
        ("nodes = 60\ngames", f"nodes = {10**20}\ngames", r"\[match\] nodes is above 1000000000"),
        ("nodes = 60\ngames", f"nodes = {'9' * 5000}\ngames", "small.toml"),
        ("nodes = 60\ngames", f"nodes = {'[' * 5000}\ngames", "nested too deep"),
        ("recipes.after", "recipes.own", r"\[games.own\] and \[recipes.own\] would both be kept in 'own.state'"),
        ("recipes.two-phases", "recipes.settings", "the settings and .* would both be kept in 'settings.json'"),
        ("recipes.after", "recipes.others-control1", "would both be kept in 'others-control1.state'"),
        ("recipes.after", "recipes.start-pool1", "would both be kept in 'start-pool1.state'"),
    ],
)
def test_a_faulty_file_of_recipes_is_refused(recipes: Path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    recipes.write_text((SMALL + POOL).replace(old, new))
    with pytest.raises(UsageError, match=message):
        run_recipes([str(recipes)])


def test_the_terms_of_a_recipe_are_those_of_its_start(recipes: Path) -> None:
    recipes.write_text(SMALL.replace("greko2015-before-training", "full").replace("1 27", "--terms KingAttack_6,Tempo"))
    assert read_comparison(recipes, {}).recipes[0].request.settings.names == ("Tempo", "KingAttack_6")


def test_games_of_a_file_may_have_the_name_of_a_recipe(recipes: Path) -> None:
    recipes.write_text(SMALL.replace("recipes.others", "recipes.masters"))
    assert "masters" in [recipe.name for recipe in read_comparison(recipes, {}).recipes]


def test_an_elo_without_bound_is_null_in_the_report_for_programs() -> None:
    tally = Tally()
    tally.points[2] = 3
    found = RecipeResult("a", tally=tally, controls=((Limit(TimeControl(depth=1), 1), tally),)).as_json()
    assert found["elo"] is None and found["controls"][0]["elo"] is None
    assert "Infinity" not in json.dumps(found)


def test_the_versions_of_the_article_come_with_merino(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="no games called 'mine'"):
        run_recipes(["article", "--source", f"mine={ARTICLE}"])


def test_a_recipe_of_games_alone_learns_as_the_plain_command_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, state = tmp_path / "plain.toml", tmp_path / "state"
    path.write_text(
        'start = "greko2015-before-training.txt"\n[match]\nnodes = 20\ngames = 2\n'
        f"[games.own]\nfile = '{SELFPLAY}'\n[recipes.plain]\nlearn = \"own\"\n"
    )
    assert run_recipes([str(path), "--state", str(state), "--json", "--concurrency", "1"]) == 0
    weights = tmp_path / "weights.txt"
    weights.write_bytes((SHIPPED / "greko2015-before-training.txt").read_bytes())
    learn_weights([str(SELFPLAY), "--weights", str(weights), "--no-match", "--no-cache"], lambda line: None)
    assert np.array_equal(load(state / "plain.txt"), load(weights))
    assert json.loads(capsys.readouterr().out)[1]["match_games"] == 2


POOL = """
[pool]
opponents = ["tuned.txt,name=tuned", "no-such-engine"]
nodes = 60
games = 4
rating = 2600
[[controls]]
nodes = 90
games = 4
[[controls]]
depth = 2
games = 2
"""


def test_versions_meet_a_pool_and_the_best_of_them_the_start_at_other_limits(
    recipes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes.write_text(SMALL + POOL)
    words = [str(recipes), "--state", str(recipes.parent / "state")]
    start, learned, after, _ = told(recipes, capsys)
    assert start["rating"] == 2600 and start["los"] is None and "controls" not in start
    assert learned["rating_error"] and 0 < learned["los"] < 1 and "controls" not in after  # type: ignore[operator]
    controls = learned["controls"]
    assert [(each["limit"], each["games"]) for each in controls] == [("90 nodes", 4), ("2 plies", 2)]  # type: ignore
    assert run_recipes(words) == 0
    text = capsys.readouterr().out
    assert "Left out of the pool: player 'no-such-engine'" in text
    assert "two-phases at 2 plies:" in text and "| Version | tuned | Elo | 95% | LOS |" in text
