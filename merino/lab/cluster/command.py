"""`merino cluster [ADDRESS]`: explains how to make a cluster of machines, and checks one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from merino.app.console import shared
from merino.app.shell.match import say
from merino.core.common.command import errors_named
from merino.core.common.text import aligned
from merino.core.common.work import Needs, RemoteExecutor, WorkError
from merino.lab.cluster.connection import ClusterSession, session
from merino.match.config import MatchConfig, TimeControl
from merino.match.players import OwnPlayer
from merino.match.runner import play_match

PAGE = """\
To use many machines for one task, start a Dask scheduler and a worker on each
machine, and give --cluster instead of --concurrency.

1. On every machine install the same checkout of Merino with the extra:
       pip install 'merino-chess[cluster]'        (or: pip install '.[cluster]')
   and compile once, which takes minutes:
       merino warmup
2. On one of them start the scheduler; its page is at http://HOST:8787/status:
       dask scheduler
3. On each start a worker, with as many threads as games at a time:
       dask worker tcp://HOST:8786 --nthreads 8
4. Check the workers:
       merino cluster tcp://HOST:8786
5. Give the address to match, gauntlet, round-robin, selfplay, spsa tune,
   spsa scan or night:
       merino match default new.txt --sprt 0 5 --cluster tcp://HOST:8786

Without other machines, local:N starts N processes on this one while a command
runs:
       merino cluster local:2

The same seed gives the same games on any cluster.
A worker of another version gets no work. Workers may come and go while a
command runs: the unfinished work of a lost one is repeated. Weights, nets and
openings are sent; other programs must be on the worker under the same path.
A worker runs any code that a client sends, so protect the ports by a firewall
or by TLS: https://distributed.dask.org/en/stable/tls.html
"""
DEFAULT_GAMES, NODES = 8, 1000  # of the measurement: for each thread, and a move


def run_cluster(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 1 if some worker cannot be used; raises CommandError."""
    parser = _parser()
    args = parser.parse_args(words)
    if args.address is None:
        print(PAGE, end="")
        return 0
    with (
        errors_named("cluster", WorkError),
        session(args.address, Needs(), say) as found,
    ):
        return _show(found, args.games)


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino cluster",
        description="Explain how to use many machines; with an address, check its workers and measure them.",
        examples=("merino cluster", "merino cluster local:2", "merino cluster tcp://10.0.0.1:8786"),
    )
    sentence = "Dask scheduler, tcp://HOST:PORT, or local:N for N processes of this machine"
    parser.add_argument("address", nargs="?", type=shared.cluster_address, metavar="ADDRESS", help=sentence)
    sentence = f"games of the measurement for each thread, {NODES} nodes a move (default: %(default)s)"
    parser.add_argument("--games", type=shared.positive, metavar="N", default=DEFAULT_GAMES, help=sentence)
    return parser


def _show(found: ClusterSession, games: int) -> int:
    """Print the workers, then their speed in a match together."""
    rates = _rates(found, games)
    rows = [("worker", "host", "threads", "ready after", "games/s")]
    for address, worker in sorted(found.workers.ready.items()):
        rate = f"{rates[address]:.2f}" if address in rates else "came late"
        rows.append((address, worker["host"], str(worker["threads"]), f"{worker['seconds']:.1f} s", rate))
    for line in aligned(rows, left=2):
        print(line)
    for address, why in sorted(found.workers.refused.items()):
        print(f"{address}  cannot be used: it {why}")
    print("\n" + ", ".join(f"{name} {value}" for name, value in found.identity.items()))
    print(f"{found.workers.size}: {sum(rates.values()):.2f} games/s, each at its own")
    threads = found.workers.threads
    together = _measure(threads * games, threads, found.executor)
    print(f"one match of {threads * games} games: {together:.2f} games/s, with all overheads")
    if found.dashboard:
        print(f"Dask's dashboard is at {found.dashboard}")
    return 1 if found.workers.refused else 0


def _rates(found: ClusterSession, games: int) -> dict[str, float]:
    """Games per second of each worker with all of its threads playing, but of those that go meanwhile.

    Raises WorkError if none is left.
    """
    measured: dict[str, list[Any]] = found.executor.each(_measure, games)
    rates = {}
    for address, futures in measured.items():
        with suppress(CancelledError):
            rates[address] = sum(future.result() for future in futures)
    if not rates:
        raise WorkError("all workers went while they were measured")
    return rates


def _measure(games: int, at_a_time: int = 1, executor: RemoteExecutor | None = None) -> float:
    """Games per second of a match: of one thread, on a worker, or of all workers together."""
    player = OwnPlayer("default")
    config = MatchConfig((player, player), TimeControl(nodes=NODES))
    began = time.perf_counter()
    played = sum(1 for _ in play_match(config, games, at_a_time, executor=executor))
    return played / (time.perf_counter() - began)
