"""Learning from rows that stay elsewhere: the same sums, reports and weights as with the rows at hand."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask.sizeof import sizeof

from merino.core.common.array_files import is_in_file, joined
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import DEFAULT_FILE, defaults
from merino.formats import pgn_games
from merino.learn import remote_reading, remote_sample
from merino.learn import sample as samples
from merino.learn.errors import LearnError
from merino.learn.gain import Learned, learn
from merino.learn.inputs import ReadOptions, read_rows, split
from merino.learn.loss_and_gradient import Detail, gather
from merino.learn.minimisers import FitCallback
from merino.learn.positions import Equal, Quiet, Selection
from merino.learn.procedure import learn_from_files
from merino.learn.remote_reading import NotThereError, read_rows_remotely
from merino.learn.remote_sample import RemoteRows, RemoteSample, remote_split
from merino.learn.report import Seconds, record_of, summarise
from merino.learn.request import NO_CHOICE, Events, LearnRequest
from merino.learn.rows import Rows, RowStore
from merino.learn.sample import FitParameters, Loss, Sample, cut, spans
from merino.learn.settings import Settings
from merino.learn.targets import Target
from tests.fake_remote import FakeRemote
from tests.rows import SELFPLAY, copied_selfplay, few_games, made_up_rows

SLOTS = (1, 3)
START = FitParameters(defaults(), 1 / 200)


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few games are many shares, and blocks end within them."""
    for name in ("merino.learn.sample.BLOCK", "merino.learn.loss_and_gradient.BLOCK"):
        monkeypatch.setattr(name, 700)
    monkeypatch.setattr(samples, "SHARE_ROWS", 3000)
    monkeypatch.setattr(pgn_games, "CHUNK", 60_000)
    monkeypatch.setattr(remote_reading, "CHUNK", 60_000)


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    executor = FakeRemote(2)
    yield executor
    executor.shutdown()


@pytest.fixture
def selfplay(tmp_path: Path) -> Path:
    return copied_selfplay(tmp_path)


def here(paths: list[Path], settings: Settings, reading: ReadOptions) -> tuple[Sample, list[str]]:
    said: list[str] = []
    found = read_rows(paths, reading, Events(said.append))
    return split(found.rows, settings), [*said, f"{found.games} games"]


def there(
    paths: list[Path], settings: Settings, reading: ReadOptions, executor: FakeRemote
) -> tuple[RemoteSample, list[str]]:
    said: list[str] = []
    found = read_rows_remotely(paths, reading, Events(said.append), executor)
    return remote_split(found.rows, settings), [*said, f"{found.games} games"]


def in_parts(rows: Rows, executor: FakeRemote, parts: int) -> RemoteRows:
    """Rows as if they had been read elsewhere in so many parts."""
    ends = np.linspace(0, len(rows.results), parts + 1).astype(int).tolist()
    kept = []
    for first, last in pairwise(ends):
        mine = (first <= rows.game) & (rows.game < last)
        columns = rows.features[mine], rows.stage[mine], rows.game[mine] - np.int32(first), rows.to_end[mine]
        others = rows.results[first:last], rows.scores[mine], rows.gaps[first:last]
        kept.append(executor.keep(itself, Rows(*columns, *others)))
    counts = np.bincount(rows.game, minlength=len(rows.results))
    return RemoteRows(
        executor, tuple(kept), tuple(np.diff(ends).tolist()), counts, rows.results, rows.features.shape[1]
    )


def itself(rows: Rows) -> Rows:
    return rows


def told(sample: Any, found: Learned, settings: Settings) -> str:
    """All that is found out, to the last digit, but for the times."""
    summary = summarise(sample, found, settings, 710, Seconds(0.0, 0.0))
    record = record_of(sample, found, settings, summary, ["x"])
    for step in record["steps"]:
        del step["seconds"]
    return json.dumps([record, asdict(summary), found.spread.tolist(), found.end.weights.tolist()])


def learned(sample: Any, settings: Settings) -> str:
    return told(sample, learn(sample, defaults(), settings, FitCallback()), settings)


READ = {
    "as usual": (Settings(), Selection()),
    "positions held out": (Settings(split_by_position=True, loss=Loss.CROSS_ENTROPY), Selection()),
    "quiet, no duplicates": (Settings(resamplings=2), Selection(quiet=Quiet.ONLY, unique=Equal.POSITION, per_game=20)),
    "no equal terms": (Settings(), Selection(unique=Equal.TERMS)),
}


@pytest.mark.parametrize("variant", READ)
def test_what_is_learned_by_workers_is_the_same_to_the_last_digit(variant: str, selfplay: Path) -> None:
    settings, selection = READ[variant]
    reading = ReadOptions(selection, defaults())
    sample, said = here([selfplay], settings, reading)
    assert len(sample.cuts) > 5
    wanted = learned(sample, settings)
    for slots in SLOTS:
        executor = FakeRemote(slots)
        elsewhere, also_said = there([selfplay], settings, reading, executor)
        assert (elsewhere.size, elsewhere.validation_rows, elsewhere.number_of_games) == (
            sample.size,
            sample.validation_rows,
            sample.number_of_games,
        )
        assert also_said == said
        assert learned(elsewhere, settings) == wanted
        executor.shutdown()


def test_rows_in_files_teach_the_same_to_the_last_digit(
    remote: FakeRemote, selfplay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, reading = READ["quiet, no duplicates"][0], ReadOptions(READ["quiet, no duplicates"][1], defaults())
    sample, said = here([selfplay], settings, reading)
    assert not is_in_file(sample.features)
    wanted = learned(sample, settings)
    monkeypatch.setattr(RowStore.__init__, "__defaults__", (False, 5000, len(TERMS)))  # rows in memory
    monkeypatch.setattr(remote_reading, "PART_IN_MEMORY", 50)
    monkeypatch.setattr(remote_sample, "BUNDLE_IN_MEMORY", 50)
    in_file, also_said = here([selfplay], settings, reading)
    assert is_in_file(in_file.features)
    assert (learned(in_file, settings), also_said) == (wanted, said)
    elsewhere, also_said = there([selfplay], settings, reading, remote)
    kept = elsewhere.bundles[0].future.result()
    assert is_in_file(kept.sample.features) and sizeof(kept) < kept.sample.features.nbytes
    assert (learned(elsewhere, settings), also_said) == (wanted, said)


def test_rows_in_a_file_are_in_a_file_where_they_arrive() -> None:
    rows = made_up_rows(defaults(), 200.0, 1000, seed=1)
    sent = pickle.loads(pickle.dumps(replace(rows, features=joined([rows.features], in_file=True))))
    assert is_in_file(sent.features) and np.array_equal(sent.features, rows.features)
    assert not is_in_file(pickle.loads(pickle.dumps(rows)).features)


def test_scores_two_phases_and_even_stages_are_learned_by_workers_alike(remote: FakeRemote) -> None:
    rows = made_up_rows(defaults(), 200.0, 20_000, seed=1)
    scores = np.random.default_rng(1).integers(-500, 500, len(rows)).astype(np.int16)
    rows = replace(rows, scores=scores)
    settings = Settings(phases=2, target=Target(0.5), even_stages=True)
    assert learned(remote_split(in_parts(rows, remote, 5), settings), settings) == learned(
        split(rows, settings), settings
    )


def test_ratings_count_the_same_with_workers(remote: FakeRemote) -> None:
    rows = made_up_rows(defaults(), 200.0, 20_000, seed=1)
    gaps = np.random.default_rng(1).normal(0, 100, len(rows.results)).astype(np.float32)
    gaps[::3] = np.nan
    rows, settings = replace(rows, gaps=gaps), Settings(ratings=True)
    assert learned(remote_split(in_parts(rows, remote, 5), settings), settings) == learned(
        split(rows, settings), settings
    )


def test_few_games_are_judged_by_folds_with_workers_alike(remote: FakeRemote) -> None:
    truth = defaults()
    truth[5:] *= -3.0
    rows = made_up_rows(truth, 200.0, 1200, seed=2)
    sample, elsewhere = split(rows, Settings()), remote_split(in_parts(rows, remote, 3), Settings())
    found = learn(elsewhere, defaults(), Settings(), FitCallback())
    assert found.gain.folds == 5
    assert told(elsewhere, found, Settings()) == learned(sample, Settings())


def test_a_step_sends_and_gets_no_more_for_more_games() -> None:
    sent, got = [], []
    for count in (2_000_000, 4_000_000):
        cuts = cut(np.full(count // 5, 5))
        got.append(len(cuts) - 1)
    for count in (20_000, 60_000):
        executor = FakeRemote(2)
        sample = remote_split(in_parts(made_up_rows(defaults(), 200.0, count, seed=1), executor, 4), Settings())
        before = executor.sent
        gather(sample, START, detail=Detail.PRODUCTS)
        sent.append(executor.sent - before)
        executor.shutdown()
    assert sent[0] == sent[1] < 10_000
    assert got[0] == got[1] == samples.MAX_SHARES


def test_dask_learns_how_many_bytes_it_keeps(remote: FakeRemote) -> None:
    rows = in_parts(made_up_rows(defaults(), 200.0, 5000, seed=1), remote, 3)
    sample = remote_split(rows, Settings())
    features = 5000 * sample.terms * 2
    for kept in (rows.parts, sample.bundles):
        assert features < sum(sizeof(each.future.result()) for each in kept) < 2 * features


def test_shares_are_whole_games_that_follow_each_other() -> None:
    counts = np.random.default_rng(1).integers(0, 300, 400)
    cuts = cut(counts)
    assert cuts[0].tolist() == [0, 0] and cuts[-1].tolist() == [counts.sum(), 400]
    assert (np.diff(cuts[:, 0]) > 0).all()
    assert cuts[:, 0].tolist() == [counts[:games].sum() for games in cuts[:, 1]]
    found = list(spans(cuts, np.array([10, 20])))
    assert found[0].rows_before == 10 and found[0].blocks_before == 20
    assert [span.last for span in found[:-1]] == [span.first for span in found[1:]]
    assert found[1].blocks_before == 20 + -(-found[0].last // 700)


def test_a_file_that_only_this_process_has_is_sent(
    remote: FakeRemote, selfplay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, said = here([selfplay], Settings(), ReadOptions(Selection(), defaults()))
    read = remote_reading._Extract.read

    def read_as_a_worker(extract: remote_reading._Extract) -> bytes:
        if extract.text is None:
            raise NotThereError("it is not there")
        return read(extract)

    monkeypatch.setattr(remote_reading, "_text_here", read)
    monkeypatch.setattr(remote_reading._Extract, "read", read_as_a_worker)
    elsewhere, also_said = there([selfplay], Settings(), ReadOptions(Selection(), defaults()), remote)
    assert also_said == said
    sums = [gather(each, START, detail=Detail.PRODUCTS).products.tolist() for each in (wanted, elsewhere)]
    assert sums[0] == sums[1]
    assert np.any(sums[0])


def test_another_file_of_the_same_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(b"\xef\xbb\xbf" + SELFPLAY.read_bytes())
    with remote_reading.open_source(path) as source:
        extract, *_ = remote_reading._extracts(source, 200_000)
    assert extract.offset == 3 and extract.read() == SELFPLAY.read_bytes()[: extract.size]
    path.write_bytes(b"another")
    with pytest.raises(NotThereError, match=r"games\.pgn' is another file than that of the same name here"):
        extract.read()


def test_compressed_games_and_labelled_positions_are_sent(remote: FakeRemote, tmp_path: Path) -> None:
    packed, labelled = tmp_path / "games.pgn.gz", tmp_path / "more.epd"
    packed.write_bytes(gzip.compress(SELFPLAY.read_bytes()))
    fen = "4k3/8/8/8/8/{}7/4P3/4K3 w - -"
    lines = [f'{fen.format("PRNBQ"[n % 5])} c9 "{("1-0", "0-1")[n % 2]}"; c7 "{n // 3}";' for n in range(40)]
    labelled.write_text("\n".join(lines) + "\n")
    reading = ReadOptions(Selection(unique=Equal.POSITION), defaults())
    sample, said = here([packed, labelled], Settings(), reading)
    elsewhere, also_said = there([packed, labelled], Settings(), reading, remote)
    assert also_said == said and elsewhere.size == sample.size
    assert learned(elsewhere, Settings()) == learned(sample, Settings())


def test_the_whole_procedure_writes_the_same_weights(remote: FakeRemote, tmp_path: Path) -> None:
    texts = []
    for executor in (None, remote):
        weights = tmp_path / f"{executor is None}" / "w.txt"
        weights.parent.mkdir()
        weights.write_bytes((DEFAULT_FILE.parent / "greko2015-before-training.txt").read_bytes())
        request = LearnRequest((str(few_games(tmp_path)),), weights=str(weights), plays_match=False, keep_fen=False)
        result = learn_from_files(request, Events(), executor=executor)
        assert result.summary is not None and result.summary.accepted
        texts.append([line for line in weights.read_text().splitlines() if "Learned" not in line])
    assert texts[0] == texts[1]


def test_positions_are_searched_by_workers_and_their_scores_kept_here(tmp_path: Path) -> None:
    found = []
    for executor in (None, FakeRemote(2)):
        path = tmp_path / f"{executor is None}.pgn"
        path.write_bytes(b"".join(SELFPLAY.read_bytes().partition(b"[Event ")[1:])[:8000])
        settings = Settings(target=Target(0.5))
        request = LearnRequest((str(path),), settings, Selection(), NO_CHOICE, rescore=20, dry_run=True)
        result = learn_from_files(request, Events(), executor=executor)
        assert result.summary is not None
        found.append((result.summary.train_after, path.with_name(path.name + ".scores").stat().st_size))
    assert found[0] == found[1] and found[0][1] > 500


def test_descent_needs_the_rows_at_hand_and_says_so(remote: FakeRemote, tmp_path: Path) -> None:
    request = LearnRequest((str(SELFPLAY),), Settings(method="descent"), dry_run=True)
    with pytest.raises(LearnError, match=r"--method descent needs all rows.*use --method gauss-newton"):
        learn_from_files(request, Events(), executor=remote)
