"""`--cluster`: processes of this machine do what threads do, and what goes wrong is said in a sentence."""

import ctypes
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import psutil
import pytest
from distributed import Client, Security

from merino.app.shell.cli import main
from merino.core.common import about
from merino.core.common.work import Needs, WorkError, threads
from merino.eval.families import default, load_net
from merino.eval.linear import own_file, sets
from merino.eval.net import family, play
from merino.lab.cluster import command as cluster_command
from merino.lab.cluster import connection
from merino.lab.cluster.connection import ClusterAddress
from merino.lab.cluster.workers import Workers, difference, identity, inspect
from merino.lab.tune.tuning import Tune, play_tune
from merino.match import runner, statistics
from merino.match.config import MatchConfig, TimeControl
from merino.match.games import Game, MatchError
from merino.match.players import OtherPlayer, OwnPlayer
from tests.dask_processes import DaskCluster, kill, wait_for
from tests.fake_remote import FakeRemote
from tests.test_tune_games import configuration

NODES, ENDLESS = TimeControl(nodes=100), TimeControl(nodes=10**12)  # with which a move would take weeks
DUEL = OwnPlayer("a"), OwnPlayer("b")


@pytest.fixture(scope="module")
def local() -> Iterator[connection.ClusterSession]:
    """Two processes for all tests of this module."""
    with connection.session(ClusterAddress(processes=2), Needs(), said.append) as found:
        yield found


said: list[str] = []


def players() -> tuple[OwnPlayer, OwnPlayer]:
    return OwnPlayer("default"), OwnPlayer("net", load_net("gen1"))


def is_free(local: connection.ClusterSession) -> bool:
    """Whether its processes play a match to its end."""
    return len(list(runner.play_match(MatchConfig(DUEL, NODES), 2, 2, executor=local.executor))) == 2


def lines(games: list[Game]) -> list[object]:
    return [(game.number, game.opening, game.moves, game.reason) for game in games]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("local:3", ClusterAddress(processes=3)),
        ("tcp://10.0.0.1:8786", ClusterAddress("tcp://10.0.0.1:8786")),
        ("host:8786", ClusterAddress("tcp://host:8786")),
        ("tls://[::1]:1", ClusterAddress("tls://[::1]:1")),
    ],
)
def test_a_cluster_is_named_by_an_address_or_a_number_of_processes(text: str, wanted: ClusterAddress) -> None:
    assert ClusterAddress.read(text) == wanted


def test_processes_of_this_machine_open_no_door_to_others(local: connection.ClusterSession) -> None:
    own = psutil.Process()
    ours = [own, *own.children(recursive=True)]
    listening = [each.laddr.port for one in ours for each in one.net_connections("tcp") if each.status == "LISTEN"]
    assert local.executor.client.scheduler.address.startswith("tls://127.0.0.1:") and len(listening) >= 5
    for worker in local.executor.client.scheduler_info()["workers"].values():
        assert Path(worker["local_directory"]).parents[1].stat().st_mode & 0o77 == 0
    for port in listening:  # none has certificates of ours, and none is for a browser
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client, suppress(ConnectionError):
            client.sendall(b"GET /info/main/workers.html HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(100) == b"", port
    security = Security.temporary()  # of another user
    with pytest.raises(OSError), Client(local.executor.client.scheduler.address, security=security, timeout="2s"):
        pass
    with pytest.raises(OSError), Client(local.executor.client.scheduler.address.replace("tls", "tcp"), timeout="2s"):
        pass


@pytest.mark.parametrize(
    ("address", "is_open"),
    [("tcp://a:1", True), ("a:1", True), ("ws://a:1", True), ("tls://a:1", False), ("local:2", False)],
)
def test_an_open_scheduler_is_called_so(address: str, is_open: bool, monkeypatch, shell) -> None:
    monkeypatch.setattr(cluster_command, "session", Mock(side_effect=lambda *_: nullcontext(Mock())))
    monkeypatch.setattr(cluster_command, "_show", lambda found, games: 0)
    assert ("is open: who reaches its ports can run any program" in shell("cluster", address)) == is_open


@pytest.mark.parametrize("text", ["", "local", "local:0", "local:x", "tcp://host", "host:0", "host:70000", "a b:1"])
def test_a_faulty_cluster_address_is_refused_with_an_example(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "default", "default", "--cluster", text]) == 2
    assert f"'{text}' is not tcp://HOST:PORT of a Dask scheduler, or local:N" in capsys.readouterr().err


def test_cluster_and_concurrency_exclude_each_other(shell) -> None:
    for words in (["match", "a", "b"], ["selfplay", "2"], ["spsa", "tune", "x.toml"]):
        assert "not allowed with argument" in shell(*words, "--cluster", "local:2", "--concurrency", "2", status=2)


def test_without_dask_its_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(connection, "import_module", missing)
    scan = ["spsa", "scan", "razor_margin", "--values", "100", "--games", "2"]
    for name, words in (("match", ["match", "default", "default"]), ("spsa scan", scan)):
        assert main([*words, "--cluster", "local:2"]) == 1
        assert capsys.readouterr().err == f"merino: {name}: {about.needs('cluster', '--cluster')}\n"


@pytest.mark.parametrize(
    ("address", "heard"),
    [
        ("tcp://127.0.0.1:1", r"^there is no Dask scheduler at tcp://127\.0\.0\.1:1, or it"),
        ("tls://127.0.0.1:1", "no connection to the cluster tls://127.0.0.1:1 is possible: TLS"),
        ("", "there is no Dask scheduler at"),
    ],
)
def test_where_no_scheduler_answers_a_sentence_says_so(address: str, heard: str, monkeypatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:  # which answers nothing
        wanted = ClusterAddress.read(address or f"127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(WorkError, match=heard), connection.session(wanted, Needs(), print):
            pass


def test_a_worker_of_another_version_or_without_a_program_is_refused() -> None:
    assert difference(identity(), identity()) == "" == inspect(identity(), Needs(programs=("sh",)))["fault"]
    other = identity() | {"code": "0123"}
    assert inspect(other, Needs())["fault"] == f"is of another version: code {identity()['code']} instead of 0123"
    assert inspect(identity(), Needs(programs=("/no/such",)))["fault"] == "has no program '/no/such'"


def test_a_worker_with_other_own_terms_gets_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, found = identity.__wrapped__(), list[dict[str, str]]()
    own, helper = tmp_path / "terms.py", tmp_path / "helper_of_a_worker.py"
    own.write_text(
        "import helper_of_a_worker\nfrom merino.terms import derived\nTERMS = derived('of_a_worker', 'greko2015')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(own_file.ENVIRONMENT_VARIABLE, str(own))
    for text in ("one = 1\n", "one = 2\n"):
        helper.write_text(text)
        sys.modules.pop("helper_of_a_worker", None)
        sets._set_in.cache_clear()
        found.append(identity.__wrapped__())
    here, there = (each["own terms"] for each in found)
    assert difference(*found) == f"own terms {there} instead of {here}"
    assert difference(found[0], plain) == f"own terms none instead of {here}"
    assert difference(plain, found[0]) == "", "what else a worker has does no harm"
    own.unlink()
    sets._set_in.cache_clear()
    assert "cannot read your terms" in identity.__wrapped__()["own terms"]


def test_a_net_lays_out_its_own_arrays_where_it_is_sent() -> None:
    net = players()[1].evaluation
    again = pickle.loads(pickle.dumps(net))
    assert isinstance(net, family.NetEvaluation) and isinstance(again, family.NetEvaluation)
    assert again.identity == net.identity
    assert again._numbers[play.INPUTS] == again._arrays[0].ctypes.data != net._numbers[play.INPUTS]


def test_openings_that_only_this_process_has_are_sent(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    moved = ("4P3/8/PPPP1PPP", "3P4/8/PPP1PPPP", "2P5/8/PP1PPPPP", "1P6/8/P1PPPPPP")
    book.write_text("".join(f"rnbqkbnr/pppppppp/8/8/{rows}/RNBQKBNR b KQkq -\n" for rows in moved) + "nonsense\n")
    config = MatchConfig(DUEL, NODES, openings=str(book), seed=5)
    wanted = lines(list(runner.play_match(config, 12, 1)))
    executor, found = FakeRemote(1), list[Game]()
    for game in runner.play_match(config, 12, 1, executor=executor):
        found.append(game)
        book.unlink(missing_ok=True)
    executor.shutdown()
    assert lines(found) == wanted


def test_sprt_on_a_cluster_stops_after_the_same_games_as_here(local: connection.ClusterSession, tmp_path: Path) -> None:
    poor = OwnPlayer("poor", default().with_numbers({"VAL_N": 100, "VAL_B": 100}))
    config, found = MatchConfig((OwnPlayer("a"), poor), NODES, games=400), []
    for name, executor in (("here", None), ("there", local.executor)):
        pgn, state = tmp_path / f"{name}.pgn", tmp_path / f"{name}.json"
        result = runner.run_match(config, 2, statistics.Sprt(0, 50), runner.MatchOutput(pgn=pgn, state=state), executor)
        found.append((result.tally.as_json(), pgn.read_text()))
    assert found[0] == found[1] and 0 < sum(found[0][0]["points"]) < 400


def test_a_tune_on_a_cluster_gives_the_estimates_of_one_here(local: connection.ClusterSession) -> None:
    tunes = [Tune.new(configuration(pairs=12)) for _ in range(2)]
    for tune, executor in zip(tunes, (None, local.executor), strict=True):
        play_tune(tune, 2, lambda now: None, executor=executor)
    assert np.array_equal(*(tune.estimate() for tune in tunes))
    assert [pair.y for pair in tunes[0].done] == [pair.y for pair in tunes[1].done]


def test_blocks_grow_to_a_second_of_play_and_become_small_towards_the_end() -> None:
    remote = FakeRemote(2)
    remote.submit = Mock(wraps=remote.submit)
    assert len(list(runner.play_match(MatchConfig(players(), TimeControl(nodes=10)), 80, 1, executor=remote))) == 80
    sizes = [len(call.args[1].pairs) for call in remote.submit.call_args_list]
    assert sizes[:4] == [1] * 4 and max(sizes) > 1 and sizes[-1] == 1
    assert sum(sizes) == 40
    remote.shutdown()


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself a Ctrl-C there")
def test_a_match_that_ctrl_c_ends_stops_its_workers_at_once(local: connection.ClusterSession) -> None:
    played = runner.play_match(MatchConfig(DUEL, ENDLESS), 8, 2, executor=local.executor)
    threading.Timer(0.4, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        next(played)
    played.close()
    assert is_free(local)


def test_who_waits_for_an_executor_that_is_shut_gets_an_error(local: connection.ClusterSession) -> None:
    executor = type(local.executor)(local.executor.client, local.workers, "here")
    with threads(1) as pool:
        playing = pool.submit(runner.run_match, MatchConfig(DUEL, ENDLESS), 2, executor=executor)
        while not executor.under_way:
            time.sleep(0.01)
        executor.shutdown()
        with pytest.raises(MatchError, match="the work was stopped"):
            playing.result()
    assert is_free(local)


def test_an_error_on_a_worker_names_it(local: connection.ClusterSession) -> None:
    config = MatchConfig((OwnPlayer("a"), OtherPlayer("x", ("/bin/true",))), NODES)
    with pytest.raises(MatchError, match=r"'x' does not start: .* \(worker tls://127\.0\.0\.1:\d+\)$"):
        list(runner.play_match(config, 2, 2, executor=local.executor))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signal kills on this system")
@pytest.mark.parametrize("harm", ["SIGKILL", "SIGSTOP"])
def test_a_worker_that_is_killed_or_hangs_loses_no_game(local: connection.ClusterSession, harm: str) -> None:
    config = MatchConfig(DUEL, TimeControl(nodes=400), seed=9)
    wanted = lines(list(runner.play_match(config, 40, 2)))
    (address, report), found = next(iter(local.workers.ready.items())), []
    scheduler = local.executor.client.cluster.scheduler
    said.clear()
    for game in runner.play_match(config, 40, 2, executor=local.executor):
        if not found:
            os.kill(report["pid"], getattr(signal, harm))
            if harm == "SIGSTOP":
                assert scheduler.worker_ttl == 60
                scheduler.workers[address].last_seen = 0  # as if that were over
                local.executor.client.sync(scheduler.check_worker_ttl)
        found.append(game)
    assert lines(found) == wanted
    assert f"Worker {address} is gone; others repeat its unfinished work" in "".join(said)


def test_on_windows_ctrl_c_reaches_no_process_that_is_started_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "pthread_sigmask")
    calls = Mock()
    monkeypatch.setattr(ctypes, "windll", calls, raising=False)
    with pytest.raises(OSError), connection._without_interrupts():
        raise OSError
    assert calls.kernel32.SetConsoleCtrlHandler.call_args_list == [((None, True),), ((None, False),)]


class FakeScheduler:
    """What a session asks of Dask's client, on a cluster whose workers come and go as in `past`."""

    def __init__(self, *past: set[str]) -> None:
        self.past = list(past)
        self.deaf = 0  # to how many of our events

    def scheduler_info(self, n_workers: int) -> dict[str, dict[str, None]]:
        return {"workers": dict.fromkeys(self.past.pop(0) if self.past else ())}

    def wait_for_workers(self, number: int, timeout: float) -> None:
        if not self.past:
            raise TimeoutError

    def subscribe_topic(self, topic: str, handler: Callable[[tuple[float, Any]], object]) -> None:
        self.handler = handler

    def log_event(self, topic: str, event: dict[str, Any]) -> None:
        if self.deaf:
            self.deaf -= 1
        else:
            self.handler((0.0, event))

    def register_plugin(self, plugin: object, name: str) -> None:
        pass


def test_nobody_waits_for_a_worker_that_went_while_it_was_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TELL_EVERY", 0.01)
    address, heard = ClusterAddress("tcp://host:8786"), list[str]()
    workers = Workers("session", heard.append)
    for name in ("a", "b"):
        workers.heard((0.0, {"worker": name, "state": "compiling", "host": "h"}))
    client = FakeScheduler({"a"}, {"a"}, {"a", "b"}, {"b"})
    with pytest.raises(WorkError, match="tcp://host:8786 has no worker, and none has joined in"):
        connection._make_ready(client, workers, address, Needs(), heard.append)
    assert [sentence.partition(" are")[0] for sentence in heard] == ["2 of 2 workers", "1 of 1 workers"]


def test_the_report_of_a_worker_that_answers_at_once_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    class Quick(FakeScheduler):
        def register_plugin(self, plugin: object, name: str) -> None:
            self.log_event(name, {"worker": "a", "state": "refused", "fault": "has no program 'x'"})

    monkeypatch.setattr(connection, "TELL_EVERY", 0.01)
    client, heard = Quick({"a"}, {"a"}), list[str]()
    client.deaf = 3
    with pytest.raises(WorkError, match="the only worker of the cluster tcp://host:1 cannot be used: worker a has"):
        connection._make_ready(
            client, Workers("s", heard.append), ClusterAddress("tcp://host:1"), Needs(), heard.append
        )
    assert heard == ["Worker a has no program 'x'; it gets no work."]
    client.deaf = 1 << 30
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.1)
    with pytest.raises(TimeoutError):
        connection._listen(client, Workers("s", heard.append))


def test_work_for_a_scheduler_that_is_gone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 1.5)
    with DaskCluster(tmp_path) as cluster:
        cluster.add()
        with connection.session(ClusterAddress.read(cluster.address), Needs(()), said.append) as found:
            assert found.executor.submit(abs, -1).result() == 1
            kill(cluster.scheduler)
            wait_for(lambda: found.executor.client.status == "closed", "the client gives up")
            with pytest.raises(WorkError, match=f"the scheduler of the cluster {cluster.address} is gone"):
                found.executor.submit(abs, -1)


def test_nobody_waits_for_a_worker_that_was_ready_and_went(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATIENCE", "TELL_EVERY"):
        monkeypatch.setattr(connection, name, 0.3)
    workers, heard = Workers("session", said.append), list[str]()
    workers.heard((0.0, {"worker": "b", "state": "compiling", "host": "h"}))
    workers.heard((0.0, {"worker": "a", "state": "ready", "threads": 1, "remark": ""}))
    threading.Timer(0.1, workers.scheduler_reported, ["a", (0.0, {"action": "remove-worker"})]).start()
    client = FakeScheduler({"a", "b"}, {"a", "b"}, {"b"})
    with pytest.raises(WorkError, match="has no worker, and none has joined in"):
        connection._make_ready(client, workers, ClusterAddress("tcp://host:1"), Needs(), heard.append)
    assert [sentence.partition(" are")[0] for sentence in heard] == ["1 of 1 workers"]


def test_a_worker_that_was_refused_is_not_said_to_compile() -> None:
    workers = Workers("session", said.append)
    for worker in ("a", "b"):
        workers.heard((0.0, {"worker": worker, "state": "compiling", "host": "h"}))
    workers.heard((0.0, {"worker": "a", "state": "refused", "fault": "cannot be made ready: no space"}))
    assert workers.compiling({"a", "b"}) == 1


def test_a_worker_that_joins_later_does_not_prepare_for_sessions_that_ended(tmp_path: Path) -> None:
    def names(dask_scheduler: Any) -> list[str]:
        return [name for name in dask_scheduler.worker_plugins if name.startswith("merino")]

    with DaskCluster(tmp_path) as cluster:
        cluster.add()
        for _ in range(2):
            with connection.session(ClusterAddress.read(cluster.address), Needs(()), said.append) as found:
                assert found.executor.client.run_on_scheduler(names) == [found.workers.name]
